//! The workloads: sysbench's OLTP family, the TPC-C-derived one, and sql-bench.
//!
//! Each is schema, data, transactions and checks behind the traits of `load`. The list [`WORKLOADS`] drives
//! `dbduel list`, the experiment file's keys and the reference documentation.

mod oltp;
mod sections;
mod sqlbench;
pub mod tpcc;

use load::WorkloadKind;
pub use oltp::{client_on, read_write_client};
pub use sqlbench::sqlbench_operations;

/// Every workload, in the order `dbduel list workloads` shows them.
pub static WORKLOADS: &[WorkloadKind] = &[
    oltp::scripts::POINT_SELECT,
    oltp::scripts::READ_ONLY,
    oltp::scripts::WRITE_ONLY,
    oltp::scripts::READ_WRITE,
    oltp::scripts::UPDATE_INDEX,
    oltp::scripts::UPDATE_NON_INDEX,
    oltp::scripts::DELETE,
    oltp::scripts::INSERT,
    oltp::scripts::RANDOM_POINTS,
    oltp::scripts::RANDOM_RANGES,
    oltp::bulk::BULK_INSERT,
    oltp::classic::CLASSIC,
    tpcc::TPCC,
    sqlbench::SQL_BENCH,
];

pub fn workload_kind(name: &str) -> Option<&'static WorkloadKind> {
    WORKLOADS.iter().find(|kind| kind.name == name)
}
