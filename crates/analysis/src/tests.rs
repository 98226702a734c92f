//! Made-up runs whose truth is known, and the verdicts they must and must not get.

use super::*;
use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, kinds_run, passes_run, statements_run, stored_run};
use record::format::{BuildRecord, ContrastKind, DecisionRecord, Point, Purpose, RuleName, Status, TrialRecord};
use record::rule::point_rule;

fn duel_of(stored: &StoredRun) -> HeadToHead {
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    conclusions.workloads.into_iter().next().unwrap().duels.into_iter().next().unwrap()
}

/// The trials of the first blocks only, as they stand while a run goes on.
fn first_blocks(stored: &StoredRun, blocks: u32) -> Vec<TrialRecord> {
    stored.trials.iter().filter(|trial| trial.block <= blocks).cloned().collect()
}

fn stored_of(ratios: [f64; 4], blocks: u32) -> StoredRun {
    stored_run(&Story { ratios, blocks, ..Story::default() })
}

#[test]
fn a_slower_candidate_is_called_slower_with_an_interval_around_the_truth() {
    let duel = duel_of(&stored_run(&Story::default()));
    let truth = (0.98f64 * 0.93 * 0.87 * 0.78).powf(0.25);
    assert_eq!(duel.overall.verdict, Verdict::Slower);
    assert!(duel.overall.low.unwrap() < truth && truth < duel.overall.high.unwrap(), "{:?}", duel.overall);
    assert_eq!((duel.overall.blocks, duel.points.len(), duel.overall.point.clone()), (8, 4, None));
    assert_eq!(duel.losing.first(), Some(&Point::from([("clients".into(), 64)])), "the worst point stands first");
}

#[test]
fn while_a_run_goes_on_its_overall_comparison_is_that_of_the_report() {
    for stored in [stored_run(&Story::default()), passes_run(&Story::default()), kinds_run(&Story::default())] {
        let trials = first_blocks(&stored, 8);
        let shown = so_far(&stored.plan, &stored.run, &trials);
        let report = conclude(&stored.plan, &stored.run, &trials);
        let reported = report.workloads.iter().flat_map(|one| one.duels.iter().map(move |duel| (one, duel)));
        let reported: Vec<_> = reported.map(|(one, duel)| (&one.workload, &duel.candidate, &duel.overall)).collect();
        assert!(!reported.is_empty());
        assert_eq!(shown.iter().map(|one| (&one.workload, &one.candidate, &one.overall)).collect::<Vec<_>>(), reported);
    }
}

#[test]
fn equal_contenders_are_not_called_faster_or_slower() {
    let duel = duel_of(&stored_run(&Story { spread: 0.001, ..Story { ratios: [1.0; 4], ..Story::default() } }));
    assert_eq!(duel.overall.verdict, Verdict::NoDifferenceShown);
    assert!(duel.losing.is_empty() && duel.crossings.is_empty());
}

#[test]
fn more_latency_or_cpu_is_a_ratio_below_one() {
    let duel = duel_of(&stored_run(&Story::default()));
    for other in &duel.others {
        let overall = &other.overall;
        assert!(overall.ratio.unwrap() < 1.0 && overall.verdict == Verdict::Slower, "{}: {overall:?}", other.metric);
        assert!(overall.candidate_value > overall.baseline_value, "{}: values stay as measured", other.metric);
    }
    let names: Vec<&str> = duel.others.iter().map(|other| other.metric.as_str()).collect();
    assert_eq!(names, ["latency_ms_p50", "latency_ms_p95", "latency_ms_p99", "cpu_us_per_tx"]);
}

#[test]
fn winning_here_and_losing_there_is_mixed_and_names_the_crossing() {
    let duel = duel_of(&stored_of([1.10, 1.06, 0.94, 0.85], 8));
    let clients = |clients| Point::from([("clients".to_owned(), clients)]);
    assert_eq!(duel.overall.verdict, Verdict::Mixed);
    assert_eq!(duel.crossings, [(clients(4), clients(16))]);
    assert_eq!(duel.losing, [clients(64), clients(16)]);
}

#[test]
fn seven_blocks_give_no_verdict() {
    let mut stored = stored_run(&Story::default());
    stored.trials = first_blocks(&stored, 7);
    let overall = duel_of(&stored).overall;
    assert_eq!((overall.verdict, overall.blocks), (Verdict::Inconclusive, 7));
    assert!(overall.caveats.contains(&Caveat::TooFewBlocks) && overall.low.is_some());
}

#[test]
fn a_failed_trial_removes_its_pair_and_leaves_the_verdict() {
    let mut stored = stored_of([0.9; 4], 12);
    stored.fail(CANDIDATE, 16, 3);
    let duel = duel_of(&stored);
    assert_eq!((duel.overall.verdict, duel.overall.blocks), (Verdict::Slower, 11));
    assert!(duel.overall.caveats.contains(&Caveat::FailedTrials));
    assert_eq!(duel.points[0].blocks, 12, "other points keep all their pairs");
}

/// As a trial leaves it in which the server answered nothing.
fn outage(stored: &mut StoredRun, contender: &str, clients: u64, block: u32) {
    let trial = stored.trial(contender, clients, block);
    trial.metrics.retain(|name, _| !name.contains("_ms_") && name != "cpu_us_per_tx");
    for name in ["tps", "qps", "transactions.due", "transactions.committed"] {
        trial.metrics.insert(name.into(), 0.0);
    }
}

#[test]
fn a_trial_without_a_commit_is_ranked_worst_and_two_in_twenty_are_no_win() {
    let mut stored = stored_of([1.2; 4], 20);
    let before = duel_of(&stored).points[2].clone();
    for block in [4, 15] {
        outage(&mut stored, CANDIDATE, 16, block);
    }
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let duel = &conclusions.workloads[0].duels[0];
    let point = &duel.points[2];
    assert_eq!((before.verdict, point.verdict, point.blocks), (Verdict::Faster, Verdict::Inconclusive, 20));
    assert!(point.caveats.contains(&Caveat::Outages) && !point.caveats.contains(&Caveat::FailedTrials));
    let worst = point.pairs.iter().map(|(_, ratio)| *ratio).fold(1.0, f64::min);
    assert!(worst < 1e-4, "half a transaction in five seconds: {worst}");
    assert!(point.candidate_value < before.candidate_value, "the mean has them too");
    let cpu = duel.others.iter().find(|other| other.metric == "cpu_us_per_tx").unwrap();
    assert_eq!((cpu.points[2].blocks, cpu.points[2].incomplete), (20, 2), "no cost of nothing is left out");
    assert_ne!(cpu.points[2].verdict, Verdict::Faster);
    assert!(conclusions.findings.iter().any(|finding| finding.kind == FindingKind::Outages));
    outage(&mut stored, BASELINE, 16, 4);
    outage(&mut stored, BASELINE, 16, 15);
    assert_eq!(duel_of(&stored).points[2].verdict, Verdict::Faster, "both were out as often");
}

#[test]
fn a_contender_that_lost_many_of_its_transactions_is_named_with_their_share() {
    let lost_of = |failed: f64| {
        let mut stored = stored_of([1.0; 4], 8);
        for trial in &mut stored.trials {
            let failed = if trial.contender == CANDIDATE { failed } else { 0.0 };
            trial.metrics.insert("transactions.due".into(), 27.0);
            trial.metrics.insert("transactions.failed".into(), failed);
        }
        conclude(&stored.plan, &stored.run, &stored.trials).findings
    };
    let is_lost = |one: &&crate::Finding| one.kind == FindingKind::LostTransactions;
    let findings = lost_of(9.0);
    let finding = findings.iter().find(is_lost).unwrap();
    let Facts::Lost(all) = &finding.facts else { panic!("{finding:?}") };
    let share = |name: &str| all.iter().find(|one| one.contender == name).unwrap().share;
    assert_eq!((share(BASELINE), share(CANDIDATE)), (0.0, 1.0 / 3.0));
    assert!(lost_of(0.2).iter().find(is_lost).is_none(), "less than 1 %");
}

