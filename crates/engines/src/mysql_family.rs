//! What MySQL and MariaDB have in common: finding the binary, the command line, the accounts,
//! reading settings back and comparing them.
//!
//! What differs between the two is asked of a [`Flavour`]; what differs between versions is asked
//! of the version. `--no-defaults` always comes first, so no option file of the machine is read.

mod adopt;
mod advice;
mod check_settings;
mod counters;
mod limits;
mod memory;
pub mod option_files;
pub(crate) mod plans;
mod reserved;
mod tunable;
mod waits;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use driver::{Admin, Dialect, Endpoint, Login};

use engine::advice::{Draft, Subject};
use engine::counters::{Counters, DeferredWork};
use engine::departed::Departures;
use engine::limits::Limits;
use engine::memory_need::{Given, Parts};
use engine::settings::{Agreement, Effective, parse_size, parse_switch, plain};
use engine::tunable::{Tunable, Tuning};
use engine::{
    Adopts, Cost, DATABASE, DumpTaker, Engine, Exit, Explained, Found, Installation, Integrity, Launch, Link,
    NOT_KNOWN, Observe, PlanSwitch, Program, Purpose, Release, Reserved, Sample, SettingsFile, Site, StartFiles,
    StartOptions, Surroundings, Waits, Whereabouts, client_program, database_in, log_tail, server_environment,
    version_numbers, version_output,
};

const ADMINISTRATOR: &str = "root";
/// Making a data directory takes 22 s at worst on an idle machine.
const INITIALISE_LIMIT: Duration = Duration::from_secs(300);

/// What MySQL and MariaDB do differently.
pub trait Flavour: Sync {
    fn kind(&self) -> &'static str;
    fn title(&self) -> &'static str;
    fn description(&self) -> &'static str;
    fn cost(&self) -> &'static Cost;
    /// The smallest settings: what it needs at all.
    fn smallest(&self) -> &'static [(&'static str, &'static str)];
    /// The engine of this flavour.
    fn family(&self) -> &'static MysqlFamily;
    fn example(&self) -> &'static str;
    fn releases(&self) -> &'static [Release];
    /// Names of the server binary, the preferred one first.
    fn binaries(&self) -> &'static [&'static str];
    /// Who builds it under another name.
    fn makers(&self) -> &'static [&'static str] {
        &[]
    }
    fn settings_file(&self) -> &'static SettingsFile;
    fn departures(&self) -> &'static [Departures];
    /// Names of the program that SQL is fed to, the preferred one first.
    fn clients(&self) -> &'static [&'static str];
    /// Whether a binary that answers this to `--version` is of this kind.
    fn claims(&self, version_output: &str) -> bool;
    /// Options without which a version does not start or initialise as it should; never settings.
    fn plumbing(&self, version: &[u32]) -> Vec<&'static str>;
    /// What dbduel switches off by itself.
    fn own_settings(&self, version: &[u32]) -> Vec<OwnSetting>;
    fn initialise(&self, family: &MysqlFamily, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()>;
    /// How the password of an account that exists is changed; `SECRET` stands for it, quoted.
    fn change_password(&self, version: &[u32]) -> &'static str;
    /// How an administrator's account for 127.0.0.1 is made; `SECRET` as above.
    fn make_loopback_account(&self, version: &[u32]) -> &'static [&'static str];
}

