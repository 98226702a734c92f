//! The exact sequential rule: who is faster, looked at while the run goes on.
//!
//! The order of two contenders inside a block is a fair coin. If the true log ratio is `delta`,
//! the sign of every `d - delta` is therefore a coin too, whatever the host did meanwhile, and
//! Wilcoxon's signed ranks can be compared with all (or many seeded) sign vectors. Looking early
//! costs something: each look may only let as many vectors cross as the error spent so far
//! allows, and a vector that crossed once is dead. All `delta` that no look has rejected form a
//! repeated confidence interval, which holds at every look at once, so any reason to stop is
//! allowed (Jennison & Turnbull 1984, Lan & DeMets 1983).
//!
//! What must stay true: counts are integers from the ranks to the threshold, so the same data and
//! seed give the same word on every machine.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::describe::{Interval, hodges_lehmann, mean, sd, t_interval, walsh_averages};
use crate::power::{minimum_detectable_effect, sign_flip_p};

/// No word before this many blocks: eight fair coins are the least evidence that allows one.
pub const FIRST_LOOK: usize = 8;

/// Up to this many blocks all sign vectors are compared (4 096), beyond it a seeded sample.
const ALL_VECTORS_UP_TO: usize = 12;
const DRAWN_VECTORS: usize = 9_999;

/// Exponent of the spending function: how much of the error early looks may use.
const SPENDING_POWER: f64 = 1.5;

/// What was fixed before the first block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Blocks at most.
    pub blocks_max: usize,
    /// Two-sided rate of false words over all looks together.
    pub alpha: f64,
    /// Log ratio below which a difference does not matter: `ln 1.01` for 1 %.
    pub margin: f64,
    /// Seed of the sign vectors.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    Faster,
    Slower,
    NoDifference,
    Inconclusive,
}

/// Where an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// The exact rule: it holds at every look together.
    Exact,
    /// Student's t at a fixed number of blocks: a picture of the spread, never a reason for a word.
    T,
}

/// What the rule says about one series of log ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    pub blocks: usize,
    /// Hodges-Lehmann estimate of the log ratio.
    pub estimate: f64,
    /// Log ratios; absent with a single block.
    pub interval: Option<Interval>,
    pub basis: Basis,
    /// Paired t interval at 95 %, corrected for nothing: the thin line in a drawing.
    pub unadjusted: Option<Interval>,
    /// Absent while there are too few blocks for any word.
    pub word: Option<Word>,
    pub mean: f64,
    pub sd: Option<f64>,
    /// Smallest difference the run would have noticed, as a fraction.
    pub mde: Option<f64>,
    /// Fixed-size sign-flip p value, for audit.
    pub sign_flip_p: Option<f64>,
}

impl Rule {
    /// Numbers of blocks at which the rule looks: 8, 10, … and the last.
    pub fn looks(&self) -> Vec<usize> {
        let mut looks: Vec<usize> = (FIRST_LOOK..=self.blocks_max).step_by(2).collect();
        if self.blocks_max >= FIRST_LOOK && looks.last() != Some(&self.blocks_max) {
            looks.push(self.blocks_max);
        }
        looks
    }

    /// Error spent by the time `blocks` blocks are done.
    pub fn spent(&self, blocks: usize) -> f64 {
        let share = (blocks as f64 / self.blocks_max as f64).min(1.0);
        self.alpha * share.powf(SPENDING_POWER)
    }

    /// The first look at which a word is possible at all: even when every sign is the same, that
    /// must be rarer than the error spent by then. `None` when the plan is too short.
    pub fn earliest_word(&self) -> Option<usize> {
        let possible = |blocks: &usize| 0.5f64.powi(*blocks as i32 - 1) <= self.spent(*blocks) * (1.0 + 1e-12);
        self.looks().into_iter().find(possible)
    }

