//! `dbduel history`: one experiment over many releases, stored runs of one question over time, and the search for the
//! release that changed it.

mod bisect;

use anyhow::{Context, Result, anyhow};

use super::report::first_screen;
use super::run::{failed, run_to_end};
use super::{Failure, note, print};
use crate::KNOWN;
use crate::cli::{HistoryAction, HistoryArgs, HistoryRunArgs, HistoryShowArgs, RunArgs, exit, format_of};
use campaign::ActiveRun;
use campaign::planning::{plan_experiment, unpack_sources};
use experiment::{Experiment, releases, resolve, shell_path};
use record::RunDir;

pub fn command(args: &HistoryArgs) -> Result<u8, Failure> {
    match &args.action {
        HistoryAction::Run(args) => run(args),
        HistoryAction::Show(args) => show(args),
        HistoryAction::Bisect(args) if args.step => bisect::step(&args.file, &args.runs, &args.method),
        HistoryAction::Bisect(args) => bisect::bisect(args),
    }
}

/// A ladder whose rungs are releases: all of them in every block, so that drift of the host cancels.
fn run(args: &HistoryRunArgs) -> Result<u8, Failure> {
    let mut releases = releases::releases(&KNOWN, &args.versions).map_err(Failure::usage)?;
    let asked = args.subject.or(&releases[0]).asked(args.method.overrides()).map_err(Failure::usage)?;
    let (path, overrides) = asked.expect("a release is named");
    let source = Experiment::source(&path, &KNOWN, &overrides).map_err(Failure::usage)?.text;
    let file = path.display().to_string();
    let over = |releases: &[String]| -> Result<Experiment, Failure> {
        let text = releases::over_releases(&source, releases)
            .with_context(|| format!("{file} is not readable as TOML"))
            .map_err(Failure::usage)?;
        let mut experiment = Experiment::parse(&text, &file, &KNOWN, &overrides).map_err(Failure::usage)?;
        unpack_sources(&mut experiment, &note)?;
        Ok(experiment)
    };
    let mut experiment = over(&releases)?;
    if releases::is_image(&args.versions) {
        // Only their servers show which one is older.
        let found = experiment.contenders.iter().map(|contender| Ok(resolve(contender)?.version));
        let found: Vec<String> = found.collect::<Result<_>>()?;
        let mut ordered: Vec<(String, String)> = found.into_iter().zip(releases).collect();
        ordered.sort_by(|one, other| engine::by_version(&one.0, &other.0));
        releases = ordered.into_iter().map(|(_, release)| release).collect();
        experiment = over(&releases)?;
    }
    let plan = plan_experiment(&experiment).map_err(Failure::usage)?;
    note(&format!("{} releases: {}", releases.len(), releases.join(", ")));
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let active_run = ActiveRun::of(&KNOWN, experiment, plan, &args.runs, &path, None).map_err(failed)?;
    let args = RunArgs { json: args.json, ..RunArgs::of(&args.runs, &args.method) };
    run_to_end(&args, &active_run, &interrupted)
}

/// Runs of one name; of the last run's, where none is given.
fn show(args: &HistoryShowArgs) -> Result<u8, Failure> {
    let name = match &args.name {
        Some(name) => name.clone(),
        None => RunDir::open(&args.runs, "last")?.plan()?.name,
    };
    let found = report::history::of_runs(&args.runs, &name)?;
    found.left_out.iter().for_each(|line| note(line));
    let Some(history) = found.history else {
        return Err(Failure::usage(anyhow!(
            "no run of `{name}` is stored under `{}`\n  next: `dbduel list runs --runs {}` lists those that are there",
            args.runs.display(),
            shell_path(&args.runs)
        )));
    };
    let screen = first_screen();
    let color = args.out.is_none() && terminal::wants_color();
    let text =
        report::history::write(&history, format_of(&args.format, args.json), screen.width.unwrap_or(100), color)?;
    match &args.out {
        Some(path) => std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?,
        None => print(&text)?,
    }
    Ok(exit::DONE)
}
