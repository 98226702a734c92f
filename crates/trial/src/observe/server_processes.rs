//! The server's processes and threads: what they wait for, what they read and write, and how often the
//! kernel switches between them.
//!
//! A server inside dbduel shares its threads with the load generator, which cannot be distinguished: there
//! is nothing to see then.

use std::collections::BTreeMap;
use std::fs;

use load::Moved;
use procfs::prelude::{FromBufRead, FromRead};
use procfs::process::{Io, Stat};

use super::sample::{Sample, Source};
use super::server_cpu::{descendants, stats, waited_for};
use super::{Observer, Readings, Subject};

#[derive(Default)]
pub struct ServerTree {
    before: Option<Edge>,
}

/// What all processes of the server had done until one moment.
struct Edge {
    sample: Sample,
    threads: BTreeMap<(i32, i32), Thread>,
    /// CPU time of all processes, and of those that have ended and were waited for.
    cpu_s: f64,
}

/// What one thread had done.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Thread {
    switches: Switches,
    cpu_s: f64,
}

/// Context switches of one thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Switches {
    /// It had to wait for something.
    voluntary: u64,
    /// Its time slice was over, or another task had priority.
    involuntary: u64,
}

impl Observer for ServerTree {
    fn begin(&mut self, subject: &Subject) {
        self.before = subject.server_pid.map(Edge::of);
    }

    fn sources(&self, subject: &Subject) -> Vec<Box<dyn Source>> {
        let seconds = |pid| Box::new(TreeSeconds { pids: tree(pid), every: 1, turn: 0 }) as Box<dyn Source>;
        subject.server_pid.map(seconds).into_iter().collect()
    }

    fn end(&mut self, subject: &Subject) -> Readings {
        let (Some(before), Some(pid)) = (self.before.take(), subject.server_pid) else { return Readings::default() };
        let after = Edge::of(pid);
        let mut values = after.sample.since(&before.sample);
        if let Some(switches) = after.switches_since(&before) {
            values.insert("server_ctx_voluntary".to_owned(), switches.voluntary as f64);
            values.insert("server_ctx_involuntary".to_owned(), switches.involuntary as f64);
        }
        Readings { values, ..Readings::default() }
    }
}

impl Edge {
    fn of(root: u32) -> Edge {
        let pids = tree(root);
        let mut sample = Sample::default();
        add_totals(&pids, &mut sample);
        let threads = pids.iter().flat_map(|pid| threads_of(*pid).into_iter().map(|thread| (*pid, thread)));
        let threads = threads.filter_map(|(pid, thread)| Some(((pid, thread), Thread::of(pid, thread)?))).collect();
        let stats = pids.iter().filter_map(|pid| stat_of(format!("/proc/{pid}/stat")));
        let ticks: u64 = stats.map(|stat| stat.utime + stat.stime + waited_for(&stat)).sum();
        Edge { threads, sample, cpu_s: ticks as f64 / procfs::ticks_per_second() as f64 }
    }

    /// Of the threads that are there at the end. None where no thread can be seen, and where others, whose switches are
    /// lost with them, have done a part of the work that counts.
    fn switches_since(&self, before: &Edge) -> Option<Switches> {
        let (mut sum, mut cpu_s) = (Switches::default(), 0.0);
        for (thread, now) in &self.threads {
            let then = before.threads.get(thread).copied().unwrap_or_default();
            sum.voluntary += now.switches.voluntary.saturating_sub(then.switches.voluntary);
            sum.involuntary += now.switches.involuntary.saturating_sub(then.switches.involuntary);
            cpu_s += now.cpu_s - then.cpu_s;
        }
        let all_s = self.cpu_s - before.cpu_s;
        let is_whole = all_s - cpu_s <= ENDED_CPU_MAX * all_s + TICKS_S;
        (!self.threads.is_empty() && is_whole).then_some(sum)
    }
}

impl Thread {
    fn of(pid: i32, thread: i32) -> Option<Thread> {
        let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/task/{thread}/{file}")).ok();
        let cpu_ns: u64 = read("schedstat")?.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Thread { switches: switches(&read("status")?)?, cpu_s: cpu_ns as f64 / 1e9 })
    }
}

/// Threads that ended may have had so much of the CPU time that was used.
const ENDED_CPU_MAX: f64 = 0.1;
/// Times of processes are counted in ticks.
const TICKS_S: f64 = 0.05;

fn tree(root: u32) -> Vec<i32> {
    descendants(root as i32, &stats()).into_iter().collect()
}

