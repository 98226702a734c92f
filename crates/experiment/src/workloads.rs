//! Reads the `[workload]` tables and the `[sweep]`: what the contenders do, and what varies.
//!
//! Which options a workload has, and of which type, is the workload's own knowledge; the type of an
//! option is the type of its default.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use driver::Isolation;
use load::{FileUse, ITEMS, Interarrival, OptionError, OptionSpec, OptionValue, OwnData, OwnDataForm, WorkloadKind};
use toml::de::DeValue;

use super::keys::{KILLS, LOADS, SWEEP_KEYS, WORKLOAD_KEYS, names};
use super::mistakes::suggestion;
use super::section::{Reader, Section, Value, integer, real};
use super::vocabulary::{Known, Needs};
use super::{CLIENTS, CORES, Contender, Crowds, Origin, RATE, Sweep, WorkloadChoice};

/// How the arrivals of `rate` are spaced.
const ARRIVALS: &str = "arrivals";
const DATA_SEED: &str = "data_seed";
/// Documented keys that this version honours only where a workload has an option of that name.
const KEYS_LATER: &[&str] = &["latency_limit", "max_tries", "expect_failures"];
/// What times of a log are divided by.
const SPEED: &str = "speed";
/// In place of a list of clients, beside cores.
const PER_CORE: &str = "per-core";
/// As many clients as there are cores, alone or among numbers.
const AS_CORES: &str = CORES;
/// What stands for numbers of clients beside cores.
const CROWDS_EXPECTED: &str = "expected \"per-core\", \"cores\", or a list: [\"cores\", 4, 16]";
/// What every reader of JSON holds exactly.
const MOST_SEED: u64 = 1 << 53;
const MOST_CLIENTS: u64 = 10_000;
const MOST_CORES: u64 = 4096;
/// Arrivals a second.
const MOST_RATE: u64 = 10_000_000;
/// The key that ends a trial by its transactions, and what sysbench 0.4 called it.
const EVENTS: [&str; 2] = ["events", "max_requests"];
const MOST_EVENTS: u64 = 1_000_000_000_000;
const MOST_POINTS: usize = 200;
/// Kills, and loads, before the first block.
const MOST_BESIDE: u64 = 100;

/// What `[workload]` means where it is silent.
#[derive(Debug, Clone, Copy)]
pub struct WorkloadDefaults {
    pub clients: u32,
    pub arrivals: Interarrival,
    pub data_seed: u64,
}

/// Whether every workload has the key; the rest are the workload's own options.
fn is_common(key: &str) -> bool {
    WORKLOAD_KEYS.iter().any(|common| common.name == key)
}

/// All workloads of the file, in its order; their labels are unique.
pub fn read_workloads<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    known: &Known,
    contenders: &[Contender],
    usual: &WorkloadDefaults,
) -> Vec<WorkloadChoice> {
    let Some(value) = top.value("workload") else {
        reader.reject(
            &(0..0),
            "no workload: nothing to measure",
            "add workload = \"oltp_read_write\", or a [workload] table",
        );
        return Vec::new();
    };
    if value.get_ref().is_str() {
        return read_short_form(reader, value, known, contenders, usual).into_iter().collect();
    }
    let sections = if value.get_ref().is_array() {
        reader.tables(top, "workload")
    } else {
        reader.table(top, "workload").into_iter().collect()
    };
    let mut labels = BTreeSet::new();
    let mut workloads = Vec::new();
    for section in &sections {
        let Some(workload) = read_workload(reader, section, known, contenders, usual) else {
            continue;
        };
        refuse_arrivals_of_none(reader, section, workload.rate.is_some() || is_swept(top, RATE));
        if !labels.insert(workload.label.clone()) {
            let span = section.value("label").or(section.value("name")).map_or(section.span.clone(), Value::span);
            let what = format!("two workloads have the label `{}`", workload.label);
            reader.reject(&span, what, "give each [[workload]] its own `label`");
        }
        workloads.push(workload);
    }
    if value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
        reader.reject(&value.span(), "no workload: nothing to measure", "add workload = \"oltp_read_write\"");
    }
    workloads
}

