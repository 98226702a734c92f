//! The programs of sql-bench at small scale, on the one engine that needs no server: names, counts and
//! statements as the suite's conformance list has them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use driver::{Dialect, Endpoint, Login, Target};
use load::{
    Failure, Gauge, Live, Load, LoadOptions, Measured, OperationTally, OptionValue, Options, ProgramTally, Workload,
};

fn names(key: &str, names: &[&str]) -> (String, OptionValue) {
    (key.to_owned(), OptionValue::List(names.iter().map(|name| (*name).to_owned()).collect()))
}

fn flag(key: &str, flag: bool) -> (String, OptionValue) {
    (key.to_owned(), OptionValue::Flag(flag))
}

/// One pass at small scale, nothing looped.
fn pass(given: &[(String, OptionValue)]) -> Vec<ProgramTally> {
    let small = [flag("small", true), flag("loop_short", false)];
    let given: Vec<_> = small.into_iter().chain(given.iter().cloned()).collect();
    measured(&given, &AtomicBool::new(false), &mut |_| ()).whole().unwrap().programs
}

fn workload(given: &[(String, OptionValue)]) -> Arc<dyn Workload> {
    let kind = workloads::workload_kind("sql-bench").unwrap();
    let given: BTreeMap<_, _> = given.iter().cloned().collect();
    (kind.build)(&Options::new(kind.options, &given).unwrap()).unwrap().into()
}

fn measured(given: &[(String, OptionValue)], interrupted: &AtomicBool, live: &mut dyn FnMut(Live)) -> Measured {
    let workload = workload(given);
    let folder = tempfile::tempdir().unwrap();
    let login = Login { on_connect: vec!["PRAGMA synchronous = OFF".to_owned()], ..Login::default() };
    let target = Target { dialect: Dialect::Sqlite, endpoint: Endpoint::File(folder.path().join("bench.db")), login };
    let options = LoadOptions { gauge: Some(Gauge::new(|| Some(7))), ..LoadOptions::default() };
    let load = Load::prepare(&workload, &target, options, interrupted).unwrap();
    load.measure(None, live, &mut || ())
}

/// The operations of one program as (name, count, executed), all of them answered rightly.
fn counts(program: &str) -> Vec<(&'static str, u64, u64)> {
    let programs = pass(&[names("programs", &[program])]);
    assert_eq!(programs.len(), 1);
    let count = |operation: &OperationTally| {
        assert_eq!((&operation.wrong, &operation.refused), (&None, &None), "{}", operation.name);
        assert_eq!(operation.gauged, Some(0), "{}", operation.name);
        (operation.name, operation.count, operation.executed)
    };
    programs[0].operations.iter().map(count).collect()
}

#[test]
fn connect_counts_connections_and_statements_apart() {
    let expected = [
        ("connect", 100, 0),
        ("connect+select_simple", 100, 100),
        ("select_simple", 1000, 1000),
        ("select_simple_cache", 1000, 1000),
        ("connect+select_1_row", 100, 100),
        ("select_1_row", 1000, 1000),
        ("select_1_row_cache", 1000, 1000),
        ("select_2_rows", 1000, 1000),
        ("select_column+column", 1000, 1000),
        ("select_big_str", 100, 100),
    ];
    assert_eq!(counts("connect"), expected);
}

#[test]
fn alter_table_changes_one_column_after_the_other_where_servers_take_no_more() {
    let expected =
        [("alter_table_add", 92, 92), ("create_index", 8, 8), ("drop_index", 8, 8), ("alter_table_drop", 46, 46)];
    assert_eq!(counts("alter-table"), expected);
}

#[test]
fn atis_makes_28_tables_and_finds_what_it_has_to() {
    let expected = [
        // A DROP and a CREATE each, and seven indexes that need statements of their own in SQLite.
        ("create_table", 28, 63),
        ("insert", 9768, 9768),
        ("select_simple_join", 50, 50),
        ("select_join", 10, 10),
        ("select_key_prefix_join", 10, 10),
        ("select_distinct", 80, 80),
        // 280 where a server has the standard deviation.
        ("select_group", 270, 270),
        ("drop_table", 28, 28),
    ];
    assert_eq!(counts("ATIS"), expected);
}

