//! The rules against simulated truth.
//!
//! Two made-up servers run blocks of trials on a made-up host, second by second, and the same code
//! that judges real runs judges them. The ratio between them is known, so every verdict can be
//! counted as right or wrong. The second half proves that the test bites: designs that are known
//! to be broken, measured on the same hosts, must raise false alarms.
//!
//! All numbers follow from the seed, whatever the number of threads.

mod broken;
mod design;
mod noise;
mod targets;
mod troubles;

pub use design::{ALPHA, BLOCKS_MAX, MARGIN, Order};
use design::{RUNS_PER_JUDGE, host, in_parallel, log_ratios, log_throughputs};
use noise::{MEASURED_S, OVERHEAD_S};
pub use targets::{Cell, Scenario};

use crate::describe::sd;
use crate::rule::{Judge, Rule, RuleKind, Verdict};

pub use broken::{BROKEN_DESIGNS, BrokenDesign, broken_alarms};
pub use noise::{NOISES, Noise};
pub use targets::{Allowed, Check, checks};
pub use troubles::{TROUBLES, Trouble, Troubled, simulate_trouble};

/// True differences as fractions: the candidate is so much faster.
pub const TRUTHS: [f64; 5] = [0.0, 0.01, 0.03, 0.05, -0.03];

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

#[cfg(test)]
mod tests;