#[test]
fn the_peak_and_the_spread_count_a_trial_without_a_commit() {
    let mut stored = stored_of([1.2; 4], 20);
    outage(&mut stored, CANDIDATE, 16, 4);
    let duel = duel_of(&stored);
    assert_eq!((duel.peak.unwrap().blocks, duel.spread.blocks, duel.overall.blocks), (20, 20, 20));
}

#[test]
fn a_quantile_that_one_trial_in_ten_lacks_ranks_worst_and_one_that_more_lack_is_left_out() {
    let lacking = |blocks: &[u32]| {
        let mut stored = stored_of([1.2; 4], 20);
        for block in blocks {
            stored.trial(CANDIDATE, 16, *block).metrics.remove("latency_ms_p99");
        }
        conclude(&stored.plan, &stored.run, &stored.trials)
    };
    let p99 = |conclusions: &Conclusions| {
        let others = &conclusions.workloads[0].duels[0].others;
        others.iter().find(|other| other.metric == "latency_ms_p99").unwrap().clone()
    };
    let quantile = |conclusions: &Conclusions| {
        let cells = &conclusions.workloads[0].cells;
        let ours = |cell: &&Cell| cell.contender == CANDIDATE && cell.point["clients"] == 16;
        let cell = cells.iter().find(ours).unwrap();
        (cell.quantiles.contains_key("latency_ms_p99"), cell.metrics.contains_key("latency_ms_p99"))
    };
    let (whole, some) = (lacking(&[]), lacking(&[3, 9]));
    let (before, after) = (&p99(&whole).points[2], &p99(&some).points[2]);
    assert_eq!((after.blocks, after.incomplete, quantile(&some)), (20, 2, (true, true)));
    assert!(after.low < before.low && after.candidate_value >= before.candidate_value, "{after:?}");
    let many = lacking(&[3, 9, 10]);
    let (p99_rows, duel) = (p99(&many), &many.workloads[0].duels[0]);
    assert!(!p99_rows.points.iter().any(|point| point.point.as_ref().unwrap()["clients"] == 16), "no row, no point");
    assert!(
        p99_rows.overall.is_withheld && p99_rows.overall.ratio.is_none() && p99_rows.overall.candidate_value.is_none()
    );
    assert_eq!((p99_rows.overall.verdict, quantile(&many)), (Verdict::Inconclusive, (false, false)));
    let missing = duel.missing.iter().find(|one| one.quantile == "p99").unwrap();
    assert_eq!((missing.points.len(), missing.trials_lacking, missing.trials), (1, 3, 40));
    let requests = 1480.0 * 1.2 * 5.0;
    assert!((missing.needed_s / (5.0 * 30.0 / (0.01 * requests)) - 1.0).abs() < 0.05, "{missing:?}");
    assert!(many.findings.iter().any(|finding| finding.kind == FindingKind::MissingQuantiles));
}

#[test]
fn cpu_per_transaction_decides_where_throughput_cannot() {
    let mut stored = stored_run(&Story { ratios: [1.0; 4], spread: 0.5, ..Story::default() });
    let cpu = |trial: &TrialRecord| if trial.contender == CANDIDATE { 1090.0 } else { 1000.0 };
    for trial in &mut stored.trials {
        let value = cpu(trial) * (1.0 + 0.002 * f64::from(trial.trial % 7));
        trial.metrics.insert(SECONDARY_METRIC.into(), value);
    }
    let decided = |stored: &StoredRun| {
        let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
        let workload = &conclusions.workloads[0];
        let duel = &workload.duels[0];
        (duel.overall.verdict, workload.decided_by_cost(duel).map(|cost| cost.verdict))
    };
    assert_eq!(decided(&stored), (Verdict::Inconclusive, Some(Verdict::Slower)));
    stored.plan.workloads[0].arrivals = Some("poisson".into());
    assert_eq!(decided(&stored).1, None, "an open loop is judged by its response times");
}

#[test]
fn flags_that_fall_on_one_side_withhold_what_flagged_blocks_decide() {
    let flagged = |blocks: &[u32], balanced: bool| {
        let mut stored = stored_of([0.9; 4], 12);
        for block in blocks {
            let side = if balanced && block % 2 == 0 { BASELINE } else { CANDIDATE };
            stored.trial(side, 16, *block).flags.push("foreign-cpu".into());
        }
        conclude(&stored.plan, &stored.run, &stored.trials)
    };
    let (one_sided, both, few) =
        (flagged(&[1, 2, 3, 4, 5, 6], false), flagged(&[1, 2, 3, 4, 5, 6], true), flagged(&[1, 2], false));
    let duel = |conclusions: &Conclusions| conclusions.workloads[0].duels[0].clone();
    let imbalance = duel(&one_sided).flag_imbalance.unwrap();
    assert_eq!((imbalance.baseline_only, imbalance.candidate_only), (0, 6));
    assert!((imbalance.p - 0.03125).abs() < 1e-12, "{imbalance:?}");
    assert!(one_sided.findings.iter().any(|finding| finding.kind == FindingKind::FlagImbalance));
    // Six blocks without a flag are too few for a verdict of their own.
    assert_eq!(
        (duel(&one_sided).overall.verdict, duel(&one_sided).points[0].verdict),
        (Verdict::Inconclusive, Verdict::Slower)
    );
    assert!(duel(&one_sided).overall.caveats.contains(&Caveat::FlagDependent));
    for fair in [&both, &few] {
        assert_eq!((duel(fair).flag_imbalance, duel(fair).overall.verdict), (None, Verdict::Slower));
    }
    let of_candidate = &one_sided.flags[1];
    assert_eq!((of_candidate.flagged, of_candidate.trials, of_candidate.by_flag["foreign-cpu"]), (6, 48, 6));
}

#[test]
fn steady_state_tests_of_one_comparison_share_their_error() {
    let stored = stored_of([1.0; 4], 8);
    let drifting = |clients: u64| {
        let mut stored = stored_of([1.0; 4], 8);
        stored.plan.method.left_out.clear();
        for trial in stored.trials.iter_mut().filter(|trial| trial.contender == CANDIDATE) {
            // Mean 0.03, standard deviation 0.0293: t is 2.9, p about 0.023 with 7 degrees of freedom.
            let value = [0.07, -0.01, 0.06, 0.0, 0.065, 0.0, 0.055, 0.0][trial.block as usize - 1];
            let value = if clients == 0 || trial.point["clients"] == clients { value } else { 0.0 };
            trial.metrics.insert("half_log_ratio".into(), value);
        }
        duel_of(&stored).drifts
    };
    assert!(!stored.trials.is_empty() && drifting(16).is_empty() && drifting(0).is_empty(), "one test of many");
}

#[test]
fn more_than_one_failed_pair_in_ten_withholds_the_verdict() {
    let mut stored = stored_of([0.9; 4], 20);
    for block in [2, 5, 9] {
        stored.fail(BASELINE, 16, block);
    }
    let duel = duel_of(&stored);
    assert_eq!(
        (duel.points[2].verdict, duel.points[2].blocks),
        (Verdict::Inconclusive, 17),
        "3 of 20 pairs failed here"
    );
    assert_eq!(duel.overall.verdict, Verdict::Slower, "3 of 80 pairs failed in the whole sweep");
}

