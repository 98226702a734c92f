//! Errors that servers give to those who benchmark, provoked on a real server: each has its code and its advice.
//!
//! Limits of the whole server are changed here, so that this program has one test for each kind of server.

mod real_server;

use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use driver::{Admin, Dialect, Error, Login, Secret, advice_in};

use real_server::{LIMIT, administrator, login, socket, variable};

fn open(dialect: Dialect, login: &Login) -> Result<Admin, Error> {
    Admin::connect(dialect, &socket(), login, LIMIT)
}

/// Runs all of them in a new session; the last one fails.
fn failure(dialect: Dialect, login: &Login, statements: &[&str]) -> Error {
    let mut session = open(dialect, login).unwrap();
    let (last, before) = statements.split_last().unwrap();
    for sql in before {
        session.run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    session.rows(last).err().unwrap_or_else(|| panic!("{last} does not fail"))
}

fn explained(error: &Error, codes: &[&str]) {
    let text = error.to_string();
    assert!(codes.iter().any(|code| text.contains(&format!("server error {code}"))), "{codes:?}: {text}");
    assert!(advice_in(&text).is_some(), "no advice: {text}");
}

/// A session that the server ended, with its last words or without.
fn explained_loss(error: &Error) {
    let text = error.to_string();
    assert!(text.contains("connection lost"), "{text}");
    assert!(advice_in(&text).is_some(), "no advice: {text}");
}

/// What a server lacks that is older, or of the other kind, cannot be provoked there.
fn provoke(dialect: Dialect, login: &Login, codes: &[&str], statements: &[&str], needs: &str) {
    let is_there = needs.is_empty() || open(dialect, login).unwrap().run(needs).is_ok();
    match is_there {
        true => explained(&failure(dialect, login, statements), codes),
        false => eprintln!("skipped: {codes:?} needs {needs}"),
    }
}

/// Two transactions that each wait for the row of the other.
fn deadlock(dialect: Dialect, login: &Login) -> Error {
    let both_begun = Barrier::new(2);
    let changes = |own: u32, other: u32| {
        let mut session = open(dialect, login).unwrap();
        let change = |id: u32| format!("UPDATE advised_locks SET x = 8 WHERE id = {id}");
        session.run("BEGIN").unwrap();
        session.run(&change(own)).unwrap();
        both_begun.wait();
        session.run(&change(other))
    };
    let ends = std::thread::scope(|scope| {
        let one = scope.spawn(|| changes(1, 2));
        [changes(2, 1), one.join().unwrap()]
    });
    ends.into_iter().find_map(Result::err).expect("one of them is chosen")
}

mod mysql {
    use super::*;

    const DIALECT: Dialect = Dialect::MySql;

    fn account(name: &str, grant: &str) -> Login {
        let mut root = open(DIALECT, &administrator(DIALECT)).unwrap();
        // 5.5 has no IF EXISTS here; the account is only there when an earlier run was cut off.
        let _ = root.run(&format!("DROP USER {name}@'%'"));
        root.run(&format!("CREATE USER {name}@'%' IDENTIFIED BY 's3cret pass'")).unwrap();
        root.run(&format!("GRANT {grant} TO {name}@'%'")).unwrap();
        login(name, "s3cret pass")
    }

    fn logins(known: &Login) {
        let refused = |login: &Login| open(DIALECT, login).err().expect("it is refused");
        let wrong = Login { password: Some(Secret::new("wrong")), ..known.clone() };
        explained(&refused(&wrong), &["1045"]);
        let nowhere = Login { database: Some("nowhere".to_owned()), ..administrator(DIALECT) };
        explained(&refused(&nowhere), &["1049"]);
        let mut admin = open(DIALECT, &administrator(DIALECT)).unwrap();
        let limit = "ALTER USER advised@'%' WITH MAX_USER_CONNECTIONS 1";
        let grant = "GRANT USAGE ON *.* TO advised@'%' WITH MAX_USER_CONNECTIONS 1";
        assert!(admin.run(limit).is_ok() || admin.run(grant).is_ok());
        let _held = open(DIALECT, known).unwrap();
        explained(&refused(known), &["1226"]);
        // The least that servers take is 1, 10 or 151, by version.
        let before = admin.value("SELECT @@GLOBAL.max_connections").unwrap().unwrap();
        admin.run("SET GLOBAL max_connections = 1").unwrap();
        let mut held = Vec::new();
        let full = (0..400).find_map(|_| open(DIALECT, &administrator(DIALECT)).map(|one| held.push(one)).err());
        admin.run(&format!("SET GLOBAL max_connections = {before}")).unwrap();
        explained(&full.expect("the server has a limit"), &["1040"]);
    }

    fn statements(known: &Login) {
        let root = administrator(DIALECT);
        let provoke = |codes: &[&str], statements: &[&str], needs: &str| {
            provoke(DIALECT, &root, codes, statements, needs);
        };
        provoke(&["1146"], &["SELECT * FROM is_not_there"], "");
        explained(&failure(DIALECT, known, &["SELECT * FROM mysql.user"]), &["1142"]);
        explained(&failure(DIALECT, known, &["SET GLOBAL max_connections = 100"]), &["1227"]);
        provoke(&["1193"], &["SET no_such_setting = 1"], "");
        provoke(&["1231"], &["SET SESSION sql_mode = 'NO_SUCH_MODE'"], "");
        provoke(&["1298"], &["SET time_zone = 'Nowhere/Town'"], "");
        provoke(
            &["1792"],
            &["START TRANSACTION READ ONLY", "UPDATE advised_locks SET x = 7"],
            "START TRANSACTION READ ONLY",
        );
        provoke(&["1390"], &[&format!("PREPARE many FROM 'SELECT {}1'", "?,".repeat(65_536))], "");
        let modern = "SELECT @@sql_require_primary_key";
        provoke(&["3750"], &["SET sql_require_primary_key = ON", "CREATE TABLE never (x INT)"], modern);
        let late = "SELECT COUNT(*) FROM information_schema.columns a, information_schema.columns b, \
                    information_schema.columns c";
        provoke(&["3024"], &["SET max_execution_time = 5", late], "SELECT @@max_execution_time");
        provoke(&["1969"], &["SET max_statement_time = 0.005", late], "SET max_statement_time = 0.005");
    }

    /// What a setting of the whole server refuses to sessions that begin then.
    fn under_limits(admin: &mut Admin, known: &Login) {
        let mut refused = |setting: &str, value: &str, statement: &str, code: &str| {
            let before = admin.value(&format!("SELECT @@GLOBAL.{setting}")).unwrap().unwrap();
            admin.run(&format!("SET GLOBAL {setting} = {value}")).unwrap();
            let error = open(DIALECT, known).unwrap().rows(statement).err();
            admin.run(&format!("SET GLOBAL {setting} = {before}")).unwrap();
            explained(&error.expect("it is refused"), &[code]);
        };
        refused("read_only", "1", "UPDATE advised_locks SET x = 10", "1290");
        refused("max_allowed_packet", "1024", &format!("SELECT '{}'", "x".repeat(100_000)), "1153");
    }

    /// Sessions that the server ends: one is killed, another waits too long.
    fn losses(admin: &mut Admin, known: &Login) {
        let mut killed = open(DIALECT, known).unwrap();
        let id = killed.value("SELECT CONNECTION_ID()").unwrap().unwrap();
        admin.run(&format!("KILL {id}")).unwrap();
        explained_loss(&killed.rows("SELECT 1").unwrap_err());
        let mut idle = open(DIALECT, known).unwrap();
        idle.run("SET SESSION wait_timeout = 1").unwrap();
        std::thread::sleep(Duration::from_secs(3));
        explained_loss(&idle.rows("SELECT 1").unwrap_err());
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn what_servers_refuse_is_explained() {
        let known = account("advised", &format!("ALL ON {}.*", variable("DBDUEL_TEST_DATABASE")));
        let mut admin = open(DIALECT, &administrator(DIALECT)).unwrap();
        admin.run("DROP TABLE IF EXISTS advised_locks").unwrap();
        admin.run("CREATE TABLE advised_locks (id INT PRIMARY KEY, x INT) ENGINE = InnoDB").unwrap();
        admin.run("INSERT INTO advised_locks VALUES (1, 1), (2, 1)").unwrap();
        statements(&known);
        let before = admin.value("SELECT @@GLOBAL.max_prepared_stmt_count").unwrap().unwrap();
        admin.run("SET GLOBAL max_prepared_stmt_count = 0").unwrap();
        let refused = admin.fetch("SELECT 1", &[]).err();
        admin.run(&format!("SET GLOBAL max_prepared_stmt_count = {before}")).unwrap();
        explained(&refused.expect("no statement can be prepared"), &["1461"]);
        admin.run("BEGIN").unwrap();
        admin.run("UPDATE advised_locks SET x = 2").unwrap();
        let waits = ["SET innodb_lock_wait_timeout = 1", "UPDATE advised_locks SET x = 3"];
        provoke(DIALECT, &administrator(DIALECT), &["1205"], &waits, "SET innodb_lock_wait_timeout = 1");
        admin.run("ROLLBACK").unwrap();
        explained(&deadlock(DIALECT, &administrator(DIALECT)), &["1213"]);
        under_limits(&mut admin, &known);
        let function = "CREATE FUNCTION advised() RETURNS INT DETERMINISTIC RETURN 1";
        explained(&failure(DIALECT, &known, &[function]), &["1419"]);
        losses(&mut admin, &known);
        admin.run("DROP TABLE advised_locks").unwrap();
        logins(&known);
    }
}

mod postgres {
    use super::*;

    const DIALECT: Dialect = Dialect::Postgres;

    fn process_of(session: &mut Admin) -> String {
        session.value("SELECT pg_backend_pid()").unwrap().unwrap()
    }

    fn signal(name: &str, pid: &str) {
        assert!(Command::new("kill").args(["-s", name, pid]).status().unwrap().success());
    }

    /// One process of the server crashes: it ends all sessions and recovers, and lets nobody in before the last of them is
    /// gone. A stopped one, which it gives some seconds, makes that long enough to be seen.
    fn crash(root: &Login) {
        let [mut crashed, mut stopped] = [(); 2].map(|()| open(DIALECT, root).unwrap());
        let (stopping, crashing) = (process_of(&mut stopped), process_of(&mut crashed));
        let sleeper = root.clone();
        let other = std::thread::spawn(move || {
            let mut session = open(DIALECT, &sleeper).unwrap();
            session.rows("SELECT pg_sleep(20)").unwrap_err()
        });
        let sleeps = "SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(20)'";
        while open(DIALECT, root).unwrap().value(sleeps).unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        signal("STOP", &stopping);
        signal("KILL", &crashing);
        explained_loss(&crashed.rows("SELECT 1").unwrap_err());
        explained(&other.join().unwrap(), &["57P02"]);
        explained(&open(DIALECT, root).err().expect("it recovers"), &["57P03"]);
        let since = Instant::now();
        while let Err(error) = open(DIALECT, root) {
            assert!(since.elapsed() < LIMIT, "{error}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    #[test]
    #[ignore = "needs a server: cargo xtask engines"]
    fn what_servers_refuse_is_explained() {
        let root = administrator(DIALECT);
        let provoke = |codes: &[&str], statements: &[&str]| provoke(DIALECT, &root, codes, statements, "");
        provoke(&["42P01"], &["SELECT * FROM is_not_there"]);
        provoke(&["25006"], &["SET default_transaction_read_only = on", "CREATE TABLE never (x INT)"]);
        provoke(&["57014"], &["SET statement_timeout = 20", "SELECT pg_sleep(5)"]);
        provoke(&["42P05"], &["PREPARE s0 AS SELECT 1", "PREPARE s0 AS SELECT 1"]);
        provoke(&["26000"], &["EXECUTE never_prepared"]);
        provoke(&["42704"], &["SET no_such_setting = 1"]);
        provoke(&["22023"], &["SET work_mem = 'much'"]);
        provoke(&["57P01"], &["SELECT pg_terminate_backend(pg_backend_pid())"]);
        let nowhere = Login { database: Some("nowhere".to_owned()), ..root.clone() };
        explained(&open(DIALECT, &nowhere).err().expect("it is refused"), &["3D000"]);

        let mut admin = open(DIALECT, &root).unwrap();
        admin.run("DROP TABLE IF EXISTS advised_locks").unwrap();
        admin.run("CREATE TABLE advised_locks (id INT PRIMARY KEY, x INT)").unwrap();
        admin.run("INSERT INTO advised_locks VALUES (1, 1), (2, 1)").unwrap();
        admin.run("BEGIN").unwrap();
        admin.run("UPDATE advised_locks SET x = 2").unwrap();
        provoke(&["55P03"], &["SET lock_timeout = 20", "UPDATE advised_locks SET x = 3"]);
        admin.run("COMMIT").unwrap();
        let mut other = open(DIALECT, &root).unwrap();
        other.run("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
        other.rows("SELECT * FROM advised_locks").unwrap();
        admin.run("UPDATE advised_locks SET x = 4").unwrap();
        explained(&other.run("UPDATE advised_locks SET x = 5").unwrap_err(), &["40001"]);
        admin.run("ROLLBACK").unwrap();
        other.run("ROLLBACK").unwrap();
        explained(&deadlock(DIALECT, &root), &["40P01"]);
        let locks = "SELECT count(pg_advisory_xact_lock(g)) FROM generate_series(1, 5000000) g";
        provoke(&["53200"], &[locks]);
        explained(&admin.fetch("SELECT $1::int", &[]).unwrap_err(), &["08P01"]);
        // A disk that is full at its first byte.
        provoke(&["53100"], &["COPY (SELECT repeat('x', 100000)) TO '/dev/full'"]);
        explained(&open(DIALECT, &login("nobody_here", "")).err().expect("it is refused"), &["28000", "28P01"]);
        admin.run("DROP ROLE IF EXISTS advised").unwrap();
        admin.run("CREATE ROLE advised").unwrap();
        provoke(&["42501"], &["SET ROLE advised", "SELECT * FROM advised_locks"]);
        drop(other);
        admin.run("DROP TABLE advised_locks").unwrap();
        admin.run("DROP ROLE advised").unwrap();

        let mut held = Vec::new();
        let full = (0..2000).find_map(|_| open(DIALECT, &root).map(|one| held.push(one)).err());
        explained(&full.expect("the server has a limit"), &["53300"]);
        drop(held);
        drop(admin);
        crash(&root);
    }
}
