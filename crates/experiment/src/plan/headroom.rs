//! The trials behind the last block that show whether the generator was the limit.
//!
//! They are no trials of the plan, since which point they run at follows from its results; how they
//! run follows from its seed.

pub use record::blocks::DOUBLING_BLOCKS as BLOCKS;
use std::time::Duration;

use super::Estimate;
use super::paired_probes::{PairedAt, pairs};
use record::format::{PlanRecord, PlannedTrial, Point, Purpose, step};

/// Streams of the plan's seed below this one belong to its order.
const STREAM: u64 = 8;

/// The time that doubling adds to a plan; none where nothing is doubled: an embedded engine runs on the
/// generator's own threads, and a pass has one client.
pub fn expected(plan: &PlanRecord, estimate: &Estimate) -> Option<Duration> {
    let timed = plan.workloads.iter().filter(|workload| !workload.ends_itself()).count();
    let trials = if estimate.behind_a_connection && plan.method.takes(step::DOUBLING) { timed * 2 * BLOCKS } else { 0 };
    (trials > 0).then(|| Duration::from_millis(estimate.slot_ms_max) * trials as u32)
}

/// Pairs in the order of fair coins: one trial with the generator's threads as everywhere, one with twice as many.
pub fn blocks(
    plan: &PlanRecord,
    workload: &str,
    contender: &str,
    point: &Point,
    threads: u32,
) -> Vec<[PlannedTrial; 2]> {
    let place = PairedAt { plan, stream: STREAM, workload, point };
    let pairs = pairs(&place, BLOCKS, [threads, 2 * threads], |_| contender.to_owned());
    let checking = |(threads, planned)| PlannedTrial { purpose: Purpose::Headroom { threads }, ..planned };
    pairs.into_iter().map(|pair| pair.map(checking)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{experiment, plan_of};
    use super::*;
    use crate::testing::known;

    #[test]
    fn the_json_of_a_plan_has_the_time_that_its_text_has() {
        let mut experiment = experiment(&["a", "b"], &[1, 16], 8, 1);
        experiment.method.doubling = true;
        let plan = plan_of(&experiment);
        let seconds = plan.json()["expected"]["headroom_check_s"].as_f64().unwrap();
        assert!(
            seconds > 0.0 && expected(&plan.record, &plan.estimate) == Some(Duration::from_secs_f64(seconds)),
            "{seconds}"
        );
    }

    #[test]
    fn a_block_holds_both_sides_in_the_order_of_a_coin() {
        let point = Point::from([("clients".to_owned(), 16)]);
        let of_seed =
            |seed: u64| blocks(&plan_of(&experiment(&["a", "b"], &[1, 16], 8, seed)).record, "first", "b", &point, 3);
        assert_eq!(of_seed(3), of_seed(3), "the seed alone decides");
        let all: Vec<[PlannedTrial; 2]> = (0..250).flat_map(of_seed).collect();
        let doubled_first = all.iter().filter(|[one, other]| {
            assert!(one.purpose != other.purpose && one.input_seed == other.input_seed);
            one.purpose == Purpose::Headroom { threads: 6 }
        });
        // A thousand fair coins: four standard deviations are 6.4 %.
        assert!((doubled_first.count() as f64 / 1000.0 - 0.5).abs() < 0.064);
    }

    #[test]
    fn doubling_takes_its_time_where_it_is_due() {
        let mut experiment = experiment(&["a", "b"], &[1, 16], 8, 3);
        let plan = plan_of(&experiment);
        assert_eq!(expected(&plan.record, &plan.estimate), None, "the step is left out");
        experiment.method.doubling = true;
        let plan = plan_of(&experiment);
        let trials = (expected(&plan.record, &plan.estimate).unwrap().as_millis() as u64) / plan.estimate.slot_ms_max;
        assert_eq!(trials, 2 * 8, "two workloads, four blocks of two");
        experiment.contenders.iter_mut().for_each(|one| one.kind = known().engine("sqlite").unwrap());
        let plan = plan_of(&experiment);
        assert_eq!(expected(&plan.record, &plan.estimate), None);
    }
}
