//! Where servers, templates, snapshots and running data directories lie.
//!
//! The cache outlives dbduel; a work folder belongs to one process and dies with it. This module
//! handles folders and locks, not what lies in them. What must stay true: a folder that a live
//! dbduel holds is never removed by another one, nothing that dbduel did not make is touched
//! (`own_folder.rs`), and every folder above a data directory can be entered (not read) by the
//! account a server runs under.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use record::own_file::{lock_file, own_file};

use super::keeper::is_ended;
use super::own_folder::{
    FOLDERS_MAX, claim, claim_in_public, expect_safe_place, expect_usable, is_own_folder, is_work_name, resolved,
};
use crate::request::Storage;

pub use super::folders::{read_folder, remove_tree};
pub(super) use super::own_folder::make_entrance;

/// The longest path a Unix socket may have, the closing NUL not counted.
const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Room that a socket's own folder and file name take below the work folder.
const SOCKET_NAME_BYTES: usize = 40;
/// What the name of a short folder for sockets begins with.
const SHORT_PREFIX: &str = "dbduel-";
/// More than any path has.
const PATH_BYTES_MAX: u64 = 4096;

/// How often a waiting dbduel checks whether a lock is free, or it has been interrupted.
const LOCK_POLL: Duration = Duration::from_millis(100);

/// The folders of a cache.
const PARTS: [&str; 6] = ["servers", "templates", "snapshots", "tmp", "locks", MAVEN];
/// Maven's own plugins; it is there once Maven has fetched something.
const MAVEN: &str = "maven";

/// Locked by every dbduel that uses the cache.
const USERS: &str = "locks/users";

/// The folder that keeps servers, templates and snapshots between runs.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
    work: PathBuf,
    /// Held shared by every dbduel that uses the cache, and alone by the one that clears it.
    users: Arc<File>,
    /// Where fetched layers lie, from the first image on.
    layers: Arc<Mutex<Option<WorkFolder>>>,
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
        let Some(users) = own_file(&root.join(USERS)) else { return Ok(None) };
        users.lock_shared().context("cannot lock the cache")?;
        Ok(Some(Cache { root, work, users: Arc::new(users), layers: Arc::default() }))
    }

    /// Opens a cache at given places; `open` is this with the places of the environment.
    pub fn at(root: &Path, work: &Path) -> Result<Cache> {
        let (root, work) = (resolved(root)?, resolved(work)?);
        refuse_overlap(&root, &work)?;
        let [for_root, for_work] = [("DBDUEL_CACHE", &root), ("DBDUEL_WORK", &work)].map(another_folder);
        expect_usable(&root, &for_root)?;
        expect_usable(&work, &for_work)?;
        claim(&root, &for_root)?;
        for part in PARTS {
            make_part(&root.join(part))?;
        }
        claim(&work, &for_work)?;
        let users = lock_file(&root.join(USERS))?;
        // It is taken alone only for as long as folders are renamed.
        users.lock_shared().context("cannot lock the cache")?;
        let cache = Cache { root, work, users: Arc::new(users), layers: Arc::default() };
        for folder in [&cache.work, &cache.root.join("tmp")] {
            sweep_leftovers(folder)?;
        }
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

    /// The file of A/A results; it is not freed with the rest.
    pub fn aa_history(&self) -> PathBuf {
        self.root.join("twins.ndjson")
    }

    /// Which image a name meant when it was last asked for.
    pub fn image_names(&self) -> PathBuf {
        self.root.join("image-names.json")
    }

    /// Where the layers of images are kept that one command fetches: those that they have in common are fetched once.
    /// The folder goes with the last copy of this handle.
    pub fn layers(&self) -> Result<PathBuf> {
        let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
        if layers.is_none() {
            *layers = Some(self.scratch()?);
        }
        Ok(layers.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default())
    }

    /// A folder of its own for this process, below the place the environment names.
    pub fn work(&self) -> Result<WorkFolder> {
        WorkFolder::new(&self.work)
    }

    /// A folder of its own for this process on the storage a contender asked for.
    pub fn work_on(&self, storage: &Storage) -> Result<WorkFolder> {
        match storage {
            Storage::Disk => self.work(),
            Storage::Tmpfs => {
                let folder = PathBuf::from(format!("/dev/shm/dbduel-{}", nix::unistd::geteuid()));
                on_other_storage(&folder, "remove it, or have its owner do so")
            }
            Storage::Directory(base) => {
                let known = base.is_dir();
                ensure!(known, "storage folder {} does not exist; make it first", base.display());
                on_other_storage(&base.join("dbduel-work"), "name another folder with `storage`")
            }
        }
    }

    /// Waits until no other dbduel holds the lock `name`; it is free again when the file is dropped.
    pub fn lock(&self, name: &str, progress: &dyn Fn(&str)) -> Result<File> {
        let file = lock_file(&self.root.join("locks").join(name))?;
        wait_for_lock(&file, &|| progress(&format!("waiting for another dbduel that works on the cache ({name})")))?;
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
        let maven = self.root.join(MAVEN);
        if !read_folder(&maven)?.is_empty() {
            entries.push(CacheEntry { kind: "package client", name: "maven".into(), bytes: tree_bytes(&maven)? });
        }
        if self.aa_history().is_file() {
            let name = "what `dbduel aa` has seen on this host".to_owned();
            entries.push(CacheEntry { kind: "twins", name, bytes: tree_bytes(&self.aa_history())? });
        }
        Ok(entries)
    }

    /// Removes servers, templates and snapshots; returns how many bytes that freed.
    ///
    /// A dbduel that uses the cache is waited for. A/A results stay: they take hours to measure, and no space.
    pub fn clear(&self, progress: &dyn Fn(&str)) -> Result<u64> {
        let removed = self.scratch()?;
        self.without_others(progress, || {
            for folder in [self.servers(), self.templates(), self.snapshots(), self.root.join(MAVEN)] {
                let into = removed.path().join(folder.file_name().expect("each has a name"));
                fs::create_dir(&into)?;
                for entry in read_folder(&folder)? {
                    fs::rename(entry.path(), into.join(entry.file_name()))
                        .with_context(|| format!("cannot remove {}", entry.path().display()))?;
                }
            }
            match fs::remove_file(self.image_names()) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
                _ => Ok(()),
            }
        })?;
        remove_folders_in(removed.path())
    }

    /// Does something while no other dbduel uses the cache; waits for those that do.
    pub(super) fn without_others(&self, progress: &dyn Fn(&str), work: impl FnOnce() -> Result<()>) -> Result<()> {
        wait_for_lock(&self.users, &|| progress("waiting for another dbduel that uses the cache"))?;
        let worked = work();
        self.users.lock_shared().context("cannot lock the cache")?;
        worked
    }
}

