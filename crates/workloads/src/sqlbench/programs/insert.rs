//! `insert`: three hundred thousand rows inserted, read in every order and by every key, changed and deleted;
//! then a table with seventeen indexed columns, and inserts of many rows each.

mod deletes;
mod fill;
mod groups;
mod joins;
mod keys;
mod many_keys;
mod ordered;
mod ranges;
mod updates;

use super::Program;
use crate::sqlbench::bench::{Bench, Stop};
use crate::sqlbench::options::SqlBench;
use crate::sqlbench::sequence::{Sequence, shuffled};

pub const INSERT: Program = Program {
    name: "insert",
    operations: &[
        "insert",
        "insert_duplicates",
        "prepared_select",
        "once_prepared_select",
        "select_big",
        "order_by_big_key",
        "order_by_big_key_desc",
        "order_by_big_key_prefix",
        "order_by_big_key2",
        "order_by_big_key_diff",
        "order_by_big",
        "order_by_range",
        "order_by_key_prefix",
        "order_by_key2_diff",
        "select_diff_key",
        "select_range_prefix",
        "select_range_key2",
        "select_key_prefix",
        "select_key",
        "select_key_return_key",
        "select_key2",
        "select_key2_return_key",
        "select_key2_return_prim",
        "select_group",
        "min_max_on_key",
        "min_max",
        "count_on_key",
        "count",
        "count_distinct_big",
        "update_of_key",
        "update_of_key_big",
        "update_with_key",
        "update_with_key_prefix",
        "update_big",
        "outer_join_on_key",
        "outer_join",
        "outer_join_found",
        "outer_join_not_found",
        "insert_select_1_key",
        "insert_select_2_keys",
        "delete_key",
        "delete_range",
        "insert_key",
        "update_of_primary_key_many_keys",
        "delete_big_many_keys",
        "delete_all_many_keys",
        "multiple_value_insert",
    ],
    classic: true,
    run,
};

/// How long the loops are, and how many rows there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    /// Rows of one of the three parts that the table is filled in.
    loops: u64,
    rows: u64,
    /// Turns of what reads or changes the whole table.
    repeats: u64,
    /// Turns of what reads a range.
    ranges: u64,
    /// Turns of what reads a row by a key.
    keys: u64,
    /// Rows of the table with many keys.
    many_keys: u64,
}

impl Scale {
    const FULL: Scale = Scale::new(100_000, 500, 100_000, 100_000);
    const SMALL: Scale = Scale::new(1000, 10, 10, 100);

    const fn new(loops: u64, ranges: u64, keys: u64, many_keys: u64) -> Scale {
        Scale { loops, rows: 3 * loops, repeats: 10, ranges, keys, many_keys }
    }

    fn of(options: &SqlBench) -> Scale {
        if options.small { Scale::SMALL } else { Scale::FULL }
    }
}

/// The scale, and the numbers that rows and queries are drawn from.
struct Data {
    scale: Scale,
    /// The keys of the table's middle third in a shuffled order, and a zero behind them.
    shuffled: Vec<u64>,
    /// Goes on through the whole program.
    sequence: Sequence,
}

impl Data {
    fn new(scale: Scale) -> Data {
        let (shuffled, sequence) = shuffled(scale.loops);
        Data { scale, shuffled, sequence }
    }

    /// Number `place` of the shuffled ones.
    fn shuffled(&self, place: u64) -> u64 {
        self.shuffled[place as usize]
    }
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let mut data = Data::new(Scale::of(bench.options));
    fill::insert(bench, &mut data)?;
    keys::prepared(bench, &data)?;
    ordered::run(bench, &data)?;
    ranges::lists(bench, &mut data)?;
    keys::run(bench, &mut data)?;
    ranges::predicates(bench, data.scale)?;
    groups::run(bench, data.scale)?;
    updates::run(bench, &data)?;
    joins::run(bench, &data)?;
    deletes::run(bench, &data)?;
    many_keys::run(bench, &data)?;
    fill::insert_multiple(bench, data.scale)
}
