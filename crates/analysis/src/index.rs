//! The trials of a run, found again by what they measured.
//!
//! No judgement here: only lookups, counts and averages.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;
use stats::MedianInterval;

use record::blocks::repeat_number;
use record::format::{DecisionRecord, PlanRecord, Point, Status, TrialRecord};

use super::transaction_kinds::{Kind, kinds};
use super::values::{is_by_result, is_quantile, value};

/// `latency_ms_p95` and its like, as they were and as corrected.
const QUANTILE_PREFIXES: [&str; 2] = ["latency_ms_p", "corrected_ms_p"];

/// One contender at one point: the values of its trials, without comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub contender: String,
    pub point: Point,
    /// The metric of the verdicts; a geometric mean, as ratios are.
    pub primary: Option<Summary>,
    pub trials_ok: usize,
    pub trials_failed: usize,
    pub metrics: BTreeMap<String, Summary>,
    /// Of each quantile of latency: the median over trials, with the interval that their order gives.
    /// Never from pooled requests, which stalls make depend on each other.
    pub quantiles: BTreeMap<String, MedianInterval>,
    /// Where the workload counts kinds of transactions apart.
    pub kinds: Vec<Kind>,
}

/// A metric over the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    #[serde(rename = "value")]
    pub mean: f64,
    /// t interval of the mean over blocks; absent with a single block.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub trials: usize,
}

/// All trials by workload, point, contender and block.
pub struct Index<'a> {
    plan: &'a PlanRecord,
    trials: &'a [TrialRecord],
    by_place: BTreeMap<(&'a str, &'a Point, &'a str, u32), &'a TrialRecord>,
}

impl<'a> Index<'a> {
    pub fn new(plan: &'a PlanRecord, trials: &'a [TrialRecord]) -> Index<'a> {
        let place =
            |trial: &'a TrialRecord| (trial.workload.as_str(), &trial.point, trial.contender.as_str(), trial.block);
        // An entry that was repeated because the host was noisy replaces the first try; never a part of
        // it, or a contender's undisturbed trial would stand beside the other's disturbed one.
        let counts = |trial: &&TrialRecord| is_whole(plan, trials, trial);
        let by_place = trials.iter().filter(counts).map(|trial| (place(trial), trial)).collect();
        Index { plan, trials, by_place }
    }

    pub fn trials(&self) -> &'a [TrialRecord] {
        self.trials
    }

    pub fn blocks_max(&self) -> u32 {
        self.plan.method.blocks
    }

    pub fn find(&self, workload: &str, point: &Point, contender: &str, block: u32) -> Option<&'a TrialRecord> {
        self.by_place.get(&(workload, point, contender, block)).copied()
    }

    /// The workload's points in ascending order, planned ones that were never reached included.
    pub fn points(&self, workload: &str) -> Vec<Point> {
        let planned = self.plan.trials.iter().filter(|trial| trial.workload == workload).map(|trial| &trial.point);
        planned.collect::<BTreeSet<_>>().into_iter().cloned().collect()
    }

    /// What the verdicts about this workload come from.
    pub fn primary_metric(&self, workload: &str) -> String {
        let record = self.plan.workloads.iter().find(|record| record.label == workload);
        record.map_or("tps", |record| record.primary_metric()).to_owned()
    }

    pub fn has_metric(&self, workload: &str, metric: &str) -> bool {
        self.trials.iter().any(|trial| trial.workload == workload && trial.metrics.contains_key(metric))
    }

    /// Blocks, from the first on, of which nothing is left to do.
    pub fn blocks_finished(&self, given_up: &[DecisionRecord]) -> u32 {
        let open = self.plan.trials.iter().filter(|planned| {
            let never = given_up.iter().any(|one| {
                (&one.workload, &one.contender, &one.point) == (&planned.workload, &planned.contender, &planned.point)
            });
            !never && self.find(&planned.workload, &planned.point, &planned.contender, planned.block).is_none()
        });
        open.map(|planned| planned.block - 1).min().unwrap_or(self.plan.method.blocks)
    }

    /// One contender's trials at one point.
    pub fn at<'b>(
        &'b self,
        workload: &'b str,
        point: &'b Point,
        contender: &'b str,
    ) -> impl Iterator<Item = &'a TrialRecord> + 'b {
        let blocks = 1..=self.plan.method.blocks;
        blocks.filter_map(move |block| self.find(workload, point, contender, block))
    }

    /// Geometric mean over the trials that are ok and over the points given, as ratios are averaged too; none where
    /// a point has no trial.
    pub fn mean(&self, workload: &str, points: &[Point], contender: &str, metric: &str) -> Option<f64> {
        let of_point = |point| stats::mean(&self.logs(workload, point, contender, metric));
        let means: Vec<f64> = points.iter().map(of_point).collect::<Option<_>>()?;
        stats::mean(&means).map(f64::exp)
    }

    /// Logarithms of a metric over one contender's trials at one point.
    fn logs(&self, workload: &str, point: &Point, contender: &str, metric: &str) -> Vec<f64> {
        let trials: Vec<&TrialRecord> = self.at(workload, point, contender).collect();
        let values = match is_quantile(metric) || is_by_result(metric) {
            true => completed(&trials, |trial| value(trial, metric)).unwrap_or_default(),
            false => trials.iter().filter_map(|trial| value(trial, metric)).collect(),
        };
        values.into_iter().filter(|value| *value > 0.0).map(f64::ln).collect()
    }

    pub fn cell(&self, workload: &str, point: &Point, contender: &str) -> Cell {
        let trials: Vec<&TrialRecord> = self.at(workload, point, contender).collect();
        let (ok, failed): (Vec<&TrialRecord>, Vec<&TrialRecord>) =
            trials.into_iter().partition(|trial| trial.status == Status::Ok);
        let names: BTreeSet<&String> = ok.iter().flat_map(|trial| trial.metrics.keys()).collect();
        let metrics = names.into_iter().filter_map(|name| {
            let values = match depends_on_result(name) {
                true => completed(&ok, |trial| trial.metrics.get(name).copied())?,
                false => ok.iter().filter_map(|trial| trial.metrics.get(name).copied()).collect(),
            };
            Some((name.clone(), summary(&values, self.plan.method.confidence)?))
        });
        Cell {
            contender: contender.to_owned(),
            point: point.clone(),
            primary: geometric_summary(
                &self.logs(workload, point, contender, &self.primary_metric(workload)),
                self.plan.method.confidence,
            ),
            trials_ok: ok.len(),
            trials_failed: failed.len(),
            metrics: metrics.collect(),
            quantiles: quantiles(&ok, self.plan.method.confidence),
            kinds: kinds(&ok.iter().map(|trial| &trial.metrics).collect::<Vec<_>>()),
        }
    }
}

