//! Command lines of both forms, and what they come to.

use super::*;
use experiment::TargetKind;
use experiment::TargetUrl;
use load::OptionValue;
use std::collections::BTreeMap;
use std::time::Duration;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn no_file(_: &str) -> Result<String, String> {
    Err("no such file".to_owned())
}

fn read_line(verb: Verb, line: &str) -> Result<Request, String> {
    match read(verb, &words(line), &no_file, None)? {
        Asked::Do(request) => Ok(*request),
        Asked::Help(_) => panic!("{line}: asked for help"),
    }
}

fn bench(line: &str) -> Request {
    read_line(Verb::Bench, line).unwrap_or_else(|why| panic!("{line}: {why}"))
}

fn number(request: &Request, option: &str) -> Option<i64> {
    match request.workload_options.get(option) {
        Some(OptionValue::Number(number)) => Some(*number),
        _ => None,
    }
}

#[test]
fn our_own_form_has_sysbench_s_defaults_and_our_report() {
    let request = bench("oltp_read_write --target mysql://app@db/bench");
    assert_eq!((request.clients, request.events, request.rate), (1, None, None));
    assert_eq!((request.duration, request.warmup), (Some(Duration::from_secs(10)), Duration::ZERO));
    assert_eq!((request.action, request.format, request.compat), (Action::Bench, Format::Text, None));
    assert_eq!(number(&request, "rows"), Some(10_000));
    assert_eq!(request.reconnect, Reconnect::On);
    assert!(request.notes.is_empty());
}

#[test]
fn a_line_of_sysbench_1_0_is_read_as_it_stands() {
    let request = bench(
        "oltp_read_write --mysql-socket=/run/s.sock --mysql-user=root --tables=4 --table-size=100000 --threads=16 --time=60 --range_selects=off run",
    );
    assert_eq!((request.compat, request.format), (Some(Compat::Modern), Format::Modern));
    assert_eq!((request.clients, request.duration), (16, Some(Duration::from_secs(60))));
    assert_eq!((number(&request, "tables"), number(&request, "rows")), (Some(4), Some(100_000)));
    assert_eq!(request.workload_options["range_selects"], OptionValue::Flag(false));
    assert_eq!(request.target.place.socket.as_deref(), Some(std::path::Path::new("/run/s.sock")));
    assert_eq!((request.target.user(), request.target.database()), ("root", "sbtest"));
    assert_eq!(request.percentiles, [95.0]);
}

#[test]
fn the_classic_command_line_is_read_as_it_stands() {
    let request = bench(
        "--test=oltp --oltp-table-size=1000000 --mysql-user=root --max-time=300 --oltp-read-only=off --max-requests=0 --num-threads=4 run",
    );
    assert_eq!((request.workload.name, request.compat), ("oltp", Some(Compat::Classic)));
    assert_eq!((request.duration, request.events, request.clients), (Some(Duration::from_secs(300)), None, 4));
    assert_eq!(number(&request, "rows"), Some(1_000_000));
    assert_eq!(request.workload_options["read_only"], OptionValue::Flag(false));
    assert_eq!(request.format, Format::Classic);
}

#[test]
fn sysbench_0_4_ended_after_ten_thousand_requests() {
    let request = bench("--test=oltp --mysql-user=root run");
    assert_eq!((request.duration, request.events), (None, Some(10_000)));
    assert!(bench("--test=oltp --mysql-user=root --max-requests=0 run").notes[0].contains("Ctrl-C"));
}

#[test]
fn the_last_word_says_what_to_do() {
    let check = |word: &str, action| {
        assert_eq!(bench(&format!("oltp_read_only --mysql-user=root {word}")).action, action, "{word}");
    };
    check("prepare", Action::Prepare);
    check("run", Action::Bench);
    check("cleanup", Action::Cleanup);
    check("prewarm", Action::Prewarm);
    assert!(matches!(read(Verb::Bench, &words("oltp_read_only help"), &no_file, None), Ok(Asked::Help(_))));
    assert!(matches!(read(Verb::Bench, &words("--help"), &no_file, None), Ok(Asked::Help(_))));
}

