//! What every rule works with: the rule itself, and what differs between its kinds.

use crate::describe::Interval;

/// No verdict before this many blocks: eight fair coins are the least evidence that allows one. Only
/// rule `t`, which assumes more, gives a verdict earlier.
pub const FIRST_LOOK: usize = 8;

/// From twice so many blocks on, a look comes after a twentieth of what there is: with one every two blocks, what a look
/// costs would grow with the square of the blocks, and few runs would end sooner.
const FULL_STEPS: usize = 40;

pub(super) const FIRST_LOOK_OF_T: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleKind {
    Exact,
    T,
}

impl RuleKind {
    /// As experiment files call it.
    pub fn name(self) -> &'static str {
        match self {
            RuleKind::Exact => "exact",
            RuleKind::T => "t",
        }
    }

    /// Blocks below which there is no verdict.
    pub fn first_look(self) -> usize {
        if self == RuleKind::T { FIRST_LOOK_OF_T } else { FIRST_LOOK }
    }
}

/// What was fixed before the first block.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    pub kind: RuleKind,
    /// Blocks at most.
    pub blocks_max: usize,
    /// Two-sided rate of false verdicts over all looks together.
    pub alpha: f64,
    /// Log ratio below which a difference does not matter: `ln 1.01` for 1 %.
    pub margin: f64,
    /// Seed of the sign vectors of `exact`.
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Faster,
    Slower,
    NoDifference,
    Inconclusive,
}

impl Rule {
    /// Numbers of blocks at which the rule is applied, the last block among them.
    pub fn looks(&self) -> Vec<usize> {
        let next = |look: &usize| Some(look + 2 * (look / FULL_STEPS).max(1));
        let all = std::iter::successors(Some(self.kind.first_look()), next);
        let mut looks: Vec<usize> = all.take_while(|look| *look <= self.blocks_max).collect();
        if self.blocks_max >= self.kind.first_look() && looks.last() != Some(&self.blocks_max) {
            looks.push(self.blocks_max);
        }
        looks
    }

    /// `ended` grants one extra look: the clock decided on it, not the data.
    pub(super) fn looks_taken(&self, blocks: usize, ended: bool) -> Vec<usize> {
        let mut looks: Vec<usize> = self.looks().into_iter().filter(|look| *look <= blocks).collect();
        if ended && blocks >= self.kind.first_look() && looks.last() != Some(&blocks) {
            looks.push(blocks);
        }
        looks
    }

    pub(super) fn verdict_of(&self, interval: Interval) -> Verdict {
        match interval {
            Interval { low, high } if -self.margin < low && high < self.margin => Verdict::NoDifference,
            Interval { low, .. } if low > 0.0 => Verdict::Faster,
            Interval { high, .. } if high < 0.0 => Verdict::Slower,
            _ => Verdict::Inconclusive,
        }
    }
}

/// What differs between kinds of rules.
pub(super) trait Evidence {
    /// The hull of all log ratios that none of these looks rejects; `None` where no look can reject.
    fn interval(&self, log_ratios: &[f64], looks: &[usize]) -> Option<Interval>;

    /// Has any of these looks rejected this log ratio?
    fn rejects(&self, log_ratios: &[f64], log_ratio: f64, looks: &[usize]) -> bool;

    /// The smallest difference, as a fraction, that a run of this spread would have noticed.
    fn mde(&self, sd: f64, blocks: usize) -> Option<f64>;
}

/// When no single log ratio fits the data, the result is the widest that they allow.
pub(super) fn whole_range(log_ratios: &[f64]) -> Interval {
    let low = log_ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Interval { low, high }
}
