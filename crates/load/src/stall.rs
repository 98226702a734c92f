//! The longest time without a commit, over all clients, without anything that they would share.
//!
//! Each worker keeps the first and the last commit of every tenth of a second. Merged, they give the exact
//! length of any gap that reaches over an edge between tenths, as each of a tenth or more must.

use serde::{Deserialize, Serialize};

const SLOT_NS: u64 = 100_000_000;
const SLOTS_PER_SECOND: usize = 10;

/// When transactions were committed, in memory sized before the start.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Commits {
    slots: Vec<Slot>,
}

/// The first and the last commit of a tenth of a second, from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    first_ns: u32,
    last_ns: u32,
}

impl Slot {
    /// The first is behind the last.
    const EMPTY: Slot = Slot { first_ns: u32::MAX, last_ns: 0 };

    fn widen(&mut self, other: Slot) {
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
    }
}

impl Commits {
    pub fn with_capacity(seconds: usize) -> Commits {
        Commits { slots: vec![Slot::EMPTY; seconds * SLOTS_PER_SECOND] }
    }

    /// A commit, so long after the interval's beginning.
    pub fn mark(&mut self, at_ns: u64) {
        let within_ns = (at_ns % SLOT_NS) as u32;
        if let Some(slot) = self.slots.get_mut((at_ns / SLOT_NS) as usize) {
            slot.widen(Slot { first_ns: within_ns, last_ns: within_ns });
        }
    }

    pub fn add(&mut self, other: &Commits) {
        if self.slots.len() < other.slots.len() {
            self.slots.resize(other.slots.len(), Slot::EMPTY);
        }
        self.slots.iter_mut().zip(&other.slots).for_each(|(mine, theirs)| mine.widen(*theirs));
    }

    /// The longest gap between two commits, or between one and an edge of the interval. Gaps of less than a
    /// tenth of a second may be missed. None where there was no room for the whole interval.
    pub fn longest_gap_ns(&self, interval_ns: u64) -> Option<u64> {
        if self.slots.is_empty() || interval_ns > self.slots.len() as u64 * SLOT_NS {
            return None;
        }
        let (mut longest_ns, mut last_ns) = (0, 0);
        for (index, slot) in self.slots.iter().enumerate().filter(|(_, slot)| **slot != Slot::EMPTY) {
            let begin_ns = index as u64 * SLOT_NS;
            longest_ns = longest_ns.max(begin_ns + u64::from(slot.first_ns) - last_ns);
            last_ns = begin_ns + u64::from(slot.last_ns);
        }
        Some(longest_ns.max(interval_ns.saturating_sub(last_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn commits(at_ms: &[u64]) -> Commits {
        let mut commits = Commits::with_capacity(2);
        at_ms.iter().for_each(|at| commits.mark(at * MS));
        commits
    }

    fn check(workers: &[&[u64]], interval_ms: u64, expected_ms: Option<u64>) {
        let mut all = Commits::default();
        workers.iter().for_each(|worker| all.add(&commits(worker)));
        assert_eq!(all.longest_gap_ns(interval_ms * MS), expected_ms.map(|ms| ms * MS), "{workers:?}");
    }

    #[test]
    fn a_gap_counts_only_where_no_worker_committed() {
        check(&[&[10, 500, 990]], 1000, Some(490));
        check(&[&[10, 500, 990], &[250, 740]], 1000, Some(250));
        check(&[&[10, 450, 990], &[120, 870, 991]], 1000, Some(420));
    }

    #[test]
    fn edges_of_the_interval_end_a_gap() {
        check(&[&[700, 990]], 1000, Some(700));
        check(&[&[0, 100]], 1500, Some(1400));
        check(&[&[]], 1500, Some(1500));
        check(&[&[0]], 2001, None);
        assert_eq!(Commits::default().longest_gap_ns(0), None);
    }

    #[test]
    fn every_gap_of_a_tenth_of_a_second_is_seen_wherever_it_begins() {
        for begin in 0..900 {
            let before: Vec<u64> = (0..=begin).step_by(1).collect();
            let after: Vec<u64> = (begin + 100..=1000).collect();
            check(&[&before, &after], 1000, Some(100));
        }
    }
}
