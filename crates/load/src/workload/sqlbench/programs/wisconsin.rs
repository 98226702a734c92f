//! `wisconsin`: the queries of the Wisconsin benchmark over four tables, and single rows changed.

mod data;

use super::Program;
use crate::workload::sections::named;
use crate::workload::sqlbench::bench::{Bench, Operation, Stop};
use crate::workload::sqlbench::ddl::{Column, Shape, Type};

pub const WISCONSIN: Program = Program {
    name: "wisconsin",
    operations: &["create_table", "insert", "delete_big", "wisc_benchmark"],
    classic: true,
    run,
};

static SQL: &str = include_str!("wisconsin/wisconsin.sql");

const TABLES: [(&str, data::Size); 4] = [
    ("onek", data::ONE_THOUSAND),
    ("tenk1", data::TEN_THOUSAND),
    ("tenk2", data::TEN_THOUSAND),
    ("Bprime", data::TEN_THOUSAND),
];

/// The queries in their order, with the rows they find.
const QUERIES: [(&str, u64); 10] = [
    ("select-100", 100),
    ("select-1000", 1000),
    ("select-1", 1),
    ("select-100", 100),
    ("join-with-itself", 1000),
    ("join-with-bprime", 1000),
    ("join-of-three", 1000),
    ("six-columns", 10_000),
    ("whole-table", 1000),
    ("minimum", 1),
];

fn run(bench: &mut Bench) -> Result<(), Stop> {
    create(bench)?;
    insert(bench)?;
    delete(bench)?;
    queries_and_changes(bench)?;
    TABLES.iter().try_for_each(|(table, _)| bench.drop_if_there(table))
}

/// Drops and makes four tables; the suite reports the number of the last one, counted from zero.
fn create(bench: &mut Bench) -> Result<(), Stop> {
    let (dialect, options) = (bench.dialect(), bench.options);
    let tables = TABLES.len() as u64;
    bench.time(Operation::changes("create_table", tables - 1, tables), |session, turn| {
        let shape = shape(TABLES[turn as usize].0);
        session.run(&format!("drop table if exists {}", shape.name))?;
        shape.create(dialect, &options.create_options).iter().try_for_each(|sql| session.run(sql).map(drop))
    })
}

fn shape(table: &str) -> Shape {
    let mut columns = vec![Column::required("unique1", Type::Int), Column::required("unique2", Type::Int)];
    columns.extend(["two", "four", "ten", "twenty"].map(|name| Column::nullable(name, Type::Int)));
    columns.push(Column::required("hundred", Type::Int));
    let derived = ["thousand", "twothousand", "fivethous", "tenthous", "odd", "even"];
    columns.extend(derived.map(|name| Column::nullable(name, Type::Int)));
    columns.extend(["stringu1", "stringu2", "string4"].map(|name| Column::nullable(name, Type::Char(16))));
    Shape::new(table, columns).unique("unique1").unique("unique2").index("ix_hundred", "hundred")
}

fn insert(bench: &mut Bench) -> Result<(), Stop> {
    let count = TABLES.iter().map(|(_, size)| size.rows).sum();
    let statements: Vec<String> =
        TABLES.iter().flat_map(|(table, size)| bench.inserts(table, &size.values())).collect();
    bench.time(Operation::changes("insert", count, statements.len() as u64), |session, turn| {
        session.run(&statements[turn as usize]).map(drop)
    })
}

/// Its time begins where that of the inserts ended.
fn delete(bench: &mut Bench) -> Result<(), Stop> {
    let mark = bench.mark();
    bench.time(Operation::changes("delete_big", 1, 1).from(mark), |session, _| {
        let sql = "delete from Bprime where unique2 >= 1000";
        let answer = session.run(sql)?;
        session.expect_affected(answer, 9000, sql);
        Ok(())
    })
}

/// Each query several times back to back, then each change once.
fn queries_and_changes(bench: &mut Bench) -> Result<(), Stop> {
    let loops = if bench.options.small { 2 } else { 10 };
    let queries = QUERIES.map(|(name, rows)| (named(SQL, name), rows));
    let rest = named(SQL, "rest");
    let changes: Vec<String> = named(SQL, "changes").lines().map(|line| line.replace("{rest}", rest)).collect();
    let selects = loops * queries.len() as u64;
    let turns = selects + changes.len() as u64;
    bench.time(Operation::changes("wisc_benchmark", turns, turns), |session, turn| {
        if turn < selects {
            let (sql, rows) = queries[(turn / loops) as usize];
            let answer = session.run(sql)?;
            session.expect_rows(answer, rows, sql);
        } else {
            let sql = &changes[(turn - selects) as usize];
            let answer = session.run(sql)?;
            session.expect_affected(answer, 1, sql);
        }
        Ok(())
    })
}
