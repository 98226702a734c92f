//! Kinds of statements, each measured by itself: their groups, a dot with its interval for each, and all figures.

use std::collections::BTreeSet;

use analysis::{Comparison, Explained, HeadToHead, Part, Parts, Verdict, WorkloadConclusions};

use record::format::operations::{MOVED, SHORT};

use super::levels::interval_title;
use super::plans::Marks;
use super::topic::{Topic, by_workload, stopped};
use crate::Evidence;
use crate::document::{
    Axis, Bar, Block, Cell, Chart, Column, Heat, Key, Plot, RowKind, Rows, Scale, Section, Table, Text, Tone,
};
use crate::sentences;
use crate::verdict::kinds_of;
use crate::wording::{self, count};

const ABOUT_GROUPS: &str = "Geometric means over the kinds that every contender completed correctly: each kind weighs the same. Ratio above 1: \
                            the candidate is faster.";
const ABOUT_CPU: &str = "CPU: of the server in one execution, as a ratio; above 1 the candidate needs more, and below 1 less. Causes: context \
     switches, bytes read and bytes written in one execution stand there where they differ in the same direction.";

/// For each of [`MOVED`].
const WORDS: [&str; 3] = ["switches", "reads", "writes"];

const ABOUT_MAP: &str = "Above 1 faster than the baseline. In brackets, and pale on the page: no difference is shown.";

pub struct Kinds;

impl Topic for Kinds {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let marks = Marks::of(evidence);
        let of_workload = |workload: &WorkloadConclusions| {
            let several = workload.duels.len() > 1;
            let of_duel = |duel: &HeadToHead| {
                let mark = |name: &str| marks.mark(&workload.workload, &duel.candidate, name);
                kinds_of(duel).map(|parts| blocks(evidence, duel, parts, several, &mark))
            };
            map(workload).into_iter().chain(workload.duels.iter().filter_map(of_duel).flatten()).collect()
        };
        Section::of("kinds", "Kinds of statements", by_workload(evidence, of_workload))
    }
}

/// Of several candidates, such as releases: a row for each kind, a column for each candidate, and the ratio to the
/// baseline.
fn map(workload: &WorkloadConclusions) -> Vec<Block> {
    let duels: Vec<(&HeadToHead, &Parts)> =
        workload.duels.iter().filter_map(|duel| Some((duel, kinds_of(duel)?))).collect();
    if duels.len() < 2 {
        return Vec::new();
    }
    let columns = duels.iter().map(|(duel, _)| Column::number(duel.candidate.as_str(), 0));
    let mut table = Table::new(std::iter::once(Column::name("kind", 0)).chain(columns).collect::<Vec<_>>());
    let overall = duels.iter().map(|(duel, _)| map_cell(Some(&duel.overall)));
    table.push(RowKind::Overall, std::iter::once(Cell::from("all kinds")).chain(overall));
    let names: BTreeSet<&str> =
        duels.iter().flat_map(|(_, parts)| &parts.operations).map(|kind| kind.name.as_str()).collect();
    for name in names {
        let kind = |parts: &'_ Parts| parts.operations.iter().position(|kind| kind.name == name);
        let cells =
            duels.iter().map(|(_, parts)| map_cell(kind(parts).map(|place| &parts.operations[place].comparison)));
        table.push(RowKind::Plain, std::iter::once(Cell::from(name)).chain(cells));
    }
    let title = format!("Each kind, as a ratio to `{}`", duels[0].0.baseline);
    vec![Block::heading(title), Block::Table(table), Block::note(ABOUT_MAP)]
}

fn map_cell(comparison: Option<&Comparison>) -> Cell {
    let Some((comparison, ratio)) = comparison.and_then(|one| Some((one, one.ratio?))) else { return "".into() };
    let is_decided = matches!(comparison.verdict, Verdict::Faster | Verdict::Slower);
    let text = wording::ratio(comparison);
    let text = Text::plain(if is_decided { text } else { format!("({text})") });
    Cell { key: Some(ratio), heat: Some(Heat { ratio, is_decided }), ..Cell::from(text) }
}

