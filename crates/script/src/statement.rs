//! SQL statements: where one ends, where its variables stand, and what it does as far as counting goes.

use std::fmt;
use std::ops::RangeInclusive;

use driver::Dialect;

use crate::fault::Fault;

/// Text and variables of one statement, in their order.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Text(String),
    Variable(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Begin,
    /// COMMIT, ROLLBACK and their other words.
    End,
    Read,
    Write,
    Other,
}

/// What a note asks of the answer to a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    Rows(RangeInclusive<u64>),
    Changed(RangeInclusive<u64>),
    Value(usize),
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |range: &RangeInclusive<u64>| match (*range.start(), *range.end()) {
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least}..{most}"),
        };
        match self {
            Expectation::Rows(rows) if *rows == (1..=u64::MAX) => f.write_str("some rows expected"),
            Expectation::Rows(rows) if *rows == (1..=1) => f.write_str("1 row expected"),
            Expectation::Rows(rows) => write!(f, "{} rows expected", range(rows)),
            Expectation::Changed(rows) => write!(f, "changed {} expected", range(rows)),
            Expectation::Value(_) => f.write_str("the value of the variable expected"),
        }
    }
}

/// Which variables a row fills: the one row of a result, or the `last` of any number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gather {
    /// By column.
    Columns { slots: Vec<usize>, last: bool },
    /// Those that are called like the columns, behind a prefix; of the last result, or with `last` of every result.
    Named { prefix: String, last: bool },
}

#[derive(Debug, Clone, PartialEq)]
pub struct SqlStatement {
    pub pieces: Vec<Piece>,
    pub role: Role,
    pub expectations: Vec<Expectation>,
    /// What becomes of its rows.
    pub gather: Option<Gather>,
    /// It leaves a transaction open, or none; None where it changes nothing about that.
    pub opens: Option<bool>,
    /// Several statements in one text.
    pub is_joined: bool,
    pub label: Option<String>,
    pub line: usize,
    /// Somebody has to look at its rows.
    pub reads_values: bool,
}

impl SqlStatement {
    /// A statement without notes and commands around it.
    pub fn of(pieces: Vec<Piece>) -> SqlStatement {
        let roles = roles(&pieces);
        let mut opens = roles.iter().filter_map(|role| match role {
            Role::Begin => Some(true),
            Role::End => Some(false),
            _ => None,
        });
        let has = |wanted| roles.contains(&wanted);
        SqlStatement {
            role: if has(Role::Write) { Role::Write } else { roles.first().copied().unwrap_or(Role::Other) },
            opens: opens.next_back(),
            is_joined: roles.len() > 1,
            pieces,
            expectations: Vec::new(),
            gather: None,
            label: None,
            line: 1,
            reads_values: false,
        }
    }

    /// The text as a dialect prepares it, and the variables of its parameters.
    pub fn prepared(&self, dialect: Dialect) -> (String, Vec<usize>) {
        let (mut text, mut parameters) = (String::new(), Vec::new());
        for piece in &self.pieces {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Variable(slot) if dialect == Dialect::Postgres => {
                    let place = parameters.iter().position(|known| known == slot);
                    let number = place.unwrap_or_else(|| {
                        parameters.push(*slot);
                        parameters.len() - 1
                    });
                    text.push_str(&format!("${}", number + 1));
                }
                Piece::Variable(slot) => {
                    parameters.push(*slot);
                    text.push('?');
                }
            }
        }
        (text, parameters)
    }
}

/// What stands at a byte of SQL text.
enum Stretch {
    /// Left alone as a whole, up to this byte.
    Verbatim(usize),
    /// A comment that nobody needs, up to this byte.
    Comment(usize),
    /// `:name`: from behind the colon up to this byte.
    Variable(usize),
    End,
    Meta,
}

