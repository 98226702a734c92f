//! `dbduel run` from outside: what it leaves, how it ends, and how it goes on, with the real program.
//!
//! SQLite is measured where any engine will do; a server that is not on this machine is reported as
//! skipped. No test checks how fast anything is.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use crate::support::{LIMIT, Place, text, wait_for};
use serde_json::{Value, json};

/// What is promised after `kill -9`.
const ALL_GONE_WITHIN: Duration = Duration::from_secs(2);

/// Two contenders and a workload, in the shortest trials there are, at a rate that leaves the CPUs to other tests.
fn experiment(baseline: &str, candidate: &str, workload: &str, clients: &str, blocks: u32) -> String {
    let text = at_full_speed(baseline, candidate, workload, clients, blocks);
    text.replace("rows = 1000 }", "rows = 1000, rate = 100 }")
}

fn at_full_speed(baseline: &str, candidate: &str, workload: &str, clients: &str, blocks: u32) -> String {
    format!(
        "name = \"Tried out\"\nquestion = \"Does it work?\"\n\
         contender = [{{ name = \"one\", {baseline} }}, {{ name = \"two\", {candidate} }}]\n\
         workload = {{ name = \"{workload}\", rows = 1000 }}\nsweep.clients = {clients}\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = {blocks} }}\n"
    )
}

fn sqlite(blocks: u32) -> String {
    let engine = r#"engine = "sqlite""#;
    experiment(engine, engine, "oltp_read_write", "[1, 2]", blocks)
}

/// A ladder of pragmas, one of which SQLite has not.
fn ladder() -> String {
    let contender = r#"contender = [{ name = "base", engine = "sqlite", settings = { synchronous = "FULL" } }]"#;
    let rung = |name: &str, setting: &str| format!("[[ladder]]\nname = \"{name}\"\nsettings = {{ {setting} }}\n");
    format!(
        "{contender}\nworkload = {{ name = \"oltp_update_index\", rows = 1000, clients = 1 }}\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2 }}\n{}{}{}",
        rung("no flush", "synchronous = \"OFF\""),
        rung("misspelt", "jornal_mode = \"WAL\""),
        rung("on top", "cache_size = \"-8000\""),
    )
}

#[test]
fn a_rung_that_cannot_be_had_stops_with_what_builds_on_it_and_the_others_go_on() {
    let place = Place::on_disk();
    place.write("ladder.toml", &ladder());
    let (_, warned) = place.expect(4, &["run", "ladder.toml"]);
    assert!(warned.contains("setting `jornal_mode`") && warned.contains("`journal_mode`"), "{warned}");
    assert!(warned.contains("it builds on `misspelt`"), "{warned}");
    let whole = place.whole_report("last");
    assert!(whole.contains("misspelt was not measured") && whole.contains("it lowers durability from D"), "{whole}");
    let refused = place.json("run.json")["decisions"].clone();
    let refused = refused.as_array().unwrap().iter().filter(|one| one["kind"] == "refused");
    assert_eq!(refused.map(|one| one["contender"].clone()).collect::<Vec<_>>(), ["misspelt", "on top"]);
    let report = place.expect(0, &["report", "last", "--format", "json"]).0;
    let report: Value = serde_json::from_str(&report).unwrap();
    let rungs = report["ladders"][0]["rungs"].as_array().unwrap();
    assert!(rungs[0]["gain"]["ratio"].is_number() && rungs[0]["trade"] == true, "{}", rungs[0]);
    assert!(rungs[1]["gain"].is_null() && rungs[2]["refused"].is_string(), "{}", rungs[1]);
    let measured = |contender: &str| {
        let trials = report["trials"].as_array().unwrap().iter().filter(|trial| trial["contender"] == contender);
        trials.filter(|trial| trial["status"] == "ok").count()
    };
    assert_eq!((measured("base"), measured("no flush"), measured("misspelt"), measured("on top")), (2, 2, 0, 0));
}

#[test]
fn kinds_of_statements_have_rates_in_one_order_for_both_contenders() {
    let place = Place::on_disk();
    let own = "-- does: counts\n-- group: mine\n-- run:\n-- expect: 1 row\nSELECT count(*) AS n FROM sbtest1;\n";
    place.write("all.sql", own);
    let engine = r#"engine = "sqlite""#;
    place.write(
        "kinds.toml",
        &format!(
            "contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine} }}]\n\
             workload = {{ name = \"micro\", rows = 10_000, seconds = \"20ms\", files = [\"all.sql\"], \
             kinds = [\"point/*\", \"mine/*\", \"write/commit\"] }}\n\
             method = {{ preset = \"quick\", blocks = 2 }}\n"
        ),
    );
    place.expect(0, &["run", "kinds.toml"]);
    let report = place.expect(0, &["report", "last", "--format", "json"]).0;
    let report: Value = serde_json::from_str(&report).unwrap();
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let metrics = &trial["metrics"];
        for name in ["op.point/pk.per_s", "op.mine/all.per_s", "op.write/commit.per_s", "geomean_per_s", "between_s"] {
            assert!(metrics[name].as_f64().is_some_and(|value| value > 0.0), "{name}: {metrics}");
        }
        assert!(metrics["op.point/connect.per_s"].is_null(), "SQLite has no connections");
        assert!(trial["flags"].as_array().unwrap().contains(&"gap:point/connect".into()), "{trial}");
    }
    let whole = place.whole_report("last");
    assert!(whole.contains("Kinds of statements") && whole.contains("point/connect (gap)"), "{whole}");
    let (_, error) = place.expect(2, &["plan", "kinds.toml", "--set", "workload.kinds=[\"write/comit\"]"]);
    assert!(error.contains("no kind `write/comit`; nearest is write/commit"), "{error}");
}

/// Rows whose commits are not on their way out yet are invisible to VACUUM, and plans then differ from load to load.
#[test]
fn every_page_of_loaded_tables_is_visible_whatever_commits_wait_for() {
    let place = Place::new();
    let Some(engine) = place.installed("postgres") else { return };
    let own = "-- does: asks whether an index alone suffices\n-- group: mine\n-- run:\n-- expect: 1 row\n\
               SELECT 1 AS n FROM pg_class WHERE relname = 'micro_detail' AND relallvisible = relpages;\n";
    place.write("visible.sql", own);
    place.write(
        "visible.toml",
        &format!(
            "contender = [{{ name = \"one\", {engine} }}, {{ name = \"two\", {engine}, settings = {{ synchronous_commit = \"off\" }} }}]\n\
             workload = {{ name = \"micro\", seconds = \"5ms\", files = [\"visible.sql\"], kinds = [\"mine/*\"] }}\n\
             method = {{ preset = \"quick\", blocks = 1 }}\n"
        ),
    );
    place.expect(0, &["run", "visible.toml", "--accept-noisy"]);
    let report = place.expect(0, &["report", "last", "--format", "json"]).0;
    let report: Value = serde_json::from_str(&report).unwrap();
    for trial in report["trials"].as_array().unwrap() {
        let is_right = trial["metrics"]["op.mine/visible.per_s"].as_f64().is_some_and(|rate| rate > 0.0);
        assert!(is_right && !trial["flags"].to_string().contains("wrong"), "{trial}");
    }
}

