//! The interval that is measured: the coordinator moves it and all workers read it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The measured interval; both ends are `u64::MAX` until they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
}

impl Window {
    pub fn contains(&self, at_ns: u64) -> bool {
        (self.start_ns..self.end_ns).contains(&at_ns)
    }
}

/// Nobody who has just lost a connection has lost the server.
pub const GONE_NS: u64 = 1_000_000_000;

/// The coordinator's state for the workers while they run; read, never waited for.
#[derive(Debug)]
pub struct Timeline {
    window_start_ns: AtomicU64,
    window_end_ns: AtomicU64,
    stop: AtomicBool,
    /// How long behind the interval a transaction that was refused is still tried again.
    retry_ns: AtomicU64,
    /// Transactions that may still start; `u64::MAX` when their number is not limited.
    left: AtomicU64,
    /// Transactions that each client may start; `u64::MAX` when their number is not limited.
    each: AtomicU64,
    /// Clients that an error has ended, while the others go on.
    pub aborted: AtomicU32,
    /// Transactions ended so far, whenever they were due; for the progress line, and the tally's `ended`.
    pub ended: AtomicU64,
    /// Which of a pass's parts is under way, by its place among them; for the progress line.
    pub part: AtomicUsize,
    /// Clients that had found no connection for [`GONE_NS`] when their time was over.
    pub cut_off: AtomicU32,
    /// Clients that lost a connection shortly before: they had a new one by then, or were about to open it.
    pub unanswered: AtomicU32,
    /// A client has left of itself, before the interval's end.
    left_early: AtomicBool,
    /// Clients stay connected behind the interval's end.
    held: AtomicBool,
    /// When the last client had nothing left to do; 0 while none has.
    done_ns: AtomicU64,
    /// When the clients were let go; 0 before.
    started_ns: AtomicU64,
    /// A part of the load comes before the interval.
    warms_up: AtomicBool,
    /// Clients of a pass that wait for the interval.
    warm: AtomicU32,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            window_start_ns: AtomicU64::new(u64::MAX),
            window_end_ns: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            retry_ns: AtomicU64::new(0),
            left: AtomicU64::new(u64::MAX),
            each: AtomicU64::new(u64::MAX),
            aborted: AtomicU32::new(0),
            ended: AtomicU64::new(0),
            part: AtomicUsize::new(0),
            cut_off: AtomicU32::new(0),
            unanswered: AtomicU32::new(0),
            left_early: AtomicBool::new(false),
            held: AtomicBool::new(false),
            done_ns: AtomicU64::new(0),
            started_ns: AtomicU64::new(0),
            warms_up: AtomicBool::new(false),
            warm: AtomicU32::new(0),
        }
    }
}

impl Timeline {
    /// Opens the measured interval. Its end is set first, so that no reader gets half a window.
    pub fn open_window(&self, window: Window) {
        self.window_end_ns.store(window.end_ns, Ordering::Release);
        self.window_start_ns.store(window.start_ns, Ordering::Release);
    }

    /// Opens an interval that lasts until the clients are done, unless it is open already: for clients that alone know
    /// where it begins.
    pub fn open_at(&self, start_ns: u64) {
        // Whoever is second finds it open.
        let _ = self.window_start_ns.compare_exchange(u64::MAX, start_ns, Ordering::AcqRel, Ordering::Acquire);
    }

    /// The clients are let go at this moment.
    pub(crate) fn start(&self, start_ns: u64, warms_up: bool) {
        self.warms_up.store(warms_up, Ordering::Relaxed);
        self.started_ns.store(start_ns, Ordering::Release);
    }

    /// When the clients were let go, for those that were.
    pub fn started_ns(&self) -> u64 {
        self.started_ns.load(Ordering::Acquire)
    }

    /// Whether a part of the load comes before the interval.
    pub fn warms_up(&self) -> bool {
        self.warms_up.load(Ordering::Relaxed)
    }

    /// A client has warmed up, and waits for the interval.
    pub(crate) fn warmed_up(&self) {
        self.warm.fetch_add(1, Ordering::Relaxed);
    }

    /// How many clients wait for the interval.
    pub(crate) fn warm(&self) -> u32 {
        self.warm.load(Ordering::Relaxed)
    }

    /// Ends the measured interval at `end_ns`, when that is before its planned end.
    pub fn close_window(&self, end_ns: u64) {
        self.window_end_ns.fetch_min(end_ns, Ordering::AcqRel);
    }

    pub fn window(&self) -> Window {
        let start_ns = self.window_start_ns.load(Ordering::Acquire);
        Window { start_ns, end_ns: self.window_end_ns.load(Ordering::Acquire) }
    }

    /// A client whose time is over stays connected until it is let go: with its connection goes what the server's
    /// process for it counted.
    pub fn hold(&self) {
        self.held.store(true, Ordering::Relaxed);
    }

    pub fn let_go(&self) {
        self.held.store(false, Ordering::Relaxed);
    }

