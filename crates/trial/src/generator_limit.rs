//! Whether the load generator was the limit of a trial, instead of the server (method, section 4).
//!
//! It has no values where the engine is embedded: the generator's threads are the engine's own then.

use std::time::Duration;

use load::Tally;

use super::trial::Trial;
use super::{network_path, null_server};
use crate::observe::Readings;

/// The flag of a trial whose limit was the generator.
pub const BOUND: &str = "generator-bound";
/// A closed loop that had a statement under way for less of the time was held back by its generator.
const OCCUPANCY_MIN: f64 = 0.90;
/// A load thread that used more of its core had no room left.
const THREAD_CPU_MAX: f64 = 0.85;
/// Of all its cores together, where they are its own.
const CORES_CPU_MAX: f64 = 0.70;
/// A load thread that waited longer for its core had to share it.
const RUN_QUEUE_MAX: f64 = 0.05;
/// Where client and server share all cores, waiting for one is no flaw as long as all are busy: two fifths of the
/// interval were seen, and less where a server stalls now and then and leaves all of them free. A thread that
/// waited for more than half of it, while so much of the machine was free, was kept from what was free.
const WAITED_BESIDE_FREE_CORES_MAX: f64 = 0.50;
const FREE_CORES_MIN: f64 = 0.10;
/// The 99th percentile of how late arrivals are sent may be so much, or so much of the median response time.
const LATENESS_MS_MAX: f64 = 1.0;
const LATENESS_OF_MEDIAN_MAX: f64 = 0.10;
/// Of some dozen arrivals the 99th percentile is the latest one, which any host may hold up once. So few say nothing, unless
/// what they add to the response times weighs.
const LATE_FEW: u64 = 2;
const LATE_OF_RESPONSE_MAX: f64 = 0.05;
/// Shares of the machine's CPU time in which a core was busy.
const BUSY: [&str; 5] =
    ["host_user_share", "host_system_share", "host_irq_share", "host_softirq_share", "host_steal_share"];

pub fn is_the_limit(tally: &Tally, readings: &Readings, trial: &Trial) -> bool {
    // A pass works between its statements too: only its thread's CPU returns whether the generator was the limit.
    // Clients of an open loop wait for the next arrival.
    let rests = trial.workload.spec().rests.is_some() || trial.workload.is_one_pass() || trial.rate.is_some();
    let is_near_ceiling = trial.limits.ceiling.is_some_and(|ceiling| tally.qps() > null_server::SHARE_MAX * ceiling);
    // What is free elsewhere is not kept from a generator that shares one side of a duet with its server.
    let is_one_side = !trial.client_cpus.cpus.is_empty() && trial.client_cpus.own_cores() == 0;
    let is_confined = !is_one_side && free_cores(readings).is_some_and(|free| waits_beside(tally, free));
    let is_near_ceiling = is_near_ceiling || network_path::limit(tally, trial.limits.path).is_some();
    is_near_ceiling || is_confined || is_late(tally) || is_held_back(tally, rests, trial.client_cpus.own_cores())
}

/// A generator that wakes so late has been stopped, or was kept from every CPU.
const LATE_MS_MAX: u64 = 250;

