//! What a trial runs on: a server started for it on a copy of the data, or one that runs anyway.
//!
//! The steps of a trial are the same on both; what each step means differs, and stands here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use driver::{Admin, Dialect, Target};

use super::dataset;
use crate::observe::Subject;
use engine::{
    self, Effective, Engine, Installation, Monitor, Observe, Server, Snapshot, UserServer, Volume, WorkFolder,
    weaker_class,
};
use record::format::BuildRecord;

/// Room of a file system of its own: what is not written takes none of the disk's.
const VOLUME_BYTES_MIN: u64 = 8 << 30;
const VOLUME_GROWTH: u64 = 4;

/// Where a trial takes place.
pub enum Environment<'a> {
    /// A server of dbduel's own, with the data it starts from.
    Managed {
        installation: &'a Installation,
        settings: &'a BTreeMap<String, String>,
        snapshot: &'a Snapshot,
        work: &'a WorkFolder,
        data_folder: DataFolder,
        /// What the server may have of this host's memory.
        memory_bytes: Option<u64>,
    },
    UserServer(&'a UserServer),
}

/// Where in the work folder a data directory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataFolder {
    Usual,
    /// That of an A/A run's second contender: as deep, with a longer name. The length of a path moves what lies behind
    /// it
    /// in memory, and that alone can make a program faster or slower (method, section 1).
    OtherPath,
    /// Of the candidate in a duet, whose server runs beside another one; its name is as long as the usual one.
    Beside,
    /// On a file system of its own, which can crash.
    OnVolume,
}

impl DataFolder {
    pub(super) const ALL: [DataFolder; 4] =
        [DataFolder::Usual, DataFolder::OtherPath, DataFolder::Beside, DataFolder::OnVolume];

    fn name(self) -> &'static str {
        match self {
            DataFolder::OnVolume => "data",
            DataFolder::Usual => "data",
            DataFolder::OtherPath => "data-of-the-twin",
            DataFolder::Beside => "pair",
        }
    }

    pub(super) fn path(self, work: &WorkFolder) -> PathBuf {
        let folder =
            if self == DataFolder::OnVolume { Volume::mount_point(work.path()) } else { work.path().to_owned() };
        folder.join(self.name())
    }
}

/// A server that answers.
pub enum RunningServer<'a> {
    Managed(Box<Server>),
    UserServer(&'a UserServer),
}

impl<'a> Environment<'a> {
    /// The engine lives inside dbduel: its work is the client's.
    pub fn is_managed(&self) -> bool {
        matches!(self, Environment::Managed { .. })
    }

    pub fn is_embedded(&self) -> bool {
        match self {
            Environment::Managed { installation, .. } => installation.is_embedded(),
            Environment::UserServer(user_server) => user_server.is_embedded(),
        }
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            Environment::Managed { installation, .. } => installation.engine().dialect(),
            Environment::UserServer(user_server) => user_server.dialect(),
        }
    }

    /// The file system of data that lie on one of their own, empty.
    pub(super) fn volume(&self) -> Result<Option<Volume>> {
        let Environment::Managed { work, snapshot, data_folder: DataFolder::OnVolume, .. } = self else {
            return Ok(None);
        };
        Volume::make(work.path(), VOLUME_BYTES_MIN.max(VOLUME_GROWTH * snapshot.bytes)).map(Some)
    }
}