/// Fields with the JSON type they must have: `s`tring, `n`umber, `b`oolean, `a`rray, `o`bject, `0` null.
fn check_types(what: &str, value: &Value, fields: &[(&str, &str)]) {
    for (name, types) in fields {
        let kind = match &value[*name] {
            Value::String(_) => 's',
            Value::Number(_) => 'n',
            Value::Bool(_) => 'b',
            Value::Array(_) => 'a',
            Value::Object(_) => 'o',
            Value::Null => '0',
        };
        let is_there = value.as_object().unwrap().contains_key(*name);
        assert!(is_there && types.contains(kind), "{what}.{name}: {}", value[*name]);
    }
}

#[test]
fn a_run_leaves_its_folder_and_can_be_reported_in_every_form() {
    let place = Place::new();
    let sqlite = r#"engine = "sqlite""#;
    let text = at_full_speed(sqlite, sqlite, "oltp_read_write", "[1, 2]", 2);
    place.write("try.toml", &text);
    let (stdout, _) = place.expect(0, &["run", "try.toml"]);
    let run = place.run().unwrap();
    assert_eq!(fs::metadata(&run).unwrap().permissions().mode() & 0o777, 0o700);
    let name = run.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("tried-out-2") && name.ends_with('Z'), "{name}");
    assert_eq!(fs::read_to_string(run.join("experiment.toml")).unwrap(), text);
    place.assert_every_trial_ran_once();
    let record = place.json("run.json");
    assert_eq!((record["ended_by"].as_str(), record["contenders"].as_object().unwrap().len()), (Some("blocks"), 2));
    for trial in 1..=8 {
        let folder = run.join(format!("trials/{trial}"));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(fs::read_to_string(folder.join("series.csv")).unwrap().starts_with("second,"));
        assert!(fs::read_to_string(folder.join("latency.hlog")).unwrap().starts_with("#[Histogram log format"));
    }
    place.assert_nothing_is_left();

    assert!(stdout.lines().count() <= 25 && stdout.contains("(--full here)"), "{stdout}");
    place.expect(0, &["report", "last", "--out", "whole.txt"]);
    let whole = fs::read_to_string(place.path().join("whole.txt")).unwrap();
    assert_eq!(whole, fs::read_to_string(run.join("report.txt")).unwrap());
    let full = place.expect(0, &["report", "last", "--full"]).0;
    assert!(full.contains("All trials") && !stdout.contains("All trials"), "{full}");
    assert_eq!(place.expect(0, &["report", "last"]).0, stdout);
    assert_eq!(place.expect(0, &["report", name, "--format", "text"]).0, stdout);
    let html = place.expect(0, &["report", "last", "--format", "html"]).0;
    assert_eq!(html, fs::read_to_string(run.join("report.html")).unwrap());
    let csv = place.expect(0, &["report", "last", "--format", "csv"]).0;
    assert_eq!(csv.lines().count(), 1 + 8);
    place.expect(0, &["report", "last", "--format", "json", "--out", "report.json"]);
    let json = fs::read(place.path().join("report.json")).unwrap();
    check_json(&serde_json::from_slice(&json).unwrap());
    assert_eq!(json, place.expect(0, &["report", "last", "--format", "json"]).0.into_bytes());
    assert!(place.expect(2, &["report", "last", "--format", "pdf"]).1.contains("text, html, markdown, json, csv"));
    assert_verifiable(&place);
}

/// The run and its page come out again; a number that was touched does not.
fn assert_verifiable(place: &Place) {
    let page = place.run().unwrap().join("report.html");
    let (stdout, _) = place.expect(0, &["verify", "last"]);
    for checked in
        ["the plan has its hash", "8 trials stand", "throughput of 8 trials", "report.txt: ", "report.html: "]
    {
        assert!(stdout.contains(checked), "{checked}: {stdout}");
    }
    assert!(!stdout.contains("checked: 0 quantiles"), "{stdout}");
    place.expect(0, &["verify", page.to_str().unwrap()]);
    let trials = place.run().unwrap().join("trials.ndjson");
    let text = fs::read_to_string(&trials).unwrap();
    fs::write(&trials, text.replacen("\"tps\":", "\"tps\":9", 1)).unwrap();
    let (stdout, _) = place.expect(5, &["verify", "last"]);
    assert!(stdout.contains("differs: trial 1: ") && stdout.contains("differs: report.txt, line "), "{stdout}");
    fs::write(&trials, text).unwrap();
}

fn check_json(report: &Value) {
    let s = |names: &'static str| names.split(' ').map(|name| (name, "s"));
    let top = s("name question plan_hash started_at finished_at").chain([
        ("format_version", "n"),
        ("seed", "n"),
        ("method", "o"),
        ("host", "o"),
        ("client", "o"),
        ("contenders", "a"),
        ("trials", "a"),
        ("comparisons", "a"),
        ("head_to_head", "a"),
        ("scaling_laws", "a"),
        ("aa_history", "a"),
        ("differences", "a"),
        ("findings", "a"),
    ]);
    check_types("report", report, &top.collect::<Vec<_>>());
    check_types("client", &report["client"], &[("checks", "o"), ("cores", "s")]);
    check_types("method", &report["method"], &[("preset", "s"), ("rule", "s"), ("changed", "a")]);
    let each = |list: &str, fields: &[(&str, &str)]| {
        let items = report[list].as_array().unwrap();
        assert!(!items.is_empty(), "{list}");
        items.iter().for_each(|item| check_types(list, item, fields));
    };
    let contender: Vec<_> =
        s("name engine version durability_class").chain([("settings", "o"), ("effective_settings", "o")]).collect();
    each("contenders", &contender);
    let trial = s("workload contender status").chain([
        ("trial", "n"),
        ("block", "n"),
        ("order", "n"),
        ("point", "o"),
        ("flags", "a"),
        ("metrics", "o"),
    ]);
    each("trials", &trial.collect::<Vec<_>>());
    let comparison = s("workload baseline candidate metric verdict").chain([
        ("point", "o0"),
        ("baseline_value", "n0"),
        ("candidate_value", "n0"),
        ("ratio", "n0"),
        ("low", "n0"),
        ("high", "n0"),
        ("confidence", "n"),
        ("caveats", "a"),
        ("blocks", "n"),
        ("mde", "n0"),
        ("detectable_effect", "n0"),
    ]);
    each("comparisons", &comparison.collect::<Vec<_>>());
    each("findings", &[("kind", "s"), ("grade", "s"), ("text", "s"), ("evidence", "a"), ("trials", "a")]);
    let metrics = &report["trials"][0]["metrics"];
    let ended = ["committed", "rolled_back", "failed"].map(|ending| metrics[format!("transactions.{ending}")].as_f64());
    let ended: f64 = ended.into_iter().flatten().sum();
    let clients = report["trials"][0]["point"]["clients"].as_f64().unwrap();
    assert_eq!((metrics["client_events_avg"].as_f64().unwrap() * clients).round(), ended, "{metrics}");
    for name in [
        "tps",
        "qps",
        "latency_ms_min",
        "latency_ms_max",
        "client_busy_s_stddev",
        "errors_per_s",
        "queries.read",
        "transactions.committed",
    ] {
        assert!(metrics[name].is_f64(), "{name} in {metrics}");
    }
    let sweep = report["comparisons"].as_array().unwrap().iter().find(|item| item["point"].is_null()).unwrap();
    assert_eq!(sweep["verdict"], "inconclusive");
    assert!(sweep["caveats"].as_array().unwrap().contains(&"too few blocks".into()), "{sweep}");
}

