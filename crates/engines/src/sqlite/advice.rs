//! What to try first with SQLite, whose settings are pragmas of each connection.

use super::tunable::{MMAP_MOST, cache_text};
use engine::advice::{Draft, Rung, Subject, set};
use engine::tunable::{KIB, MIB, cache_bytes_max, rounded_down};
use record::quantity::bytes_text;

const DEFAULT_CACHE: u64 = 2000 * KIB;

pub fn draft(subject: &Subject) -> Draft {
    let mut draft = Draft::default();
    let reason = "Readers and the one writer no longer shut each other out, and a commit flushes one file once. \
                  The file beside the database must be on the same machine.";
    draft.rung("write-ahead log", vec![set("journal_mode", "WAL")], reason.to_owned(), page("Write-Ahead Logging"));
    cache(subject, &mut draft);
    let mapped = cache_bytes_max(&subject.machine).min(MMAP_MOST);
    let reason = format!(
        "Up to {} of the file are read where the page cache has them, without a system call and without a copy. \
         The library maps 2 GiB at most.",
        bytes_text(mapped)
    );
    draft.rung("file mapped into memory", vec![set("mmap_size", mapped)], reason, page("Memory-Mapped I/O"));
    let reason = "Pages that are changed often are copied into the database less often. The price: a longer log to \
                  search and, after a crash, to read.";
    let settings = vec![set("wal_autocheckpoint", 4000)];
    draft.rung("fewer checkpoints", settings, reason.to_owned(), page("Write-Ahead Logging"));
    let reason = "Sorts and temporary tables stay in memory.";
    draft.rung(
        "temporary tables in memory",
        vec![set("temp_store", "MEMORY")],
        reason.to_owned(),
        page("Pragma Statements"),
    );
    draft.leave("page_size", "4096 fits most storage; another size means loading the data again");
    draft.leave("locking_mode", "EXCLUSIVE would shut every other connection out");
    draft.rungs.push(Rung {
        name: "log not flushed at commits".to_owned(),
        settings: vec![set("synchronous", "NORMAL")],
        reason: "With a write-ahead log, NORMAL flushes at checkpoints only.".to_owned(),
        source: page("Pragma Statements"),
        promise: "D2",
        trade: Some(
            "commits survive the end of the program; a crash of the operating system or a power failure loses those since the last checkpoint; nothing is torn",
        ),
    });
    draft
}

fn page(title: &str) -> String {
    format!("SQLite documentation, \"{title}\"")
}

/// Every connection has a cache of its own, so that all of them together take what one might have.
fn cache(subject: &Subject, draft: &mut Draft) {
    const NAME: &str = "cache_size";
    let clients = u64::from(subject.clients.max(1));
    let mut each = rounded_down(cache_bytes_max(&subject.machine) / clients, MIB);
    while each > MIB && !subject.has_room(&[set(NAME, cache_text(each))]) {
        each -= MIB;
    }
    if each <= DEFAULT_CACHE {
        return draft
            .leave(NAME, format!("{} connections leave no more than the default of 2 MB for each", subject.clients));
    }
    let reason = format!(
        "{} for each of {} connections, since each has a cache of its own: a page found there costs no system call.",
        bytes_text(each),
        subject.clients
    );
    let name = format!("cache {} for each connection", bytes_text(each));
    draft.rung(name, vec![set(NAME, cache_text(each))], reason, page("Pragma Statements"));
}
