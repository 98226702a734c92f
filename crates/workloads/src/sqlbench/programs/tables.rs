//! Whole sets of tables, made and filled: what `ATIS` and `wisconsin` begin with.

use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::Shape;

/// The operation `create_table`: drops each table, which is hardly ever there, and makes it.
pub fn create(bench: &mut Bench, shapes: &[Shape], count: u64) -> Result<(), Stop> {
    let (dialect, options) = (bench.dialect(), bench.options);
    bench.time(Operation::changes("create_table", count, shapes.len() as u64), |session, turn| {
        let shape = &shapes[turn as usize];
        session.run_args(format_args!("drop table if exists {}", shape.name))?;
        shape.create(dialect, &options.create_options).iter().try_for_each(|sql| session.run(sql).map(drop))
    })?;
    shapes.iter().try_for_each(|shape| bench.verify_count("create_table", &shape.name, 0))
}

/// The operation `insert`: `values` are the rows of a table as they stand behind VALUES. A statement for each
/// row, or, where `fast` allows, as few as there can be.
pub fn insert(
    bench: &mut Bench,
    tables: impl Iterator<Item = &'static str>,
    values: impl Fn(&str) -> Vec<String>,
) -> Result<(), Stop> {
    const NAME: &str = "insert";
    let tables: Vec<(&str, Vec<String>)> = tables.map(|table| (table, values(table))).collect();
    if bench.packs_inserts() {
        for (table, rows) in &tables {
            bench.insert_packed(NAME, table, rows.len() as u64, rows.iter().cloned())?;
        }
    } else {
        let of_table = |(table, rows): &(&'static str, Vec<String>)| -> Vec<String> {
            rows.iter().map(|row| format!("insert into {table} values {row}")).collect()
        };
        let statements: Vec<String> = tables.iter().flat_map(of_table).collect();
        let rows = statements.len() as u64;
        bench.time(Operation::changes(NAME, rows, rows), |session, turn| {
            session.run_to_change(1, format_args!("{}", statements[turn as usize]))
        })?;
    }
    tables.iter().try_for_each(|(table, rows)| bench.verify_count(NAME, table, rows.len() as u64))
}
