//! A stored run is verified, then spoilt in one place after the other.

mod mangled;

use base64::Engine as _;

use super::*;
use experiment::plan::plan_hash;
use fixtures::{BASELINE, CANDIDATE, StoredRun, Story, stored_run};
use record::format::{Purpose, Series, TrialRecord};

/// A run as its folder holds it, with the reports that `run` writes at its end.
fn stored(runs: &Path, change: impl Fn(&mut StoredRun)) -> RunDir {
    let mut records = stored_run(&Story::default());
    for trial in &mut records.trials {
        let committed = (trial.metrics["tps"] * 5.0).floor();
        trial.metrics.insert("tps".into(), committed / 5.0);
        trial.metrics.insert("transactions.committed".into(), committed);
    }
    change(&mut records);
    run_folder(runs, records)
}

pub fn run_folder(runs: &Path, mut records: StoredRun) -> RunDir {
    records.plan.plan_hash = plan_hash(&records.plan);
    let run = records.store(runs);
    for (format, file) in KEPT_REPORTS {
        run.write_report(file, &report::write(&run, format, &Options::default()).unwrap()).unwrap();
    }
    run
}

fn differences(run: &RunDir) -> Vec<String> {
    of_run(run).unwrap().differences
}

/// Changes a file of the run as an editor would.
fn edit(run: &RunDir, file: &str, change: impl Fn(&str) -> String) {
    let path = run.path().join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed, "nothing was changed in {file}");
    std::fs::write(path, changed).unwrap();
}

fn one_difference(run: &RunDir, about: &str) {
    let found = differences(run);
    assert!(found.iter().any(|line| line.contains(about)), "{about}: {found:?}");
}

#[test]
fn a_run_as_it_was_written_comes_out_the_same() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |_| {});
    let findings = of_run(&run).unwrap();
    assert_eq!(findings.differences, Vec::<String>::new());
    let text = findings.text("last");
    for records in
        ["the plan has its hash", "64 trials stand", "throughput of 64 trials", "report.txt: ", "byte for byte"]
    {
        assert!(text.contains(records), "{records}: {text}");
    }
    let page = of_page(&run.path().join("report.html")).unwrap();
    assert_eq!(page.differences, Vec::<String>::new(), "the page carries all that it was made from");
}

#[test]
fn a_page_that_compares_with_another_contender_is_as_good_as_its_own() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |_| {});
    let evidence = Evidence::gather(&run).unwrap().against(CANDIDATE).unwrap();
    let path = runs.path().join("other.html");
    std::fs::write(&path, report::write_evidence(&evidence, "html", &Options::default()).unwrap()).unwrap();
    assert_eq!(of_page(&path).unwrap().differences, Vec::<String>::new());
}

#[test]
fn a_plan_changed_after_the_fact_is_noticed() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |_| {});
    edit(&run, "plan.json", |text| text.replacen("\"margin\": 0.01", "\"margin\": 0.02", 1));
    one_difference(&run, "the plan was changed after it was hashed");
}

#[test]
fn a_record_that_was_touched_is_noticed() {
    let runs = tempfile::tempdir().unwrap();
    let spoil = |change: &dyn Fn(&str) -> String, about: &str| {
        let run = stored(runs.path(), |_| {});
        edit(&run, "trials.ndjson", change);
        one_difference(&run, about);
    };
    let without_third = |text: &str| {
        let lines = text.lines().enumerate().filter(|(index, _)| *index != 2).map(|(_, line)| format!("{line}\n"));
        lines.collect::<String>()
    };
    spoil(&without_third, "1 trials of finished blocks are missing: 3");
    spoil(&|text| text.to_owned() + text.lines().next().unwrap() + "\n", "trial 1 is stored twice");
    spoil(&|text| text.replacen("\"order\":2", "\"order\":1", 1), "is not what the plan has under this number");
    spoil(&|text| text.replacen("\"tps\":", "\"tps\":1", 1), "trial 1: ");
    spoil(&|text| text.replacen("\"tps\":", "\"tps\":1", 1), "report.txt, line ");
}

