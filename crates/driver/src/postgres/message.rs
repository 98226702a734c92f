//! Messages of the PostgreSQL protocol as bytes: no I/O here.
//!
//! ```text
//! message  type:1 length:4 (big endian, counts itself) body
//! answer   [ParseComplete 1] [BindComplete 2] [RowDescription T] DataRow D ... CommandComplete C ReadyForQuery Z
//! error    ErrorResponse E, then ReadyForQuery Z
//! ```
//! Source: PostgreSQL documentation, "Frontend/Backend Protocol", Message Formats.

use crate::{Answer, Code, Error, Form, OnPart, Part, Rows};

pub const HEADER_BYTES: usize = 5;
/// PostgreSQL itself makes no message longer than this; a length above it is no length.
const BODY_BYTES_MAX: usize = 1 << 30;

/// Opens a message in `out`; [`end_message`] fills in the length.
pub fn begin_message(out: &mut Vec<u8>, kind: u8) -> usize {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    at
}

pub fn end_message(out: &mut [u8], at: usize) {
    let length = (out.len() - at) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Kind, body, and size with header of one message.
pub type Whole<'a> = (u8, &'a [u8], usize);

/// The first whole message in `input`.
pub fn whole_message(input: &[u8]) -> Result<Option<Whole<'_>>, Error> {
    let Some((kind, body_length)) = header(input)? else { return Ok(None) };
    let size = HEADER_BYTES + body_length;
    Ok(input.get(HEADER_BYTES..size).map(|body| (kind, body, size)))
}

/// How many bytes the first message announces, once its header is there.
pub fn announced_bytes(input: &[u8]) -> Result<Option<usize>, Error> {
    Ok(header(input)?.map(|(_, bytes)| bytes))
}

fn header(input: &[u8]) -> Result<Option<(u8, usize)>, Error> {
    let Some(header) = input.get(..HEADER_BYTES) else { return Ok(None) };
    let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
    let body = length.checked_sub(4).ok_or_else(|| Error::Protocol("message shorter than its header".to_owned()))?;
    if body > BODY_BYTES_MAX {
        return Err(Error::Protocol(format!("message of {body} bytes, and 1 GiB is the most there can be")));
    }
    Ok(Some((header[0], body)))
}

/// What a parser found in the bytes it was given.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// All bytes up to `consumed` are used up and the answer goes on.
    More,
    /// The server is ready for the next statement.
    Done(Answer),
    /// The server waits for the rows of a COPY.
    WantsRows,
}

/// What was sent, which decides what may come back and in which order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Request {
    /// A text: results one after the other.
    #[default]
    Query,
    /// Parse and Sync.
    Parse,
    /// Bind, Execute and Sync.
    Execute,
    /// Parse before these.
    ParseExecute,
    /// Any number of Binds, with or without a Parse before, each with its Execute; one Sync behind all.
    Pipeline,
    /// The end of the rows of a COPY.
    CopyEnd,
}

/// How far an answer has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Begin,
    /// Parsed, and to be bound.
    Parsed,
    /// Rows, or the end of this result.
    Rows,
    /// Rows of a COPY to the client.
    Copied,
    /// A result has ended.
    End,
    /// An error has ended everything.
    Failed,
}

/// Walks through one answer, up to and with ReadyForQuery, without looking into its rows.
#[derive(Debug, Default)]
pub struct AnswerParser {
    request: Request,
    /// The request asked for a description of the rows.
    described: bool,
    state: State,
    answer: Answer,
    /// Rest of a message whose content does not matter.
    skip: usize,
    /// The server's error, held back until it is ready again.
    error: Option<Error>,
    /// Bytes of the last input up to the end of the message that an error was returned at.
    consumed: usize,
}

impl AnswerParser {
    pub fn to_request(request: Request) -> AnswerParser {
        AnswerParser { request, ..AnswerParser::default() }
    }

    /// The answer describes its rows first.
    pub fn described(self, described: bool) -> AnswerParser {
        AnswerParser { described, ..self }
    }

