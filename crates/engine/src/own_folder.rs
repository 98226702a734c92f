//! Folders that dbduel made, and how it recognises them.
//!
//! dbduel deletes what lies in its cache and work folders, so each carries a marker file. What must stay true:
//! nothing without a marker is swept, cleared or entered; where every user may make folders, one is used only if it
//! belongs to this user and no other user may write to it; and no file of ours is opened through a symbolic link.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use record::own_file::{open, own_file, own_uid};

/// The file that marks a folder as dbduel's.
const MARKER: &str = ".dbduel-folder";
/// A marker that a killed dbduel did not finish.
const UNFINISHED: &str = ".dbduel-folder.unfinished";
const MARK: &str = "dbduel folder, version 1\ndbduel made this folder and deletes files in it without asking. Keep nothing else here.\n";

/// Folders of one process that may be there at once; the number behind its pid is below this.
pub(super) const FOLDERS_MAX: u32 = 1000;
/// Others may enter a folder above a data directory, but not list it.
const ENTRANCE: u32 = 0o711;
const OTHERS_MAY_WRITE: u32 = 0o002;
const GROUP_OR_OTHERS_MAY_WRITE: u32 = 0o022;
const STICKY: u32 = 0o1000;

#[derive(Debug, PartialEq, Eq)]
enum State {
    Absent,
    Empty,
    Ours,
}

/// Fails if dbduel must not use the folder; makes nothing. `next` is what the user can do then.
pub(super) fn expect_usable(folder: &Path, next: &str) -> Result<()> {
    state(folder).map(drop).map_err(|error| anyhow::anyhow!("{error:#}\n  next: {next}"))
}

/// Makes the folder where it is missing and marks it where it is empty. A folder with anything else in it and no
/// marker is refused.
pub(super) fn claim(folder: &Path, next: &str) -> Result<()> {
    expect_usable(folder, next)?;
    make_entrance(folder)?;
    let taken = File::open(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    // Two dbduels may make it at the same time: the second one finds the marker. Network file systems do not lock
    // folders; there the second one may refuse a folder that the first one is making.
    let _ = taken.lock();
    expect_usable(folder, next)?;
    if state(folder)? == State::Empty {
        mark(folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    Ok(())
}

/// The same for a folder whose name others can foresee, in a place where they may make folders too.
pub(super) fn claim_in_public(folder: &Path, next: &str) -> Result<()> {
    let parent = folder.parent().context("a folder lies in another one")?;
    expect_safe_place(parent)?;
    match DirBuilder::new().mode(ENTRANCE).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("cannot make {}", folder.display()));
        }
        Err(_) => {}
        // Not by the mode of the call, which the umask narrows.
        Ok(()) => fs::set_permissions(folder, fs::Permissions::from_mode(ENTRANCE))?,
    }
    let name = folder.display();
    match flaw(folder, GROUP_OR_OTHERS_MAY_WRITE)? {
        Some(flaw) => bail!("{name} {flaw}: dbduel does not use it\n  next: {next}"),
        None => claim(folder, next),
    }
}

/// Fails if others can replace what this user makes in the folder.
pub(super) fn expect_safe_place(folder: &Path) -> Result<()> {
    let whole = fs::canonicalize(folder).with_context(|| format!("cannot find {}", folder.display()))?;
    for part in whole.ancestors() {
        let mode = fs::metadata(part)?.mode();
        let safe = mode & OTHERS_MAY_WRITE == 0 || mode & STICKY != 0;
        ensure!(
            safe,
            "{}: every user may rename and delete in {}, so dbduel makes no folder there\n  next: `chmod +t {}`, or name another folder",
            folder.display(),
            part.display(),
            part.display()
        );
    }
    Ok(())
}

/// Why a folder is not safely this user's own; `None` if it is.
fn flaw(folder: &Path, writable: u32) -> Result<Option<String>> {
    let meta = folder.symlink_metadata().with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(if meta.is_symlink() {
        Some("is a symbolic link".to_owned())
    } else if !meta.is_dir() {
        Some("is no folder".to_owned())
    } else if meta.uid() != own_uid() {
        Some(format!("belongs to another user (uid {})", meta.uid()))
    } else if meta.mode() & writable != 0 {
        Some(format!("can be written to by others (mode {:04o})", meta.mode() & 0o7777))
    } else {
        None
    })
}

