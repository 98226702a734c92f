//! Statements that MySQL and PostgreSQL both read: `portable = "strict"`, and how the other kind of server is sent them.
//!
//! It sees tokens and no grammar. What it takes may still be refused by a server, for the type of a column or for a name
//! that is a keyword there; comparing the answers shows that.

use std::collections::HashMap;

use capture::{Dialect, Kind, Token, Tokens, quoted};

use crate::schedule::{How, Schedule, Text};

/// The text for the other kind of server; None where the statement is not one that both read.
pub fn ported(text: &[u8], from: Dialect) -> Option<Vec<u8>> {
    ported_with(text, from, &|number, _| format!("${number}").into_bytes())
}

/// The same with something else for each parameter, by its number and whether it counts rows.
fn ported_with(text: &[u8], from: Dialect, parameter: &dyn Fn(usize, bool) -> Vec<u8>) -> Option<Vec<u8>> {
    if std::str::from_utf8(text).is_err() || text.contains(&0) {
        return None;
    }
    let read = Read::of(text, from);
    match read.control() {
        Some(control) => Some(control.as_bytes().to_vec()),
        None => read.is_common().then(|| read.written(from, parameter)),
    }
}

/// Whether a statement begins or ends a transaction, which MySQL does not prepare.
pub fn is_control(text: &[u8], from: Dialect) -> bool {
    Read::of(text, from).control().is_some()
}

/// Whether a statement compares or sorts texts, which servers do by their collations. Types of columns are not known.
pub fn is_collated(text: &[u8], from: Dialect) -> bool {
    let read = Read::of(text, from);
    (0..read.tokens.len()).any(|at| match read.tokens[at].kind {
        Kind::Word => read.is(at, "distinct") || read.is_any(at, &["order", "group"]) && read.is(at + 1, "by"),
        Kind::String => at > 0 && (read.is(at - 1, "like") || matches!(read.bytes(at - 1), b"=" | b"<>" | b"!=")),
        _ => false,
    })
}

/// What MySQL's number of an error is in PostgreSQL, for those that both have.
pub fn sqlstate(code: [u8; 5]) -> [u8; 5] {
    let number = std::str::from_utf8(&code).ok().and_then(|code| code.trim_end().parse::<u16>().ok());
    match number {
        Some(1062 | 1586) => *b"23505",
        Some(1216 | 1217 | 1451 | 1452) => *b"23503",
        Some(1048 | 1364) => *b"23502",
        Some(3819 | 4025) => *b"23514",
        Some(1213) => *b"40P01",
        Some(1205) => *b"55P03",
        Some(1317) => *b"57014",
        Some(1146) => *b"42P01",
        Some(1054) => *b"42703",
        Some(1064) => *b"42601",
        Some(1406) => *b"22001",
        Some(1264 | 1690) => *b"22003",
        Some(1292 | 1366) => *b"22P02",
        _ => code,
    }
}

const OPERATORS: &[&[u8]] = &[b"=", b"<>", b"!=", b"<", b">", b"<=", b">=", b"+", b"-", b"*", b"%"];

struct Read<'a> {
    text: &'a [u8],
    tokens: Vec<Token>,
}

impl<'a> Read<'a> {
    /// Without the semicolon at its end.
    fn of(text: &'a [u8], from: Dialect) -> Read<'a> {
        let mut tokens: Vec<Token> = Tokens::new(text, from).collect();
        while tokens.last().is_some_and(|last| &text[last.start..last.end] == b";") {
            tokens.pop();
        }
        Read { text, tokens }
    }

    fn bytes(&self, at: usize) -> &[u8] {
        self.tokens.get(at).map_or(&[], |token| &self.text[token.start..token.end])
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.bytes(at).eq_ignore_ascii_case(word.as_bytes())
    }

    fn is_any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    /// Begins and ends of transactions; what a BEGIN asks for besides is not taken over.
    fn control(&self) -> Option<&'static str> {
        let is_begin = self.is(0, "begin") || self.is(0, "start") && self.is(1, "transaction");
        let ends_here = self.tokens.len() == 1 || self.tokens.len() == 2 && self.is_any(1, &["work", "transaction"]);
        match () {
            () if (0..self.tokens.len()).any(|at| self.is(at, ";")) => None,
            () if is_begin => Some("begin"),
            () if ends_here && self.is_any(0, &["commit", "end"]) => Some("commit"),
            () if ends_here && self.is_any(0, &["rollback", "abort"]) => Some("rollback"),
            () => None,
        }
    }

