//! The command line: flags, help and exit codes. It decides nothing; `commands.rs` does the work.
//!
//! Only commands that work are listed here. Help lines are imperative, give unit and default, and
//! name the case in which one would want the flag.

pub mod hide_password;
mod logs;
mod subject;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue};
use clap::{ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use experiment::{Overrides, meant_by, preset_names, quantity};

use logs::size;
pub use logs::{CaptureArgs, DigestArgs, PrivacyArgs};
pub use subject::{SubjectArgs, expect_two};
pub use terminal::exit;

pub const EXIT_HELP: &str = "\
Exit status:
    0  finished, whatever the verdict
    1  --gate: a candidate is slower, overall or at any point, or beyond a limit of [gate]
    2  bad usage or a bad experiment file
    3  --gate: a verdict is inconclusive, or a limit of [gate] is not decided
    4  a contender did not start or has no trial that succeeded, a point was given up, a server was
       gone at the end, bench got wrong answers, or something needed is not there
    5  check: the data are not as they should be; verify: something differs; selftest: a target was
       missed; push, pull: a run is another than the one that is stored
  130  interrupted; what was measured is kept, `--resume` goes on";

/// What the program prints when it is given nothing: what it is, what to try, where to read on.
pub const FIRST_LINES: [&str; 6] = [
    "dbduel: which of these database servers is faster, by how much, and how sure?",
    "  dbduel run mysql@5.7 mysql@8.0     fetches and measures both: 3 min to a verdict",
    "  dbduel run sqlite 'sqlite?synchronous=OFF'        the same without any server",
    "  dbduel list                        servers, workloads and stored runs",
    "  dbduel --help                      all commands; `dbduel run --help` has more",
    "Guide: docs/guide/first-duel.md in the source; man pages: dbduel man --out DIR",
];

/// What `--version` prints behind the name: version, commit and target. The commit comes from whoever builds a release,
/// so that a build from source is not made again with each one.
fn build() -> String {
    let commit =
        option_env!("DBDUEL_COMMIT").map_or("built from source".to_owned(), |commit| format!("commit {commit}"));
    let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let checks = if cfg!(debug_assertions) { ", with debug assertions" } else { "" };
    let (processor, system) = (std::env::consts::ARCH, std::env::consts::OS);
    format!("{}\n{commit}, {processor}-{system}-{library}, {linked}{checks}", env!("CARGO_PKG_VERSION"))
}

/// Which of these database servers is faster for this work, by how much, and how sure are we?
#[derive(Debug, Parser)]
#[command(name = "dbduel", version, long_version = build(), max_term_width = 100, after_help = EXIT_HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Plan, provision, load, measure and report an experiment
    Run(RunArgs),
    /// Print every trial in order, the expected time, disk and memory, and what a run would refuse;
    /// change nothing
    Plan(PlanArgs),
    /// A/A test: the first contender against itself; shows whether this host can compare servers, and
    /// which difference it can detect
    Aa(AaArgs),
    /// Search for faster settings of the first contender by measuring, and measure the winner again
    Tune(TuneArgs),
    /// Print the report of a stored run
    Report(ReportArgs),
    /// Show stored runs side by side (ratios only: they were not interleaved), or RUN files of the classic
    /// sql-bench
    Compare(CompareArgs),
    /// Run one experiment over many releases, or show stored runs of one question over time
    History(HistoryArgs),
    /// Show stored and running experiments as web pages on this host, read-only
    Serve(ServeArgs),
    /// Check the workers of an experiment with [cluster]
    Cluster(ClusterArgs),
    /// Make and fill a workload's tables on a running server
    Prepare(WordsArgs),
    /// Run a workload against a running server and report; takes sysbench's command lines too
    Bench(WordsArgs),
    /// Run pgbench's scripts by pgbench's rules against a running server; takes pgbench's command lines
    Pgbench(WordsArgs),
    /// Verify a workload's data on a running server
    Check(WordsArgs),
    /// Drop a workload's tables on a running server
    Cleanup(WordsArgs),
    /// Print what the statements of server logs cost, by digest; needs no server
    Digest(DigestArgs),
    /// Make a capture of server logs: statements in the order of their starts, with sessions and transactions
    Capture(CaptureArgs),
    /// List engines, workloads, observers, report formats and stored runs
    List(ListArgs),
    /// Copy stored runs into a team's store in PostgreSQL
    Push(PushArgs),
    /// Copy a run out of a team's store into a folder of its own
    Pull(PullArgs),
    /// List stored runs: those of a folder, or those of a team's store
    Runs(RunsArgs),
    /// Print this host's hardware and system, as reports have it
    Host(HostArgs),
    /// Print what this host can and cannot do, and what each absence costs
    Doctor(DoctorArgs),
    /// Provision servers ahead of time
    Fetch(FetchArgs),
    /// Show what is in the cache, with sizes, or clear it
    Cache(CacheArgs),
    /// Print a tuning ladder for a server on a machine, with the reason for each rung
    Advise(AdviseArgs),
    /// Write an experiment file for two servers, with every other key as a comment: its default and the reason
    Init(InitArgs),
    /// Print the JSON Schema of experiment files, for editors
    Schema,
    /// Print the script that completes commands, files, versions and runs in a shell
    Completions(CompletionsArgs),
    /// Write man pages, one for each command
    Man(ManArgs),
    /// Recompute every number of a stored run or of an HTML report from the raw data
    Verify(VerifyArgs),
    /// Check the statistics by simulation, or what the observers cost
    Selftest(SelftestArgs),
}

