//! This machine: what it is, where the load generator sits on it, and who may measure now.

mod facts;
mod hardware;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use procfs::Current;

use crate::observe;
use engine::storage_of;
use record::format::HostRecord;

/// With fewer CPUs than this, client and server share them all.
const CPUS_TO_SHARE_OUT: usize = 4;

/// Somebody asked dbduel to stop; the trial counts as not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Where the load generator sits on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCpus {
    pub workers: u32,
    /// Empty where client and server share all CPUs.
    pub cpus: Vec<usize>,
    /// The server's CPUs; empty where it may run on all.
    pub server_cpus: Vec<usize>,
    /// How many CPUs the engine may run on, its own or the generator's.
    pub engine_cores: usize,
}

impl ClientCpus {
    /// A worker for each CPU of its own, and one where it shares all `cpus` of this process.
    pub fn new(client: &[usize], server: &[usize], cpus: usize) -> ClientCpus {
        ClientCpus {
            workers: client.len().max(1) as u32,
            cpus: client.to_vec(),
            server_cpus: server.to_vec(),
            engine_cores: if server.is_empty() { cpus } else { server.len() },
        }
    }

    /// CPUs that no server shares with it.
    pub fn own_cores(&self) -> usize {
        self.cpus.iter().filter(|cpu| !self.server_cpus.contains(cpu)).count()
    }

    /// Twice the threads, and twice the cores where the clients have cores of their own. The cores that are added
    /// are the server's: one that waits for its generator leaves them idle, and one that does not can only
    /// lose by sharing them, so that a rise still means that the generator was the limit.
    pub fn doubled(&self) -> ClientCpus {
        let lent = self.server_cpus.iter().rev().take(self.cpus.len());
        let cpus = self.cpus.iter().chain(lent).copied().collect();
        ClientCpus { workers: self.workers * 2, cpus, ..self.clone() }
    }
}

/// Describes the host as the report will show it; what cannot be seen is marked so.
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
        facts: facts::facts(work).into_iter().chain(hardware::facts(work)).collect(),
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
/// Only the group that is the root for this process is read, which is the container's in a container.
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

/// Where the generator sits by default.
pub fn client_cpus() -> ClientCpus {
    let cpus = cpus();
    let (server, client) = shared_out(&cpus);
    ClientCpus::new(client, server, cpus.len())
}

/// The server's CPUs and the client's: the last quarter is the client's, the rest the server's. Too few are
/// shared, and then both are empty.
pub fn shared_out(cpus: &[usize]) -> (&[usize], &[usize]) {
    if cpus.len() < CPUS_TO_SHARE_OUT { (&[], &[]) } else { cpus.split_at(cpus.len() - cpus.len() / 4) }
}

/// Lets this process open the files that all clients need at once; fails where it may not.
pub fn expect_open_files(of_clients: u64) -> Result<()> {
    expect_to_fit(of_clients, engine::raise_open_files(OPEN_FILES_MAX))
}

fn expect_to_fit(of_clients: u64, may: u64) -> Result<()> {
    let needed = of_clients + FILES_BESIDE_CLIENTS;
    ensure!(
        needed <= may,
        "the clients need {of_clients} open files, dbduel up to {FILES_BESIDE_CLIENTS} more, and this process may open {may}\n  next: raise the limit (`ulimit -Hn {needed}` as root, in the shell that starts dbduel), or use fewer clients"
    );
    Ok(())
}

/// Held while this process measures: two measurements on one host would measure each other.
pub struct HostLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

/// How often a waiting dbduel checks whether it is its turn, or has been interrupted.
const TURN_POLL: Duration = Duration::from_millis(100);
/// What is read of a holder's name.
const HOLDER_BYTES_MAX: u64 = 300;

/// More than the clients of any run need.
const OPEN_FILES_MAX: u64 = 1 << 20;
/// Logs, observers and sockets of servers.
const FILES_BESIDE_CLIENTS: u64 = 200;

/// Waits for its turn; `print` gets the process that is waited for. Whoever waits for this one reads until when it is
/// expected to take, where that is known.
pub fn lock(
    name: &str,
    expected: Option<Duration>,
    interrupted: &AtomicBool,
    print: &dyn Fn(&str),
) -> Result<HostLock> {
    let until = || {
        let end = jiff::Timestamp::now().checked_add(jiff::SignedDuration::try_from(expected?).ok()?).ok()?;
        Some(format!(", until about {} UTC at the latest", end.strftime("%Y-%m-%d %H:%M")))
    };
    lock_at(&lock_path(), (name, &until), interrupted, print)
}

/// Where the lock for measuring lies.
fn lock_path() -> std::path::PathBuf {
    std::env::temp_dir().join("dbduel-measuring.lock")
}

/// Whether another measurement goes on, so that [`lock`] would wait.
pub fn is_locked() -> bool {
    open_existing(&lock_path()).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

fn lock_at(
    path: &Path,
    (name, until): (&str, &dyn Fn() -> Option<String>),
    interrupted: &AtomicBool,
    print: &dyn Fn(&str),
) -> Result<HostLock> {
    let opened = open_lock(path);
    let mut file = opened.with_context(|| format!("cannot open the lock for measuring, {}", path.display()))?;
    let owner = expect_lock_file(&file, path)?;
    let mut printed = false;
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the host for measuring"),
        }
        if !std::mem::replace(&mut printed, true) {
            print(&format!(
                "waiting for {}, which measures on this host (it holds {})",
                holder(&mut file)?,
                path.display()
            ));
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        std::thread::sleep(TURN_POLL);
    }
    // Nothing is written into what another user made.
    if owner == nix::unistd::geteuid().as_raw() {
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "`{name}` (process {}{})", std::process::id(), until().unwrap_or_default())?;
    }
    Ok(HostLock(file))
}

