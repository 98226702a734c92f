//! SQL text as tokens, by the rules of a dialect. Bytes are never decoded: whatever is no ASCII is part of a name.
//!
//! It knows quotes, comments, numbers and operators, and no grammar. Every token lies inside the text, tokens do
//! not overlap, and reading never fails: a quote or comment that is not closed is a token of its own.

use memchr::{memchr, memchr2, memmem};

/// How a server reads SQL text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    MySql {
        ansi_quotes: bool,
        no_backslash_escapes: bool,
    },
    /// With `standard_conforming_strings`, the default since 9.1.
    Postgres,
}

impl Dialect {
    pub const MYSQL: Dialect = Dialect::MySql { ansi_quotes: false, no_backslash_escapes: false };

    /// The dialect of a MySQL session with this value of `sql_mode`, in any case.
    pub fn of_sql_mode(sql_mode: &[u8]) -> Dialect {
        let upper = sql_mode.to_ascii_uppercase();
        let has = |name: &str| {
            upper.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').any(|word| word == name.as_bytes())
        };
        let ansi = ["ANSI", "ANSI_QUOTES", "ORACLE", "DB2", "MSSQL", "MAXDB", "POSTGRESQL"];
        Dialect::MySql { ansi_quotes: ansi.into_iter().any(has), no_backslash_escapes: has("NO_BACKSLASH_ESCAPES") }
    }

    pub fn is_mysql(self) -> bool {
        matches!(self, Dialect::MySql { .. })
    }

    fn has_backslashes(self, quote: u8) -> bool {
        match self {
            Dialect::MySql { no_backslash_escapes, .. } => {
                !no_backslash_escapes && quote != b'`' && self.is_string(quote)
            }
            Dialect::Postgres => false,
        }
    }

