//! Which units of a log have ended while they run, without a lock.

use super::atomics::{AtomicU32, AtomicU64, Ordering, fence};

/// Units that have ended, by their places in the order of their ends: how many from the first on have all ended.
#[derive(Debug)]
pub struct Ended {
    bits: Box<[AtomicU64]>,
    front: AtomicU32,
    units: u32,
}

impl Ended {
    pub fn none_of(units: usize) -> Ended {
        let bits = (0..units.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ended { bits, front: AtomicU32::new(0), units: units as u32 }
    }

    pub fn front(&self) -> u32 {
        self.front.load(Ordering::Acquire)
    }

    /// A unit has ended; returns whether the front has moved.
    pub fn end(&self, place: u32) -> bool {
        self.bits[place as usize / 64].fetch_or(1 << (place % 64), Ordering::Release);
        // Of two units that end at once, one at least finds the other's bit.
        fence(Ordering::SeqCst);
        let before = self.front();
        let mut front = before;
        while front < self.units && self.has(front) {
            // Whoever moves it, it is moved; then the next place is looked at.
            let _ = self.front.compare_exchange(front, front + 1, Ordering::AcqRel, Ordering::Acquire);
            front = self.front();
        }
        front > before
    }

    fn has(&self, place: u32) -> bool {
        self.bits[place as usize / 64].load(Ordering::Acquire) & (1 << (place % 64)) != 0
    }
}
