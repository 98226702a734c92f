//! The report for programs. Its names are a promise: add to them freely, rename none.
//!
//! `word` is one of the fixed words whatever the metric, and `ratio` above 1 always means that
//! the candidate is better.

mod ladder;
mod scaling;
mod windows;

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;
use stats::{Basis, RuleKind};

use analysis::drift::{Drift, PlanPair, Setting, drifts};
use analysis::{Comparison, Cost, Duel, Peak, Spread, Unflagged, Word, WorkloadConclusions};
use record::format::search::SearchRecord;
use record::format::{
    BuildRecord, CheckRecord, ContenderRecord, DecisionRecord, DiagnosticRecord, FORMAT_VERSION, Failure, HostRecord,
    MethodRecord, Point, Purpose, RunRecord, SideRecord, StatementPlan, Status, TrialRecord, TwinsRecord,
    WorkloadRecord,
};

use super::sentences::{self, Said};
use super::{Evidence, Options, Report, circumstances, drift, why};

pub struct Json;

impl Report for Json {
    fn name(&self) -> &'static str {
        "json"
    }

    fn description(&self) -> &'static str {
        "everything: method, host, trials, comparisons, findings; for programs"
    }

    fn example(&self) -> &'static str {
        "dbduel report last --format json | jq '.comparisons[] | select(.point == null)'"
    }

    fn write(&self, evidence: &Evidence, _options: &Options) -> Result<String> {
        Ok(serde_json::to_string_pretty(&Document::of(evidence))? + "\n")
    }
}

#[derive(Serialize)]
struct Document<'a> {
    format_version: u32,
    name: &'a str,
    question: Option<&'a str>,
    plan_hash: &'a str,
    seed: u64,
    started_at: &'a str,
    finished_at: Option<&'a str>,
    ended_by: Option<&'a str>,
    dbduel_version: &'a str,
    method: &'a MethodRecord,
    host: &'a HostRecord,
    client: JsonClient<'a>,
    contenders: Vec<JsonContender<'a>>,
    workloads: Vec<WorkloadRecord>,
    trials: Vec<JsonTrial<'a>>,
    /// Trials beside the plan, of which no verdict takes anything.
    probes: Vec<JsonTrial<'a>>,
    comparisons: Vec<JsonComparison<'a>>,
    duels: Vec<JsonDuel<'a>>,
    scaling: Vec<scaling::JsonStep<'a>>,
    laws: Vec<scaling::JsonLaw<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ladders: Vec<ladder::JsonLadder<'a>>,
    /// The first ladder beside the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ladder_stages: Vec<ladder::JsonStage<'a>>,
    /// What was measured of generator and network before the first block.
    checks: &'a [CheckRecord],
    /// What was decided while the run went on.
    decisions: &'a [DecisionRecord],
    /// Stacks and waits of the profiles among the probes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    profiles: &'a [DiagnosticRecord],
    /// What contenders and their twins had shown on this host before.
    twins_known: &'a [TwinsRecord],
    /// What each candidate does differently without being asked.
    drifts: Vec<JsonDrift<'a>>,
    findings: Vec<JsonFinding>,
    /// What this run of twins has shown; absent in any other run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    twins: Vec<TwinsRecord>,
    /// The search over settings that this run is part of; absent in any other run.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<&'a SearchRecord>,
    notes: Vec<&'a str>,
}

#[derive(Serialize)]
struct JsonClient<'a> {
    workers: u32,
    cores: &'a str,
    shared_cores: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sides: &'a [SideRecord],
    client_cpu_us_per_query: Option<f64>,
    self_check: SelfCheck,
}

#[derive(Serialize)]
struct SelfCheck {
    occupancy_min: Option<f64>,
    /// The most of what a network path carries that any trial took.
    path_share_max: Option<f64>,
    trials_generator_bound: usize,
}

