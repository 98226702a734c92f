//! What one worker counts while the clock runs, and the sum of it afterwards.

use crate::histogram::Histogram;
use crate::timeline::Window;
use crate::workload::{Attempt, Outcome};

/// The three timestamps of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    pub due_ns: u64,
    pub start_ns: u64,
    pub end_ns: u64,
}

/// One second of the measured interval, by the moment transactions ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    pub committed: u64,
    pub retries: u64,
    pub failed: u64,
    pub latency_ns_max: u64,
}

/// Counts and histograms of all clients of one worker, in memory sized before the start.
///
/// A transaction belongs to the interval when it was *due* in it, so each one is counted once and
/// its ending is waited for. In-flight time and the per-second series cover what happened inside
/// the interval, whenever it was due.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    pub tally: Tally,
    /// In a closed loop a transaction is sent when it is due, and one histogram says it all.
    open_loop: bool,
}

/// Counts and histograms, merged over clients and workers.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    pub due: u64,
    pub committed: u64,
    pub rolled_back: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Attempts that the server asked to repeat; not an ending, so not part of `due`.
    pub retries: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    /// Due to answered.
    pub response: Histogram,
    /// Sent to answered.
    pub service: Histogram,
    /// Sum over clients of the time a transaction was running inside the interval.
    pub in_flight_ns: u64,
    pub seconds: Vec<Second>,
    /// Length of the measured interval.
    pub interval_ns: u64,
    /// From the end of the interval to the last answer.
    pub drain_ns: u64,
    /// CPU time of each load-generating thread during the interval.
    pub worker_cpu_ns: Vec<u64>,
    pub clients: u32,
    /// Every transaction that ended since the clients started, warm-up and drain included: what a
    /// server's own counters of the whole load are divided by.
    pub ended: u64,
}

impl Recorder {
    pub fn new(seconds_max: usize, open_loop: bool) -> Recorder {
        let tally = Tally { seconds: vec![Second::default(); seconds_max], ..Tally::default() };
        Recorder { tally, open_loop }
    }

    pub fn finish(mut self) -> Tally {
        if !self.open_loop {
            self.tally.service = self.tally.response.clone();
        }
        self.tally
    }

    pub fn record(&mut self, outcome: Outcome, attempt: &Attempt, timing: Timing, window: Window) {
        let overlap_start = timing.start_ns.max(window.start_ns);
        let overlap_end = timing.end_ns.min(window.end_ns);
        self.tally.in_flight_ns += overlap_end.saturating_sub(overlap_start);
        self.record_second(outcome, attempt, timing, window);
        if timing.due_ns < window.start_ns || timing.due_ns >= window.end_ns {
            return;
        }
        let tally = &mut self.tally;
        tally.due += 1;
        match outcome {
            Outcome::Committed => tally.committed += 1,
            Outcome::RolledBack => tally.rolled_back += 1,
            Outcome::Failed => tally.failed += 1,
            Outcome::Skipped => tally.skipped += 1,
        }
        tally.retries += attempt.retries;
        tally.reads += attempt.reads;
        tally.writes += attempt.writes;
        tally.other += attempt.other;
        tally.response.record(timing.end_ns - timing.due_ns);
        if self.open_loop {
            tally.service.record(timing.end_ns - timing.start_ns);
        }
    }

    fn record_second(&mut self, outcome: Outcome, attempt: &Attempt, timing: Timing, window: Window) {
        if timing.end_ns < window.start_ns || timing.end_ns >= window.end_ns {
            return;
        }
        let index = ((timing.end_ns - window.start_ns) / 1_000_000_000) as usize;
        if let Some(second) = self.tally.seconds.get_mut(index) {
            second.committed += u64::from(outcome == Outcome::Committed);
            second.failed += u64::from(outcome == Outcome::Failed);
            second.retries += attempt.retries;
            second.latency_ns_max = second.latency_ns_max.max(timing.end_ns - timing.due_ns);
        }
    }
}

impl Tally {
    pub fn add(&mut self, other: &Tally) {
        self.due += other.due;
        self.committed += other.committed;
        self.rolled_back += other.rolled_back;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.retries += other.retries;
        self.reads += other.reads;
        self.writes += other.writes;
        self.other += other.other;
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.in_flight_ns += other.in_flight_ns;
        if self.seconds.len() < other.seconds.len() {
            self.seconds.resize(other.seconds.len(), Second::default());
        }
        for (mine, theirs) in self.seconds.iter_mut().zip(&other.seconds) {
            mine.committed += theirs.committed;
            mine.retries += theirs.retries;
            mine.failed += theirs.failed;
            mine.latency_ns_max = mine.latency_ns_max.max(theirs.latency_ns_max);
        }
    }

    /// Committed transactions per second of the interval.
    pub fn tps(&self) -> f64 {
        self.committed as f64 / (self.interval_ns as f64 / 1e9)
    }

    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// Share of the clients' time during which a transaction was running (Little's law): a closed
    /// loop that falls below 0.9 was held back by the load generator.
    pub fn occupancy(&self) -> f64 {
        self.in_flight_ns as f64 / (f64::from(self.clients) * self.interval_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Window = Window { start_ns: 1_000, end_ns: 3_000_001_000 };

    fn record(timings: &[(u64, u64, u64)]) -> Tally {
        let mut recorder = Recorder::new(3, false);
        for &(due_ns, start_ns, end_ns) in timings {
            recorder.record(Outcome::Committed, &Attempt::default(), Timing { due_ns, start_ns, end_ns }, WINDOW);
        }
        recorder.finish()
    }

    #[test]
    fn a_transaction_belongs_to_the_interval_in_which_it_was_due() {
        let tally = record(&[(500, 500, 2_000), (1_000, 1_000, 2_000), (3_000_000_999, 3_000_000_999, 3_500_000_000)]);
        assert_eq!((tally.due, tally.committed), (2, 2));
    }

    #[test]
    fn in_flight_time_is_what_lies_inside_the_interval() {
        let tally = record(&[(500, 500, 2_000), (3_000_000_500, 3_000_000_500, 3_000_002_000)]);
        assert_eq!(tally.in_flight_ns, 1_000 + 500);
    }

    #[test]
    fn seconds_count_what_ended_in_them() {
        let tally = record(&[(1_000, 1_000, 1_500_001_000), (1_500_001_000, 1_500_001_000, 2_900_001_000)]);
        let ended: Vec<u64> = tally.seconds.iter().map(|second| second.committed).collect();
        assert_eq!(ended, [0, 1, 1]);
    }
}
