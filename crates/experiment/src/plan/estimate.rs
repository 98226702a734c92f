//! What a plan will take: time, disk, memory, and the first block that may end with a verdict.
//!
//! Everything but the last is an estimate from the constants below. They are orders of magnitude
//! from one small machine, good for "lunch or overnight" and for "will it fit"; no result depends on
//! them, except that the idle gaps before trials are drawn from a fifth of the estimated slot.

use std::collections::BTreeSet;
use std::time::Duration;

use driver::Dialect;
use engine::version_numbers;
use serde_json::json;

use super::{first_for_operations, first_for_points};
use crate::{Contender, Experiment, Method, NoisyHost, Origin, Recovery, WorkloadChoice, quantity};
use record::format::{PlanRecord, PlannedTrial, Point, Purpose};

const MIB: u64 = 1 << 20;

const COPY_BYTES_PER_MS: u64 = 300 * MIB / 1000;
const LOAD_BYTES_PER_MS: u64 = 16 * MIB / 1000;
/// Of a target; gaps are drawn from it, so it stays as it is.
const RELOAD_BYTES_PER_MS: u64 = 8 * MIB / 1000;
const RESTORE_LEAST_MS: u64 = 200;
/// What the check behind a trial reads, joins and sums up.
const CHECK_BYTES_PER_MS: u64 = 70 * MIB / 1000;
/// The part of the costs around a load that a quiet machine of two cores needs, by runs of shipped experiments.
const QUIET: (u64, u64) = (5, 8);
/// How long other processes are watched before a run that refuses a noisy host.
const HOST_CHECK_MS: u64 = 10_000;
/// The generator's ceiling at the fewest and the most clients of a protocol, and the capacity of the way.
const CEILINGS_MS: u64 = 2300;
/// A restart after a crash, and how long servers of small data take until their rate is the one of before.
const RESTART_MS: u64 = 1000;
const FULL_RATE_MS: u64 = 5000;
const PASS_GAP_MS_MAX: u64 = 60_000;

/// What a plan is expected to take.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// All pilots and trials with their gaps, if nothing ends the run early.
    pub run: Duration,
    /// The long trials before the first block.
    pub pilots: Duration,
    /// Kills, loads and passes over answers that workloads ask for before the first block.
    pub asked: Duration,
    /// Start of each trial after the start of the run.
    pub trial_starts: Vec<Duration>,
    /// Before the first trial, even when the data are loaded: checks of host and generator, a first start of each contender.
    pub checks: Duration,
    /// Initialising and loading each server once; nothing of it is needed when the cache holds it.
    pub first_load: Duration,
    pub disk_bytes: u64,
    pub memory_bytes: u64,
    /// The longest trial without its gap.
    pub slot_ms_max: u64,
    /// First block after which the whole sweep may have a verdict; `None`: no verdict is possible.
    pub overall_verdict_block: Option<u32>,
    /// First block after which a single point may have one.
    pub point_verdict_block: Option<u32>,
    /// Operations that a pass times, or statements that clients time, of the workload that has most; and the first block at which one may have one.
    pub operations: usize,
    pub operation_verdict_block: Option<u32>,
    /// Whole blocks that fit the budget, where there is one.
    pub budget_blocks: Option<u32>,
    /// Time up to the end of the first block that may bring a verdict over the whole sweep.
    pub verdict_budget: Option<Duration>,
    /// A contender's server runs apart from the load generator.
    pub behind_a_connection: bool,
}

