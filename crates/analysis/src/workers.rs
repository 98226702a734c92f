//! What the workers of a load did, over all measured trials.

use std::collections::BTreeMap;

use record::format::{Status, TrialRecord, WorkerRecord};

/// One worker: medians over the trials that succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerSummary {
    pub worker: u32,
    /// All that it had: it may have moved after one was lost.
    pub hosts: Vec<String>,
    pub cpus: u32,
    pub clients: f64,
    pub tps: f64,
    pub share: f64,
    pub own_latency_ms_p99: Option<f64>,
    pub cores_used: f64,
    pub ceiling_share: Option<f64>,
    pub lateness_ms_p99: Option<f64>,
    pub clock_offset_ms: f64,
    pub edge_error_ms: f64,
}

/// In their order; empty where dbduel itself made the load.
pub fn workers(trials: &[TrialRecord]) -> Vec<WorkerSummary> {
    let mut seen: BTreeMap<u32, Vec<&WorkerRecord>> = BTreeMap::new();
    for worker in trials.iter().filter(|trial| trial.status == Status::Ok).flat_map(|trial| &trial.workers) {
        seen.entry(worker.worker).or_default().push(worker);
    }
    seen.into_values().map(|records| summary(&records)).collect()
}

/// Whether the workers of all trials were on the same hosts.
pub fn have_moved(trials: &[TrialRecord]) -> bool {
    workers(trials).iter().any(|worker| worker.hosts.len() > 1)
}

fn summary(records: &[&WorkerRecord]) -> WorkerSummary {
    let of = |value: &dyn Fn(&WorkerRecord) -> Option<f64>| {
        let values: Vec<f64> = records.iter().filter_map(|record| value(record)).collect();
        median(values)
    };
    let always = |value: &dyn Fn(&WorkerRecord) -> f64| of(&|record| Some(value(record))).unwrap_or_default();
    let mut hosts: Vec<String> = records.iter().map(|record| record.host.clone()).collect();
    hosts.sort();
    hosts.dedup();
    WorkerSummary {
        worker: records[0].worker,
        hosts,
        cpus: records[0].cpus,
        clients: always(&|record| record.clients.into()),
        tps: always(&|record| record.tps),
        share: always(&|record| record.share),
        own_latency_ms_p99: of(&|record| record.own_latency_ms_p99),
        cores_used: always(&|record| record.cores_used),
        ceiling_share: of(&|record| record.ceiling_share),
        lateness_ms_p99: of(&|record| record.lateness_ms_p99),
        clock_offset_ms: always(&|record| record.clock_offset_ms),
        edge_error_ms: always(&|record| record.edge_error_ms),
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}
