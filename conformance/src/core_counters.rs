//! What every version of an engine must show of itself after a trial that writes: the catalogue is held to it.

use serde_json::Value;

/// Of an engine: metrics that must be there, and those that must have grown.
struct Core {
    kinds: &'static [&'static str],
    present: &'static [&'static str],
    grown: &'static [&'static str],
}

const CORES: &[Core] = &[
    Core {
        kinds: &["mysql", "mariadb"],
        present: &[
            "counter.innodb.buffer_pool_reads",
            "counter.innodb.data_fsyncs",
            "counter.innodb.log_waits",
            "counter.innodb.row_lock_waits",
            "counter.innodb.row_lock_time_ms",
            "state.dirty_share_begin",
            "state.dirty_bytes_end",
            "state.checkpoint_age_bytes_end",
            "state.checkpoint_age_share_end",
            "state.history_list_length_begin",
            "state.redo_capacity_bytes_end",
            "state.threads_running_end",
            "checkpoint_cycle_s",
        ],
        grown: &[
            "counter.innodb.redo_bytes",
            "counter.innodb.buffer_pool_read_requests",
            "counter.innodb.os_log_written_bytes",
            "counter.mysql.com_commit",
        ],
    },
    Core {
        kinds: &["postgres"],
        present: &[
            "counter.postgres.blks_read",
            "counter.postgres.deadlocks",
            "counter.postgres.checkpoints_timed",
            "counter.postgres.buffers_checkpoint",
            "counter.postgres.buffers_clean",
            "state.dead_rows_end",
            "state.database_bytes_end",
            "state.checkpoint_age_bytes_begin",
            "state.checkpoint_age_share_end",
            "state.redo_capacity_bytes_end",
            "state.vacuums_running_end",
            "state.threads_running_end",
            "checkpoint_cycle_s",
        ],
        // Backends report the others at most once a second, and the trial lasts no longer.
        grown: &["counter.postgres.wal_bytes"],
    },
    Core { kinds: &["sqlite"], present: &["state.database_bytes_begin", "state.database_bytes_end"], grown: &[] },
];
/// Of a trial that waited for deferred work, whatever the engine.
const ALWAYS: &[&str] = &["deferred_work_s", ADJUSTED, "longest_stall_ms"];
/// A trial that leaves work undone has the amount in its place: analysis charges it, at a rate that other trials show.
const ADJUSTED: &str = "adjusted_tps";
const LEFT: &str = "deferred_work_left.";

/// What a trial of a contender `KIND@VERSION` lacks; an engine that is not known here lacks everything.
pub fn lacking(contender: &str, metrics: &Value) -> Vec<String> {
    let kind = contender.split('@').next().unwrap_or_default();
    let Some(core) = CORES.iter().find(|core| core.kinds.contains(&kind)) else {
        return vec![format!("a list of core counters of {kind}")];
    };
    let leaves_work = metrics.as_object().is_some_and(|all| all.keys().any(|name| name.starts_with(LEFT)));
    let always = ALWAYS.iter().filter(|name| !(leaves_work && **name == ADJUSTED));
    let absent = core.present.iter().chain(always).filter(|name| metrics[**name].as_f64().is_none());
    let idle = core.grown.iter().filter(|name| metrics[**name].as_f64().is_none_or(|count| count <= 0.0));
    absent.chain(idle).map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_is_absent_or_stands_still_is_named() {
        let mut metrics = serde_json::json!({
            "state.database_bytes_begin": 1.0, "state.database_bytes_end": 1.0,
            "deferred_work_s": 0.0, "adjusted_tps": 3.0, "longest_stall_ms": 100.0,
        });
        assert!(lacking("sqlite", &metrics).is_empty());
        metrics["adjusted_tps"] = Value::Null;
        assert_eq!(lacking("sqlite", &metrics), ["adjusted_tps"]);
        metrics["deferred_work_left.state.checkpoint_age_bytes"] = 1e6.into();
        assert!(lacking("sqlite", &metrics).is_empty());
        metrics["deferred_work_s"] = Value::Null;
        assert_eq!(lacking("sqlite@3.50.2", &metrics), ["deferred_work_s"]);
        metrics["counter.postgres.wal_bytes"] = 0.0.into();
        assert!(lacking("postgres@17.7", &metrics).contains(&"counter.postgres.wal_bytes".to_owned()));
        assert_eq!(lacking("oracle", &metrics), ["a list of core counters of oracle"]);
    }
}
