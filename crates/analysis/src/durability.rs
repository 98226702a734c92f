//! What crashes have shown: which commits were kept, whether that is what the settings promise, and how long the
//! servers were away.
//!
//! Classes: D3 survives an OS crash and a kill, D2 a kill alone, D1 may lose a window of commits at a kill, D0 may leave
//! data that contradict themselves. That no crash lost a commit bounds a probability and proves nothing.

use schemars::JsonSchema;
use serde::Serialize;
use stats::{median_interval, theil_sen};

use super::named::named;
use record::format::crash::{
    ACKNOWLEDGED, CORRUPTION, CrashKind, FIRST_COMMIT, FIRST_LOGIN, FULL_RATE, HOLES, INTEGRITY_CHECK, LOST, REDO,
    UNKNOWN, WINDOW, WORK_COMMITS,
};
use record::format::{PlanRecord, Purpose, RunRecord, Status, TrialRecord};
use record::metric::counted;

/// The step of a trial whose server did not come back.
const RESTART: &str = "restart";
const CONFIDENCE: f64 = 0.95;
const GIB: f64 = (1u64 << 30) as f64;

/// One contender under one workload.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Durability {
    pub workload: String,
    pub contender: String,
    /// From the settings; null where it is not known.
    pub claimed: Option<String>,
    pub measured: Option<MeasuredClass>,
    /// Crashes have shown less than the settings promise.
    pub is_broken: bool,
    pub crashes: Vec<CrashTally>,
    pub recovery: RecoveryFigures,
    /// The engine's own check of its tables; null where it has none, or no crash came so far.
    pub integrity_check: Option<String>,
}

/// What crashes of one kind have left.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CrashTally {
    pub kind: CrashKind,
    /// Those that were followed to the end, and those behind which the server did not start again.
    pub crashes: usize,
    pub not_restarted: usize,
    /// Trials that failed for another reason: they show nothing.
    pub failed: usize,
    /// Crashes that lost an acknowledged commit.
    pub losing: usize,
    pub acknowledged: u64,
    pub lost: u64,
    pub holes: u64,
    pub unknown: u64,
    /// Each kind of damage that was found, by its metric.
    pub damage: Vec<(String, u64)>,
    /// The longest time before a crash from which a commit was lost.
    pub window_s: Option<f64>,
    /// With 95 % confidence, where no crash lost anything.
    pub loss_probability_below: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MeasuredClass {
    pub class: &'static str,
    pub known: ClassBound,
}

named! {
    /// How far the kinds of crashes that were made can tell classes apart.
    pub enum ClassBound {
        Exactly = "exactly",
        AtLeast = "at least",
        AtMost = "at most",
    }
}

impl MeasuredClass {
    /// `D3`, `at least D2`.
    pub fn text(&self) -> String {
        match self.known {
            ClassBound::Exactly => self.class.to_owned(),
            bound => format!("{} {}", bound.as_str(), self.class),
        }
    }
}

