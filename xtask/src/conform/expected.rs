//! The published figures per transaction.
//!
//! They were measured with sysbench 1.0.20 on MariaDB 10.11 and PostgreSQL 15 (one table of 10,000
//! rows, one client), and for 0.4.12 follow from the statements of its `--test=oltp`.

use std::fmt;

use super::{ROWS, Script};

/// What one counter must show per transaction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    least: f64,
    most: f64,
}

impl Expected {
    pub const fn exactly(value: f64) -> Expected {
        Expected { least: value, most: value }
    }

    pub const fn between(least: f64, most: f64) -> Expected {
        Expected { least, most }
    }

    /// Within one per cent, for what depends on the ids that were drawn.
    pub const fn about(value: f64) -> Expected {
        Expected { least: value * 0.99, most: value * 1.01 }
    }

    /// Counts are divided, so the last bits may differ.
    pub fn holds(self, seen: f64) -> bool {
        (self.least - 1e-9..=self.most + 1e-9).contains(&seen)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.least == self.most {
            return write!(f, "{}", self.least);
        }
        write!(f, "{:.1}..{:.1}", self.least, self.most)
    }
}

/// Counters of MariaDB, in the order of the columns below; `Com_stmt_prepare` is per connection.
pub const MARIADB_COUNTERS: [&str; 20] = [
    "Com_select",
    "Com_update",
    "Com_insert",
    "Com_delete",
    "Com_begin",
    "Com_commit",
    "Com_stmt_execute",
    "Com_stmt_prepare",
    "Questions",
    "Rows_read",
    "Rows_sent",
    "Handler_read_key",
    "Handler_read_next",
    "Handler_update",
    "Handler_delete",
    "Handler_write",
    "Select_range",
    "Sort_range",
    "Sort_rows",
    "Created_tmp_tables",
];

/// A script with what it must do to a server: reads, writes and others by the client's count, and
/// the counters of the server.
pub struct Row<const COUNTERS: usize> {
    pub script: Script,
    pub statements: [f64; 3],
    pub counters: [Expected; COUNTERS],
}

/// Ids of the distribution `special` keep away from the table's end, so all ranges are whole and
/// every figure is exact.
const SPECIAL: (&str, &str) = ("rand_type", "special");

const fn exact<const COUNTERS: usize>(values: [u32; COUNTERS]) -> [Expected; COUNTERS] {
    let mut expected = [Expected::exactly(0.0); COUNTERS];
    let mut at = 0;
    while at < COUNTERS {
        expected[at] = Expected::exactly(values[at] as f64);
        at += 1;
    }
    expected
}

const fn row<const COUNTERS: usize>(
    title: &'static str,
    workload: &'static str,
    options: &'static [(&'static str, &'static str)],
    statements: [f64; 3],
    counters: [Expected; COUNTERS],
) -> Row<COUNTERS> {
    Row { script: Script { title, workload, options }, statements, counters }
}

