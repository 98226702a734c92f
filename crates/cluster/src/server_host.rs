//! The host of targets that are on another one: an agent there observes the servers and what the host does beside.
//!
//! It starts and changes nothing. What must stay true: without its answer a trial counts as any other, and what it
//! would have shown is absent, never zero.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use engine::Listening;
use experiment::Cluster;
use record::format::HostRecord;
use record::metric::{OF_SERVER, UNOBSERVED};
use trial::observe::{Observer, Readings, Subject};

use crate::fleet::{Fleet, Lost, Received};
use crate::message::{ToAgent, ToCoordinator};

/// It reads files of its kernel, and of the server's processes.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// A lost agent's host may be gone for good.
const AGAIN_WITHIN: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

pub struct ServerHost {
    cluster: Cluster,
    run: String,
    /// A fleet of one, none while there is none.
    fleet: Mutex<Option<Fleet>>,
}

impl ServerHost {
    /// None where the experiment names no host to observe.
    pub fn new(cluster: &Cluster, run: &str) -> Option<Arc<ServerHost>> {
        let cluster = cluster.observer()?;
        Some(Arc::new(ServerHost { cluster, run: run.to_owned(), fleet: Mutex::default() }))
    }

    fn fleet(&self) -> MutexGuard<'_, Option<Fleet>> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn name(&self) -> &str {
        self.cluster.host(0)
    }

    /// Starts the agent, unless it is there.
    pub fn launch(&self, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<()> {
        self.launch_within(self.cluster.launch_timeout, interrupted, print)
    }

    /// The same between trials, which do not wait long for it.
    pub fn launch_again(&self, interrupted: &AtomicBool) -> Result<()> {
        self.launch_within(self.cluster.launch_timeout.min(AGAIN_WITHIN), interrupted, &|_| ())
    }

    fn launch_within(&self, limit: Duration, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<()> {
        let mut fleet = self.fleet();
        if fleet.is_none() {
            let cluster = Cluster { launch_timeout: limit, ..self.cluster.clone() };
            let launched = Fleet::launch(&cluster, &self.run, interrupted, print);
            *fleet = Some(launched.with_context(|| format!("cannot observe host {}", self.name()))?);
        }
        Ok(())
    }

    /// Ends the agent; names it if it is not proven to be gone.
    pub fn end(&self) -> Vec<String> {
        self.fleet().take().map_or_else(Vec::new, |mut fleet| fleet.end())
    }

    /// What the host is, and whether the server's process can be seen there.
    pub fn describe(&self, server: &Listening) -> Result<(HostRecord, bool)> {
        match self.ask(&ToAgent::Describe(server.clone())) {
            Some(ToCoordinator::Host { server_pid, host }) => Ok((*host, server_pid.is_some())),
            _ => Err(anyhow!("the agent on {} did not answer", self.name())),
        }
    }

    /// None where it is not there, or does not answer; then it is started again before the next trial.
    fn ask(&self, question: &ToAgent) -> Option<ToCoordinator> {
        let mut guard = self.fleet();
        let answer = answer(guard.as_mut()?, question);
        if answer.is_none() {
            // A host that cannot be reached takes seconds to be given up, which the load has not.
            let gone = guard.take();
            std::thread::spawn(move || drop(gone));
        }
        answer
    }
}

fn answer(fleet: &mut Fleet, question: &ToAgent) -> Option<ToCoordinator> {
    fleet.send(0, question).ok()?;
    let begun = Instant::now();
    while begun.elapsed() < ANSWER_WITHIN {
        match fleet.next(POLL) {
            Ok(Some(Received { message, .. })) => return Some(message),
            Ok(None) => {}
            Err(Lost { .. }) => return None,
        }
    }
    None
}

/// Observes the server of a trial where it is on that host.
pub struct Elsewhere {
    host: Arc<ServerHost>,
    is_watching: bool,
}

impl Elsewhere {
    pub fn new(host: Arc<ServerHost>) -> Elsewhere {
        Elsewhere { host, is_watching: false }
    }
}

impl Observer for Elsewhere {
    fn begin(&mut self, subject: &Subject) {
        let Some(server) = &subject.elsewhere else { return };
        let answer = self.host.ask(&ToAgent::Watch(server.clone()));
        self.is_watching = matches!(answer, Some(ToCoordinator::Watching));
    }

    fn end(&mut self, subject: &Subject) -> Readings {
        let is_watching = std::mem::take(&mut self.is_watching);
        if subject.elsewhere.is_none() {
            return Readings::default();
        }
        match is_watching.then(|| self.host.ask(&ToAgent::Look)).flatten() {
            Some(ToCoordinator::Seen { values, mut seconds }) => {
                seconds.columns.iter_mut().skip(1).for_each(|column| *column = named(column));
                let values: BTreeMap<String, f64> =
                    values.into_iter().map(|(name, value)| (named(&name), value)).collect();
                Readings { flags: trial::observe::flags_of(&values), values, seconds }
            }
            _ => Readings { flags: vec![UNOBSERVED.to_owned()], ..Readings::default() },
        }
    }
}

/// What is of the server has one name wherever it is read; what is of a host shows whose it is.
fn named(name: &str) -> String {
    match name.starts_with("host_") {
        _ if name.starts_with(OF_SERVER) => name.to_owned(),
        true => format!("{OF_SERVER}{name}"),
        false => format!("{OF_SERVER}host_{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_there_is_told_apart_from_this_host() {
        for (there, here) in [
            ("server_cpu_user_s", "server_cpu_user_s"),
            ("host_steal_share", "server_host_steal_share"),
            ("host_disk.vda.busy_share", "server_host_disk.vda.busy_share"),
            ("observer_cpu_us_per_s", "server_host_observer_cpu_us_per_s"),
        ] {
            assert_eq!(named(there), here);
            assert!(record::metric::describe(here).is_some(), "{here}");
        }
    }
}
