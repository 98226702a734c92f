//! How much memory a server may take with some settings, asked before it is started.
//!
//! The rule is method, section 6: buffers, what each connection takes, and 15 % to spare. It is an estimate
//! on the safe side of what servers take under load: a buffer counts as if it were full, and what only some
//! statements need (temporary tables, second sorts) is in what is spared. What cannot be read is no estimate:
//! the answer is then absent, and the server will say itself what is wrong.

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use super::knobs::{GIB, KIB, MIB, rounded_down};
use super::settings::{parse_quantity, parse_size, parse_switch};
use super::version_numbers;
use record::quantity::bytes_text;

/// What is kept free besides buffers and connections, in per cent of both.
const SPARE_PERCENT: u64 = 15;

/// What a server takes, part by part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Whatever the number of connections, the largest first: a setting's name or `the program itself`.
    pub shared: Vec<(&'static str, u64)>,
    pub per_connection_bytes: u64,
    pub connections: u32,
}

impl Need {
    pub fn total_bytes(&self) -> u64 {
        let shared = self.shared.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let sum = shared.saturating_add(self.of_connections());
        sum.saturating_add(sum / 100 * SPARE_PERCENT)
    }

    fn of_connections(&self) -> u64 {
        self.per_connection_bytes.saturating_mul(u64::from(self.connections))
    }

    /// What it adds up to, for a reader.
    pub fn text(&self) -> String {
        let counted = self.shared.iter().filter(|(_, bytes)| *bytes >= MIB).take(3);
        let mut parts: Vec<String> = counted.map(|(name, bytes)| format!("{name} {}", bytes_text(*bytes))).collect();
        parts.push(format!("{} connections with {} each", self.connections, bytes_text(self.per_connection_bytes)));
        format!("{} ({}, and {SPARE_PERCENT} % to spare)", bytes_text(self.total_bytes()), parts.join(", "))
    }
}

/// The bytes a server needs with these settings while so many connections work; None for an engine that is not
/// known here, or where a setting cannot be read.
pub fn memory_needed(kind: &str, version: &str, settings: &BTreeMap<String, String>, connections: u32) -> Option<u64> {
    need(kind, version, settings, connections).map(|need| need.total_bytes())
}

/// Fails when a server cannot have what its settings ask for; says what it adds up to and what would fit.
pub fn fits(
    kind: &str,
    version: &str,
    settings: &BTreeMap<String, String>,
    connections: u32,
    memory_bytes: u64,
) -> Result<()> {
    let Some(need) = need(kind, version, settings, connections) else { return Ok(()) };
    let total = need.total_bytes();
    if total <= memory_bytes {
        return Ok(());
    }
    bail!(
        "{kind} {version} does not fit into {}: with these settings it takes {}\nnext: {}",
        bytes_text(memory_bytes),
        need.text(),
        next_step(&need, total - memory_bytes)
    )
}

/// Less of what takes most, where that is enough.
fn next_step(need: &Need, missing: u64) -> String {
    let missing = missing.saturating_mul(100) / (100 + SPARE_PERCENT) + MIB;
    match need.shared.first() {
        Some((name, bytes)) if *name != PROGRAM && bytes.saturating_sub(missing) >= 16 * MIB => {
            let fitting = bytes - missing;
            let fitting = rounded_down(fitting, if fitting >= GIB { 128 * MIB } else { 16 * MIB });
            format!("lower {name} to {} MiB at most, or give it more memory", fitting / MIB)
        }
        _ => "give it more memory, or fewer clients".to_owned(),
    }
}

/// What a server takes, part by part; None as in [`memory_needed`].
pub fn need(kind: &str, version: &str, settings: &BTreeMap<String, String>, connections: u32) -> Option<Need> {
    let given = Given::new(settings);
    let version = version_numbers(version);
    let (mut shared, per_connection_bytes) = match kind {
        "mysql" | "mariadb" => of_mysql_family(kind == "mariadb", &version, &given)?,
        "postgres" => of_postgres(&given)?,
        "sqlite" => of_sqlite(&given)?,
        _ => return None,
    };
    shared.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    Some(Need { shared, per_connection_bytes, connections })
}

const PROGRAM: &str = "the program itself";

