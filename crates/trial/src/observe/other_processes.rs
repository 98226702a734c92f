//! What processes that are not the duel's did to the machine: CPU time, and bytes to and from disks.
//!
//! It takes a scan of all processes, so it is done at the edges of an interval only. The work of a
//! process that ended in between is found with the parent that waited for it.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat, all_processes};
use procfs::{CurrentSI, ProcError};

use super::machine::cpu_ticks;
use super::server_cpu::descendants;

/// PF_KTHREAD: the kernel's own threads work for the processes that write, mostly for the server.
const KERNEL_THREAD: u32 = 0x0020_0000;

/// One scan of all processes.
pub struct Scan {
    at: Instant,
    /// Ticks of all CPUs in all states.
    ticks: u64,
    stats: BTreeMap<i32, Stat>,
    /// Bytes read from and written to disks by each process that we may read.
    disk_bytes: BTreeMap<i32, u64>,
    /// Some that we may not.
    hides_some: bool,
}

/// What others took between two scans.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    /// Of the whole machine's CPU time.
    pub share: f64,
    /// Name and share of the busiest.
    pub busiest: Vec<(String, f64)>,
    /// Of all bytes that processes were seen to move to and from disks, so at least this; none where no other
    /// process can be seen.
    pub disk_bytes_share: Option<f64>,
}

impl Scan {
    pub fn take() -> Option<Scan> {
        let ticks = cpu_ticks(&procfs::KernelStats::current().ok()?);
        let mut stats = BTreeMap::new();
        let (mut disk_bytes, mut hides_some) = (BTreeMap::new(), false);
        for process in all_processes().ok()?.flatten() {
            // What ends during the scan is left out.
            let Ok(stat) = process.stat() else { continue };
            if stat.flags & KERNEL_THREAD != 0 {
                continue;
            }
            match disk_bytes_of(&process) {
                Ok(bytes) => _ = disk_bytes.insert(stat.pid, bytes),
                Err(ProcError::NotFound(_)) => {}
                Err(_) => hides_some = true,
            }
            stats.insert(stat.pid, stat);
        }
        Some(Scan { at: Instant::now(), ticks, stats, disk_bytes, hides_some })
    }

    /// What processes outside our own tree and the server's took since an earlier scan.
    pub fn since(&self, before: &Scan, server_pid: Option<u32>) -> Taken {
        // The server hangs below its keeper, and that below this process; asking for it too costs nothing.
        let mut ours = descendants(std::process::id() as i32, &self.stats);
        ours.extend(server_pid.into_iter().flat_map(|pid| descendants(pid as i32, &self.stats)));
        let ticks = self.grown(before, &self.ticks_of(), &before.ticks_of());
        let all_ticks = self.ticks.saturating_sub(before.ticks).max(1) as f64;
        let mut busiest: Vec<(String, f64)> = ticks
            .iter()
            .filter(|(pid, ticks)| !ours.contains(pid) && **ticks > 0)
            .map(|(pid, ticks)| (self.stats[pid].comm.clone(), *ticks as f64 / all_ticks))
            .collect();
        busiest.sort_by(|one, other| other.1.total_cmp(&one.1));
        let moved = self.grown(before, &self.disk_bytes, &before.disk_bytes);
        let foreign = moved.iter().filter(|(pid, _)| !ours.contains(pid)).map(|(_, bytes)| *bytes);
        let foreign = foreign.reduce(|sum, bytes| sum + bytes);
        let disk_bytes_share = foreign.map(|foreign| foreign as f64 / moved.values().sum::<u64>().max(1) as f64);
        Taken { share: busiest.iter().fold(0.0, |sum, (_, share)| sum + share), busiest, disk_bytes_share }
    }

    fn ticks_of(&self) -> BTreeMap<i32, u64> {
        let of = |stat: &Stat| stat.utime + stat.stime + (stat.cutime.max(0) + stat.cstime.max(0)) as u64;
        self.stats.iter().map(|(pid, stat)| (*pid, of(stat))).collect()
    }

    /// By how much the account of each process grew. An account holds those of the children that a process
    /// has waited for, so what a child had before it ended has to come off its parent's growth; where the parent
    /// has ended too, off that of its own.
    fn grown(&self, before: &Scan, now: &BTreeMap<i32, u64>, then: &BTreeMap<i32, u64>) -> BTreeMap<i32, u64> {
        let mut known: BTreeMap<i32, u64> = BTreeMap::new();
        let goes_on = |stat: &&Stat| self.stats.get(&stat.pid).is_some_and(|now| now.starttime == stat.starttime);
        for (pid, stat) in &before.stats {
            let parent = |stat: &&Stat| before.stats.get(&stat.ppid);
            let heir = std::iter::successors(Some(stat), parent).take(before.stats.len()).find(goes_on);
            // None of its ancestors goes on: what it had is in no account that grows.
            let Some(heir) = heir else { continue };
            *known.entry(heir.pid).or_default() += then.get(pid).copied().unwrap_or(0);
        }
        let growth = |(pid, now): (&i32, &u64)| (*pid, now.saturating_sub(known.get(pid).copied().unwrap_or(0)));
        now.iter().map(growth).collect()
    }
}

