//! `cargo xtask release --dry-run`: every crate as it would be published, and dbduel installed from these packages
//! alone into an empty prefix, where its first command must work.
//!
//! `--archive` makes what is handed out: one program without a shared library, its completions, manual pages and schema.
//!
//! A crate that includes a file from outside of its folder builds in the workspace and not from its package. Publishing
//! itself is done by hand.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::programs::{printed, run};

#[derive(Args)]
pub struct Release {
    /// Package all crates and install dbduel from them into an empty prefix; publish nothing
    #[arg(long, required_unless_present = "archive")]
    dry_run: bool,
    /// Build a static program and pack it into this folder, with its checksum
    #[arg(long, value_name = "FOLDER", conflicts_with = "dry_run")]
    archive: Option<PathBuf>,
}

/// Its C library is the one of a build from source, inside of the program. That of musl cost SQLite a fifth more CPU in
/// range selects, and its functions are not LuaJIT's to call.
const TARGET: &str = "x86_64-unknown-linux-gnu";
const STATIC: [(&str, &str); 1] = [("RUSTFLAGS", "-C target-feature=+crt-static")];
const COMPLETIONS: [(&str, &str); 3] = [("bash", "dbduel.bash"), ("zsh", "_dbduel"), ("fish", "dbduel.fish")];

/// Members of the workspace that are no part of a release.
const OWN_USE: [&str; 6] = ["xtask", "conformance", "pages", "house-tests", "toy-engine", "toy-workload"];

pub fn release(options: &Release, root: &Path) -> Result<()> {
    match &options.archive {
        Some(folder) => archive(root, folder),
        None => dry_run(root),
    }
}

fn archive(root: &Path, folder: &Path) -> Result<()> {
    // With a target, since what runs during the build cannot be static.
    run(root, "cargo", &["build", "--release", "--package", "dbduel", "--target", TARGET], &STATIC)?;
    let name = format!("dbduel-{}-x86_64-linux", env!("CARGO_PKG_VERSION"));
    let stage = tempfile::tempdir()?;
    let at = stage.path().join(&name);
    fs::create_dir_all(at.join("completions"))?;
    let program = at.join("dbduel").display().to_string();
    let built = root.join("target").join(TARGET).join("release/dbduel").display().to_string();
    // Names of functions stay, for profiles.
    run(root, "strip", &["--strip-debug", "-o", &program, &built], &[])?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        fs::copy(root.join(licence), at.join(licence))?;
    }
    // By the program that is packed: that it runs is shown at the same time.
    for (shell, file) in COMPLETIONS {
        fs::write(at.join("completions").join(file), printed(root, &program, &["completions", shell])?)?;
    }
    fs::write(at.join("experiment.schema.json"), printed(root, &program, &["schema"])?)?;
    printed(root, &program, &["man", "--out", &at.join("man").display().to_string()])?;
    fs::create_dir_all(folder)?;
    let folder = folder.canonicalize()?;
    let file = format!("{name}.tar.gz");
    let packed = folder.join(&file).display().to_string();
    run(stage.path(), "tar", &["--owner=0", "--group=0", "-czf", &packed, &name], &[])?;
    let sums = printed(root, "sha256sum", &[&packed])?.replace(&packed, &file);
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    Ok(())
}

fn dry_run(root: &Path) -> Result<()> {
    let packages = root.join("target/package");
    let build = packages.join("build");
    for stale in [&packages, &build] {
        if stale.exists() {
            fs::remove_dir_all(stale).with_context(|| format!("cannot remove {}", stale.display()))?;
        }
    }
    let excluded = OWN_USE.iter().flat_map(|name| ["--exclude", name]);
    let arguments: Vec<&str> = ["package", "--workspace", "--no-verify"].into_iter().chain(excluded).collect();
    run(root, "cargo", &arguments, &[])?;
    fs::create_dir(&build)?;
    let crates = unpack(&packages, &build)?;
    fs::write(build.join("Cargo.toml"), manifest(&fs::read_to_string(root.join("Cargo.toml"))?, &crates))?;
    fs::copy(root.join("Cargo.lock"), build.join("Cargo.lock"))?;
    let dbduel = crates.iter().find(|name| name.starts_with("dbduel-0.")).context("no package of dbduel")?;
    let (prefix, target) = (tempfile::tempdir()?, root.join("target"));
    let [prefix, target] = [prefix.path(), target.as_path()].map(|path| path.display().to_string());
    let install = ["install", "--debug", "--path", dbduel, "--root", &prefix, "--target-dir", &target];
    run(&build, "cargo", &install, &[])?;
    // Where no file of the source is in sight.
    let empty = tempfile::tempdir()?;
    let program = format!("{prefix}/bin/dbduel");
    run(empty.path(), &program, &["plan", "quickstart"], &[])?;
    run(empty.path(), &program, &["run", "quickstart", "--accept-noisy", "--set", "method.blocks=2"], &[])
}

/// Unpacks every package, and gives the names of their folders.
fn unpack(packages: &Path, build: &Path) -> Result<Vec<String>> {
    let files = fs::read_dir(packages)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let mut names = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "crate")) {
        run(build, "tar", &["-xzf", &file.display().to_string()], &[])?;
        names.extend(file.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

/// A workspace of the packages, which need one another as they would from a registry, with the profiles of this one.
fn manifest(workspace: &str, crates: &[String]) -> String {
    let members: Vec<String> = crates.iter().map(|name| format!("{name:?}")).collect();
    let package = |folder: &String| folder.rsplit_once('-').map_or(folder.clone(), |(name, _)| name.to_owned());
    let patches = crates.iter().map(|folder| format!("{} = {{ path = {folder:?} }}\n", package(folder)));
    let mut is_profile = false;
    let profiles = workspace.lines().filter(|line| {
        if line.starts_with('[') {
            is_profile = line.starts_with("[profile.dev");
        }
        is_profile
    });
    let profiles: Vec<&str> = profiles.collect();
    let (members, patches) = (members.join(", "), patches.collect::<String>());
    format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{members}]\n\n[patch.crates-io]\n{patches}\n{}\n",
        profiles.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_need_one_another_and_keep_the_profiles() {
        let workspace =
            "[workspace]\nmembers = [\"a\"]\n[profile.dev]\ndebug = 1\n[workspace.dependencies]\nb = \"1\"\n";
        let found = manifest(workspace, &["dbduel-stats-0.1.0".to_owned()]);
        assert!(found.contains("members = [\"dbduel-stats-0.1.0\"]"), "{found}");
        assert!(found.contains("dbduel-stats = { path = \"dbduel-stats-0.1.0\" }"), "{found}");
        assert!(found.contains("[profile.dev]\ndebug = 1") && !found.contains("b = \"1\""), "{found}");
    }
}
