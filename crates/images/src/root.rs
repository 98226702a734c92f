//! A folder that entries of layers and archives are placed in, and never outside of it.
//!
//! Every path is walked on directory descriptors, one name at a time and without following links: a link is resolved
//! as in a chroot, so that an absolute target starts at the root and `..` ends there. No path is compared as text.
//! Everything belongs to the user who runs dbduel; other writers to the folder are not expected.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::fcntl::{AT_FDCWD, AtFlags, OFlag, openat, readlinkat};
use nix::sys::stat::{
    FchmodatFlags, FileStat, Mode, SFlag, UtimensatFlags, fchmod, fchmodat, fstat, fstatat, mkdirat, utimensat,
};
use nix::sys::time::TimeSpec;
use nix::unistd::{LinkatFlags, UnlinkatFlags, linkat, symlinkat, unlinkat};

/// Links that one path may lead through; the kernel allows as many.
const LINKS_MAX: usize = 40;
/// The kernel's own limit of a path.
const PATH_BYTES_MAX: usize = 4096;

/// What one entry makes.
pub enum Entry<'a> {
    File { bytes: &'a mut dyn Read, mode: u32 },
    Folder,
    Symlink { target: &'a [u8] },
    HardLink { target: &'a [u8] },
}

/// The names of a path of an entry, checked: no `..`, and nothing that a file system cannot hold.
pub fn names(path: &[u8]) -> Result<Vec<&OsStr>> {
    ensure!(!path.is_empty(), "an entry has no name");
    ensure!(path.len() <= PATH_BYTES_MAX, "a path is longer than {PATH_BYTES_MAX} bytes");
    ensure!(!path.contains(&0), "a name contains a zero byte");
    let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
    let names: Vec<&OsStr> = names.map(OsStr::from_bytes).collect();
    ensure!(!names.contains(&OsStr::new("..")), "`..` in a path");
    Ok(names)
}

/// A place by the folder's own number and the name in it: the same for every path that leads there.
type Place = (u64, u64, OsString);

/// The root folder, and what the present layer has made in it.
pub struct Root {
    root: OwnedFd,
    made: HashSet<Place>,
    /// Times of folders, which are set when nothing more is placed in them.
    folder_times: Vec<(PathBuf, i64)>,
}

impl Root {
    pub fn open(path: &Path) -> Result<Root> {
        let root = openat(AT_FDCWD, path, folder_flags() & !OFlag::O_NOFOLLOW, Mode::empty());
        let root = root.with_context(|| format!("cannot open {}", path.display()))?;
        Ok(Root { root, made: HashSet::new(), folder_times: Vec::new() })
    }

    /// Ends a layer: what comes next may remove what is here.
    pub fn end_layer(&mut self) -> Result<()> {
        self.made.clear();
        for (path, time) in std::mem::take(&mut self.folder_times) {
            // A later entry may have replaced the folder; then its time is of no interest.
            let names: Vec<&OsStr> = path.iter().collect();
            if let Ok(folder) = self.walk(&names, false)
                && let Some((last, parent)) = names.split_last()
                && let Ok(parent) = self.walk(parent, false)
                && is_same(&fstat(&folder)?, fstatat(&parent, *last, AtFlags::AT_SYMLINK_NOFOLLOW).ok())
            {
                set_time(&parent, last, time)?;
            }
        }
        Ok(())
    }

    /// Makes one entry; an earlier one of another type, or a file of the same name, is replaced.
    pub fn place(&mut self, path: &[u8], entry: Entry, time: i64) -> Result<()> {
        let names = names(path)?;
        let Some((last, parents)) = names.split_last() else {
            ensure!(matches!(entry, Entry::Folder), "an entry other than a folder stands for the root");
            return Ok(());
        };
        let parent = self.walk(parents, true)?;
        let place = place_of(&parent, last)?;
        match entry {
            Entry::Folder => {
                make_folder(&parent, last)?;
                self.folder_times.push((names.iter().collect(), time));
            }
            Entry::File { bytes, mode } => {
                remove(&parent, last)?;
                write_file(&parent, last, bytes, mode)?;
                set_time(&parent, last, time)?;
            }
            Entry::Symlink { target } => {
                ensure!(!target.is_empty() && !target.contains(&0), "a link has no target");
                remove(&parent, last)?;
                symlinkat(OsStr::from_bytes(target), &parent, *last)?;
                set_time(&parent, last, time)?;
            }
            Entry::HardLink { target } => self.hard_link(target, &parent, last, &place)?,
        }
        self.made.insert(place);
        Ok(())
    }

    fn hard_link(&mut self, target: &[u8], parent: &OwnedFd, name: &OsStr, place: &Place) -> Result<()> {
        let names = names(target).context("in the target of a hard link")?;
        let (last, parents) = names.split_last().context("a hard link to the root")?;
        let shown = || format!("a hard link to `{}`, which is not there", target.escape_ascii());
        let from = self.walk(parents, false).with_context(shown)?;
        let kind = SFlag::from_bits_truncate(
            fstatat(&from, *last, AtFlags::AT_SYMLINK_NOFOLLOW).with_context(shown)?.st_mode & SFlag::S_IFMT.bits(),
        );
        ensure!(
            kind == SFlag::S_IFREG || kind == SFlag::S_IFLNK,
            "a hard link to `{}`, which is neither a file nor a symbolic link",
            target.escape_ascii()
        );
        if place_of(&from, last)? == *place {
            return Ok(());
        }
        remove(parent, name)?;
        linkat(&from, *last, parent, name, LinkatFlags::empty()).with_context(shown)?;
        Ok(())
    }

    /// Removes a name of lower layers, and leaves what this layer made.
    pub fn remove_lower(&mut self, folder: &[&OsStr], name: &OsStr) -> Result<()> {
        let Ok(parent) = self.walk(folder, false) else { return Ok(()) };
        self.remove_unless_made(&parent, name).map(drop)
    }

    /// Empties a folder of what lower layers put there.
    pub fn empty_lower(&mut self, folder: &[&OsStr]) -> Result<()> {
        let folder = self.walk(folder, true)?;
        self.empty_unless_made(&folder).map(drop)
    }

    /// Whether anything is left of the name.
    fn remove_unless_made(&self, parent: &OwnedFd, name: &OsStr) -> Result<bool> {
        let is_made = self.made.contains(&place_of(parent, name)?);
        match openat(parent, name, folder_flags(), Mode::empty()) {
            Ok(folder) => {
                let left = self.empty_unless_made(&folder)?;
                if !left && !is_made {
                    unlinkat(parent, name, UnlinkatFlags::RemoveDir)?;
                }
                Ok(left || is_made)
            }
            Err(Errno::ENOENT) => Ok(false),
            Err(Errno::ENOTDIR | Errno::ELOOP) => {
                if !is_made {
                    unlinkat(parent, name, UnlinkatFlags::NoRemoveDir)?;
                }
                Ok(is_made)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn empty_unless_made(&self, folder: &OwnedFd) -> Result<bool> {
        let mut left = false;
        for name in list(folder)? {
            left |= self.remove_unless_made(folder, &name)?;
        }
        Ok(left)
    }

    /// The folder at a path, links resolved inside the root; missing ones are made where `make` is set.
    fn walk(&mut self, names: &[&OsStr], make: bool) -> Result<OwnedFd> {
        let mut stack = vec![self.root.try_clone()?];
        let mut left: Vec<OsString> = names.iter().rev().map(|name| (*name).to_owned()).collect();
        let mut links = 0;
        while let Some(name) = left.pop() {
            let here = stack.last().expect("the root stays on the stack");
            if name == ".." {
                stack.truncate((stack.len() - 1).max(1));
                continue;
            }
            match openat(here, name.as_os_str(), folder_flags(), Mode::empty()) {
                Ok(folder) => stack.push(folder),
                Err(Errno::ENOENT) if make => {
                    make_folder(here, &name)?;
                    let place = place_of(here, &name)?;
                    self.made.insert(place);
                    left.push(name);
                }
                Err(Errno::ELOOP | Errno::ENOTDIR) => {
                    links += 1;
                    ensure!(links <= LINKS_MAX, "a path leads through more than {LINKS_MAX} links");
                    let shown = name.display();
                    let target = readlinkat(here, name.as_os_str())
                        .with_context(|| format!("`{shown}` is part of a path and no folder"))?;
                    if target.as_bytes().starts_with(b"/") {
                        stack.truncate(1);
                    }
                    let parts = target.as_bytes().split(|byte| *byte == b'/');
                    let parts = parts.filter(|part| !part.is_empty() && *part != b".");
                    let parts: Vec<OsString> = parts.map(|part| OsStr::from_bytes(part).to_owned()).collect();
                    left.extend(parts.into_iter().rev());
                }
                Err(error) => bail!("cannot open the folder `{}`: {error}", name.display()),
            }
        }
        Ok(stack.pop().expect("the root stays on the stack"))
    }
}

fn folder_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

fn place_of(parent: &OwnedFd, name: &OsStr) -> Result<Place> {
    let folder = fstat(parent)?;
    Ok((folder.st_dev, folder.st_ino, name.to_owned()))
}

fn is_same(one: &FileStat, other: Option<FileStat>) -> bool {
    other.is_some_and(|other| (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

fn list(folder: &OwnedFd) -> Result<Vec<OsString>> {
    let entries = std::fs::read_dir(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()))?;
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

/// A folder as the server's account can use it, whatever its mode in the image.
fn make_folder(parent: &OwnedFd, name: &OsStr) -> Result<()> {
    match openat(parent, name, folder_flags(), Mode::empty()) {
        Ok(_) => return Ok(()),
        Err(Errno::ENOENT) => {}
        Err(_) => remove(parent, name)?,
    }
    let mode = Mode::from_bits_truncate(0o755);
    mkdirat(parent, name, mode).with_context(|| format!("cannot make the folder `{}`", name.display()))?;
    // The mask of the user who runs dbduel may be narrower.
    fchmodat(parent, name, mode, FchmodatFlags::FollowSymlink)?;
    Ok(())
}

/// No set-id bits, nobody else writes, and the server's account can read.
fn write_file(parent: &OwnedFd, name: &OsStr, bytes: &mut dyn Read, mode: u32) -> Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let file = openat(parent, name, flags, Mode::from_bits_truncate(0o600))
        .with_context(|| format!("cannot make the file `{}`", name.display()))?;
    let mut file = File::from(file);
    io::copy(bytes, &mut file).with_context(|| format!("cannot write the file `{}`", name.display()))?;
    fchmod(&file, Mode::from_bits_truncate((mode & 0o755) | 0o644))?;
    Ok(())
}

fn set_time(parent: &OwnedFd, name: &OsStr, time: i64) -> Result<()> {
    let time = TimeSpec::new(time.clamp(0, i64::from(u32::MAX)), 0);
    utimensat(parent, name, &time, &time, UtimensatFlags::NoFollowSymlink)?;
    Ok(())
}

/// Removes a file, a link, or a folder with all that is in it.
fn remove(parent: &OwnedFd, name: &OsStr) -> Result<()> {
    match openat(parent, name, folder_flags(), Mode::empty()) {
        Ok(folder) => {
            for inner in list(&folder)? {
                remove(&folder, &inner)?;
            }
            unlinkat(parent, name, UnlinkatFlags::RemoveDir)?;
        }
        Err(Errno::ENOENT) => {}
        Err(Errno::ENOTDIR | Errno::ELOOP) => unlinkat(parent, name, UnlinkatFlags::NoRemoveDir)?,
        Err(error) => bail!("cannot replace `{}`: {error}", name.display()),
    }
    Ok(())
}