#[test]
fn scripts_may_be_named_by_their_path() {
    let request = bench("/usr/share/sysbench/oltp_point_select.lua --pgsql-host=db --pgsql-port=6000 run");
    assert_eq!(request.workload.name, "oltp_point_select");
    assert_eq!((request.target.kind, request.target.port()), (TargetKind::Postgres, 6000));
    let line = "--test=tests/db/oltp.lua --oltp-tables-count=3 --oltp-table-size=500 --mysql-user=a run";
    let request = bench(line);
    assert_eq!((request.workload.name, request.compat), ("oltp_read_write", Some(Compat::Modern)));
    assert_eq!((number(&request, "tables"), number(&request, "rows")), (Some(3), Some(500)));
}

#[test]
fn the_driver_decides_where_both_families_are_given() {
    let line = "oltp_read_only --mysql-user=a --pgsql-user=b --db-driver=pgsql run";
    assert_eq!(bench(line).target.user(), "b");
    let folder = bench("oltp_read_only --pgsql-host=/run/pg run").target;
    assert_eq!(folder.place.socket.as_deref(), Some(std::path::Path::new("/run/pg")));
}

#[test]
fn lists_of_hosts_ports_and_sockets_are_servers_in_sysbench_s_order() {
    let check = |line: &str, expected: &[&str]| {
        let request = bench(&format!("oltp_read_only --mysql-user=a {line} run"));
        let all = std::iter::once(&request.target).chain(&request.further);
        assert_eq!(all.map(|target| target.endpoint().to_string()).collect::<Vec<_>>(), expected, "{line}");
        assert!(request.further.iter().all(|target| target.user() == "a"), "{line}");
    };
    check("", &["localhost:3306"]);
    check("--mysql-host=a,b", &["a:3306", "b:3306"]);
    check("--mysql-host=a,b --mysql-port=1,2", &["a:1", "a:2", "b:1", "b:2"]);
    check("--mysql-host=a,b --mysql-socket=/x,/y,/z", &["/x", "/y", "/z"]);
    let request = bench("oltp_read_only --mysql-host=a,b prepare");
    assert!(request.notes[0].contains("first server of the list, mysql://sbtest@a:3306"), "{:?}", request.notes);
}

#[test]
fn connections_may_be_compressed() {
    let compressed = |line: &str| bench(line).target.compressed;
    assert!(compressed("oltp_read_write --mysql-user=a --mysql-compression=on run"));
    assert!(!compressed("oltp_read_write --mysql-user=a --mysql-compression=off run"));
    assert!(compressed("oltp_read_write --target mysql://a@db/x --compression"));
    assert!(!compressed("oltp_read_write --target mysql://a@db/x?compression=on --compression=off"));
}

#[test]
fn a_dry_run_needs_no_server() {
    let request = bench("oltp_read_write --dry-run --threads=2");
    assert_eq!((request.dry_run, request.target.kind), (true, TargetKind::Mysql));
    let request = bench("oltp_read_write --mysql-dry-run --db-driver=pgsql run");
    assert_eq!((request.dry_run, request.target.kind), (true, TargetKind::Postgres));
    assert!(!bench("oltp_read_write --mysql-user=a --mysql-dry-run=off run").dry_run);
    let request = bench("oltp_read_write --mysql-dry-run --mysql-host=a,b run");
    assert!(request.further.is_empty(), "nobody is connected to");
}

#[test]
fn options_of_a_config_file_come_first() {
    let file = |_: &str| Ok("threads=8\ntime=20\nmysql-user=app\n".to_owned());
    let line = words("oltp_read_only --threads=2 --config-file=my.cfg run");
    let Ok(Asked::Do(request)) = read(Verb::Bench, &line, &file, None) else { panic!("the line is not read") };
    assert_eq!((request.clients, request.duration), (2, Some(Duration::from_secs(20))));
    assert_eq!(request.target.user(), "app");
}

