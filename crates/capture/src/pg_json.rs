//! PostgreSQL's jsonlog (15 and later): one object a line, of strings and numbers.

use memchr::{memchr, memchr2};

use crate::event::{Found, Problem, Reader, What, read_entries, whole_line};
use crate::pg_message::{Message, Statements};

pub struct JsonLog {
    line: u64,
    offset_secs: i64,
    statements: Statements,
    /// The values of a line, unescaped.
    values: Vec<u8>,
}

/// The keys that are read, in the order of [`Message::of`].
const KEYS: [&str; 12] = [
    "timestamp",
    "user",
    "dbname",
    "remote_host",
    "session_id",
    "line_num",
    "error_severity",
    "state_code",
    "message",
    "detail",
    "statement",
    "application_name",
];

impl JsonLog {
    pub fn new(offset_secs: i64) -> JsonLog {
        JsonLog { line: 1, offset_secs, statements: Statements::default(), values: Vec::new() }
    }

    fn line(&mut self, input: &[u8], sink: &mut dyn FnMut(Found<'_>)) -> Option<usize> {
        let line = whole_line(input)?;
        if line.trim_ascii().is_empty() {
            return Some(line.len() + 1);
        }
        let mut ranges = [(0, 0); KEYS.len()];
        self.values.clear();
        let is_object = object(line, &mut ranges, &mut self.values).is_some();
        if !(is_object && self.hand_on(&ranges, sink)) {
            sink(Found::Problem(Problem { line: self.line, what: What::BadJson }));
        }
        Some(line.len() + 1)
    }

    fn hand_on(&mut self, ranges: &[(usize, usize); KEYS.len()], sink: &mut dyn FnMut(Found<'_>)) -> bool {
        let values = ranges.map(|(start, end)| &self.values[start..end]);
        let message = Message::of(self.line, self.offset_secs, values);
        message.inspect(|message| self.statements.take(message, sink)).is_some()
    }
}

impl Reader for JsonLog {
    fn read(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> usize {
        let at =
            read_entries(self, input, is_last, sink, |log| &mut log.line, |log, rest, _, sink| log.line(rest, sink));
        if is_last {
            self.statements.flush(sink);
        }
        at
    }
}

/// Reads an object without objects in it. Values of known keys go to `values`.
fn object(line: &[u8], ranges: &mut [(usize, usize); KEYS.len()], values: &mut Vec<u8>) -> Option<()> {
    let mut rest = line.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    while !rest.is_empty() {
        let name_end = memchr(b'"', rest.strip_prefix(b"\"")?)?;
        let name = &rest[1..=name_end];
        let place = KEYS.iter().position(|key| key.as_bytes() == name);
        rest = rest[name_end + 2..].strip_prefix(b":")?;
        let start = values.len();
        rest = match rest.strip_prefix(b"\"") {
            Some(text) => string(text, values)?,
            None => {
                let end = memchr(b',', rest).unwrap_or(rest.len());
                values.extend_from_slice(rest[..end].trim_ascii());
                &rest[end..]
            }
        };
        match place {
            Some(place) => ranges[place] = (start, values.len()),
            None => values.truncate(start),
        }
        rest = if rest.is_empty() { rest } else { rest.strip_prefix(b",")? };
    }
    Some(())
}

/// Unescapes a string from behind its quote; gives what stands behind it.
fn string<'a>(text: &'a [u8], values: &mut Vec<u8>) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        let at = memchr2(b'"', b'\\', rest)?;
        values.extend_from_slice(&rest[..at]);
        if rest[at] == b'"' {
            return Some(&rest[at + 1..]);
        }
        let escaped = *rest.get(at + 1)?;
        rest = &rest[at + 2..];
        match escaped {
            b'n' => values.push(b'\n'),
            b't' => values.push(b'\t'),
            b'r' => values.push(b'\r'),
            b'b' => values.push(8),
            b'f' => values.push(12),
            b'u' => {
                let digits = std::str::from_utf8(rest.get(..4)?).ok()?;
                let code = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
                values.extend_from_slice(code.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[4..];
            }
            other => values.push(other),
        }
    }
}
