//! What we will do: all the trials in order, shuffled and seeded, with what they will need.
//!
//! A plan is written and hashed before the first block, and nothing that happens later changes it.
//! It starts nothing and reads nothing; what the contenders were resolved to comes in as
//! [`ResolvedFacts`]. What must stay true: the same file, seed and facts make the same plan, to the
//! byte, on any machine.

pub mod cause_test;
mod estimate;
mod groups;
pub mod headroom;
mod order;
mod paired_probes;
mod text;

use std::collections::BTreeMap;

use load::{Interarrival, LoggedDigest, Metric, OptionValue, Replays, TransactionKind, WorkloadSpec};
use sha2::{Digest, Sha256};

use crate::{
    Archive, Cluster, Contender, Experiment, MASK, Method, Origin, RATE, WorkCopy, WorkloadChoice, is_secret_key,
};
use record::format::{
    ArchiveRecord, ContenderRecord, DigestRecord, ImageRecord, KindRecord, MethodRecord, MetricRecord,
    PLAN_FORMAT_VERSION, PlanRecord, PlannedTrial, Point, WorkloadRecord, step,
};

pub use crate::experiment::workload;
pub use estimate::{AskedLog, Estimate, asked_logs, data_directory_bytes, log_bytes};
pub use groups::together;
pub use order::{Entry, SOLO_BLOCKS, heaviest_point, pilots, profiles, repeat, repeat_number};
pub use record::rule::{
    OPERATIONS, OPERATIONS_WITH_JOINT_ERROR_MAX, POINTS, blocks_for, blocks_for_limit, first_for_operations,
    first_for_points, operations_are, point_rule, too_few,
};

/// Confidence of every verdict, after all looks: at most 5 % of them are false.
pub const CONFIDENCE: f64 = 0.95;

/// What a contender's engine and version were resolved to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedFacts {
    pub version: String,
    /// Where the server comes from, for a reader.
    pub source: String,
    /// What dbduel sets by itself, for the settings that the file leaves alone.
    pub own_settings: BTreeMap<String, String>,
    /// The image that it is from, where that is in the cache.
    pub image: Option<ImageRecord>,
}

/// The plan as it is stored, and what it is expected to take.
#[derive(Debug, Clone)]
pub struct Plan {
    pub record: PlanRecord,
    pub estimate: Estimate,
}

impl Plan {
    /// Plans every trial of the experiment; `resolved` holds one entry per contender, in order, and
    /// `thresholds` what flags a trial.
    pub fn new(experiment: &Experiment, resolved: &[ResolvedFacts], thresholds: &[(&str, f64)]) -> Plan {
        assert_eq!(experiment.contenders.len(), resolved.len(), "every contender was resolved");
        let mut record = PlanRecord {
            format_version: PLAN_FORMAT_VERSION,
            name: experiment.name.clone(),
            question: experiment.question.clone(),
            plan_hash: String::new(),
            seed: experiment.method.seed,
            baseline: experiment.baseline.clone(),
            baseline_of_run: None,
            twins: experiment.twins,
            set: experiment.set.clone(),
            contenders: experiment
                .contenders
                .iter()
                .zip(resolved)
                .map(|(who, facts)| contender_record(who, facts))
                .collect(),
            ladders: experiment.ladders.clone(),
            workloads: experiment.workloads.iter().map(|choice| workload_record(choice, experiment)).collect(),
            gate: experiment.gate,
            method: method_record(experiment, thresholds),
            trials: order::trials(experiment),
        };
        record.plan_hash = plan_hash(&record);
        Plan { estimate: Estimate::of(experiment, &record, &order::pilots(experiment)), record }
    }

    /// The trials of each block, in order.
    pub fn blocks(&self) -> impl Iterator<Item = &[PlannedTrial]> {
        self.record.trials.chunk_by(|one, next| one.block == next.block)
    }

    /// The plan as `dbduel plan --json` prints it: the record, and under `expected` the estimates.
    pub fn json(&self) -> serde_json::Value {
        let mut plan = serde_json::to_value(&self.record).expect("a plan has no key that is not a text");
        plan["expected"] = self.estimate.json();
        plan["expected"]["headroom_check_s"] =
            headroom::expected(&self.record, &self.estimate).unwrap_or_default().as_secs_f64().into();
        plan
    }
}

