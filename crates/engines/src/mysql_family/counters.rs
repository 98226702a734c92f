//! What InnoDB and its server count, from `SHOW GLOBAL STATUS`, and what old versions show nowhere but in the
//! text of `SHOW ENGINE INNODB STATUS`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use driver::{Admin, Error};

use engine::counters::{
    CHECKPOINT_AGE, CHECKPOINT_AGE_SHARE, Counters, DeferredState, DeferredWork, Kind, Paid, REDO_CAPACITY, SESSIONS,
    THREADS_RUNNING,
};

/// Our name, the server's names (the first that a version has counts), and whether it only grows.
const STATUS: &[(&str, &[&str], Kind)] = &[
    ("innodb.buffer_pool_read_requests", &["Innodb_buffer_pool_read_requests"], Kind::Counter),
    ("innodb.buffer_pool_reads", &["Innodb_buffer_pool_reads"], Kind::Counter),
    ("innodb.buffer_pool_wait_free", &["Innodb_buffer_pool_wait_free"], Kind::Counter),
    ("innodb.pages_flushed", &["Innodb_buffer_pool_pages_flushed"], Kind::Counter),
    ("innodb.pages_read", &["Innodb_pages_read"], Kind::Counter),
    ("innodb.pages_written", &["Innodb_pages_written"], Kind::Counter),
    ("innodb.rows_read", &["Innodb_rows_read", "Rows_read"], Kind::Counter),
    ("innodb.data_fsyncs", &["Innodb_data_fsyncs"], Kind::Counter),
    ("innodb.data_reads", &["Innodb_data_reads"], Kind::Counter),
    ("innodb.data_writes", &["Innodb_data_writes"], Kind::Counter),
    ("innodb.data_read_bytes", &["Innodb_data_read"], Kind::Counter),
    ("innodb.data_written_bytes", &["Innodb_data_written"], Kind::Counter),
    ("innodb.doublewrite_pages", &["Innodb_dblwr_pages_written"], Kind::Counter),
    ("innodb.doublewrite_writes", &["Innodb_dblwr_writes"], Kind::Counter),
    // MariaDB has none of its log's syncs from 10.8 on.
    ("innodb.os_log_fsyncs", &["Innodb_os_log_fsyncs"], Kind::Counter),
    ("innodb.os_log_written_bytes", &["Innodb_os_log_written"], Kind::Counter),
    ("innodb.log_writes", &["Innodb_log_writes"], Kind::Counter),
    ("innodb.log_waits", &["Innodb_log_waits"], Kind::Counter),
    ("innodb.row_lock_waits", &["Innodb_row_lock_waits"], Kind::Counter),
    ("innodb.row_lock_time_ms", &["Innodb_row_lock_time"], Kind::Counter),
    ("innodb.deadlocks", &["Innodb_deadlocks"], Kind::Counter),
    ("innodb.redo_bytes", &["Innodb_lsn_current", "Innodb_redo_log_current_lsn"], Kind::Counter),
    ("mysql.questions", &["Questions"], Kind::Counter),
    ("mysql.com_commit", &["Com_commit"], Kind::Counter),
    ("mysql.received_bytes", &["Bytes_received"], Kind::Counter),
    ("mysql.sent_bytes", &["Bytes_sent"], Kind::Counter),
    ("mysql.created_tmp_disk_tables", &["Created_tmp_disk_tables"], Kind::Counter),
    ("mysql.sort_merge_passes", &["Sort_merge_passes"], Kind::Counter),
    ("mysql.table_locks_waited", &["Table_locks_waited"], Kind::Counter),
    ("dirty_pages", &["Innodb_buffer_pool_pages_dirty"], Kind::State),
    ("buffer_pool_pages", &["Innodb_buffer_pool_pages_total"], Kind::State),
    ("page_bytes", &["Innodb_page_size"], Kind::State),
    ("history_list_length", &["Innodb_history_list_length"], Kind::State),
    ("row_lock_current_waits", &["Innodb_row_lock_current_waits"], Kind::State),
    ("pending_fsyncs", &["Innodb_data_pending_fsyncs"], Kind::State),
    ("pending_reads", &["Innodb_data_pending_reads"], Kind::State),
    ("pending_writes", &["Innodb_data_pending_writes"], Kind::State),
    (SESSIONS, &["Threads_connected"], Kind::State),
    (THREADS_RUNNING, &["Threads_running"], Kind::State),
];
/// As above, of the last checkpoint's place in the log.
const CHECKPOINT_LSN: &[&str] = &["Innodb_lsn_last_checkpoint", "Innodb_redo_log_checkpoint_lsn"];
/// From 8.0.30 on the capacity is one figure and can change while the server runs; before, it is that of the files.
const CAPACITY: &str = "Innodb_redo_log_capacity_resized";

