//! PostgreSQL's answers for `null.rs`, as few bytes as the protocol allows.
//!
//! ```text
//! startup   length:4 version:4 …      -> R 0, S server_version, K, Z
//! Q         text                      -> [T D] C Z
//! P B D E S                           -> 1, 2, t and T or n, [D] C, Z
//! ```

use std::collections::HashMap;

use super::message::{begin_message, end_message, whole_message};
use crate::Error;
use crate::answers::{Answers, Effect, effect};

const SSL_REQUEST: u32 = 80_877_103;
const INT8: u32 = 20;

#[derive(Default)]
pub(crate) struct PostgresAnswers {
    logged_in: bool,
    /// What each prepared statement comes to.
    prepared: HashMap<Vec<u8>, Effect>,
    /// And the one that was bound last.
    bound: Effect,
}

impl Answers for PostgresAnswers {
    fn greet(&mut self, _: &mut Vec<u8>) {}

    fn answer(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<usize, Error> {
        let mut used = 0;
        while !self.logged_in {
            let Some((size, code)) = startup(&input[used..]) else { return Ok(used) };
            used += size;
            if code == SSL_REQUEST {
                out.push(b'N');
            } else {
                self.logged_in = true;
                put_welcome(out);
            }
        }
        while let Some((kind, body, size)) = whole_message(&input[used..])? {
            used += size;
            self.message(kind, body, out)?;
        }
        Ok(used)
    }
}

impl PostgresAnswers {
    fn message(&mut self, kind: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        match kind {
            b'Q' => {
                let effect = effect(body);
                if effect == Effect::Rows {
                    put_row_description(out);
                }
                put_effect(out, effect);
                put_ready(out);
            }
            b'P' => {
                let (name, sql) = split_name(body)?;
                self.prepared.insert(name.to_vec(), effect(sql));
                put(out, b'1', &[]);
            }
            b'B' => {
                let (_portal, rest) = split_name(body)?;
                let (name, _) = split_name(rest)?;
                self.bound = self.prepared.get(name).copied().unwrap_or_default();
                put(out, b'2', &[]);
            }
            b'D' => self.describe(body, out)?,
            b'E' => put_effect(out, self.bound),
            b'C' => put(out, b'3', &[]),
            b'S' => put_ready(out),
            b'H' => {}
            _ => return Err(Error::lost("the client has left, or said something unknown")),
        }
        Ok(())
    }

    fn describe(&self, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        let (what, rest) = body.split_first().ok_or_else(|| Error::Protocol("an empty Describe".to_owned()))?;
        let (name, _) = split_name(rest)?;
        let effect = if *what == b'S' {
            put(out, b't', &[0, 0]);
            self.prepared.get(name).copied().unwrap_or_default()
        } else {
            self.bound
        };
        if effect == Effect::Rows {
            put_row_description(out);
        } else {
            put(out, b'n', &[]);
        }
        Ok(())
    }
}

/// Size and code of the message without a type that a connection begins with.
fn startup(input: &[u8]) -> Option<(usize, u32)> {
    let number = |at: usize| input.get(at..at + 4).and_then(|four| four.first_chunk()).map(|n| u32::from_be_bytes(*n));
    let (size, code) = (number(0)? as usize, number(4)?);
    (input.len() >= size).then_some((size, code))
}

/// A text up to its zero byte, and what follows.
fn split_name(body: &[u8]) -> Result<(&[u8], &[u8]), Error> {
    let end = body.iter().position(|byte| *byte == 0);
    let end = end.ok_or_else(|| Error::Protocol("a name without an end".to_owned()))?;
    Ok((&body[..end], &body[end + 1..]))
}

fn put(out: &mut Vec<u8>, kind: u8, body: &[u8]) {
    let at = begin_message(out, kind);
    out.extend_from_slice(body);
    end_message(out, at);
}

fn put_welcome(out: &mut Vec<u8>) {
    put(out, b'R', &[0; 4]);
    put(out, b'S', b"server_version\x0015.0 (null)\0");
    // The number of the process, as it answers every question, and a key.
    put(out, b'K', &[0, 0, 0, 1, 0, 0, 0, 0]);
    put_ready(out);
}

fn put_ready(out: &mut Vec<u8>) {
    put(out, b'Z', b"I");
}

fn put_row_description(out: &mut Vec<u8>) {
    let at = begin_message(out, b'T');
    out.extend_from_slice(&[0, 1]);
    // Name, table, column, type, size, modifier, format.
    out.extend_from_slice(b"1\0\0\0\0\0\0\0");
    out.extend_from_slice(&INT8.to_be_bytes());
    out.extend_from_slice(&[0, 8, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    end_message(out, at);
}

fn put_effect(out: &mut Vec<u8>, effect: Effect) {
    match effect {
        Effect::Rows => {
            put(out, b'D', &[0, 1, 0, 0, 0, 1, b'1']);
            put(out, b'C', b"SELECT 1\0");
        }
        Effect::Change => put(out, b'C', b"INSERT 0 1\0"),
        Effect::Nothing => put(out, b'C', b"BEGIN\0"),
    }
}
