//! Execution plans of MySQL and MariaDB: EXPLAIN, a row for each table.

use anyhow::{Result, ensure};
use driver::Admin;

use engine::{Explained, version_numbers};

/// What most versions show; from 5.7 on MySQL has two more.
const COLUMNS: &[&str] =
    &["id", "select_type", "table", "type", "possible_keys", "key", "key_len", "ref", "rows", "Extra"];
const COLUMNS_WITH_PARTITIONS: &[&str] = &[
    "id",
    "select_type",
    "table",
    "partitions",
    "type",
    "possible_keys",
    "key",
    "key_len",
    "ref",
    "rows",
    "filtered",
    "Extra",
];
/// Work that shows in no other column.
const EXTRA_WORK: &[&str] = &["Using filesort", "Using temporary"];

pub fn explain(admin: &mut Admin, sql: &str) -> Result<Explained> {
    let version = admin.server_version().to_owned();
    // All MariaDB that there is here explains what changes rows.
    let is_mariadb = version.contains("MariaDB");
    let numbers = version_numbers(&version);
    let is_old = !is_mariadb && numbers.as_slice() < &[5, 6, 3];
    ensure!(!is_old || sql.starts_with("SELECT"), "MySQL {version} explains only SELECT");
    // What EXPLAIN alone means became a setting in 8.0.32.
    let form = if is_mariadb || is_old { "" } else { "FORMAT=TRADITIONAL " };
    Ok(explained(admin.rows(&format!("EXPLAIN {form}{sql}"))?))
}

fn explained(rows: Vec<Vec<Option<String>>>) -> Explained {
    let columns = match rows.first() {
        Some(row) if row.len() > COLUMNS.len() => COLUMNS_WITH_PARTITIONS,
        _ => COLUMNS,
    };
    let line = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        cells.join("\t")
    };
    let lines = std::iter::once(columns.join("\t")).chain(rows.iter().map(line)).collect();
    Explained { lines, shape: rows.iter().map(|row| shape(columns, row)).collect() }
}

/// `customer: ref by idx_customer, Using filesort`: how a table is read and by which key.
fn shape(columns: &[&str], row: &[Option<String>]) -> String {
    let cell = |name: &str| {
        let index = columns.iter().position(|column| *column == name);
        index.and_then(|index| row.get(index)?.as_deref())
    };
    let how = cell("type").unwrap_or("not read");
    let key = cell("key").map_or("no key".to_owned(), |key| format!("by {key}"));
    let extra = cell("Extra").unwrap_or_default();
    let extra = EXTRA_WORK.iter().filter(|work| extra.contains(*work)).map(|work| format!(", {work}"));
    format!("{}: {how} {key}{}", cell("table").unwrap_or("no table"), extra.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &str) -> Vec<Option<String>> {
        cells.split('|').map(|cell| (cell != "-").then(|| cell.to_owned())).collect()
    }

    fn check(cells: &str, expected: &str) {
        assert_eq!(explained(vec![row(cells)]).shape, [expected]);
    }

    #[test]
    fn tables_are_shown_with_access_and_key_whatever_else_the_version_shows() {
        check("1|SIMPLE|sbtest1|const|PRIMARY|PRIMARY|4|const|1|", "sbtest1: const by PRIMARY");
        check("1|SIMPLE|sbtest1|-|const|PRIMARY|PRIMARY|4|const|1|100.00|-", "sbtest1: const by PRIMARY");
        check(
            "1|SIMPLE|t|-|range|PRIMARY|PRIMARY|4|-|99|100.00|Using where; Using temporary; Using filesort",
            "t: range by PRIMARY, Using filesort, Using temporary",
        );
        check("1|SIMPLE|t|ALL|-|-|-|-|9987|Using where", "t: ALL no key");
        check("1|SIMPLE|-|-|-|-|-|-|-|Impossible WHERE", "no table: not read no key");
    }

    #[test]
    fn the_whole_answer_is_kept_under_its_columns() {
        let explained = explained(vec![row("1|SIMPLE|t|ALL|-|-|-|-|9|")]);
        assert_eq!(explained.lines[0].split('\t').count(), explained.lines[1].split('\t').count());
        assert!(explained.lines[1].starts_with("1\tSIMPLE\tt\tALL\tNULL"));
        assert_eq!(super::explained(Vec::new()).shape.len(), 0);
    }
}
