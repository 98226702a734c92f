//! `cargo xtask conform-pgbench`: does our language of scripts mean what pgbench 15 means?
//!
//! Expressions, hashes and permutations are evaluated by the real pgbench and by us; each value and each error has to
//! be the same. Draws of both are held against the distributions of its manual. Builtin scripts of both run on one
//! server, whose log counts their statements; reports of both are compared with their numbers masked. Where pgbench is not installed nothing is compared, which is printed.

mod counts;
mod draws;
mod expressions;
mod generator;
mod layouts;
pub mod program;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::held::{Held, dbduel};
use program::Pgbench;

#[derive(clap::Args)]
pub struct ConformPgbench {
    /// Random expressions
    #[arg(long, default_value_t = 2_000)]
    expressions: usize,
    /// Hashes and permutations
    #[arg(long, default_value_t = 10_000)]
    hashes: u64,
    /// Draws of each distribution
    #[arg(long, default_value_t = 5_000)]
    draws: u64,
    /// Seed of random expressions and of the real pgbench
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Everything in the size for a release: 1,000,000 expressions, 100,000 hashes, 1,000,000 draws
    #[arg(long)]
    full: bool,
    /// Write what the real pgbench makes of the table of expressions into the table
    #[arg(long)]
    bless: bool,
}

pub fn run(options: &ConformPgbench, root: &Path) -> Result<()> {
    if !Pgbench::is_here() {
        println!("NOT COMPARED: pgbench 15 is not installed here\n  next: install the package postgresql-15");
        return Ok(());
    }
    let dbduel = dbduel(root)?;
    let logs = tempfile::tempdir()?;
    std::fs::set_permissions(logs.path(), std::fs::Permissions::from_mode(0o777))?;
    let folder = format!("log_directory={}", logs.path().display());
    let settings = ["max_connections=120", "autovacuum=off", "logging_collector=on", "log_filename=log", &folder];
    let server = Held::start_or_fail(&dbduel, "postgres@system", &settings)?;
    let pgbench = Pgbench::new(&server)?;
    if options.bless {
        expressions::bless(&pgbench, root)?;
        return server.stop();
    }
    let (random, hashes, drawn) = match options.full {
        true => (1_000_000, 100_000, 1_000_000),
        false => (options.expressions, options.hashes, options.draws),
    };
    let mut wrong = expressions::table(&pgbench, root)?;
    wrong += expressions::random(&pgbench, options.seed, random)?;
    wrong += expressions::hashes(&pgbench, options.seed, hashes)?;
    wrong += draws::compare(&pgbench, options.seed, drawn)?;
    wrong += draws::ours(options.seed, drawn);
    wrong += counts::compare(&pgbench, &server, &dbduel, &logs.path().join("log"))?;
    wrong += layouts::compare(&pgbench, &dbduel)?;
    server.stop()?;
    let mariadb = Held::start_or_fail(&dbduel, "mariadb@system", &[])?;
    wrong += counts::on_mariadb(&mariadb, &dbduel)?;
    mariadb.stop()?;
    ensure!(wrong == 0, "{wrong} of the comparisons are not as they should be");
    Ok(())
}
