//! `dbduel serve`: web pages of stored and running experiments.

use anyhow::Context;

use super::{Failure, note, print};
use crate::cli::{ServeArgs, exit};

/// Serves until it is interrupted, which is how it is meant to end.
pub fn serve(args: &ServeArgs) -> Result<u8, Failure> {
    let server = web::Server::bind(args.listen, args.runs.clone()).map_err(Failure::usage)?;
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    print(&format!("http://{}/\n", server.address()))?;
    note(&format!("runs under `{}`, read-only; Ctrl-C ends it", args.runs.display()));
    server.run(&interrupted)?;
    Ok(exit::DONE)
}
