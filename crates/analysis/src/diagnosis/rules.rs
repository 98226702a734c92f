//! The table of causes (method, section 5), as data: the condition of each, and its conclusion.
//!
//! A row is about one side, compared with the other. The slower one is the side that waits,
//! spins or computes; rows about a gain are about the candidate.

use super::cause::CauseKind::{self, *};
use super::costs::{
    BOUND, COMPRESSED, CPU_USER, DEADLOCKS, DECOMPRESSED, DOUBLE_WRITES, FAULTS, HOST_TAKEN, LATCH_WAITS, LOCK_MS,
    LOG_WAITS, MERGES, MISS_SHARE, MISSES, SPINS, SWITCHES, SYNCS, SYSTEM_SHARE, TEMPORARY_BYTES, TEMPORARY_MS,
    TEMPORARY_TABLES,
};
use record::format::ContrastKind;

/// Where a quantity of one side lies beside the other's.
///
/// Throughput has moved when its interval leaves out 1 and its estimate the margin; it is the same while it
/// lies within the margin, and its interval within 10 %. CPU has moved when its interval leaves out 1 and it
/// accounts for half of the gap in throughput or more: a server with nothing to wait for loses as much
/// throughput as its transactions gain in CPU. It is the same while its estimate accounts for less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    Down,
    Same,
    Up,
}

/// Something that must be seen beside throughput and CPU. What is not visible holds never.
#[derive(Debug, Clone, Copy)]
pub enum Sign {
    /// The side has more of it, by so much at least, and the t interval of the difference lies above 0.
    More {
        what: &'static str,
        by: f64,
    },
    Less {
        what: &'static str,
        by: f64,
    },
    /// As `More`, and twice as much as the other has.
    Twice {
        what: &'static str,
        by: f64,
    },
    /// As `More`, and the other has less than that.
    Only {
        what: &'static str,
        by: f64,
    },
    /// It can be seen, and there is no more of it by so much.
    NotMore {
        what: &'static str,
        by: f64,
    },
    /// Mean over trials.
    Above {
        what: &'static str,
        level: f64,
    },
    /// Milliseconds of a transaction that make half of the gap in response time, or more.
    HalfOfTheGap {
        what: &'static str,
    },
}

impl Sign {
    /// The quantity that is compared.
    pub fn what(self) -> &'static str {
        match self {
            Sign::More { what, .. } | Sign::Less { what, .. } | Sign::Twice { what, .. } | Sign::Only { what, .. } => {
                what
            }
            Sign::NotMore { what, .. } | Sign::Above { what, .. } | Sign::HalfOfTheGap { what } => what,
        }
    }
}

/// The contenders that a row may be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    Either,
    Candidate,
    /// Of the trials of both: no cause is claimed where such a row holds.
    Run,
}

/// What the point with the fewest clients must show, where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FewClients {
    NoMatter,
    /// CPU per transaction is up there as well.
    UpToo,
    NotUp,
}

pub struct Rule {
    pub kind: CauseKind,
    pub who: Who,
    /// Nothing: whatever it is.
    pub tps: &'static [Move],
    pub cpu_use: &'static [Move],
    pub cpu_per_tx: &'static [Move],
    pub few_clients: FewClients,
    pub all: &'static [Sign],
    /// One of them at least, where there are any.
    pub any: &'static [Sign],
    /// Kinds that are enough without another one.
    pub unless: &'static [CauseKind],
    /// Its signs have other readings too.
    pub is_weak: bool,
    /// Its levels hold for a pass as well, whatever that does.
    pub of_pass: bool,
    /// What takes the cause away from both sides, and so can confirm it.
    pub contrast: Option<ContrastKind>,
}

/// Asks for nothing; every row has a kind of its own.
const WHATEVER: Rule = Rule {
    kind: HostLimits,
    who: Who::Either,
    tps: &[],
    cpu_use: &[],
    cpu_per_tx: &[],
    few_clients: FewClients::NoMatter,
    all: &[],
    any: &[],
    unless: &[],
    is_weak: false,
    of_pass: false,
    contrast: None,
};

