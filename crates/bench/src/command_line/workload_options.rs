//! Options of workloads on the command line.

use std::collections::BTreeMap;

use experiment::meant_by;
use load::{OptionSpec, OptionValue, Options, WorkloadKind};

use super::request::Compat;
use super::words::{self, Given, normal};
use super::{options, values};

const DEFAULT_ROWS: i64 = 10_000;

pub fn is_switch(spec: &OptionSpec) -> bool {
    matches!(spec.default, "true" | "false")
}

/// The workload's option of that name in any spelling, also with the `oltp-` of sysbench 0.4 before it.
pub fn spec_of(kind: &'static WorkloadKind, name: &str) -> Option<&'static OptionSpec> {
    let plain = name.strip_prefix("oltp-").unwrap_or(name);
    let wanted = options::RENAMED.iter().find(|(old, _)| *old == name).map_or(plain, |(_, new)| new);
    let is_it = |known: &str| normal(known) == wanted;
    kind.options.iter().find(|spec| spec.names().any(is_it))
}

pub fn workload_options(
    kind: &'static WorkloadKind,
    given: &[Given],
    compat: Option<Compat>,
) -> Result<BTreeMap<String, OptionValue>, String> {
    let mut found = BTreeMap::new();
    let has = |name: &str| kind.options.iter().any(|spec| spec.name == name);
    if has("rows") {
        found.insert("rows".to_owned(), OptionValue::Number(DEFAULT_ROWS));
    }
    if let Some(compat) = compat.filter(|_| has("compat")) {
        found.insert("compat".to_owned(), OptionValue::Text(compat.word().to_owned()));
    }
    for option in given {
        let spec = spec_of(kind, &option.name).ok_or_else(|| not_of(kind, option))?;
        let value = option_value(spec, &option.value).map_err(|why| format!("{}: {why}", option.typed))?;
        match (found.get_mut(spec.name), value) {
            // Names of one table may come one by one.
            (Some(OptionValue::Table(all)), OptionValue::Table(more)) => all.extend(more),
            (_, value) => {
                found.insert(spec.name.to_owned(), value);
            }
        }
    }
    Ok(found)
}

/// Clients of the command line, by the option of all or by the workload's own name for it; else
/// as the workload needs them, else one.
pub fn clients(
    kind: &'static WorkloadKind,
    options: &mut BTreeMap<String, OptionValue>,
    given: Option<u32>,
) -> Result<u32, String> {
    const CLIENTS: &str = "clients";
    if let Some(spec) = kind.options.iter().find(|spec| spec.name == CLIENTS) {
        if given.is_some() && options.contains_key(CLIENTS) {
            let names: Vec<String> = spec.names().map(|name| format!("--{}", normal(name))).collect();
            return Err(format!("{} are the same option: keep one of them", names.join(" and ")));
        }
        options.extend(given.map(|clients| (CLIENTS.to_owned(), OptionValue::Number(clients.into()))));
    }
    // Wrong options are reported where the workload is built.
    let built = Options::new(kind.options, options).and_then(|options| (kind.build)(&options)).ok();
    Ok(given.or_else(|| built?.spec().clients).unwrap_or(1))
}

/// Reads a value in the kind of the option's default.
fn option_value(spec: &OptionSpec, text: &str) -> Result<OptionValue, String> {
    if is_switch(spec) {
        return words::switch(text).map(OptionValue::Flag);
    }
    if spec.default.parse::<i64>().is_ok() {
        return values::count(text, 0, i64::MAX as u64).map(|number| OptionValue::Number(number as i64));
    }
    if spec.default.parse::<f64>().is_ok() {
        let real = text.parse().map_err(|_| format!("a number was expected, not `{text}`"));
        return real.map(OptionValue::Real);
    }
    match spec.default {
        load::ITEMS => Err("it is a table: write it in an experiment file".to_owned()),
        load::TABLE => text.split(',').map(variable).collect::<Result<_, _>>().map(OptionValue::Table),
        _ => Ok(OptionValue::Text(text.to_owned())),
    }
}

/// `scale=10`
fn variable(text: &str) -> Result<(String, OptionValue), String> {
    let expected = || format!("name=number was expected, not `{text}`");
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    let number = value.parse().map(OptionValue::Number).or_else(|_| value.parse().map(OptionValue::Real));
    let value = number.or_else(|_| value.parse().map(OptionValue::Flag)).map_err(|_| expected())?;
    Ok((name.trim().to_owned(), value))
}

fn not_of(kind: &WorkloadKind, given: &Given) -> String {
    let name = kind.name;
    let is_known = |key: &str| kind.options.iter().any(|one| one.name == key) || options::names().any(|one| one == key);
    let meant = meant_by(&given.name).and_then(|(keys, _)| keys.iter().find(|key| is_known(key)));
    let meant = meant.map_or(String::new(), |key| format!("; did you mean --{key}?"));
    format!("{}: {name} has no such option{meant}; `dbduel bench {name} --help` lists its own", given.typed)
}

/// For the help: the default in force on the command line.
pub fn default_of(spec: &OptionSpec) -> String {
    match spec.default {
        _ if spec.name == "rows" => DEFAULT_ROWS.to_string(),
        "true" => "on".to_owned(),
        "false" => "off".to_owned(),
        default => default.to_owned(),
    }
}
