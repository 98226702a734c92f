//! Rule `watch`: evidence that may be looked at after every block, for ever.
//!
//! If the true log ratio is `delta`, the sign of each `d - delta` is a fair coin, so a gambler who
//! bets on it, with stakes that follow from earlier blocks and from sizes alone, can expect to win
//! nothing. Six gamblers bet more or less boldly on either side; when their mean fortune has grown
//! to 1/alpha, `delta` is rejected. That happens to a true one in at most alpha of all runs,
//! however long they go on (Ville's inequality; de la Pena 1999; Ramdas et al. 2020). The price is
//! power: `exact` needs fewer blocks for the same difference.

use super::{Evidence, whole_range};
use crate::describe::{Interval, hodges_lehmann, t_quantile};

/// How boldly the gamblers bet, per spread of the log ratios.
const BOLDNESS: [f64; 3] = [0.5, 1.0, 2.0];

/// Makes a median of sizes the standard deviation of a normal distribution.
const SD_PER_MEDIAN: f64 = 1.4826;

/// With fewer past blocks than this the spread is that of the block itself: sizes tell no sign.
const PAST_BLOCKS_MIN: usize = 3;

/// Distances from the estimate at which the interval's ends are looked for: each this many times the one before.
const STRIDE: f64 = 1.2;
/// From a thousandth of the data's range to where every sign is the same and sizes hardly differ.
const STRIDES: i32 = 170;
const BISECTIONS: usize = 40;

pub struct Watch {
    alpha: f64,
}

impl Watch {
    pub fn new(alpha: f64) -> Watch {
        Watch { alpha }
    }

    /// The offset from the estimate, in this direction, at which the last accepted log ratio lies.
    fn reach(&self, log_ratios: &[f64], estimate: f64, unit: f64) -> Option<f64> {
        let accepted = |offset: f64| !is_rich(log_ratios, estimate + offset, self.alpha);
        let stride = |step: i32| unit * STRIDE.powi(step);
        let outermost = (0..STRIDES).rev().find(|step| accepted(stride(*step)));
        let (mut inside, mut outside) = match outermost {
            Some(step) => (stride(step), stride(step + 1)),
            None if accepted(0.0) => (0.0, stride(0)),
            None => return None,
        };
        for _ in 0..BISECTIONS {
            let middle = (inside + outside) / 2.0;
            if accepted(middle) { inside = middle } else { outside = middle }
        }
        Some(outside)
    }
}

impl Evidence for Watch {
    fn interval(&self, log_ratios: &[f64], _looks: &[usize]) -> Option<Interval> {
        if !word_is_possible(self.alpha, log_ratios.len()) {
            return None;
        }
        let estimate = hodges_lehmann(log_ratios)?;
        let whole = whole_range(log_ratios);
        let range = whole.high - whole.low;
        if range == 0.0 {
            return Some(whole);
        }
        let ends =
            self.reach(log_ratios, estimate, -range / 1000.0).zip(self.reach(log_ratios, estimate, range / 1000.0));
        Some(ends.map_or(whole, |(down, up)| Interval { low: estimate + down, high: estimate + up }))
    }

    fn rejects(&self, log_ratios: &[f64], log_ratio: f64, _looks: &[usize]) -> bool {
        is_rich(log_ratios, log_ratio, self.alpha)
    }

    /// The gamblers' power has no formula: what half the interval spans is seen in one run of two,
    /// and a little more in nine of ten.
    fn mde(&self, sd: f64, blocks: usize, interval: Option<Interval>) -> Option<f64> {
        let half = interval.map(|bounds| (bounds.high - bounds.low) / 2.0)?;
        Some((half + t_quantile(blocks - 1, 0.9) * sd / (blocks as f64).sqrt()).exp_m1())
    }
}

/// Can so many blocks reject anything? The most one-sided case is a log ratio far from all the
/// data: there every sign is the same, and sizes hardly differ.
pub fn word_is_possible(alpha: f64, blocks: usize) -> bool {
    is_rich(&vec![1.0; blocks], 0.0, alpha)
}

/// Have the gamblers ever owned 1/alpha, if they bet against this log ratio from the first block on?
fn is_rich(log_ratios: &[f64], log_ratio: f64, alpha: f64) -> bool {
    let mut gamblers = Gamblers::default();
    log_ratios.iter().any(|value| {
        gamblers.see(value - log_ratio);
        gamblers.are_rich(alpha)
    })
}

