//! `cargo xtask bench-agree`: do dbduel and sysbench see the same server?
//!
//! Both put the same load on one MariaDB by turns. On a host that both share with the server, a client
//! that costs less CPU leaves more to the server, so throughput may differ by what the CPU per
//! transaction says (client and server together) and by no more. Both ratios are printed.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, ensure};
use load::Loader;
use procfs::process::Process;

use crate::bench::{Spread, done_in_release, warn_if_busy};
use crate::client_programs::{run_to_end, sysbench, worker, workload};
use crate::held::{Held, dbduel};

/// How far the throughput may lie from what the CPU per transaction says.
const UNEXPLAINED_MAX: f64 = 0.05;

#[derive(clap::Args)]
pub struct BenchAgree {
    /// Runs of each program per script.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds per run.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Connections of each.
    #[arg(long, default_value_t = 8)]
    connections: u32,
    /// Scripts to run.
    #[arg(long, value_delimiter = ',', default_value = "oltp_point_select,oltp_read_only,oltp_read_write")]
    scripts: Vec<String>,
}

/// One run: throughput, and the CPU that each side spent on a transaction.
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

pub fn run(options: &BenchAgree, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let server = Held::start_or_fail(&dbduel(root)?, "mariadb@system", &[])?;
    let compared = compare(options, &server);
    server.stop()?;
    compared
}

fn compare(options: &BenchAgree, server: &Held) -> Result<()> {
    let (target, interrupted) = (server.target()?, AtomicBool::new(false));
    let loader = Loader { target: &target, sessions: 2, interrupted: &interrupted };
    loader.load(&*workload("oltp_read_write")?, 1, &mut |_| ()).context("cannot load the table")?;
    println!(
        "{} connections, {} pairs of {} s by turns on one MariaDB; medians, ratios with least and greatest",
        options.connections, options.pairs, options.seconds
    );
    let mut missed = Vec::new();
    for script in &options.scripts {
        let pairs =
            (0..options.pairs).map(|pair| run_pair(options, server, script, pair)).collect::<Result<Vec<_>>>()?;
        let figure = |figure: fn(&Run) -> f64| {
            let (ours, theirs) = pairs.iter().map(|(ours, theirs)| (figure(ours), figure(theirs))).unzip();
            (Spread::of(ours).median, Spread::of(theirs).median)
        };
        let ratio = |of: &dyn Fn(&(Run, Run)) -> f64| Spread::of(pairs.iter().map(of).collect());
        let tps = ratio(&|(ours, theirs)| ours.tps / theirs.tps);
        let explained = ratio(&|(ours, theirs)| theirs.total_us() / ours.total_us());
        let rest = ratio(&|(ours, theirs)| ours.tps / theirs.tps * ours.total_us() / theirs.total_us());
        println!("{script}");
        for (name, (ours, theirs)) in [
            ("tps", figure(|run| run.tps)),
            ("client CPU us/transaction", figure(|run| run.client_us)),
            ("server CPU us/transaction", figure(|run| run.server_us)),
        ] {
            println!("  {name:<28} dbduel {ours:>10.1}   sysbench {theirs:>10.1}");
        }
        println!("  tps ratio {tps}; CPU per transaction explains {explained}; the rest is {rest}");
        if (rest.median - 1.0).abs() > UNEXPLAINED_MAX {
            missed.push(script.as_str());
        }
    }
    ensure!(missed.is_empty(), "more than {UNEXPLAINED_MAX} is unexplained for {}", missed.join(", "));
    Ok(())
}

fn run_pair(options: &BenchAgree, server: &Held, script: &str, pair: u32) -> Result<(Run, Run)> {
    let BenchAgree { connections, seconds, .. } = *options;
    let ours = || measure(&mut worker(server, script, connections, seconds)?, server);
    let theirs = || measure(&mut sysbench(server, script, connections, seconds)?, server);
    if pair.is_multiple_of(2) {
        let ours = ours()?;
        Ok((ours, theirs()?))
    } else {
        let theirs = theirs()?;
        Ok((ours()?, theirs))
    }
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
