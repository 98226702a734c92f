//! `ATIS`: the tables of an air travel information service, filled, joined and grouped.

mod data;
mod queries;
mod schema;

use self::queries::{GROUPS, Group};
use super::tables;
use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::Shape;

pub const ATIS: Program = Program {
    name: "ATIS",
    operations: &[
        "create_table",
        "insert",
        "select_simple_join",
        "select_join",
        "select_key_prefix_join",
        "select_distinct",
        "select_group",
        "drop_table",
    ],
    classic: true,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let shapes = schema::shapes(bench.dialect());
    tables::create(bench, &shapes, shapes.len() as u64)?;
    tables::insert(bench, schema::names(), data::values)?;
    for group in &GROUPS {
        select(bench, group)?;
    }
    drop_all(bench, &shapes)
}

/// Every turn runs all queries of the group.
fn select(bench: &mut Bench, group: &Group) -> Result<(), Stop> {
    let queries = group.queries(bench.dialect(), &bench.limits);
    let lacking = group.lacking(&bench.limits);
    if !lacking.is_empty() {
        bench.does_less(group.operation, format!("without {}, which this server lacks", lacking.join(", ")));
    }
    let loops = bench.options.loops(100, 10);
    let count = loops * queries.len() as u64;
    bench.time(Operation::reads(group.operation, count, loops).limited(), |session, _| {
        queries.iter().try_for_each(|(sql, rows)| session.run_for_rows(*rows, format_args!("{sql}")))
    })
}

fn drop_all(bench: &mut Bench, shapes: &[Shape]) -> Result<(), Stop> {
    let count = shapes.len() as u64;
    let names: Vec<&str> = shapes.iter().map(|shape| shape.name.as_str()).collect();
    if bench.options.fast && bench.limits.multi_drop {
        let sql = format!("drop table {}", names.join(","));
        bench.time(Operation::changes("drop_table", count, 1), |session, _| session.run(&sql).map(drop))?;
    } else {
        bench.time(Operation::changes("drop_table", count, count), |session, turn| {
            session.run(&format!("drop table {}", names[turn as usize])).map(drop)
        })?;
    }
    names.iter().try_for_each(|table| bench.verify_gone("drop_table", table))
}