    /// Whether text in this quote is a literal and no name.
    fn is_string(self, quote: u8) -> bool {
        match self {
            Dialect::MySql { ansi_quotes, .. } => quote == b'\'' || (quote == b'"' && !ansi_quotes),
            Dialect::Postgres => quote == b'\'',
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A keyword, an unquoted name, a MySQL variable.
    Word,
    QuotedName,
    /// With its prefix: `N'x'`, `E'\n'`, `$tag$ … $tag$`.
    String,
    Number,
    /// `$1` of PostgreSQL, `?` of a prepared MySQL statement.
    Parameter,
    /// `/*! … */` and `/*+ … */`, which servers act on.
    Hint,
    Operator,
    /// One of `( ) [ ] , ; .`
    Punctuation,
    /// A quote or comment that is not closed: the rest of the text.
    Unfinished,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

/// The tokens of a text, without blanks and comments.
pub struct Tokens<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    /// The end of a name, where a dot and digits after it are the next part of the name.
    name_end: usize,
}

impl<'a> Tokens<'a> {
    pub fn new(text: &'a [u8], dialect: Dialect) -> Tokens<'a> {
        Tokens { text, at: 0, dialect, name_end: usize::MAX }
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.get(at).copied().unwrap_or(0)
    }

    fn token(&mut self, kind: Kind, start: usize, end: usize) -> Token {
        self.at = end;
        if matches!(kind, Kind::Word | Kind::QuotedName) {
            self.name_end = end;
        }
        Token { kind, start, end }
    }

    fn unfinished(&mut self, start: usize) -> Token {
        self.token(Kind::Unfinished, start, self.text.len())
    }

    /// Skips blanks and comments; a hint or an unfinished comment is a token.
    fn skip(&mut self) -> Option<Token> {
        loop {
            let start = self.at;
            match self.byte(start) {
                0 if start >= self.text.len() => return None,
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0 => self.at += 1,
                b'#' if self.dialect.is_mysql() => self.skip_line(),
                b'-' if self.byte(start + 1) == b'-' && self.is_line_comment(start) => self.skip_line(),
                b'/' if self.byte(start + 1) == b'*' => {
                    let Some(end) = self.comment_end(start) else { return Some(self.unfinished(start)) };
                    if self.is_hint(start) {
                        return Some(self.token(Kind::Hint, start, end));
                    }
                    self.at = end;
                }
                _ => return None,
            }
        }
    }

    /// MySQL wants a blank or control character after `--`.
    fn is_line_comment(&self, start: usize) -> bool {
        !self.dialect.is_mysql() || self.text.get(start + 2).is_none_or(|byte| *byte <= b' ')
    }

    fn is_hint(&self, start: usize) -> bool {
        match self.byte(start + 2) {
            b'+' => true,
            b'!' => self.dialect.is_mysql(),
            b'M' => self.dialect.is_mysql() && self.byte(start + 3) == b'!',
            _ => false,
        }
    }

    fn skip_line(&mut self) {
        self.at = memchr(b'\n', &self.text[self.at..]).map_or(self.text.len(), |length| self.at + length + 1);
    }

    /// PostgreSQL nests comments, MySQL does not.
    fn comment_end(&self, start: usize) -> Option<usize> {
        if self.dialect.is_mysql() {
            return memmem::find(&self.text[start + 2..], b"*/").map(|length| start + 2 + length + 2);
        }
        let (mut at, mut depth) = (start + 2, 1);
        while depth > 0 {
            at += memchr2(b'*', b'/', &self.text[at..])?;
            let step = match (self.text[at], self.byte(at + 1)) {
                (b'*', b'/') => -1,
                (b'/', b'*') => 1,
                _ => 0,
            };
            depth += step;
            at += if step == 0 { 1 } else { 2 };
        }
        Some(at)
    }

    /// After the closing quote; a doubled quote is one of the text.
    fn quote_end(&self, open: usize, has_backslashes: bool) -> Option<usize> {
        let quote = self.text[open];
        let mut at = open + 1;
        loop {
            let rest = &self.text[at..];
            let found = if has_backslashes { memchr2(quote, b'\\', rest)? } else { memchr(quote, rest)? };
            at += found;
            match self.text[at] {
                b'\\' if has_backslashes => at = (at + 2).min(self.text.len()),
                _ if self.byte(at + 1) == quote => at += 2,
                _ => return Some(at + 1),
            }
        }
    }

    fn quoted(&mut self, start: usize, open: usize) -> Token {
        let quote = self.text[open];
        let escapes = self.dialect == Dialect::Postgres && matches!(self.text[start], b'e' | b'E') && open == start + 1;
        let Some(end) = self.quote_end(open, escapes || self.dialect.has_backslashes(quote)) else {
            return self.unfinished(start);
        };
        let kind = if self.dialect.is_string(quote) { Kind::String } else { Kind::QuotedName };
        self.token(kind, start, end)
    }

    /// `$$ … $$`, `$1` or a plain name.
    fn dollar(&mut self, start: usize) -> Token {
        let end = self.run_end(start + 1, is_name);
        if self.byte(start + 1).is_ascii_digit() {
            let end = self.run_end(start + 1, |byte| byte.is_ascii_digit());
            return self.token(Kind::Parameter, start, end);
        }
        // The tag holds no dollar, so the scan of a name has gone too far.
        let tag_end =
            memchr(b'$', &self.text[start + 1..]).map(|length| start + 2 + length).filter(|tag| *tag <= end + 1);
        let Some(tag_end) = tag_end else { return self.token(Kind::Word, start, end.max(start + 1)) };
        let tag = &self.text[start..tag_end];
        match memmem::find(&self.text[tag_end..], tag) {
            Some(length) => self.token(Kind::String, start, tag_end + length + tag.len()),
            None => self.unfinished(start),
        }
    }

    fn run_end(&self, from: usize, belongs: impl Fn(u8) -> bool) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.iter().position(|byte| !belongs(*byte)).unwrap_or(rest.len())
    }

    fn word(&mut self, start: usize) -> Token {
        let end = self.run_end(start, is_name);
        match self.byte(end) {
            b'\'' if is_prefix(&self.text[start..end], self.dialect) => self.quoted(start, end),
            // U&'…' and U&"…" of PostgreSQL.
            b'&' if end == start + 1
                && !self.dialect.is_mysql()
                && matches!(self.text[start], b'u' | b'U')
                && matches!(self.byte(end + 1), b'\'' | b'"') =>
            {
                self.quoted(start, end + 1)
            }
            _ => self.token(Kind::Word, start, end),
        }
    }

    fn number(&mut self, start: usize) -> Token {
        if self.text[start] == b'0' && matches!(self.byte(start + 1), b'x' | b'X' | b'b' | b'B' | b'o' | b'O') {
            let end = self.run_end(start + 2, |byte| byte.is_ascii_hexdigit() || byte == b'_');
            if end > start + 2 && !is_name(self.byte(end)) {
                return self.token(Kind::Number, start, end);
            }
        }
        let digits = |byte: u8| byte.is_ascii_digit() || (byte == b'_' && !self.dialect.is_mysql());
        let mut end = self.run_end(start, digits);
        if self.byte(end) == b'.' {
            end = self.run_end(end + 1, digits);
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            if self.byte(end + 1 + sign).is_ascii_digit() {
                end = self.run_end(end + 1 + sign, |byte| byte.is_ascii_digit());
            }
        }
        // A MySQL name may begin with digits.
        if self.dialect.is_mysql() && is_name(self.byte(end)) && !self.text[start..end].contains(&b'.') {
            let end = self.run_end(end, is_name);
            return self.token(Kind::Word, start, end);
        }
        self.token(Kind::Number, start, end)
    }

    fn operator(&mut self, start: usize) -> Token {
        let end = match self.dialect {
            Dialect::Postgres => self.postgres_operator_end(start),
            Dialect::MySql { .. } => {
                let rest = &self.text[start..];
                let known = MYSQL_OPERATORS.iter().find(|operator| rest.starts_with(operator.as_bytes()));
                start + known.map_or(1, |operator| operator.len())
            }
        };
        self.token(Kind::Operator, start, end)
    }

    /// The longest run of operator characters that starts no comment; it ends in a sign only beside one of `~!@#%^&|?` and
    /// the backtick (manual, section 4.1.3).
    fn postgres_operator_end(&self, start: usize) -> usize {
        if self.text[start] == b':' {
            return start + if matches!(self.byte(start + 1), b':' | b'=') { 2 } else { 1 };
        }
        let mut end = self.run_end(start, |byte| b"+-*/<>=~!@#%^&|`?".contains(&byte));
        for at in start + 1..end {
            if matches!((self.text[at], self.byte(at + 1)), (b'-', b'-') | (b'/', b'*')) {
                end = at;
                break;
            }
        }
        let is_plain = !self.text[start..end].iter().any(|byte| b"~!@#%^&|`?".contains(byte));
        while is_plain && end > start + 1 && matches!(self.text[end - 1], b'+' | b'-') {
            end -= 1;
        }
        end.max(start + 1)
    }
}

const MYSQL_OPERATORS: [&str; 12] = ["<=>", "->>", "->", "<<", ">>", "<=", ">=", "<>", "!=", "||", "&&", ":="];

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if let Some(token) = self.skip() {
            return Some(token);
        }
        let start = self.at;
        let byte = *self.text.get(start)?;
        Some(match byte {
            b'\'' | b'"' => self.quoted(start, start),
            b'`' if self.dialect.is_mysql() => self.quoted(start, start),
            b'.' if self.byte(start + 1).is_ascii_digit() && self.name_end != start => self.number(start),
            b'.' if self.name_end == start && self.byte(start + 1).is_ascii_digit() => {
                // The next part of the name `t.1a`: read as a word, however it begins.
                self.name_end = start + 1;
                self.at = start + 1;
                Token { kind: Kind::Punctuation, start, end: start + 1 }
            }
            b'0'..=b'9' if self.name_end == start && start > 0 && self.text[start - 1] == b'.' => {
                let end = self.run_end(start, is_name);
                self.token(Kind::Word, start, end)
            }
            b'0'..=b'9' => self.number(start),
            b'$' if !self.dialect.is_mysql() => self.dollar(start),
            b'?' if self.dialect.is_mysql() => self.token(Kind::Parameter, start, start + 1),
            b'@' if self.dialect.is_mysql() => {
                let end = self.run_end(start, |byte| byte == b'@');
                let end = self.run_end(end, |byte| is_name(byte) || byte == b'.');
                self.token(Kind::Word, start, end)
            }
            b'(' | b')' | b'[' | b']' | b'{' | b'}' | b',' | b';' | b'.' => {
                self.token(Kind::Punctuation, start, start + 1)
            }
            _ if is_name(byte) => self.word(start),
            _ => self.operator(start),
        })
    }
}

