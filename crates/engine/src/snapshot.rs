//! Data directories at rest: empty templates, loaded snapshots, and the copies trials run on.
//!
//! A snapshot is made once and never changed; a trial gets a full copy. Copies are read and
//! written, and cloned by the file system only where the run asks for it: a clone bills its first
//! writes to the trial (`snapshot/reflink.rs`).
//! What must stay true: a snapshot folder is whole or absent and has the checksums of the day it was
//! saved, a copy has the bytes, modes and owners of its original, and it is on the disk before the
//! server starts.

#![expect(unsafe_code, reason = "asks which pages of a file are in memory")]

mod reflink;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use record::setting_value::plain;
use sha2::{Digest, Sha256};

use super::cache::{Cache, WorkFolder, make_entrance, read_folder, remove_tree};
use super::manifest::{files_below, sizes};
use super::programs::hex;
use super::{Installation, Site, manifest, version_numbers};
use crate::request::{PageCache, WorkCopy};

pub use reflink::expect_clones;

const DATA: &str = "data";
const MANIFEST: &str = "manifest";
const COPY_BUFFER_BYTES: usize = 1 << 20;

/// A data directory of a stopped server, kept in the cache.
#[derive(Debug, Clone)]
pub struct Snapshot {
    folder: PathBuf,
    pub bytes: u64,
}

/// The settings of a contender that shape its files; the rest can change on the same data.
fn shaping(installation: &Installation, settings: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let shapes = installation.engine().shaping_settings(&version_numbers(&installation.version));
    let named = settings.iter().map(|(name, value)| (plain(name), value.clone()));
    named.filter(|(name, _)| shapes.contains(&name.as_str())).collect()
}

/// The name under which loaded data are kept: the same for two contenders exactly when they may
/// share them. `parts` are what the loader adds: workload, scale, data seed, DDL, its version.
pub fn snapshot_key(
    installation: &Installation,
    settings: &BTreeMap<String, String>,
    parts: &[(&str, String)],
) -> String {
    let mut hash = Sha256::new();
    let shaping = shaping(installation, settings);
    let shaping = shaping.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let fingerprint = [("server", installation.fingerprint.clone())];
    for (name, value) in fingerprint.into_iter().chain(shaping).chain(parts.iter().cloned()) {
        // Lengths keep two lists apart whose texts run together to the same bytes.
        hash.update(format!("{}:{name}={}:{value}\n", name.len(), value.len()));
    }
    format!("{}-{}-{}", installation.kind, installation.version, &hex(&hash.finalize())[..16])
}

/// The snapshot of this key, if it was saved.
pub fn find_snapshot(cache: &Cache, key: &str) -> Result<Option<Snapshot>> {
    find(&cache.snapshots().join(key))
}

/// The same, unless its bytes have changed since it was saved: that is reported, and it is removed.
pub fn sound_snapshot(cache: &Cache, key: &str, progress: &dyn Fn(&str)) -> Result<Option<Snapshot>> {
    find_sound(&cache.snapshots().join(key), "loaded", progress)
}

/// Keeps the data directory of a stopped server under a key. The original stays.
pub fn save_snapshot(cache: &Cache, key: &str, data: &Path) -> Result<Snapshot> {
    save(cache, &cache.snapshots().join(key), data).with_context(|| format!("cannot save the snapshot {key}"))
}

/// An initialised data directory without user tables; made once for each server and its shaping settings.
pub fn template(
    cache: &Cache,
    work: &WorkFolder,
    installation: &Installation,
    settings: &BTreeMap<String, String>,
    progress: &dyn Fn(&str),
) -> Result<Snapshot> {
    let key = snapshot_key(installation, settings, &[]);
    let folder = cache.templates().join(&key);
    let _lock = cache.lock(&key, progress)?;
    if let Some(template) = find_sound(&folder, "made", progress)? {
        return Ok(template);
    }
    let name = format!("{} {}", installation.kind, installation.version);
    progress(&format!("initialising a data directory for {name}"));
    let scratch = work.path().join("template");
    remove_tree(&scratch)?;
    make_entrance(&scratch)?;
    let data = scratch.join(DATA);
    make_data_folder(&data, installation)?;
    let site = Site { installation, data: &data, scratch: &scratch };
    let made = installation.engine().initialise(&site, &shaping(installation, settings));
    made.with_context(|| format!("cannot initialise a data directory for {name}"))?;
    let saved = save(cache, &folder, &data);
    remove_tree(&scratch)?;
    saved
}

