//! The universal scalability law: how throughput grows with cores or clients, and where it stops.
//!
//! X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1)), after Gunther. sigma is what N users
//! queue for, kappa the cost of coordinating them. The law is a claim about the measured values, so it
//! is refused where they are too few to hold it or do not follow it: a curve always comes out of a
//! fit, and a peak drawn from a curve that does not fit is worse than none.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::describe::{Interval, mean, sd, t_quantile};

/// Fewer values of N than this leave next to nothing to contradict three parameters.
pub const VALUES_MIN: usize = 6;
/// Measured values that have to lie beyond the knee.
pub const BEYOND_KNEE_MIN: usize = 2;
/// Blocks below which their spread means nothing.
pub const BLOCKS_MIN: usize = 3;
/// A measured curve that chance would bend this rarely does not follow the law.
const MISFIT_P: f64 = 0.01;
/// A misfit smaller than this is real and does not matter to a reader of the curve.
const MISFIT_MIN: f64 = 0.01;
/// How often whole blocks are drawn again for the intervals.
const RESAMPLES: usize = 400;
const STEPS_MAX: usize = 200;

/// The law with its three parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Usl {
    /// Throughput of one.
    pub lambda: f64,
    /// Share that is done one after the other.
    pub sigma: f64,
    /// What each pair costs.
    pub kappa: f64,
}

impl Usl {
    pub fn throughput(&self, n: f64) -> f64 {
        self.lambda * n / self.divisor(n)
    }

    /// Where throughput is highest; none where it grows for ever.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }

    fn divisor(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }
}

/// A law that fits, with 95 % intervals over blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct UslFit {
    pub law: Usl,
    pub lambda: Interval,
    pub sigma: Interval,
    pub kappa: Interval,
    /// Absent where kappa may be nothing, or the peak would lie beyond twice the largest N.
    pub peak: Option<f64>,
    pub blocks: usize,
    /// The law of blocks drawn again; with one seed and as many blocks, of the same ones in every fit.
    resampled: Vec<Usl>,
}

impl UslFit {
    /// A parameter over that of another law, fitted to the same blocks with the same seed. `None` where one
    /// of them may be zero: a ratio to zero means nothing.
    pub fn ratio_to(&self, other: &UslFit, parameter: fn(&Usl) -> f64) -> Option<(f64, Interval)> {
        assert_eq!(self.blocks, other.blocks, "blocks must pair up");
        let log_ratio = |ours: &Usl, theirs: &Usl| {
            let (ours, theirs) = (parameter(ours), parameter(theirs));
            (ours > 0.0 && theirs > 0.0).then(|| (ours / theirs).ln())
        };
        let log = log_ratio(&self.law, &other.law)?;
        let drawn = self.resampled.iter().zip(&other.resampled).map(|(ours, theirs)| log_ratio(ours, theirs));
        let half = half_width(&drawn.collect::<Option<Vec<f64>>>()?, self.blocks);
        Some((log.exp(), Interval { low: (log - half).exp(), high: (log + half).exp() }))
    }
}

/// Why there is no law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum UslRefusal {
    TooFewValues {
        have: usize,
    },
    /// Nothing was measured with one.
    NoSingle,
    TooFewBlocks {
        have: usize,
    },
    /// The curve has not bent yet: the law cannot predict where it will.
    TooFewBeyondKnee {
        have: usize,
    },
    /// The values do not follow the law; the largest relative distance, and where.
    DoesNotFit {
        n: f64,
        off: f64,
    },
}

/// Fits the law to throughput measured at each of `ns`; `blocks` holds one row of values per block.
pub fn fit_usl(ns: &[f64], blocks: &[Vec<f64>], seed: u64) -> Result<UslFit, UslRefusal> {
    assert!(blocks.iter().all(|row| row.len() == ns.len()), "every block has a value for every N");
    refuse_too_little(ns, blocks)?;
    let logs: Vec<Vec<f64>> = blocks.iter().map(|row| row.iter().map(|value| value.ln()).collect()).collect();
    let means = column_means(&logs);
    refuse_straight(ns, &means)?;
    let law = fit(ns, &means);
    refuse_misfit(ns, &logs, &law)?;
    let resampled = resample(ns, &logs, seed);
    let interval = |value: f64, of: fn(&Usl) -> f64| {
        let values: Vec<f64> = resampled.iter().map(of).collect();
        let half = half_width(&values, blocks.len());
        Interval { low: (value - half).max(0.0), high: value + half }
    };
    let kappa = interval(law.kappa, |law| law.kappa);
    let largest = ns.iter().copied().fold(0.0, f64::max);
    Ok(UslFit {
        lambda: interval(law.lambda, |law| law.lambda),
        sigma: interval(law.sigma, |law| law.sigma),
        peak: law.peak().filter(|peak| kappa.low > 0.0 && *peak <= 2.0 * largest),
        kappa,
        law,
        blocks: blocks.len(),
        resampled,
    })
}

