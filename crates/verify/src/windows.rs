//! Records against the response times that trials kept window by window; for a run and for a page alike.

use latency::Histogram;

use super::Findings;
use super::records::{QUANTILES, clients_of, quantiles, workload_of};
use analysis::latency_windows::whole;
use record::format::{Status, TrialRecord};
use report::Evidence;
use trial::latency::{OUT_OF_RANGE, STARVED, expected_interval_ns};

/// What was due in a trial: it ended, or its wait until it was given up is a lower bound of its response time.
const DUE: [&str; 4] =
    ["transactions.committed", "transactions.rolled_back", "transactions.failed", "transactions.skipped"];

/// The quantiles of each trial out of the sum of its windows, as they are reported and as they are corrected; and
/// nothing was lost or added in between.
pub fn against_windows(evidence: &Evidence, findings: &mut Findings) {
    let (mut quantiles_checked, mut trials, mut windows) = (0, 0, 0);
    for trial in evidence.trials.measured().iter().filter(|trial| trial.status == Status::Ok) {
        let Some(log) = evidence.windows.get(&trial.trial) else { continue };
        let Some((sum, count)) = whole(log) else {
            findings.differs(format!("trial {}: its windows cannot be read", trial.trial));
            continue;
        };
        (trials, windows) = (trials + 1, windows + count);
        counts(evidence, trial, &sum, findings);
        quantiles_checked += quantiles(trial, &sum, &QUANTILES, findings);
        quantiles_checked += corrected(evidence, trial, &sum, findings);
    }
    findings.checked(format!("{quantiles_checked} quantiles of {trials} trials, from the sum of {windows} windows"));
}

fn counts(evidence: &Evidence, trial: &TrialRecord, sum: &Histogram, findings: &mut Findings) {
    let due: Option<Vec<f64>> = DUE.iter().map(|name| trial.metrics.get(*name).copied()).collect();
    let due = due.map_or(0.0, |counts| counts.iter().sum());
    // A client that waited all the while has its age for a response time, and no transaction. In an open loop that is no
    // flag: arrivals waited meanwhile, and show it.
    let is_open_loop = workload_of(evidence, trial).is_some_and(|workload| workload.is_open_loop());
    let may_starve = is_open_loop || trial.flags.iter().any(|flag| flag == STARVED);
    let starved = if may_starve { clients_of(evidence, trial) } else { 0 };
    let held = sum.count() as f64;
    if due > 0.0 && !(due..=due + f64::from(starved)).contains(&held) {
        findings.differs(format!("trial {}: its windows hold {held} transactions, its record {due}", trial.trial));
    }
    let outside = trial.metrics.get(OUT_OF_RANGE).copied();
    if outside.is_some_and(|outside| outside != sum.out_of_range.total() as f64) {
        findings.differs(format!(
            "trial {}: {OUT_OF_RANGE} is {}, its windows say {}",
            trial.trial,
            outside.unwrap_or_default(),
            sum.out_of_range.total()
        ));
    }
}

fn corrected(evidence: &Evidence, trial: &TrialRecord, sum: &Histogram, findings: &mut Findings) -> usize {
    let tps = trial.metrics.get("tps");
    let interval_ns = tps.and_then(|tps| expected_interval_ns(clients_of(evidence, trial), *tps));
    let Some(interval_ns) = interval_ns else { return 0 };
    let names = QUANTILES.map(|(name, quantile)| (name.replace("latency_ms", "corrected_ms"), quantile));
    let names = names.each_ref().map(|(name, quantile)| (name.as_str(), *quantile));
    quantiles(trial, &sum.corrected(interval_ns), &names, findings)
}
