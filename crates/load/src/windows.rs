//! Latencies of each window of a measured interval, and how workers hand them over (method, section 3).
//!
//! A transaction belongs to the window in which it ended; one that ends behind the interval belongs to the last.
//! A worker records into one histogram. Its first transaction of another window puts the full one into the
//! exchange and goes on with an empty one from there; the coordinator adds it up and sends it back. Both queues
//! are made before the clients start, two histograms for each worker, so that no worker allocates or waits.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;

use crate::timeline::Window;
use latency::{Histogram, Sealed, Windows};

/// Where workers leave full histograms and find empty ones.
#[derive(Debug)]
pub struct Exchange {
    length_ns: u64,
    full: ArrayQueue<(u32, Histogram)>,
    empty: ArrayQueue<Histogram>,
    /// Transactions that found no empty histogram, and so stand in a window before theirs.
    late: AtomicU64,
}

impl Exchange {
    /// For windows of this length, and so many workers.
    pub fn new(length: Duration, workers: usize) -> Exchange {
        let exchange = Exchange {
            length_ns: (length.as_nanos() as u64).max(1),
            // A worker's last histogram comes on top of the one that it was given.
            full: ArrayQueue::new(2 * workers.max(1)),
            empty: ArrayQueue::new(2 * workers.max(1)),
            late: AtomicU64::new(0),
        };
        (0..workers).for_each(|_| exchange.offer(Histogram::default()));
        exchange
    }

    /// Empties a histogram, which also brings its memory in, so that no worker waits for pages.
    fn offer(&self, mut histogram: Histogram) {
        histogram.reset();
        // Never full: there are no more histograms than places.
        let _ = self.empty.push(histogram);
    }
}

/// One worker's side of the exchange.
#[derive(Debug, Clone)]
pub(crate) struct Shift {
    exchange: Arc<Exchange>,
    /// The window that its histogram is of.
    number: u32,
    /// Transactions that end before belong there.
    until_ns: u64,
}

impl Shift {
    pub(crate) fn new(exchange: Arc<Exchange>) -> Shift {
        Shift { exchange, number: 0, until_ns: 0 }
    }

    pub(crate) fn is_over(&self, end_ns: u64) -> bool {
        end_ns >= self.until_ns
    }

    /// Goes on to the window of a transaction that ended at `end_ns`; `current` is what is recorded into.
    #[cold]
    pub(crate) fn turn(&mut self, current: &mut Histogram, end_ns: u64, window: Window) {
        let length_ns = self.exchange.length_ns;
        let inside_ns = end_ns.min(window.end_ns - 1) - window.start_ns;
        let number = (inside_ns / length_ns) as u32;
        if number != self.number && current.count() > 0 && !self.hand_over(current) {
            // The coordinator has not run for a whole window. The next transaction tries again.
            self.exchange.late.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let next_ns = window.start_ns.saturating_add((u64::from(number) + 1) * length_ns);
        (self.number, self.until_ns) = (number, if next_ns >= window.end_ns { u64::MAX } else { next_ns });
    }

    fn hand_over(&self, current: &mut Histogram) -> bool {
        let Some(empty) = self.exchange.empty.pop() else { return false };
        let _ = self.exchange.full.push((self.number, std::mem::replace(current, empty)));
        true
    }

    /// Leaves the last histogram.
    pub(crate) fn end(self, last: Histogram) {
        if last.count() > 0 {
            let _ = self.exchange.full.push((self.number, last));
        }
    }
}

/// Adds up what workers hand over.
#[derive(Debug)]
pub struct Collector {
    exchange: Arc<Exchange>,
    /// The latest windows, to which some workers have yet to add.
    open: BTreeMap<u32, Histogram>,
    sealed: BTreeMap<u32, Sealed>,
    total: Histogram,
}

/// Windows that are kept open: workers end a window one after the other, and one that waits for a slow answer
/// much later.
const OPEN_MAX: usize = 3;

impl Collector {
    pub fn new(exchange: &Arc<Exchange>) -> Collector {
        let exchange = Arc::clone(exchange);
        Collector { exchange, open: BTreeMap::new(), sealed: BTreeMap::new(), total: Histogram::default() }
    }

