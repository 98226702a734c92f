//! The eight tables: names, columns, keys and indexes.

use crate::sections::{named, sections};

const SCHEMA: &str = include_str!("schema.sql");

/// The big ones first, which suits a load whose last steps run side by side.
pub const RELATIONS: [Relation; 8] = [
    Relation::LineItem,
    Relation::Orders,
    Relation::PartSupp,
    Relation::Part,
    Relation::Customer,
    Relation::Supplier,
    Relation::Nation,
    Relation::Region,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    LineItem,
    Orders,
    PartSupp,
    Part,
    Customer,
    Supplier,
    Nation,
    Region,
}

/// What a column holds, and how it is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    /// In hundredths where there are no exact decimals.
    Money,
    Text,
}

impl Relation {
    pub fn name(self) -> &'static str {
        match self {
            Relation::LineItem => "lineitem",
            Relation::Orders => "orders",
            Relation::PartSupp => "partsupp",
            Relation::Part => "part",
            Relation::Customer => "customer",
            Relation::Supplier => "supplier",
            Relation::Nation => "nation",
            Relation::Region => "region",
        }
    }

    /// All columns, in their order, with what they hold.
    pub fn columns(self) -> Vec<(&'static str, Kind)> {
        let lines = self.create().lines();
        let column = |line: &'static str| {
            let (name, rest) = line.strip_prefix("  ")?.split_once(' ')?;
            let kind = match rest {
                rest if rest.starts_with("{money}") => Kind::Money,
                rest if rest.starts_with("{key}") || rest.starts_with("INTEGER") => Kind::Integer,
                _ => Kind::Text,
            };
            Some((name, kind))
        };
        lines.filter_map(column).collect()
    }

    pub fn primary_key(self) -> &'static str {
        named(SCHEMA, &format!("key-{}", self.name()))
    }

    /// Names and columns of the other indexes.
    pub fn indexes(self) -> Vec<(&'static str, &'static str)> {
        let header = format!("indexes-{}", self.name());
        let lines = sections(SCHEMA).find(|(known, _)| *known == header).map_or("", |(_, body)| body).lines();
        lines.filter_map(|line| line.split_once(' ')).collect()
    }

    /// The statement that makes it, with places for what dialects spell otherwise.
    pub fn create(self) -> &'static str {
        named(SCHEMA, &format!("create-{}", self.name()))
    }
}
