//! What the clients do: schema, data and transactions.
//!
//! A workload has no access to the engine, only to a connection and a dialect.

pub mod options;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use driver::{Admin, AnyConnection, Dialect, Error, RowSink, Target};

use crate::answer_log::{AnswerLog, Asked};
use crate::answers::{Answers, Expected, Setting};
use crate::bells::Bells;
use crate::client::{ClientFuture, Slot};
use crate::ledger::{Audit, Witnessed};
use crate::policy::Ignored;
use crate::preparing::Preparing;
use crate::recorder::Tally;

pub use options::{OptionError, OptionSpec, OptionValue, Options};

/// A workload before its options are known.
pub struct WorkloadKind {
    pub name: &'static str,
    pub description: &'static str,
    /// A `[workload]` table that runs as it stands.
    pub example: &'static str,
    pub options: &'static [OptionSpec],
    pub build: fn(&Options) -> Result<Box<dyn Workload>, OptionError>,
}

impl WorkloadKind {
    /// The workload with these options, and the defaults of the others.
    pub fn with(&self, given: &BTreeMap<String, OptionValue>) -> Result<Box<dyn Workload>, OptionError> {
        (self.build)(&Options::new(self.options, given)?)
    }
}

impl fmt::Debug for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The workloads that may be asked for, in the order in which they are listed.
#[derive(Debug, Clone, Copy)]
pub struct Workloads(pub &'static [WorkloadKind]);

impl Workloads {
    pub fn find(self, name: &str) -> Option<&'static WorkloadKind> {
        self.0.iter().find(|kind| kind.name == name)
    }

    pub fn names(self) -> impl Iterator<Item = &'static str> + Clone {
        self.0.iter().map(|kind| kind.name)
    }
}

/// A workload that is asked for with data of a certain size.
#[derive(Debug, Clone, Copy)]
pub struct ScaledWorkload {
    pub kind: &'static WorkloadKind,
    /// The option that its data grow with.
    pub scale: &'static str,
}

/// Other transactions over the same tables: whether settings that were found for one mix help another, too.
#[derive(Debug, Clone)]
pub struct OtherMix {
    pub workload: &'static str,
    /// Where the workload's name is not enough to tell it from this one.
    pub label: Option<String>,
    /// The options of this workload that stay, by all their names; None keeps all.
    pub keeps: Option<&'static [OptionSpec]>,
    pub set: Vec<(&'static str, OptionValue)>,
}

/// One table of a workload, in one dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    /// Statements that make the empty table, without secondary indexes.
    pub create: Vec<String>,
    /// Columns the loader fills.
    pub columns: Vec<Cow<'static, str>>,
    /// How many units its rows come in: rows themselves, or orders of a few lines each.
    pub units: u64,
    /// Exact where a unit is a row, else what is to be expected.
    pub rows: u64,
    /// Statements to run once all rows are in: indexes, sequences, statistics.
    pub finish: Vec<String>,
    /// Statements to run once all tables are finished: what refers to other tables.
    pub link: Vec<String>,
    /// Whether its rows wait until all other tables are linked: they mark the end of the load.
    pub seals: bool,
}

impl Table {
    /// Everything that decides what it is like, in the order it runs.
    pub fn ddl(&self) -> impl Iterator<Item = &str> {
        [&self.create, &self.finish, &self.link].into_iter().flatten().map(String::as_str)
    }
}

/// A statement that a server can run as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedStatement {
    /// The same in all dialects.
    pub name: String,
    pub sql: String,
}

/// Those that change nothing.
pub fn queries(statements: Vec<NamedStatement>) -> Vec<NamedStatement> {
    statements.into_iter().filter(|statement| statement.sql.starts_with("SELECT")).collect()
}

/// Tables that clients make and drop as they go, none of which is loaded.
#[derive(Debug, Clone, Copy)]
pub struct Scratch {
    /// Whose tables they are.
    pub title: &'static str,
    /// Whether a table of this name, in lower case, is one of them.
    pub has: fn(&str) -> bool,
}

