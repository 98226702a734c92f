//! Nothing outlives dbduel, however it ends: seen from outside, with real processes and servers.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

const DBDUEL: &str = env!("CARGO_BIN_EXE_dbduel");
/// What is promised after `kill -9`.
const ALL_GONE_WITHIN: Duration = Duration::from_secs(2);

/// Polls until the condition holds; the limit only ends a test that fails.
fn wait_for(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A keeper whose owner is this test.
struct Keeper {
    child: Child,
    socket: BufReader<UnixStream>,
    _log: tempfile::TempDir,
}

impl Keeper {
    fn start(script: &str) -> Keeper {
        let log = tempfile::tempdir().unwrap();
        let (ours, theirs) = UnixStream::pair().unwrap();
        let child = Command::new(DBDUEL)
            .args(["__keeper", "--log"])
            .arg(log.path().join("log"))
            .args(["--", "sh", "-c", script])
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .unwrap();
        Keeper { child, socket: BufReader::new(ours), _log: log }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.socket.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// What the kernel does when dbduel dies.
    fn lose_owner(self) -> Child {
        self.child
    }
}

/// The living processes that have this text among their arguments.
fn with_argument(word: &str) -> usize {
    let pids = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let arguments = pids.filter_map(|path| fs::read(path.join("cmdline")).ok());
    arguments.filter(|arguments| arguments.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes())).count()
}

#[test]
fn daemons_that_left_their_session_go_with_the_owner() {
    let nap = format!("600.{}", std::process::id());
    let script = format!("setsid sleep {nap} & (setsid sh -c 'sleep {nap} & sleep {nap}; true' &) ; sleep {nap}; true");
    let mut keeper = Keeper::start(&script);
    assert!(keeper.line().starts_with("pid "));
    wait_for("four sleepers", Duration::from_secs(20), || with_argument(&nap) == 4);
    let mut child = keeper.lose_owner();
    wait_for("no sleeper", ALL_GONE_WITHIN, || with_argument(&nap) == 0);
    assert!(child.wait().unwrap().success());
}

#[test]
fn the_end_of_the_program_is_reported() {
    let mut keeper = Keeper::start("exit 7");
    assert!(keeper.line().starts_with("pid "));
    assert_eq!(keeper.line(), "status 7");
    keeper.lose_owner().wait().unwrap();
}

#[test]
fn a_signal_reaches_the_program_and_its_end_is_reported() {
    let mut keeper = Keeper::start("exec sleep 600");
    assert!(keeper.line().starts_with("pid "));
    writeln!(keeper.socket.get_mut(), "signal {}", libc::SIGTERM).unwrap();
    assert_eq!(keeper.line(), format!("signal {}", libc::SIGTERM));
    keeper.lose_owner().wait().unwrap();
}

#[test]
fn a_program_that_is_not_there_is_an_answer_and_no_hang() {
    let log = tempfile::tempdir().unwrap();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut child = Command::new(DBDUEL)
        .args(["__keeper", "--log"])
        .arg(log.path().join("log"))
        .args(["--", "/nonexistent/mysqld"])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(ours).read_line(&mut line).unwrap();
    assert!(line.starts_with("failed cannot execute /nonexistent/mysqld"), "{line}");
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn what_a_terminal_sends_does_not_move_the_keeper() {
    let mut keeper = Keeper::start("exec sleep 600");
    let pid: i32 = keeper.line().strip_prefix("pid ").unwrap().parse().unwrap();
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        kill(Pid::from_raw(keeper.child.id() as i32), signal).unwrap();
    }
    // It still passes signals on, so it is there; and it had armed itself before it printed "pid".
    writeln!(keeper.socket.get_mut(), "signal {}", libc::SIGKILL).unwrap();
    assert_eq!(keeper.line(), format!("signal {}", libc::SIGKILL));
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    keeper.lose_owner().wait().unwrap();
}

/// Pid and start time, which together are never reused.
type Process = (u32, String);

fn process(pid: u32) -> Option<(Process, u32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
    if matches!(fields[0], "Z" | "X") {
        return None;
    }
    Some(((pid, fields[19].to_owned()), fields[1].parse().ok()?))
}

fn below(ancestor: u32) -> BTreeSet<Process> {
    let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(Process, u32)> = pids.filter_map(process).collect();
    let (mut found, mut parents) = (BTreeSet::new(), vec![ancestor]);
    while let Some(parent) = parents.pop() {
        for (process, _) in all.iter().filter(|(_, of)| *of == parent) {
            found.insert(process.clone());
            parents.push(process.0);
        }
    }
    found
}

/// The shared memory that a process maps: files, and System V segments by their number.
fn shared_memory(pid: u32) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let memory = maps.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().skip(4).collect();
        let name = *fields.get(1)?;
        if name.starts_with("/SYSV") { Some(fields[0].to_owned()) } else { Some(name.to_owned()) }
    });
    memory.filter(|name| name.starts_with("/dev/shm/") || name.parse::<u64>().is_ok()).collect()
}

