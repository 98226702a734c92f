//! One run from its file to its last record: plan, provision, load, measure.
//!
//! It prints nothing itself: events go to a [`Screen`], results into the run's folder. What must
//! stay true: a record is on the disk before the next trial starts, and an interrupted run goes on where its records
//! end.

pub mod aa;
pub mod budget;
mod clones;
mod disk_space;
mod executor;
mod placement;
pub mod planning;
pub mod preflight;
mod probes;
mod progress;
pub mod race;
mod refusals;
mod repeats;
mod schedule;
mod setup;
mod try_out;
mod warm_up;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;

use self::budget::{Budget, Clock, spent_earlier};
use self::executor::Executor;
use self::placement::Placement;
use self::planning::{cannot_plan, expect_open_files, plan_experiment, settle_images, unpack_sources};
use self::preflight::Preflight;
use self::probes::{Bench, CauseTests, Headroom, Pilots, Profiles, Recoveries, pilot};
pub use self::progress::{Progress, Screen, State, times};
use self::schedule::{Keep, Schedule};
use self::setup::Setup;
pub use self::try_out::{Tried, TriedContenders, try_out};
pub use self::warm_up::warmup_s;
use analysis::{EndReason, given_up, never_ok};
use engine::Cache;
pub use experiment::Error;
use experiment::plan::Plan;
use experiment::{Experiment, Known, NoisyHost, Origin, Overrides, shell_path};
use record::RunDir;
use record::format::crash::CrashKind;
use record::format::tuning::SearchRecord;
use record::format::{DecisionKind, DecisionRecord, FORMAT_VERSION, PlanRecord, PlannedTrial, RunRecord, TrialRecord};
use trial::dataset::expect_unchanged;
use trial::observe::foreign_cpu;
use trial::{Interrupted, host};

/// How long the idle host is observed before the first block, and what others may take of it.
const IDLE_CHECK: Duration = Duration::from_secs(10);
const FOREIGN_CPU_MAX: f64 = 0.10;

/// What a run is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    pub known: Known,
    /// None only where a run goes on.
    pub file: Option<PathBuf>,
    /// The folder of runs.
    pub runs: PathBuf,
    /// The run that goes on.
    pub resume: Option<String>,
    pub overrides: Overrides,
    /// Who is shown what is fetched before the run begins.
    pub progress: fn(&str),
}

/// One stretch of work on a run: the whole of it, or what an earlier one left.
pub struct ActiveRun {
    known: Known,
    experiment: Experiment,
    plan: Plan,
    placement: Placement,
    run_dir: RunDir,
    /// What the experiment can be read from again.
    file: PathBuf,
    /// Trials that earlier sessions finished.
    done: Vec<TrialRecord>,
    resumed: bool,
    /// The search over settings that it is part of.
    search: Option<SearchRecord>,
}

impl ActiveRun {
    /// The run that is asked for, new or as far as it is.
    pub fn begin(request: &Request) -> Result<ActiveRun, Error> {
        match &request.resume {
            Some(run) => ActiveRun::resume(request, run),
            None => ActiveRun::start(request),
        }
    }

    fn start(request: &Request) -> Result<ActiveRun, Error> {
        let file = request.file.as_deref().expect("FILE is asked for unless a run goes on");
        let (experiment, plan) = planned(request, file, None)?;
        if host::is_locked() {
            Preflight::of(&experiment).before_a_wait(experiment.contenders.len(), &request.progress)?;
        }
        let mut run = ActiveRun::of(&request.known, experiment, plan, &request.runs, file, None)?;
        if request.overrides.line.is_some() {
            // No file of the user's has these contenders.
            run.file = run.run_dir.path().join("experiment.toml");
        }
        Ok(run)
    }

