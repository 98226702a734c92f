//! PostgreSQL's stderr log, whose lines begin with `log_line_prefix` and continue with a tab.

use memchr::{memchr, memmem};

use crate::bytes::number_of;
use crate::event::{Code, Found, Problem, Reader, What, hash_of, read_entries, whole_line};
use crate::pg_message::{Message, Statements};
use crate::times;

/// `log_line_prefix`, as pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefix {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Escape(u8),
}

/// Prefixes of distributions and of tools that read logs, tried where none is given.
const USUAL: [&str; 7] = [
    "%m [%p] %q%u@%d ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%m [%p] %u@%d ",
    "%m|%u|%d|%c|",
    "%t:%r:%u@%d:[%p]:",
    "%m [%p] ",
];

impl Prefix {
    /// Reads the value of `log_line_prefix`.
    pub fn parse(prefix: &str) -> Result<Prefix, String> {
        let mut pieces: Vec<Piece> = Vec::new();
        let mut bytes = prefix.bytes().peekable();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                push_text(&mut pieces, byte);
                continue;
            }
            while bytes.next_if(|byte| byte.is_ascii_digit() || *byte == b'-').is_some() {}
            match bytes.next() {
                Some(b'%') => push_text(&mut pieces, b'%'),
                Some(escape) => pieces.push(Piece::Escape(escape)),
                None => return Err(format!("line prefix `{prefix}` ends in a lone %")),
            }
        }
        let has =
            |escapes: &[u8]| pieces.iter().any(|piece| matches!(piece, Piece::Escape(one) if escapes.contains(one)));
        if !has(b"mnt") || !has(b"cp") {
            return Err(format!(
                "line prefix `{prefix}` has no time (%m, %n) or no session (%c, %p), and statements without them cannot be \
                 ordered\n  next: log with log_line_prefix = '%m|%u|%d|%c|'"
            ));
        }
        Ok(Prefix { pieces })
    }

    pub(crate) fn usual(line: &[u8]) -> Option<Prefix> {
        let mut usual =
            USUAL.iter().map(|prefix| Prefix::parse(prefix).expect("the usual prefixes have what they need"));
        usual.find(|prefix| prefix.fits(line))
    }

    /// Whether a line begins with it, and goes on with a label such as `LOG:`.
    pub(crate) fn fits(&self, line: &[u8]) -> bool {
        self.read(line, 0).is_some_and(|(_, rest)| label(rest).is_some())
    }

    /// What a prefix holds of its message, and the text behind it.
    fn read<'a>(&self, line: &'a [u8], offset_secs: i64) -> Option<(Message<&'a [u8]>, &'a [u8])> {
        let (mut fields, mut rest) = (Message::default(), line);
        for (index, piece) in self.pieces.iter().enumerate() {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(&text[..])?,
                // Processes that serve no session stop here.
                Piece::Escape(b'q') if label(rest).is_some() => break,
                Piece::Escape(b'q') => {}
                Piece::Escape(escape) => {
                    let next = self.pieces.get(index + 1);
                    rest = read_escape(&mut fields, *escape, rest, next, offset_secs)?;
                }
            }
        }
        Some((fields, rest))
    }
}

fn push_text(pieces: &mut Vec<Piece>, byte: u8) {
    match pieces.last_mut() {
        Some(Piece::Text(text)) => text.push(byte),
        _ => pieces.push(Piece::Text(vec![byte])),
    }
}

/// Reads the value of an escape, up to the text behind it.
fn read_escape<'a>(
    to: &mut Message<&'a [u8]>,
    escape: u8,
    text: &'a [u8],
    next: Option<&Piece>,
    offset_secs: i64,
) -> Option<&'a [u8]> {
    if matches!(escape, b'm' | b't') {
        let (time_us, rest) = times::long(text, offset_secs)?;
        to.time_us = time_us;
        return Some(rest);
    }
    let end = match next {
        Some(Piece::Text(literal)) => memmem::find(text, literal)?,
        _ => text.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b"._-".contains(byte)).unwrap_or(text.len()),
    };
    let (value, rest) = text.split_at(end);
    let value = value.trim_ascii();
    match escape {
        b'n' => to.time_us = times::secs_us(value)? as i64,
        b'c' => to.session = hash_of(value),
        b'p' if to.session == 0 => to.session = number_of(value)?,
        b'u' => to.user = value,
        b'd' => to.database = value,
        b'h' | b'r' => to.host = value,
        b'a' => to.application = value,
        b'e' => to.code = Some(Code::of(value)),
        _ => {}
    }
    Some(rest)
}

