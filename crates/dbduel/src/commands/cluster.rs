//! `dbduel cluster check`: whether the workers of an experiment can be started, and what they can do.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use cluster::Coordinator;
use experiment::{Experiment, Overrides};
use terminal::Failure;
use trial::host;

use super::{note, print};
use crate::KNOWN;
use crate::cli::{ClusterAction, ClusterArgs, exit};

pub fn cluster(args: &ClusterArgs) -> Result<u8, Failure> {
    let ClusterAction::Check(args) = &args.action;
    let experiment = Experiment::load(&args.file, &KNOWN, &Overrides::default()).map_err(Failure::usage)?;
    let none = || Failure::usage(anyhow!("{} has no [cluster]", args.file.display()));
    let coordinator = Coordinator::new(&experiment, "check").ok_or_else(none)?;
    let interrupted = AtomicBool::new(false);
    let who = coordinator.launch(&interrupted, &|line| note(line)).context("the workers cannot be started")?;
    print(&(who + "\n"))?;
    coordinator.launch_observer(&interrupted, &|line| note(line))?;
    if let Some(host) = experiment.cluster.as_ref().and_then(|cluster| cluster.observe_host.as_ref()) {
        print(&format!("{host} can be observed\n"))?;
    }
    for (worker, offset_ms, edge_ms) in coordinator.clocks()? {
        print(&format!("{worker}: clock offset {offset_ms:.3} ms, known to {edge_ms:.3} ms\n"))?;
    }
    let dialects: BTreeSet<&str> = experiment.contenders.iter().map(|one| one.kind.dialect().name()).collect();
    for dialect in driver::Dialect::ALL.into_iter().filter(|dialect| dialects.contains(dialect.name())) {
        for (worker, rate) in coordinator.measure_ceilings(dialect, &host::client_cpus(), experiment.clients_max())? {
            print(&format!("{worker}: at most {rate:.0} statements/s ({})\n", dialect.name()))?;
        }
    }
    let orphans = coordinator.end();
    if orphans.is_empty() {
        return Ok(exit::DONE);
    }
    Err(anyhow!("not proven to be gone: {}", orphans.join(", ")).into())
}
