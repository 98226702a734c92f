//! How long a user rests: keying and think times (clause 5.2.5), and the waits between tries.
//!
//! Rests are drawn from the seed by a transaction's number, as inputs are, so they are the same for every
//! contender.

use std::time::Duration;

use load::{Rng, Turn};

const SECOND_NS: f64 = 1e9;
/// By kind: a constant while the inputs are typed in.
const KEYING_SECS: [f64; 5] = [18.0, 3.0, 2.0, 2.0, 2.0];
/// By kind: the mean of a negative exponential distribution, spent on what the screen shows.
const THINKING_SECS: [f64; 5] = [12.0, 12.0, 10.0, 5.0, 5.0];
/// A think time is cut at so many times its mean.
const THINKING_MOST: f64 = 10.0;
/// In percent, by kind: the mix that the mean cycle is taken over.
const WEIGHTS: [f64; 5] = [45.0, 43.0, 4.0, 4.0, 4.0];

/// Both behind the longest think time and before the longest keying time.
pub const REST_MAX: Duration = Duration::from_secs((12.0 * THINKING_MOST + KEYING_SECS[0]) as u64);

/// Streams of the generator beside those of inputs.
const THINKING: u64 = u64::from_be_bytes(*b"tpccthnk");
const STAGGER: u64 = u64::from_be_bytes(*b"tpccstag");
const RETRIES: u64 = u64::from_be_bytes(*b"tpccrtry");

/// The rests of the users of one run.
#[derive(Debug, Clone)]
pub struct Pauses {
    input_seed: u64,
}

impl Pauses {
    pub fn new(input_seed: u64) -> Pauses {
        Pauses { input_seed }
    }

    /// The rest between the end of the transaction before and the start of this one: thinking about that
    /// one, keying this one in. `kind_of` gives the kinds. A user's first transaction comes somewhere
    /// within a mean cycle, as if all had been at work before; else they would come in step.
    pub fn before(&self, turn: Turn, kind_of: impl Fn(Turn) -> usize) -> u64 {
        let Some(number) = turn.number.checked_sub(1) else {
            let part = Rng::stream(self.input_seed ^ STAGGER, turn.series, 0).unit();
            return (part * mean_cycle_secs() * SECOND_NS) as u64;
        };
        let thinking_secs = self.thinking_secs(turn.series, number, kind_of(Turn { number, ..turn }));
        ((thinking_secs + KEYING_SECS[kind_of(turn)]) * SECOND_NS) as u64
    }

    fn thinking_secs(&self, series: u64, number: u64, kind: usize) -> f64 {
        // In (0, 1], so that the logarithm is finite.
        let part = 1.0 - Rng::stream(self.input_seed ^ THINKING, series, number).unit();
        (-part.ln()).min(THINKING_MOST) * THINKING_SECS[kind]
    }
}

/// Of a user whose transactions take no time.
fn mean_cycle_secs() -> f64 {
    (0..WEIGHTS.len()).map(|kind| WEIGHTS[kind] / 100.0 * (KEYING_SECS[kind] + THINKING_SECS[kind])).sum()
}

/// Tries of one transaction before it is given up.
const TRIES_MAX: u64 = 100;
/// Waits before later tries.
const BACK_OFF_NS: (u64, u64) = (1_000_000, 10_000_000);

/// The second try comes at once; later ones after a while, since the other transaction may be there still.
pub fn retry_pause_ns(input_seed: u64, turn: Turn) -> Option<u64> {
    let (least, most) = BACK_OFF_NS;
    match turn.retry {
        0 | 1 => Some(0),
        TRIES_MAX.. => None,
        retry => {
            let mut rng = Rng::stream(input_seed ^ RETRIES ^ retry, turn.series, turn.number);
            Some(least + rng.below(most - least + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(series: u64, number: u64, retry: u64) -> Turn {
        Turn { series, number, retry }
    }

    #[test]
    fn a_mean_cycle_is_the_one_that_limits_orders_per_warehouse() {
        assert!((mean_cycle_secs() - 20.99).abs() < 1e-9, "{}", mean_cycle_secs());
        let per_minute = 0.45 * 10.0 * 60.0 / mean_cycle_secs();
        assert!((per_minute - 12.86).abs() < 0.005, "{per_minute} New-Orders per minute of ten terminals");
    }

    #[test]
    fn a_rest_is_thinking_about_the_last_and_keying_in_the_next() {
        let pauses = Pauses::new(7);
        // Even turns are kind 0 (18 s keying, 12 s thinking), odd ones kind 4 (2 s and 5 s).
        let kind_of = |turn: Turn| if turn.number.is_multiple_of(2) { 0 } else { 4 };
        let check = |first: u64, keying: f64, mean: f64| {
            let count = 50_000;
            let rests = (0..count).map(|at| pauses.before(turn(3, first + 2 * at, 0), kind_of) as f64 / 1e9);
            let thinking: Vec<f64> = rests.map(|rest| rest - keying).collect();
            let measured = thinking.iter().sum::<f64>() / count as f64;
            assert!((measured / mean - 1.0).abs() < 4.0 / (count as f64).sqrt(), "{measured} s, not {mean} s");
            assert!(thinking.iter().all(|secs| (-1e-6..=10.0 * mean + 1e-6).contains(secs)));
            let above = thinking.iter().filter(|secs| **secs > mean).count() as f64 / count as f64;
            assert!((above - (-1.0_f64).exp()).abs() < 0.01, "{above} of them above the mean");
        };
        check(1, 2.0, 12.0);
        check(2, 18.0, 5.0);
    }

    #[test]
    fn first_transactions_are_spread_over_a_cycle() {
        let first = |series| Pauses::new(1).before(turn(series, 0, 0), |_| 0) as f64 / 1e9;
        let mean = (0..10_000).map(first).sum::<f64>() / 1e4;
        assert!((mean - mean_cycle_secs() / 2.0).abs() < 0.25, "{mean} s");
        assert!((0..10_000).map(first).all(|secs| secs < mean_cycle_secs()));
    }

    #[test]
    fn a_second_try_comes_at_once_and_the_hundred_and_first_never() {
        assert_eq!(retry_pause_ns(1, turn(0, 0, 1)), Some(0));
        let later: Vec<u64> = (2..TRIES_MAX).map(|retry| retry_pause_ns(1, turn(0, 0, retry)).unwrap()).collect();
        assert!(later.iter().all(|pause_ns| (1_000_000..=10_000_000).contains(pause_ns)));
        assert!(later.iter().max() > Some(&8_000_000) && later.iter().min() < Some(&3_000_000), "{later:?}");
        assert_eq!(retry_pause_ns(1, turn(0, 0, TRIES_MAX)), None);
        assert_ne!(retry_pause_ns(1, turn(0, 0, 2)), retry_pause_ns(1, turn(1, 0, 2)), "clients part ways");
    }
}
