//! When the next transaction is due.

use crate::clock::Clock;
use crate::rng::Rng;

/// Decides for one client when its next transaction is *due*, whatever the server does.
#[derive(Debug, Clone)]
pub enum Pacer {
    /// The next transaction is due when the last one has ended.
    Closed,
    /// Arrivals of a Poisson process, scheduled ahead of and independently of the answers, so that
    /// a stalled server cannot make its own load wait.
    Open { mean_gap_ns: f64, next_ns: u64, rng: Rng },
}

impl Pacer {
    pub fn open(per_sec: f64, start_ns: u64, rng: Rng) -> Pacer {
        Pacer::Open { mean_gap_ns: 1e9 / per_sec, next_ns: start_ns, rng }
    }

    /// The moment the next transaction is due.
    pub fn next_due(&mut self, clock: &impl Clock) -> u64 {
        match self {
            Pacer::Closed => clock.now_ns(),
            Pacer::Open { mean_gap_ns, next_ns, rng } => {
                *next_ns += (-(1.0 - rng.unit()).ln() * *mean_gap_ns) as u64;
                *next_ns
            }
        }
    }
}
