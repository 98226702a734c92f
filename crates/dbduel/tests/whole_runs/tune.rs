//! `dbduel tune` from outside, with the real program on SQLite.

use std::fs;
use std::path::PathBuf;

use crate::support::{Place, text};
use serde_json::Value;

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
fn a_search_ends_with_a_duel_of_its_own_blocks_and_both_are_reported() {
    let place = Place::on_disk();
    place.write("tiny.toml", &(FILE.to_owned() + "[labels]\ncommit = \"abc\"\n"));
    let (stdout, progress) = place.expect(
        0,
        &["tune", "tiny.toml", "--candidates", "2", "--seed", "5", "--blocks", "2", "--write", "found.toml"],
    );
    assert!(progress.contains("of the file's 2 contenders the first is tuned: `default`"), "{progress}");
    place.assert_nothing_is_left();

    let [search] = &runs(&place, "tiny-search-")[..] else { panic!("one search: {progress}") };
    let [duel] = &runs(&place, "tiny-tuned-")[..] else { panic!("one duel: {progress}") };
    let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    for run in [search, duel] {
        assert_eq!(json(&run.join("run.json"))["labels"]["commit"], "abc", "both runs carry the labels of the file");
    }
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
    let record = json(&duel.join("run.json"));
    assert_eq!(record["search"]["run"], name(search).as_str());
    assert_eq!(record["search"]["held_out"][0], "oltp_read_only");
    let [left_out] = &record["decisions"].as_array().unwrap()[..] else { panic!("one decision: {record}") };
    assert_eq!(left_out["purpose"]["recovery"]["kill"], 1);
    assert!(left_out["because"].as_str().unwrap().contains("embedded"), "{left_out}");

    let full = place.whole_report(&name(duel));
    for part in ["The search over settings", "tuned", "no part of the search: oltp_read_only", "Never varied"] {
        assert!(full.contains(part), "{part}\n{full}");
    }
    assert_eq!(place.expect(0, &["report", &name(duel)]).0, stdout);
    place.expect(0, &["verify", duel.to_str().unwrap()]);
    place.expect(0, &["verify", search.to_str().unwrap()]);

    // A search's own report has no verdict, and names the run of the duel.
    let (of_search, _) = place.expect(0, &["report", search.to_str().unwrap()]);
    assert!(of_search.contains(&name(duel)) && !of_search.contains("% faster than"), "{of_search}");
    let (of_search, _) = place.expect(0, &["report", search.to_str().unwrap(), "--format", "json"]);
    let of_search: Value = serde_json::from_str(&of_search).unwrap();
    for comparison in of_search["comparisons"].as_array().unwrap() {
        assert!(comparison["caveats"].as_array().unwrap().iter().any(|caveat| caveat == "screening"), "{comparison}");
    }
    assert_eq!(
        place.expect(2, &["run", "--resume", search.to_str().unwrap()]).1.matches("`dbduel tune --resume ").count(),
        1
    );

    // Both are over: gone on with, by either name, they are reported again, and nothing is measured.
    for run in [search, duel] {
        assert_eq!(place.expect(0, &["tune", "--resume", &name(run)]).0, stdout);
    }
    assert_eq!((runs(&place, "tiny-search-").len(), runs(&place, "tiny-tuned-").len()), (1, 1));

    // What was written is the duel's experiment, and is not overwritten.
    let written = fs::read_to_string(place.path().join("found.toml")).unwrap();
    assert!(written.starts_with("# Settings found by `dbduel tune` for `default`"), "{written}");
    let planned: Value = serde_json::from_str(&place.expect(0, &["plan", "found.toml", "--json"]).0).unwrap();
    assert_eq!(planned["contenders"], plan["contenders"]);
    let (_, again) = place.expect(2, &["tune", "tiny.toml", "--write", "found.toml"]);
    assert!(again.contains("is not overwritten"), "{again}");
}

/// The trials of a run as they lie there, one to a line.
fn trials(run: &std::path::Path) -> Vec<String> {
    let lines = fs::read_to_string(run.join("trials.ndjson")).unwrap();
    lines.lines().map(str::to_owned).collect()
}

/// Starts a search, ends it by `signal` once it prints `when`, and returns its folder.
fn broken_off(place: &Place, when: &str, signal: i32) -> PathBuf {
    place.write("tiny.toml", FILE);
    let arguments = ["tune", "tiny.toml", "--candidates", "3", "--seed", "5", "--blocks", "2"];
    let mut running = place.start(&arguments);
    running.wait_for_output(when);
    running.signal(signal);
    running.end();
    let [search] = &runs(place, "tiny-search-")[..] else { panic!("one search") };
    search.clone()
}

