//! The user's own SQL from outside: scripts, checks and tables, with the real program on SQLite.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::Place;
use crate::targets::Held;
use rusqlite::Connection;
use serde_json::Value;

const SCHEMA: &str = "CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER);\nCREATE TABLE sold (item INTEGER);\n";
const ORDER: &str = "\\set item random(1, 100)\nBEGIN;\n-- expect: 1 row\n-- label: stock\n\
    SELECT stock FROM item WHERE id = :item \\gset\n\\if :stock > 1000\nSELECT 'never';\n\\endif\n\
    -- expect: changed 1\nUPDATE item SET stock = stock - 1 WHERE id = :item;\n\
    INSERT INTO sold (item) VALUES (:item);\nCOMMIT;\n";

/// A place with the files of a small shop.
fn shop() -> Place {
    let place = Place::new();
    place.write("schema.sql", SCHEMA);
    place.write("order.sql", ORDER);
    place
}

/// An experiment of a script over the tables of the shop, with further lines of `[workload]`.
fn experiment(contenders: &str, workload: &str) -> String {
    format!(
        "name = \"Own\"\nquestion = \"Which?\"\ncontender = [{contenders}]\nsweep.clients = [2]\n\
         method = {{ preset = \"quick\", duration = \"500ms\", warmup = \"0s\", blocks = 2 }}\n\
         [workload]\nname = \"script\"\nfiles = [{{ path = \"order.sql\" }}]\n{workload}\n"
    )
}

const TABLES: &str = "setup = [\"schema.sql\"]\n[[workload.table]]\nname = \"item\"\nrows = 100\n\
    columns = { id = \"row\", stock = \"random(10, 20)\" }\n";

/// With the times of statements masked.
fn masked(out: &str) -> String {
    let line = |line: &str| match line.rsplit_once("  ") {
        Some((rest, ms)) if ms.trim().parse::<f64>().is_ok() => format!("{rest}  {:>1$}\n", "T", ms.len()),
        _ => format!("{line}\n"),
    };
    out.lines().map(line).collect()
}

fn compare(name: &str, seen: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli").join(name).with_extension("transcript");
    if std::env::var_os("DBDUEL_BLESS").is_some() {
        std::fs::write(&path, seen).unwrap();
    }
    assert_eq!(seen, std::fs::read_to_string(&path).unwrap_or_default(), "{}", path.display());
}

