//! The report for programs. Its names are a promise: add to them freely, rename none.
//!
//! It is the stored records and the conclusions as they are; only where both meet (a contender, a trial, a finding
//! and its sentence) there is a structure of its own. `ratio` above 1 always means that the candidate is better.

use std::collections::BTreeMap;

use anyhow::Result;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use stats::{Interval, UslFit};

use analysis::differences::{Difference, drifts};
use analysis::durability::{self, Durability, MeasuredClass, PerRedo};
use analysis::gate::Gate;
use analysis::latency_windows::{WindowFigures, windows};
use analysis::plan_causes::{self, PlanCause};
use analysis::{
    Cause, Comparison, Estimate, Finding, HeadToHead, Ladder, Law, Scaling, Stage, Step, WorkloadConclusions,
};
use record::format::answers::{AnswersRecord, FidelityRecord};
use record::format::tuning::SearchRecord;
use record::format::{
    AaRecord, BuildRecord, CheckRecord, ContenderRecord, DecisionRecord, DiagnosticRecord, FORMAT_VERSION, Failure,
    HostRecord, ImageRecord, MethodRecord, Point, Purpose, RunRecord, SideRecord, Status, TrialRecord, WorkerRecord,
    WorkloadRecord,
};

use super::sections::plans;
use super::sentences::{self, Said};
use super::{Evidence, Options, Report, conditions, scaling, settings_and_plans};

pub const JSON: Report = Report::new(
    "json",
    "everything: method, host, trials, comparisons, findings; for programs",
    "dbduel report last --format json | jq '.comparisons[] | select(.point == null)'",
    write,
);

fn write(evidence: &Evidence, _: &Options) -> Result<String> {
    Ok(serde_json::to_string_pretty(&Document::of(evidence))? + "\n")
}

/// The JSON Schema of the report.
pub fn schema() -> Result<String> {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Document>();
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// A run of dbduel: its records, and what they mean.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "dbduel report")]
struct Document<'a> {
    format_version: u32,
    name: &'a str,
    question: Option<&'a str>,
    plan_hash: &'a str,
    /// Keys of the experiment file that the command line set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    set: &'a BTreeMap<String, String>,
    seed: u64,
    started_at: &'a str,
    finished_at: Option<&'a str>,
    ended_by: Option<&'a str>,
    dbduel_version: &'a str,
    /// What the user filed the run under.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: &'a BTreeMap<String, String>,
    method: &'a MethodRecord,
    host: &'a HostRecord,
    /// That of the targets, where `observe_host` shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    server_host: Option<&'a HostRecord>,
    client: Client<'a>,
    contenders: Vec<Contender<'a>>,
    workloads: Vec<WorkloadRecord>,
    trials: Vec<Trial<'a>>,
    /// Trials beside the plan, of which no verdict takes anything.
    probes: Vec<Trial<'a>>,
    comparisons: Vec<&'a Comparison>,
    head_to_head: Vec<HeadToHeadOfWorkload<'a>>,
    scaling: Vec<ScalingStep<'a>>,
    scaling_laws: Vec<ScalingLaw<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ladders: Vec<LadderOfWorkload<'a>>,
    /// The first ladder beside the others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ladder_stages: Vec<&'a Stage>,
    /// What was measured of generator and network before the first block.
    checks: &'a [CheckRecord],
    /// How candidates answer the statements of a replayed log beside the baseline.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    answers: &'a [AnswersRecord],
    /// How well the replay on the baseline agrees with what its log recorded.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    fidelity: &'a [FidelityRecord],
    /// What was decided while the run went on.
    decisions: &'a [DecisionRecord],
    /// Stacks and waits of the profiles among the probes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    profiles: &'a [DiagnosticRecord],
    /// What A/A tests had shown on this host before.
    aa_history: &'a [AaRecord],
    /// What each candidate does differently without being asked.
    differences: Vec<SettingsAndPlans<'a>>,
    findings: Vec<FindingInWords<'a>>,
    /// What crashes have shown, of each contender; absent where no trial ends in a crash.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    durability: &'a [Durability],
    /// Time to the first commit over redo log, over the crashes of all contenders; absent with fewer than two of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery_over_redo: Option<PerRedo>,
    /// What `--gate` answers; absent in A/A tests and in the race of a search.
    #[serde(skip_serializing_if = "Option::is_none")]
    gate: Option<Gate>,
    /// What this A/A test has shown; absent in any other run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    aa: Vec<AaRecord>,
    /// The search over settings that this run is part of; absent in any other run.
    #[serde(skip_serializing_if = "Option::is_none")]
    search: Option<&'a SearchRecord>,
    notes: Vec<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct Client<'a> {
    workers: u32,
    cores: &'a str,
    shared_cores: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    sides: &'a [SideRecord],
    client_cpu_us_per_query: Option<f64>,
    checks: Checks,
}

