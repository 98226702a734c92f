//! Filling the table: a row a statement, rows that are there already, and many rows a statement.

use driver::Error;

use super::{Data, Scale};
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};

const COLUMNS: &str = " (id,id2,id3,dummy1)";

/// The table of the first and of the third part: its four columns, and its primary key.
pub fn shape(name: &str) -> Shape {
    let columns = vec![
        Column::required("id", Type::Int),
        Column::required("id2", Type::Int),
        Column::required("id3", Type::Int),
        Column::nullable("dummy1", Type::Char(30)),
    ];
    Shape::new(name, columns).primary_key("id,id2")
}

/// The suite's fast form names no columns, nor does its form of many rows a statement.
pub fn insert(bench: &mut Bench, data: &mut Data) -> Result<(), Stop> {
    bench.make(&shape("bench1").index("ix_id3", "id3"))?;
    let rows = data.scale.rows;
    if bench.packs_inserts() {
        bench.insert_packed("insert", "bench1", rows, packed_rows(data))?;
    } else {
        let columns = if bench.options.fast { "" } else { COLUMNS };
        bench.time(Operation::changes("insert", rows, rows).batched("bench1"), |session, number| {
            let (id, text) = row(data, number);
            session.run_to_change(1, format_args!("insert into bench1{columns} values ({id},{id},{id},'{text}')"))
        })?;
    }
    bench.verify_count("insert", "bench1", rows)?;
    bench.book_keeping("bench1")?;
    insert_duplicates(bench, data)
}

fn packed_rows(data: &Data) -> impl Iterator<Item = String> {
    (0..data.scale.rows).map(|number| {
        let (id, text) = row(data, number);
        format!("({id},{id},{id},'{text}')")
    })
}

/// The row that is inserted at turn `number`: the lower third in order, the upper third backwards, the middle
/// third shuffled.
fn row(data: &Data, number: u64) -> (u64, &'static str) {
    let Scale { loops, rows, .. } = data.scale;
    match number / loops {
        0 => (number, "ABCDEFGHIJ"),
        1 => (rows - 1 - (number - loops), "BCDEFGHIJK"),
        _ => (data.shuffled(number - 2 * loops), "CDEFGHIJKL"),
    }
}

/// Each of these has to fail.
fn insert_duplicates(bench: &mut Bench, data: &mut Data) -> Result<(), Stop> {
    let Scale { loops, rows, .. } = data.scale;
    let ids = data.sequence.draw(0..loops, loops);
    let columns = if bench.options.fast { "" } else { COLUMNS };
    bench.time(Operation::changes("insert_duplicates", loops, loops), |session, i| {
        let id = ids[i as usize] % rows;
        match session.run_args(format_args!("insert into bench1{columns} values ({id},{id},2,'D')")) {
            Err(Error::Duplicate { .. }) => Ok(()),
            Err(error) => Err(error),
            Ok(_) => {
                session.expect(false, || format!("a second row with the key {id},{id} was taken"));
                Ok(())
            }
        }
    })?;
    bench.verify_count("insert_duplicates", "bench1", rows)
}

/// As many rows a statement as it has room for.
pub fn insert_multiple(bench: &mut Bench, scale: Scale) -> Result<(), Stop> {
    if !bench.limits.insert_multi_value {
        bench.lacks("multiple_value_insert", "an INSERT takes one row by the limits in force");
        return Ok(());
    }
    bench.make(&shape("bench1").index("index_id3", "id3"))?;
    bench.insert_packed("multiple_value_insert", "bench1", scale.loops, multiple_rows(scale))?;
    bench.verify_count("multiple_value_insert", "bench1", scale.loops)?;
    bench.drop_if_there("bench1")
}

fn multiple_rows(scale: Scale) -> impl Iterator<Item = String> {
    (0..scale.loops).map(|id| format!("({id},{id},{id},'EFGHIJKLM')"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlbench::packing::pack;

    #[test]
    fn every_key_is_inserted_once() {
        let data = Data::new(Scale::SMALL);
        let mut ids: Vec<u64> = (0..data.scale.rows).map(|number| row(&data, number).0).collect();
        ids.sort_unstable();
        assert!(ids.into_iter().eq(0..data.scale.rows));
    }

    #[test]
    fn packed_rows_are_as_few_statements_as_in_the_suite() {
        let statements =
            |rows: &mut dyn Iterator<Item = String>| pack("insert into bench1 values ", rows, 1_000_000).len();
        assert_eq!(statements(&mut multiple_rows(Scale::FULL)), 4);
        assert_eq!(statements(&mut packed_rows(&Data::new(Scale::FULL))), 11);
    }
}