/// Finds the stretch at `at`; a quote, comment or body without its end is a fault at its beginning.
fn stretch(text: &str, at: usize) -> Result<Stretch, Fault> {
    let rest = &text[at..];
    let unclosed = |what: &str, end: &str| Fault::new(at, format!("{what} without its end"), format!("expected {end}"));
    let until = |from: usize, end: &str, what: &str| {
        rest[from..].find(end).map(|place| at + from + place + end.len()).ok_or_else(|| unclosed(what, end))
    };
    let first = rest.chars().next().expect("there is text at this place");
    Ok(match first {
        '\'' => Stretch::Verbatim(until(1, "'", "a text")?),
        '"' => Stretch::Verbatim(until(1, "\"", "a quoted name")?),
        '`' => Stretch::Verbatim(until(1, "`", "a quoted name")?),
        '-' if rest.starts_with("--") => Stretch::Comment(at + rest.find('\n').unwrap_or(rest.len())),
        '/' if rest.starts_with("/*") => Stretch::Verbatim(until(2, "*/", "a comment")?),
        '$' if !text[..at].ends_with(is_of_word) => match dollar_tag(rest) {
            Some(tag) => Stretch::Verbatim(until(tag.len(), tag, "a text in dollars")?),
            None => Stretch::Verbatim(at + 1),
        },
        ';' => Stretch::End,
        '\\' => Stretch::Meta,
        ':' if rest.starts_with("::") => Stretch::Verbatim(at + 2),
        ':' if rest[1..].starts_with(|c: char| is_of_word(c) && !c.is_ascii_digit()) => {
            Stretch::Variable(at + 1 + rest[1..].find(|c: char| !is_of_word(c)).unwrap_or(rest.len() - 1))
        }
        other => Stretch::Verbatim(at + other.len_utf8()),
    })
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `$$` or `$body$` at the start of `text`.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')?;
    let tag = &text[1..=end];
    let is_tag = tag.chars().all(is_of_word) && !tag.starts_with(|c: char| c.is_ascii_digit());
    is_tag.then(|| &text[..end + 2])
}

/// How a statement's text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Semicolon,
    /// A command begins at this byte.
    Meta,
    TextsEnd,
}

/// One statement's text with its comments taken out, from byte `at` on; where it ended, and how. `\;` ends it, unless
/// it `joins` statements into one text.
pub fn scan(
    text: &str,
    mut at: usize,
    joins: bool,
    variable: &mut dyn FnMut(&str, usize) -> Option<usize>,
) -> Result<(Vec<Piece>, usize, Ending), Fault> {
    let (mut pieces, mut part) = (Vec::new(), String::new());
    let finish = |part: &mut String, pieces: &mut Vec<Piece>| {
        if !part.is_empty() {
            pieces.push(Piece::Text(std::mem::take(part)));
        }
    };
    let ending = loop {
        if at >= text.len() {
            break Ending::TextsEnd;
        }
        match stretch(text, at)? {
            Stretch::Verbatim(end) => {
                part.push_str(&text[at..end]);
                at = end;
            }
            Stretch::Comment(end) => at = end,
            Stretch::Variable(end) => {
                match variable(&text[at + 1..end], at) {
                    Some(slot) => {
                        finish(&mut part, &mut pieces);
                        pieces.push(Piece::Variable(slot));
                    }
                    None => part.push_str(&text[at..end]),
                }
                at = end;
            }
            Stretch::Meta if joins && text[at..].starts_with("\\;") => {
                part.push(';');
                at += 2;
            }
            Stretch::End => break Ending::Semicolon,
            Stretch::Meta => break Ending::Meta,
        }
    };
    part.truncate(part.trim_end().len());
    finish(&mut part, &mut pieces);
    Ok((pieces, at, ending))
}

