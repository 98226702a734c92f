//! Observation of the host and the server, at both edges of a measured interval and in each of
//! its seconds.
//!
//! An observer only reads; it never acts. Flags depend on the host alone and never on a result, so a
//! trial that carries one may be repeated without bias. What cannot be seen here leaves no reading,
//! never a zero.

pub mod cost;
mod hardware_counters;
mod host;
mod machine;
mod observer;
mod other_processes;
mod profiler;
mod sample;
mod sampler;
mod server_counters;
mod server_cpu;
mod server_processes;
mod server_samples;

use observer::exceeds;
pub use observer::{MHZ, Observer, Readings, Subject, THRESHOLDS};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use load::Gauge;

use self::other_processes::Scan;
use self::sample::Source;
use self::sampler::Sampler;
use record::format::TrialRecord;

pub use other_processes::{Taken, foreign_cpu};
pub use profiler::{Diagnosed, Diagnosing, HZ, Profile, Waited};
pub use server_counters::{CHECKPOINT_CYCLE, at_begin};

/// Every observer there is, in the order `dbduel list observers` shows them. The first are read nearest to
/// the interval: what the last do at its edges is outside of what the others count.
pub static OBSERVERS: &[ObserverKind] = &[
    ObserverKind {
        name: "server_cpu",
        description: "CPU time of the server's processes, per transaction and by user and system",
        example: "metric cpu_us_per_tx",
        build: || Box::<server_cpu::ServerCpu>::default(),
    },
    ObserverKind {
        name: "host",
        description: "the whole machine: CPU by state, pressure, disks, network, swapping, throttling, and what processes that are not the duel's took",
        example: "flags steal, foreign-cpu, foreign-disk; column host_iowait_share of observed.csv",
        build: || Box::<host::Host>::default(),
    },
    ObserverKind {
        name: "server_processes",
        description: "the server's processes: context switches (absent where threads ended that had a tenth of the CPU time), page faults, bytes and system calls, memory, threads by state",
        example: "metric ctx_voluntary_per_tx; column server_threads_running of observed.csv",
        build: || Box::<server_processes::ServerTree>::default(),
    },
    ObserverKind {
        name: "server_counters",
        description: "what the server counts about itself, and its state: at both edges, and some of it in each second (not of SQLite); what asking takes is observer_sql_ms_per_s",
        example: "metrics counter.innodb.redo_bytes, state.dirty_share_end; column state.checkpoint_age_share of observed.csv",
        build: || Box::<server_counters::ServerCounters>::default(),
    },
];

/// The flags of the host that a trial's metrics raise, beside those of the trials before it in the records.
pub fn flags_of_host(earlier: &[TrialRecord], trial: &TrialRecord) -> Vec<String> {
    host::flags(&trial.metrics).into_iter().chain(frequency_flag(earlier, trial)).collect()
}

/// The flags that values of a host raise, this one's or that of the server.
pub fn flags_of(values: &BTreeMap<String, f64>) -> Vec<String> {
    host::flags(values)
}

/// The one that no observer can raise alone: whether a frequency is off, the run's other trials show.
pub fn frequency_flag(earlier: &[TrialRecord], trial: &TrialRecord) -> Option<String> {
    let mhz_of = |trial: &TrialRecord| trial.metrics.get(MHZ).copied();
    let own = mhz_of(trial)?;
    let mhz: Vec<f64> = earlier.iter().filter_map(mhz_of).chain([own]).collect();
    host::frequency_is_off(&mhz).then(|| host::FREQUENCY.to_owned())
}

/// Is it one of those flags?
pub fn is_flag_of_host(flag: &str) -> bool {
    flag == host::FREQUENCY || host::FLAGGED.iter().any(|(_, known)| *known == flag)
}

/// How often the CPU quota of this process ran out so far; none where it has no quota.
pub fn throttled_periods() -> Option<f64> {
    machine::throttled_periods()
}

/// What the first trial of a run is taken to need, before it is known.
const FIRST_LEAD: Duration = Duration::from_millis(20);

/// Idle times shorter than this mean nothing: the kernel counts CPU time in hundredths of a second.
const IDLE_MIN: Duration = Duration::from_millis(500);

/// What would be observed and cannot be seen here, by name.
pub fn not_visible() -> Vec<String> {
    let sources = machine::SOURCES.iter().filter(|kind| (kind.open)().is_none()).map(|kind| kind.name);
    let hardware = (!hardware_counters::counters_are_visible()).then_some("hardware counters");
    let others = (!other_processes::disk_bytes_are_visible()).then_some("disk traffic of some other processes");
    sources.chain(hardware).chain(others).map(str::to_owned).collect()
}

