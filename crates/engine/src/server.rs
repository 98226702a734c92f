//! A server that is running now: started, found ready, checked, and stopped.
//!
//! This module owns the order of those steps for every engine; what differs is asked of the
//! [`Engine`]. What must stay true: a `Server` that exists has answered a login and runs with the
//! settings that were asked for, and dropping it leaves no process behind.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use driver::{Admin, Dialect, Endpoint, Error, Login, Secret};
use rand::distr::{Alphanumeric, SampleString};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::cache::{WorkFolder, remove_tree};
use super::engine::{Purpose, StartOptions};
use super::inside::server_environment;
use super::keeper::{Exit, Kept, Program};
use super::memory_limit::MemoryLimit;
use super::network::{LINKS, Link};
use super::settings::{Effective, verify};
use super::storage::{Storage, class_in, storage_of};
use super::{Engine, Installation, Launch, StartFiles, Whereabouts, affinity, log_tail};
use crate::request::Transport;

/// The database a workload's tables live in.
pub const DATABASE: &str = "sbtest";

const START_LIMIT: Duration = Duration::from_secs(120);
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// After a load, the stop is where all background work is finished.
const STOP_AFTER_LOAD_LIMIT: Duration = Duration::from_secs(1800);
const POLL: Duration = Duration::from_millis(10);
const LOGIN_LIMIT: Duration = Duration::from_secs(5);
/// How long one statement of the administrator may take (a purge after a large load).
const ADMIN_LIMIT: Duration = Duration::from_secs(3600);
const SOCKET_FOLDER_BYTES_MAX: usize = 20;
const PADDING_BYTES_MAX: usize = 4096;

/// One server, running.
pub struct Server {
    installation: Installation,
    process: Option<Kept>,
    /// Dropped after the process, which is in its group.
    memory: Option<MemoryLimit>,
    places: StartFiles,
    data: PathBuf,
    launch: Launch,
    effective: Effective,
    version: String,
    /// From its start to the first login and query.
    ready_after: Duration,
    log: PathBuf,
    log_start: u64,
    stop_limit: Duration,
}

impl Server {
    /// Starts a server and returns when it is ready, checked and reachable for the load.
    pub fn start(installation: &Installation, options: &StartOptions, work: &WorkFolder) -> Result<Server> {
        Server::start_named(installation, options, work)
            .with_context(|| format!("cannot start {} {}", installation.kind, installation.version))
    }

    fn start_named(installation: &Installation, options: &StartOptions, work: &WorkFolder) -> Result<Server> {
        let engine = installation.engine();
        let mut nuisance = ChaCha8Rng::seed_from_u64(options.nuisance_seed);
        let places = make_places(installation, options, work, &mut nuisance)?;
        let launch = engine.launch(installation, options, &places)?;
        let log_start = fs::metadata(options.log).map_or(0, |meta| meta.len());
        ensure!(
            options.memory_bytes.is_none() || launch.arguments.is_some(),
            "{} runs inside the load generator, where nothing limits its memory alone; take `memory` out",
            installation.kind
        );
        let memory = options.memory_bytes.map(MemoryLimit::new).transpose()?;
        let started = Instant::now();
        let process = match &launch.arguments {
            Some(arguments) => {
                let program = program(installation, options, &places, arguments, &mut nuisance)?;
                let group = memory.as_ref().map(MemoryLimit::processes);
                Some(Kept::start(&Program { group, ..program })?)
            }
            None => None,
        };
        let mut server = Server {
            installation: installation.clone(),
            process,
            memory,
            places,
            data: options.data.to_owned(),
            launch,
            effective: Effective::default(),
            version: String::new(),
            ready_after: Duration::ZERO,
            log: options.log.to_owned(),
            log_start,
            stop_limit: if options.purpose == Purpose::Load { STOP_AFTER_LOAD_LIMIT } else { STOP_LIMIT },
        };
        let mut admin = server.wait_until_ready(started)?;
        server.ready_after = started.elapsed();
        server.process.as_mut().map_or(Ok(()), Kept::note_shared_memory)?;
        server.effective = engine.read_settings(&mut admin)?;
        let found = engine.whereabouts(&mut admin, &server.effective)?;
        expect_own_place(&found, &server.expected_place(options)).map_err(|error| server.with_log(error))?;
        engine.secure(&mut admin, installation, &server.places)?;
        server.version = admin.server_version().to_owned();
        if let Err(error) = verify(engine, &server.effective, &server.launch.asked) {
            return Err(server.with_log(error));
        }
        if let Some(pid) = server.pid() {
            affinity::confirm(pid, options.cores)?;
            server.memory.as_ref().map_or(Ok(()), |memory| memory.confirm(pid))?;
        }
        Ok(server)
    }

