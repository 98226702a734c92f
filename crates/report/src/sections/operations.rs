//! Programs and operations of a pass, and statements of a script: those with a verdict by their share of the time, then
//! all of them.

use std::collections::BTreeSet;

use analysis::{COLLECTED_SECONDS, Caveat, HeadToHead, Part, PartKind, Parts, Verdict, WorkloadConclusions};
use record::format::operations::{PARTIAL, SECONDS, operation_metric, statement_metric};
use record::format::point_text;

use super::plans::Marks;
use super::{Topic, by_workload, capitalised, stopped};
use crate::Evidence;
use crate::document::{
    Axis, Bar, Block, Cell, Chart, Column, Key, Plot, RowKind, Rows, Scale, Section, Table, Text, Tone,
};
use crate::sentences;
use crate::wording;

/// Operations that are drawn: more bars than fit on two screens compare nothing.
const BARS_MAX: usize = 30;

pub struct Operations;

impl Topic for Operations {
    fn section(&self, evidence: &Evidence) -> Option<Section> {
        let marks = Marks::of(evidence);
        let of_duel = |workload: &WorkloadConclusions, duel: &HeadToHead| match &duel.parts {
            Some(parts) if parts.kind != PartKind::Kind => {
                let mark = |name: &str| marks.mark(&workload.workload, &duel.candidate, name);
                blocks(workload, duel, parts, &mark)
            }
            _ => Vec::new(),
        };
        let of_workload = |workload: &WorkloadConclusions| {
            let duels = workload.duels.iter().flat_map(|duel| of_duel(workload, duel));
            duels.chain(calls(workload)).chain(about_log(evidence, workload)).collect()
        };
        let mut parts =
            evidence.conclusions.workloads.iter().flat_map(|one| &one.duels).filter_map(|duel| duel.parts.as_ref());
        let of_statements = parts.all(|parts| parts.kind == PartKind::Statement);
        let title = if of_statements { "Statements" } else { "Operations" };
        Section::of("operations", title, by_workload(evidence, of_workload))
    }
}

/// What is replayed of a log, and what is not.
fn about_log(evidence: &Evidence, workload: &WorkloadConclusions) -> Option<Block> {
    let record = evidence.plan.workloads.iter().find(|record| record.label == workload.workload)?;
    let notes = record.notes.iter().map(|note| capitalised(note)).collect();
    Block::list(stopped(notes)).filter(|_| record.replays)
}

/// How the plans of a statement compare, by its name.
type Mark<'a> = &'a dyn Fn(&str) -> &'static str;

fn blocks(workload: &WorkloadConclusions, duel: &HeadToHead, parts: &Parts, mark: Mark) -> Vec<Block> {
    let title = format!("`{}` against `{}`", duel.candidate, duel.baseline);
    let name = parts.kind.as_str();
    let mut body = vec![Block::heading(title), Block::para(totals(workload, duel, parts) + ".")];
    body.extend(Block::list(stopped(at_the_limit(duel, parts))));
    let known = shared_caveats(duel, &parts.operations);
    let decided = by_news(&parts.operations).into_iter().filter(|part| has_verdict(part));
    let mut first = empty(duel, name, parts.kind);
    decided.for_each(|part| push(&mut first, part, &known, mark));
    if first.rows.is_empty() {
        body.push(Block::para(format!("No {name} has a verdict of its own.")));
    } else {
        let all = if parts.kind == PartKind::Statement { "Statements" } else { "Operations" };
        body.push(Block::heading(format!("{all} with a verdict, those that differ first, by their share of the time")));
        body.push(Block::Table(without_marks(first)));
    }
    body.extend(bars(name, &parts.operations).map(|chart| Block::OnPage(vec![Block::chart(chart)])));
    // A single one is all of it.
    let programs = if parts.programs.len() > 1 { parts.programs.as_slice() } else { &[] };
    let none: Mark = &|_| "";
    body.extend(list(duel, ("program", parts.kind), programs, Vec::new(), about_programs(parts), none));
    body.extend(list(
        duel,
        (name, parts.kind),
        &parts.operations,
        rows_of_gaps(workload, duel, parts),
        about_operations(parts),
        mark,
    ));
    let left_out = Block::list(stopped(left_out(parts)));
    body.extend(left_out.map(|list| Block::fold("Compared with nothing", vec![list])));
    body
}

