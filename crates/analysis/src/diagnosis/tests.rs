//! Made-up runs whose cause is known, and what must and must not be named.

use super::super::conclude;
use super::*;
use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, add_cause_test, passes_run, stored_run};
use record::format::{ContrastKind, ContrastRecord};

/// What both sides show at a point: metric, baseline, candidate.
type Shown = Vec<(&'static str, f64, f64)>;

const SEEN_PER_TX: [&str; 12] = [
    "counter.innodb.compress_ops",
    "counter.innodb.uncompress_ops",
    "counter.innodb.doublewrite_pages",
    "counter.innodb.data_fsyncs",
    "counter.innodb.buffer_pool_reads",
    "counter.innodb.buffer_pool_read_requests",
    "counter.innodb.row_lock_time_ms",
    "counter.innodb.spin_rounds",
    "counter.mysql.created_tmp_disk_tables",
    "counter.postgres.temp_bytes",
    "server_cpu_user_s",
    "server_cpu_system_s",
];

/// A run at these numbers of clients. Throughput and CPU per transaction are given as candidate over
/// baseline; counters are given for a transaction. Blocks differ a little.
fn run(clients: &[u64], shown: impl Fn(u64) -> (f64, f64, Shown)) -> StoredRun {
    let mut stored = stored_run(&Story::default());
    let wanted = |point: &Point| clients.contains(&point[CLIENTS]);
    stored.plan.trials.retain(|trial| wanted(&trial.point));
    stored.trials.retain(|trial| wanted(&trial.point));
    for trial in &mut stored.trials {
        let (tps, cpu, metrics) = shown(trial.point[CLIENTS]);
        let side = usize::from(trial.contender == CANDIDATE);
        let noise = 1.0 + 0.002 * (f64::from((trial.block * 7 + side as u32 * 3) % 5) - 2.0);
        let own = |ratio: f64| if side == 1 { ratio } else { 1.0 };
        let tps = 1000.0 * own(tps) * noise;
        let committed = tps * stored.plan.method.duration_s;
        trial.metrics.clear();
        let mut put = |name: &str, value: f64| trial.metrics.insert(name.to_owned(), value);
        put("tps", tps);
        put("transactions.committed", committed);
        put(CPU, 500.0 * own(cpu) * noise);
        for (name, baseline, candidate) in metrics {
            let per = if SEEN_PER_TX.contains(&name) { committed } else { 1.0 };
            put(name, [baseline, candidate][side] * per * noise);
        }
    }
    stored
}

fn diagnosis(stored: &StoredRun) -> Diagnosis {
    let conclusions = conclude(&stored.plan, &stored.run, &stored.trials);
    conclusions.workloads[0].duels[0].diagnosis.clone()
}

/// Kind, grade and the contender it is about.
fn named(stored: &StoredRun) -> Vec<(&'static str, &'static str, String)> {
    let named = |cause: &Cause| (cause.kind.as_str(), cause.grade.as_str(), cause.contender(cause.side).to_owned());
    diagnosis(stored).causes.iter().map(named).collect()
}

fn check(clients: u64, tps: f64, cpu: f64, shown: &Shown, expected: &[(&'static str, &'static str, &str)]) {
    let stored = run(&[clients], |_| (tps, cpu, shown.clone()));
    let expected: Vec<_> = expected.iter().map(|(kind, grade, who)| (*kind, *grade, (*who).to_owned())).collect();
    assert_eq!(named(&stored), expected, "tps {tps}, cpu {cpu}, {shown:?}");
}

#[test]
fn less_throughput_with_less_cpu_is_waiting_for_what_is_seen_to_be_more() {
    let syncs = |baseline, candidate| ("counter.innodb.data_fsyncs", baseline, candidate);
    let locks = |baseline, candidate| ("counter.innodb.row_lock_time_ms", baseline, candidate);
    let log = "waiting on log writes";
    check(16, 0.3, 1.2, &vec![syncs(0.001, 0.75)], &[(log, "supported", CANDIDATE)]);
    check(16, 3.3, 0.8, &vec![syncs(0.75, 0.001)], &[(log, "supported", BASELINE)]);
    check(16, 0.3, 1.2, &vec![syncs(0.0, 0.75)], &[(log, "supported", CANDIDATE)]);
    check(16, 0.3, 1.2, &vec![syncs(0.75, 0.75)], &[]);
    // Where the disk is quick, a sync takes CPU and little time.
    let kernel = [("server_cpu_user_s", 4e-4, 4e-4), ("server_cpu_system_s", 1e-4, 3e-4), (costs::SWITCHES, 5.0, 9.0)];
    let with_syncs = |baseline, candidate| [&kernel[..], &[syncs(baseline, candidate)]].concat();
    check(16, 0.7, 1.4, &with_syncs(0.0, 0.75), &[("log syncs", "supported", CANDIDATE)]);
    check(16, 0.7, 1.4, &with_syncs(0.6, 0.75), &[("kernel time", "supported", CANDIDATE)]);
    let slow = ("latency_ms_avg", 2.0, 8.0);
    check(16, 0.3, 1.1, &vec![slow, locks(0.0, 5.0)], &[("waiting on row locks", "supported", CANDIDATE)]);
    check(16, 0.3, 1.1, &vec![slow, locks(0.0, 2.0)], &[]);
    let switches = (costs::SWITCHES, 5.0, 9.0);
    let flat = vec![switches, locks(0.0, 0.0), syncs(0.5, 0.5)];
    check(16, 0.5, 1.0, &flat, &[("waiting on latches", "supported", CANDIDATE)]);
    // What cannot be seen is not ruled out.
    check(16, 0.5, 1.0, &vec![switches, syncs(0.5, 0.5)], &[("waiting on locks or latches", "weak", CANDIDATE)]);
    let blocked = ("server_threads_blocked", 0.0, 1.5);
    check(16, 0.5, 1.0, &vec![switches, blocked], &[("waiting on disks", "supported", CANDIDATE)]);
}

#[test]
fn a_buffer_pool_that_misses_is_named_whatever_that_costs_in_cpu() {
    let shown = |misses| {
        vec![
            ("counter.innodb.buffer_pool_reads", 0.0, misses),
            ("counter.innodb.buffer_pool_read_requests", 60.0, 60.0),
            ("server_cpu_system_s", 1e-4, 4e-4),
            ("server_cpu_user_s", 3e-4, 4e-4),
        ]
    };
    for cpu in [1.2, 2.5] {
        check(16, 0.3, cpu, &shown(19.0), &[("buffer misses", "supported", CANDIDATE)]);
    }
    // Half a page in sixty is no reason.
    check(16, 0.3, 1.2, &shown(0.5), &[]);
}

#[test]
fn temporary_files_are_named_where_they_can_account_for_half_of_the_gap() {
    let shown = |bytes: f64| {
        let per_tx = ("counter.postgres.temp_bytes", 0.0, bytes);
        vec![
            per_tx,
            ("latency_ms_avg", 2.0, 8.0),
            ("server_cpu_user_s", 3e-4, 4e-4),
            ("server_cpu_system_s", 1e-4, 4e-4),
        ]
    };
    check(16, 0.3, 1.5, &shown(200e3), &[("temporary files", "supported", CANDIDATE)]);
    check(16, 0.3, 1.5, &shown(20e3), &[]);
    let counted = |tables| vec![("counter.mysql.created_tmp_disk_tables", 0.5, tables)];
    check(16, 0.3, 1.5, &counted(2.0), &[("temporary tables on disk", "weak", CANDIDATE)]);
    check(16, 0.3, 1.5, &counted(0.9), &[]);
}

/// Passes of which the candidate's takes 18 s more, with these counters of baseline and candidate.
fn passes(counters: &[(&str, [f64; 2])]) -> StoredRun {
    let mut stored = passes_run(&Story::default());
    for trial in &mut stored.trials {
        (trial.flags, trial.remarks) = Default::default();
        trial.metrics.retain(|metric, _| !metric.contains("select_03"));
        let side = usize::from(trial.contender == CANDIDATE);
        trial.metrics.extend(counters.iter().map(|(name, both)| ((*name).to_owned(), both[side])));
        let times = trial.metrics.iter().filter(|(name, _)| name.starts_with("op.") && name.ends_with(".seconds"));
        let all = times.map(|(_, seconds)| seconds).sum();
        trial.metrics.insert("seconds".into(), all);
    }
    stored
}

#[test]
fn a_pass_has_costs_and_a_cause_where_its_time_can_come_from_it() {
    let spilled = |bytes| passes(&[("counter.postgres.temp_bytes", [0.0, bytes])]);
    assert_eq!(named(&spilled(150e6)), [("temporary files", "supported", CANDIDATE.to_owned())]);
    assert_eq!(named(&spilled(50e6)), []);
    let tables = passes(&[("counter.mysql.created_tmp_disk_tables", [4.0, 0.0])]);
    assert_eq!(named(&tables), [], "the faster one has them");
    let found = diagnosis(&passes(&[("counter.innodb.rows_read", [1e6, 3e6])]));
    let rows = found.costs.iter().find(|cost| cost.metric == "rows_read_per_pass").unwrap();
    assert_eq!((rows.baseline.round(), rows.candidate.round()), (1e6, 3e6));
    assert!(found.not_visible.contains(&"temporary_file_bytes_per_pass".into()));
    let busy = passes(&[("counter.postgres.temp_bytes", [0.0, 500e6]), ("host_foreign_cpu_share", [0.2, 0.2])]);
    assert_eq!(named(&busy).iter().map(|one| one.0).collect::<Vec<_>>(), ["host limits"]);
    // Counters of a pass that lacks an operation are of other work.
    assert_eq!(diagnosis(&passes_run(&Story::default())), Diagnosis::default());
}

#[test]
fn compressed_pages_are_named_before_what_follows_from_them() {
    let shown = |decompressed: [f64; 2]| {
        vec![
            ("counter.innodb.uncompress_ops", decompressed[0], decompressed[1]),
            ("counter.innodb.compress_ops", decompressed[0] / 6.0, decompressed[1] / 6.0),
            ("counter.innodb.buffer_pool_reads", 15.0, 22.0),
            ("counter.innodb.buffer_pool_read_requests", 240.0, 240.0),
            ("counter.innodb.spin_rounds", 14.0, 125.0),
            ("server_cpu_user_s", 9e-4, 5e-3),
            ("server_cpu_system_s", 2e-4, 3e-4),
        ]
    };
    let named = "compressed pages";
    check(4, 0.25, 4.0, &shown([0.0, 27.0]), &[(named, "supported", CANDIDATE)]);
    // One page in many transactions is none.
    check(4, 0.25, 4.0, &shown([0.01, 27.0]), &[(named, "supported", CANDIDATE)]);
    let reversed = shown([0.0, 27.0]).into_iter().map(|(name, baseline, candidate)| (name, candidate, baseline));
    check(4, 4.0, 0.25, &reversed.collect(), &[(named, "supported", BASELINE)]);
    // Where both compress, the one that misses more decompresses more, however much.
    for other in [18.0, 2.0] {
        check(4, 0.25, 4.0, &shown([other, 27.0]), &[("buffer misses", "supported", CANDIDATE)]);
    }
    // Without more CPU it is no reason.
    check(4, 0.25, 0.9, &shown([0.0, 27.0]), &[("buffer misses", "supported", CANDIDATE)]);
}

#[test]
fn more_cpu_for_a_transaction_is_a_longer_path_where_one_client_shows_it_too() {
    let user = |candidate| vec![("server_cpu_user_s", 4e-4, candidate), ("server_cpu_system_s", 1e-4, 1e-4)];
    let longer = "longer code path";
    check(1, 0.8, 1.25, &user(5e-4), &[(longer, "supported", CANDIDATE)]);
    check(16, 0.8, 1.25, &user(5e-4), &[(longer, "weak", CANDIDATE)]);
    check(1, 1.25, 0.8, &user(3e-4), &[("shorter code path", "supported", CANDIDATE)]);
    // It accounts for less than half of what is lost.
    check(1, 0.5, 1.2, &user(5e-4), &[]);
    let sweep = |few: f64| {
        named(&run(&[1, 64], |clients| {
            let cpu = if clients == 1 { few } else { 1.25 };
            (0.8, cpu, vec![("server_cpu_user_s", 4e-4, 5e-4), ("counter.innodb.spin_rounds", 20.0, 900.0)])
        }))
    };
    assert_eq!(sweep(1.25), [(longer, "supported", CANDIDATE.to_owned())]);
    assert_eq!(sweep(1.0), [("spinning", "supported", CANDIDATE.to_owned())]);
    let kernel =
        vec![("server_cpu_user_s", 4e-4, 4e-4), ("server_cpu_system_s", 1e-4, 3e-4), (costs::SWITCHES, 5.0, 9.0)];
    check(1, 0.7, 1.4, &kernel, &[("kernel time", "supported", CANDIDATE)]);
}

#[test]
fn gains_speak_of_the_candidate() {
    let waits = vec![(costs::SWITCHES, 9.0, 8.3)];
    check(16, 1.5, 1.0, &waits, &[("more concurrency", "supported", CANDIDATE)]);
    check(16, 1.0, 0.8, &vec![], &[("more efficient", "supported", CANDIDATE)]);
    check(16, 1.0, 1.25, &vec![], &[("more efficient", "supported", BASELINE)]);
    check(16, 1.0, 1.0, &vec![], &[]);
}

#[test]
fn a_host_or_a_generator_at_its_limit_forbids_all_claims() {
    let cause =
        |stored: &StoredRun| named(stored).into_iter().map(|(kind, grade, _)| (kind, grade)).collect::<Vec<_>>();
    let with_foreign = |share: f64| {
        let shown = vec![("counter.innodb.data_fsyncs", 0.0, 0.75), ("host_foreign_cpu_share", 0.01, share)];
        run(&[16], |_| (0.3, 1.2, shown.clone()))
    };
    assert_eq!(cause(&with_foreign(0.3)), [("host limits", "supported")]);
    let mut stored = with_foreign(0.05);
    assert_eq!(cause(&stored), [("waiting on log writes", "supported")]);
    stored.trials.iter_mut().for_each(|trial| trial.flags.push("foreign-cpu".to_owned()));
    assert_eq!(cause(&stored), [("waiting on log writes", "weak")]);
    stored.trials.iter_mut().for_each(|trial| trial.flags = vec!["generator-bound".to_owned()]);
    assert_eq!(cause(&stored), [("generator limits", "supported")]);
    // With too few blocks for any verdict a cause is a guess.
    let mut early = with_foreign(0.01);
    early.trials.retain(|trial| trial.block <= 4);
    assert_eq!(cause(&early), [("waiting on log writes", "weak")]);
}

#[test]
fn nearly_full_logs_and_seconds_that_stand_still_are_a_weak_sign_of_checkpoints() {
    let shown = vec![("stalled_seconds_share", 0.0, 0.1), ("state.checkpoint_age_share_end", 0.5, 0.9)];
    check(16, 0.9, 1.0, &shown, &[("checkpoint stalls", "weak", CANDIDATE)]);
}

#[test]
fn a_cost_has_a_ratio_or_where_one_side_has_none_a_difference() {
    let shown = vec![("counter.innodb.data_fsyncs", 0.0, 0.75), ("counter.innodb.spin_rounds", 50.0, 100.0)];
    let found = diagnosis(&run(&[16], |_| (0.3, 1.25, shown.clone())));
    let cost = |metric: &str| found.costs.iter().find(|cost| cost.metric == metric).unwrap();
    let spins = cost(costs::SPINS).ratio.unwrap();
    let (low, high) = spins.bounds.unwrap();
    assert!((spins.value - 0.5).abs() < 0.01 && low < 0.5 && 0.5 < high, "half as good: {spins:?}");
    assert_eq!(spins.basis, Basis::Rule(stats::RuleKind::Exact));
    let syncs = cost(costs::SYNCS);
    let (low, high) = syncs.difference_bounds.unwrap();
    assert!(syncs.ratio.is_none() && low < 0.75 && 0.75 < high && low > 0.7, "{syncs:?}");
    assert!(found.not_visible.contains(&"row_lock_waits_per_tx".into()));
    assert!(!found.not_visible.contains(&costs::SYNCS.into()));
    assert!(found.costs.iter().all(|cost| cost.point.is_some()), "there is no sweep");
    let sweep = diagnosis(&run(&[1, 64], |_| (0.3, 1.25, shown.clone())));
    assert_eq!(sweep.costs.iter().filter(|cost| cost.metric == costs::SYNCS).count(), 3);
    assert_eq!(sweep.costs[0].point, None, "the whole sweep stands first");
}

#[test]
fn a_finding_has_figures_of_both_sides_with_intervals() {
    let found = diagnosis(&run(&[16], |_| (0.3, 1.2, vec![("counter.innodb.data_fsyncs", 0.0, 0.75)])));
    let cause = &found.causes[0];
    let Observed { moves, signs, .. } = &cause.observed[0];
    assert_eq!(moves.iter().map(|one| one.metric.as_str()).collect::<Vec<_>>(), ["tps", CPU_USE, CPU]);
    let Measure { metric, own, other, change: Some(Change::Difference { low, high }), .. } = &signs[0] else {
        panic!("{cause:?}")
    };
    assert!(
        metric == costs::SYNCS && *other == 0.0 && (0.74..0.76).contains(own) && low < own && own < high,
        "{cause:?}"
    );
    assert_eq!(cause.trials.len(), 16, "eight blocks of both");
    assert!(moves.iter().chain(signs).all(|one| one.blocks == 8) && signs.len() == 1, "{cause:?}");
}

#[test]
fn every_rule_has_a_name_of_its_own_and_yields_only_to_rows_above() {
    for (index, rule) in RULES.iter().enumerate() {
        let above: Vec<CauseKind> = RULES[..index].iter().map(|rule| rule.kind).collect();
        assert!(!above.contains(&rule.kind), "{:?}", rule.kind);
        assert!(rule.unless.iter().all(|kind| above.contains(kind)), "{:?}", rule.kind);
        assert_eq!(rule.who == Who::Run, rule.kind.is_of_the_run(), "{:?}", rule.kind);
    }
}

#[test]
fn the_condition_of_each_rule_is_checked() {
    for what in RULES.iter().flat_map(|rule| rule.all.iter().chain(rule.any)).map(|sign| sign.what()) {
        assert!(costs::all().any(|known| known == what), "{what}");
    }
}

/// A candidate that does 0.3 of the baseline's work because it syncs its log, and what became of that.
fn with_contrast(ratios: [f64; 4], change: impl Fn(&mut ContrastRecord)) -> Cause {
    let mut stored = run(&[16], |_| (0.3, 1.2, vec![("counter.innodb.data_fsyncs", 0.0, 0.75)]));
    let mut record = ContrastRecord {
        contrast: ContrastKind::Tmpfs,
        workload: "oltp_read_write".into(),
        candidate: CANDIDATE.into(),
        point: Point::from([(CLIENTS.into(), 16)]),
        baseline_values: vec![1000.0; 4],
        candidate_values: ratios.map(|ratio| 1000.0 * ratio).to_vec(),
        refused: None,
        failed: None,
    };
    change(&mut record);
    add_cause_test(&mut stored, &record);
    let found = diagnosis(&stored);
    assert_eq!((found.causes.len(), found.contrasts.len()), (1, 1), "what is due stays due");
    found.causes[0].clone()
}

#[test]
fn a_cause_is_confirmed_where_half_of_the_gap_surely_goes_with_it() {
    let check = |ratios: [f64; 4], grade: Grade, after_percent: f64| {
        let found = with_contrast(ratios, |_| ());
        let test = found.test.clone().unwrap();
        let TestOutcome::Ended(change) = &test.outcome else { panic!("{test:?}") };
        assert_eq!((found.grade, test.without), (grade, ContrastKind::Tmpfs), "{ratios:?}: {test:?}");
        assert_eq!(change.confirms, grade == Grade::Confirmed);
        assert!(((change.before.exp_m1() * 100.0) + 70.0).abs() < 0.5, "{change:?}");
        assert!(((change.after.exp_m1() * 100.0) - after_percent).abs() < 0.5, "{change:?}");
    };
    check([0.98, 0.99, 0.97, 0.98], Grade::Confirmed, -2.0);
    // More than half of a log ratio is a little more than the root of it.
    check([0.56, 0.555, 0.56, 0.565], Grade::Confirmed, -44.0);
    check([0.53, 0.535, 0.53, 0.525], Grade::Supported, -47.0);
    // The other one is behind now: the cause is gone all the same.
    check([1.2, 1.21, 1.19, 1.2], Grade::Confirmed, 20.0);
    check([0.2, 0.21, 0.19, 0.2], Grade::Supported, -80.0);
    // Half of it, by the mean, and the interval decides nothing.
    check([0.1, 9.0, 0.2, 4.0], Grade::Supported, -7.9);
}

#[test]
fn a_contrast_speaks_for_its_own_point_and_workload_once_it_is_whole() {
    let equal = [0.98, 0.99, 0.97, 0.98];
    let silent = |change: &dyn Fn(&mut ContrastRecord)| {
        let found = with_contrast(equal, change);
        assert!(found.grade == Grade::Supported && found.test.is_none(), "{found:?}");
    };
    silent(&|record| record.candidate_values.truncate(3));
    silent(&|record| record.point = Point::from([(CLIENTS.into(), 4)]));
    silent(&|record| record.workload = "another".into());
    silent(&|record| record.contrast = ContrastKind::OneClient);
    let refused = with_contrast(equal, |record| record.refused = Some("1 GiB is free".into()));
    let outcome = TestOutcome::NotRun { because: "1 GiB is free".into() };
    assert_eq!(refused.grade, Grade::Supported);
    assert_eq!(refused.test, Some(CauseTest { without: ContrastKind::Tmpfs, outcome }));
}

#[test]
fn a_cause_test_that_answers_two_findings_does_not_separate_them() {
    let io = vec![("counter.innodb.data_fsyncs", 0.0, 0.75), ("counter.innodb.doublewrite_pages", 0.0, 0.5)];
    let mut stored = run(&[16], |_| (0.4, 1.0, io.clone()));
    let record = ContrastRecord {
        contrast: ContrastKind::Tmpfs,
        workload: "oltp_read_write".into(),
        candidate: CANDIDATE.into(),
        point: Point::from([(CLIENTS.into(), 16)]),
        baseline_values: vec![1000.0; 4],
        candidate_values: vec![990.0, 980.0, 1000.0, 985.0],
        refused: None,
        failed: None,
    };
    add_cause_test(&mut stored, &record);
    let causes = diagnosis(&stored).causes;
    let alike: Vec<_> = causes.iter().map(|cause| (cause.kind, cause.confirmed_alike.as_slice())).collect();
    let (log, double) = (CauseKind::LogWrites, CauseKind::DoubleWrites);
    assert_eq!(alike, [(log, &[double][..]), (double, &[log][..])]);
}

#[test]
fn a_contrast_of_the_side_that_is_ahead_is_seen_from_the_one_behind() {
    let mut stored = run(&[16], |_| (3.3, 0.8, vec![("counter.innodb.data_fsyncs", 0.75, 0.001)]));
    let due = diagnosis(&stored).contrasts;
    assert_eq!(due.len(), 1);
    let record = ContrastRecord {
        contrast: due[0].contrast,
        workload: due[0].workload.clone(),
        candidate: due[0].candidate.clone(),
        point: due[0].point.clone(),
        baseline_values: vec![1000.0, 990.0, 1010.0, 1000.0],
        candidate_values: vec![1050.0; 4],
        refused: None,
        failed: None,
    };
    add_cause_test(&mut stored, &record);
    let found = diagnosis(&stored).causes[0].clone();
    let Some(CauseTest { outcome: TestOutcome::Ended(change), .. }) = &found.test else { panic!("{found:?}") };
    let percent = |log_ratio: f64| (log_ratio.exp_m1() * 1000.0).round() / 10.0;
    assert_eq!((found.grade, found.side), (Grade::Confirmed, Side::Baseline));
    assert_eq!((percent(change.before).round(), percent(change.after)), (-70.0, -4.8));
    assert_eq!([change.own, change.other].map(|mean| mean.unwrap().round()), [1000.0, 1050.0]);
}

#[test]
fn what_waits_for_disks_goes_to_memory_and_what_waits_for_others_is_left_alone() {
    let contrasts = |shown: Shown, cpu: f64| diagnosis(&run(&[1, 16], |_| (0.4, cpu, shown.clone()))).contrasts;
    let locks = vec![("latency_ms_avg", 2.0, 8.0), ("counter.innodb.row_lock_time_ms", 0.0, 5.0)];
    let found = contrasts(locks, 1.1);
    assert_eq!(found.iter().map(|due| due.contrast).collect::<Vec<_>>(), [ContrastKind::OneClient]);
    let io = vec![("counter.innodb.data_fsyncs", 0.0, 0.75), ("counter.innodb.doublewrite_pages", 0.0, 0.5)];
    // Two findings, and one test that answers both.
    let found = contrasts(io, 1.0);
    assert_eq!(found.iter().map(|due| due.contrast).collect::<Vec<_>>(), [ContrastKind::Tmpfs]);
    assert!(contrasts(vec![("server_cpu_user_s", 4e-4, 5e-4)], 2.5).is_empty());
}
