//! Caveats about trials that share a start or a time.

use record::format::{PlanRecord, RunRecord, TrialRecord};

use super::findings::{of_trials, when};
use super::{Finding, FindingKind, WorkloadConclusions};

/// What one point leaves to the next.
pub fn fast_sweep(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<Finding> {
    let found = of_trials(FindingKind::FastSweep, trials, |trial| trial.shares_start_with.is_some());
    found.filter(|_| plan.method.fast_sweep)
}

pub fn duet(plan: &PlanRecord, run: &RunRecord, workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let mut duels = workloads.iter().flat_map(|workload| &workload.duels);
    let is_any = !run.client.sides.is_empty() || duels.any(|duel| duel.solo.is_some() || !duel.unfounded.is_empty());
    when(FindingKind::Duet, plan.method.duet && is_any)
}
