//! What differs between two plans of a statement, in words; the names in it are those of servers.

use analysis::plan_causes::{PlanCause, PlanTest};
use analysis::plan_changes::{Changed, PlanChange};
use analysis::{Cost, Grade};
use record::format::{ContrastKind, PlanNode, StatementPlan};

use super::probes::setting;
use super::{causes, costs};
use crate::wording::{integer, number, ratio_text, shortened};

/// Letters of a statement in a sentence.
const STATEMENT_MAX: usize = 60;
/// Statements that are named beside the first one of a cause.
const LIKEWISE_MAX: usize = 5;

/// `range on k_1 → full scan of sbtest1`
pub fn change(change: &PlanChange) -> String {
    let PlanChange { changed, baseline, candidate } = change;
    if *changed == Changed::JoinOrder {
        let tables =
            |nodes: &[PlanNode]| nodes.iter().filter_map(|node| node.table.clone()).collect::<Vec<_>>().join(", ");
        return format!("tables in the order {} → {}", tables(baseline), tables(candidate));
    }
    let (one, other) = (baseline.first(), candidate.first());
    if let Some((one, other)) = one.zip(other).filter(|(one, other)| is_same_step(one, other)) {
        let (before, after) = (marks(one, other), marks(other, one));
        let of = one.table.as_ref().map_or(String::new(), |table| format!("{table}: "));
        return format!("{of}{before} → {after}");
    }
    let texts = [one, other].map(|node| node.map_or("nothing".to_owned(), step));
    if texts[0] != texts[1] {
        return format!("{} → {}", texts[0], texts[1]);
    }
    let texts = [one, other].map(|node| node.map_or("nothing".to_owned(), whole_step));
    format!("{} → {}", texts[0], texts[1])
}

fn is_same_step(one: &PlanNode, other: &PlanNode) -> bool {
    (&one.operator, &one.table, &one.index) == (&other.operator, &other.table, &other.index)
}

/// What one has otherwise than the other, where both take the same step.
fn marks(one: &PlanNode, other: &PlanNode) -> String {
    let mut found = Vec::new();
    if one.join != other.join {
        found.push(one.join.clone().unwrap_or_else(|| "nested loop".to_owned()));
    }
    let all = |node: &PlanNode| {
        let PlanNode { index_only, sort, temporary_table, parallel, .. } = *node;
        [(index_only, "index only"), (sort, "sort"), (temporary_table, "temporary table"), (parallel, "parallel")]
    };
    for ((own, name), (theirs, _)) in all(one).into_iter().zip(all(other)) {
        if own != theirs {
            found.push(if own { name.to_owned() } else { format!("no {name}") });
        }
    }
    found.join(", ")
}

/// `range on k_1`, `full scan of sbtest1`, `parallel Seq Scan of t`, `Sort`
fn step(node: &PlanNode) -> String {
    let place = match (&node.index, &node.table) {
        (Some(index), _) => format!(" on {index}"),
        (None, Some(table)) => format!(" of {table}"),
        (None, None) => String::new(),
    };
    format!("{}{}{place}", if node.parallel { "parallel " } else { "" }, node.operator)
}

/// With everything that is compared: `ref on k_1 of orders (index only, hash join)`.
fn whole_step(node: &PlanNode) -> String {
    let table = node.table.as_ref().filter(|_| node.index.is_some());
    let table = table.map_or(String::new(), |table| format!(" of {table}"));
    let mut marks: Vec<&str> = Vec::new();
    let all = [(node.index_only, "index only"), (node.sort, "sort"), (node.temporary_table, "temporary table")];
    marks.extend(all.iter().filter(|(is_set, _)| *is_set).map(|(_, mark)| *mark));
    marks.extend(node.join.as_deref());
    let marks = if marks.is_empty() { String::new() } else { format!(" ({})", marks.join(", ")) };
    format!("{}{table}{marks}", step(node))
}

/// A step of a tree: those below another are indented.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What is compared.
    pub step: String,
    pub estimates: String,
}

pub fn tree(root: &PlanNode) -> Vec<Line> {
    let mut lines = Vec::new();
    draw(root, 0, &mut lines);
    lines
}

/// A plan as lines of plain text, or why there is none.
pub fn plan_lines(plan: &StatementPlan) -> Vec<String> {
    let refused = plan.refused.as_ref().map(|why| format!("not explained: {}", super::one_line(why)));
    let root = plan.root().filter(|_| refused.is_none());
    let lines = root.iter().flat_map(tree).map(|line| line.step.replace(INDENT, "  ") + &line.estimates);
    refused.into_iter().chain(lines).collect()
}

/// It stays where a page folds blanks.
const INDENT: &str = "\u{a0}\u{a0}\u{a0}\u{a0}";

fn draw(node: &PlanNode, depth: usize, lines: &mut Vec<Line>) {
    let rows = node.estimated_rows.map(|rows| format!("about {} rows", integer(rows.max(0.0).round() as u64)));
    let cost = node.estimated_cost.map(|cost| format!("cost {}", number(cost)));
    let estimates: Vec<String> = rows.into_iter().chain(cost).collect();
    let estimates = if estimates.is_empty() { String::new() } else { format!(", {}", estimates.join(", ")) };
    lines.push(Line { step: format!("{}{}", INDENT.repeat(depth), whole_step(node)), estimates });
    node.children.iter().for_each(|child| draw(child, depth + 1, lines));
}

