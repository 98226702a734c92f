//! One Lua state with sysbench's API: what `api.lua` calls, and how functions of the script are called.

#![expect(unsafe_code, reason = "scripts of sysbench need LuaJIT's FFI library")]

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use driver::{Cell, Dialect, Error, Rows};
use mlua::{
    Function, IntoLua, IntoLuaMulti, Lua, LuaOptions, LuaString, MultiValue, StdLib, Table, Thread, UserData,
    UserDataMethods, Value,
};

use crate::arguments::{Setting, Values};
use crate::random::Random;
use crate::session::{Brought, Given, Refusal, Shared, Task, perform_blocking};
use crate::stop::Stop;

const API: &str = include_str!("api.lua");

/// The numbers of requests and outcomes that `api.lua` has, too.
const QUERY: i64 = 1;
const EXECUTE: i64 = 2;
const ENDED: i64 = 3;
const RESTARTED: i64 = 4;
const FAILED: i64 = 5;
const ROWS: i64 = 1;
const NO_ROWS: i64 = 2;
const REFUSED: i64 = 3;

/// More than any script needs that is well; one that takes without end meets Lua's own error here.
const MEMORY_BYTES_MAX: usize = 1 << 30;

/// Where `require` looks, as sysbench 1.0 does, but for the script's own folder, which is dbduel's addition.
const FOLDERS: [&str; 3] = ["/usr/local/share/lua/5.1", "/usr/share/lua/5.1", "/usr/share/sysbench"];
/// Variables of Lua's own that add folders.
const PATH_VARIABLE: &str = "LUA_PATH";

/// Where a state stands.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub client: u32,
    /// sysbench's last word.
    pub command: &'a str,
    /// None before a server is known.
    pub dialect: Option<Dialect>,
}

/// A Lua state in which the script was executed.
pub struct Host {
    lua: Lua,
    host: Table,
    random: Rc<RefCell<Random>>,
    /// Texts of the files that the script has loaded, for what follows from them.
    loaded: Rc<RefCell<Vec<String>>>,
    libraries: Rc<RefCell<BTreeSet<String>>>,
    stop: Stop,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.stop.forget();
    }
}

/// What a client's coroutine asks for.
pub enum Request {
    Do(Task),
    /// The event is over; true when the client leaves.
    Ended(bool),
    /// The event is to be run again; true where a hook of the script decided that.
    Restarted(bool),
    Failed(String),
}

fn wrong(error: &mlua::Error) -> String {
    // Lua's own text has the place; what mlua adds behind it is a trace of our own frames.
    let text = match error {
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::SyntaxError { message, .. } => format!("{message}\n  expected Lua 5.1, as LuaJIT reads it"),
        mlua::Error::CallbackError { cause, .. } => wrong(cause),
        other => other.to_string(),
    };
    text.split("\nstack traceback:").next().unwrap_or_default().to_owned()
}

