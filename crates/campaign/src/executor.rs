//! How trials of the plan are run: one alone, several in one start of their server, two at the same time.
//!
//! Everything that a trial leaves is written here but its record, which is handed to the caller: the caller
//! decides what comes next.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use load::Live;

use super::schedule::Keep;
use crate::active_run::ActiveRun;
use crate::noted::Noted;
use crate::plans::{Asked, Plans};
use crate::progress::Progress;
use crate::setup::Setup;
use record::format::{PlannedTrial, Purpose};
use trial::observe::Observers;
use trial::{Finished, Meeting, Trial, absent, durability, run_duet, run_in_one_start};

pub struct Executor<'a> {
    active_run: &'a ActiveRun,
    setup: &'a Setup<'a>,
    observers: Observers,
    /// Of the second side of a duet.
    observers_beside: Observers,
    /// None where nobody compares how servers run statements.
    plans: Option<Plans>,
}

impl<'a> Executor<'a> {
    pub fn new(
        active_run: &'a ActiveRun,
        setup: &'a Setup<'a>,
        observers: Observers,
        plans: Option<Plans>,
    ) -> Executor<'a> {
        Executor { active_run, setup, observers, observers_beside: Observers::default(), plans }
    }

    /// Runs trials that share a start or a time, and passes on the record of each when it is over. Returns what their
    /// server was asked behind the last one.
    pub fn run(
        &mut self,
        planned: &[&PlannedTrial],
        warmup: Duration,
        progress: &Progress,
        keep: &mut Keep,
    ) -> Result<Option<Asked>> {
        if planned.iter().any(|one| !self.setup.has(&one.contender)) {
            planned.iter().try_for_each(|one| keep(absent(one)))?;
            return Ok(None);
        }
        let folder = |one: &&PlannedTrial| self.active_run.run_dir.trial_folder(one.trial);
        let folders: Vec<PathBuf> = planned.iter().map(folder).collect::<Result<_>>()?;
        let setup = self.setup;
        let trials = planned.iter().zip(&folders).map(|(one, folder)| setup.trial(one, folder, warmup));
        let mut trials: Vec<Trial> = trials.collect();
        let noted: Vec<Option<Noted>> =
            trials.iter().map(|trial| Noted::of(trial.planned, trial.workload.as_ref())).collect();
        for (trial, noted) in trials.iter_mut().zip(&noted) {
            trial.workload = noted.as_ref().map_or(trial.workload, |noted| &noted.workload);
        }
        let keep: &mut Keep = &mut |record| {
            let at = planned.iter().position(|one| one.trial == record.trial);
            if let Some((at, noted)) = at.and_then(|at| Some((at, noted[at].as_ref()?))) {
                noted.keep(&folders[at], &record)?;
            }
            keep(record)
        };
        let at_once = self.active_run.plan.record.runs_at_once(planned);
        let due = self.plans.as_ref().and_then(|plans| plans.due(setup, planned, at_once));
        if let (Some(last), Some((_, explaining))) = (trials.last_mut(), &due) {
            last.explaining = Some(explaining);
        }
        progress.status("prepare", &progress.title(planned[0]));
        if at_once {
            self.at_once(trials, progress, keep)?;
            return Ok(None);
        }
        let active_run = self.active_run;
        if let [trial] = trials.as_slice()
            && matches!(trial.planned.purpose, Purpose::Crash { .. })
        {
            self.observers.idle(Duration::from_millis(trial.planned.gap_ms));
            let mut live = |now: Live| progress.live(&progress.title(trial.planned), trial, &now);
            write(active_run, trial, durability::crash(trial, &mut live)?, keep)?;
            return Ok(None);
        }
        let mut live = |trial: &Trial, now: Live| progress.live(&progress.title(trial.planned), trial, &now);
        let (plans, mut asked) = (&mut self.plans, None);
        let mut done = |trial: &Trial, mut finished: Finished| {
            let answers = std::mem::take(&mut finished.plans);
            if let (Some(plans), Some((data, _))) = (plans.as_mut(), &due) {
                asked = plans.answered(trial, data, answers);
            }
            write(active_run, trial, finished, keep)
        };
        run_in_one_start(&trials, &mut self.observers, &mut live, &mut done)?;
        Ok(asked)
    }

    fn at_once(&mut self, trials: Vec<Trial>, progress: &Progress, keep: &mut Keep) -> Result<()> {
        let meeting = Meeting::default();
        let mut sides = trials.into_iter().map(|trial| Trial { meeting: Some(&meeting), ..trial });
        let (Some(first), Some(second)) = (sides.next(), sides.next()) else {
            return Err(anyhow!("a duet has two sides"));
        };
        // Both begin behind one gap.
        self.observers.idle(Duration::from_millis(first.planned.gap_ms));
        let mut live = |now: Live| progress.live(&progress.title(first.planned), &first, &now);
        let observers = [&mut self.observers, &mut self.observers_beside];
        let [one, other] = run_duet([&first, &second], observers, &meeting, &mut live)?;
        write(self.active_run, &first, one, keep)?;
        write(self.active_run, &second, other, keep)
    }
}

pub fn write(active_run: &ActiveRun, trial: &Trial, finished: Finished, keep: &mut Keep) -> Result<()> {
    let (run_dir, number) = (&active_run.run_dir, trial.planned.trial);
    // The side of a duet that an earlier session finished: its record stays, and so do the files that belong to it.
    if active_run.done.iter().any(|record| record.trial == number) {
        return Ok(());
    }
    run_dir.write_settings(number, &finished.settings)?;
    run_dir.write_series(number, &finished.series)?;
    run_dir.write_observed(number, &finished.observed)?;
    run_dir.write_windows(number, &finished.windows)?;
    run_dir.write_deferred(number, &finished.deferred)?;
    keep(finished.record)
}
