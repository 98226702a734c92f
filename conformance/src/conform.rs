//! `cargo xtask conform`: do our OLTP workloads ask of a server what sysbench asks of it?
//!
//! Each script runs with the real load generator against a real server, and the server's own
//! counters, divided by all transactions that ended, are compared with the published table; where
//! sysbench is installed it runs by turns on the same tables and is held to the same figures. One
//! client, because retries would blur the counts. It measures no time.

mod bulk;
mod crowd;
mod equality;
mod expected;
mod mariadb;
mod postgres;
mod script;
mod statements;
pub mod sysbench;
mod warehouses;

use std::path::Path;

use anyhow::{Result, ensure};

use crate::held::{Held, dbduel};
pub use script::Conform;

pub fn run(options: &Conform, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    // Without its own cleaning up, which commits transactions that are not ours; and it searches for a
    // deadlock only after a second, which is long when hundreds are made on purpose.
    let settings = ["autovacuum=off", "deadlock_timeout=10ms"];
    let postgres = Held::start_or_fail(&dbduel, "postgres@system", &settings)?;
    let mariadb = Held::start_or_fail(&dbduel, "mariadb@system", &[])?;
    if !sysbench::is_here() {
        println!("sysbench is not installed here: its column stays empty");
    }
    println!("{:<26} {:<16} {:>14} {:>10} {:>10}", "script", "counter", "expected", "dbduel", "sysbench");
    let mut wrong = mariadb::run(options, &mariadb)?;
    wrong += postgres::run(options, &postgres)?;
    if options.only.is_empty() {
        wrong += statements::run(&mariadb)?;
        wrong += bulk::run(&mariadb)?;
        wrong += crowd::run(&mariadb, &postgres)?;
        wrong += equality::run(&mariadb, &postgres)?;
    }
    if "tpcc".contains(&options.only) {
        wrong += warehouses::run(&mariadb, &postgres)?;
    }
    mariadb.stop()?;
    postgres.stop()?;
    ensure!(wrong == 0, "{wrong} of the figures are not what they should be");
    Ok(())
}
