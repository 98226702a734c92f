//! CPU time of the server's process tree, from the kernel's own accounting.

use std::collections::{BTreeMap, BTreeSet};

use nix::time::ClockId;
use nix::unistd::Pid;
use procfs::process::{Process, Stat, all_processes};

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
            // Less than before is no reading: what is not known is absent, not zero.
            let taken = after.user.checked_sub(before.user).zip(after.system.checked_sub(before.system));
            let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
            if let Some((user, system)) = taken {
                readings.values.insert("server_cpu_user_s".to_owned(), seconds(user));
                readings.values.insert("server_cpu_system_s".to_owned(), seconds(system));
            }
        }
        readings
    }
}

/// CPU of a process, of its living descendants, and of those they have waited for. A PostgreSQL
/// backend that ends between two readings moves to its parent's account and is not lost.
fn cpu_of_tree(root: u32) -> Option<CpuTime> {
    let of_tree = |tree: &[&Stat]| {
        let mut sum = CpuTime::default();
        for stat in tree {
            sum.user += stat.utime + stat.cutime.max(0) as u64;
            sum.system += stat.stime + stat.cstime.max(0) as u64;
        }
        sum
    };
    read_tree(root, of_tree, |sum| sum.user + sum.system)
}

/// The same in nanoseconds, for what is over in milliseconds. Processes that live are read from their own
/// clocks; what those that ended took is known in ticks, so a reading may be a tick short of it.
pub fn tree_ns(root: u32) -> Option<u64> {
    let ns_per_tick = 1_000_000_000 / procfs::ticks_per_second();
    // One that ends before its clock is read has moved to its parent's account.
    let of_process = |stat: &&Stat| cpu_clock_ns(stat.pid).unwrap_or(0) + waited_for(stat) * ns_per_tick;
    read_tree(root, |tree| tree.iter().map(of_process).sum(), |ns: &u64| *ns)
}

/// Ticks of children that ended.
pub fn waited_for(stat: &Stat) -> u64 {
    (stat.cutime.max(0) + stat.cstime.max(0)) as u64
}

/// How often a tree is read that changes meanwhile.
const SCANS_MAX: u32 = 8;

/// Reads a tree of processes. Clients that leave at the end of an interval end the backends of PostgreSQL, and one that
/// ends between the reading of its parent and its own is in neither: then the tree is read again. Nothing but that can
/// make a reading too small, and nothing makes it too large, so that of several the largest counts.
fn read_tree<T>(root: u32, read: impl Fn(&[&Stat]) -> T, total: impl Fn(&T) -> u64) -> Option<T> {
    let root = root as i32;
    let mut best: Option<T> = None;
    for _ in 0..SCANS_MAX {
        let all = stats();
        let Some(before) = all.get(&root) else { break };
        let tree: Vec<&Stat> = descendants(root, &all).iter().filter_map(|pid| all.get(pid)).collect();
        let value = read(&tree);
        let is_largest = best.as_ref().is_none_or(|best| total(best) <= total(&value));
        if is_largest {
            best = Some(value);
        }
        let after = Process::new(root).and_then(|process| process.stat()).ok();
        if after.is_none_or(|after| waited_for(&after) == waited_for(before)) {
            break;
        }
    }
    best
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

    /// Four backends at a time that compute for some 15 ticks each, end and are waited for.
    const BACKENDS: &str = r#"
        for round in 1 2 3 4 5 6; do
            for backend in 1 2 3 4; do
                (i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done) &
            done
            wait
        done"#;

    #[test]
    fn no_reading_loses_what_ends_while_it_is_taken() {
        let mut server = std::process::Command::new("sh").args(["-c", BACKENDS]).spawn().unwrap();
        let mut last = [0; 2];
        while server.try_wait().unwrap().is_none() {
            let ticks = cpu_of_tree(server.id()).map(|now| now.user + now.system);
            let ns = tree_ns(server.id());
            for (last, now) in last.iter_mut().zip([ticks, ns]) {
                let Some(now) = now else { continue };
                // Two ticks are rounded for each process; a server that has just ended has no tree.
                let rounding = if *last < 1_000_000 { 8 } else { 80_000_000 };
                assert!(now == 0 || now + rounding >= *last, "{now} behind {last}");
                *last = now.max(*last);
            }
        }
        assert!(last[0] > 40, "{last:?}");
    }

    #[test]
    fn a_process_that_is_not_there_has_no_reading() {
        assert_eq!(cpu_of_tree(u32::MAX >> 1), None);
    }
}