/// A setting that dbduel makes unless the user does.
pub struct OwnSetting {
    /// As the report names it.
    pub name: &'static str,
    pub value: &'static str,
    /// The version has another value by default, which this one replaces.
    pub changes_default: bool,
    /// For starts and initialisations alike.
    pub arguments: &'static [&'static str],
    /// User settings that replace it.
    pub replaced_by: &'static [&'static str],
    /// The variable that shows it, and the values that agree; a variable that is absent agrees.
    pub shown_as: (&'static str, &'static [&'static str]),
}

/// The binary log, which MySQL 8.0 and later write by default.
pub const BINARY_LOG_OFF: OwnSetting = OwnSetting {
    name: "log_bin",
    value: "OFF",
    changes_default: false,
    arguments: &["--skip-log-bin"],
    replaced_by: &["log_bin", "skip_log_bin"],
    shown_as: ("log_bin", &["OFF"]),
};

/// TLS, which some versions prepare for with seconds of key making at every start.
pub const TLS_OFF: OwnSetting = OwnSetting {
    name: "ssl",
    value: "OFF",
    changes_default: false,
    arguments: &["--skip-ssl"],
    replaced_by: &["ssl", "skip_ssl", "tls_version", "ssl_ca", "ssl_cert", "ssl_key", "require_secure_transport"],
    shown_as: ("have_ssl", &["DISABLED", "NO"]),
};

pub struct MysqlFamily {
    pub flavour: &'static dyn Flavour,
}

/// Sizes that a server rounds down to a multiple, called "block size" in the manuals.
const ROUNDED_DOWN: &[(&str, i128)] = &[
    ("innodb_log_file_size", 1 << 20),
    ("innodb_redo_log_capacity", 1 << 20),
    ("key_buffer_size", 4096),
    ("max_allowed_packet", 1024),
    ("max_heap_table_size", 1024),
    ("net_buffer_length", 1024),
    ("query_cache_size", 1024),
    ("thread_stack", 1024),
    ("join_buffer_size", 128),
    ("tmp_table_size", 1024),
    ("binlog_cache_size", 4096),
    ("innodb_log_buffer_size", 4096),
];
/// Values that are lists of parts: asking for one part is not asking for the others to go.
const LISTS: &[&str] = &["sql_mode", "optimizer_switch", "tls_version", "log_output", "event_scheduler"];
/// Options whose variable has another name.
const SHOWN_AS: &[(&str, &[&str])] = &[
    ("transaction_isolation", &["tx_isolation"]),
    ("tx_isolation", &["transaction_isolation"]),
    ("memlock", &["locked_in_memory"]),
];
/// Settings that decide how files look when they are made, or whose value then stays in them.
const SHAPING: &[&str] = &[
    "innodb_page_size",
    "innodb_file_per_table",
    "innodb_file_format",
    "innodb_checksum_algorithm",
    "innodb_data_file_path",
    "innodb_default_row_format",
    "innodb_undo_tablespaces",
    "innodb_fill_factor",
    "innodb_compression_default",
    "innodb_compression_algorithm",
    "innodb_compression_level",
    "innodb_encrypt_tables",
    "innodb_stats_persistent_sample_pages",
    "default_storage_engine",
    "character_set_server",
    "collation_server",
    "lower_case_table_names",
];
/// Versions before 5.6 do not start when these differ from the files that are there.
const LOG_FILES: &[&str] = &["innodb_log_file_size", "innodb_log_files_in_group"];
/// Settings that decide how fast it is or what a commit promises. All are single values that every version
/// takes that has the name: no lists of flags, and not innodb_purge_threads, which was 0 once and may not be now.
const NOTABLE: &[&str] = &[
    "innodb_buffer_pool_size",
    "innodb_buffer_pool_instances",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_log_files_in_group",
    "innodb_log_buffer_size",
    "sync_binlog",
    "performance_schema",
    "query_cache_type",
    "query_cache_size",
    "transaction_isolation",
    "tx_isolation",
    "innodb_adaptive_hash_index",
    "innodb_adaptive_hash_index_parts",
    "innodb_adaptive_flushing",
    "innodb_adaptive_flushing_lwm",
    "innodb_autoinc_lock_mode",
    "innodb_change_buffering",
    "innodb_checksum_algorithm",
    "innodb_concurrency_tickets",
    "innodb_file_per_table",
    "innodb_flush_neighbors",
    "innodb_io_capacity",
    "innodb_io_capacity_max",
    "innodb_lru_scan_depth",
    "innodb_max_dirty_pages_pct",
    "innodb_max_dirty_pages_pct_lwm",
    "innodb_old_blocks_time",
    "innodb_page_cleaners",
    "innodb_page_size",
    "innodb_purge_batch_size",
    "innodb_random_read_ahead",
    "innodb_read_ahead_threshold",
    "innodb_read_io_threads",
    "innodb_spin_wait_delay",
    "innodb_stats_persistent",
    "innodb_sync_spin_loops",
    "innodb_thread_concurrency",
    "innodb_undo_log_truncate",
    "innodb_use_native_aio",
    "innodb_write_io_threads",
    "join_buffer_size",
    "key_buffer_size",
    "max_heap_table_size",
    "read_buffer_size",
    "read_rnd_buffer_size",
    "sort_buffer_size",
    "table_open_cache",
    "table_open_cache_instances",
    "thread_cache_size",
    "thread_handling",
    "tmp_table_size",
];
/// What a load relaxes; the data at rest are the same.
const LOAD_SETTINGS: &[(&str, &str)] = &[("innodb_flush_log_at_trx_commit", "0")];

impl Engine for MysqlFamily {
    fn kind(&self) -> &'static str {
        self.flavour.kind()
    }

    fn title(&self) -> &'static str {
        self.flavour.title()
    }

    fn description(&self) -> &'static str {
        self.flavour.description()
    }

    fn example(&self) -> &'static str {
        self.flavour.example()
    }

    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    fn binaries(&self) -> &'static [&'static str] {
        self.flavour.binaries()
    }

    fn makers(&self) -> &'static [&'static str] {
        self.flavour.makers()
    }

    fn releases(&self) -> &'static [Release] {
        self.flavour.releases()
    }

    fn installed(&self) -> Vec<Found> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        // A user's PATH often lacks the folders where packages put servers.
        folders.extend(["/usr/sbin", "/usr/local/sbin", "/usr/libexec"].map(PathBuf::from));
        for folder in folders {
            for name in self.flavour.binaries() {
                let server = folder.join(name);
                if server.is_file()
                    && let Ok(version) = self.version_of(&server, &Surroundings::default())
                {
                    return vec![Found { version, server, basedir: None }];
                }
            }
        }
        Vec::new()
    }

    fn locate(&self, basedir: &Path) -> Result<PathBuf> {
        let folders = ["bin", "sbin", "libexec"].map(|folder| basedir.join(folder));
        let candidates = folders.iter().flat_map(|folder| self.flavour.binaries().iter().map(|name| folder.join(name)));
        let server = candidates.into_iter().find(|file| file.is_file());
        server.with_context(|| format!("no {} server below {}", self.kind(), basedir.display()))
    }

    fn version_of(&self, server: &Path, around: &Surroundings) -> Result<String> {
        let output = version_output(server, around)?;
        ensure!(self.flavour.claims(&output), "{} is no {}: {}", server.display(), self.kind(), output.trim());
        parse_version(&output).with_context(|| format!("{} says no version: {}", server.display(), output.trim()))
    }

    fn shaping_settings(&self, version: &[u32]) -> Vec<&'static str> {
        let log_files: &[&str] = if version < &[5, 6] { LOG_FILES } else { &[] };
        SHAPING.iter().chain(log_files).copied().collect()
    }

    fn initialise(&self, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        self.flavour.initialise(self, site, shaping)
    }

    fn own_settings(
        &self,
        version: &[u32],
        settings: &BTreeMap<String, String>,
        connections: u32,
    ) -> BTreeMap<String, String> {
        let user: BTreeMap<String, &String> = settings.iter().map(|(name, value)| (plain(name), value)).collect();
        let mut own = BTreeMap::new();
        for setting in self.flavour.own_settings(version) {
            if !setting.replaced_by.iter().any(|name| user.contains_key(*name)) {
                own.insert(setting.name.to_owned(), setting.value.to_owned());
            }
        }
        if !user.contains_key("max_connections") {
            own.insert("max_connections".to_owned(), connections.to_string());
        }
        let logs = user.get("log_bin").is_some_and(|value| parse_switch(value) != Some(false));
        if logs && !user.contains_key("server_id") && self.kind() == "mysql" {
            // From 5.7 a server with a binary log does not start without an id.
            own.insert("server_id".to_owned(), "1".to_owned());
        }
        own
    }

    fn changed_defaults(&self, version: &[u32], own: &BTreeMap<String, String>) -> Vec<&'static str> {
        let settings = self.flavour.own_settings(version).into_iter().filter(|setting| setting.changes_default);
        settings.map(|setting| setting.name).filter(|name| own.contains_key(*name)).collect()
    }

    fn reserved(&self) -> &'static Reserved {
        &reserved::RESERVED
    }

    fn settings_file(&self) -> Option<&'static SettingsFile> {
        Some(self.flavour.settings_file())
    }

    fn departures(&self) -> &'static [Departures] {
        self.flavour.departures()
    }

    fn launch(&self, installation: &Installation, options: &StartOptions, places: &StartFiles) -> Result<Launch> {
        let socket = places.folder.join("sock");
        let login = |database: Option<&str>| Login {
            user: ADMINISTRATOR.to_owned(),
            password: places.password.clone(),
            database: database.map(str::to_owned),
            on_connect: Vec::new(),
            ..Login::default()
        };
        let mut arguments = self.common_arguments(installation, options.data);
        arguments.extend(connection_arguments(places, &socket));
        let configured = self.configure(installation, options)?;
        arguments.extend(configured.arguments);
        if let Some(password) = &places.password {
            let file = self.write_init_file(installation, places, password.expose())?;
            arguments.push(option("init-file", file));
        }
        let load = match places.port {
            Some(port) => Endpoint::Tcp { host: places.link.server().to_string(), port },
            None => Endpoint::Unix(socket.clone()),
        };
        Ok(Launch {
            arguments: Some(arguments),
            admin: (Endpoint::Unix(socket), login(None)),
            load: (load, login(Some(&database_in(options.data)))),
            asked: configured.asked,
        })
    }

    fn secure(&self, _admin: &mut Admin, _installation: &Installation, places: &StartFiles) -> Result<()> {
        // The server has read it: it answers, and it reads the file before it listens.
        engine::remove_tree(&places.folder.join("init.sql"))
    }

    fn read_settings(&self, admin: &mut Admin) -> Result<Effective> {
        let rows = admin.rows("SHOW GLOBAL VARIABLES").context("cannot read the settings back")?;
        let mut effective = Effective::default();
        for row in rows {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            if let (Some(name), Some(value)) = (cells.next(), cells.next()) {
                effective.values.insert(name.to_ascii_lowercase(), value);
            }
        }
        Ok(effective)
    }

    fn whereabouts(&self, _admin: &mut Admin, effective: &Effective) -> Result<Whereabouts> {
        let listens = parse_switch(effective.value("skip_networking")?) == Some(false);
        let port =
            if listens { Some(effective.value("port")?.parse().context("the port is no number")?) } else { None };
        Ok(Whereabouts {
            data: effective.value("datadir")?.into(),
            socket: Some(effective.value("socket")?.into()),
            port,
        })
    }

    fn build_lines(&self, _admin: &mut Admin, effective: &Effective) -> Result<Vec<String>> {
        let value = |name: &str| effective.values.get(name).map_or("", String::as_str);
        let platform = format!("compiled for {}, {}", value("version_compile_machine"), value("version_compile_os"));
        Ok([platform, value("version_comment").to_owned()].into_iter().filter(|line| !line.is_empty()).collect())
    }

    fn agreement(&self, effective: &Effective, name: &str, asked: &str) -> Agreement {
        let own = self.flavour.own_settings(&[99]).into_iter().find(|own| own.name == name && own.value == asked);
        if let Some(OwnSetting { shown_as: (variable, values), .. }) = own {
            let actual = effective.values.get(variable);
            return actual.map_or(Agreement::Same, |actual| {
                Agreement::of(values.iter().any(|value| value.eq_ignore_ascii_case(actual)), actual)
            });
        }
        compare(effective, &plain(name), asked)
    }

    fn check_settings(&self, site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
        check_settings::check(self, &|asked| self.arguments(site, asked), site, settings)
    }

    fn expect_known(&self, site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
        check_settings::expect_known(self, &|asked| self.arguments(site, asked), site, settings)
    }

    fn create_database(&self, admin: &mut Admin) -> Result<()> {
        admin.run(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        Ok(())
    }

    fn dump_taker(
        &self,
        installation: &Installation,
        archive: bool,
        (endpoint, login): (&Endpoint, &Login),
    ) -> Result<DumpTaker> {
        ensure!(!archive, "it is an archive of PostgreSQL's pg_dump");
        let Endpoint::Unix(socket) = endpoint else { bail!("a dump is fed through the socket only") };
        let mut client = client_program(installation, self.flavour.clients(), socket)?;
        client.args(["--no-defaults", "--binary-mode", "--protocol=socket"]);
        client.arg(option("socket", socket)).arg(format!("--user={}", login.user)).args(&login.database);
        Ok(DumpTaker::Client(client))
    }

    fn adopts(&self) -> Option<&'static dyn Adopts> {
        Some(self.flavour.family())
    }

    fn databases(&self, admin: &mut Admin) -> Result<Vec<String>> {
        let rows = admin.rows("SHOW DATABASES")?.into_iter().filter_map(|row| row.into_iter().next().flatten());
        let systems = ["mysql", "information_schema", "performance_schema", "sys", "test"];
        Ok(rows.filter(|name| !systems.contains(&name.to_ascii_lowercase().as_str())).collect())
    }

    fn settle(&self, admin: &mut Admin) -> Result<()> {
        // A slow shutdown purges and merges everything, so that no trial inherits this work.
        admin.run("SET GLOBAL innodb_fast_shutdown = 0")?;
        Ok(())
    }

    /// `CHECK TABLE` gives a line for each table, or several: the last one is `OK`, all others complain.
    fn integrity(&self, admin: &mut Admin, tables: &[String]) -> Result<Option<Integrity>> {
        let rows = admin.rows(&format!("CHECK TABLE {} EXTENDED", tables.join(", "))).context("CHECK TABLE failed")?;
        let lines = rows.into_iter().map(|row| row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>());
        let complaints = lines.filter(|line| line.last().is_none_or(|text| text != "OK")).map(|line| line.join(" "));
        Ok(Some(Integrity { check: "CHECK TABLE … EXTENDED".to_owned(), complaints: complaints.collect() }))
    }

    /// InnoDB's words for a page that it cannot read, a page newer than the log, and a crash of its own.
    fn reports_damage(&self, line: &str) -> bool {
        let line = line.to_ascii_lowercase();
        let marks = ["corrupt", "checksum mismatch", "is in the future", "assertion failure", "got signal 11"];
        // What may happen is explained in notes, and settings have such words in their names.
        marks.iter().any(|mark| line.contains(mark)) && !line.contains("[note]") && !line.contains("innodb_corrupt")
    }

    fn durability_class(&self, effective: &BTreeMap<String, String>) -> &'static str {
        let value = |name: &str| effective.get(name).map(String::as_str).unwrap_or("");
        let unsafe_flush =
            ["nosync", "littlesync"].iter().any(|method| value("innodb_flush_method").eq_ignore_ascii_case(method));
        if parse_switch(value("innodb_doublewrite")) == Some(false) || unsafe_flush {
            return "D0";
        }
        let binary_log_lags = parse_switch(value("log_bin")) == Some(true) && value("sync_binlog") != "1";
        match value("innodb_flush_log_at_trx_commit") {
            "0" => "D1",
            // MariaDB's 3 is 1 with another group commit.
            "1" | "3" if !binary_log_lags => "D3",
            _ => "D2",
        }
    }

    /// The settings are about InnoDB.
    fn table_class(&self, create: &str) -> Option<&'static str> {
        let engine = create.rsplit_once("ENGINE=")?.1;
        let name = engine.split(|letter: char| !letter.is_ascii_alphanumeric()).next()?;
        match name.to_ascii_lowercase().as_str() {
            "innodb" => None,
            "myisam" | "mrg" | "memory" | "heap" | "csv" | "archive" | "blackhole" => Some("D0"),
            // Whole after a crash, without the changes since its last checkpoint.
            "aria" => Some("D1"),
            _ => Some(NOT_KNOWN),
        }
    }

    fn tuning(&self) -> Option<&'static dyn Tuning> {
        Some(self.flavour.family())
    }

    fn notable_settings(&self) -> &'static [&'static str] {
        NOTABLE
    }

    fn limits(&self) -> &'static Limits {
        &limits::LIMITS
    }

    fn cost(&self) -> &'static Cost {
        self.flavour.cost()
    }

    fn observe(&self) -> Option<&'static dyn Observe> {
        Some(self.flavour.family())
    }
}

