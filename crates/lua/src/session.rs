//! The connections of one Lua state, and how its statements are sent and counted.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use driver::{Answer, AnyConnection, Code, Connection, Dialect, Error, Rows, Statement, Value, complete};
use load::{Attempt, Dial, ErrorPolicy};

/// Longest wait for each step of a connection that a script opens again.
const RECONNECT_LIMIT: Duration = Duration::from_secs(5);
/// Parameters that most statements do with.
const PARAMETERS_FEW: usize = 16;

/// What a script may ask for, and what it has done.
pub struct Session {
    dial: Dial,
    dialect: Dialect,
    /// Opened for the script before it asked: its first connection.
    spare: Option<AnyConnection>,
    /// By the number that the script knows them by; None while a statement runs on one, and when it is closed.
    connections: Vec<Option<Box<Open>>>,
    /// Statements are sent as text, with their values written into them.
    pub as_text: bool,
    pub keeps_rows: bool,
    /// None outside of a load, where every error is final.
    pub policy: Option<Arc<ErrorPolicy>>,
    pub counted: Attempt,
    /// Where the script first bound a FLOAT or DOUBLE.
    pub real_parameter_at: Option<String>,
    /// The last error, and the connection it came on.
    pub failed: Option<(Error, usize)>,
}

/// What a statement brought.
pub enum Brought {
    Rows(u64, Option<Rows>),
    Nothing,
    Error(Refusal),
}

/// An error as scripts see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub errno: u32,
    pub state: String,
    pub message: String,
    /// The event is run again.
    pub restarts: bool,
}

pub type Shared = Rc<RefCell<Session>>;

impl Session {
    pub fn new(dial: Dial, spare: Option<AnyConnection>, dialect: Dialect) -> Session {
        Session {
            dial,
            spare,
            dialect,
            connections: Vec::new(),
            as_text: false,
            keeps_rows: false,
            policy: None,
            counted: Attempt::default(),
            real_parameter_at: None,
            failed: None,
        }
    }

    pub fn connect(&mut self) -> Result<usize, Error> {
        let connection = match self.spare.take() {
            Some(connection) => connection,
            None => self.dial.connect()?,
        };
        let open =
            Open { connection, as_text: self.as_text, statements: Vec::new(), texts: Vec::new(), held: Vec::new() };
        self.connections.push(Some(Box::new(open)));
        Ok(self.connections.len() - 1)
    }

    /// Closing what is closed is harmless.
    pub fn disconnect(&mut self, connection: usize) {
        if let Some(place) = self.connections.get_mut(connection) {
            *place = None;
        }
    }

    pub fn open(&mut self, connection: usize) -> Result<&mut Open, Error> {
        let place = self.connections.get_mut(connection).and_then(Option::as_deref_mut);
        place.ok_or_else(|| Error::Client("the connection is closed".to_owned()))
    }

    /// Takes a connection out for a statement, so that nothing is borrowed while it is waited for.
    pub fn take(&mut self, connection: usize) -> Result<Box<Open>, Error> {
        let place = self.connections.get_mut(connection).and_then(Option::take);
        place.ok_or_else(|| Error::Client("the connection is closed".to_owned()))
    }

    pub fn put(&mut self, connection: usize, open: Box<Open>) {
        self.connections[connection] = Some(open);
    }

