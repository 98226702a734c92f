//! A statement with other values in place of its own: what is a literal is found by the tokens, as for its digest.

use std::borrow::Cow;

use crate::bytes::number_of;
use crate::pg_message::parameters;
use crate::private::mask::Mask;
use crate::tokens::{Dialect, Hint, Kind, Token, Tokens, blanks, is_name};

/// Writes a statement without its values and comments at the end of `out`, and gives the numbers of the parameters whose
/// values stay, because they count rows or lengths of time.
pub fn statement(text: &[u8], dialect: Dialect, mask: &Mask, out: &mut Vec<u8>) -> Vec<usize> {
    let mut writer = Writer { text, dialect, mask, out, kept: Vec::new(), around: Around::default(), depth: 0 };
    if sets_how_to_read(text) {
        writer.out.extend_from_slice(text);
        return Vec::new();
    }
    let mut end = 0;
    for token in Tokens::new(text, dialect) {
        writer.gap(&text[end..token.start]);
        writer.token(token);
        end = token.end;
    }
    writer.gap(&text[end..]);
    writer.kept
}

/// A statement without its values, but with their lengths: `name = ?(5)`. None where it cannot be read to its end.
pub fn with_lengths(text: &[u8], dialect: Dialect) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut end = 0;
    for token in Tokens::new(text, dialect) {
        let part = &text[token.start..token.end];
        out.extend_from_slice(blanks(&text[end..token.start]));
        end = token.end;
        let length = match token.kind {
            Kind::Unfinished | Kind::Hint => return None,
            Kind::Number => part.len(),
            Kind::String => decode(part, dialect).value.iter().filter(|byte| **byte & 0xc0 != 0x80).count(),
            _ => {
                out.extend_from_slice(part);
                continue;
            }
        };
        out.extend(format!("?({length})").into_bytes());
    }
    Some(out)
}

/// PostgreSQL's list of bound values, with others. None where it is no such list.
pub fn bound(list: &[u8], kept: &[usize], mask: &Mask) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (at, value) in parameters(list)?.into_iter().enumerate() {
        let mark = if at == 0 { "" } else { ", " };
        out.extend(format!("{mark}${} = ", at + 1).into_bytes());
        match value {
            None => out.extend(b"NULL"),
            Some(value) if kept.contains(&(at + 1)) && is_short_number(&value) => out.extend(quoted(&value, false)),
            Some(value) => out.extend(quoted(&bound_value(&value, mask), false)),
        }
    }
    Some(out)
}

/// Bytes are written in hexadecimal digits.
fn bound_value(value: &[u8], mask: &Mask) -> Vec<u8> {
    match value.strip_prefix(b"\\x") {
        Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => {
            [b"\\x", &*mask.digits_of_base(digits, b'x')].concat()
        }
        _ => mask.text(value),
    }
}

/// Settings that decide how what follows is read: without their values it is another text.
fn sets_how_to_read(text: &[u8]) -> bool {
    let head = text[..text.len().min(60)].to_ascii_lowercase();
    let words = head.split(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'@' | b'.')));
    let mut words = words.filter(|word| !word.is_empty());
    let is_set = words.next() == Some(b"set");
    let name = words.find(|word| !matches!(*word, b"session" | b"local"));
    let name = name.map(|name| name.strip_prefix(b"@@session.").or(name.strip_prefix(b"@@")).unwrap_or(name));
    // One setting alone, and nothing that could be a text of a user.
    let is_plain =
        text.len() <= 200 && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b" _@.='\",+:-/;\n".contains(byte));
    is_set
        && is_plain
        && name.is_some_and(|name| HOW_TO_READ.contains(&name))
        && text.iter().filter(|byte| **byte == b'=').count() <= 1
}

const HOW_TO_READ: [&[u8]; 8] =
    [b"names", b"character", b"sql_mode", b"autocommit", b"time_zone", b"client_encoding", b"transaction", b"time"];