impl Observe for MysqlFamily {
    fn counters(&self, admin: &mut Admin) -> Result<Counters> {
        counters::read(admin)
    }

    fn sample(&self) -> Option<Sample> {
        Some(counters::sample)
    }

    fn waits(&self) -> Option<Waits> {
        Some(Waits::Summed { ask: waits::summed, or: waits::sample })
    }

    fn explain(&self, admin: &mut Admin, sql: &str) -> Result<Explained> {
        plans::explain(admin, sql)
    }

    fn plan_switches(&self) -> &'static [PlanSwitch] {
        plans::SWITCHES
    }

    fn deferred_work(&self) -> &'static DeferredWork {
        &counters::DEFERRAL
    }

    fn hasten(&self, admin: &mut Admin) -> Result<Vec<String>> {
        counters::hasten(admin)
    }
}

impl Tuning for MysqlFamily {
    fn tunables(&self) -> &'static [Tunable] {
        tunable::TUNABLES
    }
    fn memory(&self, version: &[u32], given: &Given) -> Option<Parts> {
        memory::memory(self.flavour.kind() == "mariadb", version, given)
    }
    fn smallest(&self) -> &'static [(&'static str, &'static str)] {
        self.flavour.smallest()
    }
    fn advice(&self, subject: &Subject) -> Draft {
        advice::draft(subject)
    }
    fn size_text(&self, bytes: u64) -> String {
        bytes.to_string()
    }
}