/// Arguments that the crate `bench` parses, since sysbench's options are more than clap would take.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct WordsArgs {
    #[arg(value_name = "WORKLOAD --target URL [OPTIONS]", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Reads the command line, or prints what is wrong with it and ends the program.
pub fn parse(arguments: Vec<OsString>) -> Cli {
    let matches = command().try_get_matches_from(arguments).unwrap_or_else(|error| with_new_flag(error).exit());
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Flags of earlier drafts, and what to write in their place.
const RENAMED: [(&str, &str); 2] = [("--contrast", "--test-causes"), ("--diagnose", "--profile")];

/// Short options of pgbench, by the long names of other tools.
const PGBENCH: [(&str, &str); 4] = [("-c", "threads"), ("-j", "jobs"), ("-T", "time"), ("-s", "scale")];

/// Keys of an experiment file that have a flag of their name.
const FLAGS_OF_KEYS: [&str; 3] = ["clients", "rows", "duration"];

fn with_new_flag(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg).cloned() else { return error };
    let long = PGBENCH.iter().find(|(short, _)| *short == flag).map_or(flag.as_str(), |(_, long)| long);
    let renamed = RENAMED.iter().find(|(old, _)| *old == flag).map(|(_, new)| *new);
    match (renamed, meant_by(long.trim_start_matches('-'))) {
        (None, None) => {}
        (Some(new), _) => suggest(&mut error, new),
        (None, Some((["blocks"], _))) => suggest(&mut error, "--blocks"),
        (None, Some((keys, place))) => {
            let flag = if FLAGS_OF_KEYS.contains(&keys[0]) { format!("--{}, or ", keys[0]) } else { String::new() };
            let tip = format!("here this is {flag}a key of the experiment file: `{}`, {place}", keys[0]);
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
        }
    }
    error
}

fn suggest(error: &mut clap::Error, flag: &str) {
    error.insert(ContextKind::SuggestedArg, ContextValue::String(flag.to_owned()));
}

