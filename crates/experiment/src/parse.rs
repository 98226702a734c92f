//! Turns the text of an experiment file into an [`Experiment`], or into all its mistakes.
//!
//! Built on TOML values with their place in the text, so that every mistake can name its line.
//! It reads no environment and opens no file but the experiment and those that it names; what the engines and workloads are
//! called comes in as [`Known`], because this module depends on neither.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use toml::de::{DeTable, DeValue};

use super::cluster::read_cluster;
use super::contenders::read_contenders;
use super::defaults::{Defaults, MethodKeys, Warmup, defaults};
use super::gate::read_gate;
use super::keys::{CLIENTS_KEYS, TOP_KEYS, names};
use super::labels::{Labels, read_labels};
use super::ladder::read_ladders;
use super::line::{self, Line};
use super::mistakes::{Mistake, Mistakes, suggestion};
use super::plan::files_of;
use super::recovery::{self, read_recovery};
use super::section::{Files, NAME_CHARS_MAX, Reader, Section, is_short};
use super::set::{self, Edited, Settings};
use super::settings_file;
use super::syntax;
use super::vocabulary::Known;
use super::workloads::{read_sweep, read_workloads};
use super::{CORES, Contender, CpuList, Experiment, Method, NoisyHost, Stop, aa, arrangements};
use engine::request::TRANSPORT_WORDS;
use record::format::PlanRecord;
use record::secrets;

/// The method by flags of the command line; they win over the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    pub preset: Option<String>,
    pub budget: Option<Duration>,
    pub blocks: Option<u32>,
    pub seed: Option<u64>,
    pub accept_noisy: bool,
    pub contrast: bool,
    pub diagnose: bool,
    pub labels: Labels,
    /// Keys of the file: those that [`Experiment::load`] sets, or that a stored text has already.
    pub set: Settings,
    /// Contenders of the command line, in place of the file's or of any file.
    pub line: Option<Line>,
    /// The file's first contender runs against itself; the others are left out.
    pub twins: bool,
    /// The name of an experiment whose file gives none; without it, that is the name of the file.
    pub fallback_name: Option<String>,
    /// The files that the experiment names, where a run has stored them.
    pub files: Option<BTreeMap<String, String>>,
    /// `[recovery]` is left to a run of its own, and the file is read as if it had none.
    pub leaves_recovery: bool,
}

impl Overrides {
    /// Whether no flag of the command line is about the method.
    pub fn is_empty(&self) -> bool {
        let Overrides {
            preset,
            budget,
            blocks,
            seed,
            accept_noisy,
            contrast,
            diagnose,
            labels,
            set,
            line,
            twins: _,
            fallback_name: _,
            files: _,
            leaves_recovery: _,
        } = self;
        let switches = [accept_noisy, contrast, diagnose];
        let has_none = preset.is_none() && budget.is_none() && blocks.is_none() && seed.is_none();
        has_none && labels.is_empty() && set.is_empty() && line.is_none() && !switches.contains(&&true)
    }

    /// What makes the stored text of a run the experiment of its plan again.
    pub fn of_plan(plan: &PlanRecord) -> Overrides {
        let method = &plan.method;
        Overrides {
            preset: Some(method.preset.clone()),
            budget: method.budget_s.map(Duration::from_secs_f64),
            blocks: Some(method.blocks),
            seed: Some(plan.seed),
            accept_noisy: method.noisy_host == NoisyHost::Stamp.word(),
            contrast: method.contrast,
            diagnose: method.diagnose,
            labels: Labels::new(),
            set: plan.set.clone(),
            line: None,
            twins: plan.twins,
            fallback_name: Some(aa::name_of_the_file(plan).to_owned()),
            files: Some(files_of(plan)),
            leaves_recovery: false,
        }
    }
}

impl Experiment {
    /// Reads and checks an experiment file, with what the command line set in it.
    pub fn load(path: &Path, known: &Known, overrides: &Overrides) -> Result<Experiment, Mistakes> {
        let edited = Experiment::source(path, known, overrides)?;
        let file = path.display().to_string();
        let parsed = Experiment::parse(&edited.text, &file, known, overrides);
        let mut experiment = parsed.map_err(|mistakes| edited.place(mistakes))?;
        experiment.remarks.extend(edited.remarks);
        Ok(experiment)
    }

