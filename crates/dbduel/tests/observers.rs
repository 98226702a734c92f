//! What a run keeps of its host and servers: a row for each second, and flags when others disturb it. The
//! disturbers are real: a process that computes, and one that syncs a file again and again.

mod support;

use std::fs;
use std::io::Write;
use std::process::{Child, Command, Stdio};

use nix::sys::statfs::{TMPFS_MAGIC, statfs};
use serde_json::Value;
use support::Place;

/// Trials long enough for a whole second, and for a meaningful idle time before them.
fn experiment(engine: &str, trials_secs: u32) -> String {
    format!(
        "contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine} }}]\n\
         workload = {{ name = \"oltp_read_write\", rows = 1000 }}\nsweep.clients = [2]\n\
         method = {{ preset = \"quick\", duration = \"{trials_secs}s\", warmup = \"0s\", blocks = 1 }}\n"
    )
}

/// A process that is none of dbduel's, until the test ends.
struct Neighbour(Child);

impl Neighbour {
    fn of(place: &Place, script: &str) -> Neighbour {
        let mut shell = Command::new("sh");
        // The shell is the only process, or waits for its children: killing it ends the work.
        shell.args(["-c", script]).current_dir(place.path()).stdin(Stdio::null());
        Neighbour(shell.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_flagged(trial: &Value, flag: &str) -> bool {
    trial["flags"].as_array().unwrap().iter().any(|one| one == flag)
}

/// Columns of a stored series by name, with as many rows as the interval has seconds.
fn observed(place: &Place, trial: u32, seconds: usize) -> Vec<String> {
    let folder = place.run().unwrap().join(format!("trials/{trial}"));
    let text = fs::read_to_string(folder.join("observed.csv")).unwrap();
    let rows: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(rows.len(), seconds, "{text}");
    assert!(rows.iter().enumerate().all(|(second, row)| row.starts_with(&format!("{second},"))), "{text}");
    let in_series = fs::read_to_string(folder.join("series.csv")).unwrap().lines().count() - 1;
    assert_eq!(rows.len(), in_series, "both count the same seconds");
    text.lines().next().unwrap().split(',').map(str::to_owned).collect()
}

#[test]
fn a_neighbour_that_computes_flags_every_trial() {
    let place = Place::new();
    place.write("try.toml", &experiment("engine = \"sqlite\"", 2));
    let _neighbour = Neighbour::of(&place, "while :; do :; done");
    place.expect(0, &["run", "try.toml"]);
    for (trial, number) in place.trials().iter().zip(1..) {
        let metrics = &trial["metrics"];
        assert!(is_flagged(trial, "foreign-cpu"), "{trial}");
        assert!(metrics["host_foreign_cpu_share"].as_f64().unwrap() > 0.02, "{metrics}");
        assert!(metrics["observer_cpu_us_per_s"].as_f64().unwrap() > 0.0, "{metrics}");
        let columns = observed(&place, number, 2);
        assert!(columns.iter().any(|name| name == "host_iowait_share"), "{columns:?}");
        // SQLite's threads are the clients' own: nothing of a server can be distinguished.
        assert!(!columns.iter().any(|name| name.starts_with("server_")), "{columns:?}");
        assert_eq!((&metrics["ctx_voluntary_per_tx"], &metrics["client_cores_used"]), (&Value::Null, &Value::Null));
    }
    let whole = place.whole_report("last");
    assert!(whole.contains("during the trials") && whole.contains("CPU taken by other processes"), "{whole}");
    let host = &place.json("run.json")["host"];
    assert!(host["facts"].as_object().unwrap().contains_key("swap"), "{host}");
}

#[test]
fn a_neighbour_that_syncs_a_file_is_seen_on_the_disk_and_the_server_is_not_taken_for_it() {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    place.write("try.toml", &experiment(&engine, 2));
    let script = "while :; do dd if=/dev/zero of=synced bs=64k count=50 oflag=dsync conv=notrunc; done";
    let neighbour = Neighbour::of(&place, script);
    place.expect(0, &["run", "try.toml"]);
    drop(neighbour);
    let host = &place.json("run.json")["host"];
    let in_memory = statfs(place.path()).unwrap().filesystem_type() == TMPFS_MAGIC;
    let not_visible = host["not_visible"].as_array().map_or(&[][..], Vec::as_slice);
    for (trial, number) in place.trials().iter().zip(1..) {
        let metrics = &trial["metrics"];
        for name in ["server_ctx_voluntary", "ctx_voluntary_per_tx", "server_threads_running", "server_resident_bytes"]
        {
            assert!(metrics[name].as_f64().is_some_and(|value| value >= 0.0), "{name}: {metrics}");
        }
        assert!(metrics["client_cores_used"].as_f64().unwrap() > 0.0, "{metrics}");
        let columns = observed(&place, number, 2);
        assert!(columns.iter().any(|name| name == "server_threads_blocked"), "{columns:?}");
        if in_memory || not_visible.iter().any(|name| name == "disks") {
            std::io::stderr().write_all(b"skipped: nothing here goes to a disk that can be seen\n").unwrap();
            continue;
        }
        assert!(metrics["host_foreign_disk_share"].as_f64().unwrap() > 0.05, "{metrics}");
        assert!(is_flagged(trial, "foreign-disk"), "{trial}");
    }
}
