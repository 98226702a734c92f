//! dbduel: which of these database servers is faster for this work, by how much, and how sure are we?
//!
//! `main` reads the command line, lets `commands.rs` do the work, and turns failures into messages
//! and exit statuses. Nothing else happens here.

mod cli;
mod commands;
mod engine;
mod experiment;
mod plan;
mod store;

use std::process::ExitCode;

use clap::Parser;

use crate::experiment::Mistakes;

fn main() -> ExitCode {
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