pub const DEFERRAL: DeferredWork = DeferredWork {
    redo_bytes: Some("innodb.redo_bytes"),
    amounts: &[
        DeferredState { state: "dirty_bytes", paid: Paid::AsAtBegin { or: MEBIBYTE } },
        DeferredState { state: CHECKPOINT_AGE, paid: Paid::AsAtBegin { or: MEBIBYTE } },
        // Purge cuts it off only every 128th turn: an idle 8.0.31 was seen to keep 136.
        DeferredState { state: "history_list_length", paid: Paid::AsAtBegin { or: 1000.0 } },
    ],
};
const MEBIBYTE: f64 = 1048576.0;

/// What is sampled in each second (method, section 5), and the reads and writes of a server whose disks
/// cannot be seen.
const SAMPLED: &[&str] = &[
    "innodb.buffer_pool_reads",
    "innodb.buffer_pool_wait_free",
    "innodb.data_fsyncs",
    "innodb.data_read_bytes",
    "innodb.data_reads",
    "innodb.data_writes",
    "innodb.data_written_bytes",
    "innodb.log_waits",
    "innodb.os_log_fsyncs",
    "innodb.pages_flushed",
    "innodb.redo_bytes",
    "innodb.row_lock_waits",
    "innodb.spin_os_waits",
    "innodb.spin_rounds",
    "innodb.spin_waits",
    CHECKPOINT_AGE,
    CHECKPOINT_AGE_SHARE,
    "dirty_bytes",
    "dirty_share",
    "history_list_length",
    "pending_fsyncs",
    "pending_reads",
    "pending_writes",
    SESSIONS,
    THREADS_RUNNING,
];

/// Of the same statements as [`read`]: a server answers them whole or not at all.
pub fn sample(admin: &mut Admin) -> Result<Counters> {
    Ok(read_status(admin)?.only(SAMPLED))
}

/// The share of dirty pages from which on pages are flushed, and the share that is allowed; the first, where a
/// version has it, may not be above the second.
const DIRTY_LIMITS: [&str; 2] = ["innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct"];

/// Allows no dirty page: all are flushed at the rate of `innodb_io_capacity`, also while no client is at work.
pub fn hasten(admin: &mut Admin) -> Result<Vec<String>> {
    let in_force = pairs(admin, "SHOW GLOBAL VARIABLES LIKE 'innodb_max_dirty_pages_pct%'")?;
    let limits = || DIRTY_LIMITS.iter().filter_map(|name| Some((name, in_force.get(*name)?)));
    for (name, _) in limits() {
        let sql = format!("SET GLOBAL {name} = 0");
        admin.run(&sql).with_context(|| format!("`{sql}` failed"))?;
    }
    Ok(limits().rev().map(|(name, share)| format!("SET GLOBAL {name} = {share}")).collect())
}

/// With what is counted of compressed pages, which nobody needs once a second.
pub fn read(admin: &mut Admin) -> Result<Counters> {
    let mut counters = read_status(admin)?;
    for (name, count) in COMPRESSION.iter().zip(compression(admin)?) {
        counters.put(Kind::Counter, name, count);
    }
    Ok(counters)
}

/// Of all page sizes together: pages compressed and uncompressed, and how long that took.
const COMPRESSION: [&str; 5] = [
    "innodb.compress_ops",
    "innodb.compress_ops_ok",
    "innodb.compress_time_s",
    "innodb.uncompress_ops",
    "innodb.uncompress_time_s",
];
const COMPRESSION_SQL: &str = "SELECT SUM(compress_ops), SUM(compress_ops_ok), SUM(compress_time), \
                               SUM(uncompress_ops), SUM(uncompress_time) FROM information_schema.INNODB_CMP";

