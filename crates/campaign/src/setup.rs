//! The stage of a run: every contender provisioned, its data loaded, and its start rehearsed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow};
use cluster::Coordinator;
use driver::Dialect;
use load::{Checksum, NamedStatement, TriedTransaction, Workload};

use super::disk_space::{DiskSpace, Shortage};
use super::limits;
use super::placement::Placement;
use super::progress::Progress;
use super::refusals;
use engine::{
    Cache, Installation, Snapshot, UserServer, WorkFolder, free_bytes, provision, version_numbers, weaker_class,
};
use experiment::plan::{self, Plan};
use experiment::{Contender, Experiment, Method, NullLoad, Origin, Recovery, Storage, WorkloadChoice, resolve};
use record::format::crash::CrashKind;
use record::format::{
    CheckRecord, ContenderFacts, HostRecord, PlannedTrial, Point, Purpose, StatementPlan, point_text,
};
use trial::dataset::Dataset;
use trial::network_path::Way;
use trial::observe::Observers;
use trial::{
    Conditions, DataFolder, Environment, Explaining, Generator, Interrupted, Interval, Limits, Rehearsed,
    RunningServer, Sessions, ThisProcess, Trial, null_server, rehearse, target_tables,
};

pub struct Setup<'a> {
    experiment: &'a Experiment,
    contenders: Vec<PreparedContender<'a>>,
    datasets: Vec<Filling<'a>>,
    works: Vec<(Storage, WorkFolder)>,
    placement: &'a Placement,
    interrupted: &'a AtomicBool,
    /// What generator and network can carry.
    checks: Vec<CheckRecord>,
    /// Values that trials have to keep, of each contender and dataset.
    loaded: Vec<Loaded>,
    /// Of workers that make the load; none where this process does.
    coordinator: Option<Coordinator>,
}

/// What queries brought on loaded tables.
struct Loaded {
    contender: String,
    dataset: String,
    values: Vec<String>,
}

/// Tables that contenders are filled with: those of a workload, at each point that has its own.
struct Filling<'a> {
    choice: &'a WorkloadChoice,
    point: Point,
    workload: Arc<dyn Workload>,
}

impl Filling<'_> {
    /// `tpcc, 5 warehouses`; just the label where no point has tables of its own.
    fn title(&self) -> String {
        let label = &self.choice.label;
        if self.point.is_empty() { label.clone() } else { format!("{label}, {}", point_text(&self.point)) }
    }
}

fn fillings(experiment: &Experiment) -> Result<Vec<Filling<'_>>> {
    let mut fillings: Vec<Filling> = Vec::new();
    for choice in &experiment.workloads {
        for point in experiment.points() {
            let point = choice.data_point(&point);
            if !fillings.iter().any(|known| (&known.choice.label, &known.point) == (&choice.label, &point)) {
                fillings.push(Filling { choice, workload: plan::workload(choice, &point)?, point });
            }
        }
    }
    Ok(fillings)
}

/// The transactions of one workload, as one contender answered them.
pub struct Tried {
    pub workload: String,
    pub transactions: Vec<TriedTransaction>,
    pub plans: Vec<StatementPlan>,
}

/// So long servers may take to explain what is tried.
pub const EXPLAINING_MAX: Duration = Duration::from_secs(10);

/// One contender, ready to be measured.
struct PreparedContender<'a> {
    contender: &'a Contender,
    server: Prepared,
}

/// A server that can be started or reached.
enum Provided {
    Managed(Installation),
    UserServer(UserServer),
}

enum Prepared {
    /// `snapshots` in the order of the datasets.
    Managed {
        installation: Installation,
        snapshots: Vec<Snapshot>,
    },
    UserServer(UserServer),
}

impl Prepared {
    fn dialect(&self) -> Dialect {
        match self {
            Prepared::Managed { installation, .. } => installation.engine().dialect(),
            Prepared::UserServer(user_server) => user_server.dialect(),
        }
    }
}

