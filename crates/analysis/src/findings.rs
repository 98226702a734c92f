//! What weakens a run, each with the trials and facts that show it.
//!
//! Every caveat behind a verdict has its finding here, so that nothing is only a line that scrolled
//! away while the run went on. Reports make the sentences.

use std::collections::{BTreeMap, BTreeSet};

use record::format::crash::LOG_ERRORS;
use record::format::operations::PARTIAL;
use record::format::{ContenderRecord, PlanRecord, RunRecord, Status, TORN_LOG, TrialRecord};

use super::conclusions::{HeadToHead, WorkloadConclusions};
use super::deferred::WorkLeft;
use super::differences::{Difference, drifts};
use super::finding::{BehindPooler, Facts, Finding, FindingKind, Lost, WorkDiffers};
use super::headroom::Doubled;
use super::ladder::Ladder;
use super::scope::Conditions;
use super::values::{GENERATOR_BOUND, SHORT, is_outage};
use record::metric::HOST_FLAGS;
use record::setting_value::plain;

/// What arrived in an open loop found no client in time.
const SATURATED: &str = "saturated";

/// A closed loop in which some clients did nothing.
const STARVED: &str = "starved";

/// Response times that lie outside of the histogram's bounds.
const OUT_OF_RANGE: &str = "out-of-range";

const RESUMED: &str = "resumed";

/// Where a contender lost more of its transactions, the rate of the others is no measure of the work.
const LOST_SHARE_MAX: f64 = 0.01;

pub fn findings(
    plan: &PlanRecord,
    run: &RunRecord,
    trials: &[TrialRecord],
    circumstances: &Conditions,
    workloads: &[WorkloadConclusions],
) -> Vec<Finding> {
    use FindingKind::*;
    let any =
        |of_duel: &dyn Fn(&HeadToHead) -> bool| workloads.iter().flat_map(|workload| &workload.duels).any(of_duel);
    let flagged = |kind, flag| of_trials(kind, trials, |trial| has_flag(trial, flag));
    let found = [
        of_trials(FailedTrials, trials, |trial| trial.status == Status::Failed),
        of_trials(Outages, trials, is_outage),
        lost_transactions(plan, trials),
        given_up(circumstances),
        flagged(GeneratorBound, GENERATOR_BOUND),
        flagged(Saturated, SATURATED).map(Finding::supported),
        flagged(Starved, STARVED).map(Finding::supported),
        flagged(OutOfRange, OUT_OF_RANGE),
        // A trial that ends in a crash measures no interval, and so no quantiles.
        when(MissingQuantiles, plan.crashes().is_empty() && any(&|duel| !duel.missing.is_empty())),
        headroom(circumstances),
        headroom_unfinished(circumstances),
        cause_tests_unfinished(circumstances),
        false_differences(circumstances),
        of_trials(NoisyHost, trials, |trial| HOST_FLAGS.iter().any(|flag| has_flag(trial, flag))),
        when(FlagImbalance, any(&|duel| duel.flag_imbalance.is_some())),
        when(Unsteady, any(&|duel| !duel.drifts.is_empty())).map(Finding::supported),
        when(DeferringWork, any(&|duel| !duel.deferring.is_empty())).map(Finding::supported),
        when(Accumulating, any(&|duel| !duel.growths.is_empty())),
        flagged(Short, SHORT),
        flagged(TornLog, TORN_LOG),
        of_trials(DamageInLog, trials, |trial| trial.metrics.get(LOG_ERRORS).is_some_and(|lines| *lines > 0.0)),
        flagged(Resumed, RESUMED),
        when(SharedCores, circumstances.shared_cores),
        when(NotManaged, plan.contenders.iter().any(|one| one.target.is_some())),
        when(LowFidelity, run.fidelity.iter().any(|one| one.is_low())),
        behind_pooler(plan, run, trials),
        work_differs(plan, run),
        when(
            TransportDiffers,
            plan.contenders.iter().any(|one| one.transport.as_ref().is_some_and(|own| *own != plan.method.transport)),
        ),
        when(DurabilityDiffers, any(&|duel| duel.durability.is_some())),
        when(WordSizeDiffers, word_sizes(plan, run).len() > 1),
        when(DefaultsChanged, compares_changed_defaults(plan, run)),
        duet(plan, run, workloads),
        fast_sweep(plan, trials),
        when(ClonedData, plan.method.work_copy.is_some()),
        when(UnequalWork, any(&is_unequal)),
        when(ResultsDiffer, any(&|duel| duel.parts.iter().any(|parts| !parts.results_differ.is_empty()))),
    ];
    let all_ladders = workloads.iter().map(|one| (one.workload.as_str(), one.ladders.as_slice()));
    found.into_iter().flatten().chain(of_ladders(circumstances, all_ladders)).collect()
}

