//! Which rows of a long list are no chance.

/// Which of these hypotheses to reject so that, of all that are, no more than `rate` are false on average
/// (Benjamini & Hochberg 1995).
pub fn discoveries(p_values: &[f64], rate: f64) -> Vec<bool> {
    let mut ascending = p_values.to_vec();
    ascending.sort_by(f64::total_cmp);
    let allowed = |rank: usize| rate * rank as f64 / p_values.len() as f64;
    let ranked = ascending.iter().zip(1..);
    let last = ranked.filter(|(p, rank)| **p <= allowed(*rank)).map(|(p, _)| *p).last();
    p_values.iter().map(|p| last.is_some_and(|last| *p <= last)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_example_rejects_its_four_smallest() {
        // Benjamini & Hochberg (1995), section 3.2: thrombolysis, fifteen p-values, q = 0.05.
        let p_values = [
            0.0344, 0.0001, 0.0459, 0.0004, 1.0, 0.0019, 0.3240, 0.0095, 0.0201, 0.4262, 0.0278, 0.5719, 0.0298,
            0.6528, 0.7590,
        ];
        let rejected: Vec<f64> =
            p_values.iter().zip(discoveries(&p_values, 0.05)).filter(|(_, found)| *found).map(|(p, _)| *p).collect();
        assert_eq!(rejected, [0.0001, 0.0004, 0.0019, 0.0095]);
    }

    #[test]
    fn a_larger_p_takes_smaller_ones_along() {
        // The second alone would fail at 0.025; with the third the list holds at 0.0375.
        assert_eq!(discoveries(&[0.9, 0.03, 0.036, 0.001], 0.05), [false, true, true, true]);
        assert_eq!(discoveries(&[0.06, 0.2], 0.05), [false, false]);
        assert!(discoveries(&[], 0.05).is_empty());
    }
}
