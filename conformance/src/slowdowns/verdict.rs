//! Conclusions from all duels together: pure, from what was true and what was found.
//!
//! Nothing must be found that is smaller than what a run claims to detect. What remains is held
//! to the rates the method promises, and luck is granted to one command in a hundred.

use super::calibration::Truth;
use super::duel::DuelResult;

/// A run detects an effect of the size that it claims this often (method, section 2).
const POWER: f64 = 0.9;
/// How often an interval holds the truth (method, section 2).
const CONFIDENCE: f64 = 0.95;
/// What is rarer than this for an instrument as good as it claims is a fault.
const LUCK: f64 = 0.01;
/// An interval may be held against a truth that is known this much better than the interval is narrow.
const TRUTH_ERROR_MAX: f64 = 1.0 / 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Found,
    Missed,
    /// The slowed side was called the faster one.
    Wrong,
}

/// One duel and what was true of it.
pub struct Judged {
    pub title: String,
    pub truth: Truth,
    pub result: DuelResult,
}

impl Judged {
    pub fn outcome(&self) -> Outcome {
        match self.result.word.as_str() {
            "slower" => Outcome::Found,
            "faster" => Outcome::Wrong,
            _ => Outcome::Missed,
        }
    }

    /// Of the same kind as an MDE: how much faster the untouched side is.
    fn effect(&self) -> f64 {
        (-self.truth.log_ratio).exp_m1()
    }

    /// Whether this run claims that it would have detected the effect, at its least.
    fn is_promised(&self) -> bool {
        let least = (-self.truth.log_ratio - 2.0 * self.truth.error).exp_m1();
        self.result.mde.is_some_and(|mde| least >= mde)
    }

    /// Whether the interval holds the truth; nothing where the truth is not known well enough.
    pub fn covers(&self) -> Option<bool> {
        let (low, high) = (self.result.low.ln(), self.result.high.ln());
        let is_known = self.truth.error <= TRUTH_ERROR_MAX * (high - low) / 2.0;
        is_known.then_some(low <= self.truth.log_ratio && self.truth.log_ratio <= high)
    }

    /// One line, ratios as slowed over untouched.
    pub fn line(&self) -> String {
        let DuelResult { ratio, low, high, word, blocks, minutes, .. } = &self.result;
        let share = |part: Option<f64>| part.map_or("not known".to_owned(), |part| format!("{:.1} %", part * 100.0));
        let outcome = match self.outcome() {
            Outcome::Found => "right sign",
            Outcome::Missed => "not found",
            Outcome::Wrong => "WRONG SIGN",
        };
        let covers = match self.covers() {
            Some(true) => "covered",
            Some(false) => "NOT covered",
            None => "truth not known well enough for the interval",
        };
        let caveats = if self.result.caveats.is_empty() {
            String::new()
        } else {
            format!(" [{}]", self.result.caveats.join(", "))
        };
        format!(
            "{}: true {:.4} (error {:.4}), found {ratio:.4} ({low:.4} to {high:.4}), {word}{caveats}, {blocks} blocks, \
             {minutes:.1} min, s_d {}, MDE {}: {outcome}, {covers}",
            self.title,
            self.truth.log_ratio.exp(),
            self.truth.error,
            share(self.result.sd),
            share(self.result.mde),
        )
    }
}

/// The lines of the summary, and what is wrong with the instrument.
pub fn summary(judged: &[Judged]) -> (Vec<String>, Vec<String>) {
    let with = |outcome| judged.iter().filter(|one| one.outcome() == outcome).count();
    let (found, wrong) = (with(Outcome::Found), with(Outcome::Wrong));
    let known: Vec<bool> = judged.iter().filter_map(Judged::covers).collect();
    let covered = known.iter().filter(|covered| **covered).count();
    let promised: Vec<&Judged> = judged.iter().filter(|one| one.is_promised()).collect();
    let missed = promised.iter().filter(|one| one.outcome() != Outcome::Found).count();
    let mut lines = vec![
        format!("found with the right sign: {found} of {}", judged.len()),
        format!("the interval holds the truth: {covered} of {} whose truth is known well enough", known.len()),
    ];
    for one in judged.iter().filter(|one| one.outcome() == Outcome::Missed) {
        let could = one.result.mde.map_or("what it could have seen is not known".to_owned(), |mde| {
            format!("could not have seen less than {:.1} %", mde * 100.0)
        });
        lines.push(format!("not found: {}, {:.1} %; {could}", one.title, one.effect() * 100.0));
    }
    let mut faults = Vec::new();
    if wrong > 0 {
        faults.push(format!("{wrong} of {} duels called the slowed server the faster one", judged.len()));
    }
    if is_beyond_luck(missed, promised.len(), 1.0 - POWER) {
        let size = promised.len();
        faults.push(format!("{missed} of {size} effects above the reported MDE were not found; one in ten may be"));
    }
    if is_beyond_luck(known.len() - covered, known.len(), 1.0 - CONFIDENCE) {
        let (size, outside) = (known.len(), known.len() - covered);
        faults.push(format!("{outside} of {size} intervals do not hold the truth; one in twenty may not"));
    }
    (lines, faults)
}

