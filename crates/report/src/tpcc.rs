//! What reports say of the TPC-C-derived workload beside its numbers: its types of transactions, the
//! limits of their response times, the form of its statements, and that this is no TPC-C result.
//!
//! Pure formatting, for stored runs and for single ones.

use analysis::Kind;

use super::wording::{number, percent};

/// The workload's name in a plan.
pub const NAME: &str = "tpcc";

pub const DISCLAIMER: &str =
    "TPC-C-derived, not a TPC-C result: it was not audited, and published TPC-C results are no measure for it";

/// Columns of the rows below.
pub const COLUMNS: [&str; 7] = ["type", "ended", "rolled back", "failed", "retries", "mean ms", "p90 ms"];
/// The last column: the limit of the 90th percentile, and whether it was kept.
pub const LIMIT_COLUMN: &str = "limit";

/// New-Orders a minute and warehouse that ten terminals reach when the server answers at once.
const NOPM_PER_WAREHOUSE_MAX: f64 = 12.86;
/// The least that the specification accepts of a warehouse.
const NOPM_PER_WAREHOUSE_MIN: f64 = 9.0;

/// Deliveries that were queued are allowed to find no order in one of a hundred (clause 2.7.2).
const SKIPPED_SHARE_MAX: f64 = 0.01;

/// One of the five types, or what was queued of one: its name in metrics, its name for a reader, and the limit of clause 5.2.5.7.
struct Type {
    name: &'static str,
    title: &'static str,
    limit_s: f64,
}

const TYPES: [Type; 6] = [
    Type { name: "new_order", title: "New-Order", limit_s: 5.0 },
    Type { name: "payment", title: "Payment", limit_s: 5.0 },
    Type { name: "order_status", title: "Order-Status", limit_s: 5.0 },
    Type { name: "delivery", title: "Delivery", limit_s: 5.0 },
    Type { name: "deferred_delivery", title: "Delivery, deferred", limit_s: 80.0 },
    Type { name: "stock_level", title: "Stock-Level", limit_s: 20.0 },
];

/// A row per type that was counted, in the specification's order.
pub fn rows(kinds: &[Kind]) -> Vec<[String; 8]> {
    let counted = TYPES.iter().filter_map(|one| Some((one, kinds.iter().find(|kind| kind.name == one.name)?)));
    counted.map(|(one, kind)| row(one, kind)).collect()
}

fn row(of: &Type, kind: &Kind) -> [String; 8] {
    let ended = kind.committed + kind.rolled_back;
    let rolled_back = match kind.rolled_back {
        0 => "0".to_owned(),
        count => format!("{count} ({})", percent(count as f64 / ended as f64)),
    };
    let ms = |value: Option<f64>| value.map_or("-".to_owned(), number);
    // What was never run has no time, but it has not kept the limit either.
    let too_many_failed = kind.failed as f64 > 0.1 * (ended + kind.failed) as f64;
    let verdict = match kind.latency_ms_p90 {
        Some(p90_ms) if p90_ms <= of.limit_s * 1e3 && !too_many_failed => format!("{} s OK", of.limit_s),
        Some(_) => format!("{} s NG", of.limit_s),
        None if too_many_failed => format!("{} s NG", of.limit_s),
        None => "-".to_owned(),
    };
    [
        of.title.to_owned(),
        ended.to_string(),
        rolled_back,
        kind.failed.to_string(),
        kind.retries.to_string(),
        ms(kind.latency_ms_avg),
        ms(kind.latency_ms_p90),
        verdict,
    ]
}

/// How the transactions were sent and when, from the options in force.
pub fn manner(option: impl Fn(&str) -> Option<String>) -> String {
    let of = |name: &str| option(name).unwrap_or_default();
    let mut text = format!("form {}", of("form"));
    if of("form") == "procedures" {
        text += " (written in SQL for MySQL and MariaDB, in PL/pgSQL for PostgreSQL)";
    }
    if of("db_ps_mode") == "disable" {
        text += ", statements as text";
    }
    text += &format!(", profile {}", of("profile"));
    let chosen = ["pacing", "mix", "home", "delivery"].iter().map(|name| (name, of(name)));
    for (name, value) in chosen.filter(|(_, value)| !["", "auto", "whole"].contains(&value.as_str())) {
        text += &format!(", {name} {value}");
    }
    let rest = if is_paced(option) { "keying and think times as specified" } else { "no keying and no think times" };
    format!("{text}; {rest}")
}

/// Whether clients rest as the specification wants it.
pub fn is_paced(option: impl Fn(&str) -> Option<String>) -> bool {
    match option("pacing").as_deref() {
        Some("spec") => true,
        Some("none") => false,
        _ => option("profile").as_deref() == Some("spec"),
    }
}

