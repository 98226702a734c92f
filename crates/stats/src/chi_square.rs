//! Whether counts follow given shares.

use statrs::distribution::{ChiSquared, ContinuousCDF};

/// Least number that must be expected in a cell; smaller ones are joined with the next.
const CELL_MIN: f64 = 5.0;

/// The probability that counts which follow `shares` differ from them by as much as `counts` do (Pearson's test).
///
/// Cells that expect less than five are joined with those behind them. With a single cell left nothing can differ:
/// 1.0. A count where nothing is expected gives 0.0.
pub fn chi_square_p(counts: &[u64], shares: &[f64]) -> f64 {
    assert_eq!(counts.len(), shares.len(), "each count has its share");
    let total = counts.iter().sum::<u64>() as f64;
    let (mut statistic, mut cells) = (0.0, 0u32);
    let (mut seen, mut expected) = (0.0, 0.0);
    let mut last = (0.0, 0.0);
    for (count, share) in counts.iter().zip(shares) {
        if *share <= 0.0 && *count > 0 {
            return 0.0;
        }
        seen += *count as f64;
        expected += share * total;
        if expected >= CELL_MIN {
            statistic += distance(seen, expected);
            cells += 1;
            last = (seen, expected);
            (seen, expected) = (0.0, 0.0);
        }
    }
    if expected > 0.0 {
        statistic += distance(last.0 + seen, last.1 + expected) - distance(last.0, last.1);
    }
    let Ok(distribution) = ChiSquared::new(f64::from(cells.saturating_sub(1))) else { return 1.0 };
    distribution.sf(statistic)
}

fn distance(seen: f64, expected: f64) -> f64 {
    if expected > 0.0 { (seen - expected).powi(2) / expected } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mendel's peas: 315, 108, 101 and 32 against 9:3:3:1 have a chi-square of 0.470 with three degrees of freedom.
    #[test]
    fn published_counts_have_their_published_probability() {
        let shares = [9.0, 3.0, 3.0, 1.0].map(|share| share / 16.0);
        assert!((chi_square_p(&[315, 108, 101, 32], &shares) - 0.925).abs() < 0.001);
        assert!(chi_square_p(&[400, 50, 80, 26], &shares) < 1e-9);
    }

    #[test]
    fn small_cells_are_joined_and_impossible_counts_are_found() {
        assert_eq!(chi_square_p(&[100], &[1.0]), 1.0);
        assert_eq!(chi_square_p(&[99, 1], &[1.0, 0.0]), 0.0);
        assert!(chi_square_p(&[500, 498, 1, 1], &[0.5, 0.498, 0.001, 0.001]) > 0.9);
    }
}
