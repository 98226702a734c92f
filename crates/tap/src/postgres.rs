//! PostgreSQL's log of statements: its csvlog where it collects its log, else the file that its stderr is.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use driver::{Admin, Dialect};

use crate::log::{Log, pairs, sizes};
use crate::plan::{Change, Plan};

/// What one statement, and a transaction of twenty as sysbench's oltp_read_write has, takes in a csvlog.
const TRANSACTION_BYTES: [f64; 2] = [300.0, 7000.0];
/// Holds what replaying needs: time, user, database, session.
pub const LINE_PREFIX: &str = "%m|%u|%d|%c|";
/// What is logged of every statement, once, at its end and with its duration. The last one switches that on.
const EVERYTHING: [(&str, &str); 6] = [
    ("log_statement", "none"),
    ("log_duration", "off"),
    ("log_min_duration_sample", "-1"),
    ("log_parameter_max_length", "-1"),
    ("log_disconnections", "on"),
    ("log_min_duration_statement", "0"),
];
/// Levels at which errors of statements are logged.
const WITH_ERRORS: [&str; 9] = ["debug5", "debug4", "debug3", "debug2", "debug1", "info", "notice", "warning", "error"];

pub fn plan(admin: &mut Admin) -> Result<Plan> {
    let shown = pairs(admin, "SELECT name, reset_val FROM pg_settings")?;
    let by_hand = "only an account that may read pg_file_settings and run ALTER SYSTEM can switch the log on\n  next: name a \
                   superuser, or set log_min_duration_statement = 0 and log_destination = 'csvlog' by hand and make the \
                   capture with --from";
    let set = pairs(admin, "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf'")
        .context(by_hand)?;
    let value = |name: &str| shown.get(name).map(String::as_str).unwrap_or_default();
    let mut wanted: Vec<(&str, String)> = Vec::new();
    let (log, remark) = if value("logging_collector") == "on" {
        wanted.push(("log_destination", "csvlog".to_owned()));
        // One that is not absolute lies in the data directory, if the account may see where that is.
        let folder = Path::new(value("data_directory")).join(value("log_directory")).to_string_lossy().into_owned();
        let before = sizes(admin, &folder)?;
        let other = value("log_destination");
        let remark =
            (other != "csvlog").then(|| format!("{other} gets nothing meanwhile: errors are in the csvlog too"));
        (Log::Csv { folder, before }, remark)
    } else {
        wanted.push(("log_line_prefix", LINE_PREFIX.to_owned()));
        let path = stderr_of(admin, value("data_directory"))?;
        let before =
            path.metadata().map(|it| it.len()).with_context(|| format!("cannot look at {}", path.display()))?;
        let remark =
            format!("the server's log {} gets the statements too: it has no collector of its own", path.display());
        (Log::Stderr { path, before }, Some(remark))
    };
    for level in ["log_min_error_statement", "log_min_messages"] {
        if !WITH_ERRORS.contains(&value(level)) {
            wanted.push((level, "error".to_owned()));
        }
    }
    let language = value("lc_messages");
    let is_read = ["", "C", "POSIX"].contains(&language) || ["en", "C."].iter().any(|head| language.starts_with(head));
    if !is_read {
        wanted.push(("lc_messages", "C".to_owned()));
    }
    wanted.extend(EVERYTHING.map(|(name, value)| (name, value.to_owned())));
    let changes = wanted.into_iter().filter_map(|(name, after)| {
        // What a version does not have yet.
        let shown = shown.get(name)?.clone();
        (shown != after).then(|| Change { name: name.to_owned(), shown, before: set.get(name).cloned(), after })
    });
    Ok(Plan {
        dialect: Dialect::Postgres,
        version: admin.server_version().to_owned(),
        changes: changes.collect(),
        log,
        remarks: remark.into_iter().collect(),
        bytes_each: TRANSACTION_BYTES,
        unit: "transactions",
        counter: "SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database",
        offset_secs: 0,
        sql_mode: String::new(),
    })
}

/// The file that the standard error output of the server's first process is, on this host.
fn stderr_of(admin: &mut Admin, data: &str) -> Result<PathBuf> {
    let elsewhere = || {
        anyhow!(
            "the server does not collect its log (logging_collector is off), and where its stderr goes cannot be seen from \
             here\n  next: ALTER SYSTEM SET logging_collector = on and restart it, or run this on its host as its user or as \
             root"
        )
    };
    let pid = admin.value("SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1)").ok().flatten();
    let pid = pid.or_else(|| {
        let file = std::fs::read_to_string(PathBuf::from(data).join("postmaster.pid")).ok()?;
        file.lines().next().map(str::to_owned)
    });
    let pid = pid.with_context(|| elsewhere().to_string())?;
    let path = std::fs::read_link(format!("/proc/{}/fd/2", pid.trim())).map_err(|_| elsewhere())?;
    let is_its = std::fs::read_link(format!("/proc/{}/cwd", pid.trim())).is_ok_and(|cwd| cwd == Path::new(data));
    if is_its && path.is_file() { Ok(path) } else { Err(elsewhere()) }
}
