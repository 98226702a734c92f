//! The programs, in the order the suite runs them.

mod connect;
mod insert;
mod select;
mod transactions;

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
pub static PROGRAMS: &[Program] = &[connect::CONNECT, insert::INSERT, select::SELECT, transactions::TRANSACTIONS];