    fn is_common(&self) -> bool {
        let has = |word: &str| (0..self.tokens.len()).any(|at| self.is(at, word));
        let is_form = match () {
            () if self.is(0, "select") => !has("into"),
            () if self.is(0, "insert") => self.is(1, "into") && !has("set"),
            () if self.is(0, "update") => {
                let set = if self.is(2, "as") { 4 } else { 2 };
                (self.is(set, "set") || self.is(3, "set")) && !self.has_outermost(&["from", "join", "order", "limit"])
            }
            () if self.is(0, "delete") => {
                let is_one = self.tokens.len() == 3 || self.is(3, "where");
                self.is(1, "from") && is_one && !self.has_outermost(&["using", "join", "order", "limit"])
            }
            () => false,
        };
        is_form && (0..self.tokens.len()).all(|at| self.is_common_token(at))
    }

    /// Whether one of the words stands outside of all parentheses.
    fn has_outermost(&self, words: &[&str]) -> bool {
        let mut depth = 0i32;
        (0..self.tokens.len()).any(|at| {
            depth += i32::from(self.is(at, "(")) - i32::from(self.is(at, ")"));
            depth == 0 && self.is_any(at, words)
        })
    }

    fn is_common_token(&self, at: usize) -> bool {
        let bytes = self.bytes(at);
        match self.tokens[at].kind {
            Kind::Word => self.is_common_word(at),
            Kind::QuotedName => {
                let name = &bytes[1..bytes.len() - 1];
                !name.iter().any(|byte| b"`\"".contains(byte)) && self.may_open(at)
            }
            Kind::String => {
                let follows_one = at > 0 && self.tokens[at - 1].kind == Kind::String;
                bytes[0] == b'\'' && !bytes.contains(&b'\\') && !follows_one
            }
            Kind::Number => bytes.iter().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(byte)),
            Kind::Parameter => bytes[0] == b'$',
            Kind::Operator => OPERATORS.contains(&bytes),
            Kind::Punctuation => b"(),.".contains(&bytes[0]),
            Kind::Hint | Kind::Unfinished => false,
        }
    }

    fn is_common_word(&self, at: usize) -> bool {
        match &*self.bytes(at).to_ascii_lowercase() {
            word if word.iter().any(|byte| b"@$".contains(byte)) => false,
            // Words that only one of the two has, or that they read in two ways.
            b"against" | b"array" | b"binary" | b"collate" | b"conflict" | b"convert" | b"delayed" | b"distinctrow"
            | b"div" | b"dual" | b"duplicate" | b"dumpfile" | b"except" | b"fetch" | b"filter" | b"force" | b"full"
            | b"high_priority" | b"ignore" | b"ilike" | b"intersect" | b"interval" | b"isnull" | b"lateral"
            | b"low_priority" | b"match" | b"minus" | b"notnull" | b"nowait" | b"nulls" | b"of" | b"only"
            | b"outfile" | b"overriding" | b"procedure" | b"quick" | b"regexp" | b"returning" | b"rlike"
            | b"rollup" | b"share" | b"similar" | b"skip" | b"sounds" | b"straight_join" | b"symmetric"
            | b"tablesample" | b"use" | b"variadic" | b"window" | b"with" | b"xor" => false,
            b"sql_big_result"
            | b"sql_buffer_result"
            | b"sql_cache"
            | b"sql_calc_found_rows"
            | b"sql_no_cache"
            | b"sql_small_result" => false,
            // A database in MySQL is a schema in PostgreSQL.
            b"from" | b"join" | b"into" | b"update" if self.is(at + 2, ".") => false,
            b"distinct" if self.is(at + 1, "on") => false,
            b"limit" => !self.is(at + 2, ",") && !self.is(at + 1, "all"),
            // `from t partition (p0)`
            b"partition" => self.is(at + 1, "by"),
            b"offset" => at > 1 && self.is(at - 2, "limit") && !self.is_any(at + 2, &["row", "rows"]),
            _ => self.may_open(at),
        }
    }

    /// Whether a parenthesis may follow, if one does.
    fn may_open(&self, at: usize) -> bool {
        match &*self.bytes(at).to_ascii_lowercase() {
            _ if !self.is(at + 1, "(") => true,
            _ if at > 0 && self.is(at - 1, "into") => true,
            b"all" => self.is(at.wrapping_sub(1), "union"),
            // Functions that answer alike.
            b"abs" | b"ceil" | b"ceiling" | b"char_length" | b"character_length" | b"coalesce" | b"count"
            | b"dense_rank" | b"extract" | b"floor" | b"lag" | b"lead" | b"left" | b"lower" | b"max" | b"min"
            | b"mod" | b"now" | b"nullif" | b"power" | b"rank" | b"replace" | b"right" | b"row_number" | b"sign"
            | b"sqrt" | b"substring" | b"sum" | b"trim" | b"upper" => true,
            // Keywords.
            b"and" | b"as" | b"between" | b"by" | b"case" | b"distinct" | b"else" | b"exists" | b"from" | b"having"
            | b"in" | b"is" | b"join" | b"like" | b"not" | b"on" | b"or" | b"over" | b"select" | b"then" | b"union"
            | b"using" | b"values" | b"when" | b"where" => true,
            _ => false,
        }
    }

    /// Whether a parameter is a number of rows, where MySQL takes no text.
    fn counts_rows(&self, at: usize) -> bool {
        at > 0 && self.is_any(at - 1, &["limit", "offset"])
    }

    /// Without comments, and with quotes of names as the other kind has them.
    fn written(&self, from: Dialect, parameter: &dyn Fn(usize, bool) -> Vec<u8>) -> Vec<u8> {
        let quote = if from.is_mysql() { b'"' } else { b'`' };
        let is_operator = |at: usize| self.tokens[at].kind == Kind::Operator;
        let mut out = Vec::with_capacity(self.text.len());
        let mut end = 0;
        for (at, token) in self.tokens.iter().enumerate() {
            let gap = &self.text[end..token.start];
            end = token.end;
            match () {
                () if at == 0 => {}
                // Two operators of MySQL's could be one of PostgreSQL's.
                () if gap.is_empty() && is_operator(at) && is_operator(at - 1) => out.push(b' '),
                () if gap.iter().all(u8::is_ascii_whitespace) => out.extend_from_slice(gap),
                () => out.push(b' '),
            }
            let bytes = self.bytes(at);
            match token.kind {
                Kind::QuotedName => {
                    out.push(quote);
                    out.extend_from_slice(&bytes[1..bytes.len() - 1]);
                    out.push(quote);
                }
                Kind::Parameter => out.extend(parameter(number_of(bytes), self.counts_rows(at))),
                _ => out.extend_from_slice(bytes),
            }
        }
        out
    }
}