#[derive(Serialize, JsonSchema)]
struct Checks {
    occupancy_min: Option<f64>,
    /// The most of what a network path carries that any trial took.
    path_share_max: Option<f64>,
    trials_generator_bound: usize,
}

#[derive(Serialize, JsonSchema)]
struct Contender<'a> {
    name: &'a str,
    engine: &'a str,
    version: &'a str,
    source: &'a str,
    /// The container image that its server is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<&'a ImageRecord>,
    settings: &'a BTreeMap<String, String>,
    own_settings: &'a BTreeMap<String, String>,
    /// Null where its server never answered.
    effective_settings: Option<&'a BTreeMap<String, String>>,
    /// Claimed by its settings.
    durability_class: Option<&'a str>,
    /// What the crashes of this run have shown; null where it made none.
    durability_measured: Option<MeasuredClass>,
    isolation: Option<&'a BTreeMap<String, String>>,
    storage: &'a str,
    /// Null where nothing is seen of it.
    file_system: Option<&'a str>,
    /// What of a target's URL came from where.
    #[serde(skip_serializing_if = "Option::is_none")]
    target_sources: Option<&'a str>,
    /// Where it is not that of the method.
    #[serde(skip_serializing_if = "Option::is_none")]
    transport: Option<&'a str>,
    cores: Option<&'a str>,
    memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    build: Option<&'a BuildRecord>,
}

#[derive(Serialize, JsonSchema)]
struct Trial<'a> {
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
    windows: Vec<WindowFigures>,
    /// Who made the load, where several workers did.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    workers: &'a [WorkerRecord],
}

/// What is known of a candidate beside its comparisons.
#[derive(Serialize, JsonSchema)]
struct HeadToHeadOfWorkload<'a> {
    workload: &'a str,
    /// The metric of the secondary verdict: `comparisons` has it under this name. Null in open loops, passes and
    /// against servers that are not started here.
    secondary_metric: Option<&'static str>,
    #[serde(flatten)]
    duel: &'a HeadToHead,
}

#[derive(Serialize, JsonSchema)]
struct SettingsAndPlans<'a> {
    #[serde(flatten)]
    drift: Difference<'a>,
    /// A contender for the experiment file: the candidate with the baseline's settings.
    same_settings: Option<String>,
}

/// A conclusion with its sentence.
#[derive(Serialize, JsonSchema)]
struct FindingInWords<'a> {
    #[serde(flatten)]
    conclusion: Conclusion<'a>,
    text: String,
    evidence: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Conclusion<'a> {
    Cause(&'a Cause),
    Plan(Box<OtherPlan<'a>>),
    Finding(&'a Finding),
}

/// A statement that is faster or slower and run differently.
#[derive(Serialize, JsonSchema)]
struct OtherPlan<'a> {
    kind: &'static str,
    #[serde(flatten)]
    cause: PlanCause<'a>,
}

/// A contender at one number of cores or clients.
#[derive(Serialize, JsonSchema)]
struct ScalingStep<'a> {
    workload: &'a str,
    metric: &'a str,
    /// `cores` or `clients`; `n` is how many.
    variable: &'static str,
    #[serde(flatten)]
    step: &'a Step,
}

#[derive(Serialize, JsonSchema)]
struct ScalingLaw<'a> {
    workload: &'a str,
    contender: &'a str,
    variable: &'static str,
    lambda: Option<Estimate>,
    sigma: Option<Estimate>,
    kappa: Option<Estimate>,
    /// Null where none is claimed.
    peak: Option<f64>,
    blocks: Option<usize>,
    /// Why there is no law; null where there is one.
    refused: Option<String>,
    /// Over those of the baseline; null where one of both may be nothing.
    sigma_ratio: Option<Estimate>,
    kappa_ratio: Option<Estimate>,
}

#[derive(Serialize, JsonSchema)]
struct LadderOfWorkload<'a> {
    workload: &'a str,
    metric: &'a str,
    #[serde(flatten)]
    ladder: &'a Ladder,
}

