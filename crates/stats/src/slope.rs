//! A straight line through points of which some may be far off: Theil and Sen.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::Interval;
use crate::describe::median;

/// Fewer points have no interval worth the name.
const POINTS_MIN: usize = 6;

/// A slope with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    pub value: f64,
    /// Of y where x is 0: the median over the points.
    pub intercept: f64,
    pub interval: Interval,
    pub points: usize,
}

/// The median of the slopes between all pairs of points, with the interval that Kendall's rank correlation gives (Sen
/// 1968, normal approximation). None below six points, or where all stand at one x.
pub fn theil_sen(points: &[(f64, f64)], confidence: f64) -> Option<Slope> {
    let mut slopes = Vec::new();
    for (index, (x, y)) in points.iter().enumerate() {
        let other = points[index + 1..].iter().filter(|(other, _)| other != x);
        slopes.extend(other.map(|(other_x, other_y)| (other_y - y) / (other_x - x)));
    }
    let (n, pairs) = (points.len() as f64, slopes.len() as f64);
    if points.len() < POINTS_MIN || slopes.is_empty() {
        return None;
    }
    slopes.sort_by(f64::total_cmp);
    let z = Normal::standard().inverse_cdf(0.5 + confidence / 2.0);
    let half_width = z * (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let last = slopes.len() - 1;
    let at = |rank: f64| slopes[(rank.max(0.0) as usize).min(last)];
    let interval =
        Interval { low: at(((pairs - half_width) / 2.0).floor() - 1.0), high: at(((pairs + half_width) / 2.0).ceil()) };
    let value = median(&slopes)?;
    let mut rests: Vec<f64> = points.iter().map(|(x, y)| y - value * x).collect();
    rests.sort_by(f64::total_cmp);
    Some(Slope { value, intercept: median(&rests)?, interval, points: points.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_though_a_point_is_far_off() {
        let mut points: Vec<(f64, f64)> = (0..10).map(|x| (f64::from(x), 2.0 + 3.0 * f64::from(x))).collect();
        points[4].1 = 500.0;
        let slope = theil_sen(&points, 0.95).unwrap();
        assert!((slope.value - 3.0).abs() < 1e-9 && (slope.intercept - 2.0).abs() < 1e-9, "{slope:?}");
        assert!(slope.interval.low <= 3.0 && slope.interval.high >= 3.0, "{slope:?}");
    }

    #[test]
    fn without_a_trend_the_interval_has_nothing_in_it() {
        let noise = [0.3, -0.2, 0.5, -0.4, 0.1, -0.1, 0.4, -0.5, 0.2, -0.3];
        let points: Vec<(f64, f64)> = noise.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
        let slope = theil_sen(&points, 0.95).unwrap();
        assert!(slope.interval.low < 0.0 && slope.interval.high > 0.0, "{slope:?}");
    }

    #[test]
    fn too_few_points_and_points_above_each_other_have_no_slope() {
        assert_eq!(theil_sen(&[(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)], 0.95), None);
        assert_eq!(theil_sen(&[(1.0, 1.0); 9], 0.95), None);
    }

    /// Of 1,000 samples of a line with normal noise the interval of 95 % holds the true slope in about 950.
    #[test]
    fn the_interval_holds_the_true_slope_as_often_as_it_says() {
        let mut state = 7u64;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let held = (0..1_000).filter(|_| {
            let points: Vec<(f64, f64)> = (0..20).map(|x| (f64::from(x), 0.5 * f64::from(x) + normal())).collect();
            let interval = theil_sen(&points, 0.95).unwrap().interval;
            (interval.low..=interval.high).contains(&0.5)
        });
        let held = held.count();
        assert!((930..=975).contains(&held), "{held}");
    }
}