/// The number of a parameter; no statement has one of zero.
fn number_of(parameter: &[u8]) -> usize {
    let digits = parameter.get(1..).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The schedule as the other kind of server is sent it: as many statements in the same order.
pub fn for_other_kind(schedule: &Schedule) -> Schedule {
    let from = schedule.dialect();
    let mut other = Schedule { is_mysql: !schedule.is_mysql, ..schedule.clone() };
    let mut texts = Texts { of: schedule, from, known: HashMap::new() };
    for one in &mut other.statements {
        let is_bound = matches!(one.how, How::Prepared(_)) && has_order(schedule.bytes(one.text));
        match one.how {
            How::Text | How::Use(_) | How::PreparedAgain(_) => one.text = texts.ported(one.text, &mut other.texts),
            How::Prepared(_) if is_bound => one.text = texts.with_marks(one.text, &mut other.texts),
            How::Prepared(_) | How::Unnamed => {
                let statement = with_literals(schedule, one.text, one.values, from);
                (one.text, one.how, one.values.1) = (put(&mut other.texts, &statement), How::Text, 0);
            }
        }
    }
    for text in &mut other.prepared {
        *text = texts.with_marks(*text, &mut other.texts);
    }
    for sample in &mut other.samples {
        let statement = with_literals(schedule, sample.text, sample.values, from);
        sample.text = put(&mut other.texts, &statement);
        sample.values.1 = 0;
    }
    other
}

struct Texts<'a> {
    of: &'a Schedule,
    from: Dialect,
    known: HashMap<(u64, bool), Text>,
}

