//! Every distribution against the probabilities that its formula gives.

use super::*;

const ROWS: u64 = 10_000;
const DRAWS: usize = 200_000;

const GAUSSIAN: Distribution = Distribution::Gaussian { iterations: 12 };
const GAUSSIAN_CLASSIC: Distribution = Distribution::GaussianClassic { iterations: 12 };
const USUAL: Special = Special { iterations: 12, percent: 1, reserved: 75 };

fn draws(distribution: Distribution, count: usize) -> Vec<u64> {
    let mut rng = Rng::stream(42, 0, 0);
    let ids: Vec<u64> = (0..count).map(|_| distribution.draw(&mut rng, ROWS)).collect();
    assert!(ids.iter().all(|id| (1..=ROWS).contains(id)), "all ids lie in the table");
    ids
}

/// Pearson's chi-square of many draws against `probability[id - 1]`; neighbouring ids are merged
/// until at least 20 draws are expected of each cell. Fails beyond the 0.01 % point.
fn check(distribution: Distribution, probability: &[f64]) {
    let total: f64 = probability.iter().sum();
    assert!((total - 1.0).abs() < 1e-6, "{distribution:?}: the probabilities sum up to {total}");
    let mut counts = vec![0.0; probability.len()];
    draws(distribution, DRAWS).into_iter().for_each(|id| counts[id as usize - 1] += 1.0);
    let (mut chi_square, mut cells, mut expected, mut seen) = (0.0, 0u32, 0.0, 0.0);
    for (share, count) in probability.iter().zip(&counts) {
        expected += share * DRAWS as f64;
        seen += count;
        if expected >= 20.0 {
            chi_square += (seen - expected) * (seen - expected) / expected;
            (cells, expected, seen) = (cells + 1, 0.0, 0.0);
        }
    }
    let freedom = f64::from(cells - 1);
    // Wilson and Hilferty: the cube root of chi-square over its degrees of freedom is nearly normal.
    let point = freedom * (1.0 - 2.0 / (9.0 * freedom) + 3.719 * (2.0 / (9.0 * freedom)).sqrt()).powi(3);
    assert!(cells > 50, "{distribution:?}: only {cells} cells");
    assert!(chi_square < point, "{distribution:?}: chi-square {chi_square:.1}, 0.01 % point {point:.1}");
}

/// Differences of a distribution function at 0, 1, .. `ROWS`.
fn differences(function: impl Fn(f64) -> f64) -> Vec<f64> {
    (0..ROWS).map(|id| function(id as f64 + 1.0) - function(id as f64)).collect()
}

/// P(sum of `n` uniform draws from [0, 1) <= x): Irwin and Hall. Symmetric, and accurate in the lower half.
fn sum_of_uniform(n: i32, x: f64) -> f64 {
    if x > f64::from(n) / 2.0 {
        return 1.0 - sum_of_uniform(n, f64::from(n) - x);
    }
    let mut term = 1.0;
    let mut sum = 0.0;
    for k in 0..=x.floor().max(0.0) as i32 {
        sum += term * (x - f64::from(k)).max(0.0).powi(n);
        term *= -f64::from(n - k) / f64::from(k + 1);
    }
    sum / (1..=n).map(f64::from).product::<f64>()
}

/// P(trunc(mean of 12 draws of U * span) = id - 1), for all ids.
fn gaussian(span: f64) -> Vec<f64> {
    differences(|x| sum_of_uniform(12, 12.0 * (x / span).min(1.0)))
}

/// P(integer mean of 12 draws from 1..=ROWS = id), by convolution.
fn gaussian_classic() -> Vec<f64> {
    let rows = ROWS as usize;
    let mut sums = vec![1.0];
    for _ in 0..12 {
        let mut prefix = vec![0.0];
        sums.iter().for_each(|share| prefix.push(prefix.last().unwrap() + share));
        let at = |index: usize| prefix[index.min(sums.len())];
        // sums[s] after one more draw, counted from 0: those that were s - rows + 1 ..= s before.
        let next = (0..sums.len() + rows - 1).map(|s| (at(s + 1) - at((s + 1).saturating_sub(rows))) / rows as f64);
        sums = next.collect();
    }
    let mut means = vec![0.0; rows];
    sums.iter().enumerate().for_each(|(sum, share)| means[(sum + 12) / 12 - 1] += share);
    means
}

fn special(Special { percent, reserved, .. }: Special) -> Vec<f64> {
    let span = (ROWS - 1) as f64;
    let background = (100 - reserved) as f64 / 100.0;
    let width = span * percent as f64 / 100.0 + 1.0;
    let begin = span / 2.0 - span * percent as f64 / 200.0;
    // The part of `unit` in [background, 1) whose value lies below x.
    let below = |x: f64| ((x - begin) / width).clamp(background, 1.0) - background;
    let middle = differences(below);
    gaussian(span).iter().zip(middle).map(|(gaussian, middle)| background * gaussian + middle).collect()
}