impl<'a> Document<'a> {
    fn of(evidence: &'a Evidence) -> Document<'a> {
        let Evidence { plan, run, trials, conclusions, note, .. } = evidence;
        let duels = || conclusions.workloads.iter().flat_map(|workload| &workload.duels);
        let repeated_as = conditions::repeated_as(trials.measured());
        Document {
            format_version: FORMAT_VERSION,
            name: &plan.name,
            question: plan.question.as_deref(),
            plan_hash: &plan.plan_hash,
            set: &plan.set,
            seed: plan.seed,
            started_at: &run.started_at,
            finished_at: run.finished_at.as_deref(),
            ended_by: run.ended_by.as_deref(),
            dbduel_version: &run.dbduel_version,
            labels: &run.labels,
            method: &plan.method,
            host: &run.host,
            server_host: run.server_host.as_ref(),
            client: client(evidence),
            contenders: plan.contenders.iter().map(|contender| self::contender(contender, run, conclusions)).collect(),
            workloads: plan.workloads.iter().map(WorkloadRecord::whole).collect(),
            trials: trials
                .measured()
                .iter()
                .map(|one| trial(evidence, one, repeated_as.get(&one.trial).copied()))
                .collect(),
            probes: evidence.trials.probes().iter().map(|one| trial(evidence, one, None)).collect(),
            comparisons: duels().flat_map(comparisons).collect(),
            head_to_head: conclusions
                .workloads
                .iter()
                .flat_map(|workload| workload.duels.iter().map(move |one| HeadToHeadOfWorkload::of(workload, one)))
                .collect(),
            scaling: conclusions.workloads.iter().flat_map(steps).collect(),
            scaling_laws: conclusions.workloads.iter().flat_map(laws).collect(),
            ladders: conclusions.workloads.iter().flat_map(ladders).collect(),
            ladder_stages: conclusions.workloads.iter().flat_map(|workload| &workload.stages).collect(),
            checks: &run.checks,
            answers: &evidence.run.answers,
            fidelity: &evidence.run.fidelity,
            decisions: &run.decisions,
            profiles: &evidence.profiles,
            aa_history: &run.twins,
            differences: drifts(plan, run).into_iter().map(difference).collect(),
            findings: findings(evidence),
            durability: &conclusions.durability,
            recovery_over_redo: durability::pooled(&conclusions.durability),
            gate: evidence.gate(),
            aa: evidence.aa_records(),
            search: evidence.run.search.as_ref(),
            notes: note.iter().map(String::as_str).collect(),
        }
    }
}

fn client(evidence: &Evidence) -> Client<'_> {
    let (client, tally) = (&evidence.run.client, &evidence.conclusions.tally);
    Client {
        workers: client.workers,
        cores: &client.cores,
        shared_cores: client.shared_cores,
        sides: &client.sides,
        client_cpu_us_per_query: tally.client_cpu_us_per_query,
        checks: Checks {
            occupancy_min: tally.occupancy_min,
            path_share_max: tally.path_share_max,
            trials_generator_bound: tally.trials_generator_bound,
        },
    }
}

fn contender<'a>(
    contender: &'a ContenderRecord,
    run: &'a RunRecord,
    conclusions: &analysis::Conclusions,
) -> Contender<'a> {
    let facts = run.contenders.get(&contender.name);
    Contender {
        name: &contender.name,
        engine: &contender.engine,
        version: facts.map_or(&contender.version, |facts| &facts.version),
        source: &contender.source,
        image: contender.image.as_ref(),
        settings: &contender.settings,
        own_settings: &contender.own_settings,
        effective_settings: facts.map(|facts| &facts.effective_settings),
        durability_class: facts.map(|facts| facts.durability_class.as_str()),
        durability_measured: conclusions.measured_class(&contender.name),
        isolation: facts.map(|facts| &facts.isolation),
        storage: &contender.storage,
        file_system: facts.and_then(|facts| facts.file_system.as_deref()),
        target_sources: facts.and_then(|facts| facts.target_sources.as_deref()),
        transport: contender.transport.as_deref(),
        cores: contender.cores.as_deref(),
        memory_bytes: contender.memory_bytes,
        build: facts.map(|facts| &facts.build),
    }
}

fn trial<'a>(evidence: &Evidence, trial: &'a TrialRecord, repeated_as: Option<u32>) -> Trial<'a> {
    Trial {
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
        // Nothing of a log that is damaged: `dbduel verify` finds it.
        windows: evidence
            .windows
            .get(&trial.trial)
            .and_then(|log| windows(log, trial.metrics.get("latency_ms_max").copied()))
            .unwrap_or_default(),
        workers: &trial.workers,
    }
}