/// Medians over the crashes.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecoveryFigures {
    /// Before the crash.
    pub tps: Option<f64>,
    pub t_conn_s: Option<f64>,
    pub t_rw_s: Option<f64>,
    /// The interval of that median, from one crash to another; null where there are too few.
    pub t_rw_s_low: Option<f64>,
    pub t_rw_s_high: Option<f64>,
    pub t_rw_s_max: Option<f64>,
    pub t_95_s: Option<f64>,
    /// Crashes behind which the rate did not come back while it was waited for.
    pub without_full_rate: usize,
    /// All commits of a workload beside the ledger until the crashes; null where the ledger is all.
    pub work_commits: Option<u64>,
    pub redo_bytes: Option<f64>,
    /// Time to the first commit over redo log; null where the server does not show its log, or it was always as long.
    pub per_redo: Option<PerRedo>,
    /// Redo log in bytes and time to the first commit, crash by crash.
    #[serde(skip)]
    pub pairs: Vec<(f64, f64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PerRedo {
    pub seconds_per_gib: f64,
    pub low: f64,
    pub high: f64,
    pub intercept_s: f64,
    pub crashes: usize,
}

/// Each contender under each workload, in the order of the plan; nothing where no trial ends in a crash.
pub fn durability(plan: &PlanRecord, run: &RunRecord, trials: &[TrialRecord]) -> Vec<Durability> {
    let kinds = plan.crashes();
    if kinds.is_empty() {
        return Vec::new();
    }
    let both = plan.workloads.iter().flat_map(|workload| plan.contenders.iter().map(move |who| (workload, who)));
    both.map(|(workload, contender)| {
        let is_ours = |one: &&TrialRecord| one.workload == workload.label && one.contender == contender.name;
        let ours: Vec<&TrialRecord> = trials.iter().filter(is_ours).collect();
        let claimed = run.contenders.get(&contender.name).map(|facts| facts.durability_class.clone());
        of_contender(&workload.label, &contender.name, claimed, &kinds, &ours)
    })
    .collect()
}

fn of_contender(
    workload: &str,
    contender: &str,
    claimed: Option<String>,
    kinds: &[CrashKind],
    ours: &[&TrialRecord],
) -> Durability {
    let of_kind = |kind: &CrashKind| {
        let is_of_kind = |one: &&&TrialRecord| matches!(one.purpose, Purpose::Crash { kind: its, .. } if its == *kind);
        tally(*kind, &ours.iter().filter(is_of_kind).copied().collect::<Vec<_>>())
    };
    let crashes: Vec<CrashTally> = kinds.iter().map(of_kind).collect();
    let measured = measured_class(&crashes);
    let is_broken = claimed.as_ref().zip(measured).is_some_and(|(claimed, measured)| {
        measured.known != ClassBound::AtLeast && measured.class < claimed.as_str() && claimed.starts_with('D')
    });
    Durability {
        workload: workload.to_owned(),
        contender: contender.to_owned(),
        claimed,
        measured,
        is_broken,
        crashes,
        recovery: figures(ours),
        integrity_check: ours.iter().find_map(|one| one.remarks.get(INTEGRITY_CHECK)).cloned(),
    }
}

fn value(trial: &TrialRecord, metric: &str) -> Option<f64> {
    trial.metrics.get(metric).copied()
}

fn tally(kind: CrashKind, trials: &[&TrialRecord]) -> CrashTally {
    let ok: Vec<&TrialRecord> = trials.iter().filter(|one| one.status == Status::Ok).copied().collect();
    let is_restart = |one: &&&TrialRecord| one.failure.as_ref().is_some_and(|failure| failure.step == RESTART);
    let not_restarted = trials.iter().filter(is_restart).count();
    let sum = |metric: &str| counted(ok.iter().filter_map(|one| value(one, metric)).sum());
    let losing = ok.iter().filter(|one| value(one, LOST).is_some_and(|lost| lost > 0.0)).count();
    let damage = CORRUPTION.iter().map(|metric| ((*metric).to_owned(), sum(metric))).filter(|(_, count)| *count > 0);
    let crashes = ok.len() + not_restarted;
    let is_clean = losing == 0 && not_restarted == 0 && crashes > 0;
    CrashTally {
        kind,
        crashes,
        not_restarted,
        failed: trials.len() - crashes,
        losing,
        acknowledged: sum(ACKNOWLEDGED),
        lost: sum(LOST),
        holes: sum(HOLES),
        unknown: sum(UNKNOWN),
        damage: damage.collect(),
        window_s: ok.iter().filter_map(|one| value(one, WINDOW)).filter(|window| *window > 0.0).reduce(f64::max),
        loss_probability_below: is_clean.then(|| 1.0 - (1.0 - CONFIDENCE).powf(1.0 / crashes as f64)),
    }
}

/// An OS crash kills the server too: who survives it survives a kill.
fn measured_class(crashes: &[CrashTally]) -> Option<MeasuredClass> {
    let of = |kind: CrashKind| crashes.iter().find(|tally| tally.kind == kind && tally.crashes > 0);
    let (kill, os) = (of(CrashKind::Kill), of(CrashKind::Os));
    let is_damaged = |tally: &&CrashTally| !tally.damage.is_empty() || tally.not_restarted > 0;
    let class = |class, known| Some(MeasuredClass { class, known });
    if [kill, os].iter().flatten().any(is_damaged) {
        return class("D0", ClassBound::Exactly);
    }
    match (kill.map(|kill| kill.losing), os.map(|os| os.losing)) {
        (None, None) => None,
        (Some(1..), _) => class("D1", ClassBound::Exactly),
        (None, Some(1..)) => class("D2", ClassBound::AtMost),
        (Some(0), Some(1..)) => class("D2", ClassBound::Exactly),
        (Some(0), None) => class("D2", ClassBound::AtLeast),
        (_, Some(0)) => class("D3", ClassBound::Exactly),
    }
}

fn figures(trials: &[&TrialRecord]) -> RecoveryFigures {
    let ok: Vec<&TrialRecord> = trials.iter().filter(|one| one.status == Status::Ok).copied().collect();
    let all = |metric: &str| {
        let mut all: Vec<f64> = ok.iter().filter_map(|one| value(one, metric)).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let pairs: Vec<(f64, f64)> = ok.iter().filter_map(|one| value(one, REDO).zip(value(one, FIRST_COMMIT))).collect();
    let bounds = median_interval(&all(FIRST_COMMIT), CONFIDENCE).and_then(|median| median.bounds);
    RecoveryFigures {
        tps: median(&all("tps")),
        t_conn_s: median(&all(FIRST_LOGIN)),
        t_rw_s: median(&all(FIRST_COMMIT)),
        t_rw_s_low: bounds.map(|bounds| bounds.low),
        t_rw_s_high: bounds.map(|bounds| bounds.high),
        t_rw_s_max: all(FIRST_COMMIT).last().copied(),
        t_95_s: median(&all(FULL_RATE)),
        without_full_rate: ok.len() - all(FULL_RATE).len(),
        work_commits: Some(all(WORK_COMMITS)).filter(|all| !all.is_empty()).map(|all| counted(all.iter().sum())),
        redo_bytes: median(&all(REDO)),
        per_redo: per_redo(&pairs),
        pairs,
    }
}

fn per_redo(pairs: &[(f64, f64)]) -> Option<PerRedo> {
    let in_gib: Vec<(f64, f64)> = pairs.iter().map(|(bytes, seconds)| (bytes / GIB, *seconds)).collect();
    theil_sen(&in_gib, CONFIDENCE).map(|slope| PerRedo {
        seconds_per_gib: slope.value,
        low: slope.interval.low,
        high: slope.interval.high,
        intercept_s: slope.intercept,
        crashes: slope.points,
    })
}

/// The crashes of several contenders as one set, for contenders that differ in how much redo log they keep: what a
/// larger log costs lies between them more than inside each of them.
pub fn pooled(all: &[Durability]) -> Option<PerRedo> {
    let with_redo: Vec<&Durability> = all.iter().filter(|one| !one.recovery.pairs.is_empty()).collect();
    let pairs: Vec<(f64, f64)> = with_redo.iter().flat_map(|one| one.recovery.pairs.iter().copied()).collect();
    if with_redo.len() < 2 { None } else { per_redo(&pairs) }
}

/// Of values in ascending order.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { upper } else { (sorted[middle - 1] + upper) / 2.0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{Story, stored_run};
    use record::format::Failure;
    use record::format::crash::PHANTOM;

    fn trial(kind: CrashKind, metrics: &[(&str, f64)]) -> TrialRecord {
        let first = stored_run(&Story::default()).trials.swap_remove(0);
        let usual = [(ACKNOWLEDGED, 100.0), (LOST, 0.0), (FIRST_COMMIT, 0.5)];
        let metrics = usual.iter().chain(metrics).map(|(name, value)| ((*name).to_owned(), *value)).collect();
        TrialRecord { purpose: Purpose::Crash { kind, after_ms: 1_000 }, status: Status::Ok, metrics, ..first }
    }

    fn judged(claimed: &str, trials: &[TrialRecord]) -> Durability {
        let ours: Vec<&TrialRecord> = trials.iter().collect();
        of_contender("ledger", "a", Some(claimed.to_owned()), &[CrashKind::Kill, CrashKind::Os], &ours)
    }

    fn class(durability: &Durability) -> (&'static str, ClassBound, bool) {
        let measured = durability.measured.unwrap();
        (measured.class, measured.known, durability.is_broken)
    }

    const LOSS: &[(&str, f64)] = &[(LOST, 7.0), (WINDOW, 0.2)];

    #[test]
    fn a_class_follows_from_the_crash_that_lost_commits() {
        let (kill, os) = (trial(CrashKind::Kill, &[]), trial(CrashKind::Os, &[]));
        let (lossy_kill, lossy_os) = (trial(CrashKind::Kill, LOSS), trial(CrashKind::Os, LOSS));
        for (claimed, trials, expected) in [
            ("D3", vec![kill.clone(), os.clone()], ("D3", ClassBound::Exactly, false)),
            ("D2", vec![kill.clone(), os.clone(), lossy_os.clone()], ("D2", ClassBound::Exactly, false)),
            ("D3", vec![kill.clone(), lossy_os.clone()], ("D2", ClassBound::Exactly, true)),
            ("D1", vec![lossy_kill.clone(), os.clone()], ("D1", ClassBound::Exactly, false)),
            ("D2", vec![lossy_kill], ("D1", ClassBound::Exactly, true)),
            ("D3", vec![kill.clone()], ("D2", ClassBound::AtLeast, false)),
            ("D1", vec![lossy_os], ("D2", ClassBound::AtMost, false)),
            ("D1", vec![kill, trial(CrashKind::Os, &[(PHANTOM, 1.0)])], ("D0", ClassBound::Exactly, true)),
        ] {
            assert_eq!(class(&judged(claimed, &trials)), expected, "{claimed}");
        }
    }

    #[test]
    fn without_a_loss_a_probability_is_bounded_and_with_one_the_window_counts() {
        let clean: Vec<TrialRecord> = (0..30).map(|_| trial(CrashKind::Kill, &[])).collect();
        let kills = judged("D3", &clean).crashes.swap_remove(0);
        assert!((kills.loss_probability_below.unwrap() - 0.095).abs() < 5e-4, "{kills:?}");
        assert_eq!((kills.crashes, kills.losing, kills.acknowledged, kills.window_s), (30, 0, 3_000, None));
        let lossy = judged("D1", &[clean[0].clone(), trial(CrashKind::Kill, LOSS)]).crashes.swap_remove(0);
        assert_eq!((lossy.losing, lossy.lost, lossy.window_s, lossy.loss_probability_below), (1, 7, Some(0.2), None));
    }

    #[test]
    fn a_server_that_does_not_come_back_is_damage_and_another_failure_is_none() {
        let failed = |step: &str| {
            let failure = Some(Failure { step: step.to_owned(), message: "no".to_owned(), ..Failure::default() });
            TrialRecord { status: Status::Failed, failure, metrics: Default::default(), ..trial(CrashKind::Kill, &[]) }
        };
        let gone = judged("D3", &[trial(CrashKind::Kill, &[]), failed("restart")]);
        assert_eq!((class(&gone), gone.crashes[0].crashes), (("D0", ClassBound::Exactly, true), 2));
        let other = judged("D3", &[trial(CrashKind::Kill, &[]), failed("load")]);
        assert_eq!((class(&other), other.crashes[0].failed), (("D2", ClassBound::AtLeast, false), 1));
    }

    #[test]
    fn pooled_crashes_show_a_slope_that_no_contender_shows_alone() {
        let contender = |redo_gib: f64| {
            let crash = |n: u32| {
                let redo = redo_gib + 0.001 * f64::from(n % 3);
                trial(
                    CrashKind::Kill,
                    &[(REDO, redo * GIB), (FIRST_COMMIT, 1.0 + 2.0 * redo_gib + f64::from(n) / 50.0)],
                )
            };
            judged("D3", &(1..=8).map(crash).collect::<Vec<_>>())
        };
        let all = [contender(0.5), contender(1.0), contender(2.0)];
        let slope = pooled(&all).unwrap();
        assert_eq!(slope.crashes, 24);
        assert!((slope.seconds_per_gib - 2.0).abs() < 0.2 && slope.low > 1.5 && slope.high < 2.5, "{slope:?}");
        let alone = all[0].recovery.per_redo.unwrap();
        assert!(alone.low < 0.0 && alone.high > 0.0, "{alone:?}");
        assert!(pooled(&all[..1]).is_none());
        let bounds = (all[0].recovery.t_rw_s_low, all[0].recovery.t_rw_s_high);
        assert_eq!(bounds, (Some(2.02), Some(2.16)), "eight crashes: from the first to the last");
    }

    #[test]
    fn recovery_time_rises_with_the_redo_log() {
        let gib = |n: f64| n * GIB;
        let trials: Vec<TrialRecord> = (1..=8)
            .map(|n| trial(CrashKind::Kill, &[(REDO, gib(f64::from(n) / 4.0)), (FIRST_COMMIT, 1.0 + f64::from(n))]))
            .collect();
        let figures = judged("D3", &trials).recovery;
        let slope = figures.per_redo.unwrap();
        assert!((slope.seconds_per_gib - 4.0).abs() < 1e-9 && (slope.intercept_s - 1.0).abs() < 1e-9, "{slope:?}");
        assert_eq!((figures.t_rw_s, figures.t_rw_s_max, figures.without_full_rate), (Some(5.5), Some(9.0), 8));
    }
}
