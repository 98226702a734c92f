//! A caveat or an observation of a run, with its evidence.

use record::format::{AaRecord, ContrastRecord, DecisionRecord};
use schemars::JsonSchema;
use serde::Serialize;

use super::deferred::WorkLeft;
use super::diagnosis::Grade;
use super::headroom::{Doubled, HeadroomCheck};
use super::ladder::Interaction;
use super::named::named;

named! {
    pub enum FindingKind {
        FailedTrials = "failed trials",
        Outages = "trials without a commit",
        LostTransactions = "lost transactions",
        GivenUp = "given up",
        GeneratorBound = "generator-bound",
        Saturated = "saturated",
        Starved = "starved",
        OutOfRange = "out-of-range",
        MissingQuantiles = "missing quantiles",
        HeadroomUnfinished = "headroom check unfinished",
        CauseTestUnfinished = "cause test unfinished",
        NoisyHost = "noisy host",
        FlagImbalance = "flag imbalance",
        Unsteady = "unsteady",
        DeferringWork = "deferring work",
        Accumulating = "accumulating",
        Short = "short",
        TornLog = "torn-log",
        DamageInLog = "damage in the log",
        Resumed = "resumed",
        SharedCores = "shared cores",
        NotManaged = "not managed",
        BehindPooler = "behind a pooler",
        WorkDiffers = "work differs",
        TransportDiffers = "transport differs",
        DurabilityDiffers = "durability differs",
        WordSizeDiffers = "word size differs",
        DefaultsChanged = "defaults changed",
        Duet = "duet",
        FastSweep = "fast sweep",
        ClonedData = "cloned data",
        UnequalWork = "unequal work",
        ResultsDiffer = "results differ",
        LowFidelity = "low fidelity",
        Refused = "refused",
        OrderMatters = "order matters",
        WorkLeft = "deferred work left",
    }
}

/// A caveat or an observation of the run, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    pub kind: FindingKind,
    pub grade: Grade,
    #[serde(skip_serializing_if = "Facts::are_in_records")]
    pub facts: Facts,
    /// By number, where single trials show it.
    pub trials: Vec<u32>,
}

/// What is known of a finding beside its trials.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Facts {
    /// Nothing that its trials, the records or the other conclusions do not hold.
    InRecords,
    GivenUp(Vec<DecisionRecord>),
    /// Contenders that did more with twice the threads of the load generator.
    Headroom(Vec<Doubled>),
    HeadroomUnfinished(Vec<HeadroomCheck>),
    CauseTestsUnfinished(Vec<ContrastRecord>),
    /// A/A tests of this host that found a difference.
    FalseDifferences(Vec<AaRecord>),
    OrderMatters {
        workload: String,
        interaction: Box<Interaction>,
    },
    WorkLeft(Vec<WorkLeft>),
    Lost(Vec<Lost>),
    BehindPooler(Vec<BehindPooler>),
    WorkDiffers(Vec<WorkDiffers>),
}

/// What stands before a contender's server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BehindPooler {
    pub contender: String,
    pub pooler: String,
    /// Sessions of the server, dbduel's own included: the most that a trial had on average; null where they cannot be seen.
    pub sessions: Option<f64>,
}

/// A setting by which statements mean or do something else.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkDiffers {
    pub setting: String,
    pub baseline: String,
    pub candidate: String,
    pub of_baseline: String,
    pub of_candidate: String,
}

/// Transactions of a contender that ended in an error, in all trials that are judged.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Lost {
    pub contender: String,
    pub workload: String,
    pub failed: f64,
    pub due: f64,
    pub share: f64,
}

impl Facts {
    fn are_in_records(&self) -> bool {
        *self == Facts::InRecords
    }
}

impl Finding {
    /// A recorded fact.
    pub(crate) fn confirmed(kind: FindingKind) -> Finding {
        Finding { kind, grade: Grade::Confirmed, facts: Facts::InRecords, trials: Vec::new() }
    }

    /// A conclusion of statistics.
    pub(crate) fn supported(self) -> Finding {
        Finding { grade: Grade::Supported, ..self }
    }

    pub(crate) fn with(self, facts: Facts) -> Finding {
        Finding { facts, ..self }
    }
}
