//! One sample of what the kernel counts, and what lies between two of them.
//!
//! The edges of an interval and its seconds are the same thing at different distances, so both are
//! read by the same sources and divided here, and a column of the seconds has the name of its metric.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::time::{Duration, Instant};

/// Something that can be read again and again at little cost. It adds the present values; what it cannot
/// see it leaves out.
pub trait Source: Send {
    fn sample(&mut self, sample: &mut Sample);

    /// Not so where a server is asked, which answers when it can.
    fn takes_no_time(&self) -> bool {
        true
    }
}

/// Everything that some sources showed at one time, by name with unit.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    seen: BTreeMap<String, Seen>,
}

#[derive(Debug, Clone, Copy)]
struct Seen {
    at: Instant,
    value: f64,
    of: Of,
}

/// The divisor when two samples are compared.
#[derive(Debug, Clone, Copy)]
enum Of {
    /// A count since boot, reported for each second.
    Second,
    /// Ticks of the CPUs, as a share of all `ticks` there were in the meantime.
    Cpus { ticks: f64 },
    /// A count since boot, stored as the count in between.
    Nothing,
    /// What is, now: nothing lies in between.
    Level,
}

/// Files of the kernel are read in less than a millisecond. Of a second, this is the error that a rate may have.
const READING_TIME_MAX: Duration = Duration::from_millis(50);
/// On a host where every reading takes long, the last one counts.
const READINGS_MAX: u32 = 3;

impl Sample {
    /// One sample from all of these. A thread that is put aside between a reading and its time gives a rate that never
    /// was, so what takes long is read again.
    pub fn at(sources: &mut [Box<dyn Source>]) -> Sample {
        let mut sample = Sample::default();
        for source in sources {
            let mut left = if source.takes_no_time() { READINGS_MAX } else { 1 };
            while left > 0 {
                let begun = Instant::now();
                source.sample(&mut sample);
                left = if begun.elapsed() < READING_TIME_MAX { 0 } else { left - 1 };
            }
        }
        sample
    }

    pub fn per_second(&mut self, name: impl Into<String>, count: f64) {
        self.add(name, count, Of::Second);
    }

    pub fn share_of_cpus(&mut self, name: impl Into<String>, ticks: u64, all_ticks: u64) {
        self.add(name, ticks as f64, Of::Cpus { ticks: all_ticks as f64 });
    }

    pub fn count(&mut self, name: impl Into<String>, count: f64) {
        self.add(name, count, Of::Nothing);
    }

    pub fn level(&mut self, name: impl Into<String>, value: f64) {
        self.add(name, value, Of::Level);
    }

    fn add(&mut self, name: impl Into<String>, value: f64, of: Of) {
        self.seen.insert(name.into(), Seen { at: Instant::now(), value, of });
    }

    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.seen.keys()
    }

    pub fn is_level(&self, name: &str) -> bool {
        self.seen.get(name).is_some_and(|seen| matches!(seen.of, Of::Level))
    }

    /// What happened between an earlier sample and this one, levels left out.
    pub fn since(&self, before: &Sample) -> BTreeMap<String, f64> {
        let counts = self.seen.iter().filter(|(_, seen)| !matches!(seen.of, Of::Level));
        counts.filter_map(|(name, _)| Some((name.clone(), self.value_since(before, name)?))).collect()
    }

    /// One column of a row: a level as it is, a count since the earlier sample.
    pub fn value_since(&self, before: &Sample, name: &str) -> Option<f64> {
        let now = self.seen.get(name)?;
        if let Of::Level = now.of {
            return Some(now.value);
        }
        let then = before.seen.get(name)?;
        // A count may go back, as iowait does on some kernels: that is none, and not less than none.
        let grown = (now.value - then.value).max(0.0);
        let divisor = match (now.of, then.of) {
            (Of::Cpus { ticks: now }, Of::Cpus { ticks: then }) => now - then,
            (Of::Second, _) => now.at.duration_since(then.at).as_secs_f64(),
            _ => 1.0,
        };
        (divisor > 0.0).then_some(grown / divisor)
    }

    /// Keeps the older value of what a newer sample left out.
    pub fn advance(&mut self, newer: Sample) {
        self.seen.extend(newer.seen);
    }
}

/// A file of the kernel that stays open: opening it costs more than reading it again.
pub struct Kept {
    file: File,
    text: Vec<u8>,
}

impl Kept {
    pub fn open(path: impl AsRef<Path>) -> Option<Kept> {
        let mut kept = Kept { file: File::open(path).ok()?, text: Vec::new() };
        kept.read().is_some().then_some(kept)
    }

    pub fn read(&mut self) -> Option<&[u8]> {
        self.text.clear();
        self.file.rewind().ok()?;
        self.file.read_to_end(&mut self.text).ok()?;
        Some(&self.text)
    }

    /// The whole file as one number.
    pub fn number(&mut self) -> Option<f64> {
        std::str::from_utf8(self.read()?).ok()?.trim().parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put aside during its first reading, as a thread on a busy host may be.
    struct PutAside(u32);

    impl Source for PutAside {
        fn sample(&mut self, sample: &mut Sample) {
            self.0 += 1;
            if self.0 == 1 {
                std::thread::sleep(READING_TIME_MAX);
            }
            sample.per_second("samples", f64::from(self.0));
        }
    }

    #[test]
    fn what_took_long_is_read_again() {
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(PutAside(0))];
        let value = |sample: &Sample| sample.seen["samples"].value;
        assert_eq!(value(&Sample::at(&mut sources)), 2.0);
        assert_eq!(value(&Sample::at(&mut sources)), 3.0);
    }

    #[test]
    fn two_looks_give_rates_shares_counts_and_levels() {
        let begun = Instant::now();
        let sample = |seconds, values: [f64; 4], ticks| {
            let at = begun + Duration::from_secs(seconds);
            let ofs = [Of::Second, Of::Cpus { ticks }, Of::Nothing, Of::Level];
            let names = ["rate", "share", "count", "level"];
            let seen = names.into_iter().zip(values).zip(ofs);
            Sample { seen: seen.map(|((name, value), of)| (name.to_owned(), Seen { at, value, of })).collect() }
        };
        let before = sample(0, [10.0, 100.0, 5.0, 7.0], 1000.0);
        let after = sample(4, [50.0, 150.0, 8.0, 3.0], 1800.0);
        let expected =
            [("rate", 10.0), ("share", 0.0625), ("count", 3.0)].map(|(name, value)| (name.to_owned(), value));
        assert_eq!(after.since(&before), BTreeMap::from(expected));
        assert_eq!((after.value_since(&before, "level"), after.is_level("level")), (Some(3.0), true));
        assert_eq!(after.value_since(&Sample::default(), "rate"), None, "nothing is known of what came before");
        let went_back = sample(5, [40.0, 150.0, 8.0, 3.0], 1800.0);
        assert_eq!((went_back.value_since(&after, "rate"), went_back.value_since(&after, "share")), (Some(0.0), None));
    }
}