/// SHA-256 of everything in the record but the hash itself, and of an image but what its digest decides anyway.
///
/// The bytes are its JSON with sorted keys and without spaces, so that anyone with `plan.json` can
/// compute it again.
pub fn plan_hash(record: &PlanRecord) -> String {
    let mut value = serde_json::to_value(record).expect("a plan has no key that is not a text");
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove("plan_hash");
    }
    // How an image came by its digest, a run that goes on may not find out again.
    for image in value["contenders"].as_array_mut().into_iter().flatten().filter_map(|one| one.get_mut("image")) {
        let decided = ["reference", "index_digest", "config_digest", "created", "platform"];
        image
            .as_object_mut()
            .into_iter()
            .for_each(|image| decided.iter().for_each(|key| drop(image.shift_remove(*key))));
    }
    value.sort_all_objects();
    Sha256::digest(value.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn contender_record(contender: &Contender, facts: &ResolvedFacts) -> ContenderRecord {
    let shown = |(key, value): (&String, &String)| {
        let value = if is_secret_key(key) { MASK.to_owned() } else { value.clone() };
        (key.clone(), value)
    };
    let target = match &contender.origin {
        Origin::Target(target) => Some(target.url.to_string()),
        Origin::Managed | Origin::Basedir(_) | Origin::Archive(_) | Origin::Image(_) => None,
    };
    let archive = match &contender.origin {
        Origin::Archive(Archive { file, sha256 }) => {
            Some(ArchiveRecord { path: file.display().to_string(), sha256: sha256.clone() })
        }
        _ => None,
    };
    ContenderRecord {
        name: contender.name.clone(),
        engine: contender.engine.clone(),
        kind: contender.kind.kind().to_owned(),
        version: facts.version.clone(),
        source: facts.source.clone(),
        settings: contender.settings.iter().map(shown).collect(),
        own_settings: facts.own_settings.clone(),
        storage: if target.is_some() { "its own".to_owned() } else { contender.storage.word() },
        transport: contender.transport.map(|transport| transport.word().to_owned()),
        cores: contender.cores.as_ref().map(ToString::to_string),
        memory_bytes: contender.memory_bytes,
        target,
        archive,
        image: facts.image.clone(),
    }
}

/// Options that the points set are reported there.
fn workload_record(workload: &WorkloadChoice, experiment: &Experiment) -> WorkloadRecord {
    let swept = |key: &str| experiment.sweep.as_ref().is_some_and(|sweep| sweep.variable == key);
    let fixed = workload.in_force.iter().filter(|(key, _)| !swept(key));
    let built = self::workload(workload, &Point::new());
    let spec = built.as_ref().map_or_else(|_| WorkloadSpec::reading(""), |workload| workload.spec());
    let digests = built.as_ref().ok().and_then(|workload| workload.replays()).map(Replays::digests);
    let digest =
        |one: LoggedDigest| (one.id, DigestRecord { text: one.text, calls: one.calls, is_judged: one.is_judged });
    let primary = MetricRecord::new(spec.primary.name, spec.primary.unit, spec.primary.title);
    WorkloadRecord {
        label: workload.label.clone(),
        name: workload.kind.name.to_owned(),
        options: fixed.map(|(key, value)| (key.clone(), option_json(value))).collect(),
        one_pass: workload.one_pass,
        replays: workload.replays,
        isolation: workload.isolation.map(|level| level.as_str().to_owned()),
        rate: workload.rate,
        events: workload.events,
        arrivals: (workload.rate.is_some() || swept(RATE)).then(|| arrivals_text(workload.arrivals).to_owned()),
        data_seed: workload.data_seed,
        clients: workload.clients,
        clients_at: workload.clients_at.clone(),
        ledger_clients: workload.ledger.map(|ledger| ledger.clients),
        kills: workload.kills,
        loads: workload.loads,
        primary: (spec.primary != Metric::TPS).then_some(primary),
        kinds: spec.kinds.into_iter().map(kind_record).collect(),
        notes: spec.notes.into_iter().chain(spec.warnings).collect(),
        scope: spec.scope,
        digests: digests.into_iter().flatten().map(digest).collect(),
    }
}

/// A kind of transaction as records have it.
pub fn kind_record(kind: TransactionKind) -> KindRecord {
    KindRecord { name: kind.name.into_owned(), title: kind.title.into_owned(), p90_limit_s: kind.p90_limit_s }
}

fn arrivals_text(arrivals: Interarrival) -> &'static str {
    match arrivals {
        Interarrival::Poisson => "poisson",
        Interarrival::Constant => "constant",
    }
}

