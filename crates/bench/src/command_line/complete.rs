//! How a draft becomes a request.
//!
//! Later arguments win over earlier ones, and arguments over the config file. Defaults come last, since they
//! depend on the form: sysbench 0.4 ended after 10,000 requests where 1.0 ends after 10 seconds.

use std::collections::BTreeMap;
use std::time::Duration;

use experiment::{TargetUrl, meant_by};
use load::{COMPAT, FileUse, NO_COMPAT, OptionSpec, OptionValue, WorkloadKind};
use workloads::{WORKLOADS, workload_kind};

use super::draft::Draft;
use super::program::Program;
use super::request::{Action, Arrivals, Asked, Compat, ForcedShutdown, Format, Reconnect, Request, Verb};
use super::words::{self, Given, Takes, Word, normal};
use super::workload_options::{clients, is_switch, spec_of, workload_options};
use super::{help, options, script, values};
use ::report::dbt2;

/// Sysbench's own defaults.
const DEFAULT_SECS: u64 = 10;
const CLASSIC_REQUESTS: u64 = 10_000;
const PERCENTILES: [f64; 4] = [50.0, 95.0, 99.0, 99.9];
/// Longest wait for what still runs at the end, by default.
const DRAIN_MAX: Duration = Duration::from_secs(60);
const SYSBENCH_PERCENTILE: f64 = 95.0;

/// Tests of sysbench that need no server.
const WITHOUT_DATABASE: [&str; 5] = ["cpu", "memory", "fileio", "threads", "mutex"];

/// sysbench's last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Do(Action),
    Help,
}

fn ending(word: &str) -> Option<Ending> {
    match word {
        "run" => Some(Ending::Do(Action::Bench)),
        "prepare" => Some(Ending::Do(Action::Prepare)),
        "cleanup" => Some(Ending::Do(Action::Cleanup)),
        "check" => Some(Ending::Do(Action::Check)),
        "prewarm" | "warmup" => Some(Ending::Do(Action::Prewarm)),
        "help" => Some(Ending::Help),
        _ => None,
    }
}

impl Draft {
    pub fn read(
        verb: Verb,
        words: &[String],
        read_file: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Draft, String> {
        let mut draft = Draft { verb: Some(verb), ..Draft::default() };
        let words = words::take_apart(words, takes)?;
        draft.program = Program::among(&words, read_file)?;
        for given in words.iter().filter_map(|word| config_file(word)) {
            let text = read_file(&given.value).map_err(|why| format!("{} {}: {why}", given.typed, given.value))?;
            for word in words::take_apart(&words::of_config_file(&text), takes)? {
                draft.take(word).map_err(|why| format!("{}: {why}", given.value))?;
            }
        }
        words.into_iter().filter(|word| config_file(word).is_none()).try_for_each(|word| draft.take(word))?;
        draft.read_scripts(read_file)?;
        Ok(draft)
    }

    fn take(&mut self, word: Word) -> Result<(), String> {
        match word {
            Word::Plain(word) => self.plain.push(word),
            Word::Option(given)
                if self
                    .program
                    .as_mut()
                    .is_some_and(|program| program.keeps(&given, options::find(&given.name).is_some())) => {}
            Word::Option(given) => match options::find(&given.name) {
                Some(flag) => (flag.apply)(self, &given.value).map_err(|why| format!("{}: {why}", given.typed))?,
                None => self.workload_words.push(given),
            },
        }
        Ok(())
    }

    /// Takes in the user's own SQL: words such as `order.sql@3`, and the files that options name.
    fn read_scripts(&mut self, read_file: &dyn Fn(&str) -> Result<String, String>) -> Result<(), String> {
        let read = |path: &str| {
            let text = read_file(path).map_err(|why| format!("{path}: {why}"))?;
            Ok::<_, String>(OptionValue::File { path: path.to_owned(), text })
        };
        let (scripts, plain): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.plain).into_iter().partition(|word| script_word(word).is_some());
        self.plain = plain;
        let mut files = Vec::new();
        for (path, weight) in scripts.iter().filter_map(|word| script_word(word)) {
            let weight = values::count(weight, 0, i32::MAX as u64).map_err(|why| format!("{path}@{weight}: {why}"))?;
            let weight = OptionValue::Number(weight as i64);
            files.push(OptionValue::Table([("path".to_owned(), read(path)?), ("weight".to_owned(), weight)].into()));
        }
        if !files.is_empty() {
            self.with_files.insert("files".to_owned(), OptionValue::Items(files));
        }
        let names_files = |given: &Given| {
            WORKLOADS.iter().find_map(|kind| spec_of(kind, &given.name)).filter(|spec| !spec.paths.is_empty())
        };
        for (given, spec) in self.workload_words.iter().filter_map(|given| Some((given, names_files(given)?))) {
            if spec.files == FileUse::Servers {
                return Err(format!(
                    "{}: only servers that dbduel starts are filled with it, in an experiment; the tables of a target are used as they are",
                    given.typed
                ));
            }
            let named = |path: &str| match spec.files {
                FileUse::Workload => opened(path).map_err(|why| format!("{path}: {why}")),
                _ => read(path),
            };
            let files = given.value.split(',').map(named).collect::<Result<_, _>>()?;
            self.with_files.insert(spec.name.to_owned(), OptionValue::Items(files));
        }
        self.workload_words.retain(|given| names_files(given).is_none());
        Ok(())
    }

