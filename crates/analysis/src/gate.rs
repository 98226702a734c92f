//! The answer of `--gate`: is a candidate slower than it may be, anywhere?
//!
//! Without limits the verdict decides. A limit of `[gate]` takes its place for the metric that it limits, and is judged
//! by the same rule with everything that may withhold a verdict. A gate asks about all workloads and limits at once, so
//! it judges at the error rate divided by their number. Points can fail it; what is not decided at a point alone
//! leaves it as the whole sweep has it.

use record::format::answers::AnswersRecord;
use record::format::{PlanRecord, Point, RunRecord, TrialRecord, measured};
use record::rule::at_gate_level;
pub use record::rule::gate_level as level;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Basis;

use super::comparison::{Comparison, Verdict};
use super::conditions::conditions;
use super::index::Index;
use super::named::named;
use super::scope::{Conditions, Scope};
use super::values::less_is_better;
use super::{deferred, operations};

/// The option of a replay by which answers that differ fail nothing.
const GATE_ANSWERS: &str = "gate_answers";
/// The one by which it fails where a digest is slower, whatever the total.
const GATE_DIGESTS: &str = "gate_digests";

named! {
    pub enum Answer {
        /// Proven within the limit; without one, proven not slower.
        Passed = "passed",
        /// Proven beyond the limit; without one, proven slower.
        Failed = "failed",
        NotDecided = "not decided",
    }
}

/// One thing that the gate asks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Condition {
    pub workload: String,
    pub baseline: String,
    pub candidate: String,
    /// Null for the whole sweep.
    pub point: Option<Point>,
    pub metric: String,
    /// How much worse the metric may be, as a fraction: a rate that much lower, a time that much longer. Null where the
    /// verdict decides.
    pub max_slowdown: Option<f64>,
    /// Above 1 the candidate is better.
    pub ratio: Option<f64>,
    /// Of the rule; null while there are too few blocks for it at this error rate.
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Of the interval, at the error rate of the gate.
    pub confidence: f64,
    pub answer: Answer,
    /// The gate is not decided while this is not.
    pub is_required: bool,
}

/// A candidate whose commits survive less than those of the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Weaker {
    pub baseline: String,
    pub candidate: String,
    pub baseline_class: String,
    pub candidate_class: String,
}

/// A candidate that answers statements of a replayed log otherwise than the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct OtherAnswers {
    pub workload: String,
    pub baseline: String,
    pub candidate: String,
    pub differ: u64,
    pub compared: u64,
}

/// A statement of a replayed log that takes longer, whatever all of them take together.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SlowerDigest {
    pub workload: String,
    pub baseline: String,
    pub candidate: String,
    /// Its id, and its text with literals taken out.
    pub digest: String,
    pub text: String,
    /// Of mean service times; above 1 the candidate is better.
    pub ratio: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Gate {
    pub answer: Answer,
    /// The error rate of each workload and limit.
    pub level: f64,
    pub conditions: Vec<Condition>,
    pub weaker: Vec<Weaker>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_answers: Vec<OtherAnswers>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slower_digests: Vec<SlowerDigest>,
}

