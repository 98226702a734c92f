//! A search that was begun before: where it stands on the disk, and what is left of it to do.
//!
//! Nothing is drawn or decided here again. What must stay true: trials that were measured stay, and what follows
//! has the seed and the plan of the first session.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::{behind_the_search, crashes, of_the_duel, refuse_to_overwrite, run_args, search_and_duel, write_duel};
use crate::KNOWN;
use crate::cli::{TuneArgs, exit};
use crate::commands::report::first_screen;
use crate::commands::run::{self, failed};
use crate::commands::{Failure, print};
use advisor::draft::{CANDIDATES, Draft};
use campaign::ActiveRun;
use campaign::budget::spent_earlier;
use campaign::planning::{cannot_plan, plan_experiment};
use campaign::race::Raced;

use experiment::{Experiment, Overrides, shell_path};
use record::RunDir;
use record::format::tuning::SearchRecord;

/// A search that lies on the disk.
struct Stored {
    run_dir: RunDir,
    search: SearchRecord,
    draft: Draft,
}

/// `dbduel tune --resume`: the rest of the search, or of the duel behind it.
pub fn go_on(args: &TuneArgs, run: &str) -> Result<u8, Failure> {
    refuse_to_overwrite(args.write.as_deref())?;
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let Stored { run_dir, search, draft } = Stored::open(&args.runs, run)?;
    refuse_another_search(args, &draft, &run_dir)?;
    let trials = run_dir.trials()?.all();
    let Some(outcome) = &search.outcome else {
        let (plan, known) = (run_dir.plan()?, search.candidates);
        let mut active_run = ActiveRun::of_stored(&KNOWN, run_dir, &plan, None).map_err(failed)?;
        active_run.leave_out(|name| known.iter().any(|one| one.name == name && one.out.is_some()));
        return search_and_duel(args, &draft, &active_run, &interrupted, Duration::ZERO);
    };
    let winner = outcome.winner.clone();
    match (outcome.duel.clone(), winner) {
        (Some(duel), Some(winner)) => {
            go_on_with_the_duel(args, &draft, &run_dir, &search, (&duel, &winner), &interrupted)
        }
        _ => {
            let raced = Raced { search, spent: spent_earlier(&run_dir.run_record()?, &trials) };
            behind_the_search(args, &draft, &run_dir, raced, &interrupted)
        }
    }
}

/// The duel is a run like any other, and lies beside the search.
fn go_on_with_the_duel(
    args: &TuneArgs,
    draft: &Draft,
    search_dir: &RunDir,
    search: &SearchRecord,
    (duel, winner): (&str, &str),
    interrupted: &AtomicBool,
) -> Result<u8, Failure> {
    let beside = search_dir.path().with_file_name(duel);
    let run_dir = RunDir::open_to_write(&args.runs, beside.to_str().unwrap_or(duel))?;
    let text = draft.duel(&KNOWN, winner, None)?.text;
    let is_over = run_dir.run_record().is_ok_and(|run| run.ended_by.is_some_and(|by| by != "interrupted"));
    let status = if is_over {
        let format = if args.json { "json" } else { "text" };
        print(&report::write(&run_dir, format, &first_screen())?)?;
        exit::DONE
    } else {
        let plan = run_dir.plan()?;
        let active_run = ActiveRun::of_stored(&KNOWN, run_dir.clone(), &plan, Some(of_the_duel(search, search_dir)))
            .map_err(failed)?;
        run::run_to_end(&run_args(args), &active_run, interrupted)?
    };
    write_duel(args, draft, &run_dir, &text, status)?;
    crashes(args, draft, search_dir, winner, status, interrupted)
}

impl Stored {
    /// The search of this name, or the one that the duel of this name belongs to.
    fn open(runs: &Path, run: &str) -> Result<Stored, Failure> {
        let run_dir = RunDir::open(runs, run)?;
        let path = match search_of(&run_dir)?.run {
            Some(name) => run_dir.path().with_file_name(name),
            None => run_dir.path().to_owned(),
        };
        let run_dir = RunDir::open_to_write(runs, path.to_str().unwrap_or(run))?;
        let search = search_of(&run_dir)?;
        Stored::read(run_dir, search)
    }

    fn read(run_dir: RunDir, search: SearchRecord) -> Result<Stored, Failure> {
        let (Some(source), Some(given)) = (run_dir.given()?, &search.given) else {
            return Err(Failure::usage(anyhow!(
                "{} has no search to go on with: what it was asked for is not in its folder\n  next: search again with `dbduel tune FILE`",
                run_dir.name()
            )));
        };
        let (file, search_text) = (run_dir.path().join("given.toml"), run_dir.experiment()?);
        let draft = Draft::stored(file, source, given, search.clone(), search_text, &KNOWN).map_err(Failure::usage)?;
        Ok(Stored { run_dir, search, draft })
    }
}

fn search_of(run_dir: &RunDir) -> Result<SearchRecord, Failure> {
    run_dir.run_record()?.search.ok_or_else(|| {
        Failure::usage(anyhow!(
            "{} is no search of `dbduel tune`\n  next: go on with `dbduel run --resume {}`",
            run_dir.name(),
            shell_path(run_dir.path())
        ))
    })
}

/// A file and flags beside `--resume` may only repeat what the search was asked for, as with `dbduel run`.
fn refuse_another_search(args: &TuneArgs, draft: &Draft, run_dir: &RunDir) -> Result<(), Failure> {
    let (subject, name) = (args.subject.asked(args.method.overrides()).map_err(Failure::usage)?, run_dir.name());
    let again = shell_path(run_dir.path());
    let next = format!("next: `dbduel tune --resume {again}` goes on with the stored search");
    let Some((file, overrides)) = &subject else {
        if args.method.overrides().is_empty() && args.candidates.is_none() {
            return Ok(());
        }
        return Err(Failure::usage(anyhow!("{name} has a plan, which no flag can change any more\n  {next}")));
    };
    let overrides = Overrides { leaves_recovery: true, ..overrides.clone() };
    let experiment = Experiment::load(file, &KNOWN, &overrides).map_err(Failure::usage)?;
    let hash = |experiment: &Experiment| plan_experiment(experiment).map(|plan| plan.record.plan_hash);
    let asked = hash(&experiment).with_context(|| cannot_plan(file)).map_err(Failure::usage)?;
    let candidates = draft.record.given.as_ref().map_or(CANDIDATES, |given| given.candidates);
    if asked == hash(&draft.experiment)? && args.candidates.is_none_or(|wanted| wanted == candidates) {
        return Ok(());
    }
    let file = file.display();
    Err(Failure::usage(anyhow!("{file} with these flags is not what {name} was asked for\n  {next}")))
}
