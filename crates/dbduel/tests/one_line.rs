//! Contenders on the command line: what is planned, written and refused, each with its transcript.

mod support;

use std::path::Path;
use std::process::Stdio;

use support::{Place, compare, text};

/// Commands as a user types them, and what they print; `cat FILE` prints a file.
fn transcript(place: &Place, lines: &[&str]) -> String {
    let mut out = String::new();
    for line in lines {
        out += &format!("$ {line}\n");
        let words = words(line);
        out += &match words[0].as_str() {
            "cat" => std::fs::read_to_string(place.path().join(&words[1])).unwrap(),
            _ => output(place, &words[1..].iter().map(String::as_str).collect::<Vec<_>>()),
        };
    }
    let here = place.path().canonicalize().unwrap();
    out.replace(here.to_str().unwrap(), "/here").replace(place.path().to_str().unwrap(), "/here")
}

fn output(place: &Place, arguments: &[&str]) -> String {
    let output = place.dbduel(arguments);
    let status = output.status.code().unwrap();
    let status = if status == 0 { String::new() } else { format!("[status {status}]\n") };
    text(&output.stdout) + &text(&output.stderr) + &status
}

/// Words in single quotes are one.
fn words(line: &str) -> Vec<String> {
    let pieces = line.split('\'').enumerate();
    let mut words = Vec::new();
    for (index, piece) in pieces {
        match index % 2 {
            1 => words.push(piece.to_owned()),
            _ => words.extend(piece.split_whitespace().map(str::to_owned)),
        }
    }
    words
}

const FILE: &str = "# What we ask each quarter.\nname = \"quarter\"\nbaseline = \"a\"\n\n# the old one\n[[contender]]\nname = \"a\"\n\
                    engine = \"mysql@5.6\"\n# the new one\n[[contender]]\nname = \"b\"\nengine = \"mysql@5.7\"\n\n\
                    [workload] # ours\nname = \"oltp_read_only\"\nrows = 1_000\n\n[method]\npreset = \"quick\"\n";

/// As a package or an administrator leaves it, with more than a contender may have.
const MY_CNF: &str = "[client]\nport = 3306\n\n[mysqld]\nuser = mysql\ndatadir = /var/lib/mysql\nsocket=/run/mysqld/mysqld.sock\n\
                      symbolic-links=0\nskip-name-resolve\ninnodb-buffer-pool_size = 256M   # of 1 GB\n\
                      innodb_log_file_size = 64M\nquery_cache_size = 16M\nquery_cache_type = 1\ntable_cache = 400\n\
                      log_bin = /var/log/mysql/mysql-bin\nsql_mode=\"ANSI_QUOTES,STRICT_TRANS_TABLES\"\n\n\
                      [mysqld-8.0]\ninnodb_redo_log_capacity=128M\n";
const POSTGRESQL_CONF: &str = "data_directory = '/var/lib/postgresql/13/main'\nport = 5432\nshared_buffers = 128MB # min 128kB\n\
                               wal_keep_segments = 10\nmin_parallel_relation_size 8MB\n";
/// Files of servers in a file: alone, in lists, on a rung.
const LADDER: &str = "baseline = \"old\"\n\n[[contender]]\nname = \"old\"\nengine = \"mysql@5.7.29\"\n\
                      settings = \"@etc/my.cnf\"\n\n[[contender]]\nname = \"new\"\nengine = \"mysql@8.0.31\"\n\
                      settings = [\n  { max_connections = 50, flush = true },\n  \"@etc/my.cnf\",\n  { innodb_buffer_pool_size = \"1G\" }\n]\n\n\
                      [[ladder]]\non = \"new\"\nname = \"more\"\nsettings = [\"@etc/more.cnf\"]\n\n\
                      [workload]\nname = \"oltp_read_only\"\nrows = 1_000\n";

/// Of MySQL 8.0.
const SLOW_LOG: &str = "# Time: 2026-11-23T04:41:47.487186Z\n# User@Host: u[u] @ localhost [127.0.0.1]  Id:     9\n\
                        # Query_time: 0.000186  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nuse shop;\n\
                        SET timestamp=1795754507;\nSELECT 1;\n";