/// Servers that listen for workers elsewhere do so at an address of this host.
fn refuse_foreign_address(experiment: &Experiment) -> Result<()> {
    let Some(address) = experiment.cluster.as_ref().and_then(|cluster| cluster.server_listen) else { return Ok(()) };
    let next = "next: give `server_listen` in [cluster] an address of this host, as `ip addr` shows them";
    let listener = TcpListener::bind((address, 0));
    listener.with_context(|| format!("cannot listen at {address}\n  {next}")).map(drop)
}

impl<'a> Setup<'a> {
    /// Fetches servers and loads data, where the cache lacks them. Contenders that stay without are
    /// named with the reason; the others can be measured all the same.
    pub fn set(
        experiment: &'a Experiment,
        cache: &Cache,
        placement: &'a Placement,
        interrupted: &'a AtomicBool,
        logs: &Path,
        progress: &Progress,
    ) -> Result<(Setup<'a>, Vec<(String, Error)>)> {
        let datasets = fillings(experiment)?;
        let coordinator = Coordinator::new(experiment, &experiment.name);
        if let Some(coordinator) = &coordinator {
            refuse_foreign_address(experiment)?;
            progress.status("launch", "workers of the load");
            let who = coordinator.launch(interrupted, &|line| progress.print(line))?;
            who.lines().for_each(|line| progress.print(line));
            coordinator.launch_observer(interrupted, &|line| progress.print(line))?;
        }
        let mut setup = Setup {
            experiment,
            contenders: Vec::new(),
            datasets,
            works: Vec::new(),
            placement,
            interrupted,
            checks: Vec::new(),
            loaded: Vec::new(),
            coordinator,
        };
        let mut absent = Vec::new();
        let mut here = Vec::new();
        for contender in &experiment.contenders {
            let stands = setup.stands(contender, &absent);
            let provided = stands.and_then(|()| setup.provide(contender, cache, progress));
            match provided.with_context(|| cannot_prepare(contender)) {
                Ok(provided) => here.push((contender, provided)),
                Err(error) => absent.push((contender.name.clone(), error)),
            }
            setup.refuse_interruption()?;
        }
        for (contender, provided) in setup.with_space(here, cache, &mut absent)? {
            let stands = setup.stands(contender, &absent);
            let server = stands.and_then(|()| setup.fill(contender, provided, cache, logs, progress));
            setup.refuse_interruption()?;
            match server.with_context(|| cannot_prepare(contender)) {
                Ok(server) => setup.contenders.push(PreparedContender { contender, server }),
                Err(error) => absent.push((contender.name.clone(), error)),
            }
        }
        Ok((setup, absent))
    }

    /// Fails for a rung of a ladder that builds on one of those that are absent.
    fn stands(&self, contender: &Contender, absent: &[(String, Error)]) -> Result<()> {
        let is_absent = |name: &str| absent.iter().any(|(one, _)| one == name);
        refusals::expect_what_it_rests_on(self.experiment, &contender.name, is_absent)
    }

    fn refuse_interruption(&self) -> Result<()> {
        if self.interrupted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { Ok(()) }
    }

    /// A contender's server, not filled yet.
    fn provide(&mut self, contender: &'a Contender, cache: &Cache, progress: &Progress) -> Result<Provided> {
        if let Origin::Target(target) = &contender.origin {
            progress.status("connect", &contender.name);
            let reached = UserServer::reach(contender.kind, target)?;
            let known = limits::expect_target(self.experiment, contender, &reached)?;
            for text in reached.sources().map(str::to_owned).into_iter().chain(known) {
                progress.print(&format!("contender `{}`: {text}", contender.name));
            }
            return Ok(Provided::UserServer(reached));
        }
        limits::expect_settings(self.experiment, contender, &contender.settings)?;
        if !self.works.iter().any(|(storage, _)| *storage == contender.storage) {
            self.works.push((contender.storage.clone(), cache.work_on(&contender.storage)?));
        }
        progress.status("fetch", &contender.name);
        let installation = provision(&resolve(contender)?, cache, &|line| progress.print(line))?;
        let clients = self.experiment.clients_max();
        refusals::expect_memory(contender, &installation.version, clients)?;
        if self.experiment.is_second_of_aa(&contender.name) {
            let work = self.work_of(&contender.storage).path();
            return Ok(Provided::Managed(installation.by_another_path(work)?));
        }
        Ok(Provided::Managed(installation))
    }

