//! How many blocks each kind of trial beside the plan has, and which repeat a trial belongs to.

use crate::format::{PlanRecord, TrialRecord};

/// Blocks behind a duet in which each contender runs alone (method, section 1, "Duet mode").
pub const SOLO_BLOCKS: u32 = 4;
/// Blocks of a contrast (method, section 5).
pub const CONTRAST_BLOCKS: usize = 4;
/// Blocks of a doubling (method, section 4).
pub const DOUBLING_BLOCKS: usize = 4;

/// Which repeat of the run a trial belongs to, counted from 1; none for a trial of the plan.
pub fn repeat_number(plan: &PlanRecord, trial: u32) -> Option<u32> {
    let beyond = trial.checked_sub(plan.trials.len() as u32 + 1)?;
    Some(beyond / plan.contenders.len().max(1) as u32 + 1)
}

/// At most this share of the planned blocks is repeated at a workload's point (method, section 1, "Host
/// noise record, flags, repeats"), and one block wherever there are fewer.
const REPEATED_SHARE: u32 = 4;

/// So many blocks may be repeated at each point of a workload.
pub fn repeats_max(plan: &PlanRecord) -> u32 {
    (plan.method.blocks / REPEATED_SHARE).max(1)
}

/// The number of the next probe: behind all that is stored, and behind all repeats that there may be.
pub fn next_probe_number(plan: &PlanRecord, stored: &[TrialRecord]) -> u32 {
    let repeats = repeats_max(plan) * plan.entries_in_a_block() * plan.contenders.len() as u32;
    let last = stored.iter().map(|trial| trial.trial).max().unwrap_or(0);
    last.max(plan.trials.len() as u32 + repeats) + 1
}
