//! `dbduel run`: plan, provision, load, measure, report.

mod budget;
mod pilot;
mod repeats;
mod warmups;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail};
use jiff::Timestamp;

use self::budget::Budget;
use self::pilot::run_pilots;
use super::progress::Progress;
use super::stage::Stage;
use super::{Failure, cannot_plan, host, note, plan_experiment, say, vocabulary};
use crate::analysis::{Conclusions, EndReason, Word, conclude, given_up, should_stop};
use crate::cli::{RunArgs, exit};
use crate::engine::{Cache, end_all};
use crate::experiment::{Experiment, NoisyHost, Overrides};
use crate::observe::{Observers, foreign_cpu};
use crate::plan::{self, Plan};
use crate::report;
use crate::store::RunDir;
use crate::store::format::{FORMAT_VERSION, PlanRecord, PlannedTrial, RunRecord, TrialRecord, point_text};
use crate::trial::{Interrupted, absent, run_trial};

/// How long the idle host is watched before the first block, and what others may take of it.
const IDLE_CHECK: Duration = Duration::from_secs(10);
const FOREIGN_CPU_MAX: f64 = 0.10;

/// How soon servers end at an interruption.
const INTERRUPTION_POLL: Duration = Duration::from_millis(50);

pub fn run(args: &RunArgs) -> Result<u8, Failure> {
    let sitting = Sitting::begin(args)?;
    let interrupted = interruption().context("cannot catch signals")?;
    let progress = Progress::new(&sitting.plan.record);
    let ended = ending_servers(&interrupted, || measure(&sitting, &interrupted, progress));
    let ended = match ended {
        // What failed because its server was taken away is not what the user wants to hear of.
        Err(_) if interrupted.load(Ordering::Relaxed) => {
            Ok(Ended { reason: EndReason::Interrupted, incomplete: false })
        }
        ended => ended,
    };
    finish(args, &sitting.run_dir, ended)
}

/// Does some work; at an interruption every server and package client ends, so that no step of the
/// work waits for one.
fn ending_servers<T>(interrupted: &AtomicBool, work: impl FnOnce() -> T) -> T {
    let (done, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while ended.recv_timeout(INTERRUPTION_POLL) == Err(mpsc::RecvTimeoutError::Timeout) {
                if interrupted.load(Ordering::Relaxed) {
                    end_all();
                }
            }
        });
        let worked = work();
        drop(done);
        worked
    })
}

/// One stretch of work on a run: the whole of it, or what an earlier one left.
struct Sitting {
    experiment: Experiment,
    plan: Plan,
    run_dir: RunDir,
    /// Trials that earlier sittings finished.
    done: Vec<TrialRecord>,
    resumed: bool,
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
        let (experiment, plan) = planned(file, &args.method.overrides())?;
        let run_dir = RunDir::create(&args.runs, &experiment.name, Timestamp::now())
            .context("cannot keep a run here; give a folder that you may write to with --runs")?;
        run_dir.write_experiment(&experiment.text)?;
        run_dir.write_plan(&plan.record)?;
        Ok(Sitting { experiment, plan, run_dir, done: Vec::new(), resumed: false })
    }

    /// The stored experiment again, with what the command line changed then.
    fn resume(args: &RunArgs, run: &str) -> Result<Sitting, Failure> {
        let run_dir = RunDir::open(&args.runs, run)?;
        let stored = run_dir.plan()?;
        let overrides = Overrides::of_plan(&stored);
        refuse_another_plan(args, &run_dir, &stored)?;
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
        Ok(Sitting { experiment, plan, run_dir, done, resumed: true })
    }
}

