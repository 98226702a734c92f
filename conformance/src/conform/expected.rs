//! The published figures per transaction.
//!
//! They were measured with sysbench 1.0.20 on MariaDB 10.11 and PostgreSQL 15 (one table of 10,000
//! rows, one client), and for 0.4.12 follow from the statements of its `--test=oltp`.

use std::fmt;

use super::script::{Done, ROWS, Script};

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
        let decimals = if self.most < 10.0 { 2 } else { 1 };
        write!(f, "{:.decimals$}..{:.decimals$}", self.least, self.most)
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
    pub statements: [Expected; 3],
    pub counters: [Expected; COUNTERS],
    /// Exactly so many transactions, where the figures depend on how many ran before.
    pub events: Option<u64>,
}

/// sysbench's distribution `special`, among others: its ids keep away from the table's end, so all
/// ranges are whole and every figure is exact.
const SYSBENCH: (&str, &str) = ("compat", "sysbench-1.0");
const UNIFORM: (&str, &str) = ("rand_type", "uniform");

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
    options: &'static [(&'static str, &'static str)],
    sysbench: Option<&'static [&'static str]>,
    statements: [u32; 3],
    counters: [Expected; COUNTERS],
) -> Row<COUNTERS> {
    let workload = first_word(title);
    let statements = exact(statements);
    Row { script: Script { title, workload, options, sysbench }, statements, counters, events: None }
}

