//! All tests of the workspace, two test programs beside each other, with a second run for a test that failed.
//!
//! Tests of whole runs start some hundred servers on a host that others use too. One that fails runs again, alone, and
//! the task fails where it fails again; one that passes then is named at the end, because it has a defect.

use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::programs::without_own_package;
use crate::tidy;

/// Waits for intervals to end more than it computes: more of its tests at once than there are cores, and the other
/// programs beside it.
const WHOLE_RUNS: &str = "whole_runs";

/// Begun before all others, the longest first, so that none of them is left for the end.
const LONG: [&str; 6] = [WHOLE_RUNS, "first_sessions", "browser", "every_workload", "keeper", "measured_loop"];

/// Run behind all others: the first needs the disk for itself, and the rest computes only, so that it does not disturb it.
const LAST: [&str; 4] = ["gate", "stats", "analysis", "parsers"];

/// Under way at a time. More would make tests wait for one another on a host of two cores.
const AT_A_TIME: usize = 2;

/// More failed tests than this are a broken program, not a busy host.
const SECOND_RUNS_MAX: usize = 2;

pub fn run(root: &Path) -> Result<()> {
    let (mut last, mut first): (Vec<_>, Vec<_>) =
        build(root)?.into_iter().partition(|program| LAST.contains(&program.name.as_str()));
    first.sort_by_key(|program| place(&LONG, program));
    last.sort_by_key(|program| place(&LAST, program));
    for name in LONG.iter().chain(&LAST) {
        let is_there = first.iter().chain(&last).any(|program| program.name == *name);
        ensure!(is_there, "no test program has the name `{name}`");
    }
    let mut ended = run_all(&first, AT_A_TIME)?;
    ended.extend(run_all(&last, AT_A_TIME)?);
    second_run(&ended)
}

/// The quick tests of dbduel, which most changes of what users read show in.
const TRANSCRIPTS: [&str; 6] = ["--bin", "dbduel", "--test", "cli", "--test", "one_line"];

/// Lints and tests some crates, and what they can change of pages and transcripts.
pub fn run_of(root: &Path, crates: &[String]) -> Result<()> {
    let arrows = tidy::arrows_found(root)?;
    if let Some(unknown) = crates.iter().find(|name| !arrows.contains_key(*name)) {
        let known: Vec<&str> = arrows.keys().map(String::as_str).collect();
        bail!("no crate `{unknown}`; there are: {}", known.join(", "));
    }
    let is_under = |user: &str| crates.iter().any(|name| name == user || uses(&arrows, user, name));
    let package = |name: &str| if name == "dbduel" { name.to_owned() } else { format!("dbduel-{name}") };
    let mut own: Vec<&str> = crates.iter().map(String::as_str).filter(|name| *name != "dbduel").collect();
    if is_under("report") && !own.contains(&"report") {
        own.push("report");
    }
    let packages: Vec<String> = own.into_iter().flat_map(|name| ["--package".to_owned(), package(name)]).collect();
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let mut programs = if packages.is_empty() { Vec::new() } else { built(root, &packages)? };
    if is_under("dbduel") {
        programs.extend(built(root, &[&["--package", "dbduel"], &TRANSCRIPTS[..]].concat())?);
    }
    programs.sort_by_key(|program| place(&["cli", "one_line"], program));
    second_run(&run_all(&programs, AT_A_TIME)?)
}

/// Whether a crate uses another one, itself or through others.
fn uses(arrows: &tidy::Arrows, user: &str, used: &str) -> bool {
    arrows.get(user).into_iter().flatten().any(|one| one == used || uses(arrows, one, used))
}

/// Where a program stands in a list; behind it those that it does not name.
fn place(list: &[&str], program: &Program) -> usize {
    list.iter().position(|name| *name == program.name).unwrap_or(list.len())
}

/// A test program with the folder that its tests expect to stand in.
struct Program {
    name: String,
    command: Vec<String>,
    folder: PathBuf,
}

#[derive(Default)]
struct Outcome {
    passed: bool,
    /// Every test program came to its last line.
    ended: bool,
    succeeded: usize,
    failed: Vec<String>,
}

