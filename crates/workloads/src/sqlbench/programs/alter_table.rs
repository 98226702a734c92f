//! `alter-table`: columns added and dropped, indexes made and dropped, on a table of few rows.

use std::ops::Range;

use driver::Dialect;

use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type, drop_index};

pub const ALTER_TABLE: Program = Program {
    name: "alter-table",
    operations: &["alter_table_add", "create_index", "drop_index", "alter_table_drop"],
    classic: true,
    run,
};

/// How many statements shall bring the table to its full width.
const LOOPS: u64 = 100;

/// Columns and rows of the table, and by how many columns one statement changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    first: u64,
    fields: u64,
    step: u64,
    rows: u64,
}

impl Scale {
    fn of(bench: &Bench) -> Scale {
        let first = bench.limits.max_index.min(8);
        let fields = bench.options.loops(bench.limits.field_count(), 10);
        let step = if bench.limits.alter_multi_col { (fields - first) / LOOPS + 1 } else { 1 };
        Scale { first, fields, step, rows: bench.options.loops(1000, 10) }
    }

    /// Turns that add columns, until the table has all of them.
    fn adds(self) -> u64 {
        (self.fields - self.first).div_ceil(self.step)
    }

    /// Turns that drop columns. Each counts one column more than it drops, as in the classic suite: so the
    /// last column of a full table stays, and every `step + 1`-th below it.
    fn drops(self) -> u64 {
        (self.fields - self.first).div_ceil(self.step + 1)
    }

    /// Adds the columns behind the first `there`, no more than `most`.
    fn add(self, there: u64, most: u64) -> (u64, String) {
        let end = (there + most).min(self.fields);
        let clauses: Vec<String> = (there + 1..=end).map(|column| format!("add column i{column} integer")).collect();
        (end, format!("alter table bench {}", clauses.join(", ")))
    }

    /// The columns that a turn drops, by their numbers.
    fn dropped(self, turn: u64) -> Range<u64> {
        let top = self.fields - turn * (self.step + 1);
        top.saturating_sub(self.step).max(self.first)..top
    }

    /// The statement of a turn that drops columns.
    fn drop(self, turn: u64) -> String {
        let clauses: Vec<String> = self.dropped(turn).rev().map(|column| format!("drop column i{column}")).collect();
        format!("alter table bench {}", clauses.join(", "))
    }
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let scale = Scale::of(bench);
    make(bench, scale)?;
    add_columns(bench, scale)?;
    indexes(bench, scale)?;
    drop_columns(bench, scale)?;
    bench.drop_if_there("bench")
}

fn make(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let columns = (1..=scale.first).map(|column| Column::required(format!("i{column}"), Type::Int)).collect();
    bench.make(&Shape::new("bench", columns))?;
    for row in 0..scale.rows {
        let values = vec![row.to_string(); scale.first as usize].join(",");
        bench.set_up(&format!("insert into bench values ({values})"))?;
    }
    Ok(())
}

/// A loop that is cut off is scaled up to the statements there are; the suite takes one more.
fn add_columns(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let mut there = scale.first;
    let adding = Operation::changes("alter_table_add", scale.adds(), scale.adds()).limited();
    bench.time_with(adding, &mut there, |session, there, _| {
        let (end, sql) = scale.add(*there, scale.step);
        session.run(&sql)?;
        *there = end;
        Ok(())
    })?;
    // What time did not allow comes now, since columns are dropped from the full table.
    while there < scale.fields {
        let most = if bench.limits.alter_multi_col { scale.fields } else { 1 };
        let (end, sql) = scale.add(there, most);
        bench.set_up(&sql)?;
        there = end;
    }
    verify(bench, scale, "alter_table_add", scale.fields)
}

/// The table has so many columns, and rows as before; the last column stays when others are dropped, and is empty.
fn verify(bench: &mut Bench, scale: Scale, name: &'static str, columns: u64) -> Result<(), Stop> {
    bench.verify(name, columns_sql(bench.dialect()), &[columns])?;
    let sql = format!("select count(*), sum(i1), count(i{}) from bench", scale.fields);
    bench.verify(name, &sql, &[scale.rows, scale.rows * (scale.rows - 1) / 2, 0])
}

/// Counts the table's columns in the server's own catalogue.
fn columns_sql(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => {
            "select count(*) from information_schema.columns where table_schema=database() and table_name='bench'"
        }
        Dialect::Postgres => {
            "select count(*) from information_schema.columns where table_schema=current_schema() and table_name='bench'"
        }
        Dialect::Sqlite => "select count(*) from pragma_table_info('bench')",
    }
}

/// Counts the table's indexes there.
fn indexes_sql(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => {
            "select count(distinct index_name) from information_schema.statistics \
             where table_schema=database() and table_name='bench'"
        }
        Dialect::Postgres => "select count(*) from pg_indexes where schemaname=current_schema() and tablename='bench'",
        Dialect::Sqlite => "select count(*) from pragma_index_list('bench')",
    }
}

fn indexes(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let dialect = bench.dialect();
    bench.time(Operation::changes("create_index", scale.first, scale.first), |session, turn| {
        session.run(&format!("create index bench_ind{0} on bench (i{0})", turn + 1)).map(drop)
    })?;
    bench.verify("create_index", indexes_sql(dialect), &[scale.first])?;
    bench.time(Operation::changes("drop_index", scale.first, scale.first), |session, turn| {
        session.run(&drop_index(dialect, &format!("bench_ind{}", turn + 1), "bench")).map(drop)
    })?;
    bench.verify("drop_index", indexes_sql(dialect), &[0])
}

fn drop_columns(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    if !bench.limits.alter_drop_col {
        bench.lacks("alter_table_drop", "by the limits in force this server drops no columns");
        return Ok(());
    }
    let mut left = scale.fields;
    let dropping = Operation::changes("alter_table_drop", scale.drops(), scale.drops()).limited();
    bench.time_with(dropping, &mut left, |session, left, turn| {
        session.run(&scale.drop(turn))?;
        *left -= scale.dropped(turn).count() as u64;
        Ok(())
    })?;
    verify(bench, scale, "alter_table_drop", left)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: Scale = Scale { first: 8, fields: 1000, step: 10, rows: 1000 };

    #[test]
    fn the_loops_are_those_of_the_suite() {
        let check = |fields, step, adds, drops| {
            let scale = Scale { fields, step, ..FULL };
            assert_eq!((scale.adds(), scale.drops()), (adds, drops), "{fields} columns by {step}");
        };
        check(1000, 10, 100, 91);
        check(1000, 1, 992, 496);
        check(100, 1, 92, 46);
    }

    #[test]
    fn the_last_statement_adds_what_is_missing() {
        assert_eq!(FULL.add(988, 10).0, 998);
        let expected = "alter table bench add column i999 integer, add column i1000 integer";
        assert_eq!(FULL.add(998, 10), (1000, expected.to_owned()));
    }

    #[test]
    fn every_eleventh_column_survives_and_the_last_statement_drops_two() {
        let dropped: Vec<String> = (0..FULL.drops()).map(|turn| FULL.drop(turn)).collect();
        let survives = |column: u64| !dropped.iter().any(|sql| format!("{sql},").contains(&format!("n i{column},")));
        let left: Vec<u64> = (1..=1000).filter(|column| survives(*column)).collect();
        assert_eq!(left[..7], [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((left[7], left[8], left.len()), (10, 21, 98));
        assert_eq!(left[95..], [978, 989, 1000]);
        assert_eq!(dropped[90], "alter table bench drop column i9, drop column i8");
    }
}
