//! Packets of the MySQL protocol as bytes: no I/O here.
//!
//! ```text
//! packet     length:3 (little endian)  sequence:1  payload:length
//! OK         00 affected:lenenc last_insert_id:lenenc status:2 warnings:2
//! ERR        ff code:2 ['#' sqlstate:5] message
//! EOF        fe warnings:2 status:2                    (payload shorter than 9 bytes)
//! result set columns:lenenc, that many column packets, EOF, row packets, EOF
//! ```
//! Source: MySQL Internals, "Client/Server Protocol".

use crate::{Answer, Code, Error, Form, OnPart, Part, Rows};

pub const HEADER_BYTES: usize = 4;
/// A payload of exactly this length goes on in the next packet.
const PAYLOAD_BYTES_MAX: usize = 0xff_ffff;

/// A row of several packets that is handed over ends here.
const ROW_BYTES_MAX: usize = 64 << 20;
/// No table, and so no answer, has more columns.
const COLUMNS_MAX: u64 = 4096;

/// Server status bit: another result follows (procedures, multi-statements).
const SERVER_MORE_RESULTS_EXISTS: u16 = 0x0008;

/// Opens a packet in `out`; [`end_packet`] fills in the length.
pub fn begin_packet(out: &mut Vec<u8>, sequence: u8) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0, 0, 0, sequence]);
    at
}

/// A payload too long for one packet goes on in further ones, of which the last is shorter than the
/// greatest length, if need be empty.
pub fn end_packet(out: &mut Vec<u8>, at: usize) {
    let mut at = at;
    loop {
        let length = out.len() - at - HEADER_BYTES;
        let whole = length.min(PAYLOAD_BYTES_MAX);
        out[at..at + 3].copy_from_slice(&(whole as u32).to_le_bytes()[..3]);
        if length < PAYLOAD_BYTES_MAX {
            return;
        }
        let sequence = out[at + 3].wrapping_add(1);
        at += HEADER_BYTES + PAYLOAD_BYTES_MAX;
        out.splice(at..at, [0, 0, 0, sequence]);
    }
}

/// The payload of the first whole packet in `input`, its sequence number, and its size with header.
pub fn whole_packet(input: &[u8]) -> Option<(&[u8], u8, usize)> {
    let header = input.get(..HEADER_BYTES)?;
    let size = HEADER_BYTES + payload_length(header);
    Some((input.get(HEADER_BYTES..size)?, header[3], size))
}

/// How many bytes the first packet announces, once its header is there.
pub fn announced_bytes(input: &[u8]) -> Option<usize> {
    input.get(..HEADER_BYTES).map(payload_length)
}

fn payload_length(header: &[u8]) -> usize {
    u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize
}

/// Writes a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Reads a length-encoded integer and its size in bytes; `None` when it is cut off or not a number.
pub fn lenenc(input: &[u8]) -> Option<(u64, usize)> {
    let number = |size: usize| {
        let bytes = input.get(1..=size)?;
        Some((bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)), size + 1))
    };
    match *input.first()? {
        byte @ 0..=250 => Some((u64::from(byte), 1)),
        0xfc => number(2),
        0xfd => number(3),
        0xfe => number(8),
        _ => None,
    }
}

/// What a parser found in the bytes it was given.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// All bytes up to `consumed` are used up and the answer goes on.
    More,
    /// The answer is whole.
    Done(Answer),
}

/// The sequence number of the last packet of a request, which has number 0 when it is the only one.
pub fn last_sequence(request_bytes: usize) -> u8 {
    (request_bytes / (HEADER_BYTES + PAYLOAD_BYTES_MAX)) as u8
}

/// Walks through one answer without looking into its rows.
///
/// It may be cut anywhere: [`AnswerParser::feed`] returns how many bytes it is done with, and is called
/// again with the rest and more behind it.
#[derive(Debug, Default)]
pub struct AnswerParser {
    state: State,
    answer: Answer,
    /// The number of the packet before: each packet of an exchange has the next one.
    sequence: u8,
    /// The frames around the packets are numbered instead: those of the compressed protocol are.
    unnumbered: bool,
    /// Rows are binary, and each begins with a zero.
    binary: bool,
    /// Bytes of the last input up to the end of the packet that was an error.
    consumed: usize,
    /// Rest of a packet whose content does not matter.
    skip: usize,
    /// The packet being skipped had the greatest length, so the next one continues it.
    continued: bool,
    /// A row of several packets, as far as it has come; only where rows are handed over.
    long_row: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    First,
    Columns(u64),
    ColumnsEnd,
    Rows,
}