#[test]
fn what_cannot_be_honoured_is_refused_with_the_option_and_what_to_do() {
    let check = |line: &str, parts: &[&str]| {
        let why = read_line(Verb::Bench, line).err().unwrap_or_else(|| panic!("{line}: was read"));
        assert!(parts.iter().all(|part| why.contains(part)), "{line}: {why}");
    };
    check("oltp_read_write", &["which server?", "--target"]);
    check("--target mysql://db/x", &["which workload?", "oltp_read_write"]);
    check("oltp_read_writ --target mysql://db/x", &["did you mean `oltp_read_write`"]);
    check("oltp_read_write --target mysql://db/x --cleints 4", &["--cleints", "did you mean --clients"]);
    check("oltp_read_write --target mysql://db/x --table-sizes 4", &["did you mean --table-size"]);
    check("oltp_point_select --target mysql://db/x --range-size 4", &["--range-size", "has no such option"]);
    check("oltp_read_write --target mysql://db/x --mysql-user=a", &["--target says it all"]);
    check("oltp_read_write --target mysql://db/x --clients many", &["--clients", "whole number"]);
    check("oltp_read_write --pgsql-host=a,b run", &["--pgsql-host", "`a`"]);
    check("oltp_read_write --mysql-port=3306,x run", &["--mysql-port", "`x`"]);
    check("tpcc --dry-run --warehouses=1", &["--dry-run", "tpcc works with what the server answers"]);
    check("oltp_read_write --dry-run --target sqlite:///x", &["--dry-run", "MySQL and PostgreSQL"]);
    check("oltp_read_write --dry-run --target mysql://db/x?tls=require", &["--dry-run", "plain connections"]);
    check("oltp_read_write --mysql-user=a --mysql-ssl-ca=/ca.pem run", &["--mysql-ssl-ca", "SSL_CERT_FILE"]);
    check("oltp_read_write --pgsql-user=a --compression", &["--compression", "MySQL and MariaDB"]);
    check("--test=oltp --mysql-user=a --oltp-reconnect-mode=query run", &["--oltp-reconnect-mode", "one transaction"]);
    check("oltp_read_write --target mysql://db/x extra", &["`extra` was not expected"]);
    check("--test=oltp --mysql-user=a", &["last word"]);
    let why = read_line(Verb::Prepare, "oltp_read_write run --target mysql://db/x").err().unwrap();
    assert!(why.contains("dbduel bench"), "{why}");
}

#[test]
fn every_option_of_sysbench_s_own_help_is_understood() {
    let modern = "--threads=1 --events=0 --time=10 --forced-shutdown=off --thread-stack-size=64K --rate=0 \
        --report-interval=0 --report-checkpoints= --debug=off --validate=off --tx-rate=0 --max-requests=0 --max-time=0 \
        --num-threads=1 --rand-type=special --rand-spec-iter=12 --rand-spec-pct=1 --rand-spec-res=75 --rand-seed=0 \
        --rand-pareto-h=0.2 --verbosity=3 --percentile=95 --histogram=off --db-driver=mysql --db-ps-mode=auto \
        --db-debug=off --mysql-host=localhost --mysql-port=3306 --mysql-socket=/s --mysql-user=sbtest --mysql-password= \
        --mysql-db=sbtest --mysql-ssl=off --mysql-ssl-cipher= --mysql-compression=off --mysql-debug=off \
        --mysql-ignore-errors=1213,1020,1205 --mysql-dry-run=off --auto_inc=on --create_secondary=on --delete_inserts=1 \
        --distinct_ranges=1 --index_updates=1 --mysql_storage_engine=innodb --non_index_updates=1 --order_ranges=1 \
        --point_selects=10 --range_selects=on --range_size=100 --secondary=off --simple_ranges=1 --skip_trx=off \
        --sum_ranges=1 --table_size=10000 --tables=1 --pgsql_variant=";
    bench(&format!("oltp_read_write {modern} run"));
    let classic = "--num-threads=4 --max-requests=0 --max-time=60 --init-rng=on --test=oltp --oltp-test-mode=complex \
        --oltp-reconnect-mode=session --oltp-read-only=off --oltp-skip-trx=off --oltp-range-size=100 \
        --oltp-point-selects=10 --oltp-simple-ranges=1 --oltp-sum-ranges=1 --oltp-order-ranges=1 \
        --oltp-distinct-ranges=1 --oltp-index-updates=1 --oltp-non-index-updates=1 --oltp-nontrx-mode=select \
        --oltp-auto-inc=on --oltp-connect-delay=10000 --oltp-user-delay-min=0 --oltp-user-delay-max=0 \
        --oltp-table-name=sbtest --oltp-table-size=10000 --oltp-dist-type=special --oltp-dist-iter=12 \
        --oltp-dist-pct=1 --oltp-dist-res=75 --mysql-table-engine=innodb --mysql-engine-trx=auto --myisam-max-rows=1000000 \
        --db-ps-mode=auto --mysql-user=root";
    bench(&format!("{classic} run"));
}

