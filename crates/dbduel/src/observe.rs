//! What we watch meanwhile: the host and the server, between the two edges of a measured interval.
//!
//! An observer is read at the beginning and at the end; it never acts. Flags depend on the host
//! alone and never on a result, so a trial that carries one may be repeated without bias. What
//! cannot be seen here leaves no reading, never a zero.

mod host;
mod server_counters;
mod server_cpu;

use std::collections::BTreeMap;

use load::Gauge;

use crate::engine::Monitor;

pub use host::foreign_cpu;
pub use server_counters::{CHECKPOINT_CYCLE, at_begin};

/// Every observer there is, in the order `dbduel list observers` shows them.
/// The first begins first and ends last: what it does at the edges, the others do not see.
pub static OBSERVERS: &[ObserverKind] = &[
    ObserverKind {
        name: "server_counters",
        description: "what the server counts about itself, and its state at both edges",
        example: "metrics counter.innodb.redo_bytes, state.dirty_share_end",
        build: || Box::<server_counters::ServerCounters>::default(),
    },
    ObserverKind {
        name: "server_cpu",
        description: "CPU time of the server's processes, per transaction and by user and system",
        example: "metric cpu_us_per_tx",
        build: || Box::<server_cpu::ServerCpu>::default(),
    },
    ObserverKind {
        name: "host",
        description: "CPU that others took: steal by the hypervisor, and processes that are not the duel's",
        example: "flags steal, foreign-cpu",
        build: || Box::<host::Host>::default(),
    },
];

/// What flags a trial, by flag: a share above it, or a count. Blind to every result, and part of the
/// plan, so that nobody moves one afterwards (method, section 1, "Host noise record, flags, repeats").
pub const THRESHOLDS: &[(&str, f64)] =
    &[(STEAL, 0.01), (FOREIGN_CPU, 0.02), ("foreign-disk", 0.05), ("frequency", 0.03)];

const STEAL: &str = "steal";
const FOREIGN_CPU: &str = "foreign-cpu";

/// The threshold of a flag.
fn threshold(flag: &str) -> f64 {
    let found = THRESHOLDS.iter().find(|(name, _)| *name == flag);
    found.expect("every flag that is raised has its threshold").1
}

/// An observer before it has anything to look at.
pub struct ObserverKind {
    pub name: &'static str,
    pub description: &'static str,
    /// What it leaves in a trial's record.
    pub example: &'static str,
    pub build: fn() -> Box<dyn Observer>,
}

/// Watches one measured interval.
pub trait Observer {
    fn begin(&mut self, subject: &Subject);
    fn end(&mut self, subject: &Subject) -> Readings;
}

/// What is being measured.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The server's process; none when it lives inside dbduel.
    pub server_pid: Option<u32>,
    /// The server runs on this host, but not below dbduel: its work looks like anybody's.
    pub among_others: bool,
    /// Where the server can be asked; none before a load, and where asking would hinder it.
    pub monitor: Option<Monitor>,
}

/// The server's CPU time, for whoever measures operations one by one; none where no process can be seen.
pub fn server_gauge(subject: &Subject) -> Option<Gauge> {
    let pid = subject.server_pid?;
    Some(Gauge::new(move || server_cpu::tree_ns(pid)))
}

/// What an observer saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    /// Named with their unit.
    pub values: BTreeMap<String, f64>,
    pub flags: Vec<String>,
}

/// All observers, at work for one trial after the other.
pub struct Observers {
    all: Vec<Box<dyn Observer>>,
}

impl Observers {
    pub fn new() -> Observers {
        Observers { all: OBSERVERS.iter().map(|kind| (kind.build)()).collect() }
    }

    pub fn begin(&mut self, subject: &Subject) {
        self.all.iter_mut().for_each(|observer| observer.begin(subject));
    }

    pub fn end(&mut self, subject: &Subject) -> Readings {
        let mut all = Readings::default();
        for seen in self.all.iter_mut().rev().map(|observer| observer.end(subject)) {
            all.values.extend(seen.values);
            all.flags.extend(seen.flags);
        }
        all
    }
}
