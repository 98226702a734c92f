//! Files of logs: compressed or not, in the order of their times, each read once through a buffer.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::bufread::MultiGzDecoder;
use thiserror::Error;

use crate::event::{Act, Event, Found, Problem, What, hash_of};
use crate::format::{Format, Reading, describe, detect};
use crate::modes::Modes;
use crate::pg_stderr::Prefix;
use crate::tokens::Dialect;

/// What is read of a log, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// None: seen in each file.
    pub format: Option<Format>,
    pub reading: Reading,
    pub merge_numbered_names: bool,
    /// Entries that may be bad, as a share of all; 1 % without it.
    pub max_bad: Option<f64>,
}

/// Why logs are not read.
#[derive(Debug, Error)]
pub enum Refused {
    #[error("{0}")]
    Usage(String),
    #[error("cannot read {path}\nbecause: {cause}", path = path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("cannot write {path}\nbecause: {cause}", path = path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
}

/// What reading has met beside entries.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    pub files: Vec<FileRead>,
    pub entries: u64,
    pub statements: u64,
    /// Entries that two files hold; each was taken once.
    pub overlapping: u64,
    pub bad_entries: u64,
    pub is_coarse: bool,
    /// The first of them, with the file.
    pub problems: Vec<(PathBuf, Problem)>,
    pub problems_found: u64,
}

#[derive(Debug, Clone)]
pub struct FileRead {
    pub path: PathBuf,
    pub format: Format,
    /// After decompression.
    pub bytes: u64,
}

/// Problems that are printed; the rest are counted.
pub const PROBLEMS_SHOWN: usize = 20;

const HEAD: usize = 64 * 1024;
const BUFFER: usize = 1024 * 1024;
const BUFFER_MAX: usize = 128 * 1024 * 1024;

/// Opens a file, compressed by gzip, by zstd or not at all: its first bytes decide, whatever its name is.
fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::with_capacity(HEAD, File::open(path)?);
    let head = file.fill_buf()?;
    if head.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::with_capacity(HEAD, MultiGzDecoder::new(file))));
    }
    if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Ok(Box::new(BufReader::with_capacity(HEAD, zstd::Decoder::with_buffer(file)?)));
    }
    Ok(Box::new(file))
}

/// A log whose format is known and of which nothing is read yet.
struct Log {
    path: PathBuf,
    format: Format,
    reading: Reading,
    /// The first stamp; where stamps of whole seconds are equal, the file that was written to last comes last.
    order: (i64, Option<SystemTime>),
}

impl Log {
    fn at(path: &Path, options: &Options) -> Result<Log, Refused> {
        let unreadable = |cause| Refused::Unreadable { path: path.to_owned(), cause };
        let mut head = Vec::new();
        open(path).and_then(|file| file.take(BUFFER as u64).read_to_end(&mut head)).map_err(unreadable)?;
        let mut reading = options.reading.clone();
        if reading.prefix.is_none() {
            reading.prefix = head.split(|byte| *byte == b'\n').take(200).find_map(Prefix::usual);
        }
        let format = format_of(path, &head, &reading, options)?;
        let written = std::fs::metadata(path).and_then(|about| about.modified()).ok();
        let order = (first_us(&head, format, &reading), written);
        Ok(Log { path: path.to_owned(), format, reading, order })
    }
}

fn format_of(path: &Path, head: &[u8], reading: &Reading, options: &Options) -> Result<Format, Refused> {
    let found = detect(head, reading.prefix.as_ref());
    let name = path.display();
    match (options.format, found) {
        _ if head.is_empty() => Err(Refused::Usage(format!("{name} is empty"))),
        (Some(asked), Some(found)) if asked != found => Err(Refused::Usage(format!(
            "{name} is no {} log, but looks like {}\n{}\n  next: leave out --format, or give --format {}",
            asked.name(),
            found.name(),
            describe(head).lines().next().unwrap_or_default(),
            found.name()
        ))),
        (Some(_) | None, Some(found)) => Ok(found),
        (_, None) => Err(Refused::Usage(format!("{name} is no log that dbduel reads\n{}", describe(head)))),
    }
}

/// The time of the first entry; files without one come last.
fn first_us(head: &[u8], format: Format, reading: &Reading) -> i64 {
    let mut first = None;
    format.reader(reading).read(head, false, &mut |found| {
        if let Found::Event(event) = found
            && event.act != Act::Restart
        {
            first.get_or_insert(event.logged_us);
        }
    });
    first.unwrap_or(i64::MAX)
}