pub(super) fn is_own_folder(folder: &Path) -> bool {
    matches!(flaw(folder, GROUP_OR_OTHERS_MAY_WRITE), Ok(None))
}

/// `PID-N`, as dbduel names the folders of a process.
pub(super) fn is_work_name(name: &str) -> bool {
    let number =
        |text: &str, below: u32| text.parse::<u32>().is_ok_and(|number| number < below && number.to_string() == text);
    name.split_once('-').is_some_and(|(pid, copy)| number(pid, i32::MAX as u32) && number(copy, FOLDERS_MAX))
}

/// Makes a folder that others may enter but not list, as `interface.md` asks above data directories.
pub(super) fn make_entrance(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::set_permissions(folder, fs::Permissions::from_mode(ENTRANCE))?;
    Ok(())
}

/// Where a path leads: links are followed as far as it exists.
pub(super) fn resolved(path: &Path) -> Result<PathBuf> {
    let whole = std::path::absolute(path).with_context(|| format!("cannot use {}", path.display()))?;
    let there = whole.ancestors().find_map(|part| Some((part, fs::canonicalize(part).ok()?)));
    let Some((part, real)) = there else { return Ok(whole) };
    Ok(whole.strip_prefix(part).map_or(whole.clone(), |rest| real.components().chain(rest.components()).collect()))
}

fn state(folder: &Path) -> Result<State> {
    let name = folder.display();
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Absent),
        Err(error) if error.kind() == ErrorKind::NotADirectory => bail!("{name} is no folder"),
        entries => entries.with_context(|| format!("cannot read {name}"))?,
    };
    let mode = fs::metadata(folder)?.mode();
    ensure!(mode & OTHERS_MAY_WRITE == 0, "every user may write to {name} (mode {:04o})", mode & 0o7777);
    if is_marked(folder)? {
        return Ok(State::Ours);
    }
    for entry in entries {
        let is_unfinished = entry.with_context(|| format!("cannot read {name}"))?.file_name() == UNFINISHED;
        // Another dbduel may have finished its marker since.
        if !is_unfinished && is_marked(folder)? {
            return Ok(State::Ours);
        }
        ensure!(
            is_unfinished,
            "{name} holds other files, and dbduel did not make it (no `{MARKER}` in it); nothing there was changed"
        );
    }
    Ok(State::Empty)
}

fn is_marked(folder: &Path) -> Result<bool> {
    let path = folder.join(MARKER);
    let Ok(meta) = path.symlink_metadata() else { return Ok(false) };
    let owner = meta.uid();
    ensure!(owner == own_uid(), "{} was made by another user's dbduel (uid {owner})", folder.display());
    let Some(file) = own_file(&path) else { return Ok(false) };
    let mut text = Vec::new();
    file.take(MARK.len() as u64 + 1)
        .read_to_end(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text == MARK.as_bytes())
}

/// The marker appears whole or not at all.
fn mark(folder: &Path) -> Result<()> {
    let unfinished = folder.join(UNFINISHED);
    if unfinished.symlink_metadata().is_ok() {
        fs::remove_file(&unfinished)?;
    }
    let mut file = open(OpenOptions::new().create_new(true).write(true), &unfinished)?;
    std::io::Write::write_all(&mut file, MARK.as_bytes())?;
    file.sync_all()?;
    Ok(fs::rename(&unfinished, folder.join(MARKER))?)
}

#[cfg(test)]
mod tests {
    use record::own_file::lock_file;

    use super::*;

    #[test]
    fn only_names_that_dbduel_makes_are_swept() {
        for name in ["1-0", "4194304-999"] {
            assert!(is_work_name(name), "{name}");
        }
        for name in ["", "1", "1-", "-1", "1-1000", "01-0", "1-00", "+1-0", "1-0-0", "1-0x", "2024-01", "a-1", "1 -0"] {
            assert!(!is_work_name(name), "{name}");
        }
    }

