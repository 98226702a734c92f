//! How much memory each engine takes with some settings.

use std::collections::BTreeMap;

use engine::memory_need::{Need, fits, memory_needed, need};
use engine::tunable::{GIB, KIB, MIB};

use crate::engine;

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn shared(kind: &str, version: &str, pairs: &[(&str, &str)], name: &str) -> u64 {
    let need = need(engine(kind), version, &settings(pairs), 1).unwrap();
    need.shared.iter().find(|(part, _)| *part == name).unwrap().1
}

#[test]
fn sizes_are_read_as_each_server_reads_them() {
    let pool = "innodb_buffer_pool_size";
    assert_eq!(shared("mysql", "5.5.9", &[(pool, "1G")], pool), GIB);
    assert_eq!(shared("mysql", "5.5.9", &[("innodb-buffer-pool-size", "512k")], pool), 512 * KIB);
    assert_eq!(shared("mysql", "5.5.9", &[(pool, "134217728")], pool), 128 * MIB);
    for text in ["128MB", "16384", "131072kB", "0.125GB"] {
        assert_eq!(shared("postgres", "17.7", &[("shared_buffers", text)], "shared_buffers"), 128 * MIB, "{text}");
    }
    let each = |pairs| need(engine("postgres"), "17.7", &settings(pairs), 1).unwrap().per_connection_bytes;
    assert_eq!(each(&[("work_mem", "16MB")]) - each(&[]), 12 * MIB);
    assert_eq!(each(&[("work_mem", "4096")]), each(&[]));
    let cache =
        |text| need(engine("sqlite"), "3.50.2", &settings(&[("cache_size", text)]), 1).unwrap().per_connection_bytes;
    assert_eq!(cache("-4096"), cache("1024"));
}

#[test]
fn what_is_not_set_has_the_default_of_its_version() {
    let pool = "innodb_buffer_pool_size";
    assert_eq!(shared("mysql", "5.0.21", &[], pool), 8 * MIB);
    assert_eq!(shared("mysql", "5.5.9", &[], pool), 128 * MIB);
    assert_eq!(shared("mariadb", "10.11.19", &[], pool), 128 * MIB);
    assert_eq!(shared("postgres", "9.6.24", &[], "wal_buffers"), 4 * MIB);
    assert_eq!(
        shared("postgres", "9.6.24", &[("wal_buffers", "-1"), ("shared_buffers", "1GB")], "wal_buffers"),
        16 * MIB
    );
    assert!(shared("mysql", "5.6.24", &[], "performance_schema") > 0);
    assert_eq!(shared("mysql", "5.6.24", &[("performance_schema", "OFF")], "performance_schema"), 0);
    assert_eq!(shared("mariadb", "10.11.19", &[], "performance_schema"), 0);
}

#[test]
fn it_adds_up_to_buffers_connections_and_fifteen_per_cent() {
    let need = Need { shared: vec![("x", 800 * MIB)], per_connection_bytes: 2 * MIB, connections: 100 };
    assert_eq!(need.total_bytes(), 1150 * MIB);
    let more = |connections| memory_needed(engine("mysql"), "5.6.24", &BTreeMap::new(), connections).unwrap();
    assert!(more(1000) > more(10));
}

#[test]
fn the_error_of_a_need_that_does_not_fit_has_the_sum_and_what_would_fit() {
    let pairs = settings(&[("innodb_buffer_pool_size", "8G")]);
    let error = fits(engine("mysql"), "5.5.9", &pairs, 36, 8 * GIB).unwrap_err().to_string();
    assert!(error.starts_with("mysql 5.5.9 does not fit into 8.0 GiB: with these settings it takes 9."), "{error}");
    assert!(error.contains("innodb_buffer_pool_size 8.0 GiB"), "{error}");
    assert!(error.contains("\nnext: lower innodb_buffer_pool_size to "), "{error}");
    let (_, lower) = error.split_once("innodb_buffer_pool_size to ").unwrap();
    let lower = record::quantity::bytes(lower.split(" at most").next().unwrap()).unwrap();
    assert!(lower > 6 * GIB, "{error}");
    let pairs = settings(&[("innodb_buffer_pool_size", &lower.to_string())]);
    assert!(fits(engine("mysql"), "5.5.9", &pairs, 36, 8 * GIB).is_ok());
}

#[test]
fn what_cannot_be_read_or_known_is_no_estimate() {
    assert_eq!(memory_needed(engine("mysql"), "8.0.31", &settings(&[("innodb_buffer_pool_size", "lots")]), 1), None);
}