    /// After an error of the server: how much of the last input it was at the end of.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// Parses as far as `input` goes; returns the bytes used up and what that was. With `on_part`,
    /// rows are handed over whole; without, they are skipped wherever they are cut.
    pub fn feed(&mut self, input: &[u8], mut on_part: Option<OnPart<'_>>) -> Result<(usize, Step), Error> {
        let mut at = 0;
        loop {
            let taken = self.skip.min(input.len() - at);
            at += taken;
            self.skip -= taken;
            if self.skip > 0 {
                return Ok((at, Step::More));
            }
            let Some((kind, length)) = header(&input[at..])? else { return Ok((at, Step::More)) };
            // The hot path: one row among others.
            if kind == b'D' && self.state == State::Rows && on_part.is_none() {
                self.answer.rows += 1;
                self.answer.returns_rows = true;
                at += HEADER_BYTES;
                self.skip = length;
                continue;
            }
            let is_skipped = match kind {
                // ParameterStatus and Notification may come at any time; what a row looks like we know.
                b'S' | b'A' => true,
                // Rows of a COPY to the client, with what begins and ends them.
                b'H' | b'd' | b'c' => true,
                b'D' | b'T' => on_part.is_none(),
                _ => false,
            };
            if is_skipped {
                self.advance(kind)?;
                at += HEADER_BYTES;
                self.skip = length;
                continue;
            }
            let Some((_, body, size)) = whole_message(&input[at..])? else { return Ok((at, Step::More)) };
            at += size;
            self.consumed = at;
            // Behind a farewell comes the end of the connection, not ReadyForQuery.
            if is_farewell(kind, body) {
                return Err(farewell(body));
            }
            self.advance(kind)?;
            match (kind, body) {
                (b'N', _) => {}
                (b'D', row) => show(&mut on_part, Part::Row(row)),
                (b'T', columns) => show(&mut on_part, Part::Columns(columns)),
                (b'C', [tag @ .., 0]) => self.complete(tag),
                (b'E', body) => self.error = Some(server_error(body)),
                (b'G', _) => return Ok((at, Step::WantsRows)),
                (b'Z', [b'I' | b'T' | b'E']) => {
                    return self.error.take().map_or(Ok((at, Step::Done(self.answer))), Err);
                }
                (b'1' | b'2' | b'I' | b'n', []) => {}
                _ => return Err(Error::Protocol(format!("{} bytes in {}", body.len(), message_text(kind)))),
            }
        }
    }

    /// The state behind a message of this kind; an error where it was not due.
    fn advance(&mut self, kind: u8) -> Result<(), Error> {
        use Request::{CopyEnd, Execute, Parse, ParseExecute, Pipeline, Query};
        self.state = match (self.state, kind, self.request) {
            (state, b'S' | b'N' | b'A', _) => state,
            (State::Rows, b'D', _) => {
                self.answer.rows += 1;
                self.answer.returns_rows = true;
                State::Rows
            }
            (State::Begin, b'2', Execute) | (State::Parsed, b'2', ParseExecute) => State::Rows,
            (State::Begin, b'1', ParseExecute) => State::Parsed,
            (State::Begin | State::End, b'1', Pipeline) => State::Parsed,
            (State::Begin | State::Parsed | State::End, b'2', Pipeline) => State::Rows,
            (State::Rows, b'T' | b'n', Execute | ParseExecute) if self.described && self.answer.rows == 0 => {
                State::Rows
            }
            (State::Begin | State::End, b'T', Query) => {
                self.answer.returns_rows = true;
                State::Rows
            }
            (State::Begin, b'1', Parse) => State::End,
            (State::Rows, b'C', _) | (State::Rows, b'I', Execute | ParseExecute | Pipeline) => State::End,
            (State::Begin | State::End, b'C' | b'I', Query) | (State::Begin, b'C', CopyEnd) => State::End,
            (State::Begin, b'G', Query) => State::Rows,
            (State::Begin | State::End, b'H', Query) | (State::Rows, b'H', Execute | ParseExecute) => {
                self.answer.returns_rows = true;
                State::Copied
            }
            (State::Copied, b'd', _) => {
                self.answer.rows += 1;
                State::Copied
            }
            (State::Copied, b'c', _) => State::Rows,
            (State::Begin | State::Parsed | State::Rows | State::Copied | State::End, b'E', _) => State::Failed,
            (State::End | State::Failed, b'Z', _) | (State::Begin, b'Z', Pipeline) => State::End,
            _ => return Err(Error::Protocol(format!("{} was not due", message_text(kind)))),
        };
        Ok(())
    }

    /// `UPDATE 1`, `INSERT 0 1`, `SELECT 100`, `BEGIN`: the last word is a count, or not a number.
    fn complete(&mut self, tag: &[u8]) {
        if tag.starts_with(b"SELECT") {
            self.answer.returns_rows = true;
            return;
        }
        let digits = tag.rsplit(|byte| *byte == b' ').next().unwrap_or(&[]);
        if digits.iter().all(u8::is_ascii_digit) {
            let digit = |digit: &u8| u64::from(digit - b'0');
            let count = digits.iter().map(digit).fold(0u64, |count, d| count.saturating_mul(10).saturating_add(d));
            self.answer.affected = self.answer.affected.saturating_add(count);
        }
    }
}

fn show(on_part: &mut Option<OnPart<'_>>, part: Part<'_>) {
    if let Some(on_part) = on_part {
        on_part(part);
    }
}

fn message_text(kind: u8) -> String {
    format!("message `{}`", kind.escape_ascii())
}

/// One field of an ErrorResponse, which is `code:1 text\0 ... \0`; empty when it is not there.
fn field(body: &[u8], wanted: u8) -> &[u8] {
    body.split(|byte| *byte == 0).find_map(|field| (field.first() == Some(&wanted)).then(|| &field[1..])).unwrap_or(&[])
}

