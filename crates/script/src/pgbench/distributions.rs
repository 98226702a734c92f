//! The distributions of pgbench's random functions as its manual gives them, to hold draws against.

use load::Rng;

use crate::random;

/// How a function of draws spreads its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    Uniform,
    Exponential(f64),
    Gaussian(f64),
    Zipfian(f64),
}

/// A function with its arguments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Distribution {
    pub low: i64,
    pub high: i64,
    pub shape: Shape,
}

/// Cells that a wide range is cut into.
const CELLS_MAX: u64 = 100;

const fn of(low: i64, high: i64, shape: Shape) -> Distribution {
    Distribution { low, high, shape }
}

/// Eight sets of arguments for each function, edges among them.
pub const DISTRIBUTIONS: &[Distribution] = &[
    of(1, 10, Shape::Uniform),
    of(1, 2, Shape::Uniform),
    of(7, 7, Shape::Uniform),
    of(-5, 5, Shape::Uniform),
    of(0, 99_999, Shape::Uniform),
    of(-5_000, 5_000, Shape::Uniform),
    of(1, i64::MAX - 1, Shape::Uniform),
    of(i64::MIN, -2, Shape::Uniform),
    of(1, 10, Shape::Exponential(3.0)),
    of(1, 10, Shape::Exponential(0.001)),
    of(1, 10, Shape::Exponential(50.0)),
    of(-10, -1, Shape::Exponential(1.0)),
    of(7, 7, Shape::Exponential(5.0)),
    of(1, 2, Shape::Exponential(0.5)),
    of(1, 100_000, Shape::Exponential(5.0)),
    of(0, 1 << 60, Shape::Exponential(2.0)),
    of(1, 10, Shape::Gaussian(2.5)),
    of(1, 10, Shape::Gaussian(2.0)),
    of(1, 10, Shape::Gaussian(10.0)),
    of(-11, -1, Shape::Gaussian(4.0)),
    of(7, 7, Shape::Gaussian(2.0)),
    of(1, 2, Shape::Gaussian(3.0)),
    of(1, 100_000, Shape::Gaussian(5.0)),
    of(0, 1 << 60, Shape::Gaussian(3.0)),
    of(1, 10, Shape::Zipfian(1.5)),
    of(1, 10, Shape::Zipfian(1.001)),
    of(1, 10, Shape::Zipfian(1000.0)),
    of(-10, -1, Shape::Zipfian(2.0)),
    of(7, 7, Shape::Zipfian(1.1)),
    of(1, 2, Shape::Zipfian(1.2)),
    of(1, 100_000, Shape::Zipfian(1.07)),
    of(0, 999, Shape::Zipfian(3.0)),
];

impl Distribution {
    /// As it stands in a script.
    pub fn call(&self) -> String {
        let Distribution { low, high, .. } = self;
        match self.shape {
            Shape::Uniform => format!("random({low}, {high})"),
            Shape::Exponential(parameter) => format!("random_exponential({low}, {high}, {parameter:?})"),
            Shape::Gaussian(parameter) => format!("random_gaussian({low}, {high}, {parameter:?})"),
            Shape::Zipfian(parameter) => format!("random_zipfian({low}, {high}, {parameter:?})"),
        }
    }

    /// One value, as our language draws it.
    pub fn draw(&self, rng: &mut Rng) -> i64 {
        let Distribution { low, high, shape } = *self;
        match shape {
            Shape::Uniform => random::uniform(rng, low, high),
            Shape::Exponential(parameter) => random::exponential(rng, low, high, parameter),
            Shape::Gaussian(width) => random::gaussian(rng, low, high, width),
            Shape::Zipfian(exponent) => random::zipfian(rng, low, high, exponent),
        }
    }

    fn size(&self) -> u64 {
        self.high.wrapping_sub(self.low) as u64 + 1
    }

    fn cells(&self) -> u64 {
        self.size().min(CELLS_MAX)
    }

    /// The cell of a value; None outside of the range.
    pub fn cell(&self, value: i64) -> Option<usize> {
        let offset = u128::from(value.wrapping_sub(self.low) as u64);
        let is_in = (self.low..=self.high).contains(&value);
        is_in.then(|| (offset * u128::from(self.cells()) / u128::from(self.size())) as usize)
    }

    /// The probability of each cell.
    pub fn shares(&self) -> Vec<f64> {
        let (size, cells) = (self.size(), self.cells());
        // Cell c begins with the first offset whose product with the number of cells reaches c times the size.
        let edge = |cell: u64| (u128::from(cell) * u128::from(size)).div_ceil(u128::from(cells)) as f64;
        if let Shape::Zipfian(exponent) = self.shape {
            let weight =
                |cell: u64| (edge(cell) as u64 + 1..=edge(cell + 1) as u64).map(|k| (k as f64).powf(-exponent));
            let weights: Vec<f64> = (0..cells).map(|cell| weight(cell).sum()).collect();
            let total: f64 = weights.iter().sum();
            return weights.into_iter().map(|weight| weight / total).collect();
        }
        let up_to = |cell: u64| self.cumulative(edge(cell) / size as f64);
        (0..cells).map(|cell| up_to(cell + 1) - up_to(cell)).collect()
    }

    /// The probability of this share of the range, from its low end.
    fn cumulative(&self, share: f64) -> f64 {
        match self.shape {
            Shape::Exponential(parameter) => (-parameter * share).exp_m1() / (-parameter).exp_m1(),
            Shape::Gaussian(width) => (normal(width * (2.0 * share - 1.0)) + normal(width)) / (2.0 * normal(width)),
            Shape::Uniform | Shape::Zipfian(_) => share,
        }
    }
}

/// The normal distribution between 0 and `x` (Marsaglia, "Evaluating the Normal Distribution", 2004).
fn normal(x: f64) -> f64 {
    let (mut sum, mut term, mut odd) = (x, x, 1.0);
    while term.abs() > 1e-17 * sum.abs() {
        odd += 2.0;
        term *= x * x / odd;
        sum += term;
    }
    sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_manual() {
        let check = |at: usize, expected: &[f64]| {
            let shares = DISTRIBUTIONS[at].shares();
            expected.iter().zip(&shares).for_each(|(wanted, share)| assert!((wanted - share * 100.0).abs() < 0.06));
            assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        };
        check(8, &[27.28, 20.21, 14.97]);
        check(16, &[1.67, 4.46, 9.30, 15.18, 19.39]);
        check(24, &[50.12, 17.72, 9.65]);
    }

    /// 200,000 draws each; with the fixed seed no probability is below one in a thousand.
    #[test]
    fn draws_follow_the_shares() {
        for (at, one) in DISTRIBUTIONS.iter().enumerate() {
            let mut rng = Rng::stream(20, at as u64, 1);
            let mut counts = vec![0; one.shares().len()];
            for _ in 0..200_000 {
                let value = one.draw(&mut rng);
                counts[one.cell(value).unwrap_or_else(|| panic!("{} gave {value}", one.call()))] += 1;
            }
            let p = stats::chi_square_p(&counts, &one.shares());
            assert!(p > 0.001, "{}: p = {p}, {counts:?}", one.call());
        }
    }
}
