//! dbduel's own commands by a login that needs more than a password: a load, and a run with what it stores.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::row::PASSWORD;
use super::shared::Ways;

/// What every one of these commands is about.
const WORK: &[&str] = &["oltp_read_only", "--tables", "1", "--rows", "100"];

/// `prepare`, `bench` and `cleanup` by the account that must show a certificate.
pub fn load_by_certificate(dbduel: &Path, ways: &Ways) -> Result<()> {
    let target = ways.tcp("shown", &ways.shown());
    for (verb, more) in [("prepare", &[][..]), ("bench", &["--duration", "1", "--no-wait"]), ("cleanup", &[])] {
        let words = [&[verb], WORK, &["--target", &target], more].concat();
        run(Command::new(dbduel).args(words).env("DBDUEL_PASSWORD", PASSWORD))?;
    }
    println!("prepare, bench, cleanup by a client's certificate: in");
    Ok(())
}

/// A run whose targets are filled in from elsewhere keeps from where, and no password.
pub fn stored_sources(dbduel: &Path, target: &str, variables: &[(&str, String)], expected: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let contenders = [format!("one={target}"), format!("two={target}")];
    let words = ["--workload", "oltp_read_only", "--rows", "100", "--clients", "1", "--duration", "1s"];
    let mut command = Command::new(dbduel);
    command.arg("run").args(contenders).args(words).args(["--set", "method.blocks=1"]);
    command.current_dir(folder.path()).envs(variables.iter().map(|(name, value)| (name, value)));
    run(&mut command)?;
    let runs = folder.path().join("runs");
    let run = std::fs::read_dir(&runs)?.next().context("no run was stored")??.path();
    expect_no_password(&run)?;
    let record: Value = serde_json::from_slice(&std::fs::read(run.join("run.json"))?)?;
    for name in ["one", "two"] {
        let sources = record["contenders"][name]["target_sources"].as_str().unwrap_or_default();
        ensure!(sources.contains(expected), "run.json of `{name}` has `{sources}`; expected `{expected}`");
    }
    println!("run: stored is {expected}");
    Ok(())
}

fn expect_no_password(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            expect_no_password(&path)?;
            continue;
        }
        let shows = std::fs::read(&path)?.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
        ensure!(!shows, "{} holds the password", path.display());
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output().context("cannot start dbduel")?;
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    ensure!(output.status.success(), "{command:?} failed ({})\n{printed}", output.status);
    ensure!(!printed.contains(PASSWORD), "{command:?} prints the password\n{printed}");
    Ok(())
}
