//! The one connection that a program works on: statements sent as text, one after the other.
//!
//! Answers are read to their last row and counted; values are decoded only where a program uses
//! them. Nothing here keeps time.

use std::fmt::{self, Write};
use std::time::Duration;

use driver::{Answer, AnyConnection, Connection, Dialect, Error, Statement, Value};

/// How long one step of connecting anew may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Session {
    connection: AnyConnection,
    /// The statement that is put together, in memory that is used again.
    text: String,
    /// Statements sent, connections opened and rows read since the beginning.
    seen: Seen,
    /// The first wrong answer since this was last asked.
    wrong: Option<String>,
    /// Queries, each once, while nothing is sent.
    noted: Option<Vec<String>>,
}

/// What went over the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    pub statements: u64,
    pub connections: u64,
    pub rows: u64,
}

impl Session {
    pub fn new(connection: AnyConnection) -> Session {
        Session { connection, text: String::new(), seen: Seen::default(), wrong: None, noted: None }
    }

    pub fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// Sends one statement and reads its whole answer. One that the server refuses counts as sent.
    pub fn run(&mut self, sql: &str) -> Result<Answer, Error> {
        if self.notes(sql) {
            return Ok(Answer::default());
        }
        self.seen.statements += 1;
        let answer = driver::complete(self.connection.query(sql))?;
        self.seen.rows += answer.rows;
        Ok(answer)
    }

    /// Puts one statement together and runs it.
    pub fn run_args(&mut self, sql: fmt::Arguments<'_>) -> Result<Answer, Error> {
        self.run_then(sql, |_, _, _| ())
    }

    /// Runs a query that has to find so many rows.
    pub fn run_for_rows(&mut self, rows: u64, sql: fmt::Arguments<'_>) -> Result<(), Error> {
        self.run_then(sql, |session, answer, sql| session.expect_rows(answer, rows, sql)).map(drop)
    }

    /// Runs a statement that has to insert, delete or find so many rows to change; some may be as they shall be.
    pub fn run_to_change(&mut self, rows: u64, sql: fmt::Arguments<'_>) -> Result<(), Error> {
        self.run_then(sql, |session, answer, sql| session.expect_matched(answer, rows, sql)).map(drop)
    }

    /// Runs a query that has to answer one row of these values.
    pub fn run_for_values(&mut self, values: &[u64], sql: fmt::Arguments<'_>) -> Result<(), Error> {
        let sql = sql.to_string();
        let rows = self.rows(&sql)?;
        let right = match rows.as_slice() {
            [row] => row.len() == values.len() && row.iter().zip(values).all(|(seen, value)| is_number(seen, *value)),
            _ => false,
        };
        self.expect(right, || format!("{} instead of {values:?} for `{}`", shown(&rows), excerpt(&sql)));
        Ok(())
    }

    fn run_then(
        &mut self,
        sql: fmt::Arguments<'_>,
        then: impl FnOnce(&mut Session, Answer, &str),
    ) -> Result<Answer, Error> {
        let mut text = std::mem::take(&mut self.text);
        text.clear();
        text.write_fmt(sql).expect("a text takes whatever is written");
        let answer = self.run(&text);
        if let Ok(answer) = answer {
            then(self, answer, &text);
        }
        self.text = text;
        answer
    }

