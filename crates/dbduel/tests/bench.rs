//! `dbduel prepare|bench|check|cleanup` as a user meets them, against a SQLite file: every command
//! line here is one that a user would type, sysbench's among them.

mod support;

use std::io::Write as _;
use std::net::{Ipv4Addr, Shutdown, TcpListener};
use std::path::Path;

use serde_json::Value;
use support::{Place, compare, text, wait_for};

/// The words of a command line, with the place's database for `URL`.
fn words(place: &Place, line: &str) -> Vec<String> {
    let url = format!("sqlite://{}", place.path().join("bench.db").display());
    line.split_whitespace().map(|word| if word == "URL" { url.clone() } else { word.to_owned() }).collect()
}

/// Runs to the end with this status; gives stdout and stderr.
fn expect(place: &Place, status: i32, line: &str) -> (String, String) {
    let words = words(place, line);
    place.expect(status, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// As one line, wherever the text is broken.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn prepared() -> Place {
    let place = Place::new();
    let (out, err) = expect(&place, 0, "prepare oltp_read_write --target URL --rows 500 --tables 2");
    assert!(out.contains("loaded 1000 rows into 2 tables"), "{out}");
    assert!(err.contains("which was not there"), "{err}");
    place
}

#[test]
fn tables_are_made_used_checked_and_dropped() {
    let place = prepared();
    let (_, err) = expect(&place, 4, "prepare oltp_read_write --target URL --rows 500 --tables 2");
    assert!(
        err.contains("sbtest1, sbtest2") && err.contains("dbduel cleanup oltp_read_write --target sqlite://"),
        "{err}"
    );
    let (out, _) = expect(&place, 0, "bench oltp_read_write --target URL --rows 500 --tables 2 --events 20");
    assert!(out.contains("(20 committed)") && out.contains("read 280, write 80, other 40"), "{out}");
    expect(&place, 0, "check oltp_read_write --target URL --rows 500 --tables 2");
    let (out, _) = expect(&place, 0, "cleanup oltp_read_write --target URL --rows 500 --tables 2");
    assert_eq!(out, "dropped sbtest1, sbtest2\n");
    let (out, _) = expect(&place, 0, "cleanup oltp_read_write --target URL --rows 500 --tables 2");
    assert!(out.contains("nothing"), "{out}");
}

#[test]
fn what_is_not_there_is_answered_with_the_line_to_type() {
    let place = Place::new();
    for verb in ["bench", "check"] {
        let (out, err) = expect(&place, 4, &format!("{verb} oltp_read_only --target URL --tables 3"));
        assert_eq!(out, "");
        assert!(err.contains("next: dbduel prepare oltp_read_only --target sqlite://"), "{err}");
        assert!(err.contains("--tables=3"), "{err}");
        assert!(!place.path().join("bench.db").exists(), "{verb} makes nothing");
    }
    let place = prepared();
    let (_, err) = expect(&place, 4, "bench oltp_read_only --target URL --tables 3");
    assert!(err.contains("a table is not there: sbtest3"), "{err}");
}

#[test]
fn tables_that_are_not_as_asked_for_are_flagged_and_both_are_stated() {
    let place = prepared();
    let line = "bench oltp_point_select --target URL --tables 2 --events 200 --clients 1";
    let (out, _) = expect(&place, 0, &format!("{line} --rows 500"));
    let stated = "tables 500 rows asked for, sbtest1 has ids to 500; foreign keys: none asked for, none there";
    assert!(flat(&out).contains(stated) && !out.contains("flag:"), "{out}");
    // A table may hold more than a run uses.
    let (out, _) = expect(&place, 0, "bench oltp_read_only --target URL --tables 2 --rows 50 --events 20");
    let stated = "50 rows asked for, sbtest1 has ids to 500, so that a part of the table is used";
    assert!(flat(&out).contains(stated) && !out.contains("flag:"), "{out}");
    // And there may be more tables.
    let (out, _) = expect(&place, 0, "bench oltp_read_only --target URL --tables 1 --rows 500 --events 20");
    assert!(flat(&out).contains("sbtest2 is there too and is not used") && !out.contains("flag:"), "{out}");
}

#[test]
fn tables_of_another_form_are_flagged() {
    let place = prepared();
    let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
    database.execute_batch("DROP INDEX k_2; CREATE INDEX c_2 ON sbtest2 (c)").unwrap();
    let line = "bench oltp_update_index --target URL --tables 2 --rows 500 --events 20";
    let (out, _) = expect(&place, 0, line);
    let why = "sbtest2 has no index on k; sbtest2 has an index on c that was not asked for";
    assert!(flat(&out).contains(&format!("500 rows asked for, sbtest1 has ids to 500; {why}; foreign keys")), "{out}");
    assert!(flat(&out).contains(&format!("flag: form-of-tables ({why})")), "{out}");
    let (out, _) = expect(&place, 0, &format!("{line} --secondary"));
    let why = "sbtest1 has a primary key that was not asked for; sbtest1 has no index on id";
    assert!(flat(&out).contains(&format!("flag: form-of-tables ({why})")), "{out}");
}

#[test]
fn more_rows_than_there_are_are_refused_before_the_first_statement() {
    let place = prepared();
    for workload in ["oltp_read_write", "oltp_read_only", "oltp_update_index", "select_random_points"] {
        let line = format!("bench {workload} --target URL --rows 5000 --events 20");
        for line in [line.clone(), format!("{line} --compat sysbench-1.0")] {
            let (out, err) = expect(&place, 4, &line);
            assert_eq!(out, "", "{line}");
            assert!(err.contains("sbtest1 has ids up to 500, and 5000 rows were asked for"), "{line}: {err}");
            assert!(err.contains("next: give --rows 500, or drop the tables"), "{line}: {err}");
        }
    }
    let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
    let most: i64 = database.query_row("SELECT MAX(id) FROM sbtest1", [], |row| row.get(0)).unwrap();
    assert_eq!(most, 500, "nothing was inserted");
}

#[test]
fn foreign_keys_that_nobody_asked_for_are_flagged_and_those_that_sqlite_cannot_add_are_refused() {
    let place = prepared();
    let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
    // One of each spelling.
    database
        .execute_batch(
            "PRAGMA foreign_keys = OFF; ALTER TABLE sbtest1 RENAME TO plain; CREATE TABLE parent (id INTEGER PRIMARY KEY); \
             CREATE TABLE sbtest1 (id INTEGER PRIMARY KEY, k INTEGER REFERENCES parent (id), c, pad, \
             FOREIGN KEY (pad) REFERENCES parent (id)); INSERT INTO sbtest1 SELECT id, k, c, pad FROM plain; \
             DROP INDEX k_1; CREATE INDEX k_1 ON sbtest1 (k)",
        )
        .unwrap();
    let line = "bench oltp_point_select --target URL --rows 500 --events 20";
    let (out, _) = expect(&place, 0, line);
    assert!(flat(&out).contains("foreign keys: none asked for, 2 there"), "{out}");
    assert!(out.contains("flag: foreign-keys (0 were asked for, 2 are there)"), "{out}");
    let report: Value = serde_json::from_str(&expect(&place, 0, &format!("{line} --json")).0).unwrap();
    assert_eq!(report["flags"], serde_json::json!(["foreign-keys"]), "{report}");
    assert!(report["tables"].as_str().unwrap().ends_with("foreign keys: none asked for, 2 there"), "{report}");
    let (_, err) = expect(&place, 0, &format!("{line} --format sysbench-1.0"));
    assert!(err.contains("warning: foreign-keys: 0 were asked for, 2 are there"), "{err}");
    let (_, err) = expect(&place, 2, "bench tpcc --target URL --warehouses 1 --fk on");
    assert!(err.contains("fk = true cannot run there"), "{err}");
}

#[test]
fn wrong_answers_are_no_result_in_any_layout() {
    let place = prepared();
    let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
    // The greatest ids stay, which is all that is looked at before a run.
    database.execute_batch("DELETE FROM sbtest1 WHERE id < 490; DELETE FROM sbtest2 WHERE id < 490").unwrap();
    let line = "bench oltp_point_select --target URL --tables 2 --events 200 --rows 500";
    let mark = "WRONG ANSWERS: point-select: 200 rows expected in 200 answers, ";
    let (out, _) = expect(&place, 4, line);
    assert!(out.lines().nth(2).is_some_and(|third| third.starts_with(mark)), "{out}");
    for layout in ["sysbench-1.0", "sysbench-0.4"] {
        let (out, err) = expect(&place, 4, &format!("{line} --format {layout}"));
        assert!(err.contains("warning: wrong-answers: point-select: "), "{err}");
        assert!(out.contains(&format!("\n{mark}")), "{out}");
    }
    let (out, _) = expect(&place, 4, &format!("{line} --json"));
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(report["flags"], serde_json::json!(["wrong-answers"]), "{report}");
    let why = report["remarks"]["wrong-answers"].as_str().unwrap();
    assert!(why.starts_with("point-select: 200 rows expected in 200 answers, "), "{report}");
}

#[test]
fn data_that_are_not_as_they_should_be_are_status_5() {
    let place = prepared();
    let (out, _) = expect(&place, 5, "check oltp_read_write --target URL --rows 499 --tables 2");
    assert!(out.contains("500") && out.contains("499"), "{out}");
}

#[test]
fn json_holds_intervals_and_metrics_and_nothing_else_is_on_stdout() {
    let place = prepared();
    let line = "bench oltp_point_select --target URL --rows 500 --duration 0.6 --report-interval 0.2 --percentiles 50,99.9 --json";
    let (out, _) = expect(&place, 0, line);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((report["workload"].as_str(), report["partial"].as_bool()), (Some("oltp_point_select"), Some(false)));
    assert!(report["intervals"].as_array().unwrap().len() >= 2, "{report}");
    let metrics = &report["metrics"];
    assert_eq!(metrics["transactions.committed"], metrics["queries.read"]);
    assert!(metrics["latency_ms_p999"].as_f64() >= metrics["latency_ms_p50"].as_f64(), "{metrics}");
    assert!(metrics["tps"].as_f64().unwrap() > 0.0 && metrics["service_ms_p50"].is_f64(), "{metrics}");
}

#[test]
fn equal_seeds_leave_equal_data() {
    let dump = |line: &str| {
        let place = prepared();
        expect(&place, 0, line);
        let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
        let sum = "SELECT GROUP_CONCAT(id || k || c || pad) FROM (SELECT * FROM sbtest1 ORDER BY id)";
        database.query_row(sum, [], |row| row.get::<_, String>(0)).unwrap()
    };
    let line = "bench oltp_write_only --target URL --rows 500 --tables 2 --events 30 --rand-seed";
    assert_eq!(dump(&format!("{line} 7")), dump(&format!("{line} 7")));
    assert_ne!(dump(&format!("{line} 7")), dump(&format!("{line} 8")));
}

#[test]
fn an_open_loop_that_asks_too_much_ends_in_time_and_counts_what_it_left_out() {
    let place = prepared();
    let line = "bench oltp_write_only --target URL --rows 500 --rate 1000000 --queue 100 --duration 0.5 --json";
    let (out, _) = expect(&place, 0, line);
    let report: Value = serde_json::from_str(&out).unwrap();
    let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
    let ends = ["committed", "rolled_back", "failed", "skipped"].map(|end| metric(&format!("transactions.{end}")));
    assert_eq!(metric("transactions.due"), ends.iter().sum::<f64>());
    assert!(metric("transactions.skipped") > 1_000.0, "{report}");
    assert_eq!(report["flags"][0], "overload");
}

#[test]
fn an_interrupted_run_reports_what_it_measured() {
    let place = prepared();
    let words =
        words(&place, "bench oltp_point_select --target URL --rows 500 --duration 60 --report-interval 0.1 --json");
    let mut run = place.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
    // Without a terminal and with JSON on stdout, interval lines go to stderr.
    run.wait_for_output("tps");
    run.signal(libc::SIGINT);
    let output = run.end();
    assert_eq!(output.status.code(), Some(130));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["partial"], true);
    assert!(report["partial_reason"].as_str().unwrap().starts_with("interrupted after"), "{report}");
    assert!(report["metrics"]["transactions.committed"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_line_of_sysbench_1_0_prints_its_layout() {
    let place = prepared();
    let (out, _) = expect(&place, 0, "bench oltp_read_only --target URL --table-size=500 --threads=2 --time=0.3 run");
    for line in
        ["Number of threads: 2", "SQL statistics:", "    queries performed:", "Latency (ms):", "Threads fairness:"]
    {
        assert!(out.lines().any(|printed| printed == line), "{line} is not in\n{out}");
    }
    let (out, _) = expect(&place, 0, "bench oltp_read_only --target URL --table-size=500 --tables=2 cleanup");
    assert_eq!(out, "dropped sbtest1, sbtest2\n");
}

#[test]
fn the_classic_command_line_prints_the_layout_of_0_4() {
    let place = Place::new();
    let line = "bench --test=oltp --oltp-table-size=300 --target URL";
    expect(&place, 0, &format!("{line} prepare"));
    let (out, _) = expect(&place, 0, &format!("{line} --max-requests=25 --num-threads=2 run"));
    let expected = [
        "OLTP test statistics:",
        "        read:                            350",
        "        write:                           125",
        "        other:                           50",
        "    total number of events:              25",
    ];
    for line in expected {
        assert!(out.lines().any(|printed| printed == line), "{line} is not in\n{out}");
    }
}

/// The rests lie inside the request, as in sysbench: one before each of a request's 19 statements.
#[test]
fn a_user_of_0_4_may_rest_before_each_statement() {
    let place = Place::new();
    let line = "bench --test=oltp --oltp-table-size=300 --target URL";
    expect(&place, 0, &format!("{line} prepare"));
    let rests = "--oltp-user-delay-min=1000 --oltp-user-delay-max=2000";
    let (out, _) = expect(&place, 0, &format!("{line} {rests} --max-requests=5 --format json run"));
    let report: Value = serde_json::from_str(&out).unwrap();
    let least_ms = report["metrics"]["latency_ms_min"].as_f64().unwrap();
    assert!(least_ms > 19.0, "{report}");
}

#[test]
fn a_dry_run_tells_what_the_client_costs() {
    let place = Place::new();
    for family in ["mysql", "pgsql"] {
        let line = format!("bench oltp_read_write --dry-run --db-driver={family} --threads=2 --events=50 --json");
        let report: Value = serde_json::from_str(&expect(&place, 0, &line).0).unwrap();
        let metric = |name: &str| report["metrics"][name].as_f64().unwrap();
        assert_eq!(
            ["read", "write", "other"].map(|kind| metric(&format!("queries.{kind}"))),
            [700.0, 200.0, 100.0],
            "{report}"
        );
        assert!(metric("client_cpu_us_per_query") > 0.0 && report["target"] == "nothing (a dry run)", "{report}");
    }
    let (out, _) = expect(&place, 0, "bench oltp_read_write --mysql-dry-run --time=0 --events=50 run");
    assert!(out.contains("        other:                           100\n"), "{out}");
    let (_, err) = expect(&place, 0, "bench oltp_read_write --dry-run prepare");
    assert!(err.contains("nothing to do"), "{err}");
}

#[test]
fn help_of_a_workload_lists_its_options() {
    let place = Place::new();
    let (out, _) = expect(&place, 0, "bench oltp_read_write --help");
    assert!(out.contains("--range-size VALUE") && out.contains("[default: 100]"), "{out}");
    assert_eq!(expect(&place, 0, "bench oltp_read_write help").0, out);
    assert_eq!(expect(&place, 0, "help bench").0, expect(&place, 0, "bench --help").0);
}

#[test]
fn bad_usage_is_status_2_and_names_the_option() {
    let place = Place::new();
    let check = |line: &str, part: &str| {
        let (out, err) = expect(&place, 2, line);
        assert!(out.is_empty() && err.contains(part), "{line}: {out}{err}");
    };
    check("bench", "which workload?");
    check("bench oltp_read_write", "which server?");
    check("bench oltp_read_write --target URL --cleints 4", "did you mean --clients?");
    check("bench oltp_read_write --target URL --range-size 0", "range_size");
    check("bench oltp_read_write --target db.example", "mysql://");
    check("bench oltp_read_write --target URL --password-file none", "none");
}

#[test]
fn a_password_is_in_no_process_list_and_no_environment() {
    let place = Place::new();
    // A listener that never answers keeps dbduel waiting for the server's greeting.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let host = format!("--mysql-port={port}");
    let words = ["bench", "oltp_read_only", "--mysql-host=127.0.0.1", &host, "--mysql-password=hunter2", "run"];
    let child = place.command(&words).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let proc = |file: &str| text(&std::fs::read(format!("/proc/{}/{file}", child.id())).unwrap()).replace('\0', " ");
    let (connection, _) = server.accept().unwrap();
    let arguments = proc("cmdline");
    assert!(arguments.contains("--mysql-password=*** run"), "{arguments}");
    assert!(!arguments.contains("hunter2") && !proc("environ").contains("hunter2"));
    drop(connection);
    let output = child.wait_with_output().unwrap();
    assert!(!text(&output.stderr).contains("hunter2"), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(4));
}

#[test]
fn an_interrupted_load_ends_at_once() {
    let place = Place::new();
    let words = words(&place, "prepare oltp_read_write --target URL --rows 50000000");
    let run = place.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let database = place.path().join("bench.db");
    wait_for("rows arrive", support::LIMIT, || std::fs::metadata(&database).is_ok_and(|it| it.len() > 100_000));
    run.signal(libc::SIGINT);
    assert_eq!(run.end().status.code(), Some(130));
}

#[test]
fn an_interrupted_wait_for_a_lock_names_the_lock() {
    for verb in ["check", "prepare", "cleanup"] {
        let place = prepared();
        let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
        database.execute_batch("BEGIN EXCLUSIVE").unwrap();
        let words = words(&place, &format!("{verb} oltp_read_write --target URL --rows 500 --tables 2"));
        let run = place.start(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let opened = || {
            std::fs::read_dir(format!("/proc/{}/fd", run.pid())).is_ok_and(|all| {
                all.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|file| file.ends_with("bench.db")))
            })
        };
        wait_for("it has the file open", support::LIMIT, opened);
        run.signal(libc::SIGINT);
        let output = run.end();
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{verb}: {err}");
        assert!(
            err.contains("s of waiting for the lock on ") && err.contains("bench.db, which another"),
            "{verb}: {err}"
        );
    }
}

#[test]
fn a_pass_is_reported_operation_by_operation_and_drops_no_other_tables() {
    let place = Place::new();
    let bench = "bench sql-bench --target URL --programs connect --small --loop-short=off";
    let (out, _) = expect(&place, 0, "prepare sql-bench --target URL");
    assert!(out.starts_with("nothing to prepare"), "{out}");
    let (out, _) = expect(&place, 0, bench);
    assert!(flat(&out).contains("select_big_str") && flat(&out).contains("for 10 operations"), "{out}");
    let (out, _) = expect(&place, 0, &format!("{bench} --json"));
    let record: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(record["metrics"]["op.select_1_row.count"], 1000.0);
    assert!(record["metrics"].get("tps").is_none() && record["metrics"].get("latency_ms_p50").is_none(), "{out}");
    for option in ["--clients 2", "--duration 5", "--rate 10", "--warmup 1", "--format sysbench-1.0"] {
        let (_, err) = expect(&place, 2, &format!("{bench} {option}"));
        assert!(err.contains("runs once, with one client"), "{err}");
    }
    let (out, _) = expect(&place, 0, "check sql-bench --target URL");
    assert!(out.starts_with("nothing to check"), "{out}");
    // What a run left that was cut off is dbduel's, because it has claimed the names.
    let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
    database.execute_batch("CREATE TABLE bench1 (x); CREATE TABLE mine (x)").unwrap();
    let (out, _) = expect(&place, 0, "cleanup sql-bench --target URL");
    assert_eq!(out, "dropped bench1\n");

    let place = Place::new();
    let database = rusqlite::Connection::open(place.path().join("bench.db")).unwrap();
    database.execute_batch("CREATE TABLE city (x)").unwrap();
    for line in [bench, "cleanup sql-bench --target URL"] {
        let (_, err) = expect(&place, 4, line);
        assert!(err.contains("did not make: city") && err.contains("next: name another database"), "{err}");
    }
}

#[test]
fn who_would_not_wait_for_another_measurement_gets_flagged_figures() {
    let place = prepared();
    let lock = place.path().join("tmp/dbduel-measuring.lock");
    let held = std::fs::OpenOptions::new().create(true).truncate(false).write(true).open(&lock).unwrap();
    held.lock().unwrap();
    let line = "bench oltp_point_select --target URL --rows 500 --events 20 --no-wait";
    let (out, _) = expect(&place, 0, line);
    assert!(flat(&out).contains("flag: shared-host (another measurement went on at the same time"), "{out}");
    let (_, err) = expect(&place, 0, &format!("{line} --format sysbench-1.0"));
    assert!(err.contains("warning: shared-host: "), "{err}");
    held.unlock().unwrap();
    let (out, _) = expect(&place, 0, line);
    assert!(!out.contains("flag:"), "{out}");
}

/// What every client of this port is told, before anything is asked.
fn refusing_with(refusal: Vec<u8>) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            client.write_all(&refusal).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            // Closed with something unread, the connection would be reset, and the refusal lost.
            let _ = std::io::copy(&mut client, &mut std::io::sink());
        }
    });
    port
}

