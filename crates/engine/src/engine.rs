//! What an engine is: how one kind of server is provisioned and operated, and what it is given for that.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use driver::{Admin, Dialect, Endpoint, Login, Secret};

use crate::account::Account;
use crate::cost::Cost;
use crate::departed::Departures;
use crate::effective::{Agreement, Effective};
use crate::inside::{Surroundings, server_environment};
use crate::keeper::Program;
use crate::limits::Limits;
use crate::network::Link;
use crate::observe::Observe;
use crate::provision::Release;
use crate::request::Transport;
use crate::reserved::Reserved;
use crate::tuning::{Draft, Given, Machine, Parts, Tunable};
use crate::version::version_numbers;

/// What the engine's own check of its tables found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    /// For a reader: which check it was.
    pub check: String,
    pub complaints: Vec<String>,
}

/// How a server's configuration file looks.
#[derive(Debug)]
pub enum SettingsFile {
    /// Groups of options, of which a server reads its own.
    Groups {
        groups: &'static [&'static str],
        /// Those that end in the series of the version: `mysqld-8.0`.
        of_series: &'static [&'static str],
        /// Options whose name begins with `skip_`; of others that is the switch which puts them off.
        skips: &'static [&'static str],
        /// Options that no variable shows, so that nobody could say whether they are in force; `x*` are all that
        /// begin so.
        unseen: &'static [&'static str],
    },
    /// Lines of `name = value`.
    Lines,
}

/// How to provision and operate one kind of server.
pub trait Engine: Sync {
    /// The name before the `@`: `mysql`.
    fn kind(&self) -> &'static str;
    /// The name that its makers give it: `MySQL`.
    fn title(&self) -> &'static str;
    fn description(&self) -> &'static str;
    /// What a user could write: `mysql@8.0.31`.
    fn example(&self) -> &'static str;
    fn dialect(&self) -> Dialect;
    /// Who builds servers of this kind under another name.
    fn makers(&self) -> &'static [&'static str] {
        &[]
    }
    /// What its server's binary may be called; none where it has none.
    fn binaries(&self) -> &'static [&'static str] {
        &[]
    }
    /// What a package client can fetch, oldest first.
    fn releases(&self) -> &'static [Release];
    /// The servers of this kind that are on this machine.
    fn installed(&self) -> Vec<Found>;
    /// The server binary in an unpacked folder; it need not be able to run yet.
    fn locate(&self, basedir: &Path) -> Result<PathBuf>;
    /// The version that a binary of this kind reports.
    fn version_of(&self, server: &Path, around: &Surroundings) -> Result<String>;
    /// Settings that change how the files look, so that data made with others cannot be used.
    fn shaping_settings(&self, version: &[u32]) -> Vec<&'static str> {
        let _ = version;
        Vec::new()
    }
    /// The account a server needs when dbduel's own will not do.
    fn account(&self) -> Result<Option<Account>> {
        Ok(None)
    }
    /// What a server receives when its keeper is killed. One that leaves shared memory behind needs a signal on which
    /// it ends at once and removes it.
    fn signal_without_keeper(&self) -> i32 {
        libc::SIGKILL
    }
    /// Fills the empty folder `site.data` with a data directory without user tables.
    fn initialise(&self, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()>;
    /// What dbduel sets by itself on a version, given what the user sets.
    fn own_settings(
        &self,
        version: &[u32],
        settings: &BTreeMap<String, String>,
        connections: u32,
    ) -> BTreeMap<String, String> {
        let _ = (version, settings, connections);
        BTreeMap::new()
    }
    /// Those of its own settings whose value is not this version's default: a comparison of versions is then not one
    /// of their defaults.
    fn changed_defaults(&self, version: &[u32], own: &BTreeMap<String, String>) -> Vec<&'static str> {
        let _ = (version, own);
        Vec::new()
    }
    /// Settings that are dbduel's own, and that an experiment may not set.
    fn reserved(&self) -> &'static Reserved;
    /// How its server's configuration file looks; None where it has none.
    fn settings_file(&self) -> Option<&'static SettingsFile> {
        None
    }
    /// Settings that some of its versions no longer have.
    fn departures(&self) -> &'static [Departures] {
        &[]
    }
    /// The command line of a server, and what dbduel sets by itself.
    fn launch(&self, installation: &Installation, options: &StartOptions, places: &StartFiles) -> Result<Launch>;
    /// What is left to do before the load may connect, once the server answers.
    fn secure(&self, admin: &mut Admin, installation: &Installation, places: &StartFiles) -> Result<()> {
        let _ = (admin, installation, places);
        Ok(())
    }
    fn read_settings(&self, admin: &mut Admin) -> Result<Effective>;
    /// Where the server that answers works, as it reports itself.
    fn whereabouts(&self, admin: &mut Admin, effective: &Effective) -> Result<Whereabouts>;
    /// Platform, compiler and flags, as far as the server reports them.
    fn build_lines(&self, admin: &mut Admin, effective: &Effective) -> Result<Vec<String>> {
        let _ = (admin, effective);
        Ok(Vec::new())
    }
    /// Whether a setting is in force as it was asked for.
    fn agreement(&self, effective: &Effective, name: &str, asked: &str) -> Agreement;
    /// Asks the server what it would make of settings, without a start; fails where it refuses one or changes it.
    fn check_settings(&self, site: &Site, settings: &BTreeMap<String, String>) -> Result<()>;
    /// Fails where the server has no setting of a name; values it may leave unchecked.
    fn expect_known(&self, site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
        self.check_settings(site, settings)
    }
    /// The signal for a clean stop of a server that is a process.
    fn stop_signal(&self) -> i32 {
        libc::SIGTERM
    }
    /// Makes the database of the workloads, where the server's files are not one already.
    fn create_database(&self, admin: &mut Admin) -> Result<()> {
        let _ = admin;
        Ok(())
    }
    /// Who takes a dump of the user's; `archive`: it is one of `pg_dump -Fc`. `access` is where the load connects.
    fn dump_taker(&self, installation: &Installation, archive: bool, access: (&Endpoint, &Login)) -> Result<DumpTaker> {
        let _ = (installation, archive, access);
        bail!("{} takes no dumps", self.title())
    }
    /// How its servers begin with data directories of the user's; None where they cannot.
    fn adopts(&self) -> Option<&'static dyn Adopts> {
        None
    }
    /// The databases that may hold a user's tables; none where the server's files are one.
    fn databases(&self, admin: &mut Admin) -> Result<Vec<String>> {
        let _ = admin;
        Ok(Vec::new())
    }
    /// Finishes background work after a load, so that the files that are kept are at rest.
    fn settle(&self, admin: &mut Admin) -> Result<()> {
        let _ = admin;
        Ok(())
    }
    /// What a commit promises (`D3` survives an OS crash … `D0` may corrupt), from the settings.
    fn durability_class(&self, effective: &BTreeMap<String, String>) -> &'static str;
    /// The same of a table, from the statement that would make it; None where the settings show it.
    fn table_class(&self, create: &str) -> Option<&'static str> {
        let _ = create;
        None
    }
    /// Runs the engine's own check over tables of the workload; None where it has no check.
    fn integrity(&self, admin: &mut Admin, tables: &[String]) -> Result<Option<Integrity>> {
        let _ = (admin, tables);
        Ok(None)
    }
    /// Whether a line of its log reports damaged data, or an error that no recovery should meet.
    fn reports_damage(&self, line: &str) -> bool {
        let _ = line;
        false
    }
    /// What of it a load may need more of than there is.
    fn limits(&self) -> &'static Limits {
        &Limits::NONE
    }
    /// What a server of this kind costs, estimated.
    fn cost(&self) -> &'static Cost;
    /// Its tuning; None where dbduel gives no advice for it.
    fn tuning(&self) -> Option<&'static dyn Tuning> {
        None
    }
    /// Settings that decide how fast it is or what a commit promises, those of most interest in front; all
    /// of them can be set.
    fn notable_settings(&self) -> &'static [&'static str];
    /// How it is observed; None where it shows nothing of itself.
    fn observe(&self) -> Option<&'static dyn Observe> {
        None
    }
}

