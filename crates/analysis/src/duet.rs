//! What a duet's ratio rests on: whether running at the same time changed what was compared.
//!
//! Two servers at once share whatever is not divided between them. The ratio means something only where
//! nothing of that ran short, and where contenders that ran alone came out alike (method, section 1, "Duet
//! mode"). Each condition that does not hold takes the verdict away, and reports it.

use schemars::JsonSchema;
use serde::Serialize;
use stats::Interval;

use record::blocks::SOLO_BLOCKS;
use record::format::{Point, TrialRecord};

use super::scope::{Scope, Surroundings};

/// Above these shares something that both sides use was short (method, section 1).
const IOWAIT_MAX: f64 = 0.02;
const DISK_BUSY_MAX: f64 = 0.20;
const BUSY_MAX: f64 = 0.80;
/// Data of which less was in the page cache before the start were read from a disk.
const RESIDENT_MIN: f64 = 0.95;
const PHYSICAL_CORES_MIN: u32 = 2;

/// Solo blocks are few, so their interval is Student's.
const CONFIDENCE: f64 = 0.95;

const IOWAIT: &str = "host_iowait_share";
/// Shares of the machine's CPU time in which a core was busy.
const BUSY: [&str; 5] =
    ["host_user_share", "host_system_share", "host_irq_share", "host_softirq_share", "host_steal_share"];
const RESIDENT: &str = "data_resident_share";

/// Something that a duet's verdict would have to rest on, and does not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unfounded {
    PhysicalCoresNotKnown,
    /// Fewer per side than this.
    TooFewPhysicalCores {
        least: u32,
    },
    NotVisible(Shared),
    /// In use by at least as much as allowed.
    Busy {
        what: Shared,
        share: f64,
        allowed: f64,
    },
    DataSizeNotKnown,
    DataLargerThanMemory,
    /// This share of the data was in memory at the start.
    DataNotInMemory {
        share: f64,
    },
    /// The bias check: contenders that ran alone.
    SoloBlocksMissing {
        blocks: usize,
        has_interval: bool,
    },
    Biased {
        alone: (f64, f64),
        duet: (f64, f64),
    },
}

/// What both sides use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    Iowait,
    BusiestDisk,
    Cpu,
}

/// What contenders that ran alone showed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Solo {
    pub blocks: usize,
    /// Of the ratio, with its bounds; absent below two blocks.
    pub ratio: Option<[f64; 3]>,
}

impl Solo {
    pub(crate) fn of(scope: &Scope, metric: &str, points: &[Point]) -> Solo {
        let blocks = scope.plan.method.blocks;
        let solo = blocks + 1..=blocks + SOLO_BLOCKS;
        let log_ratios: Vec<f64> = solo.filter_map(|block| scope.log_ratio_of(metric, points, block)).collect();
        let bounds = stats::t_interval(&log_ratios, CONFIDENCE);
        let ratio = bounds.zip(stats::mean(&log_ratios));
        let ratio = ratio.map(|(bounds, mean)| [mean, bounds.low, bounds.high].map(f64::exp));
        Solo { blocks: log_ratios.len(), ratio }
    }

    /// Why the duet's ratio is not shown to be free of bias.
    fn against(&self, duet: Option<Interval>) -> Option<Unfounded> {
        let missing = |has_interval| Some(Unfounded::SoloBlocksMissing { blocks: self.blocks, has_interval });
        let (Some([_, low, high]), Some(duet)) = (self.ratio, duet) else { return missing(false) };
        if self.blocks < SOLO_BLOCKS as usize {
            return missing(true);
        }
        let (from, to) = (duet.low.exp(), duet.high.exp());
        (high < from || to < low).then_some(Unfounded::Biased { alone: (low, high), duet: (from, to) })
    }
}

/// Every condition that does not hold for the comparison of these points; nothing for what is no duet, and
/// while a run goes on, whose solo blocks come last.
pub fn unfounded(scope: &Scope, metric: &str, points: &[Point], duet: Option<Interval>) -> Vec<Unfounded> {
    let Some(known) = &scope.circumstances.duet else { return Vec::new() };
    let trials = trials_of(scope, points);
    let seen = |name: &str| mean_of(&trials, |trial| trial.metrics.get(name).copied());
    let below = |what: Shared, share: Option<f64>, allowed: f64| match share {
        None => Some(Unfounded::NotVisible(what)),
        Some(share) => (share >= allowed).then_some(Unfounded::Busy { what, share, allowed }),
    };
    let reasons = [
        too_few_cores(known),
        below(Shared::Iowait, seen(IOWAIT), IOWAIT_MAX),
        below(Shared::BusiestDisk, known.disks_are_visible.then(|| busiest_disk(&trials)), DISK_BUSY_MAX),
        below(Shared::Cpu, mean_of(&trials, busy), BUSY_MAX),
        not_in_memory(known, scope.workload, seen(RESIDENT)),
        Solo::of(scope, metric, points).against(duet),
    ];
    reasons.into_iter().flatten().collect()
}