fn special_classic(Special { percent, reserved, .. }: Special) -> Vec<f64> {
    let all = ROWS * (100 / (100 - reserved));
    let width = (ROWS * percent / 100).max(1);
    let mut shares: Vec<f64> = gaussian_classic().iter().map(|share| share * ROWS as f64 / all as f64).collect();
    for value in ROWS + 1..=all {
        let id = (value % width + ROWS / 2 - ROWS * percent / 200).max(1);
        shares[id as usize - 1] += 1.0 / all as f64;
    }
    shares
}

fn zipfian(exponent: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=ROWS).map(|rank| (rank as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

#[test]
fn uniform_draws_pass_the_chi_square_test() {
    check(Distribution::Uniform, &vec![1.0 / ROWS as f64; ROWS as usize]);
}

#[test]
fn gaussian_draws_pass_the_chi_square_test() {
    check(GAUSSIAN, &gaussian(ROWS as f64));
    check(GAUSSIAN_CLASSIC, &gaussian_classic());
}

#[test]
fn special_draws_pass_the_chi_square_test() {
    for parameters in
        [USUAL, Special { percent: 20, reserved: 50, ..USUAL }, Special { reserved: 100, percent: 10, ..USUAL }]
    {
        check(Distribution::Special(parameters), &special(parameters));
    }
}

#[test]
fn classic_special_draws_pass_the_chi_square_test() {
    for parameters in [USUAL, Special { percent: 20, reserved: 60, ..USUAL }] {
        check(Distribution::SpecialClassic(parameters), &special_classic(parameters));
    }
}

#[test]
fn pareto_draws_pass_the_chi_square_test() {
    for h in [0.2_f64, 0.3] {
        let power = h.ln() / (1.0 - h).ln();
        check(Distribution::pareto(h), &differences(|x| (x / ROWS as f64).powf(1.0 / power)));
    }
}

#[test]
fn zipfian_draws_pass_the_chi_square_test() {
    for exponent in [0.5, 0.8, 1.0, 1.5] {
        check(Distribution::Zipfian { exponent }, &zipfian(exponent));
    }
}

#[test]
#[should_panic(expected = "chi-square")]
fn the_chi_square_test_finds_a_wrong_distribution() {
    check(Distribution::Zipfian { exponent: 0.83 }, &zipfian(0.8));
}

fn mean_and_deviation(values: &[u64]) -> (f64, f64) {
    let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
    let variance = values.iter().map(|value| (*value as f64 - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

fn share(values: &[u64], ids: std::ops::RangeInclusive<u64>) -> f64 {
    values.iter().filter(|value| ids.contains(value)).count() as f64 / values.len() as f64
}

fn close(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value} is not {expected} +- {tolerance}");
}

/// Figures measured with sysbench itself: N = 10,000 and 20,000 draws.
#[test]
fn draws_agree_with_what_was_measured_of_sysbench() {
    let few = |distribution| draws(distribution, 20_000);
    let (mean, deviation) = mean_and_deviation(&few(Distribution::Uniform));
    close(mean, 5000.5, 60.0);
    close(deviation, 2887.0, 30.0);
    close(mean_and_deviation(&few(GAUSSIAN)).1, 833.0, 15.0);
    let special = few(Distribution::Special(USUAL));
    close(share(&special, 4975..=5051), 0.759, 0.01);
    close(mean_and_deviation(&special).1, 417.0, 10.0);
    close(share(&few(Distribution::SpecialClassic(USUAL)), 4950..=5049), 0.76, 0.012);
    let pareto = few(Distribution::pareto(0.2));
    close(share(&pareto, 1..=2000), 0.80, 0.01);
    close(share(&pareto, 1..=1), 0.279, 0.012);
    close(mean_and_deviation(&pareto).0, 1218.0, 50.0);
}

#[test]
fn every_distribution_stays_inside_every_interval() {
    let widest = Special { iterations: 1, percent: 100, reserved: 100 };
    let narrow = Special { iterations: 1, percent: 0, reserved: 0 };
    let all = [
        Distribution::Uniform,
        GAUSSIAN,
        GAUSSIAN_CLASSIC,
        Distribution::Special(USUAL),
        Distribution::Special(widest),
        Distribution::Special(narrow),
        Distribution::SpecialClassic(USUAL),
        Distribution::SpecialClassic(Special { reserved: 99, percent: 100, iterations: 1 }),
        Distribution::SpecialClassic(narrow),
        Distribution::pareto(0.01),
        Distribution::pareto(0.99),
        Distribution::Zipfian { exponent: 0.0 },
        Distribution::Zipfian { exponent: 5.0 },
    ];
    let mut rng = Rng::stream(1, 0, 0);
    for distribution in all {
        for (low, high) in [(1, 1), (1, 2), (0, 3), (7, 7), (0, 10_000), (1, i32::MAX as u64)] {
            let inside = (0..500).all(|_| (low..=high).contains(&distribution.draw_between(&mut rng, low, high)));
            assert!(inside, "{distribution:?} leaves {low}..={high}");
        }
    }
}