/// Reads all logs in the order of their first entries and hands each event on with its dialect.
pub fn read_logs(
    paths: &[PathBuf],
    options: &Options,
    sink: &mut dyn FnMut(&Event<'_>, Format, Dialect),
) -> Result<Summary, Refused> {
    let mut logs = paths.iter().map(|path| Log::at(path, options)).collect::<Result<Vec<Log>, Refused>>()?;
    if let Some(other) = logs.iter().find(|log| log.format.is_mysql() != logs[0].format.is_mysql()) {
        let (first, other) = (logs[0].path.display(), other.path.display());
        return Err(Refused::Usage(format!("{first} and {other} are logs of different servers: read them one by one")));
    }
    logs.sort_by_key(|log| log.order);
    let mut summary = Summary::default();
    let mut overlap = Overlap::default();
    let mut modes = Format::ALL.map(|format| Modes::new(options.reading.dialect(format)));
    for (index, log) in logs.iter().enumerate() {
        overlap.next_starts_us = logs.get(index + 1).map_or(i64::MAX, |next| next.order.0);
        read_log(log, &mut overlap, &mut modes[log.format as usize], &mut summary, sink)?;
        overlap.seen = std::mem::take(&mut overlap.kept);
    }
    summary.expect_few_bad(options.max_bad.unwrap_or(0.01))?;
    Ok(summary)
}

fn read_log(
    log: &Log,
    overlap: &mut Overlap,
    modes: &mut Modes,
    summary: &mut Summary,
    sink: &mut dyn FnMut(&Event<'_>, Format, Dialect),
) -> Result<(), Refused> {
    let unreadable = |cause| Refused::Unreadable { path: log.path.clone(), cause };
    let mut file = open(&log.path).map_err(unreadable)?;
    let mut clock = Clock::default();
    let mut reader = log.format.reader(&log.reading);
    let mut bytes = 0;
    let number = summary.files.len() as u32;
    let mut found = |found: Found<'_>| match found {
        Found::Problem(problem) => summary.add(&log.path, problem),
        Found::Event(mut event) => {
            if let Some(problem) = clock.set(&mut event) {
                summary.add(&log.path, problem);
            }
            event.file = number;
            summary.entries += 1;
            if overlap.holds(&event) {
                summary.overlapping += 1;
                return;
            }
            summary.statements += u64::from(event.act.is_statement());
            summary.is_coarse |= event.is_coarse;
            modes.note(event.act, event.session, event.text);
            sink(&event, log.format, modes.of_session(event.session));
        }
    };
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut is_read = false;
    while !is_read || !buffer.is_empty() {
        if buffer.len() == buffer.capacity() {
            buffer.reserve_exact(buffer.len());
        }
        let room = (buffer.capacity() - buffer.len()) as u64;
        let length = file.by_ref().take(room).read_to_end(&mut buffer).map_err(unreadable)?;
        is_read = length == 0;
        bytes += length as u64;
        let taken = reader.read(&buffer, is_read || buffer.len() >= BUFFER_MAX, &mut found);
        buffer.drain(..taken);
    }
    summary.files.push(FileRead { path: log.path.clone(), format: log.format, bytes });
    Ok(())
}

impl Summary {
    fn add(&mut self, path: &Path, problem: Problem) {
        self.problems_found += 1;
        self.bad_entries += u64::from(problem.what.is_bad_entry());
        if self.problems.len() < PROBLEMS_SHOWN {
            self.problems.push((path.to_owned(), problem));
        }
    }

    fn expect_few_bad(&self, max_bad: f64) -> Result<(), Refused> {
        let all = self.entries + self.bad_entries;
        if self.bad_entries as f64 <= max_bad * all as f64 {
            return Ok(());
        }
        Err(Refused::Usage(format!(
            "{} of {all} entries cannot be read, more than {}%\n{}\n  next: mend the log, or accept them with --max-bad",
            self.bad_entries,
            max_bad * 100.0,
            self.problem_lines().join("\n")
        )))
    }

    /// `slow.log:18233: quote opened here …`, and how many there are beyond those.
    pub fn problem_lines(&self) -> Vec<String> {
        let shown = self.problems.iter();
        let mut lines: Vec<String> =
            shown.map(|(path, problem)| format!("{}:{}: {}", path.display(), problem.line, problem.what)).collect();
        let more = self.problems_found - self.problems.len() as u64;
        if more > 0 {
            lines.push(format!("and {more} more"));
        }
        lines
    }
}

/// Keeps times from going back by more than a little: a change from summer time, or of the clock, in the middle of a
/// file would put statements before those that ran earlier.
#[derive(Default)]
struct Clock {
    last_us: i64,
    shift_us: i64,
}

const BACK_ALLOWED_US: i64 = 2_000_000;

impl Clock {
    fn set(&mut self, event: &mut Event<'_>) -> Option<Problem> {
        if event.act == Act::Restart {
            return None;
        }
        let back_us = self.last_us - (event.logged_us + self.shift_us);
        let went_back = back_us > BACK_ALLOWED_US;
        if went_back {
            self.shift_us += back_us;
        }
        event.start_us += self.shift_us;
        event.logged_us += self.shift_us;
        self.last_us = self.last_us.max(event.logged_us);
        let secs = (back_us / 1_000_000) as u64;
        went_back.then_some(Problem { line: event.line, what: What::TimeBack { secs } })
    }
}

/// Entries that two files of a series both hold, as after a copy of a log that is still written.
#[derive(Default)]
struct Overlap {
    next_starts_us: i64,
    /// Of earlier files, from the start of the present one on.
    seen: HashMap<u64, u32>,
    /// Of this file, from the start of the next one on.
    kept: HashMap<u64, u32>,
}

impl Overlap {
    /// Whether an earlier file holds the entry too.
    fn holds(&mut self, event: &Event<'_>) -> bool {
        let is_kept = event.logged_us > self.next_starts_us;
        if !is_kept && self.seen.is_empty() {
            return false;
        }
        let stamp = [event.session, event.logged_us as u64, event.duration_us.unwrap_or(0), event.act as u64];
        let hash = stamp
            .iter()
            .fold(hash_of(event.text), |hash, part| (hash ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        if is_kept {
            *self.kept.entry(hash).or_default() += 1;
        }
        let count = self.seen.get_mut(&hash).filter(|count| **count > 0);
        count.map(|count| *count -= 1).is_some()
    }
}
