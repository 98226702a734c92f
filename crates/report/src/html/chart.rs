//! Drawings for the HTML report: numbers in, coordinates out.
//!
//! The template turns these into SVG, so colours and fonts come from the page's style sheet and
//! follow its light or dark theme. Nothing is computed here but places on the paper.

use std::collections::BTreeSet;

use minijinja::{Value, context};

use crate::scaling::CPU_USE;
use crate::wording;
use analysis::{Cell, Comparison, Duel, Part, Scaling, Step, Summary, WorkloadConclusions};
use record::format::figures::fixed;
use record::format::{ContenderRecord, PlanRecord, Point, point_text};

/// Paper in user units. The page scales it, so this only fixes proportions.
pub const WIDTH: f64 = 560.0;
pub const LEFT: f64 = 86.0;
pub const RIGHT: f64 = 544.0;
pub const TOP: f64 = 16.0;
pub const BOTTOM: f64 = 270.0;
pub const HEIGHT: f64 = 320.0;

/// Labels on an axis that do not crowd each other.
const TICKS: f64 = 5.0;

/// Maps values onto a stretch of the paper.
pub struct Scale {
    pub low: f64,
    pub high: f64,
    pub start: f64,
    pub end: f64,
    pub logarithmic: bool,
}

impl Scale {
    pub fn place(&self, value: f64) -> f64 {
        let position = |value: f64| if self.logarithmic { value.ln() } else { value };
        let width = position(self.high) - position(self.low);
        let share = if width == 0.0 { 0.5 } else { (position(value) - position(self.low)) / width };
        ((self.start + share * (self.end - self.start)) * 10.0).round() / 10.0
    }

    /// Round values within the scale, about [`TICKS`] of them.
    pub fn ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / TICKS;
        if rough <= 0.0 {
            return vec![self.low];
        }
        let magnitude = 10f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|step| step * magnitude);
        let step = steps.into_iter().find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.low / step - 1e-9).ceil() as i64;
        (first..).map(|index| index as f64 * step).take_while(|tick| *tick <= self.high + step * 1e-9).collect()
    }
}

/// Bands end at so many times the highest mean.
const BAND_TIMES_MAX: f64 = 3.0;

/// A mean at one place of a curve.
struct Dot {
    n: u64,
    summary: Summary,
    place: String,
}

/// A metric of each contender over the one number that varies, with the interval of each mean as a band.
pub fn curves(plan: &PlanRecord, workload: &WorkloadConclusions, metric: &str) -> Option<Value> {
    let variable = workload.points.first()?.keys().next()?.clone();
    if workload.points.iter().any(|point| point.len() > 1) {
        return None;
    }
    let dots = |contender: &str| -> Vec<Dot> {
        let ours = workload.cells.iter().filter(|cell| cell.contender == contender);
        let dot = |cell: &'_ Cell| (varied(&cell.point), point_text(&cell.point));
        let summary =
            |cell: &'_ Cell| if metric == workload.metric { cell.primary } else { cell.metrics.get(metric).copied() };
        ours.filter_map(|cell| Some((dot(cell), summary(cell)?)))
            .map(|((n, place), summary)| Dot { n, summary, place })
            .collect()
    };
    let numbers: Vec<u64> = workload.points.iter().map(varied).collect();
    let all: Vec<Vec<Dot>> = plan.contenders.iter().map(|contender| dots(&contender.name)).collect();
    drawing(
        plan,
        &variable,
        workload.unit(metric),
        &numbers,
        &all,
        workload.scaling.as_ref().filter(|_| metric == workload.metric),
    )
}

/// The primary metric over what varies; where each number of cores was tried with several numbers of clients,
/// at the best of them.
pub fn throughput(plan: &PlanRecord, workload: &WorkloadConclusions) -> Option<Value> {
    match &workload.scaling {
        Some(scaling) if scaling.searched => {
            of_steps(plan, scaling, &workload.primary.unit, |step| Some(&step.value), Some(scaling))
        }
        _ => curves(plan, workload, &workload.metric),
    }
}

/// The share of the cores given that was used.
pub fn cpu_use(plan: &PlanRecord, workload: &WorkloadConclusions) -> Option<Value> {
    let scaling = workload.scaling.as_ref()?;
    of_steps(plan, scaling, "share of the cores given", |step| step.costs.get(CPU_USE), None)
}

