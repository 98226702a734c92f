//! How the servers run each statement: what differs first, and both plans side by side.
//!
//! Names and plans come from servers and are text here; renderers escape them.

use analysis::differences::{Difference, PlanPair, Plans, drifts};
use analysis::plan_causes::{PlanCause, is_of, is_plan_of, is_run_alike, part_of, plan_causes};
use analysis::plan_tests::Tests;
use analysis::{HeadToHead, Part, WorkloadConclusions};
use record::format::StatementPlan;

use super::Topic;
use super::settings_and_plans::{distinct, plans_counted};
use crate::document::{Block, Cell, Column, RowKind, Section, Table, Text};
use crate::sentences::plans::{Line, change, tree};
use crate::{Evidence, wording};

const ABOUT: &str = "Asked of the servers once, when the interval of a trial was over and before they stopped (EXPLAIN, which runs no statement). \
     Compared are steps, tables, indexes, order and methods of joining, sorts and temporary tables; rows and costs are estimates of \
     the servers, and are not compared.";
const NO_PLAN: &str =
    "servers do not explain such a statement alone, or its values come from the answer to another one";
/// Statements without a plan that are named.
const NAMED_MAX: usize = 12;
/// Letters of a statement in a row.
const STATEMENT_MAX: usize = 90;
/// Of all answers of a pair of contenders.
const EXPLAINED_BYTES_MAX: usize = 96 << 10;
/// Pairs of trees that are drawn.
const TREES_MAX: usize = 40;

pub struct PlansOfStatements;

impl Topic for PlansOfStatements {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let all = drifts(&evidence.plan, &evidence.run);
        let mut body: Vec<Block> = all.iter().flat_map(|drift| of_pair(evidence, drift)).collect();
        if !body.is_empty() {
            let about = Block::note(ABOUT);
            let is_for_the_page = body.iter().all(|block| matches!(block, Block::OnPage(_)));
            body.insert(0, if is_for_the_page { Block::OnPage(vec![about]) } else { about });
        }
        Section::of("plans", "Plans of statements", body)
    }
}

/// A candidate beside the baseline. Of the rungs of a ladder, for the page.
fn of_pair(evidence: &Evidence, drift: &Difference) -> Vec<Block> {
    let Some(counted) = plans_counted(drift) else { return Vec::new() };
    let mut body = vec![
        Block::heading(format!("`{}` against `{}`", drift.candidate, drift.baseline)),
        Block::para(format!("{}.", super::capitalised(&counted))),
    ];
    for plans in &drift.plans {
        let duel = duel(evidence, plans.title, drift.candidate);
        if drift.plans.len() > 1 {
            body.push(Block::heading(plans.title));
        }
        let (table, rest) = tables(drift, plans, duel);
        body.extend(Block::table(table));
        let title = format!("Statements that are run alike, or not known ({})", rest.rows.len());
        body.extend(Block::table(rest).map(|table| Block::OnPage(vec![Block::fold(title, vec![table])])));
        body.extend(duel.and_then(|duel| without_plan(plans, duel)).map(Block::para));
        let sides = distinct(plans).filter(|pair| pair.differs || !drift.same_family).take(TREES_MAX);
        let sides = sides.flat_map(|pair| side_by_side(drift, pair, duel));
        body.extend(Block::on_page(sides.collect()));
        body.extend(Block::on_page(as_explained(drift, plans)));
    }
    let is_rung = evidence.conclusions.workloads.iter().any(|workload| workload.is_rung(drift.candidate));
    if is_rung { Block::on_page(body).into_iter().collect() } else { body }
}

fn duel<'a>(evidence: &'a Evidence, title: &str, candidate: &str) -> Option<&'a HeadToHead> {
    let workload = evidence.conclusions.workloads.iter().find(|one| is_of(title, &one.workload))?;
    workload.duels.iter().find(|duel| duel.candidate == candidate)
}

/// Those that are run differently, and all others.
fn tables(drift: &Difference, plans: &Plans, duel: Option<&HeadToHead>) -> (Table, Table) {
    let columns = || {
        [
            Column::name("statement", 0),
            Column::name("plan", 0),
            Column::prose("first difference", 0),
            Column::name("verdict", 1),
        ]
    };
    let (mut different, mut others) = (Table::new(columns()), Table::new(columns()));
    for pair in distinct(plans) {
        let verdict = duel.and_then(|duel| part_of(duel, pair)).map(|part| &part.comparison);
        let verdict: Cell = match verdict {
            Some(comparison) => Text::verdict(comparison.verdict, wording::verdict(comparison)).into(),
            None => "".into(),
        };
        let first = match &pair.change {
            Some(found) => change(found),
            None => unknown(drift, pair).unwrap_or_default(),
        };
        let (table, kind) = match pair.differs {
            true => (&mut different, RowKind::Different),
            false => (&mut others, RowKind::Plain),
        };
        table.push(kind, [title(pair, duel).into(), mark_of(drift, pair).into(), first.into(), verdict]);
    }
    (different.without_empty_columns(), others.without_empty_columns())
}

/// Statements with figures that no server was asked about; of a log only those that have a verdict.
fn without_plan(plans: &Plans, duel: &HeadToHead) -> Option<String> {
    let parts = duel.parts.as_ref()?;
    let has_plan = |part: &Part| plans.statements.iter().any(|pair| is_plan_of(pair.statement, &part.name));
    let asked = parts.operations.iter().filter(|part| part.text.is_none() || !part.has_few_calls());
    let names: Vec<&str> = asked.filter(|part| !has_plan(part)).map(|part| part.name.as_str()).collect();
    let more = names.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named = names.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| format!("Without a plan: {named}{more}: {NO_PLAN}."))
}