    /// Has `end` called when the load cuts its clients off.
    pub fn when_cut_off(&self, end: impl Fn() + Send + 'static) {
        self.dial.when_cut_off(end);
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub fn reconnect(&mut self, connection: usize) -> Result<(), Error> {
        self.open(connection)?.connection.reconnect(RECONNECT_LIMIT)?;
        self.counted.reconnects += 1;
        Ok(())
    }

    /// The connection that the last error came on, or the first.
    pub fn last_failed(&mut self) -> Option<&mut AnyConnection> {
        let at = self.failed.as_ref().map_or(0, |(_, connection)| *connection);
        let open = self.connections.get_mut(at).and_then(Option::as_deref_mut).map(|open| &mut open.connection);
        open.or(self.spare.as_mut())
    }

    pub fn all(&mut self) -> impl Iterator<Item = &mut AnyConnection> {
        self.connections.iter_mut().flatten().map(|open| &mut open.connection).chain(self.spare.as_mut())
    }

    /// Counts by what came back, as sysbench 1.0 does.
    fn count(&mut self, answer: Answer) {
        match answer {
            Answer { returns_rows: true, .. } => self.counted.reads += 1,
            Answer { affected: 1.., .. } => self.counted.writes += 1,
            _ => self.counted.other += 1,
        }
    }

    pub fn refusal(&mut self, error: Error, connection: usize) -> Refusal {
        let restarts = self.policy.as_ref().is_some_and(|policy| !policy.is_fatal(&error));
        let refusal = Refusal { restarts, ..refusal(&error) };
        self.failed = Some((error, connection));
        refusal
    }
}

/// One statement of a script, on one of its connections.
pub enum Task {
    Query { connection: usize, sql: String },
    Execute { connection: usize, statement: usize },
}

impl Task {
    fn connection(&self) -> usize {
        match self {
            Task::Query { connection, .. } | Task::Execute { connection, .. } => *connection,
        }
    }
}

/// Runs a statement. The session is free meanwhile, but for the connection.
pub async fn perform(session: &Shared, task: &Task) -> Brought {
    let (at, keeps_rows) = (task.connection(), session.borrow().keeps_rows);
    let taken = session.borrow_mut().take(at);
    let mut open = match taken {
        Ok(open) => open,
        Err(error) => return Brought::Error(session.borrow_mut().refusal(error, at)),
    };
    let mut rows = keeps_rows.then(Rows::default);
    let answer = open.run(task, rows.as_mut()).await;
    let mut session = session.borrow_mut();
    session.put(at, open);
    match answer {
        Ok(answer) => {
            session.count(answer);
            if answer.returns_rows { Brought::Rows(answer.rows, rows) } else { Brought::Nothing }
        }
        Err(error) => Brought::Error(session.refusal(error, at)),
    }
}

/// The same without a suspension: the worker waits.
pub fn perform_blocking(session: &Shared, task: &Task) -> Brought {
    let at = task.connection();
    let polled = session.borrow_mut().open(at).ok().map(|open| open.connection.set_polled(false));
    let brought = complete(perform(session, task));
    if let (Some(polled), Ok(open)) = (polled, session.borrow_mut().open(at)) {
        open.connection.set_polled(polled);
    }
    brought
}

/// A connection with its prepared statements.
pub struct Open {
    pub connection: AnyConnection,
    as_text: bool,
    statements: Vec<Prepared>,
    /// The values of the statement under way; they keep their memory.
    texts: Vec<u8>,
    held: Vec<Held>,
}

struct Prepared {
    sql: String,
    form: Form,
    /// Closed ones are taken again for the same text.
    is_open: bool,
}

enum Form {
    Server(Statement),
    /// Pieces between which values are written.
    Text(Vec<String>),
}

/// A value that waits to be sent; texts lie in the connection's buffer.
#[derive(Debug, Clone, Copy)]
enum Held {
    Null,
    Int(i64),
    Text { start: usize, end: usize },
}

/// A value as a script gives it.
pub enum Given<'a> {
    Null,
    Int(i64),
    Number(f64),
    Text(&'a [u8]),
}

impl Open {
    pub fn prepare(&mut self, sql: &str) -> Result<usize, Error> {
        if let Some(at) = self.statements.iter().position(|known| !known.is_open && known.sql == sql) {
            self.statements[at].is_open = true;
            return Ok(at);
        }
        let pieces = pieces(sql);
        let form = match self.as_text {
            true => Form::Text(pieces),
            false => Form::Server(self.connection.prepare(&numbered(&pieces, self.connection.dialect()))?),
        };
        self.statements.push(Prepared { sql: sql.to_owned(), form, is_open: true });
        Ok(self.statements.len() - 1)
    }

