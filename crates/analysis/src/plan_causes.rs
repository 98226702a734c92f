//! What changed plans may explain.
//!
//! A changed plan is a fact; that it makes a statement slower is not shown by it. It is possible where the statement is
//! shown to differ, and likely where the server also reads more rows or pages. A test in which both run it alike confirms it.

use std::collections::BTreeMap;

use record::format::StatementPlan;
use schemars::JsonSchema;
use serde::Serialize;

use super::comparison::{Comparison, Verdict};
use super::conclusions::{HeadToHead, WorkloadConclusions};
use super::diagnosis::{Cost, Grade, TestOutcome};
use super::differences::{Difference, PlanPair};
use super::operations::Part;
use super::plan_changes::PlanChange;

/// What this cause is called beside the others.
pub const KIND: &str = "other plan";

/// A statement of a pair of contenders that is run differently, and shown to be faster or slower.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanCause<'a> {
    pub workload: &'a str,
    pub baseline: &'a str,
    pub candidate: &'a str,
    /// As it is named among the statements with plans.
    pub statement: &'a str,
    /// Its text, of a statement of a log.
    #[serde(rename = "sql", skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    pub grade: Grade,
    /// The verdict of the statement, or of the workload where its statements have none.
    pub verdict: Verdict,
    pub change: PlanChange,
    /// Costs that moved in the same direction.
    pub agree: Vec<&'a Cost>,
    /// What the verdict comes from.
    #[serde(skip)]
    pub comparison: &'a Comparison,
    /// Of baseline and candidate.
    #[serde(skip)]
    pub plans: [&'a StatementPlan; 2],
    /// What became of the difference once both ran the statement alike, where that was tested.
    pub test: Option<PlanTest<'a>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanTest<'a> {
    /// Settings of both servers, as far as each has them.
    pub switched_off: BTreeMap<&'a str, &'a str>,
    pub outcome: TestOutcome,
}

impl PlanTest<'_> {
    pub fn is_confirming(&self) -> bool {
        matches!(&self.outcome, TestOutcome::Ended(change) if change.confirms)
    }
}

/// What a server reads in one transaction or pass.
const READ: &[&str] = &["rows_read_per_", "page_requests_per_", "buffer_misses_per_"];

/// Statements whose plans may explain a verdict of this pair, those that are likely first.
pub fn plan_causes<'a>(
    workload: &'a WorkloadConclusions,
    duel: &'a HeadToHead,
    differences: &[Difference<'a>],
) -> Vec<PlanCause<'a>> {
    let of_pair = differences.iter().filter(|one| one.candidate == duel.candidate);
    let plans = of_pair.flat_map(|one| &one.plans).filter(|plans| is_of(plans.title, &workload.workload));
    let mut found: Vec<PlanCause> = Vec::new();
    for pair in plans.flat_map(|plans| &plans.statements) {
        let (Some(change), Some(baseline), Some(candidate)) = (&pair.change, pair.baseline, pair.candidate) else {
            continue;
        };
        let part = part_of(duel, pair);
        let comparison = part.map_or(&duel.overall, |part| &part.comparison);
        // Statements without a verdict of their own share one cause, and so do the executions of a statement.
        let is_of = |one: &PlanCause| part.is_none_or(|part| is_plan_of(one.statement, &part.name));
        let is_known = found.iter().any(|one| one.change == *change && is_of(one));
        if !matches!(comparison.verdict, Verdict::Faster | Verdict::Slower) || is_known {
            continue;
        }
        // Beside what is true of the whole run, such as a busy host, no cause is claimed; a changed plan stays possible.
        let is_disturbed = duel.diagnosis.causes.iter().any(|cause| cause.kind.is_of_the_run());
        let agree: Vec<&Cost> = agreeing(duel, comparison).filter(|_| !is_disturbed).collect();
        found.push(PlanCause {
            workload: &workload.workload,
            baseline: &duel.baseline,
            candidate: &duel.candidate,
            statement: pair.statement,
            text: part.and_then(|part| part.text.as_deref()),
            grade: if agree.is_empty() { Grade::Weak } else { Grade::Supported },
            verdict: comparison.verdict,
            change: change.clone(),
            agree,
            comparison,
            plans: [baseline, candidate],
            test: None,
        });
    }
    found.sort_by_key(|cause| cause.grade == Grade::Weak);
    found
}

/// A title is the label of a workload, with the point where points have data of their own.
pub fn is_of(title: &str, workload: &str) -> bool {
    title.strip_prefix(workload).is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
}

/// The figures of the statement itself, where it has any.
pub fn part_of<'a>(duel: &'a HeadToHead, pair: &PlanPair) -> Option<&'a Part> {
    let parts = duel.parts.as_ref()?;
    parts.operations.iter().find(|part| is_plan_of(pair.statement, &part.name))
}

/// `1f2e (p95)` is a plan of `1f2e`.
pub fn is_plan_of(plan: &str, statement: &str) -> bool {
    plan.strip_prefix(statement).is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
}

/// How the statement of a part is run by both: whether every plan is the same. None where that is not known.
pub fn is_run_alike(differences: &[Difference], workload: &str, candidate: &str, statement: &str) -> Option<bool> {
    let of_pair = differences.iter().filter(|one| one.candidate == candidate && one.same_family);
    let plans = of_pair.flat_map(|one| &one.plans).filter(|plans| is_of(plans.title, workload));
    let pairs = plans.flat_map(|plans| &plans.statements).filter(|pair| is_plan_of(pair.statement, statement));
    let known: Vec<bool> = pairs.filter(|pair| pair.is_known()).map(|pair| !pair.differs).collect();
    (!known.is_empty()).then(|| known.into_iter().all(|alike| alike))
}

/// Costs of the whole sweep, or of the only point, that went up where it became slower, and down where it became faster.
fn agreeing<'a>(duel: &'a HeadToHead, comparison: &Comparison) -> impl Iterator<Item = &'a Cost> {
    let is_slower = comparison.verdict == Verdict::Slower;
    let whole = duel.diagnosis.costs.first().map(|cost| cost.point.clone()).unwrap_or_default();
    let is_read = |cost: &&Cost| READ.iter().any(|name| cost.metric.starts_with(name));
    let ours = duel.diagnosis.costs.iter().filter(move |cost| cost.point == whole).filter(is_read);
    ours.filter(move |cost| match cost.ratio.and_then(|ratio| ratio.bounds) {
        Some((low, high)) => {
            if is_slower {
                high < 1.0
            } else {
                low > 1.0
            }
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_belong_to_their_statement_and_workload() {
        assert!(is_plan_of("1f (p95)", "1f") && is_plan_of("1f", "1f") && !is_plan_of("1f2", "1f"));
        assert!(is_of("oltp, 5 warehouses", "oltp") && !is_of("oltp_read", "oltp"));
    }
}
