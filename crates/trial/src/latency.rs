//! Metrics of a trial's response times beside their quantiles (method, section 3).

use std::time::Duration;

use load::{Histogram, Tally};

/// So long is a window of response times.
pub const WINDOW: Duration = Duration::from_secs(5);

const QUANTILES: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];

/// Those that have enough latencies above them.
pub fn shown_quantiles(histogram: &Histogram) -> impl Iterator<Item = (&'static str, f64)> {
    QUANTILES.into_iter().filter(|(_, quantile)| histogram.tells(*quantile))
}

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

/// A closed loop whose clients did not all work: a metric of every trial, and a flag.
pub const BUSY_CLIENTS: &str = "busy_clients";
pub const STARVED: &str = "starved";
/// In less time a thread that starts late would be a client that does not work.
const BUSY_INTERVAL_NS_MIN: u64 = 1_000_000_000;
/// How far transactions per second times response time may lie from the number of clients.
const BUSY_TOLERANCE: f64 = 0.1;

/// The flag, and its figures (method, amendment A8).
pub fn starved(tally: &Tally) -> Option<(String, String)> {
    let clients = f64::from(tally.clients);
    let is_short = tally.interval_ns < BUSY_INTERVAL_NS_MIN;
    let is_busy = is_short || (tally.busy_clients() / clients - 1.0).abs() <= BUSY_TOLERANCE;
    let all_worked = tally.starved == 0 && is_busy;
    (!all_worked).then(|| {
        let why = format!(
            "transactions per second times response time come to {:.2} of {clients} clients; {} waited for one \
             transaction during the whole interval",
            tally.busy_clients(),
            tally.starved
        );
        (STARVED.to_owned(), why)
    })
}

/// How often a client of a closed loop is expected to begin a transaction: its mean interval in this trial, a
/// stall included. That is what the clients did and not what they were asked for, since a closed
/// loop has no rate.
pub fn expected_interval_ns(clients: u32, tps: f64) -> Option<u64> {
    let interval_ns = 1e9 * f64::from(clients) / tps;
    (interval_ns.is_finite() && interval_ns >= 1.0).then(|| interval_ns.round() as u64)
}

/// Quantiles corrected by the expected interval: how much the closed loop may hide, and nothing that a verdict may
/// rest on. In an open loop response times count from the due time, and there is nothing to correct.
pub fn corrected(tally: &Tally) -> Vec<(String, f64)> {
    let interval_ns = expected_interval_ns(tally.clients, tally.tps()).filter(|_| tally.response.count() > 0);
    let Some(corrected) = interval_ns.map(|interval_ns| tally.response.corrected(interval_ns)) else {
        return Vec::new();
    };
    // As many as the others: what was added is a guess, and no reason to report more.
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
        let quantiles = corrected(&stalled());
        let quantile = |name: &str| quantiles.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
        assert_eq!(quantiles.len(), 4, "p99.9 has too few above it: {quantiles:?}");
        assert!(quantile("corrected_ms_p50").unwrap() < 1.01);
        let p99 = quantile("corrected_ms_p99").unwrap();
        // Of the transactions that were added, two every 1.1 ms, the 198 longest are the last hundredth.
        assert!((850.0..950.0).contains(&p99), "{p99}");
        assert!(stalled().response.quantile_ms(0.99) < 1.01);
    }

    #[test]
    fn clients_that_do_not_work_are_told_with_the_figure() {
        let busy = |busy_ns: u64, starved: u64| Tally {
            clients: 4,
            interval_ns: 10_000_000_000,
            in_flight_ns: busy_ns * 100_000_000,
            starved,
            ..Tally::default()
        };
        assert_eq!(starved(&busy(400, 0)), None);
        assert_eq!(starved(&busy(361, 0)), None);
        let (flag, why) = starved(&busy(100, 0)).unwrap();
        assert!(flag == "starved" && why.contains("1.00 of 4 clients; 0 waited"), "{why}");
        let (_, why) = starved(&busy(400, 3)).unwrap();
        assert!(why.contains("4.00 of 4 clients; 3 waited for one transaction"), "{why}");
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
