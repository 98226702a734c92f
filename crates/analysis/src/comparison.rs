//! One candidate against the baseline: pairs, the verdict, and what takes the verdict away.
//!
//! A point and a whole sweep go through the same code: the log ratio of a block is the mean over
//! the points asked for, and a block counts only when every one of them has its pair.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{Basis, Judge, Judgement, Pair};

use record::format::{Point, RuleName, Status, TrialRecord};
use record::rule::point_rule;

use super::deferred::ADJUSTED;
use super::named::named;
use super::scope::Scope;
use super::steady_state::{drifts, growths};
use super::values::{SHORT, is_bound, is_by_result, is_noisy, is_outage, is_quantile, log_ratio, value};
use super::{duet, headroom, json};
use record::format::operations::SECONDS;

/// More failed pairs than this and there is no verdict.
const FAILED_SHARE_MAX: f64 = 0.1;

/// More flagged pairs than this and there is no verdict (generator), or none on a host that must be quiet.
const FLAGGED_SHARE_MAX: f64 = 0.25;

/// Shorter trials contain the first moments after a start.
pub const QUICK_BELOW_S: f64 = 30.0;

/// Blocks without a flag that a second opinion needs.
const UNFLAGGED_BLOCKS_MIN: usize = stats::FIRST_LOOK;

