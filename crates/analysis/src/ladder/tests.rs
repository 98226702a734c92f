//! Made-up ladders whose truth is known.

use super::super::{Conclusions, conclude, should_stop};
use super::*;
use crate::{Caveat, Facts, FindingKind, Grade};
use fixtures::{BASELINE, FLUSH, Gains, INDEPENDENT, LOG, PLANTED, StoredRun, Story, ladder_run};
use record::format::ladder::RungRecord;
use record::format::{PlannedTrial, Status, TrialRecord};

fn conclusions(stored: &StoredRun) -> Conclusions {
    conclude(&stored.plan, &stored.run, &stored.trials)
}

fn ladder_of(stored: &StoredRun) -> Ladder {
    conclusions(stored).workloads[0].ladders[0].clone()
}

fn run_with(gains: Gains) -> StoredRun {
    ladder_run(&Story::default(), gains)
}

fn holds(gain: Option<Gain>, truth: f64) {
    let gain = gain.expect("there is a gain");
    let (low, high) = gain.bounds.expect("it has an interval");
    assert!(low < truth && truth < high && gain.blocks == 8, "{truth}: {gain:?}");
}

#[test]
fn the_gains_of_all_steps_multiply_to_the_whole() {
    let ladder = ladder_of(&run_with(INDEPENDENT));
    for (rung, truth) in ladder.rungs.iter().zip([1.4, 1.4, 2.0]) {
        holds(rung.gain, truth);
        assert!(rung.is_shown() && rung.step.as_ref().unwrap().verdict == Verdict::Faster, "{rung:?}");
    }
    let whole = ladder.rungs[2].cumulative.unwrap();
    holds(Some(whole), 1.96 * 2.0);
    assert!((ladder.product.unwrap() / whole.ratio - 1.0).abs() < 1e-12);
}

/// The same run, with releases for rungs.
fn of_releases(mut stored: StoredRun) -> StoredRun {
    let changes = stored.plan.ladders[0].rungs.iter_mut().flat_map(|rung| &mut rung.changes);
    changes.for_each(|change| change.kind = ChangeKind::Engine);
    stored
}

#[test]
fn releases_that_changed_the_level_are_named_with_the_levels() {
    let ladder = ladder_of(&of_releases(run_with(PLANTED)));
    let levels = ladder.levels.clone().unwrap();
    let names: Vec<_> = levels.iter().map(|one| (one.below.as_str(), one.contender.as_str())).collect();
    assert_eq!(names, [(BASELINE, "pool"), (LOG, FLUSH)]);
    for (found, truth) in
        [(levels[0].before, 1.0), (levels[0].after, 1.4), (levels[1].before, 1.4), (levels[1].after, 2.8)]
    {
        assert!((found / truth - 1.0).abs() < 0.05, "{found} for {truth}");
    }
    assert!(levels.iter().all(|one| one.p <= 0.01));
}

#[test]
fn a_release_without_measurements_leaves_the_others_their_levels() {
    let mut stored = of_releases(run_with(PLANTED));
    stored.run.decisions.push(record::format::DecisionRecord::refused(LOG, "no such release".into()));
    stored.plan.trials.retain(|trial| trial.contender != LOG);
    stored.trials.retain(|trial| trial.contender != LOG);
    let levels = ladder_of(&stored).levels.unwrap();
    let names: Vec<_> = levels.iter().map(|one| (one.below.as_str(), one.contender.as_str())).collect();
    assert_eq!(names, [(BASELINE, "pool"), ("pool", FLUSH)]);
}

#[test]
fn levels_are_of_releases_only() {
    assert_eq!(ladder_of(&run_with(PLANTED)).levels, None);
    let flat = Gains { alone: 1.0, together: 1.0, flush: 1.0 };
    assert_eq!(ladder_of(&of_releases(run_with(flat))).levels, Some(Vec::new()));
}