fn is_there(memory: &str) -> bool {
    if memory.starts_with('/') {
        return Path::new(memory).exists();
    }
    let segments = fs::read_to_string("/proc/sysvipc/shm").unwrap();
    segments.lines().any(|line| line.split_ascii_whitespace().nth(1) == Some(memory))
}

/// Starts a real server as a trial would, kills dbduel or the server's keeper, and searches for what is left.
fn kill_above_a_server(name: &str, processes_least: usize, kill_the_keeper: bool) {
    let cache = tempfile::tempdir().unwrap();
    // A server under another account must be able to enter.
    fs::set_permissions(cache.path(), fs::Permissions::from_mode(0o711)).unwrap();
    let dbduel = |words: &[&str]| {
        let mut command = Command::new(DBDUEL);
        command.arg("__engines").args(words).env("DBDUEL_CACHE", cache.path()).env_remove("DBDUEL_WORK");
        command
    };
    let mut held = dbduel(&["hold", name]);
    let mut held = held.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(held.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let reached: Option<serde_json::Value> = serde_json::from_str(&line).ok();
    let Some(server) = reached.and_then(|reached| reached["pid"].as_u64()) else {
        let stderr = std::io::read_to_string(held.stderr.take().unwrap()).unwrap();
        held.wait().unwrap();
        assert!(stderr.contains(&format!("no {name} is installed here")), "{stderr}");
        eprintln!("skipped: no {name} is installed on this machine");
        return;
    };
    let running = below(held.id());
    assert!(running.iter().any(|(pid, _)| u64::from(*pid) == server));
    assert!(running.len() >= processes_least, "{running:?}");
    let memory: BTreeSet<String> = running.iter().flat_map(|(pid, _)| shared_memory(*pid)).collect();
    if name == "postgres" {
        assert!(memory.iter().any(|one| !one.starts_with('/')), "a PostgreSQL has a System V segment: {memory:?}");
    }
    if kill_the_keeper {
        let (_, keeper) = process(server as u32).unwrap();
        kill(Pid::from_raw(keeper as i32), Signal::SIGKILL).unwrap();
    } else {
        held.kill().unwrap();
        held.wait().unwrap();
    }
    let running: Vec<Process> = running.into_iter().filter(|(pid, _)| *pid != held.id()).collect();
    let left = || running.iter().any(|known| process(known.0).is_some_and(|(now, _)| now == *known));
    wait_for("no process of the server", ALL_GONE_WITHIN, || !left());
    wait_for("no shared memory", ALL_GONE_WITHIN, || !memory.iter().any(|memory| is_there(memory)));
    if kill_the_keeper {
        held.kill().unwrap();
        held.wait().unwrap();
    }
    // What it left in the work folder goes at the next start.
    let work =
        || fs::read_dir(cache.path().join("work")).unwrap().flatten().filter(|entry| entry.path().is_dir()).count();
    assert_eq!(work(), 1);
    assert!(dbduel(&["check", "sqlite"]).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success());
    assert_eq!(work(), 0);
}

#[test]
fn no_process_of_postgres_survives_a_killed_dbduel() {
    // The keeper, the postmaster, and its five background processes.
    kill_above_a_server("postgres", 6, false);
}

#[test]
fn no_process_of_mariadb_survives_a_killed_dbduel() {
    kill_above_a_server("mariadb", 2, false);
}

#[test]
fn neither_processes_nor_shared_memory_of_postgres_survive_a_killed_keeper() {
    kill_above_a_server("postgres", 6, true);
}

#[test]
fn no_process_of_mariadb_survives_a_killed_keeper() {
    kill_above_a_server("mariadb", 2, true);
}
