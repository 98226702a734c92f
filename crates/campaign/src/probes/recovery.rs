//! Behind the duel of a search's winner: how long both sides are away after a kill.
//!
//! Settings that make a server faster can make it slow to come back (a larger log, rarer checkpoints), so
//! one number is not reported without the other. Three kills a side give a first impression: their range is reported,
//! and no verdict comes from them. Where the file of the search has `[recovery]`, a run of its own shows more.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::{Bench, Probe};
use experiment::Method;
use record::format::tuning::SearchRecord;
use record::format::{ContenderRecord, PlanRecord, PlannedTrial, Purpose};
use trial::observe::Observers;
use trial::recovery::recover;
use trial::{Finished, Trial};

/// Kills of each side.
const KILLS: u32 = 3;

/// The kills come after a third, two thirds and all of this time under load, or of a trial that is shorter.
const LOAD_MAX: Duration = Duration::from_secs(30);

pub struct Recoveries {
    load_max: Duration,
}

impl Recoveries {
    pub fn new(method: &Method) -> Recoveries {
        Recoveries { load_max: (method.warmup + method.duration).min(LOAD_MAX) }
    }
}

impl Probe for Recoveries {
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>> {
        let search = bench.run.search.as_ref().filter(|search| search.run.is_some() && !search.has_crashes);
        let sides = search.and_then(|search| sides(bench.plan(), search));
        let set = sides.map(|sides| (1..=KILLS).flat_map(|kill| killed(&sides, kill)).collect());
        set.into_iter().collect()
    }

    fn refusal(&self, bench: &Bench, set: &[PlannedTrial]) -> Result<Option<String>> {
        if set.iter().any(|planned| !bench.setup.is_behind_a_connection(&planned.contender)) {
            let why = "an embedded engine runs inside dbduel: there is no server that could be killed";
            return Ok(Some(why.to_owned()));
        }
        let workload = bench.setup.trial(&set[0], Path::new(""), Duration::ZERO).workload;
        Ok((!workload.spec().writes).then(|| "the workload writes nothing: there is nothing to recover".to_owned()))
    }

    fn run(&self, trial: &Trial, _: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        let Purpose::Recovery { kill } = trial.planned.purpose else { unreachable!("only such trials are due") };
        live(load::Live::without_load("under load until it is killed"));
        Ok(recover(trial, self.load_max * kill / KILLS)?)
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

/// Each side once, in turn.
fn killed(sides: &[PlannedTrial], kill: u32) -> impl Iterator<Item = PlannedTrial> {
    let purpose = Purpose::Recovery { kill };
    sides.iter().zip(1..).map(move |(planned, order)| PlannedTrial {
        block: kill,
        order,
        gap_ms: 0,
        purpose: purpose.clone(),
        ..planned.clone()
    })
}
