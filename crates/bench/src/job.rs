//! One request with everything it needs, and how it ends at an interruption.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, anyhow};
use driver::Admin;
use engine::target_url::ThisHost;
use engine::{Candidates, Located, PasswordSource, Renewal};
use experiment::TargetUrl;
use load::{Options, Workload};
use terminal::{Failure, exit, note};

use crate::command_line::{Action, Request};

/// How soon an interruption is seen, and how long a command may take to end by itself.
const INTERRUPTION_POLL: Duration = Duration::from_millis(50);
const INTERRUPTION_MAX: Duration = Duration::from_millis(1_800);

/// One request with everything it needs.
pub struct Job {
    pub request: Request,
    pub workload: Arc<dyn Workload>,
    pub target: driver::Target,
    pub interrupted: Arc<AtomicBool>,
    /// On the command line, where no suggestion may show it.
    pub password_is_typed: bool,
    /// The password, where it may expire.
    pub renewal: Renewal,
}

impl Job {
    pub fn new(mut request: Request) -> Result<Job, Failure> {
        let workload = Options::new(request.workload.options, &request.workload_options)
            .and_then(|options| (request.workload.build)(&options))
            .map_err(|error| Failure::usage(anyhow!("{}: {error}", request.workload.name)))?;
        let is_typed = !request.target_is_default && request.password == PasswordSource::Unnamed;
        let password_is_typed = is_typed && request.target.password.is_some();
        if !request.dry_run {
            request.target = located(&request.target, &request.password)?;
        }
        let target = request.target.target();
        let renewal = Renewal::new(request.password.clone(), request.target.password.clone());
        if request.action == Action::Bench {
            workload
                .runs_on(target.dialect)
                .map_err(|why| Failure::usage(anyhow!("{}: {why}", request.workload.name)))?;
        }
        let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
        end_late(Arc::clone(&interrupted)).context("no thread to end by")?;
        Ok(Job { target, workload: Arc::from(workload), request, interrupted, password_is_typed, renewal })
    }

    /// A failure with the server's name, which one behind the login does not have.
    pub fn named(&self, failure: Failure) -> Failure {
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

    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Tables of another seed, scale or version are not what this workload runs on.
    pub fn recognise(&self, admin: &mut Admin) -> anyhow::Result<()> {
        let Some(tables) = self.workload.reuses_tables() else { return Ok(()) };
        tables.recognise(admin, self.data_seed())?.map_err(|why| anyhow!(why))
    }

    /// Data and inputs are drawn from it.
    pub fn data_seed(&self) -> u64 {
        self.request.rand_seed.unwrap_or(1)
    }
}

/// The server that is meant, with what its URL leaves open; a line names what came from where.
pub fn located(url: &TargetUrl, password: &PasswordSource) -> Result<TargetUrl, Failure> {
    let candidates = Candidates::of(url, password, &ThisHost).map_err(Failure::usage)?;
    let Located { url, sources } = candidates.located()?;
    sources.iter().for_each(|text| note(&format!("note: {text}")));
    Ok(url)
}

/// One Ctrl-C is enough: what nothing else ends ends with the process.
pub fn end_late(interrupted: Arc<AtomicBool>) -> std::io::Result<()> {
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