/// The whole command line, with the help of the commands that parse their own arguments.
pub fn command() -> clap::Command {
    let command = Cli::command().mut_subcommand("plan", |sub| sub.mut_arg("contenders", |arg| arg.help(PLAN_HELP)));
    let command = command.mut_subcommand("aa", |sub| {
        let sub = sub.mut_arg("contenders", |arg| arg.help(AA_HELP));
        sub.mut_arg("blocks", |blocks| blocks.help(AA_BLOCKS_HELP))
    });
    let command = command.mut_subcommand("history", |sub| {
        sub.mut_subcommand("run", |sub| sub.mut_arg("contenders", |arg| arg.help(HISTORY_HELP)))
    });
    let command = command.mut_subcommand("tune", |sub| {
        let sub = sub.mut_arg("contenders", |arg| arg.help(TUNE_HELP));
        let sub = sub.mut_arg("budget", |budget| budget.help(TUNE_BUDGET_HELP));
        let sub = sub.mut_arg("seed", |seed| seed.help(TUNE_SEED_HELP));
        sub.mut_arg("blocks", |blocks| blocks.help(TUNE_BLOCKS_HELP))
    });
    let command = command.mut_subcommand("pgbench", |sub| sub.override_help(bench::pgbench::help()));
    bench::command_line::Verb::ALL.iter().fold(command, |command, verb| {
        command.mut_subcommand(verb.name(), |sub| sub.override_help(bench::command_line::command_help(*verb)))
    })
}

#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Keep the run under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Continue an interrupted run: a folder, a name under --runs, or `last`
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    #[command(flatten)]
    pub method: MethodArgs,
    /// Write the experiment to this new file, and run nothing
    #[arg(long, value_name = "FILE", conflicts_with = "resume")]
    pub write: Option<PathBuf>,
    /// File the run under this label, such as commit=4f2a91c; may be given more than once, wins over
    /// [labels] of the file
    #[arg(long, value_name = "KEY=VALUE", value_parser = experiment::label)]
    pub label: Vec<(String, String)>,
    /// Exit with 1 when a candidate is slower anywhere, or beyond a limit of [gate] in the file, and with 3
    /// when that is not decided, for use in CI
    #[arg(long)]
    pub gate: bool,
    /// Copy every finished trial into this team's store, postgres://user@host/database [default: DBDUEL_STORE, else
    /// none]; the run never waits for it
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// Print the whole text report instead of its first screen; report.txt always has all of it
    #[arg(long)]
    pub full: bool,
    /// Print the JSON report on stdout instead of the text
    #[arg(long)]
    pub json: bool,
    /// The first contender is measured against itself; no flag, but what `dbduel aa` does
    #[arg(skip)]
    pub twins: bool,
}

impl RunArgs {
    /// Those of a run that another command makes.
    pub fn of(runs: &Path, method: &MethodArgs) -> RunArgs {
        RunArgs {
            subject: SubjectArgs::default(),
            runs: runs.to_owned(),
            resume: None,
            method: method.clone(),
            write: None,
            label: Vec::new(),
            gate: false,
            store: None,
            full: false,
            json: false,
            twins: false,
        }
    }

    /// What is asked for, without a file where nothing names one.
    pub fn request(&self) -> anyhow::Result<campaign::Request> {
        let RunArgs { runs, resume, .. } = self;
        let labels = self.label.iter().cloned().collect();
        let overrides = Overrides { twins: self.twins, labels, ..self.method.overrides() };
        let asked = self.subject.asked(overrides.clone())?;
        let (file, overrides) = asked.map_or((None, overrides), |(file, overrides)| (Some(file), overrides));
        Ok(campaign::Request {
            known: crate::KNOWN,
            file,
            runs: runs.clone(),
            resume: resume.clone(),
            overrides,
            progress: crate::commands::note,
        })
    }
}

const PLAN_HELP: &str = "Plan this: an experiment file, contenders, or both, as `dbduel run --help` describes them; without \
     any, list the experiments that come with dbduel";
const AA_HELP: &str = "Take the first contender, the workloads, the sweep and the method from this experiment file, or \
     test this contender, such as mysql@8.0; as in `dbduel run --help`";
