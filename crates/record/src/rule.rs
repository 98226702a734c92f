//! The rule that a plan gives its verdicts by, and how early it can.

use crate::format::{MethodRecord, PlanRecord, RuleName};

/// Longer lists of operations are screened; up to this many share the error.
pub const OPERATIONS_WITH_JOINT_ERROR_MAX: usize = 20;

/// The rule of a single point out of `points`; with one, the rule of the whole sweep.
///
/// The error of 5 % is shared by all candidates (each is compared with the same baseline) and, for
/// verdicts on single points, by all points of the sweep.
pub fn point_rule(plan: &PlanRecord, points: usize) -> stats::Rule {
    let shared_by = plan.candidates().count().max(1) * points.max(1);
    stats::Rule {
        kind: match plan.method.rule {
            RuleName::Exact => stats::RuleKind::Exact,
            RuleName::T => stats::RuleKind::T,
        },
        blocks_max: plan.method.blocks as usize,
        alpha: (1.0 - plan.method.confidence) / shared_by as f64,
        margin: plan.method.margin.ln_1p(),
        seed: plan.seed,
    }
}

/// The first block at which one of so many points can have a verdict; none within these blocks.
pub fn first_for_points(plan: &PlanRecord, points: usize) -> Option<u32> {
    point_rule(plan, points).earliest_verdict().map(|block| block as u32)
}

/// The same for one of so many operations that differs alone: a long list is screened, and then the least p value
/// has to reach 5 % / (operations x candidates).
pub fn first_for_operations(plan: &PlanRecord, operations: usize) -> Option<u32> {
    if operations <= OPERATIONS_WITH_JOINT_ERROR_MAX {
        return first_for_points(plan, operations);
    }
    let candidates = plan.candidates().count();
    let screened = blocks_of_screening(operations, candidates, 1.0 - plan.method.confidence)?;
    let first = first_for_points(plan, 1)?.max(screened);
    (first <= plan.method.blocks).then_some(first)
}

/// Blocks with which one of a long list of operations can be shown to differ, where no other one does.
pub fn blocks_of_screening(operations: usize, candidates: usize, level: f64) -> Option<u32> {
    stats::screening_blocks(operations * candidates.max(1), level).map(|blocks| blocks as u32)
}

/// What each of several workloads and limits of a gate may spend of the error.
pub fn gate_level(plan: &PlanRecord) -> f64 {
    let limits = plan.gate.and_then(|gate| gate.latency).map_or(1, |_| 2);
    (1.0 - plan.method.confidence) / (plan.workloads.len().max(1) * limits) as f64
}

/// The plan at the error rate of its gate, without its trials.
pub fn at_gate_level(plan: &PlanRecord) -> PlanRecord {
    let method = MethodRecord { confidence: 1.0 - gate_level(plan), ..plan.method.clone() };
    PlanRecord { method, trials: Vec::new(), ..plan.clone() }
}

/// Blocks after which a candidate that equals the baseline passes a limit in nine of ten runs, where its ratio varies
/// by `sd` from block to block.
pub fn blocks_for_limit(plan: &PlanRecord, max_slowdown: f64, sd: f64) -> Option<u32> {
    let strict = at_gate_level(plan);
    let least = blocks_for(&strict, |plan| first_for_points(plan, 1))?;
    Some(least.max(stats::blocks_needed(sd, max_slowdown, point_rule(&strict, 1).alpha) as u32))
}

/// What verdicts are about, as sentences have it.
pub const POINTS: &str = "single levels";
pub const OPERATIONS: &str = "single operations";
pub const STATEMENTS: &str = "single statements";

/// What the operations of a plan are called.
pub fn operations_are(plan: &PlanRecord) -> &'static str {
    if plan.workloads.iter().any(|workload| workload.one_pass) { OPERATIONS } else { STATEMENTS }
}

/// The most blocks that a report advises to run.
const BLOCKS_SEARCHED: u32 = 200;

/// The least `blocks` with which there is such a first block.
pub fn blocks_for(plan: &PlanRecord, first: impl Fn(&PlanRecord) -> Option<u32>) -> Option<u32> {
    let mut plan = PlanRecord { trials: Vec::new(), ..plan.clone() };
    (1..=BLOCKS_SEARCHED).find(|blocks| {
        plan.method.blocks = *blocks;
        first(&plan).is_some()
    })
}

/// Why no single level or operation can have a verdict, and how many blocks it takes.
pub fn too_few(plan: &PlanRecord, count: usize, what: &str) -> String {
    let needed = blocks_for(plan, |plan| match what {
        POINTS => first_for_points(plan, count),
        _ => first_for_operations(plan, count),
    });
    let candidates = match plan.candidates().count() {
        1 => "1 candidate".to_owned(),
        several => format!("{several} candidates"),
    };
    let blocks = plan.method.blocks;
    let needed =
        needed.map_or("no number of blocks is enough".to_owned(), |needed| format!("that takes blocks = {needed}"));
    let alone = if what != POINTS { " if it differs alone" } else { "" };
    format!("none of {count} {what} with {candidates} can get a verdict{alone} in {blocks} blocks; {needed}")
}