/// Of a repeat: has every contender's trial been made?
fn is_whole(plan: &PlanRecord, trials: &[TrialRecord], trial: &TrialRecord) -> bool {
    let number = |trial: &TrialRecord| trial.purpose.repeats().and_then(|_| repeat_number(plan, trial.trial));
    let together = |this: u32| trials.iter().filter(|other| number(other) == Some(this)).count();
    number(trial).is_none_or(|this| together(this) == plan.contenders.len())
}

/// The quantiles of latency of these trials, of all transactions together.
fn quantiles(trials: &[&TrialRecord], confidence: f64) -> BTreeMap<String, MedianInterval> {
    let of_trials = trials.iter().flat_map(|trial| trial.metrics.keys());
    let is_of_all = |name: &&String| QUANTILE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let names: BTreeSet<&String> = of_trials.filter(is_of_all).collect();
    let quantile = |name: &String| {
        let values = completed(trials, |trial| trial.metrics.get(name).copied())?;
        Some((name.clone(), stats::median_interval(&values, confidence)?))
    };
    names.into_iter().filter_map(quantile).collect()
}

/// Values that a trial lacks because of what it did: it answered too little, or not this operation.
fn depends_on_result(metric: &str) -> bool {
    metric.contains("_ms_") || metric.ends_with("_per_tx") || is_by_result(metric)
}

/// A value for each trial: one that lacks it, since too few requests ended in it, counts as the worst of the
/// others. None where more than a tenth lack it: those that have it are the fast ones.
fn completed(trials: &[&TrialRecord], value: impl Fn(&TrialRecord) -> Option<f64>) -> Option<Vec<f64>> {
    let ok = || trials.iter().filter(|trial| trial.status == Status::Ok);
    let known: Vec<f64> = ok().filter_map(|trial| value(trial)).collect();
    let lacking = ok().count() - known.len();
    if lacking as f64 > stats::INCOMPLETE_SHARE_MAX * ok().count() as f64 {
        return None;
    }
    let worst = known.iter().copied().reduce(f64::max)?;
    Some(known.into_iter().chain(std::iter::repeat_n(worst, lacking)).collect())
}

/// The geometric mean that stands beside ratios, of logarithms.
pub fn geometric_summary(logs: &[f64], confidence: f64) -> Option<Summary> {
    let Summary { mean, low, high, trials } = summary(logs, confidence)?;
    Some(Summary { mean: mean.exp(), low: low.map(f64::exp), high: high.map(f64::exp), trials })
}

pub fn summary(values: &[f64], confidence: f64) -> Option<Summary> {
    let interval = stats::t_interval(values, confidence);
    Some(Summary {
        mean: stats::mean(values)?,
        low: interval.map(|bounds| bounds.low),
        high: interval.map(|bounds| bounds.high),
        trials: values.len(),
    })
}
