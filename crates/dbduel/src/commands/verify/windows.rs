//! Records against the response times that trials kept window by window; for a run and for a page alike.

use load::Histogram;

use super::Findings;
use super::records::{QUANTILES, quantiles};
use analysis::latency_windows::whole;
use record::format::{Status, TrialRecord};
use report::Evidence;
use trial::latency::{OUT_OF_RANGE, expected_interval_ns};

/// What ended in a trial and so has a response time.
const ENDED: [&str; 3] = ["transactions.committed", "transactions.rolled_back", "transactions.failed"];

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
        counts(trial, &sum, findings);
        quantiles_checked += quantiles(trial, &sum, &QUANTILES, findings);
        quantiles_checked += corrected(evidence, trial, &sum, findings);
    }
    findings.checked(format!("{quantiles_checked} quantiles of {trials} trials, from the sum of {windows} windows"));
}

fn counts(trial: &TrialRecord, sum: &Histogram, findings: &mut Findings) {
    let ended: Option<Vec<f64>> = ENDED.iter().map(|name| trial.metrics.get(*name).copied()).collect();
    let ended = ended.map(|counts| counts.iter().sum::<f64>());
    if ended.is_some_and(|ended| ended != sum.count() as f64) {
        findings.differs(format!(
            "trial {}: its windows hold {} transactions, its record {}",
            trial.trial,
            sum.count(),
            ended.unwrap_or_default()
        ));
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
    let workload = evidence.plan.workloads.iter().find(|workload| workload.label == trial.workload);
    let clients = workload.map(|workload| workload.clients_at(&trial.point));
    let interval_ns =
        clients.zip(trial.metrics.get("tps")).and_then(|(clients, tps)| expected_interval_ns(clients, *tps));
    let Some(interval_ns) = interval_ns else { return 0 };
    let names = QUANTILES.map(|(name, quantile)| (name.replace("latency_ms", "corrected_ms"), quantile));
    let names = names.each_ref().map(|(name, quantile)| (name.as_str(), *quantile));
    quantiles(trial, &sum.corrected(interval_ns), &names, findings)
}
