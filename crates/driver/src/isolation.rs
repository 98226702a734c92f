//! Isolation levels: how a session asks for one, and which it has.

use crate::{Admin, Dialect, Error};

/// The four levels of the SQL standard, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    pub const ALL: [Isolation; 4] =
        [Isolation::ReadUncommitted, Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

    /// As in the standard, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// Reads the standard's names, and MySQL's with hyphens.
    pub fn parse(text: &str) -> Option<Isolation> {
        let name = text.to_lowercase().replace(['-', '_'], " ");
        Isolation::ALL.into_iter().find(|level| level.as_str() == name)
    }
}

impl Dialect {
    /// What a new session runs so that its transactions have this level; nothing where they have it anyway.
    ///
    /// The error gives the reason a server of this dialect cannot give it. PostgreSQL takes the weakest level and
    /// means the next one, so asking for it would report what is not so.
    pub fn isolation_sql(self, level: Isolation) -> Result<Option<String>, &'static str> {
        match (self, level) {
            (Dialect::Sqlite, Isolation::Serializable) => Ok(None),
            (Dialect::Sqlite, _) => Err("SQLite's transactions are serializable, always"),
            (Dialect::Postgres, Isolation::ReadUncommitted) => {
                Err("PostgreSQL has no level below read committed; it would take the word and not the level")
            }
            (Dialect::Postgres, level) => {
                Ok(Some(format!("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {}", level.as_str())))
            }
            (Dialect::MySql, level) => {
                Ok(Some(format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", level.as_str().to_uppercase())))
            }
        }
    }
}

impl Admin {
    /// The level that this session's transactions have.
    pub fn isolation(&mut self) -> Result<Isolation, Error> {
        let name = match self.dialect() {
            Dialect::Sqlite => return Ok(Isolation::Serializable),
            Dialect::Postgres => self.value("SHOW transaction_isolation")?,
            // `tx_isolation` in old servers, `transaction_isolation` in new ones, both in between.
            Dialect::MySql => {
                let rows = self.rows("SHOW VARIABLES LIKE 't%isolation'")?;
                rows.into_iter().next().and_then(|row| row.into_iter().nth(1).flatten())
            }
        };
        let level = name.as_deref().and_then(Isolation::parse);
        level.ok_or_else(|| Error::Protocol(format!("{} is no isolation level", name.as_deref().unwrap_or("nothing"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_in_the_standard_s_and_in_mysql_s_spelling() {
        for level in Isolation::ALL {
            assert_eq!(Isolation::parse(level.as_str()), Some(level));
        }
        assert_eq!(Isolation::parse("READ-COMMITTED"), Some(Isolation::ReadCommitted));
        assert_eq!(Isolation::parse("snapshot"), None);
    }

    #[test]
    fn a_session_sets_its_level_in_its_dialect_or_gets_the_reason() {
        let check = |dialect: Dialect, level, expected: Result<Option<&str>, ()>| {
            let sql = dialect.isolation_sql(level);
            assert_eq!(sql.as_ref().map(|sql| sql.as_deref()).map_err(|_| ()), expected);
        };
        let read_committed = Isolation::ReadCommitted;
        check(Dialect::MySql, read_committed, Ok(Some("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")));
        check(
            Dialect::Postgres,
            Isolation::Serializable,
            Ok(Some("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL serializable")),
        );
        check(Dialect::Postgres, Isolation::ReadUncommitted, Err(()));
        check(Dialect::Sqlite, Isolation::Serializable, Ok(None));
        check(Dialect::Sqlite, read_committed, Err(()));
    }
}
