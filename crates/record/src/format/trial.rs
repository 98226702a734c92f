//! What one trial left behind.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::MethodRecord;
use super::purpose::Purpose;
use super::worker::WorkerRecord;
use crate::point::Point;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    Ok,
    Failed,
}

/// One line of `trials.ndjson`: everything one trial left behind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub trial: u32,
    pub block: u32,
    pub order: u32,
    pub workload: String,
    pub contender: String,
    pub point: Point,
    pub status: Status,
    #[serde(default, skip_serializing_if = "Purpose::is_compare")]
    pub purpose: Purpose,
    /// The trial that began the start of the server in which this one ran too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares_start_with: Option<u32>,
    /// Why it failed; absent where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    pub flags: Vec<String>,
    /// The explanation of a flag, where its name is not enough.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub remarks: BTreeMap<String, String>,
    /// UTC, RFC 3339.
    pub started_at: String,
    pub finished_at: String,
    /// Seconds each step took: `restore`, `start`, `connect`, `warm_up`, `measure`, `drain_debt`, `check`, `stop`; of a
    /// recovery `restore`, `start`, `load`, `restart`, `first_commit`, `stop`; of a crash `restore`, `start`, `load`,
    /// `restart`, `recover`, `audit`, `check`, `stop`.
    pub steps: Vec<(String, f64)>,
    /// Named as in the JSON report; empty for a failed trial: failures are records, never numbers.
    pub metrics: BTreeMap<String, f64>,
    /// Who made the load, where several workers did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<WorkerRecord>,
}

impl TrialRecord {
    /// The metric of a trial that its transactions may end before its time.
    pub const INTERVAL: &str = "interval_s";

    /// How long its measured part took.
    pub fn interval_s(&self, method: &MethodRecord) -> f64 {
        self.metrics.get(TrialRecord::INTERVAL).copied().unwrap_or(method.duration_s)
    }

    /// How long it took by the monotonic times of its steps: the wall clock may be set while it runs.
    pub fn seconds(&self) -> f64 {
        self.steps.iter().map(|(_, seconds)| seconds).sum()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The step that failed: `start`, `connect`, `measure`, `check` …
    pub step: String,
    /// The message, as printed on the terminal.
    pub message: String,
    /// The worker of the load that was late, lost or failed, from 1: then it is no failure of the contender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// The trials that may be judged: all but probes.
pub fn measured(trials: &[TrialRecord]) -> Cow<'_, [TrialRecord]> {
    if trials.iter().any(|trial| trial.purpose.is_probe()) {
        return Cow::Owned(trials.iter().filter(|trial| !trial.purpose.is_probe()).cloned().collect());
    }
    Cow::Borrowed(trials)
}
