//! One SQLite connection behind the same trait as the wire protocols.

#![expect(unsafe_code, reason = "statements are kept beside the connection that they borrow from")]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, ffi};

use super::patience::{Patience, end_on_interruption};
use super::turns::{Turn, Turns};
use crate::closer::{Closer, Slot};
use crate::{Answer, Code, Connection, Dialect, Endpoint, Error, Form, Login, Rows, Statement, Tls, Value};

pub struct SqliteConnection {
    // Declared before `connection`, because fields are dropped in order and statements need it.
    statements: Vec<rusqlite::Statement<'static>>,
    connection: Box<rusqlite::Connection>,
    // Behind `connection`, which waits by it.
    patience: Option<Box<Patience>>,
    slot: Slot,
    /// What it takes to open the file again: where it is, how every connection opens, the statements.
    path: PathBuf,
    on_connect: Vec<String>,
    texts: Vec<Text>,
    /// Where it waits until it may write, for how long, and the turn while it has it.
    turns: Option<Arc<Turns>>,
    busy_timeout: Duration,
    turn: Option<Turn>,
}

/// A statement's text, and whether it is parsed at each execution.
#[derive(Clone)]
struct Text {
    sql: String,
    each_time: bool,
}

impl SqliteConnection {
    pub fn connect(endpoint: &Endpoint, login: &Login, busy_timeout: Duration) -> Result<SqliteConnection, Error> {
        let Endpoint::File(path) = endpoint else {
            return Err(Error::lost("SQLite opens files and knows no server"));
        };
        if login.tls != Tls::Off {
            return Err(Error::lost("SQLite has no connection to encrypt; leave tls off"));
        }
        let connection = open(path, busy_timeout)?;
        let connection = SqliteConnection {
            statements: Vec::new(),
            connection: Box::new(connection),
            patience: None,
            slot: Slot::default(),
            path: path.clone(),
            on_connect: login.on_connect.clone(),
            texts: Vec::new(),
            turns: Turns::of(path),
            busy_timeout,
            turn: None,
        };
        connection.begin()?;
        Ok(connection)
    }

    fn begin(&self) -> Result<(), Error> {
        self.slot.fill_sqlite(self.connection.get_interrupt_handle())?;
        self.on_connect.iter().try_for_each(|sql| self.run(sql).map(|_| ()))
    }

    /// For the set-up: an interruption of the program ends what runs here.
    pub(crate) fn end_on_interruption(&self) {
        end_on_interruption(&self.connection);
    }

    /// For the set-up: a wait for a lock also ends when the program is interrupted.
    pub(crate) fn heed_interruption(&mut self) {
        self.patience = Some(Patience::of(&self.connection, &self.path, self.busy_timeout));
    }

    pub fn closer(&self) -> Closer {
        Closer::of(&self.slot)
    }

    /// Runs one statement outside measured time; rows are thrown away.
    pub(crate) fn run(&self, sql: &str) -> Result<u64, Error> {
        self.slot.expect_open()?;
        let before = self.connection.total_changes();
        let mut statement = self.connection.prepare(sql).map_err(typed)?;
        step_through(&mut statement)?;
        Ok(changed(&self.connection, before))
    }

    pub(crate) fn rows(&self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        self.slot.expect_open()?;
        let mut statement = self.connection.prepare(sql).map_err(typed)?;
        let columns = statement.column_count();
        let mut found = statement.query([]).map_err(typed)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(typed)? {
            let text = |column| row.get_ref(column).map(text_of).map_err(typed);
            rows.push((0..columns).map(text).collect::<Result<_, _>>()?);
        }
        Ok(rows)
    }

    /// Shows the rows of a query, one by one.
    pub(crate) fn each_row(&self, sql: &str, on_row: &mut dyn FnMut(&Rows)) -> Result<(), Error> {
        self.slot.expect_open()?;
        let mut statement = self.connection.prepare(sql).map_err(typed)?;
        let mut found = statement.query([]).map_err(typed)?;
        let mut one = Rows::default();
        while let Some(row) = found.next().map_err(typed)? {
            one.clear();
            keep(row, &mut one)?;
            on_row(&one);
        }
        Ok(())
    }

