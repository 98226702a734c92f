//! `dbduel list`, `host`, `fetch` and `cache`: what there is, and what lies here already.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::{Failure, note, print, print_report};
use crate::KNOWN;
use crate::cli::{CacheAction, CacheArgs, FetchArgs, HostArgs, ListArgs, Listed, exit, format_of};
use engine::request::{ImageSource, PullPolicy};
use engine::{self, Cache};
use experiment::{Origin, VersionRequest, quantity};
use record::RunDir;
use trial::observe::OBSERVERS;

pub fn list(args: &ListArgs) -> Result<u8, Failure> {
    match args.what {
        Some(what) => {
            let rows = rows(what, &args.runs)?;
            print(&if args.json { pretty(Value::Array(rows))? } else { text(what, &rows, &args.runs) })?;
        }
        None => everything(args)?,
    }
    Ok(exit::DONE)
}

/// All lists, each below its name.
fn everything(args: &ListArgs) -> Result<()> {
    let mut all = serde_json::Map::new();
    for what in Listed::ALL {
        all.insert(name(what), Value::Array(rows(what, &args.runs)?));
    }
    if args.json {
        return print(&pretty(Value::Object(all))?);
    }
    let titled = |what: Listed| {
        let rows = all[&name(what)].as_array().map_or(&[][..], Vec::as_slice);
        format!("{}\n{}", name(what).to_uppercase(), text(what, rows, &args.runs))
    };
    print(&Listed::ALL.map(titled).join("\n"))
}

fn name(what: Listed) -> String {
    what.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

pub fn pretty(rows: Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(&rows).context("cannot write the list as JSON")? + "\n")
}

pub fn rows(what: Listed, folder: &Path) -> Result<Vec<Value>> {
    Ok(match what {
        Listed::Engines => engines()?,
        Listed::Workloads => {
            KNOWN.workloads.0.iter().map(|kind| entry(kind.name, kind.description, kind.example)).collect()
        }
        Listed::Kinds => workloads::listed_kinds().iter().map(kind).collect(),
        Listed::Observers => OBSERVERS.iter().map(|kind| entry(kind.name, kind.description, kind.example)).collect(),
        Listed::Reports => formats().map(|(name, description, example)| entry(name, description, example)).collect(),
        Listed::Runs => RunDir::all(folder)?.iter().map(run).collect(),
    })
}

/// Which server a name in an experiment stands for.
const RULE_OF_VERSIONS: &str = "NAME@VERSION is that version, NAME@SERIES or NAME the newest that is known of it; one that is installed in this \
     version is used as it is, any other is fetched. NAME@system is the installed one, whatever its version.";

pub fn text(what: Listed, rows: &[Value], folder: &Path) -> String {
    let line = |kind: &&dyn engine::Engine| {
        format!("\n{}: {}; engine = \"{}\"", kind.kind(), kind.description(), kind.example())
    };
    match what {
        Listed::Engines => {
            table(&rows.iter().map(without_image).collect::<Vec<_>>())
                + &KNOWN.engines.0.iter().map(line).collect::<String>()
                + "\n\n"
                + &report::wrapped(RULE_OF_VERSIONS, terminal::width()).join("\n")
                + "\n"
        }
        Listed::Runs if rows.is_empty() => {
            format!("no run is stored under `{}` yet\n  next: dbduel run {}\n", folder.display(), crate::shipped::FIRST)
        }
        Listed::Runs => table(&rows.iter().map(in_words).collect::<Vec<_>>()),
        _ => table(rows),
    }
}

/// The row of a server without what only programs read.
fn without_image(row: &Value) -> Value {
    let mut row = row.clone();
    row.as_object_mut().map(|row| row.shift_remove("image"));
    row
}

/// The row of a run with its time to the second, and why it ended as a reader has it.
pub fn in_words(row: &Value) -> Value {
    let mut row = row.clone();
    for time in ["started", "pushed"] {
        if let Some(text) = row[time].as_str().map(str::to_owned) {
            row[time] = text.split('.').next().unwrap_or_default().trim_end_matches('Z').replace('T', " ").into();
        }
    }
    if row["ended"] == "blocks" {
        row["ended"] = "completed".into();
    }
    row
}

/// A stored run in one line; one that cannot be read is listed all the same.
fn run(run: &RunDir) -> Value {
    let one = run.summary();
    let ended = match (one.damage, one.ended_by) {
        (Some(damage), _) => format!("cannot be read: {damage}"),
        (None, why) => why.unwrap_or_else(|| "not ended".to_owned()),
    };
    let trials = if one.name.is_empty() { String::new() } else { format!("{} of {}", one.trials, one.planned) };
    json!({
        "run": one.run, "started": one.started, "ended": ended, "trials": trials, "contenders": one.contenders.join(", "),
        "labels": one.labels,
    })
}

/// A kind of statements of the workload `micro`.
fn kind(kind: &workloads::ListedKind) -> Value {
    let lacking: Vec<String> = kind.not_on.iter().map(|(dialect, why)| format!("{}: {why}", dialect.name())).collect();
    json!({
        "group": kind.group, "kind": kind.name, "does": kind.does, "sysbench": kind.sysbench.as_deref().unwrap_or_default(),
        "not on": lacking.join("; "),
    })
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
        let name = format!("{}@{}", listed.kind, listed.version);
        let mut row = json!({ "engine": name, "state": state, "source": listed.source });
        if let Some(image) = listed.image {
            row["image"] = json!(image);
        }
        row
    };
    Ok(KNOWN.engines.list(&cache).into_iter().map(row).collect())
}

