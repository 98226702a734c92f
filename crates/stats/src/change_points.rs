//! Where a series takes a new level: E-divisive (Matteson and James, JASA 2014) with a permutation test.
//!
//! The energy distance with exponent 1 is what two parts differ by, so that neither a shape of the noise nor a number
//! of changes has to be supposed. Splits are found one at a time; each is tested against the same values in another
//! order within the levels that are known already.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Least values of a level: the distance within a part needs two.
pub const LEVEL_LEAST: usize = 2;

/// What a search for change points may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePointRules {
    /// Greatest p value of a change.
    pub p_max: f64,
    pub permutations: u32,
    pub seed: u64,
}

impl Default for ChangePointRules {
    fn default() -> ChangePointRules {
        ChangePointRules { p_max: 0.01, permutations: 999, seed: 1 }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level.
    pub at: usize,
    pub p: f64,
}

/// A split of a part, and how far it sets its sides apart.
#[derive(Debug, Clone, Copy)]
struct Split {
    at: usize,
    statistic: f64,
}

/// All changes of a series, in its order. Values have to be finite.
pub fn change_points(values: &[f64], rules: ChangePointRules) -> Vec<ChangePoint> {
    let mut random = ChaCha8Rng::seed_from_u64(rules.seed);
    let mut found: Vec<ChangePoint> = Vec::new();
    loop {
        let mut bounds: Vec<usize> = found.iter().map(|change| change.at).chain([0, values.len()]).collect();
        bounds.sort_unstable();
        let Some(best) = best_split(values, &bounds) else { break };
        let p = p_of(best.statistic, values, &bounds, rules.permutations, &mut random);
        if p > rules.p_max {
            break;
        }
        found.push(ChangePoint { at: best.at, p });
    }
    found.sort_unstable_by_key(|change| change.at);
    found
}

/// How often values in another order within their levels split as far apart, the order that came counted.
fn p_of(statistic: f64, values: &[f64], bounds: &[usize], permutations: u32, random: &mut ChaCha8Rng) -> f64 {
    let mut shuffled = values.to_vec();
    // Equal sums in another order differ in their last digits.
    let least = statistic * (1.0 - 1e-12);
    let as_far = (0..permutations).filter(|_| {
        bounds.windows(2).for_each(|ends| shuffled[ends[0]..ends[1]].shuffle(random));
        best_split(&shuffled, bounds).is_some_and(|split| split.statistic >= least)
    });
    (1 + as_far.count()) as f64 / f64::from(permutations + 1)
}

/// The best split of all parts.
fn best_split(values: &[f64], bounds: &[usize]) -> Option<Split> {
    let parts = bounds.windows(2).filter_map(|ends| {
        let split = best_of(&values[ends[0]..ends[1]])?;
        Some(Split { at: ends[0] + split.at, ..split })
    });
    parts.max_by(|one, other| one.statistic.total_cmp(&other.statistic))
}

/// The best split of a part's beginning: values behind a further change would hide the first one, so that what is
/// compared with the left side may end before the part does.
fn best_of(part: &[f64]) -> Option<Split> {
    // Sums of distances: within the first values, by how many they are, and within those from a place to `end`.
    let mut first = vec![0.0; part.len() + 1];
    let mut from = vec![0.0; part.len()];
    let mut best: Option<Split> = None;
    for (last, value) in part.iter().enumerate() {
        let end = last + 1;
        let mut to_all_behind = 0.0;
        for place in (0..last).rev() {
            to_all_behind += (value - part[place]).abs();
            from[place] += to_all_behind;
        }
        first[end] = from[0];
        for at in LEVEL_LEAST..(end + 1).saturating_sub(LEVEL_LEAST) {
            let within = [first[at], from[at]];
            let statistic = energy([at, end - at], within, from[0] - within[0] - within[1]);
            if best.is_none_or(|best| statistic > best.statistic) {
                best = Some(Split { at, statistic });
            }
        }
    }
    best
}

/// The scaled energy distance of two parts from the sums of distances within and between them.
fn energy(sizes: [usize; 2], within: [f64; 2], between: f64) -> f64 {
    let [m, n] = sizes.map(|size| size as f64);
    let mean_within = |size: f64, sum: f64| sum / (size * (size - 1.0) / 2.0);
    let distance = 2.0 * between / (m * n) - mean_within(m, within[0]) - mean_within(n, within[1]);
    m * n / (m + n) * distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Normals;

    fn noise(seed: u64, values: usize, sd: f64) -> Vec<f64> {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(seed));
        (0..values).map(|_| sd * normals.draw()).collect()
    }

    fn steps(seed: u64, levels: &[f64], each: usize, sd: f64) -> Vec<f64> {
        let flat = noise(seed, levels.len() * each, sd);
        flat.iter().enumerate().map(|(at, value)| levels[at / each] + value).collect()
    }

    fn places(values: &[f64]) -> Vec<usize> {
        change_points(values, ChangePointRules::default()).iter().map(|change| change.at).collect()
    }

    #[test]
    fn clean_steps_are_found_where_they_are() {
        for seed in 0..20 {
            assert_eq!(places(&steps(seed, &[0.0, -0.1], 12, 0.01)), [12], "seed {seed}");
            assert_eq!(places(&steps(seed, &[0.0, -0.1, -0.1, 0.05], 8, 0.01)), [8, 24], "seed {seed}");
            // Down and up again: neither side of one split differs much from the other.
            assert_eq!(places(&steps(seed, &[0.0, -0.1, 0.0], 13, 0.01)), [13, 26], "seed {seed}");
        }
    }

    #[test]
    fn flat_noise_has_a_change_as_rarely_as_the_p_value_says() {
        let false_ones = (0..300).filter(|seed| !places(&noise(*seed, 24, 1.0)).is_empty()).count();
        // 3 of 300 are expected; more than 9 come by chance once in 1,000 tries.
        assert!(false_ones <= 9, "{false_ones} of 300");
    }

    #[test]
    fn an_outlier_is_no_level() {
        let mut values = noise(3, 24, 0.01);
        values[11] += 1.0;
        assert_eq!(places(&values), [0; 0]);
    }

    #[test]
    fn what_is_too_short_or_constant_has_no_change() {
        assert_eq!(places(&[]), [0; 0]);
        assert_eq!(places(&[1.0, 2.0, 9.0]), [0; 0]);
        assert_eq!(places(&[1.0; 30]), [0; 0]);
    }

    #[test]
    fn the_statistic_is_that_of_the_paper() {
        // Parts {0, 1} and {4, 6}: between (4 + 6 + 3 + 5) = 18, within 1 and 2.
        let split = best_of(&[0.0, 1.0, 4.0, 6.0]).unwrap();
        assert_eq!(split.at, 2);
        assert!((split.statistic - (2.0 * 18.0 / 4.0 - 1.0 - 2.0)).abs() < 1e-12);
    }

    #[test]
    fn equal_seeds_give_equal_p_values() {
        let values = steps(5, &[0.0, 0.02], 10, 0.01);
        let found = change_points(&values, ChangePointRules::default());
        assert_eq!(found, change_points(&values, ChangePointRules::default()));
    }
}
