//! Probes: trials beside the plan, which show what a verdict rests on and never make one.
//!
//! A probe decides which trials are due and what is changed for them. Folders, numbers, budget, resuming, failures,
//! progress and records are the same for all and stand here. What must stay true: a record is on the disk before
//! the next trial starts, and what is left follows from the stored trials alone.

pub mod answers;
pub mod cause_test;
pub mod headroom;
pub mod loads;
pub mod pilot;
pub mod profile;
pub mod recovery;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use crate::active_run::ActiveRun;
use crate::budget::{Clock, longest};
use crate::progress::Progress;
use crate::setup::Setup;
use crate::{executor, warmup_s};
use record::blocks::next_probe_number;
use record::format::{
    DecisionKind, DecisionRecord, PlanRecord, PlannedTrial, Purpose, RunRecord, Status, TrialRecord, WorkloadRecord,
    point_text,
};
use trial::observe::Observers;
use trial::{Finished, Interrupted, Trial, run_trial};

/// One kind of trial beside the plan.
pub trait Probe {
    /// All trials that are due, also those that are stored already, in sets: a set is run whole or not at all, and
    /// ends where one of its trials fails.
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>>;
    /// Why a set cannot be run here.
    fn refusal(&self, _bench: &Bench, _set: &[PlannedTrial]) -> Result<Option<String>> {
        Ok(None)
    }
    /// How long such a trial takes at most.
    fn takes(&self, bench: &Bench, planned: &PlannedTrial) -> Duration {
        longest(&bench.trials, &planned.contender)
    }
    /// What such a trial has otherwise than a trial of the plan.
    fn adapt<'a>(&'a self, _planned: &PlannedTrial, _trial: &mut Trial<'a>) {}
    /// Keeps what a server was asked in such a trial, beside the facts of its contender.
    fn keep(&self, _planned: &PlannedTrial, _finished: &mut Finished, _run: &mut RunRecord) {}
    /// Runs such a trial, where it needs more than the others.
    fn run(&self, trial: &Trial, observers: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        Ok(run_trial(trial, observers, live)?)
    }
}

/// What all probes of a run share.
pub struct Bench<'a> {
    pub active_run: &'a ActiveRun,
    pub setup: &'a Setup<'a>,
    pub run: &'a mut RunRecord,
    pub clock: &'a Clock,
    pub interrupted: &'a AtomicBool,
    pub progress: &'a Progress,
    /// All that is stored.
    pub trials: Vec<TrialRecord>,
    pub observers: Observers,
}

impl<'a> Bench<'a> {
    /// With all that is stored by now.
    pub fn new(
        active_run: &'a ActiveRun,
        setup: &'a Setup<'a>,
        run: &'a mut RunRecord,
        clock: &'a Clock,
        interrupted: &'a AtomicBool,
        progress: &'a Progress,
    ) -> Result<Bench<'a>> {
        let (trials, observers) = (active_run.run_dir.trials()?.all(), setup.observers());
        Ok(Bench { active_run, setup, run, clock, interrupted, progress, trials, observers })
    }
}

