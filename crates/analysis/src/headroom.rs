//! What twice the generator's threads brought: was the generator the limit?
//!
//! The same connections over twice the threads can do more only where threads were what lacked.

use schemars::JsonSchema;
use serde::Serialize;

use super::index::Index;
pub use record::blocks::DOUBLING_BLOCKS as BLOCKS;
use record::format::{PlanRecord, Point, Purpose, TrialRecord, WorkloadRecord, step};

/// The rise that counts as a limit (method, section 4).
const RISE_MAX: f64 = 0.03;

/// One-sided at 5 %: only a rise is a sign.
const CONFIDENCE: f64 = 0.90;

/// The check of one workload: the same connections over twice the generator's threads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HeadroomCheck {
    pub workload: String,
    pub contender: String,
    pub point: Point,
    /// Primary metric of each block of which both trials succeeded: as everywhere, and with twice the threads.
    pub as_usual: Vec<f64>,
    pub doubled: Vec<f64>,
}

/// The checks among the stored trials, as far as they came.
pub fn checks(plan: &PlanRecord, trials: &[TrialRecord]) -> Vec<HeadroomCheck> {
    let of_workload = |workload: &WorkloadRecord| {
        let is_ours = |trial: &&TrialRecord| threads(trial).is_some() && trial.workload == workload.label;
        let ours: Vec<&TrialRecord> = trials.iter().filter(is_ours).collect();
        let first = ours.first()?;
        let metric = workload.primary_metric();
        let pairs: Vec<[f64; 2]> = (1..=BLOCKS as u32).filter_map(|block| pair(&ours, block, metric)).collect();
        Some(HeadroomCheck {
            workload: workload.label.clone(),
            contender: first.contender.clone(),
            point: first.point.clone(),
            as_usual: pairs.iter().map(|pair| pair[0]).collect(),
            doubled: pairs.iter().map(|pair| pair[1]).collect(),
        })
    };
    plan.workloads.iter().filter_map(of_workload).collect()
}

fn threads(trial: &TrialRecord) -> Option<u32> {
    if let Purpose::Headroom { threads } = trial.purpose { Some(threads) } else { None }
}

/// With fewer threads and with more.
fn pair(trials: &[&TrialRecord], block: u32, metric: &str) -> Option<[f64; 2]> {
    let value = |trial: &&TrialRecord| trial.metrics.get(metric).copied().filter(|value| *value > 0.0);
    let mut both: Vec<(Option<u32>, f64)> = trials
        .iter()
        .filter(|trial| trial.block == block)
        .filter_map(|trial| Some((threads(trial), value(trial)?)))
        .collect();
    both.sort_by_key(|(threads, _)| *threads);
    let [fewer, more] = both[..] else { return None };
    Some([fewer.1, more.1])
}

/// A check with all its blocks.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Doubled {
    pub workload: String,
    pub contender: String,
    pub point: Point,
    /// What doubling brought, as a fraction.
    pub rise: f64,
    /// Least rise that the blocks allow, as a log ratio.
    low: f64,
}

impl Doubled {
    pub fn is_bound(&self) -> bool {
        self.rise > RISE_MAX && self.low > 0.0
    }
}

/// The contender and the point with the highest throughput, of those that were measured and are eligible.
pub fn peak(
    plan: &PlanRecord,
    trials: &[TrialRecord],
    workload: &WorkloadRecord,
    eligible: impl Fn(&str) -> bool,
) -> Option<(String, Point)> {
    let records = Index::new(plan, trials);
    let metric = workload.primary_metric();
    let points = records.points(&workload.label);
    let contenders = plan.contenders.iter().map(|one| one.name.as_str()).filter(|name| eligible(name));
    let places = contenders.flat_map(|contender| points.iter().map(move |point| (contender, point)));
    let mean = |contender, point| records.mean(&workload.label, std::slice::from_ref(point), contender, metric);
    let measured = places.filter_map(|(contender, point)| Some((contender, point, mean(contender, point)?)));
    let highest = measured.max_by(|one, other| one.2.total_cmp(&other.2));
    highest.map(|(contender, point, _)| (contender.to_owned(), point.clone()))
}

