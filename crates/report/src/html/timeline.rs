//! One trial of each contender second by second: what it did, and what its server and the host did meanwhile.
//!
//! Raw, so that a stall shows as a stall. Each quantity has a drawing of its own on the same seconds; who
//! could not be seen has no line in it.

use minijinja::{Value, context};

use super::chart::{BOTTOM, HEIGHT, LEFT, RIGHT, Scale, TOP, WIDTH, ticks};
use crate::Evidence;
use analysis::timeline::{QUANTITIES, Quantity, checkpoints};
use analysis::windows::{FIGURES, Told, windows};
use analysis::{SERIES_COLUMN, WorkloadConclusions};
use record::format::{ContenderRecord, Point, Series, TrialRecord, point_text};

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
fn committed(series: &Series) -> Option<Vec<(f64, f64)>> {
    let column = series.columns.iter().position(|name| name == SERIES_COLUMN)?;
    let seconds: Option<Vec<(f64, f64)>> =
        series.rows.iter().map(|row| Some((*row.first()?, *row.get(column)?))).collect();
    seconds.filter(|seconds| !seconds.is_empty())
}

/// Throughput in each second, and below it a drawing for each quantity that was seen of anybody.
pub fn seconds(evidence: &Evidence, workload: &WorkloadConclusions) -> Option<Value> {
    let drawn = drawn(evidence, workload)?;
    let lines: Vec<Vec<(f64, f64)>> = drawn
        .trials
        .iter()
        .map(|trial| evidence.series.get(&trial.trial).and_then(committed).unwrap_or_default())
        .collect();
    let marks = marks(evidence, &drawn);
    let all = || lines.iter().flatten().map(|(second, _)| *second);
    let ends = (all().min_by(f64::total_cmp)?, all().max_by(f64::total_cmp)?);
    let committed = drawing(evidence, ends, &lines, &marks, "committed per second")?;
    let (panels_of_windows, window_s) = window_panels(evidence, &drawn, ends, &marks);
    let panels = QUANTITIES.iter().filter_map(|quantity| {
        let lines = quantity_lines(evidence, &drawn, quantity);
        let chart = drawing(evidence, ends, &lines, &marks, quantity.unit)?;
        Some(context! { title => quantity.title, unit => quantity.unit, chart })
    });
    Some(context! {
        committed, windows => panels_of_windows, window_s => window_s.map(|seconds| seconds.to_string()), panels => panels.collect::<Vec<Value>>(), block => drawn.block, point => point_text(drawn.point),
        checkpoints => marks.iter().any(|marks| !marks.is_empty()),
    })
}

/// Response times in each window, and how long a window is; a figure that nobody has is not drawn.
fn window_panels(
    evidence: &Evidence,
    drawn: &Drawn,
    ends: (f64, f64),
    marks: &[Vec<f64>],
) -> (Vec<Value>, Option<f64>) {
    let of_trial = |trial: &&TrialRecord| evidence.windows.get(&trial.trial).and_then(|log| windows(log));
    let told: Vec<Vec<Told>> = drawn.trials.iter().map(|trial| of_trial(trial).unwrap_or_default()).collect();
    // One window is no course.
    if told.iter().all(|windows| windows.len() < 2) {
        return (Vec::new(), None);
    }
    let panels = FIGURES.iter().filter_map(|figure| {
        // In the middle of its window, whose last second may be cut off.
        let dot = |one: &Told| Some((one.start_s + one.seconds / 2.0, (figure.value)(one)?));
        let lines: Vec<Vec<(f64, f64)>> = told.iter().map(|line| line.iter().filter_map(dot).collect()).collect();
        let chart = drawing(evidence, ends, &lines, marks, "ms")?;
        Some(context! { title => figure.title, chart })
    });
    (panels.collect(), told.iter().flatten().next().map(|first| first.seconds))
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

/// A line for each contender that has any seconds; None where nobody has.
fn drawing(
    evidence: &Evidence,
    (first, last): (f64, f64),
    lines: &[Vec<(f64, f64)>],
    marks: &[Vec<f64>],
    unit: &str,
) -> Option<Value> {
    let most = lines.iter().flatten().map(|(_, value)| *value).max_by(f64::total_cmp)?;
    let x = Scale { low: first, high: last, start: LEFT + 14.0, end: RIGHT - 14.0, logarithmic: false };
    let high = if most > 0.0 { most * 1.05 } else { 1.0 };
    let y = Scale { low: 0.0, high, start: BOTTOM, end: TOP, logarithmic: false };
    let contenders = || evidence.plan.contenders.iter().enumerate();
    let drawn = contenders().zip(lines).filter(|(_, line)| !line.is_empty()).map(|((index, contender), line)| {
        let inside = line.iter().filter(|(second, _)| (first..=last).contains(second));
        let places = inside.map(|(second, value)| format!("{},{}", x.place(*second), y.place(*value)));
        let line = places.collect::<Vec<_>>().join(" ");
        context! { name => contender.name, color => index % 6, line, band => "", law => "", dots => [(); 0] }
    });
    let marks = contenders().zip(marks).flat_map(|((index, contender), marks)| {
        let inside = marks.iter().filter(|second| **second <= last);
        let title = format!("checkpoint of {}", contender.name);
        inside.map(move |second| (index % 6, *second, title.clone())).collect::<Vec<_>>()
    });
    let marks = marks.map(|(color, second, title)| context! { color, x => x.place(second), title });
    Some(context! {
        width => WIDTH, height => HEIGHT, left => LEFT, right => RIGHT, top => TOP, bottom => BOTTOM,
        x_ticks => ticks(&x, &x.ticks()), y_ticks => ticks(&y, &y.ticks()), x_title => "second", y_title => unit,
        lines => drawn.collect::<Vec<Value>>(), marks => marks.collect::<Vec<Value>>(),
    })
}
