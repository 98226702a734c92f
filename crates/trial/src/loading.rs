//! How long the tables of a workload take to load into an empty server, with the settings of its contender in force.
//!
//! The clock runs from the first CREATE TABLE to the last index and the statistics, over as many sessions as load the
//! data of trials. What was loaded is not kept.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{Result, bail};
use load::Loader;

use super::dataset::{LOAD_SESSIONS, remove, target};
use super::environment::{Environment, RunningServer};
use super::host::Interrupted;
use super::run::{Finished, Steps, failed, record};
use super::trial::Trial;
use engine::{Cache, template};
use record::format::{LoadRecord, Status, TrialRecord};

/// Loads the tables once.
pub fn load(trial: &Trial, cache: &Cache) -> Result<Finished, Interrupted> {
    let mut steps = Steps::begin();
    let loaded = timed(trial, cache, &mut steps);
    if trial.interrupted.load(Ordering::Relaxed) {
        return Err(Interrupted);
    }
    let finished = match loaded {
        Ok(metrics) => Finished::without_load(TrialRecord { metrics, ..record(trial.planned, Status::Ok) }),
        Err(error) => failed(trial, steps.current(), &error),
    };
    Ok(steps.end(finished))
}

fn timed(trial: &Trial, cache: &Cache, steps: &mut Steps) -> Result<BTreeMap<String, f64>> {
    steps.take("empty", || empty(trial, cache))?;
    let RunningServer::Managed(server) = steps.take("start", || trial.start())? else {
        bail!("a server that dbduel does not manage is not emptied");
    };
    server.create_database()?;
    let begun = Instant::now();
    let loader = Loader { target: &target(&server), sessions: LOAD_SESSIONS, interrupted: trial.interrupted };
    steps.take("load", || Ok(loader.load(trial.workload.as_ref(), trial.data_seed, &mut |_| ())?))?;
    let seconds = begun.elapsed().as_secs_f64();
    let rows: u64 = trial.workload.tables(server.dialect()).iter().map(|table| table.rows).sum();
    steps.take("stop", || server.stop())?;
    let metrics = [(LoadRecord::SECONDS, seconds), (LoadRecord::ROWS, rows as f64)];
    Ok(metrics.map(|(name, value)| (name.to_owned(), value)).into())
}

/// An initialised data directory without tables of a user.
fn empty(trial: &Trial, cache: &Cache) -> Result<()> {
    let Environment::Managed { installation, settings, work, data_folder, .. } = &trial.environment else {
        bail!("a server that dbduel does not manage is not emptied");
    };
    let data = data_folder.path(work);
    remove(&data)?;
    template(cache, work, installation, settings, &|_| ())?.restore(&data)?;
    Ok(())
}
