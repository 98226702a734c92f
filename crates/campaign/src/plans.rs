//! Which trial of a run asks its server how it runs the statements, and what becomes of the answers.
//!
//! Each server is asked once for each of its data sets, behind the interval of the first trial of the plan that ends well.
//! What is left to ask follows from the stored answers alone.

use std::collections::BTreeSet;
use std::time::Duration;

use record::format::{ContenderFacts, PlannedTrial, Purpose, RunRecord, StatementPlan};
use trial::{Explaining, Trial};

use crate::setup::Setup;

/// Of the time of a run.
const SHARE_MAX: f64 = 0.02;
const LIMIT_MIN: Duration = Duration::from_millis(200);
const LIMIT_MAX: Duration = Duration::from_secs(20);

/// What servers have answered.
pub struct Asked {
    pub contender: String,
    /// The label of the workload, with the point where points have data of their own.
    pub data: String,
    pub plans: Vec<StatementPlan>,
}

impl Asked {
    pub fn keep(self, run: &mut RunRecord) {
        if let Some(facts) = run.contenders.get_mut(&self.contender) {
            facts.plans.insert(self.data, self.plans);
        }
    }
}

/// Whom to ask yet.
pub struct Plans {
    /// Contender and data.
    asked: BTreeSet<(String, String)>,
    limit: Duration,
}

impl Plans {
    /// `takes` is how long a run of so many servers and data sets takes.
    pub fn of(run: &RunRecord, takes: Duration, servers: usize) -> Plans {
        let of_contender = |(name, facts): (&String, &ContenderFacts)| {
            facts.plans.keys().map(|data| (name.clone(), data.clone())).collect::<Vec<_>>()
        };
        let asked = run.contenders.iter().flat_map(of_contender).collect();
        let limit = takes.mul_f64(SHARE_MAX) / servers.max(1) as u32;
        Plans { asked, limit: limit.clamp(LIMIT_MIN, LIMIT_MAX) }
    }

    /// What is asked behind the last of trials that share a start; nothing where another server is measured meanwhile.
    pub fn due(&self, setup: &Setup, planned: &[&PlannedTrial], at_once: bool) -> Option<(String, Explaining)> {
        let last = planned.last().filter(|last| last.purpose == Purpose::Compare || last.purpose == Purpose::Alone)?;
        let (data, explaining) = setup.explaining(last, self.limit).filter(|_| !at_once)?;
        (!self.asked.contains(&(last.contender.clone(), data.clone()))).then_some((data, explaining))
    }

    /// Notes an answer, where there is one.
    pub fn answered(&mut self, trial: &Trial, data: &str, plans: Vec<StatementPlan>) -> Option<Asked> {
        let contender = trial.planned.contender.clone();
        let is_new = !plans.is_empty() && self.asked.insert((contender.clone(), data.to_owned()));
        is_new.then(|| Asked { contender, data: data.to_owned(), plans })
    }
}
