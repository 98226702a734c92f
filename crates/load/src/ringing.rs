//! Whom to wake: clients of a worker that wait for others, and whoever may have ended their wait.
//!
//! No ring is lost. A listener counts itself before it looks at its condition for the last time, and a ringer has
//! changed the condition before it looks for listeners; whoever finds a worker rung already has changed the condition
//! before the worker answers. `hand_offs` tries the orders in which these steps can fall.

use super::atomics::{AtomicBool, AtomicU32, Ordering, fence};

#[derive(Debug)]
pub struct Ringing {
    /// Clients of the worker that listen.
    listeners: AtomicU32,
    /// It was rung, and the worker has not answered yet.
    rung: AtomicBool,
}

impl Ringing {
    pub fn new() -> Ringing {
        Ringing { listeners: AtomicU32::new(0), rung: AtomicBool::new(false) }
    }

    /// Whether the worker has to be woken: somebody listens, and it was not rung before.
    pub fn ring(&self) -> bool {
        fence(Ordering::SeqCst);
        self.listeners.load(Ordering::Relaxed) > 0 && !self.rung.swap(true, Ordering::AcqRel)
    }

    pub fn listen(&self) {
        self.listeners.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    pub fn leave(&self) {
        self.listeners.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether it was rung; a ring by one of the worker's own clients makes no event.
    pub fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Relaxed)
    }

    /// The worker looks at the conditions of its listeners: what is rung from here on is another ring.
    pub fn answer(&self) {
        // A swap and no store, so that what was changed before each ring that it answers is visible behind it.
        self.rung.swap(false, Ordering::AcqRel);
    }
}
