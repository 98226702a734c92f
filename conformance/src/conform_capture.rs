//! `cargo xtask conform-capture`: are the statements of a log those that a client sent?
//!
//! One client runs a script with everything that has confused readers of logs, and keeps a journal. The server logs it in
//! every format that it has; the readers must find the journal in each: texts, values, and outcomes. Slow logs are rotated in
//! the middle. A server that is not here is reported and left out.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use capture::{Act, Event, Format, Options, Prefix, Reading, parameters, read_logs};
use driver::{Admin, Value};

use crate::held::{Held, Missing, dbduel};

#[derive(clap::Args)]
pub struct ConformCapture {
    /// Servers to log with [default: those that are installed]
    #[arg(value_name = "ENGINE@VERSION")]
    engines: Vec<String>,
    /// Fetch those that are not here
    #[arg(long)]
    fetch: bool,
}

/// What the client sent, as the log has to show it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    text: String,
    /// Of the extended protocol of PostgreSQL.
    values: Vec<Option<String>>,
    fails: bool,
}

/// Where the part of the client's session begins that is compared.
const MARKER: &str = "select 'here the script begins'";

pub fn run(options: &ConformCapture, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let installed = ["mariadb@system".to_owned(), "postgres@system".to_owned()];
    let engines = if options.engines.is_empty() { &installed[..] } else { &options.engines };
    let mut wrong = 0;
    for engine in engines {
        let folder = tempfile::tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777))?;
        match logged(&dbduel, engine, options.fetch, folder.path()) {
            Ok(compared) => wrong += compared,
            Err(error) => match error.downcast::<Absent>() {
                Ok(Absent(why)) => println!("{engine:<20} NOT COMPARED: {why}"),
                Err(error) => return Err(error.context(engine.clone())),
            },
        }
    }
    ensure!(wrong == 0, "{wrong} of the logs do not have what the client sent");
    Ok(())
}

#[derive(Debug)]
struct Absent(String);

