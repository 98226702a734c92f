//! `create`: tables made and dropped, one by one, and among thousands of others.

use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};

pub const CREATE: Program = Program {
    name: "create",
    operations: &[
        "create_MANY_tables",
        "select_group_when_MANY_tables",
        "drop_table_when_MANY_tables",
        "create+drop",
        "create_key+drop",
    ],
    classic: true,
    run,
};

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let tables = bench.options.loops(10_000, 1000).min(bench.limits.max_tables);
    many_tables(bench, tables)?;
    let loops = bench.options.loops(10_000, 1000);
    create_and_drop(bench, "create+drop", loops, small_table)?;
    let keys = bench.limits.max_index.min(16);
    let parts = bench.limits.max_index_parts.min(keys);
    let loops = bench.options.loops(10_000, 100);
    create_and_drop(bench, "create_key+drop", loops, |number| keyed_table(number, keys as usize, parts as usize))
}

fn many_tables(bench: &mut Bench, tables: u64) -> Result<(), Stop> {
    let (dialect, options) = (bench.dialect(), bench.options);
    drop_leftovers(bench, tables);
    bench.time(Operation::changes("create_MANY_tables", tables, tables), |session, turn| {
        let create = small_table(turn + 1).create(dialect, &options.create_options);
        create.iter().try_for_each(|sql| session.run(sql).map(drop))
    })?;
    // The next operation reads each; what the first and the last one cost it is little.
    for number in [1, tables] {
        bench.verify_count("create_MANY_tables", &format!("bench_{number}"), 0)?;
    }
    bench.time(Operation::reads("select_group_when_MANY_tables", tables, tables), |session, turn| {
        session.run_for_rows(1, format_args!("select count(*) from bench_{}", turn + 1))
    })?;
    bench.verify_count("select_group_when_MANY_tables", "bench_1", 0)?;
    drop_tables(bench, tables)
}

/// A pass that was cut off left the tables up to a number, or from one on. Where there are none, this takes
/// two statements that the server refuses.
fn drop_leftovers(bench: &mut Bench, tables: u64) {
    let mut was_there = |number: &u64| bench.session.run(&format!("drop table bench_{number}")).is_ok();
    let from_the_first = (1..=tables).take_while(&mut was_there).count() as u64;
    (from_the_first + 1..=tables).rev().take_while(was_there).for_each(drop);
}

fn drop_tables(bench: &mut Bench, tables: u64) -> Result<(), Stop> {
    const NAME: &str = "drop_table_when_MANY_tables";
    // One statement for all, where its text fits.
    if bench.options.fast && bench.limits.multi_drop && bench.limits.query_size > 11 + 10 * tables {
        let names: Vec<String> = (1..=tables).map(|number| format!("bench_{number}")).collect();
        let sql = format!("drop table {}", names.join(","));
        bench.time(Operation::changes(NAME, tables, 1), |session, _| session.run(&sql).map(drop))?;
    } else {
        bench.time(Operation::changes(NAME, tables, tables), |session, turn| {
            session.run_args(format_args!("drop table bench_{}", turn + 1)).map(drop)
        })?;
    }
    (1..=tables).try_for_each(|number| bench.verify_gone(NAME, &format!("bench_{number}")))
}

/// Each turn makes a table with its indexes and drops it; the pair counts once.
fn create_and_drop(
    bench: &mut Bench,
    name: &'static str,
    loops: u64,
    shape: impl Fn(u64) -> Shape,
) -> Result<(), Stop> {
    let (dialect, options) = (bench.dialect(), bench.options);
    bench.time(Operation::changes(name, loops, loops), |session, turn| {
        let shape = shape(turn + 1);
        shape.create(dialect, &options.create_options).iter().try_for_each(|sql| session.run(sql).map(drop))?;
        session.run_args(format_args!("drop table {}", shape.name)).map(drop)
    })?;
    // Once more and slowly: the table has to be there in between, and not behind it.
    let shape = shape(loops);
    bench.verify_gone(name, &shape.name)?;
    bench.make(&shape)?;
    bench.verify_count(name, &shape.name, 0)?;
    bench.drop_if_there(&shape.name)?;
    bench.verify_gone(name, &shape.name)
}

fn small_table(number: u64) -> Shape {
    let columns = vec![
        Column::required("i", Type::Int),
        Column::nullable("d", Type::Double),
        Column::nullable("f", Type::Float),
        Column::nullable("s", Type::Char(10)),
        Column::nullable("v", Type::VarChar(100)),
    ];
    Shape::new(format!("bench_{number}"), columns).primary_key("i")
}

/// `keys` columns, a primary key over the first `parts` of them, and an index on each but the first.
fn keyed_table(number: u64, keys: usize, parts: usize) -> Shape {
    let kinds = [Type::TinyInt, Type::MediumInt, Type::SmallInt, Type::Char(16), Type::Int, Type::Float, Type::Double];
    let kind = |index: usize| kinds.get(index).copied().unwrap_or(Type::Char(5));
    let names: Vec<String> = (1..=keys).map(|field| format!("field{field}")).collect();
    let columns = names.iter().enumerate().map(|(index, name)| Column::required(name, kind(index))).collect();
    let shape = Shape::new(format!("bench_{number}"), columns).primary_key(names[..parts].join(","));
    names
        .iter()
        .enumerate()
        .skip(1)
        .fold(shape, |shape, (index, name)| shape.index(format!("index{}", index + 1), name))
}

#[cfg(test)]
mod tests {
    use driver::Dialect;

    use super::*;

    #[test]
    fn the_keyed_table_has_sixteen_keys() {
        let shape = keyed_table(7, 16, 16);
        assert_eq!((shape.columns.len(), shape.indexes.len()), (16, 15));
        assert!(shape.primary_key.as_ref().is_some_and(|key| key.split(',').count() == 16));
        assert_eq!(shape.create(Dialect::MySql, "").len(), 1);
        let separate = shape.create(Dialect::Postgres, "");
        assert_eq!((separate.len(), &*separate[15]), (16, "create index bench_7_index16 on bench_7 (field16)"));
    }
}
