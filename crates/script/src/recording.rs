//! A connection that notes what a client sends as text, in front of another one or of none: then nothing is run, and
//! answers have no rows.

use driver::{Answer, Connection, Dialect, Error, Rows, Statement, Value};

/// Notes what is sent, and passes it on.
pub struct Recording<C = Nothing> {
    connection: C,
    pub sent: Vec<String>,
}

impl Recording {
    pub fn new(dialect: Dialect) -> Recording {
        Recording::of(Nothing(dialect))
    }
}

impl<C: Connection> Recording<C> {
    pub(crate) fn of(connection: C) -> Recording<C> {
        Recording { connection, sent: Vec::new() }
    }

    pub(crate) fn behind(&mut self) -> &mut C {
        &mut self.connection
    }
}

fn prepares_nothing() -> Error {
    Error::Client("nothing is prepared here".to_owned())
}

impl<C: Connection> Connection for Recording<C> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        Err(prepares_nothing())
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        Err(prepares_nothing())
    }

    async fn fetch(&mut self, _: Statement, _: &[Value<'_>], _: &mut Rows) -> Result<Answer, Error> {
        Err(prepares_nothing())
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.sent.push(sql.trim().to_owned());
        self.connection.query(sql).await
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        self.sent.push(sql.trim().to_owned());
        self.connection.query_into(sql, rows).await
    }
}

/// No server: every statement is answered without rows.
pub struct Nothing(pub(crate) Dialect);

impl Connection for Nothing {
    fn dialect(&self) -> Dialect {
        self.0
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        Err(prepares_nothing())
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        Err(prepares_nothing())
    }

    async fn fetch(&mut self, _: Statement, _: &[Value<'_>], _: &mut Rows) -> Result<Answer, Error> {
        Err(prepares_nothing())
    }

    async fn query(&mut self, _: &str) -> Result<Answer, Error> {
        Ok(Answer::default())
    }

    async fn query_into(&mut self, _: &str, _: &mut Rows) -> Result<Answer, Error> {
        Ok(Answer::default())
    }
}
