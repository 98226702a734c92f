//! `dbduel advise`: a tuning ladder for one server on one machine, with the reason for each rung.
//!
//! It contacts no server and measures nothing. `--write` makes the ladder an experiment, since only a
//! measurement shows which rungs matter; a file that is there already stays as it is.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Failure, lists, note, print};
use crate::cli::{AdviseArgs, exit};
use advisor::advice::{Advice, Rung, Subject, advise as advice_for};
use engine::memory_need::Need;
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
        let json = serde_json::to_string_pretty(&as_json(&advice)).context("cannot write the advice as JSON")?;
        print(&(json + "\n"))?;
    } else {
        print(&advisor::text::advice(&advice, &args.engine))?;
    }
    Ok(exit::DONE)
}

/// Never over what is there: it may be a ladder that was edited.
fn write_new(path: &Path, text: &str) -> Result<()> {
    let opened = std::fs::OpenOptions::new().write(true).create_new(true).open(path);
    let refused = || format!("cannot write {}; give --write the name of a file that is not there yet", path.display());
    let mut file = opened.with_context(refused)?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

fn as_json(advice: &Advice) -> Value {
    let Machine { memory_bytes, cores, data_bytes } = advice.machine;
    json!({
        "engine": advice.engine.kind(),
        "version": advice.version,
        "memory_bytes": memory_bytes,
        "cores": cores,
        "data_bytes": data_bytes,
        "clients": advice.clients,
        "rungs": advice.rungs.iter().map(rung_as_json).collect::<Vec<_>>(),
        "left": advice.left.iter().map(|left| json!({ "setting": left.setting, "reason": left.reason })).collect::<Vec<_>>(),
        "memory_needed_bytes": { "defaults": total(&advice.need_at_first), "ladder": total(&advice.need_at_last) },
    })
}

fn rung_as_json(rung: &Rung) -> Value {
    let settings = rung.settings.iter().map(|(name, value)| ((*name).to_owned(), Value::from(value.as_str())));
    json!({
        "name": rung.name,
        "settings": settings.collect::<serde_json::Map<_, _>>(),
        "reason": rung.reason,
        "source": rung.source,
        "durability_class": rung.promise,
        "trade": rung.trade,
    })
}

fn total(need: &Need) -> u64 {
    need.total_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_there_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ladder.toml");
        write_new(&path, "mine").unwrap();
        let error = format!("{:#}", write_new(&path, "yours").unwrap_err());
        assert!(error.contains("that is not there yet"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