/// The facts of a workload with its options decided: data, so that plans, records and reports handle any workload.
#[derive(Debug, Clone)]
pub struct WorkloadSpec {
    /// What the data depend on besides the seed: equal keys mean equal tables.
    pub data_key: String,
    /// Whether transactions change the tables.
    pub writes: bool,
    /// Whether some transaction has several statements.
    pub transactions: bool,
    /// Whether its tables are as large after a run as before, so that runs may follow each other on them.
    pub keeps_its_size: bool,
    /// How many clients it needs where the experiment gives no number; None leaves that to the caller.
    pub clients: Option<u32>,
    /// Whether its clients work with what the server answers: a server that does nothing will not do then.
    pub needs_answers: bool,
    /// The longest that its clients rest between two statements, where they do: idle clients are then no sign of a slow
    /// generator.
    pub rests: Option<Duration>,
    /// Transactions that take longer are counted; in an open loop those that are later already are skipped.
    pub latency_limit: Option<Duration>,
    /// What verdicts come from.
    pub primary: Metric,
    /// Kinds of transactions that are counted apart, in the order of [`crate::Attempt::kind`].
    pub kinds: Vec<TransactionKind>,
    /// What else its clients count, in the order of [`crate::Client::counts`].
    pub counts: &'static [&'static str],
    /// Tables that its clients make and drop by themselves, where they do.
    pub scratch: Option<Scratch>,
    /// What the user brings in place of tables that are loaded.
    pub own_data: Option<OwnData>,
    /// Sentences without a full stop; one that has to stand beside any of its numbers is the first.
    pub notes: Vec<String>,
    /// What part of the work its figures are of, where they are not of all: a sentence that stands beside each verdict.
    pub scope: Option<String>,
    /// What is allowed and may be a mistake of the user's; likewise sentences.
    pub warnings: Vec<String>,
}

impl WorkloadSpec {
    /// Of transactions that change nothing; the other facts are the usual ones.
    pub fn reading(data_key: impl Into<String>) -> WorkloadSpec {
        WorkloadSpec {
            data_key: data_key.into(),
            writes: false,
            transactions: true,
            keeps_its_size: true,
            clients: None,
            needs_answers: false,
            rests: None,
            latency_limit: None,
            primary: Metric::TPS,
            kinds: Vec::new(),
            counts: &[],
            scratch: None,
            own_data: None,
            notes: Vec::new(),
            scope: None,
            warnings: Vec::new(),
        }
    }

    /// Of transactions that change the tables, which may grow or shrink.
    pub fn writing(data_key: impl Into<String>) -> WorkloadSpec {
        WorkloadSpec { writes: true, keeps_its_size: false, ..WorkloadSpec::reading(data_key) }
    }
}

