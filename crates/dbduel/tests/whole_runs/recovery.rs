//! Experiments whose trials end in a crash, from outside, with the real program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::support::{Place, print_skipped, text, wait_for};
use driver::{Admin, Dialect, Endpoint, Login};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// Where OS crashes can be made.
fn can_crash_file_systems() -> bool {
    let can = nix::unistd::geteuid().is_root() && Path::new("/dev/loop-control").exists();
    if !can {
        print_skipped("an OS crash needs root and loop devices");
    }
    can
}

fn experiment(place: &Place, contenders: &str, crash: &str, kills: u32) {
    place.write(
        "crash.toml",
        &format!(
            "contender = [{contenders}]\n\
             workload = {{ name = \"ledger\", accounts = 200, lists = 20, clients = 2 }}\n\
             method = {{ preset = \"quick\", duration = \"1s\", warmup = \"500ms\" }}\n\
             recovery = {{ kills = {kills}, crash = \"{crash}\", full_rate_within = \"0s\" }}\n"
        ),
    );
}

fn sqlite(name: &str, synchronous: &str) -> String {
    format!(
        "{{ name = \"{name}\", engine = \"sqlite\", settings = {{ journal_mode = \"WAL\", synchronous = \"{synchronous}\" }} }}"
    )
}

/// Of all trials of a contender.
fn sum(trials: &[Value], contender: &str, metric: &str) -> f64 {
    let ours = trials.iter().filter(|trial| trial["contender"] == contender);
    ours.map(|trial| trial["metrics"][metric].as_f64().unwrap_or_else(|| panic!("no {metric}: {trial}"))).sum()
}

fn mounts_in(place: &Place) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let word = place.path().to_str().unwrap().to_owned();
    mounts.lines().filter(|line| line.contains(&word)).map(str::to_owned).collect()
}

/// The files of this place that loop devices lie on.
fn loops_in(place: &Place) -> Vec<String> {
    let devices = std::fs::read_dir("/sys/class/block").unwrap().flatten();
    let files = devices.filter_map(|device| std::fs::read_to_string(device.path().join("loop/backing_file")).ok());
    let word = place.path().to_str().unwrap().to_owned();
    files.filter(|file| file.contains(&word)).collect()
}

const DAMAGE: [&str; 6] =
    ["phantom_commits", "resurrected_commits", "partial_commits", "wrong_balances", "wrong_lists", "integrity_errors"];