    /// The word and its numbers after these blocks; `None` of no block at all.
    ///
    /// `ended` says that no block will follow, for a reason that is not in the data (the plan is
    /// done, the budget is used up). It grants one extra look at the last block.
    pub fn judge(&self, log_ratios: &[f64], ended: bool) -> Option<Verdict> {
        assert!(log_ratios.len() <= self.blocks_max, "the rule was planned for {} blocks", self.blocks_max);
        let blocks = log_ratios.len();
        let estimate = hodges_lehmann(log_ratios)?;
        let spread = sd(log_ratios);
        let unadjusted = t_interval(log_ratios, 0.95);
        let exact = self.repeated_interval(log_ratios, &self.looks_taken(blocks, ended));
        Some(Verdict {
            blocks,
            estimate,
            interval: exact.or(unadjusted),
            basis: if exact.is_some() { Basis::Exact } else { Basis::T },
            unadjusted,
            word: exact.map(|interval| self.word(interval)),
            mean: mean(log_ratios).expect("an estimate exists, so there is a block"),
            sd: spread,
            mde: spread.and_then(|sd| minimum_detectable_effect(sd, blocks, self.spent(blocks))),
            sign_flip_p: sign_flip_p(log_ratios, self.seed),
        })
    }

    /// Would the rule have rejected this log ratio by now?
    pub fn rejects(&self, log_ratios: &[f64], log_ratio: f64) -> bool {
        let looks = self.looks_taken(log_ratios.len(), false);
        SignVectors::new(self.blocks_max, self.seed).reject(self, log_ratios, log_ratio, &looks)
    }

    fn looks_taken(&self, blocks: usize, ended: bool) -> Vec<usize> {
        let mut looks: Vec<usize> = self.looks().into_iter().filter(|look| *look <= blocks).collect();
        if ended && blocks >= FIRST_LOOK && looks.last() != Some(&blocks) {
            looks.push(blocks);
        }
        looks
    }

    fn word(&self, interval: Interval) -> Word {
        match interval {
            Interval { low, high } if -self.margin < low && high < self.margin => Word::NoDifference,
            Interval { low, .. } if low > 0.0 => Word::Faster,
            Interval { high, .. } if high < 0.0 => Word::Slower,
            _ => Word::Inconclusive,
        }
    }

    /// The hull of all log ratios that none of the looks rejects; `None` where no look can reject.
    ///
    /// Ranks and signs change only where the supposed log ratio passes a Walsh average, so we
    /// bisect over the gaps between these: bounds are exact and eight tests do for forty.
    fn repeated_interval(&self, log_ratios: &[f64], looks: &[usize]) -> Option<Interval> {
        if looks.is_empty() {
            return None;
        }
        let gaps = Gaps::new(log_ratios);
        if gaps.breaks.len() == 1 {
            return Some(Interval { low: gaps.breaks[0], high: gaps.breaks[0] });
        }
        let vectors = SignVectors::new(self.blocks_max, self.seed);
        let accepted = |gap: usize| !vectors.reject(self, log_ratios, gaps.inside(gap), looks);
        let estimate = hodges_lehmann(log_ratios)?;
        let last = gaps.breaks.len();
        if accepted(0) || accepted(last) {
            return None; // even equal signs in every block do not suffice yet
        }
        // When even the middle is rejected, no single ratio fits the data: say the widest.
        let whole = Interval { low: gaps.breaks[0], high: gaps.breaks[last - 1] };
        let Some(start) = gaps.outward_from(estimate).find(|gap| accepted(*gap)) else {
            return Some(whole);
        };
        let lowest = bisect(start, 0, &accepted);
        let highest = bisect(start, last, &accepted);
        Some(Interval { low: gaps.breaks[lowest - 1].min(estimate), high: gaps.breaks[highest].max(estimate) })
    }
}

/// The accepted gap that lies next to a rejected one, on the way from `accepted_gap` to `rejected_gap`.
fn bisect(mut accepted_gap: usize, mut rejected_gap: usize, accepted: &impl Fn(usize) -> bool) -> usize {
    while accepted_gap.abs_diff(rejected_gap) > 1 {
        let middle = (accepted_gap + rejected_gap) / 2;
        if accepted(middle) { accepted_gap = middle } else { rejected_gap = middle }
    }
    accepted_gap
}

/// The stretches between Walsh averages; gap `i` ends at break `i`, the last one has no end.
struct Gaps {
    breaks: Vec<f64>,
}

impl Gaps {
    fn new(log_ratios: &[f64]) -> Gaps {
        let mut breaks = walsh_averages(log_ratios);
        // Averages that differ by rounding alone are one place.
        breaks.dedup_by(|next, kept| (*next - *kept).abs() <= 1e-13 * (1.0 + kept.abs()));
        Gaps { breaks }
    }

