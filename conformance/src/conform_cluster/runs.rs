//! Runs of dbduel below Slurm, each in a folder of its own.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::agents::wait_for;
use super::slurm::Slurm;

pub const SETUP_WITHIN: Duration = Duration::from_secs(90);

pub struct Bench {
    pub dbduel: PathBuf,
    pub folder: PathBuf,
    pub slurm: Slurm,
}

/// A run under way, in a folder of its own.
pub struct Run {
    pub child: Child,
    pub runs: PathBuf,
}

impl Run {
    pub fn records(&self) -> Vec<Value> {
        let run = std::fs::read_dir(&self.runs).into_iter().flatten().flatten().next();
        let text =
            run.and_then(|run| std::fs::read_to_string(run.path().join("trials.ndjson")).ok()).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Has the folder of this trial a server's log, so that it has begun?
    pub fn has_begun(&self, trial: u32) -> bool {
        let run = std::fs::read_dir(&self.runs).into_iter().flatten().flatten().next();
        run.is_some_and(|run| run.path().join(format!("trials/{trial}")).is_dir())
    }

    pub fn interrupt(mut self) -> Result<()> {
        _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT);
        wait_for("the end of an interrupted run", Duration::from_secs(30), || Ok(self.child.try_wait()?.is_some()))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bench {
    pub fn start(&self, name: &str, file: &str) -> Result<Run> {
        let path = self.folder.join(format!("{name}.toml"));
        std::fs::write(&path, file)?;
        let runs = self.folder.join(name);
        let mut command = Command::new(&self.dbduel);
        command.args(["run", "--accept-noisy", "--runs"]).arg(&runs).arg(&path).stdin(Stdio::null());
        command.env("DBDUEL_CACHE", self.folder.join("cache"));
        let log = std::fs::File::create(self.folder.join(format!("{name}.log")))?;
        let child = self.slurm.environment(&mut command).stdout(log.try_clone()?).stderr(log).spawn()?;
        Ok(Run { child, runs })
    }

    pub fn finished(&self, name: &str, file: &str) -> Result<Vec<Value>> {
        let mut run = self.start(name, file)?;
        let status = run.child.wait()?;
        let log = std::fs::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default();
        ensure!(status.success(), "dbduel run failed ({status})\n{log}");
        Ok(run.records())
    }

    /// Holds a finished run to what it recorded.
    pub fn verified(&self, name: &str) -> Result<()> {
        let runs = self.folder.join(name);
        let run = std::fs::read_dir(&runs)?.flatten().next().context("there is no run")?.path();
        let done = Command::new(&self.dbduel).args(["verify"]).arg(&run).stdin(Stdio::null()).output()?;
        ensure!(done.status.success(), "dbduel verify: {}", String::from_utf8_lossy(&done.stdout));
        Ok(())
    }
}
