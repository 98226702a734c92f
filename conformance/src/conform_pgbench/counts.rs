//! Statements of the builtin scripts by the real pgbench and by us: PostgreSQL's log has every message, and MariaDB's
//! counters every command.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use driver::Admin;

use super::program::Pgbench;
use crate::held::Held;

const SCRIPTS: [&str; 3] = ["tpcb-like", "simple-update", "select-only"];
const MODES: [&str; 3] = ["simple", "extended", "prepared"];
const CLIENTS: u64 = 2;
const TRANSACTIONS: u64 = 50;

/// How often each kind of message came for each kind of statement: `execute UPDATE pgbench_tellers`.
type Counts = BTreeMap<String, u64>;

/// Prints each script in each mode; returns how many differ.
pub fn compare(pgbench: &Pgbench, server: &Held, dbduel: &Path, log: &Path) -> Result<usize> {
    pgbench.run_well(None, &["-i", "-q"])?;
    let mut admin = server.admin(server.text("database")?)?;
    admin.run(&format!("ALTER DATABASE {} SET log_min_duration_statement = 0", server.text("database")?))?;
    // A session from now on, so that its own statements are logged, too.
    let mut admin = server.admin(server.text("database")?)?;
    let mut number = 0;
    let mut marker = || {
        number += 1;
        let text = format!("SELECT 'end of run {number}'");
        admin.rows(&text).map(|_| text).map_err(anyhow::Error::from)
    };
    let mut wrong = 0;
    for script in SCRIPTS {
        for mode in MODES {
            let options = options(script, mode);
            let words: Vec<&str> = options.iter().map(String::as_str).collect();
            let theirs = counted(log, &mut marker, || pgbench.run_well(None, &words).map(drop))?;
            let ours = counted(log, &mut marker, || run_ours(dbduel, &pgbench.target(), &words))?;
            ensure!(!theirs.is_empty(), "the server's log has no statement of pgbench");
            wrong += print(&format!("PostgreSQL {script} {mode}"), &theirs, &ours);
        }
    }
    Ok(wrong)
}

fn options(script: &str, mode: &str) -> Vec<String> {
    let (clients, transactions) = (CLIENTS.to_string(), TRANSACTIONS.to_string());
    ["-n", "-b", script, "-M", mode, "-c", &clients, "-t", &transactions].map(str::to_owned).into()
}

fn run_ours(dbduel: &Path, target: &str, words: &[&str]) -> Result<()> {
    let output = Command::new(dbduel).arg("pgbench").args(words).args(["--target", target]).output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "dbduel pgbench {} failed: {errors}", words.join(" "));
    Ok(())
}

/// How long the server's collector may take to write what it has.
const LOG_LIMIT: Duration = Duration::from_secs(20);

/// What the server logs while something runs; it logs a statement of `marker` last.
fn counted(log: &Path, marker: &mut dyn FnMut() -> Result<String>, run: impl FnOnce() -> Result<()>) -> Result<Counts> {
    let read = || std::fs::read_to_string(log).with_context(|| format!("cannot read {}", log.display()));
    let before = read()?.len();
    run()?;
    let (last, started) = (marker()?, Instant::now());
    let text = loop {
        let text = read()?;
        if text.contains(&last) {
            break text;
        }
        ensure!(started.elapsed() < LOG_LIMIT, "`{last}` does not come into {}", log.display());
        std::thread::sleep(Duration::from_millis(20));
    };
    let mut counts = Counts::new();
    for line in text[before..].lines() {
        let Some((_, message)) = line.split_once(" ms  ") else { continue };
        let Some((kind, sql)) = message.split_once(": ") else { continue };
        let kind = kind.split(' ').next().unwrap_or_default();
        if let Some(statement) = statement(sql) {
            *counts.entry(format!("{kind} {statement}")).or_default() += 1;
        }
    }
    Ok(counts)
}

/// MariaDB's counters, and what they have to count for 100 transactions of each script by two clients: in text, or
/// prepared once by each. One SELECT more counts the branches, and three ask before the load what the server can take.
const COUNTERS: [&str; 7] =
    ["Com_begin", "Com_commit", "Com_select", "Com_update", "Com_insert", "Com_stmt_prepare", "Com_stmt_execute"];
const ON_MARIADB: [(&str, &str, [u64; 7]); 6] = [
    ("tpcb-like", "simple", [100, 100, 104, 300, 100, 0, 0]),
    ("tpcb-like", "prepared", [100, 100, 104, 300, 100, 14, 700]),
    ("simple-update", "simple", [100, 100, 104, 100, 100, 0, 0]),
    ("simple-update", "prepared", [100, 100, 104, 100, 100, 10, 500]),
    ("select-only", "simple", [0, 0, 104, 0, 0, 0, 0]),
    ("select-only", "prepared", [0, 0, 104, 0, 0, 2, 100]),
];

/// The same scripts on MariaDB, which the real pgbench does not reach.
pub fn on_mariadb(server: &Held, dbduel: &Path) -> Result<usize> {
    let database = server.text("database")?;
    let target = server.connection_string(database)?;
    run_ours(dbduel, &target, &["-i", "-q"])?;
    let mut admin = server.admin(database)?;
    let mut wrong = 0;
    for (script, mode, expected) in ON_MARIADB {
        let options = options(script, mode);
        let words: Vec<&str> = options.iter().map(String::as_str).collect();
        let before = counters(&mut admin)?;
        run_ours(dbduel, &target, &words)?;
        let after = counters(&mut admin)?;
        let seen: Vec<u64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
        let verdict = if seen == expected { "ok".to_owned() } else { format!("{seen:?} WRONG, {expected:?} expected") };
        wrong += usize::from(seen != expected);
        println!("{:<40} {verdict}", format!("MariaDB {script} {mode}"));
    }
    Ok(wrong)
}

fn counters(admin: &mut Admin) -> Result<Vec<u64>> {
    let rows = admin.rows("SHOW GLOBAL STATUS LIKE 'Com%'")?;
    let value = |name: &str| {
        let row = rows.iter().find(|row| row[0].as_deref().is_some_and(|found| found.eq_ignore_ascii_case(name)));
        let value = row.and_then(|row| row[1].as_deref()?.parse().ok());
        value.with_context(|| format!("there is no counter {name}"))
    };
    COUNTERS.iter().map(|name| value(name)).collect()
}

/// The words that tell statements of the scripts apart; None for any other.
fn statement(sql: &str) -> Option<String> {
    let words: Vec<&str> = sql.split_whitespace().collect();
    let count = match words.first()?.trim_end_matches(';') {
        "BEGIN" | "END" => 1,
        "UPDATE" | "SELECT" => 2,
        "INSERT" => 3,
        _ => return None,
    };
    let is_of_scripts = count == 1 || words.iter().any(|word| word.contains("balance") || word.contains("history"));
    is_of_scripts.then(|| words[..count].join(" ").trim_end_matches(';').to_owned())
}

fn print(title: &str, theirs: &Counts, ours: &Counts) -> usize {
    let all: u64 = theirs.values().sum();
    let verdict = if theirs == ours { "ok" } else { "WRONG" };
    println!("{title:<40} {all:>6} messages  {verdict}");
    let kinds = theirs.keys().chain(ours.keys().filter(|key| !theirs.contains_key(*key)));
    for kind in kinds.filter(|kind| theirs.get(*kind) != ours.get(*kind)) {
        let count = |of: &Counts| of.get(kind).copied().unwrap_or(0);
        println!("  {kind}: {} by pgbench, {} by us", count(theirs), count(ours));
    }
    usize::from(theirs != ours)
}