/// An error packet in place of a greeting, or an ErrorResponse.
fn refusal(code: &str) -> (&'static str, Vec<u8>) {
    if code.len() == 5 {
        let body = format!("SFATAL\0VFATAL\0C{code}\0Mrefused\0\0");
        let length = (body.len() as u32 + 4).to_be_bytes();
        return ("postgres", [b"E", &length[..], body.as_bytes()].concat());
    }
    let body = [b"\xff", &code.parse::<u16>().unwrap().to_le_bytes()[..], b"#HY000refused"].concat();
    ("mysql", [&[body.len() as u8, 0, 0, 0], &body[..]].concat())
}

#[test]
fn the_errors_of_servers_have_their_transcript() {
    let codes = "1040 1045 1049 1129 1130 1142 1146 1153 1205 1213 1226 1290 1298 1390 1419 1461 1927 3024 3159 3750 4031 9001 \
                 08P01 28P01 28000 3D000 40001 40P01 42501 42P05 53100 53200 53300 57014 57P01 57P02 57P03";
    let place = Place::new();
    let mut transcript = String::new();
    for code in codes.split_whitespace().chain([""]) {
        let (scheme, refusal) = if code.is_empty() { ("mysql", Vec::new()) } else { refusal(code) };
        let port = refusing_with(refusal);
        let (_, err) =
            place.expect(4, &["check", "oltp_point_select", "--target", &format!("{scheme}://u@127.0.0.1:{port}/x")]);
        transcript += &err.replace(&port.to_string(), "PORT");
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bench/errors-of-servers.transcript");
    assert_eq!(compare(&file, &transcript), None);
}
