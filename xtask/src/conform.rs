//! `cargo xtask conform`: do our OLTP workloads ask of a server what sysbench asks of it?
//!
//! Each script runs with the real load generator against a real server, and the server's own
//! counters, divided by all transactions that ended, are compared with the published table. One
//! client, because retries would blur the counts. It measures no time.

mod equality;
mod expected;
mod mariadb;
mod postgres;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::Admin;
use load::{Load, LoadOptions, Loader, OptionValue, Options, Tally, Target, Workload};

use crate::held::{Held, dbduel};
use expected::Expected;

/// Rows of the table, as in the published measurement.
pub const ROWS: i64 = 10_000;
/// Every script's data; any seed would do.
pub const DATA_SEED: u64 = 1;

#[derive(clap::Args)]
pub struct Conform {
    /// Run at least this many transactions of each script
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..))]
    events: u64,
}

/// A workload and the options that make a script of it.
pub struct Script {
    pub title: &'static str,
    pub workload: &'static str,
    pub options: &'static [(&'static str, &'static str)],
}

impl Script {
    pub fn build(&self) -> Result<Arc<dyn Workload>> {
        let kind = load::workload_kind(self.workload).with_context(|| format!("no workload `{}`", self.workload))?;
        let value = |text: &str| match text {
            "true" => OptionValue::Flag(true),
            "false" => OptionValue::Flag(false),
            _ => OptionValue::Text(text.to_owned()),
        };
        let given = self.options.iter().map(|(name, text)| ((*name).to_owned(), value(text)));
        let given = given.chain([("rows".to_owned(), OptionValue::Number(ROWS))]).collect();
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

/// One counter of one script.
pub struct Line {
    pub counter: &'static str,
    pub expected: Expected,
    pub seen: f64,
}

pub fn run(options: &Conform, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    // Without its own cleaning up, which commits transactions that are not ours.
    let postgres = Held::start_or_fail(&dbduel, "postgres@system", &["autovacuum=off"])?;
    let mariadb = Held::start_or_fail(&dbduel, "mariadb@system", &[])?;
    let mut wrong = 0;
    println!("{:<34} {:<20} {:>12} {:>12}", "script", "counter", "expected", "seen");
    wrong += mariadb::run(options, &mariadb)?;
    wrong += postgres::run(options, &postgres)?;
    wrong += equality::run(&mariadb, &postgres)?;
    mariadb.stop()?;
    postgres.stop()?;
    ensure!(wrong == 0, "{wrong} of the figures are not what they should be");
    Ok(())
}

/// Prints a script's lines and returns how many are wrong.
fn print(server: &str, title: &str, done: &Done, lines: &[Line]) -> usize {
    println!("{server} {title}: {} transactions, {} connections", done.transactions, done.connections);
    let mut wrong = 0;
    for Line { counter, expected, seen } in lines {
        let verdict = if expected.holds(*seen) { "ok" } else { "WRONG" };
        wrong += usize::from(!expected.holds(*seen));
        let seen = format!("{seen:.3}");
        let seen = seen.strip_suffix(".000").unwrap_or(&seen);
        println!("{:<34} {counter:<20} {:>12} {seen:>12}  {verdict}", "", expected.to_string());
    }
    wrong
}

/// Makes the script's tables anew: some scripts change them, and what they find is part of the table.
fn load_afresh(workload: &dyn Workload, target: &Target) -> Result<()> {
    let mut admin = Admin::connect(target.dialect, &target.endpoint, &target.login, Duration::from_secs(30))?;
    for table in workload.tables(admin.dialect()) {
        admin.run(&format!("DROP TABLE IF EXISTS {}", table.name))?;
    }
    let loader = Loader { target, sessions: 2, interrupted: &AtomicBool::new(false) };
    loader.load(workload, DATA_SEED, &mut |_| ()).context("cannot load the tables")
}

/// Runs one client, again and for longer until it has done enough transactions.
fn run_client(workload: &Arc<dyn Workload>, target: &Target, events: u64) -> Result<Done> {
    let mut done = Done::default();
    let mut interval = Duration::from_millis(200);
    while done.transactions < events {
        let tally = run_once(workload, target, interval, done.connections)?;
        ensure!(tally.retries == 0 && tally.failed == 0, "a lone client had {} retries", tally.retries);
        ensure!(tally.committed > 0, "no transaction in {interval:?}");
        done.connections += 1;
        done.transactions += tally.ended;
        done.statements = [tally.reads, tally.writes, tally.other].map(|count| count as f64 / tally.due as f64);
        let still = events.saturating_sub(done.transactions) as f64 / tally.ended as f64;
        interval = interval.mul_f64(still.clamp(0.5, 20.0) * 1.2);
    }
    Ok(done)
}

fn run_once(workload: &Arc<dyn Workload>, target: &Target, interval: Duration, seed: u64) -> Result<Tally> {
    let options = LoadOptions {
        clients: 1,
        workers: 1,
        cpus: Vec::new(),
        input_seed: seed,
        interval_max: interval,
        drain_max: Duration::from_secs(30),
        ..LoadOptions::default()
    };
    let interrupted = AtomicBool::new(false);
    let mut load = Load::prepare(workload, target, options, &interrupted)?;
    // A warm-up too, so that its transactions are seen to be counted.
    load.warm_up(interval / 4, &mut |_| ())?;
    Ok(load.measure(Some(interval), &mut |_| (), &mut || ()).whole()?)
}
