//! The loop over blocks: what is run next, what is run again, and when a run ends.
//!
//! It starts no server: how a trial is run comes in as a function, so that tests can pass made-up records.
//! What must stay true: a record is on the disk before the next trial starts, and what is decided here
//! follows from the records and the clock alone, so that a run that is resumed goes on as it would have.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, bail};

use super::active_run::ActiveRun;
use super::budget::Budget;
use super::{repeats, warm_up};
use crate::plans::Asked;
use crate::progress::Progress;
use analysis::{EndReason, given_up, should_stop, so_far};
use experiment::plan;
use record::format::figures::percent_of_log;
use record::format::{PlannedTrial, Purpose, RunRecord, TrialRecord, measured, point_text};
use record::rule::first_for_points;
use trial::Interrupted;
use trial::observe::frequency_flag;

/// Runs trials that share a start or a time, each behind a warm-up, and passes on each record as it comes; returns what
/// their server was asked when they were over.
pub type RunTrials<'a> = dyn FnMut(&[&PlannedTrial], Duration, &Progress, &mut Keep) -> Result<Option<Asked>> + 'a;

/// Keeps the record of a trial that is over: after this returns, no crash takes it away.
pub type Keep<'a> = dyn FnMut(TrialRecord) -> Result<()> + 'a;

/// The run under way: what is recorded so far, and what the clock still allows.
pub struct Schedule<'a> {
    active_run: &'a ActiveRun,
    interrupted: &'a AtomicBool,
    progress: &'a mut Progress,
    run: &'a mut RunRecord,
    pub trials: Vec<TrialRecord>,
    budget: Budget<'a>,
    /// The last block that this session has gone through.
    walked: u32,
    run_trials: &'a mut RunTrials<'a>,
}

