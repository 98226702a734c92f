//! `insert`: three hundred thousand rows inserted, read in every order and by every key, changed and deleted;
//! then a table with seventeen indexed columns, and inserts of many rows each.

mod data;
mod deletes;
mod fill;
mod groups;
mod joins;
mod keys;
mod many_keys;
mod ordered;
mod ranges;
mod updates;

use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Stop};
use data::{Data, Scale};

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
