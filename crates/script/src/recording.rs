//! A connection that notes what a client sends as text. Another one may stand behind it; without one nothing is run, and
//! answers have no rows.

use driver::{Answer, AnyConnection, Connection, Dialect, Error, Rows, Statement, Value};

use crate::try_out::Undoing;

/// Notes what is sent, and passes it on where there is a server.
pub struct Recording {
    dialect: Dialect,
    pub sent: Vec<String>,
    pub(crate) server: Option<Undoing<AnyConnection>>,
}

impl Recording {
    pub fn new(dialect: Dialect) -> Recording {
        Recording { dialect, sent: Vec::new(), server: None }
    }

    pub(crate) fn before(connection: AnyConnection) -> Recording {
        let dialect = connection.dialect();
        Recording { server: Some(Undoing::new(connection)), ..Recording::new(dialect) }
    }
}

fn prepares_nothing() -> Error {
    Error::Client("nothing is prepared here".to_owned())
}

impl Connection for Recording {
    fn dialect(&self) -> Dialect {
        self.dialect
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
        match &mut self.server {
            Some(server) => server.query(sql).await,
            None => Ok(Answer::default()),
        }
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        self.sent.push(sql.trim().to_owned());
        match &mut self.server {
            Some(server) => server.query_into(sql, rows).await,
            None => Ok(Answer::default()),
        }
    }
}
