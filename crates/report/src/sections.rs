//! The topics of a report, one a file, in the order in which they are read.

mod aa;
mod causes;
mod costs;
mod differences;
mod first;
pub mod gate;
mod host;
pub mod kinds;
mod ladder;
mod latency;
mod levels;
mod matrix;
mod method;
mod operations;
mod precision;
mod probes;
pub mod profile;
mod recovery;
pub mod scaling;
pub mod seconds;
pub mod settings_and_plans;
mod transactions;
mod trials;
mod tuning;
mod waterfall;
mod workers;

use analysis::WorkloadConclusions;

use super::Evidence;
use crate::document::{Block, Document, Section};

/// One topic. Lives beside the list that holds all of them.
pub trait Topic: Sync {
    /// None where the run has nothing of it.
    fn section(&self, evidence: &Evidence) -> Option<Section>;

    /// Whether it says something of the race of a search, which has no verdicts.
    fn is_of_a_race(&self) -> bool {
        false
    }
}

/// Every topic behind the first screen.
pub const TOPICS: &[&dyn Topic] = &[
    &recovery::Recovery,
    &ladder::Ladders,
    &gate::Limits,
    &levels::Levels,
    &costs::Costs,
    &causes::Causes,
    &latency::Latency,
    &transactions::Transactions,
    &seconds::Seconds,
    &kinds::Kinds,
    &operations::Operations,
    &scaling::Cores,
    &tuning::Search,
    &profile::Profile,
    &differences::Differences,
    &host::Host,
    &workers::Workers,
    &method::Method,
    &aa::AaTest,
    &probes::Probes,
    &trials::Trials,
];

/// The whole report of a run.
pub fn document(evidence: &Evidence) -> Document {
    let is_race = is_race(evidence);
    let topics = TOPICS.iter().filter(|topic| !is_race || topic.is_of_a_race());
    Document {
        name: evidence.plan.name.clone(),
        question: evidence.plan.question.clone(),
        note: note(evidence),
        first: if is_race { tuning::first(evidence) } else { first::section(evidence) },
        sections: topics.filter_map(|topic| topic.section(evidence)).collect(),
        folder: evidence.folder.clone(),
    }
}

/// The trials of a race would praise whom they chose: it has no verdict.
pub fn is_race(evidence: &Evidence) -> bool {
    evidence.run.search.as_ref().is_some_and(|search| search.run.is_none())
}

/// What to know before anything else.
fn note(evidence: &Evidence) -> Option<String> {
    let baselines = evidence.plan.baseline_of_run.as_ref().map(|own| {
        let left_out = if evidence.plan.gate.is_some() { "; the limits of its file are left out" } else { "" };
        format!(
            "compared with `{}`, chosen after the run, whose own baseline is `{own}`{left_out}",
            evidence.plan.baseline
        )
    });
    let notes: Vec<String> = evidence.note.iter().cloned().chain(baselines).collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The blocks of each workload, below its name where there are several.
fn by_workload(evidence: &Evidence, body: impl Fn(&WorkloadConclusions) -> Vec<Block>) -> Vec<Block> {
    let workloads = &evidence.conclusions.workloads;
    let titled = |workload: &WorkloadConclusions| {
        let body = body(workload);
        let title = (workloads.len() > 1 && !body.is_empty()).then(|| Block::heading(workload.workload.as_str()));
        title.into_iter().chain(body)
    };
    workloads.iter().flat_map(titled).collect()
}

/// Sentences that lack their full stop.
fn stopped(lines: Vec<String>) -> Vec<String> {
    let full_stop = |line: String| if line.ends_with(['.', ':', '?', '!']) { line } else { line + "." };
    lines.into_iter().map(full_stop).collect()
}

/// A title; one that begins with a unit or a quantile (`tps`, `p95`) stays as it is.
fn as_title(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = first.len() > 3 && first.bytes().all(|letter| letter.is_ascii_lowercase());
    if is_word { capitalised(text) } else { text.to_owned() }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