/// A file and flags beside `--resume` may only say again what the stored plan says; to pass over
/// what they change would leave the user with an answer to another question.
fn refuse_another_plan(args: &RunArgs, run_dir: &RunDir, stored: &PlanRecord) -> Result<(), Failure> {
    let (overrides, name) = (args.method.overrides(), run_dir.name());
    let next = format!("next: `dbduel run --resume {name}` goes on with the stored experiment");
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

/// Set by the first SIGINT, SIGTERM or SIGHUP; the second one ends the process, and the keepers end
/// its servers.
pub fn interruption() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(signal, exit::INTERRUPTED.into(), Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// How a sitting ended when nothing broke.
struct Ended {
    reason: EndReason,
    /// A contender did not start, or a point was given up.
    incomplete: bool,
}

fn measure(sitting: &Sitting, interrupted: &AtomicBool, mut progress: Progress) -> Result<Ended> {
    let Sitting { experiment, run_dir, .. } = sitting;
    let _lock = host::lock(&experiment.name, interrupted, &|line| progress.say(line))?;
    let cache = Cache::open()?;
    let logs = run_dir.path().join("logs");
    std::fs::create_dir_all(&logs)?;
    let seat = host::seat();
    let mut run = run_record(sitting, &cache, &seat)?;
    run_dir.write_run(&run)?;
    let (mut stage, absent) = Stage::set(experiment, &cache, seat, interrupted, &logs, &progress)?;
    let mut failures = absent;
    failures.extend(rehearse(&stage, sitting, &mut run, &logs, &progress)?);
    tell_failures(sitting, &mut failures, 0, &progress)?;
    if run.client.null_runs.is_empty() {
        run.client.null_runs = stage.measure_nothing(&cache, &progress)?;
    }
    stage.know_ceilings(&run.client.null_runs);
    run_dir.write_run(&run)?;
    refuse_noise(experiment, interrupted, &progress)?;
    let entries = sitting.plan.record.entries_in_a_block();
    let budget = Budget::new(experiment.method.budget, &sitting.done, &run.pilots, entries);
    let mut observers = Observers::new();
    let told = failures.len();
    failures.extend(run_pilots(sitting, &stage, &mut observers, &mut run, &progress)?);
    tell_failures(sitting, &mut failures, told, &progress)?;
    let trials = sitting.done.clone();
    let mut measuring = Measuring {
        sitting,
        stage: &stage,
        interrupted,
        progress: &mut progress,
        observers,
        run: &mut run,
        trials,
        budget,
        walked: 0,
    };
    let ended = measuring.run_all();
    let given_up = given_up(&measuring.trials);
    let reason = match ended {
        Err(_) if interrupted.load(Ordering::Relaxed) => EndReason::Interrupted,
        ended => ended?,
    };
    progress.finish();
    let incomplete = !failures.is_empty() || !given_up.is_empty();
    run.given_up = given_up;
    run.ended_by = Some(reason.as_str().to_owned());
    run.finished_at = Some(Timestamp::now().to_string());
    run_dir.write_run(&run)?;
    Ok(Ended { reason, incomplete })
}

fn run_record(sitting: &Sitting, cache: &Cache, seat: &crate::trial::ClientSeat) -> Result<RunRecord> {
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
        client: host::client_record(seat),
        contenders: std::collections::BTreeMap::new(),
        given_up: Vec::new(),
        pilots: Vec::new(),
        warmups: Vec::new(),
        doublings: Vec::new(),
        twins: Vec::new(),
    })
}

/// Starts each contender once; those that fail are named with their reason.
fn rehearse(
    stage: &Stage,
    sitting: &Sitting,
    run: &mut RunRecord,
    logs: &Path,
    progress: &Progress,
) -> Result<Vec<(String, Error)>> {
    let mut failures = Vec::new();
    for (name, facts) in stage.rehearse(&sitting.plan, logs, progress) {
        match facts {
            Ok(facts) => drop(run.contenders.insert(name, facts)),
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(error) => failures.push((name, error)),
        }
    }
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

/// The run under way: what is recorded so far, and what the clock still allows.
struct Measuring<'a> {
    sitting: &'a Sitting,
    stage: &'a Stage<'a>,
    interrupted: &'a AtomicBool,
    progress: &'a mut Progress,
    observers: Observers,
    run: &'a mut RunRecord,
    trials: Vec<TrialRecord>,
    budget: Budget,
    /// The last block that this sitting has gone through.
    walked: u32,
}

