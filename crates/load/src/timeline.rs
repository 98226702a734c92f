//! The interval that is measured, as the coordinator moves it and all workers see it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The measured interval; both ends are `u64::MAX` until it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
}

/// What the coordinator tells the workers while they run; read, never waited for.
#[derive(Debug)]
pub struct Timeline {
    window_start_ns: AtomicU64,
    window_end_ns: AtomicU64,
    stop: AtomicBool,
    /// Transactions ended so far, whenever they were due; for the progress line, and the tally's `ended`.
    pub ended: AtomicU64,
}

impl Default for Timeline {
    fn default() -> Timeline {
        Timeline {
            window_start_ns: AtomicU64::new(u64::MAX),
            window_end_ns: AtomicU64::new(u64::MAX),
            stop: AtomicBool::new(false),
            ended: AtomicU64::new(0),
        }
    }
}

impl Timeline {
    /// Opens the measured interval. Its end is set first, so that no reader sees half a window.
    pub fn open_window(&self, window: Window) {
        self.window_end_ns.store(window.end_ns, Ordering::Release);
        self.window_start_ns.store(window.start_ns, Ordering::Release);
    }

    pub fn window(&self) -> Window {
        let start_ns = self.window_start_ns.load(Ordering::Acquire);
        Window { start_ns, end_ns: self.window_end_ns.load(Ordering::Acquire) }
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// No transaction that is due at `now_ns` should start any more.
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.window_end_ns.load(Ordering::Relaxed) || self.stop.load(Ordering::Relaxed)
    }
}
