//! `dbduel pgbench` as a user of pgbench meets it, against a SQLite file.

mod support;

use support::Place;

fn expect(place: &Place, status: i32, line: &str) -> (String, String) {
    let url = format!("sqlite://{}", place.path().join("bench.db").display());
    let words = format!("pgbench {line} --target {url}");
    place.expect(status, &words.split_whitespace().collect::<Vec<_>>())
}

/// Each number, with its sign and its point, as one `#`.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    for letter in text.chars() {
        match letter {
            '0'..='9' if masked.ends_with('#') => {}
            '0'..='9' => masked.push('#'),
            '.' if masked.ends_with('#') => {}
            other => masked.push(other),
        }
    }
    masked
}

#[test]
fn tables_are_made_and_scripts_run_by_old_command_lines() {
    let place = Place::new();
    let (out, err) = expect(&place, 4, "-S -t 1");
    assert_eq!(out, "");
    assert!(err.contains("Perhaps you need to do initialization (\"dbduel pgbench -i\")"), "{err}");
    let (_, err) = expect(&place, 0, "-i -q");
    assert!(err.contains("creating tables...") && err.contains("done in "), "{err}");
    let (out, err) = expect(&place, 0, "-c 2 -j 2 -t 20 -M prepared");
    assert!(err.contains("starting vacuum...end."), "{err}");
    let expected = "dbduel #, layout of pgbench #\ntransaction type: <builtin: TPC-B (sort of)>\nscaling factor: #\n\
        query mode: prepared\nnumber of clients: #\nnumber of threads: #\nmaximum number of tries: #\n\
        number of transactions per client: #\nnumber of transactions actually processed: #/#\n\
        number of failed transactions: # (#%)\nlatency average = # ms\ninitial connection time = # ms\n\
        tps = # (without initial connection time)\n";
    assert_eq!(masked(&out), expected, "{out}");
    assert!(out.contains("processed: 40/40"), "{out}");
    let (out, _) = expect(&place, 0, "-n -S -t 10 -r");
    assert!(out.contains("statement latencies in milliseconds and failures:\n"), "{out}");
    assert!(out.contains("           -           0  \\set aid random(1, 100000 * :scale)\n"), "{out}");
    assert!(out.ends_with("  SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n"), "{out}");
}

#[test]
fn files_follow_the_rules_of_pgbench() {
    let place = Place::new();
    expect(&place, 0, "-i -q");
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    write("a.sql", "\\set scale 5\n\\set x random(1, 3)\nSELECT ':x', :x + :more, ':unknown';\n");
    write("b.sql", "SELECT 1;\n");
    let (out, _) = expect(&place, 0, &format!("-n -f {}@3 -f {} -t 40 -D more=2", path("a.sql"), path("b.sql")));
    assert!(out.contains("transaction type: multiple scripts\nscaling factor: 1\n"), "{out}");
    assert!(out.contains("a.sql\n - weight: 3 (targets 75.0% of total)\n"), "{out}");
    write("error.sql", "\\set x random(0, 0)\n\\set y 1 / :x\nSELECT :y;\n");
    let (out, err) = expect(&place, 2, &format!("-n -f {} -t 1", path("error.sql")));
    assert!(out.contains("actually processed: 0/1\nnumber of failed transactions: 0 (NaN%)\n"), "{out}");
    let aborted = "error: division by zero\n\
        error: client 0 aborted in command 1 (set) of script 0; evaluation of meta-command failed\n\
        error: Run was aborted; the above results are incomplete.\n";
    assert!(err.ends_with(aborted), "{err}");
    write("one.sql", "\\if :client_id = 1\nSELECT missing;\n\\endif\nSELECT 1;\n");
    let (out, err) = expect(&place, 2, &format!("-n -f {} -c 3 -j 3 -t 7 -r", path("one.sql")));
    assert!(out.contains("actually processed: 14/21\nnumber of failed transactions: 0 (0.000%)\n"), "{out}");
    assert!(err.contains("error: client 1 script 0 aborted in command 1 query 0: ERROR:  no such column"), "{err}");
    assert!(out.contains("  \\endif\n"), "every command is listed: {out}");
    write("joined.sql", "SELECT 1\\; SELECT 2;\n");
    let (_, err) = expect(&place, 2, &format!("-n -f {} -t 1", path("joined.sql")));
    assert!(err.contains("`\\;` is not SQLite's"), "{err}");
    write("wrong.sql", "\\set x random_zipf(1, 2, 3)\nSELECT 1;\n");
    let (_, err) = expect(&place, 2, &format!("-n -f {} -t 1", path("wrong.sql")));
    assert!(err.contains("wrong.sql:1:8: unknown function `random_zipf`"), "{err}");
    let (_, err) = expect(&place, 2, "-M extended -n -S");
    assert!(err.contains("protocol `extended` is PostgreSQL's"), "{err}");
    let prefix = place.path().join("log").display().to_string();
    expect(&place, 0, &format!("-n -S -c 2 -j 2 -t 50 -l --log-prefix={prefix}"));
    let files = std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path());
    let logs: Vec<String> = files
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("log."))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(logs.iter().map(|log| log.lines().count()).collect::<Vec<_>>(), [50, 50]);
    assert!(logs.iter().all(|log| masked(log.lines().last().unwrap()) == "# # # # # #"), "{logs:?}");
    let (out, _) = expect(&place, 0, "-n -C -S -t 5");
    assert!(out.contains("\naverage connection time = ") && out.contains(" (including reconnection times)\n"), "{out}");
    // Each takes 20 ms of the limit's 15, so that the next is too late as soon as two are due at once.
    write("slow.sql", "\\sleep 20 ms\nSELECT 1;\n");
    let (out, _) = expect(&place, 0, &format!("-n -f {} -t 200 -R 500 -L 15", path("slow.sql")));
    let line = |start: &str| out.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{out}"));
    assert!(!line("number of transactions skipped: ").contains(": 0 "), "{out}");
    assert!(line("number of transactions above the 15.0 ms latency limit: ").ends_with("(100.000%)"), "{out}");
    let several = format!("-n -f {} -f {} -t 5 --max-tries=3 --failures-detailed", path("a.sql"), path("b.sql"));
    let (out, _) = expect(&place, 0, &several);
    assert!(out.contains(" - number of deadlock failures: 0 (0.000%)\n - number of transactions retried: 0"), "{out}");
}

