//! Sentences of typed conclusions, one file a topic.
//!
//! Analysis holds facts; what a reader reads of them is made here and nowhere else.

pub mod aa;
pub mod causes;
pub mod costs;
pub mod duet;
pub mod findings;
pub mod parts;
pub mod plans;
pub mod probes;
pub mod servers;
pub mod verdicts;

/// A conclusion in words, with lines of evidence behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub kind: &'static str,
    pub grade: &'static str,
    pub text: String,
    pub evidence: Vec<String>,
}

/// A message of several lines for a place that has one.
pub fn one_line(message: &str) -> String {
    message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}
