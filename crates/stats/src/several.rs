//! Many comparisons at once: conclusions that hold although each of them could be chance.
//!
//! Nothing here is sequential: the number of blocks was fixed beforehand, or the run is over.

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::power::least_sign_flip_p;

/// Up to this many blocks all signs are tried, above that a seeded sample and the data themselves.
const ALL_SIGNS_UP_TO: usize = 12;
const DRAWS: usize = 9_999;

/// Which of many p values stand out when a share `q` of those named may be false (Benjamini &
/// Hochberg 1995). In the order given.
///
/// For long lists, where "at most one false verdict in twenty lists" would name nothing at all. A row that
/// it names deserves a closer look; it is no verdict.
pub fn screening(p_values: &[f64], q: f64) -> Vec<bool> {
    let mut ascending = p_values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let rank_of = |(index, p): (usize, &f64)| *p <= q * (index + 1) as f64 / p_values.len() as f64;
    let bound = ascending.iter().enumerate().rev().find(|(index, p)| rank_of((*index, p))).map(|(_, p)| *p);
    p_values.iter().map(|p| bound.is_some_and(|bound| *p <= bound)).collect()
}

/// The first number of blocks at which one of so many tests can stand out alone: the least p value that signs can
/// have must reach the bound of the first rank.
pub fn screening_blocks(tests: usize, q: f64) -> Option<usize> {
    let reaches = |p: f64| p <= q / tests.max(1) as f64 * (1.0 + 1e-12);
    (1..).map_while(|blocks| Some((blocks, least_sign_flip_p(blocks)?))).find(|(_, p)| reaches(*p)).map(|found| found.0)
}

/// For each candidate the two-sided p value of "no candidate differs from the baseline", which
/// holds for all of them together (after Dunnett 1955, with signs in place of a distribution).
///
/// `log_ratios` holds one series for each candidate, over the same blocks. The signs of a whole
/// block are flipped together, because all its ratios share one baseline trial: what that trial's
/// luck did to all of them must not count as evidence several times. `None` without a block.
pub fn max_t(log_ratios: &[Vec<f64>], seed: u64) -> Option<Vec<f64>> {
    let blocks = log_ratios.first().map_or(0, Vec::len);
    assert!(log_ratios.iter().all(|series| series.len() == blocks), "candidates are compared over the same blocks");
    if blocks == 0 {
        return None;
    }
    let scaled: Vec<Vec<f64>> = log_ratios.iter().map(|series| scaled(series)).collect();
    let observed: Vec<f64> = scaled.iter().map(|series| series.iter().sum::<f64>().abs()).collect();
    let mut as_extreme = vec![0usize; scaled.len()];
    let mut count = |signs: &[f64]| {
        let most = scaled.iter().map(|series| signed_sum(series, signs).abs()).fold(0.0, f64::max);
        // The same sum in another order of signs differs by rounding; that must not break a tie.
        let reached = observed.iter().map(|observed| most >= observed - 1e-12);
        as_extreme.iter_mut().zip(reached).for_each(|(count, reached)| *count += usize::from(reached));
    };
    let tried = for_all_signs(blocks, seed, &mut count);
    Some(as_extreme.into_iter().map(|count| count as f64 / tried as f64).collect())
}

/// Divided by the root of the sum of squares, which no flip changes: the sum then grows with t.
fn scaled(series: &[f64]) -> Vec<f64> {
    let size = series.iter().map(|value| value * value).sum::<f64>().sqrt();
    series.iter().map(|value| if size > 0.0 { value / size } else { 0.0 }).collect()
}

fn signed_sum(series: &[f64], signs: &[f64]) -> f64 {
    series.iter().zip(signs).map(|(value, sign)| value * sign).sum()
}

