//! What a transaction costs, or a pass, by names that all engines share.
//!
//! Engines count under names of their own; here stands which of them mean the same. A cost that a trial
//! lacks is absent: nothing is concluded from it, and the report lists it as not visible. Of a pass everything is priced as
//! if it were one transaction, and shown by another name.

use std::borrow::Cow;

use record::format::operations::{ESTIMATED, FEWER, GAP, LIMITED, PARTIAL, SECONDS, WRONG, flagged};
use record::format::{MethodRecord, Status, TrialRecord};
use record::metric::OF_SERVER;

use super::super::headroom;
use super::super::operations::COLLECTED_SECONDS;
use super::super::scope::Conditions;
use super::super::values::{is_bound, is_noisy};

/// A cost of one transaction.
pub struct Kind {
    pub metric: &'static str,
    /// What is divided by the committed transactions, where a trial has not the metric itself; the first that it has.
    counted: &'static [&'static str],
    /// Units of the cost in one of what is counted.
    scale: f64,
}

const fn counted(metric: &'static str, counted: &'static [&'static str]) -> Kind {
    Kind { metric, counted, scale: 1.0 }
}

const fn seconds(metric: &'static str, counted: &'static [&'static str]) -> Kind {
    Kind { metric, counted, scale: 1e6 }
}

pub const CPU: &str = "cpu_us_per_tx";
pub const CPU_USER: &str = "cpu_user_us_per_tx";
pub const SWITCHES: &str = "ctx_voluntary_per_tx";
pub const FAULTS: &str = "page_faults_minor_per_tx";
pub const SYNCS: &str = "syncs_per_tx";
pub const COMPRESSED: &str = "pages_compressed_per_tx";
pub const DECOMPRESSED: &str = "pages_decompressed_per_tx";
pub const MISSES: &str = "buffer_misses_per_tx";
pub const DOUBLE_WRITES: &str = "doublewrite_pages_per_tx";
pub const LOG_WAITS: &str = "log_waits_per_tx";
pub const LOCK_MS: &str = "row_lock_wait_ms_per_tx";
pub const DEADLOCKS: &str = "deadlocks_per_tx";
pub const SPINS: &str = "spin_rounds_per_tx";
pub const LATCH_WAITS: &str = "latch_waits_per_tx";
pub const TEMPORARY_TABLES: &str = "temporary_tables_on_disk_per_tx";
pub const MERGES: &str = "sort_merge_passes_per_tx";

/// In the order of the table.
pub const KINDS: &[Kind] = &[
    counted(CPU, &[]),
    seconds(CPU_USER, &["server_cpu_user_s"]),
    seconds("cpu_system_us_per_tx", &["server_cpu_system_s"]),
    counted(SWITCHES, &["server_ctx_voluntary"]),
    counted("ctx_involuntary_per_tx", &["server_ctx_involuntary"]),
    counted("read_bytes_per_tx", &["server_read_bytes"]),
    counted("write_bytes_per_tx", &["server_write_bytes"]),
    counted(SYNCS, &["counter.innodb.data_fsyncs", "counter.postgres.wal_syncs"]),
    counted("redo_bytes_per_tx", &["counter.innodb.redo_bytes", "counter.postgres.wal_bytes"]),
    counted(LOG_WAITS, &["counter.innodb.log_waits", "counter.postgres.wal_buffers_full"]),
    counted(DOUBLE_WRITES, &["counter.innodb.doublewrite_pages"]),
    counted(COMPRESSED, &["counter.innodb.compress_ops"]),
    counted(DECOMPRESSED, &["counter.innodb.uncompress_ops"]),
    counted("rows_read_per_tx", &["counter.innodb.rows_read", "counter.postgres.tup_returned"]),
    counted("page_requests_per_tx", &["counter.innodb.buffer_pool_read_requests", "counter.postgres.blks_hit"]),
    counted(MISSES, &["counter.innodb.buffer_pool_reads", "counter.postgres.blks_read"]),
    TEMPORARY,
    counted(TEMPORARY_TABLES, &["counter.mysql.created_tmp_disk_tables"]),
    counted(MERGES, &["counter.mysql.sort_merge_passes"]),
    counted("row_lock_waits_per_tx", &["counter.innodb.row_lock_waits"]),
    counted(LOCK_MS, &["counter.innodb.row_lock_time_ms"]),
    counted(DEADLOCKS, &["counter.innodb.deadlocks", "counter.postgres.deadlocks"]),
    counted(SPINS, &["counter.innodb.spin_rounds"]),
    counted(LATCH_WAITS, &["counter.innodb.spin_os_waits"]),
    counted(FAULTS, &["server_faults_minor"]),
    counted("page_faults_major_per_tx", &["server_faults_major"]),
];

/// Share of the cores that the server used.
pub const CPU_USE: &str = "cpu_use";
pub const SYSTEM_SHARE: &str = "cpu_system_share";
pub const MISS_SHARE: &str = "buffer_miss_share";
/// Of the machine's CPU, by others and by the hypervisor.
pub const HOST_TAKEN: &str = "host_taken_share";
/// 1 where the trial carries a flag of the host, or of the generator: their means are shares of trials.
pub const DISTURBED: &str = "host_disturbed";
pub const BOUND: &str = "generator_bound";

pub const LATENCY: &str = "latency_ms_avg";
pub const TEMPORARY_BYTES: &str = "temporary_file_bytes_per_tx";
const TEMPORARY: Kind = counted(TEMPORARY_BYTES, &["counter.postgres.temp_bytes"]);
/// What temporary files can account for at most: PostgreSQL 15 was seen to work through 25 to 290 MB of them in a second.
pub const TEMPORARY_MS: &str = "temporary_files_ms_per_tx";
const TEMPORARY_BYTES_PER_MS: f64 = 10e3;

/// Signs beside the costs.
const SIGNS: &[&str] = &[
    SYSTEM_SHARE,
    MISS_SHARE,
    TEMPORARY_MS,
    HOST_TAKEN,
    BOUND,
    "host_iowait_share",
    "host_pressure_io_some_share",
    "server_threads_blocked",
    "stalled_seconds_share",
    "state.checkpoint_age_share_end",
];

/// Everything that a rule may ask for.
pub fn all() -> impl Iterator<Item = &'static str> {
    let beside = [CPU_USE, DISTURBED, LATENCY];
    KINDS.iter().map(|kind| kind.metric).chain(SIGNS.iter().copied()).chain(beside)
}

/// The trials with what follows from their metrics. Nothing of it is stored: an old run is judged by
/// the costs of today.
pub fn priced<'a>(
    trials: Cow<'a, [TrialRecord]>,
    circumstances: &Conditions,
    method: &MethodRecord,
    cores: u32,
) -> Cow<'a, [TrialRecord]> {
    let mut trials = trials.into_owned();
    for trial in trials.iter_mut().filter(|trial| trial.status == Status::Ok) {
        let doubled =
            headroom::is_bound(&circumstances.doublings, &trial.workload, &trial.contender, Some(&trial.point));
        let flags = [(BOUND, is_bound(trial) || doubled), (DISTURBED, is_noisy(trial))]
            .map(|(name, flag)| (name, f64::from(flag)));
        let derived = [
            (CPU, cpu(trial)),
            (CPU_USE, cpu_use(trial, measured_s(trial, method), cores)),
            (SYSTEM_SHARE, share(trial, "server_cpu_system_s", "server_cpu_user_s")),
            (MISS_SHARE, miss_share(trial)),
            (HOST_TAKEN, host_taken(trial)),
            (TEMPORARY_MS, cost(&TEMPORARY, trial).map(|bytes| bytes / TEMPORARY_BYTES_PER_MS)),
            (LATENCY, seconds_of_pass(trial).map(|seconds| seconds * 1e3)),
        ];
        let derived = derived.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let costs = KINDS.iter().filter_map(|kind| Some((kind.metric, cost(kind, trial)?)));
        for (name, value) in derived.chain(costs).chain(flags).collect::<Vec<_>>() {
            trial.metrics.entry(name.to_owned()).or_insert(value);
        }
    }
    Cow::Owned(trials)
}

