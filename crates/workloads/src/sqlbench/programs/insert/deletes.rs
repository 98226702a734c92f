//! Rows deleted by their second key, and what is left in ranges.

use std::collections::HashSet;

use super::updates::second_keys;
use super::{Data, Scale};
use crate::sqlbench::bench::{Bench, Operation, Stop};

/// One range to delete, and the rows that it then still finds.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Range {
    condition: String,
    rows: u64,
}

pub fn run(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let loops = data.scale.loops;
    let turns = loops / 10;
    bench.time(Operation::changes("delete_key", turns, turns).batched("bench1"), |session, i| {
        let id3 = loops + data.shuffled(10 * i);
        // The second keys of the others have been changed.
        let rows = u64::from(10 * i >= loops / 2);
        session.run_to_change(rows, format_args!("delete from bench1 where id3={id3}"))
    })?;
    let mut ranges = ranges(data);
    if let Some(rest) = ranges.last_mut().filter(|_| bench.options.fast) {
        rest.condition.clear();
    }
    let turns = ranges.len() as u64;
    // The suite counts one less than it runs.
    bench.time(Operation::changes("delete_range", turns - 1, turns), |session, i| {
        let Range { condition, rows } = &ranges[i as usize];
        session.run_to_change(*rows, format_args!("delete from bench1{condition}"))
    })?;
    bench.verify_count("delete_range", "bench1", 0)?;
    bench.drop_if_there("bench1")
}

/// Ranges of the second key, one of the first, and the rest.
fn ranges(data: &Data) -> Vec<Range> {
    let Scale { loops, rows, .. } = data.scale;
    let mut left: Vec<(u64, u64)> = (0..).zip(second_keys(data)).collect();
    let deleted: HashSet<u64> = (0..loops).step_by(10).map(|place| loops + data.shuffled(place)).collect();
    left.retain(|(_, id3)| !deleted.contains(id3));
    let mut ranges = Vec::new();
    let mut delete = |condition: String, chosen: &dyn Fn(u64, u64) -> bool| {
        let before = left.len();
        left.retain(|(id, id3)| !chosen(*id, *id3));
        ranges.push(Range { condition, rows: (before - left.len()) as u64 });
    };
    for to in (0..10).map(|tenth| tenth * loops / 10) {
        delete(format!(" where id3>=0 and id3<={to}"), &|_, id3| id3 <= to);
    }
    delete(format!(" where id3>=0 and id3<={loops}"), &|_, id3| id3 <= loops);
    delete(format!(" where id>={loops} and id<={}", 2 * loops), &|id, _| (loops..=2 * loops).contains(&id));
    delete(format!(" where id3<{rows}"), &|_, _| true);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_delete_as_many_rows_as_the_suite_is_known_by() {
        let rows: Vec<u64> = ranges(&Data::new(Scale::FULL)).iter().map(|range| range.rows).collect();
        assert_eq!(rows, [20, 199_988, 49_992, 0, 0, 0, 0, 0, 0, 0, 0, 1, 44_999]);
    }
}
