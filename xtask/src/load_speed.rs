//! `cargo xtask bench-prepare`: how fast a table is loaded, beside `sysbench prepare`.
//!
//! Both load the same number of rows into one MariaDB by turns, with the server's own durability, and
//! build the secondary index; the figure is rows per second over everything, from the first CREATE to
//! the end of the index.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use load::{Loader, OptionValue, Options, Workload};

use crate::bench::{Spread, done_in_release, median, warn_if_busy};
use crate::held::{Held, dbduel};

/// The bar: so many times sysbench's rows per second.
const BAR: f64 = 3.0;

#[derive(clap::Args)]
pub struct BenchPrepare {
    /// Loads of each program.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Rows of the one table.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(i64).range(1..))]
    rows: i64,
    /// Sessions that dbduel loads by; sysbench uses one for each table.
    #[arg(long, default_value_t = 4)]
    sessions: usize,
    /// The server.
    #[arg(long, default_value = "mariadb@system")]
    server: String,
}

pub fn run(options: &BenchPrepare, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let server = Held::start_or_fail(&dbduel(root)?, &options.server, &[])?;
    let compared = compare(options, &server);
    server.stop()?;
    compared
}

fn compare(options: &BenchPrepare, server: &Held) -> Result<()> {
    let workload = workload(options.rows)?;
    println!("loading 1 table of {} rows, index included, by turns, {} pairs", options.rows, options.pairs);
    let mut pairs = Vec::new();
    for pair in 0..options.pairs {
        let ours = || ours_secs(options, server, &*workload);
        let theirs = || sysbench_secs(options, server);
        let (ours, theirs) = if pair.is_multiple_of(2) {
            let ours = ours()?;
            (ours, theirs()?)
        } else {
            let theirs = theirs()?;
            (ours()?, theirs)
        };
        println!("  dbduel {ours:.2} s, sysbench {theirs:.2} s");
        pairs.push((ours, theirs));
    }
    let rate = |secs: Vec<f64>| options.rows as f64 / median(secs);
    let ratios = Spread::of(pairs.iter().map(|(ours, theirs)| theirs / ours).collect());
    let (ours, theirs) = pairs.into_iter().unzip();
    println!("dbduel {:.0} rows/s, sysbench {:.0} rows/s, ratio {ratios}, bar >= {BAR}", rate(ours), rate(theirs));
    ensure!(ratios.median >= BAR, "the bar was missed");
    Ok(())
}

fn workload(rows: i64) -> Result<Arc<dyn Workload>> {
    let kind = load::workload_kind("oltp_read_write").context("oltp_read_write is a workload")?;
    let given = [("rows".to_owned(), OptionValue::Number(rows))].into();
    Ok((kind.build)(&Options::new(kind.options, &given)?)?.into())
}

fn ours_secs(options: &BenchPrepare, server: &Held, workload: &dyn Workload) -> Result<f64> {
    server.admin("sbtest")?.run("DROP TABLE IF EXISTS sbtest1")?;
    let (target, interrupted) = (server.target()?, AtomicBool::new(false));
    let begun = Instant::now();
    Loader { target: &target, sessions: options.sessions, interrupted: &interrupted }
        .load(workload, 1, &mut |_| ())
        .context("cannot load the table")?;
    Ok(begun.elapsed().as_secs_f64())
}

fn sysbench_secs(options: &BenchPrepare, server: &Held) -> Result<f64> {
    server.admin("sbtest")?.run("DROP TABLE IF EXISTS sbtest1")?;
    let mut command = Command::new("sysbench");
    command.arg("oltp_read_write").arg(format!("--mysql-socket={}", server.text("socket")?));
    command.args(["--mysql-user=root", "--tables=1", "--rand-type=uniform"]);
    command.arg(format!("--table-size={}", options.rows)).arg("prepare").stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().context("cannot start sysbench, which comes from the package of that name")?;
    ensure!(status.success(), "sysbench prepare failed: {status}");
    Ok(begun.elapsed().as_secs_f64())
}