#[test]
fn what_changes_nothing_is_accepted_and_noted() {
    let request = bench("oltp_read_write --mysql-user=a --verbosity=4 --validate run");
    assert_eq!(request.notes.len(), 2, "{:?}", request.notes);
    assert!(request.notes[0].starts_with("--verbosity has no effect"));
}

#[test]
fn passwords_do_not_show_in_what_is_printed_for_debugging() {
    let request = bench("oltp_read_write --mysql-user=a --mysql-password=hunter2 run");
    assert!(!format!("{:?} {:?}", request.target, request.notes).contains("hunter2"));
    assert_eq!(request.target.password.unwrap().expose(), "hunter2");
}

#[test]
fn terminals_are_clients_by_another_name_and_may_grow_with_the_warehouses() {
    let clients = |line: &str| bench(&format!("tpcc --target mysql://app@db/bench {line}")).clients;
    assert_eq!(clients("--warehouses=5"), 1);
    assert_eq!(clients("--warehouses=5 --clients=20"), 20);
    assert_eq!(clients("--warehouses=5 --terminals=20"), 20);
    assert_eq!(clients("--warehouses=5 --terminals-per-warehouse=4"), 20);
    assert_eq!(clients("--warehouses=5 --pacing=spec"), 50);
    assert_eq!(clients("--warehouses=5 --pacing=spec --clients=3"), 3);
    let both = read_line(Verb::Bench, "tpcc --target mysql://app@db/bench --clients=2 --terminals=3").err().unwrap();
    assert!(both.contains("--clients and --terminals are the same option"), "{both}");
}

#[test]
fn dbt2_s_table_is_for_tpcc_only() {
    let line = "--target mysql://app@db/bench --format";
    assert_eq!(bench(&format!("tpcc {line} dbt2-compat")).format, Format::Dbt2Compat);
    let refused = read_line(Verb::Bench, &format!("oltp_read_write {line} dbt2")).err().unwrap();
    assert!(refused.contains("TPC-C's transactions only"), "{refused}");
}

#[test]
fn words_of_other_tools_are_answered_with_ours() {
    let refused = |option: &str| {
        read_line(Verb::Bench, &format!("oltp_read_write --target mysql://app@db/bench {option}")).err().unwrap()
    };
    for (option, expected) in [("--vus 4", "--clients"), ("--users 4", "--clients"), ("--scale 4", "--rows")] {
        assert!(refused(option).contains(&format!("; did you mean {expected}?")), "{}", refused(option));
    }
}

/// A script of our own, as if it were there.
fn with_script(verb: Verb, line: &str) -> Result<Asked, String> {
    let text =
        "sysbench.cmdline.options = { tables = { 'tables', 1 }, queue = { 'a queue', 'a' }, wet = { 'a flag', false } }
                sysbench.cmdline.commands = { fill = { function() end } }
                function prepare() end
                function event() end";
    read(verb, &words(line), &|path| if path == "my.lua" { Ok(text.to_owned()) } else { no_file(path) }, None)
}

fn script_request(verb: Verb, line: &str) -> Request {
    match with_script(verb, line) {
        Ok(Asked::Do(request)) => *request,
        Ok(Asked::Help(_)) => panic!("{line}: asked for help"),
        Err(why) => panic!("{line}: {why}"),
    }
}

#[test]
fn a_script_that_is_there_gets_its_own_options_and_sysbench_s() {
    let line = "my.lua --mysql-user=a --tables=4 --queue=b --wet --rand-type=uniform --threads=3 --time=7 run";
    let request = script_request(Verb::Bench, line);
    assert_eq!((request.action, request.compat, request.format), (Action::Bench, Some(Compat::Modern), Format::Modern));
    assert_eq!((request.clients, request.duration, request.queue), (3, Some(Duration::from_secs(7)), None));
    let Some(OptionValue::Table(given)) = request.workload_options.get("options") else { panic!("no options") };
    let text = |name: &str| given.get(name).map(ToString::to_string);
    let expected = [("tables", "4"), ("queue", "b"), ("wet", "on"), ("rand_type", "uniform"), ("threads", "3")];
    for (name, value) in expected {
        assert_eq!(text(name), Some(format!("\"{value}\"")), "{name}");
    }
    let ours = script_request(Verb::Bench, "my.lua --target mysql://app@db/bench --clients 2");
    assert_eq!((ours.action, ours.format, ours.clients), (Action::Bench, Format::Text, 2));
    assert_eq!(ours.workload_options["options"], OptionValue::Table(BTreeMap::new()));
}