fn too_few_cores(known: &Surroundings) -> Option<Unfounded> {
    match known.physical_cores {
        Some(cores) if cores >= PHYSICAL_CORES_MIN => None,
        Some(_) => Some(Unfounded::TooFewPhysicalCores { least: PHYSICAL_CORES_MIN }),
        None => Some(Unfounded::PhysicalCoresNotKnown),
    }
}

fn not_in_memory(known: &Surroundings, workload: &str, resident: Option<f64>) -> Option<Unfounded> {
    match known.bytes_of(workload) {
        None => Some(Unfounded::DataSizeNotKnown),
        Some(bytes) if bytes > known.memory_bytes => Some(Unfounded::DataLargerThanMemory),
        Some(_) => {
            let resident = resident.filter(|share| *share < RESIDENT_MIN);
            resident.map(|share| Unfounded::DataNotInMemory { share })
        }
    }
}

/// Both sides' trials in which something was measured.
fn trials_of<'a>(scope: &Scope<'a>, points: &[Point]) -> Vec<&'a TrialRecord> {
    let both = [scope.plan.baseline.as_str(), scope.candidate];
    let blocks = 1..=scope.plan.method.blocks;
    let places = blocks.flat_map(|block| points.iter().map(move |point| (block, point)));
    let found = places.flat_map(|(block, point)| {
        both.map(|contender| scope.records.find(scope.workload, point, contender, block)).into_iter().flatten()
    });
    found.filter(|trial| !trial.metrics.is_empty()).collect()
}

/// None where any trial does not show it.
fn mean_of(trials: &[&TrialRecord], value: impl Fn(&TrialRecord) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = trials.iter().map(|trial| value(trial)).collect();
    stats::mean(&values?)
}

fn busy(trial: &TrialRecord) -> Option<f64> {
    trial.metrics.get(BUSY[0])?;
    Some(BUSY.iter().filter_map(|name| trial.metrics.get(*name)).sum())
}

/// A disk that has done nothing since boot is left out.
fn busiest_disk(trials: &[&TrialRecord]) -> f64 {
    let busiest = |trial: &TrialRecord| {
        let disks =
            trial.metrics.iter().filter(|(name, _)| name.starts_with("host_disk.") && name.ends_with(".busy_share"));
        Some(disks.map(|(_, share)| *share).fold(0.0, f64::max))
    };
    mean_of(trials, busiest).unwrap_or(0.0)
}

/// Nothing for what is no duet.
pub fn solo(scope: &Scope, metric: &str, points: &[Point]) -> Option<Solo> {
    scope.circumstances.duet.as_ref().map(|_| Solo::of(scope, metric, points))
}

