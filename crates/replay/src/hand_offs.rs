//! Ends of units in the orders in which the steps of their threads can fall, by loom.
//!
//! The module under test is compiled a second time, with loom's atomics in the place of the processor's.

mod atomics {
    pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
}
#[expect(clippy::duplicate_mod, reason = "compiled again, with other atomics")]
#[path = "ended.rs"]
mod ended;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use ended::Ended;

/// With so many changes between threads where none waits, which is seconds in place of hours; `None`: every order.
fn model(changes: Option<usize>, steps: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = changes;
    // Of a single thread's 130 units.
    model.max_branches = 10_000;
    model.check(steps);
}

#[test]
fn the_front_moves_over_all_that_have_ended() {
    model(None, || {
        let ended = Ended::none_of(130);
        assert!(!ended.end(1));
        assert_eq!(ended.front(), 0);
        assert!(ended.end(0));
        assert_eq!(ended.front(), 2);
        (2..130).rev().for_each(|place| assert_eq!(ended.end(place), place == 2));
        assert_eq!(ended.front(), 130);
    });
}

/// Units that end at once, behind others that have ended: the front passes all of them, and whoever waits for one is
/// told of it.
fn all_pass(before: u32, together: &'static [u32], changes: Option<usize>) {
    model(changes, move || {
        let units = before as usize + together.len();
        let (ended, told) = (Arc::new(Ended::none_of(units)), Arc::new(AtomicU32::new(0)));
        (0..before).for_each(|place| _ = ended.end(place));
        let end = |place: &'static u32| {
            let (ended, told) = (Arc::clone(&ended), Arc::clone(&told));
            move || {
                if ended.end(*place) {
                    told.fetch_max(ended.front(), Ordering::AcqRel);
                }
            }
        };
        let (first, others) = together.split_first().expect("a unit ends");
        let threads: Vec<_> = others.iter().map(|place| thread::spawn(end(place))).collect();
        end(first)();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((ended.front(), told.load(Ordering::Acquire)), (units as u32, units as u32));
    });
}

#[test]
fn no_end_is_lost_between_threads_of_one_word() {
    all_pass(0, &[0, 1], Some(4));
    all_pass(0, &[2, 0, 1], Some(2));
}

#[test]
fn no_end_is_lost_between_words() {
    all_pass(63, &[63, 64], Some(3));
}
