//! What a pass over operations means: the same work is compared, and what is not is named. Statements that are timed
//! one by one are compared alike, by their mean latency, and kinds of statements by their rates.
//!
//! A contender that lacks an operation, or answers it wrongly, has done less work: the total that verdicts come
//! from is that of the operations which every contender does rightly. A trial that lacks one of them, though
//! others of its contender have it, has no total: it ranks as the worst, and is never left out. Where more than
//! a tenth of a contender's trials lack an operation, the contender lacks it. Programs share the
//! error of 5 % as the points of a sweep do, and so do operations, up to twenty of them. More are screened: a
//! row has a verdict where its own interval allows it and the false discovery rate of all rows stays below 5 %.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Serialize;

use super::comparison::{Caveat, Comparison, Verdict};
use super::index::Index;
use super::named::named;
use super::scope::Scope;
use super::values::{GEOMEAN_SECONDS, is_marked, is_of_less_work, value};
use record::format::operations::{
    ESTIMATED, ESTIMATED_PROGRAM, EXECUTION_CPU, FEWER, GAP, GEOMEAN_RATE, LIMITED, MOVED, PARTIAL, RATE, SECONDS,
    SHORT, STATEMENT_LATENCY, WRONG, flagged, group_metric, group_of, is_mean_rate, operation_metric, operation_of,
    program_count_metric, program_metric, program_of, rated, statement_metric, statement_of,
};
use record::format::{DigestRecord, PlanRecord, Point, Status, TrialRecord};
use record::metric::counted;
use record::rule::OPERATIONS_WITH_JOINT_ERROR_MAX;

/// All operations that a contender did, also those that others did not.
pub const COLLECTED_SECONDS: &str = "collected_seconds";

/// The kind of what is left out because it counts something else on either side.
pub const OTHER_COUNT: &str = "other count";

named! {
    pub enum PartKind {
        /// Of a pass, compared by its time.
        Operation = "operation",
        /// Of a script, compared by its mean latency.
        Statement = "statement",
        /// Of statements, compared by its rate.
        Kind = "kind",
    }
}

/// A candidate against the baseline, part by part.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// What `operations` are.
    pub kind: PartKind,
    pub programs: Vec<Part>,
    pub operations: Vec<Part>,
    pub left_out: Vec<LeftOut>,
    /// Operations in the total that verdicts come from.
    pub in_total: usize,
    /// Whether operations are too many for an error that they share.
    pub screened: bool,
    /// Statements whose answers have another number of rows on either side.
    pub results_differ: Vec<ResultsDiffer>,
}

/// Rows of a call on average, of baseline and candidate.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ResultsDiffer {
    pub name: String,
    pub rows: [f64; 2],
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Part {
    pub name: String,
    #[serde(skip)]
    pub comparison: Comparison,
    /// Of the time of all rows, of baseline and candidate.
    pub shares: [Option<f64>; 2],
    /// `estimated`, `short`, `too few calls`.
    pub marks: Vec<&'static str>,
    /// Trials of baseline and candidate that the limit of a statement ended: their times are the limit, and bounds.
    #[serde(skip_serializing_if = "not_limited")]
    pub limited: [u32; 2],
    /// Of a statement of a log: the statement itself, literals taken out; its name is the id of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Of a statement: how much more time its calls in a trial of the baseline take the candidate, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_s: Option<f64>,
    /// Of a kind: what one execution costs the server, at an error rate of its own.
    #[serde(skip)]
    pub cost: Option<Comparison>,
    /// Of a kind: what one execution moves, as far as it is shown to differ; each of [`MOVED`].
    #[serde(skip)]
    pub moved: Vec<(&'static str, Comparison)>,
}

/// Where the time goes that a kind takes more, or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Explained {
    /// An execution costs the server more, or less, in the same direction.
    Cpu,
    /// The cost of an execution has changed by less than its time: what has changed is for what it waits.
    Waiting,
}

/// The mark of a statement that has no verdict of its own, decided from the log alone.
pub const FEW_CALLS: &str = "too few calls";

fn not_limited(limited: &[u32; 2]) -> bool {
    *limited == [0, 0]
}

