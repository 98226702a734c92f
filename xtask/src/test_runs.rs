//! All tests of the workspace, with a second run for a test that failed.
//!
//! Tests of whole runs start some hundred servers on a host that others use too. One that fails runs again, alone, and
//! the task fails where it fails again; one that passes then is named at the end, because it has a defect.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Tests of whole runs wait for intervals to end more than they compute: more of them at once than there are cores.
const TEST_THREADS: (&str, &str) = ("RUST_TEST_THREADS", "4");

/// More failed tests than this are a broken program, not a busy host.
const SECOND_RUNS_MAX: usize = 2;

pub fn run(root: &Path) -> Result<()> {
    let first = cargo_test(root, &[])?;
    if first.passed {
        return Ok(());
    }
    let failed: Vec<&str> = first.failed.iter().map(String::as_str).collect();
    ensure!(first.ended && (1..=SECOND_RUNS_MAX).contains(&failed.len()), "`cargo test` failed");
    let names = failed.join(", ");
    eprintln!("a second run of: {names}");
    let second = cargo_test(root, &[&["--", "--exact"], &failed[..]].concat())?;
    ensure!(second.passed && second.succeeded >= failed.len(), "failed twice: {names}");
    eprintln!(
        "warning: passed in the second run only: {names}\n  next: find out why; the first run's message is above"
    );
    Ok(())
}

#[derive(Default)]
struct Outcome {
    passed: bool,
    /// Every test program came to its last line.
    ended: bool,
    succeeded: usize,
    failed: Vec<String>,
}

fn cargo_test(root: &Path, filter: &[&str]) -> Result<Outcome> {
    let arguments = [&["test", "--workspace", "--no-fail-fast"], filter].concat();
    eprintln!("$ {}={} cargo {}", TEST_THREADS.0, TEST_THREADS.1, arguments.join(" "));
    let mut cargo = Command::new("cargo")
        .args(&arguments)
        .env(TEST_THREADS.0, TEST_THREADS.1)
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start `cargo`")?;
    let mut outcome = Outcome::default();
    let (mut begun, mut ended) = (0, 0);
    for line in BufReader::new(cargo.stdout.take().expect("it is piped")).lines() {
        let line = line.context("cannot read the output of `cargo test`")?;
        writeln!(std::io::stdout(), "{line}")?;
        begun += usize::from(line.starts_with("running "));
        ended += usize::from(line.starts_with("test result: "));
        outcome.succeeded += usize::from(line.starts_with("test ") && line.ends_with(" ... ok"));
        outcome.failed.extend(failed_test(&line).map(str::to_owned));
    }
    Ok(Outcome { passed: cargo.wait()?.success(), ended: begun == ended, ..outcome })
}

/// `test sections::tests::name ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_failed_test_is_read_from_its_line() {
        assert_eq!(failed_test("test golden::text_at_80 ... FAILED"), Some("golden::text_at_80"));
        for other in ["test golden::text_at_80 ... ok", "test result: FAILED. 39 passed; 1 failed", "failures:"] {
            assert_eq!(failed_test(other), None, "{other}");
        }
    }
}