/// Whether so many failures would come from luck in fewer than one command of a hundred.
fn is_beyond_luck(failures: usize, of: usize, rate: f64) -> bool {
    failures > 0 && at_least(failures, of, rate) < LUCK
}

/// Chance of `count` or more of `of`, each with chance `rate`.
fn at_least(count: usize, of: usize, rate: f64) -> f64 {
    let chance = |successes: usize| -> f64 {
        let ways: f64 = (0..successes).map(|at| (of - at) as f64 / (at + 1) as f64).product();
        ways * rate.powi(successes as i32) * (1.0 - rate).powi((of - successes) as i32)
    };
    (count..=of).map(chance).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(word: &str, truth: f64, low: f64, high: f64, mde: f64) -> Judged {
        let result = DuelResult {
            ratio: (low * high).sqrt(),
            low,
            high,
            word: word.to_owned(),
            caveats: Vec::new(),
            blocks: 8,
            mde: Some(mde),
            sd: Some(0.02),
            minutes: 1.0,
            findings: Vec::new(),
            trials_generator_bound: 0,
        };
        Judged { title: "delay 3 %".to_owned(), truth: Truth { log_ratio: truth.ln(), error: 0.001 }, result }
    }

    fn faults(judged: &[Judged]) -> usize {
        summary(judged).1.len()
    }

    #[test]
    fn one_wrong_sign_is_a_fault() {
        assert_eq!(faults(&[judged("slower", 0.97, 0.96, 0.98, 0.02)]), 0);
        // Its interval misses the truth as well, which alone might be luck.
        assert_eq!(faults(&[judged("faster", 0.97, 1.01, 1.02, 0.02)]), 1);
    }

    #[test]
    fn what_is_smaller_than_the_effect_told_need_not_be_found() {
        let small: Vec<Judged> = (0..10).map(|_| judged("inconclusive", 0.97, 0.93, 1.01, 0.05)).collect();
        let (lines, faults) = summary(&small);
        assert!(faults.is_empty(), "{faults:?}");
        assert!(lines[2].contains("could not have seen less than 5.0 %"), "{lines:?}");
    }

    #[test]
    fn effects_above_what_is_told_are_missed_by_luck_once_in_ten() {
        let missed = |of: usize, missed: usize| -> Vec<Judged> {
            let word = |at| if at < missed { "inconclusive" } else { "slower" };
            (0..of).map(|at| judged(word(at), 0.95, 0.93, 0.97, 0.02)).collect()
        };
        assert_eq!(faults(&missed(1, 1)), 0);
        assert_eq!(faults(&missed(10, 4)), 0);
        // Chance 0.0016.
        assert_eq!(faults(&missed(10, 5)), 1);
    }

    #[test]
    fn intervals_are_held_against_truths_that_are_known() {
        let beside = || judged("slower", 0.90, 0.93, 0.97, 0.02);
        assert_eq!(faults(&[beside()]), 0);
        assert_eq!(faults(&[beside(), beside()]), 1);
        let vague = || {
            let one = beside();
            Judged { truth: Truth { error: 0.02, ..one.truth }, ..one }
        };
        assert_eq!((vague().covers(), faults(&[vague(), vague()])), (None, 0));
    }

    #[test]
    fn an_effect_that_is_not_known_well_is_not_promised() {
        let missed = |error| {
            let one = judged("inconclusive", 0.96, 0.90, 1.01, 0.03);
            Judged { truth: Truth { error, ..one.truth }, ..one }
        };
        assert!(missed(0.001).is_promised() && !missed(0.01).is_promised());
    }

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        assert!((at_least(2, 2, 0.1) - 0.01).abs() < 1e-12);
        assert!((at_least(1, 10, 0.05) - (1.0 - 0.95_f64.powi(10))).abs() < 1e-12);
        assert!((at_least(0, 5, 0.3) - 1.0).abs() < 1e-12);
    }
}
