//! `dbduel advise`: a tuning ladder for one server on one machine, with the reason for each rung.
//!
//! It contacts no server and measures nothing. `--write` makes the ladder an experiment, since only a
//! measurement shows which rungs matter; a file that is there already stays as it is.

use anyhow::Context;

use super::written::write_new;
use super::{Failure, lists, note, print};
use crate::cli::{AdviseArgs, exit};
use advisor::advice::{Subject, advise as advice_for};
use engine::tunable::Machine;
use experiment::shell_path;

pub fn advise(args: &AdviseArgs) -> Result<u8, Failure> {
    let resolved = lists::named(&args.engine)
        .with_context(|| format!("cannot advise on `{}`", args.engine))
        .map_err(Failure::usage)?;
    let machine = Machine { memory_bytes: args.memory, cores: args.cores, data_bytes: args.data };
    let subject = Subject { engine: resolved.engine(), version: &resolved.version, machine, clients: args.clients };
    let advice = advice_for(&subject).map_err(Failure::usage)?;
    if let Some(path) = &args.write {
        write_new(path, &advisor::file::experiment(&advice, &args.engine, &crate::KNOWN)?).map_err(Failure::usage)?;
        note(&format!("written: {}; `dbduel plan {}` shows what it would do", path.display(), shell_path(path)));
    }
    if args.json {
        let json =
            serde_json::to_string_pretty(&advisor::json::advice(&advice)).context("cannot write the advice as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&advisor::text::advice(&advice, &args.engine))?;
    }
    Ok(exit::DONE)
}
