//! A search over settings, followed through its trials: who races on, who is out and why.
//!
//! It decides from records alone, so that reading a search again gives the same search. What it
//! gives is a choice, never a gain: the winner is measured again in blocks of its own.

use std::collections::BTreeMap;

use stats::{Out, Race, RaceRules, Runner, minimum_detectable_effect};

use super::values::log_ratio;
use record::format::tuning::{
    CandidateRecord, OutCause, OutRecord, OutcomeRecord, RaceRecord, RoundRecord, SearchRecord,
};
use record::format::{Status, TrialRecord};

/// Bytes of the data directory behind a trial, as the search's own trials keep it.
pub const DATA_DIRECTORY_BYTES: &str = "data_directory_bytes";

/// As many failures of the incumbent end a search: there is no reference left.
pub const INCUMBENT_FAILURES_MAX: usize = 3;

/// Where a search stands.
pub struct Standing {
    race: Race,
    /// By candidate, of those that were taken out.
    removed: BTreeMap<usize, OutRecord>,
    pub rounds: Vec<RoundRecord>,
}

/// Follows a search through its trials up to the first block that is not whole. Who was out before the
/// first block has that in the record; the primary metric is `metric`.
pub fn follow(search: &SearchRecord, metric: &str, trials: &[TrialRecord]) -> Standing {
    let mut standing = Standing::begin(search);
    while !standing.race.is_over() && standing.take_block(search, metric, trials) {}
    standing
}

/// A search as it stood before its first block, restored from later records. Candidates with a trial were in that
/// block, whatever became of it: its trials are replayed.
pub fn at_its_beginning(known: &SearchRecord, trials: &[TrialRecord]) -> SearchRecord {
    let mut search = SearchRecord { rounds: Vec::new(), outcome: None, ..known.clone() };
    for candidate in &mut search.candidates {
        if trials.iter().any(|trial| trial.contender == candidate.name) {
            candidate.out = None;
        }
    }
    search
}

impl Standing {
    fn begin(search: &SearchRecord) -> Standing {
        let mut race = Race::new(race_rules(search));
        let mut removed = BTreeMap::new();
        for (index, candidate) in search.candidates.iter().enumerate() {
            if let Some(out) = candidate.out.as_ref().filter(|out| out.after_block == 0) {
                race.remove(index);
                removed.insert(index, out.clone());
            }
        }
        Standing { race, removed, rounds: Vec::new() }
    }

    /// The block that is next, from 1.
    pub fn next_block(&self) -> u32 {
        self.race.blocks() as u32 + 1
    }

    pub fn is_over(&self) -> bool {
        self.race.is_over()
    }

    /// Whether this candidate is in the next block.
    pub fn races(&self, search: &SearchRecord, contender: &str) -> bool {
        let racing = self.race.racing();
        search.candidates.iter().enumerate().any(|(index, one)| one.name == contender && racing.contains(&index))
    }

    pub fn racing(&self) -> usize {
        self.race.racing().len()
    }

    /// Goes one block on; false where trials of it are missing.
    fn take_block(&mut self, search: &SearchRecord, metric: &str, trials: &[TrialRecord]) -> bool {
        let block = self.next_block();
        let find = |name: &str| trials.iter().find(|trial| trial.block == block && trial.contender == name);
        let Some(incumbent) = find(&search.incumbent) else { return false };
        let racing = self.race.racing();
        let of_racing = racing.iter().map(|index| find(&search.candidates[*index].name).map(|trial| (*index, trial)));
        let Some(of_racing) = of_racing.collect::<Option<Vec<_>>>() else { return false };
        let limits = Limits::of(search, trials, block);
        for (index, trial) in &of_racing {
            if let Some(cause) = limits.broken_by(trial) {
                let out = OutRecord { after_block: block - 1, cause };
                self.race.remove(*index);
                self.removed.insert(*index, out);
            }
        }
        let still = |index: &usize| !self.removed.contains_key(index);
        let ratio = |(index, trial): &(usize, &TrialRecord)| Some((*index, log_ratio(incumbent, trial, metric)?));
        let ratios: Vec<(usize, f64)> = of_racing.iter().filter(|(index, _)| still(index)).filter_map(ratio).collect();
        self.race.block(&ratios);
        self.note_round(search, &racing);
        true
    }

