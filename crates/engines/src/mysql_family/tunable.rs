//! What may be tuned in MySQL and MariaDB.
//!
//! Left out on purpose: the binary log (dbduel switches it off), settings that another setting cuts down
//! silently (innodb_page_cleaners beyond the pool's instances), and innodb_autoinc_lock_mode, which
//! changes the numbers that applications get.

use engine::tunable::{
    GIB, KIB, MIB, Machine, Tunable, What, cache_bytes_max, counts, enough_for_data, rounded_down, words,
};

const MYSQL: &str = "mysql";
const MARIADB: &str = "mariadb";
/// As far as 64 bits reach: a machine ends earlier.
const ADDRESSABLE: u64 = 1 << 62;
/// Before 5.6.3 the log files together have to stay below 4 GB, later below 512 GB. There are two of them,
/// and the server compares with what is a little less than these.
const LOG_FILE_MOST_OF_TWO: u64 = 2 * GIB - MIB;
const LOG_FILE_MOST_OF_TWO_LATER: u64 = 256 * GIB - MIB;

const POOL: What = What::Bytes { least: 5 * MIB, most: ADDRESSABLE };
/// From 5.7 a pool is cut into chunks of this size, and rounded up to a multiple of chunk and instances.
pub const POOL_CHUNK: u64 = 128 * MIB;