    /// The values of one answer as text; `None` is NULL.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        if self.notes(sql) {
            return Ok(Vec::new());
        }
        self.seen.statements += 1;
        let rows = self.connection.rows(sql)?;
        self.seen.rows += rows.len() as u64;
        Ok(rows)
    }

    /// Prepared on the server; SQL with the dialect's placeholders.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.connection.prepare(sql)
    }

    pub fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        if self.noted.is_some() {
            return Ok(Answer::default());
        }
        self.seen.statements += 1;
        let answer = driver::complete(self.connection.execute(statement, parameters))?;
        self.seen.rows += answer.rows;
        Ok(answer)
    }

    /// From here on nothing is sent.
    pub fn note(&mut self) {
        self.noted = Some(Vec::new());
    }

    /// The queries that would have been sent since [`Session::note`].
    pub fn noted(&mut self) -> Vec<String> {
        self.wrong = None;
        self.noted.take().unwrap_or_default()
    }

    fn notes(&mut self, sql: &str) -> bool {
        let Some(noted) = &mut self.noted else { return false };
        if sql.starts_with("select") && !noted.iter().any(|one| one == sql) {
            noted.push(sql.to_owned());
        }
        true
    }

    /// Ends the connection and opens another one.
    pub fn reconnect(&mut self) -> Result<(), Error> {
        if self.noted.is_some() {
            return Ok(());
        }
        self.seen.connections += 1;
        self.connection.reconnect(CONNECT_TIMEOUT)?;
        self.connection.block()
    }

    /// Notes an answer that is not what it has to be. The first one is kept, and marks the operation.
    pub fn expect(&mut self, right: bool, what: impl FnOnce() -> String) {
        if !right && self.wrong.is_none() {
            self.wrong = Some(what());
        }
    }

    /// Notes an answer with another number of rows, for the statement that `sql` shows.
    pub fn expect_rows(&mut self, answer: Answer, rows: u64, sql: &str) {
        self.expect(answer.rows == rows, || format!("{} rows instead of {rows} for `{}`", answer.rows, excerpt(sql)));
    }

    /// Notes a change that found another number of rows.
    pub fn expect_matched(&mut self, answer: Answer, rows: u64, sql: &str) {
        self.expect(answer.matched() == rows, || {
            format!("{} rows matched instead of {rows} by `{}`", answer.matched(), excerpt(sql))
        });
    }

    pub fn take_wrong(&mut self) -> Option<String> {
        self.wrong.take()
    }
}

fn is_number(seen: &Option<String>, value: u64) -> bool {
    seen.as_deref().and_then(|text| text.parse().ok()) == Some(value)
}

/// One row as a list of its values, for a message.
fn shown(rows: &[Vec<Option<String>>]) -> String {
    let value = |value: &Option<String>| value.as_deref().unwrap_or("NULL").to_owned();
    match rows {
        [row] => format!("[{}]", row.iter().map(value).collect::<Vec<_>>().join(", ")),
        _ => format!("{} rows", rows.len()),
    }
}

/// The beginning of a statement, for a message.
pub fn excerpt(sql: &str) -> String {
    const CHARACTERS_MAX: usize = 120;
    let mut characters = sql.chars();
    let beginning: String = characters.by_ref().take(CHARACTERS_MAX).collect();
    if characters.next().is_some() { format!("{beginning}…") } else { beginning }
}

#[cfg(test)]
mod tests {
    use driver::{Endpoint, Login};

    use super::*;

    /// What is wrong after `ask`, with a table `t` of the numbers 1 and 2.
    fn wrong_after(ask: impl FnOnce(&mut Session) -> Result<(), Error>) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let file = Endpoint::File(folder.path().join("bench.db"));
        let connection = AnyConnection::connect(Dialect::Sqlite, &file, &Login::default(), CONNECT_TIMEOUT).unwrap();
        let mut session = Session::new(connection);
        session.run("create table t (a integer)").unwrap();
        session.run("insert into t values (1), (2)").unwrap();
        ask(&mut session).unwrap();
        session.take_wrong()
    }

    #[test]
    fn an_answer_that_is_expected_is_not_wrong() {
        let wrong = wrong_after(|session| {
            session.run_for_rows(2, format_args!("select a from t"))?;
            session.run_for_values(&[2, 3], format_args!("select count(*),sum(a) from t"))?;
            session.run_to_change(2, format_args!("update t set a=a"))?;
            session.run_to_change(1, format_args!("delete from t where a={}", 1))
        });
        assert_eq!(wrong, None);
    }

    #[test]
    fn a_wrong_answer_is_reported_with_its_statement() {
        let wrong = wrong_after(|session| session.run_for_rows(3, format_args!("select a from t")));
        assert_eq!(wrong.as_deref(), Some("2 rows instead of 3 for `select a from t`"));
        let wrong = wrong_after(|session| session.run_to_change(1, format_args!("delete from t")));
        assert_eq!(wrong.as_deref(), Some("2 rows matched instead of 1 by `delete from t`"));
    }

    #[test]
    fn wrong_values_are_shown() {
        let check = |sql: &str, expected: &str| {
            let wrong = wrong_after(|session| session.run_for_values(&[3], format_args!("{sql}")));
            assert_eq!(wrong, Some(format!("{expected} instead of [3] for `{sql}`")));
        };
        check("select max(a) from t", "[2]");
        check("select sum(a), null from t", "[3, NULL]");
        check("select a from t", "2 rows");
    }
}
