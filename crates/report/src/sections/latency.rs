//! Latency of each contender on its own: quantiles of the trials, stalls, and the longest one always.

use analysis::{Cell, WorkloadConclusions};

use super::{Topic, by_workload, levels};
use crate::Evidence;
use crate::document::{Block, Column, Section, Table};
use crate::wording;

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

/// What stands beside them, as means over trials.
const STALLS: [(&str, &str); 3] = [
    ("longest_stall_ms", "longest stall ms"),
    ("latency_ms_max", "max ms"),
    ("stalled_seconds_share", "seconds below half the median"),
];

/// The same, where the workload has a `latency_limit`.
const LIMITED: [(&str, &str); 2] = [("above_limit", "above limit"), ("transactions.skipped", "skipped")];

const ABOUT_CORRECTED: &str = "Corrected (sensitivity): a client of a closed loop sends nothing while it waits, so a stall counts once; here the \
     transactions are added that it would have begun meanwhile, one every (clients / tps) seconds, its mean interval \
     (Tene's correction by an expected interval). It shows what the loop may hide, and no verdict rests on it.";

/// The latency that gets a chart of its own.
const DRAWN: &str = "latency_ms_p95";

pub struct Latency;

impl Topic for Latency {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        Section::of("latency", "Latency", by_workload(evidence, |workload| of_workload(evidence, workload)))
    }
}

/// Nothing where no transaction was timed by itself.
fn of_workload(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<Block> {
    let quantiles = told(workload, &QUANTILES);
    if quantiles.is_empty() {
        return Vec::new();
    }
    let title = wording::metric_title(DRAWN, workload.runs_from_due());
    let caption = "Mean over blocks of each trial's own quantile, with its 95 % CI (t). Lower is better.";
    let chart = levels::curves(evidence, workload, DRAWN, &title, caption.to_owned());
    let mut body: Vec<Block> = chart.map(|chart| Block::OnPage(vec![Block::chart(chart)])).into_iter().collect();
    let corrected = corrected(workload);
    body.push(Block::Table(table(workload, &quantiles, corrected)));
    body.push(Block::note(about(workload)));
    body.extend(corrected.map(|_| Block::note(ABOUT_CORRECTED)));
    body
}

type Metric = (&'static str, &'static str);

fn table(workload: &WorkloadConclusions, quantiles: &[Metric], corrected: Option<Metric>) -> Table {
    let mut stalls = told(workload, &STALLS);
    let limited = told(workload, &LIMITED);
    if limited.first() == LIMITED.first() {
        stalls.extend(limited);
    }
    let priority = |title: &str| match title {
        "p95 ms" | "longest stall ms" => 1,
        "p99 ms" => 2,
        "p50 ms" => 3,
        _ => 4,
    };
    let columns = quantiles.iter().chain(&stalls).chain(&corrected);
    let columns = columns.map(|(_, title)| Column::number(*title, priority(title)));
    let names = [Column::name("contender", 0), Column::name(levels::variable(workload).unwrap_or("level"), 0)];
    let row = |cell: &Cell| {
        let of_quantile = quantiles.iter().map(|(metric, _)| wording::quantile(cell, metric));
        let of_stall = stalls.iter().map(|(metric, _)| wording::stall(cell, metric));
        let corrected = corrected.iter().map(|(metric, _)| wording::quantile(cell, metric));
        let names = [cell.contender.clone(), levels::level(workload, &cell.point)];
        names.into_iter().chain(of_quantile).chain(of_stall).chain(corrected).collect::<Vec<_>>()
    };
    Table::new(names.into_iter().chain(columns).collect::<Vec<_>>()).with_rows(workload.cells.iter().map(row))
}

fn about(workload: &WorkloadConclusions) -> String {
    let bounded = workload.cells.iter().flat_map(|cell| cell.quantiles.values()).find(|one| one.bounds.is_some());
    let interval = bounded.map_or(String::new(), |one| {
        format!(", with its interval from their order ({})", wording::percent(one.confidence))
    });
    let from = match workload.runs_from_due() {
        true => "Response time runs from the moment a transaction was due",
        false => "The loop is closed: a client waits for its answer before it sends again, which hides queueing",
    };
    format!(
        "Quantiles are the median of the trials' own{interval}; stalls are means. A quantile stands here when 30 transactions of a \
         trial lie above it. {from}."
    )
}

/// Those that any trial has.
fn told(workload: &WorkloadConclusions, wanted: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let is_told = |metric: &str| workload.cells.iter().any(|cell| cell.metrics.contains_key(metric));
    wanted.iter().copied().filter(|(metric, _)| is_told(metric)).collect()
}

fn corrected(workload: &WorkloadConclusions) -> Option<(&'static str, &'static str)> {
    told(workload, &CORRECTED).first().copied()
}
