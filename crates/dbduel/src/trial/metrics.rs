//! A tally as metrics: names that the store, the JSON report and the command line share.
//!
//! It knows no workload: which kinds of transactions there are, and what else is counted, the
//! workload says by name.

use std::collections::BTreeMap;

use load::{Histogram, KindTally, Tally, Workload};

use super::pass;
use crate::observe::Readings;

/// A quantile is shown when at least this many transactions lie above it.
const BEYOND_QUANTILE_MIN: f64 = 30.0;
const QUANTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

/// What the server's processes did, told for each committed transaction (method, section 5).
const PER_TRANSACTION: &[(&str, &str)] = &[
    ("ctx_voluntary_per_tx", "server_ctx_voluntary"),
    ("ctx_involuntary_per_tx", "server_ctx_involuntary"),
    ("page_faults_minor_per_tx", "server_faults_minor"),
    ("page_faults_major_per_tx", "server_faults_major"),
    ("read_bytes_per_tx", "server_read_bytes"),
    ("write_bytes_per_tx", "server_write_bytes"),
    ("read_calls_per_tx", "server_read_calls"),
    ("write_calls_per_tx", "server_write_calls"),
];

/// Named as in the JSON report.
pub fn metrics(tally: &Tally, readings: &Readings, in_process: bool, workload: &dyn Workload) -> BTreeMap<String, f64> {
    if workload.is_one_pass() {
        return readings.values.clone().into_iter().chain(pass::metrics(&tally.programs, in_process)).collect();
    }
    let seconds = tally.interval_ns as f64 / 1e9;
    let mut metrics: BTreeMap<String, f64> = readings.values.clone();
    let mut put = |name: &str, value: f64| metrics.insert(name.to_owned(), value);
    put("tps", tally.tps());
    put("qps", tally.qps());
    put("errors_per_s", (tally.retries + tally.failed) as f64 / seconds);
    for (name, count) in [
        ("transactions.due", tally.due),
        ("transactions.committed", tally.committed),
        ("transactions.rolled_back", tally.rolled_back),
        ("transactions.failed", tally.failed),
        ("transactions.skipped", tally.skipped),
        ("transactions.retries", tally.retries),
        ("queries.read", tally.reads),
        ("queries.write", tally.writes),
        ("queries.other", tally.other),
    ] {
        put(name, count as f64);
    }
    put("occupancy", tally.occupancy());
    for (per_transaction, count) in PER_TRANSACTION {
        if let Some(count) = readings.values.get(*count).filter(|_| tally.committed > 0) {
            put(per_transaction, count / tally.committed as f64);
        }
    }
    put("drain_s", tally.drain_ns as f64 / 1e9);
    let client_cpu_us = tally.worker_cpu_ns.iter().sum::<u64>() as f64 / 1e3;
    let server_cpu_us =
        ["server_cpu_user_s", "server_cpu_system_s"].iter().filter_map(|name| readings.values.get(*name));
    let server_cpu_us = server_cpu_us.sum::<f64>() * 1e6;
    let engine_cpu_us = if in_process { client_cpu_us } else { server_cpu_us };
    if tally.committed > 0 && engine_cpu_us > 0.0 {
        put("cpu_us_per_tx", engine_cpu_us / tally.committed as f64);
    }
    if !in_process && tally.queries() > 0 {
        put("client_cpu_us_per_query", client_cpu_us / tally.queries() as f64);
    }
    for (prefix, histogram) in [("latency_ms", &tally.response), ("service_ms", &tally.service)] {
        metrics.extend(latencies(prefix, histogram));
    }
    metrics.extend(of_workload(tally, workload));
    metrics
}

/// What the workload counts apart, and the rates that it is measured by.
fn of_workload(tally: &Tally, workload: &dyn Workload) -> Vec<(String, f64)> {
    let kinds = workload.kinds().iter().zip(&tally.kinds).flat_map(|(name, kind)| of_kind(name, kind));
    let counts = workload.counts().iter().zip(&tally.counts).map(|(name, count)| ((*name).to_owned(), *count as f64));
    let rates = workload.rates(tally).into_iter().map(|(name, rate)| (name.to_owned(), rate));
    kinds.chain(counts).chain(rates).collect()
}

/// A kind is rare beside all transactions, and its 90th percentile is what its response is judged by:
/// that one is always told.
fn of_kind(name: &str, kind: &KindTally) -> Vec<(String, f64)> {
    let counts = [
        ("committed", kind.committed),
        ("rolled_back", kind.rolled_back),
        ("failed", kind.failed),
        ("retries", kind.retries),
        ("committed_inside", kind.committed_inside),
        ("rolled_back_inside", kind.rolled_back_inside),
    ];
    let mut metrics: Vec<(String, f64)> = counts.map(|(what, count)| (format!("{name}.{what}"), count as f64)).into();
    let prefix = format!("{name}.latency_ms");
    metrics.extend(latencies(&prefix, &kind.response));
    let p90 = format!("{prefix}_p90");
    if kind.response.count() > 0 && !metrics.iter().any(|(known, _)| *known == p90) {
        metrics.push((p90, kind.response.quantile_ms(0.9)));
    }
    metrics
}

fn latencies(prefix: &str, histogram: &Histogram) -> Vec<(String, f64)> {
    let count = histogram.count() as f64;
    if count == 0.0 {
        return Vec::new();
    }
    let shown = QUANTILES.iter().filter(|(_, quantile)| (1.0 - quantile) * count >= BEYOND_QUANTILE_MIN);
    shown
        .map(|(name, quantile)| (format!("{prefix}_{name}"), histogram.quantile_ms(*quantile)))
        .chain([(format!("{prefix}_avg"), histogram.mean_ms()), (format!("{prefix}_max"), histogram.max_ms())])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_with_kinds_is_told_by_kind_and_by_its_own_rates() {
        let kind = load::workload_kind("tpcc").unwrap();
        let options = load::Options::new(kind.options, &BTreeMap::new()).unwrap();
        let tpcc = (kind.build)(&options).unwrap();
        let mut new_orders = KindTally { committed: 99, rolled_back: 1, committed_inside: 98, ..KindTally::default() };
        (1..=100).for_each(|ms| new_orders.response.record(ms * 1_000_000));
        let mut kinds = vec![KindTally::default(); tpcc.kinds().len()];
        kinds[0] = new_orders;
        let counts = (0..tpcc.counts().len() as u64).collect();
        let tally = Tally { kinds, counts, interval_ns: 60_000_000_000, ..Tally::default() };
        let told = metrics(&tally, &Readings::default(), false, tpcc.as_ref());
        assert_eq!((told["nopm"], told["new_order.committed"], told["new_order.rolled_back"]), (98.0, 99.0, 1.0));
        assert!((told["new_order.latency_ms_p90"] / 90.0 - 1.0).abs() < 0.02, "told although only ten lie above it");
        assert!(told.contains_key("new_order.latency_ms_avg") && !told.contains_key("new_order.latency_ms_p99"));
        assert!(told.contains_key("skipped_districts"));
        assert!(told.contains_key("delivery.committed") && !told.contains_key("delivery.latency_ms_avg"));
    }
}
