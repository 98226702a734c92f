//! What may be read while the workers run: counts so far, and who has been running since when.
//!
//! Every cell has one writer, which adds with a plain load and store: no worker waits for another or
//! for the reader. A reader sees cells of slightly different moments; differences of two readings
//! are right to the few transactions that ended during the reading.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::transaction::{Attempt, Outcome, Timing};

/// Buckets per doubling of the latency: values within one differ by less than 0.8 %.
const FINENESS_BITS: u32 = 7;
const BUCKETS: usize = ((64 - FINENESS_BITS as usize) + 1) << FINENESS_BITS;

/// One client's cell, on a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(64))]
struct ClientCell {
    /// 0 while no transaction is under way.
    running_since_ns: AtomicU64,
    ended: AtomicU64,
    busy_ns: AtomicU64,
}

/// One worker's counts, on cache lines of their own.
#[derive(Debug)]
#[repr(align(64))]
struct WorkerCell {
    counts: [AtomicU64; COUNTS],
    latency_ns_min: AtomicU64,
    latency_ns_max: AtomicU64,
    buckets: Box<[AtomicU64]>,
}

const COUNTS: usize = 12;

impl Default for WorkerCell {
    fn default() -> WorkerCell {
        WorkerCell {
            counts: Default::default(),
            latency_ns_min: AtomicU64::new(u64::MAX),
            latency_ns_max: AtomicU64::new(0),
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        }
    }
}

/// The cells of all clients and workers of one load.
#[derive(Debug)]
pub struct Board {
    clients: Box<[ClientCell]>,
    workers: Box<[WorkerCell]>,
}

/// Counts since the clients started, or between two readings.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub skipped: u64,
    pub retries: u64,
    pub reconnects: u64,
    pub latency_ns_sum: u64,
    /// Ended after more than one try.
    pub retried: u64,
    /// From due to sent.
    pub lag_ns_sum: u64,
    buckets: Vec<u64>,
    /// By client: transactions ended, and the time they took.
    pub clients: Vec<(u64, u64)>,
}

impl Board {
    pub fn new(clients: usize, workers: usize) -> Board {
        Board {
            clients: (0..clients).map(|_| ClientCell::default()).collect(),
            workers: (0..workers).map(|_| WorkerCell::default()).collect(),
        }
    }

    pub fn started(&self, client: u32, start_ns: u64) {
        self.clients[client as usize].running_since_ns.store(start_ns, Ordering::Relaxed);
    }

    pub fn ended(&self, client: u32, start_ns: u64, end_ns: u64) {
        let cell = &self.clients[client as usize];
        cell.running_since_ns.store(0, Ordering::Relaxed);
        add(&cell.ended, 1);
        add(&cell.busy_ns, end_ns - start_ns);
    }

    pub fn count(&self, worker: usize, outcome: Outcome, attempt: &Attempt, timing: Timing) {
        let cell = &self.workers[worker];
        let latency_ns = timing.end_ns - timing.due_ns;
        let ending = match outcome {
            Outcome::Committed => 3,
            Outcome::RolledBack => 4,
            Outcome::Failed => 5,
            Outcome::Skipped => 6,
        };
        add(&cell.counts[ending], 1);
        if outcome == Outcome::Skipped {
            return;
        }
        self.statements(worker, attempt);
        let retried = u64::from(attempt.retry_ns > 0);
        let lag_ns = timing.start_ns - timing.due_ns;
        let counted = [attempt.retries, attempt.reconnects, latency_ns, retried, lag_ns];
        cell.counts[7..].iter().zip(counted).for_each(|(cell, count)| add(cell, count));
        add(&cell.buckets[bucket(latency_ns)], 1);
        // Rare once a load runs, so the dearer exchange with a reader who resets them is no matter.
        if latency_ns < cell.latency_ns_min.load(Ordering::Relaxed) {
            cell.latency_ns_min.fetch_min(latency_ns, Ordering::Relaxed);
        }
        if latency_ns > cell.latency_ns_max.load(Ordering::Relaxed) {
            cell.latency_ns_max.fetch_max(latency_ns, Ordering::Relaxed);
        }
    }

    pub fn statements(&self, worker: usize, attempt: &Attempt) {
        let counted = [attempt.reads, attempt.writes, attempt.other];
        self.workers[worker].counts.iter().zip(counted).for_each(|(cell, count)| add(cell, count));
    }

    pub fn read(&self) -> Reading {
        let mut reading = Reading { buckets: vec![0; BUCKETS], ..Reading::default() };
        for worker in &self.workers {
            let counts: [u64; COUNTS] = std::array::from_fn(|index| worker.counts[index].load(Ordering::Relaxed));
            reading.add(&counts);
            for (sum, bucket) in reading.buckets.iter_mut().zip(&worker.buckets) {
                *sum += bucket.load(Ordering::Relaxed);
            }
        }
        let client = |cell: &ClientCell| (cell.ended.load(Ordering::Relaxed), cell.busy_ns.load(Ordering::Relaxed));
        reading.clients = self.clients.iter().map(client).collect();
        reading
    }

    /// The least and the greatest latency since the last call.
    pub fn take_extremes_ns(&self) -> Option<(u64, u64)> {
        let (mut least, mut most) = (u64::MAX, 0);
        for worker in &self.workers {
            least = least.min(worker.latency_ns_min.swap(u64::MAX, Ordering::Relaxed));
            most = most.max(worker.latency_ns_max.swap(0, Ordering::Relaxed));
        }
        (least <= most).then_some((least, most))
    }

