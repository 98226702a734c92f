//! A script as a workload: what is checked before a run, its clients, and its commands.

pub use crate::host::Source;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use driver::{Admin, AnyConnection, Code, Dialect, Error, RowSink, Target};
use load::{
    ClientFuture, Commands, Dial, Ignored, OptionError, OptionValue, Options, Owner, Reported, Reporter, Slot, Table,
    Tally, Workload, WorkloadSpec,
};
use sha2::{Digest, Sha256};

use crate::arguments::{Declared, Setting, Values, declared, help, program, resolve, shapes};
use crate::client::LuaClient;
use crate::host::{Host, Place, driver_name, reads_rows};
use crate::random::{Random, Shapes};
use crate::session::{Session, Shared};

/// Longest wait for a connection of a command.
const LOGIN_LIMIT: Duration = Duration::from_secs(10);
/// How soon a command sees an interruption.
const INTERRUPTION_POLL: Duration = Duration::from_millis(50);
/// The command that runs events.
const RUN: &str = "run";

#[derive(Debug, Clone)]
pub struct LuaScript {
    source: Source,
    values: Values,
    declared: Vec<Declared>,
    /// Without `sysbench.cmdline.options` any option is taken, and is a global, as in sysbench 0.5.
    declares: bool,
    shapes: Shapes,
    /// Names, and whether every client runs it.
    commands: BTreeMap<String, bool>,
    has_event: bool,
    reads_rows: bool,
    /// What it has loaded by `ffi.load` when it was executed.
    libraries: Vec<String>,
    /// Of the script and all files that it loads.
    digest: String,
}

/// A file whose name says that it is Lua.
fn is_lua(path: &str) -> bool {
    path.ends_with(".lua")
}

impl LuaScript {
    /// The script that `files` of an experiment or a command line names; None where it names none.
    pub fn of_options(options: &Options) -> Result<Option<LuaScript>, OptionError> {
        let OptionValue::Items(items) = options.value("files") else { return Ok(None) };
        let file = |item: &OptionValue| match item {
            OptionValue::Table(entries) => entries.get("path").cloned(),
            other => Some(other.clone()),
        };
        let files = items.iter().filter_map(file);
        let mut scripts = files.filter_map(|file| match file {
            OptionValue::File { path, text } if is_lua(&path) => Some(Source { path, text }),
            _ => None,
        });
        let Some(source) = scripts.next() else { return Ok(None) };
        let wrong = |expected: String| Err(OptionError::new("files", expected));
        if items.len() > 1 {
            return wrong(format!(
                "one Lua script and nothing beside it was expected, not {} files with {}",
                items.len(),
                source.path
            ));
        }
        if let OptionValue::Table(entries) = &items[0]
            && let Some(key) = entries.keys().find(|key| *key != "path")
        {
            return wrong(format!(
                "`{key}` has no meaning for a Lua script: {{ path = \"{}\" }} was expected",
                source.path
            ));
        }
        if let Some(name) = options.changed().find(|name| !["files", "options"].contains(name)) {
            return Err(OptionError::new(
                name,
                format!("it belongs to SQL files, and {} is a Lua script", source.path),
            ));
        }
        let given = match options.value("options") {
            OptionValue::Table(given) => given.clone(),
            other => return Err(OptionError::new("options", format!("{{ tables = 4 }} was expected, not {other}"))),
        };
        LuaScript::new(source, &given)
            .map(Some)
            .map_err(|faults| OptionError { in_files: faults, ..OptionError::new("files", "") })
    }

    /// Executes the script once, and reads what it declares; or lists what is wrong with it.
    pub fn new(source: Source, given: &BTreeMap<String, OptionValue>) -> Result<LuaScript, Vec<String>> {
        let named =
            |why: String| vec![if why.contains(&source.path) { why } else { format!("{}: {why}", source.path) }];
        let first = shapes(&program()).expect("sysbench's own defaults are valid");
        let place = Place { client: 0, command: RUN, dialect: None };
        let host = Host::new(&source, place, Random::new(first, 1, 0, 1), None).map_err(named)?;
        // Options that are not the script's are there when it is executed.
        host.set_options(&resolve(&BTreeMap::new(), None).map_err(named)?, true).map_err(named)?;
        host.execute(&source).map_err(named)?;
        let options = host.declared().map_err(named)?;
        let options = options.map(|options| declared(&options)).transpose().map_err(named)?;
        let values = resolve(given, options.as_deref()).map_err(named)?;
        let is_given = |name: &str| given.keys().any(|given| given.replace('-', "_") == name);
        host.check_options(&values, is_given).map_err(named)?;
        expect_supported(&values).map_err(named)?;
        let loaded = host.loaded();
        let texts = || loaded.iter().chain(std::iter::once(&source.text));
        let mut digest = Sha256::new();
        texts().for_each(|text| digest.update(text));
        let reads_rows = texts().any(|text| reads_rows(text));
        Ok(LuaScript {
            shapes: shapes(&values).map_err(named)?,
            commands: host.commands(),
            has_event: ["event", "thread_run"].iter().any(|name| host.function(name).is_some()),
            reads_rows,
            libraries: host.libraries(),
            digest: digest.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect(),
            declares: options.is_some(),
            declared: options.unwrap_or_default(),
            values,
            source,
        })
    }