    /// The text of an experiment file, with what the command line set in it and with the settings of the servers' own
    /// files that it names; of a line without a file, the text that it asks for.
    pub fn source(path: &Path, known: &Known, overrides: &Overrides) -> Result<Edited, Mistakes> {
        let file = path.display().to_string();
        let has_file = overrides.line.as_ref().is_none_or(|line| line.has_file);
        let source = has_file.then(|| known.source(path).map_err(|cause| unreadable(&file, &cause))).transpose()?;
        let preset = overrides.preset.as_deref();
        let text = match (&overrides.line, source) {
            (Some(line), source) => line.text(source.as_deref(), known, preset),
            (None, source) => Ok(Edited::untouched(&source.unwrap_or_default())),
        };
        let (edited, of_preset) = text.map_err(|error| line::mistake(&error))?.of_preset(preset);
        let edited = edited.with(&file, &of_preset)?.with(&file, &overrides.set)?;
        settings_file::expand(edited, &file, path.parent().unwrap_or(Path::new("")), known)
    }

    /// Checks the text of an experiment file, in which everything is set; `file` is its name in messages.
    pub fn parse(source: &str, file: &str, known: &Known, overrides: &Overrides) -> Result<Experiment, Mistakes> {
        let (root, broken) = DeTable::parse_recoverable(source);
        let mut reader = Reader::new(source);
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        reader.files = Files { folder, stored: overrides.files.clone() };
        if !broken.is_empty() {
            reader.push(syntax::mistake(source, &broken));
        }
        if broken.is_empty() {
            let top = Section::new("", root.span(), root.get_ref());
            let experiment = read_experiment(&mut reader, &top, file, known, overrides);
            return match reader.finish(file) {
                Some(mistakes) => Err(mistakes),
                None => Ok(Experiment { text: secrets::mask(source), ..experiment }),
            };
        }
        Err(reader.finish(file).expect("a broken file has at least one mistake"))
    }
}

fn unreadable(file: &str, cause: &std::io::Error) -> Mistakes {
    let note = "expected a TOML file; `dbduel plan` lists those that come with dbduel".to_owned();
    let mistake = Mistake { line: None, what: format!("cannot read {file}: {cause}"), notes: vec![note] };
    Mistakes { file: file.to_owned(), list: vec![mistake], about_keys: false }
}

fn read_experiment<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    file: &str,
    known: &Known,
    overrides: &Overrides,
) -> Experiment {
    let defaults = defaults();
    reader.check_keys(top, &names(TOP_KEYS), &[]);
    let method = read_method(reader, top, &defaults, overrides);
    let mut contenders = read_contenders(reader, top, known, &defaults.storage);
    let baseline = read_baseline(reader, top, &contenders);
    let ladders = read_ladders(reader, top, known, &mut contenders, &baseline);
    let mut workloads = read_workloads(reader, top, known, &contenders, &defaults.workload);
    let sweep = read_sweep(reader, top, known, &contenders, &mut workloads);
    let remarks = sweep.iter().flat_map(|sweep| without_use(top, &sweep.variable)).collect();
    if !workloads.is_empty() && workloads.iter().all(|workload| workload.ends_itself()) {
        refuse_times(reader, top);
    }
    let (transport, client_cores) = read_clients(reader, top, &defaults);
    let cluster = read_cluster(reader, top, defaults.cluster);
    let gate = read_gate(reader, top, &workloads);
    if gate.is_none() {
        refuse_gate_without_limits(reader, top, &method);
    }
    let (recovery, method) = match overrides.leaves_recovery {
        true => (None, method),
        false => read_recovery(reader, top, method, overrides.blocks, defaults.recovery),
    };
    if let Some(recovery) = recovery {
        recovery::lay_ledgers_beside(reader, top, known, recovery.ledger_clients, &mut workloads);
    }
    // Twice the threads of this process would change nothing.
    let method = Method { doubling: method.doubling && cluster.is_none(), ..method };
    let labels = read_labels(reader, top, &overrides.labels);
    let experiment = Experiment {
        name: reader
            .name(top, "name")
            .or_else(|| overrides.fallback_name.clone())
            .unwrap_or_else(|| name_of_file(reader, file)),
        question: reader.prose(top, "question"),
        baseline,
        ladders,
        workloads,
        sweep,
        method,
        transport,
        client_cores,
        cluster,
        gate,
        recovery,
        labels,
        twins: false,
        set: set::shown(&overrides.set),
        text: String::new(),
        remarks,
        contenders,
    };
    let experiment = if overrides.twins { aa::of(experiment) } else { experiment };
    arrangements::refuse(reader, top, &experiment);
    recovery::refuse(reader, top, &experiment);
    arrangements::refuse_beside_workers(reader, top, &experiment);
    experiment
}

/// Keys of workloads in whose place the sweep puts its values.
fn without_use(top: &Section, variable: &str) -> Vec<String> {
    let workload = top.value("workload").map(|value| value.get_ref());
    let tables = match workload {
        Some(DeValue::Table(table)) => vec![table],
        Some(DeValue::Array(list)) => list.iter().filter_map(|one| one.get_ref().as_table()).collect(),
        _ => Vec::new(),
    };
    let keys: &[&str] = match variable {
        "clients" => &["clients", "terminals"],
        "rows" => &["rows", "table_size"],
        other => &[other],
    };
    let line = |key: &str| format!("`{key}` in [workload] is not used: `sweep.{variable}` takes its place");
    let is_given = |key: &&&str| tables.iter().any(|table| table.contains_key(**key));
    keys.iter().filter(is_given).map(|key| line(key)).collect()
}

