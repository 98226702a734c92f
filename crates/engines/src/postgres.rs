//! PostgreSQL: its releases, data directories, command line and settings.
//!
//! PostgreSQL refuses to run as root, so dbduel running as root starts it as `nobody`. Local
//! connections are trusted, because only dbduel can enter the folder of the socket.

mod advice;
mod check_settings;
mod counters;
mod departed;
mod integrity;
mod limits;
mod memory;
pub(crate) mod plans;
mod tunable;
mod waits;

use check_settings::BY_INITDB;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use driver::{Admin, Dialect, Endpoint, Login};

use crate::mysql_family::run_step;
use engine::advice::{Draft, Subject};
use engine::counters::{Counters, DeferredWork};
use engine::departed::Departures;
use engine::limits::Limits;
use engine::memory_need::{Given, Parts};
use engine::settings::{Agreement, Effective, parse_quantity, parse_switch, unit_size};
use engine::tunable::{MIB, Tunable, Tuning};
use engine::{
    Account, Adopts, Client, Cost, DATABASE, DumpTaker, Engine, Explained, Found, Installation, Integrity, Launch,
    Layout, Observe, Package, PlanSwitch, Processor, Purpose, Release, Reserved, Sample, SettingsFile, Site,
    StartFiles, StartOptions, Surroundings, Waits, Whereabouts, client_program, database_in, read_folder,
    version_numbers, version_output,
};

pub struct Postgres;

const ADMINISTRATOR: &str = "postgres";
/// Part of the socket's name; no port is opened by it. The folder is private, so it may be the same always.
const SOCKET_PORT: u16 = 5432;
/// Where Debian's packages put a version's programs.
const DEBIAN_FOLDER: &str = "/usr/lib/postgresql";
/// Settings that decide how fast it is or what a commit promises.
const NOTABLE: &[&str] = &[
    "shared_buffers",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "wal_buffers",
    "wal_compression",
    "wal_sync_method",
    "wal_writer_delay",
    "wal_writer_flush_after",
    "max_wal_size",
    "min_wal_size",
    "checkpoint_timeout",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "commit_delay",
    "commit_siblings",
    "default_transaction_isolation",
    "jit",
    "max_parallel_workers",
    "max_parallel_workers_per_gather",
    "max_worker_processes",
    "work_mem",
    "hash_mem_multiplier",
    "maintenance_work_mem",
    "effective_cache_size",
    "effective_io_concurrency",
    "io_method",
    "io_workers",
    "random_page_cost",
    "seq_page_cost",
    "default_statistics_target",
    "autovacuum",
    "autovacuum_naptime",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit",
    "autovacuum_vacuum_scale_factor",
    "bgwriter_delay",
    "bgwriter_flush_after",
    "bgwriter_lru_maxpages",
    "bgwriter_lru_multiplier",
    "backend_flush_after",
    "huge_pages",
    "temp_buffers",
    "track_io_timing",
];
/// Where a server keeps its files, how it is reached, and what it does outside its data directory.
static RESERVED: Reserved = Reserved {
    always: &[
        "archive_library",
        "basic_archive.archive_directory",
        "bonjour",
        "bonjour_name",
        "config_file",
        "data_directory",
        "dynamic_library_path",
        "extension_control_path",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "include",
        "include_dir",
        "include_if_exists",
        "listen_addresses",
        // What it logs is read when it fails; syslog is the machine's.
        "log_destination",
        "log_directory",
        "log_filename",
        "port",
        "primary_conninfo",
        "primary_slot_name",
        "promote_trigger_file",
        "stats_temp_directory",
        "temp_tablespaces",
        "default_tablespace",
        "unix_socket_directories",
        "unix_socket_directory",
        "unix_socket_group",
        "unix_socket_permissions",
    ],
    paths: &["jit_provider", "local_preload_libraries", "session_preload_libraries", "shared_preload_libraries"],
    commands: &[
        "archive_cleanup_command",
        "archive_command",
        "recovery_end_command",
        "restore_command",
        "ssl_passphrase_command",
    ],
    prefixes: &[],
    abbreviates: false,
};
/// Settings whose value at load time stays in the files.
const SHAPING: &[&str] = &["default_statistics_target", "default_table_access_method", "default_toast_compression"];
/// What a load relaxes; the data at rest are the same, because they are synced when they are kept. Commits wait for their
/// log to be written, whatever the contender asks for: VACUUM marks no page as visible whose rows were committed and whose
/// log was not yet out, and whether an index alone suffices would then be a matter of luck.
const LOAD_SETTINGS: &[(&str, &str)] = &[("fsync", "off"), ("synchronous_commit", "on")];

