//! Plans from the text that is stored of them: what tests and fuzz targets read.

use record::format::PlanNode;

use crate::{mysql_family, postgres, sqlite};

/// How a server wrote its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanForm {
    MysqlRows,
    MysqlJson,
    PostgresJson,
    SqliteLines,
}

impl PlanForm {
    pub const ALL: [PlanForm; 4] =
        [PlanForm::MysqlRows, PlanForm::MysqlJson, PlanForm::PostgresJson, PlanForm::SqliteLines];

    pub fn read(self, text: &str) -> Result<PlanNode, String> {
        match self {
            PlanForm::MysqlRows => mysql_family::plans::read_rows(&cells(text, '\t')),
            PlanForm::MysqlJson => mysql_family::plans::read_json(text),
            PlanForm::PostgresJson => postgres::plans::read(text),
            PlanForm::SqliteLines => Ok(sqlite::plans::read(&cells(text, '|'))),
        }
    }
}

/// What must hold of any bytes: they are read or refused, and what is read can be stored. The first chooses the form.
pub fn read_any(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let form = PlanForm::ALL[usize::from(*choice) % PlanForm::ALL.len()];
    if let Ok(root) = form.read(&String::from_utf8_lossy(text)) {
        let depth = depth(&root);
        assert!(depth <= STORED_DEPTH_MAX, "{depth} steps below each other");
    }
}

/// Steps below each other that fit into a record.
const STORED_DEPTH_MAX: usize = 57;

fn depth(node: &PlanNode) -> usize {
    1 + node.children.iter().map(depth).max().unwrap_or(0)
}

fn cells(text: &str, between: char) -> Vec<Vec<Option<String>>> {
    let cell = |cell: &str| (cell != "NULL").then(|| cell.to_owned());
    text.lines().map(|line| line.split(between).map(cell).collect()).collect()
}

#[cfg(test)]
mod tests;