/// Words behind which a number in parentheses is a length, and no value.
const TYPES: &str = "char varchar nchar nvarchar varying binary varbinary bit int bigint decimal dec numeric float datetime \
    timestamp time";

/// Whether a word in small letters is one of them.
pub(crate) fn is_type(word: &[u8]) -> bool {
    TYPES.split_ascii_whitespace().any(|name| name.as_bytes() == word)
}

/// Words between LIMIT and the end of what it says.
const OF_LIMITS: [&[u8]; 5] = [b"offset", b"all", b"next", b"first", b"rows"];

/// Units of an interval that is written as one string.
const UNITS: [&str; 12] =
    ["year", "month", "mon", "week", "day", "hour", "minute", "min", "second", "sec", "millisecond", "microsecond"];

/// What stands before a token, as far as it decides about numbers.
#[derive(Debug, Default)]
struct Around {
    /// The word before, in small letters; empty behind anything else.
    word: Vec<u8>,
    is_behind_comma: bool,
    is_limit: bool,
    is_interval: bool,
    /// The depth of the parentheses of a type.
    type_depth: Option<usize>,
    /// The depth at which ORDER BY or GROUP BY stands.
    by_depth: Option<usize>,
}

struct Writer<'a, 'b> {
    text: &'a [u8],
    dialect: Dialect,
    mask: &'b Mask,
    out: &'b mut Vec<u8>,
    kept: Vec<usize>,
    around: Around,
    depth: usize,
}

impl Writer<'_, '_> {
    /// Two minus signs before a comment of MySQL are none themselves, and a blank in its place would make them one.
    fn gap(&mut self, gap: &[u8]) {
        let blanks = blanks(gap);
        let opens_comment = self.out.ends_with(b"--") && !blanks.is_empty();
        self.out.extend_from_slice(if opens_comment { b"/**/" } else { blanks });
    }

    fn token(&mut self, token: Token) {
        let text = &self.text[token.start..token.end];
        match token.kind {
            Kind::Word => self.word(text),
            Kind::Number => self.number(text),
            Kind::String => self.string(text),
            Kind::Parameter => self.parameter(text),
            Kind::Punctuation => self.punctuation(text),
            Kind::Hint => self.hint(text),
            // What may be anything is a text as a whole, without what would open a quote.
            Kind::Unfinished => self.out.extend(self.mask.text(text)),
            Kind::QuotedName | Kind::Operator => self.other(text),
        }
    }

    fn other(&mut self, text: &[u8]) {
        let is_sign = matches!(text, b"-" | b"+");
        self.out.extend_from_slice(text);
        self.around = Around {
            is_interval: self.around.is_interval && is_sign,
            type_depth: self.around.type_depth,
            by_depth: self.around.by_depth,
            ..Around::default()
        };
    }

    fn word(&mut self, text: &[u8]) {
        let word = text.to_ascii_lowercase();
        let is_limit = match &*word {
            b"limit" | b"offset" | b"fetch" => true,
            of_limit => self.around.is_limit && OF_LIMITS.contains(&of_limit),
        };
        let by_depth = if word == b"by" { Some(self.depth) } else { self.around.by_depth };
        let is_interval = word == b"interval";
        self.other(text);
        self.around.by_depth = by_depth;
        self.around.is_limit = is_limit;
        self.around.is_interval = is_interval;
        self.around.word = word;
    }

    fn punctuation(&mut self, text: &[u8]) {
        let (is_type, is_limit) = (is_type(&self.around.word), self.around.is_limit);
        self.other(text);
        match text {
            b"(" => {
                self.depth += 1;
                self.around.type_depth = self.around.type_depth.or(is_type.then_some(self.depth));
            }
            b")" => {
                self.around.type_depth = self.around.type_depth.filter(|depth| *depth < self.depth);
                self.around.by_depth = self.around.by_depth.filter(|depth| *depth < self.depth);
                self.depth = self.depth.saturating_sub(1);
            }
            b"," => {
                self.around.is_behind_comma = true;
                self.around.is_limit = is_limit;
            }
            _ => self.around = Around::default(),
        }
    }

