//! The user's own SQL as a workload.
//!
//! A script is written in pgbench's language, compiled once when the plan is made, and run by every client: between
//! the barriers of a trial nothing is parsed, looked up by name or allocated. Notes in its comments tell what answers
//! have to bring. Tables may come from the user's SQL, with rows that are generated here.

mod client;
mod eval;
mod expression;
mod fault;
mod options;
pub mod pgbench;
mod program;
mod random;
mod rows;
mod statement;
#[cfg(test)]
mod tests;
mod workload;

use load::WorkloadKind;

pub const SCRIPT: WorkloadKind = WorkloadKind {
    name: "script",
    description: "your own SQL: files in pgbench's language, each a transaction, over tables of your own",
    example: "name = \"script\"\nsetup = [\"schema.sql\"]\nfiles = [{ path = \"order.sql\", weight = 3 }]",
    options: options::OPTIONS,
    build: |options| Ok(Box::new(options::read(options)?)),
};
