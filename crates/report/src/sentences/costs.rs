//! Names of what a transaction costs, and of the signs beside them.

/// A cost of one transaction, with its unit where it counts anything but events.
pub fn title(metric: &str) -> Option<&'static str> {
    let title = match metric {
        "cpu_us_per_tx" => "server CPU (µs)",
        "cpu_user_us_per_tx" => "server CPU in user mode (µs)",
        "cpu_system_us_per_tx" => "server CPU in the kernel (µs)",
        "ctx_voluntary_per_tx" => "voluntary context switches",
        "ctx_involuntary_per_tx" => "involuntary context switches",
        "read_bytes_per_tx" => "bytes read from disk",
        "write_bytes_per_tx" => "bytes written to disk",
        "syncs_per_tx" => "syncs",
        "redo_bytes_per_tx" => "redo or WAL bytes",
        "log_waits_per_tx" => "waits for the log's buffer",
        "doublewrite_pages_per_tx" => "double-written pages",
        "pages_compressed_per_tx" => "compressions of pages",
        "pages_decompressed_per_tx" => "decompressions of pages",
        "rows_read_per_tx" => "rows read",
        "page_requests_per_tx" => "page requests",
        "buffer_misses_per_tx" => "buffer misses",
        "row_lock_waits_per_tx" => "row-lock waits",
        "row_lock_wait_ms_per_tx" => "waiting for row locks (ms)",
        "deadlocks_per_tx" => "deadlocks",
        "spin_rounds_per_tx" => "spin rounds",
        "latch_waits_per_tx" => "latch waits in the kernel",
        "page_faults_minor_per_tx" => "minor page faults",
        "page_faults_major_per_tx" => "major page faults",
        _ => return None,
    };
    Some(title)
}

/// Any metric that a cause rests on, and the unit that stands behind its figures.
pub fn measured(metric: &str) -> (String, String) {
    let sign = match metric {
        "nopm" => "NOPM",
        "cpu_use" => "share of the cores used",
        "cpu_system_share" => "share of the server's CPU time in the kernel",
        "buffer_miss_share" => "share of page requests that miss the buffers",
        "host_taken_share" => "share of the host's CPU taken by others",
        "generator_bound" => "share of trials in which the generator was the limit",
        "host_iowait_share" => "share of the host's CPU idle for disks",
        "host_pressure_io_some_share" => "share of the time in which something waited for a disk",
        "server_threads_blocked" => "threads of the server in wait for a disk",
        "stalled_seconds_share" => "share of seconds below half of the median",
        "state.checkpoint_age_share_end" => "checkpoint age as a share of the log",
        other => return title(other).map_or((other.to_owned(), String::new()), per_transaction),
    };
    (sign.to_owned(), String::new())
}

/// `server CPU per transaction` and ` µs`.
fn per_transaction(title: &str) -> (String, String) {
    let (what, unit) = title.split_once(" (").unwrap_or((title, ""));
    let unit = unit.trim_end_matches(')');
    (format!("{what} per transaction"), if unit.is_empty() { String::new() } else { format!(" {unit}") })
}