    /// Whether a literal here counts rows, lasts some time, or gives a length or a place, and is no value of a user.
    fn is_kept(&self) -> bool {
        let Around { is_limit, is_interval, type_depth, by_depth, is_behind_comma, ref word } = self.around;
        let is_column = by_depth == Some(self.depth) && (is_behind_comma || word == b"by");
        is_limit || is_interval || type_depth.is_some() || is_column
    }

    /// Behind a literal: a limit may go on, all else is over.
    fn literal(&mut self, text: &[u8]) {
        let is_limit = self.around.is_limit;
        self.other(text);
        self.around.is_limit = is_limit;
        self.around.is_interval = false;
    }

    fn number(&mut self, text: &[u8]) {
        let kept = self.is_kept() && is_short_number(text);
        let text = if kept { Cow::Borrowed(text) } else { Cow::Owned(self.mask.number(text)) };
        self.literal(&text);
    }

    fn parameter(&mut self, text: &[u8]) {
        if self.is_kept()
            && let Some(number) = text.get(1..).and_then(number_of)
        {
            self.kept.push(number);
        }
        self.literal(text);
    }

    fn string(&mut self, text: &[u8]) {
        if self.around.is_interval && is_interval(text) {
            return self.literal(text);
        }
        let Literal { prefix, value, base } = decode(text, self.dialect);
        let masked = match base {
            Some(base) => self.mask.digits_of_base(&value, base),
            None => self.mask.text(&value),
        };
        let written = [prefix, &quoted(&masked, escapes(self.dialect))].concat();
        // What is written in other quotes, or without its prefix, would go on with the literal before it, or take the word
        // or `u&` before it for a prefix.
        let joins = |before: u8| before == b'\'' || (text[0] != b'\'' && (is_name(before) || before == b'&'));
        if written[0] == b'\'' && self.out.last().is_some_and(|before| joins(*before)) {
            self.out.push(b' ');
        }
        self.literal(&written);
    }

    /// A comment that MySQL runs is a statement of its own; of a hint to the optimiser only strings are values.
    fn hint(&mut self, text: &[u8]) {
        let Hint { head, inner, runs } = Hint::of(text);
        self.out.extend_from_slice(head);
        if runs {
            let kept = statement(inner, self.dialect, self.mask, self.out);
            self.kept.extend(kept);
        } else {
            let mut end = 0;
            for token in Tokens::new(inner, self.dialect) {
                let text = &inner[token.start..token.end];
                self.gap(&inner[end..token.start]);
                match token.kind {
                    Kind::String | Kind::Unfinished => self.out.extend(self.mask.text(text)),
                    _ => self.out.extend_from_slice(text),
                }
                end = token.end;
            }
            self.gap(&inner[end..]);
        }
        self.other(b"*/");
    }
}

/// Counts of rows and lengths are short; a longer number is a value, wherever it stands.
fn is_short_number(text: &[u8]) -> bool {
    text.len() <= 9 && text.iter().all(u8::is_ascii_digit)
}

/// `'5 days 02:00:00'`
fn is_interval(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let inner = text.trim_matches('\'').to_ascii_lowercase();
    let is_part = |part: &str| {
        let number = part.trim_start_matches(|one: char| one.is_ascii_digit() || ":.-+".contains(one));
        let unit = number.strip_suffix('s').unwrap_or(number);
        number.is_empty() || UNITS.contains(&unit)
    };
    text.len() <= 40 && inner.split(' ').all(is_part)
}

fn escapes(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::MySql { no_backslash_escapes: false, .. })
}