#[test]
fn an_interrupted_run_keeps_its_trials_and_goes_on() {
    let place = Place::new();
    place.write("try.toml", &sqlite(2));
    let running = place.start(&["run", "try.toml"]);
    wait_for("three trials", LIMIT, || place.records().len() >= 3);
    running.signal(libc::SIGINT);
    let output = running.end();
    assert_eq!(output.status.code(), Some(130));
    let (kept, stderr) = (place.records(), text(&output.stderr));
    assert!((3..8).contains(&kept.len()), "{kept:?}");
    assert!(stderr.contains(&format!("interrupted, {} trials are kept", kept.len())), "{stderr}");
    assert!(stderr.contains("next: go on with `dbduel run --resume runs/tried-out-"), "{stderr}");
    let so_far = text(&output.stdout);
    assert!(so_far.contains("of the 8 blocks that a verdict needs.") && so_far.contains("Full report: "), "{so_far}");
    assert_eq!(place.json("run.json")["ended_by"], "interrupted");
    place.assert_nothing_is_left();
    place.expect(0, &["run", "--resume", "last"]);
    place.assert_every_trial_ran_once();
    assert_eq!(place.records()[..kept.len()], kept);
    assert_eq!(place.json("run.json")["ended_by"], "blocks");
    // There is nothing left to do, and doing it again harms nothing.
    let records = place.records();
    place.expect(0, &["run", "--resume", "last"]);
    assert_eq!(place.records(), records);
}

#[test]
fn pilots_choose_the_warm_up_once_and_are_no_trials_of_the_plan() {
    let place = Place::new();
    let auto = sqlite(1).replace(r#"warmup = "0s""#, r#"warmup = "auto", pilot = "10s""#);
    place.write("try.toml", &auto.replace("[1, 2]", "[2, 1]"));
    let plan = place.expect(0, &["plan", "try.toml"]).0;
    assert!(plan.contains("as long as pilots of 10 s show, at least 2 s,") && plan.contains("  pilots: 2"), "{plan}");
    let running = place.start(&["run", "try.toml"]);
    wait_for("the first pilot", LIMIT, || place.probes().len() == 1);
    running.signal(libc::SIGINT);
    assert_eq!(running.end().status.code(), Some(130));
    let (run, kept) = (place.run().unwrap(), place.probes());
    assert_eq!((kept.len(), place.records().len()), (1, 1));
    place.expect(0, &["run", "--resume", "last"]);
    assert!(place.whole_report("last").contains("4 of 4 trials"));
    let all = place.probes();
    assert_eq!((all.len(), &all[0]), (2, &kept[0]));
    assert!(all.iter().all(|pilot| pilot["point"]["clients"] == 2 && pilot["purpose"] == "pilot"), "{all:?}");
    assert_ne!(all[0]["contender"], all[1]["contender"]);
    for pilot in &all {
        let series = run.join(format!("trials/{}/series.csv", pilot["trial"]));
        assert_eq!(fs::read_to_string(series).unwrap().lines().count(), 1 + 10);
    }
    place.assert_every_trial_ran_once();
    let run = place.json("run.json");
    let [warm_up] = &run["decisions"].as_array().unwrap()[..] else { panic!("one decision: {run}") };
    assert_eq!((&warm_up["kind"], &warm_up["because"]), (&"warm-up".into(), &"pilot".into()));
    let chosen = warm_up["value"].as_f64().unwrap();
    assert!((2.0..=5.0).contains(&chosen), "{warm_up}");
    for record in place.trials().iter().filter(|trial| trial["purpose"].is_null()) {
        let steps = record["steps"].as_array().unwrap();
        let warm_up = steps.iter().find(|step| step[0] == "warm_up").unwrap()[1].as_f64().unwrap();
        assert!((chosen..chosen + 1.0).contains(&warm_up), "{warm_up} s in place of {chosen} s");
    }
    place.assert_nothing_is_left();
}

#[test]
fn a_pilot_that_failed_is_not_asked_again_and_the_other_contender_decides() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1).replace(r#"warmup = "0s""#, r#"warmup = "auto", pilot = "10s""#));
    let running = place.start(&["run", "try.toml"]);
    wait_for("the first pilot", LIMIT, || place.probes().len() == 1);
    running.signal(libc::SIGINT);
    assert_eq!(running.end().status.code(), Some(130));
    let mut failed = place.probes().remove(0);
    failed["status"] = "failed".into();
    failed["failure"] = json!({ "step": "measure", "message": "planted" });
    failed["metrics"] = json!({});
    fs::write(place.run().unwrap().join("trials.ndjson"), format!("{failed}\n")).unwrap();
    place.expect(0, &["run", "--resume", "last"]);
    let report = place.whole_report("last");
    assert!(report.contains("planted"), "{report}");
    let [first, second] = &place.probes()[..] else { panic!("two pilots: {report}") };
    assert_eq!((first, second["status"].as_str()), (&failed, Some("ok")));
    let decisions = place.json("run.json")["decisions"].clone();
    assert_eq!((decisions.as_array().unwrap().len(), &decisions[0]["because"]), (1, &"pilot".into()));
    place.assert_every_trial_ran_once();
}

#[test]
fn a_killed_run_goes_on_although_its_last_line_is_torn() {
    let place = Place::new();
    place.write("try.toml", &sqlite(2));
    let running = place.start(&["run", "try.toml"]);
    wait_for("three trials", LIMIT, || place.records().len() >= 3);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().status.code(), None);
    let (kept, run) = (place.records(), place.run().unwrap());
    let mut stored = fs::OpenOptions::new().append(true).open(run.join("trials.ndjson")).unwrap();
    stored.write_all(&kept[0].as_bytes()[..kept[0].len() / 2]).unwrap();
    assert!(place.expect(0, &["report", "last"]).0.contains("half a line"));
    place.expect(0, &["run", "--resume", run.to_str().unwrap()]);
    place.assert_every_trial_ran_once();
    assert_eq!(place.records()[..kept.len()], kept);
    place.assert_nothing_is_left();
}

