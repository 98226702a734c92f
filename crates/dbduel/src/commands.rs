//! What each command does, from its flags to its exit status.
//!
//! Results go to stdout, everything else to stderr. It holds no knowledge of its own: it puts the
//! modules together in the order in which they are numbered.

mod aa;
mod advise;
mod capture;
mod cluster;
mod compare;
mod digest;
mod follower;
mod history;
mod init;
mod lists;
mod mirror;
mod run;
mod selftest;
mod serve;
pub mod shell;
mod stored;
mod try_out;
mod tune;
mod verify;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, anyhow};

use campaign::planning::{self, cannot_plan, expect_open_files, plan_experiment};
use campaign::preflight::Preflight;
use terminal::wants_color;
pub use terminal::{Failure, note, print, print_bytes, print_report};

use crate::KNOWN;
use crate::cli::{Cli, Command, PlanArgs, ReportArgs, Rows, exit, expect_two};
use crate::shipped;
use bench::command_line::Verb;
use experiment::{DEFAULT_EXPERIMENT, Experiment, Line, Overrides};
use record::secrets;
use record::shell::{shell_path, shell_word};
use report::Evidence;

/// Does what the command line asks and gives the exit status.
pub fn dispatch(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Plan(args) => plan(args),
        Command::Aa(args) => aa::aa(args),
        Command::Tune(args) => tune::tune(args),
        Command::Report(args) => report_stored(args),
        Command::Compare(args) => compare::compare(args),
        Command::History(args) => history::command(args),
        Command::Serve(args) => serve::serve(args),
        Command::Prepare(args) => bench::command(Verb::Prepare, &args.words),
        Command::Bench(args) => bench::command(Verb::Bench, &args.words),
        Command::Pgbench(args) => bench::pgbench::command(&args.words),
        Command::Check(args) => bench::command(Verb::Check, &args.words),
        Command::Cleanup(args) => bench::command(Verb::Cleanup, &args.words),
        Command::Digest(args) => digest::digest(args),
        Command::Capture(args) => capture::capture(args),
        Command::List(args) => lists::list(args),
        Command::Push(args) => stored::push(args),
        Command::Pull(args) => stored::pull(args),
        Command::Runs(args) => stored::runs(args),
        Command::Host(args) => lists::host(args),
        Command::Fetch(args) => lists::fetch(args),
        Command::Cache(args) => lists::cache(args),
        Command::Advise(args) => advise::advise(args),
        Command::Init(args) => init::init(args),
        Command::Schema => schema(),
        Command::Completions(args) => shell::completions(args),
        Command::Cluster(args) => cluster::cluster(args),
        Command::Man(args) => shell::man(args),
        Command::Verify(args) => verify::verify(args),
        Command::Selftest(args) => selftest::selftest(args),
    }
}

/// `dbduel report`: prints the report of a stored run, by default of the last one.
fn report_stored(args: &ReportArgs) -> Result<u8, Failure> {
    if args.schema {
        print(&report::json::schema()?)?;
        return Ok(exit::DONE);
    }
    let run = args.run.as_deref().unwrap_or("last");
    if args.format == columnar::NAME {
        return export(args, run);
    }
    expect_format(&args.format)?;
    if args.table.is_some() {
        return Err(Failure::usage(anyhow!("--table chooses the rows of --format parquet, not of `{}`", args.format)));
    }
    let (table, of_table) = (compare::layout(&args.layout), args.format == report::sqlbench::STORED.name());
    if !of_table && (!args.beside.is_empty() || table != Default::default()) {
        return Err(Failure::usage(anyhow!(
            "--beside, --relative, --verbose, --skip-count and --no-bars shape the table of --format sqlbench, not `{}`",
            args.format
        )));
    }
    let run = stored::open(&args.store, &args.runs, run)?;
    let color = args.out.is_none() && wants_color();
    let beside = args.beside.iter().map(|path| report::sqlbench::read_log(path)).collect::<Result<_>>()?;
    let printed = first_screen();
    let brief = args.out.is_none() && !args.full;
    let width = printed.width.filter(|_| args.out.is_none());
    let mut evidence = Evidence::gather(&run)?;
    if run.is_copy() {
        // Its folder is gone when the report is read.
        evidence.folder.clear();
    }
    if let Some(baseline) = &args.baseline {
        evidence = evidence.against(baseline).map_err(|error| Failure::usage(anyhow!("--baseline: {error}")))?;
    }
    let options = report::Options { color, brief, width, table, beside };
    let text = report::write_evidence(&evidence, &args.format, &options)?;
    match &args.out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => print_report(&text)?,
    }
    Ok(exit::DONE)
}

/// Formats that reports are written in by name: those of `report`, and the tables of `columnar`.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let reports = report::REPORTS.iter().map(|one| (one.name(), one.description(), one.example()));
    reports.chain([(columnar::NAME, columnar::DESCRIPTION, columnar::EXAMPLE)])
}