macro_rules! release {
    (x86_64, $($row:tt)*) => { release!(Processor::X86_64, "amd64", "x86_64", $($row)*) };
    (aarch64, $($row:tt)*) => { release!(Processor::Aarch64, "arm64v8", "arm_64", $($row)*) };
    ($processor:expr, $artifact:literal, $inside:literal, $version:literal, $package:literal, $sha256:literal, $megabytes:literal) => {
        Release {
            version: $version,
            package: Package {
                client: Client::Maven,
                processor: $processor,
                coordinates: concat!("io.zonky.test.postgres:embedded-postgres-binaries-linux-", $artifact, ":", $package),
                file: concat!("embedded-postgres-binaries-linux-", $artifact, "-", $package, ".jar"),
                sha256: $sha256,
                megabytes: $megabytes,
            },
            layout: Layout::TarInZip(concat!("postgres-linux-", $inside, ".txz")),
        }
    };
}

const RELEASES: &[Release] = &[
    release!(x86_64, "9.6.24", "9.6.24", "3d4bdb64d4bb0a8757f1efacfed3994aa4a0a37002d5222d7be6c3ddea95e474", 8),
    release!(x86_64, "10.23", "10.23.0", "e55e42533e1c2f135a4ef0c9e2cde634ff891dc71160483c12951fd611d8bc7c", 8),
    release!(x86_64, "11.22", "11.22.0", "6e4754c24484a9ec9e538e266044f8a82908ecb7b4bda09ba7b48700c87a1257", 9),
    release!(x86_64, "12.22", "12.22.0", "f50ddff3308a65e2423ecfd94aefc200d7fe7e2a24d45c6aadb0a6cfbe9284c4", 10),
    release!(x86_64, "13.23", "13.23.0", "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2", 10),
    release!(x86_64, "14.20", "14.20.0", "a0f7b5095c5647ec5058b0cdb58544d02f98ba8cec6f74614c80a5acc8399b29", 11),
    release!(x86_64, "15.18", "15.18.0", "6490649298abbe834a969b57df53e66e056f76894054a8f32f7a56f33abe0087", 12),
    release!(x86_64, "16.11", "16.11.0", "7f78235db9c0d94e933e81ec43d00708a5533841d7eb3a9b6b86bb1fd465ae2f", 13),
    release!(x86_64, "17.7", "17.7.0", "ceb1c01cf5e71d6f906b8614982f6ed61e96b3740dd30758fa6262f97e752b69", 14),
    release!(x86_64, "18.6", "18.6.0", "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1", 15),
    release!(aarch64, "12.17", "12.17.0", "93d8af56031a13f7f7a32c60f32ad4f04e7ae7f305800666ce7052e9e5511180", 13),
    release!(aarch64, "14.23", "14.23.0", "a55b93f67051a602be033b298461709f88789dccee925236f2fb5a4eaf9dd526", 14),
    release!(aarch64, "15.19", "15.19.0", "95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911", 14),
    release!(aarch64, "16.15", "16.15.0", "f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c", 14),
    release!(aarch64, "17.7", "17.7.0", "85622d56a394c424db4b15185bad31f51848809cb0810fe87059ec38be23caad", 14),
    release!(aarch64, "18.6", "18.6.0", "5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be", 14),
];

/// Orders of magnitude from one small machine; no result depends on them.
static COST: Cost = Cost {
    start_ms: 800,
    stop_ms: 800,
    initialise: &[(&[], 4000)],
    template_bytes: 60 * MIB,
    server_bytes: 40 * MIB,
    connection_bytes: 5 * MIB,
    buffers: &[("shared_buffers", 128 * MIB, 8192)],
    logs: &[("max_wal_size", 1)],
};

