//! Trials behind the last block, in pairs: no trials of the plan, but drawn from its seed.

use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use record::format::{PlanRecord, PlannedTrial, Point};

/// Where all pairs of one purpose are measured.
pub struct PairedAt<'a> {
    pub plan: &'a PlanRecord,
    /// Of the plan's seed; each purpose has its own.
    pub stream: u64,
    pub workload: &'a str,
    pub point: &'a Point,
}

/// So many blocks, both sides of each in the order of a fair coin.
pub fn pairs<T: Copy>(
    place: &PairedAt,
    blocks: usize,
    sides: [T; 2],
    contender: impl Fn(T) -> String,
) -> Vec<[(T, PlannedTrial); 2]> {
    let PairedAt { plan, stream, workload, point } = *place;
    let ours = |trial: &&PlannedTrial| (trial.workload.as_str(), &trial.point) == (workload, point);
    let gap_ms_max = plan.trials.iter().filter(ours).map(|trial| trial.gap_ms).max().unwrap_or(0);
    let mut random = ChaCha8Rng::seed_from_u64(plan.seed);
    random.set_stream(stream);
    let block = |block: u32| {
        let mut sides = sides;
        sides.shuffle(&mut random);
        let input_seed = random.next_u64() >> 11;
        let mut order = 0;
        sides.map(|side| {
            order += 1;
            let planned = PlannedTrial {
                trial: (block - 1) * 2 + order,
                block,
                order,
                workload: workload.to_owned(),
                contender: contender(side),
                point: point.clone(),
                gap_ms: random.random_range(0..=gap_ms_max),
                input_seed,
                purpose: Default::default(),
            };
            (side, planned)
        })
    };
    (1..=blocks as u32).map(block).collect()
}
