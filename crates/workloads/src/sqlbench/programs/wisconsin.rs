//! `wisconsin`: the queries of the Wisconsin benchmark over four tables, and single rows changed.

mod data;

use super::tables;
use crate::sections::named;
use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};

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
    let shapes = TABLES.map(|(table, _)| shape(table));
    // The suite reports the number of the last table, counted from zero.
    tables::create(bench, &shapes, shapes.len() as u64 - 1)?;
    tables::insert(bench, TABLES.iter().map(|(table, _)| *table), values)?;
    delete(bench)?;
    queries_and_changes(bench)?;
    TABLES.iter().try_for_each(|(table, _)| bench.drop_if_there(table))
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

fn values(table: &str) -> Vec<String> {
    TABLES.iter().find(|(name, _)| *name == table).map_or(Vec::new(), |(_, size)| size.values())
}

/// Its time begins where that of the inserts ended, so that book-keeping is in it.
fn delete(bench: &mut Bench) -> Result<(), Stop> {
    let mark = bench.mark();
    TABLES.iter().try_for_each(|(table, _)| bench.book_keeping(table))?;
    bench.time(Operation::changes("delete_big", 1, 1).from(mark), |session, _| {
        session.run_to_change(9000, format_args!("delete from Bprime where unique2 >= 1000"))
    })?;
    bench.verify_count("delete_big", "Bprime", 1000)
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
            session.run_for_rows(rows, format_args!("{sql}"))
        } else {
            session.run_to_change(1, format_args!("{}", changes[(turn - selects) as usize]))
        }
    })
}
