//! What may be tuned in PostgreSQL.
//!
//! Left out on purpose: autovacuum and everything else that only puts work off, wal_level (minimal does not
//! start beside the default of max_wal_senders), and huge_pages = on, which needs pages that the machine's
//! owner has set aside.

use engine::tunable::{GIB, KIB, MIB, Machine, Tunable, What, counts, rounded_down, words};

const POSTGRES: &str = "postgres";
/// 1073741823 pages of 8 kB.
const BUFFERS_MOST: u64 = 1_073_741_823 * 8 * KIB;
const WORK_MEM_MOST: u64 = 2_147_483_647 * KIB;

pub const TUNABLES: &[Tunable] = &[
    Tunable::new(POSTGRES, "shared_buffers", What::Bytes { least: 128 * KIB, most: BUFFERS_MOST }, shared_buffers),
    // Before 9.5 it was checkpoint_segments; no such version is known here.
    Tunable::new(POSTGRES, "max_wal_size", What::Bytes { least: 32 * MIB, most: 2_147_483_647 * MIB }, wal_sizes)
        .from(&[9, 5]),
    Tunable::new(POSTGRES, "wal_buffers", What::Bytes { least: 32 * KIB, most: 262_143 * 8 * KIB }, wal_buffers),
    Tunable::new(POSTGRES, "checkpoint_timeout", What::Word, |_| words(["15min", "30min", "5min"])),
    Tunable::new(POSTGRES, "checkpoint_completion_target", What::Word, |_| words(["0.9", "0.5"])),
    Tunable::new(POSTGRES, "effective_cache_size", What::Bytes { least: 8 * KIB, most: BUFFERS_MOST }, file_caches),
    Tunable::new(POSTGRES, "random_page_cost", What::Word, |_| words(["1.1", "2", "4"])),
    Tunable::new(POSTGRES, "work_mem", What::Bytes { least: 64 * KIB, most: WORK_MEM_MOST }, work_mem),
    Tunable::new(POSTGRES, "effective_io_concurrency", What::Count { least: 0, most: 1000 }, |_| counts([200, 16, 1])),
    Tunable::new(POSTGRES, "max_parallel_workers_per_gather", What::Count { least: 0, most: 1024 }, |_| counts([0, 2]))
        .from(&[9, 6]),
    Tunable::new(POSTGRES, "jit", What::Word, |_| words(["off", "on"])).from(&[11]),
    Tunable::new(POSTGRES, "huge_pages", What::Word, |_| words(["try", "off"])).from(&[9, 4]),
    Tunable::new(POSTGRES, "wal_compression", What::Word, |_| words(["on", "off"])).from(&[9, 5]).until(&[15]),
    // From 15 on it is a method, and "on" is shown as this one; the others are not in every build.
    Tunable::new(POSTGRES, "wal_compression", What::Word, |_| words(["pglz", "off"])).from(&[15]),
    Tunable::new(POSTGRES, "commit_delay", What::Count { least: 0, most: 100_000 }, |_| counts([100, 1000, 0])),
    Tunable::new(POSTGRES, "bgwriter_lru_maxpages", What::Count { least: 0, most: 1000 }, |_| counts([1000, 400, 100])),
    Tunable::new(POSTGRES, "bgwriter_delay", What::Word, |_| words(["50ms", "200ms"])),
    Tunable::new(POSTGRES, "io_method", What::Word, |_| words(["sync", "worker"])).from(&[18]),
    Tunable::new(POSTGRES, "io_workers", What::Count { least: 1, most: 32 }, io_workers).from(&[18]),
    Tunable::new(POSTGRES, "synchronous_commit", What::Word, |_| words(["off"])).durability(),
    Tunable::new(POSTGRES, "fsync", What::Word, |_| words(["off"])).durability(),
    Tunable::new(POSTGRES, "full_page_writes", What::Word, |_| words(["off"])).durability(),
];

/// As the server reads and shows it.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(GIB) => format!("{}GB", bytes / GIB),
        _ if bytes.is_multiple_of(MIB) => format!("{}MB", bytes / MIB),
        _ => format!("{}kB", bytes / KIB),
    }
}

/// A quarter of the memory, as the manual begins with; more, up to what it calls rarely useful; less, to leave
/// it to the page cache. Not more than the data and a tenth.
fn shared_buffers(machine: &Machine) -> Vec<String> {
    let data = machine.data_bytes.saturating_add(machine.data_bytes / 10);
    let share = |part: u64| size_text(rounded_down((machine.memory_bytes / 100 * part).min(data), 16 * MIB));
    [25, 40, 10].map(share).to_vec()
}

fn wal_sizes(machine: &Machine) -> Vec<String> {
    let most = rounded_down(machine.data_bytes, GIB);
    [(4 * GIB).min(most), (16 * GIB).min(most), GIB].map(size_text).to_vec()
}

/// "-1" is a 32nd of the buffers, and 16 MB at most.
fn wal_buffers(_: &Machine) -> Vec<String> {
    words(["16MB", "64MB", "-1"])
}

fn file_caches(machine: &Machine) -> Vec<String> {
    [75, 50].map(|part| size_text(rounded_down(machine.memory_bytes / 100 * part, 16 * MIB))).to_vec()
}

/// Every client may take it more than once, so it grows with the memory only slowly.
fn work_mem(machine: &Machine) -> Vec<String> {
    let share = rounded_down((machine.memory_bytes / 256).clamp(4 * MIB, 64 * MIB), MIB);
    vec![size_text(share), "4MB".to_owned()]
}

fn io_workers(machine: &Machine) -> Vec<String> {
    counts([u64::from(machine.cores / 2).clamp(1, 32), 3])
}
