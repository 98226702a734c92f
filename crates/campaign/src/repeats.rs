//! Which entries of a plan are measured again, because something else used the host meanwhile.
//!
//! Nothing here runs anything. What must stay true: the choice reads flags, places and counts, and
//! never a result; and it follows from the records alone, so that a run that is resumed goes on with
//! the entry that it would have taken.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{HOST_FLAGS, given_up};
use experiment::NoisyHost;
use experiment::plan::{Entry, repeat_number};
use record::blocks::repeats_max;
use record::format::{MethodRecord, PlanRecord, TrialRecord, step};

/// A run that accepts noise repeats nothing: its verdicts carry the caveat.
fn repeats(method: &MethodRecord) -> bool {
    method.takes(step::REPEATS) && method.noisy_host == NoisyHost::Refuse.word()
}

/// How many repeats have begun.
pub fn begun(plan: &PlanRecord, trials: &[TrialRecord]) -> u32 {
    trials.iter().filter_map(|record| repeat_number(plan, record.trial)).max().unwrap_or(0)
}

/// The entry and number of the repeat that began last; its trials may not all be there.
pub fn last_begun(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<(Entry, u32)> {
    let number = begun(plan, trials);
    let record = trials.iter().find(|record| repeat_number(plan, record.trial) == Some(number))?;
    Some((Entry::of_record(record), number))
}

/// What is known of an entry that has been measured.
#[derive(Default)]
struct Seen<'a> {
    /// The last try of each contender.
    last: BTreeMap<&'a str, &'a TrialRecord>,
    /// Numbers of its repeats.
    repeated: BTreeSet<u32>,
}

impl Seen<'_> {
    fn is_flagged(&self) -> bool {
        self.last.values().any(|record| record.flags.iter().any(|flag| HOST_FLAGS.contains(&flag.as_str())))
    }
}