impl Engine for Postgres {
    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn title(&self) -> &'static str {
        "PostgreSQL"
    }

    fn description(&self) -> &'static str {
        "PostgreSQL, fetched as a Maven package, installed, or in a folder of yours"
    }

    fn example(&self) -> &'static str {
        "postgres@17"
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn binaries(&self) -> &'static [&'static str] {
        &["postgres"]
    }

    fn releases(&self) -> &'static [Release] {
        RELEASES
    }

    fn installed(&self) -> Vec<Found> {
        let versioned = read_folder(Path::new(DEBIAN_FOLDER)).unwrap_or_default();
        let mut folders: Vec<PathBuf> = versioned.iter().map(|entry| entry.path().join("bin")).collect();
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        // Links are followed: a server finds its other files from where it really lies.
        let mut servers: Vec<PathBuf> =
            folders.iter().filter_map(|folder| fs::canonicalize(folder.join("postgres")).ok()).collect();
        servers.sort();
        servers.dedup();
        let found = servers.into_iter().filter_map(|server| {
            let version = self.version_of(&server, &Surroundings::default()).ok()?;
            Some((version, server))
        });
        found.map(|(version, server)| Found { version, server, basedir: None }).collect()
    }

    fn locate(&self, basedir: &Path) -> Result<PathBuf> {
        let server = basedir.join("bin/postgres");
        ensure!(server.is_file(), "no PostgreSQL server in {}", server.display());
        Ok(server)
    }

    /// `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` is version 15.18.
    fn version_of(&self, server: &Path, around: &Surroundings) -> Result<String> {
        let output = version_output(server, around)?;
        let version = output.split("(PostgreSQL) ").nth(1).and_then(|rest| rest.split_ascii_whitespace().next());
        Ok(version.with_context(|| format!("{} says no version: {}", server.display(), output.trim()))?.to_owned())
    }

    fn shaping_settings(&self, _version: &[u32]) -> Vec<&'static str> {
        BY_INITDB.iter().chain(SHAPING).copied().collect()
    }

    /// Immediate shutdown: no checkpoint is made, all processes end.
    fn signal_without_keeper(&self) -> i32 {
        libc::SIGQUIT
    }

    fn account(&self) -> Result<Option<Account>> {
        if !nix::unistd::geteuid().is_root() {
            return Ok(None);
        }
        let nobody = nix::unistd::User::from_name("nobody").context("cannot look up the user `nobody`")?;
        let nobody = nobody.context("PostgreSQL does not run as root, and there is no user `nobody` to run it as")?;
        Ok(Some(Account { uid: nobody.uid.as_raw(), gid: nobody.gid.as_raw() }))
    }

    fn initialise(&self, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        let initdb = site.installation.server.with_file_name("initdb");
        run_step(site, &initdb, initdb_arguments(site.installation, site.data, shaping)?, None)
    }

    fn own_settings(
        &self,
        _version: &[u32],
        settings: &BTreeMap<String, String>,
        connections: u32,
    ) -> BTreeMap<String, String> {
        let own = [("max_connections", connections.to_string()), ("ssl", "off".to_owned())];
        let replaced = |name: &str| settings.keys().any(|key| key.eq_ignore_ascii_case(name));
        own.into_iter().filter(|(name, _)| !replaced(name)).map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn reserved(&self) -> &'static Reserved {
        &RESERVED
    }

    fn settings_file(&self) -> Option<&'static SettingsFile> {
        Some(&SettingsFile::Lines)
    }

    fn departures(&self) -> &'static [Departures] {
        departed::GONE
    }

    fn launch(&self, installation: &Installation, options: &StartOptions, places: &StartFiles) -> Result<Launch> {
        let port = places.port.unwrap_or(SOCKET_PORT);
        write_host_rules(options.data, places.port.map(|_| (places.link.client(), password_method(installation))))?;
        let mut arguments: Vec<OsString> = vec!["-D".into(), options.data.into(), "-k".into()];
        arguments.extend([places.folder.clone().into(), "-p".into(), port.to_string().into()]);
        let addresses = places.port.map_or(String::new(), |_| places.link.server().to_string());
        let mut set = |name: &str, value: &str| arguments.extend(["-c".into(), format!("{name}={value}").into()]);
        set("listen_addresses", &addresses);

        let mut user: BTreeMap<String, String> =
            options.settings.iter().map(|(name, value)| (name.to_ascii_lowercase(), value.clone())).collect();
        if options.purpose == Purpose::Load {
            user.extend(LOAD_SETTINGS.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        }
        let own = self.own_settings(&version_numbers(&installation.version), &user, options.connections());
        own.iter().for_each(|(name, value)| set(name, value));
        user.iter().filter(|(name, _)| !BY_INITDB.contains(&name.as_str())).for_each(|(name, value)| set(name, value));

        let socket = Endpoint::Unix(places.folder.join(format!(".s.PGSQL.{port}")));
        let login = |database: &str, password| Login {
            user: ADMINISTRATOR.to_owned(),
            password,
            database: Some(database.to_owned()),
            on_connect: Vec::new(),
            ..Login::default()
        };
        let load = match places.port {
            Some(port) => Endpoint::Tcp { host: places.link.server().to_string(), port },
            None => socket.clone(),
        };
        Ok(Launch {
            arguments: Some(arguments),
            admin: (socket, login("postgres", None)),
            load: (load, login(&database_in(options.data), places.password.clone())),
            asked: own.iter().chain(&user).map(|(name, value)| (name.clone(), value.clone())).collect(),
        })
    }

    fn secure(&self, admin: &mut Admin, installation: &Installation, places: &StartFiles) -> Result<()> {
        // Until here no login by TCP was possible: the account had no password.
        let Some(password) = &places.password else { return Ok(()) };
        if installation.at_least(&[10]) {
            admin.run("SET password_encryption = 'scram-sha-256'")?;
        }
        // Settings under test may log statements, and the log is part of the run.
        admin.run("BEGIN")?;
        for unlogged in
            ["log_statement = 'none'", "log_min_duration_statement = -1", "log_min_error_statement = 'panic'"]
        {
            admin.run(&format!("SET LOCAL {unlogged}"))?;
        }
        admin.run(&format!("ALTER ROLE {ADMINISTRATOR} PASSWORD '{}'", password.expose()))?;
        admin.run("COMMIT")?;
        Ok(())
    }

    fn read_settings(&self, admin: &mut Admin) -> Result<Effective> {
        let sql = "SELECT name, setting, coalesce(unit, ''), vartype, current_setting(name) FROM pg_settings";
        let mut effective = Effective::default();
        for row in admin.rows(sql).context("cannot read the settings back")? {
            let mut cells = row.into_iter().map(Option::unwrap_or_default);
            let mut cell = || cells.next().unwrap_or_default();
            let (name, setting, unit, kind, shown) = (cell(), cell(), cell(), cell(), cell());
            effective.raw.insert(name.clone(), (setting, unit, kind));
            effective.values.insert(name, shown);
        }
        Ok(effective)
    }

    fn whereabouts(&self, _admin: &mut Admin, effective: &Effective) -> Result<Whereabouts> {
        let port = effective.value("port")?;
        let socket = Path::new(effective.value("unix_socket_directories")?).join(format!(".s.PGSQL.{port}"));
        let port = port.parse().context("the port is no number")?;
        let listens = !effective.value("listen_addresses")?.is_empty();
        let data = effective.value("data_directory")?.into();
        Ok(Whereabouts { data, socket: Some(socket), port: listens.then_some(port) })
    }

    fn build_lines(&self, admin: &mut Admin, _effective: &Effective) -> Result<Vec<String>> {
        let mut told: Vec<String> = admin.value("SELECT version()")?.into_iter().collect();
        // Only a superuser may read them.
        let flags = admin.value("SELECT setting FROM pg_config WHERE name = 'CFLAGS'").unwrap_or_default();
        told.extend(flags.map(|flags| format!("CFLAGS {flags}")));
        Ok(told)
    }

    fn agreement(&self, effective: &Effective, name: &str, asked: &str) -> Agreement {
        let name = name.to_ascii_lowercase();
        let (Some(shown), Some((setting, unit, kind))) = (effective.values.get(&name), effective.raw.get(&name)) else {
            return Agreement::Unknown;
        };
        let same = match kind.as_str() {
            "bool" => parse_bool(asked).is_some_and(|asked| Some(asked) == parse_bool(setting)),
            "integer" | "real" => numbers_agree(&name, asked, setting, unit),
            "enum" => asked.eq_ignore_ascii_case(setting) || switches_agree(asked, setting),
            _ => asked == setting,
        };
        Agreement::of(same, shown)
    }

    fn check_settings(&self, site: &Site, settings: &BTreeMap<String, String>) -> Result<()> {
        check_settings::check(site, settings)
    }

    fn stop_signal(&self) -> i32 {
        // A fast shutdown: SIGTERM would wait for the last client.
        libc::SIGINT
    }

    fn create_database(&self, admin: &mut Admin) -> Result<()> {
        let known = admin.value(&format!("SELECT 1 FROM pg_database WHERE datname = '{DATABASE}'"))?;
        if known.is_none() {
            admin.run(&format!("CREATE DATABASE {DATABASE}"))?;
        }
        Ok(())
    }

    fn dump_taker(
        &self,
        installation: &Installation,
        archive: bool,
        (endpoint, login): (&Endpoint, &Login),
    ) -> Result<DumpTaker> {
        let Some((Endpoint::Unix(socket), database)) = Some(endpoint).zip(login.database.as_ref()) else {
            bail!("a dump is fed through the socket only")
        };
        let mut client = client_program(installation, &[if archive { "pg_restore" } else { "psql" }], socket)?;
        if archive {
            // Owners and rights are of roles that the server does not have.
            client.args(["--exit-on-error", "--no-owner", "--no-privileges"]);
        } else {
            client.args(["-X", "-q", "-v", "ON_ERROR_STOP=1"]);
        }
        let port = socket.extension().context("the socket's name ends with the port")?;
        client.arg("-h").arg(socket.parent().context("a socket lies in a folder")?).arg("-p").arg(port);
        client.args(["-U", &login.user, "-d", database]);
        Ok(DumpTaker::Client(client))
    }

    fn adopts(&self) -> Option<&'static dyn Adopts> {
        Some(&Postgres)
    }

    fn databases(&self, admin: &mut Admin) -> Result<Vec<String>> {
        let rows = admin.rows("SELECT datname FROM pg_database WHERE NOT datistemplate AND datallowconn ORDER BY 1")?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }

    fn settle(&self, admin: &mut Admin) -> Result<()> {
        admin.run("CHECKPOINT")?;
        Ok(())
    }

    fn integrity(&self, admin: &mut Admin, tables: &[String]) -> Result<Option<Integrity>> {
        integrity::check(admin, tables)
    }

    fn reports_damage(&self, line: &str) -> bool {
        let marks = ["PANIC:", "page verification failed", "invalid page in block", "could not read block"];
        marks.iter().any(|mark| line.contains(mark))
    }

    fn durability_class(&self, effective: &BTreeMap<String, String>) -> &'static str {
        let is_off = |name: &str| effective.get(name).is_some_and(|value| parse_bool(value) == Some(false));
        if is_off("fsync") || is_off("full_page_writes") {
            "D0"
        } else if is_off("synchronous_commit") {
            // Commits wait in the server's own memory for up to three turns of the WAL writer.
            "D1"
        } else {
            "D3"
        }
    }

    fn tuning(&self) -> Option<&'static dyn Tuning> {
        Some(&Postgres)
    }

    fn notable_settings(&self) -> &'static [&'static str] {
        NOTABLE
    }

    fn limits(&self) -> &'static Limits {
        &limits::LIMITS
    }

    fn cost(&self) -> &'static Cost {
        &COST
    }

    fn observe(&self) -> Option<&'static dyn Observe> {
        Some(&Postgres)
    }
}

