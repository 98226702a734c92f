//! `cargo xtask advise`: is every piece of advice taken by the real server it is meant for?
//!
//! For each server and five sizes of machine; dbduel itself does the work (`engine/vetting.rs`).

use std::path::Path;

use anyhow::Result;

use crate::held::dbduel;

#[derive(clap::Args)]
pub struct Advise {
    /// Only servers whose name begins so: mysql, postgres@17, mariadb@system [default: all]
    name: Option<String>,
    /// Download the servers that are not here yet
    #[arg(long)]
    fetch: bool,
}

pub fn run(options: &Advise, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let mut words = vec!["__engines", "advise"];
    words.extend(options.fetch.then_some("--fetch"));
    words.extend(options.name.as_deref());
    crate::run(root, &dbduel.to_string_lossy(), &words, &[])
}
