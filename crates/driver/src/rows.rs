//! The values of an answer, for workloads whose next statement depends on the last one's rows.
//!
//! One [`Rows`] is filled again and again and keeps its memory, so that reading values allocates
//! nothing once it has grown. Servers send a number as a number or as its digits; the readers here
//! take either.

use std::io::Write as _;

use crate::error::Error;

/// An answer that is kept whole is no longer: no request asks for as much, so a longer one is an attack or a fault.
const BYTES_MAX: usize = 64 << 20;

pub(crate) fn too_long() -> Error {
    Error::Protocol("the server sent more than 64 MiB in answer to one statement".to_owned())
}

/// Rows as texts, as long as there are not too many of them.
#[derive(Default)]
pub(crate) struct TextRows {
    pub(crate) rows: Vec<Vec<Option<String>>>,
    bytes: usize,
}

impl TextRows {
    pub(crate) fn push(&mut self, row: Vec<Option<String>>) -> Result<(), Error> {
        let texts: usize = row.iter().flatten().map(|text| allocated_bytes(text.capacity())).sum();
        // The list of rows has up to twice the room that it needs.
        self.bytes += texts + allocated_bytes(size_of_val(row.as_slice())) + 2 * size_of_val(&row);
        self.rows.push(row);
        if self.bytes > BYTES_MAX { Err(too_long()) } else { Ok(()) }
    }
}

/// What room for `bytes` takes of the heap: an allocator rounds up and keeps notes, which is most of a short text.
fn allocated_bytes(bytes: usize) -> usize {
    bytes.next_multiple_of(16) + 16
}

/// One value of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    Null,
    Int(i64),
    /// Text, or a decimal in digits.
    Text(&'a [u8]),
}

/// What a column holds, as far as one value may be written in several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Texts, bytes, whole numbers: what differs in a byte is another value.
    #[default]
    Plain,
    /// An exact number, which may have zeros behind its last place.
    Decimal,
    /// An inexact number.
    Float,
    /// A time, which may have zeros behind its fraction.
    Time,
    Json,
    /// A text of a fixed length: blanks at its end are none of its value.
    Char,
    /// `t` or `f`.
    Flag,
}

/// The rows of one answer; of all its results, where a procedure gave several.
#[derive(Debug, Default)]
pub struct Rows {
    cells: Vec<Held>,
    text: Vec<u8>,
    /// Where each row ends in `cells`.
    ends: Vec<usize>,
    /// Types of the columns of MySQL's result under way.
    pub(crate) types: Vec<u8>,
    /// Of each result, for those who ask.
    layout: Option<Layout>,
}

/// Where results begin, what their columns are called, and what they hold.
#[derive(Debug, Default)]
struct Layout {
    /// The first row and the first name of each result.
    results: Vec<(usize, usize)>,
    names: Vec<String>,
    forms: Vec<Form>,
    /// Names in use; those behind it keep their memory.
    used: usize,
}

#[derive(Debug, Clone, Copy)]
enum Held {
    Null,
    Int(i64),
    Text { start: usize, end: usize },
}

impl Rows {
    /// Keeps results apart, and the names of their columns.
    pub fn with_names() -> Rows {
        Rows { layout: Some(Layout::default()), ..Rows::default() }
    }

    pub fn keeps_names(&self) -> bool {
        self.layout.is_some()
    }

    /// Results that have columns.
    pub fn results(&self) -> usize {
        self.layout.as_ref().map_or(0, |layout| layout.results.len())
    }

    /// The rows of a result, and the names of its columns.
    pub fn result(&self, at: usize) -> Option<(std::ops::Range<usize>, &[String])> {
        let (rows, columns) = self.bounds(at)?;
        Some((rows, &self.layout.as_ref()?.names[columns]))
    }

    /// What the columns of a result hold.
    pub fn forms(&self, at: usize) -> Option<&[Form]> {
        let (_, columns) = self.bounds(at)?;
        Some(&self.layout.as_ref()?.forms[columns])
    }

