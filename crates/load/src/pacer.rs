//! When the next transaction is due.
//!
//! In an open loop arrivals are scheduled ahead and independently of the answers, so a stalled
//! server cannot make its own load wait. All clients share one queue of arrivals: a free client
//! takes the oldest, and none waits for a lock.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::backlog::Backlog;
use crate::rng::Rng;
use crate::share::{ArrivalShare, Interarrival};
use crate::transaction::ARRIVALS;

/// Decides for one client when its next transaction is *due*.
#[derive(Debug, Clone)]
pub enum Pacer {
    /// The next transaction is due when the last one has ended.
    Closed,
    /// Whenever an arrival is due, whatever the server does.
    Open(Arc<Arrivals>),
    /// When a client has deferred one: that of a background slot.
    Deferred(Arc<Backlog>),
}

/// A rate at which transactions arrive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    pub per_sec: f64,
    pub gaps: Interarrival,
    /// Most arrivals that may wait; the oldest beyond it are missed, and counted.
    pub queue_max: u64,
}

/// One arrival, as a client takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The client that it belongs to, or [`ARRIVALS`].
    pub series: u64,
    /// From 0; its inputs follow from series, number and seed, whichever client takes it.
    pub number: u64,
    pub due_ns: u64,
    /// Too many others waited behind it, or it is later than it may be: it is counted and not run.
    pub missed: bool,
}

/// The arrivals that are scheduled and not taken yet: a ring of due times with one writer and many takers.
#[derive(Debug)]
pub struct Arrivals {
    /// Slot `number % length` holds a due time while `number` lies between `taken` and `scheduled`.
    ring: Box<[AtomicU64]>,
    /// In the same slots, which of all arrivals it is; empty where all of them are scheduled here.
    numbers: Box<[AtomicU64]>,
    scheduled: AtomicU64,
    taken: AtomicU64,
    queue_max: u64,
    /// An arrival that is later than this is missed.
    late_max_ns: u64,
    /// Only the coordinator's; a lock so that the schedule can be shared, never waited for.
    source: Mutex<Source>,
}

#[derive(Debug)]
struct Source {
    rate: Rate,
    rng: Rng,
    seed: u64,
    /// The arrivals that are scheduled here; None for all of them.
    share: Option<ArrivalShare>,
    /// Of the next one that is drawn.
    number: u64,
    /// Due time of the last one that was drawn, since the start: a sum that began at the clock would be rounded by
    /// the size of the clock.
    since_ns: f64,
    start_ns: u64,
}

/// How far ahead of now arrivals are scheduled, within bounds; the coordinator checks several times as often.
const AHEAD_SECS: f64 = 2.0;
const AHEAD: std::ops::RangeInclusive<u64> = 4096..=1 << 20;

impl Arrivals {
    /// An empty schedule, until [`Arrivals::start`].
    pub fn new(rate: Rate, seed: u64) -> Arrivals {
        let ahead = ((rate.per_sec * AHEAD_SECS) as u64).clamp(*AHEAD.start(), *AHEAD.end());
        let length = (rate.queue_max + ahead) as usize;
        let rng = Rng::stream(seed, ARRIVALS, 0);
        let source = Source { rate, rng, seed, share: None, number: 0, since_ns: 0.0, start_ns: 0 };
        Arrivals {
            ring: (0..length).map(|_| AtomicU64::new(0)).collect(),
            numbers: Box::default(),
            scheduled: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            queue_max: rate.queue_max,
            late_max_ns: u64::MAX,
            source: Mutex::new(source),
        }
    }

    /// The same, with arrivals missed that are later than this when a client is free.
    pub fn no_later_than(self, limit: Option<Duration>) -> Arrivals {
        Arrivals { late_max_ns: limit.map_or(u64::MAX, |limit| limit.as_nanos() as u64), ..self }
    }

    /// The same schedule, of which only a worker's share is taken here.
    pub fn only(mut self, share: Option<ArrivalShare>) -> Arrivals {
        if share.is_some() {
            self.numbers = self.ring.iter().map(|_| AtomicU64::new(0)).collect();
        }
        self.source.get_mut().expect("no thread panics while drawing gaps").share = share;
        self
    }

