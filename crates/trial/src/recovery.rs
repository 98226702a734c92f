//! How long a server is away after it was killed under load (method, section 7).
//!
//! All of its processes are killed at once, as the keeper does it; then the same server is started on the
//! files that it left. The clock runs from that start, and the steps are those of every start: the first
//! login and query, settings read back, and then one client of the workload until a transaction of it is
//! committed. An embedded engine has no process that could be killed, and a target is not ours to kill.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use load::{Load, LoadOptions};

use super::environment::RunningServer;
use super::host::Interrupted;
use super::run::{Finished, Steps, clients_target, failed, load_options, make_ready, record};
use super::trial::Trial;
use engine::Server;
use record::format::{Status, TrialRecord, crash};

/// How soon an interruption ends a load that waits for its kill.
const POLL: Duration = Duration::from_millis(20);

/// Clients that outlive their server by this much have not noticed.
const NOTICED_WITHIN: Duration = Duration::from_secs(60);

/// One transaction in a hundred is rolled back on purpose where the workload asks for it; so many in a row are not.
const ROLLED_BACK_MAX: u64 = 20;

/// Starts a server of dbduel's own on fresh data, kills it after so long under load, and starts it again.
pub fn recover(trial: &Trial, load_for: Duration) -> Result<Finished, Interrupted> {
    let mut steps = Steps::begin();
    let recovered = killed(trial, load_for, &mut steps);
    if trial.interrupted.load(Ordering::Relaxed) {
        return Err(Interrupted);
    }
    let finished = match recovered {
        Ok(metrics) => Finished::without_load(TrialRecord { metrics, ..record(trial.planned, Status::Ok) }),
        Err(error) => failed(trial, steps.current(), &error),
    };
    Ok(steps.end(finished))
}

/// What the kill has shown, in seconds.
fn killed(trial: &Trial, load_for: Duration, steps: &mut Steps) -> Result<BTreeMap<String, f64>> {
    steps.take("restore", || trial.lay_out())?;
    let RunningServer::Managed(server) = steps.take("start", || trial.start())? else {
        bail!("a server that dbduel does not manage is not killed");
    };
    steps.take("load", || kill_under_load(trial, server, load_for))?;
    let begun = Instant::now();
    let server = steps.take("restart", || trial.start().context("the server did not come back from a kill"))?;
    steps.take("first_commit", || first_commit(trial, &server))?;
    let t_rw_s = begun.elapsed().as_secs_f64();
    let RunningServer::Managed(server) = server else { unreachable!("it was one of ours a moment ago") };
    let t_conn_s = server.ready_after().as_secs_f64();
    steps.take("stop", || server.stop())?;
    let metrics =
        [(crash::LOAD, load_for.as_secs_f64()), (crash::FIRST_LOGIN, t_conn_s), (crash::FIRST_COMMIT, t_rw_s)];
    Ok(metrics.map(|(name, value)| (name.to_owned(), value)).into())
}

fn kill_under_load(trial: &Trial, server: Box<Server>, load_for: Duration) -> Result<()> {
    let server = RunningServer::Managed(server);
    make_ready(trial, &server)?;
    let target = clients_target(trial, &server)?;
    let options = load_options(trial, &server);
    let mut load = Load::prepare(trial.workload, &target, options, trial.interrupted)?;
    let RunningServer::Managed(server) = server else { unreachable!("it was one of ours a moment ago") };
    let survived = std::thread::scope(|scope| {
        scope.spawn(move || kill_after(server, load_for, trial.interrupted));
        load.warm_up(load_for + NOTICED_WITHIN, &mut |_| ()).is_ok()
    });
    load.give_up();
    ensure!(!trial.interrupted.load(Ordering::Relaxed), Interrupted);
    ensure!(!survived, "the clients did not notice that their server was killed");
    Ok(())
}

/// Dropping a server kills it with all that it started, and returns when nothing of it is left.
fn kill_after(server: Box<Server>, load_for: Duration, interrupted: &AtomicBool) {
    let begun = Instant::now();
    while begun.elapsed() < load_for && !interrupted.load(Ordering::Relaxed) {
        std::thread::sleep(POLL.min(load_for));
    }
    drop(server);
}

/// One client until a transaction of the workload is committed.
fn first_commit(trial: &Trial, server: &RunningServer) -> Result<()> {
    let target = clients_target(trial, server)?;
    for attempt in 0..ROLLED_BACK_MAX {
        let options = load_options(trial, server);
        let input_seed = options.input_seed + attempt;
        let options = LoadOptions { clients: 1, workers: 1, transactions_max: Some(1), input_seed, ..options };
        let load = Load::prepare(trial.workload, &target, options, trial.interrupted)?;
        if load.measure(None, &mut |_| (), &mut || ()).whole()?.committed > 0 {
            return Ok(());
        }
    }
    bail!("no transaction of the workload was committed after the kill")
}