/// `workload = "oltp_read_write"`.
fn read_short_form(
    reader: &mut Reader,
    value: &Value,
    known: &Known,
    contenders: &[Contender],
    usual: &WorkloadDefaults,
) -> Option<WorkloadChoice> {
    let name = value.get_ref().as_str()?;
    let kind = known_workload(reader, value, name, known)?;
    let needs = known.needs(kind, &BTreeMap::new()).unwrap_or_else(|fault| {
        reader.reject(
            &value.span(),
            format!("workload `{name}` has no default: write a [workload] table"),
            fault.to_string(),
        );
        Needs::default()
    });
    refuse_engines(reader, &value.span(), name, &needs, contenders);
    Some(WorkloadChoice {
        label: name.to_owned(),
        kind,
        options: BTreeMap::new(),
        in_force: in_force(kind.options, &BTreeMap::new()),
        one_pass: needs.one_pass,
        replays: needs.replays,
        keeps_its_size: needs.keeps_its_size,
        isolation: None,
        rate: None,
        events: None,
        arrivals: usual.arrivals,
        data_seed: usual.data_seed,
        clients: needs.clients.unwrap_or(usual.clients),
        clients_at: BTreeMap::new(),
        ledger: None,
        kills: 0,
        loads: 0,
    })
}

fn read_workload<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    known: &Known,
    contenders: &[Contender],
    usual: &WorkloadDefaults,
) -> Option<WorkloadChoice> {
    let Some(name_value) = section.value("name") else {
        reader.reject(&section.span, "this workload has no `name`", suggestion("", known.workloads.names()));
        return None;
    };
    let name = reader.text(section, "name")?;
    let kind = known_workload(reader, name_value, &name, known)?;
    let specs = kind.options;
    check_workload_keys(reader, section, &name, specs);
    let given = read_clients(reader, section, specs);
    let options = with_clients(read_options(reader, section, specs), given, specs);
    let needs = known.needs(kind, &options).unwrap_or_else(|fault| {
        // An option that could not be read has been reported, and is missing because of that.
        if section.value(&fault.option).is_none() || options.contains_key(&fault.option) {
            reject_option(reader, section, specs, &fault);
        }
        Needs::default()
    });
    refuse_engines(reader, &section.span, &name, &needs, contenders);
    if let Some(own) = &needs.own_data {
        refuse_own_data(reader, section, own, needs.replays, contenders);
    }
    refuse_a_crowd(reader, &section.span, needs.clients);
    if needs.replays {
        expect_data_of_the_log(reader, section, &name, &needs, contenders);
    }
    refuse_clients(reader, section, &name, &needs);
    let rate = reader.whole(section, RATE, 1..=MOST_RATE);
    refuse_rests(reader, section, RATE, &needs, rate.is_some());
    Some(WorkloadChoice {
        label: reader.name(section, "label").unwrap_or_else(|| name.clone()),
        in_force: in_force(specs, &options),
        options,
        one_pass: needs.one_pass,
        replays: needs.replays,
        keeps_its_size: needs.keeps_its_size,
        isolation: read_isolation(reader, section, contenders),
        rate,
        events: read_events(reader, section, &needs),
        arrivals: read_arrivals(reader, section).unwrap_or(usual.arrivals),
        data_seed: read_data_seed(reader, section).unwrap_or(usual.data_seed),
        clients: given.or(needs.clients).unwrap_or(usual.clients),
        clients_at: BTreeMap::new(),
        ledger: None,
        kills: read_kills(reader, section, &name, &needs),
        loads: read_loads(reader, section, &needs),
        kind,
    })
}

/// The key `arrivals`; what it spaces is `rate`, here or in the sweep.
pub fn read_arrivals<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Interarrival> {
    reader.choice(
        section,
        ARRIVALS,
        &[("poisson", Some(Interarrival::Poisson)), ("constant", Some(Interarrival::Constant))],
    )
}

pub fn read_data_seed<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<u64> {
    reader.whole(section, DATA_SEED, 0..=MOST_SEED)
}

fn is_swept(top: &Section, key: &str) -> bool {
    let sweep = top.value("sweep").and_then(|value| value.get_ref().as_table());
    sweep.is_some_and(|sweep| sweep.keys().any(|name| name.get_ref() == key))
}

fn refuse_arrivals_of_none(reader: &mut Reader, section: &Section, is_open: bool) {
    if let Some(value) = section.value(ARRIVALS).filter(|_| !is_open) {
        let what = format!("`{ARRIVALS}` in {} has no use without a rate", section.title);
        reader.reject(&value.span(), what, "add rate = 500 beside it, or [sweep] rate = [500, 1000]");
    }
}

