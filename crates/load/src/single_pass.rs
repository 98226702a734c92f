//! What a workload leaves that runs once through, operation by operation, instead of for a time.
//!
//! Knows neither SQL nor programs; a trial turns it into metrics by the names that stand here.

use std::fmt;
use std::sync::Arc;

/// Read at both edges of each operation, outside its time; the difference is the operation's. The server's
/// CPU time in nanoseconds, or another counter per operation. None where it cannot be read.
#[derive(Clone)]
pub struct Gauge(Arc<dyn Fn() -> Option<u64> + Send + Sync>);

impl Gauge {
    pub fn new(read: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Gauge {
        Gauge(Arc::new(read))
    }

    pub fn read(&self) -> Option<u64> {
        (self.0)()
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Gauge")
    }
}

/// One program of the pass: a list of operations in the order they ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgramTally {
    pub name: &'static str,
    /// From its first statement to its last, whatever is between operations included; what was estimated
    /// is in it, what ran only to time a short operation or to check answers is not.
    pub wall_ns: u64,
    pub operations: Vec<OperationTally>,
}

impl ProgramTally {
    /// Whether any of its operations was cut off and scaled up.
    pub fn is_estimated(&self) -> bool {
        self.operations.iter().any(|operation| operation.estimated)
    }
}

/// What was timed for less is too short to be distinguished from the clock and the scheduler.
pub const SHORT_NS: u64 = 1_000_000_000;

/// One operation, as the result table names it. Where it ran several times over, everything is per pass.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OperationTally {
    pub name: &'static str,
    /// As the table prints it, which is not always what ran.
    pub count: u64,
    /// It ran for a time: its rate is compared, and its count is what came of it.
    pub by_rate: bool,
    /// Statements that the server saw; connections are not statements.
    pub executed: u64,
    pub connections: u64,
    pub rows: u64,
    pub wall_ns: u64,
    pub client_cpu_ns: u64,
    /// What the gauge went up by.
    pub gauged: Option<u64>,
    /// How often it ran over, so that a short one could be timed; 1 for most.
    pub passes: u32,
    /// The time limit ended it: wall and CPU time are scaled up to the planned loop. Statements, connections and
    /// rows are those that there were.
    pub estimated: bool,
    /// How long it was timed, all of its passes together.
    pub timed_ns: u64,
    /// What the server answered wrongly, first of all; its time is then no result.
    pub wrong: Option<String>,
    /// Which of its statements this server lacks, so that it does less than others do under this name.
    pub fewer: Option<String>,
    /// Why the server would not do it, or why it was not reached; its time and counts are then zero.
    pub refused: Option<String>,
}

impl OperationTally {
    /// Too short to be timed well, and not run again: it changes data, or repeats were not asked for.
    pub fn is_short(&self) -> bool {
        self.refused.is_none() && self.timed_ns < SHORT_NS
    }
}
