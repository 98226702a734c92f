//! One row at a time, found by a key or missed by it.

use driver::{Error, Statement, Value};

use super::Data;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::options::Prepare;
use crate::sqlbench::session::Session;

/// What is read by each key: the columns, and the condition on the value that takes the place of `?`.
const READS: [(&str, &str, Condition); 6] = [
    ("select_key_prefix", "*", Condition::Id),
    ("select_key", "*", Condition::BothIds),
    ("select_key_return_key", "id,id2", Condition::BothIds),
    ("select_key2", "*", Condition::Id3),
    ("select_key2_return_key", "id3", Condition::Id3),
    ("select_key2_return_prim", "id,id2", Condition::Id3),
];

#[derive(Debug, Clone, Copy)]
enum Condition {
    Id,
    BothIds,
    Id3,
}

/// The same rows by statements that are whole each time, and by one that is prepared once.
pub fn prepared(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let loops = data.scale.loops;
    bench.time(Operation::reads("prepared_select", loops, loops), |session, i| {
        let id = data.shuffled(i + 1);
        session.run_for_rows(1, format_args!("select * from bench1 where id={id}"))
    })?;
    let id = data.shuffled(1);
    for name in ["prepared_select", "once_prepared_select"] {
        bench.verify(name, &format!("select id,id2,id3 from bench1 where id={id}"), &[id; 3])?;
    }
    let operation = Operation::reads("once_prepared_select", loops, loops);
    if bench.options.prepare == Prepare::Client {
        return bench.time(operation, |session, i| {
            let id = data.shuffled(i + 1);
            session.run_for_rows(1, format_args!("select * from bench1 where id='{id}'"))
        });
    }
    let mut statement = None;
    bench
        .time_with(operation, &mut statement, |session, statement, i| execute(session, statement, data.shuffled(i + 1)))
}

/// Preparing belongs to the first turn.
fn execute(session: &mut Session, statement: &mut Option<Statement>, id: u64) -> Result<(), Error> {
    let sql = format!("select * from bench1 where id={}", session.dialect().placeholder(1));
    let prepared = match *statement {
        Some(prepared) => prepared,
        None => session.prepare(&sql)?,
    };
    *statement = Some(prepared);
    let answer = session.execute(prepared, &[Value::Int(id as i64)])?;
    session.expect_rows(answer, 1, &sql);
    Ok(())
}

/// Each key once where a row has it, and once beyond the last row.
pub fn run(bench: &mut Bench, data: &mut Data) -> Result<(), Stop> {
    let scale = data.scale;
    for (name, columns, condition) in READS {
        let keys = data.sequence.draw(1..scale.keys + 1, scale.loops);
        bench.time(Operation::reads(name, 2 * scale.keys, scale.keys).limited(), |session, i| {
            let key = keys[i as usize] % scale.rows;
            read(session, 1, columns, condition, key)?;
            read(session, 0, columns, condition, key + scale.rows)
        })?;
    }
    Ok(())
}

fn read(session: &mut Session, rows: u64, columns: &str, condition: Condition, key: u64) -> Result<(), Error> {
    let select = format_args!("select {columns} from bench1 where");
    match condition {
        Condition::Id => session.run_for_rows(rows, format_args!("{select} id={key}")),
        Condition::BothIds => session.run_for_rows(rows, format_args!("{select} id={key} and id2={key}")),
        Condition::Id3 => session.run_for_rows(rows, format_args!("{select} id3={key}")),
    }
}
