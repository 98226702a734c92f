//! The trials behind the last block that show whether the generator was the limit.
//!
//! They are no trials of the plan, since which point they run at follows from its results; how they
//! run follows from its seed.

use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::store::format::{PlanRecord, PlannedTrial, Point};

/// Streams of the plan's seed below this one belong to its order.
const STREAM: u64 = 8;

/// A trial, and whether it runs with twice the generator's threads.
#[derive(Debug, Clone, PartialEq)]
pub struct DoublingTrial {
    pub planned: PlannedTrial,
    pub doubled: bool,
}

/// Pairs in the order of fair coins: one trial as everywhere, one with twice the threads.
pub fn blocks(
    plan: &PlanRecord,
    workload: &str,
    contender: &str,
    point: &Point,
    blocks: u32,
) -> Vec<[DoublingTrial; 2]> {
    let ours = |trial: &&PlannedTrial| (trial.workload.as_str(), &trial.point) == (workload, point);
    let gap_ms_max = plan.trials.iter().filter(ours).map(|trial| trial.gap_ms).max().unwrap_or(0);
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(STREAM);
    let block = |block: u32| {
        let mut sides = [false, true];
        sides.shuffle(&mut random);
        let input_seed = random.next_u64() >> 11;
        let mut order = 0;
        sides.map(|doubled| {
            order += 1;
            let planned = PlannedTrial {
                trial: (block - 1) * 2 + order,
                block,
                order,
                workload: workload.to_owned(),
                contender: contender.to_owned(),
                point: point.clone(),
                gap_ms: random.random_range(0..=gap_ms_max),
                input_seed,
                repeats: None,
            };
            DoublingTrial { planned, doubled }
        })
    };
    (1..=blocks).map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{experiment, plan_of};
    use super::*;

    #[test]
    fn a_block_holds_both_sides_in_the_order_of_a_coin() {
        let plan = plan_of(&experiment(&["a", "b"], &[1, 16], 8, 3)).record;
        let point = Point::from([("clients".to_owned(), 16)]);
        let many = blocks(&plan, "first", "b", &point, 1000);
        assert_eq!(many, blocks(&plan, "first", "b", &point, 1000), "the seed alone decides");
        assert_eq!(many[..4], blocks(&plan, "first", "b", &point, 4)[..]);
        let first = many.iter().filter(|[one, other]| {
            assert!(one.doubled != other.doubled && one.planned.input_seed == other.planned.input_seed);
            one.doubled
        });
        // Four standard deviations of a fair coin.
        assert!((first.count() as f64 / 1000.0 - 0.5).abs() < 0.064);
    }
}
