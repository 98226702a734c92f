//! `cargo xtask bench-sysbench`: dbduel beside sysbench, by turns on the same servers.
//!
//! Loading: both load the same number of rows, with the server's own durability, and build the secondary
//! index; the figure is rows per second from the first CREATE to the end of the index.
//!
//! Throughput, on MariaDB, which is one process: on a host that both share with the server, a client that costs
//! less CPU leaves more to the server, so throughput may differ by what the CPU per transaction explains (client
//! and server together) and by no more. Both ratios are printed.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use load::{Loader, Workload};
use procfs::process::Process;

use crate::bench::{ROWS, Spread, by_turns, done_in_release, load_point_select, median, warn_if_busy, workload};
use crate::client_programs::{run_to_end, sysbench, sysbench_at, worker};
use crate::held::{Held, dbduel};

/// The bar of loading: so many times sysbench's rows per second.
const LOAD_RATIO_MIN: f64 = 3.0;
/// How far the throughput may lie from what the CPU per transaction predicts.
const UNEXPLAINED_MAX: f64 = 0.05;

#[derive(clap::Args)]
pub struct BenchSysbench {
    /// Loads, and runs per script, of each program.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Rows of the one table that is loaded.
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(i64).range(1..))]
    rows: i64,
    /// Sessions that dbduel loads by; sysbench uses one for each table.
    #[arg(long, default_value_t = 4)]
    sessions: usize,
    /// Seconds per run of a script.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Connections of each.
    #[arg(long, default_value_t = 8)]
    connections: u32,
    /// Scripts to run on MariaDB.
    #[arg(long, value_delimiter = ',', default_value = "oltp_point_select,oltp_read_only,oltp_read_write")]
    scripts: Vec<String>,
    /// The servers, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "postgres@system,mariadb@system,mysql@8.0.31")]
    servers: Vec<String>,
}

/// One run of a script: throughput, and the CPU that each side spent on a transaction.
struct Run {
    tps: f64,
    client_us: f64,
    server_us: f64,
}

impl Run {
    fn total_us(&self) -> f64 {
        self.client_us + self.server_us
    }
}

pub fn run(options: &BenchSysbench, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let dbduel = dbduel(root)?;
    println!("{} pairs by turns; medians, ratios with least and greatest", options.pairs);
    let mut missed = Vec::new();
    for name in &options.servers {
        let server = Held::start_or_fail(&dbduel, name, &[])?;
        let compared = compare(options, name, &server);
        server.stop()?;
        missed.extend(compared?);
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join("; "));
    Ok(())
}

/// What missed its bar on this server.
fn compare(options: &BenchSysbench, name: &str, server: &Held) -> Result<Vec<String>> {
    let ratio = compare_loading(options, server)?;
    let mut missed = Vec::new();
    if ratio < LOAD_RATIO_MIN {
        missed.push(format!("{name} loads {ratio:.2} times as fast, not {LOAD_RATIO_MIN} times"));
    }
    if name.starts_with("mariadb") {
        drop_table(server)?;
        load_point_select(server)?;
        for script in &options.scripts {
            let unexplained = compare_throughput(options, server, script)?;
            if unexplained > UNEXPLAINED_MAX {
                missed.push(format!("{script}: {unexplained:.3} of the throughput is unexplained"));
            }
        }
    }
    Ok(missed)
}

/// The ratio of dbduel's rows per second to sysbench's.
fn compare_loading(options: &BenchSysbench, server: &Held) -> Result<f64> {
    let workload = workload("oltp_read_write", options.rows)?;
    let ours = || our_load_secs(options, server, &*workload);
    let theirs = || sysbench_load_secs(options, server);
    let pairs = (0..options.pairs).map(|pair| by_turns(pair, ours, theirs)).collect::<Result<Vec<_>>>()?;
    let rate = |secs: Vec<f64>| options.rows as f64 / median(secs);
    let ratios = Spread::of(pairs.iter().map(|(ours, theirs)| theirs / ours).collect());
    let (ours, theirs) = pairs.into_iter().unzip();
    println!("{}: loading 1 table of {} rows, index included", server.text("version")?, options.rows);
    println!(
        "  dbduel {:.0} rows/s   sysbench {:.0} rows/s   ratio {ratios}, bar >= {LOAD_RATIO_MIN}",
        rate(ours),
        rate(theirs)
    );
    Ok(ratios.median)
}

