//! Behind the last block: the peak point once more, with twice the generator's threads.
//!
//! What a server can do shows only where the generator could ask for more. It runs on the same stage as
//! the trials of the plan and is none of them: it says nothing about contenders, but whether what was
//! measured was the generator.

use std::time::Duration;

use anyhow::Result;

use super::progress::Progress;
use super::stage::Stage;
use crate::budget::Clock;
use crate::warmup_s;
use analysis::doubling::{BLOCKS, due, peak};
use experiment::plan::doubling::{DoublingTrial, blocks};
use record::RunDir;
use record::format::figures::signed_percent;
use record::format::{DoublingRecord, PlanRecord, PlannedTrial, RunRecord, TrialRecord, WorkloadRecord, point_text};
use trial::observe::Observers;
use trial::run_trial;

/// Doubles for each workload that it is due for; an earlier sitting's blocks are not run again.
pub fn double(
    plan: &PlanRecord,
    run_dir: &RunDir,
    stage: &Stage,
    run: &mut RunRecord,
    clock: &Clock,
    progress: &Progress,
) -> Result<()> {
    let trials = run_dir.trials()?.records;
    for (index, workload) in due(plan).enumerate() {
        let found = peak(plan, &trials, workload, |name| stage.has(name) && stage.is_behind_a_connection(name));
        let Some((contender, point)) = found else { continue };
        let at = run.doublings.iter().position(|known| known.workload == workload.label).unwrap_or_else(|| {
            let (as_usual, doubled) = (Vec::new(), Vec::new());
            let workload = workload.label.clone();
            run.doublings.push(DoublingRecord { workload, contender, point, as_usual, doubled });
            run.doublings.len() - 1
        });
        let first_folder = index * BLOCKS * 2;
        let warmup = Duration::from_secs_f64(warmup_s(plan, &run.warmups, &workload.label, plan.method.blocks));
        Doubling { plan, run_dir, stage, workload, warmup, first_folder, clock, progress }.run(run, at, &trials)?;
    }
    Ok(())
}

struct Doubling<'a> {
    plan: &'a PlanRecord,
    run_dir: &'a RunDir,
    stage: &'a Stage<'a>,
    workload: &'a WorkloadRecord,
    /// What the last trials of the plan warmed up for.
    warmup: Duration,
    first_folder: usize,
    clock: &'a Clock,
    progress: &'a Progress,
}

impl Doubling<'_> {
    /// Runs the blocks that record `at` lacks, and keeps each when it is over.
    fn run(&self, run: &mut RunRecord, at: usize, trials: &[TrialRecord]) -> Result<()> {
        let record = &run.doublings[at];
        let (done, contender, point) = (record.doubled.len(), record.contender.clone(), record.point.clone());
        let place = format!("{contender}, {}", point_text(&point));
        let left = BLOCKS.saturating_sub(done);
        if left > 0 && !self.clock.holds_blocks(trials, &contender, left) {
            self.progress.say(&format!("the budget leaves no time to double the generator's threads at {place}"));
            return Ok(());
        }
        let all = blocks(self.plan, &self.workload.label, &contender, &point);
        for block in &all[done.min(BLOCKS)..] {
            let Some([as_usual, doubled]) = self.block(block)? else { return Ok(()) };
            let record = &mut run.doublings[at];
            record.as_usual.push(as_usual);
            record.doubled.push(doubled);
            self.run_dir.write_run(run)?;
            let rise = signed_percent(doubled / as_usual - 1.0, 1);
            let number = run.doublings[at].doubled.len();
            self.progress.say(&format!("[doubling {number}/{BLOCKS}] {place}: twice the generator's threads: {rise}"));
        }
        Ok(())
    }

    /// As usual and doubled, in this order, whichever ran first; none when a trial failed.
    fn block(&self, block: &[DoublingTrial; 2]) -> Result<Option<[f64; 2]>> {
        let mut values = [None; 2];
        for one in block {
            values[usize::from(one.doubled)] = self.trial(one)?;
        }
        Ok(values[0].zip(values[1]).map(|(as_usual, doubled)| [as_usual, doubled]))
    }

    fn trial(&self, one: &DoublingTrial) -> Result<Option<f64>> {
        let planned = &one.planned;
        self.progress.status(&format!("doubling the generator's threads, block {} of {BLOCKS}", planned.block));
        std::thread::sleep(Duration::from_millis(planned.gap_ms));
        let folder = self.run_dir.doubling_folder(self.first_folder + planned.trial as usize)?;
        // Places in a block choose the side of a duet, and here both are to run on one.
        let planned = &PlannedTrial { order: 1, ..planned.clone() };
        let mut trial = self.stage.trial(planned, &folder, self.warmup);
        if one.doubled {
            trial.seat = trial.seat.doubled();
        }
        let finished = run_trial(&trial, &mut Observers::default(), &mut |_| ())?;
        self.progress.beside_done();
        let value = finished.record.metrics.get(self.workload.primary_metric()).copied();
        if let Some(failure) = &finished.record.failure {
            let what = "warning: whether the generator is the limit stays open: a trial failed";
            self.progress.say(&format!("{what} at `{}`: {}", failure.step, failure.message));
        }
        Ok(value.filter(|value| *value > 0.0))
    }
}
