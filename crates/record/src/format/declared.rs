//! What a workload declares of itself, so that reports can print any: its metric and its kinds of transactions.

use serde::{Deserialize, Serialize};

use super::WorkloadRecord;

/// A metric that verdicts come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KindRecord {
    /// The prefix of its metrics.
    pub name: String,
    pub title: String,
    /// Seconds within which nine of ten should be answered, where the workload sets a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_limit_s: Option<f64>,
}

impl KindRecord {
    fn new((name, title, limit_s): (&str, &str, f64)) -> KindRecord {
        KindRecord { name: name.to_owned(), title: title.to_owned(), p90_limit_s: Some(limit_s) }
    }
}

impl WorkloadRecord {
    /// The metric that verdicts about it come from, by its name.
    pub fn primary_metric(&self) -> &str {
        match (&self.primary, self.name.as_str()) {
            (Some(primary), _) => &primary.name,
            (None, name) => of_older_run(name).0,
        }
    }

    /// The same with its unit and title.
    pub fn primary(&self) -> MetricRecord {
        let older = || of_older_run(&self.name);
        self.primary.clone().unwrap_or_else(|| MetricRecord::new(older().0, older().1, older().2))
    }

    /// The record with what it declares written out, even where that goes without saying.
    pub fn whole(&self) -> WorkloadRecord {
        let (primary, kinds, notes) = (Some(self.primary()), self.kinds(), self.notes());
        WorkloadRecord { primary, kinds, notes, ..self.clone() }
    }

    /// Kinds of transactions in the order in which they are shown.
    pub fn kinds(&self) -> Vec<KindRecord> {
        let is_older = self.primary.is_none() && self.name == "tpcc";
        if is_older { KINDS_OF_OLDER_TPCC.map(KindRecord::new).into() } else { self.kinds.clone() }
    }

    /// What has to stand beside its numbers.
    pub fn notes(&self) -> Vec<String> {
        let is_older = self.primary.is_none() && self.name == "tpcc";
        if is_older { vec![NOTE_OF_OLDER_TPCC.to_owned()] } else { self.notes.clone() }
    }
}

/// What records say nothing of where it is transactions per second, and in runs before workloads declared it.
fn of_older_run(workload: &str) -> (&'static str, &'static str, &'static str) {
    match workload {
        "tpcc" => ("nopm", "NOPM", "committed New-Orders per minute (NOPM)"),
        "sql-bench" => ("seconds", "s", "time of all operations (s)"),
        _ => ("tps", "tps", "committed transactions per second (tps)"),
    }
}

const NOTE_OF_OLDER_TPCC: &str =
    "TPC-C-derived, not a TPC-C result: it was not audited, and published TPC-C results are no measure for it";

const KINDS_OF_OLDER_TPCC: [(&str, &str, f64); 6] = [
    ("new_order", "New-Order", 5.0),
    ("payment", "Payment", 5.0),
    ("order_status", "Order-Status", 5.0),
    ("delivery", "Delivery", 5.0),
    ("deferred_delivery", "Delivery, deferred", 80.0),
    ("stock_level", "Stock-Level", 20.0),
];
