//! The stage of a run: every contender provisioned, its data loaded, and its start rehearsed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Error, Result, anyhow};
use load::{Options, Workload, show_table, workload_kind};

use super::progress::Progress;
use crate::engine::{Cache, Hosted, Installation, Snapshot, WorkFolder, provision, resolve};
use crate::experiment::{Contender, Experiment, Origin, Storage, WorkloadChoice};
use crate::plan::Plan;
use crate::store::format::{ContenderFacts, PlannedTrial};
use crate::trial::dataset::Dataset;
use crate::trial::{ClientSeat, Ground, Interrupted, Running, Trial, hosted_tables, rehearse};

pub struct Stage<'a> {
    experiment: &'a Experiment,
    contenders: Vec<Staged<'a>>,
    workloads: Vec<(&'a WorkloadChoice, Arc<dyn Workload>)>,
    works: Vec<(Storage, WorkFolder)>,
    seat: ClientSeat,
    interrupted: &'a AtomicBool,
}

/// One contender, ready to be measured.
struct Staged<'a> {
    contender: &'a Contender,
    server: Prepared,
}

enum Prepared {
    /// `snapshots` in the order of the workloads.
    Managed {
        installation: Installation,
        snapshots: Vec<Snapshot>,
    },
    Hosted(Hosted),
}

impl<'a> Stage<'a> {
    /// Fetches servers and loads data, where the cache lacks them. Contenders that stay without are
    /// named with the reason; the others can be measured all the same.
    pub fn set(
        experiment: &'a Experiment,
        cache: &Cache,
        seat: ClientSeat,
        interrupted: &'a AtomicBool,
        logs: &Path,
        progress: &Progress,
    ) -> Result<(Stage<'a>, Vec<(String, Error)>)> {
        let workloads =
            experiment.workloads.iter().map(|choice| Ok((choice, build(choice)?))).collect::<Result<_>>()?;
        let mut absent = Vec::new();
        let mut stage = Stage { experiment, contenders: Vec::new(), workloads, works: Vec::new(), seat, interrupted };
        for contender in &experiment.contenders {
            let staged = stage.add(contender, cache, logs, progress);
            if interrupted.load(Ordering::Relaxed) {
                return Err(Interrupted.into());
            }
            match staged.with_context(|| format!("cannot prepare contender `{}`", contender.name)) {
                Ok(staged) => stage.contenders.push(staged),
                Err(error) => absent.push((contender.name.clone(), error)),
            }
        }
        Ok((stage, absent))
    }

