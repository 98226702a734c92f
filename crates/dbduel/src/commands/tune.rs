//! `dbduel tune`: candidates race, and the one that is left meets the incumbent again.
//!
//! Two stored runs: the search, whose figures only choose, and a duel like any other of an experiment file that
//! is written here. Where the file has `[recovery]`, a third one lets both crash. What must stay true: no block of the search is one of the duel, no candidate promises less at
//! a commit than the incumbent does, and a search that was interrupted goes on where its records end.

pub mod stored;

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::report::first_screen;
use super::run::{self, failed};
use super::{Failure, note, print};
use crate::KNOWN;
use crate::cli::{RunArgs, TuneArgs, exit};
use crate::progress_bar::Stderr;
use advisor::draft::{Draft, Duel, SearchRequest, WINNER};
use advisor::try_values;
use campaign::planning::{plan_experiment, unpack_sources};
use campaign::race::{Raced, begin_record, race};
use campaign::{ActiveRun, warn_of_never_ok, with_what_is_kept};

use analysis::conclude;
use experiment::plan::Plan;
use experiment::quantity::duration_text;
use experiment::{Experiment, Overrides, shell_path};
use record::RunDir;
use record::format::tuning::SearchRecord;
use report::sentences::one_line;
use trial::Interrupted;

/// Blocks of the duel that a budget keeps free: fewer allow no verdict.
const BLOCKS_KEPT_FREE: u32 = 8;

/// `dbduel tune`.
pub fn tune(args: &TuneArgs) -> Result<u8, Failure> {
    refuse_to_overwrite(args.write.as_deref())?;
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let begun = Instant::now();
    let subject = args.subject.asked(args.method.overrides()).map_err(Failure::usage)?;
    let (file, overrides) = subject.ok_or_else(|| run::nothing_named("tune"))?;
    let (file, asked) = (file.as_path(), SearchRequest { candidates: args.candidates, overrides });
    // The versions of images and archives are known only once these are unpacked.
    let overrides = Overrides { leaves_recovery: true, ..asked.overrides.clone() };
    let mut experiment = Experiment::load(file, &KNOWN, &overrides).map_err(Failure::usage)?;
    unpack_sources(&mut experiment, &note)?;
    let draft = Draft::of(&asked, file, Vec::new(), &KNOWN).map_err(failed)?;
    share_of_the_search(&draft)?;
    expect_crashes(&draft)?;
    let draft = match try_values::refused(&draft, &interrupted, &note) {
        Err(error) if error.is::<Interrupted>() => {
            note("interrupted before the search began, nothing is kept");
            return Ok(exit::INTERRUPTED);
        }
        Ok(refused) if refused.is_empty() => draft,
        refused => Draft::of(&asked, file, refused?, &KNOWN).map_err(failed)?,
    };
    let active_run = begin(args, &draft)?;
    search_and_duel(args, &draft, &active_run, &interrupted, begun.elapsed())
}

/// Keeps everything that a search can go on from.
fn begin(args: &TuneArgs, draft: &Draft) -> Result<ActiveRun, Failure> {
    let search = draft.search(&KNOWN)?;
    let plan = plan_experiment(&search)?;
    for one in &draft.record.refused {
        let why = one_line(&one.why);
        note(&format!("{} = {} is not tried, because the server refuses it: {why}", one.setting, one.value));
    }
    draft.record.notes.iter().for_each(|line| note(line));
    let active_run =
        ActiveRun::of(&KNOWN, search, plan, &args.runs, &draft.file, Some(draft.record.clone())).map_err(failed)?;
    active_run.run_dir().write_given(&draft.experiment.text)?;
    begin_record(&active_run)?;
    note(&format!("the search is kept in {}", active_run.run_dir().path().display()));
    Ok(active_run)
}

/// Runs a search from where it stands, and what follows from it.
fn search_and_duel(
    args: &TuneArgs,
    draft: &Draft,
    active_run: &ActiveRun,
    interrupted: &AtomicBool,
    spent_before: Duration,
) -> Result<u8, Failure> {
    let run_dir = active_run.run_dir();
    match race(active_run, &draft.experiment, interrupted, share_of_the_search(draft)?, spent_before, Stderr::boxed()) {
        Err(error) if error.is::<Interrupted>() => {
            let run = shell_path(run_dir.path());
            note(&format!("interrupted, trials are kept\n  next: go on with `dbduel tune --resume {run}`"));
            Ok(exit::INTERRUPTED)
        }
        raced => {
            let raced = raced.map_err(|error| with_what_is_kept(error, run_dir, "tune"))?;
            behind_the_search(args, draft, run_dir, raced, interrupted)
        }
    }
}

