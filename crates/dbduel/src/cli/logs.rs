//! Flags of the commands that read the logs of servers.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use capture::{Format, Options, Prefix, Reading, offset_secs};
use clap::Args;
use clap::builder::PossibleValuesParser;
use engine::PasswordSource;

use record::quantity::{self, percent};

/// How the logs are read, whatever is made of them.
#[derive(Debug, Clone, Args)]
pub struct ReadingArgs {
    /// Read logs of this format [default: seen in each file]
    #[arg(long, value_name = "FORMAT", value_parser = PossibleValuesParser::new(Format::ALL.map(Format::name)))]
    pub format: Option<String>,
    /// Read a stderr log of PostgreSQL with this log_line_prefix [default: one of the usual ones]
    #[arg(long, value_name = "PREFIX")]
    pub line_prefix: Option<String>,
    /// Take stamps without a zone as local times of this zone, such as +02:00 or CET [default: UTC]
    #[arg(long, value_name = "ZONE")]
    pub log_timezone: Option<String>,
    /// Read statements by this sql_mode of a MySQL or MariaDB server; ANSI_QUOTES and NO_BACKSLASH_ESCAPES matter
    #[arg(long, value_name = "MODES", default_value = "", hide_default_value = true)]
    pub sql_mode: String,
    /// Count names that differ in their numbers as one: sbtest1 and sbtest2
    #[arg(long)]
    pub merge_numbered_names: bool,
    /// Accept this share of entries that cannot be read, such as 5% [default: 1%]
    #[arg(long, value_name = "SHARE", value_parser = percent)]
    pub max_bad: Option<f64>,
}

impl ReadingArgs {
    pub fn options(&self) -> Result<Options> {
        let prefix = self.line_prefix.as_deref().map(Prefix::parse).transpose().map_err(|error| anyhow!(error))?;
        let zone = self.log_timezone.as_deref().unwrap_or("UTC");
        let offset = offset_secs(zone.as_bytes());
        ensure!(
            offset.is_some(),
            "`{zone}` is no time zone: give an offset such as +02:00, or an abbreviation such as CET"
        );
        Ok(Options {
            format: self.format.as_deref().and_then(Format::of_name),
            reading: Reading {
                sql_mode: self.sql_mode.clone().into_bytes(),
                prefix,
                offset_secs: offset.unwrap_or_default(),
            },
            merge_numbered_names: self.merge_numbered_names,
            max_bad: self.max_bad,
        })
    }
}

#[derive(Debug, Args)]
pub struct DigestArgs {
    /// Read these logs of one server, in any order, compressed by gzip or zstd or not: slow or general log of MySQL and
    /// MariaDB, csvlog, jsonlog or stderr log of PostgreSQL
    #[arg(value_name = "LOG", required = true)]
    pub logs: Vec<PathBuf>,
    /// Print this many digests, most time first
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub top: usize,
    /// Print how much of these totals of the server the log has, and what it lacks: pg_stat_statements as CSV, or
    /// events_statements_summary_by_digest as `mysql --batch` writes it
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,
    /// Print the digests as JSON instead of a table
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["from", "target", "restore", "info"]))]
pub struct CaptureArgs {
    /// Make a capture of these logs of one server, as `dbduel digest` takes them; with --anonymize or --digest-only also of a
    /// capture
    #[arg(long, value_name = "LOG", num_args = 1.., requires = "out")]
    pub from: Vec<PathBuf>,
    /// Write the capture to this new file, which only you can read: it holds what production's users sent. Statements that
    /// set passwords are left out
    #[arg(long, value_name = "FILE.dbcap", conflicts_with_all = ["info", "restore"])]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub privacy: PrivacyArgs,
    #[command(flatten)]
    pub live: LiveArgs,
    /// Print what this capture holds
    #[arg(long, value_name = "FILE.dbcap")]
    pub info: Option<PathBuf>,
    /// Sort in this much memory, however long the logs are
    #[arg(long, value_name = "SIZE", default_value = "256MiB", value_parser = size)]
    pub memory: u64,
    /// Leave out statements with a value that log_parameter_max_length of PostgreSQL cut at this many characters
    #[arg(long, value_name = "N")]
    pub parameter_max_length: Option<usize>,
    #[command(flatten)]
    pub reading: ReadingArgs,
}

