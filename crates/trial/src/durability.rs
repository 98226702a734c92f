//! A trial that ends in a crash (method, section 7).
//!
//! A server of dbduel's own runs the ledger on fresh data, crashes after a time that the plan drew, is started again on
//! the files that it left, and goes on with the load until its rate is back. Then its tables are compared with the
//! ledger, and the engine checks them by its own means. The ledger lies in the trial's folder, outside of what crashes.
//! An embedded engine runs in a process of its own until the crash, because that is what is killed.

mod crasher;
mod load_process;
mod recovery_time;

use load_process::OwnLedger;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use load::{Audit, Ledger, Live, Load, LoadOptions, Witnessed, monotonic_ns};

use super::environment::RunningServer;
use super::host::Interrupted;
use super::run::{Finished, Steps, clients_target, failed, load_options, make_ready, record};
use super::trial::Trial;
use crasher::Crashed;
use engine::{Integrity, Server, Volume};
use record::format::crash::{
    ACKNOWLEDGED, FIRST_COMMIT, FIRST_LOGIN, FULL_RATE, HOLES, INTEGRITY_CHECK, INTEGRITY_ERRORS, INTEGRITY_REMARK,
    LOAD, LOG_ERRORS, LOG_REMARK, LOST, PARTIAL, PHANTOM, REDO, RESURRECTED, UNKNOWN, WINDOW, WORK_COMMITS,
    WRONG_BALANCES, WRONG_LISTS,
};
use record::format::{Purpose, Status, TrialRecord};
use recovery_time::RecoveryTime;

pub use load_process::{SUBCOMMAND, main as load_process_main};

/// Clients of the load behind the crash count from here, so that they meet no transaction of those before.
const AFTER_FIRST_CLIENT: u32 = 1 << 20;
/// A server that answers and commits nothing for so long has not come back.
const FIRST_COMMIT_WITHIN: Duration = Duration::from_secs(60);
/// How often the rate behind the crash is looked at.
const FULL_RATE_POLL: Duration = Duration::from_millis(500);
/// Complaints of the engine's check, and lines of its log, that are kept.
const COMPLAINTS_MAX: usize = 5;

/// Runs one trial of an experiment with `[recovery]`. Only an interruption gives no record.
pub fn crash(trial: &Trial, live: &mut dyn FnMut(Live)) -> Result<Finished, Interrupted> {
    let mut steps = Steps::begin();
    let mut settings = BTreeMap::new();
    let crashed = go_through(trial, &mut steps, &mut settings, live);
    if trial.interrupted.load(Ordering::Relaxed) {
        return Err(Interrupted);
    }
    let mut finished = match crashed {
        Ok(found) => Finished::without_load(found.record(trial)),
        Err(error) => failed(trial, steps.current(), &error),
    };
    finished.settings = settings;
    Ok(steps.end(finished))
}

/// All that a crash has shown.
struct Found {
    crashed: Crashed,
    recovery: RecoveryTime,
    audit: Audit,
    /// None where the engine has no check of its own.
    integrity: Option<Integrity>,
    /// Lines of the server's log since the restart that report damage.
    log: Vec<String>,
}

fn go_through(
    trial: &Trial,
    steps: &mut Steps,
    settings: &mut BTreeMap<String, String>,
    live: &mut dyn FnMut(Live),
) -> Result<Found> {
    let keeps = trial.workload.keeps_ledger().context("the workload keeps no ledger")?;
    let volume = steps.take("restore", || {
        let volume = trial.environment.volume()?;
        trial.lay_out()?;
        volume.as_ref().map_or(Ok(()), Volume::sync)?;
        Ok(volume)
    })?;
    let before = OwnLedger::new(trial, keeps, "ledger-before", 0)?;
    let server = steps.take("start", || started(trial))?;
    settings.clone_from(server.effective_settings());
    live(Live::without_load("under load until it crashes"));
    let crashed = steps.take("load", || crasher::crash_under_load(trial, keeps, server, volume.as_ref(), &before))?;
    live(Live::without_load("recovery"));
    let after = OwnLedger::new(trial, keeps, "ledger-after", AFTER_FIRST_CLIENT)?;
    let begun_ns = monotonic_ns();
    let server = steps.take("restart", || started(trial).context("the server did not come back from the crash"))?;
    let login = server.ready_after();
    let server = RunningServer::Managed(server);
    let restart = Restart { begun_ns, login, rate: crashed.rate };
    let recovery = steps.take("recover", || recover(trial, &server, &after.ledger, &restart))?;
    live(Live::without_load("audit"));
    let witnessed = [
        Witnessed { ledger: &before.ledger, crash_ns: crashed.at_ns },
        Witnessed { ledger: &after.ledger, crash_ns: u64::MAX },
    ];
    let audit = steps.take("audit", || Ok(keeps.audit(&mut server.session()?, &witnessed)?))?;
    let integrity = steps.take("check", || integrity(trial, &server))?;
    let log = server.damage_in_log();
    steps.take("stop", || server.stop())?;
    Ok(Found { crashed, recovery, audit, integrity, log })
}

