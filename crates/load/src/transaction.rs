//! One transaction of a client: which it is, what it took, and how it ended.

use driver::Code;
use serde::{Deserialize, Serialize};

/// Which transaction this is, and which try. Its inputs depend on nothing but the seed and these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The client's number in a closed loop. In an open loop transactions belong to arrivals, not to
    /// clients, and all of them form one series.
    pub series: u64,
    /// From 0 within the series.
    pub number: u64,
    /// 0 for the first try.
    pub retry: u64,
}

/// The series of arrivals in an open loop; no client has this number.
pub const ARRIVALS: u64 = u64::MAX;

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// On purpose, as TPC-C demands of some.
    RolledBack,
    /// Given up: refused for good, or still refused after the interval and the time for retries behind it.
    Failed,
    Skipped,
}

/// What one transaction took: statements by kind, and other tries after the server had sent one back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub retries: u64,
    /// Connections opened again on the way.
    pub reconnects: u64,
    /// Time that a connection for this transaction alone took.
    pub connect_ns: u64,
    /// Time behind the first try, when there was more than one.
    pub retry_ns: u64,
    /// Time of a script's program that is neither its own work nor the database's: its memory's collector, and calls
    /// that hold up the worker.
    pub collected_ns: u64,
    pub blocked_ns: u64,
    /// The code of the last error.
    pub last_error: Option<Code>,
    /// Which of the workload's kinds it is, where it has kinds.
    pub kind: usize,
    /// The clock as it was last read, if nothing that takes time has been done since; else 0. It begins with the
    /// transaction. A client that reads the clock behind a statement leaves the reading here and saves another.
    pub clock_ns: u64,
    /// Set by the client while the statement under way may have made its changes permanent: when its
    /// answer is lost, it is unknown whether it did, and it must not be sent again.
    pub committing: bool,
}

/// The three timestamps of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub due_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
}
