//! What each command does, from its flags to its exit status.
//!
//! Results go to stdout, everything else to stderr. It holds no knowledge of its own: it puts the
//! modules together in the order in which they are numbered.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result, anyhow};
use load::OptionSpec;

use crate::cli::{Cli, Command, PlanArgs, exit};
use crate::experiment::{Contender, DEFAULT_EXPERIMENT, EngineWords, Experiment, VersionRequest, Vocabulary};
use crate::plan::{Plan, ResolvedFacts};

/// Why a command did not do what it was asked, and the exit status that says so.
#[derive(Debug)]
pub struct Failure {
    pub status: u8,
    pub error: anyhow::Error,
}

impl Failure {
    /// The command line or the experiment file is at fault.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Failure { status: exit::USAGE, error: error.into() }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure { status: exit::NOT_MEASURED, error }
    }
}

/// Does what the command line asks and gives the exit status.
pub fn dispatch(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Command::Plan(args) => plan(args, &facts_as_asked_for),
        Command::Run(_) => Err(not_integrated("run")),
        Command::Report(_) => Err(not_integrated("report")),
        Command::List(_) => Err(not_integrated("list")),
        Command::Fetch(_) => Err(not_integrated("fetch")),
        Command::Cache(_) => Err(not_integrated("cache")),
    }
}

fn not_integrated(command: &str) -> Failure {
    anyhow!("`dbduel {command}` is not integrated in this build; `dbduel plan FILE` works").into()
}

/// Finds out what a contender's engine and version are, without fetching or starting anything.
pub type Resolve<'a> = &'a dyn Fn(&Contender) -> Result<ResolvedFacts>;

/// `dbduel plan`: says what a run would do, and touches nothing.
pub fn plan(args: &PlanArgs, resolve: Resolve) -> Result<u8, Failure> {
    if args.defaults {
        say(DEFAULT_EXPERIMENT)?;
        return Ok(exit::DONE);
    }
    let file = args.file.as_deref().expect("clap asks for FILE unless --defaults is given");
    let experiment = Experiment::load(file, &vocabulary(), &args.method.overrides()).map_err(Failure::usage)?;
    let plan = plan_experiment(&experiment, resolve).map_err(Failure::usage)?;
    if args.json {
        let json = serde_json::to_string_pretty(&plan.json()).context("cannot write the plan as JSON")?;
        say(&(json + "\n"))?;
    } else {
        say(&plan.text())?;
    }
    Ok(exit::DONE)
}

/// Resolves every contender and plans all trials.
pub fn plan_experiment(experiment: &Experiment, resolve: Resolve) -> Result<Plan> {
    let facts = experiment.contenders.iter().map(|contender| {
        resolve(contender).with_context(|| format!("cannot find the server of contender `{}`", contender.name))
    });
    Ok(Plan::new(experiment, &facts.collect::<Result<Vec<_>>>()?))
}

/// Writes a result to stdout. A reader that has gone away (`| head`) has seen enough.
pub fn say(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(cause) if cause.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.context("cannot write to stdout"),
    }
}

/// The facts of a contender as far as its file tells them.
fn facts_as_asked_for(contender: &Contender) -> Result<ResolvedFacts> {
    let version = match &contender.version {
        VersionRequest::Newest => "newest known",
        VersionRequest::System => "system",
        VersionRequest::Series(series) => series,
    };
    Ok(ResolvedFacts {
        version: version.to_owned(),
        source: "wherever it can be had (not looked up)".to_owned(),
        own_settings: BTreeMap::new(),
    })
}

/// The names that an experiment file may use.
pub fn vocabulary() -> Vocabulary<'static> {
    let words = |name, on, off| EngineWords { name, on, off };
    Vocabulary {
        engines: vec![
            words("mysql", "ON", "OFF"),
            words("mariadb", "ON", "OFF"),
            words("postgres", "on", "off"),
            words("sqlite", "on", "off"),
        ],
        workloads: OLTP_WORKLOADS.to_vec(),
        options: &|name| OLTP_WORKLOADS.contains(&name).then_some(OLTP_OPTIONS),
        check: &|_, _| Ok(()),
    }
}

static OLTP_WORKLOADS: &[&str] = &[
    "oltp_read_write",
    "oltp_read_only",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
];

/// sysbench's options, by its names and with its defaults, but for the number of rows.
static OLTP_OPTIONS: &[OptionSpec] = &[
    option("tables", None, "1", "tables of the same shape"),
    option("rows", Some("table_size"), "100000", "rows of each table"),
    option("point_selects", None, "10", "point selects of each transaction"),
    option("simple_ranges", None, "1", "range selects of each transaction"),
    option("sum_ranges", None, "1", "range sums of each transaction"),
    option("order_ranges", None, "1", "sorted ranges of each transaction"),
    option("distinct_ranges", None, "1", "distinct ranges of each transaction"),
    option("index_updates", None, "1", "updates of an indexed column of each transaction"),
    option("non_index_updates", None, "1", "updates of an unindexed column of each transaction"),
    option("delete_inserts", None, "1", "pairs of delete and insert of each transaction"),
    option("range_size", None, "100", "rows of each range"),
    option("range_selects", None, "true", "false leaves all four kinds of range out"),
    option("skip_trx", None, "false", "true sends no BEGIN and COMMIT"),
    option("rand_type", None, "\"uniform\"", "distribution of the rows that are touched"),
];

const fn option(
    name: &'static str,
    alias: Option<&'static str>,
    default: &'static str,
    help: &'static str,
) -> OptionSpec {
    OptionSpec { name, alias, default, help }
}