    /// How many clients have a transaction under way, and since when the oldest of them runs.
    pub fn running(&self) -> (u32, Option<u64>) {
        let since = self.clients.iter().map(|cell| cell.running_since_ns.load(Ordering::Relaxed));
        let running: Vec<u64> = since.filter(|since_ns| *since_ns > 0).collect();
        (running.len() as u32, running.into_iter().min())
    }
}

/// Adds to a cell that has no other writer.
fn add(cell: &AtomicU64, count: u64) {
    cell.store(cell.load(Ordering::Relaxed) + count, Ordering::Relaxed);
}

/// Log-linear: the leading bit and the `FINENESS_BITS` behind it.
fn bucket(value: u64) -> usize {
    let exponent = (63 - (value | 1).leading_zeros()).saturating_sub(FINENESS_BITS);
    ((exponent as usize) << FINENESS_BITS) + (value >> exponent) as usize
}

/// The middle of a bucket.
fn value_of(bucket: usize) -> f64 {
    if bucket < 2 << FINENESS_BITS {
        return bucket as f64;
    }
    let exponent = (bucket >> FINENESS_BITS) - 1;
    let leading = bucket - (exponent << FINENESS_BITS);
    (leading as f64 + 0.5) * (1u64 << exponent) as f64
}

impl Reading {
    fn add(&mut self, counts: &[u64; COUNTS]) {
        let sums = [
            &mut self.reads,
            &mut self.writes,
            &mut self.other,
            &mut self.committed,
            &mut self.rolled_back,
            &mut self.failed,
            &mut self.skipped,
            &mut self.retries,
            &mut self.reconnects,
            &mut self.latency_ns_sum,
            &mut self.retried,
            &mut self.lag_ns_sum,
        ];
        sums.into_iter().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// What was counted after `earlier`.
    pub fn since(&self, earlier: &Reading) -> Reading {
        let minus = |later: &[u64], earlier: &[u64]| later.iter().zip(earlier).map(|(l, e)| l - e).collect();
        let clients = self.clients.iter().zip(&earlier.clients);
        Reading {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            other: self.other - earlier.other,
            committed: self.committed - earlier.committed,
            rolled_back: self.rolled_back - earlier.rolled_back,
            failed: self.failed - earlier.failed,
            skipped: self.skipped - earlier.skipped,
            retries: self.retries - earlier.retries,
            reconnects: self.reconnects - earlier.reconnects,
            latency_ns_sum: self.latency_ns_sum - earlier.latency_ns_sum,
            retried: self.retried - earlier.retried,
            lag_ns_sum: self.lag_ns_sum - earlier.lag_ns_sum,
            buckets: minus(&self.buckets, &earlier.buckets),
            clients: clients.map(|(later, earlier)| (later.0 - earlier.0, later.1 - earlier.1)).collect(),
        }
    }

    /// Latencies in milliseconds with how often each was seen, ascending; within 0.4 %.
    pub fn latencies_ms(&self) -> Vec<(f64, u64)> {
        let seen = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        seen.map(|(bucket, count)| (value_of(bucket) / 1e6, *count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_values_within_one_percent_of_its_middle() {
        for value in
            (0..300).chain((8..63).flat_map(|bit| [1u64 << bit, (1 << bit) + 12345 % (1 << bit), (2 << bit) - 1]))
        {
            let middle = value_of(bucket(value));
            let off = (middle - value as f64).abs() / (value as f64).max(1.0);
            assert!(off < 0.005, "{value} lies in the bucket of {middle}");
        }
        assert!(bucket(u64::MAX) < BUCKETS);
    }

    #[test]
    fn the_difference_of_two_readings_is_what_happened_between_them() {
        let board = Board::new(2, 1);
        let attempt = Attempt { reads: 14, retries: 1, ..Attempt::default() };
        let timing = Timing { due_ns: 0, start_ns: 0, end_ns: 2_000_000 };
        board.count(0, Outcome::Committed, &attempt, timing);
        let before = board.read();
        board.started(1, 5);
        assert_eq!(board.running(), (1, Some(5)));
        board.count(0, Outcome::Committed, &attempt, timing);
        board.ended(1, 5, 1_005);
        let between = board.read().since(&before);
        assert_eq!((between.committed, between.reads, between.retries), (1, 14, 1));
        assert_eq!(between.clients, [(0, 0), (1, 1_000)]);
        assert_eq!(board.running(), (0, None));
        let latencies = between.latencies_ms();
        assert_eq!(latencies.len(), 1);
        assert!((latencies[0].0 / 2.0 - 1.0).abs() < 0.005, "{latencies:?}");
    }

    #[test]
    fn extremes_are_those_since_they_were_last_taken() {
        let board = Board::new(1, 1);
        assert_eq!(board.take_extremes_ns(), None);
        for end_ns in [30, 10, 20] {
            board.count(0, Outcome::Committed, &Attempt::default(), Timing { due_ns: 0, start_ns: 0, end_ns });
        }
        assert_eq!(board.take_extremes_ns(), Some((10, 30)));
        assert_eq!(board.take_extremes_ns(), None);
    }
}