/// Times that no trial would keep.
fn refuse_times<'a>(reader: &mut Reader<'a>, top: &Section<'a>) {
    let Some(section) = top.value("method").and_then(|method| method.get_ref().as_table()) else { return };
    for key in ["duration", "warmup", "pilot"] {
        if let Some(value) = section.get(key) {
            let what = format!("`{key}` in [method] has no use: a trial of these workloads is one pass, however long");
            reader.reject(&value.span(), what, "take it out; `small = true` in [workload] makes a pass shorter");
        }
    }
}

fn name_of_file(reader: &mut Reader, file: &str) -> String {
    let stem = Path::new(file).file_stem();
    let stem = stem.map_or_else(|| "experiment".to_owned(), |stem| stem.to_string_lossy().into_owned());
    if !is_short(&stem) {
        let what = format!("the file's name has more than {NAME_CHARS_MAX} characters, too many for the name of a run");
        reader.reject(&(0..0), what, "give the experiment a `name`");
    }
    stem
}

/// The contender that all others are compared with: the first one, unless the file names another.
fn read_baseline<'a>(reader: &mut Reader<'a>, top: &Section<'a>, contenders: &[Contender]) -> String {
    let first = contenders.first().map(|contender| contender.name.clone()).unwrap_or_default();
    let (Some(value), Some(name)) = (top.value("baseline"), reader.text(top, "baseline")) else {
        return first;
    };
    if !contenders.is_empty() && !contenders.iter().any(|contender| contender.name == name) {
        let names = contenders.iter().map(|contender| contender.name.as_str());
        reader.reject(&value.span(), format!("`baseline` names no contender: \"{name}\""), suggestion(&name, names));
    }
    name
}

/// `[clients]`: how the load reaches the servers, and which CPUs it has.
fn read_clients<'a>(
    reader: &mut Reader<'a>,
    top: &Section<'a>,
    defaults: &Defaults,
) -> (super::Transport, Option<CpuList>) {
    let Some(section) = reader.table(top, "clients") else {
        return (defaults.transport, None);
    };
    reader.check_keys(&section, &names(CLIENTS_KEYS), &[]);
    let transport = reader.choice(&section, "transport", TRANSPORT_WORDS).unwrap_or(defaults.transport);
    (transport, reader.cpu_list(&section, CORES))
}

/// `[method]`: the command line over the file over the preset over the defaults.
fn read_method<'a>(reader: &mut Reader<'a>, top: &Section<'a>, defaults: &Defaults, overrides: &Overrides) -> Method {
    let section = reader.table(top, "method");
    let given = section.as_ref().map(|section| MethodKeys::read(reader, section)).unwrap_or_default();
    if let Some(unknown) = given.preset.as_ref().filter(|name| defaults.preset(name).is_none()) {
        reject_preset(reader, section.as_ref(), unknown, defaults);
    }
    let name = overrides.preset.clone().or_else(|| given.preset.clone()).or_else(|| defaults.method.preset.clone());
    let name = name.expect("default-experiment.toml names a preset");
    let preset = defaults.preset(&name).cloned().unwrap_or_else(|| {
        if overrides.preset.is_some() {
            reject_preset(reader, None, &name, defaults);
        }
        // Any preset will do for the rest of the checks: the file has a mistake already.
        defaults.presets.first().map(|(_, keys)| keys.clone()).expect("there are presets")
    });
    let base = preset.over(&defaults.method);
    let from_file = given.clone().over(&base);
    let method = in_force(&override_keys(overrides).over(&from_file), defaults, name);
    refuse_noise_under_strict(reader, section.as_ref(), &method, overrides);
    refuse_pilot_without_use(reader, section.as_ref(), &method);
    Method { changed: changed_keys(&method, &base, overrides, &from_file, defaults), ..method }
}

fn override_keys(overrides: &Overrides) -> MethodKeys {
    MethodKeys {
        budget: overrides.budget,
        blocks: overrides.blocks.or(overrides.twins.then_some(aa::BLOCKS)),
        stop: overrides.twins.then_some(Stop::Never),
        seed: overrides.seed,
        noisy_host: overrides.accept_noisy.then_some(NoisyHost::Stamp),
        contrast: overrides.contrast.then_some(true),
        diagnose: overrides.diagnose.then_some(true),
        ..MethodKeys::default()
    }
}

