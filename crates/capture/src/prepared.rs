//! What executions in logs of MySQL and MariaDB were prepared as: these logs have values in the place of the placeholders.
//!
//! The general log has the text with its placeholders where a statement is prepared. The slow log of MySQL says only that one is:
//! what a session sends for the first time behind that is taken for it, and its literals for the values.

use std::collections::{HashMap, HashSet};

use crate::bytes::number_of;
use crate::event::{Act, Event, hash_of};
use crate::format::Format;
use crate::normal::normalise;
use crate::private::literals::{decode, is_type};
use crate::tokens::{Dialect, Kind, Token, Tokens, is_name};

/// Quotes and escapes as sessions have them that do not change `sql_mode`; of others no values are taken.
const USUAL: Dialect = Dialect::MYSQL;
/// Texts of one session that are remembered.
const TEXTS_MAX: usize = 2_000;
/// Longer texts are lists of rows, with more placeholders than a statement may have.
const TEXT_MAX: usize = 256 * 1024;
/// Bytes of a digest text that a text is looked up by: of longer ones the beginning is kept.
const KEY_MAX: usize = 4 * 1024;
const DIGITS_MAX: usize = 18;

/// A value in the place of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound<T = Vec<u8>> {
    Null,
    Int(i64),
    /// An exact number of so many units of its last of `scale` places.
    Decimal {
        units: i64,
        scale: u8,
    },
    Text(T),
}

impl<T> Bound<T> {
    /// The same with another text.
    pub fn map<U>(self, text: impl FnOnce(T) -> U) -> Bound<U> {
        match self {
            Bound::Null => Bound::Null,
            Bound::Int(value) => Bound::Int(value),
            Bound::Decimal { units, scale } => Bound::Decimal { units, scale },
            Bound::Text(value) => Bound::Text(text(value)),
        }
    }

