//! What threads hand to one another, in the orders in which their steps can fall, by loom.
//!
//! The modules under test are compiled a second time, with loom's atomics in the place of the processor's.

mod atomics {
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
}
#[expect(clippy::duplicate_mod, reason = "compiled again, with other atomics")]
#[path = "ringing.rs"]
mod ringing;

use std::sync::Arc;

use loom::sync::Notify;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

use ringing::Ringing;

/// A worker with one listener, and what others change and ring for; the notification is its event.
struct Worker {
    ringing: Ringing,
    event: Notify,
    conditions: [AtomicBool; 2],
}

impl Worker {
    fn new() -> Arc<Worker> {
        let conditions = std::array::from_fn(|_| AtomicBool::new(false));
        Arc::new(Worker { ringing: Ringing::new(), event: Notify::new(), conditions })
    }

    fn make_so(&self, condition: usize) -> bool {
        self.conditions[condition].store(true, Ordering::Relaxed);
        self.ringing.ring()
    }

    /// As `EventLoop` does it: no wait before all rings are answered. Loom reports a wait that nobody ends.
    fn wait_until(&self, is_so: impl Fn(&Worker) -> bool) {
        self.ringing.listen();
        while !is_so(self) {
            if !self.ringing.is_rung() {
                self.event.wait();
            }
            self.ringing.answer();
        }
        self.ringing.leave();
    }

    fn are_so(&self, conditions: &[usize]) -> bool {
        conditions.iter().all(|condition| self.conditions[*condition].load(Ordering::Relaxed))
    }
}

fn ringer(worker: &Arc<Worker>, condition: usize) -> thread::JoinHandle<()> {
    let worker = Arc::clone(worker);
    thread::spawn(move || {
        if worker.make_so(condition) {
            worker.event.notify();
        }
    })
}

/// With so many changes between threads where none waits, which is seconds in place of hours; `None`: every order.
fn model(changes: Option<usize>, steps: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = changes;
    model.check(steps);
}

#[test]
fn no_ring_of_two_workers_is_lost() {
    model(Some(2), || {
        let worker = Worker::new();
        let ringers = [0, 1].map(|condition| ringer(&worker, condition));
        worker.wait_until(|worker| worker.are_so(&[0, 1]));
        ringers.into_iter().for_each(|ringer| ringer.join().unwrap());
    });
}

#[test]
fn a_ring_by_a_client_of_the_worker_hides_no_other() {
    model(None, || {
        let worker = Worker::new();
        let ringer = ringer(&worker, 0);
        // Another client of the same worker, while the first one listens: it makes no event.
        worker.ringing.listen();
        worker.make_so(1);
        worker.wait_until(|worker| worker.are_so(&[0, 1]));
        ringer.join().unwrap();
    });
}
