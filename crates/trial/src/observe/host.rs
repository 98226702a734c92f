//! What the host did beside the duel, and when that is too much.
//!
//! Flags depend on the host alone and never on a result: a trial that carries one may be repeated
//! without bias.

use std::collections::BTreeMap;

use nix::time::{ClockId, clock_gettime};

use super::other_processes::Scan;
use super::sample::{Sample, Source};
use super::{Observer, Readings, Subject, exceeds, machine};

/// Which metric raises which flag.
pub const FLAGGED: &[(&str, &str)] = &[
    ("host_steal_share", "steal"),
    ("host_foreign_cpu_share", "foreign-cpu"),
    ("host_foreign_disk_share", "foreign-disk"),
    ("host_swapped_pages", "swap"),
    ("host_oom_kills", "oom"),
    ("host_throttled_periods", "throttle"),
    ("host_thermal_throttles", "throttle"),
    ("host_clock_step_s", "clock-step"),
];

/// Raised by a trial beside the others of its run.
pub const FREQUENCY: &str = "frequency";

#[derive(Default)]
pub struct Host {
    /// Opened at the first trial.
    sources: Option<Vec<Box<dyn Source>>>,
    before: Option<Edge>,
}

struct Edge {
    sample: Sample,
    scan: Option<Scan>,
    /// Wall clock over monotonic clock: it changes only when the time is set.
    clock_offset_s: Option<f64>,
}

impl Observer for Host {
    fn begin(&mut self, _: &Subject) {
        let sources = self.sources.get_or_insert_with(machine::open_all);
        // The scan takes longest; what is exact is read nearest to the interval, here and at its end.
        let scan = Scan::take();
        self.before = Some(Edge { clock_offset_s: clock_offset_s(), sample: Sample::at(sources), scan });
    }

    fn sources(&self, _: &Subject) -> Vec<Box<dyn Source>> {
        machine::open_all()
    }

    fn end(&mut self, subject: &Subject) -> Readings {
        let (Some(before), Some(sources)) = (self.before.take(), &mut self.sources) else { return Readings::default() };
        let after = Edge { sample: Sample::at(sources), clock_offset_s: clock_offset_s(), scan: Scan::take() };
        let mut values = after.sample.since(&before.sample);
        if let (Some(after), Some(before)) = (after.clock_offset_s, before.clock_offset_s) {
            values.insert("host_clock_step_s".to_owned(), (after - before).abs());
        }
        // Its work would count as that of others.
        let hides = subject.among_others && subject.server_pid.is_none();
        if let (false, Some(after), Some(before)) = (hides, &after.scan, &before.scan) {
            let taken = after.since(before, subject.server_pid);
            values.insert("host_foreign_cpu_share".to_owned(), taken.share);
            if let (Some(share), Some(busy)) = (taken.disk_bytes_share, busiest_disk(&values)) {
                values.insert("host_foreign_disk_share".to_owned(), share * busy);
            }
        }
        Readings { flags: flags(&values), values, ..Readings::default() }
    }
}

/// Share of the time in which the busiest disk was busy.
fn busiest_disk(values: &BTreeMap<String, f64>) -> Option<f64> {
    let busy = values.iter().filter(|(name, _)| name.starts_with("host_disk.") && name.ends_with(".busy_share"));
    busy.map(|(_, share)| *share).max_by(f64::total_cmp)
}

/// Of this host, and of the server's own where that one is observed.
pub fn flags(values: &BTreeMap<String, f64>) -> Vec<String> {
    let is_above = |metric: &str, flag: &str| values.get(metric).is_some_and(|value| exceeds(flag, *value));
    let is_raised = |(metric, flag): &&(&str, &str)| {
        is_above(metric, flag) || is_above(&format!("{}{metric}", record::metric::OF_SERVER), flag)
    };
    let mut flags: Vec<String> = FLAGGED.iter().filter(is_raised).map(|(_, flag)| (*flag).to_owned()).collect();
    flags.dedup();
    flags
}

