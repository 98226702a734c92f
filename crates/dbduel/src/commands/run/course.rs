//! The loop over blocks: what is run next, what is run again, and when a run ends.
//!
//! It starts no server: how a trial is run comes in as a function, so that tests can tell it a story.
//! What must stay true: a record is on the disk before the next trial starts, and what is decided here
//! follows from the records and the clock alone, so that a run that is resumed goes on as it would have.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use super::budget::Budget;
use super::{Sitting, repeats, warmups};
use crate::analysis::{EndReason, given_up, should_stop};
use crate::commands::progress::Progress;
use crate::plan;
use crate::store::format::{PlannedTrial, RunRecord, TrialRecord, point_text};
use crate::trial::Interrupted;

/// Runs one trial behind a warm-up.
pub type RunTrial<'a> = dyn FnMut(&PlannedTrial, Duration, &Progress) -> Result<TrialRecord> + 'a;

/// The run under way: what is recorded so far, and what the clock still allows.
pub struct Course<'a> {
    sitting: &'a Sitting,
    interrupted: &'a AtomicBool,
    progress: &'a mut Progress,
    run: &'a mut RunRecord,
    pub trials: Vec<TrialRecord>,
    budget: Budget,
    /// The last block that this sitting has gone through.
    walked: u32,
    run_trial: &'a mut RunTrial<'a>,
}

impl<'a> Course<'a> {
    pub fn new(
        sitting: &'a Sitting,
        interrupted: &'a AtomicBool,
        progress: &'a mut Progress,
        run: &'a mut RunRecord,
        budget: Budget,
        run_trial: &'a mut RunTrial<'a>,
    ) -> Course<'a> {
        Course { sitting, interrupted, progress, run, trials: sitting.done.clone(), budget, walked: 0, run_trial }
    }

    /// Runs what is left of the plan until the words are there or the blocks are used up, and then
    /// measures again what the host disturbed. Where a word hung on a disturbed pair, blocks go on.
    pub fn run_all(&mut self) -> Result<EndReason> {
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
        let (plan, warmups) = (&self.sitting.plan.record, &self.run.warmups);
        let warmup_s = warmups::warmup_s(plan, warmups, &planned.workload, planned.block);
        let mut record = (self.run_trial)(planned, Duration::from_secs_f64(warmup_s), self.progress)?;
        if resumed {
            // Its pair spans the interruption; it counts, and says so.
            record.flags.push("resumed".to_owned());
        }
        self.sitting.run_dir.append(&record)?;
        self.progress.trial_done(planned, Some(&record));
        self.trials.push(record);
        Ok(())
    }
}

