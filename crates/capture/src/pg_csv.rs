//! PostgreSQL's csvlog: 23 fields up to version 12, 24 in 13, 26 from 14 on; a row may take several lines.

use memchr::{memchr, memchr2};

use crate::event::{Found, Problem, Reader, What, read_entries};
use crate::pg_message::{Message, Statements};
use crate::times;

pub struct CsvLog {
    line: u64,
    offset_secs: i64,
    statements: Statements,
    /// Fields with doubled quotes, without them.
    unquoted: Vec<u8>,
    /// A broken row is left out up to the next line that begins with a date.
    is_skipping: bool,
}

const FIELDS_MAX: usize = 26;
/// The numbers of the fields that are read, from 1 on, in the order of [`Message::of`].
const FIELDS: [usize; 12] = [1, 2, 3, 5, 6, 7, 12, 13, 14, 15, 20, 23];
const DATE_LENGTH_MAX: usize = 40;

/// Where a field lies: in the row, or in the buffer of what had doubled quotes.
#[derive(Debug, Clone, Copy, Default)]
struct Field {
    start: usize,
    end: usize,
    is_unquoted: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Row {
    Whole { fields: usize, length: usize },
    Broken,
}

impl CsvLog {
    pub fn new(offset_secs: i64) -> CsvLog {
        CsvLog { line: 1, offset_secs, statements: Statements::default(), unquoted: Vec::new(), is_skipping: false }
    }

    fn row(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> Option<usize> {
        if self.is_skipping {
            return self.skip(input, is_last);
        }
        let mut fields = [Field::default(); FIELDS_MAX];
        self.unquoted.clear();
        let what = match split(input, &mut fields, &mut self.unquoted)? {
            Row::Whole { fields: count, length } if (23..=FIELDS_MAX).contains(&count) => {
                if self.hand_on(input, &fields, sink) {
                    return Some(length);
                }
                What::NoEntry
            }
            Row::Whole { fields: 1, length } if length <= 2 => return Some(length),
            Row::Whole { fields, .. } => What::FieldCount(fields),
            Row::Broken => What::NoEntry,
        };
        sink(Found::Problem(Problem { line: self.line, what }));
        self.is_skipping = true;
        self.skip(input, is_last)
    }

    fn skip(&mut self, input: &[u8], is_last: bool) -> Option<usize> {
        let mut at = 0;
        while let Some(length) = memchr(b'\n', &input[at..]) {
            let next = &input[at + length + 1..];
            if next.len() < DATE_LENGTH_MAX && !is_last {
                return (at + length > 0).then_some(at + length);
            }
            at += length + 1;
            if times::long(next, 0).is_some() {
                self.is_skipping = false;
                return Some(at);
            }
        }
        Some(input.len())
    }

    fn hand_on(&mut self, input: &[u8], fields: &[Field; FIELDS_MAX], sink: &mut dyn FnMut(Found<'_>)) -> bool {
        let field = |number: usize| {
            let Field { start, end, is_unquoted } = fields[number - 1];
            if is_unquoted { &self.unquoted[start..end] } else { &input[start..end] }
        };
        let message = Message::of(self.line, self.offset_secs, FIELDS.map(field));
        message.inspect(|message| self.statements.take(message, sink)).is_some()
    }
}

impl Reader for CsvLog {
    fn read(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> usize {
        let at = read_entries(self, input, is_last, sink, |log| &mut log.line, CsvLog::row);
        if is_last {
            self.statements.flush(sink);
        }
        at
    }
}

/// Finds the fields of the first row; none where it needs more.
fn split(input: &[u8], fields: &mut [Field; FIELDS_MAX], unquoted: &mut Vec<u8>) -> Option<Row> {
    let (mut at, mut count) = (0, 0);
    loop {
        let (field, end) = if input.get(at) == Some(&b'"') {
            quoted(input, at + 1, unquoted)?
        } else {
            let end = at + memchr2(b',', b'\n', &input[at..])?;
            (Field { start: at, end, is_unquoted: false }, end)
        };
        if let Some(place) = fields.get_mut(count) {
            *place = field;
        }
        count += 1;
        match input.get(end)? {
            b',' => at = end + 1,
            b'\n' => return Some(Row::Whole { fields: count, length: end + 1 }),
            b'\r' if *input.get(end + 1)? == b'\n' => return Some(Row::Whole { fields: count, length: end + 2 }),
            _ => return Some(Row::Broken),
        }
    }
}

/// A field from behind its opening quote, and the place behind the closing one. At the end of the input a quote may be
/// the first of two.
fn quoted(input: &[u8], start: usize, unquoted: &mut Vec<u8>) -> Option<(Field, usize)> {
    let end = start + memchr(b'"', &input[start..])?;
    if *input.get(end + 1)? != b'"' {
        return Some((Field { start, end, is_unquoted: false }, end + 1));
    }
    let kept = unquoted.len();
    let mut at = start;
    loop {
        let quote = at + memchr(b'"', &input[at..])?;
        unquoted.extend_from_slice(&input[at..quote]);
        if *input.get(quote + 1)? != b'"' {
            return Some((Field { start: kept, end: unquoted.len(), is_unquoted: true }, quote + 1));
        }
        unquoted.push(b'"');
        at = quote + 2;
    }
}
