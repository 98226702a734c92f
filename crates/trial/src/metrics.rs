//! A tally as metrics: names that the store, the JSON report and the command line share.
//!
//! It does not depend on the workload, which names the kinds of transactions and what else is
//! counted.

use std::collections::BTreeMap;

use load::{Histogram, KindTally, StatementTally, Tally, Workload};
use record::format::operations::statement_metric;
use record::metric::fairness;

use super::{deferred_work, latency, operations};
use crate::observe::Readings;

/// With fewer, one second more or less would be a tenth of the interval.
const STALL_SECONDS_MIN: usize = 10;

/// What the server's processes did, reported for each committed transaction (method, section 5).
const PER_TRANSACTION: &[(&str, &str)] = &[
    ("ctx_voluntary_per_tx", "server_ctx_voluntary"),
    ("ctx_involuntary_per_tx", "server_ctx_involuntary"),
    ("page_faults_minor_per_tx", "server_faults_minor"),
    ("page_faults_major_per_tx", "server_faults_major"),
    ("read_bytes_per_tx", "server_read_bytes"),
    ("write_bytes_per_tx", WRITTEN),
    ("read_calls_per_tx", "server_read_calls"),
    ("write_calls_per_tx", "server_write_calls"),
];

const WRITTEN: &str = "server_write_bytes";
/// A page is the least that a process is charged with, and what it writes may lie on two.
const PAGES_OF_A_CALL_BYTES: f64 = 2.0 * 4096.0;
/// A ratio above this cannot come from writes that a cache still holds back.
const INFLATED: f64 = 2.0;

/// A trial without a commit is not left out because of its result: what it cost is divided by half a transaction.
pub const COMMITTED_MIN: f64 = 0.5;

