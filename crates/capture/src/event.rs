//! What readers of logs find: statements and the begin and end of sessions, and entries that cannot be read.

use thiserror::Error;

/// One entry of a log. Texts lie in the buffer of the reader and are gone when it goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Event<'a> {
    /// The line of the file on which the entry begins, from 1.
    pub line: u64,
    /// The place of the file among those that are read.
    pub file: u32,
    pub act: Act,
    /// The server's number of the connection, or a hash of its name.
    pub session: u64,
    /// Empty where the entry does not name it.
    pub user: &'a [u8],
    pub host: &'a [u8],
    pub application: &'a [u8],
    /// The default database at the start of the statement; empty where there is none or the log does not name it.
    pub database: &'a [u8],
    /// Microseconds since 1970, UTC.
    pub start_us: i64,
    /// The stamp of the entry, which does not go back within a file.
    pub logged_us: i64,
    pub duration_us: Option<u64>,
    /// Stamps of whole seconds.
    pub is_coarse: bool,
    pub text: &'a [u8],
    /// The list after `parameters:` of PostgreSQL, as it is written.
    pub parameters: &'a [u8],
    /// The PREPARE behind an EXECUTE in SQL, which the log of PostgreSQL repeats.
    pub prepared_as: &'a [u8],
    pub rows_sent: Option<u64>,
    pub rows_affected: Option<u64>,
    pub error: Option<Code>,
}

impl Event<'_> {
    /// Rows sent or changed.
    pub fn rows(&self) -> Option<u64> {
        self.rows_sent.max(self.rows_affected)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Act {
    Connect,
    Quit,
    /// A statement sent as text.
    #[default]
    Statement,
    /// An execution of a prepared statement, with its values.
    Execute,
    /// An execution of a statement without a name, which its client had parsed for it alone.
    ExecuteUnnamed,
    /// A statement is prepared; nothing runs. The general log has its text.
    Prepare,
    /// A prepared statement is dropped.
    Close,
    /// Another command of the protocol, such as a ping.
    Command,
    /// The server starts: no earlier session is left.
    Restart,
}

impl Act {
    pub fn is_statement(self) -> bool {
        matches!(self, Act::Statement | Act::Execute | Act::ExecuteUnnamed)
    }
}

/// A SQLSTATE, or a number of MySQL with blanks behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code(pub [u8; 5]);

impl Code {
    /// An error that the log shows without a code.
    pub const UNKNOWN: Code = Code(*b"?????");

    pub fn of(text: &[u8]) -> Code {
        let mut code = [b' '; 5];
        code.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
        Code(code)
    }
}

/// An entry that is not read, or something that weakens what was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    pub line: u64,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum What {
    #[error("quote opened here is not closed before the next entry")]
    OpenQuote,
    #[error("comment opened here is not closed before the next entry")]
    OpenComment,
    /// The entry ends before its statement does.
    #[error("entry is cut: the next one begins before its statement ends")]
    CutEntry,
    #[error("last entry is cut by the end of the file; it is left out")]
    CutAtEnd,
    #[error("line belongs to no entry of this format")]
    NoEntry,
    #[error("row has {0} fields; PostgreSQL writes 23 to 26")]
    FieldCount(usize),
    #[error("line is no JSON object")]
    BadJson,
    /// Lines of a session of PostgreSQL are missing.
    #[error("{missing} lines of this session are missing before this one")]
    Gap { missing: u64 },
    #[error("time goes back by {secs} s here; the order of the file is kept")]
    TimeBack { secs: u64 },
}

impl What {
    /// Whether an entry is lost by it.
    pub fn is_bad_entry(self) -> bool {
        !matches!(self, What::Gap { .. } | What::TimeBack { .. } | What::CutAtEnd)
    }
}

/// What a reader hands on.
#[derive(Debug, Clone, Copy)]
pub enum Found<'a> {
    Event(Event<'a>),
    Problem(Problem),
}

/// A reader of one format.
pub trait Reader {
    /// Reads the entries that are whole in `input` and returns the bytes that it needs no more. With `is_last` nothing
    /// follows, and every byte is taken.
    fn read(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> usize;
}

/// Reads entries one after the other, as many as are whole: `entry` gives the length of the first, and `line` is where
/// the reader counts lines. What is not whole at the end of the file is left out.
pub(crate) fn read_entries<R>(
    reader: &mut R,
    input: &[u8],
    is_last: bool,
    sink: &mut dyn FnMut(Found<'_>),
    line: fn(&mut R) -> &mut u64,
    entry: impl Fn(&mut R, &[u8], bool, &mut dyn FnMut(Found<'_>)) -> Option<usize>,
) -> usize {
    let mut at = 0;
    while at < input.len() {
        let Some(length) = entry(reader, &input[at..], is_last, sink) else { break };
        *line(reader) += lines_in(&input[at..at + length]);
        at += length;
    }
    if is_last && at < input.len() {
        sink(Found::Problem(Problem { line: *line(reader), what: What::CutAtEnd }));
        at = input.len();
    }
    at
}

/// The first line without its end; none where it has no end.
pub(crate) fn whole_line(input: &[u8]) -> Option<&[u8]> {
    memchr::memchr(b'\n', input).map(|length| &input[..length])
}

/// The first line without its end; none where more of it may follow.
pub(crate) fn line_of(input: &[u8], is_last: bool) -> Option<&[u8]> {
    whole_line(input).or(is_last.then_some(input))
}

pub(crate) fn lines_in(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// FNV-1a, 64 bits: names of sessions as numbers, the same in every run.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
