//! What to try first with PostgreSQL.

use super::tunable::size_text;
use engine::advice::{Draft, Rung, Subject, set};
use engine::tunable::{GIB, MIB, rounded_down};
use record::quantity::bytes_text;

const DEFAULT_BUFFERS: u64 = 128 * MIB;
/// More log between two checkpoints is read again after a crash.
const WAL_MOST: u64 = 64 * GIB;

pub fn draft(subject: &Subject) -> Draft {
    let mut draft = Draft::default();
    buffers(subject, &mut draft);
    checkpoints(subject, &mut draft);
    planner(subject, &mut draft);
    long_queries(subject, &mut draft);
    full_pages(subject, &mut draft);
    io_workers(subject, &mut draft);
    draft.leave("wal_buffers", "by itself a 32nd of shared_buffers and up to 16MB, which does for most");
    draft.leave("work_mem", "short transactions sort little; raise it where EXPLAIN ANALYZE shows sorts on disk");
    draft.leave("huge_pages", "\"try\" is the default; pages have to be set aside by the machine's owner");
    draft.leave("autovacuum", "off would only put the work behind the measurement");
    draft.leave("full_page_writes", "off would let a crash tear pages that nothing can repair (D0)");
    draft.rungs.push(Rung {
        name: "commits not waited for".to_owned(),
        settings: vec![set("synchronous_commit", "off")],
        reason: "A commit does not wait until its log is on the disk; the WAL writer brings it there a little later.".to_owned(),
        source: manual(subject, "Asynchronous Commit"),
        promise: "D1",
        trade: Some("a crash of the server or of the operating system loses up to three times wal_writer_delay (0.6 s); nothing is torn"),
    });
    draft
}

/// From version 10 on the first number alone names a manual.
fn manual(subject: &Subject, page: &str) -> String {
    let numbers = if subject.numbers().first().is_some_and(|major| *major >= 10) { 1 } else { 2 };
    format!("PostgreSQL {} documentation, \"{page}\"", subject.series(numbers))
}

fn buffers(subject: &Subject, draft: &mut Draft) {
    const NAME: &str = "shared_buffers";
    let (memory, data) = (subject.machine.memory_bytes, subject.machine.data_bytes);
    let quarter = memory / 4;
    let mut bytes = subject.within(NAME, rounded_down(quarter.min(data.saturating_add(data / 10)), 16 * MIB));
    if bytes <= DEFAULT_BUFFERS && subject.has_room(&[]) {
        return draft.leave(NAME, "the default of 128MB is a quarter of the memory, or holds the data, already");
    }
    while bytes > 16 * MIB && !subject.has_room(&[set(NAME, size_text(bytes))]) {
        bytes -= 16 * MIB;
    }
    let value = size_text(bytes);
    let reason = match () {
        () if bytes < DEFAULT_BUFFERS => {
            format!("The default of 128MB does not fit into {} beside the rest of the server.", bytes_text(memory))
        }
        () if bytes + 16 * MIB > quarter => {
            format!("A quarter of {}: the rest is the page cache's, which PostgreSQL relies on.", bytes_text(memory))
        }
        () => format!("The data and a tenth are {}; a quarter of the memory could not be used.", bytes_text(bytes)),
    };
    let source = format!("{}: 25 % from 1 GB on, seldom more than 40 %", manual(subject, "Resource Consumption"));
    draft.rung(format!("shared buffers {value}"), vec![set(NAME, value)], reason, source);
}

fn checkpoints(subject: &Subject, draft: &mut Draft) {
    let most = rounded_down(subject.machine.data_bytes, GIB).min(WAL_MOST);
    let wal = rounded_down((subject.machine.memory_bytes / 2).min(most), GIB).max(2 * GIB);
    let mut settings = vec![set("max_wal_size", size_text(wal)), set("checkpoint_timeout", "15min")];
    let spread = if subject.numbers().as_slice() < &[14] {
        settings.push(set("checkpoint_completion_target", "0.9"));
        ", and its writes are spread over nine tenths of the way"
    } else {
        ""
    };
    let reason = format!(
        "A checkpoint every 15 minutes or {} of log, in place of 5 minutes or 1 GB{spread}: fewer pages are written whole. \
         The price is recovery: after a crash up to that much log is read and applied.",
        size_text(wal)
    );
    draft.rung("checkpoints further apart", settings, reason, manual(subject, "WAL Configuration"));
}

fn planner(subject: &Subject, draft: &mut Draft) {
    let cache = rounded_down(subject.machine.memory_bytes / 4 * 3, 16 * MIB);
    let mut settings = vec![
        set("effective_cache_size", size_text(subject.within("effective_cache_size", cache))),
        set("random_page_cost", "1.1"),
    ];
    if subject.numbers().as_slice() < &[18] {
        settings.push(set("effective_io_concurrency", 200));
    }
    let reason = "Three quarters of the memory may hold pages, and on solid-state storage a page elsewhere costs hardly \
                  more than the next one. It takes no memory; it lets the planner prefer indexes. Leave it out on hard disks."
        .to_owned();
    draft.rung("a planner that knows the machine", settings, reason, manual(subject, "Query Planning"));
}

fn long_queries(subject: &Subject, draft: &mut Draft) {
    if subject.numbers().as_slice() >= &[12] {
        let reason = "Compiling pays for long queries; a short one whose cost is overrated waits for it.".to_owned();
        draft.rung("no compiling of queries", vec![set("jit", "off")], reason, manual(subject, "When to JIT?"));
    }
}

fn full_pages(subject: &Subject, draft: &mut Draft) {
    let reason = "The first change of a page after a checkpoint writes the whole page into the log; compressed it is \
                  shorter. Costs CPU: measure it.";
    // From 15 on the setting names a method, and this one is in every build.
    let method = if subject.numbers().as_slice() < &[15] { "on" } else { "pglz" };
    let settings = vec![set("wal_compression", method)];
    draft.rung("full-page images compressed", settings, reason.to_owned(), manual(subject, "Write Ahead Log"));
}

fn io_workers(subject: &Subject, draft: &mut Draft) {
    if subject.tunable("io_workers").is_none() {
        return;
    }
    let workers = u64::from(subject.machine.cores / 4).min(32);
    if workers <= 3 {
        return draft.leave("io_workers", "the default of 3 does for so few cores");
    }
    let reason = "Three processes that read for everybody are few for so many cores.".to_owned();
    let settings = vec![set("io_workers", workers)];
    draft.rung(format!("{workers} I/O workers"), settings, reason, manual(subject, "Resource Consumption"));
}