impl Estimate {
    pub fn of(experiment: &Experiment, plan: &PlanRecord, pilots: &[PlannedTrial]) -> Estimate {
        let trials = &plan.trials;
        let slots: Vec<u64> = trials.iter().map(|trial| slot_of(experiment, plan, trial)).collect();
        let pilots_ms: u64 = pilots.iter().map(|pilot| pilot_ms(experiment, pilot)).sum();
        let asked_ms = asked_ms(experiment, plan);
        let ends = trials.iter().zip(&slots).scan(pilots_ms + asked_ms, |end_ms, (trial, slot)| {
            *end_ms += if plan.is_beside(trial.block, trial.order) { 0 } else { trial.gap_ms + slot };
            Some(*end_ms)
        });
        let ends: Vec<u64> = ends.collect();
        let points = experiment.points().len();
        let rivals = experiment.contenders.len() > 1;
        let earliest_verdict = |points| first_for_points(plan, points).filter(|_| rivals);
        let timed = |choice| {
            let workload = super::workload(choice, &Point::new()).ok()?;
            let statements = Dialect::ALL.map(|dialect| workload.timed_statements(dialect).len());
            statements.into_iter().chain(workload.single_pass().map(|pass| pass.operations())).max()
        };
        let operations = experiment.workloads.iter().filter_map(timed).max().unwrap_or(0);
        Estimate {
            run: Duration::from_millis(ends.last().copied().unwrap_or(pilots_ms)),
            pilots: Duration::from_millis(pilots_ms),
            asked: Duration::from_millis(asked_ms),
            trial_starts: ends.iter().zip(&slots).map(|(end, slot)| Duration::from_millis(end - slot)).collect(),
            checks: Duration::from_millis(checks_ms(experiment)),
            first_load: Duration::from_millis(first_load_ms(experiment)),
            disk_bytes: disk_bytes(experiment),
            memory_bytes: at_a_time(experiment, managed(experiment).map(|who| memory_bytes(who, experiment)).collect()),
            slot_ms_max: slots.iter().copied().max().unwrap_or(0),
            overall_verdict_block: earliest_verdict(1),
            point_verdict_block: earliest_verdict(points),
            operations,
            behind_a_connection: experiment.contenders.iter().any(|who| !who.kind.dialect().is_embedded()),
            operation_verdict_block: first_for_operations(plan, operations).filter(|_| rivals && operations > 0),
            verdict_budget: earliest_verdict(1).and_then(|block| {
                let last = trials.iter().rposition(|trial| trial.block == block)?;
                Some(Duration::from_millis(ends[last]))
            }),
            budget_blocks: (experiment.method.budget)
                .map(|budget| blocks_within(budget, trials, &ends).min(experiment.method.blocks)),
        }
    }

    /// The part `expected` of `dbduel plan --json`.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "run_s": self.run.as_secs_f64(),
            "pilots_s": self.pilots.as_secs_f64(),
            "checks_s": self.checks.as_secs_f64(),
            "first_load_s": self.first_load.as_secs_f64(),
            "disk_bytes": self.disk_bytes,
            "memory_bytes": self.memory_bytes,
            "earliest_verdict_block": self.overall_verdict_block,
            "earliest_point_verdict_block": self.point_verdict_block,
            "operations": self.operations,
            "earliest_operation_verdict_block": self.operation_verdict_block,
            "budget_blocks": self.budget_blocks,
        })
    }
}

/// Milliseconds of one trial without its gap: restore, start, warm up, measure, stop.
fn slot_ms(contender: &Contender, workload: &WorkloadChoice, point: &Point, method: &Method) -> u64 {
    slot_of_load_ms(contender, workload, point, load_of(workload, point, method))
}

fn load_of(workload: &WorkloadChoice, point: &Point, method: &Method) -> Duration {
    expected_pass(workload, point).unwrap_or(method.warmup + method.duration)
}

fn slot_of_load_ms(contender: &Contender, workload: &WorkloadChoice, point: &Point, load: Duration) -> u64 {
    let data_bytes = dataset_bytes(contender, workload, point);
    let load_ms = load.as_millis() as u64;
    if is_target(contender) {
        // Its tables are loaded again, at worst before each trial; nothing is started.
        return data_bytes / RELOAD_BYTES_PER_MS + load_ms;
    }
    let cost = contender.kind.cost();
    let restore_ms = RESTORE_LEAST_MS + (cost.template_bytes + data_bytes) / COPY_BYTES_PER_MS;
    restore_ms + cost.start_ms + load_ms + cost.stop_ms
}