    #[test]
    fn a_new_or_empty_folder_is_marked_once_and_known_again() {
        let base = tempfile::tempdir().unwrap();
        let empty = base.path().join("empty");
        fs::create_dir(&empty).unwrap();
        for folder in [base.path().join("new"), empty] {
            claim(&folder, "").unwrap();
            fs::write(folder.join("data"), "x").unwrap();
            claim(&folder, "").unwrap();
        }
    }

    #[test]
    fn a_folder_without_a_true_marker_is_refused_and_left_as_it_is() {
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("theirs");
        fs::create_dir(&folder).unwrap();
        let refused = |what: &str| {
            let before = fs::read_dir(&folder).unwrap().count();
            let error = claim(&folder, "name an empty one").unwrap_err().to_string();
            assert!(error.ends_with("next: name an empty one"), "{what}: {error}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), before, "{what}");
        };
        fs::write(folder.join("letter"), "x").unwrap();
        refused("no marker");
        fs::write(folder.join(MARKER), "x").unwrap();
        refused("another file of that name");
        fs::write(folder.join(MARKER), MARK.repeat(2)).unwrap();
        refused("more than the marker");
        fs::remove_file(folder.join(MARKER)).unwrap();
        fs::write(base.path().join("mark"), MARK).unwrap();
        std::os::unix::fs::symlink("../mark", folder.join(MARKER)).unwrap();
        refused("a link to a marker");
        fs::remove_file(folder.join(MARKER)).unwrap();
        nix::unistd::mkfifo(&folder.join(MARKER), nix::sys::stat::Mode::S_IRUSR).unwrap();
        refused("a pipe");
    }

    #[test]
    fn two_that_make_a_folder_at_once_both_have_it() {
        let base = tempfile::tempdir().unwrap();
        for round in 0..200 {
            let folder = base.path().join(round.to_string());
            std::thread::scope(|scope| {
                let claims = [0; 4].map(|_| scope.spawn(|| claim(&folder, "")));
                for claim in claims {
                    claim.join().unwrap().unwrap();
                }
            });
        }
    }

    #[test]
    fn a_marker_that_a_kill_cut_off_is_made_again() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join(UNFINISHED), "dbdu").unwrap();
        claim(base.path(), "").unwrap();
        assert!(is_marked(base.path()).unwrap());
    }

    #[test]
    fn in_public_a_link_and_a_folder_that_others_write_to_are_refused() {
        let base = tempfile::tempdir().unwrap();
        let target = base.path().join("target");
        claim_in_public(&target, "").unwrap();
        let link = base.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(claim_in_public(&link, "").unwrap_err().to_string().contains("is a symbolic link"));
        fs::set_permissions(&target, fs::Permissions::from_mode(0o771)).unwrap();
        assert!(claim_in_public(&target, "").unwrap_err().to_string().contains("mode 0771"));
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let error = claim_in_public(&base.path().join("new"), "").unwrap_err().to_string();
        assert!(error.contains("every user may rename"), "{error}");
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o1777)).unwrap();
        claim_in_public(&base.path().join("new"), "").unwrap();
    }

    #[test]
    fn what_another_user_made_is_not_ours() {
        if !nix::unistd::geteuid().is_root() {
            return; // Only root can make it.
        }
        let base = tempfile::tempdir().unwrap();
        let folder = base.path().join("planted");
        claim(&folder, "").unwrap();
        std::os::unix::fs::chown(&folder, Some(65534), None).unwrap();
        let error = claim_in_public(&folder, "").unwrap_err().to_string();
        assert!(error.contains("belongs to another user (uid 65534)"), "{error}");
        assert!(!is_own_folder(&folder));
        std::os::unix::fs::chown(folder.join(MARKER), Some(65534), None).unwrap();
        let error = claim(&folder, "").unwrap_err().to_string();
        assert!(error.contains("another user's dbduel (uid 65534)"), "{error}");
        assert!(lock_file(&folder.join(MARKER)).is_err() && own_file(&folder.join(MARKER)).is_none());
    }

    #[test]
    fn a_path_is_followed_as_far_as_it_exists() {
        let base = tempfile::tempdir().unwrap();
        let real = base.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
        assert_eq!(resolved(&real.join("link/a/b")).unwrap(), real.join("a/b"));
        assert_eq!(resolved(&real).unwrap(), real);
    }
}
