//! What may be tuned in SQLite.
//!
//! Left out on purpose: locking_mode, which shuts every other connection out, and journals that are not on
//! disk, after which half a transaction may be left.

use engine::tunable::{KIB, MIB, Machine, Tunable, What, cache_bytes_max, counts, rounded_down, words};

const SQLITE: &str = "sqlite";
/// More than this the library does not map, whatever is asked for.
pub const MMAP_MOST: u64 = 2_147_418_112;

pub const TUNABLES: &[Tunable] = &[
    Tunable::new(SQLITE, "journal_mode", What::Word, |_| words(["WAL", "TRUNCATE", "PERSIST"])).from(&[3, 7]),
    Tunable::new(SQLITE, "cache_size", What::Word, caches),
    Tunable::new(SQLITE, "mmap_size", What::Bytes { least: 0, most: MMAP_MOST }, maps).from(&[3, 7, 17]),
    Tunable::new(SQLITE, "temp_store", What::Word, |_| words(["MEMORY", "FILE"])),
    Tunable::new(SQLITE, "wal_autocheckpoint", What::Count { least: 1, most: 1 << 31 }, |_| {
        counts([4000, 16_000, 1000])
    })
    .from(&[3, 7]),
    Tunable::new(SQLITE, "page_size", What::Bytes { least: 512, most: 65_536 }, |_| counts([8192, 16_384, 4096]))
        .reload(),
    Tunable::new(SQLITE, "synchronous", What::Word, |_| words(["NORMAL", "OFF"])).durability(),
];

/// A negative number is kibibytes; a positive one would be pages.
pub fn cache_text(bytes: u64) -> String {
    format!("-{}", bytes / KIB)
}

/// Every connection has a cache of its own: sixteen of them share what one cache might have.
fn caches(machine: &Machine) -> Vec<String> {
    let each = cache_bytes_max(machine) / 16;
    [each, each / 4].map(|bytes| cache_text(rounded_down(bytes, MIB))).to_vec()
}

fn maps(machine: &Machine) -> Vec<String> {
    counts([cache_bytes_max(machine).min(MMAP_MOST), 0])
}