/// All rows of one kind.
fn list(
    duel: &HeadToHead,
    (name, kind): (&str, PartKind),
    parts: &[Part],
    gaps: Vec<(String, [String; 6])>,
    about: String,
    mark: Mark,
) -> Option<Block> {
    let known = shared_caveats(duel, parts);
    let mut table = empty(duel, name, kind);
    parts.iter().for_each(|part| push(&mut table, part, &known, mark));
    for (name, [figures @ .., verdict]) in gaps {
        let cells = std::iter::once(name).chain(figures).chain([String::new(), verdict]);
        table.push(RowKind::Plain, cells);
    }
    let table = without_marks(table);
    let title = format!("Each {name}; share: of the sum of these rows");
    (!table.rows.is_empty()).then(|| Block::fold(title, vec![Block::note(about + "."), Block::Table(table)]))
}

fn empty(duel: &HeadToHead, name: &str, kind: PartKind) -> Table {
    let is_statement = kind == PartKind::Statement;
    let unit = if is_statement { "ms" } else { "s" };
    let columns = [
        Column::name(name, 0),
        Column::number(format!("{} {unit}", duel.baseline), 2),
        Column::number(format!("{} {unit}", duel.candidate), 2),
        Column::number("ratio", 0),
        Column::number("95 % CI", 0),
        Column::number("share", 1),
    ];
    let extra = is_statement.then(|| Column::number("extra s", 3));
    let columns = columns.into_iter().chain(extra).chain([Column::name(PLAN, 0), Column::name("verdict", 0)]);
    Table { sortable: true, ..Table::new(columns.collect::<Vec<_>>()) }
}

/// The column of the marks; none where no plan is known.
const PLAN: &str = "plan";

fn without_marks(mut table: Table) -> Table {
    let at = table.columns.iter().position(|column| column.title == PLAN);
    if let Some(at) = at.filter(|at| table.rows.iter().all(|row| row.cells[*at].text.raw().is_empty())) {
        table.columns.remove(at);
        table.rows.iter_mut().for_each(|row| drop(row.cells.remove(at)));
    }
    table
}

fn push(table: &mut Table, part: &Part, known: &[Caveat], mark: Mark) {
    let comparison = &part.comparison;
    let keyed = |text: String, key: Option<f64>| Cell { key, ..Cell::from(text) };
    let [baseline, candidate] = part.shares.map(|share| share.map_or("-".to_owned(), wording::percent));
    let share = if baseline == candidate { baseline } else { format!("{baseline}, {candidate}") };
    let marks: String = part.marks.iter().map(|mark| format!(", {mark}")).collect();
    let verdict = Text::verdict(comparison.verdict, wording::verdict(comparison));
    let (one, other) = (comparison.baseline_value, comparison.candidate_value);
    let figures = [
        title(part).into(),
        keyed(bounded(one, part.limited[0]), one),
        keyed(bounded(other, part.limited[1]), other),
        keyed(wording::ratio(comparison), comparison.ratio),
        keyed(wording::marked_interval(comparison), comparison.low),
        keyed(share, part.shares[0]),
    ];
    let has_extra = table.columns.len() > figures.len() + 2;
    let extra = has_extra.then(|| keyed(wording::optional_number(part.extra_s), part.extra_s));
    let verdict: Cell = verdict.and_quiet(marks).and_quiet(wording::caveats(comparison, known)).into();
    table.push(RowKind::Plain, figures.into_iter().chain(extra).chain([mark(&part.name).into(), verdict]));
}

/// A time, or what it is known to exceed.
fn bounded(seconds: Option<f64>, limited: u32) -> String {
    let text = wording::optional_number(seconds);
    if limited > 0 { format!("> {text}") } else { text }
}

