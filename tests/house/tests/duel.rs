//! An engine and a workload outside dbduel's lists are handed in, run and reported.

use std::process::Command;
use std::sync::atomic::AtomicBool;

use campaign::planning::plan_experiment;
use campaign::{ActiveRun, Request, Screen, State, carry_out};
use engine::Engines;
use experiment::{Experiment, Known, Overrides};
use load::{ScaledWorkload, Workloads};
use report::Options;
use toy_engine::TOY;
use toy_workload::POINTS;

const FILE: &str = "name = \"toys\"\nworkload = \"points\"\n\
    contender = [{ name = \"safe\", engine = \"toy\", settings = { durable = true } },\n\
    { name = \"hasty\", engine = \"toy\", settings = { durable = false } }]\n\
    method = { preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 8, noisy_host = \"stamp\" }\n";

static KNOWN: Known = Known {
    engines: Engines(TOY),
    workloads: Workloads(POINTS),
    null_load: workloads::null_load,
    advised: ScaledWorkload { kind: &POINTS[0], scale: "points" },
    shipped: &[],
};

/// Set where this test runs itself in a corner of its own.
const CORNER: &str = "DBDUEL_HOUSE_TEST";

struct Nowhere;

impl Screen for Nowhere {
    fn is_live(&self) -> bool {
        false
    }
    fn line(&self, _: &str) {}
    fn show(&self, _: State) {}
    fn finish(&self) {}
}

#[test]
fn an_engine_and_a_workload_from_elsewhere_run_and_are_reported() {
    if let Some(folder) = std::env::var_os(CORNER) {
        return duel(folder.as_ref());
    }
    let folder = tempfile::tempdir().unwrap();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(std::env::args_os().skip(1)).args(["--nocapture"]);
    again.env("DBDUEL_CACHE", folder.path().join("cache")).env_remove("DBDUEL_WORK").env("TMPDIR", folder.path());
    let ended = again.env(CORNER, folder.path()).output().unwrap();
    let printed = [ended.stdout, ended.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(ended.status.success(), "{}", printed.concat());
}

#[test]
fn the_plan_of_an_engine_from_elsewhere_is_priced_by_its_own_costs() {
    let experiment = Experiment::parse(FILE, "toys.toml", &KNOWN, &Overrides::default()).unwrap();
    let estimate = plan_experiment(&experiment).unwrap().estimate;
    let clients = u64::from(experiment.clients_max());
    assert_eq!(estimate.memory_bytes, (1 + clients) << 20, "no other engine's buffers and connections");
}

fn duel(folder: &std::path::Path) {
    let file = folder.join("toys.toml");
    std::fs::write(&file, FILE).unwrap();
    let request = Request {
        known: KNOWN,
        file: Some(file),
        runs: folder.join("runs"),
        resume: None,
        overrides: Overrides::default(),
        progress: |_| {},
    };
    let active_run = ActiveRun::begin(&request).unwrap_or_else(|error| panic!("{error:?}"));
    let ended = carry_out(&active_run, Box::new(Nowhere), &AtomicBool::new(false)).unwrap();
    assert!(!ended.incomplete, "{ended:?}");
    let write = |format: &str| report::write(active_run.run_dir(), format, &Options::default()).unwrap();
    for format in ["text", "html", "json"] {
        let printed = write(format);
        // What a reader sees, without the records that the page carries.
        let printed = printed.split("id=\"dbduel-records\"").next().unwrap_or_default();
        for part in ["points_per_s", "pps", "Look at a point", "Move a point", "A toy: its figures mean nothing"] {
            assert!(printed.contains(part), "{format}: no {part}\n{printed}");
        }
    }
    let json: serde_json::Value = serde_json::from_str(&write("json")).unwrap();
    let overall = json["comparisons"].as_array().unwrap().iter().find(|one| one["metric"] == "points_per_s").unwrap();
    assert_eq!(overall["blocks"], 8, "{overall}");
    let verdict = overall["verdict"].as_str().unwrap();
    assert!(["faster", "slower", "no difference shown", "inconclusive"].contains(&verdict), "{overall}");
    assert!(write("text").contains(verdict.trim_end_matches(" shown")));
}
