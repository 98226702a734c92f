//! The waterfall of a ladder: a bar for each step, from the rung below to its own.
//!
//! The scale is logarithmic, so that bars of equal length are equal gains. Trades, what is not shown and what was
//! not measured have colours of their own; the interval of a step lies on top of the rung below.

use minijinja::{Value, context};

use super::chart::{Scale, TOP, ratio_scale, ratio_ticks};
use crate::ladder::{self, Mark};
use crate::wording;
use analysis::{Gain, Ladder, Rung, WorkloadConclusions};

const ROW: f64 = 26.0;
const PAPER: f64 = 900.0;
const LABELS: f64 = 250.0;
const NUMBERS: f64 = 660.0;
/// Letters of a label that fit beside the bars.
const LABEL_LETTERS: usize = 34;
/// Past this span of ratios, round ratios of a logarithmic scale are easier to read than equal steps.
const WIDE: f64 = 4.0;

/// A row of the drawing.
struct Bar {
    label: String,
    class: &'static str,
    /// Where it begins and ends, as ratios to the base; none where nothing was measured.
    span: Option<(f64, f64)>,
    bounds: Option<(f64, f64)>,
    numbers: String,
}

pub fn waterfall(workload: &WorkloadConclusions, ladder: &Ladder) -> Option<Value> {
    let bars = bars(ladder);
    let spans = bars.iter().filter_map(|bar| bar.span).flat_map(|(from, to)| [from, to]);
    let bounds = bars.iter().filter_map(|bar| bar.bounds).flat_map(|(low, high)| [low, high]);
    let x = ratio_scale(spans.chain(bounds), LABELS, NUMBERS)?;
    let bottom = TOP + ROW * bars.len() as f64;
    let base =
        ladder.base_value.map(|value| format!(", which is {} {}", wording::number(value), workload.primary.unit));
    Some(context! {
        width => PAPER, height => bottom + 46.0, left => LABELS, right => NUMBERS, top => TOP, bottom, one => x.place(1.0),
        x_ticks => ticks(&x), bars => bars.iter().enumerate().map(|(place, bar)| row(bar, place, &x)).collect::<Vec<Value>>(),
        x_title => format!("times the base{}", base.unwrap_or_default()),
    })
}

fn bars(ladder: &Ladder) -> Vec<Bar> {
    let mut below = Some(1.0);
    let mut bars: Vec<Bar> = Vec::new();
    for rung in &ladder.rungs {
        bars.push(step(rung, below));
        below = rung.cumulative.map(|cumulative| cumulative.ratio);
    }
    let whole = ladder.rungs.iter().rfind(|rung| rung.cumulative.is_some()).and_then(|rung| rung.cumulative);
    bars.extend(whole.as_ref().map(|gain| total("the whole", gain)));
    bars.extend(
        ladder
            .safe_gain
            .as_ref()
            .map(|gain| total("without the trades", gain))
            .filter(|_| ladder.rungs.iter().any(|rung| rung.trade.is_some())),
    );
    bars
}

fn step(rung: &Rung, below: Option<f64>) -> Bar {
    let class = match Mark::of(rung) {
        Mark::Gain => "faster",
        Mark::Loss => "slower",
        Mark::Trade => "trade",
        Mark::NotShown | Mark::NotMeasured => "not-shown",
    };
    let gain = rung.gain.zip(below);
    Bar {
        label: rung.contender.clone(),
        class,
        span: gain.map(|(gain, below)| (below, below * gain.ratio)),
        bounds: gain.and_then(|(gain, below)| gain.bounds.map(|(low, high)| (below * low, below * high))),
        numbers: rung.gain.as_ref().map_or("not measured".to_owned(), ladder::gain),
    }
}

fn total(label: &str, gain: &Gain) -> Bar {
    Bar {
        label: label.to_owned(),
        class: "whole",
        span: Some((1.0, gain.ratio)),
        bounds: gain.bounds,
        numbers: ladder::gain(gain),
    }
}

fn row(bar: &Bar, place: usize, x: &Scale) -> Value {
    let span = bar.span.map(|(from, to)| (x.place(from), x.place(to)));
    let bounds = bar.bounds.map(|(low, high)| (x.place(low), x.place(high)));
    context! {
        label => shortened(&bar.label), class => bar.class, y => TOP + ROW * (place as f64 + 0.5),
        x => span.map(|(from, to)| from.min(to)), width => span.map(|(from, to)| (to - from).abs()), end => span.map(|(_, to)| to),
        low => bounds.map(|(low, _)| low), high => bounds.map(|(_, high)| high),
        numbers => bar.numbers, title => format!("{}: {}", bar.label, bar.numbers),
    }
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= LABEL_LETTERS {
        return label.to_owned();
    }
    label.chars().take(LABEL_LETTERS - 1).chain(['\u{2026}']).collect()
}

fn ticks(x: &Scale) -> Vec<Value> {
    if x.high / x.low < WIDE {
        return ratio_ticks(x);
    }
    let round = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
    let inside = round.into_iter().filter(|value| (x.low..=x.high).contains(value));
    inside.map(|value| context! { place => x.place(value), text => value.to_string() }).collect()
}
