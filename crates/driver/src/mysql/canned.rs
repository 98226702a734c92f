//! MySQL's answers for `null.rs`, as few bytes as the protocol allows.
//!
//! ```text
//! greeting, then for the login packet and for each command: OK, or one column and one row
//! prepare   00 statement:4 columns:2 parameters:2 00 warnings:2, parameters, EOF, columns, EOF
//! ```

use super::packet::{begin_packet, end_packet, put_lenenc, whole_packet};
use crate::Error;
use crate::answers::{Answers, Effect, effect};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

/// Long passwords and flags, a database at login, protocol 4.1, transactions, secure login, several results, plugins.
const CAPABILITIES: u32 = 1 | 1 << 2 | 1 << 3 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 17 | 1 << 18 | 1 << 19;
const AUTOCOMMIT: u16 = 0x0002;
const TYPE_LONGLONG: u8 = 0x08;

#[derive(Default)]
pub(crate) struct MySqlAnswers {
    logged_in: bool,
    /// What each prepared statement comes to; the first has the number 1.
    prepared: Vec<Effect>,
}

impl Answers for MySqlAnswers {
    fn greet(&mut self, out: &mut Vec<u8>) {
        let at = begin_packet(out, 0);
        out.push(10);
        out.extend_from_slice(b"8.0.0-null\0");
        out.extend_from_slice(&1u32.to_le_bytes());
        out.extend_from_slice(b"nullnull\0");
        out.extend_from_slice(&(CAPABILITIES as u16).to_le_bytes());
        out.push(33);
        out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
        out.extend_from_slice(&((CAPABILITIES >> 16) as u16).to_le_bytes());
        out.push(21);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(b"nullnullnull\0");
        out.extend_from_slice(b"mysql_native_password\0");
        end_packet(out, at);
    }

    fn answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Error> {
        let mut used = 0;
        while let Some((payload, sequence, size)) = whole_packet(&input[used..]) {
            used += size;
            if !std::mem::replace(&mut self.logged_in, true) {
                put_ok(out, sequence.wrapping_add(1), 0);
                continue;
            }
            self.command(payload, out)?;
        }
        Ok(used)
    }
}

impl MySqlAnswers {
    fn command(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let (command, rest) = payload.split_first().ok_or_else(|| Error::Protocol("an empty command".to_owned()))?;
        match *command {
            COM_QUIT => return Err(Error::lost("the client has left")),
            COM_STMT_CLOSE => {}
            // The one answer here whose second column is read.
            COM_QUERY if rest.starts_with(b"SHOW CREATE TABLE") => put_result(out, 2, &[1, b'1', 1, b'1']),
            COM_QUERY => put_effect(out, effect(rest), &[1, b'1']),
            COM_STMT_PREPARE => {
                self.prepared.push(effect(rest));
                self.put_prepared(rest, out);
            }
            COM_STMT_EXECUTE => put_effect(out, self.effect(rest), &[0, 0, 1, 0, 0, 0, 0, 0, 0, 0]),
            _ => put_ok(out, 1, 0),
        }
        Ok(())
    }

    fn effect(&self, execute: &[u8]) -> Effect {
        let number = execute.first_chunk().map_or(0, |number| u32::from_le_bytes(*number) as usize);
        number.checked_sub(1).and_then(|at| self.prepared.get(at)).copied().unwrap_or_default()
    }

    fn put_prepared(&self, sql: &[u8], out: &mut Vec<u8>) {
        let columns = u16::from(self.prepared.last() == Some(&Effect::Rows));
        let parameters = sql.iter().filter(|byte| **byte == b'?').count() as u16;
        let at = begin_packet(out, 1);
        out.push(0);
        out.extend_from_slice(&(self.prepared.len() as u32).to_le_bytes());
        out.extend_from_slice(&columns.to_le_bytes());
        out.extend_from_slice(&parameters.to_le_bytes());
        out.extend_from_slice(&[0, 0, 0]);
        end_packet(out, at);
        let mut sequence = 2u8;
        for count in [parameters, columns].into_iter().filter(|count| *count > 0) {
            for _ in 0..count {
                put_column(out, sequence);
                sequence = sequence.wrapping_add(1);
            }
            put_eof(out, sequence);
            sequence = sequence.wrapping_add(1);
        }
    }
}

/// A row, where there is one, has these bytes.
fn put_effect(out: &mut Vec<u8>, effect: Effect, row: &[u8]) {
    match effect {
        Effect::Rows => put_result(out, 1, row),
        Effect::Change => put_ok(out, 1, 1),
        Effect::Nothing => put_ok(out, 1, 0),
    }
}

fn put_ok(out: &mut Vec<u8>, sequence: u8, affected: u8) {
    let at = begin_packet(out, sequence);
    out.extend_from_slice(&[0, affected, 0]);
    out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    out.extend_from_slice(&[0, 0]);
    end_packet(out, at);
}

fn put_eof(out: &mut Vec<u8>, sequence: u8) {
    let at = begin_packet(out, sequence);
    out.extend_from_slice(&[0xfe, 0, 0]);
    out.extend_from_slice(&AUTOCOMMIT.to_le_bytes());
    end_packet(out, at);
}

fn put_column(out: &mut Vec<u8>, sequence: u8) {
    let at = begin_packet(out, sequence);
    for text in [&b"def"[..], b"", b"", b"", b"1", b""] {
        put_lenenc(out, text.len() as u64);
        out.extend_from_slice(text);
    }
    // Length of the rest, character set, display width, type, flags, decimals, filler.
    out.extend_from_slice(&[12, 63, 0, 20, 0, 0, 0, TYPE_LONGLONG, 1, 0, 0, 0, 0]);
    end_packet(out, at);
}

/// So many columns, and one row with these bytes.
fn put_result(out: &mut Vec<u8>, columns: u8, row: &[u8]) {
    let at = begin_packet(out, 1);
    out.push(columns);
    end_packet(out, at);
    (0..columns).for_each(|column| put_column(out, 2 + column));
    put_eof(out, 2 + columns);
    let at = begin_packet(out, 3 + columns);
    out.extend_from_slice(row);
    end_packet(out, at);
    put_eof(out, 4 + columns);
}
