//! What it means: stored records in, conclusions out.
//!
//! Everything here is pure: no file, no clock, and random numbers only from the plan's seed, so an
//! old run can be judged again and gets the same verdict. The statistics themselves live in the
//! `stats` crate; this module decides which numbers are paired, how much error each comparison may
//! spend, and what weakens a verdict. It does not depend on layout, and reports do not depend on statistics.
//!
//! What must stay true: no trial is left out because of its result. A failed trial takes its pair
//! away, and enough of those take the verdict away.

pub mod aa;
mod arrangement;
mod comparison;
mod deferred;
mod diagnosis;
pub mod differences;
mod duet;
pub mod durability;
mod findings;
pub mod flame_graph;
pub mod gate;
pub mod headroom;
pub mod history;
mod host;
mod index;
pub mod json;
mod ladder;
pub mod latency_windows;
mod missing;
mod named;
mod operations;
mod overall;
pub mod race;
mod scaling;
mod steady_state;
pub mod timeline;
mod transaction_kinds;
mod variation;
pub mod workers;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, MedianInterval};

use comparison::Scope;
pub use comparison::{HOST_FLAGS, QUICK_BELOW_S, less_is_better};
pub use deferred::WorkLeft;
pub use diagnosis::{
    Cause, CauseKind, CauseTest, Change, Cost, Diagnosis, GapChange, Measure, Observed, Ratio, Side, TestOutcome,
    cause_test,
};
pub use duet::{Shared, Solo, Unfounded};
pub use findings::{Facts, Finding, FindingKind, Lost};
use gate::Gated;
use headroom::{Doubled, HeadroomCheck};
pub use host::{Watched, watched};
use index::Index;
use ladder::Climb;
pub use ladder::{Gain, Interaction, Ladder, LevelChange, Rung, Stage, StageKind};
pub use missing::Missing;
use named::named;
pub use operations::{COLLECTED_SECONDS, Explained, LeftOut, LeftOutBecause, Part, PartKind, Parts, ResultsDiffer};
pub use overall::{Best, Deferring, Peak};
use record::format::{
    AaRecord, ContrastRecord, DecisionKind, DecisionRecord, MetricRecord, PlanRecord, Point, RunRecord, Series, Status,
    TrialRecord, measured,
};
use record::rule::{first_for_operations, first_for_points, point_rule};
pub use scaling::{Estimate, Law, LawRatio, Scaling, Step};
pub use steady_state::{Growth, Trend};
use steady_state::{drifts, growths};
pub use transaction_kinds::{Kind, kinds};
pub use variation::{OrderEffect, SERIES_COLUMN, Variation, spread};

/// Failures in a row after which a contender's point is given up.
pub const FAILURES_UNTIL_GIVEN_UP: usize = 3;

/// Metrics that are compared beside the primary one, where trials have them.
const OTHER_METRICS: [&str; 11] = [
    "tpm",
    operations::GEOMEAN_SECONDS,
    "adjusted_tps",
    "adjusted_nopm",
    "latency_ms_p50",
    "latency_ms_p95",
    "latency_ms_p99",
    "latency_ms_p999",
    "new_order.latency_ms_p90",
    record::format::crash::FIRST_COMMIT,
    SECONDARY_METRIC,
];

/// Judged by the same rule at its own error rate, and printed with the verdict where that is inconclusive: on a busy
/// host it spreads seven to ten times less than throughput.
pub const SECONDARY_METRIC: &str = "cpu_us_per_tx";

/// Behind it stands the primary metric of which it counts the server's deferred work.
const ADJUSTED: &str = "adjusted_";

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

/// One contender at one point: the values of its trials, without comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    pub contender: String,
    pub point: Point,
    /// The metric of the verdicts; a geometric mean, as ratios are.
    pub primary: Option<Summary>,
    pub trials_ok: usize,
    pub trials_failed: usize,
    pub metrics: BTreeMap<String, Summary>,
    /// Of each quantile of latency: the median over trials, with the interval that their order gives.
    /// Never from pooled requests, which stalls make depend on each other.
    pub quantiles: BTreeMap<String, MedianInterval>,
    /// Where the workload counts kinds of transactions apart.
    pub kinds: Vec<Kind>,
}

/// A metric over the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Summary {
    #[serde(rename = "value")]
    pub mean: f64,
    /// t interval of the mean over blocks; absent with a single block.
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub trials: usize,
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