impl AnswerParser {
    /// For the answer to a request of which the last packet had the number `sequence`.
    pub fn to_request(sequence: u8, binary: bool) -> AnswerParser {
        AnswerParser { sequence, binary, ..AnswerParser::default() }
    }

    /// Leaves numbers to the frames around the packets.
    pub fn unnumbered(self) -> AnswerParser {
        AnswerParser { unnumbered: true, ..self }
    }

    /// After an error of the server: how much of the last input it was at the end of.
    pub fn consumed(&self) -> usize {
        self.consumed
    }

    /// Parses as far as `input` goes; returns the bytes used up and what that was. With `on_part`,
    /// columns and rows are handed over whole; without, they are skipped wherever they are cut.
    pub fn feed(&mut self, input: &[u8], mut on_part: Option<OnPart<'_>>) -> Result<(usize, Step), Error> {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let taken = self.skip.min(input.len() - at);
                at += taken;
                self.skip -= taken;
                if self.skip > 0 {
                    return Ok((at, Step::More));
                }
            }
            let Some(header) = input.get(at..at + HEADER_BYTES) else { return Ok((at, Step::More)) };
            let length = payload_length(header);
            if header[3] != self.sequence.wrapping_add(1) && !self.unnumbered {
                return self.out_of_order(&input[at..]).map(|step| (at, step));
            }
            if self.continued || (self.state == State::Rows && length > 8 && on_part.is_none()) {
                // The hot path: a row, of which only the first byte matters.
                let first = input.get(at + HEADER_BYTES).copied();
                if !self.continued {
                    match first {
                        None => return Ok((at, Step::More)),
                        Some(0xff) => {
                            let Some((payload, _, size)) = whole_packet(&input[at..]) else {
                                return Ok((at, Step::More));
                            };
                            self.consumed = at + size;
                            return Err(server_error(payload));
                        }
                        Some(1..) if self.binary => return Err(not_a_row()),
                        Some(_) => self.answer.rows += 1,
                    }
                }
                self.sequence = header[3];
                self.continued = length == PAYLOAD_BYTES_MAX;
                self.skip = length;
                at += HEADER_BYTES;
                continue;
            }
            let Some(payload) = input[at + HEADER_BYTES..].get(..length) else { return Ok((at, Step::More)) };
            at += HEADER_BYTES + length;
            self.sequence = header[3];
            self.consumed = at;
            if self.state == State::Rows && (length == PAYLOAD_BYTES_MAX || !self.long_row.is_empty()) {
                self.long_row(payload, &mut on_part)?;
            } else if let Some(step) = self.packet(payload, &mut on_part)? {
                return Ok((at, step));
            }
        }
    }

    /// One more packet of a row that does not fit in one; a shorter packet is its last.
    fn long_row(&mut self, payload: &[u8], on_part: &mut Option<OnPart<'_>>) -> Result<(), Error> {
        if self.long_row.len() + payload.len() > ROW_BYTES_MAX {
            return Err(Error::Protocol("the server sent a row of more than 64 MiB".to_owned()));
        }
        self.long_row.extend_from_slice(payload);
        if payload.len() == PAYLOAD_BYTES_MAX {
            return Ok(());
        }
        let row = std::mem::take(&mut self.long_row);
        self.answer.rows += 1;
        show(on_part, Part::Row(&row));
        Ok(())
    }

    /// A packet with another number than its turn has belongs to no answer of ours. A farewell is one all the
    /// same: a server that ends an idle session sends it at any time.
    #[cold]
    fn out_of_order(&self, input: &[u8]) -> Result<Step, Error> {
        let is_error = match input.get(HEADER_BYTES) {
            None => return Ok(Step::More),
            Some(first) => *first == 0xff,
        };
        match whole_packet(input) {
            None if is_error => return Ok(Step::More),
            Some((payload, ..)) if is_error => {
                if let error @ Error::Lost { .. } = server_error(payload) {
                    return Err(error);
                }
            }
            _ => {}
        }
        let expected = self.sequence.wrapping_add(1);
        Err(Error::Protocol(format!("packet number {} where number {expected} was due", input[3])))
    }

    /// An error in place of a column's description is no answer that a server may give.
    #[cold]
    fn refused(&self, payload: &[u8]) -> Error {
        match (self.state, server_error(payload)) {
            (State::Columns(_) | State::ColumnsEnd, error) => {
                Error::Protocol(format!("where a column was to be described: {error}"))
            }
            (_, error) => error,
        }
    }

    fn packet(&mut self, payload: &[u8], on_part: &mut Option<OnPart<'_>>) -> Result<Option<Step>, Error> {
        let first = *payload.first().ok_or_else(|| Error::Protocol("empty packet".to_owned()))?;
        match (self.state, first) {
            (_, 0xff) => Err(self.refused(payload)),
            (State::First, 0x00) => self.ok(payload),
            (State::First, 0xfb) => Err(Error::Protocol("the server asked for a file nobody offered".to_owned())),
            (State::First, _) => {
                let columns = lenenc(payload).map(|(columns, _)| columns).filter(|columns| *columns > 0);
                let columns = columns.filter(|columns| *columns <= COLUMNS_MAX);
                let columns = columns.ok_or_else(|| Error::Protocol("no count of columns".to_owned()))?;
                self.answer.returns_rows = true;
                self.state = State::Columns(columns);
                show(on_part, Part::Result);
                Ok(None)
            }
            (State::Columns(left), 0xfe) if payload.len() < 9 => Err(columns_ended(left)),
            (State::Columns(left), _) => {
                self.state = if left == 1 { State::ColumnsEnd } else { State::Columns(left.saturating_sub(1)) };
                show(on_part, Part::Column(payload));
                Ok(None)
            }
            (State::ColumnsEnd, 0xfe) => {
                self.state = State::Rows;
                Ok(None)
            }
            (State::ColumnsEnd, _) => Err(Error::Protocol("no EOF behind the columns".to_owned())),
            (State::Rows, 0xfe) if payload.len() < 9 => {
                let number = |at: usize| payload.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
                self.answer.warnings = number(1);
                Ok(self.end_of_result(number(3)))
            }
            (State::Rows, 1..) if self.binary => Err(not_a_row()),
            (State::Rows, _) => {
                self.answer.rows += 1;
                show(on_part, Part::Row(payload));
                Ok(None)
            }
        }
    }

    fn ok(&mut self, payload: &[u8]) -> Result<Option<Step>, Error> {
        let cut = || Error::Protocol("OK packet cut off".to_owned());
        let (affected, size) = lenenc(&payload[1..]).ok_or_else(cut)?;
        let (new_key, id_size) = lenenc(&payload[1 + size..]).ok_or_else(cut)?;
        let status = payload.get(1 + size + id_size..3 + size + id_size).ok_or_else(cut)?;
        self.answer.affected = self.answer.affected.saturating_add(affected);
        self.answer.new_key = new_key;
        let warnings = payload.get(3 + size + id_size..5 + size + id_size);
        self.answer.warnings = warnings.map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
        // Behind status, warnings and the length of the text.
        let info = payload.get(6 + size + id_size..).unwrap_or_default();
        let unchanged = rows_matched(info).saturating_sub(affected);
        self.answer.unchanged = self.answer.unchanged.saturating_add(unchanged);
        Ok(self.end_of_result(u16::from_le_bytes([status[0], status[1]])))
    }

    fn end_of_result(&mut self, status: u16) -> Option<Step> {
        self.state = State::First;
        (status & SERVER_MORE_RESULTS_EXISTS == 0).then_some(Step::Done(self.answer))
    }
}