/// Users who rest between transactions make a rate of their own; a pass has none.
fn refuse_rests(reader: &mut Reader, section: &Section, key: &str, needs: &Needs, is_given: bool) {
    let why = match (needs.one_pass, needs.rests) {
        _ if needs.replays => "its statements are due as in the log: `pacing` and `speed` change that",
        (true, _) => "its operations run one after the other, however long each takes",
        (false, true) => {
            "its clients rest between transactions, which makes their rate: take `rate` out, or the pacing"
        }
        (false, false) => return,
    };
    if is_given {
        let span = section.value(key).map_or(section.span.clone(), Value::span);
        reader.reject(&span, format!("`{key}` in {} has no use", section.title), why);
    }
}

/// The key `isolation`: one level for all contenders, which each of them must have.
fn read_isolation<'a>(reader: &mut Reader<'a>, section: &Section<'a>, contenders: &[Contender]) -> Option<Isolation> {
    let level = reader.choice(section, "isolation", &Isolation::ALL.map(|level| (level.as_str(), Some(level))))?;
    for contender in contenders {
        if let Err(why) = contender.kind.dialect().isolation_sql(level) {
            let what = format!("contender `{}` has no isolation level `{}`", contender.name, level.as_str());
            reader.reject(&section.span, what, why);
        }
    }
    Some(level)
}

/// The key `clients`, which a workload may have under another name too.
fn read_clients<'a>(reader: &mut Reader<'a>, section: &Section<'a>, specs: &[OptionSpec]) -> Option<u32> {
    let aliases = specs.iter().find(|spec| spec.name == CLIENTS).map_or(&[][..], |spec| spec.aliases);
    let names = std::iter::once(CLIENTS).chain(aliases.iter().copied());
    let key = one_of(reader, section, names)?;
    reader.whole(section, key, 1..=MOST_CLIENTS).map(|clients| clients as u32)
}

/// The key `events`, or what sysbench 0.4 called it; a pass ends by itself.
fn read_events<'a>(reader: &mut Reader<'a>, section: &Section<'a>, needs: &Needs) -> Option<u64> {
    let key = one_of(reader, section, EVENTS.into_iter())?;
    if needs.one_pass || needs.replays {
        refuse_rests(reader, section, key, needs, true);
    }
    reader.whole(section, key, 1..=MOST_EVENTS)
}

/// The key `kills`: only clients that go on until their server is gone notice that it is.
fn read_kills<'a>(reader: &mut Reader<'a>, section: &Section<'a>, name: &str, needs: &Needs) -> u32 {
    if let Some(value) = section.value(KILLS).filter(|_| needs.one_pass || needs.replays) {
        let what = format!("`{KILLS}` in {} has no use: workload `{name}` ends by itself", section.title);
        reader.reject(&value.span(), what, "put it beside a workload that runs for a time, such as oltp_read_write");
    }
    read_count(reader, section, KILLS)
}

/// The key `loads`: of tables that dbduel makes.
fn read_loads<'a>(reader: &mut Reader<'a>, section: &Section<'a>, needs: &Needs) -> u32 {
    if let Some(value) = section.value(LOADS).filter(|_| needs.own_data.is_some()) {
        let what = format!("`{LOADS}` in {} has no use: its tables are yours", section.title);
        reader.reject(&value.span(), what, "put it beside a workload whose tables dbduel makes");
    }
    read_count(reader, section, LOADS)
}

fn read_count<'a>(reader: &mut Reader<'a>, section: &Section<'a>, key: &str) -> u32 {
    reader.whole(section, key, 0..=MOST_BESIDE).map_or(0, |count| count as u32)
}

/// The key of these that the file has.
fn one_of<'a, 'n>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    names: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let mut given = names.filter(|name| section.value(name).is_some());
    let key = given.next()?;
    if let Some(other) = given.next() {
        let span = section.value(other).map_or(section.span.clone(), Value::span);
        reader.reject(&span, format!("`{other}` and `{key}` are the same option"), "keep one of them");
    }
    Some(key)
}

/// The options as the workload gets them: a given number of clients is one where it has the key.
fn with_clients(
    mut options: BTreeMap<String, OptionValue>,
    clients: Option<u32>,
    specs: &[OptionSpec],
) -> BTreeMap<String, OptionValue> {
    let known = specs.iter().any(|spec| spec.name == CLIENTS);
    let clients = clients.filter(|_| known).map(|clients| (CLIENTS.to_owned(), OptionValue::Number(clients.into())));
    options.extend(clients);
    options
}

/// Clients that grow with something can outgrow every machine.
fn refuse_a_crowd(reader: &mut Reader, span: &std::ops::Range<usize>, clients: Option<u32>) {
    if let Some(clients) = clients.filter(|clients| u64::from(*clients) > MOST_CLIENTS) {
        reader.reject(span, format!("that makes {clients} clients"), format!("expected {MOST_CLIENTS} at most"));
    }
}

