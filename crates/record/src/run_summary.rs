//! A stored run in one line, and what a run gains while another process works on it. Nothing here writes or locks.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use anyhow::{Context, Result};

use crate::RunDir;
use crate::format::TrialRecord;
use crate::plain_file::{self, STORED_BYTES_MAX};
use crate::run_folder::{LOCK, TRIALS, whole_lines};

/// What becomes of a run, as far as its folder and the locks of this host show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunState {
    /// A process works on it.
    Running,
    /// It ended by itself or was interrupted; `ended_by` has the reason.
    Ended,
    /// It did not end, and no process works on it.
    Abandoned,
}

/// One line about a run; of one that cannot be read its name and the reason.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub run: String,
    /// Of the experiment; empty where it cannot be read.
    pub name: String,
    /// UTC, RFC 3339; empty before the first trial is due.
    pub started: String,
    pub state: RunState,
    /// Why it ended, as stored.
    pub ended_by: Option<String>,
    /// Trials stored that compare, and trials planned.
    pub trials: usize,
    pub planned: usize,
    pub contenders: Vec<String>,
    pub labels: BTreeMap<String, String>,
    /// Why it cannot be read.
    pub damage: Option<String>,
}

impl RunSummary {
    /// To the second.
    pub fn started_text(&self) -> String {
        self.started.split('.').next().unwrap_or_default().trim_end_matches('Z').replace('T', " ")
    }

    /// `running`, `completed`, `budget`, `abandoned`, or why it cannot be read.
    pub fn state_text(&self) -> String {
        match (&self.damage, self.state, self.ended_by.as_deref()) {
            (Some(damage), ..) => format!("cannot be read: {damage}"),
            (None, RunState::Running, _) => "running".to_owned(),
            (None, RunState::Ended, Some("blocks")) => "completed".to_owned(),
            (None, RunState::Ended, why) => why.unwrap_or("ended").to_owned(),
            (None, RunState::Abandoned, _) => "abandoned".to_owned(),
        }
    }

    /// Whether there are records that a report can be made of.
    pub fn can_report(&self) -> bool {
        self.damage.is_none() && !self.started.is_empty()
    }
}

/// How far the trials of a run were read.
#[derive(Debug, Clone, Copy, Default)]
pub struct TrialCursor {
    bytes: u64,
}

impl RunDir {
    pub fn summary(&self) -> RunSummary {
        let read = || -> Result<RunSummary> {
            let (plan, trials, record) = (self.plan()?, self.trials()?, self.run_record().ok());
            Ok(RunSummary {
                run: self.name(),
                name: plan.name,
                started: record.as_ref().map(|record| record.started_at.clone()).unwrap_or_default(),
                state: self.state(),
                ended_by: record.as_ref().and_then(|record| record.ended_by.clone()),
                trials: trials.measured().len(),
                planned: plan.trials.len(),
                contenders: plan.contenders.into_iter().map(|one| one.name).collect(),
                labels: record.map(|record| record.labels).unwrap_or_default(),
                damage: None,
            })
        };
        read().unwrap_or_else(|error| {
            let cause = format!("{error:#}");
            RunSummary {
                run: self.name(),
                name: String::new(),
                started: String::new(),
                state: self.state(),
                ended_by: None,
                trials: 0,
                planned: 0,
                contenders: Vec::new(),
                labels: BTreeMap::new(),
                damage: Some(cause.lines().next().unwrap_or_default().to_owned()),
            }
        })
    }

    /// Asks the kernel's list of locks: trying the lock would keep out, for a moment, who wants to work on the run.
    pub fn state(&self) -> RunState {
        let inode = std::fs::metadata(self.path().join(LOCK)).ok().map(|meta| meta.ino());
        let locks = procfs::locks().unwrap_or_default();
        let is_held =
            |inode: u64| locks.iter().any(|lock| lock.inode == inode && lock.lock_type == procfs::LockType::FLock);
        let has_ended = || self.run_record().is_ok_and(|record| record.finished_at.is_some());
        match inode.is_some_and(is_held) {
            true => RunState::Running,
            false if has_ended() => RunState::Ended,
            false => RunState::Abandoned,
        }
    }

    /// Trials that were stored since the last call. A line that is being written is read when it is whole.
    pub fn new_trials(&self, read: &mut TrialCursor) -> Result<Vec<TrialRecord>> {
        let path = self.path().join(TRIALS);
        let mut file = match plain_file::open(OpenOptions::new().read(true), &path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).context(format!("cannot read `{}`", path.display())),
        };
        // Half a line of a killed run is cut off when it goes on.
        read.bytes = read.bytes.min(file.metadata()?.len());
        file.seek(SeekFrom::Start(read.bytes))?;
        let mut bytes = Vec::new();
        file.take(STORED_BYTES_MAX).read_to_end(&mut bytes)?;
        let whole = whole_lines(&bytes);
        let lines = bytes[..whole].split_inclusive(|byte| *byte == b'\n');
        let trials = lines.map(serde_json::from_slice).collect::<serde_json::Result<_>>();
        let trials = trials.with_context(|| format!("`{}` has a line that is no trial", path.display()))?;
        read.bytes += whole as u64;
        Ok(trials)
    }
}