#[derive(Serialize)]
struct JsonContender<'a> {
    name: &'a str,
    engine: &'a str,
    version: &'a str,
    source: &'a str,
    settings: &'a BTreeMap<String, String>,
    own_settings: &'a BTreeMap<String, String>,
    /// Null where its server never answered.
    effective_settings: Option<&'a BTreeMap<String, String>>,
    durability_class: Option<&'a str>,
    isolation: Option<&'a BTreeMap<String, String>>,
    storage: &'a str,
    /// Null where nothing is seen of it.
    file_system: Option<&'a str>,
    cores: Option<&'a str>,
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<&'a BuildRecord>,
}

#[derive(Serialize)]
struct JsonTrial<'a> {
    trial: u32,
    workload: &'a str,
    contender: &'a str,
    point: &'a Point,
    block: u32,
    order: u32,
    status: Status,
    /// The trial whose place this one takes.
    #[serde(skip_serializing_if = "Purpose::is_compare")]
    purpose: &'a Purpose,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<u32>,
    /// The trial in whose start of the server this one ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    shares_start_with: Option<u32>,
    /// The trial that counts in place of this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    repeated_as: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<&'a Failure>,
    flags: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    remarks: &'a BTreeMap<String, String>,
    started_at: &'a str,
    finished_at: &'a str,
    metrics: &'a BTreeMap<String, f64>,
    /// Absent in runs that kept none, and in passes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    windows: Vec<windows::JsonWindow>,
}

#[derive(Serialize)]
struct JsonComparison<'a> {
    workload: &'a str,
    baseline: &'a str,
    candidate: &'a str,
    point: Option<&'a Point>,
    metric: &'a str,
    baseline_value: Option<f64>,
    candidate_value: Option<f64>,
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    confidence: f64,
    word: &'static str,
    caveats: Vec<&'static str>,
    blocks: usize,
    mde: Option<f64>,
    /// `exact` or `repeated t`: the rule it holds under; `t` where there were too few blocks for any.
    interval: &'static str,
    unadjusted_low: Option<f64>,
    unadjusted_high: Option<f64>,
    sd_log_ratio: Option<f64>,
    mean_ratio: Option<f64>,
    sign_flip_p: Option<f64>,
    /// The same without the blocks that carry a flag of the host; null where there are none.
    unflagged: Option<JsonUnflagged>,
}

#[derive(Serialize)]
struct JsonUnflagged {
    blocks: usize,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    word: Option<&'static str>,
}

/// What is said of a candidate beside its comparisons.
#[derive(Serialize)]
struct JsonDuel<'a> {
    workload: &'a str,
    baseline: &'a str,
    candidate: &'a str,
    losing: &'a [Point],
    /// The metric of the secondary verdict: `comparisons` has it under this name. Null in open loops, passes and
    /// against servers that are not started here.
    secondary_metric: Option<&'static str>,
    /// Neighbouring points between which the curves cross.
    crossings: &'a [(Point, Point)],
    peak: Option<JsonPeak<'a>>,
    /// Max-t over sign flips of whole blocks; null with a single candidate.
    p_together: Option<f64>,
    spread: JsonSpread,
    /// What a transaction cost, for the whole sweep and at each point.
    costs: Vec<JsonCost<'a>>,
    /// Costs that at least one side does not show.
    costs_not_visible: Vec<&'a str>,
}

#[derive(Serialize)]
struct JsonCost<'a> {
    metric: &'static str,
    point: Option<&'a Point>,
    baseline_value: f64,
    candidate_value: f64,
    /// Baseline over candidate; null where either was ever nothing, and then there is the difference.
    ratio: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    interval: Option<&'static str>,
    /// Candidate minus baseline, with its t interval.
    difference: f64,
    difference_low: Option<f64>,
    difference_high: Option<f64>,
    blocks: usize,
}

#[derive(Serialize)]
struct JsonPeak<'a> {
    baseline_points: &'a [Point],
    baseline_value: f64,
    candidate_points: &'a [Point],
    candidate_value: f64,
    ratio: f64,
    low: Option<f64>,
    high: Option<f64>,
    interval: &'static str,
    blocks: usize,
}

