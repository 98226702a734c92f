//! What a statement costs the program that replays it, beside pgbench, which sent it first, and pgreplay.
//!
//! All replay one capture of pgbench's select-only script by eight sessions, as fast as the server answers, by turns; the figure
//! is the CPU of the whole process (user and system, as the kernel accounts it) a statement, and ratios are those of one turn.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::postgres::{END, kept, wait_for_end};
use super::series::Replay;
use crate::bench::{Spread, warn_if_busy};
use crate::client_programs::{number_behind, run_to_end};
use crate::conform_pgbench::program::Pgbench;
use crate::held::Held;

const SESSIONS: u32 = 8;
/// At most so many times what pgbench and pgreplay take, and at least so many times the statements a second of pgbench.
const PGBENCH_BAR: f64 = 1.1;
const PGREPLAY_BAR: f64 = 0.35;
const THROUGHPUT_BAR: f64 = 0.95;
const PGREPLAY: &str = "pgreplay";

/// A server that logs what its database is told to.
struct Bench<'a> {
    dbduel: &'a Path,
    server: Held,
    pgbench: Pgbench,
    log: PathBuf,
}

/// What one run of a program took.
struct Cost {
    /// CPU of a statement.
    us: f64,
    /// Statements a second; pgreplay prints none.
    rate: f64,
}

