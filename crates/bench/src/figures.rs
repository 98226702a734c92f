//! From what was measured to the figures that reports take.
//!
//! Without checkpoints the tally is reported, which is exact; parts between checkpoints come from the
//! board, whose latencies are within 0.4 %.

use std::collections::BTreeMap;
use std::time::Duration;

use load::{Failure, Histogram, OptionValue, Options, Reading, Tally, Workload, wrong_answers};

use super::tables::Tables;
use crate::command_line::{Compat, Reconnect, Request};
use crate::report::{BenchReport, Times, WRONG_ANSWERS};
use ::report::sysbench::{Buckets, Fairness, Figures, Heading, IntervalFigures, Latency, Percentile, Queries};
use ::report::tpcc;
use trial::observe::Readings;

/// A moment of the run, and what had been counted by then.
#[derive(Debug, Clone, Default)]
pub struct Mark {
    pub at: Duration,
    pub counted: Reading,
}

/// A load thread that used more of its core had no room left.
const THREAD_CPU_MAX: f64 = 0.85;

/// Why a run is only part of one.
pub fn partial(request: &Request, failure: &Failure, measured_s: f64) -> String {
    let planned = match (request.duration, request.events) {
        (Some(duration), _) => format!(" of {:.0} s", duration.as_secs_f64()),
        (None, Some(events)) => format!(", before {events} events were done"),
        (None, None) => String::new(),
    };
    match failure {
        Failure::Gone { .. } | Failure::Silence { .. } => format!("{failure}; measured {measured_s:.1} s{planned}"),
        _ => format!("{failure} after {measured_s:.1} s{planned}"),
    }
}

/// The block of a whole run in sysbench's terms. `counted` is each client's share of it.
pub fn whole(request: &Request, tally: &Tally, counted: &Reading) -> Figures {
    let interval_s = tally.interval_ns as f64 / 1e9;
    let latencies = &tally.response;
    Figures {
        queries: Some(Queries { reads: tally.reads, writes: tally.writes, other: tally.other }),
        transactions: tally.committed,
        ignored_errors: tally.retries + tally.failed,
        reconnects: Some(tally.reconnects),
        interval_s,
        total_s: interval_s + tally.drain_ns as f64 / 1e9,
        latency: Latency {
            min_ms: Some(latencies.min_ms()),
            avg_ms: Some(latencies.mean_ms()),
            max_ms: Some(latencies.max_ms()),
            sum_ms: Some(latencies.sum_ms()),
        },
        percentiles: bucketed(&latencies.latencies_ms(), &request.percentiles, latencies.max_ms()),
        fairness: Some(fairness(counted)),
        unfinished: None,
        skipped: tally.skipped - tally.left_waiting,
        left_waiting: tally.left_waiting,
        partial: None,
        wrong: None,
    }
}

/// The block of a part between two moments; extremes are those of the same part.
pub fn part(request: &Request, from: &Mark, to: &Mark, extremes_ns: Option<(u64, u64)>) -> Figures {
    let seen = to.counted.since(&from.counted);
    let events = seen.committed + seen.rolled_back;
    let ended = events + seen.failed;
    let sum_ms = seen.latency_ns_sum as f64 / 1e6;
    let (least_ns, most_ns) = extremes_ns.unwrap_or((0, 0));
    Figures {
        queries: Some(Queries { reads: seen.reads, writes: seen.writes, other: seen.other }),
        transactions: events,
        ignored_errors: seen.retries + seen.failed,
        reconnects: Some(seen.reconnects),
        interval_s: (to.at - from.at).as_secs_f64(),
        total_s: to.at.as_secs_f64(),
        latency: Latency {
            min_ms: Some(least_ns as f64 / 1e6),
            avg_ms: Some(sum_ms / ended.max(1) as f64),
            max_ms: Some(most_ns as f64 / 1e6),
            sum_ms: Some(sum_ms),
        },
        percentiles: bucketed(
            &seen.latencies_ms(),
            &request.percentiles,
            extremes_ns.map_or(f64::INFINITY, |_| most_ns as f64 / 1e6),
        ),
        fairness: Some(fairness(&seen)),
        unfinished: None,
        skipped: seen.skipped,
        left_waiting: 0,
        partial: None,
        wrong: None,
    }
}

