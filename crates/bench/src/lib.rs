//! `dbduel prepare|bench|check|cleanup`: the single-shot tool against a running server.
//!
//! It starts and stops nothing; whatever it makes or drops, it prints. What must stay true: in the
//! measured time the server gets the workload's statements and nothing else, and a run that ends
//! early still ends in a report.

pub mod command_line;
mod figures;
mod live;
mod measure;
pub mod pgbench;
mod report;
mod server;
mod tables;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use driver::Admin;
use driver::sqlite::{LockWait, lock_wait};
use engine::target_url::ThisHost;
use engine::{Candidates, Located};
use experiment::TargetUrl;
use load::{Options, Workload};

use terminal::{Failure, exit, note, print};

use crate::command_line::{Action, Asked, Request, Verb, read};
use record::plain_file;

/// How soon an interruption is seen, and how long a command may take to end by itself.
const INTERRUPTION_POLL: Duration = Duration::from_millis(50);
const INTERRUPTION_MAX: Duration = Duration::from_millis(1_800);

/// One request with everything it needs.
struct Job {
    request: Request,
    workload: Arc<dyn Workload>,
    target: driver::Target,
    interrupted: Arc<AtomicBool>,
    /// On the command line, where no suggestion may show it.
    password_is_typed: bool,
}

pub fn command(verb: Verb, words: &[String]) -> Result<u8, Failure> {
    let read_file = |path: &str| {
        plain_file::read_text(path.as_ref(), plain_file::TEXT_BYTES_MAX).map_err(|error| error.to_string())
    };
    let request = match read(verb, words, &read_file).map_err(|why| Failure::usage(anyhow!(why)))? {
        Asked::Help(text) => {
            print(&text)?;
            return Ok(exit::DONE);
        }
        Asked::Do(request) => *request,
    };
    request.notes.iter().for_each(|text| note(&format!("note: {text}")));
    let job = Job::new(request)?;
    if job.request.dry_run && job.request.action != Action::Bench {
        note("note: a dry run has no tables, so there is nothing to do");
        return Ok(exit::DONE);
    }
    let done = match job.request.action {
        Action::Prepare => tables::prepare(&job),
        Action::Check => tables::check(&job),
        Action::Cleanup => tables::cleanup(&job),
        Action::Prewarm => tables::prewarm(&job),
        Action::Command => tables::command(&job),
        Action::Bench => measure::bench(&job),
    };
    match done {
        // A failure because the connection was cut off by an interrupt is not reported.
        Err(_) if job.is_interrupted() => {
            let half = format!(
                "; what was loaded is no use\n  next: {}drop it with `{}`",
                job.with_password(),
                job.cleanup_line()
            );
            let waited = lock_wait().map(|LockWait { file, waited }| {
                format!(
                    " after {:.1} s of waiting for the lock on {}, which another connection holds",
                    waited.as_secs_f64(),
                    file.display()
                )
            });
            let half = if job.request.action == Action::Prepare { half.as_str() } else { "" };
            note(&format!("interrupted{}{half}", waited.unwrap_or_default()));
            Ok(exit::INTERRUPTED)
        }
        done => done.map_err(|failure| job.named(failure)),
    }
}

impl Job {
    fn new(mut request: Request) -> Result<Job, Failure> {
        let workload = Options::new(request.workload.options, &request.workload_options)
            .and_then(|options| (request.workload.build)(&options))
            .map_err(|error| Failure::usage(anyhow!("{}: {error}", request.workload.name)))?;
        let password_is_typed = request.target.password.is_some() && request.password_file.is_none();
        if !request.dry_run {
            request.target = located(&request.target, request.password_file.as_deref())?;
        }
        let target = request.target.target();
        if request.action == Action::Bench {
            workload
                .runs_on(target.dialect)
                .map_err(|why| Failure::usage(anyhow!("{}: {why}", request.workload.name)))?;
        }
        let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
        end_late(Arc::clone(&interrupted)).context("no thread to end by")?;
        Ok(Job { target, workload: Arc::from(workload), request, interrupted, password_is_typed })
    }

    /// A failure with the server's name, which one behind the login does not have.
    fn named(&self, failure: Failure) -> Failure {
        let target = self.request.target.to_string();
        if format!("{:#}", failure.error).contains(&target) {
            return failure;
        }
        let doing = match self.request.action {
            Action::Prepare => "cannot prepare",
            Action::Check => "cannot check",
            Action::Cleanup => "cannot clean up",
            Action::Prewarm => "cannot read",
            Action::Command => "cannot run the command on",
            Action::Bench => "cannot measure",
        };
        Failure { error: failure.error.context(format!("{doing} {target}")), ..failure }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Tables of another seed, scale or version are not what this workload runs on.
    fn recognise(&self, admin: &mut Admin) -> anyhow::Result<()> {
        let Some(tables) = self.workload.reuses_tables() else { return Ok(()) };
        tables.recognise(admin, self.data_seed())?.map_err(|why| anyhow!(why))
    }

    /// Data and inputs are drawn from it.
    fn data_seed(&self) -> u64 {
        self.request.rand_seed.unwrap_or(1)
    }
}

/// The server that is meant, with what its URL leaves open; a line names what came from where.
fn located(url: &TargetUrl, password_file: Option<&Path>) -> Result<TargetUrl, Failure> {
    let candidates = Candidates::of(url, password_file, &ThisHost).map_err(Failure::usage)?;
    let Located { url, sources } = candidates.located()?;
    sources.iter().for_each(|text| note(&format!("note: {text}")));
    Ok(url)
}

/// One Ctrl-C is enough: what nothing else ends ends with the process.
fn end_late(interrupted: Arc<AtomicBool>) -> std::io::Result<()> {
    let end = move || {
        while !interrupted.load(Ordering::Relaxed) {
            std::thread::sleep(INTERRUPTION_POLL);
        }
        std::thread::sleep(INTERRUPTION_MAX);
        note("interrupted; a wait that did not end was cut off");
        std::process::exit(exit::INTERRUPTED.into());
    };
    std::thread::Builder::new().name("end".to_owned()).spawn(end).map(drop)
}
