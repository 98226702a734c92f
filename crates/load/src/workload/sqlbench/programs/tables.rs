//! Whole sets of tables, made and filled: what `ATIS` and `wisconsin` begin with.

use crate::workload::sqlbench::bench::{Bench, Operation, Stop};
use crate::workload::sqlbench::ddl::Shape;
use crate::workload::sqlbench::packing::pack;

/// The operation `create_table`: drops each table, which is hardly ever there, and makes it.
pub fn create(bench: &mut Bench, shapes: &[Shape], count: u64) -> Result<(), Stop> {
    let (dialect, options) = (bench.dialect(), bench.options);
    bench.time(Operation::changes("create_table", count, shapes.len() as u64), |session, turn| {
        let shape = &shapes[turn as usize];
        session.run_args(format_args!("drop table if exists {}", shape.name))?;
        shape.create(dialect, &options.create_options).iter().try_for_each(|sql| session.run(sql).map(drop))
    })
}

/// The operation `insert`: `values` are the rows of a table as they stand behind VALUES. A statement for each
/// row, or, where `fast` allows, as few as there can be, while nobody else has access.
pub fn insert(bench: &mut Bench, shapes: &[Shape], values: impl Fn(usize) -> Vec<String>) -> Result<(), Stop> {
    let packs = bench.options.fast && bench.limits.insert_multi_value;
    let bytes_max = if packs { bench.limits.query_size } else { 0 };
    let of_table = |(index, shape): (usize, &Shape)| {
        pack(&format!("insert into {} values ", shape.name), values(index).into_iter(), bytes_max)
    };
    let statements: Vec<_> = shapes.iter().enumerate().flat_map(of_table).collect();
    let rows = statements.iter().map(|packed| packed.rows).sum();
    if locks(bench) {
        let tables: Vec<String> = shapes.iter().map(|shape| format!("{} write", shape.name)).collect();
        bench.set_up(&format!("lock tables {}", tables.join(", ")))?;
    }
    bench.time(Operation::changes("insert", rows, statements.len() as u64), |session, turn| {
        let packed = &statements[turn as usize];
        session.run_to_change(packed.rows, format_args!("{}", packed.sql))
    })
}

/// What comes after the inserts, where tables were locked for them.
pub fn unlock(bench: &mut Bench) -> Result<(), Stop> {
    if locks(bench) { bench.set_up("unlock tables").map(drop) } else { Ok(()) }
}

fn locks(bench: &Bench) -> bool {
    bench.options.fast && bench.limits.lock_tables
}
