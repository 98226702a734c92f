//! The time that the user gave, and what is left of it.

use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::store::format::{PilotRecord, TrialRecord};

/// Whether another whole block, or another repeat, fits the time that the user gave. Pilots and
/// repeats count as trials do: it is the user's clock.
pub struct Budget {
    budget: Option<Duration>,
    spent_before: Duration,
    begun: Instant,
    block_begun: Instant,
    longest_block: Duration,
    entries_in_a_block: u32,
}

impl Budget {
    /// `trials` and `pilots` are those of earlier sittings; of a pilot only the measured time is known.
    pub fn new(
        budget: Option<Duration>,
        trials: &[TrialRecord],
        pilots: &[PilotRecord],
        entries_in_a_block: u32,
    ) -> Budget {
        let spent = |record: &TrialRecord| {
            let ends = (record.started_at.parse::<Timestamp>(), record.finished_at.parse::<Timestamp>());
            if let (Ok(from), Ok(to)) = ends { to.duration_since(from).unsigned_abs() } else { Duration::ZERO }
        };
        let of_trials: Duration = trials.iter().map(spent).sum();
        let of_pilots: Duration = pilots.iter().map(|pilot| Duration::from_secs_f64(pilot.seconds)).sum();
        Budget {
            budget,
            spent_before: of_trials + of_pilots,
            begun: Instant::now(),
            block_begun: Instant::now(),
            longest_block: Duration::ZERO,
            entries_in_a_block,
        }
    }

    /// The first block is always tried.
    pub fn holds_another_block(&self) -> bool {
        self.holds(self.longest_block)
    }

    pub fn holds_another_repeat(&self) -> bool {
        self.holds(self.longest_block / self.entries_in_a_block.max(1))
    }

    fn holds(&self, more: Duration) -> bool {
        self.budget.is_none_or(|budget| self.spent_before + self.begun.elapsed() + more <= budget)
    }

    pub fn block_begins(&mut self) {
        self.block_begun = Instant::now();
    }

    pub fn block_ends(&mut self) {
        self.longest_block = self.longest_block.max(self.block_begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pilots_took_is_gone_from_the_budget() {
        let pilot = |seconds| PilotRecord {
            workload: "w".into(),
            contender: "c".into(),
            point: Default::default(),
            seconds,
            warmup_s: None,
            checkpoint_cycle_s: None,
        };
        let holds =
            |pilots: &[PilotRecord]| Budget::new(Some(Duration::from_secs(100)), &[], pilots, 1).holds_another_block();
        assert!(holds(&[pilot(60.0)]) && !holds(&[pilot(60.0), pilot(60.0)]));
        assert!(Budget::new(None, &[], &[pilot(1e6)], 1).holds_another_block());
    }
}