impl Part {
    pub fn has_few_calls(&self) -> bool {
        self.marks.contains(&FEW_CALLS)
    }

    /// Of a kind that is shown to differ.
    pub fn explained(&self) -> Option<Explained> {
        let cost = self.cost.as_ref()?;
        let of = |one: &Comparison| Some((one.low?, one.high?));
        let ((low, high), (cost_low, cost_high)) = (of(&self.comparison)?, of(cost)?);
        match self.comparison.verdict {
            Verdict::Slower if cost_low > high => Some(Explained::Waiting),
            Verdict::Faster if cost_high < low => Some(Explained::Waiting),
            verdict @ (Verdict::Slower | Verdict::Faster) => (cost.verdict == verdict).then_some(Explained::Cpu),
            _ => None,
        }
    }
}

/// A program or an operation that one of the two did not do, or not rightly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    pub name: String,
    pub contender: String,
    /// `gap`, `wrong`, `fewer`, `partial`, `other count`.
    pub kind: &'static str,
    pub because: LeftOutBecause,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LeftOutBecause {
    /// As the trial has it.
    Remark(String),
    OtherCount {
        count: u64,
        baseline: u64,
    },
    /// The other side has called this statement.
    NotCalled,
}

/// The trials with the total of what all contenders have done as their `seconds`.
pub fn aligned<'a>(plan: &PlanRecord, trials: &'a [TrialRecord]) -> Cow<'a, [TrialRecord]> {
    let passes = plan.workloads.iter().filter(|workload| workload.one_pass);
    let common: BTreeMap<&str, BTreeSet<Work>> = passes
        .map(|workload| {
            let all = trials.iter().filter(|trial| trial.workload == workload.label);
            (workload.label.as_str(), common(all, operations))
        })
        .collect();
    if common.is_empty() {
        return Cow::Borrowed(trials);
    }
    let with_total = |trial: &TrialRecord| match common.get(trial.workload.as_str()) {
        Some(common) => total(trial, common),
        None => trial.clone(),
    };
    Cow::Owned(trials.iter().map(with_total).collect())
}

fn total(trial: &TrialRecord, common: &BTreeSet<Work>) -> TrialRecord {
    let mut trial = trial.clone();
    if trial.metrics.contains_key(GEOMEAN_RATE) {
        mean_rates(&mut trial, common);
        return trial;
    }
    if let Some(all) = trial.metrics.remove(SECONDS) {
        trial.metrics.insert(COLLECTED_SECONDS.to_owned(), all);
    }
    let times = common.iter().map(|(name, _)| value(&trial, &operation_metric(name, SECONDS)));
    let Some(times) = times.collect::<Option<Vec<f64>>>().filter(|times| !times.is_empty()) else { return trial };
    let metrics = &mut trial.metrics;
    metrics.insert(SECONDS.to_owned(), times.iter().sum());
    let logarithms: Vec<f64> = times.iter().filter(|time| **time > 0.0).map(|time| time.ln()).collect();
    if let Some(mean) = stats::mean(&logarithms) {
        metrics.insert(GEOMEAN_SECONDS.to_owned(), mean.exp());
    }
    trial
}

/// Puts the means over what all contenders have, of all kinds and of each group, in place of the trial's own.
fn mean_rates(trial: &mut TrialRecord, common: &BTreeSet<Work>) {
    trial.metrics.retain(|metric, _| !is_mean_rate(metric));
    let mut means: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for (name, _) in common {
        let logarithm = value(trial, &operation_metric(name, RATE)).map(f64::ln);
        let group = group_of(name).map(group_metric);
        for metric in group.into_iter().chain([GEOMEAN_RATE.to_owned()]) {
            means.entry(metric).or_default().push(logarithm);
        }
    }
    for (metric, logarithms) in means {
        let logarithms: Option<Vec<f64>> = logarithms.into_iter().collect();
        if let Some(mean) = logarithms.and_then(|all| stats::mean(&all)) {
            trial.metrics.insert(metric, mean.exp());
        }
    }
}

/// A name and what is counted under it: with another count it is other work.
type Work<'a> = (&'a str, u64);

