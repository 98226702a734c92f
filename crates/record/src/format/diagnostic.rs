//! Profiles: where a server spent its time, in stacks and waits. Never part of a comparison.
//!
//! A profile is a stored trial. Its folder has the stacks in `stacks.folded`, as flame graph tools read them, and the
//! waits in `waits.json`; its record lists what is not visible, and why.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations::{flag, flagged};
use super::{Point, TrialRecord};

/// What the profile of one contender showed at the heaviest point of a workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticRecord {
    pub trial: u32,
    pub workload: String,
    pub contender: String,
    pub point: Point,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<WaitsRecord>,
    /// What cannot be seen here, by name, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub not_visible: BTreeMap<String, String>,
}

impl DiagnosticRecord {
    /// Names in `not_visible`.
    pub const PROFILE: &str = "profile";
    pub const WAITS: &str = "waits";

    /// Of a trial and what lies in its folder.
    pub fn of(
        trial: &TrialRecord,
        stacks: Option<BTreeMap<String, u64>>,
        waits: Option<WaitsRecord>,
    ) -> DiagnosticRecord {
        let profile = |stacks| ProfileRecord {
            event: trial.remarks.get(ProfileRecord::EVENT).cloned().unwrap_or_default(),
            samples_per_s: trial.metrics.get(ProfileRecord::SAMPLES_PER_S).map_or(0, |hz| *hz as u32),
            stacks,
        };
        let reason = |(one, why): (&String, &String)| Some((flagged(one, NOT_VISIBLE)?.to_owned(), why.clone()));
        DiagnosticRecord {
            trial: trial.trial,
            workload: trial.workload.clone(),
            contender: trial.contender.clone(),
            point: trial.point.clone(),
            profile: stacks.map(profile),
            waits,
            not_visible: trial.remarks.iter().filter_map(reason).collect(),
        }
    }
}

const NOT_VISIBLE: &str = "not-visible";

/// Flags a trial that has no stacks, or no waits.
pub fn mark_not_visible(trial: &mut TrialRecord, what: &str, why: String) {
    trial.flags.push(flag(NOT_VISIBLE, what));
    trial.remarks.insert(flag(NOT_VISIBLE, what), why);
}

/// Stacks of the server's threads on a CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileRecord {
    /// What was counted: `cycles`, or `cpu-clock`.
    pub event: String,
    pub samples_per_s: u32,
    /// Samples by stack: names from the outermost to the innermost, `;` between them.
    pub stacks: BTreeMap<String, u64>,
}

impl ProfileRecord {
    /// Remark and metric of the trial.
    pub const EVENT: &str = "profile_event";
    pub const SAMPLES_PER_S: &str = "profile_samples_per_s";
}

/// A line for each stack, its samples behind it.
pub fn folded_text(stacks: &BTreeMap<String, u64>) -> String {
    stacks.iter().map(|(stack, samples)| format!("{stack} {samples}\n")).collect()
}

/// Reads what [`folded_text`] wrote.
pub fn read_folded(text: &str) -> Result<BTreeMap<String, u64>> {
    let stack = |line: &str| {
        let (stack, samples) = line.rsplit_once(' ').with_context(|| format!("`{line}` has no count of samples"))?;
        Ok((stack.to_owned(), samples.parse().with_context(|| format!("`{samples}` is no count of samples"))?))
    };
    text.lines().map(stack).collect()
}

/// What clients waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitsRecord {
    pub unit: WaitsUnit,
    /// Sessions seen at work, where they were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    pub events: BTreeMap<String, f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WaitsUnit {
    /// Of the samples of sessions at work; `running` waits for nothing.
    #[serde(rename = "share of active sessions")]
    Share,
    #[serde(rename = "ms per transaction")]
    MsPerTransaction,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_read_back_and_a_line_without_a_count_is_named() {
        let stacks = BTreeMap::from([("mysqld;do_command;a b".to_owned(), 3), ("mysqld".to_owned(), 1)]);
        assert_eq!(read_folded(&folded_text(&stacks)).unwrap(), stacks);
        assert!(read_folded("mysqld;x\n").unwrap_err().to_string().contains("mysqld;x"));
    }
}
