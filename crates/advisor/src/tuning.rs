//! The experiments of `dbduel tune`, made out of the file that it was given.
//!
//! One is the search: the file's first contender against candidates that differ in settings, at one point of
//! the first workload. The other is the duel of the winner: the file's own method, at two points or more, and
//! beside the workload of the search one that had no part in it. Both are texts like any other, so that they
//! are checked as one, stored as one, and can be run again like any file.

use std::collections::BTreeMap;
use std::time::Duration;

use toml::{Table, Value};

use experiment::{CLIENTS, CORES, Experiment, WorkloadChoice};
use load::{OptionSpec, OptionValue};
use record::format::Point;
use record::setting_value::plain;

/// A contender that differs from the first one of the file in these settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rival {
    pub name: String,
    pub settings: BTreeMap<String, String>,
}

/// What a search takes from elsewhere than the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchShape<'a> {
    pub point: &'a Point,
    pub blocks: u32,
    pub seed: u64,
}

/// Keys of `[method]` that the search sets itself, or has no use for: it compares many settings roughly.
const METHOD_OF_THE_DUEL: &[&str] = &[
    "preset",
    "rule",
    "stop",
    "budget",
    "noisy_host",
    "pilot",
    "blocks",
    "seed",
    "warmup",
    "duration",
    "duet",
    "fast_sweep",
    "steady_state",
    "wait_for_deferred_work",
    "repeats",
    "headroom_check",
    "test_causes",
    "ablation",
];

const RECOVERY: &str = "recovery";
const LEDGER: &str = "ledger";

/// Keys of `[method]` that crashes have a use for.
const METHOD_OF_CRASHES: &[&str] = &["preset", "seed", "warmup", "duration", "noisy_host", "page_cache", "work_copy"];

/// Keys of any workload's table that another mix shares.
const SHARED_KEYS: &[&str] = &["isolation", "data_seed", CLIENTS];

/// The search, as an experiment file. `source` is the text that `experiment` was read from.
pub(crate) fn search_text(source: &str, experiment: &Experiment, rivals: &[Rival], shape: SearchShape) -> String {
    let mut file = table(source);
    let first = workloads(&file).swap_remove(0);
    let ends_itself = experiment.workloads[0].ends_itself();
    file.insert("name".into(), format!("{} search", experiment.name).into());
    set_contenders(&mut file, experiment, rivals);
    set_sweep(&mut file, shape.point.iter().map(|(name, value)| (name.clone(), vec![*value])));
    file.insert("workload".into(), Value::Array(vec![Value::Table(first)]));
    let mut method = file.remove("method").and_then(|method| method.try_into::<Table>().ok()).unwrap_or_default();
    method.retain(|key, _| !METHOD_OF_THE_DUEL.contains(&key));
    method.insert("preset".into(), "quick".into());
    method.insert("stop".into(), "never".into());
    method.insert("blocks".into(), i64::from(shape.blocks).into());
    method.insert("seed".into(), (shape.seed as i64).into());
    if !ends_itself {
        method.insert("duration".into(), time_text(experiment.method.duration).into());
        method.insert("warmup".into(), time_text(experiment.method.warmup).into());
    }
    file.insert("method".into(), method.into());
    text(&file)
}

/// The duel of the file's first contender and a rival, as an experiment file, and the labels of the workloads
/// that had no part in the search.
pub(crate) fn duel_text(
    source: &str,
    experiment: &Experiment,
    rival: &Rival,
    searched_at: &Point,
) -> (String, Vec<String>) {
    let mut file = table(source);
    file.insert("name".into(), format!("{} tuned", experiment.name).into());
    set_contenders(&mut file, experiment, std::slice::from_ref(rival));
    let mut list = workloads(&file);
    if list.len() == 1 {
        list.extend(another_mix(&list[0], &experiment.workloads[0], searched_at));
    }
    let label = |workload: &Table| {
        let given = workload.get("label").or(workload.get("name")).and_then(Value::as_str);
        given.unwrap_or_default().to_owned()
    };
    let held_out = list.iter().skip(1).map(label).collect();
    file.insert("workload".into(), Value::Array(list.into_iter().map(Value::Table).collect()));
    if experiment.points().len() < 2 && !experiment.workloads.iter().any(|choice| choice.ends_itself()) {
        set_sweep(&mut file, two_points(experiment, searched_at));
    }
    (text(&file), held_out)
}

/// Whether the file has `[recovery]`.
pub(crate) fn asks_for_crashes(source: &str) -> bool {
    table(source).contains_key(RECOVERY)
}

