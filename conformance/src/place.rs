//! Where a workload is tried: a server that dbduel holds, or a file of SQLite.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use driver::{Admin, Dialect, Endpoint, Login, Target};

use crate::held::Held;

/// A check of the largest tables takes seconds, on the oldest server a minute.
const STATEMENT_LIMIT: Duration = Duration::from_secs(3600);

pub enum Place {
    Server(Held),
    File(tempfile::TempDir),
}

impl Place {
    /// PostgreSQL comes with its counter of statements, where that is installed.
    pub fn start(dbduel: &Path, engine: &str) -> Result<Place> {
        if engine == "sqlite" {
            return Ok(Place::File(tempfile::tempdir()?));
        }
        // The commit of many clients that share two cores need not wait for a disk: nothing here is timed.
        let relaxed: &[&str] = match engine.starts_with("postgres") {
            // Each parallel worker of a query counts as a transaction of its own, as would autovacuum's.
            true => &[
                "synchronous_commit=off",
                "shared_preload_libraries=pg_stat_statements",
                "autovacuum=off",
                "max_parallel_workers_per_gather=0",
            ],
            false => &["innodb_flush_log_at_trx_commit=0", "innodb_buffer_pool_size=512M"],
        };
        Held::start_or_fail(dbduel, engine, relaxed).map(Place::Server)
    }

    pub fn target(&self) -> Result<Target> {
        match self {
            Place::Server(server) => server.target(),
            Place::File(folder) => Ok(Target {
                dialect: Dialect::Sqlite,
                endpoint: Endpoint::File(folder.path().join("place.db")),
                login: Login {
                    on_connect: ["PRAGMA journal_mode=WAL", "PRAGMA synchronous=OFF"].map(str::to_owned).to_vec(),
                    ..Login::default()
                },
            }),
        }
    }

    pub fn admin(&self) -> Result<Admin> {
        let Target { dialect, endpoint, login } = self.target()?;
        Ok(Admin::connect(dialect, &endpoint, &login, STATEMENT_LIMIT)?)
    }

    pub fn stop(self) -> Result<()> {
        match self {
            Place::Server(server) => server.stop(),
            Place::File(folder) => Ok(folder.close()?),
        }
    }
}