/// The name of a statement; of one of a log its text, literals taken out.
fn title(pair: &PlanPair, duel: Option<&HeadToHead>) -> String {
    let text = duel.and_then(|duel| part_of(duel, pair)?.text.as_deref());
    let which = pair.statement.split_once(" (").map_or(String::new(), |(_, which)| format!(" ({which}"));
    match text {
        Some(text) => wording::shortened(text, STATEMENT_MAX) + &which,
        None => pair.statement.to_owned(),
    }
}

fn mark_of(drift: &Difference, pair: &PlanPair) -> &'static str {
    match pair.is_known() && drift.same_family {
        true => mark(!pair.differs),
        false => "",
    }
}

fn mark(is_alike: bool) -> &'static str {
    if is_alike { "=" } else { "≠" }
}

/// Whose plan is not known, and why.
fn unknown(drift: &Difference, pair: &PlanPair) -> Option<String> {
    let side = |name: &str, plan: Option<&StatementPlan>| match plan {
        None => Some(format!("`{name}` was not asked")),
        Some(StatementPlan { refused: Some(why), .. }) => Some(format!("`{name}`: {why}")),
        Some(_) => None,
    };
    let sides = [side(drift.baseline, pair.baseline), side(drift.candidate, pair.candidate)];
    let sides: Vec<String> = sides.into_iter().flatten().map(|text| text.replace('`', "")).collect();
    (!sides.is_empty()).then(|| sides.join("; "))
}

fn side_by_side(drift: &Difference, pair: &PlanPair, duel: Option<&HeadToHead>) -> Option<Block> {
    let lines = |plan: Option<&StatementPlan>| plan.and_then(StatementPlan::root).map(|root| tree(&root));
    let sides = [lines(pair.baseline)?, lines(pair.candidate)?];
    let mut table = Table::new([Column::prose(drift.baseline, 0), Column::prose(drift.candidate, 0)]);
    for at in 0..sides[0].len().max(sides[1].len()) {
        let step = |side: &'_ [Line]| side.get(at).map(|line| line.step.clone());
        let line = |side: &[Line]| {
            let text = side.get(at).map(|line| Text::plain(line.step.as_str()).and_quiet(line.estimates.as_str()));
            text.map_or_else(|| Cell::from(""), Cell::from)
        };
        let differs = step(&sides[0]) != step(&sides[1]);
        table.push(if differs { RowKind::Different } else { RowKind::Plain }, [line(&sides[0]), line(&sides[1])]);
    }
    let title = Text::plain(format!("Both plans of {}", title(pair, duel)));
    Some(Block::fold(title, vec![Block::Table(table)]))
}

/// The answers themselves, where they are kept.
fn as_explained(drift: &Difference, plans: &Plans) -> Vec<Block> {
    let text = |pair: &PlanPair| {
        let sides = [(drift.baseline, pair.baseline), (drift.candidate, pair.candidate)];
        let sql = pair.baseline.or(pair.candidate).map(|plan| plan.sql.clone());
        let answer = |(name, plan): (&str, Option<&StatementPlan>)| {
            let lines = &plan?.lines;
            (!lines.is_empty()).then(|| format!("{name}:\n{}", lines.join("\n")))
        };
        let answers: Vec<String> = sides.into_iter().filter_map(answer).collect();
        let head = || format!("{}: {}\n", pair.statement, sql.unwrap_or_default());
        (!answers.is_empty()).then(|| head() + &answers.join("\n"))
    };
    // Those that differ first; the run has all of them.
    let (differing, alike): (Vec<&PlanPair>, Vec<&PlanPair>) = distinct(plans).partition(|pair| pair.differs);
    let (mut shown, mut left) = (String::new(), 0);
    for text in differing.into_iter().chain(alike).filter_map(text) {
        match shown.len() + text.len() > EXPLAINED_BYTES_MAX {
            true => left += 1,
            false => shown += &format!("{text}\n\n"),
        }
    }
    let more = format!("and {} more, in run.json", wording::count(left, "statement"));
    let body = std::iter::once(Block::Code(shown.trim_end().to_owned()));
    let body: Vec<Block> = body.chain((left > 0).then(|| Block::para(more))).collect();
    let is_empty = shown.is_empty() && left == 0;
    (!is_empty).then(|| Block::fold("As the servers explain them", body)).into_iter().collect()
}

/// Marks beside the figures of statements.
pub struct Marks<'a> {
    differences: Vec<Difference<'a>>,
}

impl<'a> Marks<'a> {
    pub fn of(evidence: &'a Evidence) -> Marks<'a> {
        Marks { differences: drifts(&evidence.plan, &evidence.run) }
    }

    /// `=` or `≠`; nothing where the plans of a statement are not known.
    pub fn mark(&self, workload: &str, candidate: &str, statement: &str) -> &'static str {
        is_run_alike(&self.differences, workload, candidate, statement).map_or("", mark)
    }
}

/// What plans may explain of a pair, with what their tests have shown.
pub fn causes_of<'a>(
    evidence: &'a Evidence,
    workload: &'a WorkloadConclusions,
    duel: &'a HeadToHead,
) -> Vec<PlanCause<'a>> {
    let Evidence { plan, run, trials, .. } = evidence;
    let mut found = plan_causes(workload, duel, &drifts(plan, run));
    Tests { plan, run, measured: trials.measured(), probes: trials.probes() }.put(&mut found);
    found
}