fn of_steps(
    plan: &PlanRecord,
    scaling: &Scaling,
    unit: &str,
    value: impl Fn(&Step) -> Option<&Summary>,
    laws: Option<&Scaling>,
) -> Option<Value> {
    let numbers: BTreeSet<u64> = scaling.steps.iter().map(|step| step.n).collect();
    let dot = |step: &'_ Step| format!("{} {}", step.n, scaling.variable);
    let all: Vec<Vec<Dot>> = plan
        .contenders
        .iter()
        .map(|contender| {
            let ours = scaling.steps.iter().filter(|step| step.contender == contender.name);
            ours.filter_map(|step| Some(Dot { n: step.n, summary: *value(step)?, place: dot(step) })).collect()
        })
        .collect();
    drawing(plan, scaling.variable, unit, &Vec::from_iter(numbers), &all, laws)
}

/// One curve for each contender of the plan, over ascending numbers.
fn drawing(
    plan: &PlanRecord,
    variable: &str,
    unit: &str,
    numbers: &[u64],
    all: &[Vec<Dot>],
    laws: Option<&Scaling>,
) -> Option<Value> {
    let summaries = || all.iter().flatten().map(|dot| dot.summary);
    let highest = summaries().map(|one| one.mean).max_by(f64::total_cmp)?;
    let reach = summaries().map(|one| one.high.unwrap_or(one.mean)).max_by(f64::total_cmp)?;
    // A band of two blocks may be many times as high as what was measured: it is cut.
    let most = reach.clamp(highest, BAND_TIMES_MAX * highest);
    let (first, last) = (*numbers.first()? as f64, *numbers.last()? as f64);
    if numbers.len() < 2 {
        return None;
    }
    // Doubling client counts deserve equal steps.
    let logarithmic = numbers.iter().all(|value| value.is_power_of_two());
    let x = Scale { low: first, high: last, start: LEFT + 14.0, end: RIGHT - 14.0, logarithmic };
    let y = Scale { low: 0.0, high: most * 1.05, start: BOTTOM, end: TOP, logarithmic: false };
    let x_ticks: Vec<f64> =
        if numbers.len() <= 8 { numbers.iter().map(|value| *value as f64).collect() } else { x.ticks() };
    let line = |(index, (contender, dots)): (usize, (&ContenderRecord, &Vec<Dot>))| {
        let law = laws.and_then(|scaling| law(scaling, &contender.name, &x, &y));
        curve(&contender.name, index, dots, unit, law, &x, &y)
    };
    let lines = plan.contenders.iter().zip(all).enumerate().map(line);
    Some(context! {
        width => WIDTH, height => HEIGHT, left => LEFT, right => RIGHT, top => TOP, bottom => BOTTOM,
        x_ticks => ticks(&x, &x_ticks), y_ticks => ticks(&y, &y.ticks()),
        x_title => if logarithmic { format!("{variable} (log scale)") } else { variable.to_owned() },
        y_title => unit,
        lines => lines.collect::<Vec<Value>>(),
    })
}

fn curve(name: &str, index: usize, dots: &[Dot], unit: &str, law: Option<String>, x: &Scale, y: &Scale) -> Value {
    let at = |dot: &Dot| x.place(dot.n as f64);
    let line: Vec<String> = dots.iter().map(|dot| format!("{},{}", at(dot), y.place(dot.summary.mean))).collect();
    let upper = dots.iter().filter_map(|dot| Some((at(dot), dot.summary.high?.min(y.high))));
    let lower = dots.iter().rev().filter_map(|dot| Some((at(dot), dot.summary.low?.max(0.0))));
    let band: Vec<String> = upper.chain(lower).map(|(place, value)| format!("{place},{}", y.place(value))).collect();
    let marks = dots.iter().map(|dot| {
        context! {
            x => at(dot), y => y.place(dot.summary.mean),
            title => format!("{name}, {}: {} {unit}, {}", dot.place, wording::number(dot.summary.mean), wording::count(dot.summary.trials, "trial")),
        }
    });
    context! { name, color => index % 6, line => line.join(" "), band => band.join(" "), law, dots => marks.collect::<Vec<Value>>() }
}

