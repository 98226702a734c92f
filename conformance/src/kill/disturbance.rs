//! What may happen to a run.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::{Result, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::memory;

#[derive(Debug, Clone, Copy)]
pub enum Disturbance {
    Killed(Whom),
    Stopped(Whom),
    Interrupted,
    Terminated,
    DiskFull,
    NoMoreFiles,
    NoMoreMemory(Whom),
}

#[derive(Debug, Clone, Copy)]
pub enum Whom {
    Dbduel,
    /// Nearest to dbduel: a keeper, a worker.
    Nearest,
    /// A server, or a process of one.
    Farthest,
    Any,
}

/// How long what passes takes.
const FOR: Duration = Duration::from_secs(2);
const CHUNK: usize = 1 << 20;

impl Disturbance {
    /// A kill of dbduel itself stands twice: most promises are about it.
    pub const ALL: [Disturbance; 12] = [
        Disturbance::Killed(Whom::Dbduel),
        Disturbance::Killed(Whom::Dbduel),
        Disturbance::Killed(Whom::Nearest),
        Disturbance::Killed(Whom::Farthest),
        Disturbance::Killed(Whom::Any),
        Disturbance::Stopped(Whom::Any),
        Disturbance::Interrupted,
        Disturbance::Terminated,
        Disturbance::DiskFull,
        Disturbance::NoMoreFiles,
        Disturbance::NoMoreMemory(Whom::Dbduel),
        Disturbance::NoMoreMemory(Whom::Any),
    ];

    pub fn is_possible(self) -> bool {
        !matches!(self, Disturbance::NoMoreMemory(_)) || memory::can_be_taken_away()
    }

    pub fn name(self) -> &'static str {
        match self {
            Disturbance::Killed(Whom::Dbduel) => "kill -9 of dbduel",
            Disturbance::Killed(Whom::Nearest) => "kill -9 of a keeper or worker",
            Disturbance::Killed(Whom::Farthest) => "kill -9 of a server",
            Disturbance::Killed(Whom::Any) => "kill -9 of any",
            Disturbance::Stopped(_) => "stop for 2 s",
            Disturbance::Interrupted => "Ctrl-C",
            Disturbance::Terminated => "SIGTERM",
            Disturbance::DiskFull => "full disk for 2 s",
            Disturbance::NoMoreFiles => "no more files for 2 s",
            Disturbance::NoMoreMemory(Whom::Dbduel) => "no more memory for dbduel",
            Disturbance::NoMoreMemory(_) => "no more memory for any",
        }
    }

    /// `below` are the processes below dbduel, those nearest to it first; `place` is its file system.
    pub fn happen(self, dbduel: &Child, below: &[u32], place: &Path, random: &mut ChaCha8Rng) -> Result<()> {
        let own = dbduel.id();
        match self {
            Disturbance::Killed(whom) => send(whom.pid(own, below, random), Signal::SIGKILL),
            Disturbance::Interrupted => send(own, Signal::SIGINT),
            Disturbance::Terminated => send(own, Signal::SIGTERM),
            Disturbance::Stopped(whom) => {
                let pid = whom.pid(own, below, random);
                send(pid, Signal::SIGSTOP);
                std::thread::sleep(FOR);
                send(pid, Signal::SIGCONT);
            }
            Disturbance::DiskFull => {
                let ballast = place.join("ballast");
                fill(&ballast)?;
                std::thread::sleep(FOR);
                std::fs::remove_file(ballast)?;
            }
            Disturbance::NoMoreMemory(whom) => memory::take_away(whom.pid(own, below, random), FOR)?,
            Disturbance::NoMoreFiles => {
                limit_files(own, "0")?;
                std::thread::sleep(FOR);
                limit_files(own, "1024")?;
            }
        }
        Ok(())
    }
}

impl Whom {
    fn pid(self, own: u32, below: &[u32], random: &mut ChaCha8Rng) -> u32 {
        let chosen = match self {
            Whom::Dbduel => None,
            Whom::Nearest => below.first(),
            Whom::Farthest => below.last(),
            Whom::Any => (!below.is_empty()).then(|| &below[random.random_range(0..below.len())]),
        };
        chosen.copied().unwrap_or(own)
    }
}

/// A process that has ended meanwhile gets none.
fn send(pid: u32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid as i32), signal);
}

fn fill(ballast: &Path) -> Result<()> {
    let mut file = File::create(ballast)?;
    let chunk = vec![1; CHUNK];
    while file.write_all(&chunk).is_ok() {}
    Ok(())
}

/// Of a process that may have ended.
fn limit_files(pid: u32, most: &str) -> Result<()> {
    let status = Command::new("prlimit").args(["--pid", &pid.to_string(), &format!("--nofile={most}:")]).status()?;
    ensure!(status.success() || !crate::traces::is_running(pid), "prlimit: {status}");
    Ok(())
}