/// Whether Deliveries found orders, where they were queued or one of them did not; from metrics by name.
pub fn skipped_deliveries(metric: impl Fn(&str) -> Option<f64>) -> Option<String> {
    let deferred = metric("deferred_delivery.committed");
    let skipped = metric("skipped_districts").filter(|skipped| *skipped > 0.0 || deferred.is_some())?;
    let deliveries = deferred.or_else(|| metric("delivery.committed")).unwrap_or(0.0);
    let allowed = (SKIPPED_SHARE_MAX * deliveries).max(1.0);
    let verdict = if skipped <= allowed { "OK" } else { "NG" };
    Some(format!(
        "Deliveries found no order in {} districts; {} are allowed for {} deliveries: {verdict}",
        number(skipped),
        number(allowed),
        number(deliveries)
    ))
}

/// How near the rate came to what the think times allow.
pub fn efficiency(nopm_per_warehouse: f64) -> String {
    let remark = match nopm_per_warehouse {
        rate if rate > NOPM_PER_WAREHOUSE_MAX => "; more than they allow: too short an interval for a rate",
        rate if rate < NOPM_PER_WAREHOUSE_MIN => "; the specification accepts no less than 9",
        _ => "",
    };
    format!(
        "{nopm_per_warehouse:.2} NOPM per warehouse of the {NOPM_PER_WAREHOUSE_MAX} that think times allow ({}{remark})",
        percent(nopm_per_warehouse / NOPM_PER_WAREHOUSE_MAX)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let rows = rows(&[
            kind("new_order", 5001.0),
            kind("stock_level", 5001.0),
            Kind { name: "delivery".into(), ..Kind::default() },
        ]);
        let told: Vec<(&str, &str)> = rows.iter().map(|row| (row[0].as_str(), row[7].as_str())).collect();
        assert_eq!(told, [("New-Order", "5 s NG"), ("Delivery", "-"), ("Stock-Level", "20 s OK")]);
        assert_eq!((rows[0][1].as_str(), rows[0][2].as_str()), ("100", "1 (1 %)"));
    }

    #[test]
    fn what_was_queued_has_eighty_seconds_and_counts_against_them_when_nobody_ran_it() {
        let deferred = |p90_ms, failed| Kind { failed, ..kind("deferred_delivery", p90_ms) };
        let verdict = |of: Kind| rows(&[of])[0][7].clone();
        assert_eq!(verdict(deferred(79_000.0, 11)), "80 s OK");
        assert_eq!(verdict(deferred(79_000.0, 12)), "80 s NG");
        assert_eq!(verdict(deferred(81_000.0, 0)), "80 s NG");
        let never = Kind { name: "deferred_delivery".into(), failed: 3, ..Kind::default() };
        assert_eq!(verdict(never), "80 s NG");
    }

    #[test]
    fn one_of_a_hundred_deliveries_may_skip_a_district() {
        let check = |skipped: f64, deferred: Option<f64>, expected: Option<&str>| {
            let told = skipped_deliveries(|name| match name {
                "skipped_districts" => Some(skipped),
                "deferred_delivery.committed" => deferred,
                "delivery.committed" => Some(1000.0),
                _ => None,
            });
            assert_eq!(told.as_deref().map(|told| &told[told.len() - 2..]), expected, "{told:?}");
        };
        check(0.0, None, None);
        check(0.0, Some(7.0), Some("OK"));
        check(10.0, None, Some("OK"));
        check(11.0, None, Some("NG"));
        check(1.0, Some(7.0), Some("OK"));
        check(2.0, Some(7.0), Some("NG"));
    }

    #[test]
    fn a_rate_beyond_what_think_times_allow_is_no_efficiency() {
        assert!(efficiency(12.5).ends_with("think times allow (97 %)"), "{}", efficiency(12.5));
        assert!(efficiency(28.0).contains("218 %; more than they allow"), "{}", efficiency(28.0));
        assert!(efficiency(8.9).contains("no less than 9"), "{}", efficiency(8.9));
    }

    #[test]
    fn a_profile_rests_unless_the_pacing_beside_it_says_otherwise() {
        let check = |profile: &str, pacing: &str, expected| {
            let option = |name: &str| match name {
                "profile" => Some(profile.to_owned()),
                "pacing" => Some(pacing.to_owned()),
                _ => None,
            };
            assert_eq!(is_paced(option), expected, "{profile} {pacing}");
        };
        check("spec", "auto", true);
        check("spec", "none", false);
        check("nothink", "spec", true);
        check("dbt2", "auto", false);
    }
}
