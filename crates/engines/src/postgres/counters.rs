//! What PostgreSQL counts, from its statistics views, which moved with the versions.
//!
//! A backend reports its counts at most once a second, so those at an edge may lag by as much. How many buffers
//! are dirty is not visible here: that takes an extension, and a scan of every buffer.

use anyhow::{Context, Result};
use driver::{Admin, Error};

use Kind::{Counter, State};
use engine::counters::{
    CHECKPOINT_AGE, CHECKPOINT_AGE_SHARE, CHECKPOINT_INTERVAL, CHECKPOINTS_RUNNING, Counters, DATABASE_BYTES,
    DeferredState, DeferredWork, Kind, Paid, REDO_CAPACITY, SESSIONS, THREADS_RUNNING,
};
use engine::version_numbers;

/// A view, or what else stands behind FROM, in the major versions that have it so.
struct Source {
    from: &'static str,
    since: u32,
    before: u32,
    columns: &'static [Column],
}

/// Our name, PostgreSQL's column or expression, and whether it only grows.
type Column = (&'static str, &'static str, Kind);

const LATER: u32 = u32::MAX;
/// The oldest is 9.6.
const OLDEST: u32 = 0;

const SOURCES: &[Source] = &[
    Source {
        from: "FROM pg_stat_database WHERE datname = current_database()",
        since: OLDEST,
        before: LATER,
        columns: &[
            ("postgres.xact_commit", "xact_commit", Counter),
            ("postgres.xact_rollback", "xact_rollback", Counter),
            ("postgres.blks_read", "blks_read", Counter),
            ("postgres.blks_hit", "blks_hit", Counter),
            ("postgres.tup_returned", "tup_returned", Counter),
            ("postgres.tup_fetched", "tup_fetched", Counter),
            ("postgres.tup_inserted", "tup_inserted", Counter),
            ("postgres.tup_updated", "tup_updated", Counter),
            ("postgres.tup_deleted", "tup_deleted", Counter),
            ("postgres.deadlocks", "deadlocks", Counter),
            ("postgres.temp_files", "temp_files", Counter),
            ("postgres.temp_bytes", "temp_bytes", Counter),
            // Without timing these stay 0, which would look like no time at all.
            (
                "postgres.blk_read_time_ms",
                "CASE current_setting('track_io_timing') WHEN 'on' THEN blk_read_time END",
                Counter,
            ),
            (
                "postgres.blk_write_time_ms",
                "CASE current_setting('track_io_timing') WHEN 'on' THEN blk_write_time END",
                Counter,
            ),
            (DATABASE_BYTES, "pg_database_size(datid)", State),
            (SESSIONS, "numbackends", State),
        ],
    },
    Source {
        from: "FROM pg_stat_bgwriter",
        since: OLDEST,
        before: 17,
        columns: &[
            ("postgres.checkpoints_timed", "checkpoints_timed", Counter),
            ("postgres.checkpoints_requested", "checkpoints_req", Counter),
            ("postgres.checkpoint_write_time_ms", "checkpoint_write_time", Counter),
            ("postgres.checkpoint_sync_time_ms", "checkpoint_sync_time", Counter),
            ("postgres.buffers_checkpoint", "buffers_checkpoint", Counter),
            ("postgres.buffers_backend", "buffers_backend", Counter),
            ("postgres.buffers_backend_fsync", "buffers_backend_fsync", Counter),
        ],
    },
    Source {
        from: "FROM pg_stat_checkpointer",
        since: 17,
        before: LATER,
        columns: &[
            ("postgres.checkpoints_timed", "num_timed", Counter),
            ("postgres.checkpoints_requested", "num_requested", Counter),
            ("postgres.checkpoint_write_time_ms", "write_time", Counter),
            ("postgres.checkpoint_sync_time_ms", "sync_time", Counter),
            ("postgres.buffers_checkpoint", "buffers_written", Counter),
        ],
    },
    Source {
        from: "FROM pg_stat_bgwriter",
        since: OLDEST,
        before: LATER,
        columns: &[
            ("postgres.buffers_clean", "buffers_clean", Counter),
            ("postgres.maxwritten_clean", "maxwritten_clean", Counter),
            ("postgres.buffers_alloc", "buffers_alloc", Counter),
        ],
    },
    Source {
        from: "FROM pg_stat_wal",
        since: 14,
        before: LATER,
        columns: &[
            ("postgres.wal_records", "wal_records", Counter),
            ("postgres.wal_full_page_images", "wal_fpi", Counter),
            ("postgres.wal_buffers_full", "wal_buffers_full", Counter),
        ],
    },
    Source {
        from: "FROM pg_stat_wal",
        since: 14,
        before: 18,
        columns: &[
            ("postgres.wal_writes", "wal_write", Counter),
            // A log that is opened to write through has no syncs to count.
            (
                "postgres.wal_syncs",
                "CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN wal_sync END",
                Counter,
            ),
        ],
    },
    Source {
        from: "FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'",
        since: 18,
        before: LATER,
        columns: &[
            ("postgres.wal_writes", "sum(writes)", Counter),
            (
                "postgres.wal_syncs",
                "CASE WHEN current_setting('wal_sync_method') NOT LIKE 'open%' THEN sum(fsyncs) END",
                Counter,
            ),
        ],
    },
    Source {
        from: "FROM pg_stat_io WHERE object = 'relation'",
        since: 16,
        before: LATER,
        columns: &[
            ("postgres.io_reads", "sum(reads)", Counter),
            ("postgres.io_writes", "sum(writes)", Counter),
            ("postgres.io_extends", "sum(extends)", Counter),
            ("postgres.io_evictions", "sum(evictions)", Counter),
            ("postgres.io_fsyncs", "sum(fsyncs)", Counter),
        ],
    },
    Source {
        from: "FROM pg_control_checkpoint()",
        since: OLDEST,
        before: 10,
        columns: &[
            ("postgres.wal_bytes", "pg_xlog_location_diff(pg_current_xlog_insert_location(), '0/0')", Counter),
            (CHECKPOINT_AGE, "pg_xlog_location_diff(pg_current_xlog_insert_location(), redo_location)", State),
        ],
    },
    Source {
        from: "FROM pg_control_checkpoint()",
        since: 10,
        before: LATER,
        columns: &[
            ("postgres.wal_bytes", "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')", Counter),
            (CHECKPOINT_AGE, "pg_wal_lsn_diff(pg_current_wal_insert_lsn(), redo_lsn)", State),
        ],
    },
    Source {
        from: "",
        since: OLDEST,
        before: LATER,
        columns: &[
            (REDO_CAPACITY, "pg_size_bytes(current_setting('max_wal_size'))", State),
            (CHECKPOINT_INTERVAL, "extract(epoch FROM current_setting('checkpoint_timeout')::interval)", State),
        ],
    },
    Source {
        from: "FROM pg_stat_user_tables",
        since: OLDEST,
        before: LATER,
        columns: &[("dead_rows", "sum(n_dead_tup)", State)],
    },
    Source {
        from: "FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()",
        since: OLDEST,
        before: LATER,
        columns: &[(THREADS_RUNNING, "count(*)", State)],
    },
    Source {
        from: "FROM pg_stat_progress_vacuum WHERE datname = current_database()",
        since: OLDEST,
        before: LATER,
        columns: &[(VACUUMS, "count(*)", State)],
    },
    Source {
        // Without a row, as 9.6 and an account without the right to see it have none, this is NULL.
        from: "FROM pg_stat_activity WHERE backend_type = 'checkpointer'",
        since: 10,
        before: LATER,
        columns: &[(CHECKPOINTS_RUNNING, "max(CASE WHEN wait_event = 'CheckpointerMain' THEN 0 ELSE 1 END)", State)],
    },
];

