//! Latencies: a histogram in fixed memory, and the windows of an interval with the log that keeps them.
//!
//! The load generator records into it, analysis reads it back. It knows neither clocks nor transactions.

mod histogram;
mod windows;

pub use histogram::{Histogram, OutOfRange};
pub use windows::{LatencyWindow, Sealed, Windows, read_windows};
