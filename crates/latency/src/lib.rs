//! Latencies: a histogram in fixed memory, and the windows of an interval with the log that keeps them.
//!
//! The load generator records into it, analysis reads it back. It depends neither on clocks nor on transactions.

mod histogram;
mod windows;

pub use histogram::{Histogram, OutOfRange};
pub use windows::{LatencyWindow, Sealed, Windows, read_windows};