const TUNE_HELP: &str = "Take the first contender, the workloads, the sweep and the method from this experiment file, or \
     tune this contender, such as mysql@8.0; as in `dbduel run --help`. The search uses the first workload, the others \
     are kept for the comparison";
const HISTORY_HELP: &str = "Take workloads, sweep, method, and the settings of the first contender from this experiment file \
     [default: those that `dbduel run` has for contenders without a file]";

/// `aa` always runs all its blocks: it asks how far blocks differ, not which contender is faster.
const AA_BLOCKS_HELP: &str = "Run this many blocks [default: 20]; of fewer than 8 no result is kept";

/// An A/A test: its flags are those of `run` that apply to it.
#[derive(Debug, Clone, Args)]
pub struct AaArgs {
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Keep the run under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Continue an interrupted A/A test: a folder, a name under --runs, or `last`
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    #[command(flatten)]
    pub method: MethodArgs,
    /// Print the JSON report on stdout instead of the text
    #[arg(long)]
    pub json: bool,
}

/// A search ends with a comparison, whose blocks are planned first.
const TUNE_BUDGET_HELP: &str = "End search and comparison within this time, such as 20m or 2h [default: the file's, \
     else none]: the comparison gets eight blocks, the search the rest; loading and crash tests come on top";
const TUNE_BLOCKS_HELP: &str =
    "Run at most this many blocks of the comparison [default: the preset's]; fewer than 8 allow no verdict";
const TUNE_SEED_HELP: &str = "Draw candidates, order and clients' inputs from this number [default: the file's, else 1]; \
     give another to search elsewhere";

/// A search: the comparison of its winner takes the flags of `run` that apply to it.
#[derive(Debug, Args)]
pub struct TuneArgs {
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Keep search and comparison under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Continue an interrupted search, or the comparison after it: a folder, a name under --runs, or
    /// `last`
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Start with this many candidates [default: 16]; more cover more of the settings and take longer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub candidates: Option<u32>,
    #[command(flatten)]
    pub method: MethodArgs,
    /// Write the comparison of the first contender and the winner to this new experiment file
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Print the JSON report on stdout instead of the text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub subject: SubjectArgs,
    #[command(flatten)]
    pub method: MethodArgs,
    /// Write the experiment to this new file, and print no plan
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "defaults", "try_out"])]
    pub write: Option<PathBuf>,
    /// Print the plan as JSON instead of text
    #[arg(long)]
    pub json: bool,
    /// Print every default of an experiment file, with its reason, and plan nothing
    #[arg(long, conflicts_with_all = ["contenders", "json"])]
    pub defaults: bool,
    /// Start each contender, run every transaction of your scripts once, take back what they changed as far as the server
    /// can, and print statements, rows and times
    #[arg(long = "try", requires = "contenders", conflicts_with_all = ["json", "defaults"])]
    pub try_out: bool,
}

