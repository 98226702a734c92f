//! Made-up runs of every kind that a page shows differently.

use std::collections::BTreeMap;

use analysis::conclude_with_seconds;
use anyhow::Result;
use fixtures::{
    CANDIDATE, PLANTED, StoredRun, Story, cores_run, duel_after_search, ladder_run, many_levels_run, many_passes_run,
    quickstart_run, stored_run, tpcc_run,
};
use record::StoredTrials;
use record::format::Series;
use report::{Evidence, Options};

/// A name, and what its report is written from.
pub fn runs() -> Vec<(&'static str, Evidence)> {
    let story = Story::default;
    let stored = [
        ("quickstart", quickstart_run(&story())),
        ("versions", stored_run(&story())),
        ("ladder", ladder_run(&story(), PLANTED)),
        ("cores", cores_run(&story())),
        ("operations", many_passes_run(&story())),
        ("levels", many_levels_run(&story())),
        ("failures", failures()),
        ("one-block", stored_run(&Story { blocks: 1, ..story() })),
        ("tpcc", tpcc_run(&story())),
        ("search", duel_after_search(&story())),
    ];
    stored.into_iter().map(|(name, stored)| (name, evidence(stored))).collect()
}

/// A candidate that fails at every third trial, and long names.
fn failures() -> StoredRun {
    let mut stored = stored_run(&Story { blocks: 10, trouble: true, ..Story::default() });
    for block in [2, 5, 8] {
        stored.fail(CANDIDATE, 64, block);
    }
    stored.run.contenders.values_mut().for_each(|facts| facts.version += "-with-a-rather-long-vendor-suffix+deb12u1");
    stored
}

/// What a report is written from, with throughput in each second.
pub fn evidence(stored: StoredRun) -> Evidence {
    let StoredRun { plan, run, trials } = stored;
    let series = trials.iter().filter_map(|trial| Some((trial.trial, seconds(*trial.metrics.get("tps")?))));
    let series: BTreeMap<u32, Series> = series.collect();
    let conclusions = conclude_with_seconds(&plan, &run, &trials, &series);
    Evidence {
        folder: "runs/made-up".into(),
        plan,
        run,
        trials: StoredTrials::new(trials, None),
        series,
        observed: BTreeMap::new(),
        windows: BTreeMap::new(),
        profiles: Vec::new(),
        note: None,
        conclusions,
    }
}

fn seconds(tps: f64) -> Series {
    let row = |second: u32| vec![f64::from(second), (tps * (1.0 + f64::from(second * 7 % 5) / 50.0)).floor()];
    Series { columns: vec!["second".into(), "committed".into()], rows: (1..=30).map(row).collect() }
}

/// The page of a run.
pub fn html(evidence: &Evidence) -> Result<String> {
    report::find("html")?.write(evidence, &Options::default())
}
