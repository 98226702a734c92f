//! Why a verdict came out so: causes in a line each, and what a transaction cost on either side.
//!
//! Pure formatting, shared by text and HTML.

use analysis::{Cost, Duel};
use record::format::point_text;

use super::sentences::{self, Said, costs};
use super::{Evidence, wording};

pub const COSTS_TITLE: &str = "what a transaction cost";
pub const COSTS_NOTE: &str = "Ratio above 1: the candidate needs less; where one side needed none, the difference stands in its place \
                              (candidate minus baseline, t interval).";

/// `why (supported): …`
pub fn causes(evidence: &Evidence, duel: &Duel) -> Vec<String> {
    let cause = |said: Said| format!("why ({}): {}", said.grade, said.text);
    duel.diagnosis.causes.iter().map(|one| cause(sentences::causes::said(evidence, one))).collect()
}

/// Point (empty for the whole sweep), title, baseline, candidate, ratio or difference, interval, n.
pub fn cost_row(cost: &Cost) -> [String; 7] {
    let (effect, interval) = match cost.ratio {
        Some(ratio) => {
            let digits = if ratio.bounds.is_some_and(|(low, high)| high - low < 0.03) { 3 } else { 2 };
            let kind = if ratio.basis == stats::Basis::Plain { " t" } else { "" };
            let bound = |value| wording::bound(value, digits);
            let bounds = ratio.bounds.map(|(low, high)| format!("{}..{}{kind}", bound(low), bound(high)));
            (format!("{:.digits$}x", ratio.value), bounds)
        }
        None => {
            let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, wording::number(value));
            let bounds = cost.difference_bounds.map(|(low, high)| format!("{}..{} t", signed(low), signed(high)));
            (signed(cost.difference), bounds)
        }
    };
    [
        cost.point.as_ref().map(point_text).unwrap_or_default(),
        title(cost.metric).to_owned(),
        wording::number(cost.baseline),
        wording::number(cost.candidate),
        effect,
        interval.unwrap_or_else(|| "none".to_owned()),
        cost.blocks.to_string(),
    ]
}

/// What fits beside the rest: the whole sweep, or the only point; costs that neither side has are left out.
pub fn main_costs(duel: &Duel) -> Vec<&Cost> {
    let costs = &duel.diagnosis.costs;
    let first = costs.first().map(|cost| &cost.point);
    let is_any = |cost: &&Cost| cost.baseline != 0.0 || cost.candidate != 0.0;
    costs.iter().filter(|cost| Some(&cost.point) == first).filter(is_any).collect()
}

/// What was asked for and found at neither side.
pub fn none_at_all(duel: &Duel) -> Option<String> {
    let costs = &duel.diagnosis.costs;
    let is_none = |cost: &&Cost| cost.baseline == 0.0 && cost.candidate == 0.0;
    let first = costs.first().map(|cost| &cost.point);
    let titles = costs.iter().filter(|cost| Some(&cost.point) == first).filter(is_none).map(|cost| title(cost.metric));
    listed("None on either side", titles.collect())
}

pub fn not_visible(duel: &Duel) -> Option<String> {
    let titles = duel.diagnosis.not_visible.iter().map(|metric| title(metric));
    listed("Not visible here on both sides", titles.collect())
}

fn title(metric: &str) -> &str {
    costs::title(metric).unwrap_or(metric)
}

fn listed(what: &str, titles: Vec<&str>) -> Option<String> {
    (!titles.is_empty()).then(|| format!("{what}: {}", titles.join(", ")))
}
