//! `dbduel list`, `fetch` and `cache`: what there is, and what lies here already.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::{Failure, note, print};
use crate::KNOWN;
use crate::cli::{CacheAction, CacheArgs, FetchArgs, ListArgs, Listed, exit};
use engine::{self, Cache};
use experiment::{Origin, VersionRequest, quantity};
use report::REPORTS;
use trial::observe::OBSERVERS;

pub fn list(args: &ListArgs) -> Result<u8, Failure> {
    let rows = match args.what {
        Listed::Engines => engines()?,
        Listed::Workloads => {
            KNOWN.workloads.0.iter().map(|kind| entry(kind.name, kind.description, kind.example)).collect()
        }
        Listed::Observers => OBSERVERS.iter().map(|kind| entry(kind.name, kind.description, kind.example)).collect(),
        Listed::Reports => {
            REPORTS.iter().map(|report| entry(report.name(), report.description(), report.example())).collect()
        }
    };
    if args.json {
        print(&(serde_json::to_string_pretty(&rows).context("cannot write the list as JSON")? + "\n"))?;
    } else {
        print(&table(&rows))?;
        if args.what == Listed::Engines {
            let line = |kind: &&dyn engine::Engine| {
                format!("\n{}: {}; engine = \"{}\"", kind.kind(), kind.description(), kind.example())
            };
            print(&(KNOWN.engines.0.iter().map(line).collect::<String>() + "\n"))?;
        }
    }
    Ok(exit::DONE)
}

fn entry(name: &str, description: &str, example: &str) -> Value {
    json!({ "name": name, "description": description, "example": example.replace('\n', "; ") })
}

fn engines() -> Result<Vec<Value>> {
    let cache = Cache::open()?;
    let row = |listed: engine::Listed| {
        let state = match (listed.here, listed.download_bytes) {
            (true, _) => "here".to_owned(),
            (false, bytes) => format!("{} to fetch", quantity::bytes_text(bytes)),
        };
        json!({ "engine": format!("{}@{}", listed.kind, listed.version), "state": state, "source": listed.source })
    };
    Ok(KNOWN.engines.list(&cache).into_iter().map(row).collect())
}

/// Columns as wide as their widest cell; the keys of the rows are the headings.
fn table(rows: &[Value]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    let cells = |row: &Value| {
        row.as_object()
            .into_iter()
            .flatten()
            .map(|(_, value)| value.as_str().unwrap_or("").to_owned())
            .collect::<Vec<_>>()
    };
    if let Some(first) = rows.first().and_then(Value::as_object) {
        table.set_header(first.keys());
    }
    table.add_rows(rows.iter().map(cells));
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

pub fn fetch(args: &FetchArgs) -> Result<u8, Failure> {
    let resolved = args.engines.iter().map(|name| request(name)).collect::<Result<Vec<_>>>().map_err(Failure::usage)?;
    let cache = Cache::open()?;
    for resolved in resolved {
        let installation = engine::provision(&resolved, &cache, &note)?;
        print(&format!("{} {}: {}\n", resolved.kind, resolved.version, installation.source))?;
    }
    Ok(exit::DONE)
}

fn request(name: &str) -> Result<engine::Resolved> {
    named(name).with_context(|| format!("cannot fetch `{name}`"))
}

/// The server of a name: `mysql@5.6.24`, `mysql`, `mariadb@10.11.*`, `postgres@system`.
pub fn named(name: &str) -> Result<engine::Resolved> {
    let (kind, version) = name.split_once('@').map_or((name, None), |(kind, version)| (kind, Some(version)));
    let request = match version {
        None => VersionRequest::Newest,
        Some("system") => VersionRequest::System,
        Some(series) => VersionRequest::Series(series.trim_end_matches(".*").to_owned()),
    };
    KNOWN.engines.resolve(kind, &request, &Origin::Managed)
}

pub fn cache(args: &CacheArgs) -> Result<u8, Failure> {
    let cache = Cache::open()?;
    if args.action == Some(CacheAction::Clear) {
        let freed = quantity::bytes_text(cache.clear(&note)?);
        print(&format!("{freed} freed in {}\n", cache.root().display()))?;
        return Ok(exit::DONE);
    }
    let contents = cache.contents()?;
    let bytes: u64 = contents.iter().map(|entry| entry.bytes).sum();
    let row = |entry: &engine::CacheEntry| json!({ "what": entry.kind, "name": entry.name, "size": quantity::bytes_text(entry.bytes) });
    print(&table(&contents.iter().map(row).collect::<Vec<_>>()))?;
    print(&format!("{} in {}\n", quantity::bytes_text(bytes), cache.root().display()))?;
    Ok(exit::DONE)
}