/// A pass has the clients that it is written for.
fn refuse_clients(reader: &mut Reader, section: &Section, name: &str, needs: &Needs) {
    let why = match (needs.one_pass, needs.replays) {
        (true, _) => "take it out: its operations run one after the other, by one client",
        (_, true) => "take it out: it has as many clients as the log had sessions at once",
        _ => return,
    };
    if let Some(value) = section.value(CLIENTS) {
        let what = format!("workload `{name}` has no use for `{CLIENTS}`");
        reader.reject(&value.span(), what, why);
    }
}

/// A log runs on the data that it began with, put back before each trial; on a target one that only reads, on what is there.
fn expect_data_of_the_log(reader: &mut Reader, section: &Section, name: &str, needs: &Needs, contenders: &[Contender]) {
    let target = contenders.iter().find(|one| is_target(one));
    if let (Some(statement), Some(target)) = (&needs.log_writes, target) {
        let what = format!(
            "the log of `{name}` changes data, as `{statement}` does, and contender `{}` is a target",
            target.name
        );
        let note = "nothing puts the data of a target back: set reads_only = true, which leaves such statements out, or take contenders that dbduel starts";
        reader.reject(&section.span, what, note);
    }
    if needs.own_data.is_none() && !contenders.iter().all(is_target) {
        let what = format!("workload `{name}` has no `data`, and nothing makes its tables");
        let note = "add data = { dump = \"shop.sql.zst\" }, or data = { directory = \"/backup/prepared\" }: what the tables were when the log began";
        reader.reject(&section.span, what, note);
    }
}

/// A workload that a contender cannot run is a mistake of the file, not a failed trial.
fn refuse_engines(
    reader: &mut Reader,
    span: &std::ops::Range<usize>,
    name: &str,
    needs: &Needs,
    contenders: &[Contender],
) {
    for contender in contenders {
        if let Some((_, why)) = needs.not_on.iter().find(|(kind, _)| *kind == contender.kind.kind()) {
            reader.reject(span, format!("contender `{}` cannot run workload `{name}`", contender.name), why);
        }
    }
}

fn is_target(contender: &Contender) -> bool {
    matches!(contender.origin, Origin::Target(_))
}

/// Data of the user's fill servers that dbduel starts, each those of its own engine. Beside them a target may replay a
/// log, on the data that it has.
fn refuse_own_data(reader: &mut Reader, section: &Section, own: &OwnData, replays: bool, contenders: &[Contender]) {
    let key = own.key;
    let span = section.value(key).map_or(section.span.clone(), Value::span);
    let stays_as_it_is = |one: &&Contender| replays && is_target(one) && !contenders.iter().all(is_target);
    let filled = || contenders.iter().filter(|one| !stays_as_it_is(one));
    let engines: BTreeSet<&str> = filled().map(|one| one.kind.kind()).collect();
    let expected = |entries: &str| match own.form {
        _ if !replays => format!("expected {key} = {{ {entries} }}"),
        OwnDataForm::Dump => format!("expected {key} = {{ dump = {{ {entries} }} }}"),
        OwnDataForm::Directory { .. } => format!("expected {key} = {{ directory = {{ {entries} }} }}"),
    };
    if engines.len() > 1 && own.places.iter().any(|(engine, _)| engine.is_none()) {
        let entries: Vec<String> = engines.iter().map(|engine| format!("{engine} = \"...\"")).collect();
        let what = format!("`{key}` in {} belongs to one engine, and the contenders have several", section.title);
        reader.reject(&span, what, expected(&entries.join(", ")));
        return;
    }
    for contender in filled() {
        let (name, kind) = (&contender.name, contender.kind.kind());
        if is_target(contender) {
            let what = format!("`{key}` in {}, and contender `{name}` is a target", section.title);
            let note = "take it out: the tables of a target are used as they are, and only servers that dbduel starts are filled";
            reader.reject(&span, what, note);
        } else if own.of(kind).is_none() {
            let what = format!("`{key}` in {} has no entry for contender `{name}`", section.title);
            reader.reject(&span, what, format!("{} among its entries", expected(&format!("{kind} = \"...\""))));
        } else if let Some((what, note)) = unfit(reader, own, contender) {
            reader.reject(&span, what, note);
        }
    }
}

