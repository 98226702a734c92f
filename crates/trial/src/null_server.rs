//! The load generator against a server that does nothing: what it costs, and the most it can reach.
//!
//! A rate near this one would measure the generator rather than a server. What is sent is
//! handed in: a point select for each client, whatever the workload, for a limit of round trips; where the
//! workload is one pass of statements sent as text, such a pass.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result};
use driver::{Dialect, Login, NullServer, Target};
use load::{Load, LoadOptions, Tally, Workload};

use super::host::ClientCpus;
use record::format::CheckRecord;

const WARM_UP: Duration = Duration::from_millis(200);
const INTERVAL: Duration = Duration::from_millis(800);
/// A generator that does more than this share of its ceiling may be what limits a trial.
pub const SHARE_MAX: f64 = 0.5;

/// So many clients keep the generator busy whatever else waits: with few, what is measured is the latency of a
/// round trip, which limits no generator.
const BUSY_CLIENTS: u32 = 64;

/// Numbers of clients to measure for a plan with these: the fewest show the floor of latency, and enough of
/// them the ceiling of the rate.
pub fn clients_worth_measuring(of_plan: &[u32]) -> Vec<u32> {
    let fewest = of_plan.iter().copied().min().unwrap_or(1);
    let most = of_plan.iter().copied().max().unwrap_or(1).max(BUSY_CLIENTS);
    if fewest == most { vec![most] } else { vec![fewest, most] }
}

/// The most statements a second that a trial's generator reached against nothing; none for a workload of
/// one pass, whose rate is not compared, and where there is no protocol.
pub fn ceiling(seen: &[CheckRecord], workload: &dyn Workload, dialect: Dialect) -> Option<f64> {
    let ours = |one: &&CheckRecord| one.seen_by == CheckRecord::PREPARED && one.subject == dialect.name();
    let seen = CheckRecord::named(seen, CheckRecord::NULL_SERVER).filter(ours).filter(|_| !workload.is_one_pass());
    let rates = seen.filter_map(|one| one.value(CheckRecord::STATEMENTS));
    rates.max_by(f64::total_cmp)
}

/// One run of a workload against nothing; the socket is made in `folder`.
pub fn measure(
    sent: &Arc<dyn Workload>,
    dialect: Dialect,
    clients: u32,
    client_cpus: &ClientCpus,
    folder: &Path,
    interrupted: &AtomicBool,
) -> Result<CheckRecord> {
    let server = start(dialect, folder)?;
    let options = options(clients, client_cpus, INTERVAL);
    let mut load = Load::prepare(sent, &target(dialect, &server), options, interrupted)?;
    let interval = if sent.is_one_pass() {
        None
    } else {
        load.warm_up(WARM_UP, &mut |_| ())?;
        Some(INTERVAL)
    };
    let tally = load.measure(interval, &mut |_| (), &mut || ()).whole()?;
    Ok(record(&tally, dialect, clients))
}

/// A server that does nothing; the socket is made in `folder`.
pub fn start(dialect: Dialect, folder: &Path) -> Result<NullServer> {
    NullServer::start(dialect, &folder.join("null.sock")).context("cannot start the null server")
}

pub fn target(dialect: Dialect, server: &NullServer) -> Target {
    let login = Login { user: "dbduel".to_owned(), ..Login::default() };
    Target { dialect, endpoint: server.endpoint(), login }
}

fn options(clients: u32, client_cpus: &ClientCpus, interval_max: Duration) -> LoadOptions {
    LoadOptions {
        clients,
        workers: client_cpus.workers,
        cpus: client_cpus.cpus.clone(),
        interval_max,
        ..LoadOptions::default()
    }
}

fn record(tally: &Tally, dialect: Dialect, clients: u32) -> CheckRecord {
    let operation = tally.programs.iter().flat_map(|program| &program.operations).next();
    let (statements, wall_ns, cpu_ns) = match operation {
        Some(operation) => (operation.executed, operation.wall_ns, operation.client_cpu_ns),
        None => (tally.queries(), tally.interval_ns, tally.worker_cpu_ns.iter().sum()),
    };
    let each = |ns: u64| ns as f64 / statements.max(1) as f64;
    let seen_by = if operation.is_some() { CheckRecord::AS_TEXT } else { CheckRecord::PREPARED };
    let values = [
        (CheckRecord::CLIENTS, clients.into()),
        (CheckRecord::STATEMENTS, 1e9 / each(wall_ns)),
        (CheckRecord::CLIENT_CPU, each(cpu_ns) / 1e3),
    ];
    CheckRecord::new(CheckRecord::NULL_SERVER, dialect.name(), seen_by, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_never_the_latency_of_few_clients() {
        assert_eq!(clients_worth_measuring(&[1, 4, 16]), [1, 64]);
        assert_eq!(clients_worth_measuring(&[25, 650]), [25, 650]);
        assert_eq!(clients_worth_measuring(&[64]), [64]);
        let check = |clients, statements_per_s| {
            let values = [(CheckRecord::CLIENTS, clients), (CheckRecord::STATEMENTS, statements_per_s)];
            CheckRecord::new(CheckRecord::NULL_SERVER, "mysql", CheckRecord::PREPARED, &values)
        };
        let seen = [check(1.0, 15_000.0), check(64.0, 500_000.0)];
        assert_eq!(ceiling(&seen, &*workloads::null_load(false).unwrap(), Dialect::MySql), Some(500_000.0));
        assert_eq!(ceiling(&seen, &*workloads::null_load(false).unwrap(), Dialect::Postgres), None);
    }

    #[test]
    fn a_server_that_does_nothing_shows_what_the_generator_costs() {
        let folder = tempfile::tempdir().unwrap();
        let client_cpus = ClientCpus::new(&[], &[], 2);
        for as_text in [false, true] {
            for dialect in [Dialect::MySql, Dialect::Postgres] {
                let clients = if as_text { 1 } else { 4 };
                let interrupted = AtomicBool::new(false);
                let seen = measure(
                    &workloads::null_load(as_text).unwrap(),
                    dialect,
                    clients,
                    &client_cpus,
                    folder.path(),
                    &interrupted,
                )
                .unwrap();
                let known = ceiling(std::slice::from_ref(&seen), &*workloads::null_load(false).unwrap(), dialect);
                let value = |name: &str| seen.value(name).unwrap();
                assert_eq!(known, (!as_text).then_some(value(CheckRecord::STATEMENTS)));
                assert_eq!(value(CheckRecord::CLIENTS), f64::from(clients));
                assert_eq!(seen.seen_by == CheckRecord::AS_TEXT, as_text);
                assert!(value(CheckRecord::STATEMENTS) > 100.0 && value(CheckRecord::CLIENT_CPU) > 0.0, "{seen:?}");
            }
        }
    }
}
