//! `connect`: opening connections, and statements that cost the server next to nothing.

use super::Program;
use crate::workload::sqlbench::bench::{Bench, Operation, Stop};
use crate::workload::sqlbench::ddl::{Column, Shape, Type};

pub const CONNECT: Program = Program {
    name: "connect",
    operations: &[
        "connect",
        "connect+select_simple",
        "select_simple",
        "select_simple_cache",
        "connect+select_1_row",
        "select_1_row",
        "select_1_row_cache",
        "select_2_rows",
        "select_column+column",
        "select_big_str",
    ],
    classic: true,
    run,
};

/// Longest text of `select_big_str`.
const BIG_TEXT: u64 = 65_000;

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let loops = bench.options.loops(100_000, 100);
    let connections = loops / 10;
    simple(bench, loops, connections)?;
    rows(bench, loops, connections)?;
    big_text(bench, connections)
}

fn simple(bench: &mut Bench, loops: u64, connections: u64) -> Result<(), Stop> {
    bench.time(Operation::reads("connect", connections, connections), |session, _| session.reconnect())?;
    bench.time(Operation::reads("connect+select_simple", connections, connections), |session, i| {
        session.reconnect()?;
        session.run(&format!("select {i}")).map(drop)
    })?;
    bench.time(Operation::reads("select_simple", loops, loops), |session, i| {
        session.run(&format!("select {i}")).map(drop)
    })?;
    bench
        .time(Operation::reads("select_simple_cache", loops, loops), |session, _| session.run("select 10000").map(drop))
}

fn rows(bench: &mut Bench, loops: u64, connections: u64) -> Result<(), Stop> {
    let columns =
        vec![Column::required("a", Type::Int), Column::nullable("i", Type::Int), Column::nullable("s", Type::Char(10))];
    bench.make(&Shape::new("bench1", columns).primary_key("a"))?;
    bench.set_up("insert into bench1 values (1, 100, 'AAA')")?;
    bench.time(Operation::reads("connect+select_1_row", connections, connections), |session, i| {
        session.reconnect()?;
        let sql = format!("select a,i,s,{i} from bench1");
        let answer = session.run(&sql)?;
        session.expect_rows(answer, 1, &sql);
        Ok(())
    })?;
    let each = |bench: &mut Bench, name, rows, sql: &dyn Fn(u64) -> String| {
        bench.time(Operation::reads(name, loops, loops), |session, i| {
            let sql = sql(i);
            let answer = session.run(&sql)?;
            session.expect_rows(answer, rows, &sql);
            Ok(())
        })
    };
    each(bench, "select_1_row", 1, &|i| format!("select a,i,s,{i} from bench1"))?;
    each(bench, "select_1_row_cache", 1, &|_| "select a,i,s from bench1".to_owned())?;
    bench.set_up("insert into bench1 values (2, 200, 'BBB')")?;
    each(bench, "select_2_rows", 2, &|i| format!("select a,i,s,{i} from bench1"))?;
    each(bench, "select_column+column", 2, &|i| format!("select a+a+a+a+a+a+a+a+a+{i} from bench1"))?;
    bench.drop_if_there("bench1")
}

fn big_text(bench: &mut Bench, loops: u64) -> Result<(), Stop> {
    if !bench.limits.working_blobs {
        bench.lacks("select_big_str", "the tables of `create_options` hold no blobs");
        return Ok(());
    }
    let bytes = bench.limits.max_text_size.min(bench.limits.query_size - 30).min(BIG_TEXT);
    bench.make(&Shape::new("bench1", vec![Column::nullable("b", Type::Blob)]))?;
    bench.set_up(&format!("insert into bench1 values ('{}')", "A".repeat(bytes as usize)))?;
    let length = bench.session.rows("select length(b) from bench1").map_err(|error| Stop::of(error, "length"))?;
    let stored = length.first().and_then(|row| row.first()?.as_deref()?.parse().ok());
    bench.session.expect(stored == Some(bytes), || format!("a text of {stored:?} bytes instead of {bytes}"));
    bench.time(Operation::reads("select_big_str", loops, loops), |session, i| {
        let sql = format!("select b,{i} from bench1");
        let answer = session.run(&sql)?;
        session.expect_rows(answer, 1, &sql);
        Ok(())
    })?;
    bench.drop_if_there("bench1")
}