    pub fn close(&mut self, statement: usize) {
        if let Some(known) = self.statements.get_mut(statement) {
            known.is_open = false;
        }
    }

    /// Holds the values for the next statement.
    pub fn hold<'a>(&mut self, values: impl Iterator<Item = Given<'a>>) {
        let Open { texts, held, .. } = self;
        texts.clear();
        held.clear();
        for value in values {
            held.push(match value {
                Given::Null => Held::Null,
                Given::Int(number) => Held::Int(number),
                Given::Number(number) => held_text(texts, number.to_string().as_bytes()),
                Given::Text(text) => held_text(texts, text),
            });
        }
    }

    async fn run(&mut self, task: &Task, rows: Option<&mut Rows>) -> Result<Answer, Error> {
        let statement = match task {
            Task::Query { sql, .. } => return query(&mut self.connection, sql, rows).await,
            Task::Execute { statement, .. } => *statement,
        };
        let Open { connection, statements, texts, held, .. } = self;
        let closed = || Error::Client("the statement is closed".to_owned());
        match &statements.get(statement).ok_or_else(closed)?.form {
            Form::Text(pieces) => {
                let sql = filled(pieces, held, texts, connection.dialect());
                query(connection, &sql, rows).await
            }
            Form::Server(statement) if held.len() <= PARAMETERS_FEW => {
                let mut values = [Value::Null; PARAMETERS_FEW];
                values.iter_mut().zip(&*held).for_each(|(value, held)| *value = held.value(texts));
                execute(connection, *statement, &values[..held.len()], rows).await
            }
            Form::Server(statement) => {
                let values: Vec<Value<'_>> = held.iter().map(|held| held.value(texts)).collect();
                execute(connection, *statement, &values, rows).await
            }
        }
    }
}

impl Held {
    fn value(self, texts: &[u8]) -> Value<'_> {
        match self {
            Held::Null => Value::Null,
            Held::Int(number) => Value::Int(number),
            Held::Text { start, end } => Value::Text(&texts[start..end]),
        }
    }
}

fn held_text(texts: &mut Vec<u8>, text: &[u8]) -> Held {
    let start = texts.len();
    texts.extend_from_slice(text);
    Held::Text { start, end: texts.len() }
}

async fn query(connection: &mut AnyConnection, sql: &str, rows: Option<&mut Rows>) -> Result<Answer, Error> {
    match rows {
        None => connection.query(sql).await,
        Some(rows) => connection.query_into(sql, rows).await,
    }
}

