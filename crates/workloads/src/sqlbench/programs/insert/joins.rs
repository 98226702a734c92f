//! The table joined with itself and with a small one, and copied into others.

use std::collections::BTreeSet;
use std::fmt;

use driver::Error;

use super::updates::second_keys;
use super::{Data, Scale, fill};
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};
use crate::sqlbench::session::Session;

const COUNT_BOTH: &str = "count(a.dummy1),count(b.dummy1)";

/// Rows of the table joined with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Joined {
    found: u64,
    not_found: u64,
}

pub fn run(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    outer_joins(bench, data.scale, joined(&second_keys(data), data.scale.rows))?;
    in_lists(bench, data.scale)?;
    copies(bench, data.scale)
}

/// Row `id` is joined with all rows whose second key it is.
fn joined(second_keys: &[u64], rows: u64) -> Joined {
    let found = second_keys.iter().filter(|key| **key < rows).count() as u64;
    let distinct: BTreeSet<u64> = second_keys.iter().copied().filter(|key| *key < rows).collect();
    Joined { found, not_found: rows - distinct.len() as u64 }
}

fn outer_joins(bench: &mut Bench, scale: Scale, Joined { found, not_found }: Joined) -> Result<(), Stop> {
    let turns = scale.repeats;
    let join = |session: &mut Session, values: &[u64], what: &str, condition: fmt::Arguments<'_>| {
        let from = "bench1 a left join bench1 b on (a.id2=b.id3)";
        session.run_for_values(values, format_args!("select {what} from {from}{condition}"))
    };
    bench.time(Operation::reads("outer_join_on_key", turns, turns), |session, _| {
        join(session, &[found + not_found], "count(*)", format_args!(""))
    })?;
    bench.time(Operation::reads("outer_join", turns, turns), |session, _| {
        join(session, &[found + not_found, found], COUNT_BOTH, format_args!(""))
    })?;
    bench.time(Operation::reads("outer_join_found", turns, turns), |session, _| {
        join(session, &[found, found], COUNT_BOTH, format_args!(" where b.id3 is not null"))
    })?;
    // The suite reports more of these than it runs.
    bench.time(Operation::reads("outer_join_not_found", scale.ranges, turns).limited(), |session, _| {
        join(session, &[not_found, 0], COUNT_BOTH, format_args!(" where b.id3 is null"))
    })
}

/// Lists of 10, 100 and 1000 values, as a list and as a table. The suite runs these and reports none, so they
/// are part of the program's time only.
fn in_lists(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    if !bench.options.operations.is_empty() {
        return Ok(());
    }
    bench.make(&Shape::new("bench2", vec![Column::required("id", Type::Int)]).primary_key("id"))?;
    let longest = (bench.limits.query_size - 50) / 6;
    let mut filled = 0;
    for length in [10, 100, 1000].map(|length| longest.min(length)) {
        for id in filled + 1..=length {
            bench.set_up(&format!("insert into bench2 values ({id})"))?;
        }
        filled = length;
        let list = (1..=length).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
        let in_list = format!("select bench1.* from bench1 where id in ({list})");
        let in_table = "select bench1.* from bench2 left join bench1 on (bench2.id=bench1.id)";
        for sql in [in_list.as_str(), in_table] {
            let select = |_| bench.session.run_for_rows(length, format_args!("{sql}"));
            (0..scale.ranges).try_for_each(select).map_err(|error: Error| Stop::of(error, sql))?;
        }
    }
    bench.drop_if_there("bench2")
}

fn copies(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    let copies = [
        ("insert_select_1_key", fill::shape("bench2")),
        ("insert_select_2_keys", fill::shape("bench3").index("ix_id3", "id3")),
    ];
    for (_, shape) in &copies {
        bench.make(shape)?;
    }
    for (name, shape) in &copies {
        let table = &shape.name;
        bench.time(Operation::changes(name, 1, 1), |session, _| {
            session.run_to_change(scale.rows, format_args!("insert into {table} select * from bench1"))
        })?;
        bench.verify_count(name, table, scale.rows)?;
    }
    bench.drop_if_there("bench2")?;
    bench.drop_if_there("bench3")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joins_find_as_many_rows_as_the_suite_is_known_by() {
        let data = Data::new(Scale::FULL);
        let expected = Joined { found: 300_000, not_found: 235_000 };
        assert_eq!(joined(&second_keys(&data), data.scale.rows), expected);
    }
}