/// Below it flags of the host do not fall on both sides alike.
const FLAG_IMBALANCE_P: f64 = 0.05;

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
    pub fn log_interval(&self) -> Option<stats::Interval> {
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

/// Blocks in which the trials of one side alone carry a flag of the host.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct FlagImbalance {
    pub baseline_only: usize,
    pub candidate_only: usize,
    /// Two-sided, by a sign test.
    pub p: f64,
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

/// One block of a comparison, whole or not.
struct Block {
    number: u32,
    /// Mean over the points; absent unless every point has its pair.
    pair: Option<Pair>,
    pairs: usize,
    /// Trials without a commit, of baseline and candidate.
    outages: (usize, usize),
    pairs_failed: usize,
    pairs_noisy: usize,
    /// Whether any trial of baseline and of candidate carries a flag of the host.
    is_noisy: (bool, bool),
    /// Trials in which the generator was the limit, of baseline and candidate.
    bound: (usize, usize),
}

impl Scope<'_> {
    /// Every point on its own, sharing the error between them.
    pub fn of_points(&self, metric: &str, points: &[Point]) -> Vec<Comparison> {
        let share = points.len() * self.share;
        let one = |point: &Point| self.compare(metric, std::slice::from_ref(point), Some(point), share);
        points.iter().map(one).collect()
    }

    /// The whole sweep; `of_points` decides whether its curves cross.
    pub fn overall(&self, metric: &str, points: &[Point], of_points: &[Comparison]) -> Comparison {
        let active = self.active(points);
        let mut overall = self.compare(metric, &active, None, self.share);
        if active.len() < points.len() {
            withhold(&mut overall.verdict, &mut overall.caveats, Caveat::FailedTrials);
        }
        let capped = [
            Caveat::FailedTrials,
            Caveat::GeneratorBound,
            Caveat::NoisyHost,
            Caveat::FlagDependent,
            Caveat::Unsteady,
            Caveat::DeferredWork,
        ];
        let was_capped =
            overall.verdict == Verdict::Inconclusive && overall.caveats.iter().any(|caveat| capped.contains(caveat));
        let is_founded = duet::unfounded(self, metric, &active, overall.log_interval()).is_empty();
        if !crossings(of_points).is_empty() && !was_capped && is_founded {
            overall.verdict = Verdict::Mixed;
        }
        overall.caveats.sort();
        overall
    }

    /// Points at which both sides have values: means over different points cannot be compared.
    fn common_points(&self, metric: &str, points: &[Point]) -> Vec<Point> {
        let has = |contender: &str, point: &Point| {
            self.records.mean(self.workload, std::slice::from_ref(point), contender, metric).is_some()
        };
        let both = |point: &&Point| has(&self.plan.baseline, point) && has(self.candidate, point);
        points.iter().filter(both).cloned().collect()
    }

    /// One metric over these points; `share` such comparisons share the error.
    pub fn compare(&self, metric: &str, points: &[Point], point: Option<&Point>, share: usize) -> Comparison {
        let blocks: Vec<Block> =
            (1..=self.plan.method.blocks).map(|number| self.block(metric, points, number)).collect();
        let judge = Judge::new(point_rule(self.plan, share));
        let judge = match self.limit {
            Some(limit) => judge.against_limit(limit.ln()),
            None => judge,
        };
        let log_ratios = log_ratios(&blocks, |_| true);
        let incomplete = blocks.iter().filter(|block| block.is_incomplete()).count();
        let is_withheld = log_ratios.is_none();
        let judgement = judge.judge(&log_ratios.unwrap_or_default(), self.circumstances.ended);
        let unflagged = unflagged(&blocks, &judge);
        let (mut verdict, mut caveats) = self.verdict(&blocks, point, judgement.as_ref(), unflagged.as_ref());
        self.behaviour(points, share, &mut verdict, &mut caveats);
        if self.vanishes_when_adjusted(metric, points, verdict, &judge) {
            withhold(&mut verdict, &mut caveats, Caveat::DeferredWork);
        }
        let interval = judgement.as_ref().and_then(|judgement| judgement.interval);
        if !duet::unfounded(self, metric, points, interval).is_empty() {
            withhold(&mut verdict, &mut caveats, Caveat::Duet);
        }
        caveats.sort();
        let common = self.common_points(metric, points);
        let value =
            |contender: &str| self.records.mean(self.workload, &common, contender, metric).filter(|_| !is_withheld);
        let interval = interval.map(|bounds| bounds.map(f64::exp));
        let pairs = blocks.iter().filter_map(|block| Some((block.number, block.log_ratio()?.exp())));
        Comparison {
            workload: self.workload.to_owned(),
            baseline: self.plan.baseline.clone(),
            candidate: self.candidate.to_owned(),
            point: point.cloned(),
            metric: metric.to_owned(),
            baseline_value: value(&self.plan.baseline),
            candidate_value: value(self.candidate),
            ratio: judgement.as_ref().map(|judgement| judgement.estimate.exp()),
            low: interval.map(|bounds| bounds.low),
            high: interval.map(|bounds| bounds.high),
            basis: judgement.as_ref().map_or(Basis::Plain, |judgement| judgement.basis),
            unadjusted: judgement
                .as_ref()
                .and_then(|judgement| judgement.unadjusted)
                .map(|bounds| (bounds.low.exp(), bounds.high.exp())),
            confidence: self.plan.method.confidence,
            verdict,
            caveats,
            points: common.len(),
            blocks: judgement.as_ref().map_or(0, |judgement| judgement.blocks),
            blocks_planned: self.plan.method.blocks as usize,
            mde: judgement.as_ref().and_then(|judgement| judgement.mde),
            sd: judgement.as_ref().and_then(|judgement| judgement.sd),
            mean_ratio: judgement.as_ref().map(|judgement| judgement.mean.exp()),
            sign_flip_p: judgement.as_ref().and_then(|judgement| judgement.sign_flip_p),
            pairs: if is_withheld { Vec::new() } else { pairs.collect() },
            incomplete,
            is_withheld,
            unflagged: unflagged.filter(|_| !is_withheld),
        }
    }

    /// Whether a lead is no longer shown once the time is counted that deferred work takes.
    fn vanishes_when_adjusted(&self, metric: &str, points: &[Point], verdict: Verdict, judge: &Judge) -> bool {
        let shown = match verdict {
            Verdict::Faster => stats::Verdict::Faster,
            Verdict::Slower => stats::Verdict::Slower,
            _ => return false,
        };
        let adjusted = format!("{ADJUSTED}{metric}");
        if !self.has_all(&adjusted, points) {
            return false;
        }
        let blocks = 1..=self.plan.method.blocks;
        let logs: Vec<f64> = blocks.filter_map(|number| self.log_ratio_of(&adjusted, points, number)).collect();
        let after = judge.judge(&logs, self.circumstances.ended).and_then(|judgement| judgement.verdict);
        stats::with_deferred_work(shown, after.unwrap_or(stats::Verdict::Inconclusive)) != shown
    }

    /// Of a block; none unless every point has its pair.
    pub fn log_ratio_of(&self, metric: &str, points: &[Point], block: u32) -> Option<f64> {
        self.block(metric, points, block).log_ratio()
    }

    fn block(&self, metric: &str, points: &[Point], number: u32) -> Block {
        let mut block = Block {
            number,
            pair: None,
            pairs: 0,
            outages: (0, 0),
            pairs_failed: 0,
            pairs_noisy: 0,
            is_noisy: (false, false),
            bound: (0, 0),
        };
        let mut pairs = Vec::with_capacity(points.len());
        for point in points {
            let find = |contender: &str| self.records.find(self.workload, point, contender, number);
            let (Some(baseline), Some(candidate)) = (find(&self.plan.baseline), find(self.candidate)) else {
                continue;
            };
            block.pairs += 1;
            block.pairs_noisy += usize::from(is_noisy(baseline) || is_noisy(candidate));
            block.is_noisy.0 |= is_noisy(baseline);
            block.is_noisy.1 |= is_noisy(candidate);
            block.bound.0 += usize::from(is_bound(baseline));
            block.bound.1 += usize::from(is_bound(candidate));
            block.outages.0 += usize::from(is_outage(baseline));
            block.outages.1 += usize::from(is_outage(candidate));
            let failed = |trial: &TrialRecord| trial.status == Status::Failed;
            block.pairs_failed += usize::from(failed(baseline) || failed(candidate));
            pairs.extend(pair(baseline, candidate, metric));
        }
        if pairs.len() == points.len() {
            block.pair = over_points(&pairs);
        }
        block
    }

    /// The verdict of the numbers, then everything that may take it away.
    fn verdict(
        &self,
        blocks: &[Block],
        point: Option<&Point>,
        judgement: Option<&Judgement>,
        unflagged: Option<&Unflagged>,
    ) -> (Verdict, Vec<Caveat>) {
        let mut caveats = self.standing_caveats();
        let mut verdict = match judgement.and_then(|judgement| judgement.verdict) {
            Some(verdict) => verdict.into(),
            None => {
                caveats.push(Caveat::TooFewBlocks);
                Verdict::Inconclusive
            }
        };
        let of_the_numbers = verdict;
        let sum = |count: &dyn Fn(&Block) -> usize| blocks.iter().map(count).sum::<usize>();
        let pairs = sum(&|block| block.pairs);
        let share = |count: usize| count as f64 / pairs.max(1) as f64;
        let (baseline_out, candidate_out) = (sum(&|block| block.outages.0), sum(&|block| block.outages.1));
        if baseline_out + candidate_out > 0 {
            caveats.push(Caveat::Outages);
            let verdict_of_numbers = judgement.and_then(|judgement| judgement.verdict);
            if verdict_of_numbers
                .is_some_and(|verdict| stats::outages_forbid(verdict, baseline_out, candidate_out, pairs))
            {
                verdict = Verdict::Inconclusive;
            }
        }
        let failed: usize = blocks.iter().map(|block| block.pairs_failed).sum();
        if share(failed) > FAILED_SHARE_MAX || self.is_given_up(point) {
            withhold(&mut verdict, &mut caveats, Caveat::FailedTrials);
        } else if failed > 0 {
            caveats.push(Caveat::FailedTrials);
        }
        let noisy: usize = blocks.iter().map(|block| block.pairs_noisy).sum();
        if noisy > 0 {
            caveats.push(Caveat::NoisyHost);
            if self.plan.method.noisy_host == "refuse" && share(noisy) > FLAGGED_SHARE_MAX {
                verdict = Verdict::Inconclusive;
            }
            let agrees = unflagged.is_some_and(|second| second.verdict == Some(of_the_numbers));
            let is_imbalanced = flag_imbalance(blocks).is_some() && !agrees;
            if is_imbalanced || unflagged.is_some_and(|second| second.contradicts(of_the_numbers)) {
                withhold(&mut verdict, &mut caveats, Caveat::FlagDependent);
            }
        }
        self.generator(blocks, share, point, &mut verdict, &mut caveats);
        caveats.sort();
        caveats.dedup();
        (verdict, caveats)
    }

    /// What the servers did inside the trials: whether what was measured lasts.
    fn behaviour(&self, points: &[Point], share: usize, verdict: &mut Verdict, caveats: &mut Vec<Caveat>) {
        if !drifts(self, points, share).is_empty() {
            withhold(verdict, caveats, Caveat::Unsteady);
        }
        if points.iter().any(|point| !growths(self, point).is_empty()) {
            caveats.push(Caveat::Accumulating);
        }
        if points.iter().any(|point| self.is_short(point)) {
            caveats.push(Caveat::Short);
        }
    }

    fn is_short(&self, point: &Point) -> bool {
        let both = [self.plan.baseline.as_str(), self.candidate];
        let flagged = |trial: &TrialRecord| trial.flags.iter().any(|flag| flag == SHORT);
        let trial = |contender, block| self.records.find(self.workload, point, contender, block);
        (1..=self.plan.method.blocks).any(|block| both.iter().any(|one| trial(*one, block).is_some_and(flagged)))
    }

    fn standing_caveats(&self) -> Vec<Caveat> {
        let standing = [
            (self.is_quick(), Caveat::Quick),
            (self.plan.method.rule == RuleName::T, Caveat::T),
            (self.plan.method.duet, Caveat::Duet),
            (!self.circumstances.false_differences.is_empty(), Caveat::NoisyHost),
            (self.circumstances.shared_cores, Caveat::SharedCores),
            (self.durability().is_some(), Caveat::DurabilityDiffers),
            (self.circumstances.budget_ended, Caveat::BudgetEnded),
            (self.circumstances.searching, Caveat::Screening),
        ];
        standing.into_iter().filter(|(holds, _)| *holds).map(|(_, caveat)| caveat).collect()
    }

    /// Is this run too short or too bare for more than a first impression?
    fn is_quick(&self) -> bool {
        let method = &self.plan.method;
        let short_pilot = method.pilot_s.is_some() && method.warmup_s < QUICK_BELOW_S;
        let is_short =
            method.preset == "quick" || self.measured_s() < QUICK_BELOW_S || short_pilot || !method.left_out.is_empty();
        // What a crash shows does not depend on the length of an interval.
        is_short && self.plan.crashes().is_empty()
    }

    /// Over the blocks of all these points.
    pub fn flag_imbalance(&self, metric: &str, points: &[Point]) -> Option<FlagImbalance> {
        let blocks: Vec<Block> =
            (1..=self.plan.method.blocks).map(|number| self.block(metric, points, number)).collect();
        flag_imbalance(&blocks)
    }

    /// Whether too many pairs of this point lack a metric for any comparison of it.
    pub fn lacks_too_often(&self, metric: &str, point: &Point) -> bool {
        let points = std::slice::from_ref(point);
        let blocks: Vec<Block> =
            (1..=self.plan.method.blocks).map(|number| self.block(metric, points, number)).collect();
        log_ratios(&blocks, |_| true).is_none()
    }

    /// How long a trial measures; of passes, how long the baseline's take.
    fn measured_s(&self) -> f64 {
        let points = self.records.points(self.workload);
        let mean = |metric: &str| self.records.mean(self.workload, &points, &self.plan.baseline, metric);
        if self.is_pass() {
            return mean(SECONDS).unwrap_or(0.0);
        }
        mean(TrialRecord::INTERVAL).unwrap_or(self.plan.method.duration_s)
    }

    /// A generator at its limit hides how fast a server is. The slower side may still be called
    /// slower when only the faster one was held back: it is at least that much slower.
    fn generator(
        &self,
        blocks: &[Block],
        share: impl Fn(usize) -> f64,
        point: Option<&Point>,
        verdict: &mut Verdict,
        caveats: &mut Vec<Caveat>,
    ) {
        let baseline: usize = blocks.iter().map(|block| block.bound.0).sum();
        let candidate: usize = blocks.iter().map(|block| block.bound.1).sum();
        let doubled =
            |contender: &str| headroom::is_bound(&self.circumstances.doublings, self.workload, contender, point);
        let (baseline_doubled, candidate_doubled) = (doubled(&self.plan.baseline), doubled(self.candidate));
        if baseline + candidate == 0 && !baseline_doubled && !candidate_doubled {
            return;
        }
        caveats.push(Caveat::GeneratorBound);
        let baseline_bound = baseline_doubled || share(baseline) > FLAGGED_SHARE_MAX;
        let candidate_bound = candidate_doubled || share(candidate) > FLAGGED_SHARE_MAX;
        let hidden = match *verdict {
            Verdict::Faster => baseline_bound,
            Verdict::Slower => candidate_bound,
            _ => baseline_bound || candidate_bound,
        };
        if hidden {
            *verdict = Verdict::Inconclusive;
        }
    }
}