    pub fn finish(mut self) -> Result<Asked, String> {
        let verb = self.verb.expect("a draft is begun with its verb");
        if let Some(program) = self.program.take() {
            return self.finish_program(verb, program);
        }
        let mut tests = self.test.iter().chain(self.plain.first());
        if let Some(test) = tests.find(|test| WITHOUT_DATABASE.contains(&test.as_str())) {
            return Err(format!("`{test}` is not a database test; dbduel measures database servers alone"));
        }
        if let Some(given) = self.workload_words.iter().find(|given| takes(&given.name).is_none()) {
            return Err(unknown(given));
        }
        let (workload, ending) = self.workload_and_ending(verb)?;
        if self.help || ending == Some(Ending::Help) {
            return Ok(Asked::Help(match workload {
                Some(workload) => help::workload_help(verb, workload),
                None => help::command_help(verb),
            }));
        }
        let workload = workload.ok_or_else(|| missing_workload(verb))?;
        let action = match (ending, verb) {
            (Some(Ending::Do(action)), _) => action,
            (_, Verb::Bench) => Action::Bench,
            (_, Verb::Prepare) => Action::Prepare,
            (_, Verb::Check) => Action::Check,
            (_, Verb::Cleanup) => Action::Cleanup,
        };
        self.request(action, workload, ending.is_some()).map(|request| Asked::Do(Box::new(request)))
    }

    /// A script's own words: its path and a command, which may be one that sysbench does not have.
    fn finish_program(mut self, verb: Verb, program: Program) -> Result<Asked, String> {
        let mut plain = std::mem::take(&mut self.plain);
        plain.retain(|word| *word != program.path);
        if let Some(word) = plain.get(1) {
            return Err(format!("`{word}` was not expected here"));
        }
        let named = plain.pop();
        let sysbench_form = named.is_some() || self.test.is_some();
        let command = named.unwrap_or_else(|| verb.name().to_owned());
        let own = program.commands();
        if self.help || (command == "help" && own.refuses("help").is_some()) {
            return Ok(Asked::Help(own.help()));
        }
        let action =
            if ["run", Verb::Bench.name()].contains(&command.as_str()) { Action::Bench } else { Action::Command };
        if action == Action::Command {
            own.refuses(&command).map_or(Ok(()), Err)?;
            self.command = Some(command);
        }
        let kind = program.kind;
        self.with_files = program.options();
        self.request(action, kind, sysbench_form).map(|request| Asked::Do(Box::new(request)))
    }

