//! Seconds inside trials, and how long a trial should be.
//!
//! Seconds of one trial depend on each other, so they are never evidence for a difference. What they
//! show is how much longer trials would sharpen the comparison between blocks.

use crate::describe::{mean, sd};

/// Seconds that are averaged before they count as nearly independent.
const BATCH: usize = 10;

/// With fewer seconds than this, how one follows from the other is unknown.
const SECONDS_MIN: usize = 10;

/// Spread of one second within trials as a fraction of their mean, such that the mean over `n`
/// seconds has this divided by the root of `n`: from the means of ten seconds each, so that what
/// lasts for some seconds counts as often as it does. `None` where no trial has two such batches.
pub fn sd_of_a_second(trials: &[Vec<f64>]) -> Option<f64> {
    let (mut squares, mut degrees_of_freedom) = (0.0, 0);
    for seconds in trials {
        let batches: Vec<f64> = seconds.chunks_exact(BATCH).filter_map(mean).collect();
        let (Some(centre), Some(spread)) = (mean(&batches).filter(|centre| *centre > 0.0), sd(&batches)) else {
            continue;
        };
        squares += (spread / centre).powi(2) * (batches.len() - 1) as f64;
        degrees_of_freedom += batches.len() - 1;
    }
    (degrees_of_freedom > 0).then(|| (squares / degrees_of_freedom as f64 * BATCH as f64).sqrt())
}

/// Correlation of one second with the next, over all trials together; `None` where none is long enough.
pub fn autocorrelation(trials: &[Vec<f64>]) -> Option<f64> {
    let (mut together, mut alone) = (0.0, 0.0);
    for seconds in trials.iter().filter(|seconds| seconds.len() >= SECONDS_MIN) {
        let centre = mean(seconds).filter(|centre| *centre > 0.0)?;
        let deviations: Vec<f64> = seconds.iter().map(|value| value / centre - 1.0).collect();
        together += deviations.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>();
        alone += deviations.iter().map(|deviation| deviation * deviation).sum::<f64>();
    }
    (alone > 0.0).then(|| together / alone)
}

/// Spread between trials that longer ones would not take away: what is left of the log ratios' once
/// the seconds within two trials of this length have had their part. 0 where they explain all of it.
pub fn sd_between_trials(sd_of_log_ratio: f64, sd_of_a_second: f64, duration_s: f64) -> f64 {
    (sd_of_log_ratio.powi(2) / 2.0 - sd_of_a_second.powi(2) / duration_s).max(0.0).sqrt()
}

/// Seconds to measure in each trial for the most information in a given time (Kalibera & Jones 2013, two
/// levels). `None` where trials do not differ beyond their seconds (then the longer the better), and where
/// seconds do not differ at all.
pub fn best_duration_s(overhead_s: f64, sd_of_a_second: f64, sd_between_trials: f64) -> Option<f64> {
    (sd_between_trials > 0.0 && sd_of_a_second > 0.0).then(|| overhead_s.sqrt() * sd_of_a_second / sd_between_trials)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::random::Normals;

    /// Trials of a minute around 1000, each second leaning on the one before.
    fn trials(count: usize, correlation: f64, sd: f64) -> Vec<Vec<f64>> {
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(3));
        let innovation = sd * (1.0 - correlation * correlation).sqrt();
        let mut trial = || {
            let mut deviation = sd * normals.draw();
            let mut second = || {
                deviation = correlation * deviation + innovation * normals.draw();
                1000.0 * (1.0 + deviation)
            };
            (0..60).map(|_| second()).collect()
        };
        (0..count).map(|_| trial()).collect()
    }

    #[test]
    fn seconds_that_lean_on_each_other_weigh_more_than_they_scatter() {
        let independent = sd_of_a_second(&trials(200, 0.0, 0.05)).unwrap();
        assert!((independent - 0.05).abs() < 0.003, "{independent}");
        // The long-run standard deviation of AR(1) is sd * sqrt((1 + r) / (1 - r)): twice as much at 0.6.
        let leaning = sd_of_a_second(&trials(200, 0.6, 0.05)).unwrap();
        assert!((0.085..0.105).contains(&leaning), "{leaning}");
        assert_eq!(sd_of_a_second(&[vec![1.0; 19]]), None);
        assert_eq!(sd_of_a_second(&[vec![0.0; 60]]), None, "nothing has no spread relative to it");
    }

    #[test]
    fn the_correlation_of_neighbours_is_found() {
        for expected in [0.0, 0.6] {
            let found = autocorrelation(&trials(200, expected, 0.05)).unwrap();
            assert!((found - expected).abs() < 0.06, "{found} for {expected}");
        }
        assert_eq!(autocorrelation(&[vec![1.0; 9]]), None);
        assert_eq!(autocorrelation(&[vec![1.0; 60]]), None, "what never changes has no correlation");
    }

    #[test]
    fn the_advice_is_that_of_the_methods_example() {
        // Method, section 1: s_u 0.8 %, s_w 15 % per root second, 25 s of overhead: 94 s.
        let best = best_duration_s(25.0, 0.15, 0.008).unwrap();
        assert!((best - 93.75).abs() < 0.01, "{best}");
        let sd_of_log_ratio = (2.0 * (0.008f64.powi(2) + 0.15f64.powi(2) / 60.0)).sqrt();
        assert!((sd_between_trials(sd_of_log_ratio, 0.15, 60.0) - 0.008).abs() < 1e-12);
        assert_eq!(best_duration_s(25.0, 0.15, sd_between_trials(0.01, 0.15, 60.0)), None);
    }
}
