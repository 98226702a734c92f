//! `cargo xtask bench-pgbench`: what a transaction of pgbench's scripts costs the client, beside the real pgbench and
//! beside our own `oltp_point_select`.
//!
//! Each figure is a slope: a program runs N transactions and 2N, and the difference of its CPU (user + system, as the
//! kernel accounts it) is that of N transactions, without start and connections. Programs run by turns on one server
//! that does not wait for its disk; beside the median stand the least and the greatest of the turns.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::bench::{Spread, done_in_release, load_point_select, warn_if_busy};
use crate::client_programs::{make_pgbench_tables, pgbench_at, run_to_end, worker};
use crate::held::{Held, dbduel};

#[derive(clap::Args)]
pub struct BenchPgbench {
    /// Turns of all programs; six and more for figures that are kept
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Scripts: select-only, tpcb-like
    #[arg(long, value_delimiter = ',', default_value = "select-only,tpcb-like")]
    scripts: Vec<String>,
    /// Protocols: simple, extended, prepared
    #[arg(long, value_delimiter = ',', default_value = "simple,extended,prepared")]
    modes: Vec<String>,
    /// Numbers of clients, on one thread
    #[arg(long, value_delimiter = ',', default_value = "1,8,64")]
    clients: Vec<u32>,
    /// N, in thousands of select-only; of tpcb-like a tenth
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    thousands: u32,
}

/// At most so many times what the real pgbench takes, and our own point select.
const BESIDE_PGBENCH: [(&str, f64); 2] = [("select-only", 0.85), ("tpcb-like", 0.9)];
const BESIDE_POINT_SELECT: f64 = 1.05;

/// Sizes what a run by number writes down for each second.
const LONGEST_SECS: u32 = 600;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Program {
    Ours,
    Theirs,
    PointSelect,
}

/// One script in one protocol at one number of clients.
struct Series<'a> {
    script: &'a str,
    mode: &'a str,
    clients: u32,
    /// Transactions of each client in the shorter run.
    each: u32,
}

struct Bench {
    server: Held,
    dbduel: PathBuf,
    target: String,
}

pub fn run(options: &BenchPgbench, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let dbduel = dbduel(root)?;
    let settings = ["max_connections=120", "autovacuum=off", "synchronous_commit=off"];
    let server = Held::start_or_fail(&dbduel, "postgres@system", &settings)?;
    load_point_select(&server)?;
    make_pgbench_tables(&server)?;
    let (user, socket) = (server.text("user")?, server.text("socket")?);
    let (folder, file) = socket.rsplit_once('/').unwrap_or((".", socket));
    let port = file.rsplit('.').next().unwrap_or_default();
    let target = format!("postgres://{user}@:{port}/{}?host={folder}", server.text("database")?);
    let bench = Bench { server, dbduel, target };
    println!("client CPU per transaction by slope over N and 2N, by turns, {} turns; us", options.turns);
    println!("{:<34} {:>20} {:>20} {:>20}", "series", "dbduel", "pgbench: ratio", "point select: ratio");
    for series in all(options) {
        bench.compare(&series, options.turns)?;
    }
    bench.server.stop()
}

fn all(options: &BenchPgbench) -> Vec<Series<'_>> {
    let mut found = Vec::new();
    for script in &options.scripts {
        for mode in &options.modes {
            for clients in &options.clients {
                let all = options.thousands * if script == "select-only" { 1_000 } else { 100 };
                found.push(Series { script, mode, clients: *clients, each: all.div_ceil(*clients) });
            }
        }
    }
    found
}

impl Bench {
    /// Prints the figures of one series with their ratios, and the bars beside them.
    fn compare(&self, series: &Series<'_>, turns: u32) -> Result<()> {
        let mut programs = vec![Program::Ours, Program::Theirs];
        programs.extend((series.script == "select-only" && series.mode == "prepared").then_some(Program::PointSelect));
        let mut costs: BTreeMap<Program, Vec<f64>> = BTreeMap::new();
        for turn in 0..turns as usize {
            for place in 0..programs.len() {
                let program = programs[(turn + place) % programs.len()];
                costs.entry(program).or_default().push(self.slope(program, series)?);
            }
        }
        let ours = &costs[&Program::Ours];
        let ratio = |program: Program| {
            let ratios = ours.iter().zip(costs.get(&program)?).map(|(ours, theirs)| ours / theirs);
            Some(Spread::of(ratios.collect()))
        };
        let goal = BESIDE_PGBENCH.iter().find(|(script, _)| *script == series.script).map_or(1.0, |(_, goal)| *goal);
        let beside = |program: Program, bar: f64, word: &str| {
            ratio(program).map_or(String::new(), |ratio| format!("{ratio} {word} {bar}"))
        };
        let title = format!("{} {}, {} clients", series.script, series.mode, series.clients);
        println!(
            "{title:<34} {:>20} {:>27} {:>27}",
            Spread::of(ours.clone()).to_string(),
            beside(Program::Theirs, goal, "goal"),
            beside(Program::PointSelect, BESIDE_POINT_SELECT, "bar")
        );
        Ok(())
    }

    /// Microseconds of CPU for each of the transactions that the longer run has more.
    fn slope(&self, program: Program, series: &Series<'_>) -> Result<f64> {
        let short = self.cpu_us(program, series, series.each)?;
        let long = self.cpu_us(program, series, 2 * series.each)?;
        let more = f64::from(series.each * series.clients);
        ensure!(long > short, "{} {}: 2N transactions took no more CPU than N", series.script, series.mode);
        Ok((long - short) / more)
    }

    fn cpu_us(&self, program: Program, series: &Series<'_>, each: u32) -> Result<f64> {
        let Series { script, mode, clients, .. } = series;
        let (clients, each_word) = (clients.to_string(), each.to_string());
        let words = ["-n", "-b", script, "-M", mode, "-c", &clients, "-j", "1", "-t", &each_word];
        let mut command = match program {
            Program::Theirs => {
                let mut command = pgbench_at(&self.server)?;
                command.args(words).arg(self.server.text("database")?);
                command
            }
            Program::Ours => {
                let mut command = Command::new(&self.dbduel);
                command.arg("pgbench").args(words).args(["--target", &self.target]);
                command
            }
            Program::PointSelect => {
                let mut command = worker(&self.server, "oltp_point_select", series.clients, LONGEST_SECS)?;
                command.args(["--transactions", &(each * series.clients).to_string()]);
                command
            }
        };
        run_to_end(&mut command).map(|(_, cpu_us)| cpu_us)
    }
}
