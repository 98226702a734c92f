//! Rule `t`: paired t tests at 4, 6, … blocks, for gaps so big that eight blocks seem a waste.
//!
//! It rejects where p <= g * n / N, with g such that of many Gaussian runs in which nothing
//! differs at most alpha are ever rejected (of Wang & Tsiatis' family, 1987). It assumes that
//! log ratios are nearly normal: a disturbance in step with the blocks breaks it, which is why its
//! verdicts carry its name.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::{Evidence, Rule, whole_range};
use crate::describe::{Interval, hodges_lehmann, mean, sd, t_quantile};
use crate::power::minimum_detectable_effect;
use crate::random::Normals;

/// Gaussian runs without a difference that the boundary is set by.
const NULL_PATHS: usize = 200_000;

/// Their seed. It is no part of a plan: the boundary is a constant of N and alpha.
const NULL_SEED: u64 = 1987;

/// Larger rates of false verdicts have no use, and smaller ones need fewer p values.
const ALPHA_MAX: f64 = 0.1;

pub struct Student {
    blocks_max: usize,
    /// At n of N blocks a p value up to g * n / N rejects. Absent where alpha is too small to be
    /// met by that many paths.
    boundary: Option<f64>,
}

impl Student {
    pub fn new(rule: &Rule) -> Student {
        assert!(rule.alpha <= ALPHA_MAX, "the boundary of rule t is known up to {ALPHA_MAX}, not for {}", rule.alpha);
        let minima = null_minima(rule);
        let allowed = (rule.alpha * NULL_PATHS as f64 + 1e-9).floor() as usize;
        Student { blocks_max: rule.blocks_max, boundary: allowed.checked_sub(1).map(|last| minima[last]) }
    }

    /// The p value that rejects at this look.
    fn level(&self, blocks: usize) -> Option<f64> {
        Some(self.boundary? * blocks as f64 / self.blocks_max as f64)
    }

    /// What a single look leaves over.
    fn at_look(&self, log_ratios: &[f64]) -> Option<Interval> {
        let blocks = log_ratios.len();
        let centre = mean(log_ratios)?;
        let standard_error = sd(log_ratios)? / (blocks as f64).sqrt();
        let half = t_quantile(blocks - 1, 1.0 - self.level(blocks)? / 2.0) * standard_error;
        Some(Interval { low: centre - half, high: centre + half })
    }
}

impl Evidence for Student {
    fn interval(&self, log_ratios: &[f64], looks: &[usize]) -> Option<Interval> {
        let left = |blocks: &usize| self.at_look(&log_ratios[..*blocks]);
        let left: Vec<Interval> = looks.iter().map(left).collect::<Option<_>>()?;
        let low = left.iter().map(|interval| interval.low).fold(f64::NEG_INFINITY, f64::max);
        let high = left.iter().map(|interval| interval.high).fold(f64::INFINITY, f64::min);
        let estimate = hodges_lehmann(log_ratios)?;
        if low > high {
            return Some(whole_range(log_ratios));
        }
        Some(Interval { low: low.min(estimate), high: high.max(estimate) })
    }

    fn rejects(&self, log_ratios: &[f64], log_ratio: f64, looks: &[usize]) -> bool {
        let outside = |interval: Interval| log_ratio < interval.low || log_ratio > interval.high;
        looks.iter().any(|blocks| self.at_look(&log_ratios[..*blocks]).is_some_and(outside))
    }

    fn mde(&self, sd: f64, blocks: usize) -> Option<f64> {
        minimum_detectable_effect(sd, blocks, self.level(blocks)?)
    }
}

/// The smallest p * N / n of each null path, ascending, as far as alpha can ask.
///
/// Remembered for each N: the points of a sweep ask with other alphas for the same paths.
fn null_minima(rule: &Rule) -> Arc<Vec<f64>> {
    static KNOWN: Mutex<BTreeMap<usize, Arc<Vec<f64>>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.entry(rule.blocks_max).or_insert_with(|| Arc::new(draw_null_minima(rule))).clone()
}

/// A look whose p value is needed exactly.
struct Look {
    blocks: usize,
    /// The t value whose p is the largest that alpha can ask for.
    t_least: f64,
    distribution: StudentsT,
}