/// Each with the lines that are typed.
const TRANSCRIPTS: &[(&str, &[&str])] = &[
    ("nothing", &["dbduel"]),
    ("two-engines", &["dbduel run mysql@5.7 mysql@8.0 --write duel.toml", "cat duel.toml"]),
    (
        "all-flags",
        &[
            "dbduel run 'old=mysql@5.7?innodb_flush_log_at_trx_commit=2&sort_buffer_size=1M' mysql@8.0 mariadb \
             --workload oltp_write_only --clients 1,4,16,64 --rows 50000 --duration 10s \
             --settings innodb_flush_log_at_trx_commit=1 --settings max_connections=200 --write all.toml",
            "cat all.toml",
            "dbduel run sqlite sqlite --write all.toml",
        ],
    ),
    (
        "urls-and-images",
        &[
            "dbduel run image:mysql:8.4 mysql:8.0 'hosted=mysql://app:hunter2@db.example/bench?tls=require' \
             postgres://app@db.example/bench --preset standard --write far.toml",
            "cat far.toml",
        ],
    ),
    (
        "files-of-servers",
        &[
            "dbduel run mysql@5.7.29 mysql@8.0.31 --settings @my.cnf --settings max_connections=100 --write mine.toml",
            "cat mine.toml",
            "dbduel run 'old=postgres@9.6?@postgresql.conf' 'new=postgres@13?work_mem=8MB&@postgresql.conf' \
             'postgres@18?@postgresql.conf&shared_buffers=1GB' --write pg.toml",
            "cat pg.toml",
            "dbduel run ladder.toml --rows 2000 --write whole.toml",
            "cat whole.toml",
            "dbduel run mysql@8.0.31 'mysql@8.0.31?@nothere.cnf'",
            "dbduel run mysql@8.0.31 'mysql@8.0.31?@etc/wrong.cnf'",
            "dbduel run mysql@8.0.31 'mysql@8.0.31?@etc/other.cnf'",
            "dbduel run sqlite 'sqlite?@my.cnf'",
            "dbduel run postgres@13 mysql@8.0.31 --settings @my.cnf",
            "dbduel plan ladder.toml --set 'contender.old.settings=[1]'",
        ],
    ),
    (
        "own-log",
        &[
            "dbduel run mysql@5.7.29 mysql@8.0.31 --log slow.log --data shop.sql --write shop.toml",
            "cat shop.toml",
            "dbduel run mysql@5.7.29 mysql@8.0.31 --log slow.log --data shop.sql --set workload.pacing=fast --write fast.toml",
            "cat fast.toml",
            "dbduel run shop.toml mysql@9.7 --log slow.log --log slow.log.1 --data more.sql --write other.toml",
            "cat other.toml",
            "dbduel run shop.toml postgres@13 --data etc --write x.toml",
            "dbduel run mysql@5.7.29 mysql@8.0.31 --log slow.log --write x.toml",
            "dbduel run mysql@5.7.29 mysql@8.0.31 --log nothere.log --data shop.sql --write x.toml",
            "dbduel run mysql@5.7.29 mysql@8.0.31 --log slow.log --data nothere.sql --write x.toml",
            "dbduel run mysql@5.7.29 mysql@8.0.31 --data shop.sql --write x.toml",
            "dbduel run mysql@5.7.29 mysql@8.0.31 --log slow.log --data shop.sql --clients 4 --duration 5s",
            "dbduel run old=mysql://app@db.example/shop new=mysql://app@db2.example/shop --log slow.log --write hosted.toml",
            "cat hosted.toml",
            "dbduel run old=mysql@5.7.29 new=mysql://app@db2.example/shop --log slow.log --data shop.sql --write mixed.toml",
            "dbduel run old=mysql@5.7.29 new=mysql://app@db2.example/shop --log slow.log --write x.toml",
            "dbduel run old=mysql@5.7.29 new=mysql://app@db2.example/shop --log writes.log --data shop.sql --write x.toml",
            "dbduel run old=mysql@5.7.29 new=mysql://app@db2.example/shop --log writes.log --data shop.sql --set workload.reads_only=true --write r.toml",
        ],
    ),
    ("passes", &["dbduel run mysql@5.7 mysql@8.0 --workload sql-bench --write pass.toml", "cat pass.toml"]),
    (
        "a-file-with-others",
        &["dbduel run quarter.toml mysql@5.7 new=mysql@8.0 --rows 500 --clients 2 --write next.toml", "cat next.toml"],
    ),
    (
        "refused",
        &[
            "dbduel run holiday",
            "dbduel run mysqll@5.7 mysql@8.0",
            "dbduel run mysql@5.7",
            "dbduel run nothere.toml mysql@5.7",
            "dbduel run mysql@5.7 quarter.toml",
            "dbduel run ./nowhere sqlite",
            "dbduel run dir:/nowhere sqlite",
            "dbduel run image:MySQL:8 sqlite",
            "dbduel run mysql@latest sqlite",
            "dbduel run sqlite b=sqlite?nonsense",
            "dbduel run sqlite a=sqlite a=sqlite",
            "dbduel run sqlite sqlite --settings journal_mode",
            "dbduel run sqlite mysql://app@db/x --settings cache_size=1",
            "dbduel run sqlite sqlite --rows 0 --clients 1,0 --duration 5",
            "dbduel run sqlite sqlite --workload tpcc --rows 5",
            "dbduel run sqlite sqlite --workload nothing",
            "dbduel run quarter.toml --workload tpcc",
            "dbduel run quarter.toml --settings a=1",
            "dbduel run quarter.toml mysql@8.0 oracle@23",
            "dbduel run quarter.toml --rows 5 --set workload.rows=6",
            "dbduel plan --rows 5",
            "dbduel run",
            "dbduel aa",
            "dbduel tune",
            "dbduel run sqlite sqlite --threads 4",
        ],
    ),
];

