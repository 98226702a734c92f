//! Load by workers in processes of their own, from outside, with the real program and a real server.
//!
//! Slurm and ssh are started by `cargo xtask conform-cluster`. A server that is not on this machine is reported as
//! skipped.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Place, RunningServer, text, wait_for};

const SOON: Duration = Duration::from_secs(60);
/// A worker is missed after two seconds, and the others are gone three seconds later.
const NOTICED_WITHIN: Duration = Duration::from_secs(6);

fn experiment(engine: &str, rate: Option<u32>, duration: &str, blocks: u32, cluster: &str) -> String {
    let rate = rate.map_or(String::new(), |rate| format!(", rate = {rate}"));
    format!(
        "contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine} }}]\n\
         workload = {{ name = \"oltp_point_select\", rows = 1000, clients = 4{rate} }}\n\
         method = {{ preset = \"quick\", duration = \"{duration}\", warmup = \"500ms\", blocks = {blocks}, noisy_host = \"stamp\" }}\n\
         [cluster]\nlauncher = \"local\"\n{cluster}\n"
    )
}

/// Living agents of this place.
fn agents(place: &Place) -> Vec<i32> {
    let program = format!("{}\0agent\0", env!("CARGO_BIN_EXE_dbduel"));
    let tmp = format!("TMPDIR={}", place.path().join("tmp").display());
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
        let is_agent = fs::read(process.join("cmdline")).is_ok_and(|line| line == program.as_bytes());
        let is_ours = fs::read(process.join("environ"))
            .is_ok_and(|variables| String::from_utf8_lossy(&variables).split('\0').any(|one| one == tmp));
        let pid: Option<i32> = process.file_name().and_then(|name| name.to_str()?.parse().ok());
        found.extend(pid.filter(|_| is_agent && is_ours));
    }
    found
}

fn signal(pid: i32, signal: i32) {
    kill(Pid::from_raw(pid), Signal::try_from(signal).unwrap()).unwrap();
}

fn sum(trial: &Value, name: &str) -> u64 {
    trial["workers"].as_array().unwrap().iter().map(|worker| worker[name].as_u64().unwrap()).sum()
}

#[test]
fn workers_share_a_load_and_their_merged_latencies_are_those_of_the_pooled_values() {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    place.write("a.toml", &experiment(&engine, Some(40), "2s", 2, "workers = 3\nweights = [2, 1, 1]\nkeep_raw = true"));
    let (plan, _) = place.expect(0, &["plan", "a.toml"]);
    assert!(plan.contains("4 clients = 2+1+1 on 3 workers") && plan.contains("agent"), "{plan}");
    let (_, progress) = place.expect(0, &["run", "a.toml"]);
    assert!(progress.contains("3 workers by local: "), "{progress}");
    place.assert_every_trial_ran_once();
    for trial in place.trials() {
        assert_eq!(trial["status"], "ok", "{trial}");
        for name in ["due", "committed", "failed", "skipped"] {
            let metric = trial["metrics"][format!("transactions.{name}")].as_f64().unwrap();
            assert_eq!(sum(&trial, name) as f64, metric, "{name}: {trial}");
        }
        assert_eq!(sum(&trial, "clients"), 4);
        assert!(trial["metrics"]["edge_error_ms"].as_f64().unwrap() > 0.0);
        assert_pooled(&place, &trial);
    }
    let report = place.whole_report("last");
    assert!(report.contains("The load came from 3 workers by local"), "{report}");
    assert_eq!(agents(&place), Vec::<i32>::new());
    place.assert_nothing_is_left();
}

/// The stored windows add up to what the raw values of all workers make.
fn assert_pooled(place: &Place, trial: &Value) {
    let folder: PathBuf = place.run().unwrap().join(format!("trials/{}", trial["trial"]));
    let mut pooled = load::Histogram::default();
    for worker in 1..=3 {
        let raw = fs::read(folder.join(format!("raw-{worker}.bin"))).unwrap();
        raw.chunks_exact(8).for_each(|ns| pooled.record(u64::from_le_bytes(ns.try_into().unwrap())));
    }
    let log = fs::read_to_string(folder.join("latency.hlog")).unwrap();
    let mut merged = load::Histogram::default();
    for window in load::read_windows(&log) {
        merged.add(&window.unwrap().latencies);
    }
    // On a host that is busy enough some arrivals are left waiting: their ages stand in the windows alone.
    let skipped = trial["metrics"]["transactions.skipped"].as_f64().unwrap() as u64;
    assert!(pooled.count() + skipped > 30, "{}", pooled.count());
    assert_eq!(merged.count(), pooled.count() + skipped, "trial {}", trial["trial"]);
    if skipped > 0 {
        return;
    }
    // Buckets alone, as the log has them: pooled values know the longest exactly.
    let buckets = load::Histogram::decoded(&pooled.encoded()).unwrap().latencies_ms();
    assert_eq!(merged.latencies_ms(), buckets, "trial {}: bucket by bucket", trial["trial"]);
    assert_eq!(trial["metrics"]["latency_ms_max"].as_f64().unwrap(), pooled.max_ms());
}