impl fmt::Debug for dyn Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())
    }
}

/// A server binary on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub version: String,
    pub server: PathBuf,
    /// Absent for a system package, which has its paths compiled in.
    pub basedir: Option<PathBuf>,
}

/// A server that can be started.
#[derive(Clone)]
pub struct Installation {
    pub(crate) engine: &'static dyn Engine,
    pub kind: &'static str,
    pub version: String,
    pub source: String,
    pub server: PathBuf,
    pub basedir: Option<PathBuf>,
    pub around: Surroundings,
    /// Version and checksum of the binary: what a snapshot depends on.
    pub fingerprint: String,
}

impl Installation {
    /// The engine lives inside dbduel: it has no process of its own, and its work is the client's.
    pub fn is_embedded(&self) -> bool {
        self.server.as_os_str().is_empty()
    }

    pub fn engine(&self) -> &'static dyn Engine {
        self.engine
    }

    /// One of its programs: under the server's account, with what it needs around it, and with nothing of dbduel's
    /// environment. In an image it sees `places` where they are; the first one must be private to it.
    pub fn program(&self, path: &Path, log: &Path, places: &[&Path]) -> Result<Program> {
        Ok(Program {
            environment: Some(server_environment()),
            libraries: self.around.libraries.clone(),
            inside: self.around.inside(places),
            account: self.engine.account()?,
            ..Program::new(path, log)
        })
    }

    /// Whether this is at least the given version.
    pub fn at_least(&self, version: &[u32]) -> bool {
        version_numbers(&self.version).as_slice() >= version
    }
}

