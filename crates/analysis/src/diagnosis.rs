//! Why one is faster: what each side spends on a transaction, and the causes that the figures speak for.
//!
//! Costs are compared like throughput, block by block. Causes are rows of a table (`rules.rs`; method,
//! section 5) that either hold or do not; here stands only how a row is read. A row that asks for something
//! that cannot be seen does not hold, and what cannot be seen is named once, beside the costs.

pub mod contrast;
mod costs;
mod estimate;
mod rules;

use std::collections::BTreeMap;

use stats::{Basis, Judge};

use record::format::{Point, point_text};
use record::rule::point_rule;

use super::Finding;
use super::comparison::Scope;
use contrast::Due;
pub use costs::priced;
use costs::{CPU, CPU_USE, DISTURBED, LATENCY};
use estimate::{Bounded, Estimate, Side};
use rules::{FewClients, Move, RULES, Rule, Sign, Who};

/// What accounts for so much of a gap explains it.
const EXPLAINS: f64 = 0.5;
/// An interval of throughput that reaches further shows no sameness.
const SAME_WITHIN: f64 = 0.10;
/// More disturbed trials than this weaken every cause.
const DISTURBED_MAX: f64 = 0.25;
const CLIENTS: &str = "clients";

/// Of a candidate against the baseline.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnosis {
    /// The whole sweep first, where there is one.
    pub costs: Vec<Cost>,
    /// Titles of costs that at least one side does not show.
    pub not_visible: Vec<&'static str>,
    /// Kinds are those of the rules.
    pub causes: Vec<Finding>,
    /// What can put these causes to the test; each once.
    pub contrasts: Vec<Due>,
}

/// A cost of one transaction on both sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub metric: &'static str,
    pub title: &'static str,
    /// Absent for the whole sweep.
    pub point: Option<Point>,
    pub baseline: f64,
    pub candidate: f64,
    /// Baseline over candidate, so that above 1 the candidate is better; absent where either was ever nothing.
    pub ratio: Option<Ratio>,
    /// Candidate minus baseline, with its t interval.
    pub difference: f64,
    pub difference_bounds: Option<(f64, f64)>,
    pub blocks: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub value: f64,
    pub bounds: Option<(f64, f64)>,
    pub basis: Basis,
}

/// The trials of the scope are to be [`priced`]. A workload of one pass has no transactions to price.
pub fn diagnose(scope: &Scope, metric: &str, points: &[Point]) -> Diagnosis {
    let active = scope.active(points);
    if scope.is_pass() || active.is_empty() {
        return Diagnosis::default();
    }
    let judge = Judge::new(point_rule(scope.plan, points.len()));
    let places: Vec<Place> = active.iter().filter_map(|point| Place::of(scope, &judge, metric, point)).collect();
    let sweep = || {
        let seen = |kind: &costs::Kind| Some((kind.metric, Estimate::of(scope, &judge, kind.metric, &active)?));
        costs_of(None, &costs::KINDS.iter().filter_map(seen).collect())
    };
    let mut costs = if active.len() > 1 { sweep() } else { Vec::new() };
    costs.extend(places.iter().flat_map(|place| costs_of(Some(place.point), &place.seen)));
    let is_hidden = |kind: &&costs::Kind| !costs.iter().any(|cost| cost.metric == kind.metric);
    let hidden: Vec<&'static str> = costs::KINDS.iter().filter(is_hidden).map(|kind| kind.title).collect();
    let held = places.iter().flat_map(|place| place.held(&places)).collect();
    let mut causes = causes(scope, metric, points, held);
    tell_apart(&mut causes);
    Diagnosis {
        not_visible: if costs.is_empty() { vec![] } else { hidden },
        costs,
        contrasts: contrasts(&causes),
        causes: causes.into_iter().map(|cause| cause.finding).collect(),
    }
}

/// By metric.
type Seen = BTreeMap<&'static str, Estimate>;

fn costs_of(point: Option<&Point>, seen: &Seen) -> Vec<Cost> {
    let pair = |bounds: stats::Interval| (bounds.low, bounds.high);
    let cost = |kind: &costs::Kind| {
        let seen = seen.get(kind.metric)?;
        let ratio = seen.log_ratio(Side::Baseline).map(|ratio| Ratio {
            value: ratio.value.exp(),
            bounds: ratio.bounds.map(|bounds| pair(bounds.map(f64::exp))),
            basis: seen.basis,
        });
        Some(Cost {
            metric: kind.metric,
            title: kind.title,
            point: point.cloned(),
            baseline: seen.baseline,
            candidate: seen.candidate,
            ratio,
            difference: seen.difference.value,
            difference_bounds: seen.difference.bounds.map(pair),
            blocks: seen.blocks,
        })
    };
    costs::KINDS.iter().filter_map(cost).collect()
}

