//! Who made a load that several processes made together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the workers of a run are started, and what each of them does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterRecord {
    /// `local`, `slurm` or `ssh`.
    pub launcher: String,
    pub workers: u32,
    /// Shares of clients and rate; absent where all are equal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
    /// The host of the targets, by the name that ssh has, where an agent observes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observe_host: Option<String>,
}

impl ClusterRecord {
    /// `4 by slurm`, with weights where they differ.
    pub fn text(&self) -> String {
        let weights = if self.weights.is_empty() { String::new() } else { format!(", weights {:?}", self.weights) };
        let observed = self.observe_host.as_ref().map_or_else(String::new, |host| format!(", {host} observed"));
        format!("{} by {}{weights}{observed}", self.workers, self.launcher)
    }
}

/// One worker in one trial. What is its own is of this worker alone, and enters no result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerRecord {
    /// From 1.
    pub worker: u32,
    pub host: String,
    /// Workers with the same one share a kernel, whatever their hosts are called.
    pub boot_id: String,
    pub cpus: u32,
    pub clients: u32,
    pub due: u64,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub skipped: u64,
    pub tps: f64,
    /// Of the transactions of all workers.
    pub share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_latency_ms_p99: Option<f64>,
    /// Cores that it used.
    pub cores_used: f64,
    /// Its statements a second, as a share of what it reached against a server that does nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_share: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_ms_p99: Option<f64>,
    /// Its clock minus the coordinator's.
    pub clock_offset_ms: f64,
    pub edge_error_ms: f64,
}
