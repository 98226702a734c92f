//! The order of all trials: shuffled by fair coins that come from the experiment's seed.
//!
//! For each block: the workloads in file order, their points shuffled; at each point all contenders
//! shuffled, back to back. In a fast sweep a contender goes through all points, in the common order, before
//! the next one does; behind a duet come blocks in which each contender runs alone. Order, gaps and inputs
//! draw from streams of their own, so that a change to one of them leaves the others as they were; so do
//! pilots, and every repeat of an entry.

use rand::seq::SliceRandom;
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
pub use record::blocks::{SOLO_BLOCKS, repeat_number};

use super::estimate::gap_ms_max;
use crate::{Contender, Experiment, WorkloadChoice};
use record::format::{PlanRecord, PlannedTrial, Point, Purpose, TrialRecord};

/// One stream of random numbers per purpose.
#[derive(Clone, Copy)]
enum Stream {
    Order = 0,
    Interarrival = 1,
    Inputs = 2,
    Pilots = 3,
    Profiles = 4,
    Crashes = 5,
    /// The first of many: each repeat has its own.
    Repeats = 1 << 10,
}

/// ChaCha8, because its numbers are the same on every machine and in every version of the library.
fn stream(seed: u64, stream: Stream) -> ChaCha8Rng {
    numbered_stream(seed, stream, 0)
}

fn numbered_stream(seed: u64, stream: Stream, number: u32) -> ChaCha8Rng {
    let mut numbers = ChaCha8Rng::seed_from_u64(seed);
    numbers.set_stream(stream as u64 + u64::from(number));
    numbers
}

/// 53 bits: what every reader of JSON holds exactly.
fn input_seed(inputs: &mut ChaCha8Rng) -> u64 {
    inputs.next_u64() >> 11
}

/// Every trial of every block, in the order in which they will run.
pub fn trials(experiment: &Experiment) -> Vec<PlannedTrial> {
    let seed = experiment.method.seed;
    let mut order = stream(seed, Stream::Order);
    let mut gaps = stream(seed, Stream::Interarrival);
    let mut inputs = stream(seed, Stream::Inputs);
    let mut trials = Vec::new();
    let crashes = crashes(experiment);
    let solo = if experiment.method.duet { SOLO_BLOCKS } else { 0 };
    for block in 1..=experiment.method.blocks + solo {
        let input_seed = input_seed(&mut inputs);
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
                purpose: crashes.get(block as usize - 1).cloned().unwrap_or_default(),
            });
        }
    }
    trials
}

/// How each block ends, where it ends in a crash: the kinds in turn, each at times that are spread over the duration.
/// Of as many equal parts of it as there are crashes of a kind, each has one crash, at a random time inside; the parts
/// come in random order, so that neither drift of the host nor the cycle of checkpoints keeps step with them. All
/// contenders of a block crash after the same time.
fn crashes(experiment: &Experiment) -> Vec<Purpose> {
    let Some(recovery) = experiment.recovery else { return Vec::new() };
    let (method, kinds) = (&experiment.method, recovery.crashes.kinds());
    let mut numbers = stream(method.seed, Stream::Crashes);
    let of_a_kind = method.blocks.div_ceil(kinds.len() as u32);
    let mut times = || {
        let mut parts: Vec<u32> = (0..of_a_kind).collect();
        parts.shuffle(&mut numbers);
        let part_ms = method.duration.as_millis() as f64 / f64::from(of_a_kind);
        let begin_ms = method.warmup.as_millis() as f64;
        let at = |part: u32, share: f64| (begin_ms + part_ms * (f64::from(part) + share)) as u64;
        parts.into_iter().map(|part| at(part, numbers.random_range(0.0..1.0))).collect::<Vec<u64>>()
    };
    let of_kinds: Vec<Vec<u64>> = kinds.iter().map(|_| times()).collect();
    let crash = |block: u32| {
        let kind = block as usize % kinds.len();
        Purpose::Crash { kind: kinds[kind], after_ms: of_kinds[kind][block as usize / kinds.len()] }
    };
    (0..method.blocks).map(crash).collect()
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
        if experiment.method.fast_sweep {
            block.extend(walked(experiment, workload, &points, order));
            continue;
        }
        for point in points {
            let mut contenders: Vec<&Contender> = experiment.contenders.iter().collect();
            contenders.shuffle(order);
            block.extend(contenders.into_iter().zip(1..).map(|(who, place)| (workload, point.clone(), who, place)));
        }
    }
    block
}

