//! How much memory a server may have: a control group of its own, in version 1 or 2 of the kernel's interface.
//!
//! The keeper joins the group before it starts the server, so that everything the server starts is in it from
//! its first byte on. The kernel charges a page to the process that touched it first: data that were in the page cache
//! before the start count for no process here. What must stay true: the group is gone when the [`MemoryLimit`] is,
//! and a server without the limit is never reported as limited.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

const PREFIX: &str = "dbduel-memory-";
const PROCESSES: &str = "cgroup.procs";
/// The kernel may hold on to a group for a moment after its last process has ended.
const REMOVALS: u32 = 40;
const REMOVAL_PAUSE: Duration = Duration::from_millis(25);

/// A group that holds a server and its keeper.
#[derive(Debug)]
pub struct MemoryLimit {
    folder: PathBuf,
}

/// Where groups can be made, and the name of the file that holds their limit.
#[derive(Debug, PartialEq, Eq)]
struct Limits {
    folder: PathBuf,
    limit: &'static str,
}

impl MemoryLimit {
    /// An empty group with this limit; the error gives the reason this host lets us make none.
    pub fn new(bytes: u64) -> Result<MemoryLimit> {
        let mounts = fs::read_to_string("/proc/self/mounts").context("cannot read /proc/self/mounts")?;
        let own = fs::read_to_string("/proc/self/cgroup").context("cannot read /proc/self/cgroup")?;
        let mut refused = Vec::new();
        for place in places(&mounts, &own) {
            match MemoryLimit::in_place(&place, bytes) {
                Ok(limit) => return Ok(limit),
                Err(error) => refused.push(format!("{}: {error:#}", place.folder.display())),
            }
        }
        let why = if refused.is_empty() { "no memory controller is mounted".to_owned() } else { refused.join("; ") };
        bail!(
            "the memory of a server cannot be limited on this host ({why})\n  next: run as root where the kernel has the memory controller, or take `memory` out"
        )
    }

    fn in_place(place: &Limits, bytes: u64) -> Result<MemoryLimit> {
        remove_left_over(&place.folder);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = place.folder.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&folder).context("no group can be made")?;
        let limit = MemoryLimit { folder };
        let file = limit.folder.join(place.limit);
        fs::write(&file, bytes.to_string()).with_context(|| format!("cannot write {}", place.limit))?;
        let in_force = fs::read_to_string(&file).with_context(|| format!("cannot read {} back", place.limit))?;
        // The kernel rounds down to whole pages.
        let page = 1 << 16;
        let holds = in_force.trim().parse::<u64>().is_ok_and(|found| found <= bytes && found + page > bytes);
        ensure!(holds, "asked for {bytes} bytes, and {} says {}", place.limit, in_force.trim());
        Ok(limit)
    }

    /// Where a process writes itself to be in the group.
    pub fn processes(&self) -> PathBuf {
        self.folder.join(PROCESSES)
    }

    /// Fails where a process is not in the group.
    pub fn confirm(&self, pid: u32) -> Result<()> {
        let members =
            fs::read_to_string(self.processes()).context("cannot see who is in the server's control group")?;
        let is_member = members.lines().any(|member| member.trim().parse() == Ok(pid));
        ensure!(is_member, "process {pid} of the server is not in the control group that limits its memory");
        Ok(())
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        for _ in 0..REMOVALS {
            match fs::remove_dir(&self.folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => std::thread::sleep(REMOVAL_PAUSE),
                _ => return,
            }
        }
    }
}

/// Groups that a killed dbduel left behind; one that is in use cannot be removed.
fn remove_left_over(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|rest| rest.split('-').next());
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Below our own group first, which may be limited itself; then at the controller's root.
fn places(mounts: &str, own: &str) -> Vec<Limits> {
    let mut places = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split(' ').collect();
        let [_, root, kind, options, ..] = fields[..] else { continue };
        let (limit, is_ours): (&'static str, fn(&str) -> bool) = match kind {
            "cgroup" if options.split(',').any(|option| option == "memory") => {
                ("memory.limit_in_bytes", |controllers| controllers.split(',').any(|one| one == "memory"))
            }
            "cgroup2" => ("memory.max", |controllers| controllers.is_empty()),
            _ => continue,
        };
        let of_group = own.lines().filter_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            is_ours(controllers).then(|| Path::new(root).join(path.trim_start_matches('/')))
        });
        let folders = of_group.filter(|folder| folder.is_dir()).chain([PathBuf::from(root)]);
        for folder in folders {
            if !places.iter().any(|known: &Limits| known.folder == folder) {
                places.push(Limits { folder, limit });
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_made_where_the_memory_controller_is() {
        let check = |mounts: &str, own: &str, expected: &[(&str, &str)]| {
            let found = places(mounts, own);
            let found: Vec<(&str, &str)> =
                found.iter().map(|place| (place.folder.to_str().unwrap(), place.limit)).collect();
            assert_eq!(found, expected, "{mounts}");
        };
        let first = "cgroup /cg/memory cgroup rw,memory 0 0\ncgroup /cg/cpu cgroup rw,cpu 0 0\n";
        check(first, "4:memory:/x/y\n1:cpu:/\n", &[("/cg/memory", "memory.limit_in_bytes")]);
        check("cgroup2 /cg cgroup2 rw 0 0\n", "0::/\n", &[("/cg/", "memory.max"), ("/cg", "memory.max")][1..]);
        check("tmpfs /tmp tmpfs rw 0 0\n", "0::/\n", &[]);
    }

    #[test]
    fn a_limit_holds_while_it_is_kept_or_gives_the_reason() {
        match MemoryLimit::new(64 << 20) {
            Ok(limit) => {
                let folder = limit.folder.clone();
                assert!(limit.confirm(std::process::id()).is_err());
                drop(limit);
                assert!(!folder.exists());
            }
            Err(error) => assert!(error.to_string().contains("cannot be limited on this host"), "{error}"),
        }
    }
}