#[test]
fn big_tables_selects_and_inserts_in_two_ways_each() {
    assert_eq!(counts("big-tables"), [("select_many_fields", 200, 200), ("insert_many_fields", 200, 200)]);
}

#[test]
fn create_counts_a_table_made_and_dropped_once() {
    let expected = [
        ("create_MANY_tables", 10, 10),
        ("select_group_when_MANY_tables", 10, 10),
        ("drop_table_when_MANY_tables", 10, 10),
        ("create+drop", 10, 20),
        // A CREATE with its fifteen indexes, and a DROP.
        ("create_key+drop", 100, 1700),
    ];
    assert_eq!(counts("create"), expected);
}

#[test]
fn wisconsin_reports_the_number_of_its_last_table() {
    let expected =
        [("create_table", 3, 12), ("insert", 31_000, 31_000), ("delete_big", 1, 1), ("wisc_benchmark", 34, 34)];
    assert_eq!(counts("wisconsin"), expected);
}

#[test]
fn fast_packs_rows_into_few_statements() {
    let programs = pass(&[names("programs", &["ATIS", "wisconsin"]), flag("fast", true)]);
    let inserts = |program: &ProgramTally| {
        let insert = program.operations.iter().find(|operation| operation.name == "insert").unwrap();
        assert!(program.operations.iter().all(|operation| operation.wrong.is_none() && operation.refused.is_none()));
        (insert.count, insert.executed)
    };
    // For each of 28 and of 4 tables a statement, since none has rows of a megabyte, and a COMMIT.
    assert_eq!(programs.iter().map(inserts).collect::<Vec<_>>(), [(9768, 56), (31_000, 8)]);
}

#[test]
fn classic_limits_leave_alter_table_as_it_is_on_sqlite() {
    let classic = ("limits".to_owned(), OptionValue::Text("classic".to_owned()));
    let programs = pass(&[names("programs", &["alter-table"]), classic]);
    let seen: Vec<_> = programs[0].operations.iter().map(|operation| operation.executed).collect();
    assert_eq!(seen, [92, 8, 8, 46]);
}

#[test]
fn insert_counts_as_the_suite_and_notes_what_it_runs_instead() {
    let expected = [
        ("insert", 3000, 3000),
        ("insert_duplicates", 1000, 1000),
        ("prepared_select", 1000, 1000),
        ("once_prepared_select", 1000, 1000),
        ("select_big", 10, 10),
        ("order_by_big_key", 10, 10),
        ("order_by_big_key_desc", 10, 10),
        ("order_by_big_key_prefix", 10, 10),
        ("order_by_big_key2", 10, 10),
        ("order_by_big_key_diff", 10, 10),
        ("order_by_big", 10, 10),
        ("order_by_range", 10, 10),
        ("order_by_key_prefix", 10, 10),
        ("order_by_key2_diff", 10, 10),
        ("select_diff_key", 10, 10),
        ("select_range_prefix", 505, 305),
        ("select_range_key2", 505, 305),
        ("select_key_prefix", 20, 20),
        ("select_key", 20, 20),
        ("select_key_return_key", 20, 20),
        ("select_key2", 20, 20),
        ("select_key2_return_key", 20, 20),
        ("select_key2_return_prim", 20, 20),
        ("select_group", 111, 100),
        ("min_max_on_key", 300, 300),
        ("min_max", 60, 60),
        ("count_on_key", 100, 100),
        ("count", 100, 100),
        ("count_distinct_big", 20, 20),
        ("update_of_key", 500, 500),
        ("update_of_key_big", 13, 14),
        ("update_with_key", 3000, 3000),
        ("update_with_key_prefix", 1000, 1000),
        ("update_big", 10, 10),
        ("outer_join_on_key", 10, 10),
        ("outer_join", 10, 10),
        ("outer_join_found", 10, 10),
        ("outer_join_not_found", 10, 10),
        ("insert_select_1_key", 1, 1),
        ("insert_select_2_keys", 1, 1),
        ("delete_key", 100, 100),
        ("delete_range", 12, 13),
        ("insert_key", 100, 100),
        ("update_of_primary_key_many_keys", 256, 256),
        ("delete_big_many_keys", 128, 128),
        // Its time, and so what is sent in it, begins with the operation before.
        ("delete_all_many_keys", 1, 129),
        ("multiple_value_insert", 1000, 1),
    ];
    assert_eq!(counts("insert"), expected);
}