#[test]
fn a_report_that_was_touched_is_noticed_and_where_it_lies_is_no_difference() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |_| {});
    edit(&run, "report.txt", |text| text.replacen("Full report: ", "Full report: elsewhere/", 1));
    edit(&run, "report.txt", |text| text.replacen("Experiment:  ", "Experiment:  elsewhere/", 1));
    assert_eq!(differences(&run), Vec::<String>::new());
    edit(&run, "report.txt", |text| text.replacen("% slower than", "% faster than", 1));
    one_difference(&run, "report.txt, line 3: stored ");
    let path = run.path().join("report.html");
    let whole = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, packed_otherwise(&whole)).unwrap();
    assert_eq!(of_page(&path).unwrap().differences, Vec::<String>::new(), "the records are compared, not their stream");
    edit(&run, "report.html", |text| text.replacen("% slower than", "% faster than", 1));
    let page = of_page(&path).unwrap();
    assert!(page.differences.iter().any(|line| line.starts_with("the page, line ")), "{page:?}");
}

/// The page with its raw records in a stream of other bytes.
fn packed_otherwise(page: &str) -> String {
    let (before, rest) = page.split_once("id=\"dbduel-records\">").unwrap();
    let (_, after) = rest.split_once("</script>").unwrap();
    let unpacked = report::unpacked(page).unwrap();
    let records = &unpacked[before.len()..unpacked.len() - after.len()];
    let records = records.strip_prefix("id=\"dbduel-records\">").unwrap().strip_suffix("</script>").unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    std::io::Write::write_all(&mut encoder, records.as_bytes()).unwrap();
    let stream = base64::engine::general_purpose::STANDARD.encode(encoder.finish().unwrap());
    assert!(!page.contains(&stream));
    format!("{before}id=\"dbduel-records\">{stream}</script>{after}")
}

#[test]
fn the_report_of_another_dbduel_is_held_to_its_numbers() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |records| records.run.dbduel_version = "0.0.9".into());
    edit(&run, "report.txt", |text| text.replacen("Values are geometric", "Figures are geometric", 1));
    let findings = of_run(&run).unwrap();
    assert_eq!(findings.differences, Vec::<String>::new());
    assert!(findings.text("last").contains("dbduel 0.0.9 wrote it"));
    edit(&run, "report.txt", |text| text.replacen("x), ", "7x), ", 1));
    one_difference(&run, "these numbers do not come out");
}

#[test]
fn a_repeat_stands_for_its_own_contender_only() {
    let runs = tempfile::tempdir().unwrap();
    let with_repeat = |contender: &'static str| {
        stored(runs.path(), move |records| {
            let first = records.trials.iter().find(|trial| trial.contender == CANDIDATE).unwrap().clone();
            let contender = if contender.is_empty() { first.contender.clone() } else { contender.to_owned() };
            let again = TrialRecord { trial: 65, purpose: Purpose::Repeat { of: first.trial }, contender, ..first };
            records.trials.push(TrialRecord { trial: 66, purpose: Purpose::Repeat { of: 65 }, ..again.clone() });
            records.trials.insert(64, again);
        })
    };
    assert_eq!(differences(&with_repeat("")), Vec::<String>::new());
    one_difference(&with_repeat("5.5"), "trial 65 is neither planned nor a repeat");
}

#[test]
fn a_trial_beside_the_plan_has_a_number_of_its_own() {
    let runs = tempfile::tempdir().unwrap();
    let with_probe = |number: u32| {
        stored(runs.path(), move |records| {
            let purpose = Purpose::Headroom { threads: 2 };
            let probe = TrialRecord { trial: number, purpose, ..records.trials[0].clone() };
            records.trials.retain(|trial| trial.trial != number);
            records.trials.push(probe);
        })
    };
    assert_eq!(differences(&with_probe(80)), Vec::<String>::new());
    let found = differences(&with_probe(64));
    assert!(found.iter().any(|line| line.contains("trial 64 runs beside the plan")), "{found:?}");
}

/// Two seconds of windows of a second each: a thousand answers, one every two milliseconds.
fn windows() -> (load::Histogram, String) {
    let exchange = std::sync::Arc::new(load::Exchange::new(std::time::Duration::from_secs(1), 1));
    let mut worker = load::Recorder::new(2, false).in_windows(exchange.clone());
    let window = load::Window { start_ns: 0, end_ns: 2_000_000_000 };
    for step in 1..=1000_u64 {
        let end_ns = step * 2_000_000;
        let due_ns = end_ns.saturating_sub(1_000_000 + step * 997);
        let timing = load::Timing { due_ns, start_ns: due_ns, end_ns };
        worker.record(load::Outcome::Committed, &load::Attempt::default(), timing, window);
    }
    drop(worker.finish());
    let (total, windows) = load::Collector::new(&exchange).finish(2_000_000_000);
    (total, windows.log())
}

