//! What a command line asks for.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::PasswordSource;
use experiment::TargetUrl;
use load::OptionValue;

/// The command as it stands on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Prepare,
    Bench,
    Check,
    Cleanup,
}

impl Verb {
    pub const ALL: [Verb; 4] = [Verb::Prepare, Verb::Bench, Verb::Check, Verb::Cleanup];

    pub fn name(self) -> &'static str {
        match self {
            Verb::Prepare => "prepare",
            Verb::Bench => "bench",
            Verb::Check => "check",
            Verb::Cleanup => "cleanup",
        }
    }
}

/// What is to be done; sysbench's last word decides in its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    Prepare,
    Bench,
    Check,
    Cleanup,
    /// sysbench's `prewarm`: reads the tables into the server's memory.
    Prewarm,
    /// A command that a script brings along.
    Command,
}

/// Whose rules to follow in distribution, retries, counting and layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    Modern,
    Classic,
}

impl Compat {
    pub const WORDS: [&str; 2] = ["sysbench-1.0", "sysbench-0.4"];

    pub fn word(self) -> &'static str {
        Compat::WORDS[self as usize]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
    Modern,
    Classic,
    Dbt2,
    Dbt2Compat,
}

impl Format {
    /// With the arguments of the command line.
    pub const WORDS: [(&str, Format); 6] = [
        ("text", Format::Text),
        ("json", Format::Json),
        ("sysbench-1.0", Format::Modern),
        ("sysbench-0.4", Format::Classic),
        ("dbt2", Format::Dbt2),
        ("dbt2-compat", Format::Dbt2Compat),
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    Poisson,
    Constant,
}

/// What happens to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reconnect {
    /// A lost connection ends the run.
    Off,
    /// A lost connection is opened again.
    On,
    /// And also after every so many transactions of a client.
    Every(u64),
}

/// When to stop waiting for what still runs at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ForcedShutdown {
    Off,
    After(Duration),
    /// Of the time limit.
    Share(f64),
}

/// The target of a line that names none, or why it cannot be read.
pub type DefaultTarget = Option<Result<TargetUrl, String>>;

/// Everything that a command line asks for; defaults are filled in.
#[derive(Clone)]
pub struct Request {
    pub action: Action,
    /// The name of a script's command.
    pub command: Option<String>,
    pub workload: &'static load::WorkloadKind,
    /// As given, our default number of rows included; the workload fills in the rest.
    pub workload_options: BTreeMap<String, OptionValue>,
    pub compat: Option<Compat>,
    pub target: TargetUrl,
    /// It stands in DATABASE_URL and not on the command line.
    pub target_is_default: bool,
    /// Servers of the same login that clients also connect to, in turn with the target.
    pub further: Vec<TargetUrl>,
    /// Against a server that does nothing, in place of the target.
    pub dry_run: bool,
    /// Another measurement on this host is not waited for.
    pub no_wait: bool,
    pub password: PasswordSource,
    pub clients: u32,
    /// None is no limit.
    pub duration: Option<Duration>,
    pub events: Option<u64>,
    /// Per second; None is a closed loop.
    pub rate: Option<f64>,
    pub arrivals: Arrivals,
    /// Arrivals that may wait; None is the load's own default.
    pub queue: Option<u32>,
    pub warmup: Duration,
    pub report_interval: Option<Duration>,
    pub checkpoints: Vec<Duration>,
    pub percentiles: Vec<f64>,
    pub histogram: bool,
    pub rand_seed: Option<u64>,
    pub reconnect: Reconnect,
    /// Codes to ignore instead of the workload's own; `all` stands alone.
    pub ignore_errors: Option<Vec<String>>,
    pub workers: Option<u32>,
    pub forced_shutdown: ForcedShutdown,
    /// Ends a wait that has no other end when no transaction has ended for so long.
    pub silence: Duration,
    pub format: Format,
    /// What was accepted without an effect, for stderr.
    pub notes: Vec<String>,
}

/// The request of the arguments.
pub enum Asked {
    /// Print this and be done.
    Help(String),
    Do(Box<Request>),
}