    /// Refuses a plan whose data the disks cannot hold, before any of them is made. Of a ladder only the rung
    /// is refused whose data are too much, and what builds on it.
    fn with_space(
        &self,
        here: Vec<(&'a Contender, Provided)>,
        cache: &Cache,
        absent: &mut Vec<(String, Error)>,
    ) -> Result<Vec<(&'a Contender, Provided)>> {
        let (mut space, mut counted, mut fitting) = (DiskSpace::default(), BTreeSet::new(), Vec::new());
        for (contender, provided) in here {
            if let Err(error) = self.stands(contender, absent) {
                absent.push((contender.name.clone(), error.context(cannot_prepare(contender))));
                continue;
            }
            let before = (space.clone(), counted.clone());
            self.add_needs(contender, &provided, cache, &mut space, &mut counted)?;
            let Some(shortage) = space.shortage()? else {
                fitting.push((contender, provided));
                continue;
            };
            let error = self.too_little_space(contender, &shortage, cache).context(cannot_prepare(contender));
            if !self.experiment.ladders.iter().any(|ladder| ladder.rests_on(&contender.name).is_some()) {
                return Err(error);
            }
            (space, counted) = before;
            absent.push((contender.name.clone(), error));
        }
        Ok(fitting)
    }

    fn too_little_space(&self, contender: &Contender, shortage: &Shortage, cache: &Cache) -> Error {
        let is_its_own =
            contender.storage != Storage::Disk && shortage.folder == self.work_of(&contender.storage).path();
        let usual = is_its_own.then(|| free_bytes(cache.work_root())).transpose();
        match usual {
            Ok(usual_bytes) => refusals::too_little_space(contender, shortage, usual_bytes),
            Err(error) => error,
        }
    }

    /// What a contender puts on the disks beside what others have there.
    fn add_needs(
        &self,
        contender: &Contender,
        provided: &Provided,
        cache: &Cache,
        space: &mut DiskSpace,
        counted: &mut BTreeSet<String>,
    ) -> Result<()> {
        let Provided::Managed(installation) = provided else { return Ok(()) };
        for filling in &self.datasets {
            let bytes = plan::data_directory_bytes(contender, filling.choice, &filling.point);
            let dataset = self.dataset(filling, contender, installation);
            let kept = dataset.find(cache)?;
            let bytes = kept.as_ref().map_or(bytes, |snapshot| snapshot.bytes);
            // Contenders whose settings do not shape files share a snapshot.
            if kept.is_none() && counted.insert(dataset.key()) {
                space.keep(cache.root(), bytes);
                space.use_for_a_while(cache.work_root(), bytes);
            }
            let grown = bytes.saturating_add(plan::log_bytes(contender));
            // In a duet there are two of them at a time.
            let copies = if self.experiment.method.duet { 2 } else { 1 };
            space.use_for_a_while(self.work_of(&contender.storage).path(), copies * grown);
        }
        Ok(())
    }

    fn dataset<'b>(
        &'b self,
        filling: &'b Filling,
        contender: &'b Contender,
        installation: &'b Installation,
    ) -> Dataset<'b> {
        let (settings, workload, seed) = (&contender.settings, &filling.workload, filling.choice.data_seed);
        Dataset { installation, settings, workload, seed, interrupted: self.interrupted }
    }

    /// Loads what the cache lacks; of a target's tables each set once, so that what cannot be loaded
    /// fails here.
    fn fill(
        &self,
        contender: &Contender,
        provided: Provided,
        cache: &Cache,
        logs: &Path,
        progress: &Progress,
    ) -> Result<Prepared> {
        let installation = match provided {
            Provided::Managed(installation) => installation,
            Provided::UserServer(user_server) => {
                for filling in &self.datasets {
                    let mut loaded = loading(filling.title(), &contender.name, progress);
                    let (workload, seed) = (filling.workload.as_ref(), filling.choice.data_seed);
                    target_tables::freshen(&user_server, workload, seed, self.interrupted, &mut loaded)?;
                }
                return Ok(Prepared::UserServer(user_server));
            }
        };
        // Data are loaded on the cache's own disk, whatever storage they will be measured on.
        let work = cache.work()?;
        let log = logs.join(format!("load-{}.log", slug(&contender.name)));
        let mut snapshots = Vec::new();
        for filling in &self.datasets {
            let dataset = self.dataset(filling, contender, &installation);
            let mut loaded = loading(filling.title(), &contender.name, progress);
            let filled = dataset.provide(cache, &work, &log, &|line| progress.print(line), &mut loaded);
            let filled = filled.map_err(|error| match self.refuse_interruption() {
                Ok(()) => refusals::explained(error, contender, &installation, cache, &work, &log),
                Err(interrupted) => interrupted,
            });
            snapshots.push(filled?);
        }
        Ok(Prepared::Managed { installation, snapshots })
    }

    /// Whether this contender has a server and its data.
    pub fn has(&self, contender: &str) -> bool {
        self.contenders.iter().any(|prepared| prepared.contender.name == contender)
    }

    /// What the last trial of this contender left in its work folder; none of a target.
    pub fn data_directory_bytes(&self, contender: &str) -> Option<u64> {
        let prepared = self.contenders.iter().find(|prepared| prepared.contender.name == contender)?;
        let Prepared::Managed { .. } = &prepared.server else { return None };
        self.work_of(&prepared.contender.storage).bytes().ok()
    }

    /// Whether the load reaches this contender by connections, and not on the generator's own threads.
    pub fn is_behind_a_connection(&self, contender: &str) -> bool {
        let prepared = self.contenders.iter().find(|prepared| prepared.contender.name == contender);
        prepared.is_some_and(|prepared| match &prepared.server {
            Prepared::Managed { installation, .. } => !installation.is_embedded(),
            Prepared::UserServer(user_server) => !user_server.is_embedded(),
        })
    }

    /// Everything `run_trial` needs about one planned trial of a contender that is here.
    pub fn trial<'b>(&'b self, planned: &'b PlannedTrial, folder: &'b Path, warmup: Duration) -> Trial<'b> {
        let prepared = self.contenders.iter().find(|prepared| prepared.contender.name == planned.contender);
        let prepared = prepared.expect("a contender that is absent has no trial");
        let at = self.datasets.iter().position(|filling| {
            filling.choice.label == planned.workload && filling.point == filling.choice.data_point(&planned.point)
        });
        let at = at.expect("a plan has trials of its experiment's workloads and points only");
        let Filling { choice, workload, .. } = &self.datasets[at];
        let environment = match &prepared.server {
            Prepared::Managed { installation, snapshots } => Environment::Managed {
                installation,
                settings: &prepared.contender.settings,
                snapshot: &snapshots[at],
                work: self.work_of(&prepared.contender.storage),
                data_folder: self.data_folder(planned),
                memory_bytes: prepared.contender.memory_bytes,
            },
            Prepared::UserServer(user_server) => Environment::UserServer(user_server),
        };
        let client_cpus = self.placement.of(planned, environment.is_embedded());
        let ceiling = null_server::ceiling(&self.checks, workload.as_ref(), environment.dialect());
        let way = self.way_to(prepared);
        let path = way.and_then(|way| {
            CheckRecord::named(&self.checks, CheckRecord::NETWORK_PATH).find(|path| path.subject == way.name())
        });
        let conditions = conditions(&self.experiment.method, self.experiment.recovery);
        Trial {
            planned,
            limits: Limits { ceiling, path },
            environment,
            workload,
            clients: choice.all_clients_at(&planned.point),
            sessions: Sessions {
                clients_max: self.experiment.clients_max(),
                transport: self.experiment.transport_of(prepared.contender),
                isolation: choice.isolation,
            },
            conditions,
            interval: Interval::of(workload.as_ref(), &conditions, warmup, choice.events),
            rate: choice.rate_at(&planned.point),
            data_seed: choice.data_seed,
            loaded: self.loaded(&planned.contender, &self.datasets[at]),
            client_cpus,
            generator: self.coordinator.as_ref().map_or(&ThisProcess, |coordinator| coordinator as &dyn Generator),
            explaining: None,
            meeting: None,
            folder,
            interrupted: self.interrupted,
        }
    }

    fn loaded(&self, contender: &str, filling: &Filling) -> &[String] {
        let title = filling.title();
        let found = self.loaded.iter().find(|one| one.contender == contender && one.dataset == title);
        found.map_or(&[], |one| &one.values)
    }

    /// The name of the data that a trial runs on, and what its server can be asked about the statements that run on them.
    pub fn explaining(&self, planned: &PlannedTrial, limit: Duration) -> Option<(String, Explaining)> {
        let prepared = self.contenders.iter().find(|prepared| prepared.contender.name == planned.contender)?;
        let is_ours = |filling: &&Filling| {
            filling.choice.label == planned.workload && filling.point == filling.choice.data_point(&planned.point)
        };
        let filling = self.datasets.iter().find(is_ours)?;
        let plans = filling.workload.has_plans()?;
        let dialect = prepared.server.dialect();
        let statements = plans.explained_statements(dialect).into_iter();
        let statements = statements.map(|one| (plans.before_explaining(&one, dialect), one)).collect();
        let explaining = Explaining { statements, are_private: plans.are_private(), limit };
        (plans.finds_statements() || !explaining.statements.is_empty()).then(|| (filling.title(), explaining))
    }

    fn data_folder(&self, planned: &PlannedTrial) -> DataFolder {
        let contender = &planned.contender;
        if matches!(planned.purpose, Purpose::Crash { kind: CrashKind::Os, .. }) {
            DataFolder::OnVolume
        } else if self.experiment.is_second_of_aa(contender) {
            DataFolder::OtherPath
        } else if self.experiment.method.duet && *contender != self.experiment.baseline {
            DataFolder::Beside
        } else {
            DataFolder::Usual
        }
    }

    /// The generator against a server that does nothing, for every protocol of the plan. An embedded engine has
    /// no protocol, and runs on the clients' own threads.
    pub fn measure_nothing(&self, null_load: NullLoad, cache: &Cache, progress: &Progress) -> Result<Vec<CheckRecord>> {
        if let Some(coordinator) = &self.coordinator {
            self.measure_workers(coordinator, progress)?;
            return Ok(Vec::new());
        }
        let work = cache.work()?;
        let mut seen = Vec::new();
        for one_pass in [false, true] {
            let choices: Vec<&Filling> =
                self.datasets.iter().filter(|filling| filling.workload.is_one_pass() == one_pass).collect();
            let points = self.experiment.points();
            let clients: Vec<u32> =
                choices.iter().flat_map(|one| points.iter().map(|point| one.choice.clients_at(point))).collect();
            let clients = match (choices.is_empty(), one_pass) {
                (true, _) => Vec::new(),
                (false, true) => vec![1],
                (false, false) => null_server::clients_worth_measuring(&clients),
            };
            let sent = null_load(one_pass)?;
            for dialect in Dialect::ALL.into_iter().filter(|dialect| !dialect.is_embedded()) {
                if !self.contenders.iter().any(|prepared| prepared.server.dialect() == dialect) {
                    continue;
                }
                for clients in &clients {
                    progress.status("check", &format!("load generator against the null server, {clients} clients"));
                    let folder = work.for_sockets();
                    seen.push(null_server::measure(
                        &sent,
                        dialect,
                        *clients,
                        &self.placement.client(),
                        folder,
                        self.interrupted,
                    )?);
                    self.refuse_interruption()?;
                }
            }
        }
        Ok(seen)
    }

    /// What watches a trial.
    pub fn observers(&self) -> Observers {
        Observers::with(self.coordinator.as_ref().and_then(Coordinator::observer))
    }

    /// The host of the targets, where it is observed; warns of the servers that cannot be seen there.
    pub fn server_host(&self, progress: &Progress) -> Result<Option<HostRecord>> {
        let mut host = None;
        for prepared in &self.contenders {
            let Prepared::UserServer(user_server) = &prepared.server else { continue };
            let described = self.coordinator.as_ref().zip(user_server.elsewhere());
            let described = described.and_then(|(coordinator, server)| coordinator.describe_host_of(server));
            let Some((described, is_seen)) = described.transpose()? else { continue };
            if !is_seen {
                let name = &prepared.contender.name;
                progress.print(&format!(
                    "warning: the process of `{name}` cannot be seen on the observed host, so its CPU time is absent"
                ));
            }
            host = Some(described);
        }
        Ok(host)
    }

    /// Ends the workers; names those that are not proven to be gone.
    pub fn end_workers(&self) -> Vec<String> {
        self.coordinator.as_ref().map_or_else(Vec::new, Coordinator::end)
    }

    /// What each worker can send at most, for every protocol of the plan.
    fn measure_workers(&self, coordinator: &Coordinator, progress: &Progress) -> Result<()> {
        let clients = self.experiment.clients_max();
        for dialect in Dialect::ALL.into_iter().filter(|dialect| !dialect.is_embedded()) {
            if self.contenders.iter().any(|prepared| prepared.server.dialect() == dialect) {
                progress.status("check", "workers against the null server");
                coordinator.measure_ceilings(dialect, &self.placement.client(), clients)?;
            }
        }
        Ok(())
    }

    /// What the ways to the servers can carry, each once. The way of workers on other hosts is not ours.
    pub fn measure_paths(&self, progress: &Progress) -> Result<Vec<CheckRecord>> {
        let mut seen: Vec<CheckRecord> = Vec::new();
        if self.coordinator.is_some() {
            return Ok(seen);
        }
        for way in self.contenders.iter().filter_map(|prepared| self.way_to(prepared)) {
            if !seen.iter().any(|path| path.subject == way.name()) {
                progress.status("check", &format!("capacity of the connection ({})", way.name()));
                seen.push(way.measure()?);
            }
        }
        Ok(seen)
    }

    fn way_to(&self, contender: &PreparedContender) -> Option<Way> {
        let transport = self.experiment.transport_of(contender.contender);
        match &contender.server {
            Prepared::Managed { installation, .. } if installation.is_embedded() => None,
            Prepared::Managed { .. } => Some(Way::of_transport(transport)),
            Prepared::UserServer(user_server) => Way::to(&user_server.target().endpoint, user_server.is_on_this_host()),
        }
    }

    /// Limits of the generator and the network, for the flags of later trials.
    pub fn know_limits(&mut self, checks: &[CheckRecord]) {
        self.checks = checks.to_vec();
    }

    fn work_of(&self, storage: &Storage) -> &WorkFolder {
        let (_, work) =
            self.works.iter().find(|(known, _)| known == storage).expect("every contender has a work folder");
        work
    }

    /// Starts each contender once with each workload's data and learns what the report needs; a
    /// contender that fails is named with its reason, and is not there any more.
    pub fn rehearse(
        &mut self,
        plan: &Plan,
        cache: &Cache,
        logs: &Path,
        progress: &Progress,
    ) -> Vec<(String, Result<ContenderFacts>)> {
        let mut all: Vec<(String, Result<ContenderFacts>)> = Vec::new();
        let mut loaded = Vec::new();
        for prepared in &self.contenders {
            let name = prepared.contender.name.clone();
            progress.status("first start", &name);
            let has_failed = |name: &str| all.iter().any(|(one, facts)| one == name && facts.is_err());
            let stands = refusals::expect_what_it_rests_on(self.experiment, &name, has_failed);
            let facts = stands.and_then(|()| self.rehearse_one(prepared, plan, cache, logs, &mut loaded));
            let facts = facts.with_context(|| format!("cannot start contender {}", with_target(prepared.contender)));
            let facts = if self.interrupted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { facts };
            all.push((name, facts));
        }
        self.loaded = loaded;
        let answered = |name: &str| all.iter().any(|(one, facts)| one == name && facts.is_ok());
        self.contenders.retain(|prepared| answered(&prepared.contender.name));
        all
    }

    /// Runs the transactions of each contender once, at the first point of each workload.
    pub fn try_out(&self, plan: &Plan, logs: &Path, progress: &Progress) -> Vec<(String, Result<Vec<Tried>>)> {
        let try_out = |prepared: &PreparedContender| {
            let name = prepared.contender.name.clone();
            progress.status("try", &name);
            let tried = self.experiment.workloads.iter().filter_map(|choice| {
                let ours = |trial: &&PlannedTrial| trial.contender == name && trial.workload == choice.label;
                let planned = plan.record.trials.iter().find(ours)?;
                let explaining = self.explaining(planned, EXPLAINING_MAX);
                let explaining = explaining.as_ref().map(|(_, explaining)| explaining);
                let trial = Trial { explaining, ..self.trial(planned, logs, Duration::ZERO) };
                let tried = trial::try_out(&trial).transpose()?;
                Some(tried.map(|(transactions, plans)| Tried { workload: choice.label.clone(), transactions, plans }))
            });
            let tried = tried.collect::<Result<_>>();
            let tried = tried.with_context(|| format!("cannot try contender {}", with_target(prepared.contender)));
            (name, tried)
        };
        self.contenders.iter().map(try_out).collect()
    }

    fn rehearse_one(
        &self,
        prepared: &PreparedContender,
        plan: &Plan,
        cache: &Cache,
        logs: &Path,
        loaded: &mut Vec<Loaded>,
    ) -> Result<ContenderFacts> {
        let logs = logs.join(format!("rehearsal-{}", slug(&prepared.contender.name)));
        std::fs::create_dir_all(&logs)?;
        let facts = self.facts(prepared, plan, &logs, loaded);
        let Prepared::Managed { installation, .. } = &prepared.server else { return facts };
        let work = self.work_of(&prepared.contender.storage);
        let log = logs.join("known-settings.log");
        facts.map_err(|error| match self.interrupted.load(Ordering::Relaxed) {
            true => error,
            false => refusals::explained(error, prepared.contender, installation, cache, work, &log),
        })
    }

    fn facts(
        &self,
        prepared: &PreparedContender,
        plan: &Plan,
        logs: &Path,
        loaded: &mut Vec<Loaded>,
    ) -> Result<ContenderFacts> {
        let mut learned: Option<ContenderFacts> = None;
        for filling in &self.datasets {
            let ours = |trial: &&PlannedTrial| {
                trial.contender == prepared.contender.name
                    && trial.workload == filling.choice.label
                    && filling.choice.data_point(&trial.point) == filling.point
            };
            let planned = plan.record.trials.iter().find(ours);
            let planned = planned.ok_or_else(|| anyhow!("the plan has no trial of `{}`", filling.title()))?;
            // Nothing crashes here.
            let planned = &PlannedTrial { purpose: Purpose::Compare, ..planned.clone() };
            let trial = self.trial(planned, logs, Duration::ZERO);
            let Rehearsed { server, isolation, loaded: values } = rehearse(&trial)?;
            if learned.is_none() && matches!(server, RunningServer::Managed(_)) {
                // What a version has by default may be too low as well.
                limits::expect_settings(self.experiment, prepared.contender, server.effective_settings())?;
            }
            loaded.push(Loaded { contender: prepared.contender.name.clone(), dataset: filling.title(), values });
            let ddl = ddl(&server, &filling.workload)?;
            let checksums = checksums(&server, filling.workload.as_ref())?;
            let class = server.durability_class(&ddl);
            let build = server.build()?;
            let pooler = if learned.is_none() { pooler(&server)? } else { None };
            let facts = learned.get_or_insert_with(|| ContenderFacts {
                version: server.version().to_owned(),
                title: server.engine().title().to_owned(),
                family: server.engine().dialect().name().to_owned(),
                notable_settings: server.engine().notable_settings().iter().map(|name| (*name).to_owned()).collect(),
                effective_settings: server.effective_settings().clone(),
                changed_defaults: changed_defaults(plan, &prepared.contender.name, &server),
                durability_class: class.to_owned(),
                file_system: server.file_system(),
                target_sources: server.target_sources().map(str::to_owned),
                isolation: BTreeMap::new(),
                ddl: BTreeMap::new(),
                plans: BTreeMap::new(),
                plan_tests: Vec::new(),
                checksums: BTreeMap::new(),
                data_bytes: BTreeMap::new(),
                build,
                pooler,
            });
            // One promise for all that a contender does: its weakest.
            facts.durability_class = weaker_class(class, &facts.durability_class).to_owned();
            facts.isolation.insert(filling.choice.label.clone(), isolation.as_str().to_owned());
            facts.ddl.insert(filling.choice.label.clone(), ddl);
            facts.checksums.insert(filling.title(), checksums);
            if let Environment::Managed { snapshot, .. } = &trial.environment {
                facts.data_bytes.insert(filling.title(), snapshot.bytes);
            }
            server.stop()?;
        }
        learned.ok_or_else(|| anyhow!("the experiment has no workload"))
    }
}