/// Shows `each` all sign vectors, or the observed one and many drawn ones; returns how many.
fn for_all_signs(blocks: usize, seed: u64, each: &mut impl FnMut(&[f64])) -> usize {
    let mut signs = vec![1.0; blocks];
    if blocks <= ALL_SIGNS_UP_TO {
        for pattern in 0u32..1 << blocks {
            signs.iter_mut().enumerate().for_each(|(block, sign)| *sign = sign_of(pattern >> block));
            each(&signs);
        }
        return 1 << blocks;
    }
    each(&signs);
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    for _ in 0..DRAWS {
        signs.iter_mut().for_each(|sign| *sign = sign_of(random.next_u32()));
        each(&signs);
    }
    DRAWS + 1
}

fn sign_of(bits: u32) -> f64 {
    if bits & 1 == 1 { 1.0 } else { -1.0 }
}

/// Each side at the point where it is best.
#[derive(Debug, Clone, PartialEq)]
pub struct PeakComparison {
    /// Candidate over baseline, block by block.
    pub log_ratios: Vec<f64>,
    /// Index of the best point of baseline and candidate, as the odd blocks (the first, the third …) show it.
    pub best_in_odd: (usize, usize),
    /// As the even blocks show it.
    pub best_in_even: (usize, usize),
}

/// Compares the best point of one side with the best of the other.
///
/// `baseline[point][block]` and `candidate[point][block]` are logarithms of throughput. The best of
/// several noisy points looks better than it is. So the odd blocks choose the points at which the
/// even ones are compared, and the other way round: no block is used to judge a point that it has chosen.
/// `None` below two blocks, or where there is no point.
pub fn peak_against_peak(baseline: &[Vec<f64>], candidate: &[Vec<f64>]) -> Option<PeakComparison> {
    let blocks = baseline.first()?.len();
    assert!(baseline.iter().chain(candidate).all(|point| point.len() == blocks), "every point has every block");
    if blocks < 2 || candidate.is_empty() {
        return None;
    }
    let best = |of: usize| (best_point(baseline, of), best_point(candidate, of));
    let best_in = [best(0), best(1)];
    let compared = |block: usize| {
        let (ours, theirs) = best_in[(block + 1) % 2];
        candidate[theirs][block] - baseline[ours][block]
    };
    Some(PeakComparison {
        log_ratios: (0..blocks).map(compared).collect(),
        best_in_odd: best_in[0],
        best_in_even: best_in[1],
    })
}