#[test]
fn a_contender_is_never_ok_only_where_no_trial_of_its_own_succeeded() {
    let mut stored = stored_of([0.9; 4], 2);
    assert!(never_ok(&stored.trials).is_empty());
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == BASELINE) {
        (trial.status, trial.failure) = (Status::Failed, None);
    }
    assert_eq!(never_ok(&stored.trials).into_iter().collect::<Vec<_>>(), [(BASELINE, "no message")]);
    stored.trials.iter_mut().rfind(|trial| trial.contender == BASELINE).unwrap().status = Status::Ok;
    assert!(never_ok(&stored.trials).is_empty());
}

#[test]
fn a_point_that_is_given_up_withholds_the_verdict_of_the_sweep_but_not_of_other_points() {
    let mut stored = stored_of([0.9; 4], 20);
    for block in 1..=3 {
        stored.fail(CANDIDATE, 64, block);
    }
    stored.trials.retain(|trial| !(trial.contender == CANDIDATE && trial.point["clients"] == 64 && trial.block > 3));
    assert_eq!(given_up(&stored.trials).len(), 1);
    let duel = duel_of(&stored);
    assert_eq!((duel.overall.verdict, duel.points[0].verdict), (Verdict::Inconclusive, Verdict::Slower));
    assert!(duel.overall.caveats.contains(&Caveat::FailedTrials));
    assert_eq!(
        should_stop(&stored.plan, &stored.trials),
        Some(EndReason::Blocks),
        "what was given up is not waited for"
    );
}

#[test]
fn a_noisy_host_marks_the_verdict_or_withholds_it() {
    let mut stored = stored_of([0.9; 4], 8);
    for block in 1..=3 {
        stored.trial(BASELINE, 16, block).flags.push("steal".into());
    }
    let stamped = duel_of(&stored);
    assert_eq!(stamped.points[2].verdict, Verdict::Slower);
    assert!(
        stamped.points[2].caveats.contains(&Caveat::NoisyHost)
            && !stamped.points[0].caveats.contains(&Caveat::NoisyHost)
    );
    stored.plan.method.noisy_host = "refuse".into();
    let refused = duel_of(&stored);
    assert_eq!(refused.points[2].verdict, Verdict::Inconclusive, "3 of 8 pairs are more than a quarter");
    assert_eq!(refused.overall.verdict, Verdict::Slower, "3 of 32 are not");
}

#[test]
fn a_verdict_that_depends_on_flagged_blocks_is_flag_dependent() {
    let mut stored = stored_of([0.97; 4], 20);
    for trial in stored.trials.iter_mut().filter(|trial| trial.block > 8) {
        trial.flags.push("foreign-cpu".into());
    }
    for trial in stored
        .trials
        .iter_mut()
        .filter(|trial| trial.block <= 8 && trial.contender == CANDIDATE && trial.block % 2 == 0)
    {
        trial.metrics.entry("tps".into()).and_modify(|tps| *tps *= 1.06);
    }
    let overall = duel_of(&stored).overall;
    assert_eq!(overall.verdict, Verdict::Inconclusive);
    assert!(overall.caveats.contains(&Caveat::FlagDependent), "{:?}", overall.caveats);
}

#[test]
fn a_bound_generator_hides_a_winner_but_not_a_loser() {
    let bind = |contender: &str| {
        let mut stored = stored_of([0.9; 4], 8);
        stored
            .trials
            .iter_mut()
            .filter(|trial| trial.contender == contender)
            .for_each(|trial| trial.flags.push("generator-bound".into()));
        duel_of(&stored).overall
    };
    let (faster_bound, slower_bound) = (bind(BASELINE), bind(CANDIDATE));
    assert_eq!((faster_bound.verdict, slower_bound.verdict), (Verdict::Slower, Verdict::Inconclusive));
    assert!(
        faster_bound.caveats.contains(&Caveat::GeneratorBound)
            && slower_bound.caveats.contains(&Caveat::GeneratorBound)
    );
}

#[test]
fn response_times_out_of_range_are_a_finding_and_leave_the_verdict() {
    let mut stored = stored_of([0.9; 4], 8);
    let verdict = duel_of(&stored).overall.verdict;
    stored.trials[0].flags.push("out-of-range".into());
    stored.trials[0].remarks.insert("out-of-range".into(), "2 above an hour".into());
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let p99_rows = conclusions.findings.iter().find(|finding| finding.kind == FindingKind::OutOfRange).unwrap();
    assert_eq!(p99_rows.trials, [stored.trials[0].trial]);
    assert_eq!(conclusions.workloads[0].duels[0].overall.verdict, verdict);
}

#[test]
fn different_durability_stands_behind_the_verdict_and_in_the_findings() {
    let mut stored = stored_run(&Story::default());
    stored.run.contenders.get_mut(CANDIDATE).unwrap().durability_class = "D2".into();
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let duel = &conclusions.workloads[0].duels[0];
    assert_eq!(duel.durability, Some(("D3".into(), "D2".into())));
    assert!(duel.overall.caveats.contains(&Caveat::DurabilityDiffers));
    assert!(conclusions.findings.iter().any(|finding| finding.kind == FindingKind::DurabilityDiffers));
}

#[test]
fn builds_of_different_word_size_are_a_finding_and_unknown_ones_are_not() {
    let mut stored = stored_run(&Story::default());
    let names: Vec<String> = stored.plan.contenders.iter().map(|one| one.name.clone()).collect();
    let mut found = |bits: [Option<u32>; 2]| {
        for (name, word_bits) in names.iter().zip(bits) {
            let build = BuildRecord { word_bits, ..BuildRecord::default() };
            stored.run.contenders.get_mut(name).unwrap().build = build;
        }
        let findings = conclude(&stored.plan, &stored.run, &stored.trials).findings;
        findings.into_iter().find(|finding| finding.kind == FindingKind::WordSizeDiffers)
    };
    assert!(found([Some(64), Some(64)]).is_none() && found([Some(32), None]).is_none());
    assert!(found([Some(32), Some(64)]).is_some());
}

#[test]
fn settings_that_change_the_work_are_a_finding_and_those_that_change_its_speed_are_not() {
    let mut stored = stored_run(&Story::default());
    let names: Vec<String> = stored.plan.contenders.iter().map(|one| one.name.clone()).collect();
    let mut found = |setting: &str, values: [&str; 2]| {
        for (name, value) in names.iter().zip(values) {
            let settings = &mut stored.run.contenders.get_mut(name).unwrap().effective_settings;
            settings.insert(setting.to_owned(), value.to_owned());
        }
        let findings = conclude(&stored.plan, &stored.run, &stored.trials).findings;
        let finding = findings.into_iter().find(|finding| finding.kind == FindingKind::WorkDiffers);
        finding.map_or(Vec::new(), |finding| match finding.facts {
            Facts::WorkDiffers(all) => all.into_iter().map(|one| (one.setting, one.of_candidate)).collect(),
            other => panic!("{other:?}"),
        })
    };
    assert!(found("innodb_io_capacity", ["200", "10000"]).is_empty());
    assert!(found("autocommit", ["ON", "1"]).is_empty(), "the same in another spelling");
    assert_eq!(found("sql_mode", ["", "ANSI"]), [("sql_mode".to_owned(), "ANSI".to_owned())]);
}

