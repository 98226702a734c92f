//! Behind the verdict: one trial of each contender that is looked into and not measured.
//!
//! Looking costs too much beside a measurement, so these are no trials of the plan, and nothing that they
//! show is compared by a rule.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::Result;

use super::progress::Progress;
use super::stage::Stage;
use crate::budget::Clock;
use crate::warmup_s;

use analysis::flame::folded;
use experiment::Experiment;
use experiment::plan;
use record::RunDir;
use record::format::{
    DiagnosticRecord, PlanRecord, PlannedTrial, ProfileRecord, RunRecord, TrialRecord, WaitsRecord, WaitsUnit,
    point_text,
};
use trial::observe::{Diagnosed, Diagnosing, HZ, Observers, Profile, Waited};
use trial::run_trial;

/// All that diagnostic trials of a run have in common.
pub struct Diagnostics<'a> {
    pub plan: &'a PlanRecord,
    pub experiment: &'a Experiment,
    pub run_dir: &'a RunDir,
    pub stage: &'a Stage<'a>,
    pub clock: &'a Clock,
    pub progress: &'a Progress,
}

impl Diagnostics<'_> {
    /// Runs those that were asked for and are missing, and keeps each when it is over.
    pub fn run(&self, run: &mut RunRecord) -> Result<()> {
        if !self.plan.method.diagnose {
            return Ok(());
        }
        let trials = self.run_dir.trials()?.records;
        for planned in plan::diagnostics(self.experiment) {
            let is_done = run
                .diagnostics
                .iter()
                .any(|known| (&known.workload, &known.contender) == (&planned.workload, &planned.contender));
            if !is_done {
                let record = self.trial(run, &planned, &trials)?;
                run.diagnostics.push(record);
                self.run_dir.write_run(run)?;
            }
        }
        Ok(())
    }

    fn trial(&self, run: &RunRecord, planned: &PlannedTrial, trials: &[TrialRecord]) -> Result<DiagnosticRecord> {
        let title = format!("diagnostic trial of {}, {}", planned.contender, point_text(&planned.point));
        if !self.stage.has(&planned.contender) {
            return Ok(nothing(planned, "the contender could not be prepared"));
        }
        if !self.clock.holds_blocks(trials, &planned.contender, 1) {
            return Ok(nothing(planned, "the budget leaves no time for it"));
        }
        self.progress.say(&title);
        let folder = self.run_dir.diagnostic_folder(planned.trial)?;
        let warmup = warmup_s(self.plan, &run.warmups, &planned.workload, self.plan.method.blocks);
        let trial = self.stage.trial(planned, &folder, Duration::from_secs_f64(warmup));
        let (told, tells) = mpsc::channel();
        let mut observers = Observers::of(vec![Box::new(Diagnosing::new(&folder, told))]);
        let mut live =
            |live: load::Live| self.progress.status(&format!("{title}: {}, {:.0} tps", live.phase, live.tps));
        let finished = run_trial(&trial, &mut observers, &mut live)?;
        self.progress.beside_done();
        if let Some(failure) = finished.record.failure {
            return Ok(nothing(planned, &format!("the trial failed at `{}`: {}", failure.step, failure.message)));
        }
        let committed = finished.record.metrics.get("transactions.committed").copied().unwrap_or_default();
        match tells.try_recv() {
            Ok(diagnosed) => Ok(record(planned, diagnosed, committed)),
            Err(_) => Ok(nothing(planned, "no profile was taken")),
        }
    }
}

fn nothing(planned: &PlannedTrial, why: &str) -> DiagnosticRecord {
    let reasons = [DiagnosticRecord::PROFILE, DiagnosticRecord::WAITS].map(|what| (what.to_owned(), why.to_owned()));
    DiagnosticRecord {
        workload: planned.workload.clone(),
        contender: planned.contender.clone(),
        point: planned.point.clone(),
        profile: None,
        waits: None,
        not_visible: reasons.into(),
    }
}

fn record(planned: &PlannedTrial, seen: Diagnosed, committed: f64) -> DiagnosticRecord {
    let (profile, waits) = (seen.profile.and_then(profile), seen.waits.map(|waited| waits(waited, committed)));
    let reason = |what: &str, error: Option<&anyhow::Error>| Some((what.to_owned(), format!("{:#}", error?)));
    let not_visible: BTreeMap<String, String> = [
        reason(DiagnosticRecord::PROFILE, profile.as_ref().err()),
        reason(DiagnosticRecord::WAITS, waits.as_ref().err()),
    ]
    .into_iter()
    .flatten()
    .collect();
    DiagnosticRecord { profile: profile.ok(), waits: waits.ok(), not_visible, ..nothing(planned, "") }
}

fn profile(seen: Profile) -> Result<ProfileRecord> {
    let event = seen.event.to_owned();
    let stacks = folded(&seen.into_text()?);
    anyhow::ensure!(!stacks.is_empty(), "perf saw no thread of the server on a CPU");
    Ok(ProfileRecord { event, samples_per_s: HZ, stacks })
}

fn waits(seen: Waited, committed: f64) -> WaitsRecord {
    match seen {
        Waited::Sampled(counts) => {
            let all: u64 = counts.values().sum();
            let events = counts.into_iter().map(|(event, seen)| (event, seen as f64 / all.max(1) as f64)).collect();
            WaitsRecord { unit: WaitsUnit::Share, samples: Some(all), events }
        }
        Waited::Seconds(events) => {
            let per_tx = |seconds: f64| seconds * 1000.0 / committed.max(1.0);
            let events = events.into_iter().map(|(event, seconds)| (event, per_tx(seconds))).collect();
            WaitsRecord { unit: WaitsUnit::MsPerTransaction, samples: None, events }
        }
    }
}
