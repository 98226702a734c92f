//! The waterfall of a ladder: a bar for each step, from the rung below to its own.
//!
//! The scale is logarithmic, so that bars of equal length are equal gains. Trades, what is not shown and what was
//! not measured have tones of their own; the interval of a step lies on top of the rung below.

use analysis::{Gain, Ladder, Rung, Verdict, WorkloadConclusions};
use stats::Basis;

use crate::document::{Axis, Bar, Chart, Key, Plot, Rows, Scale, Table, Text, Tone};
use crate::wording;

/// With the `table` of the ladder behind it; None where no step was measured.
pub fn waterfall(workload: &WorkloadConclusions, ladder: &Ladder, table: Table) -> Option<Chart> {
    let bars = bars(ladder);
    if bars.iter().all(|bar| bar.span.is_none()) {
        return None;
    }
    let unit = &workload.primary.unit;
    let base = ladder.base_value.map_or(String::new(), |value| format!(", which is {} {unit}", wording::number(value)));
    let tones = [
        (Tone::Faster, "gain"),
        (Tone::Slower, "loss"),
        (Tone::Mixed, "trade: speed for durability"),
        (Tone::Open, "no gain shown"),
        (Tone::Same, "all steps together"),
    ];
    Some(Chart {
        title: "What each step brought".to_owned(),
        legend: tones.into_iter().map(|(tone, text)| Key::tone(tone, text)).collect(),
        caption: Text::plain(
            "Logarithmic: bars of equal length are equal gains. Thin: the interval of each step, on top of the rung below.",
        ),
        alt: "The gain of each step of the ladder; the table has the figures.".to_owned(),
        table: Some(table),
        plot: Plot::Rows(Rows {
            x: Axis { title: format!("times the base{base}"), scale: Scale::Ratio, ticks: Vec::new() },
            bars,
            margin: None,
        }),
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
    bars.extend(whole.as_ref().map(|gain| total("all steps", gain)));
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
    let tone = match Mark::of(rung) {
        Mark::Gain => Tone::Faster,
        Mark::Loss => Tone::Slower,
        Mark::Trade => Tone::Mixed,
        Mark::NotShown | Mark::NotMeasured => Tone::Open,
    };
    let gain = rung.gain.zip(below);
    let span = gain.map(|(gain, below)| (below, below * gain.ratio));
    let bounds = gain.and_then(|(gain, below)| gain.bounds.map(|(low, high)| (below * low, below * high)));
    bar(&rung.contender, tone, span, bounds, rung.gain.as_ref())
}

fn total(label: &str, gain: &Gain) -> Bar {
    bar(label, Tone::Same, Some((1.0, gain.ratio)), gain.bounds, Some(gain))
}

fn bar(label: &str, tone: Tone, span: Option<(f64, f64)>, thin: Option<(f64, f64)>, gain: Option<&Gain>) -> Bar {
    let numbers = gain.map_or("not measured".to_owned(), |gain| format!("{}x", wording::ratio_text(gain.ratio)));
    let title = gain.map_or(numbers.clone(), self::gain);
    Bar {
        label: label.to_owned(),
        tone,
        strong: tone == Tone::Same,
        span,
        estimate: None,
        thick: None,
        thin,
        numbers,
        title: format!("{label}: {title}"),
    }
}

/// What a step is drawn and called as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Gain,
    Loss,
    /// Speed for a weaker promise, however much.
    Trade,
    NotShown,
    NotMeasured,
}

impl Mark {
    pub fn of(rung: &Rung) -> Mark {
        match rung.gain {
            _ if rung.refused.is_some() => Mark::NotMeasured,
            None => Mark::NotMeasured,
            Some(_) if rung.trade.is_some() => Mark::Trade,
            Some(_) if !rung.is_shown() || is_mixed(rung) => Mark::NotShown,
            Some(gain) if gain.ratio < 1.0 => Mark::Loss,
            Some(_) => Mark::Gain,
        }
    }
}

fn is_mixed(rung: &Rung) -> bool {
    rung.step.as_ref().is_some_and(|step| step.verdict == Verdict::Mixed)
}

/// `1.88x, 95 % CI 1.80–1.95`; a plain t interval is marked.
pub fn gain(gain: &Gain) -> String {
    match gain.bounds {
        Some(_) => format!("{}x, 95 % CI {}", ratio(gain), interval(gain)),
        None => format!("{}x", ratio(gain)),
    }
}

pub fn ratio(gain: &Gain) -> String {
    wording::ratio_text(gain.ratio)
}

pub fn interval(gain: &Gain) -> String {
    let mark = if gain.basis == Basis::Plain { " t" } else { "" };
    let text = |(low, high)| wording::bounds(low, high) + mark;
    gain.bounds.map_or("-".to_owned(), text)
}
