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

/// The windows of a log; `None` where it is damaged.
pub fn windows(log: &str) -> Option<Vec<WindowFigures>> {
    read_windows(log).map(|window| window.as_ref().map(figures_of)).collect()
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

fn figures_of(window: &LatencyWindow) -> WindowFigures {
    let latencies = &window.latencies;
    let count = latencies.count();
    let quantile = |quantile: f64| latencies.tells(quantile).then(|| latencies.quantile_ms(quantile));
    WindowFigures {
        start_s: window.start.as_secs_f64(),
        seconds: window.length.as_secs_f64(),
        count,
        out_of_range: latencies.out_of_range.total(),
        p50_ms: quantile(0.5),
        p95_ms: quantile(0.95),
        p99_ms: quantile(0.99),
        max_ms: (count > 0).then(|| latencies.quantile_ms(1.0)),
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
        let seen = figures_of(&LatencyWindow { start, length: start, latencies });
        assert_eq!((seen.start_s, seen.seconds, seen.count, seen.out_of_range), (5.0, 5.0, 1000, 0));
        assert!(seen.p99_ms.is_none() && (seen.p95_ms.unwrap() / 950.0 - 1.0).abs() < 0.002, "{seen:?}");
        let empty = figures_of(&LatencyWindow { start, length: start, latencies: Histogram::default() });
        assert_eq!((empty.count, empty.p50_ms, empty.max_ms), (0, None, None));
    }

    #[test]
    fn a_damaged_log_has_no_windows() {
        assert_eq!(windows("0.0,5.0,1.0,HIST\n"), None);
        assert!(whole("0.0,5.0,1.0,HIST\n").is_none());
        assert_eq!(windows(""), Some(Vec::new()));
    }
}