/// The whole sweep first, then its points; the primary metric before the others, and parts of a pass last.
fn comparisons(duel: &HeadToHead) -> impl Iterator<Item = &Comparison> {
    let others = duel.others.iter().flat_map(|other| std::iter::once(&other.overall).chain(&other.points));
    let others = others.filter(|comparison| !comparison.is_withheld);
    let parts = duel.parts.iter().flat_map(|parts| parts.programs.iter().chain(&parts.operations));
    std::iter::once(&duel.overall).chain(&duel.points).chain(others).chain(parts.map(|part| &part.comparison))
}

impl<'a> HeadToHeadOfWorkload<'a> {
    fn of(workload: &'a WorkloadConclusions, duel: &'a HeadToHead) -> HeadToHeadOfWorkload<'a> {
        HeadToHeadOfWorkload { workload: &workload.workload, secondary_metric: workload.secondary, duel }
    }
}

fn findings(evidence: &Evidence) -> Vec<FindingInWords<'_>> {
    let finding = |conclusion, Said { text, evidence, .. }: Said| FindingInWords { conclusion, text, evidence };
    let of_cause = |one| finding(Conclusion::Cause(one), sentences::causes::said(evidence, one));
    let of_finding = |one| finding(Conclusion::Finding(one), sentences::findings::said(evidence, one));
    let pairs = evidence.conclusions.workloads.iter().flat_map(|all| all.duels.iter().map(move |duel| (all, duel)));
    let plans = pairs.flat_map(|(workload, duel)| plans::causes_of(evidence, workload, duel));
    let findings = evidence.conclusions.findings.iter().map(of_finding);
    evidence.conclusions.causes().map(of_cause).chain(plans.map(other_plan)).chain(findings).collect()
}

fn other_plan(cause: PlanCause<'_>) -> FindingInWords<'_> {
    let (text, evidence) = (sentences::plans::cause(&cause), sentences::plans::evidence(&cause));
    FindingInWords {
        conclusion: Conclusion::Plan(Box::new(OtherPlan { kind: plan_causes::KIND, cause })),
        text,
        evidence,
    }
}

fn difference(drift: Difference<'_>) -> SettingsAndPlans<'_> {
    let same_settings = drift.same_settings.as_ref().map(|same| settings_and_plans::contender(drift.baseline, same));
    SettingsAndPlans { drift, same_settings }
}

fn ladders(workload: &WorkloadConclusions) -> impl Iterator<Item = LadderOfWorkload<'_>> {
    let WorkloadConclusions { workload, metric, ladders, .. } = workload;
    ladders.iter().map(move |ladder| LadderOfWorkload { workload, metric, ladder })
}

fn steps(workload: &WorkloadConclusions) -> impl Iterator<Item = ScalingStep<'_>> {
    let WorkloadConclusions { workload, metric, scaling, .. } = workload;
    let all = scaling.iter().flat_map(|scaling| scaling.steps.iter().map(move |step| (scaling, step)));
    all.map(move |(scaling, step)| ScalingStep { workload, metric, variable: scaling.variable, step })
}

fn laws(workload: &WorkloadConclusions) -> impl Iterator<Item = ScalingLaw<'_>> {
    let all = workload.scaling.iter().flat_map(|scaling| scaling.laws.iter().map(move |law| (scaling, law)));
    all.map(|(scaling, one)| law(workload, scaling, one))
}

fn law<'a>(workload: &'a WorkloadConclusions, scaling: &Scaling, law: &'a Law) -> ScalingLaw<'a> {
    let fit = law.fit.as_ref().ok();
    let contrast = scaling.contrasts.iter().find(|contrast| contrast.candidate == law.contender);
    let parameter = |of: fn(&UslFit) -> (f64, Interval)| {
        let (value, bounds) = of(fit?);
        Some(Estimate { value, bounds: Some((bounds.low, bounds.high)) })
    };
    ScalingLaw {
        workload: &workload.workload,
        contender: &law.contender,
        variable: scaling.variable,
        lambda: parameter(|fit| (fit.law.lambda, fit.lambda)),
        sigma: parameter(|fit| (fit.law.sigma, fit.sigma)),
        kappa: parameter(|fit| (fit.law.kappa, fit.kappa)),
        peak: fit.and_then(|fit| fit.peak),
        blocks: fit.map(|fit| fit.blocks),
        refused: law.fit.as_ref().err().map(|refusal| scaling::why(refusal, scaling)),
        sigma_ratio: contrast.and_then(|contrast| contrast.sigma),
        kappa_ratio: contrast.and_then(|contrast| contrast.kappa),
    }
}