/// Candidate minus baseline over the points, in the unit of the primary metric.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    pub mean: f64,
    /// Points that both have values at.
    pub points: usize,
    #[serde(serialize_with = "json::at_point")]
    #[schemars(with = "json::ValueAt<'static>")]
    pub max: (Point, f64),
    #[serde(serialize_with = "json::at_point")]
    #[schemars(with = "json::ValueAt<'static>")]
    pub min: (Point, f64),
}

/// A paired estimate with its interval.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    pub workload: String,
    pub baseline: String,
    pub candidate: String,
    /// Absent for the whole sweep.
    pub point: Option<Point>,
    pub metric: String,
    /// Geometric means over the points and the trials that are ok.
    pub baseline_value: Option<f64>,
    pub candidate_value: Option<f64>,
    /// Above 1 the candidate is better; absent with no pair at all.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    #[serde(rename = "interval", serialize_with = "json::basis")]
    #[schemars(with = "json::IntervalKind")]
    pub basis: Basis,
    /// t interval corrected for nothing.
    #[serde(flatten, serialize_with = "json::unadjusted")]
    #[schemars(with = "json::Unadjusted")]
    pub unadjusted: Option<(f64, f64)>,
    /// Of all intervals of one kind together: the points of a sweep share it.
    pub confidence: f64,
    pub verdict: Verdict,
    pub caveats: Vec<Caveat>,
    /// Points at which both have values; the values are means over these.
    pub points: usize,
    /// Complete pairs (of the whole sweep: complete blocks).
    pub blocks: usize,
    pub blocks_planned: usize,
    /// Smallest difference this run would have noticed, as a fraction.
    #[serde(flatten, serialize_with = "json::detectable")]
    #[schemars(with = "json::Detectable")]
    pub mde: Option<f64>,
    /// Standard deviation of the log ratio between blocks.
    #[serde(rename = "sd_log_ratio")]
    pub sd: Option<f64>,
    /// The ratio by the mean of logarithms, beside the rank estimate.
    pub mean_ratio: Option<f64>,
    pub sign_flip_p: Option<f64>,
    /// Ratio in each block, by block number.
    #[serde(skip)]
    pub pairs: Vec<(u32, f64)>,
    /// Blocks in which a trial that is ok could not give the value: too few requests for a quantile. They count as
    /// the worst for the side that lacks it.
    pub incomplete: usize,
    /// Too many of these: there is neither ratio nor value, and no report has a row for it.
    #[serde(skip)]
    pub is_withheld: bool,
    /// The same without the blocks in which the host disturbed a trial, where there are any.
    pub unflagged: Option<Unflagged>,
}

impl Comparison {
    fn log_interval(&self) -> Option<stats::Interval> {
        Some(stats::Interval { low: self.low?.ln(), high: self.high?.ln() })
    }
}

/// A second opinion from the blocks that nothing disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Unflagged {
    pub blocks: usize,
    pub ratio: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Absent with fewer than eight such blocks.
    pub verdict: Option<Verdict>,
}

impl Unflagged {
    fn contradicts(&self, verdict: Verdict) -> bool {
        self.verdict.is_some_and(|second| second != verdict)
    }
}

named! {
    pub enum Verdict {
        Faster = "faster",
        Slower = "slower",
        NoDifferenceShown = "no difference shown",
        Inconclusive = "inconclusive",
        /// Of a whole sweep only: faster at one point, slower at another.
        Mixed = "mixed",
    }
}

named! {
    /// What weakens a verdict. Printed behind it, in this order.
    pub enum Caveat {
        Quick = "quick",
        T = "t",
        /// Both ran at the same time: the ratio is relative, under co-run.
        Duet = "duet",
        NoisyHost = "noisy host",
        SharedCores = "shared cores",
        DurabilityDiffers = "durability differs",
        GeneratorBound = "generator-bound",
        /// Trials ran and nothing was committed in them: they count as the worst.
        Outages = "trials without a commit",
        /// Throughput still rose or fell inside the trials.
        Unsteady = "unsteady",
        /// With the time that the server's deferred work takes, the other one is ahead.
        DeferredWork = "deferred work",
        /// The server put off work, and more of it in every trial.
        Accumulating = "accumulating",
        /// Too short to hold two flush or checkpoint cycles, or an operation of a pass too short to time.
        Short = "short",
        FailedTrials = "failed trials",
        TooFewBlocks = "too few blocks",
        BudgetEnded = "budget ended",
        FlagDependent = "flag-dependent",
        /// One of many rows, picked by a false discovery rate instead of a rate of false verdicts.
        Screening = "screening",
        /// Measured apart from what it stands beside.
        Unpaired = "unpaired",
    }
}