fn is_done(planned: &PlannedTrial, trials: &[TrialRecord]) -> bool {
    trials.iter().any(|record| record.trial == planned.trial)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jiff::Timestamp;

    use super::*;
    use crate::analysis::fixture::{Story, tell};
    use crate::commands::seats::Seats;
    use crate::commands::{plan_experiment, vocabulary};
    use crate::experiment::{Experiment, Overrides};
    use crate::store::RunDir;
    use crate::store::format::Status;

    const TWINS: &str = "contender = [{ name = \"a\", engine = \"sqlite\" }, { name = \"b\", engine = \"sqlite\" }]\n\
        workload = { name = \"oltp_read_write\", rows = 1000 }\n\
        method = { warmup = \"30s\", blocks = 20 }\n";

    fn sitting(folder: &tempfile::TempDir, done: Vec<TrialRecord>) -> Sitting {
        let experiment = Experiment::parse(TWINS, "twins.toml", &vocabulary(), &Overrides::default()).unwrap();
        let plan = plan_experiment(&experiment).unwrap();
        let run_dir = match done.is_empty() {
            true => RunDir::create(folder.path(), "twins", Timestamp::now()).unwrap(),
            false => RunDir::open(folder.path(), "last").unwrap(),
        };
        run_dir.write_plan(&plan.record).unwrap();
        let resumed = !done.is_empty();
        let seats = Seats::on_this_host(&experiment).unwrap();
        Sitting { experiment, plan, seats, run_dir, done, resumed, file: "made-up.toml".into(), search: None }
    }

    /// A trial that was never run: throughput, drift and flags as the story wants them.
    fn record(planned: &PlannedTrial, tps: f64, drift: f64, flags: &[&str]) -> TrialRecord {
        let mut record = tell(&Story::default()).trials.swap_remove(0);
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
            repeats: planned.repeats,
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
    }

    fn walk(sitting: &Sitting, interrupted: &AtomicBool, story: &dyn Fn(&PlannedTrial) -> TrialRecord) -> Walked {
        let mut run = tell(&Story::default()).run;
        let mut progress = Progress::new(&sitting.plan.record);
        let mut warmups = Vec::new();
        let mut run_trial = |planned: &PlannedTrial, warmup: Duration, _: &Progress| {
            warmups.push((planned.block, warmup.as_secs()));
            Ok(story(planned))
        };
        let budget = Budget::new(None, &sitting.done, &[], 1);
        let mut course = Course::new(sitting, interrupted, &mut progress, &mut run, budget, &mut run_trial);
        let ended = course.run_all();
        let trials = course.trials;
        assert_eq!(sitting.run_dir.trials().unwrap().records, trials, "what is known is what is kept");
        Walked { ended, trials, run, warmups }
    }

    /// `b` wins every block by a little more than the one before.
    fn clear(planned: &PlannedTrial) -> f64 {
        if planned.contender == "a" { 1000.0 } else { 1100.0 + f64::from(planned.block) }
    }

    #[test]
    fn a_quiet_run_ends_with_its_word_and_repeats_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let sitting = sitting(&folder, Vec::new());
        let walked = walk(&sitting, &AtomicBool::new(false), &|planned| record(planned, clear(planned), 0.0, &[]));
        assert_eq!((walked.ended.unwrap(), walked.trials.len()), (EndReason::Decided, 16));
        assert!(walked.run.warmups.is_empty() && walked.warmups.iter().all(|(_, seconds)| *seconds == 30));
    }

    #[test]
    fn a_disturbed_pair_is_repeated_whole_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let sitting = sitting(&folder, Vec::new());
        let story = |planned: &PlannedTrial| {
            let noisy = planned.block == 3 && planned.contender == "a" && planned.repeats.is_none();
            record(planned, clear(planned), 0.0, if noisy { &["foreign-cpu"] } else { &[] })
        };
        let walked = walk(&sitting, &AtomicBool::new(false), &story);
        assert_eq!((walked.ended.unwrap(), walked.trials.len()), (EndReason::Decided, 18));
        let again = &walked.trials[16..];
        assert!(again.iter().all(|trial| trial.block == 3 && trial.repeats.is_some()));
        assert_eq!(again.iter().map(|trial| trial.trial).collect::<Vec<_>>(), [41, 42]);
    }

    #[test]
    fn where_a_word_hung_on_a_disturbed_pair_blocks_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let sitting = sitting(&folder, Vec::new());
        // Eight blocks of one sign are a word, seven and one are none.
        let story = |planned: &PlannedTrial| {
            let (at_stake, first) = (planned.block == 3 && planned.contender == "b", planned.repeats.is_none());
            let tps = if at_stake && !first { 995.0 } else { clear(planned) };
            record(planned, tps, 0.0, if at_stake && first { &["steal"] } else { &[] })
        };
        let walked = walk(&sitting, &AtomicBool::new(false), &story);
        assert_eq!(walked.ended.unwrap(), EndReason::Decided);
        let blocks: Vec<u32> = walked.trials.iter().step_by(2).map(|trial| trial.block).collect();
        assert_eq!(blocks, [1, 2, 3, 4, 5, 6, 7, 8, 3, 9, 10]);
    }

    #[test]
    fn trials_that_still_rise_warm_up_twice_as_long_from_the_next_block_on() {
        let folder = tempfile::tempdir().unwrap();
        let sitting = sitting(&folder, Vec::new());
        let story = |planned: &PlannedTrial| {
            let noise = [0.002, -0.002, 0.001][planned.trial as usize % 3];
            record(planned, clear(planned), 0.08 + noise, &[])
        };
        let walked = walk(&sitting, &AtomicBool::new(false), &story);
        assert!(walked.warmups.iter().all(|(block, seconds)| *seconds == if *block <= 4 { 30 } else { 60 }));
        assert_eq!(walked.run.warmups.len(), 1, "it doubles once");
        assert_eq!(sitting.run_dir.run_record().unwrap().warmups, walked.run.warmups);
    }

    #[test]
    fn a_repeat_that_was_interrupted_is_made_whole_first_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let first = sitting(&folder, Vec::new());
        let interrupted = AtomicBool::new(false);
        let story = |planned: &PlannedTrial| {
            if planned.repeats.is_some() {
                interrupted.store(true, Ordering::Relaxed);
            }
            let noisy = planned.block == 3 && planned.repeats.is_none();
            record(planned, clear(planned), 0.0, if noisy { &["swap"] } else { &[] })
        };
        let walked = walk(&first, &interrupted, &story);
        assert!(walked.ended.unwrap_err().is::<Interrupted>());
        assert_eq!(walked.trials.len(), 17);
        interrupted.store(false, Ordering::Relaxed);
        let quiet = |planned: &PlannedTrial| record(planned, clear(planned), 0.0, &[]);
        let second = walk(&sitting(&folder, walked.trials), &interrupted, &quiet);
        assert_eq!((second.ended.unwrap(), second.trials.len()), (EndReason::Decided, 18));
        assert_eq!((second.trials[17].trial, second.trials[17].flags[0].as_str()), (42, "resumed"));
        assert_ne!(second.trials[16].contender, second.trials[17].contender);
        let third = walk(&sitting(&folder, second.trials.clone()), &interrupted, &|_| panic!("nothing is left to do"));
        assert_eq!(third.trials, second.trials);
    }
}
