//! How long a server was away, from the acknowledgements behind its restart.

use std::time::Duration;

/// How long the rate must be back.
const WINDOW_NS: u64 = 5_000_000_000;
/// The share of the rate before the crash that counts as back.
const FULL_SHARE: f64 = 0.95;

/// From the moment of the restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecoveryTime {
    pub login: Duration,
    pub first_commit: Duration,
    /// To the beginning of the first window with the full rate; none where it did not come back in time.
    pub full_rate: Option<Duration>,
}

impl RecoveryTime {
    /// `acknowledged_ns` earliest first; none while nothing is committed. A window counts only when it is over.
    pub fn of(
        acknowledged_ns: &[u64],
        begun_ns: u64,
        login: Duration,
        rate: Option<f64>,
        now_ns: u64,
    ) -> Option<RecoveryTime> {
        let since = |ns: u64| Duration::from_nanos(ns.saturating_sub(begun_ns));
        let first_commit = since(*acknowledged_ns.first()?);
        let wanted = rate.map(|rate| (FULL_SHARE * rate * WINDOW_NS as f64 / 1e9).ceil() as usize);
        let full = wanted.and_then(|wanted| full_from(acknowledged_ns, wanted.max(1), now_ns));
        Some(RecoveryTime { login, first_commit, full_rate: full.map(since) })
    }
}

fn full_from(acknowledged_ns: &[u64], wanted: usize, now_ns: u64) -> Option<u64> {
    let mut end = 0;
    for (begin, from_ns) in acknowledged_ns.iter().enumerate() {
        if from_ns + WINDOW_NS > now_ns {
            return None;
        }
        while acknowledged_ns.get(end).is_some_and(|ns| *ns < from_ns + WINDOW_NS) {
            end += 1;
        }
        if end - begin >= wanted {
            return Some(*from_ns);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_rate_is_back_with_the_first_whole_window_that_has_it() {
        // One commit every 100 ms for 3 s behind a start that takes 200 ms, then one every 10 ms.
        let slow = (0..30).map(|n| (1_200 + 100 * n) * MS);
        let fast = (0..700).map(|n| (4_200 + 10 * n) * MS);
        let acknowledged: Vec<u64> = slow.chain(fast).collect();
        let of = |now_ms: u64| {
            RecoveryTime::of(&acknowledged, 1_000 * MS, Duration::from_millis(150), Some(100.0), now_ms * MS).unwrap()
        };
        let seen = of(11_200);
        assert_eq!(seen.first_commit, Duration::from_millis(200));
        // 475 commits in 5 s are 95 %: a window that begins 200 ms before the rate is back has 480 and two slow ones.
        let full = seen.full_rate.unwrap();
        assert!((2_900..=3_200).contains(&full.as_millis()), "{full:?}");
        assert_eq!(of(8_000).full_rate, None, "no window is over yet");
    }

    #[test]
    fn without_a_commit_there_is_no_recovery() {
        assert_eq!(RecoveryTime::of(&[], 0, Duration::ZERO, Some(1.0), 10), None);
        let seen = RecoveryTime::of(&[5 * MS], 0, Duration::ZERO, None, 100).unwrap();
        assert_eq!((seen.first_commit, seen.full_rate), (Duration::from_millis(5), None));
    }
}
