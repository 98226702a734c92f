//! Names of what a transaction or a pass costs, and of the signs beside them.

const OF_PASS: &str = "_per_pass";

/// A cost of one transaction or pass, with its unit where it counts anything but events.
pub fn title(metric: &str) -> Option<&'static str> {
    let title = match metric.strip_suffix(OF_PASS).or_else(|| metric.strip_suffix("_per_tx"))? {
        "cpu_us" => "server CPU (µs)",
        "cpu_user_us" => "server CPU in user mode (µs)",
        "cpu_system_us" => "server CPU in the kernel (µs)",
        "ctx_voluntary" => "voluntary context switches",
        "ctx_involuntary" => "involuntary context switches",
        "read_bytes" => "bytes read from disk",
        "write_bytes" => "bytes written to disk",
        "syncs" => "syncs",
        "redo_bytes" => "redo or WAL bytes",
        "log_waits" => "waits for the log's buffer",
        "doublewrite_pages" => "double-written pages",
        "pages_compressed" => "compressions of pages",
        "pages_decompressed" => "decompressions of pages",
        "rows_read" => "rows read",
        "page_requests" => "page requests",
        "buffer_misses" => "buffer misses",
        "row_lock_waits" => "row-lock waits",
        "row_lock_wait_ms" => "waiting for row locks (ms)",
        "deadlocks" => "deadlocks",
        "spin_rounds" => "spin rounds",
        "latch_waits" => "latch waits in the kernel",
        "temporary_file_bytes" => "bytes of temporary files",
        "temporary_files_ms" => "time that temporary files can take at most (ms)",
        "temporary_tables_on_disk" => "temporary tables on disk",
        "sort_merge_passes" => "merge passes of sorts",
        "page_faults_minor" => "minor page faults",
        "page_faults_major" => "major page faults",
        _ => return None,
    };
    Some(title)
}

/// What the cost is of.
pub fn work(metric: &str) -> &'static str {
    if metric.ends_with(OF_PASS) { "pass" } else { "transaction" }
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
        "seconds" => return ("time of all operations".to_owned(), " s".to_owned()),
        other => return title(other).map_or((other.to_owned(), String::new()), |title| priced(title, work(other))),
    };
    (sign.to_owned(), String::new())
}

/// `server CPU per transaction` and ` µs`.
fn priced(title: &str, work: &str) -> (String, String) {
    let (what, unit) = title.split_once(" (").unwrap_or((title, ""));
    let unit = unit.trim_end_matches(')');
    (format!("{what} per {work}"), if unit.is_empty() { String::new() } else { format!(" {unit}") })
}
