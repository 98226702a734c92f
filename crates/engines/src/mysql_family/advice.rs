//! What to try first with MySQL and MariaDB.

use super::tunable::{POOL_CHUNK, instances_by_cores, size_text};
use engine::advice::{Draft, Rung, Subject, set};
use engine::tunable::{GIB, MIB, enough_for_data, rounded_down};
use record::quantity::bytes_text;

/// A version of one of the two, for rules that differ between them.
struct Version {
    is_mariadb: bool,
    numbers: Vec<u32>,
}

impl Version {
    fn is_mysql(&self, from: &[u32], until: &[u32]) -> bool {
        !self.is_mariadb && self.numbers.as_slice() >= from && self.numbers.as_slice() < until
    }

    fn is_mariadb(&self, from: &[u32], until: &[u32]) -> bool {
        self.is_mariadb && self.numbers.as_slice() >= from && self.numbers.as_slice() < until
    }

    fn default_pool(&self) -> u64 {
        if self.is_mysql(&[], &[5, 5]) { 8 * MIB } else { 128 * MIB }
    }

    /// All log files together.
    fn default_log(&self) -> u64 {
        match () {
            () if self.is_mysql(&[], &[5, 6]) => 10 * MIB,
            () if self.is_mysql(&[8, 0, 30], LATER) => 100 * MIB,
            () => 96 * MIB,
        }
    }

    /// In how many parts a pool of this size is by itself.
    fn default_instances(&self, pool: u64, cores: u32) -> u64 {
        match () {
            () if self.is_mysql(&[], &[5, 6]) || self.is_mariadb(&[10, 5], LATER) => 1,
            () if self.is_mysql(&[8, 4], LATER) => instances_by_cores(pool, cores),
            () if pool >= GIB => 8,
            () => 1,
        }
    }

    /// Whether a pool is rounded up to whole chunks in each part.
    fn cuts_pool_into_chunks(&self) -> bool {
        self.is_mysql(&[5, 7], LATER) || self.is_mariadb(&[10, 2], &[10, 5])
    }
}

/// No version is so late.
const LATER: &[u32] = &[u32::MAX];

/// Larger logs write less, but a crash has to be repaired from them: this much is read in minutes.
const LOG_MOST: u64 = 16 * GIB;
/// Repairing took far longer before 5.6.
const LOG_MOST_BEFORE_5_6: u64 = 2 * GIB;
const LOG_LEAST: u64 = 256 * MIB;

pub fn draft(subject: &Subject) -> Draft {
    let version = Version { is_mariadb: subject.engine.kind() == "mariadb", numbers: subject.numbers() };
    let mut draft = Draft::default();
    let quiet = performance_schema(subject, &version);
    let quiet_settings: Vec<_> = quiet.iter().flat_map(|rung| rung.settings.clone()).collect();
    let pool = fitting_pool(subject, &version, &quiet_settings);
    // Where both do not fit beside each other, what only counts goes first.
    let (quiet_first, quiet_later) = match subject.has_room(&[set(POOL, size_text(pool))]) {
        true => (None, quiet),
        false => (quiet, None),
    };
    draft.rungs.extend(quiet_first);
    pool_rung(subject, &version, pool, &mut draft);
    log_rung(subject, &version, pool, &mut draft);
    flush_method(subject, &version, &mut draft);
    instances(subject, &version, pool, &mut draft);
    background_writes(subject, &version, &mut draft);
    only_in_5_5_and_earlier(subject, &version, &mut draft);
    contention(subject, &version, &mut draft);
    draft.rungs.extend(quiet_later);
    draft.leave("innodb_doublewrite", "OFF would let a crash tear pages that nothing can repair (D0)");
    draft.rungs.push(trade(subject));
    draft
}

const POOL: &str = "innodb_buffer_pool_size";

/// The page with it: of the manual of the version, or of MariaDB's documentation, which has one for all.
fn page(subject: &Subject, of_mysql: &str, of_mariadb: &str) -> String {
    let of_mysql = match subject.numbers().as_slice() < &[5, 5] && of_mysql.starts_with("Optimizing") {
        // Then one page held them all.
        true => "InnoDB Performance Tuning Tips",
        false => of_mysql,
    };
    match subject.engine.kind() {
        "mariadb" => format!("MariaDB documentation, \"{of_mariadb}\""),
        _ => format!("MySQL {} Reference Manual, \"{of_mysql}\"", subject.series(2)),
    }
}

