//! `dbduel serve`: web pages of stored and running experiments.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::Context;

use super::mirror::Mirror;
use super::{Failure, note, print, stored};
use crate::cli::{ServeArgs, exit};

/// Serves until it is interrupted, which is how it is meant to end.
pub fn serve(args: &ServeArgs) -> Result<u8, Failure> {
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let Some(url) = stored::url(args.store.store.as_deref())? else {
        return serve_folder(args, &args.runs, &args.runs.display().to_string(), &interrupted);
    };
    let mirror = Mirror::of(&url)?;
    let served = serve_folder(args, mirror.path(), &url.to_string(), &interrupted);
    mirror.end();
    served
}

fn serve_folder(args: &ServeArgs, runs: &Path, place: &str, interrupted: &Arc<AtomicBool>) -> Result<u8, Failure> {
    let server = web::Server::bind(args.listen, runs.to_owned(), place).map_err(Failure::usage)?;
    print(&format!("http://{}/\n", server.address()))?;
    note(&format!("runs under `{place}`, read-only; Ctrl-C ends it"));
    server.run(interrupted)?;
    Ok(exit::DONE)
}