/// Who did not answer what within the limit of a statement.
fn at_the_limit(duel: &HeadToHead, parts: &Parts) -> Vec<String> {
    let sides = [&duel.baseline, &duel.candidate];
    let line = |part: &Part, side: usize| {
        let trials = wording::count(part.limited[side] as usize, "trial");
        format!(
            "`{}` did not answer {} within the statement limit in {trials}: its time there is the limit, and the ratio a bound",
            sides[side], part.name
        )
    };
    let of = |part: &Part| {
        [0, 1].into_iter().filter(|side| part.limited[*side] > 0).map(|side| line(part, side)).collect::<Vec<_>>()
    };
    parts.operations.iter().flat_map(of).collect()
}

/// Letters of a statement of a log.
const TEXT_MAX: usize = 90;

/// The name of an operation; a statement of a log as it is, literals taken out.
fn title(part: &Part) -> String {
    part.text.as_ref().map_or_else(|| part.name.clone(), |text| wording::shortened(text, TEXT_MAX))
}

fn has_verdict(part: &Part) -> bool {
    !matches!(part.comparison.verdict, Verdict::Inconclusive)
}

/// Those that are shown to differ, then the others; statements by the time that they take more, operations by their
/// share of the time.
fn by_news(parts: &[Part]) -> Vec<&Part> {
    let mut parts: Vec<&Part> = parts.iter().filter(|part| part.comparison.ratio.is_some()).collect();
    let differs = |part: &Part| has_verdict(part) && part.comparison.verdict != Verdict::NoDifferenceShown;
    let weight = |part: &Part| part.extra_s.or(part.shares[0]).unwrap_or(0.0);
    parts.sort_by(|one, other| differs(other).cmp(&differs(one)).then(weight(other).total_cmp(&weight(one))));
    parts
}

/// A bar for the ratio of each operation, those that differ first.
fn bars(name: &str, parts: &[Part]) -> Option<Chart> {
    let bar = |part: &Part| {
        let row = &part.comparison;
        Bar {
            label: title(part),
            tone: row.verdict.into(),
            strong: false,
            span: row.ratio.map(|ratio| (1.0, ratio)),
            estimate: None,
            thick: None,
            thin: row.low.zip(row.high),
            numbers: wording::ratio_only(row),
            title: format!("{}: {}", title(part), wording::ratio_with_interval(row)),
        }
    };
    let all = by_news(parts);
    let bars: Vec<Bar> = all.iter().take(BARS_MAX).copied().map(bar).collect();
    let title = match all.len() {
        ..=BARS_MAX => format!("Ratio of each {name}"),
        many => format!("Ratio of {BARS_MAX} of {many} {name}s"),
    };
    let tones = [(Tone::Faster, "faster"), (Tone::Slower, "slower"), (Tone::Open, "not decided")];
    (!bars.is_empty()).then(|| Chart {
        title,
        legend: tones.into_iter().map(|(tone, text)| Key::tone(tone, text)).collect(),
        caption: Text::plain("Those that differ come first. Right of 1 the candidate is better. Thin: the interval."),
        alt: format!("The ratio of each {name}; the tables have the figures."),
        table: None,
        plot: Plot::Rows(Rows {
            x: Axis { title: "ratio (log scale)".to_owned(), scale: Scale::Ratio, ticks: Vec::new() },
            bars,
            margin: None,
        }),
    })
}

/// Caveats that all rows have, with those of the first screen: told once, above the table.
fn shared_caveats(duel: &HeadToHead, parts: &[Part]) -> Vec<Caveat> {
    let of_all = |caveat: &Caveat| parts.iter().all(|part| part.comparison.caveats.contains(caveat));
    let screening = [Caveat::Screening].into_iter().filter(of_all);
    duel.overall.caveats.iter().copied().chain(screening).collect()
}

/// What the total is of, and what each of the two did altogether; of statements, what they are compared by.
fn totals(workload: &WorkloadConclusions, duel: &HeadToHead, parts: &Parts) -> String {
    if parts.kind == PartKind::Statement {
        let levels = if workload.points.len() > 1 { ", over all levels" } else { "" };
        return format!(
            "Each statement by its mean latency{levels}; a ratio above 1: `{}` answers sooner",
            duel.candidate
        );
    }
    let all = |contender: &str| {
        let cell = workload.cells.iter().find(|cell| cell.contender == contender);
        let mean = cell.and_then(|cell| Some(cell.metrics.get(COLLECTED_SECONDS)?.mean));
        format!("`{contender}` {} s", wording::optional_number(mean))
    };
    format!(
        "The total is of {} that every contender completed correctly; everything that each did: {}, {}",
        wording::count(parts.in_total, "operation"),
        all(&duel.baseline),
        all(&duel.candidate)
    )
}

