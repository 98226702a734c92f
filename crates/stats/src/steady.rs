//! Is a server still warming up? One long series per second, or one number from each of many trials.
//!
//! Seconds are not independent, so they are never evidence themselves: what a mean of seconds may
//! differ by is taken from batches of them, and a drift that all trials share is tested over blocks.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::describe::{mean, sd};

/// A window that has to be level (method, section 1, "Warm-up"); of a short series a quarter of it.
const WINDOW_SECONDS: usize = 30;
const BATCHES_IN_A_WINDOW: usize = 3;
/// What a window may always differ by from the level, as a fraction of it, and in standard errors.
const LEVEL_WITHIN: f64 = 0.02;
const LEVEL_WITHIN_ERRORS: f64 = 2.0;
/// Below this a quarter of the series holds no second to average.
const SECONDS_MIN: usize = 8;

/// A shared drift counts above this size and below this p, which all tests share (method, section 1, "Steady-state check").
const DRIFT_MAX: f64 = 0.02;
const DRIFT_P: f64 = 0.05;
/// An interval that is cut in halves holds at least so many seconds.
const HALVED_SECONDS_MIN: usize = 10;

/// The least number of seconds after which a long series stays at the level of its second half;
/// `None` when that half still rises or falls itself.
///
/// Windows of 30 s must come within 2 % or two standard errors of the level, whichever is more. The
/// windows inside the second half are not asked one by one: they are the level, and of a hundred that
/// overlap one would nearly always stand out by chance (with correlated noise of 5 % a second, half
/// of all level series came out as 170 s of warm-up). Instead its own halves have to agree.
pub fn warm_up_needed(per_second: &[f64]) -> Option<usize> {
    if per_second.len() < SECONDS_MIN {
        return None;
    }
    let (first, second) = per_second.split_at(per_second.len() / 2);
    let level = mean(second).filter(|level| *level > 0.0)?;
    let window = WINDOW_SECONDS.min(per_second.len() / 4);
    let noise = Noise::of(second, window);
    let (early, late) = second.split_at(second.len() / 2);
    let error_of_halves = noise.error(early.len()).hypot(noise.error(late.len()));
    if (mean(late)? - mean(early)?).abs() > tolerance(level, error_of_halves) {
        return None;
    }
    let within = tolerance(level, noise.error(window));
    let is_level = |begin: &usize| {
        let seconds = &per_second[*begin..*begin + window];
        (seconds.iter().sum::<f64>() / window as f64 - level).abs() <= within
    };
    Some(first.len() - (0..first.len()).rev().take_while(is_level).count())
}

fn tolerance(level: f64, standard_error: f64) -> f64 {
    (LEVEL_WITHIN * level).max(LEVEL_WITHIN_ERRORS * standard_error)
}

/// How much means of neighbouring seconds vary.
struct Noise {
    batch: usize,
    sd_of_a_batch: f64,
}

impl Noise {
    fn of(seconds: &[f64], window: usize) -> Noise {
        let batch = (window / BATCHES_IN_A_WINDOW).max(1);
        let means: Vec<f64> = seconds.chunks_exact(batch).filter_map(mean).collect();
        Noise { batch, sd_of_a_batch: sd(&means).unwrap_or(0.0) }
    }

    /// Standard error of a mean over so many seconds.
    fn error(&self, seconds: usize) -> f64 {
        self.sd_of_a_batch * (self.batch as f64 / seconds as f64).sqrt()
    }
}

/// The logarithm of the second half of an interval over its first; the second in the middle of an
/// odd number belongs to neither. `None` of too few seconds, or where nothing happened in either half; a half
/// without anything counts as half a transaction, since leaving it out would hide an outage.
pub fn half_log_ratio(per_second: &[f64]) -> Option<f64> {
    let seconds = per_second.len();
    if seconds < HALVED_SECONDS_MIN {
        return None;
    }
    let sum = |half: &[f64]| half.iter().sum::<f64>();
    let (first, second) = (sum(&per_second[..seconds / 2]), sum(&per_second[seconds.div_ceil(2)..]));
    (first + second > 0.0).then(|| (second.max(0.5) / first.max(0.5)).ln())
}

/// What trials of one contender rise or fall by from one half to the other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// Mean of the log ratios.
    pub mean: f64,
    /// That a server which holds its level shows as much, by t over blocks.
    pub p: f64,
}

impl Trend {
    /// `log_ratios` holds one value per block; `None` below two.
    pub fn of(log_ratios: &[f64]) -> Option<Trend> {
        let (centre, spread) = (mean(log_ratios)?, sd(log_ratios)?);
        let blocks = log_ratios.len();
        let error = spread / (blocks as f64).sqrt();
        let p = match (error > 0.0, centre == 0.0) {
            (true, _) => 2.0 * upper_tail(blocks - 1, (centre / error).abs()),
            (false, is_level) => f64::from(u8::from(is_level)),
        };
        Some(Trend { mean: centre, p })
    }

    /// Large enough to matter, and too large for chance where so many `tests` share the error.
    pub fn is_unsteady(&self, tests: usize) -> bool {
        self.mean.abs() > DRIFT_MAX && self.p < DRIFT_P / tests as f64
    }
}

fn upper_tail(degrees_of_freedom: usize, t: f64) -> f64 {
    let student = StudentsT::new(0.0, 1.0, degrees_of_freedom as f64);
    student.expect("a t distribution needs at least one degree of freedom").sf(t)
}

