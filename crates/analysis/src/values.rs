//! The metrics of one trial, as comparisons take them, and the flags that weaken it.

use record::format::operations::{
    FEWER, GAP, PARTIAL, SECONDS, WRONG, flagged, is_mean_rate, operation_of, program_of, rated,
};
use record::format::{Status, TrialRecord};
use record::metric::HOST_FLAGS;

/// The interval holds fewer than two cycles of flushing or checkpoints.
pub const SHORT: &str = "short";

/// The load generator was the limit.
pub const GENERATOR_BOUND: &str = "generator-bound";

/// The geometric mean of the operations that verdicts come from: each weighs the same, however long it takes.
pub const GEOMEAN_SECONDS: &str = "geomean_seconds";

/// Rates of committed work, those adjusted for deferred work too, and the seconds that they count by.
const RATES: [(&str, f64); 3] = [("tps", 1.0), ("nopm", 60.0), ("tpm", 60.0)];

const HALF_A_TRANSACTION: f64 = 0.5;

/// Positive where the candidate is better. Absent where a trial failed or did not measure it.
pub fn log_ratio(baseline: &TrialRecord, candidate: &TrialRecord, metric: &str) -> Option<f64> {
    let ratio = (value(candidate, metric)? / value(baseline, metric)?).ln();
    Some(if less_is_better(metric) { -ratio } else { ratio })
}

/// The metric of a trial that is ok, as comparisons take it: always above zero.
///
/// A trial without a commit has the rate of half a transaction in its interval, the least that can be distinguished from
/// nothing. Leaving it out because of its result would flatter its side.
pub fn value(trial: &TrialRecord, metric: &str) -> Option<f64> {
    if trial.status != Status::Ok || is_of_less_work(trial, metric) {
        return None;
    }
    let measured = trial.metrics.get(metric).copied()?;
    if measured > 0.0 {
        return Some(measured);
    }
    let per = RATES.iter().find(|(name, _)| metric.ends_with(name)).map(|(_, seconds)| seconds)?;
    Some(HALF_A_TRANSACTION * per / interval_s(trial)?)
}

/// Seconds that it measured.
pub fn interval_s(trial: &TrialRecord) -> Option<f64> {
    let measured = trial.steps.iter().find(|(name, _)| name == "measure").map(|(_, seconds)| *seconds);
    measured.filter(|seconds| *seconds > 0.0)
}

/// It ran as it should, and nothing was committed.
pub fn is_outage(trial: &TrialRecord) -> bool {
    trial.status == Status::Ok && trial.metrics.get("transactions.committed").is_some_and(|count| *count <= 0.0)
}

/// A quantile of latency, which a trial has only where enough requests lie above it.
pub fn is_quantile(metric: &str) -> bool {
    metric.contains("latency_ms_p")
}

/// Times, latencies, costs and error rates: the less the better.
pub fn less_is_better(metric: &str) -> bool {
    metric.contains("_ms_")
        || metric.contains("cpu_us_per")
        || metric.ends_with("_per_execution")
        || metric.ends_with("errors_per_s")
        || metric.ends_with("seconds")
        || metric.ends_with("_s") && metric.starts_with("t_")
        || metric == "lost_commits"
}

/// Whether a trial that is ok can lack this metric, and then because of what it did.
pub fn is_by_result(metric: &str) -> bool {
    let totals = [SECONDS, GEOMEAN_SECONDS];
    timed(metric).is_some() || program_of(metric).is_some() || totals.contains(&metric) || is_mean_rate(metric)
}

/// Whether this metric of a trial is a time of work that was not done, not rightly, or not all of it.
pub fn is_of_less_work(trial: &TrialRecord, metric: &str) -> bool {
    let is_less = |name: &str| [GAP, WRONG, FEWER].iter().any(|kind| is_marked(trial, kind, name));
    timed(metric).is_some_and(is_less) || program_of(metric).is_some_and(|name| is_marked(trial, PARTIAL, name))
}

/// The operation whose time or rate this metric is.
fn timed(metric: &str) -> Option<&str> {
    operation_of(metric).or_else(|| rated(metric))
}

/// Whether a flag of this kind names it.
pub fn is_marked(trial: &TrialRecord, kind: &str, name: &str) -> bool {
    trial.flags.iter().any(|flag| flagged(flag, kind) == Some(name))
}

pub fn is_noisy(trial: &TrialRecord) -> bool {
    trial.flags.iter().any(|flag| HOST_FLAGS.contains(&flag.as_str()))
}

pub fn is_bound(trial: &TrialRecord) -> bool {
    trial.flags.iter().any(|flag| flag == GENERATOR_BOUND)
}
