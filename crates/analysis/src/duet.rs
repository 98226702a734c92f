//! What a duet's ratio rests on: whether running at the same time changed what was compared.
//!
//! Two servers at once share whatever is not divided between them. The ratio means something only where
//! nothing of that ran short, and where contenders that ran alone came out alike (method, section 1, "Duet
//! mode"). Each condition that does not hold takes the word away, and says so.

use std::collections::BTreeMap;

use stats::Interval;

use record::blocks::SOLO_BLOCKS;
use record::format::{PlanRecord, Point, RunRecord, TrialRecord};

use super::comparison::{Scope, less_is_better};

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
/// Shares of the machine's CPU time in which a core did something for anybody.
const BUSY: [&str; 5] =
    ["host_user_share", "host_system_share", "host_irq_share", "host_softirq_share", "host_steal_share"];
const RESIDENT: &str = "data_resident_share";
/// As the record of a host calls what it cannot see of disks.
const DISKS: &str = "disks";

/// What is known of a duet beside its trials.
pub struct Surroundings {
    physical_cores: Option<u32>,
    memory_bytes: u64,
    /// By contender and title of the data: `tpcc`, `tpcc, 5 warehouses`.
    data_bytes: BTreeMap<String, BTreeMap<String, u64>>,
    disks_are_visible: bool,
}

impl Surroundings {
    pub fn of(plan: &PlanRecord, run: &RunRecord) -> Option<Surroundings> {
        plan.method.duet.then(|| Surroundings {
            physical_cores: run.client.sides.iter().map(|side| side.physical_cores).min(),
            memory_bytes: run.host.memory_bytes,
            data_bytes: run.contenders.iter().map(|(name, facts)| (name.clone(), facts.data_bytes.clone())).collect(),
            disks_are_visible: !run.host.not_visible.iter().any(|name| name == DISKS),
        })
    }

    /// The largest data of both contenders together.
    fn bytes_of(&self, workload: &str) -> Option<u64> {
        let is_ours = |title: &str| title == workload || title.starts_with(&format!("{workload}, "));
        let largest =
            |of: &BTreeMap<String, u64>| of.iter().filter(|(title, _)| is_ours(title)).map(|(_, bytes)| *bytes).max();
        let each: Option<Vec<u64>> = self.data_bytes.values().map(largest).collect();
        each.filter(|each| each.len() == 2).map(|each| each.iter().sum())
    }
}

/// What contenders that ran alone showed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solo {
    pub blocks: usize,
    /// Of the ratio, with its bounds; absent below two blocks.
    pub ratio: Option<[f64; 3]>,
}

impl Solo {
    pub fn of(scope: &Scope, metric: &str, points: &[Point]) -> Solo {
        let blocks = scope.plan.method.blocks;
        let solo = blocks + 1..=blocks + SOLO_BLOCKS;
        let log_ratios: Vec<f64> = solo.filter_map(|block| scope.log_ratio_of(metric, points, block)).collect();
        let bounds = stats::t_interval(&log_ratios, CONFIDENCE);
        let ratio = bounds.zip(stats::mean(&log_ratios));
        let ratio = ratio.map(|(bounds, mean)| [mean, bounds.low, bounds.high].map(f64::exp));
        Solo { blocks: log_ratios.len(), ratio }
    }

    /// Why the duet's ratio is not shown to be free of bias.
    fn against(&self, duet: Option<Interval>) -> Option<String> {
        let (Some([_, low, high]), Some(duet)) = (self.ratio, duet) else {
            return Some(format!("the bias check has {} of {SOLO_BLOCKS} solo blocks, or no interval", self.blocks));
        };
        if self.blocks < SOLO_BLOCKS as usize {
            return Some(format!("the bias check has {} of {SOLO_BLOCKS} solo blocks", self.blocks));
        }
        let (from, to) = (duet.low.exp(), duet.high.exp());
        (high < from || to < low).then(|| {
            format!("alone, contenders had a ratio of {low:.3} to {high:.3}, which does not meet {from:.3} to {to:.3} of the duet")
        })
    }
}

/// Every condition that does not hold for the comparison of these points; nothing for what is no duet, and
/// while a run goes on, whose solo blocks come last.
pub fn unfounded(scope: &Scope, metric: &str, points: &[Point], duet: Option<Interval>) -> Vec<String> {
    let Some(known) = &scope.circumstances.duet else { return Vec::new() };
    let trials = trials_of(scope, points);
    let seen = |name: &str| mean_of(&trials, |trial| trial.metrics.get(name).copied());
    let at_most = |what: &str, share: Option<f64>, most: f64| match share {
        None => Some(format!("{what} is not visible here")),
        Some(share) => (share >= most)
            .then(|| format!("{what} {:.1} %, and below {:.0} % is allowed", share * 100.0, most * 100.0)),
    };
    let reasons = [
        too_few_cores(known),
        at_most("iowait", seen(IOWAIT), IOWAIT_MAX),
        at_most("busiest disk", known.disks_are_visible.then(|| busiest_disk(&trials)), DISK_BUSY_MAX),
        at_most("busy CPU time of the host", mean_of(&trials, busy), BUSY_MAX),
        not_in_memory(known, scope.workload, seen(RESIDENT)),
        Solo::of(scope, metric, points).against(duet),
    ];
    reasons.into_iter().flatten().collect()
}

