//! Latencies in fixed memory.

use hdrhistogram::serialization::Serializer as _;
use hdrhistogram::serialization::V2DeflateSerializer;

/// Nanoseconds between 1 us and an hour with three significant digits; what lies outside is counted
/// apart and never clipped silently.
#[derive(Debug, Clone)]
pub struct Histogram {
    inside: hdrhistogram::Histogram<u64>,
    pub out_of_range: u64,
}

const LOWEST_NS: u64 = 1_000;
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for Histogram {
    fn default() -> Histogram {
        let inside = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds above are valid");
        Histogram { inside, out_of_range: 0 }
    }
}

impl Histogram {
    pub fn record(&mut self, value_ns: u64) {
        // Below the lowest value only the precision suffers; above the highest there is no bucket.
        if self.inside.record(value_ns).is_err() {
            self.out_of_range += 1;
        }
    }

    pub fn add(&mut self, other: &Histogram) {
        self.inside.add(&other.inside).expect("both have the same bounds");
        self.out_of_range += other.out_of_range;
    }

    pub fn count(&self) -> u64 {
        self.inside.len()
    }

    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        self.inside.value_at_quantile(quantile) as f64 / 1e6
    }

    pub fn mean_ms(&self) -> f64 {
        self.inside.mean() / 1e6
    }

    pub fn max_ms(&self) -> f64 {
        self.inside.max() as f64 / 1e6
    }

    /// HdrHistogram V2, compressed: readable by any HdrHistogram library, and mergeable.
    pub fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.inside, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }
}