impl Texts<'_> {
    fn ported(&mut self, text: Text, texts: &mut Vec<u8>) -> Text {
        *self.known.entry((text.start, false)).or_insert_with(|| {
            let bytes = self.of.bytes(text);
            match ported(bytes, self.from) {
                Some(other) if other != bytes => put(texts, &other),
                _ => text,
            }
        })
    }

    /// Parameters as MySQL writes them.
    fn with_marks(&mut self, text: Text, texts: &mut Vec<u8>) -> Text {
        *self.known.entry((text.start, true)).or_insert_with(|| {
            let other = ported_with(self.of.bytes(text), self.from, &|_, _| b"?".to_vec());
            put(texts, &other.unwrap_or_default())
        })
    }
}

fn put(texts: &mut Vec<u8>, bytes: &[u8]) -> Text {
    let text = Text { start: texts.len() as u64, length: bytes.len() as u32 };
    texts.extend_from_slice(bytes);
    text
}

/// Whether parameters come in the order of their numbers, each once, and none counts rows.
fn has_order(text: &[u8]) -> bool {
    let read = Read::of(text, Dialect::Postgres);
    let all = (0..read.tokens.len()).filter(|at| read.tokens[*at].kind == Kind::Parameter);
    all.enumerate().all(|(place, at)| number_of(read.bytes(at)) == place + 1 && !read.counts_rows(at))
}

