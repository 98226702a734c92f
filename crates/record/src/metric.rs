//! The metrics of a trial and the flags that it may carry: names, units and what they mean.
//!
//! Both lists drive the reference documentation, and tests hold what trials record against them. A `*` in a name
//! stands for the part that a workload, a server or a device gives it.

pub const CHECKPOINT_AGE: &str = "checkpoint_age_bytes";
/// Above zero while a checkpoint is under way, where a server reports it.
pub const CHECKPOINTS_RUNNING: &str = "checkpoints_running";

/// How evenly the clients of a trial were served: over them, the mean and the standard deviation of all.
pub mod fairness {
    pub const EVENTS_AVG: &str = "client_events_avg";
    pub const EVENTS_STDDEV: &str = "client_events_stddev";
    pub const BUSY_S_AVG: &str = "client_busy_s_avg";
    pub const BUSY_S_STDDEV: &str = "client_busy_s_stddev";
}

/// What stands before the name of a metric of the host where it is of the server's host, which `observe_host` shows.
pub const OF_SERVER: &str = "server_";

/// Flag of a trial in which the agent on the server's host did not answer.
pub const UNOBSERVED: &str = "unobserved";

/// Flags about the host, not about a contender.
pub const HOST_FLAGS: [&str; 8] =
    ["steal", "foreign-cpu", "foreign-disk", "frequency", "swap", "oom", "throttle", "clock-step"];

/// A name that records use.
#[derive(Debug, Clone, Copy)]
pub struct Described {
    pub name: &'static str,
    /// Empty for counts, shares and flags.
    pub unit: &'static str,
    pub meaning: &'static str,
}

const fn described(name: &'static str, unit: &'static str, meaning: &'static str) -> Described {
    Described { name, unit, meaning }
}