/// What the user's and dbduel's own settings become.
struct Configured {
    arguments: Vec<OsString>,
    asked: BTreeMap<String, String>,
}

impl MysqlFamily {
    /// Program options that every start and every initialisation share.
    pub fn common_arguments(&self, installation: &Installation, data: &Path) -> Vec<OsString> {
        let mut arguments = vec!["--no-defaults".into()];
        if let Some(basedir) = &installation.basedir {
            arguments.push(option("basedir", basedir));
        }
        arguments.push(option("datadir", data));
        arguments.extend(self.unusual_places(installation));
        if nix::unistd::geteuid().is_root() {
            arguments.push("--user=root".into());
        }
        arguments.extend(self.flavour.plumbing(&version_numbers(&installation.version)).into_iter().map(Into::into));
        arguments
    }

    fn arguments(&self, site: &Site, settings: &BTreeMap<String, String>) -> Vec<OsString> {
        let mut arguments = self.common_arguments(site.installation, site.data);
        arguments.extend(settings.iter().map(|(name, value)| user_argument(name, value)));
        arguments
    }

    /// Where Debian's packages keep messages and plugins below `usr`: not where the server expects them
    /// when it is given another base folder than its own.
    fn unusual_places(&self, installation: &Installation) -> Vec<OsString> {
        // Before 5.5 messages were no matter of this option, and packages kept to the old places.
        let Some(basedir) = installation.basedir.as_ref().filter(|_| installation.at_least(&[5, 5])) else {
            return Vec::new();
        };
        let messages = ["mysql", "mariadb"].map(|name| basedir.join("share").join(name));
        let messages = messages.into_iter().find(|folder| folder.join("english/errmsg.sys").is_file());
        let plugins = Some(basedir.join("lib/mysql/plugin")).filter(|folder| folder.is_dir());
        let places = [("lc-messages-dir", messages.clone()), ("plugin-dir", plugins.filter(|_| messages.is_some()))];
        places.into_iter().filter_map(|(name, place)| Some(option(name, place?))).collect()
    }