impl RunningServer<'_> {
    /// The lines of its log since its start that report damage; of a server of the user's there is none to read.
    pub fn damage_in_log(&self) -> Vec<String> {
        match self {
            RunningServer::Managed(server) => server.damage_in_log(),
            RunningServer::UserServer(_) => Vec::new(),
        }
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            RunningServer::Managed(server) => server.dialect(),
            RunningServer::UserServer(user_server) => user_server.dialect(),
        }
    }

    /// Where the load connects.
    pub fn target(&self) -> Target {
        match self {
            RunningServer::Managed(server) => dataset::target(server),
            RunningServer::UserServer(user_server) => user_server.target(),
        }
    }

    /// What observers observe.
    pub fn subject(&self) -> Subject {
        match self {
            RunningServer::Managed(server) => Subject { server_pid: server.pid(), ..Subject::default() },
            RunningServer::UserServer(user_server) => Subject {
                server_pid: user_server.pid(),
                among_others: user_server.is_on_this_host(),
                elsewhere: user_server.elsewhere().cloned(),
                monitor: None,
            },
        }
    }

    pub fn engine(&self) -> &'static dyn Engine {
        match self {
            RunningServer::Managed(server) => server.engine(),
            RunningServer::UserServer(user_server) => user_server.engine(),
        }
    }

    /// A session in which the server can be asked about itself while others load it; none where it would
    /// hinder them.
    pub(super) fn monitor(&self) -> Result<Option<Monitor>> {
        let engine = self.engine();
        let Target { endpoint, login, .. } = self.target();
        let can = |observe: &dyn Observe| observe.can_be_watched(self.effective_settings());
        engine.observe().is_some_and(can).then(|| Monitor::open(engine, &endpoint, &login)).transpose()
    }

    /// A blocking session in the workload's database.
    pub fn session(&self) -> Result<Admin> {
        match self {
            RunningServer::Managed(server) => dataset::session(server),
            RunningServer::UserServer(user_server) => user_server.long_session(),
        }
    }

    /// A session that may change how the server works off what it puts off; never of a target, whose settings and
    /// other databases are not ours.
    pub fn payer(&self) -> Result<Option<Monitor>> {
        match self {
            RunningServer::Managed(_) => self.monitor(),
            RunningServer::UserServer(_) => Ok(None),
        }
    }

    /// As the server itself reports.
    pub fn version(&self) -> &str {
        match self {
            RunningServer::Managed(server) => server.version(),
            RunningServer::UserServer(user_server) => user_server.version(),
        }
    }

    /// What the server's program was compiled for; of a target only what it reports itself.
    pub fn build(&self) -> Result<BuildRecord> {
        let program = match self {
            RunningServer::Managed(server) => {
                Some(server.pid().map_or("/proc/self/exe".into(), |pid| format!("/proc/{pid}/exe")))
            }
            RunningServer::UserServer(user_server) => user_server.is_embedded().then(|| "/proc/self/exe".to_owned()),
        };
        let settings = Effective { values: self.effective_settings().clone(), ..Effective::default() };
        Ok(engine::build(self.engine(), &mut self.session()?, &settings, program.as_deref().map(Path::new)))
    }

    /// All settings that can be seen.
    pub fn effective_settings(&self) -> &BTreeMap<String, String> {
        match self {
            RunningServer::Managed(server) => server.effective_settings(),
            RunningServer::UserServer(user_server) => user_server.settings(),
        }
    }

    /// What a commit promises with these settings, on tables that these statements would make: `D3` … `D0`.
    pub fn durability_class(&self, ddl: &[String]) -> &'static str {
        let (engine, by_settings) = match self {
            RunningServer::Managed(server) => (server.engine(), server.durability_class()),
            RunningServer::UserServer(user_server) => (user_server.engine(), user_server.durability_class()),
        };
        ddl.iter().filter_map(|create| engine.table_class(create)).fold(by_settings, weaker_class)
    }

    /// File system and device of the data: `ext4 on /dev/vda`; of a server elsewhere nothing can be seen.
    pub fn file_system(&self) -> Option<String> {
        let storage = match self {
            RunningServer::Managed(server) => server.storage(),
            RunningServer::UserServer(user_server) => user_server.storage(),
        };
        storage.map(|storage| storage.file_system)
    }

    /// What of a target's URL came from where.
    pub fn target_sources(&self) -> Option<&str> {
        match self {
            RunningServer::Managed(_) => None,
            RunningServer::UserServer(user_server) => user_server.sources(),
        }
    }

    /// Whether the server is still there, or how it ended. Of a target only a login would
    /// show it, and the lost connection has shown as much.
    pub(super) fn check_alive(&mut self) -> Result<()> {
        match self {
            RunningServer::Managed(server) => server.check_alive(),
            RunningServer::UserServer(_) => Ok(()),
        }
    }

    /// Ends the trial's own server; a target goes on.
    pub fn stop(self) -> Result<()> {
        match self {
            RunningServer::Managed(server) => server.stop(),
            RunningServer::UserServer(_) => Ok(()),
        }
    }
}