    fn add(&mut self, contender: &'a Contender, cache: &Cache, logs: &Path, progress: &Progress) -> Result<Staged<'a>> {
        let server = match &contender.origin {
            Origin::Target(target) => {
                progress.status(&format!("reaching {}", contender.name));
                let hosted = Hosted::reach(target)?;
                self.fill(&hosted, contender, progress)?;
                Prepared::Hosted(hosted)
            }
            Origin::Managed | Origin::Basedir(_) => self.prepare(contender, cache, logs, progress)?,
        };
        Ok(Staged { contender, server })
    }

    /// Loads a target's tables once, for each workload, so that what cannot be loaded fails here.
    fn fill(&self, hosted: &Hosted, contender: &Contender, progress: &Progress) -> Result<()> {
        for (choice, workload) in &self.workloads {
            let mut loaded = loading(&choice.label, &contender.name, progress);
            hosted_tables::freshen(hosted, workload.as_ref(), self.interrupted, &mut loaded)?;
        }
        Ok(())
    }

    fn prepare(&mut self, contender: &Contender, cache: &Cache, logs: &Path, progress: &Progress) -> Result<Prepared> {
        let say = |line: &str| progress.say(line);
        if !self.works.iter().any(|(storage, _)| *storage == contender.storage) {
            self.works.push((contender.storage.clone(), cache.work_on(&contender.storage)?));
        }
        // Data are loaded on the cache's own disk, whatever storage they will be measured on.
        let work = cache.work()?;
        progress.status(&format!("provisioning {}", contender.name));
        let installation = provision(&resolve(contender)?, cache, &say)?;
        let log = logs.join(format!("load-{}.log", slug(&contender.name)));
        let mut snapshots = Vec::new();
        for (choice, workload) in &self.workloads {
            let dataset = Dataset {
                installation: &installation,
                settings: &contender.settings,
                workload,
                interrupted: self.interrupted,
            };
            let mut loaded = loading(&choice.label, &contender.name, progress);
            snapshots.push(dataset.provide(cache, &work, &log, &say, &mut loaded)?);
        }
        Ok(Prepared::Managed { installation, snapshots })
    }

    /// Whether this contender has a server and its data.
    pub fn has(&self, contender: &str) -> bool {
        self.contenders.iter().any(|staged| staged.contender.name == contender)
    }

    /// Everything `run_trial` wants to know about one planned trial of a contender that is here.
    pub fn trial<'b>(&'b self, planned: &'b PlannedTrial, folder: &'b Path) -> Trial<'b> {
        let staged = self.contenders.iter().find(|staged| staged.contender.name == planned.contender);
        let staged = staged.expect("nobody asks for the trial of a contender that is absent");
        let at = self.workloads.iter().position(|(choice, _)| choice.label == planned.workload);
        let at = at.expect("a plan has trials of its experiment's workloads only");
        let ground = match &staged.server {
            Prepared::Managed { installation, snapshots } => Ground::Managed {
                installation,
                settings: &staged.contender.settings,
                snapshot: &snapshots[at],
                work: self.work_of(&staged.contender.storage),
            },
            Prepared::Hosted(hosted) => Ground::Hosted(hosted),
        };
        Trial {
            planned,
            ground,
            workload: &self.workloads[at].1,
            clients: clients_of(planned, self.experiment),
            clients_max: self.experiment.clients_max(),
            method: &self.experiment.method,
            transport: self.experiment.transport,
            seat: &self.seat,
            folder,
            interrupted: self.interrupted,
        }
    }

    fn work_of(&self, storage: &Storage) -> &WorkFolder {
        let (_, work) =
            self.works.iter().find(|(known, _)| known == storage).expect("every contender has a work folder");
        work
    }

    /// Starts each contender once with each workload's data and learns what the report needs; a
    /// contender that fails is named with its reason.
    pub fn rehearse(&self, plan: &Plan, logs: &Path, progress: &Progress) -> Vec<(String, Result<ContenderFacts>)> {
        let facts = |staged: &Staged| {
            progress.status(&format!("starting {} once", staged.contender.name));
            let logs = logs.join(format!("rehearsal-{}", slug(&staged.contender.name)));
            let facts =
                std::fs::create_dir_all(&logs).map_err(Into::into).and_then(|()| self.facts(staged, plan, &logs));
            let facts = facts.with_context(|| format!("cannot start contender `{}`", staged.contender.name));
            let facts = if self.interrupted.load(Ordering::Relaxed) { Err(Interrupted.into()) } else { facts };
            (staged.contender.name.clone(), facts)
        };
        self.contenders.iter().map(facts).collect()
    }

    fn facts(&self, staged: &Staged, plan: &Plan, logs: &Path) -> Result<ContenderFacts> {
        let mut learned: Option<ContenderFacts> = None;
        for (choice, workload) in &self.workloads {
            let planned = plan.record.trials.iter();
            let mut planned =
                planned.filter(|trial| trial.contender == staged.contender.name && trial.workload == choice.label);
            let planned = planned.next().ok_or_else(|| anyhow!("the plan has no trial of `{}`", choice.label))?;
            let trial = self.trial(planned, logs);
            let server = rehearse(&trial)?;
            let ddl = ddl(&server, workload)?;
            let facts = learned.get_or_insert_with(|| ContenderFacts {
                version: server.version().to_owned(),
                effective_settings: server.effective_settings().clone(),
                durability_class: server.durability_class().to_owned(),
                ddl: BTreeMap::new(),
                data_bytes: BTreeMap::new(),
            });
            facts.ddl.insert(choice.label.clone(), ddl);
            if let Ground::Managed { snapshot, .. } = &trial.ground {
                facts.data_bytes.insert(choice.label.clone(), snapshot.bytes);
            }
            server.stop()?;
        }
        learned.ok_or_else(|| anyhow!("the experiment has no workload"))
    }
}

/// Tells of a load: once which it is, then how far.
fn loading<'b>(label: &'b str, contender: &'b str, progress: &'b Progress) -> impl FnMut(u64, u64) + 'b {
    let mut told = false;
    move |so_far, rows| {
        if !std::mem::replace(&mut told, true) {
            progress.say(&format!("loading {rows} rows of {label} into {contender}"));
        }
        progress.status(&format!("{so_far} of {rows} rows"));
    }
}

fn ddl(server: &Running, workload: &Arc<dyn Workload>) -> Result<Vec<String>> {
    let mut admin = server.session()?;
    let tables = workload.tables(server.dialect());
    tables.iter().map(|table| Ok(show_table(&mut admin, &table.name)?)).collect()
}

/// A workload from its checked options.
pub fn build(choice: &WorkloadChoice) -> Result<Arc<dyn Workload>> {
    let kind = workload_kind(&choice.name).ok_or_else(|| anyhow!("there is no workload `{}`", choice.name))?;
    let options = Options::new(kind.options, &choice.options)?;
    Ok((kind.build)(&options)?.into())
}

/// The point says how many, or else the workload does.
fn clients_of(planned: &PlannedTrial, experiment: &Experiment) -> u32 {
    let fixed =
        experiment.workloads.iter().find(|choice| choice.label == planned.workload).map_or(1, |choice| choice.clients);
    planned.point.get("clients").map_or(fixed, |clients| *clients as u32)
}

fn slug(name: &str) -> String {
    name.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '-' }).collect()
}