impl Host {
    /// Opens a state with the API. The error is Lua's own, with file and line.
    pub fn new(source: &Source, place: Place<'_>, random: Random, session: Option<&Shared>) -> Result<Host, String> {
        // SAFETY: scripts of sysbench need the FFI library, which can do whatever the user can; they are programs of
        // the user's, and are told to be that wherever they are accepted.
        // With Lua's own `pcall`, which events can be suspended under.
        let lua = unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::new().catch_rust_panics(true)) };
        lua.set_memory_limit(MEMORY_BYTES_MAX).map_err(|error| wrong(&error))?;
        let random = Rc::new(RefCell::new(random));
        let held = Held { session: session.cloned(), random, loaded: Rc::default(), libraries: Rc::default() };
        let host = make(&lua, source, place, &held).map_err(|error| wrong(&error))?;
        if let Some(session) = session {
            session.borrow_mut().keeps_rows |= reads_rows(&source.text);
        }
        let stop = Stop::of(&lua).map_err(|error| wrong(&error))?;
        let Held { random, loaded, libraries, .. } = held;
        Ok(Host { lua, host, random, loaded, libraries, stop })
    }

    pub fn execute(&self, source: &Source) -> Result<(), String> {
        let text = match source.text.strip_prefix('#') {
            // The line that names an interpreter; its end stays, so that lines keep their numbers.
            Some(rest) => &rest[rest.find('\n').unwrap_or(rest.len())..],
            None => &source.text,
        };
        self.lua.load(text).set_name(format!("@{}", source.path)).exec().map_err(|error| wrong(&error))
    }

    /// The options that the script declares.
    pub fn declared(&self) -> Result<Option<Table>, String> {
        let read = || self.cmdline()?.get("options");
        read().map_err(|error| wrong(&error))
    }

    fn cmdline(&self) -> mlua::Result<Table> {
        self.lua.globals().get::<Table>("sysbench")?.get("cmdline")
    }

    /// Gives options their values; `sysbench.opt` has all of them, and names of 0.5 are globals.
    pub fn set_options(&self, values: &Values, are_global: bool) -> Result<(), String> {
        let set = || -> mlua::Result<()> {
            let options: Table = self.lua.globals().get::<Table>("sysbench")?.get("opt")?;
            for (name, value) in values {
                let value = self.value(value)?;
                if are_global && matches!(self.lua.globals().get(name.as_str())?, Value::Nil) {
                    self.lua.globals().set(name.as_str(), &value)?;
                }
                options.set(name.as_str(), value)?;
            }
            Ok(())
        };
        set().map_err(|error| wrong(&error))
    }

    fn value(&self, value: &Setting) -> mlua::Result<Value> {
        match value {
            Setting::Flag(flag) => flag.into_lua(&self.lua),
            Setting::Number(number) => number.into_lua(&self.lua),
            Setting::Text(text) => text.as_str().into_lua(&self.lua),
            Setting::List(words) => words.as_slice().into_lua(&self.lua),
        }
    }

    pub fn function(&self, name: &str) -> Option<Function> {
        self.lua.globals().get(name).ok()
    }

    /// The function behind a command, and whether every client runs it.
    pub fn command(&self, name: &str) -> Option<(Function, bool)> {
        let commands: Option<Table> = self.cmdline().and_then(|cmdline| cmdline.get("commands")).unwrap_or(None);
        let listed = commands.and_then(|commands| commands.get::<Table>(name).ok());
        if let Some(listed) = listed {
            return Some((listed.get(1).ok()?, listed.get(2).unwrap_or(false)));
        }
        // `run` is what events are for, and other globals are no commands.
        ["prepare", "cleanup", "help"].contains(&name).then(|| self.function(name)).flatten().map(|run| (run, false))
    }

    /// All commands that the script has but `run`, and whether every client runs it.
    pub fn commands(&self) -> BTreeMap<String, bool> {
        let listed: Option<Table> = self.cmdline().and_then(|cmdline| cmdline.get("commands")).unwrap_or(None);
        let listed = listed.into_iter().flat_map(|listed| listed.pairs::<String, Value>().collect::<Vec<_>>());
        let names = listed.filter_map(|pair| pair.ok().map(|(name, _)| name));
        let globals = ["prepare", "cleanup", "help"].map(str::to_owned);
        names.chain(globals).filter_map(|name| self.command(&name).map(|(_, parallel)| (name, parallel))).collect()
    }

    /// One of `sysbench.hooks` that the script has set.
    pub fn hook(&self, name: &str) -> Option<Function> {
        let hooks = || self.lua.globals().get::<Table>("sysbench")?.get::<Table>("hooks");
        hooks().and_then(|hooks| hooks.get(name)).ok()
    }

    /// Hands figures to a hook.
    pub fn report(&self, hook: Function, figures: &[(&str, f64)]) -> Result<(), String> {
        let table = self.lua.create_table_from(figures.iter().copied()).map_err(|error| wrong(&error))?;
        let called: mlua::Result<(bool, Value)> =
            self.host.get::<Function>("call").and_then(|call| call.call((hook, table)));
        match called.map_err(|error| wrong(&error))? {
            (true, _) => Ok(()),
            (false, why) => Err(why.to_string().unwrap_or_default()),
        }
    }

    /// Ends what hooks have begun to print.
    pub fn end_reports(&self) -> Result<(), String> {
        let end = || self.host.get::<Function>("end_reports")?.call::<()>(());
        end().map_err(|error| wrong(&error))
    }

    /// Has the script check the values that were given to its options.
    pub fn check_options(&self, values: &Values, is_given: impl Fn(&str) -> bool) -> Result<(), String> {
        let Some(options) = self.declared()? else { return Ok(()) };
        for pair in options.pairs::<String, Table>().filter_map(Result::ok) {
            let (name, check) = (pair.0.replace('-', "_"), pair.1.get::<Option<Function>>(4));
            let (true, Ok(Some(check)), Some(value)) = (is_given(&name), check, values.get(&name)) else { continue };
            let called = || self.host.get::<Function>("check")?.call::<bool>((check, name.as_str(), value.to_string()));
            if !called().map_err(|error| wrong(&error))? {
                return Err(format!("Invalid value for the '{name}' option: '{value}'"));
            }
        }
        Ok(())
    }

    /// Calls a function of the script outside of events; its statements block.
    pub fn call(&self, run: Function, client: u32) -> Result<Value, String> {
        let call = || self.host.get::<Function>("call")?.call::<(bool, Value)>((run, client));
        match call().map_err(|error| wrong(&error))? {
            (true, value) => Ok(value),
            (false, why) => Err(why.to_string().unwrap_or_default()),
        }
    }

    /// Calls one of the functions that a script may have.
    pub fn call_if_there(&self, name: &str, client: u32) -> Result<(), Error> {
        let Some(run) = self.function(name) else { return Ok(()) };
        let called = self.call(run, client).map(drop);
        called.map_err(|why| Error::Client(format!("`{name}' function failed: {why}")))
    }

    /// The coroutine that events run in.
    pub fn events(&self) -> Result<Thread, String> {
        let start = || self.lua.create_thread(self.host.get::<Function>("drive")?);
        start().map_err(|error| wrong(&error))
    }

    /// Ends what the script does, from any thread.
    pub fn stop(&self) -> Stop {
        self.stop.clone()
    }

    pub fn random(&self) -> Rc<RefCell<Random>> {
        Rc::clone(&self.random)
    }

    /// Names given to `ffi.load`.
    pub fn libraries(&self) -> Vec<String> {
        self.libraries.borrow().iter().cloned().collect()
    }

    /// The texts of all files that were loaded behind the script itself.
    pub fn loaded(&self) -> Vec<String> {
        self.loaded.borrow().clone()
    }
}

