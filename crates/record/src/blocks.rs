//! How many blocks each kind of trial beside the plan has, and which repeat a trial belongs to.

use crate::format::PlanRecord;

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
