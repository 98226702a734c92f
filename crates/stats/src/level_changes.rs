//! Where values in a given order take a new level, measured block by block: which of many releases changed it?
//!
//! Within a block the order of measuring was drawn, so that without a change the block's values could have come in any
//! order. The test puts them in another order within each block and each level that is known already: it is exact
//! whatever the noise, and drift between blocks has no part in it.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::{ChangePoint, ChangePointRules};

/// All changes along the places. Each block has one finite value for each place.
pub fn level_changes(blocks: &[Vec<f64>], rules: ChangePointRules) -> Vec<ChangePoint> {
    let places = blocks.first().map_or(0, Vec::len);
    assert!(blocks.iter().all(|block| block.len() == places), "each block has a value for each place");
    let mut random = ChaCha8Rng::seed_from_u64(rules.seed);
    let mut found: Vec<ChangePoint> = Vec::new();
    loop {
        let mut bounds: Vec<usize> = found.iter().map(|change| change.at).chain([0, places]).collect();
        bounds.sort_unstable();
        let Some((at, statistic)) = best_split(blocks, &bounds) else { break };
        let p = p_of(statistic, blocks, &bounds, rules.permutations, &mut random);
        if p > rules.p_max {
            break;
        }
        found.push(ChangePoint { at, p });
    }
    found.sort_unstable_by_key(|change| change.at);
    found
}

/// How often values in another order split as far apart, the order that came counted.
fn p_of(statistic: f64, blocks: &[Vec<f64>], bounds: &[usize], permutations: u32, random: &mut ChaCha8Rng) -> f64 {
    let mut shuffled = blocks.to_vec();
    // Equal sums in another order differ in their last digits.
    let least = statistic * (1.0 - 1e-12);
    let as_far = (0..permutations).filter(|_| {
        for block in &mut shuffled {
            bounds.windows(2).for_each(|ends| block[ends[0]..ends[1]].shuffle(random));
        }
        best_split(&shuffled, bounds).is_some_and(|(_, other)| other >= least)
    });
    (1 + as_far.count()) as f64 / f64::from(permutations + 1)
}

/// The best split of all parts, and how far it sets its sides apart. What is compared with the left side may end before
/// the part does: places behind a further change would hide the first one.
fn best_split(blocks: &[Vec<f64>], bounds: &[usize]) -> Option<(usize, f64)> {
    let mut sums = vec![0.0; blocks.first()?.len() + 1];
    for place in 0..sums.len() - 1 {
        sums[place + 1] = sums[place] + blocks.iter().map(|block| block[place]).sum::<f64>();
    }
    let mean = |from: usize, to: usize| (sums[to] - sums[from]) / (to - from) as f64;
    let mut best: Option<(usize, f64)> = None;
    for ends in bounds.windows(2) {
        for end in ends[0] + 2..=ends[1] {
            for at in ends[0] + 1..end {
                let (before, behind) = ((at - ends[0]) as f64, (end - at) as f64);
                let difference = mean(at, end) - mean(ends[0], at);
                let statistic = before * behind / (before + behind) * difference * difference;
                if best.is_none_or(|(_, least)| statistic > least) {
                    best = Some((at, statistic));
                }
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Normals;

    /// Levels in blocks that drift far more than the levels differ.
    fn blocks(seed: u64, levels: &[f64], count: usize, sd: f64) -> Vec<Vec<f64>> {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(seed));
        let block = |normals: &mut Normals<ChaCha8Rng>| {
            let drift = normals.draw();
            levels.iter().map(|level| drift + level + sd * normals.draw()).collect()
        };
        (0..count).map(|_| block(&mut normals)).collect()
    }

    fn places(blocks: &[Vec<f64>]) -> Vec<usize> {
        level_changes(blocks, ChangePointRules::default()).iter().map(|change| change.at).collect()
    }

    #[test]
    fn changes_are_found_where_they_are_whatever_the_drift() {
        // The last one is a loss that the next release undid.
        let kinds: [(&[f64], &[usize]); 3] = [
            (&[0.0, 0.0, 0.0, -0.1, -0.1], &[3]),
            (&[0.0, -0.1, -0.1, 0.05, 0.05, 0.05], &[1, 3]),
            (&[0.0, 0.0, -0.1, 0.0, 0.0, 0.0], &[2, 3]),
        ];
        for (levels, truth) in kinds {
            let found: Vec<Vec<usize>> = (0..20).map(|seed| places(&blocks(seed, levels, 8, 0.02))).collect();
            assert!(found.iter().all(|one| truth.iter().all(|at| one.contains(at))), "{truth:?}: {found:?}");
            // One in a hundred has one more, for each time that a further one is looked for.
            let more = found.iter().filter(|one| one.len() > truth.len()).count();
            assert!(more <= 2, "{truth:?}: {found:?}");
        }
    }

    #[test]
    fn flat_levels_show_a_change_as_seldom_as_promised() {
        const SERIES: u64 = 400;
        let rules = ChangePointRules { permutations: 199, ..ChangePointRules::default() };
        let shown = |seed: &u64| !level_changes(&blocks(*seed, &[0.0; 8], 10, 0.05), rules).is_empty();
        let false_ones = (0..SERIES).filter(shown).count();
        // One in a hundred: 4 are expected, more than 12 have a probability of 0.0002.
        assert!(false_ones <= 12, "{false_ones} of {SERIES}");
    }

    #[test]
    fn what_cannot_differ_has_no_change() {
        assert_eq!(level_changes(&[], ChangePointRules::default()), []);
        assert_eq!(places(&vec![vec![1.0]; 8]), [] as [usize; 0]);
        assert_eq!(places(&vec![vec![1.0; 5]; 8]), [] as [usize; 0]);
    }
}