/// An interval by the names that sysbench's hooks know.
pub fn of_interval(figures: &IntervalFigures) -> Vec<(&'static str, f64)> {
    let mut named = vec![
        ("threads_running", f64::from(figures.clients)),
        ("time_interval", figures.interval_s),
        ("time_total", figures.elapsed_s),
        ("latency_pct", percentile_s(figures.percentile.as_ref())),
        ("events", figures.transactions as f64),
        ("reads", figures.reads as f64),
        ("writes", figures.writes as f64),
        ("other", figures.other as f64),
        ("errors", figures.ignored_errors as f64),
        ("reconnects", figures.reconnects as f64),
    ];
    if let Some((waiting, running)) = figures.queue {
        named.extend([("queue_length", waiting as f64), ("concurrency", running as f64)]);
    }
    named
}

/// The same of a block, while so many clients run.
pub fn of_block(figures: &Figures, running: u32) -> Vec<(&'static str, f64)> {
    let queries = figures.queries.unwrap_or_default();
    let seconds = |ms: Option<f64>| ms.unwrap_or(0.0) / 1e3;
    let latency = &figures.latency;
    vec![
        ("threads_running", f64::from(running)),
        ("time_interval", figures.interval_s),
        ("time_total", figures.total_s),
        ("latency_pct", percentile_s(figures.percentiles.first())),
        ("events", figures.transactions as f64),
        ("reads", queries.reads as f64),
        ("writes", queries.writes as f64),
        ("other", queries.other as f64),
        ("errors", figures.ignored_errors as f64),
        ("reconnects", figures.reconnects.unwrap_or(0) as f64),
        ("latency_min", seconds(latency.min_ms)),
        ("latency_max", seconds(latency.max_ms)),
        ("latency_avg", seconds(latency.avg_ms)),
        ("latency_sum", seconds(latency.sum_ms)),
    ]
}

fn percentile_s(percentile: Option<&Percentile>) -> f64 {
    percentile.and_then(|percentile| percentile.value_ms).unwrap_or(0.0) / 1e3
}

/// By sysbench's buckets, whose bounds may not pass the longest response time either.
fn bucketed(latencies_ms: &[(f64, u64)], percents: &[f64], max_ms: f64) -> Vec<Percentile> {
    let buckets = Buckets::new(latencies_ms.iter().copied());
    let value_ms = |percent: f64| Some(buckets.percentile_ms(percent).min(max_ms));
    let percentile = |percent: &f64| Percentile { percent: *percent, value_ms: value_ms(*percent) };
    percents.iter().map(percentile).collect()
}

fn fairness(counted: &Reading) -> Fairness {
    let clients: Vec<(u64, f64)> =
        counted.clients.iter().map(|(ended, busy_ns)| (*ended, *busy_ns as f64 / 1e9)).collect();
    Fairness::over(&clients)
}

/// What an interval line shows: its first percentile, or how long the oldest transaction has been
/// running when none has ended. A stall must not read as 0.00.
pub fn interval_percentile(request: &Request, seen: &Reading, oldest_ms: Option<f64>) -> Option<Percentile> {
    let percent = *request.percentiles.first()?;
    let ended = seen.committed + seen.rolled_back + seen.failed;
    let value_ms = match oldest_ms {
        Some(oldest_ms) if ended == 0 => oldest_ms,
        _ => Buckets::new(seen.latencies_ms()).percentile_ms(percent),
    };
    Some(Percentile { percent, value_ms: Some(value_ms) })
}

/// Percentiles of ascending values with their counts.
pub fn percentiles(latencies_ms: &[(f64, u64)], percents: &[f64]) -> Vec<(f64, f64)> {
    let total: u64 = latencies_ms.iter().map(|(_, count)| count).sum();
    let value = |percent: f64| {
        let rank = ((total as f64 * percent / 100.0).ceil() as u64).max(1);
        let mut seen = 0;
        let found = latencies_ms.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        });
        found.map_or(0.0, |(ms, _)| *ms)
    };
    percents.iter().map(|percent| (*percent, value(*percent))).collect()
}

