//! The layouts against texts and figures that were published or that sysbench printed.

use super::*;

/// The run in section 5.1 of the specification, as sysbench 1.0 printed it.
fn modern_run() -> Figures {
    Figures {
        queries: Some(Queries { reads: 22_708, writes: 6_488, other: 3_244 }),
        transactions: 1_622,
        reconnects: Some(0),
        interval_s: 4.162_28,
        total_s: 4.160_7,
        latency: Latency { min_ms: Some(0.62), avg_ms: Some(5.02), max_ms: Some(388.71), sum_ms: Some(8_142.71) },
        percentiles: vec![Percentile { percent: 95.0, value_ms: Some(13.46) }],
        fairness: Some(Fairness::over(&[(888, 4.151_4), (734, 3.991_4)])),
        ..Figures::default()
    }
}

const MODERN: &str = "\
SQL statistics:
    queries performed:
        read:                            22708
        write:                           6488
        other:                           3244
        total:                           32440
    transactions:                        1622   (389.69 per sec.)
    queries:                             32440  (7793.81 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          4.1607s
    total number of events:              1622

Latency (ms):
         min:                                    0.62
         avg:                                    5.02
         max:                                  388.71
         95th percentile:                       13.46
         sum:                                 8142.71

Threads fairness:
    events (avg/stddev):           811.0000/77.00
    execution time (avg/stddev):   4.0714/0.08

";

#[test]
fn the_block_of_1_0_is_exact() {
    assert_eq!(Layout::Modern.block(&modern_run()), MODERN);
}

/// The plugin's read-write run of the comparison of 5.1 with 5.5.9, published in 2011.
#[test]
fn the_block_of_0_4_says_a_published_run_exactly() {
    let figures = Figures {
        queries: Some(Queries { reads: 471_772, writes: 168_490, other: 67_396 }),
        transactions: 33_698,
        reconnects: Some(0),
        interval_s: 300.022_5,
        total_s: 300.022_5,
        latency: Latency { min_ms: Some(14.91), avg_ms: Some(35.58), max_ms: Some(820.20), sum_ms: Some(1_199_022.7) },
        percentiles: vec![Percentile { percent: 95.0, value_ms: Some(69.20) }],
        fairness: Some(Fairness {
            events_mean: 8424.5,
            events_deviation: 22.07,
            busy_s_mean: 299.7557,
            busy_s_deviation: 0.01,
        }),
        ..Figures::default()
    };
    let expected = "\
OLTP test statistics:
    queries performed:
        read:                            471772
        write:                           168490
        other:                           67396
        total:                           707658
    transactions:                        33698  (112.32 per sec.)
    deadlocks:                           0      (0.00 per sec.)
    read/write requests:                 640262 (2134.05 per sec.)
    other operations:                    67396  (224.64 per sec.)

Test execution summary:
    total time:                          300.0225s
    total number of events:              33698
    total time taken by event execution: 1199.0227
    per-request statistics:
         min:                                 14.91ms
         avg:                                 35.58ms
         max:                                820.20ms
         approx.  95 percentile:              69.20ms

Threads fairness:
    events (avg/stddev):           8424.5000/22.07
    execution time (avg/stddev):   299.7557/0.01

";
    assert_eq!(Layout::Classic.block(&figures), expected);
}

fn two_seconds() -> IntervalFigures {
    IntervalFigures {
        elapsed_s: 2.0004,
        interval_s: 2.0,
        clients: 2,
        transactions: 876,
        reads: 12_264,
        writes: 3_504,
        other: 1_752,
        percentile: Some(Percentile { percent: 95.0, value_ms: Some(12.52) }),
        ..IntervalFigures::default()
    }
}

#[test]
fn interval_lines_are_exact_in_both_layouts() {
    let modern = "[ 2s ] thds: 2 tps: 438.00 qps: 8760.00 (r/w/o: 6132.00/1752.00/876.00) lat (ms,95%): 12.52 err/s: 0.00 reconn/s: 0.00\n";
    assert_eq!(Layout::Modern.interval(&two_seconds()), modern);
    let open = IntervalFigures { queue: Some((3, 2)), ..two_seconds() };
    assert_eq!(Layout::Modern.interval(&open), format!("{modern}[ 2s ] queue length: 3, concurrency: 2\n"));
    let classic = "[   2s] threads: 2, tps: 438.00, reads/s: 6132.00, writes/s: 1752.00 response time: 12.52ms (95%)\n";
    assert_eq!(Layout::Classic.interval(&two_seconds()), classic);
}

#[test]
fn the_heading_of_1_0_says_what_was_asked_for() {
    let heading = Heading {
        version: "dbduel 9.9".to_owned(),
        clients: 2,
        rate: Some(100),
        report_interval_s: Some(1),
        checkpoints_s: vec![1, 3],
        seed: Some(7),
        about: Vec::new(),
    };
    let expected = "\
dbduel 9.9

Running the test with following options:
Number of threads: 2
Target transaction rate: 100/sec
Report intermediate results every 1 second(s)
Report checkpoint(s) at 1, 3 seconds
Initializing random number generator from seed (7).


Initializing worker threads...

Threads started!

";
    assert_eq!(Layout::Modern.heading(&heading), expected);
}

#[test]
fn the_heading_of_0_4_says_what_the_test_is() {
    let about = ["Doing OLTP test.", "Running mixed OLTP test"].map(str::to_owned).to_vec();
    let heading = Heading { version: "dbduel 9.9".to_owned(), clients: 4, about, ..Heading::default() };
    let expected = "\
dbduel 9.9

Running the test with following options:
Number of threads: 4

Doing OLTP test.
Running mixed OLTP test
Threads started!

";
    assert_eq!(Layout::Classic.heading(&heading), expected);
}

#[test]
fn percentiles_can_be_left_out_or_be_several() {
    let without = Layout::Modern.block(&Figures { percentiles: Vec::new(), ..modern_run() });
    assert!(without.contains("\n         percentile stats:               disabled\n"), "{without}");
    let percentile = |percent| Percentile { percent, value_ms: Some(9.5) };
    let several = Figures { percentiles: vec![percentile(99.0), percentile(99.9)], ..modern_run() };
    let modern = Layout::Modern.block(&several);
    let rows = format!("         {:<40}9.50\n         {:<40}9.50\n", "99th percentile:", "99.9th percentile:");
    assert!(modern.contains(&rows), "{modern}");
    let classic = Layout::Classic.block(&several);
    assert!(classic.contains(&format!("         {:<38}9.50ms\n", "approx.  99 percentile:")), "{classic}");
}

#[test]
fn a_run_cut_short_is_marked_and_what_was_cut_is_counted() {
    let cut = Figures {
        partial: Some("interrupted after 4.2 s of 60 s".to_owned()),
        unfinished: Some(2),
        skipped: 17,
        ..modern_run()
    };
    for layout in [Layout::Modern, Layout::Classic] {
        let text = layout.block(&cut);
        assert!(text.starts_with("PARTIAL: interrupted after 4.2 s of 60 s\n"), "{text}");
        assert!(text.contains("\nNumber of unfinished transactions on forced shutdown: 2\n\n"), "{text}");
        let bounds = "Average, percentiles and maximum of latency are lower bounds: these arrivals waited longer";
        assert!(text.contains(&format!("\nNumber of skipped arrivals (queue full): 17\n\n{bounds}\n\n")), "{text}");
        let whole = layout.block(&Figures { skipped: 0, ..cut.clone() });
        assert!(!whole.contains("lower bounds"), "{whole}");
    }
}

#[test]
fn what_is_not_known_is_said_and_not_invented() {
    let figures =
        Figures { queries: None, reconnects: None, fairness: None, latency: Latency::default(), ..modern_run() };
    let text = Layout::Modern.block(&figures);
    assert_eq!(text.matches("not stored").count(), 5 + 1 + 2 + 4, "{text}");
    assert!(text.contains("    reconnects:                          not stored\n"), "{text}");
}

#[test]
fn nothing_measured_gives_zeros_and_no_odd_numbers() {
    for layout in [Layout::Modern, Layout::Classic] {
        let text = layout.block(&Figures { fairness: Some(Fairness::over(&[])), ..Figures::default() });
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        assert!(!layout.interval(&IntervalFigures::default()).contains("NaN"));
    }
}

#[test]
fn reconnects_show_in_the_old_layout_only_when_there_were_some() {
    assert!(!Layout::Classic.block(&modern_run()).contains("reconnects"));
    let text = Layout::Classic.block(&Figures { reconnects: Some(4), ..modern_run() });
    assert!(text.contains("    reconnects:                          4      (0.96 per sec.)\n"), "{text}");
}
