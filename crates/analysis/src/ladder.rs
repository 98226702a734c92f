//! Ladders: what each step brought, and whether it would bring the same elsewhere (method, section 6).
//!
//! All rungs ran in every block, so a step is a comparison like any other: a rung against the one below, with
//! the error shared by all steps. Gains are means of logarithms, so that those of the steps add up to that of
//! the whole wherever the same blocks are there. A step that promises less at a commit is a trade: it buys
//! speed with durability, and counts for no safe gain.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, ChangePointRules, Judge, Rule, level_changes};

use super::comparison::{Comparison, Verdict};
use super::index::Index;
use super::json;
use super::named::named;
use super::scope::{Conditions, Scope};
use record::format::ladder::{ChangeKind, ChangeRecord, DropRecord, LadderRecord};
use record::format::{DecisionRecord, PlanRecord, Point};
use record::rule::point_rule;

/// One ladder under one workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Ladder {
    pub base: String,
    /// Mean over the points.
    pub base_value: Option<f64>,
    pub base_class: Option<String>,
    pub rungs: Vec<Rung>,
    /// The gains of all steps, one times the other; absent where a rung lacks a block that another one has.
    pub product: Option<f64>,
    /// Of all steps but the trades, where there is one that counts.
    pub safe_gain: Option<Gain>,
    /// The highest rung that promises no less than the base.
    pub safe_top: Option<String>,
    /// The highest rung that was measured.
    pub top: String,
    /// Rungs at which the level changed, where each rung is another release; absent of any other ladder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<LevelChange>>,
    /// What each step is worth where all others are there already.
    #[serde(rename = "ablation")]
    pub interactions: Vec<Interaction>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rung {
    pub contender: String,
    pub changes: Vec<ChangeRecord>,
    /// Mean over the points.
    pub value: Option<f64>,
    #[serde(rename = "durability_class")]
    pub class: Option<String>,
    /// Why it was not measured.
    pub refused: Option<String>,
    /// Against the rung below; absent where one of the two was not measured.
    pub step: Option<Comparison>,
    /// The same at each load level, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Comparison>,
    #[serde(flatten, serialize_with = "json::gain")]
    #[schemars(with = "json::GainFields")]
    pub gain: Option<Gain>,
    /// Against the base.
    pub cumulative: Option<Gain>,
    /// The classes below and here, where this step lowers the promise.
    #[serde(serialize_with = "json::is_some")]
    #[schemars(with = "bool")]
    pub trade: Option<(String, String)>,
}

impl Rung {
    /// The interval holds nothing but gains, or nothing but losses.
    pub fn is_shown(&self) -> bool {
        self.gain.is_some_and(|gain| gain.is_shown())
    }
}

/// A rung from which on the releases have another level than those below it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct LevelChange {
    /// The first of the new level.
    pub contender: String,
    /// The last of the old one.
    pub below: String,
    /// Of the permutation test within blocks.
    pub p: f64,
    /// Geometric means of the levels' ratios to the base. Above 1 is better.
    pub before: f64,
    pub after: f64,
}

/// A ratio of two rungs: the mean of the logarithms of all blocks, and the interval of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Gain {
    /// Above 1 is better.
    pub ratio: f64,
    #[serde(flatten, serialize_with = "json::low_high")]
    #[schemars(with = "json::LowHigh")]
    pub bounds: Option<(f64, f64)>,
    #[serde(rename = "interval", serialize_with = "json::basis")]
    #[schemars(with = "json::IntervalKind")]
    pub basis: Basis,
    pub blocks: usize,
}

impl Gain {
    fn of(comparison: &Comparison) -> Option<Gain> {
        let bounds = comparison.low.zip(comparison.high);
        let Comparison { basis, blocks, .. } = *comparison;
        Some(Gain { ratio: comparison.mean_ratio?, bounds, basis, blocks })
    }

    fn of_series(judge: &Judge, log_ratios: &[f64], ended: bool) -> Option<Gain> {
        let verdict = judge.judge(log_ratios, ended)?;
        let bounds = verdict.interval.map(|bounds| (bounds.low.exp(), bounds.high.exp()));
        Some(Gain { ratio: verdict.mean.exp(), bounds, basis: verdict.basis, blocks: verdict.blocks })
    }