#[test]
fn a_contender_of_which_no_trial_succeeded_is_status_4() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1));
    place.expect(0, &["run", "try.toml"]);
    let failed = place.records().into_iter().map(|line| {
        let mut record: Value = serde_json::from_str(&line).unwrap();
        if record["contender"] == "two" {
            record["status"] = "failed".into();
            record["failure"] = serde_json::json!({ "step": "measure", "message": "the server died" });
        }
        record.to_string() + "\n"
    });
    fs::write(place.run().unwrap().join("trials.ndjson"), failed.collect::<String>()).unwrap();
    let (_, stderr) = place.expect(4, &["run", "--resume", "last"]);
    assert!(stderr.contains("no trial of `two` succeeded; the last one failed: the server died"), "{stderr}");
}

#[test]
fn a_file_with_another_plan_is_no_way_to_resume() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1));
    place.write("other.toml", &sqlite(3));
    place.expect(0, &["run", "try.toml"]);
    let (_, stderr) = place.expect(2, &["run", "other.toml", "--resume", "last"]);
    assert!(stderr.contains("other.toml is not the experiment of tried-out-") && stderr.contains("next:"), "{stderr}");
    place.expect(0, &["run", "try.toml", "--resume", "last"]);
    let (_, stderr) = place.expect(2, &["run", "--blocks", "9", "--resume", "last"]);
    assert!(stderr.contains("has a plan, which no flag can change any more\n  next:"), "{stderr}");
}

#[test]
fn an_interruption_reaches_a_load_and_a_wait_for_another_dbduel() {
    let place = Place::new();
    // More rows than are loaded before the signal arrives, and few enough for a small disk: about 1 GiB must be free.
    place.write("try.toml", &sqlite(1).replace("rows = 1000", "rows = 2_000_000"));
    let mut loading = place.start(&["run", "try.toml"]);
    loading.wait_for_output("loading 2000000 rows");
    let mut waiting = place.start(&["run", "try.toml", "--runs", "others"]);
    waiting.wait_for_output("waiting for `Tried out` (process ");
    for running in [waiting, loading] {
        running.signal(libc::SIGINT);
        let output = running.end();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{stderr}");
        assert!(
            stderr.contains("interrupted before anything was measured; nothing is kept\n  next: start"),
            "{stderr}"
        );
        assert_eq!(text(&output.stdout), "");
    }
    for runs in ["runs", "others"] {
        let left = fs::read_dir(place.path().join(runs)).unwrap().count();
        assert_eq!(left, 0, "a folder without a trial is left in {runs}");
    }
    place.assert_nothing_is_left();
}

/// The other measurement goes on as long as the lock is held.
#[test]
fn a_run_looks_at_its_targets_before_it_waits_for_another_measurement() {
    let place = Place::new();
    let lock = place.path().join("tmp/dbduel-measuring.lock");
    let held = fs::File::create(&lock).unwrap();
    fs::set_permissions(&lock, fs::Permissions::from_mode(0o666)).unwrap();
    held.lock().unwrap();
    let target = |name: &str, port: u16| format!("name = \"{name}\", target = \"mysql://app@127.0.0.1:{port}/x\"");
    let file = |one: &str, two: &str| {
        format!("contender = [{{ {one} }}, {{ {two} }}]\nworkload = {{ name = \"oltp_point_select\", rows = 100 }}\n")
    };
    place.write("none.toml", &file(&target("one", 1), &target("two", 2)));
    let (_, stderr) = place.expect(4, &["run", "none.toml"]);
    assert!(stderr.contains("nothing listens at 127.0.0.1:1") && !stderr.contains("waiting for"), "{stderr}");
    assert!(place.run().is_none(), "a folder was made");
    place.write("one.toml", &file(r#"engine = "sqlite""#, &target("two", 1)));
    let mut running = place.start(&["run", "one.toml"]);
    running.wait_for_output("contender `two`: cannot reach mysql://app@127.0.0.1:1/x");
    running.wait_for_output("waiting for ");
    running.signal(libc::SIGINT);
    assert_eq!(running.end().status.code(), Some(130));
}

#[test]
fn an_interruption_ends_the_wait_for_another_dbduel_s_work_on_the_cache() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1));
    place.expect(0, &["run", "try.toml"]);
    fs::remove_dir_all(place.path().join("cache/snapshots")).unwrap();
    let locks = fs::read_dir(place.path().join("cache/locks")).unwrap().map(|entry| entry.unwrap().path());
    let loads = locks.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("snapshot-"));
    let held: Vec<fs::File> = loads.map(|path| fs::File::open(path).unwrap()).collect();
    assert!(!held.is_empty());
    held.iter().for_each(|lock| lock.lock().unwrap());
    let mut waiting = place.start(&["run", "try.toml", "--runs", "others"]);
    waiting.wait_for_output("waiting for another dbduel that works on the cache");
    waiting.signal(libc::SIGINT);
    assert_eq!(waiting.end().status.code(), Some(130));
}

#[test]
fn labels_stay_with_a_run_and_are_in_all_that_is_made_of_it() {
    let place = Place::new();
    place.write("try.toml", &(sqlite(1) + "[labels]\ncommit = \"old\"\nbranch = \"main\"\n"));
    place.expect(2, &["run", "try.toml", "--label", "commit=\u{1b}[2J"]);
    let run = ["run", "try.toml", "--label", "commit=new"];
    place.expect(0, &run);
    assert_eq!(place.json("run.json")["labels"], json!({ "branch": "main", "commit": "new" }));
    assert!(place.whole_report("last").contains("Labels: branch = main, commit = new."));
    let listed: Value = serde_json::from_str(&place.expect(0, &["list", "runs", "--json"]).0).unwrap();
    assert_eq!(listed[0]["labels"]["commit"], "new");
    assert!(place.expect(0, &["list", "runs"]).0.contains("branch=main, commit=new"));
    let report: Value = serde_json::from_str(&place.expect(0, &["report", "--format", "json"]).0).unwrap();
    assert_eq!(report["labels"]["branch"], "main");
    assert!(place.expect(0, &["report", "--format", "junit"]).0.contains("name=\"label.commit\" value=\"new\""));
    for table in ["trials", "seconds"] {
        place.expect(0, &["report", "--format", "parquet", "--table", table, "--out", "table.parquet"]);
        let bytes = fs::read(place.path().join("table.parquet")).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        assert_eq!(place.dbduel(&["report", "--format", "parquet", "--table", table]).stdout, bytes);
    }
    let (_, said) = place.expect(2, &["run", "try.toml", "--label", "commit=other", "--resume", "last"]);
    assert!(said.contains("`commit = other` is not among them"), "{said}");
    place.expect(0, &[&run[..], &["--resume", "last"]].concat());
}

