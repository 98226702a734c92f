//! One type for a connection of any protocol, so that workloads are compiled once.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::mysql::MySqlConnection;
use crate::postgres::PostgresConnection;
use crate::sqlite::SqliteConnection;
use crate::transport::{Canceller, Transport};
use crate::{Answer, Closer, Connection, Dialect, Endpoint, Error, Login, Reactor, Rows, Statement, Value};

pub enum AnyConnection {
    MySql(MySqlConnection),
    Postgres(PostgresConnection),
    Sqlite(SqliteConnection),
}

impl AnyConnection {
    /// `timeout` bounds the login as a whole, and each exchange of the set-up behind it; for SQLite it is the busy time-out, for good.
    pub fn connect(dialect: Dialect, endpoint: &Endpoint, login: &Login, timeout: Duration) -> Result<Self, Error> {
        Ok(match dialect {
            Dialect::MySql => AnyConnection::MySql(MySqlConnection::connect(endpoint, login, timeout)?),
            Dialect::Postgres => AnyConnection::Postgres(PostgresConnection::connect(endpoint, login, timeout)?),
            Dialect::Sqlite => AnyConnection::Sqlite(SqliteConnection::connect(endpoint, login, timeout)?),
        })
    }

    /// The socket, which another one replaces at a reconnect; `None` for a library that blocks.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.transport().map(Transport::descriptor)
    }

    /// Ends the set-up: answers are waited for in the kernel, for as long as they take.
    pub fn block(&mut self) -> Result<(), Error> {
        self.set_timeout(None)
    }

    /// Ends the set-up: futures are pending until `reactor` reports `token`, also after a reconnect. A
    /// library that blocks has nothing to attach, and blocks.
    pub fn attach(&mut self, reactor: &Arc<Reactor>, token: usize) -> Result<(), Error> {
        self.set_timeout(None)?;
        self.transport_mut().map_or(Ok(()), |transport| transport.attach(reactor, token))
    }

    /// How long one answer may take; a library that blocks has no such limit.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        self.transport_mut().into_iter().for_each(|transport| transport.set_limit(timeout));
        Ok(())
    }

    /// The rows of one query as text; `None` is NULL. Not for measured time: it keeps them all.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.rows(sql),
            AnyConnection::Postgres(connection) => connection.rows(sql),
            AnyConnection::Sqlite(connection) => connection.rows(sql),
        }
    }

    /// The rows of one query of the set-up, also when the connection is attached already.
    pub fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        let before = self.transport_mut().map(Transport::enter_set_up);
        let rows = self.rows(sql);
        if let (Some(transport), Some(before)) = (self.transport_mut(), before) {
            transport.leave_set_up(before);
        }
        rows
    }

    /// Whether futures wait for the reactor of an attached connection; without it they complete at their first poll.
    /// Returns what was before.
    pub fn set_polled(&mut self, polled: bool) -> bool {
        self.transport_mut().is_some_and(|transport| transport.set_polled(polled))
    }

    pub fn closer(&self) -> Closer {
        match self {
            AnyConnection::MySql(connection) => connection.transport().closer(),
            AnyConnection::Postgres(connection) => connection.transport().closer(),
            AnyConnection::Sqlite(connection) => connection.closer(),
        }
    }

    /// What ends a statement of the present session from outside; an engine inside this process has none.
    pub fn canceller(&self) -> Option<Canceller> {
        self.transport()?.canceller()
    }

    fn transport(&self) -> Option<&Transport> {
        match self {
            AnyConnection::MySql(connection) => Some(connection.transport()),
            AnyConnection::Postgres(connection) => Some(connection.transport()),
            AnyConnection::Sqlite(_) => None,
        }
    }

    fn transport_mut(&mut self) -> Option<&mut Transport> {
        match self {
            AnyConnection::MySql(connection) => Some(connection.transport_mut()),
            AnyConnection::Postgres(connection) => Some(connection.transport_mut()),
            AnyConnection::Sqlite(_) => None,
        }
    }
}