    /// A run that begins, of an experiment that can be read from `file` again.
    pub fn of(
        known: &Known,
        experiment: Experiment,
        plan: Plan,
        runs: &Path,
        file: &Path,
        search: Option<SearchRecord>,
    ) -> Result<ActiveRun, Error> {
        let placement = placement(&experiment, file)?;
        let run_dir = RunDir::create(runs, &experiment.name, Timestamp::now())
            .context("cannot keep a run here; give a folder that you may write to with --runs")?;
        run_dir.write_experiment(&experiment.text)?;
        run_dir.write_plan(&plan.record)?;
        let file = file.to_owned();
        let (known, done) = (*known, Vec::new());
        Ok(ActiveRun { known, experiment, plan, placement, run_dir, file, done, resumed: false, search })
    }

    pub fn run_dir(&self) -> &RunDir {
        &self.run_dir
    }

    /// Contenders that no trial is left of need no server.
    pub fn leave_out(&mut self, is_out: impl Fn(&str) -> bool) {
        self.experiment.contenders.retain(|contender| !is_out(&contender.name));
    }

    /// The stored experiment again, with what the command line changed then.
    fn resume(request: &Request, run: &str) -> Result<ActiveRun, Error> {
        let run_dir = RunDir::open_to_write(&request.runs, run)?;
        let stored = run_dir.plan()?;
        if request.overrides.twins && !stored.twins {
            return Err(Error::mistake(anyhow!(
                "{} is no A/A test\n  next: go on with `dbduel run --resume {}`",
                run_dir.name(),
                shell_path(run_dir.path())
            )));
        }
        refuse_another_plan(request, &run_dir, &stored)?;
        let search = run_dir.run_record().ok().and_then(|run| run.search);
        race::refuse_to_go_on(&run_dir, search.as_ref())?;
        ActiveRun::of_stored(&request.known, run_dir, &stored, search)
    }

    /// A run that goes on where its records end; it was opened to write.
    pub fn of_stored(
        known: &Known,
        run_dir: RunDir,
        stored: &PlanRecord,
        search: Option<SearchRecord>,
    ) -> Result<ActiveRun, Error> {
        let overrides = Overrides::of_plan(stored);
        let experiment = Experiment::parse(&run_dir.experiment()?, "experiment.toml", known, &overrides);
        let mut experiment = experiment.map_err(Error::mistake)?;
        unpack_sources(&mut experiment, &|_| {})?;
        let plan = plan_experiment(&experiment).map_err(Error::mistake)?;
        if plan.record.plan_hash != stored.plan_hash {
            return Err(anyhow!(
                "{} cannot go on: its plan no longer comes out the same here (another dbduel, or other servers on this machine)\n  next: `dbduel report {}` prints what there is; start a new run for the rest",
                run_dir.name(),
                shell_path(run_dir.path())
            )
            .into());
        }
        expect_own_data(&experiment).map_err(Error::mistake)?;
        let done = run_dir.trials()?.all();
        let file = run_dir.path().join("experiment.toml");
        let placement = placement(&experiment, &file)?;
        Ok(ActiveRun { known: *known, experiment, plan, placement, run_dir, file, done, resumed: true, search })
    }
}

/// Data of the user's that have changed would make the rest of a run another one.
fn expect_own_data(experiment: &Experiment) -> Result<(), anyhow::Error> {
    for choice in &experiment.workloads {
        let own = choice.kind.with(&choice.options)?.spec().own_data;
        let engines = experiment.contenders.iter().map(|contender| contender.kind.kind());
        for (own, engine) in own.iter().flat_map(|own| engines.clone().map(move |engine| (own, engine))) {
            expect_unchanged(own, engine)?;
        }
    }
    Ok(())
}

