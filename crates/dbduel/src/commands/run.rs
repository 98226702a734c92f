//! `dbduel run`: plan, provision, load, measure, report.

pub mod budget;
mod course;
mod pilot;
mod recoveries;
mod repeats;
pub mod search;
mod together;
mod warmups;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use jiff::Timestamp;

use self::budget::{Budget, Clock, spent_earlier};
use self::course::{Course, Keep};
use self::pilot::run_pilots;
use self::together::Hands;
pub use self::warmups::warmup_s;
use super::contrasts::Contrasts;
use super::diagnostics::Diagnostics;
use super::progress::Progress;
use super::seats::Seats;
use super::stage::Stage;
use super::{
    Failure, aa, cannot_plan, clones, doubling, expect_open_files, note, plan_experiment, refusal, say_report,
    vocabulary,
};
use crate::cli::{RunArgs, exit};

use crate::store::RunDir;
use crate::store::format::search::SearchRecord;
use crate::store::format::{FORMAT_VERSION, PlanRecord, PlannedTrial, RunRecord, TrialRecord};
use analysis::gate::Answer;
use analysis::{self, EndReason, conclude, given_up, never_ok};
use engine::Cache;
use experiment::plan::Plan;
use experiment::{Experiment, NoisyHost, Overrides, shell_path};
use trial::Interrupted;
use trial::host;
use trial::observe::{Observers, foreign_cpu};

/// How long the idle host is watched before the first block, and what others may take of it.
const IDLE_CHECK: Duration = Duration::from_secs(10);
const FOREIGN_CPU_MAX: f64 = 0.10;

pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    sit(args, &Sitting::begin(args)?, &interrupted)
}

/// Goes through a sitting and says what came out.
pub fn sit(args: &RunArgs, sitting: &Sitting, interrupted: &AtomicBool) -> Result<u8, Failure> {
    let progress = Progress::new(&sitting.plan);
    let ended = engine::interruption::ending_servers(interrupted, || measure(sitting, interrupted, progress));
    let ended = match ended {
        // What failed because its server was taken away is not what the user wants to hear of.
        Err(_) if interrupted.load(Ordering::Relaxed) => {
            Ok(Ended { reason: EndReason::Interrupted, incomplete: false })
        }
        ended => ended,
    };
    finish(args, &sitting.run_dir, ended)
}

/// One stretch of work on a run: the whole of it, or what an earlier one left.
pub struct Sitting {
    experiment: Experiment,
    plan: Plan,
    seats: Seats,
    run_dir: RunDir,
    /// What the experiment can be read from again.
    file: PathBuf,
    /// Trials that earlier sittings finished.
    done: Vec<TrialRecord>,
    resumed: bool,
    /// The search over settings that it is part of.
    search: Option<SearchRecord>,
}

impl Sitting {
    fn begin(args: &RunArgs) -> Result<Sitting, Failure> {
        match &args.resume {
            Some(run) => Sitting::resume(args, run),
            None => Sitting::fresh(args),
        }
    }

    fn fresh(args: &RunArgs) -> Result<Sitting, Failure> {
        let file = args.file.as_deref().expect("clap asks for FILE unless --resume is given");
        let (experiment, plan) = planned(file, &args.overrides())?;
        Sitting::of(experiment, plan, &args.runs, file, None)
    }

    /// A run that begins, of an experiment that can be read from `file` again.
    pub fn of(
        experiment: Experiment,
        plan: Plan,
        runs: &Path,
        file: &Path,
        search: Option<SearchRecord>,
    ) -> Result<Sitting, Failure> {
        let seats = seats(&experiment, file)?;
        let run_dir = RunDir::create(runs, &experiment.name, Timestamp::now())
            .context("cannot keep a run here; give a folder that you may write to with --runs")?;
        run_dir.write_experiment(&experiment.text)?;
        run_dir.write_plan(&plan.record)?;
        let file = file.to_owned();
        Ok(Sitting { experiment, plan, seats, run_dir, file, done: Vec::new(), resumed: false, search })
    }

    pub fn run_dir(&self) -> &RunDir {
        &self.run_dir
    }

    /// Contenders that no trial is left of need no server.
    pub fn leave_out(&mut self, is_out: impl Fn(&str) -> bool) {
        self.experiment.contenders.retain(|contender| !is_out(&contender.name));
    }