/// What others may see of a capture.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("privacy").args(["anonymize", "digest_only"]).conflicts_with_all(["info", "restore", "keep_log"]))]
pub struct PrivacyArgs {
    /// Put other values in place of those of the statements: texts of the same length and kinds of characters, numbers with as
    /// many digits, dates moved by some years; equal ones stay equal. Users get other names, hosts are left out. Such a
    /// capture cannot be replayed on the original data
    #[arg(long, value_name = "WHAT", value_parser = ["literals"])]
    pub anonymize: Option<String>,
    /// Write no statements but their digests, as JSON: calls, times, rows and errors of each, calls by user under another
    /// name; no value, no host
    #[arg(long)]
    pub digest_only: bool,
    /// Take the key of the other values and names from this file, so that those of several captures are the same [default: a
    /// key that is not kept]
    #[arg(long, value_name = "FILE", requires = "privacy")]
    pub key: Option<PathBuf>,
}

/// A running server's log, switched on for some minutes.
#[derive(Debug, Args)]
pub struct LiveArgs {
    /// Log the statements of this running server for a while, and put every setting back
    #[arg(long, value_name = "URL", requires = "out")]
    pub target: Option<String>,
    /// Log for this long
    #[arg(long = "for", value_name = "DURATION", default_value = "5m", value_parser = quantity::duration)]
    pub time: Duration,
    /// Log at most so much
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size)]
    pub max: u64,
    /// Take this log: slow (statements with their durations; of sessions that connect from now on) or general (all sessions,
    /// no durations) of MySQL and MariaDB, the log of PostgreSQL [default: slow, log]
    #[arg(long, value_name = "LOG", value_parser = PossibleValuesParser::new(tap::Source::NAMES))]
    pub source: Option<String>,
    /// Change the server's settings without asking
    #[arg(long)]
    pub yes: bool,
    /// Print every statement that would change a setting or put it back, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Keep the log beside the capture, as FILE.dbcap.log; it holds what users sent, passwords included
    #[arg(long)]
    pub keep_log: bool,
    /// Put the settings of a server back that an earlier capture left changed, from the file beside its output
    #[arg(long, value_name = "FILE.settings")]
    pub restore: Option<PathBuf>,
    /// Take the password of the server from the first line of this file
    #[arg(long, value_name = "FILE", group = "password")]
    pub password_file: Option<PathBuf>,
    /// Take it from this variable of the environment [default: DBDUEL_PASSWORD]
    #[arg(long, value_name = "NAME", group = "password")]
    pub password_env: Option<String>,
    /// Take it from what this command prints
    #[arg(long, value_name = "COMMAND", group = "password")]
    pub password_command: Option<String>,
}

impl LiveArgs {
    pub fn password(&self) -> PasswordSource {
        let file = self.password_file.clone().map(PasswordSource::File);
        let variable = self.password_env.clone().map(PasswordSource::Variable);
        let command = self.password_command.clone().map(PasswordSource::Command);
        file.or(variable).or(command).unwrap_or_default()
    }
}

/// A size with its unit.
pub fn size(text: &str) -> Result<u64, String> {
    if text.trim().ends_with(|last: char| last.is_ascii_digit()) {
        return Err(format!("`{text}` has no unit; write {text}MiB or {text}GiB"));
    }
    match quantity::bytes(text) {
        None => Err(format!("`{text}` is not a size; write 512MiB or 8GiB")),
        Some(0) => Err("a size of nothing leaves nothing to advise on; write 512MiB or 8GiB".to_owned()),
        Some(bytes) => Ok(bytes),
    }
}