    /// The workload, where one was named, and sysbench's last word, which makes the line one of its form.
    fn workload_and_ending(&self, verb: Verb) -> Result<(Option<&'static WorkloadKind>, Option<Ending>), String> {
        let mut plain: Vec<&str> = self.plain.iter().map(String::as_str).collect();
        let last = plain.last().copied().and_then(ending).filter(|_| verb == Verb::Bench || self.test.is_some());
        if last.is_some() {
            plain.pop();
        }
        let named = match (self.test.as_deref(), plain.as_slice()) {
            (Some(test), []) => Some(script::name(test)),
            (None, [workload]) => Some(script::name(workload)),
            (None, []) if self.with_files.contains_key("files") => Some("script"),
            (None, []) => None,
            (Some(_), [word, ..]) | (None, [_, word, ..]) => {
                return Err(format!("`{word}` was not expected here{}", ending_hint(verb, word)));
            }
        };
        let ending = last.or_else(|| self.test.is_some().then_some(Ending::Do(Action::Bench)));
        if self.test.is_some() && last.is_none() && !self.help {
            return Err("--test needs sysbench's last word: prepare, run, cleanup or help".to_owned());
        }
        Ok((named.map(find_workload).transpose()?, ending))
    }

    /// Options of a load that goes on for a time mean nothing to one that runs once through.
    fn refuse_for_a_pass(&self, workload: &WorkloadKind, compat: Option<Compat>) -> Result<(), String> {
        let given = [
            ("clients", self.clients.is_some_and(|clients| clients != 1)),
            ("duration", self.duration.is_some()),
            ("events", self.events.is_some()),
            ("rate", self.rate.is_some()),
            ("warmup", self.warmup.is_some_and(|time| !time.is_zero())),
            ("report-interval", self.report_interval.is_some()),
            ("checkpoints", !self.checkpoints.is_empty()),
            ("percentiles", self.percentiles.is_some()),
            ("histogram", self.histogram),
            ("compat", compat.is_some()),
            ("format", !matches!(self.format, None | Some(Format::Text | Format::Json))),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(format!(
                "--{name}: {} runs once, with one client, and is reported by operation; leave it out",
                workload.name
            )),
            None => Ok(()),
        }
    }

