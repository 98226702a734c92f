//! `connect`: opening connections, and statements that cost the server next to nothing.

use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};

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
        session.run_for_rows(1, format_args!("select {i}"))
    })?;
    bench.time(Operation::reads("select_simple", loops, loops), |session, i| {
        session.run_for_rows(1, format_args!("select {i}"))
    })?;
    for name in ["connect+select_simple", "select_simple"] {
        bench.verify(name, "select 7", &[7])?;
    }
    bench.time(Operation::reads("select_simple_cache", loops, loops), |session, _| {
        session.run_for_rows(1, format_args!("select 10000"))
    })?;
    bench.verify("select_simple_cache", "select 10000", &[10_000])
}

fn rows(bench: &mut Bench, loops: u64, connections: u64) -> Result<(), Stop> {
    let columns =
        vec![Column::required("a", Type::Int), Column::nullable("i", Type::Int), Column::nullable("s", Type::Char(10))];
    bench.make(&Shape::new("bench1", columns).primary_key("a"))?;
    bench.set_up("insert into bench1 values (1, 100, 'AAA')")?;
    bench.time(Operation::reads("connect+select_1_row", connections, connections), |session, i| {
        session.reconnect()?;
        session.run_for_rows(1, format_args!("select a,i,s,{i} from bench1"))
    })?;
    let each = |name| Operation::reads(name, loops, loops);
    bench.time(each("select_1_row"), |session, i| {
        session.run_for_rows(1, format_args!("select a,i,s,{i} from bench1"))
    })?;
    bench.time(each("select_1_row_cache"), |session, _| {
        session.run_for_rows(1, format_args!("select a,i,s from bench1"))
    })?;
    for name in ["connect+select_1_row", "select_1_row", "select_1_row_cache"] {
        bench.verify(name, "select a,i,7 from bench1", &[1, 100, 7])?;
    }
    bench.set_up("insert into bench1 values (2, 200, 'BBB')")?;
    bench.time(each("select_2_rows"), |session, i| {
        session.run_for_rows(2, format_args!("select a,i,s,{i} from bench1"))
    })?;
    bench.time(each("select_column+column"), |session, i| {
        session.run_for_rows(2, format_args!("select a+a+a+a+a+a+a+a+a+{i} from bench1"))
    })?;
    bench.verify("select_column+column", "select a+a+a+a+a+a+a+a+a+5 from bench1 where a=2", &[23])?;
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
    let read = bench.session.rows("select b from bench1").map_err(|error| Stop::of(error, "select b from bench1"))?;
    let length = read.first().and_then(|row| Some(row.first()?.as_deref()?.len() as u64));
    bench.session.expect(length == Some(bytes), || format!("a text of {length:?} bytes instead of {bytes}"));
    bench.time(Operation::reads("select_big_str", loops, loops), |session, i| {
        session.run_for_rows(1, format_args!("select b,{i} from bench1"))
    })?;
    bench.drop_if_there("bench1")
}