/// A file and flags beside `--resume` may only repeat what the stored plan has; to ignore
/// what they change would answer another question than the user's.
fn refuse_another_plan(request: &Request, run_dir: &RunDir, stored: &PlanRecord) -> Result<(), Error> {
    let (overrides, name) = (&request.overrides, run_dir.name());
    let again = shell_path(run_dir.path());
    let next = format!("next: `dbduel run --resume {again}` goes on with the stored experiment");
    let Some(file) = &request.file else {
        if overrides.is_empty() {
            return Ok(());
        }
        return Err(Error::mistake(anyhow!("{name} has a plan, which no flag can change any more\n  {next}")));
    };
    let (experiment, plan) = planned(request, file, Some(stored))?;
    let file = file.display();
    if let Some(label) = other_label(&experiment, run_dir) {
        let what = format!("{name} has its labels since it began, and `{label}` is not among them");
        return Err(Error::mistake(anyhow!("{what}\n  {next}")));
    }
    if plan.record.plan_hash == stored.plan_hash {
        return Ok(());
    }
    Err(Error::mistake(anyhow!("{file} is not the experiment of {name}: its plan has another hash\n  {next}")))
}

/// A label that a run does not have yet.
fn other_label(experiment: &Experiment, run_dir: &RunDir) -> Option<String> {
    let stored = run_dir.run_record().ok()?.labels;
    let other = experiment.labels.iter().find(|(name, value)| stored.get(*name) != Some(value));
    other.map(|(name, value)| format!("{name} = {value}"))
}

/// The experiment of a file and its plan; beside a stored one, its images must be those that were measured.
fn planned(request: &Request, file: &Path, stored: Option<&PlanRecord>) -> Result<(Experiment, Plan), Error> {
    let mut experiment = Experiment::load(file, &request.known, &request.overrides).map_err(Error::mistake)?;
    if let Some(stored) = stored {
        expect_same_images(&mut experiment, stored)?;
    }
    unpack_sources(&mut experiment, &request.progress)?;
    let plan = plan_experiment(&experiment).with_context(|| cannot_plan(file)).map_err(Error::mistake)?;
    planning::remarks(&experiment, &plan).iter().for_each(|remark| (request.progress)(remark));
    Ok((experiment, plan))
}

/// A tag may mean another image than when the run began; nothing of that one is fetched.
fn expect_same_images(experiment: &mut Experiment, stored: &PlanRecord) -> Result<(), Error> {
    if !experiment.contenders.iter().any(|contender| matches!(contender.origin, Origin::Image(_))) {
        return Ok(());
    }
    settle_images(experiment, &Cache::open()?, &|_| {})?;
    for (contender, record) in experiment.contenders.iter().zip(&stored.contenders) {
        let (Origin::Image(image), Some(measured)) = (&contender.origin, &record.image) else { continue };
        if let Some(digest) = image.digest.as_ref().filter(|digest| **digest != measured.digest) {
            let (reference, measured) = (&image.reference, &measured.digest);
            let next = "next: without the file, `--resume` goes on with the image of the run";
            let what = format!("{reference} is sha256:{digest:.12} today, this run measured sha256:{measured:.12}");
            return Err(Error::mistake(anyhow!("{what}\n  {next}")));
        }
    }
    Ok(())
}

/// The cores of the file as this host can provide them, and its file systems.
fn placement(experiment: &Experiment, file: &Path) -> Result<Placement, Error> {
    expect_open_files(experiment, file).map_err(Error::mistake)?;
    clones::expect(experiment, file).map_err(Error::mistake)?;
    let placement = Placement::on_this_host(experiment).with_context(|| file.display().to_string());
    placement.map_err(Error::mistake)
}

/// How a session ended when nothing broke.
#[derive(Debug)]
pub struct Ended {
    pub reason: EndReason,
    /// A contender did not start or has no trial that succeeded, or a point was given up.
    pub incomplete: bool,
}

/// Goes through a session to its end, or to an interruption.
pub fn carry_out(active_run: &ActiveRun, screen: Box<dyn Screen>, interrupted: &AtomicBool) -> Result<Ended> {
    let progress = Progress::new(&active_run.plan, screen);
    match engine::interruption::ending_servers(interrupted, || measure(active_run, interrupted, progress)) {
        // A failure because an interrupt ended the server is not reported.
        Err(_) if interrupted.load(Ordering::Relaxed) => {
            Ok(Ended { reason: EndReason::Interrupted, incomplete: false })
        }
        ended => ended,
    }
}

