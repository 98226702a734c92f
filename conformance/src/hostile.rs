//! `cargo xtask hostile`: servers that do wrong, against every command that connects to one.
//!
//! A server here answers as it should up to a step, and from there on does one kind of mischief. What must stay
//! true of every case: the command ends by itself within its limit, fails, names the server and the cause, gives
//! no rate that could be believed, and needs no more memory than a usual run. Servers listen on loopback or in a
//! private folder only.

mod cases;
mod client;
mod mischief;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use self::cases::Case;
use crate::held::dbduel;

#[derive(clap::Args)]
pub struct Hostile {
    /// Fewer cases: each mischief, each step and each command at least once
    #[arg(long)]
    short: bool,
    /// Only cases whose name holds this
    name: Option<String>,
}

/// Commands under way at a time: most of them wait.
const AT_A_TIME: usize = 24;

pub fn run(options: &Hostile, root: &Path) -> Result<()> {
    let program = dbduel(root)?;
    let wanted = options.name.as_deref().unwrap_or_default();
    let cases: Vec<Case> = cases::all(options.short).into_iter().filter(|case| case.name().contains(wanted)).collect();
    ensure!(!cases.is_empty(), "no case has `{wanted}` in its name");
    let begun = Instant::now();
    let failed = try_all(&cases, &program)?;
    println!("{} cases in {:.0} s, {} failed", cases.len(), begun.elapsed().as_secs_f64(), failed.len());
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// What went wrong, case by case.
fn try_all(cases: &[Case], program: &Path) -> Result<Vec<String>> {
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = try_one(case, program) {
                let text = format!("{}: {error:#}", case.name());
                println!("failed   {text}");
                failed.lock().expect("no thread panics while holding the failures").push(text);
            }
        }
    };
    std::thread::scope(|scope| (0..AT_A_TIME).for_each(|_| drop(scope.spawn(work))));
    Ok(failed.into_inner().expect("no thread panics while holding the failures"))
}

fn try_one(case: &Case, program: &Path) -> Result<()> {
    let folder = tempfile::tempdir().context("no folder for a case")?;
    let server = server::Server::start(case.dialect, case.plan(), &socket(case, folder.path()))?;
    let seen = client::observe(case, program, &server, folder.path())?;
    client::judge(case, &server, &seen)
}

/// MySQL listens on a socket file, PostgreSQL on loopback, so that both ways are tried.
fn socket(case: &Case, folder: &Path) -> Option<PathBuf> {
    (case.dialect == driver::Dialect::MySql).then(|| folder.join("sock"))
}
