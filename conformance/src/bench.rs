//! What the benchmarks of our own client share: an optimised build, a check of the host, a server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use load::{Loader, OptionValue, Options, Workload};

use crate::held::{Held, dbduel};

pub const ROWS: i64 = 100_000;

/// Runs the same command again in an optimised build, when this one is not; a debug build would
/// measure the compiler's laziness. Returns whether that was done.
pub fn done_in_release(root: &Path) -> Result<bool> {
    if !cfg!(debug_assertions) {
        return Ok(false);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut line = vec!["run", "--quiet", "--release", "--package", "conformance", "--"];
    line.extend(arguments.iter().map(String::as_str));
    crate::run(root, "cargo", &line, &[])?;
    Ok(true)
}

/// Share of the host's CPU time above which others are in the way.
const BUSY: f64 = 0.10;

/// Says so when other processes use the host: then only figures taken by turns can be compared.
pub fn warn_if_busy() -> Result<()> {
    let (busy_before, all_before) = cpu_ticks()?;
    std::thread::sleep(Duration::from_secs(1));
    let (busy, all) = cpu_ticks()?;
    let share = (busy - busy_before) as f64 / (all - all_before).max(1) as f64;
    if share > BUSY {
        println!(
            "warning: other processes use {:.0} % of this host's CPU; compare ratios only, and repeat this on a quiet host",
            share * 100.0
        );
    }
    Ok(())
}

/// Ticks that all CPUs have spent working, and in all, since the host started.
fn cpu_ticks() -> Result<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
    let line = stat.lines().next().context("/proc/stat is empty")?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().skip(1).take(8).filter_map(|tick| tick.parse().ok()).collect();
    // The fourth and fifth are idle and waiting for a disk.
    let idle: u64 = ticks.iter().skip(3).take(2).sum();
    let all: u64 = ticks.iter().sum();
    Ok((all - idle, all))
}

/// A script of the OLTP family over one table of so many rows.
pub fn workload(script: &str, rows: i64) -> Result<Arc<dyn Workload>> {
    if is_lua(script) {
        return lua(script, rows);
    }
    let kind = workloads::workload_kind(script).with_context(|| format!("{script} is no workload"))?;
    let given = [("rows".to_owned(), OptionValue::Number(rows))].into();
    Ok((kind.build)(&Options::new(kind.options, &given)?)?.into())
}

/// A script by its path, which sysbench runs too.
pub fn is_lua(script: &str) -> bool {
    script.ends_with(".lua")
}

fn lua(path: &str, rows: i64) -> Result<Arc<dyn Workload>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}: install sysbench"))?;
    let files = OptionValue::Items(vec![OptionValue::File { path: path.to_owned(), text }]);
    // As sysbench is run beside it.
    let uniform = OptionValue::Text("uniform".to_owned());
    let options = [("table_size", OptionValue::Number(rows)), ("rand_type", uniform)];
    let options = OptionValue::Table(options.map(|(name, value)| (name.to_owned(), value)).into());
    let kind = workloads::workload_kind("script").context("there is no workload `script`")?;
    Ok(kind.with(&[("files".to_owned(), files), ("options".to_owned(), options)].into())?.into())
}

/// The MariaDB of this machine with `sbtest1` in it.
pub fn loaded_mariadb(root: &Path) -> Result<Held> {
    let server = Held::start_or_fail(&dbduel(root)?, "mariadb@system", &[])?;
    load_point_select(&server)?;
    Ok(server)
}

/// `sbtest1` with [`ROWS`] rows, for any of the OLTP scripts.
pub fn load_point_select(server: &Held) -> Result<()> {
    let (target, interrupted) = (server.target()?, AtomicBool::new(false));
    let loader = Loader { target: &target, sessions: 2, interrupted: &interrupted };
    loader.load(&*workload("oltp_point_select", ROWS)?, 1, &mut |_| ()).context("cannot load the tables")
}

/// One run of each, in an order that changes from pair to pair.
pub fn by_turns<T, U>(pair: u32, ours: impl Fn() -> Result<T>, theirs: impl Fn() -> Result<U>) -> Result<(T, U)> {
    if pair.is_multiple_of(2) {
        let ours = ours()?;
        return Ok((ours, theirs()?));
    }
    let theirs = theirs()?;
    Ok((ours()?, theirs))
}

/// Figures of several runs, as they are printed: the median, with the least and the greatest.
pub struct Spread {
    pub median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    pub fn of(values: Vec<f64>) -> Spread {
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        Spread { median: median(values), least, most }
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$} ({:.digits$}..{:.digits$})", self.median, self.least, self.most)
    }
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len().is_multiple_of(2) { (values[middle - 1] + values[middle]) / 2.0 } else { values[middle] }
}
