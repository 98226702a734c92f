//! The data plane of dbduel: the code that runs while the clock runs.
//!
//! A [`Workload`] defines tables and transactions; [`Load`] connects clients, keeps them
//! busy from one event loop per client core, and returns a [`Tally`]. Between the barriers of a
//! trial nothing here allocates, locks or prints. This crate depends on connections and dialects, and
//! not on engines, experiments or reports.

mod answer_log;
mod answers;
mod atomics;
mod backlog;
mod bells;
mod beside_ledger;
mod board;
mod checksum;
mod client;
mod clock;
mod deferred_log;
mod dial;
mod distribution;
#[cfg(test)]
mod hand_offs;
mod ledger;
mod load;
mod loader;
mod pacer;
mod paging;
mod policy;
mod preparing;
mod recorder;
mod ringing;
mod rng;
pub mod scheduling;
mod share;
mod single_pass;
mod stall;
mod timeline;
mod transaction;
mod transaction_log;
pub mod unique;
mod windows;
mod wire;
mod worker;
mod workload;

pub use answer_log::{AnswerLog, Asked, Came, Compared, OneAnswer, Warnings, answers_as_bytes, answers_from_bytes};
pub use answers::{Answers, Expected, Setting};
pub use backlog::{Backlog, Deferred, Giver};
pub use bells::{Bell, Bells};
pub use beside_ledger::BesideLedger;
pub use board::{Board, Reading};
pub use checksum::Checksum;
pub use client::{Client, ClientFuture, Fatal, Slot};
pub use clock::{Clock, MonotonicClock, monotonic_ns, thread_cpu_ns};
pub use deferred_log::{DeferredLog, Line};
pub use dial::Dial;
pub use distribution::{Distribution, Special};
pub use latency::{Histogram, LatencyWindow, OutOfRange, Windows, read_windows};
pub use ledger::{Audit, Ledger, LedgerEnd, LedgerEntry, LedgerShape, Witnessed};
pub use load::{Failure, Live, Load, LoadOptions, Measured, Opener, SILENCE_MAX};
pub use loader::{LOADER_VERSION, Loader};
pub use pacer::{Arrival, Arrivals, Pacer, Rate};
pub use policy::{ErrorPolicy, Ignored, code_of};
pub use preparing::{Counted, Preparing};
pub use recorder::{ErrorCounts, KindTally, Recorder, Second, StatementTally, Tally};
pub use rng::Rng;
pub use share::{ArrivalShare, Interarrival, Share, dealt, divided};
pub use single_pass::{Gauge, Moved, OperationTally, ProgramTally, SHORT_NS};
pub use stall::Commits;
pub use timeline::{Timeline, Window};
pub use transaction::{ARRIVALS, Attempt, Outcome, Timing, Turn};
pub use transaction_log::{LoggedTransaction, TransactionLog};
pub use windows::{Collector, Exchange};
pub use worker::drive;
pub use workload::options::{COMPAT, FileUse, ITEMS, NO_COMPAT, TABLE};
pub use workload::{
    Answering, Background, Commands, CrashWitness, DataPlace, DefersWork, DerivedMetrics, HasPlans, KeepsLedger,
    LoggedDigest, Metric, NamedStatement, OptionError, OptionSpec, OptionValue, Options, OtherMix, OwnData,
    OwnDataForm, Owner, Replays, Reported, Reporter, ReusesTables, RunsOnce, ScaledWorkload, Scratch, SinglePass,
    Table, TransactionKind, TriedOutcome, TriedStatement, TriedTransaction, Workload, WorkloadKind, WorkloadSpec,
    Workloads, queries, wrong_answers,
};
