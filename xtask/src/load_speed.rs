//! `cargo xtask bench-prepare`: how fast a table is loaded, beside `sysbench prepare`.
//!
//! Both load the same number of rows into one server by turns, with the server's own durability, and
//! build the secondary index; the figure is rows per second over everything, from the first CREATE to
//! the end of the index.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use driver::Dialect;
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
    /// The servers, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "postgres@system,mariadb@system,mysql@8.0.31")]
    servers: Vec<String>,
}

pub fn run(options: &BenchPrepare, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let dbduel = dbduel(root)?;
    println!("loading 1 table of {} rows, index included, by turns, {} pairs", options.rows, options.pairs);
    let mut missed = Vec::new();
    for name in &options.servers {
        let server = Held::start_or_fail(&dbduel, name, &[])?;
        let ratio = compare(options, &server);
        server.stop()?;
        if ratio? < BAR {
            missed.push(name.as_str());
        }
    }
    ensure!(missed.is_empty(), "the bar of {BAR} was missed on {}", missed.join(", "));
    Ok(())
}

/// The ratio of dbduel's rows per second to sysbench's.
fn compare(options: &BenchPrepare, server: &Held) -> Result<f64> {
    let workload = workload(options.rows)?;
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
    println!(
        "{}: dbduel {:.0} rows/s, sysbench {:.0} rows/s, ratio {ratios}, bar >= {BAR}",
        server.text("version")?,
        rate(ours),
        rate(theirs)
    );
    Ok(ratios.median)
}

fn workload(rows: i64) -> Result<Arc<dyn Workload>> {
    let kind = workloads::workload_kind("oltp_read_write").context("oltp_read_write is a workload")?;
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
    command.args(["oltp_read_write", "--tables=1", "--rand-type=uniform"]).args(reach(server)?);
    command.arg(format!("--table-size={}", options.rows)).arg("prepare").stdout(Stdio::null());
    let begun = Instant::now();
    let status = command.status().context("cannot start sysbench, which comes from the package of that name")?;
    ensure!(status.success(), "sysbench prepare failed: {status}");
    Ok(begun.elapsed().as_secs_f64())
}

/// How sysbench finds the server.
fn reach(server: &Held) -> Result<Vec<String>> {
    let (user, socket) = (server.text("user")?, server.text("socket")?);
    if server.dialect() == Dialect::MySql {
        return Ok(vec![format!("--mysql-user={user}"), format!("--mysql-socket={socket}")]);
    }
    // PostgreSQL's clients make the socket's name from its folder and the port.
    let (folder, port) = socket.rsplit_once("/.s.PGSQL.").context("a PostgreSQL socket has a port in its name")?;
    let words = [("user", user), ("host", folder), ("port", port), ("db", server.text("database")?)];
    let words = words.iter().map(|(key, value)| format!("--pgsql-{key}={value}"));
    Ok(std::iter::once("--db-driver=pgsql".to_owned()).chain(words).collect())
}
