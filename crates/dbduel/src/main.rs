//! dbduel: which of these database servers is faster for this work, by how much, and how sure are we?
//!
//! `main` reads the command line, lets `commands.rs` do the work, and turns failures into messages
//! and exit statuses. Nothing else happens here, but for the two hidden roles this program plays for
//! itself: the keeper of a server, and the hand of the tests.

mod analysis;
mod cli;
mod commands;
mod engine;
mod experiment;
mod observe;
mod plan;
mod report;
mod store;
mod trial;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::experiment::Mistakes;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        // Before anything else: the keeper must be a process with one thread and no ambitions.
        Some(first) if first == engine::keeper::SUBCOMMAND => engine::keeper::keeper_main(args),
        Some(first) if first == engine::hidden::SUBCOMMAND => engine::hidden::main(args.collect::<Vec<OsString>>()),
        _ => {}
    }
    match commands::dispatch(&cli::Cli::parse()) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            eprintln!("{}", message(&failure.error));
            ExitCode::from(failure.status)
        }
    }
}

/// What went wrong, and because of what; the mistakes of a file speak for themselves.
fn message(error: &anyhow::Error) -> String {
    if let Some(mistakes) = error.downcast_ref::<Mistakes>() {
        return mistakes.to_string();
    }
    let because = error.chain().skip(1).map(|cause| format!("\n  because: {cause}"));
    format!("error: {error}{}", because.collect::<String>())
}
