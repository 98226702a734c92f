//! The TPC-H-derived workload on the one engine that needs no server, at its smallest scale: data against published facts,
//! every query, streams, the limit of a statement, and wrong answers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use driver::{Admin, Dialect, Endpoint, Login, Target};
use load::{Load, LoadOptions, Loader, OperationTally, OptionValue, ProgramTally, Workload};
use workloads::tpch::by_hand::validation_queries;

const SCALE_FACTOR: f64 = 0.01;

fn tpch(given: &[(&str, OptionValue)]) -> Arc<dyn Workload> {
    let small = [("scale_factor", OptionValue::Real(SCALE_FACTOR))];
    let given: BTreeMap<_, _> =
        small.into_iter().chain(given.iter().cloned()).map(|(key, value)| (key.to_owned(), value)).collect();
    workloads::workload_kind("tpch").unwrap().with(&given).unwrap().into()
}

fn loaded(folder: &Path) -> Target {
    let login = Login { user: String::new(), password: None, database: None, ..Login::default() };
    let endpoint = Endpoint::File(folder.join("tpch.db"));
    let target = Target { dialect: Dialect::Sqlite, endpoint, login };
    let loader = Loader { target: &target, sessions: 1, interrupted: &AtomicBool::new(false) };
    loader.load(&*tpch(&[]), 1, &mut |_| ()).unwrap();
    target
}

fn admin(target: &Target) -> Admin {
    Admin::connect(Dialect::Sqlite, &target.endpoint, &target.login, Duration::from_secs(30)).unwrap()
}

fn pass(workload: &Arc<dyn Workload>, target: &Target) -> Vec<ProgramTally> {
    let interrupted = AtomicBool::new(false);
    let options = LoadOptions { clients: workload.spec().clients.unwrap(), ..LoadOptions::default() };
    let load = Load::prepare(workload, target, options, &interrupted).unwrap();
    load.measure(None, &mut |_| (), &mut || ()).whole().unwrap().programs
}

fn of<'a>(programs: &'a [ProgramTally], name: &str) -> &'a OperationTally {
    programs.iter().flat_map(|program| &program.operations).find(|one| one.name == name).unwrap()
}

/// One load serves all, since making the words of the comments takes longest.
#[test]
fn data_queries_streams_limits_and_wrong_answers() {
    let folder = tempfile::tempdir().unwrap();
    let target = loaded(folder.path());
    let mut admin = admin(&target);
    let workload = tpch(&[]);
    assert_eq!(workload.check(&mut admin, None).unwrap(), Vec::<String>::new());
    data_are_those_of_the_specifications_generator(&mut admin);
    first_query_has_its_published_answer(&mut admin);

    let programs = pass(&workload, &target);
    let operations: Vec<&OperationTally> = programs.iter().flat_map(|program| &program.operations).collect();
    let names: Vec<&str> = operations.iter().take(4).map(|one| one.name).collect();
    assert_eq!((operations.len(), names), (22, vec!["Q14", "Q2", "Q9", "Q20"]));
    let broken = |one: &&&OperationTally| one.refused.is_some() || one.wrong.is_some() || one.limited.is_some();
    assert_eq!(operations.iter().find(broken), None);
    assert!(operations.iter().all(|one| one.wall_ns > 0 && one.whole && one.count == 1));

    streams_have_their_own_orders(&target);
    streams_are_all_warm_before_the_interval_begins(&target);
    what_the_limit_ends_is_named_and_the_rest_goes_on(&target);
    new_orders_come_and_go(&target, &mut admin);
    an_answer_that_differs_from_the_first_is_wrong(&target, &mut admin);
}

/// As dbgen makes them: numbers of rows, and a row that its users print everywhere.
fn data_are_those_of_the_specifications_generator(admin: &mut Admin) {
    let counts = [
        ("lineitem", 60_175),
        ("orders", 15_000),
        ("partsupp", 8_000),
        ("part", 2_000),
        ("customer", 1_500),
        ("supplier", 100),
        ("nation", 25),
        ("region", 5),
    ];
    for (table, rows) in counts {
        let found = admin.value(&format!("SELECT COUNT(*) FROM {table}")).unwrap();
        assert_eq!(found, Some(rows.to_string()), "{table}");
    }
    let row = admin.rows("SELECT * FROM lineitem WHERE l_orderkey = 1 AND l_linenumber = 1").unwrap().concat();
    let row: Vec<String> = row.into_iter().flatten().collect();
    assert_eq!(
        row.join("|"),
        "1|1552|93|1|1700|2471035|4|2|N|O|1996-03-13|1996-02-12|1996-03-22|DELIVER IN PERSON|TRUCK|egular courts above the"
    );
}