/// Where the state of the cluster stands in `global/pg_control`, behind an identifier and two versions.
const CONTROL_STATE: usize = 16;
/// The state of one that was shut down, and is no standby.
const SHUT_DOWN: u32 = 1;

impl Adopts for Postgres {
    fn series_of(&self, place: &Path) -> Result<Option<String>> {
        let file = place.join("PG_VERSION");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Some(text.trim().to_owned()))
    }

    /// Until 9.6 the first two numbers.
    fn series(&self, version: &[u32]) -> String {
        let numbers = if version < &[10] { 2 } else { 1 };
        version.iter().take(numbers).map(u32::to_string).collect::<Vec<_>>().join(".")
    }

    fn user_of(&self, place: &Path) -> Result<Option<String>> {
        let text = fs::read_to_string(place.join("postmaster.pid")).unwrap_or_default();
        let pid = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok());
        Ok(pid.filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).map(|pid| format!("process {pid}")))
    }

    fn is_unclean(&self, place: &Path) -> Result<bool> {
        let file = place.join("global/pg_control");
        let control = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let state = control.get(CONTROL_STATE..CONTROL_STATE + 4).context("pg_control is cut off")?;
        Ok(u32::from_ne_bytes(state.try_into().expect("they are four")) != SHUT_DOWN)
    }

    fn configuration(&self) -> &'static [&'static str] {
        &["postgresql.conf", "postgresql.auto.conf", "pg_hba.conf", "pg_ident.conf"]
    }

    fn give_account(&self, site: &Site) -> Result<()> {
        engine::remove_tree(&site.data.join("postmaster.pid"))?;
        let input = site.scratch.join("account.sql");
        // In this mode each line is a statement, and a role that is there already is an error that ends nothing.
        let create = format!("CREATE ROLE {ADMINISTRATOR} SUPERUSER LOGIN\n");
        fs::write(&input, create + &format!("ALTER ROLE {ADMINISTRATOR} SUPERUSER LOGIN\n"))?;
        let arguments = ["--single".into(), "-D".into(), site.data.into(), "template1".into()];
        run_step(site, &site.installation.server, arguments.into(), Some(input))
    }
}

