//! An experiment as it is run: contenders, workloads, what varies, and the method.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use driver::Isolation;
use engine::Engine;
use load::{BesideLedger, Interarrival, OptionError, Rate, Workload, WorkloadKind};

use crate::cluster::Cluster;
use crate::labels::Labels;
use crate::set::Settings;
use crate::{CLIENTS, CpuList, Origin, PageCache, RATE, Storage, Transport, VersionRequest, WorkCopy};
use record::format::crash::CrashKind;
use record::format::gate::GateRecord;
use record::format::ladder::LadderRecord;
use record::format::{Point, RuleName};

/// A whole experiment file, checked and with its defaults filled in.
#[derive(Debug, Clone)]
pub struct Experiment {
    pub name: String,
    /// Free text, printed on top of the report.
    pub question: Option<String>,
    /// Name of the contender that every other one is compared with.
    pub baseline: String,
    /// Rungs, and contenders that show what steps are worth elsewhere, stand behind those of the file's own tables.
    pub contenders: Vec<Contender>,
    pub ladders: Vec<LadderRecord>,
    pub workloads: Vec<WorkloadChoice>,
    pub sweep: Option<Sweep>,
    pub method: Method,
    pub transport: Transport,
    /// CPUs that the load generator was given; none where dbduel shares them out itself.
    pub client_cores: Option<CpuList>,
    /// Workers that make the load; none where dbduel itself does.
    pub cluster: Option<Cluster>,
    /// How much slower a candidate may be.
    pub gate: Option<GateRecord>,
    /// Every trial ends in a crash.
    pub recovery: Option<Recovery>,
    /// What the user files the run under.
    pub labels: Labels,
    /// The first contender of the file against itself (`dbduel aa`).
    pub twins: bool,
    /// Keys of the file that the command line set, passwords masked.
    pub set: Settings,
    /// The file with what the command line set, passwords masked.
    pub text: String,
    /// What of the file has no effect.
    pub remarks: Vec<String>,
}

impl Experiment {
    /// Most clients of any trial; every server is configured for them.
    pub fn clients_max(&self) -> u32 {
        let points = self.points();
        let clients =
            self.workloads.iter().flat_map(|workload| points.iter().map(|point| workload.all_clients_at(point)));
        clients.max().unwrap_or(1)
    }

    /// How the clients of a contender come to its server, where dbduel starts it.
    pub fn transport_of(&self, contender: &Contender) -> Transport {
        let own = contender.transport.unwrap_or(self.transport);
        match self.cluster.as_ref().and_then(|cluster| cluster.server_listen) {
            Some(address) if own == Transport::Tcp => Transport::Address(address),
            _ => own,
        }
    }

    /// A contender and a workload by the names that a plan calls them.
    pub fn parts_of(&self, contender: &str, workload: &str) -> (&Contender, &WorkloadChoice) {
        let contender = self.contenders.iter().find(|who| who.name == contender);
        let workload = self.workloads.iter().find(|choice| choice.label == workload);
        contender.zip(workload).expect("a plan names contenders and workloads of its experiment only")
    }

    /// What the sweep varies, value by value; one empty point where nothing varies.
    pub fn points(&self) -> Vec<Point> {
        match &self.sweep {
            Some(sweep) => sweep.points(),
            None => vec![Point::new()],
        }
    }
}

/// An engine, a version and a configuration, under a short name.
#[derive(Debug, Clone)]
pub struct Contender {
    pub name: String,
    /// As the user wrote it: `mysql@5.5.9`; for a target just its kind.
    pub engine: String,
    /// The part before the `@`.
    pub kind: &'static dyn Engine,
    pub version: VersionRequest,
    pub origin: Origin,
    pub settings: BTreeMap<String, String>,
    pub storage: Storage,
    /// How clients connect to it, where that is not as to all others.
    pub transport: Option<Transport>,
    /// CPUs that its server was given.
    pub cores: Option<CpuList>,
    pub memory_bytes: Option<u64>,
}

