//! Cause tests: a point once more, without the cause that a finding names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Failure, Point};

/// What is taken away, from both sides alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ContrastKind {
    /// Disks: the data lie in memory.
    #[serde(rename = "tmpfs")]
    Tmpfs,
    /// Whoever one could wait for.
    #[serde(rename = "one client")]
    OneClient,
}

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
