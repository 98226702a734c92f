//! Agents of dbduel as processes of this kernel, whatever namespace they are in.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const POLL: Duration = Duration::from_millis(5);

/// A process by its id and the moment it was started, so that another one with its id is not taken for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub pid: i32,
    started: u64,
}

impl Agent {
    pub fn of(pid: i32) -> Agent {
        let stat = procfs::process::Process::new(pid).and_then(|process| process.stat());
        Agent { pid, started: stat.map_or(0, |stat| stat.starttime) }
    }

    pub fn signal(&self, signal: Signal) {
        _ = kill(Pid::from_raw(self.pid), signal);
    }

    /// The nearest process above it with this name.
    pub fn above(&self, name: &str) -> Option<Agent> {
        let mut pid = self.pid;
        while pid > 1 {
            let stat = procfs::process::Process::new(pid).and_then(|process| process.stat()).ok()?;
            if stat.comm.starts_with(name) {
                return Some(Agent::of(pid));
            }
            pid = stat.ppid;
        }
        None
    }
}

/// All living agents of this program.
pub fn agents_of(program: &Path) -> Vec<Agent> {
    let line = format!("{}\0agent\0", program.display());
    let is_agent = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|words| words == line.as_bytes());
    let mut pids: Vec<i32> = pids().filter(is_agent).collect();
    pids.sort_unstable();
    pids.into_iter().map(Agent::of).collect()
}

/// A child, or a child of a child, with this name.
pub fn child_of(pid: u32, name: &str) -> Option<Agent> {
    let is_it = |one: &i32| {
        let stat = procfs::process::Process::new(*one).and_then(|process| process.stat());
        stat.is_ok_and(|stat| stat.comm == name && stat.ppid == pid as i32)
    };
    pids().find(is_it).map(Agent::of)
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub fn wait_for(what: &str, limit: Duration, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let begun = Instant::now();
    while !is_so()? {
        ensure!(begun.elapsed() < limit, "{what}: not within {:.1} s", limit.as_secs_f64());
        std::thread::sleep(POLL);
    }
    Ok(())
}
