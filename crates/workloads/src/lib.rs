//! The workloads: sysbench's OLTP family, the TPC-C- and the TPC-H-derived one, sql-bench, kinds of statements, the ledger of crash
//! experiments, the user's own SQL, and pgbench's builtin scripts.
//!
//! Each is schema, data, transactions and checks behind the traits of `load`. The list [`WORKLOADS`] drives
//! `dbduel list`, the experiment file's keys and the reference documentation.

mod ledger;
mod micro;
mod oltp;
mod sections;
mod sqlbench;
pub mod tpcc;
pub mod tpch;

use std::collections::BTreeMap;
use std::sync::Arc;

use driver::{Connection, Error};
use load::{Client, OptionError, OptionValue, ScaledWorkload, Workload, WorkloadKind};
pub use micro::{ListedKind, listed as listed_kinds};
pub use oltp::read_write_client;
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
    tpch::TPCH,
    sqlbench::SQL_BENCH,
    micro::MICRO,
    ledger::LEDGER,
    OWN,
    replay::REPLAY,
    script::pgbench::TPCB_LIKE,
    script::pgbench::SIMPLE_UPDATE,
    script::pgbench::SELECT_ONLY,
];

/// The user's own transactions: SQL files, or a script of sysbench.
const OWN: WorkloadKind = WorkloadKind {
    build: |options| match lua::LuaScript::of_options(options)? {
        Some(script) => Ok(Box::new(script)),
        None => (script::SCRIPT.build)(options),
    },
    ..script::SCRIPT
};

/// What a ladder of advice is measured with: its size and its pattern of access are nearest to what people tune for.
pub const ADVISED: ScaledWorkload = ScaledWorkload { kind: &tpcc::TPCC, scale: "warehouses" };

pub fn workload_kind(name: &str) -> Option<&'static WorkloadKind> {
    WORKLOADS.iter().find(|kind| kind.name == name)
}

/// One client of a script on any connection, as real as those of a trial: it is how our own code is
/// measured and tested without a server. The name and the options must be valid.
pub fn client_on<C: Connection>(
    name: &str,
    given: &BTreeMap<String, OptionValue>,
    connection: C,
) -> Result<impl Client<Connection = C> + use<C>, Error> {
    oltp::client_on(workload_kind(name).expect("the caller names a workload"), given, connection)
}

/// What the load generator sends to a server that does nothing, to measure itself: point selects, or, as one pass,
/// `select 1`, `select 2` … as sql-bench sends them.
pub fn null_load(one_pass: bool) -> Result<Arc<dyn Workload>, OptionError> {
    if !one_pass {
        return Ok(oltp::scripts::POINT_SELECT.with(&[].into())?.into());
    }
    let list = |name: &str| OptionValue::List(vec![name.to_owned()]);
    let given = [
        ("programs", list("connect")),
        ("operations", list("select_simple")),
        ("small", OptionValue::Flag(true)),
        ("loop_short", OptionValue::Flag(true)),
    ];
    let given = given.map(|(key, value)| (key.to_owned(), value)).into();
    Ok(sqlbench::SQL_BENCH.with(&given)?.into())
}
