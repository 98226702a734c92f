//! What wakes clients that wait for other clients: a bell for each worker.
//!
//! A client waits for a condition that others make true, such as the end of a transaction. Whoever may have made it
//! true rings, which costs a system call only where somebody listens in another worker.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use driver::Reactor;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::ringing::Ringing;

/// Under this number a worker's reactor reports its bell.
pub(crate) const BELL: usize = usize::MAX;

/// The bells of all workers of a load.
#[derive(Debug)]
pub struct Bells(Box<[Arc<Bell>]>);

/// The bell of one worker.
#[derive(Debug)]
pub struct Bell {
    pub(crate) ringing: Ringing,
    event: EventFd,
    /// The worker, as [`here`] numbers it; 0 before it listens.
    worker: AtomicUsize,
}

/// A number that no other thread has while this one lives.
fn here() -> usize {
    thread_local!(static PLACE: u8 = const { 0 });
    PLACE.with(|place| std::ptr::from_ref(place).addr())
}

impl Bells {
    pub fn new(workers: usize) -> io::Result<Bells> {
        (0..workers).map(|_| Bell::new().map(Arc::new)).collect::<io::Result<_>>().map(Bells)
    }

    pub(crate) fn of(&self, worker: usize) -> Arc<Bell> {
        Arc::clone(&self.0[worker])
    }

    /// Wakes everybody who listens, to look at their conditions again.
    pub fn ring(&self) {
        self.0.iter().for_each(|bell| bell.ring());
    }
}

impl Bell {
    fn new() -> io::Result<Bell> {
        Ok(Bell {
            ringing: Ringing::new(),
            event: EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?,
            worker: AtomicUsize::new(0),
        })
    }

    /// Has a worker's reactor report it. It is never read: each write is an event of its own.
    pub(crate) fn attach(&self, reactor: &Reactor) -> io::Result<()> {
        self.worker.store(here(), Ordering::SeqCst);
        reactor.watch(self.event.as_raw_fd(), BELL)
    }

    fn ring(&self) {
        // A worker looks for the rings of its own clients before it waits.
        if self.ringing.ring() && self.worker.load(Ordering::Relaxed) != here() {
            // A full counter is an event that nobody has seen yet.
            _ = self.event.write(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use driver::Ready;

    use super::*;

    #[test]
    fn a_bell_is_heard_once_for_each_time_it_was_answered_and_only_by_listeners() {
        let bells = Bells::new(2).unwrap();
        let reactor = Reactor::new().unwrap();
        let bell = bells.of(1);
        std::thread::scope(|scope| scope.spawn(|| bell.attach(&reactor).unwrap()).join().unwrap());
        let heard = || {
            let mut ready = Ready::default();
            reactor.wait(&mut ready, 0).unwrap();
            ready.tokens().collect::<Vec<_>>()
        };
        bells.ring();
        assert!(heard().is_empty(), "nobody listens");
        bell.ringing.listen();
        bells.ring();
        bells.ring();
        assert_eq!(heard(), [BELL]);
        bells.ring();
        assert!(heard().is_empty(), "the worker has not looked yet");
        bell.ringing.answer();
        bells.ring();
        assert_eq!(heard(), [BELL]);
        bell.ringing.answer();
        bell.ringing.leave();
        bells.ring();
        assert!(heard().is_empty());
    }

    #[test]
    fn a_worker_looks_for_the_rings_of_its_own_clients() {
        let bells = Bells::new(1).unwrap();
        let reactor = Reactor::new().unwrap();
        let bell = bells.of(0);
        bell.attach(&reactor).unwrap();
        bell.ringing.listen();
        assert!(!bell.ringing.is_rung());
        bells.ring();
        let mut ready = Ready::default();
        reactor.wait(&mut ready, 0).unwrap();
        assert!(bell.ringing.is_rung() && ready.tokens().count() == 0, "without an event");
        bell.ringing.answer();
        assert!(!bell.ringing.is_rung());
    }
}
