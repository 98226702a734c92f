//! A connection that prepares nothing: every statement travels as text, with its values in it.
//!
//! It is what many applications do, and what a proxy between client and server may force them to.

use std::time::Duration;

use crate::decimal::{DECIMAL_BYTES_MAX, decimal_text};
use crate::{Answer, Connection, Dialect, Error, Rows, Statement, Value};

/// Sends what would be prepared on `C` as text; the buffer is used again, so nothing allocates once it has grown.
pub struct AsText<C> {
    connection: C,
    statements: Vec<Template>,
    text: Vec<u8>,
}

/// A statement, cut where its values go.
#[derive(Debug, PartialEq, Eq)]
struct Template {
    /// Each part, and the value behind it.
    parts: Vec<(String, usize)>,
    rest: String,
}

impl Template {
    /// Cuts at `?`, or at PostgreSQL's `$1`, which may come in any order; what is quoted is left alone.
    fn cut(sql: &str, dialect: Dialect) -> Template {
        let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
        let mut letters = sql.chars().peekable();
        while let Some(letter) = letters.next() {
            quote = match quote {
                None if matches!(letter, '\'' | '"' | '`') => Some(letter),
                Some(open) if open == letter => None,
                quote => quote,
            };
            let place = match (quote, letter, dialect) {
                (None, '?', Dialect::MySql | Dialect::Sqlite) => Some(parts.len()),
                (None, '$', Dialect::Postgres) => {
                    let mut digits = String::new();
                    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
                        digits.push(digit);
                    }
                    let number = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                    // A dollar of another kind, as around the body of a function.
                    part.extend(number.is_none().then_some(digits.as_str()));
                    number
                }
                _ => None,
            };
            match place {
                Some(value) => parts.push((std::mem::take(&mut part), value)),
                None => part.push(letter),
            }
        }
        Template { parts, rest: part }
    }

    fn fill(&self, values: &[Value<'_>], dialect: Dialect, out: &mut Vec<u8>) {
        out.clear();
        for (part, value) in &self.parts {
            out.extend_from_slice(part.as_bytes());
            put_literal(values.get(*value).copied().unwrap_or(Value::Null), dialect, out);
        }
        out.extend_from_slice(self.rest.as_bytes());
    }
}

/// PostgreSQL takes the type of a quoted value from its place, as it does with a parameter; a bare number would
/// be an integer of four bytes, whatever is wanted.
fn put_literal(value: Value<'_>, dialect: Dialect, out: &mut Vec<u8>) {
    let (units, scale) = match value {
        Value::Null => return out.extend_from_slice(b"NULL"),
        Value::Text(text) => return put_text(text, dialect, out),
        Value::Int(units) => (units, 0),
        // As everywhere in this crate: SQLite has no exact decimals and gets the units.
        Value::Decimal { units, .. } if dialect == Dialect::Sqlite => (units, 0),
        Value::Decimal { units, scale } => (units, scale),
    };
    let mut room = [0; DECIMAL_BYTES_MAX];
    let digits = decimal_text(units, scale, &mut room);
    if dialect == Dialect::Postgres { put_text(digits, dialect, out) } else { out.extend_from_slice(digits) }
}

/// MySQL reads a backslash as the beginning of an escape; the others, in their default mode, do not.
fn put_text(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in text {
        if *byte == b'\'' || (*byte == b'\\' && dialect == Dialect::MySql) {
            out.push(*byte);
        }
        out.push(*byte);
    }
    out.push(b'\'');
}

impl<C: Connection> AsText<C> {
    pub fn new(connection: C) -> AsText<C> {
        AsText { connection, statements: Vec::new(), text: Vec::new() }
    }

    fn fill(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<(), Error> {
        let template = self.statements.get(statement.0);
        let template = template.ok_or_else(|| Error::Protocol(format!("there is no statement {}", statement.0)))?;
        template.fill(values, self.connection.dialect(), &mut self.text);
        Ok(())
    }
}

/// Names and values of statements are UTF-8 for every server that dbduel supports.
fn utf8(text: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(text).map_err(|error| Error::Protocol(format!("a statement is no UTF-8: {error}")))
}

impl<C: Connection> Connection for AsText<C> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.statements.push(Template::cut(sql, self.connection.dialect()));
        Ok(Statement(self.statements.len() - 1))
    }

    async fn execute(&mut self, statement: Statement, parameters: &[Value<'_>]) -> Result<Answer, Error> {
        self.fill(statement, parameters)?;
        self.connection.query(utf8(&self.text)?).await
    }

    async fn fetch(
        &mut self,
        statement: Statement,
        parameters: &[Value<'_>],
        rows: &mut Rows,
    ) -> Result<Answer, Error> {
        self.fill(statement, parameters)?;
        self.connection.query_into(utf8(&self.text)?, rows).await
    }

    async fn query(&mut self, sql: &str) -> Result<Answer, Error> {
        self.connection.query(sql).await
    }

    async fn query_into(&mut self, sql: &str, rows: &mut Rows) -> Result<Answer, Error> {
        self.connection.query_into(sql, rows).await
    }

    fn leave(&mut self) -> Result<(), Error> {
        self.connection.leave()
    }

    fn reconnect(&mut self, timeout: Duration) -> Result<(), Error> {
        self.connection.reconnect(timeout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, sql: &str, values: &[Value<'_>], expected: &str) {
        let mut text = b"what stood there before".to_vec();
        Template::cut(sql, dialect).fill(values, dialect, &mut text);
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }

    #[test]
    fn values_stand_where_parameters_would() {
        let values = [Value::Int(-7), Value::Text(b"it's a \\"), Value::Decimal { units: 1250, scale: 2 }, Value::Null];
        check(Dialect::MySql, "a = ?, b = ?, c = ?, d = ?", &values, r"a = -7, b = 'it''s a \\', c = 12.50, d = NULL");
        check(Dialect::Sqlite, "a = ?, b = ?, c = ?, d = ?", &values, r"a = -7, b = 'it''s a \', c = 1250, d = NULL");
        check(
            Dialect::Postgres,
            "a = $1, b = $2, c = $3, d = $4",
            &values,
            r"a = '-7', b = 'it''s a \', c = '12.50', d = NULL",
        );
    }

    #[test]
    fn numbered_parameters_come_in_any_order_and_more_than_once() {
        let values: Vec<Value<'_>> = (1..=10).map(Value::Int).collect();
        check(Dialect::Postgres, "f($10, $2, $10)", &values, "f('10', '2', '10')");
    }

    #[test]
    fn what_is_quoted_or_no_parameter_is_left_alone() {
        let values = [Value::Int(5)];
        check(Dialect::MySql, "SELECT '?', `a?`, ?", &values, "SELECT '?', `a?`, 5");
        check(Dialect::Postgres, "SELECT '$1', $$ body $$, $1", &values, "SELECT '$1', $$ body $$, '5'");
        check(Dialect::Sqlite, "SELECT 1", &[], "SELECT 1");
    }
}