impl fmt::Debug for Installation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {} ({})", self.kind, self.version, self.source)
    }
}

/// Where a data directory is made.
pub struct Site<'a> {
    pub installation: &'a Installation,
    pub data: &'a Path,
    /// For logs and input files; goes with the work folder.
    pub scratch: &'a Path,
}

/// Why a server is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To load data: local files allowed, flushing relaxed. Always on the socket, without a
    /// password, because what it writes is kept as a snapshot.
    Load,
    /// To be measured: exactly the settings that were asked for.
    Measure,
}

/// How one server shall be started.
#[derive(Debug, Clone)]
pub struct StartOptions<'a> {
    pub settings: &'a BTreeMap<String, String>,
    /// Most clients of the plan; twenty connections are added for everything else.
    pub max_clients: u32,
    /// The data directory, already restored; it belongs to this server until it is stopped.
    pub data: &'a Path,
    /// The server's own log; appended to.
    pub log: &'a Path,
    pub transport: Transport,
    /// Seed of what should not matter and must not stay the same: name lengths, environment size.
    pub nuisance_seed: u64,
    pub purpose: Purpose,
    /// CPUs the server may run on; all where it is empty.
    pub cores: &'a [usize],
    /// What all its processes together may have; None where nothing limits them.
    pub memory_bytes: Option<u64>,
}

impl StartOptions<'_> {
    /// `max_connections` unless the user sets it.
    pub fn connections(&self) -> u32 {
        connections_for(self.max_clients)
    }
}

/// Twenty more than the clients: administration, observers, checks.
pub(crate) fn connections_for(max_clients: u32) -> u32 {
    max_clients + 20
}

/// What a start has of its own: drawn anew each time, and never measured.
pub struct StartFiles {
    /// A private folder for the socket, the pid file and temporary files.
    pub folder: PathBuf,
    /// A free port, when the load comes by TCP.
    pub port: Option<u16>,
    pub link: Link,
    /// The password of every account of this start; only with a port.
    pub password: Option<Secret>,
}

/// Where a server works: what must be dbduel's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whereabouts {
    pub data: PathBuf,
    /// None for an engine that lives inside dbduel.
    pub socket: Option<PathBuf>,
    /// None where it listens on no port.
    pub port: Option<u16>,
}

/// How one server is started and reached.
pub struct Launch {
    /// None for an engine that lives inside dbduel.
    pub arguments: Option<Vec<OsString>>,
    /// Where the administrator connects.
    pub admin: (Endpoint, Login),
    /// Where the load connects.
    pub load: (Endpoint, Login),
    /// What must be read back: the user's settings and dbduel's own that the server can show.
    pub asked: BTreeMap<String, String>,
}

/// Runs the statements of a dump, without a client.
pub type Executes = Box<dyn FnOnce(&mut dyn BufRead) -> Result<()> + Send>;

/// Who takes a dump.
pub enum DumpTaker {
    /// A program that reads it from its standard input.
    Client(Command),
    /// An engine inside dbduel.
    Library(Executes),
}

/// How a server begins with the files of another one of its kind.
pub trait Adopts: Sync {
    /// The version that files are of, as far as it decides which servers open them as they are: `8.0`, `15`; None
    /// where every version does.
    fn series_of(&self, place: &Path) -> Result<Option<String>>;
    /// The same of a server.
    fn series(&self, version: &[u32]) -> String;
    /// Who has the files open.
    fn user_of(&self, place: &Path) -> Result<Option<String>>;
    /// Whether the files themselves show that recovery is due.
    fn is_unclean(&self, place: &Path) -> Result<bool>;
    /// By these words a server's log reports recovery.
    fn recovery_marks(&self) -> &'static [&'static str] {
        &[]
    }
    /// Files of settings and access rules, in place of which those of a fresh data directory are taken.
    fn configuration(&self) -> &'static [&'static str] {
        &[]
    }
    /// Gives the copy in `site.data` the account that dbduel logs in with.
    fn give_account(&self, site: &Site) -> Result<()>;
    /// The name of a database that is one file.
    fn file(&self) -> Option<&'static str> {
        None
    }
}

/// The tuning side of an engine.
pub trait Tuning: Sync {
    /// The settings that may be tuned, over all versions.
    fn tunables(&self) -> &'static [Tunable];
    /// What a server takes, part by part; None where a setting cannot be read.
    fn memory(&self, version: &[u32], given: &Given) -> Option<Parts>;
    /// The smallest settings: what it needs at all.
    fn smallest(&self) -> &'static [(&'static str, &'static str)];
    /// What to try first, and what to leave as it is.
    fn advice(&self, subject: &Subject) -> Draft;
    /// How a size is written in its settings.
    fn size_text(&self, bytes: u64) -> String;
}

/// What advice is asked for.
pub struct Subject<'a> {
    pub engine: &'static dyn Engine,
    pub version: &'a str,
    pub machine: Machine,
    pub clients: u32,
}
