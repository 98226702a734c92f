//! `dbduel plan --try`: every transaction once against every contender, before anything is measured.
//!
//! Servers are started and tables loaded as a run does it, and the loaded data are kept for the run.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow};
use engine::Cache;
use experiment::plan::{self, Plan};
use experiment::{Error, Experiment};
use trial::host;

use super::active_run::placement;
use super::progress::{Progress, Screen};
use super::setup::{Setup, Tried};

/// What each contender answered, by name; or why it could not be asked.
pub type TriedContenders = Vec<(String, Result<Vec<Tried>>)>;

pub fn try_out(
    experiment: &Experiment,
    plan: &Plan,
    file: &Path,
    screen: Box<dyn Screen>,
    interrupted: &AtomicBool,
) -> Result<TriedContenders, Error> {
    expect_scripts(experiment)?;
    let placement = placement(experiment, file)?;
    let progress = Progress::new(plan, screen);
    let tried: Result<TriedContenders> = engine::interruption::ending_servers(interrupted, || {
        let _lock = host::lock(&experiment.name, None, interrupted, &|line| progress.print(line))?;
        let cache = Cache::open()?;
        let logs = cache.work()?;
        let (setup, absent) = Setup::set(experiment, &cache, &placement, interrupted, logs.path(), &progress)?;
        let tried = setup.try_out(plan, logs.path(), &progress);
        Ok(tried.into_iter().chain(absent.into_iter().map(|(name, error)| (name, Err(error)))).collect())
    });
    progress.finish();
    if interrupted.load(Ordering::Relaxed) {
        return Err(anyhow!(trial::Interrupted).into());
    }
    Ok(tried?)
}

fn expect_scripts(experiment: &Experiment) -> Result<(), Error> {
    let point = experiment.points().swap_remove(0);
    for choice in &experiment.workloads {
        let workload = plan::workload(choice, &choice.data_point(&point)).map_err(Error::mistake)?;
        if workload.runs_once().is_some() {
            return Ok(());
        }
    }
    let what = "--try runs scripts, and this experiment has no workload with name = \"script\"";
    Err(Error::mistake(anyhow!("{what}\n  next: `dbduel plan` without --try prints its trials")))
}
