//! What must be known about a script whose figures are reported.

use std::collections::BTreeMap;

use load::Tally;

/// Share of the events' time above which calls outside of the database are reported.
const BLOCKED_SHARE: f64 = 0.01;
const BLOCKS: &str = "script-blocks";

/// By flag, as of an interval.
pub fn remarks(tally: &Tally) -> BTreeMap<String, String> {
    let meaning = |flag: &str| match flag {
        "script-random-wraps" => "ends of a random function wrap, so that its numbers are not between them",
        _ => "sysbench 1.0 sends 0 for a FLOAT or DOUBLE parameter, dbduel its value",
    };
    let placed = tally
        .script_remarks
        .iter()
        .map(|(flag, place)| (flag.clone().into_owned(), format!("{place}: {}", meaning(flag))));
    let share = tally.blocked_ns as f64 / tally.in_flight_ns.max(1) as f64;
    let blocks = (share > BLOCKED_SHARE).then(|| {
        let why = format!(
            "script blocks outside the database: {:.0} % of its events' time is in usleep, os.execute or files, while other clients of the worker wait",
            share * 100.0
        );
        (BLOCKS.to_owned(), why)
    });
    placed.chain(blocks).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_does_outside_the_database_is_a_share_of_its_time() {
        let tally = |blocked_ns| Tally { blocked_ns, in_flight_ns: 1_000, ..Tally::default() };
        assert!(remarks(&tally(10)).is_empty());
        assert!(remarks(&tally(250))[BLOCKS].contains(": 25 % of"), "{:?}", remarks(&tally(250)));
    }

    #[test]
    fn places_of_a_script_have_their_meaning() {
        let script_remarks = [("script-random-wraps".into(), "a.lua:3: (5, 1)".to_owned())].into();
        let found = remarks(&Tally { script_remarks, ..Tally::default() });
        assert!(
            found["script-random-wraps"].starts_with("a.lua:3: (5, 1): ends of a random function wrap"),
            "{found:?}"
        );
    }
}
