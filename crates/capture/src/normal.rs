//! The digest text of a statement: its tokens without literals, comments and superfluous blanks.
//!
//! One pass over the tokens writes into a buffer that the caller keeps. Nothing else is allocated.

use crate::tokens::{Dialect, Hint, Kind, Token, Tokens, blanks};

/// Writes the digest text of a statement at the end of `out`, and gives the length of what it leaves out: the values of all
/// `IN` lists and the rows of all `VALUES` lists together.
pub fn normalise(text: &[u8], dialect: Dialect, merge_numbered_names: bool, out: &mut Vec<u8>) -> u32 {
    let start = out.len();
    let mut writer = Writer {
        text,
        out,
        start,
        dialect,
        merge_numbered_names,
        list_length: 0,
        before: Before::Nothing,
        open: [Open::default(); DEPTH],
        depth: 0,
        limit: 0,
        values: None,
    };
    for token in Tokens::new(text, dialect) {
        if token.kind == Kind::Unfinished {
            writer.unfinished();
            return 0;
        }
        writer.write(token);
    }
    let Writer { out, list_length, .. } = writer;
    while out.len() > start && matches!(out.last(), Some(b';' | b' ')) {
        out.pop();
    }
    list_length
}

/// The digest text of a statement.
pub fn digest_text(text: &[u8], dialect: Dialect) -> Vec<u8> {
    let mut out = Vec::new();
    normalise(text, dialect, false, &mut out);
    out
}

/// The digest text of statements that cannot be read to their ends, before their first word.
pub(crate) const NOT_PARSED: &[u8] = b"(not parsed)";

/// Parentheses deeper than this are written as they are.
const DEPTH: usize = 64;

/// What stands before the next token: it decides about blanks and signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A word after which a value begins: `select`, `where`.
    Keyword,
    Name,
    Literal,
    String,
    Operator,
    /// `(`, `[` or `.`: nothing is between it and the next token.
    Tight,
    Comma,
    Close,
    Is,
    /// A sign that no operand stands before; where it was written.
    Sign(usize),
    /// `date` and its like, at this position of the output.
    Typed(usize),
}

#[derive(Debug, Clone, Copy, Default)]
struct Open {
    at: usize,
    values: u32,
    is_plain: bool,
    kind: Paren,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Paren {
    #[default]
    Other,
    In,
    Values,
}

struct Writer<'a, 'b> {
    text: &'a [u8],
    out: &'b mut Vec<u8>,
    start: usize,
    dialect: Dialect,
    merge_numbered_names: bool,
    list_length: u32,
    before: Before,
    open: [Open; DEPTH],
    depth: usize,
    /// 1 after `limit`, 2 after the literal behind it.
    limit: u8,
    /// The last row of a `VALUES` list, after which another may follow, and the depth of the list.
    values: Option<(usize, usize, usize)>,
}

impl Writer<'_, '_> {
    /// A quote or comment is not closed.
    fn unfinished(self) {
        let Writer { text, out, start, dialect, .. } = self;
        out.truncate(start);
        out.extend_from_slice(NOT_PARSED);
        let first = Tokens::new(text, dialect).next().filter(|token| token.kind == Kind::Word);
        if let Some(word) = first {
            out.push(b' ');
            out.extend(text[word.start..word.end].iter().map(u8::to_ascii_lowercase));
        }
    }

    fn write(&mut self, token: Token) {
        let text = &self.text[token.start..token.end];
        if !matches!((token.kind, text), (Kind::Punctuation, b"(" | b",")) && self.is_in_values() {
            self.values = None;
        }
        match token.kind {
            Kind::Word => self.word(text),
            Kind::QuotedName => self.name(text, false),
            Kind::String => self.string(),
            Kind::Number | Kind::Parameter => self.literal(),
            Kind::Hint => self.hint(text),
            Kind::Operator => self.operator(text),
            Kind::Punctuation => self.punctuation(text[0]),
            Kind::Unfinished => {}
        }
    }

    /// Between the rows of a `VALUES` list.
    fn is_in_values(&self) -> bool {
        self.values.is_some_and(|(_, _, depth)| depth == self.depth)
    }

    fn blank(&mut self) {
        if self.out.len() > self.start && !matches!(self.before, Before::Tight | Before::Nothing) {
            self.out.push(b' ');
        }
    }

    /// The parentheses around what comes now.
    fn around(&mut self) -> Option<&mut Open> {
        self.depth.checked_sub(1).and_then(|top| self.open.get_mut(top))
    }

    /// Whatever is no literal makes the list around it one that stays.
    fn is_no_literal(&mut self) {
        if let Some(open) = self.around() {
            open.is_plain = false;
        }
        self.limit = 0;
    }

