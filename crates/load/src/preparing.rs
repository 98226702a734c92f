//! How many statements a client prepares, known before there is a server.

use std::cell::Cell;
use std::rc::Rc;

use driver::{Answer, Connection, Dialect, Error, Rows, Statement, Value};

/// How the statements of a workload's clients travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparing {
    /// Not known before its clients run.
    Unknown,
    /// No statement is prepared under a name.
    Nothing,
    /// So many statements of each client are; with this option and one of its values none would be.
    Statements { each: u64, option: &'static str, instead: &'static [&'static str] },
}

impl Preparing {
    /// As many as `prepare` gives the connection that it gets.
    pub fn counted<T>(
        dialect: Dialect,
        (option, instead): (&'static str, &'static [&'static str]),
        prepare: impl FnOnce(Counted) -> Result<T, Error>,
    ) -> Preparing {
        let count = Rc::new(Cell::new(0));
        match prepare(Counted { dialect, count: Rc::clone(&count) }) {
            Ok(_) => Preparing::Statements { each: count.get(), option, instead },
            Err(_) => Preparing::Unknown,
        }
    }
}

/// A connection to nowhere that counts what is prepared on it.
pub struct Counted {
    dialect: Dialect,
    count: Rc<Cell<u64>>,
}

fn nowhere<T>() -> Result<T, Error> {
    Err(Error::lost("this connection only counts statements"))
}

impl Connection for Counted {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        self.count.set(self.count.get() + 1);
        Ok(Statement::numbered(self.count.get() as usize - 1))
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        nowhere()
    }

    async fn fetch(&mut self, _: Statement, _: &[Value<'_>], _: &mut Rows) -> Result<Answer, Error> {
        nowhere()
    }

    async fn query(&mut self, _: &str) -> Result<Answer, Error> {
        nowhere()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_prepares_is_counted_without_a_server() {
        let unprepared: (&str, &[&str]) = ("protocol", &["simple"]);
        let three = |mut connection: Counted| {
            (0..3).try_for_each(|_| connection.prepare("SELECT 1").map(drop))?;
            assert_eq!(connection.dialect(), Dialect::Postgres);
            Ok(())
        };
        let expected = Preparing::Statements { each: 3, option: "protocol", instead: &["simple"] };
        assert_eq!(Preparing::counted(Dialect::Postgres, unprepared, three), expected);
        let asks = |mut connection: Counted| driver::complete(connection.query("SELECT 1"));
        assert_eq!(Preparing::counted(Dialect::Postgres, unprepared, asks), Preparing::Unknown);
    }
}