/// A value as it is written: in single quotes, and with backslashes doubled where they would escape.
pub fn quoted(value: &[u8], has_escapes: bool) -> Vec<u8> {
    let mut out = vec![b'\''];
    for byte in value {
        if *byte == b'\'' || (*byte == b'\\' && has_escapes) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
    out
}

/// What a string literal stands for.
pub(crate) struct Literal<'a> {
    /// Written in front of the value again.
    prefix: &'a [u8],
    pub value: Vec<u8>,
    /// Of digits in another base.
    base: Option<u8>,
}

pub(crate) fn decode(text: &[u8], dialect: Dialect) -> Literal<'_> {
    if !dialect.is_mysql() && text[0] == b'$' {
        let tag = text[1..].iter().position(|byte| *byte == b'$').map_or(0, |at| at + 2);
        let value = text.get(tag..text.len().saturating_sub(tag)).unwrap_or_default().to_vec();
        return Literal { prefix: b"", value, base: None };
    }
    let open = text.iter().position(|byte| matches!(byte, b'\'' | b'"')).unwrap_or(0);
    let (prefix, quoted) = text.split_at(open);
    let (mark, inner) = (quoted[0], &quoted[1..quoted.len().saturating_sub(1).max(1)]);
    let base = match prefix {
        [base @ (b'x' | b'X' | b'b' | b'B')] => Some(*base),
        _ => None,
    };
    let is_postgres_escape = !dialect.is_mysql() && matches!(prefix, [b'e' | b'E']);
    let unescape: fn(&[u8]) -> (Vec<u8>, usize) = match prefix {
        _ if is_postgres_escape => of_postgres,
        [b'u' | b'U', b'&'] => of_unicode,
        _ if escapes(dialect) && base.is_none() => of_mysql,
        _ => |_| (b"\\".to_vec(), 1),
    };
    let prefix = if is_postgres_escape || prefix.ends_with(b"&") { b"" } else { prefix };
    Literal { prefix, value: unquoted(inner, mark, unescape), base }
}

/// Without doubled quotes and escapes; `unescape` gives what a backslash stands for, and the bytes it takes.
fn unquoted(inner: &[u8], mark: u8, unescape: fn(&[u8]) -> (Vec<u8>, usize)) -> Vec<u8> {
    let mut value = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        if inner[at] == b'\\' {
            let (bytes, length) = unescape(&inner[at..]);
            value.extend(bytes);
            at += length;
            continue;
        }
        value.push(inner[at]);
        at += if inner[at] == mark && inner.get(at + 1) == Some(&mark) { 2 } else { 1 };
    }
    value
}

/// `\%` and `\_` stay two characters: they are wildcards that are none.
fn of_mysql(text: &[u8]) -> (Vec<u8>, usize) {
    let Some(escaped) = text.get(1) else { return (b"\\".to_vec(), 1) };
    let value = match escaped {
        b'0' => 0,
        b'n' => b'\n',
        b't' => b'\t',
        b'r' => b'\r',
        b'b' => 8,
        b'Z' => 26,
        b'%' | b'_' => return (vec![b'\\', *escaped], 2),
        other => *other,
    };
    (vec![value], 2)
}

fn of_postgres(text: &[u8]) -> (Vec<u8>, usize) {
    let digits = |from: usize, most: usize, base: u32| {
        let rest = text.get(from..).unwrap_or_default();
        let length = rest.iter().take(most).take_while(|byte| (**byte as char).is_digit(base)).count();
        let number =
            std::str::from_utf8(&rest[..length]).ok().and_then(|digits| u32::from_str_radix(digits, base).ok());
        number.map(|number| (number, from + length))
    };
    let character = |(number, length): (u32, usize)| {
        let one = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
        (one.to_string().into_bytes(), length)
    };
    let byte = |(number, length): (u32, usize)| (vec![number as u8], length);
    let found = match text.get(1) {
        None => return (b"\\".to_vec(), 1),
        Some(b'u') => digits(2, 4, 16).map(character),
        Some(b'U') => digits(2, 8, 16).map(character),
        Some(b'x') => digits(2, 2, 16).map(byte),
        Some(b'0'..=b'7') => digits(1, 3, 8).map(byte),
        Some(b'f') => Some((vec![12], 2)),
        Some(b'%' | b'_' | b'Z') => None,
        Some(_) => Some(of_mysql(text)),
    };
    found.unwrap_or_else(|| (text[1..2].to_vec(), 2))
}