/// The server ends the session with this error. `V` is `S` untranslated, and older servers (before 9.6)
/// have no `V`.
fn is_fatal(body: &[u8]) -> bool {
    let untranslated = field(body, b'V');
    let severity = if untranslated.is_empty() { field(body, b'S') } else { untranslated };
    severity == b"FATAL" || severity == b"PANIC"
}

/// `M` is the message, and `D` has details.
fn message_of(body: &[u8]) -> String {
    let detail = field(body, b'D');
    let text = String::from_utf8_lossy(field(body, b'M')).into_owned();
    if detail.is_empty() { text } else { format!("{text} ({})", String::from_utf8_lossy(detail)) }
}

/// A message behind which the server ends the session. Where one of its processes crashed, it has only the time to warn
/// the others.
pub fn is_farewell(kind: u8, body: &[u8]) -> bool {
    match kind {
        b'E' => is_fatal(body),
        b'N' => field(body, b'C') == b"57P02",
        _ => false,
    }
}

pub fn farewell(body: &[u8]) -> Error {
    Error::farewell(Code::new(field(body, b'C')), &message_of(body))
}

/// The content of an ErrorResponse; `C` is the SQLSTATE. At a login even a refusal is fatal to the server, so
/// there the severity means nothing.
pub fn server_error(body: &[u8]) -> Error {
    let code = Code::new(field(body, b'C'));
    match code.as_str() {
        // Serialisation failure, deadlock detected, waited for a lock for too long.
        "40001" | "40P01" | "55P03" => Error::Retryable { code },
        "23505" => Error::Duplicate { code },
        // Idle in a transaction for too long, shutdown, crash of another backend, not accepting
        // connections now, idle for too long.
        "25P03" | "57P01" | "57P02" | "57P03" | "57P05" => farewell(body),
        _ => Error::Refused { code, message: message_of(body) },
    }
}

/// Splits a DataRow in text format: `columns:2 (length:4 bytes)...`; length -1 is NULL.
pub fn text_row(body: &[u8]) -> Result<Vec<Option<String>>, Error> {
    let mut columns = Vec::new();
    cells(body, &mut |cell| columns.push(cell.map(|text| String::from_utf8_lossy(text).into_owned())))?;
    Ok(columns)
}

/// The names in a RowDescription, `columns:2 (name\0 table:4 column:2 type:4 size:2 modifier:4 format:2)...`.
pub fn columns(body: &[u8], on_column: &mut dyn FnMut(&[u8], Form)) -> Result<(), Error> {
    const BEHIND_THE_NAME: usize = 18;
    const BEFORE_THE_TYPE: usize = 6;
    let cut = || Error::Protocol("description of rows cut off".to_owned());
    let count = u16::from_be_bytes(body.get(..2).ok_or_else(cut)?.try_into().expect("two bytes"));
    let mut rest = &body[2..];
    for _ in 0..count {
        let end = rest.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
        let (name, behind) = (&rest[..end], &rest[end + 1..]);
        let fixed = behind.get(..BEHIND_THE_NAME).ok_or_else(cut)?;
        let kind = fixed[BEFORE_THE_TYPE..].first_chunk().map_or(0, |kind| u32::from_be_bytes(*kind));
        on_column(name, form(kind));
        rest = &behind[BEHIND_THE_NAME..];
    }
    Ok(())
}

/// What a column of this type holds, by the number that the type has in every server.
fn form(kind: u32) -> Form {
    match kind {
        700 | 701 => Form::Float,
        1700 => Form::Decimal,
        1083 | 1114 | 1184 | 1266 => Form::Time,
        114 | 3802 => Form::Json,
        1042 => Form::Char,
        16 => Form::Flag,
        _ => Form::Plain,
    }
}

/// The same, one by one and uncopied.
pub fn cells(body: &[u8], on_cell: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), Error> {
    let cut = || Error::Protocol("row cut off".to_owned());
    let count = u16::from_be_bytes(body.get(..2).ok_or_else(cut)?.try_into().expect("two bytes"));
    let mut rest = &body[2..];
    for _ in 0..count {
        let length = i32::from_be_bytes(rest.get(..4).ok_or_else(cut)?.try_into().expect("four bytes"));
        rest = &rest[4..];
        let Ok(length) = usize::try_from(length) else {
            on_cell(None);
            continue;
        };
        on_cell(Some(rest.get(..length).ok_or_else(cut)?));
        rest = &rest[length..];
    }
    Ok(())
}

impl Rows {
    /// Takes in what a PostgreSQL parser hands over; its values are text.
    pub fn take_postgres(&mut self, part: Part<'_>) -> Result<(), Error> {
        let row = match part {
            Part::Row(row) => row,
            Part::Columns(columns) if self.keeps_names() => {
                self.begin_result();
                return self::columns(columns, &mut |name, form| self.push_column(name, form));
            }
            _ => return Ok(()),
        };
        cells(row, &mut |cell| match cell {
            Some(text) => self.push_text(text),
            None => self.push_null(),
        })?;
        self.end_row()
    }
}

#[cfg(test)]
mod tests;
