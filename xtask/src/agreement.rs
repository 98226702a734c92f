//! `cargo xtask bench-agree`: do dbduel and sysbench see the same server?
//!
//! Both put the same load on one MariaDB by turns. On a host that both share with the server, a client
//! that costs less CPU leaves more to the server, so throughput may differ by what the CPU per
//! transaction says (client and server together) and by no more. Both ratios are printed.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::{Dialect, Endpoint, Login};
use load::{Load, LoadOptions, Loader, Target};
use procfs::process::Process;

use crate::bench::{ROWS, Spread, done_in_release, warn_if_busy};
use crate::client_programs::{reap, workload};
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

/// The load generator of one run, in a process of its own so that its CPU is all accounted.
#[derive(clap::Args)]
pub struct AgreeWorker {
    #[arg(long)]
    socket: String,
    #[arg(long)]
    user: String,
    #[arg(long)]
    database: String,
    #[arg(long)]
    script: String,
    #[arg(long)]
    connections: u32,
    #[arg(long)]
    seconds: u32,
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
    let ours = || measure(ours(options, server, script)?, server);
    let theirs = || measure(sysbench(options, server, script)?, server);
    if pair.is_multiple_of(2) {
        let ours = ours()?;
        Ok((ours, theirs()?))
    } else {
        let theirs = theirs()?;
        Ok((ours()?, theirs))
    }
}

fn ours(options: &BenchAgree, server: &Held, script: &str) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["agree-worker", "--socket", server.text("socket")?, "--user", server.text("user")?]);
    command.args(["--database", server.text("database")?, "--script", script]);
    command.args(["--connections", &options.connections.to_string(), "--seconds", &options.seconds.to_string()]);
    Ok(command)
}

fn sysbench(options: &BenchAgree, server: &Held, script: &str) -> Result<Command> {
    let mut command = Command::new("sysbench");
    command.arg(script).arg(format!("--mysql-socket={}", server.text("socket")?));
    command
        .args([format!("--mysql-user={}", server.text("user")?), format!("--mysql-db={}", server.text("database")?)]);
    command.args(["--tables=1", "--rand-type=uniform", "--mysql-ignore-errors=1213,1020,1205,1062"]);
    command.arg(format!("--table-size={ROWS}")).arg(format!("--threads={}", options.connections));
    command.arg(format!("--time={}", options.seconds)).arg("run");
    Ok(command)
}

/// Runs a generator to its end; it prints `transactions: N (X per sec.)` as sysbench does.
fn measure(mut command: Command, server: &Held) -> Result<Run> {
    let name = command.get_program().to_string_lossy().into_owned();
    let before_us = server_cpu_us(server)?;
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {name}"))?;
    let mut output = String::new();
    child.stdout.take().context("standard output is a pipe")?.read_to_string(&mut output)?;
    let client_us = reap(&child)?;
    let server_us = server_cpu_us(server)? - before_us;
    let line = output.lines().find_map(|line| line.trim().strip_prefix("transactions:"));
    let line = line.with_context(|| format!("{name} printed no count of transactions:\n{output}"))?;
    let mut words = line.split(|c: char| c.is_whitespace() || c == '(').filter(|word| !word.is_empty());
    let mut number = || words.next().context("a number is missing")?.parse::<f64>().context("not a number");
    let (transactions, tps) = (number()?, number()?);
    Ok(Run { tps, client_us: client_us / transactions, server_us: server_us / transactions })
}

fn server_cpu_us(server: &Held) -> Result<f64> {
    let stat = Process::new(server.pid()?)?.stat()?;
    Ok((stat.utime + stat.stime) as f64 * 1e6 / procfs::ticks_per_second() as f64)
}

pub fn run_worker(worker: &AgreeWorker) -> Result<()> {
    let seconds = Duration::from_secs(worker.seconds.into());
    let options = LoadOptions { clients: worker.connections, interval_max: seconds, ..LoadOptions::default() };
    let target = Target {
        dialect: Dialect::MySql,
        endpoint: Endpoint::Unix(worker.socket.clone().into()),
        login: Login { user: worker.user.clone(), database: Some(worker.database.clone()), ..Login::default() },
    };
    let interrupted = AtomicBool::new(false);
    let load = Load::prepare(&workload(&worker.script)?, &target, options, &interrupted)?;
    let tally = load.measure(Some(seconds), &mut |_| (), &mut || ()).whole()?;
    println!("transactions: {} ({:.2} per sec.)", tally.committed, tally.tps());
    Ok(())
}