#[test]
fn a_pooler_before_a_server_is_a_finding_with_the_sessions_behind_it() {
    let mut stored = stored_run(&Story::default());
    let name = stored.plan.contenders[1].name.clone();
    let found = |stored: &StoredRun| {
        let findings = conclude(&stored.plan, &stored.run, &stored.trials).findings;
        findings.into_iter().find(|finding| finding.kind == FindingKind::BehindPooler).map(|finding| finding.facts)
    };
    assert_eq!(found(&stored), None);
    stored.run.contenders.get_mut(&name).unwrap().pooler = Some("PgBouncer 1.18.0 (transaction mode)".into());
    let behind = |sessions| {
        let pooler = "PgBouncer 1.18.0 (transaction mode)".into();
        Some(Facts::BehindPooler(vec![BehindPooler { contender: name.clone(), pooler, sessions }]))
    };
    assert_eq!(found(&stored), behind(None));
    for (metric, sessions) in [("state.sessions_end", 4.0), ("state.sessions", 5.0)] {
        for trial in stored.trials.iter_mut().filter(|trial| trial.contender == name) {
            trial.metrics.insert(metric.into(), sessions);
        }
        assert_eq!(found(&stored), behind(Some(sessions)));
    }
}

#[test]
fn a_default_that_dbduel_changed_is_a_finding_where_versions_are_compared() {
    let mut stored = stored_run(&Story::default());
    let candidate = stored.plan.contenders[1].name.clone();
    let found = |stored: &StoredRun| {
        let findings = conclude(&stored.plan, &stored.run, &stored.trials).findings;
        findings.into_iter().any(|finding| finding.kind == FindingKind::DefaultsChanged)
    };
    assert!(!found(&stored));
    stored.run.contenders.get_mut(&candidate).unwrap().changed_defaults = vec!["log_bin".into()];
    assert!(found(&stored));
    stored.plan.contenders[1].version = stored.plan.contenders[0].version.clone();
    assert!(!found(&stored), "both have the same default");
}

#[test]
fn every_trouble_of_a_run_is_a_finding_with_evidence() {
    let stored = stored_run(&Story { trouble: true, ..Story::default() });
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let kinds: Vec<&str> = conclusions.findings.iter().map(|finding| finding.kind.as_str()).collect();
    assert_eq!(kinds, ["failed trials", "missing quantiles", "noisy host", "resumed", "shared cores"]);
    let failed = stored.trials.iter().find(|trial| trial.status == Status::Failed).unwrap();
    assert_eq!(conclusions.findings[0].trials, [failed.trial]);
    assert_eq!((conclusions.tally.trials_finished, conclusions.tally.trials_failed), (64, 1));
}

#[test]
fn a_decided_run_stops_at_a_look_and_never_inside_a_block() {
    let stored = stored_of([0.9; 4], 20);
    let at = |trials: &[TrialRecord]| should_stop(&stored.plan, trials);
    assert_eq!(at(&first_blocks(&stored, 7)), None);
    let earliest = point_rule(&stored.plan, 4).earliest_verdict().unwrap() as u32;
    assert_eq!(earliest, 10, "four points share the error, so their first verdict comes after the sweep's");
    assert_eq!(at(&first_blocks(&stored, 8)), None, "the sweep has its verdict, the points not yet their chance");
    assert_eq!(at(&first_blocks(&stored, earliest)), Some(EndReason::Decided));
    let mut inside = first_blocks(&stored, earliest);
    inside.push(stored.trials.iter().find(|trial| trial.block == earliest + 1).unwrap().clone());
    assert_eq!(at(&inside), None);
    assert_eq!(at(&stored.trials), Some(EndReason::Blocks));
}

#[test]
fn a_run_that_never_stops_early_does_not() {
    let mut stored = stored_of([0.5; 4], 20);
    stored.plan.method.stop = "never".into();
    assert_eq!(should_stop(&stored.plan, &first_blocks(&stored, 18)), None);
}

#[test]
fn waiting_for_every_point_goes_on_where_one_is_open() {
    let mut stored = stored_run(&Story { ratios: [0.9, 0.9, 0.9, 1.0], blocks: 20, spread: 0.02, ..Story::default() });
    let ten = first_blocks(&stored, 10);
    assert_eq!(should_stop(&stored.plan, &ten), Some(EndReason::Decided));
    stored.plan.method.stop = "points".into();
    assert_eq!(should_stop(&stored.plan, &ten), None);
}

#[test]
fn several_candidates_share_the_error() {
    let mut plan = stored_run(&Story::default()).plan;
    let one = point_rule(&plan, 1).alpha;
    let mut third = plan.contenders[1].clone();
    third.name = "5.7".into();
    plan.contenders.push(third);
    assert!((point_rule(&plan, 1).alpha - one / 2.0).abs() < 1e-15);
}

#[test]
fn rule_t_gives_a_verdict_from_block_four_with_its_caveat() {
    let mut stored = stored_of([0.7; 4], 20);
    stored.plan.method.rule = RuleName::T;
    assert_eq!(should_stop(&stored.plan, &first_blocks(&stored, 3)), None);
    assert_eq!(should_stop(&stored.plan, &first_blocks(&stored, 4)), Some(EndReason::Decided));
    stored.trials = first_blocks(&stored, 4);
    let overall = duel_of(&stored).overall;
    assert_eq!((overall.verdict, overall.blocks), (Verdict::Slower, 4));
    assert!(overall.caveats.contains(&Caveat::T) && !overall.caveats.contains(&Caveat::TooFewBlocks));
    stored.plan.method.rule = RuleName::Exact;
    assert_eq!(duel_of(&stored).overall.verdict, Verdict::Inconclusive, "the exact rule speaks from block 8");
}

#[test]
fn a_pass_is_compared_by_the_operations_that_everybody_did_rightly() {
    let stored = passes_run(&Story::default());
    let duel = duel_of(&stored);
    let parts = duel.parts.unwrap();
    assert_eq!((parts.in_total, parts.operations.len(), parts.screened), (22, 22, true));
    let total_of = |trial: &TrialRecord| -> f64 {
        let done = |name: &str| !["select_03", "select_04"].contains(&name);
        let times =
            trial.metrics.iter().filter(|(name, _)| record::format::operations::operation_of(name).is_some_and(done));
        times.map(|(_, seconds)| seconds).sum()
    };
    let ours: Vec<f64> = stored.trials.iter().filter(|trial| trial.contender == CANDIDATE).map(total_of).collect();
    let logs: Vec<f64> = ours.iter().map(|seconds| seconds.ln()).collect();
    assert!((duel.overall.candidate_value.unwrap() - stats::mean(&logs).unwrap().exp()).abs() < 1e-9);
    // 90 of 102 seconds are a fifth slower.
    assert_eq!((duel.overall.metric.as_str(), duel.overall.verdict), ("seconds", Verdict::Slower));
    assert!((duel.overall.ratio.unwrap() - 99.4 / 117.4).abs() < 0.01, "{:?}", duel.overall.ratio);
    let geomean = duel.others.iter().find(|other| other.metric == "geomean_seconds").unwrap();
    assert!((geomean.overall.ratio.unwrap() - 1.2f64.powf(-12.0 / 22.0)).abs() < 0.01);
}