#[test]
fn select_counts_as_the_suite() {
    let expected = [
        ("insert", 1000, 1000),
        ("select_cache", 1000, 1000),
        ("select_cache2", 1000, 1000),
        ("select_big", 7, 7),
        ("select_range", 41, 41),
        ("min_max_on_key", 7000, 7000),
        ("count_on_key", 5000, 5000),
        ("count_group_on_key_parts", 100, 100),
        ("count_distinct_key_prefix", 100, 100),
        ("count_distinct", 100, 100),
        ("count_distinct_2", 100, 100),
        ("count_distinct_group_on_key", 100, 100),
        ("count_distinct_group_on_key_parts", 100, 100),
        ("count_distinct_group", 100, 100),
        ("count_distinct_big", 10, 10),
    ];
    assert_eq!(counts("select"), expected);
}

#[test]
fn transactions_count_commits_and_rollbacks_among_the_statements() {
    let expected = [
        ("insert_commit", 100, 101),
        ("insert_autocommit", 100, 100),
        // A rollback for every ten rows, and the beginnings of all transactions but the first.
        ("insert_rollback", 10, 119),
        ("update_rollback", 10, 119),
        ("delete_rollback", 10, 119),
        ("update_commit", 100, 101),
        ("update_autocommit", 100, 100),
        ("delete_commit", 100, 101),
        ("delete_autocommit", 100, 100),
    ];
    assert_eq!(counts("transactions"), expected);
}

#[test]
fn a_table_without_transactions_leaves_gaps_with_a_reason() {
    let engine = ("create_options".to_owned(), OptionValue::Text("engine=myisam".to_owned()));
    let programs = pass(&[names("programs", &["transactions"]), engine]);
    assert_eq!(programs[0].operations.len(), 9);
    let is_gap = |operation: &OperationTally| operation.count == 0 && operation.refused.is_some();
    assert!(programs[0].operations.iter().all(is_gap));
}

#[test]
fn fast_packs_rows_and_commits_a_loop_of_changes_once() {
    let programs = pass(&[names("programs", &["insert", "select", "transactions"]), flag("fast", true)]);
    let operations: Vec<_> = programs.iter().flat_map(|program| &program.operations).collect();
    let counts = |name: &str| {
        let named = operations.iter().filter(|operation| operation.name == name);
        named.map(|operation| (operation.count, operation.executed)).collect::<Vec<_>>()
    };
    assert!(operations.iter().all(|operation| operation.wrong.is_none() && operation.refused.is_none()));
    // The statements, and a commit; `select` inserts row by row here too.
    assert_eq!(counts("insert"), [(3000, 2), (1000, 1001)]);
    assert_eq!(counts("insert_key"), [(100, 2)]);
    assert_eq!(counts("update_with_key"), [(3000, 3001)]);
    assert_eq!(counts("multiple_value_insert"), [(1000, 2)]);
    // What has to fail, or changes many rows a statement, is left to itself.
    assert_eq!(counts("insert_duplicates"), [(1000, 1000)]);
    assert_eq!(counts("insert_select_1_key"), [(1, 1)]);
    assert_eq!(counts("update_of_key_big"), [(13, 14)]);
}

#[test]
fn a_statement_that_is_prepared_on_the_server_finds_the_same_rows() {
    let prepare = ("prepare".to_owned(), OptionValue::Text("server".to_owned()));
    let programs = pass(&[names("programs", &["insert"]), names("operations", &["once_prepared_select"]), prepare]);
    let operation = &programs[0].operations[0];
    assert_eq!((operation.count, operation.executed, operation.rows), (1000, 1000, 1000));
    assert_eq!(operation.wrong, None);
}

