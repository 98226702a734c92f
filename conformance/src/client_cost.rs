//! `cargo xtask bench-client`: what a query costs the client, beside sysbench, pgbench and the floor.
//!
//! All generators run by turns, as processes of their own, against one server over a unix socket; the
//! figure is the whole process's CPU (user + system, as the kernel accounts it) per query. On a shared
//! machine only ratios of neighbouring runs mean anything, so those are what is judged: the median over
//! the rounds. The programs themselves are in `client_programs.rs`.

use std::path::Path;

use anyhow::{Result, ensure};

use crate::bench::{done_in_release, is_lua, load_point_select, median, warn_if_busy};
use crate::client_programs::{Cost, Program, make_pgbench_tables};
use crate::held::{Held, dbduel};

#[derive(clap::Args)]
pub struct ClientCost {
    /// Rounds of all generators per series
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pairs: u32,
    /// Seconds per run
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Series whose names contain one of these: mariadb-point-64, read_write, postgres, 1000 [default: all]
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// dbduel and its rivals at one number of connections to one server.
struct Series {
    name: &'static str,
    server: &'static str,
    script: &'static str,
    connections: u32,
    rivals: &'static [Program],
}

const SERIES: [Series; 13] = [
    Series {
        name: "mariadb-point-1",
        server: MARIADB,
        script: POINT,
        connections: 1,
        rivals: &[Program::Sysbench, Program::Floor],
    },
    Series {
        name: "mariadb-point-8",
        server: MARIADB,
        script: POINT,
        connections: 8,
        rivals: &[Program::Sysbench, Program::Floor],
    },
    Series {
        name: "mariadb-point-64",
        server: MARIADB,
        script: POINT,
        connections: 64,
        rivals: &[Program::Sysbench, Program::Floor],
    },
    Series {
        name: "mariadb-read_write-64",
        server: MARIADB,
        script: "oltp_read_write",
        connections: 64,
        rivals: &[Program::Sysbench],
    },
    Series {
        name: "mariadb-point-1000",
        server: MARIADB,
        script: POINT,
        connections: 1000,
        rivals: &[Program::Ourselves { connections: 64 }],
    },
    Series {
        name: "postgres-point-1",
        server: "postgres@system",
        script: POINT,
        connections: 1,
        rivals: &[Program::Pgbench, Program::Floor],
    },
    Series {
        name: "postgres-point-8",
        server: "postgres@system",
        script: POINT,
        connections: 8,
        rivals: &[Program::Pgbench, Program::Floor],
    },
    Series {
        name: "postgres-point-64",
        server: "postgres@system",
        script: POINT,
        connections: 64,
        rivals: &[Program::Sysbench, Program::Pgbench, Program::Floor],
    },
    Series {
        name: "lua-mariadb-point-1",
        server: MARIADB,
        script: LUA_POINT,
        connections: 1,
        rivals: &[Program::Sysbench, Program::BuiltIn(POINT)],
    },
    Series {
        name: "lua-mariadb-point-8",
        server: MARIADB,
        script: LUA_POINT,
        connections: 8,
        rivals: &[Program::Sysbench, Program::BuiltIn(POINT)],
    },
    Series {
        name: "lua-mariadb-point-64",
        server: MARIADB,
        script: LUA_POINT,
        connections: 64,
        rivals: &[Program::Sysbench, Program::BuiltIn(POINT)],
    },
    Series {
        name: "lua-mariadb-read_write-8",
        server: MARIADB,
        script: LUA_READ_WRITE,
        connections: 8,
        rivals: &[Program::Sysbench, Program::BuiltIn("oltp_read_write")],
    },
    Series {
        name: "lua-postgres-point-8",
        server: "postgres@system",
        script: LUA_POINT,
        connections: 8,
        rivals: &[Program::Sysbench, Program::BuiltIn(POINT)],
    },
];

const MARIADB: &str = "mariadb@system";
const POINT: &str = "oltp_point_select";
/// At most so many times the cost of the floor. What another program costs beside it depends on the host too, so that a
/// ratio to one is a figure and no bar.
const FLOOR_BAR: f64 = 1.25;
/// A query among many connections, at most so many times what it costs among 64.
const OURSELVES_BAR: f64 = 1.3;
/// Scripts of sysbench's package, which both programs run from where it has them.
const LUA_POINT: &str = "/usr/share/sysbench/oltp_point_select.lua";
const LUA_READ_WRITE: &str = "/usr/share/sysbench/oltp_read_write.lua";
/// Memory of the client per connection, where there are many.
const MEMORY_KB_BAR: f64 = 100.0;
const MANY_CONNECTIONS: u32 = 1000;
/// Enough for the connections of the largest series, and for our own.
const MAX_CONNECTIONS: &str = "max_connections=1100";

/// Starts servers of its own, so that nothing but its load differs from run to run.
pub fn run(options: &ClientCost, root: &Path) -> Result<()> {
    if done_in_release(root)? {
        return Ok(());
    }
    warn_if_busy()?;
    let wanted = |series: &&Series| {
        options.only.is_empty() || options.only.iter().any(|word| series.name.contains(word.as_str()))
    };
    let wanted: Vec<&Series> = SERIES.iter().filter(wanted).collect();
    ensure!(!wanted.is_empty(), "no series is called {:?}; there are {:?}", options.only, SERIES.map(|s| s.name));
    println!("client CPU per query (user + system), by turns, {} rounds of {} s", options.pairs, options.seconds);
    println!("{:<22}  {:>8}  {:<16}  {:>8}  {:>20}  bar", "series", "dbduel", "beside", "its", "ratio (min..max)");
    let mut missed = Vec::new();
    for server in ["mariadb@system", "postgres@system"] {
        let series: Vec<&Series> = wanted.iter().copied().filter(|series| series.server == server).collect();
        if !series.is_empty() {
            on_server(options, server, &series, root, &mut missed)?;
        }
    }
    ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
    Ok(())
}

fn on_server(
    options: &ClientCost,
    name: &str,
    series: &[&Series],
    root: &Path,
    missed: &mut Vec<String>,
) -> Result<()> {
    let server = Held::start_or_fail(&dbduel(root)?, name, &[MAX_CONNECTIONS])?;
    load_point_select(&server)?;
    if series.iter().any(|series| series.rivals.contains(&Program::Pgbench)) {
        make_pgbench_tables(&server)?;
    }
    let compared = series.iter().try_for_each(|series| compare(options, series, &server, missed));
    server.stop()?;
    compared
}

/// Runs one series and prints a line per rival.
fn compare(options: &ClientCost, series: &Series, server: &Held, missed: &mut Vec<String>) -> Result<()> {
    let rounds =
        (0..options.pairs).map(|round| run_round(options, series, server, round)).collect::<Result<Vec<_>>>()?;
    for (place, rival) in series.rivals.iter().enumerate() {
        let figures: Vec<(f64, f64)> = rounds.iter().map(|costs| rival.figures(&costs[0], &costs[place + 1])).collect();
        let ratios: Vec<f64> = figures.iter().map(|(ours, theirs)| ours / theirs).collect();
        let (ours, theirs) = figures.into_iter().unzip();
        let (least, most) = ratios.iter().fold((f64::MAX, 0.0_f64), |(l, m), ratio| (l.min(*ratio), m.max(*ratio)));
        let ratio = median(ratios);
        let missed_here = || missed.push(format!("{} beside {rival}", series.name));
        let bar = match rival {
            Program::Floor => Some(FLOOR_BAR),
            Program::Ourselves { .. } => Some(OURSELVES_BAR),
            _ => None,
        };
        let bar = bar.map_or(String::new(), |bar| format!("<= {bar} {}", judge(ratio, bar, missed_here)));
        println!(
            "{:<22}  {:>5.2} us  {:<16}  {:>5.2} us  {ratio:>6.2} ({least:.2}..{most:.2})  {bar}",
            series.name,
            median(ours),
            rival.to_string(),
            median(theirs),
        );
    }
    if series.connections >= MANY_CONNECTIONS {
        let memory_kb = median(rounds.iter().map(|costs| costs[0].connection_kb).collect());
        let verdict = judge(memory_kb, MEMORY_KB_BAR, || missed.push(format!("{} memory", series.name)));
        println!(
            "{:<22}  {memory_kb:.1} KB of client memory per connection  <= {MEMORY_KB_BAR} {verdict}",
            series.name
        );
    }
    Ok(())
}

fn judge(figure: f64, bar: f64, miss: impl FnOnce()) -> &'static str {
    if figure <= bar {
        return "held";
    }
    miss();
    "MISSED"
}

/// What dbduel and each rival cost, in this order; they run in an order that moves on with each round.
fn run_round(options: &ClientCost, series: &Series, server: &Held, round: u32) -> Result<Vec<Cost>> {
    let programs: Vec<Program> = [Program::Ourselves { connections: series.connections }]
        .into_iter()
        .chain(series.rivals.iter().copied())
        .collect();
    let mut costs = vec![Cost::default(); programs.len()];
    for turn in 0..programs.len() {
        let place = (turn + round as usize) % programs.len();
        let (program, script) = (programs[place], series.script);
        costs[place] = match is_lua(script) {
            true => program.run_without_start(server, script, series.connections, options.seconds)?,
            false => program.run(server, script, series.connections, options.seconds)?,
        };
    }
    Ok(costs)
}