    fn word(&mut self, word: &[u8]) {
        let mut lower = [0; 16];
        let Some(lower) = lower.get_mut(..word.len()) else { return self.name(word, true) };
        lower.copy_from_slice(word);
        lower.make_ascii_lowercase();
        match &*lower {
            b"true" | b"false" | b"null" if self.before != Before::Is && !self.is_after_dot() => self.literal(),
            b"is" => self.keep(lower, Before::Is),
            b"not" => self.keep(lower, if self.before == Before::Is { Before::Is } else { Before::Keyword }),
            b"date" | b"time" | b"timestamp" if self.before != Before::Literal => {
                let at = self.out.len();
                self.keep(lower, Before::Typed(at));
            }
            b"limit" => {
                self.keep(lower, Before::Keyword);
                self.limit = 1;
            }
            // A value may begin behind one of these, and none is a function: a sign behind it belongs to the number, and a
            // parenthesis stands apart from it.
            b"all" | b"and" | b"any" | b"as" | b"between" | b"by" | b"case" | b"check" | b"default" | b"delete"
            | b"distinct" | b"div" | b"do" | b"duplicate" | b"else" | b"except" | b"exists" | b"for" | b"foreign"
            | b"from" | b"full" | b"having" | b"if" | b"in" | b"inner" | b"insert" | b"intersect" | b"into"
            | b"join" | b"key" | b"lateral" | b"left" | b"like" | b"natural" | b"offset" | b"on" | b"or" | b"order"
            | b"outer" | b"over" | b"partition" | b"primary" | b"recursive" | b"references" | b"regexp" | b"return"
            | b"returning" | b"rlike" | b"select" | b"set" | b"similar" | b"some" | b"then" | b"union" | b"unique"
            | b"using" | b"value" | b"values" | b"when" | b"where" | b"with" => {
                self.keep(lower, Before::Keyword);
            }
            _ => self.name(word, true),
        }
    }

    fn is_after_dot(&self) -> bool {
        self.out.last() == Some(&b'.')
    }

    fn keep(&mut self, lower: &[u8], then: Before) {
        self.is_no_literal();
        let then = if self.is_after_dot() { Before::Name } else { then };
        self.blank();
        self.out.extend_from_slice(lower);
        self.before = then;
    }

    fn name(&mut self, name: &[u8], is_folded: bool) {
        self.is_no_literal();
        self.blank();
        let from = self.out.len();
        self.out.extend_from_slice(name);
        if is_folded {
            self.out[from..].make_ascii_lowercase();
        }
        if self.merge_numbered_names {
            merge_digits(self.out, from);
        }
        self.before = Before::Name;
    }

    /// Adjacent strings are one literal, and so is a character set or a type before one.
    fn string(&mut self) {
        if self.before == Before::String {
            return;
        }
        if let Before::Typed(at) = self.before {
            self.out.truncate(at);
            self.before = self.before_of(at);
        }
        self.literal();
        self.before = Before::String;
    }

    /// What stood before a type that turns out to belong to a literal; the byte before it shows it.
    fn before_of(&self, at: usize) -> Before {
        match self.out[self.start..at].last() {
            None => Before::Nothing,
            Some(b'(' | b'[' | b'.') => Before::Tight,
            // The type made the list a list of more than literals.
            Some(b',') => Before::Comma,
            Some(_) => Before::Keyword,
        }
    }

    fn literal(&mut self) {
        if let Before::Sign(at) = self.before {
            self.out.truncate(at);
            self.before = self.before_of(at);
        }
        self.blank();
        self.out.push(b'?');
        self.before = Before::Literal;
        self.limit = if self.limit == 1 { 2 } else { 0 };
        if let Some(open) = self.around() {
            open.values += 1;
        }
    }

    /// Literals and comments inside of a hint are taken out too: a comment that runs may hold a password. Numbers of a hint
    /// to the optimiser stay.
    fn hint(&mut self, text: &[u8]) {
        self.blank();
        let Hint { head, inner, runs } = Hint::of(text);
        self.out.extend_from_slice(head);
        let from = self.out.len();
        let mut end = 0;
        for token in Tokens::new(inner, self.dialect) {
            self.out.extend_from_slice(blanks(&inner[end..token.start]));
            match token.kind {
                Kind::Unfinished => {
                    self.out.truncate(from);
                    self.out.push(b'?');
                }
                Kind::String => self.out.push(b'?'),
                Kind::Number if runs => self.out.push(b'?'),
                _ => self.out.extend_from_slice(&inner[token.start..token.end]),
            }
            end = token.end;
        }
        self.out.extend_from_slice(blanks(&inner[end..]));
        self.out.extend_from_slice(b"*/");
        self.before = Before::Keyword;
    }

