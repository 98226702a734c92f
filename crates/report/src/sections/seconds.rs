//! One trial of each contender second by second: what it did, and what its server and the host did meanwhile.
//!
//! Raw, so that a stall shows as a stall. Each quantity has a chart of its own on the same seconds; what was not
//! seen of a contender has no line in it.

use analysis::latency_windows::{WindowFigures, windows};
use analysis::timeline::{Observed, QUANTITIES, Quantity, checkpoints};
use analysis::{SERIES_COLUMN, WorkloadConclusions};
use record::format::{ContenderRecord, Point, Series as Recorded, TrialRecord, point_text};

use super::{Topic, by_workload, levels};
use crate::Evidence;
use crate::document::{Axis, Block, Chart, Column, Dot, Plane, Plot, Scale, Section, Series, Style, Table, Text};
use crate::wording::{number, optional_number};

/// Rows of the table behind a chart.
const ROWS_MAX: usize = 120;

pub struct Seconds;

impl Topic for Seconds {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let body = by_workload(evidence, |workload| charts(evidence, workload).unwrap_or_default());
        Section::of("seconds", "Time series", body)
    }
}

/// A figure of each window, in ms.
type Figure = fn(&WindowFigures) -> Option<f64>;

/// In the order in which they are drawn.
const FIGURES: [(&str, Figure); 3] = [
    ("Median response time", |window| window.p50_ms),
    ("p99 of the response time", |window| window.p99_ms),
    ("Longest response time", |window| window.max_ms),
];

fn title_and_unit(of: Observed) -> (&'static str, &'static str) {
    match of {
        Observed::ServerCpu => ("CPU of the server", "cores"),
        Observed::DiskOperations => ("Disk operations on this host", "operations/s"),
        Observed::DiskBytes => ("Disk bytes on this host", "MiB/s"),
        Observed::ServerReadsAndWrites => ("Reads and writes that the server counts", "operations/s"),
        Observed::InnodbBytes => ("Bytes that InnoDB reads and writes", "MiB/s"),
        Observed::LogWritten => ("Log of changes", "MiB/s"),
        Observed::CheckpointAge => ("Log that a crash would replay", "MiB"),
        Observed::DirtyPages => ("Changed pages not yet written", "MiB"),
    }
}

/// The trials that are drawn: those of the largest point in the first block of which every contender left a
/// series.
pub struct Drawn<'a> {
    block: u32,
    point: &'a Point,
    /// In the plan's order of contenders.
    pub trials: Vec<&'a TrialRecord>,
}

pub fn drawn<'a>(evidence: &'a Evidence, workload: &'a WorkloadConclusions) -> Option<Drawn<'a>> {
    let point = workload.points.last()?;
    let of_contender = |contender: &ContenderRecord, block: u32| {
        let trial = evidence.trials.measured().iter().find(|trial| {
            (&trial.workload, &trial.contender, &trial.point, trial.block)
                == (&workload.workload, &contender.name, point, block)
        })?;
        evidence.series.get(&trial.trial).filter(|series| committed(series).is_some()).map(|_| trial)
    };
    let of_block = |block: u32| {
        let trials = evidence.plan.contenders.iter().map(|contender| of_contender(contender, block));
        Some(Drawn { block, point, trials: trials.collect::<Option<_>>()? })
    };
    (1..=evidence.plan.method.blocks).find_map(of_block)
}

/// Seconds, and what was committed in each; None where there are none.
fn committed(series: &Recorded) -> Option<Vec<(f64, f64)>> {
    let column = series.columns.iter().position(|name| name == SERIES_COLUMN)?;
    let seconds: Option<Vec<(f64, f64)>> =
        series.rows.iter().map(|row| Some((*row.first()?, *row.get(column)?))).collect();
    seconds.filter(|seconds| !seconds.is_empty())
}