/// The point with the highest mean over every second block; the first of equals.
fn best_point(points: &[Vec<f64>], from: usize) -> usize {
    let score = |point: &[f64]| point.iter().skip(from).step_by(2).sum::<f64>();
    let scores: Vec<f64> = points.iter().map(|point| score(point)).collect();
    (0..points.len()).rev().max_by(|a, b| scores[*a].total_cmp(&scores[*b])).expect("there is a point")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::mean;
    use crate::power::sign_flip_p;
    use crate::random::Normals;

    #[test]
    fn a_long_list_needs_more_blocks_before_one_alone_can_be_named() {
        // 86 operations and three candidates: 5 % / 258 is less than 2^-12.
        assert_eq!(
            [1, 20, 86, 258].map(|tests| screening_blocks(tests, 0.05)),
            [Some(6), Some(10), Some(12), Some(14)]
        );
        let (alone, others) = (vec![0.01; 14], [0.5; 257]);
        let p = |series: &[f64]| crate::power::sign_flip_p(series, 1).unwrap();
        let named = |blocks: usize| screening(&[&[p(&alone[..blocks])], &others[..]].concat(), 0.05)[0];
        assert!(!named(8) && !named(13) && named(14));
        assert_eq!(screening_blocks(5000, 0.05), None);
    }

    #[test]
    fn screening_names_what_benjamini_and_hochberg_named() {
        // Benjamini & Hochberg (1995), section 4: fifteen p values, of which four stand at 5 %.
        let p_values = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
            0.7590, 1.0000,
        ];
        let named = |p_values: &[f64]| screening(p_values, 0.05).iter().filter(|named| **named).count();
        assert_eq!(named(&p_values), 4);
        let mut shuffled = p_values;
        shuffled.reverse();
        assert_eq!(screening(&shuffled, 0.05)[11..], [true; 4], "answers keep the order of the questions");
        assert_eq!((named(&[]), named(&[0.06, 0.2])), (0, 0));
        // A larger p is carried along by one that meets its own, higher bar.
        assert_eq!(screening(&[0.04, 0.045], 0.05), [true, true]);
    }

    #[test]
    fn a_single_candidate_has_the_plain_sign_flip_p() {
        let series = vec![0.03, -0.01, 0.04, 0.02, 0.01, 0.05, 0.02, -0.004, 0.03];
        let p = max_t(std::slice::from_ref(&series), 1).unwrap();
        assert!((p[0] - sign_flip_p(&series, 1).unwrap()).abs() < 1e-12);
        assert_eq!(max_t(&[vec![], vec![]], 1), None);
    }

    #[test]
    fn copies_of_a_candidate_cost_nothing_and_strangers_do() {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(2));
        let real: Vec<f64> = (0..10).map(|_| 0.02 + 0.02 * normals.draw()).collect();
        let alone = max_t(std::slice::from_ref(&real), 1).unwrap()[0];
        assert!((max_t(&[real.clone(), real.clone()], 1).unwrap()[1] - alone).abs() < 1e-12);
        let strangers: Vec<Vec<f64>> = (0..8).map(|_| (0..10).map(|_| 0.02 * normals.draw()).collect()).collect();
        let with_strangers = max_t(&[vec![real], strangers].concat(), 1).unwrap()[0];
        assert!(alone < with_strangers && with_strangers <= 9.0 * alone, "{alone} {with_strangers}");
    }

    #[test]
    fn one_unlucky_baseline_convicts_five_candidates_no_more_often_than_one() {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(4));
        let runs = 600;
        let alarms = (0..runs).filter(|_| {
            let baseline: Vec<f64> = (0..9).map(|_| normals.draw()).collect();
            let candidate = |normals: &mut Normals<_>| baseline.iter().map(|one| normals.draw() - one).collect();
            let candidates: Vec<Vec<f64>> = (0..5).map(|_| candidate(&mut normals)).collect();
            max_t(&candidates, 1).unwrap().iter().any(|p| *p <= 0.05)
        });
        let rate = alarms.count() as f64 / runs as f64;
        assert!((0.01..0.05 + 3.0 * (0.05f64 * 0.95 / runs as f64).sqrt()).contains(&rate), "{rate}");
    }

    #[test]
    fn the_peak_of_noise_is_no_gain() {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(6));
        let mut points = |count: usize| {
            (0..count).map(|_| (0..8).map(|_| 0.05 * normals.draw()).collect()).collect::<Vec<Vec<f64>>>()
        };
        // The candidate has sixteen equal points to be lucky at, the baseline one.
        let gains = (0..400).map(|_| {
            let (one, many) = (points(1), points(16));
            let naive = many.iter().map(|point| mean(point).unwrap()).fold(f64::NEG_INFINITY, f64::max);
            let peak = peak_against_peak(&one, &many).unwrap();
            (mean(&peak.log_ratios).unwrap(), naive - mean(&one[0]).unwrap())
        });
        let (honest, naive): (Vec<f64>, Vec<f64>) = gains.unzip();
        // The standard deviation of one comparison is 0.025, of the mean of 400 of them 0.00125.
        assert!(mean(&honest).unwrap().abs() < 0.005, "{:?}", mean(&honest));
        assert!(mean(&naive).unwrap() > 0.02, "choosing and judging by the same blocks sees a gain");
    }

    #[test]
    fn each_half_is_judged_at_the_points_of_the_other() {
        let baseline = vec![vec![1.0, 5.0, 1.0, 5.0], vec![2.0, 2.0, 2.0, 2.0]];
        let candidate = vec![vec![3.0; 4]];
        let peak = peak_against_peak(&baseline, &candidate).unwrap();
        assert_eq!((peak.best_in_odd, peak.best_in_even), ((1, 0), (0, 0)));
        assert_eq!(peak.log_ratios, [2.0, 1.0, 2.0, 1.0]);
        assert_eq!(peak_against_peak(&[vec![1.0]], &[vec![1.0]]), None);
    }
}
