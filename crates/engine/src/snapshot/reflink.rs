//! Clones of files: two names for the same blocks, until one of them is written.
//!
//! A clone takes no time and no space at first: the first write to each block makes the copy
//! then, inside the trial. So only contenders that ask for one get it (method, section 1, "Fresh data").

#![expect(unsafe_code, reason = "an ioctl")]

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::cache::WorkFolder;

/// Clones one file; `to` must not be there yet.
pub(super) fn clone_file(from: &Path, to: &Path) -> Result<u64> {
    let (source, target) = (File::open(from)?, File::create_new(to)?);
    ficlone(&source, &target).context("the file system did not clone it")?;
    Ok(source.metadata()?.len())
}

fn ficlone(source: &File, target: &File) -> std::io::Result<()> {
    // SAFETY: both descriptors are open for the whole call, which touches no memory of ours.
    match unsafe { libc::ioctl(target.as_raw_fd(), libc::FICLONE, source.as_raw_fd()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Refuses a work folder into which the file system cannot clone what lies in `from`.
pub fn expect_clones(from: &WorkFolder, work: &WorkFolder) -> Result<()> {
    let (original, clone) = (from.path().join("original"), work.path().join("clone"));
    fs::write(&original, [1; 4096]).with_context(|| format!("cannot write to {}", from.path().display()))?;
    let cloned = File::create(&clone).and_then(|target| ficlone(&File::open(&original)?, &target));
    let _ = (fs::remove_file(&original), fs::remove_file(&clone));
    match cloned {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::EXDEV) => bail!(
            "snapshots ({}) and the work folder ({}) are not on one file system",
            from.path().display(),
            work.path().display()
        ),
        Err(error) => Err(error).with_context(|| format!("nothing can be cloned in {}", work.path().display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;
    use crate::request::{Storage, WorkCopy};
    use crate::snapshot::{find_snapshot, save_snapshot};

    /// Below `DBDUEL_CLONES`, a folder on a file system that clones, or else below the temporary folder.
    fn here() -> tempfile::TempDir {
        match std::env::var_os("DBDUEL_CLONES") {
            Some(folder) => tempfile::tempdir_in(folder).unwrap(),
            None => tempfile::tempdir().unwrap(),
        }
    }

    #[test]
    fn what_cannot_be_cloned_is_refused_and_what_can_has_the_bytes_of_its_original() {
        let base = here();
        let cache = Cache::at(&base.path().join("cache"), &base.path().join("work")).unwrap();
        let data = base.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("t.ibd"), vec![7; 3 << 20]).unwrap();
        save_snapshot(&cache, "k", &data).unwrap();
        let snapshot = find_snapshot(&cache, "k").unwrap().unwrap();
        let into = base.path().join("trial");
        let can = expect_clones(&cache.scratch().unwrap(), &cache.work().unwrap());
        let cloned = snapshot.restore_by(WorkCopy::Reflink, &into);
        match can {
            Ok(()) => {
                assert_eq!(cloned.unwrap(), 3 << 20);
                assert_eq!(fs::read(into.join("t.ibd")).unwrap(), vec![7; 3 << 20]);
                fs::write(into.join("t.ibd"), "changed").unwrap();
                assert_eq!(fs::read(data.join("t.ibd")).unwrap().len(), 3 << 20, "the original keeps its bytes");
            }
            Err(error) => {
                assert!(error.to_string().starts_with("nothing can be cloned in"), "{error:#}");
                assert!(format!("{:#}", cloned.unwrap_err()).contains("did not clone"));
            }
        }
    }

    #[test]
    fn memory_has_no_clones_and_none_reach_into_another_file_system() {
        let base = tempfile::tempdir().unwrap();
        let cache = Cache::at(&base.path().join("cache"), &base.path().join("work")).unwrap();
        let memory = cache.work_on(&Storage::Tmpfs).unwrap();
        expect_clones(&memory, &memory).expect_err("tmpfs has none");
        expect_clones(&cache.scratch().unwrap(), &memory).expect_err("another file system, or one without clones");
        assert!(!memory.path().join("clone").exists(), "what was tried is gone");
    }
}