impl Observe for Postgres {
    fn counters(&self, admin: &mut Admin) -> Result<Counters> {
        counters::read(admin)
    }

    fn sample(&self) -> Option<Sample> {
        Some(counters::sample)
    }

    fn waits(&self) -> Option<Waits> {
        Some(Waits::Sampled(waits::sample))
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
        admin.run("CHECKPOINT").context("`CHECKPOINT` failed")?;
        Ok(Vec::new())
    }
}

impl Tuning for Postgres {
    fn tunables(&self) -> &'static [Tunable] {
        tunable::TUNABLES
    }
    fn memory(&self, _: &[u32], given: &Given) -> Option<Parts> {
        memory::memory(given)
    }
    fn smallest(&self) -> &'static [(&'static str, &'static str)] {
        &[("shared_buffers", "16MB"), ("maintenance_work_mem", "1MB"), ("work_mem", "64kB")]
    }
    fn advice(&self, subject: &Subject) -> Draft {
        advice::draft(subject)
    }
    fn size_text(&self, bytes: u64) -> String {
        tunable::size_text(bytes)
    }
}

fn initdb_arguments(
    installation: &Installation,
    data: &Path,
    shaping: &BTreeMap<String, String>,
) -> Result<Vec<OsString>> {
    let no_sync = if installation.at_least(&[10]) { "--no-sync" } else { "--nosync" };
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into()];
    arguments.extend(["-U", ADMINISTRATOR, "-A", "trust", no_sync, "-E", "UTF8", "--locale=C"].map(Into::into));
    match shaping.get("data_checksums").map(|value| parse_bool(value)) {
        Some(Some(true)) => arguments.push("--data-checksums".into()),
        // They are the default from 18 on; before, there is no option to leave them out.
        Some(Some(false)) if installation.at_least(&[18]) => arguments.push("--no-data-checksums".into()),
        Some(Some(false)) | None => {}
        Some(None) => anyhow::bail!("setting `data_checksums` must be on or off"),
    }
    if let Some(size) = shaping.get("wal_segment_size") {
        ensure!(installation.at_least(&[11]), "setting `wal_segment_size`: PostgreSQL has it from version 11 on");
        let bytes = parse_quantity(size, "B").context("setting `wal_segment_size` must be a size such as 64MB")?;
        arguments.push(format!("--wal-segsize={}", bytes / 1024.0 / 1024.0).into());
    }
    Ok(arguments)
}