    /// A log has its clients, its times and its end.
    fn refuse_for_a_replay(&self, workload: &WorkloadKind, compat: Option<Compat>) -> Result<(), String> {
        let given = [
            ("clients", self.clients.is_some()),
            ("duration", self.duration.is_some()),
            ("events", self.events.is_some()),
            ("rate", self.rate.is_some()),
            ("warmup", self.warmup.is_some()),
            ("compat", compat.is_some()),
            ("format", !matches!(self.format, None | Some(Format::Text | Format::Json))),
        ];
        match given.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(format!(
                "--{name}: {} runs the whole log with the sessions that it has, and counts all of it; leave it out",
                workload.name
            )),
            None => Ok(()),
        }
    }

    /// The files of SQL that were given, by the options that take them.
    fn files_of(&mut self, workload: &WorkloadKind) -> Result<BTreeMap<String, OptionValue>, String> {
        let is_taken = |name: &String| workload.options.iter().any(|spec| spec.name == *name);
        match self.with_files.keys().all(is_taken) {
            true => Ok(std::mem::take(&mut self.with_files)),
            false => Err(format!("{}: it takes no files of SQL", workload.name)),
        }
    }

    /// The server that holds the tables, and others that take load.
    fn servers(&mut self, action: Action) -> Result<(TargetUrl, Vec<TargetUrl>), String> {
        let default = if self.target.is_open() && !self.dry_run { self.default.take().transpose()? } else { None };
        if let Some(target) = &default {
            self.note(&format!("no target is given, so it is that of DATABASE_URL: {target}"));
        }
        let mut further = std::mem::take(&mut self.target).resolve(self.dry_run, default)?;
        let target = further.remove(0);
        if self.dry_run {
            further.clear();
        }
        if !further.is_empty() && action != Action::Bench {
            self.note(&format!("the tables are reached through the first server of the list, {target}"));
        }
        Ok((target, further))
    }

    fn request(
        mut self,
        action: Action,
        workload: &'static WorkloadKind,
        sysbench_form: bool,
    ) -> Result<Request, String> {
        let of_form = if is_classic(workload) { Compat::Classic } else { Compat::Modern };
        let compat = self.compat.or_else(|| sysbench_form.then_some(of_form));
        let format = self.format.unwrap_or_else(|| format_of(compat));
        let classic_form = sysbench_form && compat == Some(Compat::Classic);
        let mut workload_options = workload_options(workload, &self.workload_words, compat)?;
        workload_options.extend(self.files_of(workload)?);
        // Own SQL has no default: it is what the given files say.
        let defaults = workload.with(&BTreeMap::new()).or_else(|_| workload.with(&workload_options));
        let defaults = defaults.map_err(|error| error.to_string())?;
        let (ends_itself, spec) = (defaults.ends_itself(), defaults.spec());
        if defaults.is_one_pass() {
            self.refuse_for_a_pass(workload, compat)?;
        }
        if defaults.replays().is_some() {
            self.refuse_for_a_replay(workload, compat)?;
        }
        let limits = if ends_itself { (None, None) } else { limits(self.duration, self.events, classic_form) };
        if limits == (None, None) && !ends_itself && action == Action::Bench {
            self.note("neither time nor events are limited: the run ends with Ctrl-C");
        }
        let percentiles = self.percentiles.take().unwrap_or_else(|| percentiles_of(format));
        let kinds = spec.kinds.iter().map(|kind| kind.name.as_ref());
        if matches!(format, Format::Dbt2 | Format::Dbt2Compat) && !dbt2::has_its_transactions(kinds) {
            let name = workload.name;
            return Err(format!("--format: DBT-2's table has TPC-C's transactions only, not those of {name}"));
        }
        let clients = clients(workload, &mut workload_options, self.clients)?;
        if self.dry_run {
            refuse_to_pretend(workload, spec.needs_answers)?;
        }
        let target_is_default = self.target.is_open() && !self.dry_run;
        let (target, further) = self.servers(action)?;
        Ok(Request {
            action,
            command: self.command,
            workload,
            workload_options,
            compat,
            target,
            target_is_default,
            further,
            dry_run: self.dry_run,
            no_wait: self.no_wait,
            password: self.password,
            clients,
            duration: limits.0,
            events: limits.1,
            rate: self.rate,
            arrivals: self.arrivals.unwrap_or(Arrivals::Poisson),
            queue: self.queue,
            warmup: self.warmup.unwrap_or_default(),
            report_interval: self.report_interval,
            checkpoints: self.checkpoints,
            percentiles,
            histogram: self.histogram,
            rand_seed: self.rand_seed,
            reconnect: self.reconnect.unwrap_or(Reconnect::On),
            ignore_errors: self.ignore_errors,
            workers: self.workers,
            forced_shutdown: self.forced_shutdown.unwrap_or(ForcedShutdown::After(DRAIN_MAX)),
            silence: self.silence.unwrap_or(load::SILENCE_MAX),
            format,
            notes: self.notes,
        })
    }
}

fn format_of(compat: Option<Compat>) -> Format {
    match compat {
        None => Format::Text,
        Some(Compat::Modern) => Format::Modern,
        Some(Compat::Classic) => Format::Classic,
    }
}

fn percentiles_of(format: Format) -> Vec<f64> {
    match format {
        Format::Text | Format::Json | Format::Dbt2 | Format::Dbt2Compat => PERCENTILES.to_vec(),
        Format::Modern | Format::Classic => vec![SYSBENCH_PERCENTILE],
    }
}

/// A file that the workload opens: its absolute path, and what it is recognised by.
fn opened(path: &str) -> Result<OptionValue, String> {
    let place = std::path::absolute(path).map_err(|cause| cause.to_string())?;
    let text = engine::identity(&place).map_err(|cause| cause.root_cause().to_string())?;
    Ok(OptionValue::File { path: place.display().to_string(), text })
}

