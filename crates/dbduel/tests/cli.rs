//! The command line as a user meets it: the real program is run, and all its output is compared
//! with a stored transcript. `DBDUEL_BLESS=1` (or `cargo xtask bless`) rewrites the transcripts.

#![expect(unsafe_code, reason = "limits between fork and exec")]

mod support;

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::{Place, compare, dbduel, text};

fn manifest_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The TOML files of a folder, sorted by name; there is at least one.
fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    files.sort();
    assert!(!files.is_empty(), "no experiment under {}", folder.display());
    files
}

#[test]
fn every_faulty_experiment_is_refused_with_its_transcript_and_status_2() {
    let mut differences = Vec::new();
    for file in toml_files(&manifest_dir().join("tests/cli")) {
        let name = format!("tests/cli/{}", file.file_name().unwrap().to_str().unwrap());
        let output = dbduel(&["plan", &name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert_eq!(text(&output.stdout), "", "{name}: results and errors must not mix");
        let stderr = text(&output.stderr);
        assert!(!stderr.contains("hunter2"), "{name}: a password was printed");
        differences.extend(compare(&file.with_extension("stderr"), &stderr));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn help_is_as_it_was_reviewed() {
    let folder = manifest_dir().join("tests/cli");
    let names = [
        "run",
        "plan",
        "tune",
        "report",
        "list",
        "fetch",
        "host",
        "cache",
        "prepare",
        "bench",
        "check",
        "cleanup",
        "verify",
        "selftest",
        "advise",
        "init",
        "schema",
        "completions",
        "man",
    ];
    let commands = std::iter::once(Vec::new()).chain(names.map(|name| vec![name]));
    let mut differences = Vec::new();
    for command in commands {
        let output = dbduel(&[&command[..], &["--help"]].concat());
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        let name = [&["help"], &command[..]].concat().join("-");
        differences.extend(compare(&folder.join(name + ".stdout"), &text(&output.stdout)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn bad_usage_is_status_2() {
    for arguments in [
        &[][..],
        &["plan", "no-such-file.toml"],
        &["plan", "x.toml", "--budget", "20"],
        &["plan", "x.toml", "--preset", "fast"],
        &["run"],
        &["frobnicate"],
    ] {
        assert_eq!(dbduel(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

/// Commands without their argument, in a folder without runs.
#[test]
fn what_is_left_out_has_a_default_or_a_next_step() {
    let place = Place::new();
    let mut differences = Vec::new();
    for (name, status, arguments) in [
        ("no-file-plan", 0, &["plan"][..]),
        ("no-file-run", 2, &["run"]),
        ("no-run-report", 4, &["report"]),
        ("no-run-list", 0, &["list", "runs"]),
        ("no-format", 2, &["report", "--format", "xml"]),
        ("no-table", 2, &["report", "--table", "seconds"]),
    ] {
        let (out, err) = place.expect(status, arguments);
        let transcript = manifest_dir().join("tests/cli").join(name).with_extension("transcript");
        differences.extend(compare(&transcript, &format!("{out}--- stderr\n{err}")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let (out, _) = place.expect(0, &["list"]);
    for title in ["ENGINES\n", "\nWORKLOADS\n", "\nOBSERVERS\n", "\nREPORTS\n", "\nRUNS\n", "parquet", "junit"] {
        assert!(out.contains(title), "{title}: {out}");
    }
    let all: serde_json::Value = serde_json::from_str(&place.expect(0, &["list", "--json"]).0).unwrap();
    assert!(all["engines"].is_array() && all["runs"] == serde_json::json!([]), "{all}");
}

#[test]
fn names_with_control_characters_do_not_act_on_a_terminal() {
    let hostile = "\u{1b}]0;owned\u{7}\u{9b}2J.toml";
    for arguments in [&["plan", hostile][..], &["report", hostile], &["compare", hostile, hostile]] {
        let output = dbduel(arguments);
        let messages = text(&output.stdout) + &text(&output.stderr);
        assert!(messages.contains("\\u001b]0;owned\\u0007\\u009b2J.toml"), "{arguments:?}: {messages}");
        assert!(!messages.chars().any(|letter| letter.is_control() && letter != '\n'), "{arguments:?}: {messages}");
    }
}

#[test]
fn the_printed_defaults_are_the_compiled_in_file() {
    let output = dbduel(&["plan", "--defaults"]);
    let file = std::fs::read_to_string(manifest_dir().join("../experiment/src/default-experiment.toml")).unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), file));
}

/// The plan of a shipped experiment, as JSON.
#[test]
fn the_schema_of_the_json_report_needs_no_run() {
    let schema: serde_json::Value = serde_json::from_slice(&dbduel(&["report", "--schema"]).stdout).unwrap();
    assert!(schema["$schema"].is_string() && schema["properties"]["comparisons"].is_object(), "{schema}");
    assert_eq!(dbduel(&["report", "last", "--schema"]).status.code(), Some(2));
}

/// Says with which of the files a JSON Schema validator of another author agrees; none where Python has no `jsonschema`.
fn validated(files: &[PathBuf]) -> Option<Vec<bool>> {
    const PROGRAM: &str = "import json, sys, jsonschema
schema, *files = json.load(sys.stdin)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
print(json.dumps([validator.is_valid(file) for file in files]))";
    let schema: serde_json::Value = serde_json::from_slice(&dbduel(&["schema"]).stdout).unwrap();
    let read = |file: &PathBuf| {
        serde_json::to_value(toml::from_str::<toml::Table>(&std::fs::read_to_string(file).unwrap()).unwrap()).unwrap()
    };
    let input: Vec<serde_json::Value> = std::iter::once(schema).chain(files.iter().map(read)).collect();
    let mut python = Command::new("python3");
    let mut child = python
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    // A program that fails at once does not read.
    let _ = serde_json::to_writer(child.stdin.take().unwrap(), &input);
    let output = child.wait_with_output().unwrap();
    let stderr = text(&output.stderr);
    if stderr.contains("No module named") {
        return None;
    }
    assert!(output.status.success(), "{stderr}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

#[test]
fn the_schema_accepts_every_shipped_experiment_and_refuses_what_is_written_wrongly() {
    let shipped = toml_files(&manifest_dir().join("experiments"));
    let wrong = [
        "unknown-keys",
        "choices",
        "wrong-types",
        "keys-in-the-wrong-table",
        "quantities",
        "sweep-range-incomplete",
        "words-of-other-tools",
        "workload-options",
        "empty",
        "gate-and-labels",
    ];
    let wrong = wrong.map(|name| manifest_dir().join("tests/cli").join(name).with_extension("toml"));
    let files: Vec<PathBuf> = shipped.iter().cloned().chain(wrong).collect();
    let Some(valid) = validated(&files) else {
        support::print_skipped("Python has no module jsonschema");
        return;
    };
    for (index, (file, is_valid)) in files.iter().zip(valid).enumerate() {
        assert_eq!(is_valid, index < shipped.len(), "{}", file.display());
    }
}

#[test]
fn a_completion_script_gets_commands_versions_workloads_files_and_runs() {
    let place = Place::new();
    place.write("one.toml", "");
    place.write("one.txt", "");
    let candidates = |words: &[&str]| {
        let mut command = place.command(&[&["--", "dbduel"], words].concat());
        let output = command.env("DBDUEL_COMPLETE", "fish").output().unwrap();
        text(&output.stdout).lines().map(|line| line.split('\t').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(candidates(&["fet"]), ["fetch"]);
    assert!(candidates(&["fetch", "mysql@"]).contains(&"mysql@5.5.9".to_owned()));
    assert!(candidates(&["prepare", "oltp_"]).contains(&"oltp_read_write".to_owned()));
    assert_eq!(candidates(&["plan", "on"]), ["one.toml"]);
    assert!(candidates(&["report", ""]).contains(&"last".to_owned()));
    assert!(text(&dbduel(&["completions", "bash"]).stdout).contains("DBDUEL_COMPLETE=\"bash\""));
    assert_eq!(dbduel(&["completions", "tcsh"]).status.code(), Some(2));
}

#[test]
fn init_writes_a_file_that_can_be_planned_and_refuses_what_it_cannot_name() {
    let place = Place::new();
    let (out, _) = place.expect(0, &["init", "mysql@5.5.9", "mysql@8.0.31", "--out", "new.toml"]);
    assert!(out.ends_with("next: dbduel plan new.toml\n"), "{out}");
    let (plan, _) = place.expect(0, &["plan", "new.toml"]);
    assert!(plan.starts_with("plan: new\n") && plan.contains("mysql@8.0.31"), "{plan}");
    let (_, err) = place.expect(2, &["init", "mysql@5.5.9", "mysql@8.0.31", "--out", "new.toml"]);
    assert!(err.contains("cannot write new.toml") && err.contains("File exists"), "{err}");
    for arguments in [
        &["init", "mysql@5.5.9"][..],
        &["init", "mysql@5.5.9", "oracle@23"],
        &["init", "mysql@5.5.9", "./nowhere"],
        &["init", "sqlite", "sqlite", "--workload", "nothing"],
    ] {
        place.expect(2, arguments);
    }
}

#[test]
fn a_log_is_counted_by_digest_and_what_is_no_log_is_refused_with_what_it_looks_like() {
    let place = support::Place::new();
    let entry = |micros: u32, text: &str| {
        format!(
            "# Time: 2026-11-23T04:41:47.487186Z\n# User@Host: u[u] @ localhost []  Id:     9\n# Query_time: 0.{micros:06}  \
             Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\nSET timestamp=1795408907;\n{text};\n"
        )
    };
    place.write("slow.log", &(entry(300, "select a from t where b = 1") + &entry(100, "SELECT a FROM t WHERE b='x'")));
    let (out, _) = place.expect(0, &["digest", "slow.log"]);
    assert!(out.starts_with("2 statements in 1 digest, 400 µs in total\n"), "{out}");
    assert!(out.contains("   1     2  400 µs 100.0%  200 µs  300 µs     1  select a from t where b = ?\n"), "{out}");
    let (out, _) = place.expect(0, &["digest", "--json", "slow.log"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["digests"][0]["calls"], &json["digests"][0]["total_us"]), (&2.into(), &400.into()));
    let totals = "DIGEST_TEXT\tCOUNT_STAR\tSUM_TIMER_WAIT\n\
                  SELECT `a` FROM `t` WHERE `b` = ?\t900\t90000000000\nSELECT `c` FROM `t`\t100\t10000000000\n";
    place.write("production.tsv", totals);
    let (out, _) = place.expect(0, &["digest", "slow.log", "--summary", "production.tsv"]);
    let expected = "\nThe log has 90.0% of the server's 1,000 calls and 90.0% of its 100 ms.\n\
                    1 digest missing, most time first:\n   10.0%     100 10.0 ms  SELECT `c` FROM `t`\n";
    assert!(out.ends_with(expected), "{out}");
    let (out, _) = place.expect(0, &["digest", "slow.log", "--summary", "production.tsv", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&json["coverage"]["calls_in_log"], &json["coverage"]["digests_missing"]), (&900.into(), &1.into()));
    let (_, err) = place.expect(2, &["digest", "slow.log", "--summary", "slow.log"]);
    assert!(err.contains("slow.log: a column `query` or `digest_text` was expected"), "{err}");
    let (_, err) = place.expect(2, &["digest", "--format", "mysql-general", "slow.log"]);
    assert!(err.contains("slow.log is no mysql-general log, but looks like mysql-slow"), "{err}");
    place.write("notes.txt", "dear diary");
    let (_, err) = place.expect(2, &["digest", "notes.txt"]);
    assert!(err.contains("notes.txt is no log that dbduel reads") && err.contains("it begins: dear diary"), "{err}");
    place.write("cut.log", &(entry(300, "select 'a") + &entry(100, "select 1")));
    let (_, err) = place.expect(2, &["digest", "cut.log"]);
    assert!(err.contains("cut.log:5: quote opened here is not closed before the next entry"), "{err}");
    let (out, _) = place.expect(0, &["digest", "--max-bad", "50%", "cut.log"]);
    assert!(out.contains("cut.log:5: quote opened here"), "{out}");
    place.expect(2, &["digest", "--line-prefix", "%u ", "slow.log"]);
    place.expect(4, &["digest", "missing.log"]);
}

#[test]
fn a_capture_is_made_of_logs_and_shows_what_it_holds() {
    let place = support::Place::new();
    let row = |ms: u32, session: &str, line: u32, text: &str| {
        format!(
            "2026-11-23 04:41:47.{ms:03} UTC,\"u\",\"shop\",77,\"127.0.0.1:5000\",{session},{line},\"SELECT\",2026-11-23 04:41:40 UTC,\
             3/1,0,LOG,00000,\"duration: 2.000 ms  statement: {text}\",,,,,,,,,\"app\",\"client backend\",,0\n"
        )
    };
    let rows = [
        row(100, "a.1", 1, "begin"),
        row(105, "b.1", 1, "select now()"),
        row(110, "a.1", 2, "update t set a = 5"),
        row(120, "a.1", 3, "commit"),
        row(130, "a.1", 4, "alter user u password 'sekret'"),
    ];
    place.write("pg.csv", &rows.concat());
    let (out, _) = place.expect(0, &["capture", "--from", "pg.csv", "--out", "a.dbcap"]);
    let (info, _) = place.expect(0, &["capture", "--info", "a.dbcap"]);
    assert!(out.ends_with(&info), "{out}");
    let expected = "  log           pg.csv (pg-csv, LENGTH bytes)
  span          2026-11-23 04:41:47.098000 to 2026-11-23 04:41:47.130000 UTC, 32.0 ms
  sessions      2 sessions, at most 2 at once
  statements    5 statements in 3 transactions
  digests       5 digests
  classes       plain 4, clock 1
  not replayed  password: 1 statement (sets a password; left out of the capture)
";
    let expected = expected.replace("LENGTH", &rows.concat().len().to_string());
    assert_eq!(info, format!("capture a.dbcap\n{expected}"));
    let (_, err) = place.expect(2, &["capture", "--from", "pg.csv", "--out", "a.dbcap"]);
    assert!(err.contains("a.dbcap is there already"), "{err}");
    let (_, err) = place.expect(2, &["capture", "--info", "pg.csv"]);
    assert!(err.contains("pg.csv is no capture of dbduel, or was not finished"), "{err}");
    place.expect(2, &["capture", "--from", "pg.csv"]);
}

#[test]
fn man_pages_are_written_for_every_command() {
    let place = Place::new();
    place.expect(0, &["man", "--out", "man"]);
    for name in ["dbduel.1", "dbduel-run.1", "dbduel-bench.1"] {
        let page = std::fs::read_to_string(place.path().join("man").join(name)).unwrap();
        assert!(page.contains(".TH ") && page.contains(".SH \"EXIT STATUS\""), "{name}: {page}");
    }
}

fn planned(file: &Path, options: &[&str]) -> serde_json::Value {
    let output = dbduel(&[&["plan", "--json", file.to_str().unwrap()], options].concat());
    // Some need more cores than this host has, or a target that is nowhere: the plan is printed all the same.
    let stderr = text(&output.stderr);
    let refused = output.status.code() == Some(4) && stderr.contains("error: `dbduel run` would refuse this here");
    assert!(output.status.success() || refused, "{}: {stderr}", file.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_shipped_experiment_can_be_planned_and_may_get_a_verdict() {
    for file in toml_files(&manifest_dir().join("experiments")) {
        let plan = planned(&file, &[]);
        let contenders = plan["contenders"].as_array().unwrap().len();
        let blocks = plan["method"]["blocks"].as_u64().unwrap() as usize;
        let trials = plan["trials"].as_array().unwrap();
        assert!(contenders >= 2 && blocks >= 8, "{}", file.display());
        assert_eq!(trials.len() % (contenders * blocks), 0, "{}", file.display());
        let expected = &plan["expected"];
        assert!(expected["earliest_verdict_block"].is_u64(), "{}", file.display());
        assert!(expected["earliest_point_verdict_block"].is_u64(), "{}: its points are asked for", file.display());
        let operations = expected["operations"].as_u64().unwrap();
        assert!(operations == 0 || expected["earliest_operation_verdict_block"].is_u64(), "{}", file.display());
        let known = [0, 86, 10, 85, 22];
        assert!(
            known.contains(&operations),
            "the classic suite, the shop's statements, kinds of them, or analytic queries: {operations}"
        );
        let set = planned(&file, &["--set", "workload.data_seed=99", "--set", "method.seed=7"]);
        assert_eq!((&set["workloads"][0]["data_seed"], &set["seed"]), (&99.into(), &7.into()), "{}", file.display());
        assert_eq!(set["set"]["workload.data_seed"], "99", "{}", file.display());
        assert_ne!(plan["plan_hash"], set["plan_hash"], "{}", file.display());
    }
}

#[test]
fn the_same_file_is_the_same_plan_and_another_seed_another() {
    let file = manifest_dir().join("experiments/quickstart.toml");
    let plan = planned(&file, &[]);
    assert_eq!(plan, planned(&file, &[]));
    assert_ne!(plan["plan_hash"], planned(&file, &["--seed", "99"])["plan_hash"]);
}

#[test]
fn what_a_plan_cannot_check_is_listed_and_nothing_is_made_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let file = folder.path().join("x.toml");
    let contenders =
        "contender = [{ engine = \"mysql@5.5.9\", settings.sort_buffer_size = \"1M\" }, { engine = \"sqlite\" }]";
    std::fs::write(&file, format!("{contenders}\nworkload = \"oltp_point_select\"\n")).unwrap();
    let plan = |file: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dbduel"));
        let output = command.args(["plan", file.to_str().unwrap()]).env("DBDUEL_CACHE", &cache).output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (status, stdout, noted) = plan(&file);
    assert!(status == 0 && stdout.starts_with("plan: x\n"), "{noted}");
    assert_eq!(noted, "not checked: the settings of `mysql@5.5.9`, because mysql 5.5.9 is not fetched yet\n");
    let unknown =
        "contender = [{ engine = \"sqlite\", settings.cache_sice = 100 }, { name = \"b\", engine = \"sqlite\" }]";
    std::fs::write(&file, format!("{unknown}\nworkload = \"oltp_point_select\"\n")).unwrap();
    let (status, stdout, noted) = plan(&file);
    assert!(status == 4 && stdout.starts_with("plan: x\n"), "{noted}");
    assert!(noted.contains("contender `sqlite`: sqlite") && noted.contains("did you mean `cache_size`?"), "{noted}");
    assert!(!cache.exists());
}

#[test]
fn the_quickstart_fits_its_budget() {
    let plan = planned(&manifest_dir().join("experiments/quickstart.toml"), &[]);
    assert_eq!(plan["method"]["budget_s"], 100.0);
    assert_eq!(plan["trials"].as_array().unwrap().len(), 2 * 2 * 8);
    assert!(plan["expected"]["run_s"].as_f64().unwrap() < 100.0);
    assert_eq!(plan["expected"]["budget_blocks"], 8);
}

#[test]
fn the_plan_as_text_names_every_trial_and_its_hash() {
    let file = manifest_dir().join("experiments/mysql-5.5-vs-5.6.toml");
    let output = dbduel(&["plan", file.to_str().unwrap()]);
    let (stdout, plan) = (text(&output.stdout), planned(&file, &[]));
    assert!(stdout.contains(plan["plan_hash"].as_str().unwrap()));
    let rows = stdout.lines().skip_while(|line| *line != "trials").skip(2);
    assert_eq!(rows.count(), plan["trials"].as_array().unwrap().len());
}

#[test]
fn files_of_the_classic_sql_bench_are_compared_and_broken_ones_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, seconds: f64| {
        let summary = format!(
            "Benchmark DBD suite: 2.15\nServer version:      MySQL 5.5.30\n\n\
             select: Total time: {seconds} wallclock secs ( 0 usr  0 sys +  0 cusr  0 csys =  0 CPU)\n\n\
             Totals per operation:\nOperation             seconds     usr     sys     cpu   tests\n\
             count {seconds:.2} 0.00 0.00 0.00 100\nTOTALS {seconds:.2} 0.00 0.00 0.00 100\n"
        );
        let path = folder.path().join(name);
        std::fs::write(&path, summary).unwrap();
        path.display().to_string()
    };
    let output_of = |arguments: &[&str]| {
        let output = dbduel(arguments);
        (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
    };
    let (one, two) = (write("RUN-one", 6.0), write("RUN-two", 4.0));
    let (status, out, _) = output_of(&["compare", &one, &two]);
    assert!(status == 0 && out.contains("(unpaired)") && out.contains("  two against one: 1.50x"), "{out}");
    assert!(out.contains("count (100)                         |   6.00|   4.00|"), "{out}");
    let (_, out, _) = output_of(&["compare", "--relative", &one, &two]);
    assert!(out.contains("TOTALS                              |      6.00|      0.67|"), "{out}");

    std::fs::write(&two, "Benchmark DBD suite: 2.15\n\nnonsense\n").unwrap();
    let (status, _, err) = output_of(&["compare", &one, &two]);
    assert!(status == 4 && err.contains("RUN-two: line 4: the file ends, expected Totals per operation:"), "{err}");
    let (status, _, err) = output_of(&["compare", &one, "nowhere"]);
    assert!(status == 4 && err.contains("nowhere is neither a stored run nor a RUN file"), "{err}");
    let (status, _, err) = output_of(&["report", "last", "--relative"]);
    assert!(status == 2 && err.contains("shape the table of --format sqlbench, not `text`"), "{err}");
}

/// Without programs on its path it lacks some, on every host.
#[test]
fn the_doctor_names_what_each_absence_costs() {
    let place = Place::new();
    let print = |arguments: &[&str]| {
        let output = place.command(arguments).env("PATH", "").output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        support::suggestions::assert_accepted(&output);
        text(&output.stdout)
    };
    let told = print(&["doctor"]);
    assert!(told.contains("perf             not installed\n                 costs: "), "{told}");
    let json: serde_json::Value = serde_json::from_str(&print(&["doctor", "--json"])).unwrap();
    for check in json["checks"].as_array().unwrap() {
        let name = check["name"].as_str().unwrap();
        assert!(told.lines().any(|line| line.starts_with(name)), "{name}: {told}");
        assert_eq!(check["costs"].is_null(), check["next"].is_null(), "{name}");
    }
    let clients = json["checks"].as_array().unwrap().last().unwrap();
    assert_eq!(clients["found"], "none; not here: apt-get, mvn, npm");
}

/// Runs dbduel where it may neither take much memory nor go on for long.
fn confined(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dbduel"));
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("DBDUEL_CACHE", folder.join("cache")).env_remove("DBDUEL_WORK").env("TMPDIR", folder);
    let limit = |resource, most| {
        let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
        // SAFETY: async-signal-safe, and touches only the local given to it.
        unsafe { libc::setrlimit(resource, &limit) };
    };
    // SAFETY: only async-signal-safe calls.
    unsafe {
        command.pre_exec(move || {
            limit(libc::RLIMIT_AS, 4 << 30);
            limit(libc::RLIMIT_CPU, 20);
            libc::alarm(60);
            Ok(())
        })
    };
    command.output().unwrap()
}

#[test]
fn a_device_a_pipe_or_a_folder_in_place_of_a_file_is_refused_at_once() {
    let base = tempfile::tempdir().unwrap();
    let folder = base.path();
    assert!(Command::new("mkfifo").arg(folder.join("pipe")).status().unwrap().success());
    std::fs::create_dir(folder.join("folder")).unwrap();
    std::fs::write(folder.join("duel.toml"), "contender = [{ engine = \"sqlite\" }]\nworkload = \"oltp_read_only\"\n")
        .unwrap();
    // Larger than anything that is read, and nothing on the disk.
    std::fs::File::create(folder.join("huge")).unwrap().set_len(1 << 40).unwrap();
    // A run whose records are a device.
    std::fs::create_dir(folder.join("run")).unwrap();
    std::fs::write(folder.join("run/plan.json"), "{\"format_version\": 1}").unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("run/run.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.join("run/trials.ndjson")).unwrap();
    let mut wrong = Vec::new();
    for odd in ["/dev/zero", "pipe", "folder", "huge"] {
        for arguments in [
            &["plan", odd][..],
            &["run", odd],
            &["aa", odd],
            &["tune", odd],
            &["report", odd],
            &["report", "run", "--format", "sqlbench", "--beside", odd],
            &["verify", odd],
            &["compare", odd, odd],
            &["run", "--resume", odd],
            &["tune", "--resume", odd],
            &["run", "duel.toml", "--resume", odd],
            &["bench", odd, "--target", "sqlite:///x"],
            &["bench", "oltp_read_only", "--config-file", odd, "--target", "sqlite:///x"],
            &["bench", "oltp_read_only", "--password-file", odd, "--target", "mysql://nobody@127.0.0.1:1/x"],
            &["report", "run"],
            &["verify", "run"],
            &["run", "--resume", "run"],
        ] {
            let output = confined(arguments, folder);
            let stderr = text(&output.stderr);
            if !matches!(output.status.code(), Some(2 | 4)) || !stderr.starts_with("error: ") {
                wrong.push(format!("{arguments:?}: {:?}\n{stderr}", output.status));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_limit_of_open_files_is_raised_and_clients_beyond_it_are_refused() {
    let base = tempfile::tempdir().unwrap();
    let bench = |clients: &str, hard: u64| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dbduel"));
        command.args([
            "bench",
            "oltp_point_select",
            "--target",
            "mysql://",
            "--dry-run",
            "--events=500",
            "--clients",
            clients,
        ]);
        command.env("DBDUEL_CACHE", base.path().join("cache")).env_remove("DBDUEL_WORK").env("TMPDIR", base.path());
        // SAFETY: only an async-signal-safe call, which touches only the local given to it.
        unsafe {
            command.pre_exec(move || {
                libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: 40, rlim_max: hard });
                Ok(())
            })
        };
        let output = command.stdin(Stdio::null()).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    assert_eq!(bench("100", 1000).0, Some(0), "{}", bench("100", 1000).1);
    let (status, stderr) = bench("900", 1000);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("may open 1000") && stderr.contains("ulimit -Hn 1100"), "{stderr}");
}

#[test]
fn a_budget_that_can_bring_no_verdict_is_a_warning_that_names_one_that_can() {
    let place = Place::new();
    place.write(
        "a.toml",
        "contender = [{ name = \"a\", engine = \"sqlite\" }, { name = \"b\", engine = \"sqlite\" }]\n\
         workload = { name = \"oltp_read_write\", rows = 100 }\nmethod.preset = \"quick\"\n",
    );
    let warned = |budget: &str| place.expect(0, &["plan", "a.toml", "--budget", budget]).1;
    let warning = warned("5s");
    let least = warning.strip_suffix(" min\n").and_then(|text| text.rsplit(' ').next()).unwrap_or_default();
    let expected = format!(
        "warning: a budget of 5.0 s is enough for about 0 blocks, and a verdict needs 8: the smallest that can bring one is \
         about {least} min\n"
    );
    assert_eq!(warning, expected);
    assert_eq!(warned(&format!("{least}m")), "");
}

#[test]
fn a_name_without_a_version_says_which_one_it_stands_for_where_another_is_installed() {
    let place = Place::new();
    if place.installed("mariadb").is_none() {
        return;
    }
    let (plan, noted) = {
        place.write(
            "a.toml",
            "contender = [{ engine = \"mariadb\" }, { engine = \"sqlite\" }]\nworkload = \"oltp_read_only\"\n",
        );
        place.expect(0, &["plan", "a.toml"])
    };
    if !plan.contains(" from installed ") {
        assert!(
            noted.contains("contender `mariadb` uses mariadb ") && noted.contains(", because `mariadb` is the newest")
        );
        assert!(noted.contains("`mariadb@system` is the installed "), "{noted}");
    }
    let (list, _) = place.expect(0, &["list", "engines"]);
    assert!(list.contains("NAME@system is the installed one"), "{list}");
}