#[test]
fn every_form_of_the_line_has_its_transcript() {
    let place = Place::new();
    place.write("quarter.toml", FILE);
    place.write("my.cnf", MY_CNF);
    place.write("postgresql.conf", POSTGRESQL_CONF);
    place.write("ladder.toml", LADDER);
    place.write("slow.log", SLOW_LOG);
    place.write("slow.log.1", SLOW_LOG);
    let deletes = SLOW_LOG.replace("SELECT 1", "DELETE FROM t").replace(":47.", ":48.").replace("507;", "508;");
    place.write("writes.log", &format!("{SLOW_LOG}{deletes}"));
    place.write("shop.sql", "CREATE TABLE t (x INT);\n");
    place.write("more.sql", "CREATE TABLE t (x BIGINT);\n");
    std::fs::create_dir(place.path().join("etc")).unwrap();
    place.write("etc/my.cnf", MY_CNF);
    place.write("etc/more.cnf", "[mysqld]\nsync_binlog = 0\n");
    place.write("etc/wrong.cnf", "[mysqld]\nsync_binlog = 0\n[mysqld\nx=1\n");
    place.write("etc/other.cnf", "[client]\nport = 1\n");
    let mut differences = Vec::new();
    for (name, lines) in TRANSCRIPTS {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/one_line").join(name).with_extension("transcript");
        differences.extend(compare(&file, &transcript(&place, lines)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The hash of a plan, and of its trials the contenders.
fn plan(place: &Place, arguments: &[&str]) -> (String, Vec<String>) {
    let (out, _) = place.expect(0, &[&["plan", "--json"], arguments].concat());
    let plan: serde_json::Value = serde_json::from_str(&out).unwrap();
    let contenders = plan["contenders"].as_array().unwrap().iter();
    let names = contenders.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    (plan["plan_hash"].as_str().unwrap().to_owned(), names)
}

#[test]
fn a_written_line_has_the_plan_of_the_line() {
    let place = Place::new();
    place.write("quarter.toml", FILE);
    for line in
        [&["sqlite", "fast=sqlite?synchronous=OFF", "--rows", "500"][..], &["quarter.toml", "sqlite", "x=sqlite"]]
    {
        place.expect(0, &[&["plan"], line, &["--write", "kept.toml"]].concat());
        let (of_the_line, names) = plan(&place, line);
        assert_eq!(plan(&place, &["kept.toml"]), (of_the_line, names.clone()));
        assert_eq!(names.len(), 2);
        std::fs::remove_file(place.path().join("kept.toml")).unwrap();
    }
    let (_, names) = plan(&place, &["quarter.toml", "--rows", "500"]);
    assert_eq!(names, ["a", "b"], "flags alone leave the contenders of the file");
}

#[test]
fn a_duel_without_flags_is_expected_to_take_three_minutes_at_most() {
    let place = Place::new();
    for pair in [["mysql@5.7.29", "mysql@8.0.31"], ["postgres@13", "postgres@17"], ["sqlite", "sqlite?synchronous=OFF"]]
    {
        let (out, _) = place.expect(0, &["plan", "--json", pair[0], pair[1]]);
        let plan: serde_json::Value = serde_json::from_str(&out).unwrap();
        let expected = &plan["expected"];
        assert!(expected["run_s"].as_f64().unwrap() <= 180.0, "{pair:?}: {expected}");
        assert_eq!(expected["earliest_verdict_block"], 8, "{pair:?}");
    }
}

/// One run of two blocks, gone through by every command that reads runs.
#[test]
fn a_run_of_a_line_is_a_run_like_any_other() {
    let place = Place::new();
    let line = ["sqlite", "fast=sqlite?synchronous=OFF", "--rows", "500", "--clients", "2", "--duration", "500ms"];
    let (out, _) = place.expect(0, &[&["run"], &line[..], &["--blocks", "2"]].concat());
    let run = place.run().unwrap();
    let name = run.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("sqlite-vs-fast-"), "{name}");
    assert!(out.contains(&format!("runs/{name}/experiment.toml\n")), "{out}");
    let kept = std::fs::read_to_string(run.join("experiment.toml")).unwrap();
    assert!(kept.contains("clients = [2]\n") && kept.contains("synchronous = \"OFF\""), "{kept}");
    place.assert_every_trial_ran_once();
    let (again, _) = place.expect(0, &["report", "last"]);
    assert_eq!(out, again);
    place.expect(0, &["verify", "last"]);
    place.expect(0, &["history", "show"]);
    place.expect(0, &[&["run", "--resume", "last"], &line[..], &["--blocks", "2"]].concat());
    let (_, err) = place.expect(2, &["run", "--resume", "last", "sqlite", "sqlite"]);
    assert!(err.contains("is not the experiment of"), "{err}");
    place.assert_every_trial_ran_once();
}

#[test]
fn an_a_a_test_takes_one_contender() {
    let place = Place::new();
    place.expect(
        0,
        &["aa", "sqlite?cache_size=500", "--rows", "500", "--clients", "1", "--duration", "500ms", "--blocks", "2"],
    );
    assert_eq!(place.json("plan.json")["name"], "aa-sqlite");
    assert_eq!(place.json("plan.json")["contenders"][1]["settings"]["cache_size"], "500");
}

#[test]
fn a_password_of_a_contender_is_in_no_process_list_no_environment_and_no_file() {
    let place = Place::new();
    // A listener that never answers keeps dbduel waiting for the server's greeting.
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("hosted=mysql://app:hunter2@{}/bench", server.local_addr().unwrap());
    let line = ["run", "sqlite", &url, "--settings", "root_password=hunter2"];
    let words = [&line[..3], &["--rows", "500", "--blocks", "1"]].concat();
    let child = place.command(&words).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let proc = |file: &str| text(&std::fs::read(format!("/proc/{}/{file}", child.id())).unwrap()).replace('\0', " ");
    let (connection, _) = server.accept().unwrap();
    let arguments = proc("cmdline");
    assert!(arguments.contains("hosted=mysql://app:***@"), "{arguments}");
    assert!(!arguments.contains("hunter2") && !proc("environ").contains("hunter2"));
    drop((connection, server));
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    let printed = text(&output.stderr) + &text(&output.stdout);
    assert!(!printed.contains("hunter2"), "{printed}");
    let found = std::process::Command::new("grep").args(["-rl", "hunter2"]).arg(place.path()).output().unwrap();
    assert_eq!(text(&found.stdout), "", "a file holds the password");
    // The settings of targets are refused, without the value of a secret one.
    let (_, refused) = place.expect(2, &line);
    assert!(!refused.contains("hunter2"), "{refused}");
}