fn measure(active_run: &ActiveRun, interrupted: &AtomicBool, mut progress: Progress) -> Result<Ended> {
    let ActiveRun { experiment, run_dir, .. } = active_run;
    let estimate = &active_run.plan.estimate;
    let all = estimate.run + estimate.checks + estimate.first_load;
    let expected = experiment.method.budget.map_or(all, |budget| budget.min(all));
    let _lock = host::lock(&experiment.name, Some(expected), interrupted, &|line| progress.print(line))?;
    let cache = Cache::open()?;
    let logs = run_dir.path().join("logs");
    std::fs::create_dir_all(&logs)?;
    let mut run = run_record(active_run, &cache)?;
    let clock = Clock::new(experiment.method.budget, spent_earlier(&run, &active_run.done));
    if active_run.done.is_empty() {
        run.twins = aa::known(&active_run.plan.record, &run, &cache, &active_run.file)?;
    }
    run_dir.write_run(&run)?;
    expect_crash_model(active_run, &cache)?;
    let (mut setup, absent) = Setup::set(experiment, &cache, &active_run.placement, interrupted, &logs, &progress)?;
    let mut failures = absent;
    failures.extend(rehearse(&mut setup, active_run, &mut run, &cache, &logs, &progress)?);
    let refused = failures.iter().map(|(name, error)| DecisionRecord::refused(name, format!("{error:#}")));
    run.decide_anew(DecisionKind::Refused, refused);
    warn_of_failures(active_run, &mut failures, &progress)?;
    if run.checks.is_empty() {
        run.checks = setup.measure_nothing(active_run.known.null_load, &cache, &progress)?;
        run.checks.extend(setup.measure_paths(&progress)?);
    }
    setup.know_limits(&run.checks);
    run_dir.write_run(&run)?;
    refuse_noise(experiment, interrupted, &progress)?;
    let entries = active_run.plan.record.entries_in_a_block();
    let (setup, clock) = (&setup, &clock);
    let mut bench = Bench::new(active_run, setup, &mut run, clock, interrupted, &progress)?;
    bench.run(&Pilots { experiment })?;
    pilot::set_warmups(experiment, &mut bench)?;
    let observers = bench.observers;
    let budget = Budget::new(clock, entries);
    let mut executor = Executor::new(active_run, setup, observers);
    let mut run_trials = |planned: &[&PlannedTrial], warmup: Duration, progress: &Progress, keep: &mut Keep| {
        executor.run(planned, warmup, progress, keep)
    };
    let mut schedule = Schedule::new(active_run, interrupted, &mut progress, &mut run, budget, &mut run_trials);
    let (ended, trials) = (schedule.run_all(), schedule.trials);
    let (given_up, is_missing) = (given_up(&trials), warn_of_never_ok(&trials, &|line| progress.print(line)));
    let reason = match ended {
        Err(_) if interrupted.load(Ordering::Relaxed) => EndReason::Interrupted,
        ended => ended?,
    };
    if reason != EndReason::Interrupted {
        let mut bench = Bench::new(active_run, setup, &mut run, clock, interrupted, &progress)?;
        probe(&mut bench, reason, &cache)?;
    }
    for orphan in setup.end_workers() {
        progress.print(&format!("warning: a worker is not proven to be gone: {orphan}"));
    }
    progress.finish();
    let incomplete = !failures.is_empty() || !given_up.is_empty() || is_missing;
    run.decide_anew(DecisionKind::GivenUp, given_up);
    run.spent_s = clock.spent().as_secs_f64();
    run.ended_by = Some(reason.as_str().to_owned());
    run.finished_at = Some(Timestamp::now().to_string());
    run_dir.write_run(&run)?;
    Ok(Ended { reason, incomplete })
}

/// An OS crash that loses what was synced, or keeps what was not, would show nothing about a server.
fn expect_crash_model(active_run: &ActiveRun, cache: &Cache) -> Result<()> {
    if !active_run.plan.record.crashes().contains(&CrashKind::Os) {
        return Ok(());
    }
    let next = "next: write crash = \"kill\" in [recovery], or run it as root on a host with loop devices";
    engine::volume::expect_crash_model(cache.work()?.path())
        .with_context(|| format!("no OS crash can be made here\n  {next}"))
}