/// Throughput in each second, and below it a chart for each quantity that was seen of any contender.
fn charts(evidence: &Evidence, workload: &WorkloadConclusions) -> Option<Vec<Block>> {
    let drawn = drawn(evidence, workload)?;
    let lines: Vec<Vec<(f64, f64)>> = drawn
        .trials
        .iter()
        .map(|trial| evidence.series.get(&trial.trial).and_then(committed).unwrap_or_default())
        .collect();
    let marks = marks(evidence, &drawn);
    let all = || lines.iter().flatten().map(|(second, _)| *second);
    let ends = (all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?);
    // One second is no series.
    if ends.0 == ends.1 {
        return None;
    }
    let chart = |title: &str, lines: &[Vec<(f64, f64)>], unit: &str| chart(evidence, ends, title, lines, &marks, unit);
    let place = format!("block {} at {}", drawn.block, point_text(drawn.point));
    let mut first = chart(&format!("Throughput in each second: {place}"), &lines, "committed per second")?;
    let checkpoints =
        if marks.iter().any(|marks| !marks.is_empty()) { " Dotted: a second with a checkpoint." } else { "" };
    first.caption = Text::plain(format!(
        "One trial of each contender, stalls and all: it shows behaviour and is no evidence for a difference.{checkpoints}"
    ));
    let mut body = vec![Block::para(spread(evidence, &place, &lines)), Block::OnPage(vec![Block::chart(first)])];
    let (told, window_s) = windows_of(evidence, &drawn);
    let of_windows = FIGURES.iter().filter_map(|(title, value)| {
        // In the middle of its window, whose last second may be cut off.
        let dot = |one: &WindowFigures| Some((one.start_s + one.seconds / 2.0, value(one)?));
        let lines: Vec<Vec<(f64, f64)>> = told.iter().map(|line| line.iter().filter_map(dot).collect()).collect();
        chart(&format!("{title} in windows of {} s", number(window_s)), &lines, "ms")
    });
    let of_windows: Vec<Block> = of_windows.map(Block::chart).collect();
    let panel = |quantity: &Quantity| {
        let (title, unit) = title_and_unit(quantity.of);
        chart(title, &quantity_lines(evidence, &drawn, quantity), unit)
    };
    let panels = QUANTITIES.iter().filter_map(panel);
    let panels: Vec<Block> = of_windows.into_iter().chain(panels.map(Block::chart)).collect();
    if !panels.is_empty() {
        let note = Block::note("The same trials on the same seconds; a gap is a second in which nothing was seen.");
        let panels = panels.into_iter().chain([note]).collect();
        body.push(Block::OnPage(vec![Block::fold("Latency, server and host in the same seconds", panels)]));
    }
    Some(body)
}

/// Least, median and most of the seconds of each, for who sees no chart.
fn spread(evidence: &Evidence, place: &str, lines: &[Vec<(f64, f64)>]) -> String {
    let one = |(contender, line): (&ContenderRecord, &Vec<(f64, f64)>)| {
        let mut values: Vec<f64> = line.iter().map(|(_, value)| *value).collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (values.first()?, values.last()?);
        let median = values[values.len() / 2];
        Some(format!("`{}` {} to {}, median {}", contender.name, number(*least), number(*most), number(median)))
    };
    let all: Vec<String> = evidence.plan.contenders.iter().zip(lines).filter_map(one).collect();
    format!("Committed per second, one trial of each ({place}): {}.", all.join("; "))
}

/// Response times in each window, and how long a window is. One window is no series.
fn windows_of(evidence: &Evidence, drawn: &Drawn) -> (Vec<Vec<WindowFigures>>, f64) {
    let of_trial = |trial: &&TrialRecord| {
        let longest_ms = trial.metrics.get("latency_ms_max").copied();
        evidence.windows.get(&trial.trial).and_then(|log| windows(log, longest_ms))
    };
    let told: Vec<Vec<WindowFigures>> = drawn.trials.iter().map(|trial| of_trial(trial).unwrap_or_default()).collect();
    if told.iter().all(|windows| windows.len() < 2) {
        return (Vec::new(), 0.0);
    }
    let window_s = told.iter().flatten().next().map_or(0.0, |first| first.seconds);
    (told, window_s)
}