pub fn run(dbduel: &Path, turns: u32, transactions: u32) -> Result<()> {
    warn_if_busy()?;
    ensure!(Pgbench::is_here(), "pgbench of PostgreSQL 15 is not here\n  next: install postgresql-15");
    let has_pgreplay = Command::new(PGREPLAY).arg("-v").output().is_ok();
    if !has_pgreplay {
        println!("NOT COMPARED with pgreplay, which is not here\n  next: install the package pgreplay");
    }
    let mut missed = Vec::new();
    println!(
        "{:<10} {:>24} {:>34} {:>34} {:>30}",
        "protocol", "us a statement", "pgbench: ratio", "pgreplay: ratio", "statements/s: ratio"
    );
    for mode in ["simple", "prepared"] {
        let folder = tempfile::tempdir()?;
        let bench = Bench::start(dbduel, folder.path())?;
        bench
            .compare(mode, turns, transactions, has_pgreplay, &mut missed)
            .with_context(|| format!("protocol {mode}"))?;
        bench.server.stop()?;
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

/// A median with its extremes, and whether it holds its bar.
fn judged(spread: &Spread, bar: f64, is_least: bool, what: String, missed: &mut Vec<String>) -> String {
    let is_held = if is_least { spread.median >= bar } else { spread.median <= bar };
    missed.extend((!is_held).then_some(what));
    format!("{spread} {} {bar} {}", if is_least { ">=" } else { "<=" }, if is_held { "held" } else { "MISSED" })
}

impl<'a> Bench<'a> {
    fn start(dbduel: &'a Path, folder: &Path) -> Result<Bench<'a>> {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o777))?;
        let directory = format!("log_directory={}", folder.display());
        let settings = [
            "logging_collector=on",
            "log_filename=pg.log",
            "log_destination=csvlog",
            "log_connections=on",
            "log_disconnections=on",
            &directory,
        ];
        let server = Held::start_or_fail(dbduel, "postgres@system", &settings)?;
        let pgbench = Pgbench::new(&server)?;
        pgbench.run_well(None, &["-i", "-q", "-s", "5"])?;
        Ok(Bench { dbduel, server, pgbench, log: folder.join("pg.csv") })
    }

    /// The log of a load; the replays of it are not logged.
    fn logged(&self, words: &[&str]) -> Result<PathBuf> {
        let database = self.server.text("database")?;
        let mut admin = self.server.admin("postgres")?;
        admin.run(&format!("alter database {database} set log_statement = 'all'"))?;
        self.pgbench.run_well(None, &[words, &["-n", "-S"]].concat())?;
        self.server.admin(database)?.run(END)?;
        admin.run(&format!("alter database {database} reset log_statement"))?;
        wait_for_end(&self.log)?;
        kept(&self.log)
    }

    fn compare(
        &self,
        mode: &str,
        turns: u32,
        transactions: u32,
        has_pgreplay: bool,
        missed: &mut Vec<String>,
    ) -> Result<()> {
        let (sessions, each) = (SESSIONS.to_string(), transactions.to_string());
        let words = ["-M", mode, "-c", &sessions, "-j", "1", "-t", &each];
        let log = self.logged(&words)?;
        let (capture, replay) = (log.with_extension("dbcap"), log.with_extension("replay"));
        run_to_end(Command::new(self.dbduel).args(["capture", "--from"]).arg(&log).arg("--out").arg(&capture))?;
        if has_pgreplay {
            run_to_end(Command::new(PGREPLAY).args(["-f", "-c", "-o"]).arg(&replay).arg(&log))?;
        }
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for turn in 0..turns as usize {
            for place in 0..costs.len() {
                let program = (turn + place) % costs.len();
                let cost = match program {
                    0 => self.ours(&capture)?,
                    1 => self.theirs(&words, f64::from(SESSIONS * transactions))?,
                    _ if has_pgreplay => self.pgreplay(&replay)?,
                    _ => continue,
                };
                costs[program].push(cost);
            }
        }
        let [ours, pgbench, pgreplay] = &costs;
        let ratios = |of: fn(&Cost) -> f64, others: &[Cost]| {
            Spread::of(ours.iter().zip(others).map(|(ours, other)| of(ours) / of(other)).collect())
        };
        let mut bar = |spread: &Spread, bar, is_least, what: &str| {
            judged(spread, bar, is_least, format!("{mode}: {what}"), missed)
        };
        println!(
            "{mode:<10} {:>24} {:>34} {:>34} {:>30}",
            Spread::of(ours.iter().map(|cost| cost.us).collect()).to_string(),
            bar(&ratios(|cost| cost.us, pgbench), PGBENCH_BAR, false, "CPU beside pgbench"),
            if has_pgreplay {
                bar(&ratios(|cost| cost.us, pgreplay), PGREPLAY_BAR, false, "CPU beside pgreplay")
            } else {
                String::new()
            },
            bar(&ratios(|cost| cost.rate, pgbench), THROUGHPUT_BAR, true, "statements a second beside pgbench"),
        );
        Ok(())
    }

    fn ours(&self, capture: &Path) -> Result<Cost> {
        let replay = Replay { dbduel: self.dbduel, log: capture, target: &self.pgbench.target() };
        let words = ["--pacing", "fast", "--order", "session"];
        let (output, cpu_us) = run_to_end(&mut replay.command(&words))?;
        let report: Value = serde_json::from_str(&output)?;
        let metric = |name: &str| report["metrics"][name].as_f64().with_context(|| format!("no metric {name}"));
        Ok(Cost { us: cpu_us / metric("replay.statements")?, rate: metric("qps")? })
    }

    fn theirs(&self, words: &[&str], statements: f64) -> Result<Cost> {
        let (output, cpu_us) = run_to_end(&mut self.pgbench.command(&[words, &["-n", "-S"]].concat()))?;
        let rate = number_behind(&output, "tps =").with_context(|| format!("no tps in:\n{output}"))?;
        Ok(Cost { us: cpu_us / statements, rate })
    }

    fn pgreplay(&self, replay: &Path) -> Result<Cost> {
        let (folder, port) = self.pgbench.place();
        let mut command = Command::new(PGREPLAY);
        command.args(["-r", "-j", "-s", "1000000", "-h", folder, "-p", port]).arg(replay);
        let (output, cpu_us) = run_to_end(&mut command)?;
        let statements = number_behind(&output, "SQL statements executed:");
        let statements = statements.with_context(|| format!("pgreplay printed no count of statements:\n{output}"))?;
        Ok(Cost { us: cpu_us / statements, rate: f64::NAN })
    }
}
