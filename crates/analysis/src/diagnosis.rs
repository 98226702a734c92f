//! Why one is faster: what each side spends on a transaction, and the causes that the figures support.
//!
//! Costs are compared like throughput, block by block. Causes are rows of a table (`rules.rs`; method,
//! section 5) that either hold or do not; here stands only how a row is read. A row that asks for something
//! that cannot be seen does not hold, and what cannot be seen is named once, beside the costs.

mod cause;
pub mod cause_test;
mod costs;
mod estimate;
mod rules;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, Interval, Judge};

use record::format::{Point, Status, TrialRecord};
use record::rule::point_rule;

use super::json;
use super::scope::Scope;
use super::values::less_is_better;
use cause::EXPLAINS;
pub use cause::{Cause, CauseKind, CauseTest, Change, GapChange, Grade, Measure, Observed, TestOutcome};
use cause_test::Due;
pub use costs::priced;
use costs::{CPU, CPU_USE, DISTURBED, LATENCY};
pub use estimate::Side;
use estimate::{Bounded, Estimate};
use rules::{FewClients, Move, RULES, Rule, Sign, Who};

/// An interval of throughput that reaches further shows no sameness.
const SAME_WITHIN: f64 = 0.10;
/// More disturbed trials than this weaken every cause.
const DISTURBED_MAX: f64 = 0.25;
const CLIENTS: &str = "clients";

/// Of a candidate against the baseline.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Diagnosis {
    /// The whole sweep first, where there is one.
    pub costs: Vec<Cost>,
    /// Metrics of costs that at least one side does not show.
    #[serde(rename = "costs_not_visible")]
    pub not_visible: Vec<Cow<'static, str>>,
    #[serde(skip)]
    pub causes: Vec<Cause>,
    /// What can put these causes to the test; each once.
    #[serde(skip)]
    pub contrasts: Vec<Due>,
}

/// A cost of one transaction on both sides, or of one pass.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    pub metric: Cow<'static, str>,
    /// Absent for the whole sweep.
    pub point: Option<Point>,
    #[serde(rename = "baseline_value")]
    pub baseline: f64,
    #[serde(rename = "candidate_value")]
    pub candidate: f64,
    /// Baseline over candidate, so that above 1 the candidate is better; absent where either was ever nothing.
    #[serde(flatten, serialize_with = "json::ratio")]
    #[schemars(with = "json::RatioFields")]
    pub ratio: Option<Ratio>,
    /// Candidate minus baseline, with its t interval.
    pub difference: f64,
    #[serde(flatten, serialize_with = "json::difference_bounds")]
    #[schemars(with = "json::DifferenceBounds")]
    pub difference_bounds: Option<(f64, f64)>,
    pub blocks: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio {
    pub value: f64,
    pub bounds: Option<(f64, f64)>,
    pub basis: Basis,
}

/// The trials of the scope are to be [`priced`]. A pass of operations that run for a time has no fixed work to price.
pub fn diagnose(scope: &Scope, metric: &str, points: &[Point]) -> Diagnosis {
    let active = scope.active(points);
    if scope.is_pass() && !less_is_better(metric) || active.is_empty() {
        return Diagnosis::default();
    }
    let judge = Judge::new(point_rule(scope.plan, points.len()));
    let places: Vec<At> = active.iter().filter_map(|point| At::of(scope, &judge, metric, point)).collect();
    let sweep = || {
        let seen = |kind: &costs::Kind| Some((kind.metric, Estimate::of(scope, &judge, kind.metric, &active)?));
        costs_of(scope, None, &costs::KINDS.iter().filter_map(seen).collect())
    };
    let mut costs = if active.len() > 1 { sweep() } else { Vec::new() };
    costs.extend(places.iter().flat_map(|place| costs_of(scope, Some(place.point), &place.seen)));
    let mut hidden: Vec<Cow<str>> = costs::KINDS.iter().map(|kind| shown_as(scope, kind.metric)).collect();
    hidden.retain(|metric| !costs.iter().any(|cost| cost.metric == *metric));
    let held = places.iter().flat_map(|place| place.held(&places)).collect();
    let (mut causes, due): (Vec<Cause>, Vec<Option<Due>>) = causes(scope, metric, held).into_iter().unzip();
    mark_confirmed_alike(&mut causes, &due);
    Diagnosis { not_visible: if costs.is_empty() { vec![] } else { hidden }, costs, contrasts: contrasts(due), causes }
}

/// By metric.
type Seen = BTreeMap<&'static str, Estimate>;

/// `rows_read_per_tx` of a pass is `rows_read_per_pass`.
fn shown_as<'a>(scope: &Scope, metric: &'a str) -> Cow<'a, str> {
    match metric.strip_suffix("_per_tx") {
        Some(stem) if scope.is_pass() => format!("{stem}_per_pass").into(),
        _ => metric.into(),
    }
}

