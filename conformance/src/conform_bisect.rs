//! `cargo xtask conform-bisect`: does `dbduel history bisect` name the build that became slow, among sixteen?
//!
//! The builds are folders that lead to one installed PostgreSQL. From a planted place on, their `postgres` starts with a
//! library that spins before each read from a client. Neither the name of a folder nor its order on disk says which.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::held::dbduel;

#[derive(clap::Args)]
pub struct ConformBisect {
    /// Searches, each with the change at another place
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=15))]
    tries: u32,
    /// How long the slow builds spin before each read, in microseconds
    #[arg(long, default_value_t = 12)]
    spin_us: u32,
    /// Seed of the places
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder of an installed PostgreSQL, with `bin` in it; by default the newest in /usr/lib/postgresql
    #[arg(long, value_name = "DIR")]
    basedir: Option<PathBuf>,
}

const BUILDS: usize = 16;
/// The ends, and four halves of the fifteen places between.
const DUELS_MAX: usize = 5;

const SPIN: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <time.h>
ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    static ssize_t (*real)(int, void *, size_t, int);
    if (!real) real = dlsym(RTLD_NEXT, "recv");
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begun.tv_sec) * 1000000000L + now.tv_nsec - begun.tv_nsec < SPIN_US * 1000L);
    return real(socket, buffer, length, flags);
}
"#;

pub fn run(options: &ConformBisect, root: &Path) -> Result<()> {
    let dbduel = dbduel(root)?;
    let basedir = options.basedir.clone().map_or_else(installed, Ok)?;
    let folder = tempfile::tempdir()?;
    // Servers under another account must be able to enter.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))?;
    let library = spinning(folder.path(), options.spin_us)?;
    println!("{BUILDS} builds of {}; slow ones spin {} us before each read", basedir.display(), options.spin_us);
    println!("try  planted   found     duels");
    let mut random = ChaCha8Rng::seed_from_u64(options.seed);
    let mut planted = BTreeSet::new();
    let mut wrong = Vec::new();
    for number in 1..=options.tries {
        let change = loop {
            let place = random.random_range(1..BUILDS);
            if planted.insert(place) {
                break place;
            }
        };
        let place = folder.path().join(format!("try-{number}"));
        let file = planted_builds(&place, &basedir, &library, change)?;
        let (found, duels) = searched(&dbduel, folder.path(), &place, &file)?;
        let right = name(change);
        println!("{number:>3}  {right}  {:8}  {duels}", found.as_deref().unwrap_or("nothing"));
        if found.as_ref() != Some(&right) || duels > DUELS_MAX {
            wrong.push(format!("try {number}: {right} was planted, {found:?} found in {duels} duels"));
        }
        fs::remove_dir_all(&place)?;
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{} of {} right, in at most {DUELS_MAX} duels", options.tries, options.tries);
    Ok(())
}

fn installed() -> Result<PathBuf> {
    let folders = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let newest =
        folders.map(|entry| entry.path()).filter(|path| path.join("bin/postgres").is_file()).max_by_key(version);
    newest.context("no PostgreSQL is installed: install the package postgresql, or name a folder with --basedir")
}

/// The library that is slow.
fn spinning(folder: &Path, spin_us: u32) -> Result<PathBuf> {
    let (source, library) = (folder.join("spin.c"), folder.join("spin.so"));
    fs::write(&source, SPIN)?;
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-shared", "-fPIC", &format!("-DSPIN_US={spin_us}"), "-o"]).arg(&library).arg(&source).arg("-ldl");
    ensure!(cc.status().context("cannot start cc")?.success(), "cc cannot compile the spinning library");
    Ok(library)
}

fn name(place: usize) -> String {
    format!("build-{:02}", place + 1)
}

/// Folders of all builds and the file that names them; the place counts from 0.
fn planted_builds(folder: &Path, basedir: &Path, library: &Path, change: usize) -> Result<PathBuf> {
    let mut text = "name = \"planted\"\n".to_owned();
    for place in 0..BUILDS {
        let build = folder.join(name(place));
        fs::create_dir_all(build.join("bin"))?;
        for entry in fs::read_dir(basedir)? {
            let entry = entry?;
            if entry.file_name() != "bin" {
                symlink(entry.path(), build.join(entry.file_name()))?;
            }
        }
        for entry in fs::read_dir(basedir.join("bin"))? {
            let entry = entry?;
            if entry.file_name() != "postgres" {
                symlink(entry.path(), build.join("bin").join(entry.file_name()))?;
            }
        }
        let preload = if place >= change { format!("LD_PRELOAD='{}' ", library.display()) } else { String::new() };
        let postgres = build.join("bin/postgres");
        fs::write(
            &postgres,
            format!("#!/bin/sh\n{preload}exec '{}' \"$@\"\n", basedir.join("bin/postgres").display()),
        )?;
        fs::set_permissions(&postgres, fs::Permissions::from_mode(0o755))?;
        let basedir = build.display().to_string();
        writeln!(text, "[[contender]]\nname = {:?}\nengine = \"postgres\"\nbasedir = {basedir:?}", name(place))?;
    }
    text += "[workload]\nname = \"oltp_point_select\"\nrows = 10_000\nclients = 4\n\
             [method]\npreset = \"quick\"\nduration = \"500ms\"\nwarmup = \"100ms\"\nblocks = 24\n";
    let file = folder.join("builds.toml");
    fs::write(&file, text)?;
    Ok(file)
}

/// The build that was named, and how many duels it took.
fn searched(dbduel: &Path, cache: &Path, folder: &Path, file: &Path) -> Result<(Option<String>, usize)> {
    let mut command = Command::new(dbduel);
    command.env("DBDUEL_CACHE", cache.join("cache")).args(["history", "bisect", "--accept-noisy", "--runs"]);
    let output = command.arg(folder.join("runs")).arg(file).stdin(Stdio::null()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !matches!(output.status.code(), Some(0 | 3)) {
        bail!("dbduel history bisect failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let found = text.strip_prefix("the speed changed at `").and_then(|rest| rest.split('`').next()).map(str::to_owned);
    let duels = fs::read_dir(folder.join("runs"))?.count();
    if found.is_none() {
        println!("{text}");
    }
    Ok((found, duels))
}
