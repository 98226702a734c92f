//! CPU time of the server's process tree, from the kernel's own accounting.

use std::collections::{BTreeMap, BTreeSet};

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::process::{Stat, all_processes};

use super::{Observer, Readings, Subject};

#[derive(Default)]
pub struct ServerCpu {
    before: Option<CpuTime>,
}

/// Clock ticks in user and in system mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CpuTime {
    user: u64,
    system: u64,
}

impl Observer for ServerCpu {
    fn begin(&mut self, subject: &Subject) {
        self.before = subject.server_pid.and_then(cpu_of_tree);
    }

    fn end(&mut self, subject: &Subject) -> Readings {
        let mut readings = Readings::default();
        if let (Some(before), Some(after)) = (self.before.take(), subject.server_pid.and_then(cpu_of_tree)) {
            let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
            readings.values.insert("server_cpu_user_s".to_owned(), seconds(after.user.saturating_sub(before.user)));
            readings
                .values
                .insert("server_cpu_system_s".to_owned(), seconds(after.system.saturating_sub(before.system)));
        }
        readings
    }
}

/// CPU of a process, of its living descendants, and of those they have waited for. A PostgreSQL
/// backend that ends between two readings moves to its parent's account and is not lost.
fn cpu_of_tree(root: u32) -> Option<CpuTime> {
    let all = stats();
    let tree = descendants(root as i32, &all);
    all.get(&(root as i32))?;
    let mut sum = CpuTime::default();
    for stat in tree.iter().filter_map(|pid| all.get(pid)) {
        sum.user += stat.utime + stat.cutime.max(0) as u64;
        sum.system += stat.stime + stat.cstime.max(0) as u64;
    }
    Some(sum)
}

/// The same in nanoseconds, for what is over in milliseconds. Processes that live are read from their own
/// clocks; what those that ended took is known in ticks, so a reading may be a tick short of it.
pub fn tree_ns(root: u32) -> Option<u64> {
    let all = stats();
    all.get(&(root as i32))?;
    let ns_per_tick = 1_000_000_000 / procfs::ticks_per_second();
    let of_process = |stat: &Stat| {
        let waited_for = (stat.cutime.max(0) + stat.cstime.max(0)) as u64;
        // One that ends before its clock is read has moved to its parent's account, or will have next time.
        cpu_clock_ns(stat.pid).unwrap_or(0) + waited_for * ns_per_tick
    };
    Some(descendants(root as i32, &all).iter().filter_map(|pid| all.get(pid)).map(of_process).sum())
}

fn cpu_clock_ns(pid: i32) -> Option<u64> {
    let now = ClockId::pid_cpu_clock_id(Pid::from_raw(pid)).and_then(ClockId::now).ok()?;
    Some(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

/// All processes by pid; those that end during the scan are left out.
pub fn stats() -> BTreeMap<i32, Stat> {
    let processes = all_processes().into_iter().flatten().flatten();
    processes.filter_map(|process| process.stat().ok()).map(|stat| (stat.pid, stat)).collect()
}

/// A process and everything below it.
pub fn descendants(root: i32, all: &BTreeMap<i32, Stat>) -> BTreeSet<i32> {
    let mut tree = BTreeSet::from([root]);
    loop {
        let more: Vec<i32> = all
            .values()
            .filter(|stat| tree.contains(&stat.ppid) && !tree.contains(&stat.pid))
            .map(|stat| stat.pid)
            .collect();
        if more.is_empty() {
            return tree;
        }
        tree.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_work_shows_in_our_own_process_tree() {
        let pid = std::process::id();
        let before = cpu_of_tree(pid).unwrap();
        let busy_until = before.user + before.system + 5;
        let mut rounds = 0u64;
        loop {
            let now = cpu_of_tree(pid).unwrap();
            if now.user + now.system >= busy_until {
                break;
            }
            rounds += 1;
            assert!(rounds < 1_000_000, "reading /proc costs CPU, and it never showed");
        }
    }

    #[test]
    fn nanoseconds_show_work_that_ticks_cannot() {
        let pid = std::process::id();
        let before = tree_ns(pid).unwrap();
        assert!(tree_ns(pid).unwrap() > before, "reading /proc costs CPU");
        let ticks = cpu_of_tree(pid).unwrap();
        let ticks_ns = (ticks.user + ticks.system) * (1_000_000_000 / procfs::ticks_per_second());
        let after = tree_ns(pid).unwrap();
        // Both have the same processes: user and system are rounded down to a tick each.
        assert!(after + 30_000_000 > ticks_ns, "{after} ns, {ticks_ns} ns in ticks");
        assert_eq!(tree_ns(u32::MAX >> 1), None);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_reading() {
        assert_eq!(cpu_of_tree(u32::MAX >> 1), None);
    }
}
