//! Programs and operations of a pass as rows, for the text and the HTML report alike.
//!
//! Pure formatting: what is compared, and what is not, the analysis has decided.

use std::collections::BTreeSet;

use analysis::{COLLECTED_SECONDS, Caveat, Duel, Part, Parts, WorkloadConclusions};
use record::format::pass::{PARTIAL, SECONDS, operation_metric};

use super::{sentences, wording};

/// The headings of a table of parts behind the part's name.
pub fn heading(duel: &Duel) -> [String; 6] {
    let seconds = |name: &str| format!("{name} s");
    [
        seconds(&duel.baseline),
        seconds(&duel.candidate),
        "ratio".into(),
        "interval".into(),
        "share".into(),
        "word".into(),
    ]
}

/// What stands below the headings.
pub fn cells(part: &Part, said: &[Caveat]) -> [String; 6] {
    let comparison = &part.comparison;
    let [baseline, candidate] = part.shares.map(|share| share.map_or("-".to_owned(), wording::percent));
    let share = if baseline == candidate { baseline } else { format!("{baseline}, {candidate}") };
    let marks: String = part.marks.iter().map(|mark| format!(", {mark}")).collect();
    let word = format!("{}{marks}{}", wording::word(comparison), wording::caveats(comparison, said));
    let kind = if comparison.basis == stats::Basis::Plain { " t" } else { "" };
    [
        wording::optional_number(comparison.baseline_value),
        wording::optional_number(comparison.candidate_value),
        wording::ratio_only(comparison),
        wording::interval(comparison).map_or("none".to_owned(), |bounds| format!("{bounds}{kind}")),
        share,
        word,
    ]
}

/// Caveats that all rows have, with those of the headline: said once, above the table.
pub fn shared_caveats(duel: &Duel, parts: &[Part]) -> Vec<Caveat> {
    let of_all = |caveat: &Caveat| parts.iter().all(|part| part.comparison.caveats.contains(caveat));
    let screening = [Caveat::Screening].into_iter().filter(of_all);
    duel.overall.caveats.iter().copied().chain(screening).collect()
}

/// What the total is of, and what each of the two did altogether.
pub fn totals(workload: &WorkloadConclusions, duel: &Duel, parts: &Parts) -> String {
    let all = |contender: &str| {
        let cell = workload.cells.iter().find(|cell| cell.contender == contender);
        let mean = cell.and_then(|cell| Some(cell.metrics.get(COLLECTED_SECONDS)?.mean));
        format!("`{contender}` {} s", wording::optional_number(mean))
    };
    format!(
        "The total is of {} that every contender did rightly; everything that each did: {}, {}",
        wording::count(parts.in_total, "operation"),
        all(&duel.baseline),
        all(&duel.candidate)
    )
}

/// How far the words of single programs hold.
pub fn about_programs(parts: &Parts) -> String {
    let programs = wording::count(parts.programs.len(), "program");
    format!("Each with all that is between its operations; {programs} share the error of 5 %")
}

/// How far the words of single operations hold.
pub fn about_operations(parts: &Parts) -> String {
    let operations = wording::count(parts.operations.len(), "operation");
    if parts.screened {
        format!(
            "Screening: each interval holds by itself; of the words among {operations}, one in twenty is false on average \
             (Benjamini-Hochberg)"
        )
    } else {
        format!("{operations} share the error of 5 %")
    }
}

/// Operations that are compared with nothing, as rows: a time or the gap's name in each cell.
pub fn rows_of_gaps(workload: &WorkloadConclusions, duel: &Duel, parts: &Parts) -> Vec<(String, [String; 6])> {
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
        let word = "compared with nothing".to_owned();
        (name.to_owned(), [cell(&duel.baseline, name), cell(&duel.candidate, name), none(), none(), none(), word])
    };
    names.into_iter().filter(is_operation).map(row).collect()
}

/// What is missing or wrong, a line each.
pub fn left_out(parts: &Parts) -> Vec<String> {
    let line = |name: &str, contender: &str, kind: &str, why: &str| format!("`{contender}`, {name} ({kind}): {why}");
    parts.left_out.iter().map(|one| line(&one.name, &one.contender, one.kind, &sentences::parts::why(one))).collect()
}
