//! Before the first block, of a workload that asks for it: how long its tables take to load into an empty server.
//!
//! The range is reported, and no verdict comes from it.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::{Bench, Probe, asked};
use engine::Cache;
use record::format::{PlannedTrial, Purpose};
use trial::observe::Observers;
use trial::{Finished, Trial, loading};

pub struct Loads<'a> {
    pub cache: &'a Cache,
}

impl Probe for Loads<'_> {
    fn due(&self, bench: &Bench) -> Vec<Vec<PlannedTrial>> {
        asked(bench, |workload| workload.loads, |number| Purpose::Load { number })
    }

    fn refusal(&self, bench: &Bench, set: &[PlannedTrial]) -> Result<Option<String>> {
        let is_target = |planned: &PlannedTrial| {
            !bench.setup.trial(planned, Path::new(""), Duration::ZERO).environment.is_managed()
        };
        let why = "dbduel empties no server of yours";
        Ok(set.iter().any(is_target).then(|| why.to_owned()))
    }

    fn run(&self, trial: &Trial, _: &mut Observers, live: &mut dyn FnMut(load::Live)) -> Result<Finished> {
        live(load::Live::without_load("loading the tables"));
        Ok(loading::load(trial, self.cache)?)
    }
}