fn blocks(
    evidence: &Evidence,
    duel: &HeadToHead,
    parts: &Parts,
    several: bool,
    mark: &dyn Fn(&str) -> &'static str,
) -> Vec<Block> {
    let title = format!("`{}` against `{}`", duel.candidate, duel.baseline);
    let mut body: Vec<Block> = several.then(|| Block::heading(title)).into_iter().collect();
    // Where it is alone, the first screen has both.
    if several || evidence.conclusions.workloads.len() > 1 {
        body.push(Block::Table(groups(duel, parts)));
        body.extend(chart(parts).map(|chart| Block::OnPage(vec![Block::chart(chart)])));
    }
    body.push(Block::note(about_groups(parts)));
    body.push(Block::Table(table(duel, parts, mark)));
    body.push(Block::note(about_kinds(parts)));
    body.push(Block::note(ABOUT_CPU));
    let left_out = parts
        .left_out
        .iter()
        .map(|one| format!("`{}`, {} ({}): {}", one.contender, one.name, one.kind, sentences::parts::why(one)));
    let list = Block::list(stopped(left_out.collect()));
    body.extend(list.map(|list| Block::fold("Compared with nothing", vec![list])));
    body
}

fn about_groups(parts: &Parts) -> String {
    let shared = match parts.programs.len() {
        0 => String::new(),
        groups => format!(" {} share the error of 5 %.", count(groups, "group")),
    };
    format!("{ABOUT_GROUPS}{shared}")
}

/// How far the verdicts of single kinds hold.
fn about_kinds(parts: &Parts) -> String {
    let kinds = count(parts.operations.len(), "kind");
    let shared = match parts.screened {
        true => format!(
            "Screening: each interval holds by itself; of the verdicts among {kinds}, one in twenty is false on average \
             (Benjamini-Hochberg)."
        ),
        false => format!("{kinds} share the error of 5 %."),
    };
    let short = if has_every(parts, SHORT) {
        " Each kind had a short time in a trial: longer ones have narrower intervals."
    } else {
        ""
    };
    shared + short
}

/// The means of the groups, and of all kinds.
pub fn groups(duel: &HeadToHead, parts: &Parts) -> Table {
    let columns = [
        Column::name("group", 0),
        Column::number("kinds", 3),
        Column::number(format!("{} /s", duel.baseline), 1),
        Column::number(format!("{} /s", duel.candidate), 2),
        Column::number("ratio", 0),
        Column::number(interval_title(&duel.overall), 0),
        Column::name("verdict", 0),
    ];
    let mut table = Table::new(columns);
    for group in &parts.programs {
        let kinds = parts.operations.iter().filter(|kind| group_of(kind) == group.name).count();
        table.push(RowKind::Plain, group_row(&group.name, kinds, &group.comparison));
    }
    table.push(RowKind::Overall, group_row("all kinds", parts.operations.len(), &duel.overall));
    table
}

fn group_row(name: &str, kinds: usize, comparison: &Comparison) -> [Cell; 7] {
    [
        name.into(),
        kinds.to_string().into(),
        wording::optional_number(comparison.baseline_value).into(),
        wording::optional_number(comparison.candidate_value).into(),
        wording::ratio(comparison).into(),
        wording::marked_interval(comparison).into(),
        Text::verdict(comparison.verdict, wording::verdict(comparison)).into(),
    ]
}

fn group_of(kind: &Part) -> &str {
    kind.name.split('/').next().unwrap_or(&kind.name)
}

/// By group, and inside of it the slowest first.
fn sorted(parts: &Parts) -> Vec<&Part> {
    let mut kinds: Vec<&Part> = parts.operations.iter().collect();
    let ratio = |kind: &Part| kind.comparison.ratio.unwrap_or(f64::INFINITY);
    kinds.sort_by(|one, other| group_of(one).cmp(group_of(other)).then(ratio(one).total_cmp(&ratio(other))));
    kinds
}

/// A dot with its interval for each kind, below that of its group.
pub fn chart(parts: &Parts) -> Option<Chart> {
    let bar = |name: &str, comparison: &Comparison, strong: bool| Bar {
        label: name.to_owned(),
        tone: comparison.verdict.into(),
        strong,
        span: None,
        estimate: comparison.ratio,
        thick: comparison.low.zip(comparison.high),
        thin: None,
        numbers: wording::ratio_only(comparison),
        title: format!("{name}: {}", wording::ratio_with_interval(comparison)),
    };
    let mut bars = Vec::new();
    let mut group = "";
    for kind in sorted(parts).into_iter().filter(|kind| kind.comparison.ratio.is_some()) {
        if group_of(kind) != group {
            group = group_of(kind);
            let mean = parts.programs.iter().find(|one| one.name == group);
            bars.extend(mean.map(|mean| bar(group, &mean.comparison, true)));
        }
        bars.push(bar(&kind.name, &kind.comparison, false));
    }
    let tones = [(Tone::Faster, "faster"), (Tone::Slower, "slower"), (Tone::Open, "not decided")];
    (!bars.is_empty()).then(|| Chart {
        title: "Ratio of each kind of statements".to_owned(),
        legend: tones.into_iter().map(|(tone, text)| Key::tone(tone, text)).collect(),
        caption: Text::plain(
            "By group, the slowest kind first. Right of 1 the candidate is faster. Line: the interval. Bold: the geometric mean of a group.",
        ),
        alt: "The ratio of each kind with its interval; the table of kinds has the figures.".to_owned(),
        table: None,
        plot: Plot::Rows(Rows {
            x: Axis { title: "ratio (log scale)".to_owned(), scale: Scale::Ratio, ticks: Vec::new() },
            bars,
            margin: None,
        }),
    })
}

