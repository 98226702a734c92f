//! sql-bench's comparison table: stored runs and the files of the classic suite, column by column.

mod log;
mod table;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use table::{COLUMNS_MAX, Operation, Program};
pub use table::{Column, Layout, common_operations, mixes_suites, render, total_of, total_s};

use analysis::Cell;
use record::format::operations::{
    ESTIMATED, ESTIMATED_PROGRAM, GAP, SECONDS, WRONG, flagged, operation_metric, operation_of, program_of,
};
use record::format::{ContenderRecord, Status, WorkloadRecord};
use record::metric::counted;
use record::plain_file;

use super::{Evidence, Options, Report, wording};

/// The version of the suite whose operations dbduel runs.
const SUITE: &str = "2.15";

pub const STORED: Report = Report::new(
    "sqlbench",
    "sql-bench's comparison table, a column per contender; --beside adds columns from RUN files of the classic suite",
    "dbduel report last --format sqlbench --relative",
    write,
);

fn write(evidence: &Evidence, options: &Options) -> Result<String> {
    let own = columns(evidence);
    if own.is_empty() {
        return Ok("this run has no trial of sql-bench, and its table has no other workload\n".to_owned());
    }
    let columns: Vec<Column> = own.into_iter().chain(options.beside.iter().cloned()).collect();
    expect_to_fit(&columns)?;
    Ok(render(&columns, &options.table))
}

/// Wider tables than this were never printed.
pub fn expect_to_fit(columns: &[Column]) -> Result<()> {
    ensure!(columns.len() <= COLUMNS_MAX, "{} columns do not fit the table: {COLUMNS_MAX} at most", columns.len());
    Ok(())
}

/// A file of the classic suite as a column.
pub fn read_log(path: &Path) -> Result<Column> {
    let bytes = plain_file::read(path, plain_file::TEXT_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))?;
    // Comments may be in any encoding of their time; figures are ASCII.
    let text = String::from_utf8_lossy(&bytes);
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(log::column(&file, &text)?)
}

/// What a run measured, one column per contender: means over its trials. Contenders without a trial have none.
pub fn columns(evidence: &Evidence) -> Vec<Column> {
    let passes = evidence.plan.workloads.iter().filter(|workload| workload.one_pass);
    let several = passes.clone().count() > 1;
    let of_workload = |workload| {
        let of_contender = move |contender| column(evidence, workload, contender, several);
        evidence.plan.contenders.iter().filter_map(of_contender)
    };
    passes.flat_map(of_workload).collect()
}

fn column(
    evidence: &Evidence,
    workload: &WorkloadRecord,
    contender: &ContenderRecord,
    several: bool,
) -> Option<Column> {
    let conclusions = evidence.conclusions.workloads.iter().find(|known| known.workload == workload.label)?;
    let cell = conclusions.cells.iter().find(|cell| cell.contender == contender.name && cell.trials_ok > 0)?;
    let flags = flags(evidence, &workload.label, &contender.name);
    let has = |kind: &str, name: &str| flags.iter().any(|flag| flagged(flag, kind) == Some(name));
    let operation = |name: &str| {
        let mean = |what: &str| cell.metrics.get(&operation_metric(name, what)).map(|summary| summary.mean);
        Some(Operation {
            seconds: mean(SECONDS)?,
            count: counted(mean("count")?.round()),
            estimated: has(ESTIMATED, name),
            // A mean over trials of which one did not do it is no figure of that work either.
            wrong: has(WRONG, name) || has(GAP, name),
        })
    };
    let program = |metric: &str, name: &str| {
        let seconds = cell.metrics.get(metric)?.mean;
        Some((name.to_owned(), Program { seconds, estimated: has(ESTIMATED_PROGRAM, name) }))
    };
    let (title, version) = match evidence.run.contenders.get(&contender.name) {
        Some(facts) => (&facts.title, &facts.version),
        None => (&contender.kind, &contender.version),
    };
    let name = if several { format!("{}, {}", contender.name, workload.label) } else { contender.name.clone() };
    Some(Column {
        name,
        suite: SUITE.to_owned(),
        version: format!("{title} {}", version.replace('-', " ")),
        arguments: arguments(workload),
        comments: comments(contender, cell),
        limits_from: String::new(),
        programs: cell.metrics.keys().filter_map(|metric| program(metric, program_of(metric)?)).collect(),
        operations: cell
            .metrics
            .keys()
            .filter_map(|metric| operation_of(metric))
            .filter_map(|name| Some((name.to_owned(), operation(name)?)))
            .collect(),
        not_run: Default::default(),
    })
}

/// Everything that was flagged in any trial of a contender.
fn flags<'a>(evidence: &'a Evidence, workload: &str, contender: &str) -> BTreeSet<&'a str> {
    let ours =
        evidence.trials.measured().iter().filter(|trial| trial.workload == workload && trial.contender == contender);
    ours.filter(|trial| trial.status == Status::Ok).flat_map(|trial| &trial.flags).map(String::as_str).collect()
}

/// The options that shape the work, as the suite's command line has them.
fn arguments(workload: &WorkloadRecord) -> String {
    let option = |name: &str| wording::option(workload, name).unwrap_or_default();
    let switches = [("small", "--small-test"), ("fast", "--fast")];
    let mut words: Vec<String> =
        switches.iter().filter(|(name, _)| option(name) == "true").map(|(_, word)| (*word).to_owned()).collect();
    let create_options = option("create_options");
    if !create_options.is_empty() {
        words.push(format!("--create-options={create_options}"));
    }
    words.join(" ")
}

fn comments(contender: &ContenderRecord, cell: &Cell) -> String {
    let passes = format!("mean of {}", wording::count_of(cell.trials_ok, "pass", "passes"));
    let settings = contender.settings.iter().map(|(key, value)| format!("{key} = {value}"));
    std::iter::once(passes).chain(settings).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
