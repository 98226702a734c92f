//! Runs of a team in PostgreSQL: `dbduel push`, `pull` and `runs`, and what other commands read from there.
//!
//! A run of a store is read by copying it into a folder that goes away, so that everything which reads a folder reads
//! a store.

#![expect(unsafe_code, reason = "niceness, which nix does not set")]

use std::ops::Deref;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use engine::STORE_VARIABLE;
use record::run_copy::{expect_inside, part};
use record::{RunDir, shell::shell_path};
use serde_json::{Value, json};
use store::{Copied, Moment, Pushed, Store, StoreUrl, Stored, Violation};
use tempfile::TempDir;

use super::{Failure, lists, note, print};
use crate::cli::{Listed, PullArgs, PushArgs, RunsArgs, StoreArgs, exit};

/// Behind what may be measured on this host meanwhile.
const NICENESS: i32 = 10;

/// A run to read, and the folder that a copy of it lies in.
pub struct Opened {
    run: RunDir,
    copy: Option<TempDir>,
}

impl Opened {
    /// Whether it is a copy out of a store.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }
}

impl Deref for Opened {
    type Target = RunDir;

    fn deref(&self) -> &RunDir {
        &self.run
    }
}

/// A run of a folder, or of a store where one is named.
pub fn open(store: &StoreArgs, runs: &Path, run: &str) -> Result<Opened, Failure> {
    let Some(url) = url(store.store.as_deref())? else {
        return Ok(Opened { run: RunDir::open(runs, run)?, copy: None });
    };
    let folder = tempfile::tempdir().context("cannot make a folder for a copy of the run")?;
    let mut store = Store::open(&url, &note)?;
    let found = store.find(run)?;
    let (run, _) = copy(&mut store, &found, folder.path())?;
    Ok(Opened { run, copy: Some(folder) })
}

/// A run under a folder, in a new one of its name.
fn copy(store: &mut Store, found: &Stored, runs: &Path) -> Result<(RunDir, Copied), Failure> {
    let (path, mut copied) = (runs.join(folder_name(found)?), Copied::default());
    store.copy(found, &path, &mut copied).map_err(failed)?;
    Ok((RunDir::open(runs, &path.to_string_lossy())?, copied))
}

/// The name of a run, which comes from elsewhere, as that of one folder.
pub fn folder_name(found: &Stored) -> Result<&str> {
    expect_inside(&found.name)?;
    let is_one = !found.name.contains('/') && !found.name.starts_with('.');
    is_one.then_some(found.name.as_str()).with_context(|| format!("`{}` is no name of a run", found.name))
}

/// The store that a flag names.
pub fn url(flag: Option<&str>) -> Result<Option<StoreUrl>, Failure> {
    let url = flag.map(StoreUrl::parse).transpose();
    url.map_err(|error| Failure::usage(anyhow!("--store: {error}")))
}

/// The store that a flag or the environment names for runs to be copied into or out of.
pub fn url_to_write(flag: Option<&str>) -> Result<Option<StoreUrl>, Failure> {
    let variable = std::env::var(STORE_VARIABLE).ok().filter(|text| flag.is_none() && !text.is_empty());
    let Some(text) = variable else { return url(flag) };
    let url = StoreUrl::parse(&text).map_err(|error| Failure::usage(anyhow!("{STORE_VARIABLE}: {error}")))?;
    Ok(Some(url))
}

fn needed(flag: Option<&str>) -> Result<StoreUrl, Failure> {
    url_to_write(flag)?.ok_or_else(|| {
        Failure::usage(anyhow!(
            "no store was named\n  next: --store postgres://user@host/database, or {STORE_VARIABLE}"
        ))
    })
}

/// What is not as it was stored has an exit status of its own.
pub fn failed(error: anyhow::Error) -> Failure {
    let status = if error.is::<Violation>() { exit::VIOLATION } else { exit::NOT_MEASURED };
    Failure { status, error }
}

/// `dbduel push`.
pub fn push(args: &PushArgs) -> Result<u8, Failure> {
    let url = needed(args.store.as_deref())?;
    // SAFETY: plain integers, and no memory is handed over. A host that refuses it pushes at normal priority.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
    let runs = args.run.iter().map(|run| RunDir::open(&args.runs, run)).collect::<Result<Vec<RunDir>>>()?;
    let mut store = Store::open_or_make(&url, &note)?;
    for run in &runs {
        let pushed = store.push(run, Moment::Any).map_err(failed)?;
        print(&format!("{}\n", pushed_text(run, &pushed)))?;
    }
    Ok(exit::DONE)
}