/// Why a contender cannot begin with the data directory that is meant for it. One that cannot be resolved is reported
/// where it is; of a stored run nothing needs to be there any more.
fn unfit(reader: &Reader, own: &OwnData, contender: &Contender) -> Option<(String, String)> {
    let OwnDataForm::Directory { accept_unclean } = own.form else { return None };
    let resolved = crate::resolve(contender).ok().filter(|_| reader.files.stored.is_none())?;
    let resolved = Some(resolved).filter(engine::Resolved::has_version)?;
    let place = &own.of(contender.kind.kind())?.path;
    match engine::refusal(contender.kind, &resolved.version, place, accept_unclean) {
        Ok(refusal) => refusal,
        Err(cause) => {
            Some((format!("{cause:#}"), format!("a data directory of {} was expected", contender.kind.title())))
        }
    }
}

/// The workload of a name, or a mistake where there is none.
fn known_workload(reader: &mut Reader, value: &Value, name: &str, known: &Known) -> Option<&'static WorkloadKind> {
    let kind = known.workloads.find(name);
    if kind.is_none() {
        let note = suggestion(name, known.workloads.names());
        reader.reject(&value.span(), format!("unknown workload `{name}`"), note);
    }
    kind
}

fn check_workload_keys(reader: &mut Reader, section: &Section, name: &str, specs: &[OptionSpec]) {
    let own = specs.iter().flat_map(OptionSpec::names);
    let known: Vec<&str> = names(WORKLOAD_KEYS).into_iter().chain(own.filter(|name| !is_common(name))).collect();
    let titled = Section { title: format!("{} of {name}", section.title), ..section.clone() };
    reader.check_keys(&titled, &known, KEYS_LATER);
}

/// The options that were given, under their proper names.
fn read_options<'a>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    specs: &[OptionSpec],
) -> BTreeMap<String, OptionValue> {
    let mut options = BTreeMap::new();
    for spec in specs.iter().filter(|spec| !is_common(spec.name)) {
        let mut given = spec.names().filter_map(|name| section.value(name).map(|value| (name, value)));
        let Some((key, value)) = given.next() else {
            continue;
        };
        for (other, value) in given {
            reader.reject(&value.span(), format!("`{other}` and `{key}` are the same option"), "keep one of them");
        }
        let default = default_value(spec.default);
        if matches!(default, OptionValue::Items(_) | OptionValue::Table(_)) || spec.paths.contains(&spec.name) {
            options.extend(structure(reader, value, key, spec).map(|given| (spec.name.to_owned(), given)));
            continue;
        }
        match option_value(value, &default) {
            Ok(given) => drop(options.insert(spec.name.to_owned(), given)),
            Err(expected) => reader.reject(
                &value.span(),
                format!("`{key}` in {} cannot be {}", section.title, value_text(value)),
                format!("expected {expected}; the default is {}", spec.default),
            ),
        }
    }
    options
}

/// A value of any kind, with the files that it names; None where one cannot be read, which is then a mistake.
fn structure(reader: &mut Reader, value: &Value, key: &str, spec: &OptionSpec) -> Option<OptionValue> {
    Some(match value.get_ref() {
        DeValue::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| structure(reader, item, key, spec)).collect();
            OptionValue::Items(items.into_iter().collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let entry = |(name, value): (&toml::Spanned<Cow<'_, str>>, &Value)| {
                let name = name.get_ref().to_string();
                structure(reader, value, &name, spec).map(|value| (name, value))
            };
            let entries: Vec<_> = table.iter().map(entry).collect();
            OptionValue::Table(entries.into_iter().collect::<Option<_>>()?)
        }
        DeValue::String(path) if spec.paths.contains(&key) && spec.files != FileUse::Text => {
            let (path, text) = reader.own_data(&value.span(), path)?;
            OptionValue::File { path, text }
        }
        DeValue::String(path) if spec.paths.contains(&key) => {
            OptionValue::File { path: path.to_string(), text: reader.file(&value.span(), path)? }
        }
        DeValue::String(text) => OptionValue::Text(text.to_string()),
        DeValue::Boolean(flag) => OptionValue::Flag(*flag),
        DeValue::Integer(_) => match integer(value).and_then(|number| i64::try_from(number).ok()) {
            Some(number) => OptionValue::Number(number),
            None => {
                reader.reject(&value.span(), format!("`{key}` is too large"), "expected a 64-bit integer");
                return None;
            }
        },
        DeValue::Float(_) => OptionValue::Real(real(value)?),
        DeValue::Datetime(time) => OptionValue::Text(time.to_string()),
    })
}

