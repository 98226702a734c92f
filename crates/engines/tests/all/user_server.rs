//! Servers that dbduel does not manage.

use std::path::Path;

use engine::request::TargetChoice;
use engine::target_url::TargetUrl;
use engine::{PasswordSource, UserServer};

use crate::engine;

fn choice(url: &str) -> TargetChoice {
    TargetChoice { url: TargetUrl::parse(url).unwrap(), overwrite: false, password: PasswordSource::Unnamed }
}

#[test]
fn a_database_file_in_memory_promises_nothing_in_an_os_crash() {
    let class_in = |folder: &Path| {
        let folder = tempfile::tempdir_in(folder).unwrap();
        let file = folder.path().join("t.db");
        std::fs::write(&file, "").unwrap();
        UserServer::reach(engine("sqlite"), &choice(&format!("sqlite://{}", file.display())))
            .unwrap()
            .durability_class()
    };
    let on_disk = class_in(Path::new(env!("CARGO_MANIFEST_DIR")));
    assert_eq!((on_disk, class_in(Path::new("/dev/shm"))), ("D3", "D0"));
}

#[test]
fn a_target_that_is_not_there_is_named_and_nothing_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("sock");
    let url = format!("mysql://app:hunter2@localhost/x?socket={}", socket.display());
    let error = format!("{:#}", UserServer::reach(engine("sqlite"), &choice(&url)).err().unwrap());
    assert!(error.contains("cannot reach mysql://app:***@localhost") && !error.contains("hunter2"), "{error}");
    let expected = format!("there is no socket {}\n  next: look whether the server runs", socket.display());
    assert!(error.contains(&expected), "{error}");
    // Port 1 has no server.
    let error = UserServer::reach(engine("mysql"), &choice("mysql://app@127.0.0.1:1/x")).err().unwrap();
    let error = format!("{error:#}");
    assert!(error.contains("nothing listens at 127.0.0.1:1 (connection refused)\n  next: "), "{error}");
    assert!(!error.contains("log in") && !error.contains("lost"), "{error}");
    let file = folder.path().join("none.db");
    let error = UserServer::reach(engine("sqlite"), &choice(&format!("sqlite://{}", file.display())))
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("no database file") && !file.exists(), "{error}");
}
