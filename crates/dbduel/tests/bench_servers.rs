//! `dbduel prepare|bench|check|cleanup` on a real server, which `cargo xtask engines` starts and names
//! in the environment. Without one these tests are ignored.

mod support;

use std::time::Duration;

use driver::{Admin, Dialect, Endpoint, Login, Secret};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{LIMIT, Place, wait_for};

const DATABASE: &str = "dbduel_bench_test";

fn from_environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run this by `cargo xtask engines`"))
}

/// A server that listens on TCP too has one.
fn password() -> Option<Secret> {
    std::env::var("DBDUEL_TEST_PASSWORD").ok().filter(|password| !password.is_empty()).map(Secret::new)
}

/// The server, and a place to run dbduel in.
struct Subject {
    place: Place,
    dialect: Dialect,
    /// Sysbench's own options for the server.
    options: String,
}

impl Subject {
    fn new(dialect: Dialect) -> Subject {
        let (socket, user) = (from_environment("DBDUEL_TEST_SOCKET"), from_environment("DBDUEL_TEST_USER"));
        let options = match dialect {
            Dialect::Postgres => {
                let (folder, port) = socket.rsplit_once("/.s.PGSQL.").expect("a PostgreSQL socket has this name");
                format!("--pgsql-host={folder} --pgsql-port={port} --pgsql-user={user} --pgsql-db={DATABASE}")
            }
            _ => format!("--mysql-socket={socket} --mysql-user={user} --mysql-db={DATABASE}"),
        };
        let family = if dialect == Dialect::Postgres { "pgsql" } else { "mysql" };
        let options = match password() {
            Some(password) => format!("{options} --{family}-password={}", password.expose()),
            None => options,
        };
        let subject = Subject { place: Place::new(), dialect, options };
        subject.drop_database();
        subject
    }

    fn admin(&self) -> Admin {
        self.admin_of(&from_environment("DBDUEL_TEST_DATABASE"))
    }

    fn admin_of(&self, database: &str) -> Admin {
        let endpoint = Endpoint::Unix(from_environment("DBDUEL_TEST_SOCKET").into());
        let database = database.to_owned();
        let user = from_environment("DBDUEL_TEST_USER");
        let login = Login { user, password: password(), database: Some(database), ..Login::default() };
        Admin::connect(self.dialect, &endpoint, &login, LIMIT).unwrap()
    }

    fn drop_database(&self) {
        self.admin().run(&format!("DROP DATABASE IF EXISTS {DATABASE}")).unwrap();
    }

    /// The test's database, as `--target` names it.
    fn url(&self) -> String {
        let (socket, user) = (from_environment("DBDUEL_TEST_SOCKET"), from_environment("DBDUEL_TEST_USER"));
        let user = password().map_or_else(|| user.clone(), |password| format!("{user}:{}", password.expose()));
        match socket.rsplit_once("/.s.PGSQL.") {
            Some((folder, port)) => format!("postgres://{user}@:{port}/{DATABASE}?host={folder}"),
            None => format!("mysql://{user}@/{DATABASE}?socket={socket}"),
        }
    }

    fn words(&self, line: &str) -> Vec<String> {
        format!("bench {} {line}", self.options).split_whitespace().map(str::to_owned).collect()
    }

