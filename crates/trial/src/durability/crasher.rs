//! The load before a crash, and the crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use load::{KeepsLedger, Ledger, Load, LoadOptions, Measured, monotonic_ns};

use super::load_process::LoadProcess;
use super::{Interrupted, OwnLedger, Purpose, RunningServer, Server, Trial, clients_target, load_options, make_ready};
use engine::counters::CHECKPOINT_AGE;
use engine::{Monitor, Volume};
use record::format::crash::CrashKind;

/// How soon an interruption ends the wait for a crash.
const POLL: Duration = Duration::from_millis(5);
/// The server is asked for its redo log so long before the crash.
const ASK_BEFORE: Duration = Duration::from_millis(100);
/// Clients that outlive their server by this much have not noticed.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// When a server crashed, and under what.
#[derive(Debug, Clone, Copy)]
pub struct Crashed {
    /// Later acknowledgements come from nobody that is alive: the last answer of who was killed, or behind the shutdown
    /// of the file system.
    pub at_ns: u64,
    /// From the start of the clients.
    pub load: Duration,
    /// The ledger's commits a second in the second half of the load.
    pub rate: Option<f64>,
    /// Those of a workload beside the ledger, over the whole load; none where the ledger is all.
    pub work_commits: Option<u64>,
    pub redo_bytes: Option<f64>,
    /// Until then.
    pub acknowledged: u64,
}

impl Crashed {
    fn new(begun_ns: u64, at_ns: u64, redo_bytes: Option<f64>, ledger: &Ledger) -> Crashed {
        let load = Duration::from_nanos(at_ns.saturating_sub(begun_ns));
        let acknowledged_ns = ledger.acknowledged_ns();
        let rate = rate(&acknowledged_ns, begun_ns, at_ns);
        let acknowledged = acknowledged_ns.partition_point(|ns| *ns <= at_ns) as u64;
        Crashed { at_ns, load, rate, work_commits: None, redo_bytes, acknowledged }
    }

    /// What a user of the server had: commits a second of the workload, which may be the ledger itself.
    pub fn throughput(&self) -> Option<f64> {
        self.work_commits.map(|commits| commits as f64 / self.load.as_secs_f64()).or(self.rate)
    }
}

/// Commits a second in the second half of a time; none where there was none.
fn rate(acknowledged_ns: &[u64], begun_ns: u64, at_ns: u64) -> Option<f64> {
    let half_ns = begun_ns + (at_ns.saturating_sub(begun_ns)) / 2;
    let until = |ns: u64| acknowledged_ns.partition_point(|at| *at <= ns);
    let commits = until(at_ns) - until(half_ns);
    (commits > 0).then(|| commits as f64 * 1e9 / (at_ns - half_ns) as f64)
}

/// Runs the ledger until the crash, and returns when nothing of the server is left.
pub fn crash_under_load(
    trial: &Trial,
    keeps: &dyn KeepsLedger,
    server: Box<Server>,
    volume: Option<&Volume>,
    ledger: &OwnLedger,
) -> Result<Crashed> {
    let Purpose::Crash { kind, after_ms } = trial.planned.purpose else {
        bail!("the plan has no crash for this trial")
    };
    let (after, interrupted) = (Duration::from_millis(after_ms), trial.interrupted);
    let crash = Crash { kind, after, volume, ledger: &ledger.ledger, interrupted };
    let crashed = if trial.environment.is_embedded() {
        of_embedded(trial, keeps, *server, &crash, ledger)
    } else {
        of_server(trial, keeps, server, &crash, ledger)
    };
    ensure!(!trial.interrupted.load(Ordering::Relaxed), Interrupted);
    let crashed = crashed?;
    volume.map_or(Ok(()), Volume::mount_again).context("the file system did not come back from the crash")?;
    Ok(crashed)
}

/// How and when.
struct Crash<'a> {
    kind: CrashKind,
    after: Duration,
    volume: Option<&'a Volume>,
    ledger: &'a Ledger,
    interrupted: &'a AtomicBool,
}