    /// The rows of a result, and its columns among those of all results.
    fn bounds(&self, at: usize) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
        let layout = self.layout.as_ref()?;
        let (row, column) = *layout.results.get(at)?;
        let (next_row, next_column) = layout.results.get(at + 1).copied().unwrap_or((self.len(), layout.used));
        Some((row..next_row, column..next_column))
    }

    /// Another result begins.
    pub(crate) fn begin_result(&mut self) {
        let row = self.len();
        if let Some(layout) = &mut self.layout {
            layout.results.push((row, layout.used));
        }
    }

    pub(crate) fn push_column(&mut self, name: &[u8], form: Form) {
        let Some(layout) = &mut self.layout else { return };
        if layout.used == layout.names.len() {
            layout.names.push(String::new());
            layout.forms.push(Form::Plain);
        }
        layout.forms[layout.used] = form;
        let place = &mut layout.names[layout.used];
        place.clear();
        place.extend(name.utf8_chunks().map(|chunk| chunk.valid()));
        layout.used += 1;
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How many values a row has.
    pub fn width(&self, row: usize) -> usize {
        let start = if row == 0 { Some(&0) } else { self.ends.get(row - 1) };
        start.zip(self.ends.get(row)).map_or(0, |(start, end)| end - start)
    }

    pub fn cell(&self, row: usize, column: usize) -> Option<Cell<'_>> {
        let start = if row == 0 { 0 } else { *self.ends.get(row - 1)? };
        let held = self.cells.get(start..*self.ends.get(row)?)?.get(column)?;
        Some(match *held {
            Held::Null => Cell::Null,
            Held::Int(number) => Cell::Int(number),
            Held::Text { start, end } => Cell::Text(&self.text[start..end]),
        })
    }

    /// A whole number.
    pub fn int(&self, row: usize, column: usize) -> Result<i64, Error> {
        self.decimal(row, column, 0)
    }

    /// A decimal in units of its last of `scale` places: 12.30 of scale 2 is 1230. A whole number is
    /// one of such units, which is how SQLite keeps decimals.
    pub fn decimal(&self, row: usize, column: usize, scale: u32) -> Result<i64, Error> {
        let found = match self.cell(row, column) {
            Some(Cell::Int(number)) => Some(number),
            Some(Cell::Text(digits)) => decimal(digits, scale),
            Some(Cell::Null) | None => None,
        };
        found.ok_or_else(|| {
            Error::Protocol(format!("no number in row {row}, column {column}: {:?}", self.cell(row, column)))
        })
    }

    /// Empty for NULL.
    pub fn text(&self, row: usize, column: usize) -> &[u8] {
        match self.cell(row, column) {
            Some(Cell::Text(text)) => text,
            _ => &[],
        }
    }

    pub fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
        self.ends.clear();
        self.types.clear();
        if let Some(layout) = &mut self.layout {
            layout.results.clear();
            layout.used = 0;
        }
    }

    pub(crate) fn push_null(&mut self) {
        self.cells.push(Held::Null);
    }

    pub(crate) fn push_int(&mut self, number: i64) {
        self.cells.push(Held::Int(number));
    }

    pub(crate) fn push_text(&mut self, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        self.cells.push(Held::Text { start, end: self.text.len() });
    }

    /// An inexact number, as the shortest digits that mean it.
    pub(crate) fn push_double(&mut self, number: impl std::fmt::Display) {
        let start = self.text.len();
        // Writing to memory does not fail.
        let _ = write!(self.text, "{number}");
        self.cells.push(Held::Text { start, end: self.text.len() });
    }

    pub(crate) fn end_row(&mut self) -> Result<(), Error> {
        self.ends.push(self.cells.len());
        let bytes = self.text.len() + size_of_val(self.cells.as_slice()) + size_of_val(self.ends.as_slice());
        if bytes > BYTES_MAX { Err(too_long()) } else { Ok(()) }
    }
}