/// What a user can do about a folder that dbduel does not use.
fn another_folder((variable, folder): (&str, &PathBuf)) -> String {
    format!(
        "set {variable} to a new or empty folder, for example {}; or delete this one, if only an earlier dbduel used it",
        folder.join("dbduel").display()
    )
}

/// A work folder inside what `clear` empties, or around the cache, could not be swept safely.
fn refuse_overlap(root: &Path, work: &Path) -> Result<()> {
    let inside = work.strip_prefix(root).ok().and_then(|inside| inside.iter().next());
    let overlaps =
        inside.is_some_and(|part| PARTS.iter().any(|known| part == *known)) || (root != work && root.starts_with(work));
    ensure!(
        !overlaps,
        "DBDUEL_WORK ({}) and DBDUEL_CACHE ({}) lie within one another\n  next: name folders that lie beside one another",
        work.display(),
        root.display()
    );
    Ok(())
}

/// A folder of the cache; not a link, behind which may lie anything.
fn make_part(folder: &Path) -> Result<()> {
    make_entrance(folder)?;
    ensure!(
        folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()),
        "{} is a symbolic link: dbduel deletes nothing behind it\n  next: remove the link; DBDUEL_CACHE may name a folder on another disk",
        folder.display()
    );
    Ok(())
}

/// A private folder of this process. Its lock shows others that it is in use; dropping removes it.
#[derive(Debug)]
pub struct WorkFolder {
    path: PathBuf,
    /// Where sockets go when `path` is too long for one.
    short: Option<PathBuf>,
    _locks: Vec<File>,
}

