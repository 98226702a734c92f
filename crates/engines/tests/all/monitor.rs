//! The session that observes a server.

use driver::{Endpoint, Login};
use engine::Monitor;

use crate::engine;

#[test]
fn one_session_answers_whoever_asks() {
    let folder = tempfile::tempdir().unwrap();
    let file = Endpoint::File(folder.path().join("t.db"));
    let monitor = Monitor::open(engine("sqlite"), &file, &Login::default()).unwrap();
    let elsewhere = monitor.clone();
    let seen = std::thread::spawn(move || elsewhere.counters().unwrap()).join().unwrap();
    assert_eq!(seen, monitor.counters().unwrap());
    assert!(seen.state.contains_key("database_bytes"), "{seen:?}");
}

#[test]
fn a_failed_login_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let no_server = Endpoint::Unix(folder.path().join("sock"));
    let error = Monitor::open(engine("mysql"), &no_server, &Login::default()).unwrap_err();
    assert!(error.to_string().starts_with("cannot open a monitoring session"), "{error:#}");
}
