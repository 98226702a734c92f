//! `cargo xtask conform-pooler`: PgBouncer between the load and PostgreSQL, in its three modes, and ProxySQL between the
//! load and MariaDB.
//!
//! A mode has to be recognised by what it answers alone, and by what its console shows. What cannot come through it has
//! to be refused before the load, with the option that changes it; what does come through has to be counted by dbduel as
//! the server counts it. A program that is not installed is named, and nothing is compared with it.

mod bouncer;
mod common;
mod pgbouncer;
mod proxy;
mod proxysql;

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::held::dbduel;
use common::Outcomes;

#[derive(clap::Args)]
pub struct ConformPooler {
    /// PgBouncer's program
    #[arg(long, default_value = "pgbouncer")]
    pgbouncer: PathBuf,
    /// ProxySQL's program
    #[arg(long, default_value = "proxysql")]
    proxysql: PathBuf,
}

pub fn run(options: &ConformPooler, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let mut outcomes = Outcomes::default();
    pgbouncer::compare(&dbduel, &options.pgbouncer, &mut outcomes)?;
    proxysql::compare(&dbduel, &options.proxysql, &mut outcomes)?;
    outcomes.expect_all()
}
