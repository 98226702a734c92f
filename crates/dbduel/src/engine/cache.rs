//! Where servers, templates, snapshots and running data directories lie.
//!
//! The cache outlives dbduel; a work folder belongs to one process and dies with it. This module
//! knows folders and locks, not what lies in them. What must stay true: a folder that a live
//! dbduel holds is never removed by another one, and every folder above a data directory can be
//! entered (not read) by the account a server runs under.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::experiment::Storage;

/// The longest path a Unix socket may have, the closing NUL not counted.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Room that a socket's own folder and file name take below the work folder.
const SOCKET_NAME_BYTES: usize = 40;

/// The folder that keeps servers, templates and snapshots between runs.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    work: PathBuf,
}

/// One line of `dbduel cache`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// `server`, `template`, `snapshot`, `package client` or `twins`.
    pub kind: &'static str,
    pub name: String,
    pub bytes: u64,
}

impl Cache {
    /// Opens (and makes) the cache that the environment names, and removes what killed dbduels
    /// left in the work folder.
    pub fn open() -> Result<Cache> {
        let root = default_root()?;
        Cache::at(&root, &work_root(&root))
    }

    /// The cache that the environment names, where there is one; makes and removes nothing.
    pub fn existing() -> Result<Option<Cache>> {
        let root = default_root()?;
        let work = work_root(&root);
        Ok(root.is_dir().then_some(Cache { root, work }))
    }

    /// Opens a cache at given places; `open` is this with the places of the environment.
    pub fn at(root: &Path, work: &Path) -> Result<Cache> {
        for folder in [root, work] {
            make_entrance(folder)?;
        }
        let cache = Cache { root: fs::canonicalize(root)?, work: fs::canonicalize(work)? };
        for part in ["servers", "templates", "snapshots", "tmp", "locks"] {
            make_entrance(&cache.root.join(part))?;
        }
        sweep_leftovers(&cache.work)?;
        Ok(cache)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Below it lie the data directories of what is loaded or measured.
    pub fn work_root(&self) -> &Path {
        &self.work
    }

    pub fn servers(&self) -> PathBuf {
        self.root.join("servers")
    }

    pub fn templates(&self) -> PathBuf {
        self.root.join("templates")
    }

    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// The file in which twins are remembered; it is not freed with the rest.
    pub fn twins(&self) -> PathBuf {
        self.root.join("twins.ndjson")
    }

    /// A folder of its own for this process, below the place the environment names.
    pub fn work(&self) -> Result<WorkFolder> {
        WorkFolder::new(&self.work)
    }

    /// A folder of its own for this process on the storage a contender asked for.
    pub fn work_on(&self, storage: &Storage) -> Result<WorkFolder> {
        match storage {
            Storage::Disk => self.work(),
            Storage::Tmpfs => on_other_storage(&PathBuf::from(format!("/dev/shm/dbduel-{}", nix::unistd::getuid()))),
            Storage::Directory(base) => {
                let known = base.is_dir();
                anyhow::ensure!(known, "storage folder {} does not exist; make it first", base.display());
                on_other_storage(&base.join("dbduel-work"))
            }
        }
    }

    /// Waits until no other dbduel holds the lock `name`; it is free again when the file is dropped.
    pub fn lock(&self, name: &str, progress: &dyn Fn(&str)) -> Result<File> {
        let file = lock_file(&self.root.join("locks").join(name))?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                progress(&format!("waiting for another dbduel that works on the cache ({name})"))
            }
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the cache"),
        }
        file.lock().context("cannot lock the cache")?;
        Ok(file)
    }

    /// A fresh folder for half-finished work, on the same file system as the cache, so that the
    /// finished thing can be renamed into place. Removed when dropped.
    pub fn scratch(&self) -> Result<WorkFolder> {
        WorkFolder::new(&self.root.join("tmp"))
    }

    /// What lies here, largest first within each kind.
    pub fn contents(&self) -> Result<Vec<CacheEntry>> {
        let mut entries = Vec::new();
        for (kind, folder) in
            [("server", self.servers()), ("template", self.templates()), ("snapshot", self.snapshots())]
        {
            let mut of_kind = Vec::new();
            for entry in read_folder(&folder)? {
                let name = entry.file_name().to_string_lossy().into_owned();
                of_kind.push(CacheEntry { kind, name, bytes: tree_bytes(&entry.path())? });
            }
            of_kind.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(&b.name)));
            entries.extend(of_kind);
        }
        let maven = self.root.join("maven");
        if maven.is_dir() {
            // Maven's own plugins; what it fetched for us went after use.
            entries.push(CacheEntry { kind: "package client", name: "maven".into(), bytes: tree_bytes(&maven)? });
        }
        if self.twins().is_file() {
            let name = "what `dbduel aa` has seen on this host".to_owned();
            entries.push(CacheEntry { kind: "twins", name, bytes: tree_bytes(&self.twins())? });
        }
        Ok(entries)
    }

    /// Removes servers, templates and snapshots; says how many bytes that freed.
    ///
    /// A dbduel that is running keeps its work folder, and is waited for while it fetches. What twins have
    /// shown stays: it takes hours to learn, and no room.
    pub fn clear(&self) -> Result<u64> {
        let _lock = self.lock("servers", &|_| {})?;
        let mut freed = 0;
        for folder in [self.servers(), self.templates(), self.snapshots(), self.root.join("maven")] {
            for entry in read_folder(&folder)? {
                freed += tree_bytes(&entry.path())?;
                remove_tree(&entry.path())?;
            }
        }
        sweep_leftovers(&self.root.join("tmp"))?;
        Ok(freed)
    }
}

