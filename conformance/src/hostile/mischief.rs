//! What a server may do wrong, as what it sends in place of a correct answer.

use driver::Dialect;
use driver::mysql::packet::{begin_packet, end_packet, whole_packet};
use driver::postgres::message::{begin_message, end_message, whole_message};

/// What an answer is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: MySQL sends first.
    Greeting,
    Login,
    Text,
    Prepare,
    Execute,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mischief {
    /// Nothing more.
    Silent,
    /// The end of the connection.
    Close,
    /// Half of the answer, and the end.
    Cut,
    /// So many bytes of the answer, and the end.
    CutAt(usize),
    /// Half of the answer, and nothing more.
    Stall,
    /// A byte now and then.
    Drip,
    /// The answer twice.
    Twice,
    /// Rows, definitions or notices without an end.
    Endless,
    /// The beginning of a message of a length that none has, and bytes without an end.
    Huge,
    /// Packets with other numbers, messages in another order.
    OutOfTurn,
    /// The greeting of another kind of server.
    Garbage,
    /// An error where something else is due.
    ErrorInside,
    /// An error that is worth another try, to everything.
    Error,
}

pub const ALL: [Mischief; 12] = [
    Mischief::Silent,
    Mischief::Close,
    Mischief::Cut,
    Mischief::Stall,
    Mischief::Drip,
    Mischief::Twice,
    Mischief::Endless,
    Mischief::Huge,
    Mischief::OutOfTurn,
    Mischief::Garbage,
    Mischief::ErrorInside,
    Mischief::Error,
];

/// What is done to a connection, in order.
#[derive(Debug, PartialEq, Eq)]
pub enum Act {
    Send(Vec<u8>),
    Drip(Vec<u8>),
    Forever(Vec<u8>),
    Hold,
    Close,
}

impl Mischief {
    /// In place of `honest`, the correct answer, which is never empty.
    pub fn acts(self, dialect: Dialect, kind: Kind, honest: Vec<u8>) -> Vec<Act> {
        let half = honest[..honest.len() / 2].to_vec();
        match self {
            Mischief::Silent => vec![Act::Hold],
            Mischief::Close => vec![Act::Close],
            Mischief::Cut => vec![Act::Send(half), Act::Close],
            Mischief::CutAt(bytes) => vec![Act::Send(honest[..bytes.min(honest.len() - 1)].to_vec()), Act::Close],
            Mischief::Stall => vec![Act::Send(half), Act::Hold],
            Mischief::Drip => vec![Act::Drip(honest)],
            Mischief::Twice => vec![Act::Send(honest.repeat(2))],
            Mischief::Endless => endless(dialect, kind),
            Mischief::Huge => huge(dialect),
            Mischief::OutOfTurn => vec![Act::Send(out_of_turn(dialect, &honest))],
            Mischief::Garbage => vec![Act::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".repeat(3)), Act::Hold],
            Mischief::ErrorInside => vec![Act::Send(error_inside(dialect, kind))],
            Mischief::Error => vec![Act::Send(error(dialect, kind))],
        }
    }
}

const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const COLUMN: &[u8] = b"\x03def\0\0\0\x011\0\x0c\x3f\0\x14\0\0\0\x08\x01\0\0\0\0";
const DEADLOCK: &[u8] = b"\xff\xbd\x04#40001Deadlock found when trying to get lock";
/// Packet numbers come round after so many.
const ROUND: usize = 256;

pub fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        let at = begin_packet(&mut out, first.wrapping_add(index as u8));
        out.extend_from_slice(payload);
        end_packet(&mut out, at);
    }
    out
}

pub fn messages(all: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (kind, body) in all {
        let at = begin_message(&mut out, *kind);
        out.extend_from_slice(body);
        end_message(&mut out, at);
    }
    out
}

