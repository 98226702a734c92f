//! A/A tests: is this host fit to measure on, and which difference can it detect?
//!
//! The two contenders differ in name and paths only, so a verdict that finds a difference is false, or the host
//! is unfit. One such verdict in twenty is what the rule allows; more of them are a finding of their own.

use std::collections::BTreeMap;

use record::format::{AaRecord, HostRecord, PlanRecord, Point, RunRecord, Series, TrialRecord, WorkloadRecord};

use super::comparison::{Comparison, Verdict};
use super::conclusions::Conclusions;
pub use super::variation::EFFECTS;
use super::variation::{OrderEffect, Variation, spread};

/// The number of last verdicts that count, and the number of false differences among them that is too many: by
/// chance that happens to 1.6 % of sound hosts (method, section 2).
pub const VERDICTS: usize = 20;
pub const TOLD_APART_MAX: usize = 3;

/// What an A/A record shows about a workload at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// Blocks for 1, 3 and 5 % at 90 % power, at a number fixed beforehand, but never fewer than a verdict needs;
    /// and the time they take.
    pub blocks_needed: [usize; 3],
    pub minutes_needed: [f64; 3],
}

/// `level` is the share of false verdicts that a verdict about this point may have.
pub fn sight(record: &AaRecord, level: f64) -> Sight {
    let needed = |effect| stats::blocks_needed(record.sd, effect, level).max(stats::FIRST_LOOK);
    let blocks_needed = EFFECTS.map(needed);
    Sight { blocks_needed, minutes_needed: blocks_needed.map(|blocks| blocks as f64 * record.block_s / 60.0) }
}

/// Whether the verdict found a false difference.
pub fn told_apart(record: &AaRecord) -> bool {
    [Verdict::Faster, Verdict::Slower].iter().any(|verdict| record.verdict == verdict.as_str())
}

/// One record for each workload and point of a A/A run; of any other run none.
pub fn records(
    plan: &PlanRecord,
    run: &RunRecord,
    trials: &[TrialRecord],
    series: &BTreeMap<u32, Series>,
    conclusions: &Conclusions,
) -> Vec<AaRecord> {
    if !plan.twins {
        return Vec::new();
    }
    let duels = conclusions.workloads.iter().flat_map(|workload| &workload.duels);
    let points = duels.flat_map(|duel| &duel.points);
    let of_point = |comparison: &Comparison| {
        let point = comparison.point.as_ref()?;
        let at = std::slice::from_ref(point);
        let spread = spread(plan, trials, series, &comparison.workload, &comparison.candidate, at);
        record(plan, run, comparison, point, &spread)
    };
    points.filter_map(of_point).collect()
}

/// None where not even an interval is known.
fn record(
    plan: &PlanRecord,
    run: &RunRecord,
    comparison: &Comparison,
    point: &Point,
    spread: &Variation,
) -> Option<AaRecord> {
    let workload = plan.workloads.iter().find(|workload| workload.label == comparison.workload)?;
    let contender = plan.contenders.iter().find(|contender| contender.name == plan.baseline)?;
    Some(AaRecord {
        at: run.started_at.clone(),
        plan_hash: plan.plan_hash.clone(),
        host: host_text(&run.host),
        engine: contender.kind.clone(),
        version: contender.version.clone(),
        workload: workload_text(workload, point),
        arrangement: plan.method.arrangement().map(str::to_owned),
        point: point.clone(),
        blocks: comparison.blocks as u32,
        verdict: comparison.verdict.as_str().to_owned(),
        ratio: comparison.ratio?,
        low: comparison.low?,
        high: comparison.high?,
        sd: comparison.sd?,
        block_s: spread.block_s?,
        trial_s: (!workload.ends_itself()).then_some(plan.method.duration_s),
        best_trial_s: spread.best_duration_s,
        order_effect: spread.order_effect.map(|OrderEffect { mean, low, high }| [mean, low, high]),
        flagged_share: spread.flagged_share?,
        sd_between_trials: spread.sd_between_trials,
        sd_of_a_second: spread.sd_of_a_second,
        autocorrelation: spread.autocorrelation,
    })
}

/// Fewer blocks allow no verdict, so there is no verdict to remember.
pub fn is_worth_keeping(record: &AaRecord) -> bool {
    record.blocks as usize >= stats::FIRST_LOOK
}

/// What makes a host the same one. Memory in whole GiB: the kernel keeps a little for itself, and not
/// always as much.
pub fn host_text(host: &HostRecord) -> String {
    let memory_gib = (host.memory_bytes as f64 / (1u64 << 30) as f64).round();
    format!(
        "{}; {} cores; {memory_gib} GiB; {}; {}; {}",
        host.cpu_model, host.cores, host.kernel, host.storage, host.virtualisation
    )
}