/// None as long as blocks are missing.
pub fn doubled(record: &HeadroomCheck) -> Option<Doubled> {
    let pairs = record.as_usual.iter().zip(&record.doubled);
    let log_ratios: Vec<f64> = pairs.map(|(as_usual, doubled)| (doubled / as_usual).ln()).collect();
    if log_ratios.len() < BLOCKS || !log_ratios.iter().all(|ratio| ratio.is_finite()) {
        return None;
    }
    Some(Doubled {
        workload: record.workload.clone(),
        contender: record.contender.clone(),
        point: record.point.clone(),
        rise: stats::mean(&log_ratios)?.exp_m1(),
        low: stats::t_interval(&log_ratios, CONFIDENCE)?.low,
    })
}

/// Was this contender held back by the generator at this point, or, without one, at any?
pub fn is_bound(doublings: &[Doubled], workload: &str, contender: &str, point: Option<&Point>) -> bool {
    doublings.iter().any(|one| {
        let ours = one.workload == workload && one.contender == contender;
        ours && point.is_none_or(|point| *point == one.point) && one.is_bound()
    })
}

/// Workloads that a doubling is due for: those that are measured for a time, as fast as they go.
pub fn due(plan: &PlanRecord) -> impl Iterator<Item = &WorkloadRecord> {
    let wanted = plan.method.takes(step::DOUBLING);
    plan.workloads.iter().filter(move |workload| wanted && !workload.ends_itself() && !workload.is_open_loop())
}

/// Doublings that were begun and have not all their blocks.
pub fn unfinished(checks: &[HeadroomCheck]) -> Vec<HeadroomCheck> {
    checks.iter().filter(|check| check.doubled.len() < BLOCKS).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{CANDIDATE, Story, stored_run};

    fn record(as_usual: [f64; 4], doubled: [f64; 4]) -> HeadroomCheck {
        HeadroomCheck {
            workload: "w".into(),
            contender: "a".into(),
            point: Point::from([("clients".into(), 16)]),
            as_usual: as_usual.to_vec(),
            doubled: doubled.to_vec(),
        }
    }

    #[test]
    fn only_a_rise_that_is_large_and_sure_is_the_generator_s_fault() {
        let check = |as_usual, more: [f64; 4], expected: bool| {
            let found = doubled(&record(as_usual, more)).unwrap();
            assert_eq!(found.is_bound(), expected, "{found:?}");
        };
        check([100.0, 101.0, 99.0, 100.0], [120.0, 118.0, 121.0, 119.0], true);
        // Sure, but too small to matter; large, but not sure; a fall.
        check([100.0; 4], [102.0, 102.1, 101.9, 102.0], false);
        check([100.0; 4], [190.0, 95.0, 130.0, 80.0], false);
        check([100.0; 4], [80.0, 81.0, 79.0, 80.0], false);
    }

    #[test]
    fn the_peak_is_the_fastest_of_those_that_are_eligible() {
        let stored = stored_run(&Story::default());
        let peak_of =
            |eligible: &dyn Fn(&str) -> bool| peak(&stored.plan, &stored.trials, &stored.plan.workloads[0], eligible);
        let (contender, point) = peak_of(&|_| true).unwrap();
        let all = stored.trials.iter().map(|trial| trial.metrics["tps"]);
        let highest = all.max_by(f64::total_cmp).unwrap();
        let of_peak = |trial: &&TrialRecord| (&trial.contender, &trial.point) == (&contender, &point);
        assert!(stored.trials.iter().filter(of_peak).any(|trial| trial.metrics["tps"] == highest));
        assert_eq!(peak_of(&|name| name == CANDIDATE).unwrap().0, CANDIDATE);
        assert_eq!(peak_of(&|_| false), None);
    }

    #[test]
    fn fewer_blocks_give_no_result() {
        let mut three = record([100.0; 4], [150.0, 151.0, 149.0, 150.0]);
        three.doubled.pop();
        assert_eq!(doubled(&three), None);
    }

    #[test]
    fn a_doubling_holds_for_its_own_contender_workload_and_point() {
        let found = vec![doubled(&record([100.0; 4], [150.0, 151.0, 149.0, 150.0])).unwrap()];
        let at = |clients: u64| Point::from([("clients".to_owned(), clients)]);
        assert!(is_bound(&found, "w", "a", Some(&at(16))) && is_bound(&found, "w", "a", None));
        assert!(!is_bound(&found, "w", "a", Some(&at(4))));
        assert!(!is_bound(&found, "w", "b", None) && !is_bound(&found, "v", "a", None));
    }
}