#[test]
fn what_the_limit_ended_ranks_worst_and_two_bounds_have_no_order() {
    use record::format::operations::{LIMITED, SECONDS, flag, operation_metric};
    let mut stored = passes_run(&Story::default());
    let limit = |trial: &mut TrialRecord, name: &str| {
        trial.metrics.insert(operation_metric(name, SECONDS), 600.0);
        trial.flags.push(flag(LIMITED, name));
    };
    for trial in &mut stored.trials {
        limit(trial, "select_01");
        if trial.contender == CANDIDATE {
            limit(trial, "connect_02");
        }
    }
    let trials = stored.trials.iter().filter(|trial| trial.contender == CANDIDATE).count() as u32;
    let parts = duel_of(&stored).parts.unwrap();
    let of = |name: &str| parts.operations.iter().find(|part| part.name == name).unwrap();
    assert_eq!((of("connect_02").comparison.verdict, of("connect_02").limited), (Verdict::Slower, [0, trials]));
    assert_eq!((of("select_01").comparison.verdict, of("select_01").limited), (Verdict::Inconclusive, [trials; 2]));
    assert_eq!((of("select_01").comparison.low, of("select_02").limited), (None, [0, 0]));
    assert_eq!(parts.in_total, 22, "nothing is left out");
}

#[test]
fn kinds_of_statements_are_compared_by_their_rates_and_groups_by_their_means() {
    let duel = duel_of(&kinds_run(&Story::default()));
    let parts = duel.parts.unwrap();
    assert_eq!((parts.kind, parts.in_total, parts.operations.len(), parts.screened), (PartKind::Kind, 24, 24, true));
    let groups: Vec<_> = parts.programs.iter().map(|one| (one.name.as_str(), one.comparison.verdict)).collect();
    let expected = [("aggregate", None), ("point", Some(Verdict::Slower)), ("write", Some(Verdict::Faster))];
    for ((name, verdict), (group, asked)) in groups.into_iter().zip(expected) {
        assert!(name == group && asked.is_none_or(|asked| asked == verdict), "{name}: {verdict:?}");
    }
    let point = &parts.programs[1].comparison;
    assert!((point.ratio.unwrap() - 0.8).abs() < 0.02, "{:?}", point.ratio);
    // The mean over what both did: 12 of 24 kinds at 0.8, 7 at 1.25, 5 alike.
    let expected = (0.8f64.powi(12) * 1.25f64.powi(7)).powf(1.0 / 24.0);
    assert!((duel.overall.ratio.unwrap() - expected).abs() < 0.01, "{:?}", duel.overall.ratio);
    assert_eq!(duel.overall.metric, "geomean_per_s");
    let kind = |name: &str| parts.operations.iter().find(|one| one.name == name).unwrap();
    assert_eq!(kind("point/03").explained(), Some(Explained::Cpu));
    assert_eq!(kind("write/03").explained(), Some(Explained::Waiting));
    let left: Vec<_> = parts.left_out.iter().map(|one| (one.kind, one.name.as_str())).collect();
    assert_eq!(left, [("gap", "write/08"), ("wrong", "aggregate/06")]);
}

#[test]
fn what_one_of_them_lacks_is_named_and_compared_with_nothing() {
    let parts = duel_of(&passes_run(&Story::default())).parts.unwrap();
    let left: Vec<_> = parts.left_out.iter().map(|one| (one.kind, one.name.as_str(), one.contender.as_str())).collect();
    assert_eq!(
        left,
        [("gap", "select_03", CANDIDATE), ("partial", "select", CANDIDATE), ("wrong", "select_04", CANDIDATE)]
    );
    assert!(!parts.operations.iter().any(|part| ["select_03", "select_04"].contains(&part.name.as_str())));
    let programs: Vec<&str> = parts.programs.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(programs, ["connect", "insert"], "a program of which a part is missing is another work");
    let marked: Vec<&str> =
        parts.operations.iter().filter(|part| part.marks == ["estimated"]).map(|part| part.name.as_str()).collect();
    assert_eq!(marked, ["insert_02"]);
    let shares: f64 = parts.operations.iter().filter_map(|part| part.shares[0]).sum();
    assert!((shares - 1.0).abs() < 1e-9);
}

/// Twelve blocks in which a contender did not do `connect_01` in its first trials.
fn lacking_in(contender: &str, trials: usize) -> HeadToHead {
    let mut stored = passes_run(&Story { blocks: 12, ..Story::default() });
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == contender).take(trials) {
        trial.metrics.retain(|name, _| !name.starts_with("op.connect_01."));
        for flag in ["gap:connect_01", "partial:connect"] {
            trial.flags.push(flag.into());
            trial.remarks.insert(flag.into(), "the server has gone away".into());
        }
    }
    duel_of(&stored)
}

#[test]
fn a_trial_that_lacks_an_operation_is_the_worst_and_is_not_left_out() {
    let find =
        |duel: &HeadToHead| duel.parts.as_ref().unwrap().operations.iter().position(|one| one.name == "connect_01");
    for contender in [BASELINE, CANDIDATE] {
        let (whole, lacking) = (lacking_in(contender, 0), lacking_in(contender, 1));
        let parts = lacking.parts.as_ref().unwrap();
        assert_eq!((parts.in_total, lacking.overall.incomplete), (22, 1));
        let operation = &parts.operations[find(&lacking).unwrap()].comparison;
        assert_eq!((operation.incomplete, operation.blocks), (1, 12));
        // Its own mean ratio moves against the side that lacks the operation, and so does that of the total.
        let before = &whole.parts.as_ref().unwrap().operations[find(&whole).unwrap()].comparison;
        for (now, then) in [(operation, before), (&lacking.overall, &whole.overall)] {
            let moved = now.mean_ratio.unwrap() - then.mean_ratio.unwrap();
            assert!(if contender == BASELINE { moved > 0.0 } else { moved < 0.0 }, "{contender}: {moved}");
        }
        let named = parts.left_out.iter().any(|one| one.name == "connect_01" && one.contender == contender);
        assert!(named && parts.programs.iter().any(|one| one.name == "connect" && one.comparison.incomplete == 1));
    }
    let lacking = lacking_in(CANDIDATE, 2);
    assert_eq!((find(&lacking), lacking.parts.as_ref().unwrap().in_total, lacking.overall.incomplete), (None, 21, 0));
}

#[test]
fn a_pass_of_which_nothing_is_common_has_no_verdict() {
    let mut stored = passes_run(&Story::default());
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == CANDIDATE) {
        trial.metrics.retain(|name, _| !name.starts_with("op."));
    }
    let duel = duel_of(&stored);
    assert_eq!(
        (duel.overall.verdict, duel.overall.ratio, duel.overall.candidate_value),
        (Verdict::Inconclusive, None, None)
    );
    assert_eq!(duel.parts.unwrap().in_total, 0);
}

#[test]
fn what_counts_something_else_on_either_side_is_other_work() {
    let mut stored = passes_run(&Story::default());
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == CANDIDATE) {
        trial.metrics.insert("op.insert_01.count".into(), 992.0);
        trial.metrics.insert("program.insert.count".into(), 11_992.0);
    }
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == BASELINE) {
        trial.metrics.insert("program.insert.count".into(), 12_000.0);
    }
    let parts = duel_of(&stored).parts.unwrap();
    assert_eq!((parts.in_total, parts.operations.len()), (21, 21));
    let other: Vec<_> = parts.left_out.iter().filter(|one| one.kind == "other count").collect();
    assert_eq!(
        (other[0].name.as_str(), other[0].because.clone()),
        ("insert_01", LeftOutBecause::OtherCount { count: 992, baseline: 1000 })
    );
    assert_eq!(other[1].name, "insert");
    assert!(!parts.programs.iter().any(|part| part.name == "insert"));
}

