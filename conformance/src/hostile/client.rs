//! dbduel as a user starts it, observed from outside: when it ends, how, what it prints and what memory it took.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::cases::{self, Case};
use super::server::{Server, experiment};

/// What a command left.
pub struct Seen {
    status: i32,
    out: String,
    err: String,
    /// The most memory that it had at a time.
    resident_bytes: u64,
    /// From the signal to its end, where one was sent.
    after_signal: Option<Duration>,
}

/// Twice what the longest answer may take that is kept whole, and what a usual run needs.
const RESIDENT_BYTES_MAX: u64 = 256 << 20;
/// How long it may take to end when it was asked to.
const INTERRUPTION_MAX: Duration = Duration::from_secs(2);
/// A busy machine also has to start the program.
const SIGNAL_AFTER: Duration = Duration::from_secs(4);

pub fn observe(case: &Case, program: &Path, server: &Server, folder: &Path) -> Result<Seen> {
    let (out, err) = (folder.join("out"), folder.join("err"));
    let mut command = Command::new(program);
    command
        .args(words(case, server, folder)?)
        .env("DBDUEL_CACHE", folder.join("cache"))
        // Measurements on one host wait for each other by a lock that lies here.
        .env("TMPDIR", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(File::create(&out)?)
        .stderr(File::create(&err)?);
    let child = command.spawn().context("cannot start dbduel")?;
    let pid = child.id() as libc::pid_t;
    let ended = wait(pid, case)?;
    let text = |path: &Path| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(Seen { out: text(&out)?, err: text(&err)?, ..ended })
}

fn words(case: &Case, server: &Server, folder: &Path) -> Result<Vec<String>> {
    let verb = format!("{:?}", case.command).to_lowercase();
    if case.command.takes_a_file() {
        let file = experiment(server, folder)?;
        let words = [&verb, &file.display().to_string(), "--accept-noisy"].map(str::to_owned);
        return Ok(words.to_vec());
    }
    let mut words = vec![verb, "oltp_point_select".to_owned(), "--target".to_owned(), server.url()];
    // The server answers each question by 1, that for its greatest id too.
    words.extend(["--rows=1", "--clients=2"].map(str::to_owned));
    if case.command == cases::Command::Bench {
        words.extend(["--duration=3", "--forced-shutdown=2"].map(str::to_owned));
    }
    Ok(words)
}

/// Waits for the end of the process, which is killed when it does not end in time.
fn wait(pid: libc::pid_t, case: &Case) -> Result<Seen> {
    let (begun, mut signal_at, mut resident_bytes) = (Instant::now(), None, 0);
    loop {
        resident_bytes = resident_bytes_peak(pid).unwrap_or(resident_bytes);
        if let Some(status) = ended(pid)? {
            let after_signal = signal_at.map(|at: Instant| at.elapsed());
            return Ok(Seen { status, out: String::new(), err: String::new(), resident_bytes, after_signal });
        }
        if case.interrupted && signal_at.is_none() && begun.elapsed() > SIGNAL_AFTER {
            signal_at = Some(Instant::now());
            signal(pid, Signal::SIGINT);
        }
        if begun.elapsed() > case.limit() {
            signal(pid, Signal::SIGKILL);
            // That a signal ended it is no news.
            while let Ok(None) = ended(pid) {
                std::thread::sleep(Duration::from_millis(20));
            }
            bail!("it did not end by itself within {} s", case.limit().as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// To a child that was not waited for yet, so that the number is its own.
fn signal(pid: libc::pid_t, signal: Signal) {
    _ = kill(Pid::from_raw(pid), signal);
}

/// Of the program alone: what `wait4` reports of a child also counts the process that started it. There is none
/// before the program runs, and none after its end.
fn resident_bytes_peak(pid: libc::pid_t) -> Option<u64> {
    let process = procfs::process::Process::new(pid).ok()?;
    // Until then it is a copy of this process.
    if process.exe().ok()? == std::env::current_exe().ok()? {
        return None;
    }
    Some(process.status().ok()?.vmhwm? * 1024)
}

/// The exit status of a child that has ended.
fn ended(pid: libc::pid_t) -> Result<Option<i32>> {
    match waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG)).context("cannot wait for dbduel")? {
        WaitStatus::Exited(_, status) => Ok(Some(status)),
        WaitStatus::Signaled(_, signal, _) => bail!("signal {signal} ended it"),
        _ => Ok(None),
    }
}

/// What must be true of every case.
pub fn judge(case: &Case, server: &Server, seen: &Seen) -> Result<()> {
    let shown = || format!("it printed:\n{}{}", seen.out, seen.err);
    ensure!(!seen.err.contains("panicked"), "it panicked; {}", shown());
    ensure!(seen.resident_bytes <= RESIDENT_BYTES_MAX, "it took {} MiB", seen.resident_bytes >> 20);
    let gives_a_rate = seen.out.lines().any(|line| line.contains("tps") || line.contains("transactions"));
    ensure!(!gives_a_rate || seen.out.contains("PARTIAL"), "its figures look like a result; {}", shown());
    if case.interrupted {
        let after = seen.after_signal.with_context(|| format!("it ended before it was asked to; {}", shown()))?;
        ensure!(after <= INTERRUPTION_MAX, "it took {after:.1?} to end when asked to; {}", shown());
        ensure!(seen.status == 130, "exit status {} after an interruption; {}", seen.status, shown());
        return Ok(());
    }
    ensure!(matches!(seen.status, 4 | 5), "exit status {}; {}", seen.status, shown());
    ensure!(seen.err.contains(&server.name()), "the server is not named; {}", shown());
    let causes =
        ["protocol error", "connection lost", "server error", "no transaction ended", "answers were still missing"];
    ensure!(causes.iter().any(|cause| seen.err.contains(cause)), "no cause is named; {}", shown());
    Ok(())
}