/// Data of the user's, each for servers of one engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnData {
    /// The key of an experiment file that names them.
    pub key: &'static str,
    pub form: OwnDataForm,
    /// By the name of the engine; a single one without a name is for whichever engine there is.
    pub places: Vec<(Option<String>, DataPlace)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnDataForm {
    /// A dump, for a client of the engine's.
    Dump,
    /// What a stopped server left: a data directory, or a database file.
    Directory {
        /// Whether recovery may run, once, on the copy.
        accept_unclean: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataPlace {
    pub path: PathBuf,
    /// What it is recognised by; another identity is other data.
    pub identity: String,
}

impl DataPlace {
    /// `4096 bytes, sha256 ...`
    fn bytes(&self) -> u64 {
        self.identity.split(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
    }
}

impl OwnDataForm {
    /// About how many bytes a server's files have with it.
    pub fn grows_to(self, place: &DataPlace) -> u64 {
        let is_packed = place.path.extension().is_none_or(|extension| extension != "sql");
        match self {
            OwnDataForm::Dump if is_packed => place.bytes().saturating_mul(15),
            OwnDataForm::Dump => place.bytes().saturating_mul(3),
            OwnDataForm::Directory { .. } => place.bytes(),
        }
    }

    /// The key of an experiment file.
    pub fn key(self) -> &'static str {
        match self {
            OwnDataForm::Dump => "restore",
            OwnDataForm::Directory { .. } => "data",
        }
    }
}

impl OwnData {
    /// What is meant for servers of this engine.
    pub fn of(&self, engine: &str) -> Option<&DataPlace> {
        let is_it = |name: &Option<String>| name.as_deref().is_none_or(|name| name == engine);
        self.places.iter().find(|(name, _)| is_it(name)).map(|(_, place)| place)
    }
}

/// A metric by its name in records. Less is better where the name ends in `seconds`; of all others more is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    pub unit: &'static str,
    pub title: &'static str,
}

impl Metric {
    pub const TPS: Metric = Metric { name: "tps", unit: "tps", title: "committed transactions per second (tps)" };
}

#[derive(Debug, Clone, PartialEq)]
pub struct TransactionKind {
    /// The prefix of its metrics.
    pub name: Cow<'static, str>,
    pub title: Cow<'static, str>,
    /// Seconds within which nine of ten should be answered.
    pub p90_limit_s: Option<f64>,
}

/// Schema, data, transactions and checks, with all options decided.
///
/// What only some workloads can do is a trait of its own, and the method that returns it is None for all others. Nine
/// optional things stay methods with a default: `data_bytes`, `preparing` and `ignored_errors` have a value for every workload,
/// `remains`, `lasting`, `kept_values`, `expected_answers` and `timed_statements` return a list, which may be empty, and
/// `other_mix` returns data.
pub trait Workload: Send + Sync {
    fn spec(&self) -> WorkloadSpec;
    fn tables(&self, dialect: Dialect) -> Vec<Table>;
    /// Gives the rows of unit `unit` (from 0) of table `table` to the sink; the same for one seed, everywhere.
    fn rows(&self, data_seed: u64, table: usize, unit: u64, sink: &mut RowSink<'_>) -> Result<(), Error>;
    /// Makes one client: prepares its statements and returns its whole life as a future.
    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error>;
    /// Looks for wrong data, before a run or after one; each line is a violation, with the query that
    /// shows it. `ran` is what the clients counted since the tables were loaded, where that is known.
    fn check(&self, admin: &mut Admin, ran: Option<&Tally>) -> Result<Vec<String>, Error>;
    /// Queries whose first value has to be after each run what it was on the loaded tables.
    fn kept_values(&self) -> Vec<String> {
        Vec::new()
    }
    /// Whether it can run there at all; asked before anything is loaded.
    fn runs_on(&self, dialect: Dialect) -> Result<(), String> {
        let _ = dialect;
        Ok(())
    }
    /// About how many bytes a server's files grow by when the tables are loaded.
    fn data_bytes(&self, dialect: Dialect) -> u64 {
        self.tables(dialect).iter().map(|table| table.rows.saturating_mul(ROW_BYTES)).sum()
    }
    /// How the statements of its clients travel.
    fn preparing(&self, dialect: Dialect) -> Preparing {
        let _ = dialect;
        Preparing::Unknown
    }
    /// About how many bytes the check behind a trial reads; nothing where that is a few rows.
    fn checked_bytes(&self, dialect: Dialect) -> u64 {
        let _ = dialect;
        0
    }
    /// Errors that are worth another try, unless the user gives a list.
    fn ignored_errors(&self, dialect: Dialect) -> Ignored {
        let _ = dialect;
        Ignored::Usual
    }
    /// What runs have left in the database beside its tables: names, each with the statement that drops it.
    fn remains(&self, admin: &mut Admin) -> Result<Vec<(String, String)>, Error> {
        let _ = admin;
        Ok(Vec::new())
    }
    /// Statements of the load whose results nothing drops.
    fn lasting(&self, dialect: Dialect) -> Vec<String> {
        let _ = dialect;
        Vec::new()
    }
    /// What the answers to its statements must contain on tables as they were loaded. `seen` is what they contained,
    /// in the order of [`crate::Client::answers`]; empty where clients check each answer themselves.
    fn expected_answers(&self, seen: &[Answers], setting: &Setting) -> Vec<Expected> {
        let _ = (seen, setting);
        Vec::new()
    }
    /// The names of the statements that clients time one by one, in the order of [`crate::Recorder::statement`].
    fn timed_statements(&self, dialect: Dialect) -> Vec<String> {
        let _ = dialect;
        Vec::new()
    }
    fn other_mix(&self) -> Option<OtherMix> {
        None
    }
    fn single_pass(&self) -> Option<&dyn SinglePass> {
        None
    }
    fn replays(&self) -> Option<&dyn Replays> {
        None
    }
    fn defers_work(&self) -> Option<&dyn DefersWork> {
        None
    }
    fn reuses_tables(&self) -> Option<&dyn ReusesTables> {
        None
    }
    fn has_plans(&self) -> Option<&dyn HasPlans> {
        None
    }
    fn crash_witness(&self) -> Option<&dyn CrashWitness> {
        None
    }
    fn derived_metrics(&self) -> Option<&dyn DerivedMetrics> {
        None
    }
    fn runs_once(&self) -> Option<&dyn RunsOnce> {
        None
    }
    fn commands(&self) -> Option<&dyn Commands> {
        None
    }
    fn keeps_ledger(&self) -> Option<&dyn KeepsLedger> {
        None
    }
}

impl dyn Workload + '_ {
    /// Whether a client runs operations once through and is done, instead of for a time.
    pub fn is_one_pass(&self) -> bool {
        self.single_pass().is_some()
    }

    /// Whether its clients come to an end by themselves: it takes the time it takes.
    pub fn ends_itself(&self) -> bool {
        self.is_one_pass() || self.replays().is_some()
    }
}

/// What the answers of a load lacked, or had too much of; nothing where all were as its workload declares.
pub fn wrong_answers(workload: &dyn Workload, tally: &Tally, setting: &Setting) -> Vec<String> {
    let expected = workload.expected_answers(&tally.answers, setting);
    expected.iter().flat_map(Expected::violations).collect()
}

/// A client that runs once through and is done, instead of for a time: the measured interval is the pass, or the part of
/// it that [`Slot::begin_interval`](crate::Slot::begin_interval) begins.
pub trait SinglePass {
    /// What a pass goes through, in order; shown while it runs.
    fn parts(&self) -> Vec<&'static str>;
    /// How many operations a pass times, each compared by itself.
    fn operations(&self) -> usize;
    /// About how long a pass takes, as a guess before the first: an order of magnitude.
    fn expected_duration(&self) -> Duration;
    /// About how much of that warms up, where every client does and then waits for the interval.
    fn warm_up(&self) -> Option<Duration> {
        None
    }
}

/// A workload whose clients run what a log holds, statement by statement, and are then done. Statements have due times
/// of their own, and a client may wait for what others do first.
///
/// Its clients open the measured interval: they alone know where the part ends that warms up. Response and service
/// times are those of statements, not of transactions.
pub trait Replays {
    /// The same, for one load: with what its clients share while they run.
    fn for_load(&self, bells: Arc<Bells>) -> Arc<dyn Workload>;
    /// How the due times follow from the log, for a title.
    fn pacing(&self) -> String;
    /// Whether statements are due at times of the log.
    fn has_due_times(&self) -> bool;
    /// A statement that may change data, literals taken out; None where all statements read.
    fn writes(&self) -> Option<String>;
    /// About how long the part takes that warms up, where there is one.
    fn warm_up(&self) -> Duration;
    /// About how long it takes, that part included.
    fn expected_duration(&self) -> Duration;
    /// How long no transaction need end while all goes well.
    fn silence_max(&self) -> Duration;
    /// Statements that are timed apart.
    fn digests(&self) -> Vec<LoggedDigest>;
    /// What must be known about figures of a load, by flag.
    fn remarks(&self, tally: &Tally) -> Vec<(String, String)>;
    /// Where answers are to be compared.
    fn answering(&self) -> Option<&dyn Answering> {
        None
    }
}

/// Statements of a log that are alike but for their literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedDigest {
    /// The name of their times.
    pub id: String,
    pub text: String,
    /// In the measured part.
    pub calls: u64,
    /// They are called often enough, and take enough of the time of the log, for a verdict of their own.
    pub is_judged: bool,
}