/// A private folder of this process. Others see by its lock that it is in use; dropping removes it.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    /// Where sockets go when `path` is too long for one.
    short: Option<PathBuf>,
    _lock: File,
}

impl WorkFolder {
    fn new(base: &Path) -> Result<WorkFolder> {
        // Nobody may sweep between the making of the folder and the taking of its lock.
        let _gate = gate(base)?;
        let path = fresh_folder(base, "")?;
        let lock = lock_file(&path.join("lock"))?;
        lock.try_lock().with_context(|| format!("cannot lock {}", path.display()))?;
        let too_long = path.as_os_str().len() + SOCKET_NAME_BYTES > SOCKET_PATH_BYTES_MAX;
        let short = too_long.then(|| fresh_folder(&std::env::temp_dir(), "dbduel-")).transpose()?;
        if let Some(short) = &short {
            // Read by whoever sweeps this folder after a kill.
            fs::write(path.join("short"), short.as_os_str().as_encoded_bytes())?;
        }
        Ok(WorkFolder { path, short, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What all files below it take.
    pub fn bytes(&self) -> Result<u64> {
        tree_bytes(&self.path)
    }

    /// Below this, a folder and a file of forty bytes together still make a valid socket path.
    pub fn for_sockets(&self) -> &Path {
        self.short.as_deref().unwrap_or(&self.path)
    }
}

/// A folder in the system's temporary one, for a look that needs no cache; removed when dropped.
pub struct Aside(PathBuf);

impl Aside {
    pub fn new() -> Result<Aside> {
        fresh_folder(&std::env::temp_dir(), "dbduel-look-").map(Aside)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = remove_tree(&self.0);
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // A failure here leaves a folder whose lock is free: the next start removes it.
        let _ = remove_tree(&self.path);
        if let Some(short) = &self.short {
            let _ = remove_tree(short);
        }
    }
}

fn work_root(root: &Path) -> PathBuf {
    std::env::var_os("DBDUEL_WORK").map_or_else(|| root.join("work"), PathBuf::from)
}

fn default_root() -> Result<PathBuf> {
    if let Some(folder) = std::env::var_os("DBDUEL_CACHE") {
        return Ok(folder.into());
    }
    if nix::unistd::geteuid().is_root() {
        // Servers that refuse to run as root must be able to enter it.
        return Ok("/var/cache/dbduel".into());
    }
    if let Some(folder) = std::env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()) {
        return Ok(PathBuf::from(folder).join("dbduel"));
    }
    match std::env::var_os("HOME") {
        Some(home) => Ok(PathBuf::from(home).join(".cache/dbduel")),
        None => bail!("cannot find a folder for the cache: set DBDUEL_CACHE or HOME"),
    }
}

fn on_other_storage(base: &Path) -> Result<WorkFolder> {
    make_entrance(base)?;
    sweep_leftovers(base)?;
    WorkFolder::new(base)
}

/// Makes a folder that others may enter but not list, as `interface.md` asks above data directories.
pub(super) fn make_entrance(folder: &Path) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o711))?;
    Ok(())
}

