//! Cause tests: a point once more, without the cause that a finding names.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ContrastKind, Failure, Point};

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