const VACUUMS: &str = "vacuums_running";

/// How many buffers are dirty is not visible; the log since the last checkpoint shows whether any are.
pub const DEFERRAL: DeferredWork = DeferredWork {
    redo_bytes: Some("postgres.wal_bytes"),
    amounts: &[
        // An idle server writes a little log of its own.
        DeferredState { state: CHECKPOINT_AGE, paid: Paid::AsAtBegin { or: MEBIBYTE } },
        DeferredState { state: CHECKPOINTS_RUNNING, paid: Paid::AtNothing },
        DeferredState { state: VACUUMS, paid: Paid::AtNothing },
    ],
};

const MEBIBYTE: f64 = 1048576.0;

/// What is sampled in each second (method, section 5), and what a server reads and writes whose disks cannot be
/// seen. The size of a database is not among it: that would read the size of each of its files.
const SAMPLED: &[&str] = &[
    "postgres.blks_read",
    "postgres.buffers_backend",
    "postgres.buffers_checkpoint",
    "postgres.buffers_clean",
    "postgres.checkpoints_requested",
    "postgres.checkpoints_timed",
    "postgres.io_extends",
    "postgres.io_fsyncs",
    "postgres.io_reads",
    "postgres.io_writes",
    "postgres.wal_buffers_full",
    "postgres.wal_bytes",
    "postgres.wal_syncs",
    "postgres.wal_writes",
    CHECKPOINT_AGE,
    CHECKPOINT_AGE_SHARE,
    CHECKPOINTS_RUNNING,
    REDO_CAPACITY,
    SESSIONS,
    THREADS_RUNNING,
    VACUUMS,
];

