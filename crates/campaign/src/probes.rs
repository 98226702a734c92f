//! Probes: trials beside the plan, which show what a verdict rests on and never make one.
//!
//! A probe says which trials are due and what is changed for them. Folders, numbers, budget, resuming, failures,
//! progress and records are the same for all and stand here. What must stay true: a record is on the disk before
//! the next trial starts, and what is left follows from the stored trials alone.

mod headroom;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use crate::budget::{Clock, longest};
use crate::progress::Progress;
use crate::stage::Stage;
use crate::{Sitting, together, warmup_s};
pub use headroom::Headroom;
use record::blocks::next_probe_number;
use record::format::{PlanRecord, PlannedTrial, RunRecord, Status, TrialRecord, point_text};
use trial::observe::Observers;
use trial::{Interrupted, Trial, run_trial};

/// One kind of trial beside the plan.
pub trait Probe {
    /// All trials that are due, also those that are stored already, in sets: a set is run whole or not at all, and
    /// ends where one of its trials fails.
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>>;
    /// What such a trial has otherwise than a trial of the plan.
    fn adapt(&self, planned: &PlannedTrial, trial: &mut Trial);
}

/// What all probes of a run share.
pub struct Bench<'a> {
    pub sitting: &'a Sitting,
    pub stage: &'a Stage<'a>,
    pub run: &'a RunRecord,
    pub clock: &'a Clock,
    pub interrupted: &'a AtomicBool,
    pub progress: &'a Progress,
    /// All that is stored.
    pub trials: Vec<TrialRecord>,
    pub observers: Observers,
}

impl Bench<'_> {
    pub fn plan(&self) -> &PlanRecord {
        &self.sitting.plan.record
    }

    /// Runs what is due and not stored.
    pub fn run(&mut self, probe: &dyn Probe) -> Result<()> {
        for set in probe.due(self) {
            let stored: Vec<&TrialRecord> = set.iter().filter_map(|planned| self.stored(planned)).collect();
            let is_over = stored.len() == set.len() || stored.iter().any(|record| record.status == Status::Failed);
            if !is_over {
                let left: Vec<(usize, PlannedTrial)> = set.iter().cloned().enumerate().skip(stored.len()).collect();
                self.run_set(probe, &left, set.len())?;
            }
        }
        Ok(())
    }

    fn stored(&self, planned: &PlannedTrial) -> Option<&TrialRecord> {
        self.trials.iter().find(|record| {
            (&record.purpose, &record.workload, &record.contender, &record.point, record.block)
                == (&planned.purpose, &planned.workload, &planned.contender, &planned.point, planned.block)
        })
    }

    fn run_set(&mut self, probe: &dyn Probe, left: &[(usize, PlannedTrial)], of: usize) -> Result<()> {
        let title = |planned: &PlannedTrial| {
            format!("{}, {}, {}", planned.purpose.title(), planned.contender, point_text(&planned.point))
        };
        let time = |planned: &PlannedTrial| longest(&self.trials, &planned.contender);
        if !self.clock.holds(left.iter().map(|(_, planned)| time(planned)).sum()) {
            self.progress.say(&format!("{}: the budget leaves no time for it", title(&left[0].1)));
            return Ok(());
        }
        for (index, planned) in left {
            let title = title(planned);
            self.progress.status(&format!("{title}: {} of {of}", index + 1));
            let record = self.run_one(probe, planned, &title)?;
            let outcome = self.progress.outcome(planned, &record);
            self.progress.say(&format!("[{} {}/{of}] {outcome}", planned.purpose.title(), index + 1));
            self.progress.beside_done();
            if record.status == Status::Failed {
                break;
            }
        }
        Ok(())
    }

    /// Runs a trial and keeps its record.
    fn run_one(&mut self, probe: &dyn Probe, planned: &PlannedTrial, title: &str) -> Result<TrialRecord> {
        let planned = PlannedTrial { trial: next_probe_number(self.plan(), &self.trials), ..planned.clone() };
        self.observers.idle(Duration::from_millis(planned.gap_ms));
        let folder = self.sitting.run_dir.trial_folder(planned.trial)?;
        let warmup = warmup_s(self.plan(), &self.run.warmups, &planned.workload, self.plan().method.blocks);
        // Places in a block choose the side of a duet, and probes run on one.
        let seated = PlannedTrial { order: 1, ..planned.clone() };
        let mut trial = self.stage.trial(&seated, &folder, Duration::from_secs_f64(warmup));
        probe.adapt(&planned, &mut trial);
        let mut live = |live: load::Live| {
            let seconds = live.elapsed.as_secs_f64();
            self.progress.status(&format!("{title}: {}, {seconds:.0} s, {:.0} tps", live.phase, live.tps));
        };
        let finished = run_trial(&trial, &mut self.observers, &mut live)?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let (run_dir, trials) = (&self.sitting.run_dir, &mut self.trials);
        let mut keep = |record: TrialRecord| {
            let record = TrialRecord { order: planned.order, ..record };
            run_dir.append(&record)?;
            trials.push(record);
            Ok(())
        };
        together::write(self.sitting, &trial, finished, &mut keep)?;
        Ok(self.trials.last().expect("it was stored a moment ago").clone())
    }
}
