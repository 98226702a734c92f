//! The 28 tables of `ATIS`, read from the lines of `schema.sql`.
//!
//! A section names a table; its lines are columns (none of which may be NULL), the primary key, and columns
//! with an index of their own.

use driver::Dialect;

use crate::sections::sections;
use crate::sqlbench::ddl::{Column, Shape, Type};

static SCHEMA: &str = include_str!("schema.sql");

/// The tables by name, in the order they are made and filled.
pub fn names() -> impl Iterator<Item = &'static str> {
    sections(SCHEMA).map(|(table, _)| table)
}

/// The tables in the same order.
pub fn shapes(dialect: Dialect) -> Vec<Shape> {
    sections(SCHEMA)
        .map(|(table, lines)| {
            lines.lines().fold(Shape::new(table, Vec::new()), |shape, line| with_line(shape, line, dialect))
        })
        .collect()
}

fn with_line(mut shape: Shape, line: &str, dialect: Dialect) -> Shape {
    if let Some(columns) = line.strip_prefix("primary key ") {
        return shape.primary_key(columns);
    }
    if let Some(column) = line.strip_prefix("index ") {
        return shape.index(format!("ix_{column}"), column);
    }
    let (name, kind) = line.split_once(' ').expect("a line names a column and its type");
    shape.columns.push(Column::required(quoted(name, dialect), kind_of(kind)));
    shape
}

/// MySQL reserves one of the names since it has window functions.
fn quoted(name: &str, dialect: Dialect) -> String {
    if name == "rank" && dialect == Dialect::MySql { format!("`{name}`") } else { name.to_owned() }
}

fn kind_of(word: &str) -> Type {
    let length = word.strip_prefix("char(").and_then(|rest| rest.strip_suffix(')')?.parse().ok());
    match (word, length) {
        (_, Some(length)) => Type::Char(length),
        ("tinyint", _) => Type::TinyInt,
        ("smallint", _) => Type::SmallInt,
        ("mediumint", _) => Type::MediumInt,
        ("float", _) => Type::Float,
        ("int", _) => Type::Int,
        _ => unreachable!("the schema has no type `{word}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_28_tables_and_seven_indexes() {
        let tables = shapes(Dialect::Postgres);
        assert_eq!(tables.len(), 28);
        assert!(tables.iter().all(|table| table.primary_key.is_some()));
        assert_eq!(tables.iter().map(|table| table.indexes.len()).sum::<usize>(), 7);
        assert_eq!(tables.iter().map(|table| table.columns.len()).sum::<usize>(), 128);
    }

    #[test]
    fn a_name_that_mysql_reserves_is_quoted_there() {
        let create = |dialect| shapes(dialect)[5].create(dialect, "").concat();
        assert!(create(Dialect::MySql).contains("`rank` tinyint not null, class_description char(80)"));
        assert!(create(Dialect::Postgres).contains(" rank int not null,"));
    }
}