/// Says what the workload has against an option, at the place where the file gives it.
fn reject_option(reader: &mut Reader, section: &Section, specs: &[OptionSpec], fault: &OptionError) {
    if !fault.in_files.is_empty() {
        return fault.in_files.iter().for_each(|what| reader.reject_elsewhere(what));
    }
    let names = specs.iter().find(|spec| spec.name == fault.option).into_iter().flat_map(OptionSpec::names);
    let given = |key: &str| {
        section
            .value(key)
            .map(|value| (value.span(), format!("`{key}` in {} cannot be {}", section.title, value_text(value))))
    };
    let (span, what) = names
        .filter_map(given)
        .next()
        .unwrap_or_else(|| (section.span.clone(), format!("`{}` in {} does not fit", fault.option, section.title)));
    reader.reject(&span, what, fault.expected.as_str());
}

/// A value as it would stand in a message.
fn value_text(value: &Value) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Array(items) => format!("[{}]", items.iter().map(value_text).collect::<Vec<_>>().join(", ")),
        DeValue::Table(entries) => {
            let entry = |(key, value): (&toml::Spanned<Cow<'_, str>>, &Value)| {
                format!("{} = {}", key.get_ref(), value_text(value))
            };
            format!("{{ {} }}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
        }
        other => format!("a value of type {}", other.type_str()),
    }
}

/// The value of an option, if it has the type of its default.
fn option_value(value: &Value, default: &OptionValue) -> Result<OptionValue, &'static str> {
    let text = value.get_ref().as_str();
    match default {
        OptionValue::Flag(_) => match (value.get_ref().as_bool(), text) {
            (Some(flag), _) => Ok(OptionValue::Flag(flag)),
            (_, Some("on")) => Ok(OptionValue::Flag(true)),
            (_, Some("off")) => Ok(OptionValue::Flag(false)),
            _ => Err("true or false"),
        },
        OptionValue::Number(usual) => integer(value)
            .and_then(|number| i64::try_from(number).ok())
            .filter(|number| *number >= 0 || *usual < 0)
            .map(OptionValue::Number)
            .ok_or("a whole number, not negative"),
        OptionValue::Real(_) => {
            real(value).filter(|number| number.is_finite()).map(OptionValue::Real).ok_or("a number")
        }
        OptionValue::Text(_) => text.map(|text| OptionValue::Text(text.to_owned())).ok_or("a text in quotes"),
        OptionValue::List(_) => {
            let items = value.get_ref().as_array().into_iter().flatten();
            let names = items.map(|item| item.get_ref().as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            let is_list = value.get_ref().is_array();
            names.filter(|_| is_list).map(OptionValue::List).ok_or("a list of names: [\"select\", \"insert\"]")
        }
        OptionValue::File { .. } | OptionValue::Items(_) | OptionValue::Table(_) => Err("tables, or a list of them"),
    }
}

/// The default of an option, which also gives the option's type.
pub fn default_value(default: &str) -> OptionValue {
    let Ok(value) = DeValue::parse(default) else {
        return OptionValue::Text(default.to_owned());
    };
    match value.get_ref() {
        DeValue::Boolean(flag) => OptionValue::Flag(*flag),
        DeValue::String(text) => OptionValue::Text(text.to_string()),
        DeValue::Array(_) if default == ITEMS => OptionValue::Items(Vec::new()),
        DeValue::Array(_) => OptionValue::List(Vec::new()),
        DeValue::Table(_) => OptionValue::Table(BTreeMap::new()),
        DeValue::Integer(_) => {
            let number = integer(&value).and_then(|number| i64::try_from(number).ok());
            OptionValue::Number(number.expect("the default of an option fits its type"))
        }
        DeValue::Float(_) => OptionValue::Real(real(&value).expect("the default of an option is a number")),
        _ => OptionValue::Text(default.to_owned()),
    }
}

fn in_force(specs: &[OptionSpec], given: &BTreeMap<String, OptionValue>) -> BTreeMap<String, OptionValue> {
    let default = |spec: &OptionSpec| default_value(spec.default_beside(given));
    specs
        .iter()
        .filter(|spec| !is_common(spec.name))
        .map(|spec| (spec.name.to_owned(), given.get(spec.name).cloned().unwrap_or_else(|| default(spec))))
        .collect()
}