/// A text cut at the names in it that are known, wherever they stand: pgbench puts values into quotes, too.
pub fn with_names_in_quotes(piece: Piece, known: &dyn Fn(&str) -> Option<usize>) -> Vec<Piece> {
    let Piece::Text(text) = piece else { return vec![piece] };
    let (mut pieces, mut from, mut at) = (Vec::new(), 0, 0);
    while let Some(colon) = text[at..].find(':').map(|place| at + place) {
        let name = &text[colon + 1..];
        let name = &name[..name.find(|c: char| !is_of_word(c)).unwrap_or(name.len())];
        let slot = known(name).filter(|_| name.starts_with(|c: char| is_of_word(c) && !c.is_ascii_digit()));
        if let Some(slot) = slot.filter(|_| !text[..colon].ends_with(':')) {
            pieces.extend([Piece::Text(text[from..colon].to_owned()), Piece::Variable(slot)]);
            from = colon + 1 + name.len();
        }
        at = colon + 1 + name.len();
    }
    pieces.push(Piece::Text(text[from..].to_owned()));
    pieces.retain(|piece| *piece != Piece::Text(String::new()));
    pieces
}

/// The first known name in single quotes from byte `at` on, and where it stands.
pub fn name_in_quotes(text: &str, mut at: usize, known: &dyn Fn(&str) -> bool) -> Option<(usize, String)> {
    while at < text.len() {
        let end = match stretch(text, at).ok()? {
            Stretch::Verbatim(end) | Stretch::Comment(end) | Stretch::Variable(end) => end,
            Stretch::End | Stretch::Meta => at + 1,
        };
        let found = text[at..end].match_indices(':').filter(|_| text[at..].starts_with('\'')).find_map(|(colon, _)| {
            let name = &text[at + colon + 1..end];
            let name = &name[..name.find(|c: char| !is_of_word(c)).unwrap_or(name.len())];
            known(name).then(|| (at + colon, name.to_owned()))
        });
        if found.is_some() {
            return found;
        }
        at = end;
    }
    None
}

/// The names that stand behind a colon, wherever that is.
pub fn names_after_colons(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices(':').filter_map(|(at, _)| {
        let behind = &text[at + 1..];
        let name = &behind[..behind.find(|c: char| !is_of_word(c)).unwrap_or(behind.len())];
        let is_name = name.starts_with(|c: char| is_of_word(c) && !c.is_ascii_digit());
        (is_name && !text[..at].ends_with(':')).then_some(name)
    })
}

/// The statements of plain SQL: for files without variables and commands.
pub fn plain(text: &str) -> Result<Vec<String>, Fault> {
    let (mut statements, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let (pieces, end, ending) = scan(text, at, false, &mut |_, _| None)?;
        if ending == Ending::Meta {
            return Err(Fault::new(end, "a command in a file of plain SQL", "expected SQL alone"));
        }
        let sql: String = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "" }).collect();
        if !sql.trim().is_empty() {
            statements.push(sql.trim().to_owned());
        }
        at = end + 1;
    }
    Ok(statements)
}

/// Words at the outermost level, in capitals, and the texts between commas behind SELECT or RETURNING.
fn words(sql: &str) -> Vec<(usize, usize, u32)> {
    let (mut found, mut at, mut depth) = (Vec::new(), 0, 0u32);
    while at < sql.len() {
        let first = sql[at..].chars().next().expect("there is text at this place");
        if is_of_word(first) {
            let end = at + sql[at..].find(|c: char| !is_of_word(c)).unwrap_or(sql.len() - at);
            found.push((at, end, depth));
            at = end;
            continue;
        }
        match first {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at = match stretch(sql, at) {
            Ok(Stretch::Verbatim(end) | Stretch::Comment(end) | Stretch::Variable(end)) => end,
            _ => at + 1,
        };
    }
    found
}

/// What each statement of a text does.
fn roles(pieces: &[Piece]) -> Vec<Role> {
    let text: String = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "?" }).collect();
    let (mut roles, mut from) = (Vec::new(), 0);
    while from < text.len() {
        let mut at = from;
        while at < text.len() {
            at = match stretch(&text, at) {
                Ok(Stretch::Verbatim(end) | Stretch::Comment(end) | Stretch::Variable(end)) => end,
                Ok(Stretch::Meta) => at + 1,
                Ok(Stretch::End) | Err(_) => break,
            };
        }
        roles.push(role(&text[from..at]));
        from = at + 1;
    }
    roles
}