/// What stands before a target.
fn pooler(server: &RunningServer) -> Result<Option<String>> {
    match server {
        RunningServer::Managed(_) => Ok(None),
        RunningServer::UserServer(user_server) => Ok(user_server.pooler()?.map(|pooler| pooler.text())),
    }
}

fn changed_defaults(plan: &Plan, contender: &str, server: &RunningServer) -> Vec<String> {
    let planned = plan.record.contenders.iter().find(|one| one.name == contender);
    let own = planned.map(|one| one.own_settings.clone()).unwrap_or_default();
    let names = server.engine().changed_defaults(&version_numbers(server.version()), &own);
    names.into_iter().map(str::to_owned).collect()
}

/// Tells of a load: once which it is, then how far.
fn loading<'b>(title: String, contender: &'b str, progress: &'b Progress) -> impl FnMut(u64, u64) + 'b {
    let mut printed = false;
    move |so_far, rows| {
        if !std::mem::replace(&mut printed, true) {
            progress.print(&format!("loading {rows} rows of {title} into {contender}"));
        }
        let share = so_far as f64 / rows.max(1) as f64;
        progress.phase("load", Some(share), &format!("{contender}: {so_far} of {rows} rows of {title}"));
    }
}

fn ddl(server: &RunningServer, workload: &Arc<dyn Workload>) -> Result<Vec<String>> {
    let mut admin = server.session()?;
    let tables = workload.tables(server.dialect());
    tables.iter().map(|table| Ok(admin.show_table(&table.name)?)).collect()
}