/// The settings promise what InnoDB does, and these tables are not InnoDB's.
#[test]
fn tables_of_another_storage_engine_promise_less() {
    let place = Place::on_disk();
    let Some(mariadb) = place.installed("mariadb") else { return };
    let text = experiment(&mariadb, r#"engine = "sqlite""#, "oltp", "[2]", 1);
    let classic = "name = \"oltp\", compat = \"sysbench-0.4\", mysql_storage_engine = \"myisam\"";
    place.write("try.toml", &text.replace("name = \"oltp\"", classic));
    place.expect(0, &["run", "try.toml"]);
    let class = |name: &str| place.json("run.json")["contenders"][name]["durability_class"].clone();
    assert_eq!((class("one"), class("two")), (Value::from("D0"), Value::from("D3")));
    place.assert_nothing_is_left();
}

fn a_killed_dbduel_leaves_no_server(kind: &str, word: &str) {
    let place = Place::new();
    let Some(engine) = place.installed(kind) else { return };
    place.write("try.toml", &experiment(&engine, &engine, "oltp_point_select", "[2]", 1));
    let running = place.start(&["run", "try.toml"]);
    wait_for("the first trial", LIMIT, || place.records().len() == 1);
    wait_for("a server", LIMIT, || place.servers().iter().any(|arguments| arguments.contains(word)));
    running.signal(libc::SIGKILL);
    running.end();
    wait_for("no server", ALL_GONE_WITHIN, || place.servers().is_empty());
    let kept = place.records();
    place.expect(0, &["run", "--resume", "last"]);
    place.assert_every_trial_ran_once();
    assert_eq!(place.records()[..kept.len()], kept);
    assert!(fs::metadata(place.run().unwrap().join("trials/1/server.log")).unwrap().is_file());
    place.assert_nothing_is_left();
}

#[test]
fn a_killed_dbduel_leaves_no_mariadb_and_goes_on() {
    a_killed_dbduel_leaves_no_server("mariadb", "mariadbd");
}

#[test]
fn a_killed_dbduel_leaves_no_postgres_and_goes_on() {
    a_killed_dbduel_leaves_no_server("postgres", "postgres");
}

#[test]
fn behind_the_last_block_a_server_meets_twice_the_generator_s_threads() {
    let place = Place::new();
    let Some(postgres) = place.installed("postgres") else { return };
    let text = at_full_speed(r#"engine = "sqlite""#, &postgres, "oltp_point_select", "[1, 4]", 1);
    place.write("try.toml", &text.replace("blocks = 1", "blocks = 1, headroom_check = true"));
    let (_, stderr) = place.expect(0, &["run", "try.toml"]);
    assert!(stderr.contains("[headroom check 8/8]"), "{stderr}");
    place.assert_every_trial_ran_once();
    let probes = place.probes();
    let threads = |probe: &Value| probe["purpose"]["headroom"]["threads"].as_u64().unwrap();
    let most = probes.iter().map(threads).max().unwrap();
    assert_eq!((probes.len(), probes.iter().filter(|probe| threads(probe) == most).count()), (8, 4));
    assert!(probes.iter().all(|probe| probe["contender"] == "two"), "the embedded engine is faster, and not checked");
    let log = format!("trials/{}/server.log", probes[7]["trial"]);
    assert!(fs::metadata(place.run().unwrap().join(log)).unwrap().is_file());
    let kept = place.records();
    // Killed inside a probe: what is stored stays, and the rest follows.
    fs::write(place.run().unwrap().join("trials.ndjson"), kept[..kept.len() - 3].concat()).unwrap();
    let (_, stderr) = place.expect(0, &["run", "--resume", "last"]);
    assert!(!stderr.contains("[headroom check 5/8]") && stderr.contains("[headroom check 6/8]"), "{stderr}");
    assert_eq!(
        (place.records()[..kept.len() - 3].to_vec(), place.probes().len()),
        (kept[..kept.len() - 3].to_vec(), 8)
    );
    let kept = place.records();
    let (_, stderr) = place.expect(0, &["run", "--resume", "last"]);
    assert!(!stderr.contains("[headroom check"), "{stderr}");
    assert_eq!(place.records(), kept);
    place.assert_nothing_is_left();
}

/// A run whose probes are interrupted by a kill of dbduel.
struct Killed<'a> {
    workload: &'a str,
    blocks: u32,
    /// Of the method.
    keys: &'a str,
    /// Makes probes due in a run that has ended.
    plant: Option<fn(&Place)>,
    purpose: &'a str,
    /// So many probes of this purpose are due.
    due: usize,
}

/// dbduel is killed as soon as one probe is stored; resumed, it keeps what is stored and runs the rest once.
fn a_dbduel_killed_inside_a_probe(killed: &Killed) -> Option<Place> {
    let place = Place::new();
    let postgres = place.installed("postgres")?;
    let experiment = if killed.purpose == "headroom" { at_full_speed } else { experiment };
    let text = experiment(&postgres, &postgres, killed.workload, "[1]", killed.blocks);
    place.write("try.toml", &text.replace("warmup = \"0s\"", killed.keys));
    if let Some(plant) = killed.plant {
        place.expect(0, &["run", "try.toml", "--accept-noisy"]);
        plant(&place);
    }
    let arguments: &[&str] =
        if killed.plant.is_some() { &["run", "--resume", "last"] } else { &["run", "try.toml", "--accept-noisy"] };
    let running = place.start(arguments);
    wait_for("a stored probe", LIMIT, || !place.probes().is_empty());
    running.signal(libc::SIGKILL);
    running.end();
    wait_for("no server", ALL_GONE_WITHIN, || place.servers().is_empty());
    let kept = place.records();
    let number = || place.probes().iter().filter(|probe| is_of(probe, killed.purpose)).count();
    assert!(number() < killed.due, "it was killed too late");
    let (_, messages) = place.expect(0, &["run", "--resume", "last"]);
    assert_eq!(&place.records()[..kept.len()], &kept[..]);
    let failed: Vec<Value> = place.probes().into_iter().filter(|probe| probe["status"] != "ok").collect();
    assert_eq!(number(), killed.due, "{failed:#?}\n{messages}");
    place.assert_every_trial_ran_once();
    place.assert_nothing_is_left();
    let records = place.records();
    place.expect(0, &["run", "--resume", "last"]);
    assert_eq!(place.records(), records, "nothing is left to do");
    let table = place.whole_report("last");
    assert!(table.contains("Trials beside the plan"), "{table}");
    let (report, _) = place.expect(0, &["report", "last", "--format", "json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let expected_trials = report["probes"].as_array().unwrap().iter().map(|probe| &probe["trial"]);
    assert!(expected_trials.eq(place.probes().iter().map(|probe| &probe["trial"])), "{report}");
    if killed.plant.is_none() {
        place.expect(0, &["verify", "last"]);
    }
    Some(place)
}

/// A purpose is a name, or a name with its details.
fn is_of(probe: &Value, purpose: &str) -> bool {
    probe["purpose"] == purpose || !probe["purpose"][purpose].is_null()
}

const KILLED: Killed =
    Killed { workload: "oltp_read_write", blocks: 1, keys: r#"warmup = "0s""#, plant: None, purpose: "", due: 0 };

#[test]
fn a_dbduel_killed_inside_a_headroom_check_runs_the_rest_once() {
    let keys = r#"warmup = "0s", headroom_check = true"#;
    a_dbduel_killed_inside_a_probe(&Killed { keys, purpose: "headroom", due: 8, ..KILLED });
}

#[test]
fn a_dbduel_killed_inside_a_pilot_runs_the_rest_once() {
    let keys = r#"warmup = "auto", pilot = "10s""#;
    a_dbduel_killed_inside_a_probe(&Killed { keys, purpose: "pilot", due: 2, ..KILLED });
}

#[test]
fn a_dbduel_killed_inside_a_cause_test_runs_the_rest_once() {
    let keys = r#"warmup = "0s", test_causes = true"#;
    let killed = Killed { workload: "oltp_update_index", blocks: 8, keys, ..KILLED };
    a_dbduel_killed_inside_a_probe(&Killed { plant: Some(plant_log_writes), purpose: "cause_test", due: 8, ..killed });
}

#[test]
fn a_dbduel_killed_between_kills_of_servers_runs_the_rest_once_with_their_times() {
    let killed = Killed { plant: Some(plant_a_search), purpose: "recovery", due: 6, ..KILLED };
    let Some(place) = a_dbduel_killed_inside_a_probe(&killed) else { return };
    let kills: Vec<Value> = place.probes().iter().map(|one| one["purpose"]["recovery"]["kill"].clone()).collect();
    assert_eq!(kills, [1, 1, 2, 2, 3, 3]);
    for probe in place.probes() {
        let [login, commit] = ["t_conn_s", "t_rw_s"].map(|name| probe["metrics"][name].as_f64().unwrap());
        assert!(probe["status"] == "ok" && 0.0 < login && login < commit, "{probe}");
    }
    let report = place.whole_report("last");
    assert_eq!(report.matches("(range of 3 kills, after at most 0 s of load)").count(), 2, "{report}");
}

/// As if the run were the duel behind a search over settings.
fn plant_a_search(place: &Place) {
    let mut run = place.json("run.json");
    run["search"] = json!({
        "run": "searched", "incumbent": "one", "workload": "oltp_read_write", "point": { "clients": 1 }, "seed": 1,
        "rules": {
            "alpha": 0.1, "blocks_per_round": 2, "blocks_max": 2, "trial_times_max": 5.0, "trial_slack_s": 60.0,
            "disk_times_max": 2.0, "disk_slack_bytes": 1,
        },
        "space": {}, "held": [], "candidates": [], "rounds": [],
    });
    fs::write(place.run().unwrap().join("run.json"), run.to_string()).unwrap();
}

#[test]
fn a_dbduel_killed_between_profiles_runs_the_rest_once_and_keeps_stacks_and_waits_beside_the_trials() {
    let keys = r#"warmup = "0s", profile = true"#;
    let killed = Killed { keys, purpose: "profile", due: 2, ..KILLED };
    let Some(place) = a_dbduel_killed_inside_a_probe(&killed) else { return };
    for probe in place.probes() {
        let folder = place.run().unwrap().join(format!("trials/{}", probe["trial"]));
        for (what, file) in [("profile", "stacks.folded"), ("waits", "waits.json")] {
            let reason = &probe["remarks"][format!("not-visible:{what}")];
            assert_ne!(folder.join(file).is_file(), reason.is_string(), "{file}: {probe}");
        }
    }
    let page = place.expect(0, &["report", "last", "--format", "html"]).0;
    assert!(page.contains("<h2>Profile</h2>"));
}

#[test]
fn without_findings_no_cause_test_is_due_and_a_line_reports_it() {
    let place = Place::new();
    let text = experiment(r#"engine = "sqlite""#, r#"engine = "sqlite""#, "oltp_point_select", "[1]", 1);
    place.write("try.toml", &text);
    let (out, _) = place.expect(0, &["run", "try.toml", "--test-causes"]);
    // A single block has no interval, and so no cause.
    let whole = place.whole_report("last");
    assert!(whole.contains("Requested, and none was due"), "{whole}");
    let (_, stderr) = place.expect(0, &["verify", "last"]);
    assert_eq!(stderr, "");
    let (again, _) = place.expect(0, &["run", "--resume", "last"]);
    assert_eq!(again, out, "the stored plan has what was asked for");
    place.assert_nothing_is_left();
}

/// Stored trials as if the candidate did a third of the work and synced its log for it, on an undisturbed host.
fn plant_log_writes(place: &Place) {
    let planted = place.records().into_iter().map(|line| {
        let mut trial: Value = serde_json::from_str(&line).unwrap();
        let (tps, syncs) = if trial["contender"] == "one" { (1000.0, 0.0) } else { (300.0, 0.75) };
        let tps = tps * (1.0 + 0.002 * (trial["block"].as_f64().unwrap() % 3.0));
        let committed = tps / 2.0;
        trial["metrics"] = json!({
            "tps": tps, "transactions.committed": committed, "cpu_us_per_tx": 100.0,
            "counter.innodb.data_fsyncs": syncs * committed,
        });
        trial["flags"] = json!([]);
        format!("{trial}\n")
    });
    let planted: String = planted.collect();
    fs::write(place.run().unwrap().join("trials.ndjson"), planted).unwrap();
}

#[test]
fn a_cause_is_put_to_the_test_in_trials_of_the_run_and_goes_on_where_it_was_cut_off() {
    let place = Place::new();
    place.write("try.toml", &experiment(r#"engine = "sqlite""#, r#"engine = "sqlite""#, "oltp_update_index", "[2]", 8));
    place.expect(0, &["run", "try.toml", "--test-causes", "--accept-noisy"]);
    let whole = place.whole_report("last");
    assert!(whole.contains("Requested, and none was due"), "{whole}");
    plant_log_writes(&place);
    let (_, stderr) = place.expect(0, &["run", "--resume", "last"]);
    let whole = place.whole_report("last");
    assert!(
        stderr.contains("[cause test 8/8]") && whole.contains("tested with the data of both on tmpfs"),
        "{stderr}{whole}"
    );
    let probes = place.probes();
    let cause_test = json!({ "cause_test": { "cause": "tmpfs", "candidate": "two" } });
    assert!(probes.len() == 8 && probes.iter().all(|probe| probe["purpose"] == cause_test), "{probes:?}");
    place.assert_every_trial_ran_once();
    let (kept, trials) = (place.records(), place.run().unwrap().join("trials.ndjson"));
    fs::write(&trials, kept[..kept.len() - 3].concat() + &kept[kept.len() - 3][..40]).unwrap();
    let (_, stderr) = place.expect(0, &["run", "--resume", "last"]);
    assert!(!stderr.contains("[cause test 5/8]") && stderr.contains("[cause test 6/8]"), "{stderr}");
    assert_eq!((&place.records()[..kept.len() - 3], place.probes().len()), (&kept[..kept.len() - 3], 8));
    place.assert_nothing_is_left();
}

/// The candidate's settings do not work: the message names it and all of these parts.
fn check_bad_settings(kind: &str, cases: &[(&str, &[&str])]) {
    let place = Place::new();
    let Some(engine) = place.installed(kind) else { return };
    for (settings, words) in cases {
        let candidate = format!("{engine}, settings = {{ {settings} }}");
        place.write("try.toml", &experiment(&engine, &candidate, "oltp_point_select", "[1]", 1));
        let (out, stderr) = place.expect(4, &["run", "try.toml", "--runs", settings]);
        assert_eq!(out, "", "{settings}");
        assert!(stderr.contains("error: cannot start contender `two`"), "{settings}: {stderr}");
        let missing: Vec<_> = words.iter().filter(|word| !stderr.contains(**word)).collect();
        assert!(missing.is_empty(), "{settings}: {missing:?} not in\n{stderr}");
        place.assert_nothing_is_left();
    }
}

#[test]
fn settings_that_mariadb_refuses_ignores_or_changes_stop_the_run() {
    check_bad_settings(
        "mariadb",
        &[
            ("innodb_no_such = 1", &["unknown variable", "innodb", "\n  see: "]),
            ("innodb_buffer_pool_instances = 4", &["innodb_buffer_pool_instances", "\n  see: "]),
            ("table_open_cache = 5", &["table_open_cache", "asked", "5", "10", "\n  see: "]),
        ],
    );
}

#[test]
fn settings_that_postgres_refuses_stop_the_run() {
    check_bad_settings("postgres", &[("no_such_guc = 1", &["unrecognized configuration parameter", "\n  see: "])]);
}

#[test]
fn a_setting_that_sqlite_does_not_take_stops_the_run() {
    let place = Place::new();
    let bad = r#"engine = "sqlite", settings = { page_size = 1000 }"#;
    place.write("try.toml", &experiment(r#"engine = "sqlite""#, bad, "oltp_read_write", "[1]", 1));
    let (_, stderr) = place.expect(4, &["run", "try.toml"]);
    assert!(stderr.contains("contender `two`") && stderr.contains("page_size") && stderr.contains("1000"), "{stderr}");
    place.assert_nothing_is_left();
}

#[test]
fn data_that_no_disk_here_can_hold_are_refused_before_anything_is_loaded() {
    let place = Place::new();
    let tpcc = experiment(r#"engine = "sqlite""#, r#"engine = "sqlite""#, "tpcc", "[1]", 1);
    place.write("try.toml", &tpcc.replace("rows = 1000", "warehouses = 1000000"));
    let (_, stderr) = place.expect(4, &["run", "try.toml"]);
    assert!(
        stderr.contains("too little disk for the data: about ") && stderr.contains("GiB are needed in "),
        "{stderr}"
    );
    assert!(stderr.contains(" are free\n  next: ") && !stderr.contains("loading"), "{stderr}");
    place.assert_nothing_is_left();
}

#[test]
fn points_with_other_warehouses_run_on_data_of_their_own() {
    let place = Place::new();
    let tpcc = experiment(r#"engine = "sqlite""#, r#"engine = "sqlite""#, "tpcc", "[1]", 1);
    let tpcc = tpcc
        .replace("rows = 1000", "terminals_per_warehouse = 1")
        .replace("sweep.clients = [1]", "sweep.warehouses = [1, 2]");
    place.write("try.toml", &tpcc);
    let (_, progress) = place.expect(0, &["run", "try.toml"]);
    assert!(
        progress.contains("tpcc, 1 warehouse into one") && progress.contains("tpcc, 2 warehouses into one"),
        "{progress}"
    );
    assert!(!progress.contains("into two"), "both share the snapshots: {progress}");
    assert!(progress.contains(" NOPM"), "{progress}");
    let (json, _) = place.expect(0, &["report", "last", "--format", "json"]);
    let report: Value = serde_json::from_str(&json).unwrap();
    let trials = report["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4);
    for trial in trials {
        let metrics = &trial["metrics"];
        assert!(metrics["nopm"].as_f64().unwrap() > 0.0 && metrics["payment.latency_ms_p90"].is_f64(), "{trial}");
        assert!(metrics["tpm"].as_f64() >= metrics["nopm_with_rollbacks"].as_f64(), "{trial}");
    }
    let (table, _) = place.expect(0, &["report", "last", "--format", "dbt2"]);
    assert_eq!(table.matches("new-order transactions per minute (NOTPM)").count(), 4, "{table}");
}

#[test]
fn a_contender_that_cannot_be_prepared_does_not_keep_the_others_from_being_measured() {
    let place = Place::new();
    let bad = "{ name = \"three\", engine = \"sqlite\", settings = { page_size = 1000 } }]\nworkload";
    place.write("try.toml", &sqlite(1).replace("]\nworkload", &format!(", {bad}")));
    let (_, progress) = place.expect(4, &["run", "try.toml"]);
    assert!(progress.contains("warning: cannot prepare contender `three`"), "{progress}");
    let whole = place.whole_report("last");
    assert!(whole.contains("two against one") && whole.contains("6 of 6 trials (2 failed)"), "{whole}");
    place.assert_every_trial_ran_once();
}

#[test]
fn an_unknown_version_is_a_fault_of_the_file() {
    let place = Place::new();
    place.write(
        "try.toml",
        &experiment(r#"engine = "mysql@5.4.99""#, r#"engine = "sqlite""#, "oltp_read_write", "[1]", 1),
    );
    for command in ["run", "plan"] {
        let (_, stderr) = place.expect(2, &[command, "try.toml"]);
        for word in ["contender `one`", "mysql 5.4.99", "known versions of mysql: 5.0.21, 5.5.9"] {
            assert!(stderr.contains(word), "{word} not in {stderr}");
        }
    }
    assert!(place.run().is_none());
}

#[test]
fn planning_touches_nothing() {
    let place = Place::new();
    place.write("try.toml", &sqlite(8));
    place.expect(0, &["plan", "try.toml"]);
    let mut left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["tmp", "try.toml"]);
    assert_eq!(fs::read_dir(place.path().join("tmp")).unwrap().count(), 0);
}

#[test]
fn lists_cache_and_fetch_work_without_a_server() {
    let place = Place::new();
    for (what, known) in
        [("engines", "sqlite@3"), ("workloads", "oltp_read_write"), ("observers", "server_cpu"), ("reports", "html")]
    {
        assert!(place.expect(0, &["list", what]).0.contains(known), "{what}");
        let rows: Vec<Value> = serde_json::from_str(&place.expect(0, &["list", what, "--json"]).0).unwrap();
        assert!(rows.iter().any(|row| row.to_string().contains(known)), "{what}");
    }
    assert!(place.expect(0, &["fetch", "sqlite"]).0.contains("compiled into dbduel"));
    place.expect(2, &["fetch", "oracle"]);
    place.write("try.toml", &sqlite(1));
    place.expect(0, &["run", "try.toml"]);
    let listed = place.expect(0, &["cache"]).0;
    assert!(listed.contains("snapshot") && listed.contains("KiB"), "{listed}");
    assert!(place.expect(0, &["cache", "clear"]).0.contains(" freed in "));
    assert!(!place.expect(0, &["cache"]).0.contains("snapshot"));
}

#[test]
fn transactions_arrive_at_the_rate_that_the_file_sets() {
    let place = Place::new();
    let (engine, workload) = (r#"engine = "sqlite""#, "oltp_point_select");
    let closed = at_full_speed(engine, engine, workload, "[1, 2]", 2);
    let open = closed.replace("sweep.clients = [1, 2]", "sweep.rate = [40, 200]").replace("500ms", "2s");
    place.write("open.toml", &open.replace("rows = 1000", "rows = 1000, arrivals = \"constant\", data_seed = 7"));
    let (stdout, _) = place.expect(0, &["run", "open.toml"]);
    assert!(stdout.contains("answers") && stdout.contains(" within "), "{stdout}");
    let report: Value = serde_json::from_str(&place.expect(0, &["report", "last", "--format", "json"]).0).unwrap();
    for trial in report["trials"].as_array().unwrap() {
        let (rate, metrics) = (trial["point"]["rate"].as_u64().unwrap(), &trial["metrics"]);
        let due = metrics["transactions.due"].as_f64().unwrap();
        assert!((due - 2.0 * rate as f64).abs() <= 1.0, "evenly spaced arrivals of two seconds: {trial}");
        assert!(metrics["service_ms_p50"].as_f64() <= metrics["latency_ms_p50"].as_f64(), "{trial}");
        assert_eq!(metrics["transactions.skipped"], 0.0, "{trial}");
    }
    assert_verifiable(&place);
}

#[test]
fn an_overloaded_open_loop_is_reported_as_saturated() {
    let place = Place::new();
    let engine = r#"engine = "sqlite""#;
    let closed = at_full_speed(engine, engine, "oltp_read_write", "[1, 2]", 1);
    place.write(
        "flood.toml",
        &closed.replace("sweep.clients = [1, 2]", "workload.rate = 1_000_000").replace(
            "workload = { name = \"oltp_read_write\", rows = 1000 }\n",
            "workload.name = \"oltp_read_write\"\nworkload.rows = 1000\n",
        ),
    );
    place.expect(0, &["run", "flood.toml"]);
    let report: Value = serde_json::from_str(&place.expect(0, &["report", "last", "--format", "json"]).0).unwrap();
    for trial in report["trials"].as_array().unwrap() {
        let flags: Vec<&str> = trial["flags"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(
            flags.contains(&"saturated") && trial["metrics"]["transactions.skipped"].as_f64() > Some(0.0),
            "{trial}"
        );
    }
}

#[test]
fn the_quickstart_of_the_readme_runs() {
    let place = Place::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains("run quickstart\n"));
    // From a folder without any experiment: the program has it inside.
    let (stdout, _) = place.expect(0, &["run", "quickstart", "--blocks", "1"]);
    assert!(stdout.contains("No verdict: 1 of the ") && stdout.contains("report.html"), "{stdout}");
    place.assert_every_trial_ran_once();
}

/// The flags of the first session are part of its plan: given again beside the file they change nothing.
#[test]
fn the_same_file_and_flags_may_stand_beside_resume() {
    let place = Place::new();
    place.write("try.toml", &sqlite(2));
    place.expect(0, &["run", "try.toml", "--blocks", "1", "--seed", "7"]);
    place.expect(0, &["run", "try.toml", "--blocks", "1", "--seed", "7", "--resume", "last"]);
    place.expect(2, &["run", "try.toml", "--resume", "last"]);
    place.assert_every_trial_ran_once();
}

#[test]
fn without_a_run_the_report_names_the_command_that_makes_one() {
    let place = Place::new();
    for runs in ["runs", "tmp"] {
        let (_, stderr) = place.expect(4, &["report", "last", "--runs", runs]);
        assert!(stderr.contains(runs) && stderr.contains("\n  next: `dbduel run quickstart` makes one"), "{stderr}");
    }
}

#[test]
fn a_reader_who_leaves_does_not_end_the_run() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1));
    let mut command = place.command(&["run", "try.toml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    assert_eq!(child.wait().unwrap().code(), Some(0));
    place.assert_every_trial_ran_once();
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1));
    place.expect(0, &["run", "try.toml"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["report", "last"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("cannot write to stdout\n  because: No space left"));
    place.write("file", "");
    let (_, stderr) = place.expect(4, &["run", "try.toml", "--runs", "file/runs"]);
    assert!(stderr.contains("--runs") && stderr.contains("file/runs"), "{stderr}");
}

#[test]
fn a_run_that_goes_on_can_be_reported_and_neither_resumed_nor_cleared_away() {
    let place = Place::new();
    place.write("try.toml", &sqlite(8));
    let running = place.start(&["run", "try.toml"]);
    wait_for("a first trial", LIMIT, || !place.records().is_empty());
    for command in
        [&["run", "--resume", "last"][..], &["aa", "--resume", "last"], &["run", "try.toml", "--resume", "last"]]
    {
        let (_, stderr) = place.expect(4, command);
        assert!(stderr.contains(&format!("is still running: another dbduel (process {})", running.pid())), "{stderr}");
    }
    place.expect(0, &["report", "last"]);
    let mut clearing = place.start(&["cache", "clear"]);
    clearing.wait_for_output("waiting for another dbduel that uses the cache");
    clearing.signal(libc::SIGINT);
    assert!(!clearing.end().status.success());
    let mut clearing = place.start(&["cache", "clear"]);
    clearing.wait_for_output("waiting for another dbduel that uses the cache");
    assert_eq!(running.end().status.code(), Some(0));
    assert_eq!(clearing.end().status.code(), Some(0));
    place.assert_every_trial_ran_once();
    assert!(!place.expect(0, &["cache"]).0.contains("snapshot"));
    assert_eq!(place.expect(0, &["verify", "last"]).1, "");
}

#[test]
fn a_damaged_snapshot_is_loaded_again_with_a_line_about_it() {
    let place = Place::new();
    place.write("try.toml", &sqlite(1));
    place.expect(0, &["run", "try.toml"]);
    let snapshots = place.path().join("cache/snapshots");
    let snapshot = fs::read_dir(&snapshots).unwrap().next().unwrap().unwrap().path();
    let database = fs::read_dir(snapshot.join("data"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .max_by_key(|file| file.metadata().unwrap().len());
    let database = database.unwrap();
    let mut bytes = fs::read(&database).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&database, &bytes).unwrap();
    let (_, stderr) = place.expect(0, &["run", "try.toml"]);
    assert_eq!(stderr.matches("does not have its checksum): it is loaded again").count(), 1, "{stderr}");
    let (_, stderr) = place.expect(0, &["run", "try.toml"]);
    assert!(!stderr.contains("checksum"), "{stderr}");
}
