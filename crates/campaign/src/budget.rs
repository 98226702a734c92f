//! The time that the user gave, and what is left of it.

use std::time::{Duration, Instant};

use record::format::{Purpose, RunRecord, TrialRecord};

/// The user's clock of one run: loads, pilots, gaps, trials, repeats and everything behind the last block count.
pub struct Clock {
    budget: Option<Duration>,
    spent_before: Duration,
    begun: Instant,
}

impl Clock {
    /// Begins now; `spent_before` was spent before, in earlier sessions or on what came before the run.
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
}

/// What earlier sessions took. One that was killed has not written it down: of it the trials are known, those beside
/// the plan included.
pub fn spent_earlier(run: &RunRecord, trials: &[TrialRecord]) -> Duration {
    Duration::from_secs_f64(run.spent_s).max(trials.iter().map(length).sum())
}

/// The longest trial of a contender so far; pilots are longer than all others.
pub fn longest(trials: &[TrialRecord], contender: &str) -> Duration {
    let ours = trials.iter().filter(|trial| trial.contender == contender && trial.purpose != Purpose::Pilot);
    ours.map(length).max().unwrap_or_default()
}

/// A record whose times are no durations counts as none.
pub fn length(trial: &TrialRecord) -> Duration {
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
    use fixtures::{Story, stored_run};

    #[test]
    fn what_probes_and_earlier_sittings_took_is_gone_from_the_budget() {
        let story = stored_run(&Story::default());
        let probe = |purpose: &Purpose, seconds: f64| {
            let steps = vec![("measure".to_owned(), seconds)];
            TrialRecord { purpose: purpose.clone(), steps, ..story.trials[0].clone() }
        };
        for purpose in [Purpose::Pilot, Purpose::Profile, Purpose::Recovery { kill: 1 }] {
            let holds = |seconds: &[f64], spent_s: f64| {
                let trials: Vec<TrialRecord> = seconds.iter().map(|seconds| probe(&purpose, *seconds)).collect();
                let run = RunRecord { spent_s, ..story.run.clone() };
                let clock = Clock::new(Some(Duration::from_secs(100)), spent_earlier(&run, &trials));
                Budget::new(&clock, 1).holds_another_block()
            };
            assert!(holds(&[60.0], 0.0) && !holds(&[60.0, 60.0], 0.0), "{purpose:?}");
            assert!(holds(&[60.0], 70.0) && !holds(&[60.0], 130.0), "gaps and loads count too");
        }
        assert!(Clock::new(None, Duration::from_secs(1_000_000)).holds(Duration::from_secs(1)));
        let long = [probe(&Purpose::Pilot, 300.0), probe(&Purpose::Compare, 30.0)];
        assert_eq!(longest(&long, &long[0].contender), Duration::from_secs(30));
    }

    #[test]
    fn what_runs_beside_the_plan_is_held_against_all_that_was_spent() {
        let mut trials = stored_run(&Story::default()).trials;
        // The wall clock was set back while it ran.
        trials[0].finished_at = "2001-01-01T00:00:00Z".into();
        let longest = longest(&trials, &trials[0].contender);
        assert_eq!(longest, Duration::from_secs_f64(9.5), "as long as its steps");
        let budget = Some(longest * 20);
        assert!(Clock::new(budget, longest * 11).holds(longest * 8));
        assert!(!Clock::new(budget, longest * 13).holds(longest * 8), "the trials alone are not all");
    }
}
