//! The coordinator of a run: has its agents launched, and again after one was lost, and makes the loads of its trials
//! with them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use driver::{Dialect, Target};
use engine::Listening;
use experiment::{Cluster, Experiment};
use load::{Failure, LoadOptions, dealt, divided};
use record::format::HostRecord;
use trial::observe::Observer;
use trial::{ClientCpus, Generated, Generator, Trial, null_server};

use crate::fleet::{Fleet, Lost};
use crate::message::{Task, ToAgent, ToCoordinator, Where, WireLogin, WireRate};
use crate::remote::{Coordinates, Remote};
use crate::server_host::{Elsewhere, ServerHost};

/// A ceiling takes a second, after a server that does nothing has started.
const CEILING_WITHIN: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

pub struct Coordinator {
    pub(crate) cluster: Cluster,
    experiment: Experiment,
    run: String,
    fleet: Mutex<Option<Fleet>>,
    /// Fleets that lost a worker, while they end; each brings its agents that are not proven to be gone.
    ending: Mutex<Vec<JoinHandle<Vec<String>>>>,
    /// Statements a second against a server that does nothing, by worker and dialect.
    ceilings: Mutex<BTreeMap<(usize, &'static str), f64>>,
    server_host: Option<Arc<ServerHost>>,
}

impl Coordinator {
    /// None where the experiment has no `[cluster]`.
    pub fn new(experiment: &Experiment, run: &str) -> Option<Coordinator> {
        let cluster = experiment.cluster.clone()?;
        Some(Coordinator {
            server_host: ServerHost::new(&cluster, run),
            cluster,
            experiment: experiment.clone(),
            run: run.to_owned(),
            fleet: Mutex::default(),
            ending: Mutex::default(),
            ceilings: Mutex::default(),
        })
    }

    fn fleet(&self) -> MutexGuard<'_, Option<Fleet>> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the agents, unless they are there, and returns who they are.
    pub fn launch(&self, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<String> {
        let mut fleet = self.fleet();
        let launched = match fleet.take() {
            Some(fleet) => fleet,
            None => {
                // A load that may still run would disturb the next trial.
                let orphans = self.ended();
                ensure!(orphans.is_empty(), "agents of before are not proven to be gone: {}", orphans.join(", "));
                Fleet::launch(&self.cluster, &self.run, interrupted, print)?
            }
        };
        Ok(fleet.insert(launched).described(&self.cluster))
    }

    /// Starts the agent on the targets' host, where there is one to observe.
    pub fn launch_observer(&self, interrupted: &AtomicBool, print: &dyn Fn(&str)) -> Result<()> {
        self.server_host.as_ref().map_or(Ok(()), |host| host.launch(interrupted, print))
    }

    /// What observes targets on that host.
    pub fn observer(&self) -> Option<Box<dyn Observer>> {
        self.server_host.as_ref().map(|host| Box::new(Elsewhere::new(Arc::clone(host))) as Box<dyn Observer>)
    }

    /// What the targets' host is, and whether this server's process can be seen there; none where it is not observed.
    pub fn describe_host_of(&self, server: &Listening) -> Option<Result<(HostRecord, bool)>> {
        self.server_host.as_ref().map(|host| host.describe(server))
    }

    /// Ends the agents; names those that are not proven to be gone.
    pub fn end(&self) -> Vec<String> {
        let mut orphans = self.ended();
        orphans.extend(self.fleet().take().map_or_else(Vec::new, |mut fleet| fleet.end()));
        orphans.extend(self.server_host.as_ref().map_or_else(Vec::new, |host| host.end()));
        orphans
    }

    /// Waits for the fleets that are ending.
    fn ended(&self) -> Vec<String> {
        let ending = std::mem::take(&mut *self.ending.lock().unwrap_or_else(PoisonError::into_inner));
        let unknown = |_| vec!["all agents of a launch, whose end failed".to_owned()];
        ending.into_iter().flat_map(|one| one.join().unwrap_or_else(unknown)).collect()
    }

    /// What each worker can send at most, all of them at once, since they share what they share.
    pub fn measure_ceilings(
        &self,
        dialect: Dialect,
        client_cpus: &ClientCpus,
        clients: u32,
    ) -> Result<Vec<(String, f64)>> {
        let mut guard = self.fleet();
        let Some(fleet) = guard.as_mut() else { bail!("no agents were launched") };
        let clients = *null_server::clients_worth_measuring(&[clients]).last().unwrap_or(&1);
        for (worker, (threads, cpus)) in fleet.cpus(client_cpus).into_iter().enumerate() {
            fleet.send(worker, &ToAgent::Ceiling { dialect: dialect.name().to_owned(), clients, threads, cpus })?;
        }
        let (begun, mut seen) = (Instant::now(), BTreeMap::new());
        while seen.len() < fleet.workers.len() {
            match fleet.next(POLL) {
                Ok(Some(one)) => match one.message {
                    ToCoordinator::Ceiling { statements_per_s } => drop(seen.insert(one.worker, statements_per_s)),
                    ToCoordinator::Fail { message } => bail!("{}: {message}", fleet.workers[one.worker].name()),
                    _ => {}
                },
                Ok(None) if begun.elapsed() > CEILING_WITHIN => bail!("workers did not measure what they can send"),
                Ok(None) => {}
                Err(Lost { worker, what }) => bail!("{} {what}", fleet.workers[worker].name()),
            }
        }
        let named = seen.iter().map(|(worker, rate)| (fleet.workers[*worker].name(), *rate)).collect();
        let mut ceilings = self.ceilings.lock().unwrap_or_else(PoisonError::into_inner);
        ceilings.extend(seen.into_iter().map(|(worker, rate)| ((worker, dialect.name()), rate)));
        Ok(named)
    }

    /// Each worker's clock minus ours, and the bound of its error, in milliseconds.
    pub fn clocks(&self) -> Result<Vec<(String, f64, f64)>> {
        let mut guard = self.fleet();
        let Some(fleet) = guard.as_mut() else { bail!("no agents were launched") };
        let mut clocks = Vec::new();
        for worker in 0..fleet.workers.len() {
            match fleet.offset(worker, &mut Vec::new()) {
                Ok(offset) => {
                    let name = fleet.workers[worker].name();
                    clocks.push((name, offset.offset_ns as f64 / 1e6, offset.edge_ns as f64 / 1e6));
                }
                Err(Lost { worker, what }) => bail!("{} {what}", fleet.workers[worker].name()),
            }
        }
        Ok(clocks)
    }

    /// What each worker with clients does in a trial.
    fn tasks(
        &self,
        trial: &Trial,
        target: &Target,
        options: &LoadOptions,
        cpus: &[(u32, Vec<usize>)],
    ) -> Option<Vec<(usize, Task)>> {
        let (_, choice) = self.experiment.parts_of(&trial.planned.contender, &trial.planned.workload);
        let weights = &self.cluster.weights;
        let sharers = sharers(options.clients, weights);
        let queues = divided(options.rate.map_or(0, |rate| rate.queue_max), &sharers);
        let at = Where::of(&target.endpoint)?;
        let task = |(place, own): (usize, Vec<u32>)| Task {
            workload: choice.kind.name.to_owned(),
            options: choice.options_at(&trial.planned.point),
            dialect: target.dialect.name().to_owned(),
            at: at.clone(),
            login: WireLogin::of(&target.login),
            input_seed: options.input_seed,
            data_seed: options.data_seed,
            clients: options.clients,
            own,
            place: place as u32,
            weights: sharers.clone(),
            rate: options.rate.map(|rate| WireRate::new(rate, queues[place].max(1))),
            interval_ms: options.interval_max.as_millis() as u64,
            drain_ms: options.drain_max.as_millis() as u64,
            window_ms: options.windows.map(|window| window.as_millis() as u64),
            threads: cpus[place].0,
            cpus: cpus[place].1.clone(),
            keep_raw: self.cluster.keep_raw,
        };
        let parts = dealt(options.clients, weights).into_iter().enumerate();
        Some(parts.filter(|(_, own)| !own.is_empty()).map(|one| (one.0, task(one))).collect())
    }
}

impl Coordinates for Coordinator {
    /// Ends a fleet while its trial is recorded: a host that cannot be reached takes seconds.
    fn end_meanwhile(&self, mut fleet: Fleet) {
        let ending = std::thread::spawn(move || fleet.end());
        self.ending.lock().unwrap_or_else(PoisonError::into_inner).push(ending);
    }