#[test]
fn commands_are_printed_where_that_is_asked_for() {
    let place = Place::new();
    expect(&place, 0, "-i -q");
    let path = place.path().join("a.sql").display().to_string();
    let text = "\\set x random(3, 3)\n\\if :x > 1\n\\sleep 1 us\nSELECT :x AS y \\gset\n\\endif\nSELECT :y;\n";
    std::fs::write(&path, text).unwrap();
    let (_, err) = expect(&place, 0, &format!("-d -n -f {path} -t 1"));
    let lines = format!(
        "client 0 executing script \"{path}\"\nclient 0 executing \\set x\nclient 0 executing \\if\n\
         client 0 executing \\sleep 1 us\nclient 0 sending SELECT 3 AS y\nclient 0 receiving\n\
         client 0 sending SELECT 3\nclient 0 receiving\n"
    );
    assert!(err.contains(" nclients: 1 nxacts: 1 dbName: ") && err.ends_with(&lines), "{err}");
    let (_, err) = expect(&place, 0, &format!("--verbose-errors -n -f {path} -t 1"));
    assert_eq!(err, "", "no error, no line");
}

#[test]
fn programs_run_only_where_that_is_allowed() {
    let place = Place::new();
    expect(&place, 0, "-i -q");
    let (path, seen) = (place.path().join("a.sql"), place.path().join("seen"));
    let script =
        format!("\\set x 3\n\\setshell y expr :x + 4\n\\shell echo :y ::y >> {}\nSELECT :y;\n", seen.display());
    std::fs::write(&path, script).unwrap();
    let line = format!("-n -f {} -t 2", path.display());
    let (_, err) = expect(&place, 2, &line);
    assert!(err.contains("a.sql:2:1: `\\setshell` is refused") && err.contains("expected --allow-shell"), "{err}");
    let (out, err) = expect(&place, 0, &format!("{line} --allow-shell"));
    assert!(out.contains("actually processed: 2/2"), "{out}");
    assert!(err.contains("warning: runs commands inside the measured time: ") && err.contains("a.sql:2\n"), "{err}");
    assert_eq!(std::fs::read_to_string(&seen).unwrap(), "7 :y\n7 :y\n");
    for (command, why) in [
        ("\\setshell y echo many", "shell command must return an integer"),
        ("\\shell false", "could not launch shell command"),
    ] {
        std::fs::write(&path, format!("{command}\nSELECT 1;\n")).unwrap();
        let (_, err) = expect(&place, 2, &format!("{line} --allow-shell"));
        assert!(err.contains(&format!("error: {why}\nerror: client 0 aborted in command 0 (")), "{err}");
    }
}

#[test]
fn builtin_scripts_are_listed_and_shown() {
    let place = Place::new();
    let (_, err) = place.expect(0, &["pgbench", "-b", "list"]);
    assert_eq!(
        err,
        "Available builtin scripts:\n      tpcb-like: <builtin: TPC-B (sort of)>\n  simple-update: <builtin: simple update>\n    select-only: <builtin: select only>\n"
    );
    let link = place.path().join("pgbench");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dbduel"), &link).unwrap();
    let output = std::process::Command::new(&link).args(["-b", "list"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), err, "by a link");
    let (_, err) = place.expect(0, &["pgbench", "--show-script=sel"]);
    assert!(err.starts_with("-- select-only: <builtin: select only>\n\\set aid random(1, 100000 * :scale)\n"), "{err}");
}

#[test]
fn debug_prints_its_values_and_a_variable_without_a_value_is_named() {
    let place = Place::new();
    expect(&place, 0, "-i -q");
    let path = place.path().join("a.sql").display().to_string();
    std::fs::write(&path, "\\set x debug(2 + 3)\nSELECT 1;\n\\set y debug(:x / 2.0) + debug(NULL)\n").unwrap();
    let (_, err) = expect(&place, 0, &format!("-n -f {path} -t 1"));
    let printed = "debug(script=0,command=1): int 5\ndebug(script=0,command=3): double 2.5\n\
        debug(script=0,command=3): null\n";
    assert_eq!(err, printed);
    std::fs::write(&path, "\\set y 1 + :unset\nSELECT 1;\n").unwrap();
    let (_, err) = expect(&place, 2, &format!("-n -f {path} -t 1"));
    assert!(err.contains("undefined variable \"unset\"\n"), "{err}");
}
