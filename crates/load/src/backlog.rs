//! Transactions that clients leave to background slots, and the queue between them.
//!
//! A deferred transaction is its turn, from which its inputs follow, and the moment it was queued. What it
//! does is the workload's affair; when it runs is [`crate::Pacer`]'s. The queue has a fixed size and no
//! lock. What must stay true: whatever was put in is taken out once, or found by [`Backlog::left_over`];
//! a full queue refuses, and the client that is refused counts it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crossbeam_queue::ArrayQueue;

use crate::clock::monotonic_ns;
use crate::timeline::Window;
use crate::transaction::Turn;

/// Room for what a busy server leaves undone in the 80 s that a Delivery may take: 800 a second.
const QUEUE_MAX: usize = 1 << 16;

/// A transaction that waits for a background slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferred {
    pub series: u64,
    pub number: u64,
    pub queued_ns: u64,
}

/// What is queued, and whether more will come.
#[derive(Debug)]
pub struct Backlog {
    queue: ArrayQueue<Deferred>,
    /// Clients that may still put something in.
    givers: AtomicU32,
    /// When the last of them had left.
    left_ns: AtomicU64,
    given_up: AtomicBool,
}

impl Default for Backlog {
    fn default() -> Backlog {
        Backlog::with_capacity(QUEUE_MAX)
    }
}

impl Backlog {
    pub fn with_capacity(transactions: usize) -> Backlog {
        Backlog {
            queue: ArrayQueue::new(transactions),
            givers: AtomicU32::new(0),
            left_ns: AtomicU64::new(0),
            given_up: AtomicBool::new(false),
        }
    }

    /// A client's end. All must be there before the first slot checks whether they have left.
    pub fn giver(self: &Arc<Backlog>) -> Giver {
        self.givers.fetch_add(1, Ordering::AcqRel);
        Giver(Arc::clone(self))
    }

    /// The oldest that has not been taken.
    pub fn take(&self) -> Option<Deferred> {
        self.queue.pop()
    }

    /// How many wait; it changes for as long as slots work.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Nothing will be put in any more.
    pub fn all_have_left(&self) -> bool {
        self.givers.load(Ordering::Acquire) == 0
    }

    /// When the last client had left; 0 before.
    pub fn left_ns(&self) -> u64 {
        self.left_ns.load(Ordering::Acquire)
    }

    /// The slots take no more from now on; returns whether they were to do so before.
    pub fn give_up(&self) -> bool {
        self.given_up.swap(true, Ordering::AcqRel)
    }

    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Takes out what was not run, and returns how many of them were queued inside `window`. Only for the end
    /// of a load.
    pub fn left_over(&self, window: Window) -> u64 {
        std::iter::from_fn(|| self.take()).filter(|deferred| window.contains(deferred.queued_ns)).count() as u64
    }
}

/// The end at which one client puts transactions in. It leaves when this is dropped.
#[derive(Debug)]
pub struct Giver(Arc<Backlog>);

impl Giver {
    /// Leaves a transaction to the background; `false` when the queue is full.
    pub fn put(&self, turn: Turn) -> bool {
        self.0.queue.push(Deferred { series: turn.series, number: turn.number, queued_ns: monotonic_ns() }).is_ok()
    }
}

impl Drop for Giver {
    fn drop(&mut self) {
        self.0.left_ns.fetch_max(monotonic_ns(), Ordering::AcqRel);
        self.0.givers.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: u64) -> Turn {
        Turn { series: 7, number, retry: 0 }
    }

    #[test]
    fn the_oldest_comes_first_and_a_full_queue_refuses() {
        let backlog = Arc::new(Backlog::with_capacity(2));
        let giver = backlog.giver();
        assert_eq!([1, 2, 3].map(|number| giver.put(turn(number))), [true, true, false]);
        let taken = std::iter::from_fn(|| backlog.take()).map(|deferred| (deferred.series, deferred.number));
        assert_eq!(taken.collect::<Vec<_>>(), [(7, 1), (7, 2)]);
    }

    #[test]
    fn clients_have_left_when_the_last_of_them_has() {
        let backlog = Arc::new(Backlog::default());
        let (one, other) = (backlog.giver(), backlog.giver());
        drop(one);
        assert!(!backlog.all_have_left());
        drop(other);
        assert!(backlog.all_have_left() && backlog.left_ns() > 0);
    }

    #[test]
    fn what_is_left_over_was_queued_inside_and_not_taken() {
        let backlog = Arc::new(Backlog::default());
        let giver = backlog.giver();
        giver.put(turn(1));
        let start_ns = monotonic_ns() + 1;
        while monotonic_ns() <= start_ns {}
        assert!(giver.put(turn(2)) && giver.put(turn(3)));
        assert_eq!(backlog.left_over(Window { start_ns, end_ns: u64::MAX }), 2);
        assert_eq!(backlog.take(), None);
    }

    #[test]
    fn many_givers_and_takers_lose_nothing_and_take_nothing_twice() {
        const EACH: u64 = 20_000;
        let backlog = Arc::new(Backlog::with_capacity(64));
        let givers: Vec<Giver> = (0..2).map(|_| backlog.giver()).collect();
        let take_all = || {
            let mut taken = Vec::new();
            loop {
                let all_have_left = backlog.all_have_left();
                match backlog.take() {
                    Some(deferred) => taken.push(deferred.number),
                    None if all_have_left => return taken,
                    None => std::thread::yield_now(),
                }
            }
        };
        let mut taken: Vec<u64> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..2).map(|_| scope.spawn(take_all)).collect();
            for (first, giver) in givers.into_iter().enumerate() {
                scope.spawn(move || {
                    for number in (first as u64 * EACH..).take(EACH as usize) {
                        while !giver.put(turn(number)) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            takers.into_iter().flat_map(|taker| taker.join().unwrap()).collect()
        });
        taken.sort_unstable();
        assert_eq!(taken, (0..2 * EACH).collect::<Vec<_>>());
    }
}