    /// The rule excludes that it is nothing.
    pub fn is_shown(&self) -> bool {
        self.basis != Basis::Plain && self.bounds.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

/// A step left out of the highest rung.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Interaction {
    pub step: String,
    /// The highest rung without it.
    pub contender: String,
    pub refused: Option<String>,
    pub in_ladder: Option<Gain>,
    #[serde(rename = "in_final_configuration")]
    pub at_top: Option<Gain>,
    /// The second over the first.
    #[serde(flatten, serialize_with = "json::interaction")]
    #[schemars(with = "json::InteractionFields")]
    pub interaction: Option<Gain>,
}

impl Interaction {
    pub fn order_matters(&self) -> bool {
        self.interaction.is_some_and(|interaction| interaction.is_shown())
    }
}

/// Two ladders side by side: a contender of each, at the same stage.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Stage {
    #[serde(rename = "stage")]
    pub kind: StageKind,
    /// The baseline is a contender of the file's first ladder.
    pub comparison: Comparison,
    /// The same at each load level, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Comparison>,
    #[serde(flatten, serialize_with = "json::classes")]
    #[schemars(with = "json::Classes<'static>")]
    pub classes: (Option<String>, Option<String>),
}

named! {
    pub enum StageKind {
        /// Both as they are before the first step.
        Base = "base",
        /// Both as far as they go without a weaker promise.
        Safe = "safe",
        /// Both as far as they go.
        Top = "top",
    }
}

/// Everything that is asked about one workload.
#[derive(Clone, Copy)]
pub struct Climb<'a> {
    pub plan: &'a PlanRecord,
    pub records: &'a Index<'a>,
    pub circumstances: &'a Conditions,
    pub workload: &'a str,
    pub metric: &'a str,
    pub points: &'a [Point],
}

pub fn ladders(climb: &Climb) -> Vec<Ladder> {
    climb.plan.ladders.iter().map(|record| ladder(climb, record)).collect()
}

/// Has every step the verdict that the run goes on for? A rung that cannot be measured is not waited for.
pub fn is_decided(climb: &Climb) -> bool {
    climb.plan.ladders.iter().all(|record| {
        let steps = record.rungs.len();
        let pairs = record.contenders().windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
        let open = |(below, rung): &(&str, &str)| {
            climb.refusal(below).is_none()
                && climb.refusal(rung).is_none()
                && climb.compare(below, rung, steps).0.verdict == Verdict::Inconclusive
        };
        !pairs.iter().any(open)
    })
}

/// Stages of the first ladder beside those of each other one.
pub fn stages(climb: &Climb, ladders: &[Ladder]) -> Vec<Stage> {
    let Some((first, others)) = ladders.split_first() else { return Vec::new() };
    let of_ladder = |kind, ladder: &Ladder| match kind {
        StageKind::Base => Some(ladder.base.clone()),
        StageKind::Safe => ladder.safe_top.clone(),
        StageKind::Top => Some(ladder.top.clone()),
    };
    let mut pairs: Vec<(StageKind, String, String)> = Vec::new();
    for other in others {
        for kind in [StageKind::Base, StageKind::Safe, StageKind::Top] {
            let Some((one, two)) = of_ladder(kind, first).zip(of_ladder(kind, other)) else { continue };
            let is_measured = climb.refusal(&one).is_none() && climb.refusal(&two).is_none();
            if is_measured && !pairs.iter().any(|(_, a, b)| (a, b) == (&one, &two)) {
                pairs.push((kind, one, two));
            }
        }
    }
    let share = pairs.len();
    let stage = |(kind, one, two): (StageKind, String, String)| {
        let (comparison, points) = climb.compare(&one, &two, share);
        Stage { kind, classes: (climb.class(&one), climb.class(&two)), comparison, points }
    };
    pairs.into_iter().map(stage).collect()
}

fn ladder(climb: &Climb, record: &LadderRecord) -> Ladder {
    let rungs: Vec<Rung> = record.rungs.iter().map(|rung| self::rung(climb, record, &rung.contender)).collect();
    let measured = |rung: &&Rung| rung.refused.is_none();
    let top = rungs.iter().rfind(measured).map_or(&record.base, |rung| &rung.contender).clone();
    let base_class = climb.class(&record.base);
    let keeps = |rung: &&Rung| matches!((&rung.class, &base_class), (Some(here), Some(base)) if here >= base);
    let safe_top = rungs.iter().filter(measured).rfind(keeps).map(|rung| rung.contender.clone());
    Ladder {
        base: record.base.clone(),
        base_value: climb.value(record, &record.base),
        safe_top: safe_top.or_else(|| base_class.is_some().then(|| record.base.clone())),
        product: product(&rungs),
        safe_gain: safe_gain(climb, &rungs),
        interactions: interactions(climb, record, &rungs),
        levels: is_of_releases(record).then(|| levels(climb, record)),
        base_class,
        rungs,
        top,
    }
}