/// A comment that servers act on.
pub(crate) struct Hint<'a> {
    /// With the version behind `/*!`.
    pub head: &'a [u8],
    pub inner: &'a [u8],
    /// It is a part of the statement, and no hint to the optimiser.
    pub runs: bool,
}

impl Hint<'_> {
    pub fn of(text: &[u8]) -> Hint<'_> {
        let open = text.iter().position(|byte| matches!(byte, b'!' | b'+')).map_or(text.len(), |at| at + 1);
        let runs = text[..open].ends_with(b"!");
        let version = text[open..].iter().take(6).take_while(|byte| runs && byte.is_ascii_digit()).count();
        let (head, inner) = text.split_at(open + version);
        Hint { head, inner: inner.strip_suffix(b"*/").unwrap_or_default(), runs }
    }
}

/// What is between two tokens: blanks as they are, and a blank in place of a comment.
pub(crate) fn blanks(gap: &[u8]) -> &[u8] {
    if gap.iter().all(|byte| *byte <= b' ') { gap } else { b" " }
}

/// Letters, digits, `_`, `$` and every byte that is not ASCII.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// Words that belong to the string right after them: `X'1F'`, `_utf8mb4'…'`.
fn is_prefix(word: &[u8], dialect: Dialect) -> bool {
    let known: &[u8] = if dialect.is_mysql() { b"nNxXbB" } else { b"nNxXbBeE" };
    matches!(word, [one] if known.contains(one)) || (dialect.is_mysql() && word.len() > 1 && word[0] == b'_')
}

