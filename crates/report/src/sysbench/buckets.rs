//! sysbench's latency histogram: 1024 logarithmic buckets from 0.001 ms to 100 s.
//!
//! Pure: counted values in, bucket counts and percentiles out. Our own measurements are finer than
//! these buckets; they are put into them only where a layout promises sysbench's figures.

const BUCKETS: usize = 1024;
const LOWEST_MS: f64 = 0.001;
const HIGHEST_MS: f64 = 100_000.0;

/// How wide the bar of the fullest bucket is drawn.
const BAR_WIDTH: u64 = 40;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    counts: Vec<u64>,
    total: u64,
}

/// Buckets per unit of the natural logarithm.
fn scale() -> f64 {
    (BUCKETS - 1) as f64 / (HIGHEST_MS.ln() - LOWEST_MS.ln())
}

fn bucket_of(value_ms: f64) -> usize {
    let place = ((value_ms.ln() - LOWEST_MS.ln()) * scale() + 0.5).floor();
    // A value of nothing has no logarithm; it belongs to the first bucket as all that are tiny.
    if place.is_nan() { 0 } else { place.clamp(0.0, (BUCKETS - 1) as f64) as usize }
}

fn bucket_value_ms(bucket: usize) -> f64 {
    (bucket as f64 / scale() + LOWEST_MS.ln()).exp()
}

impl Buckets {
    /// From pairs of a value in milliseconds and how often it occurred.
    pub fn new(counted: impl IntoIterator<Item = (f64, u64)>) -> Buckets {
        let mut buckets = Buckets { counts: vec![0; BUCKETS], total: 0 };
        for (value_ms, count) in counted {
            buckets.counts[bucket_of(value_ms)] += count;
            buckets.total += count;
        }
        buckets
    }

    /// The value of the first bucket by which the rounded rank is reached; 0 without events. It may
    /// lie above the largest value, since a bucket is told by its middle.
    pub fn percentile_ms(&self, percent: f64) -> f64 {
        if self.total == 0 {
            return 0.0;
        }
        let rank = (self.total as f64 * percent / 100.0 + 0.5).floor() as u64;
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        bucket_value_ms(reached.unwrap_or(BUCKETS - 1))
    }

    /// The histogram as text: a row for each bucket that is not empty.
    pub fn text(&self) -> String {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let mut text = "Latency histogram (values are in milliseconds)\n".to_owned();
        text.push_str("       value  ------------- distribution ------------- count\n");
        for (bucket, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bar = "*".repeat((count * BAR_WIDTH / most) as usize);
            text.push_str(&format!("{:12.3} |{bar:<40} {count}\n", bucket_value_ms(bucket)));
        }
        text + " \n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_buckets_at_the_rounded_rank() {
        let buckets = Buckets::new([(1.0, 50), (2.0, 44), (11.0, 5), (30.0, 1)]);
        let check = |percent, expected: &str| {
            assert_eq!(format!("{:.2}", buckets.percentile_ms(percent)), expected, "{percent}");
        };
        check(50.0, "1.01");
        check(94.0, "2.00");
        check(95.0, "11.04");
        check(99.0, "11.04");
        check(100.0, "30.26");
    }

    #[test]
    fn a_bucket_is_at_most_one_per_cent_from_its_values() {
        for value_ms in [0.0011, 0.05, 0.5, 1.925, 13.46, 388.71, 99_000.0] {
            let told_ms = bucket_value_ms(bucket_of(value_ms));
            assert!((told_ms / value_ms - 1.0).abs() < 0.0091, "{value_ms} told as {told_ms}");
        }
    }

    #[test]
    fn values_outside_are_told_as_the_nearest_bucket() {
        let told = |value_ms| format!("{:.3}", Buckets::new([(value_ms, 1)]).percentile_ms(95.0));
        assert_eq!(told(0.0), "0.001");
        assert_eq!(told(1e9), "100000.000");
        assert_eq!(Buckets::new([]).percentile_ms(95.0), 0.0);
    }

    #[test]
    fn values_that_sysbench_printed_are_bucket_values() {
        for printed in ["12.52", "14.73", "13.46", "0.61", "0.38"] {
            let value_ms: f64 = printed.parse().unwrap();
            assert_eq!(format!("{:.2}", Buckets::new([(value_ms, 1)]).percentile_ms(95.0)), printed);
        }
    }

    #[test]
    fn bars_are_scaled_to_the_fullest_bucket() {
        let text = Buckets::new([(1.925, 71), (3.0, 36), (50.0, 1)]).text();
        let expected = format!(
            "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n       \
             1.925 |{} 71\n       3.020 |{:<40} 36\n      50.107 |{:<40} 1\n \n",
            "*".repeat(40),
            "*".repeat(20),
            "",
        );
        assert_eq!(text, expected);
    }
}