/// A run with a trial that has its windows, and of which the page draws the seconds.
fn with_windows(runs: &Path, change: impl Fn(&mut TrialRecord)) -> RunDir {
    with_windows_of(runs, None, change)
}

fn with_windows_of(runs: &Path, arrivals: Option<&str>, change: impl Fn(&mut TrialRecord)) -> RunDir {
    let (total, log) = windows();
    let run = stored(runs, |records| {
        records.plan.workloads[0].arrivals = arrivals.map(str::to_owned);
        let trial = records.trial(BASELINE, 64, 1);
        // 1000 in what the fixture has as five seconds.
        for (name, value) in [("tps", 200.0), ("transactions.committed", 1000.0), ("latency_out_of_range", 0.0)] {
            trial.metrics.insert(name.to_owned(), value);
        }
        let interval_ns = trial::latency::expected_interval_ns(64, 200.0).unwrap();
        let corrected = total.corrected(interval_ns);
        for (name, quantile) in [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)] {
            trial.metrics.insert(format!("latency_ms_{name}"), total.quantile_ms(quantile));
            trial.metrics.insert(format!("corrected_ms_{name}"), corrected.quantile_ms(quantile));
        }
        change(trial);
    });
    for trial in run.trials().unwrap().measured().iter().filter(is_drawn) {
        let rows = (1..=5).map(|second| vec![f64::from(second), trial.metrics["transactions.committed"] / 5.0]);
        let series = Series { columns: vec!["second".into(), "committed".into()], rows: rows.collect() };
        run.write_series(trial.trial, &series).unwrap();
    }
    run.write_windows(first_trial_with(&run), &log).unwrap();
    for (format, file) in KEPT_REPORTS {
        run.write_report(file, &report::write(&run, format, &Options::default()).unwrap()).unwrap();
    }
    run
}

fn is_drawn(trial: &&TrialRecord) -> bool {
    trial.block == 1 && trial.point["clients"] == 64
}

fn first_trial_with(run: &RunDir) -> u32 {
    let trials = run.trials().unwrap();
    trials.measured().iter().filter(is_drawn).find(|trial| trial.contender == BASELINE).unwrap().trial
}

#[test]
fn quantiles_are_those_of_the_sum_of_the_windows_in_a_run_and_in_its_page() {
    let runs = tempfile::tempdir().unwrap();
    let run = with_windows(runs.path(), |_| {});
    let findings = of_run(&run).unwrap();
    assert_eq!(findings.differences, Vec::<String>::new());
    let records = "6 quantiles of 1 trials, from the sum of 2 windows";
    assert!(findings.checked.iter().any(|line| line == records), "{:?}", findings.checked);
    let page = of_page(&run.path().join("report.html")).unwrap();
    assert_eq!(page.differences, Vec::<String>::new());
    assert!(page.checked.iter().any(|line| line == records), "the page carries them: {:?}", page.checked);
}