/// Shared parts by name, and what each connection takes.
type Parts = (Vec<(&'static str, u64)>, u64);

/// Settings under plain names: lower case, underscores.
struct Given(BTreeMap<String, String>);

impl Given {
    fn new(settings: &BTreeMap<String, String>) -> Given {
        let plain = |(name, value): (&String, &String)| (name.replace('-', "_").to_ascii_lowercase(), value.clone());
        Given(settings.iter().map(plain).collect())
    }

    /// A size as MySQL reads it; None where what is given is none.
    fn mysql(&self, name: &str, default: u64) -> Option<u64> {
        match self.0.get(name) {
            None => Some(default),
            Some(text) => parse_size(text).and_then(|bytes| bytes.try_into().ok()),
        }
    }

    /// A size as PostgreSQL reads it, whose bare numbers are in `unit`; negative ones mean the default.
    fn postgres(&self, name: &str, default: u64, unit: &str) -> Option<u64> {
        match self.0.get(name) {
            None => Some(default),
            Some(text) => {
                let bytes = parse_quantity(text, unit)?;
                Some(if bytes < 0.0 { default } else { bytes as u64 })
            }
        }
    }

    fn switch(&self, name: &str, default: bool) -> bool {
        self.0.get(name).and_then(|text| parse_switch(text)).unwrap_or(default)
    }
}

fn of_mysql_family(is_mariadb: bool, version: &[u32], given: &Given) -> Option<Parts> {
    let since = |first: &[u32]| version >= first;
    let pool = if is_mariadb || since(&[5, 5]) { 128 * MIB } else { 8 * MIB };
    let log_buffer = match version {
        _ if !is_mariadb && since(&[8, 4]) => 64 * MIB,
        _ if is_mariadb || since(&[5, 7]) => 16 * MIB,
        _ if since(&[5, 5]) => 8 * MIB,
        _ => MIB,
    };
    let watches_itself = given.switch("performance_schema", !is_mariadb && since(&[5, 6]));
    let shared = vec![
        ("innodb_buffer_pool_size", given.mysql("innodb_buffer_pool_size", pool)?),
        ("innodb_log_buffer_size", given.mysql("innodb_log_buffer_size", log_buffer)?),
        // Without tables of MyISAM these stay empty, unless somebody wants them.
        ("key_buffer_size", given.mysql("key_buffer_size", 0)?),
        ("query_cache_size", given.mysql("query_cache_size", 0)?),
        ("performance_schema", if watches_itself { performance_schema_bytes(is_mariadb, version) } else { 0 }),
        (PROGRAM, mysql_program_bytes(is_mariadb, version)),
    ];
    let sort = if is_mariadb || !since(&[5, 6]) { 2 * MIB } else { 256 * KIB };
    let join = if !is_mariadb && !since(&[5, 6]) { 128 * KIB } else { 256 * KIB };
    let stack = match version {
        _ if is_mariadb => 292 * KIB,
        _ if since(&[9]) => MIB,
        _ if since(&[8]) => 280 * KIB,
        _ => 256 * KIB,
    };
    let per_connection = [
        ("sort_buffer_size", sort),
        ("join_buffer_size", join),
        ("read_buffer_size", 128 * KIB),
        ("read_rnd_buffer_size", 256 * KIB),
        ("thread_stack", stack),
    ];
    let mut each = CONNECTION_BYTES;
    for (name, default) in per_connection {
        each += given.mysql(name, default)?;
    }
    Some((shared, each))
}

/// Network buffers, the statements that are prepared, and what a session holds besides.
const CONNECTION_BYTES: u64 = 256 * KIB;

/// What an idle server takes besides its buffers, as it was seen with a pool of 16 MB on x86-64.
fn mysql_program_bytes(is_mariadb: bool, version: &[u32]) -> u64 {
    let mib = match version {
        _ if is_mariadb => 90,
        [5, 0, ..] => 15,
        [5, 5, ..] => 25,
        [5, 6, ..] => 30,
        [5, 7, ..] => 40,
        [8, ..] => 140,
        _ => 210,
    };
    mib * MIB
}

/// Seen as above. Until 5.6 it takes the memory for everything it might count when the server starts; later
/// versions take more as they need it.
fn performance_schema_bytes(is_mariadb: bool, version: &[u32]) -> u64 {
    let mib = match version {
        _ if is_mariadb => 100,
        [5, 5, ..] => 380,
        [5, 6, ..] => 430,
        [5, 7, ..] => 135,
        _ => 240,
    };
    mib * MIB
}

/// A backend is a process: its own copies of catalogues and plans.
const BACKEND_BYTES: u64 = 5 * MIB;

fn of_postgres(given: &Given) -> Option<Parts> {
    let buffers = given.postgres("shared_buffers", 128 * MIB, "8kB")?;
    let wal = given.postgres("wal_buffers", (buffers / 32).min(16 * MIB), "8kB")?;
    let shared = vec![
        ("shared_buffers", buffers),
        ("wal_buffers", wal),
        // One vacuum at a time works on a table of some size.
        ("maintenance_work_mem", given.postgres("maintenance_work_mem", 64 * MIB, "kB")?),
        (PROGRAM, 20 * MIB),
    ];
    Some((shared, BACKEND_BYTES + given.postgres("work_mem", 4 * MIB, "kB")?))
}

/// The library's pages of 4096 bytes, unless the file is made with others.
const SQLITE_PAGE: u64 = 4 * KIB;

fn of_sqlite(given: &Given) -> Option<Parts> {
    let page = given.mysql("page_size", SQLITE_PAGE)?;
    let cache = match given.0.get("cache_size") {
        None => 2000 * KIB,
        Some(text) => {
            let size: i64 = text.trim().parse().ok()?;
            if size < 0 { size.unsigned_abs().saturating_mul(KIB) } else { size.unsigned_abs().saturating_mul(page) }
        }
    };
    // What is mapped is the page cache's, which gives it back.
    Some((vec![(PROGRAM, 10 * MIB)], cache + CONNECTION_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn shared(kind: &str, version: &str, pairs: &[(&str, &str)], name: &str) -> u64 {
        let need = need(kind, version, &settings(pairs), 1).unwrap();
        need.shared.iter().find(|(part, _)| *part == name).unwrap().1
    }

    #[test]
    fn sizes_are_read_as_each_server_reads_them() {
        let pool = "innodb_buffer_pool_size";
        assert_eq!(shared("mysql", "5.5.9", &[(pool, "1G")], pool), GIB);
        assert_eq!(shared("mysql", "5.5.9", &[("innodb-buffer-pool-size", "512k")], pool), 512 * KIB);
        assert_eq!(shared("mysql", "5.5.9", &[(pool, "134217728")], pool), 128 * MIB);
        for text in ["128MB", "16384", "131072kB", "0.125GB"] {
            assert_eq!(shared("postgres", "17.7", &[("shared_buffers", text)], "shared_buffers"), 128 * MIB, "{text}");
        }
        let each = |pairs| need("postgres", "17.7", &settings(pairs), 1).unwrap().per_connection_bytes;
        assert_eq!(each(&[("work_mem", "16MB")]) - each(&[]), 12 * MIB);
        assert_eq!(each(&[("work_mem", "4096")]), each(&[]));
        let cache =
            |text| need("sqlite", "3.50.2", &settings(&[("cache_size", text)]), 1).unwrap().per_connection_bytes;
        assert_eq!(cache("-4096"), cache("1024"));
    }

    #[test]
    fn what_is_not_set_has_the_default_of_its_version() {
        let pool = "innodb_buffer_pool_size";
        assert_eq!(shared("mysql", "5.0.21", &[], pool), 8 * MIB);
        assert_eq!(shared("mysql", "5.5.9", &[], pool), 128 * MIB);
        assert_eq!(shared("mariadb", "10.11.19", &[], pool), 128 * MIB);
        assert_eq!(shared("postgres", "9.6.24", &[], "wal_buffers"), 4 * MIB);
        assert_eq!(
            shared("postgres", "9.6.24", &[("wal_buffers", "-1"), ("shared_buffers", "1GB")], "wal_buffers"),
            16 * MIB
        );
        assert!(shared("mysql", "5.6.24", &[], "performance_schema") > 0);
        assert_eq!(shared("mysql", "5.6.24", &[("performance_schema", "OFF")], "performance_schema"), 0);
        assert_eq!(shared("mariadb", "10.11.19", &[], "performance_schema"), 0);
    }

    #[test]
    fn it_adds_up_to_buffers_connections_and_fifteen_per_cent() {
        let need = Need { shared: vec![("x", 800 * MIB)], per_connection_bytes: 2 * MIB, connections: 100 };
        assert_eq!(need.total_bytes(), 1150 * MIB);
        let more = |connections| memory_needed("mysql", "5.6.24", &BTreeMap::new(), connections).unwrap();
        assert!(more(1000) > more(10));
    }

    #[test]
    fn what_does_not_fit_says_what_it_adds_up_to_and_what_would() {
        let pairs = settings(&[("innodb_buffer_pool_size", "8G")]);
        let error = fits("mysql", "5.5.9", &pairs, 36, 8 * GIB).unwrap_err().to_string();
        assert!(error.starts_with("mysql 5.5.9 does not fit into 8.0 GiB: with these settings it takes 9."), "{error}");
        assert!(error.contains("innodb_buffer_pool_size 8.0 GiB"), "{error}");
        assert!(error.contains("\nnext: lower innodb_buffer_pool_size to "), "{error}");
        let (_, lower) = error.split_once("innodb_buffer_pool_size to ").unwrap();
        let lower = record::quantity::bytes(lower.split(" at most").next().unwrap()).unwrap();
        assert!(lower > 6 * GIB, "{error}");
        let pairs = settings(&[("innodb_buffer_pool_size", &lower.to_string())]);
        assert!(fits("mysql", "5.5.9", &pairs, 36, 8 * GIB).is_ok());
    }

    #[test]
    fn what_cannot_be_read_or_known_is_no_estimate() {
        assert_eq!(memory_needed("dolt", "1.86", &BTreeMap::new(), 1), None);
        assert_eq!(memory_needed("mysql", "8.0.31", &settings(&[("innodb_buffer_pool_size", "lots")]), 1), None);
        assert!(fits("dolt", "1.86", &BTreeMap::new(), 1, 1).is_ok());
    }
}