#[derive(Serialize)]
struct JsonSpread {
    sd_log_ratio: Option<f64>,
    sd_between_trials: Option<f64>,
    sd_of_a_second: Option<f64>,
    autocorrelation: Option<f64>,
    /// Log of first in the block over second, low and high.
    order_effect: Option<[f64; 3]>,
    flagged_share: Option<f64>,
    overhead_s: Option<f64>,
    best_duration_s: Option<f64>,
    block_s: Option<f64>,
    /// For 1, 3 and 5 %.
    blocks_needed: Option<[usize; 3]>,
    minutes_needed: Option<[f64; 3]>,
}

#[derive(Serialize)]
struct JsonDrift<'a> {
    baseline: &'a str,
    candidate: &'a str,
    /// Settings and plans are compared only then.
    same_family: bool,
    settings: Vec<JsonSetting<'a>>,
    plans: Vec<JsonPlan<'a>>,
    /// A contender for the experiment file: the candidate with the baseline's settings.
    same_settings: Option<String>,
}

#[derive(Serialize)]
struct JsonSetting<'a> {
    name: &'a str,
    baseline: Option<&'a str>,
    candidate: Option<&'a str>,
    why: &'static str,
    notable: bool,
}

#[derive(Serialize)]
struct JsonPlan<'a> {
    workload: &'a str,
    statement: &'a str,
    differs: bool,
    baseline: Option<&'a StatementPlan>,
    candidate: Option<&'a StatementPlan>,
}

#[derive(Serialize)]
struct JsonFinding {
    kind: &'static str,
    grade: &'static str,
    text: String,
    evidence: Vec<String>,
}

impl<'a> Document<'a> {
    fn of(evidence: &'a Evidence) -> Document<'a> {
        let Evidence { plan, run, trials, conclusions, note, .. } = evidence;
        let duels = || conclusions.workloads.iter().flat_map(|workload| &workload.duels);
        let repeated_as = circumstances::repeated_as(trials.measured());
        Document {
            format_version: FORMAT_VERSION,
            name: &plan.name,
            question: plan.question.as_deref(),
            plan_hash: &plan.plan_hash,
            seed: plan.seed,
            started_at: &run.started_at,
            finished_at: run.finished_at.as_deref(),
            ended_by: run.ended_by.as_deref(),
            dbduel_version: &run.dbduel_version,
            method: &plan.method,
            host: &run.host,
            client: client(evidence),
            contenders: plan.contenders.iter().map(|contender| self::contender(contender, run)).collect(),
            workloads: plan.workloads.iter().map(WorkloadRecord::whole).collect(),
            trials: trials
                .measured()
                .iter()
                .map(|one| trial(evidence, one, repeated_as.get(&one.trial).copied()))
                .collect(),
            probes: evidence.trials.probes().iter().map(|one| trial(evidence, one, None)).collect(),
            comparisons: duels().flat_map(comparisons).map(comparison).collect(),
            duels: conclusions
                .workloads
                .iter()
                .flat_map(|workload| workload.duels.iter().map(move |one| duel(workload, one)))
                .collect(),
            scaling: conclusions.workloads.iter().flat_map(scaling::steps).collect(),
            laws: conclusions.workloads.iter().flat_map(scaling::laws).collect(),
            ladders: conclusions.workloads.iter().flat_map(ladder::ladders).collect(),
            ladder_stages: conclusions.workloads.iter().flat_map(ladder::stages).collect(),
            checks: &run.checks,
            decisions: &run.decisions,
            profiles: &evidence.profiles,
            twins_known: &run.twins,
            drifts: drifts(plan, run).iter().map(self::drift).collect(),
            findings: sentences::all(evidence).into_iter().map(finding).collect(),
            twins: evidence.twins(),
            search: evidence.run.search.as_ref(),
            notes: note.iter().map(String::as_str).collect(),
        }
    }
}

fn client(evidence: &Evidence) -> JsonClient<'_> {
    let (client, tally) = (&evidence.run.client, &evidence.conclusions.tally);
    JsonClient {
        workers: client.workers,
        cores: &client.cores,
        shared_cores: client.shared_cores,
        sides: &client.sides,
        client_cpu_us_per_query: tally.client_cpu_us_per_query,
        self_check: SelfCheck {
            occupancy_min: tally.occupancy_min,
            path_share_max: tally.path_share_max,
            trials_generator_bound: tally.trials_generator_bound,
        },
    }
}