/// Contenders by coin, each of them once through all points.
fn walked<'a>(
    experiment: &'a Experiment,
    workload: &'a WorkloadChoice,
    points: &[Point],
    order: &mut ChaCha8Rng,
) -> Vec<(&'a WorkloadChoice, Point, &'a Contender, u32)> {
    let mut contenders: Vec<&Contender> = experiment.contenders.iter().collect();
    contenders.shuffle(order);
    let walk = |(contender, place)| points.iter().map(move |point| (workload, point.clone(), contender, place));
    contenders.into_iter().zip(1..).flat_map(walk).collect()
}

/// All contenders at one point of a workload in a block: what is measured again as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub block: u32,
    pub workload: String,
    pub point: Point,
}

impl Entry {
    pub fn of(planned: &PlannedTrial) -> Entry {
        Entry { block: planned.block, workload: planned.workload.clone(), point: planned.point.clone() }
    }

    pub fn of_record(record: &TrialRecord) -> Entry {
        Entry { block: record.block, workload: record.workload.clone(), point: record.point.clone() }
    }

    fn holds(&self, planned: &PlannedTrial) -> bool {
        (self.block, &self.workload, &self.point) == (planned.block, &planned.workload, &planned.point)
    }
}

/// An entry once more, with a new coin, new inputs and new gaps; `number` counts the repeats of the
/// run from 1. Their trials go on where the plan's numbers end.
pub fn repeat(experiment: &Experiment, plan: &PlanRecord, entry: &Entry, number: u32) -> Vec<PlannedTrial> {
    let mut numbers = numbered_stream(plan.seed, Stream::Repeats, number);
    let mut trials: Vec<PlannedTrial> = plan.trials.iter().filter(|planned| entry.holds(planned)).cloned().collect();
    trials.shuffle(&mut numbers);
    let input_seed = input_seed(&mut numbers);
    let before = plan.trials.len() as u32 + (number - 1) * trials.len() as u32;
    for (trial, place) in trials.iter_mut().zip(1..) {
        trial.purpose = Purpose::Repeat { of: trial.trial };
        trial.trial = before + place;
        trial.order = place;
        trial.input_seed = input_seed;
        trial.gap_ms = numbers.random_range(0..=longest_gap_ms(experiment, trial));
    }
    trials
}

fn longest_gap_ms(experiment: &Experiment, trial: &PlannedTrial) -> u64 {
    let (contender, workload) = experiment.parts_of(&trial.contender, &trial.workload);
    gap_ms_max(contender, workload, &trial.point, &experiment.method)
}

/// The long trials before the first block: every contender once at the heaviest point of each
/// workload that runs for a time. They have numbers of their own and belong to no block.
pub fn pilots(experiment: &Experiment) -> Vec<PlannedTrial> {
    if experiment.method.pilot.is_some() {
        one_of_each(experiment, Stream::Pilots, &Purpose::Pilot)
    } else {
        Vec::new()
    }
}

/// Behind the verdict, a profile at the same places.
pub fn profiles(experiment: &Experiment) -> Vec<PlannedTrial> {
    if experiment.method.diagnose { one_of_each(experiment, Stream::Profiles, &Purpose::Profile) } else { Vec::new() }
}

fn one_of_each(experiment: &Experiment, of: Stream, purpose: &Purpose) -> Vec<PlannedTrial> {
    let mut numbers = stream(experiment.method.seed, of);
    let mut trials = Vec::new();
    for workload in experiment.workloads.iter().filter(|workload| !workload.ends_itself()) {
        let point = heaviest_point(experiment, workload);
        let input_seed = input_seed(&mut numbers);
        let mut contenders: Vec<&Contender> = experiment.contenders.iter().collect();
        contenders.shuffle(&mut numbers);
        for (contender, place) in contenders.into_iter().zip(1..) {
            trials.push(PlannedTrial {
                trial: trials.len() as u32 + 1,
                block: 0,
                order: place,
                workload: workload.label.clone(),
                contender: contender.name.clone(),
                point: point.clone(),
                gap_ms: 0,
                input_seed,
                purpose: purpose.clone(),
            });
        }
    }
    trials
}

/// Where most clients are at work, and of several such points the one with most of what varies.
pub fn heaviest_point(experiment: &Experiment, workload: &WorkloadChoice) -> Point {
    let weight = |point: &Point| (workload.clients_at(point), point.values().max().copied());
    experiment.points().into_iter().max_by_key(weight).unwrap_or_default()
}
