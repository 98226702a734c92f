//! `big-tables`: rows of a thousand columns, read and written.

use crate::sqlbench::bench::Program;
use crate::sqlbench::bench::{Bench, Operation, Stop};
use crate::sqlbench::ddl::{Column, Shape, Type};

pub const BIG_TABLES: Program =
    Program { name: "big-tables", operations: &["select_many_fields", "insert_many_fields"], classic: true, run };

fn run(bench: &mut Bench) -> Result<(), Stop> {
    let fields = bench.options.loops(bench.limits.field_count(), 10);
    // Narrow tables get as many columns over the wire as wide ones.
    let loops = bench.options.loops(1000, 10) * if fields < 100 { 10 } else { 1 };
    let names: Vec<String> = (1..=fields).map(|number| format!("i{number}")).collect();
    let ones = vec!["1"; names.len()].join(",");
    let columns = names.iter().map(|name| Column::nullable(name, Type::Int)).collect();
    let names = names.join(",");
    let insert = format!("insert into bench1 values ({ones})");
    bench.make(&Shape::new("bench1", columns))?;
    bench.set_up(&insert)?;
    for select in ["select * from bench1".to_owned(), format!("select {names} from bench1")] {
        bench.time(Operation::reads("select_many_fields", loops, loops), |session, _| {
            session.run_for_rows(1, format_args!("{select}"))
        })?;
        bench.verify("select_many_fields", &select, &vec![1; fields as usize])?;
    }
    for insert in [insert, format!("insert into bench1 ({names}) values ({ones})")] {
        bench.time(Operation::changes("insert_many_fields", loops, loops).batched("bench1"), |session, _| {
            session.run_to_change(1, format_args!("{insert}"))
        })?;
    }
    bench.verify_count("insert_many_fields", "bench1", 2 * loops + 1)?;
    bench.drop_if_there("bench1")
}