pub fn role(text: &str) -> Role {
    let words = words(text);
    let word = |at: usize| words.get(at).map(|(start, end, _)| text[*start..*end].to_ascii_uppercase());
    let changes = ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"];
    let has_change = || (0..words.len()).filter_map(word).any(|word| changes.contains(&word.as_str()));
    match word(0).unwrap_or_default().as_str() {
        "BEGIN" => Role::Begin,
        "START" if word(1).as_deref() == Some("TRANSACTION") => Role::Begin,
        "COMMIT" | "END" => Role::End,
        "ROLLBACK" if word(1).as_deref() != Some("TO") => Role::End,
        "SELECT" | "SHOW" | "VALUES" => Role::Read,
        "WITH" if !has_change() => Role::Read,
        "WITH" => Role::Write,
        first if changes.contains(&first) => Role::Write,
        _ => Role::Other,
    }
}

/// The word that a statement begins with, in capitals.
pub fn first_word(sql: &str) -> String {
    words(sql).first().map_or(String::new(), |(start, end, _)| sql[*start..*end].to_ascii_uppercase())
}

/// The names of the columns that a statement returns, as they stand in its text.
pub fn column_names(pieces: &[Piece]) -> Result<Vec<String>, String> {
    let text: String = pieces.iter().map(|piece| if let Piece::Text(text) = piece { text } else { "0" }).collect();
    let words = words(&text);
    let is = |at: usize, wanted: &[&str]| {
        let (start, end, depth) = words[at];
        depth == 0 && wanted.iter().any(|word| text[start..end].eq_ignore_ascii_case(word))
    };
    let first = (0..words.len()).find(|at| is(*at, &["SELECT", "RETURNING"]));
    let first = first.ok_or("this statement has no SELECT and no RETURNING")?;
    let behind = ["FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION", "INTO", "FOR", "OFFSET", "WINDOW"];
    let end = (first + 1..words.len()).find(|at| is(*at, &behind)).map_or(text.len(), |at| words[at].0);
    let list = &text[words[first].1..end];
    split_at_commas(list).iter().enumerate().map(|(number, item)| column_name(item, number + 1)).collect()
}

