//! Settings that are dbduel's own, in every spelling of each server.

use engine::tunable::tunables;
use engine::{Refusal, version_numbers};
use engines::ENGINES;

use crate::engine;

fn refusal(kind: &str, name: &str, value: &str) -> Option<Refusal> {
    engine(kind).reserved().refusal(name, value)
}

#[test]
fn what_dbduel_owns_is_refused_in_every_spelling_of_the_server() {
    let check = |kind: &str, names: &[&str]| {
        for name in names {
            assert!(refusal(kind, name, "/home/user/x").is_some(), "{kind} {name}");
        }
    };
    let mysql = [
        "datadir",
        "DataDir",
        "datad",
        "dat",
        "loose_datadir",
        "loose-skip-networking",
        "skip_networking",
        "skip-net",
        "maximum-port",
        "enable-port",
        "plugin-innodb-data-home-dir",
        "basedir",
        "socket",
        "bind-address",
        "pid_file",
        "log-error",
        "log_bin",
        "loose-log-bin",
        "general_log_file",
        "init-file",
        "plugin-load-add",
        "defaults-extra-file",
        "innodb_undo_directory",
        "innodb_data_file_path",
        "mysqlx_socket",
        "admin_port",
        "report-host",
        "master-host",
        "wsrep_cluster_address",
        "tmpdir",
        "lc-messages-dir",
        "relay-log",
        "--datadir",
        "!include",
        "datadir=/home/user/x",
        "skip-grant-tables",
        "chroot",
        "user",
        "secure-file-priv",
    ];
    for kind in ["mysql", "mariadb"] {
        check(kind, &mysql);
    }
    check("mariadb", &["extra-port", "aria_log_dir_path", "autoset_datadir", "log-basename"]);
    let postgres = [
        "data_directory",
        "Data_Directory",
        "data-directory",
        "hba_file",
        "config_file",
        "include_dir",
        "port",
        "listen_addresses",
        "unix_socket_directories",
        "external_pid_file",
        "log_directory",
        "archive_command",
        "restore_command",
        "primary_conninfo",
        "shared_preload_libraries",
        "dynamic_library_path",
        "x=y",
    ];
    check("postgres", &postgres);
    check("sqlite", &["temp_store_directory", "main.temp_store_directory", "data_store_directory", "writable_schema"]);
}

#[test]
fn what_stays_in_the_data_directory_is_the_users_to_set() {
    let check = |kind: &str, name: &str, value: &str| assert_eq!(refusal(kind, name, value), None, "{kind} {name}");
    check("mysql", "log_bin", "ON");
    check("mysql", "log-bin", "trace");
    check("mysql", "skip_log_bin", "1");
    check("mysql", "innodb_data_file_path", "ibdata1:10M:autoextend");
    check("mysql", "innodb_doublewrite", "OFF");
    check("mysql", "general_log", "ON");
    check("mysql", "skip-innodb", "OFF");
    check("mariadb", "plugin_load_add", "ha_rocksdb");
    check("postgres", "archive_command", "/bin/true");
    check("postgres", "shared_preload_libraries", "pg_stat_statements");
    check("postgres", "auto_explain.log_min_duration", "1s");
}

#[test]
fn no_setting_that_decides_speed_or_is_advised_is_refused() {
    for engine in ENGINES {
        let versions = engine.releases().iter().map(|release| release.version);
        for version in versions.chain(["3.45.0"]) {
            let known = tunables(*engine, version).into_iter().map(|tunable| tunable.name);
            let shaping = engine.shaping_settings(&version_numbers(version));
            for name in known.chain(shaping).chain(engine.notable_settings().iter().copied()) {
                assert_eq!(engine.reserved().refusal(name, "1"), None, "{} {version}", engine.kind());
            }
        }
    }
}

#[test]
fn a_refusal_names_the_setting_that_the_server_would_have_set() {
    let refusal = refusal("mysql", "Loose-DataD", "/x").unwrap();
    assert!(refusal.what.starts_with("setting `Loose-DataD` (`datadir`) cannot be given: dbduel decides"));
    assert!(refusal.next.starts_with("next: take it out"), "{}", refusal.next);
}