/// Resumes a client's coroutine: first with its number, then with what its last request brought.
pub fn resume(events: &Thread, with: impl IntoLuaMulti, session: &Shared) -> Result<Request, String> {
    let asked: MultiValue = events.resume(with).map_err(|error| wrong(&error))?;
    request(asked, session).map_err(|error| wrong(&error))
}

fn request(mut asked: MultiValue, session: &Shared) -> mlua::Result<Request> {
    let kind = asked.pop_front().and_then(|kind| kind.as_i64()).unwrap_or(FAILED);
    Ok(match kind {
        QUERY | EXECUTE => Request::Do(task(kind, asked, session)?),
        ENDED => Request::Ended(asked.pop_front() == Some(Value::Boolean(true))),
        RESTARTED => Request::Restarted(asked.pop_front() == Some(Value::Boolean(true))),
        _ => Request::Failed(asked.pop_front().map_or_else(String::new, |why| why.to_string().unwrap_or_default())),
    })
}

/// The statement that is asked for; its values go to its connection at once.
fn task(kind: i64, mut asked: MultiValue, session: &Shared) -> mlua::Result<Task> {
    let number = |value: Option<Value>| {
        let number = value.and_then(|value| value.as_i64()).and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| mlua::Error::runtime("this is no connection of sysbench.sql"))
    };
    let connection = number(asked.pop_front())?;
    if kind == QUERY {
        let sql = asked.pop_front().unwrap_or(Value::Nil);
        let sql = sql.as_string().ok_or_else(|| mlua::Error::runtime("a statement was expected as text"))?;
        return Ok(Task::Query { connection, sql: sql.to_str()?.to_owned() });
    }
    let statement = number(asked.pop_front())?;
    let texts: Vec<_> = asked.iter().map(|value| value.as_string().map(|text| text.as_bytes())).collect();
    let values = asked.iter().zip(&texts).map(|(value, text)| match (value, text) {
        (_, Some(text)) => Given::Text(text),
        (Value::Integer(number), None) => Given::Int(*number),
        (value, None) => value.as_f64().map_or(Given::Null, Given::Number),
    });
    if let Ok(open) = session.borrow_mut().open(connection) {
        open.hold(values);
    }
    Ok(Task::Execute { connection, statement })
}

