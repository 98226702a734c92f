//! What every experiment file must do, for the fuzz target and for the seeded generator beside this.

use std::sync::OnceLock;

use experiment::testing::{known, plan_of};
use experiment::{Experiment, Known, Overrides};
use load::Workloads;
use workloads::WORKLOADS;

/// More trials than a plan of a person has.
const TRIALS_MAX: usize = 20_000;

/// It is planned, twice alike, or refused with words.
pub fn experiment_file(bytes: &[u8]) {
    static KNOWN: OnceLock<Known> = OnceLock::new();
    let known = KNOWN.get_or_init(|| Known { workloads: Workloads(WORKLOADS), ..known() });
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = || Experiment::parse(text, "none/x.toml", known, &Overrides::default());
    match parsed() {
        Ok(experiment) if trials_of(&experiment) <= TRIALS_MAX => {
            let again = parsed().expect("it was read before");
            assert_eq!(plan_of(&experiment).record.plan_hash, plan_of(&again).record.plan_hash);
        }
        Ok(_) => (),
        Err(mistakes) => assert!(mistakes.to_string().contains("error: ")),
    }
}

fn trials_of(experiment: &Experiment) -> usize {
    let points = experiment.sweep.as_ref().map_or(1, |sweep| sweep.values.len());
    experiment.method.blocks as usize * points * experiment.contenders.len() * experiment.workloads.len()
}
