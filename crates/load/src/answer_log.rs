//! Answers to the statements of a log, one by one, in as few bytes as two servers' answers can be compared by.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// How a statement came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Came {
    /// It was not sent, because an error had ended its transaction.
    #[default]
    Unsent,
    Rows,
    Change,
    /// SQLSTATE, or the server's number with blanks behind it.
    Error([u8; 5]),
}

/// The answer to one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OneAnswer {
    pub came: Came,
    /// Rows that were returned, or else changed.
    pub count: u64,
    /// Hash of all values in the order of the rows.
    pub in_order: u64,
    /// The same whatever their order; rows that come twice count twice.
    pub any_order: u64,
    /// Hash of the names of all columns, whatever their case.
    pub names: u64,
    /// The number that the server gave to the first new row.
    pub new_key: u64,
    pub warnings: Warnings,
}

/// Codes of warnings as a set: the lowest four, in ascending order; zero where there are fewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Warnings(pub [u16; 4]);

impl Warnings {
    pub fn of(codes: impl Iterator<Item = u16>) -> Warnings {
        let codes: BTreeSet<u16> = codes.collect();
        let mut lowest = [0; 4];
        lowest.iter_mut().zip(codes).for_each(|(place, code)| *place = code);
        Warnings(lowest)
    }

    pub fn codes(self) -> impl Iterator<Item = u16> {
        self.0.into_iter().filter(|code| *code != 0)
    }
}

/// The answers to all statements of a log, in its order of sessions.
#[derive(Debug)]
pub struct AnswerLog(Mutex<Vec<OneAnswer>>);

impl AnswerLog {
    pub fn of(statements: usize) -> Arc<AnswerLog> {
        Arc::new(AnswerLog(Mutex::new(vec![OneAnswer::default(); statements])))
    }

    pub fn note(&self, statement: usize, answer: OneAnswer) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = answers.get_mut(statement) {
            *place = answer;
        }
    }

    pub fn answers(&self) -> Vec<OneAnswer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

const BYTES: usize = 56;

/// `came:1 code:5 zero:2 count:8 in_order:8 any_order:8 names:8 new_key:8 warnings:4x2` for each answer, little-endian.
pub fn answers_as_bytes(answers: &[OneAnswer]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(answers.len() * BYTES);
    for one in answers {
        let (came, code) = match one.came {
            Came::Unsent => (0, [0; 5]),
            Came::Rows => (1, [0; 5]),
            Came::Change => (2, [0; 5]),
            Came::Error(code) => (3, code),
        };
        bytes.push(came);
        bytes.extend(code);
        bytes.extend([0; 2]);
        let numbers = [one.count, one.in_order, one.any_order, one.names, one.new_key];
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        one.warnings.0.iter().for_each(|code| bytes.extend(code.to_le_bytes()));
    }
    bytes
}

/// None where the bytes are no such list.
pub fn answers_from_bytes(bytes: &[u8]) -> Option<Vec<OneAnswer>> {
    let (all, rest) = bytes.as_chunks::<BYTES>();
    rest.is_empty().then(|| all.iter().map(one_from_bytes).collect())?
}

fn one_from_bytes(bytes: &[u8; BYTES]) -> Option<OneAnswer> {
    let code = *bytes[1..].first_chunk()?;
    let number = |at: usize| bytes[at..].first_chunk().map(|number| u64::from_le_bytes(*number));
    let came = match bytes[0] {
        0 => Came::Unsent,
        1 => Came::Rows,
        2 => Came::Change,
        3 => Came::Error(code),
        _ => return None,
    };
    let code = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    Some(OneAnswer {
        came,
        count: number(8)?,
        in_order: number(16)?,
        any_order: number(24)?,
        names: number(32)?,
        new_key: number(40)?,
        warnings: Warnings([48, 50, 52, 54].map(code)),
    })
}

/// How far the answers of two servers to a statement may be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// By all of their values.
    Values,
    /// By the number of rows: values do not follow from the data alone.
    Rows,
    /// By all of their values, which describe the server and not its data.
    Apart,
    Never,
}

/// What the log knows of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// Id of its digest.
    pub digest: &'a str,
    pub class: &'static str,
    pub compared: Compared,
    /// Its rows come in an order that it asks for.
    pub is_ordered: bool,
    /// It asks for some rows only, so that of rows that are equal in their order any may come.
    pub is_limited: bool,
    /// Its entry.
    pub log: &'a str,
    pub line: u64,
    /// How it came out in the log, as far as that is known: with an error of this code, or without one.
    pub error: Option<[u8; 5]>,
    pub knows_errors: bool,
    /// Rows that were returned, and changed.
    pub rows: Option<u64>,
    pub affected: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_back_and_no_part_of_one_is_taken() {
        let answers = [
            OneAnswer::default(),
            OneAnswer {
                came: Came::Rows,
                count: 3,
                in_order: u64::MAX,
                any_order: 7,
                names: 5,
                ..OneAnswer::default()
            },
            OneAnswer { came: Came::Error(*b"1062 "), ..OneAnswer::default() },
            OneAnswer {
                came: Came::Change,
                count: 1,
                new_key: 4711,
                warnings: Warnings::of([1366, 1265, 1366].into_iter()),
                ..OneAnswer::default()
            },
        ];
        let bytes = answers_as_bytes(&answers);
        assert_eq!(answers_from_bytes(&bytes).as_deref(), Some(&answers[..]));
        assert_eq!(answers_from_bytes(&bytes[..bytes.len() - 1]), None);
        assert_eq!(answers_from_bytes(&[9; BYTES]), None);
    }
}