fn threads_of(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn stat_of(path: String) -> Option<Stat> {
    Stat::from_read(&fs::read(path).ok()?[..]).ok()
}

/// Context switches of all threads of a tree, and what its processes have read and written.
pub fn moved(root: u32) -> Moved {
    let pids = tree(root);
    let io: Option<Vec<Io>> = pids.iter().map(|pid| io_of(*pid)).collect();
    let io = io.filter(|all| !all.is_empty());
    let sum = |of: fn(&Io) -> u64| io.as_ref().map(|all| all.iter().map(of).sum::<u64>());
    let status = |pid: i32, thread: i32| fs::read_to_string(format!("/proc/{pid}/task/{thread}/status")).ok();
    let of_thread = |pid: i32, thread: i32| {
        let switches = switches(&status(pid, thread)?)?;
        Some(switches.voluntary + switches.involuntary)
    };
    let of_process = |pid: i32| threads_of(pid).into_iter().filter_map(move |thread| of_thread(pid, thread));
    let all: Vec<u64> = pids.iter().flat_map(|pid| of_process(*pid)).collect();
    let switches = (!all.is_empty()).then(|| all.iter().sum());
    Moved([switches, sum(|io| io.read_bytes), sum(|io| io.write_bytes)])
}

/// What a process has moved; none where the kernel does not show it.
fn io_of(pid: i32) -> Option<Io> {
    Io::from_buf_read(&fs::read(format!("/proc/{pid}/io")).ok()?[..]).ok()
}

/// `voluntary_ctxt_switches: 12` and `nonvoluntary_ctxt_switches: 3`, the last lines of a status.
fn switches(status: &str) -> Option<Switches> {
    let value = |wanted: &str| {
        let mut lines = status.lines().rev();
        lines.find_map(|line| line.strip_prefix(wanted)?.trim().parse().ok())
    };
    Some(Switches { voluntary: value("voluntary_ctxt_switches:")?, involuntary: value("nonvoluntary_ctxt_switches:")? })
}

/// Page faults, and bytes and system calls of all processes. The kernel adds what ended children had to the
/// process that waited for them.
fn add_totals(pids: &[i32], sample: &mut Sample) {
    let stats: Vec<Stat> = pids.iter().filter_map(|pid| stat_of(format!("/proc/{pid}/stat"))).collect();
    if !stats.is_empty() {
        let sum = |of: fn(&Stat) -> u64| stats.iter().map(of).sum::<u64>() as f64;
        sample.count("server_faults_minor", sum(|stat| stat.minflt + stat.cminflt));
        sample.count("server_faults_major", sum(|stat| stat.majflt + stat.cmajflt));
    }
    let moved: Vec<Io> = pids.iter().filter_map(|pid| io_of(*pid)).collect();
    if !moved.is_empty() {
        let sum = |of: fn(&Io) -> u64| moved.iter().map(of).sum::<u64>() as f64;
        sample.count("server_read_bytes", sum(|io| io.read_bytes));
        sample.count("server_write_bytes", sum(|io| io.write_bytes));
        sample.count("server_read_calls", sum(|io| io.syscr));
        sample.count("server_write_calls", sum(|io| io.syscw));
        sample.count("server_write_call_bytes", sum(|io| io.wchar));
    }
}

/// The processes that were there when the interval began, second by second.
struct TreeSeconds {
    pids: Vec<i32>,
    /// Looks only at every so many seconds, because many threads take long to ask.
    every: usize,
    turn: usize,
}

/// So many threads are asked in a second, on average: it takes the kernel about 10 us for each.
const THREADS_A_SECOND: usize = 100;

impl Source for TreeSeconds {
    fn sample(&mut self, sample: &mut Sample) {
        if self.turn.is_multiple_of(self.every) {
            let threads = add_seconds(&self.pids, sample);
            self.every = threads.div_ceil(THREADS_A_SECOND).max(1);
            self.turn = 0;
        }
        self.turn += 1;
    }
}

/// Returns how many threads there are.
fn add_seconds(pids: &[i32], sample: &mut Sample) -> usize {
    let stats: Vec<Stat> = pids.iter().filter_map(|pid| stat_of(format!("/proc/{pid}/stat"))).collect();
    if stats.is_empty() {
        return 0;
    }
    let seconds = |ticks: u64| ticks as f64 / procfs::ticks_per_second() as f64;
    sample.per_second("server_user_cores", seconds(stats.iter().map(|stat| stat.utime).sum()));
    sample.per_second("server_system_cores", seconds(stats.iter().map(|stat| stat.stime).sum()));
    let resident: u64 = stats.iter().map(|stat| stat.rss * procfs::page_size()).sum();
    sample.level("server_resident_bytes", resident as f64);
    let moved: Vec<Io> = pids.iter().filter_map(|pid| io_of(*pid)).collect();
    if !moved.is_empty() {
        sample.per_second("server_read_bytes_per_s", moved.iter().map(|io| io.read_bytes).sum::<u64>() as f64);
        sample.per_second("server_write_bytes_per_s", moved.iter().map(|io| io.write_bytes).sum::<u64>() as f64);
    }
    let states = stats.iter().flat_map(states_of);
    let (mut threads, mut running, mut blocked) = (0, 0, 0);
    for state in states {
        threads += 1;
        running += usize::from(state == 'R');
        blocked += usize::from(state == 'D');
    }
    sample.level("server_threads", threads as f64);
    sample.level("server_threads_running", running as f64);
    sample.level("server_threads_blocked", blocked as f64);
    sample.level("server_threads_sleeping", (threads - running - blocked) as f64);
    threads
}

/// Of each thread: `R` on a CPU or waiting for one, `D` waiting for a disk, everything else asleep.
fn states_of(process: &Stat) -> Vec<char> {
    if process.num_threads == 1 {
        return vec![process.state];
    }
    let pid = process.pid;
    let state = |thread: i32| state(&fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?);
    threads_of(pid).into_iter().filter_map(state).collect()
}

/// The letter behind the name, which stands in parentheses and may hold some itself.
fn state(stat: &str) -> Option<char> {
    stat.rsplit_once(") ")?.1.chars().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_s_status_and_state_are_found_whatever_its_name_is() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(switches(status), Some(Switches { voluntary: 12, involuntary: 3 }));
        assert_eq!(switches("Name:\tvoluntary_ctxt_switches: 5\n"), None);
        for (stat, expected) in [("7 (ib_io) D 1 2", Some('D')), ("7 (odd) R) name) S 1", Some('S')), ("7 (cut", None)]
        {
            assert_eq!(state(stat), expected, "{stat}");
        }
    }

    #[test]
    fn switches_are_those_of_the_threads_that_are_left() {
        let edge = |cpu_s: f64, threads: &[(i32, u64, u64, f64)]| {
            let thread = |(thread, voluntary, involuntary, cpu_s): &(i32, u64, u64, f64)| {
                let switches = Switches { voluntary: *voluntary, involuntary: *involuntary };
                ((1, *thread), Thread { switches, cpu_s: *cpu_s })
            };
            Edge { sample: Sample::default(), threads: threads.iter().map(thread).collect(), cpu_s }
        };
        let before = edge(5.0, &[(1, 100, 10, 2.0), (2, 900, 90, 1.0)]);
        let after = |cpu_s: f64| edge(cpu_s, &[(1, 130, 12, 3.0), (3, 7, 1, 0.5)]);
        assert_eq!(after(6.6).switches_since(&before), Some(Switches { voluntary: 37, involuntary: 3 }));
        assert_eq!(after(7.5).switches_since(&before), None, "two fifths of the work were done by a thread that ended");
        assert_eq!(edge(6.5, &[]).switches_since(&before), None);
    }

    #[test]
    fn our_own_tree_shows_threads_memory_and_system_calls() {
        let subject = Subject { server_pid: Some(std::process::id()), ..Subject::default() };
        let mut observer = ServerTree::default();
        observer.begin(&subject);
        let mut sample = Sample::default();
        observer.sources(&subject).iter_mut().for_each(|source| source.sample(&mut sample));
        let level = |name: &str| sample.value_since(&Sample::default(), name).unwrap();
        assert!(level("server_threads") >= 2.0 && level("server_resident_bytes") > 1e6);
        assert!(level("server_threads_running") >= 1.0, "the one that asks");
        // Each reading of /proc is a system call that the next one counts.
        let seen = observer.end(&subject).values;
        assert!(seen["server_read_calls"] > 0.0 && seen.contains_key("server_ctx_voluntary"), "{seen:?}");
        let no_server = Subject::default();
        observer.begin(&no_server);
        assert!(observer.sources(&no_server).is_empty() && observer.end(&no_server).values.is_empty());
        let gone = Subject { server_pid: Some(u32::MAX >> 1), ..Subject::default() };
        observer.begin(&gone);
        assert!(observer.end(&gone).values.is_empty(), "a process that is not there has no reading");
    }

    #[test]
    fn a_server_of_many_threads_is_asked_less_often() {
        let me = std::process::id() as i32;
        let mut seconds = TreeSeconds { pids: vec![me], every: 3, turn: 1 };
        let shows: Vec<bool> = (0..3)
            .map(|_| {
                let mut sample = Sample::default();
                seconds.sample(&mut sample);
                sample.names().next().is_some()
            })
            .collect();
        assert_eq!(shows, [false, false, true]);
        assert_eq!(seconds.every, 1, "we are few");
    }
}
