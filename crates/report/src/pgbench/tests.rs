//! The layout against reports that pgbench 15.18 printed; each test has the figures of one.

use super::*;

const PROGRAM: &str = "pgbench (15.18 (Debian 15.18-0+deb12u1))";

fn script(title: &str) -> ScriptFigures {
    ScriptFigures { title: title.to_owned(), weight: 1, ..ScriptFigures::default() }
}

/// A run of one script with a try for each transaction.
fn run(title: &str) -> Figures {
    Figures {
        program: PROGRAM.to_owned(),
        scripts: vec![script(title)],
        scale: 1,
        query_mode: "simple",
        clients: 1,
        threads: 1,
        tries_max: 1,
        ..Figures::default()
    }
}

fn committed(committed: u64) -> Counts {
    Counts { committed, ..Counts::default() }
}

fn spread(average_ms: f64, stddev_ms: f64) -> Spread {
    Spread { average_ms, stddev_ms }
}

fn command(text: &str, average_ms: f64) -> Command {
    Command { text: text.to_owned(), average_ms: Some(average_ms), ..Command::default() }
}

fn check(figures: &Figures, expected: &str) {
    assert_eq!(report(figures), expected);
}

#[test]
fn a_run_by_number_derives_its_latency() {
    let figures = Figures {
        clients: 2,
        threads: 2,
        length: Length::PerClient(50),
        total: committed(100),
        latency: Latency::Derived { average_ms: 0.441 },
        connections: Connections::Initial { ms: 10.381 },
        tps: 4539.058599,
        ..run("<builtin: TPC-B (sort of)>")
    };
    check(&figures, include_str!("transcripts/default.txt"));
}

#[test]
fn a_run_with_progress_measures_its_latency_and_lists_commands() {
    let commands = vec![
        command("\\set aid random(1, 100000 * :scale)", 0.0),
        command("SELECT abalance FROM pgbench_accounts WHERE aid = :aid;", 0.063),
    ];
    let figures = Figures {
        scripts: vec![ScriptFigures { commands, ..script("<builtin: select only>") }],
        query_mode: "prepared",
        clients: 2,
        length: Length::Seconds(2),
        total: committed(60_983),
        latency: Latency::Measured(Some(spread(0.063, 0.346))),
        connections: Connections::Initial { ms: 6.716 },
        tps: 30540.563415,
        show: Show { commands: true, ..Show::default() },
        ..run("")
    };
    check(&figures, include_str!("transcripts/progress.txt"));
    let line =
        progress(&Progress { at_s: 1.0, tps: 32860.5, latency: Some(spread(0.058, 0.303)), ..Progress::default() });
    assert_eq!(line, "progress: 1.0 s, 32860.5 tps, lat 0.058 ms stddev 0.303, 0 failed");
    let late = Progress { lag_ms: Some(0.093), skipped: Some(4), retries: Some((2, 5)), ..Progress::default() };
    let expected =
        "progress: 0.0 s, 0.0 tps, lat 0.000 ms stddev 0.000, 0 failed, lag 0.093 ms, 4 skipped, 2 retried, 5 retries";
    assert_eq!(progress(&late), expected);
}

#[test]
fn a_rate_and_a_limit_have_their_lines() {
    let figures = Figures {
        clients: 2,
        length: Length::Seconds(2),
        total: committed(193),
        latency: Latency::Measured(Some(spread(0.842, 0.974))),
        limit: Some(Limit { ms: 50.0, above: 0 }),
        lag: Some(Lag { average_ms: 0.194, max_ms: Some(2.715) }),
        connections: Connections::Initial { ms: 9.245 },
        tps: 97.323895,
        ..run("<builtin: select only>")
    };
    check(&figures, include_str!("transcripts/rate.txt"));
}

#[test]
fn several_scripts_have_a_block_each() {
    let a = ScriptFigures {
        weight: 3,
        counts: committed(160),
        latency: Some(spread(0.105, 0.399)),
        tps: 8820.772920,
        commands: vec![command("\\set x random(1, 10)", 0.0), command("SELECT :x;", 0.105)],
        ..script("a.sql")
    };
    let b = ScriptFigures {
        counts: committed(40),
        latency: Some(spread(0.103, 0.333)),
        tps: 2205.193230,
        commands: vec![command("SELECT 2;", 0.103)],
        ..script("b.sql")
    };
    let never = ScriptFigures { weight: 0, commands: vec![command("SELECT 3;", 0.0)], ..script("never.sql") };
    let figures = Figures {
        scripts: vec![a, b, never],
        clients: 2,
        length: Length::PerClient(100),
        total: committed(200),
        latency: Latency::Derived { average_ms: 0.181 },
        connections: Connections::Initial { ms: 7.481 },
        tps: 11025.966150,
        show: Show { commands: true, ..Show::default() },
        ..run("")
    };
    check(&figures, include_str!("transcripts/scripts.txt"));
}

#[test]
fn several_tries_count_failures_by_kind_and_retries() {
    let update = Command { failures: 28, retries: 105, ..command("UPDATE ctr SET v = v + 1 WHERE id = 1;", 0.155) };
    let commands = vec![
        command("BEGIN ISOLATION LEVEL SERIALIZABLE;", 0.178),
        command("SELECT v FROM ctr WHERE id = 1;", 0.178),
        update,
        command("END;", 0.132),
    ];
    let figures = Figures {
        scripts: vec![ScriptFigures { commands, ..script("ser.sql") }],
        clients: 4,
        threads: 2,
        tries_max: 3,
        length: Length::PerClient(50),
        total: Counts { committed: 172, serialization_failures: 28, retried: 64, retries: 105, ..Counts::default() },
        latency: Latency::Derived { average_ms: 1.728 },
        connections: Connections::Initial { ms: 17.173 },
        tps: 1990.326089,
        show: Show { failures_by_kind: true, commands: true },
        ..run("")
    };
    check(&figures, include_str!("transcripts/tries.txt"));
}

#[test]
fn a_connection_for_each_transaction_is_part_of_the_rate() {
    let figures = Figures {
        length: Length::PerClient(20),
        total: committed(20),
        latency: Latency::Derived { average_ms: 6.274 },
        connections: Connections::Each { average_ms: 3.517 },
        tps: 159.379059,
        ..run("<builtin: select only>")
    };
    check(&figures, include_str!("transcripts/reconnect.txt"));
}

#[test]
fn partitions_stand_below_the_scale() {
    let figures = Figures {
        partitions: Some(("hash".to_owned(), 2)),
        length: Length::PerClient(20),
        total: committed(20),
        latency: Latency::Derived { average_ms: 0.247 },
        connections: Connections::Initial { ms: 2.486 },
        tps: 4054.327995,
        ..run("<builtin: select only>")
    };
    check(&figures, include_str!("transcripts/partitions.txt"));
}

#[test]
fn a_run_that_processed_nothing_ends_with_its_failures() {
    let figures = Figures { length: Length::PerClient(1), ..run("err.sql") };
    check(&figures, include_str!("transcripts/nothing.txt"));
}