/// What a pass, or one over a log, may take; none for a workload that takes the time it is given.
fn expected_pass(workload: &WorkloadChoice, point: &Point) -> Option<Duration> {
    let workload = super::workload(workload, point).ok()?;
    let of_a_pass = workload.single_pass().map(|pass| pass.expected_duration());
    of_a_pass.or_else(|| Some(workload.replays()?.expected_duration()))
}

/// The longest idle gap before a trial: a fifth of its slot. A pass may take hours, and nothing that
/// disturbs one is in step with it after a minute.
pub fn gap_ms_max(contender: &Contender, workload: &WorkloadChoice, point: &Point, method: &Method) -> u64 {
    let fifth = slot_ms(contender, workload, point, method) / 5;
    if workload.ends_itself() { fifth.min(PASS_GAP_MS_MAX) } else { fifth }
}

/// A server that dbduel does not manage costs this host neither disk nor memory.
fn is_target(contender: &Contender) -> bool {
    matches!(contender.origin, Origin::Target(_))
}

fn managed(experiment: &Experiment) -> impl Iterator<Item = &Contender> {
    experiment.contenders.iter().filter(|who| !is_target(who))
}

fn slot_of(experiment: &Experiment, plan: &PlanRecord, trial: &PlannedTrial) -> u64 {
    let (contender, workload) = experiment.parts_of(&trial.contender, &trial.workload);
    let slot_of = |contender: &Contender| {
        let slot = slot_ms(contender, workload, &trial.point, &experiment.method);
        let whole_load = load_of(workload, &trial.point, &experiment.method).as_millis() as u64;
        let around = on_a_quiet_machine(slot - whole_load + check_ms(contender, workload, &trial.point));
        // A crash ends the load at a time of its own.
        let load = if let Purpose::Crash { after_ms, .. } = trial.purpose { after_ms } else { whole_load };
        load + around + experiment.recovery.as_ref().map_or(0, recovery_ms)
    };
    let slot = slot_of(contender);
    if plan.method.fast_sweep && shares_a_start(plan, trial) {
        return (experiment.method.warmup + experiment.method.duration).as_millis() as u64;
    }
    if plan.method.duet {
        // The slower of both sides.
        return experiment.contenders.iter().map(slot_of).max().unwrap_or(slot);
    }
    slot
}

/// Not part of [`slot_ms`], which gaps are drawn from: an estimate that gets better changes no plan.
fn check_ms(contender: &Contender, workload: &WorkloadChoice, point: &Point) -> u64 {
    let bytes = super::workload(workload, point).map_or(0, |one| one.checked_bytes(contender.kind.dialect()));
    bytes / CHECK_BYTES_PER_MS
}

/// Behind a crash: the restart, and the load that shows when the full rate is back.
fn recovery_ms(recovery: &Recovery) -> u64 {
    if recovery.full_rate_within.is_zero() { RESTART_MS } else { RESTART_MS + FULL_RATE_MS }
}

/// Whether the trial before is of the same contender in the same block: its server goes on then.
fn shares_a_start(plan: &PlanRecord, trial: &PlannedTrial) -> bool {
    let before = (trial.trial as usize).checked_sub(2).and_then(|place| plan.trials.get(place));
    let of = |trial: &PlannedTrial| (trial.block, trial.workload.clone(), trial.contender.clone());
    before.is_some_and(|before| of(before) == of(trial))
}

/// What is there at the same time: the largest, and in a duet all.
fn at_a_time(experiment: &Experiment, sizes: Vec<u64>) -> u64 {
    let all = sizes.into_iter();
    if experiment.method.duet { all.fold(0, u64::saturating_add) } else { all.max().unwrap_or(0) }
}

