//! Runs whose trials share a start, a time, or the blocks of their data, with the real program.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::Place;
use serde_json::Value;

fn experiment(method: &str, storage: &str) -> String {
    format!(
        "name = \"arranged\"\n\
         contender = [{{ name = \"one\", engine = \"sqlite\"{storage} }}, {{ name = \"two\", engine = \"sqlite\"{storage} }}]\n\
         workload = {{ name = \"oltp_read_write\", rows = 1000, rate = 100 }}\nsweep.clients = [1, 2]\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2, {method} }}\n"
    )
}

fn steps(trial: &Value) -> Vec<&str> {
    trial["steps"].as_array().unwrap().iter().map(|step| step[0].as_str().unwrap()).collect()
}

#[test]
fn a_fast_sweep_starts_each_contender_once_in_a_block() {
    let place = Place::new();
    place.write("try.toml", &experiment("fast_sweep = true", ""));
    place.expect(0, &["run", "try.toml"]);
    assert!(place.whole_report("last").contains("fast sweep"));
    place.assert_every_trial_ran_once();
    let trials = place.trials();
    assert_eq!(trials.len(), 8);
    for (number, trial) in (1..).zip(&trials) {
        let begins = number % 2 == 1;
        assert_eq!(trial["shares_start_with"].as_u64(), (!begins).then_some(number - 1), "{trial}");
        let steps = steps(trial);
        assert_eq!(
            (steps.contains(&"restore"), steps.contains(&"start"), steps.contains(&"stop")),
            (begins, begins, !begins)
        );
        assert!(steps.contains(&"connect") && steps.contains(&"measure") && steps.contains(&"check"), "{steps:?}");
        assert!(trial["metrics"]["tps"].as_f64().unwrap() > 0.0);
    }
    place.assert_nothing_is_left();
}

#[test]
fn a_duet_measures_both_at_once_and_lists_why_it_has_no_verdict() {
    let place = Place::new();
    place.write("try.toml", &experiment("duet = true", ""));
    let output = place.dbduel(&["run", "try.toml", "--json"]);
    let refused = crate::support::text(&output.stderr);
    if refused.contains("needs a physical core of its own") {
        println!("skipped: {refused}");
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{refused}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    place.assert_every_trial_ran_once();
    let trials = place.trials();
    assert_eq!(trials.len(), 2 * 2 * 2 + 4 * 2 * 2, "two blocks of a duet, four of solo");
    let time = |trial: &Value, key: &str| trial[key].as_str().unwrap().to_owned();
    for pair in trials[..8].chunks(2) {
        assert_eq!(pair[0]["point"], pair[1]["point"]);
        // Both run until an interval is over that began at one time.
        assert!(time(&pair[1], "started_at") < time(&pair[0], "finished_at"), "{pair:?}");
        assert!(time(&pair[0], "started_at") < time(&pair[1], "finished_at"), "{pair:?}");
        assert!(pair.iter().all(|trial| steps(trial).iter().filter(|step| **step == "meet").count() == 2));
    }
    for pair in trials[8..].chunks(2) {
        assert!(time(&pair[1], "started_at") >= time(&pair[0], "finished_at"), "{pair:?}");
    }
    let comparisons = json["comparisons"].as_array().unwrap();
    let has_caveat = |one: &Value| one["caveats"].as_array().unwrap().iter().any(|caveat| caveat == "duet");
    assert!(
        comparisons.iter().all(|one| one["verdict"] == "inconclusive" && has_caveat(one)),
        "two blocks allow no verdict"
    );
    assert_eq!(json["client"]["sides"].as_array().unwrap().len(), 2);
    assert!(place.whole_report("last").contains("Both contenders ran at the same time, each on half of the cores."));
    a_side_that_is_stored_keeps_its_files(&place, &trials[6]);
    place.assert_nothing_is_left();
}

/// A run that was killed between the records of the last pair: both sides of it run again.
fn a_side_that_is_stored_keeps_its_files(place: &Place, stored: &Value) {
    let run = place.run().unwrap();
    fs::write(run.join("trials.ndjson"), place.records()[..7].concat()).unwrap();
    let series = run.join(format!("trials/{}/series.csv", stored["trial"]));
    let before = fs::metadata(&series).unwrap().ino();
    place.expect(0, &["run", "--resume", "last"]);
    assert_eq!(fs::metadata(&series).unwrap().ino(), before, "it was replaced");
    place.assert_every_trial_ran_once();
    place.expect(0, &["verify", "last"]);
}

#[test]
fn clones_are_refused_before_the_run_where_the_file_system_has_none() {
    let place = Place::new();
    place.write("try.toml", &experiment("work_copy = \"reflink\"", ", storage = \"tmpfs\""));
    let (_, stderr) = place.expect(2, &["run", "try.toml"]);
    for part in [
        "try.toml",
        "work_copy = \"reflink\" in [method]",
        "the work folder of `one` is on tmpfs",
        "next: write work_copy = \"copy\"",
    ] {
        assert!(stderr.contains(part), "no {part:?} in\n{stderr}");
    }
    assert!(place.run().is_none(), "nothing has begun");
}
