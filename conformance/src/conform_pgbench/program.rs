//! The real pgbench, run on scripts made here.

use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::held::Held;

/// Where Debian's package puts it; other versions have other functions.
const PROGRAM: &str = "/usr/lib/postgresql/15/bin/pgbench";

pub struct Pgbench {
    socket_folder: String,
    port: String,
    user: String,
    database: String,
    folder: TempDir,
}

impl Pgbench {
    pub fn is_here() -> bool {
        PathBuf::from(PROGRAM).is_file()
    }

    pub fn new(server: &Held) -> Result<Pgbench> {
        let socket = server.text("socket")?;
        let (socket_folder, file) = socket.rsplit_once('/').context("the socket has a folder")?;
        let port = file.rsplit('.').next().unwrap_or_default();
        Ok(Pgbench {
            socket_folder: socket_folder.to_owned(),
            port: port.to_owned(),
            user: server.text("user")?.to_owned(),
            database: server.text("database")?.to_owned(),
            folder: tempfile::tempdir()?,
        })
    }

    /// The same in another database.
    pub fn of_database(self, database: &str) -> Pgbench {
        Pgbench { database: database.to_owned(), ..self }
    }

    /// The folder of the server's socket, and its port.
    pub fn place(&self) -> (&str, &str) {
        (&self.socket_folder, &self.port)
    }

    /// The same server as a URL.
    pub fn target(&self) -> String {
        self.target_of(&self.database)
    }

    /// Another database of it.
    pub fn target_of(&self, database: &str) -> String {
        let Pgbench { socket_folder, port, user, .. } = self;
        format!("postgres://{user}@:{port}/{database}?host={socket_folder}")
    }

    /// Runs it with these words, and with this script where there is one.
    pub fn run(&self, script: Option<&str>, words: &[&str]) -> Result<Output> {
        let mut words = words.to_vec();
        let path = self.folder.path().join("script.sql").to_string_lossy().into_owned();
        if let Some(text) = script {
            std::fs::write(&path, text)?;
            words.extend(["-f", &path]);
        }
        self.command(&words).output().context("cannot start pgbench")
    }

    /// It with these words, on the database.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(["-h", &self.socket_folder, "-p", &self.port, "-U", &self.user]).args(words);
        command.arg(&self.database).env_clear();
        command
    }

    /// The same, where it has to end well.
    pub fn run_well(&self, script: Option<&str>, words: &[&str]) -> Result<Output> {
        let output = self.run(script, words)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "pgbench {} failed: {errors}", words.join(" "));
        Ok(output)
    }
}
