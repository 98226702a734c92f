//! Scripts in the measured loop: nothing is allocated, whatever a command does and whoever answers; and a new
//! connection begins like the first one.

#[path = "../../driver/tests/counting/mod.rs"]
mod counting;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use counting::allocations;
use driver::{
    Answer, AnyConnection, Connection, Dialect, Endpoint, Error, Login, NullServer, Part, Rows, Statement, Value,
    complete,
};
use load::{
    Attempt, Client, Clock, ErrorPolicy, MonotonicClock, OptionValue, Outcome, Recorder, Slot, StatementTally,
    Timeline, Turn, Window, drive,
};
use script::pgbench::{File, Pgbench, PgbenchTables, Protocol, Rules};

fn file(path: &str, text: &str) -> OptionValue {
    OptionValue::File { path: path.to_owned(), text: text.to_owned() }
}

fn options(script: &str, connect: &str) -> BTreeMap<String, OptionValue> {
    let given = [("files", file("a.sql", script)), ("connect", file("connect.sql", connect))];
    given.map(|(key, value)| (key.to_owned(), OptionValue::Items(vec![value]))).into()
}

fn slot(timeline: Timeline, policy: ErrorPolicy) -> Slot {
    slot_with(MonotonicClock::sleeping(), timeline, policy)
}

fn slot_with<K>(clock: K, timeline: Timeline, policy: ErrorPolicy) -> Slot<K> {
    timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
    let policy = Arc::new(policy);
    Slot { client: 3, clients: 8, input_seed: 5, policy, ..Slot::alone(clock, timeline, Recorder::new(1, false)) }
}

/// Every function and operator once, with branches and a sleep; the variables stay in their ranges.
const VALUES: &str = "\
\\set a random(1, 100)
\\set b random_zipfian(1, 1000, 1.2) + random_gaussian(1, 10, 2.5) * random_exponential(1, 5, 3.0)
\\set c abs(-:a) + mod(:b, 7) + greatest(:a, 3, 2) - least(1, :b) + int(sqrt(:a)) + permute(:a, 100)
\\set d double(:a) / 3.0 + exp(0.1) + ln(2.5) + pi() + pow(2, 3)
\\set e hash(:a) # hash_fnv1a(:b, 3) | hash_murmur2(7) & 255 << 2 >> 1
\\set f (:a > 3 and not (:b <= 2)) or :c is null or :d isnull
\\set g case when :a <> 5 then null else 1 end
\\if :a > 1000
\\set a 0
\\elif :f
\\sleep 0 us
\\else
\\set a -:a % 9
\\endif
\\if :g is null
\\set h 1.5e3
\\endif
";

/// Statements of all roles, with parameters of all types, few and many.
const STATEMENTS: &str = "\
\\set h 1.5
BEGIN;
-- label: many
SELECT :a, :b, :c, :d, :e, :f, :g, :h, :client_id, :scale, :random_seed, :default_seed;
UPDATE own SET v = :c WHERE id = :a;
INSERT INTO own (v) VALUES (:d);
SELECT 1 WHERE :f; SELECT count(*) AS n FROM own WHERE v < :b;
COMMIT;
";

fn allocated<C: Connection>(shown: &str, script: &str, connection: C) {
    allocated_as(Protocol::Prepared, shown, script, connection);
}

fn allocated_as<C: Connection>(protocol: Protocol, shown: &str, script: &str, connection: C) {
    let slot = slot(Timeline::default(), ErrorPolicy::default());
    let mut given = options(script, "SELECT 1");
    given.insert("protocol".to_owned(), OptionValue::Text(protocol.name().to_owned()));
    let client = script::client_on(&given, connection, &slot).unwrap();
    allocated_by(&format!("{shown}, {}", protocol.name()), client, &slot);
}

fn allocated_by(shown: &str, mut client: impl Client, slot: &Slot) {
    let mut run = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            // Retries are counted in another way.
            let turn = Turn { series: 0, number, retry: number % 2 };
            let outcome = complete(client.attempt(turn, &mut Attempt::default())).unwrap();
            assert_eq!(outcome, Outcome::Committed, "{shown}");
        }
    };
    // What the first transactions make is enough for the rest.
    run(0..200);
    let before = allocations();
    run(200..1_000);
    assert_eq!(allocations() - before, 0, "allocations in 800 transactions of {shown}");
    let recorder = slot.recorder.borrow();
    // Statements of a pipeline have no time of their own.
    let is_whole = |one: &StatementTally| one.count == 1_000 && [0, 1_000].contains(&one.latency.count());
    assert!(recorder.tally.statements.iter().all(is_whole), "{shown}");
}

