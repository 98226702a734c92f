//! `cargo xtask bench-client`: what a point select costs the client, beside sysbench.
//!
//! Both generators run by turns, as processes of their own, against one MariaDB over a unix socket;
//! the figure is the whole process's CPU (user + system, as the kernel accounts it) per query. On a
//! shared machine only ratios of neighbouring runs mean anything, so those are what is printed.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use driver::{Dialect, Endpoint, Login};
use load::{Load, LoadOptions, Target};

use crate::bench::{ROWS, done_in_release, loaded_mariadb, median, point_select, warn_if_busy};

/// The bars: at most this share of sysbench's CPU per query.
const BARS: [(u32, f64); 2] = [(1, 1.0), (64, 0.65)];

#[derive(clap::Args)]
pub struct ClientCost {
    /// Runs of each generator per number of connections.
    #[arg(long, default_value_t = 5)]
    pairs: u32,
    /// Seconds per run.
    #[arg(long, default_value_t = 4)]
    seconds: u32,
    /// Connections to try.
    #[arg(long, value_delimiter = ',', default_value = "1,8,64")]
    connections: Vec<u32>,
}

/// The measuring end of dbduel, in a process of its own so that its CPU is all accounted.
#[derive(clap::Args)]
pub struct ClientWorker {
    #[arg(long)]
    socket: String,
    #[arg(long)]
    connections: u32,
    #[arg(long)]
    seconds: u32,
}

pub fn run_worker(worker: &ClientWorker) -> Result<()> {
    let workload = point_select()?;
    let seconds = Duration::from_secs(worker.seconds.into());
    let target = Target {
        dialect: Dialect::MySql,
        endpoint: Endpoint::Unix(worker.socket.clone().into()),
        login: Login {
            user: "root".to_owned(),
            password: None,
            database: Some("sbtest".to_owned()),
            on_connect: vec![],
        },
    };
    let options = LoadOptions {
        clients: worker.connections,
        workers: 1,
        cpus: vec![],
        input_seed: 1,
        interval_max: seconds,
        drain_max: Duration::from_secs(10),
        ..LoadOptions::default()
    };
    let interrupted = AtomicBool::new(false);
    let mut load = Load::prepare(&workload, &target, options, &interrupted)?;
    load.warm_up(Duration::ZERO, &mut |_| ())?;
    let tally = load.measure(Some(seconds), &mut |_| (), &mut || ()).whole()?;
    println!("queries: {}", tally.queries());
    Ok(())
}

/// Starts a server of its own, so that nothing but its load differs from run to run.
pub fn run(options: &ClientCost, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let server = loaded_mariadb(root)?;
    let compared = compare(options, Path::new(server.text("socket")?));
    server.stop()?;
    compared
}

fn compare(options: &ClientCost, socket: &Path) -> Result<()> {
    println!(
        "client CPU per point select (user + system), dbduel and sysbench by turns, {} pairs of {} s",
        options.pairs, options.seconds
    );
    println!("{:>11}  {:>12}  {:>12}  {:>21}  bar", "connections", "dbduel us", "sysbench us", "ratio (min..max)");
    let mut missed = Vec::new();
    for &connections in &options.connections {
        let pairs =
            (0..options.pairs).map(|pair| run_pair(options, socket, connections, pair)).collect::<Result<Vec<_>>>()?;
        let ratios: Vec<f64> = pairs.iter().map(|(ours, theirs)| ours / theirs).collect();
        let (ours, theirs) = pairs.iter().copied().unzip();
        let bar = BARS.iter().find(|(at, _)| *at == connections).map(|(_, bar)| *bar);
        let ratio = median(ratios.clone());
        println!(
            "{connections:>11}  {:>12.2}  {:>12.2}  {ratio:>6.2} ({:.2}..{:.2})   {}",
            median(ours),
            median(theirs),
            ratios.iter().copied().fold(f64::MAX, f64::min),
            ratios.iter().copied().fold(0.0, f64::max),
            bar.map_or(String::new(), |bar| format!("<= {bar}")),
        );
        if bar.is_some_and(|bar| ratio > bar) {
            missed.push(connections);
        }
    }
    ensure!(missed.is_empty(), "the bar was missed at {missed:?} connections");
    Ok(())
}

/// CPU microseconds per query of dbduel and of sysbench, in an order that alternates.
fn run_pair(options: &ClientCost, socket: &Path, connections: u32, pair: u32) -> Result<(f64, f64)> {
    let ours = || cpu_us_per_query(dbduel(options, socket, connections)?);
    let theirs = || cpu_us_per_query(sysbench(options, socket, connections));
    if pair.is_multiple_of(2) {
        let ours = ours()?;
        Ok((ours, theirs()?))
    } else {
        let theirs = theirs()?;
        Ok((ours()?, theirs))
    }
}

fn dbduel(options: &ClientCost, socket: &Path, connections: u32) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["client-worker", "--socket"]).arg(socket);
    command.args(["--connections", &connections.to_string(), "--seconds", &options.seconds.to_string()]);
    Ok(command)
}

fn sysbench(options: &ClientCost, socket: &Path, connections: u32) -> Command {
    let mut command = Command::new("sysbench");
    command.arg("oltp_point_select").arg(format!("--mysql-socket={}", socket.display()));
    command.args(["--mysql-user=root", "--tables=1", "--rand-type=uniform"]);
    command.arg(format!("--table-size={ROWS}")).arg(format!("--threads={connections}"));
    command.arg(format!("--time={}", options.seconds)).arg("run");
    command
}

fn cpu_us_per_query(mut command: Command) -> Result<f64> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {name}; sysbench comes from the package of that name"))?;
    let mut output = String::new();
    child.stdout.take().context("standard output is a pipe")?.read_to_string(&mut output)?;
    let cpu_us = reap(&child)?;
    let queries: Option<u32> =
        output.lines().find_map(|line| line.trim().strip_prefix("queries:")?.split_whitespace().next()?.parse().ok());
    let Some(queries) = queries else { bail!("{name} printed no count of queries:\n{output}") };
    Ok(cpu_us / f64::from(queries))
}

/// Waits for the child and returns its CPU time in microseconds.
fn reap(child: &Child) -> Result<f64> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid, and both pointers are live.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        ensure!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage) >= 0, "the child cannot be waited for");
        usage
    };
    let status = std::process::ExitStatus::from_raw(status);
    ensure!(status.success(), "a load generator failed: {status}");
    let microseconds = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    Ok(microseconds(usage.ru_utime) + microseconds(usage.ru_stime))
}
