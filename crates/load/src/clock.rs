//! Time for the measured loop: nanoseconds on the monotonic clock, and waiting until a moment.

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

pub trait Clock {
    fn now_ns(&self) -> u64;
    /// Waits until `due_ns` and returns the time then; returns at once when it has passed.
    fn wait_until(&self, due_ns: u64) -> impl Future<Output = u64>;
}

/// CLOCK_MONOTONIC, the same for all threads.
pub fn monotonic_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// One client's view of the real clock.
pub struct MonotonicClock {
    /// The last reading, so that a transaction due "now" costs no second one.
    last_ns: Cell<u64>,
    /// When the event loop should wake this client; without an event loop the thread sleeps.
    wake_at_ns: Option<Rc<Cell<u64>>>,
}

impl MonotonicClock {
    /// For a thread of its own.
    pub fn sleeping() -> MonotonicClock {
        MonotonicClock { last_ns: Cell::new(0), wake_at_ns: None }
    }

    /// For an event loop, which reads from the cell when to wake the client (`u64::MAX`: never).
    pub fn woken(wake_at_ns: Rc<Cell<u64>>) -> MonotonicClock {
        MonotonicClock { last_ns: Cell::new(0), wake_at_ns: Some(wake_at_ns) }
    }
}

impl Clock for MonotonicClock {
    fn now_ns(&self) -> u64 {
        let now_ns = monotonic_ns();
        self.last_ns.set(now_ns);
        now_ns
    }

    async fn wait_until(&self, due_ns: u64) -> u64 {
        if due_ns <= self.last_ns.get() {
            return self.last_ns.get();
        }
        let Some(wake_at_ns) = &self.wake_at_ns else {
            let wait_ns = due_ns.saturating_sub(self.now_ns());
            std::thread::sleep(Duration::from_nanos(wait_ns));
            return self.now_ns();
        };
        poll_fn(|_| {
            let now_ns = self.now_ns();
            if now_ns >= due_ns {
                wake_at_ns.set(u64::MAX);
                return Poll::Ready(now_ns);
            }
            wake_at_ns.set(due_ns);
            Poll::Pending
        })
        .await
    }
}
