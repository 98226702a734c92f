//! The time that the user gave, and what is left of it.

use std::time::{Duration, Instant};

use record::format::{RunRecord, TrialRecord};

/// The user's clock of one run: loads, pilots, gaps, trials, repeats and everything behind the last block count.
pub struct Clock {
    budget: Option<Duration>,
    spent_before: Duration,
    begun: Instant,
}

impl Clock {
    /// Begins now; `spent_before` was spent before, in earlier sittings or on what came before the run.
    pub fn new(budget: Option<Duration>, spent_before: Duration) -> Clock {
        Clock { budget, spent_before, begun: Instant::now() }
    }

    pub fn spent(&self) -> Duration {
        self.spent_before + self.begun.elapsed()
    }

    /// Does the budget have so much more time?
    pub fn holds(&self, more: Duration) -> bool {
        self.budget.is_none_or(|budget| self.spent() + more <= budget)
    }

    /// So many more blocks of two trials, each as long as the longest of this contender so far.
    pub fn holds_blocks(&self, trials: &[TrialRecord], contender: &str, blocks: usize) -> bool {
        self.holds(longest(trials, contender) * 2 * blocks as u32)
    }
}

/// What earlier sittings took. One that was killed has not written it down: of it the trials and the measured time
/// of the pilots are known.
pub fn spent_earlier(run: &RunRecord, trials: &[TrialRecord]) -> Duration {
    let of_trials: Duration = trials.iter().map(length).sum();
    let of_pilots: Duration = run.pilots.iter().map(|pilot| Duration::from_secs_f64(pilot.seconds)).sum();
    Duration::from_secs_f64(run.spent_s).max(of_trials + of_pilots)
}

/// The longest trial of a contender so far.
pub fn longest(trials: &[TrialRecord], contender: &str) -> Duration {
    trials.iter().filter(|trial| trial.contender == contender).map(length).max().unwrap_or_default()
}

/// A record whose times are no durations counts as none.
fn length(trial: &TrialRecord) -> Duration {
    Duration::try_from_secs_f64(trial.seconds()).unwrap_or_default()
}

/// Whether another whole block, or another repeat, fits the time that the user gave.
pub struct Budget<'a> {
    pub clock: &'a Clock,
    block_begun: Instant,
    longest_block: Duration,
    entries_in_a_block: u32,
}

impl<'a> Budget<'a> {
    pub fn new(clock: &'a Clock, entries_in_a_block: u32) -> Budget<'a> {
        Budget { clock, block_begun: Instant::now(), longest_block: Duration::ZERO, entries_in_a_block }
    }

    /// The first block is always tried.
    pub fn holds_another_block(&self) -> bool {
        self.clock.holds(self.longest_block)
    }

    pub fn holds_another_repeat(&self) -> bool {
        self.clock.holds(self.longest_block / self.entries_in_a_block.max(1))
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
    use fixtures::{Story, tell};
    use record::format::PilotRecord;

    #[test]
    fn what_pilots_and_earlier_sittings_took_is_gone_from_the_budget() {
        let pilot = |seconds| PilotRecord {
            workload: "w".into(),
            contender: "c".into(),
            point: Default::default(),
            seconds,
            warmup_s: None,
            checkpoint_cycle_s: None,
        };
        let run = tell(&Story::default()).run;
        let holds = |pilots: &[PilotRecord], spent_s: f64| {
            let run = RunRecord { pilots: pilots.to_vec(), spent_s, ..run.clone() };
            let clock = Clock::new(Some(Duration::from_secs(100)), spent_earlier(&run, &[]));
            Budget::new(&clock, 1).holds_another_block()
        };
        assert!(holds(&[pilot(60.0)], 0.0) && !holds(&[pilot(60.0), pilot(60.0)], 0.0));
        assert!(holds(&[pilot(60.0)], 70.0) && !holds(&[pilot(60.0)], 130.0), "gaps and loads count too");
        assert!(Clock::new(None, Duration::from_secs(1_000_000)).holds(Duration::from_secs(1)));
    }

    #[test]
    fn what_runs_beside_the_plan_is_held_against_all_that_was_spent() {
        let mut trials = tell(&Story::default()).trials;
        // The wall clock was set back while it ran.
        trials[0].finished_at = "2001-01-01T00:00:00Z".into();
        let (contender, longest) = (&trials[0].contender, trials.iter().map(length).max().unwrap());
        assert_eq!(longest, Duration::from_secs_f64(9.5), "as long as its steps");
        let budget = Some(longest * 20);
        assert!(Clock::new(budget, longest * 11).holds_blocks(&trials, contender, 4));
        assert!(!Clock::new(budget, longest * 13).holds_blocks(&trials, contender, 4), "the trials alone are not all");
    }
}
