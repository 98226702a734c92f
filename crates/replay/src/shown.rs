//! A statement of the log as an example: with its values where the experiment asks for them, else with their lengths.

use capture::{digest_text, with_lengths};

use crate::schedule::{Schedule, Statement};

/// Letters of an example.
const LETTERS_MAX: usize = 600;

pub fn shown(schedule: &Schedule, statement: &Statement, shows_literals: bool) -> String {
    let text = schedule.bytes(statement.text);
    let mut shown = match shows_literals {
        true => String::from_utf8_lossy(text).into_owned(),
        false => without_values(schedule, statement, text),
    };
    let (first, count) = statement.apart();
    let values = schedule.values[first as usize..][..usize::from(count)].iter().enumerate();
    let bound = values.map(|(number, value)| {
        let value = value.text().map(|value| String::from_utf8_lossy(schedule.bytes(value)));
        let value = match value {
            None => "NULL".to_owned(),
            Some(value) if shows_literals => format!("'{}'", value.replace('\'', "''")),
            Some(value) => format!("?({})", value.chars().count()),
        };
        format!("${} = {value}", number + 1)
    });
    let bound = bound.collect::<Vec<String>>().join(", ");
    if !bound.is_empty() {
        shown = format!("{shown} with {bound}");
    }
    match shown.char_indices().nth(LETTERS_MAX) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown,
    }
}

/// The session may read quotes in another way than is usual: where its digest is another one then, it has no values either.
fn without_values(schedule: &Schedule, statement: &Statement, text: &[u8]) -> String {
    let dialect = schedule.dialect();
    let digest = &schedule.digests[statement.digest as usize].text;
    let is_usual = digest_text(text, dialect) == digest.as_bytes();
    let with_lengths = with_lengths(text, dialect).filter(|_| is_usual);
    with_lengths.map_or_else(|| digest.clone(), |text| String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::About;
    use crate::schedule::{Parameter, Text, tests::statement};

    /// One statement with a bound value, and the digest that its server made of it.
    fn check(text: &str, digest: &str, shows_literals: bool, expected: &str) {
        let bound = "it's";
        let place = |start: usize, length: usize| Text { start: start as u64, length: length as u32 };
        let of_digest = capture::Digest { text: digest.as_bytes().to_vec(), ..capture::Digest::default() };
        let schedule = Schedule {
            is_mysql: true,
            texts: [text, bound].concat().into_bytes(),
            values: vec![Parameter::Text(place(text.len(), bound.len())), Parameter::Null],
            digests: vec![About::of(&of_digest, true)],
            ..Schedule::default()
        };
        let statement = Statement { text: place(0, text.len()), values: (0, 2), ..statement(0) };
        assert_eq!(shown(&schedule, &statement, shows_literals), expected);
    }

    #[test]
    fn values_stand_in_an_example_only_where_they_are_asked_for() {
        let text = "select a from t where b = 'Marta'";
        let digest = "select a from t where b = ?";
        check(text, digest, false, "select a from t where b = ?(5) with $1 = ?(4), $2 = NULL");
        check(text, digest, true, "select a from t where b = 'Marta' with $1 = 'it''s', $2 = NULL");
    }

    /// With NO_BACKSLASH_ESCAPES these are two strings; read in the usual way, the second would be a name.
    #[test]
    fn a_text_that_reads_in_another_way_is_shown_by_its_digest() {
        check(r"select 'a\', 'Marta', '\'", "select ?, ?, ?", false, "select ?, ?, ? with $1 = ?(4), $2 = NULL");
    }
}
