//! What is ordered: transactions, or several of a session that must not be taken apart.
//!
//! A unit begins when others have ended, and then goes on without waiting for an order. Transactions are one unit where
//! a lock outlives one of them, or where the log does not show its end.

use crate::digest::Locks;

/// The locks of a session that outlive its transactions.
#[derive(Debug, Default)]
pub struct Held(u32);

impl Held {
    pub fn take(&mut self, locks: Locks) {
        if locks.releases_all {
            self.0 = 0;
        }
        self.0 = (self.0 + locks.taken).saturating_sub(locks.released);
    }

    pub fn any(&self) -> bool {
        self.0 > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_add_up_until_all_are_released() {
        let mut held = Held::default();
        held.take(Locks { taken: 2, ..Locks::default() });
        held.take(Locks { released: 1, ..Locks::default() });
        assert!(held.any());
        held.take(Locks { released: 1, ..Locks::default() });
        assert!(!held.any());
        held.take(Locks { taken: 3, ..Locks::default() });
        held.take(Locks { releases_all: true, ..Locks::default() });
        assert!(!held.any());
        held.take(Locks { released: 1, ..Locks::default() });
        held.take(Locks { taken: 1, ..Locks::default() });
        assert!(held.any(), "a release of nothing is no credit");
    }
}
