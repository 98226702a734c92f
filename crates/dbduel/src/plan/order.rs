//! The order of all trials: shuffled by fair coins that come from the experiment's seed.
//!
//! For each block: the workloads in file order, their points shuffled; at each point all contenders
//! shuffled, back to back. Order, gaps and inputs draw from streams of their own, so that a change
//! to one of them leaves the others as they were.

use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::estimate::gap_ms_max;
use crate::experiment::{Contender, Experiment, WorkloadChoice};
use crate::store::format::{PlannedTrial, Point};

/// One stream of random numbers per purpose.
#[derive(Clone, Copy)]
enum Stream {
    Order = 0,
    Gaps = 1,
    Inputs = 2,
}

/// ChaCha8, because its numbers are the same on every machine and in every version of the library.
fn stream(seed: u64, stream: Stream) -> ChaCha8Rng {
    let mut numbers = ChaCha8Rng::seed_from_u64(seed);
    numbers.set_stream(stream as u64);
    numbers
}

/// Every trial of every block, in the order in which they will run.
pub fn trials(experiment: &Experiment) -> Vec<PlannedTrial> {
    let seed = experiment.method.seed;
    let mut order = stream(seed, Stream::Order);
    let mut gaps = stream(seed, Stream::Gaps);
    let mut inputs = stream(seed, Stream::Inputs);
    let mut trials = Vec::new();
    for block in 1..=experiment.method.blocks {
        // 53 bits: what every reader of JSON holds exactly.
        let input_seed = inputs.next_u64() >> 11;
        for (workload, point, contender, place) in shuffled_block(experiment, &mut order) {
            trials.push(PlannedTrial {
                trial: trials.len() as u32 + 1,
                block,
                order: place,
                workload: workload.label.clone(),
                contender: contender.name.clone(),
                gap_ms: gaps.random_range(0..=gap_ms_max(contender, workload, &point, &experiment.method)),
                point,
                input_seed,
                repeats: None,
            });
        }
    }
    trials
}

/// Every contender once at every point, with its place among the contenders of the point.
fn shuffled_block<'a>(
    experiment: &'a Experiment,
    order: &mut ChaCha8Rng,
) -> Vec<(&'a WorkloadChoice, Point, &'a Contender, u32)> {
    let mut block = Vec::new();
    for workload in &experiment.workloads {
        let mut points = experiment.points();
        points.shuffle(order);
        for point in points {
            let mut contenders: Vec<&Contender> = experiment.contenders.iter().collect();
            contenders.shuffle(order);
            block.extend(contenders.into_iter().zip(1..).map(|(who, place)| (workload, point.clone(), who, place)));
        }
    }
    block
}
