//! What wakes clients that wait for other clients: a bell for each worker.
//!
//! A client waits for a condition that others make true, such as the end of a transaction. Whoever may have made it
//! true rings, which costs a system call only where somebody listens in another worker. No ring is lost: a listener
//! counts itself before it looks at its condition for the last time, and a ringer has changed the condition before it
//! looks for listeners.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use driver::Reactor;
use nix::sys::eventfd::{EfdFlags, EventFd};

/// Under this number a worker's reactor reports its bell.
pub(crate) const BELL: usize = usize::MAX;

/// The bells of all workers of a load.
#[derive(Debug)]
pub struct Bells(Box<[Arc<Bell>]>);

/// The bell of one worker.
#[derive(Debug)]
pub struct Bell {
    event: EventFd,
    /// Clients of the worker that listen.
    listeners: AtomicU32,
    /// It was rung, and the worker has not seen it yet.
    rung: AtomicBool,
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
            event: EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?,
            listeners: AtomicU32::new(0),
            rung: AtomicBool::new(false),
            worker: AtomicUsize::new(0),
        })
    }

    /// Has a worker's reactor report it. It is never read: each write is an event of its own.
    pub(crate) fn attach(&self, reactor: &Reactor) -> io::Result<()> {
        self.worker.store(here(), Ordering::SeqCst);
        reactor.watch(self.event.as_raw_fd(), BELL)
    }

    fn ring(&self) {
        if self.listeners.load(Ordering::SeqCst) == 0 || self.rung.swap(true, Ordering::SeqCst) {
            return;
        }
        if self.worker.load(Ordering::Relaxed) == here() {
            return;
        }
        // A full counter is an event that nobody has seen yet.
        _ = self.event.write(1);
    }

    pub(crate) fn listen(&self) {
        self.listeners.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn leave(&self) {
        self.listeners.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether it was rung; a ring by one of the worker's own clients makes no event.
    pub(crate) fn is_rung(&self) -> bool {
        self.rung.load(Ordering::SeqCst)
    }

    /// The worker looks at the conditions of its listeners: what is rung from here on is another ring.
    pub(crate) fn answer(&self) {
        self.rung.store(false, Ordering::SeqCst);
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
        bell.listen();
        bells.ring();
        bells.ring();
        assert_eq!(heard(), [BELL]);
        bells.ring();
        assert!(heard().is_empty(), "the worker has not looked yet");
        bell.answer();
        bells.ring();
        assert_eq!(heard(), [BELL]);
        bell.answer();
        bell.leave();
        bells.ring();
        assert!(heard().is_empty());
    }

    #[test]
    fn a_worker_looks_for_the_rings_of_its_own_clients() {
        let bells = Bells::new(1).unwrap();
        let reactor = Reactor::new().unwrap();
        let bell = bells.of(0);
        bell.attach(&reactor).unwrap();
        bell.listen();
        assert!(!bell.is_rung());
        bells.ring();
        let mut ready = Ready::default();
        reactor.wait(&mut ready, 0).unwrap();
        assert!(bell.is_rung() && ready.tokens().count() == 0, "without an event");
        bell.answer();
        assert!(!bell.is_rung());
    }
}