/// A file of SQL with its weight: `order.sql@3`.
fn script_word(word: &str) -> Option<(&str, &str)> {
    let (path, weight) = word.rsplit_once('@').unwrap_or((word, "1"));
    path.ends_with(".sql").then_some((path, weight))
}

/// A server that does nothing has no rows to go on from.
fn refuse_to_pretend(workload: &WorkloadKind, needs_answers: bool) -> Result<(), String> {
    if needs_answers {
        return Err(format!(
            "--dry-run: {} works with what the server answers; name a script of sysbench",
            workload.name
        ));
    }
    Ok(())
}

/// Whether it is a test of sysbench 0.4: its own rules are then another program's.
fn is_classic(kind: &WorkloadKind) -> bool {
    kind.options.iter().any(|spec| spec.name == COMPAT && spec.default != NO_COMPAT)
}

fn config_file(word: &Word) -> Option<&Given> {
    match word {
        Word::Option(given) if given.name == "config-file" => Some(given),
        _ => None,
    }
}

/// Time and events; zero is sysbench's notation for no limit.
fn limits(duration: Option<Duration>, events: Option<u64>, classic_form: bool) -> (Option<Duration>, Option<u64>) {
    let (default_secs, default_events) = if classic_form { (0, CLASSIC_REQUESTS) } else { (DEFAULT_SECS, 0) };
    let duration = duration.unwrap_or(Duration::from_secs(default_secs));
    let events = events.unwrap_or(default_events);
    ((!duration.is_zero()).then_some(duration), (events > 0).then_some(events))
}

/// What a name on the command line takes, whichever workload it will belong to: where workloads share
/// a name they share its kind.
fn takes(name: &str) -> Option<Takes> {
    if let Some(flag) = options::find(name) {
        return Some(flag.takes);
    }
    let spec = WORKLOADS.iter().find_map(|kind| spec_of(kind, name))?;
    Some(if is_switch(spec) { Takes::Switch } else { Takes::Value })
}

fn find_workload(name: &str) -> Result<&'static WorkloadKind, String> {
    workload_kind(name).ok_or_else(|| {
        let names: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name).collect();
        let near =
            nearest(name, names.iter().copied()).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        format!("there is no workload `{name}`{near}\n  known are {}", names.join(", "))
    })
}

fn missing_workload(verb: Verb) -> String {
    let names: Vec<&str> = WORKLOADS.iter().map(|kind| kind.name).collect();
    format!("which workload? write `dbduel {} WORKLOAD --target URL`\n  known are {}", verb.name(), names.join(", "))
}

fn ending_hint(verb: Verb, word: &str) -> String {
    match (ending(word), verb) {
        (Some(_), verb) if verb != Verb::Bench => {
            format!(
                ": sysbench's words prepare, run and cleanup end a line of `dbduel bench`, not of `dbduel {}`",
                verb.name()
            )
        }
        _ => String::new(),
    }
}

/// An unknown option: most often a slip of the fingers.
fn unknown(given: &Given) -> String {
    let of_workloads = WORKLOADS.iter().flat_map(|kind| kind.options).flat_map(OptionSpec::names).map(normal);
    let known: Vec<String> = options::names().map(str::to_owned).chain(of_workloads).collect();
    let meant = meant_by(&given.name).and_then(|(keys, _)| keys.iter().find(|key| known.iter().any(|one| one == *key)));
    let near = meant.copied().or_else(|| nearest(&given.name, known.iter().map(String::as_str)));
    let near = near
        .map_or("\n  next: `dbduel bench --help` lists them".to_owned(), |near| format!("; did you mean --{near}?"));
    format!("{}: there is no such option{near}", given.typed)
}

/// The known name that is most likely meant.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let close = known.map(|known| (strsim::jaro_winkler(name, known), known)).filter(|(likeness, _)| *likeness > 0.8);
    close.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, known)| known)
}
