//! The kinds of SQL, and where they differ for those who use a server.

/// The kinds of SQL that a server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    MySql,
    Postgres,
    Sqlite,
}

impl Dialect {
    pub const ALL: [Dialect; 3] = [Dialect::MySql, Dialect::Postgres, Dialect::Sqlite];

    /// As records have it.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::MySql => "mysql",
            Dialect::Postgres => "postgres",
            Dialect::Sqlite => "sqlite",
        }
    }

    /// Whether the server runs inside the client's process, on the client's threads.
    pub fn is_embedded(self) -> bool {
        self == Dialect::Sqlite
    }

    /// Whether its protocol can compress.
    pub fn can_compress(self) -> bool {
        self == Dialect::MySql
    }

    /// Whether a size without a unit is bytes in a setting; to others it is pages or kilobytes.
    pub fn bare_sizes_are_bytes(self) -> bool {
        self == Dialect::MySql
    }

    /// Files that one client has open: its socket, or the database with its log and the log's index.
    pub fn files_per_client(self) -> u64 {
        if self.is_embedded() { 3 } else { 1 }
    }

    /// The database for a session that needs none: PostgreSQL has no session outside a database, and this one is
    /// there by convention.
    pub fn maintenance_database(self) -> Option<&'static str> {
        (self == Dialect::Postgres).then_some("postgres")
    }

    /// A name in its quotes.
    pub fn quoted(self, name: &str) -> String {
        let quote = if self == Dialect::MySql { "`" } else { "\"" };
        format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)))
    }

    /// The end of a CREATE TABLE that names the storage engine, where there is a choice.
    pub fn table_options(self, engine: &str) -> String {
        if self == Dialect::MySql { format!(" ENGINE={engine}") } else { String::new() }
    }

    /// How a setting is written that is on, and one that is off.
    pub fn switch_words(self) -> (&'static str, &'static str) {
        match self {
            Dialect::MySql => ("ON", "OFF"),
            Dialect::Postgres | Dialect::Sqlite => ("on", "off"),
        }
    }

    /// How a transaction that will write is opened.
    ///
    /// SQLite takes its write lock at once: a deferred transaction that reads first and writes
    /// later fails with SQLITE_BUSY whenever another one wrote in between, and no waiting helps.
    pub fn begin_write(self) -> &'static str {
        match self {
            Dialect::Sqlite => "BEGIN IMMEDIATE",
            Dialect::MySql | Dialect::Postgres => "BEGIN",
        }
    }

    /// The `n`-th parameter (from 1) of a prepared statement.
    pub fn placeholder(self, n: usize) -> String {
        match self {
            Dialect::Postgres => format!("${n}"),
            Dialect::MySql | Dialect::Sqlite => "?".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_inside_a_name_is_doubled() {
        assert_eq!(Dialect::MySql.quoted("a`b"), "`a``b`");
        assert_eq!(Dialect::Postgres.quoted("a\"b"), "\"a\"\"b\"");
    }
}
