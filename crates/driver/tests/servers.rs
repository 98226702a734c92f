//! The driver against a real server: logins, errors, long rows, awkward bytes.

mod real_server;

use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use driver::{
    Admin, Answer, AnyConnection, Cell, Code, Connection, Dialect, Endpoint, Error, Login, Reactor, Ready, Rows, Tls,
    Value,
};

use real_server::{LIMIT, administrator, login, socket, variable};

/// Longer than a packet of the MySQL protocol can be.
const LONG_BYTES: usize = 17 << 20;

fn admin(dialect: Dialect) -> Admin {
    Admin::connect(dialect, &socket(), &administrator(dialect), LIMIT).unwrap()
}

fn connection(dialect: Dialect) -> AnyConnection {
    AnyConnection::connect(dialect, &socket(), &administrator(dialect), LIMIT).unwrap()
}

/// A blocking connection completes at its first poll.
fn complete<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking connection waits in the kernel only"),
    }
}

fn query(connection: &mut AnyConnection, sql: &str) -> Result<Answer, Error> {
    complete(connection.query(sql))
}

fn refused(result: Result<Admin, Error>, code: &str) {
    match result.map(|_| "let in") {
        Err(Error::Refused { code: found, .. }) => assert_eq!(found.as_str(), code),
        other => panic!("{code} was expected, not {other:?}"),
    }
}

/// Values of every kind that a workload reads come back as they were sent: negative and unsigned numbers,
/// decimals, texts, dates and NULL, in any order of executions.
fn check_values(dialect: Dialect, types: &str, columns: &str) {
    let mut session = connection(dialect);
    query(&mut session, "DROP TABLE IF EXISTS kinds").unwrap();
    query(&mut session, &format!("CREATE TABLE kinds ({types})")).unwrap();
    let names: Vec<&str> = columns.split(", ").collect();
    let places: Vec<String> = (1..=names.len()).map(|n| dialect.placeholder(n)).collect();
    let insert = session.prepare(&format!("INSERT INTO kinds ({columns}) VALUES ({})", places.join(", "))).unwrap();
    let select = session.prepare(&format!("SELECT {columns} FROM kinds ORDER BY id")).unwrap();
    let row = |id: i64| {
        [
            Value::Int(id),
            Value::Int(-7),
            Value::Int(200),
            Value::Int(-9_000_000_000),
            Value::Decimal { units: -1205, scale: 2 },
            Value::Decimal { units: 42, scale: 4 },
            Value::Text(b"two words"),
            Value::Text(b"2031-05-04 10:11:12"),
        ]
    };
    let mut half = row(2);
    (3..8).for_each(|at| half[at] = Value::Null);
    // With a NULL in between, types must travel again.
    for values in [row(1), half, row(3)] {
        assert_eq!(complete(session.execute(insert, &values)).unwrap().affected, 1);
    }
    let mut rows = Rows::default();
    for _ in 0..2 {
        assert_eq!(complete(session.fetch(select, &[], &mut rows)).unwrap().rows, 3);
        for at in [0, 2] {
            let ints: Vec<i64> = (1..4).map(|column| rows.int(at, column).unwrap()).collect();
            assert_eq!(ints, [-7, 200, -9_000_000_000], "row {at}");
            assert_eq!((rows.decimal(at, 4, 2), rows.decimal(at, 5, 4)), (Ok(-1205), Ok(42)), "row {at}");
            assert_eq!((rows.text(at, 6), rows.text(at, 7)), (&b"two words"[..], &b"2031-05-04 10:11:12"[..]));
        }
        assert_eq!((rows.int(1, 0), rows.int(1, 2)), (Ok(2), Ok(200)));
        assert!((3..8).all(|column| rows.cell(1, column) == Some(Cell::Null)), "{rows:?}");
    }
    query(&mut session, "DROP TABLE kinds").unwrap();
}

/// A syntax error and a duplicate key leave a connection that works.
fn check_errors(dialect: Dialect, syntax_code: &str) {
    let mut session = connection(dialect);
    query(&mut session, "DROP TABLE IF EXISTS errors").unwrap();
    query(&mut session, "CREATE TABLE errors (id INTEGER PRIMARY KEY)").unwrap();
    let insert = session.prepare(&format!("INSERT INTO errors VALUES ({})", dialect.placeholder(1))).unwrap();
    assert_eq!(complete(session.execute(insert, &[Value::Int(7)])).unwrap().affected, 1);
    let again = complete(session.execute(insert, &[Value::Int(7)]));
    assert!(matches!(again, Err(Error::Duplicate { .. })), "{again:?}");
    let Err(Error::Refused { code, message }) = query(&mut session, "SELEKT 1") else { panic!("SELEKT was taken") };
    assert_eq!(code.as_str(), syntax_code);
    assert!(message.contains("SELEKT"), "{message}");
    assert!(session.prepare("SELEKT ?").is_err());
    assert_eq!(complete(session.execute(insert, &[Value::Int(8)])).unwrap().affected, 1, "after the errors");
    query(&mut session, "DROP TABLE errors").unwrap();
}

