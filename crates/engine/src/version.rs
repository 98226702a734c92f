//! Versions: their numbers, their order, their series.

use std::cmp::Ordering;

/// Whether a version is the wanted one or belongs to the wanted series: 10.11.5 to `10.11` and `10.11.*`.
pub(crate) fn in_series(version: &str, wanted: &str) -> bool {
    let wanted = wanted.trim_end_matches('*').trim_end_matches('.');
    version == wanted || version.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('.'))
}

/// Whether a catalogue's version is what its source has on the day it is asked.
pub fn rolls(version: &str) -> bool {
    version.ends_with(".*")
}

/// Whether a rolling source may have what is wanted: the version it is known for, or a later one.
pub(crate) fn may_roll_to(version: &str, wanted: &str) -> bool {
    rolls(version) && (in_series(wanted, version) || by_version(wanted, version).is_gt())
}

/// The numbers of a version: 10.11.5-MariaDB is [10, 11, 5].
pub fn version_numbers(version: &str) -> Vec<u32> {
    let end = version.find(|c: char| c != '.' && !c.is_ascii_digit()).unwrap_or(version.len());
    version[..end].split('.').filter_map(|part| part.parse().ok()).collect()
}

pub fn by_version(a: &str, b: &str) -> Ordering {
    version_numbers(a).cmp(&version_numbers(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_not_a_prefix_of_digits() {
        assert!(in_series("10.1.23", "10.1"));
        assert!(!in_series("10.11.5", "10.1"));
        assert!(!in_series("15.18", "1"));
    }
}