pub fn read(admin: &mut Admin) -> Result<Counters> {
    ask(admin, &|_| true)
}

pub fn sample(admin: &mut Admin) -> Result<Counters> {
    Ok(ask(admin, &|name| SAMPLED.contains(&name))?.only(SAMPLED))
}

/// Every source that has a wanted column, by a statement for the wanted ones.
fn ask(admin: &mut Admin, is_wanted: &dyn Fn(&str) -> bool) -> Result<Counters> {
    let version = version_numbers(admin.server_version()).first().copied().unwrap_or_default();
    let mut counters = Counters::default();
    for source in SOURCES.iter().filter(|source| (source.since..source.before).contains(&version)) {
        let columns: Vec<&Column> = source.columns.iter().filter(|(name, _, _)| is_wanted(name)).collect();
        if columns.is_empty() {
            continue;
        }
        match admin.rows(&source.sql(&columns)) {
            Ok(rows) => rows.iter().take(1).for_each(|row| put(&columns, row, &mut counters)),
            // An account of a target may lack the right to see one of them.
            Err(Error::Refused { .. }) => {}
            Err(error) => return Err(error).context("cannot read the statistics"),
        }
    }
    counters.derive_checkpoint_age_share();
    Ok(counters)
}

impl Source {
    fn sql(&self, columns: &[&Column]) -> String {
        let columns: Vec<String> = columns.iter().map(|(_, column, _)| format!("({column})::float8")).collect();
        format!("SELECT {} {}", columns.join(", "), self.from)
    }
}

fn put(columns: &[&Column], row: &[Option<String>], counters: &mut Counters) {
    for ((name, _, kind), cell) in columns.iter().zip(row) {
        if let Some(value) = cell.as_ref().and_then(|cell| cell.parse().ok()) {
            counters.put(*kind, name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(version: u32) -> Vec<&'static str> {
        let sources = SOURCES.iter().filter(|source| (source.since..source.before).contains(&version));
        sources.flat_map(|source| source.columns).map(|(name, _, _)| *name).collect()
    }

    #[test]
    fn no_version_counts_a_thing_twice() {
        for version in 9..=18 {
            let names = names(version);
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{version}: {names:?}");
        }
    }

    #[test]
    fn what_a_later_version_moved_keeps_its_name() {
        let moved = ["checkpoints_timed", "buffers_checkpoint", "wal_bytes", "buffers_clean"];
        for (version, name) in (9..=18).flat_map(|version| moved.map(|name| (version, format!("postgres.{name}")))) {
            assert!(names(version).contains(&name.as_str()), "{version} {name}");
        }
        assert!(names(14).contains(&"postgres.wal_syncs") && names(18).contains(&"postgres.wal_syncs"));
        assert!(!names(13).contains(&"postgres.wal_syncs") && !names(17).contains(&"postgres.buffers_backend"));
    }

    #[test]
    fn null_is_absent() {
        let source = SOURCES.iter().find(|source| source.columns.len() == 3).unwrap();
        let mut counters = Counters::default();
        let columns: Vec<&Column> = source.columns.iter().collect();
        put(&columns, &[Some("3".to_owned()), None, Some("4.5".to_owned())], &mut counters);
        assert_eq!(counters.counted.into_values().collect::<Vec<_>>(), [4.5, 3.0]);
        assert!(source.sql(&columns).starts_with("SELECT (buffers_clean)::float8, (maxwritten_clean)::float8"));
    }
}
