//! The TPC-C-derived tables: what servers hold after a load, against the population itself.
//!
//! One warehouse into each, by one session and by eight; a sum over all columns of all rows must be the same.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use driver::{Admin, Target};
use load::{Checksum, Loader, Workload};

use super::script::{DATA_SEED, STATEMENT_LIMIT, Script};
use crate::held::Held;

const SCRIPT: Script = Script { title: "tpcc", workload: "tpcc", options: &[("warehouses", "1")], sysbench: None };

/// Returns how many tables differ from the population.
pub fn run(mariadb: &Held, postgres: &Held) -> Result<usize> {
    let folder = tempfile::tempdir()?;
    let sqlite = super::equality::sqlite(folder.path());
    let workload = SCRIPT.build()?;
    let tables = workload.tables(sqlite.dialect);
    let expected = tables.iter().enumerate().map(|(at, table)| Checksum::expected(&*workload, DATA_SEED, at, table));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    let mut wrong = 0;
    for (name, sessions, target) in [
        ("MariaDB, 1 session", 1, mariadb.target()?),
        ("MariaDB, 8 sessions", 8, mariadb.target()?),
        ("PostgreSQL, 1 session", 1, postgres.target()?),
        ("PostgreSQL, 8 sessions", 8, postgres.target()?),
        ("SQLite", 1, sqlite),
    ] {
        let found = load_and_sum(&workload, &target, sessions).with_context(|| format!("cannot load {name}"))?;
        for ((table, found), expected) in tables.iter().zip(found).zip(&expected) {
            let same = found == *expected;
            wrong += usize::from(!same);
            let verdict = if same { "ok".to_owned() } else { format!("WRONG, {expected} expected") };
            println!("rows of {:<10} {name:<22} {found}  {verdict}", table.name);
        }
    }
    Ok(wrong)
}

/// Loads the tables anew, sums them up and drops them.
fn load_and_sum(workload: &Arc<dyn Workload>, target: &Target, sessions: usize) -> Result<Vec<Checksum>> {
    let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, STATEMENT_LIMIT)?;
    let tables = workload.tables(target.dialect);
    let drop_all = |admin: &mut Admin| {
        let mut drops = tables.iter().map(|table| format!("DROP TABLE IF EXISTS {}", table.name));
        drops.try_for_each(|sql| admin.run(&sql).map(drop))
    };
    drop_all(&mut admin)?;
    let loader = Loader { target, sessions, interrupted: &AtomicBool::new(false) };
    loader.load(&**workload, DATA_SEED, &mut |_| ()).context("cannot load the tables")?;
    let sums = tables.iter().enumerate().map(|(at, table)| Checksum::found(&mut admin, &**workload, at, table));
    let sums = sums.collect::<Result<Vec<_>, _>>()?;
    drop_all(&mut admin)?;
    Ok(sums)
}