const VARIABLES: &str = "InnoDB Startup Options and System Variables";
const VARIABLES_OF_MARIADB: &str = "InnoDB System Variables";
const LOG_PAGE: &str = "Optimizing InnoDB Redo Logging";

/// A pool that the server takes as it is: other sizes are rounded up, and what is read back would differ.
fn taken_as_it_is(subject: &Subject, version: &Version, bytes: u64) -> u64 {
    if bytes < POOL_CHUNK {
        return rounded_down(bytes, 8 * MIB);
    }
    if !version.cuts_pool_into_chunks() {
        return rounded_down(bytes, if version.is_mysql(&[], &[5, 5]) { 16 * MIB } else { POOL_CHUNK });
    }
    let whole_chunks = rounded_down(bytes, POOL_CHUNK);
    let by_itself = version.default_instances(whole_chunks, subject.machine.cores);
    let parts = least_common_multiple(by_itself, wanted_instances(subject, version, whole_chunks));
    rounded_down(bytes, POOL_CHUNK * parts)
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut larger, mut smaller) = (a.max(b), a.min(b));
    while smaller > 0 {
        (larger, smaller) = (smaller, larger % smaller);
    }
    a / larger * b
}

/// The largest pool that makes sense and leaves room for the rest of the server.
fn fitting_pool(subject: &Subject, version: &Version, others: &[(&'static str, String)]) -> u64 {
    let rounded = |bytes| taken_as_it_is(subject, version, bytes);
    let mut bytes = subject.within(POOL, enough_for_data(&subject.machine, rounded));
    loop {
        let pool = subject.within(POOL, taken_as_it_is(subject, version, bytes));
        let mut settings = others.to_vec();
        settings.push(set(POOL, size_text(pool)));
        if pool <= 8 * MIB || subject.has_room(&settings) {
            return pool;
        }
        bytes = pool - 1;
    }
}

fn pool_rung(subject: &Subject, version: &Version, pool: u64, draft: &mut Draft) {
    let default = version.default_pool();
    let data = subject.machine.data_bytes;
    let wanted = data.saturating_add(data / 10);
    if pool == default || (pool < default && wanted <= default && subject.has_room(&[])) {
        let why = if wanted <= default { "holds the data and a tenth" } else { "is all that fits into the memory" };
        return draft.leave(POOL, format!("the default of {} {why}", bytes_text(default)));
    }
    let memory = bytes_text(subject.machine.memory_bytes);
    let reason = match () {
        () if pool < default => {
            format!("The default of {} does not fit into {memory} beside the rest of the server.", bytes_text(default))
        }
        () if pool >= wanted / 10 * 9 => format!(
            "The data and a tenth are {}{}: then no page has to be read twice. More could not be used.",
            bytes_text(wanted),
            if version.cuts_pool_into_chunks() {
                ", up to whole chunks of each instance where there is room"
            } else {
                ""
            }
        ),
        () if subject.within(POOL, u64::MAX) == pool => {
            "A 32-bit program cannot address more; what is left is the page cache's.".to_owned()
        }
        () => format!(
            "Up to 80 % of {memory}, so far as the rest of the server leaves room: the data ({}) are larger, \
             and every page that stays saves a read.",
            bytes_text(data)
        ),
    };
    let source = format!("{}: 80 % of a dedicated server's memory", page(subject, VARIABLES, VARIABLES_OF_MARIADB));
    draft.rung(format!("buffer pool {}", size_text(pool)), vec![set(POOL, size_text(pool))], reason, source);
}

/// A quarter of the pool: pages are changed again before they must be written.
fn log_rung(subject: &Subject, version: &Version, pool: u64, draft: &mut Draft) {
    let most = if version.is_mysql(&[], &[5, 6]) { LOG_MOST_BEFORE_5_6 } else { LOG_MOST };
    let total = rounded_down(pool / 4, 64 * MIB).clamp(LOG_LEAST, most);
    let default = version.default_log();
    let (name, value) = match subject.tunable("innodb_redo_log_capacity") {
        Some(_) => ("innodb_redo_log_capacity", total),
        None if version.is_mariadb(&[10, 5], LATER) => ("innodb_log_file_size", total),
        None => ("innodb_log_file_size", total / 2),
    };
    let value = subject.within(name, value);
    let files = if value == total { "" } else { "two files of this size; " };
    let limit = match () {
        () if version.is_mysql(&[], &[5, 6, 3]) => " All log files together must stay below 4 GB in this version.",
        () => "",
    };
    let old_files = match () {
        () if version.is_mysql(&[], &[5, 6]) => {
            " By hand, old log files must go after a clean stop; dbduel sees to it."
        }
        () => "",
    };
    let reason = format!(
        "A log of {} in place of {} ({files}a quarter of the pool): a page is changed more often before it must be written. \
         The price is recovery: after a crash up to that much is read and applied.{limit}{old_files}",
        bytes_text(total),
        bytes_text(default)
    );
    let mut settings = vec![set(name, size_text(value))];
    if version.is_mysql(&[], &[5, 5]) {
        settings.push(set("innodb_log_buffer_size", "8M"));
    }
    draft.rung(format!("redo log {}", size_text(total)), settings, reason, page(subject, LOG_PAGE, "InnoDB Redo Log"));
}

fn flush_method(subject: &Subject, version: &Version, draft: &mut Draft) {
    const NAME: &str = "innodb_flush_method";
    if version.is_mysql(&[8, 4], LATER) || version.is_mariadb(&[10, 6], LATER) {
        return draft.leave(NAME, "O_DIRECT is the default of this version");
    }
    let reason = "Pages are in the pool already; a second copy in the page cache only takes memory from it. \
                  On some storage it is slower: measure it."
        .to_owned();
    draft.rung(
        "no double caching",
        vec![set(NAME, "O_DIRECT")],
        reason,
        page(subject, "Optimizing InnoDB Disk I/O", VARIABLES_OF_MARIADB),
    );
}

/// Parts of at least 1 GB each, no more than cores, in powers of two.
fn wanted_instances(subject: &Subject, version: &Version, pool: u64) -> u64 {
    if version.is_mysql(&[8, 4], LATER) || version.is_mariadb(&[10, 5], LATER) {
        return 1;
    }
    let most = u64::from(subject.machine.cores).min(pool / GIB).clamp(1, 64);
    1 << most.ilog2()
}

fn instances(subject: &Subject, version: &Version, pool: u64, draft: &mut Draft) {
    const NAME: &str = "innodb_buffer_pool_instances";
    if subject.tunable(NAME).is_none() {
        return;
    }
    if version.is_mysql(&[8, 4], LATER) {
        return draft.leave(NAME, "this version chooses by the pool's size and the cores");
    }
    let (wanted, default) =
        (wanted_instances(subject, version, pool), version.default_instances(pool, subject.machine.cores));
    if pool < GIB {
        return draft.leave(NAME, "a pool below 1 GB has one part, whatever is asked for");
    }
    if wanted == default {
        return draft.leave(NAME, format!("{default} is the default, and each part has 1 GB at least"));
    }
    let reason = format!(
        "{wanted} parts in place of {default}, each with a lock of its own: no more than cores, and each with 1 GB at least."
    );
    let source = page(subject, "Configuring Multiple Buffer Pool Instances", "InnoDB Buffer Pool");
    draft.rung(format!("{wanted} buffer pool instances"), vec![set(NAME, wanted)], reason, source);
}

fn background_writes(subject: &Subject, version: &Version, draft: &mut Draft) {
    if version.is_mysql(&[8, 4], LATER) {
        return draft
            .leave("innodb_io_capacity", "10000 is the default of this version, meant for solid-state storage");
    }
    let mut settings = Vec::new();
    if subject.tunable("innodb_io_capacity").is_some() {
        settings.push(set("innodb_io_capacity", 1000));
    }
    if version.is_mysql(&[5, 6, 3], &[8]) || version.is_mariadb {
        settings.push(set("innodb_flush_neighbors", 0));
    }
    if settings.is_empty() {
        return;
    }
    let neighbours = match settings.len() {
        1 => "",
        _ => ", and so is writing a page's neighbours along with it",
    };
    let reason = format!(
        "The default of 200 writes a second in the background is a hard disk's{neighbours}. \
         Leave this rung out on hard disks."
    );
    draft.rung(
        "background writes for solid-state storage",
        settings,
        reason,
        page(subject, "Configuring InnoDB I/O Capacity", "InnoDB Page Flushing"),
    );
}

fn only_in_5_5_and_earlier(subject: &Subject, version: &Version, draft: &mut Draft) {
    if version.is_mysql(&[5, 5], &[5, 6]) {
        let threads =
            vec![set("innodb_purge_threads", 1), set("innodb_read_io_threads", 8), set("innodb_write_io_threads", 8)];
        let reason = "In this version the master thread purges between its other duties, and where there is no native \
                      asynchronous I/O each thread waits for one read or write."
            .to_owned();
        draft.rung(
            "threads for purging and I/O",
            threads,
            reason,
            page(subject, "Improved Purge Scheduling", VARIABLES_OF_MARIADB),
        );
        let reason = "Its size is 0, but every statement takes its lock all the same, unless it is off from the start."
            .to_owned();
        draft.rung(
            "query cache off",
            vec![set("query_cache_type", "OFF")],
            reason,
            page(subject, "Query Cache Configuration", "Query Cache"),
        );
    }
    // Nine tables of the TPC-C-derived workload for each client, and some to spare.
    let wanted = u64::from(subject.clients).saturating_mul(10).next_power_of_two().clamp(512, 4096);
    let (name, default) =
        if version.is_mysql(&[], &[5, 1, 3]) { ("table_cache", 64) } else { ("table_open_cache", 400) };
    if version.is_mysql(&[], &[5, 6]) && u64::from(subject.clients) * 10 > default {
        let reason = format!(
            "Each client opens each of its tables: {} clients with ten of them are more than {default}, and what does not fit is opened again.",
            subject.clients
        );
        let source = page(subject, "How MySQL Opens and Closes Tables", "Optimizing table_open_cache");
        draft.rung(format!("table cache {wanted}"), vec![set(name, wanted)], reason, source);
    }
}

/// From so many cores on, a single latch is a bottleneck.
const MANY_CORES: u32 = 8;
/// With so few, handing a log write on costs more than it saves.
const FEW_CORES: u32 = 4;

fn contention(subject: &Subject, version: &Version, draft: &mut Draft) {
    let cores = subject.machine.cores;
    let hashes = version.is_mysql(&[5, 5], &[8, 4]) || version.is_mariadb(&[], &[10, 5]);
    if hashes && cores >= MANY_CORES {
        let reason = format!(
            "With {cores} cores its latch is contended, and upkeep can cost more than the shorter path saves; later versions switch it off by default."
        );
        let settings = vec![set("innodb_adaptive_hash_index", "OFF")];
        draft.rung(
            "adaptive hash index off",
            settings,
            reason,
            page(subject, "Adaptive Hash Index", VARIABLES_OF_MARIADB),
        );
    } else if hashes {
        draft.leave("innodb_adaptive_hash_index", format!("its latch is contended from about {MANY_CORES} cores on"));
    }
    if version.is_mysql(&[8, 0, 22], LATER) && cores <= FEW_CORES {
        let reason = format!(
            "With {cores} cores, threads that only write the log take turns with the clients: a client that commits writes it itself."
        );
        let settings = vec![set("innodb_log_writer_threads", "OFF")];
        draft.rung("no log writer threads", settings, reason, page(subject, LOG_PAGE, "InnoDB Redo Log"));
    }
    if version.is_mariadb && u64::from(subject.clients) > 4 * u64::from(cores) {
        let reason = format!(
            "{} clients on {cores} cores: a thread each would mostly take the CPU from the others; short statements suit a pool.",
            subject.clients
        );
        let settings = vec![set("thread_handling", "pool-of-threads")];
        draft.rung("thread pool", settings, reason, page(subject, "Thread Pool", "Thread Pool in MariaDB"));
    }
}

fn performance_schema(subject: &Subject, version: &Version) -> Option<Rung> {
    if !version.is_mysql(&[5, 6], LATER) {
        return None;
    }
    Some(Rung {
        name: "performance schema off".to_owned(),
        settings: vec![set("performance_schema", "OFF")],
        reason:
            "It counts and times every wait and statement, which costs CPU and memory. Without it a server tells less \
                 about itself: keep it where you look at it."
                .to_owned(),
        source: page(subject, "Performance Schema Startup Configuration", "Performance Schema"),
        promise: engine::advice::FULL_PROMISE,
        trade: None,
    })
}

fn trade(subject: &Subject) -> Rung {
    Rung {
        name: "log flushed once a second".to_owned(),
        settings: vec![set("innodb_flush_log_at_trx_commit", 2)],
        reason: "A commit waits for the log's write and no more for its flush to the disk.".to_owned(),
        source: page(subject, VARIABLES, VARIABLES_OF_MARIADB),
        promise: "D2",
        trade: Some(
            "commits survive the end of the server process; a crash of the operating system or a power failure loses about the last second",
        ),
    }
}