impl WorkFolder {
    fn new(base: &Path) -> Result<WorkFolder> {
        // Nobody may sweep between the making of the folder and the taking of its lock.
        let _gate = gate(base)?;
        let (path, lock) = new_folder(base, "")?;
        let mut folder = WorkFolder { path, short: None, _locks: vec![lock] };
        if folder.path.as_os_str().len() + SOCKET_NAME_BYTES > SOCKET_PATH_BYTES_MAX {
            let public = std::env::temp_dir();
            expect_safe_place(&public)?;
            let (short, lock) = new_folder(&public, SHORT_PREFIX)?;
            folder._locks.push(lock);
            // Read by the process that sweeps this folder after a kill.
            fs::write(folder.path.join("short"), short.as_os_str().as_encoded_bytes())?;
            folder.short = Some(short);
        }
        Ok(folder)
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

/// A folder in the system's temporary one, for work that needs no cache; removed when dropped.
pub struct Aside {
    path: PathBuf,
    _lock: File,
}

impl Aside {
    pub fn new() -> Result<Aside> {
        new_folder(&std::env::temp_dir(), "dbduel-look-").map(|(path, lock)| Aside { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = remove_tree(&self.path);
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

fn on_other_storage(base: &Path, next: &str) -> Result<WorkFolder> {
    claim_in_public(base, next)?;
    sweep_leftovers(base)?;
    WorkFolder::new(base)
}

/// A folder of this process, and its lock, taken.
fn new_folder(base: &Path, prefix: &str) -> Result<(PathBuf, File)> {
    for attempt in 0..FOLDERS_MAX {
        let path = base.join(format!("{prefix}{}-{attempt}", std::process::id()));
        match fs::create_dir(&path) {
            Ok(()) => {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o711))?;
                let lock = lock_file(&path.join("lock"))?;
                lock.try_lock().with_context(|| format!("cannot lock {}", path.display()))?;
                return Ok((path, lock));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {}", path.display())),
        }
    }
    bail!("cannot make a folder of its own below {}", base.display())
}

/// Takes a lock alone; `waiting` is called first if that takes a while. An interruption ends the wait.
fn wait_for_lock(file: &File, waiting: &dyn Fn()) -> Result<()> {
    let mut printed = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error).context("cannot lock the cache"),
        }
        if !std::mem::replace(&mut printed, true) {
            waiting();
        }
        ensure!(!is_ended(), "interrupted while another dbduel worked on the cache");
        std::thread::sleep(LOCK_POLL);
    }
}

fn gate(base: &Path) -> Result<File> {
    let gate = lock_file(&base.join(".gate"))?;
    gate.lock().with_context(|| format!("cannot lock {}", base.display()))?;
    Ok(gate)
}

/// Removes the work folders below `base` whose process is gone, with what is mounted in them: their lock is free.
fn sweep_leftovers(base: &Path) -> Result<()> {
    let _gate = gate(base)?;
    for entry in read_folder(base)? {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(name) = name.to_str().filter(|name| is_work_name(name)) else { continue };
        let Some(_lock) = abandoned(&path) else { continue };
        if let Some(short) = short_folder(&path, name)
            && let Some(_lock) = abandoned(&short)
        {
            remove_tree(&short)?;
        }
        super::volume::release(&path)?;
        remove_tree(&path)?;
    }
    Ok(())
}

/// The lock of a folder that a dbduel of this user made and no longer holds.
fn abandoned(folder: &Path) -> Option<File> {
    let lock = is_own_folder(folder).then(|| own_file(&folder.join("lock")))??;
    lock.try_lock().is_ok().then_some(lock)
}

/// Where the sockets of the work folder `name` are, if that is a path as dbduel makes it.
fn short_folder(work: &Path, name: &str) -> Option<PathBuf> {
    let mut bytes = Vec::new();
    own_file(&work.join("short"))?.take(PATH_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let path = PathBuf::from(OsString::from_vec(bytes));
    let short_name = path.file_name()?.to_str()?.strip_prefix(SHORT_PREFIX)?;
    let of_same_process = short_name.split_once('-')?.0 == name.split_once('-')?.0;
    (path.is_absolute() && is_work_name(short_name) && of_same_process).then_some(path)
}

/// Removes the folders in a folder; how many bytes that freed.
pub(super) fn remove_folders_in(folder: &Path) -> Result<u64> {
    let mut freed = 0;
    for entry in read_folder(folder)?.iter().filter(|entry| entry.path().is_dir()) {
        freed += files_bytes(&entry.path())?;
        remove_tree(&entry.path())?;
    }
    Ok(freed)
}

/// What the files below a folder take.
pub(super) fn files_bytes(folder: &Path) -> Result<u64> {
    read_folder(folder)?.iter().map(|entry| tree_bytes(&entry.path())).sum()
}

pub(super) fn tree_bytes(path: &Path) -> Result<u64> {
    let meta = path.symlink_metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if !meta.is_dir() {
        return Ok(meta.len());
    }
    files_bytes(path)
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

    /// A folder as a killed dbduel leaves it.
    fn left_behind(path: &Path) {
        fs::create_dir(path).unwrap();
        fs::write(path.join("lock"), "").unwrap();
    }

    #[test]
    fn only_what_dbduel_made_is_swept() {
        let base = tempfile::tempdir().unwrap();
        let (root, work) = (base.path().join("cache"), base.path().join("work"));
        Cache::at(&root, &work).unwrap();
        let theirs = base.path().join("theirs");
        left_behind(&theirs);
        left_behind(&work.join("photos"));
        fs::create_dir(work.join("1-0")).unwrap();
        std::os::unix::fs::symlink(&theirs, work.join("2-0")).unwrap();
        fs::create_dir(work.join("3-0")).unwrap();
        std::os::unix::fs::symlink(theirs.join("lock"), work.join("3-0/lock")).unwrap();
        left_behind(&work.join("4-0"));
        fs::set_permissions(work.join("4-0"), fs::Permissions::from_mode(0o777)).unwrap();
        Cache::at(&root, &work).unwrap();
        for kept in ["photos/lock", "1-0", "2-0", "3-0/lock", "4-0/lock"] {
            assert!(work.join(kept).exists(), "{kept}");
        }
        assert!(theirs.join("lock").exists());
    }

    #[test]
    fn a_path_for_sockets_is_removed_only_if_dbduel_made_it() {
        let base = tempfile::tempdir().unwrap();
        let (root, work) = (base.path().join("cache"), base.path().join("work"));
        Cache::at(&root, &work).unwrap();
        let swept = |named: &Path| {
            left_behind(&work.join("7-0"));
            fs::write(work.join("7-0/short"), named.as_os_str().as_encoded_bytes()).unwrap();
            Cache::at(&root, &work).unwrap();
            assert!(!work.join("7-0").exists());
            !named.exists()
        };
        let theirs = base.path().join("theirs");
        left_behind(&theirs);
        assert!(!swept(&theirs), "any folder");
        let other = base.path().join("dbduel-8-0");
        left_behind(&other);
        assert!(!swept(&other), "of another process");
        let link = base.path().join("dbduel-7-1");
        std::os::unix::fs::symlink(&theirs, &link).unwrap();
        assert!(!swept(&link), "a link");
        let short = base.path().join("dbduel-7-0");
        left_behind(&short);
        let held = File::open(short.join("lock")).unwrap();
        held.lock().unwrap();
        assert!(!swept(&short), "in use");
        drop(held);
        assert!(swept(&short), "as dbduel makes it");
    }

    #[test]
    fn a_folder_of_the_cache_that_is_a_link_is_not_followed() {
        let base = tempfile::tempdir().unwrap();
        let (root, theirs) = (base.path().join("cache"), base.path().join("theirs"));
        fs::create_dir(&theirs).unwrap();
        for part in PARTS {
            Cache::at(&root, &root.join("work")).unwrap();
            remove_tree(&root.join(part)).unwrap();
            std::os::unix::fs::symlink(&theirs, root.join(part)).unwrap();
            let error = Cache::at(&root, &root.join("work")).unwrap_err().to_string();
            assert!(error.contains("is a symbolic link"), "{part}: {error}");
            fs::remove_file(root.join(part)).unwrap();
        }
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 0);
    }

    #[test]
    fn a_work_folder_around_the_cache_or_in_what_is_cleared_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("cache");
        for work in [base.path().to_owned(), root.join("servers"), root.join("tmp/deep")] {
            let error = Cache::at(&root, &work).unwrap_err().to_string();
            assert!(error.contains("lie within one another"), "{}: {error}", work.display());
        }
        assert!(!root.exists());
        for work in [root.clone(), root.join("work"), root.join("other/deep")] {
            Cache::at(&root, &work).unwrap().work().unwrap();
        }
    }

    #[test]
    fn a_folder_with_other_files_is_refused_before_anything_is_made() {
        let base = tempfile::tempdir().unwrap();
        let (root, theirs) = (base.path().join("cache"), base.path().join("theirs"));
        left_behind(&theirs);
        for (root, work, variable) in [(&root, &theirs, "DBDUEL_WORK"), (&theirs, &root, "DBDUEL_CACHE")] {
            let error = Cache::at(root, work).unwrap_err().to_string();
            assert!(error.contains(&format!("next: set {variable} to a new or empty folder")), "{error}");
        }
        assert!(!root.exists());
        assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1);
    }

    #[test]
    fn clearing_waits_for_whoever_uses_the_cache() {
        let base = tempfile::tempdir().unwrap();
        let at = || Cache::at(base.path(), &base.path().join("work")).unwrap();
        let user = at();
        let server = user.servers().join("mysql-5.5.9");
        fs::create_dir(&server).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let clearing = scope.spawn(move || at().clear(&|line| sender.send(line.to_owned()).unwrap()));
            assert!(receiver.recv().unwrap().contains("waiting for another dbduel"));
            assert!(server.exists());
            drop(user);
            clearing.join().unwrap().unwrap();
        });
        assert!(!server.exists());
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
        fs::write(cache.aa_history(), "{}\n").unwrap();
        let expected = CacheEntry { kind: "server", name: "mysql-5.5.9".into(), bytes: 1000 };
        let [server, twins] = &cache.contents().unwrap()[..] else { panic!("two things lie there") };
        assert_eq!((server, twins.kind, twins.bytes), (&expected, "twins", 3));
        assert_eq!(cache.clear(&|_| {}).unwrap(), 1000);
        assert_eq!(cache.contents().unwrap().len(), 1, "A/A results are kept");
    }
}
