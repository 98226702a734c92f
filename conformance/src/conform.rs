//! `cargo xtask conform`: do our OLTP workloads ask of a server what sysbench asks of it?
//!
//! Each script runs with the real load generator against a real server, and the server's own
//! counters, divided by all transactions that ended, are compared with the published table; where
//! sysbench is installed it runs by turns on the same tables and is held to the same figures. One
//! client, because retries would blur the counts. It measures no time.

mod bulk;
mod crowd;
mod equality;
mod expected;
mod mariadb;
mod postgres;
mod statements;
pub mod sysbench;
mod warehouses;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::{Admin, Target};
use load::{Load, LoadOptions, Loader, OptionValue, Options, Tally, Workload};

use crate::held::{Held, dbduel};
use expected::Expected;

/// Rows of the table, as in the published measurement.
pub const ROWS: i64 = 10_000;
/// Every script's data; any seed would do.
pub const DATA_SEED: u64 = 1;

#[derive(clap::Args)]
pub struct Conform {
    /// Run this many transactions of each script
    #[arg(long, default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    pub events: u64,
    /// Run only scripts whose title holds this
    #[arg(long, default_value = "")]
    pub only: String,
}

/// A workload and the options that make a script of it.
pub struct Script {
    pub title: &'static str,
    pub workload: &'static str,
    pub options: &'static [(&'static str, &'static str)],
    /// What sysbench 1.0 needs beside the script's name to do the same, where it can.
    pub sysbench: Option<&'static [&'static str]>,
}

impl Script {
    /// With the rows of the published measurement, where its options do not set how many.
    pub fn build(&self) -> Result<Arc<dyn Workload>> {
        let kind =
            workloads::workload_kind(self.workload).with_context(|| format!("no workload `{}`", self.workload))?;
        let value = |text: &str| match text {
            "true" => OptionValue::Flag(true),
            "false" => OptionValue::Flag(false),
            _ => text.parse().map_or(OptionValue::Text(text.to_owned()), OptionValue::Number),
        };
        let given = self.options.iter().map(|(name, text)| ((*name).to_owned(), value(text)));
        let rows = kind.options.iter().filter(|spec| spec.name == "rows");
        let rows = rows.map(|spec| (spec.name.to_owned(), OptionValue::Number(ROWS)));
        let given = rows.chain(given).collect();
        Ok((kind.build)(&Options::new(kind.options, &given)?)?.into())
    }
}

/// What the clients did while the server counted.
#[derive(Default)]
pub struct Done {
    pub connections: u64,
    pub transactions: u64,
    /// Statements per transaction by the clients' own count: reads, writes, other.
    pub statements: [f64; 3],
}

/// One counter of one script, caused by us and by sysbench.
pub struct Line {
    pub counter: &'static str,
    pub expected: Expected,
    pub ours: f64,
    pub sysbench: Option<f64>,
}

pub const OWN_COUNTS: [&str; 3] = ["client's reads", "client's writes", "client's other"];

pub fn run(options: &Conform, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    // Without its own cleaning up, which commits transactions that are not ours; and it searches for a
    // deadlock only after a second, which is long when hundreds are made on purpose.
    let settings = ["autovacuum=off", "deadlock_timeout=10ms"];
    let postgres = Held::start_or_fail(&dbduel, "postgres@system", &settings)?;
    let mariadb = Held::start_or_fail(&dbduel, "mariadb@system", &[])?;
    if !sysbench::is_here() {
        println!("sysbench is not installed here: its column stays empty");
    }
    println!("{:<26} {:<16} {:>14} {:>10} {:>10}", "script", "counter", "expected", "dbduel", "sysbench");
    let mut wrong = mariadb::run(options, &mariadb)?;
    wrong += postgres::run(options, &postgres)?;
    if options.only.is_empty() {
        wrong += statements::run(&mariadb)?;
        wrong += bulk::run(&mariadb)?;
        wrong += crowd::run(&mariadb, &postgres)?;
        wrong += equality::run(&mariadb, &postgres)?;
    }
    if "tpcc".contains(&options.only) {
        wrong += warehouses::run(&mariadb, &postgres)?;
    }
    mariadb.stop()?;
    postgres.stop()?;
    ensure!(wrong == 0, "{wrong} of the figures are not what they should be");
    Ok(())
}

/// Prints a script's lines and returns how many are wrong.
fn print(server: &str, title: &str, done: &Done, lines: &[Line]) -> usize {
    println!("{server} {title}: {} transactions", done.transactions);
    let mut wrong = 0;
    for Line { counter, expected, ours, sysbench } in lines {
        let holds = expected.holds(*ours) && sysbench.is_none_or(|seen| expected.holds(seen));
        let verdict = if holds { "ok" } else { "WRONG" };
        wrong += usize::from(!holds);
        let theirs = sysbench.map_or("-".to_owned(), shown);
        let (expected, ours) = (expected.to_string(), shown(*ours));
        println!("{:<26} {counter:<16} {expected:>14} {ours:>10} {theirs:>10}  {verdict}", "");
    }
    wrong
}

fn shown(figure: f64) -> String {
    let text = format!("{figure:.3}");
    text.strip_suffix(".000").unwrap_or(&text).to_owned()
}

/// No statement that we send ourselves takes longer.
const STATEMENT_LIMIT: Duration = Duration::from_secs(120);

/// Makes the script's tables anew: some scripts change them, and what they find is part of the table.
pub fn load_afresh(workload: &dyn Workload, target: &Target) -> Result<()> {
    let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, STATEMENT_LIMIT)?;
    for table in workload.tables(target.dialect) {
        admin.run(&format!("DROP TABLE IF EXISTS {}", table.name))?;
    }
    let loader = Loader { target, sessions: 2, interrupted: &AtomicBool::new(false) };
    loader.load(workload, DATA_SEED, &mut |_| ()).context("cannot load the tables")?;
    for sql in workload.reuses_tables().map(|tables| tables.prepare_run(target.dialect)).unwrap_or_default() {
        admin.run(&sql)?;
    }
    Ok(())
}

/// Runs one client for so many transactions.
fn run_client(workload: &Arc<dyn Workload>, target: &Target, events: u64) -> Result<Done> {
    let tally = run_clients(workload, target, 1, events)?;
    ensure!(tally.retries == 0 && tally.failed == 0, "a lone client had {} retries", tally.retries);
    let statements = [tally.reads, tally.writes, tally.other].map(|count| count as f64 / tally.due as f64);
    Ok(Done { connections: 1, transactions: tally.ended, statements })
}

pub fn run_clients(workload: &Arc<dyn Workload>, target: &Target, clients: u32, events: u64) -> Result<Tally> {
    let options = LoadOptions {
        clients,
        workers: clients,
        transactions_max: Some(events),
        policy: load::ErrorPolicy { ignored: workload.ignored_errors(target.dialect), ..Default::default() },
        ..LoadOptions::default()
    };
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(workload, target, options, &interrupted)?;
    // Without a warm-up, so that exactly these transactions run.
    Ok(load.measure(None, &mut |_| (), &mut || ()).whole()?)
}