#[cold]
fn columns_ended(left: u64) -> Error {
    Error::Protocol(format!("the columns ended {left} before their count"))
}

#[cold]
fn not_a_row() -> Error {
    Error::Protocol("something else where a row was due".to_owned())
}

/// The first number of `Rows matched: 1  Changed: 0  Warnings: 0`, which servers write in several languages.
fn rows_matched(info: &[u8]) -> u64 {
    let digits = info.iter().skip_while(|byte| !byte.is_ascii_digit()).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

fn show(on_part: &mut Option<OnPart<'_>>, part: Part<'_>) {
    if let Some(on_part) = on_part {
        on_part(part);
    }
}

/// Turns an ERR packet into an error; the codes a client should retry are those sysbench ignores
/// by default: deadlock (1213), lock wait timeout (1205), record changed since last read (1020).
pub fn server_error(payload: &[u8]) -> Error {
    let Some(code) = payload.get(1..3) else { return Error::Protocol("ERR packet cut off".to_owned()) };
    let code = u16::from_le_bytes([code[0], code[1]]);
    let text = &payload[3..];
    let text = if text.first() == Some(&b'#') { text.get(6..).unwrap_or(&[]) } else { text };
    let message = || String::from_utf8_lossy(text).into_owned();
    match code {
        1213 | 1205 | 1020 => Error::Retryable { code: Code::number(code) },
        1062 => Error::Duplicate { code: Code::number(code) },
        // Server shutdown, connection killed (MariaDB, MySQL), idle for too long.
        1053 | 1927 | 3169 | 4031 => Error::farewell(Code::number(code), &message()),
        _ => Error::Refused { code: Code::number(code), message: message() },
    }
}

/// The server's first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    pub session: u32,
    pub capabilities: u32,
    pub charset: u8,
    pub scramble: Vec<u8>,
    /// Absent before 5.5.
    pub plugin: Option<String>,
}