impl Measuring<'_> {
    /// Runs what is left of the plan until the words are there or the blocks are used up, and then
    /// measures again what the host disturbed. Where a word hung on a disturbed pair, blocks go on.
    fn run_all(&mut self) -> Result<EndReason> {
        let of_the_plan = self.trials.iter().filter(|record| record.repeats.is_none()).count();
        self.progress.begin(of_the_plan);
        self.finish_repeat()?;
        loop {
            let reason = self.run_blocks()?;
            if !self.run_repeats()? || reason != EndReason::Decided {
                return Ok(reason);
            }
        }
    }

    fn run_blocks(&mut self) -> Result<EndReason> {
        let plan = &self.sitting.plan;
        if let Some(reason) = should_stop(&plan.record, &self.trials) {
            return Ok(reason);
        }
        for block in plan.blocks().filter(|block| block[0].block > self.walked).collect::<Vec<_>>() {
            let left: Vec<&PlannedTrial> = block.iter().filter(|planned| !is_done(planned, &self.trials)).collect();
            if left.is_empty() {
                continue;
            }
            if left.len() == block.len() && !self.budget.holds_another_block() {
                return Ok(EndReason::Budget);
            }
            self.budget.block_begins();
            self.run_trials(&left, left.len() < block.len())?;
            self.budget.block_ends();
            self.walked = block[0].block;
            if let Some(reason) = should_stop(&plan.record, &self.trials) {
                return Ok(reason);
            }
            self.lengthen_warmups()?;
        }
        Ok(EndReason::Blocks)
    }

    /// Runs trials one after the other; `rest` of what an earlier sitting began.
    fn run_trials(&mut self, trials: &[&PlannedTrial], rest: bool) -> Result<()> {
        for (index, planned) in trials.iter().enumerate() {
            self.run_planned(planned, self.sitting.resumed && rest && index == 0)?;
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
        }
        Ok(())
    }

    /// Trials that still rise or fall warm up longer from the next block on.
    fn lengthen_warmups(&mut self) -> Result<()> {
        for found in warmups::lengthened(&self.sitting.plan.record, &self.run.warmups, &self.trials, self.walked) {
            let warmup = &found.warmup;
            self.progress.say(&format!(
                "{} is unsteady ({} changes by {:+.1} % from the first half of a trial to the second): from block {} on trials warm up {} s, twice as long",
                warmup.workload,
                found.who,
                found.drift.mean.exp_m1() * 100.0,
                warmup.from_block,
                warmup.seconds
            ));
            self.run.warmups.push(found.warmup);
            self.sitting.run_dir.write_run(self.run)?;
        }
        Ok(())
    }

    /// Measures again what the host disturbed, as far as that may be; says whether anything was.
    fn run_repeats(&mut self) -> Result<bool> {
        let (experiment, plan) = (&self.sitting.experiment, &self.sitting.plan.record);
        let mut any = false;
        while let Some(entry) = repeats::next(plan, &self.trials).filter(|_| self.budget.holds_another_repeat()) {
            let place = format!("block {}, {}, {}", entry.block, entry.workload, point_text(&entry.point));
            self.progress.say(&format!("{place}: the host was disturbed, so all contenders run again"));
            let again = plan::repeat(experiment, plan, &entry, repeats::begun(plan, &self.trials) + 1);
            self.run_trials(&again.iter().collect::<Vec<_>>(), false)?;
            any = true;
        }
        Ok(any)
    }

    /// A repeat that an earlier sitting began is made whole before anything is judged.
    fn finish_repeat(&mut self) -> Result<()> {
        let (experiment, plan) = (&self.sitting.experiment, &self.sitting.plan.record);
        let Some((entry, number)) = repeats::last_begun(plan, &self.trials) else { return Ok(()) };
        let again = plan::repeat(experiment, plan, &entry, number);
        let left: Vec<&PlannedTrial> = again.iter().filter(|planned| !is_done(planned, &self.trials)).collect();
        self.run_trials(&left, true)
    }

    /// Runs one trial and keeps it: after this returns, no crash takes it away.
    fn run_planned(&mut self, planned: &PlannedTrial, resumed: bool) -> Result<()> {
        let is_given_up = given_up(&self.trials).iter().any(|point| {
            (&point.workload, &point.contender, &point.point) == (&planned.workload, &planned.contender, &planned.point)
        });
        if is_given_up {
            self.progress.trial_done(planned, None);
            return Ok(());
        }
        let record =
            if self.stage.has(&planned.contender) { self.measure(planned, resumed)? } else { absent(planned) };
        self.sitting.run_dir.append(&record)?;
        self.progress.trial_done(planned, Some(&record));
        self.trials.push(record);
        Ok(())
    }

    /// One trial, with everything but its record kept.
    fn measure(&mut self, planned: &PlannedTrial, resumed: bool) -> Result<TrialRecord> {
        let (run_dir, progress) = (&self.sitting.run_dir, &self.progress);
        let title = progress.trial(planned);
        progress.status(&title);
        std::thread::sleep(Duration::from_millis(planned.gap_ms));
        let folder = run_dir.trial_folder(planned.trial)?;
        let warmup_s =
            warmups::warmup_s(&self.sitting.plan.record, &self.run.warmups, &planned.workload, planned.block);
        let trial = self.stage.trial(planned, &folder, Duration::from_secs_f64(warmup_s));
        let parts = trial.workload.parts();
        let mut live = |live: load::Live| match parts.get(live.part) {
            Some(part) => progress.status(&format!("{title}: {part}, {:.0} s", live.elapsed.as_secs_f64())),
            None => progress.status(&format!("{title}: {:.0} tps", live.tps)),
        };
        let mut finished = run_trial(&trial, &mut self.observers, &mut live)?;
        if resumed {
            // Its pair spans the interruption; it counts, and says so.
            finished.record.flags.push("resumed".to_owned());
        }
        run_dir.write_settings(planned.trial, &finished.settings)?;
        run_dir.write_series(planned.trial, &finished.series)?;
        run_dir.write_histogram(planned.trial, &finished.histogram)?;
        Ok(finished.record)
    }
}

