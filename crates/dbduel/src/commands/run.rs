//! `dbduel run`: carries out a run, and prints what came out.

use std::sync::atomic::{AtomicBool, Ordering};

use analysis::EndReason;
use analysis::gate::Answer;
use anyhow::{Context, Result, anyhow};
use campaign::{ActiveRun, Ended, aa, carry_out, with_what_is_kept};
use record::RunDir;
use record::shell::shell_path;
use report::Evidence;

use super::follower::Follower;
use super::report::first_screen;
use super::written::write_experiment;
use super::{Failure, note, print_report, stored};
use crate::cli::{RunArgs, exit, expect_two};
use crate::progress_bar::Stderr;
use crate::shipped;

pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let request = args.request().map_err(Failure::usage)?;
    if request.file.is_none() && request.resume.is_none() {
        return Err(nothing_named(if args.twins { "aa" } else { "run" }));
    }
    if !args.twins {
        expect_two(&request.overrides).map_err(Failure::usage)?;
    }
    if let (Some(new), Some(file)) = (&args.write, &request.file) {
        return write_experiment(new, file, &request.overrides);
    }
    // A mistake in the URL is found before anything is made.
    stored::url_to_write(args.store.as_deref())?;
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    match engine::interruption::ending_servers(&interrupted, || ActiveRun::begin(&request)) {
        // Nothing is kept of a run that was still fetching its servers.
        Err(_) if interrupted.load(Ordering::Relaxed) => Ok(exit::INTERRUPTED),
        begun => run_to_end(args, &begun.map_err(failed)?, &interrupted),
    }
}

/// A command that needs a file or contenders has neither.
pub fn nothing_named(command: &str) -> Failure {
    Failure::usage(anyhow!(
        "neither an experiment file nor contenders were given\n  `dbduel plan` lists the files that come with dbduel\n  next: dbduel {command} {}",
        shipped::FIRST
    ))
}

/// Goes through a session and prints what came out.
pub fn run_to_end(args: &RunArgs, active_run: &ActiveRun, interrupted: &AtomicBool) -> Result<u8, Failure> {
    let run_dir = active_run.run_dir();
    let follower = stored::url_to_write(args.store.as_deref())?.map(|url| Follower::start(url, run_dir)).transpose()?;
    let finished = finish(args, run_dir, carry_out(active_run, Stderr::boxed(), interrupted));
    if let Some(follower) = follower {
        follower.finish();
    }
    finished
}

pub fn failed(error: campaign::Error) -> Failure {
    match error {
        campaign::Error::Mistake(error) => Failure::usage(error),
        campaign::Error::Broke(error) => error.into(),
    }
}

/// Says the run, as `dbduel report` would, and turns what happened into the exit status.
fn finish(args: &RunArgs, run_dir: &RunDir, ended: Result<Ended>) -> Result<u8, Failure> {
    let ended = ended.map_err(|error| with_what_is_kept(error, run_dir, "run"))?;
    if ended.reason == EndReason::Interrupted {
        return interrupted_end(args, run_dir);
    }
    report_run(args, run_dir)?;
    aa::remember(&run_dir.plan()?, Evidence::gather(run_dir)?.aa_records(), &|line| note(line))?;
    if ended.incomplete {
        return Ok(exit::NOT_MEASURED);
    }
    if args.gate { gate(run_dir) } else { Ok(exit::DONE) }
}

/// A run that was interrupted before its first trial only prints how to resume it.
fn interrupted_end(args: &RunArgs, run_dir: &RunDir) -> Result<u8, Failure> {
    if args.resume.is_none() && run_dir.remove_empty()? {
        note("interrupted before anything was measured; nothing is kept\n  next: start the run again");
        return Ok(exit::INTERRUPTED);
    }
    let measured = run_dir.trials()?.measured().len();
    if measured > 0 {
        report_run(args, run_dir)?;
    }
    let kept = match measured {
        0 => "before the first trial was over".to_owned(),
        1 => "1 trial is kept".to_owned(),
        trials => format!("{trials} trials are kept"),
    };
    let run = shell_path(run_dir.path());
    note(&format!("interrupted, {kept}\n  next: go on with `dbduel run --resume {run}`"));
    Ok(exit::INTERRUPTED)
}

/// The reports of a run, beside its records.
pub fn keep_reports(run_dir: &RunDir) -> Result<()> {
    let plain = report::Options::default();
    for (format, file) in [("text", "report.txt"), ("html", "report.html")] {
        run_dir.write_report(file, &report::write(run_dir, format, &plain)?)?;
    }
    Ok(())
}

fn report_run(args: &RunArgs, run_dir: &RunDir) -> Result<()> {
    keep_reports(run_dir)?;
    let evidence = Evidence::gather(run_dir)?;
    for drawing in report::flame_graphs(&evidence.plan, &evidence.profiles) {
        run_dir.write_flame_graph(drawing.trial, drawing.file, &drawing.svg)?;
    }
    let format = if args.json { "json" } else { "text" };
    let color = !args.json && terminal::wants_color();
    let options = report::Options { color, brief: !args.full, ..first_screen() };
    print_report(&report::write(run_dir, format, &options)?)
}

/// Prints the answer beside the report, whose standard output may be JSON.
fn gate(run_dir: &RunDir) -> Result<u8, Failure> {
    let (plan, run, trials) = (run_dir.plan()?, run_dir.run_record()?, run_dir.trials()?.all());
    let gate = analysis::gate::gate(&plan, &run, &trials);
    report::gate::lines(&gate).iter().for_each(|line| note(line));
    Ok(match gate.answer {
        Answer::Passed => exit::DONE,
        Answer::Failed => exit::GATE_SLOWER,
        Answer::NotDecided => exit::GATE_INCONCLUSIVE,
    })
}
