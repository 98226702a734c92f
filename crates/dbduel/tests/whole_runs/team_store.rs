//! Runs of a team in PostgreSQL, with a real server. Where none is installed that is reported as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use driver::{Admin, Dialect, Endpoint, Login};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use store::{Store, StoreUrl, schema};

use crate::serve::{address, page};
use crate::support::{LIMIT, Place, text, wait_for};
use crate::targets::Held;

const QUICK: &str = "contender = [{ engine = \"sqlite\" }, { name = \"twin\", engine = \"sqlite\" }]\n\
    workload = { name = \"oltp_point_select\", rows = 200, rate = 100 }\nsweep.clients = [1, 2]\n\
    method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2 }\n";
/// Two contenders at two points in two blocks.
const TRIALS: usize = 8;

/// A place with a PostgreSQL server for its stores.
struct Team {
    place: Place,
    server: Held,
}

impl Team {
    fn new() -> Option<Team> {
        let place = Place::new();
        let server = Held::start(&place, "postgres", &["--tcp"])?;
        Some(Team { place, server })
    }

    fn fact(&self, name: &str) -> &str {
        self.server.reached_by[name].as_str().unwrap()
    }

    fn url(&self, schema: &str) -> String {
        format!("postgres://postgres@localhost/{}?host={}&schema={schema}", self.fact("database"), self.fact("socket"))
    }

    /// A session in a schema.
    fn admin(&self, schema: &str) -> Admin {
        let login = Login {
            user: "postgres".to_owned(),
            database: Some(self.fact("database").to_owned()),
            on_connect: vec![format!("SET search_path = {schema}")],
            ..Login::default()
        };
        let endpoint = Endpoint::Unix(PathBuf::from(self.fact("socket")));
        Admin::connect(Dialect::Postgres, &endpoint, &login, Duration::from_secs(10)).unwrap()
    }

    fn value(&self, schema: &str, sql: &str) -> String {
        self.admin(schema).value(sql).unwrap().unwrap_or_default()
    }

    /// A finished run; its folder.
    fn run(&self) -> PathBuf {
        self.place.write("try.toml", QUICK);
        self.place.expect(0, &["run", "try.toml"]);
        self.place.run().unwrap()
    }
}

