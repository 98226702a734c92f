//! The keys of `[workload] name = "replay"`.

use std::path::PathBuf;
use std::time::Duration;

use capture::{Format, Options as Reading, Prefix, ServerTotals, offset_secs};
use load::{DataPlace, ITEMS, OptionError, OptionSpec, OptionValue, Options, OwnData, OwnDataForm, TABLE};

use crate::filter::{Filter, Wanted};
use crate::order::Order;

pub const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "log",
        ITEMS,
        "logs of one server in any order, compressed or not, or a capture of them; on a command line with commas between",
    )
    .paths(&["log"])
    .opened(),
    OptionSpec::new("format", "auto", "mysql-slow, mysql-general, pg-csv, pg-json or pg-stderr; auto: seen in each file"),
    OptionSpec::new("line_prefix", "\"\"", "log_line_prefix of a stderr log of PostgreSQL; empty: one of the usual ones"),
    OptionSpec::new("log_timezone", "UTC", "the zone of stamps without one, such as +02:00 or CET"),
    OptionSpec::new("sql_mode", "\"\"", "sql_mode of the log's server; ANSI_QUOTES and NO_BACKSLASH_ESCAPES matter"),
    OptionSpec::new(
        "charset",
        "\"\"",
        "character set of sessions that set none, as clients of the log's server had it, such as latin1; empty: each server's own",
    ),
    OptionSpec::new("max_bad", "1%", "share of entries of the log that may be unreadable"),
    OptionSpec::new("partial_log", "false", "take a log that seems to leave out statements"),
    OptionSpec::new(
        "from",
        "\"\"",
        "replay what began at this time or later: 04:10:00 on the first day of the log, or 2026-11-23 04:10:00; UTC, or of log_timezone",
    ),
    OptionSpec::new("to", "\"\"", "replay what began before this time"),
    OptionSpec::new("databases", "[]", "replay statements of these databases only"),
    OptionSpec::new("exclude_databases", "[]", "leave out statements of these databases"),
    OptionSpec::new("users", "[]", "replay sessions of these users only"),
    OptionSpec::new("exclude_users", "[]", "leave out sessions of these users"),
    OptionSpec::new("digests", "[]", "replay these statements only, by their ids in `dbduel digest`"),
    OptionSpec::new("exclude_digests", "[]", "leave out these statements"),
    OptionSpec::new(
        "include",
        "[]",
        "replay these kinds of what is left out as a rule: backup, dbduel (sessions), account, server, file access (statements)",
    ),
    OptionSpec::new(
        "portable",
        "off",
        "strict: replay those statements alone that MySQL and PostgreSQL read alike, on servers of both kinds",
    ),
    OptionSpec::new(
        "prepare",
        "off",
        "auto: what was prepared is prepared again, with its values as parameters, where a log of MySQL or MariaDB shows it: the general log, and the slow log of MySQL 8; off: it is sent as text",
    ),
    OptionSpec::new("reads_only", "false", "leave out what may change data, and count it"),
    OptionSpec::new(
        "summary",
        "\"\"",
        "what the log's server counted, pg_stat_statements as CSV or events_statements_summary_by_digest as `mysql --batch` writes it: how much of that the log has is printed",
    )
    .paths(&["summary"])
    .opened(),
    OptionSpec::new(
        "weights",
        "log",
        "the calls by which digests make up the total: log, or summary: those that the log's server counted",
    ),
    OptionSpec::new(
        "max_digests",
        "200",
        "digests that have times of their own, those that cost most in the log; the others share one line. Each takes 200 KiB for every client thread",
    ),
    OptionSpec::new("merge_numbered_names", "false", "count names that differ in their numbers as one digest"),
    OptionSpec::new(
        "data",
        TABLE,
        "what the tables were when the log began: { dump = \"shop.sql.zst\" }, or { directory = \"/backup/prepared\" }, with recover = true where it was not shut down cleanly; position = \"2026-11-23 04:00:00\" where they are of a moment within the log; anonymized = true where they have the values of an anonymised capture",
    )
    .paths(&["dump", "directory", "mysql", "mariadb", "postgres"])
    .for_servers(),
    OptionSpec::new(
        "pacing",
        "original",
        "original: statements are due as in the log; speed: in less or more time, by `speed`; fast: each when the one before is answered",
    ),
    OptionSpec::new("speed", "1.0", "with pacing = \"speed\": times are divided by it"),
    OptionSpec::new(
        "order",
        "transaction",
        "transaction: one begins when all that had ended in the log before it began have ended; conflict: the same between transactions of which one writes a table that the other names; session: each session by itself; serial: one after the other",
    ),
    OptionSpec::new("amplify", "1", "replay each session so many times at once, of a log that only reads"),
    OptionSpec::new(
        "clients_limit",
        "0",
        "connections at most, where the log had more sessions at once: those share that set or keep nothing of their own; 0: each has its own",
    ),
    OptionSpec::new(
        "skip_idle",
        "off",
        "a time such as 5s: of longer gaps without a statement under way only so much is waited; off: gaps are those of the log",
    ),
    OptionSpec::new(
        "answers",
        "pass",
        "pass: the log is replayed once more on each contender before the first block, and all answers are compared; timed: also those of the timed trials, which the clients' CPU pays for; off: they are not",
    ),
    OptionSpec::new(
        "float_digits",
        "15",
        "digits of inexact numbers that must be equal; of sums and means of them no more than 12",
    ),
    OptionSpec::new(
        "show_literals",
        "false",
        "whether examples of statements that are answered otherwise have their values, which are then in the run's folder and in reports",
    ),
    OptionSpec::new("gate_answers", "true", "whether `--gate` fails where a candidate answers otherwise than the baseline"),
    OptionSpec::new("gate_digests", "false", "whether `--gate` fails where a judged statement is slower, whatever the total"),
    OptionSpec::new("warmup", "auto", "the first part of the log, replayed and not counted, such as 30s; auto: 10 % of it, 2s to 60s"),
    OptionSpec::new(
        "on_error",
        "skip-transaction",
        "an error that ends a transaction, such as a deadlock: skip-transaction: the rest of it is not sent; continue: it is",
    ),
    OptionSpec::new("stall_limit", "10s", "with no answer for so long, a transaction that waits for its order is let go"),
    OptionSpec::new(
        "statement_limit",
        "auto",
        "a statement that runs longer is cancelled and counted; auto: 10 times the longest of its digest in the log, and no less than 60s; off: none is",
    ),
    OptionSpec::new("writes", "false", "replay a log that changes data on a running server"),
];