fn costs_of(scope: &Scope, point: Option<&Point>, seen: &Seen) -> Vec<Cost> {
    let pair = |bounds: stats::Interval| (bounds.low, bounds.high);
    let cost = |kind: &costs::Kind| {
        let seen = seen.get(kind.metric)?;
        let ratio = seen.log_ratio(Side::Baseline).map(|ratio| Ratio {
            value: ratio.value.exp(),
            bounds: ratio.bounds.map(|bounds| pair(bounds.map(f64::exp))),
            basis: seen.basis,
        });
        Some(Cost {
            metric: shown_as(scope, kind.metric),
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
struct At<'a> {
    scope: &'a Scope<'a>,
    metric: &'a str,
    point: &'a Point,
    tps: Estimate,
    seen: Seen,
}

/// A rule that holds, and the contender that it is about.
struct Held {
    rule: &'static Rule,
    side: Side,
    is_weak: bool,
    /// How large the gap in throughput is: the largest one comes first.
    gap: f64,
    observed: Observed,
}

impl<'a> At<'a> {
    fn of(scope: &'a Scope, judge: &'a Judge, metric: &'a str, point: &'a Point) -> Option<At<'a>> {
        let estimate = |metric: &str| Estimate::of(scope, judge, metric, std::slice::from_ref(point));
        let tps = estimate(metric)?;
        let seen = costs::all().filter_map(|metric| Some((metric, estimate(metric)?))).collect();
        Some(At { scope, metric, point, tps, seen })
    }

    /// The rows that hold here, in the order of the table.
    fn held(&self, places: &[At]) -> Vec<Held> {
        let mut held: Vec<Held> = Vec::new();
        for rule in RULES.iter().filter(|rule| rule.of_pass || !self.scope.is_pass()) {
            let sides: &[Side] =
                if rule.who == Who::Candidate { &[Side::Candidate] } else { &[Side::Candidate, Side::Baseline] };
            let is_covered = held.iter().any(|one| one.rule.who == Who::Run || rule.unless.contains(&one.rule.kind));
            if !is_covered {
                let found = sides.iter().filter_map(|side| self.holds(rule, *side, places));
                // What is true of the whole run is listed once.
                held.extend(found.take(if rule.who == Who::Run { 1 } else { sides.len() }));
            }
        }
        held
    }

    fn holds(&self, rule: &'static Rule, side: Side, places: &[At]) -> Option<Held> {
        let as_asked =
            |asked: &[Move], seen: Option<Move>| asked.is_empty() || seen.is_some_and(|seen| asked.contains(&seen));
        let few_clients = self.few_clients(rule.few_clients, side, places)?;
        if !as_asked(rule.tps, self.tps_moved(side))
            || !as_asked(rule.cpu_use, self.cpu_moved(CPU_USE, side))
            || !as_asked(rule.cpu_per_tx, self.cpu_moved(CPU, side))
        {
            return None;
        }
        let see = |sign: &Sign| self.sign(*sign, side);
        let all: Vec<Measure> = rule.all.iter().map(see).collect::<Option<_>>()?;
        let any: Vec<Measure> = rule.any.iter().filter_map(see).collect();
        if any.is_empty() && !rule.any.is_empty() {
            return None;
        }
        let is_of_rule = self.tps.basis != Basis::Plain || rule.who == Who::Run;
        let is_disturbed = rule.who != Who::Run && self.is_disturbed();
        Some(Held {
            rule,
            side,
            is_weak: rule.is_weak || !is_of_rule || is_disturbed || few_clients == Known::No,
            gap: self.tps.log_ratio.map_or(0.0, |ratio| ratio.value.abs()),
            observed: Observed {
                point: self.point.clone(),
                moves: if rule.who == Who::Run { vec![] } else { self.moves(side) },
                signs: all.into_iter().chain(any).collect(),
            },
        })
    }

    fn tps_moved(&self, side: Side) -> Option<Move> {
        let margin = self.scope.plan.method.margin.ln_1p();
        let ratio = self.tps.log_ratio(if less_is_better(self.metric) { other(side) } else { side })?;
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

    /// What is seen where the sign holds.
    fn sign(&self, sign: Sign, side: Side) -> Option<Measure> {
        let seen = self.seen.get(sign.what())?;
        let is_more = |by: f64| seen.difference(side).is_above(by);
        let mut measure = self.measure(sign.what(), seen, side);
        let holds = match sign {
            Sign::More { by, .. } => is_more(by),
            Sign::Less { by, .. } => seen.difference(other(side)).is_above(by),
            Sign::Twice { by, .. } => is_more(by) && seen.is_twice(side),
            Sign::Only { by, .. } => is_more(by) && seen.values(side).1 < by,
            Sign::NotMore { by, .. } => !is_more(by),
            Sign::Above { level, .. } => seen.values(side).0 > level,
            Sign::HalfOfTheGap { .. } => {
                let gap_ms = self.seen.get(LATENCY)?.difference(side).value;
                measure.of_gap_ms = Some(gap_ms);
                gap_ms > 0.0 && is_more(EXPLAINS * gap_ms)
            }
        };
        holds.then_some(measure)
    }

    /// None where the point with the fewest clients contradicts; not known where it leaves that open.
    fn few_clients(&self, asked: FewClients, side: Side, places: &[At]) -> Option<Known> {
        if asked == FewClients::NoMatter {
            return Some(Known::Yes);
        }
        let others_alike = |place: &&At| {
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
        // Throughput of the only point with fewer clients is unknown, unless there are no fewer.
        let is_known = fewest.point[CLIENTS] == 1 || fewest.point != self.point;
        match fewest.cpu_moved(CPU, side).filter(|_| is_known) {
            None => Some(Known::No),
            Some(moved) => ((moved == Move::Up) == (asked == FewClients::UpToo)).then_some(Known::Yes),
        }
    }

    fn moves(&self, side: Side) -> Vec<Measure> {
        let beside = [CPU_USE, CPU].into_iter().filter_map(|metric| Some((metric, self.seen.get(metric)?)));
        let all = std::iter::once((self.metric, &self.tps)).chain(beside);
        all.map(|(metric, seen)| self.measure(metric, seen, side)).collect()
    }

    fn measure(&self, metric: &str, seen: &Estimate, side: Side) -> Measure {
        let (own, other) = seen.values(side);
        let change = match seen.log_ratio(side) {
            Some(ratio) => ratio
                .bounds
                .map(|bounds| bounds.map(f64::exp))
                .map(|Interval { low, high }| Change::Factor { low, high }),
            None => seen.difference(side).bounds.map(|Interval { low, high }| Change::Difference { low, high }),
        };
        Measure {
            metric: shown_as(self.scope, metric).into_owned(),
            own,
            other,
            change,
            blocks: seen.blocks,
            of_gap_ms: None,
        }
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

/// Each once.
fn contrasts(due: Vec<Option<Due>>) -> Vec<Due> {
    let mut found: Vec<Due> = Vec::new();
    for due in due.into_iter().flatten() {
        if !found.contains(&due) {
            found.push(due);
        }
    }
    found
}

/// What took several causes away at once does not show which of them it was.
fn mark_confirmed_alike(causes: &mut [Cause], due: &[Option<Due>]) {
    let confirmed: Vec<(&Option<Due>, CauseKind)> = causes
        .iter()
        .zip(due)
        .filter(|(cause, _)| cause.grade == Grade::Confirmed)
        .map(|(cause, due)| (due, cause.kind))
        .collect();
    for (cause, ours) in causes.iter_mut().zip(due).filter(|(cause, _)| cause.grade == Grade::Confirmed) {
        let same = confirmed.iter().filter(|(due, kind)| *due == ours && *kind != cause.kind);
        cause.confirmed_alike = same.map(|(_, kind)| *kind).collect();
    }
}

/// One for each rule and side, whatever the number of points, and what can put it to the test.
fn causes(scope: &Scope, metric: &str, mut held: Vec<Held>) -> Vec<(Cause, Option<Due>)> {
    let mut found = Vec::new();
    held.sort_by(|one, next| next.gap.total_cmp(&one.gap));
    for rule in RULES {
        for side in [Side::Candidate, Side::Baseline] {
            let ours: Vec<&Held> = held.iter().filter(|one| one.rule.kind == rule.kind && one.side == side).collect();
            found.extend(cause(scope, metric, rule, side, &ours));
        }
    }
    found
}

/// The largest gap stands for all.
fn cause(scope: &Scope, metric: &str, rule: &Rule, side: Side, held: &[&Held]) -> Option<(Cause, Option<Due>)> {
    let first = held.first()?;
    let test = cause_test::outcome(scope, metric, rule, side, &first.observed.point);
    let grade = match &test {
        Some(test) if test.is_confirming() => Grade::Confirmed,
        _ if held.iter().all(|one| one.is_weak) => Grade::Weak,
        _ => Grade::Supported,
    };
    let cause = Cause {
        kind: rule.kind,
        grade,
        workload: scope.workload.to_owned(),
        baseline: scope.plan.baseline.clone(),
        candidate: scope.candidate.to_owned(),
        side,
        observed: held.iter().map(|one| one.observed.clone()).collect(),
        test,
        confirmed_alike: Vec::new(),
        trials: compared(scope, held),
    };
    Some((cause, cause_test::due(scope, rule, &first.observed.point)))
}

/// The trials of both contenders that are ok, at the points where the rule holds.
fn compared(scope: &Scope, held: &[&Held]) -> Vec<u32> {
    let is_ours = |trial: &&TrialRecord| {
        let is_of_pair = trial.contender == scope.candidate || trial.contender == scope.plan.baseline;
        let is_in_plan = trial.status == Status::Ok && trial.block <= scope.plan.method.blocks;
        let is_there = held.iter().any(|one| one.observed.point == trial.point);
        is_in_plan && is_of_pair && trial.workload == scope.workload && is_there
    };
    scope.records.trials().iter().filter(is_ours).map(|trial| trial.trial).collect()
}

#[cfg(test)]
mod tests;
