//! Cause tests: a point once more, without the cause that a finding names.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContrastKind, Failure, Point, StatementPlan};

/// Baseline and candidate, block by block, as the stored trials of a cause test have them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ContrastRecord {
    pub contrast: ContrastKind,
    pub workload: String,
    pub candidate: String,
    /// The point of the finding, whose data and cores are kept.
    pub point: Point,
    /// Primary metric of each block.
    pub baseline_values: Vec<f64>,
    pub candidate_values: Vec<f64>,
    /// Why it was left out, as the run recorded it.
    pub refused: Option<String>,
    /// The contender whose trial failed, and how.
    pub failed: Option<(String, Failure)>,
}

/// How a server ran the statements of a workload while steps of one side's plans were switched off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanTestRecord {
    /// The label of the workload, with the point where points have data of their own.
    pub data: String,
    /// The candidate whose difference is tested; the baseline has one such record for each.
    pub candidate: String,
    /// What was switched off, as settings of the server.
    pub switched_off: BTreeMap<String, String>,
    pub plans: Vec<StatementPlan>,
}
