//! The order of trials as a drawing: when each ran, whose it was, and what was odd about it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use minijinja::{Value, context};

use super::chart::{LEFT, RIGHT, Scale, TOP, ticks};
use crate::{Evidence, circumstances, wording};
use record::format::{Status, TrialRecord, point_text};

const WIDTH: f64 = 900.0;
const ROW: f64 = 26.0;
/// A trial of a long run would be thinner than a line.
const MARK_MIN: f64 = 1.5;

/// One row for each contender over the minutes of the run; `None` where no trial has a time.
pub fn strip(evidence: &Evidence) -> Option<Value> {
    let begun: Timestamp = evidence.trials.measured().iter().filter_map(|trial| trial.started_at.parse().ok()).min()?;
    let from = |time: &str| Some(time.parse::<Timestamp>().ok()?.duration_since(begun).as_secs_f64() / 60.0);
    let spans: Vec<(&TrialRecord, f64, f64)> = evidence
        .trials
        .measured()
        .iter()
        .filter_map(|trial| Some((trial, from(&trial.started_at)?)))
        .map(|(trial, from)| (trial, from, from + trial.seconds() / 60.0))
        .collect();
    let last = spans.iter().map(|(_, _, end)| *end).max_by(f64::total_cmp)?;
    let x = Scale {
        low: 0.0,
        high: last.max(0.1),
        start: LEFT,
        end: WIDTH - (super::chart::WIDTH - RIGHT),
        logarithmic: false,
    };
    let contenders = &evidence.plan.contenders;
    let bottom = TOP + ROW * contenders.len() as f64;
    let repeated_as = circumstances::repeated_as(evidence.trials.measured());
    let mark = |(trial, from, to): &(&TrialRecord, f64, f64)| {
        let row = contenders.iter().position(|contender| contender.name == trial.contender)?;
        let (from, to) = (x.place(*from), x.place(*to));
        Some(context! {
            x => from, width => (to - from).max(MARK_MIN), y => TOP + ROW * row as f64 + 4.0, height => ROW - 8.0, color => row % 6,
            kind => kind(trial, &repeated_as), title => title(trial, &repeated_as),
        })
    };
    let rows = contenders.iter().enumerate().map(|(index, contender)| {
        context! { name => contender.name, y => TOP + ROW * (index as f64 + 0.5) + 4.0, color => index % 6 }
    });
    Some(context! {
        width => WIDTH, height => bottom + 46.0, left => x.start, right => x.end, top => TOP, bottom,
        x_ticks => ticks(&x, &x.ticks()), x_title => "minutes since the first trial began",
        rows => rows.collect::<Vec<Value>>(), marks => spans.iter().filter_map(mark).collect::<Vec<Value>>(),
        blocks => blocks(&spans).into_iter().map(|from| x.place(from)).collect::<Vec<f64>>(),
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
        TrialRecord { flags, .. } if !flags.is_empty() => "flagged",
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
    let notes: Vec<String> = trial.flags.iter().cloned().chain(circumstances::repetition(trial, repeated_as)).collect();
    let failed = if trial.status == Status::Failed { ", failed" } else { "" };
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    format!("{place}{failed}{notes}")
}

/// `3 flagged, 1 failed`: what the marks in the strip are, for those who do not see it.
pub fn summary(evidence: &Evidence) -> String {
    let count = |wanted: &dyn Fn(&&TrialRecord) -> bool| evidence.trials.measured().iter().filter(wanted).count();
    let repeated_as = circumstances::repeated_as(evidence.trials.measured());
    format!(
        "{}: {} failed, {} flagged, {} repeated",
        wording::count(evidence.trials.measured().len(), "trial"),
        count(&|trial| trial.status == Status::Failed),
        count(&|trial| !trial.flags.is_empty()),
        count(&|trial| repeated_as.contains_key(&trial.trial)),
    )
}
