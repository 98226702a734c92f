//! `--log`: a file for each thread, with a line of each transaction or of each interval, as pgbench 15 writes them.
//!
//! Clients write nothing: their lines come in blocks, and are written by the thread that waits for the run's end.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use load::{LoggedTransaction, Outcome, Rng, monotonic_ns};

use super::figures::DEADLOCKS;
use super::options::{Logging, Request};

const US_PER_S: u64 = 1_000_000;

pub struct Log<'a> {
    request: &'a Request,
    logging: &'a Logging,
    files: Vec<BufWriter<File>>,
    /// By file: the interval under way.
    intervals: Vec<Interval>,
    /// Transactions of each client so far.
    counts: Vec<u64>,
    rng: Rng,
    /// What the time since 1970 is ahead of the clock of transactions.
    ahead_us: u64,
    failed: Option<io::Error>,
}

/// Sums of an interval.
#[derive(Debug, Clone, Default, PartialEq)]
struct Interval {
    start_us: u64,
    latency: Sum,
    lag: Sum,
    skipped: u64,
    retried: u64,
    retries: u64,
    serialization_failures: u64,
    deadlock_failures: u64,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Sum {
    count: u64,
    sum: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.most = if self.count == 0 { value } else { self.most.max(value) };
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    fn shown(&self) -> String {
        format!("{:.0} {:.0} {:.0} {:.0}", self.sum, self.squares, self.least, self.most)
    }
}

impl<'a> Log<'a> {
    /// Makes the files of so many threads; None unless the request asks for them.
    pub fn open(request: &'a Request, threads: usize, epoch_us: u64) -> io::Result<Option<Log<'a>>> {
        let Some(logging) = &request.log else { return Ok(None) };
        let name = |thread: usize| match thread {
            0 => format!("{}.{}", logging.prefix, std::process::id()),
            _ => format!("{}.{}.{thread}", logging.prefix, std::process::id()),
        };
        let files = (0..threads).map(|thread| File::create(name(thread)).map(BufWriter::new));
        Ok(Some(Log {
            request,
            logging,
            files: files.collect::<io::Result<_>>()?,
            intervals: vec![Interval { start_us: epoch_us, ..Interval::default() }; threads],
            counts: vec![0; request.clients as usize],
            rng: Rng::stream(request.seed.unwrap_or(epoch_us), u64::MAX, 0),
            ahead_us: epoch_us.saturating_sub(monotonic_ns() / 1_000),
            failed: None,
        }))
    }

    pub fn take(&mut self, thread: usize, one: &LoggedTransaction) {
        let number = &mut self.counts[one.client as usize];
        *number += 1;
        let number = *number;
        let at_us = one.timing.end_ns / 1_000 + self.ahead_us;
        let line = match self.logging.interval_s {
            Some(seconds) => self.intervals[thread].past(at_us, seconds),
            None if self.logging.sampling.is_some_and(|rate| self.rng.unit() > rate) => return,
            None => line(self.request, one, number, at_us),
        };
        if self.logging.interval_s.is_some() {
            self.intervals[thread].add(self.request, one);
        }
        let written = self.files[thread].write_all(line.as_bytes());
        self.failed = self.failed.take().or(written.err());
    }

    /// Ends the files, with the intervals that are over; the first error that any of them has met.
    pub fn end(mut self) -> io::Result<()> {
        if let Some(seconds) = self.logging.interval_s {
            let now_us = monotonic_ns() / 1_000 + self.ahead_us;
            for (file, interval) in self.files.iter_mut().zip(&mut self.intervals) {
                file.write_all(interval.past(now_us, seconds).as_bytes())?;
            }
        }
        let flushed = self.files.iter_mut().try_for_each(Write::flush);
        self.failed.map_or(flushed, Err)
    }
}

fn is_deadlock(one: &LoggedTransaction) -> bool {
    one.last_error.is_some_and(|code| DEADLOCKS.contains(&code.as_str()))
}

fn latency_us(one: &LoggedTransaction) -> f64 {
    ((one.timing.end_ns - one.timing.due_ns) / 1_000) as f64
}

fn lag_us(one: &LoggedTransaction) -> f64 {
    match one.outcome {
        Outcome::Skipped => 0.0,
        _ => ((one.timing.start_ns - one.timing.due_ns) / 1_000) as f64,
    }
}

/// `client number latency script seconds microseconds [lag] [retries]`
fn line(request: &Request, one: &LoggedTransaction, number: u64, at_us: u64) -> String {
    let latency = match one.outcome {
        Outcome::Skipped => "skipped".to_owned(),
        Outcome::Failed if !request.failures_detailed => "failed".to_owned(),
        Outcome::Failed => if is_deadlock(one) { "deadlock" } else { "serialization" }.to_owned(),
        Outcome::Committed | Outcome::RolledBack => format!("{:.0}", latency_us(one)),
    };
    let LoggedTransaction { client, kind, .. } = one;
    let mut line = format!("{client} {number} {latency} {kind} {} {}", at_us / US_PER_S, at_us % US_PER_S);
    if request.rate.is_some() {
        line += &format!(" {:.0}", lag_us(one));
    }
    if request.max_tries != 1 {
        line += &format!(" {}", one.retries);
    }
    line + "\n"
}

impl Interval {
    /// The lines of intervals that are over by now, each of so many seconds.
    fn past(&mut self, at_us: u64, seconds: u64) -> String {
        let mut lines = String::new();
        while self.start_us + seconds * US_PER_S <= at_us {
            lines += &self.shown();
            *self = Interval { start_us: self.start_us + seconds * US_PER_S, ..Interval::default() };
        }
        lines
    }

