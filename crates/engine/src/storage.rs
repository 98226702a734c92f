//! Where a data directory lies: its file system and device, and whether an OS crash empties it.
//!
//! Nothing here opens or changes a file of the server's. What cannot be seen (the host's side of a container, a
//! remote file system) is taken for what it shows: a class is lowered only for a reason that was found.

use std::path::Path;

use anyhow::{Context, Result};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};
use nix::sys::statvfs::statvfs;

/// The class of a commit's promise where it is unknown.
pub const NOT_KNOWN: &str = "not known";

/// The less that either of two classes promises.
pub fn weaker_class<'a>(one: &'a str, other: &'a str) -> &'a str {
    if [one, other].contains(&NOT_KNOWN) { NOT_KNOWN } else { one.min(other) }
}

/// A database in memory is gone after an OS crash: no commit survives one, whatever the settings promise.
const IN_MEMORY_CLASS: &str = "D0";
const RAMFS_MAGIC: FsType = FsType(0x8584_58f6_u32 as _);
/// Folders on a device on a file in a folder …: more than this is a circle.
const DEPTH_MAX: u32 = 8;

/// The file system below a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// `ext4 on /dev/vda`; what empties it in an OS crash stands behind it.
    pub file_system: String,
    pub is_in_memory: bool,
}

/// What lies below `folder`; None where nothing can be seen of it.
pub fn storage_of(folder: &Path) -> Option<Storage> {
    let mount = mount_of(folder)?;
    let file_system = format!("{} on {}", mount.fs_type, mount.mount_source.as_deref().unwrap_or_default());
    Some(match lost_in_a_crash(folder, DEPTH_MAX) {
        Some(why) => Storage { file_system: format!("{file_system}, {why}"), is_in_memory: true },
        None => Storage { file_system, is_in_memory: false },
    })
}

/// What a user may still put on the file system of a folder.
pub fn free_bytes(folder: &Path) -> Result<u64> {
    let system = statvfs(folder).with_context(|| format!("cannot ask how much of {} is free", folder.display()))?;
    Ok(system.blocks_available() * system.fragment_size())
}

/// How the file system below `folder` is mounted: `rw,relatime,discard`. Sorted, because their order means nothing.
pub fn mount_options(folder: &Path) -> Option<String> {
    let mount = mount_of(folder)?;
    let all = mount.mount_options.into_iter().chain(mount.super_options);
    let option = |(name, value): (String, Option<String>)| match value {
        Some(value) => format!("{name}={value}"),
        None => name,
    };
    let options: std::collections::BTreeSet<String> = all.map(option).collect();
    Some(options.into_iter().collect::<Vec<_>>().join(","))
}

/// What a commit promises in `folder`, when it promises `by_settings` on a disk: `D3` … `D0`.
pub fn class_in(folder: &Path, by_settings: &'static str) -> &'static str {
    if lost_in_a_crash(folder, DEPTH_MAX).is_some() { weaker_class(by_settings, IN_MEMORY_CLASS) } else { by_settings }
}

/// Why nothing in `folder` survives an OS crash.
fn lost_in_a_crash(folder: &Path, depth: u32) -> Option<&'static str> {
    let folder = folder.canonicalize().ok()?;
    let kind = statfs(&folder).ok()?.filesystem_type();
    if kind == TMPFS_MAGIC || kind == RAMFS_MAGIC {
        return Some("in memory");
    }
    let depth = depth.checked_sub(1)?;
    let mount = mount_of(&folder)?;
    if mount.fs_type == "overlay" {
        return lost_in_an_overlay(&mount.super_options, depth);
    }
    let device = Path::new(mount.mount_source.as_deref()?).canonicalize().ok()?;
    lost_on_a_device(&Path::new("/sys/class/block").join(device.file_name()?), depth)
}

/// What is written to an overlay lies in its upper folder, and is never synced where it is mounted `volatile`.
fn lost_in_an_overlay(options: &std::collections::HashMap<String, Option<String>>, depth: u32) -> Option<&'static str> {
    if options.contains_key("volatile") {
        return Some("never synced");
    }
    lost_in_a_crash(Path::new(options.get("upperdir")?.as_deref()?), depth)
}

