//! Execution plans of SQLite: a tree of lines of text.

use std::collections::BTreeMap;

use anyhow::Result;
use driver::Admin;
use engine::Explained;
use record::format::{PlanNode, QUERY};

type Answer = [Vec<Option<String>>];

/// Lines inside of lines; deeper ones stand beside each other.
const DEPTH_MAX: usize = 40;

pub fn explain(admin: &mut Admin, sql: &str) -> Result<Explained> {
    let rows = admin.rows(&format!("EXPLAIN QUERY PLAN {sql}"))?;
    Ok(Explained { lines: lines(&rows), tree: Ok(read(&rows)) })
}

/// Each row has its id, its parent's, a number without a meaning, and what is done; a change of one row by
/// its id has none.
pub fn lines(rows: &Answer) -> Vec<String> {
    indented(rows).into_iter().map(|(depth, text)| format!("{}{text}", "  ".repeat(depth))).collect()
}

fn indented(rows: &Answer) -> Vec<(usize, &str)> {
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for row in rows {
        let cell = |index: usize| row.get(index).and_then(Option::as_deref).unwrap_or_default();
        let depth = depths.get(cell(1)).map_or(0, |parent| (parent + 1).min(DEPTH_MAX));
        depths.insert(cell(0), depth);
        found.push((depth, cell(3)));
    }
    found
}

pub fn read(rows: &Answer) -> PlanNode {
    let mut open: Vec<(usize, PlanNode)> = vec![(0, PlanNode::of(QUERY))];
    for (depth, text) in indented(rows) {
        close(&mut open, depth + 1);
        open.push((depth + 1, node(text)));
    }
    close(&mut open, 1);
    open.pop().map_or_else(|| PlanNode::of(QUERY), |(_, root)| root)
}

/// Hands what is as deep, or deeper, to what is above it.
fn close(open: &mut Vec<(usize, PlanNode)>, depth: usize) {
    while let Some((_, done)) = open.pop_if(|(known, _)| *known >= depth && *known > 0) {
        if let Some((_, above)) = open.last_mut() {
            above.children.push(done);
        }
    }
}

/// `SEARCH t USING COVERING INDEX k (a=?)`, `SCAN t`, `USE TEMP B-TREE FOR ORDER BY`.
fn node(text: &str) -> PlanNode {
    let Some((operator @ ("SCAN" | "SEARCH"), rest)) = text.split_once(' ') else { return PlanNode::of(text) };
    let (table, by) = rest.split_once(" USING ").unwrap_or((rest, ""));
    let by = by.split(" (").next().unwrap_or(by);
    let index = match by {
        "" => None,
        "INTEGER PRIMARY KEY" | "PRIMARY KEY" => Some(by),
        _ if by.starts_with("AUTOMATIC") => Some("AUTOMATIC INDEX"),
        _ => by.rsplit_once("INDEX ").map(|(_, name)| name),
    };
    // Old releases call a table TABLE, and a subquery SUBQUERY.
    let table = table.strip_prefix("TABLE ").unwrap_or(table);
    PlanNode {
        table: Some(table.split(" VIRTUAL TABLE").next().unwrap_or(table).to_owned()),
        index: index.map(str::to_owned),
        index_only: by.contains("COVERING"),
        ..PlanNode::of(operator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_by_their_words() {
        let check = |text: &str, table: &str, index: Option<&str>, index_only: bool| {
            let read = node(text);
            let seen = (read.table.as_deref(), read.index.as_deref(), read.index_only);
            assert_eq!(seen, (Some(table), index, index_only), "{text}");
        };
        check("SCAN t", "t", None, false);
        check("SEARCH t USING INTEGER PRIMARY KEY (rowid=?)", "t", Some("INTEGER PRIMARY KEY"), false);
        check("SEARCH o USING INDEX k_1 (k>? AND k<?)", "o", Some("k_1"), false);
        check("SCAN t USING COVERING INDEX k_1", "t", Some("k_1"), true);
        check("SEARCH c USING AUTOMATIC COVERING INDEX (nation=?)", "c", Some("AUTOMATIC INDEX"), true);
        assert_eq!(node("USE TEMP B-TREE FOR ORDER BY"), PlanNode::of("USE TEMP B-TREE FOR ORDER BY"));
    }
}