pub const TUNABLES: &[Tunable] = &[
    // The only 5.0 that can be had is a 32-bit program.
    Tunable::new(MYSQL, "innodb_buffer_pool_size", What::Bytes { least: MIB, most: 2000 * MIB }, small_pools)
        .until(&[5, 5]),
    Tunable::new(MYSQL, "innodb_buffer_pool_size", POOL, pools).from(&[5, 5]).until(&[8, 4]),
    Tunable::new(MYSQL, "innodb_buffer_pool_size", POOL, pools_by_cores).from(&[8, 4]),
    Tunable::new(MARIADB, "innodb_buffer_pool_size", POOL, pools),
    Tunable::new(MYSQL, "innodb_buffer_pool_instances", What::Count { least: 1, most: 64 }, instances).from(&[5, 5, 4]),
    Tunable::new(MARIADB, "innodb_buffer_pool_instances", What::Count { least: 1, most: 64 }, instances)
        .until(&[10, 5]),
    Tunable::new(MYSQL, "innodb_log_file_size", What::Bytes { least: MIB, most: LOG_FILE_MOST_OF_TWO }, log_of_two)
        .until(&[5, 6, 3])
        .then("innodb_log_file_size"),
    Tunable::new(
        MYSQL,
        "innodb_log_file_size",
        What::Bytes { least: 4 * MIB, most: LOG_FILE_MOST_OF_TWO_LATER },
        log_of_two,
    )
    .from(&[5, 6, 3])
    .until(&[8, 0, 30])
    .then("innodb_redo_log_capacity"),
    Tunable::new(MYSQL, "innodb_redo_log_capacity", What::Bytes { least: 8 * MIB, most: 128 * GIB }, log_of_one)
        .from(&[8, 0, 30])
        .until(&[8, 0, 34])
        .then("innodb_redo_log_capacity"),
    Tunable::new(MYSQL, "innodb_redo_log_capacity", What::Bytes { least: 8 * MIB, most: 512 * GIB }, log_of_one)
        .from(&[8, 0, 34]),
    Tunable::new(
        MARIADB,
        "innodb_log_file_size",
        What::Bytes { least: 4 * MIB, most: LOG_FILE_MOST_OF_TWO_LATER },
        log_of_two,
    )
    .until(&[10, 5])
    .then("innodb_log_file_size"),
    // From 10.5 there is one file only.
    Tunable::new(MARIADB, "innodb_log_file_size", What::Bytes { least: 4 * MIB, most: 512 * GIB - MIB }, log_of_one)
        .from(&[10, 5]),
    Tunable::new(MYSQL, "innodb_log_buffer_size", LOG_BUFFER, log_buffers),
    Tunable::new(MARIADB, "innodb_log_buffer_size", LOG_BUFFER, log_buffers),
    Tunable::new(MYSQL, "innodb_flush_method", What::Word, direct).until(&[8, 4]),
    Tunable::new(MYSQL, "innodb_flush_method", What::Word, buffered).from(&[8, 4]),
    Tunable::new(MARIADB, "innodb_flush_method", What::Word, direct).until(&[10, 6]),
    // 11.0 split it into settings of another kind, and warns.
    Tunable::new(MARIADB, "innodb_flush_method", What::Word, buffered).from(&[10, 6]).until(&[11]),
    Tunable::new(MYSQL, "innodb_use_fdatasync", What::Word, on).from(&[8, 0, 26]),
    Tunable::new(MYSQL, "innodb_io_capacity", IO_CAPACITY, io_capacities).from(&[5, 5]),
    Tunable::new(MARIADB, "innodb_io_capacity", IO_CAPACITY, io_capacities),
    Tunable::new(MYSQL, "innodb_read_io_threads", IO_THREADS, io_threads).from(&[5, 5]),
    Tunable::new(MARIADB, "innodb_read_io_threads", IO_THREADS, io_threads),
    Tunable::new(MYSQL, "innodb_write_io_threads", IO_THREADS, io_threads).from(&[5, 5]),
    Tunable::new(MARIADB, "innodb_write_io_threads", IO_THREADS, io_threads),
    // Until 5.6.2 the one choice is whether purging has a thread of its own.
    Tunable::new(MYSQL, "innodb_purge_threads", What::Count { least: 0, most: 1 }, one).from(&[5, 5]).until(&[5, 6, 2]),
    Tunable::new(MYSQL, "innodb_purge_threads", What::Count { least: 1, most: 32 }, purge_threads).from(&[5, 6, 5]),
    Tunable::new(MARIADB, "innodb_purge_threads", What::Count { least: 1, most: 32 }, purge_threads),
    Tunable::new(MYSQL, "innodb_adaptive_hash_index", What::Word, off_on).from(&[5, 5]),
    Tunable::new(MARIADB, "innodb_adaptive_hash_index", What::Word, off_on),
    Tunable::new(MYSQL, "innodb_flush_neighbors", What::Count { least: 0, most: 2 }, neighbors).from(&[5, 6, 3]),
    Tunable::new(MARIADB, "innodb_flush_neighbors", What::Count { least: 0, most: 2 }, neighbors),
    Tunable::new(MYSQL, "innodb_change_buffering", What::Word, change_buffering).from(&[5, 5]),
    Tunable::new(MARIADB, "innodb_change_buffering", What::Word, change_buffering).until(&[11]),
    Tunable::new(MYSQL, "innodb_thread_concurrency", What::Count { least: 0, most: 1000 }, concurrency),
    Tunable::new(MARIADB, "innodb_thread_concurrency", What::Count { least: 0, most: 1000 }, concurrency)
        .until(&[10, 5]),
    Tunable::new(MYSQL, "innodb_spin_wait_delay", What::Count { least: 0, most: 1000 }, spins).from(&[5, 5]),
    Tunable::new(MARIADB, "innodb_spin_wait_delay", What::Count { least: 0, most: 1000 }, spins),
    // On few clients the threads that write the log only hand it on.
    Tunable::new(MYSQL, "innodb_log_writer_threads", What::Word, off_on).from(&[8, 0, 22]),
    Tunable::new(MYSQL, "table_cache", TABLES, tables).until(&[5, 1, 3]).then("table_open_cache"),
    Tunable::new(MYSQL, "table_open_cache", TABLES, tables).from(&[5, 1, 3]),
    Tunable::new(MARIADB, "table_open_cache", TABLES, tables),
    Tunable::new(MYSQL, "thread_cache_size", What::Count { least: 0, most: 16_384 }, thread_caches),
    Tunable::new(MARIADB, "thread_cache_size", What::Count { least: 0, most: 16_384 }, thread_caches),
    // The oldest ones take the number only.
    Tunable::new(MYSQL, "query_cache_type", What::Word, zero).until(&[5, 5]),
    Tunable::new(MYSQL, "query_cache_type", What::Word, off).from(&[5, 5]).until(&[8]),
    Tunable::new(MARIADB, "query_cache_type", What::Word, off),
    Tunable::new(MYSQL, "performance_schema", What::Word, off).from(&[5, 5]),
    Tunable::new(MARIADB, "performance_schema", What::Word, off),
    Tunable::new(MARIADB, "thread_handling", What::Word, pool_of_threads),
    Tunable::new(MYSQL, "innodb_page_size", What::Bytes { least: 4 * KIB, most: 16 * KIB }, pages)
        .from(&[5, 6, 4])
        .reload(),
    Tunable::new(MARIADB, "innodb_page_size", What::Bytes { least: 4 * KIB, most: 16 * KIB }, pages).reload(),
    Tunable::new(MYSQL, "innodb_flush_log_at_trx_commit", What::Count { least: 0, most: 2 }, flush_policies)
        .durability(),
    Tunable::new(MARIADB, "innodb_flush_log_at_trx_commit", What::Count { least: 0, most: 3 }, flush_policies)
        .durability(),
    // Old versions take the number, and accept OFF without an effect.
    Tunable::new(MYSQL, "innodb_doublewrite", What::Word, zero).durability().until(&[5, 6]),
    Tunable::new(MYSQL, "innodb_doublewrite", What::Word, off).durability().from(&[5, 6]),
    Tunable::new(MARIADB, "innodb_doublewrite", What::Word, off).durability(),
    Tunable::new(MYSQL, "sync_binlog", What::Count { least: 0, most: 1 }, zero).durability(),
    Tunable::new(MARIADB, "sync_binlog", What::Count { least: 0, most: 1 }, zero).durability(),
];

const LOG_BUFFER: What = What::Bytes { least: 256 * KIB, most: 4 * GIB - MIB };
const IO_CAPACITY: What = What::Count { least: 100, most: 1 << 32 };
/// One writing thread was allowed once; two do everywhere.
const IO_THREADS: What = What::Count { least: 2, most: 64 };
const TABLES: What = What::Count { least: 1, most: 524_288 };