#[test]
fn no_command_allocates_on_the_drivers_of_servers() {
    let folder = tempfile::tempdir().unwrap();
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        let name = if dialect == Dialect::Postgres { ".s.PGSQL.5432" } else { "mysql.sock" };
        let server = NullServer::start(dialect, &folder.path().join(name)).unwrap();
        let login = Login { user: "app".to_owned(), ..Login::default() };
        for protocol in Protocol::ALL {
            let mut connection =
                AnyConnection::connect(dialect, &server.endpoint(), &login, Duration::from_secs(5)).unwrap();
            connection.block().unwrap();
            let shown = format!("a null server of {dialect:?}");
            allocated_as(protocol, &shown, &format!("{VALUES}{STATEMENTS}"), connection);
        }
    }
}

#[test]
fn no_protocol_of_pgbench_allocates() {
    let folder = tempfile::tempdir().unwrap();
    for (dialect, protocol) in [
        (Dialect::MySql, Protocol::Simple),
        (Dialect::MySql, Protocol::Extended),
        (Dialect::Postgres, Protocol::Simple),
        (Dialect::Postgres, Protocol::Extended),
        (Dialect::Postgres, Protocol::Prepared),
    ] {
        let name = if dialect == Dialect::Postgres { ".s.PGSQL.5432" } else { "mysql.sock" };
        let path = folder.path().join(protocol.name()).join(dialect.name());
        std::fs::create_dir_all(&path).unwrap();
        let server = NullServer::start(dialect, &path.join(name)).unwrap();
        let login = Login { user: "app".to_owned(), ..Login::default() };
        let mut connection =
            AnyConnection::connect(dialect, &server.endpoint(), &login, Duration::from_secs(5)).unwrap();
        connection.block().unwrap();
        let more = match (protocol, dialect) {
            (Protocol::Simple, _) => "SELECT 1\\; SELECT id FROM own\\; SELECT 2 AS two \\aset q_\n",
            (_, Dialect::MySql) => "",
            _ => "\\startpipeline\nBEGIN;\nSELECT :a, :b;\nUPDATE own SET v = :c;\nEND;\n\\endpipeline\n",
        };
        let read = "SELECT id FROM own \\aset\nSELECT :id;\n";
        let text = format!("{VALUES}{STATEMENTS}SELECT ':a', :unknown;\n{more}{read}");
        let file = File { title: "a.sql".to_owned(), text, weight: 1, is_builtin: false };
        let rules = Rules { protocol, by_pgbench: true, ..Rules::default() };
        let scripts = Pgbench::new(&[file], PgbenchTables::new(1), &rules).unwrap();
        let slot = slot(Timeline::default(), ErrorPolicy::default());
        let client = scripts.client_on(connection, &slot).unwrap();
        allocated_by(&format!("{} on {dialect:?}", protocol.name()), client, &slot);
    }
}

#[test]
fn no_command_allocates_on_sqlite_notes_and_read_values_included() {
    let folder = tempfile::tempdir().unwrap();
    let endpoint = Endpoint::File(folder.path().join("db"));
    let limit = Duration::from_secs(5);
    let connect = || AnyConnection::connect(Dialect::Sqlite, &endpoint, &Login::default(), limit).unwrap();
    for sql in [
        "CREATE TABLE own (id INTEGER PRIMARY KEY, v INTEGER)",
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, gone INTEGER)",
        "INSERT INTO item VALUES (1, 'a name of some length', 12.25, NULL)",
    ] {
        complete(connect().query(sql)).unwrap();
    }
    let read = "\\set one 1\n-- expect: 1 row\nSELECT id, name, price, gone FROM item WHERE id = :one \\gset i_\n\
        -- expect: value :i_name\nSELECT name FROM item WHERE id = :i_id;\n-- expect: changed 0..1\n\
        UPDATE item SET price = :i_price, name = :i_name, gone = :i_gone WHERE id = :i_id;\n";
    for protocol in Protocol::ALL {
        allocated_as(protocol, "SQLite", &format!("{VALUES}{STATEMENTS}{read}"), connect());
    }
}

/// Answers at once, with one row of three columns; loses the connection at the tenth statement.
struct Answering {
    dialect: Dialect,
    statements: usize,
    executed: u64,
    /// Texts that were sent.
    asked: Rc<RefCell<Vec<String>>>,
    breaks: bool,
}

impl Answering {
    fn new(dialect: Dialect) -> Answering {
        Answering { dialect, statements: 0, executed: 0, asked: Rc::default(), breaks: false }
    }
}

/// A row of PostgreSQL: `12`, `a name`, NULL.
const ROW: &[u8] = b"\0\x03\0\0\0\x0212\0\0\0\x06a name\xff\xff\xff\xff";

impl Connection for Answering {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn prepare(&mut self, _: &str) -> Result<Statement, Error> {
        self.statements += 1;
        Ok(Statement::numbered(self.statements - 1))
    }