/// `LOG:  text` as its label, what of a message the label stands before, and the text.
fn label(rest: &[u8]) -> Option<(&[u8], Part, &[u8])> {
    let end = memchr(b':', &rest[..rest.len().min(12)])?;
    let text = rest[end + 1..].strip_prefix(b"  ")?;
    let part = match &rest[..end] {
        b"LOG" | b"ERROR" | b"FATAL" | b"PANIC" | b"WARNING" | b"NOTICE" | b"INFO" => Part::Message,
        b"DEBUG" | b"DEBUG1" | b"DEBUG2" | b"DEBUG3" | b"DEBUG4" | b"DEBUG5" => Part::Message,
        b"DETAIL" => Part::Detail,
        b"STATEMENT" => Part::Statement,
        b"HINT" | b"CONTEXT" | b"QUERY" => Part::Other,
        _ => return None,
    };
    Some((&rest[..end], part, text))
}

pub struct StderrLog {
    prefix: Prefix,
    offset_secs: i64,
    line: u64,
    statements: Statements,
    /// The message that is read, with its further lines; it ends where another begins.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// Without a number: further lines of a message are numbered too, so that numbers of the prefix show no gap.
    message: Message<Vec<u8>>,
    /// Of lines that are not read, such as hints.
    other: Vec<u8>,
    last: Part,
}

#[derive(Debug, Clone, Copy)]
enum Part {
    Message,
    Detail,
    Statement,
    Other,
}

impl Open {
    fn part(&mut self, part: Part) -> &mut Vec<u8> {
        self.last = part;
        match part {
            Part::Message => &mut self.message.message,
            Part::Detail => &mut self.message.detail,
            Part::Statement => &mut self.message.statement,
            Part::Other => &mut self.other,
        }
    }
}

impl StderrLog {
    pub fn new(prefix: Prefix, offset_secs: i64) -> StderrLog {
        StderrLog { prefix, offset_secs, line: 1, statements: Statements::default(), open: None }
    }

    fn entry(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> Option<usize> {
        let line = whole_line(input);
        match line {
            Some(line) => self.line(line, sink),
            // The end of a statement may be missing with the end of the line.
            None if is_last => self.open = None,
            None => {}
        }
        line.map(|line| line.len() + 1)
    }

    fn line(&mut self, line: &[u8], sink: &mut dyn FnMut(Found<'_>)) {
        if let (Some(continued), Some(open)) = (line.strip_prefix(b"\t"), &mut self.open) {
            let part = open.part(open.last);
            part.push(b'\n');
            part.extend_from_slice(continued);
            return;
        }
        let read = self.prefix.read(line, self.offset_secs);
        let Some((fields, (label, part, text))) = read.and_then(|(fields, rest)| Some((fields, label(rest)?))) else {
            if !line.is_empty() {
                sink(Found::Problem(Problem { line: self.line, what: What::NoEntry }));
            }
            return;
        };
        match (part, &mut self.open) {
            (Part::Message, _) => {
                self.close(sink);
                let message = Message { line: self.line, severity: label, message: text, ..fields };
                let message = message.map(|text| text.to_vec());
                self.open = Some(Open { message, other: Vec::new(), last: part });
            }
            (part, Some(open)) if open.message.session == fields.session => open.part(part).extend_from_slice(text),
            _ => {}
        }
    }

    fn close(&mut self, sink: &mut dyn FnMut(Found<'_>)) {
        if let Some(open) = self.open.take() {
            self.statements.take(&open.message.map(Vec::as_slice), sink);
        }
    }
}

impl Reader for StderrLog {
    fn read(&mut self, input: &[u8], is_last: bool, sink: &mut dyn FnMut(Found<'_>)) -> usize {
        let at = read_entries(self, input, is_last, sink, |log| &mut log.line, StderrLog::entry);
        if is_last {
            self.close(sink);
            self.statements.flush(sink);
        }
        at
    }
}
