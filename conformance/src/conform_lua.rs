//! `cargo xtask conform-lua`: does a script of sysbench do the same here as with sysbench itself?
//!
//! Each script that the package brings is prepared, run and cleaned up by both, unmodified, from where it is installed.
//! The servers' own logs hold the statements; the reports are compared with their numbers masked. Where sysbench is not
//! installed nothing is compared, which is printed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::{Admin, Dialect};

use crate::conform::sysbench;
use crate::held::{Held, dbduel};

#[derive(clap::Args)]
pub struct ConformLua {
    /// Events of each script
    #[arg(long, default_value_t = 50)]
    events: u64,
    /// Also every option that changes the statements, and more events
    #[arg(long)]
    full: bool,
}

/// Where the package has its scripts.
const SCRIPTS: &str = "/usr/share/sysbench";
const NAMES: [&str; 11] = [
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
];
/// Options that change the statements of a script.
const VARIANTS: [(&str, &[&str]); 6] = [
    ("oltp_read_write", &["--db-ps-mode=disable"]),
    ("oltp_read_write", &["--skip_trx=on"]),
    ("oltp_read_write", &["--range_selects=off", "--point_selects=3"]),
    ("oltp_insert", &["--auto_inc=off"]),
    ("oltp_update_index", &["--index_updates=5"]),
    ("select_random_points", &["--random_points=4"]),
];

/// How often each statement came, with its values masked.
type Counts = BTreeMap<String, u64>;

/// What one program made of a script.
struct Done {
    statements: Counts,
    report: String,
}

pub fn run(options: &ConformLua, root: &Path) -> Result<()> {
    if !sysbench::is_here() {
        println!("NOT COMPARED: sysbench 1.0 is not installed here\n  next: install the package sysbench");
        return Ok(());
    }
    let dbduel = dbduel(root)?;
    let events = if options.full { options.events * 20 } else { options.events };
    let mut runs: Vec<(&str, &[&str])> = NAMES.iter().map(|name| (*name, &[][..])).collect();
    if options.full {
        runs.extend(VARIANTS);
    }
    let logs = tempfile::tempdir()?;
    std::fs::set_permissions(logs.path(), std::fs::Permissions::from_mode(0o777))?;
    let mut wrong = 0;
    for engine in ["mariadb@system", "postgres@system"] {
        let log = logs.path().join(if engine.starts_with("mariadb") { "mariadb.log" } else { "log" });
        let folder = format!("log_directory={}", logs.path().display());
        let postgres = ["logging_collector=on", "log_filename=log", "log_min_duration_statement=0", &folder];
        let settings: &[&str] = if engine.starts_with("mariadb") { &[] } else { &postgres };
        let bench =
            Bench { server: Held::start_or_fail(&dbduel, engine, settings)?, dbduel: dbduel.clone(), log, events };
        bench.start_log()?;
        for (name, own) in &runs {
            wrong += bench.compare(name, own).with_context(|| format!("{engine} {name} {}", own.join(" ")))?;
        }
        bench.server.stop()?;
    }
    ensure!(wrong == 0, "{wrong} of the comparisons are not as they should be");
    Ok(())
}

/// One server, and both programs in front of it.
struct Bench {
    server: Held,
    dbduel: PathBuf,
    log: PathBuf,
    events: u64,
}

impl Bench {
    fn admin(&self) -> Result<Admin> {
        self.server.admin(self.server.text("database")?)
    }

    /// MariaDB logs every command of every session; PostgreSQL was started so.
    fn start_log(&self) -> Result<()> {
        if self.server.dialect() == Dialect::MySql {
            let mut admin = self.admin()?;
            admin.run(&format!("SET GLOBAL general_log_file = '{}'", self.log.display()))?;
            admin.run("SET GLOBAL general_log = ON")?;
        }
        Ok(())
    }

    fn compare(&self, name: &str, own: &[&str]) -> Result<usize> {
        let script = format!("{SCRIPTS}/{name}.lua");
        let mut words = sysbench::reach(&self.server)?;
        words.extend(own.iter().map(|word| (*word).to_owned()));
        words.extend(["--table-size=1000", "--time=0", "--rand-seed=7", "--verbosity=3"].map(str::to_owned));
        // With one client no event meets another, so that none is run again.
        words.extend(["--threads=1".to_owned(), format!("--events={}", self.events)]);
        let theirs = self.done(|command| called(Command::new("sysbench").arg(&script).args(&words).arg(command)))?;
        let ours = self
            .done(|command| called(Command::new(&self.dbduel).arg("bench").arg(&script).args(&words).arg(command)))?;
        let mut wrong = differences(&theirs.statements, &ours.statements);
        wrong.extend(of_reports(&theirs.report, &ours.report));
        let statements: u64 = theirs.statements.values().sum();
        let verdict = if wrong.is_empty() { "ok" } else { "WRONG" };
        let title = format!("{} {name} {}", self.server.dialect().name(), own.join(" "));
        println!("{title:<60} {statements:>6} statements  {verdict}");
        wrong.iter().for_each(|line| println!("  {line}"));
        Ok(usize::from(!wrong.is_empty()))
    }