/// What all contenders have, each in all of its trials that are ok but a tenth.
fn common<'a>(
    trials: impl Iterator<Item = &'a TrialRecord>,
    of_trial: impl Fn(&'a TrialRecord) -> BTreeSet<Work<'a>>,
) -> BTreeSet<Work<'a>> {
    let mut by_contender: BTreeMap<&str, Vec<BTreeSet<Work>>> = BTreeMap::new();
    for trial in trials.filter(|trial| trial.status == Status::Ok) {
        by_contender.entry(&trial.contender).or_default().push(of_trial(trial));
    }
    let of_contender = |done: Vec<BTreeSet<Work<'a>>>| -> BTreeSet<Work<'a>> {
        let lacking = |work: &Work| done.iter().filter(|one| !one.contains(work)).count() as f64;
        let has = |work: &&Work| lacking(work) <= stats::INCOMPLETE_SHARE_MAX * done.len() as f64;
        done.iter().flatten().filter(has).copied().collect()
    };
    let each = by_contender.into_values().map(of_contender);
    each.reduce(|some, others| some.intersection(&others).copied().collect()).unwrap_or_default()
}

/// The operations that a trial did rightly, and all of. Kinds run, and statements are called, as often as there is time.
fn operations(trial: &TrialRecord) -> BTreeSet<Work<'_>> {
    let right = trial.metrics.keys().filter(|metric| !is_of_less_work(trial, metric));
    let work = |metric| match operation_of(metric) {
        Some(name) => Some((name, count_of(trial, &operation_metric(name, "count")))),
        None => rated(metric).or_else(|| statement_of(metric)).map(|name| (name, 0)),
    };
    right.filter_map(|metric| work(metric)).collect()
}

/// The programs that a trial did rightly, and all of.
fn programs(trial: &TrialRecord) -> BTreeSet<Work<'_>> {
    let right = trial.metrics.keys().filter(|metric| !is_of_less_work(trial, metric));
    right
        .filter_map(|metric| program_of(metric))
        .map(|name| (name, count_of(trial, &program_count_metric(name))))
        .collect()
}

fn count_of(trial: &TrialRecord, metric: &str) -> u64 {
    trial.metrics.get(metric).map_or(0, |count| counted(*count))
}

/// How many operations or statements of a workload are compared.
pub fn operations_of(records: &Index, workload: &str) -> usize {
    common(records.trials().iter().filter(|trial| trial.workload == workload), operations).len()
}

/// Compares programs and operations, or statements; none where the workload has neither.
pub fn parts(scope: &Scope, points: &[Point]) -> Option<Parts> {
    match points {
        [point] if scope.is_pass() => Some(of_pass(scope, point)),
        _ if scope.is_pass() => None,
        _ => of_statements(scope, points),
    }
}

fn of_pass(scope: &Scope, point: &Point) -> Parts {
    let everyone = scope.records.trials().iter().filter(|trial| trial.workload == scope.workload);
    let is_ours = |name: &str| name == scope.plan.baseline || name == scope.candidate;
    let trials = everyone.clone().filter(|trial| is_ours(&trial.contender)).collect();
    let pair = Pair { scope, point, trials };
    let kind = if pair.are_rated() { PartKind::Kind } else { PartKind::Operation };
    let (mut programs, mut operations) = match kind {
        PartKind::Kind => (pair.groups(), pair.kinds()),
        _ => (pair.programs(), pair.operations()),
    };
    if kind != PartKind::Kind {
        share_out(&mut programs);
        share_out(&mut operations);
    }
    let screened = screen_if_many(scope, &mut operations);
    let (in_total, left_out) = (common(everyone, self::operations).len(), pair.left_out());
    let results_differ = Vec::new();
    Parts { kind, programs, operations, left_out, in_total, screened, results_differ }
}

