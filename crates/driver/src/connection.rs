//! One connection with prepared statements.

use std::time::Duration;

use crate::dialect::Dialect;
use crate::error::Error;
use crate::rows::{Part, Rows};

/// One parameter of a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    Int(i64),
    Text(&'a [u8]),
    /// An exact number of so many units of its last of `scale` places. SQLite, which has no exact decimals,
    /// gets the units.
    Decimal {
        units: i64,
        scale: u8,
    },
    Null,
}

/// A prepared statement of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement(pub(crate) usize);

impl Statement {
    /// For connections outside this crate: statements are numbered by their connection.
    pub fn numbered(number: usize) -> Statement {
        Statement(number)
    }

    pub fn number(self) -> usize {
        self.0
    }
}

/// What came back: enough to count and classify, which is all that most statements need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answer {
    pub rows: u64,
    /// Rows that were inserted, deleted or changed.
    pub affected: u64,
    /// Rows that an UPDATE found and that had its values already; only MySQL does not count them as affected.
    pub unchanged: u64,
    /// The statement returned columns, even if no row.
    pub returns_rows: bool,
    /// Warnings, and the number that the server gave to the first new row; only MySQL tells them.
    pub warnings: u16,
    pub new_key: u64,
}

impl Answer {
    /// Rows that a change found, whether it changed them or not.
    pub fn matched(&self) -> u64 {
        self.affected.wrapping_add(self.unchanged)
    }
}

/// One connection with prepared statements.
///
/// `execute`, `fetch`, `query` and `query_into` are the measured path: they must not allocate, and they complete at the
/// first poll when the connection blocks (until [`crate::AnyConnection::attach`]).
pub trait Connection {
    fn dialect(&self) -> Dialect;
    /// Belongs to the set-up, and always blocks.
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error>;
    /// A statement that is parsed at each execution, as many programs do that prepare nothing: unnamed in PostgreSQL;
    /// prepared and closed each time in MySQL and SQLite.
    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        let _ = sql;
        Err(Error::Protocol("this protocol has no statements that are parsed at each execution".to_owned()))
    }
    fn execute(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
    ) -> impl Future<Output = Result<Answer, Error>>;
    /// Executes, and fills `rows` with what comes back.
    fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<Answer, Error>>;
    fn query(&mut self, sql: &str) -> impl Future<Output = Result<Answer, Error>>;
    /// Runs a text as a client once sent it, in whatever character set that was.
    fn query_bytes(&mut self, sql: &[u8]) -> impl Future<Output = Result<Answer, Error>> {
        let _ = sql;
        std::future::ready(Err(Error::Protocol("this kind of connection takes no texts as bytes".to_owned())))
    }
    /// Runs a text, and fills `rows` with what comes back.
    fn query_into(&mut self, sql: &str, rows: &mut Rows) -> impl Future<Output = Result<Answer, Error>> {
        let _ = (sql, rows);
        std::future::ready(Err(Error::Protocol("this kind of connection gives no rows of a text".to_owned())))
    }
    /// The same of a text as a client once sent it.
    fn query_bytes_into(&mut self, sql: &[u8], rows: &mut Rows) -> impl Future<Output = Result<Answer, Error>> {
        let _ = (sql, rows);
        std::future::ready(Err(Error::Protocol("this kind of connection takes no texts as bytes".to_owned())))
    }
    /// Keeps an execution back, to be sent with others by [`Connection::send_queued`]. Only PostgreSQL's protocol has
    /// such pipelines.
    fn queue(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<(), Error> {
        let _ = (statement, parameters);
        Err(Error::Protocol("this protocol has no pipelines".to_owned()))
    }
    /// Sends what was kept back at once, and returns the sum of the answers.
    fn send_queued(&mut self) -> impl Future<Output = Result<Answer, Error>> {
        std::future::ready(Err(Error::Protocol("this protocol has no pipelines".to_owned())))
    }
    /// Forgets what was kept back.
    fn drop_queued(&mut self) {}
    /// Keeps a statement that is prepared by its first execution: in PostgreSQL's protocol without a round trip of its
    /// own, in MySQL's with one before it.
    fn prepare_at_first_use(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        let _ = sql;
        Err(Error::Protocol("this protocol prepares no statement by executing it".to_owned()))
    }
    /// Parses, binds and executes a statement without a name, and keeps nothing of it.
    fn execute_unnamed(&mut self, sql: &[u8], parameters: &[Value<'_>]) -> impl Future<Output = Result<Answer, Error>> {
        let _ = (sql, parameters);
        std::future::ready(Err(Error::Protocol("this protocol has no statements without a name".to_owned())))
    }
    /// The same, and fills `rows` with what comes back.
    fn fetch_unnamed(
        &mut self,
        sql: &[u8],
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> impl Future<Output = Result<Answer, Error>> {
        let _ = (sql, parameters, rows);
        std::future::ready(Err(Error::Protocol("this protocol has no statements without a name".to_owned())))
    }
    /// Forgets all prepared statements: those of a session that ends are none of the next one's.
    fn forget_statements(&mut self) {}
    /// Behind the last statement: fails when the server has sent something without a request, which would have been
    /// taken for the next answer.
    fn leave(&mut self) -> Result<(), Error> {
        Ok(())
    }
    /// Connects and logs in anew, prepares every statement again and keeps their numbers; a reactor or a
    /// closer of the old connection serves the new one. Blocks for up to `timeout` in each wait, since it
    /// is no statement; after a failure every statement is [`Error::Lost`] until a later attempt succeeds.
    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        let _ = timeout;
        Err(Error::lost("this kind of connection cannot be opened again"))
    }
}

/// Is shown the parts of an answer; without one, rows are only counted.
pub type OnPart<'a> = &'a mut dyn FnMut(Part<'_>);
