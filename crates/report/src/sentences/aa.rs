//! What A/A tests of this host have shown, and why they do not let a run begin.

use analysis::aa::{TOLD_APART_MAX, Uncovered, UncoveredBecause};
use record::format::{AaRecord, point_text};

/// An A/A test that found a difference.
pub fn found(one: &AaRecord) -> String {
    format!(
        "{}: {} {}, {}, {}: {} {:.4} ({:.4} to {:.4}, {} blocks)",
        one.at,
        one.engine,
        one.version,
        one.workload,
        point_text(&one.point),
        one.verdict,
        one.ratio,
        one.low,
        one.high,
        one.blocks
    )
}

/// Why a host is refused whose A/A tests found too many differences; `file` is for the shell.
pub fn unfit_host(found: &[AaRecord], verdicts: usize, file: &str) -> String {
    let lines: Vec<String> = found.iter().map(self::found).collect();
    format!(
        "this host is too noisy to compare servers: {} of the last {verdicts} A/A tests found a difference, and chance allows {TOLD_APART_MAX}\n    {}\n  next: look for what differs between one half hour and the next (neighbours, clock speed, background work), run `dbduel aa {file}` until it finds no difference, or measure all the same with --accept-noisy",
        lines.len(),
        lines.join("\n    "),
    )
}

/// Why preset strict does not begin.
pub fn uncovered(missing: &[Uncovered], file: &str) -> String {
    let line = |one: &Uncovered| {
        let why = match &one.why {
            UncoveredBecause::NeverMeasured => "never measured here".to_owned(),
            UncoveredBecause::ShorterTrialsOnly => "measured here in shorter trials only".to_owned(),
            UncoveredBecause::FoundDifference { verdict, at } => format!("`{verdict}` of {at}"),
        };
        format!("{} at {}: {why}", one.workload, point_text(&one.point))
    };
    format!(
        "preset strict needs an A/A test that found no difference, on this host and under this workload:\n    {}\n  next: `dbduel aa {file}`, or choose preset standard",
        missing.iter().map(line).collect::<Vec<_>>().join("\n    "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_preset_strict_lacks_is_listed_with_the_command_that_measures_it() {
        let missing = |why| Uncovered { workload: "w".into(), point: [("clients".to_owned(), 4)].into(), why };
        let found = UncoveredBecause::FoundDifference { verdict: "faster".into(), at: "2031-05-04".into() };
        let text = uncovered(&[missing(found), missing(UncoveredBecause::NeverMeasured)], "a.toml");
        let lines = "\n    w at 4 clients: `faster` of 2031-05-04\n    w at 4 clients: never measured here\n";
        assert!(text.contains(lines) && text.contains("`dbduel aa a.toml`"), "{text}");
    }
}
