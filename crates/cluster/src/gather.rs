//! The tallies of all workers as one, and what is kept of each by itself: a hundred workers' histograms at a time would
//! be the coordinator's memory.
//!
//! Merging is the same as that of threads ([`Tally::add`]); percentiles come from the sum only. What must stay true: a
//! number that one worker got wrong is no number of the load.

use load::Tally;
use record::format::WorkerRecord;
use trial::{generator_limit, null_server};

use crate::message::Hello;

/// How far a worker's interval may be from the one that was announced.
const INTERVAL_OFF_NS: u64 = 1_000_000;
/// A load thread that used more of its core had no room left.
const THREAD_CPU_MAX: f64 = 0.85;
const LATENESS_MS_MAX: f64 = 1.0;
const LATENESS_OF_MEDIAN_MAX: f64 = 0.10;
/// How far a worker's share may be from its clients' share in a closed loop.
const UNEVEN: f64 = 0.20;
/// Above it dividing the clients of an open loop adds much waiting.
const BUSY_MAX: f64 = 0.50;
const CLOCK_MS_MAX: f64 = 5.0;

/// What is kept of one worker's tally when it has become part of the sum.
#[derive(Debug, Clone, Default)]
pub struct Own {
    pub clients: u32,
    pub due: u64,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub skipped: u64,
    pub qps: f64,
    pub interval_ns: u64,
    pub in_flight_ns: u64,
    pub thread_cpu_ns: Vec<u64>,
    pub latency_ms_p50: f64,
    pub latency_ms_p99: Option<f64>,
    pub lateness_ms_p99: Option<f64>,
}

impl Own {
    pub fn of(tally: &Tally) -> Own {
        let response = &tally.response;
        Own {
            clients: tally.clients,
            due: tally.due,
            committed: tally.committed,
            rolled_back: tally.rolled_back,
            failed: tally.failed,
            skipped: tally.skipped,
            qps: tally.qps(),
            interval_ns: tally.interval_ns,
            in_flight_ns: tally.in_flight_ns,
            thread_cpu_ns: tally.worker_cpu_ns.clone(),
            latency_ms_p50: response.quantile_ms(0.5),
            latency_ms_p99: response.tells(0.99).then(|| response.quantile_ms(0.99)),
            lateness_ms_p99: (tally.lateness.count() > 0).then(|| tally.lateness.quantile_ms(0.99)),
        }
    }
}

/// One worker's part of a trial.
pub struct Part<'a> {
    pub hello: &'a Hello,
    pub cpus: u32,
    pub own: Own,
    /// Statements a second that it reached against a server that does nothing.
    pub ceiling: Option<f64>,
    pub offset_ns: i64,
    pub edge_ns: u64,
}

/// Why a worker's tally is none of this interval.
pub fn wrong(own: &Own, interval_ns: u64) -> Option<String> {
    let ends = own.committed + own.rolled_back + own.failed + own.skipped;
    if own.due != ends {
        return Some(format!("counted {} transactions due and {ends} ended", own.due));
    }
    let off_ns = own.interval_ns.abs_diff(interval_ns);
    (off_ns > INTERVAL_OFF_NS).then(|| format!("measured {:.1} ms more or less than the others", off_ns as f64 / 1e6))
}

pub fn records(parts: &[Part], all: &Tally) -> Vec<WorkerRecord> {
    let seconds = all.interval_ns as f64 / 1e9;
    let record = |part: &Part| {
        let own = &part.own;
        WorkerRecord {
            worker: part.hello.place.unwrap_or_default() + 1,
            host: part.hello.host.clone(),
            boot_id: part.hello.boot_id.clone(),
            cpus: part.cpus,
            clients: own.clients,
            due: own.due,
            committed: own.committed,
            rolled_back: own.rolled_back,
            failed: own.failed,
            skipped: own.skipped,
            tps: own.committed as f64 / seconds,
            share: own.committed as f64 / all.committed.max(1) as f64,
            own_latency_ms_p99: own.latency_ms_p99,
            cores_used: own.thread_cpu_ns.iter().sum::<u64>() as f64 / 1e9 / seconds,
            ceiling_share: part.ceiling.map(|ceiling| own.qps / ceiling),
            lateness_ms_p99: own.lateness_ms_p99,
            clock_offset_ms: part.offset_ns as f64 / 1e6,
            edge_error_ms: part.edge_ns as f64 / 1e6,
        }
    };
    parts.iter().map(record).collect()
}