#[test]
fn kills_lose_nothing_that_reached_the_kernel() {
    let place = Place::on_disk();
    experiment(&place, &[sqlite("full", "FULL"), sqlite("off", "OFF")].join(", "), "kill", 2);
    let (report, _) = place.expect(0, &["run", "crash.toml"]);
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
    let trials = place.trials();
    for contender in ["full", "off"] {
        assert!(sum(&trials, contender, "acknowledged_commits") > 0.0);
        assert_eq!(sum(&trials, contender, "lost_commits"), 0.0);
        DAMAGE.iter().for_each(|metric| assert_eq!(sum(&trials, contender, metric), 0.0, "{contender} {metric}"));
        assert!(sum(&trials, contender, "t_rw_s") >= sum(&trials, contender, "t_conn_s"));
    }
    let report = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for row in ["full D3 at least D2 0 of 2 0 ", "off D0 at least D2 0 of 2 0 "] {
        assert!(report.contains(row), "{report}");
    }
    let (json, _) = place.expect(0, &["report", "last", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let below = json["durability"][0]["crashes"][0]["loss_probability_below"].as_f64().unwrap();
    assert!((below - (1.0 - 0.05f64.sqrt())).abs() < 1e-9, "{below}");
    assert!(place.whole_report("last").contains("Durability and recovery"));
}

#[test]
fn an_os_crash_shows_what_was_never_synced_and_leaves_nothing() {
    if !can_crash_file_systems() {
        return;
    }
    let place = Place::on_disk();
    // Without checkpoints NORMAL never syncs.
    let normal = sqlite("normal", "NORMAL").replace("{ journal_mode", "{ wal_autocheckpoint = 0, journal_mode");
    experiment(&place, &[sqlite("full", "FULL"), normal].join(", "), "both", 1);
    place.expect(0, &["run", "crash.toml"]);
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
    assert_eq!(mounts_in(&place), Vec::<String>::new());
    let trials = place.trials();
    let of = |kind: &str| {
        let is_of = |trial: &&Value| trial["purpose"]["crash"]["kind"] == kind;
        trials.iter().filter(is_of).cloned().collect::<Vec<Value>>()
    };
    assert_eq!((sum(&of("kill"), "full", "lost_commits"), sum(&of("os"), "full", "lost_commits")), (0.0, 0.0));
    assert_eq!(sum(&of("kill"), "normal", "lost_commits"), 0.0);
    assert!(sum(&of("os"), "normal", "lost_commits") > 0.0);
    for metric in &DAMAGE {
        assert_eq!(sum(&trials, "full", metric) + sum(&trials, "normal", metric), 0.0, "{metric}");
    }
}

/// The files of this name in the folders of the work folder.
fn in_work(place: &Place, name: &str) -> Option<PathBuf> {
    let inside = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    inside(place.path().join("cache/work")).map(|folder| folder.join(name)).find(|path| path.exists())
}

#[test]
fn a_phantom_that_a_second_session_plants_is_counted() {
    let place = Place::on_disk();
    experiment(&place, &sqlite("full", "FULL"), "kill", 1);
    let running = place.start(&["run", "crash.toml"]);
    let log = || place.run().is_some_and(|run| run.join("trials/1/load.log").exists());
    wait_for("a trial under load", crate::support::LIMIT, log);
    let database = Endpoint::File(in_work(&place, "data/bench.db").unwrap());
    let mut admin = Admin::connect(Dialect::Sqlite, &database, &Login::default(), Duration::from_secs(10)).unwrap();
    admin.run("INSERT INTO ledger_entry VALUES (77, 5, 1, 0, 1, 1, 0)").unwrap();
    drop(admin);
    let output = running.end();
    let trials = place.trials();
    let [trial] = &trials[..] else { panic!("one trial: {}", text(&output.stderr)) };
    // Its money was not moved, and it is in no list.
    let metrics = &trial["metrics"];
    assert_eq!((metrics["phantom_commits"].as_f64(), metrics["partial_commits"].as_f64()), (Some(1.0), Some(1.0)));
    let report = place.whole_report("last");
    assert!(report.contains("full was damaged by 1 kill: 1 transaction that no client sent"), "{report}");
}

/// The process of this name whose command line names this place's cache.
fn process(place: &Place, name: &str) -> Option<i32> {
    let cache = place.path().join("cache");
    let word = cache.to_str().unwrap().to_owned();
    let is_server = |process: &PathBuf| {
        let comm = std::fs::read_to_string(process.join("comm")).unwrap_or_default();
        let arguments = std::fs::read(process.join("cmdline")).unwrap_or_default();
        comm.trim() == name && String::from_utf8_lossy(&arguments).contains(&word)
    };
    let found = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()).find(is_server)?;
    found.file_name().unwrap().to_str().unwrap().parse().ok()
}

/// The shared memory of PostgreSQL that a process has mapped: files, and the ids of System V segments.
fn shared_memory(pid: i32) -> Vec<String> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let of = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let name = fields.get(5)?;
        let is_segment = name.starts_with("/SYSV");
        (is_segment || name.starts_with("/dev/shm/PostgreSQL."))
            .then(|| if is_segment { fields[4].to_owned() } else { (*name).to_owned() })
    };
    maps.lines().filter_map(of).collect()
}

fn is_there(memory: &str) -> bool {
    let segments = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    let has_id = |line: &str| line.split_ascii_whitespace().nth(1) == Some(memory);
    Path::new(memory).is_absolute() && Path::new(memory).exists() || segments.lines().any(has_id)
}

