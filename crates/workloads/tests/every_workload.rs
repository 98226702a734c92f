//! Every workload from its tables to its check, on the one engine that needs no server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use driver::{Admin, Dialect, Endpoint, Isolation, Login, Target};
use load::{ErrorPolicy, Load, LoadOptions, Loader, OptionValue, Options, Setting, Tally, Workload, wrong_answers};
use workloads::WORKLOADS;

fn text(key: &str, word: &str) -> (String, OptionValue) {
    (key.to_owned(), OptionValue::Text(word.to_owned()))
}

fn flag(key: &str, flag: bool) -> (String, OptionValue) {
    (key.to_owned(), OptionValue::Flag(flag))
}

fn build(name: &str, given: &[(String, OptionValue)]) -> Arc<dyn Workload> {
    let kind = workloads::workload_kind(name).unwrap();
    // Kinds of statements read ranges of 10,000 rows.
    let rows = if name == "micro" { 10_000 } else { 500 };
    let small = [("rows", rows), ("tables", 2)].map(|(key, number)| (key.to_owned(), OptionValue::Number(number)));
    let single = name.starts_with("select_random");
    let known = |key: &str| kind.options.iter().any(|spec| spec.name == key) && !(single && key == "tables");
    let small = small.into_iter().filter(|(key, _)| known(key));
    let given: BTreeMap<_, _> = small.chain(given.iter().cloned()).collect();
    (kind.build)(&Options::new(kind.options, &given).unwrap()).unwrap().into()
}

const SETTING: Setting = Setting { dialect: Dialect::Sqlite, isolation: Isolation::Serializable };

/// Loads, runs so many transactions with two clients, and checks.
fn run(workload: &Arc<dyn Workload>, transactions: u64) -> Tally {
    run_with(workload, transactions, LoadOptions { clients: 2, ..LoadOptions::default() })
}

/// The workload's tables in a file of this folder.
fn loaded(workload: &Arc<dyn Workload>, folder: &Path) -> Target {
    let login = Login { user: String::new(), password: None, database: None, ..Login::default() };
    let target = Target { dialect: Dialect::Sqlite, endpoint: Endpoint::File(folder.join("every.db")), login };
    let interrupted = AtomicBool::new(false);
    Loader { target: &target, sessions: 1, interrupted: &interrupted }.load(&**workload, 1, &mut |_| ()).unwrap();
    target
}

fn run_with(workload: &Arc<dyn Workload>, transactions: u64, options: LoadOptions) -> Tally {
    let folder = tempfile::tempdir().unwrap();
    let (target, interrupted) = (loaded(workload, folder.path()), AtomicBool::new(false));
    let mut admin = Admin::connect(Dialect::Sqlite, &target.endpoint, &target.login, Duration::from_secs(30)).unwrap();
    assert_eq!(workload.check(&mut admin, None).unwrap(), Vec::<String>::new(), "before the run");
    for sql in workload.reuses_tables().map(|tables| tables.prepare_run(Dialect::Sqlite)).unwrap_or_default() {
        admin.run(&sql).unwrap();
    }
    let policy = ErrorPolicy { ignored: workload.ignored_errors(Dialect::Sqlite), ..ErrorPolicy::default() };
    let options = LoadOptions { transactions_max: Some(transactions), policy, ..options };
    let load = Load::prepare(workload, &target, options, &interrupted).unwrap();
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole().unwrap();
    assert_eq!(workload.check(&mut admin, Some(&tally)).unwrap(), Vec::<String>::new(), "after the run");
    assert_eq!(wrong_answers(&**workload, &tally, &SETTING), Vec::<String>::new());
    let ends = tally.committed + tally.rolled_back;
    assert_eq!((ends, tally.due, tally.ended), (transactions, transactions, transactions));
    tally
}

#[test]
fn every_workload_runs_and_leaves_right_data() {
    // What runs once through has no transactions to count; `sqlbench.rs`, `micro.rs` and `tpch.rs` run it. Own SQL and
    // a log have no default.
    let with_defaults = WORKLOADS.iter().filter(|kind| !["script", "replay"].contains(&kind.name));
    let (passes, kinds): (Vec<_>, Vec<_>) = with_defaults.partition(|kind| build(kind.name, &[]).is_one_pass());
    assert_eq!(passes.len(), 3);
    for kind in kinds {
        let tally = run(&build(kind.name, &[]), 60);
        assert!(tally.queries() > 0, "{} sent nothing", kind.name);
    }
}