/// One `[workload]` table.
#[derive(Debug, Clone)]
pub struct WorkloadChoice {
    /// Unique; the workload's name unless the file has another.
    pub label: String,
    pub kind: &'static WorkloadKind,
    /// Options of the file, by the workload's own names; only those that were given.
    pub options: BTreeMap<String, load::OptionValue>,
    /// Every option of the workload: those that were given, and the defaults of the others.
    pub in_force: BTreeMap<String, load::OptionValue>,
    /// A trial is one pass, however long it takes.
    pub one_pass: bool,
    /// A trial is one pass over a log, with the log's clients.
    pub replays: bool,
    /// The level of its transactions; none is each server's own.
    pub isolation: Option<Isolation>,
    /// Arrivals a second where the sweep does not vary them; without, each client starts anew when it has its answer.
    pub rate: Option<u64>,
    /// How the gaps between arrivals are drawn.
    pub arrivals: Interarrival,
    /// Ends a trial before its time, when so many transactions have ended.
    pub events: Option<u64>,
    /// What the rows of its tables are drawn from. Another order of trials needs no other data, so it is not the
    /// seed of the experiment.
    pub data_seed: u64,
    /// Its tables are as large after a run as before.
    pub keeps_its_size: bool,
    /// Clients where the sweep does not vary them.
    pub clients: u32,
    /// Clients at each value of the sweep, where they grow with what it varies.
    pub clients_at: BTreeMap<u64, u32>,
    /// In an experiment with `[recovery]`: what shows which commits were kept, where the workload does not.
    pub ledger: Option<LedgerBeside>,
    /// Before the first block each server is killed so often under it.
    pub kills: u32,
    /// Before the first block its tables are loaded so often into an empty server of each contender.
    pub loads: u32,
}

/// A ledger beside a workload, by clients of its own.
#[derive(Debug, Clone, Copy)]
pub struct LedgerBeside {
    pub kind: &'static WorkloadKind,
    pub clients: u32,
}

impl WorkloadChoice {
    /// Its trials take the time they take.
    pub fn ends_itself(&self) -> bool {
        self.one_pass || self.replays
    }

    /// How many clients run at a point.
    pub fn clients_at(&self, point: &Point) -> u32 {
        if let Some(clients) = point.get(CLIENTS) {
            return *clients as u32;
        }
        point.values().find_map(|value| self.clients_at.get(value)).copied().unwrap_or(self.clients)
    }

    /// The same with those of a ledger beside them.
    pub fn all_clients_at(&self, point: &Point) -> u32 {
        self.clients_at(point) + self.ledger.map_or(0, |ledger| ledger.clients)
    }

    /// How transactions arrive at a point; none is a closed loop.
    pub fn rate_at(&self, point: &Point) -> Option<Rate> {
        let per_sec = point.get(RATE).copied().or(self.rate)?;
        Some(Rate { per_sec: per_sec as f64, gaps: self.arrivals, queue_max: per_sec * QUEUED_SECONDS })
    }

    /// The part of a point that the workload's options come from; points that share it share the data.
    pub fn data_point(&self, point: &Point) -> Point {
        point.iter().filter(|(name, _)| self.in_force.contains_key(*name)).map(|(n, v)| (n.clone(), *v)).collect()
    }

    /// The given options and what the point sets of them: what the workload is built from there.
    pub fn options_at(&self, point: &Point) -> BTreeMap<String, load::OptionValue> {
        let own = self.data_point(point).into_iter();
        let own = own.map(|(name, value)| (name, load::OptionValue::Number(value as i64)));
        self.options.clone().into_iter().chain(own).collect()
    }
}

/// An open loop's queue holds the arrivals of so long; what finds it full is skipped (method, section 3).
const QUEUED_SECONDS: u64 = 60;

/// Clients for each core that are tried where a sweep of cores searches the best number of clients. A
/// client without think time keeps up to one core busy, in the server or in itself; more are for servers
/// that wait for something else meanwhile.
const CLIENTS_PER_CORE: [u64; 4] = [1, 2, 4, 8];

/// The one number that varies; of cores, with the clients that each number of them is tried with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// `clients`, `cores`, `rate`, or an option that every workload of the file has: `warehouses`.
    pub variable: String,
    pub values: Vec<u64>,
    /// Beside cores only; without it, each workload has its own number of clients everywhere.
    pub crowds: Option<Crowds>,
}

/// Which numbers of clients stand beside a number of cores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Crowds {
    /// The same beside each number of cores.
    pub listed: Vec<u64>,
    /// So many for each core: `"per-core"`, and 1 for `"cores"`.
    pub per_core: Vec<u64>,
}