/// Every metric of a trial; the first whose name fits describes one.
pub const METRICS: &[Described] = &[
    described("tps", "tps", "committed transactions per second"),
    described("qps", "qps", "statements per second"),
    described("nopm", "NOPM", "TPC-C-derived: committed New-Orders per minute"),
    described("nopm_with_rollbacks", "NOPM", "TPC-C-derived: New-Orders per minute, intended rollbacks included"),
    described("tpm", "TPM", "TPC-C-derived: transactions of all types per minute, intended rollbacks included"),
    described("nopm_per_warehouse", "NOPM", "TPC-C-derived: NOPM divided by the number of warehouses"),
    described("adjusted_tps", "tps", "tps with the time that deferred work takes"),
    described("adjusted_nopm", "NOPM", "NOPM with the time that deferred work takes"),
    described(
        "seconds",
        "s",
        "sql-bench, micro, tpch: sum of the times of all operations; replay: time of the measured part",
    ),
    described("queries_per_h", "/h", "tpch, several streams: queries of all streams per hour"),
    described("geomean_seconds", "s", "sql-bench, tpch: geometric mean of the operations' times"),
    described("program.*.seconds", "s", "sql-bench, tpch: time of one program, of one stream"),
    described("program.*.count", "", "sql-bench: planned operations of one program"),
    described("op.*.seconds", "s", "sql-bench, tpch: time of one operation, of one query"),
    described("op.*.count", "", "sql-bench: planned repetitions of one operation; micro: executions of one kind"),
    described(
        "op.*.executed",
        "",
        "sql-bench: repetitions that ran; fewer where a time limit ended the operation; micro: statements",
    ),
    described("op.*.server_cpu_s", "s", "sql-bench, micro: CPU time of the server in one operation"),
    described("op.*.client_cpu_s", "s", "sql-bench, micro: CPU time of the client in one operation"),
    described("op.*.per_s", "1/s", "micro: executions of one kind per second"),
    described("op.*.cpu_us_per_execution", "us", "micro: CPU time of the server in one execution of a kind"),
    described("op.*.switches_per_execution", "", "micro: context switches of the server in one execution of a kind"),
    described(
        "op.*.read_bytes_per_execution",
        "bytes",
        "micro: bytes that the server read from disks in one execution",
    ),
    described(
        "op.*.written_bytes_per_execution",
        "bytes",
        "micro: bytes that the server wrote to files in one execution",
    ),
    described("group.*.geomean_per_s", "1/s", "micro: geometric mean of the rates of a group's kinds"),
    described("geomean_per_s", "1/s", "micro: geometric mean of the rates of all kinds"),
    described("between_s", "s", "micro: time of a pass in which no kind was measured"),
    described("response_seconds", "s", "replay: response times of all statements together"),
    described(
        "weighted_seconds",
        "s",
        "replay: service times of the timed digests, each its mean times its calls on the log's server",
    ),
    described(
        "order_wait_s",
        "s",
        "replay: time that sessions waited for the order of their transactions, all together",
    ),
    described("replay.statements", "", "replay: statements of the log that were answered"),
    described("replay.errors", "", "replay: of these, with an error that the log does not have"),
    described("replay.errors_as_logged", "", "replay: of these, with the error that they had in the log"),
    described("replay.errors_missing", "", "replay: of these, without the error that they had in the log"),
    described("replay.left_out", "", "replay: statements not sent behind an error that ended their transaction"),
    described(
        "hashing_s",
        "s",
        "replay, with answers = \"timed\": time that clients took to hash answers, all together",
    ),
    described("replay.hashing_us", "us", "replay: the same as hashing_s"),
    described("replay.order_wait_us", "us", "replay: the same as order_wait_s"),
    described("replay.order_broken", "", "replay: transactions that began before their turn, behind a standstill"),
    described(
        "replay.cancelled",
        "",
        "replay: statements that were cancelled because they ran longer than statement_limit allows",
    ),
    described("replay.sessions_lost", "", "replay: sessions that lost their connection and were opened again"),
    described("statement.*.count", "", "script: calls of one statement that were answered in the interval"),
    described("statement.*.failed", "", "script: calls that ended their transaction"),
    described("statement.*.retries", "", "script: calls whose error made the client try the transaction again"),
    described("statement.*.rows", "", "script: rows of a call, returned or else changed"),
    described("statement.*.share", "", "script: of the time of all statements"),
    described("statement.*.latency_ms_*", "ms", "script: sent to answered, by quantile, mean and maximum"),
    described("transactions.due", "", "transactions that were due in the interval"),
    described("transactions.committed", "", "of these, committed"),
    described("transactions.rolled_back", "", "of these, rolled back on purpose, as the workload demands"),
    described("transactions.failed", "", "of these, failed"),
    described(
        "transactions.skipped",
        "",
        "of these, never run: more arrived than the server completed, or they were later than latency_limit",
    ),
    described("lua_gc_ms", "ms", "Lua script: time of all clients in the collector of Lua's memory"),
    described("above_limit", "", "transactions that took longer than latency_limit"),
    described("transactions.retries", "", "attempts that were repeated"),
    described("queries.read", "", "statements that read"),
    described("queries.write", "", "statements that write"),
    described("queries.other", "", "other statements, such as BEGIN and COMMIT"),
    described("errors_per_s", "1/s", "failed and repeated attempts per second"),
    described(
        "latency_ms_*",
        "ms",
        "response time, from due to answered: quantiles (p50, p90, p95, p99, p999), avg, min and max",
    ),
    described("service_ms_*", "ms", "service time, from sent to answered; in a closed loop equal to the response time"),
    described("corrected_ms_*", "ms", "closed loop: response time corrected for coordinated omission"),
    described("latency_out_of_range", "", "response times outside of 1 µs to 1 hour"),
    described("longest_stall_ms", "ms", "longest time without a commit"),
    described("stalled_seconds_share", "", "share of seconds with fewer commits than half of the median"),
    described(
        "half_log_ratio",
        "",
        "log ratio of the commits in the second half of the interval to those in the first",
    ),
    described("occupancy", "", "share of the time in which clients had a statement under way"),
    described("busy_clients", "", "throughput times mean response time: clients that worked"),
    described(fairness::EVENTS_AVG, "", "transactions that a client ended, mean over the clients"),
    described(fairness::EVENTS_STDDEV, "", "the same, standard deviation over the clients"),
    described(fairness::BUSY_S_AVG, "s", "time of a client's transactions, mean over the clients"),
    described(fairness::BUSY_S_STDDEV, "s", "the same, standard deviation over the clients"),
    described("interval_s", "s", "length of the measured part, where a number of transactions may end it"),
    described("drain_s", "s", "time from the end of the interval to the last answer"),
    described(
        "cpu_us_per_tx",
        "us",
        "server CPU per committed transaction; of an embedded engine, CPU of the client threads",
    ),
    described("cpu_user_us_per_tx", "us", "server CPU per transaction in user mode"),
    described("cpu_system_us_per_tx", "us", "server CPU per transaction in the kernel"),
    described("ctx_voluntary_per_tx", "", "voluntary context switches of the server per transaction"),
    described("ctx_involuntary_per_tx", "", "involuntary context switches of the server per transaction"),
    described("ctx_per_tx", "", "context switches of the server per transaction"),
    described("page_faults_minor_per_tx", "", "minor page faults of the server per transaction"),
    described("page_faults_major_per_tx", "", "major page faults of the server per transaction"),
    described("read_bytes_per_tx", "bytes", "bytes that the server read from disk, per transaction"),
    described("write_bytes_per_tx", "bytes", "bytes that the server wrote to disk, per transaction"),
    described("read_calls_per_tx", "", "read system calls of the server per transaction"),
    described("write_calls_per_tx", "", "write system calls of the server per transaction"),
    described("*_per_tx", "", "a counter of the server per committed transaction"),
    described(
        "server_host_*",
        "",
        "of the server's own host, seen by `observe_host`: what the name without `server_` is of this one",
    ),
    described("server_cpu_user_s", "s", "CPU time of the server's processes in user mode"),
    described("server_cpu_system_s", "s", "CPU time of the server's processes in the kernel"),
    described("server_ctx_voluntary", "", "voluntary context switches of the server"),
    described("server_ctx_involuntary", "", "involuntary context switches of the server"),
    described("server_faults_minor", "", "minor page faults of the server"),
    described("server_faults_major", "", "major page faults of the server"),
    described("server_read_bytes", "bytes", "bytes that the server read from disk"),
    described("server_write_bytes", "bytes", "bytes that the server wrote to disk"),
    described("server_write_call_bytes", "bytes", "bytes that the server handed to write calls"),
    described("server_read_calls", "", "read system calls of the server"),
    described("server_write_calls", "", "write system calls of the server"),
    described("server_resident_bytes", "bytes", "resident memory of the server at the end"),
    described("server_threads", "", "threads of the server, mean over the interval"),
    described(
        "server_threads_*",
        "",
        "threads of the server in one state (running, sleeping, blocked), mean over the interval",
    ),
    described("engine_cores", "", "cores that the server may use"),
    described("cpu_use", "", "share of these cores that the server used"),
    described("tps_per_core", "tps", "committed transactions per second and core that the server may use"),
    described("tps_per_cpu_s", "", "committed transactions per second of server CPU"),
    described("client_cpu_us_per_query", "us", "CPU of the load generator per statement"),
    described("client_cores_used", "", "cores that the load generator used"),
    described(
        "client_run_queue_share",
        "",
        "share of the time in which threads of the load generator waited for a CPU",
    ),
    described(
        "client_lateness_ms_p99",
        "ms",
        "open loop: how late transactions were sent because of the generator, 99th percentile",
    ),
    described(
        "client_path_share",
        "",
        "share of the capacity of the connection between client and server that was used",
    ),
    described("start_spread_ms", "ms", "several workers: time between the starts of the first and the last of them"),
    described("edge_error_ms", "ms", "several workers: bound of how far apart their measured intervals may lie"),
    described("client_sent_bytes_per_s", "bytes/s", "bytes that clients sent"),
    described("client_received_bytes_per_s", "bytes/s", "bytes that clients received"),
    described("data_resident_share", "", "share of the data files in the page cache before the trial"),
    described("deferred_work_s", "s", "time until the server had finished its deferred work after the interval"),
    described("deferred_work_done.*", "", "deferred work that was finished in that time"),
    described("deferred_work_done_s.*", "s", "time that this work took"),
    described("deferred_work_left.*", "", "deferred work that was not finished when the wait ended"),
    described("deferred_work_interval_s", "s", "length of the interval, beside deferred work that was left"),
    described("steady_after_s", "s", "pilot run: shortest warm-up after which throughput is steady"),
    described(
        "tables_load_s",
        "s",
        "load: how long all tables of the workload took, indexes included, in an empty server",
    ),
    described("tables_rows", "", "load: rows of these tables"),
    described("load_s", "s", "recovery: how long the server was under load before it was killed"),
    described("t_conn_s", "s", "recovery: time from the restart to the first login"),
    described("t_rw_s", "s", "recovery: time from the restart to the first committed transaction"),
    described(
        "t_95_s",
        "s",
        "crash: time from the restart to the first 5 s with at least 95 % of the rate before the crash",
    ),
    described("acknowledged_commits", "", "crash: commits that were acknowledged before the crash"),
    described("lost_commits", "", "crash: acknowledged commits that are absent after the restart"),
    described("loss_window_s", "s", "crash: how long before the crash the first lost commit was acknowledged"),
    described("phantom_commits", "", "crash: transactions in the tables that no client sent"),
    described("resurrected_commits", "", "crash: transactions in the tables that were reported as aborted"),
    described("partial_commits", "", "crash: transactions with some of their effects only"),
    described("commit_holes", "", "crash: lost commits with a later one of the same client present"),
    described("unknown_commits", "", "crash: transactions without an answer before the crash; either outcome is right"),
    described("wrong_balances", "", "crash: accounts whose balance is not what the transactions make it"),
    described("wrong_lists", "", "crash: lists with gaps or out of order"),
    described("integrity_errors", "", "crash: errors that the engine's own check of its tables reports"),
    described("log_errors", "", "crash: lines of the server's log after the restart that report damage"),
    described("work_commits", "", "crash: commits of the workload beside the ledger, until the crash"),
    described("redo_bytes", "bytes", "crash: redo log since the last checkpoint, shortly before the crash"),
    described("profile_samples_per_s", "1/s", "profile: stacks sampled per second"),
    described("data_directory_bytes", "bytes", "tuning: size of the data directory after the trial"),
    described("checkpoint_cycle_s", "s", "time from one checkpoint to the next"),
    described("counter.*", "", "a counter of the server, as the difference over the interval"),
    described("state.*_begin", "", "a gauge of the server at the beginning of the interval"),
    described("state.*_end", "", "a gauge of the server at the end of the interval"),
    described("state.*", "", "a gauge of the server, mean over the interval"),
    described("host_cpu_mhz", "MHz", "mean frequency of the CPUs"),
    described(
        "host_*_share",
        "",
        "share of the host's CPU time, or of the interval, in one state: user, system, iowait, \
         irq, softirq, steal, pressure, taken by other processes (foreign)",
    ),
    described(
        "host_disk.*",
        "",
        "traffic of one disk: reads, writes, flushes and bytes per second, share of the time busy",
    ),
    described("host_network_*_bytes_per_s", "bytes/s", "network traffic of the host"),
    described("host_loopback_bytes_per_s", "bytes/s", "traffic of the loopback interface"),
    described("host_context_switches_per_s", "1/s", "context switches of the host"),
    described("host_swapped_pages", "", "pages that were swapped in or out"),
    described("host_scanned_pages", "", "pages that the kernel scanned to free memory"),
    described("host_oom_kills", "", "processes killed for want of memory"),
    described("host_throttled_periods", "", "periods in which the CPU quota of dbduel's control group ran out"),
    described("host_throttled_s", "s", "time for which the control group was throttled"),
    described("host_clock_step_s", "s", "step of the system clock during the interval"),
    described("idle_foreign_cpu_share", "", "share of the CPU that other processes used before the trial"),
    described("idle_foreign_disk_bytes_share", "", "share of the disk traffic of other processes before the trial"),
    described("observer_cpu_us_per_s", "us/s", "CPU that the observers used"),
    described("observer_sql_ms_per_s", "ms/s", "time that the server took to answer the observers"),
    described("lines", "", "TPC-C-derived: order lines of committed New-Orders"),
    described("quantity", "", "TPC-C-derived: items ordered in these lines"),
    described("remote_lines", "", "TPC-C-derived: lines supplied by another warehouse"),
    described("remote_orders", "", "TPC-C-derived: New-Orders with such a line"),
    described("repeated_item_orders", "", "TPC-C-derived: New-Orders with one item in two lines"),
    described("payment_cents", "cents", "TPC-C-derived: sum of committed Payments"),
    described("remote_payments", "", "TPC-C-derived: Payments for a customer of another warehouse"),
    described("payments_by_name", "", "TPC-C-derived: Payments that look the customer up by last name"),
    described("payment_name_rows", "", "TPC-C-derived: customers that these look-ups found"),
    described("bad_credit_payments", "", "TPC-C-derived: Payments of customers with bad credit"),
    described("order_statuses_by_name", "", "TPC-C-derived: Order-Status by last name"),
    described("order_status_name_rows", "", "TPC-C-derived: customers that these look-ups found"),
    described("delivered_orders", "", "TPC-C-derived: orders that Deliveries delivered"),
    described("skipped_districts", "", "TPC-C-derived: districts in which a Delivery found no order"),
    described("low_stock", "", "TPC-C-derived: items that Stock-Level found below the threshold"),
    described("*.committed", "", "committed transactions of one type"),
    described("*.rolled_back", "", "transactions of one type that were rolled back on purpose"),
    described("*.failed", "", "failed transactions of one type"),
    described("*.retries", "", "repeated attempts of one type"),
    described("*.committed_inside", "", "committed transactions of one type that were answered inside the interval"),
    described(
        "*.rolled_back_inside",
        "",
        "rolled-back transactions of one type that were answered inside the interval",
    ),
    described("*.latency_ms_*", "ms", "response time of one type of transaction"),
];