    /// The stored experiment again, with what the command line changed then.
    fn resume(args: &RunArgs, run: &str) -> Result<Sitting, Failure> {
        let run_dir = RunDir::open_to_write(&args.runs, run)?;
        let stored = run_dir.plan()?;
        if args.twins && !stored.twins {
            return Err(Failure::usage(anyhow!(
                "{} is no run of twins\n  next: go on with `dbduel run --resume {}`",
                run_dir.name(),
                shell_path(run_dir.path())
            )));
        }
        refuse_another_plan(args, &run_dir, &stored)?;
        let search = run_dir.run_record().ok().and_then(|run| run.search);
        search::refuse_to_go_on(&run_dir, search.as_ref())?;
        Sitting::of_stored(run_dir, &stored, search)
    }

    /// A run that goes on where its records end; it was opened to write.
    pub fn of_stored(run_dir: RunDir, stored: &PlanRecord, search: Option<SearchRecord>) -> Result<Sitting, Failure> {
        let overrides = Overrides::of_plan(stored);
        let experiment = Experiment::parse(&run_dir.experiment()?, "experiment.toml", &vocabulary(), &overrides);
        let experiment = experiment.map_err(Failure::usage)?;
        let plan = plan_experiment(&experiment).map_err(Failure::usage)?;
        if plan.record.plan_hash != stored.plan_hash {
            return Err(anyhow!(
                "{} cannot go on: its plan no longer comes out the same here (another dbduel, or other servers on this machine)\n  next: report what there is with `dbduel report`, and start a new run",
                run_dir.name()
            )
            .into());
        }
        let done = run_dir.trials()?.records;
        let file = run_dir.path().join("experiment.toml");
        let seats = seats(&experiment, &file)?;
        Ok(Sitting { experiment, plan, seats, run_dir, file, done, resumed: true, search })
    }
}

/// A file and flags beside `--resume` may only say again what the stored plan says; to pass over
/// what they change would leave the user with an answer to another question.
fn refuse_another_plan(args: &RunArgs, run_dir: &RunDir, stored: &PlanRecord) -> Result<(), Failure> {
    let (overrides, name) = (args.overrides(), run_dir.name());
    let again = shell_path(run_dir.path());
    let next = format!("next: `dbduel run --resume {again}` goes on with the stored experiment");
    let Some(file) = &args.file else {
        if overrides.is_empty() {
            return Ok(());
        }
        return Err(Failure::usage(anyhow!("{name} has a plan, which no flag can change any more\n  {next}")));
    };
    let (_, plan) = planned(file, &overrides)?;
    if plan.record.plan_hash == stored.plan_hash {
        return Ok(());
    }
    let file = file.display();
    Err(Failure::usage(anyhow!("{file} is not the experiment of {name}: its plan has another hash\n  {next}")))
}

fn planned(file: &Path, overrides: &Overrides) -> Result<(Experiment, Plan), Failure> {
    let experiment = Experiment::load(file, &vocabulary(), overrides).map_err(Failure::usage)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Failure::usage)?;
    Ok((experiment, plan))
}

/// What the file says of cores, as this host can have it, and the file systems as the file wants them.
fn seats(experiment: &Experiment, file: &Path) -> Result<Seats, Failure> {
    expect_open_files(experiment, file).map_err(Failure::usage)?;
    clones::expect(experiment, file).map_err(Failure::usage)?;
    let seats = Seats::on_this_host(experiment).with_context(|| file.display().to_string());
    seats.map_err(Failure::usage)
}

/// How a sitting ended when nothing broke.
struct Ended {
    reason: EndReason,
    /// A contender did not start or has no trial that succeeded, or a point was given up.
    incomplete: bool,
}

