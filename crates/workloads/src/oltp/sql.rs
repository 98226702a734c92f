//! The SQL texts, read once from the `.sql` files beside this one.
//!
//! Nothing here belongs to the measured loop but [`Template::fill`], which writes a statement with
//! its values into a buffer that is reused.

use std::fmt::Write;

use driver::{Dialect, Value};

use crate::sections;

/// The kinds of statements; each is prepared once per table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    PointSelect,
    /// 0.4: a point select of all columns.
    RowSelect,
    /// 0.4, `nontrx`: the other text column.
    PadSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    UpdateIndex,
    UpdateNonIndex,
    Delete,
    Insert,
    /// The server numbers the row.
    InsertNumbered,
    RandomPoints,
    RandomRanges,
    /// 0.4, `sp`: a procedure that the user has made.
    Procedure,
}

pub const KINDS: usize = 15;

impl Kind {
    /// The section of the `.sql` file; but for inserts the same in all dialects.
    pub fn section(self, dialect: Dialect) -> &'static str {
        match self {
            Kind::PointSelect => "point-select",
            Kind::RowSelect => "row-select",
            Kind::PadSelect => "pad-select",
            Kind::SimpleRange => "simple-range",
            Kind::SumRange => "sum-range",
            Kind::OrderRange => "order-range",
            Kind::DistinctRange => "distinct-range",
            Kind::UpdateIndex => "update-index",
            Kind::UpdateNonIndex => "update-non-index",
            Kind::Delete => "delete",
            Kind::Insert => "insert",
            Kind::InsertNumbered => match dialect {
                Dialect::MySql => "insert-numbered-mysql",
                Dialect::Postgres => "insert-numbered-postgres",
                Dialect::Sqlite => "insert-numbered-sqlite",
            },
            Kind::RandomPoints => "random-points",
            Kind::RandomRanges => "random-ranges",
            Kind::Procedure => "procedure",
        }
    }

    pub fn is_insert(self) -> bool {
        matches!(self, Kind::Insert | Kind::InsertNumbered)
    }

    pub fn is_read(self) -> bool {
        match self {
            Kind::PointSelect | Kind::RowSelect | Kind::PadSelect | Kind::RandomPoints | Kind::RandomRanges => true,
            Kind::SimpleRange | Kind::SumRange | Kind::OrderRange | Kind::DistinctRange => true,
            Kind::UpdateIndex | Kind::UpdateNonIndex | Kind::Delete | Kind::Insert | Kind::InsertNumbered => false,
            Kind::Procedure => false,
        }
    }
}

/// A file of statements, each behind a line `-- name`.
pub struct Statements {
    file: &'static str,
}

impl Statements {
    pub fn of(version: Version) -> Statements {
        Statements {
            file: match version {
                Version::Modern => include_str!("sysbench-1.0.sql"),
                Version::Classic => include_str!("sysbench-0.4.sql"),
            },
        }
    }

    pub fn text(&self, section: &str, table: &str) -> String {
        sections::named(self.file, section).replace("{table}", table)
    }

    /// A statement with a place for each of its values; `subject` is the table, or the procedure, and `values`
    /// are those of a list in it.
    pub fn template(&self, kind: Kind, subject: &str, dialect: Dialect, values: usize) -> Template {
        let text = self.text(kind.section(dialect), subject).replace("{procedure}", subject);
        let text = text.replace("{points}", &vec!["?"; values].join(", "));
        let text = text.replace("{ranges}", &vec!["k BETWEEN ? AND ?"; values / 2].join(" OR "));
        Template { parts: text.split('?').map(str::to_owned).collect() }
    }
}

/// A statement, cut where its values go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<String>,
}

impl Template {
    /// A statement without values.
    pub fn fixed(text: &str) -> Template {
        Template { parts: vec![text.to_owned()] }
    }

    /// The statement to prepare, with the dialect's parameters for its values.
    pub fn prepared(&self, dialect: Dialect) -> String {
        let mut sql = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                sql.push_str(&dialect.placeholder(index));
            }
            sql.push_str(part);
        }
        sql
    }

    /// The statement as text, with its values in it; `out` keeps its room from one call to the next.
    pub fn fill(&self, values: &[Value<'_>], out: &mut String) {
        debug_assert_eq!(self.parts.len(), values.len() + 1, "a statement gets all its values");
        out.clear();
        for (index, part) in self.parts.iter().enumerate() {
            if let Some(value) = index.checked_sub(1).and_then(|value| values.get(value)) {
                push_literal(*value, out);
            }
            out.push_str(part);
        }
    }
}

fn push_literal(value: Value<'_>, out: &mut String) {
    match value {
        Value::Int(number) => write!(out, "{number}").expect("a string takes whatever is written"),
        Value::Text(text) => {
            debug_assert!(!text.iter().any(|byte| b"'\\".contains(byte)), "our texts need no escaping");
            out.push('\'');
            out.push_str(std::str::from_utf8(text).expect("our texts are ASCII"));
            out.push('\'');
        }
        Value::Decimal { .. } | Value::Null => unreachable!("sysbench's tables have numbers and texts only"),
    }
}

/// Whose rules the text of statements, ranges and strings follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// 1.0.
    Modern,
    /// 0.4.12.
    Classic,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, dialect: Dialect, values: &[Value<'_>], prepared: &str, filled: &str) {
        let template = Statements::of(Version::Modern).template(kind, "sbtest3", dialect, values.len());
        assert_eq!(template.prepared(dialect), prepared);
        let mut text = String::from("what stood there before");
        template.fill(values, &mut text);
        assert_eq!(text, filled);
    }

    #[test]
    fn a_template_gives_the_prepared_form_and_the_text() {
        let (id, text) = (Value::Int(-7), Value::Text(b"12-34"));
        check(
            Kind::UpdateNonIndex,
            Dialect::Postgres,
            &[text, id],
            "UPDATE sbtest3 SET c=$1 WHERE id=$2",
            "UPDATE sbtest3 SET c='12-34' WHERE id=-7",
        );
        check(
            Kind::RandomPoints,
            Dialect::MySql,
            &[Value::Int(1), Value::Int(2)],
            "SELECT id, k, c, pad FROM sbtest3 WHERE k IN (?, ?)",
            "SELECT id, k, c, pad FROM sbtest3 WHERE k IN (1, 2)",
        );
        check(
            Kind::RandomRanges,
            Dialect::Sqlite,
            &[Value::Int(1), Value::Int(6), Value::Int(3), Value::Int(8)],
            "SELECT count(k) FROM sbtest3 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?",
            "SELECT count(k) FROM sbtest3 WHERE k BETWEEN 1 AND 6 OR k BETWEEN 3 AND 8",
        );
    }

    #[test]
    fn every_kind_has_its_section_where_it_is_used() {
        for dialect in [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite] {
            for (version, kinds) in [
                (Version::Modern, &[Kind::InsertNumbered, Kind::DistinctRange, Kind::Insert][..]),
                (Version::Classic, &[Kind::InsertNumbered, Kind::PadSelect, Kind::Insert]),
            ] {
                for kind in kinds {
                    assert!(Statements::of(version).template(*kind, "t", dialect, 0).prepared(dialect).contains(" t"));
                }
            }
        }
    }
}