fn first_query_has_its_published_answer(admin: &mut Admin) {
    let queries = validation_queries(SCALE_FACTOR, Dialect::Sqlite);
    let rows = queries[0].rows(admin).unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(
        rows[0], "A|F|380456.00|532348211.65|505822441.49|526165934.00|25.58|35785.71|0.05|14876.00",
        "{}",
        queries[0].question
    );
}

fn streams_have_their_own_orders(target: &Target) {
    let programs = pass(&tpch(&[("streams", OptionValue::Number(2)), ("warm", OptionValue::Flag(false))]), target);
    let mut seen: Vec<(&str, &str)> = programs.iter().map(|one| (one.name, one.operations[0].name)).collect();
    seen.sort_unstable();
    assert_eq!(seen, [("stream 1", "Q21"), ("stream 2", "Q6")]);
    assert!(programs.iter().all(|program| program.operations.len() == 22));
}

fn streams_are_all_warm_before_the_interval_begins(target: &Target) {
    let given = [("streams", OptionValue::Number(2)), ("queries", OptionValue::Text("Q1,Q6".to_owned()))];
    let interrupted = AtomicBool::new(false);
    let options = LoadOptions { clients: 2, ..LoadOptions::default() };
    let mut load = Load::prepare(&tpch(&given), target, options, &interrupted).unwrap();
    load.warm_up(Duration::ZERO, &mut |_| ()).unwrap();
    let warm = Instant::now();
    std::thread::sleep(Duration::from_millis(50));
    let tally = load.measure(None, &mut |_| (), &mut || ()).whole().unwrap();
    assert_eq!(tally.queries(), 4, "what warms up is not counted");
    let longest = tally.programs.iter().map(|program| program.wall_ns).max().unwrap();
    assert!(tally.interval_ns >= longest, "{} {longest}", tally.interval_ns);
    // Whoever is warm waits: the interval begins 50 ms later, and all that is timed lies in it.
    assert!(u128::from(tally.interval_ns) + 50_000_000 <= warm.elapsed().as_nanos());
}

fn what_the_limit_ends_is_named_and_the_rest_goes_on(target: &Target) {
    let given = [("statement_limit", OptionValue::Text("5ms".to_owned())), ("warm", OptionValue::Flag(false))];
    let programs = pass(&tpch(&given), target);
    let ended = of(&programs, "Q1");
    assert_eq!((ended.limited.as_deref(), ended.wall_ns), (Some("not within 0.005 s"), 5_000_000));
    let quick = of(&programs, "Q11");
    assert!(programs[0].operations.len() == 22 && quick.refused.is_none(), "{quick:?}");
}

fn new_orders_come_and_go(target: &Target, admin: &mut Admin) {
    let workload = tpch(&[("refresh", OptionValue::Flag(true)), ("queries", OptionValue::Text("Q1,Q4".to_owned()))]);
    let programs = pass(&workload, target);
    let names: Vec<&str> = programs[0].operations.iter().map(|one| one.name).collect();
    assert_eq!(names, ["RF1", "Q4", "Q1", "RF2"]);
    // Fifteen orders, each with its lines between BEGIN and COMMIT.
    assert_eq!((of(&programs, "RF1").count, of(&programs, "RF2").executed), (15, 60));
    assert_eq!(workload.check(admin, None).unwrap(), Vec::<String>::new());
    let left_out = tpch(&[("queries", OptionValue::Text("Q1".to_owned()))]);
    assert_eq!(pass(&left_out, target)[0].operations.len(), 1);
}

fn an_answer_that_differs_from_the_first_is_wrong(target: &Target, admin: &mut Admin) {
    let workload = tpch(&[("queries", OptionValue::List(vec!["q6".to_owned(), "Q13".to_owned()]))]);
    let wrong = |programs: &[ProgramTally], name: &str| of(programs, name).wrong.clone();
    let first = pass(&workload, target);
    assert_eq!((wrong(&first, "Q6"), wrong(&first, "Q13")), (None, None));
    admin.run("UPDATE lineitem SET l_extendedprice = l_extendedprice + 100").unwrap();
    let second = pass(&workload, target);
    let why = wrong(&second, "Q6").unwrap();
    assert!(why.starts_with("1 rows, ") && why.contains(", where 1 rows, "), "{why}");
    assert_eq!(wrong(&second, "Q13"), None);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let refused = |given: &[(&str, OptionValue)]| {
        let given = given.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        workloads::workload_kind("tpch").unwrap().with(&given).err().unwrap().to_string()
    };
    let both = refused(&[("streams", OptionValue::Number(2)), ("refresh", OptionValue::Flag(true))]);
    assert!(both.contains("power runs only"), "{both}");
    assert!(refused(&[("queries", OptionValue::Text("Q23".to_owned()))]).contains("Q1 to Q22"));
    assert!(refused(&[("scale_factor", OptionValue::Real(0.001))]).contains("from 0.01"));
}
