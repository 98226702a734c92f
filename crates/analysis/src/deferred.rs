//! What work costs that a server deferred and did not do while a trial waited for it (method, A3).
//!
//! A trial whose server did all of it has its time. What others left is charged at the rate of the contender that
//! was slowest at doing such work; where no trial did any of it, no rate that would include it is claimed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use record::format::deferred_work::{AMOUNT_LEFT, INTERVAL, PAID, PAID_S};
use record::format::{PlanRecord, Status, TrialRecord};

/// Behind it stands the primary metric of which it counts the server's deferred work.
pub const ADJUSTED: &str = "adjusted_";

/// So much deferred work has to be done before its speed counts as a rate.
const DONE_SHARE_MIN: f64 = 0.1;

/// Seconds that a trial is charged with for work that was left.
const CHARGED: &str = "deferred_work_charged_s";

type Rates<'a> = BTreeMap<&'a str, f64>;

/// The trials with a rate that includes deferred work wherever it follows from them.
pub fn charged<'a>(plan: &PlanRecord, trials: Cow<'a, [TrialRecord]>) -> Cow<'a, [TrialRecord]> {
    if !trials.iter().any(|trial| trial.metrics.contains_key(INTERVAL)) {
        return trials;
    }
    let mut all = trials.clone().into_owned();
    for workload in &plan.workloads {
        let rates = slowest_rates(&trials, &workload.label);
        let metric = workload.primary_metric();
        for trial in all.iter_mut().filter(|trial| trial.workload == workload.label && is_ok(trial)) {
            let Some((seconds, rate)) = charge(trial, metric, &rates) else { continue };
            trial.metrics.insert(CHARGED.to_owned(), seconds);
            trial.metrics.insert(format!("{ADJUSTED}{metric}"), rate);
        }
    }
    Cow::Owned(all)
}

/// How fast each kind of work was done by the contender that was slowest at it, over all of its trials.
fn slowest_rates<'a>(trials: &'a [TrialRecord], workload: &str) -> Rates<'a> {
    let mut done: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.workload == workload && is_ok(trial)) {
        for (name, paid) in with_prefix(trial, PAID) {
            let value = |prefix| trial.metrics.get(&format!("{prefix}{name}")).copied().unwrap_or(0.0);
            if was_done(paid, value(AMOUNT_LEFT)) {
                let sums = done.entry((name, &trial.contender)).or_default();
                (sums.0, sums.1) = (sums.0 + paid, sums.1 + value(PAID_S));
            }
        }
    }
    let mut rates = Rates::new();
    for ((name, _), (paid, seconds)) in done.into_iter().filter(|(_, (paid, seconds))| *paid > 0.0 && *seconds > 0.0) {
        let slowest = rates.entry(name).or_insert(f64::INFINITY);
        *slowest = slowest.min(paid / seconds);
    }
    rates
}

/// Seconds for all that was put off, and the rate with them. Debts are worked off at the same time, so the longest counts.
fn charge(trial: &TrialRecord, metric: &str, rates: &Rates) -> Option<(f64, f64)> {
    let value = |name: &str| trial.metrics.get(name).copied();
    let (interval_s, rate) = (value(INTERVAL)?, value(metric)?);
    let mut seconds: f64 = 0.0;
    for (name, paid_s) in with_prefix(trial, PAID_S) {
        let is_left = trial.metrics.contains_key(&format!("{AMOUNT_LEFT}{name}"));
        seconds = seconds.max(if is_left { 0.0 } else { paid_s });
    }
    for (name, left) in with_prefix(trial, AMOUNT_LEFT) {
        let (paid, rate) = (value(&format!("{PAID}{name}")).unwrap_or(0.0), rates.get(name)?);
        let paid_s = value(&format!("{PAID_S}{name}")).filter(|_| was_done(paid, left));
        seconds = seconds.max(paid_s.map_or((paid + left) / rate, |paid_s| paid_s + left / rate));
    }
    Some((seconds, rate * interval_s / (interval_s + seconds)))
}

/// A trickle is no rate at which work is done: what it waited for is unknown.
fn was_done(paid: f64, left: f64) -> bool {
    paid >= DONE_SHARE_MIN * (paid + left)
}

fn is_ok(trial: &TrialRecord) -> bool {
    trial.status == Status::Ok
}

fn with_prefix<'a>(trial: &'a TrialRecord, prefix: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
    let part = move |(name, value): (&'a String, &f64)| Some((name.strip_prefix(prefix)?, *value));
    trial.metrics.iter().filter_map(part)
}

/// What a contender left undone under a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkLeft {
    pub contender: String,
    pub workload: String,
    pub trials_with_work_left: usize,
    pub trials: usize,
    /// Mean of each kind of work, by the name of its counter: `dirty_bytes`.
    pub amounts: BTreeMap<String, f64>,
    /// Mean time that a trial is charged with; absent where no contender was seen doing such work.
    pub charged_s: Option<f64>,
}

/// What was left, by contender, of [`charged`] trials.
pub fn work_left(trials: &[TrialRecord]) -> Vec<WorkLeft> {
    let mut by_contender: BTreeMap<(&str, &str), Vec<&TrialRecord>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| is_ok(trial)) {
        by_contender.entry((&trial.workload, &trial.contender)).or_default().push(trial);
    }
    let left = by_contender.into_iter().filter_map(|((workload, contender), trials)| {
        let left: Vec<&TrialRecord> =
            trials.iter().copied().filter(|trial| trial.metrics.contains_key(INTERVAL)).collect();
        (!left.is_empty()).then(|| WorkLeft {
            contender: contender.to_owned(),
            workload: workload.to_owned(),
            trials_with_work_left: left.len(),
            trials: trials.len(),
            amounts: amounts_left(&left),
            charged_s: charged_s(&left),
        })
    });
    left.collect()
}

fn amounts_left(trials: &[&TrialRecord]) -> BTreeMap<String, f64> {
    let mut sums: BTreeMap<&str, (f64, usize)> = BTreeMap::new();
    for (name, left) in trials.iter().flat_map(|trial| with_prefix(trial, AMOUNT_LEFT)) {
        let sum = sums.entry(name).or_default();
        *sum = (sum.0 + left, sum.1 + 1);
    }
    sums.into_iter().map(|(name, (sum, count))| (name.to_owned(), sum / count as f64)).collect()
}

fn charged_s(trials: &[&TrialRecord]) -> Option<f64> {
    let charged: Vec<f64> = trials.iter().filter_map(|trial| trial.metrics.get(CHARGED).copied()).collect();
    stats::mean(&charged).filter(|_| charged.len() == trials.len())
}