    fn ceiling(&self, worker: usize, dialect: Dialect) -> Option<f64> {
        self.ceilings.lock().unwrap_or_else(PoisonError::into_inner).get(&(worker, dialect.name())).copied()
    }
}

impl Drop for Coordinator {
    /// No agent outlives its run, however that ends.
    fn drop(&mut self) {
        self.end();
    }
}

/// Arrivals are divided among the workers that have clients.
fn sharers(clients: u32, weights: &[u32]) -> Vec<u32> {
    let parts = dealt(clients, weights);
    weights.iter().zip(parts).map(|(weight, own)| if own.is_empty() { 0 } else { *weight }).collect()
}

impl Generator for Coordinator {
    fn prepare<'t>(
        &'t self,
        trial: &'t Trial<'t>,
        target: &Target,
        options: LoadOptions,
    ) -> Result<Box<dyn Generated + 't>, Failure> {
        let launched = self.launch(trial.interrupted, &|_| ());
        if let Err(error) = launched {
            let is_interrupted = error.is::<trial::Interrupted>();
            return Err(if is_interrupted { Failure::Interrupted } else { launching_failed(&error) });
        }
        // Without it the trial counts all the same, and carries a flag.
        let _ = self.server_host.as_ref().map(|host| host.launch_again(trial.interrupted));
        let cpus = self.fleet().as_ref().map(|fleet| fleet.cpus(&trial.client_cpus)).unwrap_or_default();
        let tasks = self.tasks(trial, target, &options, &cpus);
        let tasks = tasks.ok_or_else(|| Failure::Start("an embedded engine has no workers".to_owned()))?;
        let drain_max = options.drain_max;
        let raw = self.cluster.keep_raw.then(|| PathBuf::from(trial.folder));
        let mut remote = Remote::new(self, self.fleet(), trial, target.dialect, tasks, drain_max, raw);
        remote.prepare()?;
        Ok(Box::new(remote))
    }
}

/// No worker can be named where none came.
fn launching_failed(error: &anyhow::Error) -> Failure {
    let what = format!("is missing: {error:#}");
    Failure::Worker { worker: 1, host: "an unknown host".to_owned(), step: Some("launch"), what }
}