/// An empty folder that only the server may enter.
fn make_data_folder(data: &Path, installation: &Installation) -> Result<()> {
    fs::create_dir(data).with_context(|| format!("cannot make {}", data.display()))?;
    fs::set_permissions(data, fs::Permissions::from_mode(0o700))?;
    if let Some(account) = installation.engine().account()? {
        std::os::unix::fs::chown(data, Some(account.uid), Some(account.gid))?;
    }
    Ok(())
}

fn find_sound(folder: &Path, made: &str, progress: &dyn Fn(&str)) -> Result<Option<Snapshot>> {
    let Some(found) = find(folder)? else { return Ok(None) };
    let manifest = fs::read_to_string(folder.join(MANIFEST))?;
    let Some(damage) = manifest::damage_at_first_use(&folder.join(DATA), &manifest)? else { return Ok(Some(found)) };
    progress(&format!("the snapshot {} is damaged ({damage}): it is {made} again", folder.display()));
    remove_tree(folder)?;
    Ok(None)
}

fn find(folder: &Path) -> Result<Option<Snapshot>> {
    let manifest = match fs::read_to_string(folder.join(MANIFEST)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        manifest => manifest.with_context(|| format!("cannot read {}", folder.display()))?,
    };
    let bytes = sizes(&manifest).iter().map(|(bytes, _)| bytes).sum();
    Ok(Some(Snapshot { folder: folder.to_owned(), bytes }))
}

fn save(cache: &Cache, folder: &Path, data: &Path) -> Result<Snapshot> {
    let scratch = cache.scratch()?;
    let whole = scratch.path().join("snapshot");
    make_entrance(&whole)?;
    copy_tree(data, &whole.join(DATA))?;
    fs::write(whole.join(MANIFEST), manifest::list(&whole.join(DATA), "")?)?;
    sync_file_system(&whole)?;
    remove_tree(folder)?;
    fs::rename(&whole, folder).with_context(|| format!("cannot move the data to {}", folder.display()))?;
    manifest::is_sound(&folder.join(DATA));
    find(folder)?.context("the snapshot vanished as it was saved; was the cache cleared?")
}

impl Snapshot {
    /// Copies the data to `into`, which must not exist or be empty, and waits until they are on
    /// the disk. Returns how many bytes that were.
    pub fn restore(&self, into: &Path) -> Result<u64> {
        self.restore_by(WorkCopy::Full, into)
    }

    /// The same by copies or by clones, which are equal but in what the first write to them costs.
    pub fn restore_by(&self, how: WorkCopy, into: &Path) -> Result<u64> {
        let name = self.folder.display();
        ensure!(read_folder(into)?.is_empty(), "{} is not empty", into.display());
        if into.is_dir() {
            fs::remove_dir(into)?;
        }
        let data = self.folder.join(DATA);
        let copied = match how {
            WorkCopy::Full => copy_tree(&data, into),
            WorkCopy::Reflink => copy_entry(&data, into, &mut reflink::clone_file),
        };
        let copied = copied.with_context(|| format!("cannot restore {name}"))?;
        let manifest = fs::read_to_string(self.folder.join(MANIFEST))?;
        let expected = sizes(&manifest).into_iter().map(|(bytes, path)| (bytes, path.to_owned()));
        if sizes_below(into)? != expected.collect::<Vec<_>>() {
            bail!("{name} is damaged: the copy has other files than its list\n  next: run again, which makes it anew");
        }
        sync_file_system(into)?;
        Ok(copied)
    }
}

/// The size and the path of each file, sorted by path.
fn sizes_below(data: &Path) -> Result<Vec<(u64, String)>> {
    let size = |file: PathBuf| {
        let path = file.strip_prefix(data).expect("the walk started here");
        Ok((file.symlink_metadata()?.len(), path.display().to_string()))
    };
    files_below(data)?.into_iter().map(size).collect()
}

/// Copies a tree with modes and owners; returns the bytes of its files.
pub fn copy_tree(from: &Path, to: &Path) -> Result<u64> {
    let mut buffer = vec![0; COPY_BUFFER_BYTES];
    copy_entry(from, to, &mut |from, to| copy_file(from, to, &mut buffer))
}

/// Makes one file of another, and returns how many bytes it has.
type CopyFile<'a> = dyn FnMut(&Path, &Path) -> Result<u64> + 'a;

