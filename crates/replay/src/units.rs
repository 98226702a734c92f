//! What is ordered: transactions, or several of a session that must not be taken apart.
//!
//! A unit begins when others have ended, and then goes on without waiting for an order. Transactions are one unit where
//! a lock outlives one of them, or where the log does not show its end.

use crate::digest::Locks;
use crate::schedule::Ranks;

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

/// Which units had ended before which began, from when each began and ended.
///
/// A unit that ended at the very moment at which another began is not known to have ended before. So every wait leads
/// to a unit that began earlier, and no units wait for each other in a circle.
pub fn ranks(units: &[(i64, i64)]) -> Ranks {
    let mut ends: Vec<u32> = (0..units.len() as u32).collect();
    ends.sort_by_key(|unit| (units[*unit as usize].1, units[*unit as usize].0, *unit));
    let mut by_end = vec![0; units.len()];
    ends.iter().enumerate().for_each(|(place, unit)| by_end[*unit as usize] = place as u32);
    let sorted: Vec<i64> = ends.iter().map(|unit| units[*unit as usize].1).collect();
    let ended_before = units.iter().map(|(begin, _)| sorted.partition_point(|end| end < begin) as u32).collect();
    Ranks { by_end, ended_before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{Ended, Order};

    #[test]
    fn a_unit_comes_after_those_that_had_ended_and_no_others() {
        let ranks = ranks(&[(0, 10), (5, 6), (6, 20), (11, 12)]);
        assert_eq!(ranks.by_end, [1, 0, 3, 2]);
        assert_eq!(ranks.ended_before, [0, 0, 0, 2]);
    }

    /// Whatever units a log has, some unit is under way or may begin until all have ended.
    #[test]
    fn the_order_never_stands_still() {
        let mut state = 88_172_645_463_325_252_u64;
        let mut draw = |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        for _ in 0..300 {
            let units: Vec<(i64, i64)> = (0..40)
                .map(|_| {
                    let begin = draw(60) as i64;
                    (begin, begin + draw(30) as i64)
                })
                .collect();
            let ranks = ranks(&units);
            for order in [Order::Transaction, Order::Session, Order::Serial] {
                let ended = Ended::none_of(units.len());
                let (mut waiting, mut under_way): (Vec<u32>, Vec<u32>) = ((0..40).collect(), Vec::new());
                while !waiting.is_empty() || !under_way.is_empty() {
                    let may_begin = waiting.iter().position(|unit| ended.front() >= order.needs(&ranks, *unit));
                    match may_begin {
                        Some(at) if under_way.is_empty() || draw(2) == 0 => under_way.push(waiting.swap_remove(at)),
                        _ => {
                            assert!(!under_way.is_empty(), "{order:?} stands still with {units:?}");
                            let unit = under_way.swap_remove(draw(under_way.len() as u64) as usize);
                            ended.end(ranks.by_end[unit as usize]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn units_of_one_moment_are_free() {
        assert_eq!(ranks(&[(5, 5), (5, 5)]).ended_before, [0, 0]);
    }

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