/// Two sessions that each hold the row the other needs: one must be rolled back to try again.
fn check_deadlock(dialect: Dialect) {
    let mut ours = connection(dialect);
    query(&mut ours, "DROP TABLE IF EXISTS deadlock").unwrap();
    query(&mut ours, "CREATE TABLE deadlock (id INTEGER PRIMARY KEY, v INTEGER)").unwrap();
    query(&mut ours, "INSERT INTO deadlock VALUES (1, 0), (2, 0)").unwrap();
    let (they_hold, holding) = mpsc::channel();
    let (we_hold, go) = mpsc::channel();
    let other = std::thread::spawn(move || {
        let mut theirs = connection(dialect);
        hold_row(&mut theirs, 2);
        they_hold.send(()).unwrap();
        go.recv().unwrap();
        want_row(&mut theirs, 1)
    });
    hold_row(&mut ours, 1);
    holding.recv_timeout(LIMIT).expect("the other session holds its row");
    we_hold.send(()).unwrap();
    // Whichever of the two asks last closes the circle; which one loses is the server's choice.
    let outcomes = [want_row(&mut ours, 2), other.join().unwrap()];
    let retryable = outcomes.iter().filter(|outcome| matches!(outcome, Err(Error::Retryable { .. }))).count();
    assert_eq!(retryable, 1, "{outcomes:?}");
    query(&mut ours, "DROP TABLE deadlock").unwrap();
}

fn hold_row(session: &mut AnyConnection, id: u8) {
    query(session, "BEGIN").unwrap();
    query(session, &format!("UPDATE deadlock SET v = v + 1 WHERE id = {id}")).unwrap();
}

fn want_row(session: &mut AnyConnection, id: u8) -> Result<Answer, Error> {
    let outcome = query(session, &format!("UPDATE deadlock SET v = v + 1 WHERE id = {id}"));
    query(session, "ROLLBACK").unwrap();
    outcome
}

/// By TCP, where a password may be asked for and encryption has a purpose.
fn tcp() -> Endpoint {
    let port = variable("DBDUEL_TEST_PORT").parse().expect("this server listens by TCP");
    Endpoint::Tcp { host: "127.0.0.1".to_owned(), port }
}

fn by_tcp(dialect: Dialect, tls: Tls) -> Result<Admin, Error> {
    let login = login(&variable("DBDUEL_TEST_USER"), &variable("DBDUEL_TEST_PASSWORD"));
    Admin::connect(dialect, &tcp(), &Login { tls, ..login }, LIMIT)
}

/// A connection behind a reactor, as an event loop has many.
struct Polled {
    connection: AnyConnection,
    reactor: Arc<Reactor>,
}

impl Polled {
    fn new(mut connection: AnyConnection) -> Polled {
        let reactor = Reactor::new().unwrap();
        connection.attach(&reactor, 0).unwrap();
        Polled { connection, reactor }
    }

    fn complete<T>(&mut self, run: impl AsyncFnOnce(&mut AnyConnection) -> T) -> T {
        let mut ready = Ready::default();
        let mut future = pin!(run(&mut self.connection));
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return value;
            }
            self.reactor.wait(&mut ready, LIMIT.as_nanos() as u64).unwrap();
            assert!(ready.tokens().count() > 0, "an answer comes within the limit");
        }
    }
}

