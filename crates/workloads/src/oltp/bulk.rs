//! `bulk_insert` of sysbench 1.0: rows, collected by the client and sent many at a time.
//!
//! A transaction is one row, so most of them take no time; a statement counts when it is sent.

use std::fmt::Write;

use driver::{Admin, AnyConnection, Code, Connection, Dialect, Error, RowSink};

use super::options::{COMPAT_MODERN, MYSQL_STORAGE_ENGINE, TABLES};
use super::rules::Rules;
use super::scripts::rules;
use super::sql::Version;
use super::sql::{Kind, Statements};
use load::{
    Answers, Attempt, Client, ClientFuture, Expected, Ignored, OptionError, OptionSpec, Options, Outcome, Preparing,
    Setting, Slot, Table, Tally, Turn, Workload, WorkloadKind, WorkloadSpec,
};

pub const BULK_INSERT: WorkloadKind = WorkloadKind {
    name: "bulk_insert",
    description: "sysbench 1.0: INSERTs of many small rows at a time, one table for each client",
    example: "name = \"bulk_insert\"\ntables = 16",
    options: &[
        OptionSpec { default: "64", help: "number of tables; each client needs one of its own", ..TABLES },
        COMPAT_MODERN,
        MYSQL_STORAGE_ENGINE,
    ],
    build: |options| Ok(Box::new(build(options)?)),
};

/// Longest statement, with the byte behind its end.
const STATEMENT_BYTES: usize = 512 << 10;
/// Longest row: two numbers of 64 bits and what stands around them.
const ROW_BYTES_MAX: usize = 2 * 20 + 4;

#[derive(Debug, Clone)]
struct BulkInsert {
    tables: u64,
    engine: String,
    rules: Rules,
}

fn build(options: &Options) -> Result<BulkInsert, OptionError> {
    Ok(BulkInsert {
        tables: options.number("tables", 1, 10_000)?,
        engine: options.word("mysql_storage_engine")?.to_owned(),
        rules: rules(options)?,
    })
}

fn table_name(table: u64) -> String {
    format!("sbtest{}", table + 1)
}

impl Workload for BulkInsert {
    fn spec(&self) -> WorkloadSpec {
        let data_key = format!("oltp-1.0 bulk_insert tables={}", self.tables);
        WorkloadSpec { transactions: false, ..WorkloadSpec::writing(data_key) }
    }

    fn tables(&self, dialect: Dialect) -> Vec<Table> {
        let engine = dialect.table_options(&self.engine);
        let table = |table| Table {
            name: table_name(table),
            create: vec![Statements::of(Version::Modern).text("create-bulk", &table_name(table)) + &engine],
            columns: ["id", "k"].map(Into::into).into(),
            units: 0,
            rows: 0,
            finish: Vec::new(),
            link: Vec::new(),
            seals: false,
        };
        (0..self.tables).map(table).collect()
    }

    /// The tables begin empty, so no statement asks for a row.
    fn rows(&self, _: u64, _: usize, _: u64, _: &mut RowSink<'_>) -> Result<(), Error> {
        Err(Error::Protocol("bulk_insert loads no rows".to_owned()))
    }

    fn preparing(&self, _: Dialect) -> Preparing {
        Preparing::Nothing
    }

    fn ignored_errors(&self, dialect: Dialect) -> Ignored {
        // The same rows would be refused again.
        Rules::errors_without_duplicates(dialect)
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        if u64::from(slot.client) >= self.tables {
            let (tables, clients) = (self.tables, slot.clients);
            let message = format!(
                "bulk_insert gives each client a table of its own, and {tables} are too few for {clients} clients; raise `tables`"
            );
            return Err(Error::Refused { code: Code::new(b"local"), message });
        }
        let client = BulkClient::new(u64::from(slot.client), self.rules, connection);
        Ok(slot.drive(client))
    }