impl Bench<'_> {
    pub fn plan(&self) -> &PlanRecord {
        &self.active_run.plan.record
    }

    /// Runs what is due and not stored.
    pub fn run(&mut self, probe: &dyn Probe) -> Result<()> {
        for set in probe.due(self) {
            let stored: Vec<&TrialRecord> = set.iter().filter_map(|planned| self.stored(planned)).collect();
            let is_over = stored.len() == set.len() || stored.iter().any(|record| record.status == Status::Failed);
            if is_over || self.is_left_out(&set[0]) {
                continue;
            }
            let left = &set[stored.len()..];
            match self.refusal(probe, &set)?.or_else(|| self.without_time(probe, left)) {
                Some(why) => self.leave_out(&set[0], why)?,
                None => self.run_set(probe, left, set.len())?,
            }
        }
        Ok(())
    }

    fn refusal(&self, probe: &dyn Probe, set: &[PlannedTrial]) -> Result<Option<String>> {
        match set.iter().find(|planned| !self.setup.has(&planned.contender)) {
            Some(absent) => Ok(Some(format!("`{}` could not be prepared", absent.contender))),
            None => probe.refusal(self, set),
        }
    }

    fn is_left_out(&self, first: &PlannedTrial) -> bool {
        let at = (&first.purpose, &first.workload, &first.contender, &first.point);
        self.run
            .decided(DecisionKind::LeftOut)
            .any(|one| (&one.purpose, &one.workload, &one.contender, &one.point) == at)
    }

    fn leave_out(&mut self, first: &PlannedTrial, because: String) -> Result<()> {
        self.progress.print(&format!("{} left out: {because}", title(first)));
        self.run.decisions.push(DecisionRecord {
            purpose: first.purpose.clone(),
            workload: first.workload.clone(),
            contender: first.contender.clone(),
            point: first.point.clone(),
            ..DecisionRecord::new(DecisionKind::LeftOut, because)
        });
        self.active_run.run_dir.write_run(self.run)
    }

    fn without_time(&self, probe: &dyn Probe, left: &[PlannedTrial]) -> Option<String> {
        let time = left.iter().map(|planned| probe.takes(self, planned)).sum();
        (!self.clock.holds(time)).then(|| "the budget leaves no time for it".to_owned())
    }

    fn stored(&self, planned: &PlannedTrial) -> Option<&TrialRecord> {
        self.trials.iter().find(|record| {
            (&record.purpose, &record.workload, &record.contender, &record.point, record.block)
                == (&planned.purpose, &planned.workload, &planned.contender, &planned.point, planned.block)
        })
    }

    fn run_set(&mut self, probe: &dyn Probe, left: &[PlannedTrial], of: usize) -> Result<()> {
        for (number, planned) in (of - left.len() + 1..).zip(left) {
            let title = title(planned);
            self.progress
                .status(planned.purpose.title(), &format!("{} ({number} of {of})", self.progress.title(planned)));
            let record = self.run_one(probe, planned, &title)?;
            let outcome = self.progress.outcome(planned, &record);
            self.progress.print(&format!("[{} {number}/{of}] {outcome}", planned.purpose.title()));
            self.progress.probe_done(&record);
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
        let folder = self.active_run.run_dir.trial_folder(planned.trial)?;
        let warmup = warmup_s(self.plan(), &self.run.decisions, &planned.workload, self.plan().method.blocks);
        // Places in a block choose the side of a duet, and probes run on one.
        let seated = PlannedTrial { order: 1, ..planned.clone() };
        let mut trial = self.setup.trial(&seated, &folder, Duration::from_secs_f64(warmup));
        probe.adapt(&planned, &mut trial);
        let progress = self.progress;
        let mut live = |now: load::Live| progress.live(title, &trial, &now);
        let mut finished = probe.run(&trial, &mut self.observers, &mut live)?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        if !finished.plans.is_empty() {
            probe.keep(&planned, &mut finished, self.run);
            self.active_run.run_dir.write_run(self.run)?;
        }
        let (run_dir, trials) = (&self.active_run.run_dir, &mut self.trials);
        let mut keep = |record: TrialRecord| {
            let record = TrialRecord { order: planned.order, ..record };
            run_dir.append(&record)?;
            trials.push(record);
            Ok(())
        };
        executor::write(self.active_run, &trial, finished, &mut keep)?;
        Ok(self.trials.last().expect("it was stored a moment ago").clone())
    }
}

/// What workloads ask for before the first block: for each that does, every contender so often in turn, at the last of
/// its points.
fn asked(bench: &Bench, often: fn(&WorkloadRecord) -> u32, purpose: fn(u32) -> Purpose) -> Vec<Vec<PlannedTrial>> {
    let plan = bench.plan();
    let sides = |workload: &WorkloadRecord| -> Vec<PlannedTrial> {
        let ours = |trial: &&PlannedTrial| trial.workload == workload.label && bench.setup.has(&trial.contender);
        let last = plan.trials.iter().filter(ours).map(|trial| &trial.point).max();
        let at_last = |trial: &&PlannedTrial| trial.block == 1 && Some(&trial.point) == last;
        plan.trials.iter().filter(ours).filter(at_last).cloned().collect()
    };
    let asking = plan.workloads.iter().filter(|workload| often(workload) > 0);
    asking.map(|workload| in_turn(&sides(workload), often(workload), purpose)).collect()
}

/// Each side once, in turn, so often.
fn in_turn(sides: &[PlannedTrial], often: u32, purpose: fn(u32) -> Purpose) -> Vec<PlannedTrial> {
    let of = |number: u32| {
        sides.iter().zip(1..).map(move |(planned, order)| PlannedTrial {
            block: number,
            order,
            gap_ms: 0,
            purpose: purpose(number),
            ..planned.clone()
        })
    };
    (1..=often).flat_map(of).collect()
}

/// `cause test, tuned, 16 clients`.
fn title(planned: &PlannedTrial) -> String {
    format!("{}, {}, {}", planned.purpose.title(), planned.contender, point_text(&planned.point))
}
