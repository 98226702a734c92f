//! A race of many candidates against one incumbent: who stays, who is out, and whether any candidate was shown
//! to be faster.
//!
//! Successive halving (Jamieson & Talwalkar 2016) on blocks: in each of them the incumbent and every candidate
//! still in the race are measured once, so that differences are taken within blocks. After a round of blocks
//! the better half goes on, by the estimate of all blocks so far; so time goes to those who may win (as in
//! F-race and irace: Birattari et al. 2002, Lopez-Ibanez et al. 2016). Beside that, each candidate has
//! [`Gamblers`], who may be asked after every block: at alpha / candidates they show one to be faster, or
//! put one out that is slower, falsely in at most alpha of all races, however long those last.
//!
//! The race never estimates how much faster: the best of several noisy estimates is too high. The
//! winner has to be measured again in blocks that had no part in choosing it.

use crate::describe::{hodges_lehmann, median};

/// How boldly the gamblers bet, per spread of the log ratios.
const BOLDNESS: [f64; 3] = [0.5, 1.0, 2.0];

/// Makes a median of sizes the standard deviation of a normal distribution.
const SD_PER_MEDIAN: f64 = 1.4826;

/// With fewer past blocks than this the spread is that of the block itself: sizes carry no sign.
const PAST_BLOCKS_MIN: usize = 3;

/// What is fixed before the first block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RaceRules {
    pub candidates: usize,
    /// Rate at which races of candidates that are all as fast as the incumbent show one to differ.
    pub alpha: f64,
    /// After so many blocks the slower half goes.
    pub blocks_per_round: usize,
    /// A race that shows nothing ends here.
    pub blocks_max: usize,
}

/// Why a candidate races no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Out {
    /// Somebody took it out: it failed, or did what a candidate must not do.
    Removed,
    /// By the wealth of the gamblers it is slower than the incumbent.
    Slower,
    /// It was in the slower half at the end of a round.
    Halved,
    /// It was the last one, and not ahead of the incumbent.
    Behind,
}

/// One candidate and the evidence of its blocks.
#[derive(Debug, Clone, Default)]
pub struct Runner {
    log_ratios: Vec<f64>,
    gamblers: Gamblers,
    /// Shown to be faster, at any block so far.
    shown_faster: bool,
    /// With the block behind which it was out.
    out: Option<(Out, usize)>,
}

impl Runner {
    pub fn log_ratios(&self) -> &[f64] {
        &self.log_ratios
    }

    /// Hodges-Lehmann estimate of the log ratio to the incumbent; good for choosing, too good for telling.
    pub fn estimate(&self) -> Option<f64> {
        hodges_lehmann(&self.log_ratios)
    }

    /// What its gamblers own on average; they began with 1.
    pub fn fortune(&self) -> f64 {
        self.gamblers.fortune()
    }

    pub fn is_shown_faster(&self) -> bool {
        self.shown_faster
    }

    pub fn out(&self) -> Option<(Out, usize)> {
        self.out
    }

    fn races(&self) -> bool {
        self.out.is_none()
    }
}

/// The race under way. The same blocks make the same race.
#[derive(Debug, Clone)]
pub struct Race {
    rules: RaceRules,
    runners: Vec<Runner>,
    blocks: usize,
}

impl Race {
    pub fn new(rules: RaceRules) -> Race {
        Race { runners: vec![Runner::default(); rules.candidates], rules, blocks: 0 }
    }

    pub fn runners(&self) -> &[Runner] {
        &self.runners
    }

    /// Blocks that have been seen.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Who is in the next block; empty where every candidate is out.
    pub fn racing(&self) -> Vec<usize> {
        (0..self.runners.len()).filter(|runner| self.runners[*runner].races()).collect()
    }

    /// Nothing is left to find out: every candidate is out, the last one is shown to be faster, or the blocks are
    /// used up.
    pub fn is_over(&self) -> bool {
        let racing = self.racing();
        let decided = |last: &usize| self.runners[*last].shown_faster;
        racing.is_empty() || self.blocks >= self.rules.blocks_max || racing.len() == 1 && racing.iter().all(decided)
    }

