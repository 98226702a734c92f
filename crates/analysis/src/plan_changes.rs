//! Where two servers run a statement differently: the first step that differs. What is estimated is not compared.

use record::format::{PlanNode, StatementPlan};
use schemars::JsonSchema;
use serde::Serialize;

use super::named::named;

named! {
    /// What differs first.
    pub enum Changed {
        /// How a table is read.
        Access = "access",
        JoinOrder = "join order",
        /// A step above the tables: a sort, a method of joining.
        Step = "step",
    }
}

/// The first difference between two plans.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PlanChange {
    pub changed: Changed,
    /// The steps themselves, without those below; of a join order the tables as steps without a table of their own. Absent
    /// where one of the plans has no such step.
    pub baseline: Vec<PlanNode>,
    pub candidate: Vec<PlanNode>,
}

/// None where both do the same, or either is not known.
pub fn change(baseline: &StatementPlan, candidate: &StatementPlan) -> Option<PlanChange> {
    if baseline.refused.is_some() || candidate.refused.is_some() {
        return None;
    }
    let (one, other) = (baseline.root()?, candidate.root()?);
    let (reads, others) = (reads(&one), reads(&other));
    let sorted = |reads: &[&PlanNode]| {
        let mut tables: Vec<String> = reads.iter().filter_map(|node| node.table.clone()).collect();
        tables.sort();
        tables
    };
    let tables = |reads: &[&PlanNode]| reads.iter().map(|node| node.table.clone()).collect::<Vec<_>>();
    if tables(&reads) != tables(&others) && sorted(&reads) == sorted(&others) {
        return Some(PlanChange { changed: Changed::JoinOrder, baseline: bare(&reads), candidate: bare(&others) });
    }
    let first = (0..reads.len().max(others.len()))
        .map(|at| (reads.get(at).copied(), others.get(at).copied()))
        .find(|(one, other)| !is_same_read(*one, *other));
    let found = first.map(|pair| (Changed::Access, pair));
    let (changed, (baseline, candidate)) =
        found.or_else(|| first_step(&one, &other).map(|pair| (Changed::Step, pair)))?;
    let side = |node: Option<&PlanNode>| bare(node.as_slice());
    Some(PlanChange { changed, baseline: side(baseline), candidate: side(candidate) })
}

/// Steps without what is below them.
fn bare(nodes: &[&PlanNode]) -> Vec<PlanNode> {
    nodes.iter().map(|node| PlanNode { children: Vec::new(), ..(*node).clone() }).collect()
}

/// The steps that read a table, in the order in which they are joined.
fn reads(root: &PlanNode) -> Vec<&PlanNode> {
    root.from_below().into_iter().filter(|node| node.table.is_some() || node.index.is_some()).collect()
}

fn is_same_read(one: Option<&PlanNode>, other: Option<&PlanNode>) -> bool {
    one.zip(other).is_some_and(|(one, other)| one.does_the_same(other))
}

type Steps<'a> = (Option<&'a PlanNode>, Option<&'a PlanNode>);

/// From above; what reads tables is the same.
fn first_step<'a>(one: &'a PlanNode, other: &'a PlanNode) -> Option<Steps<'a>> {
    if !one.does_the_same(other) {
        return Some((Some(one), Some(other)));
    }
    (0..one.children.len().max(other.children.len())).find_map(|at| {
        match (one.children.get(at), other.children.get(at)) {
            (Some(one), Some(other)) => first_step(one, other),
            pair => Some(pair),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(operator: &str, table: &str, index: Option<&str>) -> PlanNode {
        PlanNode { table: Some(table.into()), index: index.map(str::to_owned), ..PlanNode::of(operator) }
    }

    fn plan(root: PlanNode) -> StatementPlan {
        StatementPlan {
            statement: "a".into(),
            sql: String::new(),
            lines: Vec::new(),
            shape: Vec::new(),
            tree: Some(root),
            refused: None,
        }
    }

    fn above(operator: &str, children: &[PlanNode]) -> PlanNode {
        PlanNode { children: children.to_vec(), ..PlanNode::of(operator) }
    }

    fn check(one: PlanNode, other: PlanNode, expected: Option<(Changed, &str, &str)>) {
        let seen = change(&plan(one), &plan(other));
        let first = |nodes: &[PlanNode]| nodes.first().map_or("nothing".to_owned(), |node| node.operator.clone());
        let seen = seen.map(|seen| (seen.changed, first(&seen.baseline), first(&seen.candidate)));
        assert_eq!(seen, expected.map(|(changed, one, other)| (changed, one.to_owned(), other.to_owned())));
    }

    #[test]
    fn the_first_read_that_differs_comes_before_what_is_above_it() {
        let range = || read("range", "sbtest1", Some("k_1"));
        let scan = || read("full scan", "sbtest1", None);
        check(above("query", &[range()]), above("query", &[range()]), None);
        check(above("query", &[range()]), above("query", &[scan()]), Some((Changed::Access, "range", "full scan")));
        let gathered = above("Finalize", &[above("Gather", &[above("Partial", &[scan()])])]);
        check(above("Aggregate", &[range()]), gathered.clone(), Some((Changed::Access, "range", "full scan")));
        check(above("Aggregate", &[scan()]), gathered, Some((Changed::Step, "Aggregate", "Finalize")));
        let sorted = PlanNode { sort: true, ..above("query", &[range()]) };
        check(above("query", &[range()]), sorted, Some((Changed::Step, "query", "query")));
        check(above("query", &[]), above("query", &[range()]), Some((Changed::Access, "nothing", "range")));
    }

    #[test]
    fn estimates_are_not_compared_and_another_order_of_the_same_tables_is_one_difference() {
        let costly = PlanNode { estimated_rows: Some(9.0), estimated_cost: Some(1.0), ..read("ref", "a", None) };
        check(costly.clone(), read("ref", "a", None), None);
        let one = above("query", &[read("full scan", "a", None), read("ref", "b", Some("k"))]);
        let other = above("query", &[read("full scan", "b", None), read("ref", "a", Some("k"))]);
        check(one, other, Some((Changed::JoinOrder, "full scan", "full scan")));
    }

    #[test]
    fn what_is_not_known_does_not_differ() {
        let known = plan(read("ref", "a", None));
        let refused = StatementPlan { refused: Some("no right".into()), tree: None, ..known.clone() };
        assert_eq!(change(&known, &refused), None);
    }
}
