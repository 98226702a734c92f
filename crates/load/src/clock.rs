//! Time for the measured loop: nanoseconds on the monotonic clock, and waiting until a moment.

#![expect(unsafe_code, reason = "clocks of other threads, and two readings a transaction")]

use std::cell::Cell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crate::bells::Bell;

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

/// CPU time of the calling thread.
pub fn thread_cpu_ns() -> u64 {
    cpu_clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// How long a thread of this process has been ready to run and waited for a CPU; `None` where the kernel does
/// not count it, or the thread has ended.
pub fn run_queue_wait_ns(thread: libc::pid_t) -> Option<u64> {
    waited_ns(&std::fs::read_to_string(format!("/proc/self/task/{thread}/schedstat")).ok()?)
}

/// Layout: ns on a CPU, ns waiting for one, number of time slices.
fn waited_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The calling thread, as the kernel numbers it.
pub fn thread_number() -> libc::pid_t {
    nix::unistd::gettid().as_raw()
}

/// The clock of the calling thread's CPU time, for other threads.
pub fn thread_cpu_clock() -> Option<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the calling thread is alive, and the pointer is to a live number.
    (unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &mut clock) } == 0).then_some(clock)
}

/// `None` when there is no such clock, because its thread has ended.
pub fn cpu_clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    let known = unsafe { libc::clock_gettime(clock, &mut time) == 0 };
    known.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// One client's view of the real clock.
#[derive(Debug, Clone)]
pub struct MonotonicClock {
    /// The last reading, so that a transaction due "now" costs no second one.
    last_ns: Cell<u64>,
    /// Where the event loop finds when to wake this client; without an event loop the thread sleeps.
    alarm: Option<Alarm>,
}

/// When one client of an event loop is to be woken (`u64::MAX`: only by its connection).
#[derive(Debug, Clone)]
pub struct Alarm {
    at_ns: Rc<Cell<u64>>,
    /// Not later than any alarm of the loop, so that a loop without sleepers need not search for one.
    earliest_ns: Rc<Cell<u64>>,
    /// Its client listens to the bell of its worker.
    listens: Rc<Cell<bool>>,
}

impl Alarm {
    /// An alarm of the loop that reads `earliest_ns`.
    pub fn new(earliest_ns: &Rc<Cell<u64>>) -> Alarm {
        Alarm { at_ns: Rc::new(Cell::new(u64::MAX)), earliest_ns: Rc::clone(earliest_ns), listens: Rc::default() }
    }

    pub fn at_ns(&self) -> u64 {
        self.at_ns.get()
    }

    pub fn listens(&self) -> bool {
        self.listens.get()
    }

    fn set(&self, at_ns: u64) {
        self.at_ns.set(at_ns);
        self.earliest_ns.set(self.earliest_ns.get().min(at_ns));
    }
}

impl MonotonicClock {
    /// For a thread of its own.
    pub fn sleeping() -> MonotonicClock {
        MonotonicClock { last_ns: Cell::new(0), alarm: None }
    }

    /// For an event loop, which wakes the client when its alarm is due.
    pub fn woken(alarm: Alarm) -> MonotonicClock {
        MonotonicClock { last_ns: Cell::new(0), alarm: Some(alarm) }
    }

    /// Waits until something is so that other clients make so, who ring the bell then, or until `limit_ns`; returns
    /// the time. Only for clients of an event loop.
    pub async fn wait_for(&self, bell: &Bell, limit_ns: u64, mut is_so: impl FnMut() -> bool) -> u64 {
        let alarm = self.alarm.as_ref().expect("clients that wait for others have an event loop");
        poll_fn(|_| {
            if !is_so() && self.now_ns() < limit_ns {
                if !alarm.listens.replace(true) {
                    bell.ringing.listen();
                }
                // What has become so before anybody knew of this listener was not rung for it.
                if !is_so() {
                    alarm.set(limit_ns);
                    return Poll::Pending;
                }
            }
            if alarm.listens.replace(false) {
                bell.ringing.leave();
            }
            alarm.set(u64::MAX);
            Poll::Ready(self.now_ns())
        })
        .await
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
        let Some(alarm) = &self.alarm else {
            let wait_ns = due_ns.saturating_sub(self.now_ns());
            std::thread::sleep(Duration::from_nanos(wait_ns));
            return self.now_ns();
        };
        poll_fn(|_| {
            let now_ns = self.now_ns();
            if now_ns >= due_ns {
                alarm.set(u64::MAX);
                return Poll::Ready(now_ns);
            }
            alarm.set(due_ns);
            Poll::Pending
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_cpu_is_the_second_field() {
        for (schedstat, expected) in
            [("310 41512 1\n", Some(41512)), ("0 0 0", Some(0)), ("", None), ("12", None), ("12 x 3", None)]
        {
            assert_eq!(waited_ns(schedstat), expected, "{schedstat:?}");
        }
        assert_eq!(run_queue_wait_ns(-1), None);
    }
}
