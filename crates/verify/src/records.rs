//! Records against the plan they follow, and against the files that trials left.

use std::collections::{BTreeMap, BTreeSet};

use latency::Histogram;

use super::Findings;
use analysis::{SERIES_COLUMN, given_up};
use record::format::{DecisionKind, DecisionRecord, PlanRecord, PlannedTrial, Status, TrialRecord, WorkloadRecord};
use report::Evidence;

/// Quantiles that a trial's histogram gives, as [`trial::metrics`] names them.
pub const QUANTILES: [(&str, f64); 5] = [
    ("latency_ms_p50", 0.5),
    ("latency_ms_p90", 0.9),
    ("latency_ms_p95", 0.95),
    ("latency_ms_p99", 0.99),
    ("latency_ms_p999", 0.999),
];

/// A rate and its count are rounded differently.
const ROUNDING: f64 = 1e-6;

/// Every record is a trial of the plan, at its place, once; and none is missing.
pub fn against_plan(evidence: &Evidence, findings: &mut Findings) {
    let before = findings.differences.len();
    let planned: BTreeMap<u32, &PlannedTrial> = evidence.plan.trials.iter().map(|trial| (trial.trial, trial)).collect();
    let mut seen = BTreeSet::new();
    for record in evidence.trials.measured() {
        if !seen.insert(record.trial) {
            findings.differs(format!("trial {} is stored twice", record.trial));
        }
        match (planned.get(&record.trial), record.purpose.repeats()) {
            (Some(planned), None) if is_at_its_place(record, planned) => {}
            (None, Some(first))
                if evidence.trials.measured().iter().any(|one| one.trial == first && is_a_repeat(record, one)) => {}
            (Some(_), _) => {
                findings.differs(format!("trial {} is not what the plan has under this number", record.trial))
            }
            (None, _) => {
                findings.differs(format!("trial {} is neither planned nor a repeat of its contender", record.trial))
            }
        }
    }
    for probe in evidence.trials.probes() {
        if planned.contains_key(&probe.trial) || !seen.insert(probe.trial) {
            findings.differs(format!("trial {} runs beside the plan and has the number of another", probe.trial));
        }
    }
    // Repeats may come before the rest of the plan: a run that was decided goes on when they change its mind.
    let of_the_plan: Vec<u32> = evidence
        .trials
        .measured()
        .iter()
        .filter(|trial| trial.purpose.repeats().is_none())
        .map(|trial| trial.trial)
        .collect();
    if !of_the_plan.is_sorted() {
        findings.differs("the trials are not stored in the order of the plan".to_owned());
    }
    // Of a search's plan only those run who still race; who that was follows from the trials before.
    let is_search = evidence.run.search.as_ref().is_some_and(|search| search.run.is_none());
    let missing = missing(evidence, &seen);
    if !missing.is_empty() && !is_search {
        let numbers: Vec<String> = missing.iter().take(10).map(u32::to_string).collect();
        findings.differs(format!("{} trials of finished blocks are missing: {} …", missing.len(), numbers.join(", ")));
    }
    if findings.differences.len() == before {
        findings.checked(format!(
            "{} trials stand where the plan has them, none twice, none missing",
            evidence.trials.measured().len()
        ));
    }
}

fn is_at_its_place(record: &TrialRecord, planned: &PlannedTrial) -> bool {
    (record.block, record.order, &record.workload, &record.contender, &record.point)
        == (planned.block, planned.order, &planned.workload, &planned.contender, &planned.point)
}

/// A repeat has a place of its own, since its coin was tossed again, but it measures what the first try did.
fn is_a_repeat(record: &TrialRecord, first: &TrialRecord) -> bool {
    first.trial < record.trial
        && (record.block, &record.workload, &record.contender, &record.point)
            == (first.block, &first.workload, &first.contender, &first.point)
}

