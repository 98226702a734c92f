//! What is read in a diagnostic trial and never in a measured one: where the server's threads are, by
//! `perf`, and what its clients wait for, as the server reports it.
//!
//! It stands in no list of observers. Its result is too much for a reading, so it is sent to the caller.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::server_cpu::{descendants, stats};
use super::{Observer, Readings, Subject, hardware_counters};
use engine::{Monitor, Waits};

/// Stacks a second of each CPU: odd, so that nothing periodic stays in step (method, section 5).
pub const HZ: u32 = 99;
/// How often active sessions are asked what they wait for.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// What one diagnostic trial showed; an error gives the reason something is not visible here.
pub struct Diagnosed {
    pub profile: Result<Profile>,
    pub waits: Result<Waited>,
}

/// What `perf` wrote down.
pub struct Profile {
    data: PathBuf,
    /// What it counted: `cycles`, or `cpu-clock` where there are no hardware counters.
    pub event: &'static str,
}

#[derive(Debug, PartialEq)]
pub enum Waited {
    /// How many active sessions were seen at each event.
    Sampled(BTreeMap<String, u64>),
    /// Seconds of the interval, by event.
    Seconds(BTreeMap<String, f64>),
}

pub struct Diagnosing {
    folder: PathBuf,
    sender: mpsc::Sender<Diagnosed>,
    /// None before the interval.
    at_work: Option<(Result<Recording>, Result<Waiting>)>,
}

impl Diagnosing {
    /// Keeps its files in this folder.
    pub fn new(folder: &Path, sender: mpsc::Sender<Diagnosed>) -> Diagnosing {
        Diagnosing { folder: folder.to_owned(), sender, at_work: None }
    }
}

impl Observer for Diagnosing {
    fn begin(&mut self, subject: &Subject) {
        let pid = subject.server_pid.context("there is no process of a server to look at");
        let profile = pid.and_then(|pid| Recording::begin(&self.folder, pid));
        self.at_work = Some((profile, Waiting::begin(subject.monitor.as_ref())));
    }

    fn end(&mut self, _: &Subject) -> Readings {
        if let Some((recording, waiting)) = self.at_work.take() {
            let waits = waiting.and_then(Waiting::end);
            let profile = recording.and_then(Recording::end);
            // The receiver is gone when the caller has gone on without it.
            let _ = self.sender.send(Diagnosed { profile, waits });
        }
        Readings::default()
    }
}

/// A `perf record` under way.
struct Recording {
    perf: Child,
    profile: Profile,
}

impl Recording {
    fn begin(folder: &Path, server: u32) -> Result<Recording> {
        let event = if hardware_counters::counters_are_visible() { "cycles" } else { "cpu-clock" };
        let data = folder.join("perf.data");
        let pids: Vec<String> = descendants(server as i32, &stats()).iter().map(i32::to_string).collect();
        let mut command = Command::new("perf");
        // No copies of binaries in the user's own cache of them.
        command.args(["record", "-q", "-B", "-N", "-g", "-F", &HZ.to_string(), "-e", event, "-p", &pids.join(",")]);
        command.arg("-o").arg(&data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let perf = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => anyhow!("perf is not installed here"),
            _ => anyhow!("perf does not start: {error}"),
        })?;
        Ok(Recording { perf, profile: Profile { data, event } })
    }

    fn end(mut self) -> Result<Profile> {
        let ended_by_itself = self.perf.try_wait()?.is_some();
        if !ended_by_itself {
            kill(Pid::from_raw(self.perf.id() as i32), Signal::SIGINT)?;
        }
        let stderr = self.perf.wait_with_output()?.stderr;
        let is_there = std::fs::metadata(&self.profile.data).is_ok_and(|data| data.len() > 0);
        if ended_by_itself || !is_there {
            let stderr = String::from_utf8_lossy(&stderr);
            let first = stderr.lines().map(str::trim).find(|line| !line.is_empty() && *line != "Error:");
            bail!("perf may not look here: {}", first.unwrap_or("it says nothing"));
        }
        Ok(self.profile)
    }
}

impl Profile {
    /// Each sample as text: the name of its thread, and below it the functions from the innermost outwards. The
    /// raw file goes; it holds more of this host than a report needs.
    pub fn into_text(self) -> Result<String> {
        let mut command = Command::new("perf");
        command.args(["script", "-F", "comm,ip,sym", "-i"]).arg(&self.data).stdin(Stdio::null());
        let output = command.output().context("perf does not start")?;
        std::fs::remove_file(&self.data)?;
        ensure!(output.status.success(), "perf cannot read its own file: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// The server being asked.
enum Waiting {
    Sampled {
        stop: Arc<AtomicBool>,
        thread: JoinHandle<Result<BTreeMap<String, u64>>>,
    },
    Summed {
        monitor: Monitor,
        ask: fn(&mut driver::Admin) -> Result<BTreeMap<String, f64>>,
        before: BTreeMap<String, f64>,
    },
}

impl Waiting {
    fn begin(monitor: Option<&Monitor>) -> Result<Waiting> {
        let monitor = monitor.context("nobody can ask this server beside its load")?.clone();
        match monitor.waits().context("this engine does not tell what its clients wait for")? {
            Waits::Summed { ask, or } => match monitor.ask_for(ask) {
                Ok(before) => Ok(Waiting::Summed { monitor, ask, before }),
                Err(_) => Ok(Waiting::sampled(monitor, or)),
            },
            Waits::Sampled(ask) => Ok(Waiting::sampled(monitor, ask)),
        }
    }

    fn sampled(monitor: Monitor, ask: fn(&mut driver::Admin) -> Result<Vec<String>>) -> Waiting {
        let stop = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&stop);
        let thread = std::thread::spawn(move || sample(&ended, || monitor.ask_for(ask)));
        Waiting::Sampled { stop, thread }
    }

    fn end(self) -> Result<Waited> {
        match self {
            Waiting::Summed { monitor, ask, before } => {
                let grown = |(event, now): (String, f64)| {
                    let waited = now - before.get(&event).copied().unwrap_or_default();
                    (waited > 0.0).then_some((event, waited))
                };
                Ok(Waited::Seconds(monitor.ask_for(ask)?.into_iter().filter_map(grown).collect()))
            }
            Waiting::Sampled { stop, thread } => {
                stop.store(true, Ordering::Relaxed);
                let counts = thread.join().map_err(|_| anyhow!("the thread that samples waits broke off"))??;
                ensure!(!counts.is_empty(), "no session was seen at work");
                Ok(Waited::Sampled(counts))
            }
        }
    }
}

fn sample(ended: &AtomicBool, ask: impl Fn() -> Result<Vec<String>>) -> Result<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    let mut next = Instant::now();
    while !ended.load(Ordering::Relaxed) {
        for event in ask()? {
            *counts.entry(event).or_default() += 1;
        }
        next += SAMPLE_EVERY;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(counts)
}