    fn inside(&self, gap: usize) -> f64 {
        match gap {
            0 => self.breaks[0] - 1.0,
            last if last == self.breaks.len() => self.breaks[last - 1] + 1.0,
            middle => (self.breaks[middle - 1] + self.breaks[middle]) / 2.0,
        }
    }

    /// Inner gaps, those nearest to the estimate first.
    fn outward_from(&self, estimate: f64) -> impl Iterator<Item = usize> {
        let last = self.breaks.len();
        let centre = self.breaks.partition_point(|place| *place < estimate).clamp(1, last - 1);
        let inner = move |gap: &usize| (1..last).contains(gap);
        (0..last).flat_map(move |step| [centre + step, centre.wrapping_sub(step)]).filter(inner)
    }
}

/// The sign vectors that the observed one is compared with: bit `b` is set where block `b` is positive.
struct SignVectors {
    bytes_each: usize,
    bits: Vec<u8>,
    /// All vectors there are, the observed one among them.
    complete: bool,
}

impl SignVectors {
    fn new(blocks_max: usize, seed: u64) -> SignVectors {
        let bytes_each = blocks_max.div_ceil(8);
        if blocks_max <= ALL_VECTORS_UP_TO {
            let all = (0..1u16 << blocks_max).flat_map(|signs| signs.to_le_bytes().into_iter().take(bytes_each));
            return SignVectors { bytes_each, bits: all.collect(), complete: true };
        }
        let mut bits = vec![0; DRAWN_VECTORS * bytes_each];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bits);
        SignVectors { bytes_each, bits, complete: false }
    }

    /// Goes through the looks in order and says whether the observed signs cross at any of them.
    fn reject(&self, rule: &Rule, log_ratios: &[f64], log_ratio: f64, looks: &[usize]) -> bool {
        let mut alive: Vec<&[u8]> = self.bits.chunks_exact(self.bytes_each).collect();
        let size = alive.len() + usize::from(!self.complete);
        let mut crossed = 0;
        for &blocks in looks {
            let ranks = SignedRanks::new(&log_ratios[..blocks], log_ratio);
            let statistics: Vec<usize> = alive.iter().map(|signs| ranks.statistic(signs)).collect();
            let mut counts = vec![0usize; ranks.total + 1];
            statistics.iter().for_each(|statistic| counts[*statistic] += 1);
            if !self.complete {
                counts[ranks.observed] += 1;
            }
            let allowed = (size as f64 * rule.spent(blocks) + 1e-9).floor() as usize;
            let crossing_from = threshold(&counts, &mut crossed, allowed);
            if ranks.observed >= crossing_from {
                return true;
            }
            let mut statistics = statistics.iter();
            alive.retain(|_| *statistics.next().expect("one statistic per vector") < crossing_from);
        }
        false
    }
}

/// The lowest statistic that still crosses when at most `allowed` vectors may have crossed in all.
/// Equal statistics cross together or not at all.
fn threshold(counts: &[usize], crossed: &mut usize, allowed: usize) -> usize {
    let mut crossing_from = counts.len();
    while crossing_from > 0 && *crossed + counts[crossing_from - 1] <= allowed {
        crossing_from -= 1;
        *crossed += counts[crossing_from];
    }
    crossing_from
}

/// Ranks of the distances from a supposed log ratio, doubled so that shared ranks stay integers.
struct SignedRanks {
    /// For each group of eight blocks: the sum of ranks that each byte of signs selects.
    sums_by_byte: Vec<[usize; 256]>,
    total: usize,
    /// The statistic of the signs that were seen.
    observed: usize,
}

impl SignedRanks {
    fn new(log_ratios: &[f64], log_ratio: f64) -> SignedRanks {
        let distances: Vec<f64> = log_ratios.iter().map(|ratio| ratio - log_ratio).collect();
        let ranks = doubled_ranks(&distances);
        let total = ranks.iter().sum();
        let positive: usize =
            distances.iter().zip(&ranks).filter(|(distance, _)| **distance > 0.0).map(|(_, rank)| rank).sum();
        let sums_by_byte = ranks.chunks(8).map(sums_by_byte).collect();
        SignedRanks { sums_by_byte, total, observed: (2 * positive).abs_diff(total) }
    }

    /// |sum of signed ranks|. Dividing by n^1.5 would change nothing within one look.
    fn statistic(&self, signs: &[u8]) -> usize {
        let positive: usize = self.sums_by_byte.iter().zip(signs).map(|(sums, byte)| sums[*byte as usize]).sum();
        (2 * positive).abs_diff(self.total)
    }
}

