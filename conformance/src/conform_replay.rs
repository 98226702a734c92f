//! `cargo xtask conform-replay`: do logs that are replayed end, and leave the tables that production left?
//!
//! A real server logs a real load: PostgreSQL that of pgbench and of sessions that hand a lock to each other, MariaDB that
//! of dbduel's own `bench`. Each log is replayed on a copy of the data as they were when it began, at each pace and again
//! and again. No replay may hang, every statement is answered, and the tables must be those of production, or those of
//! another replay where the load leaves more than one end open. Settings that change answers are planted in one of two
//! servers: the statements concerned are named, and no others.

mod answers;
mod cost;
mod kinds;
mod mariadb;
mod postgres;
mod privacy;
mod series;
mod walk;

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::bench::done_in_release;
use crate::held::dbduel;
use series::{Extent, heading};
use walk::{FAST, ORIGINAL, RATE, Walk};

#[derive(clap::Args)]
pub struct ConformReplay {
    /// Servers to log with [default: both]
    #[arg(value_name = "ENGINE", value_parser = ["postgres", "mariadb"])]
    engines: Vec<String>,
    /// Replays of each log at each pace
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Two turns over loads of three seconds
    #[arg(long)]
    short: bool,
    /// The walk of docs/guide/replay.md instead: from a busy shop to a verdict between two servers
    #[arg(long)]
    walk: bool,
    /// With --walk: from this server to that one [default: mariadb@system twice]
    #[arg(long, value_name = "ENGINE@VERSION", num_args = 2, requires = "walk")]
    between: Vec<String>,
    /// With --walk: so many comparisons of the one capture, and, from 2 on, as many of two servers that are alike
    #[arg(long, default_value_t = 1, requires = "walk", value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// With --walk: at the log's pace, where nothing else may take a tenth of what the planted statement takes longer
    #[arg(long, requires = "walk")]
    paced: bool,
    /// A log of MariaDB and one of PostgreSQL, each on both kinds of servers, instead
    #[arg(long, conflicts_with = "walk")]
    kinds: bool,
    /// The search for production's values in runs and reports instead
    #[arg(long, conflicts_with_all = ["walk", "kinds"])]
    privacy: bool,
    /// What a statement costs beside pgbench and pgreplay instead; as many turns
    #[arg(long, conflicts_with_all = ["walk", "privacy"])]
    cost: bool,
    /// With --cost: statements of each of eight sessions
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..))]
    statements: u32,
}

pub fn run(options: &ConformReplay, root: &Path) -> Result<()> {
    if options.cost && done_in_release(root)? {
        return Ok(());
    }
    let dbduel = dbduel(root)?;
    if options.cost {
        return cost::run(&dbduel, options.turns, options.statements);
    }
    let extent = match options.short {
        true => Extent { turns: 2, seconds: 3 },
        false => Extent { turns: options.turns, seconds: 12 },
    };
    let is_asked = |engine: &str| options.engines.is_empty() || options.engines.iter().any(|asked| asked == engine);
    if options.walk {
        let [old, new] = match options.between.as_slice() {
            [old, new] => [old, new].map(String::as_str),
            _ => ["mariadb@system"; 2],
        };
        let (seconds, blocks) = if options.short { (3, 10) } else { (10, 12) };
        let walk = Walk { old, new, seconds, rate: RATE, blocks, repeats: options.repeats, pacing: FAST };
        let walk = match options.paced {
            // So few that none is sent while the slow one runs.
            true => Walk { seconds: 3, rate: 30, blocks: 10, pacing: ORIGINAL, ..walk },
            false => walk,
        };
        let wrong = walk::run(&walk, &dbduel)?.unwrap_or(0);
        ensure!(wrong == 0, "the walk did not find what was planted, or found what was not");
        return Ok(());
    }
    if options.kinds {
        let wrong = kinds::run(extent, &dbduel)?;
        ensure!(wrong == 0, "two kinds of servers were sent other statements, or answered otherwise");
        return Ok(());
    }
    if options.privacy {
        let mut wrong = 0;
        for (engine, differing) in
            [("mariadb", "sql_mode = \"PIPES_AS_CONCAT\""), ("postgres", "bytea_output = \"escape\"")]
        {
            if is_asked(engine) {
                wrong += privacy::run(&dbduel, &format!("{engine}@system"), differing).context(engine)?;
            }
        }
        ensure!(wrong == 0, "values of production were found where none may be");
        return Ok(());
    }
    println!("{}", heading());
    let mut wrong = if is_asked("postgres") { postgres::run(extent, &dbduel)? } else { 0 };
    if is_asked("mariadb") {
        wrong += mariadb::run(extent, &dbduel)?;
        wrong += answers::run(extent, &dbduel)?;
    }
    ensure!(wrong == 0, "{wrong} of the replays hung, lost statements or left other tables");
    Ok(())
}
