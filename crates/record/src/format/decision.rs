//! What was decided while a run went on, and why.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Point, Purpose};

/// What a decision is not about is empty or absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionRecord {
    pub kind: DecisionKind,
    /// Of the trials that it is about.
    #[serde(default, skip_serializing_if = "Purpose::is_compare")]
    pub purpose: Purpose,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub contender: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub point: Point,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_block: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// For a reader.
    pub because: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DecisionKind {
    /// Trials beside the plan were due and not run.
    #[serde(rename = "left out")]
    LeftOut,
    /// Trials of a workload warm up so many seconds from this block on.
    #[serde(rename = "warm-up")]
    WarmUp,
    /// No more trials of a contender at a point.
    #[serde(rename = "given up")]
    GivenUp,
    /// A contender was not measured at all: what the file asks for is not to be had.
    #[serde(rename = "refused")]
    Refused,
}

impl DecisionRecord {
    /// Why there is a warm-up: the pilots showed it, none of them succeeded, or trials were unsteady.
    pub const PILOT: &str = "pilot";
    pub const NO_PILOT: &str = "no pilot run succeeded";
    pub const UNSTEADY: &str = "unsteady";

    pub fn new(kind: DecisionKind, because: impl Into<String>) -> DecisionRecord {
        DecisionRecord {
            kind,
            purpose: Purpose::Compare,
            workload: String::new(),
            contender: String::new(),
            point: Point::new(),
            from_block: None,
            value: None,
            because: because.into(),
        }
    }

    pub fn warm_up(workload: &str, from_block: u32, seconds: f64, because: &str) -> DecisionRecord {
        DecisionRecord {
            workload: workload.to_owned(),
            from_block: Some(from_block),
            value: Some(seconds),
            ..DecisionRecord::new(DecisionKind::WarmUp, because)
        }
    }

    pub fn refused(contender: &str, because: String) -> DecisionRecord {
        DecisionRecord { contender: contender.to_owned(), ..DecisionRecord::new(DecisionKind::Refused, because) }
    }

    /// Of a warm-up.
    pub fn seconds(&self) -> f64 {
        self.value.unwrap_or_default()
    }

    /// Of a warm-up.
    pub fn first_block(&self) -> u32 {
        self.from_block.unwrap_or(1)
    }
}
