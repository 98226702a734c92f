//! The whole table, and ranges of it, in the order of a key or against it.

use super::Data;
use crate::sqlbench::bench::{Bench, Operation, Stop};

/// Reads of every row, in their order.
const WHOLE: [(&str, &str); 6] = [
    ("order_by_big_key", "select id,id2 from bench1 order by id,id2"),
    ("order_by_big_key_desc", "select id,id2 from bench1 order by id desc,id2 desc"),
    ("order_by_big_key_prefix", "select id from bench1 order by id desc"),
    ("order_by_big_key2", "select id3 from bench1 order by id3"),
    ("order_by_big_key_diff", "select id2 from bench1 order by id3"),
    ("order_by_big", "select id from bench1 order by id2,id3"),
];

pub fn run(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let scale = data.scale;
    let every_row = |name| Operation::reads(name, scale.repeats, scale.repeats);
    bench.time(every_row("select_big"), |session, _| {
        session.run_for_rows(scale.rows, format_args!("select id from bench1"))
    })?;
    for (name, sql) in WHOLE {
        bench.time(every_row(name).limited(), |session, _| session.run_for_rows(scale.rows, format_args!("{sql}")))?;
    }
    ranges(bench, data)
}

/// Ranges that grow by a row each turn, and ranges of one length.
fn ranges(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let scale = data.scale;
    let range = |name| Operation::reads(name, scale.ranges, scale.ranges).limited();
    let first = |turn: u64| scale.loops / scale.ranges * (turn + 1);
    for (name, order) in [("order_by_range", "id3"), ("order_by_key_prefix", "id")] {
        bench.time(range(name), |session, turn| {
            let (from, to) = (first(turn), first(turn) + turn + 1);
            let condition = format_args!("id>={from} and id<={to}");
            session.run_for_rows(turn + 2, format_args!("select dummy1 from bench1 where {condition} order by {order}"))
        })?;
    }
    bench.time(range("order_by_key2_diff"), |session, turn| {
        let (from, to) = (first(turn), first(turn) + scale.ranges);
        let condition = format_args!("id3>={from} and id3<={to}");
        session.run_for_rows(scale.ranges + 1, format_args!("select id2 from bench1 where {condition} order by id3"))
    })?;
    bench.time(range("select_diff_key"), |session, turn| {
        let (id, id3) = (turn + 1, data.shuffled(turn + 1));
        session.run_for_rows(2, format_args!("select id2 from bench1 where id={id} or id3={id3}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::sqlbench::programs::insert::Scale;

    #[test]
    fn ranges_are_those_of_the_suite_and_end_before_the_last_row() {
        let Scale { loops, rows, ranges, .. } = Scale::FULL;
        assert_eq!((0..ranges).map(|turn| turn + 2).sum::<u64>(), 125_750);
        assert_eq!(ranges * (ranges + 1), 250_500);
        assert!(loops / ranges * ranges + ranges < rows);
    }
}