    pub fn dialect(&self) -> Dialect {
        self.engine().dialect()
    }

    pub fn engine(&self) -> &'static dyn Engine {
        self.installation.engine()
    }

    pub fn installation(&self) -> &Installation {
        &self.installation
    }

    /// Where the load connects.
    pub fn endpoint(&self) -> &Endpoint {
        &self.launch.load.0
    }

    /// How the load logs in, into [`DATABASE`].
    pub fn login(&self) -> &Login {
        &self.launch.load.1
    }

    /// Where and how the administrator connects: on the private socket, in no database.
    pub fn admin_access(&self) -> (&Endpoint, &Login) {
        (&self.launch.admin.0, &self.launch.admin.1)
    }

    /// A session of the administrator, on the private socket; in no database of the workload's.
    pub fn admin(&self) -> Result<Admin> {
        let (endpoint, login) = self.admin_access();
        let admin = Admin::connect(self.dialect(), endpoint, login, ADMIN_LIMIT);
        admin.with_context(|| format!("the administrator cannot connect to {}", self.installation.kind))
    }

    /// The server's process; none when it lives inside dbduel.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Kept::pid)
    }

    /// As the server itself reports.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How long it took from its start to the first login and query.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// All settings in force, as read back.
    pub fn effective_settings(&self) -> &BTreeMap<String, String> {
        &self.effective.values
    }

    /// What a commit promises with these settings where the data lie: `D3` … `D0`.
    pub fn durability_class(&self) -> &'static str {
        class_in(&self.data, self.engine().durability_class(&self.effective.values))
    }

    /// Where the data lie.
    pub fn storage(&self) -> Option<Storage> {
        storage_of(&self.data)
    }

    /// Makes the empty [`DATABASE`], where the engine has databases.
    pub fn create_database(&self) -> Result<()> {
        self.installation.engine().create_database(&mut self.admin()?)
    }

    /// Finishes background work, before the stop that leaves the files of a snapshot.
    pub fn settle(&self) -> Result<()> {
        self.installation.engine().settle(&mut self.admin()?).context("cannot bring the data to rest")
    }

    /// Whether the server is still there, or how it ended.
    pub fn check_alive(&mut self) -> Result<()> {
        match self.process.as_mut().map(Kept::poll).transpose()?.flatten() {
            Some(exit) => bail!("the server {exit}\n{}", self.log_excerpt()),
            None => Ok(()),
        }
    }

    /// Stops the server cleanly. Anything but a clean end is an error, and leaves no process either.
    pub fn stop(mut self) -> Result<()> {
        let Some(process) = &mut self.process else { return Ok(()) };
        let name = format!("{} {}", self.installation.kind, self.installation.version);
        if let Some(exit) = process.poll()? {
            bail!("{name} had ended before it was asked to: it {exit}\n{}", self.log_excerpt());
        }
        process.signal(self.installation.engine().stop_signal())?;
        match process.wait(self.stop_limit)? {
            Some(Exit::Status(0)) => Ok(()),
            Some(exit) => bail!("{name} did not stop cleanly: it {exit}\n{}", self.log_excerpt()),
            None => {
                bail!(
                    "{name} did not stop within {} s and was killed\n{}",
                    self.stop_limit.as_secs(),
                    self.log_excerpt()
                )
            }
        }
    }

    fn wait_until_ready(&mut self, started: Instant) -> Result<Admin> {
        let (endpoint, login) = self.launch.admin.clone();
        loop {
            if let Some(exit) = self.process.as_mut().map(Kept::poll).transpose()?.flatten() {
                let name = self.installation.server.file_name().unwrap_or_default().to_string_lossy();
                let secs = started.elapsed().as_secs_f64();
                bail!("{name} {exit} after {secs:.1} s\n{}", self.log_excerpt());
            }
            let why = match try_login(self.dialect(), &endpoint, &login) {
                Ok(admin) => return Ok(admin),
                Err(error) if is_final(&error) => {
                    bail!("the server refuses the administrator: {error}\n{}", self.log_excerpt())
                }
                Err(error) => error,
            };
            if started.elapsed() > START_LIMIT {
                let secs = START_LIMIT.as_secs();
                bail!("no login succeeded within {secs} s ({why})\n{}", self.log_excerpt());
            }
            std::thread::sleep(POLL);
        }
    }

    /// The lines of its log since this start that report damage.
    pub fn damage_in_log(&self) -> Vec<String> {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(text.get(self.log_start as usize..).unwrap_or_default()).into_owned();
        let engine = self.installation.engine();
        text.lines().map(str::trim).filter(|line| engine.reports_damage(line)).map(str::to_owned).collect()
    }

    fn log_excerpt(&self) -> String {
        let lines = log_tail(&self.log, self.log_start);
        format!("it said: {}\n{}", lines.join("\n         "), self.see_log())
    }

    fn with_log(&self, error: anyhow::Error) -> anyhow::Error {
        anyhow!("{error}\n{}", self.see_log())
    }

    fn expected_place(&self, options: &StartOptions) -> Whereabouts {
        let socket = match &self.launch.admin.0 {
            Endpoint::Unix(path) => Some(path.clone()),
            Endpoint::Tcp { .. } | Endpoint::File(_) => None,
        };
        let port = match self.launch.load.0 {
            Endpoint::Tcp { port, .. } => Some(port),
            Endpoint::Unix(_) | Endpoint::File(_) => None,
        };
        Whereabouts { data: options.data.to_owned(), socket, port }
    }

    fn see_log(&self) -> String {
        format!("see: {}", self.log.display())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process first: it may still write below the folder.
        self.process = None;
        let _ = remove_tree(&self.places.folder);
    }
}