    fn configure(&self, installation: &Installation, options: &StartOptions) -> Result<Configured> {
        let version = version_numbers(&installation.version);
        let mut user: BTreeMap<String, String> =
            options.settings.iter().map(|(name, value)| (plain(name), value.clone())).collect();
        if options.purpose == Purpose::Load {
            user.extend(LOAD_SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        }
        refuse_too_large(&version, &user)?;
        let own = self.own_settings(&version, &user, options.connections());
        let mut arguments: Vec<OsString> = Vec::new();
        for (name, value) in &own {
            let switched_off = self.flavour.own_settings(&version).into_iter().find(|setting| setting.name == name);
            match switched_off {
                Some(setting) => arguments.extend(setting.arguments.iter().map(Into::into)),
                None => arguments.push(user_argument(name, value)),
            }
        }
        arguments.extend(user.iter().map(|(name, value)| user_argument(name, value)));
        let asked = own.iter().chain(&user).map(|(name, value)| (name.clone(), value.clone())).collect();
        Ok(Configured { arguments, asked })
    }

    /// SQL that gives every account that could log in the password of this start. Private, and
    /// deleted once the server answers: an argument would show in the process list.
    fn write_init_file(&self, installation: &Installation, places: &StartFiles, password: &str) -> Result<PathBuf> {
        let version = version_numbers(&installation.version);
        let file = places.folder.join("init.sql");
        let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
        // 5.5 keeps letting in who has no password until it has read its accounts again.
        let client = places.link.client().map_or("%".to_owned(), |address| address.to_string());
        let statements = std::iter::once(&self.flavour.change_password(&version))
            .chain(self.flavour.make_loopback_account(&version))
            .chain(&["FLUSH PRIVILEGES"])
            .map(|statement| statement.replace("SECRET", &format!("'{password}'")))
            // Which is where clients come from, unless the server has an address of its own.
            .map(|statement| statement.replace(&Ipv4Addr::LOCALHOST.to_string(), &client))
            .collect::<Vec<_>>();
        for statement in statements {
            writeln!(out, "{statement};")?;
        }
        Ok(file)
    }

    /// Runs `mysqld --initialize-insecure`: 5.7 and later MySQL.
    pub fn initialize_insecure(&self, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        let mut arguments = self.common_arguments(site.installation, site.data);
        arguments.push("--initialize-insecure".into());
        let own = self.flavour.own_settings(&version_numbers(&site.installation.version));
        arguments.extend(own.iter().flat_map(|setting| setting.arguments).map(Into::into));
        arguments.extend(shaping.iter().map(|(name, value)| user_argument(name, value)));
        run_step(site, &site.installation.server, arguments, None)
    }

    /// Runs SQL in a server without a network: how system tables of older versions are changed.
    pub fn bootstrap(&self, site: &Site, shaping: &BTreeMap<String, String>, sql: &str) -> Result<()> {
        let input = site.scratch.join("bootstrap.sql");
        fs::write(&input, sql)?;
        let mut arguments = self.common_arguments(site.installation, site.data);
        arguments.push("--bootstrap".into());
        arguments.extend(shaping.iter().map(|(name, value)| user_argument(name, value)));
        run_step(site, &site.installation.server, arguments, Some(input))
    }
}

/// The only server before 5.5 that can be fetched is a 32-bit program: more it cannot address.
const BUFFER_POOL_32_BIT_MAX: i128 = 2000 << 20;

fn refuse_too_large(version: &[u32], user: &BTreeMap<String, String>) -> Result<()> {
    let asked = user.get("innodb_buffer_pool_size").filter(|_| version < &[5, 5]);
    let fits = asked.and_then(|size| parse_size(size)).is_none_or(|bytes| bytes <= BUFFER_POOL_32_BIT_MAX);
    ensure!(
        fits,
        "innodb_buffer_pool_size = {}: this MySQL is a 32-bit program, which takes 2000M at most",
        asked.map_or("", String::as_str)
    );
    Ok(())
}

/// Runs one program of an initialisation to its end.
pub fn run_step(site: &Site, program: &Path, arguments: Vec<OsString>, stdin: Option<PathBuf>) -> Result<()> {
    let log = site.scratch.join("initialise.log");
    let mut environment = server_environment();
    // A server that starts removes the temporary tables of any other in its temporary folder.
    environment.push(("TMPDIR".into(), site.scratch.into()));
    let program = Program {
        args: arguments,
        stdin,
        environment: Some(environment),
        directory: Some(site.data.to_owned()),
        ..site.installation.program(program, &log, &[site.scratch, site.data])?
    };
    match program.run(INITIALISE_LIMIT)? {
        Exit::Status(0) => Ok(()),
        exit => bail!("{} {exit}\nit said: {}", program.path.display(), log_tail(&log, 0).join("\n         ")),
    }
}

fn connection_arguments(places: &StartFiles, socket: &Path) -> Vec<OsString> {
    let mut arguments = vec![
        option("socket", socket),
        option("pid-file", places.folder.join("pid")),
        // Temporary files of a killed server go with the folder.
        option("tmpdir", &places.folder),
    ];
    match places.port {
        Some(port) => {
            arguments
                .extend([format!("--port={port}").into(), option("bind-address", places.link.server().to_string())]);
        }
        None => arguments.push("--skip-networking".into()),
    }
    if places.link != Link::Loopback {
        // No server of names is reached from there.
        arguments.push("--skip-name-resolve".into());
    }
    arguments
}

pub fn option(name: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut option: OsString = format!("--{name}=").into();
    option.push(value);
    option
}

/// One user setting as an option. The binary log's option takes a file name, not a switch.
fn user_argument(name: &str, value: &str) -> OsString {
    let option_name = name.replace('_', "-");
    match (name, parse_switch(value)) {
        ("log_bin", Some(false)) | ("skip_log_bin", Some(true)) => "--skip-log-bin".into(),
        ("log_bin", Some(true)) | ("skip_log_bin", Some(false)) => "--log-bin".into(),
        // All versions take this spelling; 8.0 refuses the older one.
        ("tx_isolation", _) => option("transaction-isolation", value),
        _ => option(&option_name, value),
    }
}

/// `mysqld  Ver 10.11.5-MariaDB for Linux on x86_64` is version 10.11.5.
fn parse_version(output: &str) -> Option<String> {
    let version = output.split("Ver ").nth(1)?.split_ascii_whitespace().next()?;
    let numbers = version_numbers(version);
    (numbers.len() >= 3).then(|| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join("."))
}

fn compare(effective: &Effective, name: &str, asked: &str) -> Agreement {
    if name == "skip_log_bin" {
        let asked = if parse_switch(asked) == Some(false) { "ON" } else { "OFF" };
        return compare(effective, "log_bin", asked);
    }
    if let Some(on) = parse_switch(asked)
        && let Some(agreement) = compare_feature(effective, name, on)
    {
        return agreement;
    }
    let aliases = SHOWN_AS.iter().find(|(option, _)| *option == name).map_or(&[][..], |(_, names)| names);
    let shown = std::iter::once(name).chain(aliases.iter().copied()).find_map(|name| effective.values.get(name));
    let Some(actual) = shown else { return Agreement::Unknown };
    Agreement::of(means_the_same(effective, name, asked, actual), actual)
}

/// Options that switch a feature on or off and have no variable of their name.
fn compare_feature(effective: &Effective, name: &str, on: bool) -> Option<Agreement> {
    let value = |name: &str| effective.values.get(name).map(String::as_str);
    match name {
        "ssl" => value("have_ssl").map(|actual| Agreement::of(on == (actual == "YES"), actual)),
        "skip_ssl" => compare_feature(effective, "ssl", !on),
        // The plugin's variables exist only while it is loaded.
        "mysqlx" => {
            let loaded = value("mysqlx_port").is_some();
            Some(Agreement::of(on == loaded, if loaded { "ON" } else { "OFF" }))
        }
        _ => None,
    }
}

fn means_the_same(effective: &Effective, name: &str, asked: &str, actual: &str) -> bool {
    if asked.eq_ignore_ascii_case(actual) {
        return true;
    }
    if name == "log_bin" {
        // A file name switches it on.
        return parse_switch(asked).unwrap_or(true) == (actual == "ON");
    }
    if LISTS.contains(&name) {
        return lists_agree(asked, actual);
    }
    if let (Some(asked), Some(actual)) = (parse_size(asked), parse_size(actual)) {
        return asked == actual || rounded(effective, name, asked, actual);
    }
    if let (Ok(asked), Ok(actual)) = (asked.parse::<f64>(), actual.parse::<f64>()) {
        return asked == actual;
    }
    matches!((parse_switch(asked), parse_switch(actual)), (Some(asked), Some(actual)) if asked == actual)
}

/// Every part that was asked for is there; asking for nothing means that there is nothing.
fn lists_agree(asked: &str, actual: &str) -> bool {
    let parts = |text: &str| {
        let parts = text.split(',').map(|part| part.trim().to_ascii_lowercase());
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>()
    };
    let (asked, actual) = (parts(asked), parts(actual));
    if asked.is_empty() { actual.is_empty() } else { asked.iter().all(|part| actual.contains(part)) }
}

/// Rounding that the manuals document, and no other.
fn rounded(effective: &Effective, name: &str, asked: i128, actual: i128) -> bool {
    let size = |name: &str| effective.values.get(name).and_then(|value| parse_size(value));
    if name == "innodb_buffer_pool_size" {
        // Rounded up to whole chunks in each instance.
        let chunk = size("innodb_buffer_pool_chunk_size").unwrap_or(0);
        let step = chunk * size("innodb_buffer_pool_instances").unwrap_or(1);
        return actual >= asked && actual - asked < step;
    }
    let block = ROUNDED_DOWN.iter().find(|(rounded, _)| *rounded == name).map(|(_, block)| *block);
    block.is_some_and(|block| actual == asked / block * block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mariadb::MARIADB;
    use crate::mysql::MYSQL;
    use engine::request::Transport;
    use engine::{Resolved, already_here};

    #[test]
    fn lines_about_damage_are_told_from_those_of_a_usual_recovery() {
        let check = |line: &str, expected: bool| assert_eq!(MYSQL.reports_damage(line), expected, "{line}");
        check("InnoDB: Database page corruption on disk or a failed", true);
        check("2026-01-01 0:00:00 0 [ERROR] InnoDB: Table `t`.`a` is corrupted. Please drop it and recreate.", true);
        check("InnoDB: Page 5 log sequence number 7 is in the future! Current system log sequence number 6.", true);
        check("mysqld got signal 11 ;", true);
        check("2026-01-01 0:00:00 0 [Note] InnoDB: Pages that are found corrupt are restored", false);
        check("InnoDB: Starting crash recovery from checkpoint LSN=42", false);
        check("InnoDB: Database was not shut down normally!", false);
    }

    fn effective(pairs: &[(&str, &str)]) -> Effective {
        let values = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Effective { values, ..Effective::default() }
    }

    fn check(name: &str, asked: &str, shown: &[(&str, &str)], expected: bool) {
        let agreement = MYSQL.agreement(&effective(shown), name, asked);
        assert_eq!(agreement == Agreement::Same, expected, "{name} asked {asked} shown {shown:?}: {agreement:?}");
    }

    #[test]
    fn an_own_setting_changes_a_default_only_where_the_version_has_another() {
        let check = |engine: &dyn Engine, version: &[u32], settings: &[(&str, &str)], expected: &[&str]| {
            let settings = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
            let own = engine.own_settings(version, &settings, 20);
            assert_eq!(engine.changed_defaults(version, &own), expected, "{version:?}");
        };
        check(&MYSQL, &[5, 5, 9], &[], &["max_allowed_packet"]);
        check(&MYSQL, &[5, 5, 9], &[("max_allowed_packet", "64M")], &[]);
        check(&MYSQL, &[5, 6, 24], &[], &[]);
        check(&MYSQL, &[5, 7, 29], &[], &["ssl"]);
        check(&MYSQL, &[8, 0, 31], &[], &["log_bin", "ssl", "mysqlx"]);
        check(&MYSQL, &[8, 0, 31], &[("log_bin", "ON")], &["ssl", "mysqlx"]);
        check(&MARIADB, &[10, 11, 5], &[], &[]);
        check(&MARIADB, &[11, 4, 5], &[], &["ssl"]);
    }

    #[test]
    fn the_same_value_in_another_spelling_agrees() {
        check("innodb_log_file_size", "1G", &[("innodb_log_file_size", "1073741824")], true);
        check("innodb_log_file_size", "1GB", &[("innodb_log_file_size", "1073741824")], true);
        check("innodb-log-file-size", "1G", &[("innodb_log_file_size", "1073741824")], true);
        check("performance_schema", "0", &[("performance_schema", "OFF")], true);
        check("performance_schema", "OFF", &[("performance_schema", "ON")], false);
        check("innodb_flush_method", "o_direct", &[("innodb_flush_method", "O_DIRECT")], true);
        check("long_query_time", "0.5", &[("long_query_time", "0.500000")], true);
        check("transaction_isolation", "READ-COMMITTED", &[("tx_isolation", "READ-COMMITTED")], true);
        check("sql_mode", "", &[("sql_mode", "STRICT_TRANS_TABLES")], false);
        check("optimizer_switch", "mrr=on", &[("optimizer_switch", "index_merge=on,mrr=on")], true);
        check("log_bin", "trace", &[("log_bin", "ON")], true);
        check("skip_log_bin", "1", &[("log_bin", "ON")], false);
    }

    #[test]
    fn only_documented_rounding_agrees() {
        let pool = |actual: &'static str| {
            vec![
                ("innodb_buffer_pool_size", actual),
                ("innodb_buffer_pool_chunk_size", "134217728"),
                ("innodb_buffer_pool_instances", "1"),
            ]
        };
        check("innodb_buffer_pool_size", "200M", &pool("268435456"), true);
        check("innodb_buffer_pool_size", "200M", &pool("134217728"), false);
        check("innodb_buffer_pool_size", "200M", &pool("402653184"), false);
        check("innodb_buffer_pool_size", "200M", &[("innodb_buffer_pool_size", "268435456")], false);
        check("key_buffer_size", "10000", &[("key_buffer_size", "8192")], true);
        check("max_connections", "1020", &[("max_connections", "214")], false);
    }

    #[test]
    fn a_setting_the_server_lacks_is_unknown_rather_than_fine() {
        let agreement = MYSQL.agreement(&effective(&[]), "innodb_page_cleaners", "4");
        assert_eq!(agreement, Agreement::Unknown);
    }

    #[test]
    fn what_dbduel_switches_off_is_read_back_too() {
        check("log_bin", "OFF", &[("log_bin", "ON")], false);
        check("ssl", "OFF", &[("have_ssl", "DISABLED")], true);
        check("ssl", "OFF", &[("have_ssl", "YES")], false);
        check("mysqlx", "OFF", &[("mysqlx_port", "33060")], false);
        check("mysqlx", "OFF", &[], true);
        check("mysqlx", "ON", &[], false);
        check("ssl", "ON", &[("have_ssl", "YES")], true);
        check("skip_ssl", "ON", &[("have_ssl", "YES")], false);
    }

    #[test]
    fn versions_are_read_from_the_output_of_binaries() {
        let check = |output: &str, expected: &str| assert_eq!(parse_version(output).as_deref(), Some(expected));
        check("mysqld  Ver 5.5.9 for Linux on x86_64 (MySQL Community Server (GPL))", "5.5.9");
        check("mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", "10.11.19");
        check("/opt/bin/mysqld  Ver 8.0.31 for Linux on x86_64 (MySQL Community Server - GPL)", "8.0.31");
        assert_eq!(parse_version("postgres (PostgreSQL) 15.18"), None);
    }

    /// The command line of a version, without what depends on who runs the test.
    fn command_line(kind: &str, version: &str, pairs: &[(&str, &str)], port: Option<u16>, purpose: Purpose) -> String {
        let folder = tempfile::tempdir().unwrap();
        let found = Found { version: version.into(), server: "/b/bin/mysqld".into(), basedir: Some("/b".into()) };
        let engine: &dyn Engine = if kind == "mysql" { &MYSQL } else { &MARIADB };
        let installation = already_here(&Resolved::here(engine, found)).unwrap().unwrap();
        let settings = effective(pairs).values;
        let options = StartOptions {
            settings: &settings,
            max_clients: 16,
            data: Path::new("/d"),
            log: Path::new("/l"),
            transport: Transport::Socket,
            nuisance_seed: 1,
            purpose,
            cores: &[],
            memory_bytes: None,
        };
        let password = port.map(|_| driver::Secret::new("pw"));
        let places = StartFiles { folder: folder.path().to_owned(), port, link: Link::Loopback, password };
        let launch = installation.engine().launch(&installation, &options, &places).unwrap();
        let arguments: Vec<String> = launch.arguments.unwrap().iter().map(|a| a.to_str().unwrap().into()).collect();
        let line = arguments.join(" ").replace(folder.path().to_str().unwrap(), "/f").replace(" --user=root", "");
        let init = fs::read_to_string(folder.path().join("init.sql")).unwrap_or_default();
        format!("{line}\n{init}")
    }

    const START: &str = "--no-defaults --basedir=/b --datadir=/d";
    const SOCKET: &str = "--socket=/f/sock --pid-file=/f/pid --tmpdir=/f";

    #[test]
    fn each_version_gets_the_options_it_understands() {
        let check = |kind: &str, version: &str, plumbing: &str, own: &str| {
            let packets = if version < "5.6" && kind == "mysql" { " --max-allowed-packet=4M" } else { "" };
            let expected = format!(
                "{START}{plumbing} {SOCKET} --skip-networking --skip-log-bin{packets} --max-connections=36{own}\n"
            );
            assert_eq!(command_line(kind, version, &[], None, Purpose::Measure), expected, "{kind} {version}");
        };
        let no_keys = "--loose-auto-generate-certs=OFF --loose-sha256-password-auto-generate-rsa-keys=OFF";
        check("mysql", "5.0.21", "", "");
        check("mysql", "5.5.9", "", "");
        check("mysql", "5.6.24", "", " --skip-ssl");
        check("mysql", "5.7.29", " --secure-file-priv=", &format!(" --skip-ssl {no_keys}"));
        check("mysql", "8.0.31", " --secure-file-priv=", &format!(" --mysqlx=OFF --skip-ssl {no_keys}"));
        check("mysql", "9.7.4", " --secure-file-priv=", &format!(" --mysqlx=OFF --tls-version= {no_keys}"));
        check("mariadb", "10.1.23", "", " --skip-ssl");
        check("mariadb", "11.4.5", "", " --skip-ssl");
    }

    #[test]
    fn a_32_bit_server_is_not_asked_for_more_than_it_can_address() {
        let check = |version: &[u32], size: &str, fits: bool| {
            let user = effective(&[("innodb_buffer_pool_size", size)]).values;
            assert_eq!(refuse_too_large(version, &user).is_ok(), fits, "{version:?} {size}");
        };
        check(&[5, 0, 21], "2000M", true);
        check(&[5, 0, 21], "2G", false);
        check(&[5, 5, 9], "3G", true);
        assert!(refuse_too_large(&[5, 0, 21], &BTreeMap::new()).is_ok());
    }

    #[test]
    fn a_setting_of_the_user_wins_over_our_own() {
        let pairs = [("log_bin", "ON"), ("max-connections", "500"), ("ssl", "ON")];
        let line = command_line("mysql", "8.0.31", &pairs, None, Purpose::Measure);
        assert!(line.ends_with("--mysqlx=OFF --server-id=1 --log-bin --max-connections=500 --ssl=ON\n"), "{line}");
    }

    #[test]
    fn a_load_is_allowed_local_files_and_does_not_wait_for_the_disk() {
        let pairs = [("innodb_flush_log_at_trx_commit", "1")];
        let line = command_line("mysql", "5.6.24", &pairs, None, Purpose::Load);
        assert!(line.ends_with("--innodb-flush-log-at-trx-commit=0\n"), "{line}");
    }

    #[test]
    fn over_tcp_the_password_is_in_a_private_file_and_never_an_argument() {
        let text = command_line("mysql", "8.0.31", &[], Some(4711), Purpose::Measure);
        let (line, init) = text.split_once('\n').unwrap();
        assert!(line.contains("--port=4711 --bind-address=127.0.0.1") && line.ends_with("--init-file=/f/init.sql"));
        assert!(!line.contains("pw"));
        assert!(init.starts_with("ALTER USER 'root'@'localhost' IDENTIFIED BY 'pw';\n"), "{init}");
        assert!(init.ends_with("FLUSH PRIVILEGES;\n"), "{init}");
        let old = command_line("mariadb", "10.1.23", &[], Some(4711), Purpose::Measure);
        assert!(old.contains("\nSET PASSWORD FOR 'root'@'localhost' = PASSWORD('pw');\n"), "{old}");
    }

    #[test]
    fn the_durability_class_is_what_the_settings_promise() {
        let check = |pairs: &[(&str, &str)], expected: &str| {
            let mut values =
                effective(&[("innodb_doublewrite", "ON"), ("log_bin", "OFF"), ("sync_binlog", "0")]).values;
            values.extend(effective(pairs).values);
            assert_eq!(MYSQL.durability_class(&values), expected, "{pairs:?}");
        };
        check(&[("innodb_flush_log_at_trx_commit", "1")], "D3");
        check(&[("innodb_flush_log_at_trx_commit", "2")], "D2");
        check(&[("innodb_flush_log_at_trx_commit", "0")], "D1");
        check(&[("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "ON")], "D2");
        check(&[("innodb_flush_log_at_trx_commit", "1"), ("innodb_doublewrite", "OFF")], "D0");
    }

    #[test]
    fn a_table_of_another_storage_engine_has_its_own_class() {
        let class = |engine: &str| MYSQL.table_class(&format!("CREATE TABLE `t` (\n  `id` int\n) {engine}"));
        assert_eq!(class("ENGINE=InnoDB DEFAULT CHARSET=latin1"), None);
        assert_eq!(class("ENGINE=MyISAM"), Some("D0"));
        assert_eq!(class("ENGINE=MRG_MYISAM UNION=(`a`)"), Some("D0"));
        assert_eq!(class("ENGINE=Aria TRANSACTIONAL=1"), Some("D1"));
        assert_eq!(class("ENGINE=ROCKSDB"), Some(NOT_KNOWN));
    }
}