impl<'a> Schedule<'a> {
    pub fn new(
        active_run: &'a ActiveRun,
        interrupted: &'a AtomicBool,
        progress: &'a mut Progress,
        run: &'a mut RunRecord,
        budget: Budget<'a>,
        run_trials: &'a mut RunTrials<'a>,
    ) -> Schedule<'a> {
        Schedule {
            active_run,
            interrupted,
            progress,
            run,
            trials: measured(&active_run.done).into_owned(),
            budget,
            walked: 0,
            run_trials,
        }
    }

    /// Runs what is left of the plan until the verdicts are there or the blocks are used up, and then
    /// measures again what the host disturbed. Where a verdict hung on a disturbed pair, blocks go on.
    pub fn run_all(&mut self) -> Result<EndReason> {
        let of_the_plan = self.trials.iter().filter(|record| record.purpose.repeats().is_none()).count();
        self.progress.begin(of_the_plan);
        self.finish_repeat()?;
        let reason = loop {
            let reason = self.run_blocks()?;
            if !self.run_repeats()? || reason != EndReason::Decided {
                break reason;
            }
        };
        self.run_solo_blocks()?;
        Ok(reason)
    }

    /// Behind a duet each contender runs alone, as often as the plan has it: its bias shows beside these
    /// blocks, and without them there is no verdict.
    fn run_solo_blocks(&mut self) -> Result<()> {
        let plan = &self.active_run.plan;
        for block in plan.blocks().filter(|block| plan.record.is_solo(block[0].block)) {
            let alone = |planned: &PlannedTrial| PlannedTrial { purpose: Purpose::Alone, ..planned.clone() };
            let block: Vec<PlannedTrial> = block.iter().map(alone).collect();
            let left = self.left_of(&block);
            if !left.is_empty() && self.budget.holds_another_block() {
                self.run_trials(&left, left.len() < block.len())?;
            }
        }
        Ok(())
    }

    fn run_blocks(&mut self) -> Result<EndReason> {
        let plan = &self.active_run.plan;
        if let Some(reason) = should_stop(&plan.record, &self.trials) {
            return Ok(reason);
        }
        let ahead = |block: &&[PlannedTrial]| block[0].block > self.walked && !plan.record.is_solo(block[0].block);
        for block in plan.blocks().filter(ahead).collect::<Vec<_>>() {
            let left = self.left_of(block);
            if left.is_empty() {
                continue;
            }
            if left.len() == block.len() && !self.budget.holds_another_block() {
                return Ok(EndReason::Budget);
            }
            self.budget.block_begins();
            self.progress.block_begins(block[0].block);
            self.run_trials(&left, left.len() < block.len())?;
            self.budget.block_ends();
            self.run.spent_s = self.budget.clock.spent().as_secs_f64();
            self.active_run.run_dir.write_run(self.run)?;
            self.walked = block[0].block;
            let has_interval = first_for_points(&plan.record, 1).is_some_and(|first| self.walked >= first);
            let shown = has_interval.then(|| so_far(&plan.record, self.run, &self.trials));
            self.progress.block_ends(&shown.unwrap_or_default());
            if let Some(reason) = should_stop(&plan.record, &self.trials) {
                return Ok(reason);
            }
            self.lengthen_warmups()?;
        }
        Ok(EndReason::Blocks)
    }

    /// Runs trials one after the other; `rest` of what an earlier session began.
    fn run_trials(&mut self, trials: &[&PlannedTrial], rest: bool) -> Result<()> {
        for (index, together) in plan::together(&self.active_run.plan.record, trials).into_iter().enumerate() {
            self.run_together(&together, self.active_run.resumed && rest && index == 0)?;
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
        }
        Ok(())
    }

    /// Trials that still rise or fall warm up longer from the next block on.
    fn lengthen_warmups(&mut self) -> Result<()> {
        for found in warm_up::lengthened(&self.active_run.plan.record, &self.run.decisions, &self.trials, self.walked) {
            let warmup = &found.warmup;
            self.progress.print(&format!(
                "{} is unsteady ({} changes by {} from the first half of a trial to the second; p {:.1e}, and {} tests share an error of 5 %): from block {} on trials warm up {} s, twice as long",
                warmup.workload,
                found.who,
                percent_of_log(found.drift.mean, 1),
                found.drift.p,
                found.tests,
                warmup.first_block(),
                warmup.seconds()
            ));
            self.run.decisions.push(found.warmup);
            self.active_run.run_dir.write_run(self.run)?;
        }
        Ok(())
    }

    /// Measures again what the host disturbed, as far as that may be; returns whether anything was.
    fn run_repeats(&mut self) -> Result<bool> {
        let (experiment, plan) = (&self.active_run.experiment, &self.active_run.plan.record);
        let mut any = false;
        while let Some(entry) = repeats::next(plan, &self.trials).filter(|_| self.budget.holds_another_repeat()) {
            let place = format!("block {}, {}, {}", entry.block, entry.workload, point_text(&entry.point));
            self.progress.print(&format!("{place}: the host was disturbed, so all contenders run again"));
            let again = plan::repeat(experiment, plan, &entry, repeats::begun(plan, &self.trials) + 1);
            self.run_trials(&again.iter().collect::<Vec<_>>(), false)?;
            any = true;
        }
        Ok(any)
    }

    /// A repeat that an earlier session began is made whole before anything is judged.
    fn finish_repeat(&mut self) -> Result<()> {
        let (experiment, plan) = (&self.active_run.experiment, &self.active_run.plan.record);
        let Some((entry, number)) = repeats::last_begun(plan, &self.trials) else { return Ok(()) };
        let again = plan::repeat(experiment, plan, &entry, number);
        let left = self.left_of(&again);
        self.run_trials(&left, true)
    }

    /// What of some trials is still to do. The sides of a duet are measured beside each other or not at all:
    /// where one of them is missing both run again, and what is kept already stays.
    fn left_of<'b>(&self, trials: &'b [PlannedTrial]) -> Vec<&'b PlannedTrial> {
        let plan = &self.active_run.plan.record;
        let is_missing = |planned: &PlannedTrial| !is_done(planned.trial, &self.trials);
        let is_due = |planned: &&PlannedTrial| {
            let beside = |other: &&PlannedTrial| plan.runs_at_once(&[planned, other]);
            is_missing(planned) || trials.iter().filter(beside).any(is_missing)
        };
        trials.iter().filter(is_due).collect()
    }

    /// Runs trials that share a start or a time, and keeps each as it ends.
    fn run_together(&mut self, together: &[&PlannedTrial], mut resumed: bool) -> Result<()> {
        let (going, given_up): (Vec<&PlannedTrial>, Vec<&PlannedTrial>) =
            together.iter().partition(|planned| !self.is_given_up(planned));
        let Schedule { active_run, progress, run, trials, run_trials, .. } = self;
        let (plan, progress): (_, &Progress) = (&active_run.plan.record, progress);
        // The other side of a duet is over, so nothing runs beside this trial.
        let halved = plan.runs_at_once(together) && !given_up.is_empty();
        let left_out = if halved { together } else { &given_up[..] };
        left_out.iter().for_each(|planned| progress.trial_done(planned, None));
        let Some(first) = going.first().filter(|_| !halved) else { return Ok(()) };
        let warmup_s = warm_up::warmup_s(plan, &run.decisions, &first.workload, first.block);
        let mut keep = |mut record: TrialRecord| {
            if is_done(record.trial, trials) {
                return Ok(());
            }
            if std::mem::take(&mut resumed) {
                // Its pair spans the interruption; it counts, and reports it.
                record.flags.push("resumed".to_owned());
            }
            record.flags.extend(frequency_flag(trials, &record));
            active_run.run_dir.append(&record)?;
            let planned = going.iter().find(|planned| planned.trial == record.trial);
            progress.trial_done(planned.expect("a record is of a trial that was asked for"), Some(&record));
            trials.push(record);
            refuse_lost_workers(trials)
        };
        if let Some(asked) = (run_trials)(&going, Duration::from_secs_f64(warmup_s), progress, &mut keep)? {
            asked.keep(run);
            active_run.run_dir.write_run(run)?;
        }
        Ok(())
    }

    fn is_given_up(&self, planned: &PlannedTrial) -> bool {
        given_up(&self.trials).iter().any(|point| {
            (&point.workload, &point.contender, &point.point) == (&planned.workload, &planned.contender, &planned.point)
        })
    }
}

