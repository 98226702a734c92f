//! Behind the last block: the peak point once more, with twice the generator's threads.
//!
//! What a server can do shows only where the generator could ask for more.

use std::path::Path;
use std::time::Duration;

use super::{Bench, Probe};
use analysis::headroom::{due, peak};
use experiment::plan::headroom::blocks;
use record::format::{PlannedTrial, Point, Purpose, WorkloadRecord, measured};
use trial::Trial;

pub struct Headroom;

impl Probe for Headroom {
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>> {
        due(bench.plan()).filter_map(|workload| check(bench, workload)).collect()
    }

    fn adapt<'a>(&'a self, planned: &PlannedTrial, trial: &mut Trial<'a>) {
        if planned.purpose != (Purpose::Headroom { threads: trial.client_cpus.workers }) {
            trial.client_cpus = trial.client_cpus.doubled();
        }
    }
}

/// The trials of one workload; none where no contender can be checked.
fn check(bench: &Bench, workload: &WorkloadRecord) -> Option<Vec<PlannedTrial>> {
    let (plan, setup) = (bench.plan(), bench.setup);
    let (contender, point) = place(bench, workload)?;
    let mut planned = plan.trials.iter().filter(|one| one.workload == workload.label && one.contender == contender);
    let usual = PlannedTrial { order: 1, ..planned.find(|one| one.point == point)?.clone() };
    let threads = setup.trial(&usual, Path::new(""), Duration::ZERO).client_cpus.workers;
    Some(blocks(plan, &workload.label, &contender, &point, threads).into_iter().flatten().collect())
}

/// Where the check began, or the peak of those that can be checked.
fn place(bench: &Bench, workload: &WorkloadRecord) -> Option<(String, Point)> {
    let setup = bench.setup;
    let eligible = |name: &str| setup.has(name) && setup.is_behind_a_connection(name);
    let begun = bench
        .trials
        .iter()
        .find(|trial| matches!(trial.purpose, Purpose::Headroom { .. }) && trial.workload == workload.label);
    match begun {
        Some(trial) => eligible(&trial.contender).then(|| (trial.contender.clone(), trial.point.clone())),
        None => peak(bench.plan(), &measured(&bench.trials), workload, eligible),
    }
}
