//! Did trials measure a state that lasts? Judged over blocks, because one trial is too noisy for it.
//!
//! Two things may be wrong: throughput still rises or falls inside the interval (*unsteady*), or the
//! server puts off work, and more of it in every trial (*accumulating*). A run that leaves the steady-state
//! check out asks neither: in its first seconds every server does both.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use record::format::{Point, Status, TrialRecord, step};

use super::scope::Scope;

/// Log of throughput in the second half of the interval over that in the first.
const HALF_LOG_RATIO: &str = "half_log_ratio";

/// A drift below this does not matter, however sure (method, section 1).
const DRIFT_MIN: f64 = 0.02;
/// With fewer blocks than this a drift is hard to distinguish from chance.
const DRIFT_BLOCKS_MIN: usize = 4;
/// Of all tests of a comparison together.
const DRIFT_LEVEL: f64 = 0.05;
/// Each contender, and one against the other.
const DRIFT_TESTS: usize = 3;

/// Eight equal signs come once in 128 times by chance.
const GROWTH_BLOCKS_MIN: usize = 8;
/// Of its level, or of the whole where the gauge is a share.
const GROWTH_MIN: f64 = 0.05;

const GAUGE_PREFIX: &str = "state.";
const SHARE_SUFFIX: &str = "_share";
/// Gauges that are no measure of deferred work.
const NOT_DEFERRED: [&str; 3] = ["threads_running", "sessions", "redo_capacity_bytes"];

/// Throughput that rose or fell inside the interval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// Absent for the drift of the candidate's lead over the baseline.
    pub contender: Option<String>,
    /// Log of second half over first, with its t interval over blocks.
    pub mean: f64,
    pub low: f64,
    pub high: f64,
    pub confidence: f64,
    pub blocks: usize,
}

/// A gauge that stood higher, or lower, at the end of every trial.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Growth {
    pub contender: String,
    /// Without its prefix: `dirty_bytes`.
    pub gauge: String,
    /// Means over the trials.
    pub begin: f64,
    pub end: f64,
    pub blocks: usize,
}

/// What drifts at these points: each contender, and one against the other. Blocks before the last
/// change of the warm-up do not count. The three tests share the error, with those of `share` comparisons of a kind.
pub fn drifts(scope: &Scope, points: &[Point], share: usize) -> Vec<Trend> {
    let asked = scope.circumstances.steady_from.as_ref().filter(|_| scope.plan.method.takes(step::STEADY_STATE));
    let Some(steady_from) = asked else { return Vec::new() };
    let first = steady_from.get(scope.workload).copied().unwrap_or(1);
    let contenders = [scope.plan.baseline.as_str(), scope.candidate];
    let halves = contenders.map(|contender| -> Vec<(u32, f64)> {
        let of_block = |block| Some((block, mean_over(scope, points, contender, block)?));
        (first..=scope.plan.method.blocks).filter_map(of_block).collect()
    });
    let lead = halves[1].iter().filter_map(|(block, ours)| {
        let theirs = halves[0].iter().find(|(other, _)| other == block)?.1;
        Some(ours - theirs)
    });
    let confidence = 1.0 - DRIFT_LEVEL / (DRIFT_TESTS * share.max(1)) as f64;
    let lead = drift(None, lead.collect(), confidence);
    let values = |side: usize| halves[side].iter().map(|(_, value)| *value).collect();
    let own = [0, 1].map(|side| drift(Some(contenders[side].to_owned()), values(side), confidence));
    own.into_iter().chain([lead]).flatten().collect()
}

fn drift(contender: Option<String>, of_blocks: Vec<f64>, confidence: f64) -> Option<Trend> {
    if of_blocks.len() < DRIFT_BLOCKS_MIN {
        return None;
    }
    let mean = stats::mean(&of_blocks)?;
    let bounds = stats::t_interval(&of_blocks, confidence)?;
    let is_sure = bounds.low > 0.0 || bounds.high < 0.0;
    let is_large = mean.abs() > DRIFT_MIN.ln_1p();
    (is_sure && is_large).then_some(Trend {
        contender,
        mean,
        low: bounds.low,
        high: bounds.high,
        confidence,
        blocks: of_blocks.len(),
    })
}

/// The block's mean over all these points; absent where one of them has no figure.
fn mean_over(scope: &Scope, points: &[Point], contender: &str, block: u32) -> Option<f64> {
    let value = |point: &Point| {
        let trial = scope.records.find(scope.workload, point, contender, block)?;
        trial.metrics.get(HALF_LOG_RATIO).copied()
    };
    stats::mean(&points.iter().map(value).collect::<Option<Vec<f64>>>()?)
}

/// Gauges that drift the same way in all blocks of a contender at a point, and by enough to matter.
pub fn growths(scope: &Scope, point: &Point) -> Vec<Growth> {
    if !scope.plan.method.takes(step::STEADY_STATE) {
        return Vec::new();
    }
    let of_contender = |contender: &str| -> Vec<Growth> {
        let blocks = 1..=scope.plan.method.blocks;
        let trials = blocks.filter_map(|block| scope.records.find(scope.workload, point, contender, block));
        let trials: Vec<&TrialRecord> = trials.filter(|trial| trial.status == Status::Ok).collect();
        let names: BTreeSet<&str> =
            trials.iter().flat_map(|trial| trial.metrics.keys()).filter_map(|name| gauge_of(name)).collect();
        names.into_iter().filter_map(|gauge| growth(contender, gauge, &trials)).collect()
    };
    [scope.plan.baseline.as_str(), scope.candidate].into_iter().flat_map(of_contender).collect()
}

fn gauge_of(metric: &str) -> Option<&str> {
    let gauge = metric.strip_prefix(GAUGE_PREFIX)?.strip_suffix("_begin")?;
    (!NOT_DEFERRED.contains(&gauge)).then_some(gauge)
}

fn growth(contender: &str, gauge: &str, trials: &[&TrialRecord]) -> Option<Growth> {
    let reading =
        |trial: &&TrialRecord, edge: &str| trial.metrics.get(&format!("{GAUGE_PREFIX}{gauge}_{edge}")).copied();
    let both = |trial: &&TrialRecord| Some((reading(trial, "begin")?, reading(trial, "end")?));
    let edges: Vec<(f64, f64)> = trials.iter().filter_map(both).collect();
    let all = |way: fn(&(f64, f64)) -> bool| edges.iter().all(way);
    if edges.len() < GROWTH_BLOCKS_MIN || !(all(|(begin, end)| end > begin) || all(|(begin, end)| end < begin)) {
        return None;
    }
    let (begins, ends): (Vec<f64>, Vec<f64>) = edges.iter().copied().unzip();
    let (begin, end) = (stats::mean(&begins)?, stats::mean(&ends)?);
    let level = if gauge.ends_with(SHARE_SUFFIX) { 1.0 } else { begin.abs().max(end.abs()) };
    ((end - begin).abs() > GROWTH_MIN * level).then(|| Growth {
        contender: contender.to_owned(),
        gauge: gauge.to_owned(),
        begin,
        end,
        blocks: edges.len(),
    })
}
