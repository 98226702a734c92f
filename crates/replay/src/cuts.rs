//! Gaps of a log in which no statement is under way, made shorter.

use std::time::Duration;

/// Where gaps end in the log, in microseconds since it began, and how much is cut up to there.
#[derive(Debug, Default)]
pub struct Cuts(Vec<(u64, u64)>);

impl Cuts {
    /// Of statements from when each began and ended: gaps above `idle_max` become as long as it.
    pub fn of(statements: impl Iterator<Item = (i64, i64)>, idle_max: Duration) -> Cuts {
        let idle_max_us = idle_max.as_micros() as i64;
        let mut statements: Vec<(i64, i64)> = statements.collect();
        statements.sort_unstable();
        let mut cuts = Vec::new();
        let (mut busy_until, mut total) = (i64::MAX, 0);
        for (begin, end) in statements {
            let idle_us = begin.saturating_sub(busy_until);
            if idle_us > idle_max_us {
                total += (idle_us - idle_max_us) as u64;
                cuts.push((begin as u64, total));
            }
            busy_until = if busy_until == i64::MAX { end } else { busy_until.max(end) };
        }
        Cuts(cuts)
    }

    /// Where a time of the log has moved to; one within a gap no further than to its shorter end.
    pub fn moved(&self, us: u64) -> u64 {
        let before = self.0.partition_point(|(from_us, _)| *from_us <= us);
        let cut_us = |at: usize| self.0[at].1;
        let moved = us - before.checked_sub(1).map_or(0, cut_us);
        self.0.get(before).map_or(moved, |(from_us, cut_us)| moved.min(from_us - cut_us))
    }

    pub fn total_us(&self) -> u64 {
        self.0.last().map_or(0, |(_, cut_us)| *cut_us)
    }

    /// The same by where the ends of gaps have moved to.
    pub fn moved_places(&self) -> Vec<(u64, u64)> {
        self.0.iter().map(|(from_us, cut_us)| (from_us - cut_us, *cut_us)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_which_nothing_is_under_way_are_shortened() {
        // The second statement is under way over the gap between the first and the third.
        let statements = [(0, 10), (5, 100), (90, 95), (200, 210), (215, 220), (400, 500)];
        let cuts = Cuts::of(statements.into_iter(), Duration::from_micros(30));
        assert_eq!(cuts.0, [(200, 70), (400, 220)]);
        assert_eq!(
            [0, 90, 100, 110, 150, 200, 220, 400, 500].map(|us| cuts.moved(us)),
            [0, 90, 100, 110, 130, 130, 150, 180, 280]
        );
        assert_eq!((cuts.total_us(), cuts.moved_places()), (220, vec![(130, 70), (180, 220)]));
        assert_eq!(Cuts::of(statements.into_iter(), Duration::from_secs(1)).total_us(), 0);
    }
}
