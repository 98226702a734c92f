//! How long servers are away after a kill: under a workload that asks for it, before the first block, so that no budget
//! ends before; and behind the duel of a search's winner.
//!
//! Settings that make a server faster can make it slow to come back (a larger log, rarer checkpoints), so
//! one number is not reported without the other. A few kills a side give a first impression: their range is reported,
//! and no verdict comes from them. An experiment with `[recovery]` shows more.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::{Bench, Probe, asked, in_turn};
use experiment::{Experiment, WorkloadChoice};
use record::format::tuning::SearchRecord;
use record::format::{ContenderRecord, PlanRecord, PlannedTrial, Purpose};
use trial::observe::Observers;
use trial::recovery::recover;
use trial::{Finished, Trial};

/// Kills of each side behind a search.
const KILLS: u32 = 3;

/// The kills come after equal parts of this time under load, the last after all of it, or of a trial that is shorter.
const LOAD_MAX: Duration = Duration::from_secs(30);
/// What a kill takes beside the load: a copy of the data, two starts and a stop.
const AROUND: Duration = Duration::from_secs(10);

pub struct Recoveries<'a> {
    workloads: &'a [WorkloadChoice],
    load_max: Duration,
    is_of_search: bool,
}

impl Recoveries<'_> {
    /// Those that workloads ask for.
    pub fn asked(experiment: &Experiment) -> Recoveries<'_> {
        let load_max = (experiment.method.warmup + experiment.method.duration).min(LOAD_MAX);
        Recoveries { workloads: &experiment.workloads, load_max, is_of_search: false }
    }

    /// Those behind the duel of a search's winner.
    pub fn of_search(experiment: &Experiment) -> Recoveries<'_> {
        Recoveries { is_of_search: true, ..Recoveries::asked(experiment) }
    }

    /// How often a server is killed under a workload.
    fn kills(&self, workload: &str) -> u32 {
        let asked = self.workloads.iter().find(|one| one.label == workload).map(|one| one.kills);
        asked.filter(|_| !self.is_of_search).unwrap_or(KILLS)
    }
}

impl Probe for Recoveries<'_> {
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>> {
        if !self.is_of_search {
            return asked(bench, |workload| workload.kills, |kill| Purpose::Recovery { kill });
        }
        let search = bench.run.search.as_ref().filter(|search| search.run.is_some() && !search.has_crashes);
        let sides = search.and_then(|search| sides(bench.plan(), search));
        sides.map(|sides| in_turn(&sides, KILLS, |kill| Purpose::Recovery { kill })).into_iter().collect()
    }

    fn refusal(&self, bench: &Bench, set: &[PlannedTrial]) -> Result<Option<String>> {
        if set.iter().any(|planned| !bench.setup.is_behind_a_connection(&planned.contender)) {
            let why = "an embedded engine runs inside dbduel: there is no server that could be killed";
            return Ok(Some(why.to_owned()));
        }
        let workload = bench.setup.trial(&set[0], Path::new(""), Duration::ZERO).workload;
        Ok((!workload.spec().writes).then(|| "the workload writes nothing: there is nothing to recover".to_owned()))
    }

    fn takes(&self, _: &Bench, _: &PlannedTrial) -> Duration {
        self.load_max + AROUND
    }

    fn run(&self, trial: &Trial, _: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        let Purpose::Recovery { kill } = trial.planned.purpose else { unreachable!("only such trials are due") };
        live(load::Live::without_load("under load until it is killed"));
        Ok(recover(trial, self.load_max * kill / self.kills(&trial.planned.workload))?)
    }
}

/// A planned trial of each contender, at the point where the search raced; where the duel's points have another
/// name for it, that is their first.
fn sides(plan: &PlanRecord, search: &SearchRecord) -> Option<Vec<PlannedTrial>> {
    let of = |contender: &ContenderRecord| {
        let ours = |trial: &&PlannedTrial| trial.contender == contender.name && trial.workload == search.workload;
        let at = plan.trials.iter().filter(ours);
        at.min_by_key(|trial| (trial.point != search.point, &trial.point)).cloned()
    };
    plan.contenders.iter().map(of).collect()
}