/// Why a trial is the generator's, whatever its share of the CPUs: it was stopped, its own quota held it back, or
/// its memory was on disk. An engine that lives inside the generator was held back with it.
pub fn held_up(tally: &Tally, throttled_periods: f64) -> Option<String> {
    let late_ms = tally.woken_late_ns / 1_000_000;
    let reasons = [
        (late_ms > LATE_MS_MAX).then(|| format!("dbduel was stopped, or had no CPU, for {late_ms} ms")),
        (throttled_periods > 0.0)
            .then(|| format!("the CPU quota of dbduel's own control group ran out in {throttled_periods:.0} periods")),
        (tally.paged_in > 0).then(|| format!("dbduel waited for {} of its own pages from swap", tally.paged_in)),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Whether arrivals that a free client was waiting for were sent late. In a closed loop there are none.
fn is_late(tally: &Tally) -> bool {
    if tally.lateness.count() == 0 {
        return false;
    }
    let limit_ms = LATENESS_MS_MAX.max(LATENESS_OF_MEDIAN_MAX * tally.response.quantile_ms(0.5));
    let late = tally.lateness.count_above(Duration::from_secs_f64(limit_ms / 1e3));
    let weighs = late as f64 * tally.lateness.max_ms() > LATE_OF_RESPONSE_MAX * tally.response.sum_ms();
    tally.lateness.quantile_ms(0.99) > limit_ms && (late > LATE_FEW || weighs)
}

/// The part of the machine that was idle; nothing where the host's states cannot be seen.
fn free_cores(readings: &Readings) -> Option<f64> {
    let seen = BUSY.iter().filter_map(|name| readings.values.get(*name));
    readings.values.contains_key(BUSY[0]).then(|| 1.0 - seen.sum::<f64>())
}

fn waits_beside(tally: &Tally, free: f64) -> bool {
    let waited_ns = tally.worker_wait_ns.iter().max().copied().unwrap_or(0) as f64;
    waited_ns / tally.interval_ns.max(1) as f64 > WAITED_BESIDE_FREE_CORES_MAX && free > FREE_CORES_MIN
}

/// `own_cores` is 0 where client and server share all cores. There the generator waits for a core whenever
/// the server is quick, which is the point of the trial and not its flaw.
fn is_held_back(tally: &Tally, rests: bool, own_cores: usize) -> bool {
    let interval_ns = tally.interval_ns.max(1) as f64;
    let share = |ns: Option<&u64>| ns.map_or(0.0, |ns| *ns as f64 / interval_ns);
    let is_short_of_cores = own_cores > 0
        && (cores_used(tally) / own_cores as f64 > CORES_CPU_MAX
            || share(tally.worker_wait_ns.iter().max()) > RUN_QUEUE_MAX);
    let is_idle = !rests && tally.occupancy() < OCCUPANCY_MIN;
    is_idle || is_short_of_cores || share(tally.worker_cpu_ns.iter().max()) > THREAD_CPU_MAX
}

fn cores_used(tally: &Tally) -> f64 {
    tally.worker_cpu_ns.iter().sum::<u64>() as f64 / tally.interval_ns.max(1) as f64
}

/// How much of the machine the generator used, and how long its worst-off thread waited for a core, as a
/// share of the interval; the latter only where the kernel shows it.
pub fn metrics(tally: &Tally) -> Vec<(String, f64)> {
    let waited_ns = tally.worker_wait_ns.iter().max();
    let waited = waited_ns.map(|ns| ("client_run_queue_share", *ns as f64 / tally.interval_ns.max(1) as f64));
    let used = ("client_cores_used", cores_used(tally));
    waited.into_iter().chain([used]).chain(lateness(tally)).map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Of an open loop, and of a replay by due times: how late the generator sent what a free client was waiting for.
pub fn lateness(tally: &Tally) -> Option<(&'static str, f64)> {
    (tally.lateness.count() > 0).then(|| ("client_lateness_ms_p99", tally.lateness.quantile_ms(0.99)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    /// Ten clients with a statement under way all the time.
    fn busy(cpu_percent: [u64; 2], wait_percent: [u64; 2]) -> Tally {
        Tally {
            clients: 10,
            interval_ns: SECOND,
            in_flight_ns: 10 * SECOND,
            worker_cpu_ns: cpu_percent.map(|percent| percent * SECOND / 100).into(),
            worker_wait_ns: wait_percent.map(|percent| percent * SECOND / 100).into(),
            ..Tally::default()
        }
    }

    #[test]
    fn arrivals_that_are_sent_late_are_the_generators_fault_and_those_that_queue_are_not() {
        let is_flagged = |late_us: u64, response_ms: u64| {
            let mut tally = busy([10, 10], [0, 0]);
            (0..100).for_each(|_| tally.lateness.record(late_us * 1000));
            (0..100).for_each(|_| tally.response.record(response_ms * 1_000_000));
            is_late(&tally)
        };
        assert!(!is_flagged(900, 1) && is_flagged(1_100, 1), "a millisecond is allowed");
        assert!(!is_flagged(4_000, 50) && is_flagged(6_000, 50), "and a tenth of the median");
        let with_two_late = |late_ms: u64, response_ms: u64| {
            let mut tally = busy([10, 10], [0, 0]);
            (0..48).for_each(|_| tally.lateness.record(100_000));
            (0..2).for_each(|_| tally.lateness.record(late_ms * 1_000_000));
            (0..50).for_each(|_| tally.response.record(response_ms * 1_000_000));
            is_late(&tally)
        };
        assert!(!with_two_late(2, 4), "two of fifty, and 4 ms of 200");
        assert!(with_two_late(20, 4), "and 40 ms of 200");
        let closed = busy([10, 10], [0, 0]);
        assert!(!is_late(&closed) && !metrics(&closed).iter().any(|(name, _)| name.contains("lateness")));
    }

    #[test]
    fn a_generator_that_was_held_up_is_the_limit_whatever_it_used() {
        let check = |late_ms: u64, periods: f64, paged_in: u64, expected: &[&str]| {
            let tally = Tally { woken_late_ns: late_ms * 1_000_000, paged_in, ..busy([1, 1], [0, 0]) };
            let why = held_up(&tally, periods).unwrap_or_default();
            assert!(expected.iter().all(|part| why.contains(part)) && why.is_empty() == expected.is_empty(), "{why}");
        };
        check(250, 0.0, 0, &[]);
        check(251, 0.0, 0, &["for 251 ms"]);
        check(0, 3.0, 0, &["ran out in 3 periods"]);
        check(900, 1.0, 7, &["for 900 ms", "1 periods", "7 of its own pages"]);
    }

    #[test]
    fn clients_that_rest_are_no_sign_of_a_slow_generator() {
        let idle = Tally { in_flight_ns: SECOND, ..busy([1, 1], [0, 0]) };
        assert!(is_held_back(&idle, false, 0) && !is_held_back(&idle, true, 0));
        assert!(is_held_back(&busy([90, 1], [0, 0]), true, 0), "a thread without room is one for all");
    }

    #[test]
    fn a_generator_with_cores_of_its_own_may_neither_fill_them_nor_wait_for_them() {
        for (cpu, wait, own_cores, expected) in [
            ([60, 60], [1, 1], 2, false),
            ([80, 70], [1, 1], 2, true),
            ([80, 70], [1, 1], 0, false),
            ([60, 60], [1, 8], 2, true),
            ([60, 60], [1, 8], 0, false),
        ] {
            assert_eq!(is_held_back(&busy(cpu, wait), false, own_cores), expected, "{cpu:?} {wait:?} {own_cores}");
        }
    }

    #[test]
    fn a_generator_that_waits_while_cores_are_free_is_confined() {
        // The third is InnoDB with a small log: it fills the cores, and stops to flush.
        for (wait, free, expected) in [(90, 0.3, true), (90, 0.05, false), (25, 0.17, false), (10, 0.5, false)] {
            assert_eq!(waits_beside(&busy([10, 10], [1, wait]), free), expected, "{wait} {free}");
        }
        let values = [("host_user_share", 0.5), ("host_system_share", 0.2), ("host_iowait_share", 0.2)];
        let values = values.map(|(name, value)| (name.to_owned(), value)).into();
        let free = free_cores(&Readings { values, ..Readings::default() });
        assert!((free.unwrap() - 0.3).abs() < 1e-9, "a core that waits for a disk is free");
        assert_eq!(free_cores(&Readings::default()), None);
    }

    #[test]
    fn a_wait_that_the_kernel_does_not_count_is_not_zero() {
        let is_flagged = metrics(&busy([50, 25], [2, 4]));
        assert_eq!(is_flagged, [("client_run_queue_share".to_owned(), 0.04), ("client_cores_used".to_owned(), 0.75)]);
        let unseen = Tally { worker_wait_ns: Vec::new(), ..busy([50, 25], [0, 0]) };
        assert_eq!(metrics(&unseen), [("client_cores_used".to_owned(), 0.75)]);
    }
}
