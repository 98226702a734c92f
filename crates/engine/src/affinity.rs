//! Whether a server runs on the CPUs that it was given, and on no other.
//!
//! It is given them by affinity, before it starts: every process and thread that it makes inherits the
//! set. But a program may set its own (some do, thread by thread), so what is believed is read back.

use anyhow::{Result, ensure};
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use super::keeper::descendants;

/// Fails when a thread of a process, or of one below it, may run on other CPUs than these; with none, it
/// may run everywhere.
pub fn confirm(root: u32, cores: &[usize]) -> Result<()> {
    if cores.is_empty() {
        return Ok(());
    }
    let mut seen = 0;
    for pid in descendants(root as i32).into_iter().chain([root as i32]) {
        for thread in threads(pid) {
            let Some(on) = cpus_of(thread)? else { continue };
            ensure!(
                on == cores,
                "thread {thread} of the server may run on CPUs {on:?}, and was given {cores:?}\n  next: look for a setting of the server that places its threads, or take `cores` out"
            );
            seen += 1;
        }
    }
    ensure!(seen > 0, "no thread of the server is visible, so its CPUs are not known");
    Ok(())
}

/// None of a process that has ended meanwhile.
fn threads(pid: i32) -> Vec<i32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Ascending; none of a thread that has ended meanwhile.
fn cpus_of(thread: i32) -> Result<Option<Vec<usize>>> {
    match sched_getaffinity(Pid::from_raw(thread)) {
        Ok(set) => Ok(Some((0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect())),
        Err(Errno::ESRCH) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_runs_elsewhere_is_found() {
        let (pid, here) = (std::process::id(), cpus_of(0).unwrap().unwrap());
        assert!(confirm(pid, &[]).is_ok());
        confirm(pid, &here).unwrap();
        let message = confirm(pid, &[1023]).unwrap_err().to_string();
        assert!(message.contains("may run on CPUs") && message.contains("[1023]"), "{message}");
        assert!(confirm(u32::MAX >> 1, &here).unwrap_err().to_string().starts_with("no thread"));
    }
}
