//! The checks of the extension `amcheck`: B-trees against their tables from version 11 on, tables from 14 on.

use anyhow::{Context, Result};
use driver::{Admin, Error};
use engine::Integrity;

/// Complaints about these tables and their indexes; None where the extension is not installed.
pub fn check(admin: &mut Admin, tables: &[String]) -> Result<Option<Integrity>> {
    if admin.value("SELECT name FROM pg_available_extensions WHERE name = 'amcheck'")?.is_none() {
        return Ok(None);
    }
    admin.run("CREATE EXTENSION IF NOT EXISTS amcheck").context("cannot create the extension amcheck")?;
    let arguments = admin.rows("SELECT pronargs FROM pg_proc WHERE proname IN ('bt_index_check', 'verify_heapam')")?;
    let takes_heap = arguments.iter().flatten().flatten().any(|arguments| arguments == "2");
    let has_heap_check = arguments.iter().flatten().flatten().any(|arguments| arguments == "6");
    let mut complaints = Vec::new();
    for index in indexes(admin, tables)? {
        let heap = if takes_heap { ", true" } else { "" };
        ask(admin, &format!("SELECT bt_index_check('{index}'::regclass{heap})"), &index, &mut complaints)?;
    }
    for table in tables.iter().filter(|_| has_heap_check) {
        let rows = admin.rows(&format!("SELECT blkno, offnum, msg FROM verify_heapam('{table}'::regclass)"))?;
        let line = |row: Vec<Option<String>>| row.into_iter().flatten().collect::<Vec<_>>().join(" ");
        complaints.extend(rows.into_iter().map(|row| format!("{table}: {}", line(row))));
    }
    Ok(Some(Integrity { check: title(takes_heap, has_heap_check), complaints }))
}

fn title(takes_heap: bool, has_heap_check: bool) -> String {
    let heap = if takes_heap { " with heapallindexed" } else { "" };
    let tables = if has_heap_check { " and verify_heapam" } else { "" };
    format!("amcheck: bt_index_check{heap}{tables}")
}

fn indexes(admin: &mut Admin, tables: &[String]) -> Result<Vec<String>> {
    let names = tables.iter().map(|table| format!("'{table}'")).collect::<Vec<_>>().join(", ");
    let rows = admin.rows(&format!(
        "SELECT i.indexrelid::regclass FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid \
         JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam \
         WHERE a.amname = 'btree' AND t.relname IN ({names}) ORDER BY 1"
    ))?;
    Ok(rows.into_iter().flatten().flatten().collect())
}

/// A check that finds something is refused with it.
fn ask(admin: &mut Admin, sql: &str, what: &str, complaints: &mut Vec<String>) -> Result<()> {
    match admin.rows(sql) {
        Ok(_) => Ok(()),
        Err(Error::Refused { message, .. }) => {
            complaints.push(format!("{what}: {message}"));
            Ok(())
        }
        Err(error) => Err(error).with_context(|| format!("`{sql}` failed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_is_named_as_far_as_the_version_has_it() {
        assert_eq!(title(false, false), "amcheck: bt_index_check");
        assert_eq!(title(true, false), "amcheck: bt_index_check with heapallindexed");
        assert_eq!(title(true, true), "amcheck: bt_index_check with heapallindexed and verify_heapam");
    }
}