fn measure(sitting: &Sitting, interrupted: &AtomicBool, mut progress: Progress) -> Result<Ended> {
    let Sitting { experiment, run_dir, .. } = sitting;
    let _lock = host::lock(&experiment.name, interrupted, &|line| progress.say(line))?;
    let cache = Cache::open()?;
    let logs = run_dir.path().join("logs");
    std::fs::create_dir_all(&logs)?;
    let mut run = run_record(sitting, &cache)?;
    let clock = Clock::new(experiment.method.budget, spent_earlier(&run, &sitting.done));
    if sitting.done.is_empty() {
        run.twins = aa::known(&sitting.plan.record, &run, &cache, &sitting.file)?;
    }
    run_dir.write_run(&run)?;
    let (mut stage, absent) = Stage::set(experiment, &cache, &sitting.seats, interrupted, &logs, &progress)?;
    let mut failures = absent;
    failures.extend(rehearse(&mut stage, sitting, &mut run, &cache, &logs, &progress)?);
    run.refused = failures.iter().map(|(name, error)| (name.clone(), format!("{error:#}"))).collect();
    tell_failures(sitting, &mut failures, 0, &progress)?;
    if run.client.null_runs.is_empty() {
        run.client.null_runs = stage.measure_nothing(&cache, &progress)?;
    }
    if run.client.paths.is_empty() {
        run.client.paths = stage.measure_paths(&progress)?;
    }
    stage.know_limits(&run.client.null_runs, &run.client.paths);
    run_dir.write_run(&run)?;
    refuse_noise(experiment, interrupted, &progress)?;
    let entries = sitting.plan.record.entries_in_a_block();
    let mut observers = Observers::default();
    let told = failures.len();
    failures.extend(run_pilots(sitting, &stage, &mut observers, &mut run, &progress)?);
    tell_failures(sitting, &mut failures, told, &progress)?;
    let budget = Budget::new(&clock, entries);
    let mut hands = Hands::new(sitting, &stage, observers);
    let mut run_trials = |planned: &[&PlannedTrial], warmup: Duration, progress: &Progress, keep: &mut Keep| {
        hands.run(planned, warmup, progress, keep)
    };
    let mut course = Course::new(sitting, interrupted, &mut progress, &mut run, budget, &mut run_trials);
    let ended = course.run_all();
    let (given_up, is_missing) = (given_up(&course.trials), tell_never_ok(&course.trials));
    let reason = match ended {
        Err(_) if interrupted.load(Ordering::Relaxed) => EndReason::Interrupted,
        ended => ended?,
    };
    if reason != EndReason::Interrupted {
        let (stage, progress, clock) = (&stage, &progress, &clock);
        doubling::double(&sitting.plan.record, run_dir, stage, &mut run, clock, progress)?;
        recoveries::measure(sitting, stage, &mut run, clock, interrupted, progress)?;
        let (plan, method) = (&sitting.plan, &experiment.method);
        Contrasts { plan, method, run_dir, stage, cache: &cache, clock, progress }.run(reason, &mut run)?;
        let plan = &sitting.plan.record;
        Diagnostics { plan, experiment, run_dir, stage, clock, progress }.run(&mut run)?;
    }
    progress.finish();
    let incomplete = !failures.is_empty() || !given_up.is_empty() || is_missing;
    run.given_up = given_up;
    run.spent_s = clock.spent().as_secs_f64();
    run.ended_by = Some(reason.as_str().to_owned());
    run.finished_at = Some(Timestamp::now().to_string());
    run_dir.write_run(&run)?;
    Ok(Ended { reason, incomplete })
}

/// Prints which contenders were tried in vain; whether there are any.
pub fn tell_never_ok(trials: &[TrialRecord]) -> bool {
    let never = never_ok(trials);
    for (name, why) in &never {
        note(&format!("warning: no trial of `{name}` succeeded; the last one failed: {why}"));
    }
    !never.is_empty()
}

fn run_record(sitting: &Sitting, cache: &Cache) -> Result<RunRecord> {
    if sitting.resumed
        && let Ok(run) = sitting.run_dir.run_record()
    {
        return Ok(RunRecord { finished_at: None, ended_by: None, ..run });
    }
    Ok(RunRecord {
        format_version: FORMAT_VERSION,
        dbduel_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: Timestamp::now().to_string(),
        finished_at: None,
        ended_by: None,
        host: host::describe(cache.root()),
        client: sitting.seats.record(),
        contenders: std::collections::BTreeMap::new(),
        refused: std::collections::BTreeMap::new(),
        given_up: Vec::new(),
        pilots: Vec::new(),
        warmups: Vec::new(),
        doublings: Vec::new(),
        contrasts: Vec::new(),
        diagnostics: Vec::new(),
        twins: Vec::new(),
        spent_s: 0.0,
        search: sitting.search.clone(),
    })
}

/// Starts each contender once; those that fail are named with their reason.
fn rehearse(
    stage: &mut Stage,
    sitting: &Sitting,
    run: &mut RunRecord,
    cache: &Cache,
    logs: &Path,
    progress: &Progress,
) -> Result<Vec<(String, Error)>> {
    let mut failures = Vec::new();
    for (name, facts) in stage.rehearse(&sitting.plan, cache, logs, progress) {
        match facts {
            Ok(facts) => drop(run.contenders.insert(name, facts)),
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => failures.push((name, error)),
        }
    }
    let failed = |name: &String| failures.iter().any(|(one, _)| one == name);
    let here = run.contenders.iter().filter(|(name, _)| !failed(name));
    refusal::expect_equal_answers(&sitting.experiment.baseline, here.map(|(name, facts)| (name.as_str(), facts)))?;
    Ok(failures)
}

