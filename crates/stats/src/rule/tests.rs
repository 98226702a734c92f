//! Every rule through the same frame. What is peculiar to one rule is tested beside it.

use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, proptest};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::describe::walsh_averages;
use crate::random::Normals;

const EIGHT: [f64; 8] = [0.031, -0.012, 0.045, 0.020, 0.008, 0.052, 0.027, -0.003];

fn rule(kind: RuleKind, blocks_max: usize) -> Rule {
    Rule { kind, blocks_max, alpha: 0.05, margin: 1.01f64.ln(), seed: 1 }
}

fn exact(blocks_max: usize) -> Rule {
    rule(RuleKind::Exact, blocks_max)
}

fn judge(rule: Rule, log_ratios: &[f64], ended: bool) -> Judgement {
    Judge::new(rule).judge(log_ratios, ended).unwrap()
}

fn near(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-12
}

#[test]
fn with_one_look_at_eight_blocks_the_interval_is_the_walsh_average_interval() {
    // 10 of 256 sign vectors have a rank sum of at most 3 on one side: 3.9 %, one more is 5.5 %.
    let averages = walsh_averages(&EIGHT);
    let interval = judge(exact(8), &EIGHT, false).interval.unwrap();
    assert_eq!((interval.low, interval.high), (averages[3], averages[averages.len() - 4]));
}

#[test]
fn the_interval_matches_hollander_and_wolfes_depression_data() {
    // Hollander & Wolfe, Nonparametric Statistical Methods, examples 3.1 to 3.4: nine patients,
    // estimate -0.46, interval -0.786 to -0.010 at 96 %, as one look at all nine.
    let before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30];
    #[allow(clippy::approx_constant)] // 3.14 is a patient's score
    let after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29];
    let differences: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
    let interval = Judge::new(exact(9)).evidence.interval(&differences, &[9]).unwrap();
    assert!((hodges_lehmann(&differences).unwrap() - -0.46).abs() < 1e-9);
    assert!((interval.low - -0.786).abs() < 1e-9 && (interval.high - -0.010).abs() < 1e-9, "{interval:?}");
}

#[test]
fn looks_are_even_and_end_at_the_last_block() {
    assert_eq!(exact(20).looks(), [8, 10, 12, 14, 16, 18, 20]);
    assert_eq!(exact(9).looks(), [8, 9]);
    assert_eq!(exact(7).looks(), []);
}

#[test]
fn from_the_eightieth_block_on_a_look_comes_after_a_twentieth_of_the_blocks() {
    let looks = exact(1000).looks();
    assert!(looks.windows(2).all(|pair| pair[1] > 80 || pair[1] - pair[0] == 2), "{looks:?}");
    assert!(looks.windows(2).all(|pair| pair[1] - pair[0] <= 2.max(pair[0] / 20) && pair[1] > pair[0]), "{looks:?}");
    assert_eq!((looks.len(), *looks.last().unwrap()), (94, 1000));
}

/// Whatever the search tries first, the interval ends beside what is rejected.
#[test]
fn the_interval_of_a_long_run_ends_where_log_ratios_are_rejected() {
    let judge = Judge::new(exact(120));
    let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(19));
    let blocks: Vec<f64> = (0..120).map(|block| 0.01 + 0.03 * normals.draw() * (1 + block % 5) as f64).collect();
    let Interval { low, high } = judge.verdict(&blocks, false).unwrap().1;
    let width = (high - low) * 1e-6;
    let rejected = [low - width, low + width, high - width, high + width].map(|place| judge.rejects(&blocks, place));
    assert_eq!(rejected, [true, false, false, true], "{low} to {high}");
}

#[test]
fn a_point_of_a_sweep_waits_for_a_later_look() {
    let earliest = |points: f64, blocks_max| Rule { alpha: 0.05 / points, ..exact(blocks_max) }.earliest_verdict();
    assert_eq!((earliest(1.0, 20), earliest(8.0, 20), earliest(16.0, 20)), (Some(8), Some(10), Some(12)));
    assert_eq!((earliest(6.0, 8), earliest(7.0, 8)), (Some(8), None), "quick words points in sweeps of up to 6");
}

#[test]
fn seven_blocks_have_an_interval_but_no_verdict() {
    let judgement = judge(exact(8), &EIGHT[..7], true);
    assert_eq!((judgement.verdict, judgement.basis, judgement.interval), (None, Basis::Plain, judgement.unadjusted));
}

#[test]
fn one_block_has_an_estimate_and_nothing_else() {
    let judgement = judge(exact(8), &[0.1], true);
    assert_eq!((judgement.estimate, judgement.interval, judgement.verdict, judgement.mde), (0.1, None, None, None));
    assert_eq!(Judge::new(exact(8)).judge(&[], true), None);
}