/// What `api.lua` takes for the outcome of a statement.
impl IntoLuaMulti for Brought {
    fn into_lua_multi(self, lua: &Lua) -> mlua::Result<MultiValue> {
        match self {
            Brought::Nothing => NO_ROWS.into_lua_multi(lua),
            Brought::Rows(count, None) => (ROWS, count).into_lua_multi(lua),
            Brought::Rows(count, Some(rows)) => (ROWS, count, Kept { rows, next: 0 }).into_lua_multi(lua),
            Brought::Error(Refusal { errno, state, message, restarts }) => {
                (REFUSED, errno, state, message, restarts).into_lua_multi(lua)
            }
        }
    }
}

/// The rows of a result, of which a script fetches one after the other.
struct Kept {
    rows: Rows,
    next: usize,
}

impl UserData for Kept {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_method("width", |_, kept, ()| Ok(kept.rows.width(0)));
        methods.add_method_mut("fetch_row", |lua, kept, ()| {
            if kept.next >= kept.rows.len() {
                return Ok(Value::Nil);
            }
            let row = lua.create_table()?;
            for column in 0..kept.rows.width(kept.next) {
                match kept.rows.cell(kept.next, column) {
                    Some(Cell::Int(number)) => row.raw_set(column + 1, number.to_string())?,
                    Some(Cell::Text(text)) => row.raw_set(column + 1, lua.create_string(text)?)?,
                    Some(Cell::Null) | None => {}
                }
            }
            kept.next += 1;
            row.into_lua(lua)
        });
    }
}

/// Whether a part of a script looks at rows.
pub fn reads_rows(text: &str) -> bool {
    ["fetch_row", "query_row", "nfields"].iter().any(|word| text.contains(word))
}

/// What the functions of one state share.
#[derive(Clone)]
struct Held {
    /// None before there is a server.
    session: Option<Shared>,
    random: Rc<RefCell<Random>>,
    loaded: Rc<RefCell<Vec<String>>>,
    /// Loaded by `ffi.load`.
    libraries: Rc<RefCell<BTreeSet<String>>>,
}

impl Held {
    fn session(&self) -> mlua::Result<&Shared> {
        let none = || mlua::Error::runtime("there is no server here: statements belong into functions that are called");
        self.session.as_ref().ok_or_else(none)
    }
}

/// The table that `api.lua` is given; the API is in place behind it.
fn make(lua: &Lua, source: &Source, place: Place<'_>, held: &Held) -> mlua::Result<Table> {
    let host = lua.create_table()?;
    host.set("tid", place.client)?;
    host.set("command", place.command)?;
    host.set("script_path", source.path.as_str())?;
    host.set("driver_name", place.dialect.map_or("mysql", driver_name))?;
    let argv = lua.create_table()?;
    argv.set(0, "sysbench")?;
    argv.set(1, source.path.as_str())?;
    argv.set(2, place.command)?;
    host.set("argv", argv)?;
    let printed = |_: &Lua, text: LuaString| terminal::print(&text.to_string_lossy()).map_err(mlua::Error::external);
    host.set("print", lua.create_function(printed)?)?;
    add_sql(lua, &host, held)?;
    add_counters(lua, &host, held)?;
    add_random(lua, &host, held)?;
    lua.globals().get::<Table>("package")?.set("path", search_path(source))?;
    lua.load(API).set_name("=sysbench").call::<()>(&host)?;
    Ok(host)
}

