//! One run from its set-up to its last record.
//!
//! What must stay true: a record is on the disk before the next trial starts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use crate::active_run::ActiveRun;
use crate::budget::{Budget, Clock, spent_earlier};
use crate::executor::Executor;
use crate::plans::Plans;
use crate::probes::Bench;
use crate::probes::answers::AnswerPasses;
use crate::probes::cause_test::CauseTests;
use crate::probes::headroom::Headroom;
use crate::probes::loads::Loads;
use crate::probes::pilot::{self, Pilots};
use crate::probes::profile::Profiles;
use crate::probes::recovery::Recoveries;
use crate::progress::{Progress, Screen};
use crate::schedule::{Keep, Schedule};
use crate::setup::Setup;
use crate::{aa, refusals};
use analysis::{EndReason, given_up, never_ok};
use engine::Cache;
use experiment::{Experiment, NoisyHost, shell_path};
use record::RunDir;
use record::format::crash::CrashKind;
use record::format::{
    ContenderFacts, DecisionKind, DecisionRecord, FORMAT_VERSION, PlannedTrial, RunRecord, TrialRecord,
};
use trial::observe::foreign_cpu;
use trial::{Interrupted, host};

/// How long the idle host is observed before the first block, and what others may take of it.
const IDLE_CHECK: Duration = Duration::from_secs(10);
const FOREIGN_CPU_MAX: f64 = 0.10;

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
    let passes = AnswerPasses::of(&bench);
    bench.run(&passes)?;
    passes.compare(&mut bench)?;
    bench.run(&Pilots { experiment })?;
    pilot::set_warmups(experiment, &mut bench)?;
    bench.run(&Loads { cache: &cache })?;
    bench.run(&Recoveries::asked(experiment))?;
    let observers = bench.observers;
    let budget = Budget::new(clock, entries);
    let takes = active_run.plan.estimate.run;
    let servers = active_run.plan.record.contenders.len() * active_run.plan.record.workloads.len();
    let mut executor = Executor::new(active_run, setup, observers, Some(Plans::of(bench.run, takes, servers)));
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
        passes.compare_trials(&mut bench)?;
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
    bench.run(&Recoveries::of_search(experiment))?;
    bench.run(&CauseTests::new(ended, &experiment.method, cache))?;
    bench.run(&Profiles { experiment, run_dir })
}

pub fn run_record(active_run: &ActiveRun, cache: &Cache) -> Result<RunRecord> {
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
        answers: Vec::new(),
        fidelity: Vec::new(),
        decisions: Vec::new(),
        twins: Vec::new(),
        spent_s: 0.0,
        labels: active_run.experiment.labels.clone(),
        search: active_run.search.clone(),
    })
}

/// Starts each contender once; those that fail are named with their reason.
pub fn rehearse(
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
            Ok(facts) => {
                // What an earlier session has asked behind its intervals stands.
                let plans = run.contenders.remove(&name).map(|known| known.plans).unwrap_or_default();
                run.contenders.insert(name, ContenderFacts { plans, ..facts });
            }
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

pub fn refuse_noise(experiment: &Experiment, interrupted: &AtomicBool, progress: &Progress) -> Result<()> {
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
