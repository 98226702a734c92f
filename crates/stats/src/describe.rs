//! Estimates and intervals of one sample.
//!
//! None of these accounts for stopping rules: an interval from here holds at a number of blocks that
//! was fixed beforehand, and nowhere else.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two bounds, low first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub fn map(self, change: impl Fn(f64) -> f64) -> Interval {
        Interval { low: change(self.low), high: change(self.high) }
    }
}

/// The arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    match values.len() {
        0 => None,
        n => Some(values.iter().sum::<f64>() / n as f64),
    }
}

/// The sample standard deviation (divided by n - 1); `None` below two values.
pub fn sd(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    if values.len() < 2 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The standard deviation of these values alone, which are all that there are (divided by n); `None` of nothing.
pub fn population_sd(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    Some((squares / values.len() as f64).sqrt())
}

/// The quantile of Student's t distribution.
pub fn t_quantile(degrees_of_freedom: usize, probability: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom as f64)
        .expect("a t distribution needs at least one degree of freedom")
        .inverse_cdf(probability)
}

/// The t interval of the mean: of a difference, the paired t interval.
pub fn t_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    let centre = mean(values)?;
    let standard_error = sd(values)? / (values.len() as f64).sqrt();
    let half = t_quantile(values.len() - 1, 0.5 + confidence / 2.0) * standard_error;
    Some(Interval { low: centre - half, high: centre + half })
}

/// The means of all pairs of values, each value with itself too, in ascending order.
///
/// Wilcoxon's statistic at a supposed centre is the number of these on one side of it, which is
/// why they are the only places where a rank interval can begin or end.
pub fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (index, first) in values.iter().enumerate() {
        averages.extend(values[index..].iter().map(|second| (first + second) / 2.0));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// The Hodges-Lehmann estimate of the centre: the median of the Walsh averages.
///
/// One wild block moves it far less than it moves the mean.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    median(&walsh_averages(values))
}

/// The median of sorted values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    let upper = sorted.get(middle)?;
    Some(if sorted.len() % 2 == 1 { *upper } else { (sorted[middle - 1] + upper) / 2.0 })
}

/// An interval of the median that assumes nothing about the values but that they come from one source:
/// from one of them to another, counted in from both ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    pub median: f64,
    /// Absent where there are too few values for this confidence.
    pub bounds: Option<Interval>,
    /// What the bounds reach: at least what was asked for.
    pub confidence: f64,
}

/// The median with the narrowest symmetric interval of order statistics; `None` of nothing.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<MedianInterval> {
    let mut ascending = values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let n = ascending.len();
    let median = (*ascending.get(n.checked_sub(1)? / 2)? + ascending[n / 2]) / 2.0;
    // Each side misses the median when at most `outside` of n fair coins fall on it.
    let (mut probability, mut missed) = (0.5f64.powi(n as i32), 0.0);
    let mut found = MedianInterval { median, bounds: None, confidence };
    for outside in 0..n / 2 {
        missed += probability;
        let reached = 1.0 - 2.0 * missed;
        if reached < confidence {
            break;
        }
        let bounds = Interval { low: ascending[outside], high: ascending[n - 1 - outside] };
        found = MedianInterval { median, bounds: Some(bounds), confidence: reached };
        probability *= (n - outside) as f64 / (outside + 1) as f64;
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(left: f64, right: f64) -> bool {
        (left - right).abs() < 1e-9
    }

    #[test]
    fn t_quantiles_are_those_of_the_printed_table() {
        for (degrees, probability, expected) in
            [(7, 0.975, 2.3646), (7, 0.9, 1.4149), (19, 0.975, 2.0930), (1, 0.975, 12.7062)]
        {
            assert!((t_quantile(degrees, probability) - expected).abs() < 1e-3, "t({degrees}, {probability})");
        }
    }

    #[test]
    fn the_paired_t_interval_matches_students_sleep_data() {
        // Student (1908), extra hours of sleep, drug 2 minus drug 1; R: t.test(..., paired = TRUE).
        let extra = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let interval = t_interval(&extra, 0.95).unwrap();
        assert!((interval.low - 0.7001).abs() < 1e-4 && (interval.high - 2.4599).abs() < 1e-4, "{interval:?}");
    }

    #[test]
    fn the_interval_of_a_median_is_that_of_the_printed_table() {
        // Method, section 3: of eight values, the least to the greatest is 99.2 %. Conover (1999), table of
        // the sign test's intervals: of 20 values, the 6th to the 15th, 95.9 %.
        let check = |n: usize, expected: Option<(f64, f64)>, confidence: f64| {
            let values: Vec<f64> = (1..=n).rev().map(|value| value as f64).collect();
            let found = median_interval(&values, 0.95).unwrap();
            assert_eq!(found.bounds.map(|bounds| (bounds.low, bounds.high)), expected, "of {n}");
            assert!((found.confidence - confidence).abs() < 5e-4, "{found:?}");
            assert_eq!(found.median, (n as f64 + 1.0) / 2.0);
        };
        check(5, None, 0.95);
        check(8, Some((1.0, 8.0)), 0.9922);
        check(20, Some((6.0, 15.0)), 0.9586);
        assert_eq!(median_interval(&[], 0.95), None);
    }

    #[test]
    fn nothing_has_no_mean_and_one_value_has_no_spread() {
        assert_eq!((mean(&[]), hodges_lehmann(&[])), (None, None));
        assert_eq!((sd(&[2.0]), t_interval(&[2.0], 0.95), hodges_lehmann(&[2.0])), (None, None, Some(2.0)));
    }

    proptest! {
        #[test]
        fn the_estimate_moves_with_its_data(values in prop::collection::vec(-1.0f64..1.0, 1..20), shift in -3.0f64..3.0) {
            let moved: Vec<f64> = values.iter().map(|value| value + shift).collect();
            prop_assert!(close(hodges_lehmann(&values).unwrap() + shift, hodges_lehmann(&moved).unwrap()));
        }

        #[test]
        fn the_estimate_lies_within_its_data(values in prop::collection::vec(-1.0f64..1.0, 1..20)) {
            let estimate = hodges_lehmann(&values).unwrap();
            prop_assert!(values.iter().any(|value| *value <= estimate) && values.iter().any(|value| *value >= estimate));
        }
    }
}