/// `U&'\0041\+01F600'`
fn of_unicode(text: &[u8]) -> (Vec<u8>, usize) {
    let (from, length) = if text.get(1) == Some(&b'+') { (2, 6) } else { (1, 4) };
    let digits = text.get(from..from + length).and_then(|digits| std::str::from_utf8(digits).ok());
    let one = digits.and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
    one.map_or((b"\\".to_vec(), if text.get(1) == Some(&b'\\') { 2 } else { 1 }), |one| {
        (one.to_string().into_bytes(), from + length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest_text;

    const MY: Dialect = Dialect::MYSQL;
    const PG: Dialect = Dialect::Postgres;

    fn mask() -> Mask {
        Mask::of_key(b"a key for tests")
    }

    fn masked(text: &str, dialect: Dialect) -> String {
        let mut out = Vec::new();
        statement(text.as_bytes(), dialect, &mask(), &mut out);
        String::from_utf8(out).unwrap()
    }

    /// `{…}` in what is expected stands for another value in place of the one between the braces, in quotes unless it is a
    /// number.
    fn check(text: &str, dialect: Dialect, expected: &str) {
        let mut whole = Vec::new();
        for (number, part) in expected.split(['{', '}']).enumerate() {
            match part.strip_prefix('#') {
                _ if number % 2 == 0 => whole.extend(part.bytes()),
                Some(number) => whole.extend(mask().number(number.as_bytes())),
                None => whole.extend(quoted(&mask().text(part.as_bytes()), escapes(dialect))),
            }
        }
        assert_eq!(masked(text, dialect), String::from_utf8(whole).unwrap(), "{text}");
    }

    #[test]
    fn values_are_replaced_and_everything_else_stays() {
        check("select a from t1 where b = 'it''s' -- Marta\n", MY, "select a from t1 where b = {it's} ");
        check(
            "SELECT /* id 4711 */ x FROM `t 2` WHERE y IN (15, -27)",
            MY,
            "SELECT x FROM `t 2` WHERE y IN ({#15}, -{#27})",
        );
        check(
            "select 1 where a like '%Nowak\\_%' and b is null and c = ''",
            MY,
            "select {#1} where a like {%Nowak\\_%} and b is null and c = ''",
        );
        check("select \"text\", N'x1', _latin1'yy', 0x1F", MY, "select {text}, N{x1}, _latin1{yy}, {#0x1F}");
        check("select u&u&'x', 1|e'y'", PG, "select u& {x}, {#1}|{y}");
        check("select \"Name\", E'a\\nb', $f$it's$f$, U&'\\0041b'", PG, "select \"Name\", {a\nb}, {it's}, {Ab}");
    }

    #[test]
    fn counts_of_rows_lengths_of_time_and_places_of_columns_stay() {
        check(
            "select a from t where b = 55 order by 1, 2 desc limit 10, 20",
            MY,
            "select a from t where b = {#55} order by 1, 2 desc limit 10, 20",
        );
        check("select a from t limit 10 offset 30 for update", PG, "select a from t limit 10 offset 30 for update");
        check("select a from t fetch first 15 rows only", PG, "select a from t fetch first 15 rows only");
        check("select now() - interval 15 day, 15", MY, "select now() - interval 15 day, {#15}");
        check("select interval '12 days', interval 'Marta'", PG, "select interval '12 days', interval {Marta}");
        check(
            "select cast(a as decimal(10, 2)), f(10) from t",
            MY,
            "select cast(a as decimal(10, 2)), f({#10}) from t",
        );
        check(
            "select sum(a) over (partition by b order by f(c, 77)) + 77",
            PG,
            "select sum(a) over (partition by b order by f(c, {#77})) + {#77}",
        );
        ["SET NAMES 'utf8mb4'", "set session sql_mode = 'ANSI_QUOTES'", "SET autocommit=1", "set time zone 'UTC'"]
            .into_iter()
            .for_each(|text| check(text, MY, text));
        check("set @name = 'Marta'", MY, "set @name = {Marta}");
        check("limit 4711471147", MY, "limit {#4711471147}");
    }

    #[test]
    fn comments_that_run_and_hints_have_no_values_either() {
        check("select /*!50000 'Marta', 4711 */ 1", MY, "select /*!50000 {Marta}, {#4711} */ {#1}");
        let hint = masked("select /*+ SET_VAR(sort_buffer_size = 1000) QB_NAME('Marta') */ 1", MY);
        assert!(hint.contains("size = 1000") && !hint.contains("Marta"), "{hint}");
    }

    #[test]
    fn a_comment_that_is_taken_out_makes_no_other() {
        check("select 1--/* Marta */2", MY, "select {#1}--/**/{#2}");
        check("----", MY, "--/**/");
    }

    #[test]
    fn literals_in_other_quotes_stay_apart() {
        check("select 'Marta'\"Nowak\"'Jan'", MY, "select {Marta} {Nowak} {Jan}");
        check("select b\"Marta\"", MY, "select b {Marta}");
    }

    #[test]
    fn a_text_that_is_no_whole_statement_is_replaced_to_its_end() {
        for (text, dialect) in
            [("select 'Marta Nowak", MY), ("select $a$ Marta Nowak", PG), ("select 1 /* Marta Nowak", PG)]
        {
            let masked = masked(text, dialect);
            assert!(!masked.contains("Marta") && masked.len() == text.len(), "{masked}");
        }
    }

    /// The statement is another one, its digest is the same.
    #[test]
    fn a_digest_is_the_same_without_values() {
        for (text, dialect) in [
            ("insert into t values (1, 'a\\'b', NULL), (2, \"x\", 1.5e3)", MY),
            ("select a from t where b = -5 and c in (1, 2) limit 3, 4 /* c */", MY),
            ("select * from t where d = date '2026-11-23' and e = 'x'::text and f = $1", PG),
            ("call foo(1, 'x')", MY),
        ] {
            let digest = |text: &[u8]| String::from_utf8(digest_text(text, dialect)).unwrap();
            assert_eq!(digest(masked(text, dialect).as_bytes()), digest(text.as_bytes()));
        }
    }

    #[test]
    fn lengths_stand_in_place_of_values() {
        let shown = |text: &str| with_lengths(text.as_bytes(), MY).map(|text| String::from_utf8(text).unwrap());
        let expected = "select a from t where b = ?(5) and c = -?(4) and d = ?(0)";
        assert_eq!(
            shown("select a from t where b = 'Märta' and c = -4711 and d = '' -- Marta").as_deref(),
            Some(expected)
        );
        assert_eq!(shown("select 'Marta"), None);
        assert_eq!(shown("select /*! 'Marta' */ 1"), None);
    }

    #[test]
    fn bound_values_are_replaced_unless_they_count_rows() {
        let text = "select a from t where b = $1 and c = $2 and d = $3 limit $4";
        let kept = statement(text.as_bytes(), PG, &mask(), &mut Vec::new());
        assert_eq!(kept, [4]);
        let list = bound(b"$1 = 'it''s', $2 = NULL, $3 = '\\x00ff', $4 = '10'", &kept, &mask()).unwrap();
        let values = parameters(&list).unwrap();
        assert_eq!((values[0].as_deref(), values[1].as_deref()), (Some(&*mask().text(b"it's")), None));
        assert!(values[2].as_deref().is_some_and(|value| value.starts_with(b"\\x") && value != b"\\x00ff"));
        assert_eq!(values[3].as_deref(), Some(&b"10"[..]));
        assert_eq!(bound(b"$1 = 'cut", &[], &mask()), None);
    }
}