/// A replay whose answers can be kept and compared, statement by statement.
pub trait Answering {
    /// Statements of the log, in its order of sessions.
    fn statements(&self) -> usize;
    /// None for what is sent for what a session had before the log began.
    fn asked(&self, statement: usize) -> Option<Asked<'_>>;
    /// A statement as an example shows it: with its values only where the experiment asks for that.
    fn shown(&self, statement: usize) -> String;
    /// About how long it takes, one transaction after the other.
    fn expected_duration(&self) -> Duration;
    /// The same workload, one transaction after the other, that keeps every answer.
    fn noting(&self, log: Arc<AnswerLog>) -> Arc<dyn Workload>;
    /// Whether answers of timed trials are to be kept too.
    fn keeps_trials(&self) -> bool;
    /// The same workload as it is timed, which keeps every answer behind its time.
    fn noting_trial(&self, log: Arc<AnswerLog>) -> Arc<dyn Workload>;
}

/// Clients that queue transactions, which other connections run later.
pub trait DefersWork {
    /// The slots that run them, beside so many clients.
    fn background(&self, clients: u32) -> Background;
    /// What each line of the log of deferred transactions holds, in the order of [`crate::Client::journal`].
    fn log_columns(&self) -> &'static [&'static str];
}

/// Seats beside the clients, each with a connection of its own: they run what clients have queued.
///
/// What they run is no transaction of a client. Its kind counts it, from queued to answered, and nothing
/// else does: it is neither due nor committed, in no rate and in no second of the series. Only its
/// statements, its errors and what the workload counts beside are those of the whole load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Background {
    pub slots: u32,
    /// The kind that deferred transactions are counted as.
    pub kind: usize,
}