    /// The best of those who still race, if it is ahead of the incumbent at all.
    pub fn leader(&self) -> Option<usize> {
        self.ranked().into_iter().next().filter(|best| self.estimate(*best) > 0.0)
    }

    /// The leader of a race that is over, where it was shown to be faster than the incumbent.
    pub fn winner(&self) -> Option<usize> {
        self.leader().filter(|best| self.is_over() && self.runners[*best].shown_faster)
    }

    /// Takes a candidate out for a reason that is not in its ratios.
    pub fn remove(&mut self, candidate: usize) {
        self.put_out(candidate, Out::Removed);
    }

    /// One more block: log ratios to the incumbent of those who raced in it. Where the incumbent's own
    /// trial failed there are none, and the block counts all the same.
    pub fn block(&mut self, log_ratios: &[(usize, f64)]) {
        self.blocks += 1;
        let alpha = self.rules.alpha / self.rules.candidates as f64;
        for (candidate, log_ratio) in log_ratios {
            let runner = &mut self.runners[*candidate];
            runner.log_ratios.push(*log_ratio);
            runner.gamblers.see(*log_ratio);
            if runner.gamblers.are_rich(alpha) {
                match runner.gamblers.lean_upward() {
                    true => runner.shown_faster = true,
                    false => self.put_out(*candidate, Out::Slower),
                }
            }
        }
        if self.blocks.is_multiple_of(self.rules.blocks_per_round) {
            self.end_round();
        }
    }

    fn end_round(&mut self) {
        let ranked = self.ranked();
        match ranked[..] {
            [] => {}
            // The estimate of a single round is little to give up the last one for.
            [last] => {
                let seen = self.runners[last].log_ratios.len();
                if self.estimate(last) <= 0.0 && seen > self.rules.blocks_per_round {
                    self.put_out(last, Out::Behind);
                }
            }
            _ => {
                for candidate in &ranked[ranked.len().div_ceil(2)..] {
                    self.put_out(*candidate, Out::Halved);
                }
            }
        }
    }

    fn put_out(&mut self, candidate: usize, why: Out) {
        let runner = &mut self.runners[candidate];
        runner.out = runner.out.or(Some((why, self.blocks)));
    }

    /// Those who still race, the best first; of equals the one that was named first.
    fn ranked(&self) -> Vec<usize> {
        let mut racing = self.racing();
        racing.sort_by(|one, other| self.estimate(*other).total_cmp(&self.estimate(*one)));
        racing
    }

    /// A candidate without a block yet counts as ahead until blocks show otherwise.
    fn estimate(&self, candidate: usize) -> f64 {
        self.runners[candidate].estimate().unwrap_or(0.0)
    }
}

/// The six of them at one table, and what they have seen so far.
///
/// If the true log ratio is nothing, the sign of each block's is a fair coin, so a gambler who bets on it, with
/// stakes that follow from earlier blocks and from sizes alone, can expect to win nothing. Three of them bet more or
/// less boldly on either side; that their mean fortune ever grows to 1/alpha happens in at most alpha of all races,
/// however long they last (Ville's inequality; de la Pena 1999; Ramdas et al. 2020).
#[derive(Debug, Clone)]
struct Gamblers {
    /// Those who bet on positive distances, then those who bet on negative ones.
    fortunes: [f64; 2 * BOLDNESS.len()],
    /// Of past blocks, ascending.
    sizes: Vec<f64>,
}

impl Default for Gamblers {
    fn default() -> Gamblers {
        Gamblers { fortunes: [1.0; 2 * BOLDNESS.len()], sizes: Vec::new() }
    }
}

impl Gamblers {
    /// One more block: how far its log ratio lies from what they bet against.
    fn see(&mut self, distance: f64) {
        let size = distance.abs();
        let spread =
            median(&self.sizes).filter(|_| self.sizes.len() >= PAST_BLOCKS_MIN).unwrap_or(size) * SD_PER_MEDIAN;
        self.sizes.insert(self.sizes.partition_point(|past| *past < size), size);
        bet(&mut self.fortunes, distance, spread);
    }

