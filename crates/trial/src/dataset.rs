//! Loaded data: made once for each server and scale, kept as a snapshot of a stopped server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use driver::{Admin, Target};
use load::{LOADER_VERSION, Loader, OwnData, OwnDataForm, Table, Workload};

use engine::request::Transport;
use engine::{
    Adoption, Cache, Installation, Purpose, Server, Snapshot, StartOptions, WorkFolder, find_snapshot, save_snapshot,
    snapshot_key, sound_snapshot, template,
};

/// No statement of a check may take longer.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);

/// Sessions that load side by side: the server works while one of them draws its next rows.
pub(super) const LOAD_SESSIONS: usize = 4;

/// What is loaded, and into which server.
pub struct Dataset<'a> {
    pub installation: &'a Installation,
    pub settings: &'a BTreeMap<String, String>,
    pub workload: &'a Arc<dyn Workload>,
    pub seed: u64,
    /// Set by an interruption of dbduel; the load is then cut off.
    pub interrupted: &'a AtomicBool,
}

impl Dataset<'_> {
    /// The snapshot of this dataset, if the cache has it.
    pub fn find(&self, cache: &Cache) -> Result<Option<Snapshot>> {
        find_snapshot(cache, &self.key())
    }

    /// The snapshot of this dataset; makes it when it is not in the cache yet.
    pub fn provide(
        &self,
        cache: &Cache,
        work: &WorkFolder,
        log: &Path,
        progress: &dyn Fn(&str),
        loaded: &mut dyn FnMut(u64, u64),
    ) -> Result<Snapshot> {
        let key = self.key();
        let _lock = cache.lock(&format!("snapshot-{key}"), progress)?;
        if let Some(snapshot) = sound_snapshot(cache, &key, progress)? {
            return Ok(snapshot);
        }
        let data = work.path().join("load");
        remove(&data)?;
        match self.workload.spec().own_data {
            Some(own @ OwnData { form: OwnDataForm::Directory { accept_unclean }, .. }) => {
                let place = expect_unchanged(&own, self.installation.kind)?;
                let (installation, settings) = (self.installation, self.settings);
                let adoption = Adoption { installation, settings, place, accept_unclean };
                adoption.copy(&data, cache, work, progress)?;
            }
            _ => {
                template(cache, work, self.installation, self.settings, progress)?.restore(&data)?;
            }
        }
        self.load(&data, work, log, loaded).context("cannot load the data")?;
        let snapshot = save_snapshot(cache, &key, &data)?;
        remove(&data)?;
        Ok(snapshot)
    }

    /// The snapshot's name: all that the data depend on, the loader's version included, so that data of
    /// an older dbduel are made again and never mixed with these.
    pub fn key(&self) -> String {
        let tables = self.workload.tables(self.installation.engine().dialect());
        let ddl: Vec<&str> = tables.iter().flat_map(Table::ddl).collect();
        let parts = [
            ("data", self.workload.spec().data_key),
            ("data_seed", self.seed.to_string()),
            ("ddl", ddl.join(";\n")),
            ("loader", LOADER_VERSION.to_string()),
        ];
        snapshot_key(self.installation, self.settings, &parts)
    }

    fn load(&self, data: &Path, work: &WorkFolder, log: &Path, loaded: &mut dyn FnMut(u64, u64)) -> Result<()> {
        let options = StartOptions {
            settings: self.settings,
            max_clients: LOAD_SESSIONS as u32,
            data,
            log,
            transport: Transport::Socket,
            nuisance_seed: 0,
            purpose: Purpose::Load,
            cores: &[],
            memory_bytes: None,
        };
        let server = Server::start(self.installation, &options, work)?;
        match self.workload.spec().own_data {
            Some(own) => self.take_over(&server, &own, data)?,
            None => self.load_tables(&server, loaded)?,
        }
        server.settle()?;
        server.stop()
    }

    fn load_tables(&self, server: &Server, loaded: &mut dyn FnMut(u64, u64)) -> Result<()> {
        server.create_database()?;
        let rows = self.workload.tables(server.dialect()).iter().map(|table| table.rows).sum();
        let loader = Loader { target: &target(server), sessions: LOAD_SESSIONS, interrupted: self.interrupted };
        loader.load(self.workload.as_ref(), self.seed, &mut |so_far| loaded(so_far, rows))?;
        Ok(())
    }

    /// What the user brings, in a server that runs on its copy or, for a dump, on an empty data directory.
    fn take_over(&self, server: &Server, own: &OwnData, data: &Path) -> Result<()> {
        let place = expect_unchanged(own, self.installation.kind)?;
        if own.form == OwnDataForm::Dump {
            server.create_database()?;
            engine::restore(server, place, self.interrupted)?;
            engine::gather_statistics(server).context("no statistics of the restored tables")?;
        }
        engine::note_database(server, data).with_context(|| format!("cannot use {}", place.display()))
    }
}

/// Where the data for an engine are, if they are still those that were planned with.
pub fn expect_unchanged<'a>(own: &'a OwnData, engine: &str) -> Result<&'a Path> {
    let place = own.of(engine).with_context(|| format!("`{}` has no entry for {engine}", own.key))?;
    let name = place.path.display();
    ensure!(
        engine::identity(&place.path)? == place.identity,
        "{name} has changed since the run was planned\n  next: put it back as it was, or begin a new run"
    );
    Ok(&place.path)
}

/// A blocking session in the workload's database.
pub fn session(server: &Server) -> Result<Admin> {
    let admin = Admin::connect(server.dialect(), server.endpoint(), server.login(), STATEMENT_LIMIT);
    admin.context("cannot connect to the workload's database")
}

/// Removes a data directory that an earlier trial left; nothing happens when there is none.
pub fn remove(data: &Path) -> Result<()> {
    match std::fs::remove_dir_all(data) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", data.display()))
        }
        _ => Ok(()),
    }
}

/// Where the load connects to a server of dbduel's own.
pub(super) fn target(server: &Server) -> Target {
    Target { dialect: server.dialect(), endpoint: server.endpoint().clone(), login: server.login().clone() }
}
