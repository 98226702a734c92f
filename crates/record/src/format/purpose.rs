//! What a stored trial was run for.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::TrialRecord;

/// Verdicts come from trials that compare, from their repeats, and in a duet from those that run alone. The others
/// are probes: they run beside the plan, with settings of their own, and no verdict comes from them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
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
        !matches!(self, Purpose::Compare | Purpose::Repeat { .. } | Purpose::Alone)
    }

    /// For a reader.
    pub fn title(&self) -> &'static str {
        match self {
            Purpose::Compare => "trial",
            Purpose::Repeat { .. } => "repeat",
            Purpose::Alone => "alone",
            Purpose::Pilot => "pilot run",
            Purpose::Headroom { .. } => "headroom check",
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