/// What the server returns to the queries that all contenders have to answer alike.
fn checksums(server: &RunningServer, workload: &dyn Workload) -> Result<BTreeMap<String, String>> {
    let Some(plans) = workload.has_plans() else { return Ok(BTreeMap::new()) };
    let mut connect = || server.session().map_err(|error| driver::Error::lost(format!("{error:#}")));
    if let Some(answers) = plans.answers(&mut connect, server.dialect())? {
        return Ok(answers);
    }
    let mut admin = server.session()?;
    let of = |one: NamedStatement| {
        let sum = Checksum::of_query(&mut admin, &one.sql).with_context(|| format!("`{}` failed", one.sql))?;
        Ok((one.name, sum.to_string()))
    };
    plans.compared_queries(server.dialect()).into_iter().map(of).collect()
}

fn cannot_prepare(contender: &Contender) -> String {
    format!("cannot prepare contender {}", with_target(contender))
}

/// A contender's name, with its URL if it is a target.
fn with_target(contender: &Contender) -> String {
    match &contender.origin {
        Origin::Target(target) => format!("`{}` ({})", contender.name, target.url),
        _ => format!("`{}`", contender.name),
    }
}

fn slug(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' }).collect()
}
/// What the method asks of each trial, and `[recovery]` of those that crash.
pub fn conditions(method: &Method, recovery: Option<Recovery>) -> Conditions {
    let Method { page_cache, work_copy, drain, duration, .. } = *method;
    let full_rate_within = recovery.map(|recovery| recovery.full_rate_within).unwrap_or_default();
    Conditions { page_cache, work_copy, drain, duration, full_rate_within }
}