/// What the command line may set of the method; it overrides the file and is recorded.
#[derive(Debug, Clone, Args)]
pub struct MethodArgs {
    /// Take what the file does not set from this preset [default: the file's, else standard]; quick
    /// for a quick check, strict for publication
    #[arg(long, value_name = "PRESET", value_parser = PossibleValuesParser::new(preset_names()))]
    pub preset: Option<String>,
    /// End the run after the last whole block that fits this time, such as 90s, 20m or 2h
    /// [default: the file's, else none]
    #[arg(long, value_name = "TIME", value_parser = budget)]
    pub budget: Option<Duration>,
    /// Run at most this many blocks [default: the preset's]; fewer than 8 allow no verdict (rule t: 4)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub blocks: Option<u32>,
    /// Use this seed for the order of trials and the clients' inputs [default: the file's, else 1];
    /// use another to test whether the result depends on the order
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    pub seed: Option<u64>,
    /// Set a key of the experiment file by its dotted path, such as workload.rows=100000 or sweep.clients=25,100,400;
    /// may be given more than once; part of the plan and of its hash
    #[arg(long, value_name = "KEY=VALUE", value_parser = experiment::setting)]
    pub set: Vec<(String, String)>,
    /// Take the `data` of your own SQL although it was not shut down cleanly: recovery runs once, on the copy, and the
    /// report says so; the same as --set workload.accept_unclean=true
    #[arg(long)]
    pub accept_unclean: bool,
    /// Run although other processes use the host's CPU; verdicts then carry the caveat `noisy host`
    #[arg(long)]
    pub accept_noisy: bool,
    /// Test causes after the verdict: four more blocks, with the data on tmpfs where the cause is I/O,
    /// with one client where it is locks, with steps of plans switched off where it is another plan;
    /// only this makes a cause `confirmed`
    #[arg(long)]
    pub test_causes: bool,
    /// Profile one more trial of each contender after the verdict: flame graphs by `perf`, and wait
    /// events; diagnostic only: never part of a verdict
    #[arg(long)]
    pub profile: bool,
}

/// A time that is worth a run.
fn budget(text: &str) -> Result<Duration, String> {
    let budget = quantity::duration(text)?;
    if budget.is_zero() { Err("no trial fits into no time".to_owned()) } else { Ok(budget) }
}

impl MethodArgs {
    /// What `--set` and its short forms set.
    fn settings(&self) -> impl Iterator<Item = (String, String)> {
        let unclean = self.accept_unclean.then(|| ("workload.accept_unclean".to_owned(), "true".to_owned()));
        self.set.iter().cloned().chain(unclean)
    }

    pub fn overrides(&self) -> Overrides {
        Overrides {
            preset: self.preset.clone(),
            budget: self.budget,
            blocks: self.blocks,
            seed: self.seed,
            set: self.settings().collect(),
            line: None,
            accept_noisy: self.accept_noisy,
            contrast: self.test_causes,
            diagnose: self.profile,
            labels: Default::default(),
            twins: false,
            fallback_name: None,
            files: None,
            leaves_recovery: false,
        }
    }
}

/// Where a command finds the runs that it reads.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// Find runs in this team's store, by name, id, experiment or `last`, instead of in a folder:
    /// postgres://user@host/database
    #[arg(long, value_name = "URL", conflicts_with = "runs")]
    pub store: Option<String>,
}

#[derive(Debug, Args)]
pub struct PushArgs {
    /// Copy these runs: folders, names under --runs, or `last`
    #[arg(value_name = "RUN", required = true)]
    pub run: Vec<String>,
    /// Find runs by name under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Copy them into this store, postgres://user@host/database[?schema=dbduel&sslmode=require&password_file=/PATH]
    /// [default: DBDUEL_STORE]; the password may also stand in DBDUEL_STORE_PASSWORD
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

#[derive(Debug, Args)]
pub struct PullArgs {
    /// Copy this run: its name, its id, its experiment where only one run has it, or `last`
    #[arg(value_name = "RUN")]
    pub stored: String,
    /// Copy it into a folder of its name under this one
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Copy it out of this store, postgres://user@host/database [default: DBDUEL_STORE]
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
}

#[derive(Debug, Args)]
pub struct RunsArgs {
    /// List the runs under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print the SQL that makes the tables of the store, for a role that may; connect to no server
    #[arg(long, requires = "store", conflicts_with = "json")]
    pub schema_sql: bool,
    /// Print the list as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct ServeArgs {
    /// Listen on this loopback address; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Show the runs of this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Report this run: a folder, a name under --runs, or `last` [default: last]
    #[arg(value_name = "RUN")]
    pub run: Option<String>,
    /// Find runs by name under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    /// Print it in this format; `dbduel list reports` lists all
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: String,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Compare with this contender instead of with the run's baseline
    #[arg(long, value_name = "NAME", conflicts_with = "schema")]
    pub baseline: Option<String>,
    /// Print the whole text report instead of its first screen; a file always has all of it
    #[arg(long)]
    pub full: bool,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
    /// With --format parquet: one row per trial, or per trial and second [default: trials]
    #[arg(long, value_name = "ROWS")]
    pub table: Option<Rows>,
    /// Print the JSON Schema of --format json; no run is read
    #[arg(long, conflicts_with_all = ["run", "out", "beside"])]
    pub schema: bool,
    /// With --format sqlbench: add columns from these RUN files of the classic suite
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub beside: Vec<PathBuf>,
    #[command(flatten)]
    pub layout: TableArgs,
}

/// What a row of a Parquet table stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Rows {
    Trials,
    Seconds,
}

