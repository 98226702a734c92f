//! Sums, counts, least and greatest values, over the table and over parts of it.

use driver::Error;

use super::Scale;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::session::Session;

/// Parts that the table is counted in.
const STEPS: u64 = 100;

/// What the loop of `select_group` reports for each turn, which is one more than it sends; and once more in all.
const REPORTED_PER_TURN: u64 = 11;

pub fn run(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let count = 1 + REPORTED_PER_TURN * scale.repeats;
    bench.time(Operation::reads("select_group", count, scale.repeats).limited(), |session, turn| {
        whole(session, scale)?;
        parts(session, scale, turn)
    })?;
    min_max(bench, scale)?;
    let steps = |name| Operation::reads(name, STEPS, STEPS).limited();
    let each = scale.rows / STEPS;
    bench.time(steps("count_on_key"), |session, step| {
        let below = step * each;
        session.run_for_values(&[below], format_args!("select count(id) from bench1 where id<{below}"))
    })?;
    bench.time(steps("count"), |session, step| {
        let below = step * each;
        session.run_for_values(&[below], format_args!("select count(dummy1) from bench1 where id2<{below}"))
    })?;
    bench.time(Operation::reads("count_distinct_big", 2 * scale.repeats, scale.repeats).limited(), |session, _| {
        session.run_for_values(&[3], format_args!("select count(distinct dummy1) from bench1"))?;
        session.run_for_rows(3, format_args!("select dummy1,count(distinct id) from bench1 group by dummy1"))
    })
}

/// The seven statements of a turn that answer one row of the whole table, or of its upper third.
fn whole(session: &mut Session, scale: Scale) -> Result<(), Error> {
    let upper = 2 * scale.loops;
    session.run_for_values(&[scale.rows], format_args!("select count(*) from bench1"))?;
    session.run_for_values(&[0], format_args!("select min(id) from bench1"))?;
    session.run_for_values(&[scale.rows - 1], format_args!("select max(id) from bench1"))?;
    session.run_for_rows(1, format_args!("select sum(id+0.0) from bench1"))?;
    session.run_for_rows(1, format_args!("select min(id3),max(id3),sum(id3-0.0) from bench1"))?;
    session.run_for_rows(1, format_args!("select min(dummy1),max(dummy1) from bench1"))?;
    session.run_for_values(&[scale.loops], format_args!("select count(*) from bench1 where id>={upper}"))
}

/// The three others. The last one's text changes with each turn, so that no cache has it.
fn parts(session: &mut Session, scale: Scale, turn: u64) -> Result<(), Error> {
    let upper = 2 * scale.loops;
    let values = "count(*),sum(id+0.0),min(id),max(id),avg(id-0.0)";
    session.run_for_rows(1, format_args!("select {values} from bench1 where id>={upper}"))?;
    session.run_for_rows(10, format_args!("select id % 10,count(*) from bench1 group by 1"))?;
    let sent = 1 + REPORTED_PER_TURN * turn;
    let (group, order) = ("group by id,id3,dummy1", "order by id desc,id3,dummy1");
    session.run_for_rows(
        100,
        format_args!("select id,id3,dummy1 from bench1 where id < 100+{sent}-{sent} {group} {order}"),
    )
}

fn min_max(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let turns = 5 * scale.ranges;
    bench.time(Operation::reads("min_max_on_key", 6 * turns, turns).limited(), |session, turn| {
        let id = turn + 1;
        session.run_for_values(&[0], format_args!("select min(id) from bench1"))?;
        session.run_for_values(&[scale.rows - 1], format_args!("select max(id) from bench1"))?;
        session.run_for_values(&[id], format_args!("select min(id2) from bench1 where id={id}"))?;
        session.run_for_values(&[id], format_args!("select max(id2) from bench1 where id={id}"))?;
        session.run_for_rows(1, format_args!("select min(dummy1) from bench1 where id={id}"))?;
        session.run_for_rows(1, format_args!("select max(dummy1) from bench1 where id={id}"))
    })?;
    let turns = scale.repeats;
    bench.time(Operation::reads("min_max", 6 * turns, turns).limited(), |session, turn| {
        let id2 = turn + 1;
        session.run_for_values(&[0], format_args!("select min(id2) from bench1"))?;
        session.run_for_values(&[scale.rows - 1], format_args!("select max(id2) from bench1"))?;
        session.run_for_values(&[id2], format_args!("select min(id3) from bench1 where id2={id2}"))?;
        session.run_for_values(&[id2], format_args!("select max(id3) from bench1 where id2={id2}"))?;
        session.run_for_rows(1, format_args!("select min(dummy1) from bench1 where id2={id2}"))?;
        session.run_for_rows(1, format_args!("select max(dummy1) from bench1 where id2={id2}"))
    })
}
