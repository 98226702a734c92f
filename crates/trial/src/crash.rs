//! Why a load failed: what its clients say, what became of the server, and of what it had promised.
//!
//! A server that is gone is started once more on the files that it left, and asked for the transactions
//! that it had acknowledged. The trial has failed whatever it answers; the run goes on.

use std::sync::atomic::Ordering;

use anyhow::{Context, Error, Result};
use load::{Failure, Tally};

use super::{RunningServer, Trial};

/// When clients lose their server, why it went is the better half of the message.
pub(super) fn explain(trial: &Trial, mut server: RunningServer, failure: Failure, ran: &Tally) -> Error {
    let Err(gone) = server.check_alive() else { return failure.into() };
    // What is left of it must be gone before another one takes its files.
    drop(server);
    match verdict(trial, ran) {
        Ok(Some(verdict)) => gone.context(format!("{failure}; started again on the same files: {verdict}")),
        Ok(None) => gone.context(failure.to_string()),
        Err(error) => gone.context(format!("{failure}; it could not be asked for what it had acknowledged: {error:#}")),
    }
}

/// What the server says of acknowledged transactions; nothing where the workload cannot tell, or where
/// somebody wants dbduel to end.
fn verdict(trial: &Trial, ran: &Tally) -> Result<Option<String>> {
    let Some(witness) = trial.workload.crash_witness() else { return Ok(None) };
    if trial.interrupted.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let server = trial.environment.start(trial)?;
    let verdict = witness.after_crash(&mut server.session()?, ran).context("cannot look at the tables")?;
    server.stop()?;
    Ok(Some(verdict))
}
