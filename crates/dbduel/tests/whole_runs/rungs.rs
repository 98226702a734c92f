//! Rungs of a ladder that no disk here can hold, with the real program: each stops before it is measured, with
//! the reason and the nearest that would fit, and the others go on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Place;
use serde_json::Value;

/// Less than any database takes, and enough for the folders that dbduel makes.
const SMALL_DISK: &str = "size=64k";

/// A file system with hardly any room, until it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None where this user may not mount one, with a line on stderr.
    fn mount(folder: &Path) -> Option<SmallDisk> {
        fs::create_dir(folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SMALL_DISK, "small"]).arg(folder).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Some(SmallDisk(folder.to_owned()));
        }
        crate::support::print_skipped("a small file system cannot be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        assert!(std::thread::panicking() || unmounted.is_ok_and(|status| status.success()));
    }
}

fn file(contender: &str, rungs: &[(&str, &str)]) -> String {
    let rung = |(name, change): &(&str, &str)| format!("[[ladder]]\nname = \"{name}\"\n{change}\n");
    format!(
        "contender = [{{ name = \"base\", {contender} }}]\n\
         workload = {{ name = \"oltp_update_index\", rows = 1000, clients = 1, rate = 100 }}\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2, ablation = true }}\n{}",
        rungs.iter().map(rung).collect::<String>()
    )
}

/// Trials that came to a figure.
fn measured(report: &Value, contender: &str) -> usize {
    let trials = report["trials"].as_array().unwrap().iter();
    trials.filter(|trial| trial["contender"] == contender && trial["status"] == "ok").count()
}

/// Runs a ladder of `base`, `first`, `too large` and `on top`; the last two cannot be had. Returns the output of
/// the run.
fn check_refused(place: &Place, reasons: &[&str]) {
    let (_, warned) = place.expect(4, &["run", "ladder.toml", "--accept-noisy"]);
    for reason in reasons.iter().chain(&["cannot prepare contender `too large`", "it builds on `too large`"]) {
        assert!(warned.contains(reason), "{reason}\n{warned}");
    }
    let whole = place.whole_report("last");
    assert!(whole.contains("`too large` was not measured: ") && whole.contains("too little disk"), "{whole}");
    let run = place.json("run.json");
    let is_ours = |one: &&Value| one["kind"] == "refused" && one["contender"] == "too large";
    let refused = run["decisions"].as_array().unwrap().iter().find(is_ours).unwrap();
    assert!(refused["because"].as_str().unwrap().contains("next: "), "{refused}");
    let report: Value = serde_json::from_str(&place.expect(0, &["report", "last", "--format", "json"]).0).unwrap();
    let rungs = &report["ladders"][0]["rungs"];
    assert!(rungs[0]["gain"]["ratio"].is_number() && rungs[1]["gain"].is_null(), "{rungs}");
    assert!(rungs[1]["refused"].as_str().unwrap().contains("too little disk"), "{rungs}");
    let counts = ["base", "first", "too large", "on top"].map(|contender| measured(&report, contender));
    assert_eq!(counts, [2, 2, 0, 0]);
    place.assert_nothing_is_left();
}

#[test]
fn a_rung_on_a_disk_that_is_too_small_is_refused_and_the_others_are_measured() {
    let place = Place::new();
    let folder = place.path().join("small");
    let Some(_disk) = SmallDisk::mount(&folder) else { return };
    let storage = format!("storage = \"{}\"", folder.display());
    let rungs = [
        ("first", "settings = { temp_store = \"MEMORY\" }"),
        ("too large", &storage),
        ("on top", "settings = { cache_size = \"-8000\" }"),
    ];
    place.write("ladder.toml", &file("engine = \"sqlite\"", &rungs));
    check_refused(&place, &["are needed in ", "small/dbduel-work", "name another `storage` (\"disk\" has "]);
}

#[test]
fn a_rung_in_memory_is_a_trade_and_its_storage_stands_beside_it() {
    let place = Place::on_disk();
    place.write("ladder.toml", &file("engine = \"sqlite\"", &[("memory", "storage = \"tmpfs\"")]));
    place.expect(0, &["run", "ladder.toml", "--accept-noisy"]);
    let report: Value = serde_json::from_str(&place.expect(0, &["report", "last", "--format", "json"]).0).unwrap();
    let contenders = ["base", "memory"].map(|name| {
        let mut all = report["contenders"].as_array().unwrap().iter();
        all.find(|contender| contender["name"] == name).unwrap()["durability_class"].clone()
    });
    assert_eq!(contenders, ["D3", "D0"]);
    let whole = place.whole_report("last");
    for part in ["nothing (D0)", "tmpfs (tmpfs on ", "it lowers durability from D3 to D0"] {
        assert!(whole.contains(part), "{part}\n{whole}");
    }
}

#[test]
fn a_rung_whose_log_fills_the_disk_is_refused_with_the_size_that_fits() {
    let place = Place::new();
    let Some(engine) = place.installed("postgres") else { return };
    let rungs = [
        ("first", "settings = { max_wal_size = \"2GB\" }"),
        // The server itself would take it.
        ("too large", "settings = { max_wal_size = \"2000TB\" }"),
        ("on top", "settings = { wal_compression = \"pglz\" }"),
    ];
    place.write("ladder.toml", &file(&engine, &rungs));
    check_refused(&place, &["2048000.", "next: lower max_wal_size to ", "MiB at most"]);
}
