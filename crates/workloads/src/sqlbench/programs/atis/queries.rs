//! The queries of `ATIS` by operation, each with the rows it finds.

use driver::Dialect;

use crate::sections::section;
use crate::sqlbench::limits::Limits;

static SQL: &str = include_str!("queries.sql");

/// Parts of the queries that not every server has, in its own dialect.
const NEEDS: [(&str, &str); 2] =
    [("engines-deviation", "std(engines)"), ("categories-by-alias", "the HAVING of an alias")];

fn has(limits: &Limits, query: &str) -> bool {
    match query {
        "engines-deviation" => limits.std,
        "categories-by-alias" => limits.having_alias_query,
        _ => true,
    }
}

/// The queries that one operation runs in each turn, in their order.
#[derive(Debug)]
pub struct Group {
    pub operation: &'static str,
    queries: &'static [(&'static str, u64)],
}

pub const GROUPS: [Group; 5] = [
    Group {
        operation: "select_simple_join",
        queries: &[
            ("city-and-state", 1),
            ("state-and-city", 11),
            ("month-and-day", 7),
            ("month-and-late-day", 4),
            ("flight-and-aircraft", 579),
        ],
    },
    Group { operation: "select_join", queries: &[("three-tables", 579)] },
    Group { operation: "select_key_prefix_join", queries: &[("restricted-fares", 5692)] },
    Group {
        operation: "select_distinct",
        queries: &[
            ("distinct-categories", 6),
            ("distinct-origins", 9),
            ("distinct-aircraft", 22),
            ("distinct-fares", 534),
            ("distinct-flights-with-fare", 579),
            ("distinct-flights-with-aircraft", 579),
            ("distinct-airlines-aircraft-first", 44),
            ("distinct-airlines-flight-first", 44),
        ],
    },
    Group {
        operation: "select_group",
        queries: &[
            ("days-by-name-and-code", 7),
            ("days-by-name", 7),
            ("months-and-late-days", 4),
            ("days-by-code-and-name", 7),
            ("engines-sum", 1),
            ("engines-mean", 1),
            ("engines-mean-where-any", 1),
            ("pay-loads", 1),
            ("first-flight-twice", 1),
            ("first-airports", 1),
            ("heavy-loads", 1),
            ("any-loads", 1),
            ("late-flights", 1),
            ("engines-deviation", 1),
            ("mean-time-of-a-route", 1),
            ("mean-fare-by-city", 11),
            ("services-by-city", 12),
            ("categories-by-alias", 3),
            ("categories-by-count", 3),
            ("numbers-with-stops", 150),
            ("zone-differences", 21),
            ("zone-differences-of-a-day", 14),
            ("routes-with-range", 409),
            ("served-cities", 11),
            ("served-cities-backwards", 11),
            ("served-cities", 11),
            ("fares-of-a-route", 10),
            ("jets-with-stops", 29),
        ],
    },
];

impl Group {
    /// What is left out on this server.
    pub fn lacking(&self, limits: &Limits) -> Vec<&'static str> {
        let ours = |name: &str| self.queries.iter().any(|(query, _)| *query == name);
        let lacking = NEEDS.iter().filter(|(query, _)| ours(query) && !has(limits, query));
        lacking.map(|(_, need)| *need).collect()
    }

    /// What is asked of this server, and how many rows it finds.
    pub fn queries(&self, dialect: Dialect, limits: &Limits) -> Vec<(&'static str, u64)> {
        let sql = |name| match name {
            "categories-by-alias" if !limits.having_with_alias => section(SQL, "categories-by-count", dialect),
            name => section(SQL, name, dialect),
        };
        self.queries.iter().filter(|(name, _)| has(limits, name)).map(|(name, rows)| (sql(*name), *rows)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlbench::limits::Era;

    #[test]
    fn a_turn_asks_as_many_queries_as_the_suite_does() {
        let check = |dialect, era, expected: [usize; 5]| {
            let limits = Limits::of(dialect, era);
            assert_eq!(GROUPS.map(|group| group.queries(dialect, &limits).len()), expected, "{dialect:?} {era:?}");
        };
        check(Dialect::MySql, Era::Modern, [5, 1, 1, 8, 28]);
        check(Dialect::MySql, Era::Classic, [5, 1, 1, 8, 28]);
        check(Dialect::Postgres, Era::Modern, [5, 1, 1, 8, 28]);
        check(Dialect::Postgres, Era::Classic, [5, 1, 1, 8, 26]);
        check(Dialect::Sqlite, Era::Modern, [5, 1, 1, 8, 27]);
        let lacking = |dialect| GROUPS.map(|group| group.lacking(&Limits::of(dialect, Era::Modern)));
        assert_eq!(lacking(Dialect::Sqlite).concat(), ["std(engines)"]);
        assert!(lacking(Dialect::Postgres).concat().is_empty());
    }
}
