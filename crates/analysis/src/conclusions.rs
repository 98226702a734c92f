//! All that is concluded from a run's records.

use std::collections::BTreeMap;

use record::format::{MetricRecord, Point};
use schemars::JsonSchema;
use serde::Serialize;

use super::comparison::{Comparison, Difference, FlagImbalance, Verdict};
use super::diagnosis::{Cause, Diagnosis, cause_test};
use super::duet::{Solo, Unfounded};
use super::finding::Finding;
use super::index::Cell;
use super::ladder::{Ladder, Stage};
use super::missing::Missing;
use super::operations::Parts;
use super::overall::{Deferring, Peak};
use super::scaling::Scaling;
use super::steady_state::{Growth, Trend};
use super::variation::Variation;
use super::{durability, json};

/// All conclusions from a run's records.
#[derive(Debug, Clone, PartialEq)]
pub struct Conclusions {
    pub workloads: Vec<WorkloadConclusions>,
    pub findings: Vec<Finding>,
    /// Of an experiment with `[recovery]`.
    pub durability: Vec<durability::Durability>,
    pub tally: Tally,
    pub flags: Vec<FlagCount>,
}

impl Conclusions {
    /// Why the candidates' verdicts came out so, in the order of the duels.
    pub fn causes(&self) -> impl Iterator<Item = &Cause> {
        let duels = self.workloads.iter().flat_map(|workload| &workload.duels);
        duels.flat_map(|duel| &duel.diagnosis.causes)
    }

    /// What can put causes to the test.
    pub fn contrasts(&self) -> impl Iterator<Item = &cause_test::Due> {
        let duels = self.workloads.iter().flat_map(|workload| &workload.duels);
        duels.flat_map(|duel| &duel.diagnosis.contrasts)
    }

    /// What the crashes of this run have shown of a contender: under several workloads, the least.
    pub fn measured_class(&self, contender: &str) -> Option<durability::MeasuredClass> {
        let ours = self.durability.iter().filter(|one| one.contender == contender);
        ours.filter_map(|one| one.measured).min_by_key(|measured| measured.class)
    }
}

/// How much was done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tally {
    pub trials_planned: usize,
    /// Trials of the plan; repeats are counted beside them.
    pub trials_finished: usize,
    /// Trials that took the place of others, because the host was disturbed.
    pub trials_repeated: usize,
    pub trials_failed: usize,
    pub blocks_planned: usize,
    /// Blocks of which every trial is finished, or given up.
    pub blocks_finished: usize,
    /// Time spent inside trials.
    pub minutes: f64,
    /// Trials in which the load generator was the limit.
    pub trials_generator_bound: usize,
    /// Least share of the time in which the clients had a statement under way.
    pub occupancy_min: Option<f64>,
    /// Most of what the way to a server can carry that any trial took.
    pub path_share_max: Option<f64>,
    /// What the generator itself costs, as a mean over trials.
    pub client_cpu_us_per_query: Option<f64>,
}

/// A contender's trials that carry flags of the host, and how often each flag.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagCount {
    pub contender: String,
    pub trials: usize,
    pub flagged: usize,
    pub by_flag: BTreeMap<String, usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadConclusions {
    pub workload: String,
    /// The metric that verdicts come from.
    pub metric: String,
    /// The same with its unit and title.
    pub primary: MetricRecord,
    /// Throughput was set from outside, so that response times decide between the contenders.
    pub is_open_loop: bool,
    /// Named beforehand: of each closed loop whose servers are all started here, which shows their CPU.
    pub secondary: Option<&'static str>,
    /// Ascending.
    pub points: Vec<Point>,
    pub cells: Vec<Cell>,
    /// One per candidate, in the order of the plan.
    pub duels: Vec<HeadToHead>,
    /// Over a sweep of cores or of clients.
    pub scaling: Option<Scaling>,
    pub ladders: Vec<Ladder>,
    /// The first ladder beside the others.
    pub stages: Vec<Stage>,
}

impl WorkloadConclusions {
    /// Whether response times run from when something was due, as in an open loop and a replay at the pace of its log.
    pub fn runs_from_due(&self) -> bool {
        self.is_open_loop || self.metric == "response_seconds"
    }

    /// The unit of a metric; the workload names that of the primary one.
    pub fn unit(&self, metric: &str) -> &str {
        if metric == self.metric { &self.primary.unit } else { record::metric::unit(metric) }
    }

    /// The secondary verdict, where it decides and the primary one does not.
    pub fn decided_by_cost<'a>(&self, duel: &'a HeadToHead) -> Option<&'a Comparison> {
        let metric = self.secondary.filter(|_| duel.overall.verdict == Verdict::Inconclusive)?;
        let cost = &duel.others.iter().find(|other| other.metric == metric)?.overall;
        matches!(cost.verdict, Verdict::Faster | Verdict::Slower | Verdict::NoDifferenceShown).then_some(cost)
    }

    /// Whether a candidate stands on a ladder, which is reported step by step.
    pub fn is_rung(&self, candidate: &str) -> bool {
        self.ladders.iter().any(|ladder| ladder.rungs.iter().any(|rung| rung.contender == candidate))
    }
}

/// A candidate against the baseline under one workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeadToHead {
    pub baseline: String,
    pub candidate: String,
    #[serde(skip)]
    pub overall: Comparison,
    #[serde(skip)]
    pub points: Vec<Comparison>,
    #[serde(skip)]
    pub others: Vec<MetricComparison>,
    /// Quantiles that are compared with nothing.
    pub missing: Vec<Missing>,
    /// Of a workload that runs once through, and of one whose statements are timed one by one.
    pub parts: Option<Parts>,
    pub difference: Option<Difference>,
    /// Points with the verdict `slower`, the worst first.
    pub losing: Vec<Point>,
    /// Neighbouring points with opposite verdicts; the curves cross between them.
    pub crossings: Vec<(Point, Point)>,
    /// Durability classes of baseline and candidate, where they differ.
    pub durability: Option<(String, String)>,
    /// Of a duet: what its verdict would have to rest on and does not, for the whole sweep.
    pub unfounded: Vec<Unfounded>,
    /// Of a duet: what contenders showed that ran alone.
    pub solo: Option<Solo>,
    /// Of the whole sweep.
    pub spread: Variation,
    /// Where flags of the host fall on one side more often than chance allows.
    pub flag_imbalance: Option<FlagImbalance>,
    /// Each side at its best point, over a sweep of clients.
    pub peak: Option<Peak>,
    /// The p value of "no candidate differs", for all candidates together; absent with a single one.
    pub p_together: Option<f64>,
    /// Where one is faster only while it defers work: the whole sweep first.
    pub deferring: Vec<Deferring>,
    /// What rose or fell inside trials, by point; absent for the whole sweep.
    #[serde(serialize_with = "json::at_points")]
    #[schemars(with = "Vec<json::At<Option<Point>, Trend>>")]
    pub drifts: Vec<(Option<Point>, Trend)>,
    /// Work that was put off, at each point.
    #[serde(serialize_with = "json::at_points")]
    #[schemars(with = "Vec<json::At<Point, Growth>>")]
    pub growths: Vec<(Point, Growth)>,
    /// Why it came out so, as far as that can be seen.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MetricComparison {
    pub metric: String,
    pub overall: Comparison,
    pub points: Vec<Comparison>,
}
