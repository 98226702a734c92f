//! A connection that runs nothing: it notes what a client sends, and answers without rows.

use driver::{Answer, Connection, Dialect, Error, Rows, Statement, Value};

/// Notes what is sent as text.
pub struct Recording {
    dialect: Dialect,
    pub sent: Vec<String>,
}

impl Recording {
    pub fn new(dialect: Dialect) -> Recording {
        Recording { dialect, sent: Vec::new() }
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
        Ok(Answer::default())
    }

    async fn query_into(&mut self, sql: &str, _: &mut Rows) -> Result<Answer, Error> {
        self.query(sql).await
    }
}
