//! A server killed in the middle of a trial: the trial fails, what was acknowledged is there, the run goes on.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::{Place, text, wait_for};
use driver::{Admin, Dialect, Endpoint, Login};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Loading a warehouse without optimisation, on a machine that does other things too.
const LOAD_LIMIT: Duration = Duration::from_secs(400);
/// Rows of history of one warehouse, and some Payments.
const UNDER_WAY: u64 = 30_000 + 50;

struct Kind {
    name: &'static str,
    program: &'static str,
    dialect: Dialect,
    user: &'static str,
    socket: &'static str,
}

/// The system's server of a kind; prints a line when there is none.
fn is_installed(place: &Place, kind: &Kind) -> bool {
    let engines: Vec<Value> = serde_json::from_str(&place.expect(0, &["list", "engines", "--json"]).0).unwrap();
    let found = engines.iter().any(|row| {
        row["engine"].as_str().unwrap().starts_with(kind.name)
            && row["source"].as_str().unwrap().starts_with("installed")
    });
    if !found {
        // Not by `eprintln!`, which the test harness swallows.
        let skipped = format!("skipped: no {} is installed on this machine\n", kind.name);
        std::io::stderr().write_all(skipped.as_bytes()).unwrap();
    }
    found
}

/// The socket file of the server that runs now.
fn socket(place: &Place, kind: &Kind) -> Option<PathBuf> {
    let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    inside(place.path().join("cache/work"))
        .flat_map(inside)
        .map(|folder| folder.join(kind.socket))
        .find(|file| file.exists())
}

/// Rows of history, as soon as the server answers.
fn payments(place: &Place, kind: &Kind) -> Option<u64> {
    let login = Login { user: kind.user.to_owned(), database: Some("sbtest".to_owned()), ..Login::default() };
    let endpoint = Endpoint::Unix(socket(place, kind)?);
    let mut admin = Admin::connect(kind.dialect, &endpoint, &login, Duration::from_secs(5)).ok()?;
    admin.value("SELECT COUNT(*) FROM history").ok()??.parse().ok()
}

/// The process that works in this place's cache under the server's own name.
fn server(place: &Place, kind: &Kind) -> i32 {
    let cache = place.path().join("cache");
    let word = cache.to_str().unwrap();
    let is_server = |process: &PathBuf| {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
        name.trim() == kind.program && String::from_utf8_lossy(&arguments).contains(word)
    };
    let found = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).find(is_server).unwrap();
    found.file_name().unwrap().to_str().unwrap().parse().unwrap()
}

fn a_killed_server_has_what_it_acknowledged(kind: &Kind) {
    let place = Place::new();
    if !is_installed(&place, kind) {
        return;
    }
    let engine = format!("engine = \"{}@system\"", kind.name);
    place.write(
        "try.toml",
        &format!(
            "name = \"Killed\"\nquestion = \"Is it all there?\"\n\
             contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine} }}]\n\
             workload = {{ name = \"tpcc\", warehouses = 1 }}\nsweep.clients = [4]\n\
             method = {{ preset = \"quick\", duration = \"4s\", warmup = \"0s\", blocks = 1 }}\n"
        ),
    );
    let running = place.start(&["run", "try.toml"]);
    wait_for("Payments", LOAD_LIMIT, || payments(&place, kind).is_some_and(|rows| rows > UNDER_WAY));
    kill(Pid::from_raw(server(&place, kind)), Signal::SIGKILL).unwrap();
    let ended = running.end();
    let records = place.trials();
    assert_eq!(records.len(), 2, "{}", text(&ended.stderr));
    let message = records[0]["failure"]["message"].as_str().unwrap();
    assert!(message.contains("started again on the same files: all "), "{message}");
    for words in
        [" acknowledged New-Orders are there, all ", " acknowledged Payments are there, ", "data are consistent"]
    {
        assert!(message.contains(words), "{words} not in {message}");
    }
    assert!(message.contains("signal 9") || message.contains("killed"), "{message}");
    assert_eq!((&records[0]["failure"]["step"], &records[1]["status"]), (&"measure".into(), &"ok".into()), "{message}");
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
}

#[test]
fn a_killed_mariadb_has_what_it_acknowledged_and_the_run_goes_on() {
    a_killed_server_has_what_it_acknowledged(&Kind {
        name: "mariadb",
        program: "mariadbd",
        dialect: Dialect::MySql,
        user: "root",
        socket: "sock",
    });
}

#[test]
fn a_killed_postgres_has_what_it_acknowledged_and_the_run_goes_on() {
    a_killed_server_has_what_it_acknowledged(&Kind {
        name: "postgres",
        program: "postgres",
        dialect: Dialect::Postgres,
        user: "postgres",
        socket: ".s.PGSQL.5432",
    });
}
