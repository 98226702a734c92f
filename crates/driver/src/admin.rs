//! A blocking session for everything that is not measured: administration, checks, bulk loading.

use std::collections::HashMap;
use std::time::Duration;

use crate::transport::complete;
use crate::{AnyConnection, Closer, Connection, Dialect, Endpoint, Error, Login, Part, Rows, Statement, Value};

/// Takes one row at a time; what a generator of rows is given.
pub type RowSink<'a> = dyn FnMut(&[Value<'_>]) -> Result<(), Error> + 'a;

pub struct Admin {
    connection: AnyConnection,
    /// Statements with parameters by their text, so that each is prepared once; few of bulk loads, because their
    /// numbers of rows are powers of two.
    prepared: HashMap<String, Statement>,
}

impl Admin {
    /// Connects within `timeout`; no single statement may take longer either, unless [`Admin::set_timeout`] changes it,
    /// and an interruption of the program ends each.
    pub fn connect(dialect: Dialect, endpoint: &Endpoint, login: &Login, timeout: Duration) -> Result<Admin, Error> {
        let connection = AnyConnection::connect(dialect, endpoint, login, timeout)?;
        if let AnyConnection::Sqlite(connection) = &connection {
            connection.end_on_interruption();
        }
        Ok(Admin { connection, prepared: HashMap::new() })
    }

    /// From here on a wait for a lock of SQLite ends when the program is interrupted too, as those for servers do.
    /// The session then has no `busy_timeout` to read back.
    pub fn heed_interruption(&mut self) {
        if let AnyConnection::Sqlite(connection) = &mut self.connection {
            connection.heed_interruption();
        }
    }

    pub fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    /// As the server reports at login; for SQLite the library's version.
    pub fn server_version(&self) -> &str {
        match &self.connection {
            AnyConnection::MySql(connection) => connection.server_version(),
            AnyConnection::Postgres(connection) => connection.server_version(),
            AnyConnection::Sqlite(_) => rusqlite::version(),
        }
    }

    /// The number that the session was given at login; an engine inside this process gives none.
    pub fn session_number(&self) -> Option<u64> {
        match &self.connection {
            AnyConnection::MySql(connection) => Some(connection.session_number()),
            AnyConnection::Postgres(connection) => connection.session_number(),
            AnyConnection::Sqlite(_) => None,
        }
    }

    pub fn set_timeout(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        self.connection.set_timeout(timeout)
    }

    /// Behind the last statement: fails when the server has sent something without a request.
    pub fn leave(&mut self) -> Result<(), Error> {
        self.connection.leave()
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
        self.connection.rows(sql)
    }

    /// Shows the rows of one query, one at a time and as row 0: for answers that memory should not hold.
    pub fn each_row(&mut self, sql: &str, on_row: &mut dyn FnMut(&Rows)) -> Result<(), Error> {
        let mut one = Rows::default();
        let mut show = |is_row: bool, one: &mut Rows| {
            if is_row {
                on_row(one);
                one.clear();
            }
        };
        match &mut self.connection {
            AnyConnection::MySql(connection) => connection.each_part(sql, &mut |part| {
                one.take_mysql(part, false)?;
                show(matches!(part, Part::Row(_)), &mut one);
                Ok(())
            }),
            AnyConnection::Postgres(connection) => connection.each_part(sql, &mut |part| {
                one.take_postgres(part)?;
                show(matches!(part, Part::Row(_)), &mut one);
                Ok(())
            }),
            AnyConnection::Sqlite(connection) => connection.each_row(sql, on_row),
        }
    }

    /// The first column of the first row, where there is one.
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.rows(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
    }