/// A lost connection opens again behind its reactor, with its statements under their old numbers; what
/// ends it from outside still does, and for good.
///
/// `list` finds the number of the account's only session, and `kill` ends it.
fn check_reconnect(dialect: Dialect, account: &Login, list: &str, kill: &str) {
    let connection = AnyConnection::connect(dialect, &socket(), account, LIMIT).unwrap();
    let closer = connection.closer();
    let mut victim = Polled::new(connection);
    let found = |hit: &str| format!("SELECT 1 FROM (SELECT 1) AS t WHERE {hit} = {}", dialect.placeholder(1));
    let seven = victim.connection.prepare(&found("7")).unwrap();
    let eight = victim.connection.prepare(&found("8")).unwrap();
    for _ in 0..2 {
        let mut ask = |statement, value| {
            victim.complete(async |c| c.execute(statement, &[Value::Int(value)]).await).map(|answer| answer.rows)
        };
        assert_eq!([ask(seven, 7), ask(seven, 8), ask(eight, 8)], [Ok(1), Ok(0), Ok(1)]);
        let number = admin(dialect).value(list).unwrap().unwrap();
        admin(dialect).rows(&kill.replace("{}", &number)).unwrap();
        let outcome = (0..1000).find_map(|_| ask(seven, 7).err());
        assert!(matches!(outcome, Some(Error::Lost { .. })), "{outcome:?}");
        victim.connection.reconnect(LIMIT).unwrap();
    }
    closer.close();
    let outcome = victim.complete(async |c| c.execute(eight, &[Value::Int(8)]).await);
    assert!(matches!(outcome, Err(Error::Lost { .. })), "{outcome:?}");
    let again = victim.connection.reconnect(LIMIT);
    assert!(matches!(again, Err(Error::Lost { .. })), "{again:?}");
}

/// Encrypted where that was asked for, by blocking and by polled sessions, for answers and statements
/// longer than a record of TLS; `cipher` shows in its last column by what, or nothing at all.
fn check_tls(dialect: Dialect, cipher: &str) {
    let in_use = |tls| {
        let rows = by_tcp(dialect, tls).unwrap().rows(cipher).unwrap();
        rows[0].last().unwrap().clone().unwrap_or_default()
    };
    assert_eq!(in_use(Tls::Off), "");
    for tls in [Tls::Require, Tls::Verify] {
        assert_ne!(in_use(tls), "", "{tls:?}");
        check_bulk_load(&mut by_tcp(dialect, tls).unwrap());
    }
    let login = login(&variable("DBDUEL_TEST_USER"), &variable("DBDUEL_TEST_PASSWORD"));
    let login = Login { tls: Tls::Require, ..login };
    let mut polled = Polled::new(AnyConnection::connect(dialect, &tcp(), &login, LIMIT).unwrap());
    let closer = polled.connection.closer();
    let long = polled.connection.prepare(&format!("SELECT REPEAT('x', {LONG_BYTES}), 7")).unwrap();
    for _ in 0..2 {
        let answer = polled.complete(async |c| c.execute(long, &[]).await).unwrap();
        assert_eq!(answer, Answer { rows: 1, returns_rows: true, ..Answer::default() });
        let text = format!("SELECT LENGTH('{}')", "x".repeat(LONG_BYTES));
        assert_eq!(polled.complete(async |c| c.query(&text).await).unwrap().rows, 1);
        polled.connection.reconnect(LIMIT).unwrap();
    }
    closer.close();
    let outcome = polled.complete(async |c| c.query("SELECT 1").await);
    assert!(matches!(outcome, Err(Error::Lost { .. })), "{outcome:?}");
}

/// Where the server does not encrypt, a session that must be is refused, and no password went out.
fn check_no_tls(dialect: Dialect) {
    let login = Login { tls: Tls::Require, ..administrator(dialect) };
    match Admin::connect(dialect, &socket(), &login, LIMIT).map(|_| "let in") {
        Err(Error::Refused { message, .. }) => assert!(message.contains("does not encrypt"), "{message}"),
        other => panic!("a refusal was expected, not {other:?}"),
    }
}

/// A session that another one ends is lost, not refused: no retry can help.
fn check_killed(dialect: Dialect, own_number: &str, kill: &str) {
    let mut victim = admin(dialect);
    let number = victim.value(own_number).unwrap().unwrap();
    admin(dialect).rows(&kill.replace("{}", &number)).unwrap();
    // The server may take one more statement before it finds that it was killed.
    let outcome = (0..1000).find_map(|_| victim.value("SELECT 1").err());
    assert!(matches!(outcome, Some(Error::Lost { .. })), "{outcome:?}");
}

