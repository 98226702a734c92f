//! A server that is stopped for a share of every ten milliseconds, where no quota can be given.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::quota::PERIOD;

/// The kernel may wake a sleeper this much later; the rest is spun through.
const SLEEP_SLACK: Duration = Duration::from_micros(150);

/// Stops and continues a server until it is dropped; then the server goes on.
pub struct Stopper {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    pid: i32,
    stopped_ns: AtomicU64,
    ended: AtomicBool,
}

impl Stopper {
    pub fn start(pid: i32) -> Stopper {
        let shared = Arc::new(Shared { pid, stopped_ns: AtomicU64::new(0), ended: AtomicBool::new(false) });
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.run()
        });
        Stopper { shared, thread: Some(thread) }
    }

    /// Of each period; nothing at first.
    pub fn set_share(&self, share: f64) {
        let stopped_ns = (PERIOD.as_nanos() as f64 * share.clamp(0.0, 0.9)) as u64;
        self.shared.stopped_ns.store(stopped_ns, Ordering::Relaxed);
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut period_ends = Instant::now();
        while !self.ended.load(Ordering::Relaxed) {
            period_ends += PERIOD;
            let stopped = Duration::from_nanos(self.stopped_ns.load(Ordering::Relaxed));
            if !stopped.is_zero() {
                // A PostgreSQL is a process per client.
                let members = family(self.pid);
                signal(&members, Signal::SIGSTOP);
                wait_until(Instant::now() + stopped);
                signal(&members, Signal::SIGCONT);
            }
            wait_until(period_ends);
            // What a busy host made us miss is not made up for.
            period_ends = period_ends.max(Instant::now() - PERIOD);
        }
    }
}

/// A process and its children.
fn family(pid: i32) -> Vec<i32> {
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    std::iter::once(pid).chain(children.split_ascii_whitespace().filter_map(|child| child.parse().ok())).collect()
}

/// To servers that this command holds, or that were its children a moment ago.
fn signal(members: &[i32], signal: Signal) {
    for pid in members {
        _ = kill(Pid::from_raw(*pid), signal);
    }
}

fn wait_until(end: Instant) {
    let left = end.saturating_duration_since(Instant::now());
    if left > SLEEP_SLACK {
        std::thread::sleep(left - SLEEP_SLACK);
    }
    while Instant::now() < end {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_process_goes_on_when_its_stopper_is_gone() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
            stat.rsplit(')').next().unwrap().trim_start().chars().next().unwrap()
        };
        let stopper = Stopper::start(child.id() as i32);
        stopper.set_share(0.5);
        while state() != 'T' {
            std::thread::yield_now();
        }
        drop(stopper);
        while state() == 'T' {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
