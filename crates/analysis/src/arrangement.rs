//! What a reader must know of trials that share a start, a time, or their data's blocks.

use record::format::{PlanRecord, RunRecord, SideRecord, TrialRecord};

use super::findings::{finding, lines_of, place};
use super::{Finding, WorkloadConclusions};

/// A clone is paid for when it is written.
pub fn clones(plan: &PlanRecord) -> Option<Finding> {
    let how = plan.method.work_copy.as_ref()?;
    let text = "each trial began on clones of the data files: the first write to a block copies it then, so that a \
                workload that writes pays in its trials for what a full copy pays before them"
        .to_owned();
    finding("cloned data", text, vec![format!("plan.json: method.clone = {how}")])
}

/// What one point leaves to the next.
pub fn fast_sweep(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<Finding> {
    if !plan.method.fast_sweep {
        return None;
    }
    let text =
        "points of a block shared a start of each server, in one common order: pairs stand further apart in time, \
                and what one point leaves in caches and tables meets the next"
            .to_owned();
    let line =
        |trial: &TrialRecord| Some(format!("{} ran in the start of trial {}", place(trial), trial.shares_start_with?));
    finding("fast sweep", text, trials.iter().filter_map(line).collect())
}

pub fn duet(plan: &PlanRecord, run: &RunRecord, workloads: &[WorkloadConclusions]) -> Option<Finding> {
    if !plan.method.duet {
        return None;
    }
    let text =
        "both contenders ran at the same time, each on its half of the cores: ratios are relative, under co-run, \
                and none of the rates is what a server does alone"
            .to_owned();
    let side = |(number, side): (usize, &SideRecord)| {
        format!("side {}: cores {}, {} physical", number + 1, side.cores, side.physical_cores)
    };
    let sides = run.client.sides.iter().enumerate().map(side);
    let lacks = lines_of(workloads, |duel| duel.unfounded.iter().map(|why| format!("does not hold: {why}")).collect());
    let solo = lines_of(workloads, |duel| duel.solo.clone());
    finding("duet", text, solo.into_iter().chain(sides).chain(lacks).collect())
}