fn expect_format(format: &str) -> Result<(), Failure> {
    if report::find(format).is_ok() {
        return Ok(());
    }
    let names: Vec<&str> = formats().map(|(name, ..)| name).collect();
    Err(Failure::usage(anyhow!(
        "there is no report format `{format}`: use one of {}\n  next: `dbduel list reports` describes them",
        names.join(", ")
    )))
}

/// `--format parquet`: bytes, which no terminal is sent.
fn export(args: &ReportArgs, run: &str) -> Result<u8, Failure> {
    let rows = match args.table {
        Some(Rows::Seconds) => columnar::Rows::Seconds,
        Some(Rows::Trials) | None => columnar::Rows::Trials,
    };
    if args.baseline.is_some() {
        return Err(Failure::usage(anyhow!(
            "--baseline chooses what is compared, and a Parquet file has no comparisons"
        )));
    }
    if args.out.is_none() && terminal::is_interactive() {
        return Err(Failure::usage(anyhow!(
            "a Parquet file is not text, so it is not printed on a terminal\n  next: dbduel report {} --format parquet --out trials.parquet",
            shell_word(run)
        )));
    }
    let bytes = columnar::write(&*stored::open(&args.store, &args.runs, run)?, rows)?;
    match &args.out {
        Some(path) => std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?,
        None => print_bytes(&bytes)?,
    }
    Ok(exit::DONE)
}

/// `dbduel schema`: the JSON Schema of experiment files.
fn schema() -> Result<u8, Failure> {
    let schema = serde_json::to_string_pretty(&experiment::schema(&KNOWN)).context("cannot write the schema")?;
    print(&(schema + "\n"))?;
    Ok(exit::DONE)
}

/// Never over what is there: it may be a file that was edited.
fn write_new(path: &Path, text: &str) -> Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let refused = || format!("cannot write {}: name a file that is not there yet", path.display());
    let mut file = opened.with_context(refused)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// `--write`: the experiment of a command line as a file to keep, which is read once to be sure of it.
fn write_experiment(new: &Path, file: &Path, overrides: &Overrides) -> Result<u8, Failure> {
    let line = overrides.line.as_ref().map(Line::without_passwords);
    let overrides = &Overrides { line, ..overrides.clone() };
    let text = Experiment::source(file, &KNOWN, overrides).map_err(Failure::usage)?.text;
    let name = new.display().to_string();
    if secrets::mask(&text) != text {
        return Err(Failure::usage(anyhow!(
            "{} holds a password, and dbduel writes none into a file\n  next: name a `password_file` in it, or give DBDUEL_PASSWORD",
            file.display()
        )));
    }
    Experiment::parse(&text, &name, &KNOWN, &Overrides::default()).map_err(Failure::usage)?;
    write_new(new, &text).map_err(Failure::usage)?;
    print(&format!("{name} written\n  next: dbduel run {}\n", shell_path(new)))?;
    Ok(exit::DONE)
}

/// What a terminal gets of a text report.
fn first_screen() -> report::Options {
    report::Options { brief: true, width: Some(terminal::width()), ..report::Options::default() }
}

/// `dbduel plan`: prints what a run would do, and what it would refuse; touches nothing without `--try`.
fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    if args.defaults {
        print(DEFAULT_EXPERIMENT)?;
        return Ok(exit::DONE);
    }
    let Some((file, overrides)) = args.subject.asked(args.method.overrides()).map_err(Failure::usage)? else {
        print(&shipped::list())?;
        return Ok(exit::DONE);
    };
    expect_two(&overrides).map_err(Failure::usage)?;
    if let Some(new) = &args.write {
        return write_experiment(new, &file, &overrides);
    }
    let file = file.as_path();
    let experiment = Experiment::load(file, &KNOWN, &overrides).map_err(Failure::usage)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Failure::usage)?;
    expect_open_files(&experiment, file).map_err(Failure::usage)?;
    planning::remarks(&experiment, &plan).iter().for_each(|remark| note(remark));
    let point = experiment.points().swap_remove(0);
    for choice in &experiment.workloads {
        let spec = experiment::plan::workload(choice, &choice.data_point(&point)).map(|workload| workload.spec());
        spec.into_iter().flat_map(|spec| spec.warnings).for_each(|warning| note(&format!("warning: {warning}")));
    }
    if args.try_out {
        return try_out::try_out(&experiment, &plan, file);
    }
    if args.json {
        let json = serde_json::to_string_pretty(&plan.json()).context("cannot write the plan as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&plan.text())?;
        let binary = std::env::current_exe().context("cannot find this program")?;
        let inside_a_step = std::env::var_os("SLURM_STEP_ID").is_some();
        let lines = experiment.worker_lines(&binary, inside_a_step);
        if !lines.is_empty() {
            print(&format!("\nworkers\n  {}\n", lines.join("\n  ")))?;
        }
    }
    let preflight = Preflight::of(&experiment);
    preflight.unchecked.iter().for_each(|line| note(line));
    preflight.expect_nothing_refused()?;
    Ok(exit::DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ladder.toml");
        write_new(&path, "mine").unwrap();
        let error = format!("{:#}", write_new(&path, "yours").unwrap_err());
        assert!(error.contains("that is not there yet"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
