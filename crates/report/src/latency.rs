//! Latency of each contender on its own, as the text and the page tell it.

use analysis::{Cell, WorkloadConclusions};
use record::format::point_text;

use super::wording;

/// Quantiles of latency that are told as the median of the trials' own.
const QUANTILES: [(&str, &str); 4] = [
    ("latency_ms_p50", "p50 ms"),
    ("latency_ms_p95", "p95 ms"),
    ("latency_ms_p99", "p99 ms"),
    ("latency_ms_p999", "p99.9 ms"),
];

/// One of them as a client of a closed loop might have seen it that did not wait for its answers: the highest
/// that is told and not the rarest.
const CORRECTED: [(&str, &str); 3] = [
    ("corrected_ms_p99", "p99 corrected (sensitivity) ms"),
    ("corrected_ms_p95", "p95 corrected (sensitivity) ms"),
    ("corrected_ms_p50", "p50 corrected (sensitivity) ms"),
];

/// What stands beside them on the page, as means over trials.
pub const STALLS: [(&str, &str); 3] = [
    ("latency_ms_max", "max ms"),
    ("longest_stall_ms", "longest stall ms"),
    ("stalled_seconds_share", "seconds below half the median"),
];

/// Said below the column, wherever it stands.
pub const ABOUT_CORRECTED: &str = "Corrected (sensitivity): a client of a closed loop sends nothing while it waits, so a stall counts once; here the \
     transactions are added that it would have begun meanwhile, one every (clients / tps) seconds, its mean interval \
     (Tene's correction by an expected interval). It says what the loop may hide, and no word rests on it";

pub struct Table {
    pub columns: Vec<&'static str>,
    pub rows: Vec<Row>,
    /// Of the intervals, where any has one.
    pub confidence: Option<f64>,
    pub is_corrected: bool,
}

pub struct Row {
    pub contender: String,
    pub point: String,
    pub values: Vec<String>,
}

/// Quantiles, and behind them those of `means` that there are; `None` where nothing was timed one by one.
pub fn table(workload: &WorkloadConclusions, means: &[(&'static str, &'static str)]) -> Option<Table> {
    let quantiles = told(workload, &QUANTILES);
    let (corrected, stalls) = (corrected(workload), told(workload, means));
    let row = |cell: &Cell| {
        let of_quantile = quantiles.iter().chain(&corrected).map(|(metric, _)| wording::quantile(cell, metric));
        let of_stall = stalls.iter().map(|(metric, _)| wording::stall(cell, metric));
        Row {
            contender: cell.contender.clone(),
            point: point_text(&cell.point),
            values: of_quantile.chain(of_stall).collect(),
        }
    };
    let confidence = workload.cells.iter().flat_map(|cell| cell.quantiles.values()).find(|one| one.bounds.is_some());
    (!quantiles.is_empty()).then(|| Table {
        columns: quantiles.iter().chain(&corrected).chain(&stalls).map(|(_, title)| *title).collect(),
        rows: workload.cells.iter().map(row).collect(),
        confidence: confidence.map(|one| one.confidence),
        is_corrected: corrected.is_some(),
    })
}

/// Those that any trial has.
fn told(workload: &WorkloadConclusions, wanted: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let is_told = |metric: &str| workload.cells.iter().any(|cell| cell.metrics.contains_key(metric));
    wanted.iter().copied().filter(|(metric, _)| is_told(metric)).collect()
}

fn corrected(workload: &WorkloadConclusions) -> Option<(&'static str, &'static str)> {
    told(workload, &CORRECTED).first().copied()
}
