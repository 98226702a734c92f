//! A run that another process watches, to its end and to its death.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::support::{Place, RunningServer, wait_for};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);

fn experiment(blocks: u32) -> String {
    format!(
        r#"
        name = "watched"
        contender = [{{ name = "a", engine = "sqlite" }}, {{ name = "b", engine = "sqlite" }}]
        workload = {{ name = "oltp_point_select", rows = 1000 }}
        method = {{ preset = "quick", duration = "1s", warmup = "100ms", blocks = {blocks} }}
        "#
    )
}

/// `127.0.0.1:PORT` of a server that was started.
pub fn address(server: &mut RunningServer) -> String {
    let line = server.first_line();
    line.strip_prefix("http://").and_then(|rest| rest.strip_suffix('/')).unwrap_or_else(|| panic!("{line}")).to_owned()
}

fn request(address: &str, target: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    stream
}

pub fn page(address: &str, target: &str) -> String {
    let mut text = String::new();
    request(address, target).read_to_string(&mut text).unwrap();
    text
}

/// Events until one is the last that is wanted, or the stream ends.
fn events(address: &str, run: &str, is_last: impl Fn(&str, &Value) -> bool) -> Vec<(String, Value)> {
    let lines = BufReader::new(request(address, &format!("/events?run={run}"))).lines().map(Result::unwrap);
    let (mut found, mut name) = (Vec::new(), String::new());
    for line in lines {
        if let Some(event) = line.strip_prefix("event: ") {
            name = event.to_owned();
        } else if let Some(data) = line.strip_prefix("data: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            let ends = is_last(&name, &data);
            found.push((name.clone(), data));
            if ends {
                break;
            }
        }
    }
    found
}

fn count(events: &[(String, Value)], name: &str) -> usize {
    events.iter().filter(|(event, _)| event == name).count()
}

#[test]
fn a_run_of_another_process_is_watched_to_its_end() {
    let place = Place::new();
    place.write("watched.toml", &experiment(2));
    let mut server = place.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = address(&mut server);
    assert!(page(&address, "/").contains("No run is stored here yet"));
    let run = place.start(&["run", "watched.toml", "--accept-noisy"]);
    wait_for("a run folder with a plan", LIMIT, || place.run().is_some_and(|run| run.join("plan.json").is_file()));
    let name = place.run().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let seen = events(&address, &name, |_, _| false);
    assert!(run.end().status.success());
    assert_eq!((count(&seen, "plan"), count(&seen, "trial"), count(&seen, "failure")), (1, 4, 0), "{seen:?}");
    assert!(count(&seen, "interval") > 0);
    assert_eq!((seen.last().unwrap().0.as_str(), seen.last().unwrap().1["state"].as_str()), ("state", Some("ended")));
    let report = page(&address, &format!("/report?run={name}"));
    assert!(report.starts_with("HTTP/1.1 200") && report.contains("dbduel-records"), "{}", &report[..200]);
    let head = page(&address, "/?search=nothing-like-it");
    assert!(head.contains("No run fits"), "{head}");
    server.signal(libc::SIGINT);
    assert!(server.end().status.success(), "an interruption is how a server is meant to end");
}

#[test]
fn a_killed_run_is_shown_as_abandoned() {
    let place = Place::new();
    place.write("watched.toml", &experiment(30));
    let mut server = place.start(&["serve", "--listen", "127.0.0.1:0"]);
    let address = address(&mut server);
    let run = place.start(&["run", "watched.toml", "--accept-noisy"]);
    wait_for("a stored trial", LIMIT, || place.run().is_some_and(|run| run.join("trials.ndjson").is_file()));
    let name = place.run().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let is_running = |event: &str, data: &Value| event == "state" && data["state"] == "running";
    assert!(count(&events(&address, &name, is_running), "trial") > 0);
    run.signal(libc::SIGKILL);
    run.end();
    let is_abandoned = |event: &str, data: &Value| event == "state" && data["state"] == "abandoned";
    let seen = events(&address, &name, is_abandoned);
    assert!(is_abandoned(&seen.last().unwrap().0, &seen.last().unwrap().1), "{seen:?}");
    assert!(page(&address, "/").contains("abandoned"));
    server.signal(libc::SIGTERM);
    server.end();
}

#[test]
fn pages_are_for_this_host_alone() {
    let place = Place::new();
    let (_, error) = place.expect(2, &["serve", "--listen", "0.0.0.0:7070"]);
    assert!(error.contains("loopback only") && error.contains("next: --listen 127.0.0.1:7070"), "{error}");
}