/// What weakens the trial, by flag; each names the worker.
pub fn remarks(parts: &[Part], all: &Tally, is_open: bool) -> Vec<(String, String)> {
    let named = |part: &Part, what: String| {
        format!("worker {} on {}: {what}", part.hello.place.unwrap_or_default() + 1, part.hello.host)
    };
    let of = |flag: &str, find: &dyn Fn(&Part) -> Option<String>| {
        let found = parts.iter().find_map(|part| find(part).map(|what| named(part, what)));
        found.map(|what| (flag.to_owned(), what))
    };
    let bound = of(generator_limit::BOUND, &limit);
    let uneven = of("uneven", &|part| uneven(part, all).filter(|_| !is_open));
    let clock = of("clock", &|part| {
        let edge_ms = part.edge_ns as f64 / 1e6;
        (edge_ms > CLOCK_MS_MAX).then(|| format!("its interval may lie {edge_ms:.1} ms off the others'"))
    });
    let divided = of("divided-queue", &|part| divided_queue(&part.own).filter(|_| is_open && parts.len() > 1));
    [bound, uneven, clock, divided].into_iter().flatten().collect()
}

/// Why this worker may have been the limit.
fn limit(part: &Part) -> Option<String> {
    let own = &part.own;
    let near = part.ceiling.map(|ceiling| own.qps / ceiling).filter(|share| *share > null_server::SHARE_MAX);
    if let Some(share) = near {
        return Some(format!("{:.0} % of the statements that it can send at most", share * 100.0));
    }
    let busiest = own.thread_cpu_ns.iter().max().map_or(0.0, |ns| *ns as f64 / own.interval_ns.max(1) as f64);
    if busiest > THREAD_CPU_MAX {
        return Some(format!("a thread used {:.0} % of its core", busiest * 100.0));
    }
    let late_ms = own.lateness_ms_p99.unwrap_or(0.0);
    let is_late = late_ms > LATENESS_MS_MAX.max(LATENESS_OF_MEDIAN_MAX * own.latency_ms_p50);
    is_late.then(|| format!("1 % of its transactions were sent {late_ms:.1} ms late or later"))
}

fn uneven(part: &Part, all: &Tally) -> Option<String> {
    let share = part.own.committed as f64 / all.committed.max(1) as f64;
    let due = f64::from(part.own.clients) / f64::from(all.clients.max(1));
    let is_uneven = (share / due - 1.0).abs() > UNEVEN;
    is_uneven.then(|| format!("{:.0} % of the transactions with {:.0} % of the clients", share * 100.0, due * 100.0))
}