/// An observer before it has anything to read.
pub struct ObserverKind {
    pub name: &'static str,
    pub description: &'static str,
    /// What it leaves in a trial's record.
    pub example: &'static str,
    pub build: fn() -> Box<dyn Observer>,
}

/// The server's CPU time, for operations that are measured one by one; none where no process can be seen.
pub fn server_gauge(subject: &Subject) -> Option<Gauge> {
    let pid = subject.server_pid?;
    Some(Gauge::new(move || server_cpu::tree_ns(pid)).and_moved(move || server_processes::moved(pid)))
}

/// All observers, at work for one trial of a run after the other.
pub struct Observers {
    all: Vec<Box<dyn Observer>>,
    sampler: Option<Sampler>,
    /// What the host did in the idle time before the trial.
    idle: BTreeMap<String, f64>,
    /// How long it took to read all that there is at the beginning of the last interval.
    took: Duration,
}

impl Default for Observers {
    /// All that are listed.
    fn default() -> Observers {
        Observers::with(None)
    }
}

impl Observers {
    /// All that are listed, and one that reads nearest to the interval.
    pub fn with(nearest: Option<Box<dyn Observer>>) -> Observers {
        let listed = OBSERVERS.iter().map(|kind| (kind.build)());
        Observers::of(nearest.into_iter().chain(listed).collect())
    }

    /// These, for a trial that is profiled.
    pub fn of(all: Vec<Box<dyn Observer>>) -> Observers {
        Observers { all, sampler: None, idle: BTreeMap::new(), took: FIRST_LEAD }
    }

    /// Spends the plan's idle time before a trial with watching what the host does when we do nothing.
    pub fn idle(&mut self, gap: Duration) {
        let before = (gap >= IDLE_MIN).then(Scan::take).flatten();
        std::thread::sleep(gap);
        self.idle =
            before.and_then(|before| Some(idle_values(&Scan::take()?.since(&before, None)))).unwrap_or_default();
    }

    /// How long before an interval whose time is set they should begin, so that they are ready when it does.
    pub fn lead(&self) -> Duration {
        self.took
    }

    /// The interval begins when this returns.
    pub fn begin(&mut self, subject: &Subject) {
        let begun = Instant::now();
        self.all.iter_mut().rev().for_each(|observer| observer.begin(subject));
        self.start_sampler(self.sources(subject));
        self.took = begun.elapsed();
    }

    /// What the thread reads.
    pub fn sources(&self, subject: &Subject) -> Vec<Box<dyn Source>> {
        self.all.iter().flat_map(|observer| observer.sources(subject)).collect()
    }

    /// Starts only the thread, without a sample at the edge.
    pub fn start_sampler(&mut self, sources: Vec<Box<dyn Source>>) {
        self.sampler = Sampler::begin(sources);
    }

    /// The interval ends when this is called.
    pub fn end(&mut self, subject: &Subject) -> Readings {
        self.sampler.iter().for_each(Sampler::stop);
        let mut all = Readings::default();
        for seen in self.all.iter_mut().map(|observer| observer.end(subject)) {
            all.values.extend(seen.values);
            // Both hosts may raise the same.
            all.flags.extend(seen.flags.into_iter().filter(|flag| !all.flags.contains(flag)).collect::<Vec<_>>());
            all.seconds = all.seconds.with_columns_of(seen.seconds);
        }
        let idle = std::mem::take(&mut self.idle);
        // A server that runs between trials makes idle time look busy.
        all.values.extend(idle.into_iter().filter(|_| !subject.among_others));
        self.add_seconds(&mut all);
        all
    }

    /// Ends the thread without a sample at the edge, and returns what it cost.
    pub fn end_sampler(&mut self) -> Option<f64> {
        self.sampler.take().map(|sampler| sampler.end().cpu_us_per_s)
    }

    fn add_seconds(&mut self, readings: &mut Readings) {
        let Some(sampled) = self.sampler.take().map(Sampler::end) else { return };
        readings.values.extend(sampled.levels);
        readings.values.insert("observer_cpu_us_per_s".to_owned(), sampled.cpu_us_per_s);
        readings.seconds = sampled.seconds.with_columns_of(std::mem::take(&mut readings.seconds));
    }
}

fn idle_values(taken: &Taken) -> BTreeMap<String, f64> {
    let bytes = taken.disk_bytes_share.map(|share| ("idle_foreign_disk_bytes_share".to_owned(), share));
    BTreeMap::from_iter([("idle_foreign_cpu_share".to_owned(), taken.share)].into_iter().chain(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_that_observers_raise_is_known_as_one_of_the_host() {
        assert_eq!(THRESHOLDS.iter().map(|(flag, _)| *flag).collect::<Vec<_>>(), record::metric::HOST_FLAGS);
    }
}
