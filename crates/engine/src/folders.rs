//! Folders of files: what lies in them, who may read them, and their end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};

pub fn remove_tree(path: &Path) -> Result<()> {
    let removed = if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The entries of a folder; none when it does not exist.
pub fn read_folder(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    entries.collect::<std::io::Result<_>>().with_context(|| format!("cannot read {}", folder.display()))
}

/// Lets every account read the tree: a server may run under another user than dbduel.
pub(crate) fn make_readable(path: &Path) -> Result<()> {
    let meta = path.symlink_metadata()?;
    if meta.is_symlink() {
        return Ok(());
    }
    let mode = meta.permissions().mode() & 0o777;
    let wanted = if meta.is_dir() || mode & 0o100 != 0 { mode | 0o755 } else { mode | 0o644 };
    fs::set_permissions(path, fs::Permissions::from_mode(wanted))?;
    if meta.is_dir() {
        for entry in read_folder(path)? {
            make_readable(&entry.path())?;
        }
    }
    Ok(())
}