/// Fails where the server that answers is not the one that was started on this data directory: nothing may be
/// written to it then.
fn expect_own_place(found: &Whereabouts, expected: &Whereabouts) -> Result<()> {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.components().collect());
    let socket = |place: &Whereabouts| place.socket.as_deref().map(real);
    let shown = |path: Option<PathBuf>| path.map_or("none".to_owned(), |path| path.display().to_string());
    let port = |place: &Whereabouts| place.port.map_or("none".to_owned(), |port| port.to_string());
    let pairs = [
        ("data directory", shown(Some(real(&found.data))), shown(Some(real(&expected.data)))),
        ("socket", shown(socket(found)), shown(socket(expected))),
        ("port", port(found), port(expected)),
    ];
    let differ = |(what, is, wanted): &(&str, String, String)| {
        (is != wanted).then(|| format!("\n{what}: the server has {is}, dbduel gave it {wanted}"))
    };
    let wrong: String = pairs.iter().filter_map(differ).collect();
    ensure!(
        wrong.is_empty(),
        "the server that answers does not work where dbduel started it; nothing was written to it{wrong}\n  next: look for an option file or a wrapper script of this server that sets them"
    );
    Ok(())
}

/// A login and a query; both must work before the server counts as ready.
fn try_login(dialect: Dialect, endpoint: &Endpoint, login: &Login) -> Result<Admin, Error> {
    let mut admin = Admin::connect(dialect, endpoint, login, LOGIN_LIMIT)?;
    admin.rows("SELECT 1")?;
    admin.set_timeout(Some(ADMIN_LIMIT))?;
    Ok(admin)
}

/// A refusal that waiting does not cure: wrong account or password.
fn is_final(error: &Error) -> bool {
    let Error::Refused { code, .. } = error else { return false };
    matches!(code.as_str(), "1045" | "1698" | "1130" | "28000" | "28P01")
}