#[cfg(test)]
mod tests {
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// A normal number, by the sum of twelve uniform ones.
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Throughput per second around `level`, with AR(1) noise of 0.8 from one second to the next.
    fn series(seed: u64, seconds: usize, noise: f64, level: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut state = normal(&mut random);
        let one = |second: usize| {
            state = 0.8 * state + 0.6 * normal(&mut random);
            1000.0 * level(second as f64) * (1.0 + noise * state)
        };
        (0..seconds).map(one).collect()
    }

    /// Of a hundred pilots of 300 s: how many never settled, and the median warm-up of the others.
    fn pilots(noise: f64, level: impl Fn(f64) -> f64 + Copy) -> (usize, usize) {
        let found = (0..100).map(|seed| warm_up_needed(&series(seed, 300, noise, level)));
        let mut settled: Vec<usize> = found.flatten().collect();
        settled.sort_unstable();
        (100 - settled.len(), settled.get(settled.len() / 2).copied().unwrap_or(0))
    }

    #[test]
    fn an_empty_half_is_half_a_transaction_and_not_left_out() {
        let mut seconds = vec![100.0; 5];
        seconds.extend([0.0; 5]);
        assert_eq!(half_log_ratio(&seconds), Some((0.5f64 / 500.0).ln()));
        assert_eq!(half_log_ratio(&[0.0; 10]), None);
    }

    #[test]
    fn a_level_server_needs_little_warm_up() {
        assert_eq!(warm_up_needed(&[1000.0; 300]), Some(0));
        let (never, median) = pilots(0.02, |_| 1.0);
        assert!(never <= 8 && median <= 30, "{never} never, median {median} s");
    }

    #[test]
    fn a_tail_of_minus_thirty_percent_with_tau_forty_is_waited_for() {
        // Without noise the mean of a window is within 2 % once 0.3 e^(-t/40) is.
        let smooth = warm_up_needed(&series(1, 300, 0.0, tail)).unwrap();
        assert!((90..=100).contains(&smooth), "{smooth} s");
        for noise in [0.02, 0.05] {
            let (never, median) = pilots(noise, tail);
            assert!(never <= 20 && (60..=130).contains(&median), "noise {noise}: {never} never, median {median} s");
        }
    }

    fn tail(second: f64) -> f64 {
        1.0 - 0.3 * (-second / 40.0).exp()
    }

    #[test]
    fn a_server_that_never_settles_is_recognised() {
        assert_eq!(warm_up_needed(&series(1, 300, 0.0, |second| 1.0 - 0.0008 * second)), None);
        let (never, _) = pilots(0.02, |second| 1.0 - 0.0008 * second);
        assert!(never >= 95, "{never} of 100");
    }

    #[test]
    fn a_short_or_empty_series_has_the_figures_that_it_allows() {
        assert_eq!(warm_up_needed(&[1000.0; 7]), None);
        assert_eq!(warm_up_needed(&[0.0; 300]), None);
        assert_eq!(warm_up_needed(&[1000.0; 20]), Some(0));
        // Two slow seconds are in every window of five that begins in them.
        let slow = |second: usize| if second < 2 { 500.0 } else { 1000.0 };
        assert_eq!(warm_up_needed(&(0..20).map(slow).collect::<Vec<_>>()), Some(2));
    }

    #[test]
    fn halves_are_compared_as_logarithms() {
        let rising: Vec<f64> = (0..11).map(|second| if second < 5 { 100.0 } else { 200.0 }).collect();
        assert!((half_log_ratio(&rising).unwrap() - 2f64.ln()).abs() < 1e-12);
        assert_eq!(half_log_ratio(&[100.0; 9]), None);
    }

    #[test]
    fn a_drift_is_judged_by_size_and_by_chance() {
        let check = |log_ratios: &[f64], expected| {
            let drift = Trend::of(log_ratios).unwrap();
            assert_eq!(drift.is_unsteady(1), expected, "{log_ratios:?}: {drift:?}");
        };
        check(&[0.05, 0.06, 0.04, 0.05], true);
        check(&[-0.05, -0.06, -0.04, -0.05], true);
        // Sure, but small; large, but as likely chance.
        check(&[0.010, 0.011, 0.009, 0.010], false);
        check(&[0.20, -0.10, 0.15, -0.05], false);
        check(&[0.0, 0.0, 0.0, 0.0], false);
        check(&[0.05, 0.05, 0.05, 0.05], true);
        assert_eq!(Trend::of(&[0.1]), None);
        // t = 3 over four blocks: p of the printed table is 0.0577.
        let error = 0.1 / 3.0;
        let sd_one = [-1.0f64, -1.0, 1.0, 1.0].map(|unit| unit * (3.0f64 / 4.0).sqrt());
        let drift = Trend::of(&sd_one.map(|unit| 0.1 + 2.0 * error * unit)).unwrap();
        assert!((drift.p - 0.0577).abs() < 0.0005, "{drift:?}");
    }

    #[test]
    fn few_level_servers_are_called_unsteady_and_a_warm_up_tail_is_found() {
        let called = |level: fn(f64) -> f64| {
            let one = |run: u64| {
                let trial = |block: u64| half_log_ratio(&series(1000 * run + block, 60, 0.03, level)).unwrap();
                Trend::of(&(0..10).map(trial).collect::<Vec<_>>()).unwrap().is_unsteady(1)
            };
            (0..200).filter(|run| one(*run)).count()
        };
        // Ten blocks: 3 % false and nearly every tail found (method, section 1).
        let (level, warming) = (called(|_| 1.0), called(tail));
        assert!(level <= 16 && warming >= 195, "{level} and {warming} of 200");
    }
}
