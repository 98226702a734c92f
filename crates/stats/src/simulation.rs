//! The rules against simulated truth.
//!
//! Two made-up servers run blocks of trials on a made-up host, second by second, and the same code
//! that judges real runs judges them. The ratio between them is known, so every verdict can be
//! counted as right or wrong. The second half proves that the test bites: designs that are known
//! to be broken, measured on the same hosts, must raise false alarms.
//!
//! All numbers follow from the seed, whatever the number of threads.

mod broken;
mod noise;
mod targets;
mod troubles;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::describe::sd;
use crate::random::Normals;
use crate::rule::{Judge, Rule, RuleKind, Verdict};

pub use broken::{BROKEN_DESIGNS, BrokenDesign, broken_alarms};
pub use noise::{NOISES, Noise};
pub use targets::{Allowed, Check, checks};
pub use troubles::{TROUBLES, Trouble, Troubled, simulate_trouble};

use noise::Host;

/// What a trial of the simulation takes, in seconds: start and warm-up, then the measured interval.
const OVERHEAD_S: f64 = 25.0;
const MEASURED_S: usize = 60;
/// The idle gap before a trial is drawn from this share of it.
const GAP_SHARE: f64 = 0.2;

pub const BLOCKS_MAX: usize = 20;
pub const ALPHA: f64 = 0.05;
pub const MARGIN: f64 = 0.01;

/// True differences as fractions: the candidate is so much faster.
pub const TRUTHS: [f64; 5] = [0.0, 0.01, 0.03, 0.05, -0.03];

/// Runs that share a judge, and so the sign vectors of the exact rule, as well as a thread.
const RUNS_PER_JUDGE: usize = 20;

/// Who goes first in a block, and what stands between trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By coin, with random gaps: the method.
    Coin,
    /// The candidate always first, and no gaps.
    Fixed,
}

/// What became of all runs at one true difference.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cell {
    /// As a fraction.
    pub truth: f64,
    pub runs: usize,
    pub faster: usize,
    pub slower: usize,
    pub no_difference: usize,
    pub inconclusive: usize,
    /// Runs whose interval, when they stopped, held the truth.
    pub covered: usize,
    /// Blocks of all runs together.
    pub blocks: usize,
}

impl Cell {
    /// Runs called faster or slower.
    pub fn named(&self) -> usize {
        self.faster + self.slower
    }

    /// Runs that named the wrong side; where nothing differs, that is any side.
    pub fn wrong(&self) -> usize {
        match self.truth {
            truth if truth > 0.0 => self.slower,
            truth if truth < 0.0 => self.faster,
            _ => self.named(),
        }
    }

    fn add(&mut self, other: &Cell) {
        self.runs += other.runs;
        self.faster += other.faster;
        self.slower += other.slower;
        self.no_difference += other.no_difference;
        self.inconclusive += other.inconclusive;
        self.covered += other.covered;
        self.blocks += other.blocks;
    }
}

/// One kind of noise under one rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub rule: RuleKind,
    pub noise: &'static Noise,
    /// Standard deviation of the log ratio between blocks, averaged over runs as a variance.
    pub sd: f64,
    pub cells: Vec<Cell>,
}

/// Runs the method on one kind of noise, at each of the true differences.
pub fn simulate(
    kind: RuleKind,
    noise: &'static Noise,
    truths: &[f64],
    runs: usize,
    seed: u64,
    threads: usize,
) -> Scenario {
    let batches = in_parallel(runs.div_ceil(RUNS_PER_JUDGE), threads, |batch| {
        let first = batch * RUNS_PER_JUDGE;
        simulate_batch(kind, noise, truths, first..runs.min(first + RUNS_PER_JUDGE), seed)
    });
    let mut cells: Vec<Cell> = truths.iter().map(|truth| Cell { truth: *truth, ..Cell::default() }).collect();
    let mut variances = 0.0;
    for batch in &batches {
        variances += batch.variances;
        cells.iter_mut().zip(&batch.cells).for_each(|(cell, more)| cell.add(more));
    }
    Scenario { rule: kind, noise, sd: (variances / runs as f64).sqrt(), cells }
}

struct Batch {
    variances: f64,
    cells: Vec<Cell>,
}

fn simulate_batch(
    kind: RuleKind,
    noise: &'static Noise,
    truths: &[f64],
    runs: std::ops::Range<usize>,
    seed: u64,
) -> Batch {
    let margin = MARGIN.ln_1p();
    let judge = Judge::new(Rule { kind, blocks_max: BLOCKS_MAX, alpha: ALPHA, margin, seed: seed ^ runs.start as u64 });
    let mut batch = Batch { variances: 0.0, cells: vec![Cell::default(); truths.len()] };
    for run in runs {
        let series = log_ratios(&mut host(noise, seed, run), Order::Coin);
        batch.variances += sd(&series).expect("there are many blocks").powi(2);
        // A constant ratio only shifts the logarithms, so all truths share the noise.
        for (cell, truth) in batch.cells.iter_mut().zip(truths) {
            let shifted: Vec<f64> = series.iter().map(|value| value + truth.ln_1p()).collect();
            cell.add(&one_run(&judge, &shifted, truth.ln_1p()));
        }
    }
    batch
}

/// A run as the program leads it: it is judged at the looks of the rule, and stops at the first verdict.
fn one_run(judge: &Judge, log_ratios: &[f64], truth: f64) -> Cell {
    let mut cell = Cell { runs: 1, ..Cell::default() };
    for blocks in judge.rule().looks() {
        let ended = blocks == log_ratios.len();
        let Some((verdict, interval)) = judge.verdict(&log_ratios[..blocks], ended) else { continue };
        if verdict == Verdict::Inconclusive && !ended {
            continue;
        }
        match verdict {
            Verdict::Faster => cell.faster = 1,
            Verdict::Slower => cell.slower = 1,
            Verdict::NoDifference => cell.no_difference = 1,
            Verdict::Inconclusive => cell.inconclusive = 1,
        }
        cell.covered = usize::from(interval.low <= truth && truth <= interval.high);
        cell.blocks = blocks;
        return cell;
    }
    unreachable!("every rule can speak at the last of {BLOCKS_MAX} blocks")
}

/// One run's host; each has random numbers of its own.
fn host(noise: &'static Noise, seed: u64, run: usize) -> Host<'static> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(run as u64);
    Host::new(noise, Normals::new(random))
}

/// Log ratios of two equal servers, block by block.
fn log_ratios(host: &mut Host, order: Order) -> Vec<f64> {
    (0..BLOCKS_MAX).map(|block| log_ratio(host, block, order)).collect()
}

fn log_ratio(host: &mut Host, block: usize, order: Order) -> f64 {
    let [baseline, candidate] = log_throughputs(host, block, order);
    candidate - baseline
}

/// Of baseline and candidate.
fn log_throughputs(host: &mut Host, block: usize, order: Order) -> [f64; 2] {
    let mut trial = || {
        if order == Order::Coin {
            let gap_s = GAP_SHARE * (OVERHEAD_S + MEASURED_S as f64) * host.normals.uniform();
            host.idle(gap_s);
        }
        host.idle(OVERHEAD_S);
        let seconds = host.trial(block, MEASURED_S);
        (seconds.iter().sum::<f64>() / seconds.len() as f64).ln()
    };
    let (first, second) = (trial(), trial());
    let candidate_first = order == Order::Fixed || host.normals.coin();
    if candidate_first { [second, first] } else { [first, second] }
}

/// Does all the work, in whatever order; results come in the order of their numbers.
fn in_parallel<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(count));
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, count.max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    let result = work(number);
                    done.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((number, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