    /// A state in which the script has been executed, on a server.
    fn state(&self, command: &str, client: u32, clients: u32, seed: u64, session: &Shared) -> Result<Host, Error> {
        let place = Place { client, command, dialect: Some(session.borrow().dialect()) };
        let mut values = self.values.clone();
        values.insert("threads".to_owned(), Setting::Number(clients.into()));
        values.insert("db_driver".to_owned(), Setting::Text(driver_name(session.borrow().dialect()).to_owned()));
        session.borrow_mut().as_text = values.get("db_ps_mode") == Some(&Setting::Text("disable".to_owned()));
        let random = Random::new(self.shapes, seed, client, clients);
        let made = || {
            let host = Host::new(&self.source, place, random, Some(session))?;
            host.set_options(&values, !self.declares)?;
            let stop = host.stop();
            session.borrow().when_cut_off(move || stop.stop());
            host.execute(&self.source)?;
            Ok(host)
        };
        made().map_err(Error::Client)
    }

    /// One client's share of a command.
    fn run_in(
        &self,
        command: &str,
        (client, clients): (u32, u32),
        seed: u64,
        dial: Dial,
        dialect: Dialect,
    ) -> Result<(), Error> {
        let session = Rc::new(RefCell::new(Session::new(dial, None, dialect)));
        let host = self.state(command, client, clients, seed, &session)?;
        let gone = || Error::Client(format!("`{command}' command failed: the script no longer has it"));
        let (run, _) = host.command(command).ok_or_else(gone)?;
        match host.call(run, client) {
            Ok(mlua::Value::Boolean(false)) => {
                Err(Error::Client(format!("`{command}' command failed: it returned false")))
            }
            Ok(_) => Ok(()),
            Err(why) => Err(Error::Client(format!("`{command}' command failed: {why}"))),
        }
    }
}

/// Refuses by name what the script wants and is not there.
fn expect_supported(values: &Values) -> Result<(), String> {
    match values.get("db_ps_mode") {
        Some(Setting::Text(mode)) if !["auto", "disable"].contains(&mode.as_str()) => {
            Err(format!("--db-ps-mode: auto or disable was expected, not `{mode}`"))
        }
        _ => Ok(()),
    }
}

impl Workload for LuaScript {
    fn spec(&self) -> WorkloadSpec {
        // What a run prints or how long it lasts changes no table.
        let apart = ["threads", "time", "events", "rate", "report_interval", "percentile", "histogram", "db_driver"];
        let options = self.values.iter().filter(|(name, _)| !apart.contains(&name.as_str()));
        let options = Sha256::digest(format!("{:?}", options.collect::<Vec<_>>()));
        let options: String = options[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        let program = "the script is a program that runs with your rights, and it checks no answer".to_owned();
        let libraries = self.libraries.iter().map(|name| format!("the script loads the library {name}"));
        WorkloadSpec {
            needs_answers: self.reads_rows,
            notes: std::iter::once(program).chain(libraries).collect(),
            ..WorkloadSpec::writing(format!("lua {} {options}", self.digest))
        }
    }

    /// They are known to the script alone.
    fn tables(&self, _: Dialect) -> Vec<Table> {
        Vec::new()
    }

    fn rows(&self, _: u64, _: usize, _: u64, _: &mut RowSink<'_>) -> Result<(), Error> {
        Err(Error::Client("a script fills its tables itself".to_owned()))
    }

    fn client(&self, slot: Slot, connection: AnyConnection) -> Result<ClientFuture, Error> {
        let dialect = driver::Connection::dialect(&connection);
        let dial = slot.dial.clone().ok_or_else(|| Error::Client("a script needs a load to run in".to_owned()))?;
        let whole = (slot.client == 0).then(|| self.whole(&slot, &dial, dialect)).transpose()?;
        let mut session = Session::new(dial, Some(connection), dialect);
        session.policy = Some(Arc::clone(&slot.policy));
        let session = Rc::new(RefCell::new(session));
        let host = self.state(RUN, slot.client, slot.clients, slot.input_seed, &session)?;
        let client = LuaClient::new(host, session, whole, &slot)?;
        Ok(slot.drive(client))
    }

    fn check(&self, _: &mut Admin, _: Option<&Tally>) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }

    fn runs_on(&self, _: Dialect) -> Result<(), String> {
        match self.has_event {
            true => Ok(()),
            false => Err(format!("cannot find the event() function in {}", self.source.path)),
        }
    }

    /// Those of sysbench 1.0.
    fn ignored_errors(&self, dialect: Dialect) -> Ignored {
        let codes: Vec<&str> = match (dialect, self.values.get("mysql_ignore_errors")) {
            (Dialect::Sqlite, _) => return Ignored::Usual,
            (Dialect::MySql, Some(Setting::List(codes))) if codes.iter().any(|code| code == "all") => {
                return Ignored::All;
            }
            (Dialect::MySql, Some(Setting::List(codes))) => codes.iter().map(String::as_str).collect(),
            _ => vec!["40P01", "23505", "40001"],
        };
        Ignored::Codes(codes.into_iter().map(|code| Code::new(code.as_bytes())).collect())
    }

    fn commands(&self) -> Option<&dyn Commands> {
        Some(self)
    }
}

impl LuaScript {
    /// The state of the whole run, with `init` behind it.
    fn whole(&self, slot: &Slot, dial: &Dial, dialect: Dialect) -> Result<Host, Error> {
        let session = Rc::new(RefCell::new(Session::new(dial.clone(), None, dialect)));
        let whole = self.state(RUN, 0, slot.clients, slot.input_seed, &session)?;
        whole.call_if_there("init", 0)?;
        Ok(whole)
    }
}

/// A state of its own, whose hooks print figures.
struct Hooks(Host);

impl Hooks {
    fn name(part: Reported) -> &'static str {
        match part {
            Reported::Interval => "report_intermediate",
            Reported::Whole => "report_cumulative",
        }
    }
}

impl Reporter for Hooks {
    fn report(&mut self, part: Reported, figures: &[(&str, f64)]) -> Result<bool, Error> {
        let name = Hooks::name(part);
        let Some(hook) = self.0.hook(name) else { return Ok(false) };
        let reported = self.0.report(hook, figures);
        reported.map(|()| true).map_err(|why| Error::Client(format!("`{name}' function failed: {why}")))
    }

    fn end_intervals(&mut self) -> Result<(), Error> {
        self.0.end_reports().map_err(Error::Client)
    }
}

impl Commands for LuaScript {
    fn reporter(&self, target: &Target, clients: u32, seed: u64) -> Result<Option<Box<dyn Reporter>>, Error> {
        let dial = Dial::blocking(target.clone(), LOGIN_LIMIT);
        let session = Rc::new(RefCell::new(Session::new(dial, None, target.dialect)));
        let host = self.state(RUN, 0, clients, seed, &session)?;
        let reports =
            [Reported::Interval, Reported::Whole].into_iter().any(|part| host.hook(Hooks::name(part)).is_some());
        Ok(reports.then(|| Box::new(Hooks(host)) as Box<dyn Reporter>))
    }

    fn refuses(&self, command: &str) -> Option<String> {
        let path = &self.source.path;
        match command {
            known if self.commands.contains_key(known) => None,
            "prepare" | "cleanup" | "help" => {
                Some(format!("'{path}' test does not implement the '{command}' command."))
            }
            _ => Some(format!("Unknown command: {command}")),
        }
    }

    fn owner(&self, option: &str) -> Option<Owner> {
        let name = option.replace('-', "_");
        match () {
            () if self.declared.iter().any(|own| own.name == name) => Some(Owner::Workload),
            () if program().contains_key(&name) => Some(Owner::Program),
            () => None,
        }
    }

    fn help(&self) -> String {
        help(&self.source.path, &self.declared)
    }

    fn run(
        &self,
        command: &str,
        target: &Target,
        clients: u32,
        seed: u64,
        interrupted: &AtomicBool,
    ) -> Result<(), Error> {
        if let Some(why) = self.refuses(command) {
            return Err(Error::Client(why));
        }
        let dial = Dial::blocking(target.clone(), LOGIN_LIMIT);
        let clients = if self.commands.get(command) == Some(&true) { clients.max(1) } else { 1 };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let parts: Vec<_> = (0..clients)
                .map(|client| {
                    let dial = dial.clone();
                    scope.spawn(move || self.run_in(command, (client, clients), seed, dial, target.dialect))
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if interrupted.load(Ordering::Relaxed) {
                        dial.cut_off();
                    }
                    std::thread::sleep(INTERRUPTION_POLL);
                }
            });
            let ended = parts.into_iter().map(|part| {
                part.join().unwrap_or_else(|_| Err(Error::Client("a thread of the script panicked".to_owned())))
            });
            let ended: Vec<Result<(), Error>> = ended.collect();
            done.store(true, Ordering::Relaxed);
            ended.into_iter().collect()
        })
    }
}