/// Keys of a file in a record.
const PATH: &str = "path";
const TEXT: &str = "text";

/// The files that a record's options hold, and the checksums of its archives and images, by their paths: a run goes on with what
/// it began with.
pub fn files_of(record: &PlanRecord) -> BTreeMap<String, String> {
    fn collect(value: &serde_json::Value, files: &mut BTreeMap<String, String>) {
        match value {
            serde_json::Value::Array(items) => items.iter().for_each(|item| collect(item, files)),
            serde_json::Value::Object(entries) => match (entries.get(PATH), entries.get(TEXT)) {
                (Some(serde_json::Value::String(path)), Some(serde_json::Value::String(text))) => {
                    files.insert(path.clone(), text.clone());
                }
                _ => entries.values().for_each(|value| collect(value, files)),
            },
            _ => {}
        }
    }
    let mut files = BTreeMap::new();
    record.workloads.iter().flat_map(|one| one.options.values()).for_each(|value| collect(value, &mut files));
    let archives = record.contenders.iter().filter_map(|one| one.archive.as_ref());
    files.extend(archives.map(|archive| (archive.path.clone(), archive.sha256.clone())));
    let images = record.contenders.iter().filter_map(|one| one.image.as_ref());
    // By its name where that is one, and by the path of an image in files.
    files.extend(images.flat_map(|image| {
        let path = image.reference.split_once(':').map_or("", |(_, path)| path);
        [image.reference.as_str(), path].map(|name| (name.to_owned(), image.digest.clone()))
    }));
    files
}

fn option_json(value: &OptionValue) -> serde_json::Value {
    match value {
        OptionValue::Number(number) => (*number).into(),
        OptionValue::Real(number) => (*number).into(),
        OptionValue::Text(text) => text.as_str().into(),
        OptionValue::Flag(flag) => (*flag).into(),
        OptionValue::List(names) => names.as_slice().into(),
        OptionValue::File { path, text } => serde_json::json!({ PATH: path, TEXT: text }),
        OptionValue::Items(items) => items.iter().map(option_json).collect::<Vec<_>>().into(),
        OptionValue::Table(entries) => {
            serde_json::Value::Object(entries.iter().map(|(key, value)| (key.clone(), option_json(value))).collect())
        }
    }
}

fn method_record(experiment: &Experiment, thresholds: &[(&str, f64)]) -> MethodRecord {
    let method = &experiment.method;
    let all_passes = experiment.workloads.iter().all(|workload| workload.ends_itself());
    MethodRecord {
        preset: method.preset.clone(),
        rule: method.rule,
        stop: method.stop.word().to_owned(),
        duration_s: method.duration.as_secs_f64(),
        warmup_s: method.warmup.as_secs_f64(),
        pilot_s: method.pilot.filter(|_| !all_passes).map(|pilot| pilot.as_secs_f64()),
        blocks: method.blocks,
        margin: method.margin,
        confidence: CONFIDENCE,
        budget_s: method.budget.map(|budget| budget.as_secs_f64()),
        noisy_host: method.noisy_host.word().to_owned(),
        page_cache: method.page_cache.word().to_owned(),
        work_copy: (method.work_copy != WorkCopy::Full).then(|| method.work_copy.word().to_owned()),
        duet: method.duet,
        fast_sweep: method.fast_sweep,
        transport: experiment.transport.word().to_owned(),
        client_cores: experiment.client_cores.as_ref().map(ToString::to_string),
        cluster: experiment.cluster.as_ref().map(Cluster::record),
        left_out: left_out(method, all_passes),
        contrast: method.contrast,
        diagnose: method.diagnose,
        thresholds: thresholds.iter().map(|(flag, most)| ((*flag).to_owned(), *most)).collect(),
        changed: method.changed.clone(),
    }
}

