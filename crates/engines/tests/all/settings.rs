//! Settings that a server does not have, and what it has instead.

use std::collections::BTreeMap;

use engine::settings::{Effective, nearest_known, verify};

use crate::engine;

#[test]
fn a_setting_that_a_server_lacks_is_named_with_its_own() {
    let settings = |names: &[&str]| names.iter().map(|name| (name.to_string(), String::new())).collect();
    let server: BTreeMap<String, String> = settings(&["innodb_buffer_pool_size", "innodb_log_file_size"]);
    let asked: BTreeMap<String, String> = settings(&["innodb-buffer-pool-size", "innodb_log_file_sizes", "wal_level"]);
    let missing = nearest_known(engine("mysql"), &asked, &server);
    assert_eq!(missing, [("innodb_log_file_sizes", Some("innodb_log_file_size")), ("wal_level", None)]);
}

#[test]
fn a_name_of_another_version_is_answered_with_the_one_here() {
    let values = [("innodb_redo_log_capacity".to_owned(), "104857600".to_owned())];
    let effective = Effective { values: values.into_iter().collect(), ..Effective::default() };
    let asked = [("innodb_log_file_size".to_owned(), "1G".to_owned())].into();
    let message = verify(engine("mysql"), &effective, &asked).unwrap_err().to_string();
    assert!(message.ends_with("here it is `innodb_redo_log_capacity`"), "{message}");
}