impl From<stats::Verdict> for Verdict {
    fn from(verdict: stats::Verdict) -> Verdict {
        match verdict {
            stats::Verdict::Faster => Verdict::Faster,
            stats::Verdict::Slower => Verdict::Slower,
            stats::Verdict::NoDifference => Verdict::NoDifferenceShown,
            stats::Verdict::Inconclusive => Verdict::Inconclusive,
        }
    }
}

fn withhold(verdict: &mut Verdict, caveats: &mut Vec<Caveat>, because: Caveat) {
    *verdict = Verdict::Inconclusive;
    if !caveats.contains(&because) {
        caveats.push(because);
    }
}

/// The same judged without the blocks that the host disturbed; `None` where there are none, or nothing else.
fn unflagged(blocks: &[Block], judge: &Judge) -> Option<Unflagged> {
    let is_quiet = |block: &Block| block.pairs_noisy == 0;
    if blocks.iter().all(is_quiet) {
        return None;
    }
    let judgement = judge.judge(&log_ratios(blocks, is_quiet)?, true)?;
    Some(Unflagged {
        blocks: judgement.blocks,
        ratio: judgement.estimate.exp(),
        low: judgement.interval.map(|bounds| bounds.low.exp()),
        high: judgement.interval.map(|bounds| bounds.high.exp()),
        verdict: judgement.verdict.filter(|_| judgement.blocks >= UNFLAGGED_BLOCKS_MIN).map(Verdict::from),
    })
}

