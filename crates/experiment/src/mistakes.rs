//! Mistakes in an experiment file, described so that the next step is plain.
//!
//! A mistake names the file, the line, the key, what was expected and the nearest name that is
//! known. All mistakes of a file are collected and printed together, in the order of its lines.

use std::fmt;

/// What stands in messages for the file of an experiment that has none.
pub const COMMAND_LINE: &str = "command line";

/// One thing that is wrong, with the lines that help to repair it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// From 1; `None` where the command line is at fault, not the file.
    pub line: Option<usize>,
    pub what: String,
    /// What was expected, the nearest known name, the next step: one line each.
    pub notes: Vec<String>,
}

/// Everything that is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistakes {
    pub file: String,
    pub list: Vec<Mistake>,
    /// Whether a list of all keys helps.
    pub about_keys: bool,
}

impl fmt::Display for Mistakes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        for mistake in &self.list {
            lines.push(match mistake.line {
                Some(line) => format!("error: {}:{line}: {}", self.file, mistake.what),
                None => format!("error: {}", mistake.what),
            });
            lines.extend(mistake.notes.iter().map(|note| format!("  {note}")));
        }
        lines.extend(match self.file.as_str() {
            COMMAND_LINE => Some("next: `dbduel run --help` describes contenders and the flags beside them".to_owned()),
            _ if self.about_keys => {
                Some("next: `dbduel plan --defaults` prints every key, its default and the reason for it".to_owned())
            }
            _ => None,
        });
        out.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Mistakes {}

/// The known name that `word` was most likely meant to be.
///
/// Two slips are forgiven in short names and a third of the letters in long ones; past that a
/// suggestion would only mislead.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most_slips = (word.chars().count() / 3).max(2);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(slips, candidate)| *slips <= most_slips && *slips < candidate.chars().count())
        .min_by_key(|(slips, _)| *slips)
        .map(|(_, candidate)| candidate)
}

/// `did you mean ...?` where a known name is near, else the list of what is known.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("known here: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_its_name_and_nonsense_finds_none() {
        let known = ["duration", "blocks", "seed"];
        let check = |word, expected| assert_eq!(nearest(word, known), expected, "{word}");
        check("durration", Some("duration"));
        check("block", Some("blocks"));
        check("sede", Some("seed"));
        check("innodb_buffer_pool_size", None);
        check("x", None);
    }
}