/// Tables from the user's SQL, generated rows, two transactions by weight, notes and checks.
#[test]
fn own_sql_runs_as_any_workload() {
    let file = |path: &str, text: &str| OptionValue::File { path: path.to_owned(), text: text.to_owned() };
    let table = |entries: Vec<(&str, OptionValue)>| {
        OptionValue::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    };
    let read = file("read.sql", "\\set id random(1, 500)\n-- expect: 1 row\nSELECT v FROM own WHERE id = :id;");
    let write = "\\set id random_zipfian(1, 500, 1.2)\nBEGIN;\n-- expect: changed 1\nUPDATE own SET v = v + 1 WHERE id = :id;\nCOMMIT;";
    let files = [table(vec![("path", read), ("weight", OptionValue::Number(3))]), file("write.sql", write)];
    let columns = table(vec![("id", text("", "row").1), ("v", text("", "row * 2").1)]);
    let rows = table(vec![("name", text("", "own").1), ("rows", OptionValue::Number(500)), ("columns", columns)]);
    let check = table(vec![("sql", text("", "SELECT count(*) FROM own").1), ("expect", text("", "500").1)]);
    let setup = file("schema.sql", "CREATE TABLE own (id INTEGER PRIMARY KEY, v INTEGER);");
    let given = [
        ("files", OptionValue::Items(files.into())),
        ("setup", OptionValue::Items(vec![setup])),
        ("table", OptionValue::Items(vec![rows])),
        ("checks", OptionValue::Items(vec![check])),
    ];
    let tally = run(&build("script", &given.map(|(key, value)| (key.to_owned(), value))), 200);
    assert_eq!(tally.kinds.iter().map(|kind| kind.committed).sum::<u64>(), 200);
    assert!(tally.kinds[0].committed > tally.kinds[1].committed && tally.writes == tally.kinds[1].committed);
}

#[test]
fn the_options_that_change_tables_or_statements_work_on_every_path() {
    run(&build("oltp_read_write", &[text("compat", "sysbench-1.0")]), 30);
    run(&build("oltp_read_write", &[text("db_ps_mode", "disable"), flag("create_secondary", false)]), 30);
    run(&build("oltp_read_write", &[flag("secondary", true), flag("skip_trx", true)]), 30);
    run(&build("oltp_insert", &[flag("auto_inc", false)]), 30);
    for (kind, reads, writes) in
        [("select", 30, 0), ("update_key", 0, 30), ("update_nokey", 0, 30), ("insert", 0, 30), ("delete", 0, 30)]
    {
        let tally = run(&build("oltp", &[text("mode", "nontrx"), text("nontrx_mode", kind)]), 30);
        assert_eq!((tally.reads, tally.writes, tally.other), (reads, writes, 0), "{kind}");
    }
    let own = [text("mode", "nontrx"), text("nontrx_mode", "insert"), flag("auto_inc", false)];
    run(&build("oltp", &own), 30);
}

/// The second of two servers has no tables: a client there cannot start, and the error names the server.
#[test]
fn clients_go_to_several_servers_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let (workload, interrupted) = (build("oltp_point_select", &[]), AtomicBool::new(false));
    let target = loaded(&workload, folder.path());
    let empty = folder.path().join("empty.db");
    let prepare = |clients| {
        let elsewhere = vec![Endpoint::File(empty.clone())];
        let options =
            LoadOptions { clients, elsewhere, transactions_max: Some(clients.into()), ..LoadOptions::default() };
        Load::prepare(&workload, &target, options, &interrupted)
    };
    let tally = prepare(1).unwrap().measure(None, &mut |_| (), &mut || ()).whole().unwrap();
    assert_eq!(tally.committed, 1);
    let failure = prepare(2).map(|_| ()).unwrap_err().to_string();
    assert!(failure.contains("empty.db: ") && failure.contains("no such table"), "{failure}");
}

/// Each is one transaction of a client and none of the slot's; the slot comes to an end with the queue.
#[test]
fn queued_deliveries_are_all_run_and_counted_apart() {
    for form in ["rows", "batch"] {
        let tally = run(&build("tpcc", &[text("form", form), text("delivery", "queued")]), 4 * 46);
        let [.., queued, _, deferred] = &tally.kinds[..] else { panic!("six kinds") };
        assert!(queued.committed > 0, "{form}: some client has played a deck");
        assert_eq!((deferred.committed, deferred.failed), (queued.committed, 0), "{form}");
        assert_eq!(deferred.response.count(), deferred.committed);
        assert_eq!(
            (tally.journal.len() as u64, tally.journal.lost),
            (deferred.committed, 0),
            "{form}: a line for each"
        );
        for line in tally.journal.lines() {
            assert!((0..=line.ended_ns).contains(&line.queued_ns), "{form}: {line:?}, from the interval's beginning");
            assert_eq!((line.numbers.len(), line.numbers[2..].contains(&0)), (12, false), "{form}: {line:?}");
        }
        assert!(queued.response.max_ms() < deferred.response.max_ms(), "nothing was sent when they were queued");
    }
}