/// Starts a run of two workers and does this to one of them while the first trial is measured.
fn with_a_harmed_worker(harm: impl Fn(i32), expected: &str) {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    place.write("a.toml", &experiment(&engine, Some(100), "3s", 2, "workers = 2"));
    let mut command = place.command(&["run", "a.toml"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let first = place.path().join("runs");
    // The first trial has its folder, and the second has not.
    wait_for("the first trial", SOON, || {
        let run = fs::read_dir(&first).into_iter().flatten().flatten().next();
        run.is_some_and(|run| run.path().join("trials/1/server.log").is_file()) && agents(&place).len() == 2
    });
    std::thread::sleep(Duration::from_secs(2));
    let harmed = agents(&place)[0];
    harm(harmed);
    let begun = Instant::now();
    wait_for("the record of the trial", NOTICED_WITHIN, || place.records().len() == 1);
    let trial = place.trials().remove(0);
    assert_eq!((&trial["status"], trial["failure"]["worker"].is_u64()), (&"failed".into(), true), "{trial}");
    let message = trial["failure"]["message"].as_str().unwrap();
    assert!(message.contains(expected), "{message}");
    assert!(trial["metrics"].as_object().unwrap().is_empty(), "no number of the others");
    assert!(begun.elapsed() < NOTICED_WITHIN);
    // Its launcher ends it while the trial is recorded.
    wait_for("the end of the harmed worker", NOTICED_WITHIN, || !agents(&place).contains(&harmed));
    child.wait().unwrap();
    let ok = place.trials().iter().filter(|trial| trial["status"] == "ok").count();
    assert_eq!(ok, place.trials().len() - 1, "the others were measured");
    assert_eq!(agents(&place), Vec::<i32>::new());
    place.assert_nothing_is_left();
}

#[test]
fn a_killed_worker_fails_its_trial_and_the_next_one_has_new_workers() {
    with_a_harmed_worker(|pid| signal(pid, libc::SIGKILL), "was lost");
}

#[test]
fn a_stopped_worker_fails_its_trial_and_is_killed() {
    with_a_harmed_worker(|pid| signal(pid, libc::SIGSTOP), "was lost: silent for 2.");
}

#[test]
fn a_killed_coordinator_leaves_neither_agents_nor_servers() {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    place.write("a.toml", &experiment(&engine, Some(100), "20s", 2, "workers = 2"));
    let running: RunningServer = place.start(&["run", "a.toml"]);
    wait_for("agents and a server", SOON, || agents(&place).len() == 2 && !place.servers().is_empty());
    running.signal(libc::SIGKILL);
    running.end();
    wait_for("all gone", NOTICED_WITHIN, || agents(&place).is_empty() && place.servers().is_empty());
}

#[test]
fn another_build_is_refused_before_anything_is_measured() {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    let other = place.path().join("dbduel-of-yesterday");
    let mut program = fs::read(env!("CARGO_BIN_EXE_dbduel")).unwrap();
    program.push(0);
    fs::write(&other, program).unwrap();
    fs::set_permissions(&other, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place.write("a.toml", &experiment(&engine, None, "500ms", 1, &format!("binary = \"{}\"", other.display())));
    let (_, stderr) = place.expect(4, &["run", "a.toml"]);
    assert!(
        stderr.contains("worker 1 on ") && stderr.contains("runs dbduel ") && stderr.contains("copy this binary there"),
        "{stderr}"
    );
    assert!(place.records().is_empty());
}

#[test]
fn an_agent_that_is_typed_by_hand_names_who_starts_it() {
    let place = Place::new();
    let output = place.dbduel(&["agent"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("an agent is started by `dbduel run`"), "{}", text(&output.stderr));
    // No such process is as good as one that is gone.
    assert_eq!(place.dbduel(&["agent", "--end", "2147483646:1"]).status.code(), Some(0));
}

#[test]
fn workers_can_be_checked_without_any_server() {
    let place = Place::new();
    let target = |name: &str| format!("{{ name = \"{name}\", target = \"mysql://nobody@192.0.2.1/{name}\" }}");
    let file = format!(
        "contender = [{}, {}]\nworkload = {{ name = \"oltp_point_select\", clients = 4 }}\n\
         [cluster]\nlauncher = \"local\"\nworkers = 2\n",
        target("a"),
        target("b")
    );
    place.write("a.toml", &file);
    let (out, _) = place.expect(0, &["cluster", "check", "a.toml"]);
    assert!(out.contains("2 workers by local") && out.matches("clock offset").count() == 2, "{out}");
    assert_eq!(out.matches("statements/s (mysql)").count(), 2, "{out}");
    assert_eq!(agents(&place), Vec::<i32>::new());
}
