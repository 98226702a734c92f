//! Every kind of statements on the one engine that needs no server: each runs, its answers are right, and the data are
//! as they were.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use driver::{Admin, Dialect, Endpoint, Login, Target};
use load::{Load, LoadOptions, Loader, OperationTally, OptionValue, Workload};

fn micro(given: &[(&str, OptionValue)]) -> Arc<dyn Workload> {
    let small = [("rows", OptionValue::Number(10_000)), ("seconds", OptionValue::Text("5ms".to_owned()))];
    let given: BTreeMap<_, _> =
        small.into_iter().chain(given.iter().cloned()).map(|(key, value)| (key.to_owned(), value)).collect();
    workloads::workload_kind("micro").unwrap().with(&given).unwrap().into()
}

/// What a pass over loaded tables left, behind `sabotage` of them.
fn pass(workload: &Arc<dyn Workload>, sabotage: &str) -> (Vec<OperationTally>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let login = Login { user: String::new(), password: None, database: None, ..Login::default() };
    let endpoint = Endpoint::File(folder.path().join("micro.db"));
    let target = Target { dialect: Dialect::Sqlite, endpoint, login };
    let interrupted = AtomicBool::new(false);
    Loader { target: &target, sessions: 1, interrupted: &interrupted }.load(&**workload, 1, &mut |_| ()).unwrap();
    let mut admin = Admin::connect(Dialect::Sqlite, &target.endpoint, &target.login, Duration::from_secs(30)).unwrap();
    assert_eq!(workload.check(&mut admin, None).unwrap(), Vec::<String>::new(), "before the pass");
    admin.run(sabotage).unwrap();
    let load = Load::prepare(workload, &target, LoadOptions::default(), &interrupted).unwrap();
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole().unwrap();
    assert_eq!(tally.committed, 1);
    let operations = tally.programs.iter().flat_map(|program| program.operations.clone()).collect();
    (operations, workload.check(&mut admin, Some(&tally)).unwrap())
}

const NOTHING: &str = "SELECT 1";

#[test]
fn every_kind_runs_is_answered_rightly_and_leaves_the_data_as_they_were() {
    let (operations, violations) = pass(&micro(&[]), NOTHING);
    assert_eq!(violations, Vec::<String>::new());
    let wrong: Vec<_> = operations.iter().filter_map(|one| Some((one.name, one.wrong.as_ref()?))).collect();
    assert_eq!(wrong, []);
    let refused: Vec<&str> = operations.iter().filter(|one| one.refused.is_some()).map(|one| one.name).collect();
    let mut lacking: Vec<&str> = workloads::listed_kinds()
        .iter()
        .filter(|kind| kind.not_on.iter().any(|(dialect, _)| *dialect == Dialect::Sqlite))
        .map(|kind| kind.name)
        .collect();
    lacking.sort_by_key(|name| operations.iter().position(|one| one.name == *name));
    assert_eq!((operations.len(), refused), (workloads::listed_kinds().len(), lacking));
    let ran = operations.iter().filter(|one| one.refused.is_none());
    let idle: Vec<&str> =
        ran.filter(|one| one.count == 0 || one.wall_ns == 0 || one.executed < one.count).map(|one| one.name).collect();
    assert_eq!(idle, Vec::<&str>::new());
}

#[test]
fn a_wrong_answer_marks_its_kind_and_no_other() {
    let kinds = |names: &[&str]| OptionValue::List(names.iter().map(|name| (*name).to_owned()).collect());
    let workload = micro(&[("kinds", kinds(&["aggregate/count-all", "point/pk", "point/round-trip"]))]);
    let (operations, violations) = pass(&workload, "DELETE FROM sbtest1 WHERE id > 10");
    let wrong = |name: &str| operations.iter().find(|one| one.name == name).unwrap().wrong.clone();
    assert_eq!(wrong("point/round-trip"), None);
    let why = wrong("aggregate/count-all").unwrap();
    assert!(why.starts_with("aggregate/count-all.sql:") && why.contains("1 of 1 answers were wrong"), "{why}");
    assert!(wrong("point/pk").is_some());
    assert!(violations[0].contains("10000 rows, ids from 1 to 10000 was expected"), "{violations:?}");
}

/// Values, names of results, numbers of tables and blanks taken out.
fn shape(sql: &str) -> String {
    let mut shape = String::new();
    let mut letters = sql.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                letters.by_ref().find(|letter| *letter == '\'');
                shape.push('?');
            }
            digit if digit.is_ascii_digit() => {
                while letters.next_if(char::is_ascii_digit).is_some() {}
                shape.push('?');
            }
            letter => shape.extend(letter.to_lowercase()),
        }
    }
    shape.replace(" as n ", " ").replace(" as s ", " ").replace("concat(?, ?)", "?").split_whitespace().collect()
}

/// `cargo xtask conform` holds those of the OLTP workloads to sysbench's own.
#[test]
fn kinds_that_name_a_workload_of_sysbench_send_its_statements() {
    let explained =
        |workload: &dyn Workload| workload.has_plans().expect("it has statements").explained_statements(Dialect::MySql);
    let mut compared = 0;
    for kind in workloads::listed_kinds() {
        let Some(named) = &kind.sysbench else { continue };
        let script = named.split(',').next().unwrap_or_default();
        let script = workloads::workload_kind(script).unwrap().with(&BTreeMap::new()).unwrap();
        let theirs: Vec<String> = explained(&*script).iter().map(|one| shape(&one.sql)).collect();
        let ours = explained(&*micro(&[("kinds", OptionValue::List(vec![kind.name.to_owned()]))]));
        let ours = shape(&ours.first().unwrap_or_else(|| panic!("{} has no statement", kind.name)).sql);
        assert!(theirs.contains(&ours), "{}: {ours}\n{theirs:#?}", kind.name);
        compared += 1;
    }
    assert_eq!(compared, 11);
}
