//! One started agent, and what every launcher does with the processes that it starts.

#![expect(unsafe_code, reason = "what happens between fork and exec")]

use crate::channel::Channel;
use crate::message::{Boot, Hello};
use anyhow::{Context, Result};
use experiment::Cluster;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a process may take to end when it is asked to.
pub(super) const POLITE: Duration = Duration::from_secs(1);

pub(super) const POLL: Duration = Duration::from_millis(5);

/// Last lines of what a launcher said.
pub(super) const SAID_LINES: usize = 5;

pub trait Launcher: Send {
    /// Starts all workers; returns their channels in their order, or none where they connect by themselves.
    fn launch(&mut self, boot: &Boot) -> Result<Vec<Channel>>;
    /// Why it ended, where it did, and what it said.
    fn poll(&mut self) -> Option<String>;
    /// What it has said so far that a user who waits should see.
    fn said(&self) -> String;
    /// Ends what it started, politely and then not; names the agents that are not proven to be gone. Their channels
    /// are closed.
    fn end(&mut self, agents: &[Hello]) -> Vec<String>;
}

/// What is launched.
pub(super) struct Plan {
    pub(super) cluster: Cluster,
    pub(super) run: String,
    pub(super) binary: PathBuf,
}

impl Plan {
    pub(crate) fn command(&self, worker: u32) -> Vec<String> {
        let inside = std::env::var_os("SLURM_STEP_ID").is_some();
        self.cluster.command(worker, &self.run, &self.binary, inside)
    }
}

/// A started program, and what it says.
pub(super) struct Started {
    pub(crate) child: Child,
    pub(crate) said: Arc<Mutex<Vec<String>>>,
}

impl Started {
    /// The boot line stands in the program's standard input when this returns. An interrupt of the terminal is for
    /// dbduel, which then ends what it started.
    pub(crate) fn begin(words: &[String], change: impl FnOnce(&mut Command), boot: &Boot) -> Result<(Started, Pipes)> {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        ends_with_us(&mut command, libc::SIGTERM);
        change(&mut command);
        let mut child = command.spawn().with_context(|| format!("cannot start {}", words[0]))?;
        let said = Arc::default();
        if let Some(stderr) = child.stderr.take() {
            keep_what_is_said(stderr, &said);
        }
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            anyhow::bail!("{} has no standard input or output", words[0]);
        };
        let line = serde_json::to_string(boot)? + "\n";
        // One that has ended already says why.
        let _ = stdin.write_all(line.as_bytes());
        Ok((Started { child, said }, Pipes { stdin, stdout }))
    }

    /// The same of a program that gets the boot line and nothing else, and whose output is not read.
    pub(crate) fn with_input(mut command: Command, name: &str, boot: &Boot) -> Result<Started> {
        ends_with_us(&mut command, libc::SIGTERM);
        let mut child = command.process_group(0).spawn().with_context(|| format!("cannot start {name}"))?;
        let said = Arc::default();
        if let Some(stderr) = child.stderr.take() {
            keep_what_is_said(stderr, &said);
        }
        if let Some(mut stdin) = child.stdin.take() {
            let _ = stdin.write_all((serde_json::to_string(boot)? + "\n").as_bytes());
        }
        Ok(Started { child, said })
    }

    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).join("; ")
    }

    /// Why it ended.
    pub(crate) fn poll(&mut self, name: &str) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        let said = self.said();
        let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
        Some(format!("{name} ended with {status}{said}"))
    }

    pub(crate) fn ended_within(&mut self, limit: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(None) if begun.elapsed() < limit => std::thread::sleep(POLL),
                Ok(status) => return status,
                Err(_) => return None,
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

/// A launcher that waits in a queue, too, gets this signal when dbduel is gone, however it ended.
pub(super) fn ends_with_us(command: &mut Command, signal: libc::c_int) {
    // SAFETY: the closure only makes a system call, which is allowed between fork and exec.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, signal);
            Ok(())
        });
    }
}

pub(super) fn keep_what_is_said(stderr: ChildStderr, said: &Arc<Mutex<Vec<String>>>) {
    let said = Arc::clone(said);
    let keep = move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            if said.len() == SAID_LINES {
                said.remove(0);
            }
            said.push(line);
        }
    };
    // Without the thread there is nothing to report, and no reason to stop.
    let _ = std::thread::Builder::new().name("said".to_owned()).spawn(keep);
}