fn copy_entry(from: &Path, to: &Path, copy: &mut CopyFile) -> Result<u64> {
    let meta = from.symlink_metadata().with_context(|| format!("cannot read {}", from.display()))?;
    let mut bytes = 0;
    if meta.is_symlink() {
        std::os::unix::fs::symlink(fs::read_link(from)?, to)?;
        std::os::unix::fs::lchown(to, Some(meta.uid()), Some(meta.gid()))?;
        return Ok(0);
    } else if meta.is_dir() {
        fs::create_dir(to).with_context(|| format!("cannot make {}", to.display()))?;
        for entry in read_folder(from)? {
            bytes += copy_entry(&entry.path(), &to.join(entry.file_name()), copy)?;
        }
    } else if meta.is_file() {
        bytes = copy(from, to).with_context(|| format!("cannot copy {}", from.display()))?;
    } else {
        return Ok(0); // A socket or pipe of the server that made the directory.
    }
    std::os::unix::fs::chown(to, Some(meta.uid()), Some(meta.gid()))?;
    fs::set_permissions(to, meta.permissions())?;
    Ok(bytes)
}

fn copy_file(from: &Path, to: &Path, buffer: &mut [u8]) -> Result<u64> {
    let mut source = File::open(from)?;
    let mut target = File::create_new(to)?;
    let mut bytes = 0;
    loop {
        match source.read(buffer)? {
            0 => return Ok(bytes),
            read => {
                target.write_all(&buffer[..read])?;
                bytes += read as u64;
            }
        }
    }
}

/// Waits until everything written to the file system of `path` is on its disk.
fn sync_file_system(path: &Path) -> Result<()> {
    let file = File::open(path)?;
    nix::unistd::syncfs(&file).with_context(|| format!("cannot sync {}", path.display()))
}

/// Puts the page cache into the state the run's policy asks for, before the server starts.
pub fn apply_page_cache(policy: PageCache, data: &Path) -> Result<()> {
    match policy {
        // With direct I/O the server reads past the page cache.
        PageCache::Direct => Ok(()),
        PageCache::Warm => {
            let mut buffer = vec![0; COPY_BUFFER_BYTES];
            for file in files_below(data)? {
                let mut reader = BufReader::with_capacity(0, File::open(&file)?);
                while reader.read(&mut buffer)? > 0 {}
            }
            Ok(())
        }
        PageCache::Cold => {
            sync_file_system(data)?;
            for file in files_below(data)? {
                let file = File::open(file)?;
                nix::fcntl::posix_fadvise(&file, 0, 0, nix::fcntl::PosixFadviseAdvice::POSIX_FADV_DONTNEED)?;
            }
            let resident = resident_fraction(data)?;
            ensure!(
                resident <= 0.01,
                "the data directory cannot be made cold: {:.0} % of it stays in memory; use page_cache = \"warm\"",
                resident * 100.0
            );
            Ok(())
        }
    }
}

/// How much of the data directory is in the page cache, from 0 to 1.
pub fn resident_fraction(data: &Path) -> Result<f64> {
    let (mut resident, mut pages) = (0usize, 0usize);
    for file in files_below(data)? {
        let file = File::open(file)?;
        let bytes = file.metadata()?.len() as usize;
        if bytes > 0 {
            let present = page_residency(&file, bytes)?;
            resident += present.iter().filter(|page| **page & 1 == 1).count();
            pages += present.len();
        }
    }
    Ok(if pages == 0 { 0.0 } else { resident as f64 / pages as f64 })
}