fn table(duel: &HeadToHead, parts: &Parts, mark: &dyn Fn(&str) -> &'static str) -> Table {
    let columns = [
        Column::name("kind", 0),
        Column::number(format!("{} /s", duel.baseline), 2),
        Column::number(format!("{} /s", duel.candidate), 4),
        Column::number("ratio", 0),
        Column::number("95 % CI", 0),
        Column::number("CPU", 3),
        Column::name("plan", 1),
        Column::name("verdict", 0),
        Column::name("cause", 1),
    ];
    let mut table = Table { sortable: true, ..Table::new(columns) };
    let are_short = has_every(parts, SHORT);
    for kind in sorted(parts) {
        let marks: &[&str] = if are_short { &[] } else { &kind.marks };
        table.push(RowKind::Plain, kind_row(kind, marks, mark(&kind.name)));
    }
    table.without_empty_columns()
}

/// A mark that all rows have is a note, and no mark of a row.
fn has_every(parts: &Parts, mark: &str) -> bool {
    parts.operations.iter().all(|kind| kind.marks == [mark])
}

fn kind_row(kind: &Part, marks: &[&str], mark: &str) -> [Cell; 9] {
    let comparison = &kind.comparison;
    let keyed = |text: String, key: Option<f64>| Cell { key, ..Cell::from(text) };
    // A cost is compared as less is better; here it is what the candidate needs of what the baseline does.
    let cpu = kind.cost.as_ref().and_then(|cost| cost.ratio).map(|ratio| 1.0 / ratio);
    let marks: String = marks.iter().map(|mark| format!(", {mark}")).collect();
    let (one, other) = (comparison.baseline_value, comparison.candidate_value);
    [
        kind.name.as_str().into(),
        keyed(wording::optional_number(one), one),
        keyed(wording::optional_number(other), other),
        keyed(wording::ratio(comparison), comparison.ratio),
        keyed(wording::marked_interval(comparison), comparison.low),
        keyed(cpu.map_or("-".to_owned(), wording::ratio_text), cpu),
        mark.into(),
        Text::verdict(comparison.verdict, wording::verdict(comparison)).and_quiet(marks).into(),
        cause(kind).into(),
    ]
}

/// `waiting, switches 1.4x, writes 2.0x`: of a kind that differs, what has changed in the same direction.
fn cause(kind: &Part) -> String {
    let first = match kind.explained() {
        Some(Explained::Cpu) => Some("CPU".to_owned()),
        Some(Explained::Waiting) => Some("waiting".to_owned()),
        None => None,
    };
    let moved = |(what, comparison): &(&str, Comparison)| {
        let place = MOVED.iter().position(|known| known == what)?;
        let ratio = wording::ratio_text(1.0 / comparison.ratio?);
        (comparison.verdict == kind.comparison.verdict).then(|| format!("{} {ratio}x", WORDS[place]))
    };
    first.into_iter().chain(kind.moved.iter().filter_map(moved)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{Story, kinds_run};

    #[test]
    fn several_candidates_have_a_map_with_pale_cells_where_nothing_is_shown() {
        let mut workload = evidence_of(kinds_run(&Story::default())).conclusions.workloads.remove(0);
        assert!(map(&workload).is_empty());
        workload.duels.push(workload.duels[0].clone());
        let blocks = map(&workload);
        let Block::Table(table) = &blocks[1] else { panic!("a table was expected") };
        let cell = |name: &str| &table.rows.iter().find(|row| row.cells[0].text.raw() == name).unwrap().cells[2];
        assert_eq!(table.columns.len(), 3);
        assert!(cell("point/02").heat.unwrap().is_decided && cell("point/02").text.raw().starts_with("0.79"));
        assert!(!cell("aggregate/01").heat.unwrap().is_decided && cell("aggregate/01").text.raw().starts_with('('));
    }
}
