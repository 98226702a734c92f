//! Who is compared, and what is known beside the trials.

use std::collections::BTreeMap;

use record::format::{AaRecord, ContrastRecord, DecisionRecord, PlanRecord, Point, RunRecord, Status};

use super::headroom::{Doubled, HeadroomCheck};
use super::index::Index;

/// As the record of a host calls what it cannot see of disks.
const DISKS: &str = "disks";

/// What is known beside the trials and may weaken a verdict.
#[derive(Default)]
pub struct Conditions {
    /// No block will follow, for a reason that is not in the data.
    pub ended: bool,
    pub budget_ended: bool,
    pub shared_cores: bool,
    pub given_up: Vec<DecisionRecord>,
    pub durability: BTreeMap<String, String>,
    /// Why contenders were not measured at all.
    pub refused: BTreeMap<String, String>,
    /// Verdicts that found a false difference on this host, where they are too many for chance.
    pub false_differences: Vec<AaRecord>,
    /// What twice the generator's threads brought.
    pub doublings: Vec<Doubled>,
    /// Checks of the generator that lack blocks.
    pub headroom_open: Vec<HeadroomCheck>,
    /// Of a duet; absent while the run goes on, since its solo blocks come last.
    pub duet: Option<Surroundings>,
    /// What became of gaps without their supposed causes.
    pub contrasts: Vec<ContrastRecord>,
    /// Those that lack blocks, and nothing gives the reason.
    pub contrasts_open: Vec<ContrastRecord>,
    /// The block from which on trials of a workload have their last warm-up, where that is not the first.
    /// Absent while the run goes on: more blocks make no trial steadier, so the run does not wait for it.
    pub steady_from: Option<BTreeMap<String, u32>>,
    /// The trials are those of a search: its winner was chosen by the figures that are printed for it.
    pub searching: bool,
}

/// What is known of a duet beside its trials.
pub struct Surroundings {
    pub physical_cores: Option<u32>,
    pub memory_bytes: u64,
    /// By contender and title of the data: `tpcc`, `tpcc, 5 warehouses`.
    pub data_bytes: BTreeMap<String, BTreeMap<String, u64>>,
    pub disks_are_visible: bool,
}

impl Surroundings {
    pub fn of(plan: &PlanRecord, run: &RunRecord) -> Option<Surroundings> {
        plan.method.duet.then(|| Surroundings {
            physical_cores: run.client.sides.iter().map(|side| side.physical_cores).min(),
            memory_bytes: run.host.memory_bytes,
            data_bytes: run.contenders.iter().map(|(name, facts)| (name.clone(), facts.data_bytes.clone())).collect(),
            disks_are_visible: !run.host.not_visible.iter().any(|name| name == DISKS),
        })
    }

    /// The largest data of both contenders together.
    pub fn bytes_of(&self, workload: &str) -> Option<u64> {
        let is_ours = |title: &str| title == workload || title.starts_with(&format!("{workload}, "));
        let largest =
            |of: &BTreeMap<String, u64>| of.iter().filter(|(title, _)| is_ours(title)).map(|(_, bytes)| *bytes).max();
        let each: Option<Vec<u64>> = self.data_bytes.values().map(largest).collect();
        each.filter(|each| each.len() == 2).map(|each| each.iter().sum())
    }
}

/// Who is compared, and under which circumstances.
pub struct Scope<'a> {
    pub plan: &'a PlanRecord,
    pub records: &'a Index<'a>,
    pub circumstances: &'a Conditions,
    pub workload: &'a str,
    pub candidate: &'a str,
    /// A ratio that takes the place of 1: `faster` means proven above it, `slower` proven below it.
    pub limit: Option<f64>,
    /// So many pairs of contenders share the error.
    pub share: usize,
}

impl Scope<'_> {
    /// The points that have not been given up.
    pub fn active(&self, points: &[Point]) -> Vec<Point> {
        points.iter().filter(|point| !self.is_given_up(Some(point))).cloned().collect()
    }

    /// Has either side of this point been given up?
    pub fn is_given_up(&self, point: Option<&Point>) -> bool {
        let ours = |contender: &str| contender == self.candidate || contender == self.plan.baseline;
        self.circumstances
            .given_up
            .iter()
            .any(|one| one.workload == self.workload && ours(&one.contender) && Some(&one.point) == point)
    }

    /// The durability classes of baseline and candidate, where they differ.
    pub fn durability(&self) -> Option<(String, String)> {
        let class = |contender: &str| self.circumstances.durability.get(contender).cloned();
        let both = (class(&self.plan.baseline)?, class(self.candidate)?);
        (both.0 != both.1).then_some(both)
    }

    /// Has every trial of both that is ok this metric, at these points?
    pub fn has_all(&self, metric: &str, points: &[Point]) -> bool {
        let both = [self.plan.baseline.as_str(), self.candidate];
        let trials = points.iter().flat_map(|point| {
            let numbers = 1..=self.plan.method.blocks;
            numbers.flat_map(move |block| both.map(|one| self.records.find(self.workload, point, one, block)))
        });
        let ok = trials.flatten().filter(|trial| trial.status == Status::Ok);
        ok.into_iter().all(|trial| trial.metrics.contains_key(metric))
    }

    pub fn is_pass(&self) -> bool {
        self.plan.workloads.iter().any(|workload| workload.label == self.workload && workload.one_pass)
    }
}
