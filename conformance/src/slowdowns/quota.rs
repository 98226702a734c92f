//! A control group of our own with a CPU quota, in version 1 or 2 of the kernel's interface.
//!
//! What must stay true: the group is empty and gone when the [`Group`] is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Short, so that a throttled server stands still for moments and not for whole transactions
/// (method, section 8, V4).
pub const PERIOD: Duration = Duration::from_millis(10);
/// The kernel takes no quota below this.
const QUOTA_MIN_US: u64 = 1000;
const PREFIX: &str = "dbduel-slowdowns-";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

pub struct Group {
    folder: PathBuf,
    version: Version,
}

impl Group {
    /// An empty group without a quota; an error where this host lets us make none.
    pub fn create() -> Result<Group> {
        let mounts = fs::read_to_string("/proc/self/mounts").context("cannot read /proc/self/mounts")?;
        let mut refused = Vec::new();
        for (root, version) in roots(&mounts) {
            match Group::create_in(&root, version) {
                Ok(group) => return Ok(group),
                Err(error) => refused.push(format!("{}: {error:#}", root.display())),
            }
        }
        bail!("no control group with a CPU quota can be made here ({})", refused.join("; "))
    }

    fn create_in(root: &Path, version: Version) -> Result<Group> {
        remove_left_over(root);
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let folder = root.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder)?;
        let group = Group { folder, version };
        group.set_quota(None)?;
        Ok(group)
    }

    /// Cores on average in each period; all there are for none.
    pub fn set_quota(&self, cores: Option<f64>) -> Result<()> {
        let period_us = PERIOD.as_micros() as u64;
        let quota_us = cores.map(|cores| ((cores * period_us as f64).round() as u64).max(QUOTA_MIN_US));
        match self.version {
            Version::One => {
                self.write("cpu.cfs_period_us", &period_us.to_string())?;
                self.write("cpu.cfs_quota_us", &quota_us.map_or("-1".to_owned(), |quota| quota.to_string()))
            }
            Version::Two => {
                let quota = quota_us.map_or("max".to_owned(), |quota| quota.to_string());
                self.write("cpu.max", &format!("{quota} {period_us}"))
            }
        }
    }

    /// Takes a process in, with all its threads and what it starts from now on.
    pub fn admit(&self, pid: i32) -> Result<()> {
        self.write("cgroup.procs", &pid.to_string())
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write `{text}` to {}", path.display()))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        dissolve(&self.folder);
    }
}

/// Removes a group; who is still in it goes up to the one above.
fn dissolve(folder: &Path) {
    let above = folder.parent().map(|above| above.join("cgroup.procs"));
    if let (Some(above), Ok(members)) = (above, fs::read_to_string(folder.join("cgroup.procs"))) {
        members.lines().for_each(|pid| drop(fs::write(&above, pid)));
    }
    let _ = fs::remove_dir(folder);
}

/// Groups of commands that were killed.
fn remove_left_over(root: &Path) {
    let owner = |name: &str| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(owner);
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            dissolve(&entry.path());
        }
    }
}

/// Where the controller of CPU time may be mounted, the older interface first: on a host with both, it is there.
fn roots(mounts: &str) -> Vec<(PathBuf, Version)> {
    let mut found: Vec<(PathBuf, Version)> = mounts
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, folder, kind, options, ..] = fields[..] else { return None };
            match kind {
                "cgroup" if options.split(',').any(|option| option == "cpu") => Some((folder.into(), Version::One)),
                "cgroup2" => Some((folder.into(), Version::Two)),
                _ => None,
            }
        })
        .collect();
    found.sort_by_key(|(_, version)| *version == Version::Two);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_controller_is_found_by_its_own_name() {
        let mounts = "proc /proc proc rw 0 0\n\
            cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n\
            cgroup /sys/fs/cgroup/cpuset cgroup rw,relatime,cpuset 0 0\n\
            cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n";
        let found = roots(mounts);
        assert_eq!(found[0], (PathBuf::from("/sys/fs/cgroup/cpu,cpuacct"), Version::One));
        assert_eq!(found[1], (PathBuf::from("/sys/fs/cgroup/unified"), Version::Two));
        assert_eq!(found.len(), 2);
    }
}