/// The duel, where a candidate won the search.
fn behind_the_search(
    args: &TuneArgs,
    draft: &Draft,
    search_dir: &RunDir,
    raced: Raced,
    interrupted: &AtomicBool,
) -> Result<u8, Failure> {
    let winner = raced.search.outcome.as_ref().and_then(|outcome| outcome.winner.clone());
    let status = match winner {
        Some(winner) => duel(args, draft, search_dir, raced, &winner, interrupted)?,
        None => {
            report_search(search_dir, args.json, true)?;
            if args.write.is_some() {
                note(&format!("no candidate was faster than `{}`: nothing is written", draft.record.incumbent));
            }
            exit::DONE
        }
    };
    let is_missing = warn_of_never_ok(search_dir.trials()?.measured(), &|line| note(line));
    Ok(if status == exit::DONE && is_missing { exit::NOT_MEASURED } else { status })
}

fn refuse_to_overwrite(write: Option<&Path>) -> Result<(), Failure> {
    let Some(path) = write.filter(|path| path.exists()) else { return Ok(()) };
    let path = path.display();
    Err(Failure::usage(anyhow!(
        "{path} is there already, and is not overwritten\n  next: name another file with --write, or remove it"
    )))
}

/// The winner against the incumbent, in blocks that had no part in choosing it.
fn duel(
    args: &TuneArgs,
    draft: &Draft,
    search_dir: &RunDir,
    raced: Raced,
    winner: &str,
    interrupted: &AtomicBool,
) -> Result<u8, Failure> {
    let budget = draft.experiment.method.budget.map(|budget| budget.saturating_sub(raced.spent));
    let Duel { text, held_out, experiment } = draft.duel(&KNOWN, winner, budget)?;
    let plan = plan_experiment(&experiment)?;
    let mut search = SearchRecord { held_out, ..raced.search };
    let file = search_dir.path().join("experiment.toml");
    let active_run = ActiveRun::of(&KNOWN, experiment, plan, &args.runs, &file, Some(of_the_duel(&search, search_dir)))
        .map_err(failed)?;
    begin_record(&active_run)?;
    if let Some(outcome) = &mut search.outcome {
        outcome.duel = Some(active_run.run_dir().name());
    }
    let known = search_dir.run_record()?;
    search_dir.write_run(&record::format::RunRecord { search: Some(search), ..known })?;
    report_search(search_dir, false, false)?;
    note(&format!("{winner} meets `{}` again, in new blocks, as `{WINNER}`", draft.record.incumbent));
    let status = run::run_to_end(&run_args(args), &active_run, interrupted)?;
    write_duel(args, draft, active_run.run_dir(), &text, status)?;
    crashes(args, draft, search_dir, winner, status, interrupted)
}

/// Behind a duel that is over: both sides crash, where the file has `[recovery]`, in a run like any other.
fn crashes(
    args: &TuneArgs,
    draft: &Draft,
    search_dir: &RunDir,
    winner: &str,
    status: u8,
    interrupted: &AtomicBool,
) -> Result<u8, Failure> {
    let Some(experiment) = draft.crashes(&KNOWN, winner)?.filter(|_| status != exit::INTERRUPTED) else {
        return Ok(status);
    };
    let known = search_dir.run_record()?.search.and_then(|search| search.outcome?.crashes);
    let active_run = match known {
        Some(name) => {
            let path = search_dir.path().with_file_name(&name);
            let run_dir = RunDir::open_to_write(&args.runs, path.to_str().unwrap_or(&name))?;
            let plan = run_dir.plan()?;
            ActiveRun::of_stored(&KNOWN, run_dir, &plan, None).map_err(failed)?
        }
        None => begin_crashes(args, search_dir, experiment)?,
    };
    note(&format!("`{}` and `{}` crash now", draft.record.incumbent, draft.name_of_the_winner()));
    let crashed = run::run_to_end(&run_args(args), &active_run, interrupted)?;
    Ok(if status == exit::DONE { crashed } else { status })
}

/// The run of the crashes, whose name the search keeps.
fn begin_crashes(args: &TuneArgs, search_dir: &RunDir, experiment: Experiment) -> Result<ActiveRun, Failure> {
    let plan = plan_experiment(&experiment)?;
    let file = search_dir.path().join("experiment.toml");
    let active_run = ActiveRun::of(&KNOWN, experiment, plan, &args.runs, &file, None).map_err(failed)?;
    begin_record(&active_run)?;
    let mut run = search_dir.run_record()?;
    if let Some(outcome) = run.search.as_mut().and_then(|search| search.outcome.as_mut()) {
        outcome.crashes = Some(active_run.run_dir().name());
    }
    search_dir.write_run(&run)?;
    report_search(search_dir, false, false)?;
    Ok(active_run)
}