pub const MEANING: &str = "`A` runs a statement that is faster or slower by another plan than `B`";

/// `` `B` runs `select …` differently: range on k_1 → full scan of sbtest1; rows read 5.0x ``
pub fn cause(cause: &PlanCause) -> String {
    let name = shortened(cause.text.unwrap_or(cause.statement), STATEMENT_MAX);
    let first = cause.agree.first().map(|cost| {
        let ratio = cost.ratio.map_or(String::new(), |ratio| format!(" ({}x)", ratio_text(1.0 / ratio.value)));
        format!("; {}{ratio}", moved(cost))
    });
    format!(
        "`{}` runs \"{}\" otherwise than `{}`: {}{}{}",
        cause.candidate,
        name.replace('`', ""),
        cause.baseline,
        change(&cause.change),
        first.unwrap_or_default(),
        cause.test.as_ref().map_or(String::new(), tested)
    )
}

/// Other statements of which the same is true.
pub fn likewise(others: &[&PlanCause]) -> String {
    let name = |cause: &&PlanCause| shortened(cause.text.unwrap_or(cause.statement), STATEMENT_MAX).replace('`', "");
    let names: Vec<String> = others.iter().take(LIKEWISE_MAX).map(name).collect();
    let more = others.len().saturating_sub(LIKEWISE_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if names.is_empty() { String::new() } else { format!("; likewise {}{more}", names.join(", ")) }
}

/// `` ; with enable_hashjoin = off on both the gap went from -70 % to -2.0 % ``
fn tested(test: &PlanTest) -> String {
    let off: Vec<String> = test.switched_off.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let setting = match off.is_empty() {
        true => setting(ContrastKind::OtherPlan).to_owned(),
        false => format!("{} on both", off.join(", ")),
    };
    causes::tested_with(&setting, &test.outcome)
}

/// `rows read per transaction: 100 → 500`.
fn moved(cost: &Cost) -> String {
    let (title, unit) = costs::measured(&cost.metric);
    format!("{title}: {}{unit} → {}{unit}", number(cost.baseline), number(cost.candidate))
}

/// What else is known, and what is not.
pub fn evidence(cause: &PlanCause) -> Vec<String> {
    let unproven = match (cause.grade, &cause.test) {
        (Grade::Confirmed, _) => None,
        (Grade::Weak, _) => {
            Some("no counter of the servers is shown to agree (rows, pages), or the host was disturbed")
        }
        (_, None) => Some("the other plan was not forced, so this is not confirmed"),
        (_, Some(_)) => Some("the test does not confirm it"),
    };
    cause.agree.iter().map(|cost| moved(cost)).chain(unproven.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(operator: &str, table: &str, index: Option<&str>) -> PlanNode {
        PlanNode { table: Some(table.into()), index: index.map(str::to_owned), ..PlanNode::of(operator) }
    }

    fn check(changed: Changed, one: &[&PlanNode], other: &[&PlanNode], expected: &str) {
        let [baseline, candidate] = [one, other].map(|nodes| nodes.iter().map(|node| (*node).clone()).collect());
        assert_eq!(change(&PlanChange { changed, baseline, candidate }), expected);
    }

    #[test]
    fn one_difference_is_one_sentence() {
        let (range, scan) = (read("range", "sbtest1", Some("k_1")), read("full scan", "sbtest1", None));
        check(Changed::Access, &[&range], &[&scan], "range on k_1 → full scan of sbtest1");
        check(Changed::Access, &[], &[&scan], "nothing → full scan of sbtest1");
        let only = PlanNode { index_only: true, ..range.clone() };
        check(Changed::Access, &[&range], &[&only], "sbtest1: no index only → index only");
        let hashed = PlanNode { join: Some("hash join".into()), ..scan.clone() };
        check(Changed::Access, &[&scan], &[&hashed], "sbtest1: nested loop → hash join");
        let sorted = PlanNode { sort: true, temporary_table: true, ..PlanNode::of("query") };
        let kept = PlanNode { temporary_table: true, ..PlanNode::of("query") };
        check(Changed::Step, &[&sorted], &[&kept], "sort → no sort");
        let other = PlanNode { table: Some("orders".into()), ..range.clone() };
        check(Changed::Access, &[&range], &[&other], "range on k_1 of sbtest1 → range on k_1 of orders");
        let orders = read("ref", "orders", None);
        check(
            Changed::JoinOrder,
            &[&range, &orders],
            &[&orders, &range],
            "tables in the order sbtest1, orders → orders, sbtest1",
        );
        let parallel = PlanNode { parallel: true, ..read("Seq Scan", "t", None) };
        let index = read("Index Scan", "t", Some("k"));
        check(Changed::Access, &[&index], &[&parallel], "Index Scan on k → parallel Seq Scan of t");
    }
}