fn contender<'a>(contender: &'a ContenderRecord, run: &'a RunRecord) -> JsonContender<'a> {
    let facts = run.contenders.get(&contender.name);
    JsonContender {
        name: &contender.name,
        engine: &contender.engine,
        version: facts.map_or(&contender.version, |facts| &facts.version),
        source: &contender.source,
        settings: &contender.settings,
        own_settings: &contender.own_settings,
        effective_settings: facts.map(|facts| &facts.effective_settings),
        durability_class: facts.map(|facts| facts.durability_class.as_str()),
        isolation: facts.map(|facts| &facts.isolation),
        storage: &contender.storage,
        file_system: facts.and_then(|facts| facts.file_system.as_deref()),
        cores: contender.cores.as_deref(),
        memory_bytes: contender.memory_bytes,
        build: facts.map(|facts| &facts.build),
    }
}

fn trial<'a>(evidence: &Evidence, trial: &'a TrialRecord, repeated_as: Option<u32>) -> JsonTrial<'a> {
    JsonTrial {
        trial: trial.trial,
        workload: &trial.workload,
        contender: &trial.contender,
        point: &trial.point,
        block: trial.block,
        order: trial.order,
        status: trial.status,
        purpose: &trial.purpose,
        repeats: trial.purpose.repeats(),
        shares_start_with: trial.shares_start_with,
        repeated_as,
        failure: trial.failure.as_ref(),
        flags: &trial.flags,
        remarks: &trial.remarks,
        started_at: &trial.started_at,
        finished_at: &trial.finished_at,
        metrics: &trial.metrics,
        windows: evidence.windows.get(&trial.trial).map_or(Vec::new(), |log| windows::of(log)),
    }
}

/// The whole sweep first, then its points; the primary metric before the others, and parts of a pass last.
fn comparisons(duel: &Duel) -> impl Iterator<Item = &Comparison> {
    let others = duel.others.iter().flat_map(|other| std::iter::once(&other.overall).chain(&other.points));
    let others = others.filter(|comparison| !comparison.is_withheld);
    let parts = duel.parts.iter().flat_map(|parts| parts.programs.iter().chain(&parts.operations));
    std::iter::once(&duel.overall).chain(&duel.points).chain(others).chain(parts.map(|part| &part.comparison))
}

fn comparison(comparison: &Comparison) -> JsonComparison<'_> {
    JsonComparison {
        workload: &comparison.workload,
        baseline: &comparison.baseline,
        candidate: &comparison.candidate,
        point: comparison.point.as_ref(),
        metric: &comparison.metric,
        baseline_value: comparison.baseline_value,
        candidate_value: comparison.candidate_value,
        ratio: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        confidence: comparison.confidence,
        word: comparison.word.as_str(),
        caveats: comparison.caveats.iter().map(|caveat| caveat.as_str()).collect(),
        blocks: comparison.blocks,
        mde: comparison.mde,
        interval: interval(comparison.basis),
        unadjusted_low: comparison.unadjusted.map(|(low, _)| low),
        unadjusted_high: comparison.unadjusted.map(|(_, high)| high),
        sd_log_ratio: comparison.sd,
        mean_ratio: comparison.mean_ratio,
        sign_flip_p: comparison.sign_flip_p,
        unflagged: comparison.unflagged.as_ref().map(unflagged),
    }
}

fn unflagged(unflagged: &Unflagged) -> JsonUnflagged {
    let Unflagged { blocks, ratio, low, high, word } = *unflagged;
    JsonUnflagged { blocks, ratio, low, high, word: word.map(Word::as_str) }
}

