//! The response times of a trial window by window (method, section 3): where a stall shows that the quantiles of
//! the whole pass over.

use schemars::JsonSchema;
use serde::Serialize;

use latency::{Histogram, LatencyWindow, read_windows};

/// What one window held.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WindowFigures {
    pub start_s: f64,
    pub seconds: f64,
    pub count: u64,
    pub out_of_range: u64,
    /// Absent where too few lie above them.
    #[serde(rename = "latency_ms_p50")]
    pub p50_ms: Option<f64>,
    #[serde(rename = "latency_ms_p95")]
    pub p95_ms: Option<f64>,
    #[serde(rename = "latency_ms_p99")]
    pub p99_ms: Option<f64>,
    /// To three digits, like the buckets; absent where nothing ended.
    #[serde(rename = "latency_ms_max")]
    pub max_ms: Option<f64>,
}

/// The windows of a log; `None` where it is damaged. The bound of a bucket may pass the longest response time of the
/// trial, and is then that time.
pub fn windows(log: &str, longest_ms: Option<f64>) -> Option<Vec<WindowFigures>> {
    let longest_ms = longest_ms.unwrap_or(f64::INFINITY);
    read_windows(log).map(|window| window.as_ref().map(|window| figures_of(window, longest_ms))).collect()
}

/// All windows of a log in one histogram, as merged by adding, and how many there were.
pub fn whole(log: &str) -> Option<(Histogram, usize)> {
    let (mut whole, mut count) = (Histogram::default(), 0);
    for window in read_windows(log) {
        whole.add(&window?.latencies);
        count += 1;
    }
    Some((whole, count))
}

fn figures_of(window: &LatencyWindow, longest_ms: f64) -> WindowFigures {
    let latencies = &window.latencies;
    let count = latencies.count();
    let quantile = |quantile: f64| latencies.tells(quantile).then(|| latencies.quantile_ms(quantile).min(longest_ms));
    WindowFigures {
        start_s: window.start.as_secs_f64(),
        seconds: window.length.as_secs_f64(),
        count,
        out_of_range: latencies.out_of_range.total(),
        p50_ms: quantile(0.5),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        max_ms: (count > 0).then(|| latencies.quantile_ms(1.0).min(longest_ms)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_quantiles_that_enough_latencies_lie_above() {
        let mut latencies = Histogram::default();
        (1..=1000).for_each(|step| latencies.record(step * 1_000_000));
        let start = std::time::Duration::from_secs(5);
        let seen = figures_of(&LatencyWindow { start, length: start, latencies: latencies.clone() }, f64::INFINITY);
        assert_eq!((seen.start_s, seen.seconds, seen.count, seen.out_of_range), (5.0, 5.0, 1000, 0));
        assert!(seen.p99_ms.is_none() && (seen.p95_ms.unwrap() / 950.0 - 1.0).abs() < 0.002, "{seen:?}");
        // As a log has it: buckets, and not the longest of what they hold.
        let latencies = Histogram::decoded(&latencies.encoded()).unwrap();
        let bound = figures_of(&LatencyWindow { start, length: start, latencies: latencies.clone() }, f64::INFINITY);
        let bounded = figures_of(&LatencyWindow { start, length: start, latencies }, 1000.0);
        assert_eq!((bound.max_ms > Some(1000.0), bounded.max_ms), (true, Some(1000.0)), "the bound of a bucket");
        let empty = figures_of(&LatencyWindow { start, length: start, latencies: Histogram::default() }, 9.0);
        assert_eq!((empty.count, empty.p50_ms, empty.max_ms), (0, None, None));
    }

    #[test]
    fn a_damaged_log_has_no_windows() {
        assert_eq!(windows("0.0,5.0,1.0,HIST\n", None), None);
        assert!(whole("0.0,5.0,1.0,HIST\n").is_none());
        assert_eq!(windows("", None), Some(Vec::new()));
    }
}
