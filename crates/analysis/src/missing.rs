//! Quantiles of latency that trials could not give, and how long a trial would have to be.
//!
//! A quantile needs thirty requests above it in each trial. Where more than a tenth of the pairs lack one there is
//! no comparison of it at all: the trials that have it are the fast ones.

use schemars::JsonSchema;
use serde::Serialize;

use record::format::{Point, Status, TrialRecord};

use super::scope::Scope;
use super::values::interval_s;

/// The quantiles that are compared, and the share of requests above them.
const QUANTILES: [(&str, &str, f64); 4] = [
    ("latency_ms_p50", "p50", 0.5),
    ("latency_ms_p95", "p95", 0.05),
    ("latency_ms_p99", "p99", 0.01),
    ("latency_ms_p999", "p99.9", 0.001),
];
const ABOVE_MIN: f64 = 30.0;

/// A quantile without a comparison at these points.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Missing {
    /// `p99.9`
    pub quantile: &'static str,
    pub points: Vec<Point>,
    /// Trials of these points that lack it, of so many.
    pub trials_lacking: usize,
    pub trials: usize,
    /// How long the slowest of them would have had to be.
    pub needed_s: f64,
}

/// Only of what was timed request by request.
pub fn missing(scope: &Scope, points: &[Point]) -> Vec<Missing> {
    let of_quantile = |(metric, quantile, above): &(&str, &'static str, f64)| {
        let mut missing = Missing { quantile, points: Vec::new(), trials_lacking: 0, trials: 0, needed_s: 0.0 };
        for point in points.iter().filter(|point| scope.lacks_too_often(metric, point)) {
            let trials = trials(scope, point);
            let lacking: Vec<_> = trials.iter().filter(|trial| !trial.metrics.contains_key(*metric)).collect();
            missing.points.push(point.clone());
            missing.trials += trials.len();
            missing.trials_lacking += lacking.len();
            let needed = lacking.iter().filter_map(|trial| needed_s(trial, *above));
            missing.needed_s = needed.fold(missing.needed_s, f64::max);
        }
        (!missing.points.is_empty()).then_some(missing)
    };
    if scope.is_pass() { Vec::new() } else { QUANTILES.iter().filter_map(of_quantile).collect() }
}

fn trials<'a>(scope: &Scope<'a>, point: &'a Point) -> Vec<&'a TrialRecord> {
    let both = [scope.plan.baseline.as_str(), scope.candidate];
    let ok = |trial: &&TrialRecord| trial.status == Status::Ok;
    both.into_iter().flat_map(|one| scope.records.at(scope.workload, point, one)).filter(ok).collect()
}

fn needed_s(trial: &TrialRecord, above: f64) -> Option<f64> {
    let counted = |name: &str| trial.metrics.get(&format!("transactions.{name}")).copied().unwrap_or(0.0);
    let ended: f64 = ["committed", "rolled_back", "failed"].map(counted).iter().sum();
    Some(interval_s(trial)? * ABOVE_MIN / (above * ended.max(0.5)))
}
