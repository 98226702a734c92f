//! A server's own counters since its start, and the state it is in.
//!
//! Names are the same for all versions of an engine and end in their unit where they count anything but
//! events. What a version lacks, or shows only to other accounts, is absent and never zero.

pub use record::metric::{CHECKPOINT_AGE, CHECKPOINTS_RUNNING};
use std::collections::BTreeMap;

/// One reading.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counters {
    /// Since the start of the server: only differences mean anything.
    pub counted: BTreeMap<&'static str, f64>,
    /// As it is now.
    pub state: BTreeMap<&'static str, f64>,
}

/// Whether a figure only ever grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Counter,
    State,
}

/// Work that an engine puts off, by names of its [`Counters`].
pub struct DeferredWork {
    /// Counts the bytes of its log of changes; None where it has no such log to count.
    pub redo_bytes: Option<&'static str>,
    pub amounts: &'static [DeferredState],
}

/// A state that shows how much work was deferred.
pub struct DeferredState {
    pub state: &'static str,
    pub paid: Paid,
}

/// When deferred work counts as done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Paid {
    /// At the level of the beginning, or at this one: so little is always left.
    AsAtBegin { or: f64 },
    /// When no such work is under way any more.
    AtNothing,
}

/// How much log the server keeps before a checkpoint must be through, as configured.
pub const REDO_CAPACITY: &str = "redo_capacity_bytes";
/// At the latest after this time a checkpoint begins, whatever was written.
pub const CHECKPOINT_INTERVAL: &str = "checkpoint_interval_s";
/// At work for a client, the session that asks not counted.
pub const THREADS_RUNNING: &str = "threads_running";
pub const DATABASE_BYTES: &str = "database_bytes";
/// Sessions of the server, or of one database of it where sessions belong to one: of clients, or of a pooler before it,
/// and the one that asks.
pub const SESSIONS: &str = "sessions";
/// How much of [`REDO_CAPACITY`] a crash would have to replay.
pub const CHECKPOINT_AGE_SHARE: &str = "checkpoint_age_share";

impl Counters {
    pub fn put(&mut self, kind: Kind, name: &'static str, value: f64) {
        match kind {
            Kind::Counter => self.counted.insert(name, value),
            Kind::State => self.state.insert(name, value),
        };
    }

    /// Keeps what has one of these names.
    pub fn only(mut self, names: &[&str]) -> Counters {
        self.counted.retain(|name, _| names.contains(name));
        self.state.retain(|name, _| names.contains(name));
        self
    }

    /// A state that follows from two others; absent where one of them is.
    pub fn derive(&mut self, name: &'static str, of: [&str; 2], by: impl Fn(f64, f64) -> f64) {
        if let (Some(one), Some(other)) = (self.state.get(of[0]), self.state.get(of[1])) {
            self.state.insert(name, by(*one, *other));
        }
    }

    /// The share of the log that a crash would have to replay.
    pub fn derive_checkpoint_age_share(&mut self) {
        if self.state.get(REDO_CAPACITY).is_some_and(|capacity| *capacity > 0.0) {
            self.derive(CHECKPOINT_AGE_SHARE, [CHECKPOINT_AGE, REDO_CAPACITY], |age, capacity| age / capacity);
        }
    }
}
