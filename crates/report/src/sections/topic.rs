//! What a topic is, and what topics share.

use analysis::WorkloadConclusions;

use crate::Evidence;
use crate::document::{Block, Section};

/// One topic. Lives beside the list that holds all of them.
pub trait Topic: Sync {
    /// None where the run has nothing of it.
    fn section(&self, evidence: &Evidence) -> Option<Section>;

    /// Whether it says something of the race of a search, which has no verdicts.
    fn is_of_a_race(&self) -> bool {
        false
    }
}

/// The blocks of each workload, below its name where there are several.
pub fn by_workload(evidence: &Evidence, body: impl Fn(&WorkloadConclusions) -> Vec<Block>) -> Vec<Block> {
    let workloads = &evidence.conclusions.workloads;
    let titled = |workload: &WorkloadConclusions| {
        let body = body(workload);
        let title = (workloads.len() > 1 && !body.is_empty()).then(|| Block::heading(workload.workload.as_str()));
        title.into_iter().chain(body)
    };
    workloads.iter().flat_map(titled).collect()
}

/// Sentences that lack their full stop.
pub fn stopped(lines: Vec<String>) -> Vec<String> {
    let full_stop = |line: String| if line.ends_with(['.', ':', '?', '!']) { line } else { line + "." };
    lines.into_iter().map(full_stop).collect()
}

/// A title; one that begins with a unit or a quantile (`tps`, `p95`) stays as it is.
pub fn as_title(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let is_word = first.len() > 3 && first.bytes().all(|letter| letter.is_ascii_lowercase());
    if is_word { capitalised(text) } else { text.to_owned() }
}

pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