    /// Puts the block down to its round.
    fn note_round(&mut self, search: &SearchRecord, began: &[usize]) {
        let names = |indices: &[usize]| indices.iter().map(|index| search.candidates[*index].name.clone()).collect();
        let block = self.race.blocks() as u32;
        let round = (block - 1) / search.rules.blocks_per_round + 1;
        // Nobody is left to be halved: the rest of the race is one round.
        let alone = |last: &RoundRecord| began.len() == 1 && last.began.len() == 1;
        if self.rounds.last().is_none_or(|last| last.round != round && !alone(last)) {
            let stayed = Vec::new();
            self.rounds.push(RoundRecord { round, first_block: block, last_block: block, began: names(began), stayed });
        }
        let stayed = names(&self.race.racing());
        let last = self.rounds.last_mut().expect("one was made where there was none");
        (last.last_block, last.stayed) = (block, stayed);
    }

    /// The candidates with their state in the race so far.
    pub fn candidates(&self, search: &SearchRecord) -> Vec<CandidateRecord> {
        let known = search.candidates.iter().zip(self.race.runners()).enumerate();
        known.map(|(index, (candidate, runner))| self.candidate(index, candidate, runner)).collect()
    }

    fn candidate(&self, index: usize, candidate: &CandidateRecord, runner: &Runner) -> CandidateRecord {
        let by_the_race = || runner.out().and_then(|(out, block)| out_record(out, block as u32));
        CandidateRecord {
            blocks: runner.log_ratios().len() as u32,
            ratio: runner.estimate().map(f64::exp),
            evidence: runner.fortune(),
            shown_faster: runner.is_shown_faster(),
            out: self.removed.get(&index).cloned().or_else(by_the_race),
            ..candidate.clone()
        }
    }

    /// How the search ended; `by_the_clock` where time was over before the race was.
    pub fn outcome(&self, search: &SearchRecord, by_the_clock: bool) -> OutcomeRecord {
        let racing = self.race.racing();
        let ended_by = match (racing.is_empty(), by_the_clock, self.race.blocks() as u32) {
            (true, ..) => "nobody left",
            (false, true, _) => "budget",
            (false, false, blocks) if blocks >= search.rules.blocks_max => "blocks",
            _ => "decided",
        };
        let leader = self.race.leader();
        let shown = leader.is_some_and(|at| self.race.runners()[at].is_shown_faster());
        OutcomeRecord {
            ended_by: ended_by.to_owned(),
            winner: leader.map(|at| search.candidates[at].name.clone()),
            shown,
            mde: self.mde(search),
            duel: None,
            crashes: None,
        }
    }

    /// Of the candidate that was measured most often.
    fn mde(&self, search: &SearchRecord) -> Option<f64> {
        let longest = self.race.runners().iter().map(Runner::log_ratios).max_by_key(|ratios| ratios.len())?;
        let level = search.rules.alpha / search.candidates.len().max(1) as f64;
        minimum_detectable_effect(stats::sd(longest)?, longest.len(), level)
    }
}

fn race_rules(search: &SearchRecord) -> RaceRules {
    let RaceRecord { alpha, blocks_per_round, blocks_max, .. } = search.rules;
    RaceRules {
        candidates: search.candidates.len(),
        alpha,
        blocks_per_round: blocks_per_round as usize,
        blocks_max: blocks_max as usize,
    }
}

/// None where it was removed: the reason for that is not the race's.
fn out_record(out: Out, after_block: u32) -> Option<OutRecord> {
    let cause = match out {
        Out::Removed => return None,
        Out::Slower => OutCause::Slower,
        Out::Halved => OutCause::Halved,
        Out::Behind => OutCause::Behind,
    };
    Some(OutRecord { after_block, cause })
}

/// What a candidate's trial may take, going by the incumbent's trials up to its block.
struct Limits {
    seconds_max: Option<f64>,
    bytes_max: Option<f64>,
}

impl Limits {
    fn of(search: &SearchRecord, trials: &[TrialRecord], block: u32) -> Limits {
        let rules = &search.rules;
        let is_ours = |trial: &&TrialRecord| trial.contender == search.incumbent && trial.block <= block;
        let ours: Vec<&TrialRecord> = trials.iter().filter(is_ours).collect();
        let most = |values: Vec<f64>| values.into_iter().reduce(f64::max);
        let seconds = most(ours.iter().map(|trial| trial.seconds()).collect());
        let bytes = most(ours.iter().filter_map(|trial| trial.metrics.get(DATA_DIRECTORY_BYTES).copied()).collect());
        Limits {
            seconds_max: seconds.map(|most| most * rules.trial_times_max + rules.trial_slack_s),
            bytes_max: bytes.map(|most| most * rules.disk_times_max + rules.disk_slack_bytes as f64),
        }
    }

