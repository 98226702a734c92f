//! All that a report may look at.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use analysis::aa::records;
use analysis::gate::Gate;
use analysis::{Conclusions, conclude_with_seconds};
use record::format::{AaRecord, DiagnosticRecord, PlanRecord, Purpose, RunRecord, Series, Status};
use record::{RunDir, StoredTrials};

#[derive(Debug, Clone)]
pub struct Evidence {
    /// Where the run lies, for the reader; empty where it lies in no folder.
    pub folder: String,
    pub plan: PlanRecord,
    pub run: RunRecord,
    pub trials: StoredTrials,
    /// By number of trial; empty where none were kept.
    pub series: BTreeMap<u32, Series>,
    /// What observers saw in each second, likewise.
    pub observed: BTreeMap<u32, Series>,
    /// Response times window by window, as HdrHistogram's interval logs, likewise.
    pub windows: BTreeMap<u32, String>,
    /// What the profiles left in their trials' folders.
    pub profiles: Vec<DiagnosticRecord>,
    /// What was odd about the records themselves.
    pub note: Option<String>,
    pub conclusions: Conclusions,
}

impl Evidence {
    /// What an A/A test has shown, by workload and point; nothing for any other run.
    pub fn aa_records(&self) -> Vec<AaRecord> {
        records(&self.plan, &self.run, self.trials.measured(), &self.series, &self.conclusions)
    }

    /// What `--gate` answers; none of what has no verdicts (the race of a search), asks for none (an A/A test) or is
    /// compared with another baseline than its limits are about.
    pub fn gate(&self) -> Option<Gate> {
        let has_gate = !self.is_race() && !self.plan.twins && self.plan.baseline_of_run.is_none();
        has_gate.then(|| analysis::gate::gate(&self.plan, &self.run, &self.trials.all()))
    }

    /// Reads a stored run and judges it.
    pub fn gather(run: &RunDir) -> Result<Evidence> {
        let (plan, record, trials) = (run.plan()?, run.run_record()?, run.trials()?);
        let (mut series, mut observed, mut windows) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for trial in trials.measured() {
            series.extend(run.series(trial.trial)?.map(|seconds| (trial.trial, seconds)));
            observed.extend(run.observed(trial.trial)?.map(|seconds| (trial.trial, seconds)));
            windows.extend(run.windows(trial.trial)?.map(|log| (trial.trial, log)));
        }
        Ok(Evidence {
            folder: run.path().display().to_string(),
            conclusions: conclude_with_seconds(&plan, &record, &trials.all(), &series),
            plan,
            run: record,
            series,
            observed,
            windows,
            profiles: profiles(run, &trials)?,
            note: trials.note.clone(),
            trials,
        })
    }

    /// The same run, compared with another of its contenders than its own baseline.
    pub fn against(self, baseline: &str) -> Result<Evidence> {
        if self.is_race() {
            bail!("the trials of a search compare nothing: its duel is a run of its own");
        }
        let plan = self.plan.against(baseline)?;
        let conclusions = conclude_with_seconds(&plan, &self.run, &self.trials.all(), &self.series);
        Ok(Evidence { plan, conclusions, ..self })
    }

    /// Of the race of a search: its trials would praise whom they chose, so that it has no verdict.
    pub(crate) fn is_race(&self) -> bool {
        self.run.search.as_ref().is_some_and(|search| search.run.is_none())
    }
}

/// Of the profiles that succeeded; why another one failed stands in its record.
fn profiles(run: &RunDir, trials: &StoredTrials) -> Result<Vec<DiagnosticRecord>> {
    let profiles = trials.of(|purpose| *purpose == Purpose::Profile);
    profiles.filter(|trial| trial.status == Status::Ok).map(|trial| run.profile(trial)).collect()
}
