//! Archives whose bytes depend on their contents alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::made::Made;
use crate::files::{as_text, names};
use crate::programs::run;

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Modes as an installation has them, whatever this account's mask is.
pub fn plain_modes(folder: &Path) -> Result<()> {
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    set(folder, 0o755)?;
    for name in names(folder)? {
        let path = folder.join(name);
        let metadata = fs::metadata(&path)?;
        if metadata.is_dir() {
            plain_modes(&path)?;
        } else {
            set(&path, if metadata.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 })?;
        }
    }
    Ok(())
}

/// Packs all of a folder into a tar, as the time and the owner of every release.
pub fn tar(made: &Made, folder: &Path, to: &Path) -> Result<()> {
    plain_modes(folder)?;
    let (time, to, names) = (format!("--mtime=@{}", made.epoch), as_text(to)?, names(folder)?);
    let fixed = ["--sort=name", "--format=gnu", &time, "--owner=0", "--group=0", "--numeric-owner", "-cf", &to, "--"];
    run(folder, "tar", &fixed.into_iter().chain(names.iter().map(String::as_str)).collect::<Vec<_>>(), &[])
}

/// Compresses a file in its place; `gzip` stores neither its name nor its time.
pub fn compress(file: &Path, program: &str) -> Result<()> {
    let options: &[&str] = if program == "gzip" { &["-9n"] } else { &["-q", "-19", "--rm"] };
    let folder = file.parent().context("a file lies in a folder")?;
    run(folder, program, &[options, &[&as_text(file)?]].concat(), &[])
}