pub const CLIENT_PLUGIN_AUTH: u32 = 1 << 19;
pub const CLIENT_SECURE_CONNECTION: u32 = 1 << 15;

impl Greeting {
    /// ```text
    /// 0a version\0 thread:4 scramble:8 00 caps_low:2 charset:1 status:2 caps_high:2 scramble_length:1
    /// reserved:10 scramble_rest:max(13,length-8) [plugin\0]
    /// ```
    pub fn parse(payload: &[u8]) -> Result<Greeting, Error> {
        let cut = || Error::Protocol("greeting cut off".to_owned());
        if payload.first() == Some(&0xff) {
            return Err(server_error(payload));
        }
        if payload.first() != Some(&10) {
            return Err(Error::Protocol("not a MySQL 4.1+ server (protocol version 10 expected)".to_owned()));
        }
        let version_end = 1 + payload[1..].iter().position(|b| *b == 0).ok_or_else(cut)?;
        let version = String::from_utf8_lossy(&payload[1..version_end]).into_owned();
        let rest = &payload[version_end + 1..];
        let fixed = rest.get(..31).ok_or_else(cut)?;
        let capabilities = u32::from(u16::from_le_bytes([fixed[13], fixed[14]]))
            | u32::from(u16::from_le_bytes([fixed[18], fixed[19]])) << 16;
        let mut scramble = fixed[4..12].to_vec();
        let tail = &rest[31..];
        scramble.extend_from_slice(tail.get(..12).ok_or_else(cut)?);
        let plugin = (capabilities & CLIENT_PLUGIN_AUTH != 0).then(|| {
            let name = tail.get(13..).unwrap_or(&[]);
            let end = name.iter().position(|b| *b == 0).unwrap_or(name.len());
            String::from_utf8_lossy(&name[..end]).into_owned()
        });
        let session = u32::from_le_bytes([fixed[0], fixed[1], fixed[2], fixed[3]]);
        Ok(Greeting { version, session, capabilities, charset: fixed[15], scramble, plugin })
    }
}

/// Splits a text-protocol row into its columns; `None` is NULL.
pub fn text_row(row: &[u8]) -> Result<Vec<Option<String>>, Error> {
    let mut columns = Vec::new();
    text_cells(row, &mut |cell| columns.push(cell.map(|text| String::from_utf8_lossy(text).into_owned())))?;
    Ok(columns)
}

