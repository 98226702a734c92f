//! `dbduel prepare|bench|check|cleanup`: the single-shot tool against a running server.
//!
//! It starts and stops nothing; whatever it makes or drops, it prints. What must stay true: in the
//! measured time the server gets the workload's statements and nothing else, and a run that ends
//! early still ends in a report.

mod command;
pub mod command_line;
mod figures;
pub mod fuzzing;
mod job;
mod limits;
mod live;
mod measure;
pub mod pgbench;
mod report;
mod server;
mod tables;

pub use command::command;