/// Clippy in the place of the compiler, as `cargo clippy` does it, but for a build that yields programs: the workspace is
/// compiled once and not twice.
const LINTED: [(&str, &str); 2] =
    [("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"), ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings")];

/// Lints the workspace and builds all test programs, with the same features as `cargo test --workspace`.
fn build(root: &Path) -> Result<Vec<Program>> {
    built(root, &["--workspace"])
}

/// Of these packages and targets.
fn built(root: &Path, what: &[&str]) -> Result<Vec<Program>> {
    let arguments = [&["test", "--no-run", "--message-format=json-render-diagnostics"], what].concat();
    eprintln!("$ RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo {}", arguments.join(" "));
    let mut cargo = without_own_package(&mut Command::new("cargo"))
        .args(&arguments)
        .envs(LINTED)
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `cargo`")?;
    let mut programs = Vec::new();
    for line in BufReader::new(cargo.stdout.take().expect("it is piped")).lines() {
        let message = serde_json::from_str(&line.context("cannot read the output of `cargo test`")?)?;
        programs.extend(Program::built(&message));
    }
    ensure!(cargo.wait()?.success(), "`cargo {}` failed", arguments.join(" "));
    Ok(programs)
}

impl Program {
    /// The test program that one of cargo's messages reports.
    fn built(message: &Value) -> Option<Program> {
        let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
        let program = message["executable"].as_str().filter(|_| is_test)?;
        Some(Program {
            name: message["target"]["name"].as_str()?.to_owned(),
            command: vec![program.to_owned()],
            folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
        })
    }

    /// Prints the output when it is whole, because other programs print too.
    fn run(&self, filter: &[&str]) -> Result<Outcome> {
        let (begun, mut output) = (Instant::now(), tempfile::tempfile()?);
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).args(filter).current_dir(&self.folder).stdin(Stdio::null());
        if self.name == WHOLE_RUNS {
            command.env("RUST_TEST_THREADS", "6");
        }
        let started = command.stdout(output.try_clone()?).stderr(output.try_clone()?).spawn();
        let status = started.and_then(|mut child| child.wait()).with_context(|| self.command[0].clone())?;
        let mut bytes = Vec::new();
        output.rewind()?;
        output.read_to_end(&mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let seconds = begun.elapsed().as_secs_f64();
        println!("     Ran {} in {seconds:.1} s\n{text}", self.name);
        Ok(Outcome { passed: status.success(), ..outcome(&text) })
    }
}

/// In the order in which they ended.
fn run_all(programs: &[Program], at_a_time: usize) -> Result<Vec<(&Program, Outcome)>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let waiting = std::iter::from_fn(|| programs.get(next.fetch_add(1, Ordering::Relaxed)));
        waiting.map(|program| Ok((program, program.run(&[])?))).collect::<Result<Vec<_>>>()
    };
    let ended: Result<Vec<_>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("no worker panics")).collect()
    });
    Ok(ended?.into_iter().flatten().collect())
}

fn second_run(ended: &[(&Program, Outcome)]) -> Result<()> {
    let broken: Vec<_> = ended.iter().filter(|(_, outcome)| !outcome.passed).collect();
    if broken.is_empty() {
        return Ok(());
    }
    let failed: Vec<&str> = broken.iter().flat_map(|(_, outcome)| &outcome.failed).map(String::as_str).collect();
    let by_tests = broken.iter().all(|(_, outcome)| outcome.ended && !outcome.failed.is_empty());
    let programs = broken.iter().map(|(program, _)| program.name.as_str()).collect::<Vec<_>>().join(", ");
    ensure!(by_tests && failed.len() <= SECOND_RUNS_MAX, "tests failed: {programs}");
    let names = failed.join(", ");
    eprintln!("a second run of: {names}");
    let mut twice = Vec::new();
    for (program, first) in broken {
        let failed = first.failed.iter().map(String::as_str);
        let second = program.run(&["--exact"].into_iter().chain(failed).collect::<Vec<_>>())?;
        if !second.passed || second.succeeded < first.failed.len() {
            twice.push(first.failed.join(", "));
        }
    }
    ensure!(twice.is_empty(), "failed twice: {}", twice.join(", "));
    eprintln!(
        "warning: passed in the second run only: {names}\n  next: find out why; the first run's message is above"
    );
    Ok(())
}