#[test]
fn a_search_that_was_killed_goes_on_where_its_records_end() {
    let place = Place::new();
    let search = broken_off(&place, "[block 2,", libc::SIGKILL);
    let (plan, kept) = (json(&search.join("plan.json")), trials(&search));
    assert!(kept.len() >= 4 && runs(&place, "tiny-tuned-").is_empty(), "{kept:?}");
    let name = search.file_name().unwrap().to_str().unwrap();

    // What it was asked for stands fast.
    let check = |more: &[&str], expected: &str| {
        let (_, stderr) = place.expect(2, &[&["tune", "--resume", name], more].concat());
        assert!(stderr.contains(expected) && stderr.contains("next: "), "{stderr}");
    };
    check(&["--seed", "6"], "no flag can change any more");
    check(&["--candidates", "2"], "no flag can change any more");
    check(&["tiny.toml", "--seed", "6", "--blocks", "2"], "is not what");
    check(&["tiny.toml", "--seed", "5", "--blocks", "2", "--candidates", "2"], "is not what");
    assert_eq!(trials(&search), kept);

    let again = ["tune", "tiny.toml", "--resume", name, "--seed", "5", "--blocks", "2", "--candidates", "3"];
    place.expect(0, &again);
    let all = trials(&search);
    assert_eq!(all[..kept.len()], kept, "nothing that was measured is measured again");
    let numbers: Vec<u64> =
        all.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["trial"].as_u64().unwrap()).collect();
    assert!(all.len() > kept.len() && numbers.is_sorted() && numbers.windows(2).all(|pair| pair[0] != pair[1]));
    assert_eq!(json(&search.join("plan.json")), plan);
    let whole = kept.len() % 4 == 0;
    assert_eq!(all.iter().filter(|line| line.contains("\"resumed\"")).count(), if whole { 0 } else { 1 });
    let found = &json(&search.join("run.json"))["search"];
    assert!(found["outcome"]["ended_by"].is_string(), "{found}");
    assert!(place.whole_report(search.to_str().unwrap()).contains("The search over settings"));
    place.expect(0, &["verify", search.to_str().unwrap()]);
    place.assert_nothing_is_left();
}

#[test]
fn a_duel_behind_a_search_that_was_killed_goes_on_too() {
    let place = Place::on_disk();
    let search = broken_off(&place, "meets `default` again", libc::SIGKILL);
    let searched = trials(&search);
    let (stdout, _) = place.expect(0, &["tune", "--resume", "last", "--write", "found.toml"]);
    assert!(stdout.contains("tuned"), "{stdout}");
    let [duel] = &runs(&place, "tiny-tuned-")[..] else { panic!("one duel") };
    assert_eq!(trials(&search), searched);
    assert_eq!(json(&duel.join("plan.json"))["trials"].as_array().unwrap().len(), trials(duel).len());
    assert!(fs::read_to_string(place.path().join("found.toml")).unwrap().contains("tuned"));
    place.assert_nothing_is_left();
}

#[test]
fn only_a_search_is_gone_on_with() {
    let place = Place::new();
    place.write("plain.toml", FILE);
    place.expect(0, &["run", "plain.toml", "--blocks", "1"]);
    let (_, stderr) = place.expect(2, &["tune", "--resume", "last"]);
    assert!(stderr.contains("is no search of `dbduel tune`") && stderr.contains("`dbduel run --resume "), "{stderr}");
}

/// InnoDB raises the limit of its I/O where the rate is above it, so what was asked for is not in force.
#[test]
fn a_value_that_the_server_refuses_is_named_and_no_candidate_has_it() {
    let place = Place::new();
    let Some(engine) = place.installed("mariadb") else { return };
    let settings = "innodb_io_capacity_max = 500";
    place.write(
        "odd.toml",
        &format!(
            "name = \"Odd\"\ncontender = [{{ name = \"default\", {engine}, settings = {{ {settings} }} }}]\n\
             workload = {{ name = \"oltp_read_only\", rows = 1000, clients = 1 }}\n\
             method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\" }}\n"
        ),
    );
    let mut running = place.start(&["tune", "odd.toml", "--candidates", "3", "--accept-noisy"]);
    running.wait_for_output("[block 1,");
    running.signal(libc::SIGINT);
    let stderr = text(&running.end().stderr);
    let [search] = &runs(&place, "odd-search-")[..] else { panic!("one search: {stderr}") };
    let found = &json(&search.join("run.json"))["search"];
    let refused = found["refused"].as_array().unwrap();
    let is_too_high = |one: &Value| one["setting"] == "innodb_io_capacity" && one["value"] == "2000";
    assert!(refused.iter().any(is_too_high), "{found}");
    assert!(found["space"]["innodb_io_capacity"].as_array().unwrap().iter().any(|value| value == "200"), "{found}");
    for one in refused {
        let why = one["why"].as_str().unwrap();
        assert!(!why.is_empty() && !why.contains("see: "), "{one}");
        let values = found["space"][one["setting"].as_str().unwrap()].as_array();
        assert!(!values.is_some_and(|values| values.contains(&one["value"])), "{found}");
    }
    let candidates = found["candidates"].as_array().unwrap();
    assert_eq!(candidates.len(), 3, "all that were asked for race: {found}");
    assert!(candidates.iter().all(|one| one["out"].is_null()), "{found}");
    let report = place.whole_report(search.to_str().unwrap());
    assert!(report.contains("Not tried, because the server refuses it: innodb_io_capacity = 2000 ("), "{report}");
    place.assert_nothing_is_left();
}