/// The same, one by one and uncopied.
pub fn text_cells(mut row: &[u8], on_cell: &mut dyn FnMut(Option<&[u8]>)) -> Result<(), Error> {
    while let Some(first) = row.first() {
        if *first == 0xfb {
            on_cell(None);
            row = &row[1..];
        } else {
            on_cell(Some(take_lenenc_text(&mut row)?));
        }
    }
    Ok(())
}

fn row_cut_off() -> Error {
    Error::Protocol("row cut off".to_owned())
}

fn take_lenenc_text<'a>(input: &mut &'a [u8]) -> Result<&'a [u8], Error> {
    let (length, size) = lenenc(input).ok_or_else(row_cut_off)?;
    let end = size.checked_add(length as usize).ok_or_else(row_cut_off)?;
    let text = input.get(size..end).ok_or_else(row_cut_off)?;
    *input = &input[end..];
    Ok(text)
}

fn take<'a>(input: &mut &'a [u8], bytes: usize) -> Result<&'a [u8], Error> {
    let taken = input.get(..bytes).ok_or_else(row_cut_off)?;
    *input = &input[bytes..];
    Ok(taken)
}

/// Set in the type that [`column_type`] gives for numbers that are never negative.
const UNSIGNED: u8 = 0x80;

/// The type of one column, of which the description is
///
/// ```text
/// catalog schema table org_table name org_name (six lenenc texts) 0c charset:2 length:4 type:1 flags:2 ...
/// ```
///
/// with the flag for unsigned numbers in its highest bit, which no numeric type needs.
pub fn column_type(mut description: &[u8]) -> Result<u8, Error> {
    for _ in 0..6 {
        take_lenenc_text(&mut description)?;
    }
    let fixed = take(&mut description, 10)?;
    let (kind, unsigned) = (fixed[7], fixed[8] & 0x20 != 0);
    Ok(if unsigned && kind < UNSIGNED { kind | UNSIGNED } else { kind })
}

/// The name that a result gives a column: the fifth of its texts.
pub fn column_name(mut description: &[u8]) -> Result<&[u8], Error> {
    for _ in 0..4 {
        take_lenenc_text(&mut description)?;
    }
    take_lenenc_text(&mut description)
}

/// Reads a binary row, `00 null_bitmap:(n+9)/8 values`, by the types of its columns.
pub fn binary_row(mut row: &[u8], rows: &mut Rows) -> Result<(), Error> {
    let columns = rows.types.len();
    let bitmap = take(&mut row, 1 + (columns + 9) / 8)?;
    for column in 0..columns {
        // The bitmap's first two bits are unused.
        let bit = column + 2;
        if bitmap[1 + bit / 8] & (1 << (bit % 8)) != 0 {
            rows.push_null();
            continue;
        }
        let kind = rows.types[column];
        match kind {
            TYPE_TINY => rows.push_int(i64::from(take(&mut row, 1)?[0] as i8)),
            TYPE_TINY_UNSIGNED => rows.push_int(i64::from(take(&mut row, 1)?[0])),
            TYPE_SHORT => rows.push_int(i64::from(little_endian(take(&mut row, 2)?) as i16)),
            TYPE_YEAR | TYPE_YEAR_UNSIGNED | TYPE_SHORT_UNSIGNED => {
                rows.push_int(little_endian(take(&mut row, 2)?) as i64);
            }
            TYPE_LONG | TYPE_INT24 => rows.push_int(i64::from(little_endian(take(&mut row, 4)?) as i32)),
            TYPE_LONG_UNSIGNED | TYPE_INT24_UNSIGNED => rows.push_int(little_endian(take(&mut row, 4)?) as i64),
            TYPE_LONGLONG | TYPE_LONGLONG_UNSIGNED => rows.push_int(little_endian(take(&mut row, 8)?) as i64),
            TYPE_TIMESTAMP | TYPE_DATE | TYPE_DATETIME | TYPE_TIMESTAMP_UNSIGNED => {
                let length = usize::from(take(&mut row, 1)?[0]);
                rows.push_text(&date_text(take(&mut row, length)?)?[..if length > 4 { 19 } else { 10 }]);
            }
            TYPE_FLOAT => rows.push_double(f32::from_bits(little_endian(take(&mut row, 4)?) as u32)),
            TYPE_DOUBLE => rows.push_double(f64::from_bits(little_endian(take(&mut row, 8)?))),
            TYPE_TIME => {
                return Err(Error::Protocol(format!("a value of type {kind:#x}, which no workload reads")));
            }
            _ => rows.push_text(take_lenenc_text(&mut row)?),
        }
    }
    Ok(())
}