impl std::fmt::Display for Absent {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Absent {}

/// The release of PostgreSQL that brought it; the one of this system has it.
const JSONLOG_SINCE: u32 = 15;

/// Starts a server, runs the script, stops it, and compares each of its logs; how many are wrong.
fn logged(dbduel: &Path, engine: &str, fetch: bool, folder: &Path) -> Result<usize> {
    let is_postgres = engine.starts_with("postgres");
    let directory = format!("log_directory={}", folder.display());
    let release = engine.split_once('@').and_then(|(_, version)| version.split('.').next()?.parse::<u32>().ok());
    let has_json = release.is_none_or(|release| release >= JSONLOG_SINCE);
    let destination = if has_json { "csvlog,jsonlog,stderr" } else { "csvlog,stderr" };
    let destination = format!("log_destination={destination}");
    let postgres = [
        "logging_collector=on",
        "log_filename=pg.log",
        "log_line_prefix=%m|%u|%d|%c|",
        "log_min_duration_statement=0",
        &directory,
        &destination,
    ];
    let settings: &[&str] = if is_postgres { &postgres } else { &[] };
    let flag: &[&str] = if fetch { &["--fetch"] } else { &[] };
    let server = match Held::start(dbduel, engine, &[flag, settings].concat()) {
        Ok(server) => server,
        Err(Missing::Absent(why)) => bail!(Absent(why)),
        Err(Missing::Broken(error)) => return Err(error),
    };
    let journal = if is_postgres { of_postgres(&server)? } else { of_mysql(&server, folder)? };
    if is_postgres {
        wait_for_end(&folder.join("pg.csv"))?;
    }
    server.stop()?;
    let logs: &[(Format, &[&str])] = if is_postgres {
        &[(Format::PgCsv, &["pg.csv"]), (Format::PgJson, &["pg.json"]), (Format::PgStderr, &["pg.log"])]
    } else {
        &[(Format::MySqlSlow, &["slow.log", "slow.log.1"]), (Format::MySqlGeneral, &["general.log"])]
    };
    let present = logs.iter().filter(|(_, names)| folder.join(names[0]).is_file());
    let wrong = present.map(|(format, names)| {
        let paths: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
        compare(engine, *format, &paths, &journal)
    });
    Ok(wrong.collect::<Result<Vec<bool>>>()?.into_iter().filter(|is_wrong| *is_wrong).count())
}

/// The collector writes after the server has answered.
fn wait_for_end(log: &Path) -> Result<()> {
    let limit = Instant::now() + Duration::from_secs(20);
    while !fs::read(log).is_ok_and(|bytes| bytes.windows(END.len()).any(|part| part == END.as_bytes())) {
        ensure!(Instant::now() < limit, "{} does not have the last statement of the script", log.display());
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

const END: &str = "select 'here the script ends'";

/// A session that keeps its journal.
struct Client {
    admin: Admin,
    journal: Vec<Sent>,
}

impl Client {
    fn sends(&mut self, text: &str) -> Result<()> {
        self.admin.run(text).with_context(|| format!("the server refused {text:?}"))?;
        self.journal.push(Sent { text: text.to_owned(), values: Vec::new(), fails: false });
        Ok(())
    }

    fn fails(&mut self, text: &str) -> Result<()> {
        ensure!(self.admin.run(text).is_err(), "the server took {text:?}");
        self.journal.push(Sent { text: text.to_owned(), values: Vec::new(), fails: true });
        Ok(())
    }

    /// Through the binary or extended protocol, with what the log shows of it.
    fn executes(&mut self, text: &str, values: &[Value<'_>], logged: &str, shown: &[Option<&str>]) -> Result<()> {
        self.admin.fetch(text, values).with_context(|| format!("the server refused {text:?}"))?;
        let values = shown.iter().map(|value| value.map(str::to_owned)).collect();
        self.journal.push(Sent { text: logged.to_owned(), values, fails: false });
        Ok(())
    }
}

/// Quotes, header-like lines, comments and characters that both kinds of server read alike.
const COMMON: [&str; 9] = [
    "select ';\n# Query_time: 99' as x",
    "select 'a\n# Time: 261123  4:41:17\n# User@Host: u[u] @ localhost []\n;\n' as x",
    "select 'it''s', 'ä€😀'",
    "select 1 /* ; ' */ as x",
    "select 1 as x -- it's a comment\n",
    "select 1,\n\t2,\n\n3",
    "select '\t\t     9 Query' as x",
    "insert into capture_t values (1, 'a;\n')",
    "update capture_t set v = 'b' where id = 1",
];

fn of_mysql(server: &Held, folder: &Path) -> Result<Vec<Sent>> {
    let database = server.text("database")?.to_owned();
    let mut root = server.admin(&database)?;
    let log = |name: &str| folder.join(name).display().to_string();
    root.run("create table capture_t (id int primary key, v varchar(200))")?;
    root.run("create procedure capture_p() select 'inside; of a call'")?;
    root.run(&format!("set global slow_query_log_file = '{}'", log("slow.log")))?;
    root.run(&format!("set global general_log_file = '{}'", log("general.log")))?;
    ["long_query_time = 0", "slow_query_log = 1", "general_log = 1"]
        .iter()
        .try_for_each(|one| root.run(&format!("set global {one}")).map(drop))?;
    let mut client = Client { admin: server.admin(&database)?, journal: Vec::new() };
    client.sends(MARKER)?;
    COMMON.iter().try_for_each(|text| client.sends(text))?;
    client.sends("select \"a';\n\", 'q\\'uo\\\\', `v` from capture_t")?;
    client.sends("select 'a\0b' # it's one\n")?;
    fs::rename(folder.join("slow.log"), folder.join("slow.log.1"))?;
    // Where stamps are equal, the times of the files tell which was first, in steps of some milliseconds.
    std::thread::sleep(Duration::from_millis(50));
    root.run("flush slow logs")?;
    client.fails("insert into capture_t values (1, 'again')")?;
    client.fails("select * from capture_nothing")?;
    client.sends("set sql_mode = 'NO_BACKSLASH_ESCAPES'")?;
    client.sends("select '\\'")?;
    client.sends("set sql_mode = ''")?;
    client.executes(
        "select ?, ?, ?",
        &[Value::Text(b"q'uo\nte;"), Value::Null, Value::Int(12)],
        "select 'q\\'uo\\nte;', NULL, 12",
        &[],
    )?;
    client.sends(END)?;
    Ok(client.journal)
}

fn of_postgres(server: &Held) -> Result<Vec<Sent>> {
    let mut client = Client { admin: server.admin(server.text("database")?)?, journal: Vec::new() };
    client.admin.run("create table capture_t (id int primary key, v text)")?;
    client.sends(MARKER)?;
    COMMON.iter().try_for_each(|text| client.sends(text))?;
    client.sends("select E'q\\'uo\\nte', $$d;'$$, $a$ $$ $a$ as \"A\"\"b\"")?;
    client.fails("insert into capture_t values (1, 'again')")?;
    client.fails("selec 1")?;
    client.sends("begin")?;
    client.sends("declare c cursor for select 1")?;
    client.sends("fetch all from c")?;
    client.sends("commit")?;
    client.executes(
        "select $1::text, $2::text, $3::bigint",
        &[Value::Text(b"q'uo\nte"), Value::Null, Value::Int(12)],
        "select $1::text, $2::text, $3::bigint",
        &[Some("q'uo\nte"), None, Some("12")],
    )?;
    client.sends(END)?;
    Ok(client.journal)
}

/// Whether a log differs from the journal; the first difference is printed.
fn compare(engine: &str, format: Format, paths: &[PathBuf], journal: &[Sent]) -> Result<bool> {
    let found = of_log(format, paths)?;
    // MariaDB and MySQL record no error in their logs as they are by default, PostgreSQL does.
    let knows_errors = !format.is_mysql();
    let as_logged = |sent: &Sent| {
        // These servers take off what a statement has after its end before they do anything else with it.
        let text = if format.is_mysql() { sent.text.trim_end_matches([' ', '\n', ';']) } else { &sent.text };
        Sent { text: text.to_owned(), values: sent.values.clone(), fails: sent.fails && knows_errors }
    };
    let expected: Vec<Sent> = journal.iter().map(as_logged).collect();
    let differs = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    let verdict = if expected == found { "ok" } else { "WRONG" };
    println!("{engine:<20} {:<14} {:>3} statements  {verdict}", format.name(), found.len());
    if let Some((expected, found)) = differs {
        println!("  sent   {expected:?}\n  logged {found:?}");
    } else if expected.len() != found.len() {
        println!("  the client sent {} statements, the log has {}", expected.len(), found.len());
    }
    Ok(expected != found)
}

/// The statements of the client's session from the marker on.
fn of_log(format: Format, paths: &[PathBuf]) -> Result<Vec<Sent>> {
    let prefix = Prefix::parse("%m|%u|%d|%c|").map_err(anyhow::Error::msg)?;
    let reading = Reading { prefix: (format == Format::PgStderr).then_some(prefix), ..Reading::default() };
    let options = Options { format: Some(format), reading, ..Options::default() };
    let mut session = None;
    let mut found = Vec::new();
    let summary = read_logs(paths, &options, &mut |event, _, _| {
        if event.text == MARKER.as_bytes() {
            session = Some(event.session);
        }
        let is_inner = format == Format::MySqlGeneral && event.act == Act::Prepare;
        if session == Some(event.session) && event.act.is_statement() && !is_inner {
            found.push(sent(event));
        }
    })?;
    ensure!(summary.problems_found == 0, "{} has problems:\n{}", format.name(), summary.problem_lines().join("\n"));
    Ok(found)
}

fn sent(event: &Event<'_>) -> Sent {
    let owned = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let values = parameters(event.parameters).unwrap_or_default();
    Sent {
        text: owned(event.text),
        values: values.into_iter().map(|value| value.as_deref().map(owned)).collect(),
        fails: event.error.is_some(),
    }
}