    fn operator(&mut self, operator: &[u8]) {
        if operator == b"::" {
            self.is_no_literal();
            self.out.extend_from_slice(b"::");
            self.before = Before::Tight;
            return;
        }
        let is_sign = matches!(operator, b"-" | b"+")
            && !matches!(
                self.before,
                Before::Name | Before::Literal | Before::String | Before::Close | Before::Typed(_)
            );
        if is_sign {
            let at = self.out.len();
            self.blank();
            self.out.extend_from_slice(operator);
            if !matches!(self.before, Before::Sign(_)) {
                self.before = Before::Sign(at);
            }
            return;
        }
        self.is_no_literal();
        self.blank();
        self.out.extend_from_slice(operator);
        self.before = Before::Operator;
    }

    fn punctuation(&mut self, mark: u8) {
        match mark {
            b'(' => self.open(),
            b')' => self.close(),
            b',' => self.comma(),
            _ => {
                self.is_no_literal();
                if mark == b'{' {
                    self.blank();
                }
                self.out.push(mark);
                self.before = if matches!(mark, b'.' | b'[' | b'{') { Before::Tight } else { Before::Close };
            }
        }
    }

    fn ends_with(&self, word: &[u8]) -> bool {
        let written = &self.out[self.start..];
        written.ends_with(word)
            && written
                .len()
                .checked_sub(word.len() + 1)
                .is_none_or(|at| matches!(written[at], b' ' | b'(' | b')' | b','))
    }

    fn open(&mut self) {
        let kind = match self.before {
            Before::Keyword if self.ends_with(b"in") => Paren::In,
            Before::Keyword if self.ends_with(b"values") || self.ends_with(b"value") => Paren::Values,
            Before::Comma if self.is_in_values() => Paren::Values,
            _ => Paren::Other,
        };
        if !matches!(self.before, Before::Name | Before::Typed(_)) {
            self.blank();
        }
        if self.depth < DEPTH {
            self.open[self.depth] = Open { at: self.out.len(), values: 0, is_plain: true, kind };
        }
        self.depth += 1;
        self.out.push(b'(');
        self.before = Before::Tight;
        self.limit = 0;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        let closed = self.open.get(self.depth).copied().filter(|open| open.at >= self.start).unwrap_or_default();
        self.out.push(b')');
        self.before = Before::Close;
        match closed.kind {
            Paren::In if closed.is_plain && closed.values > 0 => {
                self.fold(closed.at);
                self.list_length += closed.values;
            }
            Paren::Values => self.close_row(closed),
            _ => {}
        }
        self.close_inside(closed);
    }

    /// Parentheses with literals alone are a value of the list around them: `in ((1, 2), (3, 4))`.
    fn close_inside(&mut self, closed: Open) {
        let Some(around) = self.around() else { return };
        around.is_plain &= closed.is_plain && closed.values > 0;
        around.values += 1;
    }

    fn fold(&mut self, at: usize) {
        self.out.truncate(at);
        self.out.extend_from_slice(b"(?+)");
    }

    /// A row of a `VALUES` list that reads as the one before it is left out.
    fn close_row(&mut self, closed: Open) {
        self.list_length += 1;
        if closed.is_plain && closed.values > 0 {
            self.fold(closed.at);
        }
        let row = (closed.at, self.out.len(), self.depth);
        if let Some(last) = self.values.filter(|last| self.out[last.0..last.1] == self.out[row.0..row.1]) {
            self.out.truncate(last.1);
            self.values = Some(last);
        } else {
            self.values = Some(row);
        }
    }

    fn comma(&mut self) {
        if self.limit == 2 {
            self.out.extend_from_slice(b" offset");
            self.before = Before::Keyword;
            self.limit = 0;
            return;
        }
        self.limit = 0;
        self.out.push(b',');
        self.before = Before::Comma;
    }
}

/// Turns the digits of a name into one `N`.
fn merge_digits(out: &mut Vec<u8>, from: usize) {
    let mut to = from;
    let mut was_digit = false;
    for at in from..out.len() {
        let byte = out[at];
        if byte.is_ascii_digit() {
            if !was_digit {
                out[to] = b'N';
                to += 1;
            }
            was_digit = true;
            continue;
        }
        was_digit = false;
        out[to] = byte;
        to += 1;
    }
    out.truncate(to);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, dialect: Dialect, expected: &str) {
        let mut out = Vec::new();
        normalise(text.as_bytes(), dialect, false, &mut out);
        assert_eq!(String::from_utf8_lossy(&out), expected, "{text}");
    }

    fn length(text: &str) -> u32 {
        normalise(text.as_bytes(), Dialect::MYSQL, false, &mut Vec::new())
    }

