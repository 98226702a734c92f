//! `dbduel tune` from outside, with the real program on SQLite.

mod support;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use support::{Place, text};

const FILE: &str = "name = \"Tiny\"\n\
    contender = [{ name = \"default\", engine = \"sqlite\" }, { name = \"other\", engine = \"sqlite\" }]\n\
    workload = { name = \"oltp_read_write\", rows = 1000, clients = 1 }\n\
    method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\" }\n";

/// The runs of this place whose folders begin so.
fn runs(place: &Place, begin: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path().join("runs")).into_iter().flatten().flatten();
    let named = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(begin);
    entries.map(|entry| entry.path()).filter(named).collect()
}

fn json(path: &std::path::Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_search_ends_with_a_duel_of_its_own_blocks_and_both_are_told() {
    let place = Place::new();
    place.write("tiny.toml", FILE);
    let (said, progress) = place.expect(
        0,
        &["tune", "tiny.toml", "--candidates", "2", "--seed", "5", "--blocks", "2", "--write", "found.toml"],
    );
    assert!(progress.contains("of the file's 2 contenders the first is tuned: `default`"), "{progress}");
    place.assert_nothing_is_left();

    let [search] = &runs(&place, "tiny-search-")[..] else { panic!("one search: {progress}") };
    let [duel] = &runs(&place, "tiny-tuned-")[..] else { panic!("one duel: {progress}") };
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    let found = &json(&search.join("run.json"))["search"];
    assert_eq!(found["candidates"].as_array().unwrap().len(), 2);
    assert_eq!(found["outcome"]["duel"], name(duel).as_str());
    let winner = found["outcome"]["winner"].as_str().unwrap();
    let of_winner = found["candidates"].as_array().unwrap().iter().find(|one| one["name"] == winner).unwrap();
    assert!(found["held"].as_array().unwrap().iter().any(|held| held == "synchronous"), "{found}");

    // The duel: the winner's settings, two points, and a mix that had no part in the search.
    let plan = json(&duel.join("plan.json"));
    assert_eq!(plan["contenders"][1]["settings"], of_winner["settings"]);
    let labels: Vec<&str> =
        plan["workloads"].as_array().unwrap().iter().map(|one| one["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["oltp_read_write", "oltp_read_only"]);
    let points: Vec<u64> =
        plan["trials"].as_array().unwrap().iter().map(|one| one["point"]["clients"].as_u64().unwrap()).collect();
    assert!(points.contains(&1) && points.contains(&2) && points.iter().all(|clients| *clients <= 2));
    let seed = |path: &PathBuf| json(&path.join("plan.json"))["seed"].as_u64();
    assert_eq!((seed(duel), seed(search)), (Some(5), Some(6)), "no inputs of the search come again");
    let told = json(&duel.join("run.json"));
    assert_eq!(told["search"]["run"], name(search).as_str());
    assert_eq!(told["search"]["held_out"][0], "oltp_read_only");
    assert!(told["search"]["no_recovery"].as_str().unwrap().contains("embedded"), "{}", told["search"]);

    for part in ["the search over settings", "`tuned`", "had no part in the search: `oltp_read_only`", "never moved"] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    assert_eq!(place.expect(0, &["report", &name(duel)]).0, said);
    place.expect(0, &["verify", duel.to_str().unwrap()]);
    place.expect(0, &["verify", search.to_str().unwrap()]);

    // A search's own report has no verdict, and says where the duel is.
    let (of_search, _) = place.expect(0, &["report", search.to_str().unwrap()]);
    assert!(of_search.contains(&name(duel)) && !of_search.contains("is faster than"), "{of_search}");
    let (of_search, _) = place.expect(0, &["report", search.to_str().unwrap(), "--format", "json"]);
    let of_search: Value = serde_json::from_str(&of_search).unwrap();
    for comparison in of_search["comparisons"].as_array().unwrap() {
        assert!(comparison["caveats"].as_array().unwrap().iter().any(|caveat| caveat == "screening"), "{comparison}");
    }
    assert_eq!(
        place.expect(2, &["run", "--resume", search.to_str().unwrap()]).1.matches("cannot be gone on with").count(),
        1
    );

    // What was written is the duel's experiment, and is not overwritten.
    let written = fs::read_to_string(place.path().join("found.toml")).unwrap();
    assert!(written.starts_with("# Settings found by `dbduel tune` for `default`"), "{written}");
    let planned: Value = serde_json::from_str(&place.expect(0, &["plan", "found.toml", "--json"]).0).unwrap();
    assert_eq!(planned["contenders"], plan["contenders"]);
    let (_, again) = place.expect(2, &["tune", "tiny.toml", "--write", "found.toml"]);
    assert!(again.contains("is not overwritten"), "{again}");
}

#[test]
fn every_trial_of_a_search_is_kept_when_it_is_interrupted() {
    let place = Place::new();
    place.write("tiny.toml", FILE);
    let mut running = place.start(&["tune", "tiny.toml", "--candidates", "4"]);
    running.wait_until_it_says("[block 2,");
    running.signal(libc::SIGINT);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(130), "{}", text(&ended.stderr));
    let [search] = &runs(&place, "tiny-search-")[..] else { panic!("one search") };
    let trials = fs::read_to_string(search.join("trials.ndjson")).unwrap();
    assert!(trials.lines().count() >= 5, "{trials}");
    let (said, _) = place.expect(0, &["report", search.to_str().unwrap()]);
    assert!(said.contains("the search is not over"), "{said}");
    assert!(runs(&place, "tiny-tuned-").is_empty());
    place.assert_nothing_is_left();
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_starts() {
    let place = Place::new();
    let check = |file: &str, more: &[&str], expected: &str| {
        place.write("bad.toml", file);
        let arguments = [&["tune", "bad.toml"], more].concat();
        let (_, said) = place.expect(2, &arguments);
        assert!(said.contains(expected) && said.contains("next:"), "{expected}\n{said}");
        assert!(place.run().is_none());
    };
    let target = "contender = [{ target = \"mysql://app@db.example/bench\" }]\nworkload = \"oltp_read_write\"\n";
    check(target, &[], "sets nothing on a server that it does not manage");
    check(FILE, &["--budget", "2s"], "the budget of 2.0 s is too small");
    let open = "contender = [{ engine = \"sqlite\" }]\nworkload.name = \"oltp_read_write\"\nworkload.rate = 100\n";
    check(open, &[], "`rate` sets the throughput");
}
