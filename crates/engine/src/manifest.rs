//! Lists of files with their checksums, by which the cache notices damage.
//!
//! A list has a line for each file (SHA-256, size, path), sorted by path, and a last line that is the checksum of
//! the others, so that a list which was cut off is no list. Hashing takes about a second for 500 MB,
//! and a folder is hashed once by each process that uses it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::cache::read_folder;
use super::programs::{hex, sha256_of};

/// Folders that this process has checked, or made.
static SOUND: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// The list of all files below a folder, but for `leave_out`.
pub(super) fn list(folder: &Path, leave_out: &str) -> Result<String> {
    let mut lines = String::new();
    for file in files_below(folder)? {
        let path = file.strip_prefix(folder).expect("the walk started here");
        if path != Path::new(leave_out) {
            let size = file.symlink_metadata()?.len();
            writeln!(lines, "{} {size} {}", checksum(&file)?, path.display())?;
        }
    }
    let seal = seal(&lines);
    Ok(format!("{lines}{seal}\n"))
}

/// What is wrong with a folder, by its list: the first file that is not as it was. Files that are not in the list
/// are not checked.
pub(super) fn damage(folder: &Path, list: &str) -> Result<Option<String>> {
    let Some(lines) = whole(list) else { return Ok(Some("its list of files is damaged".to_owned())) };
    for line in lines.lines() {
        let (known, path) = parse(line).context("a line of a list of files has three parts")?;
        let file = folder.join(path);
        if file.symlink_metadata().is_err() {
            return Ok(Some(format!("{path} is missing")));
        }
        if checksum(&file).ok().as_deref() != Some(known) {
            return Ok(Some(format!("{path} does not have its checksum")));
        }
    }
    Ok(None)
}

/// The same at the first call in this process; nothing later on.
pub(super) fn damage_at_first_use(folder: &Path, list: &str) -> Result<Option<String>> {
    if SOUND.lock().unwrap_or_else(PoisonError::into_inner).contains(folder) {
        return Ok(None);
    }
    let damage = damage(folder, list)?;
    if damage.is_none() {
        is_sound(folder);
    }
    Ok(damage)
}

/// Not to be checked by this process any more.
pub(super) fn is_sound(folder: &Path) {
    SOUND.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
}

/// Size and path of each file of a list, as it stands there.
pub(super) fn sizes(list: &str) -> Vec<(u64, &str)> {
    let lines = whole(list).unwrap_or_default().lines();
    let size = |line| Some((line_size(line)?, parse(line)?.1));
    lines.filter_map(size).collect()
}

/// Every file below a folder that is no folder, sorted by path.
pub(super) fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in read_folder(folder)? {
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&entry.path())?);
        } else {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Of a link: of where it leads.
fn checksum(file: &Path) -> Result<String> {
    if file.symlink_metadata()?.is_symlink() {
        return Ok(hex(&Sha256::digest(fs::read_link(file)?.as_os_str().as_bytes())));
    }
    sha256_of(file)
}

fn seal(lines: &str) -> String {
    hex(&Sha256::digest(lines))
}

/// The lines of a list that has all of them.
fn whole(list: &str) -> Option<&str> {
    let at = list.strip_suffix('\n')?.rfind('\n').map_or(0, |newline| newline + 1);
    let (lines, end) = list.split_at(at);
    (seal(lines) == end.trim_end()).then_some(lines)
}

fn parse(line: &str) -> Option<(&str, &str)> {
    let (checksum, rest) = line.split_once(' ')?;
    Some((checksum, rest.split_once(' ')?.1))
}

fn line_size(line: &str) -> Option<u64> {
    line.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/mysqld"), "elf").unwrap();
        fs::write(folder.path().join("empty file"), "").unwrap();
        fs::write(folder.path().join("list"), "").unwrap();
        std::os::unix::fs::symlink("bin/mysqld", folder.path().join("link")).unwrap();
        folder
    }

    #[test]
    fn one_changed_byte_a_missing_file_and_a_link_elsewhere_are_damage() {
        type Change<'a> = &'a dyn Fn(&Path);
        let changes: [(&str, Change); 4] = [
            ("bin/mysqld does not", &|folder| fs::write(folder.join("bin/mysqld"), "elg").unwrap()),
            ("empty file is missing", &|folder| fs::remove_file(folder.join("empty file")).unwrap()),
            ("link does not", &|folder| {
                fs::remove_file(folder.join("link")).unwrap();
                std::os::unix::fs::symlink("bin/mysqle", folder.join("link")).unwrap();
            }),
            ("bin/mysqld does not", &|folder| {
                fs::remove_file(folder.join("bin/mysqld")).unwrap();
                fs::create_dir(folder.join("bin/mysqld")).unwrap();
            }),
        ];
        for (expected, change) in changes {
            let server = server();
            let list = list(server.path(), "list").unwrap();
            assert_eq!(sizes(&list), [(3, "bin/mysqld"), (0, "empty file"), (10, "link")]);
            assert_eq!(damage(server.path(), &list).unwrap(), None);
            change(server.path());
            let found = damage(server.path(), &list).unwrap().unwrap();
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_list_that_is_cut_off_anywhere_or_changed_is_damage() {
        let server = server();
        let list = list(server.path(), "list").unwrap();
        for bytes in 0..list.len() {
            assert!(damage(server.path(), &list[..bytes]).unwrap().is_some(), "{bytes} bytes");
        }
        assert!(damage(server.path(), &list.replacen("elf", "elg", 1).replace("link", "lint")).unwrap().is_some());
    }

    #[test]
    fn a_folder_is_hashed_once() {
        let server = server();
        let list = list(server.path(), "list").unwrap();
        assert_eq!(damage_at_first_use(server.path(), &list).unwrap(), None);
        fs::write(server.path().join("bin/mysqld"), "elg").unwrap();
        assert_eq!(damage_at_first_use(server.path(), &list).unwrap(), None);
        assert!(damage(server.path(), &list).unwrap().is_some());
    }
}
