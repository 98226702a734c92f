//! A control group that gives a process no more memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::traces::is_running;

/// Less than any process has.
const LIMIT: &str = "65536";
const CHECK_EVERY: Duration = Duration::from_millis(10);

/// Where control groups of memory are, and what their limit is called; the older form is a file system of its own.
fn groups() -> Option<(&'static Path, &'static str)> {
    [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")]
        .into_iter()
        .map(|(root, limit)| (Path::new(root), limit))
        .find(|(root, limit)| {
            root.join("cgroup.procs").is_file()
                && (root.join(limit).is_file() || has_memory(&root.join("cgroup.subtree_control")))
        })
}

fn has_memory(controllers: &Path) -> bool {
    fs::read_to_string(controllers).is_ok_and(|text| text.split_whitespace().any(|one| one == "memory"))
}

pub fn can_be_taken_away() -> bool {
    groups().is_some()
}

/// The kernel kills it as soon as it asks for more; one that does not is let go.
pub fn take_away(pid: u32, at_most: Duration) -> Result<()> {
    let (root, limit) = groups().context("no control groups of memory here")?;
    let group = Group { path: root.join(format!("kill-{pid}")), root };
    fs::create_dir(&group.path).with_context(|| group.path.display().to_string())?;
    fs::write(group.path.join(limit), LIMIT)?;
    // It may have ended.
    let _ = group.take(pid, &group.path);
    let begun = Instant::now();
    while is_running(pid) && begun.elapsed() < at_most {
        std::thread::sleep(CHECK_EVERY);
    }
    Ok(())
}

struct Group<'a> {
    path: PathBuf,
    root: &'a Path,
}

impl Group<'_> {
    fn take(&self, pid: u32, group: &Path) -> std::io::Result<()> {
        fs::write(group.join("cgroup.procs"), pid.to_string())
    }
}

/// Its processes, and children that they had meanwhile, go back to where memory has no limit.
impl Drop for Group<'_> {
    fn drop(&mut self) {
        for _ in 0..100 {
            let left = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
            for pid in left.split_whitespace().filter_map(|pid| pid.parse().ok()) {
                let _ = self.take(pid, self.root);
            }
            if fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::sleep(CHECK_EVERY);
        }
        eprintln!("warning: {} stays", self.path.display());
    }
}
