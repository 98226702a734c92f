//! A store as a folder of runs, for `dbduel serve --store`: a copy that is kept up to date and goes away in the end.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result};
use record::RunDir;
use store::{Copied, Store, StoreUrl, Stored};
use tempfile::TempDir;

use super::note;
use super::stored::{counted, folder_name};

/// How often the store is asked for what is new.
const POLL: Duration = Duration::from_secs(2);

pub struct Mirror {
    folder: TempDir,
    over: Sender<()>,
    thread: JoinHandle<()>,
}

/// Runs by their ids.
type Runs = HashMap<String, Mirrored>;

/// A run as far as it is copied.
struct Mirrored {
    path: PathBuf,
    copied: Copied,
    pushed: String,
    /// Held while the run goes on elsewhere, so that it is shown as running.
    _writer: Option<RunDir>,
}

impl Mirror {
    /// Copies all runs, and goes on copying in a thread.
    pub fn of(url: &StoreUrl) -> Result<Mirror> {
        let folder = tempfile::tempdir().context("cannot make a folder for copies of the runs")?;
        let mut runs = Runs::new();
        update(&mut Store::open(url, &note)?, folder.path(), &mut runs)?;
        note(&format!("{} copied from {url}", counted(runs.len(), "run")));
        let (over, is_over) = channel();
        let go_on = {
            let (url, path) = (url.clone(), folder.path().to_owned());
            move || go_on(&url, &path, runs, &is_over)
        };
        let thread = std::thread::Builder::new().name("mirror".to_owned()).spawn(go_on);
        Ok(Mirror { folder, over, thread: thread.context("cannot start a thread")? })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Ends the copying before the folder goes away.
    pub fn end(self) {
        drop(self.over);
        let _ = self.thread.join();
    }
}

fn go_on(url: &StoreUrl, folder: &Path, mut runs: Runs, is_over: &Receiver<()>) {
    let (mut store, mut is_away) = (None, false);
    while is_over.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
        let session = store.take().map_or_else(|| Store::open(url, &note), Ok);
        let updated = session.and_then(|mut session| {
            update(&mut session, folder, &mut runs)?;
            Ok(session)
        });
        match updated {
            Ok(session) => (store, is_away) = (Some(session), false),
            Err(error) => {
                if !std::mem::replace(&mut is_away, true) {
                    note(&format!("warning: the store is away, the pages show what was copied: {error:#}"));
                }
            }
        }
    }
}

/// Copies what is new of each run.
fn update(store: &mut Store, folder: &Path, runs: &mut Runs) -> Result<()> {
    for stored in store.runs()? {
        if runs.get(&stored.run_id).is_some_and(|known| known.pushed == stored.pushed) {
            continue;
        }
        let mut mirrored = match runs.remove(&stored.run_id) {
            Some(mirrored) => mirrored,
            None => Mirrored {
                path: place(&stored, folder)?,
                copied: Copied::default(),
                pushed: String::new(),
                _writer: None,
            },
        };
        store.copy(&stored, &mirrored.path, &mut mirrored.copied)?;
        let is_running = stored.state == "running";
        mirrored._writer = None;
        if is_running {
            mirrored._writer = Some(RunDir::open_to_write(folder, &mirrored.path.to_string_lossy())?);
        }
        mirrored.pushed = stored.pushed;
        runs.insert(stored.run_id, mirrored);
    }
    Ok(())
}

/// A folder of its own; a second run of the same name has its id behind it.
fn place(stored: &Stored, folder: &Path) -> Result<PathBuf> {
    let path = folder.join(folder_name(stored)?);
    Ok(if path.exists() { folder.join(format!("{}-{}", stored.name, stored.run_id)) } else { path })
}
