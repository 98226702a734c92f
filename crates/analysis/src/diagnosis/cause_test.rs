//! What became of a gap when its supposed cause was taken away from both sides.
//!
//! A cause is `confirmed` only if at least half of the gap went with it, and surely some of it (method,
//! section 5). The gap is one of logarithms, relative to the side that a finding is about.

use stats::Interval;

pub use record::blocks::CONTRAST_BLOCKS as BLOCKS;
use record::format::{
    ContrastKind, ContrastRecord, Failure, PlanRecord, Point, Purpose, RunRecord, Status, TrialRecord,
};

use super::super::scope::Scope;
use super::cause::{CauseTest, EXPLAINS, GapChange, TestOutcome};
use super::estimate::{Side, pairs};
use super::rules::Rule;

/// A test that would show whether a finding is right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    pub contrast: ContrastKind,
    pub workload: String,
    pub candidate: String,
    pub point: Point,
}

impl Due {
    pub fn is_answered_by(&self, record: &ContrastRecord) -> bool {
        (self.contrast, &self.workload, &self.candidate, &self.point)
            == (record.contrast, &record.workload, &record.candidate, &record.point)
    }
}

/// The cause tests of a run, as its trials and decisions have them. They are about its own baseline, and say nothing of
/// another one.
pub fn tests(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Vec<ContrastRecord> {
    let mut tests: Vec<ContrastRecord> = Vec::new();
    if plan.baseline_of_run.is_some() {
        return tests;
    }
    let mut add = |purpose: &Purpose, workload: &str, point: &Point| {
        let Purpose::CauseTest { cause, candidate } = purpose else { return };
        let due =
            Due { contrast: *cause, workload: workload.into(), candidate: candidate.clone(), point: point.clone() };
        if !tests.iter().any(|known| due.is_answered_by(known)) {
            tests.push(test(plan, run, trials, purpose, due));
        }
    };
    trials.iter().for_each(|trial| add(&trial.purpose, &trial.workload, &trial.point));
    run.decisions.iter().for_each(|one| add(&one.purpose, &one.workload, &one.point));
    tests
}

fn test(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord], purpose: &Purpose, due: Due) -> ContrastRecord {
    let at = (purpose, &due.workload, &due.point);
    let ours: Vec<&TrialRecord> = trials.iter().filter(|one| (&one.purpose, &one.workload, &one.point) == at).collect();
    let metric = plan.workloads.iter().find(|one| one.label == due.workload).map_or("", |one| one.primary_metric());
    let value = |block: u32, contender: &str| {
        let trial = ours.iter().find(|trial| trial.block == block && trial.contender == contender)?;
        trial.metrics.get(metric).copied().filter(|value| *value > 0.0)
    };
    let blocks = 1..=BLOCKS as u32;
    let pairs: Vec<(f64, f64)> =
        blocks.filter_map(|block| Some((value(block, &plan.baseline)?, value(block, &due.candidate)?))).collect();
    let left_out = run.decisions.iter().find(|one| (&one.purpose, &one.workload, &one.point) == at);
    let failed = ours.iter().find_map(|trial| failure(trial)).filter(|_| left_out.is_none());
    ContrastRecord {
        contrast: due.contrast,
        workload: due.workload,
        candidate: due.candidate,
        point: due.point,
        baseline_values: pairs.iter().map(|pair| pair.0).collect(),
        candidate_values: pairs.iter().map(|pair| pair.1).collect(),
        refused: left_out.map(|one| one.because.clone()),
        failed,
    }
}

fn failure(trial: &TrialRecord) -> Option<(String, Failure)> {
    let failure = trial.failure.as_ref().filter(|_| trial.status == Status::Failed)?;
    Some((trial.contender.clone(), failure.clone()))
}

/// As far as it came: the blocks that it should have, or why it has not.
pub fn is_over(record: &ContrastRecord) -> bool {
    record.refused.is_some() || record.failed.is_some() || record.candidate_values.len() >= BLOCKS
}

/// Cause tests that were begun, did not come to their end and have no recorded reason for it.
pub fn unfinished(tests: &[ContrastRecord]) -> Vec<ContrastRecord> {
    tests.iter().filter(|record| !is_over(record)).cloned().collect()
}

/// None where no contrast was run for it, or not all of its blocks.
pub(super) fn outcome(scope: &Scope, metric: &str, rule: &Rule, side: Side, point: &Point) -> Option<CauseTest> {
    let due = due(scope, rule, point)?;
    let record = scope.circumstances.contrasts.iter().find(|record| due.is_answered_by(record))?;
    let outcome = ended(record, || gap_change(scope, metric, record, side).map(TestOutcome::Ended))?;
    Some(CauseTest { without: due.contrast, outcome })
}

