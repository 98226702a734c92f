//! The tables of settings of every engine: names, limits, and values within them.

use engine::parse_quantity;
use engine::settings::parse_size;
use engine::tunable::{GIB, MIB, Machine, Tunable, What, find, other_names, tunables};
use engines::ENGINES;

use crate::engine;

fn all() -> impl Iterator<Item = &'static Tunable> {
    // MySQL and MariaDB share one table.
    let tuned = ENGINES.iter().filter(|engine| engine.kind() != "mariadb");
    tuned.filter_map(|engine| engine.tuning()).flat_map(|tuning| tuning.tunables())
}

const MACHINES: &[Machine] = &[
    Machine { memory_bytes: 512 * MIB, cores: 1, data_bytes: GIB },
    Machine { memory_bytes: 8 * GIB, cores: 4, data_bytes: 4 * GIB },
    Machine { memory_bytes: 512 * GIB, cores: 64, data_bytes: 2048 * GIB },
];

fn names(kind: &str, version: &str) -> Vec<&'static str> {
    tunables(engine(kind), version).iter().map(|tunable| tunable.name).collect()
}

#[test]
fn a_setting_exists_in_its_versions_only() {
    let check = |kind: &str, version: &str, name: &str, there: bool| {
        assert_eq!(names(kind, version).contains(&name), there, "{kind} {version} {name}");
    };
    check("mysql", "5.0.21", "innodb_buffer_pool_instances", false);
    check("mysql", "5.5.9", "innodb_buffer_pool_instances", true);
    check("mariadb", "10.1.23", "innodb_buffer_pool_instances", true);
    check("mariadb", "10.11.19", "innodb_buffer_pool_instances", false);
    check("mysql", "8.0.15", "innodb_log_file_size", true);
    check("mysql", "8.0.31", "innodb_log_file_size", false);
    check("mysql", "8.0.31", "innodb_redo_log_capacity", true);
    check("mysql", "9.7.*", "innodb_redo_log_capacity", true);
    check("mariadb", "11.4.5", "innodb_log_file_size", true);
    check("mysql", "5.0.21", "table_cache", true);
    check("mysql", "5.5.9", "table_cache", false);
    check("postgres", "9.6.24", "jit", false);
    check("postgres", "17.7", "jit", true);
    check("postgres", "17.7", "io_workers", false);
    check("sqlite", "3.50.2", "cache_size", true);
}

#[test]
fn a_setting_that_was_renamed_is_known_by_both_names() {
    assert_eq!(other_names(engine("mysql"), "innodb_redo_log_capacity"), ["innodb_log_file_size"]);
    assert_eq!(other_names(engine("mysql"), "innodb_log_file_size"), ["innodb_redo_log_capacity"]);
    assert_eq!(other_names(engine("mysql"), "table_cache"), ["table_open_cache"]);
    assert!(other_names(engine("mariadb"), "innodb_log_file_size").is_empty());
    assert!(other_names(engine("mysql"), "innodb_io_capacity").is_empty());
}

#[test]
fn limits_are_those_of_the_version() {
    let most = |kind: &str, version: &str, name: &str| match find(engine(kind), version, name).unwrap().what {
        What::Bytes { most, .. } | What::Count { most, .. } => most,
        What::Word => unreachable!("{name} is no number"),
    };
    assert_eq!(most("mysql", "5.0.21", "innodb_buffer_pool_size"), 2000 * MIB);
    // Two files, together less than 4 GB, and from 5.6.3 on less than 512 GB.
    assert!(2 * most("mysql", "5.5.9", "innodb_log_file_size") < 4 * GIB);
    assert!(2 * most("mysql", "5.6.24", "innodb_log_file_size") < 512 * GIB);
    assert_eq!(most("mysql", "8.0.31", "innodb_redo_log_capacity"), 128 * GIB);
    assert_eq!(most("mysql", "9.7.*", "innodb_redo_log_capacity"), 512 * GIB);
    assert_eq!(most("mysql", "5.5.9", "innodb_purge_threads"), 1);
    assert_eq!(most("mysql", "5.6.24", "innodb_purge_threads"), 32);
    assert_eq!(most("mysql", "5.6.24", "innodb_buffer_pool_instances"), 64);
}

#[test]
fn a_name_stands_for_one_setting_in_each_version_and_goes_over_into_one_that_exists() {
    for (kind, versions) in [
        ("mysql", &["5.0.21", "5.5.9", "5.6.24", "5.7.29", "8.0.12", "8.0.31", "9.7.*"][..]),
        ("mariadb", &["10.1.23", "10.2.11", "10.11.5", "11.4.5", "11.8.*"]),
        ("postgres", &["9.6.24", "10.23", "15.18", "17.7", "18.6"]),
        ("sqlite", &["3.50.2"]),
    ] {
        for version in versions {
            let mut names = names(kind, version);
            assert!(names.len() >= 6, "{kind} {version}");
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{kind} {version}: {names:?}");
        }
    }
    for tunable in all() {
        let Some(then) = tunable.then else { continue };
        let there =
            |other: &Tunable| other.kind == tunable.kind && other.name == then && other.exists_in(tunable.until);
        assert!(all().any(there), "{} goes over into {then}, which is not there", tunable.name);
    }
}

#[test]
fn what_is_offered_lies_within_the_limits_of_its_version() {
    for (tunable, machine) in all().flat_map(|tunable| MACHINES.iter().map(move |machine| (tunable, machine))) {
        let values = tunable.values(machine);
        assert!(values.len() <= 6, "{} offers {values:?}: a handful is enough", tunable.name);
        let read = |value: &String| match tunable.kind {
            "postgres" => parse_quantity(value, "B").map(|bytes| bytes as u64),
            _ => parse_size(value).map(|bytes| bytes.unsigned_abs() as u64),
        };
        for value in &values {
            let number = read(value);
            match tunable.what {
                What::Word => {}
                // PostgreSQL: "as large as the server thinks"; SQLite: kibibytes, where others mean pages.
                _ if value.starts_with('-') => {}
                _ => assert_eq!(number.map(|number| tunable.within(number)), number, "{} = {value}", tunable.name),
            }
        }
    }
}

#[test]
fn a_cache_of_threads_is_no_larger_than_the_connections() {
    let threads = find(engine("mariadb"), "10.11.19", "thread_cache_size").unwrap();
    assert!(threads.is_taken("24", 24) && !threads.is_taken("64", 24));
    assert!(find(engine("mariadb"), "10.11.19", "table_open_cache").unwrap().is_taken("2000", 24));
}

#[test]
fn nothing_larger_than_the_machine_is_offered() {
    for (tunable, machine) in all().flat_map(|tunable| MACHINES.iter().map(move |machine| (tunable, machine))) {
        if ["innodb_buffer_pool_size", "shared_buffers"].contains(&tunable.name) {
            for value in tunable.values(machine) {
                let bytes = record::quantity::bytes(&value).unwrap();
                assert!(bytes <= machine.memory_bytes / 5 * 4, "{} = {value} on {machine:?}", tunable.name);
            }
        }
    }
}