/// Half of the 95 % interval of what was drawn again. Percentiles of so few blocks are too short (method,
/// section 5: 80 to 84 % in place of 95 %).
fn half_width(drawn: &[f64], blocks: usize) -> f64 {
    let n = blocks as f64;
    t_quantile(blocks - 1, 0.975) * sd(drawn).unwrap_or(0.0) * (n / (n - 1.0)).sqrt()
}

fn refuse_too_little(ns: &[f64], blocks: &[Vec<f64>]) -> Result<(), UslRefusal> {
    if ns.len() < VALUES_MIN {
        return Err(UslRefusal::TooFewValues { have: ns.len() });
    }
    if !ns.contains(&1.0) {
        return Err(UslRefusal::NoSingle);
    }
    if blocks.len() < BLOCKS_MIN {
        return Err(UslRefusal::TooFewBlocks { have: blocks.len() });
    }
    Ok(())
}

/// The knee is where the line of the single one would reach the highest throughput that was seen.
fn refuse_straight(ns: &[f64], log_means: &[f64]) -> Result<(), UslRefusal> {
    let single = ns.iter().position(|n| *n == 1.0).map_or(0.0, |at| log_means[at]);
    let highest = log_means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let knee = (highest - single).exp();
    let have = ns.iter().filter(|n| **n > knee).count();
    if have < BEYOND_KNEE_MIN { Err(UslRefusal::TooFewBeyondKnee { have }) } else { Ok(()) }
}

/// Are the distances from the curve larger than the spread between blocks makes them?
fn refuse_misfit(ns: &[f64], logs: &[Vec<f64>], law: &Usl) -> Result<(), UslRefusal> {
    let (values, blocks) = (ns.len() as f64, logs.len() as f64);
    let off: Vec<f64> = column_means(logs).iter().zip(ns).map(|(log, n)| log - law.throughput(*n).ln()).collect();
    let between = blocks * off.iter().map(|off| off * off).sum::<f64>() / (values - 3.0);
    // What a block as a whole had too much or too little does not affect the curve.
    let means = column_means(logs);
    let within: f64 = logs
        .iter()
        .map(|row| {
            let apart: Vec<f64> = row.iter().zip(&means).map(|(log, mean)| log - mean).collect();
            let whole = mean(&apart).unwrap_or(0.0);
            apart.iter().map(|one| (one - whole).powi(2)).sum::<f64>()
        })
        .sum();
    let freedom = (blocks - 1.0) * (values - 1.0);
    let worst = off.iter().zip(ns).max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
    let (worst, at) = worst.map_or((0.0, 0.0), |(off, n)| (*off, *n));
    let f = between / (within / freedom).max(f64::MIN_POSITIVE);
    let bound = FisherSnedecor::new(values - 3.0, freedom)
        .expect("four values and three blocks leave degrees of freedom")
        .inverse_cdf(1.0 - MISFIT_P);
    if f > bound && worst.abs() > MISFIT_MIN {
        return Err(UslRefusal::DoesNotFit { n: at, off: worst.exp() - 1.0 });
    }
    Ok(())
}

fn resample(ns: &[f64], logs: &[Vec<f64>], seed: u64) -> Vec<Usl> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let draw = |random: &mut ChaCha8Rng| -> Vec<Vec<f64>> {
        (0..logs.len()).map(|_| logs[random.random_range(0..logs.len())].clone()).collect()
    };
    (0..RESAMPLES).map(|_| fit(ns, &column_means(&draw(&mut random)))).collect()
}

fn column_means(rows: &[Vec<f64>]) -> Vec<f64> {
    let columns = rows.first().map_or(0, Vec::len);
    (0..columns).map(|at| rows.iter().map(|row| row[at]).sum::<f64>() / rows.len() as f64).collect()
}