/// None where chance explains which side the flags fall on.
fn flag_imbalance(blocks: &[Block]) -> Option<FlagImbalance> {
    let only = |wanted: (bool, bool)| blocks.iter().filter(|block| block.is_noisy == wanted).count();
    let (baseline_only, candidate_only) = (only((true, false)), only((false, true)));
    let p = stats::sign_test_p(baseline_only, candidate_only);
    (p < FLAG_IMBALANCE_P).then_some(FlagImbalance { baseline_only, candidate_only, p })
}

/// None where too many pairs are incomplete for any estimate.
fn log_ratios(blocks: &[Block], wanted: impl Fn(&Block) -> bool) -> Option<Vec<f64>> {
    let pairs: Vec<Pair> = blocks.iter().filter(|block| wanted(block)).filter_map(|block| block.pair).collect();
    stats::completed(&pairs)
}

impl Block {
    fn log_ratio(&self) -> Option<f64> {
        match self.pair {
            Some(Pair::Ratio(ratio)) => Some(ratio),
            _ => None,
        }
    }

    fn is_incomplete(&self) -> bool {
        self.pair.is_some_and(|pair| !matches!(pair, Pair::Ratio(_)))
    }
}

/// The mean over points; where a side lacks its value at one of them, it lacks that of the block.
fn over_points(pairs: &[Pair]) -> Option<Pair> {
    let has = |wanted: Pair| pairs.contains(&wanted);
    let lacking = (has(Pair::BaselineLacks), has(Pair::CandidateLacks));
    Some(match lacking {
        _ if has(Pair::BothLack) => Pair::BothLack,
        (true, true) => Pair::BothLack,
        (true, false) => Pair::BaselineLacks,
        (false, true) => Pair::CandidateLacks,
        (false, false) => {
            let ratio = |pair: &Pair| if let Pair::Ratio(ratio) = pair { Some(*ratio) } else { None };
            Pair::Ratio(stats::mean(&pairs.iter().filter_map(ratio).collect::<Vec<f64>>())?)
        }
    })
}