#[test]
fn a_step_that_lowers_the_promise_is_a_trade_outside_the_safe_gain() {
    let ladder = ladder_of(&run_with(INDEPENDENT));
    let trades: Vec<Option<(String, String)>> = ladder.rungs.iter().map(|rung| rung.trade.clone()).collect();
    assert_eq!(trades, [None, None, Some(("D3".to_owned(), "D2".to_owned()))]);
    holds(ladder.safe_gain, 1.96);
    assert_eq!((ladder.safe_top.as_deref(), ladder.top.as_str()), (Some(LOG), FLUSH));
    let caveats = &ladder.rungs[2].step.as_ref().unwrap().caveats;
    assert!(caveats.contains(&Caveat::DurabilityDiffers));
}

#[test]
fn a_rung_in_memory_above_a_trade_is_another_trade() {
    let mut stored = run_with(INDEPENDENT);
    stored.run.contenders.get_mut(LOG).unwrap().durability_class = "D2".into();
    stored.run.contenders.get_mut(FLUSH).unwrap().durability_class = "D0".into();
    let ladder = ladder_of(&stored);
    let trade = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
    assert_eq!((ladder.rungs[1].trade.clone(), ladder.rungs[2].trade.clone()), (trade("D3", "D2"), trade("D2", "D0")));
    assert_eq!(ladder.safe_top.as_deref(), Some("pool"));
    holds(ladder.safe_gain, 1.4);
}

#[test]
fn the_ablation_shows_two_settings_that_help_alone_and_not_together() {
    let stored = run_with(PLANTED);
    let ladder = ladder_of(&stored);
    assert!(!ladder.rungs[1].is_shown(), "behind the pool the log brings nothing");
    let [pool, log] = &ladder.interactions[..] else { panic!("two steps are left out") };
    assert!(pool.order_matters() && !log.order_matters());
    holds(pool.in_ladder, 1.4);
    holds(pool.at_top, 1.0);
    holds(pool.interaction, 1.0 / 1.4);
    let finding =
        conclusions(&stored).findings.into_iter().find(|finding| finding.kind == FindingKind::OrderMatters).unwrap();
    let Facts::OrderMatters { interaction, .. } = &finding.facts else { panic!("{finding:?}") };
    assert_eq!((finding.grade, &**interaction), (Grade::Supported, pool));
}

/// At 4 and at 64 clients, where a step halves what it gains at 4.
fn losing_at_64(step: &str) -> StoredRun {
    let mut stored = ladder_run(&Story { blocks: 16, ..Story::default() }, INDEPENDENT);
    let points = [4u64, 64].map(|clients| Point::from([("clients".to_owned(), clients)]));
    let planned = |one: &PlannedTrial| points.clone().map(|point| PlannedTrial { point, ..one.clone() });
    stored.plan.trials = stored.plan.trials.iter().flat_map(planned).collect();
    let measured = |one: &TrialRecord| points.clone().map(|point| TrialRecord { point, ..one.clone() });
    stored.trials = stored.trials.iter().flat_map(measured).collect();
    (1..).zip(&mut stored.trials).for_each(|(number, trial)| trial.trial = number);
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == step && trial.point == points[1]) {
        *trial.metrics.get_mut("tps").unwrap() *= 0.5;
    }
    stored
}

#[test]
fn a_step_that_loses_at_a_load_level_is_mixed() {
    let ladder = ladder_of(&losing_at_64(LOG));
    let verdicts = |rung: &Rung| rung.points.iter().map(|one| one.verdict).collect::<Vec<_>>();
    let overall = |rung: &Rung| rung.step.as_ref().unwrap().verdict;
    let [pool, log, flush] = ladder.rungs.as_slice() else { panic!("{ladder:?}") };
    assert_eq!((overall(pool), verdicts(pool)), (Verdict::Faster, vec![Verdict::Faster; 2]));
    assert_eq!((overall(log), verdicts(log)), (Verdict::Mixed, vec![Verdict::Faster, Verdict::Slower]));
    assert_eq!(overall(flush), Verdict::Faster);
}

#[test]
fn steps_that_know_nothing_of_each_other_are_worth_the_same_everywhere() {
    let ladder = ladder_of(&run_with(INDEPENDENT));
    assert!(ladder.interactions.iter().all(|one| !one.order_matters()), "{:?}", ladder.interactions);
}