/// How far the verdicts of single programs hold.
fn about_programs(parts: &Parts) -> String {
    let programs = wording::count(parts.programs.len(), "program");
    format!("Each with all that is between its operations; {programs} share the error of 5 %")
}

/// How far the verdicts of single operations hold.
fn about_operations(parts: &Parts) -> String {
    let operations = wording::count(parts.operations.len(), parts.kind.as_str());
    if parts.screened {
        format!(
            "Screening: each interval holds by itself; of the verdicts among {operations}, one in twenty is false on average \
             (Benjamini-Hochberg)"
        )
    } else {
        format!("{operations} share the error of 5 %")
    }
}

/// Operations that are compared with nothing, as rows: a time or the gap's name in each cell.
fn rows_of_gaps(workload: &WorkloadConclusions, duel: &HeadToHead, parts: &Parts) -> Vec<(String, [String; 6])> {
    let is_compared = |name: &str| parts.operations.iter().any(|part| part.name == name);
    let left_out = parts.left_out.iter().filter(|one| one.kind != PARTIAL && !is_compared(&one.name));
    let names: BTreeSet<&str> = left_out.map(|one| &*one.name).collect();
    let value = |contender: &str, name: &str| {
        let cell = workload.cells.iter().find(|cell| cell.contender == contender)?;
        cell.metrics.get(&operation_metric(name, SECONDS)).map(|summary| summary.mean)
    };
    let cell = |contender: &str, name: &str| {
        let kind = parts.left_out.iter().find(|one| one.contender == contender && one.name == name).map(|one| one.kind);
        match (value(contender, name), kind) {
            (None, kind) => kind.unwrap_or("-").to_owned(),
            (Some(seconds), None) => wording::number(seconds),
            (Some(seconds), Some(kind)) => format!("{} ({kind})", wording::number(seconds)),
        }
    };
    let is_operation = |name: &&str| [&duel.baseline, &duel.candidate].iter().any(|one| value(one, name).is_some());
    let row = |name: &str| {
        let none = || "-".to_owned();
        let verdict = "compared with nothing".to_owned();
        (name.to_owned(), [cell(&duel.baseline, name), cell(&duel.candidate, name), none(), none(), none(), verdict])
    };
    names.into_iter().filter(is_operation).map(row).collect()
}

/// What is missing or wrong, a line each.
fn left_out(parts: &Parts) -> Vec<String> {
    let line = |name: &str, contender: &str, kind: &str, why: &str| format!("`{contender}`, {name} ({kind}): {why}");
    parts.left_out.iter().map(|one| line(&one.name, &one.contender, one.kind, &sentences::parts::why(one))).collect()
}

const CALLS: &str = "Means over the trials of a contender at a level. Rows: of a call, returned or else changed. Latencies in ms, from sent \
                     to answered. Share: of the time of all statements.";

