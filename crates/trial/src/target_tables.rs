//! The tables of a target: dbduel's own, loaded again where a trial needs fresh ones.
//!
//! Which tables are dbduel's, and whether they are as they were loaded, stands in the table
//! `dbduel_meta` of the same database. What must stay true: a table without a row there is dropped
//! only where the user allows it, and a table counts as fresh only if this process loaded it and no
//! trial has written to it since, whichever contender's.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect};
use load::{LOADER_VERSION, Loader, Scratch, Table, Workload};
use sha2::{Digest, Sha256};

use super::dataset::LOAD_SESSIONS;
use engine::UserServer;

/// The table that lists those that dbduel made.
pub const META: &str = "dbduel_meta";
/// A row's state while its table is loaded, or once a trial has written to it.
const USED: &str = "used";

/// Leaves the workload's tables as they were loaded; does nothing where they are. `loaded` gets the
/// rows so far and of all.
pub fn freshen(
    user_server: &UserServer,
    workload: &dyn Workload,
    seed: u64,
    interrupted: &AtomicBool,
    loaded: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    ensure!(
        workload.commands().is_none(),
        "a Lua script makes tables that dbduel does not know, so they cannot be made anew for each trial on a target\n  next: name an engine that dbduel starts, or measure the target once with `dbduel bench`"
    );
    let mut admin = user_server.session()?;
    let dialect = admin.dialect();
    let tables = workload.tables(dialect);
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    let data = data_hash(workload, seed, dialect);
    let scratch = workload.spec().scratch;
    // The user's own tables are none of dbduel's.
    if names.is_empty() && scratch.is_none() {
        return Ok(());
    }
    make_meta(&mut admin)?;
    if let Some(scratch) = scratch {
        let foreign = foreign_tables(&mut admin, &scratch)?;
        ensure!(
            user_server.overwrite || foreign.is_empty(),
            "the target has tables that {} would drop, and that dbduel did not make: {}; name another database, or say `overwrite = true` beside `target` to lose what is in them",
            scratch.title,
            foreign.join(", ")
        );
        claim(&mut admin, &scratch)?;
    }
    let known = known(&mut admin)?;
    let loaded_now = (data.clone(), state_of_this_process());
    if names.iter().all(|name| known.get(*name) == Some(&loaded_now)) {
        return Ok(());
    }
    for name in &names {
        ensure!(
            user_server.overwrite || known.contains_key(*name) || !admin.has_table(name)?,
            "the target has a table `{name}` that dbduel did not make; name another database, or say `overwrite = true` beside `target` to lose what is in it"
        );
    }
    let mut admin = user_server.long_session()?;
    for name in &names {
        // The row first: a table must never be there without it.
        record(&mut admin, name, &data, USED)?;
        admin.run(&format!("DROP TABLE IF EXISTS {name}"))?;
    }
    let rows = tables.iter().map(|table| table.rows).sum();
    let loader = Loader { target: &user_server.target(), sessions: LOAD_SESSIONS, interrupted };
    loader.load(workload, seed, &mut |so_far| loaded(so_far, rows)).context("cannot load the tables of the target")?;
    names.iter().try_for_each(|name| record(&mut admin, name, &data, &loaded_now.1))
}

/// Says that a trial is about to write to the tables.
pub fn spend(user_server: &UserServer, workload: &dyn Workload, seed: u64) -> Result<()> {
    let mut admin = user_server.session()?;
    let data = data_hash(workload, seed, admin.dialect());
    workload.tables(admin.dialect()).iter().try_for_each(|table| record(&mut admin, &table.name, &data, USED))
}

/// Tables that dbduel did not make, under names that clients will make and drop.
pub fn foreign_tables(admin: &mut Admin, scratch: &Scratch) -> Result<Vec<String>> {
    let is_claimed = admin.has_table(META)? && known(admin)?.contains_key(&claim_of(scratch));
    if is_claimed { Ok(Vec::new()) } else { scratch_tables(admin, scratch) }
}

/// Writes down that all tables of these names are dbduel's from now on: what a run leaves that is cut off
/// is then its own.
pub fn claim(admin: &mut Admin, scratch: &Scratch) -> Result<()> {
    record(admin, &claim_of(scratch), "nothing", USED)
}

/// The row for all tables of a workload that makes them as it goes; no table has this name.
fn claim_of(scratch: &Scratch) -> String {
    format!("all of {}", scratch.title)
}

/// Those of the names that are there.
pub fn scratch_tables(admin: &mut Admin, scratch: &Scratch) -> Result<Vec<String>> {
    let names = admin.table_names()?.into_iter();
    let mut there: Vec<String> = names.filter(|name| (scratch.has)(&name.to_lowercase())).collect();
    there.sort();
    Ok(there)
}

/// Makes the table of tables, where it is missing.
pub fn make_meta(admin: &mut Admin) -> Result<()> {
    let engine = admin.dialect().table_options("InnoDB");
    admin
        .run(&format!(
            "CREATE TABLE IF NOT EXISTS {META} (name VARCHAR(64) NOT NULL PRIMARY KEY, \
             data VARCHAR(64) NOT NULL, state VARCHAR(64) NOT NULL){engine}"
        ))
        .with_context(|| format!("cannot make the table {META}, which tells dbduel's tables from yours"))?;
    Ok(())
}

/// Writes a table down as dbduel's own.
pub fn record(admin: &mut Admin, table: &str, data: &str, state: &str) -> Result<()> {
    admin.run("BEGIN")?;
    admin.run(&format!("DELETE FROM {META} WHERE name = '{table}'"))?;
    admin.run(&format!("INSERT INTO {META} (name, data, state) VALUES ('{table}', '{data}', '{state}')"))?;
    admin.run("COMMIT")?;
    Ok(())
}

/// The tables that dbduel made, with what is in them and their state.
pub fn known(admin: &mut Admin) -> Result<BTreeMap<String, (String, String)>> {
    let rows = admin.rows(&format!("SELECT name, data, state FROM {META}"))?;
    let cells = rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default));
    Ok(cells.filter_map(|mut row| Some((row.next()?, (row.next()?, row.next()?)))).collect())
}

/// What the data of a workload depend on, as one short text.
fn data_hash(workload: &dyn Workload, seed: u64, dialect: Dialect) -> String {
    let tables = workload.tables(dialect);
    let ddl: Vec<&str> = tables.iter().flat_map(Table::ddl).collect();
    let text = format!("{}\n{seed}\n{LOADER_VERSION}\n{}", workload.spec().data_key, ddl.join(";\n"));
    Sha256::digest(text).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Tables that another process left may have been changed since.
fn state_of_this_process() -> String {
    static STARTED: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let state = || format!("fresh {} {}", std::process::id(), jiff::Timestamp::now());
    STARTED.get_or_init(state).clone()
}