fn duel<'a>(workload: &WorkloadConclusions, duel: &'a Duel) -> JsonDuel<'a> {
    JsonDuel {
        workload: &duel.overall.workload,
        baseline: &duel.baseline,
        candidate: &duel.candidate,
        losing: &duel.losing,
        secondary_metric: workload.secondary,
        crossings: &duel.crossings,
        peak: duel.peak.as_ref().map(peak),
        p_together: duel.p_together,
        spread: spread(&duel.spread),
        costs: duel.diagnosis.costs.iter().map(cost).collect(),
        costs_not_visible: duel.diagnosis.not_visible.iter().map(|metric| why::title(metric)).collect(),
    }
}

fn cost(cost: &Cost) -> JsonCost<'_> {
    let bounds = cost.ratio.and_then(|ratio| ratio.bounds);
    JsonCost {
        metric: cost.metric,
        point: cost.point.as_ref(),
        baseline_value: cost.baseline,
        candidate_value: cost.candidate,
        ratio: cost.ratio.map(|ratio| ratio.value),
        low: bounds.map(|(low, _)| low),
        high: bounds.map(|(_, high)| high),
        interval: cost.ratio.map(|ratio| interval(ratio.basis)),
        difference: cost.difference,
        difference_low: cost.difference_bounds.map(|(low, _)| low),
        difference_high: cost.difference_bounds.map(|(_, high)| high),
        blocks: cost.blocks,
    }
}

fn peak(peak: &Peak) -> JsonPeak<'_> {
    JsonPeak {
        baseline_points: &peak.baseline.points,
        baseline_value: peak.baseline.value,
        candidate_points: &peak.candidate.points,
        candidate_value: peak.candidate.value,
        ratio: peak.ratio,
        low: peak.low,
        high: peak.high,
        interval: interval(peak.basis),
        blocks: peak.blocks,
    }
}

fn spread(spread: &Spread) -> JsonSpread {
    JsonSpread {
        sd_log_ratio: spread.sd,
        sd_between_trials: spread.sd_between_trials,
        sd_of_a_second: spread.sd_of_a_second,
        autocorrelation: spread.autocorrelation,
        order_effect: spread.order_effect.map(|effect| [effect.mean, effect.low, effect.high]),
        flagged_share: spread.flagged_share,
        overhead_s: spread.overhead_s,
        best_duration_s: spread.best_duration_s,
        block_s: spread.block_s,
        blocks_needed: spread.blocks_needed,
        minutes_needed: spread.minutes_needed(),
    }
}

fn interval(basis: Basis) -> &'static str {
    match basis {
        Basis::Rule(RuleKind::Exact) => "exact",
        Basis::Rule(RuleKind::T) => "repeated t",
        Basis::Plain => "t",
    }
}

fn finding(said: Said) -> JsonFinding {
    let Said { kind, grade, text, evidence } = said;
    JsonFinding { kind, grade, text, evidence }
}

fn drift<'a>(drift: &Drift<'a>) -> JsonDrift<'a> {
    let setting = |one: &Setting<'a>| JsonSetting {
        name: one.name,
        baseline: one.baseline,
        candidate: one.candidate,
        why: one.why.as_str(),
        notable: one.notable.is_some(),
    };
    let plan = |workload: &'a str, pair: &PlanPair<'a>| JsonPlan {
        workload,
        statement: pair.statement,
        differs: pair.differs,
        baseline: pair.baseline,
        candidate: pair.candidate,
    };
    let plans = drift.plans.iter().flat_map(|plans| plans.statements.iter().map(|pair| plan(plans.title, pair)));
    JsonDrift {
        baseline: drift.baseline,
        candidate: drift.candidate,
        same_family: drift.same_family,
        settings: drift.settings.iter().map(setting).collect(),
        plans: plans.collect(),
        same_settings: drift.same_settings.as_ref().map(|same| drift::contender(drift.baseline, same)),
    }
}