    fn add(&mut self, request: &Request, one: &LoggedTransaction) {
        if one.outcome == Outcome::Skipped {
            self.skipped += 1;
            return;
        }
        self.retried += u64::from(one.retries > 0);
        self.retries += one.retries;
        match one.outcome {
            Outcome::Failed if is_deadlock(one) => self.deadlock_failures += 1,
            Outcome::Failed => self.serialization_failures += 1,
            _ => {
                self.latency.add(latency_us(one));
                if request.rate.is_some() {
                    self.lag.add(lag_us(one));
                }
            }
        }
    }

    fn shown(&self) -> String {
        let Interval { skipped, retried, retries, serialization_failures, deadlock_failures, .. } = self;
        let (start_s, count) = (self.start_us / US_PER_S, self.latency.count);
        let (latency, lag) = (self.latency.shown(), self.lag.shown());
        format!(
            "{start_s} {count} {latency} {lag} {skipped} {retried} {retries} {serialization_failures} {deadlock_failures}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use driver::Code;
    use load::Timing;

    use super::*;

    fn one(outcome: Outcome, error: Option<&[u8]>) -> LoggedTransaction {
        let timing = Timing { due_ns: 1_000_000, start_ns: 1_250_000, end_ns: 3_000_000 };
        let retries = match (outcome, error) {
            (Outcome::Failed, Some(_)) => 2,
            (_, Some(_)) => 3,
            (_, None) => 0,
        };
        LoggedTransaction { client: 7, kind: 1, outcome, timing, retries, last_error: error.map(Code::new) }
    }

    #[test]
    fn lines_are_those_of_pgbench() {
        let plain = Request { max_tries: 1, ..Request::default() };
        let check = |request: &Request, one: &LoggedTransaction, expected: &str| {
            assert_eq!(line(request, one, 12, 1_700_000_000_000_042), format!("7 12 {expected}\n"));
        };
        check(&plain, &one(Outcome::Committed, None), "2000 1 1700000000 42");
        let all = Request { max_tries: 4, rate: Some(5.0), failures_detailed: true, ..Request::default() };
        check(&all, &one(Outcome::Committed, None), "2000 1 1700000000 42 250 0");
        check(&all, &one(Outcome::Skipped, None), "skipped 1 1700000000 42 0 0");
        check(&all, &one(Outcome::Failed, Some(b"40P01")), "deadlock 1 1700000000 42 250 2");
        check(&all, &one(Outcome::Failed, Some(b"40001")), "serialization 1 1700000000 42 250 2");
        check(&plain, &one(Outcome::Failed, Some(b"40001")), "failed 1 1700000000 42");
    }

    #[test]
    fn an_interval_has_fifteen_fields() {
        let request = Request { max_tries: 4, rate: Some(5.0), ..Request::default() };
        let mut interval = Interval { start_us: 10 * US_PER_S, ..Interval::default() };
        for (outcome, error) in [
            (Outcome::Committed, None),
            (Outcome::Committed, Some(b"40001".as_slice())),
            (Outcome::Failed, Some(b"40P01".as_slice())),
            (Outcome::Failed, Some(b"40001".as_slice())),
            (Outcome::Skipped, None),
        ] {
            interval.add(&request, &one(outcome, error));
        }
        assert_eq!(interval.past(11 * US_PER_S, 2), "");
        let lines = interval.past(14 * US_PER_S, 2);
        let expected = "10 2 4000 8000000 2000 2000 500 125000 250 250 1 3 7 1 1\n12 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        assert_eq!(lines, expected);
    }
}