    fn parsed(&self, sql: &str) -> Result<rusqlite::Statement<'static>, Error> {
        let statement = self.connection.prepare(sql).map_err(typed)?;
        // SAFETY: the statement borrows the boxed connection, which neither moves nor ends before
        // `statements` is dropped; nothing hands the statement out.
        Ok(unsafe { std::mem::transmute::<rusqlite::Statement<'_>, rusqlite::Statement<'static>>(statement) })
    }

    fn add(&mut self, sql: &str, each_time: bool) -> Result<Statement, Error> {
        let statement = self.parsed(sql)?;
        self.statements.push(statement);
        self.texts.push(Text { sql: sql.to_owned(), each_time });
        Ok(Statement(self.statements.len() - 1))
    }

    fn parse_each_time(&mut self, statement: Statement) -> Result<(), Error> {
        if let Some(text) = self.texts.get(statement.0).filter(|text| text.each_time) {
            let parsed = self.parsed(&text.sql)?;
            // There is none after a reconnect that failed.
            if let Some(place) = self.statements.get_mut(statement.0) {
                *place = parsed;
            }
        }
        Ok(())
    }

    /// What `execute` does; it never waits for an event loop.
    pub(crate) fn step(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        self.step_with(statement, parameters, &mut |_| Ok(()))
    }

    /// What `fetch` does.
    pub(crate) fn step_into(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        rows.clear();
        if let Some(prepared) = self.statements.get(statement.0).filter(|_| rows.keeps_names()) {
            keep_names(prepared, rows);
        }
        self.step_with(statement, parameters, &mut |row| keep(row, rows))
    }

    fn step_with(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        on_row: &mut dyn FnMut(&rusqlite::Row<'_>) -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        self.slot.expect_open()?;
        self.parse_each_time(statement)?;
        let writes = self.statements.get(statement.0).is_some_and(|statement| !statement.readonly());
        self.expect_turn(writes)?;
        let answer = self.run_prepared(statement, parameters, on_row);
        self.hand_on();
        answer
    }

    /// Whatever takes the lock to write waits for its turn; what is inside a transaction already has it, or never
    /// asked for it.
    fn expect_turn(&mut self, writes: bool) -> Result<(), Error> {
        let turns = self.turns.as_ref().filter(|_| writes && self.connection.is_autocommit());
        take_turn(turns, &mut self.turn, self.busy_timeout)
    }

    /// Lets the next one write, once no transaction is open.
    fn hand_on(&mut self) {
        if let (Some(turns), true) = (&self.turns, self.turn.is_some() && self.connection.is_autocommit())
            && let Some(turn) = self.turn.take()
        {
            turns.hand_on(turn);
        }
    }

    fn run_text(&mut self, sql: &str) -> Result<Answer, Error> {
        let SqliteConnection { connection, turns, turn, busy_timeout, .. } = self;
        let mut statement = connection.prepare(sql).map_err(typed)?;
        let (returns_rows, read_only) = (statement.column_count() > 0, statement.readonly());
        take_turn(turns.as_ref().filter(|_| !read_only && connection.is_autocommit()), turn, *busy_timeout)?;
        let before = connection.total_changes();
        let rows = step_through(&mut statement)?;
        let affected = changed(connection, before);
        Ok(Answer { rows, affected, returns_rows, ..Answer::default() })
    }

    fn run_prepared(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        on_row: &mut dyn FnMut(&rusqlite::Row<'_>) -> Result<(), Error>,
    ) -> Result<Answer, Error> {
        let statement = self.statements.get_mut(statement.0);
        let statement = statement.ok_or_else(|| Error::lost("there is no connection; reconnect first"))?;
        for (index, parameter) in parameters.iter().enumerate() {
            let value = match parameter {
                Value::Int(value) | Value::Decimal { units: value, .. } => ValueRef::Integer(*value),
                Value::Text(text) => ValueRef::Text(text),
                Value::Null => ValueRef::Null,
            };
            statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value)).map_err(typed)?;
        }
        let returns_rows = statement.column_count() > 0;
        let before = self.connection.total_changes();
        let mut rows = 0;
        let mut found = statement.raw_query();
        while let Some(row) = found.next().map_err(typed)? {
            rows += 1;
            on_row(row)?;
        }
        drop(found);
        let affected = changed(&self.connection, before);
        Ok(Answer { rows, affected, returns_rows, ..Answer::default() })
    }
}

impl Drop for SqliteConnection {
    /// What was open ends with the connection, in a moment; until then the next one meets SQLite's own time-out.
    fn drop(&mut self) {
        if let (Some(turns), Some(turn)) = (&self.turns, self.turn.take()) {
            turns.hand_on(turn);
        }
    }
}

