//! The response times of a trial window by window.

use serde::Serialize;

use analysis::windows::{Told, windows};

#[derive(Serialize)]
pub struct JsonWindow {
    start_s: f64,
    seconds: f64,
    count: u64,
    out_of_range: u64,
    /// Null where too few lie above it.
    latency_ms_p50: Option<f64>,
    latency_ms_p95: Option<f64>,
    latency_ms_p99: Option<f64>,
    latency_ms_max: Option<f64>,
}

/// Nothing of a log that is damaged: `dbduel verify` says so.
pub fn of(log: &str) -> Vec<JsonWindow> {
    let window = |told: Told| JsonWindow {
        start_s: told.start_s,
        seconds: told.seconds,
        count: told.count,
        out_of_range: told.out_of_range,
        latency_ms_p50: told.p50_ms,
        latency_ms_p95: told.p95_ms,
        latency_ms_p99: told.p99_ms,
        latency_ms_max: told.max_ms,
    };
    windows(log).unwrap_or_default().into_iter().map(window).collect()
}
