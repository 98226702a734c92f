//! Relative rates by kind of statements, in the shape in which they are pasted into posts and tickets: a row for each kind, a
//! column for each contender, and the baseline is 1.00.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use analysis::{Comparison, Verdict, WorkloadConclusions};

use super::csv::guarded;
use super::verdict::kinds_of;
use super::wording::ratio;
use super::{Evidence, Options, Report};

pub const CSV: Report = Report::new(
    "relative-csv",
    "relative rates by kind of statements: one line per kind, the baseline 1.00 and the ratio of each candidate",
    "dbduel report last --format relative-csv --out relative.csv",
    write_csv,
);

pub const MARKDOWN: Report = Report::new(
    "relative-markdown",
    "the same as a table in Markdown; bold where a verdict is given",
    "dbduel report last --format relative-markdown",
    write_markdown,
);

/// In place of a table.
const NONE: &str = "This run has no kinds of statements.\n";

/// Name of a kind, and its comparison for each candidate that has one.
type Row<'a> = (&'a str, Vec<Option<&'a Comparison>>);

/// The kinds of a workload, by group and name, and their candidates.
fn table(workload: &WorkloadConclusions) -> (Vec<&str>, Vec<Row<'_>>) {
    let duels: Vec<_> = workload.duels.iter().filter_map(|duel| Some((duel, kinds_of(duel)?))).collect();
    let mut rows: BTreeMap<&str, Vec<Option<&Comparison>>> = BTreeMap::new();
    for (place, (_, parts)) in duels.iter().enumerate() {
        for part in parts.programs.iter().chain(&parts.operations) {
            let row = rows.entry(&part.name).or_insert_with(|| vec![None; duels.len()]);
            row[place] = Some(&part.comparison);
        }
    }
    (duels.iter().map(|(duel, _)| duel.candidate.as_str()).collect(), rows.into_iter().collect())
}

fn tables(evidence: &Evidence) -> impl Iterator<Item = (Vec<&str>, Vec<Row<'_>>)> {
    evidence.conclusions.workloads.iter().map(table).filter(|(_, rows)| !rows.is_empty())
}

fn shown(comparison: Option<&Comparison>) -> String {
    comparison.filter(|one| one.ratio.is_some()).map_or_else(String::new, ratio)
}

fn write_csv(evidence: &Evidence, _: &Options) -> Result<String> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    for (candidates, rows) in tables(evidence) {
        let names = std::iter::once(evidence.plan.baseline.as_str()).chain(candidates);
        csv.write_record(std::iter::once("kind".to_owned()).chain(names.map(guarded)))?;
        for (kind, comparisons) in rows {
            let ratios = comparisons.into_iter().map(shown);
            csv.write_record([guarded(kind), "1.00".to_owned()].into_iter().chain(ratios))?;
        }
    }
    String::from_utf8(csv.into_inner()?).context("a name is not UTF-8")
}

fn write_markdown(evidence: &Evidence, _: &Options) -> Result<String> {
    let mut text = String::new();
    for (candidates, rows) in tables(evidence) {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let names = [evidence.plan.baseline.as_str()].into_iter().chain(candidates.iter().copied());
        text += &line(std::iter::once("kind").chain(names).map(escaped).collect());
        text += &format!("|---|{}\n", "---:|".repeat(1 + candidates.len()));
        for (kind, comparisons) in rows {
            let ratios = comparisons.into_iter().map(|one| match one.map(|one| one.verdict) {
                Some(Verdict::Faster | Verdict::Slower) => format!("**{}**", shown(one)),
                _ => shown(one),
            });
            text += &line([escaped(kind), "1.00".to_owned()].into_iter().chain(ratios).collect());
        }
        text += "\nRates as a ratio to the first column. Bold: shown to differ.\n";
    }
    Ok(if text.is_empty() { NONE.to_owned() } else { text })
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::evidence_of;
    use fixtures::{Story, kinds_run, passes_run};

    #[test]
    fn each_kind_has_the_baseline_as_one_and_the_ratio_of_the_candidate() {
        let evidence = evidence_of(kinds_run(&Story::default()));
        let csv = write_csv(&evidence, &Options::default()).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "kind,5.5,5.6 <b>&tuned");
        assert!(lines[1].starts_with("aggregate,1.00,") && lines[2].starts_with("aggregate/01,1.00,"), "{csv}");
        let point = lines.iter().find(|line| line.starts_with("point/02,1.00,0.79")).is_some();
        assert!(point && !csv.contains("write/08"), "{csv}");
        let markdown = write_markdown(&evidence, &Options::default()).unwrap();
        assert!(markdown.starts_with("| kind | 5.5 | 5.6 &lt;b>&tuned |\n|---|---:|---:|\n"), "{markdown}");
        assert!(markdown.contains("| point/02 | 1.00 | **0.79"), "{markdown}");
    }

    #[test]
    fn a_run_without_kinds_has_none() {
        let evidence = evidence_of(passes_run(&Story::default()));
        assert_eq!(write_csv(&evidence, &Options::default()).unwrap(), "");
        assert_eq!(write_markdown(&evidence, &Options::default()).unwrap(), NONE);
    }
}
