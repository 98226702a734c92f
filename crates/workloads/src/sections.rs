//! Files of SQL: statements behind lines that name them, and the dialects they are for.
//!
//! ```text
//! -- lock-district mysql postgres
//! SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE
//! ```
//!
//! A name without dialects is for all of them. A name may come several times, for different dialects.

use driver::Dialect;

/// The text of a section.
pub fn section(file: &'static str, name: &str, dialect: Dialect) -> &'static str {
    find(file, name, dialect).expect("every section that is asked for stands in its file")
}

/// The same, where a dialect may do without.
pub fn find(file: &'static str, name: &str, dialect: Dialect) -> Option<&'static str> {
    let fits = |header: &str| header.split_whitespace().next() == Some(name) && is_for(header, dialect);
    sections(file).find(|(header, _)| fits(header)).map(|(_, body)| body)
}

/// Whether a section with this header is for a dialect.
pub fn is_for(header: &str, dialect: Dialect) -> bool {
    let word = match dialect {
        Dialect::MySql => "mysql",
        Dialect::Postgres => "postgres",
        Dialect::Sqlite => "sqlite",
    };
    let mut dialects = header.split_whitespace().skip(1).peekable();
    dialects.peek().is_none() || dialects.any(|known| known == word)
}

/// A section of a file whose names stand for all dialects.
pub fn named(file: &'static str, name: &str) -> &'static str {
    let mut sections = sections(file);
    let (_, body) = sections.find(|(header, _)| *header == name).expect("every section that is asked for is there");
    body
}

/// What stands behind each `-- `, and the text below it.
pub fn sections(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = file.strip_prefix("-- ").into_iter().flat_map(|file| file.split("\n-- "));
    parts.filter_map(|part| part.split_once('\n')).map(|(header, body)| (header, body.trim_end()))
}

/// A statement as it is prepared: each `?` in the dialect's form.
pub fn prepared(text: &str, dialect: Dialect) -> String {
    let mut parts = text.split('?');
    let mut sql = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        sql.push_str(&dialect.placeholder(index + 1));
        sql.push_str(part);
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- one\nSELECT 1\n-- two mysql\nSELECT ?, ?\n-- two postgres sqlite\nSELECT\n  ?\n";

    #[test]
    fn a_section_is_found_by_its_name_and_dialect() {
        let check = |name, dialect, expected| assert_eq!(find(FILE, name, dialect), expected);
        check("one", Dialect::Sqlite, Some("SELECT 1"));
        check("two", Dialect::MySql, Some("SELECT ?, ?"));
        check("two", Dialect::Sqlite, Some("SELECT\n  ?"));
        check("three", Dialect::MySql, None);
    }

    #[test]
    fn values_get_the_dialect_s_places() {
        assert_eq!(prepared("SELECT ?, ? + 1", Dialect::Postgres), "SELECT $1, $2 + 1");
        assert_eq!(prepared("SELECT ?, ? + 1", Dialect::MySql), "SELECT ?, ? + 1");
    }
}
