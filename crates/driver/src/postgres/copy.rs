//! COPY: the way rows are loaded into PostgreSQL.
//!
//! Rows go to the server as they come, in messages of bounded size, so that a load of any length needs the
//! memory of one.

use super::connection::{PostgresConnection, expect_idle, protocol, put_query, read_answer, step};
use super::message::{AnswerParser, Request, Step, begin_message, end_message};
use crate::decimal::{DECIMAL_BYTES_MAX, decimal_text};
use crate::transport::{Transport, complete};
use crate::{Error, RowSink, Value};

/// A CopyData message is sent when it has reached this size.
const CHUNK_BYTES: usize = 256 << 10;

impl PostgresConnection {
    /// Streams the rows that `give` hands to its sink into `table`; in one transaction.
    pub(crate) fn load(
        &mut self,
        table: &str,
        columns: &[&str],
        give: &mut dyn FnMut(&mut RowSink<'_>) -> Result<(), Error>,
    ) -> Result<u64, Error> {
        let transport = self.transport_mut();
        begin(transport, &format!("COPY {table} ({}) FROM STDIN", columns.join(", ")))?;
        let mut at = begin_message(transport.outbox(), b'd');
        let given = give(&mut |row| {
            put_text_row(transport.outbox(), row);
            if transport.outbox().len() < CHUNK_BYTES {
                return Ok(());
            }
            end_message(transport.outbox(), at);
            transport.send()?;
            at = begin_message(transport.outbox(), b'd');
            Ok(())
        });
        end_message(transport.outbox(), at);
        end(transport, given)
    }
}

fn begin(transport: &mut Transport, sql: &str) -> Result<(), Error> {
    expect_idle(transport)?;
    put_query(transport.outbox(), sql.as_bytes());
    transport.send()?;
    let mut parser = AnswerParser::default();
    loop {
        complete(transport.fill())?;
        match step(transport, &mut parser, None)? {
            Step::More => {}
            Step::Done(_) => return Err(protocol("COPY ended before it began")),
            Step::WantsRows => return Ok(()),
        }
    }
}

/// Ends COPY: with CopyDone, or with CopyFail when its rows ended by an error, which is then the answer.
fn end(transport: &mut Transport, given: Result<(), Error>) -> Result<u64, Error> {
    let out = transport.outbox();
    let at = begin_message(out, if given.is_ok() { b'c' } else { b'f' });
    if given.is_err() {
        out.extend_from_slice(b"the rows ended\0");
    }
    end_message(out, at);
    let sent = transport.send();
    let answer = sent.and_then(|()| complete(read_answer(transport, Request::CopyEnd)));
    given.and(answer).map(|answer| answer.affected)
}

/// Tab between columns, newline behind the row, backslash before what would be either: the format
/// that COPY reads by default.
fn put_text_row(out: &mut Vec<u8>, row: &[Value<'_>]) {
    let mut room = [0; DECIMAL_BYTES_MAX];
    for (index, value) in row.iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        match value {
            Value::Int(number) => out.extend_from_slice(decimal_text(*number, 0, &mut room)),
            Value::Decimal { units, scale } => out.extend_from_slice(decimal_text(*units, *scale, &mut room)),
            Value::Null => out.extend_from_slice(b"\\N"),
            Value::Text(text) => text.iter().for_each(|byte| match byte {
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                // COPY would take it for the first half of a line's end.
                b'\r' => out.extend_from_slice(b"\\r"),
                b'\\' => out.extend_from_slice(b"\\\\"),
                _ => out.push(*byte),
            }),
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_row_escapes_what_separates_columns_and_rows() {
        let mut out = Vec::new();
        let money = Value::Decimal { units: 150, scale: 2 };
        put_text_row(&mut out, &[Value::Int(-7), Value::Text(b"a\tb\\c\nd\r"), money, Value::Null]);
        assert_eq!(out, b"-7\ta\\tb\\\\c\\nd\\r\t1.50\t\\N\n");
    }
}
