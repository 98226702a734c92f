//! Agents as tasks of a Slurm job or step.
//!
//! srun's standard input reaches all tasks, so one boot line with one token is for all of them, and each takes the
//! place that Slurm numbers it by.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{Launcher, Plan, Started};
use crate::channel::Channel;
use crate::message::{Boot, Hello};
use crate::process;

/// How long srun may take to end its tasks before the job is cancelled.
const END_WITHIN: Duration = Duration::from_secs(1);

pub struct Slurm {
    plan: Plan,
    srun: Option<Started>,
}

impl Slurm {
    pub fn new(plan: Plan) -> Slurm {
        Slurm { plan, srun: None }
    }
}

/// A tool of Slurm's: on the path, or in the usual places, which `sbatch --export=NONE` leaves out of it.
fn tool(name: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/bin", "/usr/local/bin", "/opt/slurm/bin"].map(PathBuf::from);
    let beside = std::env::var_os("SLURM_CONF").map(PathBuf::from);
    let beside = beside.iter().filter_map(|conf| Some(conf.parent()?.parent()?.join("bin")));
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(usual).chain(beside).collect();
    let found = folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    found.with_context(|| {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        format!("cannot find {name} in {}", folders.join(", "))
    })
}

impl Launcher for Slurm {
    fn launch(&mut self, boot: &Boot) -> Result<Vec<Channel>> {
        let mut words = self.plan.command(0);
        words[0] = tool("srun")?.display().to_string();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.env_remove("DBDUEL_PASSWORD").env_remove("SLURM_EXPORT_ENV");
        self.srun = Some(Started::with_input(command, &words[0], boot)?);
        Ok(Vec::new())
    }

    fn poll(&mut self) -> Option<String> {
        self.srun.as_mut()?.poll("srun")
    }

    fn said(&self) -> String {
        self.srun.as_ref().map_or_else(String::new, Started::said)
    }

    fn end(&mut self, agents: &[Hello]) -> Vec<String> {
        let Some(mut srun) = self.srun.take() else { return Vec::new() };
        let _ = kill(Pid::from_raw(srun.child.id() as i32), Signal::SIGTERM);
        if srun.ended_within(END_WITHIN).is_none() {
            if let (Some(step), Ok(scancel)) = (agents.iter().find_map(|agent| agent.step.clone()), tool("scancel")) {
                let _ = Command::new(scancel)
                    .arg(step)
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
            }
            let _ = srun.ended_within(END_WITHIN);
        }
        srun.kill();
        agents
            .iter()
            .filter(|agent| !is_gone(agent))
            .map(|agent| format!("process {} on {}", agent.pid, agent.host))
            .collect()
    }
}

/// Of a node with a kernel of its own only Slurm's word is known: srun has ended, and its tasks with it.
fn is_gone(agent: &Hello) -> bool {
    agent.boot_id != process::boot_id() || process::end_process(agent.pid, agent.started)
}