    async fn execute(&mut self, _: Statement, _: &[Value<'_>]) -> Result<Answer, Error> {
        self.executed += 1;
        if self.breaks && self.executed == 10 {
            return Err(Error::lost("killed"));
        }
        Ok(Answer { rows: 1, affected: 1, returns_rows: true, ..Answer::default() })
    }

    async fn fetch(&mut self, statement: Statement, values: &[Value<'_>], rows: &mut Rows) -> Result<Answer, Error> {
        rows.clear();
        rows.take_postgres(Part::Row(ROW))?;
        self.execute(statement, values).await
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.asked.borrow_mut().push(sql.to_owned());
        Ok(Answer::default())
    }

    fn reconnect(&mut self, _: Duration) -> Result<(), Error> {
        Ok(())
    }
}

#[test]
fn no_value_that_is_read_allocates_in_any_dialect() {
    let read = "-- expect: 1 row\nSELECT a, b, c FROM t \\gset\n-- expect: value :a\nSELECT :a, :b, :c;\n\
        UPDATE t SET a = :a;\n";
    for dialect in Dialect::ALL {
        allocated(&format!("{dialect:?}"), &format!("{VALUES}{STATEMENTS}{read}"), Answering::new(dialect));
    }
}

#[test]
fn the_connect_file_runs_again_on_a_new_connection_and_is_counted() {
    let timeline = Timeline::default();
    timeline.limit(20);
    let policy = ErrorPolicy { reconnect: true, ..ErrorPolicy::default() };
    let mut slot = slot(timeline, policy);
    let connection = Answering { breaks: true, ..Answering::new(Dialect::MySql) };
    let asked = Rc::clone(&connection.asked);
    let given = options("SELECT 1;", "SET a = 1;\nSET b = 2;");
    let mut client = script::client_on(&given, connection, &slot).unwrap();
    assert_eq!(*asked.borrow(), ["SET a = 1", "SET b = 2"]);
    complete(drive(&mut client, &mut slot)).unwrap();
    assert_eq!(*asked.borrow(), ["SET a = 1", "SET b = 2", "SET a = 1", "SET b = 2"]);
    let tally = slot.recorder.take().finish();
    assert_eq!((tally.reconnects, tally.committed, tally.failed), (1, 20, 0));
    assert_eq!((tally.reads, tally.other), (21, 2), "a statement was sent twice, and the connect file once more");
    let statement = &tally.statements[0];
    assert_eq!((statement.count, statement.retries, statement.failed), (20, 1, 0));
}

#[test]
fn an_error_that_ends_its_transaction_counts_as_a_failed_call() {
    let timeline = Timeline::default();
    timeline.limit(20);
    let policy = ErrorPolicy { reconnect: true, ..ErrorPolicy::default() };
    let mut slot = slot(timeline, policy);
    let connection = Answering { breaks: true, ..Answering::new(Dialect::MySql) };
    let mut given = options("SELECT 1;", "SELECT 1;");
    given.insert("max_tries".to_owned(), OptionValue::Number(1));
    let mut client = script::client_on(&given, connection, &slot).unwrap();
    complete(drive(&mut client, &mut slot)).unwrap();
    let tally = slot.recorder.take().finish();
    let statement = &tally.statements[0];
    assert_eq!((tally.committed, tally.failed), (19, 1));
    assert_eq!((statement.count, statement.retries, statement.failed), (19, 0, 1));
}

/// Counts how often it is read.
#[derive(Clone)]
struct CountedClock(Rc<Cell<u64>>);

impl Clock for CountedClock {
    fn now_ns(&self) -> u64 {
        self.0.set(self.0.get() + 1);
        self.0.get() * 1_000
    }

    async fn wait_until(&self, due_ns: u64) -> u64 {
        due_ns
    }
}

#[test]
fn one_reading_of_the_clock_ends_a_statement_and_begins_the_next() {
    // One before the first, and one when the client has nothing left to do.
    for (script, readings) in [
        ("\\set id random(1, 9)\nSELECT :id;", 2 + 20),
        ("\\set id random(1, 9)\nSELECT :id;\n\\set b :id + 1\nSELECT :b;", 2 + 40),
        // What takes time behind the last statement belongs to the transaction.
        ("SELECT 1;\n\\sleep 1 us", 2 + 40),
    ] {
        let timeline = Timeline::default();
        timeline.limit(20);
        let clock = CountedClock(Rc::default());
        let mut slot = slot_with(clock.clone(), timeline, ErrorPolicy::default());
        let connection = Answering::new(Dialect::MySql);
        let mut client = script::client_on(&options(script, "SELECT 1"), connection, &slot).unwrap();
        complete(drive(&mut client, &mut slot)).unwrap();
        assert_eq!((clock.0.get(), slot.recorder.take().tally.committed), (readings, 20), "{script}");
    }
}