/// `[sweep]`: at most one number varies; beside cores, the clients that each number of them is tried with.
pub fn read_sweep<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    known: &Known,
    contenders: &[Contender],
    workloads: &mut [WorkloadChoice],
) -> Option<Sweep> {
    top.value("sweep")?;
    let section = reader.table(top, "sweep")?;
    let is_of_cores = section.value(CORES).is_some();
    if section.table.len() > 1 && !(is_of_cores && section.table.len() == 2 && section.value(CLIENTS).is_some()) {
        let names: Vec<String> = section.table.keys().map(|key| format!("`{}`", key.get_ref())).collect();
        let what = format!("[sweep] varies more than one number: {}", names.join(" and "));
        reader.reject(
            &section.span,
            what,
            "keep one and fix the other in [workload]: two at once would hide which of them matters (only clients may stand beside cores)",
        );
        return None;
    }
    let sweeps = names(SWEEP_KEYS);
    reader.check_keys(&section, &sweeps, &[]);
    let variable = *sweeps.iter().find(|name| section.value(name).is_some())?;
    let values = read_sweep_values(reader, &section, variable)?;
    for workload in &mut *workloads {
        fit_sweep(reader, &section, known, workload, variable, &values)?;
    }
    let sweep = Sweep { variable: variable.to_owned(), values, crowds: None };
    if !is_of_cores {
        return Some(sweep);
    }
    refuse_cores_of_its_own(reader, &section, contenders);
    let sweep = Sweep { crowds: read_crowds(reader, &section), ..sweep };
    let crowds: BTreeSet<u64> = sweep.points().iter().filter_map(|point| point.get(CLIENTS).copied()).collect();
    let crowds = Vec::from_iter(crowds);
    if let (Some(most), Some(value)) = (crowds.last(), section.value(CLIENTS)) {
        refuse_a_crowd(reader, &value.span(), u32::try_from(*most).ok());
        for workload in workloads {
            fit_sweep(reader, &section, known, workload, CLIENTS, &crowds)?;
        }
    }
    Some(sweep)
}

/// What stands beside cores: numbers of clients, `"cores"` alone or among them, or `"per-core"`.
fn read_crowds<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> Option<Crowds> {
    let value = section.value(CLIENTS)?;
    let is_as_cores = |item: &&Value| item.get_ref().as_str() == Some(AS_CORES);
    match value.get_ref() {
        DeValue::String(word) => match word.as_ref() {
            PER_CORE => Some(Crowds::per_core()),
            AS_CORES => Some(Crowds { per_core: vec![1], ..Crowds::default() }),
            other => {
                reader.reject(&value.span(), format!("`{CLIENTS}` in [sweep] is \"{other}\""), CROWDS_EXPECTED);
                None
            }
        },
        DeValue::Array(items) if items.iter().any(|item| is_as_cores(&item)) => {
            let listed = whole_values(reader, section, CLIENTS, items.iter().filter(|item| !is_as_cores(item)))?;
            let listed = if listed.is_empty() { listed } else { each_once(reader, value, listed)? };
            Some(Crowds { listed, per_core: vec![1] })
        }
        _ => read_sweep_values(reader, section, CLIENTS).map(|listed| Crowds { listed, ..Crowds::default() }),
    }
}

/// A number of cores in the sweep excludes another one of a contender, or one that cannot be set.
fn refuse_cores_of_its_own(reader: &mut Reader, section: &Section, contenders: &[Contender]) {
    let span = section.value(CORES).map_or(section.span.clone(), Value::span);
    for contender in contenders {
        if matches!(contender.origin, Origin::Target(_)) {
            let what = format!("[sweep] varies `{CORES}`, and contender `{}` is a target", contender.name);
            reader.reject(&span, what, "dbduel cannot say on which CPUs a server runs that it does not start");
        } else if contender.cores.is_some() {
            let what = format!("[sweep] varies `{CORES}`, and contender `{}` has `{CORES}` of its own", contender.name);
            reader.reject(&span, what, "keep one of them");
        }
    }
}

