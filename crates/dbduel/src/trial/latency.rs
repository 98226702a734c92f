//! What a trial tells of its response times beside their quantiles (method, section 3).

use std::time::Duration;

use load::Tally;

use super::metrics::shown_quantiles;

/// So long is a window of response times.
pub const WINDOW: Duration = Duration::from_secs(5);

/// What lies outside of the histogram's bounds: a metric of every trial, and a flag where it is not nothing.
pub const OUT_OF_RANGE: &str = "latency_out_of_range";
const OUT_OF_RANGE_FLAG: &str = "out-of-range";

/// The flag, and what it is about.
pub fn out_of_range(tally: &Tally) -> Option<(String, String)> {
    let load::OutOfRange { below, above } = tally.response.out_of_range;
    let remark = format!(
        "{below} response times below 1 us, which are known to half a microsecond, and {above} above an hour: \
         quantiles that reach these are told as an hour"
    );
    (below + above > 0).then(|| (OUT_OF_RANGE_FLAG.to_owned(), remark))
}

/// How often a client of a closed loop is expected to begin a transaction: its mean interval in this trial, a
/// stall included. That is what the clients did and not what they were asked for, since nobody asks a closed
/// loop for a rate.
pub fn expected_interval_ns(clients: u32, tps: f64) -> Option<u64> {
    let interval_ns = 1e9 * f64::from(clients) / tps;
    (interval_ns.is_finite() && interval_ns >= 1.0).then(|| interval_ns.round() as u64)
}

/// Quantiles corrected by the expected interval: how much the closed loop may hide, and nothing that a word may
/// rest on. In an open loop response times count from the due time, and there is nothing to correct.
pub fn corrected(tally: &Tally) -> Vec<(String, f64)> {
    let interval_ns = expected_interval_ns(tally.clients, tally.tps()).filter(|_| tally.response.count() > 0);
    let Some(corrected) = interval_ns.map(|interval_ns| tally.response.corrected(interval_ns)) else {
        return Vec::new();
    };
    // As many as the others: what was added is a guess, and no reason to tell more.
    let shown = shown_quantiles(&tally.response);
    shown.map(|(name, quantile)| (format!("corrected_ms_{name}"), corrected.quantile_ms(quantile))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two clients in ten seconds: an answer a millisecond each, and a stall of a second for both.
    fn stalled() -> Tally {
        let mut tally = Tally { clients: 2, interval_ns: 10_000_000_000, committed: 18_002, ..Tally::default() };
        (0..18_000).for_each(|_| tally.response.record(1_000_000));
        (0..2).for_each(|_| tally.response.record(1_000_000_000));
        tally
    }

    #[test]
    fn what_a_stall_hid_shows_in_the_corrected_quantiles_only() {
        let told = corrected(&stalled());
        let quantile = |name: &str| told.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!(told.len(), 4, "p99.9 has too few above it: {told:?}");
        assert!(quantile("corrected_ms_p50").unwrap() < 1.01);
        let p99 = quantile("corrected_ms_p99").unwrap();
        // Of the transactions that were added, two every 1.1 ms, the 198 longest are the last hundredth.
        assert!((850.0..950.0).contains(&p99), "{p99}");
        assert!(stalled().response.quantile_ms(0.99) < 1.01);
    }

    #[test]
    fn an_interval_is_expected_only_of_clients_that_did_something() {
        assert_eq!(expected_interval_ns(16, 1000.0), Some(16_000_000));
        assert_eq!(expected_interval_ns(16, 0.0), None);
        assert_eq!(corrected(&Tally { committed: 0, ..stalled() }), []);
        assert_eq!(corrected(&Tally { clients: 2, interval_ns: 1, committed: 1, ..Tally::default() }), []);
    }

    #[test]
    fn what_is_out_of_range_is_said_and_what_is_not_is_no_flag() {
        let mut tally = stalled();
        assert_eq!(out_of_range(&tally), None);
        tally.response.record(500);
        tally.response.record(3_600_000_000_001);
        let (flag, remark) = out_of_range(&tally).unwrap();
        assert_eq!(flag, "out-of-range");
        assert!(
            remark.starts_with("1 response times below 1 us") && remark.contains("and 1 above an hour"),
            "{remark}"
        );
    }
}
