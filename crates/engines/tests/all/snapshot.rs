//! Which settings need data of their own.

use std::collections::BTreeMap;

use engine::{Found, Installation, Resolved, already_here, snapshot_key};

use crate::engine;

fn installation(kind: &str, version: &str) -> Installation {
    let found = Found { version: version.into(), server: "/s".into(), basedir: None };
    already_here(&Resolved::here(engine(kind), found)).unwrap().unwrap()
}

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

#[test]
fn a_key_depends_on_what_shapes_files_and_on_nothing_else() {
    let mysql = installation("mysql", "5.5.9");
    let key =
        |pairs: &[(&str, &str)], seed: &str| snapshot_key(&mysql, &settings(pairs), &[("data_seed", seed.to_owned())]);
    assert_eq!(key(&[("innodb_buffer_pool_size", "1G")], "1"), key(&[], "1"));
    assert_ne!(key(&[("innodb_page_size", "4k")], "1"), key(&[], "1"));
    assert_eq!(key(&[("innodb-page-size", "4k")], "1"), key(&[("innodb_page_size", "4k")], "1"));
    assert_ne!(key(&[], "2"), key(&[], "1"));
    // 5.5 cannot resize its log files.
    assert_ne!(key(&[("innodb_log_file_size", "1G")], "1"), key(&[], "1"));
    let mariadb = installation("mariadb", "10.11.5");
    let resized = settings(&[("innodb_log_file_size", "1G")]);
    assert_eq!(snapshot_key(&mariadb, &resized, &[]), snapshot_key(&mariadb, &settings(&[]), &[]));
    assert!(key(&[], "1").starts_with("mysql-5.5.9-"));
}
