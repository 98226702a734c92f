//! Sentences of typed conclusions, one file a topic.
//!
//! Analysis holds facts; what a reader reads of them is made here and nowhere else.

pub mod aa;
pub mod causes;
pub mod costs;
pub mod duet;
pub mod findings;
pub mod parts;
pub mod probes;
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

/// Three significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size => {
            let digits = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
            format!("{value:.digits$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_have_three_digits() {
        for (value, expected) in
            [(0.0, "0"), (1234.5, "1234"), (12.345, "12.3"), (0.012345, "0.0123"), (-0.5, "-0.500")]
        {
            assert_eq!(figure(value), expected);
        }
    }
}