named! {
    /// How sure a conclusion is.
    pub enum Grade {
        /// A recorded fact, or a cause that a test confirms.
        Confirmed = "confirmed",
        /// A conclusion of statistics.
        Supported = "supported",
        Weak = "weak",
    }
}

/// Blocks in which the trials of one side alone carry a flag of the host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlagImbalance {
    pub baseline_only: usize,
    pub candidate_only: usize,
    /// Two-sided, by a sign test.
    pub p: f64,
}

/// A contender's trials that carry flags of the host, and how often each flag.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagCount {
    pub contender: String,
    pub trials: usize,
    pub flagged: usize,
    pub by_flag: BTreeMap<String, usize>,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    Decided,
    Blocks,
    Budget,
    Interrupted,
}

impl EndReason {
    /// As `run.json` has it in `ended_by`.
    pub fn as_str(self) -> &'static str {
        match self {
            EndReason::Decided => "decided",
            EndReason::Blocks => "blocks",
            EndReason::Budget => "budget",
            EndReason::Interrupted => "interrupted",
        }
    }
}

/// What is known beside the trials and may weaken a verdict.
#[derive(Default)]
struct Conditions {
    /// No block will follow, for a reason that is not in the data.
    ended: bool,
    budget_ended: bool,
    shared_cores: bool,
    given_up: Vec<DecisionRecord>,
    durability: BTreeMap<String, String>,
    /// Why contenders were not measured at all.
    refused: BTreeMap<String, String>,
    /// Verdicts that found a false difference on this host, where they are too many for chance.
    false_differences: Vec<AaRecord>,
    /// What twice the generator's threads brought.
    doublings: Vec<Doubled>,
    /// Checks of the generator that lack blocks.
    headroom_open: Vec<HeadroomCheck>,
    /// Of a duet; absent while the run goes on, since its solo blocks come last.
    duet: Option<duet::Surroundings>,
    /// What became of gaps without their supposed causes.
    contrasts: Vec<ContrastRecord>,
    /// Those that lack blocks, and nothing gives the reason.
    contrasts_open: Vec<ContrastRecord>,
    /// The block from which on trials of a workload have their last warm-up, where that is not the first.
    /// Absent while the run goes on: more blocks make no trial steadier, so the run does not wait for it.
    steady_from: Option<BTreeMap<String, u32>>,
    /// The trials are those of a search: its winner was chosen by the figures that are printed for it.
    searching: bool,
}

