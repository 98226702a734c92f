//! How ids and keys are drawn, by sysbench's formulas.
//!
//! Where two versions of sysbench give one name to different formulas there are two distributions.
//! A distribution draws from any interval, because some statements draw from a client's own slice
//! of the keys. What must stay true: no draw leaves the interval, and `tests.rs` beside this file
//! holds every formula to its exact probabilities.

use crate::rng::Rng;

/// A distribution over the integers of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    Uniform,
    /// The mean of several uniform draws.
    Gaussian {
        iterations: u64,
    },
    /// 0.4: the same over integers.
    GaussianClassic {
        iterations: u64,
    },
    /// 1.0: some draws Gaussian, the rest in the middle.
    Special(Special),
    /// 0.4: the same over integers, evenly in the middle.
    SpecialClassic(Special),
    /// A share `h` of the ids, the first ones, takes a share 1 - `h` of the draws.
    Pareto {
        power: f64,
    },
    /// The m-th id is drawn in proportion to m^-exponent.
    Zipfian {
        exponent: f64,
    },
}

/// What `special` prefers, and how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Special {
    /// Draws whose mean makes one Gaussian value.
    pub iterations: u64,
    /// Width of the middle, in percent of all ids.
    pub percent: u64,
    /// Percentage of draws that go there.
    pub reserved: u64,
}

impl Default for Special {
    fn default() -> Special {
        Special { iterations: 12, percent: 1, reserved: 75 }
    }
}

impl Distribution {
    pub fn pareto(h: f64) -> Distribution {
        Distribution::Pareto { power: h.ln() / (1.0 - h).ln() }
    }

    /// An id from 1 to `rows`.
    pub fn draw(self, rng: &mut Rng, rows: u64) -> u64 {
        self.draw_between(rng, 1, rows)
    }

    /// A number from `low` to `high`, which is not below `low`.
    pub fn draw_between(self, rng: &mut Rng, low: u64, high: u64) -> u64 {
        let count = high - low + 1;
        low + match self {
            Distribution::Uniform => rng.below(count),
            Distribution::Gaussian { iterations } => mean_of_draws(rng, iterations, count as f64),
            Distribution::GaussianClassic { iterations } => mean_of_integers(rng, iterations, count) - 1,
            Distribution::Special(special) => special.draw(rng, count),
            Distribution::SpecialClassic(special) => special.draw_classic(rng, count) - 1,
            Distribution::Pareto { power } => (count as f64 * rng.unit().powf(power)) as u64,
            Distribution::Zipfian { exponent } => Zipfian { exponent }.rank(rng, count as f64) - 1,
        }
    }
}

impl Default for Distribution {
    /// dbduel's own choice, and why: `special` sends three quarters of the draws to 1 % of the rows,
    /// so it measures how a server caches few rows and locks them, and every version of sysbench
    /// meant something else by it.
    fn default() -> Distribution {
        Distribution::Uniform
    }
}

fn mean_of_draws(rng: &mut Rng, iterations: u64, span: f64) -> u64 {
    let sum: f64 = (0..iterations).map(|_| rng.unit() * span).sum();
    (sum / iterations as f64) as u64
}

/// From 1 to `count`.
fn mean_of_integers(rng: &mut Rng, iterations: u64, count: u64) -> u64 {
    (0..iterations).map(|_| 1 + rng.below(count)).sum::<u64>() / iterations
}

impl Special {
    /// From 0 to `count - 1`. The draw that decides between the two cases is used again in the
    /// second, as the original does; so by default only the upper three quarters of the middle are
    /// reached.
    fn draw(self, rng: &mut Rng, count: u64) -> u64 {
        let span = (count - 1) as f64;
        let unit = rng.unit();
        if unit < (100 - self.reserved) as f64 / 100.0 {
            return mean_of_draws(rng, self.iterations, span);
        }
        let percent = self.percent as f64;
        (unit * (span * percent / 100.0 + 1.0) + span / 2.0 - span * percent / 200.0) as u64
    }

    /// From 1 to `count`. The share that goes to the middle is rounded to that of a whole number of
    /// tables beside the one that is drawn from: 60 % and 65 % both mean 50 %.
    fn draw_classic(self, rng: &mut Rng, count: u64) -> u64 {
        let value = 1 + rng.below(count * (100 / (100 - self.reserved)));
        if value <= count {
            return mean_of_integers(rng, self.iterations, count);
        }
        let width = (count * self.percent / 100).max(1);
        (value % width + count / 2 - count * self.percent / 200).max(1)
    }
}

/// Rejection-inversion (Hörmann and Derflinger 1996, "Rejection-inversion to generate variates from
/// monotone discrete distributions"): needs no table over the ranks and nearly always one draw.
#[derive(Debug, Clone, Copy)]
struct Zipfian {
    exponent: f64,
}

impl Zipfian {
    /// From 1 to `ranks`.
    fn rank(self, rng: &mut Rng, ranks: f64) -> u64 {
        let squeeze = 2.0 - self.inverse(self.integral(2.5) - self.density(2.0));
        let (from, to) = (self.integral(1.5) - 1.0, self.integral(ranks + 0.5));
        loop {
            let area = to + rng.unit() * (from - to);
            let x = self.inverse(area);
            let rank = (x + 0.5).trunc().clamp(1.0, ranks);
            if rank - x <= squeeze || area >= self.integral(rank + 0.5) - self.density(rank) {
                return rank as u64;
            }
        }
    }

    fn density(self, x: f64) -> f64 {
        x.powf(-self.exponent)
    }

    /// An integral of the density; which one does not matter, so it is 0 at 1.
    fn integral(self, x: f64) -> f64 {
        let power = 1.0 - self.exponent;
        // The general formula would be 0 / 0 at exponent 1.
        if power == 0.0 { x.ln() } else { (power * x.ln()).exp_m1() / power }
    }

    fn inverse(self, area: f64) -> f64 {
        let power = 1.0 - self.exponent;
        if power == 0.0 { area.exp() } else { ((power * area).ln_1p() / power).exp() }
    }
}

#[cfg(test)]
mod tests;