#[test]
fn verdicts_follow_the_interval_and_the_margin() {
    let shifted = |shift: f64, scale: f64| EIGHT.map(|ratio| ratio * scale + shift);
    let verdict = |values: [f64; 8]| judge(exact(8), &values, false).verdict;
    assert_eq!(verdict(shifted(0.1, 1.0)), Some(Verdict::Faster));
    assert_eq!(verdict(shifted(-0.2, 1.0)), Some(Verdict::Slower));
    assert_eq!(verdict(shifted(-0.02, 1.0)), Some(Verdict::Inconclusive));
    assert_eq!(verdict(shifted(0.004, 0.02)), Some(Verdict::NoDifference), "a sure but tiny gain is below the margin");
    assert_eq!(verdict([0.0; 8]), Some(Verdict::NoDifference));
}

#[test]
fn the_end_of_the_budget_grants_one_extra_look() {
    let steady: Vec<f64> = (0..9).map(|block| 0.03 + 0.001 * block as f64).collect();
    let nine = Rule { alpha: 0.01, ..exact(20) };
    assert_eq!(judge(nine, &steady, false).verdict, None, "at eight blocks 1 % allows no verdict");
    assert_eq!(judge(nine, &steady, true).verdict, None, "2 in 512 is more than is spent at nine");
    let twelve: Vec<f64> = (0..13).map(|block| if block == 0 { -0.001 } else { 0.03 + 0.001 * block as f64 }).collect();
    let thirteen = Rule { alpha: 0.004, ..exact(20) };
    assert_eq!(judge(thirteen, &twelve, false).verdict, Some(Verdict::Inconclusive));
    assert_eq!(judge(thirteen, &twelve, true).verdict, Some(Verdict::Faster));
}

#[test]
fn rule_t_looks_from_the_fourth_block() {
    assert_eq!(rule(RuleKind::T, 9).looks(), [4, 6, 8, 9]);
    assert_eq!(rule(RuleKind::T, 3).looks(), []);
    let earliest = |alpha| Rule { alpha, ..rule(RuleKind::T, 20) }.earliest_verdict();
    assert_eq!((earliest(0.05), earliest(0.05 / 16.0)), (Some(4), Some(4)));
}

#[test]
fn four_blocks_far_apart_get_a_verdict_from_rule_t_and_not_from_exact() {
    let four = [0.21, 0.24, 0.19, 0.22];
    let verdict = |kind| judge(rule(kind, 20), &four, true).verdict;
    assert_eq!((verdict(RuleKind::T), verdict(RuleKind::Exact)), (Some(Verdict::Faster), None));
    let judgement = judge(rule(RuleKind::T, 20), &four, false);
    assert_eq!(judgement.basis, Basis::Rule(RuleKind::T));
}

/// How often a run of this noise in which nothing differs is ever called faster or slower, by
/// someone who stops at the first verdict that suits him.
fn false_verdicts(rule: Rule, runs: usize, noise: impl Fn(usize, &mut Normals<ChaCha8Rng>) -> f64) -> f64 {
    let judge = Judge::new(rule);
    let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(7));
    let wrong = (0..runs).filter(|_| {
        let blocks: Vec<f64> = (0..rule.blocks_max).map(|block| noise(block, &mut normals)).collect();
        judge.rejects(&blocks, 0.0)
    });
    wrong.count() as f64 / runs as f64
}

fn assert_five_percent(rate: f64, runs: usize, what: &str) {
    let three_standard_errors = 3.0 * (0.05f64 * 0.95 / runs as f64).sqrt();
    assert!(rate <= 0.05 + three_standard_errors, "{what}: {rate}");
    assert!(rate > 0.01, "{what}: {rate}; a rule that never errs has no power either");
}

#[test]
fn false_verdicts_stay_within_five_percent_at_any_number_of_looks() {
    // Variance grows and every fourth block is hit by a spike: the signs stay fair coins.
    let spread = |block: usize| 0.01 * (1 + block) as f64 * if block % 4 == 3 { 5.0 } else { 1.0 };
    for (blocks_max, runs) in [(8, 1200), (12, 1200), (20, 1200), (26, 800)] {
        let rate = false_verdicts(exact(blocks_max), runs, |block, normals| spread(block) * normals.draw());
        assert_five_percent(rate, runs, &format!("exact, {blocks_max} blocks"));
    }
    for blocks_max in [4, 9, 20] {
        let rate = false_verdicts(rule(RuleKind::T, blocks_max), 4000, |_, normals| normals.draw());
        assert_five_percent(rate, 4000, &format!("t, {blocks_max} blocks"));
    }
}