fn draw_null_minima(rule: &Rule) -> Vec<f64> {
    let blocks_max = rule.blocks_max as f64;
    let look = |blocks: usize| {
        let degrees_of_freedom = blocks - 1;
        let p_most = ALPHA_MAX * blocks as f64 / blocks_max;
        Look {
            blocks,
            t_least: t_quantile(degrees_of_freedom, 1.0 - p_most / 2.0),
            distribution: StudentsT::new(0.0, 1.0, degrees_of_freedom as f64).expect("three degrees of freedom"),
        }
    };
    let looks: Vec<Look> = rule.looks().into_iter().map(look).collect();
    let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(NULL_SEED));
    let minima = (0..NULL_PATHS).filter_map(|_| path_minimum(&mut normals, &looks, blocks_max));
    let mut minima: Vec<f64> = minima.collect();
    minima.sort_by(f64::total_cmp);
    minima
}

fn path_minimum(normals: &mut Normals<ChaCha8Rng>, looks: &[Look], blocks_max: f64) -> Option<f64> {
    let (mut drawn, mut sum, mut squares) = (0, 0.0, 0.0);
    let mut least = f64::INFINITY;
    for look in looks {
        while drawn < look.blocks {
            let value = normals.draw();
            sum += value;
            squares += value * value;
            drawn += 1;
        }
        let blocks = drawn as f64;
        let variance = (squares - sum * sum / blocks) / (blocks - 1.0);
        let t = sum.abs() / (variance * blocks).sqrt();
        if t >= look.t_least {
            least = least.min(2.0 * look.distribution.cdf(-t) * blocks_max / blocks);
        }
    }
    least.is_finite().then_some(least)
}

#[cfg(test)]
mod tests {
    use super::super::{Judge, RuleKind, Verdict};
    use super::*;

    fn rule(blocks_max: usize, alpha: f64) -> Rule {
        Rule { kind: RuleKind::T, blocks_max, alpha, margin: 1.01f64.ln(), seed: 1 }
    }

    #[test]
    fn the_boundary_of_twenty_blocks_is_the_documented_one() {
        let student = Student::new(&rule(20, 0.05));
        let at = |blocks| student.level(blocks).unwrap();
        assert!((at(4) - 0.0039).abs() < 0.0001 && (at(20) - 0.0195).abs() < 0.0003, "{} {}", at(4), at(20));
    }

    #[test]
    fn with_one_look_the_rule_is_the_t_test_itself() {
        let student = Student::new(&rule(4, 0.05));
        // 200 000 paths estimate 5 % to 0.05 points; four of those.
        assert!((student.level(4).unwrap() - 0.05).abs() < 0.002, "{:?}", student.level(4));
        let series = [0.021, 0.034, 0.028, 0.019];
        let plain = crate::describe::t_interval(&series, 1.0 - student.level(4).unwrap()).unwrap();
        let ours = student.interval(&series, &[4]).unwrap();
        assert!((ours.low - plain.low).abs() < 1e-12 && (ours.high - plain.high).abs() < 1e-12);
    }

    #[test]
    fn an_extra_look_between_two_costs_no_more_than_the_looks_it_replaces() {
        // The clock ends each of these null runs at eleven blocks, an odd number.
        let judge = Judge::new(rule(20, 0.05));
        let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(3));
        let runs = 20_000;
        let false_verdicts = (0..runs).filter(|_| {
            let series: Vec<f64> = (0..11).map(|_| normals.draw()).collect();
            judge.evidence.rejects(&series, 0.0, &judge.rule.looks_taken(11, true))
        });
        let rate = false_verdicts.count() as f64 / runs as f64;
        assert!(rate < 0.05, "{rate}");
    }

    #[test]
    fn looks_that_contradict_each_other_leave_no_verdict() {
        let wild = [0.1, 0.1001, 0.1002, 0.1001, -0.1, -0.1001, -0.1002, -0.1];
        let series: Vec<f64> = wild.into_iter().chain([-0.1; 12]).collect();
        assert_eq!(Judge::new(rule(20, 0.05)).judge(&series, false).unwrap().verdict, Some(Verdict::Inconclusive));
    }
}