#[test]
fn long_lists_are_screened_and_short_ones_share_the_error() {
    let stored = passes_run(&Story::default());
    let parts = duel_of(&stored).parts.unwrap();
    for part in &parts.operations {
        let comparison = &part.comparison;
        assert!(comparison.caveats.contains(&Caveat::Screening), "{}", part.name);
        let expected = if part.name.starts_with("insert") { Verdict::Slower } else { Verdict::Inconclusive };
        assert!(
            comparison.verdict == expected || expected != Verdict::Slower && comparison.verdict != Verdict::Slower,
            "{part:?}"
        );
    }
    let insert = parts.programs.iter().find(|part| part.name == "insert").unwrap();
    assert_eq!((insert.comparison.verdict, insert.comparison.blocks), (Verdict::Slower, 8));
    assert!(!insert.comparison.caveats.contains(&Caveat::Screening));

    // One real difference among many rows that are alike: eight blocks cannot make it a discovery.
    let mut alike = passes_run(&Story::default());
    for trial in alike.trials.iter_mut().filter(|trial| trial.contender == CANDIDATE) {
        for index in 2..=12 {
            *trial.metrics.get_mut(&format!("op.insert_{index:02}.seconds")).unwrap() /= 1.2;
        }
    }
    let parts = duel_of(&alike).parts.unwrap();
    let first = parts.operations.iter().find(|part| part.name == "insert_01").unwrap();
    assert_eq!(first.comparison.verdict, Verdict::Inconclusive);
    assert!(first.comparison.high.unwrap() < 1.0, "its own interval is narrower");
}

#[test]
fn a_pass_of_half_a_minute_is_no_quick_one() {
    let caveat = |spread_s: f64| {
        let mut stored = passes_run(&Story::default());
        stored.plan.method.preset = "standard".into();
        stored.plan.method.left_out.clear();
        for trial in &mut stored.trials {
            let times = trial.metrics.iter_mut().filter(|(name, _)| name.ends_with("seconds"));
            times.for_each(|(_, seconds)| *seconds *= spread_s / 100.0);
        }
        duel_of(&stored).overall.caveats.contains(&Caveat::Quick)
    };
    // The method's own duration of 5 s is not what a pass takes.
    assert!(!caveat(100.0) && caveat(10.0));
}

fn clients(clients: u64) -> Point {
    Point::from([("clients".to_owned(), clients)])
}

/// Gives every trial of a contender a metric that depends on its block.
fn put(stored: &mut StoredRun, contender: &str, metric: &str, value: impl Fn(u32) -> f64) {
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == contender) {
        trial.metrics.insert(metric.to_owned(), value(trial.block));
    }
}

/// Eight blocks in which the candidate's second halves differ by this much on average.
fn with_halves(candidate_half: f64) -> StoredRun {
    let mut stored = stored_run(&Story::default());
    stored.plan.method.left_out.clear();
    let noise = |block: u32| 0.004 * f64::from(block % 3) - 0.004;
    put(&mut stored, BASELINE, "half_log_ratio", noise);
    put(&mut stored, CANDIDATE, "half_log_ratio", |block| candidate_half + noise(block + 1));
    stored
}

#[test]
fn throughput_that_falls_inside_trials_withholds_the_verdict() {
    let steady = duel_of(&with_halves(-0.01));
    assert_eq!(steady.overall.verdict, Verdict::Slower, "a drift of 1 % is below what matters");
    assert!(steady.drifts.is_empty());

    let stored = with_halves(-0.05);
    let duel = duel_of(&stored);
    assert_eq!(duel.overall.verdict, Verdict::Inconclusive);
    assert!(
        duel.overall.caveats.contains(&Caveat::Unsteady)
            && duel.points.iter().all(|one| one.verdict == Verdict::Inconclusive)
    );
    let sweep: Vec<_> = duel.drifts.iter().filter(|(point, _)| point.is_none()).map(|(_, drift)| drift).collect();
    let who: Vec<_> = sweep.iter().map(|drift| drift.contender.as_deref()).collect();
    assert_eq!(who, [Some(CANDIDATE), None], "the candidate drifts, and so does its lead; the baseline does not");
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let finding = conclusions.findings.iter().find(|finding| finding.kind == FindingKind::Unsteady).unwrap();
    assert_eq!(finding.grade, Grade::Supported);
    assert_eq!((sweep[0].mean.exp_m1() * 1000.0).round(), -49.0, "{sweep:?}");
    assert_eq!(should_stop(&stored.plan, &stored.trials), Some(EndReason::Blocks));
}

#[test]
fn only_blocks_with_the_last_warm_up_show_whether_it_was_enough() {
    let mut stored = with_halves(0.0);
    put(&mut stored, CANDIDATE, "half_log_ratio", |block| if block < 5 { -0.08 } else { -0.012 });
    assert!(duel_of(&stored).overall.caveats.contains(&Caveat::Unsteady));
    let doubled = |from_block| DecisionRecord::warm_up("oltp_read_write", from_block, 60.0, DecisionRecord::UNSTEADY);
    stored.run.decisions = vec![doubled(1), doubled(5)];
    assert_eq!(duel_of(&stored).overall.verdict, Verdict::Slower);
}

#[test]
fn work_that_piles_up_in_every_block_is_a_caveat_with_figures() {
    let mut stored = stored_run(&Story::default());
    stored.plan.method.left_out.clear();
    put(&mut stored, CANDIDATE, "state.dirty_bytes_begin", |block| 1000.0 + f64::from(block));
    put(&mut stored, CANDIDATE, "state.dirty_bytes_end", |block| 2000.0 - f64::from(block));
    put(&mut stored, CANDIDATE, "state.database_bytes_begin", |_| 1000.0);
    put(&mut stored, CANDIDATE, "state.database_bytes_end", |_| 1010.0);
    put(&mut stored, BASELINE, "state.dirty_bytes_begin", |_| 1000.0);
    put(&mut stored, BASELINE, "state.dirty_bytes_end", |block| if block == 3 { 900.0 } else { 2000.0 });
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let duel = &conclusions.workloads[0].duels[0];
    assert_eq!(duel.overall.verdict, Verdict::Slower, "it caps no verdict");
    assert!(
        duel.overall.caveats.contains(&Caveat::Accumulating) && duel.points[0].caveats.contains(&Caveat::Accumulating)
    );
    let gauges: Vec<_> = duel.growths.iter().map(|(_, one)| (one.contender.as_str(), one.gauge.as_str())).collect();
    assert_eq!(
        gauges,
        [(CANDIDATE, "dirty_bytes"); 4],
        "1 % of a database is nothing, and seven blocks of eight are not all"
    );
    assert!(conclusions.findings.iter().any(|finding| finding.kind == FindingKind::Accumulating));
    let growth = &duel.growths[0].1;
    assert_eq!((growth.begin, growth.end, growth.blocks), (1004.5, 1995.5, 8));

    let mut quick = stored_run(&Story::default());
    quick.trials.clone_from(&stored.trials);
    assert!(duel_of(&quick).growths.is_empty(), "a run that leaves the check out does not ask");
    stored.trials.retain(|trial| trial.block < 8);
    assert!(duel_of(&stored).growths.is_empty(), "seven blocks may agree by chance");
}

#[test]
fn one_short_trial_is_named_where_it_belongs() {
    let mut stored = stored_run(&Story::default());
    let trial = stored.trial(CANDIDATE, 16, 2);
    trial.flags.push("short".into());
    trial.remarks.insert("short".into(), "a checkpoint cycle takes 312 s".into());
    let duel = duel_of(&stored);
    let short: Vec<bool> = duel.points.iter().map(|point| point.caveats.contains(&Caveat::Short)).collect();
    assert_eq!((short, duel.overall.caveats.contains(&Caveat::Short)), (vec![false, false, true, false], true));
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let finding = conclusions.findings.iter().find(|finding| finding.kind == FindingKind::Short).unwrap();
    assert_eq!(finding.trials.len(), 1);
}