/// Says which contenders failed, but for those `told` before; stops here when too few are left to compare.
fn tell_failures(
    sitting: &Sitting,
    failures: &mut Vec<(String, Error)>,
    told: usize,
    progress: &Progress,
) -> Result<()> {
    let failed: BTreeSet<&String> = failures.iter().map(|(name, _)| name).collect();
    let contenders = sitting.experiment.contenders.len();
    if contenders - failed.len() < contenders.min(2) || failed.contains(&sitting.experiment.baseline) {
        let (_, error) = failures.swap_remove(told.min(failures.len() - 1));
        return Err(error);
    }
    for (_, error) in &failures[told..] {
        progress.say(&format!("warning: {error:#}"));
    }
    Ok(())
}

fn refuse_noise(experiment: &Experiment, interrupted: &AtomicBool, progress: &Progress) -> Result<()> {
    if experiment.method.noisy_host != NoisyHost::Refuse {
        return Ok(());
    }
    progress.status("watching the idle host for 10 s");
    let Some(seen) = foreign_cpu(IDLE_CHECK, &|| interrupted.load(Ordering::Relaxed)) else { return Ok(()) };
    if seen.share <= FOREIGN_CPU_MAX {
        return Ok(());
    }
    let busiest = seen.busiest.iter().map(|(name, share)| format!("{name} {:.0} %", share * 100.0));
    bail!(
        "this host is busy: other processes take {:.0} % of its CPU ({})\n  next: stop them, or measure all the same with --accept-noisy",
        seen.share * 100.0,
        busiest.collect::<Vec<_>>().join(", ")
    )
}

/// Says the run, as `dbduel report` would, and turns what happened into the exit status.
fn finish(args: &RunArgs, run_dir: &RunDir, ended: Result<Ended>) -> Result<u8, Failure> {
    let ended = ended.map_err(|error| with_what_is_kept(error, run_dir, "run"))?;
    if ended.reason == EndReason::Interrupted {
        return interrupted_end(args, run_dir);
    }
    tell(args, run_dir)?;
    aa::remember(run_dir, &run_dir.plan()?)?;
    if ended.incomplete {
        return Ok(exit::NOT_MEASURED);
    }
    if args.gate { gate(run_dir) } else { Ok(exit::DONE) }
}

/// A run that breaks off (a full disk, say) loses no finished trial, and its user should know by which command it
/// goes on.
pub fn with_what_is_kept(error: Error, run_dir: &RunDir, command: &str) -> Error {
    let measured = run_dir.trials().map_or(0, |trials| trials.records.len());
    if measured == 0 {
        return error;
    }
    let run = shell_path(run_dir.path());
    let next = format!("next: repair the cause, then `dbduel {command} --resume {run}` goes on");
    error.context(format!("the run broke off; finished trials kept: {measured}\n  {next}"))
}

/// A run that was interrupted before its first trial has nothing to say but how it goes on.
fn interrupted_end(args: &RunArgs, run_dir: &RunDir) -> Result<u8, Failure> {
    let measured = run_dir.trials()?.records.len();
    if measured > 0 {
        tell(args, run_dir)?;
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

fn tell(args: &RunArgs, run_dir: &RunDir) -> Result<()> {
    let plain = report::Options::default();
    for (format, file) in [("text", "report.txt"), ("html", "report.html")] {
        run_dir.write_report(file, &report::write(run_dir, format, &plain)?)?;
    }
    let format = if args.json { "json" } else { "text" };
    let color = !args.json && super::wants_color();
    say_report(&report::write(run_dir, format, &report::Options { color, ..plain })?)
}

/// Prints the answer beside the report, whose standard output may be JSON.
fn gate(run_dir: &RunDir) -> Result<u8, Failure> {
    let (plan, run, trials) = (run_dir.plan()?, run_dir.run_record()?, run_dir.trials()?.records);
    let gate = analysis::gate::gate(&plan, &run, &trials, &conclude(&plan, &run, &trials));
    report::gate::lines(&gate).iter().for_each(|line| note(line));
    Ok(match gate.answer {
        Answer::Passed => exit::DONE,
        Answer::Slower => exit::GATE_SLOWER,
        Answer::Undecided => exit::GATE_INCONCLUSIVE,
    })
}
