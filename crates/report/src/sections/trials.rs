//! All trials: their order as a chart, those that are not as the others, and each in a row.

use std::collections::BTreeMap;

use jiff::Timestamp;
use record::format::{Status, TrialRecord, point_text};

use super::{Topic, levels};
use crate::document::{Axis, Block, Chart, Column, Key, Mark, Plot, RowKind, Scale, Section, Strip, Table, Text};
use crate::{Evidence, conditions, wording};

pub struct Trials;

impl Topic for Trials {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let mut body: Vec<Block> =
            chart(evidence).map(|chart| Block::OnPage(vec![Block::chart(chart)])).into_iter().collect();
        let flagged = flagged(evidence);
        match flagged.rows.is_empty() {
            true => body.push(Block::para("No trial carries a flag of the host.")),
            false => body.extend([Block::heading("Trials that were disturbed or repeated"), Block::Table(flagged)]),
        }
        let title =
            format!("All {} in the order in which they ran", wording::count(evidence.trials.measured().len(), "trial"));
        body.extend(Block::table(all(evidence)).map(|table| Block::OnPage(vec![Block::fold(title, vec![table])])));
        Section::of("trials", "All trials", body)
    }

    fn is_of_a_race(&self) -> bool {
        true
    }
}

fn flagged(evidence: &Evidence) -> Table {
    let repeated_as = conditions::repeated_as(evidence.trials.measured());
    let is_odd = |trial: &&TrialRecord| {
        !flags(trial).is_empty() || trial.purpose.repeats().is_some() || repeated_as.contains_key(&trial.trial)
    };
    let row = |trial: &TrialRecord| {
        let remarks = flags(trial).into_iter().filter_map(|flag| trial.remarks.get(flag)).cloned();
        let remarks = remarks.chain(conditions::repetition(trial, &repeated_as)).collect::<Vec<_>>().join("; ");
        let front =
            [trial.trial.to_string(), trial.block.to_string(), trial.contender.clone(), point_text(&trial.point)];
        front.into_iter().chain([flags(trial).join(", "), remarks]).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = evidence.trials.measured().iter().filter(is_odd).map(row).collect();
    let mut columns = vec![
        Column::name("trial", 0),
        Column::number("block", 2),
        Column::name("contender", 0),
        Column::name("level", 1),
        Column::prose("flags", 0),
        Column::prose("remarks", 0),
    ];
    if rows.iter().all(|row| row.last().is_some_and(String::is_empty)) {
        columns.pop();
    }
    let shown = columns.len();
    Table::new(columns).with_rows(rows.into_iter().map(|row| row.into_iter().take(shown)))
}

/// Those of the whole trial: what is odd about single operations stands with these (`gap:select_03`).
fn flags(trial: &TrialRecord) -> Vec<&str> {
    trial.flags.iter().map(String::as_str).filter(|flag| !flag.contains(':')).collect()
}

fn all(evidence: &Evidence) -> Table {
    let columns = [
        Column::name("trial", 0),
        Column::number("block", 2),
        Column::number("place", 3),
        Column::name("workload", 3),
        Column::name("level", 1),
        Column::name("contender", 0),
        Column::number("result", 0),
        Column::prose("flags", 2),
        Column::name("started", 4),
    ];
    let repeated_as = conditions::repeated_as(evidence.trials.measured());
    let mut table = Table::new(columns);
    let mut block = None;
    for trial in evidence.trials.measured() {
        let kind = match trial.status {
            Status::Failed => RowKind::Failed,
            _ if block.is_some_and(|block| block != trial.block) => RowKind::First,
            _ => RowKind::Plain,
        };
        block = Some(trial.block);
        let notes = trial.flags.iter().cloned().chain(conditions::repetition(trial, &repeated_as));
        let numbers = [trial.trial, trial.block, trial.order].map(|number| number.to_string());
        let names =
            [trial.workload.clone(), point_text(&trial.point), trial.contender.clone(), result(evidence, trial)];
        let rest = [notes.collect::<Vec<_>>().join(", "), trial.started_at.clone()];
        table.push(kind, numbers.into_iter().chain(names).chain(rest));
    }
    table
}

fn result(evidence: &Evidence, trial: &TrialRecord) -> String {
    if let Some(failure) = &trial.failure {
        return format!("failed: {}: {}", failure.step, failure.message);
    }
    let record = evidence.plan.workloads.iter().find(|record| record.label == trial.workload);
    let primary = record.map(|record| record.primary());
    let primary = primary.and_then(|metric| Some((trial.metrics.get(&metric.name).copied()?, metric.unit)));
    primary.map_or("-".to_owned(), |(value, unit)| format!("{} {unit}", wording::number(value)))
}

/// One lane for each contender over the minutes of the run; None where no trial has a time.
fn chart(evidence: &Evidence) -> Option<Chart> {
    let begun: Timestamp = evidence.trials.measured().iter().filter_map(|trial| trial.started_at.parse().ok()).min()?;
    let from = |time: &str| Some(time.parse::<Timestamp>().ok()?.duration_since(begun).as_secs_f64() / 60.0);
    let spans: Vec<(&TrialRecord, f64, f64)> = evidence
        .trials
        .measured()
        .iter()
        .filter_map(|trial| Some((trial, from(&trial.started_at)?)))
        .map(|(trial, from)| (trial, from, from + trial.seconds() / 60.0))
        .collect();
    let contenders = &evidence.plan.contenders;
    let repeated_as = conditions::repeated_as(evidence.trials.measured());
    let mark = |(trial, from, to): &(&TrialRecord, f64, f64)| {
        let lane = contenders.iter().position(|contender| contender.name == trial.contender)?;
        let (class, title) = (kind(trial, &repeated_as), title(trial, &repeated_as));
        Some(Mark { lane, from: *from, to: *to, class, title })
    };
    let marks: Vec<Mark> = spans.iter().filter_map(mark).collect();
    let odd = [("flagged", "flagged"), ("failed", "failed"), ("replaced", "repeated later")];
    let odd = odd.into_iter().filter(|(class, _)| marks.iter().any(|mark| mark.class == *class));
    let odd = odd.map(|(class, text)| Key::class(&format!("{class}-key"), text));
    Some(Chart {
        title: "When each trial ran".to_owned(),
        legend: levels::legend(evidence).into_iter().chain(odd.collect::<Vec<_>>()).collect(),
        caption: Text::plain(
            "One row for each contender, in the order of the legend; a line where each block begins. The order within a block is random.",
        ),
        alt: summary(evidence),
        table: None,
        plot: Plot::Strip(Strip {
            x: Axis { title: "minutes since the first trial began".to_owned(), scale: Scale::Zero, ticks: Vec::new() },
            lanes: contenders.len(),
            lines: blocks(&spans),
            marks,
        }),
    })
}

/// Where each block begins. What is repeated at the end belongs to an earlier one.
fn blocks(spans: &[(&TrialRecord, f64, f64)]) -> Vec<f64> {
    let mut first: BTreeMap<u32, f64> = BTreeMap::new();
    for (trial, from, _) in spans {
        first.entry(trial.block).or_insert(*from);
    }
    first.into_values().collect()
}

fn kind(trial: &TrialRecord, repeated_as: &BTreeMap<u32, u32>) -> &'static str {
    match trial {
        TrialRecord { status: Status::Failed, .. } => "failed",
        _ if repeated_as.contains_key(&trial.trial) => "replaced",
        _ if !flags(trial).is_empty() => "flagged",
        _ => "plain",
    }
}

fn title(trial: &TrialRecord, repeated_as: &BTreeMap<u32, u32>) -> String {
    let place = format!(
        "trial {}, block {}, place {}: {}, {}, {}",
        trial.trial,
        trial.block,
        trial.order,
        trial.contender,
        trial.workload,
        point_text(&trial.point)
    );
    let notes: Vec<String> = trial.flags.iter().cloned().chain(conditions::repetition(trial, repeated_as)).collect();
    let failed = if trial.status == Status::Failed { ", failed" } else { "" };
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("{place}{failed}{notes}")
}

/// `3 flagged, 1 failed`: what the marks in the strip are, for those who do not see it.
fn summary(evidence: &Evidence) -> String {
    let count = |wanted: &dyn Fn(&&TrialRecord) -> bool| evidence.trials.measured().iter().filter(wanted).count();
    let repeated_as = conditions::repeated_as(evidence.trials.measured());
    format!(
        "{}: {} failed, {} flagged, {} repeated",
        wording::count(evidence.trials.measured().len(), "trial"),
        count(&|trial| trial.status == Status::Failed),
        count(&|trial| !flags(trial).is_empty()),
        count(&|trial| repeated_as.contains_key(&trial.trial)),
    )
}
