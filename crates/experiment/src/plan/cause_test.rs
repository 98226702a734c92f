//! The trials behind the last block that put a supposed cause to the test.
//!
//! Which point they run at follows from results, so they are no trials of the plan; how they run follows
//! from its seed.

pub use record::blocks::CONTRAST_BLOCKS as BLOCKS;
use std::time::Duration;

use super::Estimate;
use super::paired_probes::{PairedAt, pairs};
use record::format::{ContrastKind, PlanRecord, PlannedTrial, Point, Purpose};

/// The first of many streams: each contrast of a run has its own.
const STREAM: u64 = 1 << 20;

/// At most, for one contrast; how many there will be is not known before the verdict.
pub fn expected(plan: &PlanRecord, estimate: &Estimate) -> Option<Duration> {
    let is_due = plan.method.contrast && plan.contenders.len() > 1;
    is_due.then(|| Duration::from_millis(estimate.slot_ms_max) * 2 * BLOCKS as u32)
}

/// Baseline and candidate of each block, in the order of a fair coin; `number` is the contrast's in its run.
pub fn blocks(
    plan: &PlanRecord,
    number: usize,
    cause: ContrastKind,
    workload: &str,
    candidate: &str,
    point: &Point,
) -> Vec<[PlannedTrial; 2]> {
    let place = PairedAt { plan, stream: STREAM + number as u64, workload, point };
    let pairs = pairs(&place, BLOCKS, [plan.baseline.as_str(), candidate], str::to_owned);
    let purpose = Purpose::CauseTest { cause, candidate: candidate.to_owned() };
    let testing = |(_, planned)| PlannedTrial { purpose: purpose.clone(), ..planned };
    pairs.into_iter().map(|pair| pair.map(testing)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{experiment, plan_of};
    use super::*;

    #[test]
    fn a_block_holds_baseline_and_candidate_in_the_order_of_a_coin() {
        let point = Point::from([("clients".to_owned(), 16)]);
        let plan = |seed: u64| plan_of(&experiment(&["a", "b", "c"], &[1, 16], 8, seed)).record;
        let of_seed = |seed: u64| blocks(&plan(seed), 0, ContrastKind::Tmpfs, "first", "c", &point);
        assert_eq!(of_seed(3), of_seed(3), "the seed alone decides");
        assert_ne!(
            of_seed(3),
            blocks(&plan(3), 1, ContrastKind::Tmpfs, "first", "c", &point),
            "each contrast has its own coins"
        );
        let all: Vec<[PlannedTrial; 2]> = (0..250).flat_map(of_seed).collect();
        let candidate_first = all.iter().filter(|[one, other]| {
            let mut both = [one.contender.as_str(), other.contender.as_str()];
            both.sort_unstable();
            assert_eq!(both, ["a", "c"]);
            assert_eq!((one.input_seed, &one.point), (other.input_seed, &point));
            one.contender == "c"
        });
        // A thousand fair coins: four standard deviations are 6.4 %.
        assert!((candidate_first.count() as f64 / 1000.0 - 0.5).abs() < 0.064);
    }

    #[test]
    fn time_is_foreseen_where_contrasts_were_asked_for() {
        let mut experiment = experiment(&["a", "b"], &[1, 16], 8, 3);
        let plan = plan_of(&experiment);
        assert_eq!(expected(&plan.record, &plan.estimate), None);
        experiment.method.contrast = true;
        let plan = plan_of(&experiment);
        assert_eq!(expected(&plan.record, &plan.estimate).unwrap().as_millis() as u64, 8 * plan.estimate.slot_ms_max);
    }
}
