//! How an SQLite database stands, as its files show it.
//!
//! A connection counts for itself only, and those of the load are not asked. Files are read by name and
//! never opened: closing one would take the locks away that SQLite holds on it in this process.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use driver::Admin;

use engine::counters::{Counters, DATABASE_BYTES, DeferredState, DeferredWork, Kind, Paid};

const PENDING: &str = "wal_pending_frames";

pub const DEFERRAL: DeferredWork =
    DeferredWork { redo_bytes: None, amounts: &[DeferredState { state: PENDING, paid: Paid::AtNothing }] };

pub fn read(admin: &mut Admin) -> Result<Counters> {
    let files = admin.rows("PRAGMA database_list").context("cannot ask for the database's file")?;
    let mut counters = Counters::default();
    // Number, name, file; the first is the main one.
    let Some(Some(file)) = files.into_iter().next().and_then(|row| row.into_iter().nth(2)) else {
        return Ok(counters);
    };
    for (name, suffix) in [(DATABASE_BYTES, ""), ("wal_bytes", "-wal")] {
        if let Ok(found) = fs::metadata(format!("{file}{suffix}")) {
            counters.put(Kind::State, name, found.len() as f64);
        }
    }
    Ok(counters)
}

/// Frames of the write-ahead log that are not in the database yet, after an attempt to bring them there: SQLite
/// has no thread that would, so the next session, which is ours, does what a load leaves behind.
pub fn pay(admin: &mut Admin) -> Result<BTreeMap<&'static str, f64>> {
    let rows = admin.rows("PRAGMA wal_checkpoint(PASSIVE)").context("cannot checkpoint the log")?;
    // Whether it was hindered, frames in the log, and those of them that are in the database; -1 without a log.
    let cells: Vec<f64> = rows.into_iter().flatten().flatten().filter_map(|cell| cell.parse().ok()).collect();
    let [_, frames, moved] = cells.as_slice() else { return Ok(BTreeMap::new()) };
    Ok(BTreeMap::from([(PENDING, frames - moved)]))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use driver::{Dialect, Endpoint, Login};

    use super::*;

    fn connect(file: &std::path::Path) -> Admin {
        Admin::connect(Dialect::Sqlite, &Endpoint::File(file.into()), &Login::default(), Duration::from_secs(5))
            .unwrap()
    }

    #[test]
    fn frames_that_a_reader_keeps_in_the_log_are_deferred_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        let (mut writer, mut reader, mut monitor) = (connect(&file), connect(&file), connect(&file));
        writer.rows("PRAGMA journal_mode = WAL").unwrap();
        writer.run("CREATE TABLE t (a INTEGER)").unwrap();
        reader.run("BEGIN").unwrap();
        reader.rows("SELECT * FROM t").unwrap();
        writer.run("INSERT INTO t VALUES (1)").unwrap();
        let seen = read(&mut monitor).unwrap();
        assert!(seen.state["wal_bytes"] > 0.0 && seen.state.contains_key(DATABASE_BYTES) && seen.counted.is_empty());
        assert!(pay(&mut monitor).unwrap()[PENDING] > 0.0);
        reader.run("ROLLBACK").unwrap();
        assert_eq!(pay(&mut monitor).unwrap()[PENDING], 0.0);
        assert!(read(&mut monitor).unwrap().state[DATABASE_BYTES] >= 8192.0);
    }

    #[test]
    fn without_a_write_ahead_log_nothing_is_deferred() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.db");
        connect(&file).run("CREATE TABLE t (a INTEGER)").unwrap();
        assert_eq!(pay(&mut connect(&file)).unwrap()[PENDING], 0.0);
        assert!(!read(&mut connect(&file)).unwrap().state.contains_key("wal_bytes"));
    }
}