async fn execute(
    connection: &mut AnyConnection,
    statement: Statement,
    values: &[Value<'_>],
    rows: Option<&mut Rows>,
) -> Result<Answer, Error> {
    match rows {
        None => connection.execute(statement, values).await,
        Some(rows) => connection.fetch(statement, values, rows).await,
    }
}

/// A statement's text between its placeholders; a `?` inside quotes is none.
fn pieces(sql: &str) -> Vec<String> {
    let (mut pieces, mut quote) = (vec![String::new()], None);
    for letter in sql.chars() {
        match (letter, quote) {
            ('?', None) => {
                pieces.push(String::new());
                continue;
            }
            ('\'' | '"' | '`', None) => quote = Some(letter),
            (_, Some(open)) if open == letter => quote = None,
            _ => {}
        }
        pieces.last_mut().expect("there is a first piece").push(letter);
    }
    pieces
}

/// With the placeholders of the server's dialect.
fn numbered(pieces: &[String], dialect: Dialect) -> String {
    let mut sql = pieces[0].clone();
    for (at, piece) in pieces[1..].iter().enumerate() {
        sql.push_str(&dialect.placeholder(at + 1));
        sql.push_str(piece);
    }
    sql
}

/// With the values themselves; what has no value is NULL.
fn filled(pieces: &[String], held: &[Held], texts: &[u8], dialect: Dialect) -> String {
    let mut sql = pieces[0].clone();
    for (at, piece) in pieces[1..].iter().enumerate() {
        match held.get(at).copied().unwrap_or(Held::Null) {
            Held::Null => sql.push_str("NULL"),
            Held::Int(number) => sql.push_str(&number.to_string()),
            Held::Text { start, end } => {
                sql.push('\'');
                for letter in String::from_utf8_lossy(&texts[start..end]).chars() {
                    match letter {
                        '\'' => sql.push_str("''"),
                        '\\' if dialect == Dialect::MySql => sql.push_str("\\\\"),
                        other => sql.push(other),
                    }
                }
                sql.push('\'');
            }
        }
        sql.push_str(piece);
    }
    sql
}

/// The numbers and states that MySQL's manual gives to errors that scripts look for.
const STATES: [(u32, &str); 6] =
    [(1213, "40001"), (1062, "23000"), (1064, "42000"), (1146, "42S02"), (1054, "42S22"), (1045, "28000")];
/// CR_SERVER_LOST, by which sysbench's scripts know a lost connection.
const SERVER_LOST: u32 = 2013;

fn refusal(error: &Error) -> Refusal {
    let coded = |code: &Code| match code.as_str() {
        state if state.len() == 5 => (0, state.to_owned()),
        number => {
            let errno = number.parse().unwrap_or(0);
            let state = STATES.iter().find(|(known, _)| *known == errno).map_or("HY000", |(_, state)| state);
            (errno, state.to_owned())
        }
    };
    let ((errno, state), message) = match error {
        Error::Refused { code, message } => (coded(code), message.clone()),
        Error::Retryable { code } | Error::Duplicate { code } => (coded(code), error.to_string()),
        Error::Lost { .. } => ((SERVER_LOST, "HY000".to_owned()), error.to_string()),
        Error::Protocol(_) | Error::Client(_) => ((0, "HY000".to_owned()), error.to_string()),
    };
    Refusal { errno, state, message, restarts: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_outside_of_quotes_are_the_servers() {
        let check = |sql: &str, expected: &str| assert_eq!(numbered(&pieces(sql), Dialect::Postgres), expected);
        check("SELECT c FROM t WHERE id BETWEEN ? AND ?", "SELECT c FROM t WHERE id BETWEEN $1 AND $2");
        check("SELECT '?', \"?\" WHERE a = ?", "SELECT '?', \"?\" WHERE a = $1");
        check("SELECT 'it''s ?' WHERE a = ?", "SELECT 'it''s ?' WHERE a = $1");
        check("BEGIN", "BEGIN");
        assert_eq!(numbered(&pieces("a ? ?"), Dialect::MySql), "a ? ?");
    }

    #[test]
    fn values_are_written_into_texts_with_their_quotes() {
        let mut texts = Vec::new();
        let held = [Held::Int(-7), held_text(&mut texts, b"it's \\"), Held::Null];
        let check =
            |dialect, expected: &str| assert_eq!(filled(&pieces("f(?, ?, ?)"), &held, &texts, dialect), expected);
        check(Dialect::MySql, "f(-7, 'it''s \\\\', NULL)");
        check(Dialect::Postgres, "f(-7, 'it''s \\', NULL)");
    }

    #[test]
    fn errors_have_the_numbers_and_states_that_scripts_know() {
        let check = |error: Error, errno: u32, state: &str| {
            let found = refusal(&error);
            assert_eq!((found.errno, found.state.as_str()), (errno, state), "{error:?}");
        };
        check(Error::Retryable { code: Code::number(1213) }, 1213, "40001");
        check(Error::Duplicate { code: Code::new(b"23505") }, 0, "23505");
        check(Error::Refused { code: Code::number(1146), message: "no".to_owned() }, 1146, "42S02");
        check(Error::lost("gone"), 2013, "HY000");
    }
}
