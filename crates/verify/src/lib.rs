//! Do the reports of a run, or a page, agree with their raw data?
//!
//! Everything is computed again from the records and the files of trials, and compared with what lies
//! there. A report is compared to the byte, because the same records make the same bytes; where another
//! dbduel wrote it, its numbers are searched for in ours. Nothing is repaired.

mod deferred;
mod findings;
mod host;
mod records;
mod windows;

pub use findings::Findings;
use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};

use analysis::EndReason;
use record::format::PlanRecord;
use record::{RunDir, plain_file};
use report::{self, Evidence, Options};

/// Reports that a run keeps beside its records, with the format of each.
const KEPT_REPORTS: [(&str, &str); 2] = [("text", "report.txt"), ("html", "report.html")];

/// The beginnings of the only lines of a text report that depend on where the run lies.
const PLACE_LINES: [&str; 2] = ["  Full report: ", "  Experiment: "];

/// As much of a line as identifies it.
const EXCERPT: usize = 120;

/// A run, its files and the reports that it keeps.
pub fn of_run(run: &RunDir) -> Result<Findings> {
    let mut findings = Findings::default();
    let evidence = Evidence::gather(run)?;
    plan(&evidence.plan, &mut findings);
    records::against_plan(&evidence, &mut findings);
    records::against_files(&evidence, &mut findings);
    windows::against_windows(&evidence, &mut findings);
    host::against_samples(&evidence, &mut findings);
    deferred::against_counts(run, &evidence, &mut findings)?;
    for (format, file) in KEPT_REPORTS {
        match run.report(file)? {
            Some(stored) => report(file, format, &stored, &evidence, &mut findings)?,
            None if has_ended(&evidence) => findings.differs(format!("{file} is missing, although the run has ended")),
            None => findings.checked(format!("there is no {file} yet: the run did not come to its end")),
        }
    }
    Ok(findings)
}

/// What was interrupted may go on, and has its reports at its end.
fn has_ended(evidence: &Evidence) -> bool {
    evidence.run.ended_by.as_deref().is_some_and(|why| why != EndReason::Interrupted.as_str())
}

/// An HTML report, by the records that it holds.
pub fn of_page(path: &Path) -> Result<Findings> {
    let page = plain_file::read_text(path, plain_file::STORED_BYTES_MAX)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut findings = Findings::default();
    let evidence = Evidence::of_page(&page).with_context(|| format!("{} cannot be verified", path.display()))?;
    plan(&evidence.plan, &mut findings);
    records::against_plan(&evidence, &mut findings);
    windows::against_windows(&evidence, &mut findings);
    host::against_samples(&evidence, &mut findings);
    report("the page", "html", &page, &evidence, &mut findings)?;
    Ok(findings)
}

/// The plan was hashed before the first block, with its own baseline.
fn plan(plan: &PlanRecord, findings: &mut Findings) {
    let hash = experiment::plan::plan_hash(&plan.of_run());
    if hash == plan.plan_hash {
        findings.checked(format!("the plan has its hash, {hash}"));
    } else {
        findings.differs(format!("the plan was changed after it was hashed: {hash}, stored {}", plan.plan_hash));
    }
}

/// Says the run again and compares it with what is stored.
fn report(name: &str, format: &str, stored: &str, evidence: &Evidence, findings: &mut Findings) -> Result<()> {
    let again = report::find(format)?.write(evidence, &Options::default())?;
    let (ours, theirs) = (env!("CARGO_PKG_VERSION"), evidence.run.dbduel_version.as_str());
    if ours == theirs {
        match first_difference(format, stored, &again) {
            None => findings.checked(format!("{name}: {} lines, byte for byte", stored.lines().count())),
            Some(difference) => findings.differs(format!("{name}, {difference}")),
        }
        return Ok(());
    }
    let (numbers, missing) = missing_numbers(stored, &again);
    if missing.is_empty() {
        findings.checked(format!(
            "{name}: {numbers} numbers; dbduel {theirs} wrote it, this is {ours}, so verdicts may differ"
        ));
    } else {
        findings.differs(format!(
            "{name} (by dbduel {theirs}, this is {ours}): these numbers do not come out: {}",
            missing.into_iter().take(10).collect::<Vec<_>>().join(", ")
        ));
    }
    Ok(())
}

/// The first line that differs; the line with the run's folder may differ. Of a page the raw records are
/// compared, not the stream that holds them.
fn first_difference(format: &str, stored: &str, again: &str) -> Option<String> {
    if stored == again {
        return None;
    }
    let plain = |text: &str| if format == "html" { report::unpacked(text).ok() } else { None };
    let plain = |text: &str| plain(text).unwrap_or_else(|| text.to_owned());
    let (stored, again) = (plain(stored), plain(again));
    let lines = |text: &str| -> Vec<String> { text.split('\n').map(str::to_owned).collect() };
    let (stored, again) = (lines(&stored), lines(&again));
    let is_place = |line: &str| PLACE_LINES.iter().find(|begin| line.starts_with(**begin));
    let same =
        |(then, now): (&String, &String)| then == now || is_place(then).is_some() && is_place(then) == is_place(now);
    let number = stored.iter().zip(&again).position(|pair| !same(pair));
    let number = number.or((stored.len() != again.len()).then(|| stored.len().min(again.len())))?;
    let excerpt = |lines: &[String]| match lines.get(number) {
        Some(line) => format!("`{}`", around_difference(line, stored.get(number), again.get(number))),
        None => "nothing".to_owned(),
    };
    Some(format!("line {}: stored {}, computed {}", number + 1, excerpt(&stored), excerpt(&again)))
}

/// The stretch of a line around the place where the two stop being the same.
fn around_difference(line: &str, stored: Option<&String>, again: Option<&String>) -> String {
    let alike = match (stored, again) {
        (Some(stored), Some(again)) => {
            stored.chars().zip(again.chars()).take_while(|(one, other)| one == other).count()
        }
        _ => 0,
    };
    line.chars().skip(alike.saturating_sub(EXCERPT / 2)).take(EXCERPT).collect()
}

/// How many different numbers stand in a report, and those that do not stand in ours.
fn missing_numbers(stored: &str, again: &str) -> (usize, BTreeSet<String>) {
    let (stored, again) = (numbers(stored), numbers(again));
    (stored.len(), stored.difference(&again).cloned().collect())
}

/// Numbers that are shown: not those of the raw records, nor those of the style.
fn numbers(report: &str) -> BTreeSet<String> {
    let visible = report.split("<main>").last().unwrap_or(report);
    let visible = visible.split("<script").next().unwrap_or(visible);
    let is_part = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == ',';
    let pieces = visible.split(|letter: char| !is_part(letter)).map(|piece| piece.trim_matches(['.', ',']));
    pieces.filter(|piece| !piece.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests;