impl Crowds {
    pub fn per_core() -> Crowds {
        Crowds { listed: Vec::new(), per_core: CLIENTS_PER_CORE.to_vec() }
    }

    /// Each number once: those of the list come first, in its order.
    fn beside(&self, cores: u64) -> Vec<u64> {
        let mut all = self.listed.clone();
        let of_cores = self.per_core.iter().map(|clients| clients * cores);
        all.extend(of_cores.filter(|clients| !self.listed.contains(clients)));
        all
    }
}

impl Sweep {
    pub fn points(&self) -> Vec<Point> {
        let of_value = |value: u64| {
            let varied = (self.variable.clone(), value);
            let beside = |clients| Point::from([varied.clone(), (CLIENTS.to_owned(), clients)]);
            match &self.crowds {
                None => vec![Point::from([varied])],
                Some(crowds) => crowds.beside(value).into_iter().map(beside).collect(),
            }
        };
        self.values.iter().flat_map(|value| of_value(*value)).collect()
    }
}

/// `[method]`, with the preset's values where the file is silent.
#[derive(Debug, Clone)]
pub struct Method {
    pub preset: String,
    pub duration: Duration,
    /// What a trial warms up; with a pilot, the least that it may choose.
    pub warmup: Duration,
    /// How long the trial of each contender is that chooses the warm-up (`warmup = "auto"`).
    pub pilot: Option<Duration>,
    /// Trials that still rise or fall allow no verdict.
    pub steady_state: bool,
    /// After the interval the server's deferred work is waited for.
    pub drain: bool,
    /// Pairs that the host disturbed are measured again at the end.
    pub repeats: bool,
    /// Behind the last block the peak point runs with twice the generator's threads.
    pub doubling: bool,
    /// Behind the verdict, what a finding supposes is put to the test.
    pub contrast: bool,
    /// Behind it, one trial of each contender is profiled.
    pub diagnose: bool,
    pub rule: RuleName,
    /// Blocks at most (N_max of the stopping rule).
    pub blocks: u32,
    /// As a fraction: 0.01 for `"1%"`.
    pub margin: f64,
    pub budget: Option<Duration>,
    pub seed: u64,
    pub stop: Stop,
    pub noisy_host: NoisyHost,
    pub page_cache: PageCache,
    pub work_copy: WorkCopy,
    /// Both contenders at the same time, each on its half of the CPUs.
    pub duet: bool,
    /// One start of each contender in a block, in which it goes through all points.
    pub fast_sweep: bool,
    /// Keys that differ from the preset, for the report's first lines.
    pub changed: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Overall,
    Points,
    Gate,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoisyHost {
    Refuse,
    Stamp,
}

/// Decides which server a contender means. Asks installed binaries for their version; fetches nothing.
pub fn resolve(contender: &Contender) -> anyhow::Result<engine::Resolved> {
    engine::resolve(contender.kind, &contender.version, &contender.origin)
        .with_context(|| format!("contender `{}` cannot have the engine `{}`", contender.name, contender.engine))
}

/// A workload as it runs at a point.
pub fn workload(choice: &WorkloadChoice, point: &Point) -> Result<Arc<dyn Workload>, OptionError> {
    let work = choice.kind.with(&choice.options_at(point))?;
    let Some(ledger) = choice.ledger else { return Ok(work.into()) };
    let beside = BesideLedger::new(ledger.kind.with(&BTreeMap::new())?, ledger.clients, work);
    Ok(Arc::new(beside.map_err(|why| OptionError::new(choice.label.as_str(), why))?))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crashes {
    Kills,
    OsCrashes,
    /// One and the other in turn.
    Both,
}

impl Crashes {
    pub fn kinds(self) -> &'static [CrashKind] {
        match self {
            Crashes::Kills => &[CrashKind::Kill],
            Crashes::OsCrashes => &[CrashKind::Os],
            Crashes::Both => &[CrashKind::Kill, CrashKind::Os],
        }
    }
}

/// What `[recovery]` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovery {
    /// Of each contender, of each kind.
    pub kills: u32,
    pub crashes: Crashes,
    /// How long the load behind a crash may take to come back to its rate.
    pub full_rate_within: Duration,
    /// Clients of the ledger beside those of a workload that keeps none.
    pub ledger_clients: u32,
}