/// From stored records, like any verdict.
pub fn gate(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Gate {
    let circumstances = &conditions(plan, run, trials);
    let trials = &*measured(trials);
    let aligned = deferred::charged(plan, operations::aligned(plan, trials));
    let records = &Index::new(plan, &aligned);
    let pairs = plan.workloads.iter().flat_map(|workload| plan.candidates().map(move |one| (&workload.label, one)));
    let conditions: Vec<Condition> = pairs
        .flat_map(|(workload, candidate)| Gated { records, circumstances, workload, candidate }.conditions(plan))
        .collect();
    let other_answers = other_answers(plan, run);
    let slower_digests = slower_digests(plan, records, circumstances);
    let has_failed = !(other_answers.is_empty() && slower_digests.is_empty());
    let answer = if has_failed { Answer::Failed } else { answer(&conditions) };
    Gate { answer, level: level(plan), conditions, weaker: weaker(plan, circumstances), other_answers, slower_digests }
}

/// What an option of a workload says, where it is yes or no.
fn flag(plan: &PlanRecord, workload: &str, option: &str) -> Option<bool> {
    plan.workloads.iter().find(|one| one.label == workload)?.options.get(option)?.as_bool()
}

/// Each by its own verdict, which stands under the error of all digests.
fn slower_digests(plan: &PlanRecord, records: &Index, circumstances: &Conditions) -> Vec<SlowerDigest> {
    let asked = plan.workloads.iter().filter(|one| flag(plan, &one.label, GATE_DIGESTS) == Some(true));
    let pairs = asked.flat_map(|one| plan.candidates().map(move |candidate| (one.label.as_str(), candidate)));
    let slower = |(workload, candidate): (&str, &str)| {
        let scope = Scope { plan, records, circumstances, workload, candidate, limit: None, share: 1 };
        let statements = operations::of_statements(&scope, &records.points(workload));
        let digests = statements.map(|parts| parts.operations).unwrap_or_default();
        let slower = digests.into_iter().filter(|part| part.comparison.verdict == Verdict::Slower);
        let of = |part: operations::Part| {
            let Comparison { workload, baseline, candidate, ratio, low, high, .. } = part.comparison;
            let text = part.text.unwrap_or_default();
            SlowerDigest { workload, baseline, candidate, digest: part.name, text, ratio, low, high }
        };
        slower.map(of).collect::<Vec<_>>()
    };
    pairs.flat_map(slower).collect()
}

/// Values behind ORDER BY and LIMIT alone may be those of rows that are equal in that order, and fail nothing.
fn other_answers(plan: &PlanRecord, run: &RunRecord) -> Vec<OtherAnswers> {
    let is_asked = |label: &str| flag(plan, label, GATE_ANSWERS) != Some(false);
    let of = |one: &AnswersRecord| {
        let differ = one.differ() - one.at_limits();
        let AnswersRecord { workload, baseline, candidate, compared, .. } = one.clone();
        (differ > 0 && is_asked(&workload)).then_some(OtherAnswers { workload, baseline, candidate, differ, compared })
    };
    run.answers.iter().filter_map(of).collect()
}

/// Whether more blocks may still change the answer about a candidate: always, until it has one. A plan without limits
/// waits for its verdicts alone.
pub(super) fn is_decided(gated: &Gated, plan: &PlanRecord) -> bool {
    plan.gate.is_none() || answer(&gated.conditions(plan)) != Answer::NotDecided
}

fn answer(conditions: &[Condition]) -> Answer {
    if conditions.iter().any(|one| one.answer == Answer::Failed) {
        return Answer::Failed;
    }
    let is_open = conditions.iter().any(|one| one.is_required && one.answer == Answer::NotDecided);
    if is_open { Answer::NotDecided } else { Answer::Passed }
}

/// Candidates that promise less at a commit, which no figure of speed shows.
fn weaker(plan: &PlanRecord, circumstances: &Conditions) -> Vec<Weaker> {
    let class = |name: &str| circumstances.durability.get(name).cloned();
    let weaker = |candidate: &str| {
        let (baseline_class, candidate_class) = (class(&plan.baseline)?, class(candidate)?);
        // The letter orders them: D0 promises nothing.
        let (baseline, candidate) = (plan.baseline.clone(), candidate.to_owned());
        let is_weaker = candidate_class < baseline_class;
        is_weaker.then_some(Weaker { baseline, candidate, baseline_class, candidate_class })
    };
    plan.candidates().filter_map(weaker).collect()
}

/// A candidate under one workload.
pub(super) struct Gated<'a> {
    pub records: &'a Index<'a>,
    pub circumstances: &'a Conditions,
    pub workload: &'a str,
    pub candidate: &'a str,
}

