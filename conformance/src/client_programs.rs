//! The load generators that `bench-client` compares, each a process whose CPU is all accounted.

#![expect(unsafe_code, reason = "CPU of one child, which nix does not report")]

use std::fmt;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use driver::{Dialect, Endpoint, Login, Target};
use load::{Load, LoadOptions};

use crate::bench::{ROWS, workload};
use crate::floor;
use crate::held::Held;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// dbduel's own load at so many connections.
    Ourselves {
        connections: u32,
    },
    Sysbench,
    Pgbench,
    /// dbduel's built-in workload of the same statements as a Lua script: what is more than it is Lua's share.
    BuiltIn(&'static str),
    /// A loop over raw sockets (see `floor.rs`).
    Floor,
}

/// What one run cost the client.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// CPU of the whole process per query.
    process_us: f64,
    queries: f64,
    /// CPU of the load threads in the measured interval, per query; only our own program prints it.
    interval_us: f64,
    /// Memory that a connection took; only our own program prints it.
    pub connection_kb: f64,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::Ourselves { connections } => write!(f, "dbduel at {connections}"),
            Program::Sysbench => f.write_str("sysbench"),
            Program::Pgbench => f.write_str("pgbench -M prep."),
            Program::BuiltIn(_) => f.write_str("built-in"),
            Program::Floor => f.write_str("floor"),
        }
    }
}

impl Program {
    /// The two figures to compare, ours and this program's, in microseconds per query.
    ///
    /// Between two numbers of connections of our own it is the cost in the measured interval: logging in a
    /// thousand times is no part of a query.
    pub fn figures(&self, ours: &Cost, theirs: &Cost) -> (f64, f64) {
        match self {
            Program::Ourselves { .. } => (ours.interval_us, theirs.interval_us),
            _ => (ours.process_us, theirs.process_us),
        }
    }

    /// What the second half of a run of twice the time costs, so that starting is no part of it.
    pub fn run_without_start(self, server: &Held, script: &str, connections: u32, seconds: u32) -> Result<Cost> {
        let short = self.run(server, script, connections, seconds)?;
        let long = self.run(server, script, connections, 2 * seconds)?;
        let queries = long.queries - short.queries;
        ensure!(queries > 0.0, "{self} ran no more queries in twice the time");
        let process_us = (long.process_us * long.queries - short.process_us * short.queries) / queries;
        Ok(Cost { process_us, queries, ..long })
    }

    pub fn run(self, server: &Held, script: &str, connections: u32, seconds: u32) -> Result<Cost> {
        let mut command = match self {
            Program::Ourselves { connections } => worker(server, script, connections, seconds)?,
            Program::Sysbench => sysbench(server, script, connections, seconds)?,
            Program::Pgbench => pgbench(server, connections, seconds)?,
            Program::BuiltIn(name) => worker(server, name, connections, seconds)?,
            Program::Floor => {
                let mut command = worker(server, script, connections, seconds)?;
                command.arg("--floor");
                command
            }
        };
        cost(&mut command)
    }
}

/// The measuring end of dbduel, or the floor, in a process of its own.
#[derive(clap::Args)]
pub struct ClientWorker {
    #[arg(long)]
    postgres: bool,
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
    #[arg(long)]
    floor: bool,
    /// Instead of a time
    #[arg(long)]
    transactions: Option<u64>,
}

pub fn run_worker(worker: &ClientWorker) -> Result<()> {
    let seconds = Duration::from_secs(worker.seconds.into());
    let target = Target {
        dialect: if worker.postgres { Dialect::Postgres } else { Dialect::MySql },
        endpoint: Endpoint::Unix(worker.socket.clone().into()),
        login: Login { user: worker.user.clone(), database: Some(worker.database.clone()), ..Login::default() },
    };
    if worker.floor {
        println!("queries: {}", floor::run(&target, worker.connections, seconds)?.queries);
        return Ok(());
    }
    let options = LoadOptions {
        clients: worker.connections,
        workers: 1,
        interval_max: seconds,
        drain_max: Duration::from_secs(10),
        transactions_max: worker.transactions,
        ..LoadOptions::default()
    };
    let interval = worker.transactions.is_none().then_some(seconds);
    let interrupted = AtomicBool::new(false);
    let memory_before_kb = resident_kb()?;
    let load = Load::prepare(&workload(&worker.script, ROWS)?, &target, options, &interrupted)?;
    let mut memory_kb = 0.0;
    let mut at_end = || memory_kb = resident_kb().unwrap_or(f64::NAN);
    let tally = load.measure(interval, &mut |_| (), &mut at_end).whole()?;
    println!("queries: {}", tally.queries());
    println!("transactions: {} ({:.2} per sec.)", tally.committed, tally.tps());
    println!("interval cpu ns: {}", tally.worker_cpu_ns.iter().sum::<u64>());
    println!("connection bytes: {:.0}", (memory_kb - memory_before_kb) * 1024.0 / f64::from(worker.connections));
    Ok(())
}

/// Memory of this process that is really there.
fn resident_kb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status").context("cannot read /proc/self/status")?;
    number_behind(&status, "VmRSS:").context("/proc/self/status has no VmRSS")
}

