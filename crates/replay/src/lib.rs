//! What a server's log holds, sent again: its sessions, the order of their transactions, and their due times.
//!
//! A capture becomes a [`schedule::Schedule`] before anything is measured; clients then go through it without reading
//! a file. Reading logs is `capture`'s work, and what became of the statements is the recorder's.

mod answers;
mod assignment;
mod atomics;
mod client;
mod cuts;
mod digest;
mod ended;
mod filter;
#[cfg(test)]
mod hand_offs;
mod making;
mod options;
mod order;
mod plans;
mod portable;
mod run;
mod schedule;
mod sharing;
mod shown;
mod source;
mod tables;
mod units;
mod waits;
mod workload;

pub use workload::REPLAY;