/// What is given up does not run on: `running` counts the sessions at work on a statement like `slow`.
fn check_called_off(dialect: Dialect, slow: &str, running: &str) {
    let mut session = connection(dialect);
    let (closer, running) = (session.closer(), running.to_owned());
    let await_running = move |count: &str| {
        let (mut other, begun) = (admin(dialect), std::time::Instant::now());
        while other.value(&running).unwrap().as_deref() != Some(count) {
            assert!(begun.elapsed() < LIMIT, "{count} were expected to run");
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let await_none = await_running.clone();
    let closes = std::thread::spawn(move || {
        await_running("1");
        closer.close();
    });
    assert!(complete(session.query(slow)).is_err());
    closes.join().unwrap();
    await_none("0");
}

/// A statement is ended from outside, by an error or an early answer, and its session goes on.
fn check_cancelled(dialect: Dialect, slow: &str, running: &str) {
    let mut session = connection(dialect);
    let canceller = session.canceller().expect("a session of a server has one");
    let running = running.to_owned();
    let cancels = std::thread::spawn(move || {
        let (mut other, begun) = (admin(dialect), std::time::Instant::now());
        while other.value(&running).unwrap().as_deref() != Some("1") {
            assert!(begun.elapsed() < LIMIT, "it was expected to run");
            std::thread::sleep(Duration::from_millis(10));
        }
        canceller.cancel().unwrap();
    });
    let begun = std::time::Instant::now();
    let ended = complete(session.query(slow));
    assert!(!matches!(ended, Err(Error::Lost { .. })) && begun.elapsed() < LIMIT, "{ended:?}");
    cancels.join().unwrap();
    assert_eq!(complete(session.query("SELECT 1")).unwrap().rows, 1);
}

/// `set_up_bytes` is as much as a row of the set-up may have here: its limit holds for each message.
fn check_long_row(dialect: Dialect, set_up_bytes: usize) {
    let sql = format!("SELECT REPEAT('x', {set_up_bytes}), 7");
    let rows = admin(dialect).rows(&sql).unwrap();
    let lengths: Vec<usize> = rows[0].iter().map(|cell| cell.as_ref().unwrap().len()).collect();
    assert_eq!((rows.len(), lengths), (1, vec![set_up_bytes, 1]));
    let sql = format!("SELECT REPEAT('x', {LONG_BYTES}), 7");
    let mut session = connection(dialect);
    let statement = session.prepare(&sql).unwrap();
    for _ in 0..2 {
        let answer = complete(session.execute(statement, &[])).unwrap();
        assert_eq!(answer, Answer { rows: 1, returns_rows: true, ..Answer::default() });
    }
    // And the other way round: what we send is cut into packets as well.
    let sql = format!("SELECT LENGTH('{}')", "x".repeat(LONG_BYTES));
    assert_eq!(admin(dialect).value(&sql).unwrap().as_deref(), Some(LONG_BYTES.to_string().as_str()));
}

/// Every byte of ASCII but NUL, and the texts that mean NULL or the end to a loader.
fn check_bulk_load(session: &mut Admin) {
    let ascii: String = (1..=127u8).map(char::from).collect();
    let texts = [&ascii, "", "\\N", "\\.", "a\tb\nc\\d\r\n", "\\", "\t", "\n", "it's \"quoted\""];
    session.run("DROP TABLE IF EXISTS awkward").unwrap();
    session.run("CREATE TABLE awkward (id INTEGER PRIMARY KEY, v VARCHAR(200))").unwrap();
    let loaded = session.load("awkward", &["id", "v"], &mut |sink| {
        let mut rows = texts.iter().enumerate();
        rows.try_for_each(|(id, text)| sink(&[Value::Int(id as i64), Value::Text(text.as_bytes())]))
    });
    assert_eq!(loaded.unwrap(), texts.len() as u64);
    let found = session.rows("SELECT v FROM awkward ORDER BY id").unwrap();
    for (text, row) in texts.iter().zip(&found) {
        assert_eq!(row[0].as_deref(), Some(*text), "{}", text.escape_debug());
    }
    session.run("DROP TABLE awkward").unwrap();
}

mod mysql {
    use super::*;

    const DIALECT: Dialect = Dialect::MySql;

    /// Makes an account for one test. `how` is what follows IDENTIFIED.
    pub fn account(name: &str, how: &str) -> Login {
        let mut root = admin(DIALECT);
        // 5.5 has no IF EXISTS here; the account is only there when an earlier run was cut off.
        let _ = root.run(&format!("DROP USER {name}@'%'"));
        root.run(&format!("CREATE USER {name}@'%' IDENTIFIED {how}")).unwrap();
        root.run(&format!("GRANT ALL ON {}.* TO {name}@'%'", variable("DBDUEL_TEST_DATABASE"))).unwrap();
        login(name, "s3cret pass")
    }

    /// Only MySQL from 8.0 has it, and only before MySQL 9 the older one as well.
    pub fn has_plugin(name: &str) -> bool {
        let sql = format!("SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = '{name}'");
        let there = admin(DIALECT).value(&sql).unwrap().as_deref() == Some("1");
        if !there {
            eprintln!("skipped: this server has no {name}");
        }
        there
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_native_password_opens_and_a_wrong_one_does_not() {
        if !has_plugin("mysql_native_password") {
            return;
        }
        let by_default = admin(DIALECT).value("SELECT @@version").unwrap().unwrap();
        let how = if by_default.starts_with("8.") { "WITH mysql_native_password BY" } else { "BY" };
        let known = account("native", &format!("{how} 's3cret pass'"));
        let mut session = Admin::connect(DIALECT, &socket(), &known, LIMIT).unwrap();
        assert!(session.value("SELECT CURRENT_USER()").unwrap().unwrap().starts_with("native@"));
        refused(Admin::connect(DIALECT, &socket(), &login("native", "wrong"), LIMIT), "1045");
        refused(Admin::connect(DIALECT, &socket(), &login("native", ""), LIMIT), "1045");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn caching_sha2_opens_in_full_and_then_from_the_cache() {
        if !has_plugin("caching_sha2_password") {
            return;
        }
        let known = account("sha2", "WITH caching_sha2_password BY 's3cret pass'");
        refused(Admin::connect(DIALECT, &socket(), &login("sha2", "wrong"), LIMIT), "1045");
        for way in ["in full", "from the cache"] {
            let mut session = Admin::connect(DIALECT, &socket(), &known, LIMIT).expect(way);
            assert!(session.value("SELECT CURRENT_USER()").unwrap().unwrap().starts_with("sha2@"), "{way}");
        }
        refused(Admin::connect(DIALECT, &socket(), &login("sha2", "wrong"), LIMIT), "1045");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn caching_sha2_over_tcp_seals_the_password_for_the_servers_key() {
        if !has_plugin("caching_sha2_password") {
            return;
        }
        let known = account("sealed", "WITH caching_sha2_password BY 's3cret pass'");
        let tcp = tcp();
        refused(Admin::connect(DIALECT, &tcp, &login("sealed", "wrong"), LIMIT), "1045");
        for way in ["sealed", "from the cache"] {
            let mut session = Admin::connect(DIALECT, &tcp, &known, LIMIT).expect(way);
            assert!(session.value("SELECT CURRENT_USER()").unwrap().unwrap().starts_with("sealed@"), "{way}");
        }
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn errors_have_their_kind_and_leave_a_connection_that_works() {
        check_errors(DIALECT, "1064");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn values_of_every_kind_come_back_as_they_were_sent() {
        let types = "id INT PRIMARY KEY, small TINYINT NOT NULL, byte TINYINT UNSIGNED NOT NULL, large BIGINT, \
                     money DECIMAL(12,2), rate DECIMAL(4,4), words VARCHAR(24), day DATETIME";
        check_values(DIALECT, types, "id, small, byte, large, money, rate, words, day");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn one_side_of_a_deadlock_is_told_to_try_again() {
        check_deadlock(DIALECT);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_statement_that_is_given_up_does_not_run_on() {
        let running = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO = 'SELECT SLEEP(600)'";
        check_called_off(DIALECT, "SELECT SLEEP(600)", running);
        check_cancelled(DIALECT, "SELECT SLEEP(600)", running);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_killed_session_is_lost() {
        check_killed(DIALECT, "SELECT CONNECTION_ID()", "KILL {}");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_row_and_a_statement_may_be_longer_than_a_packet() {
        check_long_row(DIALECT, LONG_BYTES);
    }

    /// Both ways, on a connection that blocks and on one of a reactor; a row of 17 MiB takes many frames.
    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_compressed_connection_carries_the_same() {
        let login = Login { compressed: true, ..administrator(Dialect::MySql) };
        let connect = || AnyConnection::connect(Dialect::MySql, &socket(), &login, LIMIT).unwrap();
        let mut session = connect();
        assert_eq!(session.rows("SHOW STATUS LIKE 'Compression'").unwrap()[0][1].as_deref(), Some("ON"));
        let mut polled = Polled::new(connect());
        for length in [1, 60, 4_000, LONG_BYTES] {
            let text = "ab".repeat(length / 2 + 1)[..length].to_owned();
            let sql = format!("SELECT LENGTH('{text}'), '{text}'");
            let expected = [Some(length.to_string()), Some(text)];
            assert!(session.rows(&sql).unwrap()[0] == expected, "{length} bytes");
            let mut rows = Rows::default();
            polled.complete(async |connection| connection.query_into(&sql, &mut rows).await).unwrap();
            assert_eq!(rows.text(0, 1).len(), length);
        }
        let mut insert = connect();
        query(&mut insert, "DROP TABLE IF EXISTS squeezed").unwrap();
        query(&mut insert, "CREATE TABLE squeezed (id INTEGER, t TEXT)").unwrap();
        let row = insert.prepare("INSERT INTO squeezed VALUES (?, ?)").unwrap();
        let text = [b'z'; 3_000];
        for id in 0..100 {
            complete(insert.execute(row, &[Value::Int(id), Value::Text(&text)])).unwrap();
        }
        insert.reconnect(LIMIT).unwrap();
        complete(insert.execute(row, &[Value::Int(100), Value::Text(&text)])).unwrap();
        let sums = insert.rows("SELECT COUNT(*), SUM(LENGTH(t)) FROM squeezed").unwrap();
        assert_eq!(sums[0], [Some("101".to_owned()), Some("303000".to_owned())]);
        query(&mut insert, "DROP TABLE squeezed").unwrap();
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn load_data_brings_every_byte() {
        check_bulk_load(&mut admin(DIALECT));
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_killed_session_opens_again_with_its_statements() {
        let account = account("reconnects", "BY 's3cret pass'");
        let list = "SELECT id FROM information_schema.processlist WHERE user = 'reconnects'";
        check_reconnect(DIALECT, &account, list, "KILL {}");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_server_that_does_not_encrypt_gets_no_password() {
        check_no_tls(DIALECT);
    }

    /// An error behind results must not be lost among them, nor the call after it.
    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_call_gives_the_rows_of_all_its_results_and_the_error_behind_them() {
        let mut session = connection(DIALECT);
        query(&mut session, "DROP PROCEDURE IF EXISTS results").unwrap();
        let make = "CREATE PROCEDURE results(p INT) BEGIN SELECT 1.50, 'one'; SELECT p; \
                    IF p = 0 THEN INSERT INTO no_such_table VALUES (1); END IF; END";
        query(&mut session, make).unwrap();
        let call = session.prepare("CALL results(?)").unwrap();
        let mut rows = Rows::default();
        for _ in 0..2 {
            let answer = complete(session.fetch(call, &[Value::Int(7)], &mut rows)).unwrap();
            assert_eq!((answer.rows, rows.len()), (2, 2));
            assert_eq!((rows.decimal(0, 0, 2), rows.text(0, 1)), (Ok(150), b"one".as_slice()));
            assert_eq!((rows.cell(1, 0), rows.cell(1, 1)), (Some(Cell::Int(7)), None));
            let failed = complete(session.fetch(call, &[Value::Int(0)], &mut rows));
            assert!(matches!(&failed, Err(Error::Refused { code, .. }) if code.as_str() == "1146"), "{failed:?}");
        }
        query(&mut session, "DROP PROCEDURE results").unwrap();
    }
}

mod postgres {
    use super::*;

    const DIALECT: Dialect = Dialect::Postgres;

    /// Makes an account whose password is kept and asked for by `method`, in front of the rule that
    /// trusts every user on the socket.
    pub fn account(name: &str, method: &str) -> Login {
        let mut admin = admin(DIALECT);
        admin.run(&format!("SET password_encryption = '{method}'")).unwrap();
        admin.run(&format!("DROP ROLE IF EXISTS {name}")).unwrap();
        admin.run(&format!("CREATE ROLE {name} LOGIN PASSWORD 's3cret pass'")).unwrap();
        let rules = admin.value("SHOW hba_file").unwrap().unwrap();
        let old = std::fs::read_to_string(&rules).unwrap();
        std::fs::write(&rules, format!("local all {name} {method}\n{old}")).unwrap();
        admin.rows("SELECT pg_reload_conf()").unwrap();
        // New rules hold once the postmaster has read them: a wrong password is then refused.
        let wrong = || Admin::connect(DIALECT, &socket(), &login(name, "wrong"), LIMIT);
        let started = std::time::Instant::now();
        while wrong().is_ok() {
            assert!(started.elapsed() < LIMIT, "the new rule never came into force");
            std::thread::yield_now();
        }
        refused(wrong(), "28P01");
        login(name, "s3cret pass")
    }

    fn opens(name: &str, method: &str) {
        let known = account(name, method);
        let mut session = Admin::connect(DIALECT, &socket(), &known, LIMIT).unwrap();
        assert_eq!(session.value("SELECT current_user").unwrap().as_deref(), Some(name));
    }

    /// One test for both, because both write to the same file of rules.
    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn md5_and_scram_open_and_a_wrong_password_does_not() {
        opens("by_md5", "md5");
        opens("by_scram", "scram-sha-256");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn errors_have_their_kind_and_leave_a_connection_that_works() {
        check_errors(DIALECT, "42601");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn values_of_every_kind_come_back_as_they_were_sent() {
        let types = "id INT PRIMARY KEY, small SMALLINT NOT NULL, byte SMALLINT NOT NULL, large BIGINT, \
                     money NUMERIC(12,2), rate NUMERIC(4,4), words VARCHAR(24), day TIMESTAMP";
        check_values(DIALECT, types, "id, small, byte, large, money, rate, words, day");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn one_side_of_a_deadlock_is_told_to_try_again() {
        check_deadlock(DIALECT);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_statement_that_is_given_up_does_not_run_on() {
        let running = "SELECT COUNT(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)' AND state = 'active'";
        check_called_off(DIALECT, "SELECT pg_sleep(600)", running);
        check_cancelled(DIALECT, "SELECT pg_sleep(600)", running);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_killed_session_is_lost() {
        check_killed(DIALECT, "SELECT pg_backend_pid()", "SELECT pg_terminate_backend({})");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_row_and_a_statement_may_be_longer_than_a_packet_of_mysql() {
        check_long_row(DIALECT, LONG_BYTES / 2);
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn copy_brings_every_byte() {
        check_bulk_load(&mut admin(DIALECT));
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_killed_session_opens_again_with_its_statements() {
        admin(DIALECT).run("DROP ROLE IF EXISTS reconnects").unwrap();
        admin(DIALECT).run("CREATE ROLE reconnects LOGIN").unwrap();
        let list = "SELECT pid FROM pg_stat_activity WHERE usename = 'reconnects'";
        check_reconnect(DIALECT, &login("reconnects", ""), list, "SELECT pg_terminate_backend({})");
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_server_that_does_not_encrypt_gets_no_password() {
        check_no_tls(DIALECT);
    }

    /// Without a text there is nothing to allocate for an error that belongs to normal life.
    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn an_exception_of_a_function_comes_with_its_own_code_and_no_text() {
        let mut session = connection(DIALECT);
        query(&mut session, "DROP FUNCTION IF EXISTS raises(integer)").unwrap();
        let make = "CREATE FUNCTION raises(p integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN \
                    IF p = 0 THEN RAISE EXCEPTION USING ERRCODE = 'TPC01', MESSAGE = ''; END IF; RETURN p; END $$";
        query(&mut session, make).unwrap();
        let call = session.prepare("SELECT * FROM raises($1)").unwrap();
        let mut rows = Rows::default();
        for _ in 0..2 {
            let raised = complete(session.fetch(call, &[Value::Int(0)], &mut rows));
            assert_eq!(raised, Err(Error::Refused { code: Code::new(b"TPC01"), message: String::new() }));
            complete(session.fetch(call, &[Value::Int(7)], &mut rows)).unwrap();
            assert_eq!(rows.int(0, 0), Ok(7));
        }
        query(&mut session, "DROP FUNCTION raises(integer)").unwrap();
    }
}

/// A certificate of the roots that the server trusts, and a server whose name is not looked at or is another.
fn check_certificates(dialect: Dialect, known: &Login) {
    let connect = |tls, certificates: driver::Certificates| {
        Admin::connect(dialect, &tcp(), &Login { tls, certificates, ..known.clone() }, LIMIT)
    };
    let own = driver::Certificates {
        roots: Some(variable("SSL_CERT_FILE").into()),
        chain: Some(variable("DBDUEL_TEST_CERTIFICATE").into()),
        key: Some(variable("DBDUEL_TEST_KEY").into()),
        server_name: None,
    };
    assert!(connect(Tls::Require, driver::Certificates::default()).is_err(), "no certificate");
    for tls in [Tls::Require, Tls::VerifyCa, Tls::Verify] {
        connect(tls, own.clone()).unwrap_or_else(|error| panic!("{tls:?}: {error}"));
    }
    let elsewhere = driver::Certificates { server_name: Some("elsewhere.example".to_owned()), ..own.clone() };
    connect(Tls::VerifyCa, elsewhere.clone()).unwrap();
    let error = connect(Tls::Verify, elsewhere).err().unwrap().to_string();
    assert!(error.contains("verify-ca"), "{error}");
    // The server's certificate vouches for nobody but itself.
    let stranger = driver::Certificates { roots: own.chain.clone(), ..own };
    assert!(connect(Tls::VerifyCa, stranger).is_err(), "a wrong authority");
}

mod mysql_tls {
    use super::*;

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn an_account_that_requires_a_certificate_opens_with_one() {
        check_certificates(Dialect::MySql, &super::mysql::account("bearer", "BY 's3cret pass' REQUIRE X509"));
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn ed25519_and_sha256_open_and_a_wrong_password_does_not() {
        // MariaDB has the first as a plugin to be installed; MySQL has the second, which seals the password without TLS.
        let _ = admin(Dialect::MySql).run("INSTALL SONAME 'auth_ed25519'");
        let ed25519 = "VIA ed25519 USING PASSWORD('s3cret pass')";
        for (plugin, how) in [("ed25519", ed25519), ("sha256_password", "WITH sha256_password BY 's3cret pass'")] {
            if !super::mysql::has_plugin(plugin) {
                continue;
            }
            let known = super::mysql::account("other", how);
            for tls in [Tls::Require, Tls::Off] {
                let connect = |login: Login| Admin::connect(Dialect::MySql, &tcp(), &Login { tls, ..login }, LIMIT);
                connect(known.clone()).unwrap_or_else(|error| panic!("{plugin}, {tls:?}: {error}"));
                refused(connect(login("other", "wrong")), "1045");
            }
        }
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn sessions_are_encrypted_where_that_was_asked_for() {
        check_tls(Dialect::MySql, "SHOW STATUS LIKE 'Ssl_cipher'");
    }

    /// What is encrypted already need not be sealed for the server's key.
    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn caching_sha2_opens_in_full_and_then_from_the_cache() {
        if !super::mysql::has_plugin("caching_sha2_password") {
            return;
        }
        let known = super::mysql::account("inside", "WITH caching_sha2_password BY 's3cret pass'");
        let encrypted = |login: Login| Login { tls: Tls::Require, ..login };
        refused(Admin::connect(Dialect::MySql, &tcp(), &encrypted(login("inside", "wrong")), LIMIT), "1045");
        for way in ["in full", "from the cache"] {
            let mut session = Admin::connect(Dialect::MySql, &tcp(), &encrypted(known.clone()), LIMIT).expect(way);
            assert!(session.value("SELECT CURRENT_USER()").unwrap().unwrap().starts_with("inside@"), "{way}");
        }
    }
}

mod postgres_tls {
    use super::*;

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn sessions_are_encrypted_where_that_was_asked_for() {
        check_tls(Dialect::Postgres, "SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    }

    /// The rule asks for a certificate beside the password; the login itself is bound to its session.
    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn a_rule_that_requires_a_certificate_opens_with_one_and_a_login_is_bound_to_its_session() {
        let known = super::postgres::account("bearer", "scram-sha-256");
        let mut admin = admin(Dialect::Postgres);
        let rules = admin.value("SHOW hba_file").unwrap().unwrap();
        let old = std::fs::read_to_string(&rules).unwrap();
        let rule = "hostssl all bearer 127.0.0.1/32 scram-sha-256 clientcert=verify-ca";
        std::fs::write(&rules, format!("{rule}\nhost all bearer all reject\n{old}")).unwrap();
        admin.rows("SELECT pg_reload_conf()").unwrap();
        let started = std::time::Instant::now();
        while Admin::connect(Dialect::Postgres, &tcp(), &known, LIMIT).is_ok() {
            assert!(started.elapsed() < LIMIT, "the new rule never came into force");
            std::thread::yield_now();
        }
        let bound = driver::ChannelBinding::Require;
        check_certificates(Dialect::Postgres, &Login { channel_binding: bound, ..known.clone() });
        check_certificates(
            Dialect::Postgres,
            &Login { channel_binding: driver::ChannelBinding::Disable, ..known.clone() },
        );
        std::fs::write(&rules, old).unwrap();
        admin.rows("SELECT pg_reload_conf()").unwrap();
        let over_nothing = Login { channel_binding: bound, ..known };
        assert!(Admin::connect(Dialect::Postgres, &socket(), &over_nothing, LIMIT).is_err(), "no session to bind to");
    }
}