fn pilot_ms(experiment: &Experiment, pilot: &PlannedTrial) -> u64 {
    let (contender, workload) = experiment.parts_of(&pilot.contender, &pilot.workload);
    slot_of_load_ms(contender, workload, &pilot.point, experiment.method.pilot.unwrap_or_default())
}

/// One pass over the answers of a replayed log, where they are compared.
fn pass_over_answers(workload: &WorkloadChoice) -> Option<Duration> {
    let built = super::workload(workload, &Point::new()).ok()?;
    Some(built.replays()?.answering()?.expected_duration())
}

/// The kills and the loads that workloads ask for, and passes over answers.
fn asked_ms(experiment: &Experiment, plan: &PlanRecord) -> u64 {
    let point = |workload: &WorkloadChoice| {
        let ours = plan.trials.iter().filter(|trial| trial.workload == workload.label);
        ours.map(|trial| trial.point.clone()).max().unwrap_or_default()
    };
    let of = |contender: &Contender, workload: &WorkloadChoice| -> u64 {
        let slot = |time: Duration| {
            on_a_quiet_machine(slot_of_load_ms(contender, workload, &point(workload), Duration::ZERO))
                + time.as_millis() as u64
        };
        let load_ms = dataset_bytes(contender, workload, &point(workload)) / LOAD_BYTES_PER_MS;
        let under_load = experiment.method.warmup + experiment.method.duration + Duration::from_millis(RESTART_MS);
        let kill_ms = if contender.kind.dialect().is_embedded() { 0 } else { slot(under_load) };
        // The baseline answers twice.
        let passes = 1 + u64::from(contender.name == plan.baseline);
        let answers_ms = pass_over_answers(workload).map_or(0, |time| passes * slot(time));
        u64::from(workload.kills) * kill_ms
            + u64::from(workload.loads) * slot(Duration::from_millis(load_ms))
            + answers_ms
    };
    let all = managed(experiment).flat_map(|who| experiment.workloads.iter().map(move |one| (who, one)));
    all.map(|(contender, workload)| of(contender, workload)).sum()
}

/// Bytes of a workload's tables on a contender; nothing for what the experiment would have refused.
fn dataset_bytes(contender: &Contender, workload: &WorkloadChoice, point: &Point) -> u64 {
    super::workload(workload, point).map_or(0, |workload| workload.data_bytes(contender.kind.dialect()))
}

/// A contender's data directory, loaded for a point: a snapshot, or the copy a trial runs on.
pub fn data_directory_bytes(contender: &Contender, workload: &WorkloadChoice, point: &Point) -> u64 {
    contender.kind.cost().template_bytes.saturating_add(dataset_bytes(contender, workload, point))
}

/// Logs of a size that was asked for.
pub struct AskedLog {
    pub setting: &'static str,
    /// Of each file.
    pub bytes: u64,
    pub files: u64,
}

impl AskedLog {
    pub fn total_bytes(&self) -> u64 {
        self.bytes.saturating_mul(self.files)
    }
}

/// The logs whose size a contender sets: none where the server has its own size, which its template has already.
pub fn asked_logs(contender: &Contender) -> Vec<AskedLog> {
    let asked = |(setting, files): &(&'static str, u64)| {
        let is_ours = |(known, _): &(&String, &String)| known.replace('-', "_").eq_ignore_ascii_case(setting);
        let (_, text) = contender.settings.iter().find(is_ours)?;
        Some(AskedLog { setting, bytes: quantity::bytes(text)?, files: *files })
    };
    contender.kind.cost().logs.iter().filter_map(asked).collect()
}

/// What they add to a data directory that a trial runs on.
pub fn log_bytes(contender: &Contender) -> u64 {
    asked_logs(contender).iter().map(AskedLog::total_bytes).fold(0, u64::saturating_add)
}