    /// Why this trial puts its candidate out, if it does.
    fn broken_by(&self, trial: &TrialRecord) -> Option<OutCause> {
        if trial.status == Status::Failed {
            return Some(OutCause::Failed { failure: trial.failure.clone() });
        }
        let over = |value: Option<f64>, most: Option<f64>| value.zip(most).filter(|(value, most)| value > most);
        if let Some((seconds, allowed_s)) = over(Some(trial.seconds()), self.seconds_max) {
            return Some(OutCause::TooSlow { seconds, allowed_s });
        }
        let bytes = trial.metrics.get(DATA_DIRECTORY_BYTES).copied();
        let (bytes, allowed_bytes) = over(bytes, self.bytes_max)?;
        Some(OutCause::TooLarge { bytes, allowed_bytes })
    }
}

/// Have so many of the incumbent's trials failed, one after the other, that no candidate can be compared with it?
pub fn incumbent_fails(search: &SearchRecord, trials: &[TrialRecord]) -> bool {
    let ours = trials.iter().rev().filter(|trial| trial.contender == search.incumbent);
    ours.take_while(|trial| trial.status == Status::Failed).count() >= INCUMBENT_FAILURES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(candidates: usize) -> SearchRecord {
        fixtures::search(candidates)
    }

    fn trial(block: u32, contender: &str, tps: f64) -> TrialRecord {
        let some = fixtures::stored_run(&fixtures::Story::default()).trials.swap_remove(0);
        TrialRecord {
            block,
            contender: contender.to_owned(),
            steps: vec![("start".into(), 10.0), ("measure".into(), 20.0)],
            metrics: BTreeMap::from([("tps".to_owned(), tps), (DATA_DIRECTORY_BYTES.to_owned(), 1e8)]),
            ..some
        }
    }

    fn block(number: u32, of_candidates: &[(&str, f64)]) -> Vec<TrialRecord> {
        let candidates = of_candidates.iter().map(|(name, tps)| trial(number, name, *tps));
        std::iter::once(trial(number, "default", 1000.0)).chain(candidates).collect()
    }

    #[test]
    fn a_block_counts_once_everybody_who_races_has_run_in_it() {
        let search = search(2);
        let mut trials = block(1, &[("c1", 1100.0)]);
        assert_eq!(follow(&search, "tps", &trials).next_block(), 1);
        trials.push(trial(1, "c2", 900.0));
        let standing = follow(&search, "tps", &trials);
        assert_eq!((standing.next_block(), standing.racing()), (2, 2));
        trials.extend(block(2, &[("c1", 1100.0), ("c2", 900.0)]));
        let standing = follow(&search, "tps", &trials);
        assert!(standing.races(&search, "c1") && !standing.races(&search, "c2"));
        assert_eq!(
            standing.rounds,
            [RoundRecord {
                round: 1,
                first_block: 1,
                last_block: 2,
                began: vec!["c1".into(), "c2".into()],
                stayed: vec!["c1".into()],
            }]
        );
        let candidates = standing.candidates(&search);
        assert_eq!(
            candidates[1].out.as_ref().map(|out| (out.after_block, out.cause.clone())),
            Some((2, OutCause::Halved))
        );
        assert!((candidates[0].ratio.unwrap() - 1.1).abs() < 1e-9 && candidates[0].out.is_none());
        assert_eq!(standing.outcome(&search, true).winner.as_deref(), Some("c1"));
    }

    #[test]
    fn the_last_one_has_one_round_to_itself() {
        let search = search(1);
        let trials: Vec<TrialRecord> =
            (1..=5).flat_map(|number| block(number, &[("c1", 1100.0 + f64::from(number))])).collect();
        let rounds = follow(&search, "tps", &trials).rounds;
        assert_eq!((rounds.len(), rounds[0].first_block, rounds[0].last_block), (1, 1, 5));
    }

    #[test]
    fn less_is_better_where_the_metric_is_a_time() {
        let search = search(1);
        let mut trials = block(1, &[("c1", 900.0)]);
        for trial in &mut trials {
            let seconds = trial.metrics["tps"];
            trial.metrics.insert("seconds".into(), seconds);
        }
        assert!(follow(&search, "seconds", &trials).candidates(&search)[0].ratio.unwrap() > 1.0);
        assert!(follow(&search, "tps", &trials).candidates(&search)[0].ratio.unwrap() < 1.0);
    }

    #[test]
    fn who_fails_or_takes_too_much_is_out_with_the_reason() {
        let search = search(4);
        let mut trials = block(1, &[("c1", 1100.0), ("c2", 1100.0), ("c3", 1100.0), ("c4", 1100.0)]);
        trials[1].status = Status::Failed;
        trials[1].failure = Some(record::format::Failure {
            step: "check".into(),
            message: "the data are wrong".into(),
            ..record::format::Failure::default()
        });
        trials[2].steps[0].1 = 220.0;
        // The wall clock was set by an hour while the last one ran.
        trials[4].finished_at = "2031-05-04T11:15:30Z".into();
        trials[3].metrics.insert(DATA_DIRECTORY_BYTES.into(), 1e12);
        let standing = follow(&search, "tps", &trials);
        let why = |index: usize| standing.candidates(&search)[index].out.clone().map(|out| out.cause);
        assert_eq!(why(0), Some(OutCause::Failed { failure: trials[1].failure.clone() }));
        let Some(OutCause::TooSlow { seconds, allowed_s }) = why(1) else { panic!("{:?}", why(1)) };
        assert_eq!((seconds.round(), allowed_s.round()), (240.0, 120.0));
        assert!(matches!(why(2), Some(OutCause::TooLarge { bytes, .. }) if bytes == 1e12), "{:?}", why(2));
        assert_eq!((why(3), standing.racing()), (None, 1));
    }

    #[test]
    fn who_was_out_before_the_first_block_races_in_none() {
        let mut search = search(2);
        let out = OutRecord::refused("it did not start".into());
        search.candidates[0].out = Some(out.clone());
        let standing = follow(&search, "tps", &block(1, &[("c2", 1000.0)]));
        assert_eq!((standing.next_block(), standing.racing()), (2, 1));
        assert_eq!(standing.candidates(&search)[0].out, Some(out));
    }

    #[test]
    fn a_search_that_goes_on_is_the_search_that_it_would_have_been() {
        let mut search = search(4);
        let out = OutRecord::refused("it did not start".into());
        search.candidates[3].out = Some(out);
        let mut trials = block(1, &[("c1", 1100.0), ("c2", 900.0), ("c3", 1050.0)]);
        trials[2].status = Status::Failed;
        trials.extend(block(2, &[("c1", 1110.0), ("c3", 1040.0)]));
        trials.extend(block(3, &[("c1", 1090.0)]));
        let whole = follow(&search, "tps", &trials);
        for kept in 0..=trials.len() {
            let standing = follow(&search, "tps", &trials[..kept]);
            let known = SearchRecord {
                candidates: standing.candidates(&search),
                rounds: standing.rounds.clone(),
                outcome: Some(standing.outcome(&search, true)),
                ..search.clone()
            };
            let beginning = at_its_beginning(&known, &trials[..kept]);
            let again = follow(&beginning, "tps", &trials);
            assert_eq!(again.candidates(&beginning), whole.candidates(&search), "{kept} trials kept");
            assert_eq!((again.rounds, beginning.outcome), (whole.rounds.clone(), None));
        }
    }

    #[test]
    fn without_a_leader_there_is_no_winner_but_a_detectable_effect() {
        let search = search(1);
        let trials: Vec<TrialRecord> =
            (1..=4).flat_map(|number| block(number, &[("c1", 950.0 + f64::from(number))])).collect();
        let standing = follow(&search, "tps", &trials);
        let outcome = standing.outcome(&search, false);
        assert_eq!((outcome.ended_by.as_str(), outcome.winner), ("nobody left", None));
        assert!(outcome.mde.is_some_and(|mde| mde > 0.0 && mde < 0.05));
    }

    #[test]
    fn an_incumbent_that_keeps_failing_ends_the_search() {
        let search = search(1);
        let mut trials: Vec<TrialRecord> = (1..=3).flat_map(|number| block(number, &[("c1", 950.0)])).collect();
        for trial in trials.iter_mut().filter(|trial| trial.contender == "default") {
            trial.status = Status::Failed;
        }
        assert!(incumbent_fails(&search, &trials) && !incumbent_fails(&search, &trials[..4]));
    }
}
