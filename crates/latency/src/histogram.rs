//! Latencies in fixed memory.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

/// Nanoseconds between 1 us and an hour with three significant digits; what lies outside is counted
/// apart and never clipped silently (method, section 3).
#[derive(Debug, Clone)]
pub struct Histogram {
    pub(crate) inside: hdrhistogram::Histogram<u64>,
    pub out_of_range: OutOfRange,
    /// Exact, where the buckets have three digits only.
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

/// What lies outside of the bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutOfRange {
    /// Below 1 us: in the buckets, whose steps are half a microsecond there.
    pub below: u64,
    /// Above an hour: in no bucket.
    pub above: u64,
}

impl OutOfRange {
    pub fn total(&self) -> u64 {
        self.below + self.above
    }
}

/// A quantile is reported when at least this many latencies lie above it.
const BEYOND_QUANTILE_MIN: f64 = 30.0;

const LOWEST_NS: u64 = 1_000;
const HIGHEST_NS: u64 = 3_600_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

impl Default for Histogram {
    fn default() -> Histogram {
        let inside = hdrhistogram::Histogram::new_with_bounds(LOWEST_NS, HIGHEST_NS, SIGNIFICANT_DIGITS)
            .expect("the bounds above are valid");
        Histogram { inside, out_of_range: OutOfRange::default(), sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Histogram {
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.sum_ns += value_ns;
        self.min_ns = self.min_ns.min(value_ns);
        self.max_ns = self.max_ns.max(value_ns);
        self.out_of_range.below += u64::from(value_ns < LOWEST_NS);
        // The library takes what still fits into its last bucket; the bound is the bound.
        if value_ns > HIGHEST_NS || self.inside.record(value_ns).is_err() {
            self.out_of_range.above += 1;
        }
    }

    /// Empty again, in the same memory.
    pub fn reset(&mut self) {
        self.inside.reset();
        self.out_of_range = OutOfRange::default();
        (self.sum_ns, self.min_ns, self.max_ns) = (0, u64::MAX, 0);
    }

    pub fn add(&mut self, other: &Histogram) {
        self.inside.add(&other.inside).expect("both have the same bounds");
        self.out_of_range.below += other.out_of_range.below;
        self.out_of_range.above += other.out_of_range.above;
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn count(&self) -> u64 {
        self.inside.len() + self.out_of_range.above
    }

    /// Whether enough latencies lie above a quantile for it to be reported (method, section 3).
    pub fn tells(&self, quantile: f64) -> bool {
        (1.0 - quantile) * self.count() as f64 >= BEYOND_QUANTILE_MIN
    }

    /// The upper bound of its bucket, and no more than the largest latency. One that lies above the highest value is
    /// reported as the highest: it is no less, and the count of such values stands beside it.
    pub fn quantile_ms(&self, quantile: f64) -> f64 {
        if self.out_of_range.above == 0 {
            return self.inside.value_at_quantile(quantile).min(self.max_ns) as f64 / 1e6;
        }
        let among_inside = quantile * self.count() as f64 / self.inside.len().max(1) as f64;
        let is_inside = among_inside <= 1.0 && !self.inside.is_empty();
        (if is_inside { self.inside.value_at_quantile(among_inside) } else { HIGHEST_NS }) as f64 / 1e6
    }

    /// What clients of a closed loop would have seen that began a transaction every `interval_ns` whatever the
    /// server did: for each latency that is longer, those of the transactions that it kept from being sent are
    /// added. This is the HdrHistogram library's correction after recording (Tene: "coordinated omission"), and
    /// a guess: these transactions were never sent.
    pub fn corrected(&self, interval_ns: u64) -> Histogram {
        Histogram { inside: self.inside.clone_correct(interval_ns), ..self.clone() }
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
    /// Equal latencies have equal steps in every histogram, so that one can be taken out of another.
    pub fn latencies_ms(&self) -> Vec<(f64, u64)> {
        let inside = self.inside.iter_recorded().map(|step| {
            let middle_ns = self.inside.median_equivalent(step.value_iterated_to());
            (middle_ns as f64 / 1e6, step.count_at_value())
        });
        let outside = (self.out_of_range.above > 0).then_some((self.max_ms(), self.out_of_range.above));
        inside.chain(outside).collect()
    }

    /// How many are longer, within 0.1 % of the limit.
    pub fn count_above(&self, limit: Duration) -> u64 {
        let limit_ms = limit.as_secs_f64() * 1e3;
        self.latencies_ms().iter().filter(|(ms, _)| *ms > limit_ms).map(|(_, count)| count).sum()
    }

    /// HdrHistogram V2, compressed: readable by any HdrHistogram library, and mergeable. What was out of range
    /// is not in it.
    pub fn encoded(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.inside, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }

    /// Reads an HdrHistogram in any of its encodings. What is read has three digits of everything, and
    /// nothing of what was out of range. `None` of anything else, and of one with other bounds.
    pub fn decoded(mut bytes: &[u8]) -> Option<Histogram> {
        let inside: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut bytes).ok()?;
        let empty = Histogram::default();
        let bounds = |one: &hdrhistogram::Histogram<u64>| (one.low(), one.sigfig(), one.distinct_values());
        if bounds(&inside) != bounds(&empty.inside) {
            return None;
        }
        if inside.is_empty() {
            return Some(empty);
        }
        let sum_ns = (inside.mean() * inside.len() as f64) as u64;
        let (min_ns, max_ns) = (inside.min(), inside.max());
        Some(Histogram { inside, sum_ns, min_ns, max_ns, ..empty })
    }
}

/// A histogram on its way to another process: the buckets, and the exact values that they do not hold.
#[derive(Serialize, Deserialize)]
struct Travelling {
    buckets: String,
    out_of_range: OutOfRange,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Histogram { out_of_range, sum_ns, min_ns, max_ns, .. } = *self;
        Travelling { buckets: STANDARD.encode(self.encoded()), out_of_range, sum_ns, min_ns, max_ns }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Histogram, D::Error> {
        let Travelling { buckets, out_of_range, sum_ns, min_ns, max_ns } = Travelling::deserialize(from)?;
        let read = STANDARD.decode(buckets).ok().and_then(|bytes| Histogram::decoded(&bytes));
        let read = read.ok_or_else(|| D::Error::custom("no histogram of these bounds"))?;
        Ok(Histogram { inside: read.inside, out_of_range, sum_ns, min_ns, max_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_out_of_range_is_counted_and_never_clipped() {
        let hour_ms = 3_600_000.0;
        let mut histogram = Histogram::default();
        (0..90).for_each(|_| histogram.record(2_000_000));
        assert_eq!((histogram.out_of_range.total(), histogram.quantile_ms(1.0).round()), (0, 2.0));
        (0..4).for_each(|_| histogram.record(300));
        (0..6).for_each(|_| histogram.record(HIGHEST_NS + 1));
        assert_eq!(histogram.out_of_range, OutOfRange { below: 4, above: 6 });
        assert_eq!((histogram.count(), histogram.max_ms()), (100, (HIGHEST_NS + 1) as f64 / 1e6));
        // 94 of 100 are below an hour.
        assert!(histogram.quantile_ms(0.93) < 3.0, "{}", histogram.quantile_ms(0.93));
        assert_eq!(histogram.quantile_ms(0.95), hour_ms);
        let mut sum = Histogram::default();
        sum.add(&histogram);
        sum.add(&histogram);
        assert_eq!((sum.out_of_range.total(), sum.count()), (20, 200));
        sum.reset();
        assert_eq!((sum.out_of_range.total(), sum.count(), sum.max_ms()), (0, 0, 0.0));
    }

    #[test]
    fn equal_latencies_are_above_a_limit_in_every_histogram_or_in_none() {
        let (mut alone, mut among) = (Histogram::default(), Histogram::default());
        // Below the limit, in a bucket whose middle lies above it.
        let (latency_ns, limit) = (15_000_001, Duration::from_nanos(15_001_000));
        alone.record(latency_ns);
        [latency_ns, 90_000_000].into_iter().for_each(|one| among.record(one));
        assert_eq!(among.count_above(limit) - alone.count_above(limit), 1);
        assert_eq!(among.latencies_ms()[0], alone.latencies_ms()[0]);
    }

    #[test]
    fn no_quantile_lies_above_the_largest_latency() {
        for latency_ns in [1_500, 1_234_567, 108_912_345, 167_812_345_678] {
            let mut histogram = Histogram::default();
            (0..100).for_each(|_| histogram.record(latency_ns));
            let max_ms = histogram.max_ms();
            for quantile in [0.5, 0.99, 0.999, 1.0] {
                assert!(histogram.quantile_ms(quantile) <= max_ms, "{latency_ns}");
            }
        }
    }

    #[test]
    fn what_only_lies_above_has_no_quantile_below() {
        let mut histogram = Histogram::default();
        histogram.record(u64::MAX / 2);
        assert_eq!(histogram.quantile_ms(0.5), 3_600_000.0);
    }

    #[test]
    fn a_stall_weighs_as_much_as_the_transactions_that_it_kept_from_being_sent() {
        // Tene's example: 10,000 answers of a millisecond, and one of 100 s; expected was one every 10 ms.
        let mut seen = Histogram::default();
        (0..10_000).for_each(|_| seen.record(1_000_000));
        seen.record(100_000_000_000);
        let corrected = seen.corrected(10_000_000);
        // A bucket is 67 ms wide at 100 s, so there are a few more than 9,999.
        assert!((20_000..20_010).contains(&corrected.count()), "{}", corrected.count());
        assert!(seen.quantile_ms(0.99) < 1.01);
        let p99 = corrected.quantile_ms(0.99);
        assert!((97_900.0..98_150.0).contains(&p99), "half of all spread over 100 s: {p99}");
        // A quicker server than expected has nothing to be corrected.
        assert_eq!(seen.corrected(200_000_000_000).count(), seen.count());
    }

    #[test]
    fn a_histogram_comes_back_with_its_quantiles() {
        let mut histogram = Histogram::default();
        (1..=5000).for_each(|step| histogram.record(step * 7_919));
        let read = Histogram::decoded(&histogram.encoded()).unwrap();
        for quantile in [0.5, 0.95, 0.999] {
            assert_eq!(read.quantile_ms(quantile), histogram.quantile_ms(quantile));
        }
        assert_eq!(read.count(), 5000);
        assert!((read.mean_ms() / histogram.mean_ms() - 1.0).abs() < 0.001);
        assert!((read.max_ms() / histogram.max_ms() - 1.0).abs() < 0.001);
        assert_eq!(Histogram::decoded(&Histogram::default().encoded()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_histogram_is_not_read() {
        assert!(Histogram::decoded(b"no histogram").is_none());
    }
}
