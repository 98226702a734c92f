//! What memory SQLite takes inside dbduel.

use engine::memory_need::{CONNECTION_BYTES, Given, PROGRAM, Parts};
use engine::tunable::{KIB, MIB};

/// The library's pages of 4096 bytes, unless the file is made with others.
const SQLITE_PAGE: u64 = 4 * KIB;

pub fn memory(given: &Given) -> Option<Parts> {
    let page = given.mysql("page_size", SQLITE_PAGE)?;
    let cache = match given.text("cache_size") {
        None => 2000 * KIB,
        Some(text) => {
            let size: i64 = text.trim().parse().ok()?;
            if size < 0 { size.unsigned_abs().saturating_mul(KIB) } else { size.unsigned_abs().saturating_mul(page) }
        }
    };
    // What is mapped is the page cache's, which gives it back.
    Some((vec![(PROGRAM, 10 * MIB)], cache + CONNECTION_BYTES))
}
