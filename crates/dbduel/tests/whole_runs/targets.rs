//! Contenders that name a server which dbduel does not manage, from outside.
//!
//! SQLite files are targets too, so most needs no server; MariaDB and PostgreSQL are started by the
//! hidden `hold` of dbduel and reached by their URLs. One that is not on this machine is reported as
//! skipped.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::support::{LIMIT, Place, wait_for};
use rusqlite::Connection;
use serde_json::Value;

const METHOD: &str = "sweep.clients = [2]\n\
    method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2 }\n";

fn experiment(workload: &str, contenders: &[&str]) -> String {
    let contenders: Vec<String> = contenders.iter().map(|one| format!("{{ {one} }}")).collect();
    format!(
        "contender = [{}]\nworkload = {{ name = \"{workload}\", rows = 500, rate = 100 }}\n{METHOD}",
        contenders.join(", ")
    )
}

/// An empty database file, and the contender that names it.
fn sqlite_target(place: &Place, name: &str) -> (Connection, String) {
    let file = place.path().join(format!("{name}.db"));
    let database = Connection::open(&file).unwrap();
    // An empty file is made by the first change of it.
    database.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (x); INSERT INTO mine VALUES (7);").unwrap();
    (database, format!("name = \"{name}\", target = \"sqlite://{}\"", file.display()))
}