    /// Do they own 1/alpha on average?
    fn are_rich(&self, alpha: f64) -> bool {
        self.fortunes.iter().sum::<f64>() >= self.fortunes.len() as f64 / alpha
    }

    /// What they own on average; they began with 1.
    fn fortune(&self) -> f64 {
        self.fortunes.iter().sum::<f64>() / self.fortunes.len() as f64
    }

    /// Have those won more who bet on positive distances?
    fn lean_upward(&self) -> bool {
        let (upward, downward) = self.fortunes.split_at(BOLDNESS.len());
        upward.iter().sum::<f64>() > downward.iter().sum::<f64>()
    }
}

/// Each gambler's fortune is multiplied by exp(x) / cosh(x), which is 1 on average over both signs.
fn bet(fortunes: &mut [f64; 2 * BOLDNESS.len()], distance: f64, spread: f64) {
    if distance == 0.0 {
        return; // no sign, no bet
    }
    let (upward, downward) = fortunes.split_at_mut(BOLDNESS.len());
    for ((up, down), boldness) in upward.iter_mut().zip(downward).zip(BOLDNESS) {
        let factor = 2.0 / (1.0 + (-2.0 * boldness * distance / spread).exp());
        *up *= factor;
        *down *= 2.0 - factor;
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::random::Normals;

    const RULES: RaceRules = RaceRules { candidates: 17, alpha: 0.05, blocks_per_round: 2, blocks_max: 20 };

    /// Runs a race of candidates with these true log ratios; the incumbent's own noise is in all of a block.
    fn run(rules: RaceRules, truths: &[f64], sd: f64, seed: u64) -> Race {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(seed));
        let mut race = Race::new(rules);
        while !race.is_over() {
            let of_a_trial = sd / 2f64.sqrt();
            let incumbent = normals.draw() * of_a_trial;
            let ratios: Vec<(usize, f64)> = race
                .racing()
                .into_iter()
                .map(|at| (at, truths[at] + normals.draw() * of_a_trial - incumbent))
                .collect();
            race.block(&ratios);
        }
        race
    }

    fn share(races: u64, holds: impl Fn(u64) -> bool) -> f64 {
        (0..races).filter(|seed| holds(*seed)).count() as f64 / races as f64
    }

    #[test]
    fn a_candidate_that_is_a_tenth_faster_is_found_among_sixteen_that_are_not() {
        let mut truths = [0.0; 17];
        truths[11] = 1.1f64.ln();
        let found = share(400, |seed| run(RULES, &truths, 0.03, seed).winner() == Some(11));
        assert!(found > 0.97, "found in {found}");
    }

    #[test]
    fn among_equals_hardly_any_race_has_a_winner() {
        let named = share(2000, |seed| run(RULES, &[0.0; 17], 0.03, seed).winner().is_some());
        assert!(named <= 0.05, "named in {named}");
        // Few candidates and many blocks are where halving takes least away; the bound is the gamblers' own.
        let rules = RaceRules { candidates: 1, blocks_max: 200, ..RULES };
        let shown = share(2000, |seed| run(rules, &[0.0], 0.03, seed).runners()[0].is_shown_faster());
        assert!(shown > 0.0 && shown <= 0.05, "shown in {shown}");
    }

    /// How often the gamblers, asked after every block, ever find a difference in a series of nothing but noise.
    fn false_alarms(blocks: usize, noise: impl Fn(usize, &mut Normals<ChaCha8Rng>) -> f64) -> f64 {
        share(1200, |seed| {
            let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(seed));
            let mut gamblers = Gamblers::default();
            (0..blocks).any(|block| {
                gamblers.see(noise(block, &mut normals));
                gamblers.are_rich(0.05)
            })
        })
    }

    #[test]
    fn spikes_growing_spread_and_ties_make_no_gambler_rich_too_often() {
        let spread = |block: usize| 0.01 * (1 + block) as f64 * if block % 4 == 3 { 5.0 } else { 1.0 };
        let uneven = false_alarms(40, |block, normals| spread(block) * normals.draw());
        let coarse = false_alarms(20, |_, normals| (normals.draw() * 1.5).round() / 100.0);
        let most = 0.05 + 3.0 * (0.05f64 * 0.95 / 1200.0).sqrt();
        assert!(uneven > 0.01 && uneven <= most && coarse > 0.01 && coarse <= most, "{uneven} {coarse}");
    }

    #[test]
    fn equal_signs_and_sizes_win_by_the_eighth_block() {
        // Per block the boldest wins 1.874 times, the others 1.588 and 1.325: after seven (80.9 + 25.5 + 7.2) / 6
        // is 18.9, after eight 33.6.
        let mut gamblers = Gamblers::default();
        let fortunes: Vec<f64> = (0..8)
            .map(|_| {
                gamblers.see(1.0);
                gamblers.fortune()
            })
            .collect();
        assert!((fortunes[6] - 18.9).abs() < 0.1 && (fortunes[7] - 33.6).abs() < 0.1, "{fortunes:?}");
        assert!(gamblers.are_rich(1.0 / 33.5) && !gamblers.are_rich(1.0 / 33.7) && gamblers.lean_upward());
    }

    #[test]
    fn a_spread_of_nothing_bets_everything() {
        let mut fortunes = [1.0; 6];
        bet(&mut fortunes, 0.1, 0.0);
        assert_eq!(fortunes, [2.0, 2.0, 2.0, 0.0, 0.0, 0.0]);
        bet(&mut fortunes, 0.0, 0.0);
        assert_eq!(fortunes[0], 2.0);
    }

    #[test]
    fn a_slower_one_is_put_out_and_none_is_left_to_measure_again() {
        let rules = RaceRules { candidates: 2, blocks_per_round: 20, ..RULES };
        let race = run(rules, &[-0.2, 0.2], 0.01, 3);
        assert!(matches!(race.runners()[0].out(), Some((Out::Slower, block)) if block < 20));
        assert_eq!((race.leader(), race.winner()), (Some(1), Some(1)));
        let race = run(rules, &[-0.2, -0.2], 0.01, 3);
        assert_eq!((race.racing(), race.leader()), (vec![], None));
    }

    #[test]
    fn the_last_one_goes_when_it_is_not_ahead() {
        let mut race = Race::new(RaceRules { candidates: 1, ..RULES });
        for _ in 0..4 {
            assert!(!race.is_over());
            race.block(&[(0, -0.001)]);
        }
        assert_eq!(race.runners()[0].out(), Some((Out::Behind, 4)));
        assert!(race.is_over());
    }

    #[test]
    fn the_better_half_goes_on_after_each_round() {
        let rules = RaceRules { candidates: 5, blocks_per_round: 2, blocks_max: 20, alpha: 0.05 };
        let mut race = Race::new(rules);
        race.remove(4);
        let ratios = |race: &Race| race.racing().into_iter().map(|at| (at, 0.01 * at as f64)).collect::<Vec<_>>();
        let mut sizes = Vec::new();
        while race.racing().len() > 1 {
            sizes.push(race.racing().len());
            race.block(&ratios(&race));
        }
        assert_eq!(sizes, [4, 4, 2, 2]);
        assert_eq!(race.racing(), [3]);
        let outs: Vec<_> = race.runners().iter().map(Runner::out).collect();
        assert_eq!(outs[..3], [Some((Out::Halved, 2)), Some((Out::Halved, 2)), Some((Out::Halved, 4))]);
        assert_eq!(outs[4], Some((Out::Removed, 0)));
        assert_eq!((race.leader(), race.winner()), (Some(3), None));
    }

    #[test]
    fn a_block_without_the_incumbent_counts_and_is_no_evidence() {
        let mut race = Race::new(RaceRules { candidates: 1, blocks_max: 3, ..RULES });
        for _ in 0..3 {
            race.block(&[]);
        }
        assert!(race.is_over() && race.leader().is_none() && race.runners()[0].log_ratios().is_empty());
    }
}