/// Statements that both sides have called, each over the whole sweep.
pub(super) fn of_statements(scope: &Scope, points: &[Point]) -> Option<Parts> {
    let sides = [scope.plan.baseline.as_str(), scope.candidate];
    let trials: Vec<&TrialRecord> =
        scope.records.trials().iter().filter(|trial| trial.workload == scope.workload).collect();
    let of_side = |side: usize| trials.iter().copied().filter(move |trial| trial.contender == sides[side]);
    let names = common(of_side(0).chain(of_side(1)), operations);
    let every = sides.map(|contender| {
        let ours = trials.iter().filter(|trial| trial.contender == contender && trial.status == Status::Ok);
        ours.flat_map(|trial| operations(trial)).map(|(name, _)| name).collect::<BTreeSet<&str>>()
    });
    if every.iter().all(BTreeSet::is_empty) {
        return None;
    }
    let digests = digests_of(scope);
    let is_judged = |name: &str| digests.is_empty() || digests.get(name).is_some_and(|digest| digest.is_judged);
    let (active, judged) = (scope.active(points), names.iter().filter(|(name, _)| is_judged(name)).count());
    let of_one = Scope { share: joint(judged), ..*scope };
    let compared = |metric: &str| of_one.overall(metric, points, &of_one.of_points(metric, points));
    let mean = |side: &str, metric: &str| scope.records.mean(scope.workload, &active, side, metric);
    let statement = |name: &str| {
        let comparison = compared(&statement_metric(name, STATEMENT_LATENCY));
        let more_ms = comparison.candidate_value.zip(comparison.baseline_value).map(|(other, one)| other - one);
        let calls = mean(sides[0], &statement_metric(name, "count"));
        Part {
            name: name.to_owned(),
            comparison,
            shares: sides.map(|side| mean(side, &statement_metric(name, "share"))),
            marks: Vec::new(),
            limited: [0; 2],
            cost: None,
            moved: Vec::new(),
            text: digests.get(name).map(|digest| digest.text.clone()),
            extra_s: more_ms.zip(calls).map(|(ms, calls)| ms * calls / 1e3),
        }
    };
    let all = names.iter().map(|(name, _)| statement(name));
    let (mut operations, few): (Vec<Part>, Vec<Part>) = all.partition(|part| is_judged(&part.name));
    let screened = screen_if_many(scope, &mut operations);
    let in_total = operations.len();
    operations.extend(few.into_iter().map(without_verdict));
    let results_differ = names.iter().filter_map(|(name, _)| {
        let rows = [0, 1].map(|side| mean_rows(of_side(side), name));
        differ(rows).then(|| ResultsDiffer { name: (*name).to_owned(), rows })
    });
    let missing = |side: usize| {
        let left_out = |name: &&str| LeftOut {
            name: (*name).to_owned(),
            contender: sides[side].to_owned(),
            kind: GAP,
            because: LeftOutBecause::NotCalled,
        };
        every[1 - side].difference(&every[side]).map(left_out).collect::<Vec<_>>()
    };
    Some(Parts {
        kind: PartKind::Statement,
        programs: Vec::new(),
        in_total,
        left_out: [0, 1].into_iter().flat_map(missing).collect(),
        results_differ: results_differ.collect(),
        operations,
        screened,
    })
}

/// Digests of the log that a workload replays; none where it replays none.
fn digests_of<'a>(scope: &Scope<'a>) -> Cow<'a, BTreeMap<String, DigestRecord>> {
    let found = scope.plan.workloads.iter().find(|workload| workload.label == scope.workload);
    found.map_or_else(|| Cow::Owned(BTreeMap::new()), |workload| Cow::Borrowed(&workload.digests))
}

/// The ratio alone.
fn without_verdict(part: Part) -> Part {
    Part { marks: vec![FEW_CALLS], ..undecided(part) }
}

fn undecided(part: Part) -> Part {
    let comparison = Comparison { verdict: Verdict::Inconclusive, low: None, high: None, ..part.comparison };
    Part { comparison, ..part }
}

/// Q2 comes before Q10.
fn in_order(name: &str) -> (&str, u64) {
    let letters = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    (letters, name[letters.len()..].parse().unwrap_or(0))
}

/// Over the trials of one contender that are ok.
fn mean_rows<'a>(trials: impl Iterator<Item = &'a TrialRecord>, name: &str) -> f64 {
    let metric = statement_metric(name, "rows");
    let rows: Vec<f64> = trials
        .filter(|trial| trial.status == Status::Ok)
        .filter_map(|trial| trial.metrics.get(&metric).copied())
        .collect();
    stats::mean(&rows).unwrap_or(0.0)
}