/// Fails if the file is not a lock as dbduel makes it; gives its owner.
fn expect_lock_file(file: &File, path: &Path) -> Result<u32> {
    let meta = file.metadata()?;
    ensure!(
        meta.is_file() && meta.nlink() == 1,
        "{} is no lock file that dbduel made\n  next: remove it, or have its owner (uid {}) do so",
        path.display(),
        meta.uid()
    );
    Ok(meta.uid())
}

/// Who holds the lock, as the file has it; another user may have written anything there.
fn holder(file: &mut File) -> Result<String> {
    let mut holder = Vec::new();
    file.take(HOLDER_BYTES_MAX).read_to_end(&mut holder)?;
    let holder: String = String::from_utf8_lossy(&holder).chars().filter(|letter| !letter.is_control()).collect();
    Ok(if holder.is_empty() { "another dbduel".to_owned() } else { holder })
}

/// One file for all users of the host, whoever measured first; one that is another user's is locked without being
/// written. Kernels refuse to *create* what another user has in a shared folder, so it is opened first; and a link or
/// a pipe in its place leads nowhere.
fn open_lock(path: &Path) -> std::io::Result<File> {
    match open_existing(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        opened => return opened,
    }
    match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => open_existing(path),
        created => {
            let file = created?;
            // Not by the mode of the call, which the umask would narrow.
            file.set_permissions(fs::Permissions::from_mode(0o644))?;
            Ok(file)
        }
    }
}

fn open_existing(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => options.write(false).open(path),
        opened => opened,
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

    #[test]
    fn more_connections_than_files_are_refused_with_the_limit_to_ask_for() {
        expect_to_fit(824, 1024).unwrap();
        let error = expect_to_fit(825, 1024).unwrap_err().to_string();
        assert!(error.contains("ulimit -Hn 1025") && error.contains("may open 1024"), "{error}");
    }

    #[test]
    fn a_lock_file_that_dbduel_did_not_make_is_neither_written_nor_waited_on() {
        let base = tempfile::tempdir().unwrap();
        let (path, letter) = (base.path().join("lock"), base.path().join("letter"));
        fs::write(&letter, "dear").unwrap();
        let plants: [(&str, &dyn Fn()); 4] = [
            ("a link", &|| std::os::unix::fs::symlink(&letter, &path).unwrap()),
            ("a second name of a file", &|| fs::hard_link(&letter, &path).unwrap()),
            ("a pipe", &|| nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap()),
            ("a folder", &|| fs::create_dir(&path).unwrap()),
        ];
        for (what, plant) in plants {
            plant();
            assert!(lock_at(&path, ("run", &|| None), &AtomicBool::new(false), &|_| {}).is_err(), "{what}");
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
        assert_eq!(fs::read_to_string(&letter).unwrap(), "dear");
        drop(lock_at(&path, ("run", &|| None), &AtomicBool::new(false), &|_| {}).unwrap());
        assert!(fs::read_to_string(&path).unwrap().starts_with("`run` (process "));
    }

    #[test]
    fn whoever_waits_reads_until_when() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("lock");
        let until = || Some(", until about 2031-05-04 10:15 UTC at the latest".to_owned());
        let _held = lock_at(&path, ("run", &until), &AtomicBool::new(false), &|_| {}).unwrap();
        let printed = std::cell::RefCell::new(String::new());
        let wait =
            lock_at(&path, ("other", &|| None), &AtomicBool::new(true), &|line| printed.borrow_mut().push_str(line));
        assert!(wait.is_err());
        let expected =
            format!("`run` (process {}, until about 2031-05-04 10:15 UTC at the latest)", std::process::id());
        assert!(printed.borrow().starts_with(&format!("waiting for {expected}, which measures")), "{printed:?}");
    }

    #[test]
    fn whoever_waits_reads_a_short_plain_name() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("lock");
        fs::write(&path, format!("\x1b[2J\n{}", "x".repeat(1 << 20))).unwrap();
        let held = File::open(&path).unwrap();
        held.lock().unwrap();
        let printed = std::cell::RefCell::new(String::new());
        let ended =
            lock_at(&path, ("run", &|| None), &AtomicBool::new(true), &|line| printed.borrow_mut().push_str(line));
        assert!(ended.is_err_and(|error| error.is::<Interrupted>()));
        let printed = printed.into_inner();
        assert!(printed.len() < 500 && printed.contains("[2Jxx") && !printed.contains(char::is_control), "{printed}");
    }

    #[test]
    fn doubled_client_cpus_take_their_cores_from_the_server() {
        let own = ClientCpus::new(&[3], &[0, 1, 2], 4);
        assert_eq!((own.workers, own.engine_cores), (1, 3));
        assert_eq!(own.doubled(), ClientCpus { workers: 2, cpus: vec![3, 2], ..own });
        let shared = ClientCpus::new(&[], &[], 2);
        assert_eq!(shared.doubled(), ClientCpus { workers: 2, ..shared });
    }
}
