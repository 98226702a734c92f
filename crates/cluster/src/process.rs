//! This process as an agent describes it, and how an agent that does not end by itself is ended.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use procfs::process::Process;
use trial::host;

use crate::message::{Hello, PROTOCOL};
use crate::trust;

/// How long a killed process may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);

pub fn hello() -> Result<Hello> {
    let text = |path: &str| fs::read_to_string(path).map_or_else(|_| String::new(), |text| text.trim().to_owned());
    let variable = |name: &str| std::env::var(name).ok();
    let step = variable("SLURM_JOB_ID").map(|job| match variable("SLURM_STEP_ID") {
        Some(step) => format!("{job}.{step}"),
        None => job,
    });
    Ok(Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        binary_sha256: binary_sha256()?,
        pid: std::process::id() as i32,
        started: started(std::process::id() as i32).context("this process is not visible")?,
        host: variable("SLURMD_NODENAME").unwrap_or_else(|| text("/proc/sys/kernel/hostname")),
        boot_id: boot_id(),
        cpus: host::cpus(),
        kernel: text("/proc/sys/kernel/osrelease"),
        clock_source: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        wall_ms: wall_ms(),
        step,
        ..Hello::default()
    })
}

pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

pub fn wall_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_millis() as i64)
}

pub fn binary_sha256() -> Result<String> {
    let program = fs::File::open("/proc/self/exe").context("cannot read this program")?;
    trust::sha256_of(program).context("cannot read this program")
}

/// The place of this agent among the tasks of its step.
pub fn place() -> Option<u32> {
    std::env::var("SLURM_PROCID").ok()?.parse().ok()
}

/// When a process was started, in the kernel's ticks; None where there is none.
pub fn started(pid: i32) -> Option<u64> {
    let stat = Process::new(pid).ok()?.stat().ok()?;
    // A zombie is no process any more; its parent has yet to ask for its end.
    (stat.state != 'Z').then_some(stat.starttime)
}

/// A core would hold the database's password.
pub fn forbid_cores() {
    _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
}

/// `dbduel agent --end PID:START`: kills that agent if it is still the same process. The status is 0 when it is gone.
pub fn end(who: &str) -> u8 {
    let parsed = who.split_once(':').and_then(|(pid, start)| Some((pid.parse().ok()?, start.parse().ok()?)));
    let Some((pid, start)) = parsed else { return 2 };
    u8::from(!end_process(pid, start))
}

/// Whether the process is gone.
pub fn end_process(pid: i32, start: u64) -> bool {
    if started(pid) != Some(start) {
        return true;
    }
    let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    let begun = Instant::now();
    while started(pid) == Some(start) {
        if begun.elapsed() > GONE_WITHIN {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