pub fn driver_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::MySql => "mysql",
        Dialect::Postgres => "pgsql",
        Dialect::Sqlite => "sqlite",
    }
}

fn search_path(source: &Source) -> String {
    let own = Path::new(&source.path).parent().map(|folder| folder.display().to_string()).unwrap_or_default();
    let own = if own.is_empty() { ".".to_owned() } else { own };
    let home = std::env::var("HOME").unwrap_or_default();
    let mut folders = vec![".".to_owned(), own, "./src/lua".to_owned(), format!("{home}/.luarocks/share/lua/5.1")];
    folders.extend(FOLDERS.map(str::to_owned));
    let mut path: String = folders.iter().map(|folder| format!("{folder}/?.lua;{folder}/?/init.lua;")).collect();
    path.push_str(&std::env::var(PATH_VARIABLE).unwrap_or_default().replace(";;", ";"));
    path
}

/// The number of a thing, or its error in three values.
type Numbered = (Option<usize>, Option<u32>, Option<String>, Option<String>);

fn numbered(made: Result<usize, Error>, session: &Shared, connection: usize) -> Numbered {
    match made {
        Ok(number) => (Some(number), None, None, None),
        Err(error) => {
            let Refusal { errno, state, message, .. } = session.borrow_mut().refusal(error, connection);
            (None, Some(errno), Some(state), Some(message))
        }
    }
}

fn add_sql(lua: &Lua, host: &Table, held: &Held) -> mlua::Result<()> {
    let known = held.clone();
    let connect = move |_: &Lua, ()| {
        let session = known.session()?;
        let made = session.borrow_mut().connect();
        Ok(numbered(made, session, 0))
    };
    host.set("connect", lua.create_function(connect)?)?;
    let known = held.clone();
    let prepare = move |_: &Lua, (connection, sql): (usize, LuaString)| {
        let (session, sql) = (known.session()?, sql.to_str()?);
        let made = session.borrow_mut().open(connection).and_then(|open| open.prepare(&sql));
        Ok(numbered(made, session, connection))
    };
    host.set("prepare", lua.create_function(prepare)?)?;
    let known = held.clone();
    let close = move |_: &Lua, (connection, statement): (usize, usize)| {
        if let Ok(open) = known.session()?.borrow_mut().open(connection) {
            open.close(statement);
        }
        Ok(())
    };
    host.set("close", lua.create_function(close)?)?;
    let known = held.clone();
    let disconnect = move |_: &Lua, connection: usize| {
        known.session()?.borrow_mut().disconnect(connection);
        Ok(())
    };
    host.set("disconnect", lua.create_function(disconnect)?)?;
    let known = held.clone();
    let reconnect = move |_: &Lua, connection: usize| {
        let session = known.session()?;
        let made = session.borrow_mut().reconnect(connection).map(|()| connection);
        let (_, errno, state, message) = numbered(made, session, connection);
        Ok((errno, state, message))
    };
    host.set("reconnect", lua.create_function(reconnect)?)?;
    let known = held.clone();
    let loaded = move |_: &Lua, text: LuaString| {
        let text = text.to_string_lossy();
        if let Some(session) = &known.session {
            session.borrow_mut().keeps_rows |= reads_rows(&text);
        }
        known.loaded.borrow_mut().push(text);
        Ok(())
    };
    host.set("loaded", lua.create_function(loaded)?)?;
    let known = held.clone();
    let wait = move |_: &Lua, mut asked: MultiValue| {
        let session = known.session()?;
        let kind = asked.pop_front().and_then(|kind| kind.as_i64()).unwrap_or_default();
        Ok(perform_blocking(session, &task(kind, asked, session)?))
    };
    host.set("wait", lua.create_function(wait)?)
}