/// What is known when a server answers again.
struct Restart {
    begun_ns: u64,
    login: Duration,
    /// Before the crash.
    rate: Option<f64>,
}

fn started(trial: &Trial) -> Result<Box<Server>> {
    match trial.start()? {
        RunningServer::Managed(server) => Ok(server),
        RunningServer::UserServer(_) => bail!("a server that dbduel does not manage is not made to crash"),
    }
}

/// Goes on with the load until its rate is back, or for as long as that is waited for.
fn recover(
    trial: &Trial,
    server: &RunningServer,
    ledger: &Arc<Ledger>,
    Restart { begun_ns, login, rate }: &Restart,
) -> Result<RecoveryTime> {
    let target = clients_target(trial, server)?;
    let options = LoadOptions { ledger: Some(Arc::clone(ledger)), ..load_options(trial, server) };
    let mut load = Load::prepare(trial.workload, &target, options, trial.interrupted)?;
    let mut waited = Duration::ZERO;
    loop {
        load.warm_up(FULL_RATE_POLL, &mut |_| ())?;
        waited += FULL_RATE_POLL;
        let seen = RecoveryTime::of(&ledger.acknowledged_ns(), *begun_ns, *login, *rate, monotonic_ns());
        let is_over = match &seen {
            Some(seen) => seen.full_rate.is_some() || rate.is_none() || waited >= trial.conditions.full_rate_within,
            None => waited >= FIRST_COMMIT_WITHIN,
        };
        if is_over {
            load.give_up();
            return seen.context("no transaction was committed behind the crash");
        }
    }
}

fn integrity(trial: &Trial, server: &RunningServer) -> Result<Option<Integrity>> {
    let tables = trial.workload.tables(server.dialect()).into_iter().map(|table| table.name);
    server.engine().integrity(&mut server.session()?, &tables.collect::<Vec<_>>())
}

/// The first of these lines, under a name; nothing where there are none.
fn first_lines(name: &str, lines: &[String]) -> Option<(String, String)> {
    let shown = || lines.iter().take(COMPLAINTS_MAX).cloned().collect::<Vec<_>>().join("; ");
    (!lines.is_empty()).then(|| (name.to_owned(), shown()))
}

impl Found {
    fn record(self, trial: &Trial) -> TrialRecord {
        let complaints =
            self.integrity.iter().flat_map(|integrity| first_lines(INTEGRITY_REMARK, &integrity.complaints));
        let check = self.integrity.iter().map(|one| (INTEGRITY_CHECK.to_owned(), one.check.clone()));
        let remarks = complaints.chain(check).chain(first_lines(LOG_REMARK, &self.log)).collect();
        let metrics = self.metrics().into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        TrialRecord { metrics, remarks, ..record(trial.planned, Status::Ok) }
    }

    fn metrics(&self) -> Vec<(&'static str, f64)> {
        let Found { crashed, recovery, audit, integrity, log } = self;
        let window_ns = audit.first_lost_ns.map_or(0, |first_ns| crashed.at_ns.saturating_sub(first_ns));
        let counts = [
            (ACKNOWLEDGED, crashed.acknowledged),
            (LOST, audit.lost),
            (PHANTOM, audit.phantom),
            (RESURRECTED, audit.resurrected),
            (PARTIAL, audit.partial),
            (HOLES, audit.holes),
            (UNKNOWN, audit.unknown),
            (WRONG_BALANCES, audit.wrong_balances),
            (WRONG_LISTS, audit.wrong_lists),
        ];
        let mut metrics: Vec<_> = counts.map(|(name, count)| (name, count as f64)).into();
        metrics.extend([
            (LOAD, crashed.load.as_secs_f64()),
            (WINDOW, window_ns as f64 / 1e9),
            (FIRST_LOGIN, recovery.login.as_secs_f64()),
            (FIRST_COMMIT, recovery.first_commit.as_secs_f64()),
        ]);
        metrics.extend(crashed.throughput().map(|rate| ("tps", rate)));
        metrics.extend(crashed.work_commits.map(|commits| (WORK_COMMITS, commits as f64)));
        metrics.extend(recovery.full_rate.map(|time| (FULL_RATE, time.as_secs_f64())));
        metrics.extend(crashed.redo_bytes.map(|bytes| (REDO, bytes)));
        metrics.extend(integrity.as_ref().map(|one| (INTEGRITY_ERRORS, one.complaints.len() as f64)));
        metrics.push((LOG_ERRORS, log.len() as f64));
        metrics
    }
}