/// Who may connect: local clients without a password, and by TCP only with the password of this start.
fn write_host_rules(data: &Path, tcp: Option<(Option<Ipv4Addr>, &str)>) -> Result<()> {
    let from = |client: Option<Ipv4Addr>| client.map_or("0.0.0.0/0".to_owned(), |address| format!("{address}/32"));
    let tcp = tcp.map_or(String::new(), |(client, method)| format!("host all all {} {method}\n", from(client)));
    let file = data.join("pg_hba.conf");
    // Written in place, so that the file stays its server's.
    fs::write(&file, format!("local all all trust\n{tcp}")).with_context(|| format!("cannot write {}", file.display()))
}

fn password_method(installation: &Installation) -> &'static str {
    if installation.at_least(&[10]) { "scram-sha-256" } else { "md5" }
}

/// PostgreSQL takes any beginning of a name that is no beginning of its opposite.
fn parse_bool(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    if begins("true", 1) || begins("yes", 1) || text == "on" {
        Some(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) {
        Some(false)
    } else {
        parse_switch(&text)
    }
}

/// Some settings grew from a switch to an enumeration, and still take the switch's names.
fn switches_agree(asked: &str, setting: &str) -> bool {
    matches!((parse_bool(asked), parse_bool(setting)), (Some(asked), Some(setting)) if asked == setting)
}

fn numbers_agree(name: &str, asked: &str, setting: &str, unit: &str) -> bool {
    // -1 asks the server to choose; for wal_buffers it then shows what it chose.
    if name == "wal_buffers" && asked.trim() == "-1" {
        return true;
    }
    let (asked, setting) = (parse_quantity(asked, unit), parse_quantity(setting, unit));
    let (Some(asked), Some(setting)) = (asked, setting) else { return false };
    // Rounded to whole units: 100 kB of 8-kB pages are 12 or 13 of them, depending on the version.
    let step = if unit.is_empty() { 0.0 } else { unit_size(unit).unwrap_or(0.0) };
    asked == setting || (asked - setting).abs() < step
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::request::Transport;
    use engine::{Resolved, already_here};

    #[test]
    fn lines_about_damage_are_told_from_those_of_a_usual_recovery() {
        let check = |line: &str, expected: bool| assert_eq!(Postgres.reports_damage(line), expected, "{line}");
        check("[7] PANIC:  could not locate a valid checkpoint record", true);
        check("[7] WARNING:  page verification failed, calculated checksum 1 but expected 2", true);
        check("[7] ERROR:  invalid page in block 3 of relation base/5/16384", true);
        check("[7] LOG:  database system was not properly shut down; automatic recovery in progress", false);
        check("[7] FATAL:  the database system is starting up", false);
    }

    fn check(kind: &str, setting: &str, unit: &str, asked: &str, expected: bool) {
        let mut effective = Effective::default();
        effective.values.insert("x".into(), setting.into());
        effective.raw.insert("x".into(), (setting.into(), unit.into(), kind.into()));
        let agreement = Postgres.agreement(&effective, "X", asked);
        assert_eq!(agreement == Agreement::Same, expected, "{setting}{unit} asked {asked}");
    }

    #[test]
    fn the_same_value_in_another_unit_agrees() {
        check("integer", "16384", "8kB", "128MB", true);
        check("integer", "16384", "8kB", "16384", true);
        check("integer", "16384", "8kB", "256MB", false);
        check("integer", "64", "8kB", "512kB", true);
        check("integer", "12", "8kB", "100kB", true);
        check("integer", "300", "s", "5min", true);
        check("integer", "64", "16MB", "1GB", true);
        check("real", "0.9", "", "0.90", true);
        check("real", "0.9", "", "0.5", false);
        check("bool", "on", "", "true", true);
        check("bool", "off", "", "1", false);
        check("enum", "fdatasync", "", "FDATASYNC", true);
        check("enum", "off", "", "false", true);
        check("enum", "minimal", "", "replica", false);
    }

    #[test]
    fn a_misspelt_setting_is_unknown() {
        assert_eq!(Postgres.agreement(&Effective::default(), "shared_bufers", "1GB"), Agreement::Unknown);
    }

    fn installation(version: &str) -> Installation {
        let found = Found { version: version.into(), server: "/b/bin/postgres".into(), basedir: Some("/b".into()) };
        already_here(&Resolved::here(&Postgres, found)).unwrap().unwrap()
    }

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    fn line(arguments: Vec<OsString>) -> String {
        arguments.iter().map(|argument| argument.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn initdb_gets_the_options_of_its_version() {
        let check = |version: &str, pairs: &[(&str, &str)], expected: &str| {
            let arguments = initdb_arguments(&installation(version), Path::new("/d"), &settings(pairs)).unwrap();
            assert_eq!(line(arguments), format!("-D /d -U postgres -A trust {expected}"), "{version}");
        };
        check("9.6.24", &[], "--nosync -E UTF8 --locale=C");
        check("17.7", &[], "--no-sync -E UTF8 --locale=C");
        check("17.7", &[("data_checksums", "on")], "--no-sync -E UTF8 --locale=C --data-checksums");
        check("17.7", &[("data_checksums", "off")], "--no-sync -E UTF8 --locale=C");
        check("18.6", &[("data_checksums", "off")], "--no-sync -E UTF8 --locale=C --no-data-checksums");
        check("18.6", &[("wal_segment_size", "64MB")], "--no-sync -E UTF8 --locale=C --wal-segsize=64");
        let old =
            initdb_arguments(&installation("9.6.24"), Path::new("/d"), &settings(&[("wal_segment_size", "64MB")]));
        assert!(old.is_err());
    }

    fn launch(port: Option<u16>, pairs: &[(&str, &str)], purpose: Purpose) -> (String, String) {
        let data = tempfile::tempdir().unwrap();
        let options = StartOptions {
            settings: &settings(pairs),
            max_clients: 16,
            data: data.path(),
            log: Path::new("/l"),
            transport: Transport::Socket,
            nuisance_seed: 1,
            purpose,
            cores: &[],
            memory_bytes: None,
        };
        let password = port.map(|_| driver::Secret::new("pw"));
        let places = StartFiles { folder: "/f".into(), port, link: engine::Link::Loopback, password };
        let launch = Postgres.launch(&installation("9.6.24"), &options, &places).unwrap();
        let rules = fs::read_to_string(data.path().join("pg_hba.conf")).unwrap();
        (line(launch.arguments.unwrap()).replace(data.path().to_str().unwrap(), "/d"), rules)
    }

    #[test]
    fn on_the_socket_no_port_is_opened_and_no_password_asked() {
        let (line, rules) = launch(None, &[("shared_buffers", "1GB"), ("data_checksums", "on")], Purpose::Measure);
        let expected =
            "-D /d -k /f -p 5432 -c listen_addresses= -c max_connections=36 -c ssl=off -c shared_buffers=1GB";
        assert_eq!((line.as_str(), rules.as_str()), (expected, "local all all trust\n"));
    }

    #[test]
    fn a_login_over_tcp_needs_the_password() {
        let (line, rules) = launch(Some(4711), &[("max_connections", "99")], Purpose::Load);
        let expected = "-D /d -k /f -p 4711 -c listen_addresses=127.0.0.1 -c ssl=off -c fsync=off \
                        -c max_connections=99 -c synchronous_commit=on";
        assert_eq!(line, expected);
        assert_eq!(rules, "local all all trust\nhost all all 127.0.0.1/32 md5\n");
    }

    #[test]
    fn the_durability_class_is_what_the_settings_promise() {
        let check = |pairs: &[(&str, &str)], expected: &str| {
            assert_eq!(Postgres.durability_class(&settings(pairs)), expected, "{pairs:?}");
        };
        check(&[("fsync", "on"), ("full_page_writes", "on"), ("synchronous_commit", "on")], "D3");
        check(&[("synchronous_commit", "local")], "D3");
        check(&[("synchronous_commit", "off")], "D1");
        check(&[("synchronous_commit", "on"), ("full_page_writes", "off")], "D0");
    }
}
