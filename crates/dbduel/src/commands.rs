//! What each command does, from its flags to its exit status.
//!
//! Results go to stdout, everything else to stderr. It holds no knowledge of its own: it puts the
//! modules together in the order in which they are numbered.

mod aa;
mod advise;
mod clones;
mod compare;
mod contrasts;
mod diagnostics;
mod doubling;
mod lists;
mod preflight;
mod progress;
mod refusal;
mod room;
mod run;
mod seats;
mod selftest;
mod stage;
mod tune;
mod verify;

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use driver::Dialect;

use self::preflight::Preflight;
use terminal::wants_color;
pub use terminal::{Failure, note, say, say_report};

use crate::cli::{Cli, Command, PlanArgs, ReportArgs, exit};
use crate::store::RunDir;
use bench::command_line::Verb;
use engine::{ENGINES, Engine, engine};
use experiment::plan::{Plan, ResolvedFacts};
use experiment::resolve;
use experiment::{Contender, DEFAULT_EXPERIMENT, EngineWords, Experiment, Needs, Vocabulary};
use report::{self, Report};
use trial::observe;

/// Does what the command line asks and gives the exit status.
pub fn dispatch(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan(args),
        Command::Aa(args) => aa::aa(args),
        Command::Tune(args) => tune::tune(args),
        Command::Report(args) => tell(args),
        Command::Compare(args) => compare::compare(args),
        Command::Prepare(args) => bench::command(Verb::Prepare, &args.words),
        Command::Bench(args) => bench::command(Verb::Bench, &args.words),
        Command::Check(args) => bench::command(Verb::Check, &args.words),
        Command::Cleanup(args) => bench::command(Verb::Cleanup, &args.words),
        Command::List(args) => lists::list(args),
        Command::Fetch(args) => lists::fetch(args),
        Command::Cache(args) => lists::cache(args),
        Command::Advise(args) => advise::advise(args),
        Command::Verify(args) => verify::verify(args),
        Command::Selftest(args) => selftest::selftest(args),
    }
}

/// `dbduel report`: says a stored run again.
fn tell(args: &ReportArgs) -> Result<u8, Failure> {
    report::find(&args.format).map_err(Failure::usage)?;
    let (table, of_table) = (compare::layout(&args.table), args.format == report::sqlbench::Stored.name());
    if !of_table && (!args.beside.is_empty() || table != Default::default()) {
        return Err(Failure::usage(anyhow!(
            "--beside, --relative, --verbose, --skip-count and --no-bars shape the table of --format sqlbench, not `{}`",
            args.format
        )));
    }
    let run = RunDir::open(&args.runs, &args.run)?;
    let color = args.out.is_none() && wants_color();
    let beside = args.beside.iter().map(|path| report::sqlbench::read_log(path)).collect::<Result<_>>()?;
    let text = report::write(&run, &args.format, &report::Options { color, table, beside })?;
    match &args.out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => say_report(&text)?,
    }
    Ok(exit::DONE)
}

/// `dbduel plan`: says what a run would do, and what it would refuse; touches nothing.
fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    if args.defaults {
        say(DEFAULT_EXPERIMENT)?;
        return Ok(exit::DONE);
    }
    let file = args.file.as_deref().expect("clap asks for FILE unless --defaults is given");
    let experiment = Experiment::load(file, &vocabulary(), &args.method.overrides()).map_err(Failure::usage)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Failure::usage)?;
    expect_open_files(&experiment, file).map_err(Failure::usage)?;
    if args.json {
        let json = serde_json::to_string_pretty(&plan.json()).context("cannot write the plan as JSON")?;
        say(&(json + "\n"))?;
    } else {
        say(&plan.text())?;
    }
    let preflight = Preflight::of(&experiment);
    preflight.unchecked.iter().for_each(|line| note(line));
    preflight.expect_nothing_refused()?;
    Ok(exit::DONE)
}

/// Resolves every contender and plans all trials; fetches and starts nothing.
fn plan_experiment(experiment: &Experiment) -> Result<Plan> {
    let facts = experiment.contenders.iter().map(|contender| facts(contender, experiment.clients_max()));
    Ok(Plan::new(experiment, &facts.collect::<Result<Vec<_>>>()?, observe::THRESHOLDS))
}

/// Fails if this process may not open the files that the most clients of a trial need.
fn expect_open_files(experiment: &Experiment, file: &Path) -> Result<()> {
    let sides = if experiment.method.duet { 2 } else { 1 };
    let engines = experiment.contenders.iter().filter_map(|contender| engine(&contender.kind).ok());
    let files_each = engines.map(|engine| trial::host::files_of_a_client(engine.dialect())).max().unwrap_or(1);
    let files = u64::from(experiment.clients_max()) * sides * files_each;
    trial::host::expect_open_files(files).with_context(|| file.display().to_string())
}

fn cannot_plan(file: &Path) -> String {
    format!("{}: this experiment cannot be planned here", file.display())
}

/// What a contender's engine and version come to on this machine.
fn facts(contender: &Contender, clients_max: u32) -> Result<ResolvedFacts> {
    let resolved = resolve(contender)?;
    Ok(ResolvedFacts {
        source: resolved.source_text(),
        own_settings: resolved.own_settings(&contender.settings, clients_max),
        version: resolved.version,
    })
}

/// The names that an experiment file may use.
fn vocabulary() -> Vocabulary<'static> {
    let words = |engine: &&'static dyn Engine| {
        let (on, off) = if engine.dialect() == Dialect::MySql { ("ON", "OFF") } else { ("on", "off") };
        EngineWords { name: engine.kind(), dialect: engine.dialect(), on, off }
    };
    Vocabulary {
        engines: ENGINES.iter().map(words).collect(),
        workloads: workloads::WORKLOADS.iter().map(|kind| kind.name).collect(),
        options: &|name| workloads::workload_kind(name).map(|kind| kind.options),
        refused: &|kind, name, value| engine(kind).ok().and_then(|engine| engine.reserved().refusal(name, value)),
        check: &|name, given| {
            let Some(kind) = workloads::workload_kind(name) else { return Ok(Needs::default()) };
            let workload = load::Options::new(kind.options, given).and_then(|options| (kind.build)(&options))?;
            let not_on = ENGINES.iter().filter_map(|engine| {
                let refused = workload.runs_on(engine.dialect()).err();
                refused.map(|why| (engine.kind(), why))
            });
            let (one_pass, rests, keeps_its_size) =
                (workload.is_one_pass(), workload.rests(), workload.keeps_its_size());
            Ok(Needs { clients: workload.clients(), one_pass, rests, keeps_its_size, not_on: not_on.collect() })
        },
    }
}
