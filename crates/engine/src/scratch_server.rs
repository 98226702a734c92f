//! A server on a data directory that nothing was loaded into, where nothing is measured.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::{Cache, Installation, Purpose, Server, StartOptions, WorkFolder, template};
use crate::request::Transport;

/// What such a server gets; `data` and `log` are made.
pub struct ScratchServer<'a> {
    pub settings: &'a BTreeMap<String, String>,
    pub max_clients: u32,
    pub transport: Transport,
    pub data: &'a Path,
    pub log: &'a Path,
}

impl ScratchServer<'_> {
    /// Initialises the data directory and starts the server; that it starts means that all settings read back.
    pub fn start(
        &self,
        installation: &Installation,
        cache: &Cache,
        work: &WorkFolder,
        progress: &dyn Fn(&str),
    ) -> Result<Server> {
        template(cache, work, installation, self.settings, progress)?.restore(self.data)?;
        let options = StartOptions {
            settings: self.settings,
            max_clients: self.max_clients,
            data: self.data,
            log: self.log,
            transport: self.transport,
            nuisance_seed: 1,
            purpose: Purpose::Measure,
            cores: &[],
            memory_bytes: None,
        };
        Server::start(installation, &options, work)
    }
}
