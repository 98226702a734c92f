//! An answer as two numbers: hashes of its values, in the order of its rows and in any order.
//!
//! One value may be written in several ways: zeros behind the last place of an exact number, more or fewer digits of an
//! inexact one, keys of JSON in another order. Such values hash alike.

use std::borrow::Cow;

use capture::Code;
use driver::{Answer, Cell, Error, Form, Rows};
use load::{Came, OneAnswer, Warnings, code_of};
use sha2::{Digest, Sha256};

use crate::portable::sqlstate;

/// Of sums and means of inexact numbers no more digits count: they depend on the order in which the numbers are added.
const DIGITS_OF_SUMS: usize = 12;

/// What came back, for a statement whose inexact numbers are sums or not; so many of their digits count.
pub fn of(answer: &Result<Answer, Error>, rows: &Rows, are_sums: bool, digits: usize) -> OneAnswer {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            return OneAnswer {
                came: Came::Error(Code::of(code_of(error).as_str().as_bytes()).0),
                ..OneAnswer::default()
            };
        }
    };
    if !answer.returns_rows {
        return OneAnswer {
            came: Came::Change,
            count: answer.affected,
            new_key: answer.new_key,
            ..OneAnswer::default()
        };
    }
    let digits = if are_sums { digits.min(DIGITS_OF_SUMS) } else { digits };
    let (mut in_order, mut any_order, mut names) = (Sha256::new(), 0u64, Sha256::new());
    let mut row_bytes = Vec::new();
    for result in 0..rows.results() {
        let (Some((range, columns)), Some(forms)) = (rows.result(result), rows.forms(result)) else { continue };
        in_order.update([b'R']);
        columns.iter().for_each(|name| names.update([name.to_lowercase().as_bytes(), b"\0"].concat()));
        for row in range {
            row_bytes.clear();
            forms.iter().enumerate().for_each(|(column, form)| {
                put_value(&mut row_bytes, rows.cell(row, column), *form, digits);
            });
            let hash = first_number(Sha256::digest(&row_bytes).as_slice());
            // A sum and not an exclusive or: of that, two equal rows would leave nothing.
            any_order = any_order.wrapping_add(hash);
            in_order.update(hash.to_le_bytes());
        }
    }
    let [in_order, names] = [in_order, names].map(|hash| first_number(&hash.finalize()));
    OneAnswer { came: Came::Rows, count: answer.rows, in_order, any_order, names, ..OneAnswer::default() }
}

/// What of an answer servers of several kinds have: errors by SQLSTATE, rows that a change found, no names and no keys.
pub fn of_any_kind(one: OneAnswer, answer: &Result<Answer, Error>) -> OneAnswer {
    let came = match one.came {
        Came::Error(code) => Came::Error(sqlstate(code)),
        came => came,
    };
    let matched = answer.as_ref().ok().filter(|_| came == Came::Change).map(Answer::matched);
    OneAnswer { came, count: matched.unwrap_or(one.count), names: 0, new_key: 0, ..one }
}

/// The codes of what `SHOW WARNINGS` returns: level, code, message.
pub fn warnings(rows: &Rows) -> Warnings {
    let code = |row: usize| rows.int(row, 1).ok().and_then(|code| u16::try_from(code).ok());
    Warnings::of((0..rows.len()).filter_map(code))
}

fn first_number(hash: &[u8]) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// `N` for NULL, or `V length:8 bytes`.
fn put_value(out: &mut Vec<u8>, cell: Option<Cell<'_>>, form: Form, digits: usize) {
    let mut put = |bytes: &[u8]| {
        out.push(b'V');
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(bytes);
    };
    match cell {
        None | Some(Cell::Null) => out.push(b'N'),
        Some(Cell::Int(number)) => put(number.to_string().as_bytes()),
        Some(Cell::Text(text)) => put(&canonical(text, form, digits)),
    }
}

fn canonical(text: &[u8], form: Form, digits: usize) -> Cow<'_, [u8]> {
    match form {
        Form::Plain => Cow::Borrowed(text),
        Form::Decimal => Cow::Borrowed(without_last_zeros(text)),
        Form::Time => time(text),
        Form::Char => text[..text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1)].into(),
        Form::Flag => match text {
            b"t" => b"1".into(),
            b"f" => b"0".into(),
            _ => text.into(),
        },
        Form::Float => {
            std::str::from_utf8(text).ok().and_then(|text| float(text, digits)).map_or(text.into(), Cow::Owned)
        }
        Form::Json => json(text).map_or(text.into(), Cow::Owned),
    }
}

/// `1.50` is `1.5`, `2.00` is `2`, `-0.0` is `0`.
fn without_last_zeros(text: &[u8]) -> &[u8] {
    if !text.contains(&b'.') {
        return text;
    }
    let end = text.iter().rposition(|byte| *byte != b'0').map_or(0, |last| last + 1);
    let text = text[..end].strip_suffix(b".").unwrap_or(&text[..end]);
    if text == b"-0" { b"0" } else { text }
}

