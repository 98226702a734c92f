//! A blocking session for everything that is not measured: administration, checks, bulk loading.

use std::time::Duration;

use crate::transport::complete;
use crate::{AnyConnection, Closer, Connection, Dialect, Endpoint, Error, Login, Value};

/// Takes one row at a time; what a generator of rows is given.
pub type RowSink<'a> = dyn FnMut(&[Value<'_>]) -> Result<(), Error> + 'a;

pub struct Admin {
    connection: AnyConnection,
}

impl Admin {
    /// Connects; no single statement may take longer than `timeout` unless [`Admin::set_timeout`] says so.
    pub fn connect(dialect: Dialect, endpoint: &Endpoint, login: &Login, timeout: Duration) -> Result<Admin, Error> {
        AnyConnection::connect(dialect, endpoint, login, timeout).map(|connection| Admin { connection })
    }

    pub fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// As the server says at login; for SQLite the library's version.
    pub fn server_version(&self) -> &str {
        match &self.connection {
            AnyConnection::MySql(connection) => connection.server_version(),
            AnyConnection::Postgres(connection) => connection.server_version(),
            AnyConnection::Sqlite(_) => rusqlite::version(),
        }
    }

    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        self.connection.set_timeout(timeout)
    }

    /// Ends what runs here from another thread.
    pub fn closer(&self) -> Closer {
        self.connection.closer()
    }

    /// Runs one statement and returns how many rows it changed.
    pub fn run(&mut self, sql: &str) -> Result<u64, Error> {
        complete(self.connection.query(sql)).map(|answer| answer.affected)
    }

    /// The rows of one query as text; `None` is NULL.
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        match &mut self.connection {
            AnyConnection::MySql(connection) => connection.rows(sql),
            AnyConnection::Postgres(connection) => connection.rows(sql),
            AnyConnection::Sqlite(connection) => connection.rows(sql),
        }
    }

    /// The first column of the first row, where there is one.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Loads rows by the fastest way the server has: LOAD DATA LOCAL, COPY, or one transaction.
    ///
    /// `next_row` is called with a sink for one row, and returns whether it gave one.
    pub fn load(
        &mut self,
        table: &str,
        columns: &[&str],
        next_row: &mut dyn FnMut(&mut RowSink<'_>) -> Result<bool, Error>,
    ) -> Result<u64, Error> {
        let mut broken = None;
        let mut fill = |out: &mut Vec<u8>| {
            next_row(&mut |row| {
                put_text_row(out, row);
                Ok(())
            })
            .unwrap_or_else(|error| {
                broken = Some(error);
                false
            })
        };
        let list = columns.join(", ");
        let loaded = match &mut self.connection {
            AnyConnection::MySql(connection) => connection.load(table, &list, &mut fill),
            AnyConnection::Postgres(connection) => connection.load(table, &list, &mut fill),
            AnyConnection::Sqlite(_) => return self.insert_all(table, columns, next_row),
        };
        broken.map_or(loaded, Err)
    }

    fn insert_all(
        &mut self,
        table: &str,
        columns: &[&str],
        next_row: &mut dyn FnMut(&mut RowSink<'_>) -> Result<bool, Error>,
    ) -> Result<u64, Error> {
        let marks = vec!["?"; columns.len()].join(", ");
        self.run("BEGIN")?;
        let insert =
            self.connection.prepare(&format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", ")))?;
        let mut count = 0;
        let AnyConnection::Sqlite(connection) = &mut self.connection else {
            return Err(Error::Protocol("inserting row by row is for SQLite".to_owned()));
        };
        while next_row(&mut |row| {
            count += 1;
            connection.step(insert, row).map(|_| ())
        })? {}
        self.run("COMMIT")?;
        Ok(count)
    }
}

/// Tab between columns, newline behind the row, backslash before what would be either: the format
/// that LOAD DATA and COPY both read by default.
fn put_text_row(out: &mut Vec<u8>, row: &[Value<'_>]) {
    for (index, value) in row.iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Int(number) => out.extend_from_slice(number.to_string().as_bytes()),
            Value::Text(text) => text.iter().for_each(|byte| match byte {
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                // COPY would take it for the first half of a line's end.
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                _ => out.push(*byte),
            }),
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_row_escapes_what_separates_columns_and_rows() {
        let mut out = Vec::new();
        put_text_row(&mut out, &[Value::Int(-7), Value::Text(b"a\tb\\c\nd\r")]);
        assert_eq!(out, b"-7\ta\\tb\\\\c\\nd\\r\n");
    }
}