/// The six of them at one table, and what they have seen so far.
#[derive(Debug, Clone)]
pub struct Gamblers {
    /// Those who bet on positive distances, then those who bet on negative ones.
    fortunes: [f64; 2 * BOLDNESS.len()],
    /// Of past blocks, ascending.
    sizes: Vec<f64>,
}

impl Default for Gamblers {
    fn default() -> Gamblers {
        Gamblers { fortunes: [1.0; 2 * BOLDNESS.len()], sizes: Vec::new() }
    }
}

impl Gamblers {
    /// One more block: how far its log ratio lies from what they bet against.
    pub fn see(&mut self, distance: f64) {
        let size = distance.abs();
        let spread = if self.sizes.len() < PAST_BLOCKS_MIN { size } else { median(&self.sizes) } * SD_PER_MEDIAN;
        self.sizes.insert(self.sizes.partition_point(|past| *past < size), size);
        bet(&mut self.fortunes, distance, spread);
    }

    /// Do they own 1/alpha on average?
    pub fn are_rich(&self, alpha: f64) -> bool {
        self.fortunes.iter().sum::<f64>() >= self.fortunes.len() as f64 / alpha
    }

    /// What they own on average; they began with 1.
    pub fn fortune(&self) -> f64 {
        self.fortunes.iter().sum::<f64>() / self.fortunes.len() as f64
    }

    /// Have those won more who bet on positive distances?
    pub fn lean_upward(&self) -> bool {
        let (upward, downward) = self.fortunes.split_at(BOLDNESS.len());
        upward.iter().sum::<f64>() > downward.iter().sum::<f64>()
    }
}

/// Each gambler's fortune is multiplied by exp(x) / cosh(x), which is 1 on average over both signs.
fn bet(fortunes: &mut [f64; 2 * BOLDNESS.len()], distance: f64, spread: f64) {
    if distance == 0.0 {
        return; // no sign, no bet
    }
    let (upward, downward) = fortunes.split_at_mut(BOLDNESS.len());
    for ((up, down), boldness) in upward.iter_mut().zip(downward).zip(BOLDNESS) {
        let factor = 2.0 / (1.0 + (-2.0 * boldness * distance / spread).exp());
        *up *= factor;
        *down *= 2.0 - factor;
    }
}

fn median(ascending: &[f64]) -> f64 {
    let middle = ascending.len() / 2;
    if ascending.len() % 2 == 1 { ascending[middle] } else { (ascending[middle - 1] + ascending[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::super::{Judge, Rule, RuleKind};
    use super::*;

    #[test]
    fn equal_signs_and_sizes_win_by_the_eighth_block() {
        // Per block the boldest wins 1.874 times, the others 1.588 and 1.325: after seven (80.9 + 25.5 + 7.2) / 6
        // is 18.9, after eight 33.6.
        assert!(!word_is_possible(0.05, 7) && word_is_possible(0.05, 8));
        assert!(word_is_possible(1.0 / 18.8, 7) && !word_is_possible(1.0 / 19.0, 7));
        assert!(!word_is_possible(1.0 / 33.7, 8) && word_is_possible(1.0 / 33.5, 8));
    }

    #[test]
    fn the_interval_ends_where_the_gamblers_get_rich() {
        let series = [0.031, -0.012, 0.045, 0.020, 0.008, 0.052, 0.027, -0.003, 0.011, 0.024, 0.017];
        let judge = Judge::new(Rule { kind: RuleKind::Watch, blocks_max: 40, alpha: 0.05, margin: 0.01, seed: 1 });
        let interval = judge.judge(&series, false).unwrap().interval.unwrap();
        for (end, outward) in [(interval.low, -1e-6), (interval.high, 1e-6)] {
            assert!(judge.rejects(&series, end + outward) && !judge.rejects(&series, end - outward), "{interval:?}");
        }
    }

    #[test]
    fn a_spread_of_nothing_bets_everything() {
        let mut fortunes = [1.0; 6];
        bet(&mut fortunes, 0.1, 0.0);
        assert_eq!(fortunes, [2.0, 2.0, 2.0, 0.0, 0.0, 0.0]);
        bet(&mut fortunes, 0.0, 0.0);
        assert_eq!(fortunes[0], 2.0);
    }
}