/// One byte for each page of a file; its lowest bit is set when the page is in memory.
fn page_residency(file: &File, bytes: usize) -> Result<Vec<u8>> {
    // SAFETY: the mapping is never read, only queried, and unmapped before this returns.
    unsafe {
        let page = libc::sysconf(libc::_SC_PAGESIZE) as usize;
        let mut present = vec![0u8; bytes.div_ceil(page)];
        let map = libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        if map == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error()).context("cannot map a data file");
        }
        let asked = libc::mincore(map, bytes, present.as_mut_ptr());
        let error = std::io::Error::last_os_error();
        libc::munmap(map, bytes);
        if asked == 0 { Ok(present) } else { Err(error).context("cannot see what is in the page cache") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(base: &Path) -> Cache {
        Cache::at(&base.join("cache"), &base.join("work")).unwrap()
    }

    /// A cache, and a data directory of one file, in a folder that goes with the test.
    fn one_file() -> (tempfile::TempDir, Cache, PathBuf) {
        let base = tempfile::tempdir().unwrap();
        let (cache, data) = (cache(base.path()), base.path().join("data"));
        fs::create_dir(&data).unwrap();
        fs::write(data.join("t.ibd"), "rows").unwrap();
        (base, cache, data)
    }

    #[test]
    fn a_restored_copy_has_the_bytes_and_modes_of_what_was_saved() {
        let base = tempfile::tempdir().unwrap();
        let cache = cache(base.path());
        let data = base.path().join("data");
        fs::create_dir_all(data.join("sbtest")).unwrap();
        fs::write(data.join("sbtest/t.ibd"), vec![7; 3 << 20]).unwrap();
        fs::write(data.join("empty"), "").unwrap();
        fs::set_permissions(data.join("sbtest"), fs::Permissions::from_mode(0o700)).unwrap();
        std::os::unix::fs::symlink("empty", data.join("link")).unwrap();
        save_snapshot(&cache, "k", &data).unwrap();
        let snapshot = find_snapshot(&cache, "k").unwrap().unwrap();
        let into = base.path().join("trial");
        assert_eq!(snapshot.restore(&into).unwrap(), 3 << 20);
        assert_eq!(fs::read(into.join("sbtest/t.ibd")).unwrap(), vec![7; 3 << 20]);
        assert_eq!(fs::read_link(into.join("link")).unwrap(), Path::new("empty"));
        assert_eq!(fs::metadata(into.join("sbtest")).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_damaged_snapshot_is_refused_instead_of_measured() {
        let (base, cache, data) = one_file();
        let snapshot = save_snapshot(&cache, "k", &data).unwrap();
        fs::write(cache.snapshots().join("k/data/t.ibd"), "ro").unwrap();
        let error = snapshot.restore(&base.path().join("trial")).unwrap_err().to_string();
        assert!(error.contains("is damaged"), "{error}");
    }

    #[test]
    fn a_snapshot_with_a_changed_byte_is_reported_and_removed() {
        let (base, cache, data) = one_file();
        // As another process left it: this one has not checked it yet.
        let scratch = base.path().join("saved");
        fs::create_dir(&scratch).unwrap();
        copy_tree(&data, &scratch.join(DATA)).unwrap();
        fs::write(scratch.join(MANIFEST), manifest::list(&data, "").unwrap()).unwrap();
        fs::rename(&scratch, cache.snapshots().join("k")).unwrap();
        fs::write(cache.snapshots().join("k/data/t.ibd"), "rowz").unwrap();
        let lines = std::cell::RefCell::new(Vec::new());
        let found = sound_snapshot(&cache, "k", &|line| lines.borrow_mut().push(line.to_owned())).unwrap();
        assert!(found.is_none() && lines.borrow().len() == 1, "{lines:?}");
        assert!(lines.borrow()[0].contains("t.ibd does not have its checksum"), "{lines:?}");
        assert!(find_snapshot(&cache, "k").unwrap().is_none());
        save_snapshot(&cache, "k", &data).unwrap();
        assert!(sound_snapshot(&cache, "k", &|_| {}).unwrap().is_some());
    }

    #[test]
    fn a_folder_with_files_in_it_is_not_restored_over() {
        let (_base, cache, data) = one_file();
        let snapshot = save_snapshot(&cache, "k", &data).unwrap();
        assert!(snapshot.restore(&data).is_err());
        assert_eq!(fs::read_to_string(data.join("t.ibd")).unwrap(), "rows");
    }

    #[test]
    fn a_warm_directory_is_in_memory() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("t"), vec![1; 1 << 20]).unwrap();
        apply_page_cache(PageCache::Warm, base.path()).unwrap();
        assert!(resident_fraction(base.path()).unwrap() > 0.99);
    }

    #[test]
    fn a_directory_is_cold_or_the_trial_does_not_begin() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("t"), vec![1; 4 << 20]).unwrap();
        // A folder in memory (tmpfs) cannot be made cold, which is an error.
        match apply_page_cache(PageCache::Cold, base.path()) {
            Ok(()) => assert!(resident_fraction(base.path()).unwrap() <= 0.01),
            Err(error) => assert!(error.to_string().contains("cannot be made cold"), "{error}"),
        }
    }
}
