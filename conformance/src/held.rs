//! A real server for the length of one command, started by dbduel itself.
//!
//! `dbduel __engines hold` provisions, starts, checks and stops it as for a trial; this is only the
//! other end of its pipe. What must stay true: the server ends with the [`Held`], even by a panic.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use driver::{Admin, Dialect, Endpoint, Login, Secret, Target};
use serde_json::Value;

/// Longest wait for one statement of a command; loading takes seconds.
const STATEMENT_LIMIT: Duration = Duration::from_secs(120);

pub struct Held {
    name: String,
    child: Child,
    /// Its end ends the server.
    pipe: Option<ChildStdin>,
    reached: Value,
}

/// Why there is no server: it is not on this machine, which is no failure, or it did not start.
pub enum Missing {
    Absent(String),
    Broken(anyhow::Error),
}

impl From<Missing> for anyhow::Error {
    fn from(missing: Missing) -> anyhow::Error {
        match missing {
            Missing::Absent(why) => anyhow::anyhow!("{why}"),
            Missing::Broken(error) => error,
        }
    }
}

/// Builds dbduel the way this program was built, and returns where it is. Named beside it, this package asks for the features
/// that everything was built with before.
pub fn dbduel(root: &Path) -> Result<PathBuf> {
    let build = ["build", "--quiet", "--package", "dbduel", "--package", "conformance", "--bin", "dbduel"];
    let release: &[&str] = if cfg!(debug_assertions) { &[] } else { &["--release"] };
    crate::run(root, "cargo", &[&build, release].concat(), &[])?;
    let program = std::env::current_exe()?.with_file_name("dbduel");
    ensure!(program.is_file(), "dbduel was built, but {} is not there", program.display());
    Ok(program)
}

impl Held {
    /// Starts `name` (`mariadb@system`) with these arguments of `hold` around it.
    pub fn start(dbduel: &Path, name: &str, words: &[&str]) -> Result<Held, Missing> {
        Held::start_by(Command::new(dbduel), name, words)
    }

    /// The same by a command that ends with dbduel's name.
    pub fn start_by(mut command: Command, name: &str, words: &[&str]) -> Result<Held, Missing> {
        let broken = |error: std::io::Error| Missing::Broken(error.into());
        let (flags, settings): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("--"));
        command.args(["__engines", "hold"]).args(flags).arg(name).args(settings);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(broken)?;
        let pipe = child.stdin.take();
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("standard output is a pipe")).read_line(&mut line).map_err(broken)?;
        match serde_json::from_str(&line) {
            Ok(reached) => Ok(Held { name: name.to_owned(), child, pipe, reached }),
            Err(_) => Err(why_missing(name, child).unwrap_or_else(Missing::Broken)),
        }
    }

    /// Starts it for a command that is nothing without it.
    pub fn start_or_fail(dbduel: &Path, name: &str, words: &[&str]) -> Result<Held> {
        eprintln!("$ dbduel __engines hold {name} {}", words.join(" "));
        Held::start(dbduel, name, words).map_err(anyhow::Error::from)
    }

    pub fn text(&self, key: &str) -> Result<&str> {
        self.reached[key].as_str().with_context(|| format!("{} did not say its {key}", self.name))
    }

    /// Where it listens on loopback, for a server held with `--tcp`.
    pub fn port(&self) -> Result<u16> {
        let port = self.reached["port"].as_u64().and_then(|port| port.try_into().ok());
        port.with_context(|| format!("{} did not say its port", self.name))
    }

    pub fn pid(&self) -> Result<i32> {
        let pid = self.reached["pid"].as_i64().and_then(|pid| pid.try_into().ok());
        pid.with_context(|| format!("{} did not say its pid", self.name))
    }

    pub fn dialect(&self) -> Dialect {
        if self.name.starts_with("postgres") { Dialect::Postgres } else { Dialect::MySql }
    }

    /// Where the load connects: by the socket; a server that also listens on loopback has given its
    /// administrator a password.
    pub fn target(&self) -> Result<Target> {
        Ok(Target {
            dialect: self.dialect(),
            endpoint: Endpoint::Unix(self.text("socket")?.into()),
            login: Login {
                user: self.text("user")?.to_owned(),
                password: self.reached["password"].as_str().filter(|word| !word.is_empty()).map(Secret::new),
                database: Some(self.text("database")?.to_owned()),
                on_connect: Vec::new(),
                ..Login::default()
            },
        })
    }

    /// What a person would give to `--target`.
    pub fn connection_string(&self, database: &str) -> Result<String> {
        let (user, socket) = (self.text("user")?, Path::new(self.text("socket")?));
        if self.dialect() == Dialect::MySql {
            return Ok(format!("mysql://{user}@localhost/{database}?socket={}", socket.display()));
        }
        let folder = socket.parent().context("a socket without a folder")?.display();
        let port = socket.extension().context("a socket without a port")?.to_string_lossy();
        Ok(format!("host={folder} port={port} user={user} dbname={database}"))
    }

    /// An administrator's session in `database`.
    pub fn admin(&self, database: &str) -> Result<Admin> {
        let Target { dialect, endpoint, login } = self.target()?;
        let login = Login { database: Some(database.to_owned()), ..login };
        let admin = Admin::connect(dialect, &endpoint, &login, STATEMENT_LIMIT);
        admin.with_context(|| format!("cannot connect to {}", self.name))
    }

    /// What its child processes need to reach it.
    pub fn environment(&self) -> Result<Vec<(&'static str, String)>> {
        let port = self.reached["port"].as_u64().map_or(String::new(), |port| port.to_string());
        let password = self.reached["password"].as_str().unwrap_or_default().to_owned();
        Ok(vec![
            ("DBDUEL_TEST_SOCKET", self.text("socket")?.to_owned()),
            ("DBDUEL_TEST_USER", self.text("user")?.to_owned()),
            ("DBDUEL_TEST_DATABASE", self.text("database")?.to_owned()),
            ("DBDUEL_TEST_PID", self.reached["pid"].to_string()),
            ("DBDUEL_TEST_PORT", port),
            ("DBDUEL_TEST_PASSWORD", password),
        ])
    }

    /// Stops the server and reports it when it did not end cleanly.
    pub fn stop(mut self) -> Result<()> {
        drop(self.pipe.take());
        let status = self.child.wait()?;
        ensure!(status.success(), "{} did not stop cleanly", self.name);
        Ok(())
    }
}

/// The output of a `hold` that gave no server.
fn why_missing(name: &str, child: Child) -> Result<Missing> {
    let output = child.wait_with_output()?;
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if stderr.contains("is not here") || stderr.contains("is installed here") || stderr.contains("nor installed here") {
        return Ok(Missing::Absent(stderr));
    }
    bail!("{name} did not start\n{stderr}")
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.pipe.take());
        // After `stop` it has been waited for, and this returns at once.
        let _ = self.child.wait();
    }
}
