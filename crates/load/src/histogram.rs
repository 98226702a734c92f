//! Latencies in fixed memory.

use hdrhistogram::serialization::Serializer as _;
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};

/// Nanoseconds between 1 us and an hour with three significant digits; what lies outside is counted
/// apart and never clipped silently.
#[derive(Debug, Clone)]
pub struct Histogram {
    inside: hdrhistogram::Histogram<u64>,
    pub out_of_range: u64,
    /// Exact, where the buckets know three digits only.
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

const LOWEST_NS: u64 = 1_000;
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for Histogram {
    fn default() -> Histogram {
        let inside = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds above are valid");
        Histogram { inside, out_of_range: 0, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Histogram {
    pub fn record(&mut self, value_ns: u64) {
        self.sum_ns += value_ns;
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        // Below the lowest value only the precision suffers; above the highest there is no bucket.
        if self.inside.record(value_ns).is_err() {
            self.out_of_range += 1;
        }
    }

    pub fn add(&mut self, other: &Histogram) {
        self.inside.add(&other.inside).expect("both have the same bounds");
        self.out_of_range += other.out_of_range;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn count(&self) -> u64 {
        self.inside.len() + self.out_of_range
    }

    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        self.inside.value_at_quantile(quantile) as f64 / 1e6
    }

    /// 0 when nothing was recorded, like the two below.
    pub fn mean_ms(&self) -> f64 {
        self.sum_ms() / self.count().max(1) as f64
    }

    pub fn min_ms(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.min_ns as f64 / 1e6 }
    }

    pub fn max_ms(&self) -> f64 {
        self.max_ns as f64 / 1e6
    }

    pub fn sum_ms(&self) -> f64 {
        self.sum_ns as f64 / 1e6
    }

    /// Latencies in milliseconds with how often each was seen, ascending; within 0.1 %. What was out
    /// of range counts as the highest value there is.
    pub fn latencies_ms(&self) -> Vec<(f64, u64)> {
        let inside = self.inside.iter_recorded().map(|step| {
            let middle_ns = self.inside.median_equivalent(step.value_iterated_to());
            (middle_ns as f64 / 1e6, step.count_at_value())
        });
        let outside = (self.out_of_range > 0).then_some((self.max_ms(), self.out_of_range));
        inside.chain(outside).collect()
    }

    /// Reads back what [`Histogram::encoded`] wrote: its buckets, which know three digits. `None` of
    /// anything else.
    pub fn decoded(mut bytes: &[u8]) -> Option<Histogram> {
        let inside = Deserializer::new().deserialize(&mut bytes).ok()?;
        Some(Histogram { inside, ..Histogram::default() })
    }

    /// HdrHistogram V2, compressed: readable by any HdrHistogram library, and mergeable.
    pub fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.inside, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_comes_back_with_its_quantiles() {
        let mut histogram = Histogram::default();
        (1..=5000).for_each(|step| histogram.record(step * 7_919));
        let read = Histogram::decoded(&histogram.encoded()).unwrap();
        for quantile in [0.5, 0.95, 0.999] {
            assert_eq!(read.quantile_ms(quantile), histogram.quantile_ms(quantile));
        }
        assert_eq!(read.count(), 5000);
        assert!(Histogram::decoded(b"no histogram").is_none());
    }
}
