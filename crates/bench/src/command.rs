//! One command from its words to its exit status.

use anyhow::anyhow;
use driver::sqlite::{LockWait, lock_wait};
use engine::target_url::ThisHost;
use experiment::TargetUrl;
use record::plain_file;
use terminal::{Failure, exit, note, print};

use crate::command_line::{Action, Asked, Verb, read};
use crate::job::Job;
use crate::{measure, tables};

pub fn command(verb: Verb, words: &[String]) -> Result<u8, Failure> {
    let read_file = |path: &str| {
        plain_file::read_text(path.as_ref(), plain_file::TEXT_BYTES_MAX).map_err(|error| error.to_string())
    };
    let default = TargetUrl::of_database_url(&ThisHost);
    let request = match read(verb, words, &read_file, default).map_err(|why| Failure::usage(anyhow!(why)))? {
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
        Action::Bench => measure::bench(&job),
        Action::Command => tables::command(&job),
        _ if job.workload.replays().is_some() => tables::of_a_log(&job),
        Action::Prepare => tables::prepare(&job),
        Action::Check => tables::check(&job),
        Action::Cleanup => tables::cleanup(&job),
        Action::Prewarm => tables::prewarm(&job),
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
