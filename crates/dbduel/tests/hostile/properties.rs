//! What every experiment file must do, for the fuzz target and for the seeded generator beside this.

use std::sync::OnceLock;

use experiment::testing::{known, plan_of};
use experiment::{Experiment, Known, Overrides};
use load::Workloads;
use workloads::WORKLOADS;

/// A larger plan takes a fuzzer more than the second that it allows.
const TRIALS_MAX: usize = 200;

/// It is planned, or refused with words.
pub fn experiment_file(bytes: &[u8]) {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let known = KNOWN.get_or_init(|| Known { workloads: Workloads(WORKLOADS), ..known() });
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Experiment::parse(text, "none/x.toml", known, &Overrides::default()) {
        Ok(experiment) if trials_of(&experiment) <= TRIALS_MAX => {
            assert!(!plan_of(&experiment).record.trials.is_empty());
        }
        Ok(_) => (),
        Err(mistakes) => assert!(mistakes.to_string().contains("error: ")),
    }
}

fn trials_of(experiment: &Experiment) -> usize {
    let points = experiment.sweep.as_ref().map_or(1, |sweep| sweep.values.len());
    experiment.method.blocks as usize * points * experiment.contenders.len() * experiment.workloads.len()
}
