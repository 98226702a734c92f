//! What a pair is worth when one of its trials could not give a number because of its own result.
//!
//! A trial without a commit, or with too few requests for a quantile, is never dropped: dropping it
//! would flatter the side that it belongs to. It counts as the worst.

use crate::describe::Interval;
use crate::rule::Verdict;

/// More incomplete pairs than this and there is no estimate at all.
pub const INCOMPLETE_SHARE_MAX: f64 = 0.1;

/// From this share of pairs on, a side that alone had trials without a commit cannot win.
pub const OUTAGE_SHARE: f64 = 0.1;

/// What stands beyond the others by so much ranks above them wherever the null is placed.
const BEYOND: f64 = 1.01;

/// One block of a comparison.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pair {
    /// Log of candidate over baseline.
    Ratio(f64),
    /// The baseline's trial ran, and has no value because of what it did.
    BaselineLacks,
    CandidateLacks,
    /// Neither has a value: nothing distinguishes them, but the pair counts as incomplete.
    BothLack,
}

/// Log ratios in which a pair that one side lacks is the worst for that side; a pair that both lack is left
/// out. `None` where more than a tenth of the pairs are incomplete.
///
/// The worst has the highest rank whatever log ratio within the data, or zero, is supposed. That is all the
/// exact rule asks of it; its size means nothing.
pub fn completed(pairs: &[Pair]) -> Option<Vec<f64>> {
    let ratio = |pair: &Pair| if let Pair::Ratio(ratio) = pair { Some(*ratio) } else { None };
    let incomplete = pairs.iter().filter(|pair| ratio(pair).is_none()).count();
    if incomplete as f64 > INCOMPLETE_SHARE_MAX * pairs.len() as f64 {
        return None;
    }
    let range = pairs.iter().filter_map(ratio).fold(Interval { low: 0.0, high: 0.0 }, |range, ratio| Interval {
        low: range.low.min(ratio),
        high: range.high.max(ratio),
    });
    let beyond = BEYOND * (range.high - range.low).max(f64::EPSILON);
    let value = |pair: &Pair| match pair {
        Pair::Ratio(ratio) => Some(*ratio),
        Pair::CandidateLacks => Some(range.low - beyond),
        Pair::BaselineLacks => Some(range.high + beyond),
        Pair::BothLack => None,
    };
    Some(pairs.iter().filter_map(value).collect())
}

/// Whether trials without a commit forbid this verdict.
///
/// Ranks show only that such a trial is the worst, not how bad it is: two in twenty let a rank test favour
/// the other eighteen. A side that was out in a tenth of the pairs, and more often than the other, may
/// lose, but neither win nor be called equal.
pub fn outages_forbid(verdict: Verdict, baseline: usize, candidate: usize, pairs: usize) -> bool {
    let is_out = |own: usize, other: usize| own > other && own as f64 >= OUTAGE_SHARE * pairs as f64;
    match verdict {
        Verdict::Faster => is_out(candidate, baseline),
        Verdict::Slower => is_out(baseline, candidate),
        Verdict::NoDifference => is_out(candidate, baseline) || is_out(baseline, candidate),
        Verdict::Inconclusive => false,
    }
}

/// What remains of a verdict once the time is counted that deferred work takes (`adjusted`): it stands where the
/// adjusted ratio has it too. Work that is put off is not saved, so a lead that the adjusted ratio does not show
/// could be reversed by it.
pub fn with_deferred_work(verdict: Verdict, adjusted: Verdict) -> Verdict {
    match (verdict, adjusted) {
        (Verdict::NoDifference, Verdict::Inconclusive) => verdict,
        _ if verdict == adjusted => verdict,
        _ => Verdict::Inconclusive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::{Judge, Rule, RuleKind};

    fn judge(blocks_max: usize) -> Judge {
        Judge::new(Rule { kind: RuleKind::Exact, blocks_max, alpha: 0.05, margin: 0.01f64.ln_1p(), seed: 1 })
    }

    #[test]
    fn a_tenth_of_incomplete_pairs_is_the_most() {
        let with = |lacking: usize, all: usize| {
            let pairs: Vec<Pair> =
                (0..all).map(|one| if one < lacking { Pair::CandidateLacks } else { Pair::Ratio(0.02) }).collect();
            completed(&pairs).map(|ratios| ratios.len())
        };
        assert_eq!(
            (with(0, 8), with(1, 8), with(1, 10), with(2, 20), with(3, 20)),
            (Some(8), None, Some(10), Some(20), None)
        );
        assert_eq!(completed(&[Pair::BothLack; 8]), None);
        assert_eq!(completed(&[]), Some(vec![]));
    }

    #[test]
    fn a_pair_that_a_side_lacks_ranks_worst_for_it_and_one_that_both_lack_is_out() {
        let mut pairs: Vec<Pair> = (1..=19).map(|step| Pair::Ratio(0.01 * f64::from(step))).collect();
        pairs.push(Pair::CandidateLacks);
        let ratios = completed(&pairs).unwrap();
        let worst = *ratios.last().unwrap();
        assert!(worst.is_finite(), "sums of log ratios have to stay numbers");
        for null in [0.0, 0.01, 0.1, 0.19] {
            let farthest = ratios[..19].iter().map(|ratio| (ratio - null).abs()).fold(0.0, f64::max);
            assert!(null - worst > farthest, "{worst} at {null}");
        }
        pairs[19] = Pair::BaselineLacks;
        assert!(completed(&pairs).unwrap()[19] > 0.19 + 0.19);
        pairs[19] = Pair::BothLack;
        assert_eq!(completed(&pairs).unwrap().len(), 19);
    }

    #[test]
    fn a_verdict_stands_where_deferred_work_leaves_it_and_equality_where_it_decides_nothing() {
        let all = [Verdict::Faster, Verdict::Slower, Verdict::NoDifference, Verdict::Inconclusive];
        for verdict in all {
            for adjusted in all {
                let stands =
                    verdict == adjusted || (verdict, adjusted) == (Verdict::NoDifference, Verdict::Inconclusive);
                let expected = if stands { verdict } else { Verdict::Inconclusive };
                assert_eq!(with_deferred_work(verdict, adjusted), expected, "{verdict:?}, {adjusted:?}");
            }
        }
    }

    #[test]
    fn two_outages_of_twenty_are_no_win_although_ranks_would_allow_one() {
        // A tenth faster in eighteen blocks, dead in two: half a transaction in a minute against 1000 a second.
        let mut ratios: Vec<f64> = (0..18).map(|block| 0.1 + 0.001 * f64::from(block * 7 % 18)).collect();
        ratios.extend([(0.5f64 / 60.0 / 1000.0).ln(); 2]);
        let (verdict, _) = judge(20).verdict(&ratios, true).unwrap();
        assert_eq!(verdict, Verdict::Faster, "this is why the rule exists");
        assert!(
            outages_forbid(verdict, 0, 2, 20)
                && !outages_forbid(verdict, 2, 2, 20)
                && !outages_forbid(verdict, 2, 0, 20)
        );
        assert!(!outages_forbid(verdict, 0, 1, 20), "one in twenty is left to its rank");
        assert!(outages_forbid(Verdict::Slower, 2, 0, 20) && !outages_forbid(Verdict::Slower, 0, 2, 20));
        assert!(outages_forbid(Verdict::NoDifference, 0, 1, 8) && !outages_forbid(Verdict::Inconclusive, 0, 8, 8));
    }
}