/// So much more rows are no matter of other moments at which the same tables were read.
const ROWS_FACTOR_MAX: f64 = 2.0;

/// Whether two servers gave other results: many more rows, or any where the other gave none.
fn differ([one, other]: [f64; 2]) -> bool {
    let (least, most) = (one.min(other), one.max(other));
    most > ROWS_FACTOR_MAX * least
}

/// So many comparisons share the error.
fn joint(operations: usize) -> usize {
    if operations > OPERATIONS_WITH_JOINT_ERROR_MAX { 1 } else { operations }
}

/// Screens what is too many for an error that they share.
fn screen_if_many(scope: &Scope, operations: &mut [Part]) -> bool {
    let screened = operations.len() > OPERATIONS_WITH_JOINT_ERROR_MAX;
    if screened {
        screen(operations, (1.0 - scope.plan.method.confidence) / scope.plan.candidates().count().max(1) as f64);
    }
    screened
}

/// Baseline and candidate with their trials, the failed ones included.
struct Pair<'a> {
    scope: &'a Scope<'a>,
    point: &'a Point,
    trials: Vec<&'a TrialRecord>,
}

impl Pair<'_> {
    fn programs(&self) -> Vec<Part> {
        let common = common(self.trials.iter().copied(), programs);
        let marks = [(ESTIMATED_PROGRAM, "estimated")];
        common.iter().map(|(name, _)| self.part(name, &program_metric(name), common.len(), &marks)).collect()
    }

    fn operations(&self) -> Vec<Part> {
        let common = common(self.trials.iter().copied(), operations);
        let share = joint(common.len());
        let marks = [(ESTIMATED, "estimated"), (SHORT, "short")];
        let part = |name: &str| {
            let part = self.part(name, &operation_metric(name, SECONDS), share, &marks);
            let limited = self.limited(name);
            // Two bounds have no order.
            let is_open = limited.iter().all(|trials| *trials > 0);
            Part { limited, ..if is_open { undecided(part) } else { part } }
        };
        let mut parts: Vec<Part> = common.iter().map(|(name, _)| part(name)).collect();
        parts.sort_by(|one, other| in_order(&one.name).cmp(&in_order(&other.name)));
        parts
    }

    /// Trials of baseline and candidate in which a limit ended an operation.
    fn limited(&self, name: &str) -> [u32; 2] {
        [self.scope.plan.baseline.as_str(), self.scope.candidate].map(|contender| {
            let ours = self.trials.iter().filter(|trial| trial.contender == contender && trial.status == Status::Ok);
            ours.filter(|trial| is_marked(trial, LIMITED, name)).count() as u32
        })
    }

    /// What was flagged as missing, wrong or less, and what counts something else on either side.
    fn left_out(&self) -> Vec<LeftOut> {
        let mut left_out = flagged_in(&self.trials);
        let both: [fn(&TrialRecord) -> BTreeSet<Work<'_>>; 2] = [operations, programs];
        for of_trial in both {
            let done = |contender: &str| -> BTreeMap<&str, u64> {
                let ours = self.trials.iter().filter(|trial| trial.contender == contender);
                ours.filter(|trial| trial.status == Status::Ok).flat_map(|trial| of_trial(trial)).collect()
            };
            let theirs = done(&self.scope.plan.baseline);
            for (name, count) in done(self.scope.candidate) {
                let Some(other) = theirs.get(name).filter(|other| **other != count) else { continue };
                left_out.push(LeftOut {
                    name: name.to_owned(),
                    contender: self.scope.candidate.to_owned(),
                    kind: OTHER_COUNT,
                    because: LeftOutBecause::OtherCount { count, baseline: *other },
                });
            }
        }
        left_out
    }

    /// One row; `share` of them share the error, and `marks` are flags with the verdicts for them.
    fn part(&self, name: &str, metric: &str, share: usize, marks: &[(&str, &'static str)]) -> Part {
        let compared = self.scope.compare(metric, std::slice::from_ref(self.point), Some(self.point), share);
        let marked = |(kind, _): &&(&str, &'static str)| self.trials.iter().any(|trial| is_marked(trial, kind, name));
        Part {
            name: name.to_owned(),
            comparison: Comparison { point: None, ..compared },
            shares: [None; 2],
            marks: marks.iter().filter(marked).map(|(_, mark)| *mark).collect(),
            limited: [0; 2],
            cost: None,
            moved: Vec::new(),
            text: None,
            extra_s: None,
        }
    }

    /// Whether operations ran for a time, and have rates.
    fn are_rated(&self) -> bool {
        self.trials.iter().any(|trial| trial.metrics.contains_key(GEOMEAN_RATE))
    }

    /// The mean rate of each group, where there are several.
    fn groups(&self) -> Vec<Part> {
        let common = common(self.trials.iter().copied(), operations);
        let groups: BTreeSet<&str> = common.iter().filter_map(|(name, _)| group_of(name)).collect();
        if groups.len() < 2 {
            return Vec::new();
        }
        groups.iter().map(|group| self.part(group, &group_metric(group), groups.len(), &[])).collect()
    }

    fn kinds(&self) -> Vec<Part> {
        let common = common(self.trials.iter().copied(), operations);
        let share = joint(common.len());
        let kind = |name: &str| {
            let cost = self.part(name, &operation_metric(name, EXECUTION_CPU), 1, &[]).comparison;
            let cost = Some(cost).filter(|cost| cost.ratio.is_some());
            let moved = |what: &'static str| (what, self.part(name, &operation_metric(name, what), 1, &[]).comparison);
            let differs = |one: &Comparison| matches!(one.verdict, Verdict::Faster | Verdict::Slower);
            let moved = MOVED.into_iter().map(moved).filter(|(_, one)| differs(one)).collect();
            Part { cost, moved, ..self.part(name, &operation_metric(name, RATE), share, &[(SHORT, "short")]) }
        };
        common.iter().map(|(name, _)| kind(name)).collect()
    }
}

/// What each row is of the sum of all.
fn share_out(parts: &mut [Part]) {
    let values = |part: &Part| [part.comparison.baseline_value, part.comparison.candidate_value];
    let sum = |side: usize| parts.iter().filter_map(|part| values(part)[side]).sum::<f64>();
    let sums = [sum(0), sum(1)];
    for part in parts {
        let of = values(part);
        part.shares = [0, 1].map(|side| of[side].filter(|_| sums[side] > 0.0).map(|value| value / sums[side]));
    }
}

/// Takes the verdicts back that may be chance among so many rows.
fn screen(operations: &mut [Part], rate: f64) {
    // A row without a p value is no discovery, and counts among those that were tested.
    let p_values: Vec<f64> = operations.iter().map(|part| part.comparison.sign_flip_p.unwrap_or(1.0)).collect();
    for (part, is_discovery) in operations.iter_mut().zip(stats::screening(&p_values, rate)) {
        let comparison = &mut part.comparison;
        if matches!(comparison.verdict, Verdict::Faster | Verdict::Slower) && !is_discovery {
            comparison.verdict = Verdict::Inconclusive;
        }
        comparison.caveats.push(Caveat::Screening);
        comparison.caveats.sort();
    }
}

/// What was flagged in any of the trials, once per contender.
fn flagged_in(trials: &[&TrialRecord]) -> Vec<LeftOut> {
    let mut seen: BTreeMap<(&str, &'static str, &str), &str> = BTreeMap::new();
    for trial in trials {
        for flag in &trial.flags {
            for kind in [GAP, WRONG, FEWER, PARTIAL] {
                let Some(name) = flagged(flag, kind) else { continue };
                let why = trial.remarks.get(flag).map_or("", String::as_str);
                seen.entry((&trial.contender, kind, name)).or_insert(why);
            }
        }
    }
    let left_out = seen.into_iter().map(|((contender, kind, name), why)| LeftOut {
        name: name.to_owned(),
        contender: contender.to_owned(),
        kind,
        because: LeftOutBecause::Remark(why.to_owned()),
    });
    left_out.collect()
}