fn rung(climb: &Climb, record: &LadderRecord, contender: &str) -> Rung {
    let steps = record.rungs.len();
    let below = record.below(contender).expect("a rung has something below it");
    let refused = climb.refusal(contender);
    let is_measured = |other: &str| refused.is_none() && climb.refusal(other).is_none();
    let against = |other: &str| is_measured(other).then(|| climb.compare(other, contender, steps));
    let (step, points) = against(below).unzip();
    let classes = climb.class(below).zip(climb.class(contender));
    let changes = record.rungs.iter().find(|rung| rung.contender == contender).map(|rung| &rung.changes);
    Rung {
        contender: contender.to_owned(),
        changes: changes.into_iter().flatten().cloned().collect(),
        value: climb.value(record, contender),
        class: climb.class(contender),
        gain: step.as_ref().and_then(Gain::of),
        cumulative: against(&record.base).and_then(|(whole, _)| Gain::of(&whole)),
        trade: classes.filter(|(before, here)| here < before),
        refused,
        step,
        points: points.unwrap_or_default(),
    }
}

/// Every rung is another release and nothing else.
fn is_of_releases(record: &LadderRecord) -> bool {
    let is_release = |changes: &[ChangeRecord]| matches!(changes, [change] if change.kind == ChangeKind::Engine);
    !record.rungs.is_empty() && record.rungs.iter().all(|rung| is_release(&rung.changes))
}

/// Changes of level along the releases that were measured, over the blocks that all of them have.
fn levels(climb: &Climb, record: &LadderRecord) -> Vec<LevelChange> {
    let rungs = record.rungs.iter().map(|rung| rung.contender.as_str());
    let measured: Vec<&str> = rungs.filter(|rung| climb.refusal(rung).is_none()).collect();
    let over_base: Vec<_> = measured.iter().map(|rung| logarithms(&climb.compare(&record.base, rung, 1).0)).collect();
    // The base is one of the places: nothing over itself.
    let block = |number: &u32| [0.0].into_iter().chain(over_base.iter().map(|one| one[number])).collect();
    let blocks: Vec<Vec<f64>> = common_blocks(&over_base).iter().map(block).collect();
    let changes = level_changes(&blocks, ChangePointRules::default());
    let places: Vec<&str> = [record.base.as_str()].into_iter().chain(measured).collect();
    let ends: Vec<usize> =
        [0].into_iter().chain(changes.iter().map(|change| change.at)).chain([places.len()]).collect();
    let level = |from: usize, to: usize| {
        let values = blocks.iter().flat_map(|block| &block[from..to]);
        (values.sum::<f64>() / (blocks.len() * (to - from)) as f64).exp()
    };
    let change = |(index, change): (usize, &stats::ChangePoint)| LevelChange {
        contender: places[change.at].to_owned(),
        below: places[change.at - 1].to_owned(),
        p: change.p,
        before: level(ends[index], change.at),
        after: level(change.at, ends[index + 2]),
    };
    changes.iter().enumerate().map(change).collect()
}

/// On the same blocks it is the whole gain: the logarithms add up (method, section 6).
fn product(rungs: &[Rung]) -> Option<f64> {
    let gains: Vec<Gain> = rungs.iter().map(|rung| rung.gain).collect::<Option<_>>()?;
    let whole = rungs.last()?.cumulative?;
    let product = gains.iter().map(|gain| gain.ratio).product::<f64>();
    let adds_up = gains.iter().all(|gain| gain.blocks == whole.blocks) && (product / whole.ratio - 1.0).abs() < 1e-9;
    adds_up.then_some(product)
}

/// All steps that lower no promise, together: their logarithms add up within each block.
fn safe_gain(climb: &Climb, rungs: &[Rung]) -> Option<Gain> {
    let safe: Vec<&Comparison> =
        rungs.iter().filter(|rung| rung.trade.is_none()).filter_map(|rung| rung.step.as_ref()).collect();
    let logs: Vec<BTreeMap<u32, f64>> = safe.iter().map(|step| logarithms(step)).collect();
    let common = common_blocks(&logs);
    let sums: Vec<f64> = common.iter().map(|block| logs.iter().map(|one| one[block]).sum()).collect();
    Gain::of_series(&climb.judge(rungs.len()), &sums, climb.circumstances.ended).filter(|_| !safe.is_empty())
}

