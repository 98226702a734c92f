//! `dbduel aa` from outside, and what later runs make of it, with the real program on SQLite.

use std::fs;

use crate::support::Place;
use serde_json::Value;

fn experiment(preset: &str, blocks: u32) -> String {
    format!(
        "name = \"Fit\"\ncontender = [{{ name = \"one\", engine = \"sqlite\" }}, {{ name = \"two\", engine = \"sqlite\" }}]\n\
         workload = {{ name = \"oltp_read_only\", rows = 1000, rate = 100 }}\nsweep.clients = [1]\n\
         method = {{ preset = \"{preset}\", duration = \"500ms\", warmup = \"0s\", blocks = {blocks} }}\n"
    )
}

fn history_file(place: &Place) -> std::path::PathBuf {
    place.path().join("cache/twins.ndjson")
}

/// The records that are remembered here.
fn remembered(place: &Place) -> Vec<Value> {
    let lines = fs::read_to_string(history_file(place)).unwrap_or_default();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_aa_run_is_a_run_like_any_other_and_its_result_is_stored_once() {
    let place = Place::new();
    place.write("fit.toml", &experiment("quick", 2));
    let (stdout, _) = place.expect(0, &["aa", "fit.toml", "--blocks", "8"]);
    let plan = place.json("plan.json");
    assert_eq!((plan["name"].as_str(), plan["twins"].as_bool()), (Some("aa-Fit"), Some(true)));
    let contenders: Vec<&Value> = plan["contenders"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(contenders, ["one", "one (twin)"]);
    assert_eq!((plan["method"]["stop"].as_str(), plan["method"]["blocks"].as_u64()), (Some("never"), Some(8)));
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
    let whole = place.whole_report("last");
    for part in ["A/A test", "s_d", "being first in a block", "to detect a difference of 1 %"] {
        assert!(whole.contains(part), "{part}\n{whole}");
    }
    assert_eq!(place.expect(0, &["report", "last"]).0, stdout);

    let records = remembered(&place);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0]["engine"].as_str(), records[0]["blocks"].as_u64()), (Some("sqlite"), Some(8)));
    assert_eq!(records[0]["plan_hash"], plan["plan_hash"]);
    // Nothing is left to do, so a resumed run prints the same and stores nothing new.
    place.expect(0, &["aa", "--resume", "last"]);
    place.expect(0, &["aa", "fit.toml", "--blocks", "8", "--resume", "last"]);
    assert_eq!(remembered(&place).len(), 1);
    assert!(place.expect(0, &["cache"]).0.contains("dbduel aa"));
    place.expect(0, &["cache", "clear"]);
    assert_eq!(remembered(&place).len(), 1, "what took hours to learn is not freed");
}

#[test]
fn an_interrupted_aa_run_is_resumed_as_one() {
    let place = Place::new();
    place.write("fit.toml", &experiment("quick", 2));
    let mut running = place.start(&["aa", "fit.toml", "--blocks", "3"]);
    running.wait_for_output("[3/6]");
    running.signal(libc::SIGINT);
    assert_eq!(running.end().status.code(), Some(130));
    let (_, stderr) = place.expect(2, &["run", "fit.toml", "--resume", "last"]);
    assert!(stderr.contains("another hash"), "{stderr}");
    let (_, stderr) = place.expect(0, &["run", "--resume", "last"]);
    assert!(stderr.contains("fewer than 8 blocks"), "{stderr}");
    place.assert_every_trial_ran_once();
    assert_eq!(remembered(&place).len(), 0);
}

#[test]
fn another_run_is_not_resumed_as_an_aa_run() {
    let place = Place::new();
    place.write("fit.toml", &experiment("quick", 1));
    place.expect(0, &["run", "fit.toml"]);
    let (_, stderr) = place.expect(2, &["aa", "--resume", "last"]);
    assert!(stderr.contains("no A/A test") && stderr.contains("next:"), "{stderr}");
}

#[test]
fn strict_requires_an_aa_test_before_the_first_block() {
    let place = Place::new();
    place.write("fit.toml", &experiment("strict", 8));
    let (_, stderr) = place.expect(4, &["run", "fit.toml"]);
    assert!(stderr.contains("at 1 client: never measured here") && stderr.contains("`dbduel aa fit.toml`"), "{stderr}");
    assert_eq!(place.records().len(), 0);
}

#[test]
fn a_host_with_too_many_false_differences_is_refused_or_marked() {
    let place = Place::new();
    place.write("fit.toml", &experiment("standard", 8));
    place.expect(0, &["aa", "fit.toml", "--blocks", "8", "--accept-noisy"]);
    let record = remembered(&place).swap_remove(0);
    let verdict = |day: usize| {
        let mut record = record.clone();
        record["at"] = format!("2031-05-{day:02}T10:15:00Z").into();
        record["verdict"] = if day <= 4 { "slower" } else { "inconclusive" }.into();
        format!("{record}\n")
    };
    fs::write(history_file(&place), (1..=20).map(verdict).collect::<String>()).unwrap();
    fs::remove_dir_all(place.path().join("runs")).unwrap();

    let (_, stderr) = place.expect(4, &["run", "fit.toml"]);
    assert!(
        stderr.contains("too noisy to compare servers: 4 of the last 20") && stderr.contains("dbduel aa fit.toml"),
        "{stderr}"
    );
    assert_eq!(place.records().len(), 0);
    fs::remove_dir_all(place.path().join("runs")).unwrap();

    let (report, _) = place.expect(0, &["run", "fit.toml", "--blocks", "1", "--accept-noisy", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let caveats = report["comparisons"][0]["caveats"].as_array().unwrap();
    assert!(caveats.contains(&"noisy host".into()), "{caveats:?}");
    assert_eq!(place.json("run.json")["twins"].as_array().unwrap().len(), 20);
    // Quick does not ask.
    fs::remove_dir_all(place.path().join("runs")).unwrap();
    place.expect(0, &["run", "fit.toml", "--preset", "quick", "--blocks", "1"]);
    assert!(place.json("run.json")["twins"].is_null());
}
