//! Every package as a user has it: installed, measured with, removed.
//!
//! Each is a script of `xtask/release/try`, which is told the folder of packages and, where a package needs a
//! distribution, the root folder of one. It prints seconds and words, and ends with 77 where it cannot be tried here.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use crate::files::names;

const CANNOT: i32 = 77;

pub fn try_all(root: &Path, folder: &Path, roots: &[PathBuf]) -> Result<()> {
    let folder = folder.canonicalize().with_context(|| format!("no folder {}", folder.display()))?;
    let scripts = root.join("xtask/release/try");
    let here = PathBuf::from("/");
    let mut failed = Vec::new();
    println!("| package | distribution | result | seconds |\n|---|---|---|---:|");
    for script in names(&scripts)?.iter().filter(|name| !name.starts_with('_')) {
        let package = script.trim_end_matches(".sh");
        // Packages of a distribution are installed in its root, and never on this machine.
        let places = if ["deb", "rpm"].contains(&package) { roots } else { std::slice::from_ref(&here) };
        if places.is_empty() {
            println!("| {package} | - | not tried: needs the root folder of a distribution, by --root | - |");
        }
        for place in places {
            let (scratch, started) = (tempfile::tempdir()?, Instant::now());
            let mut command = Command::new("sh");
            command.arg("-eu").arg(scripts.join(script)).current_dir(scratch.path()).env("PACKAGES", &folder);
            command.env("ROOT", place).env("LIB", scripts.join("_lib.sh")).env_remove("DBDUEL_CACHE");
            let output = command.output().context("cannot start `sh`")?;
            let seconds = started.elapsed().as_secs_f64();
            let said = String::from_utf8_lossy(&output.stdout);
            let said = said.trim().lines().last().unwrap_or_default().to_owned();
            let result = match output.status.code() {
                Some(0) => said,
                Some(CANNOT) => format!("not tried: {said}"),
                _ => {
                    let error = String::from_utf8_lossy(&output.stderr);
                    failed.push(format!("{package} in {}: {said}\n{}", place.display(), error.trim()));
                    "FAILED".to_owned()
                }
            };
            println!("| {package} | {} | {result} | {seconds:.0} |", distribution(place));
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n\n"));
    Ok(())
}

fn distribution(root: &Path) -> String {
    let text = fs::read_to_string(root.join("etc/os-release")).unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.map_or("unknown".to_owned(), |name| name.trim_matches('"').to_owned())
}
