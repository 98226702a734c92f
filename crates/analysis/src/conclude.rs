//! From the records of a run to its conclusions, and whether it ends here.

use std::collections::BTreeMap;

use record::format::{
    DecisionRecord, MetricRecord, PlanRecord, Point, RunRecord, Series, Status, TrialRecord, measured,
};
use record::metric::HOST_FLAGS;
use record::rule::{first_for_operations, first_for_points, point_rule};

use super::comparison::{Comparison, Verdict};
use super::conclusions::{Conclusions, FlagCount, HeadToHead, MetricComparison, Tally, WorkloadConclusions};
use super::conditions::{EndReason, conditions, given_up};
use super::deferred::ADJUSTED;
use super::gate::Gated;
use super::index::Index;
use super::ladder::Climb;
use super::overall::Deferring;
use super::scope::{Conditions, Scope};
use super::steady_state::{Trend, drifts, growths};
use super::values::{GEOMEAN_SECONDS, is_bound, is_noisy};
use super::variation::spread;
use super::{
    comparison, deferred, diagnosis, duet, durability, findings, gate, ladder, missing, operations, overall, scaling,
};

/// Metrics that are compared beside the primary one, where trials have them.
const OTHER_METRICS: [&str; 11] = [
    "tpm",
    GEOMEAN_SECONDS,
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
    findings.extend(findings::work_left(deferred::work_left(&aligned)));
    let flags = plan.contenders.iter().map(|one| flag_count(&one.name, trials)).collect();
    let durability = durability::durability(plan, run, trials);
    let tally = tally(plan, &records, &circumstances.given_up, trials);
    Conclusions { workloads, findings, durability, tally, flags }
}

/// A candidate against the baseline over all load levels, while the run goes on.
pub struct SoFar {
    pub workload: String,
    pub candidate: String,
    pub overall: Comparison,
}

/// What is shown after each block: of [`conclude`], which takes twenty times as long, the overall comparisons alone.
pub fn so_far(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Vec<SoFar> {
    let circumstances = &conditions(plan, run, trials);
    let trials = &*measured(trials);
    let aligned = deferred::charged(plan, operations::aligned(plan, trials));
    let records = &Index::new(plan, &aligned);
    let of_workload = |workload: &str| {
        let (points, metric) = (records.points(workload), records.primary_metric(workload));
        let overall = |candidate: &str| {
            let scope = Scope { plan, records, circumstances, workload, candidate, limit: None, share: 1 };
            let overall = scope.overall(&metric, &points, &scope.of_points(&metric, &points));
            SoFar { workload: workload.to_owned(), candidate: candidate.to_owned(), overall }
        };
        plan.candidates().map(overall).collect::<Vec<SoFar>>()
    };
    plan.workloads.iter().flat_map(|workload| of_workload(&workload.label)).collect()
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
    let p_values = overall::p_together(&duels.iter().map(|duel| &duel.overall).collect::<Vec<_>>(), plan.seed);
    duels.iter_mut().zip(p_values.into_iter().flatten()).for_each(|(duel, p)| duel.p_together = Some(p));
    let cells = plan
        .contenders
        .iter()
        .flat_map(|contender| points.iter().map(|point| records.cell(workload, point, &contender.name)))
        .collect();
    let compared: Vec<&Comparison> = duels.iter().flat_map(|duel| &duel.points).collect();
    let scaling = scaling::scaling(plan, records, workload, &metric, &points, &compared);
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
    let flagged = ours.iter().filter(|trial| is_noisy(trial)).count();
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
        trials_generator_bound: trials.iter().filter(|trial| is_bound(trial)).count(),
        occupancy_min: values("occupancy").into_iter().min_by(f64::total_cmp),
        path_share_max: values("client_path_share").into_iter().max_by(f64::total_cmp),
        client_cpu_us_per_query: stats::mean(&values("client_cpu_us_per_query")),
    }
}