/// Failures of workers in a row after which no more are launched.
const LOST_WORKERS_MAX: usize = 3;

/// A worker that is lost is no contender's failure, and one after the other is no accident.
fn refuse_lost_workers(trials: &[TrialRecord]) -> Result<()> {
    let of_worker = |trial: &&TrialRecord| trial.failure.as_ref().is_some_and(|failure| failure.worker.is_some());
    let lost: Vec<&TrialRecord> = trials.iter().rev().take_while(of_worker).collect();
    let Some(failure) = lost.first().and_then(|last| last.failure.as_ref()) else { return Ok(()) };
    if lost.len() < LOST_WORKERS_MAX {
        return Ok(());
    }
    bail!("{LOST_WORKERS_MAX} trials in a row failed by a worker of the load; the last one: {}", failure.message)
}

fn is_done(trial: u32, trials: &[TrialRecord]) -> bool {
    trials.iter().any(|record| record.trial == trial)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;

    use super::super::budget::Clock;
    use super::*;
    use crate::placement::Placement;
    use crate::planning::plan_experiment;
    use experiment::testing::known;
    use experiment::{Experiment, Overrides};
    use fixtures::{Story, stored_run};
    use record::RunDir;
    use record::format::Status;

    const AA_FILE: &str = "contender = [{ name = \"a\", engine = \"sqlite\" }, { name = \"b\", engine = \"sqlite\" }]\n\
        workload = { name = \"oltp_read_write\", rows = 1000 }\n\
        method = { warmup = \"30s\", blocks = 20 }\n";

    fn active_run(folder: &tempfile::TempDir, done: Vec<TrialRecord>) -> ActiveRun {
        active_run_of(AA_FILE, folder, done)
    }

    fn active_run_of(text: &str, folder: &tempfile::TempDir, done: Vec<TrialRecord>) -> ActiveRun {
        let experiment = Experiment::parse(text, "aa.toml", &known(), &Overrides::default()).unwrap();
        let plan = plan_experiment(&experiment).unwrap();
        let run_dir = match done.is_empty() {
            true => RunDir::create(folder.path(), "aa", Timestamp::now()).unwrap(),
            false => RunDir::open(folder.path(), "last").unwrap(),
        };
        run_dir.write_plan(&plan.record).unwrap();
        let resumed = !done.is_empty();
        // How CPUs are shared out does not matter to these tests.
        let without = Experiment {
            method: experiment::Method { duet: false, ..experiment.method.clone() },
            ..experiment.clone()
        };
        let placement = Placement::on_this_host(&without).unwrap();
        let file = "made-up.toml".into();
        ActiveRun { known: known(), experiment, plan, placement, run_dir, done, resumed, file, search: None }
    }

    /// A trial that was never run: throughput, drift and flags as the test needs them.
    fn record(planned: &PlannedTrial, tps: f64, drift: f64, flags: &[&str]) -> TrialRecord {
        let mut record = stored_run(&Story::default()).trials.swap_remove(0);
        record.metrics = BTreeMap::from([("tps".to_owned(), tps), ("half_log_ratio".to_owned(), drift)]);
        record.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        let planned = planned.clone();
        TrialRecord {
            trial: planned.trial,
            block: planned.block,
            order: planned.order,
            workload: planned.workload,
            contender: planned.contender,
            point: planned.point,
            purpose: planned.purpose,
            status: Status::Ok,
            ..record
        }
    }

    struct Walked {
        ended: Result<EndReason>,
        trials: Vec<TrialRecord>,
        run: RunRecord,
        /// Block and warm-up of each trial, in seconds.
        warmups: Vec<(u32, u64)>,
        /// Which trials shared a start or a time.
        starts: Vec<Vec<u32>>,
    }

    fn walk(active_run: &ActiveRun, interrupted: &AtomicBool, story: &dyn Fn(&PlannedTrial) -> TrialRecord) -> Walked {
        walk_until(active_run, interrupted, &|planned| Some(story(planned)))
    }

    /// Where the test has no trial, the run breaks off.
    fn walk_until(
        active_run: &ActiveRun,
        interrupted: &AtomicBool,
        story: &dyn Fn(&PlannedTrial) -> Option<TrialRecord>,
    ) -> Walked {
        let mut run = stored_run(&Story::default()).run;
        let mut progress = Progress::new(&active_run.plan, Box::new(crate::progress::tests::Nowhere));
        let (mut warmups, mut starts) = (Vec::new(), Vec::new());
        let mut run_trials = |together: &[&PlannedTrial], warmup: Duration, _: &Progress, keep: &mut Keep| {
            starts.push(together.iter().map(|planned| planned.trial).collect());
            together.iter().try_for_each(|planned| {
                warmups.push((planned.block, warmup.as_secs()));
                keep(story(planned).ok_or_else(|| anyhow::anyhow!("the test ends here"))?)
            })?;
            Ok(None)
        };
        let clock = Clock::new(None, Duration::ZERO);
        let mut schedule =
            Schedule::new(active_run, interrupted, &mut progress, &mut run, Budget::new(&clock, 1), &mut run_trials);
        let ended = schedule.run_all();
        let trials = schedule.trials;
        assert_eq!(active_run.run_dir.trials().unwrap().measured(), trials, "what is known is what is kept");
        Walked { ended, trials, run, warmups, starts }
    }

    /// `b` wins every block by a little more than the one before.
    fn clear(planned: &PlannedTrial) -> f64 {
        if planned.contender == "a" { 1000.0 } else { 1100.0 + f64::from(planned.block) }
    }

    #[test]
    fn a_frequency_is_held_against_all_trials_of_the_run_also_after_an_interruption() {
        let folder = tempfile::tempdir().unwrap();
        let until = |last: u32, done: Vec<TrialRecord>| {
            walk_until(&active_run(&folder, done), &AtomicBool::new(false), &|planned| {
                let mut record = record(planned, clear(planned), 0.0, &[]);
                let mhz = if [3, 6].contains(&planned.trial) { 2800.0 } else { 3000.0 };
                record.metrics.insert("host_cpu_mhz".into(), mhz);
                (planned.trial <= last).then_some(record)
            })
            .trials
        };
        let trials = until(7, until(5, Vec::new()));
        let off = trials.iter().filter(|trial| trial.flags.iter().any(|flag| flag == "frequency"));
        assert_eq!(off.map(|trial| trial.trial).collect::<Vec<_>>(), [3, 6]);
    }

    #[test]
    fn an_undisturbed_run_ends_with_its_verdict_and_repeats_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let active_run = active_run(&folder, Vec::new());
        let walked = walk(&active_run, &AtomicBool::new(false), &|planned| record(planned, clear(planned), 0.0, &[]));
        assert_eq!((walked.ended.unwrap(), walked.trials.len()), (EndReason::Decided, 16));
        assert!(walked.run.decisions.is_empty() && walked.warmups.iter().all(|(_, seconds)| *seconds == 30));
    }

    #[test]
    fn a_disturbed_pair_is_repeated_whole_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let active_run = active_run(&folder, Vec::new());
        let story = |planned: &PlannedTrial| {
            let noisy = planned.block == 3 && planned.contender == "a" && planned.purpose.repeats().is_none();
            record(planned, clear(planned), 0.0, if noisy { &["foreign-cpu"] } else { &[] })
        };
        let walked = walk(&active_run, &AtomicBool::new(false), &story);
        assert_eq!((walked.ended.unwrap(), walked.trials.len()), (EndReason::Decided, 18));
        let again = &walked.trials[16..];
        assert!(again.iter().all(|trial| trial.block == 3 && trial.purpose.repeats().is_some()));
        assert_eq!(again.iter().map(|trial| trial.trial).collect::<Vec<_>>(), [41, 42]);
    }

    #[test]
    fn blocks_go_on_while_the_verdict_depends_on_a_disturbed_pair() {
        let folder = tempfile::tempdir().unwrap();
        let active_run = active_run(&folder, Vec::new());
        // Eight blocks of one sign are a verdict, seven and one are none.
        let story = |planned: &PlannedTrial| {
            let (at_stake, first) =
                (planned.block == 3 && planned.contender == "b", planned.purpose.repeats().is_none());
            let tps = if at_stake && !first { 995.0 } else { clear(planned) };
            record(planned, tps, 0.0, if at_stake && first { &["steal"] } else { &[] })
        };
        let walked = walk(&active_run, &AtomicBool::new(false), &story);
        assert_eq!(walked.ended.unwrap(), EndReason::Decided);
        let blocks: Vec<u32> = walked.trials.iter().step_by(2).map(|trial| trial.block).collect();
        assert_eq!(blocks, [1, 2, 3, 4, 5, 6, 7, 8, 3, 9, 10]);
    }

    #[test]
    fn trials_that_still_rise_warm_up_twice_as_long_from_the_next_block_on() {
        let folder = tempfile::tempdir().unwrap();
        let active_run = active_run(&folder, Vec::new());
        let story = |planned: &PlannedTrial| {
            let noise = [0.002, -0.002, 0.001][planned.trial as usize % 3];
            record(planned, clear(planned), 0.08 + noise, &[])
        };
        let walked = walk(&active_run, &AtomicBool::new(false), &story);
        assert!(walked.warmups.iter().all(|(block, seconds)| *seconds == if *block <= 4 { 30 } else { 60 }));
        assert_eq!(walked.run.decisions.len(), 1, "it doubles once");
        assert_eq!(active_run.run_dir.run_record().unwrap().decisions, walked.run.decisions);
    }

    #[test]
    fn an_interrupted_repeat_is_completed_first() {
        let folder = tempfile::tempdir().unwrap();
        let first = active_run(&folder, Vec::new());
        let interrupted = AtomicBool::new(false);
        let story = |planned: &PlannedTrial| {
            if planned.purpose.repeats().is_some() {
                interrupted.store(true, Ordering::Relaxed);
            }
            let noisy = planned.block == 3 && planned.purpose.repeats().is_none();
            record(planned, clear(planned), 0.0, if noisy { &["swap"] } else { &[] })
        };
        let walked = walk(&first, &interrupted, &story);
        assert!(walked.ended.unwrap_err().is::<Interrupted>());
        assert_eq!(walked.trials.len(), 17);
        interrupted.store(false, Ordering::Relaxed);
        let quiet = |planned: &PlannedTrial| record(planned, clear(planned), 0.0, &[]);
        let second = walk(&active_run(&folder, walked.trials), &interrupted, &quiet);
        assert_eq!((second.ended.unwrap(), second.trials.len()), (EndReason::Decided, 18));
        assert_eq!((second.trials[17].trial, second.trials[17].flags[0].as_str()), (42, "resumed"));
        assert_ne!(second.trials[16].contender, second.trials[17].contender);
        let third =
            walk(&active_run(&folder, second.trials.clone()), &interrupted, &|_| panic!("nothing is left to do"));
        assert_eq!(third.trials, second.trials);
    }

    #[test]
    fn a_start_that_broke_off_half_walked_keeps_its_points_and_the_rest_starts_anew() {
        let text =
            format!("{AA_FILE}sweep.clients = [1, 4, 16]\n").replace("blocks = 20", "blocks = 8, fast_sweep = true");
        let folder = tempfile::tempdir().unwrap();
        let first = active_run_of(&text, &folder, Vec::new());
        let interrupted = AtomicBool::new(false);
        let story = |planned: &PlannedTrial| record(planned, clear(planned), 0.0, &[]);
        let walked = walk_until(&first, &interrupted, &|planned| (planned.trial != 5).then(|| story(planned)));
        assert_eq!((walked.ended.is_err(), walked.trials.len()), (true, 4));
        assert_eq!(walked.starts, [vec![1, 2, 3], vec![4, 5, 6]]);
        let second = walk(&active_run_of(&text, &folder, walked.trials), &interrupted, &story);
        assert_eq!((second.ended.unwrap(), second.trials.len()), (EndReason::Blocks, 48));
        assert_eq!(second.starts[..2], [vec![5, 6], vec![7, 8, 9]]);
        assert!(second.trials.iter().all(|trial| trial.flags.is_empty() != (trial.trial == 5)), "only one has it");
    }

    #[test]
    fn a_duet_runs_in_pairs_and_behind_its_verdict_each_contender_runs_alone() {
        let text = AA_FILE.replace("blocks = 20", "blocks = 20, duet = true");
        let folder = tempfile::tempdir().unwrap();
        let first = active_run_of(&text, &folder, Vec::new());
        let quiet = AtomicBool::new(false);
        let story = |planned: &PlannedTrial| record(planned, clear(planned), 0.0, &[]);
        // One side of the third pair is on the disk, and the other one is not.
        let walked = walk_until(&first, &quiet, &|planned| (planned.trial != 6).then(|| story(planned)));
        assert_eq!((walked.ended.is_err(), walked.trials.len()), (true, 5));
        let second = walk(&active_run_of(&text, &folder, walked.trials.clone()), &quiet, &story);
        assert_eq!(second.starts[..2], [vec![5, 6], vec![7, 8]], "both run again");
        assert_eq!(second.trials[..5], walked.trials, "what was kept stays");
        assert_eq!(second.ended.unwrap(), EndReason::Decided);
        let blocks: Vec<u32> = second.trials.iter().step_by(2).map(|trial| trial.block).collect();
        assert_eq!(blocks, [1, 2, 3, 4, 5, 6, 7, 8, 21, 22, 23, 24]);
        assert!(second.starts.iter().rev().take(8).all(|start| start.len() == 1));
        let third = walk(&active_run_of(&text, &folder, second.trials.clone()), &quiet, &|_| panic!("nothing is left"));
        assert_eq!(third.trials, second.trials);
    }
}