const TYPE_TINY: u8 = 0x01;
const TYPE_SHORT: u8 = 0x02;
const TYPE_LONG: u8 = 0x03;
const TYPE_FLOAT: u8 = 0x04;
const TYPE_DOUBLE: u8 = 0x05;
const TYPE_TIMESTAMP: u8 = 0x07;
const TYPE_LONGLONG: u8 = 0x08;
const TYPE_INT24: u8 = 0x09;
const TYPE_DATE: u8 = 0x0a;
const TYPE_TIME: u8 = 0x0b;
const TYPE_DATETIME: u8 = 0x0c;
const TYPE_YEAR: u8 = 0x0d;
const TYPE_TINY_UNSIGNED: u8 = TYPE_TINY | UNSIGNED;
const TYPE_SHORT_UNSIGNED: u8 = TYPE_SHORT | UNSIGNED;
const TYPE_LONG_UNSIGNED: u8 = TYPE_LONG | UNSIGNED;
const TYPE_TIMESTAMP_UNSIGNED: u8 = TYPE_TIMESTAMP | UNSIGNED;
const TYPE_LONGLONG_UNSIGNED: u8 = TYPE_LONGLONG | UNSIGNED;
const TYPE_INT24_UNSIGNED: u8 = TYPE_INT24 | UNSIGNED;
const TYPE_YEAR_UNSIGNED: u8 = TYPE_YEAR | UNSIGNED;

const TYPE_DECIMAL: u8 = 0x00;
const TYPE_JSON: u8 = 0xf5;
const TYPE_NEWDECIMAL: u8 = 0xf6;

/// What a column of this type holds.
fn form(kind: u8) -> Form {
    match kind & !UNSIGNED {
        _ if kind == TYPE_NEWDECIMAL => Form::Decimal,
        _ if kind == TYPE_JSON => Form::Json,
        TYPE_DECIMAL => Form::Decimal,
        TYPE_FLOAT | TYPE_DOUBLE => Form::Float,
        TYPE_TIME | TYPE_TIMESTAMP | TYPE_DATETIME => Form::Time,
        _ => Form::Plain,
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// `[year:2 month:1 day:1 [hour:1 minute:1 second:1 [microseconds:4]]]` as `2031-05-04 10:11:12`.
fn date_text(bytes: &[u8]) -> Result<[u8; 19], Error> {
    if !matches!(bytes.len(), 0 | 4 | 7 | 11) {
        return Err(row_cut_off());
    }
    let part = |at: usize| u64::from(bytes.get(at).copied().unwrap_or(0));
    let year = part(0) | part(1) << 8;
    let mut text = *b"0000-00-00 00:00:00";
    let fields = [(0, 4, year), (5, 2, part(2)), (8, 2, part(3)), (11, 2, part(4)), (14, 2, part(5)), (17, 2, part(6))];
    for (start, digits, mut number) in fields {
        for at in (start..start + digits).rev() {
            text[at] = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
    Ok(text)
}

impl Rows {
    /// Takes in what a MySQL parser hands over.
    pub fn take_mysql(&mut self, part: Part<'_>, binary: bool) -> Result<(), Error> {
        match part {
            Part::Result => {
                self.types.clear();
                self.begin_result();
            }
            Part::Column(column) => {
                let kind = column_type(column)?;
                self.types.push(kind);
                if self.keeps_names() {
                    self.push_column(column_name(column)?, form(kind));
                }
            }
            Part::Columns(_) => {}
            Part::Row(row) if binary => binary_row(row, self)?,
            Part::Row(row) => text_cells(row, &mut |cell| match cell {
                Some(text) => self.push_text(text),
                None => self.push_null(),
            })?,
        }
        if matches!(part, Part::Row(_)) {
            self.end_row()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
