//! What is wrong with a script, with its place: file, line, column, the line itself and what was expected there.

use std::fmt;

/// A file of a script as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: String,
    pub text: String,
}

/// One thing that is wrong at a byte of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub at: usize,
    pub what: String,
    pub expected: String,
}

impl Fault {
    pub fn new(at: usize, what: impl Into<String>, expected: impl Into<String>) -> Fault {
        Fault { at, what: what.into(), expected: expected.into() }
    }
}

impl Source {
    /// From 1.
    pub fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// `order.sql:4:11: what is wrong`, the line, and a caret below the place.
    pub fn told(&self, fault: &Fault) -> String {
        let at = fault.at.min(self.text.len());
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next().unwrap_or_default();
        let column = self.text[start..at].chars().count();
        let place = format!("{}:{}:{}", self.path, self.line(at), column + 1);
        // Tabs stay, so that the caret stands below its character.
        let margin: String = self.text[start..at].chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
        format!("{place}: {}\n{}\n{margin}^ {}", fault.what, line.trim_end(), fault.expected)
    }
}

/// All that is wrong, one block of lines each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults(pub Vec<String>);

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// `nearest is random_zipfian`, or what is known.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let slips_max = (word.chars().count() / 3).max(2);
    let near = known.iter().map(|one| (strsim::damerau_levenshtein(word, one), *one));
    let near = near.filter(|(slips, one)| *slips <= slips_max && *slips < one.chars().count());
    match near.min_by_key(|(slips, _)| *slips) {
        Some((_, near)) => format!("nearest is {near}"),
        None => format!("known are {}", known.join(", ")),
    }
}