    /// Runs to the end with this status; gives stdout and stderr.
    fn expect(&self, status: i32, line: &str) -> (String, String) {
        let words = self.words(line);
        self.place.expect(status, &words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn start(&self, line: &str) -> support::RunningServer {
        let words = self.words(line);
        self.place.start(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Ends every connection to the test's database and returns how many there were.
    fn kill_connections(&self) -> usize {
        let mut admin = self.admin();
        if self.dialect == Dialect::Postgres {
            let kill = format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{DATABASE}'");
            return admin.rows(&kill).unwrap().len();
        }
        let rows = admin.rows("SHOW PROCESSLIST").unwrap();
        let ours = rows.iter().filter(|row| row[3].as_deref() == Some(DATABASE));
        let ids: Vec<String> = ours.map(|row| row[0].clone().unwrap()).collect();
        for id in &ids {
            // One may have ended meanwhile.
            let killed = admin.run(&format!("KILL {id}"));
            assert!(killed.as_ref().err().is_none_or(|error| error.to_string().contains("1094")), "{killed:?}");
        }
        ids.len()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.drop_database();
        }
    }
}

fn a_command_line_of_sysbench_does_the_same_here(dialect: Dialect) {
    let subject = Subject::new(dialect);
    let tables = "oltp_read_write --tables=2 --table-size=1000";
    let (_, err) = subject.expect(4, &format!("{tables} run"));
    assert!(err.contains("there is no database") && err.contains("dbduel prepare oltp_read_write"), "{err}");
    let (out, err) = subject.expect(0, &format!("{tables} prepare"));
    assert!(out.contains("loaded 2000 rows into 2 tables") && err.contains("made the database"), "{out}{err}");
    let (out, _) = subject.expect(0, &format!("{tables} --threads=4 --events=200 --time=0 run"));
    for line in ["    total number of events:              200", "SQL statistics:", "Threads fairness:"] {
        assert!(out.lines().any(|printed| printed == line), "{line} is not in\n{out}");
    }
    subject.expect(0, &format!("{tables} check"));
    subject.expect(0, &format!("{tables} prewarm"));
    assert_eq!(subject.expect(0, &format!("{tables} cleanup")).0, "dropped sbtest1, sbtest2\n");
}

fn killed_connections_are_opened_again_and_counted(dialect: Dialect) {
    let subject = Subject::new(dialect);
    let tables = "oltp_read_write --table-size=1000";
    subject.expect(0, &format!("{tables} prepare"));
    let mut run = subject.start(&format!("{tables} --threads=4 --time=3 --report-interval=0.2 --json run"));
    run.wait_for_output("tps");
    assert_eq!(subject.kill_connections(), 4);
    let output = run.end();
    assert_eq!(output.status.code(), Some(0), "{}", support::text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["metrics"]["reconnects"].as_f64(), report["partial"].as_bool()), (Some(4.0), Some(false)));
    subject.expect(0, &format!("{tables} check"));
}

/// An account that cannot log in any more when its connections end, and one whose privileges are taken from it: what an
/// open loop did not carry out stands in the first lines, as a share of what was due.
fn transactions_that_are_lost_for_good_stand_first(dialect: Dialect) {
    let subject = Subject::new(dialect);
    let tables = "oltp_read_write --table-size=1000";
    subject.expect(0, &format!("{tables} prepare"));
    let (family, account) =
        if dialect == Dialect::Postgres { ("pgsql", "leaver") } else { ("mysql", "'leaver'@'localhost'") };
    let by_admin = |sql: &str| _ = subject.admin_of(DATABASE).run(sql).unwrap();
    let make = match dialect {
        Dialect::Postgres => "CREATE ROLE leaver LOGIN",
        _ => "CREATE USER 'leaver'@'localhost'",
    };
    by_admin(make);
    // A session of MySQL 8.0 loses its privileges with its account, and would end by that.
    let lock_out = match dialect {
        Dialect::Postgres => "ALTER ROLE leaver NOLOGIN",
        _ => "ALTER USER 'leaver'@'localhost' IDENTIFIED BY 'another'",
    };
    let line = format!("{tables} --{family}-user=leaver --{family}-password= --threads=2 --rate=40 --time=3");
    let bench = |meanwhile: &dyn Fn()| {
        by_admin(&format!("GRANT ALL ON sbtest1 TO {account}"));
        let sum = || subject.admin_of(DATABASE).value("SELECT SUM(k) FROM sbtest1").unwrap();
        let before = sum();
        let run = subject.start(&format!("{line} --format text run"));
        wait_for("it changes rows", LIMIT, || sum() != before);
        meanwhile();
        let output = run.end();
        let (out, err) = (support::text(&output.stdout), support::text(&output.stderr));
        assert_eq!(output.status.code(), Some(4), "{out}{err}");
        out
    };
    let out = bench(&|| by_admin(&format!("REVOKE ALL ON sbtest1 FROM {account}")));
    assert!(out.find("PARTIAL: a client stopped").unwrap() < out.find("\nLOST: ").unwrap(), "{out}");
    expect_lost(&out, 1);
    let alter = "ALTER USER 'leaver'@'localhost' IDENTIFIED BY ''";
    if dialect == Dialect::MySql && subject.admin_of(DATABASE).run(alter).is_err() {
        println!("skipped: this server changes no password by ALTER USER");
        return by_admin("DROP USER 'leaver'@'localhost'");
    }
    let out = bench(&|| {
        by_admin(lock_out);
        assert!(subject.kill_connections() > 0);
    });
    expect_lost(&out, 20);
    if dialect == Dialect::Postgres {
        subject.drop_database();
        subject.admin().run("DROP ROLE leaver").unwrap();
    } else {
        by_admin("DROP USER 'leaver'@'localhost'");
    }
}

/// At least so many are lost; they and those that were carried out are all that were due.
fn expect_lost(out: &str, least: u64) {
    let line = out.lines().take_while(|line| !line.is_empty()).find(|line| line.starts_with("LOST: ")).expect(out);
    let numbers: Vec<f64> = line.split([' ', '(']).filter_map(|word| word.parse().ok()).collect();
    let (lost, due, share) = (numbers[0] as u64, numbers[1] as u64, numbers[2]);
    let (_, ends) = out.split_once(" tps (").expect(out);
    let committed: u64 = ends.split(' ').next().unwrap().parse().unwrap();
    assert!(lost >= least && committed > 0 && lost + committed == due, "{out}");
    assert!((share - 100.0 * lost as f64 / due as f64).abs() <= 0.05, "{out}");
}

/// Coordinated omission, as the closed loop commits it, would show one slow transaction per client.
fn a_pause_shows_in_response_times_and_hardly_in_service_times(dialect: Dialect) {
    let subject = Subject::new(dialect);
    let pid: i32 = from_environment("DBDUEL_TEST_PID").parse().unwrap();
    subject.expect(0, "oltp_point_select --table-size=1000 prepare");
    let line = "oltp_point_select --table-size=1000 --threads=4 --rate=500 --time=5 --report-interval=0.2";
    let mut run = subject.start(&format!("{line} --percentiles=50,95 --json run"));
    run.wait_for_output("tps");
    pause_family(pid, Duration::from_secs(2));
    let output = run.end();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    // 40 % of the arrivals met the pause, but four transactions at most were under way.
    assert!(metric("latency_ms_p95") > 1_000.0, "{report}");
    assert!(metric("service_ms_p95") < 500.0, "{report}");
}

/// The user's own procedure gets the client's number and how many there are, and rests pass while other clients
/// work: two clients take turns on one event loop.
fn a_procedure_of_the_user_is_called_by_each_client(dialect: Dialect) {
    let subject = Subject::new(dialect);
    subject.expect(0, "--test=oltp --oltp-table-size=100 prepare");
    let mut admin = subject.admin_of(DATABASE);
    admin.run("CREATE TABLE calls (client INTEGER, clients INTEGER)").unwrap();
    let body = match dialect {
        Dialect::Postgres => "LANGUAGE SQL AS 'INSERT INTO calls VALUES (a, b)'",
        _ => "INSERT INTO calls VALUES (a, b)",
    };
    admin.run(&format!("CREATE PROCEDURE note_call(a INTEGER, b INTEGER) {body}")).unwrap();
    let mode = "--oltp-test-mode=sp --oltp-sp-name=note_call --oltp-user-delay-min=3000 --oltp-user-delay-max=5000";
    let line = format!("--test=oltp {mode} --num-threads=2 --workers=1 --max-requests=40 --format=json run");
    let report: Value = serde_json::from_str(&subject.expect(0, &line).0).unwrap();
    assert_eq!(report["metrics"]["queries.other"].as_f64(), Some(40.0), "{report}");
    assert!(report["metrics"]["latency_ms_min"].as_f64().unwrap() >= 3.0, "{report}");
    let calls = admin.rows("SELECT client, clients, COUNT(*) FROM calls GROUP BY client, clients ORDER BY 1").unwrap();
    let clients: Vec<&str> = calls.iter().map(|row| row[0].as_deref().unwrap()).collect();
    assert_eq!(clients, ["0", "1"], "{calls:?}");
    assert!(calls.iter().all(|row| row[1].as_deref() == Some("2")), "{calls:?}");
    assert_eq!(calls.iter().map(|row| row[2].as_deref().unwrap().parse::<u32>().unwrap()).sum::<u32>(), 40);
}

/// MyISAM has no transactions, so 0.4 locks the table around each request.
fn a_table_without_transactions_is_locked() {
    let subject = Subject::new(Dialect::MySql);
    subject.expect(0, "--test=oltp --oltp-table-size=100 --mysql-table-engine=myisam prepare");
    let mut admin = subject.admin();
    let mut count = |name: &str| {
        let rows = admin.rows(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).unwrap();
        rows[0][1].as_deref().unwrap().parse::<u64>().unwrap()
    };
    let mut counts = || ["Com_lock_tables", "Com_unlock_tables", "Com_begin"].map(&mut count);
    let before = counts();
    let (out, _) = subject.expect(0, "--test=oltp --oltp-table-size=100 --num-threads=3 --max-requests=30 run");
    let after = counts();
    assert_eq!([0, 1, 2].map(|at| after[at] - before[at]), [30, 30, 0]);
    assert!(out.contains("Using \"LOCK TABLES sbtest WRITE\" for starting transactions"), "{out}");
    assert!(out.contains("        other:                           60\n"), "{out}");
    subject.expect(0, "--test=oltp --oltp-table-size=100 check");
}

/// Tables with keys that were not asked for, and without those that were; on a workload that can ask for them.
fn foreign_keys_that_are_not_as_asked_for_are_flagged_and_both_are_stated(dialect: Dialect) {
    let subject = Subject::new(dialect);
    subject.expect(0, "tpcc --warehouses=1 prepare");
    let run = |options: &str| {
        let line = format!("tpcc --warehouses=1 --clients=1 --events=5 {options} --format text run");
        subject.expect(0, &line).0
    };
    let out = run("");
    assert!(out.contains("foreign keys: none asked for, none there\n") && !out.contains("flag: foreign"), "{out}");
    let out = run("--fk=on");
    assert!(out.contains("foreign keys: 10 asked for, none there\n"), "{out}");
    assert!(out.contains("flag: foreign-keys (10 were asked for, 0 are there)"), "{out}");
    let key = "ALTER TABLE district ADD CONSTRAINT mine FOREIGN KEY (d_w_id) REFERENCES warehouse (w_id)";
    subject.admin_of(DATABASE).run(key).unwrap();
    let out = run("");
    assert!(out.contains("foreign keys: none asked for, 1 there\n"), "{out}");
    assert!(out.contains("flag: foreign-keys (0 were asked for, 1 are there)"), "{out}");
}

/// Indexes, and the storage engine where there are several.
fn tables_of_another_form_are_flagged(dialect: Dialect) {
    let subject = Subject::new(dialect);
    subject.expect(0, "oltp_update_index --table-size=100 --create-secondary=off prepare");
    let line = "oltp_update_index --table-size=100 --events=5 --format text run";
    let (out, _) = subject.expect(0, line);
    assert!(out.contains("flag: form-of-tables (sbtest1 has no index on k)"), "{out}");
    subject.admin_of(DATABASE).run("CREATE INDEX k_1 ON sbtest1 (k)").unwrap();
    let (out, _) = subject.expect(0, line);
    assert!(!out.contains("form-of-tables"), "{out}");
    if dialect == Dialect::MySql {
        subject.admin_of(DATABASE).run("ALTER TABLE sbtest1 ENGINE = MyISAM").unwrap();
        let (out, _) = subject.expect(0, line);
        assert!(out.contains("flag: form-of-tables (sbtest1 is of the storage engine myisam, not innodb)"), "{out}");
    }
}

/// Neither a lock nor a statement of a command outlives its interruption.
fn an_interrupted_command_leaves_no_statement_behind(dialect: Dialect) {
    let subject = Subject::new(dialect);
    subject.expect(0, "oltp_point_select --table-size=100 prepare");
    let (mut holder, mut other) = (subject.admin_of(DATABASE), subject.admin());
    let (lock, at_work) = match dialect {
        Dialect::Postgres => {
            (["BEGIN", "LOCK TABLE sbtest1"], "pg_stat_activity WHERE datname = '{}' AND state = 'active' AND query")
        }
        _ => (["SET @a = 1", "LOCK TABLES sbtest1 WRITE"], "information_schema.PROCESSLIST WHERE DB = '{}' AND INFO"),
    };
    for sql in lock {
        holder.run(sql).unwrap();
    }
    // MySQL 5.5 shows the holder's LOCK TABLES for a moment after its answer; the command waits in another statement on
    // each server, on MariaDB before its DROP.
    let count = format!("SELECT COUNT(*) FROM {} NOT LIKE 'LOCK %'", at_work.replace("{}", DATABASE));
    let mut waits = |expected: &str| other.value(&count).unwrap().as_deref() == Some(expected);
    let run = subject.start("oltp_point_select --table-size=100 cleanup");
    wait_for("it waits for the table", LIMIT, || waits("1"));
    run.signal(libc::SIGINT);
    assert_eq!(run.end().status.code(), Some(130));
    wait_for("its statement ends", LIMIT, || waits("0"));
}

/// A replayed statement that runs beyond its limit is cancelled on the server, and its session goes on with the next.
fn a_replayed_statement_that_runs_too_long_is_cancelled(dialect: Dialect) {
    let subject = Subject::new(dialect);
    subject.expect(0, "oltp_point_select --table-size=100 prepare");
    let line = |(number, (second, statement)): (usize, (u32, &str))| match dialect {
        Dialect::Postgres => format!(
            "2026-11-23 04:41:{second}.000 UTC,\"app\",\"shop\",7,\"[local]\",7.1,{number},\"x\",2026-11-23 04:41:00 UTC,1/1,0,LOG,00000,\"statement: {statement}\",,,,,,,,,\"app\",\"client backend\",,0\n"
        ),
        _ => format!("2026-11-23T04:41:{second}.000000Z\t    9 Query\t{statement}\n"),
    };
    let slow = if dialect == Dialect::Postgres { "select pg_sleep(600)" } else { "select sleep(600)" };
    let statements = [(40, "select 1"), (41, slow), (42, "select 2")];
    subject.place.write("long.log", &statements.into_iter().enumerate().map(line).collect::<String>());
    let target = format!("--target={}", subject.url());
    let words = ["bench", "replay", "--log=long.log", "--statement-limit=500ms", "--json", &target];
    let (out, _) = subject.place.expect(0, &words);
    let report: Value = serde_json::from_str(&out).unwrap();
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    assert_eq!((metric("replay.cancelled"), metric("replay.statements")), (1.0, 3.0), "{report}");
}

/// The same server by two names: by its socket file and by a link to it.
fn clients_connect_to_the_servers_of_a_list() {
    let subject = Subject::new(Dialect::MySql);
    let socket = from_environment("DBDUEL_TEST_SOCKET");
    let other = subject.place.path().join("other.sock");
    std::os::unix::fs::symlink(&socket, &other).unwrap();
    subject.expect(0, "oltp_point_select --table-size=100 prepare");
    let both = format!("--mysql-socket={socket},{}", other.display());
    let line = format!("oltp_point_select {both} --table-size=100 --threads=4 --events=40 --json run");
    let report: Value = serde_json::from_str(&subject.expect(0, &line).0).unwrap();
    assert_eq!(report["target"].as_str().unwrap().matches("mysql://").count(), 2, "{report}");
    std::fs::remove_file(&other).unwrap();
    let (_, err) = subject.expect(4, &line);
    assert!(err.contains("other.sock: "), "{err}");
}

/// More clients than the server has connections for, and more statements than it lets be prepared.
fn what_the_server_has_too_little_of_is_refused_before_the_load(dialect: Dialect) {
    let subject = Subject::new(dialect);
    let tables = "oltp_read_write --table-size=100";
    subject.expect(0, &format!("{tables} prepare"));
    let (_, err) = subject.expect(4, &format!("{tables} --threads=900 run"));
    let change = if dialect == Dialect::Postgres { "ALTER SYSTEM SET" } else { "SET GLOBAL" };
    assert!(err.contains("error: ") && err.contains("`max_connections` = "), "{err}");
    assert!(err.contains("900 clients need 900 connections\n  next: ") && err.contains(change), "{err}");
    if dialect == Dialect::MySql {
        let mut admin = subject.admin();
        let before = admin.value("SELECT @@max_prepared_stmt_count").unwrap().unwrap();
        admin.run("SET GLOBAL max_prepared_stmt_count = 40").unwrap();
        let (_, err) = subject.expect(4, &format!("{tables} --threads=4 run"));
        let as_text = subject.expect(0, &format!("{tables} --threads=4 --events=20 --db-ps-mode=disable run"));
        admin.run(&format!("SET GLOBAL max_prepared_stmt_count = {before}")).unwrap();
        assert!(err.contains("`max_prepared_stmt_count` = 40: 4 clients prepare 44"), "{err}");
        assert!(err.contains("--db-ps-mode=disable"), "{err}");
        assert!(as_text.0.contains("total number of events:              20"), "{}{}", as_text.0, as_text.1);
    }
}

/// Stops a server and its children for a while; the pause is what is tested, and waits for nothing.
fn pause_family(pid: i32, time: Duration) {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let family: Vec<i32> = children.split_whitespace().map(|child| child.parse().unwrap()).chain([pid]).collect();
    let signal = |signal| {
        for pid in &family {
            kill(Pid::from_raw(*pid), signal).unwrap();
        }
    };
    signal(Signal::SIGSTOP);
    std::thread::sleep(time);
    signal(Signal::SIGCONT);
}

macro_rules! on {
    ($module:ident, $dialect:expr, { $($more:item)* }) => {
        mod $module {
            use super::*;

            #[test]
            #[ignore = "needs a server"]
            fn a_command_line_of_sysbench_does_the_same_here() {
                super::a_command_line_of_sysbench_does_the_same_here($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn killed_connections_are_opened_again_and_counted() {
                super::killed_connections_are_opened_again_and_counted($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn transactions_that_are_lost_for_good_stand_first() {
                super::transactions_that_are_lost_for_good_stand_first($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn a_pause_shows_in_response_times_and_hardly_in_service_times() {
                super::a_pause_shows_in_response_times_and_hardly_in_service_times($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn a_procedure_of_the_user_is_called_by_each_client() {
                super::a_procedure_of_the_user_is_called_by_each_client($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn foreign_keys_that_are_not_as_asked_for_are_flagged_and_both_are_stated() {
                super::foreign_keys_that_are_not_as_asked_for_are_flagged_and_both_are_stated($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn tables_of_another_form_are_flagged() {
                super::tables_of_another_form_are_flagged($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn an_interrupted_command_leaves_no_statement_behind() {
                super::an_interrupted_command_leaves_no_statement_behind($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn what_the_server_has_too_little_of_is_refused_before_the_load() {
                super::what_the_server_has_too_little_of_is_refused_before_the_load($dialect);
            }

            #[test]
            #[ignore = "needs a server"]
            fn a_replayed_statement_that_runs_too_long_is_cancelled() {
                super::a_replayed_statement_that_runs_too_long_is_cancelled($dialect);
            }
            $($more)*
        }
    };
}

on!(mysql, Dialect::MySql, {
    #[test]
    #[ignore = "needs a server"]
    fn a_table_without_transactions_is_locked() {
        super::a_table_without_transactions_is_locked();
    }

    #[test]
    #[ignore = "needs a server"]
    fn clients_connect_to_the_servers_of_a_list() {
        super::clients_connect_to_the_servers_of_a_list();
    }
});
on!(postgres, Dialect::Postgres, {});