fn interactions(climb: &Climb, record: &LadderRecord, rungs: &[Rung]) -> Vec<Interaction> {
    let share = record.ablation.len().max(1);
    let judge = climb.judge(share);
    let of_drop = |drop: &DropRecord| {
        let refused = climb.refusal(&drop.contender);
        let is_measured = refused.is_none() && climb.refusal(record.top()).is_none();
        let at_top = is_measured.then(|| climb.compare(&drop.contender, record.top(), share).0);
        let rung = rungs.iter().find(|rung| rung.contender == drop.without);
        let in_ladder = rung.and_then(|rung| rung.step.as_ref());
        let interaction = at_top.as_ref().zip(in_ladder).and_then(|(at_top, in_ladder)| {
            let logs = [logarithms(at_top), logarithms(in_ladder)];
            let differences = common_blocks(&logs).into_iter().map(|block| logs[0][&block] - logs[1][&block]);
            Gain::of_series(&judge, &differences.collect::<Vec<f64>>(), climb.circumstances.ended)
        });
        Interaction {
            step: drop.without.clone(),
            contender: drop.contender.clone(),
            refused,
            in_ladder: rung.and_then(|rung| rung.gain),
            at_top: at_top.as_ref().and_then(Gain::of),
            interaction,
        }
    };
    record.ablation.iter().map(of_drop).collect()
}

fn logarithms(comparison: &Comparison) -> BTreeMap<u32, f64> {
    comparison.pairs.iter().map(|(block, ratio)| (*block, ratio.ln())).collect()
}

fn common_blocks(series: &[BTreeMap<u32, f64>]) -> Vec<u32> {
    let Some(first) = series.first() else { return Vec::new() };
    first.keys().copied().filter(|block| series.iter().all(|one| one.contains_key(block))).collect()
}

impl Climb<'_> {
    /// A contender against another one, with the error shared by so many such comparisons; and the same at each load
    /// level, where there are several.
    fn compare(&self, baseline: &str, candidate: &str, share: usize) -> (Comparison, Vec<Comparison>) {
        let pair = [baseline, candidate];
        let contenders = self.plan.contenders.iter().filter(|one| pair.contains(&one.name.as_str()));
        // The comparison has a plan of these two alone.
        let plan = PlanRecord {
            baseline: baseline.to_owned(),
            contenders: contenders.cloned().collect(),
            ladders: Vec::new(),
            trials: Vec::new(),
            ..self.plan.clone()
        };
        let Climb { records, circumstances, workload, metric, points, .. } = *self;
        let scope = Scope { plan: &plan, records, circumstances, workload, candidate, limit: None, share };
        let of_points = scope.of_points(metric, points);
        let overall = scope.overall(metric, points, &of_points);
        (overall, if points.len() > 1 { of_points } else { Vec::new() })
    }

    fn judge(&self, share: usize) -> Judge {
        let alpha = (1.0 - self.plan.method.confidence) / share.max(1) as f64;
        Judge::new(Rule { alpha, ..point_rule(self.plan, 1) })
    }

    /// Why a contender was not measured; none where it was, at one point at least.
    fn refusal(&self, contender: &str) -> Option<String> {
        if let Some(reason) = self.circumstances.refused.get(contender) {
            return Some(reason.clone());
        }
        let given_up = |point: &Point| {
            let ours = |one: &&DecisionRecord| {
                one.workload == self.workload && one.contender == contender && one.point == *point
            };
            self.circumstances.given_up.iter().find(ours)
        };
        let mut last = None;
        for point in self.points {
            last = Some(given_up(point)?.because.clone());
        }
        last
    }

    fn class(&self, contender: &str) -> Option<String> {
        self.circumstances.durability.get(contender).cloned()
    }

    /// Over the points that every contender of the ladder has.
    fn value(&self, record: &LadderRecord, contender: &str) -> Option<f64> {
        let rungs = record.rungs.iter().map(|rung| rung.contender.as_str());
        let measured = rungs.chain([record.base.as_str()]).filter(|one| self.refusal(one).is_none());
        let points = self.points_of(&measured.collect::<Vec<_>>());
        self.records.mean(self.workload, &points, contender, self.metric)
    }

    /// The points at which none of these has been given up.
    fn points_of(&self, contenders: &[&str]) -> Vec<Point> {
        let given_up = |point: &&Point| {
            self.circumstances.given_up.iter().any(|one| {
                one.workload == self.workload && contenders.contains(&one.contender.as_str()) && one.point == **point
            })
        };
        self.points.iter().filter(|point| !given_up(point)).cloned().collect()
    }
}

#[cfg(test)]
mod tests;