/// All files of a folder with their bytes, but for the lock.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => found.extend(files(&entry)),
            false if entry.ends_with("lock") => {}
            false => found.push((entry.clone(), fs::read(&entry).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn a_run_is_pushed_listed_reported_verified_and_pulled_to_the_byte() {
    let Some(team) = Team::new() else { return };
    let (run, url) = (team.run(), team.url("team"));
    let (place, name) = (&team.place, run.file_name().unwrap().to_str().unwrap());
    let nothing = place.expect(4, &["runs", "--store", &url]).1;
    assert!(nothing.contains("there is no store of dbduel in schema `team`") && nothing.contains("next:"), "{nothing}");
    let (pushed, noted) = place.expect(0, &["push", "last", "--store", &url]);
    assert!(pushed.starts_with(&format!("{name}: {TRIALS} trials and ")), "{pushed}");
    assert!(noted.contains("making the tables of a store in schema `team`"), "{noted}");
    let pushed_at = team.value("team", "SELECT pushed_at FROM run");
    let (again, noted) = place.expect(0, &["push", name, "--store", &url]);
    assert_eq!((again, noted), (format!("{name}: is there already, with {TRIALS} trials\n"), String::new()));
    assert_eq!(team.value("team", "SELECT pushed_at FROM run"), pushed_at, "a second push changes nothing");

    let listed = place.expect(0, &["runs", "--store", &url, "--json"]).0;
    let listed: Vec<Value> = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["run"], name);
    assert_eq!(listed[0]["ended"], "blocks");
    assert_eq!(listed[0]["trials"], format!("{TRIALS} of {TRIALS}"));
    assert!(place.expect(0, &["runs", "--store", &url]).0.contains("completed"));
    assert!(place.expect(0, &["runs"]).0.contains(name));

    let json = |arguments: &[&str]| place.expect(0, &[&["report", "--format", "json"], arguments].concat()).0;
    let of_the_folder = json(&[name]);
    for run in [name, "last", listed[0]["id"].as_str().unwrap(), "try"] {
        assert!(json(&[run, "--store", &url]) == of_the_folder, "{run}: the report from the store differs");
    }
    assert!(!place.expect(0, &["report", "--store", &url]).0.contains("Full report"), "the copy's folder is gone");
    let compared = place.expect(0, &["compare", name, name, "--store", &url]).0;
    assert_eq!(compared, place.expect(0, &["compare", name, name]).0);
    let verified = place.expect(0, &["verify", "last", "--store", &url]).0;
    assert!(verified.contains("everything comes out as it is stored"), "{verified}");

    place.expect(0, &["pull", "last", "--store", &url, "--runs", "pulled"]);
    assert!(json(&[name, "--runs", "pulled"]) == of_the_folder, "the report of the pulled folder differs");
    place.expect(0, &["verify", name, "--runs", "pulled"]);
    let pulled = place.path().join("pulled").join(name);
    let inside = |folder: &Path| -> Vec<(PathBuf, Vec<u8>)> {
        files(folder).into_iter().map(|(path, bytes)| (path.strip_prefix(folder).unwrap().to_owned(), bytes)).collect()
    };
    assert!(inside(&pulled) == inside(&run), "the pulled folder differs");
    let (there, _) = place.expect(0, &["pull", name, "--store", &url, "--runs", "pulled"]);
    assert!(there.contains("is there already"), "{there}");
    fs::write(pulled.join("plan.json"), fs::read_to_string(pulled.join("plan.json")).unwrap() + " ").unwrap();
    let refused = place.expect(5, &["pull", name, "--store", &url, "--runs", "pulled"]).1;
    assert!(refused.contains("plan.json"), "{refused}");

    let median = "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY value) > 0 FROM tps WHERE metric = 'tps'";
    assert_eq!(team.value("team", median), "t");
    assert_eq!(team.value("team", "SELECT count(*) FROM tps WHERE contender = 'twin'"), (TRIALS / 2).to_string());
    team.admin("team").run("DELETE FROM run").unwrap();
    assert_eq!(team.value("team", "SELECT (SELECT count(*) FROM trial) + (SELECT count(*) FROM file)"), "0");
}

/// The checksums that a message names.
fn checksums(message: &str) -> usize {
    message.split(|letter: char| !letter.is_ascii_hexdigit()).filter(|word| word.len() == 64).count()
}

#[test]
fn what_contradicts_the_store_is_refused_and_changes_nothing() {
    let Some(team) = Team::new() else { return };
    let (run, url, place) = (team.run(), team.url("dbduel"), &team.place);
    place.expect(0, &["push", "last", "--store", &url]);
    let sum = "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM (SELECT record FROM trial UNION ALL SELECT sha256 FROM file UNION ALL SELECT record FROM run) AS t";
    let stored = team.value("dbduel", sum);
    for (file, from, to) in [
        ("trials.ndjson", "\"tps\":", "\"tps\":1"),
        ("trials/1/series.csv", "second", "seconds"),
        ("run.json", "\"cores\"", "\"cares\""),
        ("report.txt", "try", "tri"),
    ] {
        let kept = fs::read_to_string(run.join(file)).unwrap();
        fs::write(run.join(file), kept.replacen(from, to, 1)).unwrap();
        let changed = fs::read_to_string(run.join(file)).unwrap() != kept;
        assert!(changed, "{file} has no {from}");
        let is_readable = file != "run.json";
        let refused = place.expect(if is_readable { 5 } else { 4 }, &["push", "last", "--store", &url]).1;
        assert!(!is_readable || checksums(&refused) == 2, "{refused}");
        fs::write(run.join(file), kept).unwrap();
    }
    assert_eq!(team.value("dbduel", sum), stored);

    team.admin("dbduel").run("UPDATE file SET content = 'x' WHERE path = 'trials/1/series.csv'").unwrap();
    let damaged = place.expect(5, &["report", "last", "--store", &url]);
    assert!(damaged.1.contains("trials/1/series.csv") && checksums(&damaged.1) == 2, "{}", damaged.1);
    team.admin("dbduel").run("UPDATE file SET path = '../../outside' WHERE path = 'trials/1/series.csv'").unwrap();
    let hostile = place.expect(4, &["pull", "last", "--store", &url, "--runs", "pulled"]).1;
    assert!(hostile.contains("no path inside a run's folder"), "{hostile}");
    assert!(!place.path().join("outside").exists() && !place.path().join("pulled/outside").exists());

    team.admin("dbduel").run("UPDATE format SET version = 99").unwrap();
    for arguments in [["push", "last"], ["report", "last"], ["verify", "last"]] {
        let newer = place.expect(4, &[arguments[0], arguments[1], "--store", &url]).1;
        assert!(
            newer.contains("version 99") && newer.contains("writes 1") && newer.contains("newer dbduel"),
            "{newer}"
        );
    }
    place.expect(2, &["push", "last"]);
    place.expect(2, &["report", "last", "--store", "postgres://localhost/x"]);
    place.expect(2, &["run", "try.toml", "--store", "mysql://me@localhost/x"]);
}

#[test]
fn two_pushers_at_once_end_like_one() {
    let Some(team) = Team::new() else { return };
    let (run, place) = (team.run(), &team.place);
    for round in 0..5 {
        let schema = format!("round_{round}");
        let url = team.url(&schema);
        let start = || {
            let mut command = place.command(&["push", "last", "--store", &url]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let pushers = [start(), start()];
        for pusher in pushers {
            let output = pusher.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        }
        assert_eq!(team.value(&schema, "SELECT count(*) FROM trial"), TRIALS.to_string());
        assert_eq!(team.value(&schema, "SELECT state FROM run"), "ended");
        // All files but run.json and trials.ndjson, which are texts of their own.
        let expected = files(&run).len() - 2;
        assert_eq!(team.value(&schema, "SELECT count(*) FROM file"), expected.to_string());
        place.expect(0, &["verify", "last", "--store", &url]);
    }
}

#[test]
fn trials_are_pushed_while_a_run_goes_on_and_a_store_that_is_killed_does_not_end_it() {
    let Some(team) = Team::new() else { return };
    let (url, place) = (team.url("dbduel"), &team.place);
    place.write("try.toml", &QUICK.replace("500ms", "1s"));
    let run = place.start(&["run", "try.toml", "--store", &url]);
    let stored = || {
        let exists = team.value("dbduel", "SELECT to_regclass('run') IS NOT NULL") == "t";
        exists && team.value("dbduel", "SELECT count(*) >= 2 FROM trial") == "t"
    };
    wait_for("two trials in the store", LIMIT, stored);
    assert_eq!(team.value("dbduel", "SELECT state FROM run"), "running");
    let reported = place.expect(0, &["report", "last", "--store", &url]).0;
    assert!(reported.contains("twin"), "{reported}");
    let pid = team.server.reached_by["pid"].as_i64().unwrap() as i32;
    kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    let ended = run.end();
    let noted = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0), "{noted}");
    assert!(noted.contains("trials not pushed: ") && noted.contains("next: dbduel push runs/try-"), "{noted}");
    assert_eq!(place.trials().len(), TRIALS);

    let Some(other) = Held::start(place, "postgres", &[]) else { return };
    let url = format!("postgres://postgres@localhost/sbtest?host={}", other.reached_by["socket"].as_str().unwrap());
    let (pushed, _) = place.expect(0, &["push", "last", "--store", &url]);
    assert!(pushed.contains(&format!("{TRIALS} trials")), "{pushed}");
    place.expect(0, &["verify", "last", "--store", &url]);
}

#[test]
fn a_run_whose_store_answers_is_there_when_it_ends_and_one_without_a_store_runs_all_the_same() {
    let Some(team) = Team::new() else { return };
    let (url, place) = (team.url("dbduel"), &team.place);
    place.write("try.toml", QUICK);
    let output = place.command(&["run", "try.toml"]).env("DBDUEL_STORE", &url).output().unwrap();
    let noted = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{noted}");
    assert!(noted.contains(&format!("{TRIALS} trials of try-")), "{noted}");
    assert_eq!(team.value("dbduel", "SELECT state FROM run"), "ended");
    let (pushed, _) = place.expect(0, &["push", "last", "--store", &url]);
    assert!(pushed.contains("is there already"), "{pushed}");
    let json = |arguments: &[&str]| place.expect(0, &[&["report", "last", "--format", "json"], arguments].concat()).0;
    assert!(json(&["--store", &url]) == json(&[]), "the report from the store differs");
    fs::remove_dir_all(place.path().join("runs")).unwrap();
    let away = "postgres://me@127.0.0.1:1/results";
    let (_, noted) = place.expect(0, &["run", "try.toml", "--store", away]);
    assert!(noted.contains("the store is away") && noted.contains(&format!("{TRIALS} trials not pushed")), "{noted}");
}

#[test]
fn a_store_is_served_and_what_is_pushed_meanwhile_appears() {
    let Some(team) = Team::new() else { return };
    let (first, url, place) = (team.run(), team.url("dbduel"), &team.place);
    let name = |run: &Path| run.file_name().unwrap().to_str().unwrap().to_owned();
    place.expect(0, &["push", "last", "--store", &url]);
    let mut server = place.start(&["serve", "--listen", "127.0.0.1:0", "--store", &url]);
    let address = address(&mut server);
    let list = page(&address, "/");
    assert!(list.contains(&name(&first)) && list.contains("Runs in postgres:"), "{list}");
    let report = page(&address, &format!("/report?run={}", name(&first)));
    assert!(report.starts_with("HTTP/1.1 200") && report.contains("twin"), "{report}");
    fs::remove_dir_all(&first).unwrap();
    let second = team.run();
    assert!(!page(&address, "/").contains(&name(&second)));
    place.expect(0, &["push", "last", "--store", &url]);
    wait_for("the second run on the page", LIMIT, || page(&address, "/").contains(&name(&second)));
    server.signal(libc::SIGINT);
    server.end();
    let left = fs::read_dir(place.path().join("tmp")).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(left.count(), 0, "copies of the runs are left");
}

#[test]
fn no_password_is_in_a_dump_of_the_store() {
    let Some(team) = Team::new() else { return };
    let place = &team.place;
    let marker = team.fact("password").to_owned();
    let target = format!("postgres://postgres:{marker}@127.0.0.1:{}/sbtest", team.server.reached_by["port"]);
    place.write(
        "try.toml",
        &format!(
            "# password = \"{marker}\"\n{}",
            QUICK.replace(
                "{ name = \"twin\", engine = \"sqlite\" }",
                &format!("{{ name = \"twin\", target = \"{target}\" }}")
            )
        ),
    );
    let url = format!("{target}?schema=kept");
    place.expect(0, &["run", "try.toml", "--store", &url]);
    let run = place.run().unwrap();
    assert!(fs::read_to_string(run.join("experiment.toml")).unwrap().contains("***"));
    fs::create_dir_all(run.join("logs")).unwrap();
    fs::write(run.join("logs/other.log"), format!("ALTER ROLE a PASSWORD '{marker}'\n")).unwrap();
    let (pushed, _) = place.expect(0, &["push", "last", "--store", &url]);
    assert!(pushed.contains("1 file"), "{pushed}");
    let dump = "SELECT string_agg(line, '') FROM (SELECT run::text AS line FROM run UNION ALL SELECT trial::text FROM trial \
        UNION ALL SELECT path || encode(content, 'escape') FROM file) AS lines";
    let dump = team.value("kept", dump);
    assert!(dump.contains("ALTER ROLE a PASSWORD") && dump.contains("twin"), "the dump lacks what was pushed");
    assert!(!dump.contains(&marker), "the password is in the store");
}

#[test]
fn an_older_store_is_taken_to_the_newer_version_by_one_of_those_who_come_at_once() {
    let Some(team) = Team::new() else { return };
    let url = StoreUrl::parse(&team.url("older")).unwrap();
    let at_once = |steps: &[&str]| -> usize {
        let notes = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let note = |line: &str| notes.lock().unwrap().push(line.to_owned());
                    schema::prepare(&mut url.connect().unwrap(), &url, steps, &note).unwrap();
                });
            }
        });
        notes.into_inner().unwrap().len()
    };
    assert_eq!(at_once(schema::STEPS), 1);
    let newer = [schema::STEPS, &["ALTER TABLE run ADD COLUMN note text"][..]].concat();
    assert_eq!((at_once(&newer), at_once(&newer)), (1, 0));
    assert_eq!(team.value("older", "SELECT version FROM format"), (schema::STEPS.len() + 1).to_string());
    assert_eq!(team.value("older", "SELECT count(note) FROM run"), "0");
    let refused = Store::open(&url, &|_| {}).err().unwrap().to_string();
    assert!(refused.contains("newer dbduel"), "{refused}");
    // A step that fails takes back those before it.
    let broken = [newer.as_slice(), &["CREATE TABLE another (x integer)", "no statement"][..]].concat();
    let failed = schema::prepare(&mut url.connect().unwrap(), &url, &broken, &|_| {});
    assert!(failed.is_err() && team.value("older", "SELECT to_regclass('another') IS NULL") == "t");
}

