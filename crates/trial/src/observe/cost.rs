//! What the thread costs that samples host and server once a second.
//!
//! One load of pure work keeps every CPU busy: a server that does nothing would be steadier than any other, and
//! still vary by several per cent with who wakes whom. What sampling costs is CPU time and caches, and this
//! loses both. Its time is cut into slots; of each pair of neighbours a fair coin decides which one is sampled.
//! So the pairs are blocks, and the exact rule judges them as it judges those of a run. The samples at the edges of
//! an interval are outside of it and cost nothing there.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use load::Failure as LoadFailure;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use stats::{Interval, Judge, Rule, RuleKind};

use super::{Observers, Subject};
use crate::host;

pub const SLOT_SECS: u32 = 2;
/// Share of throughput that watching may cost (method, section 5).
pub const COST_MAX: f64 = 0.005;
pub const ALPHA: f64 = 0.05;

/// What was measured.
pub struct Cost {
    pub blocks: usize,
    /// Throughput with the sampler over throughput without.
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    /// Of the thread itself, by its own clock.
    pub cpu_us_per_s: f64,
    pub cpus: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The whole interval is dearer than allowed.
    Missed,
    /// The whole interval is cheap enough.
    Met,
    Open,
}

impl Cost {
    pub fn answer(&self) -> Answer {
        match () {
            () if 1.0 - self.high > COST_MAX => Answer::Missed,
            () if 1.0 - self.low <= COST_MAX => Answer::Met,
            () => Answer::Open,
        }
    }
}

/// Measures for so many blocks.
pub fn measure(blocks: u32, seed: u64, interrupted: &AtomicBool, progress: &dyn Fn(&str)) -> Result<Cost> {
    let _lock = host::lock("selftest", None, interrupted, progress)?;
    let interval = Duration::from_secs(u64::from(2 * SLOT_SECS * blocks));
    progress(&format!("selftest: work on every CPU, for {} s", interval.as_secs()));
    let mut slots = Slots::new(coins(seed, blocks));
    let seconds = work(interval, interrupted, &mut |now| slots.reach(now))?;
    slots.end();
    let log_ratios = log_ratios(&seconds, &slots.watched_first);
    let rule =
        Rule { kind: RuleKind::Exact, blocks_max: log_ratios.len(), alpha: ALPHA, margin: (1.0 + COST_MAX).ln(), seed };
    let verdict = Judge::new(rule).judge(&log_ratios, true).context("there is no block to judge")?;
    let Interval { low, high } = verdict.interval.context("a single block has no interval")?;
    Ok(Cost {
        blocks: verdict.blocks,
        ratio: verdict.estimate.exp(),
        low: low.exp(),
        high: high.exp(),
        cpu_us_per_s: stats::mean(&slots.cpu_us_per_s).context("the thread was never started")?,
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
    })
}

/// Whether the first slot of each block is the sampled one.
fn coins(seed: u64, blocks: u32) -> Vec<bool> {
    let mut numbers = ChaCha8Rng::seed_from_u64(seed);
    (0..blocks).map(|_| numbers.random()).collect()
}

/// Starts and ends the thread at the borders of slots.
struct Slots {
    watched_first: Vec<bool>,
    observers: Observers,
    /// Stands for a server: it has threads, and does the work that is sampled.
    subject: Subject,
    /// The slot that is under way.
    slot: Option<usize>,
    cpu_us_per_s: Vec<f64>,
}

impl Slots {
    fn new(watched_first: Vec<bool>) -> Slots {
        let subject = Subject { server_pid: Some(std::process::id()), ..Subject::default() };
        Slots { watched_first, observers: Observers::default(), subject, slot: None, cpu_us_per_s: Vec::new() }
    }

    fn reach(&mut self, now: Duration) {
        let slot = (now.as_secs() / u64::from(SLOT_SECS)) as usize;
        if self.slot.replace(slot) == Some(slot) {
            return;
        }
        self.end();
        // Opening the sources belongs to the edge of an interval; done in every slot, it is in no difference.
        // The last sample of a slot falls on its border; the first one, which a trial has at its edge, stands for it.
        let sources = self.observers.sources(&self.subject);
        let is_watched = |first: &bool| *first == slot.is_multiple_of(2);
        if self.watched_first.get(slot / 2).is_some_and(is_watched) {
            self.observers.start_sampler(sources);
        }
    }

    fn end(&mut self) {
        self.cpu_us_per_s.extend(self.observers.end_sampler());
    }
}

