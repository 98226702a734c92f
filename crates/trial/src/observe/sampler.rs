//! A thread that samples once a second while the interval lasts.
//!
//! Its seconds are those of the load's series: the first begins where the interval does. What it costs
//! is measured by its own clock, because it runs where the duel runs.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use load::thread_cpu_ns;

use super::sample::{Sample, Source};
use record::format::Series;

const SECOND: Duration = Duration::from_secs(1);
/// What is left of an interval behind its last whole second makes a row of its own if it is this long.
const REST_MIN: Duration = Duration::from_millis(100);

/// The thread while it samples.
pub struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<Sampled>,
}

/// What it saw.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sampled {
    /// A row for each second; NaN where a source had nothing to show.
    pub seconds: Series,
    /// Means over the seconds of what is, rather than happens.
    pub levels: BTreeMap<String, f64>,
    /// Of this thread itself.
    pub cpu_us_per_s: f64,
}

impl Sampler {
    /// The interval begins when this returns. None where there is nothing to sample, or no thread to be had.
    pub fn begin(mut sources: Vec<Box<dyn Source>>) -> Option<Sampler> {
        let before = Sample::at(&mut sources);
        before.names().next()?;
        let (stop, stopped) = channel();
        let begun = Instant::now();
        let work = move || sample_until_stopped(&mut sources, before, begun, &stopped);
        let thread = std::thread::Builder::new().name("observe".to_owned()).spawn(work).ok()?;
        Some(Sampler { stop, thread })
    }

    /// The interval ends here; the thread takes its last row and ends while others are still reading.
    pub fn stop(&self) {
        // A thread that has ended already needs no signal.
        let _ = self.stop.send(());
    }

    pub fn end(self) -> Sampled {
        self.stop();
        self.thread.join().unwrap_or_default()
    }
}

fn sample_until_stopped(
    sources: &mut [Box<dyn Source>],
    mut before: Sample,
    begun: Instant,
    stopped: &Receiver<()>,
) -> Sampled {
    let cpu_before_ns = thread_cpu_ns();
    let columns: Vec<String> = before.names().cloned().collect();
    let mut rows = Vec::new();
    let (mut second, mut last) = (0, begun);
    loop {
        let ends_at = begun + SECOND * (second + 1);
        let is_over =
            stopped.recv_timeout(ends_at.saturating_duration_since(Instant::now())) != Err(RecvTimeoutError::Timeout);
        let now = Instant::now();
        if !is_over || now.duration_since(last) >= REST_MIN {
            let sample = Sample::at(sources);
            let value = |name: &String| sample.value_since(&before, name).unwrap_or(f64::NAN);
            rows.push(std::iter::once(f64::from(second)).chain(columns.iter().map(value)).collect());
            before.advance(sample);
        }
        if is_over {
            break;
        }
        // One that woke too late goes on with the second that it is in: there is a gap, not a wrong row.
        second = (second + 1).max(now.duration_since(begun).as_secs() as u32);
        // Reading may take long on a busy host, and the interval may end meanwhile: that is no rest of it.
        last = Instant::now();
    }
    let cpu_us = (thread_cpu_ns() - cpu_before_ns) as f64 / 1e3;
    Sampled {
        levels: means(&columns, &rows, &before),
        cpu_us_per_s: cpu_us / begun.elapsed().as_secs_f64(),
        seconds: Series { columns: std::iter::once("second".to_owned()).chain(columns).collect(), rows },
    }
}

fn means(columns: &[String], rows: &[Vec<f64>], sample: &Sample) -> BTreeMap<String, f64> {
    let levels = columns.iter().enumerate().filter(|(_, name)| sample.is_level(name));
    let mean = |(index, name): (usize, &String)| {
        let seen: Vec<f64> = rows.iter().map(|row| row[index + 1]).filter(|value| !value.is_nan()).collect();
        (!seen.is_empty()).then(|| (name.clone(), seen.iter().sum::<f64>() / seen.len() as f64))
    };
    levels.filter_map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts one up for each sample, and shows a level in every other.
    struct Steps(u32);

    impl Source for Steps {
        fn sample(&mut self, sample: &mut Sample) {
            self.0 += 1;
            sample.count("steps", f64::from(self.0));
            if self.0 % 2 == 1 {
                sample.level("odd", f64::from(self.0));
            }
        }
    }

    #[test]
    fn each_second_has_its_row_and_the_rest_has_one_too() {
        let sampler = Sampler::begin(vec![Box::new(Steps(0))]).unwrap();
        // The thread ends by itself once its rows are there; what is awaited is time as such.
        std::thread::sleep(Duration::from_millis(2500));
        let sampled = sampler.end();
        assert_eq!(sampled.seconds.columns, ["second", "odd", "steps"]);
        let seconds: Vec<f64> = sampled.seconds.rows.iter().map(|row| row[0]).collect();
        assert_eq!(seconds, [0.0, 1.0, 2.0]);
        assert!(sampled.seconds.rows.iter().all(|row| row[2] == 1.0), "{:?}", sampled.seconds.rows);
        assert!(sampled.seconds.rows[0][1].is_nan() && sampled.seconds.rows[1][1] == 3.0);
        assert_eq!(sampled.levels, BTreeMap::from([("odd".to_owned(), 3.0)]));
        assert!(sampled.cpu_us_per_s > 0.0);
    }

    #[test]
    fn where_nothing_can_be_seen_nothing_watches() {
        assert!(Sampler::begin(Vec::new()).is_none());
    }
}
