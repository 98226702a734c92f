//! What a server and its host did second by second, in a few quantities that every engine has in some form.

use record::format::Series;
use record::metric::{CHECKPOINT_AGE, CHECKPOINTS_RUNNING};

/// What is observed of a server or its host over the seconds of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observed {
    /// In cores.
    ServerCpu,
    /// Of all disks of the host, per second.
    DiskOperations,
    /// In MiB/s.
    DiskBytes,
    /// As the server counts them, per second.
    ServerReadsAndWrites,
    /// In MiB/s.
    InnodbBytes,
    /// In MiB/s.
    LogWritten,
    /// In MiB.
    CheckpointAge,
    /// In MiB.
    DirtyPages,
}

/// A quantity over the seconds of a trial.
pub struct Quantity {
    pub of: Observed,
    /// One of the columns' unit is so many of the quantity's.
    scale: f64,
    /// Columns that are added up; the first of the alternatives that was observed counts. A `*` stands for any
    /// name of a device.
    columns: &'static [&'static [&'static str]],
    /// It is of this host, and does not cover a server elsewhere.
    pub of_host: bool,
}

const MEBIBYTES: f64 = 1.0 / 1048576.0;

/// In the order in which they are drawn.
pub const QUANTITIES: &[Quantity] = &[
    Quantity {
        of: Observed::ServerCpu,
        scale: 1.0,
        columns: &[&["server_user_cores", "server_system_cores"]],
        of_host: true,
    },
    Quantity {
        of: Observed::DiskOperations,
        scale: 1.0,
        columns: &[
            &["server_host_disk.*.reads_per_s", "server_host_disk.*.writes_per_s"],
            &["host_disk.*.reads_per_s", "host_disk.*.writes_per_s"],
        ],
        of_host: true,
    },
    Quantity {
        of: Observed::DiskBytes,
        scale: MEBIBYTES,
        columns: &[
            &["server_host_disk.*.read_bytes_per_s", "server_host_disk.*.write_bytes_per_s"],
            &["host_disk.*.read_bytes_per_s", "host_disk.*.write_bytes_per_s"],
        ],
        of_host: true,
    },
    Quantity {
        of: Observed::ServerReadsAndWrites,
        scale: 1.0,
        columns: &[
            &["counter.innodb.data_reads_per_s", "counter.innodb.data_writes_per_s"],
            &[
                "counter.postgres.io_reads_per_s",
                "counter.postgres.io_writes_per_s",
                "counter.postgres.io_extends_per_s",
                "counter.postgres.wal_writes_per_s",
            ],
            // Before PostgreSQL 16, in buffers of the writing process.
            &[
                "counter.postgres.blks_read_per_s",
                "counter.postgres.buffers_backend_per_s",
                "counter.postgres.buffers_checkpoint_per_s",
                "counter.postgres.buffers_clean_per_s",
                "counter.postgres.wal_writes_per_s",
            ],
        ],
        of_host: false,
    },
    Quantity {
        of: Observed::InnodbBytes,
        scale: MEBIBYTES,
        columns: &[&["counter.innodb.data_read_bytes_per_s", "counter.innodb.data_written_bytes_per_s"]],
        of_host: false,
    },
    Quantity {
        of: Observed::LogWritten,
        scale: MEBIBYTES,
        columns: &[&["counter.innodb.redo_bytes_per_s"], &["counter.postgres.wal_bytes_per_s"]],
        of_host: false,
    },
    Quantity {
        of: Observed::CheckpointAge,
        scale: MEBIBYTES,
        columns: &[&["state.checkpoint_age_bytes"]],
        of_host: false,
    },
    Quantity { of: Observed::DirtyPages, scale: MEBIBYTES, columns: &[&["state.dirty_bytes"]], of_host: false },
];

/// Columns about checkpoints.
const CHECKPOINT_COUNTS: [&str; 2] =
    ["counter.postgres.checkpoints_timed_per_s", "counter.postgres.checkpoints_requested_per_s"];
/// A log that shrinks by this share of its largest size within a second was cut off by a checkpoint; less than
/// that is how InnoDB goes on all the time.
const CUT_OFF: f64 = 0.1;

impl Quantity {
    /// Seconds and values; a second in which nothing was seen is left out. Empty where it was never recorded.
    pub fn seconds(&self, observed: &Series) -> Vec<(f64, f64)> {
        let columns = self.columns.iter().map(|names| places(observed, names)).find(|places| !places.is_empty());
        let columns = columns.unwrap_or_default();
        let kept = |row: &Vec<f64>| {
            let seen: Vec<f64> = columns.iter().filter_map(|column| row.get(*column).copied()).collect();
            let sum: f64 = seen.iter().sum();
            (!seen.is_empty() && !sum.is_nan()).then(|| Some((*row.first()?, sum * self.scale))).flatten()
        };
        observed.rows.iter().filter_map(kept).collect()
    }
}

/// Seconds in which a checkpoint came to its end, or ran, as far as the server shows it.
pub fn checkpoints(observed: &Series) -> Vec<f64> {
    let state = |name: &str| places(observed, &[&format!("state.{name}")]).first().copied();
    let (age, running) = (state(CHECKPOINT_AGE), state(CHECKPOINTS_RUNNING));
    let counts = places(observed, &CHECKPOINT_COUNTS);
    let at = |row: &[f64], column: Option<usize>| column.and_then(|column| row.get(column)).copied();
    let most = observed.rows.iter().filter_map(|row| at(row, age)).fold(0.0, f64::max);
    let mut before = None;
    let mut seconds = Vec::new();
    for row in &observed.rows {
        let now = at(row, age).filter(|age| !age.is_nan());
        let was_cut = before.zip(now).is_some_and(|(before, now): (f64, f64)| before - now > most * CUT_OFF);
        let is_shown = running.is_some() || !counts.is_empty();
        let runs = at(row, running).is_some_and(|running| running > 0.0)
            || counts.iter().any(|column| at(row, Some(*column)).is_some_and(|count| count > 0.0));
        if if is_shown { runs } else { was_cut } {
            seconds.extend(row.first());
        }
        before = now.or(before);
    }
    seconds
}

/// What of an observed series is reported at all: that is what a report carries with it.
pub fn told(observed: &Series) -> Series {
    let states = [CHECKPOINT_AGE, CHECKPOINTS_RUNNING].map(|name| format!("state.{name}"));
    let quantities = QUANTITIES.iter().flat_map(|quantity| quantity.columns.iter().copied().flatten().copied());
    let names: Vec<&str> = ["second"]
        .into_iter()
        .chain(quantities)
        .chain(CHECKPOINT_COUNTS)
        .chain(states.iter().map(String::as_str))
        .collect();
    let kept = places(observed, &names);
    let row = |row: &Vec<f64>| kept.iter().map(|column| row.get(*column).copied().unwrap_or(f64::NAN)).collect();
    Series {
        columns: kept.iter().map(|column| observed.columns[*column].clone()).collect(),
        rows: observed.rows.iter().map(row).collect(),
    }
}

/// Where the columns of these names stand.
fn places(observed: &Series, names: &[&str]) -> Vec<usize> {
    let is_named = |column: &str| names.iter().any(|name| matches(name, column));
    (0..observed.columns.len()).filter(|index| is_named(&observed.columns[*index])).collect()
}

fn matches(name: &str, column: &str) -> bool {
    match name.split_once('*') {
        Some((before, after)) => column.starts_with(before) && column.ends_with(after),
        None => name == column,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(columns: &[&str], rows: &[&[f64]]) -> Series {
        let columns = ["second"].iter().chain(columns).map(|name| (*name).to_owned()).collect();
        let rows = rows.iter().enumerate().map(|(second, row)| [&[second as f64], *row].concat());
        Series { columns, rows: rows.collect() }
    }

    fn quantity(of: Observed) -> &'static Quantity {
        QUANTITIES.iter().find(|quantity| quantity.of == of).unwrap()
    }

    #[test]
    fn reads_and_writes_of_all_disks_add_up_and_gaps_stay_gaps() {
        let seen = series(
            &["host_disk.vda.reads_per_s", "host_disk.vdb.writes_per_s", "host_disk.vda.busy_share"],
            &[&[5.0, 10.0, 0.5], &[f64::NAN, 10.0, 0.5], &[7.0, 0.0, 0.5]],
        );
        assert_eq!(quantity(Observed::DiskOperations).seconds(&seen), [(0.0, 15.0), (2.0, 7.0)]);
        assert_eq!(quantity(Observed::ServerCpu).seconds(&seen), []);
    }

    #[test]
    fn what_a_version_counts_better_is_not_counted_twice() {
        let reads = quantity(Observed::ServerReadsAndWrites);
        let new = series(&["counter.postgres.blks_read_per_s", "counter.postgres.io_reads_per_s"], &[&[4.0, 3.0]]);
        let old = series(&["counter.postgres.blks_read_per_s", "counter.postgres.buffers_clean_per_s"], &[&[4.0, 3.0]]);
        assert_eq!((reads.seconds(&new), reads.seconds(&old)), (vec![(0.0, 3.0)], vec![(0.0, 7.0)]));
    }

    fn check(columns: &[&str], rows: &[&[f64]], expected: &[f64]) {
        assert_eq!(checkpoints(&series(columns, rows)), expected, "{columns:?}");
    }

    #[test]
    fn a_checkpoint_is_seen_by_what_the_server_shows_of_it() {
        let age = "state.checkpoint_age_bytes";
        check(&[age], &[&[10.0], &[100.0], &[95.0], &[f64::NAN], &[20.0], &[30.0]], &[4.0]);
        let counts = "counter.postgres.checkpoints_timed_per_s";
        check(
            &[counts, "state.checkpoints_running"],
            &[&[0.0, 0.0], &[0.5, 1.0], &[0.0, 1.0], &[0.0, 0.0]],
            &[1.0, 2.0],
        );
        // The age of a log grows until the checkpoint is through; where the server shows that one runs, that counts.
        check(&[age, counts], &[&[100.0, 0.0], &[20.0, 0.0]], &[]);
        check(&["server_user_cores"], &[&[1.0]], &[]);
    }

    #[test]
    fn the_series_kept_for_reports_give_the_same_figures() {
        let seen = series(&["host_disk.vda.reads_per_s", "host_user_share", "state.dirty_bytes"], &[&[1.0, 0.2, 9.0]]);
        let kept = told(&seen);
        assert_eq!(kept.columns, ["second", "host_disk.vda.reads_per_s", "state.dirty_bytes"]);
        assert!(QUANTITIES.iter().all(|one| one.seconds(&kept) == one.seconds(&seen)) && told(&kept) == kept);
    }
}