/// A target's disks and processes are not this host's.
fn quantity_lines(evidence: &Evidence, drawn: &Drawn, quantity: &Quantity) -> Vec<Vec<(f64, f64)>> {
    let line = |(contender, trial): (&ContenderRecord, &&TrialRecord)| {
        let observed = evidence.observed.get(&trial.trial).filter(|_| !quantity.of_host || contender.target.is_none());
        observed.map_or(Vec::new(), |observed| quantity.seconds(observed))
    };
    evidence.plan.contenders.iter().zip(&drawn.trials).map(line).collect()
}

/// Seconds with a checkpoint, of each contender.
fn marks(evidence: &Evidence, drawn: &Drawn) -> Vec<Vec<f64>> {
    let of_trial = |trial: &&TrialRecord| evidence.observed.get(&trial.trial).map_or(Vec::new(), checkpoints);
    drawn.trials.iter().map(of_trial).collect()
}

/// The values of all lines, or every so many seconds of a long trial.
fn table(series: &[Series]) -> Table {
    let mut rows: Vec<(f64, Vec<Option<f64>>)> = Vec::new();
    for (line, one) in series.iter().enumerate() {
        for dot in &one.dots {
            let place = match rows.binary_search_by(|(second, _)| second.total_cmp(&dot.x)) {
                Ok(place) => place,
                Err(place) => {
                    rows.insert(place, (dot.x, vec![None; series.len()]));
                    place
                }
            };
            rows[place].1[line] = Some(dot.y);
        }
    }
    let every = rows.len().div_ceil(ROWS_MAX).max(1);
    let row = |(second, values): &(f64, Vec<Option<f64>>)| {
        let values = values.iter().map(|value| optional_number(*value));
        std::iter::once(second.to_string()).chain(values).collect::<Vec<_>>()
    };
    let names = series.iter().map(|one| Column::number(one.name.as_str(), 0));
    let columns: Vec<Column> = std::iter::once(Column::number("second", 0)).chain(names).collect();
    Table::new(columns).with_rows(rows.iter().step_by(every).map(row))
}

/// A line for each contender that has any seconds; None where nobody has.
fn chart(
    evidence: &Evidence,
    (first, last): (f64, f64),
    title: &str,
    lines: &[Vec<(f64, f64)>],
    marks: &[Vec<f64>],
    unit: &str,
) -> Option<Chart> {
    let contenders = evidence.plan.contenders.iter().enumerate();
    let series = contenders.zip(lines).zip(marks).filter(|((_, line), _)| !line.is_empty());
    let series = series.map(|(((color, contender), line), marks)| {
        let inside = line.iter().filter(|(second, _)| (first..=last).contains(second));
        Series {
            name: contender.name.clone(),
            color,
            style: Style::Line,
            dots: inside.map(|(second, value)| Dot { x: *second, y: *value, ..Dot::default() }).collect(),
            law: Vec::new(),
            marks: marks.clone(),
            mark_title: format!("checkpoint of {}", contender.name),
        }
    });
    let series: Vec<Series> = series.collect();
    (!series.is_empty()).then(|| Chart {
        title: title.to_owned(),
        legend: levels::legend(evidence)
            .into_iter()
            .enumerate()
            .filter(|(color, _)| series.iter().any(|one| one.color == *color))
            .map(|(_, key)| key)
            .collect(),
        caption: Text::plain(""),
        alt: format!("{title}, {unit}, one line for each contender."),
        table: Some(table(&series)),
        plot: Plot::Plane(Plane {
            x: Axis { title: "second".to_owned(), scale: Scale::Span, ticks: Vec::new() },
            y: Axis { title: unit.to_owned(), scale: Scale::Zero, ticks: Vec::new() },
            series,
            band: None,
            estimate: None,
        }),
    })
}