/// A contender's law between the numbers that were measured.
fn law(scaling: &Scaling, contender: &str, x: &Scale, y: &Scale) -> Option<String> {
    const PIECES: u32 = 48;
    let fit = scaling.laws.iter().find(|law| law.contender == contender)?.fit.as_ref().ok()?;
    let place = |piece: u32| {
        let share = f64::from(piece) / f64::from(PIECES);
        let n = if x.logarithmic { x.low * (x.high / x.low).powf(share) } else { x.low + share * (x.high - x.low) };
        format!("{},{}", x.place(n), y.place(fit.law.throughput(n)))
    };
    Some((0..=PIECES).map(place).collect::<Vec<_>>().join(" "))
}

/// Every point's ratio with its intervals, and the whole sweep below them.
pub fn forest(plan: &PlanRecord, duel: &Duel) -> Option<Value> {
    const ROW: f64 = 30.0;
    const LABELS: f64 = 132.0;
    const NUMBERS: f64 = 384.0;
    let sweep = (duel.points.len() > 1).then_some(&duel.overall);
    let rows: Vec<&Comparison> =
        duel.points.iter().chain(sweep).filter(|comparison| comparison.ratio.is_some()).collect();
    let x = ratio_scale(rows.iter().flat_map(|row| reach(row)), LABELS, NUMBERS)?;
    let bottom = TOP + ROW * rows.len() as f64;
    let drawn = rows.iter().enumerate().map(|(index, row)| forest_row(row, TOP + ROW * (index as f64 + 0.5), &x));
    Some(context! {
        width => WIDTH, height => bottom + 46.0, left => LABELS, right => NUMBERS, top => TOP, bottom,
        one => x.place(1.0), margin_from => x.place(1.0 / (1.0 + plan.method.margin)).max(LABELS),
        margin_to => x.place(1.0 + plan.method.margin).min(NUMBERS),
        x_ticks => ratio_ticks(&x), rows => drawn.collect::<Vec<Value>>(),
        x_title => "ratio (right of 1: candidate better)",
    })
}

fn forest_row(row: &Comparison, y: f64, x: &Scale) -> Value {
    let place = |value: Option<f64>| value.map(|value| x.place(value));
    context! {
        y, overall => row.point.is_none(), word => row.word.as_str().replace(' ', "-"),
        label => row.point.as_ref().map_or("whole sweep".to_owned(), point_text),
        ratio => place(row.ratio), low => place(row.low), high => place(row.high), repeated => row.basis != stats::Basis::Plain,
        thin_low => place(row.unadjusted.map(|bounds| bounds.0)), thin_high => place(row.unadjusted.map(|bounds| bounds.1)),
        numbers => wording::ratio_only(row), title => format!("{}, {}", wording::ratio_with_interval(row), wording::blocks(row)),
    }
}

/// A bar for the ratio of each operation, those that take longest first.
pub fn bars(parts: &[Part]) -> Option<Value> {
    const ROW: f64 = 20.0;
    const PAPER: f64 = 900.0;
    const LABELS: f64 = 270.0;
    const NUMBERS: f64 = 750.0;
    let mut parts: Vec<&Part> = parts.iter().filter(|part| part.comparison.ratio.is_some()).collect();
    parts.sort_by(|a, b| {
        b.comparison.baseline_value.unwrap_or(0.0).total_cmp(&a.comparison.baseline_value.unwrap_or(0.0))
    });
    let x = ratio_scale(parts.iter().flat_map(|part| reach(&part.comparison)), LABELS, NUMBERS)?;
    let bottom = TOP + ROW * parts.len() as f64;
    let bar = |(index, part): (usize, &&Part)| {
        let row = &part.comparison;
        let end = row.ratio.map_or(x.place(1.0), |ratio| x.place(ratio));
        let place = |value: Option<f64>| value.map(|value| x.place(value));
        context! {
            label => part.name, class => row.word.as_str().replace(' ', "-"), y => TOP + ROW * (index as f64 + 0.5),
            x => end.min(x.place(1.0)), width => (end - x.place(1.0)).abs(), low => place(row.low), high => place(row.high),
            numbers => wording::ratio_only(row), title => wording::ratio_with_interval(row),
        }
    };
    Some(context! {
        width => PAPER, height => bottom + 46.0, left => LABELS, right => NUMBERS, top => TOP, bottom, one => x.place(1.0),
        x_ticks => ratio_ticks(&x), bars => parts.iter().enumerate().map(bar).collect::<Vec<Value>>(),
        x_title => "ratio (right of 1: candidate better)",
    })
}