/// Least squares of the logarithms: Levenberg and Marquardt's steps, kept where sigma and kappa are
/// not negative.
fn fit(ns: &[f64], logs: &[f64]) -> Usl {
    let mut law = best_lambda(Usl { lambda: 1.0, sigma: 0.05, kappa: 1e-4 }, ns, logs);
    let (mut error, mut damping) = (squares(&law, ns, logs), 1e-3);
    for _ in 0..STEPS_MAX {
        let next = best_lambda(step(&law, ns, logs, damping), ns, logs);
        let next_error = squares(&next, ns, logs);
        if next_error > error {
            damping *= 4.0;
            if damping > 1e12 {
                break;
            }
            continue;
        }
        let gained = error - next_error;
        (law, error, damping) = (next, next_error, damping / 3.0);
        if gained <= 1e-14 * error {
            break;
        }
    }
    law
}

/// Given sigma and kappa, the best lambda has a formula.
fn best_lambda(law: Usl, ns: &[f64], logs: &[f64]) -> Usl {
    let unit = Usl { lambda: 1.0, ..law };
    let apart: Vec<f64> = ns.iter().zip(logs).map(|(n, log)| log - unit.throughput(*n).ln()).collect();
    Usl { lambda: mean(&apart).map_or(1.0, f64::exp), ..law }
}

fn squares(law: &Usl, ns: &[f64], logs: &[f64]) -> f64 {
    ns.iter().zip(logs).map(|(n, log)| (log - law.throughput(*n).ln()).powi(2)).sum()
}