/// Keeps the first place of the script that draws from an interval which wraps.
fn note_wrapping(lua: &Lua, random: &mut Random, low: f64, high: f64) {
    if !Random::wraps(low, high) || random.wrapped_at.is_some() {
        return;
    }
    // A function of the script may be called by one of ours.
    let place = |level| {
        lua.inspect_stack(level, |called| {
            let file = called.source().short_src.map(|name| name.into_owned()).unwrap_or_default();
            called.current_line().map(|line| format!("{file}:{line}"))
        })
        .flatten()
    };
    let place = (1..4).filter_map(place).find(|place| !place.starts_with("sysbench:"));
    random.wrapped_at = Some(format!("{}: ({low}, {high})", place.unwrap_or_default()));
}

/// What is counted and noted beside statements.
fn add_counters(lua: &Lua, host: &Table, held: &Held) -> mlua::Result<()> {
    let known = held.clone();
    let count = move |_: &Lua, counter: i64| {
        let counted = &mut known.session()?.borrow_mut().counted;
        match counter {
            0 => counted.other += 1,
            1 => counted.reads += 1,
            2 => counted.writes += 1,
            4 => counted.retries += 1,
            5 => counted.reconnects += 1,
            _ => return Err(mlua::Error::runtime(format!("sb_counter_inc: dbduel keeps no counter {counter}"))),
        }
        Ok(())
    };
    host.set("count", lua.create_function(count)?)?;
    host.set("now_ns", lua.create_function(|_: &Lua, ()| Ok(load::monotonic_ns() as f64))?)?;
    let known = held.clone();
    let spent = move |_: &Lua, (collected_ns, blocked_ns): (f64, f64)| {
        let counted = &mut known.session()?.borrow_mut().counted;
        counted.collected_ns += collected_ns as u64;
        counted.blocked_ns += blocked_ns as u64;
        Ok(())
    };
    host.set("spent", lua.create_function(spent)?)?;
    let known = held.clone();
    let real_parameter = move |_: &Lua, place: String| {
        known.session()?.borrow_mut().real_parameter_at.get_or_insert(place);
        Ok(())
    };
    host.set("real_parameter", lua.create_function(real_parameter)?)?;
    let known = held.clone();
    let library = move |_: &Lua, name: String| {
        known.libraries.borrow_mut().insert(name);
        Ok(())
    };
    host.set("library", lua.create_function(library)?)
}

fn add_random(lua: &Lua, host: &Table, held: &Held) -> mlua::Result<()> {
    let shapes = ["rand_uniform", "rand_gaussian", "rand_special", "rand_pareto", "rand_zipfian"];
    for (shape, name) in shapes.into_iter().enumerate() {
        let random = Rc::clone(&held.random);
        let draw = move |lua: &Lua, (low, high): (f64, f64)| {
            let mut random = random.borrow_mut();
            note_wrapping(lua, &mut random, low, high);
            Ok(random.of_shape(shape, low, high))
        };
        host.set(name, lua.create_function(draw)?)?;
    }
    let random = Rc::clone(&held.random);
    let draw = move |lua: &Lua, (low, high): (f64, f64)| {
        let mut random = random.borrow_mut();
        note_wrapping(lua, &mut random, low, high);
        Ok(random.default(low, high))
    };
    host.set("rand_default", lua.create_function(draw)?)?;
    let random = Rc::clone(&held.random);
    let draw = move |_: &Lua, ()| Ok(random.borrow_mut().unique());
    host.set("rand_unique", lua.create_function(draw)?)?;
    let random = Rc::clone(&held.random);
    let draw = move |_: &Lua, ()| Ok(random.borrow_mut().unit());
    host.set("rand_double", lua.create_function(draw)?)?;
    let random = Rc::clone(&held.random);
    let draw = move |_: &Lua, ()| {
        let drawn = random.borrow_mut().next_u64();
        Ok((drawn >> 32, drawn & 0xffff_ffff))
    };
    host.set("rand_halves", lua.create_function(draw)?)?;
    let random = Rc::clone(&held.random);
    let draw = move |lua: &Lua, format: LuaString| {
        let drawn = random.borrow_mut().string(&format.as_bytes());
        lua.create_string(drawn)
    };
    host.set("rand_string", lua.create_function(draw)?)
}

/// A file with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub path: String,
    pub text: String,
}
