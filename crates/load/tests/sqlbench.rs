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
fn an_operation_that_nobody_asked_for_is_neither_run_nor_reported() {
    let programs = pass(&[names("programs", &["connect"]), names("operations", &["select_1_row"])]);
    let seen: Vec<_> = programs[0].operations.iter().map(|operation| operation.name).collect();
    assert_eq!(seen, ["select_1_row"]);
}
