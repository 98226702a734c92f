//! Conclusions that need several points or several candidates.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, Judge};

use record::format::Point;
use record::rule::point_rule;

use super::comparison::{Caveat, Comparison, Verdict};
use super::json;
use super::scope::Scope;
use super::values::{less_is_better, value};

/// Half of the blocks choose the peaks, the other half compares them.
const PEAK_BLOCKS_MIN: usize = 8;

/// What varies in a sweep that has a peak.
const CLIENTS: &str = "clients";

/// Each contender at the point where it is best, without the winner's curse: no block is used to judge a
/// point that it has chosen.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Peak {
    pub baseline: Best,
    pub candidate: Best,
    pub ratio: f64,
    /// Interval of the run's rule, corrected for no other comparison.
    pub low: Option<f64>,
    pub high: Option<f64>,
    #[serde(rename = "interval", serialize_with = "json::basis")]
    #[schemars(with = "json::IntervalKind")]
    pub basis: Basis,
    pub blocks: usize,
}

/// Where one contender is best.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Best {
    /// As either half of the blocks has it; one where they agree.
    pub points: Vec<Point>,
    /// Geometric mean over the blocks that did not choose.
    pub value: f64,
}

/// Peak against peak over a sweep of clients; `None` with too few blocks, or where nothing has a peak.
pub fn peak(scope: &Scope, metric: &str, points: &[Point]) -> Option<Peak> {
    let is_swept = points.len() > 1 && points.iter().all(|point| point.keys().eq([CLIENTS]));
    if !is_swept || less_is_better(metric) {
        return None;
    }
    let blocks: Vec<u32> = (1..=scope.plan.method.blocks)
        .filter(|block| points.iter().all(|point| logs(scope, metric, point, *block).is_some()))
        .collect();
    if blocks.len() < PEAK_BLOCKS_MIN {
        return None;
    }
    let of_side = |side: usize| -> Vec<Vec<f64>> {
        let value = |point, block: &u32| logs(scope, metric, point, *block).expect("only whole blocks are here")[side];
        points.iter().map(|point| blocks.iter().map(|block| value(point, block)).collect()).collect()
    };
    let (baseline, candidate) = (of_side(0), of_side(1));
    let compared = stats::peak_against_peak(&baseline, &candidate)?;
    let verdict = Judge::new(point_rule(scope.plan, 1)).judge(&compared.log_ratios, true)?;
    let (odd, even) = (compared.best_in_odd, compared.best_in_even);
    Some(Peak {
        baseline: best(points, &baseline, [odd.0, even.0])?,
        candidate: best(points, &candidate, [odd.1, even.1])?,
        ratio: verdict.estimate.exp(),
        low: verdict.interval.map(|bounds| bounds.low.exp()),
        high: verdict.interval.map(|bounds| bounds.high.exp()),
        basis: verdict.basis,
        blocks: blocks.len(),
    })
}

/// Of baseline and candidate.
fn logs(scope: &Scope, metric: &str, point: &Point, block: u32) -> Option<[f64; 2]> {
    let log =
        |contender: &str| value(scope.records.find(scope.workload, point, contender, block)?, metric).map(f64::ln);
    Some([log(&scope.plan.baseline)?, log(scope.candidate)?])
}

/// The odd blocks (the first, the third …) are judged at the point that the even ones chose.
fn best(points: &[Point], logs: &[Vec<f64>], chosen: [usize; 2]) -> Option<Best> {
    let mut places = chosen.map(|index| points[index].clone()).to_vec();
    places.dedup();
    let blocks = logs.first()?.len();
    let values: Vec<f64> = (0..blocks).map(|block| logs[chosen[(block + 1) % 2]][block]).collect();
    Some(Best { points: places, value: stats::mean(&values)?.exp() })
}

/// The p value of each candidate's overall comparison that holds for all of them together; none of a single one.
///
/// Verdicts do not come from it: they keep a share of the error each, because the coin that is tossed
/// makes the sign of one difference fair, whatever the host does, but not the signs of a whole block
/// at once. (With three contenders in slots whose disturbances are 0, 1 and 3, the two differences to
/// the first are 1 and 3 in some order; -1 and -3 are no order's.) Flipping whole blocks, as this p
/// does, also assumes that disturbances are symmetric.
pub fn p_together(overall: &[&Comparison], seed: u64) -> Option<Vec<f64>> {
    if overall.len() < 2 {
        return None;
    }
    let ratios: Vec<BTreeMap<u32, f64>> = overall.iter().map(|one| one.pairs.iter().copied().collect()).collect();
    let common: Vec<u32> =
        ratios[0].keys().copied().filter(|block| ratios.iter().all(|one| one.contains_key(block))).collect();
    let series: Vec<Vec<f64>> = ratios.iter().map(|one| common.iter().map(|block| one[block].ln()).collect()).collect();
    stats::max_t(&series, seed)
}

/// Who is ahead is behind once the time is counted that the server's deferred work takes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Deferring {
    /// Absent for the whole sweep.
    pub point: Option<Point>,
    pub ratio: f64,
    /// Of throughput over the interval and the time until background work was done.
    pub adjusted: f64,
    /// The adjusted ratio has a verdict of its own, and is not only on the other side.
    pub is_shown: bool,
}

/// Where the faster one is faster only while it defers work; its verdict has been taken away for that.
pub fn deferring(primary: &Comparison, adjusted: &Comparison) -> Option<Deferring> {
    let (ratio, after) = (primary.ratio?, adjusted.ratio?);
    let is_shown = matches!(adjusted.verdict, Verdict::Faster | Verdict::Slower);
    let vanishes_when_adjusted = primary.caveats.contains(&Caveat::DeferredWork);
    vanishes_when_adjusted.then(|| Deferring { point: primary.point.clone(), ratio, adjusted: after, is_shown })
}
