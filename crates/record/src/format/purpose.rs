//! What a stored trial was run for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::crash::CrashKind;

/// Verdicts come from trials that compare, from their repeats, and in a duet from those that run alone. The others
/// are probes: they run beside the plan, with settings of their own, and no verdict comes from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    #[default]
    Compare,
    /// Takes the place of this trial, because the host disturbed its pair.
    Repeat { of: u32 },
    /// A contender of a duet without the other side.
    Alone,
    /// A long trial before the first block, from which the warm-up follows.
    Pilot,
    /// The peak point with so many threads of the load generator.
    Headroom { threads: u32 },
    /// The heaviest point with the server's stacks and waits sampled.
    Profile,
    /// All work of the plan in an experiment with `[recovery]`: the server crashes after so long under load, is started
    /// again, and its tables are compared with what was acknowledged.
    Crash { kind: CrashKind, after_ms: u64 },
    /// The server is killed under load, for the so-manieth time, and started again.
    Recovery { kill: u32 },
    /// The tables of a workload are loaded into an empty server, for the so-manieth time.
    Load { number: u32 },
    /// All statements of a log, one transaction after the other, with their answers kept; on the baseline twice.
    Answers { pass: u32 },
    /// A point once more, with the supposed cause of a difference taken away from both sides; the candidate names the
    /// difference.
    CauseTest { cause: ContrastKind, candidate: String },
}

/// What is taken away, from both sides alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ContrastKind {
    /// Disks: the data lie in memory.
    #[serde(rename = "tmpfs")]
    Tmpfs,
    /// Whoever one could wait for.
    #[serde(rename = "one client")]
    OneClient,
    /// The steps of plans that only one of them has.
    #[serde(rename = "other plan")]
    OtherPlan,
}

impl Purpose {
    #[must_use]
    pub fn is_compare(&self) -> bool {
        *self == Purpose::Compare
    }

    /// The trial whose place a repeat takes.
    pub fn repeats(&self) -> Option<u32> {
        if let Purpose::Repeat { of } = self { Some(*of) } else { None }
    }

    /// Whether a trial of this purpose runs beside the plan.
    pub fn is_probe(&self) -> bool {
        !matches!(self, Purpose::Compare | Purpose::Repeat { .. } | Purpose::Alone | Purpose::Crash { .. })
    }

    /// For a reader.
    pub fn title(&self) -> &'static str {
        match self {
            Purpose::Compare => "trial",
            Purpose::Repeat { .. } => "repeat",
            Purpose::Alone => "alone",
            Purpose::Pilot => "pilot run",
            Purpose::Headroom { .. } => "headroom check",
            Purpose::Profile => "profile",
            Purpose::Crash { .. } => "crash",
            Purpose::Recovery { .. } => "recovery after a kill",
            Purpose::Load { .. } => "load of the tables",
            Purpose::CauseTest { .. } => "cause test",
            Purpose::Answers { .. } => "answers",
        }
    }
}
