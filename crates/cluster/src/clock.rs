//! How far a worker's clock is from ours, and how wrong that may be.
//!
//! Pure arithmetic. Of many exchanges the one with the smallest round trip counts: whatever its way there and back
//! took, the worker's clock was read in between, so half of it bounds the error.

/// One question for the time: when it was sent, the worker's clock, when the answer was there.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    pub sent_ns: u64,
    pub theirs_ns: u64,
    pub back_ns: u64,
}

/// A worker's clock minus ours.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Offset {
    pub offset_ns: i64,
    /// The offset is wrong by no more than this.
    pub edge_ns: u64,
    /// By our clock.
    pub at_ns: u64,
}

impl Offset {
    /// None without an exchange.
    pub fn of(exchanges: &[Exchange]) -> Option<Offset> {
        let trip = |one: &&Exchange| one.back_ns.saturating_sub(one.sent_ns);
        let best = exchanges.iter().min_by_key(trip)?;
        let middle_ns = best.sent_ns + trip(&best) / 2;
        let offset_ns = best.theirs_ns as i64 - middle_ns as i64;
        Some(Offset { offset_ns, edge_ns: trip(&best).div_ceil(2), at_ns: middle_ns })
    }

    pub fn theirs(&self, ours_ns: u64) -> u64 {
        ours_ns.saturating_add_signed(self.offset_ns)
    }

    pub fn ours(&self, theirs_ns: u64) -> u64 {
        theirs_ns.saturating_add_signed(-self.offset_ns)
    }

    /// How far this offset may be wrong at another moment, by what a later one shows: its own edge, and what the
    /// clocks have drifted by since.
    pub fn edge_at(&self, later: &Offset, at_ns: u64) -> u64 {
        let between_ns = later.at_ns.saturating_sub(self.at_ns).max(1) as f64;
        let moved_ns = (later.offset_ns - self.offset_ns).unsigned_abs() as f64;
        self.edge_ns + (moved_ns / between_ns * at_ns.saturating_sub(self.at_ns) as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A worker whose clock is `truth_ns` ahead, so long away.
    fn exchange(sent_ns: u64, truth_ns: i64, there_ns: u64, back_ns: u64) -> Exchange {
        let read_ns = sent_ns + there_ns;
        Exchange { sent_ns, theirs_ns: read_ns.saturating_add_signed(truth_ns), back_ns: read_ns + back_ns }
    }

    #[test]
    fn the_smallest_round_trip_counts_and_bounds_the_error() {
        let truth_ns = -7_000_000_000;
        let seen = [
            exchange(10_000_000_000, truth_ns, 900_000, 100_000),
            exchange(10_010_000_000, truth_ns, 30_000, 40_000),
            exchange(10_020_000_000, truth_ns, 5_000, 4_000_000),
        ];
        let offset = Offset::of(&seen).unwrap();
        assert_eq!(offset.edge_ns, 35_000);
        assert!((offset.offset_ns - truth_ns).unsigned_abs() <= offset.edge_ns);
        assert_eq!(offset.ours(offset.theirs(12_345_678_901)), 12_345_678_901);
    }

    #[test]
    fn a_path_that_is_slow_one_way_only_is_wrong_by_half_of_that_and_inside_its_bound() {
        let offset = Offset::of(&[exchange(1_000_000_000, 0, 20_000_000, 0)]).unwrap();
        assert_eq!((offset.offset_ns, offset.edge_ns), (10_000_000, 10_000_000));
    }

    #[test]
    fn the_edge_grows_with_the_drift() {
        let first = Offset { offset_ns: 0, edge_ns: 50_000, at_ns: 0 };
        let later = Offset { offset_ns: 600_000, edge_ns: 50_000, at_ns: 60_000_000_000 };
        assert_eq!(first.edge_at(&later, 30_000_000_000), 350_000);
    }
}
