//! The developer commands: `cargo xtask NAME`.
//!
//! Each command is a thin wrapper that prints what it runs, so that it can be typed by hand as well. Commands that measure
//! or take real servers are in the package `conformance`, which is built when one of them is called.

mod circles;
mod files;
mod fuzz;
mod programs;
mod release;
mod site;
mod test_runs;
mod tidy;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use programs::run;

/// Developer commands of dbduel
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Format, lint, tidy and all quick tests: run it before every commit
    Check {
        /// Only these crates, with the transcripts and pages that they can change; whole runs are left to the whole check
        crates: Vec<String>,
    },
    /// Check that arrows between crates and modules point one way and that no package registry is named
    Tidy,
    /// Rewrite the golden files and show what changed, to be reviewed like code
    Bless,
    /// Write docs/reference from the program's own lists
    Reference,
    /// Make what is handed out, build it again to compare, or try it; or package every crate
    Release(release::Release),
    /// Build the documentation as pages in target/book, and follow every link
    Site {
        /// Show this HTML report as the example, and not that of a run made for it
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// Run one fuzz target, or all of them, for a time or for a number of inputs
    Fuzz(fuzz::Fuzz),
    /// List the commands that measure or take real servers
    Conformance,
    #[command(external_subcommand)]
    OfConformance(Vec<OsString>),
}

fn main() -> ExitCode {
    match perform(Cli::parse().task, &workspace_root()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn perform(task: Task, root: &Path) -> Result<()> {
    match task {
        Task::Check { crates } => check(root, &crates),
        Task::Tidy => tidy::tidy(root),
        Task::Bless => bless(root),
        Task::Reference => reference(root),
        Task::Release(options) => release::release(&options, root),
        Task::Site { report } => site::site(root, report.as_deref()),
        Task::Fuzz(options) => match options.seeded() {
            Some(words) => conformance(root, &words.map(OsString::from)),
            None => fuzz::fuzz(&options, root),
        },
        Task::Conformance => conformance(root, &["--help".into()]),
        Task::OfConformance(arguments) => conformance(root, &arguments),
    }
}

/// Becomes the command of the other package, so that signals and its exit status are its own.
fn conformance(root: &Path, arguments: &[OsString]) -> Result<()> {
    let mut cargo = Command::new("cargo");
    programs::without_own_package(&mut cargo);
    cargo.args(["run", "--quiet", "--package", "conformance", "--"]).args(arguments);
    let error = cargo.current_dir(root).exec();
    Err(error).context("cannot start `cargo`")
}

/// The folder that holds the workspace: the one above this crate.
fn workspace_root() -> PathBuf {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_dir.parent().expect("xtask lies in the workspace").to_owned()
}

/// From the quickest to the slowest, so that a slip shows early.
fn check(root: &Path, crates: &[String]) -> Result<()> {
    run(root, "cargo", &["fmt", "--all", "--check"], &[])?;
    tidy::tidy(root)?;
    if crates.is_empty() { test_runs::run(root) } else { test_runs::run_of(root, crates) }
}

fn bless(root: &Path) -> Result<()> {
    run(root, "cargo", &["test", "--workspace"], &[("DBDUEL_BLESS", "1")])?;
    // `status` too: a golden file that was never there does not show in a diff.
    run(root, "git", &["diff", "--stat"], &[])?;
    run(root, "git", &["status", "--short"], &[])
}

/// The generator is a test of dbduel, which has the lists; with this variable it writes what it else compares.
fn reference(root: &Path) -> Result<()> {
    let test = ["test", "--quiet", "-p", "dbduel", "--bin", "dbduel", "reference"];
    run(root, "cargo", &test, &[("DBDUEL_BLESS", "1")])?;
    run(root, "git", &["status", "--short", "docs/reference"], &[])
}
