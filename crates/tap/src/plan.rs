//! What will be changed, made of what a server shows.

use anyhow::{Result, bail, ensure};
use driver::Dialect;
use serde::{Deserialize, Serialize};

use crate::log::Log;
use crate::space::Space;

/// Which log is switched on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// MySQL and MariaDB: at the end of each statement, with its duration and rows; of sessions that connect from now on.
    Slow,
    /// MySQL and MariaDB: at the arrival of each statement, of all sessions; no durations.
    General,
    /// PostgreSQL.
    Log,
}

impl Source {
    pub const NAMES: [&'static str; 3] = ["slow", "general", "log"];

    /// `name` is one of [`Source::NAMES`]; None is the usual one of the dialect.
    pub fn of(name: Option<&str>, dialect: Dialect) -> Result<Source> {
        ensure!(
            !dialect.is_embedded(),
            "SQLite has no server that could log statements\n  next: let the application log them, and replay them as own SQL"
        );
        Ok(match (name, dialect) {
            (None | Some("log"), Dialect::Postgres) => Source::Log,
            (Some(name), Dialect::Postgres) => bail!("PostgreSQL has no {name} log\n  next: leave --source out"),
            (None | Some("slow"), _) => Source::Slow,
            (Some("general"), _) => Source::General,
            (Some(name), _) => bail!("MySQL and MariaDB have no source `{name}`\n  next: --source slow, or general"),
        })
    }
}

/// One setting that takes another value for some minutes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub name: String,
    /// As the server shows it now.
    pub shown: String,
    /// What is set to put it back; None where nobody had set it.
    pub before: Option<String>,
    pub after: String,
}

/// What is done to a server and why.
#[derive(Debug)]
pub struct Plan {
    pub dialect: Dialect,
    pub version: String,
    /// In the order in which they are made.
    pub changes: Vec<Change>,
    pub log: Log,
    /// What the user should know beforehand.
    pub remarks: Vec<String>,
    /// The least and the most that the unit below took in logs that were looked at; what is expected follows from it.
    pub bytes_each: [f64; 2],
    /// What [`Plan::counter`] counts.
    pub unit: &'static str,
    /// A question for a number that rises by one a statement or a transaction.
    pub counter: &'static str,
    /// Seconds by which the server's local time is ahead of UTC, where its log has local times.
    pub offset_secs: i64,
    /// By which a statement of the log is read.
    pub sql_mode: String,
}

impl Plan {
    /// What the file system of the log has free; None where that cannot be seen from here.
    pub fn space(&self, log_max: u64) -> Option<Space> {
        self.log.folder().and_then(|folder| Space::of(folder, log_max))
    }

    /// Every statement that switches the log on.
    pub fn statements(&self) -> Vec<String> {
        let changes = self.changes.iter().map(|change| set(self.dialect, &change.name, Some(&change.after)));
        changes.chain(reload(self.dialect)).collect()
    }

    /// Every statement that puts the settings back, the last change first.
    pub fn statements_back(&self) -> Vec<String> {
        back(self.dialect, &self.changes)
    }
}

pub fn back(dialect: Dialect, changes: &[Change]) -> Vec<String> {
    let back = changes.iter().rev().map(|change| set(dialect, &change.name, change.before.as_deref()));
    back.chain(reload(dialect)).collect()
}

/// PostgreSQL's sessions see what its file says at their next statement behind this.
pub fn reload(dialect: Dialect) -> Option<String> {
    (dialect == Dialect::Postgres).then(|| "SELECT pg_reload_conf()".to_owned())
}

/// The statement that sets a value for the whole server, or takes it back.
pub fn set(dialect: Dialect, name: &str, value: Option<&str>) -> String {
    let quoted = |value: &str| format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"));
    match (dialect, value) {
        (Dialect::Postgres, None) => format!("ALTER SYSTEM RESET {name}"),
        (Dialect::Postgres, Some(value)) => format!("ALTER SYSTEM SET {name} = '{}'", value.replace('\'', "''")),
        (_, None) => format!("SET GLOBAL {name} = DEFAULT"),
        (_, Some(value)) if value.parse::<f64>().is_ok() => format!("SET GLOBAL {name} = {value}"),
        (_, Some(value)) => format!("SET GLOBAL {name} = {}", quoted(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_set_and_put_back_in_the_words_of_its_server() {
        let change = |name: &str, before: Option<&str>, after: &str| Change {
            name: name.to_owned(),
            shown: before.unwrap_or_default().to_owned(),
            before: before.map(str::to_owned),
            after: after.to_owned(),
        };
        let changes = [change("long_query_time", Some("10.000000"), "0"), change("slow_query_log", Some("OFF"), "ON")];
        let expected = ["SET GLOBAL slow_query_log = 'OFF'", "SET GLOBAL long_query_time = 10.000000"];
        assert_eq!(back(Dialect::MySql, &changes), expected);
        let changes = [change("log_destination", Some("o'ne"), "csvlog"), change("log_duration", None, "off")];
        let expected = [
            "ALTER SYSTEM RESET log_duration",
            "ALTER SYSTEM SET log_destination = 'o''ne'",
            "SELECT pg_reload_conf()",
        ];
        assert_eq!(back(Dialect::Postgres, &changes), expected);
    }

    #[test]
    fn a_source_is_one_of_the_servers_own() {
        assert_eq!(Source::of(None, Dialect::MySql).unwrap(), Source::Slow);
        assert_eq!(Source::of(Some("general"), Dialect::MySql).unwrap(), Source::General);
        assert_eq!(Source::of(None, Dialect::Postgres).unwrap(), Source::Log);
        for (name, dialect) in [("slow", Dialect::Postgres), ("log", Dialect::MySql)] {
            assert!(Source::of(Some(name), dialect).unwrap_err().to_string().contains("next: "));
        }
    }
}
