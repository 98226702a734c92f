//! A made-up run goes through every report and must match the stored text to the byte.
//!
//! `DBDUEL_BLESS=1 cargo test -p dbduel golden` rewrites the texts; review the change like code.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::render::html::{RECORDS_BEGIN, RECORDS_END, SCRIPT, STYLE};
use crate::reports::rendered;
use analysis::conclude_with_seconds;
use fixtures::{
    CANDIDATE, FLUSH, INDEPENDENT, PLANTED, StoredRun, Story, add_cause_test, cores_run, duel_after_search, kinds_run,
    ladder_run, many_levels_run, many_passes_run, passes_run, quickstart_run, statements_run, stored_run, tpcc_run,
};
use record::format::figures::has_negative_zero;
use record::format::{
    AaRecord, ContrastKind, ContrastRecord, DecisionKind, DecisionRecord, PilotRecord, PlanNode, Point, Purpose, QUERY,
    Series, StatementPlan, Status, TrialRecord,
};
use record::{RunDir, StoredTrials};

fn evidence(story: &Story) -> Evidence {
    evidence_of(stored_run(story))
}

pub fn evidence_of(stored: StoredRun) -> Evidence {
    let StoredRun { plan, run, trials } = stored;
    let series = story_series();
    let windows = if plan.is_all_passes() { BTreeMap::new() } else { story_windows() };
    let conclusions = conclude_with_seconds(&plan, &run, &trials, &series);
    let trials = StoredTrials::new(trials, None);
    Evidence {
        folder: "runs/mysql-5-5-vs-5-6-20310504T101500Z".into(),
        plan,
        run,
        trials,
        series,
        observed: BTreeMap::new(),
        windows,
        profiles: vec![],
        note: None,
        conclusions,
    }
}

/// A stall in the third second of every trial.
fn story_series() -> BTreeMap<u32, Series> {
    let rows = [1390.0, 1401.0, 120.0, 1377.0, 1395.0];
    let rows = rows.iter().enumerate().map(|(index, tps)| vec![index as f64 + 1.0, *tps]);
    let series = Series { columns: vec!["second".into(), "committed".into()], rows: rows.collect() };
    (1..=8).map(|trial| (trial, series.clone())).collect()
}

/// Five windows of a second of the first eight trials, with a stall in the third.
fn story_windows() -> BTreeMap<u32, String> {
    static LOG: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    (1..=8).map(|trial| (trial, LOG.get_or_init(story_log).clone())).collect()
}

fn story_log() -> String {
    let exchange = std::sync::Arc::new(load::Exchange::new(std::time::Duration::from_secs(1), 1));
    let mut worker = load::Recorder::new(5, false).in_windows(exchange.clone());
    let mut collector = load::Collector::new(&exchange);
    let window = load::Window { start_ns: 0, end_ns: 5_000_000_000 };
    for step in 0..20_000_u64 {
        let due_ns = step * 250_000;
        let is_stalled = (2_400_000_000..2_500_000_000).contains(&due_ns);
        let took_ns = if is_stalled { 2_500_000_000 - due_ns } else { 1_000_000 + step % 50 * 20_000 };
        let timing = load::Timing { due_ns, start_ns: due_ns, end_ns: due_ns + took_ns };
        worker.record(load::Outcome::Committed, &load::Attempt::default(), timing, window);
        collector.collect();
    }
    drop(worker.finish());
    collector.finish(5_000_000_000).1.log()
}

/// A page without what all pages share, and without its raw records.
fn own_part(page: &str) -> String {
    let (before, rest) = page.split_once(RECORDS_BEGIN).unwrap();
    let (_, after) = rest.split_once(RECORDS_END).unwrap();
    format!("{before}{RECORDS_BEGIN}(records){RECORDS_END}{after}")
        .replace(STYLE, "(style)\n")
        .replace(SCRIPT, "(script)\n")
}

/// Ten blocks of which one trial failed, two were disturbed and one spans an interruption.
fn troubled() -> Evidence {
    evidence(&Story { blocks: 10, trouble: true, ..Story::default() })
}

