//! A plan as a row for each table, as every release shows it.

use std::collections::BTreeSet;

use record::format::{PlanNode, QUERY};

use super::words::{INSERT, NO_TABLE, UNION, access, join, merged, own_table, with_subqueries};

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
/// Blocks inside of blocks, deeper than people write them.
const DEPTH_MAX: usize = 20;

type Answer = [Vec<Option<String>>];

fn columns(answer: &Answer) -> &'static [&'static str] {
    match answer.first() {
        Some(row) if row.len() > COLUMNS.len() => COLUMNS_WITH_PARTITIONS,
        _ => COLUMNS,
    }
}

/// The answer below the names of its columns.
pub fn lines(answer: &Answer) -> Vec<String> {
    let line = |row: &Vec<Option<String>>| {
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        cells.join("\t")
    };
    std::iter::once(columns(answer).join("\t")).chain(answer.iter().map(line)).collect()
}

pub fn read(answer: &Answer) -> Result<PlanNode, String> {
    let columns = columns(answer);
    if let Some(odd) = answer.iter().find(|row| row.len() != columns.len()) {
        return Err(format!("a row of {} columns was expected, this one has {}", columns.len(), odd.len()));
    }
    let rows: Vec<Row> = answer.iter().map(|cells| Row { columns, cells }).collect();
    let first = rows.first().ok_or("the server's answer is empty")?;
    let kinds = |row: &&Row| row.kind().to_owned();
    let unions: BTreeSet<u64> =
        rows.iter().filter(|row| kinds(row).ends_with("UNION")).filter_map(Row::number).collect();
    let is_union = rows.iter().any(|row| row.kind() == "UNION");
    let mut root = block(&rows, first.number(), 0);
    if is_union {
        let of_union = rows.iter().filter(|row| row.kind() == "UNION").filter_map(Row::number);
        let numbers: BTreeSet<u64> = of_union.collect();
        let others = numbers.into_iter().map(|number| block(&rows, Some(number), 0));
        root = PlanNode { children: std::iter::once(root).chain(others).collect(), ..PlanNode::of(UNION) };
    }
    let subqueries: BTreeSet<u64> =
        rows.iter().filter(|row| kinds(row).ends_with("SUBQUERY")).filter_map(Row::number).collect();
    let subqueries = subqueries.difference(&unions).map(|number| (*number, block(&rows, Some(*number), 0)));
    Ok(with_subqueries(root, subqueries.collect()))
}

/// The tables of one SELECT, in the order in which they are joined.
fn block(rows: &[Row], number: Option<u64>, depth: usize) -> PlanNode {
    let ours = || rows.iter().filter(|row| row.number() == number && row.kind() != "UNION RESULT");
    let has = |what: &str| ours().any(|row| row.extra().contains(what));
    PlanNode {
        sort: has("Using filesort"),
        temporary_table: has("Using temporary"),
        children: ours().map(|row| table(rows, row, depth)).collect(),
        ..PlanNode::of(QUERY)
    }
}

fn table(rows: &[Row], row: &Row, depth: usize) -> PlanNode {
    let Some(name) = row.cell("table") else { return PlanNode::of(NO_TABLE) };
    let own = own_table(name);
    let word = row.cell("type").map(|word| word.split('|').next().unwrap_or(word));
    let is_insert = ["INSERT", "REPLACE"].contains(&row.kind());
    let Some(word) = word.filter(|_| !is_insert) else {
        return PlanNode { table: Some(name.to_owned()), ..PlanNode::of(INSERT) };
    };
    let below = own.and_then(|_| number_in(name)).filter(|_| depth < DEPTH_MAX);
    let below = below.filter(|below| row.number().is_none_or(|number| *below > number));
    let index = row.cell("key").map(|key| merged(key.split('|').next().unwrap_or(key)));
    let extra = row.extra();
    let buffer = extra.split("; ").flat_map(|part| part.split(", Using")).find(|part| part.contains("join buffer"));
    PlanNode {
        table: Some(own.unwrap_or(name).to_owned()),
        index: index.filter(|_| own.is_none()),
        index_only: extra.split("; ").any(|part| part == "Using index"),
        join: buffer.map(|part| join(part).to_owned()),
        estimated_rows: row.cell("rows").and_then(|rows| rows.parse().ok()),
        children: below.map(|below| block(rows, Some(below), depth + 1)).into_iter().collect(),
        ..PlanNode::of(&access(word))
    }
}

/// The block that `<derived2>` is made of.
fn number_in(name: &str) -> Option<u64> {
    name.trim_matches(|letter: char| !letter.is_ascii_digit()).parse().ok()
}

struct Row<'a> {
    columns: &'static [&'static str],
    cells: &'a [Option<String>],
}

impl Row<'_> {
    fn cell(&self, name: &str) -> Option<&str> {
        let at = self.columns.iter().position(|column| *column == name)?;
        self.cells.get(at)?.as_deref()
    }

    fn number(&self) -> Option<u64> {
        self.cell("id").and_then(|id| id.parse().ok())
    }

    fn kind(&self) -> &str {
        self.cell("select_type").unwrap_or_default()
    }

    fn extra(&self) -> &str {
        self.cell("Extra").unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<Option<String>>> {
        let row = |line: &str| line.split('|').map(|cell| (cell != "-").then(|| cell.to_owned())).collect();
        text.lines().map(row).collect()
    }

    #[test]
    fn the_whole_answer_is_kept_under_its_columns() {
        let lines = lines(&rows("1|SIMPLE|t|ALL|-|-|-|-|9|"));
        assert_eq!(lines[0].split('\t').count(), lines[1].split('\t').count());
        assert!(lines[1].starts_with("1\tSIMPLE\tt\tALL\tNULL"));
    }

    #[test]
    fn a_table_that_holds_itself_ends_and_a_short_row_is_refused() {
        let answer = rows("1|PRIMARY|<derived1>|ALL|-|-|-|-|9|\n2|DERIVED|<derived3>|ALL|-|-|-|-|9|");
        assert_eq!(read(&answer).unwrap().children[0].children, []);
        assert!(read(&rows("1|SIMPLE|t")).unwrap_err().starts_with("a row of 10 columns"));
        assert!(read(&[]).is_err());
    }
}
