//! The programs, in the order the suite runs them.

mod alter_table;
mod atis;
mod big_tables;
mod connect;
mod create;
mod insert;
mod select;
mod tables;
mod transactions;
mod wisconsin;

use super::bench::{Bench, Stop};

/// One program of the suite.
#[derive(Debug)]
pub struct Program {
    pub name: &'static str,
    /// Its operations, in the order they run: what is missing when it ends early is named by this list.
    pub operations: &'static [&'static str],
    /// One of the eight of the classic table.
    pub classic: bool,
    pub run: fn(&mut Bench<'_>) -> Result<(), Stop>,
}

/// Every program there is, in the suite's order: by name, upper and lower case alike.
pub static PROGRAMS: &[Program] = &[
    alter_table::ALTER_TABLE,
    atis::ATIS,
    big_tables::BIG_TABLES,
    connect::CONNECT,
    create::CREATE,
    insert::INSERT,
    select::SELECT,
    transactions::TRANSACTIONS,
    wisconsin::WISCONSIN,
];
