//! Which values of a search's space a server takes, asked before candidates are drawn from it.
//!
//! A refused value would take out every candidate that holds it, and with it the place of one that could have
//! raced. Whether a server starts is asked of the caller; this only decides what is asked next, in as few starts
//! as it takes: values in company first, and in halves where the company is refused.

use std::collections::BTreeMap;

use anyhow::Result;

use super::search_space::Range;
use record::format::tuning::RefusedRecord;

/// Whether the server starts with these settings moved, or why not; an error where that cannot be found out.
pub type Starts<'a> = dyn FnMut(&BTreeMap<String, String>) -> Result<Result<(), String>> + 'a;

/// A setting and one value of it.
type Moved<'a> = (&'a str, &'a str);

/// The values that the server does not take, whatever else is moved. What is refused in company only is not
/// among them: a candidate may have it in other company.
pub fn refused<'a>(space: &'a [Range], starts: &mut Starts) -> Result<Vec<RefusedRecord>> {
    let deepest = space.iter().map(|range| range.values.len()).max().unwrap_or(0);
    let mut refused = Vec::new();
    for depth in 0..deepest {
        let at_this_depth = |range: &'a Range| Some((range.setting.as_str(), range.values.get(depth)?.as_str()));
        let group: Vec<Moved> = space.iter().filter_map(at_this_depth).collect();
        ask(&group, starts, &mut refused)?;
    }
    Ok(refused)
}

fn ask(group: &[Moved], starts: &mut Starts, refused: &mut Vec<RefusedRecord>) -> Result<()> {
    let owned = |(setting, value): &Moved| ((*setting).to_owned(), (*value).to_owned());
    let Err(why) = starts(&group.iter().map(owned).collect())? else { return Ok(()) };
    if let [one] = group {
        let (setting, value) = owned(one);
        refused.push(RefusedRecord { setting, value, why });
        return Ok(());
    }
    let (front, back) = group.split_at(group.len() / 2);
    ask(front, starts, refused)?;
    ask(back, starts, refused)
}

/// A space without what the server refuses; settings that have nothing left are gone from it.
pub fn without(mut space: Vec<Range>, refused: &[RefusedRecord]) -> Vec<Range> {
    for range in &mut space {
        let is_refused =
            |value: &String| refused.iter().any(|one| (&one.setting, &one.value) == (&range.setting, value));
        range.values = range.values.iter().filter(|value| !is_refused(value)).cloned().collect();
    }
    space.retain(|range| !range.values.is_empty());
    space
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> Vec<Range> {
        let range = |(setting, values): (&str, &[&str])| Range {
            setting: setting.to_owned(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        };
        [("cache", &["4G", "2G"][..]), ("jit", &["off"]), ("log", &["1G", "2G"]), ("pool", &["8G", "4G", "2G"])]
            .map(range)
            .to_vec()
    }

    /// Tries the space with a server that accepts what `takes` returns. Returns what is refused and the number of
    /// starts.
    fn asked(takes: impl Fn(&BTreeMap<String, String>) -> bool) -> (Vec<(String, String)>, usize) {
        let mut starts = 0;
        let mut server = |moved: &BTreeMap<String, String>| {
            starts += 1;
            assert!(!moved.is_empty());
            Ok(if takes(moved) { Ok(()) } else { Err("unknown".to_owned()) })
        };
        let refused = refused(&space(), &mut server).unwrap();
        assert!(refused.iter().all(|one| one.why == "unknown"));
        (refused.into_iter().map(|one| (one.setting, one.value)).collect(), starts)
    }

    fn has(moved: &BTreeMap<String, String>, setting: &str, value: &str) -> bool {
        moved.get(setting).is_some_and(|one| one == value)
    }

    #[test]
    fn a_server_that_takes_everything_is_started_once_for_each_round_of_values() {
        assert_eq!(asked(|_| true), (vec![], 3));
    }

    #[test]
    fn a_refused_value_is_found_among_the_others_and_taken_out() {
        let (found, starts) = asked(|moved| !has(moved, "log", "1G"));
        assert_eq!(found, [("log".to_owned(), "1G".to_owned())]);
        // The round, its halves, and the values of the half that is refused.
        assert_eq!(starts, 3 + 4);
        let record = |(setting, value): (String, String)| RefusedRecord { setting, value, why: String::new() };
        let left = without(space(), &found.into_iter().map(record).collect::<Vec<_>>());
        assert_eq!(left[2].values, ["2G"]);
        assert_eq!(left.len(), 4);
        let jit = RefusedRecord { setting: "jit".into(), value: "off".into(), why: String::new() };
        assert!(without(space(), &[jit]).iter().all(|range| range.setting != "jit"));
    }

    #[test]
    fn what_is_refused_in_company_only_stays() {
        let (found, _) = asked(|moved| !(has(moved, "cache", "4G") && has(moved, "pool", "8G")));
        assert_eq!(found, []);
    }

    #[test]
    fn without_a_check_nothing_is_refused() {
        let mut broken = |_: &BTreeMap<String, String>| -> Result<Result<(), String>> { anyhow::bail!("no disk") };
        assert!(refused(&space(), &mut broken).is_err());
    }
}