/// Without time behind the interval most of them stay in the queue, and that is no reason to lose one.
#[test]
fn queued_deliveries_that_were_not_run_are_counted_as_failed() {
    let options = LoadOptions { clients: 8, drain_max: Duration::ZERO, ..LoadOptions::default() };
    let tally = run_with(&build("tpcc", &[text("delivery", "queued")]), 8 * 23, options);
    let [.., queued, _, deferred] = &tally.kinds[..] else { panic!("six kinds") };
    assert!(queued.committed > 0);
    assert_eq!(deferred.committed + deferred.failed, queued.committed);
    assert_eq!(deferred.response.count(), deferred.committed);
}

#[test]
fn rows_that_a_client_holds_back_are_sent_at_its_end() {
    let tally = run(&build("bulk_insert", &[]), 1000);
    assert_eq!(tally.committed, 1000);
    assert!((1..=2).contains(&tally.writes), "one statement of each client, not {}", tally.writes);
}

#[test]
fn what_is_explained_is_what_a_server_can_run() {
    for (name, given, expected) in [
        ("oltp_read_write", vec![], 8),
        ("oltp_point_select", vec![], 1),
        ("oltp_insert", vec![], 0),
        ("select_random_points", vec![], 1),
        ("select_random_ranges", vec![], 1),
        ("oltp", vec![text("mode", "complex")], 8),
        ("tpcc", vec![("warehouses".to_owned(), OptionValue::Number(1))], 27),
        ("sql-bench", vec![], 0),
        ("micro", vec![], 61),
    ] {
        let workload = build(name, &given);
        let statements =
            workload.has_plans().map(|plans| plans.explained_statements(Dialect::Sqlite)).unwrap_or_default();
        assert_eq!(statements.len(), expected, "{name}: {statements:?}");
        let folder = tempfile::tempdir().unwrap();
        let file = Endpoint::File(folder.path().join("explained.db"));
        let mut admin = Admin::connect(Dialect::Sqlite, &file, &Login::default(), Duration::from_secs(30)).unwrap();
        for sql in workload.tables(Dialect::Sqlite).iter().flat_map(|table| table.ddl()) {
            admin.run(sql).unwrap();
        }
        for one in statements {
            let plan = admin.rows(&format!("EXPLAIN QUERY PLAN {}", one.sql));
            assert!(plan.is_ok(), "{name}, {}: {} gives {plan:?}", one.name, one.sql);
        }
    }
}

/// An engine that acknowledges changes and drops them, and one that has lost rows.
#[test]
fn a_database_that_does_not_do_what_it_acknowledges_is_found_out() {
    let drops = |event: &str| format!("CREATE TRIGGER t BEFORE {event} ON sbtest1 BEGIN SELECT RAISE(IGNORE); END");
    let check = |name: &str, sabotage: &str, expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let workload = build(name, &[]);
        let (target, interrupted) = (loaded(&workload, folder.path()), AtomicBool::new(false));
        let mut admin =
            Admin::connect(Dialect::Sqlite, &target.endpoint, &target.login, Duration::from_secs(30)).unwrap();
        admin.run(sabotage).unwrap();
        let options = LoadOptions { clients: 2, transactions_max: Some(200), ..LoadOptions::default() };
        let load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
        let tally = load.measure(None, &mut |_| (), &mut || ()).whole().unwrap();
        let wrong = wrong_answers(&*workload, &tally, &SETTING);
        let data = workload.check(&mut admin, Some(&tally)).unwrap();
        assert!(wrong.iter().chain(&data).any(|line| line.starts_with(expected)), "{name}: {wrong:?} {data:?}");
    };
    check("oltp_point_select", "DELETE FROM sbtest1 WHERE id > 250", "point-select: 200 rows expected in 200 answers");
    check("oltp_read_only", "DELETE FROM sbtest1 WHERE id > 250", "simple-range: ");
    check("oltp_update_index", &drops("UPDATE"), "update-index: 200 matched rows expected");
    check("oltp_insert", &drops("INSERT"), "insert-numbered-sqlite: 200 matched rows expected");
    // It counts a delete and an insert, and both are gone afterwards.
    let undone = "CREATE TRIGGER t AFTER INSERT ON sbtest1 BEGIN DELETE FROM sbtest1 WHERE id = NEW.id; END";
    check("oltp_insert", undone, "1");
}