/// Less throughput with less CPU: it waits for something.
const WAITING: Rule =
    Rule { tps: &[Move::Down], cpu_use: &[Move::Down], cpu_per_tx: &[Move::Down, Move::Same], ..WHATEVER };
/// Less throughput with as much CPU, or more: it computes.
const COMPUTING: Rule =
    Rule { tps: &[Move::Down], cpu_use: &[Move::Same, Move::Up], cpu_per_tx: &[Move::Up], ..WHATEVER };
const OF_RUN: Rule = Rule { who: Who::Run, of_pass: true, ..WHATEVER };
const ON_TMPFS: Option<ContrastKind> = Some(ContrastKind::Tmpfs);
const ALONE: Option<ContrastKind> = Some(ContrastKind::OneClient);

/// From the first to the last: `unless` refers to rows above.
pub const RULES: &[Rule] = &[
    // As much as a run refuses to start with (method, section 1); flags, which less of it raises, make weak.
    Rule { kind: HostLimits, all: &[Sign::Above { what: HOST_TAKEN, level: 0.10 }], ..OF_RUN },
    Rule { kind: GeneratorLimits, all: &[Sign::Above { what: BOUND, level: 0.25 }], ..OF_RUN },
    Rule {
        kind: LogWrites,
        any: &[Sign::More { what: SYNCS, by: 0.02 }, Sign::More { what: LOG_WAITS, by: 0.001 }],
        contrast: ON_TMPFS,
        ..WAITING
    },
    // A sync takes CPU as well, and on a quick disk little else.
    Rule {
        kind: LogSyncs,
        tps: &[Move::Down],
        all: &[Sign::Twice { what: SYNCS, by: 0.1 }],
        unless: &[LogWrites],
        contrast: ON_TMPFS,
        ..WHATEVER
    },
    // A pool that holds pages in both forms misses more, and threads wait for the one that decompresses.
    Rule {
        kind: CompressedPages,
        any: &[Sign::Only { what: DECOMPRESSED, by: 0.1 }, Sign::Only { what: COMPRESSED, by: 0.1 }],
        ..COMPUTING
    },
    // A miss costs CPU too, so nothing is asked of it.
    Rule {
        kind: BufferMisses,
        tps: &[Move::Down],
        all: &[Sign::More { what: MISSES, by: 0.1 }, Sign::Above { what: MISS_SHARE, level: 0.01 }],
        unless: &[CompressedPages],
        contrast: ON_TMPFS,
        ..WHATEVER
    },
    Rule {
        kind: TemporaryFiles,
        tps: &[Move::Down],
        all: &[Sign::More { what: TEMPORARY_BYTES, by: 1.0 }, Sign::HalfOfTheGap { what: TEMPORARY_MS }],
        of_pass: true,
        ..WHATEVER
    },
    // MySQL and MariaDB count them, and not how large they are.
    Rule {
        kind: TemporaryTables,
        tps: &[Move::Down],
        any: &[Sign::Twice { what: TEMPORARY_TABLES, by: 0.1 }, Sign::Twice { what: MERGES, by: 0.1 }],
        is_weak: true,
        of_pass: true,
        ..WHATEVER
    },
    Rule { kind: DoubleWrites, all: &[Sign::More { what: DOUBLE_WRITES, by: 0.1 }], contrast: ON_TMPFS, ..WAITING },
    Rule {
        kind: RowLocks,
        any: &[Sign::HalfOfTheGap { what: LOCK_MS }, Sign::More { what: DEADLOCKS, by: 0.01 }],
        contrast: ALONE,
        ..WAITING
    },
    Rule {
        kind: Disks,
        any: &[
            Sign::More { what: "host_iowait_share", by: 0.10 },
            Sign::More { what: "host_pressure_io_some_share", by: 0.20 },
            Sign::More { what: "server_threads_blocked", by: 0.5 },
        ],
        unless: &[LogWrites, LogSyncs, BufferMisses, TemporaryFiles, DoubleWrites],
        contrast: ON_TMPFS,
        ..WAITING
    },
    Rule {
        kind: Latches,
        all: &[Sign::NotMore { what: LOCK_MS, by: 0.1 }, Sign::NotMore { what: SYNCS, by: 0.02 }],
        any: &[Sign::More { what: LATCH_WAITS, by: 0.1 }, Sign::More { what: SWITCHES, by: 1.0 }],
        unless: &[LogWrites, LogSyncs, BufferMisses, TemporaryFiles, DoubleWrites, Disks, RowLocks],
        contrast: ALONE,
        ..WAITING
    },
    // Where row locks cannot be seen, they cannot be distinguished from latches.
    Rule {
        kind: LocksOrLatches,
        all: &[Sign::More { what: SWITCHES, by: 1.0 }],
        unless: &[LogWrites, LogSyncs, BufferMisses, TemporaryFiles, DoubleWrites, Disks, RowLocks, Latches],
        is_weak: true,
        contrast: ALONE,
        ..WAITING
    },
    // Seconds are not held against the checkpoint's age one by one, so this stays weak.
    Rule {
        kind: CheckpointStalls,
        all: &[
            Sign::More { what: "stalled_seconds_share", by: 0.02 },
            Sign::Above { what: "state.checkpoint_age_share_end", level: 0.75 },
        ],
        is_weak: true,
        contrast: ON_TMPFS,
        ..WHATEVER
    },
    Rule {
        kind: KernelTime,
        all: &[Sign::More { what: SYSTEM_SHARE, by: 0.05 }],
        any: &[Sign::More { what: SWITCHES, by: 0.5 }, Sign::More { what: FAULTS, by: 1.0 }],
        unless: &[LogSyncs, CompressedPages, BufferMisses, TemporaryFiles],
        ..COMPUTING
    },
    Rule {
        kind: Spinning,
        few_clients: FewClients::NotUp,
        all: &[Sign::More { what: SPINS, by: 100.0 }],
        contrast: ALONE,
        unless: &[CompressedPages, BufferMisses, TemporaryFiles],
        ..COMPUTING
    },
    Rule {
        kind: LongerCodePath,
        few_clients: FewClients::UpToo,
        any: &[Sign::More { what: CPU_USER, by: 0.0 }, Sign::NotMore { what: SWITCHES, by: 0.5 }],
        unless: &[LogSyncs, CompressedPages, BufferMisses, TemporaryFiles, KernelTime, Spinning],
        who: Who::Candidate,
        ..COMPUTING
    },
    Rule {
        kind: ShorterCodePath,
        who: Who::Candidate,
        tps: &[Move::Up],
        cpu_use: &[Move::Same, Move::Down],
        cpu_per_tx: &[Move::Down],
        unless: &[LogSyncs, CompressedPages, BufferMisses, TemporaryFiles, KernelTime, Spinning],
        ..WHATEVER
    },
    Rule {
        kind: MoreConcurrency,
        who: Who::Candidate,
        tps: &[Move::Up],
        cpu_use: &[Move::Up],
        cpu_per_tx: &[Move::Same],
        any: &[Sign::Less { what: SWITCHES, by: 0.5 }, Sign::Less { what: LOCK_MS, by: 0.1 }],
        unless: &[
            LogWrites,
            LogSyncs,
            BufferMisses,
            TemporaryFiles,
            DoubleWrites,
            Disks,
            RowLocks,
            Latches,
            LocksOrLatches,
        ],
        ..WHATEVER
    },
    Rule { kind: MoreEfficient, tps: &[Move::Same], cpu_use: &[Move::Down], cpu_per_tx: &[Move::Down], ..WHATEVER },
];