/// What is of a host is of the server's own, where that is observed.
fn metric(trial: &TrialRecord, name: &str) -> Option<f64> {
    let of_server = || trial.metrics.get(&format!("{OF_SERVER}{name}"));
    let is_of_host = name.starts_with("host_");
    is_of_host.then(of_server).flatten().or_else(|| trial.metrics.get(name)).copied()
}

/// Committed transactions, or one pass. Half a transaction where there was none: what nothing cost is left out, and what an
/// outage cost is not.
fn work(trial: &TrialRecord) -> Option<f64> {
    let committed = metric(trial, "transactions.committed").map(|committed| committed.max(0.5));
    committed.or_else(|| seconds_of_pass(trial).map(|_| 1.0))
}

/// Of a pass in which all was done, and by all contenders: counters of another one are of other work.
fn seconds_of_pass(trial: &TrialRecord) -> Option<f64> {
    const LESS: [&str; 6] = [GAP, WRONG, FEWER, ESTIMATED, LIMITED, PARTIAL];
    let is_whole = !trial.flags.iter().any(|flag| LESS.iter().any(|kind| flagged(flag, kind).is_some()));
    let all = trial.metrics.get(COLLECTED_SECONDS)?;
    trial.metrics.get(SECONDS).copied().filter(|seconds| is_whole && *seconds > 0.99 * all)
}

