//! Files of this user: none is opened through a symbolic link or belongs to another user.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Opens a lock file, making it where it is missing. One that is a link, no plain file or another user's is refused.
pub fn lock_file(path: &Path) -> Result<File> {
    let opened = open(OpenOptions::new().create(true).truncate(false).write(true), path);
    let file = opened.with_context(|| format!("cannot open {}", path.display()))?;
    ensure!(is_own_file(&file)?, "{} is no plain file of this user", path.display());
    Ok(file)
}

/// A file of this user that lies there, and is no link.
pub fn own_file(path: &Path) -> Option<File> {
    let file = open(OpenOptions::new().read(true), path).ok()?;
    is_own_file(&file).ok()?.then_some(file)
}

/// Never through a link; and a pipe in its place does not keep us waiting.
pub fn open(options: &mut OpenOptions, path: &Path) -> std::io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

pub fn is_own_file(file: &File) -> Result<bool> {
    let meta = file.metadata()?;
    Ok(meta.is_file() && meta.uid() == own_uid())
}

pub fn own_uid() -> u32 {
    nix::unistd::geteuid().as_raw()
}
