//! The topics of a report, one a file, in the order in which they are read.

mod aa;
pub mod answers;
mod causes;
mod costs;
mod differences;
mod first;
pub mod gate;
mod host;
mod kinds;
mod ladder;
mod latency;
mod levels;
mod matrix;
mod method;
mod one_answer;
mod operations;
pub mod plans;
mod precision;
mod probes;
pub mod profile;
mod recovery;
pub mod scaling;
pub mod seconds;
pub mod settings_and_plans;
mod topic;
mod transactions;
mod trials;
mod tuning;
mod waterfall;
mod workers;

use super::Evidence;
use crate::document::Document;
use topic::{Topic, as_title, by_workload, capitalised, stopped};

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
    &plans::PlansOfStatements,
    &answers::Answers,
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
    let is_race = evidence.is_race();
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
