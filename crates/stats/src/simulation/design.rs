//! One run of the design: its blocks on a noisy host, and many of them at once.

use super::noise::Host;
use super::noise::Noise;
use super::noise::{MEASURED_S, OVERHEAD_S};
use crate::random::Normals;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The idle gap before a trial is drawn from this share of it.
pub(super) const GAP_SHARE: f64 = 0.2;

pub const BLOCKS_MAX: usize = 20;

pub const ALPHA: f64 = 0.05;

pub const MARGIN: f64 = 0.01;

/// Runs that share a judge, and so the sign vectors of the exact rule, as well as a thread.
pub(super) const RUNS_PER_JUDGE: usize = 20;

/// Who goes first in a block, and what stands between trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// By coin, with random gaps: the method.
    Coin,
    /// The candidate always first, and no gaps.
    Fixed,
}

/// One run's host; each has random numbers of its own.
pub(super) fn host(noise: &'static Noise, seed: u64, run: usize) -> Host<'static> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(run as u64);
    Host::new(noise, Normals::new(random))
}

/// Log ratios of two equal servers, block by block.
pub(super) fn log_ratios(host: &mut Host, order: Order) -> Vec<f64> {
    (0..BLOCKS_MAX).map(|block| log_ratio(host, block, order)).collect()
}

pub(super) fn log_ratio(host: &mut Host, block: usize, order: Order) -> f64 {
    let [baseline, candidate] = log_throughputs(host, block, order);
    candidate - baseline
}

/// Of baseline and candidate.
pub(super) fn log_throughputs(host: &mut Host, block: usize, order: Order) -> [f64; 2] {
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
pub(super) fn in_parallel<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
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
