//! Before the first block: one long trial of each contender, from which the warm-up follows.

use std::time::Duration;

use anyhow::Result;

use super::{Bench, Probe};
use crate::warm_up::{by_pilots, of_workload};
use experiment::{Experiment, plan};
use record::format::{PilotRecord, PlannedTrial, Series, Status};
use trial::observe::Observers;
use trial::{Finished, Interval, Trial, run_trial};

pub struct Pilots<'a> {
    pub experiment: &'a Experiment,
}

impl Pilots<'_> {
    fn duration(&self) -> Duration {
        self.experiment.method.pilot.unwrap_or_default()
    }
}

impl Probe for Pilots<'_> {
    /// None of a workload whose warm-up is set.
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>> {
        let is_due = |pilot: &PlannedTrial| {
            bench.setup.has(&pilot.contender) && of_workload(&bench.run.decisions, &pilot.workload).next().is_none()
        };
        plan::pilots(self.experiment).into_iter().filter(is_due).map(|pilot| vec![pilot]).collect()
    }

    fn takes(&self, _: &Bench, _: &PlannedTrial) -> Duration {
        self.duration()
    }

    fn adapt<'a>(&'a self, _: &PlannedTrial, trial: &mut Trial<'a>) {
        trial.interval = Interval::of_pilot(self.duration());
    }

    fn run(&self, trial: &Trial, observers: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        let mut finished = run_trial(trial, observers, live)?;
        let metrics = &mut finished.record.metrics;
        if !trial.workload.spec().writes {
            metrics.remove(PilotRecord::CHECKPOINT_CYCLE);
        }
        if finished.record.status == Status::Ok {
            let needed = stats::warm_up_needed(&committed(&finished.series, self.duration()));
            metrics.extend(needed.map(|seconds| (PilotRecord::STEADY_AFTER.to_owned(), seconds as f64)));
        }
        Ok(finished)
    }
}

/// Sets the warm-up of each workload that has pilots; one that is set stays. A pilot that failed is not asked: the
/// others decide, and where none succeeded the plan's own warm-up holds.
pub fn set_warmups(experiment: &Experiment, bench: &mut Bench) -> Result<()> {
    let planned = plan::pilots(experiment);
    let pilots = PilotRecord::all(bench.plan(), &bench.trials);
    for pilots_of_one in planned.chunk_by(|one, next| one.workload == next.workload) {
        let workload = &pilots_of_one[0].workload;
        if of_workload(&bench.run.decisions, workload).next().is_some() {
            continue;
        }
        let warmup = by_pilots(bench.plan(), &pilots, workload);
        bench.progress.print(&format!("trials of {workload} warm up {} s ({})", warmup.seconds(), warmup.because));
        bench.run.decisions.push(warmup);
        bench.active_run.run_dir.write_run(bench.run)?;
    }
    Ok(())
}

/// Committed transactions of each whole second.
fn committed(series: &Series, duration: Duration) -> Vec<f64> {
    let column = series.columns.iter().position(|name| name == "committed");
    let column = column.expect("a series of a trial counts what was committed");
    series.rows.iter().take(duration.as_secs() as usize).map(|row| row[column]).collect()
}