    /// Takes what has been handed over since the last call.
    pub fn collect(&mut self) {
        while let Some((number, histogram)) = self.exchange.full.pop() {
            self.take(number, &histogram);
            self.exchange.offer(histogram);
            while self.open.len() > OPEN_MAX {
                self.seal_first();
            }
        }
    }

    /// The last window that workers have handed over.
    pub fn latest(&self) -> Option<&Histogram> {
        self.open.values().next_back()
    }

    /// Counts response times of transactions that never ended, as those of the interval's last window.
    pub fn charge(&mut self, unanswered: &Histogram, interval_ns: u64) {
        if unanswered.count() == 0 {
            return;
        }
        let last = interval_ns.div_ceil(self.exchange.length_ns).max(1) as u32 - 1;
        self.take(last, unanswered);
    }

    fn take(&mut self, number: u32, histogram: &Histogram) {
        self.total.add(histogram);
        let again = || self.sealed.remove(&number).map_or_else(Histogram::default, |sealed| sealed.open());
        self.open.entry(number).or_insert_with(again).add(histogram);
    }

    fn seal_first(&mut self) {
        if let Some((number, histogram)) = self.open.pop_first() {
            self.sealed.insert(number, Sealed::of(&histogram));
        }
    }

    /// All windows of an interval, and their sum; no worker hands over anything any more.
    pub fn finish(mut self, interval_ns: u64) -> (Histogram, Windows) {
        self.collect();
        while !self.open.is_empty() {
            self.seal_first();
        }
        let length_ns = self.exchange.length_ns;
        let nothing = Sealed::of(&Histogram::default());
        // One in which nothing ended is a window too, and the most telling one.
        let count = interval_ns.div_ceil(length_ns).max(1) as u32;
        let sealed = (0..count).map(|number| self.sealed.remove(&number).unwrap_or_else(|| nothing.clone()));
        let late = self.exchange.late.load(Ordering::Relaxed);
        let windows = Windows::new(length_ns, interval_ns, sealed.collect(), late);
        (self.total, windows)
    }
}

#[cfg(test)]
mod tests {
    use latency::{LatencyWindow, OutOfRange, read_windows};

    use super::*;

    const SECOND: u64 = 1_000_000_000;
    const WINDOW: Window = Window { start_ns: 7, end_ns: 7 + 12 * SECOND };

    /// A worker by itself: it records, and turns when it is time.
    struct Worker {
        shift: Shift,
        current: Histogram,
        everything: Histogram,
    }

    impl Worker {
        fn of(exchange: &Arc<Exchange>) -> Worker {
            let shift = Shift::new(Arc::clone(exchange));
            Worker { shift, current: Histogram::default(), everything: Histogram::default() }
        }

        fn record(&mut self, end_ns: u64, latency_ns: u64) {
            let end_ns = WINDOW.start_ns + end_ns;
            if self.shift.is_over(end_ns) {
                self.shift.turn(&mut self.current, end_ns, WINDOW);
            }
            self.current.record(latency_ns);
            self.everything.record(latency_ns);
        }
    }

    fn read(windows: &Windows) -> Vec<LatencyWindow> {
        read_windows(&windows.log()).collect::<Option<Vec<_>>>().unwrap()
    }

    #[test]
    fn the_windows_of_all_workers_add_up_to_the_whole() {
        let exchange = Arc::new(Exchange::new(Duration::from_secs(5), 2));
        let mut collector = Collector::new(&exchange);
        let mut workers = [Worker::of(&exchange), Worker::of(&exchange)];
        assert!(collector.latest().is_none());
        for step in 0..1_200_u64 {
            // The second worker has its last answer long before the end.
            workers[(step % 2) as usize].record(step * SECOND / 100, 1_000_000 + step * 7_919);
            collector.collect();
        }
        workers[0].record(14 * SECOND, 3 * SECOND);
        let mut whole = Histogram::default();
        for worker in workers {
            whole.add(&worker.everything);
            worker.shift.end(worker.current);
        }
        let (total, windows) = collector.finish(WINDOW.end_ns - WINDOW.start_ns);
        let windows_read = read(&windows);
        let counts: Vec<u64> = windows_read.iter().map(|window| window.latencies.count()).collect();
        assert_eq!(counts, [500, 500, 201], "what ends behind the interval is the last window's");
        let places: Vec<(u64, u64)> =
            windows_read.iter().map(|one| (one.start.as_secs(), one.length.as_secs())).collect();
        assert_eq!(places, [(0, 5), (5, 5), (10, 2)]);
        let mut sum = Histogram::default();
        windows_read.iter().for_each(|window| sum.add(&window.latencies));
        assert!(sum.latencies_ms() == whole.latencies_ms() && total.latencies_ms() == whole.latencies_ms());
        assert_eq!((total.sum_ms(), total.max_ms()), (whole.sum_ms(), whole.max_ms()));
    }