/// Named as in the JSON report.
pub fn metrics(tally: &Tally, readings: &Readings, in_process: bool, workload: &dyn Workload) -> BTreeMap<String, f64> {
    if workload.is_one_pass() {
        let own = workload.derived_metrics().map(|own| own.rates(tally)).unwrap_or_default();
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
        let of_operations = operations::metrics(&tally.programs, in_process);
        return readings.values.clone().into_iter().chain(of_operations).chain(own).collect();
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
    if let Some(limit) = workload.spec().latency_limit {
        // Those that were never answered stand among the response times, too.
        let unanswered = tally.unanswered.count_above(limit);
        put("above_limit", tally.response.count_above(limit).saturating_sub(unanswered) as f64);
    }
    if workload.commands().is_some() {
        put("lua_gc_ms", tally.collected_ns as f64 / 1e6);
    }
    put("occupancy", tally.occupancy());
    put(latency::BUSY_CLIENTS, tally.busy_clients());
    let committed = (tally.committed as f64).max(COMMITTED_MIN);
    for (per_transaction, counted) in PER_TRANSACTION {
        let is_stored = !(*counted == WRITTEN && counts_whole_folios(&readings.values, seconds));
        if let Some(count) = readings.values.get(*counted).filter(|_| is_stored) {
            put(per_transaction, count / committed);
        }
    }
    put("drain_s", tally.drain_ns as f64 / 1e9);
    if let Some(drift) = stats::half_log_ratio(&committed_per_second(tally)) {
        put("half_log_ratio", drift);
    }
    let client_cpu_us = tally.worker_cpu_ns.iter().sum::<u64>() as f64 / 1e3;
    let server_cpu_us =
        ["server_cpu_user_s", "server_cpu_system_s"].iter().filter_map(|name| readings.values.get(*name));
    let server_cpu_us = server_cpu_us.sum::<f64>() * 1e6;
    let engine_cpu_us = if in_process { client_cpu_us } else { server_cpu_us };
    if engine_cpu_us > 0.0 {
        put("cpu_us_per_tx", engine_cpu_us / committed);
    }
    if !in_process && tally.queries() > 0 {
        put("client_cpu_us_per_query", client_cpu_us / tally.queries() as f64);
    }
    put(latency::OUT_OF_RANGE, tally.response.out_of_range.total() as f64);
    for (prefix, histogram) in [("latency_ms", &tally.response), ("service_ms", &tally.service)] {
        metrics.extend(latencies(prefix, histogram));
    }
    if tally.response.count() > 0 {
        metrics.insert("latency_ms_min".to_owned(), tally.response.min_ms());
    }
    metrics.extend(by_client(tally));
    metrics.extend(of_workload(tally, workload));
    metrics.extend(stalls(tally));
    if workload.replays().is_some() {
        // What a log's replay is judged by is a time, which deferred work does not divide.
        return metrics;
    }
    let primary = rates(tally, workload).first().copied().unwrap_or(("tps", tally.tps()));
    metrics.extend(deferred_work::adjusted(primary.0, primary.1, seconds, readings));
    metrics
}

/// How evenly the clients were served.
fn by_client(tally: &Tally) -> Vec<(String, f64)> {
    let (ended, busy_s): (Vec<f64>, Vec<f64>) =
        tally.by_client.iter().map(|(ended, busy_ns)| (*ended as f64, *busy_ns as f64 / 1e9)).unzip();
    let named = [
        (fairness::EVENTS_AVG, stats::mean(&ended)),
        (fairness::EVENTS_STDDEV, stats::population_sd(&ended)),
        (fairness::BUSY_S_AVG, stats::mean(&busy_s)),
        (fairness::BUSY_S_STDDEV, stats::population_sd(&busy_s)),
    ];
    named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The kernel charges a process with all of a folio when one byte of it becomes dirty. Where a file system caches
/// files in folios of many pages, a log written block by block is reported as a hundred times what the disk gets. Bytes
/// that no disk was given, and that the process handed to no call, were not written. (Calls alone do not show it:
/// asynchronous I/O is none.)
fn counts_whole_folios(values: &BTreeMap<String, f64>, seconds: f64) -> bool {
    let value = |name: &str| values.get(name).copied();
    let disks =
        values.iter().filter(|(name, _)| name.starts_with("host_disk.") && name.ends_with(".write_bytes_per_s"));
    let by_disks = disks.map(|(_, rate)| rate * seconds).reduce(|sum, one| sum + one);
    let by_calls = value("server_write_call_bytes").zip(value("server_write_calls"));
    let (Some(written), Some((bytes, calls))) = (value(WRITTEN), by_calls) else { return false };
    let is_inflated = |seen: f64| written > INFLATED * seen;
    is_inflated(bytes + calls * PAGES_OF_A_CALL_BYTES) && by_disks.is_none_or(is_inflated)
}

/// Seconds below half of the median, and the longest time without a commit (method, section 3).
fn stalls(tally: &Tally) -> Vec<(String, f64)> {
    let longest =
        tally.commits.longest_gap_ns(tally.interval_ns).map(|ns| ("longest_stall_ms".to_owned(), ns as f64 / 1e6));
    let share = stalled_share(tally).map(|share| ("stalled_seconds_share".to_owned(), share));
    longest.into_iter().chain(share).collect()
}

fn stalled_share(tally: &Tally) -> Option<f64> {
    let mut counts = committed_per_second(tally);
    if counts.len() < STALL_SECONDS_MIN {
        return None;
    }
    counts.sort_unstable_by(f64::total_cmp);
    let median = (counts[(counts.len() - 1) / 2] + counts[counts.len() / 2]) / 2.0;
    // Where most seconds are empty the median is nothing too, and those without a commit are the stalled ones.
    let stalled = counts.iter().filter(|count| **count < median / 2.0 || **count == 0.0).count();
    Some(stalled as f64 / counts.len() as f64)
}

/// Of whole seconds only: the last one of an interval may be cut off.
fn committed_per_second(tally: &Tally) -> Vec<f64> {
    let whole = (tally.interval_ns / 1_000_000_000) as usize;
    tally.seconds.iter().take(whole).map(|second| second.committed as f64).collect()
}

fn rates(tally: &Tally, workload: &dyn Workload) -> Vec<(&'static str, f64)> {
    workload.derived_metrics().map(|own| own.rates(tally)).unwrap_or_default()
}

/// What the workload counts apart, and the rates that it is measured by.
fn of_workload(tally: &Tally, workload: &dyn Workload) -> Vec<(String, f64)> {
    let spec = workload.spec();
    let kinds = spec.kinds.iter().zip(&tally.kinds).flat_map(|(kind, counted)| of_kind(&kind.name, counted));
    let counts = spec.counts.iter().zip(&tally.counts).map(|(name, count)| ((*name).to_owned(), *count as f64));
    let rates = rates(tally, workload).into_iter().map(|(name, rate)| (name.to_owned(), rate));
    kinds.chain(counts).chain(rates).chain(of_statements(&tally.statements)).collect()
}

/// Of each statement that was called: how often, what its calls brought, and its share of the time of all statements.
fn of_statements(statements: &[StatementTally]) -> Vec<(String, f64)> {
    let all_ms: f64 = statements.iter().map(|one| one.latency.sum_ms()).sum();
    let called = statements.iter().filter(|one| one.count + one.failed + one.retries > 0);
    let of_one = |one: &StatementTally| {
        let counts = [("count", one.count), ("failed", one.failed), ("retries", one.retries)];
        let counts = counts.map(|(what, count)| (what, count as f64));
        let answered = [("rows", one.rows as f64 / one.count as f64), ("share", one.latency.sum_ms() / all_ms)];
        let figures = counts.into_iter().chain(answered.into_iter().filter(|_| one.count > 0));
        let named = figures.map(|(what, value)| (statement_metric(&one.name, what), value)).collect::<Vec<_>>();
        named.into_iter().chain(latencies(&statement_metric(&one.name, "latency_ms"), &one.latency))
    };
    called.flat_map(of_one).collect()
}

/// A kind is rare beside all transactions, and its 90th percentile is what its response is judged by:
/// that one is always stored.
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
    if histogram.count() == 0 {
        return Vec::new();
    }
    latency::shown_quantiles(histogram)
        .map(|(name, quantile)| (format!("{prefix}_{name}"), histogram.quantile_ms(quantile)))
        .chain([(format!("{prefix}_avg"), histogram.mean_ms()), (format!("{prefix}_max"), histogram.max_ms())])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rise_or_fall_within_ten_seconds_or_more_is_stored() {
        let kind = workloads::workload_kind("oltp_point_select").unwrap();
        let workload = (kind.build)(&load::Options::new(kind.options, &BTreeMap::new()).unwrap()).unwrap();
        let found = |seconds: u64, rows: u64| {
            let second =
                |at: u64| load::Second { committed: if at < seconds / 2 { 100 } else { 110 }, ..Default::default() };
            let seconds_seen = (0..rows).map(second).collect();
            let tally = Tally { seconds: seconds_seen, interval_ns: seconds * 1_000_000_000, ..Tally::default() };
            metrics(&tally, &Readings::default(), false, workload.as_ref()).get("half_log_ratio").copied()
        };
        assert!((found(10, 10).unwrap() - 1.1f64.ln()).abs() < 1e-12);
        // A row for a second that is not whole counts for nothing.
        assert_eq!(found(10, 11), found(10, 10));
        assert_eq!(found(9, 9), None);
    }

    #[test]
    fn a_trial_without_a_commit_has_the_costs_of_half_a_transaction_and_only_stalled_seconds() {
        let kind = workloads::workload_kind("oltp_point_select").unwrap();
        let workload = (kind.build)(&load::Options::new(kind.options, &BTreeMap::new()).unwrap()).unwrap();
        let values = [("server_cpu_user_s", 0.3), ("server_cpu_system_s", 0.1), ("server_ctx_voluntary", 50.0)];
        let readings =
            Readings { values: values.map(|(name, value)| (name.to_owned(), value)).into(), ..Readings::default() };
        let seconds = vec![load::Second::default(); 12];
        let tally = Tally { seconds, interval_ns: 12_000_000_000, ..Tally::default() };
        let found = metrics(&tally, &readings, false, workload.as_ref());
        assert_eq!((found["tps"], found["ctx_voluntary_per_tx"], found["stalled_seconds_share"]), (0.0, 100.0, 1.0));
        assert!((found["cpu_us_per_tx"] - 800_000.0).abs() < 1e-6, "{}", found["cpu_us_per_tx"]);
    }

    #[test]
    fn bytes_that_neither_calls_nor_disks_saw_are_not_visible() {
        let found = |written: f64, called: f64, disk_per_s: Option<f64>| {
            let named = [(WRITTEN, written), ("server_write_call_bytes", called), ("server_write_calls", 1_000.0)];
            let disk = disk_per_s.map(|rate| ("host_disk.vda.write_bytes_per_s", rate));
            let values = named.into_iter().chain(disk).map(|(name, value)| (name.to_owned(), value)).collect();
            let tally = Tally { committed: 1_000, interval_ns: 10_000_000_000, ..Tally::default() };
            let kind = workloads::workload_kind("oltp_point_select").unwrap();
            let workload = (kind.build)(&load::Options::new(kind.options, &BTreeMap::new()).unwrap()).unwrap();
            let readings = Readings { values, ..Readings::default() };
            metrics(&tally, &readings, false, workload.as_ref()).get("write_bytes_per_tx").copied()
        };
        let mb = 1e6;
        assert_eq!(found(8.0 * mb, 4.0 * mb, Some(0.2 * mb)), Some(8_000.0), "pages of calls, still in the cache");
        assert_eq!(found(200.0 * mb, 0.0, Some(20.0 * mb)), Some(200_000.0), "asynchronous, and the disk got them");
        assert_eq!(found(200.0 * mb, 4.0 * mb, Some(2.0 * mb)), None, "neither saw them");
        assert_eq!(found(200.0 * mb, 4.0 * mb, None), None, "disks are not visible");
    }

    #[test]
    fn a_workload_with_kinds_has_metrics_by_kind_and_its_own_rates() {
        let kind = workloads::workload_kind("tpcc").unwrap();
        let options = load::Options::new(kind.options, &BTreeMap::new()).unwrap();
        let tpcc = (kind.build)(&options).unwrap();
        let mut new_orders = KindTally { committed: 99, rolled_back: 1, committed_inside: 98, ..KindTally::default() };
        (1..=100).for_each(|ms| new_orders.response.record(ms * 1_000_000));
        let mut kinds = vec![KindTally::default(); tpcc.spec().kinds.len()];
        kinds[0] = new_orders;
        let counts = (0..tpcc.spec().counts.len() as u64).collect();
        let tally = Tally { kinds, counts, interval_ns: 60_000_000_000, ..Tally::default() };
        let found = metrics(&tally, &Readings::default(), false, tpcc.as_ref());
        assert_eq!((found["nopm"], found["new_order.committed"], found["new_order.rolled_back"]), (98.0, 99.0, 1.0));
        assert!((found["new_order.latency_ms_p90"] / 90.0 - 1.0).abs() < 0.02, "stored although only ten lie above it");
        assert!(found.contains_key("new_order.latency_ms_avg") && !found.contains_key("new_order.latency_ms_p99"));
        assert!(found.contains_key("skipped_districts"));
        assert!(found.contains_key("delivery.committed") && !found.contains_key("delivery.latency_ms_avg"));
    }

    #[test]
    fn a_statement_has_its_counts_its_latencies_and_its_share_of_the_time() {
        let timed = |name: &str, calls: u64, each_ms: u64| {
            let mut one = StatementTally { name: name.into(), count: calls, rows: 2 * calls, ..Default::default() };
            (0..calls).for_each(|_| one.latency.record(each_ms * 1_000_000));
            one
        };
        let refused = StatementTally { name: "order.pay".into(), failed: 1, retries: 2, ..Default::default() };
        let never = StatementTally { name: "order.9".into(), ..Default::default() };
        let told: BTreeMap<String, f64> =
            of_statements(&[timed("order.4", 60, 1), timed("browse.3", 20, 9), refused, never]).into_iter().collect();
        assert_eq!((told["statement.order.4.share"], told["statement.browse.3.share"]), (0.25, 0.75));
        assert_eq!((told["statement.order.4.count"], told["statement.order.4.rows"]), (60.0, 2.0));
        assert!((told["statement.browse.3.latency_ms_avg"] - 9.0).abs() < 1e-9);
        assert!(
            told.contains_key("statement.order.4.latency_ms_p50")
                && told.contains_key("statement.order.4.latency_ms_max")
        );
        assert_eq!((told["statement.order.pay.failed"], told["statement.order.pay.retries"]), (1.0, 2.0));
        assert!(!told.contains_key("statement.order.pay.share") && !told.keys().any(|name| name.contains("order.9")));
    }

    fn with_seconds(counts: &[u64]) -> Tally {
        let second = |committed: &u64| load::Second { committed: *committed, ..load::Second::default() };
        let seconds: Vec<load::Second> = counts.iter().map(second).collect();
        Tally { interval_ns: seconds.len() as u64 * 1_000_000_000, seconds, ..Tally::default() }
    }

    #[test]
    fn a_second_is_stalled_below_half_of_the_median() {
        let check = |counts: &[u64], expected: Option<f64>| {
            assert_eq!(stalled_share(&with_seconds(counts)), expected, "{counts:?}");
        };
        check(&[100, 110, 90, 49, 100, 100, 50, 0, 120, 100], Some(0.2));
        check(&[100; 10], Some(0.0));
        check(&[100; 9], None);
        // What is cut off is no stall.
        let cut = Tally {
            interval_ns: 10_200_000_000,
            ..with_seconds(&[100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 20])
        };
        assert_eq!(stalled_share(&cut), Some(0.0));
    }

    #[test]
    fn deferred_work_is_charged_to_the_metric_that_a_workload_is_judged_by() {
        let build = |name: &str| {
            let kind = workloads::workload_kind(name).unwrap();
            (kind.build)(&load::Options::new(kind.options, &BTreeMap::new()).unwrap()).unwrap()
        };
        let readings = Readings {
            values: BTreeMap::from([(record::format::deferred_work::DRAIN.to_owned(), 30.0)]),
            ..Readings::default()
        };
        let kinds = vec![KindTally { committed_inside: 90, ..KindTally::default() }];
        let tally = Tally { committed: 120, kinds, interval_ns: 60_000_000_000, ..Tally::default() };
        let found = metrics(&tally, &readings, false, build("tpcc").as_ref());
        assert_eq!((found["nopm"], found["adjusted_nopm"], found["deferred_work_s"]), (90.0, 60.0, 30.0));
        assert!(!found.contains_key("adjusted_tps"));
        let found = metrics(&tally, &readings, false, build("oltp_read_write").as_ref());
        assert_eq!((found["adjusted_tps"], found.contains_key("adjusted_nopm")), (120.0 / 90.0, false));
        assert!(!metrics(&tally, &Readings::default(), false, build("tpcc").as_ref()).contains_key("adjusted_nopm"));
    }
}