/// A workload as it ran at a point, in one line.
pub fn workload_text(workload: &WorkloadRecord, point: &Point) -> String {
    let mut options: Vec<String> = workload.options.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if !workload.one_pass {
        options.push(format!("clients={}", workload.clients_at(point)));
    }
    format!("{}; {}", workload.name, options.join(", "))
}

/// What is known about this host, a contender of the plan and a workload of it: the newest of each point.
pub fn quotes(plan: &PlanRecord, known: &[AaRecord], host: &str) -> Vec<AaRecord> {
    let contenders = || plan.contenders.iter().map(|one| (one.kind.as_str(), one.version.as_str()));
    let mut quotes: Vec<AaRecord> = Vec::new();
    for (workload, point) in places(plan) {
        let text = workload_text(workload, point);
        for contender in contenders() {
            let ours = |one: &&AaRecord| {
                one.host == host
                    && (one.engine.as_str(), one.version.as_str()) == contender
                    && (&one.workload, &one.point) == (&text, point)
                    && one.arrangement.as_deref() == plan.method.arrangement()
            };
            quotes.extend(known.iter().rev().find(ours).cloned());
        }
    }
    quotes.dedup();
    quotes
}

/// Every workload at each of its points.
fn places(plan: &PlanRecord) -> Vec<(&WorkloadRecord, &Point)> {
    let mut places: Vec<(&WorkloadRecord, &Point)> = Vec::new();
    for trial in &plan.trials {
        let workload = plan.workloads.iter().find(|workload| workload.label == trial.workload);
        let place = workload.map(|workload| (workload, &trial.point));
        places.extend(place.filter(|(workload, point)| {
            !places.iter().any(|(known, at)| (&known.label, *at) == (&workload.label, *point))
        }));
    }
    places
}

/// A workload at a point that no A/A test of this host covers.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncovered {
    pub workload: String,
    pub point: Point,
    pub why: UncoveredBecause,
}

#[derive(Debug, Clone, PartialEq)]
pub enum UncoveredBecause {
    NeverMeasured,
    ShorterTrialsOnly,
    FoundDifference { verdict: String, at: String },
}

/// What keeps a strict run from beginning: workloads and points without an A/A test that found no difference, in
/// trials at least as long as the plan's own.
pub fn missing(plan: &PlanRecord, quotes: &[AaRecord]) -> Vec<Uncovered> {
    let mut missing = Vec::new();
    for (workload, point) in places(plan) {
        let text = workload_text(workload, point);
        let long = |one: &AaRecord| one.trial_s.is_none_or(|trial_s| trial_s >= plan.method.duration_s);
        let ours: Vec<&AaRecord> = quotes.iter().filter(|one| (&one.workload, &one.point) == (&text, point)).collect();
        let why = match ours.iter().find(|one| told_apart(one)) {
            Some(one) => UncoveredBecause::FoundDifference { verdict: one.verdict.clone(), at: one.at.clone() },
            None if ours.iter().any(|one| long(one)) => continue,
            None if ours.is_empty() => UncoveredBecause::NeverMeasured,
            None => UncoveredBecause::ShorterTrialsOnly,
        };
        missing.push(Uncovered { workload: workload.label.clone(), point: point.clone(), why });
    }
    missing
}

/// The verdicts that found a false difference among the last ones, the newest last, where they are too many for
/// chance; else nothing. A run gives one verdict for each workload, however many points share its error.
pub fn too_many_false_differences(known: &[AaRecord]) -> Vec<AaRecord> {
    let verdicts = last_verdicts(known);
    let apart = verdicts.iter().filter_map(|verdict| verdict.iter().find(|one| told_apart(one)));
    let apart: Vec<AaRecord> = apart.map(|one| (*one).clone()).collect();
    if apart.len() > TOLD_APART_MAX { apart } else { Vec::new() }
}