/// Commas outside of parentheses and quotes.
fn split_at_commas(list: &str) -> Vec<&str> {
    let (mut items, mut from, mut at, mut depth) = (Vec::new(), 0, 0, 0i32);
    while at < list.len() {
        match list.as_bytes()[at] {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b',' if depth == 0 => {
                items.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at = match stretch(list, at) {
            Ok(Stretch::Verbatim(end) | Stretch::Comment(end) | Stretch::Variable(end)) => end,
            _ => at + 1,
        };
    }
    items.push(&list[from..]);
    items
}

fn column_name(item: &str, number: usize) -> Result<String, String> {
    let item = item.trim();
    let quoted = |quote: char| {
        let inner = item.strip_suffix(quote)?;
        inner.rfind(quote).map(|start| inner[start + 1..].to_owned())
    };
    let bare = || {
        let word = item.rsplit(|c: char| !is_of_word(c)).next().unwrap_or_default();
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_');
        is_name.then(|| word.to_ascii_lowercase())
    };
    let name = quoted('"').or_else(|| quoted('`')).or_else(bare);
    name.ok_or_else(|| format!("column {number} has no name: write `{item} AS name`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanned(text: &str) -> (SqlStatement, usize, Ending) {
        let mut names = Vec::new();
        let mut variable = |name: &str, _: usize| {
            let place = names.iter().position(|known| known == name);
            Some(place.unwrap_or_else(|| {
                names.push(name.to_owned());
                names.len() - 1
            }))
        };
        let (pieces, end, ending) = scan(text, 0, false, &mut variable).unwrap();
        (SqlStatement::of(pieces), end, ending)
    }

    #[test]
    fn names_become_parameters_where_sql_takes_values() {
        let check = |text: &str, postgres: &str, mysql: &str, parameters: usize| {
            let (statement, ..) = scanned(text);
            assert_eq!(statement.prepared(Dialect::Postgres).0, postgres, "{text}");
            let prepared = statement.prepared(Dialect::MySql);
            assert_eq!((prepared.0.as_str(), prepared.1.len()), (mysql, parameters), "{text}");
        };
        check("SELECT :a + :b, :a;", "SELECT $1 + $2, $1", "SELECT ? + ?, ?", 3);
        check(
            "SELECT ':a', \":a\", x::int, '12:30:45'",
            "SELECT ':a', \":a\", x::int, '12:30:45'",
            "SELECT ':a', \":a\", x::int, '12:30:45'",
            0,
        );
        check(
            "SELECT 12:30, /* :a; */ $$ :a; $$, 'it''s :a'",
            "SELECT 12:30, /* :a; */ $$ :a; $$, 'it''s :a'",
            "SELECT 12:30, /* :a; */ $$ :a; $$, 'it''s :a'",
            0,
        );
        check("SELECT 1 -- :a;\n, :a", "SELECT 1 \n, $1", "SELECT 1 \n, ?", 1);
        check("SELECT $f$ ; $f$ || :a", "SELECT $f$ ; $f$ || $1", "SELECT $f$ ; $f$ || ?", 1);
    }

    #[test]
    fn a_statement_ends_at_its_semicolon_or_at_a_command() {
        assert_eq!(scanned("SELECT ';';x").2, Ending::Semicolon);
        let (_, end, ending) = scanned("SELECT 1 AS a \\gset");
        assert_eq!((end, ending), (14, Ending::Meta));
        assert_eq!(scanned("SELECT 1").2, Ending::TextsEnd);
        let fault = |text: &str| scan(text, 0, false, &mut |_, _| None).unwrap_err();
        assert_eq!((fault("SELECT 'a").at, fault("SELECT /* a").at, fault("SELECT $x$ $y$").at), (7, 7, 7));
    }

    #[test]
    fn roles_follow_from_the_first_word() {
        for (text, expected) in [
            ("select 1", Role::Read),
            ("WITH a AS (SELECT 1) SELECT * FROM a", Role::Read),
            ("WITH a AS (DELETE FROM t RETURNING 1) SELECT * FROM a", Role::Write),
            ("/* x */ insert into t values (1)", Role::Write),
            ("BEGIN", Role::Begin),
            ("START TRANSACTION", Role::Begin),
            ("COMMIT WORK", Role::End),
            ("ROLLBACK TO SAVEPOINT a", Role::Other),
            ("ROLLBACK", Role::End),
            ("SET x = 1", Role::Other),
        ] {
            assert_eq!(scanned(text).0.role, expected, "{text}");
        }
    }

    #[test]
    fn columns_are_named_in_the_text() {
        let names = |text: &str| column_names(&scanned(text).0.pieces);
        assert_eq!(names("SELECT a, t.b, max(c, 1) AS d, e f FROM t").unwrap(), ["a", "b", "d", "f"]);
        assert_eq!(names("SELECT (SELECT x FROM y) AS \"A\" WHERE 1").unwrap(), ["A"]);
        assert_eq!(names("INSERT INTO t VALUES (1) RETURNING id").unwrap(), ["id"]);
        assert!(names("SELECT count(*) FROM t").unwrap_err().contains("column 1 has no name"));
        assert!(names("SELECT * FROM t").is_err());
        assert!(names("UPDATE t SET a = 1").is_err());
    }

    #[test]
    fn plain_sql_is_cut_into_statements() {
        let cut = plain("-- tables\nCREATE TABLE a (b TEXT DEFAULT ';');\n\nCREATE INDEX c ON a (b);\n").unwrap();
        assert_eq!(cut, ["CREATE TABLE a (b TEXT DEFAULT ';')", "CREATE INDEX c ON a (b)"]);
        assert!(plain("SELECT 1 \\gset").is_err());
    }
}