/// Where a scan of a text that grows stands: outside of everything, or inside of a quote or comment.
///
/// The readers of logs use it to find the end of an entry. It scans the same way as [`Tokens`], without telling words
/// and numbers apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Inside {
    #[default]
    Nothing,
    /// With the offset at which it was opened.
    Quote {
        opened: usize,
    },
    Comment {
        opened: usize,
    },
    /// To the end of the line; it ends with the text.
    LineComment,
}

/// Scans a MySQL text from its start up to each of some ends, which ask in ascending order.
pub struct Scan {
    at: usize,
    dialect: Dialect,
    /// The token that the last scan ended inside of, and where it ends.
    inside: (usize, Inside),
}

impl Scan {
    pub fn new(dialect: Dialect) -> Scan {
        Scan { at: 0, dialect, inside: (0, Inside::Nothing) }
    }

    /// Where the text stands at `end`. A token that goes beyond `end` leaves the scan inside of it.
    pub fn to(&mut self, text: &[u8], end: usize) -> Inside {
        while self.at < end {
            if self.inside.0 <= self.at {
                self.inside = self.step(text);
            }
            if self.inside.0 > end {
                return self.inside.1;
            }
            self.at = self.inside.0;
        }
        Inside::Nothing
    }

    /// The end of the token at `at`, and what one is inside of until then.
    fn step(&self, text: &[u8]) -> (usize, Inside) {
        let opened = self.at;
        let tokens = Tokens { text, at: opened, dialect: self.dialect, name_end: usize::MAX };
        match text[opened] {
            quote @ (b'\'' | b'"' | b'`') => {
                let end = tokens.quote_end(opened, self.dialect.has_backslashes(quote)).unwrap_or(usize::MAX);
                (end, Inside::Quote { opened })
            }
            b'/' if tokens.byte(opened + 1) == b'*' => {
                (tokens.comment_end(opened).unwrap_or(usize::MAX), Inside::Comment { opened })
            }
            b'#' => (line_end(text, opened), Inside::LineComment),
            b'-' if tokens.byte(opened + 1) == b'-' && tokens.is_line_comment(opened) => {
                (line_end(text, opened), Inside::LineComment)
            }
            _ => (
                tokens.run_end(opened + 1, |byte| !matches!(byte, b'\'' | b'"' | b'`' | b'/' | b'#' | b'-')),
                Inside::Nothing,
            ),
        }
    }
}