/// What a push has done, in a line; what it could not take is a note.
pub fn pushed_text(run: &RunDir, pushed: &Pushed) -> String {
    let name = run.name();
    for path in &pushed.left_out {
        note(&format!("{path} of {name} is no plain file, and was not pushed"));
    }
    if pushed.is_older {
        note(&format!("the store has a later state of {name}; what changes with it was left as it is there"));
    }
    match (pushed.trials, pushed.files) {
        (0, 0) => format!("{name}: is there already, with {}", counted(pushed.trials_stored, "trial")),
        (trials, files) => format!("{name}: {} and {} pushed", counted(trials, "trial"), counted(files, "file")),
    }
}

pub fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// `dbduel pull`.
pub fn pull(args: &PullArgs) -> Result<u8, Failure> {
    let url = needed(args.store.as_deref())?;
    let mut store = Store::open(&url, &note)?;
    let found = store.find(&args.stored)?;
    std::fs::create_dir_all(&args.runs).with_context(|| format!("cannot make {}", args.runs.display()))?;
    let beside = tempfile::Builder::new().prefix(".pull").tempdir_in(&args.runs);
    let beside = beside.with_context(|| format!("cannot write into {}", args.runs.display()))?;
    let (run, copied) = copy(&mut store, &found, beside.path())?;
    let path = args.runs.join(folder_name(&found)?);
    if path.exists() {
        expect_same(&run, &path).map_err(failed)?;
        print(&format!("{}: is there already\n", shell_path(&path)))?;
        return Ok(exit::DONE);
    }
    std::fs::rename(run.path(), &path).with_context(|| format!("cannot make {}", path.display()))?;
    let (trials, files) = (counted(copied.trials(), "trial"), counted(copied.files(), "file"));
    print(&format!("{}: {trials} and {files} pulled\n", shell_path(&path)))?;
    Ok(exit::DONE)
}

/// A folder of that name must hold what the copy holds; it may hold more.
fn expect_same(copy: &RunDir, path: &Path) -> Result<()> {
    let here = RunDir::open(Path::new("."), &path.to_string_lossy()).with_context(|| {
        format!("{} is there, and no run\n  next: pull into another folder with --runs", path.display())
    })?;
    let mut paths = copy.files_of_run()?.paths;
    for (trial, _) in copy.trial_lines(0)? {
        paths.extend(copy.files_of_trial(trial.trial)?.paths);
    }
    let records = [part::RUN, part::TRIALS].map(str::to_owned).into_iter();
    for file in paths.into_iter().chain(records.filter(|file| copy.path().join(file).exists())) {
        let ours = if here.path().join(&file).exists() { here.file(&file)? } else { Vec::new() };
        Violation::expect_same(&copy.name(), &file, &store::as_stored(&file, ours), &copy.file(&file)?)?;
    }
    Ok(())
}

/// `dbduel runs`.
pub fn runs(args: &RunsArgs) -> Result<u8, Failure> {
    let Some(url) = url(args.store.store.as_deref())? else {
        let rows = lists::rows(Listed::Runs, &args.runs)?;
        let text = || lists::text(Listed::Runs, &rows, &args.runs);
        print(&if args.json { lists::pretty(Value::Array(rows.clone()))? } else { text() })?;
        return Ok(exit::DONE);
    };
    if args.schema_sql {
        print(&store::schema::sql(&url))?;
        return Ok(exit::DONE);
    }
    let rows: Vec<Value> = Store::open(&url, &note)?.runs()?.iter().map(row).collect();
    print(&match (args.json, rows.is_empty()) {
        (true, _) => lists::pretty(Value::Array(rows))?,
        (false, true) => format!("no run is stored in {url} yet\n  next: dbduel push last --store {url}\n"),
        (false, false) => lists::table(&rows.iter().map(lists::in_words).collect::<Vec<_>>()),
    })?;
    Ok(exit::DONE)
}

/// The columns of `list runs`, and what a store has beyond them.
fn row(one: &Stored) -> Value {
    let ended = match &one.ended_by {
        Some(why) if one.state != "running" => why,
        _ => &one.state,
    };
    let labels: Value = serde_json::from_str(&one.labels).unwrap_or_default();
    json!({
        "run": one.name, "started": one.started, "ended": ended, "trials": format!("{} of {}", one.trials, one.planned),
        "contenders": one.contenders, "labels": labels, "pushed": one.pushed, "by": one.pushed_by, "id": one.run_id,
    })
}