/// Ways to end a run: their inputs, and the blocks after which they end it.
type Stopping = (&'static str, fn(&Judge, &[f64], usize) -> usize);

/// Each gets the run as it goes on. The clock's block is drawn beforehand, so it may fall between looks.
const STOPPINGS: [Stopping; 4] = [
    ("at the first verdict of a winner", |judge, blocks, _| {
        let looks = judge.rule().looks();
        let pleases = |look: &usize| named(judge, &blocks[..*look], false);
        looks.iter().copied().find(pleases).unwrap_or(blocks.len())
    }),
    ("at the look that favours the candidate most", |judge, blocks, _| {
        let estimate = |look: &usize| hodges_lehmann(&blocks[..*look]).unwrap();
        judge.rule().looks().into_iter().max_by(|a, b| estimate(a).total_cmp(&estimate(b))).unwrap()
    }),
    ("once all signs of two blocks are the same", |judge, blocks, _| {
        let looks = judge.rule().looks();
        looks.into_iter().find(|look| blocks[look - 2] * blocks[look - 1] > 0.0).unwrap_or(blocks.len())
    }),
    ("when the clock ends it", |_, blocks, clock| FIRST_LOOK + clock % (blocks.len() - FIRST_LOOK + 1)),
];

fn named(judge: &Judge, blocks: &[f64], ended: bool) -> bool {
    matches!(judge.verdict(blocks, ended), Some((Verdict::Faster | Verdict::Slower, _)))
}

#[test]
fn any_reason_to_stop_keeps_the_rate_of_false_verdicts() {
    const RUNS: usize = 600;
    for (what, stop) in STOPPINGS {
        for blocks_max in [12, 16] {
            let judge = Judge::new(exact(blocks_max));
            let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(11));
            let mut clock = ChaCha8Rng::seed_from_u64(12);
            let wrong = (0..RUNS).filter(|_| {
                // Heavy tails that grow: nothing but the signs is fair.
                let block =
                    |block: usize, normals: &mut Normals<_>| (1 + block) as f64 * normals.draw().powi(3) / 100.0;
                let blocks: Vec<f64> = (0..blocks_max).map(|index| block(index, &mut normals)).collect();
                let end = stop(&judge, &blocks, clock.next_u32() as usize);
                named(&judge, &blocks[..end], true)
            });
            let rate = wrong.count() as f64 / RUNS as f64;
            let allowed = 0.05 + 3.0 * (0.05f64 * 0.95 / RUNS as f64).sqrt();
            assert!(rate <= allowed, "stopped {what}, {blocks_max} blocks: {rate}");
        }
    }
}

#[test]
fn ties_cost_power_but_never_more_errors() {
    let coarse = |_, normals: &mut Normals<ChaCha8Rng>| (normals.draw() * 1.5).round() / 100.0;
    assert_five_percent(false_verdicts(exact(20), 1200, coarse), 1200, "exact");
}

#[test]
fn a_real_difference_of_three_percent_is_found_early() {
    let mut normals = Normals::new(ChaCha8Rng::seed_from_u64(3));
    let found = (0..12).filter(|_| {
        let blocks: Vec<f64> = (0..8).map(|_| 0.03 + 0.01 * normals.draw()).collect();
        judge(exact(20), &blocks, false).verdict == Some(Verdict::Faster)
    });
    assert!(found.count() >= 11, "the method's table has 100 % at a spread of 1 %");
}

const KINDS: [RuleKind; 2] = [RuleKind::Exact, RuleKind::T];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn swapping_the_contenders_mirrors_the_interval(blocks in prop::collection::vec(-0.1f64..0.1, 8..=10)) {
        let mirrored: Vec<f64> = blocks.iter().map(|ratio| -ratio).collect();
        for kind in KINDS {
            let (one, other) = (judge(rule(kind, 10), &blocks, true), judge(rule(kind, 10), &mirrored, true));
            let (one, other) = (one.interval.unwrap(), other.interval.unwrap());
            prop_assert!(near(one.low, -other.high) && near(one.high, -other.low), "{kind:?} {one:?} {other:?}");
        }
    }

    #[test]
    fn the_estimate_lies_in_its_interval(blocks in prop::collection::vec(-0.1f64..0.1, 8..=14)) {
        for kind in KINDS {
            let judgement = judge(rule(kind, 14), &blocks, true);
            let interval = judgement.interval.unwrap();
            prop_assert!(interval.low <= judgement.estimate && judgement.estimate <= interval.high, "{kind:?}");
        }
    }

    #[test]
    fn looking_again_never_widens_what_was_rejected(blocks in prop::collection::vec(-0.1f64..0.1, 10), delta in -0.1f64..0.1) {
        for kind in KINDS {
            let judge = Judge::new(rule(kind, 10));
            prop_assert!(!judge.rejects(&blocks[..8], delta) || judge.rejects(&blocks, delta), "{kind:?}");
        }
    }

    #[test]
    fn the_verdict_alone_is_that_of_the_whole_judgement(blocks in prop::collection::vec(-0.02f64..0.04, 4..=14), ended: bool) {
        for kind in KINDS {
            let judge = Judge::new(rule(kind, 14));
            let judgement = judge.judge(&blocks, ended).unwrap();
            let verdict = judge.verdict(&blocks, ended);
            prop_assert_eq!(verdict.map(|(verdict, _)| verdict), judgement.verdict);
        }
    }
}