/// Mistakes in `[recovery]` are found before the search, not behind it.
fn expect_crashes(draft: &Draft) -> Result<(), Failure> {
    let any = draft.record.candidates.iter().find(|candidate| candidate.out.is_none());
    any.map_or(Ok(()), |any| draft.crashes(&KNOWN, &any.name).map(drop)).map_err(Failure::usage)
}

/// What the duel's run keeps of the search that chose its candidate.
fn of_the_duel(search: &SearchRecord, search_dir: &RunDir) -> SearchRecord {
    let mut search = SearchRecord { run: Some(search_dir.name()), given: None, ..search.clone() };
    if let Some(outcome) = &mut search.outcome {
        outcome.duel = None;
    }
    search
}

/// What `dbduel run` would have been asked for the duel.
fn run_args(args: &TuneArgs) -> RunArgs {
    RunArgs { json: args.json, ..RunArgs::of(&args.runs, &args.method) }
}

/// Writes the duel's experiment to the file of the command line, once the duel is over.
fn write_duel(args: &TuneArgs, draft: &Draft, duel: &RunDir, text: &str, status: u8) -> Result<()> {
    let Some(path) = args.write.as_deref().filter(|_| status != exit::INTERRUPTED) else { return Ok(()) };
    let written = format!("{}{text}", header(duel, draft)?);
    fs::write(path, written).with_context(|| format!("cannot write {}", path.display()))?;
    note(&format!("the duel is written to {}", path.display()));
    Ok(())
}

/// What stands on top of the file that is written.
fn header(run_dir: &RunDir, draft: &Draft) -> Result<String> {
    let conclusions = conclude(&run_dir.plan()?, &run_dir.run_record()?, &run_dir.trials()?.all());
    let mut lines = vec![format!(
        "Settings found by `dbduel tune` for `{}`; measured in run {}:",
        draft.record.incumbent,
        run_dir.name()
    )];
    for workload in &conclusions.workloads {
        for duel in &workload.duels {
            let overall = &duel.overall;
            let ratio = |value: Option<f64>| value.map_or("not known".to_owned(), |ratio| format!("{ratio:.3}"));
            lines.push(format!(
                "{}: {}, ratio {} ({} to {}), {} blocks",
                workload.workload,
                overall.verdict.as_str(),
                ratio(overall.ratio),
                ratio(overall.low),
                ratio(overall.high),
                overall.blocks
            ));
        }
    }
    lines.push("They hold for this machine, these data and this work.".to_owned());
    Ok(lines.iter().map(|line| format!("# {line}\n")).collect())
}

/// The reports of the search, beside its records; on stdout where there is no duel.
fn report_search(run_dir: &RunDir, json: bool, aloud: bool) -> Result<()> {
    run::keep_reports(run_dir)?;
    if aloud {
        print(&report::write(run_dir, if json { "json" } else { "text" }, &first_screen())?)?;
    }
    Ok(())
}

/// How long so many blocks take, pilots included.
fn first_blocks(plan: &Plan, blocks: u32) -> Duration {
    let behind = plan.record.trials.iter().position(|trial| trial.block > blocks);
    behind.map_or(plan.estimate.run, |at| plan.estimate.trial_starts[at])
}

/// What of the budget the search may take: what the first blocks of the duel leave.
fn share_of_the_search(draft: &Draft) -> Result<Option<Duration>, Failure> {
    let Some(budget) = draft.experiment.method.budget else { return Ok(None) };
    let Some(some) = draft.record.candidates.iter().find(|candidate| candidate.out.is_none()) else {
        return Ok(Some(budget));
    };
    let duel = draft.duel(&KNOWN, &some.name, None)?.experiment;
    let duel = first_blocks(&plan_experiment(&duel)?, BLOCKS_KEPT_FREE);
    let one_block = first_blocks(&plan_experiment(&draft.search(&KNOWN)?)?, 1);
    if budget >= duel + one_block {
        return Ok(Some(budget - duel));
    }
    let text = |time: Duration| duration_text(Duration::from_secs(time.as_secs() + 1));
    Err(Failure::usage(anyhow!(
        "{}: the budget of {} is too small: {BLOCKS_KEPT_FREE} blocks of the duel take about {}, and a block of the search {}\n  next: give --budget {} or more, fewer --candidates, or a shorter `duration` in [method]",
        draft.file.display(),
        duration_text(budget),
        text(duel),
        text(one_block),
        text(duel + one_block * 4)
    )))
}