#[test]
fn contenders_of_the_ablation_are_no_candidates_and_spend_no_error() {
    let stored = run_with(PLANTED);
    let workload = conclusions(&stored).workloads.remove(0);
    let candidates: Vec<&str> = workload.duels.iter().map(|duel| duel.candidate.as_str()).collect();
    assert_eq!(candidates, ["pool", LOG, FLUSH]);
    let step = workload.ladders[0].rungs[0].step.as_ref().unwrap();
    // Three steps, three candidates: the same share, hence the same interval.
    assert_eq!((step.low, step.high), (workload.duels[0].overall.low, workload.duels[0].overall.high));
}

#[test]
fn a_refused_rung_is_named_and_the_rungs_below_keep_their_gains() {
    let mut stored = run_with(INDEPENDENT);
    stored.run.decisions.push(record::format::DecisionRecord::refused(FLUSH, "no such\n  setting".into()));
    stored.run.contenders.remove(FLUSH);
    stored.trials.retain(|trial| trial.contender != FLUSH);
    let ladder = ladder_of(&stored);
    assert_eq!((ladder.top.as_str(), ladder.safe_top.as_deref()), (LOG, Some(LOG)));
    holds(ladder.rungs[1].gain, 1.4);
    assert!(ladder.rungs[2].gain.is_none() && ladder.rungs[2].refused.is_some() && ladder.product.is_none());
    holds(ladder.safe_gain, 1.96);
    assert!(ladder.interactions.iter().all(|one| one.interaction.is_none()));
    assert!(conclusions(&stored).findings.iter().any(|finding| finding.kind == FindingKind::Refused));
}

#[test]
fn before_eight_blocks_no_gain_is_shown() {
    let stored = ladder_run(&Story { blocks: 6, ..Story::default() }, INDEPENDENT);
    let ladder = ladder_of(&stored);
    assert!(ladder.rungs.iter().all(|rung| !rung.is_shown() && rung.gain.unwrap().basis == Basis::Plain));
    assert!(ladder.safe_gain.is_some_and(|gain| !gain.is_shown()));
}

#[test]
fn a_failed_trial_takes_its_block_and_the_sum() {
    let mut stored = run_with(INDEPENDENT);
    let failed = stored.trials.iter_mut().find(|trial| trial.contender == LOG && trial.block == 3).unwrap();
    failed.status = Status::Failed;
    failed.metrics.clear();
    let ladder = ladder_of(&stored);
    assert_eq!(ladder.rungs.iter().map(|rung| rung.gain.unwrap().blocks).collect::<Vec<_>>(), [8, 7, 7]);
    assert!(ladder.product.is_none());
}

#[test]
fn a_run_goes_on_until_every_step_has_a_verdict() {
    let story = Story { blocks: 20, ..Story::default() };
    let of_first = |gains| {
        let stored = ladder_run(&story, gains);
        let trials: Vec<_> = stored.trials.iter().filter(|trial| trial.block <= 10).cloned().collect();
        should_stop(&stored.plan, &trials)
    };
    assert!(of_first(INDEPENDENT).is_some(), "all steps are plain to see");
    assert!(of_first(PLANTED).is_none(), "the second step is neither shown nor shown to be nothing");
}

#[test]
fn two_ladders_stand_beside_each_other_at_each_stage() {
    let mut stored = run_with(INDEPENDENT);
    stored.plan.ladders[0].rungs.truncate(2);
    let rung = RungRecord { contender: FLUSH.into(), changes: vec![] };
    let other = LadderRecord { base: "all but pool".into(), rungs: vec![rung], ablation: vec![] };
    stored.plan.ladders.push(other);
    let stages = &conclusions(&stored).workloads[0].stages;
    let ladder_run: Vec<(&str, &str, &str)> = stages
        .iter()
        .map(|stage| (stage.kind.as_str(), stage.comparison.baseline.as_str(), stage.comparison.candidate.as_str()))
        .collect();
    // The tops of both are what is safe there, so that they stand once.
    assert_eq!(ladder_run, [("base", BASELINE, "all but pool"), ("safe", LOG, FLUSH)]);
    assert_eq!(stages[0].classes, (Some("D3".to_owned()), Some("D2".to_owned())));
}
