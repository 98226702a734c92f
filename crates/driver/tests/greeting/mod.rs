//! What servers send, for tests that play one.

// No test takes all of it.
#![allow(dead_code)]

use driver::mysql::packet::{begin_packet, end_packet};
use driver::postgres::message::{begin_message, end_message};

/// A packet of MySQL.
pub fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let at = begin_packet(&mut out, sequence);
    out.extend_from_slice(payload);
    end_packet(&mut out, at);
    out
}

/// A message of PostgreSQL.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let at = begin_message(&mut out, kind);
    out.extend_from_slice(body);
    end_message(&mut out, at);
    out
}

/// The payload of the greeting of a server that asks for a native password.
pub fn mysql_greeting() -> Vec<u8> {
    [
        b"\x0a8.0.31\0".as_slice(),
        &[1, 0, 0, 0],
        b"abcdefgh\0",
        &[0xff, 0xf7, 33, 2, 0, 0xff, 0xdf, 21],
        &[0; 10],
        b"ijklmnopqrst\0",
        b"mysql_native_password\0",
    ]
    .concat()
}
