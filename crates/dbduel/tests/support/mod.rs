//! A private corner of the host for tests that run the real dbduel: runs, cache and temporary folder
//! of its own, so that tests neither wait for one another nor meet what others left.
//!
//! Nothing in here decides whether dbduel is right; that is what the tests do.

#![expect(unsafe_code, reason = "what happens between fork and exec")]
#![allow(dead_code, reason = "each file of tests uses its part of it")]

pub mod suggestions;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use record::metric::{describe, describe_flag};
use serde_json::Value;

/// Ends a test that fails; no test that passes comes near it.
pub const LIMIT: Duration = Duration::from_secs(180);

/// Polls until the condition holds.
pub fn wait_for(what: &str, limit: Duration, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("dbduel speaks UTF-8")
}

/// Runs dbduel in the folder of its crate, so that messages hold relative paths.
pub fn dbduel(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_dbduel"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .expect("dbduel can be started");
    suggestions::assert_accepted(&output);
    suggestions::assert_no_error_stands_alone(&output);
    output
}

/// Compares with the stored transcript, or rewrites it; gives what differs.
pub fn compare(transcript: &Path, output_text: &str) -> Option<String> {
    if std::env::var_os("DBDUEL_BLESS").is_some() {
        fs::write(transcript, output_text).unwrap();
        return None;
    }
    let expected = fs::read_to_string(transcript).unwrap_or_default();
    (expected != output_text)
        .then(|| format!("{}\n--- expected\n{expected}--- output\n{output_text}", transcript.display()))
}

/// Prints the reason a test is skipped; not by `eprintln!`, which the test harness swallows.
pub fn print_skipped(why: &str) {
    std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes()).unwrap();
}

/// Tests that run at once take less.
const MEMORY_MIN: u64 = 8 << 30;

pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    /// In memory where there is enough: tests make and delete hundreds of data directories, and what they test is not
    /// the disk.
    pub fn new() -> Place {
        let memory = Path::new("/dev/shm");
        let free = nix::sys::statvfs::statvfs(memory).map_or(0, |it| it.blocks_available() * it.fragment_size());
        if free < MEMORY_MIN { Place::on_disk() } else { Place::of(tempfile::tempdir_in(memory).unwrap()) }
    }

    /// For tests of what a commit survives.
    pub fn on_disk() -> Place {
        Place::of(tempfile::tempdir().unwrap())
    }

    fn of(folder: tempfile::TempDir) -> Place {
        // A server under another account must be able to enter.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        fs::create_dir(folder.path().join("tmp")).unwrap();
        Place { folder }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// dbduel in this place; every folder it writes to lies here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dbduel"));
        command.args(arguments).current_dir(self.path()).stdin(Stdio::null());
        command.env("DBDUEL_CACHE", self.path().join("cache")).env_remove("DBDUEL_WORK").env_remove("DBDUEL_STORE");
        command.env("TMPDIR", self.path().join("tmp")).env_remove("NO_COLOR");
        // A shell starts what is in its background with interrupts ignored.
        // SAFETY: the closure only makes a system call, which is allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            })
        };
        command
    }

    pub fn dbduel(&self, arguments: &[&str]) -> Output {
        let output = self.command(arguments).output().unwrap();
        suggestions::assert_accepted(&output);
        // Errors of a client of pgbench are in pgbench's own words.
        if arguments.first() != Some(&"pgbench") {
            suggestions::assert_no_error_stands_alone(&output);
        }
        output
    }

    /// Runs to the end, which must have this status, and returns stdout and stderr.
    pub fn expect(&self, status: i32, arguments: &[&str]) -> (String, String) {
        let output = self.dbduel(arguments);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(status), "{arguments:?}\n{out}{err}");
        (out, err)
    }

    pub fn start(&self, arguments: &[&str]) -> RunningServer {
        let mut command = self.command(arguments);
        RunningServer { child: command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap() }
    }

    /// The system's server of a kind, as an engine of the experiment file; prints a line when there is none.
    pub fn installed(&self, kind: &str) -> Option<String> {
        let engines: Vec<Value> = serde_json::from_str(&self.expect(0, &["list", "engines", "--json"]).0).unwrap();
        let is_installed = |row: &&Value| {
            row["engine"].as_str().unwrap().starts_with(kind)
                && row["source"].as_str().unwrap().starts_with("installed")
        };
        if !engines.iter().any(|row| is_installed(&row)) {
            print_skipped(&format!("no {kind} is installed on this machine"));
            return None;
        }
        Some(format!("engine = \"{kind}@system\""))
    }

    pub fn write(&self, name: &str, experiment: &str) {
        fs::write(self.path().join(name), experiment).unwrap();
    }

    /// The only run of this place; none as long as dbduel has not made it.
    pub fn run(&self) -> Option<PathBuf> {
        let runs = fs::read_dir(self.path().join("runs")).into_iter().flatten();
        let mut runs: Vec<PathBuf> = runs.map(|entry| entry.unwrap().path()).collect();
        assert!(runs.len() < 2, "{runs:?}");
        runs.pop()
    }

    /// The whole report of a run as one line, wherever the text is broken.
    pub fn whole_report(&self, run: &str) -> String {
        let (report, _) = self.expect(0, &["report", run, "--full"]);
        report.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The whole lines of `trials.ndjson`.
    pub fn records(&self) -> Vec<String> {
        let Some(run) = self.run() else { return Vec::new() };
        let stored = fs::read_to_string(run.join("trials.ndjson")).unwrap_or_default();
        stored.split_inclusive('\n').filter(|line| line.ends_with('\n')).map(str::to_owned).collect()
    }

    /// The stored trials, whose metrics and flags are all in the lists that describe them.
    pub fn trials(&self) -> Vec<Value> {
        let trials: Vec<Value> = self.records().iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        for trial in &trials {
            let metrics = trial["metrics"].as_object().into_iter().flat_map(|metrics| metrics.keys());
            metrics.for_each(|name| assert!(describe(name).is_some(), "metric `{name}` is not in METRICS"));
            let flags = trial["flags"].as_array().into_iter().flatten().filter_map(Value::as_str);
            flags.for_each(|name| assert!(describe_flag(name).is_some(), "flag `{name}` is not in FLAGS"));
        }
        trials
    }

    pub fn json(&self, name: &str) -> Value {
        let path = self.run().expect("a run was made").join(name);
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }

    /// Every planned trial has one record, in the order of the plan.
    pub fn assert_every_trial_ran_once(&self) {
        let number = |trial: &Value| trial["trial"].as_u64().unwrap();
        let planned: Vec<u64> = self.json("plan.json")["trials"].as_array().unwrap().iter().map(number).collect();
        let stored: Vec<Value> = self.trials();
        let of_the_plan = stored.iter().filter(|trial| !is_probe(trial));
        assert_eq!(of_the_plan.map(number).collect::<Vec<_>>(), planned);
    }

    /// Stored trials beside the plan.
    pub fn probes(&self) -> Vec<Value> {
        self.trials().into_iter().filter(is_probe).collect()
    }

    /// No work folder, no half-made thing, and no process that works in here.
    pub fn assert_nothing_is_left(&self) {
        for folder in ["cache/work", "cache/tmp"] {
            let entries = fs::read_dir(self.path().join(folder)).into_iter().flatten().flatten();
            let left: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
            assert!(left.is_empty(), "{left:?}");
        }
        assert_eq!(self.servers(), Vec::<String>::new());
    }

    /// The command lines of living processes, other than dbduel itself, that name or stand in this place's cache.
    pub fn servers(&self) -> Vec<String> {
        self.processes().into_iter().map(|(_, arguments)| arguments).collect()
    }

    /// The same, with their folders in `/proc`.
    pub fn processes(&self) -> Vec<(PathBuf, String)> {
        let cache = self.path().join("cache");
        let word = cache.to_str().unwrap();
        let mut found = Vec::new();
        for process in fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path()) {
            let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
            let arguments = String::from_utf8_lossy(&arguments).replace('\0', " ");
            let stands = fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.starts_with(&cache));
            if stands || arguments.contains(word) {
                found.push((process, arguments));
            }
        }
        found
    }
}

/// A dbduel that goes on while the test reads its output.
pub struct RunningServer {
    child: Child,
}

impl RunningServer {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: i32) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::try_from(signal).unwrap()).unwrap();
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Reads stderr until a line contains the text.
    pub fn wait_for_output(&mut self, word: &str) {
        let stderr = self.child.stderr.as_mut().unwrap();
        let (mut bytes, mut byte) = (Vec::new(), [0]);
        while !String::from_utf8_lossy(&bytes).contains(word) {
            assert_eq!(stderr.read(&mut byte).unwrap(), 1, "it ended: {}", String::from_utf8_lossy(&bytes));
            bytes.push(byte[0]);
        }
    }

    /// The first line of stdout, as soon as it is there; what follows is not kept.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn end(self) -> Output {
        let output = self.child.wait_with_output().unwrap();
        suggestions::assert_accepted(&output);
        suggestions::assert_no_error_stands_alone(&output);
        output
    }
}

/// Compared and repeated trials have no purpose of their own, or the planned one.
fn is_probe(trial: &Value) -> bool {
    let purpose = &trial["purpose"];
    let of_the_plan = purpose["repeat"].is_object() || purpose["crash"].is_object();
    !(purpose.is_null() || purpose == "alone" || of_the_plan)
}