fn in_force(keys: &MethodKeys, defaults: &Defaults, preset: String) -> Method {
    const WHOLE: &str = "every preset over the defaults has a value for every key";
    Method {
        preset,
        duration: keys.duration.expect(WHOLE),
        warmup: warmup_time(keys, defaults).expect(WHOLE),
        rule: keys.rule.expect(WHOLE),
        blocks: keys.blocks.expect(WHOLE),
        margin: keys.margin.expect(WHOLE),
        budget: keys.budget,
        seed: keys.seed.expect(WHOLE),
        stop: keys.stop.expect(WHOLE),
        noisy_host: keys.noisy_host.expect(WHOLE),
        page_cache: keys.page_cache.expect(WHOLE),
        work_copy: keys.work_copy.expect(WHOLE),
        duet: keys.duet.expect(WHOLE),
        fast_sweep: keys.fast_sweep.expect(WHOLE),
        pilot: pilot_time(keys),
        steady_state: keys.steady_state.expect(WHOLE),
        drain: keys.drain.expect(WHOLE),
        repeats: keys.repeats.expect(WHOLE),
        doubling: keys.doubling.expect(WHOLE),
        contrast: keys.contrast.expect(WHOLE),
        diagnose: keys.diagnose.expect(WHOLE),
        changed: Vec::new(),
    }
}

/// How much longer than the warm-up that it may choose a pilot is at least (method, section 1, "Warm-up").
const PILOT_OVER_WARMUP: u32 = 5;

/// With `auto`, the least time that a pilot may choose.
fn warmup_time(keys: &MethodKeys, defaults: &Defaults) -> Option<Duration> {
    match keys.warmup? {
        Warmup::Auto => Some(defaults.least_warmup.min(keys.pilot? / PILOT_OVER_WARMUP)),
        Warmup::Time(time) => Some(time),
    }
}

fn pilot_time(keys: &MethodKeys) -> Option<Duration> {
    keys.pilot.filter(|_| keys.warmup == Some(Warmup::Auto))
}

/// A pilot's length beside a warm-up that no pilot chooses.
fn refuse_pilot_without_use(reader: &mut Reader, section: Option<&Section>, method: &Method) {
    let Some(value) = section.and_then(|section| section.value("pilot")) else { return };
    if method.pilot.is_none() {
        let what = "`pilot` in [method] has no use beside a `warmup` that is a time";
        reader.reject(&value.span(), what, "take it out, or write warmup = \"auto\"");
    }
}

/// A run that ends with the answer of the gate, where nothing is asked.
fn refuse_gate_without_limits<'a>(reader: &mut Reader<'a>, top: &Section<'a>, method: &Method) {
    if method.stop != Stop::Gate {
        return;
    }
    if let Some(value) = reader.table(top, "method").and_then(|section| section.value("stop")) {
        let what = "`stop` in [method] is \"gate\", and there is no [gate]";
        let note = "write the limits, such as [gate] with max_slowdown = \"3%\", or another `stop`";
        reader.reject(&value.span(), what, note);
    }
}

fn reject_preset(reader: &mut Reader, section: Option<&Section>, name: &str, defaults: &Defaults) {
    let names = defaults.presets.iter().map(|(known, _)| known.as_str());
    let note = suggestion(name, names);
    match section.and_then(|section| section.value("preset")) {
        Some(value) => reader.reject(&value.span(), format!("unknown preset `{name}` in [method]"), note),
        None => reader.reject_option(format!("unknown preset `{name}` (--preset)"), note),
    }
}

/// A strict run on a noisy host would be strict in name only.
fn refuse_noise_under_strict(reader: &mut Reader, section: Option<&Section>, method: &Method, overrides: &Overrides) {
    if method.preset != "strict" || method.noisy_host == NoisyHost::Refuse {
        return;
    }
    let what = "preset `strict` takes no noisy host";
    match section.and_then(|section| section.value("noisy_host")) {
        Some(value) if !overrides.accept_noisy => {
            reader.reject(&value.span(), what, "take `noisy_host` out, or choose preset standard")
        }
        _ => reader
            .reject_option(format!("{what} (--accept-noisy)"), "leave the option out, or choose --preset standard"),
    }
}