fn line_end(text: &[u8], from: usize) -> usize {
    memchr(b'\n', &text[from..]).map_or(usize::MAX, |length| from + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, dialect: Dialect) -> Vec<(Kind, &str)> {
        Tokens::new(text.as_bytes(), dialect).map(|token| (token.kind, &text[token.start..token.end])).collect()
    }

    #[test]
    fn quotes_follow_the_sql_mode() {
        let no_escapes = Dialect::of_sql_mode(b"strict_trans_tables,no_backslash_escapes");
        assert_eq!(kinds(r"'a\\'", Dialect::MYSQL), [(Kind::String, r"'a\\'")]);
        assert_eq!(kinds(r"'a\'", no_escapes), [(Kind::String, r"'a\'")]);
        assert_eq!(kinds(r"'a\'", Dialect::MYSQL), [(Kind::Unfinished, r"'a\'")]);
        assert_eq!(kinds(r#""a""#, Dialect::MYSQL)[0].0, Kind::String);
        assert_eq!(kinds(r#""a""#, Dialect::of_sql_mode(b"ANSI_QUOTES"))[0].0, Kind::QuotedName);
        assert_eq!(kinds(r#""a""#, Dialect::Postgres)[0].0, Kind::QuotedName);
    }

    #[test]
    fn strings_of_postgres_have_prefixes_and_dollars() {
        for text in [r"E'a\'b'", "U&'x'", "$$a'b$$", "$f$ $$ $f$", "B'01'", "'a''b'"] {
            assert_eq!(kinds(text, Dialect::Postgres), [(Kind::String, text)], "{text}");
        }
        assert_eq!(kinds("$12", Dialect::Postgres), [(Kind::Parameter, "$12")]);
    }

    #[test]
    fn operators_of_postgres_leave_a_sign_to_the_number() {
        let found: Vec<&str> =
            kinds("a=-1 @>'x'::int/*c*/--d", Dialect::Postgres).iter().map(|(_, text)| *text).collect();
        assert_eq!(found, ["a", "=", "-", "1", "@>", "'x'", "::", "int"]);
    }

    #[test]
    fn comments_nest_in_postgres_only() {
        assert_eq!(kinds("/* /* */ */ a", Dialect::Postgres), [(Kind::Word, "a")]);
        assert_eq!(kinds("/* /* */ a", Dialect::MYSQL), [(Kind::Word, "a")]);
        assert_eq!(kinds("1--1", Dialect::MYSQL).len(), 4);
        assert_eq!(kinds("/*!40001 x */", Dialect::MYSQL)[0].0, Kind::Hint);
    }

    #[test]
    fn a_scan_is_inside_of_a_quote_until_it_is_closed() {
        let text = b"select ';\n# x' -- it's\n, \"a\";\n";
        let mut scan = Scan::new(Dialect::MYSQL);
        assert_eq!(scan.to(text, 9), Inside::Quote { opened: 7 });
        assert_eq!(scan.to(text, 20), Inside::LineComment);
        assert_eq!(scan.to(text, text.len()), Inside::Nothing);
    }
}
