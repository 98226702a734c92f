//! What a workload declares of itself, so that reports can print any: its metric and its kinds of transactions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WorkloadRecord;

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

impl WorkloadRecord {
    /// The metric that verdicts about it come from, by its name.
    pub fn primary_metric(&self) -> &str {
        self.primary.as_ref().map_or(TPS.0, |primary| &primary.name)
    }

    /// The same with its unit and title.
    pub fn primary(&self) -> MetricRecord {
        self.primary.clone().unwrap_or_else(|| MetricRecord::new(TPS.0, TPS.1, TPS.2))
    }

    /// The record with its metric written out, even where that goes without saying.
    pub fn whole(&self) -> WorkloadRecord {
        WorkloadRecord { primary: Some(self.primary()), ..self.clone() }
    }
}

/// The metric of a workload that declares none.
const TPS: (&str, &str, &str) = ("tps", "tps", "committed transactions per second (tps)");