#[test]
fn plan_try_runs_each_transaction_once_and_takes_it_back() {
    let place = shop();
    let database = place.path().join("mine.db");
    let mine = Connection::open(&database).unwrap();
    mine.execute_batch(&format!("PRAGMA journal_mode = WAL; {SCHEMA} INSERT INTO item VALUES (1, 5);")).unwrap();
    place.write("try.toml", &experiment(r#"{ name = "fresh", engine = "sqlite" }"#, TABLES));
    let (fresh, _) = place.expect(0, &["plan", "--try", "try.toml"]);
    // Its tables are there, and lack most rows; the file `all.sql` needs no particular one.
    place.write("all.sql", "ANALYZE;\nUPDATE item SET stock = 0;\nINSERT INTO sold SELECT id FROM item;\n");
    let target = format!("{{ name = \"mine\", target = \"sqlite://{}\" }}", database.display());
    let of_target = experiment(&target, "").replace("order.sql\" }", "order.sql\" }, { path = \"all.sql\" }");
    place.write("target.toml", &of_target);
    let (mut seen, err) = place.expect(4, &["plan", "--try", "target.toml"]);
    assert!(!err.contains("error"), "{err}");
    seen = format!("{}--- a target whose tables lack rows\n{}", masked(&fresh), masked(&seen));
    compare("try", &seen);
    let count = |sql: &str| mine.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT sum(stock) FROM item"), 5);
    assert_eq!(count("SELECT count(*) FROM sold"), 0);
    assert_eq!(count("SELECT count(*) FROM sqlite_master WHERE name = 'dbduel_meta'"), 0);
    place.assert_nothing_is_left();
    assert!(place.run().is_none(), "nothing was measured");
    place.write("builtin.toml", "contender = [{ engine = \"sqlite\" }]\nworkload = \"oltp_read_only\"\n");
    let (_, err) = place.expect(2, &["plan", "--try", "builtin.toml"]);
    assert!(err.contains("--try runs scripts") && err.contains("next: "), "{err}");
}

#[test]
fn servers_explain_statements_once_behind_an_interval_and_reports_compare_them() {
    let place = shop();
    let contenders = "{ name = \"a\", engine = \"sqlite\" }, { name = \"b\", engine = \"sqlite\" }";
    place.write("own.toml", &experiment(contenders, TABLES));
    place.expect(0, &["run", "own.toml", "--accept-noisy"]);
    let mut explained = Vec::new();
    for trial in place.trials() {
        let steps: Vec<&str> = trial["steps"].as_array().unwrap().iter().filter_map(|step| step[0].as_str()).collect();
        let at = |name: &str| steps.iter().position(|step| *step == name);
        if let Some(explain) = at("explain") {
            assert!(at("measure").unwrap() < explain && explain + 1 == at("stop").unwrap(), "{steps:?}");
            explained.push((trial["contender"].as_str().unwrap().to_owned(), trial["block"].as_u64()));
        }
    }
    explained.sort();
    assert_eq!(explained, [("a".to_owned(), Some(1)), ("b".to_owned(), Some(1))]);
    let record = place.json("run.json");
    let plans = &record["contenders"]["a"]["plans"]["script"];
    // What stands behind `\gset` needs the value of an answer.
    let named: Vec<&str> = plans.as_array().unwrap().iter().filter_map(|plan| plan["statement"].as_str()).collect();
    assert_eq!(named, ["order.stock", "order.10", "order.11"], "{plans}");
    assert_eq!(plans[1]["tree"]["children"][0]["index"], "INTEGER PRIMARY KEY", "{plans}");
    assert_eq!(plans[0]["tree"]["children"][0]["index"], "INTEGER PRIMARY KEY", "{plans}");
    let full = place.whole_report("last");
    assert!(full.contains("0 of 3 statements are run differently."), "{full}");
    assert!(full.contains("Without a plan: order.12, order.2: "), "{full}");
}

#[test]
fn a_value_that_has_to_stay_as_loaded_fails_the_trial_that_changes_it() {
    let checks = "checks = [{ sql = \"SELECT count(*) FROM item\", expect = \"= load\" },\
        { sql = \"SELECT sum(stock) + (SELECT count(*) FROM sold) FROM item\", expect = \"= load\" }]\n";
    let contenders = r#"{ name = "one", engine = "sqlite" }, { name = "two", engine = "sqlite" }"#;
    let place = shop();
    place.write("try.toml", &experiment(contenders, &format!("{checks}{TABLES}")));
    place.expect(0, &["run", "try.toml"]);
    let trials = place.trials();
    let planned = trials.iter().filter(|trial| trial["purpose"].is_null());
    assert!(planned.clone().count() == 4 && planned.clone().all(|trial| trial["status"] == "ok"), "{trials:?}");
    // An order whose row is missing in `sold`.
    let place = shop();
    place.write("order.sql", &ORDER.replace("INSERT INTO sold (item) VALUES (:item);\n", ""));
    place.write("try.toml", &experiment(contenders, &format!("{checks}{TABLES}")));
    place.expect(4, &["run", "try.toml"]);
    let failure = place.trials()[0]["failure"].clone();
    assert_eq!(failure["step"], "check", "{failure}");
    let message = failure["message"].as_str().unwrap();
    assert!(message.contains("FROM item: ") && message.contains(" was loaded, "), "{message}");
    assert_eq!(message.lines().count(), 2, "the number of items stays: {message}");
}

#[test]
fn transactions_above_the_limit_are_counted_and_late_ones_skipped() {
    let place = shop();
    place.write("order.sql", "\\sleep 20 ms\nSELECT 1;\n");
    let limited = experiment(r#"{ name = "one", engine = "sqlite" }, { name = "two", engine = "sqlite" }"#, TABLES);
    let limited = limited.replace("setup = ", "latency_limit = \"15ms\"\nrate = 200\nclients = 1\nsetup = ");
    place.write("try.toml", &limited.replace("sweep.clients = [2]\n", ""));
    place.expect(0, &["run", "try.toml"]);
    let trials = place.trials();
    let planned: Vec<_> = trials.iter().filter(|trial| trial["purpose"].is_null()).collect();
    for metrics in planned.iter().map(|trial| &trial["metrics"]) {
        let count = |name: &str| metrics[name].as_f64().unwrap();
        // The last sleep is cut short by the end.
        let below = count("transactions.committed") - count("above_limit");
        assert!(count("above_limit") > 0.0 && (0.0..=1.0).contains(&below), "{metrics}");
        // One client that sleeps 20 ms runs a quarter of 200 arrivals a second.
        assert!(count("transactions.skipped") > count("transactions.due") / 2.0, "{metrics}");
        assert!(count("latency_ms_max") < 1000.0, "late arrivals do not pile up: {metrics}");
    }
    let saturated = |trial: &&Value| trial["flags"].as_array().unwrap().iter().any(|flag| flag == "saturated");
    assert!(planned.len() == 4 && !planned.into_iter().any(|trial| saturated(&trial)));
    let report = place.expect(0, &["report", "last", "--format", "markdown"]).0;
    assert!(report.contains("| above limit | skipped |"), "{report}");
    place.expect(2, &["bench", "order.sql", "--latency-limit=soon", "--target", "sqlite://none.db"]);
}

#[test]
fn serialization_failures_add_up() {
    let place = Place::new();
    let Some(postgres) = Held::start(&place, "postgres", &["--tcp"]) else { return };
    let (password, port) = (postgres.reached_by["password"].as_str().unwrap(), &postgres.reached_by["port"]);
    let target = format!("postgres://postgres:{password}@127.0.0.1:{port}/sbtest");
    place
        .write("schema.sql", "CREATE TABLE ctr (id INTEGER PRIMARY KEY, v INTEGER);\nINSERT INTO ctr VALUES (1, 0);\n");
    place.write(
        "ctr.sql",
        "-- label: begin\nBEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT v FROM ctr WHERE id = 1;\n\
         UPDATE ctr SET v = v + 1 WHERE id = 1;\nCOMMIT;\n",
    );
    place.write("value.sql", "-- expect: value :n\nSELECT v FROM ctr WHERE id = 1;\n");
    place.expect(0, &["prepare", "ctr.sql", "--setup=schema.sql", "--target", &target]);
    let mut value = 0;
    for tries in ["1", "10", "0"] {
        let tries = format!("--max-tries={tries}");
        let words = ["bench", "ctr.sql", "--target", &target, "--clients", "4", "--events", "400", "--json", &tries];
        let report: Value = serde_json::from_str(&place.expect(0, &words).0).unwrap();
        let metrics = report["metrics"].as_object().unwrap();
        let count = |name: &str| metrics[name].as_f64().unwrap() as u64;
        let (committed, failed) = (count("transactions.committed"), count("transactions.failed"));
        assert_eq!(committed + failed, 400, "{tries}");
        let is_retries = |name: &&String| name.starts_with("statement.ctr.") && name.ends_with(".retries");
        let retries: u64 = metrics.keys().filter(is_retries).map(|name| count(name)).sum();
        assert_eq!(retries, count("statement.ctr.begin.count") - 400, "{tries}: attempts but the first of each");
        assert!(tries != "--max-tries=1" || (retries == 0 && failed > 0), "{failed} failed");
        assert!(tries != "--max-tries=0" || (failed == 0 && retries > 0), "{retries} retries");
        value += committed;
        let variables = format!("--variables=n={value}");
        place.expect(0, &["bench", "value.sql", "--target", &target, "--clients", "1", "--events", "1", &variables]);
    }
    let variables = format!("--variables=n={}", value + 1);
    place.expect(4, &["bench", "value.sql", "--target", &target, "--clients", "1", "--events", "1", &variables]);
}

/// A SQLite target whose item has so many of a thousand rows.
fn items(place: &Place, name: &str, rows: i64) -> String {
    let file = place.path().join(name);
    let database = Connection::open(&file).unwrap();
    database.execute_batch(&format!("PRAGMA journal_mode = WAL; {SCHEMA}")).unwrap();
    let step = 1000 / (1000 - rows).max(1);
    for id in (1..=1000).filter(|id| rows == 1000 || id % step != 0) {
        database.execute("INSERT INTO item VALUES (?1, 5)", [id]).unwrap();
    }
    format!("{{ name = \"{name}\", target = \"sqlite://{}\" }}", file.display())
}

#[test]
fn lost_rows_fail_a_note_and_are_found_without_one() {
    let select = "\\set item random(1, 1000)\n-- expect: 1 row\nSELECT stock FROM item WHERE id = :item;\n";
    let place = Place::new();
    place.write("order.sql", select);
    let contenders = format!("{}, {}", items(&place, "whole", 1000), items(&place, "lacking", 990));
    place.write("try.toml", &experiment(&contenders, ""));
    let (out, _) = place.expect(4, &["run", "try.toml"]);
    for trial in place.trials() {
        assert_eq!(trial["status"] == "ok", trial["contender"] == "whole", "{trial}");
        let message = trial["failure"]["message"].as_str().unwrap_or_default();
        assert!(trial["status"] == "ok" || message.contains("order.sql:3: "), "{message}");
    }
    assert!(!out.contains("faster") && !out.contains("slower"), "no verdict about wrong answers: {out}");

    let place = Place::new();
    place.write("order.sql", &select.replace("-- expect: 1 row\n", ""));
    let contenders = format!("{}, {}", items(&place, "whole", 1000), items(&place, "half", 400));
    place.write("try.toml", &experiment(&contenders, ""));
    place.expect(0, &["run", "try.toml"]);
    let whole = place.whole_report("last");
    let findings = place.expect(0, &["report", "last", "--format", "json"]).0;
    assert!(findings.contains("results differ"), "{whole}");
    assert!(whole.contains("no script has an `-- expect:` note and there are no checks"), "{whole}");
}

/// Two transactions over generated tables with notes, checks and zipfian parameters.
const TWO_FILES: &str = r#"files = [{ path = "order.sql" }, { path = "browse.sql", weight = 3 }]
setup = ["schema.sql"]
checks = [{ sql = "SELECT count(*) FROM item", expect = "500", when = "load" }, CHECKS]
[[workload.table]]
name = "item"
rows = 500
columns = { id = "row", name = "concat('item ', text(3, 12))", stock = "random_zipfian(1000, 2000, 1.3)", made = "date('2020-01-01', '2024-12-31')", note = "null(0.3, pattern('##-@@@'))" }
[[workload.table]]
name = "sold"
rows = 200
columns = { item = "random(1, 500)", state = "pick('NEW', 'PAID', 'SENT')" }
"#;

/// Sums over each column of the tables.
const SUMS: [&str; 7] = [
    "SELECT sum(id * stock) FROM item",
    "SELECT min(name) FROM item",
    "SELECT max(name) FROM item",
    "SELECT max(made) FROM item WHERE stock < 1100",
    "SELECT sum(length(note) + stock) FROM item",
    "SELECT max(note) FROM item",
    "SELECT sum(item) FROM sold WHERE state = 'PAID'",
];

#[test]
fn the_same_files_and_rows_serve_every_engine() {
    let place = Place::new();
    place.write(
        "schema.sql",
        "CREATE TABLE item (id INTEGER PRIMARY KEY, name VARCHAR(40), stock INTEGER, made DATE, note VARCHAR(60));\n\
         CREATE TABLE sold (item INTEGER, state VARCHAR(10));\n",
    );
    place.write("order.sql", &ORDER.replace("INTO sold (item) VALUES (:item)", "INTO sold VALUES (:item, 'NEW')"));
    place.write(
        "browse.sql",
        "\\set item random_zipfian(1, 500, 1.2)\n-- expect: 1 row\n-- label: one\n\
         SELECT id, name FROM item WHERE id = :item;\n-- expect: 10 rows\n-- label: ten\n\
         SELECT name FROM item WHERE id BETWEEN 11 AND 20 ORDER BY name;\n",
    );
    let of = |contenders: &str, checks: &str| {
        let two = TWO_FILES.replace("CHECKS", checks);
        experiment(contenders, &two).replace("files = [{ path = \"order.sql\" }]\n", "")
    };
    let installed = ["mariadb", "postgres"].into_iter().filter_map(|kind| place.installed(kind));
    let engines: Vec<String> = std::iter::once("engine = \"sqlite\"".to_owned()).chain(installed).collect();
    // A check that cannot hold prints what each server has.
    let asked: Vec<String> =
        SUMS.iter().map(|sql| format!("{{ sql = \"{sql}\", expect = \"?\", when = \"load\" }}")).collect();
    let sums = engines.iter().map(|engine| {
        place.write("sums.toml", &of(&format!("{{ name = \"it\", {engine} }}"), &asked.join(", ")));
        let (_, err) = place.expect(4, &["run", "sums.toml", "--runs", "sums"]);
        err.lines().filter(|line| line.contains("? was expected, ")).map(str::to_owned).collect::<Vec<_>>()
    });
    let sums: Vec<Vec<String>> = sums.collect();
    assert!(sums.iter().all(|one| one.len() == SUMS.len() && *one == sums[0]), "{sums:#?}");

    let names = engines.iter().enumerate().map(|(at, engine)| format!("{{ name = \"e{at}\", {engine} }}"));
    let kept = "SELECT (SELECT sum(stock) FROM item) + (SELECT count(*) FROM sold)";
    let kept = format!("{{ sql = \"{kept}\", expect = \"= load\" }}");
    place.write("try.toml", &of(&names.collect::<Vec<_>>().join(", "), &kept));
    place.expect(0, &["run", "try.toml"]);
    let trials = place.trials();
    for trial in trials.iter().filter(|trial| trial["purpose"].is_null()) {
        assert_eq!(trial["status"], "ok", "{trial}");
        for (statement, rows) in [("order.stock", 1.0), ("browse.one", 1.0), ("browse.ten", 10.0)] {
            assert_eq!(trial["metrics"][format!("statement.{statement}.rows")], rows, "{trial}");
        }
    }
}

/// The statements that fill the shop's tables, as a dump has them.
fn dump_text() -> String {
    let rows: Vec<String> = (1..=100).map(|id| format!("({id}, {})", 1000 + id)).collect();
    format!("{SCHEMA}INSERT INTO item VALUES {};\n", rows.join(",\n"))
}

fn gzip(text: &str) -> Vec<u8> {
    let mut packed = Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    packed.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    packed.wait_with_output().unwrap().stdout
}

const RESTORED: &str = "checks = [{ sql = \"SELECT sum(stock) FROM item\", expect = \"105050\", when = \"load\" }]\n";

#[test]
fn a_dump_and_a_data_directory_fill_each_engine() {
    let place = shop();
    std::fs::write(place.path().join("shop.sql.gz"), gzip(&dump_text())).unwrap();
    // A dump that makes its database, whose name is another than the one of generated tables.
    place.write("shop.sql", &format!("CREATE DATABASE shop;\nUSE shop;\n{}", dump_text()));
    let dumps = [("sqlite", "shop.sql.gz"), ("mariadb", "shop.sql"), ("postgres", "shop.sql.gz")];
    let here = dumps.iter().filter_map(|(kind, dump)| match *kind {
        "sqlite" => Some(("engine = \"sqlite\"".to_owned(), format!("sqlite = \"{dump}\""))),
        kind => Some((place.installed(kind)?, format!("{kind} = \"{dump}\""))),
    });
    let (engines, dumps): (Vec<_>, Vec<_>) = here.unzip();
    let contenders = engines.iter().enumerate().map(|(at, engine)| format!("{{ name = \"e{at}\", {engine} }}"));
    let workload = format!("{RESTORED}restore = {{ {} }}\n", dumps.join(", "));
    place.write(
        "try.toml",
        &experiment(&contenders.collect::<Vec<_>>().join(", "), &workload).replace("blocks = 2", "blocks = 1"),
    );
    place.expect(0, &["run", "try.toml", "--accept-noisy"]);
    let trials = place.trials();
    assert!(trials.iter().all(|trial| trial["status"] == "ok"), "{trials:?}");
    assert!(trials.len() >= engines.len(), "{trials:?}");
    place.assert_nothing_is_left();
    run_on_data_directories(&place, &engines);

    // Other bytes are other data, and a run of the old ones does not go on.
    std::fs::write(place.path().join("shop.sql.gz"), gzip(&dump_text().replace("(100, 1100)", "(100, 1101)"))).unwrap();
    let (_, err) = place.expect(2, &["run", "--resume", "last"]);
    assert!(err.contains("shop.sql.gz has changed since the run was planned"), "{err}");
    let one = experiment("{ name = \"it\", engine = \"sqlite\" }", &format!("{RESTORED}restore = \"shop.sql.gz\""));
    place.write("try.toml", &one);
    let (_, err) = place.expect(4, &["run", "try.toml", "--accept-noisy", "--runs", "one"]);
    assert!(err.contains("105050 was expected, 105051 found"), "{err}");

    let check = |engine: &str, expected: &str| {
        place.write("broken.sql", &format!("{SCHEMA}INSERT INTO itme VALUES (1, 2);\n"));
        place.write("try.toml", &experiment(&format!("{{ name = \"it\", {engine} }}"), "restore = \"broken.sql\""));
        let (_, err) = place.expect(4, &["run", "try.toml", "--accept-noisy", "--runs", "broken"]);
        assert!(err.contains("/broken.sql") && err.contains(expected), "{err}");
    };
    let refused = ["no such table: itme", "itme' doesn't exist", "relation \"itme\" does not exist"];
    let refused_by = |engine: &String| ["sqlite", "mariadb", "postgres"].iter().position(|kind| engine.contains(kind));
    engines.iter().for_each(|engine| check(engine, refused[refused_by(engine).unwrap()]));
}

/// The folder in which the cache keeps a server's loaded data, copied to `name` without dbduel's own note.
fn data_directory(place: &Place, engine: &str, name: &str) -> PathBuf {
    let snapshots = std::fs::read_dir(place.path().join("cache/snapshots")).unwrap();
    let is_of = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(engine);
    let snapshot = snapshots.map(|entry| entry.unwrap().path()).find(is_of).unwrap();
    let copy = place.path().join(name);
    assert!(Command::new("cp").arg("-a").arg(snapshot.join("data")).arg(&copy).status().unwrap().success());
    let _ = std::fs::remove_file(copy.join("dbduel-database"));
    copy
}

fn bytes_of(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|file| file.is_file()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

/// Trials on copies of what the dump has left, and what is refused.
fn run_on_data_directories(place: &Place, engines: &[String]) {
    let names = ["sqlite", "mariadb", "postgres"];
    let here = names.into_iter().filter(|name| engines.iter().any(|engine| engine.contains(name)));
    let places: Vec<(&str, PathBuf)> =
        here.map(|engine| (engine, data_directory(place, engine, &format!("data-{engine}")))).collect();
    let entry = |(engine, path): &(&str, PathBuf)| match *engine {
        "sqlite" => format!("sqlite = \"{}/bench.db\"", path.display()),
        engine => format!("{engine} = \"{}\"", path.display()),
    };
    let contenders = engines.iter().enumerate().map(|(at, engine)| format!("{{ name = \"e{at}\", {engine} }}"));
    let data: Vec<String> = places.iter().map(entry).collect();
    let workload = format!("{RESTORED}data = {{ {} }}\n", data.join(", "));
    let file = experiment(&contenders.collect::<Vec<_>>().join(", "), &workload);
    let file = file.replace("blocks = 2", "blocks = 1");
    place.write("data.toml", &file);
    let before: Vec<_> = places.iter().map(|(_, path)| bytes_of(path)).collect();
    let (report, _) = place.expect(0, &["run", "data.toml", "--accept-noisy", "--runs", "data", "--json"]);
    assert!(!report.contains("\"status\": \"failed\""), "{report}");
    let after: Vec<_> = places.iter().map(|(_, path)| bytes_of(path)).collect();
    assert!(before == after, "a data directory was opened in place");

    let refused = |expected: &str| {
        let (_, err) = place.expect(2, &["plan", "data.toml"]);
        assert!(err.contains(expected), "{err}");
    };
    let path_of = |kind: &str| places.iter().find(|(engine, _)| *engine == kind).map(|(_, path)| path);
    std::fs::write(path_of("sqlite").unwrap().join("bench.db-wal"), "left").unwrap();
    refused("bench.db was not shut down cleanly");
    if let Some(postgres) = path_of("postgres") {
        std::fs::write(postgres.join("postmaster.pid"), format!("{}\n", std::process::id())).unwrap();
        refused(&format!("data-postgres is in use by process {}", std::process::id()));
        std::fs::write(postgres.join("PG_VERSION"), "9.5\n").unwrap();
        refused("data-postgres is of PostgreSQL 9.5, and the contender is postgres ");
    }
    if let Some(mariadb) = path_of("mariadb") {
        std::fs::write(mariadb.join("mariadb_upgrade_info"), "10.4.3-MariaDB").unwrap();
        refused("data-mariadb is of MariaDB 10.4, and the contender is mariadb ");
    }
}

#[test]
fn cleanup_names_what_setup_made_beside_tables() {
    let place = shop();
    place.write(
        "schema.sql",
        &format!("{SCHEMA}CREATE INDEX s ON item (stock);\nCREATE VIEW few AS\nSELECT * FROM item;\n"),
    );
    place.write("drop.sql", "DROP VIEW few;\n");
    let target = format!("sqlite://{}", place.path().join("mine.db").display());
    let words = |verb| [verb, "order.sql", "--setup=schema.sql", "--target", &target].map(str::to_owned);
    let run = |verb, more: &[&str]| {
        let words = words(verb);
        let words: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
        place.expect(0, &words).0
    };
    run("prepare", &[]);
    let left = run("cleanup", &[]);
    assert_eq!(
        left,
        "dropped item, sold\nleft, because setup made it and there is no `teardown`:\n  CREATE VIEW few AS\n"
    );
    std::fs::remove_file(place.path().join("mine.db")).unwrap();
    run("prepare", &[]);
    assert!(!run("cleanup", &["--teardown=drop.sql"]).contains("left"));
}
