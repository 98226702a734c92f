//! Ladders in words and rows, for the text and the HTML report alike.
//!
//! Pure formatting: what a step brought, and whether it is shown, the analysis has decided.

use std::collections::BTreeSet;

use stats::Basis;

use analysis::{Caveat, Gain, Interaction, Ladder, Rung, Stage, StageKind, WorkloadConclusions};
use record::format::figures::short_percent;
use record::format::ladder::ChangeRecord;

use super::sentences::one_line;
use super::wording::{self, bound, optional_number};

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
            Some(_) if !rung.is_shown() => Mark::NotShown,
            Some(gain) if gain.ratio < 1.0 => Mark::Loss,
            Some(_) => Mark::Gain,
        }
    }
}

/// `tpcc: ladder on `5.5`, committed New-Orders per minute (NOPM)`.
pub fn title(workload: &WorkloadConclusions, ladder: &Ladder) -> String {
    format!("{}: ladder on `{}`, {}", workload.workload, ladder.base, wording::primary_title(workload))
}

/// What each step does, in lines: the names of settings are too long for a column.
pub fn changes(ladder: &Ladder) -> Vec<String> {
    let line = |(rung, place): (&Rung, usize)| {
        let changes: Vec<String> = rung.changes.iter().map(ChangeRecord::text).collect();
        format!("{place}. `{}`: {}", rung.contender, changes.join(", "))
    };
    ladder.rungs.iter().zip(1..).map(line).collect()
}

pub fn heading(workload: &WorkloadConclusions) -> Vec<String> {
    let unit = &workload.primary.unit;
    let names = ["rung", unit, "over the rung below", "interval", "over the base", "interval", "class", "word"];
    names.map(str::to_owned).to_vec()
}

/// The base, then every rung.
pub fn rows(ladder: &Ladder) -> Vec<Vec<String>> {
    let class = |class: &Option<String>| class.clone().unwrap_or_else(|| "not known".to_owned());
    let nothing = || vec!["-".to_owned(), "-".to_owned()];
    let of_gain = |gain: &Option<Gain>| gain.as_ref().map_or_else(nothing, |gain| vec![ratio(gain), interval(gain)]);
    let row = |name: &str, value, gains: [&Option<Gain>; 2], here: &Option<String>, word: String| {
        let gains = gains.into_iter().flat_map(of_gain);
        let front = [name.to_owned(), optional_number(value)];
        front.into_iter().chain(gains).chain([class(here), word]).collect::<Vec<_>>()
    };
    let base = row(&ladder.base, ladder.base_value, [&None, &None], &ladder.base_class, "-".to_owned());
    let rung = |rung: &Rung| row(&rung.contender, rung.value, [&rung.gain, &rung.cumulative], &rung.class, word(rung));
    std::iter::once(base).chain(ladder.rungs.iter().map(rung)).collect()
}

/// The rule's word about a step, and what a reader must not overlook.
fn word(rung: &Rung) -> String {
    let Some(step) = &rung.step else { return "not measured".to_owned() };
    let word = wording::word(step).to_owned();
    match (&rung.trade, Mark::of(rung)) {
        (Some((before, here)), _) => format!("{word}; trade: {before} to {here}"),
        (None, Mark::NotShown) => format!("{word}; no gain shown"),
        (None, _) => word,
    }
}

/// `1.88x (+88 %), 1.80..1.95`; a plain t interval is marked.
pub fn gain(gain: &Gain) -> String {
    let percent = short_percent(gain.ratio - 1.0);
    match gain.bounds {
        Some(_) => format!("{} ({percent}), {}", ratio(gain), interval(gain)),
        None => format!("{} ({percent})", ratio(gain)),
    }
}

/// `1.88x`, with a third decimal where it is near nothing.
fn ratio(gain: &Gain) -> String {
    format!("{:.*}x", decimals(gain), gain.ratio)
}

fn interval(gain: &Gain) -> String {
    let mark = if gain.basis == Basis::Plain { " t" } else { "" };
    let text = |(low, high)| format!("{}..{}{mark}", bound(low, decimals(gain)), bound(high, decimals(gain)));
    gain.bounds.map_or("-".to_owned(), text)
}

fn decimals(gain: &Gain) -> usize {
    if (0.9..1.1).contains(&gain.ratio) { 3 } else { 2 }
}

/// What the table does not say: the whole, the safe part of it, trades, who is missing, and caveats.
pub fn sentences(ladder: &Ladder) -> Vec<String> {
    let missing = ladder.rungs.iter().filter_map(|rung| {
        Some(format!("`{}` was not measured: {}", rung.contender, one_line(rung.refused.as_ref()?)))
    });
    let mut lines: Vec<String> = missing.collect();
    lines.extend(whole(ladder));
    lines.extend(trades(ladder));
    lines.extend(caveats(ladder));
    lines
}

