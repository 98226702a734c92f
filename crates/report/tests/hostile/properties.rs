//! What every stored run must do, for the fuzz target and for the seeded generator beside this.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use fixtures::{Hostile, StoredRun};
use record::StoredTrials;
use report::{Evidence, Options, REPORTS};

/// The report that the last byte chooses tells the run or says why it cannot; it has no control character that a terminal
/// would obey.
pub fn stored_run(bytes: &[u8]) {
    static RUNS: OnceLock<Hostile> = OnceLock::new();
    let Some((which, bytes)) = bytes.split_last() else { return };
    let Some(StoredRun { plan, run, trials }) = RUNS.get_or_init(Hostile::default).run(bytes) else { return };
    let conclusions = analysis::conclude(&plan, &run, &trials);
    let evidence = Evidence {
        folder: "runs/hostile".into(),
        plan,
        run,
        trials: StoredTrials::new(trials, None),
        series: BTreeMap::new(),
        observed: BTreeMap::new(),
        windows: BTreeMap::new(),
        profiles: vec![],
        note: None,
        conclusions,
    };
    let report = &REPORTS[usize::from(*which) % REPORTS.len()];
    let Ok(text) = report::write_evidence(&evidence, report.name(), &Options::default()) else { return };
    let odd = text.chars().find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'));
    assert_eq!(odd, None, "report {}", report.name());
}