#[test]
fn quantiles_that_differ_from_the_windows_are_found() {
    let spoilt = |change: &dyn Fn(&mut TrialRecord)| {
        let runs = tempfile::tempdir().unwrap();
        let run = with_windows(runs.path(), change);
        of_page(&run.path().join("report.html")).unwrap().differences.join("\n")
    };
    let changed = |name: &'static str| move |trial: &mut TrialRecord| *trial.metrics.get_mut(name).unwrap() += 1.0;
    for name in ["latency_ms_p99", "corrected_ms_p95"] {
        let found = spoilt(&changed(name));
        assert!(found.contains(&format!("{name} is ")), "{name}: {found}");
    }
    let found = spoilt(&changed("latency_out_of_range"));
    assert!(found.contains("latency_out_of_range is 1, its windows say 0"), "{found}");
    let found = spoilt(&|trial| *trial.metrics.get_mut("transactions.rolled_back").unwrap() = 1.0);
    assert!(found.contains("its windows hold 1000 transactions, its record 1001"), "{found}");
    // Those that were given up have their wait in the windows.
    let given_up = |trial: &mut TrialRecord| {
        trial.metrics.insert("transactions.skipped".to_owned(), 10.0);
        *trial.metrics.get_mut("transactions.committed").unwrap() -= 10.0;
    };
    assert!(!spoilt(&given_up).contains("its windows hold"));
    // A client may have waited for one that began before the interval: its age stands in the windows of an open loop too.
    let one_less = |trial: &mut TrialRecord| *trial.metrics.get_mut("transactions.committed").unwrap() -= 1.0;
    let holds = |arrivals| {
        let runs = tempfile::tempdir().unwrap();
        let differences = of_run(&with_windows_of(runs.path(), arrivals, one_less)).unwrap().differences;
        differences.iter().any(|line| line.contains("its windows hold 1000 transactions, its record 999"))
    };
    assert_eq!((holds(None), holds(Some("poisson"))), (true, false));
    let runs = tempfile::tempdir().unwrap();
    let run = with_windows(runs.path(), |_| {});
    run.write_windows(first_trial_with(&run), "no log at all\n").unwrap();
    one_difference(&run, "its windows cannot be read");
}

#[test]
fn a_log_of_deferred_deliveries_is_what_was_counted_and_delivers_nothing_twice() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |records| {
        records.trials[0].metrics.insert("deferred_delivery.committed".to_owned(), 2.0);
    });
    one_difference(&run, "2 deferred Deliveries, and no log of them");
    let number = run.trials().unwrap().measured()[0].trial;
    let log = |lines: &[(f64, f64)]| Series {
        columns: ["queued_s", "ended_s", "w_id", "o_carrier_id", "o_id_d1", "o_id_d2"].map(str::to_owned).to_vec(),
        rows: lines.iter().map(|(queued_s, order)| vec![*queued_s, 1.0, 1.0, 7.0, *order, f64::NAN]).collect(),
    };
    // What was queued in the warm-up is no part of the record's count.
    run.write_deferred(number, &log(&[(-0.5, 2101.0), (0.0, 2102.0), (0.5, 2103.0)])).unwrap();
    assert_eq!(differences(&run), Vec::<String>::new());
    run.write_deferred(number, &log(&[(-0.5, 2101.0), (0.0, 2102.0), (0.5, 2101.0)])).unwrap();
    one_difference(&run, "1 orders stand in its log twice");
    run.write_deferred(number, &log(&[(-0.5, 2101.0), (-0.1, 2102.0), (0.5, 2103.0)])).unwrap();
    one_difference(&run, "its log has 1 Deliveries that were queued inside the interval, its record 2");
}

/// A run whose first trial was sampled for five seconds, with what its host and its server took.
fn watched(runs: &Path, change: impl Fn(&mut TrialRecord)) -> RunDir {
    let run = stored(runs, |records| {
        let trial = &mut records.trials[0];
        let committed = trial.metrics["transactions.committed"];
        let metrics = [
            ("host_cpu_mhz", 3000.0),
            ("host_steal_share", 0.02),
            ("host_swapped_pages", 0.0),
            ("server_cpu_user_s", 6.0),
            ("server_cpu_system_s", 2.0),
            ("cpu_us_per_tx", 8e6 / committed),
        ];
        trial.metrics.extend(metrics.map(|(name, value)| (name.to_owned(), value)));
        trial.flags.push("steal".to_owned());
        change(trial);
    });
    let columns = [
        "second",
        "host_cpu_mhz",
        "host_steal_share",
        "host_swapped_pages",
        "server_system_cores",
        "server_user_cores",
    ];
    let rows = (0..5).map(|second| vec![f64::from(second), 3000.0, 0.02, 0.0, 0.4, 1.2]).collect();
    run.write_observed(1, &Series { columns: columns.map(str::to_owned).to_vec(), rows }).unwrap();
    for (format, file) in KEPT_REPORTS {
        run.write_report(file, &report::write(&run, format, &Options::default()).unwrap()).unwrap();
    }
    run
}

