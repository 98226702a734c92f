//! The kinds of transactions that a workload declares, as a table: what became of each, and whether it kept its
//! limit.
//!
//! Pure formatting, for stored runs and for single ones.

use analysis::Kind;
use record::format::KindRecord;

use super::wording::{integer, number, percent};

/// Columns of the rows below.
pub const COLUMNS: [&str; 7] = ["type", "ended", "rolled back", "failed", "retries", "mean ms", "p90 ms"];
/// The last column: the limit of the 90th percentile, and whether it was kept.
pub const LIMIT_COLUMN: &str = "limit";

/// A row for each declared kind that was counted, in the order in which they are declared.
pub fn rows(declared: &[KindRecord], kinds: &[Kind]) -> Vec<[String; 8]> {
    let counted = declared.iter().filter_map(|one| Some((one, kinds.iter().find(|kind| kind.name == one.name)?)));
    counted.map(|(one, kind)| row(one, kind)).collect()
}

fn row(of: &KindRecord, kind: &Kind) -> [String; 8] {
    let ended = kind.committed + kind.rolled_back;
    let rolled_back = match kind.rolled_back {
        0 => "0".to_owned(),
        count => format!("{} ({})", integer(count), percent(count as f64 / ended as f64)),
    };
    let ms = |value: Option<f64>| value.map_or("-".to_owned(), number);
    [
        of.title.clone(),
        integer(ended),
        rolled_back,
        integer(kind.failed),
        integer(kind.retries),
        ms(kind.latency_ms_avg),
        ms(kind.latency_ms_p90),
        of.p90_limit_s.map_or("-".to_owned(), |limit_s| limit(limit_s, kind)),
    ]
}

fn limit(limit_s: f64, kind: &Kind) -> String {
    // What was never run has no time, but it has not kept the limit either.
    let all = kind.committed + kind.rolled_back + kind.failed;
    let too_many_failed = kind.failed as f64 > 0.1 * all as f64;
    match kind.latency_ms_p90 {
        Some(p90_ms) if p90_ms <= limit_s * 1e3 && !too_many_failed => format!("{limit_s} s met"),
        Some(_) => format!("{limit_s} s missed"),
        None if too_many_failed => format!("{limit_s} s missed"),
        None => "-".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TYPES: [(&str, &str, f64); 4] = [
        ("new_order", "New-Order", 5.0),
        ("delivery", "Delivery", 5.0),
        ("deferred_delivery", "Delivery, deferred", 80.0),
        ("stock_level", "Stock-Level", 20.0),
    ];

    fn declared((name, title, limit_s): (&str, &str, f64)) -> KindRecord {
        KindRecord { name: name.into(), title: title.into(), p90_limit_s: Some(limit_s) }
    }

    fn kind(name: &str, p90_ms: f64) -> Kind {
        Kind {
            name: name.into(),
            committed: 99,
            rolled_back: 1,
            latency_ms_avg: Some(p90_ms / 2.0),
            latency_ms_p90: Some(p90_ms),
            ..Kind::default()
        }
    }

    #[test]
    fn each_type_is_held_to_its_own_limit() {
        let rows = rows(
            &TYPES.map(declared),
            &[
                kind("new_order", 5001.0),
                kind("stock_level", 5001.0),
                Kind { name: "delivery".into(), ..Kind::default() },
            ],
        );
        let told: Vec<(&str, &str)> = rows.iter().map(|row| (row[0].as_str(), row[7].as_str())).collect();
        assert_eq!(told, [("New-Order", "5 s missed"), ("Delivery", "-"), ("Stock-Level", "20 s met")]);
        assert_eq!((rows[0][1].as_str(), rows[0][2].as_str()), ("100", "1 (1 %)"));
    }

    #[test]
    fn what_was_queued_has_eighty_seconds_and_counts_against_them_when_nobody_ran_it() {
        let deferred = |p90_ms, failed| Kind { failed, ..kind("deferred_delivery", p90_ms) };
        let verdict = |of: Kind| rows(&TYPES.map(declared), &[of])[0][7].clone();
        assert_eq!(verdict(deferred(79_000.0, 11)), "80 s met");
        assert_eq!(verdict(deferred(79_000.0, 12)), "80 s missed");
        assert_eq!(verdict(deferred(81_000.0, 0)), "80 s missed");
        let never = Kind { name: "deferred_delivery".into(), failed: 3, ..Kind::default() };
        assert_eq!(verdict(never), "80 s missed");
    }

    #[test]
    fn a_kind_without_a_limit_is_shown_without_one() {
        let declared = KindRecord { p90_limit_s: None, ..declared(TYPES[0]) };
        assert_eq!(rows(&[declared], &[kind("new_order", 5001.0)])[0][7], "-");
    }
}