    /// Begins to schedule; the first gap lies between `start_ns` and the first arrival.
    pub fn start(&self, start_ns: u64) {
        self.source.lock().expect("no thread panics while drawing gaps").start_ns = start_ns;
        self.schedule();
    }

    /// Fills the ring. Whatever the ring cannot hold keeps its due time and is scheduled later.
    pub fn schedule(&self) {
        let mut source = self.source.lock().expect("no thread panics while drawing gaps");
        let mut number = self.scheduled.load(Ordering::Relaxed);
        while number - self.taken.load(Ordering::Acquire) < self.ring.len() as u64 {
            let (arrival, due_ns) = source.draw();
            if let Some(slot) = self.numbers.get(self.place(number)) {
                slot.store(arrival, Ordering::Relaxed);
            }
            self.slot(number).store(due_ns, Ordering::Relaxed);
            number += 1;
            self.scheduled.store(number, Ordering::Release);
        }
    }

    /// The oldest arrival that has not been taken, due or not; `None` when the schedule has fallen behind.
    pub fn take(&self, now_ns: u64) -> Option<Arrival> {
        loop {
            let number = self.taken.load(Ordering::Acquire);
            let scheduled = self.scheduled.load(Ordering::Acquire);
            if number >= scheduled {
                return None;
            }
            // The slot may be written again only after `taken` has moved, and then the exchange fails.
            let due_ns = self.slot(number).load(Ordering::Relaxed);
            let arrival = self.numbers.get(self.place(number)).map_or(number, |slot| slot.load(Ordering::Relaxed));
            let behind = number + self.queue_max;
            let is_crowded = behind < scheduled && self.slot(behind).load(Ordering::Relaxed) <= now_ns;
            let missed = is_crowded || now_ns > due_ns.saturating_add(self.late_max_ns);
            if self.taken.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                return Some(Arrival { series: ARRIVALS, number: arrival, due_ns, missed });
            }
        }
    }

    /// How many arrivals are due at `now_ns` and wait for a client.
    pub fn waiting(&self, now_ns: u64) -> u64 {
        let (taken, scheduled) = (self.taken.load(Ordering::Acquire), self.scheduled.load(Ordering::Acquire));
        // Due times grow, so the first one in the future ends the queue.
        let (mut low, mut high) = (taken, scheduled);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.slot(middle).load(Ordering::Relaxed) <= now_ns { low = middle + 1 } else { high = middle }
        }
        low - taken
    }

    /// Due times of the arrivals from `start_ns` to `end_ns` that no client took. Only for the end of a load: it
    /// draws on to `end_ns` where the ring was full, and leaves no schedule behind.
    pub fn left_over(&self, start_ns: u64, end_ns: u64) -> impl Iterator<Item = u64> + '_ {
        let (taken, scheduled) = (self.taken.load(Ordering::Acquire), self.scheduled.load(Ordering::Acquire));
        let queued = (taken..scheduled).map(|number| self.slot(number).load(Ordering::Relaxed));
        let mut source = self.source.lock().expect("no thread panics while drawing gaps");
        let unscheduled = std::iter::from_fn(move || (source.due_ns() < end_ns).then(|| source.draw().1));
        queued.chain(unscheduled).filter(move |due_ns| (start_ns..end_ns).contains(due_ns))
    }

    fn slot(&self, number: u64) -> &AtomicU64 {
        &self.ring[self.place(number)]
    }

    fn place(&self, number: u64) -> usize {
        (number % self.ring.len() as u64) as usize
    }
}

impl Source {
    /// Number and due time of the next arrival that is scheduled here.
    fn draw(&mut self) -> (u64, u64) {
        loop {
            let (number, due_ns) = self.draw_any();
            if self.share.as_ref().is_none_or(|share| share.has(self.rate.gaps, self.seed, number)) {
                return (number, due_ns);
            }
        }
    }

    fn draw_any(&mut self) -> (u64, u64) {
        let gaps = match self.rate.gaps {
            Interarrival::Poisson => -(1.0 - self.rng.unit()).ln(),
            Interarrival::Constant => 1.0,
        };
        self.since_ns += gaps * 1e9 / self.rate.per_sec;
        self.number += 1;
        (self.number - 1, self.due_ns())
    }