fn make_places(
    installation: &Installation,
    options: &StartOptions,
    work: &WorkFolder,
    nuisance: &mut ChaCha8Rng,
) -> Result<StartFiles> {
    let length = nuisance.random_range(1..=SOCKET_FOLDER_BYTES_MAX);
    let folder = work.for_sockets().join(Alphanumeric.sample_string(nuisance, length));
    // The same seed gives the same name: what a failed start left there goes first.
    remove_tree(&folder)?;
    fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
    if let Some(account) = installation.engine().account()? {
        std::os::unix::fs::chown(&folder, Some(account.uid), Some(account.gid))?;
    }
    let tcp = options.transport != Transport::Socket && options.purpose == Purpose::Measure;
    let link = match options.transport {
        Transport::Namespace if tcp => Link::Namespace(ChaCha8Rng::from_os_rng().random_range(0..LINKS)),
        Transport::Address(own) if tcp => Link::Address(own),
        _ => Link::Loopback,
    };
    Ok(StartFiles {
        folder,
        link,
        port: tcp.then(|| free_port(link)).transpose()?,
        // Not from the seed: the plan must not give the password away.
        password: tcp.then(|| Secret::new(Alphanumeric.sample_string(&mut ChaCha8Rng::from_os_rng(), 24))),
    })
}

/// A port that was free a moment ago; in a namespace of its own every port is.
fn free_port(link: Link) -> Result<u16> {
    let address = match link {
        Link::Address(own) => own,
        Link::Loopback | Link::Namespace(_) => Ipv4Addr::LOCALHOST,
    };
    let listener = TcpListener::bind((address, 0)).with_context(|| format!("cannot find a free port at {address}"))?;
    Ok(listener.local_addr()?.port())
}

fn program(
    installation: &Installation,
    options: &StartOptions,
    places: &StartFiles,
    arguments: &[OsString],
    nuisance: &mut ChaCha8Rng,
) -> Result<Program> {
    ensure!(options.data.is_dir(), "no data directory {}", options.data.display());
    if installation.engine().account()?.is_some() {
        check_entrance(options.data)?;
        check_entrance(&installation.server)?;
    }
    let mut program = installation.program(&installation.server, options.log, &[&places.folder, options.data])?;
    if let Some(inside) = &mut program.inside {
        inside.has_network = places.port.is_some();
    }
    let padding = "x".repeat(nuisance.random_range(0..=PADDING_BYTES_MAX));
    let mut environment = server_environment();
    environment.push(("DBDUEL_PADDING".into(), padding.into()));
    Ok(Program {
        args: arguments.to_vec(),
        environment: Some(environment),
        directory: Some(options.data.to_owned()),
        cores: options.cores.to_vec(),
        signal_without_keeper: Some(installation.engine().signal_without_keeper()),
        network: match places.link {
            Link::Namespace(number) => Some(number),
            Link::Loopback | Link::Address(_) => None,
        },
        ..program
    })
}

/// Fails when a server under another account could not reach a path; its own message would be vaguer.
fn check_entrance(path: &Path) -> Result<()> {
    for folder in path.ancestors().skip(1) {
        let mode =
            fs::metadata(folder).with_context(|| format!("cannot read {}", folder.display()))?.permissions().mode();
        ensure!(
            mode & 0o001 != 0,
            "the server runs under another user, who may not enter {}; allow it (chmod o+x) or use another folder",
            folder.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_elsewhere_than_dbduel_started_it_is_refused() {
        let place = |data: &str, socket: Option<&str>, port| Whereabouts {
            data: data.into(),
            socket: socket.map(PathBuf::from),
            port,
        };
        let expected = place("/w/data", Some("/w/s/sock"), None);
        // Servers end a folder with a slash.
        assert!(expect_own_place(&place("/w/data/", Some("/w/s/sock"), None), &expected).is_ok());
        let check = |found: &Whereabouts, line: &str| {
            let error = expect_own_place(found, &expected).unwrap_err().to_string();
            assert!(error.contains("nothing was written to it") && error.contains(line), "{error}");
        };
        check(
            &place("/var/lib/mysql", Some("/w/s/sock"), None),
            "data directory: the server has /var/lib/mysql, dbduel gave it /w/data",
        );
        check(&place("/w/data", Some("/run/sock"), None), "socket: the server has /run/sock");
        check(&place("/w/data", Some("/w/s/sock"), Some(3306)), "port: the server has 3306, dbduel gave it none");
    }
}