/// As both servers read and show it.
pub fn size_text(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(GIB) => format!("{}G", bytes / GIB),
        _ if bytes.is_multiple_of(MIB) => format!("{}M", bytes / MIB),
        _ if bytes.is_multiple_of(KIB) => format!("{}K", bytes / KIB),
        _ => bytes.to_string(),
    }
}

/// How many parts 8.4 and later cut a pool into by themselves: half its chunks, but no more than a quarter
/// of the cores.
pub fn instances_by_cores(pool: u64, cores: u32) -> u64 {
    if pool <= GIB { 1 } else { (pool / POOL_CHUNK / 2).min(u64::from(cores) / 4).clamp(1, 64) }
}

/// Pools that a server takes as they are. From 5.7 to 8.3 one of 1 GB or more has eight instances, so only
/// multiples of 1 GB are not rounded up; smaller ones have one.
fn pools(machine: &Machine) -> Vec<String> {
    pool_sizes(machine, |bytes| rounded_down(bytes, if bytes >= GIB { GIB } else { POOL_CHUNK }))
}

fn pools_by_cores(machine: &Machine) -> Vec<String> {
    pool_sizes(machine, |bytes| {
        rounded_down(bytes, POOL_CHUNK * instances_by_cores(rounded_down(bytes, POOL_CHUNK), machine.cores))
    })
}

fn small_pools(machine: &Machine) -> Vec<String> {
    let least = |bytes: u64| rounded_down(bytes.min(2000 * MIB), 16 * MIB);
    pool_sizes(machine, least)
}

/// As large as makes sense, then half and a quarter of it: what a pool does not take, the page cache has.
fn pool_sizes(machine: &Machine, rounded: impl Fn(u64) -> u64) -> Vec<String> {
    let most = cache_bytes_max(machine);
    [enough_for_data(machine, &rounded), rounded(most / 2), rounded(most / 4)].map(size_text).to_vec()
}

/// Powers of two up to twice the cores. Each part should be 1 GB at least, and below that servers take one.
fn instances(machine: &Machine) -> Vec<String> {
    let most = (cache_bytes_max(machine) / GIB).clamp(1, 64).min(2 * u64::from(machine.cores));
    [1, 2, 4, 8, 16, 32, 64].into_iter().filter(|count| *count <= most).rev().take(4).map(|n| n.to_string()).collect()
}

fn log_of_two(machine: &Machine) -> Vec<String> {
    logs(machine).map(|bytes| size_text((bytes / 2).min(LOG_FILE_MOST_OF_TWO))).to_vec()
}

fn log_of_one(machine: &Machine) -> Vec<String> {
    logs(machine).map(size_text).to_vec()
}

/// What is written between two checkpoints is at most about what is changed: more log than data brings nothing.
fn logs(machine: &Machine) -> [u64; 3] {
    let most = rounded_down(machine.data_bytes, 256 * MIB);
    [GIB.min(most), (4 * GIB).min(most), 256 * MIB]
}

fn log_buffers(_: &Machine) -> Vec<String> {
    words(["64M", "16M", "8M"])
}

fn direct(_: &Machine) -> Vec<String> {
    words(["O_DIRECT"])
}

fn buffered(_: &Machine) -> Vec<String> {
    words(["O_DIRECT", "fsync"])
}

fn io_capacities(_: &Machine) -> Vec<String> {
    counts([2000, 10_000, 1000, 200])
}

fn io_threads(machine: &Machine) -> Vec<String> {
    counts([8, u64::from(machine.cores).clamp(2, 16), 16, 4])
}

fn purge_threads(machine: &Machine) -> Vec<String> {
    counts([u64::from(machine.cores / 2).clamp(1, 8), 1, 4])
}

fn neighbors(_: &Machine) -> Vec<String> {
    counts([0, 1])
}

fn change_buffering(_: &Machine) -> Vec<String> {
    words(["none", "all"])
}

fn concurrency(machine: &Machine) -> Vec<String> {
    counts([0, 2 * u64::from(machine.cores), 4 * u64::from(machine.cores)])
}

fn spins(_: &Machine) -> Vec<String> {
    counts([6, 24, 0])
}

fn tables(_: &Machine) -> Vec<String> {
    counts([2000, 4000, 400])
}

/// No more than there may be connections at least, to which some servers cut it.
fn thread_caches(_: &Machine) -> Vec<String> {
    counts([16, 8])
}

fn pool_of_threads(_: &Machine) -> Vec<String> {
    words(["pool-of-threads", "one-thread-per-connection"])
}

fn pages(_: &Machine) -> Vec<String> {
    words(["8K", "4K", "16K"])
}

fn flush_policies(_: &Machine) -> Vec<String> {
    counts([2, 0])
}

fn on(_: &Machine) -> Vec<String> {
    words(["ON"])
}

fn off(_: &Machine) -> Vec<String> {
    words(["OFF"])
}

fn off_on(_: &Machine) -> Vec<String> {
    words(["OFF", "ON"])
}

fn one(_: &Machine) -> Vec<String> {
    counts([1])
}

fn zero(_: &Machine) -> Vec<String> {
    counts([0])
}
