//! `transactions`: the same changes in one transaction, in one transaction each, and taken back.

use driver::{Dialect, Error};

use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};
use crate::sqlbench::session::Session;

pub const TRANSACTIONS: Program = Program {
    name: "transactions",
    operations: &[
        "insert_commit",
        "insert_autocommit",
        "insert_rollback",
        "update_rollback",
        "delete_rollback",
        "update_commit",
        "update_autocommit",
        "delete_commit",
        "delete_autocommit",
    ],
    // The classic table was made without it.
    classic: false,
    run,
};

/// Letters that a region may have; more than there are in the alphabet, as in the suite.
const REGIONS: u64 = 27;

/// How long the loops are.
#[derive(Debug, Clone, Copy)]
struct Loops {
    rows: u64,
    /// Rows between two rollbacks.
    batch: u64,
}

fn run(bench: &mut Bench) -> Result<(), Stop> {
    if !bench.limits.transactions {
        for name in TRANSACTIONS.operations {
            bench.lacks(name, "the tables of this server, or of `create_options`, know no transactions");
        }
        return Ok(());
    }
    let loops = Loops { rows: bench.options.loops(10_000, 100), batch: bench.options.loops(100, 10) };
    make(bench, "bench1")?;
    make(bench, "bench2")?;
    inserts(bench, loops)?;
    rollbacks(bench, loops)?;
    updates_and_deletes(bench, loops)?;
    bench.drop_if_there("bench1")?;
    bench.drop_if_there("bench2")
}

fn make(bench: &mut Bench, table: &str) -> Result<(), Stop> {
    let columns = vec![
        Column::required("idn", Type::Int),
        Column::required("rev_idn", Type::Int),
        Column::required("region", Type::Char(1)),
        Column::required("grp", Type::Int),
        Column::required("updated", Type::TinyInt),
    ];
    bench.make(&Shape::new(table, columns).primary_key("idn").unique("region,grp"))
}

fn inserts(bench: &mut Bench, loops: Loops) -> Result<(), Stop> {
    committed(bench, "insert_commit", loops, |session, id| insert(session, "bench1", loops.rows, id))?;
    bench.verify_count("insert_commit", "bench1", loops.rows)?;
    let all = Operation::changes("insert_autocommit", loops.rows, loops.rows);
    bench.time(all, |session, id| insert(session, "bench2", loops.rows, id))?;
    bench.verify_count("insert_autocommit", "bench2", loops.rows)
}

/// Whatever these change is taken back, so they leave what they found.
fn rollbacks(bench: &mut Bench, loops: Loops) -> Result<(), Stop> {
    let rows = loops.rows;
    rolled_back(bench, "insert_rollback", loops, |session, id| insert(session, "bench1", rows, rows + id))?;
    rolled_back(bench, "update_rollback", loops, |session, id| update(session, "bench1", 2, id))?;
    rolled_back(bench, "delete_rollback", loops, |session, id| delete(session, "bench1", id))?;
    bench.book_keeping("bench1")
}

fn updates_and_deletes(bench: &mut Bench, loops: Loops) -> Result<(), Stop> {
    let all = |name| Operation::changes(name, loops.rows, loops.rows);
    committed(bench, "update_commit", loops, |session, id| update(session, "bench1", 1, id))?;
    bench.verify_count("update_commit", "bench1 where updated=1", loops.rows)?;
    bench.time(all("update_autocommit"), |session, id| update(session, "bench2", 1, id))?;
    bench.verify_count("update_autocommit", "bench2 where updated=1", loops.rows)?;
    committed(bench, "delete_commit", loops, |session, id| delete(session, "bench1", id))?;
    bench.verify_count("delete_commit", "bench1", 0)?;
    bench.time(all("delete_autocommit"), |session, id| delete(session, "bench2", id))?;
    bench.verify_count("delete_autocommit", "bench2", 0)
}

/// All rows in one transaction, whose commit is timed with them.
fn committed(
    bench: &mut Bench,
    name: &'static str,
    loops: Loops,
    change: impl Fn(&mut Session, u64) -> Result<(), Error>,
) -> Result<(), Stop> {
    begin(bench)?;
    bench.time(Operation::changes(name, loops.rows, loops.rows), |session, id| {
        change(session, id)?;
        if id + 1 == loops.rows { session.run("commit").map(drop) } else { Ok(()) }
    })?;
    end(bench)
}

/// All rows, taken back a batch at a time. Servers that cannot turn off autocommit are reported where the next
/// transaction begins, in the time of the loop; what is counted is the rollbacks.
fn rolled_back(
    bench: &mut Bench,
    name: &'static str,
    loops: Loops,
    change: impl Fn(&mut Session, u64) -> Result<(), Error>,
) -> Result<(), Stop> {
    let batches = loops.rows / loops.batch;
    begin(bench)?;
    bench.time(Operation::changes(name, batches, batches), |session, batch| {
        if batch > 0 && session.dialect() != Dialect::MySql {
            session.run(session.dialect().begin_write())?;
        }
        let from = batch * loops.batch;
        (from..from + loops.batch).try_for_each(|id| change(session, id))?;
        session.run("rollback").map(drop)
    })?;
    end(bench)?;
    bench.verify_count(name, "bench1", loops.rows)?;
    bench.verify_count(name, "bench1 where updated<>0", 0)
}

fn begin(bench: &mut Bench) -> Result<(), Stop> {
    let dialect = bench.dialect();
    let sql = if dialect == Dialect::MySql { "set autocommit=0" } else { dialect.begin_write() };
    bench.set_up(sql).map(drop)
}

/// Back to a transaction per statement. One that is still open after a refused statement is given up;
/// where none is, some servers report it.
fn end(bench: &mut Bench) -> Result<(), Stop> {
    match bench.set_up("rollback") {
        Ok(_) | Err(Stop::Program(_)) => {}
        Err(stop) => return Err(stop),
    }
    if bench.dialect() == Dialect::MySql {
        bench.set_up("set autocommit=1")?;
    }
    Ok(())
}

fn insert(session: &mut Session, table: &str, rows: u64, id: u64) -> Result<(), Error> {
    let (reverse_id, region, group) = (rows as i64 - 1 - id as i64, region(id), group(id));
    session.run_to_change(1, format_args!("insert into {table} values ({id},{reverse_id},'{region}',{group},0)"))
}

fn update(session: &mut Session, table: &str, value: u64, id: u64) -> Result<(), Error> {
    session.run_to_change(1, format_args!("update {table} set updated={value} where idn={id}"))
}

fn delete(session: &mut Session, table: &str, id: u64) -> Result<(), Error> {
    session.run_to_change(1, format_args!("delete from {table} where idn={id}"))
}

fn region(id: u64) -> char {
    char::from(b'A' + (id % REGIONS) as u8)
}

/// A 27th of the number, rounded to the nearest; the suite sends the fraction.
fn group(id: u64) -> u64 {
    (id + REGIONS / 2) / REGIONS
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn groups_are_rounded_to_the_nearest() {
        for id in 0..20_000 {
            assert_eq!(group(id), (id as f64 / 27.0).round() as u64, "{id}");
        }
    }

    #[test]
    fn no_two_rows_share_region_and_group() {
        let keys: HashSet<_> = (0..20_000).map(|id| (region(id), group(id))).collect();
        assert_eq!(keys.len(), 20_000);
    }
}