#[test]
fn a_lead_that_vanishes_with_deferred_work_is_named() {
    let mut stored = stored_of([1.1; 4], 8);
    let tps: Vec<f64> = stored.trials.iter().map(|trial| trial.metrics["tps"]).collect();
    for (trial, tps) in stored.trials.iter_mut().zip(tps) {
        let deferring = if trial.contender == CANDIDATE { 0.7 } else { 0.95 };
        trial.metrics.insert("adjusted_tps".into(), tps * deferring);
    }
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let duel = &conclusions.workloads[0].duels[0];
    assert_eq!(
        (duel.overall.verdict, duel.deferring.len(), duel.deferring[0].point.clone()),
        (Verdict::Inconclusive, 5, None)
    );
    assert!(duel.overall.caveats.contains(&Caveat::DeferredWork) && duel.points[0].verdict == Verdict::Inconclusive);
    assert!(duel.deferring[0].adjusted < 0.85 && duel.deferring[0].is_shown);
    assert!(duel.others.iter().any(|other| other.metric == "adjusted_tps" && other.overall.verdict == Verdict::Slower));
    assert!(conclusions.findings.iter().any(|one| one.kind == FindingKind::DeferringWork));
    for trial in stored.trials.iter_mut().filter(|trial| trial.contender == CANDIDATE) {
        trial.metrics.entry("adjusted_tps".into()).and_modify(|tps| *tps *= 0.95 / 0.7);
    }
    assert!(duel_of(&stored).deferring.is_empty());
}

/// Work that one side does in `drain_s` and the other leaves alone.
fn leave(stored: &mut StoredRun, left_mib: f64, paid: &[(&str, f64)]) {
    let mib = 1048576.0;
    for trial in &mut stored.trials {
        let deferring = [
            ("deferred_work_interval_s", 60.0),
            ("deferred_work_s", 0.0),
            ("deferred_work_left.dirty_bytes", left_mib * mib),
        ];
        let is_ours = trial.contender == CANDIDATE;
        let metrics = if is_ours { &deferring[..] } else { paid };
        trial.metrics.extend(metrics.iter().map(|(name, value)| ((*name).to_owned(), *value)));
        let drained = trial.metrics["tps"] * 60.0 / 66.0;
        if !is_ours && !paid.is_empty() {
            trial.metrics.insert("adjusted_tps".into(), drained);
        }
    }
}

#[test]
fn work_that_was_never_done_is_charged_at_the_slowest_rate_and_withholds_the_verdict() {
    let paid = [
        ("deferred_work_s", 6.0),
        ("deferred_work_done.dirty_bytes", 60.0 * 1048576.0),
        ("deferred_work_done_s.dirty_bytes", 6.0),
    ];
    let mut stored = stored_of([1.1; 4], 8);
    // 300 MiB at 10 MiB/s are 30 s.
    leave(&mut stored, 300.0, &paid);
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let duel = &conclusions.workloads[0].duels[0];
    assert_eq!(duel.overall.verdict, Verdict::Inconclusive);
    assert!(duel.overall.caveats.contains(&Caveat::DeferredWork));
    let adjusted = duel.others.iter().find(|other| other.metric == "adjusted_tps").unwrap();
    assert!((adjusted.overall.ratio.unwrap() / (duel.overall.ratio.unwrap() * 66.0 / 90.0) - 1.0).abs() < 1e-9);
    let finding = conclusions.findings.iter().find(|finding| finding.kind == FindingKind::WorkLeft).unwrap();
    let Facts::WorkLeft(left) = &finding.facts else { panic!("{finding:?}") };
    let ours = &left[0];
    assert_eq!((ours.trials_with_work_left, ours.trials, ours.amounts["dirty_bytes"]), (32, 32, 300.0 * 1048576.0));
    assert!((ours.charged_s.unwrap() - 30.0).abs() < 1e-9, "{ours:?}");

    let mut little = stored_of([1.1; 4], 8);
    leave(&mut little, 3.0, &paid);
    assert_eq!(duel_of(&little).overall.verdict, Verdict::Faster, "a little of it turns nothing round");
}

#[test]
fn a_rate_with_deferred_work_exists_for_every_trial_or_for_none() {
    let mut stored = stored_of([1.1; 4], 8);
    leave(&mut stored, 300.0, &[]);
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let duel = &conclusions.workloads[0].duels[0];
    assert!(duel.others.iter().all(|other| other.metric != "adjusted_tps"));
    assert_eq!(duel.overall.verdict, Verdict::Faster);
    let finding = conclusions.findings.iter().find(|finding| finding.kind == FindingKind::WorkLeft).unwrap();
    assert!(matches!(&finding.facts, Facts::WorkLeft(left) if left[0].charged_s.is_none()), "{finding:?}");

    let mut gaps = stored_of([1.1; 4], 8);
    for trial in gaps.trials.iter_mut().skip(1) {
        trial.metrics.insert("adjusted_tps".into(), 1.0);
    }
    assert!(duel_of(&gaps).others.iter().all(|other| other.metric != "adjusted_tps"));
}

#[test]
fn the_verdict_without_flagged_blocks_stands_beside_the_one_with_them() {
    let mut stored = stored_of([0.9; 4], 10);
    assert_eq!(duel_of(&stored).overall.unflagged, None);
    stored.trial(BASELINE, 16, 3).flags.push("steal".into());
    let duel = duel_of(&stored);
    let without = duel.overall.unflagged.unwrap();
    assert_eq!((without.blocks, without.verdict), (9, Some(Verdict::Slower)));
    assert!((without.ratio - 0.9).abs() < 0.02 && without.low.unwrap() < without.ratio);
    assert_eq!(duel.points[0].unflagged, None, "nothing was flagged there");
    for block in 1..=4 {
        stored.trial(BASELINE, 16, block).flags.push("steal".into());
    }
    let few = duel_of(&stored).overall.unflagged.unwrap();
    assert_eq!((few.blocks, few.verdict), (6, None), "six blocks give figures and no verdict");
}

#[test]
fn a_repeated_pair_counts_in_place_of_the_first_try() {
    let mut stored = stored_of([0.9; 4], 8);
    let before = duel_of(&stored).points[2].ratio.unwrap();
    stored.trial(BASELINE, 16, 3).flags.push("foreign-cpu".into());
    let again = |contender: &str, number: u32, tps: f64| {
        let mut trial = stored
            .trials
            .iter()
            .find(|one| one.contender == contender && one.block == 3 && one.point == clients(16))
            .unwrap()
            .clone();
        (trial.purpose, trial.trial) = (Purpose::Repeat { of: trial.trial }, number);
        trial.flags.clear();
        trial.metrics.insert("tps".into(), tps);
        trial
    };
    let repeats = [again(BASELINE, 65, 1000.0), again(CANDIDATE, 66, 1000.0)];
    stored.trials.extend(repeats);
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let point = &conclusions.workloads[0].duels[0].points[2];
    assert_eq!(point.pairs.iter().find(|(block, _)| *block == 3).unwrap().1, 1.0);
    assert!(!point.caveats.contains(&Caveat::NoisyHost) && point.ratio.unwrap() > before);
    assert_eq!((conclusions.tally.trials_finished, conclusions.tally.trials_repeated), (64, 2));
    let noisy = conclusions.findings.iter().find(|finding| finding.kind == FindingKind::NoisyHost).unwrap();
    assert_eq!(noisy.trials.len(), 1);
}