const READ_WRITE: [u32; 20] = [14, 2, 1, 1, 1, 1, 20, 11, 20, 417, 311, 17, 400, 2, 1, 1, 4, 1, 200, 1];
const READ_ONLY: [u32; 20] = [14, 0, 0, 0, 1, 1, 16, 7, 16, 414, 311, 14, 400, 0, 0, 0, 4, 1, 200, 1];
const WRITE_ONLY: [u32; 20] = [0, 2, 1, 1, 1, 1, 6, 6, 6, 3, 0, 3, 0, 2, 1, 1, 0, 0, 0, 0];
const POINT_SELECT: [u32; 20] = [1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
const UPDATE: [u32; 20] = [0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0];
const SKIP_TRX: [u32; 20] = [14, 2, 1, 1, 0, 0, 18, 9, 18, 417, 311, 17, 400, 2, 1, 1, 4, 1, 200, 1];
const NO_RANGES: [u32; 20] = [10, 2, 1, 1, 1, 1, 16, 7, 16, 13, 10, 13, 0, 2, 1, 1, 0, 0, 0, 0];
/// 0.4.12 updates three times, and its DISTINCT range has one id more.
const CLASSIC: [u32; 20] = [14, 3, 1, 1, 1, 1, 21, 11, 21, 419, 212, 18, 401, 3, 1, 1, 4, 1, 101, 1];
/// All values of `c` are one space, so DISTINCT gives and sorts one row.
const CLASSIC_READ_ONLY: [u32; 20] = [14, 0, 0, 0, 1, 1, 16, 7, 16, 415, 212, 14, 401, 0, 0, 0, 4, 1, 101, 1];

/// Updates of `c` give DISTINCT more to return and to sort as the run goes on, up to all 101 ids.
const fn classic_with_writes() -> [Expected; 20] {
    let mut expected = exact(CLASSIC);
    expected[10] = Expected::between(212.0, 312.0);
    expected[18] = Expected::between(101.0, 201.0);
    expected
}

/// With `uniform`, dbduel's default, ranges that begin near the end of the table are shorter.
const fn read_write_uniform() -> [Expected; 20] {
    let missing = 100.0 - mean_range_rows(100);
    let mut expected = exact(READ_WRITE);
    expected[9] = Expected::about(417.0 - 4.0 * missing);
    expected[10] = Expected::about(311.0 - 3.0 * missing);
    expected[12] = Expected::about(400.0 - 4.0 * missing);
    expected[18] = Expected::about(200.0 - 2.0 * missing);
    expected
}

/// Rows of a range of `size` ids that begins anywhere: the last `size - 1` beginnings give fewer.
const fn mean_range_rows(size: i64) -> f64 {
    size as f64 - (size * (size - 1)) as f64 / (2 * ROWS) as f64
}

const CLASSIC_COMPLEX: &[(&str, &str)] = &[("compat", "sysbench-0.4"), ("mode", "complex")];
const CLASSIC_READS: &[(&str, &str)] = &[("compat", "sysbench-0.4"), ("mode", "complex"), ("read_only", "true")];
const CLASSIC_SIMPLE: &[(&str, &str)] = &[("compat", "sysbench-0.4"), ("mode", "simple")];

pub const MARIADB: &[Row<20>] = &[
    row("oltp_read_write", "oltp_read_write", &[SPECIAL], [14.0, 4.0, 2.0], exact(READ_WRITE)),
    row("oltp_read_only", "oltp_read_only", &[SPECIAL], [14.0, 0.0, 2.0], exact(READ_ONLY)),
    row("oltp_write_only", "oltp_write_only", &[SPECIAL], [0.0, 4.0, 2.0], exact(WRITE_ONLY)),
    row("oltp_point_select", "oltp_point_select", &[SPECIAL], [1.0, 0.0, 0.0], exact(POINT_SELECT)),
    row("oltp_update_index", "oltp_update_index", &[SPECIAL], [0.0, 1.0, 0.0], exact(UPDATE)),
    row("oltp_update_non_index", "oltp_update_non_index", &[SPECIAL], [0.0, 1.0, 0.0], exact(UPDATE)),
    row(
        "oltp_read_write, skip_trx",
        "oltp_read_write",
        &[SPECIAL, ("skip_trx", "true")],
        [14.0, 4.0, 0.0],
        exact(SKIP_TRX),
    ),
    row(
        "oltp_read_write, range_selects=off",
        "oltp_read_write",
        &[SPECIAL, ("range_selects", "false")],
        [10.0, 4.0, 2.0],
        exact(NO_RANGES),
    ),
    row("oltp_read_write, uniform", "oltp_read_write", &[], [14.0, 4.0, 2.0], read_write_uniform()),
    row("0.4 simple", "oltp", CLASSIC_SIMPLE, [1.0, 0.0, 0.0], exact(POINT_SELECT)),
    row("0.4 complex", "oltp", CLASSIC_COMPLEX, [14.0, 5.0, 2.0], classic_with_writes()),
    row("0.4 complex, read_only", "oltp", CLASSIC_READS, [14.0, 0.0, 2.0], exact(CLASSIC_READ_ONLY)),
];

/// Counters of PostgreSQL, from its views `pg_stat_user_tables` and `pg_stat_database`.
pub const POSTGRES_COUNTERS: [&str; 6] =
    ["idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del", "xact_commit"];

/// Statements prepared per connection; each is a transaction to PostgreSQL.
pub const POSTGRES: &[(u64, Row<6>)] = &[
    (11, row("oltp_read_write", "oltp_read_write", &[SPECIAL], [14.0, 4.0, 2.0], exact([17, 413, 1, 2, 1, 1]))),
    (7, row("oltp_read_only", "oltp_read_only", &[SPECIAL], [14.0, 0.0, 2.0], exact([14, 410, 0, 0, 0, 1]))),
    (6, row("oltp_write_only", "oltp_write_only", &[SPECIAL], [0.0, 4.0, 2.0], exact([3, 3, 1, 2, 1, 1]))),
    (1, row("oltp_point_select", "oltp_point_select", &[SPECIAL], [1.0, 0.0, 0.0], exact([1, 1, 0, 0, 0, 1]))),
    (1, row("oltp_update_index", "oltp_update_index", &[SPECIAL], [0.0, 1.0, 0.0], exact([1, 1, 0, 1, 0, 1]))),
    (1, row("oltp_update_non_index", "oltp_update_non_index", &[SPECIAL], [0.0, 1.0, 0.0], exact([1, 1, 0, 1, 0, 1]))),
    (11, row("0.4 complex", "oltp", CLASSIC_COMPLEX, [14.0, 5.0, 2.0], exact([18, 415, 1, 3, 1, 1]))),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_that_begins_anywhere_has_a_little_less_than_its_size() {
        let all: i64 = (1..=ROWS).map(|low| 100.min(ROWS - low + 1)).sum();
        assert!((mean_range_rows(100) - all as f64 / ROWS as f64).abs() < 1e-9);
    }

    #[test]
    fn one_transaction_too_many_is_seen() {
        assert!(Expected::exactly(14.0).holds(7000.0 / 500.0));
        assert!(!Expected::exactly(14.0).holds(7001.0 / 500.0));
        assert!(Expected::about(398.0).holds(397.8) && !Expected::about(398.0).holds(402.5));
    }
}