/// One point of a workload, as far as all rules share what they ask of it.
struct Place<'a> {
    scope: &'a Scope<'a>,
    metric: &'a str,
    point: &'a Point,
    tps: Estimate,
    seen: Seen,
}

/// A rule that holds, and of whom it speaks.
struct Held<'a> {
    rule: &'static Rule,
    side: Side,
    point: &'a Point,
    is_weak: bool,
    /// How large the gap in throughput is: what is said first is said of the largest.
    gap: f64,
    /// What was seen, one quantity each; the moves behind the signs.
    signs: Vec<String>,
    moves: Vec<String>,
}

impl<'a> Place<'a> {
    fn of(scope: &'a Scope, judge: &'a Judge, metric: &'a str, point: &'a Point) -> Option<Place<'a>> {
        let estimate = |metric: &str| Estimate::of(scope, judge, metric, std::slice::from_ref(point));
        let tps = estimate(metric)?;
        let seen = costs::all().filter_map(|metric| Some((metric, estimate(metric)?))).collect();
        Some(Place { scope, metric, point, tps, seen })
    }

    /// The rows that hold here, in the order of the table.
    fn held(&'a self, places: &[Place]) -> Vec<Held<'a>> {
        let mut held: Vec<Held> = Vec::new();
        for rule in RULES {
            let sides: &[Side] =
                if rule.who == Who::Candidate { &[Side::Candidate] } else { &[Side::Candidate, Side::Baseline] };
            let is_said = held.iter().any(|one| one.rule.who == Who::Run || rule.unless.contains(&one.rule.kind));
            if !is_said {
                let found = sides.iter().filter_map(|side| self.holds(rule, *side, places));
                // What is true of the run is said once.
                held.extend(found.take(if rule.who == Who::Run { 1 } else { sides.len() }));
            }
        }
        held
    }

    fn holds(&self, rule: &'static Rule, side: Side, places: &[Place]) -> Option<Held<'_>> {
        let as_asked =
            |asked: &[Move], seen: Option<Move>| asked.is_empty() || seen.is_some_and(|seen| asked.contains(&seen));
        let few_clients = self.few_clients(rule.few_clients, side, places)?;
        if !as_asked(rule.tps, self.tps_moved(side))
            || !as_asked(rule.cpu_use, self.cpu_moved(CPU_USE, side))
            || !as_asked(rule.cpu_per_tx, self.cpu_moved(CPU, side))
        {
            return None;
        }
        let see = |sign: &Sign| {
            self.sign(*sign, side).map(|(seen, aside)| match rule.who {
                Who::Run => self.told_of_both(sign.what(), seen),
                _ => told(sign.what(), seen, side) + &aside,
            })
        };
        let all: Vec<String> = rule.all.iter().map(see).collect::<Option<_>>()?;
        let any: Vec<String> = rule.any.iter().filter_map(see).collect();
        if any.is_empty() && !rule.any.is_empty() {
            return None;
        }
        let is_of_rule = self.tps.basis != Basis::Plain || rule.who == Who::Run;
        let is_disturbed = rule.who != Who::Run && self.is_disturbed();
        Some(Held {
            rule,
            side,
            point: self.point,
            is_weak: rule.is_weak || !is_of_rule || is_disturbed || few_clients == Known::No,
            gap: self.tps.log_ratio.map_or(0.0, |ratio| ratio.value.abs()),
            signs: all.into_iter().chain(any).collect(),
            moves: if rule.who == Who::Run { vec![] } else { self.moves(side) },
        })
    }

    fn tps_moved(&self, side: Side) -> Option<Move> {
        let (ratio, margin) = (self.tps.log_ratio(side)?, self.scope.plan.method.margin.ln_1p());
        let bounds = ratio.bounds?;
        let is_narrow = -bounds.low <= SAME_WITHIN.ln_1p() && bounds.high <= SAME_WITHIN.ln_1p();
        match moved(ratio, margin)? {
            Move::Same => is_narrow.then_some(Move::Same),
            other => Some(other),
        }
    }

    /// What it accounts for of the gap in throughput decides whether CPU has moved.
    fn cpu_moved(&self, cpu: &str, side: Side) -> Option<Move> {
        let gap = self.tps.log_ratio?.value.abs();
        moved(self.seen.get(cpu)?.log_ratio(side)?, (EXPLAINS * gap).max(self.scope.plan.method.margin.ln_1p()))
    }

    fn is_disturbed(&self) -> bool {
        self.seen.get(DISTURBED).is_some_and(|seen| seen.baseline.max(seen.candidate) > DISTURBED_MAX)
    }

    /// What is seen where the sign holds, and what is to be said behind it.
    fn sign(&self, sign: Sign, side: Side) -> Option<(&Estimate, String)> {
        let seen = self.seen.get(sign.what())?;
        let is_more = |by: f64| seen.difference(side).is_above(by);
        let holds = match sign {
            Sign::More { by, .. } => is_more(by),
            Sign::Less { by, .. } => seen.difference(other(side)).is_above(by),
            Sign::Twice { by, .. } => is_more(by) && seen.is_twice(side),
            Sign::NotMore { by, .. } => !is_more(by),
            Sign::Above { level, .. } => seen.values(side).0 > level,
            Sign::HalfOfTheGap { .. } => {
                let gap_ms = self.seen.get(LATENCY)?.difference(side).value;
                let aside = format!(", of {} ms more response time", figure(gap_ms));
                return (gap_ms > 0.0 && is_more(EXPLAINS * gap_ms)).then_some((seen, aside));
            }
        };
        holds.then(|| (seen, String::new()))
    }

    /// `share of … 0.37 beside `5.5`, 0.75 beside `5.6` (means of 8 blocks)`.
    fn told_of_both(&self, what: &str, seen: &Estimate) -> String {
        format!(
            "{} {} beside `{}`, {} beside `{}` (means of {} blocks)",
            costs::title(what),
            figure(seen.baseline),
            self.scope.plan.baseline,
            figure(seen.candidate),
            self.scope.candidate,
            seen.blocks
        )
    }

    /// None where the point with the fewest clients contradicts; not known where it leaves that open.
    fn few_clients(&self, asked: FewClients, side: Side, places: &[Place]) -> Option<Known> {
        if asked == FewClients::NoMatter {
            return Some(Known::Yes);
        }
        let others_alike = |place: &&Place| {
            let other_keys = |point: &'_ Point| {
                point
                    .iter()
                    .filter(|(key, _)| *key != CLIENTS)
                    .map(|(key, value)| (key.clone(), *value))
                    .collect::<Vec<_>>()
            };
            other_keys(place.point) == other_keys(self.point)
        };
        let fewest = places.iter().filter(others_alike).filter(|place| place.point.contains_key(CLIENTS));
        let Some(fewest) = fewest.min_by_key(|place| place.point[CLIENTS]) else { return Some(Known::No) };
        // What the only point would do with fewer clients nobody has seen, unless there are no fewer.
        let is_known = fewest.point[CLIENTS] == 1 || fewest.point != self.point;
        match fewest.cpu_moved(CPU, side).filter(|_| is_known) {
            None => Some(Known::No),
            Some(moved) => ((moved == Move::Up) == (asked == FewClients::UpToo)).then_some(Known::Yes),
        }
    }

    fn moves(&self, side: Side) -> Vec<String> {
        let named = [(self.metric, Some(&self.tps)), ("share of the cores used", self.seen.get(CPU_USE))];
        let cpu = self.seen.get(CPU).map(|seen| told(CPU, seen, side));
        named.into_iter().filter_map(|(name, seen)| Some(said(name, seen?, side))).chain(cpu).collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

fn other(side: Side) -> Side {
    if side == Side::Candidate { Side::Baseline } else { Side::Candidate }
}

/// None where a large estimate has an interval that leaves everything open.
fn moved(ratio: Bounded, threshold: f64) -> Option<Move> {
    let bounds = ratio.bounds?;
    match ratio.value {
        small if small.abs() <= threshold => Some(Move::Same),
        up if up > 0.0 => (bounds.low > 0.0).then_some(Move::Up),
        _ => (bounds.high < 0.0).then_some(Move::Down),
    }
}

/// What was found, and what can put it to the test.
struct Cause {
    finding: Finding,
    contrast: Option<Due>,
}

fn contrasts(causes: &[Cause]) -> Vec<Due> {
    let mut found: Vec<Due> = Vec::new();
    for due in causes.iter().filter_map(|cause| cause.contrast.as_ref()) {
        if !found.contains(due) {
            found.push(due.clone());
        }
    }
    found
}

/// What took several causes away at once does not tell which of them it was.
fn tell_apart(causes: &mut [Cause]) {
    let confirmed: Vec<(Option<Due>, &'static str)> = causes
        .iter()
        .filter(|cause| cause.finding.grade == "confirmed")
        .map(|cause| (cause.contrast.clone(), cause.finding.kind))
        .collect();
    for cause in causes.iter_mut().filter(|cause| cause.finding.grade == "confirmed") {
        let same = confirmed.iter().filter(|(due, kind)| *due == cause.contrast && *kind != cause.finding.kind);
        let kinds: Vec<String> = same.map(|(_, kind)| format!("\"{kind}\"")).collect();
        if !kinds.is_empty() {
            cause.finding.text += &format!(", which does not tell it from {}", kinds.join(" and "));
        }
    }
}

/// One finding for each cause and side, whatever the number of points; the largest gap speaks for all.
fn causes(scope: &Scope, metric: &str, points: &[Point], mut held: Vec<Held>) -> Vec<Cause> {
    let mut found = Vec::new();
    held.sort_by(|one, next| next.gap.total_cmp(&one.gap));
    for rule in RULES {
        for side in [Side::Candidate, Side::Baseline] {
            let ours: Vec<&Held> = held.iter().filter(|one| one.rule.kind == rule.kind && one.side == side).collect();
            found.extend(cause(scope, metric, points, rule, side, &ours));
        }
    }
    found
}

fn cause(scope: &Scope, metric: &str, points: &[Point], rule: &Rule, side: Side, held: &[&Held]) -> Option<Cause> {
    let first = held.first()?;
    let name = |side: Side| if side == Side::Candidate { scope.candidate } else { scope.plan.baseline.as_str() };
    let quoted = |side: Side| format!("`{}`", name(side));
    let mut text = rule.say.replace("{who}", &quoted(side)).replace("{other}", &quoted(other(side)));
    if points.len() > 1 {
        let mut places: Vec<&Point> = held.iter().map(|one| one.point).collect();
        places.sort();
        text += &format!(", at {}", places.into_iter().map(point_text).collect::<Vec<_>>().join(", "));
    }
    if let Some(most) = first.signs.first().or(first.moves.last()) {
        text += &format!(": {most}");
    }
    if scope.plan.workloads.len() > 1 {
        text = format!("{}: {text}", scope.workload);
    }
    let line = |one: &&Held| -> Vec<String> {
        let place = if one.point.is_empty() { String::new() } else { format!("{}: ", point_text(one.point)) };
        one.moves.iter().chain(&one.signs).map(|sign| format!("{place}{sign}")).collect()
    };
    let mut grade = if held.iter().all(|one| one.is_weak) { "weak" } else { "supported" };
    let mut evidence: Vec<String> = held.iter().flat_map(line).collect();
    if let Some(told) = contrast::told(scope, metric, rule, side, first.point) {
        grade = if told.is_confirmed { "confirmed" } else { grade };
        text += &told.text;
        evidence.splice(0..0, told.evidence);
    }
    let finding = Finding { kind: rule.kind, grade, text, evidence };
    Some(Cause { finding, contrast: contrast::due(scope, rule, first.point) })
}

/// `syncs per transaction 0.739 against 0.000123 (difference 0.71 to 0.76, 8 blocks)`.
fn told(metric: &str, seen: &Estimate, side: Side) -> String {
    said(&costs::title(metric), seen, side)
}

fn said(title: &str, seen: &Estimate, side: Side) -> String {
    let (own, other) = seen.values(side);
    let of = |kind: &str, bounds: stats::Interval| format!("{kind} {} to {}", figure(bounds.low), figure(bounds.high));
    let interval = match seen.log_ratio(side) {
        Some(ratio) => ratio.bounds.map(|bounds| of("factor", bounds.map(f64::exp))),
        None => seen.difference(side).bounds.map(|bounds| of("difference", bounds)),
    };
    let interval = interval.map_or("no interval".to_owned(), |interval| interval);
    let blocks = if seen.blocks == 1 { "block" } else { "blocks" };
    format!("{title} {} against {} ({interval}, {} {blocks})", figure(own), figure(other), seen.blocks)
}

/// Three significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size => {
            let digits = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.digits$}")
        }
    }
}

#[cfg(test)]
mod tests;
