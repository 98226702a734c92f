//! What stands for text in the file of a kind: what differs from dialect to dialect, and what would be too long to write.
//!
//! `{id}` is a column whose numbers the server gives, `{text}` the type of a long text, `{truncate}` what empties a
//! table. `[[100: :k#]]` is 100 times what stands behind the colon, with `#` as 1 to 100; commas stand between, or what
//! follows a `|`, and of commands each has a line. `[[text 64]]` is so many letters, `[[digits 119]]` groups of digits as
//! sysbench's.

use driver::Dialect;
use load::Rng;

/// Of the texts, which are the same in every run.
const SEED: u64 = 42;
/// sysbench's groups are of so many digits, with a dash between.
const GROUP: usize = 12;

pub fn filled(text: &str, dialect: Dialect) -> String {
    let (id, long, truncate) = match dialect {
        Dialect::MySql => ("id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY", "MEDIUMTEXT", "TRUNCATE TABLE"),
        Dialect::Postgres => ("id SERIAL PRIMARY KEY", "TEXT", "TRUNCATE TABLE"),
        Dialect::Sqlite => ("id INTEGER PRIMARY KEY", "TEXT", "DELETE FROM"),
    };
    let text = text.replace("{id}", id).replace("{text}", long).replace("{truncate}", truncate);
    let text = replaced(&text, "[[text ", letters);
    let text = replaced(&text, "[[digits ", digits);
    lists(&text)
}

/// With each `[[word N]]` made by `make`.
fn replaced(text: &str, opening: &str, make: fn(usize) -> String) -> String {
    let mut parts = text.split(opening);
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("]]").and_then(|(number, rest)| Some((number.trim().parse().ok()?, rest))) {
            Some((length, rest)) => whole += &(make(length) + rest),
            None => whole += &format!("{opening}{part}"),
        }
    }
    whole
}

/// Hexadecimal digits, which no server can press together to nothing.
fn letters(length: usize) -> String {
    let mut rng = Rng::stream(SEED, 0, length as u64);
    let mut text = String::with_capacity(length + 16);
    while text.len() < length {
        text += &format!("{:016x}", rng.next_u64());
    }
    text.truncate(length);
    text
}

fn digits(length: usize) -> String {
    let mut rng = Rng::stream(SEED, 1, length as u64);
    let digit = |place: usize| match place % GROUP {
        last if last == GROUP - 1 => '-',
        _ => char::from(b'0' + rng.below(10) as u8),
    };
    (0..length).map(digit).collect()
}

/// With each `[[N: text]]` written out.
fn lists(text: &str) -> String {
    let mut parts = text.split("[[");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("]]").and_then(|(list, rest)| Some((list_of(list)?, rest))) {
            Some((list, rest)) => whole += &(list + rest),
            None => whole += &format!("[[{part}"),
        }
    }
    whole
}

fn list_of(list: &str) -> Option<String> {
    let (count, item) = list.split_once(": ")?;
    let count: u32 = count.trim().parse().ok()?;
    let (item, between) = match item.split_once('|') {
        _ if item.starts_with('\\') => (item, "\n"),
        Some((item, between)) => (item, between),
        None => (item, ", "),
    };
    Some((1..=count).map(|number| item.replace('#', &number.to_string())).collect::<Vec<_>>().join(between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_out() {
        let check = |text: &str, expected: &str| assert_eq!(filled(text, Dialect::Sqlite), expected);
        check("IN ([[3: :k#]])", "IN (:k1, :k2, :k3)");
        check("[[2: \\set k# # * 2]]\nSELECT 1", "\\set k1 1 * 2\n\\set k2 2 * 2\nSELECT 1");
        check("WHERE [[2: k = :k#| OR ]];", "WHERE k = :k1 OR k = :k2;");
        check("a[[b", "a[[b");
        check("{truncate} t", "DELETE FROM t");
    }

    #[test]
    fn long_texts_have_their_length_and_are_the_same_each_time() {
        let text = |template: &str| filled(template, Dialect::MySql);
        assert_eq!((text("[[text 65536]]").len(), text("[[digits 119]]").len()), (65_536, 119));
        assert_eq!(text("[[digits 119]]"), text("[[digits 119]]"));
        assert!(text("[[digits 12]]").ends_with('-') && !text("[[text 20]]").contains('-'));
    }
}
