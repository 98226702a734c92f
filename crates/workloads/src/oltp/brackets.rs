//! What opens and closes a transaction, also where the storage engine has none.
//!
//! sysbench 0.4 locks the table then, so that what a request reads and writes stays together.

use driver::{Dialect, Error};

use super::script::Oltp;
use super::sql::Statements;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Brackets {
    /// BEGIN and COMMIT.
    #[default]
    Transaction,
    /// LOCK TABLES and UNLOCK TABLES.
    Locks,
    /// The one or the other, as the table's engine needs it.
    ByEngine,
}

type TextRows = Vec<Vec<Option<String>>>;

/// The two statements.
pub struct BracketTexts {
    pub open: String,
    pub close: String,
}

/// MySQL's and MariaDB's engines, of all times, with transactions.
pub const TRANSACTIONAL: [&str; 8] =
    ["innodb", "ndbcluster", "berkeleydb", "bdb", "falcon", "pbxt", "tokudb", "rocksdb"];

impl Oltp {
    /// `Brackets::ByEngine` decided by the table that is there; `ask` runs a query on the server.
    pub fn brackets(
        &self,
        dialect: Dialect,
        ask: impl FnOnce(&str) -> Result<TextRows, Error>,
    ) -> Result<Brackets, Error> {
        let chosen = self.classic.brackets;
        if dialect != Dialect::MySql || !self.transaction() {
            return Ok(Brackets::Transaction);
        }
        if chosen != Brackets::ByEngine {
            return Ok(chosen);
        }
        let name = self.schema.table_name(0);
        let status = ask(&format!("SHOW TABLE STATUS LIKE '{name}'"))?;
        // An underscore of the name stands for any letter in LIKE.
        let row = status.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name.as_str()));
        let engine = row.and_then(|row| row.get(1)?.as_deref()).unwrap_or_default().to_ascii_lowercase();
        let has_none = !engine.is_empty() && !TRANSACTIONAL.contains(&engine.as_str());
        Ok(if has_none { Brackets::Locks } else { Brackets::Transaction })
    }

    pub fn bracket_texts(&self, brackets: Brackets, dialect: Dialect) -> BracketTexts {
        let writes = self.changes_rows();
        if brackets != Brackets::Locks {
            let open = if writes { dialect.begin_write() } else { "BEGIN" };
            return BracketTexts { open: open.to_owned(), close: "COMMIT".to_owned() };
        }
        let (sql, name) = (Statements::of(self.schema.version), self.schema.table_name(0));
        let lock = if writes { "WRITE" } else { "READ" };
        BracketTexts {
            open: sql.text("lock-tables", &name).replace("{lock}", lock),
            close: sql.text("unlock-tables", &name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{oltp, text};
    use super::*;
    use load::OptionValue;

    #[test]
    fn the_table_s_engine_decides_between_transactions_and_locks() {
        let check = |options: &[(&str, OptionValue)], dialect, engine: Option<&str>, open: &str, close: &str| {
            let oltp = oltp("oltp", options);
            let cells = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
            let near = cells(["sbtesty", "InnoDB"]);
            let status = engine.map(|engine| cells(["sbtest", engine]));
            let ask = |_: &str| Ok(std::iter::once(near.clone()).chain(status.clone()).collect());
            let brackets = oltp.brackets(dialect, ask).unwrap();
            let texts = oltp.bracket_texts(brackets, dialect);
            assert_eq!((texts.open.as_str(), texts.close.as_str()), (open, close), "{options:?} {engine:?}");
        };
        let (mysql, locked) = (Dialect::MySql, "LOCK TABLES sbtest WRITE");
        check(&[], mysql, Some("InnoDB"), "BEGIN", "COMMIT");
        check(&[], mysql, Some("MyISAM"), locked, "UNLOCK TABLES");
        check(&[], mysql, None, "BEGIN", "COMMIT");
        check(
            &[("read_only", OptionValue::Flag(true))],
            mysql,
            Some("MEMORY"),
            "LOCK TABLES sbtest READ",
            "UNLOCK TABLES",
        );
        let trx = |word| [("mysql_engine_trx", text(word))];
        check(&trx("no"), mysql, Some("InnoDB"), locked, "UNLOCK TABLES");
        check(&trx("yes"), mysql, Some("MyISAM"), "BEGIN", "COMMIT");
        check(&trx("no"), Dialect::Postgres, None, "BEGIN", "COMMIT");
        check(&trx("no"), Dialect::Sqlite, None, "BEGIN IMMEDIATE", "COMMIT");
    }
}
