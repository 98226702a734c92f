//! A cause that the figures support, as facts; reports make sentences of them.

use schemars::JsonSchema;
use serde::Serialize;

use record::format::{ContrastKind, Failure, Point};

use super::Side;
use crate::named::named;

/// What accounts for so much of a gap explains it.
pub const EXPLAINS: f64 = 0.5;

named! {
    /// How sure a conclusion is.
    pub enum Grade {
        /// A recorded fact, or a cause that a test confirms.
        Confirmed = "confirmed",
        /// A conclusion of statistics.
        Supported = "supported",
        Weak = "weak",
    }
}

named! {
    /// The names of the rules.
    pub enum CauseKind {
        HostLimits = "host limits",
        GeneratorLimits = "generator limits",
        LogWrites = "waiting on log writes",
        LogSyncs = "log syncs",
        CompressedPages = "compressed pages",
        BufferMisses = "buffer misses",
        TemporaryFiles = "temporary files",
        TemporaryTables = "temporary tables on disk",
        DoubleWrites = "waiting on double writes",
        RowLocks = "waiting on row locks",
        Disks = "waiting on disks",
        Latches = "waiting on latches",
        LocksOrLatches = "waiting on locks or latches",
        CheckpointStalls = "checkpoint stalls",
        KernelTime = "kernel time",
        Spinning = "spinning",
        LongerCodePath = "longer code path",
        ShorterCodePath = "shorter code path",
        MoreConcurrency = "more concurrency",
        MoreEfficient = "more efficient",
    }
}

impl CauseKind {
    /// True of the trials of both contenders; no cause is claimed beside it.
    pub fn is_of_the_run(self) -> bool {
        matches!(self, CauseKind::HostLimits | CauseKind::GeneratorLimits)
    }
}

/// Why one contender is faster or slower than the other under a workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cause {
    pub kind: CauseKind,
    pub grade: Grade,
    pub workload: String,
    pub baseline: String,
    pub candidate: String,
    /// The contender that it is about.
    pub side: Side,
    /// Where the rule holds, the largest difference in throughput first; never empty.
    pub observed: Vec<Observed>,
    /// The cause test of the first of these points, if it has ended.
    pub test: Option<CauseTest>,
    /// Other causes that the same test confirms, so that it does not separate them.
    pub confirmed_alike: Vec<CauseKind>,
    /// By number: those that were compared at these points.
    pub trials: Vec<u32>,
}

impl Cause {
    pub fn contender(&self, side: Side) -> &str {
        if side == Side::Candidate { &self.candidate } else { &self.baseline }
    }
}

/// What was measured at a point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Observed {
    pub point: Point,
    /// Throughput and CPU, which make the cause possible; none for what is true of the run.
    pub moves: Vec<Measure>,
    /// What names the cause.
    pub signs: Vec<Measure>,
}

/// One metric of the contender that the cause is about, and of the other one.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Measure {
    pub metric: String,
    pub own: f64,
    pub other: f64,
    /// Absent with too few blocks.
    pub change: Option<Change>,
    pub blocks: usize,
    /// Where it was held against the difference in mean response time: that difference.
    pub of_gap_ms: Option<f64>,
}

/// An interval of own against other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Factor {
        low: f64,
        high: f64,
    },
    /// Where either was zero in a block.
    Difference {
        low: f64,
        high: f64,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CauseTest {
    /// What both contenders ran without.
    #[schemars(with = "String")]
    pub without: ContrastKind,
    pub outcome: TestOutcome,
}

impl CauseTest {
    pub fn is_confirming(&self) -> bool {
        matches!(&self.outcome, TestOutcome::Ended(change) if change.confirms)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestOutcome {
    NotRun {
        because: String,
    },
    Failed {
        contender: String,
        failure: Failure,
    },
    Ended(GapChange),
    /// The servers still ran the statement differently, or did not show how.
    NotAlike,
}

/// What became of a difference in throughput once its supposed cause was gone.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GapChange {
    pub metric: String,
    /// Geometric means of the test's blocks.
    pub own: Option<f64>,
    pub other: Option<f64>,
    /// Mean log ratios of own over other.
    pub before: f64,
    pub after: f64,
    pub after_bounds: Option<(f64, f64)>,
    /// What is gone of the log ratio, with its interval; negative where it grew.
    pub removed: f64,
    pub removed_bounds: (f64, f64),
    /// The same as a share of the gap.
    pub removed_share: f64,
    pub blocks_before: usize,
    pub confirms: bool,
}
