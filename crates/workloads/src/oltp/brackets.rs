//! What opens and closes a transaction, also where the storage engine has none.
//!
//! sysbench 0.4 locks the table then, so that what a request reads and writes stays together.

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

/// The two statements.
pub struct BracketTexts {
    pub open: String,
    pub close: String,
}

/// MySQL's and MariaDB's engines, of all times, with transactions.
pub const TRANSACTIONAL: [&str; 8] =
    ["innodb", "ndbcluster", "berkeleydb", "bdb", "falcon", "pbxt", "tokudb", "rocksdb"];

#[cfg(test)]
mod tests {
    use super::super::tests::{oltp, text};
    use driver::Dialect;
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