/// What stands above a run in sysbench's layouts. `opens_with` is the statement that opens its transactions.
pub fn heading(request: &Request, opens_with: Option<&str>) -> Heading {
    let whole_secs = |time: &std::time::Duration| time.as_secs_f64().round() as u64;
    Heading {
        version: format!("dbduel {} (in the layout of {})", env!("CARGO_PKG_VERSION"), layout_name(request)),
        clients: request.clients,
        rate: request.rate.map(|rate| rate.round() as u64),
        report_interval_s: request.report_interval.as_ref().map(whole_secs),
        checkpoints_s: request.checkpoints.iter().map(whole_secs).collect(),
        seed: request.rand_seed,
        about: about(request, opens_with),
    }
}

fn layout_name(request: &Request) -> &'static str {
    use crate::command_line::Format;
    match request.format {
        Format::Classic => Compat::Classic.word(),
        _ => Compat::Modern.word(),
    }
}

/// Figures of a 0.4 run about itself.
fn about(request: &Request, opens_with: Option<&str>) -> Vec<String> {
    let option = |name: &str| request.workload_options.get(name).map(|value| value.to_string().replace('"', ""));
    let is = |name: &str, expected: &str| option(name).is_some_and(|value| value == expected);
    let kind = match option("mode").as_deref() {
        Some("simple") => "Running simple OLTP test",
        Some("nontrx") => "Running non-transactional test",
        Some("sp") => "Running stored procedure test",
        _ => "Running mixed OLTP test",
    };
    let distribution = option("rand_type").unwrap_or_else(|| "special".to_owned());
    let mut lines = vec!["Doing OLTP test.".to_owned(), kind.to_owned()];
    lines.extend(is("read_only", "true").then(|| "Doing read-only test".to_owned()));
    lines.push(format!("Using {} distribution", distribution.to_uppercase()));
    lines.extend(opens_with.map(|sql| format!("Using \"{sql}\" for starting transactions")));
    let auto_inc = if is("auto_inc", "false") { "Not using" } else { "Using" };
    lines.push(format!("{auto_inc} auto_inc on the id column"));
    lines.extend(
        request.events.map(|events| format!("Maximum number of requests for OLTP test is limited to {events}")),
    );
    lines
}

/// Everything in dbduel's own text and JSON.
pub fn report(
    request: &Request,
    workload: &dyn Workload,
    tally: &Tally,
    embedded: bool,
    tables: Option<&Tables>,
) -> BenchReport {
    let mut metrics = trial::metrics(tally, &Readings::default(), embedded, workload);
    if !workload.is_one_pass() {
        // The percentiles that were asked for are reported, and no others.
        metrics.retain(|name, _| !name.starts_with("latency_ms_") && !name.starts_with("service_ms_"));
        metrics.extend(more_metrics(tally));
    }
    metrics.extend(trial::generator_limit::lateness(tally).map(|(name, value)| (name.to_owned(), value)));
    let mut remarks = trial::remarks(&tally.programs);
    remarks.extend(trial::remarks_of_script(tally));
    remarks.extend(workload.replays().into_iter().flat_map(|log| log.remarks(tally)));
    remarks.extend(remarks_of_answers(workload, tally, tables));
    if is_busy_loop(request, workload) {
        remarks.extend(trial::latency::starved(tally));
    }
    let spec = workload.spec();
    let in_force = Options::new(request.workload.options, &request.workload_options).ok();
    let option = |name: &str| {
        let found = in_force.as_ref()?.iter().find(|(known, _)| *known == name)?.1;
        Some(match found {
            OptionValue::Text(text) => text.clone(),
            other => other.to_string(),
        })
    };
    BenchReport {
        declared: spec.kinds.into_iter().map(experiment::plan::kind_record).collect(),
        notes: spec.notes.into_iter().chain(spec.warnings).collect(),
        paced: tpcc::is_paced(option),
        workload: request.workload.name.to_owned(),
        target: all_targets(request),
        kind: request.target.kind.engine().to_owned(),
        clients: request.clients,
        rate: request.rate,
        pacing: workload.replays().map(load::Replays::pacing),
        measured_s: tally.interval_ns as f64 / 1e9,
        flags: flags(tally, embedded).into_iter().chain(remarks.keys().cloned()).collect(),
        remarks,
        tables: tables.map(Tables::text),
        programs: tally.programs.clone(),
        metrics,
        response: times(&tally.response, &request.percentiles),
        service: times(&tally.service, &request.percentiles),
        unanswered_ms: (tally.unanswered.count() > 0).then(|| tally.unanswered.min_ms()),
        errors: tally.errors.iter().collect(),
        histogram: request.histogram.then(|| Buckets::new(tally.response.latencies_ms()).text()),
        ..BenchReport::default()
    }
}

