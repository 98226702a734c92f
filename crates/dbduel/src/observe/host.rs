//! What the host did beside the duel.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use procfs::CurrentSI;

use super::server_cpu::{descendants, stats};
use super::{FOREIGN_CPU, Observer, Readings, STEAL, Subject, threshold};

/// PF_KTHREAD: the kernel's own threads work for whoever writes, mostly for the server.
const KERNEL_THREAD: u32 = 0x0020_0000;

#[derive(Default)]
pub struct Host {
    before: Option<Sample>,
}

/// One look at the whole machine.
struct Sample {
    at: Instant,
    /// Ticks of all CPUs in all states.
    total: u64,
    steal: Option<u64>,
    iowait: Option<u64>,
    /// Ticks of each process, with its name.
    processes: BTreeMap<i32, (String, u64)>,
}

impl Observer for Host {
    fn begin(&mut self, _: &Subject) {
        self.before = Sample::take();
    }

    fn end(&mut self, subject: &Subject) -> Readings {
        let mut readings = Readings::default();
        let (Some(before), Some(after)) = (self.before.take(), Sample::take()) else { return readings };
        let total = after.total.saturating_sub(before.total).max(1) as f64;
        let mut note = |name: &str, share: f64, flag: Option<&str>| {
            readings.values.insert(name.to_owned(), share);
            if let Some(flag) = flag.filter(|flag| share > threshold(flag)) {
                readings.flags.push(flag.to_owned());
            }
        };
        let share = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?) as f64 / total);
        if let Some(steal) = share(after.steal, before.steal) {
            note("host_steal_share", steal, Some(STEAL));
        }
        if let Some(iowait) = share(after.iowait, before.iowait) {
            note("host_iowait_share", iowait, None);
        }
        if subject.among_others {
            return readings;
        }
        let foreign: u64 = foreign_ticks(&before, &after, subject.server_pid).iter().map(|(_, ticks)| ticks).sum();
        note("host_foreign_cpu_share", foreign as f64 / total, Some(FOREIGN_CPU));
        readings
    }
}

impl Sample {
    fn take() -> Option<Sample> {
        let cpu = procfs::KernelStats::current().ok()?.total;
        let known = [cpu.iowait, cpu.irq, cpu.softirq, cpu.steal].into_iter().flatten().sum::<u64>();
        let processes = stats().into_values().filter(|stat| stat.flags & KERNEL_THREAD == 0);
        Some(Sample {
            at: Instant::now(),
            total: cpu.user + cpu.nice + cpu.system + cpu.idle + known,
            steal: cpu.steal,
            iowait: cpu.iowait,
            processes: processes.map(|stat| (stat.pid, (stat.comm, stat.utime + stat.stime))).collect(),
        })
    }
}

/// Ticks that processes other than the duel's own took between two samples, the busiest first.
fn foreign_ticks(before: &Sample, after: &Sample, server_pid: Option<u32>) -> Vec<(String, u64)> {
    let all = stats();
    // The server hangs below its keeper, and that below this process; asking for it too costs nothing.
    let mut ours = descendants(std::process::id() as i32, &all);
    ours.extend(server_pid.into_iter().flat_map(|pid| descendants(pid as i32, &all)));
    let mut foreign: Vec<(String, u64)> = after
        .processes
        .iter()
        .filter(|(pid, _)| !ours.contains(pid))
        .map(|(pid, (name, ticks))| {
            (name.clone(), ticks - before.processes.get(pid).map_or(0, |(_, ticks)| *ticks).min(*ticks))
        })
        .filter(|(_, ticks)| *ticks > 0)
        .collect();
    foreign.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
    foreign
}

/// What other processes take of the machine's CPU.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignCpu {
    /// Of the whole machine.
    pub share: f64,
    /// Name and share of the busiest.
    pub busiest: Vec<(String, f64)>,
}

/// Watches the idle host for a while; `None` where it cannot be seen.
pub fn foreign_cpu(watch: Duration, interrupted: &dyn Fn() -> bool) -> Option<ForeignCpu> {
    let before = Sample::take()?;
    while before.at.elapsed() < watch && !interrupted() {
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = Sample::take()?;
    let total = after.total.saturating_sub(before.total).max(1) as f64;
    let foreign = foreign_ticks(&before, &after, None);
    let share = foreign.iter().map(|(_, ticks)| *ticks as f64).sum::<f64>() / total;
    let busiest = foreign.into_iter().take(5).map(|(name, ticks)| (name, ticks as f64 / total)).collect();
    Some(ForeignCpu { share, busiest })
}
