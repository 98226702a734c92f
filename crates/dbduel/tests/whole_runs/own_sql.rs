//! The user's own SQL from outside: scripts, checks and tables, with the real program on SQLite.

use std::path::Path;

use crate::support::Place;
use rusqlite::Connection;

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
