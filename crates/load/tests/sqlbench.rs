//! The programs of sql-bench at small scale, on the one engine that needs no server: names, counts and
//! statements as the suite's conformance list has them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use driver::{Dialect, Endpoint, Login};
use load::{Gauge, Load, LoadOptions, OperationTally, OptionValue, Options, ProgramTally, Target, Workload};

fn names(key: &str, names: &[&str]) -> (String, OptionValue) {
    (key.to_owned(), OptionValue::List(names.iter().map(|name| (*name).to_owned()).collect()))
}

fn flag(key: &str, flag: bool) -> (String, OptionValue) {
    (key.to_owned(), OptionValue::Flag(flag))
}

/// One pass at small scale, nothing looped.
fn pass(given: &[(String, OptionValue)]) -> Vec<ProgramTally> {
    let kind = load::workload_kind("sql-bench").unwrap();
    let small = [flag("small", true), flag("loop_short", false)];
    let given: BTreeMap<_, _> = small.into_iter().chain(given.iter().cloned()).collect();
    let workload: Arc<dyn Workload> = (kind.build)(&Options::new(kind.options, &given).unwrap()).unwrap().into();
    let folder = tempfile::tempdir().unwrap();
    let login = Login { on_connect: vec!["PRAGMA synchronous = OFF".to_owned()], ..Login::default() };
    let target = Target { dialect: Dialect::Sqlite, endpoint: Endpoint::File(folder.path().join("bench.db")), login };
    let options = LoadOptions { gauge: Some(Gauge::new(|| Some(7))), ..LoadOptions::default() };
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(&workload, &target, options, &interrupted).unwrap();
    load.measure(None, &mut |_| (), &mut || ()).whole().unwrap().programs
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
        // A DROP and a CREATE each, and seven indexes that SQLite wants in statements of their own.
        ("create_table", 28, 63),
        ("insert", 9768, 9768),
        ("select_simple_join", 50, 50),
        ("select_join", 10, 10),
        ("select_key_prefix_join", 10, 10),
        ("select_distinct", 80, 80),
        // 280 where a server knows the standard deviation.
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
    // One statement for each of 28 tables; of the larger ones here, no table of 10 000 rows has a megabyte.
    assert_eq!(programs.iter().map(inserts).collect::<Vec<_>>(), [(9768, 28), (31_000, 4)]);
}

#[test]
fn classic_limits_leave_alter_table_as_it_is_on_sqlite() {
    let classic = ("limits".to_owned(), OptionValue::Text("classic".to_owned()));
    let programs = pass(&[names("programs", &["alter-table"]), classic]);
    let seen: Vec<_> = programs[0].operations.iter().map(|operation| operation.executed).collect();
    assert_eq!(seen, [92, 8, 8, 46]);
}

#[test]
fn an_operation_that_nobody_asked_for_is_neither_run_nor_reported() {
    let programs = pass(&[names("programs", &["connect"]), names("operations", &["select_1_row"])]);
    let seen: Vec<_> = programs[0].operations.iter().map(|operation| operation.name).collect();
    assert_eq!(seen, ["select_1_row"]);
}
