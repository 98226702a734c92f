//! The order of units while they run: which may begin, without a lock.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What waits for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// A unit begins when all units that ended before it began in the log have ended in the replay.
    Transaction,
    /// The same between units of which one writes a table that the other names.
    Conflict,
    /// Each session by itself.
    Session,
    /// One unit at a time, in the order of their ends in the log.
    Serial,
}

impl Order {
    pub fn name(self) -> &'static str {
        match self {
            Order::Transaction => "transaction",
            Order::Conflict => "conflict",
            Order::Session => "session",
            Order::Serial => "serial",
        }
    }
}

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
        self.front.load(Ordering::SeqCst)
    }

    /// A unit has ended; returns whether the front has moved.
    pub fn end(&self, place: u32) -> bool {
        self.bits[place as usize / 64].fetch_or(1 << (place % 64), Ordering::SeqCst);
        let before = self.front();
        let mut front = before;
        while front < self.units && self.has(front) {
            // Whoever moves it, it is moved; then the next place is looked at.
            let _ = self.front.compare_exchange(front, front + 1, Ordering::SeqCst, Ordering::SeqCst);
            front = self.front();
        }
        front > before
    }

    fn has(&self, place: u32) -> bool {
        self.bits[place as usize / 64].load(Ordering::SeqCst) & (1 << (place % 64)) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_moves_over_all_that_have_ended() {
        let ended = Ended::none_of(130);
        assert!(!ended.end(1));
        assert_eq!(ended.front(), 0);
        assert!(ended.end(0));
        assert_eq!(ended.front(), 2);
        (2..130).rev().for_each(|place| assert_eq!(ended.end(place), place == 2));
        assert_eq!(ended.front(), 130);
    }

    #[test]
    fn no_end_is_lost_between_threads() {
        for _ in 0..20 {
            let ended = Ended::none_of(4_000);
            std::thread::scope(|scope| {
                for first in 0..4 {
                    let ended = &ended;
                    scope.spawn(move || (first..4_000).step_by(4).for_each(|place| _ = ended.end(place)));
                }
            });
            assert_eq!(ended.front(), 4_000);
        }
    }
}
