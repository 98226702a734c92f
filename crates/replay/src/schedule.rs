//! What is replayed, as it lies in memory while the clock runs: nothing of it changes, and nothing is read from a file.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use capture::{Bound, Dialect};

use crate::digest::About;
use crate::options::StatementLimit;

/// When something began and ended in the log: microseconds since 1970, or places in its files where its stamps are coarse.
pub type Span = (i64, i64);

/// A text, or a value of a parameter, among the bytes of the schedule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Text {
    pub start: u64,
    pub length: u32,
}

/// How a statement is sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum How {
    #[default]
    Text,
    /// By the prepared statement of this number in its session.
    Prepared(u32),
    /// The same, of a log that has the values in the text.
    PreparedAgain(u32),
    /// Parsed for this execution alone.
    Unnamed,
    /// It makes another database the session's: that of this number, or the target's where the log has one only.
    Use(u32),
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Statement {
    /// When its client sent it, in microseconds since the log began.
    pub due_us: u64,
    pub text: Text,
    /// Its parameters among the values of the schedule.
    pub values: (u32, u16),
    pub digest: u32,
    pub how: How,
    /// Otherwise it is sent for what the session had from before the log began, and not counted.
    pub is_counted: bool,
    /// The error that it had in the log: a SQLSTATE, or a number with blanks behind it.
    pub error: Option<[u8; 5]>,
    /// Rows that it returned or changed in the log.
    pub rows: Option<u32>,
    pub affected: Option<u32>,
    /// The number of its log, and the line of its entry.
    pub log: u32,
    pub line: u64,
}

impl Statement {
    /// The values that its text does not have.
    pub fn apart(&self) -> (u32, u16) {
        match self.how {
            How::PreparedAgain(_) => (self.values.0, 0),
            _ => self.values,
        }
    }
}

/// A statement before its session is whole.
pub struct Raw {
    pub session: u64,
    pub transaction: u64,
    pub ends: bool,
    pub start_us: i64,
    pub duration_us: u64,
    /// The number of its database, from 1 on.
    pub database: u32,
    /// Where its entry stands in the logs.
    pub place: i64,
    pub statement: Statement,
}

impl Raw {
    pub fn end_us(&self) -> i64 {
        self.start_us + self.duration_us as i64
    }
}

pub type Parameter = Bound<Text>;

#[derive(Debug, Clone)]
pub struct Transaction {
    pub statements: Range<u32>,
    /// It is the last one of its session, and the log does not show its end.
    pub is_left_open: bool,
    pub rolls_back: bool,
    pub unit: u32,
    pub begins_unit: bool,
    pub ends_unit: bool,
}

#[derive(Debug, Clone)]
pub struct Session {
    /// When it connected, in microseconds since the log began.
    pub due_us: u64,
    /// Its first database, where the log has several.
    pub database: Option<u32>,
    pub transactions: Range<u32>,
    /// Texts of its prepared statements.
    pub prepared: Range<u32>,
}

/// Counts of what is replayed, and of what is not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub statements: u64,
    pub span_us: u64,
    pub is_coarse: bool,
    /// How much of gaps without statements is cut.
    pub cut_us: u64,
    /// By how much the data are older than the log.
    pub data_are_older_us: Option<i64>,
    /// What of the log is left out: a kind, how often, and why.
    pub left_out: Vec<(String, u64, String)>,
    /// A statement that may change data, literals taken out.
    pub writes: Option<String>,
    /// With `portable`: how much of what would be replayed is.
    pub portable: Option<Portable>,
    /// With `prepare`: statements whose literals are parameters again.
    pub prepared: Option<u64>,
    /// Sessions that share connections, of so many.
    pub sharing: Option<(usize, usize)>,
    /// Longest time without the end of a transaction, and longest duration of a statement.
    pub quiet_us: u64,
    pub longest_us: u64,
}

/// Statements that both MySQL and PostgreSQL read, of all that would be replayed otherwise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Portable {
    pub calls: [u64; 2],
    pub us: [u64; 2],
}

impl Portable {
    pub fn add(&mut self, is_portable: bool, us: u64) {
        for ([part, all], one) in [(&mut self.calls, 1), (&mut self.us, us)] {
            *part += one * u64::from(is_portable);
            *all += one;
        }
    }

    /// In calls and in time; a log without durations has the first alone.
    pub fn shares(&self) -> [Option<f64>; 2] {
        [self.calls, self.us].map(|[part, all]| (all > 0).then(|| part as f64 / all as f64))
    }
}

/// The limit of a statement that has none, as a time.
pub const NO_LIMIT: u64 = u64::MAX;
/// A server that is this much slower than the one of the log is still at work.
pub const SLOWER_MAX: u32 = 10;
/// No statement is cancelled earlier unless it is asked for.
pub const STATEMENT_LIMIT_MIN: Duration = Duration::from_secs(60);

/// What digests are called together that are not timed apart.
const OTHERS: &str = "others";

