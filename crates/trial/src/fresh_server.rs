//! Fresh data and a fresh server for one trial, by what it takes place on.

use std::path::PathBuf;

use anyhow::Result;
use engine::{Purpose, Server, Snapshot, StartOptions, UserServer, WorkFolder, apply_page_cache, resident_fraction};

use super::environment::{DataFolder, Environment, RunningServer};
use super::trial::Trial;
use super::{dataset, target_tables};

impl<'a> Trial<'a> {
    /// Fresh data. Of a data directory, as much is in the page cache as the policy asks for, and the
    /// share that is comes back.
    pub(super) fn restore(&self) -> Result<Option<f64>> {
        match &self.environment {
            Environment::Managed { snapshot, work, data_folder, .. } => {
                let data = restored_data(self, snapshot, work, *data_folder)?;
                apply_page_cache(self.conditions.page_cache, &data)?;
                resident_fraction(&data).map(Some)
            }
            Environment::UserServer(user_server) => {
                freshen(user_server, self)?;
                if self.workload.spec().writes {
                    target_tables::spend(user_server, self.workload.as_ref(), self.data_seed)?;
                }
                Ok(None)
            }
        }
    }

    /// As [`Trial::restore`], where nothing is measured.
    pub(super) fn lay_out(&self) -> Result<()> {
        match &self.environment {
            Environment::Managed { snapshot, work, data_folder, .. } => {
                restored_data(self, snapshot, work, *data_folder).map(drop)
            }
            Environment::UserServer(user_server) => freshen(user_server, self),
        }
    }

    pub(super) fn start(&self) -> Result<RunningServer<'a>> {
        let (installation, settings, work, data, memory_bytes) = match &self.environment {
            Environment::Managed { installation, settings, work, data_folder, memory_bytes, .. } => {
                (installation, settings, work, data_folder.path(work), memory_bytes)
            }
            Environment::UserServer(user_server) => return Ok(RunningServer::UserServer(user_server)),
        };
        let options = StartOptions {
            settings,
            max_clients: self.sessions.clients_max,
            data: &data,
            log: &self.folder.join("server.log"),
            transport: self.sessions.transport,
            nuisance_seed: self.planned.input_seed ^ u64::from(self.planned.trial),
            purpose: Purpose::Measure,
            cores: &self.client_cpus.server_cpus,
            memory_bytes: *memory_bytes,
        };
        Ok(RunningServer::Managed(Box::new(Server::start(installation, &options, work)?)))
    }
}

/// A copy of the snapshot, and no other data directory beside it but the one of a duet's other side.
fn restored_data(trial: &Trial, snapshot: &Snapshot, work: &WorkFolder, folder: DataFolder) -> Result<PathBuf> {
    for other in DataFolder::ALL.into_iter().filter(|other| *other == folder || trial.meeting.is_none()) {
        dataset::remove(&other.path(work))?;
    }
    let data = folder.path(work);
    snapshot.restore_by(trial.conditions.work_copy, &data)?;
    Ok(data)
}

fn freshen(user_server: &UserServer, trial: &Trial) -> Result<()> {
    target_tables::freshen(user_server, trial.workload.as_ref(), trial.data_seed, trial.interrupted, &mut |_, _| ())
}
