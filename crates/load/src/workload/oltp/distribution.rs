//! How ids are drawn, by sysbench's formulas.

use crate::rng::Rng;

/// A distribution over ids 1..=N. `Special` exists in two versions that differ in both ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    Gaussian,
    /// sysbench 1.0: a quarter of the draws Gaussian, the rest in the middle 1 %.
    Special,
    /// sysbench 0.4: integers throughout; three quarters of the draws evenly in the middle 1 %.
    SpecialClassic,
    /// 80 % of the draws in the first 20 % of the ids.
    Pareto,
}

/// Draws whose mean makes one Gaussian value.
const ITERATIONS: u64 = 12;
/// Width of the middle that `special` prefers, in percent.
const SPECIAL_PERCENT: u64 = 1;
/// Percentage of draws that go there.
const SPECIAL_RESERVED: u64 = 75;
/// ln h / ln(1 - h) for h = 0.2.
const PARETO_POWER: f64 = 7.212_567_439_447_879;

impl Distribution {
    /// An id from 1 to `rows`.
    pub fn draw(self, rng: &mut Rng, rows: u64) -> u64 {
        match self {
            Distribution::Uniform => 1 + rng.below(rows),
            Distribution::Gaussian => 1 + mean_of_draws(rng, rows as f64),
            Distribution::Special => special(rng, rows),
            Distribution::SpecialClassic => special_classic(rng, rows),
            Distribution::Pareto => 1 + (rows as f64 * rng.unit().powf(PARETO_POWER)) as u64,
        }
    }
}

fn mean_of_draws(rng: &mut Rng, span: f64) -> u64 {
    let sum: f64 = (0..ITERATIONS).map(|_| rng.unit() * span).sum();
    (sum / ITERATIONS as f64) as u64
}

/// The draw that decides between the two cases is used again in the second, as the original does;
/// so only the upper three quarters of the middle are reached.
fn special(rng: &mut Rng, rows: u64) -> u64 {
    let span = (rows - 1) as f64;
    let unit = rng.unit();
    if unit < (100 - SPECIAL_RESERVED) as f64 / 100.0 {
        return 1 + mean_of_draws(rng, span);
    }
    let width = span * SPECIAL_PERCENT as f64 / 100.0;
    1 + (unit * (width + 1.0) + span / 2.0 - span * SPECIAL_PERCENT as f64 / 200.0) as u64
}

fn special_classic(rng: &mut Rng, rows: u64) -> u64 {
    let value = 1 + rng.below(rows * (100 / (100 - SPECIAL_RESERVED)));
    if value <= rows {
        return (0..ITERATIONS).map(|_| 1 + rng.below(rows)).sum::<u64>() / ITERATIONS;
    }
    let width = (rows * SPECIAL_PERCENT / 100).max(1);
    (value % width + rows / 2 - rows * SPECIAL_PERCENT / 200).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: u64 = 10_000;
    const DRAWS: usize = 20_000;

    fn draws(distribution: Distribution) -> Vec<f64> {
        let mut rng = Rng::stream(42, 0, 0);
        let ids: Vec<u64> = (0..DRAWS).map(|_| distribution.draw(&mut rng, ROWS)).collect();
        assert!(ids.iter().all(|id| (1..=ROWS).contains(id)), "all ids lie in the table");
        ids.iter().map(|id| *id as f64).collect()
    }

    fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt())
    }

    fn share(values: &[f64], from: f64, to: f64) -> f64 {
        values.iter().filter(|value| (from..=to).contains(value)).count() as f64 / values.len() as f64
    }

    fn close(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value} is not {expected} +- {tolerance}");
    }

    // Expected values: sysbench's measured conformance figures for N = 10,000 and 20,000 draws.
    #[test]
    fn uniform_draws_have_the_expected_mean_and_deviation() {
        let (mean, deviation) = mean_and_deviation(&draws(Distribution::Uniform));
        close(mean, 5000.5, 60.0);
        close(deviation, 2887.0, 30.0);
    }

    #[test]
    fn gaussian_draws_have_the_expected_deviation() {
        close(mean_and_deviation(&draws(Distribution::Gaussian)).1, 833.0, 15.0);
    }

    #[test]
    fn special_draws_crowd_in_the_middle() {
        let values = draws(Distribution::Special);
        close(share(&values, 4975.0, 5051.0), 0.759, 0.01);
        close(mean_and_deviation(&values).1, 417.0, 10.0);
    }

    #[test]
    fn classic_special_draws_crowd_in_the_middle() {
        close(share(&draws(Distribution::SpecialClassic), 4950.0, 5049.0), 0.76, 0.012);
    }

    #[test]
    fn pareto_draws_crowd_at_the_beginning() {
        let values = draws(Distribution::Pareto);
        close(share(&values, 1.0, 2000.0), 0.80, 0.01);
        close(share(&values, 1.0, 1.0), 0.279, 0.012);
        close(mean_and_deviation(&values).0, 1218.0, 50.0);
    }

    #[test]
    fn a_table_of_one_row_has_one_id() {
        let mut rng = Rng::stream(1, 0, 0);
        for distribution in
            [Distribution::Uniform, Distribution::Special, Distribution::SpecialClassic, Distribution::Pareto]
        {
            assert_eq!(distribution.draw(&mut rng, 1), 1, "{distribution:?}");
        }
    }
}
