//! One quantity on both sides, block by block, with its intervals.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, Interval, Judge};

use record::format::Point;

use super::super::scope::Scope;
use super::super::values::value as measured;

/// A quantity of both sides, over the blocks in which both have it at every point.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub baseline: f64,
    pub candidate: f64,
    pub blocks: usize,
    /// Log of candidate over baseline; absent where either was ever nothing.
    pub log_ratio: Option<Bounded>,
    /// Of the log ratio's interval; a difference has a t interval always.
    pub basis: Basis,
    /// Candidate minus baseline.
    pub difference: Bounded,
}

/// A value and its interval, which takes two blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounded {
    pub value: f64,
    pub bounds: Option<Interval>,
}

/// Whose view is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Candidate,
    Baseline,
}

impl Bounded {
    fn turned(self) -> Bounded {
        let turned = |bounds: Interval| Interval { low: -bounds.high, high: -bounds.low };
        Bounded { value: -self.value, bounds: self.bounds.map(turned) }
    }

    pub fn is_above(&self, least: f64) -> bool {
        self.value >= least && self.bounds.is_some_and(|bounds| bounds.low > 0.0)
    }
}

impl Estimate {
    /// None without a single whole block.
    pub fn of(scope: &Scope, judge: &Judge, metric: &str, points: &[Point]) -> Option<Estimate> {
        let blocks: Vec<Vec<[f64; 2]>> =
            (1..=scope.plan.method.blocks).filter_map(|block| pairs(scope, metric, points, block)).collect();
        let over = |of: &dyn Fn(&[f64; 2]) -> f64| -> Vec<f64> {
            blocks.iter().filter_map(|pairs| stats::mean(&pairs.iter().map(of).collect::<Vec<f64>>())).collect()
        };
        let confidence = scope.plan.method.confidence;
        let differences = over(&|pair| pair[1] - pair[0]);
        let is_positive = blocks.iter().flatten().flatten().all(|value| *value > 0.0);
        let (log_ratio, basis) = if is_positive {
            ratio(scope, judge, &over(&|pair| (pair[1] / pair[0]).ln()))
        } else {
            (None, Basis::Plain)
        };
        // Of the same kind as the ratio beside them.
        let mean = |side: usize| match is_positive {
            true => stats::mean(&over(&|pair| pair[side].ln())).map(f64::exp),
            false => stats::mean(&over(&|pair| pair[side])),
        };
        Some(Estimate {
            baseline: mean(0)?,
            candidate: mean(1)?,
            blocks: blocks.len(),
            log_ratio,
            basis,
            difference: Bounded {
                value: stats::mean(&differences)?,
                bounds: stats::t_interval(&differences, confidence),
            },
        })
    }

    /// This side's value, and the other's.
    pub fn values(&self, side: Side) -> (f64, f64) {
        match side {
            Side::Candidate => (self.candidate, self.baseline),
            Side::Baseline => (self.baseline, self.candidate),
        }
    }

    /// Log of this side over the other.
    pub fn log_ratio(&self, side: Side) -> Option<Bounded> {
        self.log_ratio.map(|ratio| if side == Side::Candidate { ratio } else { ratio.turned() })
    }

    pub fn is_twice(&self, side: Side) -> bool {
        let (own, other) = self.values(side);
        own >= 2.0 * other
    }

    /// This side minus the other.
    pub fn difference(&self, side: Side) -> Bounded {
        if side == Side::Candidate { self.difference } else { self.difference.turned() }
    }
}

/// By the run's rule where enough blocks are there for it, else a t interval.
fn ratio(scope: &Scope, judge: &Judge, log_ratios: &[f64]) -> (Option<Bounded>, Basis) {
    let Some(value) = stats::hodges_lehmann(log_ratios) else { return (None, Basis::Plain) };
    match judge.verdict(log_ratios, scope.circumstances.ended) {
        Some((_, bounds)) => (Some(Bounded { value, bounds: Some(bounds) }), Basis::Rule(judge.rule().kind)),
        None => {
            let bounds = stats::t_interval(log_ratios, scope.plan.method.confidence);
            (Some(Bounded { value, bounds }), Basis::Plain)
        }
    }
}

/// Baseline and candidate at each of the points; none unless all are there.
pub fn pairs(scope: &Scope, metric: &str, points: &[Point], block: u32) -> Option<Vec<[f64; 2]>> {
    let value = |contender: &str, point: &Point| {
        let trial = scope.records.find(scope.workload, point, contender, block)?;
        measured(trial, metric).or_else(|| trial.metrics.get(metric).copied())
    };
    points.iter().map(|point| Some([value(&scope.plan.baseline, point)?, value(scope.candidate, point)?])).collect()
}