fn fresh_folder(base: &Path, prefix: &str) -> Result<PathBuf> {
    for attempt in 0u32..1000 {
        let path = base.join(format!("{prefix}{}-{attempt}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o711))?;
                return Ok(path);
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {}", path.display())),
        }
    }
    bail!("cannot make a folder of its own below {}", base.display())
}

fn lock_file(path: &Path) -> Result<File> {
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .with_context(|| format!("cannot open {}", path.display()))
}

fn gate(base: &Path) -> Result<File> {
    let gate = lock_file(&base.join(".gate"))?;
    gate.lock().with_context(|| format!("cannot lock {}", base.display()))?;
    Ok(gate)
}

/// Removes the work folders below `base` whose owner is gone: nobody holds their lock.
fn sweep_leftovers(base: &Path) -> Result<()> {
    let _gate = gate(base)?;
    for entry in read_folder(base)? {
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let lock = lock_file(&entry.path().join("lock"))?;
        if lock.try_lock().is_ok() {
            if let Ok(short) = fs::read_to_string(entry.path().join("short")) {
                remove_tree(Path::new(&short))?;
            }
            remove_tree(&entry.path())?;
        }
    }
    Ok(())
}

pub(super) fn remove_tree(path: &Path) -> Result<()> {
    let removed = if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The entries of a folder; none when it does not exist.
pub(super) fn read_folder(folder: &Path) -> Result<Vec<fs::DirEntry>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    entries.collect::<std::io::Result<_>>().with_context(|| format!("cannot read {}", folder.display()))
}

pub(super) fn tree_bytes(path: &Path) -> Result<u64> {
    let meta = path.symlink_metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    read_folder(path)?.iter().map(|entry| tree_bytes(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_killed_process_leaves_nothing_but_a_live_one_keeps_its_folder() {
        let base = tempfile::tempdir().unwrap();
        let (root, work) = (base.path().join("cache"), base.path().join("work"));
        let cache = Cache::at(&root, &work).unwrap();
        let live = cache.work().unwrap();
        let dead = work.join("1-0");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        Cache::at(&root, &work).unwrap();
        assert!(live.path().is_dir());
        assert!(!dead.exists());
    }

    #[test]
    fn a_work_folder_goes_when_it_is_dropped() {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::at(base.path(), &base.path().join("work")).unwrap();
        let folder = cache.work().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("data"), "x").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn sockets_get_a_short_folder_when_the_work_folder_is_deep() {
        let base = tempfile::tempdir().unwrap();
        let deep = base.path().join("d".repeat(100));
        let cache = Cache::at(base.path(), &deep).unwrap();
        let folder = cache.work().unwrap();
        let sockets = folder.for_sockets().to_owned();
        assert!(sockets.as_os_str().len() + SOCKET_NAME_BYTES <= SOCKET_PATH_BYTES_MAX);
        assert!(sockets.is_dir());
        drop(folder);
        assert!(!sockets.exists());
    }

    #[test]
    fn contents_are_sized_and_clearing_frees_them() {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::at(base.path(), &base.path().join("work")).unwrap();
        fs::create_dir(cache.servers().join("mysql-5.5.9")).unwrap();
        fs::write(cache.servers().join("mysql-5.5.9/mysqld"), [0; 1000]).unwrap();
        fs::write(cache.twins(), "{}\n").unwrap();
        let expected = CacheEntry { kind: "server", name: "mysql-5.5.9".into(), bytes: 1000 };
        let [server, twins] = &cache.contents().unwrap()[..] else { panic!("two things lie there") };
        assert_eq!((server, twins.kind, twins.bytes), (&expected, "twins", 3));
        assert_eq!(cache.clear().unwrap(), 1000);
        assert_eq!(cache.contents().unwrap().len(), 1, "what twins have shown is kept");
    }
}