/// Every statement on every contender, those that take longest first.
fn calls(workload: &WorkloadConclusions) -> Option<Block> {
    let parts = workload.duels.iter().filter_map(|duel| duel.parts.as_ref());
    let mut statements = parts.filter(|parts| parts.kind == PartKind::Statement);
    let first = statements.next()?;
    let compared = by_news(&first.operations).into_iter().map(|part| (part.name.as_str(), title(part)));
    let left_out = first.left_out.iter().map(|one| (one.name.as_str(), one.name.clone()));
    let has_levels = workload.points.len() > 1;
    let level = has_levels.then(|| Column::name("level", 0));
    let names = [Column::name("statement", 0), Column::name("contender", 0)].into_iter().chain(level);
    let figures = [
        "count",
        "failed",
        "retries",
        "rows",
        "latency_ms_p50",
        "latency_ms_p95",
        "latency_ms_p99",
        "latency_ms_max",
        "share",
    ];
    let titles = ["calls", "failed", "retries", "rows", "p50", "p95", "p99", "max", "share"];
    let numbers =
        titles.into_iter().zip([4, 6, 6, 5, 2, 0, 1, 7, 3]).map(|(title, priority)| Column::number(title, priority));
    let mut table = Table { sortable: true, ..Table::new(names.chain(numbers).collect::<Vec<_>>()) };
    for (name, title) in compared.chain(left_out) {
        let value = |cell: &analysis::Cell, what: &str| Some(cell.metrics.get(&statement_metric(name, what))?.mean);
        for cell in workload.cells.iter().filter(|cell| value(cell, "count").is_some()) {
            let level = has_levels.then(|| point_text(&cell.point));
            let shown = |what: &&str| match value(cell, what) {
                Some(share) if *what == "share" => wording::percent(share),
                figure => wording::optional_number(figure),
            };
            let named = [title.clone(), cell.contender.clone()].into_iter().chain(level);
            table.push(RowKind::Plain, named.chain(figures.iter().map(shown)));
        }
    }
    Some(Block::fold("Calls of each statement", vec![Block::note(CALLS), Block::Table(table.without_empty_columns())]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{Story, passes_run};

    #[test]
    fn a_time_that_a_limit_ended_is_a_bound_and_named() {
        let mut stored = passes_run(&Story::default());
        for trial in stored.trials.iter_mut().filter(|trial| trial.contender == fixtures::CANDIDATE) {
            trial.metrics.insert(operation_metric("connect_02", SECONDS), 600.0);
            trial.flags.push(record::format::operations::flag("limited", "connect_02"));
        }
        let text = crate::find("text").unwrap();
        let evidence = evidence_of(stored);
        let text = text.write(&evidence, &crate::Options::default()).unwrap();
        let row = text.lines().find(|line| line.trim_start().starts_with("connect_02")).unwrap();
        assert!(row.contains("> 600") && row.contains("slower"), "{row}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("did not answer connect_02 within the statement limit in"), "{words}");
        // Before anything else is read.
        let workload = &evidence.conclusions.workloads[0];
        let first = crate::verdict::sentences(&evidence, workload, &workload.duels[0]);
        let expected = format!(
            "Within the statement limit `{}` did not answer connect_02: their times are longer than the limit that they count with.",
            fixtures::CANDIDATE
        );
        assert!(first.contains(&expected), "{first:?}");
    }

    #[test]
    fn where_nothing_is_decided_one_word_says_so() {
        let mut evidence = evidence_of(passes_run(&Story::default()));
        let duel = &mut evidence.conclusions.workloads[0].duels[0];
        duel.parts.iter_mut().flat_map(|parts| &mut parts.operations).for_each(|part| {
            part.comparison.verdict = Verdict::Inconclusive;
        });
        let workload = &evidence.conclusions.workloads[0];
        let sentences = crate::verdict::sentences(&evidence, workload, &workload.duels[0]);
        assert!(
            sentences.iter().any(|one| one.starts_with("None of ") && one.ends_with(" is decided.")),
            "{sentences:?}"
        );
    }

    #[test]
    fn operations_that_differ_stand_before_those_that_take_longest() {
        let evidence = evidence_of(passes_run(&Story::default()));
        let mut parts = evidence.conclusions.workloads[0].duels[0].parts.clone().unwrap().operations;
        let share = |part: &&mut Part| part.shares[0].unwrap_or(0.0);
        parts.iter_mut().for_each(|part| part.comparison.verdict = Verdict::NoDifferenceShown);
        let compared = parts.iter_mut().filter(|part| part.comparison.ratio.is_some());
        let least = compared.min_by(|one, other| share(one).total_cmp(&share(other))).unwrap();
        least.comparison.verdict = Verdict::Slower;
        let least = least.name.clone();
        let ordered = by_news(&parts);
        assert_eq!(ordered[0].name, least);
        let shares: Vec<f64> = ordered[1..].iter().map(|part| part.shares[0].unwrap_or(0.0)).collect();
        assert!(shares.len() > 2 && shares.is_sorted_by(|one, next| one >= next), "{shares:?}");
    }
}