#[test]
fn a_role_that_may_not_make_tables_is_given_the_sql_for_one_that_may() {
    let Some(team) = Team::new() else { return };
    let (_, place) = (team.run(), &team.place);
    let mut admin = team.admin("public");
    admin.run("CREATE ROLE reader LOGIN PASSWORD 'reader'").unwrap();
    let url = format!("postgres://reader@127.0.0.1:{}/sbtest", team.server.reached_by["port"]);
    let push = || {
        let output = place.command(&["push", "last", "--store", &url]).env("DBDUEL_STORE_PASSWORD", "reader").output();
        let output = output.unwrap();
        (output.status.code().unwrap(), text(&output.stderr))
    };
    let (status, refused) = push();
    assert!(
        status == 4 && refused.contains("may not make the tables") && refused.contains("--schema-sql"),
        "{refused}"
    );
    let (sql, _) = place.expect(0, &["runs", "--store", &url, "--schema-sql"]);
    admin.run(&sql).unwrap();
    let allow =
        "GRANT USAGE ON SCHEMA dbduel TO reader; GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA dbduel TO reader";
    admin.run(allow).unwrap();
    let (status, noted) = push();
    assert_eq!(status, 0, "{noted}");
}

#[test]
fn a_server_that_logs_its_statements_does_not_log_the_password_that_it_is_given() {
    let place = Place::new();
    if place.installed("postgres").is_none() {
        return;
    }
    place.write(
        "try.toml",
        "contender = [{ engine = \"postgres@system\", settings = { log_statement = \"all\" } }, { name = \"twin\", \
         engine = \"sqlite\" }]\nworkload = { name = \"oltp_point_select\", rows = 100 }\nsweep.clients = [1]\n\
         clients = { transport = \"tcp\" }\n\
         method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 1 }\n",
    );
    place.expect(0, &["run", "try.toml"]);
    let logs: Vec<u8> = files(&place.run().unwrap()).into_iter().flat_map(|(_, bytes)| bytes).collect();
    let logs = String::from_utf8_lossy(&logs);
    assert!(
        logs.contains("statement: ") && !logs.contains("ALTER ROLE"),
        "a statement with the password is in the log"
    );
}
