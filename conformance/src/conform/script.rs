//! One script on one server: its tables, its clients, and what they did.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::{Admin, Target};
use load::{Load, LoadOptions, Loader, OptionValue, Options, Tally, Workload};

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

/// No statement that we send ourselves takes longer.
pub const STATEMENT_LIMIT: Duration = Duration::from_secs(120);

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
pub fn run_client(workload: &Arc<dyn Workload>, target: &Target, events: u64) -> Result<Done> {
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