fn clock_offset_s() -> Option<f64> {
    let seconds = |clock| clock_gettime(clock).ok().map(|time| time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9);
    Some(seconds(ClockId::CLOCK_REALTIME)? - seconds(ClockId::CLOCK_MONOTONIC)?)
}

/// Whether the last of these mean frequencies, one for each trial of a run in the order of their records, lies off
/// the median of all.
pub fn frequency_is_off(mhz: &[f64]) -> bool {
    let mut sorted = mhz.to_vec();
    sorted.sort_by(f64::total_cmp);
    mhz.last().is_some_and(|last| {
        let median = (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0;
        exceeds(FREQUENCY, (last / median - 1.0).abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(metric: &str, value: f64, expected: &[&str]) {
        assert_eq!(flags(&BTreeMap::from([(metric.to_owned(), value)])), expected, "{metric} {value}");
    }

    #[test]
    fn flags_are_raised_above_their_thresholds_only() {
        check("host_steal_share", 0.01, &[]);
        check("host_steal_share", 0.011, &["steal"]);
        check("host_foreign_cpu_share", 0.021, &["foreign-cpu"]);
        check("host_foreign_disk_share", 0.049, &[]);
        check("host_foreign_disk_share", 0.051, &["foreign-disk"]);
        check("host_swapped_pages", 0.0, &[]);
        check("host_swapped_pages", 1.0, &["swap"]);
        check("host_oom_kills", 1.0, &["oom"]);
        check("host_throttled_periods", 1.0, &["throttle"]);
        check("host_thermal_throttles", 2.0, &["throttle"]);
        check("host_clock_step_s", 0.04, &[]);
        check("host_clock_step_s", 0.06, &["clock-step"]);
        check("host_iowait_share", 0.9, &[]);
        check("server_host_steal_share", 0.011, &["steal"]);
    }

    #[test]
    fn every_flag_has_a_threshold() {
        let has_threshold = |flag: &str| super::super::THRESHOLDS.iter().any(|(known, _)| *known == flag);
        assert!(FLAGGED.iter().all(|(_, flag)| has_threshold(flag)) && has_threshold(FREQUENCY));
    }

    #[test]
    fn a_frequency_is_held_against_the_median_of_the_run() {
        let mhz = [3000.0, 3010.0, 2990.0, 2800.0, 3050.0];
        let off: Vec<bool> = (0..=mhz.len()).map(|trials| frequency_is_off(&mhz[..trials])).collect();
        assert_eq!(off, [false, false, false, false, true, false]);
    }

    #[test]
    fn two_edges_on_this_machine_leave_shares_that_a_host_can_have() {
        let subject = Subject::default();
        let mut host = Host::default();
        host.begin(&subject);
        // Ticks of the CPUs pass at a hundred a second.
        std::thread::sleep(std::time::Duration::from_millis(50));
        let seen = host.end(&subject).values;
        let shares: Vec<_> = seen.iter().filter(|(name, _)| name.ends_with("_share")).collect();
        assert!(shares.iter().all(|(_, share)| **share >= 0.0), "{seen:?}");
        // Disks and pressure count in steps of their own, which stand out in so short a time; CPUs do not.
        let of_cpus = |name: &str| ["user", "system", "iowait", "irq", "softirq", "steal"].contains(&name);
        let state = |name: &str| name.strip_prefix("host_")?.strip_suffix("_share").map(of_cpus);
        let used: f64 = shares.iter().filter(|(name, _)| state(name) == Some(true)).map(|(_, share)| **share).sum();
        assert!(used <= 1.0 + 1e-9, "{seen:?}");
        assert!(seen.contains_key("host_user_share") && seen.contains_key("host_foreign_cpu_share"), "{seen:?}");
        assert!(seen["host_clock_step_s"] < 0.05, "{seen:?}");
        let mut observer = Host::default();
        let among_others = Subject { among_others: true, ..subject };
        observer.begin(&among_others);
        assert!(!observer.end(&among_others).values.contains_key("host_foreign_cpu_share"));
    }
}
