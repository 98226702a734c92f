//! The log of deferred transactions, as a trial keeps it: its columns and what they mean come from the
//! workload. TPC-C requires one of its Deliveries (clause 2.7.2.2).

use load::{DeferredLog, Line};

use record::format::{Series, TORN_LOG};

/// A row for each that committed, warm-up and drain included, in the order of their ends. Times are seconds from
/// the beginning of the interval, so those of the warm-up are below 0. Empty where nothing was deferred.
pub fn series(journal: &DeferredLog, columns: &[&str]) -> Series {
    if columns.is_empty() {
        return Series::default();
    }
    let mut rows: Vec<Vec<f64>> = journal.lines().map(row).collect();
    rows.sort_by(|one, other| one[1].total_cmp(&other[1]));
    Series { columns: ["queued_s", "ended_s"].iter().chain(columns).map(|name| (*name).to_owned()).collect(), rows }
}

/// No number is an empty cell.
fn row(line: Line<'_>) -> Vec<f64> {
    let numbers = line.numbers.iter().map(|number| if *number == 0 { f64::NAN } else { f64::from(*number) });
    [line.queued_ns, line.ended_ns].map(seconds).into_iter().chain(numbers).collect()
}

/// To the microsecond, which is enough.
fn seconds(ns: i64) -> f64 {
    (ns as f64 / 1e3).round() / 1e6
}

/// A log that lacks lines is marked.
pub fn torn(journal: &DeferredLog) -> Option<(String, String)> {
    let (kept, lost) = (journal.len() as u64, journal.lost);
    let all = kept + lost;
    (lost > 0).then(|| (TORN_LOG.to_owned(), format!("{lost} of {all} deferred transactions found no room in the log")))
}

#[cfg(test)]
mod tests {
    use load::Timing;

    use super::*;

    fn journal(lines: &[(u64, u64, [u32; 2])]) -> DeferredLog {
        let mut journal = DeferredLog::with_capacity(2, 2);
        for (due_ns, end_ns, numbers) in lines {
            journal.write(Timing { due_ns: *due_ns, start_ns: *due_ns, end_ns: *end_ns }, numbers);
        }
        journal.count_from(2_000_000_000);
        journal
    }

    #[test]
    fn lines_stand_in_the_order_of_their_ends_and_what_is_not_there_is_empty() {
        let lines = journal(&[(2_500_000_400, 3_000_000_000, [7, 0]), (1_000_000_000, 2_250_000_000, [1, 9])]);
        let series = series(&lines, &["w_id", "o_id_d1"]);
        assert_eq!(series.columns, ["queued_s", "ended_s", "w_id", "o_id_d1"]);
        assert_eq!(series.rows[0], [-1.0, 0.25, 1.0, 9.0]);
        assert_eq!(series.rows[1][..3], [0.5, 1.0, 7.0]);
        assert!(series.rows[1][3].is_nan());
        assert_eq!(torn(&lines), None);
    }

    #[test]
    fn without_deferred_transactions_there_is_no_log() {
        assert_eq!(series(&DeferredLog::default(), &[]), Series::default());
    }

    #[test]
    fn lines_that_found_no_room_are_counted() {
        let (flag, why) = torn(&journal(&[(1, 2, [1, 1]); 5])).unwrap();
        assert_eq!(
            (flag.as_str(), why.as_str()),
            ("torn-log", "3 of 5 deferred transactions found no room in the log")
        );
    }
}