/// The entry to measure again next: the least often repeated one that is still flagged, the earliest
/// of several. None: nothing is flagged, or as much as may be has been repeated.
pub fn next(plan: &PlanRecord, trials: &[TrialRecord]) -> Option<Entry> {
    if !repeats(&plan.method) {
        return None;
    }
    let mut seen: BTreeMap<Entry, Seen> = BTreeMap::new();
    for record in trials.iter().filter(|record| !plan.is_solo(record.block)) {
        let entry = seen.entry(Entry::of_record(record)).or_default();
        entry.last.insert(&record.contender, record);
        entry.repeated.extend(repeat_number(plan, record.trial));
    }
    let most = repeats_max(plan) as usize;
    let repeated_at = |entry: &Entry| -> usize {
        let here = seen.iter().filter(|(other, _)| (&other.workload, &other.point) == (&entry.workload, &entry.point));
        here.map(|(_, seen)| seen.repeated.len()).sum()
    };
    let given_up = given_up(trials);
    let is_given_up =
        |entry: &Entry| given_up.iter().any(|point| (&point.workload, &point.point) == (&entry.workload, &entry.point));
    let flagged = seen.iter().filter(|(_, seen)| seen.is_flagged()).map(|(entry, seen)| (seen.repeated.len(), entry));
    let allowed = flagged.filter(|(_, entry)| !is_given_up(entry) && repeated_at(entry) < most);
    let in_the_plan = |entry: &Entry| plan.trials.iter().position(|planned| Entry::of(planned) == *entry);
    allowed.min_by_key(|(times, entry)| (*times, in_the_plan(entry))).map(|(_, entry)| entry.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, stored_run};
    use record::format::{Point, Purpose, Status};

    fn run() -> StoredRun {
        let mut stored = stored_run(&Story::default());
        stored.plan.method.left_out.clear();
        stored.plan.method.noisy_host = "refuse".into();
        stored
    }

    fn place(clients: u64, block: u32) -> Entry {
        Entry { block, workload: "oltp_read_write".into(), point: Point::from([("clients".into(), clients)]) }
    }

    /// Measures an entry again, as the run does: both contenders, with numbers behind the plan's.
    fn repeat(stored: &mut StoredRun, entry: &Entry, flags: &[&str]) {
        let number = begun(&stored.plan, &stored.trials) + 1;
        for (place, contender) in [BASELINE, CANDIDATE].into_iter().enumerate() {
            let old = stored.trial(contender, entry.point["clients"], entry.block).clone();
            let trial = stored.plan.trials.len() as u32 + 2 * (number - 1) + place as u32 + 1;
            let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
            stored.trials.push(TrialRecord { trial, purpose: Purpose::Repeat { of: old.trial }, flags, ..old });
        }
    }

    fn flag(stored: &mut StoredRun, contender: &str, clients: u64, block: u32, flag: &str) {
        stored.trial(contender, clients, block).flags.push(flag.into());
    }

    fn after(stored: &StoredRun) -> Option<Entry> {
        next(&stored.plan, &stored.trials)
    }

    #[test]
    fn a_quiet_run_repeats_nothing_and_a_flagged_pair_is_repeated_until_it_is_quiet() {
        let mut stored = run();
        assert_eq!(after(&stored), None);
        flag(&mut stored, CANDIDATE, 16, 5, "foreign-cpu");
        assert_eq!(after(&stored), Some(place(16, 5)));
        repeat(&mut stored, &place(16, 5), &["steal"]);
        assert_eq!(last_begun(&stored.plan, &stored.trials), Some((place(16, 5), 1)));
        assert_eq!(after(&stored), Some(place(16, 5)));
        repeat(&mut stored, &place(16, 5), &[]);
        assert_eq!(after(&stored), None);
        assert_eq!(begun(&stored.plan, &stored.trials), 2);
    }

    #[test]
    fn flags_of_the_generator_or_of_a_resumed_run_are_no_noise() {
        let mut stored = run();
        flag(&mut stored, BASELINE, 1, 2, "generator-bound");
        flag(&mut stored, BASELINE, 1, 3, "resumed");
        assert_eq!(after(&stored), None);
    }

    #[test]
    fn a_quarter_of_the_blocks_is_repeated_at_each_point_and_no_more() {
        let mut stored = run();
        for block in [1, 4, 7] {
            flag(&mut stored, BASELINE, 4, block, "steal");
        }
        flag(&mut stored, BASELINE, 64, 8, "steal");
        for expected in [place(4, 1), place(4, 4), place(64, 8)] {
            assert_eq!(after(&stored), Some(expected.clone()));
            repeat(&mut stored, &expected, &[]);
        }
        // Two of eight blocks were repeated with 4 clients; the third stays as it is.
        assert_eq!(after(&stored), None);
    }

    #[test]
    fn entries_never_repeated_come_before_one_that_was_disturbed_again() {
        let mut stored = run();
        flag(&mut stored, BASELINE, 4, 1, "steal");
        flag(&mut stored, BASELINE, 4, 6, "steal");
        repeat(&mut stored, &place(4, 1), &["steal"]);
        assert_eq!(after(&stored), Some(place(4, 6)));
    }

    #[test]
    fn the_choice_is_blind_to_results() {
        let mut stored = run();
        flag(&mut stored, BASELINE, 4, 3, "steal");
        flag(&mut stored, CANDIDATE, 16, 3, "steal");
        let chosen = after(&stored);
        for trial in &mut stored.trials {
            trial.metrics.values_mut().for_each(|value| *value = 1e6 / *value);
        }
        assert_eq!(after(&stored), chosen);
    }

    #[test]
    fn a_stamped_run_a_bare_one_and_a_point_given_up_repeat_nothing() {
        let flagged = || {
            let mut stored = run();
            flag(&mut stored, BASELINE, 4, 1, "steal");
            stored
        };
        let mut stamped = flagged();
        stamped.plan.method.noisy_host = "stamp".into();
        let mut bare = flagged();
        bare.plan.method.left_out = vec![step::REPEATS.into()];
        let mut lost = flagged();
        (3..=5).for_each(|block| lost.fail(CANDIDATE, 4, block));
        assert!(lost.trials.iter().any(|trial| trial.status == Status::Failed));
        assert_eq!([after(&stamped), after(&bare), after(&lost)], [None, None, None]);
        assert!(after(&flagged()).is_some());
    }
}