/// Columns as wide as their widest cell; the keys of the rows are the headings.
pub fn table(rows: &[Value]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING);
    let cells = |row: &Value| row.as_object().into_iter().flatten().map(|(_, value)| cell(value)).collect::<Vec<_>>();
    if let Some(first) = rows.first().and_then(Value::as_object) {
        table.set_header(first.keys());
    }
    table.add_rows(rows.iter().map(cells));
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

/// A text as it is, and labels as `branch=main, commit=4f2a91c`.
fn cell(value: &Value) -> String {
    let labels = |labels: &serde_json::Map<String, Value>| {
        let each = labels.iter().map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
        each.collect::<Vec<_>>().join(", ")
    };
    value.as_object().map_or_else(|| value.as_str().unwrap_or_default().to_owned(), labels)
}

pub fn fetch(args: &FetchArgs) -> Result<u8, Failure> {
    let resolved = args.engines.iter().map(|name| request(name)).collect::<Result<Vec<_>>>().map_err(Failure::usage)?;
    let images = args.image.iter().map(|image| source(image)).collect::<Result<Vec<_>>>().map_err(Failure::usage)?;
    let interrupted = engine::interruption::flag(exit::INTERRUPTED).context("cannot catch signals")?;
    let fetched = engine::interruption::ending_servers(&interrupted, || fetch_all(resolved, images, &args.archive));
    match fetched {
        Err(_) if interrupted.load(Ordering::Relaxed) => Ok(exit::INTERRUPTED),
        fetched => Ok(fetched.map(|()| exit::DONE)?),
    }
}

fn fetch_all(resolved: Vec<engine::Resolved>, images: Vec<ImageSource>, archives: &[PathBuf]) -> Result<()> {
    let cache = Cache::open()?;
    for resolved in resolved {
        let installation = engine::provision(&resolved, &cache, &note)?;
        print(&format!("{} {}: {}\n", resolved.kind, resolved.version, installation.source))?;
    }
    for image in images {
        let fetched = KNOWN.engines.fetch_image(&image, &cache, &note);
        let (image, holds) = fetched.with_context(|| format!("cannot fetch the image {}", image.reference))?;
        print(&format!("{}  {}\n", image.reference, holds))?;
    }
    for file in archives {
        let fetched = KNOWN.engines.fetch_archive(file, &cache, &note);
        print(&format!(
            "{}  {}\n",
            file.display(),
            fetched.with_context(|| format!("cannot unpack {}", file.display()))?
        ))?;
    }
    Ok(())
}

/// An image of the command line; its paths are relative to the current folder.
fn source(image: &str) -> Result<ImageSource> {
    let is_in_files = engine::expect_image(image).map_err(anyhow::Error::msg)?;
    let reference = match image.split_once(':').filter(|_| is_in_files) {
        Some((prefix, path)) => format!("{prefix}:{}", std::path::absolute(path)?.display()),
        None => image.to_owned(),
    };
    Ok(ImageSource { reference, digest: None, index_digest: None, server: None, pull: PullPolicy::Always })
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

/// `dbduel host`: this machine, with the disk on which servers keep their data.
pub fn host(args: &HostArgs) -> Result<u8, Failure> {
    let host = trial::host::describe(Cache::open()?.root());
    print_report(&report::hardware::write(&host, format_of(&args.format, args.json), terminal::width())?)?;
    Ok(exit::DONE)
}

pub fn cache(args: &CacheArgs) -> Result<u8, Failure> {
    let cache = Cache::open()?;
    if let Some(CacheAction::Clear { image: Some(image) }) = &args.action {
        let reference = source(image).map_err(Failure::usage)?.reference;
        let freed = quantity::bytes_text(engine::clear_image(&cache, &reference, &note)?);
        print(&format!("{freed} freed in {}\n", cache.root().display()))?;
        return Ok(exit::DONE);
    }
    if args.action.is_some() {
        let freed = quantity::bytes_text(cache.clear(&note)?);
        print(&format!("{freed} freed in {}\n", cache.root().display()))?;
        return Ok(exit::DONE);
    }
    let contents = cache.contents()?;
    let bytes: u64 = contents.iter().map(|entry| entry.bytes).sum();
    let name = |entry: &engine::CacheEntry| engine::image_in_cache(&cache, &entry.name).unwrap_or(entry.name.clone());
    let row = |entry: &engine::CacheEntry| json!({ "what": entry.kind, "name": name(entry), "size": quantity::bytes_text(entry.bytes) });
    print(&table(&contents.iter().map(row).collect::<Vec<_>>()))?;
    print(&format!("{} in {}\n", quantity::bytes_text(bytes), cache.root().display()))?;
    Ok(exit::DONE)
}

/// Formats that reports are written in by name: those of `report`, and the tables of `columnar`.
pub fn formats() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let reports = report::REPORTS.iter().map(|one| (one.name(), one.description(), one.example()));
    reports.chain([(columnar::NAME, columnar::DESCRIPTION, columnar::EXAMPLE)])
}
