//! What the clients do: schema, data and transactions.
//!
//! A workload does not know which engine it runs on, only a connection and a dialect. The list
//! [`WORKLOADS`] drives `dbduel list`, the experiment file's keys and the reference documentation.

mod oltp;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use driver::{Admin, AnyConnection, Connection, Dialect, Error, RowSink};

use crate::clock::MonotonicClock;
use crate::pacer::Pacer;
use crate::policy::ErrorPolicy;
use crate::recorder::Recorder;
use crate::timeline::Timeline;

pub use oltp::read_write_client;

/// Every workload, in the order `dbduel list workloads` shows them.
pub static WORKLOADS: &[WorkloadKind] = &[
    oltp::POINT_SELECT,
    oltp::READ_ONLY,
    oltp::WRITE_ONLY,
    oltp::READ_WRITE,
    oltp::UPDATE_INDEX,
    oltp::UPDATE_NON_INDEX,
    oltp::CLASSIC,
];

pub fn workload_kind(name: &str) -> Option<&'static WorkloadKind> {
    WORKLOADS.iter().find(|kind| kind.name == name)
}

/// A workload before its options are known.
pub struct WorkloadKind {
    pub name: &'static str,
    pub description: &'static str,
    /// A `[workload]` table that runs as it stands.
    pub example: &'static str,
    pub options: &'static [OptionSpec],
    pub build: fn(&Options) -> Result<Box<dyn Workload>, OptionError>,
}

/// A value of one workload option, as the experiment file or the command line gave it.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    Number(i64),
    Real(f64),
    Text(String),
    Flag(bool),
}

/// One option a workload understands.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub name: &'static str,
    /// Another name for the same key (`table_size` for `rows`).
    pub alias: Option<&'static str>,
    /// The default as it would stand in an experiment file.
    pub default: &'static str,
    pub help: &'static str,
}

/// An option that cannot be honoured: which, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{option}`: {expected}")]
pub struct OptionError {
    pub option: String,
    pub expected: String,
}

/// Given options over a workload's defaults.
#[derive(Debug, Clone)]
pub struct Options {
    values: BTreeMap<&'static str, OptionValue>,
}

impl Options {
    /// Fills in the defaults of `specs`; refuses a key that none of them names.
    pub fn new(specs: &'static [OptionSpec], given: &BTreeMap<String, OptionValue>) -> Result<Options, OptionError> {
        let mut values: BTreeMap<_, _> = specs.iter().map(|spec| (spec.name, parse_default(spec.default))).collect();
        for (key, value) in given {
            let spec = specs.iter().find(|spec| spec.name == key || spec.alias == Some(key)).ok_or_else(|| {
                let known: Vec<_> = specs.iter().map(|spec| spec.name).collect();
                OptionError { option: key.clone(), expected: format!("unknown option; known are {}", known.join(", ")) }
            })?;
            values.insert(spec.name, value.clone());
        }
        Ok(Options { values })
    }

    /// Every option in force, defaults included, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &OptionValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }

    fn value(&self, name: &str) -> &OptionValue {
        self.values.get(name).expect("a workload asks for options of its own list only")
    }

    pub fn number(&self, name: &str, least: u64, most: u64) -> Result<u64, OptionError> {
        match self.value(name) {
            OptionValue::Number(number) if (least as i64..=most as i64).contains(number) => Ok(*number as u64),
            _ => Err(self.error(name, format!("a whole number from {least} to {most} was expected"))),
        }
    }

    pub fn real(&self, name: &str, least: f64, most: f64) -> Result<f64, OptionError> {
        let real = match self.value(name) {
            OptionValue::Number(number) => *number as f64,
            OptionValue::Real(real) => *real,
            _ => f64::NAN,
        };
        if (least..=most).contains(&real) {
            Ok(real)
        } else {
            Err(self.error(name, format!("a number from {least} to {most} was expected")))
        }
    }

    pub fn flag(&self, name: &str) -> Result<bool, OptionError> {
        match self.value(name) {
            OptionValue::Flag(flag) => Ok(*flag),
            OptionValue::Text(text) if text.eq_ignore_ascii_case("on") => Ok(true),
            OptionValue::Text(text) if text.eq_ignore_ascii_case("off") => Ok(false),
            _ => Err(self.error(name, "true or false was expected".to_owned())),
        }
    }

    /// The index of the option's word in `words`.
    pub fn choice(&self, name: &str, words: &[&str]) -> Result<usize, OptionError> {
        let position = match self.value(name) {
            OptionValue::Text(text) => words.iter().position(|word| word == text),
            _ => None,
        };
        position.ok_or_else(|| self.error(name, format!("one of {} was expected", words.join(", "))))
    }