/// The zone of PostgreSQL stands behind the fraction.
fn time(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(point) = text.iter().position(|byte| *byte == b'.') else { return text.into() };
    let digits = text[point + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (stamp, zone) = text.split_at(point + 1 + digits);
    [without_last_zeros(stamp), zone].concat().into()
}

fn float(text: &str, digits: usize) -> Option<Vec<u8>> {
    let number: f64 = text.parse().ok()?;
    if number.is_nan() {
        return Some(b"NaN".to_vec());
    }
    // The sign of zero is no value.
    let number = if number == 0.0 { 0.0 } else { number };
    Some(format!("{number:.*e}", digits - 1).into_bytes())
}

fn json(text: &[u8]) -> Option<Vec<u8>> {
    let mut value: serde_json::Value = serde_json::from_slice(text).ok()?;
    value.sort_all_objects();
    serde_json::to_vec(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_form_however_it_is_written() {
        for (form, one, other, is_same) in [
            (Form::Decimal, "1.50", "1.5", true),
            (Form::Decimal, "2.00", "2", true),
            (Form::Decimal, "-0.0", "0", true),
            (Form::Decimal, "100", "1", false),
            (Form::Decimal, "1.05", "1.5", false),
            (Form::Plain, "1.50", "1.5", false),
            (Form::Plain, "a", "A", false),
            (Form::Plain, "", "0", false),
            (Form::Float, "0.30000000000000004", "0.3", true),
            (Form::Float, "1e3", "1000", true),
            (Form::Float, "-0", "0", true),
            (Form::Float, "NaN", "nan", true),
            (Form::Float, "0.1", "0.10000001", false),
            (Form::Char, "ab  ", "ab", true),
            (Form::Char, " ab", "ab", false),
            (Form::Flag, "t", "1", true),
            (Form::Flag, "f", "1", false),
            (Form::Time, "2031-05-04 10:00:00.500", "2031-05-04 10:00:00.5", true),
            (Form::Time, "2031-05-04 10:00:00.000000+02", "2031-05-04 10:00:00+02", true),
            (Form::Time, "2031-05-04 10:00:00+02", "2031-05-04 10:00:00+01", false),
            (Form::Json, r#"{"b": 1, "a": [1, 2]}"#, r#"{"a":[1,2],"b":1}"#, true),
            (Form::Json, r#"{"a": [1, 2]}"#, r#"{"a": [2, 1]}"#, false),
        ] {
            let [first, second] = [one, other].map(|text| canonical(text.as_bytes(), form, 15));
            assert_eq!(first == second, is_same, "{form:?}: {one} and {other}");
        }
    }

    #[test]
    fn sums_of_inexact_numbers_are_equal_by_twelve_digits() {
        let [one, other] = ["100.000000000004", "100.000000000001"];
        assert_ne!(float(one, 15), float(other, 15));
        assert_eq!(float(one, DIGITS_OF_SUMS), float(other, DIGITS_OF_SUMS));
    }

    /// One column of texts, as a MySQL server sends it.
    fn rows_of(texts: &[Option<&str>]) -> (Result<Answer, Error>, Rows) {
        let mut rows = Rows::with_names();
        let column = [&[3][..], b"def", &[0, 0, 0, 1], b"a", &[0, 12, 45, 0, 0, 1, 0, 0, 0xfd, 0, 0, 0, 0, 0]].concat();
        rows.take_mysql(driver::Part::Result, false).unwrap();
        rows.take_mysql(driver::Part::Column(&column), false).unwrap();
        for text in texts {
            let row = text.map_or(vec![0xfb], |text| [&[text.len() as u8], text.as_bytes()].concat());
            rows.take_mysql(driver::Part::Row(&row), false).unwrap();
        }
        (Ok(Answer { rows: texts.len() as u64, returns_rows: true, ..Answer::default() }), rows)
    }

    #[test]
    fn rows_are_told_apart_by_their_order_their_number_and_null() {
        let hashed = |texts: &[Option<&str>]| {
            let (answer, rows) = rows_of(texts);
            of(&answer, &rows, false, 15)
        };
        let (ab, ba) = (hashed(&[Some("a"), Some("b")]), hashed(&[Some("b"), Some("a")]));
        assert_eq!((ab.count, ab.any_order), (2, ba.any_order));
        assert_ne!(ab.in_order, ba.in_order);
        let check = |one: &[Option<&str>], other: &[Option<&str>]| {
            assert_ne!(hashed(one).any_order, hashed(other).any_order, "{one:?} {other:?}");
        };
        check(&[Some("a"), Some("a"), Some("b")], &[Some("a"), Some("b"), Some("b")]);
        check(&[None], &[Some("")]);
        check(&[Some("a"), Some("a")], &[]);
    }

    #[test]
    fn an_error_is_its_code_and_a_change_the_rows_it_changed() {
        let rows = Rows::with_names();
        let error = Err(Error::Refused { code: driver::Code::number(1062), message: "for key 'PRIMARY'".to_owned() });
        assert_eq!(of(&error, &rows, false, 15).came, Came::Error(*b"1062 "));
        let change = Ok(Answer { affected: 3, ..Answer::default() });
        assert_eq!((of(&change, &rows, false, 15).came, of(&change, &rows, false, 15).count), (Came::Change, 3));
    }
}