/// The kernel adds what ended children moved to the process that waited for them.
fn disk_bytes_of(process: &Process) -> Result<u64, ProcError> {
    process.io().map(|io| io.read_bytes + io.write_bytes)
}

/// Whether we may read what all others move to and from disks.
pub fn disk_bytes_are_visible() -> bool {
    Scan::take().is_some_and(|scan| !scan.hides_some)
}

/// Watches the idle host for a while; `None` where it cannot be seen.
pub fn foreign_cpu(interval: Duration, interrupted: &dyn Fn() -> bool) -> Option<Taken> {
    let before = Scan::take()?;
    while before.at.elapsed() < interval && !interrupted() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut taken = Scan::take()?.since(&before, None);
    taken.busiest.truncate(5);
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process as the kernel writes it: user ticks of its own, and of children it has waited for.
    fn stat(pid: i32, parent: i32, started: u64, own: u64, waited_for: u64) -> Stat {
        let line = format!(
            "{pid} (p{pid}) S {parent} 1 1 0 -1 0 0 0 0 0 {own} 0 {waited_for} 0 20 0 1 0 {started} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        );
        procfs::prelude::FromRead::from_read(line.as_bytes()).unwrap()
    }

    fn scan(ticks: u64, stats: Vec<Stat>, bytes: &[(i32, u64)]) -> Scan {
        let stats = stats.into_iter().map(|stat| (stat.pid, stat)).collect();
        Scan { at: Instant::now(), ticks, stats, disk_bytes: bytes.iter().copied().collect(), hides_some: false }
    }

    #[test]
    fn the_work_of_processes_that_ended_is_found_with_their_parents() {
        let me = std::process::id() as i32;
        let (shell, long, short, started, keeper) = (900_001, 900_002, 900_003, 900_004, 900_005);
        let before = scan(
            1000,
            vec![
                stat(me, 1, 1, 50, 0),
                stat(shell, 1, 1, 10, 5),
                stat(long, 1, 1, 30, 0),
                stat(short, shell, 2, 40, 0),
            ],
            &[(me, 0), (shell, 100), (long, 0), (short, 700)],
        );
        // `short` did 15 more ticks and ended; its number is taken by a process of the duel's own.
        let after = scan(
            2000,
            vec![
                stat(me, 1, 1, 250, 0),
                stat(shell, 1, 1, 10, 60),
                stat(long, 1, 1, 90, 0),
                stat(started, 1, 9, 5, 0),
                stat(keeper, me, 9, 100, 0),
                stat(short, keeper, 9, 300, 0),
            ],
            &[(me, 200), (shell, 900), (long, 0), (started, 0), (keeper, 0), (short, 100)],
        );
        let taken = after.since(&before, None);
        let expected = [("p900002", 0.06), ("p900001", 0.015), ("p900004", 0.005)];
        assert_eq!(taken.busiest, expected.map(|(name, share)| (name.to_owned(), share)));
        assert!((taken.share - 0.08).abs() < 1e-9, "{taken:?}");
        // The shell's 100 bytes beside 200 + 100 of ours.
        assert_eq!(taken.disk_bytes_share, Some(0.25));
        let unseen = scan(2000, vec![stat(me, 1, 1, 250, 0), stat(shell, 1, 1, 10, 60)], &[(me, 200)]);
        assert_eq!(unseen.since(&before, None).disk_bytes_share, None);
    }

    #[test]
    fn what_a_family_had_before_it_ended_is_no_growth_of_whom_it_leaves() {
        let (shell, build, compiler) = (900_001, 900_002, 900_003);
        let before = vec![stat(shell, 1, 1, 10, 0), stat(build, shell, 2, 20, 0), stat(compiler, build, 3, 500, 0)];
        // Both ended: the build waited for the compiler (510 ticks by then), the shell for the build (25 of its own).
        let after = vec![stat(shell, 1, 1, 10, 535)];
        let taken = scan(2000, after, &[]).since(&scan(1000, before, &[]), None);
        assert_eq!(taken.busiest, [("p900001".to_owned(), 0.015)], "ten ticks and five of a thousand");
    }

    #[test]
    fn a_scan_of_this_machine_does_not_count_this_process() {
        let before = Scan::take().unwrap();
        let taken = Scan::take().unwrap().since(&before, None);
        // Ticks are coarser than the time between the scans.
        assert!(taken.share >= 0.0 && taken.share.is_finite(), "{taken:?}");
        assert!(before.stats.contains_key(&(std::process::id() as i32)));
    }
}
