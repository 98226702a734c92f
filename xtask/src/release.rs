//! `cargo xtask release`: what is handed out, each from the same commit to the same bytes.
//!
//! `--archive` builds one program without a shared library, and every package around it. `--verify` builds it all a second
//! time elsewhere and compares; `--try` installs each package, measures with it and removes it.
//! `--dry-run`: every crate as it would be published, and dbduel installed from these packages alone into an empty prefix,
//! where its first command must work. A crate that includes a file from outside of its folder builds in the workspace and
//! not from its package. Publishing itself is done by hand.

mod bill;
mod made;
mod pack;
mod program;
mod tree;
mod trials;

/// One kind of package in each: makes it from the tree.
mod archive;
mod deb;
mod npm;
mod oci;
mod recipes;
mod rpm;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::{ArgGroup, Args};

use crate::files::{as_text, names};
use crate::programs::{printed, run};
use made::Made;
use pack::sha256;
use program::Platform;

#[derive(Args)]
#[command(group(ArgGroup::new("what").required(true)))]
pub struct Release {
    /// Package all crates and install dbduel from them into an empty prefix; publish nothing
    #[arg(long, group = "what")]
    dry_run: bool,
    /// Build a static program and all packages of it into this folder, with their checksums
    #[arg(long, value_name = "FOLDER", group = "what")]
    archive: Option<PathBuf>,
    /// Build the packages of this folder again, from a clone of this commit in another place, and compare
    #[arg(long, value_name = "FOLDER", group = "what")]
    verify: Option<PathBuf>,
    /// Install each package of this folder, measure with it, and remove it
    #[arg(long = "try", value_name = "FOLDER", group = "what")]
    try_out: Option<PathBuf>,
    /// Build for this processor: x86_64 or aarch64
    #[arg(long, default_value = "x86_64", value_parser = Platform::named)]
    processor: &'static Platform,
    /// Files will be found below this address: makes the recipes for Homebrew and Nix, too
    #[arg(long, requires = "archive")]
    url: Option<String>,
    /// Try packages in this root folder of a distribution; may be given several times
    #[arg(long, value_name = "FOLDER", requires = "try_out")]
    root: Vec<PathBuf>,
}

/// Members of the workspace that are no part of a release.
const OWN_USE: [&str; 6] = ["xtask", "conformance", "pages", "house-tests", "toy-engine", "toy-workload"];

type Make = fn(&Made) -> Result<()>;
/// The recipes name the archive's checksum and come after it.
const KINDS: [(&str, Make); 7] = [
    ("archive", archive::make),
    ("deb", deb::make),
    ("rpm", rpm::make),
    ("wheel", wheel::make),
    ("npm", npm::make),
    ("oci", oci::make),
    ("recipes", recipes::make),
];

pub fn release(options: &Release, root: &Path) -> Result<()> {
    match options {
        Release { archive: Some(folder), .. } => hand_out(root, folder, options),
        Release { verify: Some(folder), .. } => verify(root, folder, options.processor),
        Release { try_out: Some(folder), root: roots, .. } => trials::try_all(root, folder, roots),
        _ => dry_run(root),
    }
}

fn hand_out(root: &Path, folder: &Path, options: &Release) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (out, stage, platform) = (folder.canonicalize()?, tempfile::tempdir()?, options.processor);
    let (commit, epoch) = program::commit(root)?;
    let built = program::build(root, platform, &commit)?;
    let mut made = Made {
        root,
        platform,
        epoch,
        tree: stage.path().join("tree"),
        scratch: stage.path().into(),
        out,
        url: options.url.as_deref(),
    };
    tree::lay(&made, &built)?;
    bill::make(&made)?;
    for (kind, make) in KINDS {
        made.scratch = stage.path().join(kind);
        fs::create_dir(&made.scratch)?;
        make(&made).with_context(|| format!("cannot make the package `{kind}`"))?;
    }
    let sums = checksums(&made.out)?;
    fs::write(made.out.join("SHA256SUMS"), &sums)?;
    print!("{sums}");
    Ok(())
}

/// In the form of `sha256sum`, for every file of a folder but the sums themselves.
fn checksums(folder: &Path) -> Result<String> {
    let names = names(folder)?.into_iter().filter(|name| name != "SHA256SUMS");
    names.map(|name| Ok(format!("{}  {name}\n", sha256(&fs::read(folder.join(&name))?)))).collect()
}

fn verify(root: &Path, folder: &Path, platform: &Platform) -> Result<()> {
    let sums = fs::read_to_string(folder.join("SHA256SUMS")).with_context(|| format!("{}", folder.display()))?;
    let changed = printed(root, "git", &["status", "--porcelain", "--untracked-files=no"])?;
    ensure!(changed.is_empty(), "what is not committed is in no clone; commit first:\n{changed}");
    let elsewhere = tempfile::tempdir()?;
    let (clone, again) = (elsewhere.path().join("another/place"), elsewhere.path().join("packages"));
    run(root, "git", &["clone", "--quiet", "--shared", &as_text(root)?, &as_text(&clone)?], &[])?;
    let xtask = ["run", "--quiet", "--package", "xtask", "--", "release"];
    let words = ["--processor", platform.name, "--archive", &as_text(&again)?].map(str::to_owned);
    let words: Vec<&str> = xtask.into_iter().chain(words.iter().map(String::as_str)).collect();
    run(&clone, "cargo", &words, &[])?;
    let found = fs::read_to_string(again.join("SHA256SUMS"))?;
    let missing: Vec<&str> = found.lines().filter(|line| !sums.lines().any(|of| of == *line)).collect();
    ensure!(missing.is_empty(), "another build has other bytes:\n  {}", missing.join("\n  "));
    println!("{} files have the same bytes from a second build in another folder", found.lines().count());
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