/// Its backends go on for a moment: a trial whose load ends before its crash shows nothing, and none of them is left.
#[test]
fn a_postmaster_killed_alone_leaves_no_backend_that_fakes_survival() {
    let place = Place::on_disk();
    let Some(engine) = place.installed("postgres") else { return };
    experiment(&place, &format!("{{ name = \"one\", {engine} }}"), "kill", 1);
    let text_of_file = std::fs::read_to_string(place.path().join("crash.toml")).unwrap();
    place.write("crash.toml", &text_of_file.replace("warmup = \"500ms\"", "warmup = \"6s\""));
    let running = place.start(&["run", "crash.toml"]);
    let under_load = || place.run().is_some_and(|run| run.join("trials/1/ledger-before").exists());
    wait_for("a trial", crate::support::LIMIT, under_load);
    wait_for("a backend", crate::support::LIMIT, || place.servers().iter().any(|line| line.contains(" sbtest ")));
    let postmaster = process(&place, "postgres").unwrap();
    let memory = shared_memory(postmaster);
    assert!(memory.len() >= 2 && memory.iter().all(|one| is_there(one)), "{memory:?}");
    kill(Pid::from_raw(postmaster), Signal::SIGKILL).unwrap();
    running.end();
    let trials = place.trials();
    assert_eq!(trials[0]["status"], "failed", "{}", trials[0]);
    assert_eq!(trials[0]["failure"]["step"], "load", "{}", trials[0]);
    place.assert_nothing_is_left();
    let left: Vec<&String> = memory.iter().filter(|one| is_there(one)).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A library that answers every sync without one.
fn lying_fsync(place: &Place) -> Option<PathBuf> {
    let (source, library) = (place.path().join("liar.c"), place.path().join("liar.so"));
    place.write("liar.c", "int fsync(int f) { return 0; }\nint fdatasync(int f) { return 0; }\n");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    let is_compiled = compiled.is_ok_and(|status| status.success());
    if !is_compiled {
        print_skipped("no C compiler for the library that lies about syncs");
    }
    is_compiled.then_some(library)
}

#[test]
fn a_lying_fsync_is_caught_by_os_crashes_and_missed_by_kills() {
    if !can_crash_file_systems() {
        return;
    }
    let place = Place::on_disk();
    let Some(library) = lying_fsync(&place) else { return };
    experiment(&place, &sqlite("full", "FULL"), "both", 2);
    let output = place.command(&["run", "crash.toml"]).env("LD_PRELOAD", library).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let report = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(report.contains("full promises D3 by its settings and does not keep it: measured"), "{report}");
    let (json, _) = place.expect(0, &["report", "last", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    let [kills, os] = &json["durability"][0]["crashes"].as_array().unwrap()[..] else { panic!("two kinds: {json}") };
    assert_eq!((&kills["kind"], kills["losing"].as_u64()), (&"kill".into(), Some(0)));
    assert_eq!(&os["kind"], "os");
    assert!(os["losing"].as_u64().unwrap() + os["not_restarted"].as_u64().unwrap() > 0, "{os}");
    assert_eq!(json["durability"][0]["is_broken"], true);
}

#[test]
fn what_a_killed_dbduel_has_mounted_goes_with_it() {
    if !can_crash_file_systems() {
        return;
    }
    let place = Place::on_disk();
    experiment(&place, &sqlite("full", "FULL"), "os", 1);
    let running = place.start(&["run", "crash.toml"]);
    let has_load = || {
        mounts_in(&place).len() == 1
            && loops_in(&place).len() == 1
            && place.run().is_some_and(|run| run.join("trials/1/load.log").exists())
    };
    wait_for("a trial on its own file system", crate::support::LIMIT, has_load);
    running.signal(libc::SIGKILL);
    running.end();
    wait_for("no mount", Duration::from_secs(5), || mounts_in(&place).is_empty() && loops_in(&place).is_empty());
    assert_eq!(place.records().len(), 0);
    let run = place.run().unwrap();
    place.expect(0, &["run", "--resume", run.to_str().unwrap()]);
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
    assert_eq!((mounts_in(&place), loops_in(&place)), (Vec::new(), Vec::new()));
    assert!(!run.join("trials/1/ledger-before").exists() && !run.join("trials/1/ledger-after").exists());
}

#[test]
fn a_killed_dbduel_leaves_no_shared_memory_of_its_server() {
    let place = Place::on_disk();
    let Some(engine) = place.installed("postgres") else { return };
    experiment(&place, &format!("{{ name = \"one\", {engine} }}"), "kill", 1);
    let running = place.start(&["run", "crash.toml"]);
    let under_load = || place.run().is_some_and(|run| run.join("trials/1/ledger-before").exists());
    wait_for("a trial", crate::support::LIMIT, under_load);
    wait_for("a backend", crate::support::LIMIT, || place.servers().iter().any(|line| line.contains(" sbtest ")));
    let memory = shared_memory(process(&place, "postgres").unwrap());
    running.signal(libc::SIGKILL);
    running.end();
    wait_for("the end of the server", crate::support::LIMIT, || place.servers().is_empty());
    assert!(memory.len() >= 2, "{memory:?}");
    wait_for("the end of its shared memory", crate::support::LIMIT, || !memory.iter().any(|one| is_there(one)));
}

/// Root without the programs for a file system, or no root at all.
#[test]
fn a_host_that_cannot_crash_a_file_system_refuses_in_one_message() {
    let place = Place::on_disk();
    experiment(&place, &sqlite("full", "FULL"), "os", 1);
    let output = place.command(&["run", "crash.toml"]).env("PATH", place.path()).output().unwrap();
    let stderr = text(&output.stderr);
    assert_ne!(output.status.code(), Some(0), "{stderr}");
    assert!(
        stderr.contains("no OS crash can be made here") && stderr.contains("next: write crash = \"kill\""),
        "{stderr}"
    );
    assert_eq!(stderr.matches("error:").count(), 1, "{stderr}");
    assert_eq!(place.records().len(), 0);
    place.assert_nothing_is_left();
    assert_eq!(mounts_in(&place), Vec::<String>::new());
}

/// The clients of the workload have connections of their own, end with the server, and are counted.
#[test]
fn another_workload_runs_beside_the_ledger_until_the_crash() {
    let place = Place::on_disk();
    let Some(engine) = place.installed("postgres") else { return };
    place.write(
        "crash.toml",
        &format!(
            "contender = [{{ name = \"one\", {engine} }}]\n\
             workload = {{ name = \"oltp_read_write\", tables = 1, rows = 1_000, clients = 3 }}\n\
             method = {{ preset = \"quick\", duration = \"1s\", warmup = \"1s\" }}\n\
             recovery = {{ kills = 1, ledger_clients = 2, full_rate_within = \"0s\" }}\n"
        ),
    );
    let (plan, _) = place.expect(0, &["plan", "crash.toml"]);
    assert!(plan.contains("3 clients, and 2 of the ledger beside them"), "{plan}");
    place.expect(0, &["run", "crash.toml"]);
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
    let trials = place.trials();
    assert!(sum(&trials, "one", "acknowledged_commits") > 0.0 && sum(&trials, "one", "work_commits") > 0.0);
    assert_eq!(sum(&trials, "one", "lost_commits"), 0.0);
    DAMAGE.iter().for_each(|metric| assert_eq!(sum(&trials, "one", metric), 0.0, "{metric}"));
    let load_s = sum(&trials, "one", "load_s");
    let rate = sum(&trials, "one", "work_commits") / load_s;
    assert!((sum(&trials, "one", "tps") - rate).abs() < 1e-6, "the throughput is that of the workload");
    let report = place.whole_report("last");
    assert!(report.contains("These are of its workload, beside the ledger"), "{report}");
}