#[test]
fn each_at_its_best_is_compared_without_the_luck_of_the_choice() {
    let duel = duel_of(&stored_run(&Story::default()));
    let peak = duel.peak.unwrap();
    assert_eq!(
        (&peak.baseline.points, &peak.candidate.points, peak.blocks),
        (&vec![clients(16)], &vec![clients(16)], 8)
    );
    assert!(
        peak.low.unwrap() < 0.87 && 0.87 < peak.high.unwrap() && (peak.baseline.value - 1480.0).abs() < 20.0,
        "{peak:?}"
    );
    let shifted = duel_of(&stored_of([1.0, 1.6, 0.7, 0.5], 8)).peak.unwrap();
    assert_eq!((shifted.baseline.points, shifted.candidate.points), (vec![clients(16)], vec![clients(4)]));
    assert!((shifted.ratio - 940.0 * 1.6 / 1480.0).abs() < 0.03);
    let mut seven = stored_run(&Story::default());
    seven.trials = first_blocks(&seven, 7);
    assert_eq!(duel_of(&seven).peak, None);
    assert_eq!(duel_of(&passes_run(&Story::default())).peak, None, "a pass has no sweep");
}

#[test]
fn several_candidates_have_a_p_value_together_and_keep_their_shares_of_the_error() {
    let mut stored = stored_of([0.97; 4], 12);
    assert_eq!(duel_of(&stored).p_together, None);
    let mut third = stored.plan.contenders[1].clone();
    third.name = "5.7".into();
    let copy =
        |trial: &TrialRecord| TrialRecord { contender: "5.7".into(), trial: trial.trial + 1000, ..trial.clone() };
    let copies: Vec<TrialRecord> =
        stored.trials.iter().filter(|trial| trial.contender == CANDIDATE).map(copy).collect();
    stored.trials.extend(copies);
    stored.plan.contenders.push(third);
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let p: Vec<f64> = conclusions.workloads[0].duels.iter().map(|duel| duel.p_together.unwrap()).collect();
    let alone = conclusions.workloads[0].duels[0].overall.sign_flip_p.unwrap();
    assert!(p[0] == p[1] && (p[0] - alone).abs() < 1e-9, "a copy is no second chance: {p:?}, {alone}");
}

#[test]
fn a_contender_on_its_own_has_the_median_of_its_quantiles() {
    let mut stored = stored_run(&Story::default());
    let slow = stored.trials.iter_mut().find(|trial| trial.contender == BASELINE).unwrap();
    slow.metrics.remove("latency_ms_p95");
    let point = slow.point.clone();
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let mut cells = conclusions.workloads[0].cells.iter();
    let cell = cells.find(|cell| cell.contender == BASELINE && cell.point == point).unwrap();
    let p99 = cell.quantiles["latency_ms_p99"];
    assert!(!cell.quantiles.contains_key("latency_ms_p95"), "a trial was too slow to have one");
    let ours = stored.trials.iter().filter(|trial| trial.contender == BASELINE && trial.point == cell.point);
    let values: Vec<f64> = ours.map(|trial| trial.metrics["latency_ms_p99"]).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    assert_eq!((p99.bounds.unwrap().low, values.len()), (least, 8));
    assert!(p99.confidence > 0.99 && cell.quantiles.contains_key("latency_ms_p50"));
}

#[test]
fn a_probe_changes_no_conclusion() {
    let stored = stored_run(&Story::default());
    let plain = conclude(&stored.plan, &stored.run, &stored.trials);
    let stop = should_stop(&stored.plan, &stored.trials);
    for purpose in probes() {
        let mut trials = stored.trials.clone();
        let number = record::blocks::next_probe_number(&stored.plan, &trials);
        // So much faster, and flagged, that anything it reached would show.
        let metrics = [("tps".to_owned(), 1e6)].into();
        let flags = vec!["foreign-cpu".to_owned(), "generator-bound".to_owned(), "resumed".to_owned()];
        let probe = TrialRecord { trial: number, purpose: purpose.clone(), metrics, flags, ..trials[0].clone() };
        let failed = TrialRecord { trial: number + 1, status: Status::Failed, ..probe.clone() };
        trials.insert(0, probe);
        trials.push(failed);
        let mut with_probe = conclude(&stored.plan, &stored.run, &trials);
        // That a check was begun and lacks blocks has findings of its own.
        let open = [FindingKind::HeadroomUnfinished, FindingKind::CauseTestUnfinished];
        with_probe.findings.retain(|finding| !open.contains(&finding.kind));
        assert_eq!(with_probe, plain, "{purpose:?}");
        assert_eq!(should_stop(&stored.plan, &trials), stop, "{purpose:?}");
        assert!(given_up(&trials).is_empty() && never_ok(&trials[..1]).is_empty(), "{purpose:?}");
    }
}

/// One of each kind of trial beside the plan.
fn probes() -> Vec<Purpose> {
    let cause_test = Purpose::CauseTest { cause: ContrastKind::Tmpfs, candidate: CANDIDATE.into() };
    vec![Purpose::Pilot, Purpose::Headroom { threads: 2 }, Purpose::Profile, Purpose::Recovery { kill: 1 }, cause_test]
}

#[test]
fn each_statement_has_a_verdict_of_its_own_and_other_results_are_found() {
    let stored = statements_run(&Story::default());
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    let parts = conclusions.workloads[0].duels[0].parts.clone().unwrap();
    let verdicts: Vec<(&str, Verdict)> =
        parts.operations.iter().map(|part| (part.name.as_str(), part.comparison.verdict)).collect();
    assert_eq!(verdicts.len(), 4);
    assert!(verdicts.contains(&("browse.sold", Verdict::Slower)), "{verdicts:?}");
    let sold = parts.operations.iter().find(|part| part.name == "browse.sold").unwrap();
    assert!((sold.comparison.ratio.unwrap() - 0.5).abs() < 0.02 && sold.shares[0] < sold.shares[1], "{sold:?}");
    let differ: Vec<(&str, [f64; 2])> = parts.results_differ.iter().map(|one| (one.name.as_str(), one.rows)).collect();
    assert_eq!(differ.len(), 1);
    assert!(differ[0].0 == "order.stock" && (differ[0].1[1] - 0.4).abs() < 1e-9, "{differ:?}");
    assert!(conclusions.findings.iter().any(|finding| finding.kind == FindingKind::ResultsDiffer));
    let left: Vec<_> = parts.left_out.iter().map(|one| (one.name.as_str(), one.contender.as_str(), one.kind)).collect();
    assert_eq!(left, [("order.12", BASELINE, "gap")]);
    assert_eq!(duel_of(&stored_run(&Story::default())).parts, None);
}

#[test]
fn a_statement_that_is_faster_at_one_load_level_and_slower_at_others_is_mixed() {
    let mut stored = statements_run(&Story { blocks: 16, ..Story::default() });
    let ours = stored.trials.iter_mut().filter(|trial| trial.contender == CANDIDATE && trial.point["clients"] == 64);
    let metrics = ours.flat_map(|trial| &mut trial.metrics).filter(|(name, _)| name.contains("browse.sold"));
    // It takes twice as long at the other levels.
    metrics.filter(|(name, _)| name.contains("latency")).for_each(|(_, value)| *value /= 8.0);
    let parts = duel_of(&stored).parts.unwrap();
    let sold = parts.operations.iter().find(|part| part.name == "browse.sold").unwrap();
    assert_eq!(sold.comparison.verdict, Verdict::Mixed, "{sold:?}");
}