/// What a parser finds in an answer, for its caller.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// Another result begins.
    Result,
    /// MySQL's description of one column.
    Column(&'a [u8]),
    /// PostgreSQL's description of all columns of a result.
    Columns(&'a [u8]),
    Row(&'a [u8]),
}

/// `-12.3` with scale 2 is -1230; places beyond the scale must be zeros.
fn decimal(text: &[u8], scale: u32) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (mut number, mut places) = (0i64, None);
    for byte in digits {
        match byte {
            b'.' if places.is_none() => places = Some(0),
            b'0' if places == Some(scale) => {}
            b'0'..=b'9' if places != Some(scale) => {
                number = number.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                places = places.map(|places| places + 1);
            }
            _ => return None,
        }
    }
    if digits.is_empty() || digits == b"." {
        return None;
    }
    let number = number.checked_mul(10i64.checked_pow(scale - places.unwrap_or(0))?)?;
    Some(if negative { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mysql;

    #[test]
    fn inexact_numbers_come_as_their_shortest_digits() {
        // MySQL's types DOUBLE and FLOAT, with the row's leading zero and its bitmap.
        let mut rows = Rows { types: vec![0x05, 0x04], ..Rows::default() };
        let row = [&[0, 0][..], &13.08f64.to_le_bytes(), &1.1f32.to_le_bytes()].concat();
        mysql::packet::binary_row(&row, &mut rows).unwrap();
        rows.end_row().unwrap();
        assert_eq!((rows.text(0, 0), rows.text(0, 1)), (b"13.08".as_slice(), b"1.1".as_slice()));
    }

    #[test]
    fn decimals_are_read_in_units_of_their_last_place() {
        let check = |text: &str, scale, expected| assert_eq!(decimal(text.as_bytes(), scale), expected, "{text}");
        check("12.34", 2, Some(1234));
        check("-12.3", 2, Some(-1230));
        check("12", 2, Some(1200));
        check("0.1234", 4, Some(1234));
        check("7", 0, Some(7));
        check("7.00", 0, Some(7));
        check(".5", 1, Some(5));
        check("7.01", 1, None);
        check("", 2, None);
        check("-", 2, None);
        check(".", 2, None);
        check("1e5", 2, None);
        check("99999999999999999999", 0, None);
    }

    #[test]
    fn results_are_kept_apart_with_the_names_of_their_columns() {
        let column = |name: &str| [name.as_bytes(), &[0; 19]].concat();
        let described = |names: &[&str]| {
            let columns: Vec<u8> = names.iter().flat_map(|name| column(name)).collect();
            [&(names.len() as u16).to_be_bytes()[..], &columns].concat()
        };
        let row: &[u8] = b"\0\x01\0\0\0\x017";
        let mut rows = Rows::with_names();
        for _ in 0..2 {
            rows.clear();
            for part in [Part::Columns(&described(&["a", "b c"])), Part::Columns(&described(&["x"])), Part::Row(row)] {
                rows.take_postgres(part).unwrap();
            }
            assert_eq!(rows.results(), 2);
            assert_eq!(rows.result(0), Some((0..0, ["a".to_owned(), "b c".to_owned()].as_slice())));
            assert_eq!(rows.result(1), Some((0..1, ["x".to_owned()].as_slice())));
            assert_eq!(rows.result(2), None);
        }
        assert!(rows.take_postgres(Part::Columns(b"\0\x01cut")).is_err());
    }

    #[test]
    fn rows_without_end_are_refused_before_they_fill_the_memory() {
        let mut rows = Rows::default();
        let kept = std::iter::repeat_n((), 100).take_while(|()| {
            rows.push_text(&[b'x'; 1 << 20]);
            rows.end_row().is_ok()
        });
        assert_eq!(kept.count(), 63);
        let mut rows = TextRows::default();
        assert!((0..100).any(|_| rows.push(vec![Some("x".repeat(1 << 20))]).is_err()));
        // The allocator's share of short texts counts: a row of one letter takes a hundred bytes and more.
        let mut rows = TextRows::default();
        assert!((0..BYTES_MAX / 100).any(|_| rows.push(vec![Some("x".to_owned())]).is_err()));
    }

    #[test]
    fn a_cell_is_found_by_its_row_and_column_only() {
        let mut rows = Rows::default();
        rows.push_int(1);
        rows.push_text(b"2.50");
        rows.end_row().unwrap();
        rows.push_null();
        rows.end_row().unwrap();
        assert_eq!((rows.len(), rows.int(0, 0), rows.decimal(0, 1, 2)), (2, Ok(1), Ok(250)));
        assert_eq!((rows.cell(1, 0), rows.cell(1, 1), rows.cell(2, 0)), (Some(Cell::Null), None, None));
        assert!(rows.int(1, 0).is_err());
        assert_eq!(rows.text(0, 1), b"2.50");
    }
}