fn whole(ladder: &Ladder) -> Vec<String> {
    let last = ladder.rungs.iter().rfind(|rung| rung.cumulative.is_some());
    let whole = last.and_then(|rung| Some((rung, rung.cumulative.as_ref()?)));
    let mut lines = Vec::new();
    if let Some((rung, cumulative)) = whole {
        let product = match ladder.product {
            Some(product) => format!("; its steps multiply to {product:.2}x"),
            None => "; the steps do not multiply to it, because not every block has every rung".to_owned(),
        };
        lines.push(format!("The whole ladder, up to `{}`: {}{product}", rung.contender, gain(cumulative)));
    }
    if let Some(safe) = &ladder.safe_gain {
        let but = match ladder.rungs.iter().filter(|rung| rung.trade.is_some()).count() {
            0 => "no step lowers durability",
            _ => "without the trades",
        };
        lines.push(format!("Safe gain ({but}): {}", gain(safe)));
    }
    lines
}

fn trades(ladder: &Ladder) -> Vec<String> {
    let rungs = ladder.rungs.iter().enumerate();
    let trade = |(place, rung): (usize, &Rung)| {
        let (before, here) = rung.trade.as_ref()?;
        let after = ladder.rungs[place + 1..].iter().any(|rung| rung.step.is_some());
        let after = if after { "; the steps above it are measured on top of it" } else { "" };
        Some(format!(
            "`{}` is a trade: it lowers what a commit promises from {before} to {here}, and is left out of the safe gain{after}",
            rung.contender
        ))
    };
    rungs.filter_map(trade).collect()
}

fn caveats(ladder: &Ladder) -> Option<String> {
    let of_steps = ladder.rungs.iter().filter_map(|rung| rung.step.as_ref()).flat_map(|step| &step.caveats);
    // That the promise differs stands in the table.
    let all: BTreeSet<&Caveat> = of_steps.filter(|caveat| **caveat != Caveat::DurabilityDiffers).collect();
    let words: Vec<&str> = all.iter().map(|caveat| caveat.as_str()).collect();
    (!words.is_empty()).then(|| format!("Caveats of these words: {}", words.join("; ")))
}

/// How to read the table.
pub fn about(ladder: &Ladder) -> String {
    let blocks = ladder.rungs.iter().filter_map(|rung| rung.gain).map(|gain| gain.blocks);
    let blocks = match (blocks.clone().min(), blocks.max()) {
        (Some(least), Some(most)) if least == most => wording::count(least, "block"),
        (Some(least), Some(most)) => format!("{least} to {most} blocks"),
        _ => "no block".to_owned(),
    };
    format!(
        "Gains are means over {blocks}; the intervals of all steps hold together; one marked t is a plain t interval, which shows nothing"
    )
}

pub const INTERACTIONS: [&str; 8] = [
    "step",
    "in the ladder",
    "interval",
    "in the final configuration",
    "interval",
    "second over first",
    "interval",
    "order",
];

pub fn interaction(one: &Interaction) -> Vec<String> {
    let nothing = || vec!["-".to_owned(), "-".to_owned()];
    let of_gain = |gain: &Option<Gain>| gain.as_ref().map_or_else(nothing, |gain| vec![ratio(gain), interval(gain)]);
    let order = match one.interaction {
        _ if one.order_matters() => "matters",
        None => "not known",
        Some(_) => "no effect shown",
    };
    let gains = [&one.in_ladder, &one.at_top, &one.interaction].into_iter().flat_map(of_gain);
    std::iter::once(one.step.clone()).chain(gains).chain([order.to_owned()]).collect()
}

/// What could not be left out.
pub fn not_left_out(ladder: &Ladder) -> Vec<String> {
    let refused =
        |one: &Interaction| Some(format!("`{}` was not measured: {}", one.contender, one_line(one.refused.as_ref()?)));
    ladder.interactions.iter().filter_map(refused).collect()
}

pub fn stages_heading(workload: &WorkloadConclusions) -> Vec<String> {
    let unit = &workload.primary.unit;
    let names = ["stage", "contender", unit, "against", unit, "ratio", "word"];
    names.map(str::to_owned).to_vec()
}

/// The second ladder at a stage beside the first one.
pub fn stage(stage: &Stage) -> Vec<String> {
    let comparison = &stage.comparison;
    let name = match stage.kind {
        StageKind::Base => "before the first step",
        StageKind::Safe => "tuned, promise kept",
        StageKind::Top => "tuned as far as it goes",
    };
    let with_class = |name: &str, class: &Option<String>| match class {
        Some(class) => format!("{name} ({class})"),
        None => name.to_owned(),
    };
    vec![
        name.to_owned(),
        with_class(&comparison.candidate, &stage.classes.1),
        optional_number(comparison.candidate_value),
        with_class(&comparison.baseline, &stage.classes.0),
        optional_number(comparison.baseline_value),
        format!("{}, {}", wording::ratio_only(comparison), wording::interval(comparison).unwrap_or("-".to_owned())),
        wording::word(comparison).to_owned() + &wording::caveats(comparison, &[]),
    ]
}

pub const STAGES_TITLE: &str = "Ladders side by side, stage by stage";
