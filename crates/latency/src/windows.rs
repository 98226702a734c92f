//! Latencies of each window of a measured interval, and the log that keeps them (method, section 3).

use std::time::Duration;

use base64::Engine as _;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry};
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, OutOfRange};

/// One window, in a hundredth of the memory.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sealed {
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    encoded: Vec<u8>,
    out_of_range: OutOfRange,
}

impl Sealed {
    pub fn of(histogram: &Histogram) -> Sealed {
        Sealed { encoded: histogram.encoded(), out_of_range: histogram.out_of_range }
    }

    pub fn open(&self) -> Histogram {
        let mut decoded = Histogram::decoded(&self.encoded).expect("these bytes were encoded here");
        decoded.out_of_range = self.out_of_range;
        decoded
    }
}

fn to_text<S: serde::Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// Only of bytes that [`Sealed::open`] can read.
fn from_text<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let decoded = base64::engine::general_purpose::STANDARD.decode(String::deserialize(from)?).ok();
    let readable = decoded.filter(|bytes| Histogram::decoded(bytes).is_some());
    readable.ok_or_else(|| serde::de::Error::custom("no histogram of these bounds"))
}

/// The windows of an interval, in order and without a gap.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Windows {
    length_ns: u64,
    interval_ns: u64,
    sealed: Vec<Sealed>,
    late: u64,
}

/// Begins a line about the window below it, of values that its histogram has no place for.
const OUT_OF_RANGE: &str = "#[OutOfRange: ";
/// Largest values are reported in milliseconds.
const MAX_DIVISOR: f64 = 1e6;

impl Windows {
    pub fn new(length_ns: u64, interval_ns: u64, sealed: Vec<Sealed>, late: u64) -> Windows {
        Windows { length_ns, interval_ns, sealed, late }
    }

    /// Adds the latencies of the same interval that others have seen, window by window.
    pub fn add(&mut self, other: &Windows) {
        if self.sealed.is_empty() {
            self.clone_from(other);
            return;
        }
        self.interval_ns = self.interval_ns.max(other.interval_ns);
        self.late += other.late;
        for (number, theirs) in other.sealed.iter().enumerate() {
            let mut sum = theirs.open();
            match self.sealed.get_mut(number) {
                Some(mine) => {
                    sum.add(&mine.open());
                    *mine = Sealed::of(&sum);
                }
                None => self.sealed.push(theirs.clone()),
            }
        }
    }

    /// Transactions that stand in the window before theirs.
    pub fn late(&self) -> u64 {
        self.late
    }

    pub fn is_empty(&self) -> bool {
        self.sealed.is_empty()
    }

    /// As HdrHistogram's interval log, times in seconds since the interval's begin. A comment before a window
    /// counts what was out of range.
    pub fn log(&self) -> String {
        let (mut bytes, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
        let mut builder = IntervalLogWriterBuilder::new();
        builder.add_comment("[Histogram log format version 1.3]").with_max_value_divisor(MAX_DIVISOR);
        let in_memory = "writing to memory cannot fail";
        let mut writer = builder.begin_log_with(&mut bytes, &mut serializer).expect(in_memory);
        if self.late > 0 {
            let late = format!("{} transactions stand in the window before theirs", self.late);
            writer.write_comment(&late).expect(in_memory);
        }
        for (number, sealed) in self.sealed.iter().enumerate() {
            let start_ns = number as u64 * self.length_ns;
            let length_ns = self.length_ns.min(self.interval_ns.saturating_sub(start_ns));
            let (start, length) = (Duration::from_nanos(start_ns), Duration::from_nanos(length_ns));
            let OutOfRange { below, above } = sealed.out_of_range;
            if sealed.out_of_range.total() > 0 {
                let comment = format!("{}{below} below 1 us, {above} above 3600 s]", &OUT_OF_RANGE[1..]);
                writer.write_comment(&comment).expect(in_memory);
            }
            writer.write_histogram(&sealed.open().inside, start, length, None).expect(in_memory);
        }
        String::from_utf8(bytes).expect("the log is text")
    }
}

/// One window as a log has it.
#[derive(Debug, Clone)]
pub struct LatencyWindow {
    /// Since the interval's begin.
    pub start: Duration,
    pub length: Duration,
    pub latencies: Histogram,
}

/// The windows of a log, one after the other; `None` for a line that is none, and nothing behind it.
pub fn read_windows(log: &str) -> impl Iterator<Item = Option<LatencyWindow>> + '_ {
    let (mut lines, mut broken) = (log.split_inclusive('\n'), false);
    std::iter::from_fn(move || {
        let next = next_window(&mut lines).filter(|_| !broken)?;
        broken = next.is_none();
        Some(next)
    })
}

/// Nothing at the end of the log.
fn next_window<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<Option<LatencyWindow>> {
    let mut out_of_range = OutOfRange::default();
    for line in lines {
        if let Some(comment) = line.strip_prefix(OUT_OF_RANGE) {
            let Some(counted) = parse_out_of_range(comment) else { return Some(None) };
            out_of_range = counted;
        } else if !line.starts_with('#') {
            return Some(window_of(line, out_of_range));
        }
    }
    None
}

/// `3 below 1 us, 2 above 3600 s]`.
fn parse_out_of_range(comment: &str) -> Option<OutOfRange> {
    let (below, above) = comment.split_once(" below 1 us, ")?;
    let (above, _) = above.split_once(" above ")?;
    Some(OutOfRange { below: below.parse().ok()?, above: above.parse().ok()? })
}

fn window_of(line: &str, out_of_range: OutOfRange) -> Option<LatencyWindow> {
    let LogEntry::Interval(interval) = IntervalLogIterator::new(line.as_bytes()).next()?.ok()? else { return None };
    let encoded = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).ok()?;
    let mut latencies = Histogram::decoded(&encoded)?;
    latencies.out_of_range = out_of_range;
    Some(LatencyWindow { start: interval.start_timestamp(), length: interval.duration(), latencies })
}