#[test]
fn commands_of_a_script_are_called_by_their_names() {
    let command = |verb, line: &str| {
        let request = script_request(verb, line);
        (request.action, request.command)
    };
    let named = |name: &str| (Action::Command, Some(name.to_owned()));
    assert_eq!(command(Verb::Bench, "my.lua --mysql-user=a prepare"), named("prepare"));
    assert_eq!(command(Verb::Bench, "my.lua --mysql-user=a fill"), named("fill"));
    assert_eq!(command(Verb::Bench, "--test=my.lua --mysql-user=a run"), (Action::Bench, None));
    assert_eq!(command(Verb::Prepare, "my.lua --target mysql://app@db/bench"), named("prepare"));
    let refused = |line: &str| with_script(Verb::Bench, line).err().unwrap_or_default();
    assert_eq!(refused("my.lua --mysql-user=a cleanup"), "'my.lua' test does not implement the 'cleanup' command.");
    assert_eq!(refused("my.lua --mysql-user=a foo"), "Unknown command: foo");
    assert_eq!(refused("my.lua fill now"), "`now` was not expected here");
    assert!(
        refused("my.lua --mysql-user=a --tabels=3 run").contains("invalid option: --tabels=3; did you mean --tables?")
    );
    assert!(
        matches!(with_script(Verb::Bench, "my.lua help"), Ok(Asked::Help(text)) if text.starts_with("my.lua options:"))
    );
}

#[test]
fn variables_of_own_sql_come_one_by_one_or_together() {
    let line = "a.sql@3 -D scale=10 --define hot=1.5 --variables=rows=7,deep=true --target mysql://app@db/shop";
    let file =
        |path: &str| if path == "a.sql" { Ok("SELECT :scale, :hot, :rows, :deep;".to_owned()) } else { no_file(path) };
    let Ok(Asked::Do(request)) = read(Verb::Bench, &words(line), &file, None) else { panic!("{line}") };
    let expected = [
        ("deep", OptionValue::Flag(true)),
        ("hot", OptionValue::Real(1.5)),
        ("rows", OptionValue::Number(7)),
        ("scale", OptionValue::Number(10)),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value)).into();
    assert_eq!(request.workload_options["variables"], OptionValue::Table(expected));
    let why =
        read(Verb::Bench, &words("a.sql -D scale --target mysql://app@db/shop"), &file, None).err().unwrap_or_default();
    assert_eq!(why, "--define: name=number was expected, not `scale`");
}

#[test]
fn tests_without_a_database_are_refused_by_name() {
    let check = |line: &str, test: &str| {
        let why = read_line(Verb::Bench, line).err().unwrap_or_default();
        assert_eq!(why, format!("`{test}` is not a database test; dbduel measures database servers alone"), "{line}");
    };
    check("--test=cpu --cpu-max-prime=20000 run", "cpu");
    check("fileio --file-total-size=1G prepare", "fileio");
}

#[test]
fn a_line_without_a_target_means_that_of_the_environment() {
    let default = || Some(TargetUrl::parse("mysql://env@db/x"));
    let target = |line: &str| match read(Verb::Bench, &words(line), &no_file, default()) {
        Ok(Asked::Do(request)) => {
            assert_eq!(request.target_is_default, line == "oltp_read_only");
            (request.target.to_string(), request.notes.join("; "))
        }
        _ => panic!("{line}"),
    };
    let (url, note) = target("oltp_read_only");
    assert_eq!(url, "mysql://env@db/x");
    assert!(note.contains("no target is given, so it is that of DATABASE_URL: mysql://env@db/x"), "{note}");
    assert_eq!(target("oltp_read_only --target mysql://own@h/y").0, "mysql://own@h/y");
    assert!(target("oltp_read_only --mysql-host=h").0.contains("@h:3306"));
}
