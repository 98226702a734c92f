//! The report of one run, to the letter.

use super::*;

fn run() -> BenchReport {
    let metrics = [
        ("tps", 432.1),
        ("qps", 8642.0),
        ("transactions.due", 4_330.0),
        ("transactions.committed", 4_321.0),
        ("transactions.failed", 2.0),
        ("transactions.unknown", 1.0),
        ("transactions.skipped", 7.0),
        ("transactions.left_waiting", 3.0),
        ("transactions.retries", 12.0),
        ("transactions.retried", 11.0),
        ("retry_s", 0.25),
        ("reconnects", 4.0),
        ("queries.read", 60_494.0),
        ("queries.write", 17_284.0),
        ("queries.other", 8_642.0),
        ("client_cpu_us_per_query", 7.53),
    ];
    let times = |scale: f64| Times {
        min_ms: 0.62 * scale,
        mean_ms: 5.02 * scale,
        max_ms: 388.71 * scale,
        percentiles: vec![(50.0, 4.1 * scale), (99.9, 1_234.5 * scale)],
    };
    BenchReport {
        workload: "oltp_read_write".into(),
        target: "mysql://app:***@db:3306/bench".into(),
        server_version: "10.11.6-MariaDB".into(),
        kind: "mariadb".into(),
        clients: 4,
        seed: 7,
        rate: Some(500.0),
        measured_s: 10.0,
        metrics: metrics.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        response: times(1.0),
        service: times(0.5),
        errors: vec![("1213".into(), 10), ("lost".into(), 4)],
        ..BenchReport::default()
    }
}

#[test]
fn a_run_is_told_on_one_screen() {
    let expected = "\
oltp_read_write on mysql://app:***@db:3306/bench
mariadb 10.11.6-MariaDB; 4 clients, 10.0 s, open loop at 500 per s, seed 7
LOST: 9 of the 4,330 transactions that were due (0.2 %): 2 failed, 7 skipped

transactions    432.10 tps (4,321 committed; 2 failed, 7 skipped)
queries         8642.00 qps (read 60,494, write 17,284, other 8,642)
retries         12 in 11 transactions, 0.250 s behind their first tries
unknown         1 of the failed: the answer to their commit was lost
reconnects      4
errors by code  1213: 10, lost: 4
skipped         7 of 4,330 arrivals (0.2 %): 4 found the queue full, 3 still
                waited at the end
client CPU      7.5 us per query

 ms           min    mean     p50   p99.9     max
──────────────────────────────────────────────────
 response   0.620   5.020   4.100   1,235   388.7
 service    0.310   2.510   2.050   617.2   194.4
Response time is from due, service time from sent.
";
    assert_eq!(run().text(80), expected);
}

#[test]
fn every_text_fits_terminals_of_every_width() {
    let many =
        Times { percentiles: [50.0, 90.0, 95.0, 99.0, 99.9].map(|one| (one, 1_234.5)).to_vec(), ..run().response };
    let long = "1000 rows asked for, sbtest1 has ids to 1000; foreign keys: none asked for, none there";
    for (rate, width) in [60, 80, 120].into_iter().flat_map(|width| [(None, width), (Some(5.0), width)]) {
        let (response, service) = (many.clone(), many.clone());
        let report = BenchReport { rate, response, service, tables: Some(long.into()), ..run() };
        let text = report.text(width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(
            text.contains("p99.9") && text.split_whitespace().collect::<Vec<_>>().join(" ").contains(long),
            "{text}"
        );
    }
}

#[test]
fn a_run_cut_short_says_so_before_any_number() {
    let cut = BenchReport { partial: Some("interrupted after 3.2 s of 10 s".into()), ..run() };
    assert!(cut.text(80).lines().nth(2).unwrap().starts_with("PARTIAL: interrupted after 3.2 s of 10 s"));
    assert_eq!((cut.json()["partial"].clone(), run().json()["partial"].clone()), (json!(true), json!(false)));
}

#[test]
fn wrong_answers_stand_above_the_figures_of_every_layout() {
    let why = "point-select: 7 rows expected in 7 answers, 0 seen";
    let run = BenchReport { wrong: Some(why.into()), flags: vec![WRONG_ANSWERS.into()], ..run() };
    let expected = format!("WRONG ANSWERS: {why}; the figures are no result of this workload");
    let text = run.text(120);
    assert!(text.lines().nth(2) == Some(&expected) && text.matches("wrong").count() == 0, "{text}");
    let dbt2 = run.dbt2(dbt2::Arithmetic::Once, 0.0);
    assert!(dbt2.starts_with(&expected), "{dbt2}");
    assert_eq!(run.json()["flags"], json!([WRONG_ANSWERS]));
}

#[test]
fn a_closed_loop_says_that_it_hides_queueing() {
    let text = BenchReport { rate: None, ..run() }.text(80);
    let hides = "In this closed loop response time is service time, which hides queueing.";
    assert!(text.contains(hides) && !text.contains("from sent"), "{text}");
}

#[test]
fn json_holds_the_promised_names() {
    let report = BenchReport { intervals: vec![BenchInterval { to_s: 1.0, committed: 5, ..stalled() }], ..run() };
    let json = report.json();
    for name in [
        "format_version",
        "workload",
        "target",
        "server_version",
        "clients",
        "partial",
        "flags",
        "intervals",
        "metrics",
    ] {
        assert!(!json[name].is_null(), "{name}");
    }
    assert_eq!(json["metrics"]["latency_ms_p50"], 4.1);
    assert_eq!(json["metrics"]["service_ms_p999"], 1_234.5 * 0.5);
    assert_eq!(json["metrics"]["transactions.committed"], 4_321.0);
    assert_eq!(json["errors"]["1213"], 10);
    assert_eq!(json["intervals"][0]["transactions.committed"], 5);
}

fn stalled() -> BenchInterval {
    BenchInterval { from_s: 0.0, to_s: 2.0, oldest_ms: Some(1_834.0), waiting: Some(12), ..BenchInterval::default() }
}

#[test]
fn an_interval_without_answers_tells_the_age_of_the_oldest_transaction() {
    let text = stalled().text();
    assert_eq!(text, "[    2 s] 0 tps, 0 qps, nothing ended; the oldest runs for 1,834 ms, 12 waiting");
    let busy =
        BenchInterval { committed: 864, queries: 17_280, percentiles: vec![(95.0, 12.5)], waiting: None, ..stalled() };
    assert_eq!(busy.text(), "[    2 s] 432 tps, 8,640 qps, p95 12.50 ms");
}

#[test]
fn numbers_are_grouped_and_times_keep_three_digits() {
    let check = |number, expected: &str| assert_eq!(grouped(number), expected);
    check(0.0, "0");
    check(999.0, "999");
    check(1000.0, "1,000");
    check(1_234_567.0, "1,234,567");
    assert_eq!([time(0.123_4), time(12.345), time(123.45), time(1_234.5)], ["0.123", "12.35", "123.5", "1,235"]);
}