fn doubled_ranks(distances: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..distances.len()).collect();
    order.sort_by(|a, b| distances[*a].abs().total_cmp(&distances[*b].abs()));
    let mut ranks = vec![0; distances.len()];
    let mut first = 0;
    for tied in order.chunk_by(|a, b| distances[*a].abs() == distances[*b].abs()) {
        // Ranks first+1 ..= first+len share their mean; twice that is the sum of both ends.
        tied.iter().for_each(|index| ranks[*index] = 2 * first + tied.len() + 1);
        first += tied.len();
    }
    ranks
}

fn sums_by_byte(ranks: &[usize]) -> [usize; 256] {
    let mut sums = [0; 256];
    for (signs, sum) in sums.iter_mut().enumerate() {
        *sum = ranks.iter().enumerate().filter(|(bit, _)| signs >> bit & 1 == 1).map(|(_, rank)| rank).sum();
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop, prop_assert, proptest};

    use super::*;

    const EIGHT: [f64; 8] = [0.031, -0.012, 0.045, 0.020, 0.008, 0.052, 0.027, -0.003];

    fn rule(blocks_max: usize) -> Rule {
        Rule { blocks_max, alpha: 0.05, margin: 1.01f64.ln(), seed: 1 }
    }

    fn near(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-12
    }

    /// Twelve uniform numbers make a good enough normal one.
    fn noise(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.next_u32() as f64 / u32::MAX as f64).sum::<f64>() - 6.0
    }

    #[test]
    fn with_one_look_at_eight_blocks_the_interval_is_the_walsh_average_interval() {
        // 10 of 256 sign vectors have a rank sum of at most 3 on one side: 3.9 %, one more is 5.5 %.
        let averages = walsh_averages(&EIGHT);
        let interval = rule(8).judge(&EIGHT, false).unwrap().interval.unwrap();
        assert_eq!((interval.low, interval.high), (averages[3], averages[averages.len() - 4]));
    }

    #[test]
    fn the_interval_matches_hollander_and_wolfes_depression_data() {
        // Hollander & Wolfe, Nonparametric Statistical Methods, examples 3.1 to 3.4: nine patients,
        // estimate -0.46, interval -0.786 to -0.010 at 96 %, as one look at all nine.
        let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
        #[allow(clippy::approx_constant)] // 3.14 is a patient's score
        let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
        let differences: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        let interval = rule(9).repeated_interval(&differences, &[9]).unwrap();
        assert!((hodges_lehmann(&differences).unwrap() - -0.46).abs() < 1e-9);
        assert!((interval.low - -0.786).abs() < 1e-9 && (interval.high - -0.010).abs() < 1e-9, "{interval:?}");
    }

    #[test]
    fn looks_are_even_and_end_at_the_last_block() {
        assert_eq!(rule(20).looks(), [8, 10, 12, 14, 16, 18, 20]);
        assert_eq!(rule(9).looks(), [8, 9]);
        assert_eq!(rule(7).looks(), []);
    }

    #[test]
    fn a_point_of_a_sweep_waits_for_a_later_look() {
        let earliest = |points: f64, blocks_max| Rule { alpha: 0.05 / points, ..rule(blocks_max) }.earliest_word();
        assert_eq!((earliest(1.0, 20), earliest(8.0, 20), earliest(16.0, 20)), (Some(8), Some(10), Some(12)));
        assert_eq!((earliest(6.0, 8), earliest(7.0, 8)), (Some(8), None), "quick words points in sweeps of up to 6");
    }

    #[test]
    fn seven_blocks_have_an_interval_but_no_word() {
        let verdict = rule(8).judge(&EIGHT[..7], true).unwrap();
        assert_eq!((verdict.word, verdict.basis, verdict.interval), (None, Basis::T, verdict.unadjusted));
    }

    #[test]
    fn one_block_has_an_estimate_and_nothing_else() {
        let verdict = rule(8).judge(&[0.1], true).unwrap();
        assert_eq!((verdict.estimate, verdict.interval, verdict.word, verdict.mde), (0.1, None, None, None));
        assert_eq!(rule(8).judge(&[], true), None);
    }

    #[test]
    fn words_follow_the_interval_and_the_margin() {
        let shifted = |shift: f64, scale: f64| EIGHT.map(|ratio| ratio * scale + shift);
        let word = |values: [f64; 8]| rule(8).judge(&values, false).unwrap().word;
        assert_eq!(word(shifted(0.1, 1.0)), Some(Word::Faster));
        assert_eq!(word(shifted(-0.2, 1.0)), Some(Word::Slower));
        assert_eq!(word(shifted(-0.02, 1.0)), Some(Word::Inconclusive));
        assert_eq!(word(shifted(0.004, 0.02)), Some(Word::NoDifference), "a sure but tiny gain is below the margin");
        assert_eq!(word([0.0; 8]), Some(Word::NoDifference));
    }

    #[test]
    fn the_end_of_the_budget_grants_one_extra_look() {
        let steady: Vec<f64> = (0..9).map(|block| 0.03 + 0.001 * block as f64).collect();
        let nine = Rule { alpha: 0.01, ..rule(20) };
        assert_eq!(nine.judge(&steady, false).unwrap().word, None, "at eight blocks 1 % allows no word");
        assert_eq!(nine.judge(&steady, true).unwrap().word, None, "2 in 512 is more than is spent at nine");
        let twelve: Vec<f64> =
            (0..13).map(|block| if block == 0 { -0.001 } else { 0.03 + 0.001 * block as f64 }).collect();
        let thirteen = Rule { alpha: 0.004, ..rule(20) };
        assert_eq!(thirteen.judge(&twelve, false).unwrap().word, Some(Word::Inconclusive));
        assert_eq!(thirteen.judge(&twelve, true).unwrap().word, Some(Word::Faster));
    }

    #[test]
    fn false_words_stay_within_five_percent_however_often_we_look() {
        // Variance grows and every fourth block is hit by a spike: the signs stay fair coins.
        for (blocks_max, runs) in [(8, 600), (12, 250), (20, 120)] {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let mut false_words = 0;
            for _ in 0..runs {
                let spread = |block: usize| 0.01 * (1 + block) as f64 * if block % 4 == 3 { 5.0 } else { 1.0 };
                let blocks: Vec<f64> = (0..blocks_max).map(|block| spread(block) * noise(&mut random)).collect();
                false_words += usize::from(rule(blocks_max).rejects(&blocks, 0.0));
            }
            let three_standard_errors = 3.0 * (0.05f64 * 0.95 / runs as f64).sqrt();
            let rate = false_words as f64 / runs as f64;
            assert!(rate <= 0.05 + three_standard_errors, "{blocks_max} blocks: {rate}");
            assert!(rate > 0.01, "{blocks_max} blocks: a rule that never errs has no power either");
        }
    }

    #[test]
    fn a_real_difference_of_three_percent_is_found_early() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let found = (0..12).filter(|_| {
            let blocks: Vec<f64> = (0..8).map(|_| 0.03 + 0.01 * noise(&mut random)).collect();
            rule(20).judge(&blocks, false).unwrap().word == Some(Word::Faster)
        });
        assert!(found.count() >= 11, "the method's table says 100 % at a spread of 1 %");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn swapping_the_contenders_mirrors_the_interval(blocks in prop::collection::vec(-0.1f64..0.1, 8..=10)) {
            let mirrored: Vec<f64> = blocks.iter().map(|ratio| -ratio).collect();
            let (one, other) = (rule(10).judge(&blocks, true).unwrap(), rule(10).judge(&mirrored, true).unwrap());
            let (one, other) = (one.interval.unwrap(), other.interval.unwrap());
            prop_assert!(near(one.low, -other.high) && near(one.high, -other.low), "{one:?} {other:?}");
        }

        #[test]
        fn the_estimate_lies_in_its_interval(blocks in prop::collection::vec(-0.1f64..0.1, 8..=14)) {
            let verdict = rule(14).judge(&blocks, true).unwrap();
            let interval = verdict.interval.unwrap();
            prop_assert!(interval.low <= verdict.estimate && verdict.estimate <= interval.high);
        }

        #[test]
        fn looking_again_never_widens_what_was_rejected(blocks in prop::collection::vec(-0.1f64..0.1, 10), delta in -0.1f64..0.1) {
            let (early, late) = (rule(10).rejects(&blocks[..8], delta), rule(10).rejects(&blocks, delta));
            prop_assert!(!early || late);
        }
    }
}