/// Checks every value of the sweep with the workload, and gets the number of clients there.
fn fit_sweep(
    reader: &mut Reader,
    section: &Section,
    known: &Known,
    workload: &mut WorkloadChoice,
    variable: &str,
    values: &[u64],
) -> Option<()> {
    let span = section.value(variable).map_or(section.span.clone(), Value::span);
    let label = workload.label.clone();
    if workload.one_pass || (workload.replays && ![SPEED, CORES].contains(&variable)) {
        let what = format!("[sweep] varies `{variable}`, and a trial of workload `{label}` is one pass");
        reader.reject(&span, what, "take the [sweep] out, or give that workload an experiment of its own");
        return None;
    }
    if variable == RATE {
        let needs = known.needs(workload.kind, &workload.options).unwrap_or_default();
        refuse_rests(reader, section, RATE, &needs, true);
        if workload.rate.is_some() {
            let what = format!("[sweep] varies `{RATE}`, and workload `{label}` has `{RATE}` of its own");
            reader.reject(&span, what, "keep one of them");
        }
        return Some(());
    }
    if ![CLIENTS, CORES].contains(&variable) && !workload.in_force.contains_key(variable) {
        let what = format!("[sweep] varies `{variable}`, which workload `{label}` does not have");
        reader.reject(&span, what, "give that workload an experiment of its own");
        return None;
    }
    if !workload.kind.options.iter().any(|spec| spec.name == variable) {
        return Some(());
    }
    for value in values {
        let number = OptionValue::Number(i64::try_from(*value).unwrap_or(i64::MAX));
        let mut options = workload.options.clone();
        options.insert(variable.to_owned(), number);
        match known.needs(workload.kind, &options) {
            Ok(needs) if variable != CLIENTS => {
                refuse_a_crowd(reader, &span, needs.clients);
                workload.clients_at.extend(needs.clients.map(|clients| (*value, clients)));
            }
            Ok(_) => {}
            Err(fault) => {
                let what = format!("workload `{label}` cannot run with {variable} = {value}");
                reader.reject(&span, what, fault.to_string());
                return None;
            }
        }
    }
    Some(())
}

/// `[1, 2, 4]` or `{ from = 25, to = 650, step = 25 }`.
fn read_sweep_values<'a>(reader: &mut Reader<'a>, section: &Section<'a>, key: &str) -> Option<Vec<u64>> {
    let value = section.value(key)?;
    let expected = "a list or a range: [1, 4, 16], or { from = 25, to = 650, step = 25 }";
    let values = match value.get_ref() {
        DeValue::Array(items) => whole_values(reader, section, key, items.iter())?,
        DeValue::Table(_) => read_range(reader, section, key)?,
        _ => {
            reader.wrong_type(section, key, value, expected);
            return None;
        }
    };
    each_once(reader, value, values)
}

fn whole_values<'v, 'a: 'v>(
    reader: &mut Reader<'a>,
    section: &Section<'a>,
    key: &str,
    items: impl Iterator<Item = &'v Value<'a>>,
) -> Option<Vec<u64>> {
    let numbers = items.map(|item| reader.whole_value(section, key, item, 1..=most(key)));
    // Every wrong one is reported, not the first alone.
    numbers.collect::<Vec<_>>().into_iter().collect()
}

fn each_once(reader: &mut Reader, value: &Value, values: Vec<u64>) -> Option<Vec<u64>> {
    let distinct: BTreeSet<u64> = values.iter().copied().collect();
    if values.is_empty() || values.len() > MOST_POINTS {
        reader.reject(
            &value.span(),
            format!("the sweep has {} points", values.len()),
            format!("expected 1 to {MOST_POINTS}"),
        );
        return None;
    }
    if distinct.len() < values.len() {
        reader.reject(&value.span(), "the sweep names one value twice", "expected each value once");
        return None;
    }
    Some(values)
}

/// The largest value of a sweep: a workload checks its own options.
fn most(key: &str) -> u64 {
    match key {
        CLIENTS => MOST_CLIENTS,
        CORES => MOST_CORES,
        RATE => MOST_RATE,
        _ => u64::from(u32::MAX),
    }
}

fn read_range<'a>(reader: &mut Reader<'a>, section: &Section<'a>, key: &str) -> Option<Vec<u64>> {
    let range =
        reader.table(section, key).map(|range| Section { title: format!("the range of [sweep] {key}"), ..range })?;
    reader.check_keys(&range, &["from", "to", "step"], &[]);
    let mut bound = |name: &str| {
        if range.value(name).is_none() {
            reader.reject(
                &range.span,
                format!("the range of the sweep has no `{name}`"),
                "expected { from = 25, to = 650, step = 25 }",
            );
        }
        reader.whole(&range, name, 1..=most(key))
    };
    let (from, to, step) = (bound("from"), bound("to"), bound("step"));
    let (from, to, step) = (from?, to?, step?);
    if from > to {
        reader.reject(
            &range.span,
            format!("the range of the sweep runs backwards: from {from} to {to}"),
            "expected `from` below `to`",
        );
        return None;
    }
    Some((from..=to).step_by(step as usize).collect())
}
