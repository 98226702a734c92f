//! The SQL texts, read once from the `.sql` files beside this one.

use driver::Dialect;

/// The kinds of prepared statements, in the order sysbench runs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    Insert,
}

pub const KINDS: usize = 9;

impl Kind {
    /// The section of the `.sql` file.
    fn section(self) -> &'static str {
        match self {
            Kind::PointSelect => "point-select",
            Kind::SimpleRange => "simple-range",
            Kind::SumRange => "sum-range",
            Kind::OrderRange => "order-range",
            Kind::DistinctRange => "distinct-range",
            Kind::UpdateIndex => "update-index",
            Kind::UpdateNonIndex => "update-non-index",
            Kind::Delete => "delete",
            Kind::Insert => "insert",
        }
    }

    pub fn is_read(self) -> bool {
        matches!(self, Kind::PointSelect | Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange)
    }
}

/// A file of statements, each behind a line `-- name`.
pub struct Statements {
    file: &'static str,
}

impl Statements {
    pub fn new(file: &'static str) -> Statements {
        Statements { file }
    }

    pub fn text(&self, section: &str, table: &str) -> String {
        let body = self.file.split("-- ").find_map(|part| {
            let (name, body) = part.split_once('\n')?;
            (name == section).then_some(body)
        });
        body.expect("every section that is asked for stands in the file").trim_end().replace("{table}", table)
    }

    /// A statement to prepare, with the dialect's parameters in place of `?`.
    pub fn prepared(&self, kind: Kind, table: &str, dialect: Dialect) -> String {
        let text = self.text(kind.section(), table);
        let mut parts = text.split('?');
        let mut sql = parts.next().unwrap_or_default().to_owned();
        for (index, part) in parts.enumerate() {
            sql.push_str(&dialect.placeholder(index + 1));
            sql.push_str(part);
        }
        sql
    }
}