/// The keys whose value in force is not the preset's, and the ones that the command line changed.
fn changed_keys(
    method: &Method,
    base: &MethodKeys,
    overrides: &Overrides,
    from_file: &MethodKeys,
    defaults: &Defaults,
) -> Vec<String> {
    let (preset_warmup, preset_pilot) = (warmup_time(base, defaults), pilot_time(base));
    let preset_is_auto = preset_pilot.is_some();
    let differs = [
        ("preset", overrides.preset.is_some() && from_file.preset != overrides.preset),
        ("duration", Some(method.duration) != base.duration),
        // The least warm-up follows from a short pilot, which is named itself.
        ("warmup", method.pilot.is_some() != preset_is_auto || !preset_is_auto && Some(method.warmup) != preset_warmup),
        ("pilot", method.pilot.is_some() && method.pilot != base.pilot),
        ("rule", Some(method.rule) != base.rule),
        ("blocks", Some(method.blocks) != base.blocks),
        ("margin", Some(method.margin) != base.margin),
        ("budget", method.budget != base.budget),
        // Another seed in the file is another order, not another method; on the command line it is
        // a plan that differs from the file's.
        ("seed", overrides.seed.is_some() && overrides.seed != from_file.seed),
        ("stop", Some(method.stop) != base.stop),
        ("noisy_host", Some(method.noisy_host) != base.noisy_host),
        ("page_cache", Some(method.page_cache) != base.page_cache),
        ("work_copy", Some(method.work_copy) != base.work_copy),
        ("duet", Some(method.duet) != base.duet),
        ("fast_sweep", Some(method.fast_sweep) != base.fast_sweep),
        ("steady_state", Some(method.steady_state) != base.steady_state),
        ("wait_for_deferred_work", Some(method.drain) != base.drain),
        ("repeats", Some(method.repeats) != base.repeats),
        ("headroom_check", Some(method.doubling) != base.doubling),
        ("test_causes", Some(method.contrast) != base.contrast),
        ("profile", Some(method.diagnose) != base.diagnose),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key.to_owned()).collect()
}

#[cfg(test)]
pub mod tests {
    use driver::Isolation;
    use load::OptionValue;

    use super::super::{Origin, PageCache, Storage, Sweep, Transport, VersionRequest};
    use super::*;
    use crate::testing::known;
    use record::format::RuleName;

    pub fn parse(source: &str) -> Result<Experiment, Mistakes> {
        Experiment::parse(source, "x.toml", &known(), &Overrides::default())
    }