/// A disk in memory, a file in memory, or what is made of one.
fn lost_on_a_device(device: &Path, depth: u32) -> Option<&'static str> {
    let device = device.canonicalize().ok()?;
    let name = device.file_name()?.to_str()?;
    if ["ram", "zram"].iter().any(|kind| is_numbered(name, kind)) {
        return Some("in memory");
    }
    if let Ok(file) = std::fs::read_to_string(device.join("loop/backing_file")) {
        return lost_in_a_crash(Path::new(file.trim_end()).parent()?, depth);
    }
    let depth = depth.checked_sub(1)?;
    if device.join("partition").exists() {
        return lost_on_a_device(device.parent()?, depth);
    }
    let parts = std::fs::read_dir(device.join("slaves")).ok()?;
    parts.flatten().find_map(|part| lost_on_a_device(&part.path(), depth))
}

fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|rest| rest.parse::<u32>().is_ok())
}

/// The mount that holds `folder`: the longest mount point above it, and of several there the latest.
fn mount_of(folder: &Path) -> Option<procfs::process::MountInfo> {
    let folder = folder.canonicalize().ok()?;
    let mounts = procfs::process::Process::myself().ok()?.mountinfo().ok()?;
    mounts
        .into_iter()
        .filter(|mount| folder.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::fs;

    use super::*;

    /// In memory on every Linux; a name of its own for each test.
    fn in_memory() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").unwrap()
    }

    #[test]
    fn no_commit_on_a_file_system_in_memory_survives_an_os_crash() {
        let memory = in_memory();
        for by_settings in ["D3", "D2", "D1", "D0"] {
            assert_eq!(class_in(memory.path(), by_settings), "D0", "{by_settings}");
        }
        assert_eq!(class_in(memory.path(), super::super::NOT_KNOWN), super::super::NOT_KNOWN);
        let seen = storage_of(memory.path()).unwrap();
        assert!(seen.is_in_memory && seen.file_system.ends_with(", in memory"), "{seen:?}");
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!((class_in(source, "D3"), storage_of(source).unwrap().is_in_memory), ("D3", false));
    }

    #[test]
    fn an_overlay_is_what_its_upper_folder_is() {
        let memory = in_memory();
        let check = |options: &[(&str, Option<&Path>)], expected| {
            let options: HashMap<_, _> = options
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(|path| path.display().to_string())))
                .collect();
            assert_eq!(lost_in_an_overlay(&options, DEPTH_MAX), expected, "{options:?}");
        };
        check(&[("upperdir", Some(memory.path()))], Some("in memory"));
        let disk = Path::new(env!("CARGO_MANIFEST_DIR"));
        check(&[("upperdir", Some(disk))], None);
        check(&[("upperdir", Some(disk)), ("volatile", None)], Some("never synced"));
        check(&[("upperdir", Some(Path::new("/not/visible/here")))], None);
    }

    #[test]
    fn a_device_is_what_lies_below_it() {
        let (folder, memory) = (tempfile::tempdir().unwrap(), in_memory());
        let device = |name: &str, below: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.join(below)).unwrap();
            path
        };
        let check = |path: &Path, expected| assert_eq!(lost_on_a_device(path, DEPTH_MAX), expected, "{path:?}");
        check(&device("zram0", ""), Some("in memory"));
        check(&device("sda", ""), None);
        let on_a_file = device("loop7", "loop");
        fs::write(on_a_file.join("loop/backing_file"), format!("{}\n", memory.path().join("image").display())).unwrap();
        check(&on_a_file, Some("in memory"));
        let partition = device("loop7/loop7p1", "");
        fs::write(partition.join("partition"), "1\n").unwrap();
        check(&partition, Some("in memory"));
        let mapped = device("dm-0", "slaves");
        std::os::unix::fs::symlink(&partition, mapped.join("slaves/loop7p1")).unwrap();
        check(&mapped, Some("in memory"));
    }
}