    fn expected_answers(&self, seen: &[Answers], _: &Setting) -> Vec<Expected> {
        let of_inserts = |seen: &Answers| {
            let matched = Some(seen.wanted..=seen.wanted);
            Expected { statement: "insert".into(), seen: *seen, rows: Some(0..=0), matched }
        };
        seen.iter().map(of_inserts).collect()
    }

    /// Rows whose statement was lost with its connection may be missing; none may be wrong.
    fn check(&self, admin: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        let mut violations = Vec::new();
        for table in 0..self.tables {
            let sql = format!("SELECT COUNT(*) FROM {} WHERE id <> k OR id < 1", table_name(table));
            let wrong = admin.value(&sql)?.unwrap_or_default();
            if wrong != "0" {
                violations.push(format!("{sql}: 0 was expected, {wrong} found"));
            }
        }
        Ok(violations)
    }
}

struct BulkClient<C> {
    connection: C,
    rules: Rules,
    /// The statement so far; empty of rows when it is as long as `head`.
    text: String,
    head: usize,
    /// The last row that was put into a statement.
    rows: u64,
    /// How many of them the statement holds.
    collected: u64,
    /// Whether the statement was sent and its answer not seen.
    sent: bool,
    answers: Answers,
}

impl<C: Connection> BulkClient<C> {
    fn new(table: u64, rules: Rules, connection: C) -> BulkClient<C> {
        // One row more than fits, to test that it does not.
        let mut text = String::with_capacity(STATEMENT_BYTES + ROW_BYTES_MAX);
        text.push_str(&Statements::of(Version::Modern).text("insert-bulk", &table_name(table)));
        BulkClient {
            connection,
            rules,
            head: text.len(),
            text,
            rows: 0,
            collected: 0,
            sent: false,
            answers: Answers::default(),
        }
    }

    /// Sends what was collected.
    async fn flush(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        if self.text.len() == self.head {
            return Ok(());
        }
        attempt.committing = true;
        self.sent = true;
        self.rules.count_sent(Some(Kind::Insert), attempt);
        let answer = self.connection.query(&self.text).await?;
        attempt.committing = false;
        self.rules.count_answered(Some(Kind::Insert), answer, attempt);
        self.answers.take(answer);
        self.answers.wanted += self.collected;
        self.empty();
        Ok(())
    }

    fn empty(&mut self) {
        self.text.truncate(self.head);
        self.collected = 0;
        self.sent = false;
    }

    /// Puts a row into the statement; `false` when there is no room for it.
    fn collect(&mut self, row: u64) -> bool {
        let length = self.text.len();
        let separator = if length == self.head { "" } else { "," };
        let written = write!(self.text, "{separator}({row},{row})");
        written.expect("a string takes whatever is written");
        let fits = self.text.len() < STATEMENT_BYTES;
        if fits {
            self.collected += 1;
        } else {
            self.text.truncate(length);
        }
        fits
    }
}

impl<C: Connection> Client for BulkClient<C> {
    type Connection = C;

    async fn attempt(&mut self, turn: Turn, attempt: &mut Attempt) -> Result<Outcome, Error> {
        // Its answer was lost and the transaction given up: it must not be sent again.
        if self.sent && turn.retry == 0 {
            self.empty();
        }
        let row = self.rows + 1;
        if self.sent || !self.collect(row) {
            self.flush(attempt).await?;
            self.collect(row);
        }
        self.rows = row;
        Ok(Outcome::Committed)
    }

    /// An INSERT that failed has changed nothing.
    async fn roll_back(&mut self, _: &mut Attempt) -> Result<(), Error> {
        Ok(())
    }

    async fn finish(&mut self, attempt: &mut Attempt) -> Result<(), Error> {
        if self.sent {
            return Ok(());
        }
        self.flush(attempt).await
    }

    fn answers(&self) -> &[Answers] {
        std::slice::from_ref(&self.answers)
    }

    fn connection(&mut self) -> &mut C {
        &mut self.connection
    }
}