/// What two trials of a block are to a metric; none where one of them failed or never measured it.
fn pair(baseline: &TrialRecord, candidate: &TrialRecord, metric: &str) -> Option<Pair> {
    let by_result = |trial: &TrialRecord| {
        is_quantile(metric) || is_by_result(metric) || is_outage(trial) && metric.ends_with("_per_tx")
    };
    let lacks = |trial: &TrialRecord| trial.status == Status::Ok && value(trial, metric).is_none() && by_result(trial);
    match (lacks(baseline), lacks(candidate)) {
        (true, true) => Some(Pair::BothLack),
        (true, false) => value(candidate, metric).map(|_| Pair::BaselineLacks),
        (false, true) => value(baseline, metric).map(|_| Pair::CandidateLacks),
        (false, false) => log_ratio(baseline, candidate, metric).map(Pair::Ratio),
    }
}

/// Points with the verdict `slower`, the worst first.
pub fn losing(of_points: &[Comparison]) -> Vec<Point> {
    let mut slower: Vec<&Comparison> =
        of_points.iter().filter(|comparison| comparison.verdict == Verdict::Slower).collect();
    slower.sort_by(|a, b| a.ratio.unwrap_or(1.0).total_cmp(&b.ratio.unwrap_or(1.0)));
    slower.into_iter().filter_map(|comparison| comparison.point.clone()).collect()
}