    /// Its text, where it is one.
    pub fn text(self) -> Option<T> {
        match self {
            Bound::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The values of an execution; None where it is none of that statement, or has a value whose type the log does not show.
pub fn bound_values(prepared: &[u8], text: &[u8]) -> Option<Vec<Bound>> {
    let mut values = Vec::new();
    let (mut end, mut rest) = (0, text);
    for placeholder in Tokens::new(prepared, USUAL).filter(|token| token.kind == Kind::Parameter) {
        rest = rest.strip_prefix(&prepared[end..placeholder.start])?;
        let (value, length) = value(rest)?;
        values.push(value);
        (end, rest) = (placeholder.end, &rest[length..]);
    }
    let [of_prepared, of_text] = [&prepared[end..], rest].map(without_end);
    (of_prepared == of_text).then_some(values)
}

fn without_end(text: &[u8]) -> &[u8] {
    let text = text.trim_ascii_end();
    text.strip_suffix(b";").unwrap_or(text).trim_ascii_end()
}

/// The value that a text begins with, and its length.
fn value(text: &[u8]) -> Option<(Bound, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let token = Tokens::new(&text[sign..], USUAL).next().filter(|token| token.start == 0)?;
    let bytes = &text[sign..sign + token.end];
    let value = match token.kind {
        Kind::Number => number(bytes, sign == 1)?,
        _ if sign == 1 => return None,
        Kind::String if bytes[0] == b'\'' => Bound::Text(decode(bytes, USUAL).value),
        Kind::Word if bytes.eq_ignore_ascii_case(b"null") => Bound::Null,
        _ => return None,
    };
    Some((value, sign + token.end))
}

fn number(digits: &[u8], is_negative: bool) -> Option<Bound> {
    let (whole, places) = match digits.iter().position(|byte| *byte == b'.') {
        Some(point) => (&digits[..point], &digits[point + 1..]),
        None => (digits, &digits[..0]),
    };
    let all = [whole, places].concat();
    let is_plain = all.iter().all(u8::is_ascii_digit) && all.len() <= DIGITS_MAX;
    let units: i64 = number_of(&all).filter(|_| is_plain)?;
    let units = if is_negative { -units } else { units };
    let scale = places.len() as u8;
    Some(if digits.contains(&b'.') { Bound::Decimal { units, scale } } else { Bound::Int(units) })
}

/// What sessions of a log have prepared.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    sessions: HashMap<u64, Session>,
    /// The last text that was made or looked up.
    text: Vec<u8>,
}

#[derive(Debug, Default)]
struct Session {
    /// Texts with placeholders by their digests.
    texts: HashMap<u64, Vec<Box<[u8]>>>,
    count: usize,
    /// Of a log that does not have the texts: how many were prepared that no execution has been seen of.
    awaited: u32,
    /// The last entry says that a statement is prepared.
    is_asked: bool,
    /// Digests that were prepared.
    known: HashSet<u32>,
}

impl Prepared {
    /// Takes what sessions do besides statements.
    pub fn note(&mut self, event: &Event<'_>, dialect: Dialect, merge_numbered_names: bool) {
        match event.act {
            Act::Restart => self.sessions.clear(),
            Act::Connect | Act::Quit => drop(self.sessions.remove(&event.session)),
            Act::Close => {
                if let Some(session) = self.sessions.get_mut(&event.session) {
                    session.awaited = session.awaited.saturating_sub(1);
                }
            }
            Act::Prepare if dialect == USUAL => {
                let session = self.sessions.entry(event.session).or_default();
                match event.text {
                    b"" => (session.awaited, session.is_asked) = (session.awaited + 1, true),
                    text => session.prepare(text, digest_of(text, merge_numbered_names, &mut self.text)),
                }
            }
            _ if dialect != USUAL => drop(self.sessions.remove(&event.session)),
            _ => {}
        }
    }

    /// What an execution of this digest was prepared as; empty where the log does not show it.
    pub fn text_of(&mut self, event: &Event<'_>, format: Format, digest: u32, digest_text: &[u8]) -> &[u8] {
        self.text.clear();
        let Some(session) = self.sessions.get_mut(&event.session) else { return &[] };
        match event.act {
            Act::Execute => {
                let texts = session.texts.get(&key_of(digest_text)).into_iter().flatten();
                let found = texts.rev().find(|text| bound_values(text, event.text).is_some());
                found.map_or(&[], |text| text)
            }
            Act::Statement if format == Format::MySqlSlow && session.is_execution(digest) => {
                if event.text.len() > TEXT_MAX || !put_placeholders(event.text, &mut self.text) {
                    self.text.clear();
                }
                &self.text
            }
            _ => &[],
        }
    }
}

fn digest_of(text: &[u8], merge_numbered_names: bool, buffer: &mut Vec<u8>) -> u64 {
    buffer.clear();
    normalise(text, USUAL, merge_numbered_names, buffer);
    key_of(buffer)
}

fn key_of(digest_text: &[u8]) -> u64 {
    hash_of(&digest_text[..digest_text.len().min(KEY_MAX)])
}

impl Session {
    fn prepare(&mut self, text: &[u8], digest: u64) {
        let texts = self.texts.entry(digest).or_default();
        if texts.iter().any(|known| &**known == text) {
            return;
        }
        texts.push(text.into());
        self.count += 1;
        if self.count > TEXTS_MAX {
            (self.texts, self.count) = (HashMap::new(), 0);
        }
    }

    /// A digest is taken for a prepared one when it is met first while one is awaited.
    fn is_execution(&mut self, digest: u32) -> bool {
        let is_asked = std::mem::take(&mut self.is_asked);
        let is_known = self.known.contains(&digest);
        if self.awaited > 0 && (!is_known || is_asked) {
            self.awaited -= 1;
            self.known.insert(digest);
            return true;
        }
        is_known
    }
}

const FIRST_WORDS: [&[u8]; 6] = [b"select", b"insert", b"replace", b"update", b"delete", b"with"];
/// Behind these a list of expressions ends in which numbers are places of columns.
const BEHIND_LISTS: [&[u8]; 6] = [b"limit", b"having", b"for", b"into", b"union", b"window"];

/// Writes the statement with placeholders for its literals; false where that may be another statement.
pub(crate) fn put_placeholders(text: &[u8], out: &mut Vec<u8>) -> bool {
    let mut before: &[u8] = b"";
    // Whether each open parenthesis has the lengths of a type.
    let mut open: Vec<bool> = Vec::new();
    // How many were open where a list by places began, and whether it is of groups.
    let mut list: Option<(usize, bool)> = None;
    let mut end = 0;
    let mut is_first = true;
    for token in Tokens::new(text, USUAL) {
        let part = lower(text, token);
        if std::mem::take(&mut is_first) && !FIRST_WORDS.contains(&part.as_slice()) {
            return false;
        }
        match token.kind {
            Kind::Unfinished | Kind::Parameter => return false,
            Kind::Word if part == b"json_table" => return false,
            Kind::Word if BEHIND_LISTS.contains(&part.as_slice()) => list = None,
            Kind::Word if part == b"by" => list = Some((open.len(), before.eq_ignore_ascii_case(b"group"))),
            Kind::Punctuation if part == b"(" => open.push(is_type(&before.to_ascii_lowercase())),
            Kind::Punctuation if part == b")" => {
                open.pop();
                list = list.filter(|(depth, _)| *depth <= open.len());
            }
            // Two strings side by side are one, or a name, and a placeholder beside a letter is none.
            Kind::String if before.ends_with(b"'") || before.ends_with(b"\"") => return false,
            Kind::Number | Kind::String if text.get(token.end).is_some_and(|byte| is_name(*byte)) => return false,
            // What is selected has to be what is grouped by, literals and all.
            Kind::Number | Kind::String if list.is_some_and(|(_, is_group)| is_group) => return false,
            Kind::Number | Kind::String if list.is_none() && !open.contains(&true) && takes_value(before) => {
                out.extend_from_slice(&text[end..token.start]);
                out.push(b'?');
                end = token.end;
            }
            _ => {}
        }
        before = &text[token.start..token.end];
    }
    out.extend_from_slice(&text[end..]);
    true
}

fn lower(text: &[u8], token: Token) -> Vec<u8> {
    match token.kind {
        Kind::Word | Kind::Punctuation => text[token.start..token.end].to_ascii_lowercase(),
        _ => Vec::new(),
    }
}

/// Whether a server takes a placeholder behind this: operators, commas, parentheses and some words.
fn takes_value(before: &[u8]) -> bool {
    match &*before.to_ascii_lowercase() {
        b"(" | b"," => true,
        b"" | b"->" | b"->>" | b")" | b"." => false,
        b"all" | b"and" | b"between" | b"case" | b"distinct" | b"div" | b"else" | b"having" | b"interval" | b"like"
        | b"limit" | b"mod" | b"not" | b"offset" | b"on" | b"or" | b"regexp" | b"rlike" | b"select" | b"then"
        | b"when" | b"where" | b"xor" => true,
        [first, ..] => before.is_ascii() && !(first.is_ascii_alphanumeric() || b"_'\"`$@".contains(first)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_values(prepared: &str, text: &str, expected: Option<&[Bound]>) {
        assert_eq!(bound_values(prepared.as_bytes(), text.as_bytes()).as_deref(), expected, "{text}");
    }

    fn text(text: &str) -> Bound {
        Bound::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn values_are_what_stands_where_the_placeholders_are() {
        let prepared = "select '?', a from t where b = ? and c=? limit ?";
        let values = [text("it's ?\n"), Bound::Int(-5), Bound::Int(10)];
        check_values(prepared, r"select '?', a from t where b = 'it\'s ?\n' and c=-5 limit 10", Some(&values));
        check_values(prepared, "select '?', a from t where b = 'x' and d=-5 limit 10", None);
        let all = [Bound::Null, Bound::Decimal { units: -1250, scale: 2 }, text("a'b"), text("")];
        check_values("insert into t values (?,?,?,?);", "insert into t values (NULL,-12.50,'a''b','') ; ", Some(&all));
        check_values("select 1", "select 1", Some(&[]));
        let is_not_exact = ["_binary'ab'", "x'61'", "1e5", "18446744073709551615", "0x61", "now()", "-'a'", "-", ""];
        is_not_exact.iter().for_each(|value| check_values("select ?", &format!("select {value}"), None));
    }

    fn check_placeholders(text: &str, expected: Option<&str>) {
        let mut out = Vec::new();
        let is_whole = put_placeholders(text.as_bytes(), &mut out);
        assert_eq!(is_whole.then(|| String::from_utf8(out).unwrap()).as_deref(), expected, "{text}");
    }

    #[test]
    fn literals_become_placeholders_where_servers_take_them() {
        check_placeholders(
            "SELECT c FROM t WHERE id = 5 AND b IN ('x', -3)",
            Some("SELECT c FROM t WHERE id = ? AND b IN (?, -?)"),
        );
        check_placeholders(
            "insert into t values (1, 'a'), (NULL, 2.5)",
            Some("insert into t values (?, ?), (NULL, ?)"),
        );
        check_placeholders(
            "select a from t where b like 'x%' escape '!' limit 3, 4",
            Some("select a from t where b like ? escape '!' limit ?, ?"),
        );
        check_placeholders("select a from t order by 2, b limit 1", Some("select a from t order by 2, b limit ?"));
        check_placeholders(
            "select (select a from u order by 1) + 2 from t",
            Some("select (select a from u order by 1) + ? from t"),
        );
        check_placeholders("select cast(a as char(10)), 5 from t", Some("select cast(a as char(10)), ? from t"));
        check_placeholders(
            "select date '2020-01-01', a as 'n', b->'$.x' from t",
            Some("select date '2020-01-01', a as 'n', b->'$.x' from t"),
        );
        check_placeholders("select a + 1 from t group by a + 1", None);
        check_placeholders("set @a = 1", None);
        check_placeholders("select 'a", None);
        check_placeholders("select 'a' 'b'", None);
        check_placeholders("select * from json_table('[1]', '$[*]' columns (a int path '$')) t", None);
    }

    #[test]
    fn a_slow_log_shows_executions_by_what_is_met_first_behind_prepare() {
        let mut session = Session { awaited: 2, ..Session::default() };
        assert_eq!([7, 7, 8, 9].map(|digest| session.is_execution(digest)), [true, true, true, false]);
        (session.awaited, session.is_asked) = (1, true);
        assert_eq!([7, 9].map(|digest| session.is_execution(digest)), [true, false], "prepared for each execution");
    }
}