impl Crash<'_> {
    fn wait_until(&self, due_ns: u64) {
        while monotonic_ns() < due_ns && !self.interrupted.load(Ordering::Relaxed) {
            let left = Duration::from_nanos(due_ns.saturating_sub(monotonic_ns()));
            std::thread::sleep(POLL.min(left));
        }
    }

    /// Who was killed answers nobody any more, and whatever it had answered counts: the crash was when its last answer
    /// came.
    fn last_acknowledged_ns(&self) -> u64 {
        self.ledger.acknowledged_ns().last().copied().unwrap_or_else(monotonic_ns)
    }

    /// Dropping a server or a process kills it with all that it started, and returns when nothing of it is left.
    fn carry_out<T>(&self, victim: T) -> Result<u64> {
        match (self.kind, self.volume) {
            (CrashKind::Kill, _) => {
                drop(victim);
                Ok(self.last_acknowledged_ns())
            }
            (CrashKind::Os, Some(volume)) => {
                volume.crash()?;
                let at_ns = monotonic_ns();
                drop(victim);
                Ok(at_ns)
            }
            (CrashKind::Os, None) => bail!("an OS crash needs a file system of its own"),
        }
    }
}

fn of_server(
    trial: &Trial,
    keeps: &dyn KeepsLedger,
    server: Box<Server>,
    crash: &Crash,
    ledger: &OwnLedger,
) -> Result<Crashed> {
    let server = RunningServer::Managed(server);
    make_ready(trial, &server)?;
    let target = clients_target(trial, &server)?;
    let load_max = crash.after + NOTICED_WITHIN;
    let options = LoadOptions {
        ledger: Some(Arc::clone(&ledger.ledger)),
        interval_max: load_max,
        transactions_max: None,
        windows: None,
        ..load_options(trial, &server)
    };
    let monitor = server.monitor()?;
    let load = Load::prepare(trial.workload, &target, options, trial.interrupted)?;
    let begun_ns = monotonic_ns();
    let due_ns = begun_ns + crash.after.as_nanos() as u64;
    let mut ended_ns = 0;
    let (crashed, Measured { tally, failure }) = std::thread::scope(|scope| {
        let crasher = scope.spawn(move || {
            crash.wait_until(begun_ns + crash.after.saturating_sub(ASK_BEFORE).as_nanos() as u64);
            let redo_bytes = monitor.and_then(|monitor| redo_bytes(&monitor));
            crash.wait_until(due_ns);
            crash.carry_out(server).map(|at_ns| (at_ns, redo_bytes))
        });
        let measured = load.measure(Some(load_max), &mut |_| (), &mut || ended_ns = monotonic_ns());
        (crasher.join(), measured)
    });
    let Ok(crashed) = crashed else { bail!("the thread that crashes the server panicked") };
    let (at_ns, redo_bytes) = crashed?;
    match failure {
        None => bail!("the clients did not notice that their server was gone"),
        // A load that fails earlier has shown nothing about the crash.
        Some(failure) if ended_ns < due_ns => return Err(failure).context("the load ended before the crash"),
        Some(_) => {}
    }
    let crashed = Crashed::new(begun_ns, at_ns, redo_bytes, &ledger.ledger);
    let has_work = keeps.clients(trial.clients) < trial.clients;
    let of_ledger = ledger.ledger.acknowledged_ns().len() as u64;
    let work_commits = has_work.then(|| tally.committed.saturating_sub(of_ledger));
    Ok(Crashed { work_commits, ..crashed })
}

/// What the server would have to apply, as far as it shows it.
fn redo_bytes(monitor: &Monitor) -> Option<f64> {
    monitor.counters().ok()?.state.get(CHECKPOINT_AGE).copied()
}

fn of_embedded(
    trial: &Trial,
    keeps: &dyn KeepsLedger,
    server: Server,
    crash: &Crash,
    ledger: &OwnLedger,
) -> Result<Crashed> {
    let server = RunningServer::Managed(Box::new(server));
    make_ready(trial, &server)?;
    let target = clients_target(trial, &server)?;
    let process = LoadProcess::start(trial, keeps, &target, ledger)?;
    let begun_ns = process.first_commit_ns(&ledger.ledger, crash.interrupted)?;
    crash.wait_until(begun_ns + crash.after.as_nanos() as u64);
    process.expect_alive()?;
    let at_ns = crash.carry_out(process)?;
    Ok(Crashed::new(begun_ns, at_ns, None, &ledger.ledger))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_before_a_crash_is_that_of_the_second_half() {
        let second = 1_000_000_000;
        // One commit a second for ten seconds, then ten a second for ten.
        let slow = (1..=10).map(|n| n * second);
        let fast = (1..=100).map(|n| 10 * second + n * second / 10);
        let acknowledged: Vec<u64> = slow.chain(fast).collect();
        assert_eq!(rate(&acknowledged, 0, 20 * second), Some(10.0));
        assert_eq!(rate(&[], 0, 20 * second), None);
    }
}