/// The tables that a contender is loaded with: one set for each workload and point that has tables of its own.
fn datasets(experiment: &Experiment) -> Vec<(&WorkloadChoice, Point)> {
    let own = |workload: &WorkloadChoice| {
        let mut points = experiment.points();
        points.iter_mut().for_each(|point| *point = workload.data_point(point));
        points.dedup();
        points
    };
    let mut known = BTreeSet::new();
    let mut is_new = |(one, point): &(&WorkloadChoice, Point)| {
        super::workload(one, point).map_or(true, |one| known.insert(one.spec().data_key))
    };
    let all = experiment.workloads.iter().flat_map(|one| own(one).into_iter().map(move |point| (one, point)));
    all.filter(|one| is_new(one)).collect()
}

fn checks_ms(experiment: &Experiment) -> u64 {
    let host = if experiment.method.noisy_host == NoisyHost::Refuse { HOST_CHECK_MS } else { 0 };
    let protocols: BTreeSet<&str> = (experiment.contenders.iter())
        .map(|who| who.kind.dialect())
        .filter(|dialect| !dialect.is_embedded())
        .map(Dialect::name)
        .collect();
    let datasets = datasets(experiment);
    let first_starts = experiment.contenders.iter().flat_map(|who| datasets.iter().map(|one| empty_slot_ms(who, one)));
    host + protocols.len() as u64 * CEILINGS_MS + first_starts.sum::<u64>()
}

fn on_a_quiet_machine(ms: u64) -> u64 {
    ms * QUIET.0 / QUIET.1
}

/// Restore, start and stop; nothing of it for a target.
fn empty_slot_ms(contender: &Contender, (workload, point): &(&WorkloadChoice, Point)) -> u64 {
    if is_target(contender) {
        return 0;
    }
    on_a_quiet_machine(slot_of_load_ms(contender, workload, point, Duration::ZERO))
}

/// Every server initialises one data directory for all contenders that start from it, and loads every workload into a
/// copy, which it starts from, leaves cleanly, and keeps.
fn first_load_ms(experiment: &Experiment) -> u64 {
    let datasets = datasets(experiment);
    let initialise_ms =
        |who: &Contender| if is_target(who) { 0 } else { who.kind.cost().initialise_ms(&version_of(who)) };
    let load_ms = |who: &Contender| -> u64 {
        let load =
            |(workload, point): &(&WorkloadChoice, Point)| dataset_bytes(who, workload, point) / LOAD_BYTES_PER_MS;
        datasets.iter().map(|one| load(one) + empty_slot_ms(who, one)).sum()
    };
    let mut loaded = BTreeSet::new();
    let apart = experiment.contenders.iter().filter(|who| loaded.insert(data_directory_of(who)));
    apart.map(|who| initialise_ms(who) + load_ms(who)).sum()
}

/// The numbers of the version that was asked for; none where any will do.
fn version_of(contender: &Contender) -> Vec<u32> {
    version_numbers(contender.engine.split_once('@').map_or("", |(_, version)| version))
}

/// Contenders with the same text start from the same data directory, whatever else is set for them.
fn data_directory_of(contender: &Contender) -> String {
    let shaping = contender.kind.shaping_settings(&version_of(contender));
    let is_shaping = |name: &str| shaping.iter().any(|known| known.eq_ignore_ascii_case(&name.replace('-', "_")));
    let settings: Vec<_> = contender.settings.iter().filter(|(name, _)| is_shaping(name)).collect();
    format!("{} {:?} {settings:?}", contender.engine, contender.origin)
}

/// Templates and snapshots of all contenders, and the work copies of the trials that run.
fn disk_bytes(experiment: &Experiment) -> u64 {
    let datasets = datasets(experiment);
    let sizes = managed(experiment)
        .flat_map(|who| datasets.iter().map(move |(workload, point)| data_directory_bytes(who, workload, point)));
    let sizes: Vec<u64> = sizes.collect();
    let templates = managed(experiment).map(|who| who.kind.cost().template_bytes);
    let copies = if experiment.method.duet { 2 } else { 1 };
    let largest = sizes.iter().max().map(|bytes| bytes.saturating_mul(copies));
    let logs = managed(experiment).map(log_bytes).max();
    let all = templates.chain(sizes.iter().copied()).chain(largest).chain(logs);
    all.fold(0, u64::saturating_add)
}