/// When statements are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pacing {
    /// As in the log, with times divided by this.
    Due(f64),
    /// When the one before is answered.
    Fast,
}

/// How long a statement may run until it is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementLimit {
    ByLog,
    Of(Duration),
    Off,
}

/// How a schedule is gone through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    pub pacing: Pacing,
    pub order: Order,
    /// The rest of a transaction that an error has ended is not sent.
    pub skips_ended: bool,
    pub stall_limit: Duration,
    pub statement_limit: StatementLimit,
    /// How many times each session is replayed at once.
    pub amplify: u32,
    /// None: by the length of the log.
    pub warmup: Option<Duration>,
    pub compares_answers: bool,
    /// Also those of timed trials.
    pub notes_trials: bool,
    /// Digits of an inexact number that count.
    pub float_digits: usize,
    /// Examples have the values of the log.
    pub shows_literals: bool,
}

/// The logs, and how they are read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Each with what it is recognised by.
    pub logs: Vec<(PathBuf, String)>,
    pub reading: Reading,
    pub wanted: Wanted,
    /// The data have the values that an anonymised capture has.
    pub are_data_anonymised: bool,
}

pub fn settings(options: &Options) -> Result<Settings, OptionError> {
    let pacing = options.choice("pacing", &["original", "speed", "fast"])?;
    let speed = options.real("speed", 0.001, 10_000.0)?;
    if pacing != 1 && speed != 1.0 {
        return Err(options.error("speed", "pacing = \"speed\" was expected beside it".to_owned()));
    }
    options.flag("gate_answers")?;
    options.flag("gate_digests")?;
    let answers = options.choice("answers", &["pass", "off", "timed"])?;
    let orders = [Order::Transaction, Order::Conflict, Order::Session, Order::Serial];
    let order = orders[options.choice("order", &orders.map(Order::name))?];
    Ok(Settings {
        pacing: if pacing == 2 { Pacing::Fast } else { Pacing::Due(speed) },
        order,
        skips_ended: options.choice("on_error", &["skip-transaction", "continue"])? == 0,
        stall_limit: options.duration("stall_limit")?,
        statement_limit: match options.value("statement_limit") {
            OptionValue::Text(text) if text == "auto" => StatementLimit::ByLog,
            OptionValue::Text(text) if text == "off" => StatementLimit::Off,
            _ => StatementLimit::Of(options.duration("statement_limit")?),
        },
        amplify: options.number("amplify", 1, 1_000)? as u32,
        compares_answers: answers != 1,
        notes_trials: answers == 2,
        float_digits: options.number("float_digits", 1, 17)? as usize,
        shows_literals: options.flag("show_literals")?,
        warmup: match options.value("warmup") {
            OptionValue::Text(text) if text == "auto" => None,
            _ => Some(options.duration("warmup")?),
        },
    })
}

/// The character set that sessions begin with.
pub fn charset(options: &Options) -> Result<Option<String>, OptionError> {
    let name = options.text("charset")?.trim_matches('"');
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    match name {
        "" => Ok(None),
        _ if is_name => Ok(Some(name.to_owned())),
        _ => Err(options.error("charset", "a name such as \"latin1\" was expected".to_owned())),
    }
}

/// The totals of the log's server, where they are given.
pub fn summary(options: &Options) -> Result<Option<ServerTotals>, OptionError> {
    let OptionValue::File { path, .. } = options.value("summary") else { return Ok(None) };
    let table =
        std::fs::read(path).map_err(|cause| options.error("summary", format!("a file was expected: {cause}")))?;
    ServerTotals::read(&table).map(Some).map_err(|why| options.error("summary", why))
}