fn drop_table(server: &Held) -> Result<()> {
    server.admin("sbtest")?.run("DROP TABLE IF EXISTS sbtest1")?;
    Ok(())
}

fn our_load_secs(options: &BenchSysbench, server: &Held, workload: &dyn Workload) -> Result<f64> {
    drop_table(server)?;
    let (target, interrupted) = (server.target()?, AtomicBool::new(false));
    let begun = Instant::now();
    Loader { target: &target, sessions: options.sessions, interrupted: &interrupted }
        .load(workload, 1, &mut |_| ())
        .context("cannot load the table")?;
    Ok(begun.elapsed().as_secs_f64())
}

fn sysbench_load_secs(options: &BenchSysbench, server: &Held) -> Result<f64> {
    drop_table(server)?;
    let mut command = sysbench_at(server, "oltp_read_write", options.rows)?;
    command.arg("prepare").stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().context("cannot start sysbench, which comes from the package of that name")?;
    ensure!(status.success(), "sysbench prepare failed: {status}");
    Ok(begun.elapsed().as_secs_f64())
}

/// How far the ratio of throughput lies from what the CPU per transaction explains.
fn compare_throughput(options: &BenchSysbench, server: &Held, script: &str) -> Result<f64> {
    let BenchSysbench { connections, seconds, .. } = *options;
    let ours = || measure(&mut worker(server, script, connections, seconds)?, server);
    let theirs = || measure(&mut sysbench(server, script, connections, seconds)?, server);
    let pairs = (0..options.pairs).map(|pair| by_turns(pair, ours, theirs)).collect::<Result<Vec<_>>>()?;
    let figure = |figure: fn(&Run) -> f64| {
        let (ours, theirs) = pairs.iter().map(|(ours, theirs)| (figure(ours), figure(theirs))).unzip();
        (median(ours), median(theirs))
    };
    let ratio = |of: &dyn Fn(&(Run, Run)) -> f64| Spread::of(pairs.iter().map(of).collect());
    let tps = ratio(&|(ours, theirs)| ours.tps / theirs.tps);
    let explained = ratio(&|(ours, theirs)| theirs.total_us() / ours.total_us());
    let rest = ratio(&|(ours, theirs)| ours.tps / theirs.tps * ours.total_us() / theirs.total_us());
    println!("{script}, {connections} connections, {seconds} s, {ROWS} rows");
    for (name, (ours, theirs)) in [
        ("tps", figure(|run| run.tps)),
        ("client CPU us/transaction", figure(|run| run.client_us)),
        ("server CPU us/transaction", figure(|run| run.server_us)),
    ] {
        println!("  {name:<28} dbduel {ours:>10.1}   sysbench {theirs:>10.1}");
    }
    println!("  tps ratio {tps}; CPU per transaction explains {explained}; the rest is {rest}");
    Ok((rest.median - 1.0).abs())
}

/// Runs a generator to its end; both print `transactions: N (X per sec.)`.
fn measure(command: &mut Command, server: &Held) -> Result<Run> {
    let before_us = server_cpu_us(server)?;
    let (output, client_us) = run_to_end(command)?;
    let server_us = server_cpu_us(server)? - before_us;
    let line = output.lines().find_map(|line| line.trim().strip_prefix("transactions:"));
    let line = line.with_context(|| format!("no count of transactions was printed:\n{output}"))?;
    let mut words = line.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let mut number = || words.next().context("a number is missing")?.parse::<f64>().context("not a number");
    let (transactions, tps) = (number()?, number()?);
    Ok(Run { tps, client_us: client_us / transactions, server_us: server_us / transactions })
}

fn server_cpu_us(server: &Held) -> Result<f64> {
    let stat = Process::new(server.pid()?)?.stat()?;
    Ok((stat.utime + stat.stime) as f64 * 1e6 / procfs::ticks_per_second() as f64)
}