/// One damped step in sigma and kappa; lambda follows from them, so its part is taken out of the slopes.
fn step(law: &Usl, ns: &[f64], logs: &[f64], damping: f64) -> Usl {
    let slopes = |part: fn(f64) -> f64| -> Vec<f64> {
        let slopes: Vec<f64> = ns.iter().map(|n| -part(*n) / law.divisor(*n)).collect();
        let centre = mean(&slopes).unwrap_or(0.0);
        slopes.into_iter().map(|slope| slope - centre).collect()
    };
    let off: Vec<f64> = ns.iter().zip(logs).map(|(n, log)| log - law.throughput(*n).ln()).collect();
    let (of_sigma, of_kappa) = (slopes(|n| n - 1.0), slopes(|n| n * (n - 1.0)));
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (ss, sk, kk) = (dot(&of_sigma, &of_sigma), dot(&of_sigma, &of_kappa), dot(&of_kappa, &of_kappa));
    let (s, k) = (dot(&of_sigma, &off), dot(&of_kappa, &off));
    let (ss, kk) = (ss * (1.0 + damping), kk * (1.0 + damping));
    // A parameter that stands at its bound and would cross it stays there; the other moves alone.
    let alone = |slope: f64, square: f64| if square > 0.0 { slope / square } else { 0.0 };
    let determinant = ss * kk - sk * sk;
    let both = ((s * kk - k * sk) / determinant, (k * ss - s * sk) / determinant);
    let (d_sigma, d_kappa) = match (law.sigma + both.0 < 0.0, law.kappa + both.1 < 0.0) {
        _ if determinant <= 0.0 => (alone(s, ss), 0.0),
        (true, false) => (-law.sigma, alone(k + sk * law.sigma, kk)),
        (false, true) => (alone(s + sk * law.kappa, ss), -law.kappa),
        (true, true) => (-law.sigma, -law.kappa),
        (false, false) => both,
    };
    Usl { sigma: (law.sigma + d_sigma).max(0.0), kappa: (law.kappa + d_kappa).max(0.0), ..*law }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Normals;

    const NS: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

    /// Blocks of a law: a common luck for each block, and one for each trial.
    fn blocks(law: &Usl, ns: &[f64], count: usize, spread: f64, seed: u64) -> Vec<Vec<f64>> {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(seed));
        (0..count)
            .map(|_| {
                let common = 0.03 * normals.draw();
                ns.iter().map(|n| law.throughput(*n) * (common + spread * normals.draw()).exp()).collect()
            })
            .collect()
    }

    #[test]
    fn exact_values_give_the_law_back() {
        let check = |sigma: f64, kappa: f64| {
            let law = Usl { lambda: 950.0, sigma, kappa };
            let logs: Vec<f64> = NS.iter().map(|n| law.throughput(*n).ln()).collect();
            let found = fit(&NS, &logs);
            assert!((found.lambda / 950.0 - 1.0).abs() < 1e-5, "{found:?}");
            assert!((found.sigma - sigma).abs() < 1e-5 && (found.kappa - kappa).abs() < 1e-7, "{found:?}");
        };
        check(0.05, 0.0004);
        check(0.3, 0.002);
        check(0.0, 0.001);
        check(0.1, 0.0);
        check(0.0, 0.0);
    }

    #[test]
    fn the_intervals_hold_the_truth_about_as_often_as_claimed() {
        let law = Usl { lambda: 800.0, sigma: 0.04, kappa: 0.0003 };
        let (mut sigma, mut kappa, mut fits) = (0, 0, 0);
        for seed in 0..200 {
            let Ok(fit) = fit_usl(&NS, &blocks(&law, &NS, 6, 0.03, seed), seed) else { continue };
            fits += 1;
            sigma += u32::from(fit.sigma.low <= law.sigma && law.sigma <= fit.sigma.high);
            kappa += u32::from(fit.kappa.low <= law.kappa && law.kappa <= fit.kappa.high);
        }
        // At 1 % two of 200 sound curves are refused; six are still chance.
        assert!(fits >= 192, "{fits}");
        assert!(sigma >= 178 && kappa >= 178, "sigma {sigma}, kappa {kappa} of {fits}");
    }

    #[test]
    fn a_ratio_of_parameters_holds_the_truth_and_is_absent_over_zero() {
        let (ours, theirs) =
            (Usl { lambda: 800.0, sigma: 0.08, kappa: 0.0006 }, Usl { lambda: 900.0, sigma: 0.04, kappa: 0.0006 });
        let mut held = 0;
        for seed in 0..40 {
            let fit = |law: &Usl, noise| fit_usl(&NS, &blocks(law, &NS, 8, 0.02, noise), 7);
            let (Ok(ours), Ok(theirs)) = (fit(&ours, seed), fit(&theirs, 1000 + seed)) else { continue };
            let (ratio, bounds) = ours.ratio_to(&theirs, |law| law.sigma).unwrap();
            assert!(bounds.low < ratio && ratio < bounds.high);
            held += u32::from(bounds.low <= 2.0 && 2.0 <= bounds.high);
        }
        assert!(held >= 33, "{held} of 40 intervals hold the truth");
        let flat = Usl { sigma: 0.2, kappa: 0.0, ..theirs };
        let fit = |law: &Usl| fit_usl(&NS, &blocks(law, &NS, 8, 0.01, 3), 7).unwrap();
        assert_eq!(fit(&ours).ratio_to(&fit(&flat), |law| law.kappa), None);
    }

    #[test]
    fn the_peak_is_given_where_it_was_measured_and_not_far_beyond() {
        let near = Usl { lambda: 800.0, sigma: 0.05, kappa: 0.0006 };
        let peak = fit_usl(&NS, &blocks(&near, &NS, 8, 0.01, 3), 1).unwrap().peak.unwrap();
        assert!((peak / near.peak().unwrap() - 1.0).abs() < 0.1, "{peak}");
        let far = Usl { lambda: 800.0, sigma: 0.2, kappa: 0.000_005 };
        assert_eq!(fit_usl(&NS, &blocks(&far, &NS, 8, 0.01, 3), 1).unwrap().peak, None);
        let never = Usl { lambda: 800.0, sigma: 0.1, kappa: 0.0 };
        assert_eq!(fit_usl(&NS, &blocks(&never, &NS, 8, 0.01, 3), 1).unwrap().peak, None);
    }

    #[test]
    fn a_hard_cap_is_no_law() {
        let capped = |cap: f64, seed| {
            let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(seed));
            let block = |_| NS.iter().map(|n| (800.0 * n).min(cap) * (0.02 * normals.draw()).exp()).collect();
            (0..6).map(block).collect::<Vec<Vec<f64>>>()
        };
        for seed in 0..20 {
            for cap in [5_000.0, 12_000.0] {
                let refusal = fit_usl(&NS, &capped(cap, seed), 1).unwrap_err();
                assert!(matches!(refusal, UslRefusal::DoesNotFit { .. }), "{refusal:?}");
            }
        }
    }

    #[test]
    fn too_little_is_refused() {
        let bent = Usl { lambda: 800.0, sigma: 0.05, kappa: 0.0006 };
        let straight = Usl { sigma: 0.005, kappa: 0.0, ..bent };
        let check = |law: &Usl, ns: &[f64], count, expected| {
            assert_eq!(fit_usl(ns, &blocks(law, ns, count, 0.001, 1), 1).unwrap_err(), expected);
        };
        check(&bent, &NS[..4], 8, UslRefusal::TooFewValues { have: 4 });
        check(&bent, &NS[1..], 8, UslRefusal::NoSingle);
        check(&bent, &NS, 2, UslRefusal::TooFewBlocks { have: 2 });
        check(&straight, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 8, UslRefusal::TooFewBeyondKnee { have: 1 });
    }
}