/// Where the sign of a shown difference changes between neighbours that have a verdict.
pub fn crossings(of_points: &[Comparison]) -> Vec<(Point, Point)> {
    let decided = of_points.iter().filter(|comparison| matches!(comparison.verdict, Verdict::Faster | Verdict::Slower));
    let decided: Vec<&Comparison> = decided.collect();
    let changes = decided.windows(2).filter(|pair| pair[0].verdict != pair[1].verdict);
    changes.filter_map(|pair| Some((pair[0].point.clone()?, pair[1].point.clone()?))).collect()
}

/// Candidate minus baseline over the points.
pub fn difference(of_points: &[Comparison]) -> Option<Difference> {
    let of_point = |comparison: &Comparison| {
        Some((comparison.point.clone()?, comparison.candidate_value? - comparison.baseline_value?))
    };
    let differences: Vec<(Point, f64)> = of_points.iter().filter_map(of_point).collect();
    let values: Vec<f64> = differences.iter().map(|(_, value)| *value).collect();
    Some(Difference {
        mean: stats::mean(&values)?,
        points: values.len(),
        max: differences.iter().max_by(|a, b| a.1.total_cmp(&b.1))?.clone(),
        min: differences.iter().min_by(|a, b| a.1.total_cmp(&b.1))?.clone(),
    })
}
