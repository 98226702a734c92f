//! The cost of a transaction or a pass on either side: what differs first, the rest folded.

use analysis::{Cost, HeadToHead, WorkloadConclusions};
use record::format::point_text;

use super::levels::interval_title;
use super::{Topic, by_workload, stopped};
use crate::Evidence;
use crate::document::{Block, Column, Section, Table};
use crate::sentences::costs;
use crate::wording;

const ABOUT: &str = "Ratio above 1: the candidate needs less. Where one side needed none the difference stands in its place (candidate \
                     minus baseline, t interval).";

pub struct Costs;

impl Topic for Costs {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let is_of_passes = evidence.plan.workloads.iter().all(|workload| workload.one_pass);
        let title = if is_of_passes { "Cost of a pass" } else { "Cost of a transaction" };
        Section::of("costs", title, by_workload(evidence, of_workload))
    }
}

fn of_workload(workload: &WorkloadConclusions) -> Vec<Block> {
    let is_rung = |duel: &&HeadToHead| workload.is_rung(&duel.candidate);
    let (rungs, others): (Vec<&HeadToHead>, Vec<&HeadToHead>) = workload.duels.iter().partition(is_rung);
    let several = workload.duels.len() > 1;
    let body = |duel: &HeadToHead| {
        let body = of_duel(duel);
        let title = format!("`{}` against `{}`", duel.candidate, duel.baseline);
        let title = (several && !body.is_empty()).then(|| Block::heading(title));
        title.into_iter().chain(body).collect::<Vec<_>>()
    };
    let on_page = Block::on_page(rungs.into_iter().flat_map(body).collect());
    others.into_iter().flat_map(body).chain(on_page).collect()
}

fn of_duel(duel: &HeadToHead) -> Vec<Block> {
    let main = main_costs(duel);
    if main.is_empty() {
        return Vec::new();
    }
    let (differing, same): (Vec<&Cost>, Vec<&Cost>) = main.into_iter().partition(|cost| differs(cost));
    let mut body: Vec<Block> = Block::table(table(duel, &differing, false)).into_iter().collect();
    if differing.is_empty() {
        body.push(Block::para("No cost is shown to differ."));
    }
    body.extend(
        Block::table(table(duel, &same, false))
            .map(|table| Block::fold("Costs that are not shown to differ", vec![table])),
    );
    body.push(Block::note(ABOUT));
    let others = Block::list(stopped(none_at_all(duel).into_iter().chain(not_visible(duel)).collect()));
    body.extend(others.map(|list| Block::fold("Costs without a figure", vec![list])));
    let of_levels: Vec<&Cost> = duel.diagnosis.costs.iter().filter(|cost| cost.point.is_some()).collect();
    let levels = Block::table(table(duel, &of_levels, true)).filter(|_| duel.points.len() > 1);
    body.extend(levels.map(|table| Block::OnPage(vec![Block::fold("At each level", vec![table])])));
    body
}

/// The interval leaves out sameness.
fn differs(cost: &Cost) -> bool {
    let (bounds, same) = match cost.ratio {
        Some(ratio) => (ratio.bounds, 1.0),
        None => (cost.difference_bounds, 0.0),
    };
    bounds.is_some_and(|(low, high)| !(low..=high).contains(&same))
}

fn table(duel: &HeadToHead, shown: &[&Cost], with_level: bool) -> Table {
    let work = shown.first().map_or("transaction", |cost| costs::work(&cost.metric));
    let columns = [
        Column::name("level", 0),
        Column::name(format!("per {work}"), 0),
        Column::number(duel.baseline.as_str(), 1),
        Column::number(duel.candidate.as_str(), 1),
        Column::number("ratio", 0),
        Column::number(interval_title(&duel.overall), 0),
        Column::number("pairs", 2),
    ];
    let first = usize::from(!with_level);
    let rows = shown.iter().map(|cost| cost_row(cost).into_iter().skip(first));
    Table::new(columns[first..].to_vec()).with_rows(rows)
}

/// Point (empty for the whole sweep), title, baseline, candidate, ratio or difference, interval, n.
fn cost_row(cost: &Cost) -> [String; 7] {
    let (effect, interval) = match cost.ratio {
        Some(ratio) => {
            let digits = if ratio.value < 2.0 { 3 } else { 2 };
            let kind = if ratio.basis == stats::Basis::Plain { " t" } else { "" };
            let bound = |value| wording::bound(value, digits);
            let bounds = ratio.bounds.map(|(low, high)| format!("{}–{}{kind}", bound(low), bound(high)));
            (format!("{:.digits$}", ratio.value), bounds)
        }
        None => {
            let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, wording::number(value));
            let bounds = cost.difference_bounds.map(|(low, high)| format!("{} to {} t", signed(low), signed(high)));
            (signed(cost.difference), bounds)
        }
    };
    [
        cost.point.as_ref().map(point_text).unwrap_or_default(),
        title(&cost.metric).to_owned(),
        wording::number(cost.baseline),
        wording::number(cost.candidate),
        effect,
        interval.unwrap_or_else(|| "none".to_owned()),
        cost.blocks.to_string(),
    ]
}

/// What fits beside the rest: the whole sweep, or the only point; costs that neither side has are left out.
fn main_costs(duel: &HeadToHead) -> Vec<&Cost> {
    let costs = &duel.diagnosis.costs;
    let first = costs.first().map(|cost| &cost.point);
    let is_any = |cost: &&Cost| cost.baseline != 0.0 || cost.candidate != 0.0;
    costs.iter().filter(|cost| Some(&cost.point) == first).filter(is_any).collect()
}

/// What was asked for and found at neither side.
fn none_at_all(duel: &HeadToHead) -> Option<String> {
    let costs = &duel.diagnosis.costs;
    let is_none = |cost: &&Cost| cost.baseline == 0.0 && cost.candidate == 0.0;
    let first = costs.first().map(|cost| &cost.point);
    let titles = costs.iter().filter(|cost| Some(&cost.point) == first).filter(is_none).map(|cost| title(&cost.metric));
    listed("None on either side", titles.collect())
}

fn not_visible(duel: &HeadToHead) -> Option<String> {
    listed("Not visible here on both sides", duel.diagnosis.not_visible.iter().map(|metric| title(metric)).collect())
}

fn title(metric: &str) -> &str {
    costs::title(metric).unwrap_or(metric)
}

fn listed(what: &str, titles: Vec<&str>) -> Option<String> {
    (!titles.is_empty()).then(|| format!("{what}: {}", titles.join(", ")))
}
