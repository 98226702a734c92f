//! What was measured before the first block without a contender and without data: no trials.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckRecord {
    /// [`CheckRecord::NULL_SERVER`] or [`CheckRecord::NETWORK_PATH`].
    pub name: String,
    /// A protocol (`mysql`, `postgres`); or `socket`, `tcp` (loopback), the name of a network interface.
    pub subject: String,
    /// What cannot be seen is absent.
    pub values: BTreeMap<String, f64>,
    /// How it is known.
    pub seen_by: String,
}

impl CheckRecord {
    /// The load generator against a server that answers at once: the most that the generator reaches here.
    pub const NULL_SERVER: &str = "null_server";
    pub const PREPARED: &str = "prepared statements";
    /// As a workload of one pass sends them.
    pub const AS_TEXT: &str = "statements as text";
    /// Values.
    pub const CLIENTS: &str = "clients";
    pub const STATEMENTS: &str = "statements_per_s";
    pub const CLIENT_CPU: &str = "client_cpu_us_per_statement";

    /// The most that the network path between clients and servers carries.
    pub const NETWORK_PATH: &str = "network_path";
    /// Bytes were sent through it for a moment: both directions are the work of the same processors.
    pub const STREAMED: &str = "streamed";
    /// What the interface states as its speed, for each direction.
    pub const SPEED: &str = "speed";
    /// A value.
    pub const BYTES: &str = "bytes_per_s";

    pub fn new(name: &str, subject: &str, seen_by: &str, values: &[(&str, f64)]) -> CheckRecord {
        CheckRecord {
            name: name.to_owned(),
            subject: subject.to_owned(),
            values: values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
            seen_by: seen_by.to_owned(),
        }
    }

    pub fn value(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// Those of one name.
    pub fn named<'a>(checks: &'a [CheckRecord], name: &str) -> impl Iterator<Item = &'a CheckRecord> {
        checks.iter().filter(move |check| check.name == name)
    }
}
