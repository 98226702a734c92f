//! What an observer is: how it begins and ends, what it watches, and what it reads.

use super::sample::Source;
use engine::{Listening, Monitor};
use record::format::Series;
use std::collections::BTreeMap;

/// Above these a trial is flagged (method, section 1). Shares are of CPU time (steal, foreign CPU), of the
/// interval (disks busy for others) and of the run's median (frequency); a clock step is in seconds; of
/// swapped pages, processes killed for memory and throttled periods a single one is too many.
pub const THRESHOLDS: &[(&str, f64)] = &[
    ("steal", 0.01),
    ("foreign-cpu", 0.02),
    ("foreign-disk", 0.05),
    ("frequency", 0.03),
    ("swap", 0.0),
    ("oom", 0.0),
    ("throttle", 0.0),
    ("clock-step", 0.05),
];

pub(super) fn exceeds(flag: &str, value: f64) -> bool {
    THRESHOLDS.iter().any(|(known, most)| *known == flag && value > *most)
}

/// Mean frequency of the CPUs.
pub const MHZ: &str = "host_cpu_mhz";

/// Watches one measured interval.
pub trait Observer: Send {
    fn begin(&mut self, subject: &Subject);

    /// What there is to read in each second of the interval, by a thread that does only this. It must be
    /// cheap; most observers have nothing.
    fn sources(&self, _: &Subject) -> Vec<Box<dyn Source>> {
        Vec::new()
    }

    fn end(&mut self, subject: &Subject) -> Readings;
}

/// What is being measured.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The server's process; none when it lives inside dbduel, or cannot be seen.
    pub server_pid: Option<u32>,
    /// The server runs on this host, but not below dbduel: it is there between trials as well.
    pub among_others: bool,
    /// How the server is found on the other host that it is on.
    pub elsewhere: Option<Listening>,
    /// Where the server can be asked; none before a load, and where asking would hinder it.
    pub monitor: Option<Monitor>,
}

/// What observers saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Readings {
    /// Named with their unit.
    pub values: BTreeMap<String, f64>,
    pub flags: Vec<String>,
    /// A row for each second of the interval; left by the sampling thread, and by an observer that has one elsewhere.
    pub seconds: Series,
}
