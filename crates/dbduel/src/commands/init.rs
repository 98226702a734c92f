//! `dbduel init`: an experiment file for two servers, on standard output or as a new file.

use std::path::Path;

use anyhow::Result;

use super::written::write_new;
use super::{Failure, print};
use crate::KNOWN;
use crate::cli::{InitArgs, exit};
use experiment::{Experiment, Overrides, new_file, shell_path};

pub fn init(args: &InitArgs) -> Result<u8, Failure> {
    let text = new_file(&KNOWN, &args.servers, &args.workload).map_err(Failure::usage)?;
    // The workload may need options of its own, or refuse one of the servers.
    let name = args.out.as_deref().unwrap_or(Path::new("experiment.toml"));
    Experiment::parse(&text, &name.display().to_string(), &KNOWN, &Overrides::default()).map_err(Failure::usage)?;
    match &args.out {
        None => print(&text)?,
        Some(path) => {
            write_new(path, &text).map_err(Failure::usage)?;
            print(&format!("{} written\n  next: dbduel plan {}\n", path.display(), shell_path(path)))?;
        }
    }
    Ok(exit::DONE)
}
