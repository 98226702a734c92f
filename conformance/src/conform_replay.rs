//! `cargo xtask conform-replay`: do logs that are replayed end, and leave the tables that production left?
//!
//! A real server logs a real load: PostgreSQL that of pgbench and of sessions that hand a lock to each other, MariaDB that
//! of dbduel's own `bench`. Each log is replayed on a copy of the data as they were when it began, at each pace and again
//! and again. No replay may hang, every statement is answered, and the tables must be those of production, or those of
//! another replay where the load leaves more than one end open. Settings that change answers are planted in one of two
//! servers: the statements concerned are named, and no others.

mod answers;
mod mariadb;
mod postgres;
mod series;

use std::path::Path;

use anyhow::{Result, ensure};

use crate::held::dbduel;
use series::{Extent, heading};

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
}

pub fn run(options: &ConformReplay, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let extent = match options.short {
        true => Extent { turns: 2, seconds: 3 },
        false => Extent { turns: options.turns, seconds: 12 },
    };
    println!("{}", heading());
    let is_asked = |engine: &str| options.engines.is_empty() || options.engines.iter().any(|asked| asked == engine);
    let mut wrong = if is_asked("postgres") { postgres::run(extent, &dbduel)? } else { 0 };
    if is_asked("mariadb") {
        wrong += mariadb::run(extent, &dbduel)?;
        wrong += answers::run(extent, &dbduel)?;
    }
    ensure!(wrong == 0, "{wrong} of the replays hung, lost statements or left other tables");
    Ok(())
}
