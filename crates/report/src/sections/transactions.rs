//! What became of each type of transaction, for workloads that count them apart.

use analysis::{Cell, WorkloadConclusions};
use record::format::{WorkloadRecord, point_text};

use super::{Topic, by_workload, stopped};
use crate::document::{Block, Column, RowKind, Section, Table};
use crate::{Evidence, kinds, tpcc, wording};

const ABOUT: &str = "All trials of a contender at a level together: counts are sums, means are over all transactions, and p90 is the mean \
                     of the trials' own.";

pub struct Transactions;

impl Topic for Transactions {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        Section::of(
            "transactions",
            "Types of transactions",
            by_workload(evidence, |workload| of_workload(evidence, workload)),
        )
    }
}

fn of_workload(evidence: &Evidence, workload: &WorkloadConclusions) -> Vec<Block> {
    let record = evidence.plan.workloads.iter().find(|record| record.label == workload.workload);
    let Some(record) = record.filter(|record| !record.kinds.is_empty()) else { return Vec::new() };
    let mut body = vec![Block::Table(table(workload, record)), Block::note(ABOUT)];
    if record.kinds.iter().any(|kind| kind.p90_limit_s.is_some()) {
        body.push(Block::note("Limit met: nine of ten answers came within the time that the workload sets."));
    }
    let notes = record.notes.iter().cloned().chain(remarks(workload, record));
    body.extend(Block::list(stopped(notes.collect())));
    body
}

fn table(workload: &WorkloadConclusions, record: &WorkloadRecord) -> Table {
    let names = [Column::name("contender", 0), Column::name("level", 0), Column::name("type", 0)];
    let numbers = kinds::COLUMNS.into_iter().skip(1).zip([2, 4, 5, 6, 3, 1]);
    let numbers = numbers.map(|(title, priority)| Column::number(title, priority));
    let limit = Column::number(kinds::LIMIT_COLUMN, 1);
    let mut table = Table::new(names.into_iter().chain(numbers).chain([limit]).collect::<Vec<_>>());
    for cell in &workload.cells {
        let clients = wording::count(record.clients_at(&cell.point) as usize, "client");
        let named = cell.point.contains_key("clients") || cell.point.is_empty();
        let level = match (cell.point.is_empty(), named) {
            (true, _) => clients,
            (_, true) => point_text(&cell.point),
            _ => format!("{}, {clients}", point_text(&cell.point)),
        };
        for (place, row) in kinds::rows(&record.kinds, &cell.kinds).into_iter().enumerate() {
            let kind = if place == 0 { RowKind::First } else { RowKind::Plain };
            table.push(kind, [cell.contender.clone(), level.clone()].into_iter().chain(row));
        }
    }
    table
}

/// Skipped Deliveries, and how near the rate came to what think times allow.
fn remarks(workload: &WorkloadConclusions, record: &WorkloadRecord) -> Vec<String> {
    let of = |cell: &Cell, text: String| format!("`{}`, {}: {text}", cell.contender, point_text(&cell.point));
    let skipped = workload.cells.iter().filter_map(|cell| {
        let skipped = tpcc::skipped_deliveries(|name| cell.metrics.get(name).map(|summary| summary.mean))?;
        Some(of(cell, format!("mean of trials: {skipped}")))
    });
    let is_paced = tpcc::is_paced(|name| wording::option(record, name));
    let reached = workload
        .cells
        .iter()
        .filter(|_| is_paced)
        .filter_map(|cell| Some(of(cell, tpcc::efficiency(cell.metrics.get("nopm_per_warehouse")?.mean))));
    skipped.chain(reached).collect()
}
