//! Formats of logs: their names, their readers, and how to see which one a file has.

use memchr::memmem;

use crate::event::Reader;
use crate::mysql_general::{self, GeneralLog};
use crate::mysql_slow::SlowLog;
use crate::pg_csv::CsvLog;
use crate::pg_json::JsonLog;
use crate::pg_stderr::{Prefix, StderrLog};
use crate::times;
use crate::tokens::Dialect;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    MySqlSlow,
    MySqlGeneral,
    PgCsv,
    PgJson,
    PgStderr,
}

impl Format {
    pub const ALL: [Format; 5] =
        [Format::MySqlSlow, Format::MySqlGeneral, Format::PgCsv, Format::PgJson, Format::PgStderr];

    pub fn name(self) -> &'static str {
        match self {
            Format::MySqlSlow => "mysql-slow",
            Format::MySqlGeneral => "mysql-general",
            Format::PgCsv => "pg-csv",
            Format::PgJson => "pg-json",
            Format::PgStderr => "pg-stderr",
        }
    }

    pub fn of_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }

    pub fn is_mysql(self) -> bool {
        matches!(self, Format::MySqlSlow | Format::MySqlGeneral)
    }

    /// A new reader, for one file.
    pub fn reader(self, how: &Reading) -> Box<dyn Reader> {
        match self {
            Format::MySqlSlow => Box::new(SlowLog::new(how.dialect(self))),
            Format::MySqlGeneral => Box::new(GeneralLog::new(how.offset_secs)),
            Format::PgCsv => Box::new(CsvLog::new(how.offset_secs)),
            Format::PgJson => Box::new(JsonLog::new(how.offset_secs)),
            Format::PgStderr => Box::new(StderrLog::new(how.prefix.clone().unwrap_or_default(), how.offset_secs)),
        }
    }
}

/// What the log does not show of its server.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub sql_mode: Vec<u8>,
    /// `log_line_prefix`; none: one of the usual ones.
    pub prefix: Option<Prefix>,
    /// Where stamps without a zone are local times.
    pub offset_secs: i64,
}

impl Reading {
    pub fn dialect(&self, format: Format) -> Dialect {
        if format.is_mysql() { Dialect::of_sql_mode(&self.sql_mode) } else { Dialect::Postgres }
    }
}

/// The format that the begin of a file has.
pub fn detect(head: &[u8], prefix: Option<&Prefix>) -> Option<Format> {
    let mut lines = head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.by_ref().take(200).find_map(|line| of_line(line, prefix))
}

fn of_line(line: &[u8], prefix: Option<&Prefix>) -> Option<Format> {
    if prefix.is_some_and(|prefix| prefix.fits(line)) {
        return Some(Format::PgStderr);
    }
    if line.starts_with(b"# User@Host: ") || line.starts_with(b"# Query_time: ") {
        return Some(Format::MySqlSlow);
    }
    if line.starts_with(b"{\"timestamp\":") {
        return Some(Format::PgJson);
    }
    if mysql_general::is_head(line) {
        return Some(Format::MySqlGeneral);
    }
    let (_, rest) = times::long(line, 0)?;
    let is_csv = rest.first() == Some(&b',') && rest.iter().filter(|byte| **byte == b',').count() > 4;
    if is_csv { Some(Format::PgCsv) } else { Prefix::usual(line).map(|_| Format::PgStderr) }
}

/// Why a file is no log that can be read: what it begins with, and what it may be.
pub fn describe(head: &[u8]) -> String {
    let shown: String =
        head.iter().take(80).map(|byte| if (b' '..=b'~').contains(byte) { *byte as char } else { '·' }).collect();
    format!("it begins: {shown}\n{}", looks_like(head))
}

fn looks_like(head: &[u8]) -> &'static str {
    let has = |part: &[u8]| memmem::find(head, part).is_some();
    let is_binary = head.iter().filter(|byte| matches!(byte, 0..=8 | 14..=31)).count() * 20 > head.len();
    if head.starts_with(b"\xfebin") {
        "it is a binary log of MySQL: name the slow or general log"
    } else if is_binary {
        "it is a binary file"
    } else if has(b":  ") && FOREIGN.iter().any(|word| has(word.as_bytes())) {
        "it looks like a log of PostgreSQL in another language: set lc_messages = 'C' and log again"
    } else if has(b"LOG:  ") || has(b"ERROR:  ") {
        "it looks like a stderr log of PostgreSQL: give --line-prefix, the server's log_line_prefix"
    } else if has(b"started with:") {
        "it looks like a log of MySQL or MariaDB without entries: is the log switched on?"
    } else if has(b"queryid") || has(b"DIGEST_TEXT") {
        "it looks like a summary of statements, which holds no single statement"
    } else {
        "it is none of mysql-slow, mysql-general, pg-csv, pg-json and pg-stderr"
    }
}

/// `LOG` and `STATEMENT` of other languages.
const FOREIGN: [&str; 6] = ["ANWEISUNG:", "INSTRUCTION :", "SENTENCIA:", "ISTRUZIONE:", "COMANDO:", "FEHLER:"];
