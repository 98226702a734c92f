//! What is known of a run beside its trials, out of its records.

use std::collections::BTreeMap;

use record::format::{DecisionKind, DecisionRecord, PlanRecord, Point, RunRecord, Status, TrialRecord};

use super::diagnosis::cause_test;
use super::scope::{Conditions, Surroundings};
use super::{aa, headroom};

/// Failures in a row after which a contender's point is given up.
pub const FAILURES_UNTIL_GIVEN_UP: usize = 3;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Decided,
    Blocks,
    Budget,
    Interrupted,
}

impl EndReason {
    /// As `run.json` has it in `ended_by`.
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Decided => "decided",
            EndReason::Blocks => "blocks",
            EndReason::Budget => "budget",
            EndReason::Interrupted => "interrupted",
        }
    }
}

pub fn conditions(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Conditions {
    let (headroom, cause_tests) = (headroom::checks(plan, trials), cause_test::tests(plan, run, trials));
    let ended_by = run.ended_by.as_deref();
    Conditions {
        ended: [EndReason::Blocks, EndReason::Budget].iter().any(|reason| ended_by == Some(reason.as_str())),
        budget_ended: ended_by == Some(EndReason::Budget.as_str()),
        shared_cores: run.client.shared_cores,
        given_up: with_given_up(run.decided(DecisionKind::GivenUp).cloned().collect(), given_up(trials)),
        durability: run.contenders.iter().map(|(name, facts)| (name.clone(), facts.durability_class.clone())).collect(),
        refused: run.decided(DecisionKind::Refused).map(|one| (one.contender.clone(), one.because.clone())).collect(),
        false_differences: aa::too_many_false_differences(&run.twins),
        doublings: headroom.iter().filter_map(headroom::doubled).collect(),
        headroom_open: headroom::unfinished(&headroom),
        duet: Surroundings::of(plan, run),
        contrasts_open: cause_test::unfinished(&cause_tests),
        contrasts: cause_tests,
        steady_from: Some(
            run.decided(DecisionKind::WarmUp).map(|one| (one.workload.clone(), one.first_block())).collect(),
        ),
        searching: run.search.as_ref().is_some_and(|search| search.run.is_none()),
    }
}

/// What three failures in a row have put out of the run, as the trials alone show it.
pub fn given_up(trials: &[TrialRecord]) -> Vec<DecisionRecord> {
    let mut in_a_row: BTreeMap<(&str, &str, &Point), usize> = BTreeMap::new();
    let mut given_up = Vec::new();
    // A worker of the load that was lost is no contender's failure.
    let of_worker = |trial: &TrialRecord| trial.failure.as_ref().is_some_and(|failure| failure.worker.is_some());
    for trial in trials.iter().filter(|trial| !trial.purpose.is_probe() && !of_worker(trial)) {
        let failures = in_a_row.entry((&trial.workload, &trial.contender, &trial.point)).or_default();
        *failures = if trial.status == Status::Failed { *failures + 1 } else { 0 };
        if *failures == FAILURES_UNTIL_GIVEN_UP {
            let last =
                trial.failure.as_ref().map_or_else(|| "no message".to_owned(), |failure| failure.message.clone());
            given_up.push(DecisionRecord {
                workload: trial.workload.clone(),
                contender: trial.contender.clone(),
                point: trial.point.clone(),
                ..DecisionRecord::new(DecisionKind::GivenUp, last)
            });
        }
    }
    given_up
}

fn with_given_up(mut recorded: Vec<DecisionRecord>, seen: Vec<DecisionRecord>) -> Vec<DecisionRecord> {
    for one in seen {
        let same = |other: &DecisionRecord| {
            (&other.workload, &other.contender, &other.point) == (&one.workload, &one.contender, &one.point)
        };
        if !recorded.iter().any(same) {
            recorded.push(one);
        }
    }
    recorded
}