    /// Whether a client that has nothing left to do stays connected. Where clients end the interval, none does.
    pub fn holds(&self) -> bool {
        let is_timed = self.window_end_ns.load(Ordering::Relaxed) != u64::MAX && !self.is_used_up();
        is_timed && self.held.load(Ordering::Relaxed) && !self.is_stopped()
    }

    /// A client has nothing left to do.
    pub fn done_at(&self, now_ns: u64) {
        self.done_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// When the last client had nothing left to do, however long it stayed.
    pub fn done_ns(&self) -> Option<u64> {
        Some(self.done_ns.load(Ordering::Relaxed)).filter(|done_ns| *done_ns > 0)
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// No transaction that is due at `now_ns` should start any more.
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.window_end_ns.load(Ordering::Relaxed) || self.is_stopped()
    }

    /// For so long behind the interval a transaction that was refused is tried again.
    pub fn allow_retries(&self, behind_the_end: Duration) {
        self.retry_ns.store(behind_the_end.as_nanos() as u64, Ordering::Relaxed);
    }

    /// No transaction that was refused should be tried again. What began inside the interval goes on a little
    /// behind it: then nothing competes any more, and what would have committed is not counted as failed.
    pub fn is_over_for_retries(&self, now_ns: u64) -> bool {
        let end_ns = self.window_end_ns.load(Ordering::Relaxed);
        now_ns >= end_ns.saturating_add(self.retry_ns.load(Ordering::Relaxed)) || self.is_stopped()
    }

    /// Only so many transactions of the interval start, over all clients. Set before the interval is opened: whoever
    /// reads a time inside it reads the limit too.
    pub fn limit(&self, transactions: u64) {
        self.left.store(transactions, Ordering::SeqCst);
    }

    /// When the interval starts. A limit is set right before that, so the wait is one of nanoseconds.
    fn start_ns(&self) -> u64 {
        loop {
            match self.window_start_ns.load(Ordering::Acquire) {
                u64::MAX => std::thread::yield_now(),
                start_ns => return start_ns,
            }
        }
    }

    /// A client has nothing left to do. When all have left, the interval is over.
    pub fn leave(&self) {
        self.left_early.store(true, Ordering::Relaxed);
    }

    /// No client starts more transactions than this.
    pub fn limit_each(&self, transactions: u64) {
        self.each.store(transactions, Ordering::Relaxed);
    }

    /// A client that has started so many transactions may start another.
    pub fn has_share(&self, started: u64) -> bool {
        started < self.each.load(Ordering::Relaxed)
    }

    /// Whether a limited number of transactions has started, and no other one may, or clients end the interval.
    pub fn is_used_up(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0 || self.left_early.load(Ordering::Relaxed)
    }

    /// Takes one of the transactions that may still start, for one that is due at `due_ns`; `false` when there is none.
    pub fn take_one(&self, due_ns: u64) -> bool {
        // A limit that does not exist must cost nothing: it would be an update of a shared line per transaction.
        if self.left.load(Ordering::Relaxed) == u64::MAX {
            return true;
        }
        // What is due before the interval belongs to the warm-up, and takes none of the interval's.
        if due_ns < self.start_ns() {
            return true;
        }
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_lets_exactly_so_many_transactions_start() {
        let timeline = Timeline::default();
        assert!(timeline.take_one(100));
        timeline.limit(1001);
        let taken: u32 = std::thread::scope(|scope| {
            let takers: Vec<_> =
                (0..4).map(|_| scope.spawn(|| (0..1000).filter(|_| timeline.take_one(100)).count() as u32)).collect();
            // Those that began before the interval was opened wait until they know whether they are in it.
            timeline.open_window(Window { start_ns: 100, end_ns: 200 });
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(taken, 1001);
    }

    #[test]
    fn a_transaction_of_the_warm_up_takes_none_of_the_intervals() {
        let timeline = Timeline::default();
        timeline.limit(1);
        timeline.open_window(Window { start_ns: 100, end_ns: 200 });
        assert!(timeline.take_one(99) && timeline.take_one(99) && timeline.take_one(100));
        assert!(!timeline.take_one(100));
    }

    #[test]
    fn clients_whose_time_is_up_stay_until_they_are_let_go() {
        let timed = || {
            let timeline = Timeline::default();
            timeline.hold();
            assert!(!timeline.holds(), "the interval has no end yet");
            timeline.open_window(Window { start_ns: 100, end_ns: 200 });
            assert!(timeline.holds());
            timeline
        };
        let check = |end: fn(&Timeline)| {
            let timeline = timed();
            end(&timeline);
            assert!(!timeline.holds());
        };
        check(Timeline::let_go);
        check(Timeline::stop);
        // These end the interval themselves, and nothing would let them go.
        check(|timeline| timeline.limit(0));
        check(Timeline::leave);
    }

    #[test]
    fn a_window_can_be_closed_early_but_never_later() {
        let timeline = Timeline::default();
        timeline.open_window(Window { start_ns: 10, end_ns: 100 });
        timeline.close_window(200);
        assert_eq!(timeline.window().end_ns, 100);
        timeline.close_window(50);
        assert!(timeline.is_over(50));
    }
}