/// Tables that are there before a run, and have to be what the run expects.
pub trait ReusesTables {
    /// Whether the tables are the ones that a run expects, of this seed; the reason if they are not. Quick:
    /// it is asked before each run.
    fn recognise(&self, admin: &mut Admin, data_seed: u64) -> Result<Result<(), String>, Error> {
        let _ = (admin, data_seed);
        Ok(Ok(()))
    }
    /// SQL to run before the clients connect, each time: what a run expects beyond loaded tables.
    fn prepare_run(&self, dialect: Dialect) -> Vec<String>;
    /// The statement that opens its clients' transactions on these tables, where they have several statements.
    fn opening_statement(&self, admin: &mut Admin) -> Result<Option<String>, Error> {
        let _ = admin;
        Ok(None)
    }
}

/// Statements that leave a server a choice of how to run them.
pub trait HasPlans {
    /// Those of its transactions, each once and with values that its tables have: to ask a server how it would run
    /// them. None where they follow from what the clients do. One that is timed has the name of its times.
    fn explained_statements(&self, dialect: Dialect) -> Vec<NamedStatement>;
    /// What is sent before one of them is explained, so that the session is as a client's: its settings, its database.
    fn before_explaining(&self, statement: &NamedStatement, dialect: Dialect) -> Vec<String> {
        let _ = (statement, dialect);
        Vec::new()
    }
    /// Whether others come up only while it runs: with values that answers bring, on tables that it makes and drops.
    fn finds_statements(&self) -> bool {
        false
    }
    /// Runs as much as brings those up, on a server whose data nobody needs any more, and hands each over while the
    /// server can explain it. Behind `until` nothing is run for it.
    fn find_statements(
        &self,
        connect: &mut dyn FnMut() -> Result<AnyConnection, Error>,
        until: Instant,
        found: &mut dyn FnMut(NamedStatement),
    ) -> Result<(), Error> {
        let _ = (connect, until, found);
        Ok(())
    }
    /// Whether their values are those of production, which no report may show.
    fn are_private(&self) -> bool {
        false
    }
    /// Queries that bring the same rows on every server whose tables were loaded from the same seed. Those of one
    /// name are compared, in any order of rows.
    fn compared_queries(&self, dialect: Dialect) -> Vec<NamedStatement> {
        let _ = dialect;
        Vec::new()
    }
    /// What the server answers to them, by name, in a form that is the same on every server; None where their rows are.
    fn answers(
        &self,
        connect: &mut dyn FnMut() -> Result<Admin, Error>,
        dialect: Dialect,
    ) -> Result<Option<BTreeMap<String, String>>, Error> {
        let _ = (connect, dialect);
        Ok(None)
    }
}