/// Waits where writers queue, unless it has its turn already.
fn take_turn(turns: Option<&Arc<Turns>>, turn: &mut Option<Turn>, limit: Duration) -> Result<(), Error> {
    if let (Some(turns), None) = (turns, &turn) {
        *turn = Some(turns.take(limit).ok_or(Error::Retryable { code: Code::number(ffi::SQLITE_BUSY as u16) })?);
    }
    Ok(())
}

fn open(path: &Path, busy_timeout: Duration) -> Result<rusqlite::Connection, Error> {
    use rusqlite::OpenFlags;
    // Each connection stays on one thread, so SQLite's own mutex would be pure cost.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = rusqlite::Connection::open_with_flags(path, flags).map_err(typed)?;
    connection.busy_timeout(busy_timeout).map_err(typed)?;
    Ok(connection)
}

/// How many rows the last statement changed. SQLite's own count stays that of an earlier statement when one only reads
/// or defines.
fn changed(connection: &rusqlite::Connection, total_before: u64) -> u64 {
    if connection.total_changes() == total_before { 0 } else { connection.changes() }
}

fn step_through(statement: &mut rusqlite::Statement<'_>) -> Result<u64, Error> {
    let mut rows = 0;
    let mut found = statement.raw_query();
    while found.next().map_err(typed)?.is_some() {
        rows += 1;
    }
    Ok(rows)
}

fn keep_names(statement: &rusqlite::Statement<'_>, rows: &mut Rows) {
    if statement.column_count() > 0 && rows.keeps_names() {
        rows.begin_result();
        (0..statement.column_count())
            .filter_map(|column| statement.column_name(column).ok())
            .for_each(|name| rows.push_column(name.as_bytes(), Form::Plain));
    }
}

fn keep(row: &rusqlite::Row<'_>, rows: &mut Rows) -> Result<(), Error> {
    for column in 0..row.as_ref().column_count() {
        match row.get_ref(column).map_err(typed)? {
            ValueRef::Null => rows.push_null(),
            ValueRef::Integer(number) => rows.push_int(number),
            ValueRef::Text(text) | ValueRef::Blob(text) => rows.push_text(text),
            ValueRef::Real(number) => rows.push_double(number),
        }
    }
    rows.end_row()
}

fn text_of(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

fn typed(error: rusqlite::Error) -> Error {
    let rusqlite::Error::SqliteFailure(failure, message) = &error else {
        return Error::Refused { code: Code::new(b"1"), message: error.to_string() };
    };
    let code = Code::number(failure.extended_code.clamp(0, i32::from(u16::MAX)) as u16);
    match (failure.code, failure.extended_code) {
        (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Error::Retryable { code },
        (ErrorCode::OperationInterrupted, _) => Error::lost("interrupted"),
        (_, ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_UNIQUE) => Error::Duplicate { code },
        _ => Error::Refused { code, message: message.clone().unwrap_or_else(|| error.to_string()) },
    }
}

impl Connection for SqliteConnection {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.add(sql, false)
    }

    fn prepare_each_time(&mut self, sql: &str) -> Result<Statement, Error> {
        self.add(sql, true)
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        self.step(statement, parameters)
    }

    async fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        self.step_into(statement, parameters, rows)
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.slot.expect_open()?;
        let answer = self.run_text(sql);
        self.hand_on();
        answer
    }

    /// Each text is another one, so the cache of statements would only lose those that come again.
    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        self.slot.expect_open()?;
        rows.clear();
        let mut statement = self.connection.prepare(sql).map_err(typed)?;
        let returns_rows = statement.column_count() > 0;
        keep_names(&statement, rows);
        let (mut count, before) = (0, self.connection.total_changes());
        let mut found = statement.raw_query();
        while let Some(row) = found.next().map_err(typed)? {
            count += 1;
            keep(row, rows)?;
        }
        drop(found);
        let affected = changed(&self.connection, before);
        Ok(Answer { rows: count, affected, returns_rows, ..Answer::default() })
    }

    /// Opens the file again; `timeout` becomes the busy time-out, as it was at the first time.
    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        let connection = open(&self.path, timeout)?;
        self.busy_timeout = timeout;
        // Statements end before the connection they borrow.
        self.statements.clear();
        *self.connection = connection;
        self.hand_on();
        self.begin()?;
        for text in self.texts.clone() {
            let parsed = self.parsed(&text.sql)?;
            self.statements.push(parsed);
        }
        Ok(())
    }
}