/// Every flag of a trial.
pub const FLAGS: &[Described] = &[
    described("steal", "", "the hypervisor took more than 1 % of the CPU"),
    described("foreign-cpu", "", "other processes used more than 2 % of the CPU"),
    described("foreign-disk", "", "disks were busy for other processes for more than 5 % of the time"),
    described("frequency", "", "the CPU frequency was more than 3 % off the median of the run's trials"),
    described("swap", "", "the host swapped"),
    described("oom", "", "the kernel killed a process for want of memory"),
    described("throttle", "", "the CPU quota of dbduel's control group ran out"),
    described("clock-step", "", "the system clock was set by more than 50 ms"),
    described("generator-bound", "", "the load generator was the limit"),
    described("order-bound", "", "replay: sessions waited more than 20 % of their time for the order of transactions"),
    described("order-broken", "", "replay: transactions began before their turn, behind a standstill"),
    described("cancelled", "", "replay: statements ran longer than statement_limit allows, and were cancelled"),
    described("uneven", "", "several workers: one has a share of the transactions far from its weight"),
    described("clock", "", "several workers: their measured intervals may lie more than 5 ms apart"),
    described("divided-queue", "", "several workers, open loop: clients are so busy that dividing them adds waiting"),
    described(UNOBSERVED, "", "`observe_host` did not answer in this trial: what it would have shown is absent"),
    described("saturated", "", "open loop: more transactions arrived than the server completed"),
    described("starved", "", "closed loop: some clients did no work"),
    described("out-of-range", "", "response times outside of 1 µs to 1 hour"),
    described("short", "", "the interval held fewer than two cycles of flushing or checkpoints"),
    described("deferred-work-capped", "", "the server still worked at its deferred work when the wait ended"),
    described("deferred-work-left", "", "the server left its deferred work undone"),
    described("script-blocks", "", "Lua script: more than 1 % of its events' time passes outside of the database"),
    described("script-random-wraps", "", "Lua script: a random function was given ends that wrap"),
    described(
        "script-real-parameter",
        "",
        "Lua script: FLOAT or DOUBLE parameters, whose values sysbench 1.0 does not send",
    ),
    described("torn-log", "", "the log of deferred transactions lacks lines"),
    described("resumed", "", "the run was interrupted before this trial and continued later"),
    described("gap:*", "", "sql-bench: the server lacks this operation; it has no time"),
    described("wrong:*", "", "sql-bench: wrong answers; the time is printed and compared with nothing"),
    described(
        "fewer:*",
        "",
        "sql-bench: the server lacks some statements of this operation; its time is that of less work",
    ),
    described("estimated:*", "", "sql-bench: the time limit ended this operation; its time is scaled up"),
    described("estimated_program:*", "", "sql-bench: a program with an estimated operation"),
    described("short:*", "", "sql-bench: too short to be timed well, and not repeated"),
    described("partial:*", "", "sql-bench: a program with a missing or wrong operation"),
    described("not-visible:*", "", "a profile lacks this: it is not visible on this host"),
];