/// A statement of PostgreSQL with its values in it, as MySQL reads them.
fn with_literals(schedule: &Schedule, text: Text, values: (u32, u16), from: Dialect) -> Vec<u8> {
    let values = &schedule.values[values.0 as usize..][..usize::from(values.1)];
    let literal = |number: usize, counts_rows: bool| {
        let value = number.checked_sub(1).and_then(|at| values.get(at)).and_then(|value| value.text());
        let Some(value) = value.map(|value| schedule.bytes(value)) else { return b"NULL".to_vec() };
        if counts_rows && value.iter().all(u8::is_ascii_digit) {
            return value.to_vec();
        }
        quoted(value, true)
    };
    ported_with(schedule.bytes(text), from, &literal).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::tests::{statement, timed_schedule};
    use crate::schedule::{Parameter, Statement};

    fn text(text: &str, from: Dialect) -> Option<String> {
        ported(text.as_bytes(), from).map(|text| String::from_utf8(text).unwrap())
    }

    #[test]
    fn what_both_read_is_sent_with_the_quotes_of_the_other() {
        let check = |mysql: &str, postgres: &str| {
            assert_eq!(text(mysql, Dialect::MYSQL).as_deref(), Some(postgres));
            assert_eq!(text(postgres, Dialect::Postgres).as_deref(), Some(mysql));
        };
        check("select `a b`, count(*) from `t` where c='it''s'", "select \"a b\", count(*) from \"t\" where c='it''s'");
        check(
            "insert into `t` (a, b) values (1, -2.5e3), (3, null)",
            "insert into \"t\" (a, b) values (1, -2.5e3), (3, null)",
        );
        check("update t set a = a + 1 where b in (1, 2)", "update t set a = a + 1 where b in (1, 2)");
        check("delete from t where a between 1 and 2", "delete from t where a between 1 and 2");
        check(
            "select a from t as u left join v on u.a=v.b order by a limit 5 offset 2",
            "select a from t as u left join v on u.a=v.b order by a limit 5 offset 2",
        );
        check(
            "select a from t union all (select b from u) for update",
            "select a from t union all (select b from u) for update",
        );
        assert_eq!(text("select 1 -- note\n from t;", Dialect::MYSQL).as_deref(), Some("select 1 from t"));
        assert_eq!(
            text("select 1 from t where a!=-1", Dialect::MYSQL).as_deref(),
            Some("select 1 from t where a!= -1")
        );
    }

    #[test]
    fn transactions_begin_and_end_as_both_do() {
        for (written, sent) in [
            ("BEGIN;", "begin"),
            ("start transaction", "begin"),
            ("begin isolation level serializable", "begin"),
            ("END", "commit"),
            ("commit work", "commit"),
            ("ABORT", "rollback"),
        ] {
            assert_eq!(text(written, Dialect::Postgres).as_deref(), Some(sent), "{written}");
        }
        assert_eq!(text("rollback to savepoint a", Dialect::Postgres), None);
    }

    #[test]
    fn what_one_reads_otherwise_is_not_taken() {
        for mysql in [
            "select a from t limit 5, 10",
            "select \"a\"",
            "select 'a\\'b'",
            "select 'a' 'b'",
            "select 7 / 2",
            "select a || b from t",
            "select 0x1F",
            "select ifnull(a, 1) from t",
            "select /*+ MAX_EXECUTION_TIME(9) */ 1",
            "select @a",
            "select a from shop.t",
            "select a from t use index (k)",
            "select a into @b from t",
            "insert into t set a = 1",
            "insert into t values (1) on duplicate key update a = 2",
            "insert ignore into t values (1)",
            "replace into t values (1)",
            "update t, u set t.a = u.a",
            "update t set a = 1 order by b limit 1",
            "delete from t where a = 1 limit 1",
            "select a from t; select b from t",
            "begin; update t set a = 1; commit",
            "select 'a",
            "set autocommit = 0",
            "call p()",
        ] {
            assert_eq!(text(mysql, Dialect::MYSQL), None, "{mysql}");
        }
        for postgres in [
            "select a::text from t",
            "select E'a'",
            "select $$a$$",
            "select a from t offset 2",
            "select a from t limit 5 offset 2 rows",
            "select a from t fetch first 1 rows only",
            "select distinct on (a) a from t",
            "select a from t where a = any($1)",
            "select a->>'b' from t",
            "update t set (a, b) = (1, 2)",
            "update t set a = u.a from u where u.b = t.b",
            "delete from t using u where u.b = t.b",
            "insert into t values (1) returning a",
            "with x as (select 1) select * from x",
        ] {
            assert_eq!(text(postgres, Dialect::Postgres), None, "{postgres}");
        }
        assert_eq!(ported(b"select '\xff'", Dialect::MYSQL), None);
    }

    #[test]
    fn parameters_are_bound_in_mysql_or_written_where_they_cannot_be() {
        assert!(has_order(b"select $1, $2") && !has_order(b"select $2, $1") && !has_order(b"select a from t limit $1"));
        let mut schedule = timed_schedule(&["select ?"]);
        let mut texts = std::mem::take(&mut schedule.texts);
        let sql = ["select \"a\" from t where b = $1", "select $2, $1, '$1' from t limit $3"];
        let [bound, written] = sql.map(|text| put(&mut texts, text.as_bytes()));
        let values = ["it's \\", "7", "3"].map(|value| Parameter::Text(put(&mut texts, value.as_bytes())));
        schedule.values = values.to_vec();
        schedule.values[1] = Parameter::Null;
        schedule.texts = texts;
        schedule.prepared = vec![bound, written];
        let one = |text, how, count| Statement { text, how, values: (0, count), ..statement(0) };
        schedule.statements =
            vec![one(bound, How::Prepared(0), 1), one(written, How::Prepared(1), 3), one(bound, How::Unnamed, 1)];
        let other = for_other_kind(&schedule);
        let shown = |text: Text| std::str::from_utf8(other.bytes(text)).unwrap();
        let sent: Vec<_> = other.statements.iter().map(|one| (shown(one.text), one.how, one.values.1)).collect();
        assert!(other.is_mysql && shown(other.prepared[0]) == "select `a` from t where b = ?");
        assert_eq!(
            sent,
            [
                ("select `a` from t where b = ?", How::Prepared(0), 1),
                ("select NULL, 'it''s \\\\', '$1' from t limit 3", How::Text, 0),
                ("select `a` from t where b = 'it''s \\\\'", How::Text, 0),
            ]
        );
    }

    #[test]
    fn texts_that_are_sorted_or_compared_depend_on_a_collation() {
        let check = |text: &str| is_collated(text.as_bytes(), Dialect::MYSQL);
        assert!(check("select a from t group by a") && check("select distinct a from t"));
        assert!(check("select 1 from t where a = 'x'") && !check("select a from t where b = 1"));
    }
}