/// Says what a stored run means, however much of it is there.
pub fn conclude(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Conclusions {
    conclude_with_seconds(plan, run, trials, &BTreeMap::new())
}

/// The same, with the per-second series by number of trial: verdicts do not depend on them, but the
/// advice how long to measure does.
pub fn conclude_with_seconds(
    plan: &PlanRecord,
    run: &RunRecord,
    trials: &[TrialRecord],
    series: &BTreeMap<u32, Series>,
) -> Conclusions {
    let circumstances = conditions(plan, run, trials);
    let trials = &*measured(trials);
    let aligned = deferred::charged(plan, operations::aligned(plan, trials));
    let records = Index::new(plan, &aligned);
    let priced = diagnosis::priced(aligned.clone(), &circumstances, &plan.method, run.host_of_servers().cores);
    let priced = Index::new(plan, &priced);
    let inputs = TrialInputs { records: &records, priced: &priced, series };
    let workloads: Vec<WorkloadConclusions> = plan
        .workloads
        .iter()
        .map(|workload| conclude_workload(plan, &inputs, &circumstances, &workload.label))
        .collect();
    let mut findings = findings::findings(plan, run, trials, &circumstances, &workloads);
    findings.extend(deferred::work_left(&aligned));
    let flags = plan.contenders.iter().map(|one| flag_count(&one.name, trials)).collect();
    let durability = durability::durability(plan, run, trials);
    let tally = tally(plan, &records, &circumstances.given_up, trials);
    Conclusions { workloads, findings, durability, tally, flags }
}

fn conditions(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Conditions {
    let (headroom, cause_tests) = (headroom::checks(plan, trials), cause_test::tests(plan, run, trials));
    let ended_by = run.ended_by.as_deref();
    Conditions {
        ended: [EndReason::Blocks, EndReason::Budget].iter().any(|reason| ended_by == Some(reason.as_str())),
        budget_ended: ended_by == Some(EndReason::Budget.as_str()),
        shared_cores: run.client.shared_cores,
        given_up: with_given_up(run.decided(DecisionKind::GivenUp).cloned().collect(), given_up(trials)),
        durability: run.contenders.iter().map(|(name, facts)| (name.clone(), facts.durability_class.clone())).collect(),
        refused: run.decided(DecisionKind::Refused).map(|one| (one.contender.clone(), one.because.clone())).collect(),
        false_differences: aa::too_many_false_differences(&run.twins),
        doublings: headroom.iter().filter_map(headroom::doubled).collect(),
        headroom_open: headroom::unfinished(&headroom),
        duet: duet::Surroundings::of(plan, run),
        contrasts_open: cause_test::unfinished(&cause_tests),
        contrasts: cause_tests,
        steady_from: Some(
            run.decided(DecisionKind::WarmUp).map(|one| (one.workload.clone(), one.first_block())).collect(),
        ),
        searching: run.search.as_ref().is_some_and(|search| search.run.is_none()),
    }
}

/// Does the run end here? Asked after each trial; it answers only between blocks.
///
/// The time budget is not its business: that is for the clock to decide, not for the data.
pub fn should_stop(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<EndReason> {
    let trials = &*measured(trials);
    let aligned = deferred::charged(plan, operations::aligned(plan, trials));
    let records = Index::new(plan, &aligned);
    let given_up = given_up(trials);
    let finished = records.blocks_finished(&given_up);
    if finished == plan.method.blocks {
        return Some(EndReason::Blocks);
    }
    let inside_a_block = trials.iter().any(|trial| trial.block > finished && !plan.is_solo(trial.block));
    let looks = point_rule(plan, 1).looks();
    if plan.method.stop == "never" || inside_a_block || !looks.contains(&(finished as usize)) {
        return None;
    }
    let circumstances = Conditions { given_up, ..Conditions::default() };
    let decided = |workload: &str| workload_decided(plan, &records, &circumstances, workload, finished as usize);
    plan.workloads.iter().all(|workload| decided(&workload.label)).then_some(EndReason::Decided)
}

/// Have all candidates the verdicts, or the answers of the gate alone, that `method.stop` waits for?
fn workload_decided(
    plan: &PlanRecord,
    records: &Index,
    circumstances: &Conditions,
    workload: &str,
    blocks: usize,
) -> bool {
    let points = records.points(workload);
    // The run goes on to the first look at which a single point, or a single operation, can have a verdict.
    let earliest = [
        first_for_points(plan, points.len()),
        first_for_operations(plan, operations::operations_of(records, workload)),
    ];
    let points_had_their_chance = earliest.into_iter().flatten().all(|earliest| blocks >= earliest as usize);
    let metric = records.primary_metric(workload);
    let of_candidates = plan.candidates().all(|candidate| {
        let scope = Scope { plan, records, circumstances, workload, candidate, limit: None, share: 1 };
        if scope.active(&points).is_empty() {
            return true;
        }
        let of_points = scope.of_points(&metric, &points);
        let overall = scope.overall(&metric, &points, &of_points);
        let points_decided = plan.method.stop != "points"
            || of_points.iter().all(|comparison| {
                comparison.verdict != Verdict::Inconclusive || scope.is_given_up(comparison.point.as_ref())
            });
        let gate_decided = || gate::is_decided(&Gated { records, circumstances, workload, candidate }, plan);
        let verdict_decided = plan.method.stop == "gate" || overall.verdict != Verdict::Inconclusive;
        verdict_decided && points_had_their_chance && points_decided && gate_decided()
    });
    let climb = Climb { plan, records, circumstances, workload, metric: &metric, points: &points };
    of_candidates && ladder::is_decided(&climb)
}

/// What three failures in a row have put out of the run, as the trials alone show it.
pub fn given_up(trials: &[TrialRecord]) -> Vec<DecisionRecord> {
    let mut in_a_row: BTreeMap<(&str, &str, &Point), usize> = BTreeMap::new();
    let mut given_up = Vec::new();
    // A worker of the load that was lost is no contender's failure.
    let of_worker = |trial: &TrialRecord| trial.failure.as_ref().is_some_and(|failure| failure.worker.is_some());
    for trial in trials.iter().filter(|trial| !trial.purpose.is_probe() && !of_worker(trial)) {
        let failures = in_a_row.entry((&trial.workload, &trial.contender, &trial.point)).or_default();
        *failures = if trial.status == Status::Failed { *failures + 1 } else { 0 };
        if *failures == FAILURES_UNTIL_GIVEN_UP {
            let last =
                trial.failure.as_ref().map_or_else(|| "no message".to_owned(), |failure| failure.message.clone());
            given_up.push(DecisionRecord {
                workload: trial.workload.clone(),
                contender: trial.contender.clone(),
                point: trial.point.clone(),
                ..DecisionRecord::new(DecisionKind::GivenUp, last)
            });
        }
    }
    given_up
}

/// Contenders that were tried and have no trial that succeeded, with why the last one failed.
pub fn never_ok(trials: &[TrialRecord]) -> BTreeMap<&str, &str> {
    let mut never = BTreeMap::new();
    let trials = || trials.iter().filter(|trial| !trial.purpose.is_probe());
    for trial in trials() {
        let why = trial.failure.as_ref().map_or("no message", |failure| &failure.message);
        never.insert(trial.contender.as_str(), why);
    }
    for trial in trials().filter(|trial| trial.status == Status::Ok) {
        never.remove(trial.contender.as_str());
    }
    never
}

fn with_given_up(mut recorded: Vec<DecisionRecord>, seen: Vec<DecisionRecord>) -> Vec<DecisionRecord> {
    for one in seen {
        let same = |other: &DecisionRecord| {
            (&other.workload, &other.contender, &other.point) == (&one.workload, &one.contender, &one.point)
        };
        if !recorded.iter().any(same) {
            recorded.push(one);
        }
    }
    recorded
}

/// All inputs that come from trials.
struct TrialInputs<'a> {
    records: &'a Index<'a>,
    /// The same trials, with what their transactions cost.
    priced: &'a Index<'a>,
    series: &'a BTreeMap<u32, Series>,
}

fn conclude_workload(
    plan: &PlanRecord,
    inputs: &TrialInputs,
    circumstances: &Conditions,
    workload: &str,
) -> WorkloadConclusions {
    let records = inputs.records;
    let points = records.points(workload);
    let metric = records.primary_metric(workload);
    let mut duels: Vec<HeadToHead> = plan
        .candidates()
        .map(|candidate| {
            duel(
                &Scope { plan, records, circumstances, workload, candidate, limit: None, share: 1 },
                &metric,
                &points,
                inputs,
            )
        })
        .collect();
    overall::judge_together(&mut duels, plan.seed);
    let cells = plan
        .contenders
        .iter()
        .flat_map(|contender| points.iter().map(|point| records.cell(workload, point, &contender.name)))
        .collect();
    let scaling = scaling::scaling(plan, records, workload, &metric, &points, &duels);
    let record = plan.workloads.iter().find(|record| record.label == workload);
    let is_open_loop = record.is_some_and(|record| record.is_open_loop());
    let primary = record.map_or_else(|| MetricRecord::new(&metric, "", &metric), |record| record.primary());
    let shows_cpu = !is_open_loop && record.is_some_and(|record| !record.one_pass);
    let is_managed = plan.contenders.iter().all(|contender| contender.target.is_none());
    let secondary = (shows_cpu && is_managed).then_some(SECONDARY_METRIC);
    let climb = Climb { plan, records, circumstances, workload, metric: &metric, points: &points };
    let ladders = ladder::ladders(&climb);
    let stages = ladder::stages(&climb, &ladders);
    let workload = workload.to_owned();
    WorkloadConclusions {
        workload,
        metric,
        primary,
        is_open_loop,
        secondary,
        points,
        cells,
        duels,
        scaling,
        ladders,
        stages,
    }
}

fn duel(scope: &Scope, metric: &str, points: &[Point], inputs: &TrialInputs) -> HeadToHead {
    let of_points = scope.of_points(metric, points);
    let overall = scope.overall(metric, points, &of_points);
    let others = OTHER_METRICS.iter().filter(|other| scope.records.has_metric(scope.workload, other));
    let others = others.filter(|other| !other.starts_with(ADJUSTED) || scope.has_all(other, points));
    // Of few transactions only one side may have a rare quantile.
    let is_of_both = |other: &MetricComparison| other.points.iter().any(|point| point.ratio.is_some());
    let others: Vec<MetricComparison> =
        others.map(|other| other_metric(scope, other, points)).filter(is_of_both).collect();
    let Scope { plan, records, workload, candidate, .. } = *scope;
    HeadToHead {
        baseline: plan.baseline.clone(),
        candidate: candidate.to_owned(),
        deferring: deferring(metric, &overall, &of_points, &others),
        others,
        missing: missing::missing(scope, points),
        parts: operations::parts(scope, points),
        difference: comparison::difference(&of_points),
        losing: comparison::losing(&of_points),
        crossings: comparison::crossings(&of_points),
        durability: scope.durability(),
        unfounded: duet::unfounded(scope, metric, &scope.active(points), overall.log_interval()),
        solo: duet::solo(scope, metric, &scope.active(points)),
        spread: spread(plan, records.trials(), inputs.series, workload, candidate, &scope.active(points)),
        flag_imbalance: scope.flag_imbalance(metric, &scope.active(points)),
        peak: overall::peak(scope, metric, points),
        p_together: None,
        drifts: all_drifts(scope, points),
        growths: points
            .iter()
            .flat_map(|point| growths(scope, point).into_iter().map(|one| (point.clone(), one)))
            .collect(),
        diagnosis: diagnosis::diagnose(&Scope { records: inputs.priced, ..*scope }, metric, points),
        overall,
        points: of_points,
    }
}

fn all_drifts(scope: &Scope, points: &[Point]) -> Vec<(Option<Point>, Trend)> {
    let sweep = if points.len() > 1 { drifts(scope, &scope.active(points), 1) } else { Vec::new() };
    let of_point = |point: &Point| {
        let found = drifts(scope, std::slice::from_ref(point), points.len());
        found.into_iter().map(|one| (Some(point.clone()), one)).collect::<Vec<_>>()
    };
    sweep.into_iter().map(|one| (None, one)).chain(points.iter().flat_map(of_point)).collect()
}

fn other_metric(scope: &Scope, metric: &str, points: &[Point]) -> MetricComparison {
    let mut of_points = scope.of_points(metric, points);
    let overall = scope.overall(metric, points, &of_points);
    of_points.retain(|comparison| !comparison.is_withheld);
    MetricComparison { metric: metric.to_owned(), overall, points: of_points }
}

fn deferring(
    metric: &str,
    overall: &Comparison,
    of_points: &[Comparison],
    others: &[MetricComparison],
) -> Vec<Deferring> {
    let Some(adjusted) = others.iter().find(|other| other.metric == format!("{ADJUSTED}{metric}")) else {
        return Vec::new();
    };
    let sweep = (of_points.len() > 1).then(|| overall::deferring(overall, &adjusted.overall)).flatten();
    let points = of_points.iter().zip(&adjusted.points).filter_map(|(one, other)| overall::deferring(one, other));
    sweep.into_iter().chain(points).collect()
}

fn flag_count(contender: &str, trials: &[TrialRecord]) -> FlagCount {
    let ours: Vec<&TrialRecord> = trials.iter().filter(|trial| trial.contender == contender).collect();
    let mut by_flag = BTreeMap::new();
    for flag in ours.iter().flat_map(|trial| &trial.flags).filter(|flag| HOST_FLAGS.contains(&flag.as_str())) {
        *by_flag.entry(flag.clone()).or_default() += 1;
    }
    let flagged = ours.iter().filter(|trial| comparison::is_noisy(trial)).count();
    FlagCount { contender: contender.to_owned(), trials: ours.len(), flagged, by_flag }
}

fn tally(plan: &PlanRecord, records: &Index, given_up: &[DecisionRecord], trials: &[TrialRecord]) -> Tally {
    let values =
        |metric: &str| -> Vec<f64> { trials.iter().filter_map(|trial| trial.metrics.get(metric).copied()).collect() };
    let repeated = trials.iter().filter(|trial| trial.purpose.repeats().is_some()).count();
    Tally {
        trials_planned: plan.trials.len(),
        trials_finished: trials.len() - repeated,
        trials_repeated: repeated,
        trials_failed: trials.iter().filter(|trial| trial.status == Status::Failed).count(),
        blocks_planned: plan.method.blocks as usize,
        blocks_finished: records.blocks_finished(given_up) as usize,
        minutes: trials
            .iter()
            .filter(|trial| !plan.is_beside(trial.block, trial.order))
            .map(TrialRecord::seconds)
            .sum::<f64>()
            / 60.0,
        trials_generator_bound: trials.iter().filter(|trial| comparison::is_bound(trial)).count(),
        occupancy_min: values("occupancy").into_iter().min_by(f64::total_cmp),
        path_share_max: values("client_path_share").into_iter().max_by(f64::total_cmp),
        client_cpu_us_per_query: stats::mean(&values("client_cpu_us_per_query")),
    }
}

#[cfg(test)]
mod tests;
