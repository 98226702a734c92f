//! A table of seventeen columns with an index on nearly each of them.

use std::fmt;

use super::Data;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};

/// Values of the column that rows are searched by.
const SEARCHED: u64 = 128;

pub fn run(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let rows = data.scale.many_keys;
    insert(bench, data)?;
    let found = |value: u64| {
        if value < SEARCHED { rows / SEARCHED + u64::from(value < rows % SEARCHED) } else { 0 }
    };
    let update = Operation::changes("update_of_primary_key_many_keys", 2 * SEARCHED, 2 * SEARCHED);
    bench.time(update, |session, value| {
        session.run_to_change(found(value), format_args!("update bench1 set field5=1 where field_search={value}"))
    })?;
    bench.verify_count("update_of_primary_key_many_keys", "bench1 where field5=1", rows)?;
    // The suite does not start its clock again between these two.
    let mark = bench.mark();
    let delete = Operation::changes("delete_big_many_keys", SEARCHED, SEARCHED).from(mark);
    bench.time(delete, |session, value| {
        session.run_to_change(found(value), format_args!("delete from bench1 where field_search={value}"))
    })?;
    let all = match (bench.options.fast, bench.limits.truncate_table) {
        (true, true) => "truncate table bench1",
        (true, false) => "delete from bench1",
        (false, _) => "delete from bench1 where field1>0",
    };
    bench.time(Operation::changes("delete_all_many_keys", 1, 1).from(mark), |session, _| {
        session.run_to_change(0, format_args!("{all}"))
    })?;
    bench.verify_count("delete_big_many_keys", "bench1", 0)?;
    bench.drop_if_there("bench1")
}

fn insert(bench: &mut Bench, data: &Data) -> Result<(), Stop> {
    let shape = shape();
    bench.make(&shape)?;
    let rows = data.scale.many_keys;
    if bench.packs_inserts() {
        bench.insert_packed("insert_key", "bench1", rows, packed_rows(data))?;
        return bench.verify_count("insert_key", "bench1", rows);
    }
    let names: Vec<&str> = shape.columns.iter().map(|column| column.name.as_str()).collect();
    let columns = if bench.options.fast { String::new() } else { format!(" ({})", names.join(",")) };
    bench.time(Operation::changes("insert_key", rows, rows).batched("bench1"), |session, number| {
        let row = Row { number, drawn: data.shuffled(number) };
        session.run_to_change(1, format_args!("insert into bench1{columns} values {row}"))
    })?;
    bench.verify_count("insert_key", "bench1", rows)
}

fn packed_rows(data: &Data) -> impl Iterator<Item = String> {
    (0..data.scale.many_keys).map(|number| Row { number, drawn: data.shuffled(number) }.to_string())
}

fn shape() -> Shape {
    let mut columns = vec![
        Column::required("field1", Type::TinyInt),
        Column::required("field_search", Type::TinyInt),
        Column::required("field2", Type::MediumInt),
        Column::required("field3", Type::SmallInt),
        Column::required("field4", Type::Char(16)),
        Column::required("field5", Type::Int),
        Column::required("field6", Type::Float),
        Column::required("field7", Type::Double),
    ];
    columns.extend((8..=16).map(|field| Column::required(format!("field{field}"), Type::Char(6))));
    let primary_key: Vec<String> = (1..=16).map(|field| format!("field{field}")).collect();
    let shape = Shape::new("bench1", columns).primary_key(primary_key.join(",")).index("index2", "field_search");
    (3..=16).fold(shape, |shape, field| shape.index(format!("index{field}"), format!("field{field}")))
}

/// Row number `number`, made of number `drawn`; written with its brackets.
#[derive(Debug, Clone, Copy)]
struct Row {
    number: u64,
    drawn: u64,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { number, drawn } = self;
        let (searched, small) = (number % SEARCHED, number & 32_767);
        write!(f, "({searched},{searched},{drawn},{small},'ABCDEF{drawn}',0,{drawn},{drawn}.0")?;
        for _ in 8..=16 {
            write!(f, ",'{drawn}'")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlbench::packing::pack;
    use crate::sqlbench::programs::insert::Scale;

    #[test]
    fn the_table_has_seventeen_columns_and_sixteen_keys() {
        let shape = shape();
        assert_eq!(shape.columns.len(), 17);
        assert_eq!(shape.primary_key.as_deref().map(|key| key.split(',').count()), Some(16));
        assert_eq!(shape.indexes.len(), 15);
        assert_eq!(shape.indexes.last(), Some(&("index16".to_owned(), "field16".to_owned())));
    }

    #[test]
    fn packed_rows_are_as_few_statements_as_in_the_suite() {
        let data = Data::new(Scale::FULL);
        assert_eq!(pack("insert into bench1 values ", packed_rows(&data), 1_000_000).len(), 14);
    }

    #[test]
    fn a_row_is_made_of_two_numbers() {
        let texts = ["'150000'"; 9].join(",");
        let row = Row { number: 32_769, drawn: 150_000 };
        assert_eq!(row.to_string(), format!("(1,1,150000,1,'ABCDEF150000',0,150000,150000.0,{texts})"));
    }
}