fn is_done(planned: &PlannedTrial, trials: &[TrialRecord]) -> bool {
    trials.iter().any(|record| record.trial == planned.trial)
}

/// Says the run, as `dbduel report` would, and turns what happened into the exit status.
fn finish(args: &RunArgs, run_dir: &RunDir, ended: Result<Ended>) -> Result<u8, Failure> {
    let ended = ended.map_err(|error| with_what_is_kept(error, run_dir))?;
    if ended.reason == EndReason::Interrupted {
        return interrupted_end(args, run_dir);
    }
    let conclusions = tell(args, run_dir)?;
    if ended.incomplete {
        return Ok(exit::NOT_MEASURED);
    }
    Ok(if args.gate { gate(&conclusions) } else { exit::DONE })
}

/// A run that breaks off (a full disk, say) loses no finished trial, and its user should know.
fn with_what_is_kept(error: Error, run_dir: &RunDir) -> Error {
    let measured = run_dir.trials().map_or(0, |trials| trials.records.len());
    if measured == 0 {
        return error;
    }
    let run = run_dir.path().display();
    let next = format!("next: repair the cause, then `dbduel run --resume {run}` goes on");
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
    let run = run_dir.path().display();
    note(&format!("interrupted, {kept}\n  next: go on with `dbduel run --resume {run}`"));
    Ok(exit::INTERRUPTED)
}

fn tell(args: &RunArgs, run_dir: &RunDir) -> Result<Conclusions> {
    let plain = report::Options::default();
    for (format, file) in [("text", "report.txt"), ("html", "report.html")] {
        run_dir.write_report(file, &report::write(run_dir, format, &plain)?)?;
    }
    let format = if args.json { "json" } else { "text" };
    let color = !args.json && super::wants_color();
    say(&report::write(run_dir, format, &report::Options { color, ..plain })?)?;
    Ok(conclude(&run_dir.plan()?, &run_dir.run_record()?, &run_dir.trials()?.records))
}

fn gate(conclusions: &Conclusions) -> u8 {
    let duels = || conclusions.workloads.iter().flat_map(|workload| &workload.duels);
    let loses = duels().any(|duel| match duel.overall.word {
        Word::Slower => true,
        Word::Mixed => !duel.losing.is_empty(),
        _ => false,
    });
    if loses {
        exit::GATE_SLOWER
    } else if duels().any(|duel| duel.overall.word == Word::Inconclusive) {
        exit::GATE_INCONCLUSIVE
    } else {
        exit::DONE
    }
}
