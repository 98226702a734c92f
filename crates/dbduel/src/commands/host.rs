//! This machine: what it is, where the load generator sits on it, and who may measure now.

mod facts;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use procfs::Current;

use crate::engine::storage_of;
use crate::observe;
use crate::store::format::HostRecord;
use crate::trial::{ClientSeat, Interrupted};

/// With fewer CPUs than this, client and server share them all.
const CPUS_TO_SHARE_OUT: usize = 4;

/// Describes the host as the report will show it; what cannot be seen says so.
pub fn describe(work: &Path) -> HostRecord {
    let unseen = || "not visible here".to_owned();
    let model = procfs::CpuInfo::current().ok().and_then(|info| info.model_name(0).map(str::to_owned));
    HostRecord {
        cpu_model: model.unwrap_or_else(unseen),
        cores: cpus().len() as u32,
        memory_bytes: procfs::Meminfo::current().map_or(0, |memory| memory.mem_total),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease")
            .map_or_else(|_| unseen(), |text| text.trim().to_owned()),
        storage: storage_of(work).map_or_else(unseen, |storage| storage.file_system),
        virtualisation: virtualisation(),
        facts: facts::facts(work),
        not_visible: observe::not_visible(),
    }
}

fn virtualisation() -> String {
    let flags =
        procfs::CpuInfo::current().ok().and_then(|info| info.flags(0).map(|flags| flags.contains(&"hypervisor")));
    let product = fs::read_to_string("/sys/class/dmi/id/product_name").unwrap_or_default();
    match (flags, product.trim()) {
        (Some(true), "") => "virtual machine".to_owned(),
        (Some(true), product) => format!("virtual machine ({product})"),
        (Some(false), _) => "none seen".to_owned(),
        (None, _) => "not visible here".to_owned(),
    }
}

/// What a server that is started here may have at most: the machine's memory, or what a control group allows.
/// Only the group that this process sees as its root is asked, which is the container's in a container.
pub fn memory_bytes() -> u64 {
    let machine = procfs::Meminfo::current().map_or(0, |memory| memory.mem_total);
    let limits = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    limits.iter().filter_map(|path| limit(path)).fold(machine, u64::min)
}

/// The CPUs this process may use, ascending.
pub fn cpus() -> Vec<usize> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0));
    let allowed =
        set.map(|set| (0..nix::sched::CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).collect());
    allowed.unwrap_or_else(|_| vec![0])
}

/// Where the generator sits when nobody says otherwise.
pub fn seat() -> ClientSeat {
    let cpus = cpus();
    let (server, client) = shared_out(&cpus);
    ClientSeat::new(client, server, cpus.len())
}

/// The server's CPUs and the client's: the last quarter is the client's, the rest the server's. Too few are
/// shared, and then both are empty.
pub fn shared_out(cpus: &[usize]) -> (&[usize], &[usize]) {
    if cpus.len() < CPUS_TO_SHARE_OUT { (&[], &[]) } else { cpus.split_at(cpus.len() - cpus.len() / 4) }
}

/// Held while this process measures: two measurements on one host would measure each other.
pub struct HostLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

/// How often a waiting dbduel looks whether it is its turn, or has been interrupted.
const TURN_POLL: Duration = Duration::from_millis(100);

/// Waits for its turn; `say` hears for whom.
pub fn lock(name: &str, interrupted: &AtomicBool, say: &dyn Fn(&str)) -> Result<HostLock> {
    let path = std::env::temp_dir().join("dbduel-measuring.lock");
    let opened = open_lock(&path);
    let mut file = opened.with_context(|| format!("cannot open the lock for measuring, {}", path.display()))?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the host for measuring"),
        }
        if !std::mem::replace(&mut told, true) {
            say(&format!("waiting for {}, which measures on this host", holder(&mut file)?));
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        std::thread::sleep(TURN_POLL);
    }
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "`{name}` (process {})", std::process::id())?;
    Ok(HostLock(file))
}

fn holder(file: &mut File) -> Result<String> {
    let mut holder = String::new();
    file.read_to_string(&mut holder)?;
    Ok(if holder.is_empty() { "another dbduel".to_owned() } else { holder.trim().to_owned() })
}

/// One file for all users of the host, whoever measured first. Kernels refuse to *create* what
/// another user has in a shared folder, so it is opened first; and nobody is led elsewhere by a link.
fn open_lock(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => options.create_new(false).open(path),
        created => {
            let file = created?;
            // Not by the mode of the call, which the umask would narrow.
            file.set_permissions(fs::Permissions::from_mode(0o666))?;
            Ok(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_quarter_of_the_cpus_is_the_client_s() {
        let (server, client) = shared_out(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((server.len(), client), (6, &[6, 7][..]));
        assert_eq!(shared_out(&[0, 1, 2, 3, 4]).1, [4]);
        assert!(shared_out(&[0, 1]).1.is_empty());
    }
}