    /// Prepares, runs and cleans up; what the server saw of all three, and the report of the second.
    fn done(&self, mut call: impl FnMut(&str) -> Result<String>) -> Result<Done> {
        let mut admin = self.admin()?;
        let before = self.logged(&mut admin)?.len();
        call("prepare")?;
        let report = call("run")?;
        call("cleanup")?;
        let text = self.logged(&mut admin)?;
        let mut statements = Counts::new();
        let dialect = self.server.dialect();
        for statement in entries(dialect, &text[before..]).iter().filter_map(|entry| statement(dialect, entry)) {
            *statements.entry(statement).or_default() += 1;
        }
        // A table is made and dropped, and something happens in between.
        ensure!(statements.len() > 2, "the server's log has no statements of the script");
        Ok(Done { statements, report })
    }

    /// The log with everything that has come until now, marked by a statement of our own.
    fn logged(&self, admin: &mut Admin) -> Result<String> {
        let started = Instant::now();
        let mark = format!("SELECT 'until {}'", started.elapsed().as_nanos() + u128::from(std::process::id()));
        let count = |text: &str| text.matches(&mark).count();
        let read = || std::fs::read(&self.log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let seen = read().map_or(0, |text| count(&text));
        admin.rows(&mark)?;
        loop {
            let text = read().with_context(|| format!("cannot read {}", self.log.display()))?;
            if count(&text) > seen {
                return Ok(text);
            }
            ensure!(started.elapsed() < LOG_LIMIT, "`{mark}` does not come into {}", self.log.display());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// How long a server may take to write what it has.
const LOG_LIMIT: Duration = Duration::from_secs(20);

fn called(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{command:?} failed:\n{stdout}{stderr}");
    Ok(stdout.into_owned())
}

/// The entries of a log, each on one line: texts of several lines go on without what entries begin with.
fn entries(dialect: Dialect, log: &str) -> Vec<String> {
    let begins = |line: &str| match dialect {
        Dialect::Postgres => !line.starts_with('\t'),
        _ => line.starts_with(|first: char| first == '\t' || first.is_ascii_digit()),
    };
    let mut entries: Vec<String> = Vec::new();
    for line in log.lines() {
        match entries.last_mut() {
            Some(entry) if !begins(line) => {
                entry.push(' ');
                entry.push_str(line.trim());
            }
            _ => entries.push(line.to_owned()),
        }
    }
    entries
}

/// An entry's statement with the kind of its message, values masked; None for what belongs to no script.
fn statement(dialect: Dialect, line: &str) -> Option<String> {
    let (kind, sql) = match dialect {
        Dialect::Postgres => {
            let (_, rest) = line.split_once(" ms  ")?;
            let (kind, sql) = rest.split_once(": ")?;
            (kind.split_whitespace().next()?, sql)
        }
        _ => {
            let at =
                ["Query\t", "Prepare\t", "Execute\t"].into_iter().find_map(|kind| Some((line.find(kind)?, kind)))?;
            (at.1.trim(), &line[at.0 + at.1.len()..])
        }
    };
    let is_of_scripts = sql.contains("sbtest") || sql.starts_with("BEGIN") || sql.starts_with("COMMIT");
    // Statements are longer than what tells them apart.
    let sql = sql.split_once("VALUES").map_or(sql, |(begins, _)| begins);
    (is_of_scripts && !sql.contains("until ")).then(|| format!("{kind} {}", masked(sql)))
}

/// Values as `#`: what stands in quotes, and numbers that are no part of a name.
fn masked(sql: &str) -> String {
    let (mut text, mut quoted, mut in_word) = (String::new(), false, false);
    for letter in sql.chars() {
        let is_digit = letter.is_ascii_digit() && !in_word;
        match letter {
            '\'' => {
                quoted = !quoted;
                text.push_str(if quoted { "#" } else { "" });
            }
            _ if quoted => {}
            _ if is_digit && text.ends_with('#') => {}
            _ if is_digit => text.push('#'),
            other => text.push(other),
        }
        in_word =
            letter.is_ascii_alphabetic() || letter == '_' || letter == '$' || (in_word && letter.is_ascii_digit());
    }
    text.trim().to_owned()
}

fn differences(theirs: &Counts, ours: &Counts) -> Vec<String> {
    let kinds = theirs.keys().chain(ours.keys().filter(|key| !theirs.contains_key(*key)));
    let count = |of: &Counts, kind: &String| of.get(kind).copied().unwrap_or(0);
    let differs = kinds.filter(|kind| theirs.get(*kind) != ours.get(*kind));
    differs.map(|kind| format!("{kind}: {} by sysbench, {} by us", count(theirs, kind), count(ours, kind))).collect()
}

/// Lines that stand in one report only, numbers masked, behind the line with the version; and totals that differ.
fn of_reports(theirs: &str, ours: &str) -> Vec<String> {
    let lines = |text: &str| -> Vec<String> {
        let masked = text.lines().skip(1).map(|line| {
            let line: String = line.chars().map(|c| if c.is_ascii_digit() || c == '.' { '#' } else { c }).collect();
            line.split(' ').filter(|word| !word.is_empty()).map(squeezed).collect::<Vec<_>>().join(" ")
        });
        masked.collect()
    };
    let mut wrong = Vec::new();
    let (their_lines, our_lines) = (lines(theirs), lines(ours));
    if their_lines != our_lines {
        let apart = their_lines.iter().zip(&our_lines).find(|(theirs, ours)| theirs != ours);
        wrong.push(format!("the layout differs: {apart:?}, {} and {} lines", their_lines.len(), our_lines.len()));
    }
    for label in
        ["read:", "total:", "transactions:", "queries:", "ignored errors:", "reconnects:", "total number of events:"]
    {
        let count = |text: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
            line.split_whitespace().next()?.parse().ok()
        };
        if count(theirs) != count(ours) || count(ours).is_none() {
            wrong.push(format!("{label} {:?} by sysbench, {:?} by us", count(theirs), count(ours)));
        }
    }
    wrong
}

/// `##.##` and `#` are both a number.
fn squeezed(word: &str) -> String {
    let mut text = String::new();
    for letter in word.chars() {
        if letter != '#' || !text.ends_with('#') {
            text.push(letter);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_told_apart_by_their_text_without_values() {
        let check = |dialect, line: &str, expected: Option<&str>| {
            assert_eq!(statement(dialect, line).as_deref(), expected, "{line}");
        };
        check(
            Dialect::MySql,
            "\t\t     5 Execute\tSELECT c FROM sbtest1 WHERE id=503",
            Some("Execute SELECT c FROM sbtest1 WHERE id=#"),
        );
        check(
            Dialect::MySql,
            "\t\t     5 Query\tUPDATE sbtest1 SET c='1-2' WHERE id=3",
            Some("Query UPDATE sbtest1 SET c=# WHERE id=#"),
        );
        check(Dialect::MySql, "\t\t     5 Query\tSHOW STATUS", None);
        check(
            Dialect::Postgres,
            "2026 LOG:  duration: 0.011 ms  execute sb1: SELECT c FROM sbtest1 WHERE id=$1",
            Some("execute SELECT c FROM sbtest1 WHERE id=$1"),
        );
        check(Dialect::Postgres, "2026 LOG:  duration: 0.011 ms  statement: COMMIT", Some("statement COMMIT"));
        check(Dialect::Postgres, "2026 DETAIL:  parameters: $1 = '503'", None);
    }

    #[test]
    fn texts_of_several_lines_are_one_entry() {
        let mariadb = "\t\t 5 Execute\tSELECT id\n          FROM sbtest1\n\t\t 5 Quit\t";
        assert_eq!(entries(Dialect::MySql, mariadb)[0], "\t\t 5 Execute\tSELECT id FROM sbtest1");
        assert_eq!(entries(Dialect::MySql, mariadb).len(), 2);
        let postgres = "2026 LOG:  duration: 1 ms  execute a: SELECT id\n\t  FROM sbtest1\n2026 DETAIL:  x";
        assert_eq!(
            entries(Dialect::Postgres, postgres)[0],
            "2026 LOG:  duration: 1 ms  execute a: SELECT id FROM sbtest1"
        );
    }

    #[test]
    fn reports_differ_by_their_words_and_totals_only() {
        let report = |reads: u64, ms: &str| {
            format!(
                "version\n    read:   {reads}\ntotal: 1\ntransactions: 1 ({ms} per sec.)\nqueries: 1\nignored errors: 0\nreconnects: 0\ntotal number of events: 1\n"
            )
        };
        assert!(of_reports(&report(7, "12.50"), &report(7, "3.1")).is_empty());
        assert_eq!(of_reports(&report(7, "1"), &report(8, "1")), ["read: Some(7) by sysbench, Some(8) by us"]);
        assert!(of_reports(&report(7, "1"), &report(7, "1 or so"))[0].starts_with("the layout differs"));
    }
}
