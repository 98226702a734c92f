//! The parsers against 200,000 mutated transcripts each.
//!
//! The fuzz targets explore further, but need a nightly toolchain; this needs nothing, and its seed
//! makes a failure come back.

mod properties;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const ROUNDS: u32 = 200_000;

/// Bytes that mean something to a parser: ends, errors, NULLs, lengths at their limits.
const TELLING: [u8; 14] = [0, 1, 2, 4, 5, 8, 9, 0x7f, 0xfb, 0xfc, 0xfd, 0xfe, 0xff, b'#'];

fn mysql_packet(payload: &[u8]) -> Vec<u8> {
    let length = payload.len() as u32;
    [&length.to_le_bytes()[..3], &[1], payload].concat()
}

fn postgres_message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// Changes, removes, repeats or inserts a few bytes; one transcript in sixteen stays as it is.
fn mutated(original: &[u8], rng: &mut StdRng) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..rng.random_range(0..16) / 4 {
        let at = rng.random_range(0..=bytes.len());
        let telling = TELLING[rng.random_range(0..TELLING.len())];
        match rng.random_range(0..6) {
            0 if at < bytes.len() => bytes[at] = rng.random(),
            1 if at < bytes.len() => bytes[at] = telling,
            2 if at < bytes.len() => bytes[at] ^= 1 << rng.random_range(0..8),
            3 => bytes.truncate(at),
            4 => bytes.insert(at, telling),
            _ => {
                let end = (at + rng.random_range(0..20)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

/// Feeds mutations of every transcript; `with_choice` puts the byte in front that decides how to cut.
fn check(property: fn(&[u8]), transcripts: &[Vec<u8>], with_choice: bool) {
    let mut rng = StdRng::seed_from_u64(1);
    for round in 0..ROUNDS {
        let mut bytes = mutated(&transcripts[round as usize % transcripts.len()], &mut rng);
        if with_choice {
            bytes.insert(0, rng.random_range(0..24));
        }
        let outcome = std::panic::catch_unwind(|| property(&bytes));
        assert!(outcome.is_ok(), "round {round} fails on {}", bytes.escape_ascii());
    }
}

#[test]
fn any_mysql_answer_is_understood_the_same_whole_and_in_pieces() {
    let end = mysql_packet(&[0xfe, 0, 0, 2, 0]);
    let rows = [
        mysql_packet(&[2]),
        mysql_packet(b"\x03def column one"),
        mysql_packet(b"\x03def column two"),
        end.clone(),
        mysql_packet(b"\x0242\x0bhello world"),
        mysql_packet(b"\xfb\x00"),
        end,
    ];
    let ok = mysql_packet(&[0, 0xfc, 0x2c, 0x01, 0, 2, 0, 0, 0]);
    let more = [mysql_packet(&[0, 1, 0, 0x0a, 0, 0, 0]), ok.clone()].concat();
    // The greatest count there is, and one more behind it.
    let huge = mysql_packet(b"\0\xfe\xff\xff\xff\xff\xff\xff\xff\xff\0\x0a\0\0\0");
    let huge = [huge, mysql_packet(&[0, 1, 0, 2, 0, 0, 0])].concat();
    let refused = mysql_packet(b"\xff\x28\x04#42000You have an error");
    let file = mysql_packet(b"\xfbrows");
    check(properties::mysql_answer, &[rows.concat(), ok, more, huge, refused, file], true);
}

#[test]
fn any_mysql_greeting_is_taken_or_refused() {
    let old = b"\x0a5.0.96\0\x07\0\0\0abcdefgh\0\x2c\xa2\x08\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0".to_vec();
    let new = b"\x0a8.0.31\0\x07\0\0\0abcdefgh\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
    check(properties::mysql_greeting, &[old, new.to_vec(), b"\xff\x10\x04Too many connections".to_vec()], false);
}

#[test]
fn any_mysql_row_is_taken_or_refused() {
    let long = [b"\xfc\x2c\x01".as_slice(), &[b'x'; 300], b"\xfe\x01\0\0\0\0\0\0\0y"].concat();
    check(properties::mysql_text_row, &[b"\x0242\xfb\x00\x0bhello world".to_vec(), long], false);
}

#[test]
fn any_mysql_values_are_read_or_refused() {
    let end = mysql_packet(&[0xfe, 0, 0, 2, 0]);
    // A description: six texts, then character set, length, type and flags.
    let column =
        |kind: u8| mysql_packet(&[b"\x03def\0\0\0\x01x\0\x0c\x3f\0\x0b\0\0\0", &[kind, 0x20, 0, 0, 0, 0][..]].concat());
    let row = b"\0\0\x2a\0\0\0\x0512.34\x07\xef\x07\x05\x04\x0a\x0b\x0c\x07";
    let null = b"\0\x10\x2a\0\0\0\x0512.34\x04\xef\x07\x05\x04\x07";
    let binary = [
        mysql_packet(&[4]),
        column(3),
        column(0xf6),
        column(12),
        column(1),
        end.clone(),
        mysql_packet(row),
        mysql_packet(null),
        end.clone(),
    ];
    let text = [mysql_packet(&[1]), column(3), end.clone(), mysql_packet(b"\x0242"), mysql_packet(b"\xfb"), end];
    check(properties::mysql_values, &[binary.concat(), text.concat()], true);
}

#[test]
fn any_postgres_answer_is_understood_the_same_whole_and_in_pieces() {
    let ready = postgres_message(b'Z', b"I");
    let rows = [
        postgres_message(b'2', b""),
        postgres_message(b'T', b"\0\x01id\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0"),
        postgres_message(b'D', b"\0\x02\0\0\0\x0242\xff\xff\xff\xff"),
        postgres_message(b'D', b"\0\x02\0\0\0\x017\0\0\0\0"),
        postgres_message(b'C', b"SELECT 2\0"),
        ready.clone(),
    ];
    let update = [postgres_message(b'C', b"UPDATE 12\0"), ready.clone()].concat();
    let huge = [postgres_message(b'C', b"UPDATE 18446744073709551615\0"), update.clone()].concat();
    let refused = [postgres_message(b'E', b"SERROR\0C40P01\0Mdeadlock detected\0\0"), ready].concat();
    let copy = postgres_message(b'G', b"\0\0\x01\0\0");
    check(properties::postgres_answer, &[rows.concat(), update, huge, refused, copy], true);
}

#[test]
fn any_postgres_row_is_taken_or_refused() {
    let row = b"\0\x03\0\0\0\x0242\xff\xff\xff\xff\0\0\0\0".to_vec();
    check(properties::postgres_text_row, &[row], false);
}