fn endless(dialect: Dialect, kind: Kind) -> Vec<Act> {
    let round = |first: u8, payload: &[u8]| packets(first, &vec![payload; ROUND]);
    let notice = || messages(&[(b'N', b"SNOTICE\0Mstill here\0\0")]).repeat(ROUND);
    let row = || messages(&[(b'D', b"\0\x01\0\0\0\x01x")]).repeat(ROUND);
    match (dialect, kind) {
        (Dialect::Postgres, Kind::Text) => vec![Act::Send(messages(&[(b'T', b"\0\0")])), Act::Forever(row())],
        (Dialect::Postgres, Kind::Execute) => vec![Act::Send(messages(&[(b'2', b"")])), Act::Forever(row())],
        (Dialect::Postgres, _) => vec![Act::Forever(notice())],
        (_, Kind::Text | Kind::Execute) => {
            vec![Act::Send(packets(1, &[&[1], COLUMN, EOF])), Act::Forever(round(4, &[0, 0, 7, 0, 0, 0, 0, 0, 0, 0]))]
        }
        (_, Kind::Prepare) => {
            vec![
                Act::Send(packets(1, &[&[0, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0]])),
                Act::Forever(round(2, COLUMN)),
            ]
        }
        // Another way to log in is asked for, again and again.
        (_, Kind::Login) => vec![Act::Forever(packets(2, &[b"\xfemysql_native_password\0abcdefghijklmnopqrst\0"]))],
        (_, Kind::Greeting) => vec![Act::Forever(vec![0x0a; 4096])],
    }
}

fn huge(dialect: Dialect) -> Vec<Act> {
    let head = match dialect {
        Dialect::Postgres => b"E\x3f\xff\xff\xff".to_vec(),
        _ => b"\xff\xff\xff\x01".to_vec(),
    };
    vec![Act::Send(head), Act::Forever(vec![b'x'; 4096])]
}

fn out_of_turn(dialect: Dialect, honest: &[u8]) -> Vec<u8> {
    let mut parts: Vec<Vec<u8>> = Vec::new();
    let mut at = 0;
    while at < honest.len() {
        let size = match dialect {
            Dialect::Postgres => whole_message(&honest[at..]).ok().flatten().map(|(.., size)| size),
            _ => whole_packet(&honest[at..]).map(|(.., size)| size),
        };
        let size = size.expect("an honest answer is whole");
        parts.push(honest[at..at + size].to_vec());
        at += size;
    }
    match dialect {
        Dialect::Postgres => parts.reverse(),
        _ => parts.iter_mut().for_each(|packet| packet[3] = packet[3].wrapping_add(1)),
    }
    parts.concat()
}

fn error_inside(dialect: Dialect, kind: Kind) -> Vec<u8> {
    let deadlock = messages(&[(b'E', b"SERROR\0C40P01\0Mdeadlock detected\0\0")]);
    match (dialect, kind) {
        (Dialect::Postgres, _) => [deadlock, messages(&[(b'C', b"SELECT 1\0"), (b'Z', b"I")])].concat(),
        (_, Kind::Prepare) => packets(1, &[&[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], DEADLOCK]),
        (_, Kind::Login) => packets(2, &[&[1, 3], &[5], DEADLOCK]),
        _ => packets(1, &[&[2], COLUMN, DEADLOCK]),
    }
}

/// Of the wrong number in a login: there it gives the reason of the refusal.
fn error(dialect: Dialect, kind: Kind) -> Vec<u8> {
    match (dialect, kind) {
        (Dialect::Postgres, Kind::Login) => messages(&[(b'E', b"SFATAL\0VFATAL\0C28000\0Mno\0\0")]),
        (Dialect::Postgres, _) => messages(&[(b'E', b"SERROR\0C40P01\0Mdeadlock detected\0\0"), (b'Z', b"I")]),
        (_, Kind::Greeting | Kind::Login) => packets(9, &[b"\xff\x10\x04#08004Too many connections"]),
        _ => packets(1, &[DEADLOCK]),
    }
}