    fn error(&self, option: &str, expected: String) -> OptionError {
        OptionError { option: option.to_owned(), expected: format!("{expected}, not {}", self.value(option)) }
    }
}

impl std::fmt::Display for OptionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            OptionValue::Number(number) => number.fmt(f),
            OptionValue::Real(real) => real.fmt(f),
            OptionValue::Text(text) => write!(f, "\"{text}\""),
            OptionValue::Flag(flag) => flag.fmt(f),
        }
    }
}

fn parse_default(text: &str) -> OptionValue {
    match text {
        "true" => OptionValue::Flag(true),
        "false" => OptionValue::Flag(false),
        _ => text
            .parse()
            .map(OptionValue::Number)
            .or_else(|_| text.parse().map(OptionValue::Real))
            .unwrap_or_else(|_| OptionValue::Text(text.to_owned())),
    }
}

/// One table of a workload, in one dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    /// Statements that make the empty table, without secondary indexes.
    pub create: Vec<String>,
    /// Columns the loader fills.
    pub columns: Vec<&'static str>,
    pub rows: u64,
    /// Statements to run once all rows are in: indexes, sequences, statistics.
    pub finish: Vec<String>,
}

/// Schema, data, transactions and checks, with all options decided.
pub trait Workload: Send + Sync {
    /// What the data depend on besides the seed: equal keys mean equal tables.
    fn data_key(&self) -> String;
    fn tables(&self, dialect: Dialect) -> Vec<Table>;
    /// Gives row `row` (from 0) of table `table` to the sink; the same for one seed, everywhere.
    fn row(&self, data_seed: u64, table: usize, row: u64, sink: &mut RowSink<'_>) -> Result<(), Error>;
    /// Whether transactions change the tables.
    fn writes(&self) -> bool;
    /// Makes one client: prepares its statements and returns its whole life as a future.
    fn client(&self, seat: Seat, connection: AnyConnection) -> Result<ClientFuture, Error>;
    /// Looks for wrong data after a trial; each line is a violation, with the query that shows it.
    fn check(&self, admin: &mut Admin) -> Result<Vec<String>, Error>;
}

pub type ClientFuture = Pin<Box<dyn Future<Output = Result<(), Fatal>>>>;

/// Where one client sits: its number, its seeds, and the worker it runs on.
pub struct Seat<K = MonotonicClock> {
    /// From 0, over all workers.
    pub client: u32,
    pub clients: u32,
    pub input_seed: u64,
    pub timeline: Arc<Timeline>,
    pub recorder: Rc<RefCell<Recorder>>,
    pub clock: K,
    pub pacer: Pacer,
    pub policy: Arc<ErrorPolicy>,
}

impl Seat {
    /// The life of a client that sits here.
    pub fn drive<C: Client + 'static>(mut self, mut client: C) -> ClientFuture {
        Box::pin(async move { crate::drive(&mut client, &mut self).await })
    }
}

/// One emulated user.
///
/// A client tries a transaction once; whether an error is worth another try, and when there is no
/// time left for one, is the same for all workloads and decided by the loop that drives it.
pub trait Client {
    type Connection: Connection;

    /// Tries one transaction and counts its statements. The first try of a turn and every later one
    /// run the same inputs, unless the workload imitates a program that draws new ones.
    fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> impl Future<Output = Result<Outcome, Error>>;

    /// After a failed try: leaves the transaction that the server may still hold open.
    fn roll_back(&mut self, attempt: &mut Attempt) -> impl Future<Output = Result<(), Error>>;

    fn connection(&mut self) -> &mut Self::Connection;
}

/// Which transaction this is, and which try. Its inputs depend on nothing but the seed and these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Given up: still refused when the interval ended.
    Failed,
    Skipped,
}

/// What one transaction took: statements by kind, and tries that the server sent back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attempt {
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub retries: u64,
    /// Connections opened again on the way.
    pub reconnects: u64,
    /// Time behind the first try, when there was more than one.
    pub retry_ns: u64,
    /// Set by the client while the statement under way may have made its changes permanent: when its
    /// answer is lost, nobody knows whether it did, and it must not be sent again.
    pub committing: bool,
}

/// An error that no retry mends: it ends the trial.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fatal {
    message: String,
}

impl Fatal {
    pub fn new(message: impl Into<String>) -> Fatal {
        Fatal { message: message.into() }
    }
}

impl From<Error> for Fatal {
    fn from(error: Error) -> Fatal {
        Fatal::new(error.to_string())
    }
}
