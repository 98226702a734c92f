//! What a workload leaves that runs once through, operation by operation, instead of for a time.
//!
//! Knows neither SQL nor programs; a trial turns it into metrics by the names that stand here.

use std::fmt;
use std::sync::Arc;

/// Read at both edges of each operation, outside its time; the difference is the operation's. The server's
/// CPU time in nanoseconds, or another counter per operation. None where it cannot be read.
#[derive(Clone)]
pub struct Gauge {
    read: Arc<dyn Fn() -> Option<u64> + Send + Sync>,
    moved: Option<Arc<dyn Fn() -> Moved + Send + Sync>>,
}

/// What a server has done beside work on the CPU: context switches, bytes read from disks, bytes written to them. Each
/// none where it cannot be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved(pub [Option<u64>; 3]);

impl Moved {
    /// What was added since an earlier reading; none where a process that was read then is gone.
    pub fn since(self, before: Moved) -> Moved {
        let added = |place: usize| self.0[place]?.checked_sub(before.0[place]?);
        Moved([added(0), added(1), added(2)])
    }

    /// Both together; one that is not known leaves none.
    pub fn and(self, more: Moved) -> Moved {
        let sum = |place: usize| Some(self.0[place]? + more.0[place]?);
        Moved([sum(0), sum(1), sum(2)])
    }
}

impl Gauge {
    pub fn new(read: impl Fn() -> Option<u64> + Send + Sync + 'static) -> Gauge {
        Gauge { read: Arc::new(read), moved: None }
    }

    /// The same, which also reads what takes longer to read.
    pub fn and_moved(self, moved: impl Fn() -> Moved + Send + Sync + 'static) -> Gauge {
        Gauge { moved: Some(Arc::new(moved)), ..self }
    }

    pub fn moved(&self) -> Moved {
        self.moved.as_ref().map_or_else(Moved::default, |moved| moved())
    }

    pub fn read(&self) -> Option<u64> {
        (self.read)()
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
    /// What the server did beside work on the CPU.
    pub moved: Moved,
    /// How often it ran over, so that a short one could be timed; 1 for most.
    pub passes: u32,
    /// The time limit ended it: wall and CPU time are scaled up to the planned loop. Statements, connections and
    /// rows are those that there were.
    pub estimated: bool,
    /// How long it was timed, all of its passes together.
    pub timed_ns: u64,
    /// It is one statement with its whole answer: its time is its own, however short.
    pub whole: bool,
    /// It was ended at a limit, which is its time: how the limit reads.
    pub limited: Option<String>,
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
        self.refused.is_none() && !self.whole && self.timed_ns < SHORT_NS
    }
}
