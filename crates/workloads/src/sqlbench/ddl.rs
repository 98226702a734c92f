//! Tables as the suite describes them, in each dialect's types.
//!
//! MySQL and MariaDB take a table's indexes in its CREATE TABLE. Elsewhere keys stand inline and every
//! secondary index is a statement of its own, named after its table because names are schema-wide.

use driver::Dialect;

/// A column's type in the suite's notation; display widths are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    Float,
    Double,
    Char(u16),
    VarChar(u16),
    Blob,
}

impl Type {
    pub fn sql(self, dialect: Dialect) -> String {
        let (mysql, postgres, sqlite) = match self {
            Type::TinyInt => ("tinyint", "int", "integer"),
            Type::SmallInt => ("smallint", "int", "integer"),
            Type::MediumInt => ("mediumint", "int", "integer"),
            Type::Int => ("int", "int", "integer"),
            Type::Float => ("float", "double precision", "real"),
            Type::Double => ("double", "double precision", "real"),
            Type::Blob => ("blob", "text", "blob"),
            Type::Char(length) => return format!("char({length})"),
            Type::VarChar(length) => return format!("varchar({length})"),
        };
        match dialect {
            Dialect::MySql => mysql,
            Dialect::Postgres => postgres,
            Dialect::Sqlite => sqlite,
        }
        .to_owned()
    }
}

/// One column: its name, its type, and whether it may be NULL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Type,
    pub nullable: bool,
}

impl Column {
    pub fn required(name: impl Into<String>, kind: Type) -> Column {
        Column { name: name.into(), kind, nullable: false }
    }

    pub fn nullable(name: impl Into<String>, kind: Type) -> Column {
        Column { name: name.into(), kind, nullable: true }
    }
}

/// A table with its keys; columns of a key as they stand between its brackets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    pub name: String,
    pub columns: Vec<Column>,
    pub primary_key: Option<String>,
    pub unique: Vec<String>,
    /// Secondary indexes: name and columns.
    pub indexes: Vec<(String, String)>,
}

impl Shape {
    pub fn new(name: impl Into<String>, columns: Vec<Column>) -> Shape {
        Shape { name: name.into(), columns, ..Shape::default() }
    }

    pub fn primary_key(self, columns: impl Into<String>) -> Shape {
        Shape { primary_key: Some(columns.into()), ..self }
    }

    pub fn unique(mut self, columns: impl Into<String>) -> Shape {
        self.unique.push(columns.into());
        self
    }

    pub fn index(mut self, name: impl Into<String>, columns: impl Into<String>) -> Shape {
        self.indexes.push((name.into(), columns.into()));
        self
    }

    /// Makes the empty table with all of its keys.
    pub fn create(&self, dialect: Dialect, create_options: &str) -> Vec<String> {
        let column = |column: &Column| {
            let null = if column.nullable { "" } else { " not null" };
            format!("{} {}{null}", column.name, column.kind.sql(dialect))
        };
        let mut parts: Vec<String> = self.columns.iter().map(column).collect();
        parts.extend(self.primary_key.iter().map(|columns| format!("primary key ({columns})")));
        parts.extend(self.unique.iter().map(|columns| format!("unique ({columns})")));
        let inline = dialect == Dialect::MySql;
        if inline {
            parts.extend(self.indexes.iter().map(|(name, columns)| format!("index {name} ({columns})")));
        }
        let options = if create_options.is_empty() { String::new() } else { format!(" {create_options}") };
        let create = format!("create table {} ({}){options}", self.name, parts.join(", "));
        let separate = self.indexes.iter().filter(|_| !inline);
        let index = separate.map(|(name, columns)| format!("create index {0}_{name} on {0} ({columns})", self.name));
        std::iter::once(create).chain(index).collect()
    }
}

/// Only MySQL keeps the names of indexes by table.
pub fn drop_index(dialect: Dialect, index: &str, table: &str) -> String {
    match dialect {
        Dialect::MySql => format!("drop index {index} on {table}"),
        Dialect::Postgres | Dialect::Sqlite => format!("drop index {index}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secondary_indexes_are_statements_of_their_own_outside_mysql() {
        let columns = vec![Column::required("a", Type::MediumInt), Column::nullable("b", Type::Char(10))];
        let shape = Shape::new("t", columns).primary_key("a").unique("b").index("ix", "a,b");
        let inline = "create table t (a mediumint not null, b char(10), primary key (a), unique (b), index ix (a,b))";
        assert_eq!(shape.create(Dialect::MySql, "engine=innodb"), [format!("{inline} engine=innodb")]);
        let keys = "create table t (a int not null, b char(10), primary key (a), unique (b))";
        assert_eq!(shape.create(Dialect::Postgres, ""), [keys, "create index t_ix on t (a,b)"]);
    }
}