fn when(kind: FindingKind, holds: bool) -> Option<Finding> {
    holds.then(|| Finding::confirmed(kind))
}

/// A finding exists exactly when a trial shows it.
fn of_trials(kind: FindingKind, trials: &[TrialRecord], shows: impl Fn(&TrialRecord) -> bool) -> Option<Finding> {
    let trials: Vec<u32> = trials.iter().filter(|trial| shows(trial)).map(|trial| trial.trial).collect();
    (!trials.is_empty()).then(|| Finding { trials, ..Finding::confirmed(kind) })
}

fn has_flag(trial: &TrialRecord, flag: &str) -> bool {
    trial.flags.iter().any(|one| one == flag)
}

/// Of every contender, where one of them lost too many, so that they can be compared.
fn lost_transactions(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<Finding> {
    let mut all: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.status == Status::Ok && trial.purpose.is_compare()) {
        let count = |name: &str| trial.metrics.get(name).copied().unwrap_or(0.0);
        let (failed, due) = all.entry((&trial.workload, &trial.contender)).or_default();
        *failed += count("transactions.failed");
        *due += count("transactions.due");
    }
    let of = |((workload, contender), (failed, due)): (&(&str, &str), &(f64, f64))| Lost {
        contender: (*contender).to_owned(),
        workload: (*workload).to_owned(),
        failed: *failed,
        due: *due,
        share: failed / due.max(1.0),
    };
    let lost: Vec<Lost> = all.iter().map(of).collect();
    let is_lost = plan.crashes().is_empty() && lost.iter().any(|one| one.share > LOST_SHARE_MAX);
    when(FindingKind::LostTransactions, is_lost).map(|one| one.with(Facts::Lost(lost)))
}