#[test]
fn every_trial_of_a_search_is_kept_when_it_is_interrupted() {
    let place = Place::new();
    place.write("tiny.toml", FILE);
    let mut running = place.start(&["tune", "tiny.toml", "--candidates", "4"]);
    running.wait_for_output("[block 2,");
    let [search] = &runs(&place, "tiny-search-")[..] else { panic!("one search") };
    let (_, stderr) = place.expect(4, &["tune", "--resume", search.to_str().unwrap()]);
    assert!(stderr.contains(&format!("is still running: another dbduel (process {})", running.pid())), "{stderr}");
    running.signal(libc::SIGINT);
    let ended = running.end();
    let progress = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{progress}");
    assert!(progress.contains("next: go on with `dbduel tune --resume "), "{progress}");
    let [search] = &runs(&place, "tiny-search-")[..] else { panic!("one search") };
    let trials = fs::read_to_string(search.join("trials.ndjson")).unwrap();
    assert!(trials.lines().count() >= 5, "{trials}");
    let report = place.whole_report(search.to_str().unwrap());
    assert!(report.contains("The search is not finished"), "{report}");
    assert!(runs(&place, "tiny-tuned-").is_empty());
    place.assert_nothing_is_left();
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_starts() {
    let place = Place::new();
    let check = |file: &str, more: &[&str], expected: &str| {
        place.write("bad.toml", file);
        let arguments = [&["tune", "bad.toml"], more].concat();
        let (_, stderr) = place.expect(2, &arguments);
        assert!(stderr.contains(expected) && stderr.contains("next:"), "{expected}\n{stderr}");
        assert!(place.run().is_none());
    };
    let target = "contender = [{ target = \"mysql://app@db.example/bench\" }]\nworkload = \"oltp_read_write\"\n";
    check(target, &[], "sets nothing on a server that it does not manage");
    check(FILE, &["--budget", "2s"], "the budget of 2.0 s is too small");
    let open = "contender = [{ engine = \"sqlite\" }]\nworkload.name = \"oltp_read_write\"\nworkload.rate = 100\n";
    check(open, &[], "`rate` sets the throughput");
}

/// Crashes are ordinary trials of a run of their own, and not the three kills behind a duel.
#[test]
fn a_file_with_recovery_lets_the_winner_and_the_incumbent_crash_behind_their_duel() {
    let place = Place::on_disk();
    place.write("tiny.toml", &(FILE.to_owned() + "recovery = { kills = 1, crash = \"power\" }\n"));
    let asked = ["tune", "tiny.toml", "--candidates", "2", "--seed", "5", "--blocks", "2"];
    let (_, refused) = place.expect(2, &asked);
    assert!(refused.contains("which is none of \"kill\", \"os\", \"both\""), "{refused}");
    assert!(runs(&place, "tiny-").is_empty(), "a mistake is found before the search");

    place.write("tiny.toml", &(FILE.to_owned() + "recovery = { kills = 1, full_rate_within = \"0s\" }\n"));
    let (stdout, progress) = place.expect(0, &asked);
    let [search] = &runs(&place, "tiny-search-")[..] else { panic!("one search: {progress}") };
    let [duel] = &runs(&place, "tiny-tuned-")[..] else { panic!("one duel: {progress}") };
    let [crashes] = &runs(&place, "tiny-crashes-")[..] else { panic!("one run of crashes: {progress}") };
    let name = crashes.file_name().unwrap().to_str().unwrap();
    assert_eq!(json(&search.join("run.json"))["search"]["outcome"]["crashes"], name);
    assert!(json(&duel.join("run.json"))["decisions"].as_array().is_none_or(Vec::is_empty), "no kills behind the duel");
    let of_crashes: Vec<Value> = trials(crashes).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let contenders: Vec<&str> = of_crashes.iter().map(|trial| trial["contender"].as_str().unwrap()).collect();
    assert!(
        contenders.len() == 2 && contenders.contains(&"default") && contenders.contains(&"tuned"),
        "{contenders:?}"
    );
    assert!(of_crashes.iter().all(|trial| trial["purpose"]["crash"]["kind"] == "kill"));
    let stdout = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let row = |name: &str| format!("{name} D3 at least D2 0 of 1 0 ");
    assert!(stdout.contains(&row("default")) && stdout.contains(&row("tuned")), "{stdout}");
    let full = place.whole_report(search.file_name().unwrap().to_str().unwrap());
    assert!(full.contains(&format!("Recovery times and classes of both are in run {name}")), "{full}");
    place.assert_nothing_is_left();
}