    fn due_ns(&self) -> u64 {
        self.start_ns + self.since_ns as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn arrivals(per_sec: f64, gaps: Interarrival, queue_max: u64) -> Arrivals {
        started(Rate { per_sec, gaps, queue_max }, 1)
    }

    fn started(rate: Rate, seed: u64) -> Arrivals {
        let arrivals = Arrivals::new(rate, seed);
        arrivals.start(0);
        arrivals
    }

    #[test]
    fn constant_arrivals_keep_their_distance() {
        let arrivals = arrivals(1000.0, Interarrival::Constant, 10);
        let due: Vec<u64> = (0..3).map(|_| arrivals.take(0).unwrap().due_ns).collect();
        assert_eq!(due, [1_000_000, 2_000_000, 3_000_000]);
    }

    #[test]
    fn the_oldest_arrivals_are_missed_when_more_wait_than_the_queue_holds() {
        let arrivals = arrivals(1000.0, Interarrival::Constant, 10);
        // At 20.5 ms twenty are due: the first ten have ten or more behind them.
        let taken: Vec<Arrival> = (0..20).map(|_| arrivals.take(20_500_000).unwrap()).collect();
        let missed: Vec<u64> = taken.iter().filter(|arrival| arrival.missed).map(|arrival| arrival.number).collect();
        assert_eq!(missed, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn arrivals_that_are_later_than_they_may_be_are_missed() {
        let rate = Rate { per_sec: 1000.0, gaps: Interarrival::Constant, queue_max: 100 };
        let arrivals = Arrivals::new(rate, 1).no_later_than(Some(Duration::from_millis(5)));
        arrivals.start(0);
        let missed = (0..20).map(|_| arrivals.take(20_000_000).unwrap()).filter(|arrival| arrival.missed);
        assert_eq!(missed.map(|arrival| arrival.due_ns / 1_000_000).collect::<Vec<_>>(), (1..15).collect::<Vec<_>>());
    }

    #[test]
    fn those_that_wait_are_due_and_not_taken() {
        let arrivals = arrivals(1000.0, Interarrival::Constant, 10);
        assert_eq!(arrivals.waiting(5_500_000), 5);
        arrivals.take(5_500_000);
        assert_eq!(arrivals.waiting(5_500_000), 4);
        assert_eq!(arrivals.waiting(0), 0);
    }

    #[test]
    fn the_ring_goes_round_and_nothing_is_lost_or_taken_twice() {
        let arrivals = arrivals(1_000_000.0, Interarrival::Poisson, 100);
        let mut taken: Vec<u64> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..3)
                .map(|_| {
                    let take = |_| loop {
                        match arrivals.take(0) {
                            Some(arrival) => return (arrival.number, arrival.due_ns),
                            None => arrivals.schedule(),
                        }
                    };
                    scope.spawn(move || (0..1_000_000).map(take).collect::<Vec<_>>())
                })
                .collect();
            let all: Vec<(u64, u64)> = takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect();
            let mean_gap_ns = all.iter().map(|(_, due_ns)| *due_ns).max().unwrap() as f64 / all.len() as f64;
            assert!((mean_gap_ns / 1000.0 - 1.0).abs() < 0.01, "mean gap {mean_gap_ns} ns at a million per second");
            all.into_iter().map(|(number, _)| number).collect()
        });
        taken.sort_unstable();
        assert!(taken.iter().enumerate().all(|(index, number)| index as u64 == *number));
    }

    #[test]
    fn what_is_left_over_is_everything_due_that_was_not_taken() {
        let arrivals = arrivals(1000.0, Interarrival::Constant, 10);
        assert!((0..100).all(|_| arrivals.take(0).is_some()));
        // 20 s hold 20,000 arrivals from 1 ms on; one more is due at the very end, outside.
        assert_eq!(arrivals.left_over(0, 20 * SECOND).count(), 19_999 - 100);
    }

    #[test]
    fn one_seed_gives_one_schedule() {
        let due = |seed| started(Rate { per_sec: 10.0, gaps: Interarrival::Poisson, queue_max: 5 }, seed).take(0);
        assert_eq!(due(1), due(1));
        assert_ne!(due(1), due(2));
    }
}