pub fn source(options: &Options) -> Result<Source, OptionError> {
    let expected = || options.error("log", "log = [\"slow.log\"] was expected: paths of logs, or of a capture".into());
    let logs = match options.value("log") {
        OptionValue::Items(items) => items.clone(),
        single => vec![single.clone()],
    };
    let log = |value: OptionValue| match value {
        OptionValue::File { path, text } => Ok((PathBuf::from(path), text)),
        _ => Err(expected()),
    };
    let logs = logs.into_iter().map(log).collect::<Result<Vec<_>, _>>()?;
    if logs.is_empty() {
        return Err(OptionError::new("log", "log = [\"slow.log\"] was expected: what is to be replayed"));
    }
    let format = match options.text("format")? {
        "auto" => None,
        name => Some(Format::of_name(name).ok_or_else(|| {
            let names = Format::ALL.map(Format::name).join(", ");
            options.error("format", format!("one of auto, {names} was expected"))
        })?),
    };
    let prefix = match options.text("line_prefix")?.trim_matches('"') {
        "" => None,
        text => Some(Prefix::parse(text).map_err(|why| options.error("line_prefix", why.to_string()))?),
    };
    let offset_secs = offset_secs(options.text("log_timezone")?.as_bytes())
        .ok_or_else(|| options.error("log_timezone", "an offset such as +02:00, or an abbreviation".to_owned()))?;
    let bad = options.text("max_bad")?.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let bad = bad.filter(|percent| (0.0..=100.0).contains(percent));
    let is_portable = options.choice("portable", &["off", "strict"])? == 1;
    let prepares = options.choice("prepare", &["off", "auto"])? == 1;
    if prepares && is_portable {
        return Err(options.error("prepare", "portable = \"off\" was expected beside it".to_owned()));
    }
    let sql_mode = options.text("sql_mode")?.trim_matches('"').as_bytes().to_vec();
    Ok(Source {
        logs,
        reading: Reading {
            format,
            reading: capture::Reading { sql_mode, prefix, offset_secs },
            merge_numbered_names: options.flag("merge_numbered_names")?,
            max_bad: Some(
                bad.ok_or_else(|| options.error("max_bad", "\"5%\" was expected: 0% to 100%".to_owned()))? / 100.0,
            ),
        },
        wanted: Wanted {
            accepts_partial: options.flag("partial_log")?,
            filter: Filter::of(options, offset_secs)?,
            idle_max: match options.text("skip_idle")? {
                "off" => None,
                _ => Some(options.duration("skip_idle")?),
            },
            digests_max: options.number("max_digests", 1, 10_000)? as usize,
            clients_limit: Some(options.number("clients_limit", 0, 100_000)? as usize).filter(|limit| *limit > 0),
            is_portable,
            prepares,
        },
        are_data_anonymised: flag_of_data(options, "anonymized")?,
    })
}

const DATA_EXPECTED: &str = "data = { dump = \"shop.sql.zst\" }, or { directory = \"/backup/prepared\" }, was expected";

fn flag_of_data(options: &Options, key: &str) -> Result<bool, OptionError> {
    let OptionValue::Table(entries) = options.value("data") else { return Ok(false) };
    match entries.get(key) {
        None => Ok(false),
        Some(OptionValue::Flag(is_set)) => Ok(*is_set),
        Some(_) => Err(OptionError::new("data", format!("{key} = true or false was expected"))),
    }
}

/// What fills the tables before each trial.
pub fn own_data(options: &Options) -> Result<Option<OwnData>, OptionError> {
    let wrong = |what: &str| Err(OptionError::new("data", what));
    let OptionValue::Table(entries) = options.value("data") else { return wrong(DATA_EXPECTED) };
    if entries.is_empty() {
        return Ok(None);
    }
    let accept_unclean = flag_of_data(options, "recover")?;
    if entries.keys().any(|key| !["dump", "directory", "recover", "anonymized", "position"].contains(&key.as_str())) {
        return wrong(DATA_EXPECTED);
    }
    let (form, value) = match (entries.get("dump"), entries.get("directory")) {
        (Some(dump), None) if !accept_unclean => (OwnDataForm::Dump, dump),
        (Some(_), None) => return wrong("`recover` belongs to a directory: a dump has nothing to recover"),
        (None, Some(directory)) => (OwnDataForm::Directory { accept_unclean }, directory),
        _ => return wrong(DATA_EXPECTED),
    };
    let place = |engine: Option<&String>, value: &OptionValue| match value {
        OptionValue::File { path, text } => {
            Ok((engine.cloned(), DataPlace { path: path.into(), identity: text.clone() }))
        }
        _ => Err(OptionError::new("data", DATA_EXPECTED)),
    };
    let places = match value {
        OptionValue::Table(of_engines) => {
            of_engines.iter().map(|(engine, value)| place(Some(engine), value)).collect::<Result<_, _>>()?
        }
        single => vec![place(None, single)?],
    };
    Ok(Some(OwnData { key: "data", form, places }))
}
