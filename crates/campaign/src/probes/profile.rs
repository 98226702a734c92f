//! Behind the verdict: one trial of each contender with the server's stacks and waits sampled.
//!
//! Sampling costs too much beside a measurement, so nothing that a profile shows is compared by a rule.

use std::sync::mpsc;

use anyhow::Result;

use super::{Bench, Probe};
use analysis::flame_graph::folded;
use experiment::{Experiment, plan};
use record::RunDir;
use record::format::diagnostic::mark_not_visible;
use record::format::{DiagnosticRecord, PlannedTrial, ProfileRecord, Status, TrialRecord, WaitsRecord, WaitsUnit};
use trial::observe::{Diagnosed, Diagnosing, HZ, Observers, Profile, Waited};
use trial::{Finished, Trial, run_trial};

pub struct Profiles<'a> {
    pub experiment: &'a Experiment,
    pub run_dir: &'a RunDir,
}

impl Probe for Profiles<'_> {
    fn due(&self, _: &Bench) -> Vec<Vec<PlannedTrial>> {
        plan::profiles(self.experiment).into_iter().map(|planned| vec![planned]).collect()
    }

    fn run(&self, trial: &Trial, _: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        let (sender, seen) = mpsc::channel();
        let mut observers = Observers::of(vec![Box::new(Diagnosing::new(trial.folder, sender))]);
        let mut finished = run_trial(trial, &mut observers, live)?;
        if finished.record.status == Status::Ok {
            let seen = seen.try_recv().expect("the interval of a trial that succeeded has ended");
            self.keep(&mut finished.record, seen)?;
        }
        Ok(finished)
    }
}

impl Profiles<'_> {
    /// Writes stacks and waits to the trial's folder; its record has the reason where one is missing.
    fn keep(&self, record: &mut TrialRecord, seen: Diagnosed) -> Result<()> {
        let committed = record.metrics.get("transactions.committed").copied().unwrap_or_default();
        match seen.profile.and_then(profile) {
            Ok(ProfileRecord { event, samples_per_s, stacks }) => {
                record.remarks.insert(ProfileRecord::EVENT.to_owned(), event);
                record.metrics.insert(ProfileRecord::SAMPLES_PER_S.to_owned(), samples_per_s.into());
                self.run_dir.write_stacks(record.trial, &stacks)?;
            }
            Err(error) => mark_not_visible(record, DiagnosticRecord::PROFILE, format!("{error:#}")),
        }
        match seen.waits {
            Ok(seen) => self.run_dir.write_waits(record.trial, &waits(seen, committed)),
            Err(error) => {
                mark_not_visible(record, DiagnosticRecord::WAITS, format!("{error:#}"));
                Ok(())
            }
        }
    }
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