/// The crashes of the file's first contender and a rival, as an experiment file: `[recovery]` of the file, under its
/// first workload at the point of the search. An embedded engine dies with its load and a pass has no time to crash in,
/// so there it is the ledger alone. None where the file has no `[recovery]`.
pub(crate) fn crashes_text(source: &str, experiment: &Experiment, rival: &Rival, point: &Point) -> Option<String> {
    let mut file = table(source);
    let recovery = file.get(RECOVERY)?.clone();
    let (first, choice) = (workloads(&file).swap_remove(0), &experiment.workloads[0]);
    let is_embedded = experiment.contenders[0].kind.dialect().is_embedded();
    let needs_the_ledger = (is_embedded || choice.ends_itself()) && choice.kind.name != LEDGER;
    file.insert("name".into(), format!("{} crashes", experiment.name).into());
    set_contenders(&mut file, experiment, std::slice::from_ref(rival));
    file.insert(RECOVERY.into(), recovery);
    file.remove("gate");
    let varied = point.iter().filter(|_| !needs_the_ledger).map(|(name, value)| (name.clone(), vec![*value]));
    set_sweep(&mut file, varied);
    let workload = if needs_the_ledger { ledger(choice.clients_at(point)) } else { first };
    file.insert("workload".into(), Value::Array(vec![Value::Table(workload)]));
    if let Some(method) = file.get_mut("method").and_then(Value::as_table_mut) {
        method.retain(|key, _| METHOD_OF_CRASHES.contains(&key));
    }
    Some(text(&file))
}

fn ledger(clients: u32) -> Table {
    Table::from_iter([("name".to_owned(), LEDGER.into()), (CLIENTS.to_owned(), i64::from(clients).into())])
}

/// The point of the search, and twice of what varies there: of the clients where nothing does, or where it is
/// cores, of which there may be no more.
fn two_points(experiment: &Experiment, point: &Point) -> Vec<(String, Vec<u64>)> {
    let clients = u64::from(experiment.workloads[0].clients_at(point));
    let twice_the_clients = (CLIENTS.to_owned(), vec![clients, clients * 2]);
    if let Some(cores) = point.get(CORES) {
        return vec![(CORES.to_owned(), vec![*cores]), twice_the_clients];
    }
    let other = point.iter().find(|(name, _)| *name != CLIENTS);
    vec![other.map_or(twice_the_clients, |(name, value)| (name.clone(), vec![*value, value * 2]))]
}

/// The same tables under other transactions.
fn another_mix(workload: &Table, choice: &WorkloadChoice, point: &Point) -> Option<Table> {
    let other = experiment::plan::workload(choice, point).ok()?.other_mix()?;
    let is_kept = |key: &str| {
        let shapes_tables = |specs: &[OptionSpec]| specs.iter().any(|spec| spec.names().any(|name| name == key));
        SHARED_KEYS.contains(&key) || other.keeps.is_none_or(shapes_tables)
    };
    let mut table: Table =
        workload.iter().filter(|(key, _)| is_kept(key)).map(|(k, v)| (k.clone(), v.clone())).collect();
    table.insert("name".into(), other.workload.into());
    table.extend(other.label.map(|label| ("label".to_owned(), label.into())));
    table.extend(other.set.into_iter().map(|(name, value)| (name.to_owned(), toml_value(value))));
    Some(table)
}

fn toml_value(value: OptionValue) -> Value {
    match value {
        OptionValue::Number(number) => number.into(),
        OptionValue::Real(real) => real.into(),
        OptionValue::Text(text) => text.into(),
        OptionValue::Flag(flag) => flag.into(),
        OptionValue::List(names) => names.into(),
        OptionValue::File { path, .. } => path.into(),
        OptionValue::Items(items) => Value::Array(items.into_iter().map(toml_value).collect()),
        OptionValue::Table(entries) => {
            Value::Table(entries.into_iter().map(|(key, value)| (key, toml_value(value))).collect())
        }
    }
}

