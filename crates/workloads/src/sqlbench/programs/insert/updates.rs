//! Changes of the second key, one row and many rows at a time, and of the column without an index.

use driver::Dialect;

use super::{Data, Scale};
use crate::sqlbench::bench::{Bench, Operation, Stop};

/// What the second keys of all rows are at the end, by the rows' first: what later operations find and delete
/// follows from it.
pub fn second_keys(data: &Data) -> Vec<u64> {
    let Scale { loops, rows, .. } = data.scale;
    // Those below were made negative, and all that was negative is divided by 20.
    let mut keys: Vec<u64> = (0..rows).map(|id| if id < 2 * loops { id / 20 } else { id }).collect();
    for place in 0..loops / 2 {
        let id = loops + data.shuffled(place);
        keys[id as usize] = id / 20;
    }
    keys
}

pub fn run(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let Scale { loops, rows, repeats, .. } = data.scale;
    bench.time(Operation::changes("update_of_key", loops / 2, loops / 2).batched("bench1"), |session, i| {
        let id3 = loops + data.shuffled(i);
        session.run_to_change(1, format_args!("update bench1 set id3=-{id3} where id3={id3}"))
    })?;
    bench.verify_count("update_of_key", "bench1 where id3<0", loops / 2)?;
    update_of_key_big(bench, data.scale)?;
    bench.time(Operation::changes("update_with_key", rows, rows).batched("bench1"), |session, id| {
        session.run_to_change(1, format_args!("update bench1 set dummy1='updated' where id={id} and id2={id}"))
    })?;
    bench.verify_count("update_with_key", "bench1 where dummy1='updated'", rows)?;
    bench.time(
        Operation::changes("update_with_key_prefix", loops, loops).batched("bench1").limited(),
        |session, i| {
            let id = 3 * i + 1;
            session.run_to_change(1, format_args!("update bench1 set dummy1='updated' where id={id}"))
        },
    )?;
    bench.time(Operation::changes("update_big", repeats, repeats), |session, i| {
        let turn = i + 1;
        session.run_to_change(rows, format_args!("update bench1 set dummy1='updated {turn}'"))
    })?;
    bench.verify_count("update_big", &format!("bench1 where dummy1='updated {repeats}'"), rows)?;
    bench.book_keeping("bench1")
}

/// Makes the second keys of the lower two thirds negative, range by range, and then all that is negative
/// positive again and smaller. The row with key 0 is in every range and stays as it is.
fn update_of_key_big(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let loops = scale.loops;
    let width = loops / scale.ranges + 1;
    let ranges = loops.div_ceil(width);
    let rest = loops - 1 - (ranges - 1) * width;
    let divided = match bench.dialect() {
        Dialect::MySql => "floor((0-id3)/20)",
        // Whole numbers divided there are whole numbers.
        Dialect::Postgres | Dialect::Sqlite => "(0-id3)/20",
    };
    // The suite does not count the query that holds what is left to its number.
    let turns = ranges + 4;
    bench.time(Operation::changes("update_of_key_big", turns - 1, turns), |session, turn| {
        let negate = "update bench1 set id3=0-id3 where id3>=";
        let to = turn * width;
        match turn.checked_sub(ranges) {
            None if turn == 0 => session.run_to_change(1, format_args!("{negate}0 and id3<=0")),
            None => session.run_to_change(width + 1, format_args!("{negate}0 and id3<={to}")),
            Some(0) => session.run_to_change(rest + 1, format_args!("{negate}0 and id3<{loops}")),
            Some(1) => session.run_to_change(loops, format_args!("{negate}{loops} and id3<{}", 2 * loops)),
            Some(2) => session
                .run_for_values(&[1 + loops - loops / 2], format_args!("select count(*) from bench1 where id3>=0")),
            Some(_) => session.run_to_change(
                loops - 1 + loops + loops / 2,
                format_args!("update bench1 set id3={divided} where id3<0"),
            ),
        }
    })
}