    /// Runs a statement with parameters, prepared once, and returns how many rows it changed.
    pub fn execute(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<u64, Error> {
        let statement = self.statement(sql)?;
        complete(self.connection.execute(statement, parameters)).map(|answer| answer.affected)
    }

    /// The same for a statement that returns rows.
    pub fn fetch(&mut self, sql: &str, parameters: &[Value<'_>]) -> Result<Rows, Error> {
        let (statement, mut rows) = (self.statement(sql)?, Rows::default());
        complete(self.connection.fetch(statement, parameters, &mut rows))?;
        Ok(rows)
    }

    /// Loads rows by the fastest way the server has, in transactions of its own.
    ///
    /// PostgreSQL gets COPY, the others multi-row INSERTs prepared once: LOAD DATA would keep the
    /// server looking for separators in each byte, and its lock on AUTO_INCREMENT keeps a second
    /// loader of the same table waiting (measured on MariaDB 10.11: 5.5-7 s for a million rows of
    /// 190 bytes, over one connection or four).
    ///
    /// `give` is called once, and hands all rows to its sink.
    pub fn load(
        &mut self,
        table: &str,
        columns: &[&str],
        give: &mut dyn FnMut(&mut RowSink<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        match &mut self.connection {
            AnyConnection::Postgres(connection) => connection.load(table, columns, give),
            _ => self.insert_all(table, columns, give),
        }
    }

    fn insert_all(
        &mut self,
        table: &str,
        columns: &[&str],
        give: &mut dyn FnMut(&mut RowSink<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let rows_max = ROWS_PER_INSERT.min(power_of_two_up_to(PARAMETERS_MAX / columns.len()));
        let (mut batch, mut count) = (Batch::default(), 0);
        self.run("BEGIN")?;
        give(&mut |row| {
            batch.push(row);
            if batch.rows == rows_max {
                count += self.insert(table, columns, &mut batch)?;
            }
            Ok(())
        })?;
        count += self.insert(table, columns, &mut batch)?;
        self.run("COMMIT")?;
        Ok(count)
    }

    /// Sends the rows of a batch and empties it: in one statement, or, where they are no power of two, in a
    /// few. A statement for each possible number of rows would fill the server's memory.
    fn insert(&mut self, table: &str, columns: &[&str], batch: &mut Batch) -> Result<u64, Error> {
        let parameters = batch.parameters();
        let mut rest = parameters.as_slice();
        while !rest.is_empty() {
            let rows = power_of_two_up_to(rest.len() / columns.len());
            let statement = self.insert_statement(table, columns, rows)?;
            let (sent, left) = rest.split_at(rows * columns.len());
            complete(self.connection.execute(statement, sent))?;
            rest = left;
        }
        let rows = batch.rows as u64;
        batch.clear();
        Ok(rows)
    }

    fn insert_statement(&mut self, table: &str, columns: &[&str], rows: usize) -> Result<Statement, Error> {
        let row = format!("({})", vec!["?"; columns.len()].join(","));
        let rows = vec![row; rows].join(",");
        let sql = format!("INSERT INTO {table} ({}) VALUES {rows}", columns.join(", "));
        self.statement(&sql)
    }

    fn statement(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(*statement);
        }
        let statement = self.connection.prepare(sql)?;
        self.prepared.insert(sql.to_owned(), statement);
        Ok(statement)
    }
}

/// Rows of one INSERT, so that rows of up to 1,000 bytes make half the packet that the oldest servers take.
pub const ROWS_PER_INSERT: usize = 512;
/// Parameters of one statement that every server takes; SQLite's limit is the lowest.
const PARAMETERS_MAX: usize = 30_000;

/// The largest power of two that is no larger than `number`, which is not 0.
fn power_of_two_up_to(number: usize) -> usize {
    1 << number.ilog2()
}

/// Values that wait to be sent together.
#[derive(Default)]
struct Batch {
    values: Vec<Held>,
    text: Vec<u8>,
    rows: usize,
}

/// A value whose text lies in its batch.
#[derive(Clone, Copy)]
enum Held {
    Int(i64),
    Text { start: usize, end: usize },
    Decimal { units: i64, scale: u8 },
    Null,
}

impl Batch {
    fn push(&mut self, row: &[Value<'_>]) {
        for value in row {
            self.values.push(match value {
                Value::Int(number) => Held::Int(*number),
                Value::Decimal { units, scale } => Held::Decimal { units: *units, scale: *scale },
                Value::Null => Held::Null,
                Value::Text(text) => {
                    let start = self.text.len();
                    self.text.extend_from_slice(text);
                    Held::Text { start, end: self.text.len() }
                }
            });
        }
        self.rows += 1;
    }

    fn parameters(&self) -> Vec<Value<'_>> {
        let value = |held: &Held| match held {
            Held::Int(number) => Value::Int(*number),
            Held::Text { start, end } => Value::Text(&self.text[*start..*end]),
            Held::Decimal { units, scale } => Value::Decimal { units: *units, scale: *scale },
            Held::Null => Value::Null,
        };
        self.values.iter().map(value).collect()
    }

    fn clear(&mut self) {
        self.values.clear();
        self.text.clear();
        self.rows = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_number_arrive_by_few_statements() {
        let endpoint = Endpoint::File(":memory:".into());
        let login = Login::default();
        let mut admin = Admin::connect(Dialect::Sqlite, &endpoint, &login, Duration::from_secs(1)).unwrap();
        admin.run("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)").unwrap();
        let mut next = 0;
        for count in (0..40).chain([511, 512, 513, 1500]) {
            let loaded = admin.load("t", &["a", "b"], &mut |sink| {
                (0..count).try_for_each(|_| {
                    next += 1;
                    sink(&[Value::Int(next), Value::Text(b"x")])
                })
            });
            assert_eq!(loaded, Ok(count));
        }
        assert_eq!(admin.value("SELECT COUNT(*) FROM t").unwrap(), Some(next.to_string()));
        assert_eq!(admin.prepared.len(), 10, "1, 2, 4 to 512 rows");
    }

    #[test]
    fn rows_are_shown_one_by_one() {
        let endpoint = Endpoint::File(":memory:".into());
        let mut admin = Admin::connect(Dialect::Sqlite, &endpoint, &Login::default(), Duration::from_secs(1)).unwrap();
        let mut seen = Vec::new();
        let sql = "SELECT 1, NULL, 'a' UNION ALL SELECT 2, 'b', NULL";
        admin
            .each_row(sql, &mut |row| {
                assert_eq!(row.len(), 1);
                seen.push((row.int(0, 0).unwrap(), row.text(0, 1).to_vec(), row.text(0, 2).to_vec()));
            })
            .unwrap();
        assert_eq!(seen, [(1, Vec::new(), b"a".to_vec()), (2, b"b".to_vec(), Vec::new())]);
    }
}
