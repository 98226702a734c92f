//! The rule that a plan gives its verdicts by, and how early it can.

use crate::format::{PlanRecord, RuleName};

/// Longer lists of operations are screened; up to this many share the error.
pub const OPERATIONS_WITH_JOINT_ERROR_MAX: usize = 20;

/// The rule of a single point out of `points`; with one, the rule of the whole sweep.
///
/// The error of 5 % is shared by all candidates (each is compared with the same baseline) and, for
/// words on single points, by all points of the sweep.
pub fn point_rule(plan: &PlanRecord, points: usize) -> stats::Rule {
    let shared_by = plan.candidates().count().max(1) * points.max(1);
    stats::Rule {
        kind: match plan.method.rule {
            RuleName::Exact => stats::RuleKind::Exact,
            RuleName::T => stats::RuleKind::T,
            RuleName::Watch => stats::RuleKind::Watch,
        },
        blocks_max: plan.method.blocks as usize,
        alpha: (1.0 - plan.method.confidence) / shared_by as f64,
        margin: plan.method.margin.ln_1p(),
        seed: plan.seed,
    }
}

/// The first block at which one of so many points can have a verdict; none within these blocks.
pub fn first_for_points(plan: &PlanRecord, points: usize) -> Option<u32> {
    point_rule(plan, points).earliest_word().map(|block| block as u32)
}

/// The same for one of so many operations that differs alone: a long list is screened, and then the least p value
/// has to reach 5 % / (operations x candidates).
pub fn first_for_operations(plan: &PlanRecord, operations: usize) -> Option<u32> {
    if operations <= OPERATIONS_WITH_JOINT_ERROR_MAX {
        return first_for_points(plan, operations);
    }
    let tests = operations * plan.candidates().count().max(1);
    let screened = stats::screening_blocks(tests, 1.0 - plan.method.confidence)? as u32;
    let first = first_for_points(plan, 1)?.max(screened);
    (first <= plan.method.blocks).then_some(first)
}