#[test]
fn flags_of_the_host_and_cpu_are_those_of_the_samples() {
    let runs = tempfile::tempdir().unwrap();
    let findings = of_run(&watched(runs.path(), |_| {})).unwrap();
    assert_eq!(findings.differences, Vec::<String>::new());
    let records = "host flags of 1 trials, CPU per transaction of 1, and both against the samples of 1";
    assert!(findings.checked.iter().any(|line| line == records), "{:?}", findings.checked);
    let spoil = |change: &dyn Fn(&mut TrialRecord), about: &str| one_difference(&watched(runs.path(), change), about);
    let set = |name: &'static str, value: f64| {
        move |trial: &mut TrialRecord| {
            trial.metrics.insert(name.into(), value);
        }
    };
    spoil(&|trial| trial.flags.clear(), "trial 1: flags of the host are none, its metrics give steal");
    spoil(&set("host_oom_kills", 1.0), "are steal, its metrics give oom, steal");
    spoil(&set("cpu_us_per_tx", 1.0), "trial 1: cpu_us_per_tx is 1, 8 s for ");
    spoil(&set("host_steal_share", 0.5), "host_steal_share is 0.5, its seconds give 0.02");
    spoil(&set("server_cpu_user_s", 2.0), "the server's CPU time is 4 s, its seconds give 8 s");
    spoil(&set("host_cpu_mhz", 2900.0), "host_cpu_mhz is 2900, its seconds give 3000");
    let without_commit = |trial: &mut TrialRecord| {
        trial.metrics.insert("transactions.committed".into(), 0.0);
        trial.metrics.insert("cpu_us_per_tx".into(), 16e6);
    };
    let differences = of_run(&watched(runs.path(), without_commit)).unwrap().differences;
    assert!(!differences.iter().any(|line| line.contains("cpu_us_per_tx")), "{differences:?}");
    let quiet = |trial: &mut TrialRecord| {
        trial.metrics.insert("host_steal_share".into(), 0.0);
        trial.flags.clear();
    };
    spoil(&quiet, "host_steal_share is 0, its seconds give 0.02");
    // 12 s in place of 8; behind the last second that was read, where events ended the trial.
    let more = |trial: &mut TrialRecord| {
        trial.metrics.insert("server_cpu_user_s".into(), 10.0);
        let committed = trial.metrics["transactions.committed"];
        trial.metrics.insert("cpu_us_per_tx".into(), 12e6 / committed);
    };
    spoil(&more, "the server's CPU time is 12 s, its seconds give 8 s");
    let by_events = |trial: &mut TrialRecord| {
        more(trial);
        trial.metrics.insert(TrialRecord::INTERVAL.into(), 4.0);
    };
    let differences = of_run(&watched(runs.path(), by_events)).unwrap().differences;
    assert!(!differences.iter().any(|line| line.contains("CPU time")), "{differences:?}");
}

#[test]
fn a_flag_of_the_frequency_is_that_of_the_trials_before() {
    let runs = tempfile::tempdir().unwrap();
    // The third trial ran at 2,800 MHz, all others at 3,000 or 3,010.
    let with = |flagged: &[usize]| {
        stored(runs.path(), |records| {
            for (number, trial) in records.trials.iter_mut().enumerate() {
                let mhz = if number == 2 { 2800.0 } else { 3000.0 + 10.0 * (number % 2) as f64 };
                trial.metrics.insert("host_cpu_mhz".into(), mhz);
                trial.flags.extend(flagged.contains(&number).then(|| "frequency".to_owned()));
            }
        })
    };
    assert_eq!(differences(&with(&[2])), Vec::<String>::new());
    one_difference(&with(&[]), "trial 3: flags of the host are none, its metrics give frequency");
    one_difference(&with(&[2, 3]), "trial 4: flags of the host are frequency, its metrics give none");
}

#[test]
fn a_run_that_has_ended_has_its_reports() {
    let runs = tempfile::tempdir().unwrap();
    let run = stored(runs.path(), |_| {});
    std::fs::remove_file(run.path().join("report.html")).unwrap();
    one_difference(&run, "report.html is missing, although the run has ended");
    let cut = stored(runs.path(), |records| records.run.ended_by = Some("interrupted".into()));
    std::fs::remove_file(cut.path().join("report.html")).unwrap();
    assert_eq!(differences(&cut), Vec::<String>::new());
}