fn count(database: &Connection, table: &str) -> i64 {
    database.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn targets_and_managed_servers_compete_and_what_is_not_known_is_absent() {
    let place = Place::new();
    let (database, target) = sqlite_target(&place, "mine");
    place.write("try.toml", &experiment("oltp_read_write", &["engine = \"sqlite\"", &target]));
    place.expect(0, &["run", "try.toml"]);
    assert!(place.whole_report("last").contains("dbduel does not manage these servers: "));
    place.assert_every_trial_ran_once();
    for trial in place.trials() {
        assert_eq!(trial["status"], "ok", "{trial}");
        // A data directory of our own has a share in the page cache; a target has no data directory.
        let is_known = trial["metrics"]["data_resident_share"].is_number();
        assert_eq!(is_known, trial["contender"] == "sqlite", "{trial}");
    }
    let contender = &place.json("plan.json")["contenders"][1];
    let (url, storage) = (contender["target"].as_str().unwrap(), &contender["storage"]);
    assert!(url.starts_with("sqlite:///") && storage == "its own", "{contender}");
    assert!(place.json("plan.json")["contenders"][0].get("target").is_none());
    assert_eq!((count(&database, "sbtest1"), count(&database, "mine")), (500, 1));
    place.expect(0, &["report", "last", "--format", "html"]);
}

#[test]
fn a_table_that_dbduel_did_not_make_is_lost_only_where_the_user_says_so() {
    let place = Place::new();
    let (database, target) = sqlite_target(&place, "mine");
    database.execute_batch("CREATE TABLE sbtest1 (x); INSERT INTO sbtest1 VALUES (1), (2)").unwrap();
    let file = |target: &str| {
        experiment("oltp_point_select", &["engine = \"sqlite\"", "name = \"twin\", engine = \"sqlite\"", target])
    };
    place.write("try.toml", &file(&target));
    let (_, stderr) = place.expect(4, &["run", "try.toml"]);
    assert!(
        stderr.contains("cannot prepare contender `mine`") && stderr.contains("`sbtest1` that dbduel did not make"),
        "{stderr}"
    );
    assert_eq!(count(&database, "sbtest1"), 2);
    // The others were measured all the same.
    let measured = place.trials().iter().filter(|trial| trial["status"] == "ok").count();
    assert_eq!(measured, 2 * 2);
    std::fs::remove_dir_all(place.path().join("runs")).unwrap();
    place.write("try.toml", &file(&format!("{target}, overwrite = true")));
    place.expect(0, &["run", "try.toml"]);
    assert_eq!(count(&database, "sbtest1"), 500);
}

/// Runs two trials on a target; gives how often its table was loaded, and its state in the end.
fn loads(workload: &str) -> (i64, String) {
    let place = Place::new();
    let (database, target) = sqlite_target(&place, "mine");
    // dbduel writes a row down as fresh after each load of its table.
    let witness = "CREATE TABLE loads (state); \
        CREATE TABLE dbduel_meta (name VARCHAR(64) NOT NULL PRIMARY KEY, data VARCHAR(64), state VARCHAR(64)); \
        CREATE TRIGGER witness AFTER INSERT ON dbduel_meta WHEN NEW.state LIKE 'fresh %' \
        BEGIN INSERT INTO loads VALUES (NEW.state); END;";
    database.execute_batch(witness).unwrap();
    place.write("try.toml", &experiment(workload, &["engine = \"sqlite\"", &target]));
    place.expect(0, &["run", "try.toml"]);
    assert_eq!(place.trials().iter().filter(|trial| trial["contender"] == "mine").count(), 2);
    let state = "SELECT state FROM dbduel_meta WHERE name = 'sbtest1'";
    (count(&database, "loads"), database.query_row(state, [], |row| row.get(0)).unwrap())
}

#[test]
fn tables_are_fresh_before_each_trial_that_writes() {
    // The last trial wrote: the next one loads again.
    assert_eq!(loads("oltp_write_only"), (2, "used".to_owned()));
}

#[test]
fn tables_are_loaded_once_where_the_workload_only_reads() {
    let (loads, state) = loads("oltp_point_select");
    assert!(loads == 1 && state.starts_with("fresh "), "{loads} {state}");
}

#[test]
fn the_plan_names_targets_without_passwords_and_changes_with_them() {
    let place = Place::new();
    let plan = |url: &str| {
        place.write(
            "try.toml",
            &experiment("oltp_point_select", &["engine = \"sqlite\"", &format!("name = \"t\", target = \"{url}\"")]),
        );
        let (stdout, noted) = place.expect(4, &["plan", "try.toml", "--json"]);
        assert!(!stdout.contains("hunter") && !noted.contains("hunter"), "{stdout}{noted}");
        assert!(noted.contains("contender `t`: cannot reach mysql://app:***@"), "{noted}");
        serde_json::from_str::<Value>(&stdout).unwrap()["plan_hash"].as_str().unwrap().to_owned()
    };
    let first = plan("mysql://app:hunter2@db/x?socket=/no/such");
    assert_eq!(first, plan("mysql://app:hunter3@db/x?socket=/no/such"));
    assert_ne!(first, plan("mysql://app:hunter2@other/x?socket=/no/such"));
}

/// A server that lives until its standard input ends.
pub struct Held {
    child: Child,
    input: Option<ChildStdin>,
    pub reached_by: Value,
}

impl Held {
    /// None, with a line on stderr, where this machine has no such server.
    pub fn start(place: &Place, kind: &str, options: &[&str]) -> Option<Held> {
        let (listed, _) = place.expect(0, &["list", "engines", "--json"]);
        let listed: Value = serde_json::from_str(&listed).unwrap();
        let is_installed = |row: &Value| {
            row["engine"].as_str().unwrap().starts_with(kind)
                && row["source"].as_str().unwrap().starts_with("installed")
        };
        if !listed.as_array().unwrap().iter().any(is_installed) {
            let skipped = format!("skipped: no {kind} is installed on this machine\n");
            std::io::stderr().write_all(skipped.as_bytes()).unwrap();
            return None;
        }
        let name = format!("{kind}@system");
        let mut command: Command = place.command(&[&["__engines", "hold"], options, &[name.as_str()]].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, mut line) = (child.stdin.take(), String::new());
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Some(Held { child, input, reached_by: serde_json::from_str(&line).unwrap() })
    }

    fn is_alive(&self) -> bool {
        Path::new(&format!("/proc/{}", self.reached_by["pid"])).exists()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

/// Every byte that the only run of this place stored.
fn stored(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        bytes.extend(if entry.is_dir() { stored(&entry) } else { std::fs::read(&entry).unwrap() });
    }
    bytes
}

#[test]
fn two_targets_compete_one_that_is_gone_does_not_stop_them_and_no_password_is_stored() {
    let place = Place::new();
    let Some(mariadb) = Held::start(&place, "mariadb", &[]) else { return };
    let Some(postgres) = Held::start(&place, "postgres", &["--tcp"]) else { return };
    let password = postgres.reached_by["password"].as_str().unwrap();
    let maria = format!(
        "name = \"maria\", target = \"mariadb://root@localhost/sbtest?socket={}\"",
        mariadb.reached_by["socket"].as_str().unwrap()
    );
    let pg = format!(
        "name = \"pg\", target = \"postgres://postgres:{password}@127.0.0.1:{}/sbtest\"",
        postgres.reached_by["port"]
    );
    // No server listens at port 1.
    let gone = "name = \"gone\", target = \"mysql://app@127.0.0.1:1/x\"";
    place.write("try.toml", &experiment("oltp_read_write", &[&maria, &pg, gone]));
    let (_, stderr) = place.expect(4, &["run", "try.toml"]);
    assert!(
        stderr.contains(
            "cannot prepare contender `gone` (mysql://app@127.0.0.1:1/x): cannot reach mysql://app@127.0.0.1:1/x: nothing \
             listens at 127.0.0.1:1"
        ),
        "{stderr}"
    );
    for trial in place.trials() {
        assert_eq!(trial["status"] == "ok", trial["contender"] != "gone", "{trial}");
        // Nothing measured is nothing written down, above all no zero.
        let seen = |metric: &str| trial["metrics"][metric].as_f64();
        let is_measured = trial["status"] == "ok";
        assert_eq!(
            seen("cpu_us_per_tx").is_some_and(|cpu| cpu > 0.0),
            is_measured,
            "their processes are here: {trial}"
        );
        assert_eq!(seen("host_foreign_cpu_share").is_some(), is_measured, "{trial}");
    }
    let facts = place.json("run.json");
    assert!(facts["contenders"]["pg"]["version"].as_str().unwrap().starts_with("1"), "{facts}");
    assert_eq!(facts["contenders"]["maria"]["durability_class"], "D3");
    assert!(mariadb.is_alive() && postgres.is_alive());
    let kept = stored(&place.run().unwrap());
    assert!(!kept.windows(password.len()).any(|bytes| bytes == password.as_bytes()));
}

/// The command of a message's next step: in backticks, or the rest of its line.
fn suggested(message: &str) -> &str {
    let next = message.split("next: ").nth(1).unwrap_or_else(|| panic!("no next step: {message}"));
    let line = next.lines().next().unwrap();
    line.split('`').nth(1).unwrap_or_else(|| &line[line.find("dbduel").unwrap()..])
}

#[test]
fn a_suggested_line_can_be_pasted_wherever_its_password_stood() {
    for (kind, scheme) in [("mariadb", "mariadb"), ("postgres", "postgres")] {
        let place = Place::new();
        let Some(server) = Held::start(&place, kind, &["--tcp"]) else { continue };
        let fact = |name: &str| server.reached_by[name].as_str().unwrap_or_default().to_owned();
        let (user, password, port) = (fact("user"), fact("password"), server.reached_by["port"].as_u64().unwrap());
        let url = |login: String| format!("{scheme}://{login}@127.0.0.1:{port}/{}", fact("database"));
        place.write("password", &format!("{password}\n"));
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dbduel"), place.path().join("dbduel")).unwrap();
        let options = ["--rows", "50", "--tables", "2", "--events", "5"].map(str::to_owned);
        let with_file = vec!["--target".to_owned(), url(user.clone()), "--password-file".into(), "password".into()];
        for (target, variable) in [
            (vec!["--target".to_owned(), url(user.clone())], true),
            (with_file, false),
            (vec!["--target".to_owned(), url(format!("{user}:{password}"))], true),
        ] {
            let run = |mut command: Command| {
                let command = if variable { command.env("DBDUEL_PASSWORD", &password) } else { &mut command };
                let output = command.output().unwrap();
                (output.status.code(), crate::support::text(&output.stderr))
            };
            let typed = |verb: &str| {
                let words: Vec<&str> = target.iter().chain(&options).map(String::as_str).collect();
                run(place.command(&[&[verb, "oltp_read_only"], &words[..]].concat()))
            };
            let pasted = |message: &str| {
                let line = suggested(message);
                assert!(!line.contains(&password) && !line.contains("***"), "{message}");
                let path = format!("{}:{}", place.path().display(), std::env::var("PATH").unwrap());
                let mut shell = Command::new("sh");
                shell.args(["-c", line]).current_dir(place.path()).env("PATH", path);
                run(shell)
            };
            let (status, message) = typed("bench");
            assert_eq!(status, Some(4), "{message}");
            assert_eq!(pasted(&message).0, Some(0), "{kind}: {message}");
            let (status, message) = typed("prepare");
            assert_eq!(status, Some(4), "{message}");
            assert_eq!(pasted(&message).0, Some(0), "{kind}: {message}");
        }
        let (status, message) = {
            let output = place.dbduel(&["bench", "oltp_read_only", "--target", &url(user.clone())]);
            (output.status.code(), crate::support::text(&output.stderr))
        };
        assert_eq!(status, Some(4));
        assert!(message.contains("next: give the password in DBDUEL_PASSWORD or in a file"), "{kind}: {message}");
    }
}

#[test]
fn a_run_with_a_masked_password_goes_on_when_it_is_given_again() {
    let place = Place::new();
    let Some(postgres) = Held::start(&place, "postgres", &["--tcp"]) else { return };
    let (password, port) = (postgres.reached_by["password"].as_str().unwrap(), &postgres.reached_by["port"]);
    let pg = format!("name = \"pg\", target = \"postgres://postgres:{password}@127.0.0.1:{port}/sbtest\"");
    let twin = "name = \"twin\", engine = \"sqlite\"";
    place.write("try.toml", &experiment("oltp_point_select", &["engine = \"sqlite\"", twin, &pg]));
    place.expect(0, &["run", "try.toml"]);
    // As if the run had been cut off in its last trial.
    let run = place.run().unwrap();
    let records = place.records();
    std::fs::write(run.join("trials.ndjson"), records[..records.len() - 3].concat()).unwrap();
    let (_, stderr) = place.expect(4, &["run", "--resume", "last"]);
    assert!(stderr.contains("DBDUEL_PASSWORD"), "{stderr}");
    std::fs::write(run.join("trials.ndjson"), records[..records.len() - 3].concat()).unwrap();
    let output = place.command(&["run", "--resume", "last"]).env("DBDUEL_PASSWORD", password).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", crate::support::text(&output.stderr));
    assert!(place.trials().iter().all(|trial| trial["status"] == "ok"));
}

#[test]
fn tables_that_a_pass_would_drop_are_refused_unless_dbduel_made_them() {
    let place = Place::new();
    let (database, target) = sqlite_target(&place, "mine");
    database.execute_batch("CREATE TABLE Flight (x); INSERT INTO Flight VALUES (1), (2)").unwrap();
    let file = |target: &str| {
        format!(
            "contender = [{{ engine = \"sqlite\" }}, {{ name = \"twin\", engine = \"sqlite\" }}, {{ {target} }}]\n\
             workload = {{ name = \"sql-bench\", programs = [\"connect\"], small = true, loop_short = false }}\n\
             method = {{ preset = \"quick\", blocks = 2 }}\n"
        )
    };
    place.write("try.toml", &file(&target));
    let (_, stderr) = place.expect(4, &["run", "try.toml"]);
    assert!(stderr.contains("sql-bench would drop, and that dbduel did not make: Flight"), "{stderr}");
    assert_eq!(count(&database, "Flight"), 2);
    std::fs::remove_dir_all(place.path().join("runs")).unwrap();
    place.write("try.toml", &file(&format!("{target}, overwrite = true")));
    place.expect(0, &["run", "try.toml"]);
    assert!(place.trials().iter().all(|trial| trial["status"] == "ok"));
    // `connect` makes no table of that name, and so has dropped none.
    assert_eq!((count(&database, "Flight"), count(&database, "mine")), (2, 1));
}

/// A server with an address of its own is reached by it, and nothing of its network is left behind.
fn a_server_in_a_namespace_is_reached_by_its_own_address(kind: &str) {
    let place = Place::new();
    // Whether one is installed; the server is let go at once.
    if Held::start(&place, kind, &[]).is_none() {
        return;
    }
    if !nix::unistd::geteuid().is_root() {
        return crate::support::print_skipped("a network namespace needs root");
    }
    let engine = format!("engine = \"{kind}@system\"");
    let contenders =
        [&format!("name = \"near\", {engine}"), &format!("name = \"far\", {engine}, transport = \"namespace\"")];
    place.write("try.toml", &experiment("oltp_read_write", &contenders.map(String::as_str)));
    place.expect(0, &["run", "try.toml"]);
    assert!(place.trials().iter().all(|trial| trial["status"] == "ok"), "{:?}", place.trials());
    let plan = place.json("plan.json");
    assert_eq!(plan["contenders"][1]["transport"], "namespace");
    assert!(plan["contenders"][0].get("transport").is_none(), "{plan}");
    let (report, _) = place.expect(0, &["report", "last", "--full"]);
    assert!(report.contains("`far` by namespace") || report.contains("far by namespace"), "{report}");
    let is_ours = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("duel");
    // The kernel takes them away behind the last process inside; another test may have some of its own meanwhile.
    wait_for("the end of the interfaces", LIMIT, || {
        !std::fs::read_dir("/sys/class/net").unwrap().flatten().any(|entry| is_ours(&entry))
    });
    place.assert_nothing_is_left();
}

#[test]
fn a_mariadb_in_a_namespace_is_reached_by_its_own_address() {
    a_server_in_a_namespace_is_reached_by_its_own_address("mariadb");
}

#[test]
fn a_postgres_in_a_namespace_is_reached_by_its_own_address() {
    a_server_in_a_namespace_is_reached_by_its_own_address("postgres");
}