fn cost(kind: &Kind, trial: &TrialRecord) -> Option<f64> {
    let counted = kind.counted.iter().find_map(|name| metric(trial, name))?;
    Some(kind.scale * counted / work(trial)?)
}

fn cpu(trial: &TrialRecord) -> Option<f64> {
    let own = metric(trial, CPU);
    own.or_else(|| {
        Some(1e6 * (metric(trial, "server_cpu_user_s")? + metric(trial, "server_cpu_system_s")?) / work(trial)?)
    })
}

fn measured_s(trial: &TrialRecord, method: &MethodRecord) -> f64 {
    seconds_of_pass(trial).unwrap_or_else(|| trial.interval_s(method))
}

/// Of all cores of the host, where a trial does not record which it was given.
fn cpu_use(trial: &TrialRecord, duration_s: f64, cores: u32) -> Option<f64> {
    let seconds = cpu(trial)? * work(trial)? / 1e6;
    (duration_s > 0.0 && cores > 0).then(|| seconds / duration_s / f64::from(cores))
}

/// The part of a whole that consists of both.
fn share(trial: &TrialRecord, part: &str, rest: &str) -> Option<f64> {
    let (part, rest) = (metric(trial, part)?, metric(trial, rest)?);
    (part + rest > 0.0).then(|| part / (part + rest))
}

/// InnoDB counts all requests, PostgreSQL those that hit.
fn miss_share(trial: &TrialRecord) -> Option<f64> {
    let innodb = || {
        let requests = metric(trial, "counter.innodb.buffer_pool_read_requests").filter(|requests| *requests > 0.0)?;
        Some(metric(trial, "counter.innodb.buffer_pool_reads")? / requests)
    };
    innodb().or_else(|| share(trial, "counter.postgres.blks_read", "counter.postgres.blks_hit"))
}

/// Absent where foreign CPU is: of the hypervisor alone too little is known.
fn host_taken(trial: &TrialRecord) -> Option<f64> {
    Some(metric(trial, "host_foreign_cpu_share")? + metric(trial, "host_steal_share").unwrap_or(0.0))
}