/// Whether each client works all the time: it neither rests, nor connects anew on purpose, nor waits for the last
/// of so many transactions.
fn is_busy_loop(request: &Request, workload: &dyn Workload) -> bool {
    let is_closed = request.rate.is_none() && request.events.is_none();
    is_closed
        && !matches!(request.reconnect, Reconnect::Every(_))
        && workload.spec().rests.is_none()
        && !workload.is_one_pass()
}

/// Where tables are not as they were asked for, and answers not as the workload declares them.
pub fn remarks_of_answers(workload: &dyn Workload, tally: &Tally, tables: Option<&Tables>) -> BTreeMap<String, String> {
    let wrong = wrong(workload, tally, tables).map(|why| (WRONG_ANSWERS.to_owned(), why));
    tables.map(Tables::flags).unwrap_or_default().into_iter().chain(wrong).collect()
}

/// Answers that are not what the workload declares: kind, expected and seen.
pub fn wrong(workload: &dyn Workload, tally: &Tally, tables: Option<&Tables>) -> Option<String> {
    let of_statements = tables.map(|tables| wrong_answers(workload, tally, &tables.setting)).unwrap_or_default();
    let operations = tally.programs.iter().flat_map(|program| &program.operations);
    let of_operations = operations.filter_map(|one| Some(format!("{}: {}", one.name, one.wrong.as_ref()?)));
    let wrong: Vec<String> = of_statements.into_iter().chain(of_operations).collect();
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// The one target, or the several that clients connected to in turn.
pub fn all_targets(request: &Request) -> String {
    if request.dry_run {
        return "nothing (a dry run)".to_owned();
    }
    let targets = std::iter::once(&request.target).chain(&request.further);
    targets.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn more_metrics(tally: &Tally) -> BTreeMap<String, f64> {
    let metrics = [
        ("transactions.retried", tally.retried as f64),
        ("transactions.unknown", tally.unknown as f64),
        ("transactions.left_waiting", tally.left_waiting as f64),
        ("retry_s", tally.retry_ns as f64 / 1e9),
        ("reconnects", tally.reconnects as f64),
    ];
    metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn times(histogram: &Histogram, percents: &[f64]) -> Times {
    Times {
        min_ms: histogram.min_ms(),
        mean_ms: histogram.mean_ms(),
        max_ms: histogram.max_ms(),
        percentiles: percents.iter().map(|percent| (*percent, histogram.quantile_ms(percent / 100.0))).collect(),
    }
}

/// What weakens the figures; SQLite works in the generator's own threads, whose use is then no sign.
fn flags(tally: &Tally, embedded: bool) -> Vec<String> {
    let busiest_ns = tally.worker_cpu_ns.iter().copied().max().unwrap_or(0) as f64;
    let bound = !embedded && busiest_ns / (tally.interval_ns.max(1) as f64) > THREAD_CPU_MAX;
    let mut flags = Vec::new();
    if bound {
        flags.push("generator-bound".to_owned());
    }
    // A few arrivals always wait for a moment; more than there are clients are a backlog.
    if tally.skipped > u64::from(tally.clients) {
        flags.push("overload".to_owned());
    }
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_values_at_their_rank() {
        let seen = [(1.0, 50), (2.0, 45), (10.0, 5)];
        assert_eq!(percentiles(&seen, &[50.0, 95.0, 99.0]), [(50.0, 1.0), (95.0, 2.0), (99.0, 10.0)]);
        assert_eq!(percentiles(&[], &[95.0]), [(95.0, 0.0)]);
    }
}
