//! Why a load failed: the errors of its clients, what became of the server, and of what it had promised.
//!
//! A server that is gone is started once more on the files that it left, and asked for the transactions
//! that it had acknowledged. The trial has failed whatever it answers; the run goes on.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context, Error, Result};
use load::{Failure, Tally};

use super::environment::RunningServer;
use super::trial::Trial;

/// A process that is killed closes its connections before it has ended.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// When clients lose their server, why it went is the better half of the message.
pub(super) fn explain(trial: &Trial, mut server: RunningServer, failure: Failure, ran: &Tally) -> Error {
    if matches!(failure, Failure::Worker { .. }) {
        return failure.into();
    }
    let Some(gone) = end(&mut server) else { return failure.into() };
    // What is left of it must be gone before another one takes its files.
    drop(server);
    match verdict(trial, ran) {
        Ok(Some(verdict)) => gone.context(format!("{failure}; started again on the same files: {verdict}")),
        Ok(None) => gone.context(failure.to_string()),
        Err(error) => gone.context(format!("{failure}; it could not be asked for what it had acknowledged: {error:#}")),
    }
}

/// How the server ended, if it did.
fn end(server: &mut RunningServer) -> Option<Error> {
    let begun = Instant::now();
    loop {
        match server.check_alive() {
            Err(gone) => return Some(gone),
            Ok(()) if begun.elapsed() > ENDS_WITHIN => return None,
            Ok(()) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// The server's state of acknowledged transactions; nothing where the workload cannot check it, or where
/// dbduel is to end.
fn verdict(trial: &Trial, ran: &Tally) -> Result<Option<String>> {
    let Some(witness) = trial.workload.crash_witness() else { return Ok(None) };
    if trial.interrupted.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let server = trial.start()?;
    let verdict = witness.after_crash(&mut server.session()?, ran).context("cannot look at the tables")?;
    server.stop()?;
    Ok(Some(verdict))
}
