//! The statements of the form `rows`, each once with values that a loaded database has: to ask a
//! server how it would run them. Inserts of one row have no plan to choose, and are left out.

use driver::Dialect;

use super::rows;
use crate::sections::{is_for, sections};
use load::NamedStatement;

/// Columns whose values are no numbers.
const TEXTS: &[(&str, &str)] = &[
    // Clause 4.3.2.3: the name of the first customer of each district.
    ("c_last", "'BARBARBAR'"),
    ("c_data", "'data'"),
    ("ol_delivery_d", "'2011-01-01 00:00:00'"),
];
/// What a column is compared with when it has to lie below: about as much as transactions ask for.
const BELOW: &str = "20";

pub fn statements(dialect: Dialect) -> Vec<NamedStatement> {
    let ours = sections(rows::FILE).filter(|(header, _)| is_for(header, dialect));
    let named = ours.map(|(header, text)| NamedStatement {
        name: header.split_whitespace().next().unwrap_or_default().to_owned(),
        sql: filled(&text.replace("s_dist_xx", "s_dist_01")),
    });
    named.filter(|statement| !statement.sql.starts_with("INSERT")).collect()
}

/// Each `?` by a value of the column in front of it.
fn filled(text: &str) -> String {
    let mut parts = text.split('?');
    let mut sql = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let value = if sql.trim_end().ends_with('<') { BELOW } else { value_of(column(&sql)) };
        sql.push_str(value);
        sql.push_str(part);
    }
    sql
}

/// The last name in front of an operator.
fn column(sql: &str) -> &str {
    let is_name = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
    let name = sql.trim_end_matches(|letter| !is_name(letter));
    &name[name.rfind(|letter| !is_name(letter)).map_or(0, |at| at + 1)..]
}

fn value_of(column: &str) -> &'static str {
    TEXTS.iter().find(|(name, _)| *name == column).map_or("1", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_one_of_its_column() {
        let check = |text: &str, expected: &str| assert_eq!(filled(text), expected);
        check(
            "SELECT c_id FROM customer WHERE c_w_id = ? AND c_last = ?",
            "SELECT c_id FROM customer WHERE c_w_id = 1 AND c_last = 'BARBARBAR'",
        );
        check(
            "UPDATE t SET a = a - ?, ol_delivery_d = ? WHERE o >= ? AND o < ?",
            "UPDATE t SET a = a - 1, ol_delivery_d = '2011-01-01 00:00:00' WHERE o >= 1 AND o < 20",
        );
    }

    #[test]
    fn a_dialect_has_its_own_statements_and_each_once() {
        for (dialect, has, lacks) in [
            (Dialect::MySql, "show-warehouse", "look-for-orders"),
            (Dialect::Postgres, "look-for-orders", "show-warehouse"),
            (Dialect::Sqlite, "customer-of-order", "look-for-orders"),
        ] {
            let statements = statements(dialect);
            let mut names: Vec<&str> = statements.iter().map(|statement| statement.name.as_str()).collect();
            assert!(names.contains(&has) && !names.contains(&lacks), "{names:?}");
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
            assert!(statements.iter().all(|one| !one.sql.contains('?') && !one.sql.contains("s_dist_xx")));
        }
    }
}