/// An idle client of one worker cannot take what waits at another.
fn divided_queue(own: &Own) -> Option<String> {
    let clients = f64::from(own.clients.max(1));
    let busy = own.in_flight_ns as f64 / (own.interval_ns.max(1) as f64 * clients);
    let enough = (clients * busy / BUSY_MAX).ceil();
    (busy > BUSY_MAX).then(|| {
        format!(
            "{:.0} % of its {clients} clients were busy; with {enough} or more, dividing them adds little waiting",
            busy * 100.0
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Histogram;

    /// What one worker measured.
    fn tally(latencies_ns: &[u64], clients: u32) -> Tally {
        let mut response = Histogram::default();
        latencies_ns.iter().for_each(|ns| response.record(*ns));
        let count = latencies_ns.len() as u64;
        Tally { due: count, committed: count, clients, response, interval_ns: 1_000_000_000, ..Tally::default() }
    }

    fn hello(place: u32) -> Hello {
        Hello { place: Some(place), host: format!("n{}", place + 1), ..Hello::default() }
    }

    fn merged(tallies: &[Tally]) -> Tally {
        let mut sum = Tally::default();
        tallies.iter().for_each(|one| sum.add(one));
        sum
    }

    fn part(hello: &Hello, tally: Tally) -> Part<'_> {
        Part { hello, cpus: 1, own: Own::of(&tally), ceiling: None, offset_ns: 0, edge_ns: 40_000 }
    }

    #[test]
    fn merged_histograms_are_those_of_the_pooled_values_after_the_wire_too() {
        for count in [125_u64, 1_250, 12_500] {
            // Quick and slow workers, so that a mean of quantiles would be wrong.
            let own = |worker: u64| {
                (0..count).map(|n| (n * 7_919 + 1_000) * (1 + worker * worker) % 90_000_000 + 900).collect::<Vec<u64>>()
            };
            let values: Vec<Vec<u64>> = (0..4).map(own).collect();
            let travelled = |values: &Vec<u64>| {
                let text = serde_json::to_string(&tally(values, 4)).unwrap();
                serde_json::from_str::<Tally>(&text).unwrap()
            };
            let parts: Vec<Tally> = values.iter().map(travelled).collect();
            let merged = merged(&parts);
            let pooled = tally(&values.concat(), 16);
            assert!(merged.response.latencies_ms() == pooled.response.latencies_ms(), "bucket by bucket");
            let exact = |one: &Tally| {
                (one.response.sum_ms(), one.response.min_ms(), one.response.max_ms(), one.response.out_of_range)
            };
            assert_eq!(exact(&merged), exact(&pooled));
            let mut sorted = values.concat();
            sorted.sort_unstable();
            for quantile in [0.5, 0.95, 0.99, 0.999] {
                let raw_ms = sorted[((sorted.len() as f64 * quantile).ceil() as usize).max(1) - 1] as f64 / 1e6;
                assert!((merged.response.quantile_ms(quantile) / raw_ms - 1.0).abs() < 0.001, "{quantile}");
            }
            assert_eq!((merged.clients, merged.committed), (16, 4 * count));
        }
    }

    #[test]
    fn a_tally_that_does_not_add_up_or_is_of_another_interval_is_none() {
        let good = Own::of(&tally(&[1_000_000; 10], 1));
        assert_eq!(wrong(&good, 1_000_900_000), None);
        assert!(
            wrong(&good, 1_002_000_000).unwrap().contains("1.0 ms")
                || wrong(&good, 1_002_000_000).unwrap().contains("2.0 ms")
        );
        assert!(wrong(&Own { failed: 1, ..good }, 1_000_000_000).unwrap().contains("10 transactions due and 11 ended"));
    }

    #[test]
    fn what_weakens_a_trial_names_its_worker() {
        let hellos = [hello(0), hello(1)];
        let tallies = [tally(&[1_000_000; 90], 1), tally(&[1_000_000; 10], 1)];
        let all = merged(&tallies);
        let [first, second] = tallies;
        let parts = [part(&hellos[0], first), part(&hellos[1], second)];
        let found = remarks(&parts, &all, false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].1, "worker 1 on n1: 90 % of the transactions with 50 % of the clients");
        let busy = Tally { in_flight_ns: 800_000_000, ..tally(&[1_000_000; 50], 1) };
        let parts = [part(&hellos[0], busy.clone()), part(&hellos[1], busy)];
        let found = remarks(&parts, &all, true);
        assert!(found[0].1.contains("80 % of its 1 clients were busy; with 2 or more"), "{found:?}");
        let slow_clock = [Part { edge_ns: 10_400_000, ..part(&hellos[1], tally(&[1_000_000; 50], 1)) }];
        assert_eq!(remarks(&slow_clock, &all, true)[0].0, "clock");
        let near =
            [Part { ceiling: Some(60.0), ..part(&hellos[0], Tally { reads: 50, ..tally(&[1_000_000; 50], 1) }) }];
        assert_eq!(remarks(&near, &all, true)[0].0, "generator-bound");
    }
}
