//! What a workload declares of itself, so that reports can print any: its metric and its kinds of transactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A metric that verdicts come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetricRecord {
    pub name: String,
    pub unit: String,
    pub title: String,
}

impl MetricRecord {
    pub fn new(name: &str, unit: &str, title: &str) -> MetricRecord {
        MetricRecord { name: name.to_owned(), unit: unit.to_owned(), title: title.to_owned() }
    }
}

/// A kind of transaction that is counted apart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KindRecord {
    /// The prefix of its metrics.
    pub name: String,
    pub title: String,
    /// Seconds within which nine of ten should be answered, where the workload sets a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_limit_s: Option<f64>,
}
