//! What must hold of any bytes at all: fuzz targets and tests feed it, and a seeded generator in place of a fuzzer.

use std::io::Write;

use crate::bytes::{put, put_signed};
use crate::event::Found;
use crate::file::{Capture, HEAD, TAIL};
use crate::format::{Format, Reading};
use crate::normal::{NOT_PARSED, digest_text, normalise};
use crate::pg_stderr::Prefix;
use crate::prepared::{bound_values, put_placeholders};
use crate::private::{Mask, literals};
use crate::tokens::{Dialect, Kind, Tokens};

/// One target of a format of logs, or of statements, with the pieces that its inputs are made of.
pub struct Target {
    pub name: &'static str,
    run: fn(&[u8]),
    pieces: &'static [&'static [u8]],
}

pub const TARGETS: [Target; 7] = [
    Target { name: "capture_file", run: capture_file, pieces: PARTS },
    Target { name: "log_mysql_slow", run: |bytes| log(Format::MySqlSlow, bytes), pieces: SLOW },
    Target { name: "log_mysql_general", run: |bytes| log(Format::MySqlGeneral, bytes), pieces: GENERAL },
    Target { name: "log_pg_csv", run: |bytes| log(Format::PgCsv, bytes), pieces: CSV },
    Target { name: "log_pg_json", run: |bytes| log(Format::PgJson, bytes), pieces: JSON },
    Target { name: "log_pg_stderr", run: |bytes| log(Format::PgStderr, bytes), pieces: STDERR },
    Target { name: "log_statement", run: statement, pieces: SQL },
];

/// Feeds a target by its name.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.into_iter().find(|target| target.name == name).expect("a target of this name");
    target.run(bytes);
}