fn check(file_name: &str, text: &str) {
    assert!(!has_negative_zero(text), "{file_name} has a zero with a sign");
    let text = if file_name.ends_with(".html") { own_part(text) } else { text.to_owned() };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(file_name);
    if std::env::var_os("DBDUEL_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = text.lines().zip(expected.lines()).find(|(now, then)| now != then);
    assert!(
        text == expected,
        "{file_name} has changed, first here: {differs:?}; if that is right, run with DBDUEL_BLESS=1"
    );
}

#[test]
fn every_report_of_a_troubled_run_is_as_stored() {
    let evidence = troubled();
    for report in REPORTS {
        let extension = if report.name() == "text" { "txt" } else { report.name() };
        check(&format!("troubled.{extension}"), &report.write(&evidence, &Options::default()).unwrap());
    }
}

#[test]
fn the_text_of_a_mixed_and_of_an_open_run_is_as_stored() {
    let mixed = evidence(&Story { ratios: [1.10, 1.06, 0.94, 0.85], ..Story::default() });
    check("mixed.txt", &text::TEXT.write(&mixed, &Options::default()).unwrap());
    let open = evidence(&Story { ratios: [1.0; 4], spread: 0.06, ..Story::default() });
    check("open.txt", &text::TEXT.write(&open, &Options::default()).unwrap());
    let gate = crate::sections::gate::tests::limited(0.95, 0.03);
    check("gate.md", &text::MARKDOWN.write(&gate, &Options::default()).unwrap());
}

#[test]
fn a_cause_stands_on_the_first_screen_only_when_there_is_one() {
    let mut evidence = full_method();
    let duel = &mut evidence.conclusions.workloads[0].duels[0];
    let observed =
        vec![analysis::Observed { point: record::format::Point::new(), moves: Vec::new(), signs: Vec::new() }];
    duel.diagnosis.causes = vec![analysis::Cause {
        kind: analysis::CauseKind::HostLimits,
        grade: analysis::Grade::Supported,
        workload: "oltp_read_write".into(),
        baseline: duel.baseline.clone(),
        candidate: duel.candidate.clone(),
        side: analysis::Side::Candidate,
        observed,
        test: None,
        confirmed_alike: Vec::new(),
        trials: Vec::new(),
    }];
    let brief = text::TEXT.write(&evidence, &Options { brief: true, ..Options::default() }).unwrap();
    assert!(!brief.contains("cause") && !brief.contains("used the host's CPU"), "{brief}");
    let full = text::TEXT.write(&evidence, &Options::default()).unwrap();
    assert!(full.contains("No cause could be established: other processes used the host's CPU"), "{full}");
}

/// The first screens of all kinds of runs.
fn screens() -> Vec<(&'static str, Evidence)> {
    let open_loop = || {
        let mut stored = stored_run(&Story::default());
        (stored.plan.workloads[0].arrivals, stored.plan.workloads[0].rate) = (Some("poisson".into()), Some(500));
        stored
    };
    vec![
        ("quickstart", evidence_of(quickstart_run(&Story::default()))),
        ("a version duel", evidence(&Story::default())),
        ("two workloads at 26 levels", evidence_of(many_levels_run(&Story::default()))),
        ("sql-bench with 86 operations", evidence_of(many_passes_run(&Story::default()))),
        ("kinds of statements", evidence_of(kinds_run(&Story::default()))),
        ("a run with failures", troubled()),
        ("the full method", full_method()),
        ("mixed", evidence(&Story { ratios: [1.10, 1.06, 0.94, 0.85], ..Story::default() })),
        ("not decided", evidence(&Story { ratios: [1.0; 4], spread: 0.06, ..Story::default() })),
        ("one block", evidence(&Story { blocks: 1, ..Story::default() })),
        ("three contenders", three_contenders()),
        ("an open loop", evidence_of(open_loop())),
        ("a ladder", evidence_of(ladder_run(&Story::default(), PLANTED))),
        ("cores", evidence_of(cores_run(&Story::default()))),
        ("passes", evidence_of(passes_run(&Story::default()))),
        ("TPC-C", evidence_of(tpcc_run(&Story::default()))),
        ("a gate", crate::sections::gate::tests::limited(0.95, 0.03)),
    ]
}

#[test]
fn the_first_screen_fits_terminals_of_every_width() {
    let screens = screens();
    for width in [60, 80, 120] {
        let mut all = String::new();
        for (name, evidence) in &screens {
            let options = Options { brief: true, width: Some(width), ..Options::default() };
            let text = text::TEXT.write(evidence, &options).unwrap();
            for line in text.lines().filter(|line| !line.contains("  runs/") && !line.contains(": runs/")) {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
            assert!(width < 80 || text.lines().count() <= 25, "{name} at {width}:\n{text}");
            all += &format!("# {name}\n{text}\n");
        }
        check(&format!("screen-{width}.txt"), &all);
    }
}

#[test]
fn whole_reports_fit_terminals_of_every_width() {
    for (name, evidence) in &screens() {
        for width in [60, 80, 120] {
            let options = Options { width: Some(width), ..Options::default() };
            let text = text::TEXT.write(evidence, &options).unwrap();
            // A path or a hash is one word, and what is to be pasted into a file stays as it is.
            let can_break = |line: &&str| !line.contains(" = ") && line.split(' ').all(|word| word.len() < 45);
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).filter(can_break).collect();
            assert!(wide.is_empty(), "{name} at {width}:\n{}", wide.join("\n"));
        }
    }
}

#[test]
fn the_reports_of_a_tpcc_run_are_as_stored() {
    let evidence = evidence_of(tpcc_run(&Story::default()));
    let reports: [(&str, Report); 4] =
        [("txt", text::TEXT), ("html", page::HTML), ("dbt2", dbt2::DBT2), ("dbt2-compat", dbt2::DBT2_COMPAT)];
    for (extension, report) in reports {
        check(&format!("tpcc.{extension}"), &report.write(&evidence, &Options::default()).unwrap());
    }
}

#[test]
fn every_report_of_a_tpcc_run_prints_new_orders_a_minute() {
    let evidence = evidence_of(tpcc_run(&Story::default()));
    for (format, printed) in [
        ("text", "NOPM"),
        ("html", "NOPM"),
        ("json", "\"metric\": \"nopm\""),
        ("json", "\"form\": \"procedures\""),
        ("csv", "stock_level.latency_ms_p90"),
        ("dbt2", "(NOTPM)"),
    ] {
        let text = find(format).unwrap().write(&evidence, &Options::default()).unwrap();
        assert!(text.contains(printed) && !text.contains("tpmC"), "{format} does not print {printed}");
    }
}

#[test]
fn the_text_of_a_ladder_is_as_stored() {
    let evidence = evidence_of(ladder_run(&Story::default(), PLANTED));
    check("ladder.txt", &text::TEXT.write(&evidence, &Options::default()).unwrap());
}

#[test]
fn a_page_draws_every_step_and_escapes_its_name() {
    let mut stored = ladder_run(&Story::default(), INDEPENDENT);
    stored.run.decisions.push(DecisionRecord::refused(FLUSH, "no setting <script>".into()));
    let evidence = evidence_of(stored);
    let page = page::HTML.write(&evidence, &Options::default()).unwrap();
    let (drawn, _) = page.split_once("Logarithmic: bars of equal length").unwrap();
    assert!(drawn.contains("log &lt;b&gt;&amp;size") && drawn.contains("<g class=\"faster\">"));
    assert!(drawn.contains("<g class=\"open\">") && drawn.contains("not measured"));
    assert!(!page.split("<script").next().unwrap().contains("no setting <script>"));
    let json: serde_json::Value =
        serde_json::from_str(&json::JSON.write(&evidence, &Options::default()).unwrap()).unwrap();
    let rungs = json["ladders"][0]["rungs"].as_array().unwrap();
    assert_eq!(
        (rungs.len(), rungs[0]["trade"].as_bool(), rungs[0]["step"]["verdict"].as_str()),
        (3, Some(false), Some("faster"))
    );
    assert_eq!(rungs[2]["refused"], "no setting <script>");
}

#[test]
fn every_json_report_follows_the_published_schema() {
    let schema = json::schema().unwrap();
    check("schema.json", &schema);
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    let mut texts: Vec<String> =
        json_stories().iter().map(|one| json::JSON.write(one, &Options::default()).unwrap()).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    for name in ["troubled.json", "passes.json"] {
        texts.push(std::fs::read_to_string(folder.join(name)).unwrap());
    }
    for text in texts {
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> =
            schema.iter_errors(&report).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(errors, Vec::<String>::new(), "{}", report["name"]);
        let mut broken = report;
        broken["comparisons"][0]["verdict"] = "quicker".into();
        assert!(!schema.is_valid(&broken), "the schema lists the verdicts");
    }
}

fn json_stories() -> Vec<Evidence> {
    let ladder = ladder_run(&Story::default(), PLANTED);
    let search = duel_after_search(&Story::default());
    let statements = statements_run(&Story::default());
    let kinds = kinds_run(&Story::default());
    let stories = [ladder, passes_run(&Story::default()), kinds, statements, cores_run(&Story::default()), search];
    stories.into_iter().map(evidence_of).chain([troubled(), full_method()]).collect()
}

#[test]
fn no_key_of_the_json_report_stands_twice_in_one_object() {
    for evidence in json_stories() {
        let text = json::JSON.write(&evidence, &Options::default()).unwrap();
        // A value keeps the last of equal keys, so that a text with both comes out shorter.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(serde_json::to_string_pretty(&value).unwrap() + "\n", text);
    }
}

/// Two workloads in one run, the second the made-up one under another label.
#[test]
fn several_workloads_are_summed_up_in_one_table() {
    let (mut stored, tpcc) = (stored_run(&Story::default()), tpcc_run(&Story::default()));
    stored.plan.workloads.extend(tpcc.plan.workloads);
    stored.plan.trials.extend(tpcc.plan.trials);
    stored.trials.extend(tpcc.trials);
    let text = text::TEXT.write(&evidence_of(stored), &Options::default()).unwrap();
    let row = |workload: &str| text.lines().find(|line| line.trim_start().starts_with(workload)).unwrap_or_default();
    assert!(text.contains("workload                  5.5   5.6 <b>&tuned   ratio"), "{text}");
    assert!(row("oltp_read_write   ").contains(" tps ") && row("tpcc   ").contains(" NOPM "), "{text}");
}

#[test]
fn a_run_that_has_just_begun_can_be_reported_in_every_form() {
    let mut evidence = troubled();
    evidence.run.finished_at = None;
    evidence.run.ended_by = None;
    evidence.run.contenders.clear();
    for trials in [0, 1, 3] {
        let first = stored_run(&Story::default()).trials.into_iter().take(trials).collect();
        evidence.trials = StoredTrials::new(first, None);
        evidence.conclusions =
            conclude_with_seconds(&evidence.plan, &evidence.run, evidence.trials.measured(), &evidence.series);
        for report in REPORTS {
            let text = report.write(&evidence, &Options::default()).unwrap();
            assert!(!text.contains("NaN") && !text.contains("inf,"), "{} after {trials} trials", report.name());
        }
    }
}

#[test]
fn a_run_read_back_from_its_folder_is_reported_alike() {
    let runs = tempfile::tempdir().unwrap();
    let expected = troubled();
    let (plan, record) = (expected.plan.clone(), expected.run.clone());
    let run = StoredRun { plan, run: record, trials: expected.trials.all() }.store(runs.path());
    expected.series.iter().for_each(|(trial, series)| run.write_series(*trial, series).unwrap());
    expected.windows.iter().for_each(|(trial, log)| run.write_windows(*trial, log).unwrap());
    let run = RunDir::open(runs.path(), "last").unwrap();
    for report in REPORTS {
        let printed = write(&run, report.name(), &Options::default()).unwrap();
        let printed = printed.replace(&run.path().display().to_string(), &expected.folder);
        assert!(printed == report.write(&expected, &Options::default()).unwrap(), "{}", report.name());
    }
}

#[test]
fn the_page_needs_nothing_from_outside_and_escapes_what_it_is_given() {
    let page = page::HTML.write(&troubled(), &Options::default()).unwrap();
    for outside in ["http:", "https:", "src=", "@import", "url(", "<link", "5.6 <b>"] {
        assert!(!page.contains(outside), "the page contains `{outside}`");
    }
    let records = page::records_of(&page).unwrap();
    assert!(records.trials == troubled().trials.all(), "the raw records inside the page are whole");
}

#[test]
fn the_same_records_make_the_same_bytes_in_every_form_and_out_of_the_page_again() {
    let (first, second) = (full_method(), full_method());
    for report in REPORTS {
        let written = |evidence| report.write(evidence, &Options::default()).unwrap();
        assert!(written(&first) == written(&second), "{}", report.name());
    }
    let page = page::HTML.write(&first, &Options::default()).unwrap();
    let again = Evidence::of_page(&page).unwrap();
    assert_eq!((&again.plan, &again.run, &again.trials), (&first.plan, &first.run, &first.trials));
    assert!(page == page::HTML.write(&again, &Options::default()).unwrap(), "the page carries what it was made from");
    assert!(Evidence::of_page("<html></html>").unwrap_err().to_string().contains("no report of dbduel"));
}

#[test]
fn a_reader_may_compare_with_another_contender_than_the_baseline() {
    let own = full_method();
    let (baseline, candidate) = (own.plan.baseline.clone(), own.plan.contenders[1].name.clone());
    let ratio = |evidence: &Evidence| evidence.conclusions.workloads[0].duels[0].overall.ratio.unwrap();
    let turned = own.clone().against(&candidate).unwrap();
    assert_eq!(turned.conclusions.workloads[0].duels[0].candidate, baseline);
    assert!((ratio(&own) * ratio(&turned) - 1.0).abs() < 1e-9, "{} and {}", ratio(&own), ratio(&turned));
    let tests =
        |evidence: &Evidence| analysis::cause_test::tests(&evidence.plan, &evidence.run, &evidence.trials.all());
    assert!(!tests(&own).is_empty() && tests(&turned).is_empty(), "a cause test is about the run's own baseline");
    let told = format!("compared with `{candidate}`, chosen after the run, whose own baseline is `{baseline}`");
    assert!(sections::document(&turned).note.unwrap().starts_with(&told));

    let page = page::HTML.write(&turned, &Options::default()).unwrap();
    let again = Evidence::of_page(&page).unwrap();
    assert!(page == page::HTML.write(&again, &Options::default()).unwrap(), "the page compares as it did");
    assert_eq!(page::records_of(&page).unwrap().plan, own.plan, "what the hash is of");

    assert_eq!(own.clone().against(&baseline).unwrap().plan, own.plan);
    let refused = |change: &dyn Fn(&mut Evidence), name: &str| {
        let mut evidence = own.clone();
        change(&mut evidence);
        evidence.against(name).unwrap_err().to_string()
    };
    let unknown = format!("`5.7` is no contender of this run: use one of `{baseline}`, `{candidate}`");
    assert_eq!(refused(&|_| (), "5.7"), unknown);
    let is_own = |text: &str| text.starts_with("this run can be compared with its own baseline only");
    assert!(is_own(&refused(&|evidence| evidence.plan.twins = true, &candidate)));
    assert!(is_own(&refused(&|evidence| evidence.plan.method.duet = true, &candidate)));
}

/// Trials of half a minute under all steps of the method, with everything that a report may show.
pub fn full_method() -> Evidence {
    let mut stored = stored_run(&Story { blocks: 10, trouble: true, spread: 0.02, ..Story::default() });
    stored.plan.method.preset = "standard".into();
    stored.plan.method.left_out.clear();
    (stored.plan.method.duration_s, stored.plan.method.warmup_s) = (30.0, 30.0);
    let candidate = stored.plan.contenders[1].name.clone();
    for trial in stored.trials.iter_mut().filter(|trial| trial.status == Status::Ok) {
        let ours = trial.contender == candidate;
        let tps = trial.metrics["tps"];
        trial.steps.last_mut().unwrap().1 = 30.0;
        trial.metrics.extend([
            ("deferred_work_s".to_owned(), if ours { 3.0 } else { 12.0 }),
            ("adjusted_tps".to_owned(), if ours { tps * 0.9 } else { tps * 0.6 }),
            ("state.dirty_bytes_begin".to_owned(), 1e6),
            ("state.dirty_bytes_end".to_owned(), if ours { 9e5 } else { 4e7 }),
            ("half_log_ratio".to_owned(), 0.001 * f64::from(trial.block % 4)),
            ("latency_ms_p999".to_owned(), trial.metrics["latency_ms_p99"] * 3.0),
            ("longest_stall_ms".to_owned(), 412.0),
            ("stalled_seconds_share".to_owned(), 0.066),
            ("counter.innodb.data_fsyncs".to_owned(), if ours { tps * 5.0 } else { 0.0 }),
            ("counter.innodb.row_lock_waits".to_owned(), tps * if ours { 0.4 } else { 0.2 }),
            ("counter.innodb.deadlocks".to_owned(), 0.0),
        ]);
    }
    repeat_pair(&mut stored, 4, 2);
    set_conditions(&mut stored);
    set_plans(&mut stored);
    let seconds = |trial: &TrialRecord| {
        let wave = |second: u32| {
            vec![f64::from(second), (1000.0 + 90.0 * f64::from((second * second * 7 + trial.block) % 11)).floor()]
        };
        (trial.trial, Series { columns: vec!["second".into(), "committed".into()], rows: (0..30).map(wave).collect() })
    };
    let series: BTreeMap<u32, Series> = stored.trials.iter().map(seconds).collect();
    let observed = stored.trials.iter().map(|trial| (trial.trial, observed_of(trial))).collect();
    let StoredRun { plan, run, trials } = stored;
    let conclusions = conclude_with_seconds(&plan, &run, &trials, &series);
    let trials = StoredTrials::new(trials, None);
    Evidence {
        folder: "runs/full".into(),
        plan,
        run,
        trials,
        series,
        observed,
        windows: BTreeMap::new(),
        profiles: vec![],
        note: None,
        conclusions,
    }
}

/// A checkpoint in the tenth second, and a second without an answer.
fn observed_of(trial: &TrialRecord) -> Series {
    let columns = [
        "second",
        "server_user_cores",
        "server_system_cores",
        "host_disk.vda.reads_per_s",
        "host_disk.vda.writes_per_s",
        "host_steal_share",
        "counter.innodb.data_reads_per_s",
        "counter.innodb.data_writes_per_s",
        "state.checkpoint_age_bytes",
    ];
    let row = |second: u32| {
        let age = if second < 10 { second } else { second - 10 };
        let answered = |value: f64| if second == 20 { f64::NAN } else { value };
        let disk = f64::from(100 + second % 7 + trial.block);
        let (reads, writes) = (answered(disk / 2.0), answered(disk));
        vec![f64::from(second), 0.75, 0.25, 10.0, disk, 0.0, reads, writes, answered(f64::from(age) * 1e6)]
    };
    Series { columns: columns.map(str::to_owned).into(), rows: (0..30).map(row).collect() }
}

/// Plans as trees, hostile names in them, and plans of a run from before there were trees.
fn set_plans(stored: &mut StoredRun) {
    let plan = |statement: &str, sql: &str, shape: &str| StatementPlan {
        statement: statement.into(),
        sql: sql.into(),
        lines: vec!["id\tselect_type\ttable".into(), format!("1\tSIMPLE\t{shape}")],
        shape: vec![shape.into()],
        tree: None,
        refused: None,
    };
    let refused = StatementPlan {
        refused: Some("MySQL 5.5.9 explains only <SELECT>".into()),
        lines: Vec::new(),
        shape: Vec::new(),
        ..plan("update-index", "UPDATE sbtest1 SET k=k+1 WHERE id=500", "")
    };
    let of_candidate = plan("update-index", &refused.sql, "sbtest1: range by PRIMARY");
    let read = |operator: &str, index: Option<&str>, rows: f64| PlanNode {
        table: Some("<b>sbtest1".into()),
        index: index.map(str::to_owned),
        estimated_rows: Some(rows),
        estimated_cost: Some(20.1),
        ..PlanNode::of(operator)
    };
    let ranges = "SELECT c FROM sbtest1 WHERE id BETWEEN 500 AND 599 ORDER BY c";
    let with_tree = |name: &str, sql: &str, child: PlanNode| {
        let root = PlanNode { sort: true, children: vec![child], ..PlanNode::of(QUERY) };
        StatementPlan { shape: Vec::new(), tree: Some(root), ..plan(name, sql, "sbtest1 & more") }
    };
    let point =
        |rows: f64| with_tree("point", "SELECT c FROM sbtest1 WHERE id=500", read("const", Some("PRIMARY"), rows));
    let old = |shape: &str| plan("sum-range", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 1 AND 9", shape);
    let plans = [
        vec![
            with_tree("order-range", ranges, read("range", Some("PRIMARY"), 100.0)),
            point(1.0),
            old("sbtest1: range by PRIMARY"),
            refused,
        ],
        vec![
            with_tree("order-range", ranges, read("full scan", None, 1e6)),
            point(2.0),
            old("sbtest1: ALL no key"),
            of_candidate,
        ],
    ];
    for (contender, plans) in stored.plan.contenders.iter().zip(plans) {
        let facts = stored.run.contenders.get_mut(&contender.name).unwrap();
        facts.plans.insert("oltp_read_write".into(), plans);
    }
}

/// Runs a disturbed pair once more, in the other order.
fn repeat_pair(stored: &mut StoredRun, clients: u64, block: u32) {
    let ours = |trial: &&TrialRecord| (trial.point["clients"], trial.block) == (clients, block);
    let pair: Vec<TrialRecord> = stored.trials.iter().filter(ours).cloned().collect();
    let last = stored.trials.len() as u32;
    let mut now: Timestamp = stored.run.finished_at.as_ref().unwrap().parse().unwrap();
    for (first, number) in pair.into_iter().rev().zip(last + 1..) {
        let begun = now;
        now += SignedDuration::from_secs(11);
        stored.trials.push(TrialRecord {
            trial: number,
            purpose: Purpose::Repeat { of: first.trial },
            order: 3 - first.order,
            flags: vec![],
            started_at: begun.to_string(),
            finished_at: now.to_string(),
            ..first
        });
    }
}

/// One with all its blocks, and one that this host could not have.
fn contrasts(workload: &str) -> Vec<ContrastRecord> {
    let record = |contrast, values: &[f64], refused: Option<&str>| ContrastRecord {
        contrast,
        workload: workload.to_owned(),
        candidate: CANDIDATE.to_owned(),
        point: Point::from([("clients".to_owned(), 64)]),
        baseline_values: values.to_vec(),
        candidate_values: values.iter().map(|value| value * 0.99).collect(),
        refused: refused.map(str::to_owned),
        failed: None,
    };
    vec![
        record(ContrastKind::OneClient, &[310.0, 312.0, 309.0, 311.0], None),
        record(ContrastKind::Tmpfs, &[], Some("data and server need about 9.0 GiB of memory, and 2.0 GiB are free")),
    ]
}

/// Four blocks with the generator's threads as everywhere, and with twice as many.
fn set_headroom(stored: &mut StoredRun, tps: [[f64; 4]; 2]) {
    let first = stored.trials[0].clone();
    for block in 1..=4 {
        for (side, tps) in tps.iter().enumerate() {
            stored.trials.push(TrialRecord {
                trial: 100 + 2 * block + side as u32,
                block,
                order: side as u32 + 1,
                contender: stored.plan.baseline.clone(),
                purpose: Purpose::Headroom { threads: side as u32 + 1 },
                metrics: [("tps".to_owned(), tps[block as usize - 1])].into(),
                ..first.clone()
            });
        }
    }
}

fn set_conditions(stored: &mut StoredRun) {
    let point = stored.plan.trials[0].point.clone();
    let (workload, contender) = ("oltp_read_write".to_owned(), stored.plan.baseline.clone());
    stored.run.host.facts = [("governor".into(), "performance".into()), ("numa".into(), "1 node".into())].into();
    stored.run.host.not_visible = vec!["frequency".into(), "thermal throttling".into()];
    stored.plan.method.pilot_s = Some(300.0);
    for (name, steady_after_s) in [(contender.clone(), Some(45.0)), (stored.plan.contenders[1].name.clone(), None)] {
        let trial = record::blocks::next_probe_number(&stored.plan, &stored.trials);
        let metrics = steady_after_s.map(|seconds| (PilotRecord::STEADY_AFTER.to_owned(), seconds));
        let old = stored.trials[0].clone();
        stored.trials.push(TrialRecord {
            trial,
            block: 0,
            contender: name,
            point: point.clone(),
            purpose: Purpose::Pilot,
            flags: vec![],
            metrics: metrics.into_iter().collect(),
            ..old
        });
    }
    stored.run.decisions.push(DecisionRecord::warm_up(&workload, 1, 150.0, DecisionRecord::PILOT));
    set_headroom(stored, [[1480.0, 1475.0, 1490.0, 1470.0], [1482.0, 1471.0, 1493.0, 1468.0]]);
    contrasts(&workload).iter().for_each(|test| add_cause_test(stored, test));
    stored.run.twins = vec![AaRecord {
        at: "2031-04-30T08:00:00Z".into(),
        plan_hash: "ab".repeat(32),
        host: "this one".into(),
        engine: "mysql".into(),
        version: "5.5.9".into(),
        workload,
        arrangement: None,
        point,
        blocks: 20,
        verdict: "no difference shown".into(),
        ratio: 1.001,
        low: 0.996,
        high: 1.006,
        sd: 0.012,
        block_s: 170.0,
        order_effect: Some([0.002, -0.004, 0.008]),
        flagged_share: 0.05,
        sd_between_trials: Some(0.008),
        sd_of_a_second: Some(0.15),
        autocorrelation: Some(0.4),
        trial_s: Some(60.0),
        best_trial_s: Some(94.0),
    }];
}

#[test]
fn a_page_of_another_format_is_refused_in_one_sentence() {
    let page = find("html").unwrap().write(&full_method(), &Options::default()).unwrap();
    let unpacked = unpacked(&page).unwrap();
    let records = unpacked.split_once(RECORDS_BEGIN).unwrap().1.split_once("}</script>").unwrap().0;
    let old = page::packed(&(records.replacen("\"format_version\":2", "\"format_version\":1", 1) + "}")).unwrap();
    let old = format!("{RECORDS_BEGIN}{old}{RECORDS_END}");
    let message = format!("{:#}", Evidence::of_page(&old).unwrap_err());
    assert!(
        message.ends_with("format version 1 and this dbduel reads 2: report it with the dbduel that made it"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 1);
}

#[test]
fn a_run_of_the_full_method_is_reported_as_stored() {
    let evidence = full_method();
    for (name, extension) in [("text", "txt"), ("html", "html")] {
        check(&format!("full.{extension}"), &find(name).unwrap().write(&evidence, &Options::default()).unwrap());
    }
    let text = text::TEXT.write(&evidence, &Options::default()).unwrap();
    for printed in [
        "2 repeated",
        "Without the blocks that carry a flag",
        "Peak against peak",
        "Trials of ",
        "leads only until its deferred work",
        "Not visible here: frequency",
        "not steady within 300 s",
        "mysql 5.5.9 against itself (oltp_read_write, 1 client; 2031-04-30)",
        "with twice the generator's",
        "Accumulating: Deferred work (unflushed pages",
        "Likely cause: `5.6 <b>&tuned` syncs its log to disk far more often",
        "None on either side: deadlocks",
        "2 of 3 statements are run differently; 1 more is not known of both servers",
        "range on PRIMARY → full scan of <b>sbtest1",
        "sbtest1: range by PRIMARY → sbtest1: ALL no key",
        "settings = { innodb_buffer_pool_size = \"1073741824\"",
    ] {
        assert!(text.contains(printed), "{printed} is not in\n{text}");
    }
}

#[test]
fn what_was_observed_is_drawn_by_the_second_and_lies_in_the_page() {
    let evidence = full_method();
    let page = page::HTML.write(&evidence, &Options::default()).unwrap();
    for drawn in ["CPU of the server", "Disk operations on this host", "checkpoint of 5.5", "class=\"checkpoint\""] {
        assert!(page.contains(drawn), "{drawn} is not in the page");
    }
    assert!(!page.contains("Changed pages not yet written"), "what nobody saw is not drawn");
    assert!(!page.contains("<SELECT>"), "what servers say is escaped");
    let carried = Evidence::of_page(&page).unwrap().observed;
    assert_eq!(carried.len(), evidence.plan.contenders.len(), "of the trials that are drawn, and no others");
    assert!(carried.values().all(|series| !series.columns.iter().any(|column| column == "host_steal_share")));
    let mut hosted = full_method();
    hosted.plan.contenders[0].target = Some("mysql://db/x".into());
    hosted.plan.contenders[1].target = Some("mysql://db/y".into());
    let page = page::HTML.write(&hosted, &Options::default()).unwrap();
    assert!(!page.contains("Disk operations on this host") && page.contains("Reads and writes that the server counts"));
}

#[test]
fn an_unsteady_run_claims_its_first_seconds_only() {
    let mut stored = stored_run(&Story::default());
    stored.plan.method.left_out.clear();
    for trial in &mut stored.trials {
        trial.metrics.insert("half_log_ratio".into(), -0.06 - 0.001 * f64::from(trial.block));
    }
    let text = text::TEXT.write(&evidence_of(stored), &Options::default()).unwrap();
    let verdict = text.lines().skip(2).take(3).map(str::trim).collect::<Vec<_>>().join(" ");
    let expected =
        "Not decided: throughput had not settled after 5 s, so nothing lasting can be claimed. In the measured time ";
    assert!(verdict.starts_with(expected), "{verdict}");
}

#[test]
fn a_run_of_passes_is_reported_by_program_and_operation() {
    let mut evidence = evidence_of(passes_run(&Story::default()));
    evidence.series.clear();
    evidence.conclusions =
        conclude_with_seconds(&evidence.plan, &evidence.run, evidence.trials.measured(), &evidence.series);
    for name in ["text", "html", "sqlbench", "csv", "json"] {
        let extension = if name == "text" { "txt" } else { name };
        check(&format!("passes.{extension}"), &find(name).unwrap().write(&evidence, &Options::default()).unwrap());
    }
    let html = find("html").unwrap().write(&evidence, &Options::default()).unwrap();
    assert!(html.contains("data-key") && !html.contains("closed: a client waits"), "a pass has no response times");
    assert!(!html.contains("no such function <b>"), "reasons are escaped");
}

#[test]
fn a_run_of_scripts_is_reported_statement_by_statement() {
    let evidence = evidence_of(statements_run(&Story::default()));
    for (name, extension) in [("text", "txt"), ("markdown", "markdown")] {
        check(&format!("statements.{extension}"), &find(name).unwrap().write(&evidence, &Options::default()).unwrap());
    }
    // The other sections of the page are those of other runs.
    let page = find("html").unwrap().write(&evidence, &Options::default()).unwrap();
    let (_, section) = page.split_once("<section id=\"operations\">").unwrap();
    check("statements.section", section.split_once("</section>").unwrap().0);
    let json: serde_json::Value =
        serde_json::from_str(&find("json").unwrap().write(&evidence, &Options::default()).unwrap()).unwrap();
    let text = json.to_string();
    assert!(text.contains("\"browse.sold\"") && text.contains("statement.browse.sold.latency_ms_p95"), "{text}");
}

#[test]
fn kinds_of_statements_have_a_chart_a_table_and_a_sentence() {
    let evidence = evidence_of(kinds_run(&Story::default()));
    for (name, extension) in [("text", "txt"), ("markdown", "markdown")] {
        check(&format!("kinds.{extension}"), &find(name).unwrap().write(&evidence, &Options::default()).unwrap());
    }
    let page = find("html").unwrap().write(&evidence, &Options::default()).unwrap();
    let (first, section) = page.split_once("<section id=\"kinds\">").unwrap();
    let (_, chart) = first.split_once("<title>Ratio of each kind of statements</title>").unwrap();
    check("kinds.chart", chart.split_once("</svg>").unwrap().0);
    assert!(section.contains("no such statement &lt;b&gt;"), "{section}");
    assert!(!page.contains("<section id=\"operations\">"), "they are no operations");
    let few = evidence_of(kinds_run(&Story { blocks: 3, ..Story::default() }));
    let text = find("text").unwrap().write(&few, &Options::default()).unwrap();
    assert!(text.contains("3 blocks cannot show that one of") && text.contains("that takes "), "{text}");
}

#[test]
fn a_sweep_of_cores_is_reported_at_the_best_clients_of_each() {
    let first = evidence_of(cores_run(&Story { blocks: 1, ..Story::default() }));
    for report in REPORTS.iter().filter(|report| ["text", "html"].contains(&report.name())) {
        let printed = report.write(&first, &Options::default()).unwrap();
        assert!(printed.contains("Two complete blocks are the least"), "{printed}");
    }
    let evidence = evidence_of(cores_run(&Story::default()));
    for report in REPORTS.iter().filter(|report| ["text", "html"].contains(&report.name())) {
        let extension = if report.name() == "text" { "txt" } else { report.name() };
        check(&format!("cores.{extension}"), &report.write(&evidence, &Options::default()).unwrap());
    }
    let json = REPORTS.iter().find(|report| report.name() == "json").unwrap();
    let json: serde_json::Value = serde_json::from_str(&json.write(&evidence, &Options::default()).unwrap()).unwrap();
    let row = &json["scaling"][1];
    assert_eq!((&row["variable"], &row["n"], &row["best_clients"][0]), (&"cores".into(), &2.into(), &4.into()));
    assert!(row["speed_up"]["low"].as_f64() > Some(1.4) && row["cpu_use"]["value"].is_f64(), "{row}");
    assert!(
        json["scaling_laws"][0]["refused"].as_str().unwrap().contains("2 numbers of cores"),
        "{}",
        json["scaling_laws"]
    );
}

#[test]
fn as_many_clients_as_cores_have_their_curve_over_cores() {
    let mut stored = cores_run(&Story::default());
    let is_kept = |point: &Point| point["clients"] == 2 * point["cores"];
    stored.plan.trials.retain(|trial| is_kept(&trial.point));
    stored.trials.retain(|trial| is_kept(&trial.point));
    let page = find("html").unwrap().write(&evidence_of(stored), &Options::default()).unwrap();
    let (_, behind) = page.split_once("<svg").unwrap();
    let (first, _) = behind.split_once("</svg>").unwrap();
    assert!(first.contains("(tps). ") && first.contains(" at 1, ") && !page.contains("suits each number"), "{first}");
}

#[test]
fn results_side_by_side_have_ratios_and_never_a_word() {
    let faster = Story { ratios: [1.5; 4], ..Story::default() };
    let runs = compare::runs(["first", "second"], [&evidence(&Story::default()), &evidence(&faster)], 80);
    check("compare.txt", &runs);
    for width in [60, 80, 120] {
        let text = compare::runs(["first", "second"], [&evidence(&Story::default()), &evidence(&faster)], width);
        assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
    }
    let passes = sqlbench::columns(&evidence_of(passes_run(&Story::default())));
    let columns = compare::columns(&passes, &sqlbench::Layout::default(), 80);
    assert!(columns.contains("Totals of the 22 operations that all columns have"), "{columns}");
    assert!(columns.contains("not compared of 5.5") && columns.contains("select_03, select_04"), "{columns}");
    for text in [runs, columns] {
        assert!(text.lines().next().unwrap().ends_with("(unpaired)"));
        let words = ["faster", "slower", "better", "worse", "inconclusive"];
        let printed = text.lines().filter(|line| line.contains('x') && !line.contains("above 1 is better"));
        assert!(
            printed.clone().count() > 0
                && printed.into_iter().all(|line| !words.iter().any(|word| line.contains(word)))
        );
    }
    let other = compare::runs(["first", "second"], [&evidence(&faster), &evidence_of(passes_run(&faster))], 80);
    assert!(other.contains("share no workload"), "{other}");
}

#[test]
fn colour_appears_only_when_asked_for() {
    let evidence = troubled();
    let plain = rendered(&text::TEXT, &evidence, &Options::default()).unwrap();
    let coloured = rendered(&text::TEXT, &evidence, &Options { color: true, ..Options::default() }).unwrap();
    assert!(!plain.contains('\x1b') && coloured.contains("\x1b[1;31m"));
}

#[test]
fn no_report_sends_a_control_character_of_a_record() {
    let mut evidence = troubled();
    let hostile = "\x1b]0;owned\x07\x1b[1;32mfaster\r\u{9b}2J\u{202e}";
    evidence.plan.question = Some(hostile.into());
    evidence.plan.contenders[1].source = hostile.into();
    evidence.run.host.cpu_model = hostile.into();
    let mut trials = evidence.trials.all();
    trials[0].flags.push(hostile.into());
    evidence.trials = StoredTrials::new(trials, None);
    for report in REPORTS {
        for color in [false, true] {
            let Ok(text) = rendered(report, &evidence, &Options { color, ..Options::default() }) else { continue };
            let colours = ["\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"];
            let bare = colours.iter().fold(text, |text, colour| text.replace(colour, ""));
            let sent =
                bare.chars().find(|letter| (letter.is_control() && !"\n\t".contains(*letter)) || *letter == '\u{202e}');
            assert_eq!(sent, None, "{}", report.name());
        }
    }
}

#[test]
fn tables_fit_a_terminal_of_a_hundred_columns() {
    let text = text::TEXT.write(&troubled(), &Options::default()).unwrap();
    let of_a_table = |line: &&str| line.contains('─') || line.starts_with(' ') && !line.starts_with("  ");
    for line in text.lines().filter(of_a_table) {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn a_search_is_told_beside_its_duel_and_has_no_verdict_of_its_own() {
    let duel = evidence_of(duel_after_search(&Story::default()));
    let plain = Options::default();
    let text = text::TEXT.write(&duel, &plain).unwrap();
    for part in [
        "is 11 % slower than",
        "The search over settings",
        "c1: innodb_log_file_size = 1G",
        "dropped at the start: it said",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let page = page::HTML.write(&duel, &plain).unwrap();
    let (shown, _) = page.split_once(RECORDS_BEGIN).unwrap();
    assert!(shown.contains("&lt;b&gt;&amp;unknown variable") && !shown.contains("<b>&unknown"));
    let json: serde_json::Value = serde_json::from_str(&json::JSON.write(&duel, &plain).unwrap()).unwrap();
    assert_eq!(json["search"]["outcome"]["winner"], "c1");

    let mut alone = duel_after_search(&Story::default());
    alone.run.search.as_mut().unwrap().run = None;
    let alone = evidence_of(alone);
    let text = text::TEXT.write(&alone, &plain).unwrap();
    assert!(text.contains("The search over settings") && !text.contains("slower than 5.5"), "{text}");
    let screened = |duel: &analysis::HeadToHead| duel.overall.caveats.contains(&analysis::Caveat::Screening);
    assert!(alone.conclusions.workloads.iter().flat_map(|workload| &workload.duels).all(screened));
    assert!(!duel.conclusions.workloads.iter().flat_map(|workload| &workload.duels).any(screened));
}

#[test]
fn every_report_says_what_it_is_and_how_to_get_it() {
    for report in REPORTS {
        assert!(!report.description().is_empty() && report.example().starts_with("dbduel "), "{}", report.name());
    }
    let message = find("pdf").err().unwrap().to_string();
    assert!(message.contains("`pdf`") && message.contains("html"), "{message}");
}

/// A third contender under a quoted, comma-ridden name; it is faster everywhere.
fn three_contenders() -> Evidence {
    let mut evidence = evidence(&Story { blocks: 12, ..Story::default() });
    let mut third = evidence.plan.contenders[1].clone();
    third.name = "5.7, \"fast\"".into();
    let copy = |trial: &TrialRecord| {
        let mut trial = trial.clone();
        trial.contender = third.name.clone();
        trial.trial += 1000;
        trial.metrics.entry("tps".into()).and_modify(|tps| *tps *= 1.5);
        trial
    };
    let ours = |trial: &&TrialRecord| trial.contender == evidence.plan.contenders[1].name;
    let added: Vec<TrialRecord> = evidence.trials.measured().iter().filter(ours).map(copy).collect();
    evidence.trials = StoredTrials::new([evidence.trials.all(), added].concat(), None);
    evidence.plan.contenders.push(third);
    evidence.conclusions =
        conclude_with_seconds(&evidence.plan, &evidence.run, evidence.trials.measured(), &evidence.series);
    evidence
}

#[test]
fn every_candidate_gets_a_verdict_of_its_own() {
    let evidence = three_contenders();
    let text = text::TEXT.write(&evidence, &Options::default()).unwrap();
    let verdict = text.lines().skip(2).take(2).map(str::trim).collect::<Vec<_>>().join(" ");
    let expected = "Of 2 candidates beside 5.5, 1 is faster than it and 1 is slower. `5.7, \"fast\"` is ";
    assert!(verdict.starts_with(expected), "{verdict}");
    let row = |name: &str| text.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_default();
    assert!(row("5.6 <b>&tuned ").ends_with("slower") && row("5.7, \"fast\" ").ends_with("faster"), "{text}");
    let page = page::HTML.write(&evidence, &Options::default()).unwrap();
    assert_eq!(page.matches("<div class=\"verdict").count(), 1, "one box, and a table");
    let csv = csv::CSV.write(&evidence, &Options::default()).unwrap();
    assert!(csv.contains("\"5.7, \"\"fast\"\"\""), "the name is one cell");
    assert!(csv.lines().all(|line| line.matches("\"\"fast").count() <= 1));
}

#[test]
fn what_was_looked_into_is_drawn_and_comes_out_of_its_page_again() {
    let evidence = {
        let mut evidence = evidence_of(stored_run(&Story::default()));
        evidence.profiles = sections::profile::tests::profiled();
        evidence
    };
    let page = page::HTML.write(&evidence, &Options::default()).unwrap();
    assert!(page.contains("<h2>Profile</h2>") && page.matches("<svg xmlns").count() == 3);
    assert!(!page.contains("a<b>"), "names of functions are escaped");
    let again = Evidence::of_page(&page).unwrap();
    assert_eq!(page::HTML.write(&again, &Options::default()).unwrap(), page);
    let text = text::TEXT.write(&evidence, &Options::default()).unwrap();
    assert!(text.contains("share of 100 and 100 samples"), "{text}");
    let json = json::JSON.write(&evidence, &Options::default()).unwrap();
    assert!(json.contains("\"unit\": \"share of active sessions\"") && json.contains("\"IO:WALSync\": 0.6"));
}

#[test]
fn a_sweep_with_a_point_missing_averages_the_common_points_and_names_their_number() {
    let mut stored = stored_run(&Story::default());
    let last = Point::from([("clients".to_owned(), 64)]);
    stored.trials.retain(|trial| trial.contender != CANDIDATE || trial.point != last);
    stored.run.decisions.push(DecisionRecord {
        workload: "oltp_read_write".into(),
        contender: CANDIDATE.into(),
        point: last.clone(),
        ..DecisionRecord::new(DecisionKind::GivenUp, "mysqld exited with status 1")
    });
    let mean = |contender: &str| {
        let ours = stored.trials.iter().filter(|trial| trial.contender == contender && trial.point != last);
        let logs: Vec<f64> = ours.map(|trial| trial.metrics["tps"].ln()).collect();
        stats::mean(&logs).unwrap().exp()
    };
    let expected = [mean(&stored.plan.baseline), mean(CANDIDATE)];
    let mut evidence = evidence_of(stored);
    // Twice, so that there is a summary of all workloads.
    evidence.conclusions.workloads.push(evidence.conclusions.workloads[0].clone());
    let overall = &evidence.conclusions.workloads[0].duels[0].overall;
    let values = [overall.baseline_value, overall.candidate_value].map(Option::unwrap);
    for (value, expected) in values.into_iter().zip(expected) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} {expected}");
    }
    let text = text::TEXT.write(&evidence, &Options::default()).unwrap();
    assert!(text.lines().any(|line| line.trim_start().starts_with("3 of 4 levels ")), "{text}");
    let in_summary = text.lines().filter(|line| line.contains("(3 of 4 levels)"));
    assert_eq!(in_summary.count(), 2, "a row for each workload: {text}");
}

/// Nightly runs of one question: the tenth build is slower, and the second run was on another machine.
#[test]
fn the_history_of_a_question_is_as_stored() {
    const LEVELS: [f64; 2] = [0.98, 0.90];
    let night = |at: usize| {
        let level = LEVELS[usize::from(at >= 9)] * (1.0 + 0.004 * ((at * 37 % 11) as f64 - 5.0) / 5.0);
        let mut stored = stored_run(&Story { ratios: [level; 4], spread: 0.004, ..Story::default() });
        stored.run.started_at = format!("2031-05-{:02}T01:00:00Z", at + 1);
        stored.run.labels = [("commit".to_owned(), format!("4f2a9{at:02}"))].into();
        stored.run.contenders.get_mut(CANDIDATE).unwrap().version = format!("5.6.{at} <b>");
        if at == 1 {
            stored.run.host.cores += 2;
        }
        evidence_of(stored)
    };
    let nights: Vec<(String, Evidence)> = (0..18).map(|at| (format!("nightly-{at:02}"), night(at))).collect();
    let runs = nights.iter().map(|(name, Evidence { plan, run, conclusions, .. })| analysis::history::StoredRun {
        name,
        plan,
        run,
        conclusions,
    });
    // In any order.
    let runs: Vec<_> = runs.rev().collect();
    let history = analysis::history::history(&runs, Default::default()).unwrap();
    let changed: Vec<&str> = history.series[0].changes.iter().map(|change| change.run.as_str()).collect();
    assert_eq!(changed, ["nightly-09"]);
    assert_eq!(history.apart[0].runs, ["nightly-01"]);
    assert_eq!(history.apart[0].because.iter().map(|one| one.what.as_str()).collect::<Vec<_>>(), ["cores"]);
    for (format, extension) in [("text", "txt"), ("markdown", "md"), ("html", "html")] {
        check(&format!("history.{extension}"), &history::write(&history, format, 100, false).unwrap());
    }
}

#[test]
fn a_history_of_no_run_or_of_one_says_so() {
    assert!(analysis::history::history(&[], Default::default()).is_none());
    let Evidence { plan, run, conclusions, .. } = &evidence(&Story::default());
    let one = analysis::history::StoredRun { name: "only", plan, run, conclusions };
    let history = analysis::history::history(&[one], Default::default()).unwrap();
    let text = history::write(&history, "text", 100, false).unwrap();
    assert!(text.contains("1 run, too few for a change to be found"), "{text}");
}
