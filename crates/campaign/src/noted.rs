//! Answers of timed trials, where an experiment asks for them.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};

use load::{AnswerLog, Replays, Workload, answers_as_bytes};
use record::format::answers::ANSWERS_FILE;
use record::format::{PlannedTrial, Purpose, Status, TrialRecord};

/// A workload that keeps the answers of one trial.
pub struct Noted {
    pub workload: Arc<dyn Workload>,
    log: Arc<AnswerLog>,
}

impl Noted {
    pub fn of(planned: &PlannedTrial, workload: &dyn Workload) -> Option<Noted> {
        let answering = workload.replays().and_then(Replays::answering)?;
        if !answering.keeps_trials() || !is_timed(&planned.purpose) {
            return None;
        }
        let log = AnswerLog::of(answering.statements());
        Some(Noted { workload: answering.noting_trial(Arc::clone(&log)), log })
    }

    pub fn keep(&self, folder: &Path, record: &TrialRecord) -> Result<()> {
        if record.status == Status::Ok { write_answers(folder, &self.log) } else { Ok(()) }
    }
}

/// A trial that verdicts come from.
pub fn is_timed(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::Compare | Purpose::Repeat { .. })
}

pub fn write_answers(folder: &Path, log: &AnswerLog) -> Result<()> {
    let bytes = answers_as_bytes(&log.answers());
    let path = folder.join(ANSWERS_FILE);
    let written = File::create(&path).and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
    written.with_context(|| format!("cannot write {}", path.display()))
}
