//! What pgbench 15 has beside its language: builtin scripts, its tables, its rules for files, its way to write values.

mod builtins;
mod distributions;
mod expressions;
mod number;
mod tables;
mod workload;

pub use crate::program::Protocol;
pub use crate::watch::Watch;
pub use builtins::{BUILTINS, Builtin, SELECT_ONLY, SIMPLE_UPDATE, TPCB_LIKE};
pub use distributions::{DISTRIBUTIONS, Distribution, Shape};
pub(crate) use expressions::value_of;
pub use expressions::{TABLE_VARIABLES, evaluate};
pub(crate) use number::AsPgbench;
pub use tables::{Partitions, PgbenchTables};
pub use workload::{File, Listed, Pgbench, Rules};