/// What describes a metric; none for a name that only a workload knows.
pub fn describe(metric: &str) -> Option<&'static Described> {
    METRICS.iter().find(|one| fits(one.name, metric))
}

/// What describes a flag.
pub fn describe_flag(flag: &str) -> Option<&'static Described> {
    FLAGS.iter().find(|one| fits(one.name, flag))
}

/// Whether a name is what a pattern stands for; each `*` takes one letter or more.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let ends = rest.char_indices().map(|(at, letter)| at + letter.len_utf8());
    ends.into_iter().any(|end| fits(after, &rest[end..]))
}

/// What a number counts exactly at most.
const COUNT_MAX: f64 = (1_u64 << f64::MANTISSA_DIGITS) as f64;

/// A metric that is a count. A damaged record may hold any number; of these hundreds can be added.
pub fn counted(value: f64) -> u64 {
    value.min(COUNT_MAX) as u64
}

/// The unit that a metric's name carries.
pub fn unit(metric: &str) -> &'static str {
    let named = [
        ("tps", "tps"),
        ("qps", "qps"),
        ("nopm", "NOPM"),
        ("tpm", "TPM"),
        ("_ms_", "ms"),
        ("cpu_us_per_tx", "µs"),
        ("seconds", "s"),
        ("t_rw_s", "s"),
    ];
    named.iter().find(|(part, _)| metric.contains(part)).map_or("", |(_, unit)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_takes_one_letter_or_more() {
        assert!(fits("op.*.seconds", "op.create+drop.seconds") && fits("latency_ms_*", "latency_ms_p95"));
        assert!(!fits("op.*.seconds", "op..seconds") && !fits("latency_ms_*", "latency_ms_") && !fits("tps", "tps2"));
        assert_eq!(describe("new_order.latency_ms_p90").unwrap().name, "*.latency_ms_*");
        assert_eq!(describe_flag("short:count").unwrap().name, "short:*");
    }

    #[test]
    fn every_flag_of_the_host_is_described_and_no_name_stands_twice() {
        for list in [METRICS, FLAGS] {
            for (at, one) in list.iter().enumerate() {
                assert!(
                    !one.meaning.is_empty() && list[..at].iter().all(|other| other.name != one.name),
                    "{}",
                    one.name
                );
            }
        }
        HOST_FLAGS.iter().for_each(|flag| assert!(describe_flag(flag).is_some(), "{flag}"));
    }
}