/// Steps of the full method that this run does not take. A pass has no part to warm up with, none to
/// compare with another, and its own end: where all trials are passes, those steps are no loss.
fn left_out(method: &Method, all_passes: bool) -> Vec<String> {
    let steps = [
        (step::PILOT, method.pilot.is_some()),
        (step::STEADY_STATE, method.steady_state),
        (step::DRAIN, method.drain),
        (step::REPEATS, method.repeats),
        (step::DOUBLING, method.doubling),
    ];
    let applies = |name: &str| !all_passes || name == step::REPEATS;
    steps.into_iter().filter(|(name, taken)| !taken && applies(name)).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use record::format::RuleName;
    use record::format::gate::{GateRecord, LatencyLimit};

    pub use crate::testing::{experiment, plan_of};
    use std::time::Duration;

    use super::*;
    use crate::Overrides;

    #[test]
    fn a_block_runs_every_contender_once_at_every_point() {
        let plan = plan_of(&experiment(&["a", "b", "c"], &[1, 8, 64], 8, 1));
        assert_eq!(plan.blocks().count(), 8);
        for block in plan.blocks() {
            let mut seen: Vec<_> =
                block.iter().map(|trial| (&trial.workload, &trial.point, &trial.contender)).collect();
            assert_eq!(seen.len(), 2 * 3 * 3);
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), 2 * 3 * 3, "no trial twice");
            // At a point all contenders stand back to back, so that a pair is minutes apart.
            for group in block.chunks(3) {
                assert!(
                    group.iter().all(|trial| (&trial.workload, &trial.point) == (&group[0].workload, &group[0].point))
                );
                assert_eq!(group.iter().map(|trial| trial.order).collect::<Vec<_>>(), [1, 2, 3]);
            }
            assert!(block[..9].iter().all(|trial| trial.workload == "first"), "workloads keep the order of the file");
        }
        assert!(plan.record.trials.iter().zip(1..).all(|(trial, number)| trial.trial == number));
    }

    #[test]
    fn without_a_sweep_there_is_one_point_that_names_nothing() {
        let plan = plan_of(&experiment(&["a", "b"], &[], 8, 1));
        assert_eq!(plan.record.trials.len(), 8 * 2 * 2);
        assert!(plan.record.trials.iter().all(|trial| trial.point.is_empty()));
    }

    #[test]
    fn the_same_seed_makes_the_same_plan_and_another_seed_another() {
        let plan = |seed| plan_of(&experiment(&["a", "b"], &[1, 16], 8, seed)).record;
        assert_eq!(plan(7), plan(7));
        let order =
            |seed| plan(seed).trials.into_iter().map(|trial| (trial.contender, trial.point)).collect::<Vec<_>>();
        assert_ne!(order(7), order(8));
    }

    #[test]
    fn the_order_of_seed_one_is_the_same_on_every_machine_and_in_every_version() {
        let plan = plan_of(&experiment(&["a", "b"], &[1, 4, 16], 8, 1));
        let first: String = plan.record.trials.iter().take(24).map(|trial| trial.contender.as_str()).collect();
        let points: Vec<u64> =
            plan.record.trials.iter().step_by(2).take(6).map(|trial| trial.point["clients"]).collect();
        assert_eq!((first.as_str(), points), ("baababbaabababbaababbaba", vec![16, 1, 4, 1, 4, 16]));
    }

    #[test]
    fn every_contender_goes_first_half_of_the_time_and_every_point_in_every_place() {
        let plan = plan_of(&experiment(&["a", "b"], &[1, 16], 1000, 3));
        let share = |first: fn(&PlannedTrial) -> bool, of: fn(&PlannedTrial) -> bool| {
            let all: Vec<_> = plan.record.trials.iter().filter(|trial| of(trial)).collect();
            all.iter().filter(|trial| first(trial)).count() as f64 / all.len() as f64
        };
        let a_first = share(|trial| trial.contender == "a", |trial| trial.order == 1);
        // 4000 fair coins: four standard deviations are 3.2 %.
        assert!((a_first - 0.5).abs() < 0.032, "{a_first}");
        let low_first = share(|trial| trial.point["clients"] == 1, |trial| trial.trial % 4 == 1);
        assert!((low_first - 0.5).abs() < 0.045, "{low_first}");
    }

    #[test]
    fn the_plan_shows_when_a_verdict_is_possible_under_its_rule() {
        let check = |rule, contenders: &[&str], blocks, expected: (Option<u32>, Option<u32>)| {
            let mut experiment = experiment(contenders, &[1, 2, 3, 4, 5, 6, 7, 8], blocks, 1);
            experiment.method.rule = rule;
            let estimate = plan_of(&experiment).estimate;
            let words = (estimate.overall_verdict_block, estimate.point_verdict_block);
            assert_eq!(words, expected, "{rule:?}, {} contenders, {blocks} blocks", contenders.len());
        };
        check(RuleName::Exact, &["a"], 20, (None, None));
        check(RuleName::Exact, &["a", "b"], 20, (Some(8), Some(10)));
        check(RuleName::Exact, &["a", "b"], 40, (Some(10), Some(12)));
        // Two candidates share the error, each with eight points: sixteen verdicts.
        check(RuleName::Exact, &["a", "b", "c"], 20, (Some(10), Some(12)));
        check(RuleName::Exact, &["a", "b"], 7, (None, None));
        check(RuleName::T, &["a", "b"], 7, (Some(4), Some(4)));
        check(RuleName::T, &["a", "b"], 3, (None, None));
    }

    #[test]
    fn the_plan_shows_how_many_blocks_points_and_operations_need() {
        let names = ["a", "b", "c", "d"];
        let record = |blocks| plan_of(&experiment(&names, &[1, 2, 4, 8], blocks, 1)).record;
        let few = record(8);
        assert_eq!((first_for_operations(&few, 86), first_for_points(&few, 4)), (None, None));
        assert_eq!(blocks_for(&few, |plan| first_for_operations(plan, 86)), Some(14));
        assert_eq!(first_for_operations(&record(14), 86), Some(14));
        let warning = too_few(&few, 86, OPERATIONS);
        assert_eq!(
            warning,
            "none of 86 single operations with 3 candidates can get a verdict if it differs alone in 8 blocks; that takes blocks = 14"
        );
        let text = plan_of(&experiment(&names, &[1, 2, 4, 8], 8, 1)).text();
        assert!(text.contains("warning: none of 4 single levels with 3 candidates"), "{text}");
        assert_eq!(blocks_for(&few, |plan| first_for_operations(plan, 5000)), None);
    }

    #[test]
    fn the_plan_shows_how_many_blocks_each_limit_of_the_gate_takes() {
        let mut experiment = experiment(&["a", "b"], &[1], 8, 1);
        let latency = Some(LatencyLimit { quantile: 99.0, max_slowdown: 0.1 });
        experiment.gate = Some(GateRecord { max_slowdown: Some(0.03), latency });
        let text = plan_of(&experiment).text();
        let line = |limit: &str| text.lines().find(|line| line.trim_start().starts_with(limit)).unwrap().to_owned();
        let throughput =
            line("throughput at most 3 % lower: passes after 8 blocks where ratios vary by 1 % between blocks");
        let latency = line("p99 response time at most 10 % longer: passes after 8 blocks");
        let by_5 = |line: &str| line.rsplit_once(", ").unwrap().1.trim_end_matches(" by 5 %").parse::<u32>().unwrap();
        assert!(by_5(&throughput) > 30 && by_5(&latency) < 15, "{text}");
    }

    #[test]
    fn inputs_are_common_to_a_block_and_new_in_the_next() {
        let plan = plan_of(&experiment(&["a", "b"], &[1, 16], 8, 1));
        let mut seeds: Vec<u64> = plan
            .blocks()
            .map(|block| {
                assert!(block.iter().all(|trial| trial.input_seed == block[0].input_seed));
                block[0].input_seed
            })
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 8);
        // Every JSON reader holds whole numbers up to 2^53 exactly.
        assert!(seeds.iter().all(|seed| *seed < 1 << 53));
    }

    #[test]
    fn gaps_are_spread_over_a_fifth_of_the_slot() {
        let experiment = experiment(&["a", "b"], &[1, 16], 40, 1);
        let plan = plan_of(&experiment);
        let (contender, workload) = (&experiment.contenders[0], &experiment.workloads[0]);
        let slot_ms = 5 * estimate::gap_ms_max(contender, workload, &experiment.points()[1], &experiment.method);
        let gaps: Vec<u64> = plan.record.trials.iter().map(|trial| trial.gap_ms).collect();
        assert!(gaps.iter().all(|gap| *gap <= slot_ms / 5));
        assert!(gaps.iter().any(|gap| *gap < slot_ms / 50) && gaps.iter().any(|gap| *gap > slot_ms / 6));
    }

    #[test]
    fn a_repeat_is_the_whole_entry_with_a_coin_inputs_and_gaps_of_its_own() {
        let experiment = experiment(&["a", "b", "c"], &[1, 16], 8, 1);
        let plan = plan_of(&experiment).record;
        let entry = Entry::of(&plan.trials[20]);
        let again = repeat(&experiment, &plan, &entry, 1);
        let planned = |number: u32| &plan.trials[number as usize - 1];
        let mut seen: Vec<&str> = again.iter().map(|trial| trial.contender.as_str()).collect();
        seen.sort_unstable();
        assert_eq!(seen, ["a", "b", "c"]);
        for (trial, place) in again.iter().zip(1..) {
            let old = planned(trial.purpose.repeats().unwrap());
            assert_eq!((&trial.contender, Entry::of(trial)), (&old.contender, Entry::of(old)));
            assert_eq!((trial.order, trial.trial), (place, 96 + place));
            assert_eq!((trial.input_seed, repeat_number(&plan, trial.trial)), (again[0].input_seed, Some(1)));
            assert_ne!(trial.input_seed, old.input_seed);
        }
        assert_eq!((plan.trials.len(), repeat_number(&plan, 96)), (96, None));
        let second = repeat(&experiment, &plan, &entry, 2);
        assert_eq!((second[0].trial, repeat_number(&plan, second[0].trial)), (100, Some(2)));
        assert_ne!(second[0].input_seed, again[0].input_seed);
        assert_eq!(repeat(&experiment, &plan, &entry, 2), second, "the seed fixes everything");
    }

    #[test]
    fn the_coins_of_repeats_are_fair() {
        let experiment = experiment(&["a", "b"], &[1], 8, 5);
        let plan = plan_of(&experiment).record;
        let entry = Entry::of(&plan.trials[0]);
        let a_first = (1..=2000).filter(|number| repeat(&experiment, &plan, &entry, *number)[0].contender == "a");
        // Four standard deviations of 2000 fair coins are 90.
        assert!((a_first.count() as i32 - 1000).abs() < 90);
    }

    #[test]
    fn pilots_run_every_contender_once_at_the_heaviest_point_of_what_runs_for_a_time() {
        let mut experiment = experiment(&["a", "b"], &[64, 1, 16], 8, 1);
        assert_eq!(pilots(&experiment), []);
        let without = plan_of(&experiment);
        experiment.method.pilot = Some(Duration::from_secs(300));
        experiment.workloads[1].one_pass = true;
        let planned = pilots(&experiment);
        let mut seen: Vec<&str> = planned.iter().map(|pilot| pilot.contender.as_str()).collect();
        seen.sort_unstable();
        assert_eq!(seen, ["a", "b"]);
        assert!(planned.iter().all(|pilot| pilot.workload == "first" && pilot.point["clients"] == 64));
        let plan = plan_of(&experiment);
        assert_eq!(plan.record.trials.iter().filter(|trial| trial.block == 0).count(), 0);
        assert!(plan.estimate.pilots > Duration::from_secs(600));
        assert_eq!(plan.estimate.trial_starts[0], without.estimate.trial_starts[0] + plan.estimate.pilots);
        assert!(plan.text().contains("pilots: "), "{}", plan.text());
    }

    #[test]
    fn a_plan_of_passes_leaves_no_step_out_that_a_pass_does_not_have() {
        let left_out = |change: fn(&mut Experiment)| {
            let mut experiment = experiment(&["a", "b"], &[], 8, 1);
            change(&mut experiment);
            plan_of(&experiment).record.method.left_out
        };
        let timed =
            ["pilot", "steady-state check", "drain of server debt", "repeats of flagged blocks", "generator doubling"];
        assert_eq!(left_out(|_| ()), timed);
        assert_eq!(left_out(|one| one.workloads[0].one_pass = true), timed);
        let passes = |one: &mut Experiment| one.workloads.iter_mut().for_each(|choice| choice.one_pass = true);
        assert_eq!(left_out(passes), ["repeats of flagged blocks"]);
    }

    #[test]
    fn the_hash_covers_everything_and_is_the_same_for_the_same_plan() {
        let base = plan_of(&experiment(&["a", "b"], &[1, 16], 8, 1)).record;
        assert_eq!(base.plan_hash, plan_hash(&base));
        assert_eq!(base.plan_hash.len(), 64);
        let check = |what: &str, change: fn(&mut PlanRecord)| {
            let mut changed = base.clone();
            change(&mut changed);
            assert_ne!(plan_hash(&changed), base.plan_hash, "{what}");
        };
        check("name", |plan| plan.name.push('x'));
        check("question", |plan| plan.question = Some("why".into()));
        check("seed", |plan| plan.seed += 1);
        check("setting", |plan| drop(plan.contenders[0].settings.insert("x".into(), "1".into())));
        check("own setting", |plan| drop(plan.contenders[1].own_settings.insert("x".into(), "1".into())));
        check("version", |plan| plan.contenders[0].version.push('0'));
        check("option", |plan| drop(plan.workloads[0].options.insert("rows".into(), 1.into())));
        check("margin", |plan| plan.method.margin = 0.02);
        check("threshold", |plan| plan.method.thresholds = BTreeMap::from([("steal".into(), 0.02)]));
        check("pilot", |plan| plan.method.pilot_s = Some(300.0));
        check("rule", |plan| plan.method.rule = RuleName::T);
        check("gap", |plan| plan.trials[0].gap_ms += 1);
        check("order", |plan| plan.trials.swap(0, 1));
        let mut same = base.clone();
        same.plan_hash = "anything".into();
        assert_eq!(plan_hash(&same), base.plan_hash);
    }

    /// Paths of all leaves of a JSON value.
    fn leaves(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) if !fields.is_empty() => {
                fields.iter().for_each(|(key, value)| leaves(value, &format!("{path}/{key}"), found));
            }
            serde_json::Value::Array(list) if !list.is_empty() => {
                list.iter().enumerate().for_each(|(index, value)| leaves(value, &format!("{path}/{index}"), found));
            }
            _ => found.push(path.to_owned()),
        }
    }

    /// Other values for a leaf; the first that a plan can hold is taken.
    fn others(value: &serde_json::Value) -> Vec<serde_json::Value> {
        match value {
            serde_json::Value::Number(number) => match number.as_u64() {
                Some(whole) => vec![(whole + 1).into()],
                None => {
                    number.as_f64().into_iter().flat_map(|value| [(value + 0.5).into(), (value / 2.0).into()]).collect()
                }
            },
            serde_json::Value::String(text) => vec![format!("{text}x").into(), "t".into()],
            serde_json::Value::Bool(flag) => vec![(!flag).into()],
            serde_json::Value::Array(_) => vec![vec!["x"].into()],
            _ => vec!["x".into(), 1.into(), serde_json::json!({ "x": "1" }), serde_json::json!({ "x": 1 })],
        }
    }

    #[test]
    fn no_field_of_a_plan_can_change_without_its_hash() {
        let mut base = plan_of(&experiment(&["a", "b"], &[1, 16], 1, 1)).record;
        base.method.thresholds.insert("steal".into(), 0.01);
        base.contenders[0].settings.insert("x".into(), "y".into());
        let written = serde_json::to_value(&base).unwrap();
        let mut paths = Vec::new();
        leaves(&written, "", &mut paths);
        paths.retain(|path| path != "/plan_hash");
        assert!(paths.len() > 100, "{paths:?}");
        for path in paths {
            let changed = others(written.pointer(&path).unwrap()).into_iter().find_map(|other| {
                let mut changed = written.clone();
                *changed.pointer_mut(&path).unwrap() = other;
                serde_json::from_value::<PlanRecord>(changed).ok()
            });
            let changed = changed.unwrap_or_else(|| panic!("no other value fits {path}"));
            assert_ne!(plan_hash(&changed), base.plan_hash, "{path}");
        }
        let mut shorter = base.clone();
        shorter.trials.pop();
        assert_ne!(plan_hash(&shorter), base.plan_hash);
    }

    #[test]
    fn a_plan_survives_being_written_and_read() {
        let record = plan_of(&experiment(&["a", "b"], &[1, 16], 8, 1)).record;
        let read: PlanRecord = serde_json::from_str(&serde_json::to_string_pretty(&record).unwrap()).unwrap();
        assert_eq!(plan_hash(&read), record.plan_hash);
    }

    #[test]
    fn a_password_among_the_settings_is_not_in_the_plan() {
        let mut experiment = experiment(&["a", "b"], &[1], 8, 1);
        experiment.contenders[0].settings.insert("master_password".into(), "hunter2".into());
        let plan = plan_of(&experiment);
        assert!(!plan.json().to_string().contains("hunter2") && !plan.text().contains("hunter2"));
    }

    #[test]
    fn the_stored_text_and_the_plan_make_the_same_plan_again() {
        let text = "workload = \"oltp_read_write\"\nsweep.clients = [1, 2]\nmethod.seed = 5\n\
                    contender = [{ engine = \"mysql@5.5.9\" }, { engine = \"mysql@5.6.24\" }]";
        let parse = |file: &str, overrides: &Overrides| {
            plan_of(&Experiment::parse(text, file, &crate::testing::known(), overrides).unwrap()).record
        };
        let seconds = |secs| Some(Duration::from_secs(secs));
        for overrides in [
            Overrides::default(),
            Overrides { preset: Some("quick".into()), blocks: Some(9), ..Overrides::default() },
            Overrides { seed: Some(6), accept_noisy: true, budget: seconds(90), ..Overrides::default() },
            Overrides { set: [("workload.rows".into(), "5".into())].into(), ..Overrides::default() },
        ] {
            let first = parse("my-upgrade.toml", &overrides);
            let again = parse("experiment.toml", &Overrides::of_plan(&first));
            assert_eq!((first.name.as_str(), &first.method.changed), ("my-upgrade", &again.method.changed));
            assert_eq!(first.plan_hash, again.plan_hash, "{overrides:?}");
            let plain = parse("my-upgrade.toml", &Overrides { set: Default::default(), ..overrides.clone() });
            assert_eq!(
                first.plan_hash == plain.plan_hash,
                overrides.set.is_empty(),
                "what was set is part of the hash"
            );
        }
    }

    #[test]
    fn a_plan_names_what_was_set_and_promises_no_time_for_trials_that_end_by_events() {
        let text = "workload = { name = \"oltp_read_write\", events = 500 }\nmethod.budget = \"20m\"\n\
                    contender = [{ engine = \"mysql@5.5.9\" }, { engine = \"mysql@5.6.24\" }]";
        let set = [("workload.events".into(), "500".into())].into();
        let overrides = Overrides { set, ..Overrides::default() };
        let plan = plan_of(&Experiment::parse(text, "x.toml", &crate::testing::known(), &overrides).unwrap()).text();
        for part in [
            "\nwith --set workload.events=500\n",
            "  time: at most ",
            "is not known before the first",
            "enough for at least about ",
        ] {
            assert!(plan.contains(part), "{part}: {plan}");
        }
    }

    #[test]
    fn a_run_goes_on_with_the_files_that_it_began_with() {
        let folder = tempfile::tempdir().unwrap();
        let (script, file) = (folder.path().join("a.sql"), folder.path().join("x.toml"));
        let text = "contender = [{ engine = \"mysql@5.5.9\" }]\n[workload]\nname = \"sql-bench\"\n\
                    scripts = [{ path = \"a.sql\", weight = 3 }]\n";
        let parse =
            |file: &str, overrides: &Overrides| Experiment::parse(text, file, &crate::testing::known(), overrides);
        let plan = |file: &str, overrides: &Overrides| plan_of(&parse(file, overrides).unwrap()).record;
        std::fs::write(&script, "SELECT 1;").unwrap();
        let first = plan(file.to_str().unwrap(), &Overrides::default());
        assert_eq!(first.workloads[0].shown_options()["scripts"].to_string(), r#"[{"path":"a.sql","weight":3}]"#);
        std::fs::write(&script, "SELECT 2;").unwrap();
        assert_ne!(plan(file.to_str().unwrap(), &Overrides::default()).plan_hash, first.plan_hash);
        let name = Overrides { fallback_name: Some("x".into()), ..Overrides::of_plan(&first) };
        assert_eq!(plan("experiment.toml", &name).plan_hash, first.plan_hash);
        let missing = parse("elsewhere/x.toml", &Overrides::default()).unwrap_err();
        assert_eq!((missing.list.len(), missing.list[0].line), (1, Some(4)), "{missing}");
        assert!(missing.to_string().contains("cannot read a.sql"), "{missing}");
    }
}