/// Watched over unwatched, of each whole block.
fn log_ratios(seconds: &[u64], watched_first: &[bool]) -> Vec<f64> {
    let slot = SLOT_SECS as usize;
    let blocks = seconds.chunks_exact(2 * slot).zip(watched_first);
    let log_ratio = |(seconds, watched_first): (&[u64], &bool)| {
        let sum = |seconds: &[u64]| seconds.iter().sum::<u64>().max(1) as f64;
        let (first, second) = (sum(&seconds[..slot]), sum(&seconds[slot..]));
        let log_ratio = (first / second).ln();
        if *watched_first { log_ratio } else { -log_ratio }
    };
    blocks.map(log_ratio).collect()
}

/// As much memory as a core's cache, so that losing the core also costs what was there.
const WORDS: usize = 32 * 1024;
const SAMPLE_EVERY: Duration = Duration::from_millis(10);

/// Keeps every CPU busy for so long, and counts how often the work was done in each second; `live` gets how far
/// it is.
fn work(interval: Duration, interrupted: &AtomicBool, live: &mut dyn FnMut(Duration)) -> Result<Vec<u64>> {
    let done: Vec<AtomicU64> = (0..interval.as_secs()).map(|_| AtomicU64::new(0)).collect();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let (begun, is_over) = (Instant::now(), || interrupted.load(Ordering::Relaxed));
    std::thread::scope(|scope| {
        for _ in 0..cpus {
            scope.spawn(|| {
                let mut memory: Vec<u64> = (0..WORDS as u64).collect();
                while let Some(second) = done.get(begun.elapsed().as_secs() as usize).filter(|_| !is_over()) {
                    stir(&mut memory);
                    second.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        while begun.elapsed() < interval && !is_over() {
            live(begun.elapsed());
            std::thread::sleep(SAMPLE_EVERY);
        }
    });
    ensure!(!is_over(), LoadFailure::Interrupted);
    Ok(done.into_iter().map(AtomicU64::into_inner).collect())
}

/// Some ten microseconds of reading, reckoning and writing.
fn stir(memory: &mut [u64]) {
    let mut last = 0;
    for word in memory.iter_mut() {
        last ^= word.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        *word = last;
    }
    black_box(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(low: f64, high: f64) -> Cost {
        Cost { blocks: 40, ratio: (low * high).sqrt(), low, high, cpu_us_per_s: 400.0, cpus: 2 }
    }

    #[test]
    fn only_an_interval_beyond_the_bound_is_a_miss_and_only_one_within_is_proof() {
        for (low, high, expected) in [
            (0.990, 0.994, Answer::Missed),
            (0.990, 0.996, Answer::Open),
            (0.996, 0.999, Answer::Met),
            (0.996, 1.004, Answer::Met),
            (0.980, 1.010, Answer::Open),
        ] {
            assert_eq!(cost(low, high).answer(), expected, "{low}..{high}");
        }
    }

    #[test]
    fn a_block_is_told_as_watched_over_unwatched_whichever_came_first() {
        let seconds = [90, 90, 100, 100, 100, 100, 90, 90, 7];
        let found = log_ratios(&seconds, &[true, false]);
        assert_eq!(found.len(), 2, "what is left of a block is none");
        assert!(found.iter().all(|log_ratio| (log_ratio - 0.9f64.ln()).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn work_is_counted_in_each_second_and_ends_when_it_is_interrupted() {
        let mut sampled = Vec::new();
        let never = AtomicBool::new(false);
        let seconds = work(Duration::from_secs(2), &never, &mut |now| sampled.push(now)).unwrap();
        assert!(seconds.len() == 2 && seconds.iter().all(|count| *count > 0), "{seconds:?}");
        assert!(sampled.first().unwrap() < sampled.last().unwrap());
        let error = work(Duration::from_secs(60), &AtomicBool::new(true), &mut |_| ()).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&LoadFailure::Interrupted));
    }

    #[test]
    fn the_thread_runs_in_the_slots_that_the_coins_name() {
        let mut slots = Slots::new(vec![false, true]);
        let mut watched = Vec::new();
        for second in [0, 1, 2, 4, 6, 8] {
            let before = slots.cpu_us_per_s.len();
            slots.reach(Duration::from_secs(second));
            watched.push(slots.cpu_us_per_s.len() > before);
        }
        // A thread ends where the next slot begins: the second of the first block, the first of the second.
        assert_eq!(watched, [false, false, false, true, true, false]);
    }
}
