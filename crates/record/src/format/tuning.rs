//! What a search over settings (`dbduel tune`) tried, and what became of it.
//!
//! Two runs hold it: the one with the search's own trials, and the one in which its winner met the
//! incumbent again. Figures of the search chose the winner, so they are too high; they are kept to show how
//! the choice was made, and never as what was gained.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Failure, Point};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SearchRecord {
    /// Name of the run that holds the search's trials; absent in that run itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The contender that all others raced against.
    pub incumbent: String,
    /// Where they raced.
    pub workload: String,
    pub point: Point,
    /// Draws the candidates.
    pub seed: u64,
    pub rules: RaceRecord,
    /// What it was asked for, so that it can go on; absent in the run of the duel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given: Option<GivenRecord>,
    /// Settings that were moved, with the values that candidates could have.
    pub space: BTreeMap<String, Vec<String>>,
    /// Values that the server does not start with: no candidate has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRecord>,
    /// Settings that decide what a commit promises: no candidate moves them.
    pub held: Vec<String>,
    /// Parts of the file that the search has no use for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub candidates: Vec<CandidateRecord>,
    pub rounds: Vec<RoundRecord>,
    /// Absent while the search goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<OutcomeRecord>,
    /// Behind the duel both sides crash in a run of their own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_crashes: bool,
    /// Workloads that had no part in the search, by their labels in the run of the duel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held_out: Vec<String>,
}

/// Flags of the command line, beside the file that lies with the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GivenRecord {
    /// The experiment's, also where its file gives none.
    pub name: String,
    /// So many were wanted; the space may have fewer.
    pub candidates: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Keys of the experiment file that the command line set.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    pub accept_noisy: bool,
    pub contrast: bool,
    pub diagnose: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedRecord {
    pub setting: String,
    pub value: String,
    /// The output of the server, or what it had in force instead.
    pub why: String,
}

/// What was fixed before the first block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RaceRecord {
    pub alpha: f64,
    pub blocks_per_round: u32,
    pub blocks_max: u32,
    /// A trial that takes longer than so many of the incumbent's, and `trial_slack_s`, puts its candidate out.
    pub trial_times_max: f64,
    pub trial_slack_s: f64,
    /// So does a data directory of more bytes than so many of the incumbent's, and `disk_slack_bytes`.
    pub disk_times_max: f64,
    pub disk_slack_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CandidateRecord {
    pub name: String,
    /// How it came about.
    pub how: String,
    /// What it has otherwise than the incumbent.
    pub settings: BTreeMap<String, String>,
    /// Blocks in which both it and the incumbent were measured.
    pub blocks: u32,
    /// Estimate of those, as a ratio: above 1 it is ahead. Absent without a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Evidence that it differs from the incumbent: at candidates / alpha it is shown.
    pub evidence: f64,
    pub shown_faster: bool,
    /// Absent while it races, and of those who were left at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out: Option<OutRecord>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutRecord {
    /// Blocks of the race that were over; 0 before the first.
    pub after_block: u32,
    #[serde(flatten)]
    pub cause: OutCause,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum OutCause {
    /// Before the first block, as the server or dbduel put it.
    Refused {
        why: String,
    },
    /// Its trial failed.
    Failed {
        failure: Option<Failure>,
    },
    TooSlow {
        seconds: f64,
        allowed_s: f64,
    },
    TooLarge {
        bytes: f64,
        allowed_bytes: f64,
    },
    /// Shown to be slower than the incumbent.
    Slower,
    /// In the slower half of its round.
    Halved,
    /// The last one, and not ahead of the incumbent.
    Behind,
}

impl OutRecord {
    /// Out before the first block.
    pub fn refused(why: String) -> OutRecord {
        OutRecord { after_block: 0, cause: OutCause::Refused { why } }
    }

    pub fn refusal(&self) -> Option<&str> {
        if let OutCause::Refused { why } = &self.cause { Some(why) } else { None }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundRecord {
    pub round: u32,
    pub first_block: u32,
    pub last_block: u32,
    pub began: Vec<String>,
    /// Who was left behind it.
    pub stayed: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeRecord {
    /// `blocks`, `budget`, `decided` or `nobody left`.
    pub ended_by: String,
    /// The contender that meets the incumbent again; absent where none was ahead of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winner: Option<String>,
    /// The race itself had shown it to be faster.
    pub shown: bool,
    /// Smallest gain, as a fraction, of the candidate with most blocks that the race would have noticed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mde: Option<f64>,
    /// Name of the run in which the winner met the incumbent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duel: Option<String>,
    /// Name of the run in which both of them crashed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crashes: Option<String>,
}
