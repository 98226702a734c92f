//! `ATIS`: the tables of an air travel information service, filled, joined and grouped.

mod data;
mod queries;
mod schema;

use self::queries::{GROUPS, Group};
use super::Program;
use crate::workload::sqlbench::bench::{Bench, Operation, Stop};
use crate::workload::sqlbench::ddl::Shape;

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
    let tables = schema::tables(bench.dialect());
    create(bench, &tables)?;
    insert(bench, &tables)?;
    for group in &GROUPS {
        select(bench, group)?;
    }
    drop_all(bench, &tables)
}

/// Drops each table, which is hardly ever there, and makes it.
fn create(bench: &mut Bench, tables: &[Shape]) -> Result<(), Stop> {
    let (dialect, options) = (bench.dialect(), bench.options);
    let count = tables.len() as u64;
    bench.time(Operation::changes("create_table", count, count), |session, turn| {
        let shape = &tables[turn as usize];
        session.run(&format!("drop table if exists {}", shape.name))?;
        shape.create(dialect, &options.create_options).iter().try_for_each(|sql| session.run(sql).map(drop))
    })
}

fn insert(bench: &mut Bench, tables: &[Shape]) -> Result<(), Stop> {
    let rows: Vec<_> = tables.iter().map(|table| (&table.name, data::values(&table.name))).collect();
    let count = rows.iter().map(|(_, rows)| rows.len() as u64).sum();
    let statements: Vec<String> = rows.iter().flat_map(|(table, rows)| bench.inserts(table, rows)).collect();
    bench.time(Operation::changes("insert", count, statements.len() as u64), |session, turn| {
        session.run(&statements[turn as usize]).map(drop)
    })
}

/// Every turn runs all queries of the group. What they find is checked once, before the clock starts.
fn select(bench: &mut Bench, group: &Group) -> Result<(), Stop> {
    let queries = group.queries(bench.dialect(), &bench.limits);
    if !bench.check(group.operation, &queries)? {
        return Ok(());
    }
    let loops = bench.options.loops(100, 10);
    let count = loops * queries.len() as u64;
    bench.time(Operation::reads(group.operation, count, loops).limited(), |session, _| {
        queries.iter().try_for_each(|(sql, _)| session.run(sql).map(drop))
    })
}

fn drop_all(bench: &mut Bench, tables: &[Shape]) -> Result<(), Stop> {
    let count = tables.len() as u64;
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    if bench.options.fast && bench.limits.multi_drop {
        let sql = format!("drop table {}", names.join(","));
        return bench.time(Operation::changes("drop_table", count, 1), |session, _| session.run(&sql).map(drop));
    }
    bench.time(Operation::changes("drop_table", count, count), |session, turn| {
        session.run(&format!("drop table {}", names[turn as usize])).map(drop)
    })
}