/// The file's first contender, and rivals that are the same but for their names and settings.
fn set_contenders(file: &mut Table, experiment: &Experiment, rivals: &[Rival]) {
    let listed = file.get("contender").and_then(Value::as_array);
    let first = listed.and_then(|list| list.first()).and_then(Value::as_table).cloned().unwrap_or_default();
    let mut incumbent = first.clone();
    let name = experiment.contenders[0].name.clone();
    incumbent.insert("name".into(), name.clone().into());
    let rival = |rival: &Rival| {
        let mut contender = first.clone();
        contender.insert("name".into(), rival.name.clone().into());
        let mut settings = first.get("settings").and_then(Value::as_table).cloned().unwrap_or_default();
        settings.retain(|name, _| !rival.settings.keys().any(|moved| plain(moved) == plain(name)));
        settings.extend(rival.settings.iter().map(|(name, value)| (name.clone(), value.clone().into())));
        contender.insert("settings".into(), settings.into());
        Value::Table(contender)
    };
    let all = std::iter::once(Value::Table(incumbent)).chain(rivals.iter().map(rival)).collect();
    file.insert("contender".into(), Value::Array(all));
    file.insert("baseline".into(), name.into());
    for other in ["ladder", RECOVERY] {
        file.remove(other);
    }
    if let Some(method) = file.get_mut("method").and_then(Value::as_table_mut) {
        method.remove("ablation");
    }
}

fn set_sweep(file: &mut Table, values: impl IntoIterator<Item = (String, Vec<u64>)>) {
    let listed = |values: Vec<u64>| Value::Array(values.into_iter().map(|value| (value as i64).into()).collect());
    let sweep: Table = values.into_iter().map(|(name, values)| (name, listed(values))).collect();
    file.remove("sweep");
    if !sweep.is_empty() {
        file.insert("sweep".into(), sweep.into());
    }
}

/// The `[workload]` tables of the file, in whichever form they stand.
fn workloads(file: &Table) -> Vec<Table> {
    match file.get("workload") {
        Some(Value::String(name)) => vec![Table::from_iter([("name".to_owned(), Value::from(name.clone()))])],
        Some(Value::Table(one)) => vec![one.clone()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_table).cloned().collect(),
        _ => Vec::new(),
    }
}

fn time_text(time: Duration) -> String {
    format!("{}ms", time.as_millis())
}

/// The text was read as an experiment before.
fn table(source: &str) -> Table {
    source.parse().expect("what was read as an experiment is TOML")
}

