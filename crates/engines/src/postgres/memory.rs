//! What memory PostgreSQL takes.

use engine::memory_need::{Given, PROGRAM, Parts};
use engine::tunable::MIB;

/// A backend is a process: its own copies of catalogues and plans.
const BACKEND_BYTES: u64 = 5 * MIB;

pub fn memory(given: &Given) -> Option<Parts> {
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
