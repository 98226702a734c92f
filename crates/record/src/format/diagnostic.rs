//! Diagnostic trials in a stored run: what was looked at behind the verdict and never measured.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Point;

/// One contender at the heaviest point of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosticRecord {
    pub workload: String,
    pub contender: String,
    pub point: Point,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitsRecord>,
    /// What was looked for and cannot be seen here, by name, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_visible: BTreeMap<String, String>,
}

impl DiagnosticRecord {
    /// Names in `not_visible`.
    pub const PROFILE: &str = "profile";
    pub const WAITS: &str = "waits";
}

/// Stacks of the server's threads on a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileRecord {
    /// What was counted: `cycles`, or `cpu-clock`.
    pub event: String,
    pub samples_per_s: u32,
    /// Samples by stack: names from the outermost to the innermost, `;` between them.
    pub stacks: BTreeMap<String, u64>,
}

/// What clients waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitsRecord {
    pub unit: WaitsUnit,
    /// Sessions seen at work, where they were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    pub events: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WaitsUnit {
    /// Of the samples of sessions at work; `running` waits for nothing.
    #[serde(rename = "share of active sessions")]
    Share,
    #[serde(rename = "ms per transaction")]
    MsPerTransaction,
}