impl Gated<'_> {
    fn conditions(&self, plan: &PlanRecord) -> Vec<Condition> {
        let primary = self.records.primary_metric(self.workload);
        let (max_slowdown, latency) = plan.gate.map_or((None, None), |gate| (gate.max_slowdown, gate.latency));
        let is_pass = plan.workloads.iter().any(|record| record.label == self.workload && record.one_pass);
        let latency = latency.filter(|_| !is_pass).and_then(|limit| Some((limit.metric()?, limit.max_slowdown)));
        let throughput = self.of_metric(plan, &primary, max_slowdown);
        let latency = latency.map(|(metric, most)| self.of_metric(plan, metric, Some(most)));
        throughput.into_iter().chain(latency.into_iter().flatten()).collect()
    }

    /// The whole sweep, then its points.
    fn of_metric(&self, plan: &PlanRecord, metric: &str, max_slowdown: Option<f64>) -> Vec<Condition> {
        let strict = at_gate_level(plan);
        let (own, strict) = (self.compare(plan, metric, max_slowdown), self.compare(&strict, metric, max_slowdown));
        own.iter().zip(&strict).map(|(own, strict)| condition(own, strict, max_slowdown)).collect()
    }

    fn compare(&self, plan: &PlanRecord, metric: &str, max_slowdown: Option<f64>) -> Vec<Comparison> {
        let Gated { records, circumstances, workload, candidate } = *self;
        let limit = max_slowdown.map(|most| least_ratio(metric, most));
        let scope = Scope { plan, records, circumstances, workload, candidate, limit, share: 1 };
        let points = records.points(workload);
        let of_points = scope.of_points(metric, &points);
        let overall = scope.overall(metric, &points, &of_points);
        let of_points = if points.len() > 1 { of_points } else { Vec::new() };
        std::iter::once(overall).chain(of_points).collect()
    }
}

/// The ratio of a candidate that is exactly at its limit.
fn least_ratio(metric: &str, max_slowdown: f64) -> f64 {
    if less_is_better(metric) { 1.0 / (1.0 + max_slowdown) } else { 1.0 - max_slowdown }
}

/// A loss at the workload's own level that the gate's does not show is no pass either.
fn condition(own: &Comparison, strict: &Comparison, max_slowdown: Option<f64>) -> Condition {
    let is_lost = own.verdict == Verdict::Slower;
    let answer = match strict.verdict {
        Verdict::Slower => Answer::Failed,
        Verdict::Inconclusive => Answer::NotDecided,
        _ if is_lost => Answer::NotDecided,
        Verdict::Faster | Verdict::NoDifferenceShown => Answer::Passed,
        // Points on both sides: one of them fails the gate, and the whole sweep answers by its interval.
        Verdict::Mixed => of_mixed(strict, max_slowdown),
    };
    let has_rule = strict.basis != Basis::Plain;
    Condition {
        workload: strict.workload.clone(),
        baseline: strict.baseline.clone(),
        candidate: strict.candidate.clone(),
        point: strict.point.clone(),
        metric: strict.metric.clone(),
        max_slowdown,
        ratio: strict.ratio,
        low: strict.low.filter(|_| has_rule),
        high: strict.high.filter(|_| has_rule),
        confidence: strict.confidence,
        answer,
        is_required: strict.point.is_none() || is_lost,
    }
}