/// Nothing where a version lacks the table (before 5.1's plugin), or the account a privilege.
fn compression(admin: &mut Admin) -> Result<Vec<f64>> {
    let rows = match admin.rows(COMPRESSION_SQL) {
        Ok(rows) => rows,
        Err(Error::Refused { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error).context("cannot read the counters of compressed pages"),
    };
    let counts = rows.into_iter().flatten().map(|cell| cell?.parse().ok()).collect::<Option<Vec<f64>>>();
    Ok(counts.unwrap_or_default())
}

fn read_status(admin: &mut Admin) -> Result<Counters> {
    let status = pairs(admin, "SHOW GLOBAL STATUS")?;
    let files = pairs(admin, "SHOW GLOBAL VARIABLES LIKE 'innodb_log_file%'")?;
    let text = match admin.rows("SHOW ENGINE INNODB STATUS") {
        Ok(rows) => rows.into_iter().flatten().flatten().last().unwrap_or_default(),
        // It takes a privilege that an account of a target may lack.
        Err(Error::Refused { .. }) => String::new(),
        Err(error) => return Err(error).context("cannot read the status of InnoDB"),
    };
    Ok(counters(&status, &files, &text))
}

fn pairs(admin: &mut Admin, sql: &str) -> Result<BTreeMap<String, f64>> {
    let rows = admin.rows(sql).with_context(|| format!("`{sql}` failed"))?;
    let pair = |row: Vec<Option<String>>| {
        let mut cells = row.into_iter().flatten();
        Some((cells.next()?, cells.next()?.parse().ok()?))
    };
    Ok(rows.into_iter().filter_map(pair).collect())
}

fn counters(status: &BTreeMap<String, f64>, files: &BTreeMap<String, f64>, text: &str) -> Counters {
    let mut counters = StatusText::parse(text).counters();
    for (ours, theirs, kind) in STATUS {
        if let Some(value) = theirs.iter().find_map(|name| status.get(*name)) {
            counters.put(*kind, ours, *value);
        }
    }
    // One of them is the session that asks.
    counters.state.entry(THREADS_RUNNING).and_modify(|threads| *threads = (*threads - 1.0).max(0.0));
    let checkpoint = CHECKPOINT_LSN.iter().find_map(|name| status.get(*name)).copied();
    if let (Some(checkpoint), Some(now)) = (checkpoint, counters.counted.get("innodb.redo_bytes")) {
        counters.state.insert(CHECKPOINT_AGE, now - checkpoint);
    }
    let in_files = files
        .get("innodb_log_file_size")
        // MariaDB has a single file from 10.6 on, and no variable for it.
        .map(|size| size * files.get("innodb_log_files_in_group").copied().unwrap_or(1.0));
    if let Some(capacity) = status.get(CAPACITY).copied().or(in_files) {
        counters.state.insert(REDO_CAPACITY, capacity);
    }
    counters.derive("dirty_bytes", ["dirty_pages", "page_bytes"], |pages, bytes| pages * bytes);
    counters.derive("dirty_share", ["dirty_pages", "buffer_pool_pages"], |dirty, all| dirty / all.max(1.0));
    counters.derive_checkpoint_age_share();
    counters
}

/// What is taken from the text, each where a version has it.
#[derive(Debug, Default, PartialEq)]
struct StatusText {
    history: Option<f64>,
    lsn: Option<f64>,
    checkpoint_lsn: Option<f64>,
    spin_waits: Option<f64>,
    spin_rounds: Option<f64>,
    os_waits: Option<f64>,
}

impl StatusText {
    fn parse(text: &str) -> StatusText {
        // Statements of clients stand between TRANSACTIONS and LOG, and can have any text.
        let (above, log) = (text.split("\nLIST OF TRANSACTIONS").next(), text.rsplit_once("\nLOG\n"));
        let mut seen = StatusText::default();
        for line in above.unwrap_or_default().lines() {
            if let Some(rest) = line.strip_prefix("History list length") {
                seen.history = rest.trim().parse().ok();
            }
            if line.starts_with("Mutex spin waits") || line.starts_with("RW-") {
                line.split([',', ';']).for_each(|part| seen.add_spins(part));
            }
        }
        for line in log.map_or("", |(_, log)| log).lines() {
            if let Some(rest) = line.strip_prefix("Log sequence number") {
                seen.lsn = lsn(rest);
            } else if let Some(rest) = line.strip_prefix("Last checkpoint at") {
                seen.checkpoint_lsn = lsn(rest);
            }
        }
        seen
    }

    /// `Mutex spin waits 3`, `RW-excl spins 1`, ` rounds 40` or ` OS waits 2`; sums are over all kinds of locks.
    fn add_spins(&mut self, part: &str) {
        let Some((what, count)) = part.trim().rsplit_once(' ') else { return };
        let sum = match what {
            "rounds" => &mut self.spin_rounds,
            "OS waits" => &mut self.os_waits,
            _ if what.ends_with("spin waits") || what.ends_with("spins") => &mut self.spin_waits,
            _ => return,
        };
        if let Ok(count) = count.parse::<f64>() {
            *sum = Some(sum.unwrap_or(0.0) + count);
        }
    }

    fn counters(self) -> Counters {
        let age = self.lsn.zip(self.checkpoint_lsn).map(|(lsn, checkpoint)| lsn - checkpoint);
        let figures = [
            (Kind::State, "history_list_length", self.history),
            (Kind::State, CHECKPOINT_AGE, age),
            (Kind::Counter, "innodb.redo_bytes", self.lsn),
            (Kind::Counter, "innodb.spin_waits", self.spin_waits),
            (Kind::Counter, "innodb.spin_rounds", self.spin_rounds),
            (Kind::Counter, "innodb.spin_os_waits", self.os_waits),
        ];
        let mut counters = Counters::default();
        for (kind, name, value) in figures {
            value.into_iter().for_each(|value| counters.put(kind, name, value));
        }
        counters
    }
}

/// A place in the log: before 5.5 the upper and the lower 32 bits, then one number.
fn lsn(text: &str) -> Option<f64> {
    let numbers: Vec<u64> = text.split_ascii_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    match numbers.as_slice() {
        [lsn] => Some(*lsn as f64),
        [upper, lower] => Some((upper << 32 | lower) as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around the figures as each version writes them; what stands between is of no interest here.
    fn text(semaphores: &str, history: &str, log: &str) -> String {
        format!(
            "=====\nINNODB MONITOR OUTPUT\n----------\nSEMAPHORES\n----------\n{semaphores}\n\
             ------------\nTRANSACTIONS\n------------\n{history}\n\
             LIST OF TRANSACTIONS FOR EACH SESSION:\n---TRANSACTION 7, ACTIVE 1 sec\nSELECT '\n\
             History list length 999\nLog sequence number 999\nLast checkpoint at 999\n'\n\
             ---\nLOG\n---\n{log}\n----------------------\nBUFFER POOL AND MEMORY\n----------------------\n"
        )
    }

    fn check(text: &str, spins: [Option<f64>; 3], history: f64, lsn: f64, checkpoint_lsn: f64) {
        let expected = StatusText {
            history: Some(history),
            lsn: Some(lsn),
            checkpoint_lsn: Some(checkpoint_lsn),
            spin_waits: spins[0],
            spin_rounds: spins[1],
            os_waits: spins[2],
        };
        assert_eq!(StatusText::parse(text), expected, "{text}");
    }

    #[test]
    fn mysql_5_0_writes_places_as_two_halves_and_locks_on_one_line() {
        let semaphores = "OS WAIT ARRAY INFO: reservation count 4, signal count 4\nMutex spin waits 3, rounds 40, OS waits 1\n\
                          RW-shared spins 4, OS waits 2; RW-excl spins 1, OS waits 1";
        let log = "Log sequence number 2 46404\nLog flushed up to   2 46404\nLast checkpoint at  1 43655";
        let text = text(semaphores, "Trx id counter 0 1283\nHistory list length 12", log);
        let places = [(2u64 << 32) + 46404, (1 << 32) + 43655].map(|place| place as f64);
        check(&text, [Some(8.0), Some(40.0), Some(4.0)], 12.0, places[0], places[1]);
    }

    #[test]
    fn mysql_5_5_5_6_and_mariadb_10_1_have_a_line_for_each_kind_of_lock() {
        let semaphores = "OS WAIT ARRAY INFO: reservation count 2, signal count 2\nMutex spin waits 1, rounds 6, OS waits 0\n\
                          RW-shared spins 2, rounds 60, OS waits 2\nRW-excl spins 0, rounds 0, OS waits 0\n\
                          Spin rounds per wait: 6.00 mutex, 30.00 RW-shared, 0.00 RW-excl";
        let log = "Log sequence number 1622541\nLog flushed up to   1622541\nPages flushed up to 1616839\n\
                   Last checkpoint at  1616839\nMax checkpoint age    80826164\nCheckpoint age        5702";
        let text = text(semaphores, "Purge done for trx's n:o < 0\nHistory list length 5", log);
        check(&text, [Some(3.0), Some(66.0), Some(2.0)], 5.0, 1622541.0, 1616839.0);
    }

    #[test]
    fn mysql_5_7_to_9_7_count_no_mutexes_there() {
        let semaphores = "OS WAIT ARRAY INFO: signal count 11\nRW-shared spins 1, rounds 2, OS waits 1\n\
                          RW-excl spins 0, rounds 0, OS waits 0\nRW-sx spins 3, rounds 4, OS waits 0\n\
                          Spin rounds per wait: 2.00 RW-shared, 0.00 RW-excl, 1.33 RW-sx";
        let log = "Log sequence number          19352530\nLog buffer assigned up to    19352530\n\
                   Pages flushed up to          18983584\nLast checkpoint at           18983583\nLog minimum file id is       5";
        let text = text(semaphores, "Trx id counter 1302\nHistory list length 34", log);
        check(&text, [Some(4.0), Some(6.0), Some(1.0)], 34.0, 19352530.0, 18983583.0);
    }

    #[test]
    fn mariadb_10_11_counts_no_spins_which_is_not_zero_spins() {
        let log = "Log sequence number 44760\nLog flushed up to   44760\nPages flushed up to 44760\nLast checkpoint at  44744";
        check(&text("", "Trx id counter 16\nHistory list length 0", log), [None; 3], 0.0, 44760.0, 44744.0);
    }

    #[test]
    fn a_text_that_ends_anywhere_is_read_as_far_as_it_goes() {
        let log = "Log sequence number 44760\nLast checkpoint at  44744";
        let whole = text("RW-shared spins 1, rounds 2, OS waits 1", "History list length 3", log);
        for end in 0..whole.len() {
            let seen = StatusText::parse(&whole[..end]);
            assert!(seen.history.is_none_or(|history| history == 3.0), "{seen:?}");
        }
        assert_eq!(StatusText::parse(""), StatusText::default());
    }

    fn map(pairs: &[(&str, f64)]) -> BTreeMap<String, f64> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    #[test]
    fn states_follow_from_what_a_version_has() {
        let text = text("", "History list length 9", "Log sequence number 5000\nLast checkpoint at 4000");
        let pages = [
            ("Innodb_buffer_pool_pages_dirty", 10.0),
            ("Innodb_buffer_pool_pages_total", 40.0),
            ("Innodb_page_size", 16384.0),
            ("Threads_running", 3.0),
        ];
        let files = map(&[("innodb_log_file_size", 5000.0), ("innodb_log_files_in_group", 2.0)]);
        let old = counters(&map(&pages), &files, &text);
        assert_eq!((old.state["dirty_bytes"], old.state["dirty_share"]), (163840.0, 0.25));
        assert_eq!((old.state["checkpoint_age_bytes"], old.state["checkpoint_age_share"]), (1000.0, 0.1));
        assert_eq!((old.counted["innodb.redo_bytes"], old.state["history_list_length"]), (5000.0, 9.0));
        assert_eq!(old.state["threads_running"], 2.0);
        assert!(!old.counted.contains_key("innodb.os_log_fsyncs"));

        let resized =
            [("Innodb_redo_log_current_lsn", 6000.0), ("Innodb_redo_log_checkpoint_lsn", 3000.0), (CAPACITY, 30000.0)];
        let new = counters(&map(&resized), &files, &text);
        assert_eq!((new.state["checkpoint_age_bytes"], new.state["checkpoint_age_share"]), (3000.0, 0.1));
        assert!(!new.state.contains_key("dirty_bytes"));

        let refused = counters(&map(&pages), &map(&[("innodb_log_file_size", 5000.0)]), "");
        assert_eq!(refused.state[REDO_CAPACITY], 5000.0, "a single file");
        assert!(!refused.state.contains_key(CHECKPOINT_AGE) && !refused.counted.contains_key("innodb.redo_bytes"));
    }
}
