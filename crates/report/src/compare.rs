//! Results that were not measured together, side by side.
//!
//! They have no pairs, so that nothing can be said about chance: there are ratios, and never a word.

use std::collections::BTreeSet;

use anyhow::Result;

use super::document::{self, Table};
use super::render::text::{self, Layout as Terminal};
use super::sqlbench::{self, Column, Layout};
use super::{Evidence, wording};
use analysis::{Caveat, Cell, WorkloadConclusions, less_is_better};
use record::format::figures::fixed;
use record::format::{Point, point_text};

const UNPAIRED: &str = "These results were measured at different times, perhaps on different hosts: nothing separates a difference \
                        of the servers \
                        from one of the circumstances. So there are ratios, and no verdicts.";

/// Two stored runs, by the operations of sql-bench where both have nothing else.
pub fn of_runs(names: [&str; 2], evidence: [&Evidence; 2], width: usize) -> Result<String> {
    if !evidence.iter().all(|one| one.plan.is_all_passes()) {
        return Ok(runs(names, evidence, width));
    }
    let both: Vec<Column> = evidence.iter().flat_map(|one| sqlbench::columns(one)).collect();
    sqlbench::expect_to_fit(&both)?;
    Ok(columns(&both, &Layout::default(), width))
}

/// Two stored runs, each under the name it was asked for by. The first one is the baseline.
pub fn runs(names: [&str; 2], evidence: [&Evidence; 2], width: usize) -> String {
    let mut lines = title(names.as_slice(), width);
    for (name, one) in names.iter().zip(evidence) {
        let host = &one.run.host;
        let about_run =
            format!("{name}: {}, {}, {} cores, {}", one.run.started_at, host.cpu_model, host.cores, host.kernel);
        lines.extend(crate::wrapped(&about_run, width));
    }
    let mut shared = false;
    for first in &evidence[0].conclusions.workloads {
        let same = |other: &&WorkloadConclusions| other.workload == first.workload && other.metric == first.metric;
        let Some(second) = evidence[1].conclusions.workloads.iter().find(same) else { continue };
        shared = true;
        lines.push(String::new());
        lines.push(format!("{}: {}", first.workload, wording::primary_title(first)));
        lines.push(workload_table(names, [first, second], width));
    }
    if !shared {
        lines.push("\nThese runs share no workload, so nothing of them can be compared.".to_owned());
    }
    lines.join("\n") + "\n"
}

fn title(names: &[&str], width: usize) -> Vec<String> {
    let title = format!("{} ({})", names.join(" beside "), Caveat::Unpaired.as_str());
    [title].into_iter().chain(crate::wrapped(UNPAIRED, width)).chain([String::new()]).collect()
}

/// A row for each contender at each point of either run.
fn workload_table(names: [&str; 2], workloads: [&WorkloadConclusions; 2], width: usize) -> String {
    let metric = &workloads[0].metric;
    let unit = workloads[0].unit(metric);
    let places: BTreeSet<(&Point, &str)> = workloads
        .iter()
        .flat_map(|workload| &workload.cells)
        .map(|cell| (&cell.point, cell.contender.as_str()))
        .collect();
    let title = |name: &str| document::Column::number(format!("{name} {unit}"), 1);
    let front = [document::Column::name("level", 0), document::Column::name("contender", 0)];
    let mut table = Table::new(
        [front.to_vec(), vec![title(names[0]), title(names[1]), document::Column::number("ratio", 0)]].concat(),
    );
    for (point, contender) in places {
        let mean = |workload: &WorkloadConclusions| {
            let ours = |cell: &&Cell| &cell.point == point && cell.contender == contender;
            workload.cells.iter().find(ours)?.metrics.get(metric).map(|summary| summary.mean)
        };
        let values = workloads.map(mean);
        let figures = [wording::optional_number(values[0]), wording::optional_number(values[1]), ratio(metric, values)];
        table = table.with_rows([[point_text(point), contender.to_owned()].into_iter().chain(figures)]);
    }
    text::table(&table, Terminal::new(width, false)).join("\n")
}

/// Above 1 the second is better.
fn ratio(metric: &str, values: [Option<f64>; 2]) -> String {
    match values {
        [Some(first), Some(second)] if first > 0.0 && second > 0.0 => {
            let ratio = if less_is_better(metric) { first / second } else { second / first };
            format!("{ratio:.2}x")
        }
        _ => "-".to_owned(),
    }
}

/// Columns of sql-bench from anywhere, as its table and the ratios of their totals.
pub fn columns(columns: &[Column], layout: &Layout, width: usize) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    title(&names, width).join("\n")
        + "\n"
        + &sqlbench::render(columns, layout)
        + "\n"
        + &totals(columns).join("\n")
        + "\n"
}

/// The work that all have done is compared, and the rest is named.
fn totals(columns: &[Column]) -> Vec<String> {
    let common = sqlbench::common_operations(columns);
    let Some((first, others)) = columns.split_first() else { return Vec::new() };
    let mut lines = vec![if sqlbench::mixes_suites(columns) {
        "No totals are compared: the columns come from different versions of the suite.".to_owned()
    } else if common.is_empty() {
        "No totals are compared: no operation is in all columns with one count and right answers.".to_owned()
    } else {
        let count = wording::count(common.len(), "operation");
        format!("Totals of the {count} that all columns have, with one count and right answers; above 1 is better:")
    }];
    let total = |column: &Column| sqlbench::total_of(column, &common);
    for column in others.iter().filter(|_| !common.is_empty()) {
        let ratio = ratio("seconds", [Some(total(first)), Some(total(column))]);
        lines.push(format!(
            "  {} against {}: {ratio} ({} s, {} s)",
            column.name,
            first.name,
            fixed(total(column), 2),
            fixed(total(first), 2)
        ));
    }
    for column in columns {
        let left: Vec<&str> =
            column.operations.keys().map(String::as_str).filter(|name| !common.contains(name)).collect();
        if !left.is_empty() {
            lines.push(format!(
                "  not compared of {} ({} s in all): {}",
                column.name,
                fixed(sqlbench::total_s(column), 2),
                left.join(", ")
            ));
        }
    }
    lines
}