#[cfg(test)]
mod tests {
    use super::Unfounded;
    use crate::{Caveat, EndReason, FindingKind, Verdict, conclude, should_stop};
    use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, stored_run};
    use record::format::{SideRecord, TrialRecord};

    const BLOCKS: u32 = 8;

    /// A duet on an undisturbed host with CPUs for two, and four solo blocks behind it.
    fn duet(ratio: f64, alone: f64) -> StoredRun {
        let mut stored =
            stored_run(&Story { blocks: BLOCKS + super::SOLO_BLOCKS, ratios: [ratio; 4], ..Story::default() });
        stored.plan.method.blocks = BLOCKS;
        stored.plan.method.duet = true;
        let side = |cores: &str| SideRecord { cores: cores.into(), physical_cores: 2 };
        stored.run.client.sides = vec![side("0,2"), side("1,3")];
        for trial in &mut stored.trials {
            let shares = [("host_user_share", 0.5), ("host_system_share", 0.1), ("host_iowait_share", 0.001)];
            trial.metrics.extend(shares.map(|(name, share)| (name.to_owned(), share)));
            trial.metrics.insert(super::RESIDENT.into(), 1.0);
            if trial.block > BLOCKS && trial.contender == CANDIDATE {
                trial.metrics.entry("tps".into()).and_modify(|tps| *tps *= alone / ratio);
            }
        }
        stored
    }

    fn set(stored: &mut StoredRun, name: &str, value: f64) {
        stored.trials.iter_mut().for_each(|trial| _ = trial.metrics.insert(name.into(), value));
    }

    /// The verdict of the sweep is taken, and this is why.
    fn check_refused(stored: &StoredRun, is_why: impl Fn(&Unfounded) -> bool) {
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let duel = &conclusions.workloads[0].duels[0];
        let words = (duel.overall.verdict, duel.points[0].verdict);
        assert_eq!(words, (Verdict::Inconclusive, Verdict::Inconclusive), "{:?}", duel.unfounded);
        assert!(duel.overall.caveats.contains(&Caveat::Duet), "{:?}", duel.unfounded);
        assert!(duel.unfounded.iter().any(is_why), "{:?}", duel.unfounded);
        assert!(conclusions.findings.iter().any(|finding| finding.kind == FindingKind::Duet));
    }

    #[test]
    fn a_sound_duet_has_its_verdict_with_the_caveat() {
        let stored = duet(0.9, 0.9);
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let duel = &conclusions.workloads[0].duels[0];
        assert_eq!((duel.overall.verdict, duel.overall.blocks), (Verdict::Slower, 8), "{:?}", duel.unfounded);
        assert!(duel.overall.caveats.contains(&Caveat::Duet) && duel.unfounded.is_empty());
        assert!(conclusions.findings.iter().any(|finding| finding.kind == FindingKind::Duet));
        let solo = duel.solo.unwrap();
        assert_eq!((solo.blocks, solo.ratio.map(|[ratio, ..]| (ratio * 1000.0).round())), (4, Some(894.0)));
    }

    #[test]
    fn each_condition_that_does_not_hold_withholds_the_verdict_and_is_listed() {
        use super::Shared::*;
        use Unfounded::*;
        let check = |change: &dyn Fn(&mut StoredRun), expected: Unfounded| {
            let mut stored = duet(0.9, 0.9);
            change(&mut stored);
            check_refused(&stored, |why| *why == expected);
        };
        let check_busy = |change: &dyn Fn(&mut StoredRun), used: super::Shared, least: f64| {
            let mut stored = duet(0.9, 0.9);
            change(&mut stored);
            let is_used = |share: f64| (share - least).abs() < 1e-9;
            check_refused(&stored, |why| matches!(why, Busy { what, share, .. } if *what == used && is_used(*share)));
        };
        check_busy(&|run| set(run, super::IOWAIT, 0.03), Iowait, 0.03);
        check_busy(&|run| set(run, "host_disk.vda.busy_share", 0.25), BusiestDisk, 0.25);
        check_busy(&|run| set(run, "host_user_share", 0.75), Cpu, 0.85);
        check(&|run| set(run, super::RESIDENT, 0.5), DataNotInMemory { share: 0.5 });
        check(&|run| run.run.client.sides[1].physical_cores = 1, TooFewPhysicalCores { least: 2 });
        check(&|run| run.run.host.memory_bytes = 1 << 20, DataLargerThanMemory);
        check(&|run| run.run.host.not_visible = vec!["disks".into()], NotVisible(BusiestDisk));
        let hide = |trial: &mut TrialRecord| _ = trial.metrics.remove(super::IOWAIT);
        check(&|run| run.trials.iter_mut().for_each(hide), NotVisible(Iowait));
        check(&|run| run.trials.retain(|trial| trial.block < 12), SoloBlocksMissing { blocks: 3, has_interval: true });
    }

    #[test]
    fn a_duet_gives_no_verdict_that_solo_blocks_contradict() {
        check_refused(&duet(0.9, 1.1), |why| matches!(why, Unfounded::Biased { .. }));
    }

    #[test]
    fn while_it_goes_on_a_duet_is_stopped_by_its_numbers_and_solo_blocks_are_no_blocks_of_it() {
        let stored = duet(0.9, 0.9);
        assert_eq!(should_stop(&stored.plan, &stored.trials[..64]), Some(EndReason::Blocks));
        let mut longer = duet(0.9, 0.9);
        longer.plan.method.blocks = 10;
        let last = |trial: &TrialRecord| trial.block <= 8;
        let ended = longer.trials.iter().filter(|trial| last(trial)).cloned().collect::<Vec<_>>();
        assert_eq!(should_stop(&longer.plan, &ended), Some(EndReason::Decided));
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let one_side: f64 = stored.trials.iter().filter(|trial| trial.contender == BASELINE).count() as f64;
        assert!(conclusions.tally.minutes < one_side * 1.5 * 11.5 / 60.0, "both sides take one time");
    }
}
