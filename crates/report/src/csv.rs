//! One line per trial, for a spreadsheet or R. No conclusions: only what was measured.

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use record::format::{Status, TrialRecord};

use super::{Evidence, Options, Report};

const FIRST_COLUMNS: [&str; 11] = [
    "trial",
    "block",
    "order",
    "workload",
    "contender",
    "status",
    "flags",
    "failure_step",
    "failure",
    "started_at",
    "finished_at",
];

pub const CSV: Report = Report::new(
    "csv",
    "one line per trial with all its metrics, for a spreadsheet",
    "dbduel report last --format csv --out trials.csv",
    write,
);

fn write(evidence: &Evidence, _: &Options) -> Result<String> {
    let variables: BTreeSet<&String> = evidence.trials.measured().iter().flat_map(|trial| trial.point.keys()).collect();
    let metrics: BTreeSet<&String> = evidence.trials.measured().iter().flat_map(|trial| trial.metrics.keys()).collect();
    let mut csv = csv::Writer::from_writer(Vec::new());
    let names = variables.iter().chain(&metrics).map(|name| name.as_str());
    csv.write_record(FIRST_COLUMNS.into_iter().map(str::to_owned).chain(names.map(guarded)))?;
    for trial in evidence.trials.measured() {
        let variables = variables.iter().map(|name| trial.point.get(*name).map(u64::to_string).unwrap_or_default());
        let metrics = metrics.iter().map(|name| trial.metrics.get(*name).map(f64::to_string).unwrap_or_default());
        csv.write_record(first_cells(trial).into_iter().chain(variables).chain(metrics))?;
    }
    String::from_utf8(csv.into_inner()?).context("a record is not UTF-8")
}

fn first_cells(trial: &TrialRecord) -> [String; 11] {
    let status = if trial.status == Status::Ok { "ok" } else { "failed" };
    let failure = trial.failure.clone();
    let (step, message) = failure.map(|failure| (failure.step, failure.message)).unwrap_or_default();
    [
        trial.trial.to_string(),
        trial.block.to_string(),
        trial.order.to_string(),
        guarded(&trial.workload),
        guarded(&trial.contender),
        status.to_owned(),
        guarded(&trial.flags.join(" ")),
        guarded(&step),
        guarded(&message),
        guarded(&trial.started_at),
        guarded(&trial.finished_at),
    ]
}

/// A text that no spreadsheet takes for a formula; numbers need no guard.
pub fn guarded(text: &str) -> String {
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@']) || text.starts_with(['\t', '\r', '\n']);
    if is_formula { format!("'{text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_no_formula() {
        let check = |text: &str, expected: &str| assert_eq!(guarded(text), expected);
        for start in ["=", "+", "-", "@", "\t", "\r", " ="] {
            check(&format!("{start}cmd|' /C calc'!A0"), &format!("'{start}cmd|' /C calc'!A0"));
        }
        check("5.6, performance schema off", "5.6, performance schema off");
        check("", "");
    }
}