    #[test]
    fn a_window_in_which_nothing_ended_is_written_as_an_empty_one() {
        let exchange = Arc::new(Exchange::new(Duration::from_secs(5), 1));
        let (mut collector, mut worker) = (Collector::new(&exchange), Worker::of(&exchange));
        worker.record(SECOND, 1_000_000);
        worker.record(11 * SECOND, 10 * SECOND);
        collector.collect();
        worker.shift.end(worker.current);
        let (_, windows) = collector.finish(12 * SECOND);
        let counts: Vec<u64> = read(&windows).iter().map(|window| window.latencies.count()).collect();
        assert_eq!(counts, [1, 0, 1]);
    }

    #[test]
    fn a_worker_that_comes_late_still_finds_its_window() {
        let exchange = Arc::new(Exchange::new(Duration::from_secs(1), 2));
        let (mut collector, mut slow, mut quick) =
            (Collector::new(&exchange), Worker::of(&exchange), Worker::of(&exchange));
        slow.record(1, 2_000_000);
        for second in 0..12 {
            quick.record(second * SECOND, 1_000_000);
            collector.collect();
        }
        slow.record(11 * SECOND, 11 * SECOND);
        slow.shift.end(slow.current);
        quick.shift.end(quick.current);
        let (total, windows) = collector.finish(12 * SECOND);
        let counts: Vec<u64> = read(&windows).iter().map(|window| window.latencies.count()).collect();
        assert_eq!((counts[0], counts[11], counts.len(), total.count()), (2, 2, 12, 14));
        assert_eq!(windows.late(), 0);
    }

    #[test]
    fn nothing_is_lost_without_a_collector() {
        let exchange = Arc::new(Exchange::new(Duration::from_secs(1), 1));
        let (collector, mut worker) = (Collector::new(&exchange), Worker::of(&exchange));
        (0..12).for_each(|second| worker.record(second * SECOND, 1_000_000));
        worker.shift.end(worker.current);
        let (total, windows) = collector.finish(12 * SECOND);
        assert_eq!((total.count(), windows.late()), (12, 10));
        assert!(windows.log().contains("#10 transactions stand in the window before theirs"));
        assert_eq!(read(&windows).iter().map(|window| window.latencies.count()).sum::<u64>(), 12);
    }

    #[test]
    fn values_out_of_range_are_written_with_their_window() {
        let exchange = Arc::new(Exchange::new(Duration::from_secs(5), 1));
        let (mut collector, mut worker) = (Collector::new(&exchange), Worker::of(&exchange));
        worker.record(SECOND, 1_000_000);
        worker.record(6 * SECOND, 10);
        collector.collect();
        worker.record(6 * SECOND, 4_000 * SECOND);
        worker.shift.end(worker.current);
        let windows_read = read(&collector.finish(12 * SECOND).1);
        let windows_read: Vec<OutOfRange> = windows_read.iter().map(|window| window.latencies.out_of_range).collect();
        assert_eq!(windows_read, [OutOfRange::default(), OutOfRange { below: 1, above: 1 }, OutOfRange::default()]);
    }

    #[test]
    fn a_damaged_line_ends_the_reading() {
        let exchange = Arc::new(Exchange::new(Duration::from_secs(5), 1));
        let log = Collector::new(&exchange).finish(10 * SECOND).1.log();
        let readable = |log: &str| read_windows(log).map(|window| window.is_some()).collect::<Vec<bool>>();
        assert_eq!(readable(&log), [true, true]);
        assert_eq!(readable(&log.replace("5.000,5.000", "5.000;5.000")), [true, false]);
        assert_eq!(readable("latencies\n0.0,5.0,1.0,HIST\n"), [false]);
        assert_eq!(readable("#[OutOfRange: many]\n"), [false]);
        assert_eq!(readable(""), Vec::<bool>::new());
    }
}
