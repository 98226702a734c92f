//! Several candidates under several workloads: one sentence of all verdicts, and a table with one of them in each cell.

use analysis::{Comparison, HeadToHead, Verdict, WorkloadConclusions};

use crate::Evidence;
use crate::document::{Cell, Column, RowKind, Span, Table, Text};
use crate::wording::{self, count, joined};

/// Wider tables than this fit no page.
const WORKLOADS_MAX: usize = 5;

/// The workloads, where each of them has the same candidates, and there are several of both.
fn workloads(evidence: &Evidence) -> Option<&[WorkloadConclusions]> {
    let workloads = evidence.conclusions.workloads.as_slice();
    let candidates = |workload: &WorkloadConclusions| -> Vec<String> {
        workload.duels.iter().map(|duel| duel.candidate.clone()).collect()
    };
    let first = candidates(workloads.first()?);
    let is_alike = |workload: &WorkloadConclusions| workload.ladders.is_empty() && candidates(workload) == first;
    let fits = (2..=WORKLOADS_MAX).contains(&workloads.len()) && first.len() > 1 && workloads.iter().all(is_alike);
    fits.then_some(workloads)
}

/// `Beside `A`, `B` is faster in all 3 workloads; `C` is faster in one and slower in other.`
pub fn sentence(evidence: &Evidence) -> Option<String> {
    let workloads = workloads(evidence)?;
    let of_candidate = |place: usize| {
        let duels = workloads.iter().map(|workload| (workload, &workload.duels[place]));
        format!("`{}` is {}", workloads[0].duels[place].candidate, verdicts(duels.collect()))
    };
    let duels = &workloads[0].duels;
    let all: Vec<String> = (0..duels.len()).map(of_candidate).collect();
    Some(format!("Beside `{}`, {}.", duels[0].baseline, all.join("; ")))
}

const WORDS: [(Verdict, &str); 5] = [
    (Verdict::Faster, "faster"),
    (Verdict::Slower, "slower"),
    (Verdict::Mixed, "faster at some load levels and slower at others"),
    (Verdict::NoDifferenceShown, "the same within the margin"),
    (Verdict::Inconclusive, "not decided"),
];

/// One candidate's verdicts, those workloads together that have the same one.
fn verdicts(duels: Vec<(&WorkloadConclusions, &HeadToHead)>) -> String {
    let of_verdict = |(verdict, word): (Verdict, &str)| {
        let alike = duels.iter().filter(|(_, duel)| duel.overall.verdict == verdict);
        let names: Vec<String> = alike.map(|(workload, _)| workload.workload.clone()).collect();
        match names.len() {
            0 => None,
            all if all == duels.len() => Some(format!("{word} in all {}", count(all, "workload"))),
            _ => Some(format!("{word} in {}", joined(names))),
        }
    };
    joined(WORDS.into_iter().filter_map(of_verdict).collect())
}

/// A row for each contender, a column for each workload: throughput, ratio to the baseline, interval and verdict.
pub fn table(evidence: &Evidence) -> Option<Table> {
    let workloads = workloads(evidence)?;
    let title = |workload: &WorkloadConclusions| {
        Column::name(format!("{}: {}, ratio (95 % CI)", workload.workload, workload.primary.unit), 0)
    };
    let columns: Vec<Column> =
        std::iter::once(Column::name("contender", 0)).chain(workloads.iter().map(title)).collect();
    let mut table = Table::new(columns);
    let first = &workloads[0].duels;
    let baseline =
        |workload: &WorkloadConclusions| Cell::from(wording::optional_number(workload.duels[0].overall.baseline_value));
    let row = |name: &str, cells: Vec<Cell>| std::iter::once(Cell::from(name)).chain(cells).collect::<Vec<_>>();
    table.push(RowKind::First, row(&first[0].baseline, workloads.iter().map(baseline).collect()));
    for (place, duel) in first.iter().enumerate() {
        let cells = workloads.iter().map(|workload| cell(&workload.duels[place].overall)).collect();
        table.push(RowKind::Plain, row(&duel.candidate, cells));
    }
    Some(table)
}

/// `1,108, 1.25 (1.20–1.31), faster`.
fn cell(overall: &Comparison) -> Cell {
    let [value, ratio] = [wording::optional_number(overall.candidate_value), wording::ratio(overall)];
    let figures = format!("{value}, {ratio} ({}), ", wording::marked_interval(overall));
    let verdict = Span::Judgement(overall.verdict.into(), wording::verdict(overall).to_owned());
    Cell::from(Text(vec![Span::Plain(figures), verdict]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{Gains, INDEPENDENT, Story, ladder_run};

    /// Five candidates beside one baseline, under two workloads.
    fn evidence() -> Evidence {
        let gains = Gains { alone: 1.4, ..INDEPENDENT };
        let mut evidence = evidence_of(ladder_run(&Story::default(), gains));
        evidence.conclusions.workloads[0].ladders.clear();
        let mut second = evidence.conclusions.workloads[0].clone();
        second.workload = "read-only".into();
        second.duels[0].overall.verdict = Verdict::Slower;
        evidence.conclusions.workloads.push(second);
        evidence
    }

    #[test]
    fn one_sentence_has_every_candidate_with_its_verdict_under_each_workload() {
        let evidence = evidence();
        let candidates: Vec<&str> =
            evidence.conclusions.workloads[0].duels.iter().map(|duel| duel.candidate.as_str()).collect();
        let sentence = sentence(&evidence).unwrap();
        let first = format!("Beside `5.5`, `{}` is faster in oltp_read_write and slower in read-only; ", candidates[0]);
        assert!(sentence.starts_with(&first), "{sentence}");
        assert!(sentence.contains(&format!("`{}` is faster in all 2 workloads", candidates[1])), "{sentence}");
        assert!(candidates.iter().all(|name| sentence.matches(&format!("`{name}`")).count() == 1), "{sentence}");
    }

    #[test]
    fn each_cell_has_its_ratio_its_interval_and_its_verdict() {
        let evidence = evidence();
        let table = table(&evidence).unwrap();
        assert_eq!((table.columns.len(), table.rows.len()), (3, 1 + evidence.conclusions.workloads[0].duels.len()));
        for (row, duel) in table.rows[1..].iter().zip(&evidence.conclusions.workloads[1].duels) {
            let text = row.cells[2].text.raw();
            let interval = wording::marked_interval(&duel.overall);
            assert!(text.contains(&format!(" ({interval}), ")), "{text}");
            assert!(text.ends_with(wording::verdict(&duel.overall)), "{text}");
        }
    }

    #[test]
    fn a_single_workload_and_a_ladder_have_neither() {
        let mut one = evidence();
        one.conclusions.workloads.pop();
        assert!(table(&one).is_none() && sentence(&one).is_none());
        let ladders = evidence_of(ladder_run(&Story::default(), INDEPENDENT));
        assert!(table(&ladders).is_none());
    }
}