fn text(file: &Table) -> String {
    toml::to_string(file).expect("what was TOML once is TOML again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::known;
    use experiment::Overrides;

    const FILE: &str = "name = \"box\"\nquestion = \"Which settings?\"\n\
        [[contender]]\nname = \"default\"\nengine = \"sqlite\"\nsettings = { cache-size = 100, foreign_keys = true }\n\
        [[contender]]\nname = \"other\"\nengine = \"sqlite\"\n\
        [workload]\nname = \"oltp_read_write\"\nrows = 1000\nclients = 3\npoint_selects = 4\n\
        [method]\npreset = \"standard\"\nduration = \"45s\"\nmargin = \"2%\"\nbudget = \"30m\"\n";

    fn rival() -> Rival {
        Rival { name: "tuned".into(), settings: [("cache_size".to_owned(), "-2000".to_owned())].into() }
    }

    fn experiment(text: &str) -> Experiment {
        let read = Experiment::parse(text, "x.toml", &known(), &Overrides::default());
        read.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"))
    }

    #[test]
    fn a_search_is_the_first_contender_against_rivals_at_one_point() {
        let given = experiment(FILE);
        let point = Point::new();
        let shape = SearchShape { point: &point, blocks: 20, seed: 7 };
        let made = experiment(&search_text(FILE, &given, &[rival()], shape));
        assert_eq!((made.name.as_str(), made.baseline.as_str()), ("box search", "default"));
        let names: Vec<&str> = made.contenders.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["default", "tuned"]);
        assert_eq!(made.contenders[0].settings, given.contenders[0].settings);
        let settings: Vec<(&str, &str)> =
            made.contenders[1].settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(settings, [("cache_size", "-2000"), ("foreign_keys", "on")], "the other spelling is gone");
        let method = &made.method;
        assert_eq!((method.preset.as_str(), method.duration.as_secs(), method.warmup.as_secs()), ("quick", 45, 30));
        assert_eq!((method.blocks, method.seed, method.budget, method.margin), (20, 7, None, 0.02));
        assert_eq!((method.pilot, made.points().len(), made.workloads[0].clients), (None, 1, 3));
    }

    #[test]
    fn a_duel_has_the_files_method_two_points_and_a_mix_that_had_no_part() {
        let given = experiment(FILE);
        let (text, held_out) = duel_text(FILE, &given, &rival(), &Point::new());
        let made = experiment(&text);
        assert_eq!(made.points(), [3, 6].map(|clients| Point::from([(CLIENTS.to_owned(), clients)])));
        let labels: Vec<&str> = made.workloads.iter().map(|one| one.label.as_str()).collect();
        assert_eq!((labels, held_out), (vec!["oltp_read_write", "oltp_read_only"], vec!["oltp_read_only".to_owned()]));
        // What is no business of the tables stays with the mix that it was written for.
        assert!(!made.workloads[1].options.contains_key("point_selects"));
        assert_eq!(made.method.preset, "standard");
        assert_eq!(made.method.budget, given.method.budget);
        assert_eq!(made.question.as_deref(), Some("Which settings?"));
    }

    #[test]
    fn crashes_have_the_files_recovery_and_its_work_or_the_ledger_alone() {
        let point = Point::new();
        assert_eq!(crashes_text(FILE, &experiment(FILE), &rival(), &point), None);
        let file = |engine: &str| format!("{}blocks = 20\n[recovery]\nkills = 4\n", FILE.replace("sqlite", engine));
        for (engine, workload, clients) in [("sqlite", "ledger", 3), ("postgres@17", "oltp_read_write", 7)] {
            let source = file(engine);
            let overrides = Overrides { leaves_recovery: true, ..Overrides::default() };
            let given = Experiment::parse(&source, "x.toml", &known(), &overrides).unwrap();
            assert!(given.recovery.is_none() && given.method.blocks == 20, "the search and the duel know of no crash");
            let made = experiment(&crashes_text(&source, &given, &rival(), &point).unwrap());
            assert_eq!((made.name.as_str(), made.recovery.unwrap().kills, made.method.blocks), ("box crashes", 4, 4));
            let names: Vec<&str> = made.contenders.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, ["default", "tuned"]);
            let choice = &made.workloads[0];
            assert_eq!((choice.kind.name, choice.all_clients_at(&point)), (workload, clients));
        }
    }

    #[test]
    fn a_sweep_of_the_file_and_its_other_workloads_are_the_duels() {
        let file = FILE.replace("clients = 3\n", "") + "[sweep]\nclients = [2, 4, 8]\n";
        let file =
            file.replace("[workload]", "[[workload]]\nlabel = \"mine\"") + "[[workload]]\nname = \"oltp_write_only\"\n";
        let given = experiment(&file);
        let point = Point::from([(CLIENTS.to_owned(), 8)]);
        let (text, held_out) = duel_text(&file, &given, &rival(), &point);
        let made = experiment(&text);
        assert_eq!((made.points().len(), held_out), (3, vec!["oltp_write_only".to_owned()]));
        let shape = SearchShape { point: &point, blocks: 20, seed: 7 };
        let search = experiment(&search_text(&file, &given, &[], shape));
        assert_eq!((search.points(), search.workloads.len()), (vec![point.clone()], 1));
    }

    #[test]
    fn a_mix_is_another_one_over_the_same_tables() {
        let check = |workload: &str, expected: Option<(&str, &str)>| {
            let head = FILE.split("[workload]").next().unwrap();
            let file = format!("{head}[workload]\n{workload}\n");
            let made = another_mix(&table(workload), &experiment(&file).workloads[0], &Point::new());
            let text = |table: &Table, key: &str| table.get(key).map(|value| value.to_string().replace('"', ""));
            let found = made.map(|made| {
                (text(&made, "name").unwrap(), text(&made, "form").or(text(&made, "read_only")).unwrap_or_default())
            });
            assert_eq!(found, expected.map(|(name, form)| (name.to_owned(), form.to_owned())), "{workload}");
        };
        check("name = \"oltp_read_only\"", Some(("oltp_read_write", "")));
        check("name = \"oltp_update_index\"", Some(("oltp_read_write", "")));
        check("name = \"tpcc\"", Some(("tpcc", "batch")));
        check("name = \"tpcc\"\nform = \"batch\"", Some(("tpcc", "rows")));
        check("name = \"oltp\"\nmode = \"complex\"", Some(("oltp", "true")));
        check("name = \"sql-bench\"", None);
    }

    #[test]
    fn a_single_point_is_doubled_in_what_varies() {
        let given = experiment(FILE);
        let check = |point: &[(&str, u64)], expected: &[(&str, &[u64])]| {
            let point: Point = point.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
            let expected: Vec<(String, Vec<u64>)> =
                expected.iter().map(|(name, values)| ((*name).to_owned(), values.to_vec())).collect();
            assert_eq!(two_points(&given, &point), expected);
        };
        check(&[], &[("clients", &[3, 6])]);
        check(&[("warehouses", 5)], &[("warehouses", &[5, 10])]);
        check(&[("clients", 8)], &[("clients", &[8, 16])]);
        check(&[("cores", 2)], &[("cores", &[2]), ("clients", &[3, 6])]);
        check(&[("clients", 8), ("cores", 2)], &[("cores", &[2]), ("clients", &[8, 16])]);
    }
}