/// What one reading finds: every event and problem, as text.
fn found(format: Format, log: &[u8], size: usize) -> Vec<String> {
    let prefix = Prefix::parse("%m|%u|%d|%c|").ok();
    let mut reader = format.reader(&Reading { prefix, ..Reading::default() });
    let mut found = Vec::new();
    let (mut from, mut to) = (0, 0_usize);
    loop {
        to = to.saturating_add(size).min(log.len());
        let is_last = to == log.len();
        let taken = reader.read(&log[from..to], is_last, &mut |one: Found<'_>| found.push(format!("{one:?}")));
        assert!(taken <= to - from, "a reader took more than there was");
        from += taken;
        if is_last {
            assert_eq!(from, to, "the last bytes were not taken");
            return found;
        }
    }
}

/// Reading ends, finds the same in pieces as in one, and finds no more than there can be.
fn log(format: Format, bytes: &[u8]) {
    let whole = found(format, bytes, usize::MAX);
    assert!(whole.len() <= bytes.len() * 2 + 1, "{} of {} bytes", whole.len(), bytes.len());
    let size = 1 + bytes.first().map_or(0, |byte| usize::from(*byte));
    assert_eq!(whole, found(format, bytes, size), "in pieces of {size}");
}

/// Tokens lie in the text one behind the other, a digest text is not much longer than its statement, and other values in
/// place of its own leave it as it is. With placeholders for its literals it has the same digest, and a value for each.
fn statement(bytes: &[u8]) {
    let modes = [&b""[..], b"ANSI_QUOTES", b"NO_BACKSLASH_ESCAPES"];
    let mask = Mask::of_key(b"fuzzing");
    for dialect in modes.map(Dialect::of_sql_mode).into_iter().chain([Dialect::Postgres]) {
        let mut end = 0;
        for token in Tokens::new(bytes, dialect) {
            assert!(token.start >= end && token.end > token.start && token.end <= bytes.len());
            end = token.end;
        }
        let mut digest = Vec::new();
        let list_length = normalise(bytes, dialect, false, &mut digest);
        assert!(digest.len() <= bytes.len() * 4 + 32, "a digest text is longer than its statement allows");
        assert!(list_length as usize <= bytes.len());
        let mut masked = Vec::new();
        literals::statement(bytes, dialect, &mask, &mut masked);
        // Within a hint a blank may stand between a word and a string that had none.
        let texts =
            [&digest, &digest_text(&masked, dialect)].map(|text| String::from_utf8_lossy(text).replace(' ', ""));
        assert!(
            digest.starts_with(NOT_PARSED) || texts[0] == texts[1],
            "{texts:?}: {:?} {:?}",
            String::from_utf8_lossy(bytes),
            String::from_utf8_lossy(&masked)
        );
    }
    let mut prepared = Vec::new();
    if put_placeholders(bytes, &mut prepared) {
        let shown = String::from_utf8_lossy(&prepared);
        let digests = [bytes, &prepared].map(|text| digest_text(text, Dialect::MYSQL));
        assert!(
            digests[0] == digests[1],
            "{shown}: {:?}",
            digests.map(|text| String::from_utf8_lossy(&text).into_owned())
        );
        let placeholders = Tokens::new(&prepared, Dialect::MYSQL).filter(|token| token.kind == Kind::Parameter).count();
        assert!(bound_values(&prepared, bytes).is_none_or(|values| values.len() == placeholders), "{shown}");
    }
}

/// A file is opened and read to its end, or refused: as it is, and with records, digests and contents in whole chunks, which
/// no generator packs by itself.
fn capture_file(bytes: &[u8]) {
    opened(bytes);
    let mut parts = bytes.splitn(3, |byte| *byte == b'|');
    let [records, digests, contents] = [(); 3].map(|()| parts.next().unwrap_or_default());
    let mut file = HEAD.to_vec();
    let mut chunk = |bytes: &[u8]| {
        let packed = zstd::encode_all(bytes, 1).expect("memory takes it");
        let offset = file.len() as u64;
        file.extend((packed.len() as u32).to_le_bytes());
        file.extend(packed);
        offset
    };
    let (at, tables_at) = (chunk(records), chunk(digests));
    chunk(contents);
    let mut index = Vec::new();
    let count = u64::from(records.first().copied().unwrap_or_default() >> 5);
    [1, at, tables_at - at, count].into_iter().for_each(|number| put(&mut index, number));
    [i64::MIN, i64::MAX].into_iter().for_each(|number| put_signed(&mut index, number));
    put(&mut index, tables_at);
    let index_at = chunk(&index);
    file.extend(index_at.to_le_bytes());
    file.extend(TAIL);
    opened(&file);
}

fn opened(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be made");
    file.write_all(bytes).expect("a temporary file can be written");
    let Ok(mut capture) = Capture::open(file.path()) else { return };
    let mut found = 0;
    let _ = capture.instances_from(i64::MIN, &mut |_| {
        found += 1;
        true
    });
    assert!(found <= bytes.len() * 64, "{found} instances in {} bytes", bytes.len());
}

impl Target {
    /// What a fuzzer feeds.
    pub fn run(&self, bytes: &[u8]) {
        (self.run)(bytes);
    }

    /// Checks an input: pieces put together at random, in some of the inputs with bytes changed.
    pub fn check(&self, seed: u64, number: u64) {
        let mut random = Random(seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let length = 1 + random.below(24);
        let pieces = (0..length).map(|_| self.pieces[random.below(self.pieces.len())]);
        let mut bytes = pieces.collect::<Vec<_>>().concat();
        for _ in 0..random.below(2) * random.below(5) {
            let at = random.below(bytes.len() + 1);
            match (random.below(3), at < bytes.len()) {
                (0, true) => bytes[at] = random.below(256) as u8,
                (1, true) => drop(bytes.remove(at)),
                _ => bytes.insert(at, random.below(256) as u8),
            }
        }
        self.run(&bytes);
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

const PARTS: &[&[u8]] = &[
    b"DBCAP\0\0\x01",
    b"DBCAPEND",
    b"|",
    b"||",
    b"\x01",
    b"\x05hello",
    b"\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x80\x01",
    b"\0\xff",
];

const SLOW: &[&[u8]] = &[
    b"/a/mysqld, Version: 8.0.31 (x). started with:\n",
    b"Tcp port: 3306  Unix socket: /a\n",
    b"Time                 Id Command    Argument\n",
    b"# Time: 261123  4:41:17\n",
    b"# Time: 2026-11-23T04:41:47.487186Z\n",
    b"# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9\n",
    b"# User@Host: u[u] @ localhost []\n# Query_time: 0.1  Lock_time: 0  Rows_sent: 1  Rows_examined: 1\nSET timestamp=5;\n",
    b"# Thread_id: 9  Schema: odd  QC_hit: No\n",
    b"# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1 Bytes_received: 13\n",
    b"use odd;\n",
    b"SET timestamp=1795408907;\n",
    b"SET sql_mode='NO_BACKSLASH_ESCAPES';\n",
    b"# administrator command: Quit;\n",
    b"select 1",
    b";\n",
    b";",
    b"\n",
    b"'",
    b"\"",
    b"`",
    b"/*",
    b"*/",
    b"-- ",
    b"#",
    b"\\",
    b"\0\xff",
];

const GENERAL: &[&[u8]] = &[
    b"/a/mysqld, Version: 8.0.31 (x). started with:\n",
    b"Tcp port: 3306  Unix socket: /a\n",
    b"Time                 Id Command    Argument\n",
    b"261123  4:41:18\t     9 Query\t",
    b"2026-11-23T04:41:47.487135Z\t    9 Query\t",
    b"\t\t     9 Query\t",
    b"\t\t     9 Execute\t",
    b"\t\t     9 Connect\tu@localhost on odd using TCP/IP\n",
    b"\t\t     9 Quit\t\n",
    b"\t\t     9 Init DB\tshop\n",
    b"select 1\n",
    b"EXECUTE s1\n",
    b"use shop\n",
    b"\n",
    b"\t",
    b"\0\xff",
];

const CSV: &[&[u8]] = &[
    b"2026-11-23 04:41:47.487 UTC,\"u\",\"odd\",77,\"a:5\",c1.1,1,\"SELECT\",2026-11-23 04:41:40 UTC,3/1,0,LOG,00000,",
    b"\"statement: select 1\",",
    b"\"duration: 0.083 ms\",",
    b"\"duration: 0.3 ms  execute s: select $1\",\"parameters: $1 = '5'\",",
    b"\"duration: 0.3 ms  bind s: select $1\",\"parameters: $1 = '5'\",",
    b",,,,,,,,,\"psql\",\"client backend\",,0\n",
    b",,,,\"select 1\",,,\"psql\",\"client backend\",,0\n",
    b"ERROR,42601,\"x\",",
    b"\"",
    b"\"\"",
    b",",
    b"\n",
    b"\r\n",
    b"\0\xff",
];

const JSON: &[&[u8]] = &[
    b"{\"timestamp\":\"2026-11-23 04:41:47.487 UTC\",\"session_id\":\"c1.1\",\"line_num\":1,",
    b"\"error_severity\":\"LOG\",",
    b"\"error_severity\":\"ERROR\",\"state_code\":\"42601\",",
    b"\"message\":\"statement: select 1\"",
    b"\"message\":\"duration: 0.3 ms  execute s: select $1\"",
    b",\"detail\":\"parameters: $1 = '5'\"",
    b",\"statement\":\"select 1\"",
    b",\"query_id\":0}",
    b"}\n",
    b"{",
    b"\\u0000",
    b"\\",
    b"\"",
    b":",
    b",",
    b"\n",
    b"\0\xff",
];

const STDERR: &[&[u8]] = &[
    b"2026-11-23 04:41:47.487 UTC|u|odd|c1.1|",
    b"LOG:  statement: select 1\n",
    b"LOG:  duration: 0.083 ms\n",
    b"LOG:  duration: 0.3 ms  execute s: select $1\n",
    b"DETAIL:  parameters: $1 = '5'\n",
    b"ERROR:  syntax error\n",
    b"STATEMENT:  selec 1\n",
    b"\tfrom t\n",
    b"HINT:  x\n",
    b"|",
    b"\n",
    b"\0\xff",
];

const SQL: &[&[u8]] = &[
    b"select ",
    b"insert into t values ",
    b"(1, 'a')",
    b"in (",
    b"(",
    b")",
    b",",
    b"1",
    b"-",
    b"-1.5e3",
    b"0x1F",
    b"'it''s'",
    b"'",
    b"\"",
    b"`",
    b"\\",
    b"$$",
    b"$1",
    b"$a$",
    b"/*",
    b"*/",
    b"/*!40001 ",
    b"-- ",
    b"#",
    b"\n",
    b" limit ",
    b"null",
    b" is ",
    b"date ",
    b"E'",
    b"_utf8mb4'x'",
    b"a.b",
    b".5",
    b"::int",
    b"@a",
    b"?",
    b";",
    b"[1]",
    b"\0\xff",
    b"t1 ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_of_a_seed_break_no_property_of_any_target() {
        for target in TARGETS {
            (0..2_000).for_each(|number| target.check(1, number));
        }
    }
}
