//! Two groups of values that stand in no pairs.

use super::{Interval, mean, sd, t_quantile};

/// Mean of `first` minus mean of `second`, with its t interval; `None` unless each has two values.
///
/// The groups may differ in spread (Behrens and Fisher's problem). The degrees of freedom are those of the
/// smaller group, so the interval is never too short, whatever the spreads are.
pub fn difference_interval(first: &[f64], second: &[f64], confidence: f64) -> Option<(f64, Interval)> {
    let centre = mean(first)? - mean(second)?;
    let squared_error = |values: &[f64]| Some(sd(values)?.powi(2) / values.len() as f64);
    let standard_error = (squared_error(first)? + squared_error(second)?).sqrt();
    let freedom = first.len().min(second.len()) - 1;
    let half = t_quantile(freedom, 0.5 + confidence / 2.0) * standard_error;
    Some((centre, Interval { low: centre - half, high: centre + half }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_smaller_group_s_freedom() {
        // Means 15 and 10, variances 5 / 2 and 8 / 3; t of three degrees of freedom at 97.5 % is 3.1824.
        let (first, second) = ([13.0, 14.0, 15.0, 16.0, 17.0], [8.0, 12.0, 10.0, 10.0]);
        let (centre, bounds) = difference_interval(&first, &second, 0.95).unwrap();
        let half = 3.182_446_305 * (0.5f64 + (8.0 / 3.0) / 4.0).sqrt();
        assert!((centre - 5.0).abs() < 1e-12);
        assert!((bounds.high - centre - half).abs() < 1e-6 && (centre - bounds.low - half).abs() < 1e-6, "{bounds:?}");
    }

    #[test]
    fn a_single_value_has_no_spread() {
        assert_eq!(difference_interval(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(difference_interval(&[], &[], 0.95), None);
    }
}
