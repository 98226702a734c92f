//! The limits of `[gate]`, which belong to the question and stand in the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateRecord {
    /// As a fraction of the baseline's primary metric; absent where the verdict decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_slowdown: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyLimit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyLimit {
    /// In per cent: 99 is the time within which 99 of 100 transactions are answered.
    pub quantile: f64,
    /// As a fraction of the baseline's.
    pub max_slowdown: f64,
}

/// Quantiles that trials store, with their metrics.
pub const QUANTILES: [(f64, &str); 4] =
    [(50.0, "latency_ms_p50"), (95.0, "latency_ms_p95"), (99.0, "latency_ms_p99"), (99.9, "latency_ms_p999")];

impl LatencyLimit {
    /// None of a quantile that trials do not have, in a plan that was written by hand.
    pub fn metric(&self) -> Option<&'static str> {
        QUANTILES.iter().find(|(quantile, _)| *quantile == self.quantile).map(|(_, metric)| *metric)
    }
}
