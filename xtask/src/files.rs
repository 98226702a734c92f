//! Files and folders: written, copied and listed with their folders.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub fn as_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Writes a file with its folders.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Copies a file with its folders, and whether it can be run.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    fs::copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    Ok(())
}

pub fn copy_all(from: &Path, to: &Path) -> Result<()> {
    below(from)?.iter().try_for_each(|name| copy(&from.join(name), &to.join(name)))
}

/// Names in a folder, sorted.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Files below a folder, sorted, relative to it.
pub fn below(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in names(folder)? {
        let path = folder.join(&name);
        if path.is_dir() {
            found.extend(below(&path)?.into_iter().map(|inner| format!("{name}/{inner}")));
        } else {
            found.push(name);
        }
    }
    Ok(found)
}