/// What `judged` says of a test, or why it has nothing to judge.
pub(crate) fn ended(record: &ContrastRecord, judged: impl FnOnce() -> Option<TestOutcome>) -> Option<TestOutcome> {
    match (&record.refused, &record.failed) {
        (Some(why), _) => Some(TestOutcome::NotRun { because: why.clone() }),
        (None, Some((contender, failure))) => {
            Some(TestOutcome::Failed { contender: contender.clone(), failure: failure.clone() })
        }
        (None, None) => judged(),
    }
}

fn gap_change(scope: &Scope, metric: &str, record: &ContrastRecord, side: Side) -> Option<GapChange> {
    let of_side = |log_ratio: f64| if side == Side::Candidate { log_ratio } else { -log_ratio };
    let points = std::slice::from_ref(&record.point);
    let blocks = (1..=scope.plan.method.blocks).filter_map(|block| pairs(scope, metric, points, block));
    let before: Vec<f64> = blocks.flatten().map(|[baseline, candidate]| (candidate / baseline).ln()).collect();
    let both = record.candidate_values.iter().zip(&record.baseline_values);
    let after: Vec<f64> = both.map(|(candidate, baseline)| (candidate / baseline).ln()).collect();
    let [before, after] = [before, after].map(|log_ratios| log_ratios.into_iter().map(of_side).collect());
    let (own, other) = match side {
        Side::Candidate => (&record.candidate_values, &record.baseline_values),
        Side::Baseline => (&record.baseline_values, &record.candidate_values),
    };
    change(metric, [before, after], [own, other], scope.plan.method.confidence)
}

/// From log ratios of one side over the other, before and in the test, and what both had in the test. None as long as blocks
/// are missing.
pub(crate) fn change(
    metric: &str,
    log_ratios: [Vec<f64>; 2],
    [own, other]: [&[f64]; 2],
    confidence: f64,
) -> Option<GapChange> {
    let gap = Gap::of(log_ratios, confidence)?;
    let [before, after] = [&gap.before, &gap.after].map(|log_ratios| stats::mean(log_ratios).unwrap_or_default());
    let mean = |values: &[f64]| stats::mean(&values.iter().map(|value| value.ln()).collect::<Vec<_>>()).map(f64::exp);
    let pair = |bounds: Interval| (bounds.low, bounds.high);
    Some(GapChange {
        metric: metric.to_owned(),
        own: mean(own),
        other: mean(other),
        before,
        after,
        after_bounds: stats::t_interval(&gap.after, confidence).map(pair),
        removed: gap.removed,
        removed_bounds: pair(gap.bounds),
        removed_share: gap.share(),
        blocks_before: gap.before.len(),
        confirms: gap.is_explained(),
    })
}

/// What would show more about a finding of this rule, where such a test exists.
pub(super) fn due(scope: &Scope, rule: &Rule, point: &Point) -> Option<Due> {
    let (workload, candidate) = (scope.workload.to_owned(), scope.candidate.to_owned());
    Some(Due { contrast: rule.contrast?, workload, candidate, point: point.clone() })
}

/// Log ratios of one side over the other, by block.
struct Gap {
    before: Vec<f64>,
    after: Vec<f64>,
    /// What is gone of it; negative where it grew.
    removed: f64,
    bounds: Interval,
}

impl Gap {
    fn of(log_ratios: [Vec<f64>; 2], confidence: f64) -> Option<Gap> {
        let [before, after] =
            log_ratios.map(|all| all.into_iter().filter(|ratio| ratio.is_finite()).collect::<Vec<f64>>());
        if after.len() < BLOCKS {
            return None;
        }
        let (grown, bounds) = stats::difference_interval(&after, &before, confidence)?;
        // A gap is gone by as much as the side that was behind has come up.
        let is_behind = stats::mean(&before)? < 0.0;
        let turned = Interval { low: -bounds.high, high: -bounds.low };
        let (removed, bounds) = if is_behind { (grown, bounds) } else { (-grown, turned) };
        Some(Gap { before, after, removed, bounds })
    }

    fn share(&self) -> f64 {
        self.removed / stats::mean(&self.before).unwrap_or(f64::NAN).abs()
    }

    fn is_explained(&self) -> bool {
        self.share() >= EXPLAINS && self.bounds.low > 0.0
    }
}