/// What runs behind the last block.
fn probe(bench: &mut Bench, ended: EndReason, cache: &Cache) -> Result<()> {
    let ActiveRun { experiment, run_dir, .. } = bench.active_run;
    bench.run(&Headroom)?;
    bench.run(&Recoveries::new(&experiment.method))?;
    bench.run(&CauseTests::new(ended, &experiment.method, cache))?;
    bench.run(&Profiles { experiment, run_dir })
}

fn run_record(active_run: &ActiveRun, cache: &Cache) -> Result<RunRecord> {
    if active_run.resumed
        && let Ok(run) = active_run.run_dir.run_record()
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
        server_host: None,
        client: active_run.placement.record(),
        contenders: std::collections::BTreeMap::new(),
        checks: Vec::new(),
        decisions: Vec::new(),
        twins: Vec::new(),
        spent_s: 0.0,
        labels: active_run.experiment.labels.clone(),
        search: active_run.search.clone(),
    })
}

/// Starts each contender once; those that fail are named with their reason.
fn rehearse(
    setup: &mut Setup,
    active_run: &ActiveRun,
    run: &mut RunRecord,
    cache: &Cache,
    logs: &Path,
    progress: &Progress,
) -> Result<Vec<(String, anyhow::Error)>> {
    let mut failures = Vec::new();
    for (name, facts) in setup.rehearse(&active_run.plan, cache, logs, progress) {
        match facts {
            Ok(facts) => drop(run.contenders.insert(name, facts)),
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => failures.push((name, error)),
        }
    }
    run.server_host = setup.server_host(progress)?;
    let failed = |name: &String| failures.iter().any(|(one, _)| one == name);
    let here = run.contenders.iter().filter(|(name, _)| !failed(name));
    refusals::expect_equal_answers(&active_run.experiment.baseline, here.map(|(name, facts)| (name.as_str(), facts)))?;
    Ok(failures)
}

/// Says which contenders failed; stops here when too few are left to compare.
fn warn_of_failures(
    active_run: &ActiveRun,
    failures: &mut Vec<(String, anyhow::Error)>,
    progress: &Progress,
) -> Result<()> {
    let failed: BTreeSet<&String> = failures.iter().map(|(name, _)| name).collect();
    let contenders = active_run.experiment.contenders.len();
    if contenders - failed.len() < contenders.min(2) || failed.contains(&active_run.experiment.baseline) {
        return Err(failures.swap_remove(0).1);
    }
    for (_, error) in failures {
        progress.print(&format!("warning: {error:#}"));
    }
    Ok(())
}

fn refuse_noise(experiment: &Experiment, interrupted: &AtomicBool, progress: &Progress) -> Result<()> {
    if experiment.method.noisy_host != NoisyHost::Refuse {
        return Ok(());
    }
    progress.status("host check", "CPU of other processes, 10 s");
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

/// Says which contenders were tried in vain; whether there are any.
pub fn warn_of_never_ok(trials: &[TrialRecord], print: &dyn Fn(&str)) -> bool {
    let never = never_ok(trials);
    for (name, why) in &never {
        print(&format!("warning: no trial of `{name}` succeeded; the last one failed: {why}"));
    }
    !never.is_empty()
}

/// A run that breaks off (a full disk, say) loses no finished trial, and the message names the command that
/// resumes it.
pub fn with_what_is_kept(error: anyhow::Error, run_dir: &RunDir, command: &str) -> anyhow::Error {
    let measured = run_dir.trials().map_or(0, |trials| trials.all().len());
    if measured == 0 {
        return error;
    }
    let run = shell_path(run_dir.path());
    let next = format!("next: repair the cause, then `dbduel {command} --resume {run}` goes on");
    error.context(format!("the run broke off; finished trials kept: {measured}\n  {next}"))
}
