//! Servers on some of the CPUs: that they are there and nowhere else is read from the kernel, from outside.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

use crate::support::{LIMIT, Place, wait_for};
use serde_json::Value;

fn experiment(engine: &str, sweep: &str, duration: &str) -> String {
    format!(
        "contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine} }}]\n\
         workload = {{ name = \"oltp_read_write\", rows = 1000 }}\n{sweep}\n\
         method = {{ preset = \"quick\", duration = \"{duration}\", warmup = \"0s\", blocks = 1 }}\n"
    )
}

/// The CPUs that this process may use, as the kernel lists them: of a thread's `status`.
fn allowed(status: &str) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(line.trim().to_owned())
}

fn first_cpu() -> String {
    let mine = allowed(&fs::read_to_string("/proc/self/status").unwrap()).unwrap();
    mine.split([',', '-']).next().unwrap().to_owned()
}

/// Where the threads of all programs of this name below a process may run; empty as long as there is none.
fn places_of_threads(ancestor: u32, names: &[&str]) -> BTreeSet<String> {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let parent = |pid: &str| {
        let stat = read(format!("/proc/{pid}/stat"));
        stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)).map(str::to_owned)
    };
    let is_below = |pid: &str| {
        let mut at = pid.to_owned();
        while let Some(next) = parent(&at).filter(|next| next != "0") {
            if next == ancestor.to_string() {
                return true;
            }
            at = next;
        }
        false
    };
    let mut places = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let pid = entry.file_name().into_string().unwrap_or_default();
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) || !names.contains(&read(format!("/proc/{pid}/comm")).trim())
        {
            continue;
        }
        if !is_below(&pid) {
            continue;
        }
        for thread in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            places.extend(allowed(&read(format!("{}/status", thread.path().display()))));
        }
    }
    places
}

#[test]
fn every_thread_of_a_server_stays_on_the_cores_it_was_given() {
    for kind in ["mariadb", "postgres"] {
        let place = Place::new();
        let Some(engine) = place.installed(kind) else { continue };
        place.write("try.toml", &experiment(&engine, "sweep = { cores = [1], clients = [2] }", "1s"));
        let run = place.start(&["run", "try.toml"]);
        let dbduel = run.pid();
        // A load before the first trial is not confined, so only the trials are checked.
        wait_for("the first trial", LIMIT, || !place.records().is_empty());
        let mut seen = BTreeSet::new();
        wait_for("the second trial's server", LIMIT, || {
            seen = places_of_threads(dbduel, &["mariadbd", "mysqld", "postgres"]);
            !seen.is_empty() || place.records().len() > 1
        });
        assert_eq!(seen, BTreeSet::from([first_cpu()]), "{kind}");
        assert!(run.end().status.success());
        for trial in place.trials() {
            assert_eq!(trial["metrics"]["engine_cores"], 1.0, "{trial}");
            let cpu_use = trial["metrics"]["cpu_use"].as_f64().unwrap();
            assert!(cpu_use > 0.0 && cpu_use < 1.1, "{kind} used {cpu_use} of its core");
        }
        assert_eq!(place.json("run.json")["client"]["server_cores"], first_cpu().as_str());
    }
}

#[test]
fn a_sweep_over_cores_and_clients_is_reported_at_the_best_clients() {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        std::io::stderr().write_all(b"skipped: this machine has one core\n").unwrap();
        return;
    }
    let place = Place::new();
    let experiment = experiment("engine = \"sqlite\"", "sweep = { cores = [1, 2], clients = \"per-core\" }", "500ms");
    place.write("try.toml", &experiment.replace("blocks = 1", "blocks = 2"));
    place.expect(0, &["run", "try.toml"]);
    let records = place.trials();
    let points: BTreeSet<(u64, u64)> = records
        .iter()
        .map(|trial| (trial["point"]["cores"].as_u64().unwrap(), trial["point"]["clients"].as_u64().unwrap()))
        .collect();
    assert_eq!(points, BTreeSet::from([(1, 1), (1, 2), (1, 4), (1, 8), (2, 2), (2, 4), (2, 8), (2, 16)]));
    assert!(place.whole_report("last").contains("Scaling over cores"));
    let json: Value = serde_json::from_str(&place.expect(0, &["report", "last", "--format", "json"]).0).unwrap();
    let rows = json["scaling"].as_array().unwrap();
    assert_eq!(rows.len(), 4, "two contenders on one and on two cores");
    for row in rows {
        // SQLite runs on the clients' threads: one core cannot give more than it has.
        let cpu_use = row["cpu_use"]["value"].as_f64().unwrap();
        assert!(cpu_use > 0.0 && cpu_use < 1.1 && !row["best_clients"].as_array().unwrap().is_empty(), "{row}");
    }
}

#[test]
fn cores_that_this_host_does_not_have_are_refused_before_anything_is_kept() {
    let place = Place::new();
    let check = |sweep: &str, expected: &str| {
        place.write("try.toml", &experiment("engine = \"sqlite\"", sweep, "500ms"));
        let (_, stderr) = place.expect(2, &["run", "try.toml"]);
        assert!(stderr.contains("try.toml") && stderr.contains(expected) && stderr.contains("next: "), "{stderr}");
        assert!(place.run().is_none(), "a run folder was made");
    };
    check("sweep.cores = [1, 4000]", "[sweep] asks for cores = 4000");
    check("clients.cores = \"4000\"", "[clients] asks for cores = \"4000\"");
}