fn of_mixed(strict: &Comparison, max_slowdown: Option<f64>) -> Answer {
    let limit = max_slowdown.map_or(1.0, |most| least_ratio(&strict.metric, most));
    match (strict.low, strict.high) {
        (Some(low), _) if low > limit => Answer::Passed,
        (_, Some(high)) if high < limit => Answer::Failed,
        _ => Answer::NotDecided,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conclude;
    use fixtures::{CANDIDATE, StoredRun, Story, stored_run};
    use record::format::DigestRecord;
    use record::format::gate::{GateRecord, LatencyLimit};

    fn of(stored: &StoredRun) -> Gate {
        gate(&stored.plan, &stored.run, &stored.trials)
    }

    fn with_ratios(ratios: [f64; 4]) -> StoredRun {
        stored_run(&Story { ratios, ..Story::default() })
    }

    #[test]
    fn without_limits_a_point_that_loses_fails_the_gate_whatever_the_overall_verdict() {
        let check = |ratios: [f64; 4], expected: Answer| {
            let found = of(&with_ratios(ratios));
            assert_eq!((found.answer, found.conditions.len()), (expected, 5), "{ratios:?}: {found:?}");
        };
        check([1.3; 4], Answer::Passed);
        check([0.9; 4], Answer::Failed);
        check([1.2, 1.2, 1.2, 0.8], Answer::Failed);
        let open = stored_run(&Story { ratios: [1.0; 4], spread: 0.06, ..Story::default() });
        assert_eq!(of(&open).answer, Answer::NotDecided);
        assert!((of(&open).level - 0.05).abs() < 1e-12);
    }

    /// The same trials once more under other names.
    fn repeated(workloads: usize) -> StoredRun {
        let mut stored = with_ratios([0.9; 4]);
        let (record, trials, planned) =
            (stored.plan.workloads[0].clone(), stored.trials.clone(), stored.plan.trials.clone());
        for number in 1..workloads {
            let label = format!("again {number}");
            stored.plan.workloads.push(record::format::WorkloadRecord { label: label.clone(), ..record.clone() });
            stored.trials.extend(trials.iter().cloned().map(|trial| TrialRecord { workload: label.clone(), ..trial }));
            let planned = planned.iter().cloned();
            stored.plan.trials.extend(planned.map(|mut trial| {
                trial.workload = label.clone();
                trial
            }));
        }
        stored
    }

    #[test]
    fn several_workloads_share_the_error_of_the_gate_and_keep_their_own_verdicts() {
        let (one, seven) = (repeated(1), repeated(7));
        assert_eq!(of(&one).answer, Answer::Failed);
        // Eight equal signs come once in 128 times, and 5 % / 7 is less.
        let found = of(&seven);
        assert_eq!((found.answer, found.conditions.len()), (Answer::NotDecided, 7 * 5));
        assert!(found.conditions.iter().all(|one| one.ratio.is_some() && one.low.is_none()), "no rule, no interval");
        assert!((found.level - 0.05 / 7.0).abs() < 1e-12);
        let conclusions = conclude(&seven.plan, &seven.run, &seven.trials);
        assert!(conclusions.workloads.iter().all(|workload| workload.duels[0].overall.verdict == Verdict::Slower));
    }

    /// Latency that moves as throughput does.
    fn limited(ratio: f64, spread: f64, gate: GateRecord) -> StoredRun {
        let mut stored = stored_run(&Story { ratios: [ratio; 4], spread, ..Story::default() });
        for trial in &mut stored.trials {
            let tps = trial.metrics["tps"];
            trial.metrics.insert("latency_ms_p99".into(), 10_000.0 / tps);
        }
        stored.plan.gate = Some(gate);
        stored
    }

    #[test]
    fn a_limit_passes_what_is_slower_within_it_and_fails_what_is_beyond() {
        let check = |ratio: f64, limit: f64, expected: Answer| {
            let found = of(&limited(ratio, 0.005, GateRecord { max_slowdown: Some(limit), latency: None }));
            let overall = &found.conditions[0];
            assert_eq!((found.answer, overall.answer), (expected, expected), "{ratio} with {limit}: {overall:?}");
            assert_eq!(overall.max_slowdown, Some(limit));
        };
        check(0.95, 0.10, Answer::Passed);
        check(0.95, 0.02, Answer::Failed);
        check(0.95, 0.05, Answer::NotDecided);
        check(1.10, 0.02, Answer::Passed);
    }

    #[test]
    fn a_limit_of_latency_stands_beside_the_verdict_and_shares_its_error() {
        let latency = |most: f64| Some(LatencyLimit { quantile: 99.0, max_slowdown: most });
        let check = |max_slowdown: Option<f64>, most: f64, expected: [Answer; 3]| {
            let found = of(&limited(0.9, 0.005, GateRecord { max_slowdown, latency: latency(most) }));
            assert!((found.level - 0.025).abs() < 1e-12);
            let overall: Vec<&Condition> = found.conditions.iter().filter(|one| one.point.is_none()).collect();
            assert_eq!([overall[0].metric.as_str(), overall[1].metric.as_str()], ["tps", "latency_ms_p99"]);
            assert_eq!([found.answer, overall[0].answer, overall[1].answer], expected, "{max_slowdown:?} {most}");
        };
        use Answer::{Failed, Passed};
        check(None, 0.2, [Failed, Failed, Passed]);
        check(Some(0.2), 0.2, [Passed, Passed, Passed]);
        check(Some(0.2), 0.05, [Failed, Passed, Failed]);
    }

    #[test]
    fn a_quantile_that_trials_do_not_have_leaves_the_gate_open() {
        let latency = Some(LatencyLimit { quantile: 99.0, max_slowdown: 0.5 });
        let mut stored = limited(1.3, 0.005, GateRecord { max_slowdown: Some(0.1), latency });
        stored.trials.iter_mut().for_each(|trial| trial.metrics.retain(|name, _| name != "latency_ms_p99"));
        let found = of(&stored);
        assert_eq!((found.answer, found.conditions[0].answer), (Answer::NotDecided, Answer::Passed));
    }

    #[test]
    fn a_withheld_verdict_withholds_the_answer_about_a_limit() {
        let mut stored = limited(0.95, 0.005, GateRecord { max_slowdown: Some(0.1), latency: None });
        for trial in stored.trials.iter_mut().filter(|trial| trial.block < 4) {
            trial.status = record::format::Status::Failed;
        }
        assert_eq!(of(&stored).answer, Answer::NotDecided);
    }

    /// The last block of a run that may end once its questions are answered.
    fn last_block(ratio: f64, spread: f64, stop: &str, limit: Option<f64>) -> u32 {
        let mut stored = stored_run(&Story { blocks: 20, ratios: [ratio; 4], spread, ..Story::default() });
        stored.plan.method.stop = stop.into();
        stored.plan.gate = limit.map(|limit| GateRecord { max_slowdown: Some(limit), latency: None });
        let up_to = |block: u32| stored.trials.iter().filter(|trial| trial.block <= block).cloned().collect::<Vec<_>>();
        let ends = |block: &u32| crate::should_stop(&stored.plan, &up_to(*block)).is_some();
        (1..=20).find(ends).expect("the last block ends every run")
    }

    #[test]
    fn a_run_with_a_limit_goes_on_until_the_limit_is_decided() {
        let without = last_block(0.95, 0.005, "overall", None);
        assert!(without < 20, "{without}");
        let found = [0.10, 0.01, 0.05].map(|limit| last_block(0.95, 0.005, "overall", Some(limit)));
        assert_eq!(found, [without, without, 20]);
    }

    #[test]
    fn a_run_that_waits_for_the_gate_alone_ends_where_no_verdict_is_in_sight() {
        let check = |ratio: f64, limit: f64, is_decided: bool| {
            let last = last_block(ratio, 0.03, "gate", Some(limit));
            assert_eq!(last < 20, is_decided, "{ratio} at a limit of {limit}: {last} blocks");
        };
        check(1.0, 0.10, true);
        check(0.8, 0.10, true);
        check(0.90, 0.10, false);
        assert_eq!(last_block(1.0, 0.03, "overall", Some(0.10)), 20);
    }

    #[test]
    fn a_digest_that_is_slower_fails_the_gate_where_that_is_asked_for() {
        let story = Story { ratios: [1.3; 4], spread: 0.005, ..Story::default() };
        let mut stored = fixtures::statements_run(&story);
        assert_eq!(of(&stored).answer, Answer::Passed, "the total is faster");
        let workload = &mut stored.plan.workloads[0];
        workload.options.insert(GATE_DIGESTS.to_owned(), true.into());
        for (name, is_judged) in [("browse.sold", true), ("browse.product", true), ("order.stock", false)] {
            let text = format!("text of {name}");
            workload.digests.insert(name.to_owned(), DigestRecord { text, calls: 400, is_judged });
        }
        let found = of(&stored);
        let [slower] = found.slower_digests.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.answer, slower.digest.as_str()), (Answer::Failed, "browse.sold"));
        assert_eq!(slower.text, "text of browse.sold");
        assert!(slower.high.is_some_and(|high| high < 0.6), "{slower:?}");
    }

    #[test]
    fn a_candidate_that_promises_less_is_named() {
        let mut stored = with_ratios([1.3; 4]);
        stored.run.contenders.get_mut(CANDIDATE).unwrap().durability_class = "D2".into();
        let found = of(&stored);
        assert_eq!(found.answer, Answer::Passed);
        let [weaker] = found.weaker.as_slice() else { panic!("{found:?}") };
        assert_eq!((weaker.baseline_class.as_str(), weaker.candidate_class.as_str()), ("D3", "D2"));
    }
}
