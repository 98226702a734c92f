//! What a stored trial was run for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::crash::{self, CrashKind};
use super::tuning::RecoveryRecord;
use super::{ContrastKind, PilotRecord, TrialRecord};

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
    /// A point once more, with the supposed cause of a difference taken away from both sides; the candidate names the
    /// difference.
    CauseTest { cause: ContrastKind, candidate: String },
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

    /// What a trial of this purpose shows in place of throughput, for a reader.
    pub fn shows(&self, metrics: &BTreeMap<String, f64>) -> Option<String> {
        let value = |name: &str| metrics.get(name).copied();
        match self {
            Purpose::Pilot => Some(match value(PilotRecord::STEADY_AFTER) {
                Some(seconds) => format!("steady after {seconds:.0} s"),
                None => "not steady".to_owned(),
            }),
            Purpose::Recovery { .. } => Some(format!(
                "killed after {:.0} s under load, first commit {:.2} s after the restart",
                value(RecoveryRecord::LOAD)?,
                value(RecoveryRecord::FIRST_COMMIT)?
            )),
            Purpose::Crash { kind, .. } => crash::shown(*kind, metrics),
            _ => None,
        }
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
            Purpose::CauseTest { .. } => "cause test",
        }
    }
}

/// The trials that may be judged: all but probes.
pub fn measured(trials: &[TrialRecord]) -> Cow<'_, [TrialRecord]> {
    if trials.iter().any(|trial| trial.purpose.is_probe()) {
        return Cow::Owned(trials.iter().filter(|trial| !trial.purpose.is_probe()).cloned().collect());
    }
    Cow::Borrowed(trials)
}
