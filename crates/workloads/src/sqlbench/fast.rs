//! What `fast` adds to a program: rows packed into long statements, loops of changes under one lock or in
//! one transaction, and a table put in order behind them.

use driver::{Dialect, Error};

use super::bench::{Bench, Operation, Stop};
use super::packing::pack;

impl Bench<'_> {
    /// Whether inserts take as many rows as there is room for.
    pub fn packs_inserts(&self) -> bool {
        self.is_fast() && self.limits.insert_multi_value
    }

    /// Times the inserts of `rows`, each with its brackets, packed; `count` is what they are reported as.
    pub fn insert_packed(
        &mut self,
        name: &'static str,
        table: &'static str,
        count: u64,
        rows: impl Iterator<Item = String>,
    ) -> Result<(), Stop> {
        let statements = pack(&format!("insert into {table} values "), rows, self.limits.query_size);
        let operation = Operation::changes(name, count, statements.len() as u64).batched(table);
        self.time(operation, |session, i| {
            let packed = &statements[i as usize];
            session.run_to_change(packed.rows, format_args!("{}", packed.sql))
        })
    }

    /// Puts a table in order after many changes, where the server leaves that to its users. It is an operation
    /// of its own, outside the others.
    pub fn book_keeping(&mut self, table: &str) -> Result<(), Stop> {
        let sql = match self.dialect() {
            Dialect::MySql => format!("optimize table {table}"),
            Dialect::Postgres => format!("vacuum analyze {table}"),
            Dialect::Sqlite => return Ok(()),
        };
        if !self.options.fast {
            return Ok(());
        }
        self.time(Operation::changes("book-keeping", 1, 1), |session, _| session.run(&sql).map(drop))
    }

    /// Before a batch of changes, and before its time begins. A lock keeps what is locked through a commit,
    /// so that MySQL has both.
    pub(super) fn begin_batch(&mut self, table: &str) -> Result<(), Stop> {
        let limits = self.limits;
        match self.dialect() {
            Dialect::MySql => {
                if limits.transactions {
                    self.set_up("set autocommit=0")?;
                }
                if limits.lock_tables {
                    self.set_up(&format!("lock tables {table} write"))?;
                }
            }
            dialect if limits.transactions => self.set_up(dialect.begin_write()).map(drop)?,
            _ => {}
        }
        Ok(())
    }

    /// In the time of the batch: what it changed is to last.
    pub(super) fn commit_batch(&mut self) -> Result<(), Error> {
        if self.limits.transactions { self.session.run("commit").map(drop) } else { Ok(()) }
    }

    /// After the batch and its time. One that the server refused a statement of is taken back.
    pub(super) fn end_batch(&mut self, refused: bool) -> Result<(), Stop> {
        let limits = self.limits;
        if refused && limits.transactions {
            self.set_up("rollback")?;
        }
        if self.dialect() == Dialect::MySql {
            if limits.lock_tables {
                self.set_up("unlock tables")?;
            }
            if limits.transactions {
                self.set_up("set autocommit=1")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use driver::{AnyConnection, Endpoint, Login};

    use super::*;
    use crate::sqlbench::options::{OPTIONS, SqlBench};
    use crate::sqlbench::session::Session;
    use load::{OptionValue, Options};

    /// How many rows are in a table after three inserts in a batch, the last by `sql`.
    fn rows_after(sql: &str) -> u64 {
        let folder = tempfile::tempdir().unwrap();
        let file = Endpoint::File(folder.path().join("bench.db"));
        let timeout = Duration::from_secs(1);
        let connection = AnyConnection::connect(Dialect::Sqlite, &file, &Login::default(), timeout).unwrap();
        let given = BTreeMap::from([("fast".to_owned(), OptionValue::Flag(true))]);
        let options = SqlBench::new(&Options::new(OPTIONS, &given).unwrap()).unwrap();
        let mut session = Session::new(connection);
        let mut bench = Bench::new(&options, &mut session, None);
        bench.set_up("create table t (a integer)").unwrap();
        let statements = ["insert into t values (1)", "insert into t values (2)", sql];
        let operation = Operation::changes("insert", 3, 3).batched("t");
        bench.time(operation, |session, i| session.run(statements[i as usize]).map(drop)).unwrap();
        // Refused by a server whose transaction is still open.
        bench.set_up("vacuum").unwrap();
        bench.set_up("select a from t").unwrap().rows
    }

    #[test]
    fn a_batch_is_committed_as_a_whole_or_taken_back() {
        assert_eq!(rows_after("insert into t values (3)"), 3);
        assert_eq!(rows_after("insert into nowhere values (3)"), 0);
    }
}