/// The server with its buffers and the connections of the busiest point.
fn memory_bytes(contender: &Contender, experiment: &Experiment) -> u64 {
    let cost = contender.kind.cost();
    let buffers = cost.buffers.iter().map(|(name, default, unit)| match contender.settings.get(*name) {
        Some(text) => {
            text.parse::<u64>().map(|number| number * unit).ok().or(quantity::bytes(text)).unwrap_or(*default)
        }
        None => *default,
    });
    let clients = u64::from(experiment.clients_max());
    cost.server_bytes + buffers.sum::<u64>() + clients * cost.connection_bytes
}

/// Whole blocks that end before the budget does.
fn blocks_within(budget: Duration, trials: &[PlannedTrial], ends_ms: &[u64]) -> u32 {
    let inside = trials.iter().zip(ends_ms).take_while(|(_, end)| u128::from(**end) <= budget.as_millis());
    let fitting = inside.count();
    match (trials.get(fitting), fitting.checked_sub(1).map(|last| &trials[last])) {
        // The next trial belongs to a block that has begun: that block does not fit.
        (Some(next), Some(last)) if next.block == last.block => last.block - 1,
        (_, Some(last)) => last.block,
        (_, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Plan;
    use super::*;

    #[test]
    fn a_budget_holds_whole_blocks_only() {
        let trial = |block| PlannedTrial {
            trial: 1,
            block,
            order: 1,
            workload: String::new(),
            contender: String::new(),
            point: Default::default(),
            gap_ms: 0,
            input_seed: 0,
            purpose: Default::default(),
        };
        let trials = [trial(1), trial(1), trial(2), trial(2)];
        let ends = [1000, 2000, 3000, 4000];
        let check =
            |secs, expected| assert_eq!(blocks_within(Duration::from_secs(secs), &trials, &ends), expected, "{secs} s");
        check(0, 0);
        check(1, 0);
        check(2, 1);
        check(3, 1);
        check(4, 2);
        check(9, 2);
    }

    #[test]
    fn the_check_of_all_tables_takes_time_and_draws_no_other_gaps() {
        use super::super::tests::{experiment, plan_of};
        let kind = |name: &str| crate::testing::known().workloads.0.iter().find(|kind| kind.name == name).unwrap();
        let of = |name: &str| {
            let mut experiment = experiment(&["a", "b"], &[4], 8, 1);
            experiment.workloads.truncate(1);
            experiment.workloads[0].kind = kind(name);
            (plan_of(&experiment), experiment)
        };
        let (plan, experiment) = of("ledger");
        let (contender, workload, point) =
            (&experiment.contenders[0], &experiment.workloads[0], &experiment.points()[0]);
        let slot_ms = slot_ms(contender, workload, point, &experiment.method);
        let gaps_ms: u64 = plan.record.trials.iter().map(|trial| trial.gap_ms).sum();
        let check_ms = crate::testing::CHECKED_BYTES / CHECK_BYTES_PER_MS;
        let load_ms = load_of(workload, point, &experiment.method).as_millis() as u64;
        let expected_ms = load_ms + (slot_ms - load_ms + check_ms) * QUIET.0 / QUIET.1;
        assert_eq!(plan.estimate.run.as_millis() as u64, 16 * expected_ms + gaps_ms);
        assert!(plan.record.trials.iter().all(|trial| trial.gap_ms <= slot_ms / 5));
    }

    #[test]
    fn checks_before_a_run_watch_the_host_unless_noise_is_accepted_and_start_each_contender() {
        use super::super::tests::experiment;
        let of = |contenders: &[&str], noisy_host| {
            let mut experiment = experiment(contenders, &[4], 8, 1);
            experiment.method.noisy_host = noisy_host;
            checks_ms(&experiment)
        };
        let accepted = of(&["a", "b"], NoisyHost::Stamp);
        assert_eq!(of(&["a", "b"], NoisyHost::Refuse), accepted + HOST_CHECK_MS);
        assert!(of(&["a", "b", "c"], NoisyHost::Stamp) > accepted);
    }

    #[test]
    fn contenders_that_start_from_the_same_data_are_loaded_once() {
        use super::super::tests::experiment;
        let mut experiment = experiment(&["a", "b"], &[4], 8, 1);
        experiment.contenders[1].engine = experiment.contenders[0].engine.clone();
        let shared_ms = first_load_ms(&experiment);
        experiment.contenders[1].settings.insert("work_mem".to_owned(), "1GB".to_owned());
        assert_eq!(first_load_ms(&experiment), shared_ms, "a setting that does not shape the data");
        experiment.workloads.push(experiment.workloads[0].clone());
        assert_eq!(first_load_ms(&experiment), shared_ms, "another workload on the same tables");
        experiment.contenders[1].engine += " of another release";
        assert_eq!(first_load_ms(&experiment), 2 * shared_ms);
    }

    #[test]
    fn a_crash_adds_its_restart_and_the_way_back_to_the_full_rate() {
        let recovery = |full_rate_within| Recovery {
            kills: 1,
            crashes: crate::recovery::Crashes::Kills,
            full_rate_within,
            ledger_clients: 4,
        };
        assert_eq!(recovery_ms(&recovery(Duration::ZERO)), 1000);
        assert_eq!(recovery_ms(&recovery(Duration::from_secs(10))), 6000);
    }

    #[test]
    fn a_crash_ends_its_load_at_its_own_time() {
        use super::super::tests::{experiment, plan_of};
        let mut experiment = experiment(&["a", "b"], &[4], 8, 1);
        let without_gaps = |plan: &Plan| {
            let gaps_ms: u64 = plan.record.trials.iter().map(|trial| trial.gap_ms).sum();
            plan.estimate.run.as_millis() as u64 - gaps_ms
        };
        let plain = plan_of(&experiment);
        let trials = plain.record.trials.len() as u64;
        let whole_load_ms = (experiment.method.warmup + experiment.method.duration).as_millis() as u64;
        let crashes = crate::recovery::Crashes::Kills;
        experiment.recovery = Some(Recovery { kills: 8, crashes, full_rate_within: Duration::ZERO, ledger_clients: 4 });
        let plan = plan_of(&experiment);
        let after_ms = |trial: &PlannedTrial| match trial.purpose {
            Purpose::Crash { after_ms, .. } => after_ms,
            _ => panic!("no crash: {trial:?}"),
        };
        let loads_ms: u64 = plan.record.trials.iter().map(after_ms).sum();
        assert_eq!(plan.record.trials.len() as u64, trials);
        let around_ms = without_gaps(&plain) - trials * whole_load_ms;
        assert_eq!(without_gaps(&plan), loads_ms + around_ms + trials * RESTART_MS);
    }

    #[test]
    fn a_shared_start_saves_what_comes_before_and_after_a_load() {
        use super::super::tests::{experiment, plan_of};
        let plain = experiment(&["a", "b"], &[1, 4, 16], 8, 1);
        let with = |change: &dyn Fn(&mut Method)| {
            let mut experiment = plain.clone();
            change(&mut experiment.method);
            plan_of(&experiment).estimate
        };
        let alone = with(&|_| ());
        let fast = with(&|method| method.fast_sweep = true);
        assert!(fast.run < alone.run && fast.trial_starts.is_sorted(), "{:?} {:?}", fast.run, alone.run);
        let duet = with(&|method| method.duet = true);
        // Eight blocks of two at a time and four of one by one are as long as eight plain ones.
        let share = duet.run.as_secs_f64() / alone.run.as_secs_f64();
        assert!((0.9..1.1).contains(&share), "{share}");
        assert_eq!(duet.memory_bytes, 2 * alone.memory_bytes);
    }
}
