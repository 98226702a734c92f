//! When a run may have a verdict: one frame for every rule, and the rules in files of their own.
//!
//! A rule looks at the log ratios at certain numbers of blocks and rejects what does not fit them.
//! What no look has rejected is a repeated confidence interval: it holds at all looks at once, so
//! any reason to stop is allowed (Jennison & Turnbull 1984). Verdicts come from the interval and the
//! margin alone, in the same way under every rule.
//!
//! | rule | assumes | looks at |
//! |---|---|---|
//! | `exact` | that the order in a block was a fair coin | 8, 10, … 80, then after a twentieth more, and the last block |
//! | `t` | that log ratios are nearly normal | 4, 6, … likewise |

mod evidence;
mod exact;
mod student;

use crate::describe::{Interval, hodges_lehmann, mean, sd, t_interval};
use crate::power::sign_flip_p;
use evidence::{Evidence, whole_range};
pub use evidence::{FIRST_LOOK, Rule, RuleKind, Verdict};

impl Rule {
    /// The first look at which a verdict is possible at all: even when every sign is the same, that
    /// must be rare enough. `None` when the plan is too short.
    pub fn earliest_verdict(&self) -> Option<usize> {
        self.looks().into_iter().find(|blocks| match self.kind {
            RuleKind::Exact => exact::verdict_is_possible(self, *blocks),
            RuleKind::T => true,
        })
    }
}

/// Where an interval comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A rule: it holds at every look together.
    Rule(RuleKind),
    /// Student's t at a fixed number of blocks: a picture of the spread, never a reason for a verdict.
    Plain,
}

/// The result of the rule for one series of log ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    pub blocks: usize,
    /// Hodges-Lehmann estimate of the log ratio.
    pub estimate: f64,
    /// Log ratios; absent with a single block.
    pub interval: Option<Interval>,
    pub basis: Basis,
    /// Paired t interval at 95 %, corrected for nothing: the thin line in a drawing.
    pub unadjusted: Option<Interval>,
    /// Absent while there are too few blocks for any verdict.
    pub verdict: Option<Verdict>,
    pub mean: f64,
    pub sd: Option<f64>,
    /// Smallest difference the run would have noticed, as a fraction.
    pub mde: Option<f64>,
    /// Fixed-size sign-flip p value, for audit.
    pub sign_flip_p: Option<f64>,
}

/// A rule that is ready to judge any number of series.
pub struct Judge {
    rule: Rule,
    /// The log ratio that verdicts are relative to: 0 is equal speed.
    reference: f64,
    evidence: Box<dyn Evidence>,
}

impl Judge {
    pub fn new(rule: Rule) -> Judge {
        let evidence: Box<dyn Evidence> = match rule.kind {
            RuleKind::Exact => Box::new(exact::Exact::new(&rule)),
            RuleKind::T => Box::new(student::Student::new(&rule)),
        };
        Judge { rule, reference: 0.0, evidence }
    }

    /// `Faster` then means proven above this log ratio and `Slower` proven below it; nothing is the same within a
    /// margin. Intervals do not change.
    pub fn against_limit(self, limit: f64) -> Judge {
        Judge { rule: Rule { margin: 0.0, ..self.rule }, reference: limit, ..self }
    }

    pub fn rule(&self) -> &Rule {
        &self.rule
    }

    /// The verdict and its numbers after these blocks; `None` of no block at all.
    ///
    /// `ended` means that no block will follow, for a reason that is not in the data (the plan is
    /// done, the budget is used up). It grants one extra look at the last block.
    pub fn judge(&self, log_ratios: &[f64], ended: bool) -> Option<Judgement> {
        let rule = &self.rule;
        assert!(log_ratios.len() <= rule.blocks_max, "the rule was planned for {} blocks", rule.blocks_max);
        let blocks = log_ratios.len();
        let estimate = hodges_lehmann(log_ratios)?;
        let spread = sd(log_ratios);
        let unadjusted = t_interval(log_ratios, 0.95);
        let repeated = self.interval(log_ratios, ended);
        Some(Judgement {
            blocks,
            estimate,
            interval: repeated.or(unadjusted),
            basis: if repeated.is_some() { Basis::Rule(rule.kind) } else { Basis::Plain },
            unadjusted,
            verdict: repeated.map(|interval| self.verdict_of(interval)),
            mean: mean(log_ratios).expect("an estimate exists, so there is a block"),
            sd: spread,
            mde: spread.and_then(|sd| self.evidence.mde(sd, blocks)),
            sign_flip_p: sign_flip_p(log_ratios, rule.seed),
        })
    }

    /// The verdict alone, without the figures that only a report needs.
    pub fn verdict(&self, log_ratios: &[f64], ended: bool) -> Option<(Verdict, Interval)> {
        let interval = self.interval(log_ratios, ended)?;
        Some((self.verdict_of(interval), interval))
    }

    fn verdict_of(&self, interval: Interval) -> Verdict {
        let Interval { low, high } = interval;
        self.rule.verdict_of(Interval { low: low - self.reference, high: high - self.reference })
    }

    /// Would the rule have rejected this log ratio by now?
    pub fn rejects(&self, log_ratios: &[f64], log_ratio: f64) -> bool {
        let looks = self.rule.looks_taken(log_ratios.len(), false);
        !looks.is_empty() && self.evidence.rejects(log_ratios, log_ratio, &looks)
    }

    fn interval(&self, log_ratios: &[f64], ended: bool) -> Option<Interval> {
        let looks = self.rule.looks_taken(log_ratios.len(), ended);
        if looks.is_empty() { None } else { self.evidence.interval(log_ratios, &looks) }
    }
}

#[cfg(test)]
mod tests;
