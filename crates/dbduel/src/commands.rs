//! What each command does, from its flags to its exit status.
//!
//! Results go to stdout, everything else to stderr. It holds no knowledge of its own: it puts the
//! modules together in the order in which they are numbered.

mod aa;
mod advise;
mod compare;
mod lists;
mod run;
mod selftest;
mod tune;
mod verify;

use anyhow::{Context, Result, anyhow};

use campaign::planning::{cannot_plan, expect_open_files, plan_experiment};
use campaign::preflight::Preflight;
use terminal::wants_color;
pub use terminal::{Failure, note, print, print_report};

use crate::KNOWN;
use crate::cli::{Cli, Command, PlanArgs, ReportArgs, exit};
use bench::command_line::Verb;
use experiment::{DEFAULT_EXPERIMENT, Experiment};
use record::RunDir;
use report::{self, Report};

/// Does what the command line asks and gives the exit status.
pub fn dispatch(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan(args),
        Command::Aa(args) => aa::aa(args),
        Command::Tune(args) => tune::tune(args),
        Command::Report(args) => report_stored(args),
        Command::Compare(args) => compare::compare(args),
        Command::Prepare(args) => bench::command(Verb::Prepare, &args.words),
        Command::Bench(args) => bench::command(Verb::Bench, &args.words),
        Command::Pgbench(args) => bench::pgbench::command(&args.words),
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

/// `dbduel report`: prints the report of a stored run.
fn report_stored(args: &ReportArgs) -> Result<u8, Failure> {
    let Some(run) = &args.run else {
        print(&report::json::schema()?)?;
        return Ok(exit::DONE);
    };
    report::find(&args.format).map_err(Failure::usage)?;
    let (table, of_table) = (compare::layout(&args.table), args.format == report::sqlbench::Stored.name());
    if !of_table && (!args.beside.is_empty() || table != Default::default()) {
        return Err(Failure::usage(anyhow!(
            "--beside, --relative, --verbose, --skip-count and --no-bars shape the table of --format sqlbench, not `{}`",
            args.format
        )));
    }
    let run = RunDir::open(&args.runs, run)?;
    let color = args.out.is_none() && wants_color();
    let beside = args.beside.iter().map(|path| report::sqlbench::read_log(path)).collect::<Result<_>>()?;
    let printed = first_screen();
    let brief = args.out.is_none() && !args.full;
    let width = printed.width.filter(|_| args.out.is_none());
    let text = report::write(&run, &args.format, &report::Options { color, brief, width, table, beside })?;
    match &args.out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => print_report(&text)?,
    }
    Ok(exit::DONE)
}

/// What a terminal gets of a text report.
fn first_screen() -> report::Options {
    report::Options { brief: true, width: Some(terminal::width()), ..report::Options::default() }
}

/// `dbduel plan`: prints what a run would do, and what it would refuse; touches nothing.
fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    if args.defaults {
        print(DEFAULT_EXPERIMENT)?;
        return Ok(exit::DONE);
    }
    let file = args.file.as_deref().expect("clap asks for FILE unless --defaults is given");
    let experiment = Experiment::load(file, &KNOWN, &args.method.overrides()).map_err(Failure::usage)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Failure::usage)?;
    expect_open_files(&experiment, file).map_err(Failure::usage)?;
    if args.json {
        let json = serde_json::to_string_pretty(&plan.json()).context("cannot write the plan as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&plan.text())?;
    }
    let preflight = Preflight::of(&experiment);
    preflight.unchecked.iter().for_each(|line| note(line));
    preflight.expect_nothing_refused()?;
    Ok(exit::DONE)
}
