//! Scripts run on SQLite, without a load around them.

use std::collections::BTreeMap;
use std::time::Duration;

use driver::{Admin, AnyConnection, Dialect, Endpoint, Login, complete};
use load::{
    Attempt, Client, MonotonicClock, OptionValue, Options, Outcome, Recorder, Slot, StatementTally, Timeline,
    TriedOutcome, TriedStatement, TriedTransaction, Turn, Window, Workload,
};
use tempfile::TempDir;

use crate::client::ScriptClient;
use crate::options::{self, OPTIONS};
use crate::workload::Script;

fn file(path: &str, text: &str) -> OptionValue {
    OptionValue::File { path: path.to_owned(), text: text.to_owned() }
}

fn table(entries: &[(&str, OptionValue)]) -> OptionValue {
    OptionValue::Table(entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
}

fn text(text: &str) -> OptionValue {
    OptionValue::Text(text.to_owned())
}

/// A script of one file over two tables, with further options.
fn read(script: &str, more: &[(&str, OptionValue)]) -> Result<Script, load::OptionError> {
    let setup = "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, stock INTEGER, price REAL);\nCREATE TABLE log (item INTEGER);";
    let columns = table(&[
        ("id", text("row")),
        ("name", text("concat('item', row)")),
        ("stock", text("10 * hot")),
        ("price", text("row / 4.0")),
    ]);
    let item = table(&[("name", text("item")), ("rows", OptionValue::Number(100)), ("columns", columns)]);
    let mut given: BTreeMap<String, OptionValue> = BTreeMap::from([
        ("setup".to_owned(), OptionValue::Items(vec![file("schema.sql", setup)])),
        ("table".to_owned(), OptionValue::Items(vec![item])),
        ("variables".to_owned(), table(&[("hot", OptionValue::Number(3))])),
        ("files".to_owned(), OptionValue::Items(vec![table(&[("path", file("shop/order.sql", script))])])),
    ]);
    given.extend(more.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    options::read(&Options::new(OPTIONS, &given)?)
}

/// The place of the one client, with a measured interval without an end.
fn slot(script: &Script) -> Slot {
    let timeline = Timeline::default();
    timeline.open_window(Window { start_ns: 0, end_ns: u64::MAX });
    let recorder = Recorder::new(0, false).with_statements(script.timed_statements(Dialect::Sqlite));
    Slot { input_seed: 42, data_seed: 7, ..Slot::alone(MonotonicClock::sleeping(), timeline, recorder) }
}

#[test]
fn every_protocol_brings_the_same_values() {
    let script = "\\set id random(1, 100)\n\\set less -:id\n\\set half :id / 2.0\n\\set no null\n\\set yes true\n\
        SELECT 'it''s \\ ' || name AS text FROM item WHERE id = :id AND :yes AND 1-:less > 1 \\gset\n\
        INSERT INTO log (item) VALUES (:text || ' ' || :half || ' ' || (0-:less) || ' ' || coalesce(:no, 'none'));\n\
        -- expect: value :text\nSELECT :text;\n";
    let logged = |protocol: &str| {
        let mut ran = run(read(script, &[("protocol", text(protocol))]).unwrap(), 20);
        assert_eq!((ran.outcomes.len(), &ran.wrong), (20, &Vec::<String>::new()), "{protocol}");
        assert!(ran.outcomes.iter().all(|one| *one == Outcome::Committed), "{protocol}");
        ran.admin.rows("SELECT item FROM log ORDER BY rowid").unwrap()
    };
    let prepared = logged("prepared");
    assert!(prepared[0][0].as_ref().unwrap().starts_with("it's \\ item"), "{:?}", prepared[0]);
    assert_eq!(logged("extended"), prepared);
    assert_eq!(logged("simple"), prepared);
}

/// Each transaction once, on the loaded tables, with the rows that are then in `log`.
fn tried(script: &str) -> (Vec<TriedTransaction>, String) {
    let script = read(script, &[]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, login) = (Endpoint::File(folder.path().join("db")), Login::default());
    let limit = Duration::from_secs(5);
    let mut admin = Admin::connect(Dialect::Sqlite, &endpoint, &login, limit).unwrap();
    admin.run("CREATE TABLE item (id INTEGER PRIMARY KEY, stock INTEGER)").unwrap();
    admin.run("CREATE TABLE log (item INTEGER)").unwrap();
    admin.run("INSERT INTO item VALUES (1, 10)").unwrap();
    let mut connect = || AnyConnection::connect(Dialect::Sqlite, &endpoint, &login, limit);
    let tried = script.runs_once().unwrap().run_once(&mut connect, 1).unwrap();
    (tried, admin.value("SELECT count(*) FROM log").unwrap().unwrap())
}

#[test]
fn a_transaction_that_is_tried_leaves_nothing_behind() {
    let outcomes = |script: &str| {
        let (tried, logged) = tried(script);
        assert_eq!(logged, "0", "{script}");
        assert_eq!((tried.len(), tried[0].name.as_str()), (1, "order"));
        let outcome = |one: &TriedStatement| match one.outcome {
            TriedOutcome::Answered { rows, .. } => rows.to_string(),
            TriedOutcome::Failed => "failed".to_owned(),
            TriedOutcome::HeldBack => "held back".to_owned(),
            TriedOutcome::NotReached => "not reached".to_owned(),
        };
        (tried[0].statements.iter().map(outcome).collect::<Vec<_>>().join(", "), tried[0].failure.clone())
    };
    let insert = "INSERT INTO log (item) VALUES (1);\n";
    assert_eq!(outcomes(&format!("BEGIN;\n{insert}COMMIT;")), ("0, 1, held back".to_owned(), None));
    assert_eq!(outcomes(&format!("{insert}{insert}SELECT * FROM log;")), ("1, 1, 2".to_owned(), None));
    let twice = format!("{insert}BEGIN;\n{insert}END;\nBEGIN;\n{insert}ROLLBACK;\nSELECT item FROM log;");
    let (seen, failure) = outcomes(&twice);
    assert_eq!((seen.as_str(), failure), ("1, 0, 1, held back, 0, 1, 0, 0", None));
    let made = "CREATE TABLE more (a INTEGER);\nDROP TABLE item;\n";
    assert_eq!(outcomes(&format!("{made}{insert}")), ("0, 0, 1".to_owned(), None));
    let note = format!("{insert}-- expect: 2 rows\nSELECT 1 FROM item;\nSELECT 2;");
    let why = "shop/order.sql:3: 2 rows expected; it brought 1 row";
    assert_eq!(outcomes(&note), ("1, failed, not reached".to_owned(), Some(why.to_owned())));
    let value = format!("{insert}\\set z 0\n\\set x 1 / :z\nSELECT :x;");
    let why = "shop/order.sql:3: division by zero";
    assert_eq!(outcomes(&value), ("1, not reached".to_owned(), Some(why.to_owned())));
    let (seen, refused) = outcomes(&format!("{insert}SELECT abs(-9223372036854775807 - 1);"));
    let refused = refused.unwrap();
    assert!(seen == "1, failed" && refused.contains("shop/order.sql:2: integer overflow"), "{seen}: {refused}");
    let (seen, refused) = outcomes("SELECT absent FROM item;");
    let refused = refused.unwrap();
    assert!(seen == "not reached" && refused.contains("shop/order.sql:1: no such column"), "{seen}: {refused}");
}

#[test]
fn what_cannot_be_rolled_back_is_named() {
    let (tried, _) = tried("INSERT INTO log (item) VALUES (1);\nCOMMIT;\nANALYZE;");
    assert_eq!(tried[0].lasting, ["ANALYZE"]);
}

/// What some transactions have left.
struct Ran {
    outcomes: Vec<Outcome>,
    attempt: Attempt,
    wrong: Vec<String>,
    admin: Admin,
    statements: Vec<StatementTally>,
    /// Of the tables' file.
    folder: TempDir,
}

/// Loads the tables into a new file and runs so many transactions of one client.
fn run(script: Script, transactions: u64) -> Ran {
    let folder = tempfile::tempdir().unwrap();
    let (endpoint, login) = (Endpoint::File(folder.path().join("db")), Login::default());
    let limit = Duration::from_secs(5);
    let mut admin = Admin::connect(Dialect::Sqlite, &endpoint, &login, limit).unwrap();
    for (index, made) in script.tables(Dialect::Sqlite).iter().enumerate() {
        for sql in &made.create {
            admin.run(sql).unwrap();
        }
        if made.units > 0 {
            let columns: Vec<&str> = made.columns.iter().map(AsRef::as_ref).collect();
            let mut give =
                |sink: &mut driver::RowSink<'_>| (0..made.units).try_for_each(|unit| script.rows(7, index, unit, sink));
            admin.load(&made.name, &columns, &mut give).unwrap();
        }
    }
    let connection = AnyConnection::connect(Dialect::Sqlite, &endpoint, &login, limit).unwrap();
    let slot = slot(&script);
    let mut client = ScriptClient::new(script.clone(), connection, &slot).unwrap();
    let mut attempt = Attempt::default();
    let outcomes = (0..transactions)
        .map(|number| complete(client.attempt(Turn { series: 0, number, retry: 0 }, &mut attempt)).unwrap())
        .collect();
    let sites = script.sites(Dialect::Sqlite).zip(client.answers());
    let first = |seen: &load::Answers| seen.first_wrong.map(|turn| (turn.series, turn.number));
    assert!(client.answers().iter().all(|seen| (seen.wrong > 0) == (first(seen) == Some((0, 0)))));
    let wrong =
        sites.filter(|(_, seen)| seen.wrong > 0).map(|(site, seen)| format!("{site}: {}", seen.wrong)).collect();
    drop(client);
    let statements = std::mem::take(&mut slot.recorder.borrow_mut().tally.statements);
    Ran { outcomes, attempt, wrong, admin, statements, folder }
}

#[test]
fn transactions_run_with_drawn_values_branches_and_answers() {
    let script = "\\set id random(1, 100)\nBEGIN;\n-- expect: 1 row\nSELECT stock, name AS title FROM item WHERE id = :id \\gset\n\
        \\if :stock > 0\n-- expect: changed 1\nUPDATE item SET stock = stock - 1 WHERE id = :id;\n\
        -- expect: changed 1\nINSERT INTO log (item) VALUES (:id);\n\\else\nSELECT :title;\n\\endif\nCOMMIT;\n";
    let Ran { outcomes, attempt, wrong, mut admin, statements, folder: _folder } = run(read(script, &[]).unwrap(), 50);
    assert_eq!((outcomes, wrong), (vec![Outcome::Committed; 50], vec![]));
    assert_eq!((attempt.reads, attempt.writes, attempt.other), (50, 100, 100));
    let calls: Vec<_> = statements.iter().map(|one| (&*one.name, one.count, one.rows, one.latency.count())).collect();
    let expected = [
        ("order.2", 50, 0, 50),
        ("order.4", 50, 50, 50),
        ("order.7", 50, 50, 50),
        ("order.9", 50, 50, 50),
        ("order.11", 0, 0, 0),
        ("order.13", 50, 0, 50),
    ];
    assert_eq!(calls, expected);
    assert!(statements.iter().all(|one| (one.failed, one.retries) == (0, 0)));
    assert_eq!(admin.value("SELECT count(*) FROM log").unwrap().as_deref(), Some("50"));
    assert_eq!(admin.value("SELECT sum(30 - stock) FROM item").unwrap().as_deref(), Some("50"));
}

#[test]
fn a_violated_note_and_a_missing_value_fail_the_transaction() {
    let check = |script: &str, expected: &str| {
        let Ran { outcomes, wrong, mut admin, folder: _folder, .. } = run(read(script, &[]).unwrap(), 2);
        assert_eq!((outcomes, wrong), (vec![Outcome::Failed; 2], vec![expected.to_owned()]), "{script}");
        assert_eq!(admin.value("SELECT count(*) FROM log").unwrap().as_deref(), Some("0"), "{script}");
    };
    let open = "BEGIN;\nINSERT INTO log (item) VALUES (1);\n";
    check(&format!("{open}-- expect: 1 row\nSELECT 1 FROM item WHERE id = 101;\nCOMMIT;"), "shop/order.sql:4: 2");
    check(
        &format!("{open}-- expect: changed 1\nUPDATE item SET stock = 1 WHERE id < 3;\nCOMMIT;"),
        "shop/order.sql:4: 2",
    );
    check(&format!("{open}\\set x 1\n-- expect: value :x\nSELECT 2;\nCOMMIT;"), "shop/order.sql:5: 2");
    check(&format!("{open}SELECT id FROM item WHERE id < 3 \\gset\nCOMMIT;"), "shop/order.sql:3: 2");
    check(&format!("{open}\\set z 0\n\\set x 1 / :z\nCOMMIT;"), "shop/order.sql:4: 2");
    check(open, "shop/order.sql (a transaction is open at its end): 2");
}

#[test]
fn equal_seeds_give_equal_inputs_and_files_are_drawn_by_weight() {
    let two = |path: &str, weight: i64| {
        let script = file(
            path,
            &format!("\\set id random_zipfian(1, 1000, 1.1)\nINSERT INTO log (item) VALUES ({weight} * 10000 + :id);"),
        );
        table(&[("path", script), ("weight", OptionValue::Number(weight))])
    };
    let read = || read("", &[("files", OptionValue::Items(vec![two("a.sql", 3), two("b-c.sql", 7)]))]).unwrap();
    let names: Vec<_> = read().spec().kinds.into_iter().map(|kind| kind.name.into_owned()).collect();
    assert_eq!(names, ["a", "b_c"]);
    let rows = |mut ran: Ran| ran.admin.rows("SELECT item FROM log ORDER BY rowid").unwrap();
    let one = rows(run(read(), 200));
    assert_eq!(one, rows(run(read(), 200)));
    let light = one.iter().filter(|row| row[0].as_ref().is_some_and(|item| item.starts_with('3'))).count();
    assert!((40..=80).contains(&light), "{light} of 200");
}

#[test]
fn a_file_may_hold_several_transactions() {
    let shared = "\\set id 5\n-- transaction: heavy weight 2\nINSERT INTO log (item) VALUES (10 + :id);\n";
    let shop = format!("{shared}-- transaction: light\nINSERT INTO log (item) VALUES (20 + :id);\nSELECT :id;\n");
    let entry = |more: &[(&str, OptionValue)]| {
        let mut entry = vec![("path", file("shop.sql", &shop)), ("weight", OptionValue::Number(3))];
        entry.extend(more.iter().cloned());
        OptionValue::Items(vec![table(&entry), table(&[("path", file("b.sql", "SELECT 1;"))])])
    };
    let script = read("", &[("files", entry(&[]))]).unwrap();
    let named: Vec<_> = script.transactions.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(named, [("heavy", 6), ("light", 3), ("b", 1)]);
    assert_eq!(script.timed_statements(Dialect::Sqlite), ["heavy.3", "light.5", "light.6", "b.1"]);
    let mut ran = run(script, 100);
    let rows = ran.admin.rows("SELECT item, count(*) FROM log GROUP BY 1 ORDER BY 1").unwrap();
    let items: Vec<_> = rows.iter().map(|row| row[0].as_deref().unwrap()).collect();
    assert_eq!(items, ["15", "25"]);
    let refused = |more: &[(&str, OptionValue)], expected: &str| {
        let why = read("", &[("files", entry(more))]).unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
    };
    refused(&[("name", text("shop"))], "shop.sql names its transactions by `-- transaction:`");
    refused(&[("sqlite", file("lite.sql", "SELECT 1;"))], "shop.sql and lite.sql have other transactions");
    refused(&[("sqlite", file("lite.sql", &shop.replace("20 + :id", ":ie")))], "lite.sql:5:32: unknown variable `ie`");
}

#[test]
fn what_cannot_be_honoured_is_refused_by_name() {
    let check = |more: &[(&str, OptionValue)], option: &str, expected: &str| {
        let error = read("SELECT 1;", more).unwrap_err();
        let told = format!("{} {}", error.expected, error.in_files.join("\n"));
        assert!(error.option == option && told.contains(expected), "{error:?}");
    };
    let files = |entries: &[(&str, OptionValue)]| OptionValue::Items(vec![table(entries)]);
    let path = || ("path", file("a.sql", "SELECT 1;"));
    check(&[("protocol", text("text"))], "protocol", "simple, extended, prepared");
    let pipeline = files(&[("path", file("a.sql", "\\startpipeline\nSELECT 1;\n\\endpipeline\n"))]);
    check(&[("files", pipeline), ("protocol", text("simple"))], "protocol", "protocol simple has no pipelines");
    check(
        &[("files", files(&[path(), ("mariadb", file("m.sql", "SELECT 1;"))]))],
        "files",
        "`mariadb` is not built yet",
    );
    check(&[("files", files(&[path(), ("wieght", OptionValue::Number(1))]))], "files", "nearest is weight");
    check(&[("files", files(&[path(), ("weight", OptionValue::Number(-1))]))], "files", "weight is -1");
    check(&[("files", files(&[path(), ("weight", OptionValue::Number(0))]))], "files", "must not be zero");
    check(&[("files", files(&[("path", file("a.sql", "SELECT :x;"))]))], "files", "a.sql:1:8: unknown variable `x`");
    check(&[("files", OptionValue::Items(vec![]))], "files", "one file for each transaction");
    check(&[("setup", OptionValue::Items(vec![]))], "table", "setup = [\"schema.sql\"] is missing");
    let at_load = files(&[("sql", text("SELECT 1")), ("expect", text("= load")), ("when", text("load"))]);
    check(&[("checks", at_load)], "checks", "needs when = \"after\"");
    let columns = table(&[("id", text("rwo"))]);
    let rows = files(&[("name", text("t")), ("rows", OptionValue::Number(1)), ("columns", columns)]);
    check(&[("table", rows)], "table", "t.id:1:1: unknown variable `rwo`");
}

#[test]
fn end_is_refused_where_it_does_not_commit() {
    let script = read("BEGIN;\nSELECT 1;\nEND;\n", &[]).unwrap();
    let why = "shop/order.sql:3: END does not commit in MySQL; write COMMIT";
    assert_eq!(script.runs_on(Dialect::MySql), Err(why.to_owned()));
    assert_eq!((script.runs_on(Dialect::Postgres), script.runs_on(Dialect::Sqlite)), (Ok(()), Ok(())));
}

#[test]
fn checks_look_at_the_tables_when_they_are_asked_to() {
    let check = |sql: &str, expect: &str, when: &str| {
        table(&[("sql", text(sql)), ("expect", text(expect)), ("when", text(when))])
    };
    let checks = OptionValue::Items(vec![
        check("SELECT count(*) FROM item", "100", "load"),
        check("SELECT count(*) FROM item", "99", "load"),
        check("SELECT count(*) FROM log", "1", "after"),
        check("SELECT sum(stock) FROM item", "= load", "after"),
    ]);
    let script = read("SELECT 1;", &[("checks", checks)]).unwrap();
    let mut admin = run(script.clone(), 1).admin;
    let load = script.check(&mut admin, None).unwrap();
    assert_eq!(load, ["SELECT count(*) FROM item: 99 was expected, 100 found"]);
    let after = script.check(&mut admin, Some(&load::Tally::default())).unwrap();
    assert_eq!(after, ["SELECT count(*) FROM log: 1 was expected, 0 found"]);
    assert_eq!(script.kept_values(), ["SELECT sum(stock) FROM item"]);
    assert!(script.spec().notes.is_empty() && !script.spec().writes);
    assert_eq!(script.tables(Dialect::MySql).iter().map(|table| table.rows).collect::<Vec<_>>(), [100, 0]);
}

#[test]
fn a_share_of_wrong_answers_is_allowed_where_the_user_says_so() {
    let violations = |allowed: &str| {
        let script = read("-- expect: 0 rows\nSELECT 1;", &[("expect_failures", text(allowed))]).unwrap();
        let seen = |wrong: u64| load::Answers { count: 1_000, wrong, ..load::Answers::default() };
        let setting = load::Setting { dialect: Dialect::Sqlite, isolation: driver::Isolation::Serializable };
        let ended = load::Answers { count: 990, ..load::Answers::default() };
        script.expected_answers(&[seen(10), ended], &setting).iter().flat_map(|one| one.violations()).count()
    };
    assert_eq!((violations("0%"), violations("0.9 %"), violations("1%")), (1, 1, 0));
    let error = read("SELECT 1;", &[("expect_failures", text("1"))]).unwrap_err();
    assert!(error.expected.contains("0% to 100%"), "{error:?}");
}