#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Stored runs (a folder, a name under --runs, or `last`), or RUN files of the classic sql-bench; the
    /// first is the baseline
    #[arg(value_name = "RUN", num_args = 2.., required = true)]
    pub results: Vec<String>,
    /// Find runs by name under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub table: TableArgs,
}

#[derive(Debug, Args)]
pub struct ClusterArgs {
    #[command(subcommand)]
    pub action: ClusterAction,
}

#[derive(Debug, Subcommand)]
pub enum ClusterAction {
    /// Start the workers, read their clocks, measure what each can send at most against a server that does nothing,
    /// and end them; reaches no server of the experiment
    Check(ClusterCheckArgs),
}

#[derive(Debug, Args)]
pub struct ClusterCheckArgs {
    /// Experiment file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

#[derive(Debug, Args)]
pub struct HistoryArgs {
    #[command(subcommand)]
    pub action: HistoryAction,
}

#[derive(Debug, Subcommand)]
pub enum HistoryAction {
    /// Run an experiment over many releases of an engine, all of them in every block: which release changed it?
    Run(HistoryRunArgs),
    /// Show the ratios of stored runs of one name over time, and where they took a new level
    Show(HistoryShowArgs),
    /// Find the build or release that changed the speed, among many, by few duels
    Bisect(HistoryBisectArgs),
}

#[derive(Debug, Args)]
pub struct HistoryRunArgs {
    #[command(flatten)]
    pub subject: SubjectArgs,
    /// Measure these releases: a list, mysql@5.5.9,5.6.24,8.0.31, a range of the catalogue, postgres@9.6..18, or a list of
    /// container images, mysql:8.0.20,mysql:8.4, which are ordered by the versions of their servers
    #[arg(long, value_name = "ENGINE@VERSIONS")]
    pub versions: String,
    /// Keep the run under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub method: MethodArgs,
    /// Print the JSON report on stdout instead of the text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct HistoryBisectArgs {
    /// Search among the contenders of this TOML file, in its order; its workload and method hold for each duel
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Search among these releases instead: a list, mysql@5.5.9,5.6.24,8.0.31, or a range of the catalogue, postgres@9.6..18
    #[arg(long, value_name = "ENGINE@VERSIONS")]
    pub versions: Option<String>,
    /// Do one step of `git bisect run`: `dbduel run FILE --gate` that exits with 0 for a build within the limits of [gate],
    /// 1 for one beyond them, 125 for one that is not decided or does not start
    #[arg(long, conflicts_with = "versions")]
    pub step: bool,
    /// Keep the runs under this folder; a duel that is stored there is not run again
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub method: MethodArgs,
}

#[derive(Debug, Args)]
pub struct HistoryShowArgs {
    /// Show runs of this name: the experiment's `name` [default: that of the last run]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// Find runs under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Print it in this format
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = PossibleValuesParser::new(report::history::FORMATS))]
    pub format: String,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    /// Write to this file instead of stdout
    #[arg(long, value_name = "PATH")]
    pub out: Option<PathBuf>,
}