pub fn worker(server: &Held, script: &str, connections: u32, seconds: u32) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["client-worker", "--socket", server.text("socket")?, "--user", server.text("user")?]);
    command.args(["--database", server.text("database")?, "--script", script]);
    command.args(["--connections", &connections.to_string(), "--seconds", &seconds.to_string()]);
    command.args((server.dialect() == Dialect::Postgres).then_some("--postgres"));
    Ok(command)
}

pub fn sysbench(server: &Held, script: &str, connections: u32, seconds: u32) -> Result<Command> {
    let mut command = sysbench_at(server, script, ROWS)?;
    command.args([format!("--threads={connections}"), format!("--time={seconds}"), "run".to_owned()]);
    Ok(command)
}

/// sysbench with this server and one table of so many rows.
pub fn sysbench_at(server: &Held, script: &str, rows: i64) -> Result<Command> {
    let mut command = Command::new("sysbench");
    command.arg(script).args(["--tables=1", "--rand-type=uniform"]);
    let (user, database) = (server.text("user")?, server.text("database")?);
    match server.dialect() {
        Dialect::Postgres => {
            let (folder, port) = postgres_host(server)?;
            command.args([
                "--db-driver=pgsql".to_owned(),
                format!("--pgsql-host={folder}"),
                format!("--pgsql-port={port}"),
            ]);
            command.args([format!("--pgsql-user={user}"), format!("--pgsql-db={database}")]);
        }
        _ => {
            command.args([format!("--mysql-socket={}", server.text("socket")?), format!("--mysql-user={user}")]);
            // Two clients that replace the same row may both have deleted it before either inserts.
            command.args([format!("--mysql-db={database}"), "--mysql-ignore-errors=1213,1020,1205,1062".to_owned()]);
        }
    }
    command.arg(format!("--table-size={rows}"));
    Ok(command)
}

fn pgbench(server: &Held, connections: u32, seconds: u32) -> Result<Command> {
    let mut command = pgbench_at(server)?;
    command.args(["-n", "-S", "-M", "prepared", "-c", &connections.to_string(), "-T", &seconds.to_string()]);
    command.arg(server.text("database")?);
    Ok(command)
}

pub fn pgbench_at(server: &Held) -> Result<Command> {
    let (folder, port) = postgres_host(server)?;
    let mut command = Command::new("pgbench");
    command.args(["-h", &folder, "-p", &port, "-U", server.text("user")?]);
    Ok(command)
}

/// Folder and port as PostgreSQL's own programs take them, from the path of the socket.
fn postgres_host(server: &Held) -> Result<(String, String)> {
    let socket = Path::new(server.text("socket")?);
    let (folder, file) = (socket.parent(), socket.file_name().and_then(|name| name.to_str()));
    let port = file.and_then(|file| file.strip_prefix(".s.PGSQL."));
    let (Some(folder), Some(port)) = (folder, port) else { bail!("{} is no socket of PostgreSQL", socket.display()) };
    Ok((folder.display().to_string(), port.to_owned()))
}

/// pgbench's own tables; at scale 1 `pgbench_accounts` has as many rows as `sbtest1`.
pub fn make_pgbench_tables(server: &Held) -> Result<()> {
    let mut command = pgbench_at(server)?;
    command.args(["-i", "-q", "-s", &(ROWS / 100_000).to_string(), server.text("database")?]);
    let output = command.output().context("cannot start pgbench; it comes with PostgreSQL's own package")?;
    ensure!(output.status.success(), "pgbench -i failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Runs a generator to its end; what it printed, and its CPU time in microseconds.
pub fn run_to_end(command: &mut Command) -> Result<(String, f64)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(|| {
            format!("cannot start {name}; sysbench and pgbench come from the packages of these names")
        })?;
    let mut output = String::new();
    child.stdout.take().context("standard output is a pipe")?.read_to_string(&mut output)?;
    // What goes to standard error is a few lines at most, so no generator waits for it to be read.
    let mut complaint = String::new();
    child.stderr.take().context("standard error is a pipe")?.read_to_string(&mut complaint)?;
    let cpu_us = reap(&child).with_context(|| format!("{name} said: {}", complaint.trim()))?;
    Ok((output, cpu_us))
}

fn cost(command: &mut Command) -> Result<Cost> {
    let name = command.get_program().to_string_lossy().into_owned();
    let (output, cpu_us) = run_to_end(command)?;
    let queries = number_behind(&output, "queries:")
        .or_else(|| number_behind(&output, "number of transactions actually processed:"));
    let Some(queries) = queries else { bail!("{name} printed no count of queries:\n{output}") };
    ensure!(queries > 0.0, "{name} got no answer:\n{output}");
    Ok(Cost {
        process_us: cpu_us / queries,
        queries,
        interval_us: number_behind(&output, "interval cpu ns:").unwrap_or(f64::NAN) / 1000.0 / queries,
        connection_kb: number_behind(&output, "connection bytes:").unwrap_or(f64::NAN) / 1024.0,
    })
}

/// The number behind `label`, in the first line that begins with it.
pub fn number_behind(text: &str, label: &str) -> Option<f64> {
    text.lines().find_map(|line| line.trim().strip_prefix(label)?.split_whitespace().next()?.parse().ok())
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