/// What the lines of a test program report.
fn outcome(text: &str) -> Outcome {
    let count = |is: fn(&str) -> bool| text.lines().filter(|line| is(line)).count();
    let begun = count(|line| line.starts_with("running ") && line.contains(" test"));
    Outcome {
        passed: false,
        ended: begun > 0 && begun == count(|line| line.starts_with("test result: ")),
        succeeded: count(|line| line.starts_with("test ") && line.ends_with(" ... ok")),
        failed: text.lines().filter_map(failed_test).map(str::to_owned).collect(),
    }
}

/// `test sections::tests::name ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_crate_is_used_itself_or_through_others() {
        let arrows = [("a", vec![]), ("b", vec!["a".to_owned()]), ("c", vec!["b".to_owned()])];
        let arrows: tidy::Arrows = arrows.map(|(name, used)| (name.to_owned(), used)).into();
        assert!(uses(&arrows, "c", "a") && uses(&arrows, "b", "a") && !uses(&arrows, "a", "c"));
    }

    #[test]
    fn an_unknown_crate_is_answered_with_those_that_there_are() {
        let error = run_of(&crate::workspace_root(), &["drivr".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("no crate `drivr`; there are: advisor, analysis, "), "{error}");
    }

    #[test]
    fn the_name_of_a_failed_test_is_read_from_its_line() {
        assert_eq!(failed_test("test golden::text_at_80 ... FAILED"), Some("golden::text_at_80"));
        for other in ["test golden::text_at_80 ... ok", "test result: FAILED. 39 passed; 1 failed", "failures:"] {
            assert_eq!(failed_test(other), None, "{other}");
        }
    }

    #[test]
    fn only_test_programs_are_run_and_in_the_folder_of_their_crate() {
        let artifact = |test: bool, executable: Value| {
            json!({ "reason": "compiler-artifact", "manifest_path": "/here/crates/record/Cargo.toml",
                "target": { "name": "record" }, "profile": { "test": test }, "executable": executable })
        };
        let built = Program::built(&artifact(true, "/here/record-1".into())).unwrap();
        assert_eq!((built.name.as_str(), built.command), ("record", vec!["/here/record-1".to_owned()]));
        assert_eq!(built.folder, Path::new("/here/crates/record"));
        for other in [artifact(false, "/here/dbduel".into()), artifact(true, Value::Null), json!({ "reason": "other" })]
        {
            assert!(Program::built(&other).is_none(), "{other}");
        }
    }

    /// Fails in its first run, and in the second where it is asked to.
    fn flaky(folder: &Path, name: &str, in_second: &str) -> Program {
        let script = format!(
            "case \"$*\" in '') echo 'running 1 test'; echo 'test a::b ... FAILED'; echo 'test result: FAILED.'; exit 1;;
             '--exact a::b') echo 'running 1 test'; {in_second};; *) exit 9;; esac"
        );
        let command = ["sh", "-c", &script, "sh"].map(str::to_owned).to_vec();
        Program { name: name.to_owned(), command, folder: folder.to_owned() }
    }

    #[test]
    fn a_failed_test_runs_again_by_its_name_and_may_not_fail_twice() {
        let folder = tempfile::tempdir().unwrap();
        let passes = "echo 'test a::b ... ok'; echo 'test result: ok.'";
        let check = |programs: &[Program], expected: Option<&str>| {
            let ended = run_all(programs, 2).unwrap();
            assert_eq!(ended.len(), programs.len());
            let error = second_run(&ended).err().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected);
        };
        let one = |name, in_second| flaky(folder.path(), name, in_second);
        check(&[one("x", passes), one("y", passes)], None);
        check(&[one("x", passes), one("y", "exit 1")], Some("failed twice: a::b"));
        check(&[one("x", "exit 1"), one("y", "exit 1")], Some("failed twice: a::b, a::b"));
        check(&[one("x", "echo 'test result: ok. 0 passed'")], Some("failed twice: a::b"));
        check(&[one("x", passes), one("x", passes), one("x", passes)], Some("tests failed: x, x, x"));
        let dies = ["sh", "-c", "echo 'running 2 tests'; exit 101", "sh"].map(str::to_owned).to_vec();
        let dies = Program { name: "dies".to_owned(), command: dies, folder: folder.path().to_owned() };
        check(&[dies], Some("tests failed: dies"));
    }
}