    pub fn parsed(source: &str) -> Experiment {
        parse(source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    const SHORT: &str = "workload = \"oltp_read_write\"\n\
        contender = [{ engine = \"mysql@5.7.29\" }, { engine = \"mysql@8.0.31\" }]\n\
        sweep.clients = [1, 4, 16, 64]\nmethod.duration = \"90s\"\n";

    #[test]
    fn a_number_of_transactions_ends_a_trial_under_either_of_its_names() {
        let with = |keys: &str| {
            let workload = format!("[workload]\nname = \"oltp_read_write\"\n{keys}");
            let contenders = "contender = [{ engine = \"mysql@5.5.9\" }, { engine = \"mysql@5.6.24\" }]\n";
            parse(&format!("{contenders}{workload}"))
        };
        let events = |keys: &str| with(keys).unwrap().workloads[0].events;
        assert_eq!(
            (events("events = 30_000\n"), events("max_requests = 30_000\n"), events("")),
            (Some(30_000), Some(30_000), None)
        );
        let refused = |keys: &str, expected: &str| {
            let mistakes = with(keys).unwrap_err().to_string();
            assert!(mistakes.contains(expected), "{mistakes}");
        };
        refused("events = 1\nmax_requests = 1\n", "are the same option");
        refused("events = 0\n", "`events`");
        refused("events = 1\n[method]\nduet = true\n", "would end alone");
        let pass = "contender = [{ engine = \"mysql@5.5.9\" }, { engine = \"mysql@5.6.24\" }]\n[workload]\nname = \"sql-bench\"\nevents = 5\n";
        assert!(parse(pass).unwrap_err().to_string().contains("has no use"));
    }

    #[test]
    fn the_short_form_takes_everything_else_from_the_defaults() {
        let experiment = parsed(SHORT);
        assert_eq!((experiment.name.as_str(), experiment.baseline.as_str()), ("x", "mysql@5.7.29"));
        assert_eq!(experiment.contenders[1].version, VersionRequest::Series("8.0.31".into()));
        assert_eq!(experiment.contenders[0].storage, Storage::Disk);
        assert_eq!(
            experiment.sweep,
            Some(Sweep { variable: "clients".into(), values: vec![1, 4, 16, 64], crowds: None })
        );
        assert_eq!(experiment.workloads[0].clients, 16);
        assert_eq!(experiment.workloads[0].in_force["rows"], OptionValue::Number(100_000));
        let method = &experiment.method;
        assert_eq!((method.preset.as_str(), method.blocks, method.stop), ("standard", 20, Stop::Overall));
        assert_eq!((method.warmup, method.page_cache), (Duration::from_secs(30), PageCache::Warm));
        assert_eq!(method.changed, ["duration"]);
        assert_eq!(experiment.transport, Transport::Socket);
    }

    #[test]
    fn another_rule_is_a_changed_method() {
        let rule = |word: &str| parsed(&format!("{SHORT}method.rule = \"{word}\"\n")).method;
        assert_eq!((rule("t").rule, rule("t").changed), (RuleName::T, vec!["duration".to_owned(), "rule".to_owned()]));
        assert_eq!((rule("exact").rule, rule("exact").changed), (RuleName::Exact, vec!["duration".to_owned()]));
    }

    #[test]
    fn an_isolation_level_is_for_all_contenders_or_for_none() {
        let file = |engine: &str, level: &str| {
            format!(
                "contender = [{{ engine = \"mysql\" }}, {{ engine = \"{engine}\" }}]\n\
                 [workload]\nname = \"oltp_read_write\"\nisolation = \"{level}\"\n"
            )
        };
        assert_eq!(parsed(SHORT).workloads[0].isolation, None);
        assert_eq!(parsed(&file("postgres", "read committed")).workloads[0].isolation, Some(Isolation::ReadCommitted));
        let refused = |engine: &str, level: &str, what: &str| {
            let mistakes = parse(&file(engine, level)).unwrap_err();
            assert!(mistakes.list.len() == 1 && mistakes.to_string().contains(what), "{mistakes}");
        };
        refused("postgres", "read uncommitted", "contender `postgres` has no isolation level `read uncommitted`");
        refused("postgres", "snapshot", "\"repeatable read\"");
    }

    #[test]
    fn a_key_in_whose_place_the_sweep_puts_its_values_is_named() {
        let two = "contender = [{ name = \"a\", engine = \"sqlite\" }, { name = \"b\", engine = \"sqlite\" }]\n";
        let remarks = |workload: &str, sweep: &str| {
            parse(&format!("{two}workload = {{ name = \"oltp_read_write\", {workload} }}\n{sweep}\n")).unwrap().remarks
        };
        let both = remarks("clients = 8", "sweep.clients = [1, 2]");
        assert_eq!(both, ["`clients` in [workload] is not used: `sweep.clients` takes its place"]);
        assert_eq!(remarks("clients = 8", "sweep.rate = [10, 20]"), [""; 0]);
        assert_eq!(remarks("rows = 1000", "sweep.clients = [1, 2]"), [""; 0]);
    }

    #[test]
    fn a_pass_has_one_client_and_no_use_for_times_and_sweeps() {
        let contenders = "contender = [{ engine = \"mysql\" }]\n";
        let short = parsed(&format!("{contenders}workload = \"sql-bench\"\n"));
        assert_eq!((short.workloads[0].clients, short.workloads[0].one_pass), (1, true));
        let long = "[workload]\nname = \"sql-bench\"\nprograms = [\"connect\"]\nsmall = true\n";
        assert_eq!(parsed(&format!("{contenders}{long}")).workloads[0].options.len(), 2);
        let refused = |more: &str, line: usize, what: &str| {
            let mistakes = parse(&format!("{contenders}{long}{more}")).unwrap_err();
            assert_eq!(mistakes.list.len(), 1, "{mistakes}");
            assert_eq!(mistakes.list[0].line, Some(line), "{mistakes}");
            assert!(mistakes.to_string().contains(what), "{mistakes}");
        };
        refused("clients = 4\n", 6, "has no use for `clients`");
        refused("rows = 1000\n", 6, "unknown key `rows`");
        refused("[sweep]\nclients = [1, 2]\n", 7, "is one pass");
        refused("[method]\nduration = \"60s\"\n", 7, "`duration` in [method] has no use");
        refused("[method]\nblocks = 8\nwarmup = \"5s\"\n", 8, "`warmup` in [method] has no use");
        refused("[method]\npilot = \"100s\"\n", 7, "`pilot` in [method] has no use");
        // Beside a workload that is measured for a time, the times are its own.
        let both = format!(
            "{contenders}method.duration = \"90s\"\n[[workload]]\nname = \"sql-bench\"\n[[workload]]\nname = \"oltp_read_write\"\n"
        );
        assert_eq!(parsed(&both).method.duration.as_secs(), 90);
    }

    #[test]
    fn beside_cores_a_level_may_be_as_many_clients_as_there_are_cores() {
        let file = |clients: &str| {
            format!(
                "workload = \"oltp_read_write\"\ncontender = [{{ engine = \"mysql\" }}]\n[sweep]\ncores = [1, 2, 4]\nclients = {clients}\n"
            )
        };
        let check = |clients: &str, expected: &[[u64; 2]]| {
            let points = parsed(&file(clients)).sweep.unwrap().points();
            let pairs: Vec<[u64; 2]> = points.iter().map(|point| [point["cores"], point["clients"]]).collect();
            assert_eq!(pairs, expected, "{clients}");
        };
        check("\"cores\"", &[[1, 1], [2, 2], [4, 4]]);
        check("[\"cores\"]", &[[1, 1], [2, 2], [4, 4]]);
        // What the list has already is no second level.
        check("[2, \"cores\", 8]", &[[1, 2], [1, 8], [1, 1], [2, 2], [2, 8], [4, 2], [4, 8], [4, 4]]);
        for wrong in ["\"per core\"", "[\"core\", 2]", "[\"cores\", 2, 2]", "[\"cores\", 0]"] {
            let mistakes = parse(&file(wrong)).unwrap_err();
            assert_eq!(mistakes.list[0].line, Some(5), "{wrong}: {mistakes}");
        }
    }

    #[test]
    fn settings_become_the_texts_that_a_server_is_given() {
        let experiment = parsed(
            "workload = \"oltp_read_write\"\nname = \"n\"\n[[contender]]\nengine = \"mysql@system\"\n\
             settings = { xa = \"1G\", xb = 1, xc = true, xd = 0.5, xe = 0x10, xf.g = 2 }\nstorage = \"/fast\"\n\
             [[contender]]\nname = \"pg\"\nengine = \"postgres\"\nsettings = { fsync = false }\nbasedir = \"/opt/pg\"\n",
        );
        let [mysql, postgres] = &experiment.contenders[..] else { panic!("two contenders") };
        let pairs = [("xa", "1G"), ("xb", "1"), ("xc", "ON"), ("xd", "0.5"), ("xe", "16"), ("xf.g", "2")];
        let expected: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        assert_eq!(mysql.settings, expected);
        assert_eq!(mysql.version, VersionRequest::System);
        assert_eq!(mysql.storage, Storage::Directory("/fast".into()));
        assert_eq!(postgres.settings["fsync"], "off");
        assert_eq!(postgres.origin, Origin::Basedir("/opt/pg".into()));
    }

    #[test]
    fn workload_options_are_known_by_alias_and_keep_their_type() {
        let experiment = parsed(
            "contender = [{ engine = \"mysql\" }]\n[[workload]]\nname = \"oltp_read_write\"\nlabel = \"small\"\n\
             table_size = 1_000\nskip_trx = \"on\"\nrand_zipfian_exp = 1\nclients = 4\n\
             [[workload]]\nname = \"oltp_read_write\"\ncompat = \"sysbench-1.0\"\n[sweep]\nclients = { from = 25, to = 110, step = 25 }\n",
        );
        let small = &experiment.workloads[0];
        assert_eq!((small.label.as_str(), small.clients), ("small", 4));
        assert_eq!(small.options["rows"], OptionValue::Number(1000));
        assert_eq!(small.options["skip_trx"], OptionValue::Flag(true));
        assert_eq!(small.options["rand_zipfian_exp"], OptionValue::Real(1.0));
        assert_eq!(small.in_force["rand_type"], OptionValue::Text("uniform".into()));
        assert_eq!(experiment.workloads[1].label, "oltp_read_write");
        assert_eq!(experiment.workloads[1].in_force["rand_type"], OptionValue::Text("special".into()));
        assert_eq!(experiment.sweep.unwrap().values, [25, 50, 75, 100]);
    }

    #[test]
    fn mistakes_that_a_workload_finds_in_its_options_have_their_line() {
        let file = "contender = [{ engine = \"mysql\" }]\n[workload]\nname = \"oltp_read_write\"\ntable_size = 0\n";
        let mistakes = parse(file).unwrap_err();
        let message = "error: x.toml:4: `table_size` in [workload] cannot be 0\n  at least one row was expected";
        assert_eq!(mistakes.to_string(), message);
    }

    #[test]
    fn keys_that_the_command_line_sets_are_read_and_refused_like_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.toml");
        std::fs::write(&file, SHORT).unwrap();
        let load = |set: &str| {
            let set = Settings::from([set::setting(set).unwrap()]);
            Experiment::load(&file, &known(), &Overrides { set, ..Overrides::default() })
        };
        let experiment = load("method.blocks=9").unwrap();
        assert_eq!((experiment.method.blocks, experiment.set.len()), (9, 1));
        assert!(experiment.text.contains("blocks = 9"), "{}", experiment.text);
        let refused = load("method.block=9").unwrap_err().to_string();
        assert!(
            refused.starts_with("error: --set method.block=9: ") && refused.contains("did you mean `blocks`?"),
            "{refused}"
        );
    }

    #[test]
    fn the_command_line_wins_over_the_file_and_is_written_down() {
        let overrides = Overrides {
            preset: Some("quick".into()),
            budget: Some(Duration::from_secs(60)),
            blocks: Some(12),
            seed: Some(7),
            accept_noisy: true,
            contrast: true,
            diagnose: false,
            labels: [("commit".to_owned(), "new".to_owned())].into(),
            set: Settings::new(),
            line: None,
            twins: false,
            fallback_name: None,
            files: None,
            leaves_recovery: false,
        };
        let file = format!("{SHORT}labels = {{ commit = \"old\", branch = \"main\" }}\n");
        let experiment = Experiment::parse(&file, "x.toml", &known(), &overrides).unwrap();
        let labels: Vec<&str> = experiment.labels.values().map(String::as_str).collect();
        assert_eq!(labels, ["main", "new"]);
        let method = &experiment.method;
        assert_eq!((method.preset.as_str(), method.blocks, method.seed), ("quick", 12, 7));
        assert_eq!((method.duration.as_secs(), method.warmup.as_secs()), (90, 2));
        // `noisy_host` is not among them: quick takes a noisy host anyway.
        assert!(method.contrast);
        assert_eq!(method.changed, ["preset", "duration", "blocks", "budget", "seed", "test_causes"]);
    }

    #[test]
    fn a_noisy_host_is_refused_under_strict_wherever_it_is_asked_for() {
        let strict = format!("{SHORT}method.preset = \"strict\"\n");
        assert!(parse(&strict).is_ok());
        let noisy = parse(&format!("{strict}method.noisy_host = \"stamp\"\n")).unwrap_err();
        assert_eq!((noisy.list.len(), noisy.list[0].line), (1, Some(6)));
        let overrides = Overrides { accept_noisy: true, ..Overrides::default() };
        let noisy = Experiment::parse(&strict, "x.toml", &known(), &overrides).unwrap_err();
        assert_eq!((noisy.list.len(), noisy.list[0].line), (1, None));
    }

    #[test]
    fn a_pilot_is_ten_times_the_least_warm_up_and_a_shorter_one_lowers_it() {
        let plain = SHORT.replace("method.duration = \"90s\"\n", "");
        let check = |method: &str, pilot: Option<u64>, warmup: u64, changed: &[&str]| {
            let found = parsed(&format!("{plain}method = {{ {method} }}\n")).method;
            let seconds = (found.pilot.map(|pilot| pilot.as_secs()), found.warmup.as_secs());
            assert_eq!(
                (seconds, found.changed.iter().map(String::as_str).collect::<Vec<_>>()),
                ((pilot, warmup), changed.to_vec()),
                "{method}"
            );
        };
        check("", Some(300), 30, &[]);
        check("pilot = \"150s\"", Some(150), 30, &["pilot"]);
        check("pilot = \"20s\"", Some(20), 4, &["pilot"]);
        check("warmup = \"30s\"", None, 30, &["warmup"]);
        check("preset = \"quick\"", None, 2, &[]);
        check("preset = \"quick\", warmup = \"auto\"", Some(300), 30, &["warmup"]);
        let beside = parse(&format!("{plain}method = {{ warmup = \"30s\", pilot = \"100s\" }}\n")).unwrap_err();
        assert!(beside.to_string().contains("`pilot` in [method] has no use beside"), "{beside}");
    }

    #[test]
    fn a_setting_that_is_not_the_users_is_refused_at_its_line() {
        let check = |rest: &str, line: usize| {
            let mistakes = parse(&format!("{SHORT}{rest}")).unwrap_err();
            assert_eq!((mistakes.list.len(), mistakes.list[0].line), (1, Some(line)), "{mistakes}");
            let message = mistakes.to_string();
            assert!(message.contains("setting `datadir` cannot be given: dbduel decides"), "{message}");
        };
        check("[[ladder]]\non = \"mysql@5.7.29\"\nsettings = { sort_buffer_size = 1,\n  datadir = \"/home/x\" }\n", 8);
        let own = "[[contender]]\nengine = \"mysql@5.7.29\"\n[contender.settings]\ndatadir = \"/home/x\"\n";
        let mistakes = parse(&format!("workload = \"oltp_read_write\"\n{own}")).unwrap_err();
        assert_eq!(mistakes.list[0].line, Some(5), "{mistakes}");
    }

    #[test]
    fn the_stored_text_holds_no_password() {
        let experiment = parsed(&format!("# root_password = \"hunter2\"\n{SHORT}"));
        assert!(!experiment.text.contains("hunter2"));
        assert!(experiment.text.ends_with(SHORT));
    }

    #[test]
    fn no_text_makes_the_parser_panic() {
        for cut in 0..SHORT.len() {
            let _ = parse(&SHORT[..cut]);
        }
        for odd in [
            "contender = 1",
            "workload = [1]",
            "sweep = []",
            "method = \"x\"",
            "contender = [[]]",
            "clients = 1",
            "= =",
        ] {
            assert!(parse(odd).is_err(), "{odd}");
        }
    }
}
