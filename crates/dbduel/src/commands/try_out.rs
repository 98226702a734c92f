//! `dbduel plan --try`: what each statement of the user's scripts brings, once, on each contender.

use std::path::Path;

use anyhow::Context;
use campaign::{Tried, TriedContenders};
use experiment::Experiment;
use experiment::plan::Plan;
use load::{TriedOutcome, TriedStatement, TriedTransaction};
use record::format::StatementPlan;
use report::sentences::plans::plan_lines;
use report::visible;

use super::run::failed;
use super::{Failure, note, print};
use crate::cli::exit;
use crate::progress_bar::Stderr;

/// Columns of a statement's text; more is cut.
const SQL_WIDTH: usize = 52;

pub fn try_out(experiment: &Experiment, plan: &Plan, file: &Path) -> Result<u8, Failure> {
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let tried = campaign::try_out(experiment, plan, file, Stderr::boxed(), &interrupted).map_err(failed)?;
    print(&text(&tried))?;
    let unasked = tried.iter().filter_map(|(_, tried)| tried.as_ref().err());
    unasked.for_each(|error| note(&format!("error: {error:#}")));
    let is_whole = tried.iter().all(|(_, tried)| tried.as_ref().is_ok_and(|tried| tried.iter().all(is_right)));
    Ok(if is_whole { exit::DONE } else { exit::NOT_MEASURED })
}

fn is_right(tried: &Tried) -> bool {
    tried.transactions.iter().all(|one| one.failure.is_none())
}

fn text(contenders: &TriedContenders) -> String {
    let answered = contenders.iter().filter_map(|(name, tried)| Some((name, tried.as_ref().ok()?)));
    let mut text = String::new();
    for (name, workloads) in answered {
        for Tried { workload, transactions, plans } in workloads {
            let title = if workloads.len() > 1 { format!("{name}, {workload}") } else { name.clone() };
            text += &format!("{title}\n");
            transactions.iter().for_each(|one| text += &transaction(one));
            text += &self::plans(plans);
            text.push('\n');
        }
    }
    if !text.is_empty() {
        text += "Rows: returned, or found by a change. Times are those of a first call, so take\n\
                 them as hints. Numbers that a sequence or AUTO_INCREMENT gave away stay used.\n";
    }
    text
}

/// How the server runs them, with values of a fixed draw.
fn plans(plans: &[StatementPlan]) -> String {
    let plan = |plan: &StatementPlan| {
        let steps = plan_lines(plan).into_iter().map(|line| format!("    {}\n", visible(&line)));
        format!("  {}\n{}", plan.statement, steps.collect::<String>())
    };
    let plans: String = plans.iter().map(plan).collect();
    if plans.is_empty() { plans } else { format!("\n  plans\n{plans}") }
}

fn transaction(tried: &TriedTransaction) -> String {
    let state = match (&tried.failure, tried.lasting.is_empty()) {
        (Some(_), _) => "failed",
        (None, true) => "rolled back",
        (None, false) => "not wholly rolled back",
    };
    let mut text = format!("\n  {}: {state}\n", tried.name);
    text += &format!("  {:>5}  {:SQL_WIDTH$}  {:>9}  {:>9}\n", "line", "statement", "rows", "ms");
    tried.statements.iter().for_each(|one| text += &statement(one));
    tried.failure.iter().for_each(|why| text += &format!("  failed: {}\n", why.replace('\n', "\n  ")));
    tried.lasting.iter().for_each(|what| text += &format!("  cannot be rolled back: {}\n", on_one_line(what)));
    text
}

fn statement(tried: &TriedStatement) -> String {
    let (rows, ms) = match tried.outcome {
        TriedOutcome::Answered { rows, took_ns } => (rows.to_string(), format!("{:.2}", took_ns as f64 / 1e6)),
        TriedOutcome::Failed => ("failed".to_owned(), "-".to_owned()),
        TriedOutcome::HeldBack => ("not sent".to_owned(), "-".to_owned()),
        TriedOutcome::NotReached => ("not run".to_owned(), "-".to_owned()),
    };
    let label = tried.label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
    let sql = shortened(&format!("{label}{}", tried.sql));
    format!("  {:>5}  {sql:SQL_WIDTH$}  {rows:>9}  {ms:>9}\n", tried.line)
}

fn on_one_line(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// No longer than its column.
fn shortened(sql: &str) -> String {
    let line = on_one_line(sql);
    if line.chars().count() <= SQL_WIDTH {
        return line;
    }
    line.chars().take(SQL_WIDTH - 1).chain(['…']).collect()
}