fn behind_pooler(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Option<Finding> {
    let behind = |name: &String| {
        let pooler = run.contenders.get(name)?.pooler.clone()?;
        let own = trials.iter().filter(|trial| trial.contender == *name && trial.status == Status::Ok);
        // A pooler that gives all its sessions to clients has none for whoever looks while they work.
        let of = |trial: &TrialRecord| {
            ["state.sessions", "state.sessions_end"].into_iter().find_map(|name| trial.metrics.get(name).copied())
        };
        let sessions = own.filter_map(of).max_by(f64::total_cmp);
        Some(BehindPooler { contender: name.clone(), pooler, sessions })
    };
    let all: Vec<BehindPooler> = plan.contenders.iter().filter_map(|one| behind(&one.name)).collect();
    when(FindingKind::BehindPooler, !all.is_empty()).map(|one| one.with(Facts::BehindPooler(all)))
}

/// Settings, in the spelling of [`plain`], by which statements mean something else, wait or end otherwise.
const OF_THE_WORK: &[&str] = &[
    "autocommit",
    "character_set_server",
    "collation_server",
    "default_storage_engine",
    "default_transaction_read_only",
    "innodb_lock_wait_timeout",
    "lc_collate",
    "lock_timeout",
    "lower_case_table_names",
    "max_execution_time",
    "max_statement_time",
    "server_encoding",
    "sql_mode",
    "statement_timeout",
    "time_zone",
    "timezone",
];

fn work_differs(plan: &PlanRecord, run: &RunRecord) -> Option<Finding> {
    let of = |drift: &Difference| -> Vec<WorkDiffers> {
        let settings = drift.settings.iter().filter(|one| OF_THE_WORK.contains(&plain(one.name).as_str()));
        let both = settings.filter_map(|one| {
            Some(WorkDiffers {
                setting: one.name.to_owned(),
                baseline: drift.baseline.to_owned(),
                candidate: drift.candidate.to_owned(),
                of_baseline: one.baseline?.to_owned(),
                of_candidate: one.candidate?.to_owned(),
            })
        });
        both.collect()
    };
    let all: Vec<WorkDiffers> = drifts(plan, run).iter().flat_map(of).collect();
    when(FindingKind::WorkDiffers, !all.is_empty()).map(|one| one.with(Facts::WorkDiffers(all)))
}

fn given_up(circumstances: &Conditions) -> Option<Finding> {
    let given_up = &circumstances.given_up;
    when(FindingKind::GivenUp, !given_up.is_empty()).map(|one| one.with(Facts::GivenUp(given_up.clone())))
}

fn headroom(circumstances: &Conditions) -> Option<Finding> {
    let bound: Vec<Doubled> = circumstances.doublings.iter().filter(|one| one.is_bound()).cloned().collect();
    when(FindingKind::GeneratorBound, !bound.is_empty()).map(|one| one.with(Facts::Headroom(bound)))
}

/// What was planned and did not come about.
fn headroom_unfinished(circumstances: &Conditions) -> Option<Finding> {
    let open = &circumstances.headroom_open;
    let finding = when(FindingKind::HeadroomUnfinished, !open.is_empty());
    finding.map(|one| one.with(Facts::HeadroomUnfinished(open.clone())))
}

fn cause_tests_unfinished(circumstances: &Conditions) -> Option<Finding> {
    let open = &circumstances.contrasts_open;
    let finding = when(FindingKind::CauseTestUnfinished, !open.is_empty());
    finding.map(|one| one.with(Facts::CauseTestsUnfinished(open.clone())))
}

fn false_differences(circumstances: &Conditions) -> Option<Finding> {
    let found = &circumstances.false_differences;
    when(FindingKind::NoisyHost, !found.is_empty()).map(|one| one.with(Facts::FalseDifferences(found.clone())))
}

/// Pointers of half the size make other caches, other instructions and other costs of a transaction.
fn word_sizes(plan: &PlanRecord, run: &RunRecord) -> BTreeSet<u32> {
    let bits = |name: &str| run.contenders.get(name)?.build.word_bits;
    plan.contenders.iter().filter_map(|one| bits(&one.name)).collect()
}

/// Versions of one engine are compared, and dbduel set something that one of them has otherwise.
fn compares_changed_defaults(plan: &PlanRecord, run: &RunRecord) -> bool {
    let is_changed = |name: &str| run.contenders.get(name).is_some_and(|facts| !facts.changed_defaults.is_empty());
    plan.contenders.iter().filter(|one| is_changed(&one.name)).any(|one| {
        let is_other_version = |other: &ContenderRecord| other.kind == one.kind && other.version != one.version;
        plan.contenders.iter().any(is_other_version)
    })
}

/// Some contender of a pass did not do all of the work, or not rightly. A program without an operation is no news
/// beside the operation.
fn is_unequal(duel: &HeadToHead) -> bool {
    duel.parts.iter().flat_map(|parts| &parts.left_out).any(|one| one.kind != PARTIAL)
}

/// Who was not measured, and which steps are worth something else where the others are there.
fn of_ladders<'a>(
    circumstances: &Conditions,
    all: impl Iterator<Item = (&'a str, &'a [Ladder])>,
) -> impl Iterator<Item = Finding> {
    let refused = when(FindingKind::Refused, !circumstances.refused.is_empty());
    let ladders = all.flat_map(|(workload, ladders)| ladders.iter().map(move |ladder| (workload, ladder)));
    let interactions =
        ladders.flat_map(|(workload, ladder)| ladder.interactions.iter().map(move |one| (workload, one)));
    let order = interactions.filter(|(_, one)| one.order_matters()).map(|(workload, one)| {
        let facts = Facts::OrderMatters { workload: workload.to_owned(), interaction: Box::new(one.clone()) };
        Finding::confirmed(FindingKind::OrderMatters).supported().with(facts)
    });
    refused.into_iter().chain(order.collect::<Vec<_>>())
}

/// What one point leaves to the next.
fn fast_sweep(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<Finding> {
    let found = of_trials(FindingKind::FastSweep, trials, |trial| trial.shares_start_with.is_some());
    found.filter(|_| plan.method.fast_sweep)
}

fn duet(plan: &PlanRecord, run: &RunRecord, workloads: &[WorkloadConclusions]) -> Option<Finding> {
    let mut duels = workloads.iter().flat_map(|workload| &workload.duels);
    let is_any = !run.client.sides.is_empty() || duels.any(|duel| duel.solo.is_some() || !duel.unfounded.is_empty());
    when(FindingKind::Duet, plan.method.duet && is_any)
}

/// What servers put off and was left when their trials ended.
pub fn work_left(left: Vec<WorkLeft>) -> Option<Finding> {
    when(FindingKind::WorkLeft, !left.is_empty()).map(|one| one.with(Facts::WorkLeft(left)))
}