#[test]
fn what_is_estimated_is_in_the_time_of_the_program() {
    let at_once = ("time_limit".to_owned(), OptionValue::Text("0.001ms".to_owned()));
    let program = &pass(&[names("programs", &["alter-table"]), at_once])[0];
    assert!(program.is_estimated());
    // The server saw one statement of each loop, whatever the planned count is.
    let seen: Vec<_> = program.operations.iter().map(|operation| (operation.count, operation.executed)).collect();
    assert_eq!(seen, [(92, 1), (8, 8), (8, 8), (46, 1)]);
    let operations_ns: u64 = program.operations.iter().map(|operation| operation.wall_ns).sum();
    assert!(program.wall_ns >= operations_ns, "{} ns for {operations_ns} ns of operations", program.wall_ns);
}

#[test]
fn what_the_time_limit_cut_off_does_not_run_again() {
    let at_once = ("time_limit".to_owned(), OptionValue::Text("0.001ms".to_owned()));
    let one = [names("programs", &["ATIS"]), names("operations", &["select_simple_join"])];
    let programs = pass(&[one.to_vec(), vec![at_once, flag("loop_short", true)]].concat());
    let operation = &programs[0].operations[0];
    assert!(operation.estimated);
    // One turn of five queries, with as many rows as those find.
    assert_eq!((operation.count, operation.executed, operation.rows, operation.passes), (50, 5, 602, 1));
}

#[test]
fn an_operation_that_was_not_asked_for_is_neither_run_nor_reported() {
    let programs = pass(&[names("programs", &["connect"]), names("operations", &["select_1_row"])]);
    let seen: Vec<_> = programs[0].operations.iter().map(|operation| operation.name).collect();
    assert_eq!(seen, ["select_1_row"]);
}

#[test]
fn an_interruption_ends_a_pass_under_way_and_keeps_what_it_did() {
    let interrupted = AtomicBool::new(false);
    let full = [names("programs", &["big-tables", "connect"])];
    // By then the first program is done; the second takes minutes in a debug build.
    let interrupt = &mut |live: Live| interrupted.store(live.part == 1, Ordering::Relaxed);
    let Measured { tally, failure } = measured(&full, &interrupted, interrupt);
    assert_eq!(failure, Some(Failure::Interrupted));
    assert_eq!((tally.due, tally.committed, tally.failed), (1, 0, 1));
    let [whole, broken_off] = tally.programs.as_slice() else { panic!("{:?}", tally.programs) };
    assert!(whole.operations.iter().all(|operation| operation.executed == 2000));
    let not_reached = broken_off.operations.last().and_then(|operation| operation.refused.as_deref()).unwrap();
    assert!(not_reached.starts_with("not reached: "), "{not_reached}");
}

/// Operations that a server which does nothing is found to have done rightly.
fn right_by_a_server_that_does_nothing(dialect: Dialect) -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let server = driver::NullServer::start(dialect, &folder.path().join("null")).unwrap();
    let target = Target { dialect, endpoint: server.endpoint(), login: Login::default() };
    let all =
        ["alter-table", "ATIS", "big-tables", "connect", "create", "insert", "select", "transactions", "wisconsin"];
    let given = [names("programs", &all), flag("small", true), flag("loop_short", false)];
    let workload = workload(&given);
    let (options, interrupted) = (LoadOptions::default(), AtomicBool::new(false));
    let load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
    let programs = load.measure(None, &mut |_| (), &mut || ()).whole().unwrap().programs;
    assert_eq!(programs.len(), all.len());
    let operations = programs.iter().flat_map(|program| &program.operations);
    let right = operations.filter(|operation| operation.wrong.is_none() && operation.refused.is_none());
    right.map(|operation| operation.name).collect()
}

/// It answers a row to each query and changes a row by each statement, so that only content gives it away.
#[test]
fn a_server_that_does_nothing_is_not_right() {
    for dialect in [Dialect::MySql, Dialect::Postgres] {
        // The second one sets a column to what it is already.
        let expected = ["connect", "update_with_key_prefix"];
        assert_eq!(right_by_a_server_that_does_nothing(dialect), expected, "{dialect:?}");
    }
}