#[derive(Debug, Clone, Default)]
pub struct Schedule {
    /// What it is sent to is MySQL or MariaDB; else PostgreSQL.
    pub is_mysql: bool,
    /// Paths of the logs.
    pub logs: Vec<String>,
    /// When its first statement began, in microseconds since 1970.
    pub first_us: i64,
    /// Databases of the log by name; with one only, sessions are in the target's.
    pub databases: Vec<String>,
    /// The sessions of each client, one after the other.
    pub clients: Vec<Vec<u32>>,
    pub sessions: Vec<Session>,
    pub transactions: Vec<Transaction>,
    pub statements: Vec<Statement>,
    pub prepared: Vec<Text>,
    /// Parameters of all statements.
    pub values: Vec<Parameter>,
    pub texts: Vec<u8>,
    pub digests: Vec<About>,
    /// Of each digest its place among those that are timed.
    pub timed: Vec<u32>,
    /// When each unit began and ended in the log.
    pub units: Vec<Span>,
    pub facts: Facts,
    /// Due times from which on so much is cut.
    pub cuts: Vec<(u64, u64)>,
    /// What servers are asked to explain.
    pub samples: Vec<Sample>,
    /// With `portable`: the same for the other kind of server.
    pub for_other_kind: Option<Arc<Schedule>>,
}

/// An execution that stands for those of its digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    pub digest: u32,
    /// Which it is by its time in the log: `` (the median), `p95`, `longest`.
    pub which: &'static str,
    pub text: Text,
    pub values: (u32, u16),
    /// The number of its database, where the log has several.
    pub database: Option<u32>,
}

impl Schedule {
    /// How what it is sent to reads SQL.
    pub fn dialect(&self) -> Dialect {
        if self.is_mysql { Dialect::MYSQL } else { Dialect::Postgres }
    }

    /// As a server of this kind is sent it; None where it can be sent to the other kind only.
    pub fn for_kind(self: &Arc<Schedule>, is_mysql: bool) -> Option<&Arc<Schedule>> {
        if self.is_mysql == is_mysql { Some(self) } else { self.for_other_kind.as_ref() }
    }

    pub fn bytes(&self, text: Text) -> &[u8] {
        &self.texts[text.start as usize..][..text.length as usize]
    }

    pub fn statements_of(&self, transaction: &Transaction) -> &[Statement] {
        &self.statements[transaction.statements.start as usize..transaction.statements.end as usize]
    }

    /// When its first statement is due.
    pub fn begin_us(&self, transaction: &Transaction) -> u64 {
        self.statements_of(transaction).first().map_or(0, |statement| statement.due_us)
    }

    /// How long a statement may run: so many times the longest of its digest in the log, or the same for all.
    pub fn statement_limit_ns(&self, statement: &Statement, limit: StatementLimit) -> u64 {
        match limit {
            StatementLimit::Off => NO_LIMIT,
            StatementLimit::Of(limit) => limit.as_nanos() as u64,
            StatementLimit::ByLog => {
                let longest_us = self.digests[statement.digest as usize].longest_us;
                let longest = Duration::from_micros(longest_us) * SLOWER_MAX;
                longest.max(STATEMENT_LIMIT_MIN).as_nanos() as u64
            }
        }
    }

    /// When something that is due then was in the log, in microseconds since 1970.
    pub fn log_us(&self, due_us: u64) -> i64 {
        let before = self.cuts.partition_point(|(from_us, _)| *from_us <= due_us);
        let cut_us = before.checked_sub(1).map_or(0, |at| self.cuts[at].1);
        self.first_us + (due_us + cut_us) as i64
    }

    /// The place of a digest among those that are timed; the others share the last one.
    pub fn timed_as(&self, digest: u32) -> usize {
        self.timed.get(digest as usize).map_or(usize::MAX, |place| *place as usize)
    }

    /// Digests that are timed apart by their ids, and one name for all others where there are more.
    pub fn timed_names(&self) -> Vec<String> {
        let mut names = vec![String::new(); self.timed.iter().map(|place| *place as usize + 1).max().unwrap_or(0)];
        for (about, place) in self.digests.iter().zip(&self.timed) {
            let name = &mut names[*place as usize];
            *name = if name.is_empty() { about.name.clone() } else { OTHERS.to_owned() };
        }
        names
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    #[test]
    fn a_statement_may_run_ten_times_as_long_as_in_the_log_and_a_minute_at_least() {
        let text = b"select ?".to_vec();
        let digest = capture::Digest { text, ..capture::Digest::default() };
        let mut about = About::of(&digest, true);
        let mut limit = |longest_us: u64, limit: StatementLimit| {
            about.longest_us = longest_us;
            let schedule = Schedule { digests: vec![about.clone()], ..Schedule::default() };
            schedule.statement_limit_ns(&statement(0), limit)
        };
        assert_eq!(limit(100, StatementLimit::ByLog), 60_000_000_000);
        assert_eq!(limit(9_000_000, StatementLimit::ByLog), 90_000_000_000);
        assert_eq!(limit(9_000_000, StatementLimit::Of(Duration::from_secs(5))), 5_000_000_000);
        assert_eq!(limit(9_000_000, StatementLimit::Off), NO_LIMIT);
    }

    /// Digests of PostgreSQL, each timed apart.
    pub fn timed_schedule(texts: &[&str]) -> Schedule {
        let digest = |text: &&str| capture::Digest { text: text.as_bytes().to_vec(), ..capture::Digest::default() };
        let digests = texts.iter().map(|text| About::of(&digest(text), false)).collect();
        Schedule { digests, timed: (0..texts.len() as u32).collect(), ..Schedule::default() }
    }

    pub fn statement(digest: u32) -> Statement {
        Statement { digest, is_counted: true, ..Statement::default() }
    }
}