/// Records by verdict, the newest verdict last.
pub fn last_verdicts(known: &[AaRecord]) -> Vec<Vec<&AaRecord>> {
    let verdict = |one: &AaRecord| {
        let without_clients = one.workload.split(", clients=").next().unwrap_or_default().to_owned();
        (one.at.clone(), one.plan_hash.clone(), without_clients)
    };
    let mut verdicts: Vec<Vec<&AaRecord>> = Vec::new();
    for record in known {
        match verdicts.iter_mut().find(|same| verdict(same[0]) == verdict(record)) {
            Some(same) => same.push(record),
            None => verdicts.push(vec![record]),
        }
    }
    verdicts.split_off(verdicts.len().saturating_sub(VERDICTS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Facts, conclude};
    use fixtures::{StoredRun, Story, stored_run};

    /// The fixture's two contenders as an A/A test.
    fn twins() -> StoredRun {
        let mut stored = stored_run(&Story { ratios: [1.0; 4], ..Story::default() });
        stored.plan.twins = true;
        stored.plan.contenders[1].version = stored.plan.contenders[0].version.clone();
        stored
    }

    fn shown(stored: &StoredRun) -> Vec<AaRecord> {
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        records(&stored.plan, &stored.run, &stored.trials, &BTreeMap::new(), &conclusions)
    }

    /// So many verdicts, of which the first find a false difference.
    fn verdicts(all: usize, apart: usize) -> Vec<AaRecord> {
        let record = shown(&twins()).swap_remove(0);
        let verdict = |index: usize| AaRecord {
            at: format!("2031-05-{:02}T10:15:00Z", index + 1),
            verdict: if index < apart { "slower" } else { "no difference shown" }.to_owned(),
            ..record.clone()
        };
        (0..all).map(verdict).collect()
    }

    #[test]
    fn an_aa_run_has_one_record_for_each_point_and_any_other_run_none() {
        let mut stored = twins();
        let records = shown(&stored);
        assert_eq!(records.len(), 4);
        let first = &records[0];
        assert_eq!((first.engine.as_str(), first.version.as_str(), first.blocks), ("mysql", "5.5.9", 8));
        assert_eq!(first.workload, "oltp_read_write; rows=100000, tables=1, clients=1");
        assert_eq!((first.trial_s, first.sd_of_a_second), (Some(stored.plan.method.duration_s), None));
        assert!(records.iter().all(is_worth_keeping) && first.sd > 0.0 && first.order_effect.is_some());
        stored.plan.twins = false;
        assert_eq!(shown(&stored), []);
    }

    #[test]
    fn four_false_verdicts_of_the_last_twenty_are_too_many() {
        assert_eq!(too_many_false_differences(&verdicts(20, 3)).len(), 0);
        assert_eq!(too_many_false_differences(&verdicts(20, 4)).len(), 4);
        assert_eq!(too_many_false_differences(&verdicts(23, 4)).len(), 0, "the first one is forgotten");
    }

    #[test]
    fn the_points_of_a_run_make_one_verdict() {
        let mut records = shown(&twins());
        records.iter_mut().for_each(|record| record.verdict = "faster".to_owned());
        assert_eq!((last_verdicts(&records).len(), too_many_false_differences(&records).len()), (1, 0));
    }

    #[test]
    fn a_quote_is_of_the_same_host_server_workload_and_point_and_the_newest() {
        let stored = twins();
        let (records, host) = (shown(&stored), host_text(&stored.run.host));
        let newer: Vec<AaRecord> =
            records.iter().map(|one| AaRecord { at: "2031-06-01T00:00:00Z".into(), ..one.clone() }).collect();
        let known = [records, newer.clone()].concat();
        assert_eq!(quotes(&stored.plan, &known, &host), newer);
        assert_eq!(quotes(&stored.plan, &known, "another host"), []);
        let mut other = stored.plan.clone();
        other.workloads[0].options.insert("rows".into(), 1.into());
        assert_eq!(quotes(&other, &known, &host), []);
        let mut other = stored.plan.clone();
        other.contenders.iter_mut().for_each(|one| one.version = "5.7.29".into());
        assert_eq!(quotes(&other, &known, &host), []);
    }

    #[test]
    fn a_strict_run_lacks_aa_tests_that_were_not_run_or_found_a_difference_or_ran_shorter() {
        let stored = twins();
        let all = shown(&stored);
        use UncoveredBecause::*;
        let check = |quotes: &[AaRecord], expected: &[(u64, UncoveredBecause)]| {
            let missing = missing(&stored.plan, quotes);
            let missing: Vec<_> = missing.into_iter().map(|one| (one.point["clients"], one.why)).collect();
            assert_eq!(missing, expected);
        };
        let all: Vec<AaRecord> =
            all.into_iter().map(|one| AaRecord { verdict: "inconclusive".into(), ..one }).collect();
        check(&all, &[]);
        check(&all[1..], &[(1, NeverMeasured)]);
        let mut apart = all.clone();
        apart[1].verdict = "faster".into();
        check(&apart, &[(4, FoundDifference { verdict: "faster".into(), at: apart[1].at.clone() })]);
        let mut short = all;
        short[3].trial_s = Some(0.5);
        check(&short, &[(64, ShorterTrialsOnly)]);
    }

    #[test]
    fn the_caveat_of_an_unfit_host_stands_behind_every_verdict() {
        let mut stored = stored_run(&Story::default());
        let caveats = |stored: &StoredRun| {
            let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
            let is_finding =
                conclusions.findings.iter().any(|finding| matches!(finding.facts, Facts::FalseDifferences(_)));
            (conclusions.workloads[0].duels[0].overall.caveats.contains(&crate::Caveat::NoisyHost), is_finding)
        };
        assert_eq!(caveats(&stored), (false, false));
        stored.run.twins = verdicts(20, 4);
        assert_eq!(caveats(&stored), (true, true));
    }
}
