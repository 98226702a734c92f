//! What a run of a given size can detect, and an audit of what it found.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::describe::t_quantile;

/// Share of runs that must notice a difference before we call it detectable.
const POWER: f64 = 0.9;

/// The smallest difference, as a fraction of throughput, that a run like this would have noticed
/// in nine of ten repetitions. `level` is the rate of false verdicts spent by the time it stopped.
pub fn minimum_detectable_effect(sd: f64, blocks: usize, level: f64) -> Option<f64> {
    (blocks >= 2).then(|| (reach(sd, blocks, level)).exp_m1())
}

/// Blocks a fixed-size run needs to notice a difference of `effect` (0.03 for 3 %).
///
/// Below four blocks the normal approximation behind this does not hold, so it never returns fewer.
pub fn blocks_needed(sd: f64, effect: f64, level: f64) -> usize {
    const FEWEST: usize = 4;
    const MOST: usize = 100_000;
    let enough = |blocks: usize| reach(sd, blocks, level) <= effect.ln_1p();
    let mut upper = FEWEST;
    while !enough(upper) && upper < MOST {
        upper *= 2;
    }
    let mut lower = if upper == FEWEST { FEWEST - 1 } else { upper / 2 };
    while upper - lower > 1 {
        let middle = lower + (upper - lower) / 2;
        if enough(middle) { upper = middle } else { lower = middle }
    }
    upper
}

/// The log ratio that `blocks` blocks of spread `sd` detect at `level`, two-sided.
fn reach(sd: f64, blocks: usize, level: f64) -> f64 {
    let quantiles = t_quantile(blocks - 1, 1.0 - level / 2.0) + t_quantile(blocks - 1, POWER);
    quantiles * sd / (blocks as f64).sqrt()
}

/// The two-sided p value of "either is as likely" after so many of one and of the other.
pub fn sign_test_p(one: usize, other: usize) -> f64 {
    let all = one + other;
    let coin = Binomial::new(0.5, all as u64).expect("a half is a probability");
    (2.0 * coin.cdf(one.min(other) as u64)).min(1.0)
}

/// Up to this many blocks a sign-flip p tries all signs; above it seeded draws and the data.
const ALL_SIGNS_UP_TO: usize = 16;

/// The least sign-flip p that so many blocks can have: all signs equal. None where drawn signs would blur it.
pub fn least_sign_flip_p(blocks: usize) -> Option<f64> {
    (1..=ALL_SIGNS_UP_TO).contains(&blocks).then(|| 0.5f64.powi(blocks as i32 - 1))
}

/// The two-sided p value of "the mean is zero" when every sign was a fair coin, at a fixed number
/// of blocks. Up to sixteen blocks all signs are tried, above that 65 535 seeded draws and the data: long lists of
/// comparisons need small p values.
///
/// It is printed for an auditor. No verdict comes from it: it takes no account of early looks.
pub fn sign_flip_p(log_ratios: &[f64], seed: u64) -> Option<f64> {
    const DRAWS: usize = 65_535;
    let blocks = log_ratios.len();
    if blocks == 0 {
        return None;
    }
    let observed = log_ratios.iter().sum::<f64>().abs();
    // Sums of the same numbers in different signs differ by rounding; that must not break a tie.
    let bound = observed - 1e-12 * log_ratios.iter().map(|ratio| ratio.abs()).sum::<f64>();
    if blocks <= ALL_SIGNS_UP_TO {
        // The last sign stays: turning all of them changes no size.
        let half = 1u64 << (blocks - 1);
        let extreme = (0..half).filter(|signs| signed_sum(log_ratios, *signs).abs() >= bound).count();
        return Some(extreme as f64 / half as f64);
    }
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut flipped = || log_ratios.chunks(64).map(|some| signed_sum(some, random.next_u64())).sum::<f64>();
    let extreme = (0..DRAWS).filter(|_| flipped().abs() >= bound).count();
    Some((extreme + 1) as f64 / (DRAWS + 1) as f64)
}

/// A set bit keeps a value; without a branch, because signs are random.
fn signed_sum(values: &[f64], signs: u64) -> f64 {
    let signed = |(index, value): (usize, &f64)| f64::from_bits(value.to_bits() ^ ((!signs >> index & 1) << 63));
    values.iter().enumerate().map(signed).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_needed_are_those_of_the_fixed_size_guide() {
        // The method's guide: 90 % power at 5 %, for differences of 1, 3 and 5 %.
        for (sd, expected) in [(0.01, [13, 4, 4]), (0.02, [44, 7, 5]), (0.03, [97, 13, 7]), (0.05, [265, 32, 13])] {
            let blocks = [0.01, 0.03, 0.05].map(|effect| blocks_needed(sd, effect, 0.05));
            for (blocks, expected) in blocks.into_iter().zip(expected) {
                // The guide took normal quantiles for its long runs, so 2 % more is agreement.
                assert!(
                    blocks.abs_diff(expected) <= 1.max(expected / 50),
                    "sd {sd}: {blocks} blocks, the guide has {expected}"
                );
            }
        }
    }

    #[test]
    fn the_detectable_effect_and_the_blocks_needed_agree() {
        let effect = minimum_detectable_effect(0.03, 20, 0.05).unwrap();
        assert_eq!(blocks_needed(0.03, effect, 0.05), 20);
    }

    #[test]
    fn a_sign_test_has_the_p_values_of_the_printed_table() {
        // Conover (1999), table of the binomial distribution at one half, doubled.
        for (one, other, expected) in [(0, 6, 0.03125), (5, 0, 0.0625), (1, 8, 0.0390625), (3, 3, 1.0), (0, 0, 1.0)] {
            assert!((sign_test_p(one, other) - expected).abs() < 1e-12, "{one} and {other}");
        }
    }

    #[test]
    fn eight_equal_signs_have_the_smallest_possible_p() {
        let p = sign_flip_p(&[0.01, 0.02, 0.03, 0.01, 0.02, 0.02, 0.04, 0.01], 1).unwrap();
        assert_eq!(p, 2.0 / 256.0);
    }

    #[test]
    fn the_p_value_of_fishers_darwin_data_is_his() {
        // Fisher (1935), Darwin's maize, differences in eighths of an inch: 1726 of 32768 sign
        // patterns are at least as extreme.
        let pairs = [49., -67., 8., 16., 6., 23., 28., 41., 14., 29., 56., 24., 75., 60., -48.];
        let p = sign_flip_p(&pairs, 1).unwrap();
        assert_eq!(p, 1726.0 / 32768.0);
        // Two more pairs of which nothing is known: drawn, and near the exact value.
        let drawn = sign_flip_p(&[&pairs[..], &[0.0, 0.0]].concat(), 1).unwrap();
        assert!((drawn - p).abs() < 0.003, "{drawn}");
    }
}