impl Connection for AnyConnection {
    fn dialect(&self) -> Dialect {
        match self {
            AnyConnection::MySql(_) => Dialect::MySql,
            AnyConnection::Postgres(_) => Dialect::Postgres,
            AnyConnection::Sqlite(_) => Dialect::Sqlite,
        }
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.prepare(sql),
            AnyConnection::Postgres(connection) => connection.prepare(sql),
            AnyConnection::Sqlite(connection) => connection.prepare(sql),
        }
    }

    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.prepare_each_time(sql),
            AnyConnection::Postgres(connection) => connection.prepare_each_time(sql),
            AnyConnection::Sqlite(connection) => connection.prepare_each_time(sql),
        }
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.execute(statement, parameters).await,
            AnyConnection::Postgres(connection) => connection.execute(statement, parameters).await,
            AnyConnection::Sqlite(connection) => connection.step(statement, parameters),
        }
    }

    async fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.fetch(statement, parameters, rows).await,
            AnyConnection::Postgres(connection) => connection.fetch(statement, parameters, rows).await,
            AnyConnection::Sqlite(connection) => connection.step_into(statement, parameters, rows),
        }
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.query(sql).await,
            AnyConnection::Postgres(connection) => connection.query(sql).await,
            AnyConnection::Sqlite(connection) => connection.query(sql).await,
        }
    }

    async fn query_bytes(&mut self, sql: &[u8]) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.query_bytes(sql).await,
            AnyConnection::Postgres(connection) => connection.query_bytes(sql).await,
            AnyConnection::Sqlite(connection) => connection.query_bytes(sql).await,
        }
    }

    fn prepare_at_first_use(&mut self, sql: &[u8]) -> Result<Statement, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.prepare_at_first_use(sql),
            AnyConnection::Postgres(connection) => connection.prepare_at_first_use(sql),
            AnyConnection::Sqlite(connection) => connection.prepare_at_first_use(sql),
        }
    }

    async fn execute_unnamed(&mut self, sql: &[u8], parameters: &[Value<'_>]) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.execute_unnamed(sql, parameters).await,
            AnyConnection::Postgres(connection) => connection.execute_unnamed(sql, parameters).await,
            AnyConnection::Sqlite(connection) => connection.execute_unnamed(sql, parameters).await,
        }
    }

    async fn fetch_unnamed(&mut self, sql: &[u8], parameters: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.fetch_unnamed(sql, parameters, rows).await,
            AnyConnection::Postgres(connection) => connection.fetch_unnamed(sql, parameters, rows).await,
            AnyConnection::Sqlite(connection) => connection.fetch_unnamed(sql, parameters, rows).await,
        }
    }

    fn forget_statements(&mut self) {
        match self {
            AnyConnection::MySql(connection) => connection.forget_statements(),
            AnyConnection::Postgres(connection) => connection.forget_statements(),
            AnyConnection::Sqlite(_) => {}
        }
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.query_into(sql, rows).await,
            AnyConnection::Postgres(connection) => connection.query_into(sql, rows).await,
            AnyConnection::Sqlite(connection) => connection.query_into(sql, rows).await,
        }
    }

    async fn query_bytes_into(&mut self, sql: &[u8], rows: &mut Rows) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.query_bytes_into(sql, rows).await,
            AnyConnection::Postgres(connection) => connection.query_bytes_into(sql, rows).await,
            AnyConnection::Sqlite(connection) => connection.query_bytes_into(sql, rows).await,
        }
    }

    fn queue(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<(), Error> {
        match self {
            AnyConnection::MySql(connection) => connection.queue(statement, parameters),
            AnyConnection::Postgres(connection) => connection.queue(statement, parameters),
            AnyConnection::Sqlite(connection) => connection.queue(statement, parameters),
        }
    }

    async fn send_queued(&mut self) -> Result<Answer, Error> {
        match self {
            AnyConnection::MySql(connection) => connection.send_queued().await,
            AnyConnection::Postgres(connection) => connection.send_queued().await,
            AnyConnection::Sqlite(connection) => connection.send_queued().await,
        }
    }

    fn drop_queued(&mut self) {
        if let AnyConnection::Postgres(connection) = self {
            connection.drop_queued();
        }
    }

    fn leave(&mut self) -> Result<(), Error> {
        match self {
            AnyConnection::MySql(connection) => connection.leave(),
            AnyConnection::Postgres(connection) => connection.leave(),
            AnyConnection::Sqlite(_) => Ok(()),
        }
    }

    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        match self {
            AnyConnection::MySql(connection) => connection.reconnect(timeout),
            AnyConnection::Postgres(connection) => connection.reconnect(timeout),
            AnyConnection::Sqlite(connection) => connection.reconnect(timeout),
        }
    }
}
