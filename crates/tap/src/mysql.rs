//! MySQL's and MariaDB's logs of statements.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use driver::{Admin, Dialect};

use crate::log::{Log, pairs};
use crate::plan::{Change, Plan, Source};

/// Files of logs that dbduel had made begin so.
const OWN_LOG: &str = "dbduel-";
/// Of sysbench's statements in a slow log of MariaDB 10.11 and of MySQL 8.0, and in their general logs.
const SLOW_BYTES: [f64; 2] = [250.0, 400.0];
const GENERAL_BYTES: [f64; 2] = [60.0, 130.0];

/// Whether a log was made for a capture.
pub fn is_own_log(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OWN_LOG))
}

pub fn plan(admin: &mut Admin, source: Source) -> Result<Plan> {
    let shown = pairs(admin, "SHOW GLOBAL VARIABLES")?.into_iter();
    let shown: BTreeMap<String, String> = shown.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    let value = |name: &str| shown.get(name).map(String::as_str);
    let [switch, file_variable] = match source {
        Source::General => ["general_log", "general_log_file"],
        _ => ["slow_query_log", "slow_query_log_file"],
    };
    let file = value(file_variable).with_context(|| format!("the server has no {file_variable}"))?;
    ensure!(
        !is_own_log(Path::new(file)),
        "{file_variable} is {file}: an earlier capture was not put back, or is going on\n  next: dbduel capture --restore the \
         state file beside its output"
    );
    let folder = value("datadir").context("the server does not show its datadir")?;
    let secs = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = PathBuf::from(folder).join(format!("{OWN_LOG}{secs}-{}.log", std::process::id()));
    let mut wanted: Vec<(&str, &str)> = log_output(&shown)?;
    let own_file = path.to_string_lossy();
    wanted.push((file_variable, &own_file));
    if source == Source::Slow {
        // What of the statements a slow log leaves out.
        wanted.extend([
            ("long_query_time", "0"),
            ("min_examined_row_limit", "0"),
            ("log_slow_rate_limit", "1"),
            ("log_slow_filter", ""),
            ("log_slow_admin_statements", "ON"),
            ("log_slow_extra", "ON"),
        ]);
    }
    wanted.push((switch, "ON"));
    let changes = wanted.into_iter().filter_map(|(name, after)| {
        let (shown, after) = (shown.get(name)?.clone(), after.to_owned());
        let is_same = shown.parse::<f64>().ok().map_or(shown == after, |number| Ok(number) == after.parse());
        (!is_same).then(|| Change { name: name.to_owned(), before: Some(shown.clone()), shown, after })
    });
    let changes: Vec<Change> = changes.collect();
    let mut remarks = Vec::new();
    if value(switch) == Some("ON") {
        remarks.push(format!("the server writes {file} now; meanwhile its entries go to the file of the capture"));
    }
    if source == Source::Slow {
        let open = "SELECT COUNT(*) FROM information_schema.processlist WHERE command NOT IN ('Daemon', 'Binlog Dump') \
                    AND id <> CONNECTION_ID()";
        let sessions: u64 = admin.value(open)?.and_then(|count| count.parse().ok()).unwrap_or_default();
        if sessions > 0 {
            remarks.push(format!(
                "{sessions} sessions are open: a slow log does not have them before they connect again, --source general has \
                 all (without durations)"
            ));
        }
    }
    let offset = admin.value("SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(), NOW())")?;
    Ok(Plan {
        dialect: Dialect::MySql,
        version: admin.server_version().to_owned(),
        changes,
        log: Log::Own { path },
        remarks,
        bytes_each: if source == Source::General { GENERAL_BYTES } else { SLOW_BYTES },
        unit: "statements",
        counter: "SHOW GLOBAL STATUS LIKE 'Questions'",
        // A log has whole minutes between its zone and UTC, and two clocks were read.
        offset_secs: offset
            .and_then(|secs| secs.parse::<i64>().ok())
            .map_or(0, |secs| (secs + secs.signum() * 30) / 60 * 60),
        sql_mode: value("sql_mode").unwrap_or_default().to_owned(),
    })
}

/// A log goes to files where nobody can be reading it elsewhere.
fn log_output(shown: &BTreeMap<String, String>) -> Result<Vec<(&'static str, &'static str)>> {
    let output = shown.get("log_output").map(String::as_str).unwrap_or("FILE");
    if output.split(',').any(|one| one.eq_ignore_ascii_case("FILE")) {
        return Ok(Vec::new());
    }
    let is_read = ["slow_query_log", "general_log"].iter().any(|log| shown.get(*log).is_some_and(|it| it == "ON"));
    if is_read && !output.eq_ignore_ascii_case("NONE") {
        bail!(
            "log_output is {output}, and somebody may read the log there\n  next: SET GLOBAL log_output = 'FILE' (or \
             'FILE,{output}') yourself for the time of the capture"
        );
    }
    Ok(vec![("log_output", "FILE")])
}
