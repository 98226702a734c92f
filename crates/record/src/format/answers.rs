//! Whether servers answer the statements of a replayed log alike, as counted before the first block.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file in the folder of such a trial that holds its answers, 56 bytes a statement.
pub const ANSWERS_FILE: &str = "answers.bin";

/// The answers of one candidate beside those of the baseline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswersRecord {
    pub workload: String,
    pub baseline: String,
    pub candidate: String,
    /// Of timed trials, so many of the candidate, and of what all of them answered alike; absent of the passes before them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<usize>,
    /// Statements of the log.
    pub statements: u64,
    /// Statements whose answers were compared, by their values or by their number of rows.
    pub compared: u64,
    pub equal: u64,
    /// Of the equal ones: rows that are equal in their order came in another one.
    pub tie_order: u64,
    /// Of the equal ones: compared by their number of rows alone, by class.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_rows: BTreeMap<String, u64>,
    /// Statements that were not compared, by the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_compared: BTreeMap<String, u64>,
    /// Digests whose answers differ, those that differ most often first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differing: Vec<DigestAnswers>,
    /// Equal answers in which something beside rows and values differs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<BesideRows>,
    /// Digests whose answers describe the server, such as its version: they differ, and that is no fault.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<DigestAnswers>,
}

impl AnswersRecord {
    /// Reasons for which a statement is not compared.
    pub const UNSTABLE: &str = "unstable";
    pub const UNSENT: &str = "left out behind an error";
    pub const UNSTEADY: &str = "not the same in all trials";

    /// Statements whose answers differ.
    pub fn differ(&self) -> u64 {
        self.differing.iter().map(|digest| digest.differ).sum()
    }

    /// Of these, those that may be other rows which are equal in their order.
    pub fn at_limits(&self) -> u64 {
        self.differing.iter().filter_map(|digest| digest.ways.get(&Way::ValuesAtLimit)).sum()
    }
}

/// The statements of one digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DigestAnswers {
    pub digest: String,
    pub class: String,
    pub compared: u64,
    pub differ: u64,
    /// How they differ, and how often.
    pub ways: BTreeMap<Way, u64>,
    /// The first one in the log.
    pub first: DifferingAnswer,
    /// Those that follow, a few of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<DifferingAnswer>,
}

/// What differs beside rows and values: no gate fails by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Names of columns, whatever their case.
    Names,
    /// Codes of warnings.
    Warnings,
    /// The number that the server gave to a new row.
    NewKey,
}

/// Statements of one digest that differ in one thing beside rows and values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BesideRows {
    pub digest: String,
    pub what: Beside,
    pub differ: u64,
    /// The first one in the log.
    pub first: DifferingAnswer,
}

/// How two answers differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Way {
    /// The candidate alone answers with an error.
    Error,
    /// The baseline alone does.
    NoError,
    OtherError,
    /// Another number of rows, returned or changed.
    Rows,
    Values,
    /// Of a statement with ORDER BY and LIMIT: other rows may be equal in that order.
    ValuesAtLimit,
}

/// One statement with its two answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DifferingAnswer {
    pub log: String,
    pub line: u64,
    /// `3 rows`, `1 row changed`, `error 1062`.
    pub baseline: String,
    pub candidate: String,
    /// Its values stand in it only with `show_literals`; otherwise their lengths do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub statement: String,
}

/// How well the replay on the baseline agrees with what the log recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FidelityRecord {
    pub workload: String,
    pub contender: String,
    /// Statements whose outcome the log has.
    pub recorded: u64,
    pub same: u64,
    /// Digests that differ, by how often, those that differ most first; at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<(String, u64)>,
}

impl FidelityRecord {
    /// Below this, the data are not those of the log.
    pub const LOW: f64 = 0.95;

    /// None where the log recorded no outcome.
    pub fn share(&self) -> Option<f64> {
        (self.recorded > 0).then(|| self.same as f64 / self.recorded as f64)
    }

    pub fn is_low(&self) -> bool {
        self.share().is_some_and(|share| share < FidelityRecord::LOW)
    }
}
