//! Designs that people use and should not. If the simulation let them pass, it would prove nothing.

use super::noise::{Host, NOISES, Noise};
use super::{ALPHA, BLOCKS_MAX, MARGIN, OVERHEAD_S, Order, host, in_parallel, log_ratios, troubles};
use crate::describe::{mean, sd, t_interval, t_quantile};
use crate::missing::Pair;
use crate::rule::{Judge, Rule, RuleKind, Verdict};

/// Runs of a design that are simulated by one thread at a time.
const RUNS_PER_BATCH: usize = 50;

/// Seconds of the single run that each server gets from those who take seconds for evidence.
const SINGLE_RUN_S: usize = 300;

/// The first block at which a peeker peeks.
const FIRST_PEEK: usize = 4;

/// A way to compare two servers that is wrong, and a kind of noise that shows it.
pub struct BrokenDesign {
    pub name: &'static str,
    pub description: &'static str,
    pub noise: &'static str,
    /// Does it find a difference between two equal servers?
    alarm: fn(&mut Host) -> bool,
}

pub const BROKEN_DESIGNS: &[BrokenDesign] = &[
    BrokenDesign {
        name: "fixed order",
        description: "A B A B without coins and gaps, judged by the exact rule",
        noise: "wave",
        alarm: fixed_order,
    },
    BrokenDesign {
        name: "peeking",
        description: "t test at 5 % after every block from the fourth on",
        noise: "wandering",
        alarm: peeking,
    },
    BrokenDesign {
        name: "seconds as evidence",
        description: "one run of 300 s each, t test on its seconds",
        noise: "wandering",
        alarm: seconds_as_evidence,
    },
    BrokenDesign {
        name: "dropped by result",
        description: "the candidate's slowest quarter of trials has no value and is left out",
        noise: "quiet",
        alarm: dropped_by_result,
    },
    BrokenDesign {
        name: "deferred work ignored",
        description: "a lead of 5 % in the interval, with 8 % of it to be paid afterwards, is judged without that",
        noise: "quiet",
        alarm: deferred_work_ignored,
    },
];

/// How many of these runs, in which nothing differs, raise an alarm.
pub fn broken_alarms(design: &BrokenDesign, runs: usize, seed: u64, threads: usize) -> usize {
    let noise: &'static Noise =
        NOISES.iter().find(|noise| noise.name == design.noise).expect("a design names a noise of the list");
    let batches = in_parallel(runs.div_ceil(RUNS_PER_BATCH), threads, |batch| {
        let first = batch * RUNS_PER_BATCH;
        (first..runs.min(first + RUNS_PER_BATCH)).filter(|run| (design.alarm)(&mut host(noise, seed, *run))).count()
    });
    batches.into_iter().sum()
}

fn exact() -> Judge {
    let margin = MARGIN.ln_1p();
    Judge::new(Rule { kind: RuleKind::Exact, blocks_max: BLOCKS_MAX, alpha: ALPHA, margin, seed: 1 })
}

fn fixed_order(host: &mut Host) -> bool {
    exact().rejects(&log_ratios(host, Order::Fixed), 0.0)
}

fn dropped_by_result(host: &mut Host) -> bool {
    exact().rejects(&only_ratios(troubles::missing(host, BLOCKS_MAX / 4)), 0.0)
}

fn deferred_work_ignored(host: &mut Host) -> bool {
    let verdict = exact().verdict(&only_ratios(troubles::unpaid(host)), true);
    verdict.is_some_and(|(verdict, _)| verdict == Verdict::Faster)
}

fn only_ratios(story: troubles::Story) -> Vec<f64> {
    let ratio = |pair| if let Pair::Ratio(ratio) = pair { Some(ratio) } else { None };
    story.pairs.into_iter().filter_map(ratio).collect()
}

fn peeking(host: &mut Host) -> bool {
    let series = log_ratios(host, Order::Coin);
    (FIRST_PEEK..=BLOCKS_MAX).any(|blocks| {
        let interval = t_interval(&series[..blocks], 1.0 - ALPHA);
        interval.is_some_and(|interval| interval.low > 0.0 || interval.high < 0.0)
    })
}

fn seconds_as_evidence(host: &mut Host) -> bool {
    let mut run = || {
        host.idle(OVERHEAD_S);
        host.trial(0, SINGLE_RUN_S)
    };
    let (one, other) = (run(), run());
    let centre = |seconds: &[f64]| mean(seconds).expect("a run has seconds");
    let variance = |seconds: &[f64]| sd(seconds).expect("a run has many seconds").powi(2) / seconds.len() as f64;
    let (of_one, of_other) = (variance(&one), variance(&other));
    // Welch's degrees of freedom, for runs of equal length.
    let freedom = (SINGLE_RUN_S - 1) as f64 * (of_one + of_other).powi(2) / (of_one * of_one + of_other * of_other);
    let t = (centre(&one) - centre(&other)).abs() / (of_one + of_other).sqrt();
    t > t_quantile(freedom as usize, 1.0 - ALPHA / 2.0)
}