    /// The table of digests in the specification of the workload.
    #[test]
    fn literals_comments_and_blanks_are_taken_out() {
        let my = Dialect::MYSQL;
        check(
            "select a from t where x in (1,2,3) and y = 'it''s' -- c",
            my,
            "select a from t where x in (?+) and y = ?",
        );
        check(r"SELECT 'a\\';", my, "select ?");
        check(r#"select "dq""#, my, "select ?");
        check(r#"select "dq""#, Dialect::of_sql_mode(b"ansi_quotes"), r#"select "dq""#);
        check(r#"select "dq""#, Dialect::Postgres, r#"select "dq""#);
        check("insert into t(a,b) values(1,2),(3,4)", my, "insert into t(a, b) values (?+)");
        check("insert into t(a,b) values(1,2)", my, "insert into t(a, b) values (?+)");
        assert_eq!(length("insert into t(a,b) values(1,2),(3,4)"), 2);
        assert_eq!(length("insert into t(a,b) values(1,2)"), 1);
        check("call foo(1,'x')", my, "call foo(?, ?)");
        check(
            "select * from t1 where a=0x1F and b=-1.5e3 limit 10,5",
            my,
            "select * from t1 where a = ? and b = ? limit ? offset ?",
        );
        check("select /*+ MAX_EXECUTION_TIME(9) */ 1", my, "select /*+ MAX_EXECUTION_TIME(9) */ ?");
        check("select /*!40001 SQL_NO_CACHE */ 1 /* c */", my, "select /*!40001 SQL_NO_CACHE */ ?");
    }

    #[test]
    fn a_sign_belongs_to_a_number_where_it_is_no_operator() {
        let my = Dialect::MYSQL;
        check("select -1, +2, a-1, a - -1, (-3)", my, "select ?, ?, a - ?, a - ?, (?)");
        check("select a from t where b in (-1, - 2)", my, "select a from t where b in (?+)");
        check("select -a", my, "select - a");
        check("select a=-1", Dialect::Postgres, "select a = ?");
    }

    #[test]
    fn names_stay_and_keep_their_numbers() {
        let my = Dialect::MYSQL;
        check("SELECT c FROM sbtest1 WHERE ID=5", my, "select c from sbtest1 where id = ?");
        check("SELECT `C`.`D` FROM DB.T", my, "select `C`.`D` from db.t");
        let mut out = Vec::new();
        normalise(b"select c from sbtest12 where id=5", my, true, &mut out);
        assert_eq!(out, b"select c from sbtestN where id = ?");
    }

    #[test]
    fn null_and_truth_are_literals_but_after_is() {
        let my = Dialect::MYSQL;
        check(
            "select NULL, true from t where a is null and b IS NOT NULL",
            my,
            "select ?, ? from t where a is null and b is not null",
        );
        check("insert into t values (NULL, 1), (2, 'x')", my, "insert into t values (?+)");
    }

    #[test]
    fn prefixes_and_types_belong_to_their_literal() {
        let my = Dialect::MYSQL;
        check("select N'x', _utf8mb4'y', X'1F', b'01', 'a' 'b'", my, "select ?, ?, ?, ?, ?");
        check("select DATE '2026-01-01', date(a), a.date", my, "select ?, date(a), a.date");
        check("select E'a\\'b', $$x$$, $1::int, '{}'::jsonb", Dialect::Postgres, "select ?, ?, ?::int, ?::jsonb");
        check("select a[1], b->>'x'", Dialect::Postgres, "select a[?], b ->> ?");
    }

    #[test]
    fn rows_of_expressions_are_one_row_where_they_read_the_same() {
        let my = Dialect::MYSQL;
        check(
            "insert into t values (1, now()), (2, now()) on duplicate key update a = values(a) + 1",
            my,
            "insert into t values (?, now()) on duplicate key update a = values (a) + ?",
        );
        check("select a from t where (a, b) in ((1,2),(3,4))", my, "select a from t where (a, b) in (?+)");
        check("select a from t where a in (select 1)", my, "select a from t where a in (select ?)");
    }

    #[test]
    fn blanks_before_a_parenthesis_make_no_other_digest() {
        let my = Dialect::MYSQL;
        for text in ["select count(*) from t", "SELECT COUNT (*)\n\tFROM t ;"] {
            check(text, my, "select count(*) from t");
        }
    }

    #[test]
    fn an_unfinished_quote_leaves_the_first_word() {
        check("SELECT 'abc", Dialect::MYSQL, "(not parsed) select");
        check("'abc", Dialect::MYSQL, "(not parsed)");
    }

    #[test]
    fn literals_in_executable_comments_are_taken_out() {
        check(
            "alter user u /*!50000 identified by 'secret' */",
            Dialect::MYSQL,
            "alter user u /*!50000 identified by ? */",
        );
    }
}