/// The format that is asked for.
pub fn format_of(format: &str, json: bool) -> &str {
    if json { "json" } else { format }
}

/// Options of the comparison table of sql-bench.
#[derive(Debug, Args)]
pub struct TableArgs {
    /// In sql-bench's table: seconds in the first column only, multiples of it in the others
    #[arg(long)]
    pub relative: bool,
    /// In sql-bench's table: each time with its count
    #[arg(long)]
    pub verbose: bool,
    /// In sql-bench's table: leave the counts out
    #[arg(long)]
    pub skip_count: bool,
    /// In sql-bench's table: leave the bars between columns out
    #[arg(long)]
    pub no_bars: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    Engines,
    Workloads,
    Kinds,
    Observers,
    Reports,
    Runs,
}

impl Listed {
    pub const ALL: [Listed; 6] =
        [Listed::Engines, Listed::Workloads, Listed::Kinds, Listed::Observers, Listed::Reports, Listed::Runs];
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// List these [default: everything]
    #[arg(value_name = "WHAT")]
    pub what: Option<Listed>,
    /// List the runs under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    /// Print the list as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct HostArgs {
    /// Print it in this format: markdown to paste, json for programs
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = PossibleValuesParser::new(report::hardware::FORMATS))]
    pub format: String,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print it for programs: name, what was found, what it costs, what to do
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct FetchArgs {
    /// Provision these, such as mysql@5.6.24 or postgres@17
    #[arg(value_name = "ENGINE@VERSION", required_unless_present_any = ["image", "archive"])]
    pub engines: Vec<String>,
    /// Fetch this container image and unpack it, such as mysql:8.4 or oci:FOLDER:TAG; its registry is asked again what
    /// a tag means. May be given several times
    #[arg(long, value_name = "IMAGE")]
    pub image: Vec<String>,
    /// Unpack this archive of a server. May be given several times
    #[arg(long, value_name = "FILE")]
    pub archive: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Do this; without it, show what is there
    #[command(subcommand)]
    pub action: Option<CacheAction>,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub enum CacheAction {
    /// Remove all cached servers, templates and snapshots; they are fetched and loaded again when a run needs
    /// them. Results of A/A tests stay: they are small, and took hours
    Clear {
        /// Remove the files of this container image only, such as mysql:8.4
        #[arg(long, value_name = "IMAGE")]
        image: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct AdviseArgs {
    /// Advise on this, such as mysql@5.6.24 or postgres@17
    #[arg(value_name = "ENGINE@VERSION")]
    pub engine: String,
    /// Give the server this much memory, such as 8GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: u64,
    /// Give it this many cores
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cores: u32,
    /// Let it hold this much data, indexes included, such as 4GiB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub data: u64,
    /// Plan for this many clients [default: 16]; each needs memory
    #[arg(long, value_name = "N", default_value_t = advisor::ADVISED_CLIENTS, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub clients: u32,
    /// Write it as an experiment, to a new file: TPC-C-derived, with data of this size
    #[arg(long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// Print the advice as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Args)]
pub struct InitArgs {
    /// Compare these two; the first is the baseline. Each is an engine with its version (mysql@8.0.31), a
    /// container image (mysql:8.4), a vendor's archive, a folder with a server that you unpacked, or the URL of a running server
    #[arg(value_name = "SERVER", num_args = 2, required = true)]
    pub servers: Vec<String>,
    /// Measure this workload; `dbduel list workloads` has the names
    #[arg(long, value_name = "WORKLOAD", default_value = "oltp_read_write")]
    pub workload: String,
    /// Write to this new file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Shells that `completions` has a script for.
pub const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];

#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell that reads the script: `source <(dbduel completions bash)` in ~/.bashrc
    #[arg(value_name = "SHELL", value_parser = PossibleValuesParser::new(SHELLS))]
    pub shell: String,
}

#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write the pages to this folder, which is made where it is missing
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Verify this: a run's folder, its name under --runs, `last`, or an HTML report
    #[arg(value_name = "RUN|REPORT.html")]
    pub subject: String,
    /// Find runs by name under this folder
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub runs: PathBuf,
    #[command(flatten)]
    pub store: StoreArgs,
}

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct SelftestArgs {
    /// Simulate servers and hosts with a known difference, judge them by the code that judges runs,
    /// and check that broken designs are caught
    #[arg(long, group = "what")]
    pub sim: bool,
    /// Measure what the observers cost: work that keeps every CPU busy, with and without the observers'
    /// thread in random order; they may not cost more than 0.5 % of throughput
    #[arg(long, group = "what")]
    pub observers: bool,
    /// With --observers: measure this many blocks of 2 s with and 2 s without [default: 60]; more
    /// detect smaller costs
    #[arg(long, value_name = "N", default_value_t = 60, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(8..=10_000))]
    pub blocks: u32,
    /// With --sim: simulate this many runs for each kind of noise and each difference [default: 4000]; fewer
    /// are quicker; targets allow for chance
    #[arg(long, value_name = "N", default_value_t = 4000, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    pub runs: u32,
    /// Use this seed for hosts, order and noise [default: 1]; use another to test whether the result
    /// was chance
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub seed: u64,
    /// Print the figures as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn a_renamed_flag_is_refused_with_its_new_name() {
        for (old, new) in RENAMED {
            let error = command().try_get_matches_from(["dbduel", "run", "x.toml", old]).unwrap_err();
            assert!(with_new_flag(error).to_string().contains(&format!("'{new}'")), "{old}");
            assert!(command().try_get_matches_from(["dbduel", "run", "x.toml", new]).is_ok());
        }
    }

    #[test]
    fn flags_of_other_tools_are_refused_with_our_word() {
        let said = |flag: &str| {
            let error = command().try_get_matches_from(["dbduel", "run", "x.toml", flag, "4"]).unwrap_err();
            with_new_flag(error).to_string()
        };
        for (flag, expected) in [
            ("--repetitions", "'--blocks'"),
            ("--iterations", "'--blocks'"),
            ("--threads", "`clients`, in [workload] or [sweep]"),
            ("--vus", "`clients`"),
            ("--time", "`duration`, in [method]"),
            ("--table-size", "`rows`, in [workload]"),
            ("-c", "`clients`, in [workload] or [sweep]"),
            ("-T", "`duration`, in [method]"),
        ] {
            assert!(said(flag).contains(expected), "{flag}: {}", said(flag));
        }
    }

    #[test]
    fn a_budget_without_a_unit_is_refused() {
        let parse = |budget| Cli::try_parse_from(["dbduel", "plan", "x.toml", "--budget", budget]);
        assert!(parse("20m").is_ok() && parse("0s").is_err());
        assert!(parse("20").unwrap_err().to_string().contains("has no unit"));
    }

    #[test]
    fn a_size_has_a_unit_and_is_more_than_nothing() {
        assert_eq!(size("8GiB"), Ok(8 << 30));
        assert_eq!(size("512M"), Ok(512 << 20));
        assert!(size("8").unwrap_err().contains("8GiB"));
        assert!(size("0GiB").unwrap_err().contains("nothing"));
        assert!(size("lots").unwrap_err().contains("not a size"));
        assert!(size("-1GiB").is_err());
    }

    #[test]
    fn every_exit_status_is_in_the_help() {
        use exit::{DONE, GATE_INCONCLUSIVE, GATE_SLOWER, INTERRUPTED, NOT_MEASURED, USAGE, VIOLATION};
        for status in [DONE, GATE_SLOWER, USAGE, GATE_INCONCLUSIVE, NOT_MEASURED, VIOLATION, INTERRUPTED] {
            assert!(EXIT_HELP.contains(&format!("{status:>5}  ")), "{status}");
        }
    }
}
