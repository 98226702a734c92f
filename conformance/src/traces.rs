//! What a run leaves on a machine while it goes on, and nothing of afterwards.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;

/// The processes below one, those nearest to it first.
pub fn below(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while at < found.len() {
        let tasks = fs::read_dir(format!("/proc/{}/task", found[at])).into_iter().flatten().flatten();
        let children = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
        let children: Vec<u32> =
            children.flat_map(|text| text.split_whitespace().flat_map(str::parse).collect::<Vec<_>>()).collect();
        found.extend(children);
        at += 1;
    }
    found.split_off(1)
}

pub fn is_running(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

const GROUPS: &str = "/sys/fs/cgroup";

/// What the whole machine has of dbduel and its servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traces {
    mounts: BTreeSet<String>,
    loop_devices: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    groups: BTreeSet<String>,
    /// Files in `/dev/shm`.
    shared: BTreeSet<String>,
    segments: BTreeSet<String>,
}

impl Traces {
    pub fn now() -> Result<Traces> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let segments = fs::read_to_string("/proc/sysvipc/shm")?;
        // Another one of these commands has a file system beside this one's.
        let is_left = |line: &&str| line.contains("dbduel") && !line.starts_with("tmpfs ");
        let segment = |line: &str| line.split_ascii_whitespace().nth(1).map(str::to_owned);
        Ok(Traces {
            mounts: mounts.lines().filter(is_left).map(str::to_owned).collect(),
            loop_devices: names("/sys/block")
                .filter(|name| fs::exists(format!("/sys/block/{name}/loop/backing_file")).unwrap_or(false))
                .collect(),
            namespaces: names("/run/netns").collect(),
            groups: names(GROUPS)
                .chain(names(GROUPS).flat_map(|name| names(&format!("{GROUPS}/{name}"))))
                .filter(|name| name.contains("dbduel"))
                .collect(),
            shared: names("/dev/shm").filter(|name| name.contains("PostgreSQL")).collect(),
            segments: segments.lines().skip(1).filter_map(segment).collect(),
        })
    }
}

/// None where there is no such folder.
fn names(folder: &str) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned())
}