/// The ratio in each block: every point as a small dot, the whole sweep as a large one.
pub fn pairs(plan: &PlanRecord, duel: &Duel) -> Option<Value> {
    let small = duel.points.iter().flat_map(|row| &row.pairs);
    let y = ratio_scale(small.clone().chain(&duel.overall.pairs).map(|(_, ratio)| *ratio), BOTTOM, TOP)?;
    let blocks = plan.method.blocks;
    let x =
        Scale { low: 1.0, high: f64::from(blocks.max(2)), start: LEFT + 14.0, end: RIGHT - 14.0, logarithmic: false };
    let dot = |(block, ratio): &(u32, f64)| {
        let title = format!("block {block}: {ratio:.3}x");
        context! { x => x.place(f64::from(*block)), y => y.place(*ratio), title }
    };
    let every = blocks.div_ceil(10).max(1) as usize;
    let x_ticks: Vec<f64> = (1..=blocks).step_by(every).map(f64::from).collect();
    Some(context! {
        width => WIDTH, height => HEIGHT, left => LEFT, right => RIGHT, top => TOP, bottom => BOTTOM,
        x_ticks => ticks(&x, &x_ticks), y_ticks => ratio_ticks(&y), one => y.place(1.0),
        estimate => duel.overall.ratio.map(|ratio| y.place(ratio)),
        small => small.map(dot).collect::<Vec<Value>>(), large => duel.overall.pairs.iter().map(dot).collect::<Vec<Value>>(),
        x_title => "block", y_title => "ratio",
    })
}

/// What of a row should be on the paper.
fn reach(row: &Comparison) -> impl Iterator<Item = f64> {
    [row.ratio, row.low, row.high, row.unadjusted.map(|bounds| bounds.0), row.unadjusted.map(|bounds| bounds.1)]
        .into_iter()
        .flatten()
}

/// A logarithmic scale with some air around the values and around 1.
pub fn ratio_scale(values: impl Iterator<Item = f64>, start: f64, end: f64) -> Option<Scale> {
    let values: Vec<f64> = values.filter(|value| value.is_finite() && *value > 0.0).collect();
    let low = values.iter().copied().min_by(f64::total_cmp)?.min(0.985);
    let high = values.iter().copied().max_by(f64::total_cmp)?.max(1.015);
    let air = (high / low).powf(0.04);
    Some(Scale { low: low / air, high: high * air, start, end, logarithmic: true })
}

pub fn ratio_ticks(scale: &Scale) -> Vec<Value> {
    let values = scale.ticks();
    let step = values.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
    let digits = if step < 0.0099 {
        3
    } else if step < 0.0999 {
        2
    } else {
        1
    };
    values.iter().map(|value| context! { place => scale.place(*value), text => fixed(*value, digits) }).collect()
}

pub fn ticks(scale: &Scale, values: &[f64]) -> Vec<Value> {
    let text = |value: f64| {
        if value.fract() == 0.0 && value < 1000.0 { format!("{value}") } else { wording::number(value) }
    };
    values.iter().map(|value| context! { place => scale.place(*value), text => text(*value) }).collect()
}

/// The number that varies at a point.
fn varied(point: &Point) -> u64 {
    point.values().next().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for (low, high, expected) in
            [(0.0, 1480.0, vec![0.0, 500.0, 1000.0]), (0.0, 9.0, vec![0.0, 2.0, 4.0, 6.0, 8.0]), (3.0, 3.0, vec![3.0])]
        {
            let scale = Scale { low, high, start: 0.0, end: 1.0, logarithmic: false };
            assert_eq!(scale.ticks(), expected);
        }
    }

    #[test]
    fn doubling_is_one_step_on_a_logarithmic_scale() {
        let scale = Scale { low: 1.0, high: 64.0, start: 0.0, end: 60.0, logarithmic: true };
        assert_eq!([1.0, 2.0, 8.0, 64.0].map(|value| scale.place(value)), [0.0, 10.0, 30.0, 60.0]);
    }
}