/// The part of a title before its comma: the workload.
const fn first_word(title: &'static str) -> &'static str {
    let bytes = title.as_bytes();
    let mut length = 0;
    while length < bytes.len() && bytes[length] != b',' {
        length += 1;
    }
    title.split_at(length).0
}

const READ_WRITE: [u32; 20] = [14, 2, 1, 1, 1, 1, 20, 11, 20, 417, 311, 17, 400, 2, 1, 1, 4, 1, 200, 1];
const READ_ONLY: [u32; 20] = [14, 0, 0, 0, 1, 1, 16, 7, 16, 414, 311, 14, 400, 0, 0, 0, 4, 1, 200, 1];
const WRITE_ONLY: [u32; 20] = [0, 2, 1, 1, 1, 1, 6, 6, 6, 3, 0, 3, 0, 2, 1, 1, 0, 0, 0, 0];
const POINT_SELECT: [u32; 20] = [1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
const UPDATE: [u32; 20] = [0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0];
const TEXT_INSERT: [u32; 20] = [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const PREPARED_INSERT: [u32; 20] = [0, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
const DELETE: [u32; 20] = [0, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0];
const SKIP_TRX: [u32; 20] = [14, 2, 1, 1, 0, 0, 18, 9, 18, 417, 311, 17, 400, 2, 1, 1, 4, 1, 200, 1];
const NO_RANGES: [u32; 20] = [10, 2, 1, 1, 1, 1, 16, 7, 16, 13, 10, 13, 0, 2, 1, 1, 0, 0, 0, 0];
const AS_TEXT: [u32; 20] = [14, 2, 1, 1, 1, 1, 0, 0, 20, 417, 311, 17, 400, 2, 1, 1, 4, 1, 200, 1];
/// BEGIN and COMMIT once, and nine kinds of statements for each table.
const FOUR_TABLES: [u32; 20] = [14, 2, 1, 1, 1, 1, 20, 38, 20, 417, 311, 17, 400, 2, 1, 1, 4, 1, 200, 1];
const RANDOM_SELECT: [u32; 20] = [1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0];
/// 0.4.12 updates three times, and its DISTINCT range has one id more.
const CLASSIC: [u32; 20] = [14, 3, 1, 1, 1, 1, 21, 11, 21, 419, 212, 18, 401, 3, 1, 1, 4, 1, 101, 1];
/// All values of `c` are one space, so DISTINCT gives and sorts one row.
const CLASSIC_READ_ONLY: [u32; 20] = [14, 0, 0, 0, 1, 1, 16, 7, 16, 415, 212, 14, 401, 0, 0, 0, 4, 1, 101, 1];
const CLASSIC_WRITE_ONLY: [u32; 20] = [0, 3, 1, 1, 1, 1, 7, 6, 7, 4, 0, 4, 0, 3, 1, 1, 0, 0, 0, 0];

/// Columns of [`MARIADB_COUNTERS`] that depend on what was drawn.
const ROWS_READ: usize = 9;
const ROWS_SENT: usize = 10;
const READ_KEY: usize = 11;
const READ_NEXT: usize = 12;
const HANDLER_DELETE: usize = 14;
const SORT_ROWS: usize = 18;

const fn with<const COUNTERS: usize>(
    mut expected: [Expected; COUNTERS],
    column: usize,
    least: f64,
    most: f64,
) -> [Expected; COUNTERS] {
    expected[column] = Expected::between(least, most);
    expected
}

/// Updates of `c` give DISTINCT more to return and to sort as the run goes on, up to all 101 ids.
const fn classic_with_writes(counters: [u32; 20]) -> [Expected; 20] {
    with(with(exact(counters), ROWS_SENT, 212.0, 312.0), SORT_ROWS, 101.0, 201.0)
}

/// With `uniform`, dbduel's default, ranges that begin near the end of the table are shorter.
const fn read_write_uniform() -> [Expected; 20] {
    let missing = 100.0 - mean_range_rows(100);
    let mut expected = exact(READ_WRITE);
    expected[ROWS_READ] = Expected::about(417.0 - 4.0 * missing);
    expected[ROWS_SENT] = Expected::about(311.0 - 3.0 * missing);
    expected[READ_NEXT] = Expected::about(400.0 - 4.0 * missing);
    expected[SORT_ROWS] = Expected::about(200.0 - 2.0 * missing);
    expected
}

/// Rows of a range of `size` ids that begins anywhere: the last `size - 1` beginnings give fewer.
const fn mean_range_rows(size: i64) -> f64 {
    size as f64 - (size * (size - 1)) as f64 / (2 * ROWS) as f64
}

/// Rows and keys that a select by random keys finds, by what was measured: within `share`.
const fn random_select(read: f64, sent: f64, keys: f64, next: f64, share: f64) -> [Expected; 20] {
    let mut expected = exact(RANDOM_SELECT);
    expected[ROWS_READ] = Expected::between(read * (1.0 - share), read * (1.0 + share));
    expected[ROWS_SENT] = if sent == 1.0 {
        Expected::exactly(1.0)
    } else {
        Expected::between(sent * (1.0 - share), sent * (1.0 + share))
    };
    expected[READ_KEY] = Expected::between(keys * (1.0 - share), keys * (1.0 + share));
    expected[READ_NEXT] = Expected::between(next * (1.0 - share), next * (1.0 + share));
    expected
}

/// Deletes of the distribution `special` hit a quarter of the time in the first 2000, fewer later.
const DELETES: u64 = 2000;
const HITS: (f64, f64) = (0.21, 0.31);

const fn deleting<const COUNTERS: usize>(row: Row<COUNTERS>) -> Row<COUNTERS> {
    let hits = Expected::between(HITS.0, HITS.1);
    let misses = Expected::between(1.0 - HITS.1, 1.0 - HITS.0);
    Row { statements: [Expected::exactly(0.0), hits, misses], events: Some(DELETES), ..row }
}

const fn delete_mariadb() -> [Expected; 20] {
    with(with(exact(DELETE), ROWS_READ, HITS.0, HITS.1), HANDLER_DELETE, HITS.0, HITS.1)
}

/// By itself a client of 0.4 asks for the table's storage engine when it connects, which is no part of a request.
const TRX: (&str, &str) = ("mysql_engine_trx", "yes");
const NONTRX_SELECT: &[(&str, &str)] = &[("mode", "nontrx"), ("nontrx_mode", "select")];
const NONTRX_UPDATE_KEY: &[(&str, &str)] = &[("mode", "nontrx"), ("nontrx_mode", "update_key")];
const NONTRX_UPDATE_NOKEY: &[(&str, &str)] = &[("mode", "nontrx"), ("nontrx_mode", "update_nokey")];
const NONTRX_INSERT: &[(&str, &str)] = &[("mode", "nontrx"), ("nontrx_mode", "insert")];
pub const NONTRX_INSERT_ID: &[(&str, &str)] = &[("mode", "nontrx"), ("nontrx_mode", "insert"), ("auto_inc", "false")];
pub const NONTRX_DELETE: &[(&str, &str)] = &[("mode", "nontrx"), ("nontrx_mode", "delete")];

/// The rows beside a script's own options: those of sysbench, to which compatibility is asked for.
pub const MARIADB: &[Row<20>] = &[
    row("oltp_read_write", &[SYSBENCH], Some(&[]), [14, 4, 2], exact(READ_WRITE)),
    row("oltp_read_only", &[SYSBENCH], Some(&[]), [14, 0, 2], exact(READ_ONLY)),
    row("oltp_write_only", &[SYSBENCH], Some(&[]), [0, 4, 2], exact(WRITE_ONLY)),
    row("oltp_point_select", &[SYSBENCH], Some(&[]), [1, 0, 0], exact(POINT_SELECT)),
    row("oltp_update_index", &[SYSBENCH], Some(&[]), [0, 1, 0], exact(UPDATE)),
    row("oltp_update_non_index", &[SYSBENCH], Some(&[]), [0, 1, 0], exact(UPDATE)),
    row("oltp_insert", &[SYSBENCH], Some(&[]), [0, 1, 0], exact(TEXT_INSERT)),
    row(
        "oltp_insert, auto_inc=off",
        &[SYSBENCH, ("auto_inc", "false")],
        Some(&["--auto-inc=off"]),
        [0, 1, 0],
        exact(TEXT_INSERT),
    ),
    deleting(row("oltp_delete", &[SYSBENCH], Some(&[]), [0, 0, 0], delete_mariadb())),
    row("select_random_points", &[SYSBENCH], Some(&[]), [1, 0, 0], random_select(730.0, 730.0, 9.7, 730.0, 0.1)),
    row(
        "select_random_points, uniform",
        &[SYSBENCH, UNIFORM],
        Some(&["--rand-type=uniform"]),
        [1, 0, 0],
        random_select(10.2, 10.2, 10.0, 10.2, 0.1),
    ),
    row("select_random_ranges", &[SYSBENCH], Some(&[]), [1, 0, 0], random_select(3460.0, 1.0, 7.0, 3450.0, 0.1)),
    row(
        "select_random_ranges, uniform",
        &[SYSBENCH, UNIFORM],
        Some(&["--rand-type=uniform"]),
        [1, 0, 0],
        random_select(70.0, 1.0, 9.9, 60.0, 0.1),
    ),
    row(
        "oltp_read_write, skip_trx",
        &[SYSBENCH, ("skip_trx", "true")],
        Some(&["--skip-trx=on"]),
        [14, 4, 0],
        exact(SKIP_TRX),
    ),
    row(
        "oltp_read_write, range_selects=off",
        &[SYSBENCH, ("range_selects", "false")],
        Some(&["--range-selects=off"]),
        [10, 4, 2],
        exact(NO_RANGES),
    ),
    row(
        "oltp_read_write, db-ps-mode=disable",
        &[SYSBENCH, ("db_ps_mode", "disable")],
        Some(&["--db-ps-mode=disable"]),
        [14, 4, 2],
        exact(AS_TEXT),
    ),
    row(
        "oltp_read_write, 4 tables",
        &[SYSBENCH, ("tables", "4")],
        Some(&["--tables=4"]),
        [14, 4, 2],
        exact(FOUR_TABLES),
    ),
    row("oltp_read_write, uniform", &[], Some(&["--rand-type=uniform"]), [14, 4, 2], read_write_uniform()),
    row("oltp, simple", &[("mode", "simple")], None, [1, 0, 0], exact(POINT_SELECT)),
    row("oltp, complex", &[TRX], None, [14, 5, 2], classic_with_writes(CLASSIC)),
    row("oltp, complex read_only", &[TRX, ("read_only", "true")], None, [14, 0, 2], exact(CLASSIC_READ_ONLY)),
    row("oltp, complex write_only", &[TRX, ("write_only", "true")], None, [0, 5, 2], exact(CLASSIC_WRITE_ONLY)),
    row("oltp, complex skip_trx", &[("skip_trx", "true")], None, [14, 5, 0], classic_with_writes(CLASSIC_SKIP_TRX)),
    row(
        "oltp, complex as text",
        &[TRX, ("db_ps_mode", "disable")],
        None,
        [14, 5, 2],
        classic_with_writes(CLASSIC_AS_TEXT),
    ),
    row("oltp, nontrx select", NONTRX_SELECT, None, [1, 0, 0], exact(POINT_SELECT)),
    row("oltp, nontrx update_key", NONTRX_UPDATE_KEY, None, [0, 1, 0], exact(UPDATE)),
    row("oltp, nontrx update_nokey", NONTRX_UPDATE_NOKEY, None, [0, 1, 0], exact(UPDATE)),
    row("oltp, nontrx insert", NONTRX_INSERT, None, [0, 1, 0], exact(PREPARED_INSERT)),
    row("oltp, nontrx insert auto_inc=off", NONTRX_INSERT_ID, None, [0, 1, 0], exact(PREPARED_INSERT)),
    row("oltp, nontrx delete", NONTRX_DELETE, None, [0, 1, 0], exact(DELETE)),
];

const CLASSIC_SKIP_TRX: [u32; 20] = [14, 3, 1, 1, 0, 0, 19, 9, 19, 419, 212, 18, 401, 3, 1, 1, 4, 1, 101, 1];
const CLASSIC_AS_TEXT: [u32; 20] = [14, 3, 1, 1, 1, 1, 0, 0, 21, 419, 212, 18, 401, 3, 1, 1, 4, 1, 101, 1];

/// Counters of PostgreSQL, from its views `pg_stat_user_tables` and `pg_stat_database`.
pub const POSTGRES_COUNTERS: [&str; 7] =
    ["idx_scan", "idx_tup_fetch", "n_tup_ins", "n_tup_upd", "n_tup_del", "n_tup_hot_upd", "xact_commit"];

const HOT: usize = 5;

/// Of two updates, the one of `k` is never HOT and the other is when its page has room.
const fn mostly_hot(counters: [u32; 7]) -> [Expected; 7] {
    with(exact(counters), HOT, 0.3, 1.0)
}

/// Of a drained table: a delete searches once for its row, which is there a quarter of the time.
const fn delete_postgres() -> [Expected; 7] {
    with(with(exact([1, 0, 0, 0, 0, 0, 1]), 1, HITS.0, HITS.1), 4, HITS.0, HITS.1)
}

/// Statements prepared per connection; each is a transaction to PostgreSQL.
pub const POSTGRES: &[(u64, Row<7>)] = &[
    (11, row("oltp_read_write", &[SYSBENCH], Some(&[]), [14, 4, 2], mostly_hot([17, 413, 1, 2, 1, 0, 1]))),
    (7, row("oltp_read_only", &[SYSBENCH], Some(&[]), [14, 0, 2], exact([14, 410, 0, 0, 0, 0, 1]))),
    (6, row("oltp_write_only", &[SYSBENCH], Some(&[]), [0, 4, 2], mostly_hot([3, 3, 1, 2, 1, 0, 1]))),
    (1, row("oltp_point_select", &[SYSBENCH], Some(&[]), [1, 0, 0], exact([1, 1, 0, 0, 0, 0, 1]))),
    (1, row("oltp_update_index", &[SYSBENCH], Some(&[]), [0, 1, 0], exact([1, 1, 0, 1, 0, 0, 1]))),
    (1, row("oltp_update_non_index", &[SYSBENCH], Some(&[]), [0, 1, 0], mostly_hot([1, 1, 0, 1, 0, 0, 1]))),
    (0, row("oltp_insert", &[SYSBENCH], Some(&[]), [0, 1, 0], exact([0, 0, 1, 0, 0, 0, 1]))),
    (1, deleting(row("oltp_delete", &[SYSBENCH], Some(&[]), [0, 0, 0], delete_postgres()))),
    (
        0,
        row(
            "oltp_read_write, db-ps-mode=disable",
            &[SYSBENCH, ("db_ps_mode", "disable")],
            Some(&["--db-ps-mode=disable"]),
            [14, 4, 2],
            mostly_hot([17, 413, 1, 2, 1, 0, 1]),
        ),
    ),
    (
        9,
        row(
            "oltp_read_write, skip_trx",
            &[SYSBENCH, ("skip_trx", "true")],
            Some(&["--skip-trx=on"]),
            [14, 4, 0],
            mostly_hot([17, 413, 1, 2, 1, 0, 18]),
        ),
    ),
    (11, row("oltp, complex", &[], None, [14, 5, 2], mostly_hot([18, 415, 1, 3, 1, 0, 1]))),
    (1, row("oltp, nontrx insert", NONTRX_INSERT, None, [0, 1, 0], exact([0, 0, 1, 0, 0, 0, 1]))),
    (1, row("oltp, nontrx delete", NONTRX_DELETE, None, [0, 1, 0], exact([1, 1, 0, 0, 1, 0, 1]))),
];

/// One counter of one script, caused by us and by sysbench.
pub struct Line {
    pub counter: &'static str,
    pub expected: Expected,
    pub ours: f64,
    pub sysbench: Option<f64>,
}

pub const OWN_COUNTS: [&str; 3] = ["client's reads", "client's writes", "client's other"];

/// Prints a script's lines and returns how many are wrong.
pub fn print(server: &str, title: &str, done: &Done, lines: &[Line]) -> usize {
    println!("{server} {title}: {} transactions", done.transactions);
    let mut wrong = 0;
    for Line { counter, expected, ours, sysbench } in lines {
        let holds = expected.holds(*ours) && sysbench.is_none_or(|seen| expected.holds(seen));
        let verdict = if holds { "ok" } else { "WRONG" };
        wrong += usize::from(!holds);
        let theirs = sysbench.map_or("-".to_owned(), shown);
        let (expected, ours) = (expected.to_string(), shown(*ours));
        println!("{:<26} {counter:<16} {expected:>14} {ours:>10} {theirs:>10}  {verdict}", "");
    }
    wrong
}

fn shown(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.strip_suffix(".000").unwrap_or(&text).to_owned()
}

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