/// A workload whose tables show which transactions were committed.
pub trait CrashWitness {
    /// The state of the transactions that a server had acknowledged before it was killed, as text, now
    /// that it runs again on the same files.
    fn after_crash(&self, admin: &mut Admin, ran: &Tally) -> Result<String, Error>;
}

/// A workload that is a program with commands of its own, `prepare` among them: what makes its tables, and drops
/// them, is known to it alone.
pub trait Commands {
    /// Why a command cannot be run; None where it can.
    fn refuses(&self, command: &str) -> Option<String>;
    /// Whose option a name is, in any spelling; None where nobody knows it.
    fn owner(&self, option: &str) -> Option<Owner>;
    /// Its options and their defaults, for a reader.
    fn help(&self) -> String;
    /// What prints figures in a form of the program's own; None where it leaves that to dbduel.
    fn reporter(&self, target: &Target, clients: u32, seed: u64) -> Result<Option<Box<dyn Reporter>>, Error>;
    /// Runs a command, with as many sessions as `clients` where it can use them; what it draws follows from `seed`.
    fn run(
        &self,
        command: &str,
        target: &Target,
        clients: u32,
        seed: u64,
        interrupted: &AtomicBool,
    ) -> Result<(), Error>;
}

/// Prints figures of a run as its program wants them, beside the load.
pub trait Reporter {
    /// Prints figures by sysbench's names, times in seconds; false where nothing was printed.
    fn report(&mut self, part: Reported, figures: &[(&str, f64)]) -> Result<bool, Error>;
    /// Ends what was printed of intervals.
    fn end_intervals(&mut self) -> Result<(), Error>;
}

/// What figures are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    Interval,
    /// The whole run, or what came since the last checkpoint.
    Whole,
}

/// Whose an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The workload's alone.
    Workload,
    /// That of the program which such workloads are written for.
    Program,
}

/// A workload whose clients write what they ask for and what they are answered into a [`crate::Ledger`], so that after a crash
/// its tables can be compared with it.
pub trait KeepsLedger {
    /// How many of a load's clients write into the ledger: the first ones.
    fn clients(&self, of: u32) -> u32 {
        of
    }
    /// Its options, from which another process makes the same workload.
    fn options(&self) -> Vec<(&'static str, u64)>;
    /// Compares the tables with the ledgers of all loads since then.
    fn audit(&self, admin: &mut Admin, ledgers: &[Witnessed<'_>]) -> Result<Audit, Error>;
}

/// Metrics of the workload's own, made from one interval's tally.
pub trait DerivedMetrics {
    /// By name, the primary metric in front.
    fn rates(&self, tally: &Tally) -> Vec<(&'static str, f64)>;
}

/// Transactions that can be run once each, to see what their statements bring before anything is measured.
pub trait RunsOnce {
    /// Runs each transaction once, on a connection of its own, and takes back what it changed as far as the server can.
    fn run_once(
        &self,
        connect: &mut dyn FnMut() -> Result<AnyConnection, Error>,
        input_seed: u64,
    ) -> Result<Vec<TriedTransaction>, Error>;
}

/// What one transaction brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedTransaction {
    pub name: String,
    pub statements: Vec<TriedStatement>,
    /// Why it ended before its last statement.
    pub failure: Option<String>,
    /// Statements whose changes could not be taken back.
    pub lasting: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TriedStatement {
    pub line: usize,
    pub label: Option<String>,
    pub sql: String,
    pub outcome: TriedOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriedOutcome {
    /// Rows that it returned, or that a change found.
    Answered {
        rows: u64,
        took_ns: u64,
    },
    Failed,
    /// A COMMIT: what it would keep is taken back.
    HeldBack,
    /// In a branch that was not taken, or behind the statement that failed.
    NotReached,
}

/// A row of a sysbench table with its secondary index and the pages' free space.
const ROW_BYTES: u64 = 260;