fn too_few_cores(known: &Surroundings) -> Option<String> {
    match known.physical_cores {
        Some(cores) if cores >= PHYSICAL_CORES_MIN => None,
        Some(_) => Some(format!("fewer than {PHYSICAL_CORES_MIN} physical cores per side")),
        None => Some("physical cores per side are not known".to_owned()),
    }
}

fn not_in_memory(known: &Surroundings, workload: &str, resident: Option<f64>) -> Option<String> {
    let Some(bytes) = known.bytes_of(workload) else {
        return Some("how large the data of both sides are is not known".to_owned());
    };
    if bytes > known.memory_bytes {
        return Some("the data of both sides together do not fit the memory".to_owned());
    }
    let resident = resident.filter(|share| *share < RESIDENT_MIN);
    resident.map(|share| format!("only {:.0} % of the data were in memory at the start", share * 100.0))
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

/// A disk that has done nothing since boot is not told of.
fn busiest_disk(trials: &[&TrialRecord]) -> f64 {
    let busiest = |trial: &TrialRecord| {
        let disks =
            trial.metrics.iter().filter(|(name, _)| name.starts_with("host_disk.") && name.ends_with(".busy_share"));
        Some(disks.map(|(_, share)| *share).fold(0.0, f64::max))
    };
    mean_of(trials, busiest).unwrap_or(0.0)
}

/// What a reader must know of a duet, and what its word rests on: lines of evidence.
pub fn evidence(scope: &Scope, metric: &str, points: &[Point]) -> Vec<String> {
    if scope.circumstances.duet.is_none() {
        return Vec::new();
    }
    let solo = Solo::of(scope, metric, points);
    let shown = solo.ratio.map_or("no ratio yet".to_owned(), |[ratio, low, high]| {
        format!("ratio {ratio:.3} (95 % t interval {low:.3} to {high:.3})")
    });
    let better = if less_is_better(metric) { " (above 1: less time)" } else { "" };
    vec![format!("{}, {} alone, {} blocks: {shown}{better}", scope.candidate, scope.workload, solo.blocks)]
}

#[cfg(test)]
mod tests {
    use crate::{Caveat, EndReason, Word, conclude, should_stop};
    use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, tell};
    use record::format::{SideRecord, TrialRecord};

    const BLOCKS: u32 = 8;

    /// A duet on a quiet host with room for two, and four solo blocks behind it.
    fn duet(ratio: f64, alone: f64) -> StoredRun {
        let mut stored = tell(&Story { blocks: BLOCKS + super::SOLO_BLOCKS, ratios: [ratio; 4], ..Story::default() });
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

    /// The word of the sweep is taken, and this is why.
    fn check_refused(stored: &StoredRun, expected: &str) {
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let duel = &conclusions.workloads[0].duels[0];
        assert_eq!((duel.overall.word, duel.points[0].word), (Word::Inconclusive, Word::Inconclusive), "{expected}");
        assert!(duel.overall.caveats.contains(&Caveat::Duet), "{expected}");
        assert!(duel.unfounded.iter().any(|why| why.contains(expected)), "{:?} without {expected}", duel.unfounded);
        let finding = conclusions.findings.iter().find(|finding| finding.kind == "duet").unwrap();
        assert!(finding.evidence.iter().any(|line| line.contains(expected)), "{:?}", finding.evidence);
    }

    #[test]
    fn a_duet_that_nothing_speaks_against_has_its_word_with_the_caveat() {
        let stored = duet(0.9, 0.9);
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let duel = &conclusions.workloads[0].duels[0];
        assert_eq!((duel.overall.word, duel.overall.blocks), (Word::Slower, 8), "{:?}", duel.unfounded);
        assert!(duel.overall.caveats.contains(&Caveat::Duet) && duel.unfounded.is_empty());
        let finding = conclusions.findings.iter().find(|finding| finding.kind == "duet").unwrap();
        assert!(
            finding.text.contains("relative, under co-run") && finding.evidence[1].starts_with("side 1: cores 0,2")
        );
        assert!(finding.evidence[0].contains("alone, 4 blocks: ratio 0.894 ("), "{:?}", finding.evidence);
    }

    #[test]
    fn each_condition_that_does_not_hold_takes_the_word_and_says_so() {
        let check = |change: &dyn Fn(&mut StoredRun), expected: &str| {
            let mut stored = duet(0.9, 0.9);
            change(&mut stored);
            check_refused(&stored, expected);
        };
        check(&|run| set(run, super::IOWAIT, 0.03), "iowait 3.0 %, and below 2 % is allowed");
        check(&|run| set(run, "host_disk.vda.busy_share", 0.25), "busiest disk 25.0 %");
        check(&|run| set(run, "host_user_share", 0.75), "busy CPU time of the host 85.0 %");
        check(&|run| set(run, super::RESIDENT, 0.5), "only 50 % of the data were in memory");
        check(&|run| run.run.client.sides[1].physical_cores = 1, "fewer than 2 physical cores per side");
        check(&|run| run.run.host.memory_bytes = 1 << 20, "do not fit the memory");
        check(&|run| run.run.host.not_visible = vec!["disks".into()], "busiest disk is not visible here");
        let hide = |trial: &mut TrialRecord| _ = trial.metrics.remove(super::IOWAIT);
        check(&|run| run.trials.iter_mut().for_each(hide), "iowait is not visible here");
        check(&|run| run.trials.retain(|trial| trial.block < 12), "has 3 of 4 solo blocks");
    }

    #[test]
    fn contenders_that_come_out_otherwise_alone_are_not_told_apart_by_a_duet() {
        check_refused(&duet(0.9, 1.1), "which does not meet");
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