/// Planned trials before the last block that began, and those of the last one where the run came to its end.
fn missing(evidence: &Evidence, seen: &BTreeSet<u32>) -> Vec<u32> {
    let PlanRecord { trials: planned, .. } = &evidence.plan;
    let Some(last) = evidence.trials.measured().iter().map(|trial| trial.block).max() else { return Vec::new() };
    let is_whole = evidence.run.ended_by.as_deref().is_some_and(|why| why != "interrupted");
    let decided = evidence.run.decided(DecisionKind::GivenUp).cloned();
    let given_up: Vec<DecisionRecord> = given_up(evidence.trials.measured()).into_iter().chain(decided).collect();
    let never = |trial: &PlannedTrial| {
        given_up
            .iter()
            .any(|one| (&one.workload, &one.contender, &one.point) == (&trial.workload, &trial.contender, &trial.point))
    };
    let due = planned.iter().filter(|trial| trial.block < last || is_whole && trial.block == last);
    due.filter(|trial| !seen.contains(&trial.trial) && !never(trial)).map(|trial| trial.trial).collect()
}

/// What can be computed again from the files of each trial.
pub fn against_files(evidence: &Evidence, findings: &mut Findings) {
    let trials = evidence.trials.measured().iter().filter(|trial| trial.status == Status::Ok);
    let rates = trials.filter(|trial| rate(evidence, trial, findings)).count();
    findings.checked(format!("throughput of {rates} trials, from their counts and from their seconds"));
}

/// Transactions a second are the committed ones over the interval; and what was committed second by
/// second is as much, but for what each client had under way at either edge. In an open loop a queue of any length
/// may stand at the edges: there the windows are counted.
fn rate(evidence: &Evidence, trial: &TrialRecord, findings: &mut Findings) -> bool {
    let (Some(tps), Some(committed)) = (trial.metrics.get("tps"), trial.metrics.get("transactions.committed")) else {
        return false;
    };
    // The interval ends at the first reading of the clock after its time, and before its step does. One whose time was
    // set ahead may begin while its observers still do.
    let measured_s = committed / tps;
    let step = |name: &str| trial.steps.iter().find(|(one, _)| one == name).map(|(_, seconds)| *seconds);
    let step_s = step("measure").map_or(f64::INFINITY, |seconds| seconds + step("observe").unwrap_or(0.0));
    let least_s = trial.interval_s(&evidence.plan.method);
    if *tps > 0.0 && !(least_s * (1.0 - ROUNDING)..=step_s * (1.0 + ROUNDING)).contains(&measured_s) {
        findings.differs(format!(
            "trial {}: {committed} committed at {tps} a second are {measured_s} s, not between {least_s} and {step_s}",
            trial.trial
        ));
    }
    let Some(series) = evidence.series.get(&trial.trial) else { return true };
    let Some(column) = series.columns.iter().position(|name| name == SERIES_COLUMN) else { return true };
    let by_second: f64 = series.rows.iter().filter_map(|row| row.get(column)).sum();
    let is_open = workload_of(evidence, trial).is_some_and(WorkloadRecord::is_open_loop);
    let under_way = clients_of(evidence, trial);
    if !is_open && (by_second - committed).abs() > f64::from(under_way) {
        findings.differs(format!(
            "trial {}: its seconds hold {by_second} transactions, its record {committed}, and {under_way} clients explain no more",
            trial.trial
        ));
    }
    true
}

pub fn workload_of<'a>(evidence: &'a Evidence, trial: &TrialRecord) -> Option<&'a WorkloadRecord> {
    evidence.plan.workloads.iter().find(|workload| workload.label == trial.workload)
}

pub fn clients_of(evidence: &Evidence, trial: &TrialRecord) -> u32 {
    workload_of(evidence, trial).map_or(0, |workload| workload.clients_at(&trial.point))
}

/// Those of these quantiles that a trial has, against its histogram; and how many there are.
pub fn quantiles(trial: &TrialRecord, histogram: &Histogram, names: &[(&str, f64)], findings: &mut Findings) -> usize {
    let stored = names.iter().filter_map(|(name, quantile)| Some((name, quantile, trial.metrics.get(*name)?)));
    let mut count = 0;
    for (name, quantile, stored) in stored {
        count += 1;
        let bucket = histogram.quantile_ms(*quantile);
        // The longest response time is stored exactly, and no quantile passes it; those of earlier runs may.
        let longest = trial.metrics.get("latency_ms_max");
        let again = longest.map_or(bucket, |longest| bucket.min(*longest));
        if again != *stored && bucket != *stored {
            findings.differs(format!("trial {}: {name} is {stored}, its histogram says {again}", trial.trial));
        }
    }
    count
}
