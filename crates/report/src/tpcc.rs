//! What reports show of the TPC-C-derived workload beside what it declares: how near its rate came to what think
//! times allow, and whether its Deliveries found orders.
//!
//! Pure formatting, for stored runs and for single ones.

use super::wording::{integer, number};

/// New-Orders a minute and warehouse that ten terminals reach when the server answers at once.
const NOPM_PER_WAREHOUSE_MAX: f64 = 12.86;
/// The least that the specification accepts of a warehouse.
const NOPM_PER_WAREHOUSE_MIN: f64 = 9.0;

/// Deliveries that were queued are allowed to find no order in one of a hundred (clause 2.7.2).
const SKIPPED_SHARE_MAX: f64 = 0.01;

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
    let verdict = if skipped <= allowed { "kept" } else { "exceeded" };
    Some(format!(
        "Deliveries found no order in {} districts; {} are allowed for {} deliveries: limit {verdict}",
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
        "{} NOPM per warehouse of the {NOPM_PER_WAREHOUSE_MAX} that think times allow ({} %{remark})",
        number(nopm_per_warehouse),
        integer((100.0 * nopm_per_warehouse / NOPM_PER_WAREHOUSE_MAX).round() as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_hundred_deliveries_may_skip_a_district() {
        let check = |skipped: f64, deferred: Option<f64>, expected: Option<&str>| {
            let told = skipped_deliveries(|name| match name {
                "skipped_districts" => Some(skipped),
                "deferred_delivery.committed" => deferred,
                "delivery.committed" => Some(1000.0),
                _ => None,
            });
            assert_eq!(told.as_deref().map(|told| told.rsplit(' ').next().unwrap()), expected, "{told:?}");
        };
        check(0.0, None, None);
        check(0.0, Some(7.0), Some("kept"));
        check(10.0, None, Some("kept"));
        check(11.0, None, Some("exceeded"));
        check(1.0, Some(7.0), Some("kept"));
        check(2.0, Some(7.0), Some("exceeded"));
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
