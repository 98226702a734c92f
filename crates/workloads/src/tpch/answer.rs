//! Answers that can be compared over servers: texts without the spaces that fill them, numbers to two places, rows in
//! their order where ORDER BY leaves no other.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use driver::{Cell, Dialect, Rows};

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    Text,
    /// SQLite answers in units of so many places, all others in wholes.
    Number(u32),
}

/// What an answer consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// ORDER BY leaves no other order.
    pub ordered: bool,
    pub columns: Vec<Column>,
}

/// The number of rows, and a checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub rows: u64,
    sum: u64,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows, {:016x}", self.rows, self.sum)
    }
}

impl Column {
    /// `text`, `number`, `number/4`
    pub fn of(word: &str) -> Option<Column> {
        match word.split_once('/') {
            Some(("number", places)) => Some(Column::Number(places.parse().ok()?)),
            None if word == "number" => Some(Column::Number(0)),
            None if word == "text" => Some(Column::Text),
            _ => None,
        }
    }
}

impl Shape {
    /// A row as a text.
    pub fn text(&self, dialect: Dialect, rows: &Rows, row: usize) -> String {
        let cells = (0..rows.width(row)).map(|column| {
            let kind = self.columns.get(column).copied().unwrap_or(Column::Text);
            let kind = if dialect == Dialect::Sqlite { kind } else { kind.in_wholes() };
            match rows.cell(row, column) {
                Some(Cell::Null) | None => "NULL".to_owned(),
                Some(Cell::Int(number)) => kind.shown(&number.to_string()),
                Some(Cell::Text(text)) => kind.shown(&String::from_utf8_lossy(text)),
            }
        });
        cells.collect::<Vec<_>>().join("|")
    }

    /// The same of values as texts, numbers in wholes.
    pub fn text_of(&self, row: &[Option<String>]) -> String {
        let kinds = self.columns.iter().map(|kind| kind.in_wholes()).chain(std::iter::repeat(Column::Text));
        let cell =
            |(cell, kind): (&Option<String>, Column)| cell.as_ref().map_or("NULL".to_owned(), |text| kind.shown(text));
        row.iter().zip(kinds).map(cell).collect::<Vec<_>>().join("|")
    }

    /// Of rows as texts.
    pub fn answer(&self, rows: &[String]) -> Answer {
        let mut sum = 0_u64;
        for (place, text) in rows.iter().enumerate() {
            let hash = hash(text.as_bytes());
            // With its place in it, a row at another one is another row.
            let placed = if self.ordered { hash.rotate_left(place as u32 % 64) ^ place as u64 } else { hash };
            sum = sum.wrapping_add(spread(placed));
        }
        Answer { rows: rows.len() as u64, sum }
    }
}

impl Column {
    fn in_wholes(self) -> Column {
        match self {
            Column::Text => Column::Text,
            Column::Number(_) => Column::Number(0),
        }
    }

    fn shown(self, text: &str) -> String {
        match self {
            Column::Text => text.trim_end_matches(' ').to_owned(),
            Column::Number(places) => rounded(text, places).unwrap_or_else(|| text.to_owned()),
        }
    }
}

/// Places behind the point that are read: an average has more on some servers than on others.
const PLACES_READ: usize = 16;
const PLACES: usize = 2;

/// A number in units of so many places, to two places; a half is rounded away from zero.
fn rounded(text: &str, places: u32) -> Option<String> {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction = &fraction[..fraction.len().min(PLACES_READ)];
    let units: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = fraction.len() + places as usize;
    let hundredths = match scale.checked_sub(PLACES) {
        None => units * 10_i128.pow((PLACES - scale) as u32),
        Some(0) => units,
        Some(more) => {
            let divisor = 10_i128.pow(more as u32);
            (units + divisor / 2) / divisor
        }
    };
    let sign = if hundredths == 0 { "" } else { sign };
    Some(format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100))
}

/// FNV-1a (Fowler, Noll and Vo).
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// Spreads every bit over all of the result, so that sums of like hashes differ.
fn spread(hash: u64) -> u64 {
    load::Rng::stream(hash, 0, 0).next_u64()
}

/// What was answered first to each question of a run: every later answer, of whichever contender, has to be the same.
#[derive(Debug, Default)]
pub struct Known(Mutex<BTreeMap<String, Answer>>);

impl Known {
    /// Why an answer to a question, which its text identifies in every dialect, is wrong.
    pub fn compare(&self, question: &str, answer: Answer) -> Option<String> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = *known.entry(question.to_owned()).or_insert(answer);
        (first != answer).then(|| format!("{answer}, where {first} were answered first"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_the_same_however_a_server_writes_them() {
        let check = |text: &str, places: u32, expected: &str| {
            assert_eq!(rounded(text, places).as_deref(), Some(expected), "{text} in {places} places");
        };
        for (wholes, units, places, expected) in [
            ("12.30", "1230", 2, "12.30"),
            ("-12.345", "-123450", 4, "-12.35"),
            ("6.375000", "637.5", 2, "6.38"),
            ("25.5751545", "2557.51545", 2, "25.58"),
            ("0", "0", 2, "0.00"),
            ("-0.004", "-40", 4, "0.00"),
            ("1995", "1995", 0, "1995.00"),
        ] {
            check(wholes, 0, expected);
            check(units, places, expected);
        }
        check("35785.70930693735224371782", 0, "35785.71");
        assert_eq!(rounded("abc", 0), None);
    }

    #[test]
    fn the_first_answer_is_what_later_ones_are_held_to() {
        let (known, one) = (Known::default(), Answer { rows: 3, sum: 7 });
        assert_eq!(known.compare("Q1", one), None);
        assert_eq!(known.compare("Q1", one), None);
        assert_eq!(known.compare("Q2", Answer { rows: 1, sum: 7 }), None);
        let wrong = known.compare("Q1", Answer { rows: 2, sum: 9 }).unwrap();
        assert_eq!(wrong, "2 rows, 0000000000000009, where 3 rows, 0000000000000007 were answered first");
    }
}
